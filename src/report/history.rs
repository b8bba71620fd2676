//! The commits and their changes, with links to the changed nodes.
//!
//! A node's state before a commit is its state after the previous commit. Entries are therefore read oldest first, and
//! each file is read only once.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::ReportInput;
use super::difference::{Difference, difference};
use super::model::{Card, Cards, REFUTATION, StateView, Time};
use super::pager::{self, Pager, page_file};
use super::templates::SharedValue;
use crate::domain::{CommentKind, Happening, Node, NodeId, RunKind, StateName};
use crate::fields::NodeField;
use crate::format::layout::{self, FileRole};
use crate::store::{CHECKSUM, HistoryEntry, SIGN_OFFS};
use crate::text::{counted, one_line, shorten};

/// The length of an abbreviated commit id.
pub(super) const SHORT: usize = 10;
/// The base name of the page files.
const NAME: &str = "history";
/// The maximum number of commits on a page.
const PER_PAGE: usize = 200;
/// The maximum number of other files listed for a commit.
const MOST_FILES: usize = 12;
/// The maximum length of a comment, in characters.
const REASON: usize = 600;
/// The maximum total size of the compared text, in bytes.
const MOST_COMPARED: usize = 8 << 20;

/// All commits, newest first.
#[derive(Clone, Debug)]
pub(super) struct History {
    entries: Vec<CommitEntry>,
    by_node: HashMap<NodeId, Vec<usize>>,
}

/// One page of the timeline.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HistoryPage<'a> {
    /// The commits, newest first.
    pub entries: &'a [CommitEntry],
    /// The number of commits on all pages.
    pub commit_count: usize,
    #[serde(flatten)]
    pub pager: Pager,
    /// The number of incomplete commits on all pages.
    pub partial_count: usize,
    /// The address of the newest incomplete commit.
    pub partial: Option<String>,
}

/// One commit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CommitEntry {
    pub commit: String,
    pub short: String,
    pub subject: String,
    pub body: String,
    pub trailers: Vec<Trailer>,
    pub at: Time,
    pub author: String,
    pub tags: Vec<String>,
    pub is_merge: bool,
    pub happenings: Vec<HappeningView>,
    /// Other changed files, including the user's own files. Long lists are truncated.
    pub files: Vec<String>,
    /// The number of omitted files.
    pub more_files: usize,
    /// The parts of the commit that are unreadable or omitted.
    pub faults: Vec<String>,
}

/// Returns the address of an entry by its index.
fn href(at: usize, entry: &CommitEntry) -> String {
    format!("{}#c-{}", page_file(NAME, at / PER_PAGE + 1), entry.short)
}

/// A trailer such as `Agent-Id: abc-123`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trailer {
    pub key: String,
    pub value: String,
}

/// A change made by a commit to a node or to the investigation.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct HappeningView {
    /// The verb: `Proposed`, `Committed`, …
    pub verb: &'static str,
    /// The CSS class: `proposed`, `committed`, …
    pub class: &'static str,
    /// The id of the node at the time. The node may have been removed since.
    pub node: Option<String>,
    pub title: Option<String>,
    /// The node's current card, if the node still exists.
    pub card: Option<SharedValue<Card>>,
    pub from: Option<StateView>,
    pub to: Option<StateView>,
    /// The requested state, if it differs from `to`.
    pub requested: Option<StateView>,
    /// The author of the change.
    pub by: Option<String>,
    pub reason: Option<String>,
    /// The fields whose text is new or too long to compare: `findings, 12 lines`.
    pub wrote: Vec<String>,
    /// The changed text fields.
    pub changes: Vec<TextChange>,
}

/// A node's text field changed by a commit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TextChange {
    /// The display name of the field: `Findings`, `Title`, …
    pub field: &'static str,
    pub difference: Difference,
}

/// A commit that touched a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CommitLink {
    pub short: String,
    pub href: String,
    pub at: Time,
    /// The changes to the node.
    pub verbs: Vec<&'static str>,
}

/// Returns the commits for a report.
pub(super) fn view(input: &ReportInput, cards: &Cards<'_>) -> History {
    let mut by_node: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for (at, entry) in input.history.iter().enumerate() {
        for node in entry.happenings.iter().filter_map(Happening::node_id) {
            let commits = by_node.entry(node.clone()).or_default();
            if commits.last() != Some(&at) {
                commits.push(at);
            }
        }
    }
    let mut known = HistoryState { nodes: HashMap::new(), room: MOST_COMPARED };
    let mut entries: Vec<CommitEntry> =
        input.history.iter().rev().map(|entry| commit(entry, cards, &mut known)).collect();
    entries.reverse();
    History { entries, by_node }
}

