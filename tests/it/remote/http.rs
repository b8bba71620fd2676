//! Smart HTTP: git's own `http-backend` behind a server that can refuse requests and cut connections at any byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tree_of_thoughts::service::remote::{GitProgram, RemoteError};

use super::{Machine, hub, two};
use crate::support::Sandbox;
use crate::support::testing::tries_all;

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

#[derive(Default)]
struct Behaviour {
    /// Applies to requests whose first line contains this text.
    fault: Option<(&'static str, Fault)>,
}

pub struct GitHttp {
    port: u16,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl GitHttp {
    /// Serves all repositories in the sandbox.
    pub fn start(sandbox: &Sandbox) -> GitHttp {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behaviour = Arc::new(Mutex::new(Behaviour::default()));
        let (root, shared) = (sandbox.path(""), Arc::clone(&behaviour));
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, shared) = (root.clone(), Arc::clone(&shared));
                // A client that disconnects is not an error of the server.
                thread::spawn(move || serve(&stream, &root, &shared).unwrap_or_default());
            }
        });
        GitHttp { port, behaviour }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hub.git", self.port)
    }

    pub fn fault(&self, only: &'static str, fault: Fault) {
        self.behaviour.lock().unwrap().fault = Some((only, fault));
    }

    pub fn mend(&self) {
        self.behaviour.lock().unwrap().fault = None;
    }
}

fn serve(stream: &TcpStream, root: &Path, behaviour: &Mutex<Behaviour>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
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
    let body = match header("transfer-encoding") {
        "chunked" => chunks(&mut reader)?,
        _ => {
            let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
            reader.read_exact(&mut body)?;
            body
        }
    };
    let fault = fault(behaviour, &first);
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
    let mut stream = stream;
    stream.write_all(kept)?;
    stream.shutdown(Shutdown::Write)
}

/// Decides what happens to a request. Each connection is cut only once.
fn fault(behaviour: &Mutex<Behaviour>, first: &str) -> Option<Fault> {
    let mut behaviour = behaviour.lock().unwrap();
    let (_, fault) = behaviour.fault.filter(|(only, _)| first.contains(only))?;
    if !matches!(fault, Fault::Status(..)) {
        behaviour.fault = None;
    }
    Some(fault)
}

fn chunks(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// Converts the response of git's CGI program to HTTP.
fn backend<'h>(root: &Path, first: &str, header: impl Fn(&str) -> &'h str, body: &[u8]) -> Vec<u8> {
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "http.receivepack")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_KEY_1", "safe.directory")
        .env("GIT_CONFIG_VALUE_1", "*")
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
    let mut answer =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n\r\n")
            .into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn served(sandbox: &Sandbox) -> (GitHttp, PathBuf) {
    let path = hub(sandbox);
    (GitHttp::start(sandbox), path)
}

#[test]
fn a_team_shares_by_http() {
    let sandbox = Sandbox::new();
    let (http, _) = served(&sandbox);
    let (one, other, id) = two(&sandbox, &http.url());
    other.grow(&id, &["R2.A1"]);
    other.synced();
    let entry = one.synced();
    assert_eq!((&entry["came"], &entry["went"]), (&2.into(), &0.into()), "{entry:#}");
    assert_eq!(one.head(&id), other.head(&id));
    one.assert_sound(&id);
}

/// 401, 403 and 503: reported in the remote's own words, and local work continues.
#[test]
fn refused_by_the_remote_is_told_in_its_own_words_and_work_goes_on() {
    let sandbox = Sandbox::new();
    let (http, path) = served(&sandbox);
    let (one, _, id) = two(&sandbox, &http.url());
    for (only, status, words) in [
        ("/info/refs", 401, "credential helper"),
        ("/info/refs", 403, "403"),
        ("git-receive-pack", 403, "403"),
        ("git-receive-pack", 503, "503"),
        ("POST /hub.git/git-receive-pack", 403, "403"),
    ] {
        one.grow(&id, &[format!("R2.A{status}{}", only.len()).as_str()]);
        let before = (one.head(&id), sandbox.git(&path, &["for-each-ref"]));
        http.fault(only, Fault::Status(status, "The quota is used up."));
        let told = one.fails("REMOTE_FAILED", &[]);
        assert!(told.contains(words), "{status} {told}");
        assert_eq!(before, (one.head(&id), sandbox.git(&path, &["for-each-ref"])));
        one.assert_sound(&id);
        http.mend();
        assert_eq!(one.synced()["went"], 2);
    }
}

