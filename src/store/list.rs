//! Lists the investigations in a root, newest first; those that match a text, the closest first.
//!
//! For each investigation, only `investigation.yaml` is read whole. Committed nodes are counted by a key in their files.
//!
//! An unreadable folder is listed with its error and does not hide the others.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::git::{Git, GitOptions};
use super::{StoreError, StoreErrorKind, read};
use crate::base::parallel;
use crate::domain::{SessionId, Timestamp};
use crate::format::layout::{self, FileRole};
use crate::text::composed;
use crate::text::related::{Words, related};

/// The filter and paging options for a list.
#[derive(Clone, Debug)]
pub struct ListFilter {
    /// The state of the investigations to list.
    pub state: ListState,
    /// Words that must all occur in the id, title, question or ruleset name, or a question that the investigation is related
    /// to. Case is ignored.
    pub text: Option<String>,
    /// The [`Listing::next`] of the previous page.
    pub after: Option<String>,
    /// The maximum number of entries per page.
    pub limit: usize,
}

/// The state of the investigations to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListState {
    /// Open investigations, and those whose state is unknown.
    Open,
    /// Closed investigations.
    Ended,
    /// All investigations.
    #[default]
    All,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The investigations, newest first.
    pub entries: Vec<ListEntry>,
    /// The number of matches on all pages.
    pub total: usize,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// A listed investigation. At least one of `facts` and `fault` is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The investigation's folder.
    pub path: PathBuf,
    /// The id from the investigation's file or, failing that, from the folder name.
    pub id: Option<SessionId>,
    /// The summary, if the investigation is readable.
    pub facts: Option<ListFacts>,
    /// The problem with the investigation, if any.
    pub fault: Option<String>,
}

/// The summary of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFacts {
    /// The title.
    pub title: String,
    /// The name of the ruleset.
    pub ruleset: String,
    /// The deepest round with a committed node, or 0 without one.
    pub round: u32,
    /// The number of committed nodes.
    pub nodes: usize,
    /// True if the investigation is closed.
    pub ended: bool,
    /// The time when the investigation started.
    pub started_at: Timestamp,
}

/// An entry's sort key: how closely the question is related to the searched text, from 0 for the closest; the start time in
/// milliseconds, and the folder name.
type SortKey = (usize, Reverse<(i64, String)>);

/// The contents of a folder.
pub(super) struct FolderContents {
    pub(super) entry: ListEntry,
    /// The text to search, in lower case.
    text: String,
}

/// Returns the folders of the investigations that a question is related to, the closest first: those that ask it in the same
/// words, then the others.
///
/// To be fast in a root of thousands, it reads the files of the work trees. Whoever shows an investigation loads its
/// committed state.
pub(super) fn related_to(folders: &[PathBuf], question: &str) -> Vec<PathBuf> {
    let read = |path: &PathBuf| subject(path).map(|text| Words::of(&text));
    let read = parallel::each(folders, parallel::cores(), read);
    let (questions, texts): (Vec<Words>, Vec<Words>) =
        read.into_iter().map(|[one, other]| (one, other)).unzip();
    let asked = Words::of(question);
    let is_same = |at: &usize| asked != Words::default() && questions[*at] == asked;
    let others = related(&asked, &texts).into_iter().filter(|at| !is_same(at));
    let same = (0..folders.len()).filter(is_same);
    same.chain(others).map(|at| folders[at].clone()).collect()
}

/// Returns the title with the question, and both with the bottom line. Empty if the folder has none. Only the words matter, so
/// the files are not parsed.
fn subject(path: &Path) -> [String; 2] {
    let read = |name: &str| {
        let path = path.join(name);
        let is_small = |found: &Metadata| found.is_file() && found.len() <= read::FILE_MAX;
        path.metadata().ok().filter(is_small).and_then(|_| std::fs::read_to_string(path).ok())
    };
    let Some(meta) = read(layout::META) else {
        return [String::new(), read_folder(path).map_or_else(String::new, |bare| bare.text)];
    };
    let end = read(layout::CONCLUSION).unwrap_or_default();
    let question = value(&meta, "title: ") + &value(&meta, "query: ");
    let whole = question.clone() + &value(&end, "bottomLine: ");
    [question, whole]
}

/// Returns the value of a key at the start of a line, as written.
fn value(file: &str, key: &str) -> String {
    let is_within = |line: &&str| line.starts_with([' ', '-']) || line.trim().is_empty();
    let mut lines = file.lines().skip_while(|line| !line.starts_with(key));
    let first = lines.next().map(|line| &line[key.len()..]);
    first.into_iter().chain(lines.take_while(is_within)).flat_map(|line| [line, "\n"]).collect()
}

