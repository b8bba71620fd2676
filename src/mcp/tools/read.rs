//! `tot_read`: nodes, whole. The one tool that sends findings back as they came.
//!
//! As many of the nodes as fit one reply, in the order of the call; what is left is named in `rest`. Of a finding that is
//! too long for a reply there is a piece, and where the next begins; other texts of that length are cut, named in `cut`,
//! and whole in the node's resource.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::address::Address;
use super::super::bounded::LIMIT;
use super::super::tool::{About, Tool};
use super::super::wire::{Notice, Object, Shared};
use super::answer;
use crate::domain::{Author, Code, Diagnostic, Investigation, Node, NodeId, Reclassification, Warning};
use crate::service::{Refusal, Service};
use crate::text::shorten;

const ABOUT: About = About {
    name: "tot_read",
    title: "Read nodes",
    description: "Reads nodes whole, without writing: findings, evidence, what was planned, warnings, every change of \
                  state. For taking up another's work; other tools send only the beginning of a finding. As many as \
                  fit a reply; `rest` names the others. A long finding comes in pieces: call again for that node with \
                  `offset` set to its `nextOffset`. Codes: NODE_NOT_FOUND, SESSION_NOT_FOUND.",
    read_only: true,
    idempotent: true,
};

/// What the reply needs beside its nodes, in bytes.
const REST: usize = 4_000;

/// The least of a finding that is worth a piece, in bytes.
const PIECE: usize = 1_500;

/// How many blockers the reply has.
const BLOCKERS: usize = 3;

/// How many nodes one call may name: more never fit.
const NODES: usize = 50;

/// What is to be read.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// The nodes.
    #[schemars(extend("examples" = [["R2.A1"]], "minItems" = 1, "maxItems" = NODES))]
    node_ids: Vec<String>,
    /// The character of the first node's findings to begin at.
    #[serde(default)]
    offset: u64,
}

/// The nodes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The nodes, in the order of the call.
    #[schemars(with = "Vec<Object>", extend("x-keep" = "whole"))]
    nodes: Vec<Whole>,
    /// Nodes of the call that did not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rest: Vec<String>,
}

/// A node.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Whole {
    node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    children: Vec<String>,
    /// How many of the children are not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_children: Option<usize>,
    title: String,
    planned_action: String,
    proposed_at: String,
    /// Absent while it is only proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<String>,
    /// How many characters the findings have.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings_length: Option<usize>,
    /// Where the next piece of them begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification_method: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Object>")]
    warnings: Vec<Notice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Object>")]
    reclassified: Vec<Change>,
    /// Fields that are cut here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'static str>,
    /// Where a cut node is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
}

/// A change of state.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Change {
    from: String,
    to: String,
    at: String,
    /// The child that brought it about.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification_method: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<String>,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
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
    let (read, rest) = read(investigation, &nodes, offset);
    let more: Vec<String> = rest.iter().map(|node| node.id.to_string()).collect();
    let next = read.iter().find_map(|node| Some((&node.node_id, node.next_offset?)));
    shared.message = match (next, more.as_slice()) {
        (Some((id, offset)), _) => {
            format!("The findings of {id} go on: call again with nodeIds [{id}] and offset {offset}.")
        }
        (None, [first, ..]) => {
            format!(
                "Not all fit: call again for the {} in `rest`, from {first} on.",
                nodes_in_words(more.len())
            )
        }
        (None, []) => shared.message,
    };
    // What stands around it is for tot_status to tell.
    shared.shorten_blockers(BLOCKERS);
    Ok((shared, Body { nodes: read, rest: more }))
}

