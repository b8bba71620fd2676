//! Merging the work of two clones: one merge commit that both create identically, and what `tot check` says of it.

use serde_json::json;
use tree_of_thoughts::format::layout;
use tree_of_thoughts::store::Joined;

use super::{fetch, join, load};
use crate::support::{Sandbox, Session, node, result};

/// Two clones of an investigation with a researched root and a proposal, `R2.A9`.
fn pair(sandbox: &Sandbox) -> (Session, Session) {
    let mut here = Session::start(sandbox, json!({"mode": "smoke", "allowEarlyTerminal": true}));
    here.grow(&[("R1.A", None)], "EXPLORE");
    here.ok("tot_propose", json!({"nodes": [node("R2.A9", Some("R1.A"))]}));
    let there = here.cloned("there");
    (here, there)
}

/// Proposes a node below the root, a minute after anything else.
fn propose(session: &mut Session, id: &str, title: &str) {
    session.sandbox.sleep(60);
    let mut node = node(id, Some("R1.A"));
    node["title"] = json!(title);
    session.ok("tot_propose", json!({"nodes": [node]}));
}

/// Commits a result for a proposal, a minute after anything else.
fn research(session: &mut Session, id: &str, state: &str, findings: &str) {
    session.sandbox.sleep(60);
    let mut result = result(id, state);
    result["findings"] = json!(findings);
    result["agentId"] = json!(format!("agent of {state}"));
    session.ok("tot_commit", json!({"results": [result]}));
}

/// Gives a node up, a minute after anything else.
fn give_up(session: &mut Session, reason: &str) {
    session.sandbox.sleep(60);
    session.ok(
        "tot_reclassify",
        json!({"nodeId": "R2.A9", "newState": "DEAD", "reason": reason, "agentId": "judge"}),
    );
}

/// Merges the other's work, and returns the decisions.
fn merged(to: &Session, from: &Session) -> Vec<String> {
    let Joined::Merged { decisions, .. } = join(to, from) else { panic!("not merged") };
    decisions.iter().map(ToString::to_string).collect()
}

/// Returns the ids and titles of the nodes, which must all be readable.
fn nodes(session: &Session) -> Vec<String> {
    let snapshot = load(session);
    assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
    snapshot.investigation.nodes().map(|node| format!("{} {}", node.id, node.title)).collect()
}

/// Asserts that `tot check` finds no error, and returns its output.
fn assert_no_error(session: &Session) -> String {
    let checked = session.check();
    assert!(!checked.contains(" error "), "{checked}");
    checked
}

#[test]
fn both_sides_make_the_same_merge_commit() {
    let (mut here, mut there) = pair(&Sandbox::new());
    propose(&mut here, "R2.A1", "Here");
    propose(&mut there, "R2.A1", "There");
    let theirs = fetch(&here, &there);
    assert_eq!(merged(&there, &here).len(), 1);
    super::store(&here).join(&here.repository(), theirs).unwrap();
    here.assert_sound();
    assert_eq!(here.head(), there.head());
    assert_eq!(nodes(&here).len(), 4);
    assert_no_error(&here);
    let message = here.git(&["log", "-1", "--format=%(trailers:key=Merged)"]);
    assert_eq!(message.trim(), "Merged: R2.A1 is the short id of 2 nodes");
    let parents = here.git(&["log", "-1", "--format=%P"]);
    let parents: Vec<&str> = parents.split_whitespace().collect();
    assert!(parents.len() == 2 && parents[0] < parents[1], "{parents:?}");
}

/// Compared with only one of two common ancestors, the file would come back.
#[test]
fn what_was_taken_back_stays_away_where_histories_cross() {
    let (here, mut there) = pair(&Sandbox::new());
    here.edit("notes.md", "one");
    join(&there, &here);
    here.edit("notes.md", "two");
    propose(&mut there, "R2.A1", "There");
    let ours = fetch(&there, &here);
    // Each merges the other, with its own change in between.
    join(&here, &there);
    here.edit("notes.md", "one");
    super::store(&there).join(&there.repository(), ours).unwrap();
    propose(&mut there, "R2.A2", "Later");
    join(&here, &there);
    assert_eq!(here.text("notes.md"), "one");
    assert_eq!(nodes(&here).len(), 4);
}

