//! tot_next and tot_step.

use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::next::{LegalCall, Next, next};
use tree_of_thoughts::domain::NodeId;
use tree_of_thoughts::service::Service;

use crate::support::closing;
use crate::support::{Sandbox, Session, codes, node, result, some};

/// The arguments of a plan's next call, filled in by an agent whose findings are such that the end comes.
fn filled_in(sandbox: &Sandbox, session: &str, plan: &Value) -> Value {
    let service = Service::new(sandbox.root(), World::Machine, None);
    let Ok(loaded) = service.read(session) else { panic!("{session} can't be read") };
    let Ok(now) = service.now() else { panic!("no clock") };
    let Ok(planned) = next(loaded.investigation(), &loaded.rules(), &Next::default(), now) else {
        panic!("no plan")
    };
    let mut arguments = plan["nextCall"]["arguments"].clone();
    let evidence = "Measured twice on the test machine: 41 ms before and 97 ms after the change.";
    let results = arguments.get_mut("results").and_then(Value::as_array_mut);
    let nodes: Vec<NodeId> = planned.pending.iter().map(|task| task.id.clone()).collect();
    let states = closing::states(loaded.investigation(), &loaded.rules(), &nodes);
    for ((result, node), state) in results.into_iter().flatten().zip(&nodes).zip(&states) {
        assert_eq!(*result, json!({"nodeId": node.as_str()}), "nobody has looked yet");
        *result = json!({"nodeId": node.as_str(), "state": state.as_str(), "findings": "Something was found.",
            "evidence": evidence, "agentId": format!("agent-{node}"),
            "alternativesConsidered": ["A wrong clock.", "A wrong file.", "A wrong host."]});
    }
    if let Some(LegalCall::Reclassify(change)) = planned.outlook.next_step.call() {
        assert_eq!((&arguments["newState"], &arguments["reason"]), (&json!("<state>"), &json!("<why>")));
        arguments["newState"] = json!(change.state.as_str());
        arguments["reason"] = json!("No lead is left.");
        arguments["evidence"] = json!(evidence);
        arguments["alternativesConsidered"] = json!(["A wrong clock.", "A wrong file.", "A wrong host."]);
    }
    if matches!(planned.outlook.next_step.call(), Some(LegalCall::End(_))) {
        arguments["conclusion"] = json!("It is so.");
        arguments["bottomLine"] = json!("It is so.");
    }
    arguments
}

#[test]
fn whoever_does_what_tot_next_says_comes_to_the_end_for_few_bytes() {
    for (ruleset, most) in some(vec![
        ("single-root", 36_000),
        ("drill", 34_500),
        ("multi-gate", 128_000),
        ("found-verify", 21_000),
        ("exhaust", 48_000),
        ("review", 11_000),
    ]) {
        let mut session = Session::start(&Sandbox::new(), json!({"ruleset": ruleset}));
        let (mut calls, mut ends, mut bytes) = (0, 0, 0);
        loop {
            let before = session.head();
            let plan = session.ok("tot_next", json!({}));
            assert_eq!(session.head(), before, "it writes nothing");
            let call = &plan["nextCall"];
            let Some(tool) = call["tool"].as_str() else { break };
            assert!(plan["message"].as_str().unwrap().contains(tool), "{plan}");
            session.sandbox.sleep(60);
            let reply = session.ok(tool, filled_in(&session.sandbox, &session.id, &plan));
            let doubts: Vec<String> =
                codes(&reply["warnings"]).into_iter().filter(|code| !code.ends_with("_BREADTH")).collect();
            assert!(doubts.is_empty(), "{ruleset}: {doubts:?} after {call}");
            calls += 1;
            ends += u32::from(tool == "tot_end");
            assert!(calls < 100, "{ruleset}: {reply}");
            bytes += plan.to_string().len() + reply.to_string().len();
        }
        assert!(bytes <= most, "{ruleset}: {bytes} bytes of replies to {calls} turns");
        assert_eq!(ends, 1, "{ruleset}: a report costs no call beyond the one that ends it");
        assert!(!session.ok("tot_status", json!({}))["endedAt"].is_null());
        session.assert_sound();
    }
}

