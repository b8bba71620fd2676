//! Tests slow and disconnected clients on a server with short time limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;
use crate::base::world::World;
use crate::mcp::tools;
use crate::service::Service;

/// How long the servers in these tests wait for a client.
const SHORT: Duration = Duration::from_millis(400);

/// The idle time after which sessions in these tests end. It is long enough for two requests on a busy machine.
const IDLE: Duration = Duration::from_secs(2);

/// The time limit for anything that must happen, even on a busy machine.
const LONG: Duration = Duration::from_secs(20);

struct Fixture {
    address: SocketAddr,
    service: Arc<Service>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn start(idle: Duration) -> Fixture {
        let folder = crate::testing::folder();
        let service = Arc::new(Service::new(folder.path().join("root"), World::Machine, None));
        let server = Server::new("Read me.", tools::all(&service)).serving(Arc::clone(&service));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = HttpOptions {
            address,
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            sessions: 1,
            connections: 100,
            idle,
            body: 1 << 20,
            slow: SHORT,
        };
        tokio::spawn(serve_at(address, listener, server, options, std::future::pending()));
        Fixture { address, service, _folder: folder }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Returns the head of a request, including the blank line.
    fn head(method: &str, session: &str, more: &str) -> String {
        let session =
            if session.is_empty() { String::new() } else { format!("Mcp-Session-Id: {session}\r\n") };
        format!(
            "{method} {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}{more}\r\n"
        )
    }

    /// Sends a message on a new connection and returns the whole answer.
    async fn post(&self, session: &str, message: &Value) -> String {
        let body = message.to_string();
        let more = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
        let mut stream = self.connect().await;
        stream.write_all(format!("{}{body}", Self::head("POST", session, &more)).as_bytes()).await.unwrap();
        rest(&mut stream).await
    }

    /// Starts a session in the older protocol. Returns `None` if there is no room for another session.
    async fn session(&self) -> Option<String> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let answer = self.post("", &hello).await;
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "))?.to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert!(self.post(&session, &ready).await.starts_with("HTTP/1.1 202"));
        Some(session)
    }

    /// Asserts that other requests are answered at once.
    async fn assert_quick(&self) {
        let since = Instant::now();
        let mut stream = self.connect().await;
        let ask = format!("GET {HEALTH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        assert!(rest(&mut stream).await.starts_with("HTTP/1.1 200"));
        assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    }

    /// Asserts that all listeners are soon gone.
    async fn assert_nobody_listens(&self) {
        soon("nobody listens any more", || self.service.changes.receiver_count() == 0).await;
    }
}

/// Returns everything that still arrives on a connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // A reset also ends the connection.
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut said)).await.expect("an end in time");
    String::from_utf8(said).unwrap()
}

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < LONG, "not so: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_without_requests_ends_and_its_memory_goes() {
    let server = Fixture::start(IDLE).await;
    let first = server.session().await.unwrap();
    assert_eq!(server.session().await, None, "there is room for one");
    let since = Instant::now();
    let second = loop {
        // Each attempt is a request without a session, so it keeps no session alive.
        if let Some(session) = server.session().await {
            break session;
        }
        assert!(since.elapsed() < LONG, "the session doesn't end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(server.post(&first, &ping()).await.starts_with("HTTP/1.1 404"));
    // A session stays alive as long as it is used.
    for _ in 0..6 {
        tokio::time::sleep(IDLE / 4).await;
        assert!(server.post(&second, &ping()).await.starts_with("HTTP/1.1 200"));
    }
    server.assert_nobody_listens().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_slowly_is_cut_off_and_holds_up_nobody() {
    let server = Fixture::start(LONG).await;
    for half in ["", "POST /mcp HTTP/1.1\r\nHost: loc"] {
        let mut stream = server.connect().await;
        stream.write_all(half.as_bytes()).await.unwrap();
        server.assert_quick().await;
        let said = rest(&mut stream).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
    }
    let mut stream = server.connect().await;
    let head = Fixture::head("POST", "", "Content-Length: 5000\r\n");
    stream.write_all(format!("{head}{{").as_bytes()).await.unwrap();
    server.assert_quick().await;
    // Sending a byte now and then does not extend the time limit.
    let (mut reading, mut writing) = stream.split();
    let mut said = Vec::new();
    let drip = async {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(SHORT / 4).await;
        }
    };
    tokio::select! {
        read = tokio::time::timeout(LONG, reading.read_to_end(&mut said)) => drop(read.expect("an end in time")),
        () = drip => {}
    }
    let said = String::from_utf8(said).unwrap();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_cut_off_and_holds_up_nobody() {
    let server = Fixture::start(LONG).await;
    let session = server.session().await.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let head = Fixture::head("POST", &session, &format!("Content-Length: {}\r\n", list.len()));
    let request = format!("{head}{list}");
    // Each answer takes about 20 KB, so eventually no more fit into the buffers.
    let begged = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    let begged = tokio::time::timeout(LONG, begged);
    let others = async {
        for _ in 0..5 {
            tokio::time::sleep(SHORT / 4).await;
            server.assert_quick().await;
        }
    };
    let (cut_off, ()) = tokio::join!(begged, others);
    assert!(cut_off.is_ok(), "it is still waited for");
    server.assert_quick().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_listened_and_vanished_leaves_no_task_behind() {
    let server = Fixture::start(IDLE).await;
    server.session().await.unwrap();
    soon("the session hears of new investigations", || server.service.changes.receiver_count() == 1).await;
    // No changes occurred that could have told the task that its client is gone.
    server.assert_nobody_listens().await;

    // The same applies in the newest protocol, where the connection is the subscription.
    let listen = json!({"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": {
        "notifications": {"resourcesListChanged": true},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    let more = format!(
        "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n",
        listen.len()
    );
    let mut stream = server.connect().await;
    stream.write_all(format!("{}{listen}", Fixture::head("POST", "", &more)).as_bytes()).await.unwrap();
    soon("it listens", || server.service.changes.receiver_count() == 1).await;
    drop(stream);
    server.assert_nobody_listens().await;
}
