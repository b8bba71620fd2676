//! `tot_status`: how an investigation stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::server::{About, Tool};
use super::super::service::{Refusal, Service, Standing, Unjudged};
use super::super::wire::{
    Graph, GraphForm, IncompleteNode, Object, QualityFigures, Shared, beginning, incomplete, pending,
};
use super::{answer, graph_of};
use crate::decide::quality::quality;
use crate::decide::standing::at_odds;
use crate::domain::{Diagnostic, Investigation};
use crate::store::Snapshot;

/// How many entries a page has.
const PAGE: usize = 50;

/// The most characters of the question in a reply.
const QUERY: usize = 1_000;

const ABOUT: About = About {
    name: "tot_status",
    title: "See how an investigation stands",
    description: "Shows how an investigation stands, without writing: question, nodes by state, `pending` \
                  proposals, `incomplete` nodes (open, lacking children), quality, all that blocks the end, \
                  `nextAction`, the graph while it is small, and `faults` of its files. `detail: full` lists all \
                  nodes with state and title. Long lists come in pages (`nextCursor`). Codes: SESSION_NOT_FOUND, \
                  AMBIGUOUS_SESSION.",
    read_only: true,
    idempotent: true,
};

/// What is to be seen.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// auto: DOT up to 40 nodes, else its resource.
    #[serde(default)]
    graph: GraphForm,
    /// full: all nodes, too.
    #[serde(default)]
    detail: Detail,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
}

/// How much of an investigation is shown.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Detail {
    #[default]
    Concise,
    Full,
}

/// How it stands.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The id, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    ruleset: Option<String>,
    /// The mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Rounds before the end is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rounds: Option<u32>,
    /// When it ended; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Committed nodes in each state of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_by_state: Option<BTreeMap<String, usize>>,
    /// Committed nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_nodes: Option<usize>,
    /// Committed nodes in a closed state.
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_nodes: Option<usize>,
    /// Proposals that are not committed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Vec<String>>,
    /// Open nodes that lack children.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    incomplete: Option<Vec<IncompleteNode>>,
    /// Committed nodes, with `detail: full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    listed: Option<Vec<Listed>>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The quality figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    quality: Option<QualityFigures>,
    /// The next legal step.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<String>,
    /// Files of the investigation that can't be read, and nodes that its rules do not allow as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    faults: Option<Vec<String>>,
    #[serde(flatten)]
    graph: Graph,
}

/// One node of the list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Listed {
    /// The node.
    node_id: String,
    /// Its state.
    state: String,
    /// Its title.
    title: String,
}

impl From<Shared> for Output {
    fn from(shared: Shared) -> Self {
        Output { shared, ..Output::default() }
    }
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<Output, Refusal> {
    let seen = service.look(&input.session_id)?;
    let start = match input.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| {
            Diagnostic::new("INVALID_ARGUMENT", "cursor: it is not one that a reply gave.")
                .suggest("Give `nextCursor` of the reply before, or leave it out for the first page.")
        })?,
    };
    Ok(match seen {
        Ok(standing) => judged(&standing, &input, start),
        Err(unjudged) => without_rules(&unjudged, &input, start),
    })
}

fn judged(standing: &Standing, input: &Input, start: usize) -> Output {
    let (investigation, terms) = (standing.investigation(), standing.terms());
    let shared = Shared::done(standing, None, &[]);
    let facts = facts(&standing.snapshot, shared, input, start);
    let mut active: BTreeMap<String, usize> =
        terms.ruleset().states.iter().map(|state| (state.name.to_string(), 0)).collect();
    active.extend(facts.active_by_state.into_iter().flatten());
    let terminal = investigation.committed().filter(|(_, state)| terms.is_terminal(state)).count();
    let all_incomplete = incomplete(investigation, &terms);
    let concise_has_more = input.detail == Detail::Concise && more(all_incomplete.len(), start);
    let mut faults = facts.faults.unwrap_or_default();
    faults.extend(at_odds(investigation, &terms).iter().map(ToString::to_string));
    Output {
        faults: (!faults.is_empty()).then_some(faults),
        active_by_state: Some(active),
        terminal_nodes: Some(terminal),
        incomplete: Some(match input.detail {
            Detail::Full => all_incomplete,
            Detail::Concise => all_incomplete.into_iter().skip(start).take(PAGE).collect(),
        }),
        next_cursor: if concise_has_more { Some((start + PAGE).to_string()) } else { facts.next_cursor },
        quality: Some(quality(investigation, &terms).into()),
        next_action: Some(facts.shared.message.clone()),
        graph: graph_of(standing, input.graph),
        ..facts
    }
}

/// What can be said of an investigation whose rules can't be used.
fn without_rules(unjudged: &Unjudged, input: &Input, start: usize) -> Output {
    let mut facts = facts(&unjudged.snapshot, Shared::unjudged(unjudged), input, start);
    let fault = unjudged.snapshot.ruleset.as_ref().err().map(ToString::to_string);
    facts.faults = Some(fault.into_iter().chain(facts.faults.into_iter().flatten()).collect());
    Output { next_action: unjudged.error.suggestion.clone(), ..facts }
}

/// What needs no rules.
fn facts(snapshot: &Snapshot, shared: Shared, input: &Input, start: usize) -> Output {
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for (_, state) in investigation.committed() {
        *active.entry(state.to_string()).or_default() += 1;
    }
    let total = active.values().sum();
    let full = input.detail == Detail::Full;
    Output {
        session_id: Some(meta.id.to_string()),
        query: Some(beginning(&meta.query, QUERY)),
        title: Some(meta.title.clone()),
        ruleset: Some(meta.ruleset.clone()),
        mode: Some(meta.mode.clone()),
        min_rounds: Some(meta.min_rounds),
        ended_at: investigation.conclusion().map(|conclusion| conclusion.ended_at.to_string()),
        active_by_state: Some(active),
        total_nodes: Some(total),
        pending: Some(pending(investigation)),
        listed: full.then(|| listed(investigation, start)),
        next_cursor: (full && more(total, start)).then(|| (start + PAGE).to_string()),
        faults: (!snapshot.faults.is_empty())
            .then(|| snapshot.faults.iter().map(ToString::to_string).collect()),
        ..Output::from(shared)
    }
}

/// Whether a list of that length goes on behind the page.
fn more(length: usize, start: usize) -> bool {
    length > start.saturating_add(PAGE)
}

fn listed(investigation: &Investigation, start: usize) -> Vec<Listed> {
    investigation
        .committed()
        .skip(start)
        .take(PAGE)
        .map(|(node, state)| Listed {
            node_id: node.id.to_string(),
            state: state.to_string(),
            title: node.title.clone(),
        })
        .collect()
}
