//! The results of the store: plain values, without types of git's library.

use std::path::PathBuf;
use std::sync::Arc;

use super::Size;
use super::git::CommitId;
use crate::domain::{Code, Happening, Investigation, Timestamp};
use crate::ruleset::{EffectiveRules, RulesetFile};

/// The committed state of an investigation at one commit.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The commit that was read; a write expects that it is still HEAD.
    pub head: CommitId,
    /// The branch that HEAD is on; `None` when HEAD is detached or another commit was asked for.
    pub branch: Option<String>,
    /// The sound facts.
    pub investigation: Arc<Investigation>,
    /// The pinned ruleset, or why it can't be used.
    pub ruleset: Result<Arc<RulesetFile>, Fault>,
    /// The faults of the files, without those of the ruleset.
    pub faults: Vec<Fault>,
    /// Its size, at most.
    pub size: Size,
    /// Its first commit; absent where a shallow clone ends before it.
    pub first: Option<CommitId>,
}

impl Snapshot {
    /// The snapshot of an investigation that is in no repository yet.
    pub fn without_repository(investigation: Investigation, ruleset: RulesetFile) -> Self {
        Snapshot {
            path: PathBuf::new(),
            head: CommitId::NONE,
            branch: None,
            investigation: Arc::new(investigation),
            ruleset: Ok(Arc::new(ruleset)),
            faults: Vec::new(),
            size: Size::default(),
            first: None,
        }
    }

    /// The rules in force; `None` where the ruleset can't be used.
    pub fn rules(&self) -> Option<EffectiveRules<'_>> {
        let file = self.ruleset.as_ref().ok()?;
        Some(EffectiveRules::new(&file.ruleset, self.investigation.meta()))
    }

    /// All faults of its files, the ruleset first.
    pub fn all_faults(&self) -> impl Iterator<Item = &Fault> {
        self.ruleset.as_ref().err().into_iter().chain(&self.faults)
    }
}

/// A fault in a file of an investigation, or in its history. The rest can still be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Fault {
    /// The path in the repository.
    pub path: String,
    /// The line, from 1, where it is known.
    pub line: Option<u64>,
    /// The fault.
    pub reason: String,
    /// The kind of fault, as `tot check` names it.
    pub code: Code,
}

impl Fault {
    /// A fault of a file that is unreadable as its path's kind, and left out.
    pub fn new(path: impl Into<String>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Fault { path: path.into(), line, reason: reason.into(), code: Code::UnreadableFile }
    }

    /// A fault of a readable file that the history contradicts.
    pub fn of_history(path: impl Into<String>, reason: impl Into<String>, code: Code) -> Self {
        Fault { code, ..Fault::new(path, None, reason) }
    }

    /// Whether the file is left out.
    pub fn is_unreadable(&self) -> bool {
        self.code == Code::UnreadableFile
    }
}

/// The relation of one commit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both are the same commit.
    Same,
    /// The first is an ancestor of the second.
    Forward,
    /// The second is an ancestor of the first.
    Backward,
    /// Neither: they are on diverged branches.
    Diverged,
    /// No relation was found, and the history is incomplete.
    Unknown {
        /// Where the readable history ends, and why.
        end: String,
    },
}

/// A file of an investigation as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path in the repository.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// One commit of an investigation's history, along first parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The commit.
    pub commit: CommitId,
    /// Its parents; more than one for a merge.
    pub parents: Vec<CommitId>,
    /// The author's name.
    pub author_name: String,
    /// The author's e-mail address.
    pub author_email: String,
    /// The time of the commit.
    pub at: Timestamp,
    /// The message: subject, body and trailers; of a long message, its beginning and its end.
    pub message: String,
    /// Its changes, read from the difference of the trees.
    pub happenings: Vec<Happening>,
    /// The changed paths, including the user's own files.
    pub paths: Vec<String>,
    /// Annotated and lightweight tags that point to it.
    pub tags: Vec<String>,
    /// The faults of changed files that are unreadable.
    pub faults: Vec<Fault>,
    /// Gaps in this entry, or before it, and why: a sentence each. Empty if it is complete.
    pub gaps: Vec<String>,
}

impl HistoryEntry {
    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Whether it carries the mark of a call.
    pub fn is_of_call(&self) -> bool {
        is_of_call(&self.message)
    }

    /// The trailers of the message, in order: `("Agent-Id", "abc-123")`.
    pub fn trailers(&self) -> Vec<(&str, &str)> {
        trailers(&self.message)
    }

    /// The message between subject and trailers.
    pub fn body(&self) -> &str {
        let rest = self.message.split_once('\n').map_or("", |(_, rest)| rest).trim();
        if self.trailers().is_empty() {
            return rest;
        }
        rest.rsplit_once("\n\n").map_or("", |(body, _)| body.trim_end())
    }
}

/// A commit of a call that no branch leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCommit {
    /// The first line of its message.
    pub subject: String,
    /// The first nodes that it wrote.
    pub nodes: Vec<String>,
}

impl LostCommit {
    /// The maximum number of nodes kept, more than are ever shown.
    const NODES: usize = 20;

    /// Parses the message of a call's commit; `None` for any other commit.
    pub(super) fn of_call(message: &str) -> Option<LostCommit> {
        if !is_of_call(message) {
            return None;
        }
        let trailers = trailers(message);
        let nodes = trailers.iter().filter(|(key, _)| *key == "Node").map(|(_, node)| (*node).to_owned());
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Some(LostCommit { subject, nodes: nodes.take(LostCommit::NODES).collect() })
    }
}

/// Whether a commit carries the mark of a call.
fn is_of_call(message: &str) -> bool {
    trailers(message).iter().any(|(key, _)| *key == "Tool")
}

/// The trailers of a commit's message, in order.
pub(super) fn trailers(message: &str) -> Vec<(&str, &str)> {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let trailers: Option<Vec<_>> = last
        .lines()
        .map(|line| {
            let (key, value) = line.split_once(": ")?;
            let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            is_key.then_some((key, value))
        })
        .collect();
    trailers.unwrap_or_default()
}
