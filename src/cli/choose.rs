//! `tot use`: sets the default investigation for other commands.

use std::fs;
use std::io::ErrorKind;

use clap::Args;
use serde_json::json;

use super::place::Common;
use super::print::say_json;
use super::{CommandResult, say};
use crate::base::temporary::replace_file;
use crate::text::one_line;

/// Choose the default investigation, or show it. Without a choice, the default is the only investigation, or the only
/// open one.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UseArguments {
    /// Investigation: id, prefix or suffix; without it, shows the default
    id: Option<String>,
    /// Forget the choice
    #[arg(long, conflicts_with = "id")]
    none: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {sessionId?, title?}

Examples:
  tot use         shows the default investigation
  tot use 0196    makes that one the default
  tot use --none  forgets the choice";

pub(super) fn run(arguments: &UseArguments) -> CommandResult {
    let UseArguments { id, none, common } = arguments;
    let place = common.place()?;
    let file = place.chosen_file();
    let failed = |error: std::io::Error| format!("can't write {}: {error}", file.display());
    if *none {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error).into()),
            _ if common.json => return say_json(&json!({})),
            _ => return say("no default investigation is set any more\n"),
        }
    }
    let meta = place.store.load(&place.folder(id.as_deref())?)?.investigation.meta().clone();
    if id.is_some() {
        place.store.prepare()?;
        replace_file(&file, format!("{}\n", meta.id).as_bytes()).map_err(failed)?;
    }
    match common.json {
        true => say_json(&json!({"sessionId": meta.id, "title": meta.title})),
        false => say(&format!("{} {}\n", meta.id, one_line(&meta.title))),
    }
}
