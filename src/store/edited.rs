//! What people changed by hand in all commits of a history.
//!
//! 1. [`Past::read`] walks the ancestors of a commit, back to those of an earlier snapshot's commit, and collects the
//!    [`ManualEdit`]s in commits that are not as `tot` made them (see [`checksum`]).
//! 2. [`Past::false_names`] returns the people whom such commits name although git has another author.
//! 3. [`Past::by_hand`] returns what the edits mean for the nodes and the conclusion.
//!
//! Commits before the boundary of a shallow clone, and that boundary, are unchecked. If another commit can't be read, or an
//! earlier version of an edited file, nobody knows what was changed, so no confirmation counts.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::checksum::{self, ManualEdit};
use super::git::{BlobId, CommitId, Git, Lineage};
use super::{Fault, Snapshot, StoreError, StoreErrorKind, read};
use crate::domain::{
    ByHand, Caller, Code, Comment, CommentKind, Conclusion, Investigation, Node, NodeId, Person, Run,
    Timestamp,
};
use crate::format::layout::{self, FileRole};
use crate::format::record::Record;

/// The history of a commit.
pub(super) struct Past<'a> {
    git: &'a Git,
    pub(super) edits: Vec<ManualEdit>,
    /// The edits that took over what calls had made.
    pub(super) taken_over: Vec<ManualEdit>,
    /// The first commit, or `None` if the clone is shallow or a commit along the way is unreadable.
    pub(super) first: Option<CommitId>,
    /// The boundary of a shallow clone. `None` if something else that the edits depend on can't be read.
    pub(super) boundary: Option<Vec<CommitId>>,
    /// Nodes that need not be read again, by blob.
    pub(super) nodes: HashMap<BlobId, Arc<Node>>,
}

impl<'a> Past<'a> {
    /// Returns a history of which nothing is known.
    pub(super) fn unknown(git: &'a Git) -> Self {
        let (edits, taken_over, nodes) = Default::default();
        Past { git, edits, taken_over, first: None, boundary: Some(Vec::new()), nodes }
    }

    /// Walks the history of a commit, or of the two parents of a future merge. What `before` knows is not read again.
    ///
    /// # Errors
    ///
    /// Returns an error if the boundary of a shallow clone cannot be read.
    pub(super) fn read(
        git: &'a Git,
        heads: [CommitId; 2],
        before: Option<&Snapshot>,
    ) -> Result<Self, StoreError> {
        let boundary = git.shallow_boundary()?;
        let before = before.filter(|before| before.boundary.as_ref() == Some(&boundary));
        let ends: HashSet<CommitId> = boundary.iter().copied().collect();
        let mut is_complete = true;
        // In the order of the walk, so that the trees of neighbours are read together.
        let (mut known, mut commits, mut parents_of) = (None, Vec::new(), HashMap::new());
        let (mut seen, mut next) = (HashSet::new(), heads.to_vec());
        while let Some(id) = next.pop() {
            if !seen.insert(id) || ends.contains(&id) {
                continue;
            }
            if before.is_some_and(|before| before.head == id) {
                known = before;
                continue;
            }
            // Damaged commits are reported elsewhere and don't stop the walk.
            let Ok(commit) = git.commit_info(id) else {
                is_complete = false;
                continue;
            };
            next.extend(&commit.parents);
            commits.push(id);
            parents_of.insert(id, commit.parents);
        }
        let mut at = heads[0];
        let first = loop {
            match (known.filter(|known| known.head == at), parents_of.get(&at).map(Vec::as_slice)) {
                (Some(known), _) => break known.first,
                (None, Some([])) => break Some(at),
                (None, Some([parent, ..])) => at = *parent,
                (None, None) => break None,
            }
        };
        if heads[0] != heads[1] || parents_of.values().any(|parents| parents.len() > 1) {
            // A merge leads the walk around the earlier commit to commits before it.
            next.extend(known.map(|known| known.head));
            let mut covered = HashSet::new();
            while let Some(id) = next.pop() {
                if covered.insert(id) {
                    let parents = git.commit_info(id).map(|commit| commit.parents).unwrap_or_default();
                    next.extend(&parents);
                    parents_of.insert(id, parents);
                }
            }
            commits.retain(|id| !covered.contains(id));
        }
        let mut edits = known.map(|known| known.taken_over.to_vec()).unwrap_or_default();
        let mut are_taken_over = vec![true; edits.len()];
        edits.extend(known.into_iter().flat_map(|known| known.edits.iter().cloned()));
        for id in &commits {
            match checksum::edits(git, *id, !ends.is_empty()) {
                Ok(own) => {
                    let is_here = |edit: &ManualEdit| are_here(git, edit.before.iter().chain([&edit.after]));
                    is_complete = is_complete && own.iter().all(is_here);
                    edits.extend(own);
                }
                // Nobody knows what it changed.
                Err(error) if error.kind == StoreErrorKind::TooMuch => {
                    edits.extend(checksum::all_edits(git, *id, heads[0]));
                }
                Err(_) => is_complete = false,
            }
        }
        are_taken_over.resize(edits.len(), false);
        if ends.is_empty() && is_complete {
            find_taken_over(git, &parents_of, &commits, &edits, &mut are_taken_over);
        }
        let mut are_taken_over = are_taken_over.into_iter();
        let (taken_over, mut edits): (_, Vec<_>) =
            edits.into_iter().partition(|_| are_taken_over.next() == Some(true));
        edits.sort_by(|one, other| (&one.path, one.commit).cmp(&(&other.path, other.commit)));
        let boundary = is_complete.then_some(boundary);
        Ok(Past { git, edits, taken_over, first, boundary, nodes: HashMap::new() })
    }

