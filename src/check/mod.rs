//! The fsck of investigations: what is wrong with one, whoever wrote it, with file and line.
//!
//! 1. [`read`] gathers the committed state, its history and its files.
//! 2. [`check`] judges them. Pure: the same subject gives the same findings.
//!    - `files`: files that can't be read, or are not as this program writes them.
//!    - `tree`: states, ids, parents, times, roots and the end, by the investigation's own ruleset; `joined` says what of
//!      it a merge has brought together.
//!    - `story`: whether each commit is one call, and the whole one story.
//!    - `stored`: whether a commit took back what a call had stored.
//!
//! An error is a state that no sequence of calls and of merges of their results could have left. A warning is something that a
//! call would have been warned of, or that only a person can judge. A note tells of manual commits and of merges, which anyone may
//! make.
//! git's own objects are looked at only where that is asked for; what else can be wrong with a repository is left to `git fsck`.

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

/// An investigation as it is to be checked.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The committed state.
    pub snapshot: Snapshot,
    /// Its commits, newest first.
    pub history: Vec<HistoryEntry>,
    /// Its files by path, as far as they can be read.
    pub files: BTreeMap<String, String>,
    /// Its files that no work tree gets.
    pub left_out: Vec<LeftOut>,
    /// Whether settings ask for signed commits.
    pub wants_signatures: bool,
    /// Objects of git that are not what their ids say, with the reason; empty where it was not looked.
    pub damaged: Vec<(String, String)>,
    /// Commits of calls that no branch leads to; empty where it was not looked.
    pub lost: Vec<LostChain<LostCommit>>,
}

/// What is looked at beside the history and its files. Either reads every object of git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects {
    /// Whether each is what its id says.
    pub damaged: bool,
    /// Which commits of calls no branch leads to.
    pub lost: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No sequence of calls could have left this.
    Error,
    /// Doubtful: a person should look.
    Warning,
    /// Nothing wrong, but good to know.
    Note,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, to act on.
    pub code: Code,
    /// The file in the repository, where it is about one.
    pub path: Option<String>,
    /// The line in the file, from 1, where it is known.
    pub line: Option<u64>,
    /// The commit, where it is about one.
    pub commit: Option<CommitId>,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do about it.
    pub suggestion: Option<String>,
}

/// Gathers what there is to check.
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

/// What is wrong with an investigation that is in no repository yet, by these rules.
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

/// What is wrong with the repository itself.
fn repository(subject: &Subject) -> Vec<Finding> {
    let damaged = subject.damaged.iter().map(|(id, reason)| {
        Finding::new(Severity::Error, Code::DamagedObject, format!("The object {id} is damaged: {reason}."))
            .suggest("Take it from a clone that has it: `git fsck` names what needs it.")
    });
    let unsigned = subject.wants_signatures.then(|| {
        let message = "commit.gpgSign is set, but calls make commits without a signature.";
        Finding::new(Severity::Note, Code::NotSigned, message)
    });
    let lost = subject.lost.iter().map(|chain| lost(&subject.snapshot.path, chain));
    damaged.chain(unsigned).chain(lost).collect()
}

/// What no branch leads to, and how it is brought back. A merge keeps the ids of all commits of a chain.
fn lost(path: &Path, chain: &LostChain<LostCommit>) -> Finding {
    /// How many subjects and nodes are named, and the most characters of a subject.
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
            .suggest(format!("If nobody meant to take it away, {merge}")),
        false => Finding::new(
            Severity::Note,
            Code::LostCommits,
            format!(
                "{what} By its reflog, HEAD was never there: the call may have failed, or been done again."
            ),
        )
        .suggest(format!("If something is missing, {merge}")),
    };
    finding.in_commit(chain.tip)
}

/// The entries of a history, oldest first, each with whether it joins what was apart: a merge, or what resolves what git could
/// not merge.
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

    /// Sets what to do about it.
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

/// The line of an entry of a top-level list, as this program writes them; that of the list where it is laid out
/// otherwise.
fn entry_line(text: &str, list: &str, number: usize) -> Option<u64> {
    let begin = key_line(text, list)?;
    let entries = text.lines().enumerate().skip(usize::try_from(begin).ok()?);
    let own = entries.take_while(|(_, line)| line.is_empty() || line.starts_with([' ', '-', '#']));
    let found = own.filter(|(_, line)| line.starts_with("- ")).nth(number);
    Some(found.map_or(begin, |(at, _)| at as u64 + 1))
}
