//! `tot check`, on sound investigations and on corrupted ones.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, TOT, node};

/// Returns the output of `tot check --json` and its exit status.
fn check(sandbox: &Sandbox, path: &Path) -> (Value, i32) {
    let output = sandbox.command(TOT).args(["check", "--json"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let document = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    (document, output.status.code().unwrap())
}

/// Returns `error CODE path:line` for every finding in one investigation, without notes.
fn found(sandbox: &Sandbox, path: &Path) -> Vec<String> {
    let (document, status) = check(sandbox, path);
    let findings = document["investigations"][0]["findings"].as_array().unwrap();
    assert_eq!(status == 1, findings.iter().any(|finding| finding["severity"] == "error"), "{document:#}");
    findings
        .iter()
        .filter(|finding| finding["severity"] != "note")
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or("commit").to_owned();
            let line = finding["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
            format!("{} {} {}{line}", text("severity"), text("code"), text("path"))
        })
        .collect()
}

/// Edits a file manually and commits it.
fn edit(sandbox: &Sandbox, repository: &Path, path: &str, change: impl Fn(String) -> String) {
    let file = repository.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let after = change(before.clone());
    assert_ne!(before, after, "{path} is changed");
    std::fs::write(&file, after).unwrap();
    sandbox.git(repository, &["add", "-A"]);
    sandbox.git(repository, &["commit", "-q", "-m", "By hand"]);
}

/// A small investigation that has ended, with a conversion, a state change and a withdrawal.
fn ended(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::start(sandbox, json!({"mode": "smoke", "allowEarlyTerminal": false}));
    session.grow(&[("R1.A", None)], "FOUND");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    session.ok("tot_propose", json!({"withdraw": ["R2.A2"]}));
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "No."}));
    session.ok("tot_end", json!({"conclusion": "Nothing."}));
    session
}

#[test]
fn what_the_server_wrote_is_clean() {
    let sandbox = Sandbox::new();
    let mut session = ended(&sandbox);
    assert_eq!(found(&sandbox, &session.repository()), Vec::<String>::new());
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
    session.ok(
        "tot_amend",
        json!({"nodeId": "R2.A1", "reason": "A slip.", "evidence": "Seen.", "commands": []}),
    );
    session.ok(
        "tot_amend",
        json!({"nodeId": "R2.A1", "reason": "Not all.", "evidence": "Seen twice.",
        "references": [{"target": "src/a.rs"}]}),
    );
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"}));
    session.ok("tot_end", json!({"conclusion": "Nothing."}));
    let amended =
        session.ok("tot_amend", json!({"reason": "It was too short.", "conclusion": "Nothing at all."}));
    assert_eq!(amended["amended"], json!(["conclusion"]));
    session.ok("tot_amend", json!({"reason": "Still.", "conclusion": "Nothing that we looked at."}));
    let log = sandbox.git(&session.repository(), &["log", "-1", "--format=%B"]);
    assert!(log.starts_with("Amend the conclusion\n\n    Still.\n\n    Nothing that we"), "{log}");
    assert!(log.contains("Tool: tot_amend"), "{log}");
    let page = session.server.request("resources/read", json!({"uri": format!("tot://{}", session.id)}));
    let page = page["result"]["contents"][0]["text"].as_str().unwrap();
    for shown in ["It was too short.", "Nothing at all.", "Still.", "Nothing that we looked at."] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(found(&sandbox, &session.repository()), Vec::<String>::new());
    let output = sandbox.command(TOT).arg("check").output().unwrap();
    assert!(output.status.success());
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @"1 investigation: 0 errors, 0 warnings");
}