/// The state before a commit.
struct HistoryState<'h> {
    nodes: HashMap<&'h NodeId, &'h Arc<Node>>,
    /// The number of bytes that may still be compared.
    room: usize,
}

impl History {
    /// Returns the address of a commit, if the history contains it.
    pub(super) fn address(&self, commit: &str) -> Option<String> {
        let at = self.entries.iter().position(|entry| entry.commit == commit)?;
        Some(href(at, &self.entries[at]))
    }

    /// Returns the pages and their file names. There is always at least one page.
    pub(super) fn pages(&self) -> impl Iterator<Item = (String, HistoryPage<'_>)> {
        let partial = || self.entries.iter().enumerate().filter(|(_, entry)| !entry.faults.is_empty());
        let (partial_count, newest) =
            (partial().count(), partial().next().map(|(at, entry)| href(at, entry)));
        pager::pages(NAME, self.entries.len(), PER_PAGE).map(move |(file, pager)| {
            let page = HistoryPage {
                entries: self.entries.chunks(PER_PAGE).nth(pager.number - 1).unwrap_or_default(),
                commit_count: self.entries.len(),
                pager,
                partial_count,
                partial: newest.clone(),
            };
            (file, page)
        })
    }

    /// Returns the number of commits.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of the newest commit that changed one of the nodes, counted from the first commit. Readers' browsers
    /// compare it with the number of commits at their last visit.
    pub(super) fn changed<'n>(&self, nodes: impl IntoIterator<Item = &'n NodeId>) -> usize {
        let newest = nodes.into_iter().filter_map(|id| self.by_node.get(id)?.first());
        newest.min().map_or(0, |at| self.entries.len() - at)
    }

    /// Returns the newest commits.
    pub(super) fn newest(&self, most: usize) -> &[CommitEntry] {
        &self.entries[..self.entries.len().min(most)]
    }

    /// Returns the commits that touched a node, newest first.
    pub(super) fn of_node(&self, id: &NodeId) -> Vec<CommitLink> {
        let entries = self.by_node.get(id).into_iter().flatten();
        entries
            .filter_map(|at| Some((*at, self.entries.get(*at)?)))
            .map(|(at, entry)| CommitLink {
                short: entry.short.clone(),
                href: href(at, entry),
                at: entry.at.clone(),
                verbs: entry
                    .happenings
                    .iter()
                    .filter(|happening| happening.node.as_deref() == Some(id.as_str()))
                    .map(|happening| happening.verb)
                    .collect(),
            })
            .collect()
    }
}

/// Returns the verb and the CSS class for an event.
pub fn verb_of(happening: &Happening) -> (&'static str, &'static str) {
    match happening {
        Happening::Started => ("Started", "started"),
        Happening::Proposed(_) => ("Proposed", "proposed"),
        Happening::Withdrawn(_) => ("Withdrawn", "withdrawn"),
        Happening::Claimed(_) => ("Claimed", "claimed"),
        Happening::Released(_) => ("Released", "released"),
        Happening::Committed(_) => ("Result committed", "committed"),
        Happening::OtherResult(..) => ("Explored elsewhere", "committed"),
        Happening::Reclassified(..) => ("State changed", "reclassified"),
        Happening::Amended(..) => ("Corrected", "amended"),
        Happening::Edited(_) => ("Edited by hand", "edited"),
        Happening::Removed(_) => ("Removed by hand", "removed"),
        Happening::Ended(end) if end.draft && end.amendment().is_some() => ("Draft changed", "amended"),
        Happening::Ended(end) if end.draft => ("Report drafted", "drafted"),
        Happening::Ended(end) if end.amendment().is_some() => ("Conclusion corrected", "amended"),
        Happening::Ended(_) => ("Ended", "ended"),
        Happening::Reopened => ("Reopened", "reopened"),
        Happening::Commented(comment) => match comment.kind {
            CommentKind::Comment => ("Commented", "commented"),
            CommentKind::Objection => ("Objected", "commented"),
            CommentKind::Correction => ("Correction proposed", "commented"),
            CommentKind::Confirmation => ("Report checked", "commented"),
            CommentKind::Answer => ("Answered", "commented"),
            CommentKind::Resolution => ("Resolved", "commented"),
        },
        Happening::CommentEdited(_) => ("Comment edited by hand", "edited"),
        Happening::CommentRemoved(_) => ("Comment removed by hand", "removed"),
        Happening::Ran(run) => match run.what {
            RunKind::Captured(_) => ("Ran a command", "ran"),
            RunKind::Repeated { .. } => ("Reran a command", "ran"),
            RunKind::Expected { .. } => ("Expected something of a run", "ran"),
            RunKind::Judged { .. } => ("Judged a difference", "ran"),
            RunKind::Retracted { .. } => ("Took back a run", "ran"),
        },
        Happening::RunEdited(_) => ("Run edited by hand", "edited"),
        Happening::RunRemoved(_) => ("Run removed by hand", "removed"),
        Happening::Attached(..) => ("Attached", "attached"),
        Happening::AttachmentChanged(..) => ("Attachment changed by hand", "edited"),
        Happening::AttachmentRemoved(..) => ("Attachment removed by hand", "removed"),
    }
}

