//! What is stored of a node is told by its resource and by `tot_read`, whole.

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, node, result};

/// Each text and number in a value.
fn leaves(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(leaves).collect(),
        Value::Object(fields) => fields.values().flat_map(leaves).collect(),
    }
}

#[test]
fn nothing_that_an_agent_gave_is_left_out() {
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke", "allowEarlyTerminal": true}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let mut proposal = node("R2.A1", Some("R1.A"));
    proposal["covers"] = json!(["engine=gix"]);
    session.ok("tot_propose", json!({"nodes": [proposal, node("R2.A2", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let given = json!({
        "nodeId": "R2.A1",
        "state": "DEAD",
        "refutes": true,
        "agentId": "agent-7",
        "startedAt": "2026-01-05T09:00:30.000Z",
        "headline": "Sorting costs as much as it saves",
        "findings": "It sorts first.",
        "evidence": "Measured on three machines.",
        "verificationMethod": "Repeated with a cold cache.",
        "alternativesConsidered": ["A hash table"],
        "caveats": ["A file that does not fit into memory."],
        "commands": [{"command": "cargo bench", "exitCode": 101, "output": "1.5 s before"}],
        "references": [{"target": "src/sort.rs", "lines": "18-24", "commit": "0a1b2c3d", "quote": "sort_unstable()",
            "note": "three of five calls"}],
        "links": [{"to": "R2.A2", "kind": "supports"}],
    });
    session.ok("tot_commit", json!({"results": [given, result("R2.A2", "EXPLORE")]}));
    let again = json!({"nodeId": "R2.A1", "newState": "EXPLORE", "reason": "A figure was wrong.", "agentId": "agent-8",
        "evidence": "Seen again.", "verificationMethod": "By eye.", "alternativesConsidered": ["To wait"]});
    session.ok("tot_reclassify", again.clone());
    let amended = json!({"nodeId": "R2.A1", "reason": "It was a slip.", "agentId": "agent-9", "title": "Sorted",
        "headline": "Sorting saves half", "findings": "It sorts last.", "evidence": "Measured on four machines.",
        "alternativesConsidered": ["A heap"], "caveats": ["A full disk."], "commands": [{"command": "cargo bench --all", "exitCode": 3}],
        "references": [{"target": "src/heap.rs", "lines": "7"}]});
    session.ok("tot_amend", amended.clone());
    let address = format!("tot://{}/nodes/R2.A1", session.id);
    let answer = session.server.request("resources/read", json!({"uri": address}));
    let page = answer["result"]["contents"][0]["text"].as_str().unwrap().replace(['\\', '`'], "");
    session.ok("tot_propose", json!({"nodes": [node("R2.A3", Some("R1.A"))]}));
    let before = session.head();
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1", " R1.A", "R2.A3", "R2.A1"]}));
    assert_eq!(session.head(), before, "it writes nothing");
    let shown = serde_json::to_string_pretty(&read["nodes"]).unwrap();
    insta::assert_snapshot!(shown.replace(&session.id, "ID"));
    let told = leaves(&read).join("\n");
    // The titles and texts before and after, and through which client each call came.
    let others = json!(["engine=gix", "Title of R2.A1", "Look.", "it/1"]);
    for text in [&given, &again, &amended, &others].into_iter().flat_map(leaves) {
        assert!(page.contains(&text), "{text} is not in the resource: {page}");
        assert!(told.contains(&text), "{text} is not in tot_read: {read:#}");
    }
    assert!(page.contains("It refutes [R1.A]"), "{page}");
}
