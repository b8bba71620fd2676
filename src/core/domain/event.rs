//! The effects of calls, and the events between two trees.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Amendment, Attached, AttachmentName, Author, Caller, Comment, CommentId, Conclusion, Investigation, Node,
    NodeId, Reclassification, Run, RunId, StateName,
};

/// A difference between two states of an investigation, as shown by a git diff of their trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A node's file was written.
    Node(Arc<Node>),
    /// A node's file was removed.
    NodeRemoved(NodeId),
    /// `conclusion.yaml` was written.
    Concluded(Arc<Conclusion>),
    /// The call that reopened the investigation was written to `conclusion.yaml`.
    Reopened(Arc<Conclusion>),
    /// A comment's file was written.
    Comment(Arc<Comment>),
    /// A run's file was written.
    Run(Arc<Run>),
    /// An attachment was written.
    Attached(Arc<Attached>),
}

/// The effect of an accepted call. It contains the resulting nodes, which the store writes unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The effect of `tot_propose`.
    Proposed {
        /// The new proposals.
        nodes: Vec<Arc<Node>>,
        /// The pending proposals that they replace, withdrawn.
        replaced: Vec<Arc<Node>>,
        /// The withdrawn proposals.
        withdrawn: Vec<Arc<Node>>,
        /// The former conclusion, if the call reopened an ended investigation.
        reopened: Option<Arc<Conclusion>>,
    },
    /// The effect of `tot_next` with a claim.
    Claimed {
        /// The proposals with their claims, all by the same agent.
        nodes: Vec<Arc<Node>>,
    },
    /// The effect of `tot release`.
    Released {
        /// The proposals, without their claims.
        nodes: Vec<Arc<Node>>,
    },
    /// The effect of `tot_commit`.
    Committed {
        /// The classified nodes, in the order given by the call. If a node already had a result, the newly committed
        /// one is the last of its other results.
        nodes: Vec<Arc<Node>>,
        /// The parents whose state changed because of their children.
        transitions: Vec<Transition>,
        /// The files attached to the classified nodes.
        attachments: Vec<Arc<Attached>>,
    },
    /// The effect of `tot_reclassify`.
    Reclassified {
        /// The requested change.
        transition: Transition,
        /// The parents whose state changed because of the requested change.
        transitions: Vec<Transition>,
        /// The former conclusion, if the call reopened an ended investigation.
        reopened: Option<Arc<Conclusion>>,
    },
    /// The effect of `tot_amend` on a node.
    Amended {
        /// The amended node. Its last amendment is the new one.
        node: Arc<Node>,
    },
    /// The effect of `tot_end`, or of `tot_amend` on the conclusion. In the latter case, the last amendment is the new
    /// one.
    Ended {
        /// The conclusion as stored.
        conclusion: Arc<Conclusion>,
    },
    /// The effect of `tot_comment`, `tot comment`, `tot object` or `tot resolve`.
    Commented {
        /// The comment.
        comment: Arc<Comment>,
    },
    /// The effect of `tot attach`.
    Attached {
        /// One or more attachments, all on the same node.
        attachments: Vec<Arc<Attached>>,
    },
    /// The effect of `tot run` or `tot rerun`.
    Ran {
        /// One or more runs, repetitions or judgements.
        runs: Vec<Arc<Run>>,
        /// The files attached to the node that the runs support.
        attachments: Vec<Arc<Attached>>,
    },
}

/// A change to the state of a committed node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The node after the change. Its last reclassification is this change.
    pub node: Arc<Node>,
    /// The previous state.
    pub from: StateName,
    /// The new state.
    pub to: StateName,
    /// The child that caused the change; `None` if an agent requested it.
    pub by: Option<NodeId>,
}

