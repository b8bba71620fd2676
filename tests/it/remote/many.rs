//! A hub of many investigations: what a sync costs there, and that one which fails keeps no other from being done.
//!
//! On 2026-11-22, 200 investigations of one commit in a hub by path, a debug build on 2 busy cores: the
//! first `tot sync`, with 200 pushes, took 12.1 s, one with nothing to do 1.9 s, most of it the start of two git processes
//! for each to read its configuration and references, and `tot clone` of all 13.1 s.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Machine, hub, refs};
use crate::support::Sandbox;
use crate::support::testing::cases;

/// Returns a PATH with a git that logs each call.
pub fn counting(sandbox: &Sandbox) -> (String, PathBuf) {
    let path = std::env::var("PATH").unwrap();
    let git =
        std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let (folder, log) = (sandbox.path("counting"), sandbox.path("calls.log"));
    fs::create_dir_all(&folder).unwrap();
    let script = format!("#!/bin/sh\necho \"$@\" >> {}\nexec {} \"$@\"\n", log.display(), git.display());
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&log, "").unwrap();
    (format!("{}:{path}", folder.display()), log)
}

/// Returns the number of calls of this subcommand.
pub fn calls(log: &Path, subcommand: &str) -> usize {
    let is_it = |line: &&str| line.split(' ').any(|word| word == subcommand);
    fs::read_to_string(log).unwrap().lines().filter(is_it).count()
}

#[test]
fn two_hundred_investigations_in_a_hub_cost_one_question() {
    let many = cases(200) as usize;
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let id = one.start();
    let mut server = one.server();
    for _ in 1..many {
        sandbox.sleep(1);
        server.ok("tot_start", serde_json::json!({"query": "Why is the sky blue?", "mode": "smoke"}));
    }
    drop(server);
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.ok(&["sync"]);
    assert_eq!(refs(&sandbox, &hub).len(), many);
    let (path, log) = counting(&sandbox);
    let sync = |machine: &Machine| {
        fs::write(&log, "").unwrap();
        let ran = machine.tot_with(&["sync"], &[("PATH", &path)]);
        assert_eq!(ran.status, 0, "{ran:?}");
        ["ls-remote", "fetch", "push"].map(|subcommand| calls(&log, subcommand))
    };
    assert_eq!(sync(&one), [1, 0, 0], "nothing to do");
    other.ok(&["clone", hub.to_str().unwrap(), &id]);
    other.grow(&id, &["R2.A1"]);
    other.synced();
    assert_eq!(sync(&one), [1, 1, 0], "one came");
    one.grow(&id, &["R2.A2"]);
    assert_eq!(sync(&one), [1, 0, 1], "one went");
    other.grow(&id, &["R2.A3"]);
    assert_eq!(sync(&other), [1, 1, 1], "one came, and went joined");
}

#[test]
fn one_that_fails_keeps_no_other_from_being_synced() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let ids = [machine.start(), machine.start(), machine.start()];
    machine.ok(&["remote", "add", "origin", hub.to_str().unwrap(), &ids[0], &ids[2]]);
    machine.ok(&["remote", "add", "origin", "/nowhere/at/all.git", &ids[1]]);
    let ran = machine.tot(&["sync"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains(&ids[1]) && ran.err.contains("/nowhere/at/all.git"), "{ran:?}");
    assert!(ran.out.ends_with("3 investigations: 2 synced, 0 up to date, 1 failed\n"), "{ran:?}");
    assert_eq!(refs(&sandbox, &hub).len(), 2);
    // An investigation without a remote is reported only if it was named.
    let lonely = machine.start();
    assert_eq!(machine.tot(&["sync"]).status, 1);
    let asked = machine.tot(&["sync", &lonely]);
    assert!(asked.status == 1 && asked.err.contains("tot remote add"), "{asked:?}");
}

#[test]
fn new_investigations_go_where_the_configuration_says() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let project = sandbox.path("project");
    sandbox.git(&sandbox.path("home"), &["init", "-q", project.to_str().unwrap()]);
    let machine = Machine::new(&sandbox, "project/investigations");
    let said = machine.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    assert!(said.contains("New investigations too"), "{said}");
    let id = machine.start();
    machine.ok(&["sync"]);
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{id}")]);
    assert_eq!(sandbox.git(&project, &["status", "--porcelain"]), "");
}

#[test]
fn inside_of_an_investigation_it_is_the_one_that_is_meant() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let ids = [machine.start(), machine.start()];
    machine.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    let inside = |arguments: &[&str]| {
        let folder = machine.repository(&ids[1]).join("nodes");
        let output =
            sandbox.command(crate::support::TOT).args(arguments).current_dir(folder).output().unwrap();
        super::Ran::from(output)
    };
    let ran = inside(&["sync", "--json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((document["investigations"].as_array().unwrap().len(), ran.status), (1, 0), "{ran:?}");
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{}", ids[1])]);
}
