//! `tot_read`: nodes, whole. The one tool that sends findings back as they came.
//!
//! As many of the nodes as fit one reply, in the order of the call; what is left is named in `rest`. Of a finding that is
//! too long for a reply there is a piece, and where the next begins; other texts of that length are cut, named in `cut`,
//! and whole in the node's resource.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::address::Address;
use super::super::tool::{About, Nothing, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::assess::{Answer, Assessment, Verdict, newest_runs};
use crate::domain::{AttachmentName, Code, Comment, Diagnostic, Investigation, Node, NodeId};
use crate::format::layout;
use crate::ruleset::EffectiveRules;
use crate::service::{Refusal, Service};
use crate::text::{counted, shorten};
use crate::view::NodeView;

const ABOUT: About = About {
    name: "tot_read",
    title: "Read nodes",
    description: "Reads nodes whole, as many as fit a reply; `rest` names the others. A long finding comes in pieces: \
                  call again with `offset` set to its `nextOffset`.",
    codes: &[Code::NodeNotFound],
    warnings: &[],
    also: &[],
    read_only: true,
    also_reads: false,
    idempotent: true,
    budget: 12_000,
};

/// The most bytes of JSON of the nodes. A client refuses a reply of 25,000 tokens.
const ROOM: usize = 8_000;

/// The least of a finding that is worth a piece, in bytes.
const PIECE: usize = 1_500;

/// The least share of a node of which others leave it room, in bytes.
const SHARE: usize = 2_500;

/// How many nodes one call may name: more never fit.
const NODES: usize = 50;

/// What is to be read.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// From tot_start.
    session_id: String,
    /// The nodes.
    #[schemars(extend("examples" = [["R2.A1"]], "minItems" = 1, "maxItems" = NODES))]
    node_ids: Vec<String>,
    /// Where in the first node's findings to begin.
    #[serde(default)]
    offset: u64,
}

/// The nodes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The nodes, in the order of the call.
    nodes: Vec<Map<String, Value>>,
    /// Nodes of the call that did not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rest: Vec<String>,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(&service, run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body, Nothing), Refusal> {
    let seen = service.look(&input.session_id)?;
    let snapshot = match &seen {
        Ok(standing) => &standing.snapshot,
        Err(unjudged) => &unjudged.snapshot,
    };
    let investigation = snapshot.investigation.as_ref();
    let mut nodes: Vec<&Arc<Node>> = Vec::new();
    let mut errors = Vec::new();
    for text in &input.node_ids {
        let id = text.trim();
        match id.parse::<NodeId>().ok().and_then(|id| investigation.node(&id)) {
            Some(node) if nodes.iter().any(|known| known.id == node.id) => {}
            Some(node) => nodes.push(node),
            None => errors.push(not_found(investigation, id)),
        }
    }
    if !errors.is_empty() {
        let standing = seen.ok().map(Box::new);
        return Err(Refusal { errors, standing });
    }
    let mut shared = match &seen {
        Ok(standing) => Shared::done(standing, None, &[]),
        Err(unjudged) => Shared::unjudged(unjudged),
    };
    let offset = usize::try_from(input.offset).unwrap_or(usize::MAX);
    let rules = seen.as_ref().ok().map(|standing| standing.rules());
    let read = read(investigation, rules, &nodes, offset);
    let rest: Vec<String> = read.rest.iter().map(ToString::to_string).collect();
    let mut more: Vec<String> = read
        .next
        .iter()
        .map(|(id, offset)| {
            format!("The findings of {id} go on: call again with nodeIds [{id}] and offset {offset}.")
        })
        .collect();
    if let Some(first) = rest.first() {
        let number = counted(rest.len(), "node");
        more.push(format!("Not all fit: call again for the {number} in `rest`, from {first} on."));
    }
    if !more.is_empty() {
        shared.message = more.join(" ");
    }
    Ok((shared, Body { nodes: read.nodes, rest }, Nothing {}))
}

fn not_found(investigation: &Investigation, id: &str) -> Diagnostic {
    let shown: String = id.chars().take(60).collect();
    let near = investigation.nodes().find(|node| node.id.as_str().eq_ignore_ascii_case(id));
    let suggestion = match near {
        Some(node) => format!("Did you mean {}?", node.id),
        None => "tot_status with `detail: full` lists the nodes.".to_owned(),
    };
    Diagnostic::new(Code::NodeNotFound, format!("There is no node `{shown}`.")).about(id).suggest(suggestion)
}

