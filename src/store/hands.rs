//! Facts derived from the history: manual changes and the original terms of the investigation.
//!
//! 1. [`Ancestry::read`] walks the ancestors of a commit, back to those of an earlier snapshot's commit.
//! 2. [`Ancestry::by_hand`] returns the changes in these commits that were not made by tool calls.
//! 3. [`Ancestry::terms`] restores the rules and terms of the first commit and reports differences.
//!
//! A commit whose message names a tool call still counts as manual if no call can have made its changes (see
//! [`calls`](super::calls)). To save time, not every commit by a call is read. A proposal or result is accepted if each
//! named node has a fact with the same time as the commit. Only `tot check` detects a commit with a forged time.
//!
//! Limitations: a commit that looks exactly like a call counts as a call, because everything except a signature is
//! self-reported. Commits before the boundary of a shallow clone are unknown.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::git::{BlobId, CommitId, CommitInfo, Git, TreeFile};
use super::history::{HistoryBudget, HistoryFiles};
use super::snapshot::trailers;
use super::{Fault, Snapshot, StoreError, join, merges, read, resolve};
use crate::domain::{
    ByHand, Caller, Code, Comment, CommentKind, Investigation, Meta, Node, NodeId, Person, Timestamp,
};
use crate::format::layout::{self, FileRole};
use crate::format::{comment_file, node_file, run_file};
use crate::merge::markers;
use crate::ruleset::RulesetFile;
use crate::yaml::YamlError;

/// The maximum number of manual commits whose trees are read, and the maximum number of merges that are repeated.
const HANDS: usize = 200;

/// The ancestors of a commit, back to those of an earlier snapshot's commit.
pub(super) struct Ancestry<'a> {
    pub(super) git: &'a Git,
    /// The two heads of a future merge, first parent first, or the same commit twice.
    heads: [CommitId; 2],
    /// The earlier snapshot, if its commit is an ancestor.
    pub(super) before: Option<&'a Snapshot>,
    pub(super) commits: Vec<Ancestor>,
    /// The commits that the earlier snapshot covers. A merge leads the walk around its commit to some of them.
    covered: HashSet<CommitId>,
    /// The boundary commits of a shallow clone.
    pub(super) ends: Vec<CommitId>,
    /// True if all visited commits are readable.
    pub(super) is_whole: bool,
    /// The first commit, or `None` if the clone is shallow or a commit along the way is unreadable.
    pub(super) first: Option<CommitId>,
}

/// A commit without its message.
pub(super) struct Ancestor {
    pub(super) info: CommitInfo,
    /// The tool and the nodes in the trailers, one per line. Empty if the message names no tool.
    call: Box<str>,
}

const PROPOSE: &str = "tot_propose";
const COMMIT: &str = "tot_commit";

impl Ancestor {
    /// Returns whether the message names a tool call and the commit is not a merge.
    fn is_of_call(&self) -> bool {
        self.info.parents.len() < 2 && !self.call.is_empty()
    }

    fn tool(&self) -> Option<&str> {
        self.call.lines().next()
    }

    fn nodes(&self) -> impl Iterator<Item = &str> {
        self.call.lines().skip(1)
    }

    /// Returns the commit's author as a caller.
    fn person(&self) -> Option<Caller> {
        let (name, email) = (self.info.author_name.clone(), Some(self.info.author_email.clone()));
        let person = Person { name, email: email.filter(|email| !email.is_empty()) };
        (!self.info.has_no_author()).then(|| Caller { person: Some(person), ..Caller::default() })
    }
}

