//! Consequences that a problem in one file must never have. Each test is named after what it prevents.

use serde_json::{Value, json};

use super::fed;
use crate::support::{Sandbox, Session, TOT_REPORT, codes, node, result, there, told};

fn grown(sandbox: &Sandbox) -> Session {
    Session::grown(sandbox, &["R2.A1", "R2.A2"], "DEAD")
}

#[test]
fn an_unreadable_file_is_not_overwritten_nor_passed_over_at_the_end() {
    let mut session = grown(&Sandbox::new());
    session.edit("nodes/R2/R2.A1.yaml", "id: [\n");
    let codes_of = session.refused("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    assert_eq!(codes_of, ["DUPLICATE_ID"]);
    let plan = session.ok("tot_next", json!({}));
    assert!(!plan["tasks"].to_string().contains("\"R2.A1\""), "{plan}");
    assert_eq!(codes(&session.ok("tot_status", json!({}))["owed"]), ["UNREADABLE_NODE"]);
    assert_eq!(session.refused("tot_end", json!({})), ["UNREADABLE_NODE"]);
    // Nor is an unreadable conclusion.
    session.git(&["reset", "-q", "--hard", "HEAD~1"]);
    session.ok("tot_end", json!({"conclusion": "It was the cable."}));
    session.edit("conclusion.yaml", "version: 2\nended: [\n");
    let reply = session.call("tot_end", json!({"conclusion": "Something else."}));
    assert_eq!(codes(&reply["errors"]), ["STORE_ERROR"], "{reply}");
    assert!(reply["errors"][0]["message"].as_str().unwrap().contains("conclusion.yaml"), "{reply}");
}

#[test]
fn two_servers_agree_on_one_head_once_a_missing_parent_is_back() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    session.git(&["rm", "-q", there(&session.repository(), "nodes/R2/R2.A1.yaml").to_str().unwrap()]);
    session.git(&["commit", "-qm", "By hand"]);
    session.ok("tot_status", json!({}));
    session.git(&["revert", "--no-edit", "HEAD"]);
    let here = session.ok("tot_status", json!({}));
    let there =
        Session::of(&session.sandbox, session.sandbox.server(), &session.id).ok("tot_status", json!({}));
    assert_eq!(here, there);
    assert_eq!(here["totalNodes"], 3);
    assert!(here["faults"].is_null(), "{here}");
}

#[test]
fn nothing_is_acknowledged_that_no_other_server_could_read() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    session.sandbox.sleep(60);
    let (mut many, mut long) = (result("R1.A", "EXPLORE"), result("R1.A", "EXPLORE"));
    many["alternativesConsidered"] = json!(vec!["a"; 300_000]);
    // Each of these becomes four bytes in the file.
    long["findings"] = json!("\u{7f}".repeat(1 << 20));
    long["evidence"] = long["findings"].clone();
    for entry in [many, long] {
        assert_eq!(session.refused("tot_commit", json!({"results": [entry]})), ["TEXT_TOO_LONG"]);
    }
}

#[test]
fn a_folder_that_holds_another_investigation_by_now_is_not_taken_for_the_first() {
    let mut one = Session::start(&Sandbox::new(), json!({}));
    one.sandbox.sleep(1);
    let two = Session::start(&one.sandbox, json!({}));
    let elsewhere = one.sandbox.path("elsewhere");
    let clone = |from: &Session| {
        one.sandbox.git(&elsewhere, &["clone", "-q", from.repository().to_str().unwrap(), "foo"]);
    };
    // A folder that is still being cloned is read again.
    std::fs::create_dir_all(elsewhere.join("foo")).unwrap();
    let mut server = one.sandbox.server_in(&elsewhere, &[]);
    assert_eq!(server.refused("tot_status", json!({"sessionId": one.id})), ["SESSION_NOT_FOUND"]);
    clone(&one);
    assert_eq!(server.ok("tot_status", json!({"sessionId": one.id}))["sessionId"], json!(one.id));
    std::fs::remove_dir_all(elsewhere.join("foo")).unwrap();
    clone(&two);
    let proposal = json!({"sessionId": one.id, "nodes": [node("R1.A", None)]});
    assert_eq!(server.refused("tot_propose", proposal), ["SESSION_NOT_FOUND"]);
    assert_eq!(server.ok("tot_status", json!({"sessionId": two.id}))["sessionId"], json!(two.id));
    one.ok("tot_status", json!({}));
}

#[test]
fn a_revision_in_no_language_is_an_error_and_no_panic() {
    let session = grown(&Sandbox::new());
    for rev in ["HEAD~é", "HEAD^é", "é", "~", "HEAD~99999999999999999999"] {
        let mut command = session.sandbox.command(TOT_REPORT);
        let output =
            command.arg(session.repository()).args(["--rev", rev, "--out", "site"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{rev}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn nothing_is_acknowledged_beyond_what_the_next_start_reads() {
    let mut session = Session::begun(&Sandbox::new());
    // Enough files of the user's own that only a few more nodes fit.
    let make = |command: &str, input: &str| fed(&session, &command.split(' ').collect::<Vec<_>>(), input);
    let blob = make("hash-object -w --stdin", "mine\n");
    let many: String = (0..197_980).map(|number| format!("100644 blob {blob}\t{number:06}\n")).collect();
    let folder = make("mktree", &many);
    let root = make("mktree", &format!("{}040000 tree {folder}\tmine\n", session.git(&["ls-tree", "HEAD"])));
    let commit = session.git(&["commit-tree", "-p", "HEAD", "-m", "By hand", &root]);
    session.git(&["update-ref", "HEAD", commit.trim()]);

    let mut ids = Vec::new();
    let refusal = loop {
        let id = format!("R2.A{}", ids.len() + 1);
        let reply = session.call("tot_propose", json!({"nodes": [node(&id, Some("R1.A"))]}));
        if reply["status"] != "OK" {
            break reply;
        }
        ids.push(id);
        assert!(ids.len() < 20, "the limit is met");
    };
    assert!(!ids.is_empty(), "{refusal:#}");
    ids.sort();
    assert_eq!(codes(&refusal["errors"]), ["INVESTIGATION_FULL"], "{refusal:#}");
    insta::assert_snapshot!(
        told(&refusal["errors"][0]).replace(&session.repository().display().to_string(), "[REPOSITORY]"),
        @"The investigation in [REPOSITORY] is full: it would exceed 198000 files and folders and could not be read back. Conclude it with tot_end, then start another one for the open questions."
    );
    let status =
        Session::of(&session.sandbox, session.sandbox.server(), &session.id).ok("tot_status", json!({}));
    assert_eq!((&status["pending"], &status["faults"]), (&json!(ids), &Value::Null), "{status:#}");
    // Less fits.
    session.ok("tot_propose", json!({"withdraw": ids}));
}
