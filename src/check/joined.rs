//! States that only a merge leaves, though each of the joined histories is valid by itself, such as a proposal below a node
//! that was given up on the other side. The next call need not repair them, so they stay in the tree, and are no errors.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::oldest_first;
use super::tree::misfit;
use crate::domain::{Happening, Node, NodeId, Reclassification};
use crate::ruleset::EffectiveRules;
use crate::store::HistoryEntry;

/// The effects of merges, by the history along first parents.
#[derive(Default)]
pub(super) struct Joined<'h> {
    /// Whether there was any merge.
    is_merged: bool,
    /// Whether a part of the history is unknown.
    is_cut: bool,
    /// Nodes that do not fit below their parent since a merge.
    misfits: HashSet<&'h NodeId>,
    /// Roots that neither a call nor a merge has added.
    roots_by_hand: HashSet<&'h NodeId>,
    /// Changes of state to the same one that no merge has added.
    repeated: Vec<&'h Reclassification>,
    /// Whether there was a merge since the end, or with it.
    since_end: bool,
}

impl<'h> Joined<'h> {
    pub(super) fn new(history: &'h [HistoryEntry], rules: &EffectiveRules) -> Self {
        let mut joined = Joined::default();
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
                    Happening::Ended(end) if end.amended.is_empty() => joined.since_end = is_join,
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
                    .is_some_and(|(node, parent)| misfit(node, parent, rules).is_some());
                match (is_misfit, is_join) {
                    (true, true) => drop(joined.misfits.insert(id)),
                    (true, false) => {}
                    (false, _) => drop(joined.misfits.remove(id)),
                }
            }
        }
        joined
    }

    /// Whether a merge has put a node below a parent where it does not fit, or has changed that parent.
    pub(super) fn misfits(&self, node: &Node) -> bool {
        self.is_cut || self.misfits.contains(&node.id)
    }

    /// Whether a merge may have left a root that could not be proposed now.
    pub(super) fn is_root(&self, root: &Node) -> bool {
        self.is_merged && !self.roots_by_hand.contains(&root.id)
    }

    /// Whether a merge may have joined two changes to the same state.
    pub(super) fn is_alike(&self, change: &Reclassification) -> bool {
        self.is_merged && !self.repeated.contains(&change)
    }

    /// Whether a merge may have added what was not known at the end.
    pub(super) fn since_end(&self) -> bool {
        self.since_end
    }
}
