//! What `--durability` promises, as seen by the system: when a call is acknowledged, everything it wrote is on disk.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use serde_json::json;

use crate::support::{Sandbox, Server, TOT_MCP, node, result};

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

/// Traces a server with these arguments during five calls, one of every kind that writes.
fn trace(sandbox: &Sandbox, arguments: &[&str]) -> Option<String> {
    Command::new("strace").arg("-V").output().ok().filter(|output| output.status.success())?;
    let file = sandbox.path("trace");
    let mut command = sandbox.command("strace");
    command.args(["-f", "-y", "-s", "200", "-e", CALLS, "-o"]).arg(&file).arg(TOT_MCP);
    command.arg("--root").arg(sandbox.root()).arg("--clock-file").arg(sandbox.path("clock")).args(arguments);
    let mut server = Server::start(command);
    let started = server.ok("tot_start", json!({"query": "Is it on the disk?", "mode": "smoke"}));
    let id = started["sessionId"].as_str()?;
    server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R1.A", None)]}));
    server.ok("tot_commit", json!({"sessionId": id, "results": [result("R1.A", "EXPLORE")]}));
    server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R2.A1", Some("R1.A"))]}));
    server.ok("tot_commit", json!({"sessionId": id, "results": [result("R2.A1", "DEAD")]}));
    server.finish();
    Some(std::fs::read_to_string(file).unwrap())
}

#[test]
fn an_answer_waits_for_the_disk() {
    let sandbox = Sandbox::new();
    let Some(trace) = trace(&sandbox, &[]) else {
        eprintln!("left out: strace is not here");
        return;
    };
    let answers = unsynced_at_answers(&trace, sandbox.root().to_str().unwrap());
    assert_eq!(answers.len(), 5, "{trace}");
    for (call, unsynced) in answers.iter().enumerate() {
        assert!(unsynced.is_empty(), "call {call} left {unsynced:?}");
    }
}

#[test]
fn with_gits_settings_and_none_made_nothing_waits() {
    let sandbox = Sandbox::new();
    let Some(trace) = trace(&sandbox, &["--durability", "git"]) else {
        eprintln!("left out: strace is not here");
        return;
    };
    assert!(!["fsync(", "syncfs("].iter().any(|call| trace.contains(call)), "{trace}");
    let answers = unsynced_at_answers(&trace, sandbox.root().to_str().unwrap());
    assert_eq!(answers.len(), 5, "{trace}");
    assert!(answers.iter().all(|unsynced| !unsynced.is_empty()), "the trace sees what is written");
}
