//! `tot_commit`: what was found, each with a state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::confirm::{confirmations, stamp};
use super::propose::pending_list;
use super::secrets::Findings;
use super::{Decision, Rejection, check_lengths, not_blank, quoted, refuse_if_ended, stored};
use crate::domain::{
    Change, Classification, Code, Diagnostic, Event, Investigation, Node, NodeId, StateName, Timestamp,
};
use crate::ruleset::{EffectiveRules, Severity, effective};
use crate::text::shorten;

/// What an agent asks for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The node, not yet checked.
    pub node_id: String,
    /// The state, not yet checked.
    pub state: String,
    /// What was found, in Markdown.
    pub findings: String,
    /// Who did the research.
    pub agent_id: Option<String>,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
}

/// What stands for findings in a call that is still to be filled in.
pub const TO_FILL_IN: &str = "<findings in Markdown, sources under ## References>";

/// Judges a commit.
///
/// # Errors
///
/// Every fault of every result; then nothing of the batch is kept.
pub fn commit(
    investigation: &Investigation,
    rules: &EffectiveRules,
    results: Vec<Finding>,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    refuse_if_ended(investigation)?;
    if results.is_empty() {
        return Err(Diagnostic::new(Code::EmptyBatch, "The call holds no result.")
            .suggest("Give `results` with at least one {nodeId, state, findings, agentId}.")
            .into());
    }
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(results.len());
    let mut states: Vec<(&Node, StateName)> = Vec::with_capacity(results.len());
    let mut seen = HashSet::new();
    let mut agents = known_agents(investigation, &results);
    for result in results {
        if !seen.insert(result.node_id.clone()) {
            errors.push(
                Diagnostic::new(
                    Code::DuplicateInBatch,
                    format!("{} stands twice in the batch.", quoted(&result.node_id)),
                )
                .about(&result.node_id)
                .suggest("Give one result per node."),
            );
            continue;
        }
        // Whatever else is wrong with a result: once that is mended, its state will count in the ratio.
        states.extend(state_in_ratio(investigation, rules, &result));
        let judged = judge(investigation, rules, result, now, &mut agents, &mut errors);
        if let Some((node, own)) = judged {
            warnings.extend(own);
            nodes.push(Arc::new(node));
        }
    }
    check_ratio(investigation, rules, &states, &mut errors);
    Rejection::unless_empty(errors)?;
    let changes: Vec<Change> = nodes.iter().cloned().map(Change::Node).collect();
    let after = investigation.with(&changes);
    let transitions = confirmations(&after, rules, now);
    let moved: Vec<Change> = transitions.iter().map(|moved| Change::Node(Arc::clone(&moved.node))).collect();
    let after = if moved.is_empty() { after } else { after.with(&moved) };
    warnings.extend(incomplete_warnings(&after, rules));
    let event = Event::Committed { nodes, transitions };
    Ok(Decision { event: Some(event), warnings })
}

/// The state that a text means: letter case and blanks around it do not matter.
pub(super) fn known_state(rules: &EffectiveRules, text: &str, node: &str) -> Result<StateName, Diagnostic> {
    let name = text.trim();
    rules
        .ruleset()
        .states
        .iter()
        .map(|state| &state.name)
        .find(|state| state.as_str().eq_ignore_ascii_case(name))
        .cloned()
        .ok_or_else(|| {
            let shortened: String = name.chars().take(60).collect();
            Diagnostic::new(
                Code::UnknownState,
                format!("`{shortened}` is not a state of {}.", rules.ruleset().name),
            )
            .about(node)
            .suggest(format!("The states are {}.", rules.ruleset().state_list()))
        })
}

/// Which node the name of each agent of the batch already stands on.
fn known_agents(investigation: &Investigation, results: &[Finding]) -> HashMap<String, NodeId> {
    let asked: Vec<&str> =
        results.iter().filter_map(|result| result.agent_id.as_deref().map(str::trim)).collect();
    let named = investigation.committed().flat_map(|(node, _)| {
        let agents = node.classification.iter().flat_map(|classification| classification.agents());
        agents.filter(|agent| asked.contains(agent)).map(|agent| (agent.to_owned(), node.id.clone()))
    });
    named.collect()
}

