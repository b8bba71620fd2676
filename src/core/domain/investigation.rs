//! The tree of nodes, with the queries that rules need.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::{Expectation, InputFile, RunComparison};
use super::{
    Attachments, Caller, Change, Classification, Code, Comment, CommentId, Conclusion, Diagnostic, Node,
    NodeId, Pin, Run, RunId, RunKind, SessionId, ShortId, StateName, Timestamp,
};
use crate::text::{one_line, shorten};

/// The facts fixed by `tot_start`. They are written once and never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Meta {
    /// The id of the investigation.
    #[schemars(rename = "sessionId")]
    pub id: SessionId,
    /// A short title for lists and pages.
    pub title: String,
    /// The question.
    pub query: String,
    /// The background that the agent was given.
    pub context: Option<String>,
    /// The name of the ruleset, which is stored with the investigation.
    pub ruleset: String,
    /// The mode, as defined by the ruleset.
    pub mode: String,
    /// The first round in which the investigation may end.
    pub min_rounds: u32,
    /// The minimum number of roots in round 1.
    pub min_roots: u32,
    /// True if states are stored as requested even where the ruleset does not yet allow them.
    pub allow_early_terminal: bool,
    /// The start time.
    pub started_at: Timestamp,
}

/// An investigation: its facts, indexed by id and parent.
///
/// Invariant: every node's parent exists, and its round is one less than the node's. Roots are in round 1. There are
/// therefore no cycles. [`Investigation::from_facts`] omits and reports nodes that violate this invariant.
///
/// Values are immutable. [`Investigation::with`] returns a new value that shares the nodes and all unchanged maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Investigation {
    meta: Arc<Meta>,
    /// The rounds by number. None has neither nodes nor children.
    rounds: BTreeMap<u32, Arc<Round>>,
    /// The withdrawn proposals, which have no place in the tree.
    withdrawn: Arc<Nodes>,
    conclusion: Option<Arc<Conclusion>>,
    comments: Arc<BTreeMap<CommentId, Arc<Comment>>>,
    runs: Arc<BTreeMap<RunId, Arc<Run>>>,
    /// No entry is empty.
    attachments: Arc<BTreeMap<NodeId, Attachments>>,
    /// The ids of node files that can't be read or have no place in the tree. These ids count as used.
    unreadable: Arc<BTreeSet<NodeId>>,
    by_hand: Arc<ByHand>,
}

/// The changes made by manual commits, as computed from the history.
///
/// A manual change confirms nothing and invalidates earlier confirmations of the changed content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByHand {
    /// The files written by manual commits, each with the number of such commits.
    pub edits: BTreeMap<String, usize>,
    /// The nodes whose files were written by manual commits.
    pub nodes: BTreeSet<NodeId>,
    /// The git authors of the manual commits, by node. Rules also treat them as authors of the node.
    pub writers: BTreeMap<NodeId, Vec<Caller>>,
    /// The nodes whose confirmations are affected by a manual commit, each with the children whose state has not been
    /// set again since.
    pub confirmed_before: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// The comments whose files were written by manual commits.
    pub comments: BTreeSet<CommentId>,
    /// True if manual commits wrote the conclusion or the terms of the investigation.
    pub end: bool,
}

/// The reason why a text names no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound<'a> {
    /// There is no such node.
    Unknown,
    /// Several nodes have the short id. A proposal that was withdrawn counts, unless the other node replaces it.
    Ambiguous(Vec<&'a Arc<Node>>),
}

impl NotFound<'_> {
    /// Returns the error for a short id that several nodes have. It names them all.
    pub fn ambiguous(&self, name: &str) -> Option<Diagnostic> {
        let NotFound::Ambiguous(nodes) = self else { return None };
        let named = nodes.iter().map(|node| {
            let by = match (&node.classification, &node.withdrawn, &node.claim) {
                (Some(result), ..) => result.who().map(|by| format!(", by {by}")),
                (None, Some(withdrawal), _) => Some(format!(", {withdrawal}")),
                (None, None, claim) => claim.as_ref().map(|it| format!(", claimed by {}", it.agent_id)),
            };
            let by = by.unwrap_or_default();
            one_line(&format!("{} ({}{by})", node.id.whole(), shorten(node.name(), 80)))
        });
        let message = format!("{name} is ambiguous: {}.", named.collect::<Vec<_>>().join(" and "));
        let how = "Several clones have proposed a node with this short id. Use the whole id of the one that you mean.";
        Some(Diagnostic::new(Code::AmbiguousNode, message).suggest(how))
    }
}

