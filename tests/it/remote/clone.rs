//! `tot clone`: both hub layouts, complete or selected investigations.

use std::fs;

use super::many::{calls, counting};
use super::{Hub, Machine, branch, hub, settle, team};
use crate::support::{Said, Sandbox, TOT_REPORT};

/// Sets a branch of the hub to a commit without files.
fn push_nothing(hub: &Hub, branch: &str) {
    let tree = hub.git(&["hash-object", "-w", "-t", "tree", "/dev/null"]);
    hub.git(&["update-ref", branch, &hub.git(&["commit-tree", &tree, "-m", "Nothing"])]);
}

#[test]
fn a_shallow_source_and_a_shallow_clone_are_taken() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    // A shallow clone, made manually, with only the last commit.
    let shallow = Machine::new(&sandbox, "shallow");
    fs::create_dir(&shallow.root).unwrap();
    let (url, name) = (format!("file://{}", hub.address), format!("tot/{id}"));
    sandbox.git(&shallow.root, &["clone", "-q", "--depth=1", "-b", &name, &url, &id]);
    let third = Machine::new(&sandbox, "third");
    third.ok(&["clone", &format!("file://{}", shallow.repository(&id).display())]);
    assert_eq!(third.head(&id), one.head(&id));
    // Others' work is merged with the work in the shallow clone.
    other.grow(&id, &["R2.A1"]);
    other.synced();
    shallow.grow(&id, &["R2.A2"]);
    shallow.synced();
    assert_eq!(shallow.nodes(&id), ["R1.A", "R2.A1", "R2.A2"]);
    settle(&[&one, &shallow], &id);
}

#[test]
fn objects_that_a_partial_clone_lacks_are_fetched_in_one_go() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    one.grow(&id, &["R2.A2"]);
    one.synced();
    hub.git(&["config", "uploadpack.allowFilter", "true"]);
    hub.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let partial = Machine::new(&sandbox, "partial");
    fs::create_dir(&partial.root).unwrap();
    let (url, name) = (format!("file://{}", hub.address), format!("tot/{id}"));
    let clone = ["clone", "-q", "--filter=blob:none", "--no-checkout", "-b", &name, &url, &id];
    sandbox.git(&partial.root, &clone);
    let (path, log) = counting(&sandbox);
    let ran = partial.tot_with(&["sync"], &[("PATH", &path)]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(calls(&log, "fetch"), 1);
    let missing = partial.git(&id, &["rev-list", "--objects", "--missing=print", "HEAD"]);
    assert!(!missing.lines().any(|line| line.starts_with('?')), "{missing}");
}

#[test]
fn a_report_is_made_of_a_hub_without_a_clone() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let one = Machine::new(&sandbox, "one");
    let ids = [one.start(), one.start()];
    one.ok(&["remote", "add", "origin", &hub.address]);
    one.ok(&["sync"]);
    let own = sandbox.path("tmp");
    fs::create_dir(&own).unwrap();
    let report = |arguments: &[&str], status: i32| {
        let mut command = sandbox.command(TOT_REPORT);
        command.args(arguments).env("TMPDIR", &own).stdin(std::process::Stdio::null());
        let ran = Said::from(command.output().unwrap());
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0, "no clone is left: {ran:?}");
        assert_eq!(ran.status, status, "{ran:?}");
        ran
    };
    let of_hub = ["--hub", &hub.address, "--out", "site"];
    report(&of_hub, 0);
    // As made from somebody's clones.
    report(&[one.root.to_str().unwrap(), "--out", "other"], 0);
    for id in &ids {
        for page in ["index.html", "nodes/R1.A.html", "history.html"] {
            let of = |site: &str| fs::read(sandbox.path(site).join(id).join(page)).unwrap();
            assert_eq!(of("site"), of("other"), "{page}");
        }
    }
    // Only investigations pushed since then are updated.
    one.grow(&ids[0], &["R2.A1"]);
    one.ok(&["sync"]);
    let again = report(&of_hub, 0);
    assert!(again.out.starts_with("2 investigations, 1 unchanged: "), "{again:?}");
    assert!(sandbox.path("site").join(&ids[0]).join("nodes/R2.A1.html").exists());
    // A branch that is not an investigation does not affect the others.
    let stranger = "019ab2c4-0000-7000-8000-000000000001";
    push_nothing(&hub, &branch(stranger));
    let ran = report(&of_hub, 0);
    assert!(ran.err.contains(&format!("left out tot/{stranger}")), "{ran:?}");
    let index = fs::read_to_string(sandbox.path("site/index.html")).unwrap();
    assert!(index.contains(stranger) && !index.contains(own.to_str().unwrap()), "{index}");
    report(&["--hub", "nowhere.git", "--out", "site"], 1);
    assert!(sandbox.path("site/index.html").exists());
}
