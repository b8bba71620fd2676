//! What counts as changed by hand in histories that people have changed with git.

use std::collections::BTreeSet;

use serde_json::json;
use tree_of_thoughts::format::layout::{self, FileRole};

use super::{fed, load};
use crate::support::{Sandbox, Session, node, result, there};

/// For each case, the nodes changed by hand, and the commands: of git, or `EDIT` for a node's findings; `_` is a space. The last commits are: propose R2.A1 and R2.A2, a result for each, and R2.A1 is given
/// up.
const CASES: &str = include_str!("checksums.txt");

#[test]
fn a_checksum_tells_what_is_as_made_from_what_is_not() {
    let mut session = Session::begun(&Sandbox::new());
    let nodes = ["R2.A1", "R2.A2"];
    session.ok("tot_propose", json!({"nodes": nodes.map(|id| node(id, Some("R1.A")))}));
    for id in nodes {
        session.sandbox.sleep(60);
        session.ok("tot_commit", json!({"results": [result(id, "EXPLORE")]}));
    }
    session.sandbox.sleep(60);
    session
        .ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "It does not hold."}));
    session.git(&["branch", "all"]);
    // A result left out, and its commit as one more parent.
    session.git(&["reset", "-q", "--hard", "all~2"]);
    session.git(&["cherry-pick", "all"]);
    let left_out = format!("\nparent {}author", session.git(&["rev-parse", "all~1"]));
    for (branch, author) in [("grafted", &*left_out), ("unreadable", "\nwriter")] {
        let commit = session.git(&["cat-file", "commit", "HEAD"]).replacen("\nauthor", author, 1);
        let id = fed(&session, &["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], commit);
        session.git(&["branch", branch, &id]);
    }
    // The merge driver would not follow `-X`.
    session.git(&["config", "--remove-section", "merge.tot"]);
    for case in CASES.lines() {
        let [name, by_hand, commands] = case.split(" | ").collect::<Vec<_>>()[..] else { panic!("{case}") };
        assert_eq!(told(&session, commands), by_hand, "{name}");
    }
    session.git(&["reset", "-q", "--hard", "unreadable"]);
    assert_eq!(load(&session).investigation.by_hand().confirmed_before.len(), 3, "each node");
    session.git(&["reset", "-q", "--hard", "all"]);
    session.edit(
        "nodes/R2/R2.A2.yaml",
        &session.text("nodes/R2/R2.A2.yaml").replace("Findings of", "Never mind"),
    );
    session.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", session.repository().display());
    for (part, number, reason) in [
        ("--depth=2", 1, "unchecked"),
        ("--depth=1", 0, "unchecked"),
        ("--filter=blob:none", 1, "no confirmation counts"),
    ] {
        let clone = session.sandbox.path(part);
        session.sandbox.git(&session.sandbox.root(), &["clone", "-q", part, &from, clone.to_str().unwrap()]);
        let held = super::store(&session);
        let snapshot = held.load(&clone).unwrap();
        assert_eq!(snapshot.edits.len(), number, "what is unchecked is not called edited");
        assert!(snapshot.faults.iter().any(|fault| fault.reason.contains(reason)), "{:?}", snapshot.faults);
        if reason == "unchecked" {
            session.sandbox.git(&clone, &["fetch", "-q", "--unshallow"]);
            let [held, whole] = [held.load(&clone), Ok(load(&session))].map(|it| it.unwrap().investigation);
            assert_eq!(held.by_hand(), whole.by_hand(), "{part}");
        }
    }
}

/// Returns the nodes that were changed by hand. A server that was there before says the same as a new one.
fn told(session: &Session, commands: &str) -> String {
    session.git(&["reset", "-q", "--hard", "all"]);
    let held = super::store(session);
    for command in commands.split(';').map(str::trim).filter(|command| !command.is_empty()) {
        let words: Vec<String> = command.split(' ').map(|word| word.replace('_', " ")).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["EDIT", id] => {
                let path = format!("nodes/R2/{id}.yaml");
                session.write(&path, &session.text(&path).replace("Findings of", "Never mind"));
            }
            git => {
                let there = |word: &&str| match word.strip_prefix("nodes/") {
                    Some(_) => there(&session.repository(), word).to_str().unwrap().to_owned(),
                    None => (*word).to_owned(),
                };
                let words: Vec<String> = git.iter().map(there).collect();
                session.git(&words.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
        held.load(&session.repository()).unwrap();
    }
    let snapshot = load(session);
    let id = |path: &String| match layout::file_role(path) {
        FileRole::Node(id) => id.to_string(),
        _ => path.clone(),
    };
    let found = snapshot.investigation.by_hand();
    assert_eq!(held.load(&session.repository()).unwrap().investigation.by_hand(), found);
    let nodes = found.edits.keys().map(id).chain(found.nodes.iter().map(ToString::to_string));
    nodes.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}
