//! The list of a hub's investigations, for its front page.

use std::thread;

use insta::assert_snapshot;
use serde_json::json;

use super::{Hub, Machine, hub, token};
use crate::support::Sandbox;

/// Two machines with an investigation each, which both sync with the hub.
fn two<'a>(hub: &Hub<'a>) -> [(Machine<'a>, String); 2] {
    ["one", "other"].map(|name| {
        let machine = Machine::new(hub.sandbox, name);
        let id = machine.start();
        machine.ok(&["remote", "add", "origin", &hub.address]);
        (machine, id)
    })
}

fn page(hub: &Hub) -> String {
    hub.git(&["show", "tot-index:README.md"])
}

#[test]
fn a_hub_lists_the_investigations_of_all_machines() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let [(one, first), (other, second)] = two(&hub);
    let end = json!({"sessionId": first, "conclusion": "Air | scatters.\n\nMore.", "stopped": {"reason": "enough"}});
    one.call("tot_end", end);
    for machine in [&one, &other] {
        let said = machine.ok(&["sync", "--index"]);
        assert!(said.contains("is written"), "{said}");
    }
    let said = one.ok(&["sync", "--index"]);
    let last = format!("{}: the list of 2 investigations is up to date\n", hub.address);
    assert!(said.ends_with(&last), "{said}");
    assert_snapshot!(page(&hub).replace(&first, "FIRST").replace(&second, "SECOND"));
    let history = hub.git(&["log", "--format=%s", "tot-index"]);
    assert_eq!(history, "List 2 investigations\nList 1 investigation");
    // Cloning all investigations does not clone the index.
    let third = Machine::new(&sandbox, "third");
    let cloned = third.json(&["clone", &hub.address]);
    assert_eq!(cloned["investigations"].as_array().unwrap().len(), 2);
}

#[test]
fn a_list_that_the_hub_refuses_or_that_has_a_secret_is_told() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let [(one, id), _] = two(&hub);
    one.ok(&["sync"]);
    let hook = hub.hook("echo no lists here; exit 1");
    let ran = one.refuses(&["sync", "--index"], &["the list of", "no lists here"]);
    assert_eq!(ran.out, "1 investigation: 0 synced, 1 up to date, 0 failed\n");
    std::fs::remove_file(hook).unwrap();
    one.ok(&["sync", "--index"]);
    let before = page(&hub);
    let conclusion = format!("With {}.", token());
    one.call("tot_end", json!({"sessionId": id, "conclusion": conclusion, "stopped": {"reason": "enough"}}));
    one.refuses(&["sync", "--index"], &["a GitHub token (README.md of the list"]);
    assert_eq!(page(&hub), before);
}

#[test]
fn two_who_write_the_list_at_once_both_get_through() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machines = two(&hub);
    thread::scope(|scope| {
        for (machine, _) in &machines {
            scope.spawn(|| machine.ok(&["sync", "--index"]));
        }
    });
    machines[0].0.ok(&["sync", "--index"]);
    let page = page(&hub);
    assert!(machines.iter().all(|(_, id)| page.contains(id)), "{page}");
    assert!(page.starts_with("# 2 investigations\n"), "{page}");
}
