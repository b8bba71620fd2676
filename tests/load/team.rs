//! Many clients on fewer investigations, all writing.

use std::collections::{HashMap, HashSet};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::figures::Figures;
use crate::place::{judge_history, server, start};
use crate::support::http::{Client, HttpServer};
use crate::support::memory::Memory;
use crate::support::{Sandbox, node, result};

/// The observations of one client.
#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    commits: Vec<String>,
    problem: Option<String>,
}

pub fn run(long: bool) -> Vec<String> {
    let (clients, investigations, time) = if long { (200, 50, 60) } else { (40, 10, 3) };
    let time = Duration::from_secs(time);
    let sandbox = Sandbox::new();
    let mut first = server(&sandbox, &sandbox.root());
    let ids: Vec<String> = (0..investigations).map(|_| start(&mut first)).collect();
    let mut server = HttpServer::start(&sandbox, &[]);
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
    server.terminate();
    let (status, said) = server.end();

    let mut problems: Vec<String> = seen.iter().filter_map(|seen| seen.problem.clone()).collect();
    if !status.success() {
        problems.push(format!("the server didn't end well: {said}"));
    }
    let (mut times, mut commits) = (Vec::new(), HashMap::<&str, HashSet<String>>::new());
    for (number, seen) in seen.into_iter().enumerate() {
        times.extend(seen.times);
        commits.entry(&ids[number % ids.len()]).or_default().extend(seen.commits);
    }
    let mut figures = Figures::default();
    for (id, commits) in &commits {
        judge_history(&sandbox, id, commits, &mut figures);
        // Without kills, no objects are unreachable either.
        let said = sandbox.git(&sandbox.repository(id), &["fsck", "--strict", "--no-progress"]);
        problems.extend((!said.is_empty()).then(|| format!("{id}: git fsck says: {said}")));
    }
    problems.extend(figures.faults.iter().map(|(fault, problem)| format!("{fault:?}: {problem}")));

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
        let mut found = result(&name, "DEAD");
        found["findings"] = json!(format!(
            "Client {number} found {round}.\n\n## References\n- https://example.org/{round}\n"
        ));
        for (tool, arguments) in [
            ("tot_propose", json!({"sessionId": id, "nodes": [node(&name, Some("R1.A"))]})),
            ("tot_commit", json!({"sessionId": id, "results": [found]})),
        ] {
            let since = Instant::now();
            let reply = client.try_call(tool, arguments);
            let Some(commit) = reply.as_ref().ok().and_then(|reply| reply["commit"].as_str()) else {
                return Seen { problem: Some(format!("{tool} of {name}: {reply:?}")), ..seen };
            };
            seen.times.push(since.elapsed());
            seen.commits.push(commit.to_owned());
        }
    }
    seen
}
