//! The store, and what people find in it.

mod checksums;
mod clones;
mod cost;
mod durable;
mod faulty;
mod hands;
pub mod history;
mod join;
mod list;
mod moved;
mod readme;
mod runs;
mod strangers;
mod transact;

use std::io::Write;
use std::process::Stdio;

use tree_of_thoughts::store::git::CommitId;
use tree_of_thoughts::store::{Joined, Snapshot, Store};

use crate::support::{Session, TOT};

fn store(session: &Session) -> Store {
    Store::new(&session.root)
}

fn load(session: &Session) -> Snapshot {
    store(session).load(&session.repository()).unwrap()
}

/// Runs git with this input, and returns its output.
fn fed(session: &Session, arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let mut command = session.sandbox.command("git");
    command.arg("-C").arg(session.repository()).args(arguments);
    let mut git = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(input.as_ref()).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Fetches the other's commits, and returns its head.
fn fetch(to: &Session, from: &Session) -> CommitId {
    to.git(&["fetch", "--quiet", from.repository().to_str().unwrap(), "main"]);
    from.head().parse().unwrap()
}

/// Merges the other's work node by node.
fn join(to: &Session, from: &Session) -> Joined {
    let joined = store(to).join(&to.repository(), fetch(to, from)).unwrap();
    to.assert_sound();
    joined
}

/// Merges the other's work with git, and resolves its conflicts.
fn resolved(to: &Session, from: &Session) {
    let theirs = fetch(to, from).to_string();
    let merge = to.sandbox.try_git(&to.repository(), &["merge", "--quiet", &theirs]);
    assert!(!merge.status.success(), "{merge:?}");
    let resolve = ["merge", "--resolve", "--root", to.root.to_str().unwrap()];
    let ran = to.sandbox.command(TOT).args(resolve).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}