/// A node without a place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureFault {
    /// The id of the node.
    pub node: NodeId,
    /// The reason, as a clause.
    pub reason: String,
}

type Nodes = BTreeMap<NodeId, Arc<Node>>;

/// The nodes of one round. A change copies only the rounds that it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Round {
    nodes: Nodes,
    /// The children of each node that has any.
    children: HashMap<NodeId, Arc<Nodes>>,
}

/// Returns the nodes with this short id.
fn of_short(nodes: &Nodes, short: ShortId) -> impl Iterator<Item = &Arc<Node>> {
    let from_first = nodes.range(NodeId::from(short.clone())..);
    from_first.take_while(move |(id, _)| *id.short() == short).map(|(_, node)| node)
}

impl Investigation {
    /// Creates an investigation without nodes.
    pub fn new(meta: Meta) -> Self {
        Investigation {
            meta: Arc::new(meta),
            rounds: BTreeMap::new(),
            withdrawn: Arc::default(),
            conclusion: None,
            comments: Arc::default(),
            runs: Arc::default(),
            attachments: Arc::default(),
            unreadable: Arc::default(),
            by_hand: Arc::default(),
        }
    }

    /// Sets the ids of node files that can't be read or have no place in the tree.
    pub fn with_unreadable(mut self, ids: impl IntoIterator<Item = NodeId>) -> Self {
        self.unreadable = Arc::new(ids.into_iter().collect());
        self
    }

    /// Sets the changes made by manual commits.
    pub fn with_by_hand(mut self, changed: ByHand) -> Self {
        self.by_hand = Arc::new(changed);
        self
    }

    /// Returns the changes made by manual commits.
    pub fn by_hand(&self) -> &ByHand {
        &self.by_hand
    }

    /// Replaces all comments.
    pub fn with_comments(mut self, comments: impl IntoIterator<Item = Arc<Comment>>) -> Self {
        self.comments = Arc::new(comments.into_iter().map(|comment| (comment.id, comment)).collect());
        self
    }

    /// Replaces all runs.
    pub fn with_runs(mut self, runs: impl IntoIterator<Item = Arc<Run>>) -> Self {
        self.runs = Arc::new(runs.into_iter().map(|run| (run.id, run)).collect());
        self
    }

    /// Replaces all attachments.
    pub fn with_attachments(mut self, attachments: BTreeMap<NodeId, Attachments>) -> Self {
        self.attachments = Arc::new(attachments);
        self
    }

    /// Returns the attachments by node id, including ids without a node.
    pub fn attachments(&self) -> &BTreeMap<NodeId, Attachments> {
        &self.attachments
    }

    /// Returns the number of attachments.
    pub fn attachment_count(&self) -> usize {
        self.attachments.values().map(Attachments::len).sum()
    }

    /// Returns the attachments of a node.
    pub fn attachments_of(&self, node: &NodeId) -> &Attachments {
        static NONE: Attachments = Attachments::new();
        self.attachments.get(node).unwrap_or(&NONE)
    }

    /// Returns the comments on a node, oldest first.
    pub fn comments_on<'a>(&'a self, node: &'a NodeId) -> impl DoubleEndedIterator<Item = &'a Arc<Comment>> {
        self.comments().filter(move |comment| comment.node.as_ref() == Some(node))
    }

    /// Returns all comments, oldest first.
    pub fn comments(&self) -> impl DoubleEndedIterator<Item = &Arc<Comment>> {
        self.comments.values()
    }

    /// Returns the comment with the given id.
    pub fn comment(&self, id: CommentId) -> Option<&Arc<Comment>> {
        self.comments.get(&id)
    }

