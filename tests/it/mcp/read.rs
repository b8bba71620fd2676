//! tot_read and tot_list.

use serde_json::{Value, json};
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session, codes, node};

#[test]
fn a_node_is_read_whole() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    sandbox.sleep(60);
    let full = json!({"nodeId": "R1.A", "state": "EXPLORE", "agentId": "a", "findings": "# F\n\nIt scatters.\n",
        "evidence": "seen", "verificationMethod": "twice", "alternativesConsidered": ["paint"]});
    session.ok("tot_commit", json!({"results": [full]}));
    session.ok(
        "tot_reclassify",
        json!({"nodeId": "R1.A", "newState": "FOUND", "reason": "it holds", "agentId": "b"}),
    );
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    let before = sandbox.head(&session.repository());
    let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A", " R2.A1", "R1.A"]}));
    assert_eq!(sandbox.head(&session.repository()), before, "it writes nothing");
    insta::assert_snapshot!(serde_json::to_string_pretty(&reply["nodes"]).unwrap());
    assert!(reply["rest"].is_null());
}

#[test]
fn a_long_finding_is_read_in_pieces_that_make_the_whole() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    sandbox.sleep(60);
    let findings = "“Ünïcode” \\ \"quoted\"\t😀\n".repeat(2_000);
    session
        .ok("tot_commit", json!({"results": [{"nodeId": "R1.A", "state": "EXPLORE", "findings": findings}]}));
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    let (mut read, mut offset, mut calls) = (String::new(), json!(0), 0);
    while !offset.is_null() {
        // A second one gets its share at first; who reads on in one has it.
        let is_first = offset == json!(0);
        let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A", "R2.A1"], "offset": offset}));
        assert!(reply.to_string().len() <= 12_000, "{}", reply.to_string().len());
        let first = &reply["nodes"][0];
        assert_eq!(first["findingsLength"], findings.chars().count());
        read.push_str(first["findings"].as_str().unwrap());
        offset = first["nextOffset"].clone();
        if !offset.is_null() {
            assert_eq!(reply["rest"], if is_first { json!(null) } else { json!(["R2.A1"]) });
            assert_eq!(reply["nodes"].as_array().unwrap().len(), if is_first { 2 } else { 1 });
            assert!(reply["message"].as_str().unwrap().contains(&offset.to_string()), "{reply}");
        }
        calls += 1;
    }
    assert_eq!(read, findings);
    assert!(calls < 20, "{calls}");
    let beyond = session.ok("tot_read", json!({"nodeIds": ["R1.A"], "offset": 1_000_000}));
    assert_eq!(beyond["nodes"][0]["findings"], "");
}

#[test]
fn two_long_nodes_share_a_reply() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    sandbox.sleep(60);
    let long = |id: &str, length: usize| json!({"nodeId": id, "state": "EXPLORE", "agentId": id, "findings": "It scatters. ".repeat(length)});
    session.ok("tot_commit", json!({"results": [long("R2.A1", 2_000), long("R2.A2", 100)]}));
    let reply = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R2.A2"]}));
    let length = |at: usize| reply["nodes"][at]["findings"].as_str().unwrap().len();
    assert_eq!(length(1), 1_300, "the shorter one is whole");
    assert!(length(0) > 4_000, "the longer one has the room that is left: {}", length(0));
    assert!(reply.to_string().len() <= 12_000);
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    sandbox.sleep(60);
    session.ok("tot_commit", json!({"results": [long("R3.A1a", 2_000)]}));
    let reply = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R3.A1a"]}));
    for node in reply["nodes"].as_array().unwrap() {
        let findings = node["findings"].as_str().unwrap().len();
        assert!((2_500..4_500).contains(&findings), "{findings}");
        let next =
            format!("nodeIds [{}] and offset {}", node["nodeId"].as_str().unwrap(), node["nextOffset"]);
        assert!(reply["message"].as_str().unwrap().contains(&next), "{reply}");
    }
}

