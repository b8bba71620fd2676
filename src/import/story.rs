//! Reconstructs the history of an investigation from its stored facts.

use std::collections::HashMap;
use std::sync::Arc;

use super::Facts;
use crate::domain::{
    Amendment, Attached, AttachmentName, Caller, Classification, Comment, Conclusion, Diagnostic, Event,
    Investigation, Node, NodeId, Run, RunId, RunKind, Timestamp, Transition, Warning,
};
use crate::format::message;
use crate::ruleset::EffectiveRules;

/// One reconstructed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportStep {
    /// Its time.
    pub at: Timestamp,
    /// Its event.
    pub event: Event,
    /// The message of its commit.
    pub message: String,
}

/// An act on one node or on the conclusion.
enum Act {
    Proposed(Arc<Node>),
    Claimed(Arc<Node>),
    Committed(Arc<Node>),
    Changed(Transition),
    Amended(Arc<Node>),
    Ended(Arc<Conclusion>),
    Commented(Arc<Comment>),
    Ran(Arc<Run>),
}

/// The time of an act, and its order among acts of the same time.
type ActKey = (Timestamp, u8);

impl Act {
    /// Returns the order among acts of the same time. A call stores results before it proposes the next nodes.
    fn order(&self) -> u8 {
        match self {
            Act::Committed(_) => 0,
            Act::Amended(_) | Act::Changed(Transition { by: None, .. }) => 1,
            // An effect of a child belongs to the call that gave the child its state.
            Act::Changed(_) => 2,
            Act::Proposed(_) => 3,
            Act::Claimed(_) => 4,
            Act::Ended(_) => 5,
            Act::Commented(_) => 6,
            Act::Ran(_) => 7,
        }
    }
}

/// Returns the calls after the start, ordered by time. Acts of the same time become one call if possible. Each node
/// follows its parent, even if its times disagree.
pub fn steps(facts: &Facts) -> Vec<ImportStep> {
    let mut acts: Vec<(ActKey, Act)> = Vec::new();
    let mut committed: HashMap<&NodeId, ActKey> = HashMap::new();
    for node in &facts.nodes {
        let parent = node.parent.as_ref().and_then(|parent| committed.get(parent)).copied();
        let mut key = parent.unwrap_or((facts.meta.started_at, 0));
        for (number, (at, act)) in acts_of(node).into_iter().enumerate() {
            key = key.max((at, act.order()));
            if number < 2 {
                // The commit, or the proposal of a pending node.
                committed.insert(&node.id, key);
            }
            acts.push((key, act));
        }
    }
    if let Some(end) = &facts.conclusion {
        let mut key = (facts.meta.started_at, 0);
        for (at, end) in stages_of_end(end) {
            let act = Act::Ended(Arc::new(end));
            key = key.max((at, act.order()));
            acts.push((key, act));
        }
    }
    for comment in &facts.comments {
        let node = comment.node.as_ref().and_then(|node| committed.get(node)).copied();
        let act = Act::Commented(Arc::clone(comment));
        acts.push((node.unwrap_or((facts.meta.started_at, 0)).max((comment.at, act.order())), act));
    }
    for run in &facts.runs {
        let node = run.node.as_ref().and_then(|node| committed.get(node)).copied();
        let act = Act::Ran(Arc::clone(run));
        acts.push((node.unwrap_or((facts.meta.started_at, 0)).max((run.at, act.order())), act));
    }
    // The sort is stable, so acts on one node at the same time stay in order.
    acts.sort_by_key(|(key, _)| *key);
    let limit = facts.ruleset.ruleset.batch_limit.map_or(usize::MAX, |limit| limit as usize);
    // Attachments of a run are added with that run. Files contain no times of other attachments, so those are added with
    // the node's first result.
    let mut put_by: HashMap<(&NodeId, &AttachmentName), RunId> = HashMap::new();
    for run in &facts.runs {
        if let (RunKind::Captured(ran), Some(node)) = (&run.what, &run.node) {
            for name in &ran.attachments {
                put_by.entry((node, name)).or_insert(run.id);
            }
        }
    }
    let mut of_runs: HashMap<RunId, Vec<Arc<Attached>>> = HashMap::new();
    let mut attachments: HashMap<&NodeId, Vec<Arc<Attached>>> = HashMap::new();
    for file in &facts.attachments {
        let files = match put_by.get(&(&file.node, &file.name)) {
            Some(run) => of_runs.entry(*run).or_default(),
            None => attachments.entry(&file.node).or_default(),
        };
        files.push(Arc::clone(file));
    }
    let mut take_attachments = |node: &Node| attachments.remove(&node.id).unwrap_or_default();
    let mut events: Vec<(Timestamp, Event)> = Vec::new();
    for ((at, _), act) in acts {
        let last = events.last_mut().filter(|(last, _)| *last == at).map(|(_, event)| event);
        let event = match (act, last) {
            (Act::Proposed(node), Some(Event::Proposed { nodes, .. })) if nodes.len() < limit => {
                nodes.push(node);
                continue;
            }
            (Act::Committed(node), Some(Event::Committed { nodes, attachments, .. })) => {
                attachments.extend(take_attachments(&node));
                nodes.push(node);
                continue;
            }
            (
                Act::Changed(transition),
                Some(Event::Committed { transitions, .. } | Event::Reclassified { transitions, .. }),
            ) if transition.by.is_some() => {
                transitions.push(transition);
                continue;
            }
            (Act::Claimed(node), Some(Event::Claimed { nodes }))
                if nodes.iter().all(|it| is_by_same(it, &node)) =>
            {
                nodes.push(node);
                continue;
            }
            (Act::Claimed(node), _) => Event::Claimed { nodes: vec![node] },
            (Act::Proposed(node), _) => Event::Proposed { nodes: vec![node], withdrawn: Vec::new() },
            (Act::Committed(node), _) => Event::Committed {
                attachments: take_attachments(&node),
                nodes: vec![node],
                transitions: Vec::new(),
            },
            (Act::Changed(transition), _) => {
                Event::Reclassified { transition, transitions: Vec::new(), reopened: false }
            }
            (Act::Amended(node), _) => Event::Amended { node },
            (Act::Ended(conclusion), _) => Event::Ended { conclusion },
            (Act::Commented(comment), _) => Event::Commented { comment },
            (Act::Ran(run), Some(Event::Ran { runs, .. })) if run.of().is_some() => {
                runs.push(run);
                continue;
            }
            (Act::Ran(run), _) => {
                Event::Ran { attachments: of_runs.remove(&run.id).unwrap_or_default(), runs: vec![run] }
            }
        };
        events.push((at, event));
    }
    with_messages(facts, events)
}

