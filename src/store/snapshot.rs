//! Plain data returned by the store.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::Size;
use super::checksum::{Checksum, ManualEdit};
use super::edited::FalseNames;
use super::git::CommitId;
use crate::domain::caller::{agent_name, person_name, program_of};
use crate::domain::{Code, Happening, Investigation, Timestamp};
use crate::ruleset::{EffectiveRules, RulesetFile};

/// The committed state of an investigation at one commit.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The folder of the repository.
    pub path: PathBuf,
    /// The commit of this state. A write requires HEAD to still point to this commit.
    pub head: CommitId,
    /// The branch that HEAD points to, or `None` if HEAD is detached or another commit was loaded.
    pub branch: Option<String>,
    /// The valid part of the investigation.
    pub investigation: Arc<Investigation>,
    /// The pinned ruleset, or the reason why it cannot be used.
    pub ruleset: Result<Arc<RulesetFile>, Fault>,
    /// The faults in all files except the ruleset.
    pub faults: Vec<Fault>,
    /// An upper bound on the investigation's size.
    pub size: Size,
    /// The first commit, or `None` if a shallow clone does not contain it.
    pub first: Option<CommitId>,
    /// The boundary of a shallow clone, or `None` if something else in the history can't be read.
    pub boundary: Option<Vec<CommitId>>,
    /// The changes by commits that are not as this program made them.
    pub edits: Arc<Vec<ManualEdit>>,
    /// Changes by such commits that turned out to be those of calls.
    pub taken_over: Arc<Vec<ManualEdit>>,
    /// The people whom these commits name although git has another author.
    pub false_names: Arc<FalseNames>,
}

impl Snapshot {
    /// Creates a snapshot of an investigation outside any repository.
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
            boundary: Some(Vec::new()),
            edits: Arc::default(),
            taken_over: Arc::default(),
            false_names: Arc::default(),
        }
    }

    /// Returns the rules in force, or `None` if the ruleset cannot be used.
    pub fn rules(&self) -> Option<EffectiveRules<'_>> {
        let file = self.ruleset.as_ref().ok()?;
        Some(EffectiveRules::new(&file.ruleset, self.investigation.meta()))
    }

    /// Returns all faults, starting with the ruleset's fault, if any.
    pub fn all_faults(&self) -> impl Iterator<Item = &Fault> {
        self.ruleset.as_ref().err().into_iter().chain(&self.faults)
    }
}

/// A problem in a file or in the history. The rest of the investigation is still readable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Fault {
    /// The path in the repository.
    pub path: String,
    /// The line number, counted from 1, if known.
    pub line: Option<u64>,
    /// The description of the problem.
    pub reason: String,
    /// The code that `tot check` reports for the problem.
    pub code: Code,
}

impl Fault {
    /// The reason of a file that was committed with a merge conflict in it.
    pub const CONFLICT: &str = "it was committed with a merge conflict: restore one side with `git checkout COMMIT^ -- FILE`, \
                                commit it, and give again what the other side had. Or merge again, if COMMIT is the last one";

    /// Creates a fault for an unreadable file, which is skipped.
    pub fn new(path: impl Into<String>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Fault { path: path.into(), line, reason: reason.into(), code: Code::UnreadableFile }
    }

    /// Creates a fault for a readable file that contradicts the history.
    pub fn of_history(path: impl Into<String>, reason: impl Into<String>, code: Code) -> Self {
        Fault { code, ..Fault::new(path, None, reason) }
    }

    /// Returns whether the file was skipped as unreadable.
    pub fn is_unreadable(&self) -> bool {
        self.code == Code::UnreadableFile
    }
}

/// The relation between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The commits are identical.
    Same,
    /// The first commit is an ancestor of the second.
    Forward,
    /// The second commit is an ancestor of the first.
    Backward,
    /// Neither commit is an ancestor of the other.
    Diverged,
    /// No relation was found in the readable part of the history.
    Unknown {
        /// The point where the readable history ends, with the reason.
        end: String,
    },
}

/// A committed file of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path in the repository.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

/// The committed list of withheld nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommittedList {
    /// The text of the file, if there is one.
    pub text: Option<String>,
    /// The path of a file that a person may take for the list, if there is one.
    pub misnamed: Option<String>,
}