#[test]
fn a_plan_is_small_and_complete() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let plan = session.ok("tot_next", json!({}));
    let tasks = plan["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 5);
    // The call makes the same plan again and proposes it: it need not repeat the tasks.
    assert_eq!(plan["nextCall"]["tool"], "tot_step");
    for field in ["nodeId", "path", "ask", "counts"] {
        assert!(tasks[0][field].is_string(), "{field}");
    }
    assert!(tasks[0]["path"].as_str().unwrap().starts_with("R1.A Title of R1.A > R2.A1 "), "{}", tasks[0]);
    assert!(tasks[0]["prompt"].is_null());
    let ids: Vec<&Value> = tasks.iter().map(|task| &task["nodeId"]).collect();
    let full = session.ok("tot_next", json!({"brief": "full"}));
    assert!(full["tasks"][0]["prompt"].as_str().unwrap().contains("Report in Markdown"), "{full:#}");
    let turn = session.ok("tot_step", plan["nextCall"]["arguments"].clone());
    assert_eq!(turn["approvedNodes"].as_array().unwrap().iter().collect::<Vec<_>>(), ids);
    let proposed: Vec<&Value> =
        turn["tasks"].as_array().unwrap().iter().map(|task| &task["nodeId"]).collect();
    assert_eq!(proposed, ids);
    // The whole brief of one of them.
    let asked = json!({"name": "research", "arguments": {"sessionId": session.id, "nodeId": ids[0]}});
    let brief = session.server.request("prompts/get", asked);
    let text = brief["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Report in Markdown"), "{text}");
    session.ok("tot_propose", json!({"withdraw": turn["approvedNodes"]}));
    // Eight tasks fit into one reply.
    let many = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5"].map(|id| (id, Some("R1.A")));
    session.grow(&many, "EXPLORE");
    let plan = session.ok("tot_next", json!({}));
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 8);
}

#[test]
fn a_step_may_bring_nodes_and_their_results_and_an_agent_is_warned() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    let none = session.ok("tot_step", json!({"nodes": []}));
    assert!(none["commit"].is_null());
    assert_eq!(none["nextCall"]["tool"], "tot_step");
    let both = json!({"nodes": [node("R1.A", None)], "results": [result("R1.A", "EXPLORE")]});
    let done = session.ok("tot_step", both);
    assert_eq!((&done["approvedNodes"], &done["committed"][0]["nodeId"]), (&json!(["R1.A"]), &json!("R1.A")));
    assert_eq!(done["commits"].as_array().unwrap().len(), 2);
    assert_eq!(codes(&done["warnings"]), ["SUSPICIOUS"]);
    // Other results come before what is proposed, as ever.
    let (one, two) = (result("R2.A1", "EXPLORE"), result("R2.A2", "EXPLORE"));
    let mixed = json!({"nodes": [node("R2.A1", Some("R1.A"))], "results": [one, two]});
    assert_eq!(session.refused("tot_step", mixed), ["NOT_PROPOSED"]);
    let own = session.ok("tot_step", json!({"nodes": [node("R2.A7", Some("R1.A"))]}));
    assert_eq!(own["tasks"][0]["path"], "R1.A Title of R1.A > R2.A7 Title of R2.A7");
    assert_eq!(own["approvedNodes"], json!(["R2.A7"]));
    let again = json!({"nodes": [node("R2.A7", Some("R1.A"))], "results": [result("R2.A7", "EXPLORE")]});
    let again = session.ok("tot_step", again);
    assert_eq!((&again["approvedNodes"], again["commits"].as_array().unwrap().len()), (&json!([]), 1));
}