/// Adds the commit messages to the events.
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
            last.map(|last| (last.caller.clone(), noted(node, &last.warnings))).unwrap_or_default()
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

/// Returns the acts on a node in order, with the node's state after each.
fn acts_of(node: &Arc<Node>) -> Vec<(Timestamp, Act)> {
    let mut acts = Vec::new();
    let mut stage = Node::clone(node);
    if let Some(end) = &node.classification {
        // Restores the state before the first change. Afterwards each amendment contains its new text.
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
        acts.push((
            node.proposed_at,
            Act::Proposed(Arc::new(Node { classification: None, ..stage.clone() })),
        ));
        acts.push((end.committed_at, Act::Committed(Arc::new(stage.clone()))));
        acts.extend(changes_of(stage, end, amendments));
    } else {
        acts.push((node.proposed_at, Act::Proposed(Arc::new(Node { claim: None, ..stage.clone() }))));
        let claim = node.claim.iter().map(|claim| (claim.at, Act::Claimed(Arc::clone(node))));
        acts.extend(claim);
    }
    // A manually written amendment may contain text that it did not change, so the final state is read from the file.
    if let Some((_, last)) = acts.last_mut() {
        match last {
            Act::Proposed(last) | Act::Claimed(last) | Act::Committed(last) | Act::Amended(last) => {
                last.clone_from(node);
            }
            Act::Changed(transition) => transition.node.clone_from(node),
            Act::Ended(_) | Act::Commented(_) | Act::Ran(_) => {}
        }
    }
    acts
}

/// Returns the acts on a committed node: each list in order, the lists merged by time.
fn changes_of(
    mut stage: Node,
    end: &Classification,
    amendments: Vec<Amendment>,
) -> impl Iterator<Item = (Timestamp, Act)> {
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
            return Some((other.committed_at, Act::Committed(Arc::new(stage.clone()))));
        }
        if let Some(change) = changes.next_if(|change| Some(change.at) == first) {
            stage.classification.iter_mut().for_each(|result| result.reclassified.push(change.clone()));
            let by = change.by.child().cloned();
            let (from, to, node) = (change.from.clone(), change.to.clone(), Arc::new(stage.clone()));
            return Some((change.at, Act::Changed(Transition { node, from, to, by })));
        }
        let mut amendment = amendments.next()?;
        amendment.swap(&mut stage);
        stage.classification.iter_mut().for_each(|result| result.amended.push(amendment.clone()));
        Some((amendment.at, Act::Amended(Arc::new(stage.clone()))))
    })
}

/// Returns the conclusion as each call wrote it.
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
