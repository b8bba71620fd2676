//! `drill`: five states, several roots, three rounds.

use insta::assert_snapshot;
use tree_of_thoughts::decide::start::Start;

use crate::support::table::{Table, codes, said, start_of};

fn two_roots() -> Table {
    Table::started("drill", Start { min_roots: Some(2), ..Start::default() })
}

#[test]
fn the_first_batch_brings_the_roots() {
    let mut table = Table::new("drill");
    let roots = [("R1.A", ""), ("R1.B", ""), ("R1.C", ""), ("R1.D", ""), ("R1.E", "")];
    assert_snapshot!(table.propose(&roots[..4]), @"INSUFFICIENT_ROOTS: There would be 4 roots; at least 5 are required. Give 5 roots in this batch (parent: null), from different angles.");
    assert_snapshot!(table.next_action(), @"Propose 5 roots (parent: null) in one tot_propose call.");
    assert_eq!(table.propose(&roots), "");
    // Pending roots count too.
    assert_eq!(table.propose(&[("R1.F", "")]), "");
    // A root with another problem is not also reported as missing.
    let mut table = Table::new("drill");
    let said = table.propose(&[("R1.A", ""), ("R1.B", ""), ("R1.C", ""), ("R1.D", ""), ("R1.!", "")]);
    assert_eq!(codes(&said), ["INVALID_ID_FORMAT"]);
}

#[test]
fn the_number_of_roots_is_chosen_within_the_batch() {
    let of = |min_roots| Start { query: "q".into(), min_roots: Some(min_roots), ..Start::default() };
    assert_eq!(start_of("drill", of(1)), "");
    assert_eq!(start_of("drill", of(5)), "");
    assert_snapshot!(start_of("drill", of(6)), @"INVALID_ARGUMENT: minRoots is 6; use 1 to 5, since one batch allows no more. Leave it out for 5, or choose within this range.");
    assert_eq!(codes(&start_of("drill", of(0))), ["INVALID_ARGUMENT"]);
}

#[test]
fn what_two_roots_owe() {
    let mut table = two_roots();
    assert_snapshot!(table.grow(&[("R1.A", "", "DRILL"), ("R1.B", "", "DRILL")]), @"INCOMPLETE_DRILL R1.A: 2 DRILL nodes still lack children: R1.A, R1.B.");
    let next = table.next_round();
    assert_eq!((next.round, next.nodes_required, next.total_batches), (2, 4, 1));
    assert_snapshot!(table.next_action(), @"Call tot_propose for round 2: 2 children below R1.A (DRILL), 2 children below R1.B (DRILL).");
}

#[test]
fn there_is_no_agent_rule() {
    let mut table = two_roots();
    table.propose(&[("R1.A", ""), ("R1.B", "")]);
    // Immediately, and by the same agent.
    let results = ["R1.A", "R1.B"].map(|id| tree_of_thoughts::decide::commit::NodeResult {
        node_id: id.into(),
        state: "DEAD".into(),
        findings: "Nothing there.".into(),
        agent_id: Some("one".into()),
        ..Default::default()
    });
    assert!(table.try_commit(results.into()).unwrap().warnings.is_empty());
}

#[test]
fn the_end_is_in_round_three() {
    let mut table = two_roots();
    table.grow(&[("R1.A", "", "DRILL"), ("R1.B", "", "DEAD")]);
    table.grow(&[("R2.A1", "R1.A", "VERIFY"), ("R2.A2", "R1.A", "VALID")]);
    assert_snapshot!(table.end(), @"
    MIN_ROUNDS: Round 3 must be reached; the deepest committed node is in round 2. Propose more nodes below open ones until one in round 3 is committed.
    INSUFFICIENT_CHILDREN R2.A1: R2.A1 is VERIFY and needs 1 child; it has 0. Propose 1 child below it, in round 3.
    ");
    table.grow(&[("R3.A1a", "R2.A1", "DEAD")]);
    assert_eq!(table.end(), "");
}

#[test]
fn taking_roots_back_leaves_none_or_enough() {
    let mut table = Table::new("drill");
    table.propose(&[("R1.A", ""), ("R1.B", ""), ("R1.C", ""), ("R1.D", ""), ("R1.E", "")]);
    assert_snapshot!(said(table.try_propose(vec![], &["R1.E"])), @"INSUFFICIENT_ROOTS: There would be 4 roots; at least 5 are required. Withdraw all of them to start over, or keep at least 5.");
    assert_eq!(said(table.try_propose(vec![], &["R1.A", "R1.B", "R1.C", "R1.D", "R1.E"])), "");
}
