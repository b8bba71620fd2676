//! `tot diff --markdown`: what came between two states, to be posted.

use std::process::ExitCode;

use clap::Args;

use super::place::{RootArgument, withheld};
use super::print::page;
use super::report::Range;
use super::{Outcome, finish};
use crate::report::changes;

/// Says in Markdown what came between two commits of an investigation: for a pull request, a mail, a chat.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DiffArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then the two commits
    #[arg(value_name = "[ID] A..B", required = true, num_args = 1..=2)]
    what: Vec<String>,
    /// As Markdown
    #[arg(long, required = true)]
    markdown: bool,
    #[command(flatten)]
    root: RootArgument,
}

const EXAMPLES: &str = "\
Examples:
  tot diff --markdown ended/1..               in its folder: what came since it was ended
  tot diff --markdown 0196 HEAD~10..HEAD
  tot-report ID --compare A.. --out site      the same and more as a page";

pub(super) fn run(arguments: &DiffArguments) -> ExitCode {
    finish("tot diff", try_run(arguments))
}

fn try_run(arguments: &DiffArguments) -> Outcome {
    let (id, range) = match arguments.what.as_slice() {
        [range] => (None, range),
        [id, range] => (Some(id.as_str()), range),
        _ => return Err("give two commits with two dots between them".into()),
    };
    let Range { from, to } = range.parse()?;
    let place = arguments.root.place();
    let path = place.one(id)?;
    let (mut before, mut after) = (place.store.load_at(&path, &from)?, place.store.load_at(&path, &to)?);
    let withheld = withheld(&place.store, &path)?;
    withheld.hide(&mut before);
    withheld.hide(&mut after);
    page(&changes::markdown(&before, &after, [&from, &to]))
}
