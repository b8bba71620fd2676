//! `multi-gate`: evidence, locks, terminal ratios, confirmation and a gate before ending.

use insta::assert_snapshot;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::quality::quality;
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::start::Start;

use crate::support::table::{Table, codes, found, said};

/// A root with three DRILL nodes in round 2.
fn tree() -> Table {
    let mut table = Table::started("multi-gate", Start { min_roots: Some(1), ..Start::default() });
    table.grow(&[("R1.A", "", "DRILL")]);
    table.grow(&[("R2.A1", "R1.A", "DRILL"), ("R2.A2", "R1.A", "DRILL"), ("R2.A3", "R1.A", "DRILL")]);
    table
}

/// The tree with a VALID_PENDING node in round 3.
fn pending() -> Table {
    let mut table = tree();
    table.grow(&[
        ("R3.A1a", "R2.A1", "VALID_PENDING"),
        ("R3.A1b", "R2.A1", "DRILL"),
        ("R3.A1c", "R2.A1", "DRILL"),
    ]);
    table
}

#[test]
fn evidence() {
    let mut table = tree();
    table.propose(&[("R2.A4", "R1.A"), ("R2.A5", "R1.A"), ("R2.A6", "R1.A")]);
    table.sleep(60);
    let with = |evidence: &str| {
        let dead = NodeResult { evidence: Some(evidence.into()), ..found("R2.A4", "DEAD") };
        vec![dead, found("R2.A5", "DRILL"), found("R2.A6", "VERIFY")]
    };
    assert_snapshot!(said(table.try_commit(with(&"x".repeat(49)))), @"MISSING_EVIDENCE R2.A4: DEAD needs evidence of at least 50 characters; there are 49. Put what was measured or read into `evidence`.");
    assert_eq!(codes(&said(table.try_commit(with(&" ".repeat(60))))), ["MISSING_EVIDENCE"]);
    assert!(!said(table.try_commit(with(&"x".repeat(50)))).contains("MISSING_EVIDENCE"));
    let plain = |evidence: Option<String>| Reclassify {
        node_id: "R2.A5".into(),
        new_state: "DEAD".into(),
        reason: Some("Nothing is left to try.".into()),
        evidence,
        ..Reclassify::default()
    };
    let mut other = tree();
    other.propose(&[("R2.A5", "R1.A")]);
    let bare = NodeResult { evidence: None, ..found("R2.A5", "DRILL") };
    other.try_commit(vec![bare]).unwrap();
    assert_snapshot!(said(other.try_reclassify(plain(None))), @"MISSING_EVIDENCE R2.A5: R2.A5 became DEAD without the 50 characters of evidence that a commit needs. Give `evidence` when reclassifying.");
    other.reclassify("R2.A5", "DRILL");
    // Earlier evidence still counts.
    assert_eq!(said(other.try_reclassify(plain(None))), "");
}

#[test]
fn locks() {
    let mut table = tree();
    table.propose(&[("R2.A4", "R1.A"), ("R2.A5", "R1.A"), ("R2.A6", "R1.A")]);
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R2.A4", "VALID"), ("R2.A5", "VALID_PENDING"), ("R2.A6", "SPEC")]), @"
    STATE_LOCKED R2.A4: VALID is locked until round 3; R2.A4 is in round 2. Available in round 2: DRILL, VERIFY, DEAD.
    STATE_LOCKED R2.A5: VALID_PENDING is locked until round 3; R2.A5 is in round 2. Available in round 2: DRILL, VERIFY, DEAD.
    STATE_LOCKED R2.A6: SPEC is locked until round 3; R2.A6 is in round 2. Available in round 2: DRILL, VERIFY, DEAD.
    ");
    assert!(
        table.commit(&[("R2.A4", "DEAD"), ("R2.A5", "VERIFY"), ("R2.A6", "DRILL")]).starts_with("INCOMPLETE")
    );
    assert_eq!(codes(&table.reclassify("R2.A4", "SPEC")), ["EARLY_STATE"]);
}

