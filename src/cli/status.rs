//! `tot status`: an investigation in five lines.

use clap::Args;
use serde_json::json;

use super::place::Common;
use super::print::{columns, say, say_fields};
use super::screen::{BAD, BOLD, Screen, assessed, styled};
use super::show::blockers;
use super::{CommandResult, is_person};
use crate::decide::next::outlook;
use crate::json::{BlockerJson, ObjectionJson};
use crate::ruleset::rules::objections;
use crate::service::project::inputs_here;
use crate::service::signoff;
use crate::text::counted;

/// Show where an investigation stands, in five lines: the question, the verdict, the open objections, the requirements left, and
/// the next command.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {sessionId, title, verdict, openObjections: [{commentId, nodeId?, message}], blockers?: [{code, nodeId?,
message}], nextAction?}, both absent if the ruleset can't be read

Examples:
  tot status
  tot status -i 0196 --json | jq -r .nextAction";

pub(super) fn run(StatusArguments { common }: &StatusArguments) -> CommandResult {
    let place = common.place()?;
    let snapshot = place.store.load(&place.folder()?)?;
    let assessment = assessed(&snapshot).with_inputs(inputs_here(&snapshot.investigation).as_ref());
    let investigation = assessment.investigation;
    let meta = investigation.meta();
    let verdict = assessment.sentence(&signoff::looked_up(&place.store, &snapshot, is_person()).signed());
    let blockers = assessment.rules.map(|_| blockers(&assessment));
    let next = assessment.rules.map(|rules| outlook(investigation, &rules).next_step);
    let next = next.map(|next| next.wording(place.named()).person().to_owned());
    if common.json {
        let blockers = blockers.map(|all| all.iter().map(BlockerJson::from).collect::<Vec<_>>());
        return say_fields(&json!({"sessionId": meta.id, "title": meta.title, "verdict": verdict,
            "openObjections": ObjectionJson::all(&assessment), "blockers": blockers, "nextAction": next}));
    }
    let screen = Screen { columns: columns() };
    let objections = format!("{} open", objections::counted_in_words(&assessment.open, ""));
    let lines = [
        styled(BOLD, &screen.rest(&meta.title, 0)),
        screen.rest(&verdict, 0),
        if assessment.open.is_empty() { objections } else { styled(BAD, &objections) },
        match blockers {
            Some(blockers) => format!("{} left before the end", counted(blockers.len(), "requirement")),
            None => "Requirements left before the end: unknown".to_owned(),
        },
        screen.rest(
            &format!("Next: {}", next.as_deref().unwrap_or("unknown, because the ruleset can't be read")),
            0,
        ),
    ];
    say(&lines.map(|line| line + "\n").concat())
}
