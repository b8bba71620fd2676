//! `tot_read` returns full nodes, to continue another agent's work. Only this tool returns findings unchanged.
//!
//! A reply contains as many of the requested nodes as fit, in the requested order. `rest` names the others. Findings
//! that are too long are returned in pieces. Other fields that are too long are cut and named in `cut`. The node's
//! resource contains them in full.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::resources::length;
use super::super::tool::About;
use super::ToolOutcome;
use crate::assess::{Assessment, SourceIn, SourceUse, newest_runs};
use crate::domain::{Caller, Code, Conclusion, Diagnostic, Investigation, Node, NodeId};
use crate::json::{self, CommentJson, NodeJson};
use crate::service::address::ResourceAddress;
use crate::service::reply::{AttachmentEntry, ReplyFields, ReplyMessage};
use crate::service::{Loaded, Refusal, Service};
use crate::text::{counted, shorten};

pub(super) const ABOUT: About = About {
    name: "tot_read",
    title: "Read nodes",
    description: "Reads whole nodes, or the report (`conclusion`), as much as fits; `rest` names the others. Long \
                  texts go on at `offset` = `nextOffset`.",
    codes: &[Code::NodeNotFound],
    read_only: true,
    budget: 12_000,
    ..About::PLAIN
};

/// The maximum size of the nodes, in bytes of JSON. Clients refuse replies of 25,000 tokens.
const ROOM: usize = 8_000;

/// The minimum size of a piece of findings, in bytes.
const PIECE: usize = 1_500;

/// The minimum share for each node, in bytes. If there are too many nodes for this share, they are read one after the
/// other.
const SHARE: usize = 2_500;

/// The maximum number of nodes in a call. More nodes would never fit.
const NODES: usize = 50;

/// Names the report among the nodes.
const REPORT: &str = "conclusion";

/// The nodes to read.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadInput {
    /// From tot_start.
    session_id: String,
    /// The nodes.
    #[schemars(extend("examples" = [["R2.A1"]], "minItems" = 1, "maxItems" = NODES))]
    node_ids: Vec<String>,
    /// Start in the first node's findings.
    #[serde(default)]
    offset: u64,
}

/// The nodes that were read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadBody {
    /// The nodes, in the requested order.
    nodes: Vec<Map<String, Value>>,
    /// The ids of the nodes that did not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rest: Vec<String>,
}

pub(super) fn run(service: &Service, input: ReadInput, _: &Caller) -> ToolOutcome<ReadBody> {
    let snapshot = service.look(&input.session_id)?;
    let investigation = snapshot.investigation.as_ref();
    let inputs = service.inputs(investigation);
    let assessment = Assessment::new(investigation, snapshot.rules()).with_inputs(inputs.as_ref());
    let (reports, others): (Vec<&str>, Vec<&str>) =
        input.node_ids.iter().map(|id| id.trim()).partition(|id| *id == REPORT);
    if let (Some(report), false) = (investigation.report(), reports.is_empty()) {
        let others = others.into_iter().filter(|id| investigation.find(id).is_ok()).collect();
        return Ok(report_read(report, &assessment, input.offset, others, ReplyFields::seen(&snapshot)));
    }
    let mut nodes: Vec<&Arc<Node>> = Vec::new();
    let mut errors = Vec::new();
    for text in &input.node_ids {
        let id = text.trim();
        match investigation.find(id) {
            Ok(node) if nodes.iter().any(|known| known.id == node.id) => {}
            Ok(node) => nodes.push(node),
            Err(error) => errors.push(error.ambiguous(id).unwrap_or_else(|| not_found(investigation, id))),
        }
    }
    if !errors.is_empty() {
        let loaded = Loaded::of(&snapshot).ok().map(Box::new);
        return Err(Refusal { errors, loaded });
    }
    let mut shared = ReplyFields::seen(&snapshot);
    let offset = usize::try_from(input.offset).unwrap_or(usize::MAX);
    let read = read(&assessment, &nodes, offset);
    let rest: Vec<String> = read.rest.iter().map(ToString::to_string).collect();
    let mut more: Vec<String> = read
        .next
        .iter()
        .map(|(id, offset)| {
            format!("The findings of {id} continue: call again with nodeIds [{id}] and offset {offset}.")
        })
        .collect();
    if let Some(first) = rest.first() {
        let number = counted(rest.len(), "node");
        more.push(format!("Some nodes did not fit: call again for the {number} in `rest`, from {first} on."));
    }
    if !more.is_empty() {
        shared.message = ReplyMessage::note(more.join(" "));
    }
    Ok((shared, ReadBody { nodes: read.nodes, rest }, ()))
}