impl<'a> Ancestry<'a> {
    /// Walks the history of a commit, or of the two parents of a future merge.
    ///
    /// # Errors
    ///
    /// Returns an error if the boundary of a shallow clone cannot be read.
    pub(super) fn read(
        git: &'a Git,
        heads: [CommitId; 2],
        before: Option<&'a Snapshot>,
    ) -> Result<Self, StoreError> {
        let ends: HashSet<CommitId> = git.shallow_boundary()?.into_iter().collect();
        let (commits, covered, met) = Default::default();
        let mut past =
            Ancestry { git, heads, before: None, commits, covered, ends: met, is_whole: true, first: None };
        let mut first_parents: HashMap<CommitId, Option<CommitId>> = HashMap::new();
        let (mut seen, mut next) = (HashSet::new(), heads.to_vec());
        while let Some(id) = next.pop() {
            if !seen.insert(id) {
                continue;
            }
            if before.is_some_and(|before| before.head == id) {
                past.before = before;
                continue;
            }
            // Damaged commits are reported elsewhere and don't stop the walk.
            let Ok(info) = git.commit_info(id) else {
                past.is_whole = false;
                continue;
            };
            if ends.contains(&id) {
                past.ends.push(id);
                continue;
            }
            first_parents.insert(id, info.parents.first().copied());
            next.extend(&info.parents);
            let trailers = trailers(&info.message);
            let named = |name| trailers.iter().filter(move |(key, _)| *key == name).map(|(_, it)| *it);
            let call = named("Tool").take(1).flat_map(|tool| std::iter::once(tool).chain(named("Node")));
            let call = call.collect::<Vec<_>>().join("\n").into();
            past.commits.push(Ancestor { info: CommitInfo { message: String::new(), ..info }, call });
        }
        let is_merged = heads[0] != heads[1] || past.commits.iter().any(|it| it.info.parents.len() > 1);
        next.extend(past.before.filter(|_| is_merged).map(|before| before.head));
        while let Some(id) = next.pop() {
            if past.covered.insert(id) {
                next.extend(git.commit_info(id).into_iter().flat_map(|info| info.parents));
            }
        }
        let mut at = heads[0];
        past.first = loop {
            if let Some(before) = past.before.filter(|before| before.head == at) {
                break before.first;
            }
            match first_parents.remove(&at) {
                Some(Some(parent)) => at = parent,
                Some(None) => break Some(at),
                None => break None,
            }
        };
        Ok(past)
    }

    /// Returns the changes that were not made by tool calls. A merge commit that is identical to the merge of its
    /// parents contains no manual changes.
    pub(super) fn by_hand(&self, investigation: &Investigation, are_terms_changed: bool) -> ByHand {
        let known = self.before.map(|before| before.investigation.by_hand().clone());
        let mut by_hand = known.unwrap_or_default();
        // A call names only the author of its commit.
        let is_disowned = |(_, by): (Timestamp, &Caller)| by.disowned.is_some();
        let disowned = investigation.nodes().filter(|node| node.written_by().any(is_disowned));
        by_hand.nodes.extend(disowned.map(|node| node.id.clone()));
        by_hand.end |= are_terms_changed
            || investigation.conclusion().is_some_and(|end| end.written_by().any(is_disowned));
        let (mut asked, mut remakes) = (0, HANDS);
        // Unreadable commits are reported elsewhere.
        let forged = self.forged(investigation).unwrap_or_default();
        let is_of_call = |commit: &Ancestor| commit.is_of_call() && !forged.contains(&commit.info.id);
        for commit in self.new_commits().filter(|commit| !is_of_call(commit)) {
            let edits = match commit.info.parents.as_slice() {
                [] | [_] => self.edits(&commit.info),
                _ => merges::edits(self, &commit.info, &mut remakes),
            };
            let mut affected = BTreeSet::new();
            // Unreadable files are reported elsewhere.
            for edit in edits.unwrap_or_default() {
                if edit.before != edit.after {
                    *by_hand.edits.entry(edit.path.clone()).or_default() += 1;
                }
                match layout::file_role(&edit.path) {
                    FileRole::Node(id) => {
                        add_affected(investigation, edit.read(self, node_file::read), &id, &mut affected);
                        if edit.is_new {
                            let by = by_hand.writers.entry(id.clone()).or_default();
                            by.extend(commit.person().filter(|own| !by.contains(own)));
                            by_hand.nodes.insert(id);
                        }
                    }
                    FileRole::Comment(_) => {
                        let [before, after] = edit.read(self, comment_file::read);
                        let settles = |said: &Comment| said.kind == CommentKind::Resolution;
                        let said = before.or_else(|| after.filter(settles));
                        add_affected_by_record(investigation, said.and_then(|said| said.node), &mut affected);
                    }
                    FileRole::Run(_) => {
                        let [before, after] = edit.read(self, run_file::read);
                        let run = before.or_else(|| after.filter(|run| run.of().is_some()));
                        add_affected_by_record(investigation, run.and_then(|run| run.node), &mut affected);
                    }
                    FileRole::Conclusion => by_hand.end = true,
                    FileRole::Meta => by_hand.end |= edit.before != FileText::Blob(None),
                    _ => {}
                }
            }
            if affected.is_empty() {
                continue;
            }
            asked += 1;
            let then = match asked > HANDS {
                true => None,
                false => self.git.files(commit.info.id).ok().map(|files| {
                    files.into_iter().map(|file| (file.path.clone(), file)).collect::<HashMap<_, _>>()
                }),
            };
            for node in affected {
                let confirmed = investigation.children(&node).filter(|child| match &then {
                    None => true,
                    Some(files) => has_current_result(self.git, files, child),
                });
                let confirmed: Vec<NodeId> = confirmed.map(|child| child.id.clone()).collect();
                by_hand.confirmed_before.entry(node).or_default().extend(confirmed);
            }
        }
        by_hand
    }

