//! `tot_propose` proposes nodes to research next, and withdraws pending proposals.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::commit::NodeResult;
use super::{
    Decision, Rejection, TITLE_MAX, check_line, check_texts, not_blank, quoted, refuse_ambiguous,
    refuse_if_ended, reopened,
};
use crate::domain::fresh::Ids;
use crate::domain::{
    Caller, Code, Diagnostic, Event, Investigation, Node, NodeId, NotFound, ShortId, Timestamp, Withdrawal,
    Wording,
};
use crate::markdown::without_sources;
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::{CallDiagnostics, KINDS, ProposalCheck, shortened};

/// The unvalidated input of `tot_propose`. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Propose {
    /// The nodes.
    #[serde(default)]
    pub nodes: Vec<NewNode>,
    /// Pending ids to withdraw.
    #[serde(default)]
    pub withdraw: Vec<String>,
    /// Why an ended investigation goes on.
    pub reopen: Option<String>,
}

/// A node that an agent plans to research, not yet validated. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NewNode {
    /// `R<round>.<suffix>`
    #[schemars(extend("examples" = ["R2.A1"]))]
    pub id: String,
    /// A committed node; null for a root.
    #[schemars(extend("examples" = ["R1.A"]))]
    pub parent: Option<String>,
    /// One line.
    #[schemars(extend("examples" = ["Read the slow query log"]))]
    pub title: String,
    /// The planned work.
    #[serde(default)]
    pub planned_action: String,
    /// What varies, and its value here.
    #[serde(default)]
    #[schemars(extend("examples" = [["engine=gix"]]))]
    pub covers: Vec<String>,
    /// True if the id was chosen for the caller, so that any free one will do.
    #[serde(skip)]
    pub is_id_chosen: bool,
}

/// Error codes for rejected proposals, besides those common to all calls and those of the rule kinds.
pub const CODES: &[Code] = &[
    Code::InvalidIdFormat,
    Code::DuplicateId,
    Code::DuplicateInBatch,
    Code::IdCaseCollision,
    Code::ParentNotFound,
    Code::TerminalParent,
    Code::RoundMismatch,
    Code::IdParentMismatch,
    Code::MissingTitle,
    Code::NotProposed,
    Code::EmptyBatch,
    Code::InvestigationEnded,
];

