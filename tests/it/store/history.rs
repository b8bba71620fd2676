//! How git shows an investigation.

use std::sync::Arc;

use serde_json::json;
use tree_of_thoughts::domain::{Change, Happening, Investigation};
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session, node};

/// An investigation with every kind of event: conversions, a withdrawal, a state change, a conclusion, a reopening.
fn eventful(sandbox: &Sandbox) -> Session<'_> {
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

#[test]
fn folding_the_history_gives_what_the_tip_says() {
    let sandbox = Sandbox::new();
    let session = eventful(&sandbox);
    let store = Store::new(sandbox.root());
    let snapshot = store.load(&session.repository()).unwrap();
    let history = store.history(&snapshot).unwrap();
    let mut folded = Investigation::new(snapshot.investigation.meta().clone());
    for entry in history.iter().rev() {
        for happening in &entry.happenings {
            let change = match happening.clone() {
                Happening::Started => continue,
                Happening::Withdrawn(node) | Happening::Removed(node) => Change::NodeRemoved(node.id.clone()),
                Happening::Ended(conclusion) => Change::Concluded(conclusion),
                Happening::Reopened => Change::Reopened,
                of_node => Change::Node(Arc::clone(of_node.node().unwrap())),
            };
            folded = folded.with(&[change]);
        }
    }
    assert_eq!(&folded, snapshot.investigation.as_ref());
    assert!(snapshot.faults.is_empty());
}

#[test]
fn no_older_commit_is_read_than_the_last_that_is_wanted() {
    let sandbox = Sandbox::new();
    let session = eventful(&sandbox);
    let store = Store::new(sandbox.root());
    let snapshot = store.load(&session.repository()).unwrap();
    let whole = store.history(&snapshot).unwrap();
    let mut read = 0;
    let newest = store
        .history_until(&snapshot, |entry| {
            assert_eq!(entry.commit, whole[read].commit);
            read += 1;
            read == 3
        })
        .unwrap();
    assert!(whole.len() > 3 && newest == whole[..3], "nor is anything told as missing");
}

#[test]
fn the_log_reads_like_the_story_of_the_work() {
    let sandbox = Sandbox::new();
    let session = eventful(&sandbox);
    let repository = session.repository();
    insta::assert_snapshot!(sandbox.git(&repository, &["log", "--reverse", "--format=%s"]), @"
    Start: Why is the sky blue?
    Propose R1.A
    Commit R1.A FOUND→EXPLORE
    Propose R2.A1, R2.A2
    Propose R2.A3; withdraw R2.A2
    Propose R2.A1, R2.A3
    Commit R2.A1 EXPLORE, R2.A3 EXPLORE
    Reclassify R2.A1 EXPLORE→DEAD
    Reclassify R2.A3 EXPLORE→DEAD
    End with no answer, and 2 ruled out
    Reclassify R2.A3 DEAD→EXPLORE, reopening the investigation
    Reclassify R2.A3 EXPLORE→DEAD
    End with no answer, and 2 ruled out
    ");
    insta::assert_snapshot!(sandbox.git(&repository, &["log", "-1", "--format=%B", "HEAD~9"]), @"
    Propose R2.A1, R2.A2

    R2.A1 Title of R2.A1
    R2.A2 Title of R2.A2

    Tool: tot_propose
    Round: 2
    Node: R2.A1
    Node: R2.A2
    Client: it/1
    Session: session-1
    ");
    insta::assert_snapshot!(sandbox.git(&repository, &["log", "-1", "--format=%B", "HEAD~5"]), @"
    Reclassify R2.A1 EXPLORE→DEAD

    R2.A1 Title of R2.A1
        EARLY_STATE: R2.A1 became DEAD in round 2, but DEAD is allowed only from round 4 on.

        It was the cable.

    Tool: tot_reclassify
    Round: 2
    Node: R2.A1
    Agent-Id: judge
    Client: it/1
    Session: session-1
    Warning: EARLY_STATE R2.A1
    ");
    insta::assert_snapshot!(sandbox.git(&repository, &["log", "-1", "--format=%B", "HEAD~3"]), @"
    End with no answer, and 2 ruled out

        Nothing.

        ## Why

        The cable.

    Tool: tot_end
    Agent-Id: lead
    Client: it/1
    Session: session-1
    ");
    let agents =
        sandbox.git(&repository, &["log", "-1", "--format=%(trailers:key=Agent-Id,valueonly)", "HEAD~5"]);
    assert_eq!(agents.trim(), "judge");
    assert_eq!(sandbox.git(&repository, &["tag"]), "ended/1\nended/2\n");
}

#[test]
fn a_title_cannot_pass_for_a_trailer() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"title": "x\n\nTool: forged\nAgent-Id: forged"}));
    let title = "y\n\nAgent-Id: forged";
    session.ok(
        "tot_propose",
        json!({"nodes": [{"id": "R1.A", "parent": null, "title": title, "plannedAction": ""}]}),
    );
    let trailers = sandbox.git(&session.repository(), &["log", "--format=%(trailers:only)"]);
    assert!(!trailers.contains("forged"), "{trailers}");
}

#[test]
fn one_command_shows_a_node_and_one_a_branch() {
    let sandbox = Sandbox::new();
    let session = eventful(&sandbox);
    let repository = session.repository();
    let node = sandbox.git(&repository, &["log", "--format=%s", "--", "nodes/R2/R2.A1.yaml"]);
    assert_eq!(node.lines().count(), 3, "{node}");
    let branch =
        sandbox.git(&repository, &["log", "--format=%s", "--", "nodes/*/R*.A3.yaml", "nodes/*/R*.A3[a-z]*"]);
    let others: Vec<&str> = branch.lines().filter(|subject| !subject.contains("R2.A3")).collect();
    assert_eq!((branch.lines().count(), others.as_slice()), (5, &[][..]), "{branch}");
}

#[test]
fn without_a_git_identity_there_is_a_fall_back() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(crate::support::TOT);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    command.args(["mcp", "--root"]).arg(sandbox.root());
    let mut server = crate::support::Server::start(command);
    let id = server.ok("tot_start", json!({"query": "q"}))["sessionId"].as_str().unwrap().to_owned();
    let who = sandbox.git(&sandbox.repository(&id), &["log", "--format=%an <%ae> %cn"]);
    assert_eq!(who.trim(), "Tree of Thoughts <tot@localhost> Tree of Thoughts");
}

#[test]
fn a_merge_of_two_clones_joins_what_both_have_found() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let (here, id) = (session.repository(), session.id.clone());
    let there = sandbox.path("elsewhere").join(&id);
    sandbox.git(&sandbox.path("home"), &["clone", "-q", here.to_str().unwrap(), there.to_str().unwrap()]);
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    let elsewhere = sandbox.path("elsewhere");
    let server = sandbox.server_in(&elsewhere, &[]);
    let mut other = Session { sandbox: &sandbox, server, id: id.clone() };
    other.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    sandbox.sleep(60);
    other.ok("tot_commit", json!({"results": [crate::support::result("R2.A2", "EXPLORE")]}));
    sandbox.git(&here, &["pull", "-q", "--no-rebase", "--no-edit", there.to_str().unwrap(), "main"]);
    let status = session.ok("tot_status", json!({}));
    assert_eq!(status["totalNodes"], 3);
    assert!(status["faults"].is_null());
    session.ok("tot_propose", json!({"nodes": [node("R3.A2a", Some("R2.A2"))]}));
    sandbox.assert_sound(&here);
}
