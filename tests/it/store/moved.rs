//! Abandoned heads: commits that git removes next to a running server are reported and found again. Each test is named
//! after what it prevents or keeps.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, TOT, node};

fn begun(sandbox: &Sandbox) -> Session {
    Session::grown(sandbox, &["R2.A1"], "EXPLORE")
}

/// Returns what a reply says about a moved history, with suggestions: its warnings, or its error if it was refused.
fn moves(reply: &Value) -> Vec<String> {
    let told =
        ["warnings", "errors"].into_iter().flat_map(|list| reply[list].as_array().into_iter().flatten());
    let moves = told.filter(|warning| warning["code"] == "HISTORY_MOVED");
    moves.map(crate::support::told).collect()
}

/// Asserts that the status says nothing about a moved history, and returns the number of nodes.
fn nodes(session: &mut Session) -> Value {
    let status = session.ok("tot_status", json!({}));
    assert_eq!(moves(&status), [""; 0]);
    status["totalNodes"].clone()
}

/// Runs the git command in a suggestion.
fn follow(sandbox: &Sandbox, advice: &str) {
    let (_, command) = advice.split_once("git -C ").unwrap();
    let (folder, rest) = command.split_once(" merge ").unwrap();
    let commit = rest.split([' ', '.']).next().unwrap();
    sandbox.git(Path::new(folder), &["merge", "-q", "--no-edit", commit]);
}

/// Returns the findings of `tot check --lost` about lost commits, which are no errors.
fn lost(session: &Session) -> Vec<String> {
    let mut check = session.sandbox.command(TOT);
    let output = check.args(["check", "--lost"]).arg(session.repository()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter(|line| line.contains(" LOST_COMMITS ")).map(str::to_owned).collect()
}

#[test]
fn a_reset_that_takes_acknowledged_commits_away_is_told_once_with_the_way_back() {
    let mut session = begun(&Sandbox::new());
    let acknowledged = session.head();
    let parts = [&acknowledged[..10], "2 commits"];
    for (tool, arguments) in [
        ("tot_status", json!({})),
        ("tot_propose", json!({"nodes": [node("R9.Z", None)]})),
        ("tot_propose", json!({"nodes": [node("R2.A7", Some("R1.A"))]})),
    ] {
        session.git(&["reset", "-q", "--hard", &format!("{acknowledged}~2")]);
        let reply = session.call(tool, arguments);
        let told = moves(&reply);
        assert_eq!(told.len(), 1, "{reply:#}");
        for part in [&parts[..], &["Commit R2.A1 EXPLORE", "Propose R2.A1"]].concat() {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
        assert_eq!(nodes(&mut session), 1);
        let found = lost(&session);
        assert_eq!(found.len(), 1, "{found:?}");
        for part in [&parts[..], &["warning", "with R2.A1", "HEAD once pointed there"]].concat() {
            assert!(found[0].contains(part), "{part}: {found:?}");
        }
        follow(&session.sandbox, if reply["status"] == "OK" { &told[0] } else { &found[0] });
        session.git(&["merge-base", "--is-ancestor", &acknowledged, "HEAD"]);
        assert_eq!(nodes(&mut session), 2);
        assert_eq!(lost(&session), [""; 0]);
    }
    session.assert_sound();
}

#[test]
fn a_head_that_goes_forward_is_no_news() {
    let mut session = begun(&Sandbox::new());
    let clone = session.cloned("clone");
    session.git(&["commit", "-q", "--allow-empty", "-m", "By hand"]);
    nodes(&mut session);
    // Somebody's work with earlier times than ours, merged.
    clone.edit("notes.md", "mine\n");
    clone.git(&["commit", "-q", "--amend", "--no-edit", "--date", "2020-01-01T00:00:00Z"]);
    let from = clone.repository();
    session.git(&["pull", "-q", "--no-rebase", "--no-edit", from.to_str().unwrap(), "main"]);
    assert_eq!(moves(&session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}))), [""; 0]);
    let mut other = Session::of(&session.sandbox, session.sandbox.server(), &session.id);
    assert_eq!(moves(&other.ok("tot_propose", json!({"nodes": [node("R2.A3", Some("R1.A"))]}))), [""; 0]);
    assert_eq!(moves(&session.ok("tot_read", json!({"nodeIds": ["R1.A"]}))), [""; 0]);
    // There and back between two calls.
    session.git(&["reset", "-q", "--hard", "HEAD~2"]);
    Session::of(&session.sandbox, session.sandbox.server(), &session.id).ok("tot_status", json!({}));
    session.git(&["reset", "-q", "--hard", "ORIG_HEAD"]);
    nodes(&mut session);
}

#[test]
fn another_branch_is_told_with_the_one_that_still_has_it() {
    let mut session = begun(&Sandbox::new());
    session.git(&["checkout", "-q", "-b", "idea", "HEAD~1"]);
    let told = moves(&session.ok("tot_next", json!({})));
    assert!(told.len() == 1 && told[0].contains("main still has it"), "{told:?}");
    assert_eq!(lost(&session), [""; 0]);
    follow(&session.sandbox, &told[0]);
    nodes(&mut session);
    assert_eq!(session.git(&["rev-parse", "HEAD"]), session.git(&["rev-parse", "main"]));
}

#[test]
fn an_investigation_that_was_not_used_for_long_is_watched_even_when_git_has_collected_its_commits() {
    let mut session = begun(&Sandbox::new());
    for _ in 0..70 {
        session.sandbox.sleep(1);
        session.server.ok("tot_start", json!({"query": "Another one?"}));
    }
    session.git(&["reset", "-q", "--hard", "HEAD~1"]);
    session.git(&["reflog", "expire", "--expire=now", "--all"]);
    session.git(&["gc", "-q", "--prune=now"]);
    let told = moves(&session.ok("tot_status", json!({})));
    assert!(told.len() == 1 && told[0].contains("no longer has"), "{told:?}");
}

#[test]
fn commits_that_were_never_published_are_told_apart_from_lost_ones() {
    let session = begun(&Sandbox::new());
    // The state left by a writer that is killed before it moves the head.
    let message = session.git(&["log", "-1", "--format=%B"]);
    session.git(&["commit-tree", "-p", "HEAD~1", "-m", &message, "HEAD^{tree}"]);
    // Finding a person's own commits is up to them.
    session.write("notes.md", "mine\n");
    session.git(&["add", "notes.md"]);
    session.git(&["stash", "-q"]);
    session.git(&["stash", "drop", "-q"]);
    let found = lost(&session);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("note LOST_COMMITS") && found[0].contains("HEAD never pointed there"),
        "{found:?}"
    );
    // A whole chain is one finding, named by its newest commit.
    session.git(&["reset", "-q", "--hard", "HEAD~3"]);
    assert_eq!(lost(&session).len(), 2);
}
