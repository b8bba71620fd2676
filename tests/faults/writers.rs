//! Concurrent writers and readers, without kills: every call succeeds, nobody waits forever, and nobody sees half a
//! commit.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Form;
use crate::figures::Figures;
use crate::place::{Place, start};
use crate::support::{Server, node, result, stdio};

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
    let place = Place::new();
    let root = place.path("investigations");
    let session = start(&mut place.server(&root));
    let done = AtomicBool::new(false);
    let since = Instant::now();
    let (written, read) = thread::scope(|scope| {
        let writers: Vec<_> = (1..=WRITERS)
            .map(|number| {
                scope.spawn({
                    let (place, root, session) = (&place, &root, &session);
                    move || write(place, root, session, number, calls)
                })
            })
            .collect();
        let readers: Vec<_> =
            (0..READERS).map(|_| scope.spawn(|| read(&place, &root, &session, &done))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        let read: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        (written, read)
    });
    let mut commits = HashSet::new();
    let mut waits = Vec::new();
    for (replies, longest) in written {
        waits.push(longest);
        // A starved call is refused with BUSY.
        for reply in replies {
            match reply["commit"].as_str() {
                Some(commit) => drop(commits.insert(commit.to_owned())),
                None => figures.by_hand(format!("refused: {reply}")),
            }
        }
    }
    for (times, problems) in &read {
        assert!(*times > 0);
        problems.iter().for_each(|problem| figures.by_hand(format!("a reader: {problem}")));
    }
    let statuses: usize = read.iter().map(|(times, _)| times).sum();
    let waits: Vec<String> = waits.iter().map(|wait| format!("{} ms", wait.as_millis())).collect();
    println!(
        "writers: {} ms; longest wait of each for one call: {}; {statuses} times tot_status beside them",
        since.elapsed().as_millis(),
        waits.join(", ")
    );
    judge(&place, &root.join(&session), &commits, figures);
    if place.log().contains("panicked") {
        figures.by_hand(format!("a server panicked: {}", place.log()));
    }
}

/// Makes the client's calls, and returns the replies and the longest wait.
fn write(place: &Place, root: &Path, session: &str, number: u64, calls: u64) -> (Vec<Value>, Duration) {
    let mut server = place.server(root);
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
fn read(place: &Place, root: &Path, session: &str, done: &AtomicBool) -> (usize, Vec<String>) {
    let mut server = place.server(root);
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
    let place = Place::new();
    let root = place.path("investigations");
    let mut server = place.server(&root);
    let session = start(&mut server);
    let since = Instant::now();
    let call = |server: &mut Server, number: u64| {
        let proposal =
            json!({"sessionId": session, "nodes": [node(&format!("R2.A{}", number + 1), Some("R1.A"))]});
        server.begin("tools/call", json!({"name": "tot_propose", "arguments": proposal})).unwrap()
    };
    let mut open: HashSet<u64> = (0..IN_FLIGHT).map(|number| call(&mut server, number)).collect();
    let mut commits = HashSet::new();
    let mut longest = Duration::ZERO;
    while !open.is_empty() {
        let answer = server.receive().unwrap();
        assert!(open.remove(&answer["id"].as_u64().unwrap()), "each is answered once: {answer}");
        let reply = stdio::reply(&answer);
        longest = since.elapsed();
        match reply["commit"].as_str() {
            Some(commit) => drop(commits.insert(commit.to_owned())),
            None => figures.by_hand(format!("refused: {reply}")),
        }
    }
    println!("writers: {IN_FLIGHT} calls at once in one server took {} ms together", longest.as_millis());
    judge(&place, &root.join(&session), &commits, figures);
}

/// The history contains every acknowledged commit and, apart from the first, no others.
fn judge(place: &Place, repository: &Path, commits: &HashSet<String>, figures: &mut Figures) {
    let history = place.git(repository, &["rev-list", "--first-parent", "HEAD"]);
    let history: HashSet<&str> = history.lines().collect();
    for commit in commits.iter().filter(|commit| !history.contains(commit.as_str())) {
        figures.lost(commit.clone());
    }
    figures.acknowledged += commits.len();
    if history.len() != commits.len() + 3 {
        figures.broken(format!("{} commits for {} acknowledged calls", history.len(), commits.len() + 3));
    }
    if let Err(said) = place.fsck(repository) {
        figures.broken(said);
    }
    let status = place.try_git(repository, &["status", "--porcelain"]);
    if status.as_deref() != Ok("") {
        figures.by_hand(format!("git status: {status:?}"));
    }
    let leftovers = place.leftovers(repository);
    if !leftovers.is_empty() {
        figures.by_hand(format!("left: {leftovers:?}"));
    }
}
