//! Facts that come from the history and not from a file: changes by hand, and the terms at the beginning of the
//! investigation.
//!
//! 1. [`Past::read`] walks the commits that lead to the given one, up to those that an earlier snapshot knows.
//! 2. [`Past::by_hand`] returns their changes that no call made.
//! 3. [`Past::terms`] puts the rules and terms of the first commit in force, and names what differs from them.
//!
//! A commit with the mark of a call also counts as one by hand if no call can have made it: see [`calls`](super::calls). To find
//! these, not all are read: a proposal, or a commit of results, passes if each node that it names has a fact of its second. A
//! false time on other changes of such a commit is found by `tot check` alone.
//!
//! Limits: a commit with the whole form of a call counts as one, as everything but a signature is self-declared. Commits before
//! the end of a shallow clone are not known.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::git::{BlobId, CommitId, Git, TreeFile};
use super::history::{Budget, Files};
use super::snapshot::trailers;
use super::{Fault, Snapshot, StoreError, join, merges, read, resolve};
use crate::domain::{
    ByHand, Caller, Code, Comment, CommentKind, Investigation, Meta, Node, NodeId, Person, Timestamp,
};
use crate::format::layout::{self, Place};
use crate::format::{comment_file, node_file, run_file};
use crate::merge::markers;
use crate::ruleset::RulesetFile;
use crate::yaml::YamlError;

/// The maximum number of commits by hand whose earlier state is read, and of merges that are remade.
const HANDS: usize = 200;

/// The commits that lead to one, up to those that an earlier snapshot knows.
pub(super) struct Past<'a> {
    pub(super) git: &'a Git,
    /// The two heads of a merge, the first parent first; otherwise twice the same commit.
    heads: [CommitId; 2],
    /// The earlier snapshot, if the commits lead to it.
    pub(super) before: Option<&'a Snapshot>,
    pub(super) commits: Vec<Ancestor>,
    /// The commits at which a shallow clone ends.
    pub(super) ends: Vec<CommitId>,
    /// Whether all other commits are available.
    pub(super) is_whole: bool,
    /// The first commit; absent where a shallow clone ends before it, or a commit on the way is unreadable.
    pub(super) first: Option<CommitId>,
}

/// The part of a commit that is kept.
pub(super) struct Ancestor {
    pub(super) id: CommitId,
    pub(super) parents: Vec<CommitId>,
    pub(super) author_name: String,
    pub(super) author_email: String,
    /// Whether it names no author.
    pub(super) is_nobodys: bool,
    pub(super) seconds: i64,
    /// The tool and the nodes that its trailers name, a line each; empty without the mark of a call.
    call: Box<str>,
}

const PROPOSE: &str = "tot_propose";
const COMMIT: &str = "tot_commit";

impl Ancestor {
    /// Whether it carries the mark of a call, and is not a merge.
    fn is_of_call(&self) -> bool {
        self.parents.len() < 2 && !self.call.is_empty()
    }

    fn tool(&self) -> Option<&str> {
        self.call.lines().next()
    }

    fn nodes(&self) -> impl Iterator<Item = &str> {
        self.call.lines().skip(1)
    }

    /// Its author, as a caller.
    fn person(&self) -> Option<Caller> {
        let (name, email) = (self.author_name.clone(), Some(self.author_email.clone()));
        let person = Person { name, email: email.filter(|email| !email.is_empty()) };
        (!self.is_nobodys).then(|| Caller { person: Some(person), ..Caller::default() })
    }
}