impl Event {
    /// Records the caller in everything that the event adds.
    pub fn called_by(mut self, caller: &Caller) -> Event {
        match &mut self {
            // These events store no findings. Their commit message names the caller.
            Event::Claimed { .. } | Event::Released { .. } | Event::Attached { .. } => {}
            Event::Proposed { replaced, withdrawn, reopened, .. } => {
                reopened_by(reopened, caller);
                for node in replaced.iter_mut().chain(withdrawn) {
                    let withdrawal = Arc::make_mut(node).withdrawn.as_mut();
                    withdrawal.into_iter().for_each(|it| it.caller.clone_from(caller));
                }
            }
            Event::Committed { nodes, transitions, .. } => {
                let ids: Vec<NodeId> = nodes.iter().map(|node| node.id.clone()).collect();
                let moved = transitions.iter_mut().map(|transition| &mut transition.node);
                for node in nodes.iter_mut().chain(moved.filter(|node| ids.contains(&node.id))) {
                    if let Some(classification) = &mut Arc::make_mut(node).classification {
                        classification.newest_mut().caller.clone_from(caller);
                    }
                }
            }
            Event::Reclassified { transition, reopened, .. } => {
                reopened_by(reopened, caller);
                let classification = &mut Arc::make_mut(&mut transition.node).classification;
                if let Some(change) = classification.as_mut().and_then(|it| it.reclassified.last_mut()) {
                    change.by = Author::Caller(caller.clone());
                }
            }
            Event::Amended { node } => {
                let classification = &mut Arc::make_mut(node).classification;
                if let Some(amendment) = classification.as_mut().and_then(|it| it.amended.last_mut()) {
                    amendment.caller.clone_from(caller);
                }
            }
            Event::Ended { conclusion } => {
                let conclusion = Arc::make_mut(conclusion);
                if conclusion.amendment().is_none() {
                    conclusion.caller.clone_from(caller);
                }
                let amended = conclusion.amended.last_mut().filter(|last| last.at >= conclusion.ended_at);
                amended.into_iter().for_each(|last| last.caller.clone_from(caller));
            }
            Event::Commented { comment } => Arc::make_mut(comment).author.caller.clone_from(caller),
            Event::Ran { runs, .. } => {
                for run in runs {
                    Arc::make_mut(run).author.caller.clone_from(caller);
                }
            }
        }
        self
    }

    /// Returns the changes that the event makes to the facts.
    pub fn changes(&self) -> Vec<Change> {
        let node = |node: &Arc<Node>| Change::Node(Arc::clone(node));
        match self {
            Event::Proposed { nodes, replaced, withdrawn, reopened } => {
                let reopened = reopened.iter().cloned().map(Change::Reopened);
                replaced.iter().chain(withdrawn).chain(nodes).map(node).chain(reopened).collect()
            }
            Event::Claimed { nodes } | Event::Released { nodes } => nodes.iter().map(node).collect(),
            Event::Committed { nodes, transitions, attachments } => {
                // If a call commits a node and also a child that changes its state, the node is in both lists. The
                // later entry wins.
                let nodes = nodes.iter().map(node).chain(transitions.iter().map(|t| node(&t.node)));
                nodes.chain(attachments.iter().cloned().map(Change::Attached)).collect()
            }
            Event::Reclassified { transition, transitions, reopened } => std::iter::once(transition)
                .chain(transitions)
                .map(|t| node(&t.node))
                .chain(reopened.iter().cloned().map(Change::Reopened))
                .collect(),
            Event::Amended { node: amended } => vec![node(amended)],
            Event::Ended { conclusion } => vec![Change::Concluded(Arc::clone(conclusion))],
            Event::Commented { comment } => vec![Change::Comment(Arc::clone(comment))],
            Event::Attached { attachments } => attachments.iter().cloned().map(Change::Attached).collect(),
            Event::Ran { runs, attachments } => {
                let runs = runs.iter().cloned().map(Change::Run);
                runs.chain(attachments.iter().cloned().map(Change::Attached)).collect()
            }
        }
    }
}

fn reopened_by(reopened: &mut Option<Arc<Conclusion>>, caller: &Caller) {
    if let Some(reopening) = reopened.as_mut().and_then(|end| Arc::make_mut(end).reopened.as_mut()) {
        reopening.caller.clone_from(caller);
    }
}

