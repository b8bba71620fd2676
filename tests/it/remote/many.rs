//! A hub of many investigations: what a sync costs there, and that one which fails keeps no other from being done.
//!
//! On 2026-11-22, 200 investigations of one commit in a hub by path, a debug build on 2 busy cores: the
//! first `tot sync`, with 200 pushes, took 12.1 s, one with nothing to do 1.9 s, most of it the start of two git processes
//! for each to read its configuration and references, and `tot clone` of all 13.1 s.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Machine, hub};
use crate::support::Sandbox;
use crate::support::testing::cases;

/// Returns a PATH with a git that logs each call, and the log.
pub fn counting(sandbox: &Sandbox) -> (String, PathBuf) {
    let path = std::env::var("PATH").unwrap();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let (git, log) = (programs.find(|git| git.is_file()).unwrap(), sandbox.path("calls.log"));
    fs::write(&log, "").unwrap();
    let script = format!("echo \"$@\" >> {}\nexec {} \"$@\"", log.display(), git.display());
    let folder = sandbox.script("counting/git", &script).parent().unwrap().to_owned();
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
    let hub = hub(&Sandbox::new());
    let (one, other) = (Machine::new(&hub.sandbox, "one"), Machine::new(&hub.sandbox, "other"));
    let id = one.start();
    let mut server = one.server();
    for _ in 1..many {
        super::start(&hub.sandbox, &mut server);
    }
    drop(server);
    one.ok(&["remote", "add", "origin", &hub.address]);
    one.ok(&["sync"]);
    assert_eq!(hub.refs().len(), many);
    let (path, log) = counting(&hub.sandbox);
    let sync = |machine: &Machine| {
        fs::write(&log, "").unwrap();
        let ran = machine.tot_with(&["sync"], &[("PATH", &path)]);
        assert_eq!(ran.status, 0, "{ran:?}");
        ["ls-remote", "fetch", "push"].map(|subcommand| calls(&log, subcommand))
    };
    assert_eq!(sync(&one), [1, 0, 0], "nothing to do");
    other.ok(&["clone", &hub.address, "-i", &id]);
    other.grow(&id, &["R2.A1"]);
    other.synced();
    assert_eq!(sync(&one), [1, 1, 0], "one came");
    one.grow(&id, &["R2.A2"]);
    assert_eq!(sync(&one), [1, 0, 1], "one went");
    other.grow(&id, &["R2.A3"]);
    assert_eq!(sync(&other), [1, 1, 1], "one came, and went joined");
}
