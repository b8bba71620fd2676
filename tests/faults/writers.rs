//! Concurrent writers and readers, without kills: every call succeeds, nobody waits forever, and nobody sees half a
//! commit.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Form;
use crate::figures::{Fault, Figures};
use crate::place::{judge_history, judge_log, server, start};
use crate::support::{Sandbox, node, result, stdio};

const WRITERS: u64 = 8;
const READERS: u64 = 2;

/// The number of concurrent calls from a client to one server.
const IN_FLIGHT: u64 = 100;

/// The number of nodes in a call. A reader must see all of them or none.
const BATCH: u64 = 3;

pub fn run(form: Form) -> Vec<Figures> {
    let (times, calls) = if form.long { (5, 50) } else { (1, 10) };
    let mut processes =
        Figures::of(format!("{WRITERS} writers × {calls} calls, {READERS} readers, no kills"));
    let mut in_flight = Figures::of(format!("{IN_FLIGHT} concurrent calls in one server, no kills"));
    for _ in 0..times {
        several_processes(calls, &mut processes);
        one_server(&mut in_flight);
    }
    vec![processes, in_flight]
}

fn several_processes(calls: u64, figures: &mut Figures) {
    let sandbox = Sandbox::new();
    let session = start(&mut server(&sandbox, &sandbox.root()));
    let done = AtomicBool::new(false);
    let since = Instant::now();
    let (written, statuses) = thread::scope(|scope| {
        let (sandbox, session) = (&sandbox, &session);
        let writers: Vec<_> =
            (1..=WRITERS).map(|number| scope.spawn(move || write(sandbox, session, number, calls))).collect();
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(|| read(sandbox, session, &done))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        let mut statuses = 0;
        for reader in readers {
            let (times, problems) = reader.join().unwrap();
            statuses += times;
            for problem in problems {
                figures.fault(Fault::NeedsRepair, format!("a reader: {problem}"));
            }
        }
        (written, statuses)
    });
    let waits: Vec<String> = written.iter().map(|(_, wait)| format!("{} ms", wait.as_millis())).collect();
    println!(
        "writers: {} ms; longest wait of each for one call: {}; {statuses} times tot_status beside them",
        since.elapsed().as_millis(),
        waits.join(", ")
    );
    judge_replies(&sandbox, &session, written.into_iter().flat_map(|(replies, _)| replies), figures);
    judge_log(&sandbox, figures);
}

/// Makes the client's calls, and returns the replies and the longest wait.
fn write(sandbox: &Sandbox, session: &str, number: u64, calls: u64) -> (Vec<Value>, Duration) {
    let mut server = server(sandbox, &sandbox.root());
    let mut longest = Duration::ZERO;
    let mut replies = Vec::new();
    for pair in 0..calls / 2 {
        let ids: Vec<String> =
            (0..BATCH).map(|one| format!("R2.A{}", number * 100_000 + pair * BATCH + one)).collect();
        let nodes: Vec<Value> = ids.iter().map(|id| node(id, Some("R1.A"))).collect();
        let results: Vec<Value> = ids.iter().map(|id| result(id, "EXPLORE")).collect();
        for (tool, arguments) in [
            ("tot_propose", json!({"sessionId": session, "nodes": nodes})),
            ("tot_commit", json!({"sessionId": session, "results": results})),
        ] {
            let since = Instant::now();
            replies.push(server.call(tool, arguments));
            longest = longest.max(since.elapsed());
        }
    }
    (replies, longest)
}

/// Requests the status until the writers are done.
fn read(sandbox: &Sandbox, session: &str, done: &AtomicBool) -> (usize, Vec<String>) {
    let mut server = server(sandbox, &sandbox.root());
    let (mut times, mut most, mut problems) = (0, 0, Vec::new());
    loop {
        let is_last = done.load(Ordering::Relaxed);
        let reply = server.call("tot_status", json!({"sessionId": session, "graph": "none"}));
        times += 1;
        let nodes = reply["totalNodes"].as_u64().unwrap_or(0);
        let pending = reply["pending"].as_array().map_or(0, Vec::len) as u64;
        let is_whole = nodes % BATCH == 1 && pending.is_multiple_of(BATCH);
        if reply["status"] != "OK" || nodes < most || !is_whole {
            problems.push(format!("{nodes} nodes after {most}, {pending} pending: {reply}"));
        }
        most = nodes;
        if is_last {
            return (times, problems);
        }
    }
}

fn one_server(figures: &mut Figures) {
    let sandbox = Sandbox::new();
    let mut server = server(&sandbox, &sandbox.root());
    let session = start(&mut server);
    let since = Instant::now();
    let mut open = HashSet::new();
    for number in 1..=IN_FLIGHT {
        let nodes = [node(&format!("R2.A{number}"), Some("R1.A"))];
        let proposal = json!({"sessionId": session, "nodes": nodes});
        let call = json!({"name": "tot_propose", "arguments": proposal});
        open.insert(server.begin("tools/call", call).unwrap());
    }
    let mut replies = Vec::new();
    while !open.is_empty() {
        let answer = server.receive().unwrap();
        assert!(open.remove(&answer["id"].as_u64().unwrap()), "each is answered once: {answer}");
        replies.push(stdio::reply(&answer));
    }
    println!(
        "writers: {IN_FLIGHT} calls at once in one server took {} ms together",
        since.elapsed().as_millis()
    );
    judge_replies(&sandbox, &session, replies, figures);
}

/// Each call was accepted, and the history contains their commits.
fn judge_replies(
    sandbox: &Sandbox,
    session: &str,
    replies: impl IntoIterator<Item = Value>,
    figures: &mut Figures,
) {
    let mut commits = HashSet::new();
    for reply in replies {
        match reply["commit"].as_str() {
            Some(commit) => drop(commits.insert(commit.to_owned())),
            // A starved call is refused with BUSY.
            None => figures.fault(Fault::NeedsRepair, format!("refused: {reply}")),
        }
    }
    judge_history(sandbox, session, &commits, figures);
}