/// A commit in an investigation's first-parent history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The commit.
    pub commit: CommitId,
    /// The parents. A merge has more than one.
    pub parents: Vec<CommitId>,
    /// Whether the commit is as this program made it.
    pub checksum: Checksum,
    /// The author's name.
    pub author_name: String,
    /// The author's e-mail address.
    pub author_email: String,
    /// The time of the commit.
    pub at: Timestamp,
    /// The commit message with its trailers. Only the beginning and end of a long message are kept.
    pub message: String,
    /// The changes to the investigation, computed by diffing trees.
    pub happenings: Vec<Happening>,
    /// All changed paths, including the user's own files.
    pub paths: Vec<String>,
    /// The annotated and lightweight tags that point to the commit.
    pub tags: Vec<String>,
    /// The faults in changed files that cannot be read.
    pub faults: Vec<Fault>,
    /// The gaps in this entry or before it, one sentence each.
    pub gaps: Vec<String>,
}

impl HistoryEntry {
    /// Returns the first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns whether the message has the trailers of a tool call.
    pub fn names_call(&self) -> bool {
        is_of_call(&self.message)
    }

    /// Returns whether a tool call made the commit.
    pub fn is_of_call(&self) -> bool {
        self.checksum == Checksum::Valid && self.names_call()
    }

    /// Returns the agent that made the call, if a call with an agent made the commit.
    pub fn agent(&self) -> Option<&str> {
        self.said_by_call("Agent-Id")
    }

    /// Returns who made the commit, for display: the agent, person or program that made the call, or else git's author.
    pub fn who(&self) -> Cow<'_, str> {
        let person = || Some(Cow::Owned(person_name(self.said_by_call("Person")?)));
        let program = || self.said_by_call("Client").map(program_of);
        let named = self.agent().map(agent_name).or_else(person).or_else(|| program().map(agent_name));
        named.unwrap_or(Cow::Borrowed(&self.author_name))
    }

    /// Returns the first trailer with this key, if the commit was not edited by hand.
    fn said_by_call(&self, key: &str) -> Option<&str> {
        let is_of_call = matches!(self.checksum, Checksum::Valid | Checksum::Unchecked) && self.names_call();
        let mut trailers = self.trailers().into_iter().filter(|_| is_of_call);
        trailers.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the trailers of the message in order, such as `("Agent-Id", "abc-123")`.
    pub fn trailers(&self) -> Vec<(&str, &str)> {
        trailers(&self.message)
    }

    /// Returns the subject and the trailers of the message.
    pub fn message_without_body(&self) -> String {
        let trailers = self.trailers().into_iter().map(|(key, value)| format!("\n{key}: {value}"));
        format!("{}\n{}\n", self.subject(), trailers.collect::<String>())
    }

    /// Returns the message between the subject and the trailers.
    pub fn body(&self) -> &str {
        let rest = self.message.split_once('\n').map_or("", |(_, rest)| rest).trim();
        if self.trailers().is_empty() {
            return rest;
        }
        rest.rsplit_once("\n\n").map_or("", |(body, _)| body.trim_end())
    }
}

/// A commit that was made by a tool call and is not reachable from any branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCommit {
    /// The first line of the message.
    pub subject: String,
    /// The nodes named in the message, up to a limit.
    pub nodes: Vec<String>,
}

impl LostCommit {
    /// The maximum number of stored nodes, more than are ever shown.
    const NODES: usize = 20;

    /// Parses the message of a commit made by a tool call. Returns `None` for other commits.
    /// Returns the lost commit with this message, if a call made it.
    pub fn of_call(message: &str) -> Option<LostCommit> {
        if !is_of_call(message) {
            return None;
        }
        let trailers = trailers(message);
        let nodes = trailers.iter().filter(|(key, _)| *key == "Node").map(|(_, node)| (*node).to_owned());
        let subject = message.lines().next().unwrap_or_default().to_owned();
        Some(LostCommit { subject, nodes: nodes.take(LostCommit::NODES).collect() })
    }
}

/// Returns whether the message has the trailers of a tool call.
fn is_of_call(message: &str) -> bool {
    trailers(message).iter().any(|(key, _)| *key == "Tool")
}

/// Returns the trailers of a commit message in order.
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