fn commit<'h>(entry: &'h HistoryEntry, cards: &Cards<'_>, known: &mut HistoryState<'h>) -> CommitEntry {
    let commit = entry.commit.to_string();
    let happenings: Vec<HappeningView> =
        entry.happenings.iter().map(|happening| view_of(happening, entry, cards, known)).collect();
    if !entry.gaps.is_empty() {
        known.nodes.clear();
    }
    for happening in &entry.happenings {
        match (happening, happening.node()) {
            (Happening::Withdrawn(node) | Happening::Removed(node), _) => known.nodes.remove(&node.id),
            (_, Some(node)) => known.nodes.insert(&node.id, node),
            (_, None) => None,
        };
    }
    let mut files = other_files(entry);
    let more_files = files.len().saturating_sub(MOST_FILES);
    files.truncate(MOST_FILES);
    let trailer = |(key, value): (&str, &str)| Trailer { key: key.to_owned(), value: value.to_owned() };
    let trailers = entry.trailers().into_iter().filter(|(key, _)| *key != CHECKSUM);
    let mut subject = match entry.subject().trim() {
        "" => "(no subject)".to_owned(),
        subject => subject.to_owned(),
    };
    for (node, to) in happenings.iter().filter_map(|it| Some((it.node.as_deref()?, it.to.as_ref()?))) {
        if to.class == REFUTATION {
            subject = subject.replace(&format!("{node} {}", to.name), &format!("{node} ✗ {}", to.word));
        }
    }
    CommitEntry {
        short: commit.chars().take(SHORT).collect(),
        commit,
        subject,
        body: entry.body().trim().to_owned(),
        trailers: trailers.map(trailer).collect(),
        at: Time::of(entry.at),
        author: entry.who().into_owned(),
        // Anybody can create a tag, so sign-offs are shown only after they are checked.
        tags: entry.tags.iter().filter(|tag| !is_sign_off(tag)).cloned().collect(),
        is_merge: entry.parents.len() > 1,
        happenings,
        files,
        more_files,
        faults: entry.gaps.iter().cloned().chain(entry.faults.iter().map(ToString::to_string)).collect(),
    }
}

fn is_sign_off(tag: &str) -> bool {
    SIGN_OFFS.iter().any(|prefix| tag.starts_with(prefix))
}

/// Returns the other files changed by a commit, except those written whenever an investigation starts or ends.
fn other_files(entry: &HistoryEntry) -> Vec<String> {
    let whole = |happening: &Happening| {
        happening.node().is_none() && happening.comment().is_none() && happening.attachment().is_none()
    };
    if entry.happenings.iter().any(whole) {
        return Vec::new();
    }
    // Each change to an ended investigation also updates its README.
    let is_page = |path: &String| *path == layout::README && !entry.happenings.is_empty();
    let is_other = |path: &&String| {
        matches!(layout::file_role(path), FileRole::Stray | FileRole::Other) && !is_page(path)
    };
    entry.paths.iter().filter(is_other).cloned().collect()
}

