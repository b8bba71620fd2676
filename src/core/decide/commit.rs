//! `tot_commit` commits findings, each with a state.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::attach::{self, Attach};
use super::backing::{self, LINE_MAX, NewCitation, NewCommand, NewLink};
use super::citing;
use super::claim;
use super::propose::{NewNode, Propose, pending_list, propose};
use super::{
    Decision, Rejection, check_line, check_texts, given, not_blank, quoted, refuse_ambiguous,
    refuse_if_ended, sources, title, to_warning, trimmed,
};
use crate::domain::node::says_nothing;
use crate::domain::{
    Attached, Caller, Change, Classification, Code, Diagnostic, Event, Investigation, LookedUpPaths, Node,
    NodeId, Reclassification, StateName, Timestamp, Wording,
};
use crate::markdown::{Parsed, without_sources};
use crate::ruleset::rules::confirmation::{confirmations, stamp};
use crate::ruleset::rules::early_states::stored_instead;
use crate::ruleset::rules::verification::ClaimedAuthor;
use crate::ruleset::rules::{CallDiagnostics, KINDS, ResultCheck, secrets};
use crate::ruleset::{EffectiveRules, Enforcement};

/// The unvalidated result for one node. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NodeResult {
    /// A pending node.
    #[schemars(extend("examples" = ["R2.A1"]))]
    pub node_id: String,
    /// For a node that was not proposed.
    pub title: Option<String>,
    /// As in tot_propose.
    pub parent: Option<String>,
    /// A state from the method.
    pub state: String,
    /// In Markdown.
    #[schemars(extend("examples" = ["The plan changed.\n\n## References\n- logs/slow.log:120 - the query"]))]
    pub findings: String,
    /// The agent's name.
    #[schemars(extend("examples" = ["agent-7"]))]
    pub agent_id: Option<String>,
    /// Proof: measured, read, reproduced.
    pub evidence: Option<String>,
    /// The fields that a state change has too.
    #[serde(flatten)]
    pub verification: NewVerification,
    /// Checks that a confirmation did not try.
    #[serde(default)]
    pub caveats: Vec<String>,
    /// The findings in one sentence.
    pub headline: Option<String>,
    /// Refutes its parent; requires a terminal state.
    #[serde(default)]
    pub refutes: bool,
    /// You claimed it: stores your result beside another.
    #[serde(default)]
    pub claimed: bool,
    /// Start, if before the proposal.
    #[schemars(extend("examples" = ["2026-11-20T09:15:02Z"]))]
    pub started_at: Option<String>,
    /// Commands run.
    #[serde(default)]
    pub commands: Vec<NewCommand>,
    /// `tot run` ids of other nodes.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Sources, as data.
    #[serde(default)]
    pub references: Vec<NewCitation>,
    /// Related nodes elsewhere.
    #[serde(default)]
    pub links: Vec<NewLink>,
    /// Files to store.
    #[serde(default)]
    pub attachments: Vec<Attach>,
}

/// The fields of a result that a state change has too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewVerification {
    /// How it was verified.
    pub verification_method: Option<String>,
    /// Other answers considered.
    #[serde(default)]
    pub alternatives_considered: Vec<String>,
}

impl NewVerification {
    /// Returns how a result was verified, and what else was considered.
    pub fn new(method: Option<String>, alternatives: Vec<String>) -> Self {
        NewVerification { verification_method: method, alternatives_considered: alternatives }
    }

    /// Returns the text fields and the agent with their names.
    pub(super) fn texts<'a>(&'a self, agent: &'a Option<String>) -> impl Iterator<Item = (&'a str, &'a str)> {
        let optional = [("verificationMethod", &self.verification_method), ("agentId", agent)];
        let alternatives = self.alternatives_considered.iter();
        optional
            .into_iter()
            .filter_map(given)
            .chain(alternatives.map(|text| ("alternativesConsidered", text.as_str())))
    }

    /// Adds the fields to a state change.
    pub(super) fn of_change(self, change: Reclassification) -> Reclassification {
        Reclassification {
            verification_method: not_blank(self.verification_method),
            alternatives_considered: self.alternatives_considered,
            ..change
        }
    }
}

/// Error codes for rejected commits, besides those common to all calls and those of the rule kinds.
pub const CODES: &[Code] = &[
    Code::NotProposed,
    Code::NodeNotFound,
    Code::DuplicateInBatch,
    Code::EmptyBatch,
    Code::InvestigationEnded,
];

