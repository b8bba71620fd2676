//! Abandoned heads: commits that git removes next to a running server are reported and found again. Each test is named
//! after what it prevents or keeps.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, TOT, node};

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::begun(sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    session
}

/// Returns what a reply says about a moved history, with suggestions: its warnings, or its error if it was refused.
fn moves(reply: &Value) -> Vec<String> {
    let told =
        ["warnings", "errors"].into_iter().flat_map(|list| reply[list].as_array().into_iter().flatten());
    let moves = told.filter(|warning| warning["code"] == "HISTORY_MOVED");
    moves
        .map(|it| format!("{} {}", it["message"].as_str().unwrap(), it["suggestion"].as_str().unwrap()))
        .collect()
}

/// Runs the git command in a suggestion.
fn follow(sandbox: &Sandbox, advice: &str) {
    let (_, command) = advice.split_once("git -C ").unwrap();
    let (folder, rest) = command.split_once(" merge ").unwrap();
    let commit = rest.split([' ', '.']).next().unwrap();
    sandbox.git(Path::new(folder), &["merge", "-q", "--no-edit", commit]);
}

/// Returns the findings of `tot check --lost` about lost commits, and the exit status.
fn lost(sandbox: &Sandbox, repository: &Path) -> (Vec<String>, i32) {
    let output = sandbox.command(TOT).args(["check", "--lost"]).arg(repository).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lost = lines.lines().filter(|line| line.contains(" LOST_COMMITS ")).map(str::to_owned).collect();
    (lost, output.status.code().unwrap())
}

#[test]
fn a_reset_that_takes_acknowledged_commits_away_is_told_once_with_the_way_back() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let acknowledged = sandbox.head(&repository);
    for write in [false, true] {
        sandbox.git(&repository, &["reset", "-q", "--hard", "HEAD~2"]);
        let reply = match write {
            false => session.ok("tot_status", json!({})),
            true => session.ok("tot_propose", json!({"nodes": [node("R2.A7", Some("R1.A"))]})),
        };
        let told = moves(&reply);
        assert_eq!(told.len(), 1, "{reply:#}");
        for part in [&acknowledged[..10], "2 commits", "Commit R2.A1 EXPLORE", "Propose R2.A1"] {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
        assert_eq!(moves(&session.ok("tot_status", json!({}))), [""; 0]);
        assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 1);
        let (found, exit) = lost(&sandbox, &repository);
        assert_eq!((found.len(), exit), (1, 0), "{found:?}");
        for part in ["warning", &acknowledged[..10], "2 commits", "with R2.A1", "HEAD once pointed there"] {
            assert!(found[0].contains(part), "{part}: {found:?}");
        }
        follow(&sandbox, if write { &found[0] } else { &told[0] });
        sandbox.git(&repository, &["merge-base", "--is-ancestor", &acknowledged, "HEAD"]);
        let reply = session.ok("tot_status", json!({}));
        assert_eq!((moves(&reply), &reply["totalNodes"]), (vec![], &json!(2)), "{reply:#}");
        assert_eq!(lost(&sandbox, &repository).0, [""; 0]);
    }
    sandbox.assert_sound(&repository);
}

