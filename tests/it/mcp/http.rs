//! The server over HTTP: access, limits and shutdown.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;

use super::{hold, meta, proposal, rest};
use crate::support::Sandbox;
use crate::support::http::{HttpServer, call, initialize};
use crate::support::stdio::reply;

const TOKEN: &str = "a-token-of-some-length-0123456789";
const BEARER: &str = "Bearer a-token-of-some-length-0123456789";

#[test]
fn a_server_that_others_could_reach_or_that_has_a_bad_token_does_not_start() {
    let sandbox = Sandbox::new();
    let (others, weak) = (["--token-file", "openssl rand"], ["the token is", "openssl rand"]);
    for (arguments, token, told) in [
        ("--http 0.0.0.0:0", None, &others[..]),
        ("--http [::]:0", None, &others),
        ("--http 192.0.2.1:0", None, &others),
        ("--http 127.0.0.1:0", Some(""), &weak),
        ("--http 127.0.0.1:0", Some("short\n"), &weak),
        ("--http 127.0.0.1:0", Some("two words of more than sixteen letters"), &weak),
        ("--http 127.0.0.1:0 --token-file absent", None, &["cannot read the token from absent"]),
        ("--http 127.0.0.1:0 --allowed-origin app.example/", None, &["`app.example/` is not an origin"]),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let mut command = sandbox.server_command(&sandbox.root(), &arguments);
        let output = command.envs(token.map(|token| ("TOT_TOKEN", token))).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert!(told.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn a_token_is_asked_of_everybody_and_nothing_but_health_is_told_without() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    let file = ["--token-file", path.to_str().unwrap()];
    let anywhere = [&["--http", "0.0.0.0:0"], &file[..]].concat();
    let anywhere = HttpServer::run(sandbox.server_command(&sandbox.root(), &anywhere));
    assert!(anywhere.url.contains("0.0.0.0"));
    let mut of_environment = HttpServer::command(&sandbox, &[]);
    of_environment.env("TOT_TOKEN", TOKEN);
    for server in [HttpServer::start(&sandbox, &file), HttpServer::run(of_environment)] {
        let none = server.post(&[], &initialize());
        assert_eq!((none.status, none.header("www-authenticate")), (401, "Bearer realm=\"tot-mcp\""));
        let wrong =
            server.post(&[("authorization", "Bearer a-token-of-some-length-012345678X")], &initialize());
        assert_eq!(wrong.status, 401);
        assert!(wrong.header("www-authenticate").contains("invalid_token"));
        server.client(&[("authorization", BEARER)]).start();
        for (request, status) in [
            ("GET /mcp", 401),
            ("DELETE /mcp", 401),
            ("PUT /mcp", 401),
            ("POST /health", 405),
            ("GET /", 404),
            ("GET /mcp/../health", 404),
        ] {
            let (method, path) = request.split_once(' ').unwrap();
            assert_eq!(server.request(method, path, &[], "").status, status, "{request}");
        }
        let health = server.request("GET", "/health", &[], "");
        assert_eq!((health.status, health.text.as_str()), (200, "{\"status\":\"ok\"}\n"));
    }
}

#[test]
fn web_pages_and_other_host_names_are_kept_out() {
    let sandbox = Sandbox::new();
    let arguments = ["--allowed-origin", "https://app.example", "--allowed-host", "tot.example"];
    let server = HttpServer::start(&sandbox, &arguments);
    let own = format!("http://{}", server.host());
    for (name, status, values) in [
        ("host", 403, &["evil.example", "localhost.evil.example", "127.0.0.2", "tot.example.evil"][..]),
        ("host", 200, &["localhost", "127.0.0.1:1", "[::1]", "tot.example", "tot.example:443"]),
        ("origin", 403, &["https://evil.example", "http://app.example", "https://app.example:8443"]),
        ("origin", 403, &["null", "http://localhost"]),
        ("origin", 200, &[own.as_str()]),
    ] {
        for value in values {
            assert_eq!(server.post(&[(name, *value)], &initialize()).status, status, "{name}: {value}");
        }
    }
    let rebound = [("host", "evil.example"), ("origin", "http://evil.example")];
    assert_eq!(server.post(&rebound, &initialize()).status, 403);
    // A page from an allowed origin can also read the responses.
    let origin = ("origin", "https://app.example");
    let asked = [origin, ("access-control-request-method", "POST")];
    let before = server.request("OPTIONS", "/mcp", &asked, "");
    assert_eq!((before.status, before.header("access-control-allow-origin")), (204, "https://app.example"));
    assert!(before.header("access-control-allow-headers").contains("mcp-session-id"));
    let answer = server.post(&[origin], &initialize());
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "https://app.example"));
    assert_eq!(answer.header("access-control-expose-headers"), "mcp-session-id");
}

