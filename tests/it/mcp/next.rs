//! tot_next and tot_step.

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, codes, node, result};

/// The arguments of a next call, with findings, evidence and agents filled in as an agent would.
fn filled_in(call: &Value) -> Value {
    let mut arguments = call["arguments"].clone();
    let evidence = "Measured twice on the test machine: 41 ms before and 97 ms after the change.";
    let fill = |fields: &mut Value| {
        for (field, text) in [
            ("evidence", evidence),
            ("findings", "Something was found."),
            ("reason", "No lead is left."),
            ("conclusion", "It is so."),
        ] {
            if let Some(value) = fields.get_mut(field).filter(|value| !value.is_null()) {
                *value = json!(text);
            }
        }
        let alternatives = fields.get_mut("alternativesConsidered").and_then(Value::as_array_mut);
        for alternative in alternatives.into_iter().flatten() {
            *alternative = json!("A wrong clock.");
        }
    };
    fill(&mut arguments);
    arguments["results"].as_array_mut().into_iter().flatten().for_each(fill);
    if arguments["results"].is_null() {
        arguments.as_object_mut().unwrap().remove("results");
    }
    arguments
}

#[test]
fn whoever_does_what_tot_next_says_comes_to_the_end() {
    for ruleset in ["single-root", "drill", "multi-gate", "found-verify", "exhaust"] {
        let sandbox = Sandbox::new();
        let mut session = Session::start(&sandbox, json!({"ruleset": ruleset}));
        let mut calls = 0;
        loop {
            let before = sandbox.head(&session.repository());
            let plan = session.ok("tot_next", json!({}));
            assert_eq!(sandbox.head(&session.repository()), before, "it writes nothing");
            let call = &plan["nextCall"];
            let Some(tool) = call["tool"].as_str() else { break };
            assert!(plan["message"].as_str().unwrap().contains(tool), "{plan}");
            sandbox.sleep(60);
            let reply = session.ok(tool, filled_in(call));
            let doubts: Vec<String> = codes(&reply["warnings"])
                .into_iter()
                .filter(|code| !code.starts_with("INCOMPLETE_") && !code.ends_with("_BREADTH"))
                .collect();
            assert!(doubts.is_empty(), "{ruleset}: {doubts:?} after {call}");
            calls += 1;
            assert!(calls < 100, "{ruleset}: {reply}");
        }
        assert!(!session.ok("tot_status", json!({}))["endedAt"].is_null());
        sandbox.assert_sound(&session.repository());
    }
}

#[test]
fn a_plan_is_small_and_complete() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let plan = session
        .ok("tot_next", json!({"dimensions": {"os": ["linux", "mac", "bsd"], "arch": ["arm", "x86"]}}));
    assert!(plan.to_string().len() <= 12_000, "{}", plan.to_string().len());
    let tasks = plan["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 6);
    assert_eq!(plan["coverage"]["total"], 6);
    assert_eq!(plan["coverage"]["missing"][0], json!({"arch": "arm", "os": "linux"}));
    // The call makes the same plan again and proposes it: it need not repeat the tasks.
    assert_eq!(plan["nextCall"]["tool"], "tot_step");
    for field in ["id", "parent", "title", "plannedAction", "prompt", "suggestedState"] {
        assert!(tasks[0][field].is_string(), "{field}");
    }
    let nodes: Vec<Value> = tasks
        .iter()
        .map(|task| {
            json!({"id": task["id"], "parent": task["parent"], "title": task["title"], "plannedAction": task["plannedAction"]})
        })
        .collect();
    let mut twin = Session { sandbox: &sandbox, server: sandbox.server(), id: session.id.clone() };
    let turn = twin.ok("tot_step", plan["nextCall"]["arguments"].clone());
    let proposed: Vec<Value> = turn["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| json!({"id": task["id"], "parent": task["parent"], "title": task["title"], "plannedAction": task["plannedAction"]}))
        .collect();
    assert_eq!(proposed, nodes);
    session.ok("tot_propose", json!({"withdraw": turn["approvedNodes"]}));
    // Eight tasks, each with its prompt, fit into one reply.
    let many: Vec<_> =
        ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5"].iter().map(|id| (*id, Some("R1.A"))).collect();
    session.grow(&many, "EXPLORE");
    let plan = session.ok("tot_next", json!({}));
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 8, "{}", plan["omitted"]);
}

#[test]
fn arguments_out_of_bounds_are_refused() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    for arguments in [
        json!({"maxTasks": 0}),
        json!({"maxTasks": 21}),
        json!({"strategy": "fast"}),
        json!({"dimensions": {"os": []}}),
        json!({"dimensions": ["os"]}),
    ] {
        assert!(
            session.refused("tot_next", arguments.clone()).iter().all(|code| code == "INVALID_ARGUMENT"),
            "{arguments}"
        );
    }
    assert_eq!(session.refused("tot_step", json!({"maxTasks": 0})), ["INVALID_ARGUMENT"]);
    session.ok("tot_next", json!({"maxTasks": "3", "strategy": "Deepen", "dimensions": {"os": "linux"}}));
}

