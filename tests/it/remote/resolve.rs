//! Merges made with git, which merges line by line: `tot merge --resolve`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Machine, settle, team};
use crate::support::{Said, Sandbox, load, node, result, short};

/// Two machines that have committed different results for one proposal, and one a second node with a child; on `one`, the
/// other's work was fetched and a merge by git has stopped.
fn stopped(sandbox: &Sandbox) -> (Machine<'_>, Machine<'_>, String) {
    let (_, one, other, id) = team(sandbox);
    let propose = |machine: &Machine, node: Value| {
        machine.call("tot_propose", json!({"sessionId": id, "nodes": [node]}));
    };
    propose(&one, node("R2.A1", Some("R1.A")));
    one.synced();
    other.synced();
    sandbox.sleep(60);
    for (machine, state, title) in [(&one, "EXPLORE", "ours"), (&other, "DEAD", "theirs")] {
        let mut found = result("R2.A1", state);
        found["agentId"] = json!(format!("agent-of-{title}"));
        found["findings"] = json!(format!("Findings of {title}."));
        machine.call("tot_commit", json!({"sessionId": id, "results": [found]}));
        // The same short id for two proposals, each of which has a child.
        let mut new = node("R2.A2", Some("R1.A"));
        new["title"] = json!(format!("Second of {title}"));
        propose(machine, new);
        sandbox.sleep(60);
        machine.call("tot_commit", json!({"sessionId": id, "results": [result("R2.A2", "EXPLORE")]}));
        propose(machine, node(&format!("R3.A2{}", &title[..1]), Some("R2.A2")));
    }
    other.synced();
    one.git(&id, &["fetch", "--quiet"]);
    let conflict = merge(&one, &id, &[]);
    assert!(conflict.contains("CONFLICT"), "{conflict}");
    (one, other, id)
}

/// Merges the fetched work with git, and returns git's output.
fn merge(machine: &Machine<'_>, id: &str, more: &[&str]) -> String {
    let arguments = [&["merge", "--quiet", "main@{upstream}"], more].concat();
    Said::from(machine.sandbox.try_git(&machine.repository(id), &arguments)).out
}

fn titles(machine: &Machine<'_>, id: &str) -> Vec<String> {
    let snapshot = load(&machine.repository(id));
    assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
    let nodes = snapshot.investigation.nodes();
    let mut titles: Vec<String> = nodes.map(|node| format!("{} {}", node.id.short(), node.title)).collect();
    titles.sort();
    titles
}

const JOINED: [&str; 6] = [
    "R1.A Title of R1.A",
    "R2.A1 Title of R2.A1",
    "R2.A2 Second of ours",
    "R2.A2 Second of theirs",
    "R3.A2o Title of R3.A2o",
    "R3.A2t Title of R3.A2t",
];

#[test]
fn a_merge_that_git_has_stopped_is_made_by_node_and_what_was_merged_by_hand_is_kept_in_a_branch() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    let propose = json!({"sessionId": id, "nodes": [node("R2.A5", Some("R1.A"))]});
    let refused = one.server().call("tot_propose", propose);
    assert_eq!(refused["errors"][0]["code"], "OPERATION_IN_PROGRESS");
    assert!(refused.to_string().contains("tot merge --resolve"), "{refused}");
    let heads = one.git(&id, &["rev-parse", "HEAD", "MERGE_HEAD"]);
    one.write(&id, "nodes/R2/R2.A1.yaml", "by hand\n");
    one.write(&id, "mine.md", "mine\n");
    let said = one.ok(&["merge", "--resolve"]).replace(&one.head(&id)[..10], "COMMIT");
    let kept = one.git(&id, &["branch", "--list", "--format=%(refname:short)", "tot-kept/*"]);
    assert_snapshot!(said.replace(&kept, "KEPT"), @r"
    Merged in COMMIT
      R2.A2 is the short id of 2 nodes
      R2.A1 has a second result
      R2.A1 is contested: EXPLORE against DEAD
    The manual merge is saved on branch KEPT
    ");
    assert_eq!(titles(&one, &id), JOINED);
    assert!(one.git(&id, &["grep", "-l", "by hand", &kept]).contains(":nodes/R2/R2.A1-"));
    assert_eq!(one.git(&id, &["rev-parse", &format!("{kept}^@")]), heads);
    // An untracked file belongs to the user.
    assert_eq!(one.read(&id, "mine.md"), "mine\n");
    let left = fs::read_dir(one.repository(&id).join(".git")).unwrap().flatten().map(|it| it.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("tot-index")), "nothing is left");
    fs::remove_file(one.repository(&id).join("mine.md")).unwrap();
    settle(&[&one, &other], &id);
}

