//! tot_read and tot_list.

use serde_json::json;
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session, codes, node};

#[test]
fn a_long_finding_is_read_in_pieces_that_make_the_whole() {
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke"}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    session.sandbox.sleep(60);
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
fn two_long_nodes_share_a_reply_and_the_newest_change_of_state_is_kept() {
    let mut session = Session::begun(&Sandbox::new());
    // Of many changes of state, the newest is kept.
    for number in 0..20 {
        let state = if number % 2 == 0 { "FOUND" } else { "EXPLORE" };
        let reason = format!("{number}: {}", "because it was looked at once more. ".repeat(200));
        session.ok("tot_reclassify", json!({"nodeId": "R1.A", "newState": state, "reason": reason}));
    }
    let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    let changes = reply["nodes"][0]["reclassified"].as_array().unwrap();
    assert!(changes.last().unwrap()["reason"].as_str().unwrap().starts_with("19: "), "{reply:#}");
    assert!(reply["nodes"][0]["cut"].as_array().unwrap().contains(&json!("reclassified")), "{reply:#}");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let long = |id: &str, length: usize| json!({"nodeId": id, "state": "EXPLORE", "agentId": id, "findings": "It scatters. ".repeat(length)});
    session.ok("tot_commit", json!({"results": [long("R2.A1", 2_000), long("R2.A2", 100)]}));
    let reply = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R2.A2"]}));
    let length = |at: usize| reply["nodes"][at]["findings"].as_str().unwrap().len();
    assert_eq!(length(1), 1_300, "the shorter one is whole");
    assert!(length(0) > 4_000, "the longer one has the room that is left: {}", length(0));
    assert!(reply.to_string().len() <= 12_000);
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    session.sandbox.sleep(60);
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
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke"}));
    let long = "seen ".repeat(3_000);
    session.ok("tot_propose", json!({"nodes": [{"id": "R1.A", "title": "T", "plannedAction": long}]}));
    session.sandbox.sleep(60);
    let alternatives = vec![long.clone(); 9];
    let result = json!({"nodeId": "R1.A", "state": "EXPLORE", "findings": "F.",
        "evidence": long, "alternativesConsidered": alternatives});
    session.ok("tot_commit", json!({"results": [result]}));
    let reply = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    assert!(reply.to_string().len() <= 12_000, "{}", reply.to_string().len());
    let node = &reply["nodes"][0];
    assert_eq!(node["findings"], "F.");
    assert_eq!(node["cut"], json!(["plannedAction", "evidence", "alternativesConsidered"]));
    let (mut next, mut whole) = (node["resource"].as_str().map(str::to_owned), String::new());
    while let Some(address) = next {
        let read = session.server.request("resources/read", json!({"uri": address}));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        let (part, note) = text.rsplit_once("\n\n…\n\n").unwrap_or((text, ""));
        whole.push_str(part);
        next = note.trim_end().rsplit_once("goes on at ").map(|(_, next)| next.to_owned());
    }
    assert_eq!(whole.matches("seen").count(), 33_000);
}

#[test]
fn nodes_that_do_not_exist_are_named() {
    let mut session = Session::begun(&Sandbox::new());
    let reply = session.call("tot_read", json!({"nodeIds": ["r1.a", "R1.A", "../x"]}));
    assert_eq!(codes(&reply["errors"]), ["NODE_NOT_FOUND", "NODE_NOT_FOUND"]);
    assert_eq!(reply["errors"][0]["suggestion"], "Did you mean R1.A?");
    assert_eq!(session.refused("tot_read", json!({"nodeIds": []})), ["INVALID_ARGUMENT"]);
    // One node where a list is asked.
    assert_eq!(session.ok("tot_read", json!({"nodeIds": "R1.A"}))["nodes"][0]["nodeId"], "R1.A");
}

#[test]
fn investigations_are_listed_looked_for_and_come_in_pages() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1"], "DEAD");
    session.ok("tot_end", json!({}));
    let server = &mut session.server;
    for number in 1..=52 {
        session.sandbox.sleep(1);
        let query = format!("Question {number}? {}", "x".repeat(400));
        server.ok("tot_start", json!({"query": query, "mode": "smoke"}));
    }
    for (arguments, total) in [
        (json!({"state": "Ended"}), 1),
        (json!({"state": "open"}), 52),
        (json!({"text": "SKY why"}), 1),
        (json!({"text": "fire"}), 0),
    ] {
        assert_eq!(server.ok("tot_list", arguments.clone())["total"], total, "{arguments}");
    }
    let sky = server.ok("tot_list", json!({"text": "sky"}))["investigations"][0].clone();
    assert_eq!(sky["sessionId"], json!(session.id));
    assert_eq!(
        (&sky["totalNodes"], &sky["currentRound"], &sky["ended"]),
        (&json!(2), &json!(2), &json!(true))
    );

    let mut titles = Vec::new();
    let mut cursor = json!(null);
    loop {
        let page = server.ok("tot_list", json!({"cursor": cursor}));
        assert!(page.to_string().len() <= 12_000, "{}", page.to_string().len());
        titles.extend(page["investigations"].as_array().unwrap().iter().map(|it| it["title"].to_string()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        assert_eq!(titles.len() % 10, 0);
    }
    assert_eq!(titles.len(), 53);
    assert!(titles[0].contains("Question 52?") && titles[52].contains("sky"), "{titles:?}");
    assert_eq!(server.refused("tot_list", json!({"cursor": "first"})), ["INVALID_ARGUMENT"]);

    // The same investigations as resources.
    let first = server.request("resources/list", json!({}))["result"].clone();
    assert_eq!(first["resources"][0]["uri"], "tot://investigations");
    assert!(first["resources"][1]["title"].as_str().unwrap().starts_with("Question 52?"));
    let second = server.request("resources/list", json!({"cursor": first["nextCursor"]}))["result"].clone();
    assert_eq!(second["resources"].as_array().unwrap().len(), 20);
    let third = server.request("resources/list", json!({"cursor": second["nextCursor"]}))["result"].clone();
    assert!(third["nextCursor"].is_null());
    let wrong = server.request("resources/list", json!({"cursor": "x"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn what_is_owed_is_told_once_by_its_kind_and_counted() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let below = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5", "R2.A6", "R2.A7"].map(|id| (id, Some("R1.A")));
    let grown = session.grow(&below, "EXPLORE");
    let read = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    let status = session.ok("tot_status", json!({}));
    for reply in [&grown, &read, &status] {
        assert_eq!(codes(&reply["owed"]), ["MIN_ROUNDS", "INSUFFICIENT_CHILDREN"], "{reply:#}");
        let children = &reply["owed"][1];
        assert_eq!(children["count"], 7);
        assert_eq!(children["nodeIds"], json!(["R2.A1", "R2.A2", "R2.A3"]));
        assert!(codes(&reply["warnings"]).is_empty(), "{reply:#}");
    }
    assert_eq!(status["incomplete"].as_array().unwrap().len(), 7);
    assert_eq!(
        status["incomplete"][0],
        "R2.A1 EXPLORE (needs 2 children) Title of R2.A1: Findings of R2.A1."
    );
}

/// Each investigation of the root was read whole for it.
#[test]
fn an_unknown_session_is_answered_after_a_look_at_the_newest_only() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let [_, _, _, newest] = ["first", "second", "third", "fourth"].map(|title| {
        sandbox.sleep(60);
        server.ok("tot_start", json!({"query": "Why?", "title": title}))["sessionId"].clone()
    });
    let reply = server.call("tot_status", json!({"sessionId": "0123-4567"}));
    assert_eq!(codes(&reply["errors"]), ["SESSION_NOT_FOUND"]);
    let suggestion = reply["errors"][0]["suggestion"].as_str().unwrap();
    let at = |title: &str| suggestion.find(title).unwrap_or_else(|| panic!("{title}: {suggestion}"));
    assert!(at("fourth") < at("third") && at("third") < at("second") && at("tot_list") > 0, "{suggestion}");
    assert!(suggestion.contains(&format!("{} (“fourth”)", newest.as_str().unwrap())), "{suggestion}");
    assert!(!suggestion.contains("first"), "{suggestion}");
    let read = Store::new(sandbox.root()).newest(2);
    let titles: Vec<_> = read.iter().map(|entry| entry.facts.as_ref().unwrap().title.as_str()).collect();
    assert_eq!(titles, ["fourth", "third"]);
}
