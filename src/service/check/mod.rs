//! An fsck for investigations: reports problems with file and line.
//!
//! 1. [`read`] loads the committed state, its history and its files.
//! 2. [`check`] examines them. It is pure: identical inputs produce identical findings.
//!    - `files`: unreadable files, and files that differ from this program's format.
//!    - `tree`: checks states, ids, parents, times, roots and the conclusions against the investigation's own ruleset.
//!      `joined` recognizes the problems that a merge has caused.
//!    - `story`: checks that each commit is as a call made it, and lists the files that others changed.
//!    - `removed`: checks that no commit removed data stored by an earlier call.
//!
//! An error is a state that no sequence of calls and merges could produce. A warning is something that a call would
//! have warned about, or something that needs human judgment. A note reports a manual commit or a merge, both of which
//! are allowed.
//!
//! git objects, and what git can't use in its folder, are checked only on request. All other repository problems are left to `git fsck`.

mod files;
mod joined;
mod removed;
mod story;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::domain::{Code, NodeId};
use crate::format::layout;
use crate::store::{CommitId, HistoryEntry, LeftOut, LostChain, LostCommit, Snapshot, Store, StoreError};
use crate::text::{causes, counted, sentence, shorten};

/// The input of a check.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The commits, newest first.
    pub history: Vec<HistoryEntry>,
    /// The readable files, by path.
    pub files: BTreeMap<String, String>,
    /// Committed files that are left out of the work tree.
    pub left_out: Vec<LeftOut>,
    /// True if the git configuration asks for signed commits.
    pub wants_signatures: bool,
    /// git objects that do not match their ids, each with the reason. Empty if not requested.
    pub damaged: Vec<(String, String)>,
    /// What git can't use in its folder, each with the remedy. Empty if not requested.
    pub faults: Vec<(String, String)>,
    /// Commits that were made by calls but are not on any branch. Empty if not requested.
    pub lost: Vec<LostChain<LostCommit>>,
}

/// The optional checks, each of which reads every git object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects {
    /// Verify the ids of objects.
    pub damaged: bool,
    /// Find commits that were made by calls but are not on any branch.
    pub lost: bool,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// A state that no sequence of calls could produce.
    Error,
    /// A questionable state that a person should review.
    Warning,
    /// Information only.
    Note,
}

/// A problem or a note found by a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The code, for programs.
    pub code: Code,
    /// The affected file in the repository, if any.
    pub path: Option<String>,
    /// The line in the file, starting at 1, if known.
    pub line: Option<u64>,
    /// The affected commit, if any.
    #[serde(serialize_with = "as_text")]
    pub commit: Option<CommitId>,
    /// The finding in one sentence.
    pub message: String,
    /// A hint on how to resolve the finding.
    pub suggestion: Option<String>,
}

/// Loads everything that [`check`] examines.
///
/// # Errors
///
/// Returns the same errors as [`Store::load`] and [`Store::history`].
pub fn read(store: &Store, path: &Path, objects: Objects) -> Result<Subject, StoreError> {
    let snapshot = store.load(path)?;
    let history = store.history(&snapshot)?;
    let files = store.sources(&snapshot)?.into_iter().map(|file| (file.path, file.text)).collect();
    // Without the list, no report is written.
    store.withheld(path)?;
    let git = store.open(path)?;
    let (left_out, wants_signatures) = (git.left_out(None, snapshot.head)?, git.wants_signatures());
    let damaged = if objects.damaged { git.verify_objects()? } else { Vec::new() };
    let faults = if objects.damaged { store.faults(path)? } else { Vec::new() };
    let faults = faults.iter().map(|fault| (causes(fault), fault.hint().unwrap_or_default())).collect();
    let lost =
        if objects.lost { git.lost(|commit| LostCommit::of_call(&commit.message))? } else { Vec::new() };
    Ok(Subject { snapshot, history, files, left_out, wants_signatures, damaged, faults, lost })
}

/// Returns all findings: those about files, sorted by path and line, followed by those about commits, oldest first.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let rules = subject.snapshot.rules();
    let mut findings = files::findings(subject, rules.as_ref());
    if let Some(rules) = &rules {
        findings.extend(tree::findings(subject, rules));
    }
    findings.extend(story::findings(subject));
    findings.extend(removed::findings(&subject.history));
    findings.extend(repository(subject));
    // The sort is stable, so findings about commits stay in the order of the history.
    findings.sort_by(|a, b| {
        let place = |finding: &Finding| (finding.path.is_none(), finding.path.clone(), finding.line);
        place(a).cmp(&place(b))
    });
    findings
}

/// Returns findings about the repository itself.
fn repository(subject: &Subject) -> Vec<Finding> {
    let damaged = subject.damaged.iter().map(|(id, reason)| {
        Finding::new(Severity::Error, Code::DamagedObject, format!("The object {id} is damaged: {reason}."))
            .suggest("Restore it from another clone. `git fsck` shows what refers to it.")
    });
    let faults = subject.faults.iter().map(|(fault, remedy)| {
        Finding::new(Severity::Error, Code::DamagedRepository, sentence(fault)).suggest(sentence(remedy))
    });
    let unsigned = subject.wants_signatures.then(|| {
        let message = "commit.gpgSign is set, but calls do not sign their commits.";
        Finding::new(Severity::Note, Code::NotSigned, message)
    });
    let lost = subject.lost.iter().map(|chain| lost(&subject.snapshot.path, chain));
    damaged.chain(faults).chain(unsigned).chain(lost).collect()
}