    /// Returns the people whom edits have named as authors, although git has another author.
    pub(super) fn false_names(&self) -> FalseNames {
        let mut names = HashSet::new();
        for edit in &self.edits {
            if self.boundary.is_none() && !are_here(self.git, &edit.before) {
                continue;
            }
            let named = |blob: &Option<BlobId>| named_in(self, &edit.path, *blob);
            let before = LazyCell::new(|| edit.before.iter().flat_map(named).collect::<Vec<_>>());
            let mut after = named(&edit.after);
            after.retain(|it| !edit.is_by(&it.0) && !before.contains(it));
            names.extend(after.into_iter().map(|(person, at)| (edit.path.clone(), person, at)));
        }
        FalseNames(names)
    }

    /// Returns what the edits mean for this investigation, the state at `head`.
    pub(super) fn by_hand(&self, investigation: &Investigation, are_terms_changed: bool) -> ByHand {
        let mut by_hand = ByHand { end: are_terms_changed, ..ByHand::default() };
        if self.boundary.is_none() {
            by_hand.end = true;
            by_hand.comments.extend(investigation.comments().map(|comment| comment.id));
            let confirmed =
                |node: &Arc<Node>| investigation.children(&node.id).map(|it| it.id.clone()).collect();
            let confirmed = investigation.nodes().map(|node| (node.id.clone(), confirmed(node)));
            by_hand.confirmed_before.extend(confirmed);
        }
        let mut affected: BTreeMap<CommitId, BTreeSet<NodeId>> = BTreeMap::new();
        for edit in &self.edits {
            *by_hand.edits.entry(edit.path.clone()).or_default() += 1;
            let affected = affected.entry(edit.commit).or_default();
            match layout::file_role(&edit.path) {
                FileRole::Node(id) => {
                    self.add_affected(investigation, edit, &id, affected);
                    if edit.is_new() {
                        let by = by_hand.writers.entry(id.clone()).or_default();
                        by.extend(edit.caller().filter(|own| !by.contains(own)));
                        by_hand.nodes.insert(id);
                    }
                }
                FileRole::Comment(id) => {
                    by_hand.comments.insert(id);
                    let [before, after] = self.record::<Comment>(edit, id);
                    let settles = |said: &Comment| said.kind == CommentKind::Resolution;
                    let said = before.or_else(|| after.filter(settles));
                    add_affected_by_record(investigation, said.and_then(|said| said.node), affected);
                }
                FileRole::Run(id) => {
                    let [before, after] = self.record::<Run>(edit, id);
                    let run = before.or_else(|| after.filter(|run| run.of().is_some()));
                    add_affected_by_record(investigation, run.and_then(|run| run.node), affected);
                }
                FileRole::Conclusion => by_hand.end |= self.is_in_force(edit, investigation),
                FileRole::Meta => by_hand.end = true,
                _ => {}
            }
        }
        for (commit, affected) in affected {
            for node in affected {
                let confirmed = by_hand.confirmed_before.entry(node.clone()).or_default();
                for child in investigation.children(&node) {
                    if !confirmed.contains(&child.id) && self.has_current_result(commit, child) {
                        confirmed.insert(child.id.clone());
                    }
                }
            }
        }
        by_hand
    }