/// Validates a proposal.
///
/// # Errors
///
/// Returns the errors for all nodes. If any node is rejected, none is stored.
pub fn propose(
    investigation: &Investigation,
    rules: &EffectiveRules,
    mut request: Propose,
    caller: &Caller,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    request.nodes = without_null_parents(request.nodes);
    let reason = not_blank(request.reopen);
    if reason.is_none() || request.nodes.is_empty() {
        refuse_if_ended(investigation)?;
    }
    let parents = request.nodes.iter().filter_map(|node| node.parent.as_ref());
    refuse_ambiguous(investigation, parents.chain(&request.withdraw).map(String::as_str))?;
    if request.nodes.is_empty() && request.withdraw.is_empty() {
        return Err(Diagnostic::new(Code::EmptyBatch, "The call has no nodes to propose or withdraw.")
            .suggest("Give `nodes` with at least one {id, parent, title, plannedAction}.")
            .for_people("Give titles, or a file.")
            .into());
    }
    let mut diagnostics = CallDiagnostics::default();
    check_texts(rules, "", reason.as_deref().map(|text| ("reopen", text)), &mut diagnostics);
    let withdrawn = withdrawn(investigation, &request.withdraw, &request.nodes, &mut diagnostics);
    for new in &request.nodes {
        let texts = [("title", new.title.as_str()), ("plannedAction", new.planned_action.as_str())];
        check_texts(rules, &new.id, texts, &mut diagnostics);
    }
    let mut spellings = Spellings { in_use: Ids::new(investigation), in_batch: HashSet::new() };
    let call = ProposeCall { investigation, rules, caller, now };
    let asked_roots: HashSet<String> = request
        .nodes
        .iter()
        .filter(|node| node.parent.is_none() && !is_committed(investigation, &node.id))
        .map(|node| node.id.clone())
        .collect();
    let number = request.nodes.len();
    let mut nodes = Vec::with_capacity(number);
    for new in request.nodes {
        let node = check_node(call, new, &mut spellings, &mut diagnostics);
        nodes.extend(node.map(Arc::new));
    }
    // A pending proposal that is proposed again is another proposal: the earlier one stays in its file.
    let pending = nodes.iter().filter_map(|node| investigation.find(node.id.short().as_str()).ok());
    let replaced: Vec<NodeId> = pending.map(|node| node.id.clone()).collect();
    let proposed = ProposalCheck {
        investigation,
        rules,
        number,
        nodes: &nodes,
        asked_roots: &asked_roots,
        withdrawn: &[withdrawn.as_slice(), &replaced].concat(),
    };
    for kind in &KINDS {
        (kind.propose)(&proposed, &mut diagnostics);
    }
    Rejection::unless_empty(diagnostics.errors)?;
    let withdrawal = Withdrawal { at: now, caller: Caller::default() };
    let [withdrawn, replaced] = [withdrawn, replaced].map(|ids| {
        let nodes = ids.iter().filter_map(|id| investigation.node(id));
        nodes
            .map(|node| Arc::new(Node { withdrawn: Some(withdrawal.clone()), ..Node::clone(node) }))
            .collect()
    });
    let reopened = reason.and_then(|reason| reopened(investigation, now, None, Some(reason)));
    let event = Event::Proposed { nodes, replaced, withdrawn, reopened };
    Ok(Decision { event: Some(event), warnings: diagnostics.warnings })
}

/// Removes the various parent values that agents write to mean "no parent".
pub fn without_null_parents(mut nodes: Vec<NewNode>) -> Vec<NewNode> {
    for node in &mut nodes {
        node.parent.take_if(|parent| matches!(parent.trim(), "" | "null" | "none" | "None"));
    }
    nodes
}

/// Replaces ids that were chosen for the caller by free ones, since somebody else may have taken them by now. Results follow their
/// nodes.
pub fn take_free_ids(
    investigation: &Investigation,
    rules: &EffectiveRules,
    nodes: &mut [NewNode],
    results: &mut [NodeResult],
) {
    if nodes.iter().all(|node| !node.is_id_chosen) {
        return;
    }
    let (mut ids, mut chosen) = (Ids::new(investigation), HashMap::new());
    let given = nodes.iter().filter(|node| !node.is_id_chosen);
    given.filter_map(|node| node.id.parse().ok()).for_each(|id| drop(ids.take(&id)));
    for node in nodes.iter_mut().filter(|node| node.is_id_chosen) {
        let id = match &node.parent {
            Some(parent) => investigation.find(parent).ok().and_then(|parent| ids.child(parent.id.short())),
            None => ids.root(rules.root_ids(investigation)),
        };
        // Without a free id, the first choice is refused for what it lacks.
        let Some(id) = id else { continue };
        chosen.insert(std::mem::replace(&mut node.id, id.to_string()), id.to_string());
    }
    for result in results {
        result.node_id = chosen.remove(&result.node_id).unwrap_or_else(|| result.node_id.clone());
    }
}

fn is_committed(investigation: &Investigation, id: &str) -> bool {
    investigation.find(id).is_ok_and(|node| !node.is_pending())
}

