//! Work that a call must not repeat.

use tree_of_thoughts::store::Store;

use super::load;
use crate::support::{Sandbox, Session, short, there};

#[test]
fn what_has_not_changed_is_not_read_again() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let repository = session.repository();
    let store = Store::new(sandbox.root());
    let before = store.load(&repository).unwrap();
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    // If the old node's file were reread, its loss would be reported.
    let blob =
        session.git(&["hash-object", there(&session.repository(), "nodes/R1/R1.A.yaml").to_str().unwrap()]);
    let (folder, file) = blob.trim().split_at(2);
    std::fs::remove_file(repository.join(".git/objects").join(folder).join(file)).unwrap();
    let after = store.load(&repository).unwrap();
    assert!(after.faults.is_empty(), "{:?}", after.faults);
    assert_eq!((before.investigation.nodes().count(), after.investigation.nodes().count()), (1, 2));
    assert_eq!(load(&session).faults.len(), 2, "it and its child");
}

#[test]
fn many_nodes_are_read_as_few_are() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let ids: Vec<String> = (0..150).map(|n| format!("R2.A{n}")).collect();
    let nodes: Vec<(&str, Option<&str>)> = ids.iter().map(|id| (id.as_str(), Some("R1.A"))).collect();
    session.grow(&nodes, "EXPLORE");
    session.edit("nodes/R2/R2.A77.yaml", "version: 2\nid: R2.A78\n");
    let snapshot = load(&session);
    assert_eq!(snapshot.investigation.nodes().count(), 150);
    let faults: Vec<&str> = snapshot.faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(short(&faults.join(" ")), "nodes/R2/R2.A77.yaml");
}