#[test]
fn other_long_texts_of_a_node_are_cut_and_named_and_whole_in_its_resource() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    let long = "seen ".repeat(50_000);
    session.ok("tot_propose", json!({"nodes": [{"id": "R1.A", "title": "T", "plannedAction": long}]}));
    sandbox.sleep(60);
    let alternatives = vec![long.clone(); 9];
    session.ok(
        "tot_commit",
        json!({"results": [{"nodeId": "R1.A", "state": "EXPLORE", "findings": "F.",
        "evidence": long, "alternativesConsidered": alternatives}]}),
    );
    let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    assert!(reply.to_string().len() <= 12_000, "{}", reply.to_string().len());
    let node = &reply["nodes"][0];
    assert_eq!(node["findings"], "F.");
    assert_eq!(node["cut"], json!(["plannedAction", "evidence", "alternativesConsidered"]));
    let read = session.server.request("resources/read", json!({"uri": node["resource"]}));
    assert_eq!(read["result"]["contents"][0]["text"].as_str().unwrap().matches("seen").count(), 550_000);
}

#[test]
fn nodes_that_do_not_exist_are_named() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let reply = session.call("tot_read", json!({"nodeIds": ["r1.a", "R1.A", "../x"]}));
    assert_eq!(codes(&reply["errors"]), ["NODE_NOT_FOUND", "NODE_NOT_FOUND"]);
    assert_eq!(reply["errors"][0]["suggestion"], "Did you mean R1.A?");
    assert_eq!(session.refused("tot_read", json!({"nodeIds": []})), ["INVALID_ARGUMENT"]);
    // One node where a list is asked.
    assert_eq!(session.ok("tot_read", json!({"nodeIds": "R1.A"}))["nodes"][0]["nodeId"], "R1.A");
}

#[test]
fn investigations_are_listed_and_looked_for() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    assert_eq!(server.ok("tot_list", json!({}))["total"], 0);
    let mut start = |query: &str| {
        sandbox.sleep(1);
        server.ok("tot_start", json!({"query": query, "mode": "smoke"}))["sessionId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (sky, sea) = (start("Why is the sky blue?"), start("Why is the sea salty?"));
    let mut session = Session::of(&sandbox, sandbox.server(), &sky);
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    session.ok("tot_end", json!({}));
    let mut ids = |arguments: Value| {
        let reply = session.server.ok("tot_list", arguments);
        let listed = reply["investigations"].as_array().unwrap();
        let ids: Vec<String> = listed.iter().map(|it| it["sessionId"].as_str().unwrap().to_owned()).collect();
        assert_eq!(reply["total"], ids.len());
        ids
    };
    assert_eq!(ids(json!({})), [sea.clone(), sky.clone()], "newest first");
    assert_eq!(ids(json!({"state": "Ended"})), std::slice::from_ref(&sky));
    assert_eq!(ids(json!({"state": "open"})), std::slice::from_ref(&sea));
    assert_eq!(ids(json!({"text": "SALTY sea"})), [sea]);
    assert!(ids(json!({"text": "fire"})).is_empty());
    let listed = session.server.ok("tot_list", json!({"text": "sky"}))["investigations"][0].clone();
    assert_eq!((&listed["nodes"], &listed["round"], &listed["ended"]), (&json!(2), &json!(2), &json!(true)));
    assert_eq!(session.server.refused("tot_list", json!({"cursor": "first"})), ["INVALID_ARGUMENT"]);
}

#[test]
fn a_long_list_comes_in_pages() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    for number in 0..15 {
        sandbox.sleep(1);
        server.ok("tot_start", json!({"query": format!("{number} {}", "x".repeat(400)), "mode": "smoke"}));
    }
    let first = server.ok("tot_list", json!({}));
    assert!(first.to_string().len() <= 12_000, "{}", first.to_string().len());
    assert_eq!(first["investigations"].as_array().unwrap().len(), 10);
    let second = server.ok("tot_list", json!({"cursor": first["nextCursor"]}));
    let number = |reply: &Value| reply["investigations"].as_array().unwrap().len();
    assert_eq!(number(&first) + number(&second), 15);
    assert!(second["nextCursor"].is_null());
    assert_eq!(Store::new(sandbox.root()).folders().len(), 15);
}