#[test]
fn a_step_is_a_whole_turn() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    let first = session.ok("tot_step", json!({}));
    assert_eq!(first["approvedNodes"], json!(["R1.A"]));
    assert_eq!(first["tasks"][0]["id"], "R1.A");
    assert_eq!(first["nextCall"]["tool"], "tot_commit");
    assert_eq!(first["commits"].as_array().unwrap().len(), 1);
    assert!(first["committed"].is_null());
    sandbox.sleep(60);
    let second = session.ok("tot_step", json!({"results": [result("R1.A", "EXPLORE")], "maxTasks": 1}));
    assert_eq!(second["committed"][0]["state"], "EXPLORE");
    assert_eq!(second["approvedNodes"], json!(["R2.A1"]));
    assert!(second["tasks"][0]["prompt"].as_str().unwrap().contains("Findings of R1.A"), "{second:#}");
    let commits = second["commits"].as_array().unwrap();
    assert_eq!((commits.len(), &commits[1]), (2, &second["commit"]));
    assert_eq!(second["commit"], sandbox.head(&session.repository()));
    sandbox.sleep(60);
    // Nothing is owed: nothing is proposed, and the next call is the end.
    let third = session.ok("tot_step", json!({"results": [result("R2.A1", "DEAD")], "strategy": "deepen"}));
    assert_eq!(third["commits"].as_array().unwrap().len(), 1);
    assert_eq!((&third["canEnd"], &third["tasks"]), (&json!(true), &json!([])));
    assert_eq!(third["nextCall"]["tool"], "tot_end");
    let again = session.ok("tot_step", json!({}));
    assert!(again["commit"].is_null());
    session.ok("tot_end", json!({}));
    assert!(session.ok("tot_step", json!({}))["nextCall"].is_null());
    assert_eq!(
        session.refused("tot_step", json!({"nodes": [node("R2.A2", Some("R1.A"))]})),
        ["INVESTIGATION_ENDED"]
    );
    let tools = sandbox.git(
        &session.repository(),
        &["log", "--reverse", "--format=%(trailers:key=Tool,valueonly,separator=)"],
    );
    assert_eq!(
        tools.split_whitespace().collect::<Vec<_>>(),
        ["tot_start", "tot_propose", "tot_commit", "tot_propose", "tot_commit", "tot_end"]
    );
    sandbox.assert_sound(&session.repository());
}

#[test]
fn the_nodes_of_a_step_may_be_given_or_left_out() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    let none = session.ok("tot_step", json!({"nodes": []}));
    assert!(none["commit"].is_null());
    assert_eq!(none["nextCall"]["tool"], "tot_step");
    session.ok("tot_step", json!({"nodes": [node("R1.A", None)]}));
    sandbox.sleep(60);
    let own = session.ok(
        "tot_step",
        json!({"results": [result("R1.A", "EXPLORE")], "nodes": [node("R2.A7", Some("R1.A"))]}),
    );
    assert_eq!(own["tasks"][0]["title"], "Title of R2.A7");
    assert_eq!(own["pending"], json!(["R2.A7"]));
}

#[test]
fn a_step_that_is_refused_says_what_stands() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.ok("tot_step", json!({}));
    sandbox.sleep(60);
    // Rejected results: nothing is proposed either.
    let own = json!([node("R2.A1", Some("R1.A"))]);
    let refused = session.refused("tot_step", json!({"results": [result("R1.B", "EXPLORE")], "nodes": own}));
    assert_eq!(refused, ["NOT_PROPOSED"]);
    assert_eq!(session.ok("tot_status", json!({}))["pending"], json!(["R1.A"]));
    // A rejected proposal: the results stand.
    let before = sandbox.head(&session.repository());
    let wrong = json!([node("R3.A1", Some("R1.A"))]);
    let reply = session.call("tot_step", json!({"results": [result("R1.A", "EXPLORE")], "nodes": wrong}));
    assert_eq!(reply["status"], "REJECTED");
    assert_eq!(codes(&reply["errors"]), ["ROUND_MISMATCH"]);
    let message = reply["message"].as_str().unwrap();
    assert!(
        message.starts_with("The results were committed and stand; only the proposal was refused."),
        "{message}"
    );
    let head = sandbox.head(&session.repository());
    assert_ne!(head, before);
    assert_eq!((&reply["commit"], &reply["commits"]), (&json!(head), &json!([head])));
    assert_eq!(reply["committed"][0]["nodeId"], "R1.A");
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 1);
}
