//! Lists the investigations of a root, newest first, each in a line, for a person or an agent to choose from.
//!
//! Reads the names in the tree of each investigation and one file, `investigation.yaml`; for one that was read before
//! and has the same head, only the head. Nodes are therefore counted and not judged: a pending proposal is a node, and
//! the round is that of the deepest node of either kind.
//!
//! Unreadable folders are listed with their fault, and do not hide others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::git::{self, CommitId, Git, GitError, Options};
use super::{StoreError, read};
use crate::domain::{SessionId, Timestamp};
use crate::format::layout::{self, Place};

/// The maximum number of characters kept for a later search. A longer text is read again.
const TEXT_MAX: usize = 2_000;

/// The filter of a list.
#[derive(Clone, Debug)]
pub struct ListFilter {
    /// Open ones, ended ones, or both.
    pub state: ListState,
    /// Words that must all occur in the id, the title, the question or the name of the ruleset, in any case.
    pub text: Option<String>,
    /// The [`Listing::next`] of the previous page.
    pub after: Option<String>,
    /// The maximum number of entries.
    pub limit: usize,
}

/// The investigations to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListState {
    /// Those that have not ended, and those whose state is unknown.
    Open,
    /// Those that have ended.
    Ended,
    /// All.
    #[default]
    All,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The investigations, newest first.
    pub entries: Vec<ListEntry>,
    /// The number of matches on all pages.
    pub total: usize,
    /// Where the next page begins; absent on the last one.
    pub next: Option<String>,
}

/// An investigation in a list. At least one of `facts` and `fault` is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// Its folder.
    pub path: PathBuf,
    /// Its id, from its file or else from the name of its folder.
    pub id: Option<SessionId>,
    /// Its summary.
    pub facts: Option<ListFacts>,
    /// Why it is unreadable, or what else is wrong.
    pub fault: Option<String>,
}

/// The summary of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFacts {
    /// Its title.
    pub title: String,
    /// The name of its ruleset.
    pub ruleset: String,
    /// The deepest round that has a node; 0 without nodes.
    pub round: u32,
    /// The number of its nodes, committed and pending.
    pub nodes: usize,
    /// Whether it has ended.
    pub ended: bool,
    /// The time of its beginning.
    pub started_at: Timestamp,
}

/// The position of an entry: the time of its beginning, then the name of its folder.
type Key = (i64, String);

/// The contents of each folder at the last look.
#[derive(Default)]
pub(super) struct Seen {
    found: Mutex<HashMap<PathBuf, Found>>,
}

/// The contents of a folder.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) entry: ListEntry,
    /// The head at that time; absent where the folder must be read again.
    head: Option<CommitId>,
    /// The text for searches, in lower case.
    text: String,
}

impl Seen {
    /// A page of the investigations in these folders.
    pub(super) fn list(&self, folders: &[PathBuf], filter: &ListFilter) -> Result<Listing, StoreError> {
        let after = filter.after.as_deref().map(parse_cursor).transpose()?;
        let mut found = self.look_at_all(folders, filter.text.as_deref().unwrap_or_default());
        name_twins(&mut found);
        let wanted = found.into_iter().filter(|(entry, has_words)| *has_words && is_in(entry, filter.state));
        let mut entries: Vec<(Key, ListEntry)> = wanted.map(|(entry, _)| (key(&entry), entry)).collect();
        entries.sort_by(|(a, _), (b, _)| b.cmp(a));
        let total = entries.len();
        let mut rest = match after {
            None => entries,
            Some(after) => entries.split_off(entries.partition_point(|(key, _)| *key >= after)),
        };
        let is_last = rest.len() <= filter.limit;
        rest.truncate(filter.limit);
        let next = rest.last().filter(|_| !is_last).map(|(key, _)| cursor(key));
        Ok(Listing { entries: rest.into_iter().map(|(_, entry)| entry).collect(), total, next })
    }

    /// The contents of the folders, each with whether it has all the words.
    fn look_at_all(&self, folders: &[PathBuf], words: &str) -> Vec<(ListEntry, bool)> {
        let words = words.to_lowercase();
        let mut before = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = HashMap::new();
        let mut entries = Vec::new();
        for path in folders {
            let Some(found) = look_at(path, before.get(path)) else { continue };
            let has_words = words.split_whitespace().all(|word| found.text.contains(word));
            entries.push((found.entry.clone(), has_words));
            if found.head.is_some() && found.text.len() <= TEXT_MAX {
                kept.insert(path.clone(), found);
            }
        }
        *before = kept;
        entries
    }
}