#[test]
fn a_step_is_a_whole_turn() {
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke"}));
    let first = session.ok("tot_step", json!({}));
    assert_eq!(first["approvedNodes"], json!(["R1.A"]));
    assert_eq!(first["tasks"][0]["nodeId"], "R1.A");
    assert_eq!(first["nextCall"]["tool"], "tot_commit");
    assert_eq!(first["commits"].as_array().unwrap().len(), 1);
    assert!(first["committed"].is_null());
    session.sandbox.sleep(60);
    let second = session.ok("tot_step", json!({"results": [result("R1.A", "EXPLORE")], "maxTasks": 1}));
    assert_eq!(second["committed"][0]["state"], "EXPLORE");
    assert_eq!(second["approvedNodes"], json!(["R2.A1"]));
    assert!(second["tasks"][0]["path"].as_str().unwrap().starts_with("R1.A "), "{second:#}");
    let commits = second["commits"].as_array().unwrap();
    assert_eq!((commits.len(), &commits[1]), (2, &second["commit"]));
    assert_eq!(second["commit"], session.head());
    session.sandbox.sleep(60);
    // Nothing is owed: nothing is proposed, and the next call is the end.
    let third = session.ok("tot_step", json!({"results": [result("R2.A1", "DEAD")]}));
    assert_eq!(third["commits"].as_array().unwrap().len(), 1);
    assert_eq!((&third["canEnd"], &third["tasks"]), (&json!(true), &json!([])));
    assert_eq!(third["nextCall"]["tool"], "tot_end");
    let again = session.ok("tot_step", json!({}));
    assert!(again["commit"].is_null());
    session.ok("tot_end", json!({"conclusion": "Nothing there."}));
    assert!(session.ok("tot_step", json!({}))["nextCall"].is_null());
    // Ending again returns the same reply and writes nothing, and neither does a refused call.
    let again = session.ok("tot_end", json!({"conclusion": "Something else."}));
    assert!(again["commit"].is_null());
    assert_eq!(again["tag"], "ended/1");
    let late = json!({"nodes": [node("R2.A2", Some("R1.A"))]});
    assert_eq!(session.refused("tot_step", late), ["INVESTIGATION_ENDED"]);
    let log = ["log", "--reverse", "--format=%(trailers:key=Tool,valueonly,separator=)"];
    let tools = session.git(&log);
    let tools: Vec<&str> = tools.split_whitespace().collect();
    assert_eq!(tools, ["tot_start", "tot_propose", "tot_commit", "tot_propose", "tot_commit", "tot_end"]);
    session.assert_sound();
}

#[test]
fn a_step_is_all_or_nothing() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.ok("tot_step", json!({}));
    session.sandbox.sleep(60);
    // Rejected results: nothing is proposed either.
    let own = json!([node("R2.A1", Some("R1.A"))]);
    let call = json!({"results": [result("R1.B", "EXPLORE")], "nodes": own});
    assert_eq!(session.refused("tot_step", call), ["NOT_PROPOSED"]);
    assert_eq!(session.ok("tot_status", json!({}))["pending"], json!(["R1.A"]));
    // A rejected proposal: nothing is stored either.
    let wrong = json!([node("R3.A1", Some("R1.A"))]);
    let call = json!({"results": [result("R1.A", "EXPLORE")], "nodes": wrong});
    assert_eq!(session.refused("tot_step", call), ["ROUND_MISMATCH"]);
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 0);
    // The proposal is judged on the state after the results: below a node that they commit.
    let right = json!({"results": [result("R1.A", "EXPLORE")], "nodes": [node("R2.A1", Some("R1.A"))], "graph": "dot"});
    let reply = session.ok("tot_step", right);
    assert_eq!(reply["commits"][1], session.head());
    assert!(reply["dot"].as_str().unwrap().contains("R2_A1"), "{reply:#}");
    let parent = session.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(reply["commits"][0], parent.trim());
    // A proposal below a result that is left out: why it is left out comes first.
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let results = json!([result("R2.A1", "EXPLORE"), result("R2.A2", "WRONG")]);
    let call = json!({"results": results, "nodes": [node("R3.A2a", Some("R2.A2"))]});
    assert_eq!(session.refused("tot_step", call), ["UNKNOWN_STATE", "PARENT_NOT_FOUND"]);
    session.assert_sound();
}
