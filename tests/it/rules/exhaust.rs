//! `exhaust`: two VERIFY per FOUND, DEAD confirms EXHAUST.

use insta::assert_snapshot;

use crate::support::table::{Table, codes};

/// Grows a line of EXPLORE nodes down to this round, each with a second child where it needs one.
fn tree(rounds: u32) -> Table {
    let mut table = Table::new("exhaust");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    for (round, node, other, parent) in
        [(2, "R2.A1", "R2.A2", "R1.A"), (3, "R3.A1a", "R3.A1b", "R2.A1"), (4, "R4.A1a1", "R4.A1a2", "R3.A1a")]
    {
        if round <= rounds {
            table.grow(&[(node, parent, "EXPLORE"), (other, parent, "EXPLORE")]);
        }
    }
    table
}

/// Returns what is reported for one state, stored in this round at the end of the line.
fn early(round: u32, state: &str) -> (String, String) {
    let mut table = if round == 1 { Table::new("exhaust") } else { tree(round - 1) };
    let (id, parent) = match round {
        1 => ("R1.A", ""),
        2 => ("R2.A9", "R1.A"),
        3 => ("R3.A1z", "R2.A1"),
        4 => ("R4.A1a9", "R3.A1a"),
        _ => ("R5.A1a1z", "R4.A1a1"),
    };
    let said = table.grow(&[(id, parent, state)]);
    let own = said.lines().filter(|line| !line.starts_with("INCOMPLETE")).collect::<Vec<_>>().join("\n");
    (table.state(id), own)
}

#[test]
fn early_states_are_converted() {
    let mut table = String::new();
    for state in ["FOUND", "EXHAUST", "DEAD", "VERIFY"] {
        for round in 1..=5 {
            let (stored, said) = early(round, state);
            table.push_str(&format!("{state} in round {round}: {stored} {}\n", codes(&said).join(" ")));
        }
    }
    assert_snapshot!(table, @"
    FOUND in round 1: EXPLORE DEPTH_ENFORCED
    FOUND in round 2: EXPLORE DEPTH_ENFORCED
    FOUND in round 3: EXPLORE DEPTH_ENFORCED
    FOUND in round 4: FOUND 
    FOUND in round 5: FOUND 
    EXHAUST in round 1: EXPLORE EXHAUST_ENFORCED
    EXHAUST in round 2: EXPLORE EXHAUST_ENFORCED
    EXHAUST in round 3: EXHAUST 
    EXHAUST in round 4: EXHAUST 
    EXHAUST in round 5: EXHAUST 
    DEAD in round 1: EXPLORE DEAD_ENFORCED
    DEAD in round 2: EXPLORE DEAD_ENFORCED
    DEAD in round 3: EXHAUST DEAD_ENFORCED
    DEAD in round 4: DEAD 
    DEAD in round 5: DEAD 
    VERIFY in round 1: EXPLORE DEPTH_ENFORCED
    VERIFY in round 2: EXPLORE DEPTH_ENFORCED
    VERIFY in round 3: EXPLORE DEPTH_ENFORCED
    VERIFY in round 4: EXPLORE DEPTH_ENFORCED
    VERIFY in round 5: VERIFY
    ");
    assert_snapshot!(early(3, "DEAD").1, @"DEAD_ENFORCED R3.A1z: R3.A1z was committed as DEAD in round 3 and stored as EXHAUST: DEAD is allowed from round 4 on. It now needs 1 DEAD child in round 4.");
}

#[test]
fn the_end_is_in_round_five() {
    let mut table = tree(3);
    table.grow(&[("R4.A1a1", "R3.A1a", "DEAD"), ("R4.A1a2", "R3.A1a", "FOUND")]);
    for id in ["R2.A2", "R3.A1b"] {
        assert_eq!(codes(&table.reclassify(id, "DEAD")), ["EARLY_STATE"]);
    }
    assert_snapshot!(table.end(), @"
    MIN_ROUNDS: Round 5 must be reached; the deepest committed node is in round 4. Propose more nodes below open ones until one in round 5 is committed.
    INSUFFICIENT_CHILDREN R4.A1a2: R4.A1a2 is FOUND and needs 2 VERIFY children; it has 0. Propose 2 VERIFY children below it, in round 5.
    ");
    table.grow(&[("R5.A1a2a", "R4.A1a2", "VERIFY"), ("R5.A1a2b", "R4.A1a2", "VERIFY")]);
    assert_eq!(table.end(), "");
}

#[test]
fn there_is_no_batch_limit_and_no_least_number_of_roots() {
    let mut table = Table::new("exhaust");
    let ids: Vec<String> = ('A'..='Z').map(|letter| format!("R1.{letter}")).collect();
    let nodes: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "")).collect();
    assert_eq!(table.propose(&nodes[..1]), "");
    assert_eq!(table.propose(&nodes), "");
}
