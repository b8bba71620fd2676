//! The file format of this program's predecessor, a TypeScript server that stored each investigation as one JSON file.
//! Each generation of the format has its own node states and corresponds to a built-in ruleset.
//!
//! A file contains the start time and the times of pending proposals, but no times for committed nodes. Nodes are
//! listed in commit order, so each step is dated one millisecond after the previous one, beginning at the start time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Facts, ImportError, invalid, typed};
use crate::decide::start::{Start, start};
use crate::domain::{
    Author, Classification, Node, NodeId, Reclassification, SessionId, StateName, Timestamp,
};
use crate::ruleset::effective::list;
use crate::ruleset::{Ruleset, RulesetFile, builtin};
use crate::service::check::{self, Severity};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AncestorFile {
    session_id: String,
    query: String,
    created_at: String,
    min_roots: Option<u32>,
    mode: Option<String>,
    min_rounds: Option<u32>,
    allow_early_terminal: Option<bool>,
    nodes: Map<String, Value>,
    /// Absent in the first generation.
    #[serde(default)]
    pending_proposals: Map<String, Value>,
    /// The node researched by each agent.
    #[serde(default)]
    used_agent_ids: BTreeMap<String, String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeEntry {
    id: NodeId,
    parent: Option<NodeId>,
    state: StateName,
    title: String,
    findings: Option<String>,
    evidence: Option<String>,
    verification_method: Option<String>,
    alternatives_considered: Option<Vec<String>>,
    round: Option<u32>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProposalEntry {
    id: NodeId,
    parent: Option<NodeId>,
    title: String,
    planned_action: String,
    /// Milliseconds since 1970.
    proposed_at: Option<i64>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// Fields that can be derived from other fields.
const DERIVED: [&str; 4] = ["currentRound", "currentBatch", "updatedAt", "children"];

/// Reads a file with the named built-in ruleset. Without a name, uses the built-in ruleset that has all states in the
/// file and produces the fewest errors. Ties go to the first.
pub(super) fn read(value: Value, new: Option<SessionId>, name: Option<&str>) -> Result<Facts, ImportError> {
    let mut file: AncestorFile = typed(value, "")?;
    let id = match new {
        Some(new) => new,
        None => file.session_id.parse().map_err(|error| invalid("sessionId", error))?,
    };
    let began: Timestamp = file.created_at.parse().map_err(|error| invalid("createdAt", error))?;
    let mut left_out = BTreeSet::new();
    note_others(&file.other, &mut left_out);
    let nodes = nodes(&mut file, began, &mut left_out)?;
    let states: BTreeSet<&StateName> = nodes.iter().filter_map(Node::state).collect();
    let fits = |file: &&RulesetFile| {
        name.is_none_or(|name| file.ruleset.name == name)
            && states.iter().all(|state| file.ruleset.state(state).is_some())
    };
    let mut best: Option<(usize, Facts)> = None;
    for ruleset in builtin::all().iter().filter(fits) {
        let facts = under(&file, &nodes, ruleset, id, began)?;
        let findings = check::check_facts(facts.investigation(), &facts.ruleset);
        let errors = findings.iter().filter(|it| it.severity == Severity::Error).count();
        if best.as_ref().is_none_or(|(least, _)| errors < *least) {
            best = Some((errors, facts));
        }
    }
    let Some((_, mut facts)) = best else {
        return Err(ImportError::NoRuleset { name: name.map(str::to_owned), states: list(states) });
    };
    facts.notes = notes(&facts, left_out);
    Ok(facts)
}

/// Reads committed and pending nodes, and assigns times in file order.
fn nodes(
    file: &mut AncestorFile,
    began: Timestamp,
    left_out: &mut BTreeSet<String>,
) -> Result<Vec<Node>, ImportError> {
    let agents: HashMap<&str, &str> =
        file.used_agent_ids.iter().map(|(agent, node)| (node.as_str(), agent.as_str())).collect();
    let (mut nodes, mut clock) = (Vec::<Node>::new(), began);
    // Consecutive nodes in the same round are proposed and committed in one step.
    let (mut proposed_at, mut committed_at) = (began, began);
    for (key, value) in std::mem::take(&mut file.nodes) {
        let place = format!("nodes.{key}");
        let entry: NodeEntry = typed(value, &place)?;
        same_id(&place, &key, &entry.id)?;
        note_others(&entry.other, left_out);
        if entry.round.is_some_and(|round| round != entry.id.round()) {
            return Err(invalid(
                format!("{place}.round"),
                format!("{} is in round {}", entry.id, entry.id.round()),
            ));
        }
        if nodes.last().is_none_or(|last| last.round() != entry.id.round()) {
            proposed_at = clock.next();
            committed_at = proposed_at.next();
            clock = committed_at;
        }
        nodes.push(Node {
            classification: Some(Classification {
                agent_id: agents.get(key.as_str()).map(|agent| (*agent).to_owned()),
                evidence: entry.evidence,
                verification_method: entry.verification_method,
                alternatives_considered: entry.alternatives_considered.unwrap_or_default(),
                ..Classification::new(entry.state, entry.findings.unwrap_or_default(), committed_at)
            }),
            ..Node::new(entry.id, entry.parent, entry.title, proposed_at)
        });
    }
    clock = clock.next();
    for (key, value) in std::mem::take(&mut file.pending_proposals) {
        let place = format!("pendingProposals.{key}");
        let entry: ProposalEntry = typed(value, &place)?;
        same_id(&place, &key, &entry.id)?;
        note_others(&entry.other, left_out);
        let time = |at| {
            Timestamp::from_milliseconds(at).ok_or_else(|| {
                invalid(format!("{place}.proposedAt"), format!("{at} is outside the years 0 to 9999"))
            })
        };
        let at = entry.proposed_at.map(time).transpose()?.unwrap_or(clock);
        let planned_action = entry.planned_action;
        nodes.push(Node { planned_action, ..Node::new(entry.id, entry.parent, entry.title, at) });
    }
    Ok(nodes)
}

fn same_id(place: &str, key: &str, id: &NodeId) -> Result<(), ImportError> {
    if id.as_str() == key {
        return Ok(());
    }
    Err(invalid(format!("{place}.id"), format!("{id} differs from its key")))
}

/// Creates the facts for one ruleset.
fn under(
    file: &AncestorFile,
    nodes: &[Node],
    ruleset: &RulesetFile,
    id: SessionId,
    began: Timestamp,
) -> Result<Facts, ImportError> {
    let request = Start { query: file.query.clone(), ..Start::default() };
    let mut meta = start(request, &ruleset.ruleset, None, id, began).map_err(|rejection| {
        invalid("query", rejection.errors.first().map_or("", |error| error.message.person()))
    })?;
    // The mode is retained even if it could not be chosen today. Checks report it.
    meta.mode = file.mode.clone().unwrap_or(meta.mode);
    meta.min_rounds = file.min_rounds.unwrap_or(meta.min_rounds);
    meta.allow_early_terminal = file.allow_early_terminal.unwrap_or(meta.allow_early_terminal);
    // Later generations store this number, but their rules ignore it.
    let min_roots = file.min_roots.filter(|_| ruleset.ruleset.roots.min_is_chosen);
    meta.min_roots = min_roots.unwrap_or(meta.min_roots);
    let nodes = confirmed(nodes.to_vec(), &ruleset.ruleset);
    let place = |node: &Node| {
        let list = if node.is_pending() { "pendingProposals" } else { "nodes" };
        format!("{list}.{}", node.id)
    };
    Facts::new(meta, ruleset.clone(), nodes, None, place)
}

/// Reconstructs promotions, since the file contains only the final states. A node in a closed state that has a deciding
/// child must have been waiting for that child.
fn confirmed(mut nodes: Vec<Node>, ruleset: &Ruleset) -> Vec<Node> {
    let mut children: HashMap<NodeId, Vec<(Timestamp, NodeId, StateName)>> = HashMap::new();
    for node in &nodes {
        if let (Some(parent), Some(result)) = (&node.parent, &node.classification) {
            let child = (result.committed_at, node.id.clone(), result.state.clone());
            children.entry(parent.clone()).or_default().push(child);
        }
    }
    for node in &mut nodes {
        let below = children.get(&node.id).map(Vec::as_slice).unwrap_or_default();
        let Some(result) = &mut node.classification else { continue };
        if ruleset.state(&result.state).is_none_or(|state| !state.terminal) {
            continue;
        }
        let promoted = ruleset.confirmations.iter().find_map(|rule| {
            let outcome = rule.outcomes.iter().find(|outcome| outcome.becomes == result.state)?;
            let decides = |(_, _, state): &&(Timestamp, NodeId, StateName)| *state == outcome.child;
            Some((&rule.state, below.iter().filter(decides).min()?))
        });
        if let Some((waiting, (at, child, _))) = promoted {
            let to = std::mem::replace(&mut result.state, waiting.clone());
            let by = Author::Child(child.clone());
            let change = Reclassification { by, ..Reclassification::new(waiting.clone(), to, *at) };
            result.reclassified.push(change);
        }
    }
    nodes
}

/// Collects the names of non-empty fields that are not imported.
fn note_others(fields: &Map<String, Value>, left_out: &mut BTreeSet<String>) {
    let is_empty =
        |value: &Value| matches!(value, Value::Null) || [json!(""), json!([]), json!({})].contains(value);
    let names = fields.iter().filter(|(name, value)| !DERIVED.contains(&name.as_str()) && !is_empty(value));
    left_out.extend(names.map(|(name, _)| name.clone()));
}

/// Returns notes about the import, for people.
fn notes(facts: &Facts, left_out: BTreeSet<String>) -> Vec<String> {
    let mut notes = vec![format!("Imported with the ruleset {}.", facts.meta.ruleset)];
    if facts.nodes.iter().any(|node| !node.is_pending()) {
        notes.push(
            "Nodes have no times: each step is dated one millisecond after the previous one.".to_owned(),
        );
    }
    if !left_out.is_empty() {
        notes.push(format!("Not imported, since investigations have no such field: {}.", list(left_out)));
    }
    notes
}
