//! The list of a hub's investigations, for its front page.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use insta::assert_snapshot;
use serde_json::json;

use super::{Machine, hub};
use crate::support::Sandbox;

fn page(sandbox: &Sandbox, hub: &Path) -> String {
    sandbox.git(hub, &["show", "tot-index:README.md"])
}

#[test]
fn a_hub_lists_the_investigations_of_all_machines() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let address = hub.to_str().unwrap();
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let (first, second) = (one.start(), other.start());
    let end = json!({"sessionId": first, "conclusion": "Air | scatters.\n\nMore.", "stopped": {"reason": "enough"}});
    one.server().ok("tot_end", end);
    for machine in [&one, &other] {
        machine.ok(&["remote", "add", "origin", address]);
        let said = machine.ok(&["sync", "--index"]);
        assert!(said.contains("is written"), "{said}");
    }
    let said = one.ok(&["sync", "--index"]);
    assert!(said.ends_with(&format!("{address}: the list of 2 investigations is up to date\n")), "{said}");
    assert_snapshot!(page(&sandbox, &hub).replace(&first, "FIRST").replace(&second, "SECOND"));
    assert_eq!(
        sandbox.git(&hub, &["log", "--format=%s", "tot-index"]),
        "List 2 investigations\nList 1 investigation\n"
    );
    // Cloning all investigations does not clone the index.
    let third = Machine::new(&sandbox, "third");
    third.ok(&["clone", address]);
    assert_eq!(
        std::fs::read_dir(&third.root)
            .unwrap()
            .filter(|entry| { !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.') })
            .count(),
        2
    );
}

#[test]
fn the_list_tells_no_secret_that_was_not_pushed() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.ok(&["sync", "--index"]);
    let before = page(&sandbox, &hub);
    let secret = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let end =
        json!({"sessionId": id, "conclusion": format!("With {secret}."), "stopped": {"reason": "enough"}});
    one.server().ok("tot_end", end);
    let ran = one.tot(&["sync", "--index"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.err.contains("a GitHub token (README.md of the list") && !ran.err.contains(&secret),
        "{ran:?}"
    );
    assert_eq!(page(&sandbox, &hub), before);
}

#[test]
fn a_list_that_the_hub_refuses_is_told_and_the_investigations_are_synced_all_the_same() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let one = Machine::new(&sandbox, "one");
    one.start();
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.ok(&["sync"]);
    let hook = hub.join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho no lists here; exit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = one.tot(&["sync", "--index"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ran.out, "1 investigation: 0 synced, 1 up to date, 0 failed\n");
    assert!(ran.err.contains("the list of") && ran.err.contains("no lists here"), "{ran:?}");
}

#[test]
fn two_who_write_the_list_at_once_both_get_through() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machines = [Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other")];
    let ids: Vec<String> = machines.iter().map(Machine::start).collect();
    for machine in &machines {
        machine.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    }
    thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| machine.ok(&["sync", "--index"]));
        }
    });
    machines[0].ok(&["sync", "--index"]);
    let page = page(&sandbox, &hub);
    assert!(ids.iter().all(|id| page.contains(id)), "{page}");
    assert!(page.starts_with("# 2 investigations\n"), "{page}");
}