impl<'a> Past<'a> {
    /// Walks the history of a commit, or of two that are to be merged, the first parent first.
    ///
    /// # Errors
    ///
    /// The ends of a shallow clone can't be read.
    pub(super) fn read(
        git: &'a Git,
        heads: [CommitId; 2],
        before: Option<&'a Snapshot>,
    ) -> Result<Self, StoreError> {
        let ends: HashSet<CommitId> = git.ends()?.into_iter().collect();
        let (commits, met) = (Vec::new(), Vec::new());
        let mut past = Past { git, heads, before: None, commits, ends: met, is_whole: true, first: None };
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
            // Damage is reported elsewhere, and does not stop reading.
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
            past.commits.push(Ancestor {
                id,
                is_nobodys: info.is_nobodys(),
                call: {
                    let trailers = trailers(&info.message);
                    let named =
                        |name| trailers.iter().filter(move |(key, _)| *key == name).map(|(_, it)| *it);
                    let call =
                        named("Tool").take(1).flat_map(|tool| std::iter::once(tool).chain(named("Node")));
                    call.collect::<Vec<_>>().join("\n").into()
                },
                parents: info.parents,
                author_name: info.author_name,
                author_email: info.author_email,
                seconds: info.seconds,
            });
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

    /// The changes of the commits that no call made. A merge that equals the merge of its parents is not such a change: the
    /// changes that it brings together have commits of their own.
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
        // An unreadable commit is reported elsewhere.
        let forged = self.forged(investigation).unwrap_or_default();
        let is_of_call = |commit: &Ancestor| commit.is_of_call() && !forged.contains(&commit.id);
        for commit in self.commits.iter().filter(|commit| !is_of_call(commit)) {
            let edits = match commit.parents.as_slice() {
                [] | [_] => self.edits(commit),
                _ => merges::edits(self, commit, &mut remakes),
            };
            let mut touched = BTreeSet::new();
            // An unreadable file is reported elsewhere.
            for edit in edits.unwrap_or_default() {
                if edit.before != edit.after {
                    *by_hand.edits.entry(edit.path.clone()).or_default() += 1;
                }
                match layout::place(&edit.path) {
                    Place::Node(id) => {
                        touch(investigation, edit.read(self, node_file::read), &id, &mut touched);
                        if edit.is_new {
                            let by = by_hand.writers.entry(id.clone()).or_default();
                            by.extend(commit.person().filter(|own| !by.contains(own)));
                            by_hand.nodes.insert(id);
                        }
                    }
                    Place::Comment(_) => {
                        let [before, after] = edit.read(self, comment_file::read);
                        let settles = |said: &Comment| said.kind == CommentKind::Resolution;
                        let said = before.or_else(|| after.filter(settles));
                        touch_record(investigation, said.and_then(|said| said.node), &mut touched);
                    }
                    Place::Run(_) => {
                        let [before, after] = edit.read(self, run_file::read);
                        let run = before.or_else(|| after.filter(|run| run.of().is_some()));
                        touch_record(investigation, run.and_then(|run| run.node), &mut touched);
                    }
                    Place::Conclusion => by_hand.end = true,
                    Place::Meta => by_hand.end |= edit.before != FileText::Blob(None),
                    _ => {}
                }
            }
            if touched.is_empty() {
                continue;
            }
            asked += 1;
            let then = match asked > HANDS {
                true => None,
                false => self.git.files(commit.id).ok().map(|files| {
                    files.into_iter().map(|file| (file.path.clone(), file)).collect::<HashMap<_, _>>()
                }),
            };
            for node in touched {
                let stands = investigation.children(&node).filter(|child| match &then {
                    None => true,
                    Some(files) => stood(self.git, files, child),
                });
                let stands: Vec<NodeId> = stands.map(|child| child.id.clone()).collect();
                by_hand.confirmed_before.entry(node).or_default().extend(stands);
            }
        }
        by_hand
    }

    /// The commits with the mark of a call that no call can have made. Only commits that the facts do not account for are read.
    fn forged(&self, investigation: &Investigation) -> Result<HashSet<CommitId>, StoreError> {
        let mut files = Files::new(self.git, investigation, Budget::DEFAULT);
        let mut calls: Vec<&Ancestor> = self.commits.iter().filter(|it| it.is_of_call()).collect();
        if self.before.is_none() {
            let mut facts = Facts::of(investigation);
            let (mut told, mut rest): (Vec<_>, Vec<_>) =
                calls.into_iter().partition(|commit| facts.account_for(commit));
            // Rewriting a fact leaves the commit that first wrote it without one.
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
            if let Ok(info) = self.git.commit_info(commit.id) {
                let entry = files.entry(info);
                // A call never writes an unreadable file, nor overwrites one.
                if !(entry.misfits().is_empty() && entry.faults.is_empty()) {
                    forged.insert(commit.id);
                }
            }
        }
        Ok(forged)
    }

