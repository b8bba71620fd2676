//! The server over HTTP: access, limits and shutdown.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::http::{Client, HttpServer, call, initialize};
use crate::support::stdio::reply;
use crate::support::{Sandbox, node};

const TOKEN: &str = "a-token-of-some-length-0123456789";
const BEARER: &str = "Bearer a-token-of-some-length-0123456789";

fn token_file(sandbox: &Sandbox) -> String {
    let path = sandbox.path("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the message of a server that fails to start.
fn refused(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_investigation_runs_in_both_eras_of_the_protocol() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let id = client.start();
    let proposal = json!({"sessionId": id, "nodes": [node("R1.A", None)]});
    assert_eq!(client.call("tot_propose", proposal)["status"], "OK");

    // The stateless client continues the same investigation.
    let mut message = call("tot_status", json!({"sessionId": id}));
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "tot_status")];
    let answer = server.post(&headers, &message);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("mcp-session-id"), "");
    let result = &answer.message()["result"];
    assert_eq!(reply(&answer.message())["pending"], json!(["R1.A"]));
    assert_eq!(result["resultType"], "complete");
    sandbox.assert_sound(&sandbox.repository(&id));
}

#[test]
fn health_is_told_to_anybody_and_tells_nothing_else() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--token-file", &token_file(&sandbox)]);
    let health = server.request("GET", "/health", &[], "");
    assert_eq!((health.status, health.text.as_str()), (200, "{\"status\":\"ok\"}\n"));
    assert_eq!(server.request("POST", "/health", &[], "").status, 405);
    assert_eq!(server.request("GET", "/", &[], "").status, 404);
    assert_eq!(server.request("GET", "/mcp/../health", &[], "").status, 404);
}

#[test]
fn without_a_token_it_listens_on_loopback_only() {
    let sandbox = Sandbox::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut command = sandbox.command(crate::support::TOT_MCP);
        command.args(["--http", address]);
        let said = refused(command);
        assert!(said.contains("--token-file") && said.contains("openssl rand"), "{said}");
    }
    let file = token_file(&sandbox);
    let mut command = sandbox.command(crate::support::TOT_MCP);
    command.args(["--http", "0.0.0.0:0", "--token-file", &file, "--root"]).arg(sandbox.root());
    let server = HttpServer::run(command);
    assert!(server.url.contains("0.0.0.0"));
}

#[test]
fn a_token_is_asked_of_everybody() {
    let sandbox = Sandbox::new();
    let file = token_file(&sandbox);
    let mut of_environment = HttpServer::command(&sandbox, &[]);
    of_environment.env("TOT_TOKEN", TOKEN);
    let servers = [HttpServer::start(&sandbox, &["--token-file", &file]), HttpServer::run(of_environment)];
    for server in servers {
        let none = server.post(&[], &initialize());
        assert_eq!((none.status, none.header("www-authenticate")), (401, "Bearer realm=\"tot-mcp\""));
        let wrong =
            server.post(&[("authorization", "Bearer a-token-of-some-length-012345678X")], &initialize());
        assert_eq!(wrong.status, 401);
        assert!(wrong.header("www-authenticate").contains("invalid_token"));
        for method in ["GET", "DELETE", "PUT"] {
            assert_eq!(server.request(method, "/mcp", &[], "").status, 401, "{method}");
        }
        server.client(&[("authorization", BEARER)]).start();
    }
}

#[test]
fn a_token_that_is_none_ends_the_start() {
    let sandbox = Sandbox::new();
    for text in ["", "short\n", "two words of more than sixteen letters"] {
        let mut command = HttpServer::command(&sandbox, &[]);
        command.env("TOT_TOKEN", text);
        let said = refused(command);
        assert!(said.contains("the token is") && said.contains("openssl rand"), "{said}");
    }
    let said = refused(HttpServer::command(&sandbox, &["--token-file", "absent"]));
    assert!(said.contains("cannot read the token from absent"), "{said}");
}