/// An event in the history of a node or of the whole investigation, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The investigation began.
    Started,
    /// A node was proposed for the first time, or again.
    Proposed(Arc<Node>),
    /// A proposal was withdrawn.
    Withdrawn(Arc<Node>),
    /// An agent claimed a proposal.
    Claimed(Arc<Node>),
    /// The claim on a proposal was released.
    Released(Arc<Node>),
    /// A node was committed.
    Committed(Arc<Node>),
    /// Another result was stored for the node. The number is its index among the other results.
    OtherResult(Arc<Node>, usize),
    /// The state of a committed node changed.
    Reclassified(Arc<Node>, Reclassification),
    /// The text of a committed node was amended.
    Amended(Arc<Node>, Amendment),
    /// A committed node changed in some other way, either manually or in a merge.
    Edited(Arc<Node>),
    /// A committed node was removed manually.
    Removed(Arc<Node>),
    /// The investigation was ended.
    Ended(Arc<Conclusion>),
    /// An ended investigation was reopened.
    Reopened,
    /// A comment was written.
    Commented(Arc<Comment>),
    /// A comment was changed manually, or by a merge that moved its node.
    CommentEdited(Arc<Comment>),
    /// A comment was removed manually.
    CommentRemoved(Arc<Comment>),
    /// A command was run or rerun, or a difference was judged.
    Ran(Arc<Run>),
    /// A run was changed manually, or by a merge that moved its node.
    RunEdited(Arc<Run>),
    /// A run was removed manually.
    RunRemoved(Arc<Run>),
    /// A file was attached to a node.
    Attached(NodeId, AttachmentName),
    /// The content of an attachment was changed manually, or by a merge of two attachments with the same name.
    AttachmentChanged(NodeId, AttachmentName),
    /// An attachment was removed manually, or by a merge that moved its node.
    AttachmentRemoved(NodeId, AttachmentName),
}

impl Happening {
    /// Returns whether the event removed its node.
    pub fn is_gone(&self) -> bool {
        matches!(self, Happening::Withdrawn(_) | Happening::Removed(_))
    }