/// The classified node with its warnings, if nothing is wrong with it by itself; adds what is.
fn judge(
    investigation: &Investigation,
    rules: &EffectiveRules,
    result: Finding,
    now: Timestamp,
    agents: &mut HashMap<String, NodeId>,
    errors: &mut Vec<Diagnostic>,
) -> Option<(Node, Vec<Diagnostic>)> {
    let before = errors.len();
    let about = result.node_id.clone();
    let proposal = result.node_id.parse::<NodeId>().ok().and_then(|id| investigation.node(&id));
    let Some(proposal) = proposal.filter(|node| node.is_pending()) else {
        let message = match proposal.and_then(|node| node.state()) {
            Some(state) => format!("{about} is already committed as {state}."),
            None => format!("{} was not proposed.", quoted(&about)),
        };
        let suggestion = match proposal {
            Some(_) => format!("To change its state, use tot_reclassify. {}", pending_list(investigation)),
            None => pending_list(investigation),
        };
        errors.push(Diagnostic::new(Code::NotProposed, message).about(&about).suggest(suggestion));
        return None;
    };
    check_lengths(&about, texts(&result), errors);
    let mut secrets = Findings::default();
    secrets.check(rules.secrets(), &about, texts(&result));
    // The proposal's own texts were judged then; the node's file is the first that can keep the warning.
    if rules.secrets() == Severity::Warn {
        let proposed =
            [("title", proposal.title.as_str()), ("plannedAction", proposal.planned_action.as_str())];
        secrets.check(Severity::Warn, &about, proposed);
    }
    errors.append(&mut secrets.errors);
    let asked = match known_state(rules, &result.state, &about) {
        Ok(state) => state,
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    let mut warnings = secrets.warnings;
    let state = match early(rules, &asked, proposal, errors) {
        Some((state, warning)) => {
            warnings.push(warning);
            state
        }
        None => asked.clone(),
    };
    check_parent(investigation, rules, proposal, &asked, &state, errors);
    if let Some(least) = rules.evidence(&state) {
        let has = result.evidence.as_deref().map_or(0, |evidence| evidence.trim().chars().count());
        if has < least as usize {
            errors.push(
                Diagnostic::new(
                    Code::MissingEvidence,
                    format!("{state} needs evidence of at least {least} characters; there are {has}."),
                )
                .about(&about)
                .suggest("Put what was measured or read into `evidence`."),
            );
        }
    }
    if matches!(result.findings.trim(), "" | TO_FILL_IN) {
        warnings.push(
            Diagnostic::new(Code::EmptyFindings, format!("{about} was committed without findings."))
                .about(&about)
                .suggest("Say what was tried and what was found: a state alone convinces nobody."),
        );
    }
    let agent_id = not_blank(result.agent_id).map(|agent| agent.trim().to_owned());
    for (severity, doubt) in doubts(rules, proposal, agent_id.as_deref(), now, agents) {
        match severity {
            Severity::Off => {}
            Severity::Warn => warnings.push(doubt),
            Severity::Reject => errors.push(doubt),
        }
    }
    if let Some(agent) = &agent_id {
        agents.entry(agent.clone()).or_insert_with(|| proposal.id.clone());
    }
    if errors.len() > before {
        return None;
    }
    let mut node = Node::clone(proposal);
    node.classification = Some(Classification {
        requested_state: (asked != state).then_some(asked),
        state,
        agent_id,
        committed_at: stamp(investigation, proposal, now),
        findings: result.findings,
        evidence: not_blank(result.evidence),
        verification_method: not_blank(result.verification_method),
        alternatives_considered: result.alternatives_considered,
        warnings: warnings.iter().map(stored).collect(),
        reclassified: Vec::new(),
    });
    Some((node, warnings))
}

/// Every text of a result, with the name of its field.
fn texts(result: &Finding) -> impl Iterator<Item = (&str, &str)> {
    let optional = [
        ("evidence", &result.evidence),
        ("verificationMethod", &result.verification_method),
        ("agentId", &result.agent_id),
    ];
    let alternatives = result.alternatives_considered.iter();
    std::iter::once(("findings", result.findings.as_str()))
        .chain(optional.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?))))
        .chain(alternatives.map(|text| ("alternativesConsidered", text.as_str())))
}

