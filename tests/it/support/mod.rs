//! A world of its own for each test: folders, HOME, git configuration, identity and clock.

pub mod http;
pub mod table;

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The binaries under test.
pub const TOT: &str = env!("CARGO_BIN_EXE_tot");
pub const TOT_MCP: &str = env!("CARGO_BIN_EXE_tot-mcp");
pub const TOT_REPORT: &str = env!("CARGO_BIN_EXE_tot-report");

/// 2026-01-05T09:00:00Z, when every test begins.
const BEGIN: i64 = 1_767_603_600_000;

/// A folder that vanishes after the test, with nothing of the user's in reach.
pub struct Sandbox {
    folder: TempDir,
    now: Cell<i64>,
}

impl Sandbox {
    pub fn new() -> Self {
        let sandbox = Sandbox { folder: tempfile::tempdir().unwrap(), now: Cell::new(BEGIN) };
        std::fs::create_dir(sandbox.path("home")).unwrap();
        sandbox.set_clock(BEGIN);
        sandbox
    }

    /// A path in the sandbox.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The default root of its servers.
    pub fn root(&self) -> PathBuf {
        self.path("investigations")
    }

    /// A command that sees the sandbox only.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            // Windows needs it to start anything.
            .envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Tester")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "tester@localhost")))
            .current_dir(self.folder.path());
        command
    }

    /// Runs git in a folder of the sandbox and gives what it printed.
    pub fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.try_git(folder, arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs git in a folder of the sandbox.
    pub fn try_git(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command("git").arg("-C").arg(folder).args(arguments).output().unwrap()
    }

    /// Moves the servers' clock on.
    pub fn sleep(&self, seconds: i64) {
        self.set_clock(self.now.get() + seconds * 1_000);
    }

    fn set_clock(&self, milliseconds: i64) {
        self.now.set(milliseconds);
        let time = tree_of_thoughts::domain::Timestamp::from_milliseconds(milliseconds).unwrap();
        std::fs::write(self.path("clock"), time.to_string()).unwrap();
    }

    /// A server on the default root.
    pub fn server(&self) -> Server {
        self.server_with(&[])
    }

    /// A server with more arguments.
    pub fn server_with(&self, arguments: &[&str]) -> Server {
        self.server_in(&self.root(), arguments)
    }

    /// A server on the default root that was not greeted, for the stateless protocol.
    pub fn bare_server(&self) -> Server {
        Server::without_greeting(self.server_command(&self.root(), &[]))
    }

    /// A server on another root.
    pub fn server_in(&self, root: &Path, arguments: &[&str]) -> Server {
        Server::start(self.server_command(root, arguments))
    }

    fn server_command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(TOT_MCP);
        command.arg("--root").arg(root).arg("--clock-file").arg(self.path("clock")).args(arguments);
        command
    }

    /// The repository of a session.
    pub fn repository(&self, session: &str) -> PathBuf {
        self.root().join(session)
    }

    /// That git calls the repository sound and the work tree clean.
    pub fn assert_sound(&self, repository: &Path) {
        assert_eq!(self.git(repository, &["status", "--porcelain"]), "", "the work tree is clean");
        let fsck = self.try_git(repository, &["fsck", "--strict"]);
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
    }

    /// The commit that HEAD is at.
    pub fn head(&self, repository: &Path) -> String {
        self.git(repository, &["rev-parse", "HEAD"]).trim().to_owned()
    }
}

/// A real `tot-mcp` over stdio.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: u64,
    /// The notifications that came so far.
    pub heard: Vec<Value>,
}

impl Server {
    pub fn start(command: Command) -> Self {
        let mut server = Server::without_greeting(command);
        let client = json!({"name": "it", "version": "1"});
        server.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    /// One that is not told `initialize`, for the stateless protocol.
    pub fn without_greeting(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output, number: 0, heard: Vec::new() }
    }

    /// Waits for a notification of that method, unless one has been heard already, and gives the newest.
    pub fn listen_for(&mut self, method: &str) -> Value {
        loop {
            if let Some(known) = self.heard.iter().rev().find(|message| message["method"] == method) {
                return known.clone();
            }
            let message = self.receive().unwrap_or_else(|| panic!("the server ended without {method}"));
            self.heard.push(message);
        }
    }

