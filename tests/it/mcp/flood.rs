//! Clients that take more than their share of sessions, connections or memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{exchange, rest};
use crate::support::http::{HttpServer, call, initialize};
use crate::support::memory::Memory;
use crate::support::{Sandbox, open_many_files};

const MIB: u64 = 1024;

/// The time limit for an unblocked response, on a machine busy with other tests.
const SOON: Duration = Duration::from_secs(5);

fn post(headers: &[u8], message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let usual = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    [usual.as_bytes(), headers, b"\r\n", body.as_bytes()].concat()
}

fn assert_healthy(server: &HttpServer) {
    let since = Instant::now();
    let said = exchange(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
}

fn assert_peak(process: u32, most: u64) {
    let memory = Memory::of(process);
    assert!(memory.peak < most * MIB, "{} MiB, now {}", memory.peak / MIB, memory.now / MIB);
}

#[test]
fn no_header_gets_round_the_number_of_sessions() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-sessions", "2"]);
    let _two = (server.client(&[]), server.client(&[]));
    let mut newer = initialize();
    newer["params"]["protocolVersion"] = json!("2026-07-28");
    let odd: [(&[u8], Value); 6] = [
        (b"Mcp-Session-Id: \xff\xfe\r\n", initialize()),
        (b"Mcp-Session-Id:\r\n", initialize()),
        (b"Mcp-Session-Id: \xff\r\nMcp-Session-Id: x\r\n", initialize()),
        (b"Mcp-Protocol-Version: 2026-07-28\r\n", newer.clone()),
        (b"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: initialize\r\n", newer.clone()),
        (b"", newer),
    ];
    for (headers, message) in odd {
        let said = exchange(&server, &post(headers, &message));
        assert!(said.starts_with("HTTP/1.1 503"), "{}: {said}", String::from_utf8_lossy(headers));
        assert!(!said.contains("mcp-session-id:"), "{said}");
    }
}

#[test]
fn of_many_who_begin_at_once_no_more_get_a_session_than_there_are() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-sessions", "3"]);
    let request = post(b"", &initialize());
    let (most, last) = request.split_at(request.len() - 1);
    let mut begun: Vec<_> = (0..60).map(|_| server.connect()).collect();
    for part in [most, last] {
        begun.iter_mut().for_each(|stream| stream.write_all(part).unwrap());
    }
    let answers = begun.into_iter().map(rest);
    assert_eq!(answers.filter(|said| said.starts_with("HTTP/1.1 200")).count(), 3);
}

#[test]
#[ignore = "takes half a minute; .ci/run tries it"]
fn half_sent_heads_keep_out_nobody_and_do_not_stay() {
    let sandbox = Sandbox::new();
    open_many_files();
    for arguments in [&[][..], &["--max-connections", "400"]] {
        let server = HttpServer::start(&sandbox, arguments);
        let client = server.client(&[]);
        let mut flood: Vec<_> = (0..1_500).map(|_| server.connect()).collect();
        // Some may have been closed in the meantime to make room.
        flood.iter_mut().for_each(|stream| drop(stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")));
        assert_healthy(&server);
        assert_eq!(client.call("tot_status", json!({"sessionId": "absent"}))["status"], "REJECTED");
        server.client(&[]).start();
        assert_peak(server.process(), 150);
        // Read until it is closed. A stream that stays open would time out.
        let open = flood.iter_mut().filter_map(|stream| stream.read_to_end(&mut Vec::new()).err());
        assert_eq!(open.filter(|fault| fault.kind() == std::io::ErrorKind::WouldBlock).count(), 0);
    }
}

#[test]
fn bodies_that_do_not_end_take_no_more_than_their_budget_and_small_calls_get_through() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let length = 4 * 1024 * 1024;
    let piece = vec![b'x'; 64 * 1024];
    let pending: Vec<_> = (0..250)
        .map(|_| {
            let mut stream = server.connect();
            write!(stream, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
                .unwrap();
            // Everything except the last byte, unless it is refused earlier.
            let _ = (1..length / piece.len()).try_for_each(|_| stream.write_all(&piece));
            let _ = stream.write_all(&piece[1..]);
            stream
        })
        .collect();
    assert_healthy(&server);
    assert_eq!(client.call("tot_status", json!({"sessionId": "absent"}))["status"], "REJECTED");
    let refused = client.send(&call("tot_start", json!({"query": "x".repeat(3_000_000)})));
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    client.start();
    assert_peak(server.process(), 250);
    drop(pending);
    let since = Instant::now();
    while client.send(&call("tot_start", json!({"query": "x".repeat(3_000_000)}))).status != 200 {
        assert!(since.elapsed() < Duration::from_secs(20), "the budget isn't given back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A list of numbers takes a hundred times as much memory or more after parsing.
#[test]
#[ignore = "takes 15 seconds; .ci/run tries it"]
fn bodies_that_grow_when_they_are_read_are_read_a_few_at_a_time() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    for (crowd, numbers) in [(6, 1_900_000), (100, 15_000)] {
        let message = call("tot_start", json!({"query": vec![0; numbers]}));
        let ask = &|id: usize| {
            let mut message = message.clone();
            message["id"] = json!(id);
            client.send(&message).status
        };
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let senders: Vec<_> = (0..crowd).map(|id| scope.spawn(move || ask(1_000 + id))).collect();
            senders.into_iter().map(|sender| sender.join().unwrap()).collect()
        });
        assert!(statuses.contains(&200), "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
        assert_peak(server.process(), 900);
    }
    client.start();
}

#[test]
#[ignore = "takes 20 seconds; .ci/run tries it"]
fn a_client_that_reads_no_replies_is_read_from_no_more_and_gets_all_of_them_later() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.server_command(&sandbox.root(), &[]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    // Responses of about 24 KB each.
    let all = 4_000;
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let sent = &sent;
        scope.spawn(move || {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let lists = (1..=all).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
            for message in [initialize(), ready].into_iter().chain(lists) {
                writeln!(input, "{message}").unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut before = usize::MAX;
        while before != sent.load(Ordering::SeqCst) {
            before = sent.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_secs(2));
        }
        assert!(before < all, "all were taken in");
        assert_peak(server.id(), 150);
        // It disconnects after sending everything.
        assert_eq!(BufReader::new(output).lines().map(Result::unwrap).count(), all + 1);
    });
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_client_that_sends_2000_calls_before_it_reads_gets_2000_replies() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let call = json!({"name": "tot_status", "arguments": {"sessionId": "absent"}});
    for _ in 0..2_000 {
        server.begin("tools/call", call.clone()).unwrap();
    }
    assert_eq!(server.finish_listening().len(), 2_000);
}
