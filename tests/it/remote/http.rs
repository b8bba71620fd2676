//! Smart HTTP: git's own `http-backend` behind a server that can refuse requests and cut connections at any byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tree_of_thoughts::service::remote::{GitProgram, RemoteError};

use super::{Machine, hub, settle, two};
use crate::support::testing::tries_all;
use crate::support::{Sandbox, files};

/// What happens to a request.
#[derive(Clone, Copy)]
pub enum Fault {
    /// The server answers with this status and text.
    Status(u16, &'static str),
    /// The connection ends after this many bytes of the answer.
    CutAnswer(usize),
    /// The connection ends after git has received this many bytes of the request.
    CutRequest(usize),
}

/// What happens to requests whose first line contains a text.
type Faults = Mutex<Option<(&'static str, Fault)>>;

pub struct GitHttp {
    pub url: String,
    faults: Arc<Faults>,
}

impl GitHttp {
    /// Serves the sandbox's hub.
    pub fn start(sandbox: &Sandbox) -> GitHttp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hub.git", listener.local_addr().unwrap());
        let faults = Arc::new(Faults::default());
        let (root, shared) = (sandbox.path(""), Arc::clone(&faults));
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, shared) = (root.clone(), Arc::clone(&shared));
                // A client that disconnects is not an error of the server.
                thread::spawn(move || serve(&stream, &root, &shared).unwrap_or_default());
            }
        });
        GitHttp { url, faults }
    }

    pub fn fault(&self, only: &'static str, fault: Fault) {
        *self.faults.lock().unwrap() = Some((only, fault));
    }

    pub fn mend(&self) {
        *self.faults.lock().unwrap() = None;
    }
}

/// Serves a request. Its body has a length: git sends chunks only from 1 MiB on.
fn serve(mut stream: &TcpStream, root: &Path, faults: &Faults) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let fault = fault(faults, &first);
    let answer = match fault {
        Some(Fault::Status(status, text)) => format!(
            "HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nWWW-Authenticate: Basic realm=\"x\"\r\nConnection: close\r\n\r\n{text}\n"
        )
        .into_bytes(),
        Some(Fault::CutRequest(bytes)) => {
            backend(root, &first, header, &body[..bytes.min(body.len())]);
            Vec::new()
        }
        _ => backend(root, &first, header, &body),
    };
    let kept = match fault {
        Some(Fault::CutAnswer(bytes)) => &answer[..bytes.min(answer.len())],
        _ => &answer,
    };
    stream.write_all(kept)?;
    stream.shutdown(Shutdown::Write)
}

/// Decides what happens to a request. Each connection is cut only once.
fn fault(faults: &Faults, first: &str) -> Option<Fault> {
    let mut next = faults.lock().unwrap();
    let (_, fault) = next.filter(|(only, _)| first.contains(only))?;
    if !matches!(fault, Fault::Status(..)) {
        *next = None;
    }
    Some(fault)
}

/// Converts the response of git's CGI program to HTTP.
fn backend<'h>(root: &Path, first: &str, header: impl Fn(&str) -> &'h str, body: &[u8]) -> Vec<u8> {
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut child = Command::new("git")
        .args(["-c", "http.receivepack=true", "-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("HOME", root.join("home"))
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let sent = body.to_owned();
    let writer = thread::spawn(move || pipe.write_all(&sent));
    let output = child.wait_with_output().unwrap().stdout;
    let _ = writer.join();
    let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(0);
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let body = output.get(end + 4..).unwrap_or_default();
    // With its length, as servers send it. Otherwise a cut response would look like a short one.
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// 401, 403 and 503: reported in the remote's own words, and local work continues.
#[test]
fn refused_by_the_remote_is_told_in_its_own_words_and_work_goes_on() {
    let sandbox = Sandbox::new();
    let (hub, http) = (hub(&sandbox), GitHttp::start(&sandbox));
    let (one, _, id) = two(&sandbox, &http.url);
    for (only, status, words) in [
        ("/info/refs", 401, "credential helper"),
        ("/info/refs", 403, "403"),
        ("git-receive-pack", 403, "403"),
        ("git-receive-pack", 503, "503"),
        ("POST /hub.git/git-receive-pack", 403, "403"),
    ] {
        one.grow(&id, &[&format!("R2.A{status}{}", only.len())]);
        let before = (one.head(&id), hub.state());
        http.fault(only, Fault::Status(status, "The quota is used up."));
        one.fails("REMOTE_FAILED", &[words]);
        assert_eq!(before, (one.head(&id), hub.state()));
        one.assert_sound(&id);
        http.mend();
        assert_eq!(one.exchanged(), [0, 2]);
    }
}

/// Whatever the remote or the network cuts off: the next sync continues, and no lock is left.
#[test]
fn a_cut_connection_at_any_byte_is_continued_by_the_next_sync() {
    let sandbox = Sandbox::new();
    let (hub, http) = (hub(&sandbox), GitHttp::start(&sandbox));
    let (one, other, id) = two(&sandbox, &http.url);
    let places: &[usize] = if tries_all() { &[0, 1, 40, 170, 200, 260, 500, 900] } else { &[0, 200] };
    for &bytes in places {
        for (number, (only, fault)) in [
            ("info/refs", Fault::CutAnswer(bytes)),
            ("POST /hub.git/git-upload-pack", Fault::CutAnswer(bytes)),
            ("POST /hub.git/git-receive-pack", Fault::CutAnswer(bytes)),
            ("POST /hub.git/git-receive-pack", Fault::CutRequest(bytes)),
        ]
        .into_iter()
        .enumerate()
        {
            one.grow(&id, &[&format!("R2.A{number}at{bytes}")]);
            http.fault(only, fault);
            let cut = one.sync(&[]);
            // It may have succeeded anyway. A push without an answer has: the remote is asked again.
            let is_pushed = matches!(fault, Fault::CutAnswer(_)) && only.ends_with("receive-pack");
            let is_told = cut["error"]["code"] == "REMOTE_FAILED" && !is_pushed;
            assert!(is_told || cut["error"].is_null(), "{cut:#}");
            for folder in [&hub.path, &one.repository(&id)] {
                let mut names = files(folder, true).into_keys();
                assert!(!names.any(|name| name.extension().is_some_and(|it| it == "lock")));
            }
            http.mend();
            one.synced();
            assert_eq!(hub.head(&id), one.head(&id));
        }
    }
    settle(&[&one, &other], &id);
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let sandbox = Sandbox::new();
    hub(&sandbox);
    let http = GitHttp::start(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    machine.start();
    let address = http.url.replace("http://", "http://me:hunter22@");
    let added = machine.ok(&["remote", "add", "origin", &address]);
    http.fault("", Fault::Status(403, "No."));
    let failed = machine.refuses(&["sync"], &[]);
    for text in [added, machine.ok(&["remote"]), failed.out, failed.err] {
        assert!(!text.contains("hunter22"), "{text}");
    }
}

/// A remote that accepts connections but never responds.
#[test]
fn a_remote_that_hangs_is_left_after_its_time() {
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hub.git", listener.local_addr().unwrap());
    let git = GitProgram::find(false).unwrap().with_limit(Duration::from_millis(500));
    let asked = git.ls_remote(&sandbox.path("home"), &url, &["refs/heads/*".to_owned()]);
    assert!(matches!(asked, Err(RemoteError::TimedOut { .. })), "{asked:?}");
}
