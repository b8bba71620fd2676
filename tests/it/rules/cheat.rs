//! An honest agent and a cheating agent, each following only the plan, in every ruleset: both reach the end, and
//! readers can tell them apart.

use std::collections::BTreeSet;
use std::fmt::Write;

use insta::assert_snapshot;
use tree_of_thoughts::decide::commit::{NewVerification, NodeResult};
use tree_of_thoughts::decide::end::{Bind, EarlyStop, End};
use tree_of_thoughts::decide::next::{LegalCall, Next, next};
use tree_of_thoughts::decide::propose::Propose;
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::{Decision, Rejection};
use tree_of_thoughts::domain::{Caller, NodeId, StateName, StopReason};
use tree_of_thoughts::ruleset::{Role, builtin};

use super::table::{EVIDENCE, Table, worded};
use crate::support::closing;

/// How an agent fills in what the plan leaves open.
struct Agent {
    /// Seconds between a proposal and its commit.
    works: i64,
    result: fn(&NodeId) -> NodeResult,
    reason: Option<&'static str>,
    /// The ways to end that the agent tries, the cheapest first.
    ends: fn() -> Vec<End>,
}

fn with(alternatives: [&str; 2]) -> NewVerification {
    NewVerification { alternatives_considered: alternatives.map(String::from).into(), ..Default::default() }
}

const HONEST: Agent = Agent {
    works: 60,
    result: |node| NodeResult {
        findings: format!("What {node} asks was measured, and the result is in the evidence."),
        agent_id: Some(format!("agent-of-{node}")),
        evidence: Some(EVIDENCE.into()),
        verification: with(["A cold cache, which a second run rules out.", "A wrong clock."]),
        ..NodeResult::default()
    },
    reason: Some("Nothing is left to try below it."),
    ends: || {
        let said = || Some("It is the cache, as the second run shows.".to_owned());
        vec![End { conclusion: said(), bottom_line: said(), ..End::default() }]
    },
};

const CHEAT: Agent = Agent {
    works: 0,
    result: |_| NodeResult {
        findings: "ok".into(),
        agent_id: Some("me".into()),
        evidence: Some("x".repeat(50)),
        verification: with(["a b", "c d"]),
        ..NodeResult::default()
    },
    reason: None,
    ends: || {
        let stopped = Some(EarlyStop { reason: StopReason::Enough, note: None });
        let said = || Some("It is so.".to_owned());
        vec![
            End::default(),
            End { conclusion: said(), bottom_line: said(), ..End::default() },
            End { conclusion: said(), bottom_line: said(), stopped, ..End::default() },
        ]
    },
};

/// Plays a ruleset to the end, and returns what a reader sees.
fn played(ruleset: &str, agent: &Agent) -> String {
    let mut table = Table::new(ruleset);
    let mut doubts = BTreeSet::new();
    let mut note = |decision: &Decision| {
        let codes = decision.warnings.iter().filter(|warning| !warning.code.is_passing());
        doubts.extend(codes.map(|warning| warning.code.to_string()));
    };
    for _ in 0..300 {
        let plan = next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap();
        worded(&plan.outlook.next_step.wording(None));
        let call = plan.outlook.next_step.call().unwrap();
        // A cheating agent does not obtain confirmations that the rules require from someone else. It ends as soon as
        // it may.
        let end = try_ends(&mut table, agent, matches!(call, LegalCall::End(_)));
        if let Some(decision) = end {
            note(&decision);
            break;
        }
        let accepted = match call {
            LegalCall::Propose(_) => table.propose(plan.proposal()),
            LegalCall::Withdraw(ids) => {
                let withdraw = ids.iter().map(ToString::to_string).collect();
                table.propose(Propose { withdraw, ..Propose::default() })
            }
            LegalCall::Commit(nodes) => committed(&mut table, agent, nodes),
            LegalCall::Reclassify(change) => table.reclassify(Reclassify {
                node_id: change.node.to_string(),
                new_state: change.state.to_string(),
                reason: agent.reason.map(str::to_owned),
                agent_id: (agent.result)(&change.node).agent_id,
                evidence: (agent.result)(&change.node).evidence,
                ..Reclassify::default()
            }),
            LegalCall::Reply(_) | LegalCall::Accept(_) => unreachable!("nobody objects"),
            LegalCall::End(_) => unreachable!("it was tried"),
        };
        note(&accepted.unwrap_or_else(|why| panic!("{ruleset}: {why}")));
    }
    let ended = table.investigation.conclusion().unwrap_or_else(|| panic!("{ruleset}: no end"));
    let found = table.assessment();
    let grades: BTreeSet<&str> = found.answers.iter().map(|it| it.verdict.label()).collect();
    let mut text = format!("{ruleset}: ");
    match found.answers.len() {
        0 => text.push_str("no answer"),
        _ => text.push_str(&grades.into_iter().collect::<Vec<_>>().join(", ")),
    }
    if ended.stopped.is_some() {
        text.push_str("; stopped early");
    }
    let doubts = if doubts.is_empty() {
        "nothing".to_owned()
    } else {
        doubts.into_iter().collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "; warned of {doubts}");
    text
}