/// Returns the proposals to withdraw, in request order.
fn withdrawn(
    investigation: &Investigation,
    withdraw: &[String],
    nodes: &[NewNode],
    diagnostics: &mut CallDiagnostics,
) -> Vec<NodeId> {
    let mut withdrawn: Vec<NodeId> = Vec::new();
    for text in withdraw {
        let pending = investigation.find(text).ok().filter(|node| node.is_pending()).map(|node| &node.id);
        match pending {
            Some(id) if withdrawn.contains(id) => {}
            Some(id) if nodes.iter().any(|node| node.id == id.short().as_str()) => diagnostics.refuse(
                Code::DuplicateInBatch,
                id,
                format!("{id} is proposed and withdrawn in one call."),
                Wording::both("`withdraw`", "--withdraw").map(|list| {
                    format!("Proposing a pending id already replaces the proposal: leave it out of {list}.")
                }),
            ),
            Some(id) => withdrawn.push(id.clone()),
            None => diagnostics.refuse(
                Code::NotProposed,
                text,
                format!("{} is not a pending proposal, so it can't be withdrawn.", quoted(text)),
                pending_list(investigation),
            ),
        }
    }
    withdrawn
}

/// Lists the pending proposals for use in a suggestion: `Pending: R2.A1, R2.A2.`
pub(super) fn pending_list(investigation: &Investigation) -> Wording {
    let pending: Vec<&NodeId> = investigation.pending().map(|node| &node.id).collect();
    match pending.len() {
        0 => Wording::both("tot_propose", "`tot propose`")
            .map(|call| format!("No proposal is pending: propose nodes with {call} first.")),
        1..=12 => format!("Pending: {}.", shortened(&pending, 12)).into(),
        _ => {
            let list = shortened(&pending, 10);
            Wording::both("tot_status", "`tot show --all`")
                .map(|call| format!("Pending: {list} ({call} lists them)."))
        }
    }
}

/// The short ids in use. Two that differ only in letter case can't be checked out together on macOS or Windows.
struct Spellings<'c> {
    in_use: Ids<'c>,
    in_batch: HashSet<ShortId>,
}

/// The call that proposes nodes.
#[derive(Clone, Copy)]
struct ProposeCall<'c> {
    investigation: &'c Investigation,
    rules: &'c EffectiveRules<'c>,
    caller: &'c Caller,
    now: Timestamp,
}

/// Returns the node if it is valid. Otherwise adds its errors to the diagnostics.
fn check_node(
    call: ProposeCall<'_>,
    new: NewNode,
    spellings: &mut Spellings<'_>,
    diagnostics: &mut CallDiagnostics,
) -> Option<Node> {
    let ProposeCall { investigation, rules, caller, now } = call;
    let errors = diagnostics.errors.len();
    // It is shown as it is, so its sources become their words.
    let new = NewNode { title: without_sources(new.title.trim()), ..new };
    let about = new.id.clone();
    let rest = Wording::both("plannedAction", "the task below it");
    check_line(&about, "title", Some(&new.title), TITLE_MAX, rest, diagnostics);
    if new.title.trim().is_empty() {
        let node = if about.is_empty() { "A node".to_owned() } else { quoted(&about) };
        diagnostics.refuse(
            Code::MissingTitle,
            &about,
            format!("{node} has no title."),
            "Give it a title of one line.",
        );
    }
    let id = match new.id.parse::<ShortId>() {
        Ok(id) => Some(id),
        Err(reason) => {
            let example = match new.id.parse::<NodeId>() {
                Ok(id) => format!("Propose {}: the hyphen and what follows are added.", id.short()),
                Err(_) => {
                    "Ids are R<round>.<suffix>, for example R1.A, its child R2.A1, and its child R3.A1a."
                        .into()
                }
            };
            diagnostics.refuse(Code::InvalidIdFormat, &about, format!("{reason}."), example);
            None
        }
    };
    if let Some(id) = &id {
        check_id(call, id, &new, spellings, diagnostics);
    }
    let parent = parent(investigation, &new, diagnostics);
    if let Some(parent) = &parent {
        check_open(rules, &about, parent, diagnostics);
    }
    if let Some(id) = &id {
        check_place(investigation, id, &new, parent.as_deref(), diagnostics);
    }
    let id = id?;
    spellings.in_batch.insert(id.clone());
    let replaced = investigation.unreplaced(&id);
    let node = Node {
        planned_action: new.planned_action,
        covers: new.covers,
        ..Node::new(id.clone().into(), parent.map(|parent| parent.id.clone()), new.title, now)
    };
    let claim = replaced.first().filter(|node| !node.is_withdrawn()).and_then(|node| node.claim.clone());
    let id = id_of(investigation, &node, caller);
    // The same proposal in the same millisecond is the same node.
    let earlier =
        |node: &&Arc<Node>| if node.id == id { node.replaces.clone() } else { vec![node.id.clone()] };
    let replaces = replaced.iter().flat_map(earlier).collect();
    (diagnostics.errors.len() == errors).then_some(Node { id, claim, replaces, ..node })
}