#[test]
fn what_is_owed_is_told_once_by_its_kind_and_counted() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let below = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5", "R2.A6", "R2.A7"].map(|id| (id, Some("R1.A")));
    let reply = session.grow(&below, "EXPLORE");
    for reply in
        [reply, session.ok("tot_read", json!({"nodeIds": ["R1.A"]})), session.ok("tot_status", json!({}))]
    {
        assert_eq!(codes(&reply["owed"]), ["MIN_ROUNDS", "INSUFFICIENT_CHILDREN"], "{reply:#}");
        let children = &reply["owed"][1];
        assert_eq!(children["count"], 7);
        assert_eq!(children["nodeIds"], json!(["R2.A1", "R2.A2", "R2.A3"]));
        assert!(codes(&reply["warnings"]).is_empty(), "{reply:#}");
        for other in ["blockers", "nextRoundInfo.parentBreakdown", "pendingExplore"] {
            assert!(reply[other].is_null(), "{other}");
        }
    }
    let incomplete = session.ok("tot_status", json!({}))["incomplete"].clone();
    assert_eq!(incomplete.as_array().unwrap().len(), 7);
    assert_eq!(incomplete[0], "R2.A1 EXPLORE (needs 2 children) Title of R2.A1: Findings of R2.A1.");
}

#[test]
fn the_newest_change_of_state_of_a_long_node_is_kept() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    for number in 0..20 {
        let state = if number % 2 == 0 { "FOUND" } else { "EXPLORE" };
        let reason = format!("{number}: {}", "because it was looked at once more. ".repeat(200));
        session.ok("tot_reclassify", json!({"nodeId": "R1.A", "newState": state, "reason": reason}));
    }
    let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    let changes = reply["nodes"][0]["reclassified"].as_array().unwrap().clone();
    assert!(changes.last().unwrap()["reason"].as_str().unwrap().starts_with("19: "), "{reply:#}");
    assert!(reply["nodes"][0]["cut"].as_array().unwrap().contains(&json!("reclassified")), "{reply:#}");
}

/// Each investigation of the root was read whole for it.
#[test]
fn an_unknown_session_is_answered_after_a_look_at_the_newest_only() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"title": "The first"}));
    for title in ["The second", "The third", "The fourth"] {
        sandbox.sleep(60);
        session.id = session.server.ok("tot_start", json!({"query": "Why?", "title": title}))["sessionId"]
            .as_str()
            .unwrap()
            .to_owned();
    }
    let reply = session.server.call("tot_status", json!({"sessionId": "0123-4567"}));
    assert_eq!(codes(&reply["errors"]), ["SESSION_NOT_FOUND"]);
    let suggestion = reply["errors"][0]["suggestion"].as_str().unwrap();
    let at = |title: &str| suggestion.find(title).unwrap_or_else(|| panic!("{title}: {suggestion}"));
    assert!(at("The fourth") < at("The third") && at("The third") < at("The second"), "{suggestion}");
    let newest = format!("{} (“The fourth”)", session.id);
    assert!(suggestion.contains(&newest) && suggestion.contains("tot_list"), "{suggestion}");
    assert!(!suggestion.contains("The first"), "{suggestion}");
    let newest = Store::new(session.repository().parent().unwrap()).newest(2);
    let titles: Vec<_> = newest.iter().map(|entry| entry.facts.as_ref().unwrap().title.as_str()).collect();
    assert_eq!(titles, ["The fourth", "The third"]);
}