    /// Returns the runs, repetitions and judgements that count, oldest first: neither those that were taken back, nor what
    /// belongs to one that was.
    pub fn counted_runs(&self) -> impl DoubleEndedIterator<Item = &Arc<Run>> {
        let retracted =
            |run: &Arc<Run>| matches!(run.what, RunKind::Retracted { .. }).then(|| run.of()).flatten();
        let gone: HashSet<RunId> = self.runs().filter_map(retracted).collect();
        let counts = move |run: &Run| {
            let of = run.of();
            let first = of.and_then(|of| self.run(of)?.of());
            !matches!(run.what, RunKind::Retracted { .. })
                && ![Some(run.id), of, first].into_iter().flatten().any(|id| gone.contains(&id))
        };
        self.runs().filter(move |run| counts(run))
    }

    /// Returns what was expected of each captured run later, with the record that says so. Once a rerun differs, whoever captured
    /// the command can't say any more what matters.
    pub fn expected_later(&self) -> HashMap<RunId, Vec<(&Arc<Run>, &Expectation)>> {
        let (mut expected, mut differing) = (HashMap::<_, Vec<_>>::new(), HashSet::new());
        for run in self.counted_runs() {
            match &run.what {
                RunKind::Repeated { of, verdict: RunComparison::Differs, .. } => drop(differing.insert(*of)),
                RunKind::Expected { of, expectations } => {
                    let is_own = self.run(*of).is_some_and(|first| first.author.is_same_author(&run.author));
                    if !(is_own && differing.contains(of)) {
                        expected.entry(*of).or_default().extend(expectations.iter().map(|it| (run, it)));
                    }
                }
                _ => {}
            }
        }
        expected
    }

    /// Returns the content of a file that a run needs, from whichever run stores it.
    pub fn content(&self, file: &InputFile) -> Option<Vec<u8>> {
        self.stored(file)?.content()
    }

    /// Returns the file that stores the content of one that a run needs.
    pub fn stored(&self, file: &InputFile) -> Option<&InputFile> {
        let mut files = self.runs().filter_map(|run| run.ran()).flat_map(|ran| &ran.files);
        files.find(|it| it.sha256 == file.sha256 && it.content().is_some())
    }