#[test]
fn a_proposal_that_was_researched_on_both_sides_is_contested_until_somebody_decides() {
    let (mut here, mut there) = pair(&Sandbox::new());
    research(&mut here, "R2.A9", "DEAD", "It was measured here, and does not hold.");
    research(&mut there, "R2.A9", "EXPLORE", "It was measured there, and may hold.");
    let told = merged(&here, &there);
    assert_eq!(told, ["R2.A9 has a second result", "R2.A9 is contested: DEAD against EXPLORE"]);
    assert!(assert_no_error(&here).contains("CONTESTED"));
    assert!(here.ok("tot_status", json!({})).to_string().contains("CONTESTED"));
    let next = here.ok("tot_next", json!({}));
    assert_eq!(next["nextCall"]["tool"], "tot_reclassify", "{next:#}");
    assert_eq!(next["nextCall"]["arguments"]["nodeId"], "R2.A9", "{next:#}");
    // Both results are shown wherever the node is.
    let uri = format!("tot://{}/nodes/R2.A9", here.id);
    let report = here.ok("tot_report", json!({}));
    let site = std::path::Path::new(report["index"].as_str().unwrap()).parent().unwrap();
    let html = std::fs::read_to_string(crate::support::there(site, "nodes/R2.A9.html")).unwrap();
    assert!(html.contains("Contested"), "{html}");
    for told in [
        here.ok("tot_read", json!({"nodeIds": ["R2.A9"]})).to_string(),
        here.server.request("resources/read", json!({"uri": uri})).to_string(),
        html,
        std::fs::read_to_string(site.join("investigation.json")).unwrap(),
    ] {
        for text in ["measured here", "measured there", "agent of DEAD", "agent of EXPLORE"] {
            assert!(told.contains(text), "{text}: {told}");
        }
    }
    // Naming the current state also decides, once.
    give_up(&mut here, "I repeated both.");
    assert!(!here.ok("tot_status", json!({})).to_string().contains("CONTESTED"));
    assert!(!here.check().contains("CONTESTED"));
    let before = here.head();
    give_up(&mut here, "I repeated both.");
    assert_eq!(here.head(), before);
}

#[test]
fn a_short_id_of_two_nodes_is_refused_and_both_are_named() {
    let (mut here, mut there) = pair(&Sandbox::new());
    propose(&mut there, "R2.A1", "There");
    research(&mut there, "R2.A1", "DEAD", "There it was measured, and does not hold.");
    propose(&mut here, "R2.A1", "Here");
    research(&mut here, "R2.A1", "EXPLORE", "Here it was measured, and may hold.");
    here.grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    merged(&here, &there);
    assert_eq!(nodes(&here).len(), 5);
    assert!(!assert_no_error(&here).contains("STORED_LOST"));
    let amend =
        |id: &str| json!({"nodeId": id, "reason": "It was wrong.", "findings": "Measured again, at length."});
    assert_eq!(here.refused("tot_amend", amend("R2.A1")), ["AMBIGUOUS_NODE"]);
    let read = here.ok("tot_read", json!({"nodeIds": ["R3.A1a"]}));
    let parent = read["nodes"][0]["parent"].as_str().unwrap();
    assert!(parent.len() == "R2.A1-k3f9q2".len(), "{parent}");
    here.ok("tot_amend", amend(parent));
    assert_no_error(&here);
}

