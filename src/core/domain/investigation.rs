//! The tree of nodes, and the questions that every rule asks of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::{
    Attachments, Caller, Change, Comment, CommentId, Conclusion, Node, NodeId, Pin, Run, RunId, SessionId,
    StateName, Timestamp,
};

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
    comments: Arc<BTreeMap<CommentId, Arc<Comment>>>,
    runs: Arc<BTreeMap<RunId, Arc<Run>>>,
    /// None of them is empty.
    attachments: Arc<BTreeMap<NodeId, Attachments>>,
    /// Ids of files that can't be read or have no place in the tree: these ids are not free.
    unreadable: Arc<BTreeSet<NodeId>>,
    by_hand: Arc<ByHand>,
    /// One for each of the rounds.
    kin: Kinship,
}

/// What commits outside of all calls have changed. It follows from the history, and nobody vouches for it: it confirms nothing,
/// and what was confirmed before it must be confirmed anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByHand {
    /// The files that these commits wrote, each with the number of commits.
    pub edits: BTreeMap<String, usize>,
    /// The nodes whose files these commits wrote.
    pub nodes: BTreeSet<NodeId>,
    /// The authors of these commits, as git names them: for the rules they wrote the node, too.
    pub writers: BTreeMap<NodeId, Vec<Caller>>,
    /// Nodes whose state such a commit changed, each with those of its children whose state is still that of then.
    pub confirmed_before: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// Whether these commits wrote the conclusion, or the terms that the investigation is held to.
    pub end: bool,
}

/// Committed nodes of one round that no rule about a node and its children can tell apart.
#[derive(Clone, Debug)]
pub struct Kin {
    /// Their round.
    pub round: u32,
    /// Their state.
    pub state: StateName,
    /// Whether a child caused the state.
    pub is_promoted: bool,
    /// The number of committed children in each state. It is the same for each of the nodes.
    pub children: Vec<(StateName, u32)>,
    /// The nodes, by suffix.
    pub nodes: Vec<Arc<Node>>,
}

/// The kin in each round, computed on first use. Investigations share those of rounds that are the same in both,
/// with the rounds below them.
#[derive(Clone, Debug, Default)]
struct Kinship(BTreeMap<u32, Arc<OnceLock<Vec<Kin>>>>);