/// Whatever the remote or the network cuts off: the next sync continues, and no lock is left.
#[test]
fn a_cut_connection_at_any_byte_is_continued_by_the_next_sync() {
    let sandbox = Sandbox::new();
    let (http, path) = served(&sandbox);
    let (one, other, id) = two(&sandbox, &http.url());
    let mut cuts = Vec::new();
    let places: &[usize] = if tries_all() { &[0, 1, 40, 170, 200, 260, 500, 900] } else { &[0, 200] };
    for &bytes in places {
        cuts.push(("info/refs", Fault::CutAnswer(bytes)));
        cuts.push(("POST /hub.git/git-upload-pack", Fault::CutAnswer(bytes)));
        cuts.push(("POST /hub.git/git-receive-pack", Fault::CutAnswer(bytes)));
        cuts.push(("POST /hub.git/git-receive-pack", Fault::CutRequest(bytes)));
    }
    for (number, (only, fault)) in cuts.into_iter().enumerate() {
        one.grow(&id, &[format!("R2.Aone{number}").as_str()]);
        http.fault(only, fault);
        // It may have succeeded anyway.
        let cut = one.sync(&[]);
        if !cut["error"].is_null() {
            assert_eq!(cut["error"]["code"], "REMOTE_FAILED", "{cut:#}");
        }
        let folder = path.join("refs");
        for folder in [&folder, &one.repository(&id).join(".git")] {
            let found = Command::new("find").arg(folder).args(["-name", "*.lock"]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&found.stdout), "", "no lock is left");
        }
        http.mend();
        one.synced();
        assert_eq!(sandbox.git(&path, &["rev-parse", &format!("tot/{id}")]).trim(), one.head(&id));
    }
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
    other.assert_sound(&id);
}

#[test]
fn an_answer_that_was_cut_off_after_the_push_is_asked_for() {
    let sandbox = Sandbox::new();
    let (http, path) = served(&sandbox);
    let (one, _, id) = two(&sandbox, &http.url());
    one.grow(&id, &["R2.A1"]);
    http.fault("POST /hub.git/git-receive-pack", Fault::CutAnswer(0));
    let entry = one.sync(&[]);
    assert_eq!((&entry["went"], &entry["error"]), (&2.into(), &serde_json::Value::Null), "{entry:#}");
    assert_eq!(sandbox.git(&path, &["rev-parse", &format!("tot/{id}")]).trim(), one.head(&id));
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let sandbox = Sandbox::new();
    let (http, _) = served(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    machine.start();
    let address = http.url().replace("http://", "http://me:hunter22@");
    let added = machine.ok(&["remote", "add", "origin", &address]);
    http.fault("", Fault::Status(403, "No."));
    let failed = machine.tot(&["sync"]);
    for text in [added, machine.ok(&["remote"]), failed.out, failed.err] {
        assert!(!text.contains("hunter22"), "{text}");
    }
    assert_eq!(failed.status, 1);
}

/// A remote that accepts connections but never responds.
#[test]
fn a_remote_that_hangs_is_left_after_its_time() {
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/hub.git", listener.local_addr().unwrap().port());
    let git = GitProgram::find(false).unwrap().with_limit(Duration::from_millis(500));
    let asked = git.ls_remote(&sandbox.path("home"), &url, &["refs/heads/*".to_owned()]);
    assert!(matches!(asked, Err(RemoteError::TimedOut { .. })), "{asked:?}");
}
