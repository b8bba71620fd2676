//! What the checksums say of histories that people have changed with git, beside what the history says today.

use std::collections::BTreeSet;

use serde_json::json;
use tree_of_thoughts::format::layout::{self, FileRole};
use tree_of_thoughts::store::Checksum;

use super::{load, store};
use crate::support::{Sandbox, Session, node, result};

/// For each case, the nodes changed by hand as judged today and by the checksums, and the checksums that are not valid. Where
/// the two differ the checksum is right: the commit is not as `tot` made it, and today only times, nodes and tools are compared.
/// Then the commands: of git, or `EDIT` for a node's findings; `_` is a space. The last commits are: propose R2.A1 and R2.A2, a
/// result for each, and R2.A1 is given up.
const CASES: &str = include_str!("checksums.txt");

#[test]
fn a_checksum_tells_what_is_as_made_from_what_is_not() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let nodes = ["R2.A1", "R2.A2"];
    session.ok("tot_propose", json!({"nodes": nodes.map(|id| node(id, Some("R1.A")))}));
    for id in nodes {
        sandbox.sleep(60);
        session.ok("tot_commit", json!({"results": [result(id, "EXPLORE")]}));
    }
    sandbox.sleep(60);
    session
        .ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "It does not hold."}));
    session.git(&["branch", "all"]);
    for case in CASES.lines() {
        let [name, today, by_hand, checksums, commands] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        assert_eq!(told(&session, commands), [today, by_hand, checksums], "{name}");
    }
    let shallow = sandbox.path("shallow");
    let from = format!("file://{}", session.repository().display());
    sandbox.git(&sandbox.root(), &["clone", "-q", "--depth=2", &from, shallow.to_str().unwrap()]);
    let checked = store(&session).checksums(&shallow, sandbox.head(&shallow).parse().unwrap()).unwrap();
    assert_eq!(
        checked.iter().map(|it| it.checksum).collect::<Vec<_>>(),
        [Checksum::Missing, Checksum::Unchecked, Checksum::Unchecked]
    );
}

/// Returns the nodes that were changed by hand, as judged today and by the checksums, and the checksums that are not valid.
fn told(session: &Session, commands: &str) -> [String; 3] {
    session.git(&["reset", "-q", "--hard", "all"]);
    for command in commands.split(';').map(str::trim).filter(|command| !command.is_empty()) {
        let words: Vec<String> = command.split(' ').map(|word| word.replace('_', " ")).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["EDIT", id] => {
                let path = layout::node(&id.parse().unwrap());
                session.write(&path, &session.text(&path).replace("Findings of", "Never mind"));
            }
            git => drop(session.git(git)),
        }
    }
    let snapshot = load(session);
    let id = |path: &String| match layout::file_role(path) {
        FileRole::Node(id) => id.to_string(),
        _ => path.clone(),
    };
    let found = snapshot.investigation.by_hand();
    let today: BTreeSet<String> =
        found.edits.keys().map(id).chain(found.nodes.iter().map(ToString::to_string)).collect();
    let checked = store(session).checksums(&session.repository(), snapshot.head).unwrap();
    let ours: BTreeSet<String> = checked.iter().flat_map(|it| it.by_hand.iter().map(id)).collect();
    let states = checked.iter().map(|it| it.checksum).filter(|it| *it != Checksum::Valid);
    let mut states: Vec<String> = states.map(|it| format!("{it:?}")).collect();
    states.dedup();
    let [today, ours] = [today, ours].map(|nodes| nodes.into_iter().collect::<Vec<_>>().join(" "));
    [today, ours, states.join(" ")]
}