/// The contents of a folder, reused from `before` if unchanged; `None` without any sign of an investigation.
pub(super) fn look_at(path: &Path, before: Option<&Found>) -> Option<Found> {
    if !path.is_dir() {
        return None;
    }
    if let Some(before) = before
        && before.head == git::head_at_a_glance(path)
    {
        return Some(before.clone());
    }
    let named: Option<SessionId> =
        path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    match look_into(path, named.is_some()) {
        Ok(found) => found,
        Err(reason) => {
            let id = named.map(|id| id.to_string()).unwrap_or_default();
            let text = format!("{id}\n{}", path.display()).to_lowercase();
            let entry = ListEntry { path: path.to_owned(), id: named, facts: None, fault: Some(reason) };
            Some(Found { entry, head: None, text })
        }
    }
}

/// The investigation in a folder, or why it is unreadable. Other folders may be in the root, too; a folder named by
/// an id should be an investigation.
fn look_into(path: &Path, is_named: bool) -> Result<Option<Found>, String> {
    let failed = |error: GitError| error.with_hint();
    let missing = |reason: String| if is_named { Err(reason) } else { Ok(None) };
    let git = match Git::open(path, Options::ISOLATED) {
        Err(GitError::NotARepository { source: None, .. }) if !is_named => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    git.check_objects().map_err(failed)?;
    // A clone in progress has none.
    let Some(head) = git.head().map_err(failed)?.commit else {
        return missing("it has no commit yet".into());
    };
    let files = git.files(head).map_err(failed)?;
    let Some(meta) = files.iter().find(|file| layout::place(&file.path) == Place::Meta) else {
        return missing(format!("{} is missing", layout::META));
    };
    let meta = read::meta(&git, meta).map_err(|fault| fault.to_string())?;
    let mut facts = ListFacts {
        title: meta.title,
        ruleset: meta.ruleset,
        round: 0,
        nodes: 0,
        ended: files.iter().any(|file| file.path == layout::CONCLUSION),
        started_at: meta.started_at,
    };
    for file in files.iter().filter(|file| file.is_plain()) {
        if let Place::Node(id) = layout::place(&file.path) {
            facts.nodes += 1;
            facts.round = facts.round.max(id.round());
        }
    }
    let text = format!("{}\n{}\n{}\n{}", meta.id, facts.title, meta.query, facts.ruleset).to_lowercase();
    let entry = ListEntry { path: path.to_owned(), id: Some(meta.id), facts: Some(facts), fault: None };
    Ok(Some(Found { entry, head: Some(head), text }))
}

fn is_in(entry: &ListEntry, state: ListState) -> bool {
    let ended = entry.facts.as_ref().is_some_and(|facts| facts.ended);
    match state {
        ListState::All => true,
        ListState::Open => !ended,
        ListState::Ended => ended,
    }
}

/// Adds a fault to both entries where two folders have one id.
fn name_twins(found: &mut [(ListEntry, bool)]) {
    let mut folders: HashMap<SessionId, Vec<PathBuf>> = HashMap::new();
    for (entry, _) in found.iter() {
        if let Some(id) = entry.id {
            folders.entry(id).or_default().push(entry.path.clone());
        }
    }
    for (entry, _) in found {
        let folders = entry.id.and_then(|id| folders.get(&id)).into_iter().flatten();
        if let Some(other) = folders.into_iter().find(|path| **path != entry.path) {
            let twice = format!("the same id is in {}", other.display());
            entry.fault = Some(match entry.fault.take() {
                None => twice,
                Some(fault) => format!("{fault}; {twice}"),
            });
        }
    }
}

/// A damaged investigation is sorted by the time in its id.
fn key(entry: &ListEntry) -> Key {
    let started = entry.facts.as_ref().map(|facts| facts.started_at);
    let time = started.or_else(|| entry.id.and_then(SessionId::time)).map_or(0, Timestamp::milliseconds);
    let name = entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (time, name)
}

fn cursor((time, name): &Key) -> String {
    format!("{time}/{name}")
}

fn parse_cursor(text: &str) -> Result<Key, StoreError> {
    let key = text.split_once('/').and_then(|(time, name)| Some((time.parse().ok()?, name.to_owned())));
    key.ok_or_else(|| StoreError::UnknownCursor { cursor: text.chars().take(80).collect() })
}