/// Reports commits that are not on any branch, and how to restore them. The suggested merge preserves all commit ids.
fn lost(path: &Path, chain: &LostChain<LostCommit>) -> Finding {
    /// The limits for the subjects shown, the nodes shown, and the characters per subject.
    const SUBJECTS: usize = 3;
    const NODES: usize = 10;
    const SUBJECT: usize = 80;
    let first = |all: &[String], most: usize| {
        let more = if all.len() > most { ", …" } else { "" };
        format!("{}{more}", all.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", "))
    };
    let subjects: Vec<String> =
        chain.commits.iter().map(|commit| format!("“{}”", shorten(&commit.subject, SUBJECT))).collect();
    let mut nodes: Vec<String> = chain.commits.iter().flat_map(|commit| commit.nodes.clone()).collect();
    nodes.sort();
    nodes.dedup();
    let holding = if nodes.is_empty() { String::new() } else { format!(", with {}", first(&nodes, NODES)) };
    let what = format!(
        "No branch contains {} made by calls: {}{holding}.",
        counted(chain.commits.len(), "commit"),
        first(&subjects, SUBJECTS)
    );
    let merge = format!("git -C {} merge {:.10} restores it.", path.display(), chain.tip.to_string());
    let finding = match chain.was_head {
        true => Finding::new(Severity::Warning, Code::LostCommits, format!("{what} HEAD once pointed there."))
            .suggest(format!("If that was not intended, {merge}")),
        false => Finding::new(
            Severity::Note,
            Code::LostCommits,
            format!(
                "{what} The reflog shows that HEAD never pointed there: the call may have failed or been retried."
            ),
        )
        .suggest(format!("If something is missing, {merge}")),
    };
    finding.in_commit(chain.tip)
}

/// Returns the history, oldest first. The flag is true for merges.
fn oldest_first(history: &[HistoryEntry]) -> impl Iterator<Item = (&HistoryEntry, bool)> {
    history.iter().rev().map(|entry| (entry, entry.parents.len() > 1))
}

fn as_text<S: Serializer>(commit: &Option<CommitId>, serializer: S) -> Result<S::Ok, S::Error> {
    commit.map(|commit| commit.to_string()).serialize(serializer)
}

impl Finding {
    /// Creates a finding without a location.
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Finding {
            severity,
            code,
            path: None,
            line: None,
            commit: None,
            message: message.into(),
            suggestion: None,
        }
    }

    /// Sets the path and the line.
    pub fn at(mut self, path: impl Into<String>, line: Option<u64>) -> Self {
        self.path = Some(path.into());
        self.line = line;
        self
    }

    /// Sets the commit.
    fn in_commit(mut self, commit: CommitId) -> Self {
        self.commit = Some(commit);
        self
    }

    /// Lowers the severity to a warning if a merge may have caused the problem.
    fn unless_merged(self, is_joined: bool) -> Self {
        Finding { severity: if is_joined { Severity::Warning } else { self.severity }, ..self }
    }

    /// Sets the suggestion.
    fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// Formats as `nodes/R1/R1.A.yaml:7: error UNKNOWN_STATE …` or `1a2b3c4d5e: note MERGE …`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line, &self.commit) {
            (Some(path), Some(line), _) => write!(f, "{path}:{line}: ")?,
            (Some(path), None, _) => write!(f, "{path}: ")?,
            (None, _, Some(commit)) => write!(f, "{:.10}: ", commit.to_string())?,
            (None, _, None) => {}
        }
        write!(f, "{} {} {}", self.severity, self.code, self.message)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, " {suggestion}")?;
        }
        Ok(())
    }
}

impl Subject {
    fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns the path of a node's file and the line of one of its keys.
    fn node_key(&self, id: &NodeId, key: &str) -> (String, Option<u64>) {
        let path = layout::node(id);
        let line = self.text(&path).and_then(|text| key_line(text, key));
        (path, line)
    }
}

/// Returns the line of a top-level key. Only keys start with a letter in the first column, since block text is indented.
fn key_line(text: &str, key: &str) -> Option<u64> {
    let at =
        text.lines().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    Some(at as u64 + 1)
}

/// Returns the line of an entry in a top-level list, or the line of the list if it is not in this program's layout.
fn entry_line(text: &str, list: &str, number: usize) -> Option<u64> {
    let begin = key_line(text, list)?;
    let entries = text.lines().enumerate().skip(usize::try_from(begin).ok()?);
    let own = entries.take_while(|(_, line)| line.is_empty() || line.starts_with([' ', '-', '#']));
    let found = own.filter(|(_, line)| line.starts_with("- ")).nth(number);
    Some(found.map_or(begin, |(at, _)| at as u64 + 1))
}
