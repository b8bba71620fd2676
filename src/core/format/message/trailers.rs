//! The trailers of a commit message, in git's own format: the tool, the rounds, nodes and agents, the caller (person, client,
//! session, model), and the warnings.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{ATTACH, COMMENT, RELEASE, RERUN, RUN, is_unfiled, line};
use crate::domain::{Caller, Code, CommentKind, Diagnostic, Event, Node, NodeId, Run, RunKind, Transition};

pub(super) fn trailers(text: &mut String, event: &Event, warnings: &[Diagnostic], caller: &Caller) {
    let (tool, nodes, agents): (_, Vec<&NodeId>, Vec<&str>) = match event {
        Event::Proposed { nodes, withdrawn, .. } => {
            ("tot_propose", ids(nodes.iter().chain(withdrawn)), Vec::new())
        }
        Event::Claimed { nodes } => (
            "tot_next",
            ids(nodes),
            nodes.iter().filter_map(|node| Some(node.claim.as_ref()?.agent_id.as_str())).collect(),
        ),
        Event::Released { nodes } => (RELEASE, ids(nodes), Vec::new()),
        Event::Committed { nodes, transitions, .. } => (
            "tot_commit",
            ids(nodes.iter().chain(transitions.iter().map(|transition| &transition.node))),
            nodes
                .iter()
                .filter_map(|node| node.classification.as_ref()?.newest().agent_id.as_deref())
                .collect(),
        ),
        Event::Reclassified { transition, transitions, .. } => {
            let last = transition.node.classification.as_ref().and_then(|it| it.reclassified.last());
            let agent = last.and_then(|change| change.agent());
            let nodes = std::iter::once(transition).chain(transitions).map(|transition| &transition.node);
            ("tot_reclassify", ids(nodes), agent.into_iter().collect())
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            let agent = last.and_then(|amendment| amendment.agent_id.as_deref());
            ("tot_amend", vec![&node.id], agent.into_iter().collect())
        }
        Event::Ended { conclusion } => {
            let (tool, agent) = match conclusion.amendment() {
                Some(amended) => ("tot_amend", &amended.agent_id),
                None => ("tot_end", &conclusion.agent_id),
            };
            (tool, Vec::new(), agent.as_deref().into_iter().collect())
        }
        Event::Commented { comment } => {
            let [tool, on, object, resolve] = COMMENT;
            let tool = match comment.kind {
                _ if !comment.author.is_person() => tool,
                CommentKind::Objection => object,
                CommentKind::Resolution => resolve,
                _ => on,
            };
            let agent = comment.author.agent_id.as_deref();
            (tool, comment.node.iter().collect(), agent.into_iter().collect())
        }
        Event::Attached { attachments } => {
            (ATTACH, attachments.iter().take(1).map(|file| &file.node).collect(), Vec::new())
        }
        Event::Ran { runs, .. } => {
            let first =
                |run: &Arc<Run>| !matches!(run.what, RunKind::Repeated { .. } | RunKind::Judged { .. });
            let nodes: BTreeSet<&NodeId> = runs.iter().filter_map(|run| run.node.as_ref()).collect();
            let agents = runs.iter().filter_map(|run| run.author.agent_id.as_deref());
            (if runs.iter().all(first) { RUN } else { RERUN }, nodes.into_iter().collect(), agents.collect())
        }
    };
    trailer(text, "Tool", tool);
    for round in nodes.iter().map(|id| id.round()).collect::<BTreeSet<_>>() {
        trailer(text, "Round", &round.to_string());
    }
    for node in nodes {
        trailer(text, "Node", node.whole());
    }
    let mut seen = BTreeSet::new();
    for agent in agents.into_iter().filter(|agent| seen.insert(*agent)) {
        trailer(text, "Agent-Id", agent);
    }
    caller_trailers(text, caller);
    let stored = stored_codes(event);
    let is_kept = |code: &Code| stored.contains(code) || is_unfiled(event, code);
    for warning in warnings.iter().filter(|warning| is_kept(&warning.code)) {
        let node = warning.node.as_deref().unwrap_or_default();
        trailer(text, "Warning", format!("{} {node}", warning.code).trim_end());
    }
}

fn ids<'e>(nodes: impl IntoIterator<Item = &'e Arc<Node>>) -> Vec<&'e NodeId> {
    nodes.into_iter().map(|node| &node.id).collect()
}

/// Adds the trailers about the caller, if known.
pub(super) fn caller_trailers(text: &mut String, caller: &Caller) {
    let Caller { person, client, session, model, .. } = caller;
    let person = person.as_ref().map(|person| person.name.clone());
    for (key, value) in [("Person", &person), ("Client", client), ("Session", session), ("Model", model)] {
        if let Some(value) = value {
            trailer(text, key, value);
        }
    }
}

/// Returns the warning codes that the event's nodes store. Codes that only describe the current state are not part of
/// the history.
fn stored_codes(event: &Event) -> BTreeSet<&Code> {
    let nodes: &[Arc<Node>] = match event {
        Event::Committed { nodes, .. } => nodes,
        Event::Reclassified { transition: Transition { node, .. }, .. } | Event::Amended { node } => {
            std::slice::from_ref(node)
        }
        _ => &[],
    };
    nodes
        .iter()
        .filter_map(|node| node.classification.as_ref())
        .flat_map(|classification| classification.all_warnings().chain(&classification.newest().warnings))
        .map(|warning| &warning.code)
        .collect()
}

pub(super) fn trailer(text: &mut String, key: &str, value: &str) {
    text.push_str(&format!("{key}: {}\n", line(value, 300)));
}