    /// Returns the commits since the earlier snapshot.
    fn new_commits(&self) -> impl Iterator<Item = &Ancestor> {
        self.commits.iter().filter(|commit| !self.covered.contains(&commit.info.id))
    }

    /// Returns the commits that cannot have been made by the tool call they name. Commits accounted for by facts are
    /// not read.
    fn forged(&self, investigation: &Investigation) -> Result<HashSet<CommitId>, StoreError> {
        let mut files = HistoryFiles::new(self.git, investigation, HistoryBudget::DEFAULT);
        let mut calls: Vec<&Ancestor> = self.new_commits().filter(|it| it.is_of_call()).collect();
        if self.before.is_none() {
            let mut facts = CalledFacts::of(investigation);
            let (mut told, mut rest): (Vec<_>, Vec<_>) =
                calls.into_iter().partition(|commit| facts.account_for(commit));
            // If a fact was rewritten, the commit that first wrote it no longer has a matching fact.
            let doubtful: HashSet<&str> = rest.iter().flat_map(|commit| commit.nodes()).collect();
            told.retain(|commit| commit.nodes().any(|node| doubtful.contains(node)));
            rest.append(&mut told);
            calls = rest;
            if let [head, other] = self.heads
                && head == other
            {
                files = files.at(head)?;
            }
        }
        let mut forged = HashSet::new();
        for commit in calls {
            if let Ok(info) = self.git.commit_info(commit.info.id) {
                let entry = files.entry(info);
                // A call never writes or overwrites an unreadable file.
                if !(entry.misfits().is_empty() && entry.faults.is_empty()) {
                    forged.insert(commit.info.id);
                }
            }
        }
        Ok(forged)
    }

    /// Returns the manual changes in a commit with one parent. Changes by `tot merge --resolve` repeat a merge and
    /// don't count.
    fn edits(&self, commit: &CommitInfo) -> Result<Vec<ManualEdit>, StoreError> {
        let parent = commit.parents.first().copied();
        let files = self.git.diff(parent, commit.id)?.into_iter().filter(|file| is_judged(&file.path));
        let mut edits: Vec<ManualEdit> = files
            .map(|file| ManualEdit {
                path: file.path,
                before: FileText::Blob(file.before),
                after: FileText::Blob(file.after),
                is_new: true,
            })
            .collect();
        let was_marked = |edit: &&ManualEdit| self.text(&edit.before).as_deref().is_some_and(is_marked);
        let marked: Vec<String> = edits.iter().filter(was_marked).map(|edit| edit.path.clone()).collect();
        if let Some(parent) = parent.filter(|_| !marked.is_empty())
            && let [before, after] = [join::flat(self.git, parent)?, join::flat(self.git, commit.id)?]
            && let Some((remade, _)) = resolve::remade(self.git, &before, parent, &marked, Some(&after))?
        {
            let is_remade = |edit: &ManualEdit| {
                let after = self.text(&edit.after).map(String::into_bytes);
                remade.iter().any(|file| file.path == edit.path && file.content == after)
            };
            edits.retain(|edit| !is_remade(edit));
        }
        Ok(edits)
    }

