//! An investigation is judged by its pinned ruleset.

use std::path::Path;

use serde_json::{Value, json};

use super::begun;
use crate::support::{Sandbox, Session, TOT, TOT_REPORT, codes, node, result};

const RULES: &str = "ruleset.yaml";

/// Changes a file by hand, and commits it.
fn edit(session: &Session, file: &str, from: &str, to: &str) {
    let text = session.text(file);
    assert!(text.contains(from));
    session.sandbox.commit_file(&session.repository(), file, &text.replacen(from, to, 1));
}

fn two_rounds(sandbox: &Sandbox) -> Session {
    let mut session = Session::start(sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    session
}

#[test]
fn an_invalid_one_refuses_every_writing_call_and_leaves_everything_readable() {
    let mut session = two_rounds(&Sandbox::new());
    let repository = session.repository();
    edit(
        &session,
        RULES,
        "storeAs: EXPLORE, code: DEPTH_ENFORCED",
        "storeAs: EXPLORED, code: DEPTH_ENFORCED",
    );
    let calls = [
        ("tot_propose", json!({"nodes": [node("R3.A1b", Some("R2.A1"))]})),
        ("tot_commit", json!({"results": [result("R3.A1a", "EXPLORE")]})),
        ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"})),
        ("tot_end", json!({"conclusion": "x"})),
    ];
    for (tool, arguments) in calls {
        assert_eq!(session.refused(tool, arguments.clone()), ["INVALID_RULESET"]);
        let reply = session.call(tool, arguments);
        let error = &reply["errors"][0];
        let told =
            format!("{}\n{}", error["message"].as_str().unwrap(), error["suggestion"].as_str().unwrap());
        let told = told.replace(&repository.display().to_string(), "[repository]");
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"
            The rules of this investigation are unusable: ruleset.yaml:47: EXPLORED is not one of the states (did you mean EXPLORE?).
            Fix ruleset.yaml in [repository] and commit it (git log -p ruleset.yaml shows earlier versions); until then tot_status and tot-report omit everything that needs rules.
            ");
        }
    }
    // Everything that does not need the rules is still shown.
    let status = session.ok("tot_status", json!({"detail": "full"}));
    assert_eq!(codes(&status["owed"]), ["INVALID_RULESET"]);
    assert_eq!(codes(&status["warnings"]), ["INVALID_RULESET"]);
    assert_eq!(status["canEnd"], false);
    assert_eq!(status["totalNodes"], 3);
    assert_eq!(status["activeByState"], json!({"EXPLORE": 3}));
    assert_eq!(status["pending"], json!(["R3.A1a"]));
    assert_eq!(status["listed"].as_array().unwrap().len(), 4, "the pending one, too");
    assert_eq!(status["currentRound"], 2);
    let fault = status["faults"][0].as_str().unwrap();
    assert!(fault.starts_with("ruleset.yaml:47: EXPLORED is not one of the states"), "{fault}");
    for absent in ["incomplete", "quality", "nextRoundInfo", "terminalNodes"] {
        assert!(status[absent].is_null(), "{absent}: {status:#}");
    }
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1"]}));
    assert_eq!(read["nodes"][0]["findings"], "Findings of R2.A1.");
    let made = session.sandbox.run(TOT_REPORT, &[repository.to_str().unwrap(), "--out", "site"]);
    assert_eq!(made.status, 0, "{}", made.err);
    let page = std::fs::read_to_string(session.sandbox.path("site/judged.html")).unwrap();
    assert!(page.contains("EXPLORED is not one of the states"), "{page}");
    assert!(session.sandbox.path("site/nodes/R2.A2.html").exists());
    // After the repair, work continues from the same state.
    edit(&session, RULES, "storeAs: EXPLORED", "storeAs: EXPLORE");
    session.sandbox.sleep(60);
    session.ok("tot_commit", json!({"results": [result("R3.A1a", "EXPLORE")]}));
    session.assert_sound();
}

#[test]
fn text_that_is_no_ruleset_and_a_missing_file_are_told_apart() {
    let mut session = two_rounds(&Sandbox::new());
    let message = |session: &mut Session| {
        let reply = session.call("tot_end", json!({}));
        reply["errors"][0]["message"].as_str().unwrap().to_owned()
    };
    edit(&session, RULES, "version: 1\n", "<<<<<<< HEAD\nversion: 1\n");
    insta::assert_snapshot!(message(&mut session), @"The rules of this investigation are unusable: ruleset.yaml:2: it still contains a merge conflict (keep one side, and remove the lines <<<<<<<, ======= and >>>>>>>).");
    session.git(&["rm", "-q", "ruleset.yaml"]);
    session.git(&["commit", "-qm", "Remove the rules"]);
    insta::assert_snapshot!(message(&mut session), @"The rules of this investigation are unusable: ruleset.yaml: the ruleset is missing.");
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 3);
}

