//! The commits for people: what each changed, and where the changed nodes are.

use std::collections::HashMap;

use serde::Serialize;

use super::Input;
use super::model::{Card, Cards, StateView, Time};
use crate::domain::{Author, Happening, Node, NodeId, StateName};
use crate::store::HistoryEntry;

/// Digits of a commit's id on a page.
pub(super) const SHORT: usize = 10;

/// All commits, newest first.
#[derive(Clone, Debug, Serialize)]
pub(super) struct History {
    pub entries: Vec<Entry>,
    #[serde(skip)]
    by_node: HashMap<NodeId, Vec<usize>>,
}

/// One commit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entry {
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
    pub faults: Vec<String>,
}

/// A line like `Agent-Id: abc-123`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trailer {
    pub key: String,
    pub value: String,
}

/// What a commit did to one node, or to the whole.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HappeningView {
    /// `Proposed`, `Committed`, …
    pub verb: &'static str,
    /// `proposed`, `committed`, …: for the style sheet.
    pub class: &'static str,
    /// The node's id and title then; it may be gone since.
    pub node: Option<String>,
    pub title: Option<String>,
    /// The node as it is now.
    pub card: Option<Card>,
    pub from: Option<StateView>,
    pub to: Option<StateView>,
    /// The state that was asked for in place of `to`.
    pub requested: Option<StateView>,
    /// Who or what did it, and why.
    pub by: Option<String>,
    pub reason: Option<String>,
}

/// A commit that touched a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CommitLink {
    pub short: String,
    pub href: String,
    pub subject: String,
    pub at: Time,
    pub author: String,
    /// What it did to this node.
    pub verbs: Vec<&'static str>,
}

/// The commits of an input.
pub(super) fn view(input: &Input, cards: &Cards<'_>) -> History {
    let mut by_node: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for (at, entry) in input.history.iter().enumerate() {
        for node in entry.happenings.iter().filter_map(node_of) {
            let commits = by_node.entry(node.id.clone()).or_default();
            if commits.last() != Some(&at) {
                commits.push(at);
            }
        }
    }
    History { entries: input.history.iter().map(|entry| commit(entry, cards)).collect(), by_node }
}

impl History {
    /// The commits that touched a node, newest first.
    pub(super) fn of_node(&self, id: &NodeId) -> Vec<CommitLink> {
        let entries = self.by_node.get(id).into_iter().flatten().filter_map(|at| self.entries.get(*at));
        entries
            .map(|entry| CommitLink {
                short: entry.short.clone(),
                href: format!("history.html#c-{}", entry.short),
                subject: entry.subject.clone(),
                at: entry.at.clone(),
                author: entry.author.clone(),
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

/// The node that something happened to.
pub(super) fn node_of(happening: &Happening) -> Option<&Node> {
    match happening {
        Happening::Proposed(node)
        | Happening::Withdrawn(node)
        | Happening::Committed(node)
        | Happening::Reclassified(node, _)
        | Happening::Edited(node)
        | Happening::Removed(node) => Some(node),
        Happening::Started | Happening::Ended(_) | Happening::Reopened => None,
    }
}

/// What happened, in one word, and the class for it.
pub(super) fn verb_of(happening: &Happening) -> (&'static str, &'static str) {
    match happening {
        Happening::Started => ("Started", "started"),
        Happening::Proposed(_) => ("Proposed", "proposed"),
        Happening::Withdrawn(_) => ("Withdrawn", "withdrawn"),
        Happening::Committed(_) => ("Committed", "committed"),
        Happening::Reclassified(..) => ("Reclassified", "reclassified"),
        Happening::Edited(_) => ("Edited by hand", "edited"),
        Happening::Removed(_) => ("Removed by hand", "removed"),
        Happening::Ended(_) => ("Ended", "ended"),
        Happening::Reopened => ("Reopened", "reopened"),
    }
}

fn commit(entry: &HistoryEntry, cards: &Cards<'_>) -> Entry {
    let commit = entry.commit.to_string();
    let trailer = |(key, value): (&str, &str)| Trailer { key: key.to_owned(), value: value.to_owned() };
    Entry {
        short: commit.chars().take(SHORT).collect(),
        commit,
        subject: match entry.subject().trim() {
            "" => "(no subject)".to_owned(),
            subject => subject.to_owned(),
        },
        body: entry.body().trim().to_owned(),
        trailers: entry.trailers().into_iter().map(trailer).collect(),
        at: Time::of(entry.at),
        author: entry.author_name.clone(),
        tags: entry.tags.clone(),
        is_merge: entry.parents.len() > 1,
        happenings: entry.happenings.iter().map(|happening| view_of(happening, cards)).collect(),
        faults: entry.faults.iter().map(ToString::to_string).collect(),
    }
}

fn view_of(happening: &Happening, cards: &Cards<'_>) -> HappeningView {
    let (verb, class) = verb_of(happening);
    let node = node_of(happening);
    let state = |state: &StateName| Some(cards.state(state));
    let mut view = HappeningView {
        verb,
        class,
        node: node.map(|node| node.id.to_string()),
        title: node.map(|node| node.title.clone()),
        card: node.and_then(|node| cards.get(&node.id)).cloned(),
        from: None,
        to: None,
        requested: None,
        by: None,
        reason: None,
    };
    match happening {
        Happening::Committed(node) => {
            if let Some(classification) = &node.classification {
                view.to = state(&classification.state);
                view.requested = classification.requested_state.as_ref().map(|state| cards.state(state));
                view.by.clone_from(&classification.agent_id);
            }
        }
        Happening::Reclassified(_, change) => {
            view.from = state(&change.from);
            view.to = state(&change.to);
            view.reason.clone_from(&change.reason);
            view.by = match &change.by {
                Author::Agent(agent) => Some(agent.clone()),
                Author::Child(child) => Some(child.to_string()),
                Author::Unknown => None,
            };
        }
        Happening::Edited(node) | Happening::Removed(node) => {
            view.to = node.state().map(|state| cards.state(state));
        }
        Happening::Ended(conclusion) => view.by.clone_from(&conclusion.agent_id),
        Happening::Started | Happening::Proposed(_) | Happening::Withdrawn(_) | Happening::Reopened => {}
    }
    view
}