/// Reads the report or its draft, as one node.
fn report_read(
    report: &Conclusion,
    assessment: &Assessment<'_>,
    offset: u64,
    others: Vec<&str>,
    mut shared: ReplyFields,
) -> (ReplyFields, ReadBody, ()) {
    let whole = nonempty_fields(json!({
        "nodeId": REPORT,
        "bottomLine": report.bottom_line,
        "notCovered": report.not_covered,
    }));
    let r#in = if report.draft { SourceIn::Draft } else { SourceIn::Conclusion };
    let mut fields = fitting(|(characters, entries)| {
        let mut fields = whole.clone();
        let cut = json::shorten(&mut fields, characters, entries);
        let uses = assessment.sources_in(&report.report(), r#in, None, &|_| None);
        let (sources, more) = sources(uses, characters, entries);
        let more = (more > 0).then_some(more);
        fields.extend(nonempty_fields(json!({"cut": cut, "sources": sources, "moreSources": more})));
        fields
    });
    let room = ROOM.saturating_sub(bytes(&fields)).max(PIECE);
    let text = report.conclusion.as_deref().unwrap_or_default();
    let (piece, next) = piece(text, usize::try_from(offset).unwrap_or(usize::MAX), room);
    fields.extend(nonempty_fields(json!({"conclusion": piece, "nextOffset": next})));
    let mut more = next.map_or_else(String::new, |next| {
        format!("The report continues: call again with nodeIds [{REPORT}] and offset {next}. ")
    });
    more.push_str(if others.is_empty() { "" } else { "Call again for the nodes in `rest`." });
    if !more.is_empty() {
        shared.message = ReplyMessage::note(more.trim_end().to_owned());
    }
    let rest = others.into_iter().map(str::to_owned).collect();
    (shared, ReadBody { nodes: vec![fields], rest }, ())
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

/// The nodes that fit into a reply, and the rest.
struct NodesRead<'n> {
    nodes: Vec<Map<String, Value>>,
    /// The nodes whose findings continue, with their next offsets.
    next: Vec<(&'n NodeId, usize)>,
    /// The nodes that did not fit.
    rest: Vec<&'n NodeId>,
}

/// Reads as many of the nodes as fit. If there are few nodes, they share the room, and unused shares go to the other
/// nodes. If there are many nodes, each node after the first is read completely or not at all.
fn read<'n>(assessment: &Assessment<'n>, nodes: &[&'n Arc<Node>], offset: usize) -> NodesRead<'n> {
    let mut room = ROOM;
    let mut read = NodesRead { nodes: Vec::new(), next: Vec::new(), rest: Vec::new() };
    let share = ROOM / nodes.len().max(1);
    // If the call continues a node, the agent already has the beginnings of the others.
    let is_shared = offset == 0 && share >= SHARE;
    let parts = nodes.iter().map(|node| {
        let findings = node.classification.as_ref().map(|result| result.findings.as_str());
        let view = NodeJson::new(assessment, node);
        let fields = fitting(|cut| fields(assessment, view.clone(), cut));
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
        // The first node may be incomplete. Later nodes must fit completely unless the nodes share the room.
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

/// Returns the piece of the text that starts at a character offset and takes up at most `room` bytes in JSON, along
/// with the next piece's offset.
fn piece(text: &str, offset: usize, room: usize) -> (String, Option<usize>) {
    let mut piece = String::new();
    let mut left = room;
    for (at, character) in text.chars().enumerate().skip(offset) {
        let needs = length(character.encode_utf8(&mut [0; 4]));
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

/// The limits to try for a node's fields, mildest first: characters per text field and entries per list.
const CUTS: [(usize, usize); 3] = [(1_000, 8), (300, 4), (60, 2)];

/// Returns the fields at the mildest cut that leaves room for a piece of the text.
fn fitting(fields: impl Fn((usize, usize)) -> Map<String, Value>) -> Map<String, Value> {
    let mut tries = CUTS.into_iter().map(fields);
    let last = tries.next_back();
    let mut fitting = tries.filter(|whole| bytes(whole) + PIECE <= ROOM);
    fitting.next().or(last).unwrap_or_default()
}

/// Returns the fields of a node with empty findings. Absent fields are left out, and cut fields are named in `cut`.
fn fields(
    assessment: &Assessment<'_>,
    mut view: NodeJson<'_>,
    (characters, entries): (usize, usize),
) -> Map<String, Value> {
    let (investigation, id) = (assessment.investigation, &view.node.id);
    let findings = view.node.classification.as_ref().map_or("", |result| &result.findings);
    let (sources, more_sources) = sources(
        assessment.sources_in(findings, SourceIn::Findings, Some(id), &|_| None),
        characters,
        entries,
    );
    let more_children = view.children.len().saturating_sub(entries);
    view.children.truncate(entries);
    let mut fields = nonempty_fields(serde_json::to_value(&view).unwrap_or_default());
    // The caller inserts the piece of the findings.
    fields.entry("findings").and_modify(|findings| *findings = Value::from(""));
    let cut = json::shorten(&mut fields, characters, entries);
    let comments: Vec<_> = investigation.comments_on(id).collect();
    // The newest comments are kept because they include most of the open ones.
    let more_comments = comments.len().saturating_sub(entries);
    let comments = comments[more_comments..]
        .iter()
        .map(|comment| CommentJson { text: shorten(&comment.text, characters), ..CommentJson::new(comment) });
    let (runs, more_runs) = newest_runs(assessment.runs_of(id), entries);
    let shown = runs.iter().map(|run| run.entry(characters, entries));
    let address = ResourceAddress::Node(investigation.meta().id.to_string(), id.to_string());
    let more = |number: usize| (number > 0).then_some(number);
    fields.extend(nonempty_fields(json!({
        "comments": comments.collect::<Vec<_>>(),
        "attachments": AttachmentEntry::all(investigation, id),
        "runs": shown.collect::<Vec<_>>(),
        "moreRuns": more(more_runs),
        "sources": sources,
        "moreSources": more(more_sources),
        "moreComments": more(more_comments),
        "moreChildren": more(more_children),
        "cut": &cut,
        "resource": (!cut.is_empty()).then(|| address.to_string()),
    })));
    fields
}

/// Returns how each passage with a source is known, first those whose sources no longer say it, and the number of those left
/// out.
fn sources(mut uses: Vec<SourceUse<'_>>, characters: usize, entries: usize) -> (Vec<Value>, usize) {
    uses.sort_by_key(|it| it.class != "differs");
    let shown = uses.iter().take(entries).map(|it| {
        let text = shorten(&it.text, characters);
        json!({"text": text, "target": shorten(&it.target, characters), "state": it.state})
    });
    (shown.collect(), uses.len().saturating_sub(entries))
}

/// Returns the fields of an object, without `null` fields and empty lists at any depth.
fn nonempty_fields(object: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = object else { return Map::new() };
    without_absent(&mut fields);
    fields
}

/// Removes `null` fields and empty lists at every depth.
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