#[test]
fn sessions_are_bounded_and_end() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-sessions", "2"]);
    let (one, _other) = (server.client(&[]), server.client(&[]));
    let refused = server.post(&[], &initialize());
    assert_eq!((refused.status, refused.header("retry-after")), (503, "60"));
    assert_eq!(one.call("tot_status", json!({"sessionId": "absent"}))["status"], "REJECTED");
    // The stateless protocol needs no session.
    let mut message = call("tot_list", json!({}));
    message["params"]["_meta"] = meta(json!({}));
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "tot_list")];
    let answer = server.post(&headers, &message);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!((answer.header("mcp-session-id"), &reply(&answer.message())["total"]), ("", &json!(0)));
    let ended = server.request("DELETE", "/mcp", &[("mcp-session-id", one.session.as_str())], "");
    assert_eq!(ended.status, 204, "what official clients take for success");
    server.client(&[]);
    let gone = one.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(gone.status, 404, "the client is told to begin another session");
}

#[test]
fn a_request_that_is_too_long_or_no_message_is_answered() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-request", "2048"]);
    let client = server.client(&[]);
    let long = client.send(&call("tot_start", json!({"query": "x".repeat(4000)})));
    assert_eq!(long.status, 413, "{}", long.text);
    let usual = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", client.session.as_str()),
    ];
    let send = |body: &str| server.request("POST", "/mcp", &usual, body);
    let broken = send("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"");
    assert_eq!((broken.status, &broken.message()["error"]["code"]), (400, &json!(-32700)));
    let odd = send("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":[]}");
    assert_eq!(odd.status, 400);
    assert_eq!((&odd.message()["id"], &odd.message()["error"]["code"]), (&json!(7), &json!(-32600)));
    assert_eq!(send("").status, 400);
    assert_eq!(send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}").status, 202);
    assert_eq!(server.post(&[], &call("tot_start", json!({"query": "x"}))).status, 400, "no session");
    assert_eq!(client.call("tot_start", json!({"query": "x"}))["status"], "OK");
}

#[test]
fn a_client_that_accepts_an_answer_gets_it_in_that_form() {
    let server = HttpServer::start(&Sandbox::new(), &[]);
    let (json, events) = ("application/json", "text/event-stream");
    let hello = format!("\u{feff}{}", initialize()).replace("\"it\"", "\"\\ud83d\"");
    let session = server.client(&[]).session;
    for (headers, got) in [
        (vec![], events),
        (vec![("accept", "*/*;q=0.8")], events),
        (vec![("accept", json)], json),
        (vec![("accept", "text/*"), ("content-type", "application/json-rpc")], events),
    ] {
        let answer = server.request("POST", "/mcp/", &headers, &hello);
        assert_eq!((answer.status, answer.header("content-type")), (200, got), "{headers:?}");
        assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
        let listed = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
        let headers = [&headers[..], &[("mcp-session-id", session.as_str())]].concat();
        assert!(server.request("POST", "/mcp", &headers, &listed).message()["result"]["tools"].is_array());
    }
    for (headers, status) in [(("accept", "text/html"), 406), (("content-type", "text/plain"), 415)] {
        assert_eq!(server.request("POST", "/mcp", &[headers], &hello).status, status);
    }
    assert_eq!(server.request("GET", "/health/", &[], "").status, 200);
}

