//! How git shows an investigation.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::json;
use tree_of_thoughts::domain::{Change, Happening, Investigation};
use tree_of_thoughts::store::{HistoryEntry, Snapshot, Store};

use crate::support::{Sandbox, Session, node, result};

/// An investigation with every kind of event: conversions, a withdrawal, a state change, a conclusion, a reopening.
fn eventful(sandbox: &Sandbox) -> Session {
    let mut session = Session::start(sandbox, json!({"mode": "smoke", "allowEarlyTerminal": false}));
    session.grow(&[("R1.A", None)], "FOUND");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    session.ok("tot_propose", json!({"nodes": [node("R2.A3", Some("R1.A"))], "withdraw": ["R2.A2"]}));
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A3", Some("R1.A"))], "EXPLORE");
    session.ok(
        "tot_reclassify",
        json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "It was the cable.", "agentId": "judge"}),
    );
    session.ok("tot_reclassify", json!({"nodeId": "R2.A3", "newState": "DEAD"}));
    session.ok("tot_end", json!({"conclusion": "Nothing.\n\n## Why\n\nThe cable.", "agentId": "lead"}));
    session.ok("tot_reclassify", json!({"nodeId": "R2.A3", "newState": "EXPLORE"}));
    session.ok("tot_reclassify", json!({"nodeId": "R2.A3", "newState": "DEAD"}));
    session.ok("tot_end", json!({}));
    session
}

/// Returns the investigation that a history leads to.
pub fn folded(snapshot: &Snapshot, history: &[HistoryEntry]) -> Investigation {
    let mut folded = Investigation::new(snapshot.investigation.meta().clone());
    for happening in history.iter().rev().flat_map(|entry| entry.happenings.iter().cloned()) {
        let change = match happening {
            Happening::Started => continue,
            Happening::Removed(node) => Change::NodeRemoved(node.id.clone()),
            Happening::Ended(conclusion) => Change::Concluded(conclusion),
            Happening::Reopened => Change::Reopened(Arc::default()),
            of_node => Change::Node(Arc::clone(of_node.node().unwrap())),
        };
        folded = folded.with(&[change]);
    }
    folded
}

#[test]
fn folding_the_history_gives_what_the_tip_says() {
    let session = eventful(&Sandbox::new());
    let store = Store::new(session.sandbox.root());
    let snapshot = store.load(&session.repository()).unwrap();
    let history = store.history(&snapshot).unwrap();
    let folded = folded(&snapshot, &history);
    assert_eq!(&folded, snapshot.investigation.as_ref());
    assert!(snapshot.faults.is_empty());
    // No older commit is read than the last that is wanted.
    let mut read = Vec::new();
    let newest = store.history_until(&snapshot, |entry| {
        read.push(entry.commit);
        read.len() == 3
    });
    assert_eq!(newest.unwrap(), history[..3], "nor is anything reported as missing");
    assert_eq!(read, [0, 1, 2].map(|at| history[at].commit));
}

#[test]
fn the_log_reads_like_the_story_of_the_work() {
    let session = eventful(&Sandbox::new());
    assert_snapshot!("log", session.git(&["log", "--reverse", "--format=%B"]));
    let agents = session.git(&["log", "-1", "--format=%(trailers:key=Agent-Id,valueonly)", "HEAD~5"]);
    assert_eq!(agents.trim(), "judge");
    assert_eq!(session.git(&["tag"]), "ended/1\nended/2\n");
    // One command shows a node, and one a branch.
    assert_snapshot!(session.git(&["log", "--format=%s", "--", "nodes/*/R2.A1-*"]), @"
    Reclassify R2.A1 EXPLORE→DEAD
    Commit R2.A1 EXPLORE, R2.A3 EXPLORE
    Propose R2.A1, R2.A2
    ");
    let branch = ["log", "--format=%s", "--", "nodes/*/R*.A3-*", "nodes/*/R*.A3[a-z]*"];
    assert_snapshot!(session.git(&branch), @"
    Reclassify R2.A3 EXPLORE→DEAD
    Reclassify R2.A3 DEAD→EXPLORE, reopening the investigation
    Reclassify R2.A3 EXPLORE→DEAD
    Commit R2.A1 EXPLORE, R2.A3 EXPLORE
    Propose R2.A3; withdraw R2.A2
    ");
}

#[test]
fn no_text_can_pass_for_a_trailer() {
    let sandbox = Sandbox::new();
    let title = json!("x\n\nTool: forged\nAgent-Id: forged");
    let mut session = Session::start(&sandbox, json!({"title": title, "mode": "smoke"}));
    let mut root = node("R1.A", None);
    root["title"] = title;
    session.ok("tot_propose", json!({"nodes": [root]}));
    session.ok("tot_commit", json!({"results": [result("R1.A", "DEAD")]}));
    let conclusion = "So it is.\n\nReviewed-by: Nobody <nobody@localhost>\nTool: forged";
    session.ok("tot_end", json!({"conclusion": conclusion, "stopped": {"reason": "enough"}}));
    let trailers = session.git(&["log", "--format=%(trailers:only)"]);
    assert!(!trailers.contains("forged") && !trailers.contains("Nobody"), "{trailers}");
    let tag = session.git(&["for-each-ref", "--format=%(contents:trailers)", "refs/tags"]);
    assert_eq!(tag.trim(), "Tool: tot_end");
}