/// Warning codes for commits, besides those of the rule kinds and of [`citing`].
pub const WARNINGS: &[Code] = &[Code::ClaimedByOther, Code::EmptyFindings];

/// Validates a commit by `caller`. `known` contains the lookup results for the paths collected by [`citing`]. A result with
/// a title, for a node that does not exist, is proposed by the same commit, if the rules allow that.
///
/// Results with faults of their own are left out, with warnings, and so is what depends on them, if the rules accept the others
/// as a batch.
///
/// # Errors
///
/// Returns the errors for all results if none can be stored.
pub fn commit(
    investigation: &Investigation,
    rules: &EffectiveRules,
    mut results: Vec<NodeResult>,
    known: &LookedUpPaths,
    caller: &Caller,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let attempt = |results| commit_all(investigation, rules, results, known, caller, now);
    let rejection = match attempt(results.clone()) {
        Err(rejection) if results.len() > 1 => rejection,
        outcome => return outcome,
    };
    // Without some of the results, the rest of the batch may close too much. Children count together.
    let is_own = |error: &Diagnostic| {
        let is_of_batch = error.code == Code::InvalidChildState || rules.ruleset().terminal_ratio.is_some();
        error.node.is_some() && (!is_of_batch || error.code == Code::TextTooLong)
    };
    let id = |named: &str| {
        investigation.find(named).map_or_else(|_| named.trim().to_owned(), |it| it.id.to_string())
    };
    let (mut errors, mut left_out) = (rejection.errors.clone(), Vec::new());
    while errors.iter().all(is_own) {
        let faulty: HashSet<String> = errors.iter().flat_map(|it| &it.node).map(|it| id(it)).collect();
        let number = results.len();
        results.retain(|result| !faulty.contains(&id(&result.node_id)));
        if results.is_empty() || results.len() == number {
            break;
        }
        left_out.append(&mut errors);
        match attempt(results.clone()) {
            Ok(mut decision) => {
                let not_stored = left_out.into_iter().map(|error| Diagnostic {
                    message: error.message.map(|reason| format!("{NOT_STORED}{reason}")),
                    ..error
                });
                let (mut warnings, others): (Vec<_>, Vec<_>) =
                    decision.warnings.into_iter().partition(|it| it.code == Code::SecretSuspected);
                warnings.extend(not_stored.chain(others));
                decision.warnings = warnings;
                return Ok(decision);
            }
            Err(rejection) => errors = rejection.errors,
        }
    }
    Err(rejection)
}

/// Begins the warning about a result that was left out.
const NOT_STORED: &str = "Not stored: ";

/// Returns whether a warning says that a result was left out.
pub fn is_left_out(warning: &Diagnostic) -> bool {
    warning.message.agent().starts_with(NOT_STORED)
}

fn commit_all(
    investigation: &Investigation,
    rules: &EffectiveRules,
    results: Vec<NodeResult>,
    known: &LookedUpPaths,
    caller: &Caller,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let links = results.iter().flat_map(|result| &result.links).map(|link| link.to.as_str());
    refuse_ambiguous(investigation, results.iter().map(|result| result.node_id.as_str()).chain(links))?;
    let new: Vec<NewNode> = results.iter().filter_map(|result| unproposed(investigation, result)).collect();
    if new.is_empty() {
        return commit_proposed(investigation, rules, results, known, caller, now);
    }
    let proposed = propose(investigation, rules, Propose { nodes: new, ..Propose::default() }, caller, now)?;
    let changes = proposed.event.as_ref().map(Event::changes).unwrap_or_default();
    let after = investigation.with(&changes);
    let committed = commit_proposed(&after, rules, results, known, caller, now);
    let mut decision = committed.map_err(|mut rejection| {
        // What this call would have proposed is not pending.
        for error in rejection.errors.iter_mut().filter(|it| it.code == Code::NotProposed) {
            error.suggestion = Some(how_to_propose(investigation));
        }
        rejection
    })?;
    decision.warnings.splice(0..0, proposed.warnings);
    Ok(decision)
}

/// Returns the node to propose for a result, if it has a title and no node.
fn unproposed(investigation: &Investigation, result: &NodeResult) -> Option<NewNode> {
    let title = result.title.clone().filter(|_| investigation.find(&result.node_id).is_err())?;
    Some(NewNode { id: result.node_id.clone(), parent: result.parent.clone(), title, ..NewNode::default() })
}

