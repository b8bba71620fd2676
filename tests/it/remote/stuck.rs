//! Situations that locked people out or took their work when they shared, each by its name.

use super::{Machine, branch, settle, team};
use crate::support::Sandbox;

#[test]
fn a_branch_that_is_named_after_another_investigation_is_not_taken_for_its_own() {
    let (hub, one, _, id) = team(&Sandbox::new());
    // Before and after its own branch in any list.
    let strangers = ["00000000-0000-7000-8000-000000000001", "ffffffff-ffff-7fff-bfff-ffffffffffff"];
    for stranger in strangers {
        hub.set_head(stranger, &one.head(&id));
    }
    for number in 0..4 {
        let machine = Machine::new(&one.sandbox, &format!("machine{number}"));
        let told = strangers.map(|stranger| format!("tot/{stranger} contains another investigation, {id}"));
        machine.refuses(&["clone", &hub.address], &told.each_ref().map(String::as_str));
        assert_eq!(machine.git(&id, &["config", "branch.main.merge"]), branch(&id));
        machine.synced();
    }
    // A clone made this way pushes nowhere until a target is set.
    one.git(&id, &["config", "branch.main.merge", &branch(strangers[0])]);
    one.grow(&id, &["R2.A1"]);
    let before = hub.state();
    assert_eq!(one.sync(&["--dry-run"])["error"]["code"], "ANOTHER_BRANCH");
    one.fails("ANOTHER_BRANCH", &[strangers[0], "tot remote add origin"]);
    assert_eq!(hub.state(), before);
    one.ok(&["remote", "add", "origin", &hub.address, "-i", &id]);
    assert_eq!(one.exchanged(), [0, 2]);
    assert_eq!(hub.head(&id), one.head(&id));
}

/// Files that are never checked out, and why.
const STRANGE: [(&str, &str); 3] = [
    ("notes", "a symbolic link"),
    ("large.bin", "17825793 bytes"),
    ("a:b.md", "a name that some systems do not accept"),
];

/// Commits such a file manually.
fn commit_strange(machine: &Machine, id: &str, file: &str) {
    match file {
        "notes" => std::os::unix::fs::symlink("/etc", machine.repository(id).join(file)).unwrap(),
        "large.bin" => machine.write(id, file, &"\0".repeat((17 << 20) + 1)),
        _ => machine.write(id, file, "mine\n"),
    }
    machine.commit_all(id);
}

#[test]
fn a_file_that_nobody_takes_in_is_not_pushed() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let before = hub.state();
    for (file, reason) in STRANGE {
        commit_strange(&one, &id, file);
        one.fails("UNFIT", &[file, reason]);
        assert_eq!(hub.state(), before);
        // The suggestion works: history is not rewritten.
        one.git(&id, &["rm", "--quiet", file]);
        one.commit_all(&id);
    }
    settle(&[&one, &other], &id);
}

#[test]
fn a_file_that_was_pushed_by_hand_locks_nobody_out() {
    let (hub, one, behind, id) = team(&Sandbox::new());
    let [apart, new] = ["apart", "new"].map(|name| Machine::new(&one.sandbox, name));
    apart.ok(&["clone", &hub.address]);
    apart.grow(&id, &["R2.A1"]);
    one.write(&id, "mine.md", "mine\n");
    for (file, _) in STRANGE {
        commit_strange(&one, &id, file);
    }
    one.git(&id, &["push", "--quiet"]);
    // Cloned, fast-forwarded, merged, and from a bundle.
    let mut said = vec![new.ok(&["clone", &hub.address])];
    said.extend([&behind, &apart].map(|machine| machine.synced()["notes"].to_string()));
    let bundle = one.sandbox.path("it.bundle");
    behind.ok(&["export", "-i", &id, "--format", "bundle", "--output", bundle.to_str().unwrap()]);
    said.push(Machine::new(&one.sandbox, "imported").ok(&["import", bundle.to_str().unwrap()]));
    for said in said {
        for (file, reason) in STRANGE {
            assert!(said.contains(file) && said.contains(reason), "{file}: {said}");
        }
    }
    for machine in [&behind, &apart, &new] {
        for (file, _) in STRANGE {
            let is_here = machine.repository(&id).join(file).symlink_metadata().is_ok();
            assert!(!is_here, "{file}");
            machine.git(&id, &["cat-file", "-e", &format!("HEAD:{file}")]);
        }
        assert_eq!(machine.read(&id, "mine.md"), "mine\n");
        machine.assert_sound(&id);
        let checked = machine.tot_check(&id).out;
        assert_eq!(checked.matches("LEFT_OUT").count(), 3, "{checked}");
    }
    // Everyone continues; nothing is lost or reported as new.
    for (number, machine) in [&one, &behind, &apart, &new].into_iter().enumerate() {
        machine.synced();
        machine.grow(&id, &[&format!("R2.A5{number}")]);
        let entry = machine.synced();
        assert!(!entry["notes"].to_string().contains("large.bin"), "{entry:#}");
        assert!(machine.git(&id, &["ls-tree", "HEAD", "notes"]).starts_with("120000"));
    }
    // Corrections arrive, and removals are applied.
    one.synced();
    one.git(&id, &["rm", "--quiet", "notes", "a:b.md"]);
    one.write(&id, "large.bin", "small\n");
    one.commit_all(&id);
    apart.grow(&id, &["R2.A7"]);
    settle(&[&one, &behind, &apart, &new], &id);
    for machine in [&behind, &apart, &new] {
        assert_eq!(machine.read(&id, "large.bin"), "small\n");
    }
}