#[test]
fn a_head_that_goes_forward_is_no_news() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let clone = sandbox.path("clone");
    sandbox
        .git(&sandbox.path("home"), &["clone", "-q", repository.to_str().unwrap(), clone.to_str().unwrap()]);
    sandbox.git(&repository, &["commit", "-q", "--allow-empty", "-m", "By hand"]);
    assert_eq!(moves(&session.ok("tot_status", json!({}))), [""; 0]);
    // Somebody's work with earlier times than ours, merged.
    std::fs::write(clone.join("notes.md"), "mine\n").unwrap();
    sandbox.git(&clone, &["add", "notes.md"]);
    sandbox.git(&clone, &["commit", "-q", "-m", "Notes", "--date", "2020-01-01T00:00:00Z"]);
    sandbox.git(&repository, &["pull", "-q", "--no-rebase", "--no-edit", clone.to_str().unwrap(), "main"]);
    assert_eq!(moves(&session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}))), [""; 0]);
    let id = session.id.clone();
    let other =
        sandbox.server().ok("tot_propose", json!({"sessionId": id, "nodes": [node("R2.A3", Some("R1.A"))]}));
    assert_eq!(moves(&other), [""; 0]);
    assert_eq!(moves(&session.ok("tot_read", json!({"nodeIds": ["R1.A"]}))), [""; 0]);
    // There and back between two calls.
    sandbox.git(&repository, &["reset", "-q", "--hard", "HEAD~2"]);
    sandbox.server().ok("tot_status", json!({"sessionId": id}));
    sandbox.git(&repository, &["reset", "-q", "--hard", "ORIG_HEAD"]);
    assert_eq!(moves(&session.ok("tot_status", json!({}))), [""; 0]);
}

#[test]
fn another_branch_is_told_with_the_one_that_still_has_it() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    sandbox.git(&repository, &["checkout", "-q", "-b", "idea", "HEAD~1"]);
    let told = moves(&session.ok("tot_next", json!({})));
    assert!(told.len() == 1 && told[0].contains("main still has it"), "{told:?}");
    assert_eq!(lost(&sandbox, &repository).0, [""; 0]);
    follow(&sandbox, &told[0]);
    assert_eq!(moves(&session.ok("tot_status", json!({}))), [""; 0]);
    assert_eq!(sandbox.head(&repository), sandbox.git(&repository, &["rev-parse", "main"]).trim());
}

#[test]
fn a_refused_call_tells_it_too() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    sandbox.git(&session.repository(), &["reset", "-q", "--hard", "HEAD~1"]);
    let reply = session.call("tot_propose", json!({"nodes": [node("R9.Z", None)]}));
    assert_eq!((reply["status"].as_str(), moves(&reply).len()), (Some("REJECTED"), 1), "{reply:#}");
}

#[test]
fn what_git_has_collected_by_then_is_told_as_gone() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    sandbox.git(&repository, &["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.git(&repository, &["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&repository, &["gc", "-q", "--prune=now"]);
    let told = moves(&session.ok("tot_status", json!({})));
    assert!(told.len() == 1 && told[0].contains("no longer has"), "{told:?}");
}

#[test]
fn an_investigation_that_was_not_used_for_long_is_watched_too() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    for _ in 0..70 {
        sandbox.sleep(1);
        session.server.ok("tot_start", json!({"query": "Another one?"}));
    }
    sandbox.git(&session.repository(), &["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(moves(&session.ok("tot_status", json!({}))).len(), 1);
}

#[test]
fn commits_that_were_never_published_are_told_apart_from_lost_ones() {
    let sandbox = Sandbox::new();
    let session = begun(&sandbox);
    let repository = session.repository();
    // The state left by a writer that is killed before it moves the head.
    let message = sandbox.git(&repository, &["log", "-1", "--format=%B"]);
    let tree = sandbox.git(&repository, &["rev-parse", "HEAD^{tree}"]);
    sandbox.git(&repository, &["commit-tree", "-p", "HEAD~1", "-m", &message, tree.trim()]);
    // Finding a person's own commits is up to them.
    std::fs::write(repository.join("notes.md"), "mine\n").unwrap();
    sandbox.git(&repository, &["add", "notes.md"]);
    sandbox.git(&repository, &["stash", "-q"]);
    sandbox.git(&repository, &["stash", "drop", "-q"]);
    let (found, exit) = lost(&sandbox, &repository);
    assert_eq!((found.len(), exit), (1, 0), "{found:?}");
    assert!(
        found[0].contains("note LOST_COMMITS") && found[0].contains("HEAD never pointed there"),
        "{found:?}"
    );
    // A whole chain is one finding, named by its newest commit.
    sandbox.git(&repository, &["reset", "-q", "--hard", "HEAD~3"]);
    let (found, _) = lost(&sandbox, &repository);
    assert_eq!(found.len(), 2, "{found:?}");
}