    /// Returns the text of a file, or `None` if it is unreadable.
    pub(super) fn text(&self, text: &FileText) -> Option<String> {
        let content = match text {
            FileText::Blob(blob) => self.git.read((*blob)?, read::FILE_MAX).ok()?,
            FileText::Content(content) => content.clone(),
        };
        String::from_utf8(content).ok()
    }

    /// Restores the rules and terms of the first commit, because no one may lower the standard of a running
    /// investigation. Adds a fault for each difference, or a single fault if the first commit is unknown. Returns
    /// whether the terms differ.
    pub(super) fn terms(
        &self,
        meta: &mut Meta,
        ruleset: &mut Result<RulesetFile, Fault>,
        faults: &mut Vec<Fault>,
    ) -> bool {
        let mut are_others = false;
        let Some(first) = self.first else {
            let reason = "the first commit can't be read, so its terms and rules can't be compared with the current ones; \
                          in a shallow clone, `git fetch --unshallow` fetches it";
            faults.push(Fault::of_history(layout::META, reason, Code::HistoryCut));
            return false;
        };
        let Ok(files) = self.git.files(first) else { return false };
        let file = |path: &str| files.iter().find(|file| file.path == path);
        let changed = |path: &str| self.changed_by(path).unwrap_or_default();
        if let Some(Ok(then)) = file(layout::META).map(|file| read::meta(self.git, file)) {
            let differing = differing_terms(meta, &then);
            are_others = !differing.is_empty();
            if are_others {
                let were = if differing.len() == 1 { "was" } else { "were" };
                let reason = format!(
                    "{} {were} changed{}; the terms of the first commit apply",
                    differing.join(", "),
                    changed(layout::META)
                );
                faults.push(Fault::of_history(layout::META, reason, Code::TermsChanged));
                let Meta { ruleset, mode, min_rounds, min_roots, allow_early_terminal, .. } = then;
                *meta = Meta { ruleset, mode, min_rounds, min_roots, allow_early_terminal, ..meta.clone() };
            }
        }
        if let (Ok(now), Some(Ok(then))) =
            (&mut *ruleset, file(layout::RULESET).map(|file| read::ruleset(self.git, file)))
            && now.ruleset != then.ruleset
        {
            let reason =
                format!("it was changed{}; the rules of the first commit apply", changed(layout::RULESET));
            faults.push(Fault::of_history(layout::RULESET, reason, Code::RulesetDiffers));
            *now = then;
        }
        are_others
    }

    /// Returns ` on 2026-11-03 09:15 by NAME` for the last commit in which the file differs from every parent.
    fn changed_by(&self, path: &str) -> Option<String> {
        let blob = |id| self.git.blob_at(id, path).ok();
        let (mut at, now) = (self.heads[0], blob(self.heads[0])?);
        loop {
            let commit = self.git.commit_info(at).ok()?;
            match commit.parents.iter().find(|parent| blob(**parent).as_ref() == Some(&now)) {
                Some(same) => at = *same,
                None => {
                    let time = commit.at().unwrap_or_default().to_minute();
                    return Some(format!(" on {time} by {}", commit.author_name));
                }
            }
        }
    }
}

/// The facts written by calls, each with its tool, node and time in seconds: proposals, results, and results implied by
/// a child.
struct CalledFacts<'a>(HashSet<(&'static str, &'a str, i64)>);

