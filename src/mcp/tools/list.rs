//! `tot_list`: lists investigations.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Nothing, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::assess::Assessment;
use crate::domain::{Code, Diagnostic};
use crate::service::{Refusal, Service};
use crate::store::{ListEntry, ListFilter, ListState, StoreError};
use crate::text::shorten;

const ABOUT: About = About {
    name: "tot_list",
    title: "List investigations",
    description: "Lists the investigations, newest first, each with its `verdict`. In pages (`nextCursor`).",
    codes: &[],
    warnings: &[],
    also: &[],
    read_only: true,
    also_reads: false,
    idempotent: true,
    budget: 3_000,
};

/// The number of entries on a page.
const PAGE: usize = 10;

/// The most characters of a text in an entry.
const TEXT: usize = 80;

/// Which investigations.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// Which ones.
    #[serde(default, with = "StateName")]
    state: ListState,
    /// Words in title, question, method or id.
    text: Option<String>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Which investigations are listed.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(remote = "ListState", rename_all = "camelCase")]
#[schemars(inline)]
enum StateName {
    Open,
    Ended,
    All,
}

/// The investigations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// Newest first.
    investigations: Vec<Listed>,
    /// How many there are on all pages.
    total: usize,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ruleset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// How far to trust what it concludes, or its best answer so far: `Conclusion, stopped early`.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// Its fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(&service, run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body, Nothing), Refusal> {
    let state = input.state;
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let filter = ListFilter { state, text: given(input.text), after: given(input.cursor), limit: PAGE };
    let listing = service.store().list(&filter).map_err(|error| match error {
        StoreError::UnknownCursor { .. } => Refusal::from(
            Diagnostic::new(Code::InvalidArgument, "cursor: it is not one that a reply gave.")
                .suggest("Give `nextCursor` of the reply before, or leave it out for the first page."),
        ),
        error => error.into(),
    })?;
    let shown = listing.entries.len();
    let message = match (listing.total, &listing.next) {
        (0, _) if filter.text.is_none() && matches!(state, ListState::All) => {
            "There is no investigation yet: tot_start begins one.".to_owned()
        }
        (0, _) => "None fits: leave out `text` or `state` for all.".to_owned(),
        (total, Some(_)) => format!("{shown} of {total}; `cursor` with nextCursor gives the next page."),
        (_, None) => {
            "tot_status shows how one stands, tot_read its findings; tot_next how to go on.".to_owned()
        }
    };
    let body = Body {
        investigations: listing.entries.into_iter().map(|entry| Listed::of(service, entry)).collect(),
        total: listing.total,
        next_cursor: listing.next,
    };
    Ok((Shared::apart(message), body, Nothing {}))
}

impl Listed {
    fn of(service: &Service, entry: ListEntry) -> Self {
        // An unreadable investigation is known only by the name of its folder.
        let name = || entry.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let facts = entry.facts.as_ref();
        Listed {
            verdict: verdict(service, &entry),
            session_id: entry.id.map(|id| id.to_string()),
            title: facts.map(|facts| facts.title.clone()).or_else(name).map(|text| shorten(&text, TEXT)),
            ruleset: facts.map(|facts| shorten(&facts.ruleset, TEXT)),
            round: facts.map(|facts| facts.round),
            nodes: facts.map(|facts| facts.nodes),
            ended: facts.map(|facts| facts.ended),
            started_at: facts.map(|facts| facts.started_at.to_string()),
            fault: entry.fault.as_deref().map(|fault| shorten(fault, TEXT)),
        }
    }
}

/// Returns how far to trust its conclusion, or its best answer so far.
pub(in crate::mcp) fn verdict(service: &Service, entry: &ListEntry) -> Option<String> {
    let snapshot = entry.facts.as_ref().and_then(|_| service.store().load(&entry.path).ok())?;
    Some(Assessment::new(&snapshot.investigation, snapshot.rules()).top().to_string())
}