#[test]
fn every_ruleset_that_was_played_is_clean() {
    let sandbox = Sandbox::new();
    let roots = |state: &str, number: usize| -> (Vec<Value>, Vec<Value>) {
        let ids: Vec<String> = (0..number).map(|at| format!("R1.{}", char::from(b'A' + at as u8))).collect();
        let nodes = ids.iter().map(|id| node(id, None)).collect();
        (nodes, ids.iter().map(|id| crate::support::result(id, state)).collect())
    };
    for (ruleset, open, number) in [
        ("drill", "DRILL", 5),
        ("multi-gate", "DRILL", 5),
        ("found-verify", "EXPLORE", 2),
        ("exhaust", "DEAD", 2),
    ] {
        let mut session = Session::start(&sandbox, json!({"ruleset": ruleset}));
        let (nodes, results) = roots(open, number);
        session.ok("tot_propose", json!({"nodes": nodes}));
        session.ok("tot_commit", json!({"results": results}));
        session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], open);
        assert_eq!(found(&sandbox, &session.repository()), Vec::<String>::new(), "{ruleset}");
        sandbox.sleep(60);
    }
    // A confirmation, the only terminal state with children.
    let mut session = Session::start(&sandbox, json!({"ruleset": "multi-gate"}));
    let (nodes, results) = roots("DRILL", 5);
    session.ok("tot_propose", json!({"nodes": nodes}));
    session.ok("tot_commit", json!({"results": results}));
    session.grow(&[("R2.A1", Some("R1.A"))], "DRILL");
    let evidence = "measured ".repeat(8);
    for (id, parent, state) in [("R3.A1a", "R2.A1", "VALID_PENDING"), ("R4.A1a1", "R3.A1a", "VALID")] {
        session.ok(
            "tot_propose",
            json!({"nodes": [node(id, Some(parent)), node(&format!("{id}x"), Some(parent))]}),
        );
        sandbox.sleep(60);
        let result = |id: &str, state: &str| json!({"nodeId": id, "state": state, "findings": "f", "evidence": evidence});
        session.ok("tot_commit", json!({"results": [result(id, state), result(&format!("{id}x"), "DRILL")]}));
    }
    assert_eq!(found(&sandbox, &session.repository()), Vec::<String>::new());
    // The result of merging two clones: confirmed, but not promoted.
    edit(&sandbox, &session.repository(), "nodes/R3/R3.A1a.yaml", |text| {
        text.split("reclassified:").next().unwrap().to_owned()
    });
    let found = found(&sandbox, &session.repository());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("warning CONFIRMATION_DUE nodes/R3/R3.A1a.yaml:"), "{found:?}");
    assert_eq!(found[1], "error STORED_LOST commit");
}

#[test]
fn a_further_root_after_a_dead_end_is_no_fault() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"minRounds": 5}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.ok("tot_reclassify", json!({"nodeId": "R1.A", "newState": "DEAD"}));
    sandbox.sleep(60);
    session.grow(&[("R1.B", None)], "EXPLORE");
    assert_eq!(found(&sandbox, &session.repository()), Vec::<String>::new());
}

