//! Work that a call must not repeat, and options that the operator may set.

use serde_json::json;
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session};

#[test]
fn what_has_not_changed_is_not_read_again() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let repository = session.repository();
    let store = Store::new(sandbox.root());
    let before = store.load(&repository).unwrap();
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    // If the old node's file were reread, its loss would be reported.
    let blob = sandbox.git(&repository, &["rev-parse", "HEAD:nodes/R1/R1.A.yaml"]);
    let (folder, file) = blob.trim().split_at(2);
    std::fs::remove_file(repository.join(".git/objects").join(folder).join(file)).unwrap();
    let after = store.load(&repository).unwrap();
    assert!(after.faults.is_empty(), "{:?}", after.faults);
    assert_eq!((before.investigation.nodes().count(), after.investigation.nodes().count()), (1, 2));
    assert_eq!(Store::new(sandbox.root()).load(&repository).unwrap().faults.len(), 2, "it and its child");
}

#[test]
fn many_nodes_are_read_as_few_are() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let ids: Vec<String> = (0..150).map(|n| format!("R2.A{n}")).collect();
    let nodes: Vec<(&str, Option<&str>)> = ids.iter().map(|id| (id.as_str(), Some("R1.A"))).collect();
    session.grow(&nodes, "EXPLORE");
    let repository = session.repository();
    let bad = repository.join("nodes/R2/R2.A77.yaml");
    std::fs::write(&bad, "version: 1\nid: R2.A78\n").unwrap();
    sandbox.git(&repository, &["commit", "-qam", "By hand"]);
    let snapshot = Store::new(sandbox.root()).load(&repository).unwrap();
    assert_eq!(snapshot.investigation.nodes().count(), 150);
    let faults: Vec<&str> = snapshot.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(faults, ["nodes/R2/R2.A77.yaml"]);
}

#[test]
fn either_durability_writes_the_same() {
    let sandbox = Sandbox::new();
    let mut heads = Vec::new();
    for arguments in [&[][..], &["--durability", "git"]] {
        let root = sandbox.path(&format!("root{}", arguments.len()));
        let mut server = sandbox.server_in(&root, arguments);
        let start = server.ok("tot_start", json!({"query": "Is it on the disk?", "mode": "smoke"}));
        let repository = root.join(start["sessionId"].as_str().unwrap());
        sandbox.assert_sound(&repository);
        heads.push(sandbox.head(&repository));
    }
    assert_eq!(heads[0], heads[1]);
}