/// Some of the nodes, and the rest.
struct Read<'n> {
    nodes: Vec<Map<String, Value>>,
    /// The nodes whose findings go on, and where.
    next: Vec<(&'n NodeId, usize)>,
    /// The nodes that did not fit.
    rest: Vec<&'n NodeId>,
}

/// As many of the nodes as fit. Of a few, each gets its share, and what another does not need; of many, each that is begun is
/// ended.
fn read<'n>(
    investigation: &'n Investigation,
    rules: Option<EffectiveRules<'_>>,
    nodes: &[&'n Arc<Node>],
    offset: usize,
) -> Read<'n> {
    let mut room = ROOM;
    let mut read = Read { nodes: Vec::new(), next: Vec::new(), rest: Vec::new() };
    let share = ROOM / nodes.len().max(1);
    // Who reads on in one node has the beginning of the others.
    let is_shared = offset == 0 && share >= SHARE;
    let assessment = Assessment::new(investigation, rules);
    let parts = nodes.iter().map(|node| {
        let view = NodeView::new(investigation, rules, node);
        let findings = view.findings.clone();
        let mut fields = around(&assessment, view);
        fields.extend(judged(&assessment, assessment.answer(&node.id)));
        (*node, findings, fields)
    });
    let parts: Vec<_> = parts.collect();
    for (at, (node, findings, whole)) in parts.iter().enumerate() {
        let mut whole = whole.clone();
        let needs = bytes(&whole);
        let later = parts[at + 1..].iter().filter(|_| is_shared);
        let later = later.map(|(_, findings, whole)| (bytes(whole) + bytes(findings)).min(share));
        let left = room.saturating_sub(needs + later.sum::<usize>());
        let from = if at == 0 { offset } else { 0 };
        let (piece, next) = piece(findings.as_deref().unwrap_or_default(), from, left.max(PIECE));
        // The first is always begun; another one is not begun that would not be ended.
        if at > 0 && !is_shared && (needs > room || next.is_some() || bytes(&piece) > left) {
            read.rest = nodes[at..].iter().map(|node| &node.id).collect();
            return read;
        }
        room = room.saturating_sub(needs + bytes(&piece));
        if let Some(findings) = findings {
            whole.insert("findings".to_owned(), Value::from(piece));
            if next.is_some() || from > 0 {
                whole.insert("findingsLength".to_owned(), Value::from(findings.chars().count()));
            }
        }
        if let Some(next) = next {
            whole.insert("nextOffset".to_owned(), Value::from(next));
            read.next.push((&node.id, next));
        }
        read.nodes.push(whole);
    }
    read
}

/// What is made of an answer: how far to trust it, by whom it is confirmed and from how far, what those did not try, and
/// what contests or refutes it.
fn judged(assessment: &Assessment<'_>, answer: Option<&Answer<'_>>) -> Map<String, Value> {
    /// How many nodes are named.
    const NAMED: usize = 5;
    /// The most characters of what was not tried.
    const LIMIT: usize = 200;
    let mut judged = Map::new();
    let Some(answer) = answer else { return judged };
    judged.insert("verdict".to_owned(), json!(answer.words()));
    if answer.verdict == Verdict::Refuted {
        judged
            .insert("refutedBy".to_owned(), json!(answer.refuted_by.iter().take(NAMED).collect::<Vec<_>>()));
        return judged;
    }
    judged.insert("confirmation".to_owned(), json!(answer.grade));
    let distances = answer
        .confirming
        .iter()
        .take(NAMED)
        .filter_map(|by| Some(format!("{}: {}", by.node, assessment.distance(answer.node, by)?)));
    judged.insert("confirmedBy".to_owned(), distances.collect());
    if !answer.runs.is_empty() {
        judged.insert("evidenceVerdict".to_owned(), json!(assessment.evidence_words(answer)));
    }
    let limits = assessment.caveats(answer).take(NAMED).map(|limit| shorten(&limit.to_string(), LIMIT));
    judged.insert("limits".to_owned(), limits.collect());
    judged.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    let against: Vec<String> = answer.against.iter().take(NAMED).map(ToString::to_string).collect();
    if !against.is_empty() {
        judged.insert("contestedBy".to_owned(), json!(against));
    }
    judged
}