    /// Returns the changed node: its state after the event, or its last state if the event removed it.
    pub fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Happening::Proposed(node)
            | Happening::Withdrawn(node)
            | Happening::Claimed(node)
            | Happening::Released(node)
            | Happening::Committed(node)
            | Happening::OtherResult(node, _)
            | Happening::Reclassified(node, _)
            | Happening::Amended(node, _)
            | Happening::Edited(node)
            | Happening::Removed(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the comment that the event concerns.
    pub fn comment(&self) -> Option<&Arc<Comment>> {
        match self {
            Happening::Commented(comment)
            | Happening::CommentEdited(comment)
            | Happening::CommentRemoved(comment) => Some(comment),
            _ => None,
        }
    }

    /// Returns the run that the event concerns.
    pub fn run(&self) -> Option<&Arc<Run>> {
        match self {
            Happening::Ran(run) | Happening::RunEdited(run) | Happening::RunRemoved(run) => Some(run),
            _ => None,
        }
    }

    /// Returns the attachment that the event concerns, with its node.
    pub fn attachment(&self) -> Option<(&NodeId, &AttachmentName)> {
        match self {
            Happening::Attached(node, name)
            | Happening::AttachmentChanged(node, name)
            | Happening::AttachmentRemoved(node, name) => Some((node, name)),
            _ => None,
        }
    }

    /// Returns the id of the node that was changed, discussed or tested, or that has the attachment.
    pub fn node_id(&self) -> Option<&NodeId> {
        let node = self.node().map(|node| &node.id).or(self.attachment().map(|(node, _)| node));
        let said = self.comment().and_then(|comment| comment.node.as_ref());
        node.or(said).or_else(|| self.run()?.node.as_ref())
    }
}

/// Returns the events that turned the node file `before` into `after`.
pub fn node_events(before: Option<&Arc<Node>>, after: Option<&Arc<Node>>) -> Vec<Happening> {
    let is_shown = |node: &&Arc<Node>| !node.is_withdrawn();
    match (before.filter(is_shown), after.filter(is_shown)) {
        // Includes proposals that have not changed.
        (before, after) if before == after => Vec::new(),
        (None, None) => Vec::new(),
        (Some(before), None) if before.is_pending() => {
            vec![Happening::Withdrawn(Arc::clone(after.unwrap_or(before)))]
        }
        (Some(before), None) => vec![Happening::Removed(Arc::clone(before))],
        (before, Some(after)) => {
            let Some(now) = &after.classification else {
                let node = Arc::clone(after);
                return vec![match before {
                    Some(before) if !before.is_pending() => Happening::Edited(node),
                    Some(before) if is_claim(before, after) => match after.claim {
                        Some(_) => Happening::Claimed(node),
                        None => Happening::Released(node),
                    },
                    _ => Happening::Proposed(node),
                }];
            };
            let earlier = before.and_then(|before| before.classification.as_ref());
            let known = earlier.map_or(0, |earlier| earlier.reclassified.len());
            let amended = earlier.map_or(0, |earlier| earlier.amended.len());
            let others = earlier.map_or(0, |earlier| earlier.other_results.len());
            let mut happenings = Vec::new();
            match earlier {
                None => happenings.push(Happening::Committed(Arc::clone(after))),
                Some(_) => {
                    let mut then = undone(after, &now.amended[amended.min(now.amended.len())..]);
                    if let Some(result) = &mut then.classification {
                        result.reclassified.truncate(known);
                        result.amended.truncate(amended);
                        result.other_results.truncate(others);
                    }
                    if before.is_some_and(|before| **before != then) {
                        happenings.push(Happening::Edited(Arc::clone(after)));
                    }
                    let more = others..now.other_results.len();
                    happenings.extend(more.map(|number| Happening::OtherResult(Arc::clone(after), number)));
                }
            }
            for change in now.reclassified.iter().skip(known) {
                happenings.push(Happening::Reclassified(Arc::clone(after), change.clone()));
            }
            for amendment in now.amended.iter().skip(amended) {
                happenings.push(Happening::Amended(Arc::clone(after), amendment.clone()));
            }
            happenings
        }
    }
}

/// Returns the event that turned the comment file `before` into `after`.
pub fn comment_event(before: Option<Arc<Comment>>, after: Option<Arc<Comment>>) -> Option<Happening> {
    record_event(before, after, [Happening::Commented, Happening::CommentEdited, Happening::CommentRemoved])
}

/// Returns the event that turned the run file `before` into `after`.
pub fn run_event(before: Option<Arc<Run>>, after: Option<Arc<Run>>) -> Option<Happening> {
    record_event(before, after, [Happening::Ran, Happening::RunEdited, Happening::RunRemoved])
}

/// Returns the event for a write-once record that was added, changed or removed.
fn record_event<T>(
    before: Option<Arc<T>>,
    after: Option<Arc<T>>,
    [new, changed, gone]: [fn(Arc<T>) -> Happening; 3],
) -> Option<Happening> {
    match (before, after) {
        (None, None) => None,
        (None, Some(after)) => Some(new(after)),
        (Some(_), Some(after)) => Some(changed(after)),
        (Some(before), None) => Some(gone(before)),
    }
}

/// Returns the comment and run events between two states, oldest first.
pub fn record_events(before: &Investigation, after: &Investigation) -> Vec<Happening> {
    let ids: BTreeSet<CommentId> =
        before.comments().chain(after.comments()).map(|comment| comment.id).collect();
    let said = ids.into_iter().filter_map(|id| {
        let (old, new) = (before.comment(id), after.comment(id));
        if old == new { None } else { comment_event(old.cloned(), new.cloned()) }
    });
    let ids: BTreeSet<RunId> = before.runs().chain(after.runs()).map(|run| run.id).collect();
    let run = ids.into_iter().filter_map(|id| {
        let (old, new) = (before.run(id), after.run(id));
        if old == new { None } else { run_event(old.cloned(), new.cloned()) }
    });
    said.chain(run).collect()
}

/// Returns the attachment events between two states. New content of the same size is not detected.
pub fn attachment_events(before: &Investigation, after: &Investigation) -> Vec<Happening> {
    let nodes: BTreeSet<&NodeId> = before.attachments().keys().chain(after.attachments().keys()).collect();
    let mut happenings = Vec::new();
    for node in nodes {
        let (old, new) = (before.attachments_of(node), after.attachments_of(node));
        let names: BTreeSet<&AttachmentName> = old.keys().chain(new.keys()).collect();
        happenings.extend(names.into_iter().filter_map(|name| match (old.get(name), new.get(name)) {
            (None, _) => Some(Happening::Attached(node.clone(), name.clone())),
            (Some(_), None) => Some(Happening::AttachmentRemoved(node.clone(), name.clone())),
            (old, new) if old != new => Some(Happening::AttachmentChanged(node.clone(), name.clone())),
            _ => None,
        }));
    }
    happenings
}

/// Returns whether two proposals differ only in the claim.
fn is_claim(before: &Node, after: &Node) -> bool {
    before.claim != after.claim && Node { claim: after.claim.clone(), ..before.clone() } == *after
}

/// Reverts the amendments, newest first.
fn undone(node: &Node, amendments: &[Amendment]) -> Node {
    let mut node = node.clone();
    for amendment in amendments.iter().rev() {
        amendment.clone().exchange(&mut node);
    }
    node
}
