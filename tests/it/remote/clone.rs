//! `tot clone`: both hub layouts, complete or selected investigations.

use std::fs;

use serde_json::Value;

use super::{Machine, Ran, hub, refs, team};
use crate::support::{Sandbox, TOT_REPORT};

#[test]
fn a_hub_is_cloned_whole_or_in_parts_and_again_without_harm() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let mut ids = [one.start(), one.start(), one.start()];
    ids.sort();
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.ok(&["sync"]);
    // The project's own branch next to the investigations.
    sandbox.git(&one.repository(&ids[0]), &["push", "-q", "origin", "HEAD:refs/heads/main"]);
    other.ok(&["clone", hub.to_str().unwrap(), &ids[1][24..]]);
    assert_eq!(fs::read_dir(&other.root).unwrap().flatten().filter(|it| it.path().is_dir()).count(), 1);
    let document: Value =
        serde_json::from_str(&other.ok(&["clone", "--json", hub.to_str().unwrap()])).unwrap();
    let present: Vec<bool> = document["investigations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["present"].as_bool().unwrap())
        .collect();
    assert_eq!(present, [false, true, false]);
    for id in &ids {
        assert_eq!(one.head(id), other.head(id));
        other.assert_sound(id);
        assert_eq!(refs(&sandbox, &other.repository(id)), ["refs/heads/main", "refs/remotes/origin/main"]);
    }
    let unknown = other.tot(&["clone", hub.to_str().unwrap(), "ffff"]);
    assert!(unknown.status == 1 && unknown.err.contains("has no investigation ffff"), "{unknown:?}");
    // No temporary clone is left behind.
    let hidden = fs::read_dir(&other.root)
        .unwrap()
        .flatten()
        .filter(|it| it.file_name().to_string_lossy().starts_with(".tmp"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn what_is_no_investigation_is_not_cloned() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let empty = machine.tot(&["clone", hub.to_str().unwrap()]);
    assert!(empty.status == 1 && empty.err.contains("has no investigation"), "{empty:?}");
    let work = sandbox.path("work");
    sandbox.git(&sandbox.path("home"), &["clone", "-q", hub.to_str().unwrap(), work.to_str().unwrap()]);
    sandbox.git(&work, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    sandbox.git(&work, &["push", "-q", "origin", "HEAD:main"]);
    let other = machine.tot(&["clone", hub.to_str().unwrap()]);
    assert!(other.status == 1 && other.err.contains("not an investigation"), "{other:?}");
    assert_eq!(fs::read_dir(&machine.root).unwrap().flatten().filter(|it| it.path().is_dir()).count(), 0);
}

#[test]
fn a_shallow_source_and_a_shallow_clone_are_taken() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    // A shallow clone, made manually, with only the last commit.
    let shallow = Machine::new(&sandbox, "shallow");
    fs::create_dir(&shallow.root).unwrap();
    let url = format!("file://{}", hub.display());
    let folder = shallow.repository(&id);
    let branch = format!("tot/{id}");
    sandbox.git(&shallow.root, &["clone", "-q", "--depth=1", "-b", &branch, &url, folder.to_str().unwrap()]);
    let third = Machine::new(&sandbox, "third");
    third.ok(&["clone", &format!("file://{}", folder.display())]);
    assert_eq!(third.head(&id), one.head(&id));
    // Others' work is merged with the work in the shallow clone.
    other.grow(&id, &["R2.A1"]);
    other.synced();
    shallow.grow(&id, &["R2.A2"]);
    shallow.synced();
    assert_eq!(shallow.nodes(&id), ["R1.A", "R2.A1", "R2.A2"]);
    one.synced();
    assert_eq!(one.head(&id), shallow.head(&id));
    shallow.assert_sound(&id);
}

#[test]
fn objects_that_a_partial_clone_lacks_are_fetched_in_one_go() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    one.grow(&id, &["R2.A2"]);
    one.synced();
    sandbox.git(&hub, &["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(&hub, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let partial = Machine::new(&sandbox, "partial");
    fs::create_dir(&partial.root).unwrap();
    let url = format!("file://{}", hub.display());
    let folder = partial.repository(&id);
    let branch = format!("tot/{id}");
    let folder = folder.to_str().unwrap();
    sandbox.git(
        &partial.root,
        &["clone", "-q", "--filter=blob:none", "--no-checkout", "-b", &branch, &url, folder],
    );
    let (path, log) = super::many::counting(&sandbox);
    let ran = partial.tot_with(&["sync"], &[("PATH", &path)]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(super::many::calls(&log, "fetch"), 1);
    let missing =
        sandbox.git(&partial.repository(&id), &["rev-list", "--objects", "--missing=print", "HEAD"]);
    assert!(!missing.lines().any(|line| line.starts_with('?')), "{missing}");
}

#[test]
fn a_report_is_made_of_a_hub_without_a_clone() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let one = Machine::new(&sandbox, "one");
    let ids = [one.start(), one.start()];
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.ok(&["sync"]);
    let own = sandbox.path("tmp");
    fs::create_dir(&own).unwrap();
    let report = |arguments: &[&str]| {
        let mut command = sandbox.command(TOT_REPORT);
        command.args(arguments).env("TMPDIR", &own).stdin(std::process::Stdio::null());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0, "no clone is left: {ran:?}");
        ran
    };
    let address = hub.to_str().unwrap();
    let ran = report(&["--hub", address, "--out", "site"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    // As made from somebody's clones.
    let folders = report(&[one.root.to_str().unwrap(), "--out", "other"]);
    assert_eq!(folders.status, 0, "{folders:?}");
    for id in &ids {
        for page in ["index.html", "nodes/R1.A.html", "history.html"] {
            let of = |site: &str| fs::read(sandbox.path(site).join(id).join(page)).unwrap();
            assert_eq!(of("site"), of("other"), "{page}");
        }
    }
    // Only investigations pushed since then are updated.
    one.grow(&ids[0], &["R2.A1"]);
    one.ok(&["sync"]);
    let again = report(&["--hub", address, "--out", "site"]);
    assert!(again.out.starts_with("2 investigations, 1 unchanged: "), "{again:?}");
    assert!(sandbox.path("site").join(&ids[0]).join("nodes/R2.A1.html").exists());

    // A branch that is not an investigation does not affect the others.
    let stranger = "019ab2c4-0000-7000-8000-000000000001";
    let work = one.repository(&ids[0]);
    sandbox.git(&work, &["checkout", "-q", "--orphan", "other"]);
    sandbox.git(&work, &["rm", "-qrf", "."]);
    sandbox.git(&work, &["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    sandbox.git(&work, &["push", "-q", "origin", &format!("HEAD:refs/heads/tot/{stranger}")]);
    let ran = report(&["--hub", address, "--out", "site"]);
    assert!(ran.status == 0 && ran.err.contains(&format!("left out tot/{stranger}")), "{ran:?}");
    let index = fs::read_to_string(sandbox.path("site/index.html")).unwrap();
    assert!(index.contains(stranger) && !index.contains(own.to_str().unwrap()), "{index}");

    let ran = report(&["--hub", "nowhere.git", "--out", "site"]);
    assert!(ran.status == 1 && sandbox.path("site/index.html").exists(), "{ran:?}");
}