    /// Returns all records of runs, oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &Arc<Run>> {
        self.runs.values()
    }

    /// Returns the run with the given id.
    pub fn run(&self, id: RunId) -> Option<&Arc<Run>> {
        self.runs.get(&id)
    }

    /// Returns the ids of node files that can't be read or have no place in the tree.
    pub fn unreadable(&self) -> &BTreeSet<NodeId> {
        &self.unreadable
    }

    /// Builds the tree from its facts. Nodes without a place in the tree are returned as faults.
    pub fn from_facts(
        meta: Meta,
        nodes: impl IntoIterator<Item = Arc<Node>>,
        conclusion: Option<Conclusion>,
    ) -> (Self, Vec<StructureFault>) {
        let mut investigation = Investigation::new(meta);
        let mut faults = Vec::new();
        // Sorting by round puts each parent before its children, so one pass suffices and no cycle can form.
        let sorted: Nodes = nodes.into_iter().map(|node| (node.id.clone(), node)).collect();
        for (id, node) in sorted {
            match investigation.misplaced(&node) {
                Some(_) if node.is_withdrawn() => investigation.place(node),
                Some(reason) => faults.push(StructureFault { node: id, reason }),
                None => investigation.place(node),
            }
        }
        investigation.conclusion = conclusion.map(Arc::new);
        investigation.rank_conclusions();
        (investigation, faults)
    }

    /// Puts the conclusion that counts first, if there are several.
    fn rank_conclusions(&mut self) {
        if let Some(end) = self.conclusion.as_ref().filter(|end| !end.other_conclusions.is_empty()) {
            self.conclusion = Some(Arc::new(Conclusion::clone(end).ranked(self.last_research())));
        }
    }

    /// Returns the facts fixed by `tot_start`.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the conclusion; `None` while the investigation is open. A draft hides no conclusion that it was written after.
    pub fn conclusion(&self) -> Option<&Conclusion> {
        let stored = self.conclusion.as_deref()?;
        std::iter::once(stored).chain(&stored.other_conclusions).find(|end| !end.draft)
    }

    /// Returns the draft of the report.
    pub fn draft(&self) -> Option<&Conclusion> {
        self.conclusion.as_deref().filter(|end| end.draft)
    }

    /// Returns the draft of the report or, without one, the conclusion.
    pub fn report(&self) -> Option<&Conclusion> {
        self.conclusion.as_deref()
    }

    /// Returns the draft of the report and the conclusion, those that are there.
    pub fn reports(&self) -> impl Iterator<Item = &Conclusion> {
        [self.draft(), self.conclusion()].into_iter().flatten()
    }

    /// Returns the conclusion, unless the investigation was reopened since.
    pub fn end(&self) -> Option<&Conclusion> {
        self.conclusion().filter(|end| end.reopened.is_none())
    }

    /// Returns the conclusion, unless the investigation was reopened or a merge added later research. In these cases, the
    /// investigation continues and can be ended again.
    pub fn end_in_force(&self) -> Option<&Conclusion> {
        self.end().filter(|end| self.last_research().is_none_or(|last| last <= end.ended_at))
    }

    /// Returns the time of the last proposal, commit or state change.
    pub fn last_research(&self) -> Option<Timestamp> {
        self.nodes().map(|node| node.last_research()).max()
    }

    /// Returns the node with the given id, committed or pending.
    pub fn node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.rounds.get(&id.round())?.nodes.get(id)
    }

    /// Returns the node that somebody names: by its short id, by its id, or by a beginning of its id that ends after the
    /// hyphen. Whoever writes only a beginning may still mean a proposal that somebody else has withdrawn in the meantime.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such node, or if there are several.
    pub fn find(&self, text: &str) -> Result<&Arc<Node>, NotFound<'_>> {
        let short = text.split_once('-').map_or(text, |(short, _)| short);
        let short = short.parse().map_err(|_| NotFound::Unknown)?;
        let is_named = |node: &&Arc<Node>| node.id.whole().starts_with(text);
        let mut found: Vec<_> = self.placed(&short).filter(is_named).collect();
        if let Some(exact) = found.iter().find(|node| text.contains('-') && node.id.whole() == text) {
            return Ok(exact);
        }
        if let [one] = *found {
            found.extend(self.withdrawn_beside(one).filter(is_named));
        }
        match *found {
            [] => Err(NotFound::Unknown),
            [one] => Ok(one),
            _ => Err(NotFound::Ambiguous(found)),
        }
    }

    /// Returns the withdrawn proposals with the short id of this node that neither it nor one that it replaces replaces.
    fn withdrawn_beside<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Arc<Node>> {
        let mut replaced: HashSet<&NodeId> = HashSet::new();
        let mut next: Vec<&NodeId> = node.replaces.iter().collect();
        while let Some(id) = next.pop() {
            if replaced.insert(id) {
                next.extend(self.withdrawn.get(id).into_iter().flat_map(|it| &it.replaces));
            }
        }
        of_short(&self.withdrawn, node.id.short().clone()).filter(move |it| !replaced.contains(&it.id))
    }

    /// Returns the nodes with this short id, withdrawn ones included, that no other one replaces.
    pub fn unreplaced(&self, short: &ShortId) -> Vec<&Arc<Node>> {
        let replaced: HashSet<&NodeId> = self.with_short_id(short).flat_map(|node| &node.replaces).collect();
        self.with_short_id(short).filter(|node| !replaced.contains(&node.id)).collect()
    }

    /// Returns the withdrawn proposal with this id or short id.
    pub fn find_withdrawn(&self, name: &str) -> Option<&Arc<Node>> {
        self.withdrawn().find(|node| [node.id.short().as_str(), node.id.whole()].contains(&name))
    }

    /// Returns whether the file of the node with this short or whole id can't be read.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.unreadable.iter().any(|id| [id.short().as_str(), id.whole()].contains(&name))
    }

    /// Returns why [`Investigation::find`] has not found this name, as a sentence.
    pub fn missing(&self, name: &str) -> String {
        match self.find_withdrawn(name).and_then(|node| node.withdrawn.as_ref()) {
            Some(withdrawal) => format!("{name} was {withdrawal}."),
            None if self.is_unreadable(name) => format!("The file of {name} can't be read."),
            None => format!("There is no node `{}`.", shorten(name, 60)),
        }
    }

    /// Sets which ids are shown whole: those of nodes that share their short id, wherever they are named.
    pub fn with_shown_ids(mut self) -> Self {
        let pairs = self.ids().zip(self.ids().skip(1));
        let shared = pairs.filter(|(one, other)| one.short() == other.short());
        let beside = self.nodes().filter(|node| self.withdrawn_beside(node).next().is_some());
        let beside = beside.map(|node| &node.id);
        let withdrawn = self.withdrawn.keys().filter(|id| self.is_shared(id.short()));
        let whole: BTreeSet<NodeId> =
            shared.flat_map(|(one, other)| [one, other]).chain(beside).chain(withdrawn).cloned().collect();
        // Nodes of an earlier state may be shown as they were then.
        if !whole.is_empty() || self.ids().chain(self.withdrawn.keys()).any(NodeId::is_shown_whole) {
            self.visit_ids(&mut |id| id.show_whole(whole.contains(id)));
        }
        self
    }

    /// Shows an id that was read from a file as this investigation does.
    pub fn show_id(&self, id: &mut NodeId) {
        let node = self.node(id).or_else(|| self.withdrawn.get(id));
        id.show_whole(node.is_some_and(|node| node.id.is_shown_whole()));
    }

    /// Returns the nodes with this short id, and then the withdrawn ones.
    pub fn with_short_id(&self, short: &ShortId) -> impl Iterator<Item = &Arc<Node>> {
        self.placed(short).chain(of_short(&self.withdrawn, short.clone()))
    }

    /// Returns the nodes of the tree with this short id.
    fn placed(&self, short: &ShortId) -> impl Iterator<Item = &Arc<Node>> {
        let round = self.rounds.get(&short.round()).into_iter();
        round.flat_map(|round| of_short(&round.nodes, short.clone()))
    }

    /// Returns whether several nodes have this short id, withdrawn ones included.
    fn is_shared(&self, short: &ShortId) -> bool {
        self.with_short_id(short).nth(1).is_some()
    }

    fn visit_ids(&mut self, visit: &mut impl FnMut(&mut NodeId)) {
        let nodes: Vec<_> = self.nodes().chain(self.withdrawn()).cloned().collect();
        (self.rounds, self.withdrawn) = Default::default();
        for mut node in nodes {
            Arc::make_mut(&mut node).visit_ids(visit);
            self.place(node);
        }
        self.conclusion.iter_mut().for_each(|end| Arc::make_mut(end).visit_ids(visit));
        for comment in Arc::make_mut(&mut self.comments).values_mut().filter(|it| it.node.is_some()) {
            Arc::make_mut(comment).node.iter_mut().for_each(&mut *visit);
        }
        for run in Arc::make_mut(&mut self.runs).values_mut().filter(|it| it.node.is_some()) {
            Arc::make_mut(run).node.iter_mut().for_each(&mut *visit);
        }
        let attachments = std::mem::take(Arc::make_mut(&mut self.attachments)).into_iter();
        let shown = |(mut id, files)| {
            visit(&mut id);
            (id, files)
        };
        self.attachments = Arc::new(attachments.map(shown).collect());
    }

    /// Returns the committed node with the given id.
    pub fn committed_node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.node(id).filter(|node| !node.is_pending())
    }

    /// Returns all nodes, committed and pending, ordered by id.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.rounds.values().flat_map(|round| round.nodes.values())
    }

    /// Returns the ids of all nodes, in order.
    fn ids(&self) -> impl Iterator<Item = &NodeId> {
        self.nodes().map(|node| &node.id)
    }

    /// Returns the withdrawn proposals, ordered by id. They are not among the nodes.
    pub fn withdrawn(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.withdrawn.values()
    }

    /// Returns the nodes of one round, committed and pending, ordered by id.
    pub fn in_round(&self, round: u32) -> impl Iterator<Item = &Arc<Node>> {
        self.rounds.get(&round).into_iter().flat_map(|round| round.nodes.values())
    }

    /// Returns the ids of one round in use, also those of withdrawn proposals and of files that can't be read.
    pub fn ids_in_round(&self, round: u32) -> impl Iterator<Item = &NodeId> {
        let from = NodeId::before_round(round);
        let is_of_round = move |id: &&NodeId| id.round() == round;
        let withdrawn = self.withdrawn.range(&from..).map(|(id, _)| id).take_while(is_of_round);
        let unreadable = self.unreadable.range(&from..).take_while(is_of_round);
        self.in_round(round).map(|node| &node.id).chain(withdrawn).chain(unreadable)
    }

    /// Returns the committed nodes with their states, ordered by id.
    pub fn committed(&self) -> impl DoubleEndedIterator<Item = (&Arc<Node>, &StateName)> {
        self.nodes().filter_map(|node| Some((node, node.state()?)))
    }

    /// Returns the recorded states of cited project files, each with the node that cites it; `None` for the report.
    pub fn pins(&self) -> impl Iterator<Item = (Option<&Node>, &Pin)> {
        let pins = self.nodes().flat_map(|node| node.pins().map(move |pin| (Some(node.as_ref()), pin)));
        pins.chain(self.reports().flat_map(Conclusion::pins).map(|pin| (None, pin)))
    }

    /// Returns the pending proposals, ordered by id.
    pub fn pending(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes().filter(|node| node.is_pending())
    }

    /// Returns the children of a node, committed and pending, ordered by id.
    pub fn children(&self, id: &NodeId) -> impl Iterator<Item = &Arc<Node>> {
        let round = self.rounds.get(&id.round());
        round.and_then(|round| round.children.get(id)).into_iter().flat_map(|children| children.values())
    }

    /// Returns the committed children of a node with their states.
    pub fn committed_children(&self, id: &NodeId) -> impl Iterator<Item = (&Arc<Node>, &StateName)> {
        self.children(id).filter_map(|node| Some((node, node.state()?)))
    }

    /// Returns the number of nodes, committed and pending.
    pub fn len(&self) -> usize {
        self.rounds.values().map(|round| round.nodes.len()).sum()
    }

    /// Returns whether the investigation has no nodes, not even pending ones.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the nodes without a parent, committed and pending.
    pub fn roots(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.in_round(1)
    }

    /// Returns the highest round that has a committed node, or 1.
    pub fn current_round(&self) -> u32 {
        self.committed().next_back().map_or(1, |(node, _)| node.round())
    }

    /// Returns the path from the root to the node, inclusive.
    pub fn path(&self, id: &NodeId) -> Vec<&Arc<Node>> {
        let mut path: Vec<_> =
            std::iter::successors(self.node(id), |node| self.node(node.parent.as_ref()?)).collect();
        path.reverse();
        path
    }

    /// Returns all nodes in depth-first preorder, with siblings ordered by id.
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

    /// Returns the investigation with the changes applied.
    ///
    /// The changes must come from a decision on this state or from its history. The nodes' positions in the tree are
    /// not rechecked.
    pub fn with(&self, changes: &[Change]) -> Investigation {
        let mut next = self.clone();
        for change in changes {
            match change {
                Change::Node(node) => {
                    next.confirm_again(node);
                    next.place(Arc::clone(node));
                }
                Change::NodeRemoved(id) => next.remove(id),
                Change::Concluded(conclusion) | Change::Reopened(conclusion) => {
                    next.conclusion = Some(Arc::clone(conclusion));
                }
                Change::Comment(comment) => {
                    Arc::make_mut(&mut next.comments).insert(comment.id, Arc::clone(comment));
                }
                Change::Run(run) => {
                    Arc::make_mut(&mut next.runs).insert(run.id, Arc::clone(run));
                }
                Change::Attached(file) => {
                    let of_node = Arc::make_mut(&mut next.attachments).entry(file.node.clone()).or_default();
                    of_node.insert(file.name.clone(), file.content.len() as u64);
                }
            }
        }
        next.rank_conclusions();
        let is_shared =
            |change: &Change| matches!(change, Change::Node(node) if next.is_shared(node.id.short()));
        if changes.iter().any(is_shared) { next.with_shown_ids() } else { next }
    }

    /// Ends what a manual commit did to the confirmation by this node, if its state has been set again.
    fn confirm_again(&mut self, node: &Node) {
        let since = |node: &Node| node.classification.as_ref().map(Classification::current_since);
        let Some(parent) = &node.parent else { return };
        let before = self.by_hand.confirmed_before.get(parent);
        if before.is_some_and(|before| before.contains(&node.id))
            && self.node(&node.id).is_none_or(|then| since(then) != since(node))
        {
            let all = &mut Arc::make_mut(&mut self.by_hand).confirmed_before;
            all.entry(parent.clone()).or_default().remove(&node.id);
        }
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
                None => Some(format!("its parent {parent} is missing or is itself misplaced")),
                Some(parent) if parent.is_pending() => {
                    Some(format!("its parent {} is only a pending proposal", parent.id))
                }
                Some(_) => None,
            },
        }
    }

    fn place(&mut self, node: Arc<Node>) {
        self.remove(&node.id);
        if node.is_withdrawn() {
            Arc::make_mut(&mut self.withdrawn).insert(node.id.clone(), node);
            return;
        }
        if let Some(parent) = &node.parent {
            let siblings = self.round_mut(parent).children.entry(parent.clone()).or_default();
            Arc::make_mut(siblings).insert(node.id.clone(), Arc::clone(&node));
        }
        self.round_mut(&node.id).nodes.insert(node.id.clone(), node);
    }

    fn round_mut(&mut self, of: &NodeId) -> &mut Round {
        Arc::make_mut(self.rounds.entry(of.round()).or_default())
    }

    fn remove(&mut self, id: &NodeId) {
        if self.withdrawn.contains_key(id) {
            Arc::make_mut(&mut self.withdrawn).remove(id);
        }
        let Some(parent) = self.node(id).map(|node| node.parent.clone()) else { return };
        self.round_mut(id).nodes.remove(id);
        if let Some(parent) = &parent {
            let children = &mut self.round_mut(parent).children;
            if let Some(siblings) = children.get_mut(parent) {
                Arc::make_mut(siblings).remove(id);
                if siblings.is_empty() {
                    children.remove(parent);
                }
            }
        }
        self.rounds.retain(|_, round| !round.nodes.is_empty() || !round.children.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Meta {
        /// Returns the terms of an investigation in a test.
        pub fn sample(ruleset: &str, started_at: Timestamp) -> Meta {
            Meta {
                id: "01989c3e-7f2a-7000-8000-000000000001".parse().unwrap(),
                title: "T".into(),
                query: "Q".into(),
                context: None,
                ruleset: ruleset.into(),
                mode: "deep".into(),
                min_rounds: 1,
                min_roots: 1,
                allow_early_terminal: false,
                started_at,
            }
        }
    }

    #[test]
    fn a_changed_or_removed_node_is_a_child_of_its_new_parent_only() {
        let at = Timestamp::from_milliseconds(0).unwrap();
        let id = |id: &str| id.parse::<NodeId>().unwrap();
        let node = |own: &str, parent: Option<&str>| Arc::new(Node::new(id(own), parent.map(id), "T", at));
        let meta = Meta::sample("single-root", at);
        let roots = [node("R1.A", None), node("R1.B", None), node("R2.A1", Some("R1.A"))].map(Change::Node);
        let before = Investigation::new(meta).with(&roots);
        let moved = before.with(&[Change::Node(node("R2.A1", Some("R1.B")))]);
        let removed = moved.with(&[Change::NodeRemoved(id("R2.A1"))]);
        let children = |of: &Investigation| ["R1.A", "R1.B"].map(|above| of.children(&id(above)).count());
        assert_eq!([&before, &moved, &removed].map(children), [[1, 0], [0, 1], [0, 0]]);
        assert_eq!(removed, before.with(&[Change::NodeRemoved(id("R2.A1"))]));
    }
}
