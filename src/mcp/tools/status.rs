//! `tot_status` reports the progress: open nodes, missing steps, the next call. The digest helps an agent that has lost
//! its context. It contains the question, a line for each relevant node, and the next step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::tool::About;
use super::{ToolOutcome, graph_of, invalid_cursor};
use crate::assess::{self, Assessment};
use crate::decide::blockers::at_odds;
use crate::decide::next::{NextRound, outlook};
use crate::decide::quality::quality;
use crate::domain::{Caller, Node};
use crate::json::BoundJson;
use crate::markdown;
use crate::ruleset::rules::children::children;
use crate::service::reply::sent;
use crate::service::reply::{GraphForm, GraphNode, ReplyFields, figures, pending};
use crate::service::sharing::SyncStatus;
use crate::service::signoff;
use crate::service::{Loaded, Service};
use crate::store::Snapshot;
use crate::text::{one_line, shorten};

/// The maximum number of entries on a page.
const PAGE: usize = 50;

/// The maximum length of the question and the conclusion, in characters.
const QUERY: usize = 300;

/// The maximum length of the context, in characters.
const CONTEXT: usize = 160;

/// The maximum length of a title, in characters.
const TITLE: usize = 60;

/// The maximum length of a remote's address, in characters.
const ADDRESS: usize = 100;

/// The maximum length of an excerpt of findings, in characters.
const GIST: usize = 80;

/// The maximum length of a description of the distance between an answer and its confirmation, in characters.
const DISTANCE: usize = 120;

/// The maximum total size of the node list and the sync status, in bytes as sent.
const LISTED: usize = 900;

/// The total size that the other lists may always take up, in bytes as sent.
const ROOM: usize = 500;

/// The size of the reply's shared fields, in bytes.
const REST: usize = 1_000;

pub(super) const ABOUT: About = About {
    name: "tot_status",
    title: "Show an investigation's status",
    description: "Shows an investigation's status: question, answers, open and pending nodes, required steps. \
                  Paged (`nextCursor`).",
    read_only: true,
    budget: 3_000,
    ..About::PLAIN
};

/// The investigation, and the parts to show.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusInput {
    /// From tot_start.
    session_id: String,
    /// auto: DOT of a small tree.
    #[serde(default = "GraphForm::none")]
    graph: GraphForm,
    /// concise: without text; full: all nodes.
    #[serde(default)]
    detail: StatusDetail,
    /// From `nextCursor`.
    cursor: Option<String>,
}

/// The level of detail.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum StatusDetail {
    #[default]
    Digest,
    Concise,
    Full,
}

/// The part of the reply that is always sent in full.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusBody {
    /// The full id of the investigation.
    session_id: String,
}

/// The status of an investigation.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusFacts {
    /// The question.
    query: Option<String>,
    /// The context: the facts known when the investigation started.
    context: Option<String>,
    /// The title.
    title: String,
    /// The method.
    ruleset: String,
    /// The mode.
    mode: String,
    /// The number of rounds required before the investigation can end.
    min_rounds: u32,
    /// The time when the investigation ended; absent while it is open.
    ended_at: Option<String>,
    /// `running`, `ended`, `stoppedEarly`, `continued` or `reopened`.
    outcome: Option<assess::Outcome>,
    /// The verdict on the investigation, once it has ended.
    verdict: Option<Cow<'static, str>>,
    /// The whole verdict, as on the first page of a report.
    sentence: Option<String>,
    /// The bottom line of the conclusion, with how each passage is known.
    bottom_line: Option<String>,
    /// The beginning of the draft of the report.
    draft: Option<String>,
    /// The beginning of the conclusion.
    conclusion: Option<String>,
    /// The answers that the conclusion rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rests_on: Vec<BoundJson>,
    /// The number of committed nodes in each of the method's states.
    active_by_state: BTreeMap<String, usize>,
    /// The number of committed nodes.
    total_nodes: usize,
    /// The number of committed nodes in a terminal state.
    terminal_nodes: Option<usize>,
    /// The requirements for the lowest round that lacks nodes.
    next_round_info: Option<NextRound>,
    /// The answers, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<String>,
    /// Nodes that are not answers and whose state was changed, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overturned: Vec<String>,
    /// Proposed nodes without a result.
    pending: Vec<String>,
    /// Open nodes that lack children, one line each.
    incomplete: Option<Vec<String>>,
    /// All nodes, if `detail` is `full`.
    listed: Option<Vec<GraphNode>>,
    /// The cursor for the next page; absent on the last page.
    next_cursor: Option<String>,
    /// The sync status for the remote; absent if there is no remote.
    sync: Option<SyncStatus>,
    /// The quality metrics.
    quality: Option<Value>,
    /// Files that cannot be read, and nodes that violate the rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
    /// The number of omitted lines in each list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    omitted: BTreeMap<&'static str, usize>,
}

