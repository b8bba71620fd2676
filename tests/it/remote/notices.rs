//! Notices of a sync about incoming changes: changed rules, manual edits, false names, renamed attachments.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::{Machine, assert_says, team};
use crate::support::{Sandbox, short};

/// Objects, and returns the file of the comment.
fn object(machine: &Machine) -> String {
    let objection = machine.json(&["object", "R1.A", "-m", "Too early."]);
    format!("comments/{}.yaml", objection["commentId"].as_str().unwrap())
}

#[test]
fn nothing_that_a_hand_changed_comes_in_unnoticed() {
    let (_, one, other, id) = team(&Sandbox::new());
    let comment = object(&one);
    let node = "nodes/R1/R1.A.yaml";
    let mut told = String::new();
    let mut change = |file: &str, from: &str, to: &str| {
        one.edit(&id, file, from, to);
        one.commit_all(&id);
        let sent = one.synced();
        assert_eq!(sent["notices"], json!([]), "who did it knows: {sent:#}");
        let entry = other.synced();
        assert!(!entry["notes"].to_string().contains("AUTHOR_DIFFERS"), "said once: {entry:#}");
        for notice in entry["notices"].as_array().unwrap() {
            // Without the time.
            let message = notice["message"].as_str().unwrap().split(" on 20").next().unwrap();
            told += &format!("{}: {message}\n", notice["kind"]);
        }
        assert_eq!(other.synced()["notices"], json!([]), "once");
        entry
    };
    change(&comment, "name: Tester", "name: Ada");
    // The check still reports it.
    assert_says(&other.tot_check(&id).out, &["AUTHOR_DIFFERS"]);
    // Repeated edits of the same file: each is reported once, by whomever it is merged.
    change(node, "title: ", "title: Another ");
    object(&other);
    other.synced();
    change(node, "title: ", "title: Yet ");
    // A removed comment, and a node that the other side also changed.
    one.git(&id, &["rm", "--quiet", &comment]);
    other.grow(&id, &["R2.A1"]);
    let entry = change(node, "title: ", "title: Last ");
    assert!(entry["merge"].is_string(), "{entry:#}");
    assert_snapshot!(told.replace(&comment, "COMMENT"));
    // Rules, after work on both sides, at a terminal.
    one.edit(&id, "investigation.yaml", "minRounds: ", "minRounds: 1");
    one.edit(&id, "ruleset.yaml", "\nname: ", "\nname: lenient-");
    one.commit_all(&id);
    one.synced();
    other.grow(&id, &["R2.A2"]);
    let changed =
        ["note: investigation.yaml: minRounds was changed on 20", "note: ruleset.yaml: it was changed on 20"];
    assert_says(&other.ok(&["sync"]), &[&changed[..], &["merged in"]].concat());
}

#[test]
fn no_attachment_gets_another_name_unnoticed() {
    let (_, one, other, id) = team(&Sandbox::new());
    let file = one.sandbox.path("trace.log");
    for (machine, text) in [(&one, "slow"), (&other, "fast")] {
        fs::write(&file, text).unwrap();
        machine.ok(&["attach", "R1.A", file.to_str().unwrap()]);
    }
    one.synced();
    // Both the person who merges and those who receive the merge are told.
    for machine in [&other, &one] {
        let entry = machine.synced();
        let notice = &entry["notices"][0];
        assert_eq!(notice["kind"], "attachmentRenamed", "{entry:#}");
        let whole = notice["message"].as_str().unwrap();
        let message = short(whole);
        let begin = "two files had the name attachments/R1.A/trace.log; a merge renamed one to attachments/R1.A/trace-";
        assert!(message.starts_with(begin), "{message}");
        let to = notice["files"][1].as_str().unwrap();
        assert!(machine.repository(&id).join(to).is_file() && whole.ends_with(to), "{message}");
    }
    one.grow(&id, &["R2.A1"]);
    one.synced();
    assert_eq!(other.synced()["notices"], json!([]), "once");
}

#[test]
fn an_ordinary_sync_gives_no_notice() {
    let (_, one, other, id) = team(&Sandbox::new());
    let sync = |machine: &Machine| {
        let entry = machine.synced();
        assert_eq!((&entry["notices"], &entry["notes"]), (&json!([]), &json!([])), "{entry:#}");
        entry
    };
    one.grow(&id, &["R2.A1"]);
    object(&one);
    one.ok(&["attach", "R1.A", concat!(env!("CARGO_MANIFEST_DIR"), "/LICENSE-MIT")]);
    sync(&one);
    assert_eq!(sync(&other)["came"], 4);
    // One id for two nodes, a comment on both sides, and the user's own files.
    one.grow(&id, &["R2.A2"]);
    let amend = json!({"sessionId": id, "nodeId": "R2.A1", "reason": "It was a slip.", "findings": "More."});
    one.call("tot_amend", amend);
    other.grow(&id, &["R2.A2"]);
    other.ok(&["comment", "R1.A", "-m", "No."]);
    other.write(&id, "notes.md", "mine\n");
    other.commit_all(&id);
    let end = json!({"sessionId": id, "stopped": {"reason": "enough"}, "conclusion": "Enough."});
    other.call("tot_end", end);
    sync(&one);
    assert!(sync(&other)["merge"].is_string());
    sync(&one);
    sync(&other);
    assert_eq!(one.head(&id), other.head(&id));
}
