use serde_json::json;

use super::*;
use crate::domain::Event;
use crate::format::{conclusion_file, node_file};
use crate::ruleset::builtin;

const ANCESTOR: &str = include_str!("../../../tests/ancestor/multi-gate.json");

fn facts(nodes: &[&str], conclusion: Option<&str>) -> Facts {
    let mut facts = read(ANCESTOR, ImportOptions::default()).unwrap();
    facts.nodes = nodes.iter().map(|text| Arc::new(node_file::read(text).unwrap())).collect();
    facts.conclusion = conclusion.map(|text| conclusion_file::read(text).unwrap());
    facts
}

fn node(id: &str, parent: &str, minute: u32, rest: &str) -> String {
    let parent = if parent.is_empty() { String::new() } else { format!("parent: {parent}\n") };
    format!(
        "version: 1\nid: {id}\n{parent}title: Look\nplannedAction: Look.\n\
         proposedAt: 2026-01-05T09:{minute:02}:00Z\n{rest}"
    )
}

/// Returns the commit subjects, after checking that the steps reproduce the facts.
fn subjects(facts: &Facts) -> Vec<String> {
    let steps = steps(facts);
    let changes: Vec<_> = steps.iter().flat_map(|step| step.event.changes()).collect();
    assert_eq!(Investigation::new(facts.meta.clone()).with(&changes), facts.investigation());
    steps.iter().map(|step| step.message.lines().next().unwrap().to_owned()).collect()
}