/// It follows from the nodes.
impl PartialEq for Kinship {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Kinship {}

/// The nodes of one round: sorted lists and no trees, for a change copies one round and looks at all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Round {
    /// By suffix.
    nodes: Vec<Arc<Node>>,
    /// Those with a parent, by that and then by suffix.
    children: Vec<Arc<Node>>,
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
            comments: Arc::default(),
            runs: Arc::default(),
            attachments: Arc::default(),
            unreadable: Arc::default(),
            by_hand: Arc::default(),
            kin: Kinship::default(),
        }
    }

    /// Marks these ids as taken by files that can't be read or have no place in the tree.
    pub fn with_unreadable(mut self, ids: impl IntoIterator<Item = NodeId>) -> Self {
        self.unreadable = Arc::new(ids.into_iter().collect());
        self
    }

    /// Sets what commits outside of all calls have changed.
    pub fn with_by_hand(mut self, changed: ByHand) -> Self {
        self.by_hand = Arc::new(changed);
        self
    }

    /// What commits outside of all calls have changed.
    pub fn by_hand(&self) -> &ByHand {
        &self.by_hand
    }

    /// Replaces all comments by these.
    pub fn with_comments(mut self, comments: impl IntoIterator<Item = Arc<Comment>>) -> Self {
        self.comments = Arc::new(comments.into_iter().map(|comment| (comment.id, comment)).collect());
        self
    }

    /// Replaces all runs by these.
    pub fn with_runs(mut self, runs: impl IntoIterator<Item = Arc<Run>>) -> Self {
        self.runs = Arc::new(runs.into_iter().map(|run| (run.id, run)).collect());
        self
    }

    /// Replaces all attachments by these.
    pub fn with_attachments(mut self, attachments: BTreeMap<NodeId, Attachments>) -> Self {
        self.attachments = Arc::new(attachments);
        self
    }

    /// The attachments by the ids of their nodes, including nodes that don't exist.
    pub fn attachments(&self) -> &BTreeMap<NodeId, Attachments> {
        &self.attachments
    }

    /// The number of attachments.
    pub fn attachment_count(&self) -> usize {
        self.attachments.values().map(Attachments::len).sum()
    }

    /// The attachments of the node.
    pub fn attachments_of(&self, node: &NodeId) -> &Attachments {
        static NONE: Attachments = Attachments::new();
        self.attachments.get(node).unwrap_or(&NONE)
    }

    /// The comments on the node, the oldest first.
    pub fn comments_on<'a>(&'a self, node: &'a NodeId) -> impl DoubleEndedIterator<Item = &'a Arc<Comment>> {
        self.comments().filter(move |comment| comment.node.as_ref() == Some(node))
    }

    /// All comments, the oldest first.
    pub fn comments(&self) -> impl DoubleEndedIterator<Item = &Arc<Comment>> {
        self.comments.values()
    }

    /// The comment of that id.
    pub fn comment(&self, id: CommentId) -> Option<&Arc<Comment>> {
        self.comments.get(&id)
    }

    /// All runs, repetitions and judgements, the oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &Arc<Run>> {
        self.runs.values()
    }

    /// The run of that id.
    pub fn run(&self, id: RunId) -> Option<&Arc<Run>> {
        self.runs.get(&id)
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
        let rounds: BTreeSet<u32> = investigation.rounds.keys().copied().collect();
        investigation.forget_kin(rounds);
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

    /// How it ended, unless a merge has brought research from after the end: then it goes on, and can be ended again.
    pub fn end_in_force(&self) -> Option<&Conclusion> {
        self.conclusion().filter(|end| self.last_research().is_none_or(|last| last <= end.ended_at))
    }

    /// When something was last proposed, committed or given another state.
    pub fn last_research(&self) -> Option<Timestamp> {
        self.nodes().map(|node| node.last_research()).max()
    }

    /// The node of that id, committed or pending.
    pub fn node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.rounds.get(&id.round())?.get(id)
    }

    /// The committed node of that id.
    pub fn committed_node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.node(id).filter(|node| !node.is_pending())
    }

    /// All nodes, committed and pending, by round and suffix.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.rounds.values().flat_map(|round| &round.nodes)
    }

    /// The nodes of one round, committed and pending, by suffix.
    pub fn in_round(&self, round: u32) -> impl Iterator<Item = &Arc<Node>> {
        self.rounds.get(&round).into_iter().flat_map(|round| &round.nodes)
    }

    /// The committed nodes with their states, by round and suffix.
    pub fn committed(&self) -> impl DoubleEndedIterator<Item = (&Arc<Node>, &StateName)> {
        self.nodes().filter_map(|node| Some((node, node.state()?)))
    }

    /// The files of the project that results cite, as they were then, each with its node.
    pub fn pins(&self) -> impl Iterator<Item = (&Node, &Pin)> {
        self.nodes().flat_map(|node| node.pins().map(move |pin| (node.as_ref(), pin)))
    }

    /// The pending proposals, by round and suffix.
    pub fn pending(&self) -> impl Iterator<Item = &Arc<Node>> {
        let rounds = self.rounds.values().filter(|round| round.pending > 0);
        rounds.flat_map(|round| &round.nodes).filter(|node| node.is_pending())
    }

    /// The children of a node, committed and pending, by suffix.
    pub fn children(&self, id: &NodeId) -> impl Iterator<Item = &Arc<Node>> {
        let below = id.round().checked_add(1).and_then(|round| self.rounds.get(&round));
        below.map(|round| round.children_of(id)).into_iter().flatten()
    }

    /// The committed children of a node with their states.
    pub fn committed_children(&self, id: &NodeId) -> impl Iterator<Item = (&Arc<Node>, &StateName)> {
        self.children(id).filter_map(|node| Some((node, node.state()?)))
    }

    /// The number of nodes, committed and pending.
    pub fn len(&self) -> usize {
        self.rounds.values().map(|round| round.nodes.len()).sum()
    }

    /// Whether the investigation has no nodes, not even a pending one.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// All committed nodes by round, grouped by what rules see of a node and its children: for questions about all nodes.
    /// Thousands of nodes form few groups, and after a change only the affected rounds are grouped again.
    pub fn kin(&self) -> impl Iterator<Item = &Kin> {
        self.kin.0.iter().flat_map(|(round, kin)| kin.get_or_init(|| self.kin_in(*round)))
    }

    fn kin_in(&self, number: u32) -> Vec<Kin> {
        /// State, promoted, and the states of children.
        type Key<'a> = (&'a StateName, bool, Vec<(&'a StateName, u32)>);
        let mut kin: BTreeMap<Key<'_>, Vec<Arc<Node>>> = BTreeMap::new();
        for (node, state, children) in self.committed_families(number) {
            let mut states: Vec<(&StateName, u32)> = Vec::new();
            for state in children.iter().filter_map(|child| child.state()) {
                match states.iter_mut().find(|(other, _)| *other == state) {
                    Some((_, count)) => *count += 1,
                    None => states.push((state, 1)),
                }
            }
            states.sort();
            let is_promoted = node.classification.as_ref().is_some_and(|own| own.promoted_by().is_some());
            kin.entry((state, is_promoted, states)).or_default().push(Arc::clone(node));
        }
        let owned = kin.into_iter().map(|((state, is_promoted, children), nodes)| Kin {
            round: number,
            state: state.clone(),
            is_promoted,
            children: children.into_iter().map(|(state, count)| (state.clone(), count)).collect(),
            nodes,
        });
        owned.collect()
    }

    /// The committed nodes of a round with their states and all their children, by suffix.
    fn committed_families(
        &self,
        number: u32,
    ) -> impl Iterator<Item = (&Arc<Node>, &StateName, &[Arc<Node>])> {
        let below = number.checked_add(1).and_then(|next| self.rounds.get(&next));
        let families =
            below.into_iter().flat_map(|below| below.children.chunk_by(|a, b| a.parent == b.parent));
        let mut families =
            families.filter_map(|family| Some((family.first()?.parent.as_ref()?, family))).peekable();
        // Both are in the order of their ids.
        self.in_round(number).filter_map(move |node| {
            while families.next_if(|(parent, _)| **parent < node.id).is_some() {}
            let own = families.next_if(|(parent, _)| **parent == node.id);
            Some((node, node.state()?, own.map_or(&[][..], |(_, children)| children)))
        })
    }

    /// Forgets the kin of these rounds, which have changed.
    fn forget_kin(&mut self, rounds: impl IntoIterator<Item = u32>) {
        for round in rounds {
            match self.rounds.contains_key(&round) {
                true => drop(self.kin.0.insert(round, Arc::default())),
                false => drop(self.kin.0.remove(&round)),
            }
        }
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
        let mut order = Vec::with_capacity(self.len());
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
        let mut changed = BTreeSet::new();
        for change in changes {
            match change {
                Change::Meta(meta) => next.meta = Arc::clone(meta),
                Change::Node(node) => {
                    changed.insert(node.round());
                    next.place(Arc::clone(node));
                }
                Change::NodeRemoved(id) => {
                    changed.insert(id.round());
                    next.remove(id);
                }
                Change::Concluded(conclusion) => next.conclusion = Some(Arc::clone(conclusion)),
                Change::Reopened => next.conclusion = None,
                Change::Comment(comment) => {
                    Arc::make_mut(&mut next.comments).insert(comment.id, Arc::clone(comment));
                }
                Change::CommentRemoved(id) => drop(Arc::make_mut(&mut next.comments).remove(id)),
                Change::Run(run) => {
                    Arc::make_mut(&mut next.runs).insert(run.id, Arc::clone(run));
                }
                Change::RunRemoved(id) => drop(Arc::make_mut(&mut next.runs).remove(id)),
                Change::Attached(file) => {
                    let of_node = Arc::make_mut(&mut next.attachments).entry(file.node.clone()).or_default();
                    of_node.insert(file.name.clone(), file.content.len() as u64);
                }
            }
        }
        // What nodes are depends on their children, too.
        let above: Vec<u32> = changed.iter().map(|round| round.saturating_sub(1)).collect();
        next.forget_kin(changed.into_iter().chain(above));
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
    fn get(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.place_of(id).ok().and_then(|at| self.nodes.get(at))
    }

    /// Where the node is, or where it would be.
    fn place_of(&self, id: &NodeId) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.id.cmp(id))
    }

    /// Where the node is among the children, or where it would be.
    fn place_of_child(&self, child: &Node) -> Result<usize, usize> {
        let key = (&child.parent, &child.id);
        self.children.binary_search_by(|node| (&node.parent, &node.id).cmp(&key))
    }

    fn children_of(&self, parent: &NodeId) -> &[Arc<Node>] {
        let first = self.children.partition_point(|node| node.parent.as_ref() < Some(parent));
        let from_first = self.children.get(first..).unwrap_or_default();
        let count = from_first.partition_point(|node| node.parent.as_ref() == Some(parent));
        from_first.get(..count).unwrap_or_default()
    }

    /// The node must not be there.
    fn insert(&mut self, node: Arc<Node>) {
        self.pending += usize::from(node.is_pending());
        if node.parent.is_some() {
            let (Ok(at) | Err(at)) = self.place_of_child(&node);
            self.children.insert(at, Arc::clone(&node));
        }
        let (Ok(at) | Err(at)) = self.place_of(&node.id);
        self.nodes.insert(at, node);
    }

    fn remove(&mut self, id: &NodeId) {
        let Ok(at) = self.place_of(id) else { return };
        let node = self.nodes.remove(at);
        self.pending -= usize::from(node.is_pending());
        if let Ok(at) = self.place_of_child(&node) {
            self.children.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Classification;

    fn meta() -> Meta {
        Meta {
            id: "01989c3e-7f2a-7000-8000-000000000001".parse().unwrap(),
            title: "T".into(),
            query: "Q".into(),
            context: None,
            ruleset: "single-root".into(),
            mode: "deep".into(),
            min_rounds: 1,
            min_roots: 1,
            allow_early_terminal: false,
            started_at: Timestamp::from_milliseconds(0).unwrap(),
        }
    }

    fn node(id: &str, state: Option<&str>) -> Arc<Node> {
        let at = Timestamp::from_milliseconds(0).unwrap();
        let id: NodeId = id.parse().unwrap();
        let above = &id.suffix()[..id.suffix().len() - 1];
        let parent = (!above.is_empty()).then(|| format!("R{}.{above}", id.round() - 1).parse().unwrap());
        let classification = state.map(|state| Classification::new(state.parse().unwrap(), "F", at));
        Arc::new(Node { classification, ..Node::new(id, parent, "T", at) })
    }

    /// What the nodes of each kin are, by a look at each node and its children.
    fn plain(investigation: &Investigation) -> BTreeMap<NodeId, (StateName, BTreeMap<StateName, u32>)> {
        let of = |node: &Arc<Node>, state: &StateName| {
            let mut states = BTreeMap::new();
            for (_, state) in investigation.committed_children(&node.id) {
                *states.entry(state.clone()).or_default() += 1;
            }
            (node.id.clone(), (state.clone(), states))
        };
        investigation.committed().map(|(node, state)| of(node, state)).collect()
    }

    proptest! {
        #[test]
        fn kin_are_right_after_every_change_and_those_asked_before_stay_so(
            changes in prop::collection::vec((0usize..4, 0usize..3, 0usize..4, any::<bool>()), 1..24),
        ) {
            let mut investigation = Investigation::from_facts(meta(), [node("R1.A", Some("OPEN"))], None).0;
            let mut earlier = Vec::new();
            for (depth, step, state, is_asked) in changes {
                let id = format!("R{}.A{}", depth + 2, ["1", "2", "3"][step].repeat(depth + 1));
                let state = [None, Some("OPEN"), Some("SHUT"), Some("GONE")][state];
                let change = match state {
                    Some("GONE") => Change::NodeRemoved(id.parse().unwrap()),
                    state => Change::Node(node(&id, state)),
                };
                investigation = investigation.with(&[change]);
                if is_asked {
                    earlier.push((investigation.clone(), plain(&investigation)));
                    prop_assert!(investigation.kin().count() <= investigation.len());
                }
            }
            earlier.push((investigation.clone(), plain(&investigation)));
            for (investigation, expected) in earlier {
                let mut found = BTreeMap::new();
                for kin in investigation.kin() {
                    for node in &kin.nodes {
                        prop_assert_eq!(node.round(), kin.round);
                        let children = kin.children.iter().cloned().collect();
                        prop_assert!(found.insert(node.id.clone(), (kin.state.clone(), children)).is_none());
                    }
                }
                prop_assert_eq!(found, expected);
            }
        }
    }
}
