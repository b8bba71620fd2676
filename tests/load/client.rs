//! A server over HTTP in a folder of its own, and clients that are as cheap as they can be: one connection each.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A running server.
pub struct Server {
    child: Child,
    pub url: String,
    folder: TempDir,
}

/// A command that knows nothing of the user.
pub fn command(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

impl Server {
    pub fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(env!("CARGO_BIN_EXE_tot-mcp"), folder.path());
        command.args(["--http", "127.0.0.1:0", "--max-rate", "0", "--root"]).arg(folder.path().join("root"));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let at = line.find("http://").unwrap_or_else(|| panic!("no address: {line}"));
        // What it says later is shown.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
        Server { child, url: line[at..].trim().to_owned(), folder }
    }

    pub fn repository(&self, id: &str) -> PathBuf {
        self.folder.path().join("root").join(id)
    }

    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    pub fn memory(&self) -> Memory {
        Memory::of(self.child.id())
    }

    /// Ends it as an operator does, and gives whether it ended well.
    pub fn stop(&mut self) -> bool {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.child.wait().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory of a process in KiB, 0 where the system doesn't tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub now: u64,
    pub peak: u64,
}

impl Memory {
    pub fn of(process: u32) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().split(' ').next()?.parse().ok()
        };
        Memory { now: field("VmRSS:").unwrap_or(0), peak: field("VmHWM:").unwrap_or(0) }
    }
}

/// A client with a session.
pub struct Client {
    agent: ureq::Agent,
    url: String,
    session: String,
    number: u64,
}

impl Client {
    pub fn connect(url: &str) -> Client {
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        let mut client =
            Client { agent: config.into(), url: url.to_owned(), session: String::new(), number: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "load", "version": "1"}});
        client.request("initialize", hello).unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.post(&ready).unwrap().0, 202);
        client
    }

    /// Calls a tool and gives its structured reply.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let mut answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}))?;
        Ok(answer["result"]["structuredContent"].take())
    }

    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.number += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        let (status, text) = self.post(&message)?;
        let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
        let answer: Value = serde_json::from_str(data).map_err(|_| format!("{method}: {status}, {text}"))?;
        if status == 200 && answer["id"] == self.number {
            Ok(answer)
        } else {
            Err(format!("{status}, {text}"))
        }
    }

    /// Ends the session.
    pub fn end(self) {
        let ended = self.agent.delete(&self.url).header("mcp-session-id", &self.session).call().unwrap();
        assert!(ended.status().is_success());
    }

    fn post(&mut self, message: &Value) -> Result<(u16, String), String> {
        let mut request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        let mut response = request.send(message.to_string()).map_err(|fault| fault.to_string())?;
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.session = session.to_str().unwrap().to_owned();
        }
        let mut text = String::new();
        response.body_mut().as_reader().read_to_string(&mut text).map_err(|fault| fault.to_string())?;
        Ok((response.status().as_u16(), text))
    }
}