fn nodes_in_words(number: usize) -> String {
    if number == 1 { "1 node".to_owned() } else { format!("{number} nodes") }
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

/// As many of the nodes as fit, and the others.
fn read<'n>(
    investigation: &Investigation,
    nodes: &[&'n Arc<Node>],
    offset: usize,
) -> (Vec<Whole>, Vec<&'n Arc<Node>>) {
    let mut room = LIMIT - REST;
    let mut read: Vec<Whole> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let mut whole = around(investigation, node);
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        let needs = bytes(&whole);
        let left = room.saturating_sub(needs);
        let from = if at == 0 { offset } else { 0 };
        let (piece, next) = piece(findings, from, left.max(PIECE));
        // The first is always begun; another one is not begun that would not be ended.
        if at > 0 && (needs > room || next.is_some() || bytes(&piece) > left) {
            return (read, nodes[at..].to_vec());
        }
        room = left.saturating_sub(bytes(&piece));
        if next.is_some() || from > 0 {
            whole.findings_length = Some(findings.chars().count());
        }
        if node.classification.is_some() {
            whole.findings = Some(piece);
        }
        whole.next_offset = next;
        read.push(whole);
    }
    (read, Vec::new())
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

/// Everything of a node but its findings, cut as far as it must be to leave room for these.
fn around(investigation: &Investigation, node: &Node) -> Whole {
    let mut tries = CUTS.into_iter().map(|cut| Cutter { cut, fields: Vec::new() }.node(investigation, node));
    let last = tries.next_back();
    let mut fitting = tries.filter(|whole| bytes(whole) + PIECE <= LIMIT - REST);
    fitting.next().or(last).unwrap_or_default()
}

/// How far the texts of a node are cut, the least first.
const CUTS: [Cut; 3] =
    [Cut { text: 1_000, entries: 8 }, Cut { text: 300, entries: 4 }, Cut { text: 60, entries: 2 }];

/// How much is left of what is not a finding.
#[derive(Clone, Copy)]
struct Cut {
    /// Characters of a text.
    text: usize,
    /// Entries of a list.
    entries: usize,
}

/// Cuts, and keeps account of what was cut.
struct Cutter {
    cut: Cut,
    fields: Vec<&'static str>,
}

impl Cutter {
    fn node(mut self, investigation: &Investigation, node: &Node) -> Whole {
        let children: Vec<String> =
            investigation.children(&node.id).map(|child| child.id.to_string()).collect();
        let mut whole = Whole {
            node_id: node.id.to_string(),
            parent: node.parent.as_ref().map(ToString::to_string),
            more_children: children.len().checked_sub(self.cut.entries).filter(|more| *more > 0),
            children: children.into_iter().take(self.cut.entries).collect(),
            title: self.text("title", &node.title),
            planned_action: self.text("plannedAction", &node.planned_action),
            proposed_at: node.proposed_at.to_string(),
            ..Whole::default()
        };
        if let Some(it) = &node.classification {
            whole.state = Some(it.current_state().to_string());
            whole.requested_state = it.requested_state.as_ref().map(ToString::to_string);
            whole.agent_id = self.optional("agentId", it.agent_id.as_deref());
            whole.committed_at = Some(it.committed_at.to_string());
            whole.evidence = self.optional("evidence", it.evidence.as_deref());
            whole.verification_method =
                self.optional("verificationMethod", it.verification_method.as_deref());
            whole.alternatives_considered = self.texts("alternativesConsidered", &it.alternatives_considered);
            whole.warnings = it.all_warnings().take(self.cut.entries).map(|it| self.warning(it)).collect();
            self.note("warnings", it.all_warnings().count() > self.cut.entries);
            // The last ones are those in force.
            let earlier = it.reclassified.len().saturating_sub(self.cut.entries);
            self.note("reclassified", earlier > 0);
            whole.reclassified = it.reclassified[earlier..].iter().map(|it| self.change(it)).collect();
        }
        if !self.fields.is_empty() {
            let session = investigation.meta().id.to_string();
            whole.resource = Some(Address::Node(session, node.id.to_string()).to_string());
        }
        whole.cut = self.fields;
        whole
    }

    fn warning(&mut self, warning: &Warning) -> Notice {
        Notice {
            code: warning.code.clone(),
            node_id: None,
            message: self.text("warnings", &warning.message),
            suggestion: None,
        }
    }

    fn change(&mut self, change: &Reclassification) -> Change {
        const FIELD: &str = "reclassified";
        let (by, agent) = match &change.by {
            Author::Child(child) => (Some(child.to_string()), None),
            Author::Agent(agent) => (None, Some(agent.as_str())),
            Author::Unknown => (None, None),
        };
        Change {
            from: change.from.to_string(),
            to: change.to.to_string(),
            at: change.at.to_string(),
            by,
            agent_id: self.optional(FIELD, agent),
            reason: self.optional(FIELD, change.reason.as_deref()),
            evidence: self.optional(FIELD, change.evidence.as_deref()),
            verification_method: self.optional(FIELD, change.verification_method.as_deref()),
            alternatives_considered: self.texts(FIELD, &change.alternatives_considered),
        }
    }

    fn text(&mut self, field: &'static str, text: &str) -> String {
        let short = shorten(text, self.cut.text);
        self.note(field, short != text);
        short
    }

    fn optional(&mut self, field: &'static str, text: Option<&str>) -> Option<String> {
        text.map(|text| self.text(field, text))
    }

    fn texts(&mut self, field: &'static str, texts: &[String]) -> Vec<String> {
        self.note(field, texts.len() > self.cut.entries);
        texts.iter().take(self.cut.entries).map(|text| self.text(field, text)).collect()
    }

    fn note(&mut self, field: &'static str, is_cut: bool) {
        if is_cut && !self.fields.contains(&field) {
            self.fields.push(field);
        }
    }
}