    /// The next message, or the end.
    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.output.read_line(&mut line).unwrap() > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Ends it as a client does, and gives everything that it still said.
    pub fn finish_listening(mut self) -> Vec<Value> {
        drop(self.input.take());
        let last = std::iter::from_fn(|| self.receive()).collect();
        assert!(self.child.wait().unwrap().success());
        last
    }

    /// Sends a request and gives the whole answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        loop {
            let message =
                self.receive().unwrap_or_else(|| panic!("the server ended instead of answering {method}"));
            if message["id"] == number {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Calls a tool and gives its structured reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let reply = result["structuredContent"].clone();
        assert_eq!(result["isError"].as_bool().unwrap_or(false), reply["status"] == "REJECTED", "{answer}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, reply, "the text says the same");
        reply
    }

    /// Calls a tool that must accept.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "OK", "{reply:#}");
        reply
    }

    /// Calls a tool that must refuse, and gives the codes of the errors.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "REJECTED", "{reply:#}");
        assert!(reply["commit"].is_null());
        codes(&reply["errors"])
    }

    /// Writes a raw line.
    pub fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Ends it as a client does, and asserts that it exits well.
    pub fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    /// Asks it to end, as an operator does.
    #[cfg(unix)]
    pub fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits for its end, and gives whether it ended well.
    #[cfg(unix)]
    pub fn end(mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// The process, to be killed.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The codes in a list of errors, warnings or blockers.
pub fn codes(notices: &Value) -> Vec<String> {
    notices.as_array().unwrap().iter().map(|notice| notice["code"].as_str().unwrap().to_owned()).collect()
}

/// A node to propose.
pub fn node(id: &str, parent: Option<&str>) -> Value {
    json!({"id": id, "parent": parent, "title": format!("Title of {id}"), "plannedAction": "Look."})
}

/// A result to commit, by an agent of its own.
pub fn result(id: &str, state: &str) -> Value {
    json!({"nodeId": id, "state": state, "findings": format!("Findings of {id}."), "agentId": format!("agent-{id}")})
}

/// An investigation in a conversation with a server.
pub struct Session<'a> {
    pub sandbox: &'a Sandbox,
    pub server: Server,
    pub id: String,
}

impl<'a> Session<'a> {
    /// Starts one with these arguments of `tot_start`, beside the query.
    pub fn start(sandbox: &'a Sandbox, arguments: Value) -> Self {
        let mut server = sandbox.server();
        let mut arguments = arguments;
        arguments["query"] = json!("Why is the sky blue?");
        let id = server.ok("tot_start", arguments)["sessionId"].as_str().unwrap().to_owned();
        Session { sandbox, server, id }
    }

    /// Calls a tool on it.
    pub fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["sessionId"] = json!(self.id);
        self.server.call(tool, arguments)
    }

    /// Calls a tool on it that must accept.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "OK", "{reply:#}");
        reply
    }

    /// Calls a tool on it that must refuse without moving HEAD, and gives the codes.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let before = self.sandbox.head(&self.repository());
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "REJECTED", "{reply:#}");
        assert_eq!(self.sandbox.head(&self.repository()), before, "a rejected call writes nothing");
        codes(&reply["errors"])
    }

    /// Proposes nodes, each `(id, parent)`; lets a minute pass; commits them in a state.
    pub fn grow(&mut self, nodes: &[(&str, Option<&str>)], state: &str) -> Value {
        let proposed: Vec<Value> = nodes.iter().map(|(id, parent)| node(id, *parent)).collect();
        self.ok("tot_propose", json!({"nodes": proposed}));
        self.sandbox.sleep(60);
        let results: Vec<Value> = nodes.iter().map(|(id, _)| result(id, state)).collect();
        self.ok("tot_commit", json!({"results": results}))
    }

    /// The folder of its repository.
    pub fn repository(&self) -> PathBuf {
        self.sandbox.repository(&self.id)
    }
}
