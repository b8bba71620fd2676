//! A sandbox for each test: folders, HOME, git configuration, identity and clock.

pub mod closing;
pub mod http;
pub mod memory;
pub mod random;
pub mod stdio;
pub mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::domain::{Code, ShortId};
use tree_of_thoughts::mcp::{About, Tool, tools};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::store::{Snapshot, Store};

pub use stdio::Server;

/// The programs under test.
pub const TOT: &str = env!("CARGO_BIN_EXE_tot");
pub const TOT_MCP: &str = env!("CARGO_BIN_EXE_tot-mcp");
pub const TOT_REPORT: &str = env!("CARGO_BIN_EXE_tot-report");

/// 2026-01-05T09:00:00Z, the time at which every test starts.
const BEGIN: i64 = 1_767_603_600_000;

/// A folder that is removed with the last of its handles. Nothing in it refers to the user's own files.
#[derive(Clone)]
pub struct Sandbox {
    folder: Arc<TempDir>,
    now: Arc<AtomicI64>,
}

impl Sandbox {
    pub fn new() -> Self {
        let sandbox = Sandbox { folder: testing::folder().into(), now: Arc::new(BEGIN.into()) };
        std::fs::create_dir(sandbox.path("home")).unwrap();
        sandbox.set_clock(BEGIN);
        sandbox
    }

    /// Returns a path in the sandbox.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the default root of its servers.
    pub fn root(&self) -> PathBuf {
        self.path("investigations")
    }

    /// Returns a command that sees only the sandbox.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            // Windows can't start any program without it.
            .envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // As if one client had started all servers of a test.
            .env("CLAUDE_CODE_SESSION_ID", "session-1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Tester")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "tester@localhost")))
            .current_dir(self.folder.path());
        command
    }

    /// Runs git in a folder of the sandbox, and returns its output.
    pub fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.try_git(folder, arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs git in a folder of the sandbox.
    pub fn try_git(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command("git").arg("-C").arg(folder).args(arguments).output().unwrap()
    }

    /// Writes a file of a repository and commits all changes, as a person does.
    pub fn commit_file(&self, repository: &Path, path: &str, text: &str) {
        std::fs::write(there(repository, path), text).unwrap();
        self.git(repository, &["add", "-A"]);
        self.git(repository, &["commit", "-q", "-m", "By hand"]);
    }

    /// Runs a program in the sandbox's folder, without input.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Said {
        self.command(program).args(arguments).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Sets a value in the user's git configuration.
    pub fn configure(&self, key: &str, value: &str) {
        self.git(&self.path("home"), &["config", "--global", key, value]);
    }

    /// Writes a shell script that can be run, and returns its path.
    #[cfg(unix)]
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        path
    }

    /// Advances the servers' clock.
    pub fn sleep(&self, seconds: i64) {
        self.set_clock(self.now.fetch_add(seconds * 1_000, Ordering::SeqCst) + seconds * 1_000);
    }

    /// Written to another file first, since servers may read it at any time.
    fn set_clock(&self, milliseconds: i64) {
        let time = tree_of_thoughts::domain::Timestamp::from_milliseconds(milliseconds).unwrap();
        let aside = self.path(&format!("clock.{milliseconds}"));
        std::fs::write(&aside, time.to_string()).unwrap();
        std::fs::rename(aside, self.path("clock")).unwrap();
    }

    /// Starts a server on the default root.
    pub fn server(&self) -> Server {
        self.server_with(&[])
    }

    /// Starts a server with additional arguments.
    pub fn server_with(&self, arguments: &[&str]) -> Server {
        self.server_in(&self.root(), arguments)
    }

    /// Starts a server on the default root without `initialize`, for the stateless protocol.
    pub fn bare_server(&self) -> Server {
        Server::without_greeting(self.timed_command(&self.root(), &[]))
    }

    /// Starts a server on another root.
    pub fn server_in(&self, root: &Path, arguments: &[&str]) -> Server {
        Server::start(self.timed_command(root, arguments))
    }

    fn timed_command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = self.server_command(root, arguments);
        command.env("TOT_CLOCK", self.path("clock"));
        command
    }

    /// Returns the command for a server with the machine's own clock. With a stopped clock, two starts are one.
    pub fn server_command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(TOT_MCP);
        command.arg("--root").arg(root).args(arguments);
        command
    }

    /// Returns the repository of a session.
    pub fn repository(&self, session: &str) -> PathBuf {
        self.root().join(session)
    }

    /// Asserts that git calls the repository sound and the work tree clean.
    pub fn assert_sound(&self, repository: &Path) {
        assert_eq!(self.git(repository, &["status", "--porcelain"]), "", "the work tree is clean");
        let fsck = self.try_git(repository, &["fsck", "--strict"]);
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
    }

    /// Starts a server in the default root with a command that ends in its program, such as `strace tot-mcp`.
    pub fn serve(&self, mut command: Command) -> Server {
        command.arg("--root").arg(self.root()).env("TOT_CLOCK", self.path("clock"));
        Server::start(command)
    }

    /// Returns the commit at HEAD. Most calls check it before and after, so no process is started for it.
    pub fn head(&self, repository: &Path) -> String {
        gix::open(repository).unwrap().head_id().unwrap().to_string()
    }
}

