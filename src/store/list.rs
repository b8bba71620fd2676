//! The investigations of a root, newest first, each in a line: what a person or an agent chooses from.
//!
//! Of each investigation the names in its tree and one file, `investigation.yaml`, are read, by several threads; of one
//! that has been read before and whose head is the same, only the head. So nodes are counted and not judged: a pending
//! proposal is a node, and the round is that of the deepest node of either kind.
//!
//! Whatever can't be read is in the list with what is wrong with it, and keeps nothing else out.

use std::collections::HashMap;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::git::{self, CommitId, FileKind, Git, GitError, Head, Options, TreeFile};
use super::{StoreError, read};
use crate::domain::{SessionId, Timestamp};
use crate::format::layout::{self, Place};

/// The most characters of a question in a list.
const QUERY_MAX: usize = 2_000;

/// How many threads read at most.
const THREADS: usize = 8;

/// What is listed.
#[derive(Clone, Debug)]
pub struct ListFilter {
    /// Open ones, ended ones, or both.
    pub state: ListState,
    /// Words that all must be in the id, the title, the question or the name of the ruleset, whatever their case.
    pub text: Option<String>,
    /// The [`Listing::next`] of the page before.
    pub after: Option<String>,
    /// How many at most.
    pub limit: usize,
}

/// Which investigations are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListState {
    /// Those that have not ended, and those of which that can't be said.
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
    /// How many fit the filter, on all pages.
    pub total: usize,
    /// Where the next page begins; absent on the last one.
    pub next: Option<String>,
}

/// An investigation in a list. At least one of `facts` and `fault` is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// Its folder.
    pub path: PathBuf,
    /// Its id: as it says itself, or else as its folder is named.
    pub id: Option<SessionId>,
    /// What it says of itself.
    pub facts: Option<ListFacts>,
    /// Why that can't be read, or what else is wrong.
    pub fault: Option<String>,
}

/// What an investigation says of itself, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFacts {
    /// Its title.
    pub title: String,
    /// Its question, or the beginning of a long one.
    pub query: String,
    /// The name of its ruleset.
    pub ruleset: String,
    /// The deepest round that has a node; 0 where there is none.
    pub round: u32,
    /// How many nodes it has, committed and pending.
    pub nodes: usize,
    /// Whether it has ended.
    pub ended: bool,
    /// When it began.
    pub started_at: Timestamp,
}

/// What was read at which head.
#[derive(Default)]
pub(super) struct Seen {
    entries: Mutex<HashMap<PathBuf, (CommitId, ListEntry)>>,
}

/// Where an entry stands: by the time of its beginning, then by the name of its folder.
type Key = (i64, String);

/// An entry, and whether it has the words that are looked for.
struct Found {
    entry: ListEntry,
    has_words: bool,
}

impl Seen {
    /// The page of the investigations in these folders.
    pub(super) fn list(&self, folders: &[PathBuf], filter: &ListFilter) -> Result<Listing, StoreError> {
        let after = filter.after.as_deref().map(parse_cursor).transpose()?;
        let text = filter.text.as_deref().unwrap_or_default();
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let mut found = self.look_at_all(folders, &words);
        name_twins(&mut found);
        let wanted = found.into_iter().filter(|found| found.has_words && is_in(&found.entry, filter.state));
        let mut entries: Vec<(Key, ListEntry)> =
            wanted.map(|found| (key(&found.entry), found.entry)).collect();
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

    /// What is in each folder that holds an investigation or should.
    fn look_at_all(&self, folders: &[PathBuf], words: &[String]) -> Vec<Found> {
        let before = mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        let next = AtomicUsize::new(0);
        let look = || {
            let mut seen = Vec::new();
            // One by one, since one may be a thousand times as large as another.
            while let Some(path) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
                seen.extend(look_at(path, before.get(path), words));
            }
            seen
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let seen: Vec<(Option<CommitId>, Found)> = thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(folders.len())).map(|_| scope.spawn(look)).collect();
            let mut seen = look();
            for other in others {
                seen.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            seen
        });
        let kept = seen
            .iter()
            .filter_map(|(head, Found { entry, .. })| Some((entry.path.clone(), ((*head)?, entry.clone()))));
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = kept.collect();
        seen.into_iter().map(|(_, found)| found).collect()
    }
}