#[test]
fn web_pages_and_other_host_names_are_kept_out() {
    let sandbox = Sandbox::new();
    let arguments =
        ["--allowed-origin", "https://app.example", "--allowed-host", "tot.example", "--max-rate", "0"];
    let server = HttpServer::start(&sandbox, &arguments);
    let status = |name: &str, value: &str| server.post(&[(name, value)], &initialize()).status;
    for host in ["evil.example", "localhost.evil.example", "127.0.0.2", "tot.example.evil"] {
        assert_eq!(status("host", host), 403, "{host}");
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]", "tot.example", "tot.example:443"] {
        assert_eq!(status("host", host), 200, "{host}");
    }
    for origin in
        ["https://evil.example", "http://app.example", "https://app.example:8443", "null", "http://localhost"]
    {
        assert_eq!(status("origin", origin), 403, "{origin}");
    }
    let own = format!("http://{}", server.host());
    assert_eq!(status("origin", &own), 200, "the server's own");
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

    let said = refused(HttpServer::command(&sandbox, &["--allowed-origin", "app.example/"]));
    assert!(said.contains("`app.example/` is not an origin"), "{said}");
}

#[test]
fn a_client_without_measure_is_told_to_wait_and_the_others_are_not() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-rate", "2"]);
    let (one, other) = (server.client(&[]), server.client(&[]));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let refused = (0..30).map(|_| one.send(&ping)).find(|answer| answer.status != 200).unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    assert_eq!(other.send(&ping).status, 200);
    // An invented session does not get its own limits.
    let made_up = |number: u32| server.post(&[("mcp-session-id", number.to_string().as_str())], &ping).status;
    assert!((0..30).any(|number| made_up(number) == 429));
    assert_eq!(server.request("GET", "/health", &[], "").status, 200);
}

