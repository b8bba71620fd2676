//! `found-verify`: four states, FOUND must be verified.

use insta::assert_snapshot;
use tree_of_thoughts::decide::commit::NodeResult;

use crate::support::table::{Table, found, said};

fn tree() -> Table {
    let mut table = Table::new("found-verify");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "EXPLORE"), ("R2.A2", "R1.A", "DEAD")]);
    table
}

#[test]
fn found_before_round_three_is_stored_as_explore() {
    let mut table = Table::new("found-verify");
    assert_snapshot!(table.grow(&[("R1.A", "", "FOUND")]), @"
    DEPTH_ENFORCED R1.A: R1.A was committed as FOUND in round 1 and stored as EXPLORE: FOUND is allowed from round 3 on. It now needs 2 children in round 2.
    INCOMPLETE_EXPLORE R1.A: R1.A needs 2 children, and has 0.
    ");
    let stored = table.node("R1.A").classification.as_ref().unwrap();
    assert_eq!(stored.requested_state.as_ref().unwrap().as_str(), "FOUND");
    assert_eq!(stored.warnings[0].code, "DEPTH_ENFORCED");
    let mut table = tree();
    assert!(!table.grow(&[("R3.A1a", "R2.A1", "FOUND")]).contains("DEPTH_ENFORCED"));
    assert_eq!(table.state("R3.A1a"), "FOUND");
    // Other states are allowed at any time.
    assert!(!table.grow(&[("R2.A3", "R1.A", "VERIFY")]).contains("DEPTH_ENFORCED"));
}

#[test]
fn only_verify_children_count_for_found() {
    let mut table = tree();
    table.grow(&[("R3.A1a", "R2.A1", "FOUND"), ("R3.A1b", "R2.A1", "DEAD")]);
    assert_snapshot!(table.grow(&[("R4.A1a1", "R3.A1a", "DEAD")]), @"INCOMPLETE_FOUND R3.A1a: R3.A1a needs 1 VERIFY child, and has 0.");
    assert_snapshot!(table.end(), @"INSUFFICIENT_CHILDREN R3.A1a: R3.A1a is FOUND and needs 1 VERIFY child; it has 0. Propose 1 VERIFY child below it, in round 4.");
    table.grow(&[("R4.A1a2", "R3.A1a", "VERIFY")]);
    assert_eq!(table.end(), "");
}

#[test]
fn a_batch_holds_five_and_roots_are_several() {
    let mut table = Table::new("found-verify");
    let roots = [("R1.A", ""), ("R1.B", ""), ("R1.C", ""), ("R1.D", ""), ("R1.E", ""), ("R1.F", "")];
    assert_snapshot!(table.propose(&roots), @"BATCH_OVERFLOW: The batch has 6 nodes; found-verify allows 5. Propose at most 5 nodes in a call.");
    assert_eq!(table.propose(&roots[..5]), "");
    assert_eq!(table.propose(&roots[5..]), "");
}

#[test]
fn of_the_agent_rules_only_the_missing_one() {
    let mut table = tree();
    table.propose(&[("R3.A1a", "R2.A1"), ("R3.A1b", "R2.A1")]);
    let anonymous = NodeResult { agent_id: None, ..found("R3.A1a", "DEAD") };
    let reused = NodeResult { agent_id: Some("agent-R1.A".into()), ..found("R3.A1b", "DEAD") };
    assert_snapshot!(said(table.try_commit(vec![anonymous, reused])), @"MISSING_AGENT R3.A1a: R3.A1a was committed without an agentId. Give the id of the agent that did the research.");
}