#[test]
fn the_demo_is_clean() {
    let sandbox = Sandbox::new();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    let clone = sandbox.path("clone");
    sandbox.git(&sandbox.path("home"), &["clone", "-q", bundle.to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!(found(&sandbox, &clone), Vec::<String>::new());
}

#[test]
fn each_tampering_is_named_with_file_and_line() {
    let a1 = "nodes/R2/R2.A1.yaml";
    let root = "nodes/R1/R1.A.yaml";
    type Tampering = (&'static str, fn(String) -> String, &'static [&'static str]);
    let cases: [Tampering; 23] = [
        (a1, |t| t.replace("title: Title", "title:  Title"), &["warning EDITED_FILE nodes/R2/R2.A1.yaml:4"]),
        (
            a1,
            |t| t.replace("state: EXPLORE", "state: FOND"),
            &[
                "error UNKNOWN_STATE nodes/R2/R2.A1.yaml:7",
                "error RECLASSIFIED_CHAIN nodes/R2/R2.A1.yaml:15",
                "error STORED_LOST commit",
            ],
        ),
        (
            a1,
            |t| {
                t.replace("state: EXPLORE", "state: DEAD")
                    .replace("from: EXPLORE", "from: DEAD")
                    .replace("to: DEAD", "to: EXPLORE")
            },
            &[
                "error ENDED_TOO_EARLY conclusion.yaml:1",
                "error EARLY_STATE nodes/R2/R2.A1.yaml:7",
                "error STORED_LOST commit",
            ],
        ),
        (
            a1,
            |t| t.replace("from: EXPLORE", "from: FOUND"),
            &["error RECLASSIFIED_CHAIN nodes/R2/R2.A1.yaml:15", "error STORED_LOST commit"],
        ),
        (
            a1,
            |t| t.replace("code: EARLY_STATE", "code: LATE_STATE"),
            &["warning EARLY_STATE nodes/R2/R2.A1.yaml:15", "error STORED_LOST commit"],
        ),
        (
            root,
            |t| t.replace("requestedState: FOUND", "requestedState: EXPLORE"),
            &["error REQUESTED_STATE nodes/R1/R1.A.yaml:7", "error STORED_LOST commit"],
        ),
        (
            root,
            |t| t.replace("state: EXPLORE", "state: VERIFY").replace("requestedState: FOUND\n", ""),
            &[
                "error EARLY_STATE nodes/R1/R1.A.yaml:6",
                "error TERMINAL_PARENT nodes/R2/R2.A1.yaml:3",
                "error STORED_LOST commit",
            ],
        ),
        (
            root,
            |t| t.replace("committedAt: \"2026", "committedAt: \"2025"),
            &["warning TIME_RUNS_BACK nodes/R1/R1.A.yaml:12", "error STORED_LOST commit"],
        ),
        (
            root,
            |t| t.replace("title: Title of R1.A", "title: \"\""),
            &["error MISSING_TITLE nodes/R1/R1.A.yaml:3", "error STORED_LOST commit"],
        ),
        (
            root,
            |t| t.replace("requestedState: FOUND\n", "requestedState: FOUND\nrefutes: true\n"),
            &["error REFUTES_NOTHING nodes/R1/R1.A.yaml:8"],
        ),
        (
            a1,
            |t| t.replace("reclassified:", "links:\n- to: R9.Z\n  kind: supports\nreclassified:"),
            &["warning LINK_NOWHERE nodes/R2/R2.A1.yaml:15"],
        ),
        (
            a1,
            |t| t + "amended:\n- at: \"2026-01-05T08:00:00.000Z\"\n  reason: A slip.\n",
            &[
                "error AMENDED_NOTHING nodes/R2/R2.A1.yaml:28",
                "warning TIME_RUNS_BACK nodes/R2/R2.A1.yaml:28",
            ],
        ),
        (
            root,
            |t| t.replace("title: Title", "children: []\ntitle: Title"),
            &[
                "error ENDED_TOO_EARLY conclusion.yaml:1",
                "error ENDED_TOO_EARLY conclusion.yaml:1",
                "error UNREADABLE_FILE nodes/R1/R1.A.yaml:3",
                "error MISPLACED_NODE nodes/R2/R2.A1.yaml:3",
                "error STORED_LOST commit",
            ],
        ),
        (
            "nodes/R2/R2.B1.yaml",
            |_| PENDING.replace("R1.B", "R2.B1\nparent: R1.A"),
            &["error ENDED_TOO_EARLY conclusion.yaml:1", "error ID_PARENT_MISMATCH nodes/R2/R2.B1.yaml:3"],
        ),
        (
            "nodes/R2/R2.a1.yaml",
            |_| PENDING.replace("R1.B", "R2.a1\nparent: R1.A"),
            &[
                "error ENDED_TOO_EARLY conclusion.yaml:1",
                "error ID_PARENT_MISMATCH nodes/R2/R2.a1.yaml:3",
                "error ID_CASE_COLLISION nodes/R2/R2.a1.yaml:2",
            ],
        ),
        (
            "nodes/R1/R1.B.yaml",
            |_| PENDING.to_owned(),
            &[
                "error ENDED_TOO_EARLY conclusion.yaml:1",
                "error INVALID_ROOT_ID nodes/R1/R1.B.yaml:2",
                "error TOO_MANY_ROOTS nodes/R1/R1.B.yaml:2",
            ],
        ),
        ("nodes/notes.md", |_| "x".into(), &["warning STRAY_FILE nodes/notes.md"]),
        ("README.md", |_| "x".into(), &[]),
        (".gitattributes", |t| t + "# x\n* text=auto\n", &[]),
        (
            "investigation.yaml",
            |t| t.replace("mode: smoke", "mode: soft"),
            // The terms set at the start apply, so nothing else is wrong.
            &["warning TERMS_CHANGED investigation.yaml", "warning TERMS_CHANGED commit"],
        ),
        (
            "ruleset.yaml",
            |t| t.replacen("name: FOUND", "name: FOND", 1),
            &["error INVALID_RULESET ruleset.yaml:", "warning RULESET_CHANGED commit"],
        ),
        (
            "ruleset.yaml",
            |t| t.replace("recommended: 5", "recommended: 4"),
            &["warning RULESET_DIFFERS ruleset.yaml:", "warning RULESET_CHANGED commit"],
        ),
        (
            "conclusion.yaml",
            |t| t.replace("conclusion: Nothing.", "conclusion: All."),
            &["warning ENDED_TAG_MISSING commit", "error STORED_LOST commit"],
        ),
    ];
    let sandbox = Sandbox::new();
    let original = ended(&sandbox).repository();
    let mut wrong = Vec::new();
    for (number, (path, change, expected)) in cases.into_iter().enumerate() {
        let copy = sandbox.path(&format!("copy-{number}"));
        let (from, to) = (original.to_str().unwrap(), copy.to_str().unwrap());
        sandbox.git(&sandbox.path("home"), &["clone", "-q", from, to]);
        edit(&sandbox, &copy, path, change);
        let mut found = found(&sandbox, &copy);
        // The change may affect the README page, which has its own tests.
        found.retain(|line| line != "warning README_DIFFERS README.md");
        for (found, expected) in found.iter_mut().zip(expected) {
            // Lines of the ruleset may move.
            if expected.ends_with(':') && found.starts_with(expected) {
                found.truncate(expected.len());
            }
        }
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        found.sort_unstable();
        if found != expected {
            wrong.push(format!("case {number}, {path}: {found:#?} instead of {expected:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A pending proposal.
const PENDING: &str =
    "version: 1\nid: R1.B\ntitle: x\nplannedAction: Look.\nproposedAt: \"2026-01-05T09:30:00.000Z\"\n";

#[test]
fn a_merge_is_a_note_and_a_bare_clone_is_checked_too() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let (here, id) = (session.repository(), session.id.clone());
    let there = sandbox.path("elsewhere").join(&id);
    let home = sandbox.path("home");
    sandbox.git(&home, &["clone", "-q", here.to_str().unwrap(), there.to_str().unwrap()]);
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    let server = sandbox.server_in(&sandbox.path("elsewhere"), &[]);
    let mut other = Session { sandbox: &sandbox, server, id };
    other.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    sandbox.git(&here, &["pull", "-q", "--no-rebase", "--no-edit", there.to_str().unwrap(), "main"]);
    sandbox.sleep(60);
    session.ok("tot_commit", json!({"results": [crate::support::result("R2.A2", "EXPLORE")]}));
    let bare = sandbox.path("bare.git");
    sandbox.git(&home, &["clone", "-q", "--bare", here.to_str().unwrap(), bare.to_str().unwrap()]);
    for path in [&here, &bare] {
        let (document, status) = check(&sandbox, path);
        let findings = document["investigations"][0]["findings"].as_array().unwrap();
        assert_eq!(status, 0, "{document:#}");
        assert_eq!(findings.len(), 1, "{document:#}");
        assert_eq!((&findings[0]["severity"], &findings[0]["code"]), (&json!("note"), &json!("MERGE")));
    }
}

#[test]
fn a_commit_that_is_not_one_call_is_named() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let repository = session.repository();
    std::fs::write(repository.join("notes.md"), "mine").unwrap();
    sandbox.git(&repository, &["add", "-A"]);
    sandbox.git(&repository, &["commit", "-q", "--amend", "--no-edit"]);
    let (document, status) = check(&sandbox, &repository);
    let finding = &document["investigations"][0]["findings"][0];
    assert_eq!((status, &finding["code"]), (1, &json!("NOT_ONE_CALL")), "{document:#}");
    assert!(finding["message"].as_str().unwrap().ends_with("it also changed notes.md."), "{finding}");
    assert_eq!(finding["commit"], sandbox.head(&repository));
    // Squashed: two calls under the message of one.
    sandbox.git(&repository, &["reset", "-q", "--soft", "HEAD~2"]);
    let forged = "Propose R1.A\n\nTool: tot_propose\nNode: R1.A\n";
    sandbox.git(&repository, &["commit", "-q", "-m", forged]);
    let (document, _) = check(&sandbox, &repository);
    let message = document["investigations"][0]["findings"][0]["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "Its message names a call to tot_propose, but it committed R1.A.");
}

/// It once passed with a vague note.
#[test]
fn a_commit_by_hand_that_takes_back_what_was_stored_is_an_error() {
    let a1 = "nodes/R2/R2.A1.yaml";
    type Edit = (fn(&Sandbox, &Path), &'static str, &'static str);
    let edits: [Edit; 4] = [
        (
            |sandbox, at| {
                edit(sandbox, at, "nodes/R2/R2.A1.yaml", |text| {
                    text.replace("findings: Findings", "findings: Other")
                })
            },
            "error",
            "It changed stored fields of R2.A1: Findings.",
        ),
        (
            |sandbox, at| {
                sandbox.git(at, &["rm", "-q", "nodes/R2/R2.A1.yaml"]);
                sandbox.git(at, &["commit", "-q", "-m", "Tidy"]);
            },
            "error",
            "This commit removed the committed node R2.A1, or made it unreadable.",
        ),
        (
            |sandbox, at| {
                sandbox.git(at, &["rm", "-q", "conclusion.yaml"]);
                sandbox.git(at, &["commit", "-q", "-m", "Tidy"]);
            },
            "error",
            "This commit removed the conclusion.",
        ),
        (
            |sandbox, at| {
                edit(sandbox, at, "nodes/R2/R2.A1.yaml", |text| text + "verificationMethod: Twice.\n")
            },
            "note",
            "It changed stored fields of R2.A1: How the author checked it.",
        ),
    ];
    let sandbox = Sandbox::new();
    let original = ended(&sandbox).repository();
    for (number, (edit, severity, message)) in edits.into_iter().enumerate() {
        let copy = sandbox.path(&format!("copy-{number}"));
        let (from, to) = (original.to_str().unwrap(), copy.to_str().unwrap());
        sandbox.git(&sandbox.path("home"), &["clone", "-q", from, to]);
        let before = sandbox.head(&copy);
        edit(&sandbox, &copy);
        let (document, _) = check(&sandbox, &copy);
        let findings = document["investigations"][0]["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["message"] == message);
        let found = found.unwrap_or_else(|| panic!("{message}: {document:#}"));
        assert_eq!(found["severity"], severity, "{found}");
        assert_eq!(found["commit"], sandbox.head(&copy), "{found}");
        if severity == "error" && message.contains("R2.A1") {
            assert_eq!(found["suggestion"], format!("`git show {before}:{a1}` still shows it."));
        }
    }
}

/// A rewritten object file once passed, because git checks hashes only in its own fsck.
#[test]
fn an_object_that_is_not_what_its_id_says_is_found_in_full() {
    let sandbox = Sandbox::new();
    let repository = ended(&sandbox).repository();
    let full = || {
        let output =
            sandbox.command(TOT).args(["check", "--full", "--json"]).arg(&repository).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["investigations"][0]["findings"].as_array().unwrap().clone()
    };
    assert_eq!(full(), Vec::<Value>::new());
    let id = |of: &str| sandbox.git(&repository, &["rev-parse", of]).trim().to_owned();
    let (root, other) = (id("HEAD:nodes/R1/R1.A.yaml"), id("HEAD:nodes/R2/R2.A1.yaml"));
    let file = |id: &str| repository.join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(file(&root)).unwrap();
    std::fs::copy(file(&other), file(&root)).unwrap();
    let found = full();
    let message = format!("The object {root} is damaged: its content has the id {other}.");
    assert!(found.iter().any(|it| it["code"] == "DAMAGED_OBJECT" && it["message"] == message), "{found:#?}");
}

#[test]
fn settings_that_ask_for_signatures_are_noted() {
    let sandbox = Sandbox::new();
    let repository = ended(&sandbox).repository();
    sandbox.git(&repository, &["config", "commit.gpgSign", "true"]);
    let (document, status) = check(&sandbox, &repository);
    let findings = document["investigations"][0]["findings"].as_array().unwrap();
    assert_eq!(status, 0);
    assert!(
        findings.iter().any(|it| it["code"] == "NOT_SIGNED" && it["severity"] == "note"),
        "{findings:#?}"
    );
}

#[test]
fn the_exit_status_tells_scripts() {
    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| {
        let output = sandbox.command(TOT).arg("check").args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (status, _, error) = run(&[]);
    assert_eq!(status, 1);
    assert!(error.starts_with("tot check: folder investigations not found: "), "{error}");
    std::fs::create_dir(sandbox.root()).unwrap();
    let (status, _, error) = run(&[]);
    assert_eq!(
        (status, error.as_str()),
        (
            1,
            "tot check: investigations contains no investigation: give an investigation's folder, or a folder that contains several\n"
        )
    );
    assert_eq!(run(&["./nowhere"]).2, "tot check: ./nowhere does not exist\n");
    assert_eq!(run(&["--nonsense"]).0, 2);
    let session = ended(&sandbox);
    assert_eq!(run(&[]).0, 0);
    let (from, to) = (session.repository(), sandbox.root().join("again"));
    sandbox.git(&sandbox.path("home"), &["clone", "-q", from.to_str().unwrap(), to.to_str().unwrap()]);
    let (status, text, _) = run(&[]);
    assert_eq!(status, 1);
    assert!(
        text.starts_with("investigations/again: error DUPLICATE_ID ") || text.contains("DUPLICATE_ID"),
        "{text}"
    );
    assert!(text.ends_with("2 investigations: 1 error, 0 warnings\n"), "{text}");
    // A repository that is not an investigation is reported, and the others are still checked.
    std::fs::remove_file(to.join("investigation.yaml")).unwrap();
    sandbox.git(&to, &["commit", "-q", "-a", "-m", "Lost"]);
    let (status, text, _) = run(&[]);
    assert_eq!(status, 1);
    assert!(text.contains("investigations/again: error UNREADABLE "), "{text}");
    assert!(text.contains("investigation.yaml is missing"), "{text}");
    assert!(text.ends_with("2 investigations: 1 error, 0 warnings\n"), "{text}");
}