/// Returns what each program that reports problems says about the folder.
fn told_everywhere(sandbox: &Sandbox, folder: &Path) -> Vec<String> {
    let says = |program: &str, arguments: &[&str]| {
        let ran = sandbox.command(program).current_dir(folder).args(arguments).output().unwrap();
        // Lines are wrapped between words.
        String::from_utf8_lossy(&ran.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    says(TOT_REPORT, &[".", "--out", "../site"]);
    let page = |path: &str| std::fs::read_to_string(folder.join("../site").join(path)).unwrap();
    let told = vec![
        says(TOT, &["check"]),
        says(TOT, &["show"]),
        says(TOT, &["show", "--json"]),
        says(TOT, &["list"]),
        page("index.html"),
        page("investigation.json"),
    ];
    std::fs::remove_dir_all(folder.join("../site")).unwrap();
    told
}

#[test]
fn an_edit_of_the_rules_or_the_terms_lowers_nothing_and_is_named() {
    for (file, from, to, named) in [
        (RULES, "end: {minRounds: 5}", "end: {minRounds: 1}", "the rules of the first commit apply"),
        (
            "investigation.yaml",
            "minRounds: 5",
            "minRounds: 1",
            "by Tester; the terms of the first commit apply",
        ),
    ] {
        let mut session = two_rounds(&Sandbox::new());
        let repository = session.repository();
        edit(&session, file, from, to);
        let fresh = session.sandbox.server().ok("tot_status", json!({"sessionId": session.id}));
        for status in [session.ok("tot_status", json!({})), fresh] {
            assert!(codes(&status["owed"]).contains(&"MIN_ROUNDS".to_owned()), "{status}");
            let fault = status["faults"][0].as_str().unwrap();
            assert!(fault.starts_with(file) && fault.ends_with(named), "{fault}");
        }
        for told in told_everywhere(&session.sandbox, &repository) {
            assert!(told.contains(named), "{told}");
        }
        // Marking the commit as a call does not help.
        session.git(&["commit", "--amend", "-qm", "Amend R2.A1\n\nTool: tot_amend"]);
        let status = session.ok("tot_status", json!({}));
        assert!(codes(&status["owed"]).contains(&"MIN_ROUNDS".to_owned()), "{status}");
    }
}

#[test]
fn a_shallow_clone_says_that_the_first_rules_and_terms_are_not_known() {
    let session = two_rounds(&Sandbox::new());
    let (whole, shallow) = (session.repository(), session.sandbox.path("clones/shallow"));
    let url = format!("file://{}", whole.display());
    let clone = ["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()];
    session.sandbox.git(&session.sandbox.path(""), &clone);
    let named = "be compared with the current ones";
    for told in told_everywhere(&session.sandbox, &shallow) {
        assert!(told.contains(named), "{told}");
    }
    for told in told_everywhere(&session.sandbox, &whole) {
        assert!(!told.contains(named), "{told}");
    }
}

#[test]
fn an_edit_that_does_not_fit_the_nodes_is_told() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1", "R2.A2"], "DEAD");
    assert!(session.ok("tot_status", json!({}))["faults"].is_null());
    edit(&session, "nodes/R2/R2.A2.yaml", "state: DEAD", "state: GONE");
    let faults = session.ok("tot_status", json!({}))["faults"].clone();
    assert_eq!(faults.as_array().unwrap().len(), 1, "{faults}");
    insta::assert_snapshot!(faults[0].as_str().unwrap(), @"UNKNOWN_STATE R2.A2: R2.A2 is GONE, which is not a state of single-root. Reclassify it to one of EXPLORE, FOUND, VERIFY, EXHAUST, DEAD.");
    session.ok("tot_reclassify", json!({"nodeId": "R2.A2", "newState": "EXPLORE"}));
}

#[test]
fn an_investigation_is_judged_the_same_without_the_folder() {
    let replies = [true, false].map(|with_folder| {
        let (mut session, _) = begun(&Sandbox::new());
        if !with_folder {
            std::fs::remove_dir_all(session.sandbox.path("rules")).unwrap();
            std::mem::replace(&mut session.server, session.sandbox.server()).finish();
        }
        let mut replies: Vec<Value> = vec![session.grow(&[("R1.A", None)], "CONFIRMED")];
        session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
        replies.push(session.call("tot_commit", json!({"results": [result("R2.A1", "EXPLORE")]})));
        replies.push(session.call("tot_end", json!({})));
        replies.push(session.ok("tot_status", json!({})));
        replies
    });
    assert_eq!(replies[0], replies[1]);
    assert_eq!(codes(&replies[0][1]["errors"]), ["UNKNOWN_STATE"]);
}
