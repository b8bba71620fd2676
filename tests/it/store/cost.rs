//! Work that a call must not repeat.

use tree_of_thoughts::store::Store;

use super::load;
use crate::support::{Sandbox, Session, there};

#[test]
fn what_has_not_changed_is_not_read_again() {
    let mut session = Session::begun(&Sandbox::new());
    let repository = session.repository();
    let store = Store::new(session.sandbox.root());
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
