//! The tree of nodes, and the questions that every rule asks of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Change, Conclusion, Node, NodeId, SessionId, StateName, Timestamp};

/// What `tot_start` fixed: written once, never touched again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The id of the investigation.
    pub id: SessionId,
    /// A short title for lists and pages.
    pub title: String,
    /// The question.
    pub query: String,
    /// What the agent was given to start from.
    pub context: Option<String>,
    /// The name of the ruleset, which is pinned beside it.
    pub ruleset: String,
    /// The mode of the ruleset.
    pub mode: String,
    /// The end is refused before this round.
    pub min_rounds: u32,
    /// Roots that round 1 must have.
    pub min_roots: u32,
    /// Whether states that come too early are kept as they are.
    pub allow_early_terminal: bool,
    /// When it began.
    pub started_at: Timestamp,
}

/// An investigation: its facts, and an index of children over them.
///
/// Invariant: every node's parent is a node, and its round is its parent's round + 1 (a root's is 1), so there
/// are no cycles. [`Investigation::from_facts`] leaves out and names what does not fit.
///
/// A value is never changed: [`Investigation::with`] gives another one, which shares with it the rounds that no change
/// touches. So a call on 10,000 nodes copies one round of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Investigation {
    meta: Arc<Meta>,
    /// None of them is empty.
    rounds: BTreeMap<u32, Arc<Round>>,
    conclusion: Option<Arc<Conclusion>>,
    /// Ids whose files are there, but can't be read or have no place in the tree: they are not free.
    unreadable: Arc<BTreeSet<NodeId>>,
}

/// The nodes of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Round {
    nodes: BTreeMap<NodeId, Arc<Node>>,
    /// The same nodes below each parent, by suffix; not the roots.
    families: BTreeMap<NodeId, Vec<Arc<Node>>>,
    /// How many of them are pending.
    pending: usize,
}

/// A node that has no place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureFault {
    /// The node.
    pub node: NodeId,
    /// Why it has no place.
    pub reason: String,
}

impl Investigation {
    /// An investigation without nodes.
    pub fn new(meta: Meta) -> Self {
        Investigation {
            meta: Arc::new(meta),
            rounds: BTreeMap::new(),
            conclusion: None,
            unreadable: Arc::default(),
        }
    }

    /// The same, where these ids are taken by files that can't be read or have no place in the tree.
    pub fn with_unreadable(mut self, ids: impl IntoIterator<Item = NodeId>) -> Self {
        self.unreadable = Arc::new(ids.into_iter().collect());
        self
    }

    /// Ids whose files are there, but can't be read or have no place in the tree.
    pub fn unreadable(&self) -> &BTreeSet<NodeId> {
        &self.unreadable
    }

    /// The tree that these facts make. Nodes that have no place in it are left out and named.
    pub fn from_facts(
        meta: Meta,
        nodes: impl IntoIterator<Item = Arc<Node>>,
        conclusion: Option<Conclusion>,
    ) -> (Self, Vec<StructureFault>) {
        let mut investigation = Investigation::new(meta);
        investigation.conclusion = conclusion.map(Arc::new);
        let mut faults = Vec::new();
        // By round, so that a parent is always placed before its children: one pass, and no cycle can form.
        let sorted: BTreeMap<NodeId, Arc<Node>> =
            nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
        for (id, node) in sorted {
            match investigation.misplaced(&node) {
                Some(reason) => faults.push(StructureFault { node: id, reason }),
                None => investigation.place(node),
            }
        }
        (investigation, faults)
    }

    /// What `tot_start` fixed.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How it ended; `None` while it is open.
    pub fn conclusion(&self) -> Option<&Conclusion> {
        self.conclusion.as_deref()
    }

