//! `tot use`: the investigation of commands that name none.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::say_json;
use super::{Outcome, finish, say};
use crate::text::one_line;

/// Chooses the investigation of commands that name none, or shows it. Without a choice it is the only one, or the only open one.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UseArguments {
    /// Investigation: id, prefix or suffix; left out, shows which one is meant
    id: Option<String>,
    /// Forget the choice
    #[arg(long, conflicts_with = "id")]
    none: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id?, title?}

Examples:
  tot use         shows which one is meant
  tot use 0196    chooses that one
  tot use --none  forgets the choice";

#[derive(Serialize)]
struct Document {
    /// Absent if none is chosen any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

pub(super) fn run(arguments: &UseArguments) -> ExitCode {
    finish("tot use", choose(arguments))
}

fn choose(arguments: &UseArguments) -> Outcome {
    let UseArguments { id, none, common } = arguments;
    let place = common.place();
    let file = place.chosen_file();
    let failed = |error: std::io::Error| format!("can't write {}: {error}", file.display());
    if *none {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error).into()),
            _ if common.json => return say_json(&Document { id: None, title: None }),
            _ => return say("no investigation is chosen now\n"),
        }
    }
    let meta = place.store.load(&place.one(id.as_deref())?)?.investigation.meta().clone();
    if id.is_some() {
        place.store.prepare()?;
        fs::write(&file, format!("{}\n", meta.id)).map_err(failed)?;
    }
    match common.json {
        true => say_json(&Document { id: Some(meta.id.to_string()), title: Some(meta.title) }),
        false => say(&format!("{} {}\n", meta.id, one_line(&meta.title))),
    }
}
