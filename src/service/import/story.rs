//! Reconstructs the history of an investigation from its stored facts.

use std::collections::HashMap;
use std::sync::Arc;

use super::Facts;
use crate::domain::{
    Amendment, Attached, AttachmentName, Caller, Classification, Conclusion, Diagnostic, Event,
    Investigation, Node, NodeId, RunId, RunKind, Timestamp, Transition, Warning,
};
use crate::format::message;
use crate::ruleset::EffectiveRules;

/// One reconstructed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportStep {
    /// The time of the call.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
    /// The commit message.
    pub message: String,
}

/// The time of an event, and its order among simultaneous events.
type EventKey = (Timestamp, u8);

/// Returns the order of an event among simultaneous events. A call stores results before it proposes the next nodes.
fn order(event: &Event) -> u8 {
    match event {
        Event::Committed { .. } => 0,
        Event::Amended { .. } | Event::Reclassified { transition: Transition { by: None, .. }, .. } => 1,
        // A reclassification caused by a child belongs to the call that set the state of the child.
        Event::Reclassified { .. } => 2,
        Event::Proposed { .. } => 3,
        Event::Claimed { .. } | Event::Released { .. } => 4,
        Event::Ended { .. } => 5,
        Event::Commented { .. } => 6,
        Event::Ran { .. } | Event::Attached { .. } => 7,
    }
}

/// Returns all calls after the one that started the investigation, ordered by time. Simultaneous events become one call
/// if possible. Each node follows its parent, even if their times are in the opposite order.
pub fn steps(facts: &Facts) -> Vec<ImportStep> {
    let start: EventKey = (facts.meta.started_at, 0);
    let mut calls: Vec<(EventKey, Event)> = Vec::new();
    let mut committed: HashMap<&NodeId, EventKey> = HashMap::new();
    let since = |node: Option<&NodeId>, committed: &HashMap<&NodeId, EventKey>| {
        node.and_then(|node| committed.get(node)).copied().unwrap_or(start)
    };
    for node in &facts.nodes {
        let mut key = since(node.parent.as_ref(), &committed);
        for (number, (at, event)) in events_of(node).into_iter().enumerate() {
            key = key.max((at, order(&event)));
            if number < 2 {
                // The commit, or the proposal of a pending node.
                committed.insert(&node.id, key);
            }
            calls.push((key, event));
        }
    }
    let mut key = start;
    for (at, end) in facts.conclusion.iter().flat_map(stages_of_end) {
        let event = Event::Ended { conclusion: Arc::new(end) };
        key = key.max((at, order(&event)));
        calls.push((key, event));
    }
    for comment in &facts.comments {
        let event = Event::Commented { comment: Arc::clone(comment) };
        calls.push((since(comment.node.as_ref(), &committed).max((comment.at, order(&event))), event));
    }
    for run in &facts.runs {
        let event = Event::Ran { runs: vec![Arc::clone(run)], attachments: Vec::new() };
        calls.push((since(run.node.as_ref(), &committed).max((run.at, order(&event))), event));
    }
    // The sort is stable, so simultaneous events of a node stay in order.
    calls.sort_by_key(|(key, _)| *key);
    let limit = facts.ruleset.ruleset.batch_limit.map_or(usize::MAX, |limit| limit as usize);
    // Attachments of a run are added with that run. Files contain no times for other attachments, so those are added
    // with the node's first result.
    let mut put_by: HashMap<(&NodeId, &AttachmentName), RunId> = HashMap::new();
    for run in &facts.runs {
        if let (RunKind::Captured(ran), Some(node)) = (&run.what, &run.node) {
            for name in &ran.attachments {
                put_by.entry((node, name)).or_insert(run.id);
            }
        }
    }
    let mut of_runs: HashMap<RunId, Vec<Arc<Attached>>> = HashMap::new();
    let mut of_nodes: HashMap<&NodeId, Vec<Arc<Attached>>> = HashMap::new();
    for file in &facts.attachments {
        let files = match put_by.get(&(&file.node, &file.name)) {
            Some(run) => of_runs.entry(*run).or_default(),
            None => of_nodes.entry(&file.node).or_default(),
        };
        files.push(Arc::clone(file));
    }
    let mut events: Vec<(Timestamp, Event)> = Vec::new();
    for ((at, _), mut event) in calls {
        match &mut event {
            Event::Committed { nodes, attachments, .. } => {
                *attachments = of_nodes.remove(&nodes[0].id).unwrap_or_default();
            }
            Event::Ran { runs, attachments } => {
                *attachments = of_runs.remove(&runs[0].id).unwrap_or_default()
            }
            _ => {}
        }
        let event = match events.last_mut() {
            Some((last_at, last)) if *last_at == at => add_to(last, event, limit),
            _ => Some(event),
        };
        events.extend(event.map(|event| (at, event)));
    }
    with_messages(facts, events)
}