    /// The changes that no call made of a commit with one parent. The result of `tot merge --resolve` follows from a merge.
    fn edits(&self, commit: &Ancestor) -> Result<Vec<Edit>, StoreError> {
        let parent = commit.parents.first().copied();
        let files = self.git.diff(parent, commit.id)?.into_iter().filter(|file| is_judged(&file.path));
        let mut edits: Vec<Edit> = files
            .map(|file| Edit {
                path: file.path,
                before: FileText::Blob(file.before),
                after: FileText::Blob(file.after),
                is_new: true,
            })
            .collect();
        let was_marked = |edit: &&Edit| self.text(&edit.before).as_deref().is_some_and(is_marked);
        let marked: Vec<String> = edits.iter().filter(was_marked).map(|edit| edit.path.clone()).collect();
        if let Some(parent) = parent.filter(|_| !marked.is_empty())
            && let [before, after] = [join::flat(self.git, parent)?, join::flat(self.git, commit.id)?]
            && let Some((remade, _)) = resolve::remade(self.git, &before, parent, &marked, Some(&after))?
        {
            let is_remade = |edit: &Edit| {
                let after = self.text(&edit.after).map(String::into_bytes);
                remade.iter().any(|file| file.path == edit.path && file.content == after)
            };
            edits.retain(|edit| !is_remade(edit));
        }
        Ok(edits)
    }

    /// Returns the text of a file, if readable.
    pub(super) fn text(&self, text: &FileText) -> Option<String> {
        let content = match text {
            FileText::Blob(blob) => self.git.read((*blob)?, read::FILE_MAX).ok()?,
            FileText::Content(content) => content.clone(),
        };
        String::from_utf8(content).ok()
    }

    /// Puts the terms and rules of the first commit in force: nobody can lower the standard of a running investigation. Adds
    /// faults for differences, or where the beginning is unknown. Returns whether terms differ.
    pub(super) fn terms(
        &self,
        meta: &mut Meta,
        ruleset: &mut Result<RulesetFile, Fault>,
        faults: &mut Vec<Fault>,
    ) -> bool {
        let mut are_others = false;
        let Some(first) = self.first else {
            let reason = "the first commit can't be read, so its terms and rules can't be compared with the present ones; \
                          in a shallow clone, `git fetch --unshallow` gets it";
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

    /// ` on 2026-11-03 09:15 by NAME`: the last change of a file, by the commit where it differs from each parent.
    fn changed_by(&self, path: &str) -> Option<String> {
        let blob = |id| self.git.blob_at(id, path).ok();
        let (mut at, now) = (self.heads[0], blob(self.heads[0])?);
        loop {
            let commit = self.git.commit_info(at).ok()?;
            match commit.parents.iter().find(|parent| blob(**parent).as_ref() == Some(&now)) {
                Some(same) => at = *same,
                None => {
                    let time = Timestamp::from_milliseconds(commit.seconds.saturating_mul(1_000));
                    let time = time.unwrap_or_default().to_minute();
                    return Some(format!(" on {time} by {}", commit.author_name));
                }
            }
        }
    }
}

/// The facts by second, each written by one call: a proposal, a result, a state that a child brought.
struct Facts<'a>(HashSet<(&'static str, &'a str, i64)>);

impl<'a> Facts<'a> {
    fn of(investigation: &'a Investigation) -> Self {
        let mut facts = HashSet::new();
        for node in investigation.nodes() {
            let mut fact = |tool, at: Timestamp| facts.insert((tool, node.id.as_str(), at.seconds()));
            fact(PROPOSE, node.proposed_at);
            let Some(result) = &node.classification else { continue };
            fact(COMMIT, result.committed_at);
            for change in result.reclassified.iter().filter(|change| change.by.child().is_some()) {
                fact(COMMIT, change.at);
            }
        }
        Facts(facts)
    }

    /// Whether each node that the call names has a fact of its second that no other call has used. Uses them up.
    fn account_for(&mut self, commit: &'a Ancestor) -> bool {
        let Some(tool) = [PROPOSE, COMMIT].into_iter().find(|tool| commit.tool() == Some(tool)) else {
            return false;
        };
        let mut nodes = commit.nodes().peekable();
        nodes.peek().is_some() && nodes.all(|node| self.0.remove(&(tool, node, commit.seconds)))
    }
}

/// The terms in which two metas differ, as the file names them.
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

/// A change of a file that no call made.
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) before: FileText,
    pub(super) after: FileText,
    /// Whether no call wrote the present content.
    pub(super) is_new: bool,
}