pub(super) fn run(service: &Service, input: StatusInput, _: &Caller) -> ToolOutcome<StatusBody, StatusFacts> {
    let snapshot = service.look(&input.session_id)?;
    let start = match input.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| invalid_cursor())?,
    };
    let body = StatusBody { session_id: snapshot.investigation.meta().id.to_string() };
    let facts = facts(service, &snapshot, &input, start);
    let Ok(loaded) = Loaded::of(&snapshot) else {
        return Ok((ReplyFields::seen(&snapshot), body, facts));
    };
    let outlook = outlook(loaded.investigation(), &loaded.rules());
    let graph = graph_of(&loaded, input.graph);
    let shared = ReplyFields { graph, ..ReplyFields::loaded(&loaded, &outlook) };
    let facts = with_rules(service, &loaded, &input, start, facts);
    Ok((shared, body, StatusFacts { next_round_info: outlook.next_round, ..facts }))
}

/// Adds the parts of the status that depend on rules.
fn with_rules(
    service: &Service,
    loaded: &Loaded,
    input: &StatusInput,
    start: usize,
    mut facts: StatusFacts,
) -> StatusFacts {
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let assessment = loaded.assessment().with_inputs(service.inputs(investigation).as_ref());
    facts.outcome = Some(assessment.outcome);
    facts.verdict = assessment.words();
    let sign_offs = signoff::looked_up(service.store(), &loaded.snapshot, false);
    facts.sentence = Some(assessment.sentence(&sign_offs.signed()));
    facts.rests_on = BoundJson::all(&assessment);
    let known = facts.bottom_line.and_then(|_| assessment.known_bottom_line());
    facts.bottom_line = known.map(|line| shorten(&one_line(&line), QUERY));
    let states = rules.ruleset().states.iter().map(|state| (state.name.to_string(), 0));
    let counted = std::mem::take(&mut facts.active_by_state);
    facts.active_by_state = states.chain(counted).collect();
    facts.terminal_nodes =
        Some(investigation.committed().filter(|(_, state)| rules.is_terminal(state)).count());
    facts.faults.extend(at_odds(investigation, &rules).iter().map(ToString::to_string));
    facts.quality = (input.detail == StatusDetail::Full).then(|| figures(&quality(investigation, &rules)));
    let mut room = (ABOUT.budget - REST).saturating_sub(sent(&facts)).max(ROOM);
    if input.detail == StatusDetail::Digest && start == 0 {
        let mut lines = |name, lines: &mut dyn Iterator<Item = String>| {
            let most = room / 2;
            let (shown, next) = page(&mut *lines, 0, most);
            room -= sent(&shown).min(most);
            // `page` also consumed the first line that does not fit.
            let more = lines.count() + usize::from(next.is_some());
            facts.omitted.extend((more > 0).then_some((name, more)));
            shown
        };
        facts.answers = lines("answers", &mut answers(&assessment));
        facts.overturned = lines("overturned", &mut overturned(&assessment));
    }
    let incomplete = rules.incomplete(investigation).map(|(node, requirement)| {
        let lacks = children(requirement.missing(), requirement.of);
        line(node, &format!("needs {lacks}"), input.detail == StatusDetail::Digest)
    });
    // The cursor refers to the node list if `detail` is `full`.
    let (page, next) = page(incomplete, if facts.listed.is_some() { 0 } else { start }, room);
    facts.next_cursor = if facts.listed.is_some() { facts.next_cursor } else { next };
    facts.incomplete = Some(page);
    facts
}

/// Returns a line for each answer with its verdict: the conclusion's answers first, then theories, then refuted
/// answers.
fn answers(assessment: &Assessment<'_>) -> impl Iterator<Item = String> {
    let first = assessment.first().map(|answer| &answer.node.id);
    let answers = assessment.answers.iter().map(move |answer| {
        let remark = match answer.runs.is_empty() {
            true => answer.words(),
            false => format!("{}; {}", answer.words(), assessment.evidence_words(answer)).into(),
        };
        let line = line(answer.node, &remark, true);
        // tot_read shows the distance for the other answers.
        let best = answer.confirming.first().filter(|_| first == Some(&answer.node.id));
        match best.and_then(|best| Some((&best.node, assessment.distance(answer.node, best)?))) {
            Some((by, distance)) => format!("{line} [{by}: {}]", shorten(&distance.to_string(), DISTANCE)),
            None => line,
        }
    });
    let refuted = assessment.refuted.iter().map(|answer| {
        let by = answer.refuted_by.first().map(|by| format!(" by {by}")).unwrap_or_default();
        line(answer.node, &format!("{}{by}", answer.verdict.label()), true)
    });
    let theories = assessment.theories.iter().map(|node| line(node, "untestable here", true));
    answers.chain(theories).chain(refuted)
}

