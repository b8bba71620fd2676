//! The fsck of investigations: finds faults, whoever caused them, with file and line.
//!
//! 1. [`read`] loads the committed state, its history and its files.
//! 2. [`check`] judges them. Pure: the same subject gives the same findings.
//!    - `files`: unreadable files, and files that differ from this program's format.
//!    - `tree`: states, ids, parents, times, roots and the end, by the investigation's own ruleset; `joined` names the
//!      faults that a merge has caused.
//!    - `story`: whether each commit is one call, and the whole a consistent sequence.
//!    - `stored`: whether a commit removed what a call had stored.
//!
//! An error is a state that no sequence of calls and merges of their results could leave. A warning is something that
//! a call would be warned of, or that needs a person's judgement. A note reports manual commits and merges, which anyone
//! may make.
//! git's own objects are checked only on request; other faults of a repository are left to `git fsck`.

mod files;
mod joined;
mod stored;
mod story;
mod tree;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

use crate::domain::{Code, Investigation, NodeId};
use crate::format::layout;
use crate::ruleset::{EffectiveRules, RulesetFile};
use crate::store::{CommitId, HistoryEntry, LeftOut, LostChain, LostCommit, Snapshot, Store, StoreError};
use crate::text::{counted, shorten};

/// The input of a check.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The committed state.
    pub snapshot: Snapshot,
    /// Its commits, newest first.
    pub history: Vec<HistoryEntry>,
    /// Its readable files, by path.
    pub files: BTreeMap<String, String>,
    /// Its files that are left out of the work tree.
    pub left_out: Vec<LeftOut>,
    /// Whether settings ask for signed commits.
    pub wants_signatures: bool,
    /// Objects of git that do not match their ids, with the reason; empty if not requested.
    pub damaged: Vec<(String, String)>,
    /// Commits of calls that no branch leads to; empty if not requested.
    pub lost: Vec<LostChain<LostCommit>>,
}

/// Optional checks. Either reads every object of git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects {
    /// Check objects against their ids.
    pub damaged: bool,
    /// Find commits of calls that no branch leads to.
    pub lost: bool,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No sequence of calls could leave this.
    Error,
    /// Doubtful: a person should look.
    Warning,
    /// Not a fault, but good to know.
    Note,
}

/// One result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// Its code, for programs.
    pub code: Code,
    /// The affected file in the repository, if any.
    pub path: Option<String>,
    /// The line in the file, from 1, if known.
    pub line: Option<u64>,
    /// The affected commit, if any.
    pub commit: Option<CommitId>,
    /// The finding in one sentence.
    pub message: String,
    /// The hint on what to do.
    pub suggestion: Option<String>,
}

/// Loads everything to be checked.
///
/// # Errors
///
/// As [`Store::load`] and [`Store::history`].
pub fn read(store: &Store, path: &Path, objects: Objects) -> Result<Subject, StoreError> {
    let snapshot = store.load(path)?;
    let history = store.history(&snapshot)?;
    let files = store.sources(&snapshot)?.into_iter().map(|file| (file.path, file.text)).collect();
    let left_out = store.left_out(path, None, snapshot.head)?;
    let wants_signatures = store.wants_signatures(path)?;
    let damaged = if objects.damaged { store.damaged_objects(path)? } else { Vec::new() };
    let lost = if objects.lost { store.lost(path)? } else { Vec::new() };
    Ok(Subject { snapshot, history, files, left_out, wants_signatures, damaged, lost })
}

/// All findings about an investigation: by file and line, then by commit, oldest first.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let rules = subject.snapshot.rules();
    let mut findings = files::findings(subject, rules.as_ref());
    if let Some(rules) = &rules {
        findings.extend(tree::findings(subject, rules));
    }
    findings.extend(story::findings(subject, rules.as_ref()));
    findings.extend(stored::findings(&subject.history));
    findings.extend(repository(subject));
    // A stable sort: findings about commits keep the order of the history, after those about files.
    findings.sort_by(|a, b| {
        let place = |finding: &Finding| (finding.path.is_none(), finding.path.clone(), finding.line);
        place(a).cmp(&place(b))
    });
    findings
}