/// Adds an event to the previous one if both fit in one call. Otherwise returns the event.
fn add_to(last: &mut Event, event: Event, limit: usize) -> Option<Event> {
    match (last, event) {
        (Event::Proposed { nodes, .. }, Event::Proposed { nodes: new, .. }) if nodes.len() < limit => {
            nodes.extend(new);
        }
        (
            Event::Committed { nodes, attachments, .. },
            Event::Committed { nodes: new, attachments: files, .. },
        ) => {
            nodes.extend(new);
            attachments.extend(files);
        }
        (
            Event::Committed { transitions, .. } | Event::Reclassified { transitions, .. },
            Event::Reclassified { transition, .. },
        ) if transition.by.is_some() => transitions.push(transition),
        (Event::Claimed { nodes }, Event::Claimed { nodes: new })
            if nodes.iter().all(|it| is_by_same(it, &new[0])) =>
        {
            nodes.extend(new);
        }
        (Event::Ran { runs, .. }, Event::Ran { runs: new, .. }) if new[0].of().is_some() => runs.extend(new),
        (_, event) => return Some(event),
    }
    None
}

/// Adds commit messages to the events.
fn with_messages(facts: &Facts, events: Vec<(Timestamp, Event)>) -> Vec<ImportStep> {
    let rules = EffectiveRules::new(&facts.ruleset.ruleset, &facts.meta);
    let mut investigation = Investigation::new(facts.meta.clone());
    let mut steps = Vec::with_capacity(events.len());
    for (at, event) in events {
        let (caller, warnings) = caller_and_warnings(&event);
        let message = message::message(&investigation, &rules, &event, &warnings, &caller);
        investigation = investigation.with(&event.changes());
        steps.push(ImportStep { at, event, message });
    }
    steps
}

/// Returns the client and the warnings of a call, as stored in its results.
fn caller_and_warnings(event: &Event) -> (Caller, Vec<Diagnostic>) {
    let noted = |node: &Node, warnings: &[Warning]| -> Vec<Diagnostic> {
        let note = |it: &Warning| Diagnostic::new(it.code.clone(), it.message.clone()).about(&node.id);
        warnings.iter().map(note).collect()
    };
    match event {
        Event::Proposed { .. } | Event::Claimed { .. } | Event::Released { .. } | Event::Attached { .. } => {
            (Caller::default(), Vec::new())
        }
        Event::Committed { nodes, .. } => {
            let results =
                || nodes.iter().filter_map(|node| Some((node, node.classification.as_ref()?.newest())));
            let caller = results().next().map(|(_, result)| result.caller.clone());
            let warnings = results().flat_map(|(node, result)| noted(node, &result.warnings)).collect();
            (caller.unwrap_or_default(), warnings)
        }
        Event::Reclassified { transition: Transition { node, .. }, .. } => {
            let last = node.classification.as_ref().and_then(|result| result.reclassified.last());
            last.map(|last| (last.caller().cloned().unwrap_or_default(), noted(node, &last.warnings)))
                .unwrap_or_default()
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|result| result.amended.last());
            (last.map(|last| last.caller.clone()).unwrap_or_default(), Vec::new())
        }
        Event::Ended { conclusion } => {
            let caller = conclusion.amended.last().map_or(&conclusion.caller, |last| &last.caller);
            (caller.clone(), Vec::new())
        }
        Event::Commented { comment } => (comment.author.caller.clone(), Vec::new()),
        Event::Ran { runs, .. } => {
            (runs.first().map(|run| run.author.caller.clone()).unwrap_or_default(), Vec::new())
        }
    }
}

fn is_by_same(one: &Node, other: &Node) -> bool {
    let agent = |node: &Node| node.claim.as_ref().map(|claim| claim.agent_id.clone());
    agent(one) == agent(other)
}