#[test]
fn steps_reconstruct_the_calls() {
    let root = node(
        "R1.A",
        "",
        0,
        "state: VALID_PENDING\ncommittedAt: 2026-01-05T09:01:00Z\nfindings: Now.\n\
         reclassified:\n- {from: VALID_PENDING, to: VALID, at: 2026-01-05T09:04:00Z, by: R2.A1}\n\
         - {from: VALID, to: DRILL, at: 2026-01-05T09:08:00Z, agentId: a, reason: Too early.}\n\
         amended:\n- {at: 2026-01-05T09:02:00Z, reason: A slip., findings: Then., title: Louk}\n\
         - {at: 2026-01-05T09:06:00Z, reason: Another slip., title: Loke}\n",
    );
    let child = |id| node(id, "R1.A", 3, "state: VALID\ncommittedAt: 2026-01-05T09:04:00Z\nfindings: Yes.\n");
    let late =
        "otherResults:\n- {state: DEAD, committedAt: 2026-01-05T09:11:00Z, findings: No., agentId: b}\n";
    let claim = "claim: {at: 2026-01-05T09:03:30Z, agentId: b, until: 2026-01-05T10:03:30Z}\n";
    let pending = node("R2.A3", "R1.A", 3, claim);
    let end = "version: 1\nendedAt: 2026-01-05T09:05:00Z\nconcludedAt: 2026-01-05T09:07:00Z\nconclusion: Third.\n\
               amended:\n- {at: 2026-01-05T09:09:00Z, reason: x, conclusion: First.}\n\
               - {at: 2026-01-05T09:10:00Z, reason: x, conclusion: Second.}\n";
    let facts = facts(&[&root, &child("R2.A1"), &(child("R2.A2") + late), &pending], Some(end));
    assert_eq!(
        subjects(&facts),
        [
            "Propose R1.A",
            "Commit R1.A VALID_PENDING",
            "Amend title, findings of R1.A",
            "Propose R2.A1, R2.A2, R2.A3",
            "Claim R2.A3 for b",
            "Commit R2.A1 VALID, R2.A2 VALID; R1.A VALID_PENDING→VALID",
            "End with 3 answers, 3 not checked, and 0 ruled out",
            "Amend title of R1.A",
            "End with 3 answers, 3 not checked, and 0 ruled out",
            "Reclassify R1.A VALID→DRILL",
            "Amend the conclusion",
            "Amend the conclusion",
            "Commit R2.A2 DEAD as another result",
        ]
    );
    let steps = steps(&facts);
    let Event::Committed { nodes, .. } = &steps[1].event else { panic!("{:?}", steps[1]) };
    let first = (nodes[0].title.as_str(), nodes[0].classification.as_ref().unwrap().findings.as_str());
    assert_eq!(first, ("Louk", "Then."));
    let conclusions: Vec<_> = steps
        .iter()
        .filter_map(|step| match &step.event {
            Event::Ended { conclusion } => Some(conclusion.conclusion.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(conclusions, [None, Some("First."), Some("Second."), Some("Third.")]);
}

#[test]
fn a_node_follows_its_parent_even_if_its_times_disagree() {
    let root = node("R1.A", "", 30, "state: DRILL\ncommittedAt: 2026-01-05T09:31:00Z\nfindings: x\n");
    let child = node("R2.A1", "R1.A", 1, "state: DRILL\ncommittedAt: 2026-01-05T09:00:00Z\nfindings: x\n");
    let subjects = subjects(&facts(&[&root, &child], None));
    assert_eq!(subjects, ["Propose R1.A", "Commit R1.A DRILL", "Propose R2.A1", "Commit R2.A1 DRILL"]);
}

#[test]
fn simultaneous_proposals_are_split_by_the_batch_limit() {
    let nodes: Vec<String> = (0..7).map(|number| node(&format!("R1.{number}"), "", 0, "")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let facts = facts(&nodes, None);
    assert_eq!(facts.ruleset.ruleset.batch_limit, Some(5));
    let sizes: Vec<usize> = steps(&facts).iter().map(|step| step.event.changes().len()).collect();
    assert_eq!(sizes, [5, 2]);
}

#[test]
fn each_generation_of_the_ancestor_selects_its_ruleset() {
    for (text, ruleset) in [
        (include_str!("../../../tests/ancestor/drill.json"), "drill"),
        (ANCESTOR, "multi-gate"),
        (include_str!("../../../tests/ancestor/found-verify.json"), "found-verify"),
        (include_str!("../../../tests/ancestor/exhaust.json"), "exhaust"),
        (include_str!("../../../tests/ancestor/single-root.json"), "single-root"),
    ] {
        let facts = read(text, ImportOptions::default()).unwrap();
        assert_eq!(facts.ruleset.ruleset.name, ruleset);
        let findings = crate::service::check::check_facts(facts.investigation(), &facts.ruleset);
        assert_eq!(findings, [], "{ruleset}");
    }
    let named =
        read(ANCESTOR, ImportOptions { ruleset: Some("exhaust"), ..ImportOptions::default() }).unwrap_err();
    assert_eq!(named.to_string(), "no built-in ruleset `exhaust` has the states DEAD, DRILL, VALID");
}

#[test]
fn values_stored_by_the_ancestor_are_imported() {
    let facts =
        read(include_str!("../../../tests/ancestor/single-root.json"), ImportOptions::default()).unwrap();
    let by_id = |id: &str| facts.nodes.iter().find(|node| node.id.as_str() == id).unwrap();
    let found = by_id("R4.A1a1").classification.as_ref().unwrap();
    assert_eq!((found.agent_id.as_deref(), found.findings.as_str()), (Some("b2c3d4e"), "41 minutes."));
    let pending = by_id("R3.A2a");
    assert_eq!(pending.proposed_at.to_string(), "2026-02-01T10:50:00.000Z");
    assert_eq!((pending.planned_action.as_str(), pending.is_pending()), ("Try 512 MB", true));
    assert_eq!((facts.meta.min_rounds, facts.meta.mode.as_str()), (5, "deep"));
    assert_eq!(facts.meta.id.to_string(), "33333333-4444-4555-a666-777777777777");
    let new = read(ANCESTOR, ImportOptions { as_new: true, ..ImportOptions::default() }).unwrap().meta.id;
    assert_eq!(new, SessionId::derived(ANCESTOR.as_bytes()));
    assert_eq!(new.to_string().as_bytes()[14], b'5', "{new}");
}

#[test]
fn errors_name_their_location() {
    let sample: Value = serde_json::from_str(ANCESTOR).unwrap();
    for (pointer, value, expected) in [
        ("/nodes/R1.A/state", json!("drill"), "nodes.R1.A.state: "),
        ("/nodes/R1.A/state", json!("LOST"), "no built-in ruleset has the states DEAD, DRILL, LOST, VALID"),
        ("/nodes/R1.A/title", json!(7), "nodes.R1.A.title: invalid type: integer `7`, expected a string"),
        ("/nodes/R1.A/id", json!("R1.B"), "nodes.R1.A.id: R1.B differs from its key"),
        ("/nodes/R1.A/id", json!("../../../x"), "nodes.R1.A.id: "),
        ("/nodes/R2.A1/round", json!(3), "nodes.R2.A1.round: R2.A1 is in round 2"),
        ("/nodes/R2.A1/parent", json!("R1.Z"), "nodes.R2.A1: "),
        ("/nodes/R2.A1/parent", json!(null), "nodes.R2.A1: "),
        ("/sessionId", json!("../../../x"), "sessionId: "),
        ("/createdAt", json!("yesterday"), "createdAt: `yesterday` is not a time"),
        ("/query", json!("  "), "query: "),
        ("/pendingProposals/R3.A2a/proposedAt", json!(i64::MAX), "pendingProposals.R3.A2a.proposedAt: "),
        ("/nodes", json!([]), "nodes: invalid type: sequence, expected a map"),
    ] {
        let mut faulty = sample.clone();
        match faulty.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => faulty["pendingProposals"]["R3.A2a"]["proposedAt"] = value,
        }
        let error = read(&faulty.to_string(), ImportOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{pointer}: {error}");
    }
    for (text, expected) in [
        (&ANCESTOR[..400], "it is not JSON: EOF while parsing"),
        ("[]", "it is neither an investigation.json"),
        ("", "it is not JSON"),
        (r#"{"meta": {}, "nodes": [], "version": 2}"#, "version: 2 is not supported"),
        (r#"{"meta": {}, "nodes": [], "version": 1}"#, "meta: missing field `id`"),
    ] {
        let error = read(text, ImportOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn data_without_its_ruleset_uses_the_built_in_one() {
    let meta = json!({"id": "33333333-4444-4555-a666-777777777777", "title": "x", "query": "x", "context": null,
        "ruleset": builtin::DEFAULT, "mode": "deep", "minRounds": 5, "minRoots": 1, "allowEarlyTerminal": false,
        "startedAt": "2026-01-05T09:00:00.000Z", "currentRound": 1, "head": "x", "ended": false});
    let mut data = json!({"version": 1, "meta": meta, "nodes": []});
    let facts = read(&data.to_string(), ImportOptions::default()).unwrap();
    assert_eq!(facts.ruleset.ruleset.name, builtin::DEFAULT);
    assert_eq!(facts.notes.len(), 1);
    data["meta"]["ruleset"] = json!("gone");
    let error = read(&data.to_string(), ImportOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "rulesetFile: is missing, and gone is not built in");
    data["rulesetFile"] = json!("name: [");
    let error = read(&data.to_string(), ImportOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("rulesetFile: "), "{error}");
}
