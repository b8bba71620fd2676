//! `tot status`: an investigation in five lines.

use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::place::Common;
use super::print::{columns, say, say_fields};
use super::screen::{BAD, BOLD, Screen, assessed, styled};
use super::show::blockers;
use crate::decide::next::outlook;
use crate::text::counted;

/// Show where an investigation stands, in five lines: the question, the verdict, the open objections, the requirements left, and
/// the next command.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct StatusArguments {
    /// Investigation: id, prefix or suffix; optional when there is only one
    id: Option<String>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id, title, verdict, openObjections, blockers, nextAction?}, where openObjections and blockers are numbers

Examples:
  tot status
  tot status 0196 --json | jq -r .nextAction";

pub(super) fn run(StatusArguments { id, common }: &StatusArguments) -> CommandResult {
    let place = common.place()?;
    let snapshot = place.store.load(&place.folder(id.as_deref())?)?;
    let assessment = assessed(&snapshot);
    let investigation = assessment.investigation;
    let meta = investigation.meta();
    let verdict = assessment.top().to_string();
    let (open, required) = (assessment.open.len(), blockers(&assessment).len());
    let next = assessment.rules.map(|rules| outlook(investigation, &rules).next_step);
    let next = next.map(|next| next.wording(id.as_deref()).person().to_owned());
    if common.json {
        return say_fields(&json!({"id": meta.id.to_string(), "title": meta.title, "verdict": verdict,
            "openObjections": open, "blockers": required, "nextAction": next}));
    }
    let screen = Screen { columns: columns() };
    let objections = format!("{} open", counted(open, "objection"));
    let lines = [
        styled(BOLD, &screen.rest(&meta.title, 0)),
        screen.rest(&verdict, 0),
        if open == 0 { objections } else { styled(BAD, &objections) },
        format!("{} left before the end", counted(required, "requirement")),
        screen.rest(
            &format!("Next: {}", next.as_deref().unwrap_or("unknown, because the ruleset can't be read")),
            0,
        ),
    ];
    say(&lines.map(|line| line + "\n").concat())
}
