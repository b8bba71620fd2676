//! The output of the commands at terminals of any width.

use insta::assert_snapshot;
use serde_json::json;

use super::{Machine, hub};
use crate::support::{Sandbox, node};

/// A transcript of commands on two machines, with names in place of ids, commits and folders.
struct Transcript<'a> {
    text: String,
    names: Vec<(String, &'a str)>,
}

impl Transcript<'_> {
    fn run(&mut self, machine: &Machine<'_>, arguments: &[&str]) {
        let ran = machine.tot(arguments);
        let mut said = format!("$ tot {}\n{}{}", arguments.join(" "), ran.out, ran.err);
        if ran.status != 0 {
            said.push_str(&format!("(status {})\n", ran.status));
        }
        self.text.push_str(&said);
    }

    fn named(self) -> String {
        self.names.iter().fold(self.text, |text, (from, to)| text.replace(from, to))
    }
}

#[test]
fn a_team_of_two_from_the_first_sync_to_a_merge() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let id = one.start();
    let address = hub.to_str().unwrap().to_owned();
    let mut transcript =
        Transcript { text: String::new(), names: vec![(address.clone(), "HUB"), (id.clone(), "ID")] };
    transcript.run(&one, &["remote"]);
    transcript.run(&one, &["sync"]);
    transcript.run(&one, &["remote", "add", "origin", &address]);
    transcript.run(&one, &["sync", "--dry-run"]);
    transcript.run(&one, &["sync"]);
    transcript.run(&one, &["sync"]);
    transcript.run(&other, &["clone", &address]);
    transcript.run(&other, &["clone", &address]);
    transcript.run(&other, &["remote"]);
    for (machine, title) in [(&one, "One way"), (&other, "Another way")] {
        let mut new = node("R2.A1", Some("R1.A"));
        new["title"] = json!(title);
        machine.server().ok("tot_propose", json!({"sessionId": id, "nodes": [new]}));
        sandbox.sleep(60);
    }
    transcript.run(&other, &["sync"]);
    transcript.run(&one, &["sync"]);
    let merge = one.head(&id);
    transcript.run(&one, &["claim", "R2.A1", "--as", "ada", "--for", "0"]);
    transcript.run(&one, &["release", "R2.A1"]);
    transcript.run(&one, &["sync", "nothing"]);
    transcript.run(&one, &["clone", "/nowhere.git"]);
    for (folder, name) in [(&one.root, "ONE"), (&other.root, "OTHER")] {
        transcript.names.push((folder.to_str().unwrap().to_owned(), name));
    }
    transcript.names.push((merge[..10].to_owned(), "MERGE"));
    assert_snapshot!(transcript.named());
}
