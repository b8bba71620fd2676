//! Recognizes states that only a merge can cause, such as a proposal below a node that was closed on the other side.
//!
//! Each of the merged histories is valid on its own. Calls need not repair such a state, so it stays in the tree and is
//! not an error.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::oldest_first;
use crate::domain::{Happening, Node, NodeId, Reclassification};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::misplaced;
use crate::store::HistoryEntry;

/// The effects of merges, derived from the first-parent history.
#[derive(Default)]
pub(super) struct MergeEffects<'h> {
    /// True if the history contains a merge.
    is_merged: bool,
    /// True if part of the history is unknown.
    is_cut: bool,
    /// Nodes that a merge misplaced below their parents and that are still misplaced.
    misfits: HashSet<&'h NodeId>,
    /// Roots added by neither a call nor a merge.
    roots_by_hand: HashSet<&'h NodeId>,
    /// Reclassifications to the same state that were not added by a merge.
    repeated: Vec<&'h Reclassification>,
    /// True if a merge wrote the conclusion or came after it, or if a call accepted a correction of a node after it.
    since_end: bool,
}

impl<'h> MergeEffects<'h> {
    pub(super) fn new(history: &'h [HistoryEntry], rules: &EffectiveRules) -> Self {
        let mut joined = MergeEffects::default();
        let mut nodes: HashMap<&NodeId, &Arc<Node>> = HashMap::new();
        let mut children: HashMap<&NodeId, BTreeSet<&NodeId>> = HashMap::new();
        for (entry, is_join) in oldest_first(history) {
            let is_join = is_join || !entry.gaps.is_empty();
            joined.is_merged |= is_join;
            joined.is_cut |= !entry.gaps.is_empty();
            joined.since_end |= is_join;
            let mut touched = BTreeSet::new();
            for happening in &entry.happenings {
                match happening {
                    Happening::Withdrawn(node) | Happening::Removed(node) => drop(nodes.remove(&node.id)),
                    Happening::Ended(end) if end.amendment().is_none() && !end.draft => {
                        joined.since_end = is_join
                    }
                    Happening::Amended(_, amendment) if amendment.correction.is_some() => {
                        joined.since_end |= entry.is_of_call();
                    }
                    Happening::Reclassified(_, change) if change.from == change.to && !is_join => {
                        joined.repeated.push(change);
                    }
                    _ => {}
                }
                let Some(node) = happening.node().filter(|_| !happening.is_gone()) else { continue };
                if nodes.insert(&node.id, node).is_none()
                    && node.parent.is_none()
                    && !is_join
                    && !entry.is_of_call()
                {
                    joined.roots_by_hand.insert(&node.id);
                }
                if let Some(parent) = &node.parent {
                    children.entry(parent).or_default().insert(&node.id);
                }
                touched.insert(&node.id);
            }
            let below = touched.iter().filter_map(|id| children.get(*id)).flatten().copied();
            for id in below.chain(touched.iter().copied()).collect::<Vec<_>>() {
                let parent = nodes.get(id).and_then(|node| nodes.get(node.parent.as_ref()?));
                let is_misfit = nodes
                    .get(id)
                    .zip(parent)
                    .is_some_and(|(node, parent)| misplaced(rules, node, parent).is_some());
                match (is_misfit, is_join) {
                    (true, true) => drop(joined.misfits.insert(id)),
                    (true, false) => {}
                    (false, _) => drop(joined.misfits.remove(id)),
                }
            }
        }
        joined
    }

    /// Returns whether a merge may have put the node below a parent that does not allow it, or changed that parent. For
    /// a root: whether a merge may have added it although it could not be proposed now.
    pub(super) fn has_placed(&self, node: &Node) -> bool {
        match node.parent {
            Some(_) => self.is_cut || self.misfits.contains(&node.id),
            None => self.is_merged && !self.roots_by_hand.contains(&node.id),
        }
    }

    /// Returns whether a merge may have combined two changes to the same state.
    pub(super) fn is_alike(&self, change: &Reclassification) -> bool {
        self.is_merged && !self.repeated.contains(&change)
    }

    /// Returns whether a merge or an accepted correction may have added facts that were unknown when the investigation ended.
    pub(super) fn since_end(&self) -> bool {
        self.since_end
    }
}