fn commit_proposed(
    investigation: &Investigation,
    rules: &EffectiveRules,
    results: Vec<NodeResult>,
    known: &LookedUpPaths,
    caller: &Caller,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    refuse_if_ended(investigation)?;
    if results.is_empty() {
        return Err(Diagnostic::new(Code::EmptyBatch, "The call has no results.")
            .suggest("Give `results` with at least one {nodeId, state, findings, agentId}.")
            .for_people("Give a file, or name a node.")
            .into());
    }
    let mut diagnostics = CallDiagnostics::default();
    let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(results.len());
    let mut attachments = Vec::new();
    let mut states: Vec<(&Node, StateName)> = Vec::with_capacity(results.len());
    let mut seen = HashSet::new();
    let mut agents = known_agents(investigation, &results);
    for result in results {
        let node = investigation.find(&result.node_id).ok();
        if node.is_some_and(|node| !seen.insert(node.id.clone())) {
            let message = format!("{} is in the batch twice.", quoted(&result.node_id));
            diagnostics.refuse(Code::DuplicateInBatch, &result.node_id, message, "Give one result per node.");
            continue;
        }
        // The ratio includes results with other errors, because the agent will fix them.
        states.extend(state_in_ratio(investigation, rules, &result));
        let mut own = CallDiagnostics::default();
        match classify(investigation, rules, result, (known, caller, now), &mut agents, &mut own) {
            Some((node, attached)) => {
                nodes.push(Arc::new(node));
                attachments.extend(attached);
                diagnostics.warnings.append(&mut own.warnings);
            }
            None => diagnostics.errors.append(&mut own.errors),
        }
    }
    for kind in &KINDS {
        (kind.commit_together)(investigation, rules, &states, &mut diagnostics);
    }
    Rejection::unless_empty(diagnostics.errors)?;
    let changes: Vec<Change> = nodes.iter().cloned().map(Change::Node).collect();
    let transitions = confirmations(&investigation.with(&changes), rules, now);
    let event = Event::Committed { nodes, transitions, attachments };
    Ok(Decision { event: Some(event), warnings: diagnostics.warnings })
}

/// Returns the agents in the batch that already have committed results, each with one of their nodes.
fn known_agents(investigation: &Investigation, results: &[NodeResult]) -> HashMap<String, NodeId> {
    let asked: HashSet<&str> =
        results.iter().filter_map(|result| result.agent_id.as_deref().map(str::trim)).collect();
    let last_of = |agent: &str| {
        let is_of = |node: &Node| node.classification.iter().flat_map(|it| it.agents()).any(|it| it == agent);
        investigation.committed().rev().map(|(node, _)| node).find(|node| is_of(node))
    };
    let named = asked.into_iter().filter_map(|agent| Some((agent.to_owned(), last_of(agent)?.id.clone())));
    named.collect()
}

