//! Known failures of similar programs, each by its name. Those prevented by merging nodes are tested with the merge.

use std::fs;

use super::{Machine, hub, refs, team, two};
use crate::support::Sandbox;

#[test]
fn no_conflict_marker_comes_into_a_record_and_no_record_is_dropped_when_ids_collide() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1", "R2.A2"]);
    other.grow(&id, &["R2.A1", "R2.A3"]);
    one.synced();
    let entry = other.synced();
    assert_eq!(entry["decisions"].as_array().unwrap().len(), 1, "{entry:#}");
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    let repository = one.repository(&id);
    assert_eq!(one.nodes(&id).len(), 5, "R1.A, A1 twice, A2 and A3: {:?}", one.nodes(&id));
    let marked = sandbox.try_git(&repository, &["grep", "-q", "-E", "^(<<<<<<<|=======|>>>>>>>)", "HEAD"]);
    assert_eq!(marked.status.code(), Some(1), "no marker is committed");
    one.assert_sound(&id);
}

#[test]
fn two_clones_have_one_history() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let first =
        |machine: &Machine| sandbox.git(&machine.repository(&id), &["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(first(&one), first(&other));
    // Adding and cloning it again starts nothing new.
    other.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    other.ok(&["clone", hub.to_str().unwrap()]);
    one.grow(&id, &["R2.A1"]);
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn a_push_that_was_not_complete_is_not_told_as_complete() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    // Git itself exits with 0 for a push without refs.
    fs::create_dir_all(hub.join("refs/heads/tot").join(format!("{id}.lock"))).unwrap();
    one.grow(&id, &["R2.A1"]);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    let entry = one.sync(&[]);
    assert!(!entry["error"].is_null() && entry["went"] == 0, "{entry:#}");
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    fs::remove_dir(hub.join("refs/heads/tot").join(format!("{id}.lock"))).unwrap();
    assert_eq!(one.synced()["went"], 2);
}

#[test]
fn files_of_strangers_are_not_swept_up() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    fs::write(repository.join("draft.md"), "mine\n").unwrap();
    fs::write(repository.join("staged.md"), "mine\n").unwrap();
    sandbox.git(&repository, &["add", "staged.md"]);
    let status = sandbox.git(&repository, &["status", "--porcelain"]);
    other.grow(&id, &["R2.A1"]);
    other.synced();
    one.grow(&id, &["R2.A2"]);
    one.synced();
    assert_eq!(sandbox.git(&repository, &["status", "--porcelain"]), status);
    let there = sandbox.git(&hub, &["ls-tree", "-r", "--name-only", &format!("tot/{id}")]);
    assert!(!there.contains("draft.md") && !there.contains("staged.md"), "{there}");
}

#[test]
fn the_last_writer_does_not_win() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    for round in 0..3 {
        one.grow(&id, &[format!("R2.Aone{round}").as_str()]);
        other.grow(&id, &[format!("R2.Aother{round}").as_str()]);
        one.synced();
        other.synced();
    }
    one.synced();
    assert_eq!(one.nodes(&id), other.nodes(&id));
    assert_eq!(one.nodes(&id).len(), 7);
}

#[test]
fn nothing_but_branches_and_tags_is_on_a_remote() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    sandbox.git(&one.repository(&id), &["tag", "ended/1"]);
    one.synced();
    let expected = [format!("refs/heads/tot/{id}"), format!("refs/tags/tot/{id}/ended/1")];
    assert_eq!(refs(&sandbox, &hub), expected);
}

#[test]
fn a_signing_key_that_cannot_be_used_blocks_nothing() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let home = sandbox.path("home");
    for key in ["commit.gpgSign", "tag.gpgSign", "push.gpgSign"] {
        sandbox.git(&home, &["config", "--global", key, "true"]);
    }
    sandbox.git(&home, &["config", "--global", "gpg.program", "/nowhere/gpg"]);
    let (one, other, id) = two(&sandbox, hub.to_str().unwrap());
    one.grow(&id, &["R2.A1"]);
    other.grow(&id, &["R2.A2"]);
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

/// User settings for plain fetches and pushes that would cost commits here.
#[test]
fn settings_that_prune_force_or_push_more_change_nothing() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let home = sandbox.path("home");
    let settings = [
        ("fetch.prune", "true"),
        ("fetch.pruneTags", "true"),
        ("push.followTags", "true"),
        ("push.default", "matching"),
        ("fetch.parallel", "0"),
        ("core.fsmonitor", "/nowhere/monitor"),
        ("pull.rebase", "true"),
        ("merge.ff", "only"),
    ];
    for (key, value) in settings {
        sandbox.git(&home, &["config", "--global", key, value]);
    }
    let (one, other, id) = two(&sandbox, hub.to_str().unwrap());
    let repository = one.repository(&id);
    sandbox.git(&repository, &["branch", "experiment"]);
    sandbox.git(&repository, &["tag", "mine"]);
    sandbox.git(
        &repository,
        &["config", "--replace-all", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"],
    );
    one.grow(&id, &["R2.A1"]);
    other.grow(&id, &["R2.A2"]);
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(sandbox.git(&repository, &["tag"]), "mine\n");
    let branches: Vec<String> =
        refs(&sandbox, &hub).into_iter().filter(|name| name.starts_with("refs/heads/")).collect();
    assert_eq!(branches, [format!("refs/heads/tot/{id}")]);
}
