//! A real `tot-mcp` over stdio that may be killed at any instant.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

pub struct Server {
    child: Arc<Mutex<Child>>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

/// The server is dead; whether the call was done is not known.
#[derive(Debug)]
pub struct Gone;

impl Server {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server { child: Arc::new(Mutex::new(child)), input, output, number: 0 };
        let client = json!({"name": "faults", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        server.send("initialize", hello).unwrap();
        server.receive().unwrap();
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        server
    }

    pub fn process(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Calls a tool and gives its reply.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Gone> {
        let number = self.send("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let (answered, reply) = self.receive()?;
        assert_eq!(answered, number, "{reply}");
        Ok(reply)
    }

    /// Sends a request without waiting for its answer, and gives its number.
    pub fn send(&mut self, method: &str, params: Value) -> Result<u64, Gone> {
        self.number += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        self.write(&request)?;
        Ok(self.number)
    }

    /// The next answer: its number, and the tool's reply. A line that was cut off is no answer.
    pub fn receive(&mut self) -> Result<(u64, Value), Gone> {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).map_err(|_| Gone)?;
            if !line.ends_with('\n') {
                return Err(Gone);
            }
            let mut message: Value = serde_json::from_str(&line).unwrap();
            assert!(message["error"].is_null(), "{message}");
            if let Some(number) = message["id"].as_u64() {
                return Ok((number, message["result"]["structuredContent"].take()));
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).map_err(|_| Gone)
    }

    /// Has it killed after that time, whatever it does then.
    pub fn kill_after(&self, delay: Duration) -> JoinHandle<()> {
        let child = Arc::clone(&self.child);
        thread::spawn(move || {
            thread::sleep(delay);
            let mut child = child.lock().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The codes in a list of errors.
pub fn codes(reply: &Value) -> Vec<String> {
    let errors = reply["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| Some(error["code"].as_str()?.to_owned())).collect()
}

/// A node to propose.
pub fn node(id: &str, parent: Option<&str>) -> Value {
    json!({"id": id, "parent": parent, "title": format!("Title of {id}"), "plannedAction": "Look."})
}

/// A result to commit.
pub fn result(id: &str, state: &str) -> Value {
    let findings = format!("Findings of {id}.\n\n## References\n- https://example.org/{id} - one of them\n");
    json!({"nodeId": id, "state": state, "findings": findings, "agentId": format!("agent-{id}")})
}

/// Starts an investigation with a root node, on which others can be put, and gives its id.
pub fn start(server: &mut Server) -> String {
    let started = server.call("tot_start", &json!({"query": "What survives?", "mode": "smoke"})).unwrap();
    let session = started["sessionId"].as_str().unwrap().to_owned();
    let nodes = json!({"sessionId": session, "nodes": [node("R1.A", None)]});
    let results = json!({"sessionId": session, "results": [result("R1.A", "EXPLORE")]});
    for (tool, arguments) in [("tot_propose", nodes), ("tot_commit", results)] {
        let reply = server.call(tool, &arguments).unwrap();
        assert_eq!(reply["status"], "OK", "{reply}");
    }
    session
}