/// Returns the classified node and its files if the result is valid on its own. Adds errors and warnings to the
/// diagnostics.
fn classify(
    investigation: &Investigation,
    rules: &EffectiveRules,
    result: NodeResult,
    (known, caller, now): (&LookedUpPaths, &Caller, Timestamp),
    agents: &mut HashMap<String, NodeId>,
    own: &mut CallDiagnostics,
) -> Option<(Node, Vec<Arc<Attached>>)> {
    let proposal = investigation.find(&result.node_id).ok();
    let about = proposal.map_or_else(|| result.node_id.clone(), |node| node.id.to_string());
    let Some(node) = proposal.filter(|node| node.is_pending() || is_late(node, &result, caller)) else {
        refuse_unproposed(investigation, &about, proposal.and_then(|node| node.state()), own);
        return None;
    };
    // The title of a node with a result may have been amended since.
    check_title(node, result.title.as_deref().filter(|_| node.is_pending()), own);
    check_texts(rules, &about, texts(&result), own);
    // The proposal's text was already checked when it was proposed, but only the node's file can store the warning.
    if rules.secrets == Enforcement::Warn {
        let proposed = [("title", node.title.as_str()), ("plannedAction", node.planned_action.as_str())];
        secrets::check(Enforcement::Warn, &about, proposed, own);
    }
    let agent_id = trimmed(result.agent_id);
    let person = caller.person.as_ref().filter(|_| agent_id.is_none()).map(|person| person.name.as_str());
    let claim = node.claim.as_ref().filter(|claim| claim.is_of_other(agent_id.as_deref().or(person), now));
    own.warnings.extend(claim.map(|claim| claim::of_other(&node.id, claim)));
    let asked = match rules.ruleset().state_meant(&result.state, &about) {
        Ok(asked) => asked,
        Err(unknown) => {
            own.errors.push(unknown);
            return None;
        }
    };
    let mut state = asked.clone();
    match stored_instead(rules, &asked, node) {
        Ok(None) => {}
        Ok(Some((stored, warning))) => {
            own.warnings.push(warning);
            state = stored;
        }
        Err(locked) => own.errors.push(locked),
    }
    let (findings, evidence) = (Parsed::new(&result.findings), result.evidence.as_deref().map(Parsed::new));
    check_findings(&about, &result.findings, own);
    own.warnings.extend(unreadable_references(&about, &findings));
    check_line(&about, "headline", result.headline.as_deref(), LINE_MAX, "the findings", own);
    let started_at = backing::started_at(&about, result.started_at.as_deref(), now, own);
    if result.refutes {
        check_refutes(rules, node, &asked, own);
    }
    let caveats = backing::caveats(&about, result.caveats, own);
    let commands = backing::commands(&about, result.commands, own);
    let runs = backing::runs(investigation, &about, &result.runs, own);
    let mut references = backing::references(&about, result.references, own);
    let mut missing = citing::pin_given(&mut references, known);
    for (named_in, text) in citing::named([Some(&findings), evidence.as_ref()]) {
        missing.extend(citing::pin_named(&mut references, named_in, (text, ""), known));
    }
    own.warnings.extend(citing::not_found(&about, missing));
    own.warnings.extend(sources::warnings(investigation, &about, &findings, known));
    let links = backing::links(investigation, node, &result.links, own);
    let attachments = attach::of_result(investigation, rules, &node.id, result.attachments, own);
    let last = node.classification.as_ref().map(|first| first.newest().committed_at);
    let committed_at = stamp(investigation, node, now).max(last.unwrap_or(now));
    let proposes_itself = result.title.is_some() && node.proposed_at >= now;
    let mut stored = Classification {
        requested_state: (asked != state).then_some(asked),
        refutes: result.refutes,
        saw: rules.seen(investigation, node, &state),
        agent_id,
        started_at,
        headline: title(result.headline),
        evidence: not_blank(result.evidence),
        verification_method: not_blank(result.verification.verification_method),
        alternatives_considered: result.verification.alternatives_considered,
        caveats,
        commands,
        runs,
        references,
        links,
        ..Classification::new(state, result.findings, committed_at)
    };
    let committed = ResultCheck {
        investigation,
        rules,
        node,
        stored: &stored,
        is_person: person.is_some(),
        agents_other: stored.agent_id.as_ref().and_then(|agent| agents.get(agent)),
        proposes_itself,
        now,
    };
    for kind in &KINDS {
        (kind.commit)(&committed, own);
    }
    if let Some(agent) = &stored.agent_id {
        agents.entry(agent.clone()).or_insert_with(|| node.id.clone());
    }
    if !own.errors.is_empty() {
        return None;
    }
    // What git says of this machine is no fact of the result, and may name its folders.
    let warnings = own.warnings.iter().filter(|it| it.code != Code::StoreError);
    stored.warnings = warnings.map(to_warning).collect();
    let mut after = Node::clone(node);
    after.claim = None;
    match &mut after.classification {
        Some(first) => first.other_results.push(stored),
        pending => *pending = Some(stored),
    }
    Some((after, attachments))
}

/// Refuses a result whose author means a node with another title.
fn check_title(node: &Node, title: Option<&str>, own: &mut CallDiagnostics) {
    let is_same = |title: &&str| without_sources(title.trim()).to_lowercase() == node.title.to_lowercase();
    if let Some(title) = title.filter(|title| !title.trim().is_empty() && !is_same(title)) {
        let message = format!("{} has the title {}, not {}.", node.id, quoted(&node.title), quoted(title));
        let how = "Name the node that the result is for. A result needs no title if its node is proposed.";
        own.refuse(Code::InvalidArgument, &node.id, message, how);
    }
}

/// Refuses a result for a node that is not proposed, or that is committed already in the given state.
fn refuse_unproposed(
    investigation: &Investigation,
    about: &str,
    committed: Option<&StateName>,
    diagnostics: &mut CallDiagnostics,
) {
    let (message, suggestion) = match committed {
        Some(state) => {
            let how = Wording::both(
                "If you had claimed it, give `claimed: true` to store your result next to it; to change its state, use \
                 tot_reclassify.",
                "If you had claimed it, put `claimed: true` in its file to store your result next to it; to change its \
                 state, use `tot amend --state`.",
            );
            (format!("{about} is already committed as {state}."), how.then(&pending_list(investigation)))
        }
        None => {
            let withdrawn = investigation.find_withdrawn(about).map(|_| investigation.missing(about));
            let message = withdrawn.unwrap_or_else(|| format!("{} was not proposed.", quoted(about)));
            (message, how_to_propose(investigation))
        }
    };
    diagnostics.refuse(Code::NotProposed, about, message, suggestion);
}