#[test]
fn conflict_markers_in_a_commit_keep_nothing_else_from_being_read_and_are_resolved() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    one.git(&id, &["commit", "--quiet", "--all", "--no-edit"]);
    let status = one.call("tot_status", json!({"sessionId": id}));
    assert_eq!(status["totalNodes"], 3, "{status}");
    let Said { out, status, .. } = one.tot_check(&id);
    assert_eq!(status, 1);
    assert!(out.contains("conflict markers") && out.contains("tot merge --resolve"), "{out}");
    one.fails("UNREADABLE", &["nodes/R2/R2.A1-", "`tot merge --resolve`"]);
    // Also if the other side continues with the same node.
    other.edit(&id, "nodes/R2/R2.A1.yaml", "Findings of theirs.", "Findings of theirs, once more.");
    other.commit_all(&id);
    other.synced();
    let told = one.fails("NOT_JOINED", &["`tot merge --resolve`"]);
    assert!(!told.contains("git -C"), "{told}");
    let said = one.json(&["merge", "--resolve"]);
    assert_eq!(short(&said["files"].to_string()), "[\"nodes/R2/R2.A1.yaml\"]");
    assert_eq!(titles(&one, &id), JOINED);
    assert_eq!(one.ok(&["merge", "--resolve"]), "Nothing to resolve.\n");
    assert_snapshot!(one.git(&id, &["log", "-1", "--format=%s%n%n%(trailers:key=Merged)"]), @r"
    Resolve the conflict in R2.A1

    Merged: R2.A2 is the short id of 2 nodes
    Merged: R2.A1 has a second result
    Merged: R2.A1 is contested: EXPLORE against DEAD
    ");
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn markers_of_a_merge_that_was_edited_since_are_read_for_what_both_sides_say() {
    let sandbox = Sandbox::new();
    let (one, _, id) = stopped(&sandbox);
    one.commit_all(&id);
    // Repeating the merge would move this node and lose the edit.
    one.edit(&id, "nodes/R3/R3.A2t.yaml", "Title of R3.A2t", "Edited");
    one.commit_all(&id);
    one.ok(&["merge", "--resolve"]);
    let titles = titles(&one, &id);
    for title in ["Second of ours", "Second of theirs", "Edited"] {
        assert!(titles.iter().any(|node| node.ends_with(title)), "{titles:?}");
    }
    let node = one.read(&id, "nodes/R2/R2.A1.yaml");
    assert!(node.contains("Findings of ours.") && node.contains("Findings of theirs."), "{node}");
    assert!(!node.contains("<<<<<<<"), "{node}");
}

#[test]
fn a_conflict_that_only_a_person_can_resolve_is_shown_and_a_merge_by_hand_is_not_destroyed() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    one.git(&id, &["merge", "--abort"]);
    for (machine, name) in [(&one, "ours"), (&other, "theirs")] {
        machine.edit(&id, "ruleset.yaml", "\nname: ", &format!("\n# Changed by {name}.\nname: "));
        machine.commit_all(&id);
    }
    other.synced();
    let head = one.head(&id);
    let both =
        ["ruleset.yaml: both sides", "+# Changed by ours.", "+# Changed by theirs.", "Merge it by hand"];
    one.fails("NOT_JOINED", &[&both[..], &["git -C", "tot merge --resolve"]].concat());
    assert_eq!(one.head(&id), head);
    merge(&one, &id, &[]);
    let rules = one.git(&id, &["show", "HEAD:ruleset.yaml"]);
    let mended = rules.replace("# Changed by ours.", "# Changed by ours and theirs.");
    one.write(&id, "ruleset.yaml", &mended);
    one.git(&id, &["add", "ruleset.yaml"]);
    let before = one.git(&id, &["status", "--porcelain"]);
    let parts = ["ruleset.yaml: both sides have changed it", "git commit -a", "tot merge --resolve"];
    let ran = one.refuses(&["merge", "--resolve"], &parts);
    let is_second_merge = ran.err.contains(" merge 0") || ran.err.contains("git -C");
    assert!(!is_second_merge, "git refuses a second merge: {ran:?}");
    assert_eq!(one.git(&id, &["status", "--porcelain"]), before);
    assert_eq!(one.read(&id, "ruleset.yaml"), mended);
    // The suggestion works.
    one.git(&id, &["commit", "--quiet", "-a", "--no-edit"]);
    one.ok(&["merge", "--resolve"]);
    assert_eq!(one.git(&id, &["show", "HEAD:ruleset.yaml"]), mended);
    settle(&[&one, &other], &id);
}