/// What is in the folder, and at which head if that can be kept; nothing where there is no sign of an investigation.
fn look_at(
    path: &Path,
    before: Option<&(CommitId, ListEntry)>,
    words: &[String],
) -> Option<(Option<CommitId>, Found)> {
    if !path.is_dir() {
        return None;
    }
    let named: Option<SessionId> =
        path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    let damaged = |reason: String| {
        let id = named.map(|id| id.to_string()).unwrap_or_default();
        let has_words = has_words(words, &[&id, &path.to_string_lossy()]);
        let entry = ListEntry { path: path.to_owned(), id: named, facts: None, fault: Some(reason) };
        Some((None, Found { entry, has_words }))
    };
    let known = |head: CommitId| {
        let (_, entry) = before.filter(|(seen, _)| *seen == head)?;
        let has_words = entry_has_words(words, entry, None);
        Some((Some(head), Found { entry: entry.clone(), has_words }))
    };
    if let Some(found) = git::head_at_a_glance(path).and_then(known) {
        return Some(found);
    }
    let git = match Git::open(path, Options::ISOLATED) {
        // Any folder may lie in the root; one that is named by an id should be an investigation.
        Err(GitError::NotARepository { source: None, .. }) if named.is_none() => return None,
        Err(error) => return damaged(error.with_hint()),
        Ok(git) => git,
    };
    let head = match git.head() {
        Err(error) => return damaged(error.with_hint()),
        Ok(Head { commit: Some(head), .. }) => head,
        // A clone under way.
        Ok(_) if named.is_none() => return None,
        Ok(_) => return damaged("it has no commit yet".into()),
    };
    if let Some(found) = known(head) {
        return Some(found);
    }
    let files = match git.files(head) {
        Ok(files) => files,
        Err(error) => return damaged(error.with_hint()),
    };
    let meta = match files.iter().find(|file| layout::place(&file.path) == Place::Meta) {
        Some(file) => read::meta(&git, file),
        None if named.is_none() => return None,
        None => return damaged(format!("{} is missing", layout::META)),
    };
    let meta = match meta {
        Ok(meta) => meta,
        Err(fault) => return damaged(fault.to_string()),
    };
    let (nodes, round) = files.iter().filter(|file| is_plain(file)).fold((0, 0), |(nodes, round), file| {
        match layout::place(&file.path) {
            Place::Node(id) => (nodes + 1, id.round().max(round)),
            _ => (nodes, round),
        }
    });
    let ended = files.iter().any(|file| file.path == layout::CONCLUSION);
    let query: String = meta.query.chars().take(QUERY_MAX).collect();
    let is_whole = query.len() == meta.query.len();
    let facts = ListFacts {
        title: meta.title,
        query,
        ruleset: meta.ruleset,
        round,
        nodes,
        ended,
        started_at: meta.started_at,
    };
    let entry = ListEntry { path: path.to_owned(), id: Some(meta.id), facts: Some(facts), fault: None };
    let has_words = entry_has_words(words, &entry, Some(&meta.query));
    // Who looks for words in the rest of a long question reads it again.
    Some((is_whole.then_some(head), Found { entry, has_words }))
}

fn is_plain(file: &TreeFile) -> bool {
    matches!(file.kind, FileKind::File | FileKind::Executable)
}

fn entry_has_words(words: &[String], entry: &ListEntry, query: Option<&str>) -> bool {
    if words.is_empty() {
        return true;
    }
    let id = entry.id.map(|id| id.to_string()).unwrap_or_default();
    let Some(facts) = &entry.facts else { return has_words(words, &[&id]) };
    has_words(words, &[&id, &facts.title, query.unwrap_or(&facts.query), &facts.ruleset])
}

fn has_words(words: &[String], texts: &[&str]) -> bool {
    if words.is_empty() {
        return true;
    }
    let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    words.iter().all(|word| texts.iter().any(|text| text.contains(word)))
}

fn is_in(entry: &ListEntry, state: ListState) -> bool {
    let ended = entry.facts.as_ref().is_some_and(|facts| facts.ended);
    match state {
        ListState::All => true,
        ListState::Open => !ended,
        ListState::Ended => ended,
    }
}

/// One id in two folders is a fault of both.
fn name_twins(found: &mut [Found]) {
    let mut folders: HashMap<SessionId, Vec<usize>> = HashMap::new();
    for (at, Found { entry, .. }) in found.iter().enumerate() {
        if let Some(id) = entry.id {
            folders.entry(id).or_default().push(at);
        }
    }
    for twins in folders.values().filter(|twins| twins.len() > 1) {
        for at in twins {
            let other = twins.iter().find(|other| *other != at).and_then(|other| found.get(*other));
            let Some(other) = other.map(|other| other.entry.path.clone()) else { continue };
            if let Some(Found { entry, .. }) = found.get_mut(*at) {
                let twice = format!("the same id stands in {}", other.display());
                entry.fault =
                    Some(entry.fault.take().map_or(twice.clone(), |fault| format!("{fault}; {twice}")));
            }
        }
    }
}

/// What is damaged stands where its id says that it began.
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