/// Returns the first accepted way to end. Only an agent that was asked to do what it avoids may stop early.
fn try_ends(table: &mut Table, agent: &Agent, may_end: bool) -> Option<Decision> {
    let lacks = |table: &Table| {
        let rules = table.rules();
        let mut answers =
            table.investigation.committed().filter(|(_, state)| rules.role(state) == Role::Solution);
        answers.any(|(node, _)| rules.lacks_confirmation(&table.investigation, node))
    };
    let ways = (agent.ends)().into_iter().filter(|end| may_end || (end.stopped.is_some() && lacks(table)));
    let ways: Vec<End> = ways.collect();
    let rules = table.rules();
    let answers = rules.answers(&table.investigation).map(|node| Bind::Id(node.id.to_string()));
    let answers: Vec<Bind> = answers.collect();
    ways.into_iter().find_map(|end| table.end(End { answers: answers.clone(), ..end }).ok())
}

/// Commits possible answers as answers and confirms the answer above, if any; otherwise follows the plan. The honest
/// agent has another session confirm its answers.
fn committed(table: &mut Table, agent: &Agent, nodes: &[NodeId]) -> Result<Decision, Rejection> {
    table.sleep(agent.works);
    let plain = closing::states(&table.investigation, &table.rules(), nodes);
    let claimed = nodes.iter().zip(&plain).map(|(node, state)| claimed(table, node, state)).collect();
    let results = |states: Vec<StateName>| -> Vec<NodeResult> {
        let result = |(node, state): (&NodeId, StateName)| NodeResult {
            node_id: node.to_string(),
            state: state.to_string(),
            ..(agent.result)(node)
        };
        nodes.iter().zip(states).map(result).collect()
    };
    let checks = nodes.iter().any(|node| is_answer(table, node));
    let session = if checks && agent.works > 0 { "reviewer" } else { "lead" };
    table.caller = Caller { session: Some(session.into()), ..Caller::default() };
    if agent.works > 0 {
        for node in nodes {
            table.run(Some(node.as_str()));
        }
    }
    table.commit(results(claimed)).or_else(|_| table.commit(results(plain)))
}

/// Returns the role of the node's parent, or `None` for a root.
fn above(table: &Table, node: &NodeId) -> Option<Role> {
    let parent = table.investigation.node(node)?.parent.clone()?;
    let state = table.investigation.committed_node(&parent)?.state()?;
    Some(table.rules().role(state))
}

fn is_answer(table: &Table, node: &NodeId) -> bool {
    matches!(above(table, node), Some(Role::Solution | Role::AwaitingConfirmation))
}

/// Returns the state that the agent claims for a node, or the plain one.
fn claimed(table: &Table, node: &NodeId, plain: &StateName) -> StateName {
    let rules = table.rules();
    let wanted: &[Role] = match is_answer(table, node) {
        true => &[Role::Confirmation, Role::Solution],
        false if matches!(above(table, node), None | Some(Role::Open)) => {
            &[Role::AwaitingConfirmation, Role::Solution]
        }
        false => &[],
    };
    let legal = |role: &Role| {
        let mut states = rules.ruleset().states.iter();
        let round = node.round();
        // If all nodes were closed too early, the method requires another root.
        let is_time = |terminal: bool| round + u32::from(!terminal) >= rules.min_rounds;
        states.find(|it| {
            it.role == *role && is_time(it.terminal) && rules.early_rule(&it.name, round).is_none()
        })
    };
    wanted.iter().find_map(legal).map_or_else(|| plain.clone(), |state| state.name.clone())
}

fn in_all(agent: &Agent) -> String {
    builtin::all().iter().map(|file| played(&file.ruleset.name, agent)).collect()
}

#[test]
fn honest_work_is_confirmed_and_warned_of_nothing() {
    assert_snapshot!(in_all(&HONEST), @"
    single-root: confirmed by another agent, same session, confirmed in another session; warned of nothing
    drill: not checked; warned of nothing
    multi-gate: no answer; warned of nothing
    found-verify: confirmed by another agent, same session, confirmed in another session; warned of nothing
    exhaust: confirmed by another agent, same session, confirmed in another session; warned of nothing
    review: confirmed in another session; warned of nothing
    ");
}

#[test]
fn what_a_cheat_says_is_warned_of_and_confirmed_by_nobody() {
    let seen = in_all(&CHEAT);
    assert!(!seen.lines().any(|line| line.contains(": confirmed") || line.contains(", confirmed")), "{seen}");
    assert_snapshot!(seen, @"
    single-root: not checked; warned of EMPTY_FINDINGS, MISSING_CONCLUSION, REUSED_AGENT, SUSPICIOUS
    drill: not checked; warned of EMPTY_FINDINGS, MISSING_CONCLUSION
    multi-gate: no answer; warned of EMPTY_FINDINGS, MISSING_CONCLUSION, NO_REASON
    found-verify: not checked; warned of EMPTY_FINDINGS, MISSING_CONCLUSION
    exhaust: not checked; warned of EMPTY_FINDINGS, MISSING_CONCLUSION, REUSED_AGENT, SUSPICIOUS
    review: not checked; stopped early; warned of EMPTY_FINDINGS, NOT_INDEPENDENT, NOT_RUN
    ");
}
