//! The site over HTTP, through the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Sandbox, Session, TOT, TOT_REPORT, eventually, open_many_files};

/// A running `tot-report --serve`.
struct Site {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Site {
    fn start(sandbox: &Sandbox, source: &Path) -> Site {
        let mut command = sandbox.command(TOT_REPORT);
        command.arg(source).args(["--serve", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let address = address.unwrap_or_else(|| panic!("no address in {line}")).0.to_owned();
        Site { child, stderr, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost"))
    }

    /// Sends a request's first lines.
    fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        write!(stream, "{request}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Returns the state that a page shows.
    fn shown(&self, page: &str) -> String {
        let page = self.get(page).body;
        page.split("data-shown=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_page_learns_of_new_commits_and_sign_offs() {
    let mut session = Session::begun(&Sandbox::new());
    let site = Site::start(&session.sandbox, &session.repository());
    let before = site.shown("/");
    assert_eq!(site.get("/-/shown?not=another").status, 200);
    assert_eq!(site.get("/nodes/R2.A1.html").status, 404);
    let started = Instant::now();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.get(&format!("/-/shown?not={before}")));
        session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
        waiting.join().unwrap()
    });
    assert_eq!(waiting.status, 200);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_ne!(site.shown("/"), before);
    // Two commits were made. The second may have come after the response.
    eventually("the page of the new node", || site.get("/nodes/R2.A1.html").status == 200);
    let before = site.shown("/");
    assert_eq!(session.sandbox.run(TOT, &["approve", "--unsigned", "--root", "investigations"]).status, 0);
    assert_eq!(site.get(&format!("/-/shown?not={before}")).status, 200);
    eventually("the sign-off", || site.get("/").body.contains("approved/"));
}

/// Each new commit once rendered all investigations again, and reloaded all open pages.
#[test]
fn a_commit_changes_the_pages_of_its_investigation_and_the_index_alone() {
    let sandbox = Sandbox::new();
    let mut grows = Session::start(&sandbox, json!({"mode": "smoke"}));
    sandbox.sleep(1);
    let stays = Session::start(&sandbox, json!({}));
    let site = Site::start(&sandbox, &sandbox.root());
    let pages = [format!("/{}/", grows.id), format!("/{}/", stays.id), "/".to_owned()];
    let before = pages.each_ref().map(|page| site.shown(page));
    grows.grow(&[("R1.A", None)], "EXPLORE");
    eventually("the commit", || site.shown(&pages[0]) != before[0]);
    assert_eq!(site.get(&format!("/-/shown?not={}", before[0])).status, 200);
    assert_eq!(site.shown(&pages[1]), before[1]);
    assert_ne!(site.shown("/"), before[2]);
    // With another one present, each has a different place.
    sandbox.sleep(1);
    let third = Session::start(&sandbox, json!({}));
    eventually("the third", || site.get(&format!("/{}/", third.id)).status == 200);
    assert_eq!(site.get(&pages[1]).status, 200);
}

#[test]
fn only_this_machine_s_names_get_and_head_and_files_of_the_site_are_answered() {
    let session = Session::start(&Sandbox::new(), json!({}));
    session.sandbox.sleep(1);
    let _other = Session::start(&session.sandbox, json!({}));
    let site = Site::start(&session.sandbox, &session.sandbox.root());
    for (host, status) in [
        (site.address.as_str(), 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8420", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:80", 421),
        ("[::1].evil.example", 421),
        ("", 421),
    ] {
        let answer = site.send(&format!("GET / HTTP/1.1\r\nHost: {host}"));
        assert_eq!(answer.status, status, "{host}: {}", answer.body);
        assert_eq!(answer.body.contains("sky blue"), status == 200, "{host}");
    }
    assert_eq!(site.send("GET http://evil.example/ HTTP/1.1\r\nHost: localhost").status, 421);
    assert_eq!(site.send("GET / HTTP/1.0").status, 421);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let answer = site.send(&format!("{method} / HTTP/1.1\r\nHost: localhost"));
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: get, head"));
    }
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/assets/..%2f..%2fetc/passwd",
        "/assets/",
        "/.git/config",
        "/%00",
        "/nothing",
    ] {
        let answer = site.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.body.contains("<p><a href=\"/\">First page</a></p>"), "{}", answer.body);
    }
    let moved = site.get(&format!("/{}", session.id));
    assert_eq!(moved.status, 308);
    assert!(moved.head.contains(&format!("location: /{}/", session.id)));
    assert_eq!(site.get(&format!("/{}/", session.id)).status, 200);
    let head = site.send("HEAD / HTTP/1.1\r\nHost: localhost");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn answers_say_what_they_are_and_what_is_known_is_not_sent_again() {
    let session = Session::start(&Sandbox::new(), json!({}));
    let site = Site::start(&session.sandbox, &session.repository());
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/assets/style.css", "text/css; charset=utf-8"),
        ("/assets/site.js", "text/javascript; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
        ("/investigation.json", "application/json"),
        ("/graph.dot", "text/plain; charset=utf-8"),
    ] {
        let answer = site.get(path);
        assert_eq!(answer.status, 200, "{path}");
        for header in
            [&format!("content-type: {kind}"), "x-content-type-options: nosniff", "cache-control: no-cache"]
        {
            assert!(answer.head.contains(header), "{header} is missing for {path}: {}", answer.head);
        }
        let tag = answer.head.split("etag: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let again = site.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {tag}"));
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
    }
}

#[test]
#[ignore = "takes 20 seconds; .ci/run tries it"]
fn half_open_connections_keep_out_nobody_and_do_not_stay() {
    let session = Session::start(&Sandbox::new(), json!({}));
    let site = Site::start(&session.sandbox, &session.repository());
    open_many_files();
    let mut flood: Vec<_> = (0..1_500)
        .map(|_| {
            let mut stream = site.connect();
            // A connection may have been closed in the meantime to make room.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: loc");
            stream
        })
        .collect();
    let since = Instant::now();
    assert_eq!(site.get("/").status, 200);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    // Read until it is closed. A stream that stays open would time out.
    let open = flood.iter_mut().filter_map(|stream| stream.read_to_end(&mut Vec::new()).err());
    assert_eq!(open.filter(|fault| fault.kind() == std::io::ErrorKind::WouldBlock).count(), 0);
}

#[cfg(unix)]
#[test]
fn it_ends_well_when_it_is_told_to_even_while_a_page_waits() {
    let session = Session::start(&Sandbox::new(), json!({}));
    for signal in ["INT", "TERM"] {
        let mut site = Site::start(&session.sandbox, &session.repository());
        let shown = site.shown("/");
        let mut waiting = site.connect();
        write!(waiting, "GET /-/shown?not={shown} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let process = site.child.id().to_string();
        assert_eq!(session.sandbox.run("kill", &[&format!("-{signal}"), &process]).status, 0);
        assert!(site.child.wait().unwrap().success(), "{signal}");
        let mut rest = String::new();
        site.stderr.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}

#[test]
fn what_others_could_reach_must_be_asked_for() {
    let session = Session::start(&Sandbox::new(), json!({}));
    for (arguments, reason) in [
        (["--serve", "0.0.0.0:0"], "--allow-remote"),
        (["--serve", "somewhere"], "127.0.0.1:8420"),
        (["--serve", "--out=x"], "--out"),
        (["--allow-remote", "--out=x"], "cannot be used with"),
    ] {
        let said = session.sandbox.run(TOT_REPORT, &[&["investigations"], &arguments[..]].concat());
        assert!(said.status > 0 && said.err.contains(reason), "{arguments:?}: {said:?}");
    }
}