/// Puts the programs under test on the PATH of a command, as git needs for its merge driver.
pub fn with_tot(command: &mut Command) -> &mut Command {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path =
        [Path::new(TOT).parent().unwrap().to_owned()].into_iter().chain(std::env::split_paths(&others));
    command.env("PATH", std::env::join_paths(path).unwrap())
}

/// Waits until the condition is true: much longer than anything takes, even on a busy machine.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(120), "it never came: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program's output and exit status, which is -1 if a signal ended it.
#[derive(Debug)]
pub struct Said {
    pub out: String,
    pub err: String,
    pub status: i32,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let status = output.status.code().unwrap_or(-1);
        Said { out: text(output.stdout), err: text(output.stderr), status }
    }
}

/// Loads an investigation.
pub fn load(repository: &Path) -> Snapshot {
    Store::new(repository.parent().unwrap()).load(repository).unwrap()
}

/// Asks a process to end, as an operator does.
fn terminate(process: u32) {
    assert!(Command::new("kill").args(["-TERM", &process.to_string()]).status().unwrap().success());
}

/// Raises this process's limit on open files to the maximum. The default is often 1,024.
pub fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

/// Returns the tested part of a list: all of it, or every eighth entry.
pub fn some<T>(all: Vec<T>) -> Vec<T> {
    all.into_iter().step_by(if testing::tries_all() { 1 } else { 8 }).collect()
}

/// Returns the error codes of a refusal, which has at least one.
fn refusals(reply: &Value) -> Vec<String> {
    assert_eq!(reply["status"], "REJECTED", "{reply:#}");
    let codes = codes(&reply["errors"]);
    assert!(!codes.is_empty(), "{reply:#}");
    codes
}

