//! `tot reclassify`: changes the state of a node.

use std::convert::Infallible;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::work::{self, Work, WorkArguments, Worked, fields, piped, word};
use super::{misused, place};
use crate::text::one_line;

/// Gives a committed node another state: revives it, corrects it, or gives it up. What it was before stays in its file.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ReclassifyArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then the node, then its state
    #[arg(value_names = ["NODE", "STATE"], required = true, num_args = 2..=3)]
    what: Vec<String>,
    /// Why; without it your editor opens, or standard input is read where that is no terminal
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// What proves it: measured, read, reproduced
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// How it was verified
    #[arg(long = "verification-method", value_name = "TEXT")]
    how: Option<String>,
    /// What else was considered; for several, give it several times
    #[arg(long = "alternative", value_name = "TEXT")]
    alternatives: Vec<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot reclassify R4.A1a1 EXPLORE -m 'The benchmark measured a warm cache.'
  tot reclassify 0196 R2.B DEAD          the reason in your editor";

pub(super) fn run(arguments: &ReclassifyArguments) -> ExitCode {
    work::status("tot reclassify", reclassify(arguments))
}

fn reclassify(arguments: &ReclassifyArguments) -> Worked {
    let (id, node, state) = match arguments.what.as_slice() {
        [node, state] => (None, node, state),
        [id, node, state] => (Some(id.as_str()), node, state),
        _ => return Err(misused("name a node and a state")),
    };
    let node = place::node(node)?;
    let subject = Work::new("tot reclassify", &arguments.work).subject(id)?;
    let call = |reason: &str| {
        fields([
            ("nodeId", json!(node.to_string())),
            ("newState", json!(state)),
            ("reason", json!(reason.trim())),
            ("evidence", json!(arguments.evidence)),
            ("verificationMethod", json!(arguments.how)),
            ("alternativesConsidered", json!(arguments.alternatives)),
        ])
    };
    let given = match &arguments.message {
        Some(reason) => Some(reason.clone()),
        None => piped()?,
    };
    if let Some(reason) = given {
        return subject.call("tot_reclassify", call(&reason), lines);
    }
    let known = subject.investigation().node(&node);
    let title = known.map_or("", |node| node.name());
    let help = format!(
        "Why {node} is to be {state}. Everything below the line is ignored; an empty text cancels.\n\n{}",
        one_line(title)
    );
    let again = format!("{node} {state} <");
    let edited = subject.edit(("tot reclassify", &again), "TOT_RECLASSIFY.md", "", &help)?;
    subject.call_edited("tot_reclassify", edited, |text| Ok::<_, Infallible>(call(text)), lines)
}

fn lines(reply: &Value) -> String {
    let changed = match (word(reply, "previousState"), word(reply, "newState")) {
        // The reply's message says it.
        (before, after) if before == after => String::new(),
        (before, after) => one_line(&format!("{} was {before} and is {after}", word(reply, "nodeId"))) + "\n",
    };
    changed + &work::outcome(reply)
}
