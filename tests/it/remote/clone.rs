//! `tot clone`: both hub layouts, complete or selected investigations.

use std::fs;

use super::many::{calls, counting};
use super::{Machine, settle, team};
use crate::support::Sandbox;

#[test]
fn a_shallow_source_and_a_shallow_clone_are_taken() {
    let (hub, one, other, id) = team(&Sandbox::new());
    // A shallow clone, made manually, with only the last commit.
    let shallow = Machine::new(&one.sandbox, "shallow");
    fs::create_dir(&shallow.root).unwrap();
    let (url, name) = (format!("file://{}", hub.address), format!("tot/{id}"));
    one.sandbox.git(&shallow.root, &["clone", "-q", "--depth=1", "-b", &name, &url, &id]);
    let third = Machine::new(&one.sandbox, "third");
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
    let (hub, one, _, id) = team(&Sandbox::new());
    one.grow(&id, &["R2.A1"]);
    one.grow(&id, &["R2.A2"]);
    one.synced();
    hub.git(&["config", "uploadpack.allowFilter", "true"]);
    hub.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let partial = Machine::new(&one.sandbox, "partial");
    fs::create_dir(&partial.root).unwrap();
    let (url, name) = (format!("file://{}", hub.address), format!("tot/{id}"));
    let clone = ["clone", "-q", "--filter=blob:none", "--no-checkout", "-b", &name, &url, &id];
    one.sandbox.git(&partial.root, &clone);
    let (path, log) = counting(&one.sandbox);
    let ran = partial.tot_with(&["sync"], &[("PATH", &path)]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(calls(&log, "fetch"), 1);
    let missing = partial.git(&id, &["rev-list", "--objects", "--missing=print", "HEAD"]);
    assert!(!missing.lines().any(|line| line.starts_with('?')), "{missing}");
}
