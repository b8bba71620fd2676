//! `tot_status`: how an investigation stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, IncompleteNode, Object, Shared, figures, incomplete, pending};
use super::{answer, graph_of};
use crate::decide::quality::quality;
use crate::decide::standing::at_odds;
use crate::domain::{Code, Diagnostic, Node};
use crate::service::{Refusal, Service, Standing, Unjudged};
use crate::store::Snapshot;
use crate::text::shorten;

/// How many entries a page has at most.
const PAGE: usize = 50;

/// The most characters of the question in a reply.
const QUERY: usize = 600;

/// The most characters of a title in a reply.
const TITLE: usize = 120;

/// The most bytes of the page of a list.
const ROOM: usize = 4_500;

const ABOUT: About = About {
    name: "tot_status",
    title: "See how an investigation stands",
    description: "Shows how an investigation stands, without writing: question, nodes by state, `pending` \
                  proposals, `incomplete` nodes (open, lacking children), quality, all that blocks the end, \
                  `nextAction`, the graph while it is small, and `faults` of its files. `detail: full` lists all \
                  nodes with state and title. Long lists come in pages (`nextCursor`).",
    codes: &[],
    warnings: &[],
    also: &[],
    read_only: true,
    idempotent: true,
};

/// What is to be seen.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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
struct Body {
    /// The id, whole.
    session_id: String,
    /// The question.
    query: String,
    /// The title.
    title: String,
    /// The method.
    ruleset: String,
    /// The mode.
    mode: String,
    /// Rounds before the end is accepted.
    min_rounds: u32,
    /// When it ended; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Committed nodes in each state of the method.
    active_by_state: BTreeMap<String, usize>,
    /// Committed nodes.
    total_nodes: usize,
    /// Committed nodes in a closed state.
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_nodes: Option<usize>,
    /// Proposals that are not committed yet.
    pending: Vec<String>,
    /// Open nodes that lack children.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>", extend("x-keep" = "last"))]
    incomplete: Option<Vec<IncompleteNode>>,
    /// All nodes, with `detail: full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>", extend("x-keep" = "last"))]
    listed: Option<Vec<Listed>>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The quality figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    quality: Option<Value>,
    /// The next legal step.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<String>,
    /// Files of the investigation that can't be read, and nodes that its rules do not allow as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
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
    /// Its state; absent while it is only proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Its title.
    title: String,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(&service, run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
    let seen = service.look(&input.session_id)?;
    let start = match input.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| {
            Diagnostic::new(Code::InvalidArgument, "cursor: it is not one that a reply gave.")
                .suggest("Give `nextCursor` of the reply before, or leave it out for the first page.")
        })?,
    };
    Ok(match seen {
        Ok(standing) => {
            let shared = Shared::done(&standing, None, &[]);
            let next_action = Some(shared.message.clone());
            (shared, Body { next_action, ..judged(&standing, &input, start) })
        }
        Err(unjudged) => (Shared::unjudged(&unjudged), without_rules(&unjudged, &input, start)),
    })
}

fn judged(standing: &Standing, input: &Input, start: usize) -> Body {
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let graph = graph_of(standing, input.graph);
    let room = if graph.dot.is_some() { ROOM / 3 } else { ROOM };
    let facts = facts(&standing.snapshot, input, start, room);
    let mut active: BTreeMap<String, usize> =
        rules.ruleset().states.iter().map(|state| (state.name.to_string(), 0)).collect();
    active.extend(facts.active_by_state);
    let terminal = investigation.committed().filter(|(_, state)| rules.is_terminal(state)).count();
    let mut faults = facts.faults;
    faults.extend(at_odds(investigation, &rules).iter().map(ToString::to_string));
    let all_incomplete = incomplete(investigation, &rules).into_iter();
    let (incomplete, next_cursor) = match input.detail {
        // The cursor goes through the nodes then.
        Detail::Full => (page(all_incomplete, 0, ROOM / 3).0, facts.next_cursor),
        Detail::Concise => page(all_incomplete, start, room),
    };
    Body {
        faults,
        active_by_state: active,
        terminal_nodes: Some(terminal),
        incomplete: Some(incomplete),
        next_cursor,
        quality: Some(figures(&quality(investigation, &rules))),
        graph,
        ..facts
    }
}

/// What can be said of an investigation whose rules can't be used.
fn without_rules(unjudged: &Unjudged, input: &Input, start: usize) -> Body {
    let mut facts = facts(&unjudged.snapshot, input, start, ROOM);
    let fault = unjudged.snapshot.ruleset.as_ref().err().map(ToString::to_string);
    facts.faults = fault.into_iter().chain(facts.faults).collect();
    Body { next_action: unjudged.error.suggestion.clone(), ..facts }
}

/// What needs no rules.
fn facts(snapshot: &Snapshot, input: &Input, start: usize, room: usize) -> Body {
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for (_, state) in investigation.committed() {
        *active.entry(state.to_string()).or_default() += 1;
    }
    let total = active.values().sum();
    let (listed, next_cursor) = match input.detail {
        Detail::Concise => (None, None),
        Detail::Full => {
            let (listed, next) = page(investigation.nodes().map(|node| Listed::of(node)), start, room);
            (Some(listed), next)
        }
    };
    Body {
        session_id: meta.id.to_string(),
        query: shorten(&meta.query, QUERY),
        title: shorten(&meta.title, TITLE),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        min_rounds: meta.min_rounds,
        ended_at: investigation.conclusion().map(|conclusion| conclusion.ended_at.to_string()),
        active_by_state: active,
        total_nodes: total,
        pending: pending(investigation),
        listed,
        next_cursor,
        faults: snapshot.faults.iter().map(ToString::to_string).collect(),
        ..Body::default()
    }
}

/// A page of a list: as many entries from `start` on as fit into so many bytes, and where the next page begins.
fn page<T: Serialize>(
    entries: impl Iterator<Item = T>,
    start: usize,
    room: usize,
) -> (Vec<T>, Option<String>) {
    let mut entries = entries.skip(start).peekable();
    let mut page = Vec::new();
    let mut left = room;
    while let Some(entry) = entries.peek() {
        let needs = serde_json::to_string(entry).map_or(0, |text| text.len() + 1);
        if page.len() == PAGE || (!page.is_empty() && needs > left) {
            let next = start.saturating_add(page.len()).to_string();
            return (page, Some(next));
        }
        left = left.saturating_sub(needs);
        page.extend(entries.next());
    }
    (page, None)
}

impl Listed {
    fn of(node: &Node) -> Self {
        Listed {
            node_id: node.id.to_string(),
            state: node.state().map(ToString::to_string),
            title: shorten(&node.title, TITLE),
        }
    }
}
