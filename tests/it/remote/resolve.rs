//! Merges made with git, which merges line by line: `tot merge --resolve`.

use insta::assert_snapshot;
use serde_json::json;

use super::{Machine, Ran, hub, team, two};
use crate::support::{Sandbox, node, result};

/// Two machines that have committed different results for one proposal, and one a second node with a child; on `one`, the
/// other's work was fetched and a merge by git has stopped.
pub(super) fn stopped(sandbox: &Sandbox) -> (Machine<'_>, Machine<'_>, String) {
    let hub = hub(sandbox);
    let (one, other, id) = two(sandbox, hub.to_str().unwrap());
    let propose = |nodes| json!({"sessionId": id, "nodes": nodes});
    one.server().ok("tot_propose", propose(json!([node("R2.A1", Some("R1.A"))])));
    one.synced();
    other.synced();
    sandbox.sleep(60);
    for (machine, state, title) in [(&one, "EXPLORE", "ours"), (&other, "DEAD", "theirs")] {
        let mut server = machine.server();
        let mut found = result("R2.A1", state);
        found["agentId"] = json!(format!("agent-of-{title}"));
        found["findings"] = json!(format!("Findings of {title}."));
        server.ok("tot_commit", json!({"sessionId": id, "results": [found]}));
        // The same new id for two proposals, one of which has a child.
        let mut new = node("R2.A2", Some("R1.A"));
        new["title"] = json!(format!("Second of {title}"));
        server.ok("tot_propose", propose(json!([new])));
        sandbox.sleep(60);
        server.ok("tot_commit", json!({"sessionId": id, "results": [result("R2.A2", "EXPLORE")]}));
        server.ok("tot_propose", propose(json!([node(&format!("R3.A2{}", &title[..1]), Some("R2.A2"))])));
    }
    other.synced();
    sandbox.git(&one.repository(&id), &["fetch", "--quiet"]);
    let merge = sandbox.try_git(&one.repository(&id), &["merge", "--quiet", "main@{upstream}"]);
    assert!(String::from_utf8_lossy(&merge.stdout).contains("CONFLICT"), "{merge:?}");
    (one, other, id)
}

fn titles(machine: &Machine<'_>, id: &str) -> Vec<String> {
    let store = tree_of_thoughts::store::Store::new(&machine.root);
    let snapshot = store.load(&machine.repository(id)).unwrap();
    assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
    let nodes = snapshot.investigation.nodes();
    nodes.map(|node| with_a3(machine, id, &format!("{} {}", node.id, node.title))).collect()
}

/// Returns text with `A3` in place of the longer step of the moved node.
fn with_a3(machine: &Machine<'_>, id: &str, text: &str) -> String {
    let store = tree_of_thoughts::store::Store::new(&machine.root);
    let snapshot = store.load(&machine.repository(id)).unwrap();
    let moved = snapshot.investigation.nodes().find(|node| node.title == "Second of theirs").unwrap();
    text.replace(moved.id.suffix(), "A3")
}

const JOINED: [&str; 6] = [
    "R1.A Title of R1.A",
    "R2.A1 Title of R2.A1",
    "R2.A2 Second of ours",
    "R2.A3 Second of theirs",
    "R3.A2o Title of R3.A2o",
    "R3.A3t Title of R3.A2t",
];

#[test]
fn a_merge_that_git_has_stopped_is_made_by_node() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    let refused =
        one.server().call("tot_propose", json!({"sessionId": id, "nodes": [node("R2.A5", Some("R1.A"))]}));
    assert_eq!(refused["errors"][0]["code"], "OPERATION_IN_PROGRESS");
    assert!(refused.to_string().contains("tot merge --resolve"), "{refused}");
    let said = one.ok(&["merge", "--resolve"]);
    let commit = one.head(&id);
    let (said, kept) = said
        .replace(&commit[..10], "COMMIT")
        .rsplit_once(" tot-kept/")
        .map(|(said, kept)| (said.to_owned(), kept.to_owned()))
        .unwrap();
    assert_eq!(kept.trim().len(), "2026-01-05".len(), "{kept}");
    assert_snapshot!(with_a3(&one, &id, &said), @r"
    Merged in COMMIT
      R2.A2 renamed to R2.A3 (Second of theirs)
      R3.A2t renamed to R3.A3t (Title of R3.A2t)
      R2.A1 has a second result
      R2.A1 is contested: EXPLORE against DEAD
    The manual merge is saved on branch
    ");
    assert_eq!(titles(&one, &id), JOINED);
    one.assert_sound(&id);
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn conflict_markers_in_a_commit_keep_nothing_else_from_being_read_and_are_resolved() {
    let sandbox = Sandbox::new();
    let (one, _, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    sandbox.git(&repository, &["commit", "--quiet", "--all", "--no-edit"]);
    let status = one.server().ok("tot_status", json!({"sessionId": id}));
    assert_eq!(status["totalNodes"], 1, "{status}");
    let Ran { out, status, .. } = one.tot_check(&id);
    assert_eq!(status, 1);
    assert!(out.contains("conflict markers") && out.contains("tot merge --resolve"), "{out}");
    // Others may continue in the meantime, as far as they can.
    let said = one.ok(&["merge", "--resolve", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["files"], json!(["nodes/R2/R2.A1.yaml", "nodes/R2/R2.A2.yaml"]));
    assert_eq!(titles(&one, &id), JOINED);
    assert_eq!(one.ok(&["merge", "--resolve"]), "Nothing to resolve.\n");
    let message = sandbox.git(&repository, &["log", "-1", "--format=%B"]);
    assert_snapshot!(with_a3(&one, &id, &message), @r"
    Resolve the conflict in R2.A1, R2.A2

    Merged: R2.A2 renamed to R2.A3
    Merged: R3.A2t renamed to R3.A3t
    Merged: R2.A1 has a second result
    Merged: R2.A1 is contested: EXPLORE against DEAD
    ");
    one.assert_sound(&id);
}

#[test]
fn markers_without_a_merge_are_read_for_what_both_sides_say() {
    let sandbox = Sandbox::new();
    let (one, _, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    std::fs::remove_file(repository.join(".git/MERGE_HEAD")).unwrap();
    sandbox.git(&repository, &["commit", "--quiet", "--all", "-m", "I squash."]);
    one.ok(&["merge", "--resolve"]);
    let titles = titles(&one, &id);
    for title in ["Second of ours", "Second of theirs"] {
        assert!(titles.iter().any(|node| node.ends_with(title)), "{titles:?}");
    }
    let node = sandbox.git(&repository, &["show", "HEAD:nodes/R2/R2.A1.yaml"]);
    assert!(node.contains("Findings of ours.") && node.contains("Findings of theirs."), "{node}");
    assert!(!node.contains("<<<<<<<"), "{node}");
}

#[test]
fn a_ruleset_that_both_sides_have_changed_is_refused_with_both_changes() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    for (machine, name) in [(&one, "ours"), (&other, "theirs")] {
        let repository = machine.repository(&id);
        let path = repository.join("ruleset.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("# Changed by {name}.\n{text}")).unwrap();
        sandbox.git(&repository, &["commit", "--quiet", "--all", "-m", "Change the rules"]);
    }
    other.synced();
    let head = one.head(&id);
    let said = one.fails("NOT_JOINED", &[]);
    for part in
        ["ruleset.yaml: both sides", "+# Changed by ours.", "+# Changed by theirs.", "Merge it by hand"]
    {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(one.head(&id), head);
}