/// Returns a node's changed text fields, and the fields whose text is new or too long to compare.
fn compare(before: Option<&Node>, after: &Node, room: &mut usize) -> (Vec<TextChange>, Vec<String>) {
    let (mut changes, mut wrote) = (Vec::new(), Vec::new());
    let earlier: Vec<NodeField<'_>> = before.into_iter().flat_map(Node::fields).collect();
    for NodeField { name: field, value: now, is_text } in after.fields() {
        let then = earlier.iter().find(|earlier| earlier.name == field).map_or("", |earlier| &*earlier.value);
        if then == now {
            continue;
        }
        if !then.trim().is_empty()
            && let Some(rest) = room.checked_sub(then.len() + now.len())
        {
            *room = rest;
            changes.push(TextChange { field, difference: difference(then, &now) });
        } else if is_text {
            wrote.push(format!("{}, {}", field.to_lowercase(), counted(now.lines().count(), "line")));
        }
    }
    (changes, wrote)
}

fn view_of(
    happening: &Happening,
    entry: &HistoryEntry,
    cards: &Cards<'_>,
    known: &mut HistoryState<'_>,
) -> HappeningView {
    let (verb, class) = match happening {
        Happening::Edited(_) | Happening::CommentEdited(_) | Happening::AttachmentChanged(..)
            if entry.parents.len() > 1 =>
        {
            ("Joined", "joined")
        }
        Happening::AttachmentRemoved(..) if entry.parents.len() > 1 => ("Attachment moved", "joined"),
        happening => verb_of(happening),
    };
    let about = happening.node_id();
    let node = happening.node().or_else(|| known.nodes.get(about?).copied());
    let before = node.and_then(|node| known.nodes.get(&node.id)).map(|node| node.as_ref());
    let state = |state: &StateName| Some(cards.state(state));
    let mut view = HappeningView {
        verb,
        class,
        node: about.map(ToString::to_string),
        title: node.map(|node| node.title.clone()),
        card: about.and_then(|id| cards.get(id)).cloned(),
        ..HappeningView::default()
    };
    if let Happening::Proposed(node)
    | Happening::Committed(node)
    | Happening::OtherResult(node, _)
    | Happening::Amended(node, _)
    | Happening::Edited(node) = happening
    {
        (view.changes, view.wrote) = compare(before, node, &mut known.room);
    }
    match happening {
        Happening::Committed(node) | Happening::OtherResult(node, _) => {
            let first = node.classification.as_ref();
            let result = match happening {
                Happening::OtherResult(_, number) => first.and_then(|first| first.other_results.get(*number)),
                _ => first,
            };
            if let Some(result) = result {
                view.to = match happening {
                    Happening::Committed(node) => Some(cards.state_then(node)),
                    _ => state(&result.state),
                };
                view.requested = result.requested_state.as_ref().and_then(state);
                view.by = result.who();
            }
        }
        Happening::Claimed(node) => {
            view.by = node.claim.as_ref().map(|claim| claim.agent_id.clone());
        }
        Happening::Reclassified(node, change) => {
            // One commit may change a state several times, and keeps only the last.
            let then = |node: &Node, is: &StateName| match node.state() == Some(is) {
                true => cards.state_then(node),
                false => cards.state(is),
            };
            view.from = Some(before.map_or_else(|| cards.state(&change.from), |it| then(it, &change.from)));
            view.to = Some(then(node, &change.to));
            view.reason.clone_from(&change.reason);
            view.by = change.who();
        }
        Happening::Amended(_, amendment) => {
            view.reason = Some(amendment.reason.clone());
            view.by = amendment.who();
        }
        Happening::Edited(node) | Happening::Removed(node) => {
            view.to = node.state().and_then(state);
        }
        Happening::Ended(conclusion) => match conclusion.amendment() {
            Some(amended) => {
                view.reason = Some(amended.reason.clone());
                view.by = amended.who();
            }
            None => view.by = conclusion.who(),
        },
        Happening::Commented(comment)
        | Happening::CommentEdited(comment)
        | Happening::CommentRemoved(comment) => {
            view.by = Some(comment.author.label().into_owned());
            view.reason = Some(shorten(&one_line(&comment.shown()), REASON));
        }
        Happening::Ran(run) | Happening::RunEdited(run) | Happening::RunRemoved(run) => {
            view.by = Some(run.author.label().into_owned());
            view.reason = Some(shorten(&one_line(&run.summary()), REASON));
        }
        Happening::Attached(_, name)
        | Happening::AttachmentChanged(_, name)
        | Happening::AttachmentRemoved(_, name) => view.reason = Some(name.to_string()),
        Happening::Started
        | Happening::Proposed(_)
        | Happening::Withdrawn(_)
        | Happening::Released(_)
        | Happening::Reopened => {}
    }
    view
}
