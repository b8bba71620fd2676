//! A minimal MCP client: one server as a child process, one call at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, absolute};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{DemoError, StoryCall};
use crate::base::platform;

/// The protocol version that the client requests.
const PROTOCOL: &str = "2025-11-25";

/// A running server.
pub(super) struct DemoClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: u64,
}

/// Runs this program to store a run from the story, at the time in the clock file.
pub(super) fn record(root: &Path, clock: &Path, session: &Value, call: &StoryCall) -> Result<(), DemoError> {
    let file = clock.with_extension("run");
    let io = |source| DemoError::Io { path: file.clone(), source };
    std::fs::write(&file, call.args["ran"].to_string()).map_err(io)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let output = own("run", root, clock)?
        .args([text(session), text(&call.args["node"])])
        .args(["-m", &text(&call.args["note"])])
        .arg("--captured")
        .arg(absolute(&file).map_err(io)?)
        // Makes the result independent of the agent that plays the story.
        .envs([
            ("AI_AGENT", "tot-demo"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", call.session.as_str()),
        ])
        .output();
    std::fs::remove_file(&file).map_err(io)?;
    let output = output.map_err(not_started)?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(DemoError::Server { action: format!("could not store a run: {}", errors.trim()), source: None })
}

/// Returns a command that runs this program with a fixed identity, so that all demos produce identical commits.
fn own(name: &str, root: &Path, clock: &Path) -> Result<Command, DemoError> {
    let mut command = platform::command(std::env::current_exe().map_err(not_started)?, Path::new("."));
    command
        .arg(name)
        .arg("--root")
        .arg(absolute(root).map_err(not_started)?)
        .arg("--clock-file")
        .arg(absolute(clock).map_err(not_started)?)
        // The current folder may be in an investigation.
        .current_dir(std::env::temp_dir())
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Tree of Thoughts demo")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "demo@localhost")));
    Ok(command)
}

fn not_started(source: std::io::Error) -> DemoError {
    DemoError::Server { action: "could not be started".into(), source: Some(source) }
}

impl DemoClient {
    /// Starts this program as a server for the investigations in `root` and the named session. The server reads the time
    /// from the file `clock`.
    pub(super) fn start(root: &Path, clock: &Path, session: &str) -> Result<DemoClient, DemoError> {
        let mut child = own("mcp", root, clock)?
            // The story cites files of a fictional project.
            .arg("--no-project")
            // A team's remote is not for a demo.
            .args(["--remote", ""])
            .env("CLAUDE_CODE_SESSION_ID", session)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(DemoError::Server { action: "has no pipes".into(), source: None });
        };
        let mut client = DemoClient { child, input: Some(input), output: BufReader::new(output), number: 0 };
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "tot-demo", "version": env!("CARGO_PKG_VERSION")},
        });
        client.request("initialize", &hello)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Calls a tool and returns its reply as JSON.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, DemoError> {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        Ok(serde_json::from_str(text).unwrap_or_default())
    }

    /// Closes the server's input, as clients do, and waits until the server exits.
    pub(super) fn finish(mut self) -> Result<(), DemoError> {
        drop(self.input.take());
        let status = self.child.wait().map_err(|source| DemoError::Server {
            action: "did not report its exit status".into(),
            source: Some(source),
        })?;
        if status.success() {
            return Ok(());
        }
        Err(DemoError::Server { action: format!("failed with {status}"), source: None })
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, DemoError> {
        self.number += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            let failed = |source| DemoError::Server { action: format!("did not answer {method}"), source };
            if read.map_err(|source| failed(Some(source)))? == 0 {
                return Err(failed(None));
            }
            let mut message: Value =
                serde_json::from_str(&line).map_err(|error| failed(Some(error.into())))?;
            if message["id"] != self.number {
                continue;
            }
            if !message["error"].is_null() {
                let action = format!("refused {method}: {}", message["error"]["message"]);
                return Err(DemoError::Server { action, source: None });
            }
            return Ok(message["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), DemoError> {
        let gone = |source| DemoError::Server { action: "stopped reading".into(), source };
        let input = self.input.as_mut().ok_or_else(|| gone(None))?;
        writeln!(input, "{message}").and_then(|()| input.flush()).map_err(|source| gone(Some(source)))
    }
}

impl Drop for DemoClient {
    fn drop(&mut self) {
        // Stops the server even after an error.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
