//! Transactions: a decision on a state is written on top of that state, by one writer at a time.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use serde_json::json;
use tree_of_thoughts::format::FileChange;
use tree_of_thoughts::store::{Draft, Snapshot, Store, StoreError};

use crate::support::{Sandbox, Session, files};

#[derive(Debug)]
enum Refused {
    ByARule,
    ByTheStore,
}

impl From<StoreError> for Refused {
    fn from(_: StoreError) -> Self {
        Refused::ByTheStore
    }
}

/// Creates a commit of one meaningless file.
fn note(snapshot: &Snapshot) -> Draft {
    Draft {
        files: vec![FileChange { path: "note.md".into(), content: Some("A note.\n".into()) }],
        changes: Vec::new(),
        message: "Note".into(),
        at: snapshot.investigation.meta().started_at,
    }
}

#[test]
fn a_decision_that_is_rejected_or_panics_writes_nothing_and_lets_the_next_writer_in() {
    let mut session = Session::begun(&Sandbox::new());
    let repository = session.repository();
    let store = Store::new(session.sandbox.root());
    let before = files(&repository, true);
    let rejected = store.transact(&repository, |_| Err::<(Vec<Draft>, ()), _>(Refused::ByARule));
    assert!(matches!(rejected, Err(Refused::ByARule)));
    assert_eq!(files(&repository, true), before);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.transact(&repository, |_| -> Result<(Vec<Draft>, ()), Refused> {
            panic!("this panic is part of a test")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(files(&repository, true), before);
    // In this process and in another.
    store.transact(&repository, |before| Ok::<_, Refused>((vec![note(before)], ()))).unwrap();
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    session.assert_sound();
}

#[test]
fn whoever_only_reads_does_not_wait_for_a_writer() {
    let mut session = Session::begun(&Sandbox::new());
    let repository = session.repository();
    let store = &Store::new(session.sandbox.root());
    let (entered, inside) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let path = &repository;
        let writer = scope.spawn(move || {
            store.transact(path, |_| {
                entered.send(()).unwrap();
                let _ = left.recv();
                Ok::<_, Refused>((Vec::new(), ()))
            })
        });
        inside.recv().unwrap();
        // Dropped on any failure from here on, so that the writer ends.
        let leave = leave;
        let snapshot = store.load(path).unwrap();
        assert_eq!(store.history(&snapshot).unwrap().len(), 3);
        store.recover(path).unwrap();
        session.ok("tot_status", json!({}));
        session.ok("tot_next", json!({}));
        drop(leave);
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn whoever_commits_by_git_in_between_is_decided_on() {
    let session = Session::begun(&Sandbox::new());
    let repository = session.repository();
    let store = Store::new(session.sandbox.root());
    let heads = RefCell::new(Vec::new());
    let written = store.transact(&repository, |before| {
        heads.borrow_mut().push(before.head.to_string());
        if heads.borrow().len() == 1 {
            session.git(&["commit", "-q", "--allow-empty", "-m", "By hand"]);
        }
        Ok::<_, Refused>((vec![note(before)], ()))
    });
    let written = written.unwrap();
    let heads = heads.into_inner();
    assert_eq!(heads.len(), 2);
    assert_eq!(session.git(&["rev-parse", "HEAD~1"]).trim(), heads[1]);
    assert_eq!((written.before.head.to_string(), written.after.head.to_string()), {
        (heads[1].clone(), session.head())
    });
    session.assert_sound();
}