/// Returns the id of a proposal by the caller.
fn id_of(investigation: &Investigation, node: &Node, caller: &Caller) -> NodeId {
    let Caller { person, client, session, .. } = caller.clone();
    let person = person.unwrap_or_default();
    let parts = [
        investigation.meta().id.to_string(),
        node.parent.as_ref().map(NodeId::whole).unwrap_or_default().to_owned(),
        node.title.clone(),
        node.planned_action.clone(),
        node.proposed_at.to_string(),
        client.unwrap_or_default(),
        session.unwrap_or_default(),
        person.name,
        person.email.unwrap_or_default(),
    ];
    NodeId::of_proposal(node.id.short().clone(), &parts.each_ref().map(String::as_str))
}

/// Returns why another proposal can't replace this pending or withdrawn one: whoever did not make it may still mean the earlier
/// one.
fn why_it_stays(call: ProposeCall<'_>, node: &Node) -> Option<String> {
    let withdrawn = if node.is_withdrawn() { ", and withdrawn" } else { "" };
    let is_own = id_of(call.investigation, node, call.caller) == node.id;
    (!is_own).then(|| format!("was proposed by somebody else or in another session{withdrawn}"))
}

/// Refuses an id that is in use.
fn check_id(
    call: ProposeCall<'_>,
    id: &ShortId,
    new: &NewNode,
    spellings: &mut Spellings<'_>,
    diagnostics: &mut CallDiagnostics,
) {
    let ProposeCall { investigation, rules, .. } = call;
    let mut error =
        |code, message, suggestion: Wording| diagnostics.refuse(code, &new.id, message, suggestion);
    let collision = spellings.in_use.take(id).filter(|other| other != id);
    let found = investigation.find(id.as_str());
    let taken = match found {
        Ok(node) if !node.is_pending() => Some("is already committed".to_owned()),
        Err(NotFound::Ambiguous(_)) => Some("is the short id of several nodes".to_owned()),
        _ => investigation.unreplaced(id).into_iter().find_map(|node| why_it_stays(call, node)),
    };
    if spellings.in_batch.contains(id) {
        error(
            Code::DuplicateInBatch,
            format!("{id} is in the batch twice."),
            "Give each node its own id.".into(),
        );
    } else if let Some(reason) = taken {
        let parent = new.parent.as_ref().and_then(|parent| investigation.find(parent).ok());
        let mut ids = spellings.in_use.clone();
        let free = match parent {
            Some(parent) => ids.child(parent.id.short()).map(|free| ("node below its parent", free)),
            None => ids.root(rules.root_ids(investigation)).map(|free| ("root", free)),
        };
        let free = match free.filter(|(_, free)| parent.is_some() || id.round() == free.round()) {
            Some((what, free)) => format!("a new {what} could be {free}"),
            None => "a new node needs another id".into(),
        };
        let suggestion = match found {
            Ok(node) if !node.is_pending() => Wording::both("tot_reclassify", "`tot amend --state`")
                .map(|call| format!("To change its state, use {call}; {free}.")),
            _ => format!("Choose another id: {free}.").into(),
        };
        error(Code::DuplicateId, format!("{id} {reason}."), suggestion);
    } else if investigation.unreadable().iter().any(|unreadable| unreadable.short() == id) {
        error(
            Code::DuplicateId,
            format!("{id} has a file that can't be read or has no place in the tree."),
            Wording::both("tot_status", "`tot check`").map(|call| {
                format!(
                    "Choose another suffix, or fix that file by hand and commit it; {call} names the problem."
                )
            }),
        );
    } else if let Some(other) = collision {
        error(
            Code::IdCaseCollision,
            format!("{id} differs from {other} only in letter case."),
            "A repository with both can't be checked out on macOS or Windows. Choose another suffix.".into(),
        );
    }
}