/// Returns a page of the investigations in these folders.
pub(super) fn list(folders: &[PathBuf], filter: &ListFilter) -> Result<Listing, StoreError> {
    let after = filter.after.as_deref().map(parse_cursor).transpose()?;
    let mut found: Vec<FolderContents> = folders.iter().filter_map(|path| read_folder(path)).collect();
    report_duplicate_ids(&mut found);
    let words = composed(filter.text.as_deref().unwrap_or_default()).to_lowercase();
    let related = filter.text.as_deref().map(|text| related_to(folders, text)).unwrap_or_default();
    let rank = |found: &FolderContents| match words.split_whitespace().all(|word| found.text.contains(word)) {
        true => Some(0),
        false => Some(1 + related.iter().position(|path| *path == found.entry.path)?),
    };
    let wanted = found.into_iter().filter(|found| matches_state(&found.entry, filter.state));
    let ranked = wanted.filter_map(|found| Some((key(rank(&found)?, &found.entry), found.entry)));
    let mut entries: Vec<(SortKey, ListEntry)> = ranked.collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let total = entries.len();
    let mut rest = match after {
        None => entries,
        Some(after) => entries.split_off(entries.partition_point(|(key, _)| *key <= after)),
    };
    let is_last = rest.len() <= filter.limit;
    rest.truncate(filter.limit);
    let next = rest.last().filter(|_| !is_last).map(|(key, _)| cursor(key));
    Ok(Listing { entries: rest.into_iter().map(|(_, entry)| entry).collect(), total, next })
}

/// Reads a folder. Returns `None` if nothing suggests that it contains an investigation.
pub(super) fn read_folder(path: &Path) -> Option<FolderContents> {
    if !path.is_dir() {
        return None;
    }
    let named: Option<SessionId> =
        path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    match read_investigation(path, named.is_some()) {
        Ok(found) => found,
        Err(reason) => {
            let id = named.map(|id| id.to_string()).unwrap_or_default();
            let text = format!("{id}\n{}", path.display()).to_lowercase();
            let entry = ListEntry { path: path.to_owned(), id: named, facts: None, fault: Some(reason) };
            Some(FolderContents { entry, text })
        }
    }
}

/// Reads the investigation in a folder. A folder named after an id should contain an investigation. Any other folder
/// without one is ignored.
fn read_investigation(path: &Path, is_named: bool) -> Result<Option<FolderContents>, String> {
    let failed = |error: StoreError| error.with_hint();
    let missing = |reason: String| if is_named { Err(reason) } else { Ok(None) };
    let git = match Git::open(path, GitOptions::ISOLATED) {
        Err(StoreError { kind: StoreErrorKind::NotARepository, .. }) if !is_named => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    git.check_objects().map_err(failed)?;
    // A clone in progress has no commit.
    let Some(head) = git.head().map_err(failed)?.commit else {
        return missing("it has no commit yet".into());
    };
    let files = git.files(head).map_err(failed)?;
    let Some(meta) = files.iter().find(|file| layout::file_role(&file.path) == FileRole::Meta) else {
        return missing(format!("{} is missing", layout::META));
    };
    let meta = read::meta(&git, meta).map_err(|fault| fault.to_string())?;
    let mut facts = ListFacts {
        title: meta.title,
        ruleset: meta.ruleset,
        round: 0,
        nodes: 0,
        ended: files.iter().any(|file| file.path == layout::CONCLUSION && !read::is_open(&git, file)),
        started_at: meta.started_at,
    };
    for file in files.iter().filter(|file| file.kind.is_plain()) {
        if let FileRole::Node(id) = layout::file_role(&file.path)
            && read::is_committed(&git, file)
        {
            facts.nodes += 1;
            facts.round = facts.round.max(id.round());
        }
    }
    let text = format!("{}\n{}\n{}\n{}", meta.id, facts.title, meta.query, facts.ruleset);
    let text = composed(&text).to_lowercase();
    let entry = ListEntry { path: path.to_owned(), id: Some(meta.id), facts: Some(facts), fault: None };
    Ok(Some(FolderContents { entry, text }))
}

fn matches_state(entry: &ListEntry, state: ListState) -> bool {
    let ended = entry.facts.as_ref().is_some_and(|facts| facts.ended);
    match state {
        ListState::All => true,
        ListState::Open => !ended,
        ListState::Ended => ended,
    }
}

/// Adds a fault to all entries that share an id.
fn report_duplicate_ids(found: &mut [FolderContents]) {
    let mut folders: HashMap<SessionId, Vec<PathBuf>> = HashMap::new();
    for FolderContents { entry, .. } in found.iter() {
        if let Some(id) = entry.id {
            folders.entry(id).or_default().push(entry.path.clone());
        }
    }
    for FolderContents { entry, .. } in found {
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

/// Returns the entry's sort key. A damaged investigation is sorted by the time in its id.
fn key(rank: usize, entry: &ListEntry) -> SortKey {
    let started = entry.facts.as_ref().map(|facts| facts.started_at);
    let time = started.or_else(|| entry.id.and_then(SessionId::time)).map_or(0, Timestamp::milliseconds);
    let name = entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (rank, Reverse((time, name)))
}

fn cursor((rank, Reverse((time, name))): &SortKey) -> String {
    format!("{rank}/{time}/{name}")
}

fn parse_cursor(text: &str) -> Result<SortKey, StoreError> {
    let parse = || {
        let (rank, rest) = text.split_once('/')?;
        let (time, name) = rest.split_once('/')?;
        Some((rank.parse().ok()?, Reverse((time.parse().ok()?, name.to_owned()))))
    };
    parse().ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        StoreError::new(StoreErrorKind::UnknownCursor, format!("`{shown}` is not a valid cursor"))
    })
}