#[test]
fn terminal_ratio() {
    let mut table = tree();
    // Round 1: DEAD does not count, and the others are locked.
    let mut roots = Table::started("multi-gate", Start { min_roots: Some(1), ..Start::default() });
    assert_eq!(roots.grow(&[("R1.A", "", "DEAD")]), "");
    // Round 2: 35 %.
    table.propose(&[("R2.A4", "R1.A"), ("R2.A5", "R1.A"), ("R2.A6", "R1.A")]);
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R2.A4", "DEAD"), ("R2.A5", "DEAD"), ("R2.A6", "DRILL")]), @"TERMINAL_RATIO_EXCEEDED: 2 of 3 nodes in round 2 would be closed; the limit is 1 (35 %). Commit more open nodes in that round in the same call; to close the last open leaves, use tot_reclassify.");
    assert!(!table.commit(&[("R2.A4", "DEAD"), ("R2.A5", "DRILL"), ("R2.A6", "DRILL")]).contains("RATIO"));
    // Round 3: 50 %, including VALID_PENDING; checked for each round in a batch that spans two.
    table.propose(&[("R3.A1a", "R2.A1"), ("R3.A1b", "R2.A1"), ("R2.A7", "R1.A")]);
    table.sleep(60);
    let over = [("R3.A1a", "VALID_PENDING"), ("R3.A1b", "VALID"), ("R2.A7", "DRILL")];
    assert_snapshot!(table.commit(&over), @"TERMINAL_RATIO_EXCEEDED: 2 of 2 nodes in round 3 would be closed; the limit is 1 (50 %). Commit more open nodes in that round in the same call; to close the last open leaves, use tot_reclassify.");
    assert!(!table.commit(&[over[0], ("R3.A1b", "DRILL"), over[2]]).contains("RATIO"));
    // A confirmation is always terminal.
    assert!(!table.grow(&[("R4.A1a1", "R3.A1a", "SPEC")]).contains("RATIO"));
    // Round 4: 70 %.
    table.propose(&[("R4.A1b1", "R3.A1b"), ("R4.A1b2", "R3.A1b"), ("R4.A1b3", "R3.A1b")]);
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R4.A1b1", "DEAD"), ("R4.A1b2", "DEAD"), ("R4.A1b3", "DEAD")]), @"TERMINAL_RATIO_EXCEEDED: 3 of 3 nodes in round 4 would be closed; the limit is 2 (70 %). Commit more open nodes in that round in the same call; to close the last open leaves, use tot_reclassify.");
    assert!(
        !table.commit(&[("R4.A1b1", "DEAD"), ("R4.A1b2", "DEAD"), ("R4.A1b3", "DRILL")]).contains("RATIO")
    );
}

#[test]
fn a_child_confirms_or_refutes() {
    let mut table = pending();
    assert!(table.blockers().contains("AWAITING_CONFIRMATION R3.A1a"));
    assert_snapshot!(table.blockers().lines().filter(|line| line.starts_with("AWAIT")).collect::<String>(), @"AWAITING_CONFIRMATION R3.A1a: R3.A1a is VALID_PENDING: no child has confirmed or refuted it. Commit a child below it (VALID makes it VALID, DEAD makes it DRILL), or reclassify it.");
    assert_snapshot!(table.grow(&[("R4.A1a1", "R3.A1a", "SPEC")]), @"INCOMPLETE_DRILL R2.A2: 4 DRILL nodes still lack children: R2.A2, R2.A3, R3.A1b, R3.A1c.");
    assert_eq!(table.state("R3.A1a"), "VALID_PENDING", "another state waits");
    table.propose(&[("R4.A1a2", "R3.A1a"), ("R4.A1a3", "R3.A1a")]);
    table.sleep(60);
    let said = table.commit(&[("R4.A1a3", "DEAD"), ("R4.A1a2", "VALID")]);
    assert_eq!(said.lines().next().unwrap(), "R3.A1a VALID_PENDING -> VALID", "the first by id decides");
    assert!(!table.blockers().contains("AWAITING_CONFIRMATION"));
    let found = table.assessment();
    let verified: Vec<(String, String)> = found
        .answers
        .iter()
        .map(|solution| {
            (
                solution.node.id.to_string(),
                format!("{:?}", solution.confirming.iter().map(|it| it.node.to_string()).collect::<Vec<_>>()),
            )
        })
        .collect();
    assert_eq!(verified[0], ("R3.A1a".to_owned(), "[\"R4.A1a2\"]".to_owned()));
    // The promoted node is terminal: it accepts no more children.
    assert_eq!(codes(&table.propose(&[("R4.A1a9", "R3.A1a")])), ["TERMINAL_PARENT"]);
}

#[test]
fn a_refuted_one_must_be_confirmed_anew() {
    let mut table = pending();
    assert_eq!(table.grow(&[("R4.A1a1", "R3.A1a", "DEAD")]).lines().count(), 1);
    assert_eq!(table.state("R3.A1a"), "DRILL");
    table.sleep(1);
    assert_eq!(table.reclassify("R3.A1a", "VALID_PENDING"), "", "an old refutation does not count again");
    table.sleep(1);
    table.grow(&[("R4.A1a2", "R3.A1a", "VALID")]);
    assert_eq!(table.state("R3.A1a"), "VALID");
    // A reclassified child also decides.
    let mut table = pending();
    table.grow(&[("R4.A1a1", "R3.A1a", "SPEC")]);
    assert_eq!(table.reclassify("R4.A1a1", "VALID"), "R3.A1a VALID_PENDING -> VALID");
}