#[test]
fn sessions_are_bounded_and_end() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-sessions", "2"]);
    let (one, _other) = (server.client(&[]), server.client(&[]));
    let refused = server.post(&[], &initialize());
    assert_eq!((refused.status, refused.header("retry-after")), (503, "60"));
    assert_eq!(one.call("tot_status", json!({"sessionId": "absent"}))["status"], "REJECTED");
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
    // In chunks, without a declared length.
    let mut stream = server.connect();
    write!(stream, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n").unwrap();
    write!(stream, "Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        .unwrap();
    for _ in 0..5 {
        let _ = write!(stream, "400\r\n{}\r\n", "x".repeat(0x400));
    }
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");

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

#[cfg(unix)]
mod at_work {
    use super::*;

    /// Holds the writer lock, so that a writing call waits.
    fn occupy(sandbox: &Sandbox, id: &str) -> File {
        let path = sandbox.repository(id).join(".git/tot-lock");
        let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
        file.lock().unwrap();
        file
    }

    fn proposal(id: &str, name: &str) -> Value {
        call("tot_propose", json!({"sessionId": id, "nodes": [node(name, None)]}))
    }

    #[test]
    fn a_crowd_on_one_investigation_holds_up_nobody_on_another() {
        let sandbox = Sandbox::new();
        let server = HttpServer::start(&sandbox, &["--max-rate", "0"]);
        let client = server.client(&[]);
        let (slow, quick) = (client.start(), client.start());
        let held = occupy(&sandbox, &slow);
        // More than the number of tool threads.
        let number = |number: u32| {
            let mut message = proposal(&slow, "R1.A");
            message["id"] = json!(number);
            message
        };
        let crowd: Vec<_> = (100..700).map(|id| client.begin(&number(id))).collect();
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..5 {
            assert_eq!(client.call("tot_status", json!({"sessionId": quick}))["status"], "OK");
        }
        let answer = client.send(&proposal(&quick, "R1.A"));
        assert_eq!(reply(&answer.message())["status"], "OK");
        // If they had waited for the other calls, those would have timed out first and not been accepted below.
        drop(held);
        let accepted =
            crowd.into_iter().filter(|stream| answer_of(stream).contains("\"isError\":false")).count();
        assert_eq!(accepted, 600, "a pending node may be proposed anew");
        let commits = sandbox.git(&sandbox.repository(&slow), &["rev-list", "--count", "HEAD"]);
        assert_eq!(commits.trim(), "601");
    }

    fn answer_of(mut stream: &std::net::TcpStream) -> String {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200"), "{said}");
        said
    }

    #[test]
    fn at_a_signal_calls_under_way_are_answered_and_nothing_more_is_taken_in() {
        let sandbox = Sandbox::new();
        let mut server = HttpServer::start(&sandbox, &[]);
        let client = server.client(&[]);
        let id = client.start();
        let mut listening = listen(&client, &server);
        let mut kept = server.connect();
        let held = occupy(&sandbox, &id);
        let under_way = client.begin(&proposal(&id, "R1.A"));
        std::thread::sleep(Duration::from_millis(200));
        server.terminate();
        std::thread::sleep(Duration::from_millis(200));
        write!(kept, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut health = String::new();
        kept.read_to_string(&mut health).unwrap();
        assert!(health.contains("503") && health.contains("stopping"), "{health}");
        assert!(std::net::TcpStream::connect(server.host()).is_err(), "the door is closed");
        drop(held);
        assert!(answer_of(&under_way).contains("\\\"status\\\":\\\"OK\\\""));
        let mut noticed = String::new();
        listening.read_to_string(&mut noticed).unwrap();
        assert!(noticed.ends_with("0\r\n\r\n"), "an open stream is ended, not waited for: {noticed}");
        let (status, _) = server.end();
        assert!(status.success());
        sandbox.assert_sound(&sandbox.repository(&id));
    }

    /// A stream for notifications, as clients with a session keep one.
    fn listen(client: &Client, server: &HttpServer) -> std::net::TcpStream {
        let mut stream = server.connect();
        write!(
            stream,
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
            client.session
        )
        .unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        stream
    }

    #[test]
    fn of_two_requests_with_one_id_none_waits_for_ever() {
        let sandbox = Sandbox::new();
        let server = HttpServer::start(&sandbox, &[]);
        let client = server.client(&[]);
        let id = client.start();
        let held = occupy(&sandbox, &id);
        let first = client.begin(&proposal(&id, "R1.A"));
        std::thread::sleep(Duration::from_millis(200));
        let second = client.send(&proposal(&id, "R1.B"));
        assert_eq!(second.status, 409, "{}", second.text);
        drop(held);
        assert!(answer_of(&first).contains("\"isError\":false"));
        let third = client.send(&proposal(&id, "R1.B"));
        assert_eq!(third.status, 200, "the id is free again");
    }

    #[test]
    fn a_client_that_vanishes_in_a_call_leaves_nothing_behind() {
        let sandbox = Sandbox::new();
        let mut server = HttpServer::start(&sandbox, &[]);
        let client = server.client(&[]);
        let id = client.start();
        let held = occupy(&sandbox, &id);
        let vanishing: Vec<_> = [7, 8]
            .map(|number| {
                let mut message = proposal(&id, "R1.A");
                message["id"] = json!(number);
                client.begin(&message)
            })
            .into();
        std::thread::sleep(Duration::from_millis(200));
        drop(vanishing);
        // And one that disconnects during its request.
        let mut half = server.connect();
        write!(half, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{{").unwrap();
        drop(half);
        std::thread::sleep(Duration::from_millis(200));
        drop(held);
        server.terminate();
        assert!(server.end().0.success());
        let repository = sandbox.repository(&id);
        sandbox.assert_sound(&repository);
        assert_eq!(
            sandbox.git(&repository, &["rev-list", "--count", "HEAD"]).trim(),
            "3",
            "both calls had begun"
        );
        assert_eq!(locks(&repository.join(".git")), Vec::<String>::new());
    }

    fn locks(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".lock")).collect()
    }

    #[test]
    fn a_call_that_is_interrupted_twice_ends_the_server_at_once() {
        let sandbox = Sandbox::new();
        let mut server = HttpServer::start(&sandbox, &[]);
        let client = server.client(&[]);
        let id = client.start();
        let _held = occupy(&sandbox, &id);
        let _under_way = client.begin(&proposal(&id, "R1.A"));
        std::thread::sleep(Duration::from_millis(200));
        server.terminate();
        std::thread::sleep(Duration::from_millis(100));
        server.terminate();
        let (status, said) = server.end();
        assert!(!status.success());
        assert!(said.contains("interrupted before all calls were answered"), "{said}");
    }
}