/// Our result became that of the other node, and the call said OK.
#[test]
fn a_short_id_that_somebody_else_has_withdrawn_does_not_name_the_other_node() {
    let (mut here, mut there) = pair(&Sandbox::new());
    propose(&mut here, "R2.A1", "Proposed again by the same session");
    propose(&mut here, "R2.A1", "Here");
    propose(&mut there, "R2.A1", "There");
    merged(&here, &there);
    let [ours, theirs] = ["Here", "There"].map(|title| {
        let investigation = load(&here).investigation;
        investigation.nodes().find(|node| node.title == title).unwrap().id.whole().to_owned()
    });
    here.ok("tot_propose", json!({"withdraw": [theirs]}));
    join(&there, &here);
    let commit = |id: &str| json!({"results": [{"nodeId": id, "state": "EXPLORE", "findings": "It is.", "title": "There"}]});
    assert_eq!(there.refused("tot_commit", commit("R2.A1")), ["AMBIGUOUS_NODE"]);
    assert_eq!(there.refused("tot_comment", json!({"nodeId": "R2.A1", "text": "No."})), ["AMBIGUOUS_NODE"]);
    assert_eq!(there.refused("tot_commit", commit(&ours)), ["INVALID_ARGUMENT"]);
    let uri = format!("tot://{}/nodes/R2.A1", there.id);
    let answer = there.server.request("resources/read", json!({"uri": uri}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[test]
fn two_changes_to_one_state_are_no_fault_and_one_that_a_hand_adds_is() {
    let (mut here, mut there) = pair(&Sandbox::new());
    research(&mut here, "R2.A9", "EXPLORE", "It may hold.");
    join(&there, &here);
    give_up(&mut here, "Here it was refuted.");
    give_up(&mut there, "There it was refuted.");
    merged(&here, &there);
    assert_no_error(&here);
    let path = "nodes/R2/R2.A9.yaml";
    let text = here.text(path);
    assert!(text.contains("from: DEAD\n  to: DEAD"), "{text}");
    let forged = "- from: DEAD\n  to: DEAD\n  at: \"2026-01-05T12:00:00.000Z\"\n  agentId: forged\n";
    here.edit(path, &(text + forged));
    assert!(here.check().contains(" error RECLASSIFIED_CHAIN"));
}

/// Each is valid on its own: a proposal there, below a node that was given up here.
#[test]
fn a_proposal_below_what_was_given_up_elsewhere_is_a_warning_and_by_hand_an_error() {
    let (mut here, mut there) = pair(&Sandbox::new());
    research(&mut here, "R2.A9", "EXPLORE", "It may hold.");
    join(&there, &here);
    there.ok("tot_propose", json!({"nodes": [node("R3.A9a", Some("R2.A9"))]}));
    give_up(&mut here, "It does not hold.");
    merged(&here, &there);
    assert!(assert_no_error(&here).contains(" warning TERMINAL_PARENT"));
    let parent = load(&here).investigation.find("R2.A9").unwrap().id.clone();
    let text = format!(
        "version: 2\nid: R3.A9b\nparent: {}\ntitle: By hand\nplannedAction: Look.\n\
         proposedAt: \"2026-01-05T12:00:00.000Z\"\n",
        parent.whole()
    );
    here.edit(&layout::node(&"R3.A9b".parse().unwrap()), &text);
    assert!(here.check().contains(" error TERMINAL_PARENT"));
}

#[test]
fn an_investigation_that_was_ended_here_and_went_on_there_can_be_ended_again() {
    let (mut here, mut there) = pair(&Sandbox::new());
    let stop = |conclusion: &str| json!({"conclusion": conclusion, "stopped": {"reason": "budget"}});
    research(&mut here, "R2.A9", "DEAD", "It was measured here, and does not hold.");
    here.ok("tot_end", stop("Nothing was found, and the time is over."));
    propose(&mut there, "R2.A1", "There");
    let told = merged(&here, &there);
    assert!(told.iter().any(|it| it.contains("continued on the other")), "{told:?}");
    assert_no_error(&here);
    let refused = here.refused("tot_end", json!({"conclusion": "Nothing was found at all."}));
    assert!(refused.contains(&"PENDING_PROPOSALS".to_owned()), "{refused:?}");
    let end = here.ok("tot_end", stop("Still nothing, after all of it."));
    assert!(end["warnings"].is_null(), "{end:#}");
    assert!(!assert_no_error(&here).contains("research went on elsewhere"));
    // Anyone who overwrites a current result is named, even under the name of a call.
    here.write("conclusion.yaml", &here.text("conclusion.yaml").replace("Still nothing", "All of it"));
    here.git(&["commit", "--quiet", "--all", "-m", "End\n\nTool: tot_end\n"]);
    assert!(here.check().contains(" error STORED_LOST"));
}
