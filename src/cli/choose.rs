//! `tot use`: which investigation is meant where none is named.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::say_json;
use super::{Outcome, finish, say};
use crate::text::one_line;

/// Says which investigation is meant in this folder where a command names none: one that was chosen, or else the only one, or the
/// only open one. With an id, chooses it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UseArguments {
    /// The investigation: an id, or the beginning or ending of one
    id: Option<String>,
    /// Choose none any more
    #[arg(long, conflicts_with = "id")]
    none: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id?, title?}

Examples:
  tot use         which one is meant
  tot use 0196    that one, from here on
  tot use --none  the only open one again";

#[derive(Serialize)]
struct Document {
    /// Absent where none is chosen any more.
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
            _ => return say("no investigation is chosen here any more\n"),
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