/// Returns the committed parent, if there is one. Refuses any other.
fn parent(
    investigation: &Investigation,
    new: &NewNode,
    diagnostics: &mut CallDiagnostics,
) -> Option<Arc<Node>> {
    let text = new.parent.as_ref()?;
    let (message, suggestion) = match investigation.find(text) {
        Ok(parent) if !parent.is_pending() => return Some(Arc::clone(parent)),
        Ok(_) => (
            format!("The parent {text} is only proposed."),
            format!("Commit {text} first, then propose below it.").into(),
        ),
        Err(_) => (
            format!("The parent {} is not a committed node.", quoted(text)),
            Wording::both("null", "leave it out")
                .map(|none| format!("Use the id of a committed node, or {none} for a root in round 1.")),
        ),
    };
    diagnostics.refuse(Code::ParentNotFound, &new.id, message, suggestion);
    None
}

/// Refuses a parent that takes no children.
fn check_open(rules: &EffectiveRules, about: &str, parent: &Node, diagnostics: &mut CallDiagnostics) {
    let Some(state) = parent.state().filter(|state| rules.is_terminal(state)) else { return };
    let how = Wording::both("tot_reclassify", "`tot amend --state`")
        .map(|call| format!("Propose below an open node, or revive {} with {call}.", parent.id));
    let message = format!("{} is {state}, which takes no children.", parent.id);
    diagnostics.refuse(Code::TerminalParent, about, message, how);
}

/// Refuses an id whose round or suffix does not follow from the parent's.
fn check_place(
    investigation: &Investigation,
    id: &ShortId,
    new: &NewNode,
    parent: Option<&Node>,
    diagnostics: &mut CallDiagnostics,
) {
    let mut error =
        |code, message, suggestion: Wording| diagnostics.refuse(code, &new.id, message, suggestion);
    match parent {
        None if new.parent.is_none() && id.round() != 1 => error(
            Code::RoundMismatch,
            format!("{id} is in round {} but has no parent; only round 1 has roots.", id.round()),
            "Name its parent, or give it an id in round 1.".into(),
        ),
        None => {}
        Some(parent) if id.round() != parent.round().saturating_add(1) => {
            let right =
                free_child(investigation, parent.id.short()).map(|id| format!("Use an id like {id}."));
            error(
                Code::RoundMismatch,
                format!(
                    "{id} is in round {}, but children of {} belong in round {}.",
                    id.round(),
                    parent.id,
                    parent.round() + 1
                ),
                right.unwrap_or_default().into(),
            );
        }
        Some(_) => {}
    }
    if let Some(parent) = parent {
        let extends =
            id.suffix().len() > parent.id.suffix().len() && id.suffix().starts_with(parent.id.suffix());
        if !extends {
            let right =
                free_child(investigation, parent.id.short()).map(|id| format!("Use an id like {id}."));
            error(
                Code::IdParentMismatch,
                format!("The suffix of {id} does not extend that of its parent {}.", parent.id),
                right.unwrap_or_default().into(),
            );
        }
    }
}

/// Returns an unused short id below the parent.
fn free_child(investigation: &Investigation, parent: &ShortId) -> Option<ShortId> {
    Ids::new(investigation).child(parent)
}