fn how_to_propose(investigation: &Investigation) -> Wording {
    pending_list(investigation).then(&"A `title` (and `parent`) proposes a node with its result.".into())
}

/// Warns of findings that say nothing.
fn check_findings(about: &str, findings: &str, own: &mut CallDiagnostics) {
    if says_nothing(findings) {
        let said =
            if findings.trim().is_empty() { "without findings" } else { "with findings that say nothing" };
        let how = "Say what was tried and what was found: a state alone convinces nobody.";
        own.warn(Code::EmptyFindings, about, format!("{about} was committed {said}."), how);
    }
}

/// Refuses a result that can't refute its parent.
fn check_refutes(rules: &EffectiveRules, node: &Node, asked: &StateName, own: &mut CallDiagnostics) {
    let why = match &node.parent {
        None => "it is a root".to_owned(),
        Some(_) if !rules.is_terminal(asked) => format!("{asked} is not terminal"),
        Some(_) => return,
    };
    let message = format!("{} can't refute its parent: {why}.", node.id);
    let how = "Leave `refutes` out, or commit a child in a terminal state with it.";
    own.refuse(Code::InvalidArgument, &node.id, message, how);
}

/// Returns whether a claimant submits a result for a node that another agent has already committed. Ignores repeated
/// calls.
fn is_late(node: &Node, result: &NodeResult, caller: &Caller) -> bool {
    let agent = trimmed(result.agent_id.clone());
    let is_own = |other: &Classification| match (&agent, &other.agent_id) {
        (None, None) => {
            caller.person.is_none()
                || ClaimedAuthor::of(None, caller).is_same_as(&ClaimedAuthor::of(None, &other.caller))
        }
        (agent, other) => agent == other,
    };
    let has_own = |first: &Classification| is_own(first) || first.other_results.iter().any(is_own);
    result.claimed && node.classification.as_ref().is_some_and(|first| !has_own(first))
}

/// Maximum number of unreadable lines under References quoted in a message.
const NAMED: usize = 3;

/// Returns a warning about lines under References that can't be parsed as sources.
pub(super) fn unreadable_references(about: &str, findings: &Parsed) -> Option<Diagnostic> {
    let lines = findings.unreadable_references();
    lines.first()?;
    let mut named: Vec<String> =
        lines.iter().take(NAMED).map(|it| format!("“{}” (line {})", it.text, it.line)).collect();
    if lines.len() > NAMED {
        named.push(format!("{} more", lines.len() - NAMED));
    }
    let message =
        format!("Under References, {about} has items that can't be read as sources: {}.", named.join(", "));
    let how = "Begin each item with a URL or a path: `src/a.rs:42 - why`, `owner/name src/a.rs:42`.";
    Some(Diagnostic::new(Code::UnreadableReference, message).about(about).suggest(how))
}

/// Returns the text fields of a result with their names.
fn texts(result: &NodeResult) -> impl Iterator<Item = (&str, &str)> {
    let optional = [("headline", &result.headline), ("evidence", &result.evidence)];
    std::iter::once(("findings", result.findings.as_str()))
        .chain(optional.into_iter().filter_map(given))
        .chain(result.verification.texts(&result.agent_id))
        .chain(result.caveats.iter().map(|text| ("caveats", text.as_str())))
        .chain(result.commands.iter().flat_map(NewCommand::texts))
        .chain(result.references.iter().flat_map(NewCitation::texts))
}

/// Returns the node and the state to store, if the node is pending and the state is known and not locked.
fn state_in_ratio<'i>(
    investigation: &'i Investigation,
    rules: &EffectiveRules,
    result: &NodeResult,
) -> Option<(&'i Node, StateName)> {
    let node = investigation.find(&result.node_id).ok().filter(|node| node.is_pending())?;
    let asked = rules.ruleset().state_meant(&result.state, &result.node_id).ok()?;
    match rules.early_rule(&asked, node.round()) {
        None => Some((node, asked)),
        Some(rule) => Some((node, rule.store_as.clone()?)),
    }
}
