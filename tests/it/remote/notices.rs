//! Notices of a sync about incoming changes: changed rules, manual edits, false names, renamed attachments.

use std::fs;

use serde_json::{Value, json};

use super::stuck::{commit_all, edit};
use super::{Machine, team};
use crate::support::Sandbox;

/// Returns the kinds of a sync's notices, in order.
fn kinds(entry: &Value) -> Vec<&str> {
    entry["notices"].as_array().unwrap().iter().map(|notice| notice["kind"].as_str().unwrap()).collect()
}

/// Syncs a manual change from one machine to the other, and returns the notices on the other.
fn told(sandbox: &Sandbox, one: &Machine<'_>, other: &Machine<'_>, id: &str) -> Value {
    commit_all(sandbox, &one.repository(id), "By hand");
    let sent = one.synced();
    assert_eq!(sent["notices"], json!([]), "who did it knows: {sent:#}");
    let entry = other.synced();
    assert_eq!(other.synced()["notices"], json!([]), "once");
    entry
}

#[test]
fn nobody_lowers_the_rules_of_others_unnoticed() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    edit(&repository.join("investigation.yaml"), "minRounds: ", "minRounds: 1");
    let entry = told(&sandbox, &one, &other, &id);
    assert_eq!(kinds(&entry), ["rulesChanged"], "{entry:#}");
    let message = entry["notices"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("investigation.yaml: minRounds was changed on 20"), "{message}");
    // The other file, after work on both sides, at a terminal.
    let rules = repository.join("ruleset.yaml");
    edit(&rules, "\nname: ", "\nname: lenient-");
    commit_all(&sandbox, &repository, "Other rules");
    one.synced();
    other.grow(&id, &["R2.A1"]);
    let said = other.ok(&["sync"]);
    let line = said.lines().find(|line| line.contains("note: ruleset.yaml: it was changed on 20"));
    assert!(line.is_some() && said.contains("merged in"), "{said}");
}

#[test]
fn an_edit_by_hand_does_not_come_in_unnoticed() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    one.ok(&["object", "R1.A", "-m", "Too early."]);
    one.synced();
    other.synced();
    let repository = one.repository(&id);
    let node = "nodes/R1/R1.A.yaml";
    // Repeated edits of the same file: each is reported.
    for (from, to) in [("title: ", "title: Another "), ("title: ", "title: Yet ")] {
        edit(&repository.join(node), from, to);
        let entry = told(&sandbox, &one, &other, &id);
        let notice = json!({
            "kind": "editedByHand",
            "files": [node],
            "message": format!("1 file was edited by hand: {node}"),
        });
        assert_eq!(entry["notices"], json!([notice]), "{entry:#}");
    }
    // A removed comment, and a node that the other side also changed.
    let comments = fs::read_dir(repository.join("comments")).unwrap();
    let comment = comments.map(|it| it.unwrap().path()).next().unwrap();
    fs::remove_file(&comment).unwrap();
    edit(&repository.join(node), "title: ", "title: Last ");
    other.grow(&id, &["R2.A1"]);
    let entry = told(&sandbox, &one, &other, &id);
    let comment = format!("comments/{}", comment.file_name().unwrap().to_str().unwrap());
    assert_eq!(
        (kinds(&entry), &entry["notices"][0]["files"]),
        (vec!["editedByHand"], &json!([comment, node]))
    );
    assert!(entry["merge"].is_string(), "{entry:#}");
}

#[test]
fn a_file_does_not_name_another_person_unnoticed() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    one.ok(&["object", "R1.A", "-m", "Too early."]);
    let comments = fs::read_dir(repository.join("comments")).unwrap();
    let comment = comments.map(|it| it.unwrap().path()).next().unwrap();
    edit(&comment, "name: Tester", "name: Ada");
    let entry = told(&sandbox, &one, &other, &id);
    assert_eq!(kinds(&entry), ["authorDiffers"], "{entry:#}");
    let message = entry["notices"][0]["message"].as_str().unwrap();
    assert!(message.contains("the file names Ada") && message.contains("git names another"), "{message}");
    assert!(!entry["notes"].to_string().contains("AUTHOR_DIFFERS"), "said once: {entry:#}");
    // The check still reports it.
    let check = other.tot_check(&id);
    assert!(check.status == 1 && check.out.contains("AUTHOR_DIFFERS"), "{check:?}");
}

#[test]
fn no_attachment_gets_another_name_unnoticed() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let file = sandbox.path("trace.log");
    for (machine, text) in [(&one, "slow"), (&other, "fast")] {
        fs::write(&file, text).unwrap();
        machine.ok(&["attach", "R1.A", file.to_str().unwrap()]);
    }
    one.synced();
    // Both the person who merges and those who receive the merge are told.
    for machine in [&other, &one] {
        let entry = machine.synced();
        assert_eq!(kinds(&entry), ["attachmentRenamed"], "{entry:#}");
        let message = entry["notices"][0]["message"].as_str().unwrap();
        let begin = "two files had the name attachments/R1.A/trace.log; a merge renamed one to attachments/R1.A/trace-";
        assert!(message.starts_with(begin), "{message}");
        let to = entry["notices"][0]["files"][1].as_str().unwrap();
        assert!(machine.repository(&id).join(to).is_file() && message.ends_with(to), "{message}");
    }
    one.grow(&id, &["R2.A1"]);
    one.synced();
    assert_eq!(other.synced()["notices"], json!([]), "once");
}

#[test]
fn an_ordinary_sync_gives_no_notice() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let file = sandbox.path("trace.log");
    fs::write(&file, "slow").unwrap();
    let sync = |machine: &Machine<'_>| {
        let entry = machine.synced();
        assert_eq!((&entry["notices"], &entry["notes"]), (&json!([]), &json!([])), "{entry:#}");
        entry
    };
    one.grow(&id, &["R2.A1"]);
    one.ok(&["object", "R1.A", "-m", "Too early."]);
    one.ok(&["attach", "R1.A", file.to_str().unwrap()]);
    sync(&one);
    assert_eq!(sync(&other)["came"], 4);
    // One id for two nodes, a comment on both sides, and the user's own files.
    one.grow(&id, &["R2.A2"]);
    let amend = json!({"sessionId": id, "nodeId": "R2.A1", "reason": "It was a slip.", "findings": "More."});
    one.server().ok("tot_amend", amend);
    other.grow(&id, &["R2.A2"]);
    other.ok(&["comment", "R1.A", "-m", "No."]);
    fs::write(other.repository(&id).join("notes.md"), "mine\n").unwrap();
    commit_all(&sandbox, &other.repository(&id), "Notes");
    other
        .server()
        .ok("tot_end", json!({"sessionId": id, "stopped": {"reason": "enough"}, "conclusion": "Enough."}));
    sync(&one);
    assert!(sync(&other)["merge"].is_string());
    sync(&one);
    sync(&other);
    assert_eq!(one.head(&id), other.head(&id));
}