#[test]
fn a_clock_that_is_set_back_leaves_nobody_waiting() {
    let mut table = pending();
    table.grow(&[("R4.A1a1", "R3.A1a", "DEAD")]);
    table.sleep(1);
    table.reclassify("R3.A1a", "VALID_PENDING");
    table.sleep(-3_600);
    assert_eq!(table.state("R3.A1a"), "VALID_PENDING");
    table.grow(&[("R4.A1a2", "R3.A1a", "VALID")]);
    assert_eq!(table.state("R3.A1a"), "VALID", "the child came after");
    // Also in the same millisecond, and if the parent is set back manually while the clock is slow.
    let mut table = pending();
    table.grow(&[("R4.A1a1", "R3.A1a", "DEAD")]);
    table.sleep(-3_600);
    assert_eq!(table.reclassify("R3.A1a", "VALID_PENDING"), "", "an old refutation does not count again");
    table.grow(&[("R4.A1a2", "R3.A1a", "VALID")]);
    assert_eq!(table.state("R3.A1a"), "VALID");
}

#[test]
fn the_gate_at_the_end() {
    let mut table = pending();
    assert_snapshot!(table.end(), @"
    MIN_ROUNDS: Round 4 must be reached; the deepest committed node is in round 3. Propose more nodes below open ones until one in round 4 is committed.
    DEPTH_TOO_SHALLOW: The tree is too shallow: its deepest node is in round 3, but round 4 is required. Go deeper on the most promising branch.
    INSUFFICIENT_CHILDREN R2.A2: R2.A2 is DRILL and needs 3 children; it has 0. Propose 3 children below it, in round 3.
    INSUFFICIENT_CHILDREN R2.A3: R2.A3 is DRILL and needs 3 children; it has 0. Propose 3 children below it, in round 3.
    INSUFFICIENT_CHILDREN R3.A1a: R3.A1a is VALID_PENDING and needs 1 child; it has 0. Propose 1 child below it, in round 4.
    INSUFFICIENT_CHILDREN R3.A1b: R3.A1b is DRILL and needs 3 children; it has 0. Propose 3 children below it, in round 4.
    INSUFFICIENT_CHILDREN R3.A1c: R3.A1c is DRILL and needs 3 children; it has 0. Propose 3 children below it, in round 4.
    AWAITING_CONFIRMATION R3.A1a: R3.A1a is VALID_PENDING: no child has confirmed or refuted it. Commit a child below it (VALID makes it VALID, DEAD makes it DRILL), or reclassify it.
    QUALITY_TOO_LOW: The quality is 0.48, below 0.50: depth 0.60, breadth 1.00, balance 0.00, exploration 1.00. Close open nodes.
    ");
    // All nodes are closed one by one, and the required depth is reached.
    table.grow(&[("R4.A1a1", "R3.A1a", "VALID")]);
    table.reclassify("R3.A1b", "DEAD");
    table.reclassify("R3.A1c", "DEAD");
    table.reclassify("R2.A2", "DEAD");
    table.reclassify("R2.A3", "DEAD");
    assert_eq!(table.end(), "");
}

#[test]
fn quality_too_low() {
    // A single line of solutions, with no alternative ruled out.
    let mut table = Table::started("multi-gate", Start { min_roots: Some(1), ..Start::default() });
    table.grow(&[("R1.A", "", "VERIFY")]);
    table.grow(&[("R2.A1", "R1.A", "VERIFY")]);
    table.grow(&[("R3.A1a", "R2.A1", "VALID_PENDING"), ("R3.A1b", "R2.A1", "VERIFY")]);
    table.grow(&[("R4.A1a1", "R3.A1a", "VALID"), ("R4.A1b1", "R3.A1b", "VERIFY")]);
    table.reclassify("R4.A1b1", "VALID");
    assert_snapshot!(table.end(), @"QUALITY_TOO_LOW: The quality is 0.46, below 0.50: depth 0.80, breadth 0.42, balance 0.00, exploration 0.50. Rule out alternatives, with evidence.");
    table.reclassify("R4.A1b1", "DEAD");
    assert_eq!(table.end(), "");
    assert!(quality(&table.investigation, &table.rules()).composite_score >= 0.5);
}

#[test]
fn what_a_child_confirmed_is_verified_only_while_the_child_stands() {
    let mut table = pending();
    table.grow(&[("R4.A1a1", "R3.A1a", "VALID")]);
    let verified = |table: &Table| {
        let found = table.assessment();
        let solution = found.answers.iter().find(|solution| solution.node.id.as_str() == "R3.A1a");
        solution.unwrap().confirming.iter().map(|it| it.node.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(verified(&table), ["R4.A1a1"]);
    table.reclassify("R4.A1a1", "DEAD");
    assert_eq!(verified(&table), [""; 0]);
}