/// Returns the events of a node in order, each with the resulting state of the node.
fn events_of(node: &Arc<Node>) -> Vec<(Timestamp, Event)> {
    let proposed = |node: Node| {
        (node.proposed_at, Event::Proposed { nodes: vec![Arc::new(node)], withdrawn: Vec::new() })
    };
    let mut stage = Node::clone(node);
    let mut events = Vec::new();
    if let Some(end) = &node.classification {
        // Restores the state before the first change. After this, each amendment contains its new text.
        let mut amendments = end.amended.clone();
        amendments.iter_mut().rev().for_each(|amendment| amendment.swap(&mut stage));
        if let Some(result) = &mut stage.classification {
            *result = Classification {
                reclassified: Vec::new(),
                amended: Vec::new(),
                other_results: Vec::new(),
                ..result.clone()
            };
        }
        events.push(proposed(Node { classification: None, ..stage.clone() }));
        events.push((end.committed_at, committed(&stage)));
        events.extend(changes_of(stage, end, amendments));
    } else {
        events.push(proposed(Node { claim: None, ..stage }));
        let claimed = |at| (at, Event::Claimed { nodes: vec![Arc::clone(node)] });
        events.extend(node.claim.iter().map(|claim| claimed(claim.at)));
    }
    // A manually written amendment may contain text that it did not change, so the final state is read from the file.
    if let Some((_, last)) = events.last_mut() {
        match last {
            Event::Proposed { nodes, .. } | Event::Claimed { nodes } | Event::Committed { nodes, .. } => {
                nodes[0].clone_from(node);
            }
            Event::Amended { node: last }
            | Event::Reclassified { transition: Transition { node: last, .. }, .. } => last.clone_from(node),
            _ => {}
        }
    }
    events
}

fn committed(node: &Node) -> Event {
    let nodes = vec![Arc::new(node.clone())];
    Event::Committed { nodes, transitions: Vec::new(), attachments: Vec::new() }
}

/// Returns the later events of a committed node. Merges the node's lists by time, keeping each list in order.
fn changes_of(
    mut stage: Node,
    end: &Classification,
    amendments: Vec<Amendment>,
) -> impl Iterator<Item = (Timestamp, Event)> {
    let mut others = end.other_results.iter().peekable();
    let mut changes = end.reclassified.iter().peekable();
    let mut amendments = amendments.into_iter().peekable();
    std::iter::from_fn(move || {
        let times = [
            others.peek().map(|other| other.committed_at),
            changes.peek().map(|change| change.at),
            amendments.peek().map(|amendment| amendment.at),
        ];
        let first = times.iter().flatten().min().copied();
        if let Some(other) = others.next_if(|other| Some(other.committed_at) == first) {
            stage.classification.iter_mut().for_each(|result| result.other_results.push(other.clone()));
            return Some((other.committed_at, committed(&stage)));
        }
        if let Some(change) = changes.next_if(|change| Some(change.at) == first) {
            stage.classification.iter_mut().for_each(|result| result.reclassified.push(change.clone()));
            let by = change.child().cloned();
            let (from, to, node) = (change.from.clone(), change.to.clone(), Arc::new(stage.clone()));
            let transition = Transition { node, from, to, by };
            let event = Event::Reclassified { transition, transitions: Vec::new(), reopened: false };
            return Some((change.at, event));
        }
        let mut amendment = amendments.next()?;
        amendment.swap(&mut stage);
        stage.classification.iter_mut().for_each(|result| result.amended.push(amendment.clone()));
        Some((amendment.at, Event::Amended { node: Arc::new(stage.clone()) }))
    })
}

/// Returns each version of the conclusion, as written by the calls.
fn stages_of_end(end: &Conclusion) -> Vec<(Timestamp, Conclusion)> {
    let mut first = end.clone();
    let mut amendments = std::mem::take(&mut first.amended);
    for amended in amendments.iter_mut().rev() {
        amended.swap(&mut first);
    }
    let mut stages = Vec::new();
    if let Some(at) = first.concluded_at {
        let bare = Conclusion {
            conclusion: None,
            concluded_at: None,
            answers: Vec::new(),
            not_covered: Vec::new(),
            ..first.clone()
        };
        stages.push((end.ended_at, bare));
        stages.push((at, first.clone()));
    } else {
        stages.push((end.ended_at, first.clone()));
    }
    let mut stage = first;
    for mut amended in amendments {
        amended.swap(&mut stage);
        stage.amended.push(amended.clone());
        stages.push((amended.at, stage.clone()));
    }
    stages
}
