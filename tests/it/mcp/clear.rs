//! The server's messages are true and can be followed literally, and obvious intentions of agents are understood.

use serde_json::{Value, json};
use tree_of_thoughts::service::arguments::coercion;

use crate::support::{Sandbox, Session, all_tools, codes, node, result};

/// Returns a result with everything that `review` requires.
fn found(id: &str, state: &str) -> Value {
    json!({"nodeId": id, "state": state, "findings": "It was looked into, and so it is.", "agentId": format!("agent-{id}"),
        "evidence": "Measured twice on the test machine: 41 ms before and 97 ms after the change.",
        "alternativesConsidered": ["A wrong clock.", "A wrong file."]})
}

/// Proposes a check of `R1.A` and commits it.
fn check(session: &mut Session, id: &str, state: &str) {
    session.ok("tot_propose", json!({"nodes": [node(id, Some("R1.A"))]}));
    session.ok("tot_commit", json!({"results": [found(id, state)]}));
}

/// Starts an investigation under `review` with an answer, `R1.A`.
fn answered(sandbox: &Sandbox) -> Session {
    let mut session = Session::start(sandbox, json!({"ruleset": "review"}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    session.ok("tot_commit", json!({"results": [found("R1.A", "ANSWER")]}));
    session
}

/// Returns the arguments of an objection.
fn objection(node: &str) -> Value {
    json!({"nodeId": node, "kind": "objection", "text": "The clock was wrong.", "agentId": "critic"})
}

/// Returns the next call that the server suggests to an agent.
fn next_call(session: &mut Session, agent: &str) -> Value {
    session.ok("tot_next", json!({"agentId": agent}))["nextCall"].clone()
}

fn message(reply: &Value) -> &str {
    reply["message"].as_str().unwrap()
}

#[test]
fn each_example_that_an_agent_is_shown_is_accepted() {
    let sandbox = Sandbox::new();
    let tool = |name: &str| all_tools().iter().find(|tool| tool.about().name == name).unwrap();
    let mut server = sandbox.server();
    let mut play = |session: &str, name: &str| {
        let mut example = coercion::example(tool(name).input_schema());
        assert!(!example.to_string().replace("<sessionId>", "").contains('<'), "{name}: {example}");
        if !example["sessionId"].is_null() {
            example["sessionId"] = json!(session);
        }
        let reply = server.ok(name, example);
        let doubts = codes(&reply["warnings"]);
        assert!(doubts.iter().all(|code| code == "R2_BREADTH"), "{name}: {reply:#}");
        reply["sessionId"].as_str().unwrap_or_default().to_owned()
    };
    play("", "tot_start");
    play("", "tot_list");
    sandbox.sleep(1);
    let mut session = Session::start(&sandbox, json!({"ruleset": "single-root"}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    play(&session.id, "tot_propose");
    sandbox.sleep(60);
    play(&session.id, "tot_commit");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    session.grow(&[("R4.A1a1", Some("R3.A1a"))], "EXPLORE");
    let elsewhere = ["tot_start", "tot_list", "tot_propose", "tot_commit", "tot_end"];
    for name in all_tools().iter().map(|tool| tool.about().name).filter(|name| !elsewhere.contains(name)) {
        play(&session.id, name);
    }
    sandbox.sleep(1);
    let short = Session::grown(&sandbox, &["R2.A1"], "DEAD");
    play(&short.id, "tot_end");
    // The contents of suggestions: sources, lines, and the answer to an objection.
    let mut cites = result("R5.A1a1a", "EXPLORE");
    cites["findings"] =
        json!("It is so, and was seen.\n\n## References\n- src/a.rs:42 - why\n- owner/name src/a.rs:42");
    cites["references"] =
        json!([{"target": "src/a.rs", "lines": "18"}, {"target": "src/a.rs", "lines": "18-24"}]);
    session.ok("tot_propose", json!({"nodes": [node("R5.A1a1a", Some("R4.A1a1"))]}));
    sandbox.sleep(60);
    let reply = session.ok("tot_commit", json!({"results": [cites]}));
    assert!(!codes(&reply["warnings"]).contains(&"UNREADABLE_REFERENCE".to_owned()), "{reply:#}");
    let comment = session.ok("tot_comment", objection("R2.A1"))["commentId"].clone();
    let says = |text: &str| json!({"kind": "answer", "replyTo": comment, "text": text, "agentId": "a"});
    let refused = session.call("tot_comment", says("Amended."));
    let shown = refused["errors"][0]["suggestion"].as_str().unwrap();
    let shown = shown.split_once('“').unwrap().1.trim_end_matches('”');
    session.ok("tot_comment", says(shown));
}

#[test]
fn another_name_of_a_field_or_a_kind_is_understood() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.ok("tot_propose", json!({"nodes": [{"nodeId": "R1.A", "title": "Look."}]}));
    let mut root = result("R1.A", "EXPLORE");
    root.as_object_mut().unwrap().remove("nodeId");
    root["id"] = json!("R1.A");
    session.sandbox.sleep(60);
    session.ok("tot_commit", json!({"results": [root]}));
    assert_eq!(session.ok("tot_read", json!({"id": "R1.A"}))["nodes"][0]["nodeId"], "R1.A");
    session.ok("tot_amend", json!({"id": "R1.A", "headline": "It is so.", "reason": "It was long."}));
    let said = json!({"id": "R1.A", "kind": "object", "text": "It is wrong.", "agentId": "b"});
    let said = session.ok("tot_comment", said)["commentId"].clone();
    let resolved = json!({"kind": "resolve", "replyTo": said, "text": "It was looked into.", "agentId": "c"});
    session.ok("tot_comment", resolved);
    let both = json!({"nodes": [{"id": "R2.A1", "nodeId": "R2.A1", "parent": "R1.A", "title": "Look."}]});
    assert_eq!(session.refused("tot_propose", both), ["INVALID_ARGUMENT"]);
}

#[test]
fn a_mistake_that_a_call_repeats_is_one_error() {
    let mut session = Session::start(&Sandbox::new(), json!({"ruleset": "review"}));
    let long = format!("R1.{}", "C".repeat(60));
    let ids = ["R1.A", "R1.B", long.as_str()];
    let nodes: Vec<Value> = ids.map(|id| node(id, None)).to_vec();
    let mut wrong = nodes.clone();
    wrong.iter_mut().for_each(|node| node["topic"] = json!("x"));
    let refused = session.call("tot_propose", json!({"nodes": wrong}));
    assert_eq!(codes(&refused["errors"]), ["INVALID_ARGUMENT"], "{refused:#}");
    let said = refused["errors"][0]["message"].as_str().unwrap();
    assert!(said.ends_with(", also in 2 more places"), "{said}");
    // The call to copy contains the agent's own name.
    assert!(message(&refused).contains(r#""id":"R1.A""#), "{refused:#}");
    session.ok("tot_propose", json!({"nodes": nodes}));
    let result =
        |id| json!({"nodeId": id, "state": "RULED_OUT", "findings": "It leads nowhere.", "agentId": "a"});
    let refused = session.call("tot_commit", json!({"results": ids.map(result)}));
    assert_eq!(codes(&refused["errors"]), ["MISSING_EVIDENCE"], "{refused:#}");
    let said = refused["errors"][0]["message"].as_str().unwrap();
    assert!(said.ends_with(&format!("The same applies to R1.B, {long}.")), "{said}");
}

#[test]
fn an_objection_is_a_task_for_others_than_its_author_and_hides_no_other_task() {
    let mut session = answered(&Sandbox::new());
    let comment = session.ok("tot_comment", objection("R1.A"))["commentId"].clone();
    let plan = session.ok("tot_next", json!({"agentId": "b"}));
    let told = (&plan["nextCall"]["tool"], &plan["tasks"][0]["nodeId"]);
    assert_eq!(told, (&json!("tot_comment"), &json!("R2.A1")));
    check(&mut session, "R2.A1", "CONFIRMED");
    let plan = session.ok("tot_next", json!({"agentId": "critic"}));
    assert!(plan["nextCall"].is_null(), "{plan:#}");
    assert!(
        message(&plan).ends_with("Nothing is left for you to do: somebody else must settle this."),
        "{plan:#}"
    );
    assert_eq!(next_call(&mut session, "agent-R1.A")["arguments"]["kind"], "answer");
    let answer = json!({"kind": "answer", "replyTo": comment, "text": "Measured again, the same.", "agentId": "agent-R1.A"});
    session.ok("tot_comment", answer);
    assert!(next_call(&mut session, "agent-R1.A").is_null());
    let judge = next_call(&mut session, "critic")["arguments"].clone();
    assert_eq!((&judge["kind"], &judge["agentId"]), (&json!("resolution"), &json!("critic")));
    // No message tells agents to invent a name.
    assert_eq!(session.ok("tot_next", json!({}))["nextCall"]["arguments"]["agentId"], "<yours>");
    session.sandbox.sleep(1);
    // An objection that does not prevent ending: to a node that is not an answer, or where the rules allow it.
    let mut ended = Session::begun(&session.sandbox);
    let free = ended.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    assert!(message(&free).starts_with("No required steps remain. Call tot_end"), "{free:#}");
    let reply = ended.ok("tot_comment", objection("R2.A1"));
    assert_eq!(reply["canEnd"], true);
    assert!(message(&reply).starts_with("Next: tot_comment. critic objects to R2.A1"), "{reply:#}");
}

#[test]
fn an_amendment_says_what_lapses_and_how_it_is_renewed() {
    let mut session = answered(&Sandbox::new());
    check(&mut session, "R2.A1", "CONFIRMED");
    session.sandbox.sleep(5);
    let change = json!({"nodeId": "R1.A", "headline": "It is so.", "reason": "It was long.", "agentId": "agent-R1.A",
        "findings": "It was looked into, and [so it is](run:ffff)."});
    let reply = session.ok("tot_amend", change.clone());
    let ended = "Confirmations ended: R2.A1 by agent-R2.A1, who renews it with tot_reclassify";
    assert!(message(&reply).starts_with(ended), "{reply:#}");
    assert!(message(&reply).contains("No longer confirmed: R1.A. tot_step proposes"), "{reply:#}");
    // An attacker reads what the answer claims, and which of its sources are not there.
    let claims = session.ok("tot_next", json!({}))["claims"].clone();
    assert_eq!(claims[0], "R1.A not checked: It is so.");
    assert!(claims[1].as_str().unwrap().starts_with("R1.A names sources that are not there"), "{claims}");
    let renewed = session.ok("tot_step", json!({}));
    assert_eq!(renewed["approvedNodes"], json!(["R2.A2"]), "{renewed:#}");
    session.ok("tot_commit", json!({"results": [found("R2.A2", "CONFIRMED")]}));
    // A wide correction says what it means once it is accepted.
    let mut wide = json!({"nodeId": "R1.A", "kind": "correction", "text": "All of it.", "agentId": "agent-R2.A2",
        "edits": [{"old": "so it is", "new": "not so. ".repeat(20)}]});
    let reply = session.ok("tot_comment", wide.clone());
    assert!(
        message(&reply).starts_with("Your confirmation of R1.A waits. If the correction is accepted"),
        "{reply:#}"
    );
    wide =
        json!({"kind": "resolution", "replyTo": reply["commentId"], "text": "It is so.", "agentId": "judge"});
    session.ok("tot_comment", wide);
    // A correction waits for somebody else, and ends no confirmation by its author.
    let correction = json!({"nodeId": "R1.A", "kind": "correction", "text": "It was.", "agentId": "agent-R2.A2",
        "edits": [{"old": "so it is", "new": "so it was"}]});
    session.ok("tot_comment", correction);
    assert_eq!(codes(&session.call("tot_end", json!({}))["errors"])[0], "OBJECTION_OPEN");
    let call = next_call(&mut session, "agent-R1.A");
    let reply = session.ok(call["tool"].as_str().unwrap(), call["arguments"].clone());
    assert!(message(&reply).starts_with("No confirmation ends."), "{reply:#}");
    session.ok("tot_end", json!({"bottomLine": "[Do it](how:assumed).", "conclusion": "It is so."}));
    // A correction since the end is a doubt, and no rule that was not met. It is accepted as before.
    let since = json!({"nodeId": "R1.A", "kind": "correction", "text": "It is.", "agentId": "agent-R2.A2",
        "edits": [{"old": "was looked", "new": "is looked"}]});
    let correction = session.ok("tot_comment", since)["commentId"].clone();
    let status = session.ok("tot_status", json!({}));
    assert!(status["bottomLine"].to_string().contains(" assumed"), "{status:#}");
    let verdict = status["verdict"].to_string();
    assert!(verdict.contains("not accepted yet"), "{verdict}");
    session.ok("tot_amend", json!({"correction": correction, "agentId": "agent-R1.A"}));
    let reply =
        session.ok("tot_amend", json!({"conclusion": "It is so, here.", "reason": "It was too wide."}));
    assert!(message(&reply).contains("An approval of the earlier conclusion lapses"), "{reply:#}");
    let refused = session.call("tot_amend", change);
    let how = refused["errors"][0]["suggestion"].as_str().unwrap();
    assert!(how.contains("Its confirmations lapse") && how.contains("tot_step"), "{refused:#}");
}