#[test]
fn a_rebase_that_has_stopped_is_not_called_resolved_and_no_advice_is_given_that_git_refuses() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    one.git(&id, &["merge", "--abort"]);
    let rebase = sandbox.try_git(&one.repository(&id), &["rebase", "--quiet", "main@{upstream}"]);
    assert!(!rebase.status.success(), "{rebase:?}");
    for arguments in [&["merge", "--resolve"][..], &["sync"]] {
        let parts = ["a rebase is in progress", "`git rebase --abort`", "`tot sync`"];
        let ran = one.refuses(arguments, &parts);
        assert!(!ran.err.contains("git switch"), "{ran:?}");
    }
    one.git(&id, &["rebase", "--abort"]);
    settle(&[&one, &other], &id);
}

/// On `one`, a proposal was withdrawn and made again under another id. `other` has researched it in the meantime, and
/// both have researched a third one. If the file of the first proposal were deleted, git would see it renamed to the second's.
#[test]
fn a_merge_by_git_leaves_no_result_with_a_similar_proposal() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let propose = |ids: &[&str], withdraw: &[&str]| {
        let mut nodes: Vec<Value> = ids.iter().map(|id| node(id, Some("R1.A"))).collect();
        nodes[0]["title"] = json!("The prism splits the light of the sun, and not that of the lamp");
        nodes[0]["plannedAction"] = json!("Hold the prism into the light of both, and measure each colour.");
        one.call("tot_propose", json!({"sessionId": id, "nodes": nodes, "withdraw": withdraw}));
    };
    propose(&["R2.A1", "R2.A3"], &[]);
    one.synced();
    other.synced();
    sandbox.sleep(60);
    propose(&["R2.A2"], &["R2.A1"]);
    one.call("tot_commit", json!({"sessionId": id, "results": [result("R2.A3", "EXPLORE")]}));
    sandbox.sleep(60);
    let results = [result("R2.A1", "EXPLORE"), result("R2.A3", "DEAD")];
    other.call("tot_commit", json!({"sessionId": id, "results": results}));
    other.synced();
    one.git(&id, &["fetch", "--quiet"]);
    let before = one.head(&id);
    // With the settings of an investigation, and with those of a clone made with plain git.
    for more in [&[][..], &["-Xfind-renames=50%"]] {
        let said = merge(&one, &id, more);
        assert!(short(&said).contains("Merge conflict in nodes/R2/R2.A1.yaml"), "{said}");
        one.ok(&["merge", "--resolve"]);
        let snapshot = load(&one.repository(&id));
        let findings = ["R2.A1", "R2.A2"].map(|id| {
            let node = snapshot.investigation.find(id).unwrap();
            node.classification.as_ref().map(|result| result.findings.clone())
        });
        assert_eq!(findings, [Some("Findings of R2.A1.".to_owned()), None]);
        one.assert_sound(&id);
        one.git(&id, &["reset", "--quiet", "--hard", &before]);
    }
}