/// The content of a file.
#[derive(PartialEq, Eq)]
pub(super) enum FileText {
    /// A stored object; `None` where there is no file.
    Blob(Option<BlobId>),
    /// Content that is not stored as an object.
    Content(Vec<u8>),
}

impl Edit {
    /// Reads the file before and after.
    fn read<T>(&self, past: &Past<'_>, read: impl Fn(&str) -> Result<T, YamlError>) -> [Option<T>; 2] {
        [&self.before, &self.after].map(|text| read(&past.text(text)?).ok())
    }
}

/// Whether the file at that path affects how an investigation is judged.
pub(super) fn is_judged(path: &str) -> bool {
    let place = layout::place(path);
    matches!(
        place,
        Place::Node(_) | Place::Comment(_) | Place::Run(_) | Place::Conclusion | Place::Meta | Place::Ruleset
    )
}

/// Whether git has left conflict markers in the text, so that it is unreadable.
pub(super) fn is_marked(text: &str) -> bool {
    markers::sides(text).is_some()
}

/// Adds the nodes that a change of a node's file affects: itself, what it may have refuted, and, where its results no
/// longer differ, all descendants.
fn touch(
    investigation: &Investigation,
    [before, after]: [Option<Node>; 2],
    id: &NodeId,
    touched: &mut BTreeSet<NodeId>,
) {
    touched.insert(id.clone());
    touched.extend(before.iter().chain(&after).filter_map(|node| node.parent.clone()));
    let differs = |node: &Option<Node>| {
        node.as_ref().and_then(|it| it.classification.as_ref()).is_some_and(|result| result.is_contested())
    };
    if differs(&before) && !differs(&after) {
        touched.extend(below(investigation, id));
    }
}

/// Adds the node of a changed comment or run: a removed or edited comment, a resolution, or a repetition's outcome
/// affects the node, what it confirms and all that rests on it.
fn touch_record(investigation: &Investigation, node: Option<NodeId>, touched: &mut BTreeSet<NodeId>) {
    if let Some(node) = node {
        touched.extend(investigation.node(&node).and_then(|node| node.parent.clone()));
        touched.extend(below(investigation, &node));
        touched.insert(node);
    }
}

/// All descendants of a node.
fn below(investigation: &Investigation, id: &NodeId) -> Vec<NodeId> {
    let mut all = Vec::new();
    let mut next = vec![id.clone()];
    while let Some(id) = next.pop() {
        next.extend(investigation.children(&id).map(|child| child.id.clone()));
        all.push(id);
    }
    all
}

/// Whether these files contain the node in the state that is in force.
fn stood(git: &Git, files: &HashMap<String, TreeFile>, node: &Node) -> bool {
    let Some(file) = files.get(&layout::node(&node.id)) else { return false };
    let then = read::node(git, &file.path, file.blob, &node.id);
    let since = |node: &Node| node.classification.as_ref().map(|result| result.current_since());
    then.is_ok_and(|then| since(&then).is_some() && since(&then) == since(node))
}
