//! `single-root`, the default: one root, five states, five rounds; and its modes.

use insta::assert_snapshot;
use tree_of_thoughts::decide::start::Start;

use crate::support::table::{Table, codes, start_of};

/// One root, five directions in round 2, and one of them explored down to this round.
fn tree(rounds: u32) -> Table {
    let mut table = Table::new("single-root");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    if rounds >= 2 {
        let second = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5"].map(|id| (id, "R1.A", "EXPLORE"));
        table.grow(&second);
    }
    if rounds >= 3 {
        let third = [("R3.A1a", "R2.A1", "EXPLORE"), ("R3.A1b", "R2.A1", "EXPLORE")];
        table.grow(&third);
    }
    table
}

#[test]
fn one_root_with_one_id() {
    assert_snapshot!(Table::new("single-root").propose(&[("R1.B", "")]), @"INVALID_ROOT_ID R1.B: R1.B can't be a root in single-root. The root is R1.A; propose other nodes below it.");
    assert_snapshot!(tree(1).propose(&[("R1.B", "")]), @"
    INVALID_ROOT_ID R1.B: R1.B can't be a root in single-root. The root is R1.A; propose other nodes below it.
    TOO_MANY_ROOTS R1.B: There would be 2 roots; single-root allows 1 here. Propose the node as a child of a committed one.
    ");
    assert_eq!(Table::new("single-root").propose(&[("R1.A", "")]), "");
}

#[test]
fn a_further_root_of_any_id_where_nothing_else_could_go_on() {
    let mut table =
        Table::started("single-root", Start { allow_early_terminal: Some(true), ..Start::default() });
    table.grow(&[("R1.A", "", "DEAD")]);
    assert_snapshot!(table.propose(&[("R1.B", ""), ("R1.C", "")]), @"TOO_MANY_ROOTS R1.C: There would be 3 roots; single-root allows 2 here. Propose one further root, and the others below it once it is committed.");
    assert_eq!(table.propose(&[("R1.Q", "")]), "");
    assert_eq!(codes(&table.propose(&[("R1.B", "")])), ["TOO_MANY_ROOTS"]);
    // The investigation continues below the additional root.
    table.sleep(60);
    assert_eq!(codes(&table.commit(&[("R1.Q", "EXPLORE")])), ["INCOMPLETE_EXPLORE"]);
    assert_eq!(codes(&table.propose(&[("R2.Q1", "R1.Q"), ("R2.Q2", "R1.Q")])), ["R2_BREADTH"]);
}

#[test]
fn early_states_are_converted() {
    let mut said = String::new();
    for state in ["FOUND", "VERIFY", "EXHAUST", "DEAD"] {
        for round in 1..=4 {
            let mut table = if round == 1 { Table::new("single-root") } else { tree(round - 1) };
            let (id, parent) = [("R1.A", ""), ("R2.A9", "R1.A"), ("R3.A1z", "R2.A1"), ("R4.A1a1", "R3.A1a")]
                [round as usize - 1];
            let warnings = table.grow(&[(id, parent, state)]);
            let own: Vec<&str> =
                codes(&warnings).into_iter().filter(|code| !code.starts_with("INCOMPLETE")).collect();
            said.push_str(&format!("{state} in round {round}: {} {}\n", table.state(id), own.join(" ")));
        }
    }
    assert_snapshot!(said, @"
    FOUND in round 1: EXPLORE DEPTH_ENFORCED
    FOUND in round 2: EXPLORE DEPTH_ENFORCED
    FOUND in round 3: EXPLORE R3_EXPLORE_ONLY
    FOUND in round 4: FOUND 
    VERIFY in round 1: EXPLORE DEPTH_ENFORCED
    VERIFY in round 2: EXPLORE DEPTH_ENFORCED
    VERIFY in round 3: EXPLORE R3_EXPLORE_ONLY
    VERIFY in round 4: VERIFY 
    EXHAUST in round 1: EXPLORE EXHAUST_ENFORCED
    EXHAUST in round 2: EXPLORE EXHAUST_ENFORCED
    EXHAUST in round 3: EXPLORE R3_EXPLORE_ONLY
    EXHAUST in round 4: EXHAUST 
    DEAD in round 1: EXPLORE DEAD_ENFORCED
    DEAD in round 2: EXPLORE DEAD_ENFORCED
    DEAD in round 3: EXPLORE R3_EXPLORE_ONLY
    DEAD in round 4: DEAD
    ");
    let first = |round: u32, id, parent, state| {
        tree(round).grow(&[(id, parent, state)]).lines().next().unwrap_or_default().to_owned()
    };
    assert_snapshot!(first(2, "R3.A1z", "R2.A1", "FOUND"), @"R3_EXPLORE_ONLY R3.A1z: R3.A1z was committed as FOUND in round 3 and stored as EXPLORE: FOUND is allowed from round 4 on. It now needs 1 child in round 4.");
    assert_snapshot!(first(1, "R2.A9", "R1.A", "VERIFY"), @"DEPTH_ENFORCED R2.A9: R2.A9 was committed as VERIFY in round 2 and stored as EXPLORE: VERIFY is allowed from round 4 on. It now needs 2 children in round 3.");
    assert_snapshot!(first(1, "R2.A9", "R1.A", "EXHAUST"), @"EXHAUST_ENFORCED R2.A9: R2.A9 was committed as EXHAUST in round 2 and stored as EXPLORE: EXHAUST is allowed from round 4 on. It now needs 2 children in round 3.");
    assert_snapshot!(first(1, "R2.A9", "R1.A", "DEAD"), @"DEAD_ENFORCED R2.A9: R2.A9 was committed as DEAD in round 2 and stored as EXPLORE: DEAD is allowed from round 4 on. It now needs 2 children in round 3.");
}

#[test]
fn what_a_child_may_be() {
    let mut table = tree(3);
    table.grow(&[("R4.A1a1", "R3.A1a", "FOUND"), ("R4.A1a2", "R3.A1a", "EXHAUST")]);
    table.propose(&[("R5.A1a1a", "R4.A1a1"), ("R5.A1a2a", "R4.A1a2")]);
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R5.A1a1a", "DEAD"), ("R5.A1a2a", "VERIFY")]), @"
    INVALID_CHILD_STATE R5.A1a1a: R5.A1a1a can't be DEAD under R4.A1a1, which is FOUND. Allowed under FOUND: EXPLORE, FOUND, VERIFY.
    INVALID_CHILD_STATE R5.A1a2a: R5.A1a2a can't be VERIFY under R4.A1a2, which is EXHAUST. Allowed under EXHAUST: EXPLORE, EXHAUST, DEAD.
    ");
    assert!(!table.commit(&[("R5.A1a1a", "VERIFY"), ("R5.A1a2a", "DEAD")]).contains("INVALID"));
    assert_snapshot!(table.reclassify("R5.A1a1a", "DEAD"), @"INVALID_CHILD_STATE R5.A1a1a: R5.A1a1a can't be DEAD under R4.A1a1, which is FOUND. Allowed under FOUND: EXPLORE, FOUND, VERIFY.");
    assert_snapshot!(table.reclassify("R4.A1a1", "EXHAUST"), @"INVALID_CHILD_STATE R4.A1a1: R4.A1a1 can't be EXHAUST above R5.A1a1a, which is VERIFY. Allowed under EXHAUST: EXPLORE, EXHAUST, DEAD.");
    assert_eq!(table.reclassify("R4.A1a1", "EXPLORE"), "");
    // After conversion.
    let mut early = tree(2);
    early.reclassify("R2.A1", "FOUND");
    assert!(!early.grow(&[("R3.A1a", "R2.A1", "DEAD")]).contains("INVALID"));
    early.reclassify("R2.A2", "EXHAUST");
    assert!(!early.grow(&[("R3.A2a", "R2.A2", "FOUND")]).contains("INVALID"));
}

#[test]
fn breadth_of_round_two() {
    let mut table = tree(1);
    assert_snapshot!(table.propose(&[("R2.A1", "R1.A"), ("R2.A2", "R1.A")]), @"R2_BREADTH: Round 2 has 2 nodes so far; 5 or more are recommended. Propose more directions, all clearly distinct.");
    let more = [("R2.A3", "R1.A"), ("R2.A4", "R1.A"), ("R2.A5", "R1.A")];
    assert_eq!(table.propose(&more), "");
    assert_eq!(tree(2).propose(&[("R3.A1a", "R2.A1")]), "", "only where the batch has nodes of round 2");
}

#[test]
fn early_states_and_minimum_rounds_are_fixed_at_the_start() {
    let of = |mode: &str, min_rounds, allow| Start {
        query: "q".into(),
        mode: Some(mode.into()),
        min_rounds,
        allow_early_terminal: allow,
        ..Start::default()
    };
    assert_eq!(start_of("single-root", of("deep", Some(20), None)), "");
    assert_snapshot!(start_of("single-root", of("exhaustive", Some(4), None)), @"INVALID_ARGUMENT: minRounds is 4, but single-root in exhaustive mode requires at least 5. Omit it, or set it to 5 or more.");
    assert_eq!(start_of("single-root", of("smoke", Some(1), None)), "");
    assert_snapshot!(start_of("single-root", of("smoke", Some(0), None)), @"INVALID_ARGUMENT: minRounds is 0, but single-root in smoke mode requires at least 1. Omit it, or set it to 1 or more.");
    let kept = |request: Start| {
        let table = Table::started("single-root", request);
        table.investigation.meta().allow_early_terminal
    };
    assert!(kept(of("smoke", Some(3), None)));
    assert!(!kept(of("smoke", Some(4), None)));
    assert!(!kept(of("smoke", None, Some(false))));
    assert!(kept(of("deep", None, Some(true))));
}

#[test]
fn exhaustive_asks_for_more_children() {
    assert_eq!(Table::in_mode("single-root", "exhaustive").rules().children_asked(), 3);
    assert_eq!(Table::new("single-root").rules().children_asked(), 0);
}