/// The findings about an investigation that is in no repository yet, by these rules.
pub fn of_facts(investigation: Investigation, ruleset: &RulesetFile) -> Vec<Finding> {
    let snapshot = Snapshot::without_repository(investigation, ruleset.clone());
    let rules = EffectiveRules::new(&ruleset.ruleset, snapshot.investigation.meta());
    let subject = Subject {
        snapshot: snapshot.clone(),
        history: Vec::new(),
        files: BTreeMap::new(),
        left_out: Vec::new(),
        wants_signatures: false,
        damaged: Vec::new(),
        lost: Vec::new(),
    };
    tree::findings(&subject, &rules)
}

/// The faults of the repository itself.
fn repository(subject: &Subject) -> Vec<Finding> {
    let damaged = subject.damaged.iter().map(|(id, reason)| {
        Finding::new(Severity::Error, Code::DamagedObject, format!("The object {id} is damaged: {reason}."))
            .suggest("Take it from a clone that has it: `git fsck` shows what needs it.")
    });
    let unsigned = subject.wants_signatures.then(|| {
        let message = "commit.gpgSign is set, but calls make commits without a signature.";
        Finding::new(Severity::Note, Code::NotSigned, message)
    });
    let lost = subject.lost.iter().map(|chain| lost(&subject.snapshot.path, chain));
    damaged.chain(unsigned).chain(lost).collect()
}

/// The finding about commits that no branch leads to, with how to restore them. A merge keeps the ids of all commits of a chain.
fn lost(path: &Path, chain: &LostChain<LostCommit>) -> Finding {
    /// The maximum number of subjects and nodes named, and of characters of a subject.
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
        "No branch leads to {} of calls: {}{holding}.",
        counted(chain.commits.len(), "commit"),
        first(&subjects, SUBJECTS)
    );
    let merge = format!("git -C {} merge {:.10} brings it back.", path.display(), chain.tip.to_string());
    let finding = match chain.was_head {
        true => Finding::new(Severity::Warning, Code::LostCommits, format!("{what} HEAD was there once."))
            .suggest(format!("If that was not intended, {merge}")),
        false => Finding::new(
            Severity::Note,
            Code::LostCommits,
            format!(
                "{what} By its reflog, HEAD was never there: the call may have failed, or been repeated."
            ),
        )
        .suggest(format!("If something is missing, {merge}")),
    };
    finding.in_commit(chain.tip)
}

/// The entries of a history, oldest first, each with whether it joins branches: a merge, or a resolution of conflicts after
/// one.
fn oldest_first(history: &[HistoryEntry]) -> impl Iterator<Item = (&HistoryEntry, bool)> {
    let mut unreadable: HashSet<&str> = HashSet::new();
    history.iter().rev().map(move |entry| {
        let is_resolved = entry.paths.iter().any(|path| unreadable.contains(path.as_str()));
        unreadable.extend(entry.faults.iter().map(|fault| fault.path.as_str()));
        (entry, entry.parents.len() > 1 || is_resolved)
    })
}

impl Finding {
    /// A finding without a place.
    fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
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

    /// Sets the file and the line.
    fn at(mut self, path: impl Into<String>, line: Option<u64>) -> Self {
        self.path = Some(path.into());
        self.line = line;
        self
    }

    /// Sets the commit.
    fn in_commit(mut self, commit: CommitId) -> Self {
        self.commit = Some(commit);
        self
    }

    /// Lowers the severity to a warning if a merge may have left the fault.
    fn unless_joined(self, is_joined: bool) -> Self {
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

/// `nodes/R1/R1.A.yaml:7: error UNKNOWN_STATE …`, or `1a2b3c4d5e: note MERGE …`.
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

    /// The file of a node, and the line of one of its keys.
    fn node_key(&self, id: &NodeId, key: &str) -> (String, Option<u64>) {
        let path = layout::node(id);
        let line = self.text(&path).and_then(|text| key_line(text, key));
        (path, line)
    }
}

/// The line of a top-level key. Nothing else begins in the first column with a letter: block text is indented.
fn key_line(text: &str, key: &str) -> Option<u64> {
    let at =
        text.lines().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))?;
    Some(at as u64 + 1)
}

/// The line of an entry of a top-level list, as this program writes them; that of the list in any other layout.
fn entry_line(text: &str, list: &str, number: usize) -> Option<u64> {
    let begin = key_line(text, list)?;
    let entries = text.lines().enumerate().skip(usize::try_from(begin).ok()?);
    let own = entries.take_while(|(_, line)| line.is_empty() || line.starts_with([' ', '-', '#']));
    let found = own.filter(|(_, line)| line.starts_with("- ")).nth(number);
    Some(found.map_or(begin, |(at, _)| at as u64 + 1))
}