/// The state that is stored in place of one that comes too early, with the warning; adds an error where it is locked.
fn early(
    rules: &EffectiveRules,
    asked: &StateName,
    node: &Node,
    errors: &mut Vec<Diagnostic>,
) -> Option<(StateName, Diagnostic)> {
    let round = node.round();
    let rule = rules.early_rule(asked, round)?;
    let first = rules.first_round_from(asked, round);
    let Some(stored) = &rule.store_as else {
        let available: Vec<&StateName> = rules
            .ruleset()
            .states
            .iter()
            .map(|state| &state.name)
            .filter(|state| rules.early_rule(state, round).is_none())
            .collect();
        errors.push(
            Diagnostic::new(
                Code::StateLocked,
                match first {
                    Some(first) => {
                        format!("{asked} is locked until round {first}; {} is in round {round}.", node.id)
                    }
                    None => format!("{asked} is never given by a commit."),
                },
            )
            .about(&node.id)
            .suggest(format!("Available in round {round}: {}.", effective::list(available))),
        );
        return None;
    };
    let owed = match rules.owed(stored, round) {
        Some((needs, of)) => {
            format!("It now needs {} in round {}.", effective::children(needs, of), round.saturating_add(1))
        }
        None => "It is closed.".to_owned(),
    };
    let why = match first {
        Some(first) => format!("{asked} is kept from round {first}"),
        None => format!("{asked} is never given by a commit"),
    };
    let code = rule.code.as_deref().map_or(Code::DepthEnforced, Code::parse);
    let warning = Diagnostic::new(
        code,
        format!(
            "{} was committed as {asked} in round {round} and stored as {stored}: {why}. {owed}",
            node.id
        ),
    )
    .about(&node.id);
    Some((stored.clone(), warning))
}

/// The parent may have changed since the proposal.
fn check_parent(
    investigation: &Investigation,
    rules: &EffectiveRules,
    node: &Node,
    asked: &StateName,
    state: &StateName,
    errors: &mut Vec<Diagnostic>,
) {
    let Some(parent) = node.parent.as_ref().and_then(|parent| investigation.node(parent)) else { return };
    let Some(parent_state) = parent.state() else { return };
    if rules.is_terminal(parent_state) {
        errors.push(
            Diagnostic::new(
                Code::TerminalParent,
                format!("{} has become {parent_state} since {} was proposed.", parent.id, node.id),
            )
            .about(&node.id)
            .suggest(format!(
                "Take the proposal back (tot_propose with `withdraw: [{}]`), or revive {} with tot_reclassify.",
                node.id, parent.id
            )),
        );
    } else if !rules.allows_child(parent_state, state) {
        let allowed = rules.child_states(parent_state).unwrap_or_default();
        let stored = match asked == state {
            true => String::new(),
            false => format!(" (as which {asked} is stored in round {})", node.round()),
        };
        errors.push(
            Diagnostic::new(
                Code::InvalidChildState,
                format!("{} can't be {state}{stored} under {}, which is {parent_state}.", node.id, parent.id),
            )
            .about(&node.id)
            .suggest(format!("Allowed under {parent_state}: {}.", effective::list(allowed))),
        );
    }
}

