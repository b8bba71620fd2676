//! `tot amend NODE --state STATE`: changes a node's state.

use std::convert::Infallible;

use clap::Args;

use crate::cli::ExitResult;
use crate::cli::work::{WorkTarget, given, transition_lines};
use crate::decide::commit::NewVerification;
use crate::decide::reclassify::Reclassify;
use crate::domain::NodeId;
use crate::service::reply::{self, ReclassifyBody};
use crate::text::one_line;

/// The options of other changes. clap does not ask for a required option if it conflicts with one that is given, so the options
/// that belong to `--state` conflict with these too.
const OTHERS: [&str; 7] = ["conclusion", "edit", "accept", "bottom_line", "answer", "rival", "not_covered"];

/// The options of a change of state.
#[derive(Args)]
pub(super) struct StateArguments {
    /// Change the state instead of the text. The previous state stays in the node's file
    #[arg(long, value_name = "STATE", conflicts_with_all = OTHERS)]
    pub state: Option<String>,
    /// Evidence for the state: what was measured, read or reproduced
    #[arg(long, value_name = "TEXT", requires = "state", conflicts_with_all = OTHERS)]
    evidence: Option<String>,
    /// Method of verification
    #[arg(long = "verification-method", value_name = "TEXT", requires = "state", conflicts_with_all = OTHERS)]
    how: Option<String>,
    /// Alternative that was considered; can be given several times
    #[arg(long = "alternative", value_name = "TEXT", requires = "state", conflicts_with_all = OTHERS)]
    alternatives: Vec<String>,
}

/// Changes the node's state to `state`. Without a reason, reads standard input, or opens an editor.
pub(super) fn change(
    subject: &WorkTarget,
    arguments: &StateArguments,
    (node, state): (&NodeId, &str),
    (reason, agent): (Option<&str>, Option<&str>),
) -> ExitResult {
    let caller = subject.caller_as(agent)?;
    let call = |reason: &str| {
        let verification = NewVerification::new(arguments.how.clone(), arguments.alternatives.clone());
        let request = Reclassify {
            node_id: node.whole().to_owned(),
            new_state: state.to_owned(),
            reason: Some(reason.trim().to_owned()),
            agent_id: agent.map(str::to_owned),
            evidence: arguments.evidence.clone(),
            verification,
        };
        let written = subject.service().reclassify(&subject.id(), request, &caller)?;
        Ok(reply::reclassified(&written, node.to_string()))
    };
    if let Some(reason) = given(reason)? {
        return subject.tell(call(&reason), lines);
    }
    let title = subject.investigation().node(node).map_or("", |node| node.name());
    let help = format!(
        "The reason why {node} becomes {state}. Everything below the line is ignored; to cancel, leave the text empty.\n\n{}",
        one_line(title)
    );
    let again = format!("{node} --state {state} <");
    let edited = subject.edit(("tot amend", &again), "TOT_STATE.md", "", &help)?;
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