#[test]
fn a_client_that_sends_a_whole_request_first_can_read_why_it_is_refused() {
    let sandbox = Sandbox::new();
    let mut command = HttpServer::command(&sandbox, &[]);
    command.env("TOT_TOKEN", "0123456789abcdef");
    let server = HttpServer::run(command);
    let token = "Authorization: Bearer 0123456789abcdef\r\n";
    let stated = format!("Content-Length: 9000000\r\n\r\n{}", "x".repeat(9_000_000));
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(0x10_0000));
    let chunked = format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(9));
    let long_head = format!("Odd: {}\r\n\r\n", "x".repeat(9_000_000));
    for (request, status) in [
        (format!("POST /mcp HTTP/1.1\r\n{token}{stated}"), 413),
        (format!("POST /mcp HTTP/1.1\r\n{token}{chunked}"), 413),
        (format!("POST /mcp HTTP/1.1\r\n{stated}"), 401),
        (format!("POST /mcp HTTP/1.1\r\nOrigin: https://evil.example\r\n{chunked}"), 403),
        (format!("POST /other HTTP/1.1\r\n{chunked}"), 404),
        (format!("POST /health HTTP/1.1\r\n{stated}"), 405),
        (format!("POST /mcp HTTP/1.1\r\n{long_head}"), 431),
    ] {
        let mut stream = server.connect();
        stream.write_all(request.replacen("\r\n", "\r\nHost: localhost\r\n", 1).as_bytes()).unwrap();
        let said = rest(stream);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_crowd_on_one_investigation_holds_up_nobody_on_another() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let (slow, quick) = (client.start(), client.start());
    let held = hold(&sandbox, &slow);
    // More than the number of tool threads.
    let crowd: Vec<_> = (100..700).map(|number| client.begin(&proposal(&slow, json!(number)))).collect();
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..5 {
        assert_eq!(client.call("tot_status", json!({"sessionId": quick}))["status"], "OK");
    }
    let answer = client.send(&proposal(&quick, json!(1)));
    assert_eq!(reply(&answer.message())["status"], "OK");
    // Of two requests with one id, none waits forever.
    let twin = client.send(&proposal(&slow, json!(100)));
    assert_eq!(twin.status, 409, "{}", twin.text);
    // If they had waited for the other calls, those would have timed out first and not been accepted below.
    drop(held);
    let accepted = crowd.into_iter().filter(|stream| rest(stream).contains("\"isError\":false")).count();
    assert_eq!(accepted, 600, "a pending node may be proposed anew");
    assert_eq!(client.send(&proposal(&slow, json!(100))).status, 200, "the id is free again");
    let commits = sandbox.git(&sandbox.repository(&slow), &["rev-list", "--count", "HEAD"]);
    assert_eq!(commits.trim(), "602");
}

#[cfg(unix)]
#[test]
fn at_a_signal_calls_under_way_are_answered_and_nothing_more_is_taken_in() {
    let sandbox = Sandbox::new();
    let mut server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let id = client.start();
    // A stream for notifications, as clients with a session keep one.
    let mut listening = server.connect();
    let head = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id:";
    write!(listening, "{head} {}\r\n\r\n", client.session).unwrap();
    let mut status = [0; 12];
    listening.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    let mut kept = server.connect();
    let held = hold(&sandbox, &id);
    let under_way = client.begin(&proposal(&id, json!(1)));
    // Clients that vanish during a call, and one that vanishes during its request, leave nothing behind.
    let vanishing = [7, 8].map(|number| client.begin(&proposal(&id, json!(number))));
    let mut half = server.connect();
    write!(half, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{{").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop((vanishing, half));
    std::thread::sleep(Duration::from_millis(200));
    server.terminate();
    std::thread::sleep(Duration::from_millis(200));
    write!(kept, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let health = rest(kept);
    assert!(health.contains("503") && health.contains("stopping"), "{health}");
    assert!(std::net::TcpStream::connect(server.host()).is_err(), "the door is closed");
    drop(held);
    let answer = rest(under_way);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\\\"status\\\":\\\"OK\\\""), "{answer}");
    let noticed = rest(listening);
    assert!(noticed.ends_with("0\r\n\r\n"), "an open stream is ended, not waited for: {noticed}");
    assert!(server.end().0.success());
    let repository = sandbox.repository(&id);
    sandbox.assert_sound(&repository);
    let commits = sandbox.git(&repository, &["rev-list", "--count", "HEAD"]);
    assert_eq!(commits.trim(), "4", "all three calls had begun");
    let mut files = std::fs::read_dir(repository.join(".git")).unwrap().map(|entry| entry.unwrap().path());
    assert!(files.all(|file| file.extension().is_none_or(|extension| extension != "lock")));
}

#[cfg(unix)]
#[test]
fn a_call_that_is_interrupted_twice_ends_the_server_at_once() {
    let sandbox = Sandbox::new();
    let mut server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let id = client.start();
    let _held = hold(&sandbox, &id);
    let _under_way = client.begin(&proposal(&id, json!(1)));
    std::thread::sleep(Duration::from_millis(200));
    server.terminate();
    std::thread::sleep(Duration::from_millis(100));
    server.terminate();
    let (status, said) = server.end();
    assert!(!status.success());
    assert!(said.contains("interrupted before all calls were answered"), "{said}");
}