/// So many bytes of a text from a character on, as they are written in JSON, and where the next piece begins.
fn piece(text: &str, offset: usize, room: usize) -> (String, Option<usize>) {
    let mut piece = String::new();
    let mut left = room;
    for (at, character) in text.chars().enumerate().skip(offset) {
        let needs = match character {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            control if control < ' ' => 6,
            other => other.len_utf8(),
        };
        if needs > left {
            return (piece, Some(at));
        }
        left -= needs;
        piece.push(character);
    }
    (piece, None)
}

fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// How far the texts of a node are cut, the least first: characters of a text, entries of a list.
const CUTS: [(usize, usize); 3] = [(1_000, 8), (300, 4), (60, 2)];

/// Everything of a node but its findings, cut as far as it must be to leave room for these.
fn around(assessment: &Assessment<'_>, view: NodeView<'_>) -> Map<String, Value> {
    let mut tries = CUTS.into_iter().map(|cut| fields(assessment, view.clone(), cut));
    let last = tries.next_back();
    let mut fitting = tries.filter(|whole| bytes(whole) + PIECE <= ROOM);
    fitting.next().or(last).unwrap_or_default()
}

/// The fields of a node but its findings, those without a value left out, and what is cut.
fn fields(
    assessment: &Assessment<'_>,
    mut view: NodeView<'_>,
    (characters, entries): (usize, usize),
) -> Map<String, Value> {
    let investigation = assessment.investigation;
    // For their piece to come.
    view.findings = view.findings.map(|_| Cow::default());
    let cut = view.shorten(characters, entries);
    let more_children = view.children.len().saturating_sub(entries);
    view.children.truncate(entries);
    let mut fields = Map::new();
    // A tool names a node as its calls do.
    fields.insert("nodeId".to_owned(), Value::from(view.id.as_str()));
    if let Ok(Value::Object(all)) = serde_json::to_value(&view) {
        fields.extend(all.into_iter().filter(|(name, _)| name != "id"));
    }
    let said: Vec<_> = investigation.comments_on(view.id).collect();
    // The newest, since what is open is mostly there.
    let more_comments = said.len().saturating_sub(entries);
    let comments = said[more_comments..]
        .iter()
        .map(|comment| Comment { text: shorten(&comment.text, characters), ..(***comment).clone() });
    fields.insert("comments".to_owned(), json!(comments.collect::<Vec<_>>()));
    fields.insert("attachments".to_owned(), attachments(investigation, view.id));
    let (runs, more_runs) = newest_runs(assessment.runs_of(view.id), entries);
    let shown = runs.iter().map(|run| run.entry(characters, entries));
    fields.insert("runs".to_owned(), json!(shown.collect::<Vec<_>>()));
    if more_runs > 0 {
        fields.insert("moreRuns".to_owned(), Value::from(more_runs));
    }
    if more_comments > 0 {
        fields.insert("moreComments".to_owned(), Value::from(more_comments));
    }
    if more_children > 0 {
        fields.insert("moreChildren".to_owned(), Value::from(more_children));
    }
    if !cut.is_empty() {
        let address = Address::Node(investigation.meta().id.to_string(), view.id.to_string());
        fields.insert("cut".to_owned(), Value::from(cut));
        fields.insert("resource".to_owned(), Value::from(address.to_string()));
    }
    without_absent(&mut fields);
    fields
}

/// Returns the attachments of a node.
fn attachments(investigation: &Investigation, node: &NodeId) -> Value {
    let files = investigation.attachments_of(node).iter();
    let file = |(name, bytes): (&AttachmentName, &u64)| json!({"name": name.as_str(), "bytes": bytes, "path": layout::attachment(node, name)});
    files.map(file).collect()
}

/// Removes fields without a value: `null` and empty lists, at every depth.
fn without_absent(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(entries) => {
            entries.iter_mut().filter_map(Value::as_object_mut).for_each(without_absent);
            !entries.is_empty()
        }
        _ => true,
    });
}
