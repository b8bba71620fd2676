//! `tot reclassify`: changes a node's state.

use std::convert::Infallible;

use clap::Args;

use super::work::{LocalTools, WorkArguments, given, transition_lines};
use super::{ExitResult, misused, place};
use crate::decide::commit::NewVerification;
use crate::decide::reclassify::Reclassify;
use crate::service::reply::{self, ReclassifyBody};
use crate::text::one_line;

/// Change the state of a committed node. The previous state stays in the node's file.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ReclassifyArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), then the node, then its new state
    #[arg(value_names = ["NODE", "STATE"], required = true, num_args = 2..=3)]
    what: Vec<String>,
    /// Reason; default: standard input, or your editor at a terminal
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Evidence: what was measured, read or reproduced
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// Method of verification
    #[arg(long = "verification-method", value_name = "TEXT")]
    how: Option<String>,
    /// Alternative that was considered; can be given several times
    #[arg(long = "alternative", value_name = "TEXT")]
    alternatives: Vec<String>,
    #[command(flatten)]
    work: WorkArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot reclassify R4.A1a1 EXPLORE -m 'The benchmark measured a warm cache.'
  tot reclassify 0196 R2.B DEAD          with the reason written in your editor";

pub(super) fn run(arguments: &ReclassifyArguments) -> ExitResult {
    let (id, rest) = place::split_id(&arguments.what, place::is_node);
    let [node, state] = rest else { return Err(misused("name a node and a state")) };
    let node = place::node(node)?;
    let subject = LocalTools::new("tot reclassify", &arguments.work)?.subject(id)?;
    let caller = subject.caller()?;
    let call = |reason: &str| {
        let verification = NewVerification::new(arguments.how.clone(), arguments.alternatives.clone());
        let request = Reclassify {
            node_id: node.to_string(),
            new_state: state.clone(),
            reason: Some(reason.trim().to_owned()),
            agent_id: None,
            evidence: arguments.evidence.clone(),
            verification,
        };
        let written = subject.service().reclassify(&subject.id(), request, &caller)?;
        Ok(reply::reclassified(&written, node.to_string()))
    };
    if let Some(reason) = given(arguments.message.as_deref())? {
        return subject.tell(call(&reason), lines);
    }
    let known = subject.investigation().node(&node);
    let title = known.map_or("", |node| node.name());
    let help = format!(
        "The reason why {node} becomes {state}. Everything below the line is ignored; to cancel, leave the text empty.\n\n{}",
        one_line(title)
    );
    let again = format!("{node} {state} <");
    let edited = subject.edit(("tot reclassify", &again), "TOT_RECLASSIFY.md", "", &help)?;
    subject.call_edited(edited, |text| Ok::<_, Infallible>(call(text)), lines)
}

fn lines(body: &ReclassifyBody) -> String {
    let ReclassifyBody { node_id, previous_state, new_state, transitions } = body;
    let changed = match (previous_state, new_state) {
        (Some(before), Some(after)) if before != after => {
            one_line(&format!("{node_id} was {before} and is {after}")) + "\n"
        }
        // The reply's message covers this case.
        _ => String::new(),
    };
    changed + &transition_lines(transitions)
}