/// Returns a line for each node that is not an answer and whose state was changed after the node was committed.
fn overturned(assessment: &Assessment<'_>) -> impl Iterator<Item = String> {
    let nodes = assessment.investigation.committed().map(|(node, _)| node);
    let told = nodes.filter(|node| assessment.answer(&node.id).is_none());
    told.filter_map(|node| {
        let change = node.classification.as_ref()?.reclassified.last()?;
        Some(line(node, &format!("was {}", change.from), true))
    })
}

/// Formats a node as a line: its state, a remark in parentheses, its title and, if requested, an excerpt of its
/// findings.
fn line(node: &Node, remark: &str, with_gist: bool) -> String {
    let state = node.state().map(ToString::to_string).unwrap_or_default();
    let found = node.classification.as_ref().map_or("", |it| it.findings.as_str());
    let gist = if with_gist { markdown::excerpt(found, GIST) } else { String::new() };
    let gist = if gist.is_empty() { gist } else { format!(": {gist}") };
    format!("{} {state} ({remark}) {}{gist}", node.id, shorten(node.name(), TITLE))
}

/// Returns the parts of the status that do not depend on rules.
fn facts(service: &Service, snapshot: &Snapshot, input: &StatusInput, start: usize) -> StatusFacts {
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for (_, state) in investigation.committed() {
        *active.entry(state.to_string()).or_default() += 1;
    }
    let total = active.values().sum();
    let sync = service.remote_standing(snapshot);
    let sync = sync.map(|it| SyncStatus { remote: shorten(&it.remote, ADDRESS), ..it });
    let (listed, next_cursor) = match input.detail {
        StatusDetail::Full => {
            let room = LISTED.saturating_sub(sync.as_ref().map_or(0, sent));
            let entry = |node: &Arc<Node>| GraphNode {
                parent: None,
                title: shorten(node.name(), TITLE),
                ..GraphNode::of(node)
            };
            let (listed, next) = page(investigation.nodes().map(entry), start, room);
            (Some(listed), next)
        }
        StatusDetail::Digest | StatusDetail::Concise => (None, None),
    };
    let end = investigation.conclusion();
    let text = |text: &str, most| {
        let is_wanted = input.detail == StatusDetail::Digest && start == 0;
        Some(shorten(&one_line(text), most)).filter(|text| is_wanted && !text.is_empty())
    };
    StatusFacts {
        query: text(&meta.query, QUERY),
        context: meta.context.as_deref().and_then(|context| text(context, CONTEXT)),
        title: shorten(&meta.title, TITLE),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        min_rounds: meta.min_rounds,
        ended_at: investigation.end().map(|end| end.ended_at.to_string()),
        bottom_line: end.and_then(|end| text(&end.bottom_line, QUERY)),
        draft: investigation.draft().and_then(|draft| text(&draft.report(), QUERY)),
        conclusion: end.and_then(|end| text(end.conclusion.as_deref()?, QUERY)),
        active_by_state: active,
        total_nodes: total,
        pending: pending(investigation),
        listed,
        next_cursor,
        sync,
        faults: snapshot.all_faults().map(ToString::to_string).collect(),
        ..StatusFacts::default()
    }
}

/// Returns a page of a list (the entries from `start` that fit into `room` bytes) and the cursor for the next page.
fn page<T: Serialize>(
    entries: impl Iterator<Item = T>,
    start: usize,
    room: usize,
) -> (Vec<T>, Option<String>) {
    let mut entries = entries.skip(start).peekable();
    let mut page = Vec::new();
    let mut left = room;
    while let Some(entry) = entries.peek() {
        let needs = sent(entry) + 1;
        if page.len() == PAGE || (!page.is_empty() && needs > left) {
            let next = start.saturating_add(page.len()).to_string();
            return (page, Some(next));
        }
        left = left.saturating_sub(needs);
        page.extend(entries.next());
    }
    (page, None)
}