impl<'a> CalledFacts<'a> {
    fn of(investigation: &'a Investigation) -> Self {
        let mut facts = HashSet::new();
        for node in investigation.nodes() {
            let mut fact = |tool, at: Timestamp| facts.insert((tool, node.id.as_str(), at.seconds()));
            fact(PROPOSE, node.proposed_at);
            let Some(result) = &node.classification else { continue };
            fact(COMMIT, result.committed_at);
            for change in result.reclassified.iter().filter(|change| change.child().is_some()) {
                fact(COMMIT, change.at);
            }
        }
        CalledFacts(facts)
    }

    /// Returns whether each node named by the commit has an unused fact with the same time. Removes the facts it finds.
    fn account_for(&mut self, commit: &'a Ancestor) -> bool {
        let Some(tool) = [PROPOSE, COMMIT].into_iter().find(|tool| commit.tool() == Some(tool)) else {
            return false;
        };
        let mut nodes = commit.nodes().peekable();
        nodes.peek().is_some() && nodes.all(|node| self.0.remove(&(tool, node, commit.info.seconds)))
    }
}

/// Returns the names of the terms that differ.
fn differing_terms(now: &Meta, then: &Meta) -> Vec<&'static str> {
    let terms = [
        ("ruleset", now.ruleset != then.ruleset),
        ("mode", now.mode != then.mode),
        ("minRounds", now.min_rounds != then.min_rounds),
        ("minRoots", now.min_roots != then.min_roots),
        ("allowEarlyTerminal", now.allow_early_terminal != then.allow_early_terminal),
    ];
    terms.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// A change to a file that was not made by a tool call.
pub(super) struct ManualEdit {
    pub(super) path: String,
    pub(super) before: FileText,
    pub(super) after: FileText,
    /// True if the new content was not written by a call.
    pub(super) is_new: bool,
}

/// The content of a file.
#[derive(PartialEq, Eq)]
pub(super) enum FileText {
    /// A stored object, or `None` for a missing file.
    Blob(Option<BlobId>),
    /// Content that is not stored as an object.
    Content(Vec<u8>),
}

impl ManualEdit {
    /// Parses the file before and after the change.
    fn read<T>(&self, past: &Ancestry<'_>, read: impl Fn(&str) -> Result<T, YamlError>) -> [Option<T>; 2] {
        [&self.before, &self.after].map(|text| read(&past.text(text)?).ok())
    }
}

/// Returns whether the file affects the verdict on an investigation.
pub(super) fn is_judged(path: &str) -> bool {
    let place = layout::file_role(path);
    matches!(
        place,
        FileRole::Node(_)
            | FileRole::Comment(_)
            | FileRole::Run(_)
            | FileRole::Conclusion
            | FileRole::Meta
            | FileRole::Ruleset
    )
}

/// Returns whether the text contains git's conflict markers.
pub(super) fn is_marked(text: &str) -> bool {
    markers::sides(text).is_some()
}

/// Adds the nodes affected by a changed node file: the node, its parents before and after the change, and, if its
/// results no longer differ, all descendants.
fn add_affected(
    investigation: &Investigation,
    [before, after]: [Option<Node>; 2],
    id: &NodeId,
    affected: &mut BTreeSet<NodeId>,
) {
    affected.insert(id.clone());
    affected.extend(before.iter().chain(&after).filter_map(|node| node.parent.clone()));
    let differs = |node: &Option<Node>| {
        node.as_ref().and_then(|it| it.classification.as_ref()).is_some_and(|result| result.is_contested())
    };
    if differs(&before) && !differs(&after) {
        affected.extend(with_descendants(investigation, id));
    }
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

/// Returns whether the files contain the node with its current result.
fn has_current_result(git: &Git, files: &HashMap<String, TreeFile>, node: &Node) -> bool {
    let Some(file) = files.get(&layout::node(&node.id)) else { return false };
    let then = read::node(git, &file.path, file.blob, &node.id);
    let since = |node: &Node| node.classification.as_ref().map(|result| result.current_since());
    then.is_ok_and(|then| since(&then).is_some() && since(&then) == since(node))
}