    /// The node of that id, committed or pending.
    pub fn node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.rounds.get(&id.round())?.nodes.get(id)
    }

    /// The committed node of that id.
    pub fn committed_node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.node(id).filter(|node| !node.is_pending())
    }

    /// All nodes, committed and pending, by round and suffix.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.rounds.values().flat_map(|round| round.nodes.values())
    }

    /// The nodes of one round, committed and pending, by suffix.
    pub fn in_round(&self, round: u32) -> impl Iterator<Item = &Arc<Node>> {
        self.rounds.get(&round).into_iter().flat_map(|round| round.nodes.values())
    }

    /// The committed nodes with their states, by round and suffix.
    pub fn committed(&self) -> impl DoubleEndedIterator<Item = (&Arc<Node>, &StateName)> {
        self.nodes().filter_map(|node| Some((node, node.state()?)))
    }

    /// The pending proposals, by round and suffix.
    pub fn pending(&self) -> impl Iterator<Item = &Arc<Node>> {
        let rounds = self.rounds.values().filter(|round| round.pending > 0);
        rounds.flat_map(|round| round.nodes.values()).filter(|node| node.is_pending())
    }

    /// The children of a node, committed and pending, by suffix.
    pub fn children(&self, id: &NodeId) -> impl Iterator<Item = &Arc<Node>> {
        let below = id.round().checked_add(1).and_then(|round| self.rounds.get(&round));
        below.and_then(|round| round.families.get(id)).into_iter().flatten()
    }

    /// The committed children of a node with their states.
    pub fn committed_children(&self, id: &NodeId) -> impl Iterator<Item = (&Arc<Node>, &StateName)> {
        self.children(id).filter_map(|node| Some((node, node.state()?)))
    }

    /// The committed nodes with their states and all their children, by round and suffix: quicker for all of them than
    /// [`Investigation::children`] for each.
    pub fn committed_families(&self) -> impl Iterator<Item = (&Arc<Node>, &StateName, &[Arc<Node>])> {
        self.rounds.iter().flat_map(|(number, round)| {
            let below = number.checked_add(1).and_then(|next| self.rounds.get(&next));
            // Both are in the order of their ids.
            let mut families = below.into_iter().flat_map(|below| &below.families).peekable();
            round.nodes.values().filter_map(move |node| {
                while families.next_if(|(parent, _)| **parent < node.id).is_some() {}
                let own = families.next_if(|(parent, _)| **parent == node.id);
                Some((node, node.state()?, own.map_or(&[][..], |(_, children)| children)))
            })
        })
    }

    /// The nodes without a parent, committed and pending.
    pub fn roots(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.in_round(1)
    }

    /// The highest round of any committed node, 1 when there is none.
    pub fn current_round(&self) -> u32 {
        self.committed().next_back().map_or(1, |(node, _)| node.round())
    }

    /// The way from the root to the node, both included.
    pub fn path(&self, id: &NodeId) -> Vec<&Arc<Node>> {
        let mut path: Vec<_> =
            std::iter::successors(self.node(id), |node| self.node(node.parent.as_ref()?)).collect();
        path.reverse();
        path
    }

    /// All nodes in depth-first preorder: each root, then its children by suffix.
    pub fn preorder(&self) -> Vec<&Arc<Node>> {
        let mut order = Vec::with_capacity(self.rounds.values().map(|round| round.nodes.len()).sum());
        let mut stack: Vec<&Arc<Node>> = self.roots().collect();
        stack.reverse();
        while let Some(node) = stack.pop() {
            order.push(node);
            let first = stack.len();
            stack.extend(self.children(&node.id));
            stack[first..].reverse();
        }
        order
    }

    /// The investigation after these changes. The changes must come from a decision on this very state (or from
    /// its history): what has no place in the tree is not checked again.
    pub fn with(&self, changes: &[Change]) -> Investigation {
        let mut next = self.clone();
        for change in changes {
            match change {
                Change::Meta(meta) => next.meta = Arc::clone(meta),
                Change::Node(node) => next.place(Arc::clone(node)),
                Change::NodeRemoved(id) => next.remove(id),
                Change::Concluded(conclusion) => next.conclusion = Some(Arc::clone(conclusion)),
                Change::Reopened => next.conclusion = None,
            }
        }
        next
    }

    fn misplaced(&self, node: &Node) -> Option<String> {
        match &node.parent {
            None if node.round() != 1 => Some(format!("it has no parent, but its round is {}", node.round())),
            None => None,
            Some(parent) if parent.round().checked_add(1) != Some(node.round()) => Some(format!(
                "its round is {}, but its parent {parent} is in round {}",
                node.round(),
                parent.round()
            )),
            Some(parent) => match self.node(parent) {
                None => Some(format!("its parent {parent} is missing or has no place in the tree itself")),
                Some(parent) if parent.is_pending() => {
                    Some(format!("its parent {} is only a pending proposal", parent.id))
                }
                Some(_) => None,
            },
        }
    }

    fn place(&mut self, node: Arc<Node>) {
        let round = Arc::make_mut(self.rounds.entry(node.round()).or_default());
        round.remove(&node.id);
        round.insert(node);
    }

    fn remove(&mut self, id: &NodeId) {
        let Some(round) = self.rounds.get_mut(&id.round()) else { return };
        let round = Arc::make_mut(round);
        round.remove(id);
        if round.nodes.is_empty() {
            self.rounds.remove(&id.round());
        }
    }
}

impl Round {
    fn insert(&mut self, node: Arc<Node>) {
        self.pending += usize::from(node.is_pending());
        if let Some(parent) = &node.parent {
            let family = match self.families.get_mut(parent) {
                Some(family) => family,
                None => self.families.entry(parent.clone()).or_default(),
            };
            let at = family.partition_point(|other| other.id < node.id);
            family.insert(at, Arc::clone(&node));
        }
        self.nodes.insert(node.id.clone(), node);
    }

    fn remove(&mut self, id: &NodeId) {
        let Some(node) = self.nodes.remove(id) else { return };
        self.pending -= usize::from(node.is_pending());
        let Some(parent) = &node.parent else { return };
        if let Some(family) = self.families.get_mut(parent) {
            family.retain(|other| other.id != node.id);
            if family.is_empty() {
                self.families.remove(parent);
            }
        }
    }
}