    /// Adds the nodes affected by a changed node file: the node, its parents before and after the change, and, if its
    /// results no longer differ, all descendants. Unreadable files are reported elsewhere.
    fn add_affected(
        &self,
        investigation: &Investigation,
        edit: &ManualEdit,
        id: &NodeId,
        affected: &mut BTreeSet<NodeId>,
    ) {
        let read = |blob: &Option<BlobId>| self.node(&edit.path, (*blob)?, id).ok();
        let (before, after): (Vec<_>, _) = (edit.before.iter().filter_map(read).collect(), read(&edit.after));
        affected.insert(id.clone());
        affected.extend(before.iter().chain(&after).filter_map(|node| node.parent.clone()));
        let differs = |node: &Arc<Node>| node.classification.as_ref().is_some_and(|it| it.is_contested());
        if before.iter().any(differs) && !after.as_ref().is_some_and(differs) {
            affected.extend(with_descendants(investigation, id));
        }
    }

    /// Returns a version of a node.
    fn node(&self, path: &str, blob: BlobId, id: &NodeId) -> Result<Arc<Node>, Fault> {
        let known = self.nodes.get(&blob).filter(|node| node.id == *id).cloned();
        known.map_or_else(|| read::node(self.git, path, blob, id).map(Arc::new), Ok)
    }

    /// Returns a comment or run before and after an edit.
    fn record<T: Record>(&self, edit: &ManualEdit, id: T::Id) -> [Option<T>; 2] {
        let read = |blob: &Option<BlobId>| read::record(self.git, &edit.path, (*blob)?, id).ok();
        [edit.before.iter().find_map(read), read(&edit.after)]
    }

    /// Returns whether the edit wrote the current conclusion. What ends an investigation anew replaces it.
    fn is_in_force(&self, edit: &ManualEdit, investigation: &Investigation) -> bool {
        let (Some(now), Some(blob)) = (investigation.report(), edit.after) else { return false };
        let then = read::conclusion(self.git, &edit.path, blob);
        let written = [Some(now.ended_at), now.drafted.as_ref().map(|draft| draft.at)];
        then.map_or(true, |then| written.contains(&Some(then.ended_at)))
    }

    /// Returns whether the node had its current result at the commit, or nobody knows.
    fn has_current_result(&self, commit: CommitId, node: &Node) -> bool {
        let path = layout::node(&node.id);
        let blob = match self.git.blob_at(commit, &path) {
            Ok(Some(blob)) => blob,
            blob => return blob.is_err(),
        };
        let since = |node: &Node| node.classification.as_ref().map(|result| result.current_since());
        self.node(&path, blob, &node.id).map_or_else(
            |_| self.git.size(blob).is_err(),
            |then| since(&then).is_some() && since(&then) == since(node),
        )
    }
}

/// Finds the edits of which a merge shows that they took over what calls on the other side had made, as a squash does: they
/// changed the file from the version that both sides had in common to the version of the other side, and no edit there
/// made that version.
fn find_taken_over(
    git: &Git,
    parents_of: &HashMap<CommitId, Vec<CommitId>>,
    commits: &[CommitId],
    edits: &[ManualEdit],
    are_taken_over: &mut [bool],
) {
    let merges: Vec<[CommitId; 2]> =
        commits.iter().filter_map(|id| parents_of.get(id)?.as_slice().try_into().ok()).collect();
    if merges.is_empty() || edits.is_empty() {
        return;
    }
    let mut made_by: HashMap<CommitId, Vec<usize>> = HashMap::new();
    for (number, edit) in edits.iter().enumerate() {
        made_by.entry(edit.commit).or_default().push(number);
    }
    let lineage = Lineage::new(parents_of);
    for sides in merges {
        let on_side = |commits: HashSet<CommitId>| -> Vec<usize> {
            commits.iter().filter_map(|id| made_by.get(id)).flatten().copied().collect()
        };
        let [on_one, on_other] = lineage.apart(sides).map(on_side);
        let mut bases = None;
        for (own, others, other) in [(&on_one, &on_other, sides[1]), (&on_other, &on_one, sides[0])] {
            let by_hand: HashSet<_> = others.iter().map(|at| (&edits[*at].path, edits[*at].after)).collect();
            for at in own {
                let edit = &edits[*at];
                let [before] = edit.before[..] else { continue };
                if are_taken_over[*at] {
                    continue;
                }
                let is = |commit: CommitId, blob| git.blob_at(commit, &edit.path).is_ok_and(|it| it == blob);
                if before == edit.after
                    || by_hand.contains(&(&edit.path, edit.after))
                    || !is(other, edit.after)
                {
                    continue;
                }
                let bases =
                    bases.get_or_insert_with(|| git.merge_bases(sides[0], &[sides[1]]).unwrap_or_default());
                are_taken_over[*at] |= !bases.is_empty() && bases.iter().all(|base| is(*base, before));
            }
        }
    }
}

