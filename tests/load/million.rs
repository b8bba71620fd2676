//! A million cheap calls over stdio, and over HTTP, and what they do to the memory.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::client::{Client, Memory, Server, command};

const CALLS: u64 = 1_000_000;
const CLIENTS: u64 = 8;

/// How often the memory is looked at.
const STEPS: u64 = 10;

/// How much the second half may add, in KiB: what the allocator keeps may wander, what leaks grows by each call.
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

/// A call that looks an investigation up, and every third one that is not there.
fn call(id: u64, session: &str) -> String {
    let session = if id.is_multiple_of(3) { "0000" } else { session };
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "tot_status", "arguments": {"sessionId": session}}})
    .to_string()
}

fn stdio() -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(env!("CARGO_BIN_EXE_tot-mcp"), folder.path());
    command.arg("--root").arg(folder.path().join("root"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut ask = |message: &str| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0);
        line
    };
    ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}})
    .to_string());
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call",
        "params": {"name": "tot_start", "arguments": {"query": "How long?"}}});
    let started: serde_json::Value = serde_json::from_str(&ask(&start.to_string())).unwrap();
    let session = started["result"]["structuredContent"]["sessionId"].as_str().unwrap().to_owned();
    let since = Instant::now();
    let mut memory = Vec::new();
    for id in 1..=CALLS {
        let line = ask(&call(id, &session));
        assert!(line.contains("structuredContent"), "{line}");
        if id.is_multiple_of(CALLS / STEPS) {
            memory.push(Memory::of(child.id()).now);
        }
    }
    row("stdio", &memory, since);
    drop(input);
    assert!(child.wait().unwrap().success());
    memory
}

/// By several clients at once, each with a new session for each tenth.
fn http() -> Vec<u64> {
    let mut server = Server::start();
    let mut first = Client::connect(&server.url);
    let started = first.call("tot_start", &json!({"query": "How long?"})).unwrap();
    let session = started["sessionId"].as_str().unwrap();
    let since = Instant::now();
    let mut memory = Vec::new();
    for _ in 0..STEPS {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    let mut client = Client::connect(&server.url);
                    for number in 0..CALLS / STEPS / CLIENTS {
                        let session = if number.is_multiple_of(3) { "0000" } else { session };
                        client.call("tot_status", &json!({"sessionId": session})).unwrap();
                    }
                    client.end();
                });
            }
        });
        memory.push(server.memory().now);
    }
    row("HTTP", &memory, since);
    assert!(server.stop());
    memory
}
