//! A million cheap calls over stdio and over HTTP, and their effect on memory.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::http::{HttpServer, call};
use crate::support::memory::Memory;

const CALLS: u64 = 1_000_000;
const CLIENTS: u64 = 8;

/// The number of memory measurements.
const STEPS: u64 = 10;

/// The permitted growth in the second half, in KiB. The allocator's reserves may vary; a leak grows with each call.
const MOST: u64 = 2_048;

pub fn run() -> Vec<String> {
    println!("| over | calls | memory in MiB after each tenth | µs per call |\n|---|---:|---|---:|");
    [("stdio", stdio()), ("HTTP", http())]
        .into_iter()
        .filter_map(|(over, memory)| {
            let (middle, last) = (memory[memory.len() / 2 - 1], memory[memory.len() - 1]);
            (last > middle + MOST).then(|| format!("{over}: from {middle} KiB at half time to {last} KiB"))
        })
        .collect()
}

fn row(over: &str, memory: &[u64], since: Instant) {
    let shown: Vec<String> = memory.iter().map(|kib| format!("{:.1}", *kib as f64 / 1024.0)).collect();
    let micros = since.elapsed().as_secs_f64() * 1e6 / CALLS as f64;
    println!("| {over} | {CALLS} | {} | {micros:.0} |", shown.join(", "));
}

/// Returns the arguments of a cheap call that looks up an investigation. Every third id does not exist.
fn arguments(number: u64, session: &str) -> Value {
    json!({"sessionId": if number.is_multiple_of(3) { "0000" } else { session }})
}

fn stdio() -> Vec<u64> {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let started = server.ok("tot_start", json!({"query": "How long?"}));
    let session = started["sessionId"].as_str().unwrap();
    let since = Instant::now();
    let mut memory = Vec::new();
    for number in 1..=CALLS {
        let call = json!({"name": "tot_status", "arguments": arguments(number, session)});
        let answer = server.request("tools/call", call);
        assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
        if number.is_multiple_of(CALLS / STEPS) {
            memory.push(Memory::of(server.process()).now);
        }
    }
    row("stdio", &memory, since);
    server.finish();
    memory
}

/// Several clients at once, with a new session for each tenth of the calls.
fn http() -> Vec<u64> {
    let sandbox = Sandbox::new();
    let mut server = HttpServer::start(&sandbox, &[]);
    let session = server.client(&[]).start();
    let since = Instant::now();
    let mut memory = Vec::new();
    for _ in 0..STEPS {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let client = server.client(&[]);
                    for number in 0..CALLS / STEPS / CLIENTS {
                        let answer = client.send(&call("tot_status", arguments(number, &session)));
                        assert_eq!(answer.status, 200, "{}", answer.text);
                    }
                    let session = [("mcp-session-id", client.session.as_str())];
                    assert_eq!(server.request("DELETE", "/mcp", &session, "").status, 204);
                });
            }
        });
        memory.push(Memory::of(server.process()).now);
    }
    row("HTTP", &memory, since);
    server.terminate();
    assert!(server.end().0.success());
    memory
}
