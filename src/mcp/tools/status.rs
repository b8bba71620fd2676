//! `tot_status`: the state of an investigation. Its digest is for an agent that comes back without its context: the question, a
//! line for each node that matters, and the next step.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::bounded::sent;
use super::super::tool::{About, Tool};
use super::super::wire::{GraphForm, Shared, figures, pending};
use super::{answer, graph_of};
use crate::assess::{self, Assessment};
use crate::decide::quality::quality;
use crate::decide::standing::{NextRound, at_odds, outlook};
use crate::domain::{Code, Diagnostic, Node};
use crate::markdown;
use crate::ruleset::rules::children::children;
use crate::service::sharing::RemoteStanding;
use crate::service::{Refusal, Service, Standing, Unjudged};
use crate::store::Snapshot;
use crate::text::{one_line, shorten};

/// How many entries a page has at most.
const PAGE: usize = 50;

/// The most characters of the question, and of the conclusion.
const QUERY: usize = 300;

/// The most characters of what was known beforehand.
const CONTEXT: usize = 160;

/// The most characters of a title.
const TITLE: usize = 60;

/// The most characters of the address of a remote.
const ADDRESS: usize = 100;

/// The most characters of the gist of a node's findings.
const GIST: usize = 80;

/// The most characters of how far the best confirmation of the first answer is from it.
const DISTANCE: usize = 120;

/// The most bytes of the list of all nodes and of how it stands to a remote, as they are sent.
const LISTED: usize = 900;

/// The least bytes of the lists together, as they are sent.
const ROOM: usize = 500;

/// What the reply needs beside what this tool adds, in bytes.
const REST: usize = 1_000;

const ABOUT: About = About {
    name: "tot_status",
    title: "See how an investigation stands",
    description: "Shows how an investigation stands: question, answers, what is open, pending and owed. \
                  `detail: concise` leaves out the texts, `full` lists all nodes. In pages (`nextCursor`).",
    codes: &[],
    warnings: &[],
    also: &[],
    read_only: true,
    also_reads: false,
    idempotent: true,
    budget: 3_000,
};

/// What is to be seen.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// From tot_start.
    session_id: String,
    /// auto: DOT of a small tree.
    #[serde(default)]
    graph: GraphForm,
    /// full: all nodes.
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
    Digest,
    Concise,
    Full,
}

/// Which one it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The id, whole.
    session_id: String,
}

/// How it stands.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// What was known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
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
    /// running, ended, stoppedEarly, continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<assess::Outcome>,
    /// How far to trust the whole, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'static, str>>,
    /// The beginning of the conclusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<String>,
    /// The answers that it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rests_on: Vec<String>,
    /// Committed nodes in each state of the method.
    active_by_state: BTreeMap<String, usize>,
    /// Committed nodes.
    total_nodes: usize,
    /// Committed nodes in a closed state.
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_nodes: Option<usize>,
    /// What is missing in the lowest round that lacks nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_round_info: Option<NextRound>,
    /// A line for each answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<String>,
    /// A line for each other node whose state was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overturned: Vec<String>,
    /// Proposals that are not committed yet.
    pending: Vec<String>,
    /// A line for each open node that lacks children.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<Vec<String>>,
    /// All nodes, with `detail: full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    listed: Option<Vec<Listed>>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// How it stands to its remote; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<Sync>,
    /// The quality figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<Value>,
    /// Files of the investigation that can't be read, and nodes that its rules do not allow as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<String>,
    /// How many lines were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    omitted: BTreeMap<&'static str, usize>,
}

/// How an investigation stands to its remote.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sync {
    /// The address, without a password.
    remote: String,
    /// How many commits are here alone, by what was last seen there; absent before the first sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<usize>,
    /// How many commits are there alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<usize>,
    /// When this server last synced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_synced: Option<String>,
    /// Why the last sync failed. It is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What came last that a person should know: changed rules, edits by hand, false names.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl Sync {
    fn of(standing: RemoteStanding) -> Self {
        Sync {
            remote: shorten(&standing.remote, ADDRESS),
            ahead: standing.apart.map(|(ahead, _)| ahead),
            behind: standing.apart.map(|(_, behind)| behind),
            last_synced: standing.synced.last.map(|at| at.to_string()),
            error: standing.synced.error,
            notice: standing.synced.notice,
        }
    }
}

/// One node of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
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

fn run(service: &Service, input: Input) -> Result<(Shared, Body, Facts), Refusal> {
    let seen = service.look(&input.session_id)?;
    let start = match input.cursor.as_deref().map(str::trim).filter(|cursor| !cursor.is_empty()) {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| {
            Diagnostic::new(Code::InvalidArgument, "cursor: it is not one that a reply gave.")
                .suggest("Give `nextCursor` of the reply before, or leave it out for the first page.")
        })?,
    };
    let session = |snapshot: &Snapshot| snapshot.investigation.meta().id.to_string();
    Ok(match seen {
        Ok(standing) => {
            let outlook = outlook(standing.investigation(), &standing.rules());
            let graph = graph_of(&standing, input.graph);
            let shared = Shared { graph, ..Shared::standing(&standing, &outlook) };
            let body = Body { session_id: session(&standing.snapshot) };
            let facts = judged(service, &standing, &input, start);
            (shared, body, Facts { next_round_info: outlook.next_round, ..facts })
        }
        Err(unjudged) => {
            let body = Body { session_id: session(&unjudged.snapshot) };
            (Shared::unjudged(&unjudged), body, without_rules(service, &unjudged, &input, start))
        }
    })
}

