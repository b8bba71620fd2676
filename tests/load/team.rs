//! Many clients on fewer investigations, all writing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::http::{Client, HttpServer};
use crate::support::memory::Memory;
use crate::support::{Sandbox, node, result};

/// The observations of one client.
#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    /// The investigation and the acknowledged commit.
    commits: Vec<(String, String)>,
    problems: Vec<String>,
}

pub fn run(long: bool) -> Vec<String> {
    let (clients, investigations, time) = if long { (200, 50, 60) } else { (40, 10, 3) };
    let time = Duration::from_secs(time);
    let sandbox = Sandbox::new();
    let mut server = HttpServer::start(&sandbox, &["--max-rate", "0"]);
    let first = server.client(&[]);
    let ids: Vec<String> = (0..investigations)
        .map(|_| {
            let start = json!({"query": "How much is too much?", "mode": "smoke"});
            let id = first.call("tot_start", start)["sessionId"].as_str().unwrap().to_owned();
            first.call("tot_propose", json!({"sessionId": id, "nodes": [node("R1.A", None)]}));
            let results = json!([result("R1.A", "EXPLORE")]);
            let reply = first.call("tot_commit", json!({"sessionId": id, "results": results}));
            assert_eq!(reply["status"], "OK", "{reply}");
            id
        })
        .collect();

    let ready = Barrier::new(clients);
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let (id, ready, server) = (&ids[number % ids.len()], &ready, &server);
                scope.spawn(move || {
                    let client = server.client(&[]);
                    ready.wait();
                    work(&client, number, id, Instant::now() + time)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let memory = Memory::of(server.process());
    let mut problems: Vec<String> = seen.iter().flat_map(|seen| seen.problems.clone()).collect();
    server.terminate();
    let (status, said) = server.end();
    if !status.success() {
        problems.push(format!("the server didn't end well: {said}"));
    }

    let mut acknowledged: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, commit) in seen.iter().flat_map(|seen| &seen.commits) {
        acknowledged.entry(id).or_default().push(commit);
    }
    for id in &ids {
        let git = |arguments: &[&str]| {
            let output = sandbox.try_git(&sandbox.repository(id), arguments);
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
        };
        let log = git(&["log", "--first-parent", "--format=%H"]);
        let history: HashSet<&str> = log.lines().collect();
        let commits = acknowledged.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        for commit in commits.iter().filter(|commit| !history.contains(**commit)) {
            problems.push(format!("{id}: {commit} was acknowledged and is not in the history"));
        }
        // The start, the root's proposal and its commit.
        if history.len() != commits.len() + 3 {
            problems.push(format!("{id}: {} commits, {} acknowledged", history.len(), commits.len()));
        }
        for (what, said) in [
            ("git status", git(&["status", "--porcelain"])),
            ("git fsck", git(&["fsck", "--strict", "--no-progress"])),
        ] {
            if !said.is_empty() {
                problems.push(format!("{id}: {what} says: {said}"));
            }
        }
    }

    let mut times: Vec<Duration> = seen.into_iter().flat_map(|seen| seen.times).collect();
    times.sort();
    let at = |share: f64| {
        let index = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    };
    println!(
        "{clients} clients on {investigations} investigations for {} s: {} calls acknowledged, {:.0} per second",
        time.as_secs(),
        times.len(),
        times.len() as f64 / time.as_secs_f64()
    );
    println!(
        "p50 {:.0} ms, p99 {:.0} ms, longest {:.0} ms; peak memory {:.0} MiB; {} problems",
        at(0.5),
        at(0.99),
        at(1.0),
        memory.peak as f64 / 1024.0,
        problems.len()
    );
    problems
}

/// Proposes a node and commits its findings repeatedly, as agents of a team do. The ids are unique.
fn work(client: &Client<'_>, number: usize, id: &str, end: Instant) -> Seen {
    let mut seen = Seen::default();
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        let name = format!("R2.A{number}x{round}");
        let findings =
            format!("Client {number} found {round}.\n\n## References\n- https://example.org/{round}\n");
        let calls = [
            ("tot_propose", json!({"sessionId": id, "nodes": [node(&name, Some("R1.A"))]})),
            (
                "tot_commit",
                json!({"sessionId": id, "results": [
                    {"nodeId": name, "state": "DEAD", "findings": findings, "agentId": format!("agent-{number}")}]}),
            ),
        ];
        for (tool, arguments) in calls {
            let since = Instant::now();
            match client.try_call(tool, arguments) {
                Ok(reply) if reply["status"] == "OK" => {
                    seen.times.push(since.elapsed());
                    seen.commits
                        .push((id.to_owned(), reply["commit"].as_str().unwrap_or_default().to_owned()));
                }
                Ok(reply) => {
                    seen.problems.push(format!("{tool} of {name}: {}", reply["errors"]));
                    return seen;
                }
                Err(fault) => {
                    seen.problems.push(format!("{tool} of {name}: {fault}"));
                    return seen;
                }
            }
        }
    }
    seen
}