/// What is doubtful about who did the research, and how fast.
fn doubts(
    rules: &EffectiveRules,
    node: &Node,
    agent: Option<&str>,
    now: Timestamp,
    agents: &HashMap<String, NodeId>,
) -> Vec<(Severity, Diagnostic)> {
    let checks = &rules.ruleset().checks;
    let mut doubts = Vec::new();
    let seconds = now.seconds_since(node.proposed_at);
    if seconds < f64::from(checks.min_research_seconds) {
        let doubt = Diagnostic::new(
            Code::Suspicious,
            format!(
                "{} was committed {seconds:.1} s after it was proposed; research takes {} s or more.",
                node.id, checks.min_research_seconds
            ),
        )
        .about(&node.id)
        .suggest("Research a node between its proposal and its commit.");
        doubts.push((checks.suspicious, doubt));
    }
    match agent {
        None => {
            let doubt =
                Diagnostic::new(Code::MissingAgent, format!("{} was committed without an agentId.", node.id))
                    .about(&node.id)
                    .suggest("Give the id of the agent that did the research.");
            doubts.push((checks.missing_agent, doubt));
        }
        Some(agent) => {
            if let Some(other) = agents.get(agent) {
                let doubt = Diagnostic::new(
                    Code::ReusedAgent,
                    format!(
                        "{} was committed by {}, who already researched {other}.",
                        node.id,
                        shorten(agent, 60)
                    ),
                )
                .about(&node.id)
                .suggest("Let another agent research each node.");
                doubts.push((checks.reused_agent, doubt));
            }
        }
    }
    doubts
}

/// The node and the state that it would be stored with, if the node is pending and the state known and not locked.
fn state_in_ratio<'i>(
    investigation: &'i Investigation,
    rules: &EffectiveRules,
    result: &Finding,
) -> Option<(&'i Node, StateName)> {
    let node = investigation.node(&result.node_id.parse().ok()?).filter(|node| node.is_pending())?;
    let asked = known_state(rules, &result.state, &result.node_id).ok()?;
    match rules.early_rule(&asked, node.round()) {
        None => Some((node, asked)),
        Some(rule) => Some((node, rule.store_as.clone()?)),
    }
}

/// The terminal ratio, round by round.
fn check_ratio(
    investigation: &Investigation,
    rules: &EffectiveRules,
    states: &[(&Node, StateName)],
    errors: &mut Vec<Diagnostic>,
) {
    // Per round: nodes that count, and those of them that are closed.
    let mut rounds: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (node, state) in states {
        let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent)?.state());
        let Some(is_closed) = rules.counts_as_closed(state, node.round(), parent) else { continue };
        let (counted, closed) = rounds.entry(node.round()).or_default();
        *counted += 1;
        *closed += u64::from(is_closed);
    }
    for (round, (counted, closed)) in rounds {
        let Some(percent) = rules.closing_limit(round).map(u64::from) else { continue };
        if closed * 100 > counted * percent {
            let most = counted * percent / 100;
            errors.push(
                Diagnostic::new(
                    Code::TerminalRatioExceeded,
                    format!("{closed} of {counted} nodes of round {round} would be closed; at most {percent} % may be, here {most}."),
                )
                .suggest(
                    "Commit more nodes of that round as open in the same call; the last open leaves are closed with \
                     tot_reclassify.",
                ),
            );
        }
    }
}

/// One warning per state whose nodes still lack children.
fn incomplete_warnings(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let incomplete = rules.incomplete(investigation);
    let mut warnings = Vec::new();
    for state in &rules.ruleset().states {
        let of_state: Vec<_> =
            incomplete.iter().filter(|(node, _)| node.state() == Some(&state.name)).collect();
        let Some((first, requirement)) = of_state.first() else { continue };
        let message = match of_state.len() {
            1 => format!("{} needs {}, and has {}.", first.id, requirement.describe(), requirement.has),
            many => {
                let shown = effective::list(of_state.iter().take(5).map(|(node, _)| &node.id));
                let more = if many > 5 { format!(" and {} more", many - 5) } else { String::new() };
                format!("{many} {} nodes still lack children: {shown}{more}.", state.name)
            }
        };
        warnings.push(Diagnostic::new(Code::Incomplete(state.name.clone()), message).about(&first.id));
    }
    warnings
}