fn judged(service: &Service, standing: &Standing, input: &Input, start: usize) -> Facts {
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let assessment = standing.assessment();
    let mut facts = facts(service, &standing.snapshot, input, start);
    facts.outcome = Some(assessment.outcome);
    facts.verdict = assessment.words();
    facts.rests_on = assessment.bound().map(|bound| bound.id.to_string()).collect();
    let states = rules.ruleset().states.iter().map(|state| (state.name.to_string(), 0));
    let counted = std::mem::take(&mut facts.active_by_state);
    facts.active_by_state = states.chain(counted).collect();
    facts.terminal_nodes =
        Some(investigation.committed().filter(|(_, state)| rules.is_terminal(state)).count());
    facts.faults.extend(at_odds(investigation, &rules).iter().map(ToString::to_string));
    facts.quality = Some(figures(&quality(investigation, &rules)));
    let mut room = (ABOUT.budget - REST).saturating_sub(sent(&facts)).max(ROOM);
    if input.detail == Detail::Digest && start == 0 {
        let mut lines = |name, lines: &mut dyn Iterator<Item = String>| {
            let most = room / 2;
            let (shown, next) = page(&mut *lines, 0, most);
            room -= sent(&shown).min(most);
            // The page has taken the next one, too, to see that it does not fit.
            let more = lines.count() + usize::from(next.is_some());
            facts.omitted.extend((more > 0).then_some((name, more)));
            shown
        };
        facts.answers = lines("answers", &mut answers(&assessment));
        facts.overturned = lines("overturned", &mut overturned(&assessment));
    }
    let incomplete = rules.incomplete(investigation).into_iter().map(|(node, requirement)| {
        let lacks = children(requirement.missing(), requirement.of);
        line(node, &format!("needs {lacks}"), input.detail == Detail::Digest)
    });
    // The cursor goes through the nodes where these are listed.
    let (page, next) = page(incomplete, if facts.listed.is_some() { 0 } else { start }, room);
    facts.next_cursor = if facts.listed.is_some() { facts.next_cursor } else { next };
    facts.incomplete = Some(page);
    facts
}

/// What answers the question, each with how far to trust it, what the conclusion rests on first.
fn answers(assessment: &Assessment<'_>) -> impl Iterator<Item = String> {
    let first = assessment.first().map(|answer| &answer.node.id);
    let answers = assessment.answers.iter().map(move |answer| {
        let stands = match answer.runs.is_empty() {
            true => answer.words(),
            false => format!("{}; {}", answer.words(), assessment.evidence_words(answer)).into(),
        };
        let line = line(answer.node, &stands, true);
        // Of one that others follow, tot_read says it.
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

/// The other nodes whose state was changed after they were committed.
fn overturned(assessment: &Assessment<'_>) -> impl Iterator<Item = String> {
    let nodes = assessment.investigation.committed().map(|(node, _)| node);
    let told = nodes.filter(|node| assessment.answer(&node.id).is_none());
    told.filter_map(|node| {
        let change = node.classification.as_ref()?.reclassified.last()?;
        Some(line(node, &format!("was {}", change.from), true))
    })
}

/// A node in a line: where it stands, its title, and the gist of its findings where it is wanted.
fn line(node: &Node, stands: &str, with_gist: bool) -> String {
    let state = node.state().map(ToString::to_string).unwrap_or_default();
    let found = node.classification.as_ref().map_or("", |it| it.findings.as_str());
    let gist = if with_gist { markdown::excerpt(found, GIST) } else { String::new() };
    let gist = if gist.is_empty() { gist } else { format!(": {gist}") };
    format!("{} {state} ({stands}) {}{gist}", node.id, shorten(node.name(), TITLE))
}

/// What can be said of an investigation whose rules can't be used.
fn without_rules(service: &Service, unjudged: &Unjudged, input: &Input, start: usize) -> Facts {
    let facts = facts(service, &unjudged.snapshot, input, start);
    let fault = unjudged.snapshot.ruleset.as_ref().err().map(ToString::to_string);
    Facts { faults: fault.into_iter().chain(facts.faults).collect(), ..facts }
}

/// What needs no rules.
fn facts(service: &Service, snapshot: &Snapshot, input: &Input, start: usize) -> Facts {
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let mut active: BTreeMap<String, usize> = BTreeMap::new();
    for (_, state) in investigation.committed() {
        *active.entry(state.to_string()).or_default() += 1;
    }
    let total = active.values().sum();
    let sync = service.remote_standing(snapshot).map(Sync::of);
    let (listed, next_cursor) = match input.detail {
        Detail::Full => {
            let room = LISTED.saturating_sub(sync.as_ref().map_or(0, sent));
            let (listed, next) = page(investigation.nodes().map(|node| Listed::of(node)), start, room);
            (Some(listed), next)
        }
        Detail::Digest | Detail::Concise => (None, None),
    };
    let end = investigation.conclusion();
    let text = |text: &str, most| {
        let is_wanted = input.detail == Detail::Digest && start == 0;
        Some(shorten(&one_line(text), most)).filter(|text| is_wanted && !text.is_empty())
    };
    Facts {
        query: text(&meta.query, QUERY),
        context: meta.context.as_deref().and_then(|context| text(context, CONTEXT)),
        title: shorten(&meta.title, TITLE),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        min_rounds: meta.min_rounds,
        ended_at: end.map(|end| end.ended_at.to_string()),
        conclusion: end.and_then(|end| text(end.conclusion.as_deref()?, QUERY)),
        active_by_state: active,
        total_nodes: total,
        pending: pending(investigation),
        listed,
        next_cursor,
        sync,
        faults: snapshot.faults.iter().map(ToString::to_string).collect(),
        ..Facts::default()
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

impl Listed {
    fn of(node: &Node) -> Self {
        Listed {
            node_id: node.id.to_string(),
            state: node.state().map(ToString::to_string),
            title: shorten(node.name(), TITLE),
        }
    }
}