/// Returns whether these versions of a file are in the repository. A partial clone lacks old ones.
fn are_here<'v>(git: &Git, versions: impl IntoIterator<Item = &'v Option<BlobId>>) -> bool {
    versions.into_iter().flatten().all(|blob| git.size(*blob).is_ok())
}

/// Adds the nodes affected by a changed comment or run: its node, all descendants, and the parent.
fn add_affected_by_record(
    investigation: &Investigation,
    node: Option<NodeId>,
    affected: &mut BTreeSet<NodeId>,
) {
    if let Some(node) = node {
        affected.extend(investigation.node(&node).and_then(|node| node.parent.clone()));
        affected.extend(with_descendants(investigation, &node));
        affected.insert(node);
    }
}

/// Returns the node and all its descendants.
fn with_descendants(investigation: &Investigation, id: &NodeId) -> Vec<NodeId> {
    let mut all = Vec::new();
    let mut next = vec![id.clone()];
    while let Some(id) = next.pop() {
        next.extend(investigation.children(&id).map(|child| child.id.clone()));
        all.push(id);
    }
    all
}

/// The people whom commits by hand name as authors, each with the file and the time of what they are said to have done.
#[derive(Clone, Debug, Default)]
pub struct FalseNames(HashSet<(String, Person, Timestamp)>);

impl FalseNames {
    /// Disowns these people in a node. Returns a fault for each.
    pub(super) fn disown_in_node(&self, node: &mut Arc<Node>) -> Vec<Fault> {
        let path = layout::node(&node.id);
        let found = self.among(&path, node.written_by());
        if !found.is_empty() {
            Arc::make_mut(node).visit_callers(self.disowning(&path));
        }
        found
    }

    /// Disowns these people in the conclusion. Returns a fault for each.
    pub(super) fn disown_in_conclusion(&self, end: &mut Conclusion) -> Vec<Fault> {
        let found = self.among(layout::CONCLUSION, end.written_by());
        end.visit_callers(self.disowning(layout::CONCLUSION));
        found
    }

    /// Disowns the author of a comment or run if it is one of these people. Returns the fault.
    pub(super) fn disown_in_record<T: Record>(&self, record: &mut Arc<T>) -> Option<Fault> {
        let path = T::path(record.id());
        let (person, at) = author(record.as_ref())?;
        let fault = self.fault(&path, &person, at)?;
        Arc::make_mut(record).author_mut().disown();
        Some(fault)
    }

    fn among<'c>(&self, path: &str, callers: impl Iterator<Item = (Timestamp, &'c Caller)>) -> Vec<Fault> {
        callers.filter_map(|(at, by)| self.fault(path, by.person.as_ref()?, at)).collect()
    }

    fn disowning<'n>(&'n self, path: &'n str) -> impl Fn(Timestamp, &mut Caller) + 'n {
        move |at, caller| {
            if caller.person.as_ref().is_some_and(|person| self.fault(path, person, at).is_some()) {
                caller.disown();
            }
        }
    }

    fn fault(&self, path: &str, person: &Person, at: Timestamp) -> Option<Fault> {
        // Replies and sites show the fault, so it has no address.
        let reason = format!(
            "the file names {} as its author, but git has another name or address; it counts as unsigned",
            person.name
        );
        let is_false = self.0.contains(&(path.to_owned(), person.clone(), at));
        is_false.then(|| Fault::of_history(path, reason, Code::AuthorDiffers))
    }
}

/// Returns the author of a comment or run: the git user, even if an agent wrote it.
fn author<T: Record>(record: &T) -> Option<(Person, Timestamp)> {
    let author = record.author();
    let person = Person { name: author.name.clone(), email: author.email.clone() };
    author.caller.disowned.is_none().then(|| (person, record.at()))
}

/// Returns the people named in a file, each with the time of what they did. The list is empty if the file is unreadable.
fn named_in(past: &Past<'_>, path: &str, blob: Option<BlobId>) -> Vec<(Person, Timestamp)> {
    let Some(blob) = blob else { return Vec::new() };
    let person = |(at, by): (Timestamp, &Caller)| Some((by.person.clone()?, at));
    match layout::file_role(path) {
        FileRole::Node(id) => {
            past.node(path, blob, &id).iter().flat_map(|it| it.written_by().filter_map(person)).collect()
        }
        FileRole::Comment(id) => {
            read::record::<Comment>(past.git, path, blob, id).iter().filter_map(author).collect()
        }
        FileRole::Run(id) => {
            read::record::<Run>(past.git, path, blob, id).iter().filter_map(author).collect()
        }
        FileRole::Conclusion => read::conclusion(past.git, path, blob)
            .map(|end| end.written_by().filter_map(person).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}
