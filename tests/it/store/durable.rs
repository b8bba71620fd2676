//! What `--durability` promises, as seen by the system: when a call is acknowledged, everything it wrote is on disk.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use serde_json::json;

use crate::support::{Sandbox, Session, TOT_MCP};

/// The traced system calls: writes to files, renames, syncs, and replies.
const CALLS: &str = "trace=write,writev,pwrite64,rename,renameat,renameat2,fsync,fdatasync,syncfs";

/// Returns a trace's calls in the order in which they returned. Two-part entries, which occur if another thread makes a
/// call in between, are joined.
fn calls(trace: &str) -> Vec<String> {
    let mut begun = HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            begun.insert(thread, start);
        } else if let Some((_, end)) =
            call.strip_prefix("<... ").and_then(|call| call.split_once(" resumed>"))
        {
            calls.extend(begun.remove(thread).map(|start| format!("{start}{end}")));
        } else {
            calls.push(call.to_owned());
        }
    }
    calls
}

/// Returns the paths that were written or renamed but not synced before a reply, by reply.
fn unsynced_at_answers(trace: &str, root: &str) -> Vec<BTreeSet<String>> {
    let mut dirty = BTreeSet::new();
    let mut answers = Vec::new();
    for call in calls(trace) {
        let call = call.as_str();
        let path = || call.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(path, _)| path);
        let succeeded = call.rsplit_once("= ").is_some_and(|(_, status)| !status.starts_with('-'));
        match call.split_once('(').map_or("", |(name, _)| name) {
            "write" | "writev" | "pwrite64" if is_answer(call) => answers.push(dirty.clone()),
            "write" | "writev" | "pwrite64" => {
                dirty.extend(path().filter(|path| path.starts_with(root)).map(str::to_owned));
            }
            "rename" | "renameat" | "renameat2" if succeeded => {
                let paths: Vec<&str> = call.split('"').skip(1).step_by(2).collect();
                // Content written under the old name is now under the new name, which must be synced as well.
                if let [from, to] = paths[..] {
                    dirty.remove(from);
                    dirty.extend(Some(to).filter(|to| to.starts_with(root)).map(str::to_owned));
                }
            }
            "syncfs" if succeeded => dirty.clear(),
            "fsync" | "fdatasync" if succeeded => {
                if let Some(path) = path() {
                    // Syncing a folder makes the names in it durable.
                    dirty.retain(|dirty| dirty != path && !dirty.starts_with(&format!("{path}/")));
                }
            }
            _ => {}
        }
    }
    answers
}

/// Returns whether this call sends a tool's reply.
fn is_answer(call: &str) -> bool {
    ["<pipe:", "jsonrpc", "status"].iter().all(|part| call.contains(part))
}

/// Makes five calls, one of every kind that writes, with these arguments of the server. Returns the head, and the
/// server's trace if strace is installed.
fn trace(sandbox: &Sandbox, arguments: &[&str]) -> (String, Option<String>) {
    let file = sandbox.path("trace");
    let is_traced = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    let mut command = sandbox.command(if is_traced { "strace" } else { TOT_MCP });
    if is_traced {
        command.args(["-f", "-y", "-s", "200", "-e", CALLS, "-o"]).arg(&file).arg(TOT_MCP);
    }
    command.args(arguments);
    let mut session = Session::start_with(sandbox, sandbox.serve(command), json!({"mode": "smoke"}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let head = session.head();
    session.assert_sound();
    session.server.finish();
    (head, is_traced.then(|| std::fs::read_to_string(file).unwrap()))
}

#[test]
fn an_answer_waits_for_the_disk_unless_git_does_not() {
    let mut heads = Vec::new();
    for arguments in [&[][..], &["--durability", "git"]] {
        let sandbox = Sandbox::new();
        let (head, trace) = trace(&sandbox, arguments);
        heads.push(head);
        let Some(trace) = trace else { continue };
        let answers = unsynced_at_answers(&trace, sandbox.root().to_str().unwrap());
        assert_eq!(answers.len(), 5, "{trace}");
        if arguments.is_empty() {
            assert!(answers.iter().all(BTreeSet::is_empty), "{answers:?}");
        } else {
            assert!(!["fsync(", "syncfs("].iter().any(|call| trace.contains(call)), "{trace}");
            assert!(answers.iter().all(|unsynced| !unsynced.is_empty()), "the trace shows what is written");
        }
    }
    assert_eq!(heads[0], heads[1], "either writes the same");
}
