//! `tot_list` lists and searches the investigations of this server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::{ToolOutcome, invalid_cursor};
use crate::assess::Assessment;
use crate::domain::Caller;
use crate::service::Service;
use crate::service::reply::ReplyFields;
use crate::store::{ListEntry, ListFilter, ListState, StoreErrorKind};
use crate::text::shorten;

pub(super) const ABOUT: About = About {
    name: "tot_list",
    title: "List investigations",
    description: "Lists investigations, newest first, each with its `verdict`. Paged (`nextCursor`).",
    read_only: true,
    budget: 3_000,
    ..About::PLAIN
};

/// The number of entries on a page.
const PAGE: usize = 10;

/// The maximum length of a text field in an entry, in characters.
const TEXT: usize = 80;

/// The investigations to list.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListInput {
    /// Which ones.
    #[serde(default, with = "ListStateName")]
    state: ListState,
    /// Words in the title, question, method or id.
    text: Option<String>,
    /// From `nextCursor`.
    cursor: Option<String>,
}

/// The names of the states in JSON.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(remote = "ListState", rename_all = "camelCase")]
#[schemars(inline)]
enum ListStateName {
    Open,
    Ended,
    All,
}

/// A page of investigations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListBody {
    /// The investigations, newest first.
    investigations: Vec<InvestigationEntry>,
    /// The number of matches on all pages.
    total: usize,
    /// The cursor for the next page; absent on the last page.
    next_cursor: Option<String>,
}

/// An investigation. Fields that cannot be read are absent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InvestigationEntry {
    session_id: Option<String>,
    title: Option<String>,
    ruleset: Option<String>,
    current_round: Option<u32>,
    total_nodes: Option<usize>,
    ended: Option<bool>,
    started_at: Option<String>,
    /// The beginning of the verdict's sentence, such as `Stopped early` or `Best answer so far: not checked`.
    verdict: Option<String>,
    /// What to do, or what is so, by the conclusion.
    bottom_line: Option<String>,
    /// The error, if the investigation cannot be read.
    fault: Option<String>,
}

pub(super) fn run(service: &Service, input: ListInput, _: &Caller) -> ToolOutcome<ListBody> {
    let state = input.state;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let filter = ListFilter { state, text: given(input.text), after: given(input.cursor), limit: PAGE };
    let listing = service.store().list(&filter).map_err(|error| match error.kind {
        StoreErrorKind::UnknownCursor => invalid_cursor(),
        _ => error.into(),
    })?;
    let shown = listing.entries.len();
    let message = match (listing.total, &listing.next) {
        (0, _) if filter.text.is_none() && matches!(state, ListState::All) => {
            "There are no investigations yet: tot_start starts one.".to_owned()
        }
        (0, _) => "No matches: omit `text` or `state` to list all.".to_owned(),
        (total, Some(_)) => format!("{shown} of {total}; pass nextCursor as `cursor` for the next page."),
        (_, None) => {
            "tot_status shows an investigation's state, tot_read its findings, tot_next the next step."
                .to_owned()
        }
    };
    let body = ListBody {
        investigations: listing
            .entries
            .into_iter()
            .map(|entry| InvestigationEntry::of(service, entry))
            .collect(),
        total: listing.total,
        next_cursor: listing.next,
    };
    Ok((ReplyFields::apart(message), body, ()))
}

impl InvestigationEntry {
    fn of(service: &Service, entry: ListEntry) -> Self {
        // An unreadable investigation is identified only by its folder name.
        let name = || entry.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let facts = entry.facts.as_ref();
        let (verdict, bottom_line) = judged(service, &entry).unzip();
        InvestigationEntry {
            verdict,
            bottom_line: bottom_line.flatten().map(|line| shorten(&line, TEXT)),
            session_id: entry.id.map(|id| id.to_string()),
            title: facts.map(|facts| facts.title.clone()).or_else(name).map(|text| shorten(&text, TEXT)),
            ruleset: facts.map(|facts| shorten(&facts.ruleset, TEXT)),
            current_round: facts.map(|facts| facts.round),
            total_nodes: facts.map(|facts| facts.nodes),
            ended: facts.map(|facts| facts.ended),
            started_at: facts.map(|facts| facts.started_at.to_string()),
            fault: entry.fault.as_deref().map(|fault| shorten(fault, TEXT)),
        }
    }
}

/// Returns the verdict on the conclusion or on the best answer so far, and the bottom line.
pub(in crate::mcp) fn judged(service: &Service, entry: &ListEntry) -> Option<(String, Option<String>)> {
    let snapshot = entry.facts.as_ref().and_then(|_| service.store().load(&entry.path).ok())?;
    let inputs = service.inputs(&snapshot.investigation);
    let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
    let assessment = assessment.with_inputs(inputs.as_ref());
    Some((assessment.in_short_now(), assessment.doubted_bottom_line()))
}