/// Returns the codes in a list of errors, warnings or required steps, or none if the list is absent.
pub fn codes(notices: &Value) -> Vec<String> {
    notices
        .as_array()
        .into_iter()
        .flatten()
        .map(|notice| notice["code"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the message of an error or a warning, with its suggestion.
pub fn told(notice: &Value) -> String {
    let part = |name: &str| notice[name].as_str().unwrap_or_default();
    format!("{} {}", part("message"), part("suggestion")).trim_end().to_owned()
}

/// Returns a node to propose.
pub fn node(id: &str, parent: Option<&str>) -> Value {
    json!({"id": id, "parent": parent, "title": format!("Title of {id}"), "plannedAction": "Look."})
}

/// Returns a result to commit, by an agent named after the node.
pub fn result(id: &str, state: &str) -> Value {
    json!({"nodeId": id, "state": state, "findings": format!("Findings of {id}."), "agentId": format!("agent-{id}")})
}

/// Returns the text with short ids in place of whole ones.
pub fn short(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for (number, piece) in text.split('-').enumerate() {
        let is_id = |text: &str| {
            let word = text.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '.').next();
            word.is_some_and(|word| word.parse::<ShortId>().is_ok())
        };
        let is_digit = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        let has_six = piece.as_bytes().get(..6).is_some_and(|six| six.iter().all(is_digit));
        match number > 0 && has_six && !piece[6..].starts_with(char::is_alphanumeric) && is_id(&short) {
            true => short.push_str(&piece[6..]),
            false => short.extend((number > 0).then_some("-").into_iter().chain([piece])),
        }
    }
    short
}

/// Returns the path of a file. A path with a short id, such as `nodes/R1/R1.A.yaml` or `nodes/R1.A.html`, leads to the file of
/// the node that has it.
pub fn there(folder: &Path, path: &str) -> PathBuf {
    let file = folder.join(path);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_whole = |other: &Path| name(other) != name(&file) && short(&name(other)) == name(&file);
    let beside = std::fs::read_dir(file.parent().unwrap()).into_iter().flatten().flatten();
    beside.map(|it| it.path()).find(|other| is_whole(other)).unwrap_or(file)
}

/// An investigation, with the server that it is worked on through.
pub struct Session {
    pub server: Server,
    /// Declared after the server, which must have ended before its folder is removed.
    pub sandbox: Sandbox,
    /// The server's root.
    pub root: PathBuf,
    pub id: String,
}

impl Session {
    /// Starts an investigation with these `tot_start` arguments. The query may be left out.
    pub fn start(sandbox: &Sandbox, arguments: Value) -> Self {
        Session::start_with(sandbox, sandbox.server(), arguments)
    }

    /// Starts an investigation through this server, whose root is the default.
    pub fn start_with(sandbox: &Sandbox, mut server: Server, mut arguments: Value) -> Self {
        if arguments["query"].is_null() {
            arguments["query"] = json!("Why is the sky blue?");
        }
        let id = server.ok("tot_start", arguments)["sessionId"].as_str().unwrap().to_owned();
        Session::of(sandbox, server, &id)
    }

    /// An investigation in the default root, with its server.
    pub fn of(sandbox: &Sandbox, server: Server, id: &str) -> Self {
        Session { sandbox: sandbox.clone(), root: sandbox.root(), server, id: id.to_owned() }
    }

    /// A clone of the investigation in another root of the sandbox, with a server of its own.
    pub fn cloned(&self, root: &str) -> Self {
        let (sandbox, root) = (self.sandbox.clone(), self.sandbox.path(root));
        std::fs::create_dir_all(&root).unwrap();
        sandbox.git(&root, &["clone", "--quiet", self.repository().to_str().unwrap()]);
        Session { server: sandbox.server_in(&root, &[]), sandbox, root, id: self.id.clone() }
    }

    /// Starts an investigation with a root, `R1.A`, that can soon end.
    pub fn begun(sandbox: &Sandbox) -> Self {
        let mut session = Session::start(sandbox, json!({"mode": "smoke"}));
        session.grow(&[("R1.A", None)], "EXPLORE");
        session
    }

    /// Starts an investigation with a root, `R1.A`, and with these nodes below it in a state.
    pub fn grown(sandbox: &Sandbox, below: &[&str], state: &str) -> Self {
        let mut session = Session::begun(sandbox);
        session.grow(&below.iter().map(|id| (*id, Some("R1.A"))).collect::<Vec<_>>(), state);
        session
    }

    /// Calls a tool on the investigation.
    pub fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["sessionId"] = json!(self.id);
        self.server.call(tool, arguments)
    }

    /// Calls a tool on the investigation, which must accept the call.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "OK", "{reply:#}");
        reply
    }

    /// Calls a tool on the investigation, which must refuse the call without moving HEAD. Returns the codes.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let before = self.head();
        let codes = refusals(&self.call(tool, arguments));
        assert_eq!(self.head(), before, "a rejected call writes nothing");
        codes
    }

    /// Proposes nodes, each `(id, parent)`, lets a minute pass, and commits them in a state.
    pub fn grow(&mut self, nodes: &[(&str, Option<&str>)], state: &str) -> Value {
        let proposed: Vec<Value> = nodes.iter().map(|(id, parent)| node(id, *parent)).collect();
        self.ok("tot_propose", json!({"nodes": proposed}));
        self.sandbox.sleep(60);
        let results: Vec<Value> = nodes.iter().map(|(id, _)| result(id, state)).collect();
        self.ok("tot_commit", json!({"results": results}))
    }

    /// Returns the repository's folder.
    pub fn repository(&self) -> PathBuf {
        self.root.join(&self.id)
    }

    /// Returns the commit at HEAD.
    pub fn head(&self) -> String {
        self.sandbox.head(&self.repository())
    }

    /// Asserts that git calls the repository sound and the work tree clean.
    pub fn assert_sound(&self) {
        self.sandbox.assert_sound(&self.repository());
    }

    /// Runs git in the repository, and returns its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repository(), arguments)
    }

    /// Returns a file of the work tree.
    pub fn text(&self, path: &str) -> String {
        std::fs::read_to_string(there(&self.repository(), path)).unwrap()
    }

    /// Writes a file of the work tree by hand.
    pub fn write(&self, path: &str, text: &str) {
        let file = there(&self.repository(), path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Writes a file and commits all changes, as a person does.
    pub fn edit(&self, path: &str, text: &str) {
        self.sandbox.commit_file(&self.repository(), path, text);
    }

    /// Returns the output of `tot check`, which fails exactly if it finds an error.
    pub fn check(&self) -> String {
        let said = self.sandbox.run(TOT, &["check", self.repository().to_str().unwrap()]);
        let text = said.out + &said.err;
        assert_eq!(said.status == 0, !text.contains(": error "), "{text}");
        text
    }
}

/// Asserts that the tool's description or the server's instructions list each error and warning code in a reply, and
/// that each blocker code is one of `tot_end`.
pub fn assert_codes_are_named(tool: &str, reply: &Value) {
    assert_ids_are_named(reply);
    for (field, tool) in [("errors", tool), ("warnings", tool), ("owed", "tot_end")] {
        for diagnostic in reply[field].as_array().into_iter().flatten() {
            let code = Code::parse(diagnostic["code"].as_str().unwrap());
            assert!(is_named(tool, &code), "{tool} does not say that it may answer {code}: {diagnostic}");
        }
    }
}

/// Asserts that each id in a document has the name that the arguments of calls give it.
pub fn assert_ids_are_named(document: &Value) {
    for (name, value) in document.as_object().into_iter().flatten() {
        let is_bare = ["node", "run", "comment"].contains(&name.as_str()) && value.is_string();
        let is_snake = name.contains('_') && name.contains(|c: char| c.is_ascii_lowercase());
        assert!(name != "id" && !is_bare && !is_snake, "{name} in {document:#}");
        assert_ids_are_named(value);
    }
    document.as_array().into_iter().flatten().for_each(assert_ids_are_named);
}

/// Returns all tools, as a server without investigations has them.
pub fn all_tools() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> =
        LazyLock::new(|| tools::all(&Arc::new(Service::new(PathBuf::from("nowhere"), World::Machine, None))));
    &TOOLS
}

/// Returns whether the tool's description lists this code.
pub fn is_named(tool: &str, code: &Code) -> bool {
    let about = all_tools().iter().find(|known| known.about().name == tool).unwrap().about();
    let code = match code {
        // A ruleset's own codes, and the codes of required steps.
        Code::Other(_) => return true,
        Code::Breadth(_) => &Code::Breadth(2),
        code => code,
    };
    let has = |about: &About| about.all_codes().contains(code) || about.all_warnings().contains(code);
    tools::CODES.contains(code) || has(about) || about.also.iter().any(|also| has(also))
}

/// Returns the files below a folder with their content, by relative path, with or without git's own.
pub fn files(folder: &Path, with_git: bool) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            } else if with_git || !path.ends_with(".git") {
                folders.push(path);
            }
        }
    }
    found
}

/// Copies the missing files, as a fetch copies objects.
pub fn copy_new(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let there = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_new(&path, &there);
        } else if !there.exists() {
            std::fs::copy(&path, &there).unwrap();
        }
    }
}
