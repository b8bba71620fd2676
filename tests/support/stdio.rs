//! A real `tot-mcp` over stdio, which may be killed at any instant.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::refusals;

/// A running server with its only client.
pub struct Server {
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: u64,
    /// The notifications received so far.
    pub heard: Vec<Value>,
}

/// The server died. It is unknown whether the last call succeeded.
#[derive(Debug)]
pub struct Gone;

impl Server {
    /// Starts the server and initializes the session.
    pub fn start(command: Command) -> Self {
        let mut server = Server::without_greeting(command);
        server.request("initialize", super::http::initialize()["params"].take());
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    /// Starts the server without `initialize`, for the stateless protocol.
    pub fn without_greeting(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child: Arc::new(Mutex::new(child)), input, output, number: 0, heard: Vec::new() }
    }

    /// Calls a tool and returns its reply.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).unwrap_or_else(|Gone| panic!("the server ended in {tool}"))
    }

    /// Calls a tool of a server that may die during the call.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Value, Gone> {
        let number = self.begin("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let reply = reply(&self.answer_to(number)?);
        super::assert_codes_are_named(tool, &reply);
        Ok(reply)
    }

    /// Calls a tool, which must accept the call.
    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply["status"], "OK", "{reply:#}");
        reply
    }

    /// Calls a tool, which must refuse the call. Returns the error codes.
    pub fn refused(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let reply = self.call(tool, arguments);
        assert!(reply["commit"].is_null());
        refusals(&reply)
    }

    /// Sends a request and returns the complete response.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.begin(method, params).and_then(|number| self.answer_to(number));
        answer.unwrap_or_else(|Gone| panic!("the server ended instead of answering {method}"))
    }

    /// Sends a request without waiting for the response. Returns its number.
    pub fn begin(&mut self, method: &str, params: Value) -> Result<u64, Gone> {
        self.number += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))?;
        Ok(self.number)
    }

    /// Waits for the response with this number. Earlier messages are kept.
    fn answer_to(&mut self, number: u64) -> Result<Value, Gone> {
        loop {
            let message = self.receive()?;
            if message["id"] == number {
                return Ok(message);
            }
            self.heard.push(message);
        }
    }

    /// Returns the next message. An incomplete line does not count.
    pub fn receive(&mut self) -> Result<Value, Gone> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|_| Gone)?;
        if line.ends_with('\n') { Ok(serde_json::from_str(&line).unwrap()) } else { Err(Gone) }
    }

    /// Waits for a notification with this method, unless one was already received. Returns the newest.
    pub fn listen_for(&mut self, method: &str) -> Value {
        loop {
            if let Some(known) = self.heard.iter().rev().find(|message| message["method"] == method) {
                return known.clone();
            }
            let message = self.receive().unwrap_or_else(|Gone| panic!("the server ended without {method}"));
            self.heard.push(message);
        }
    }

    /// Sends any message.
    pub fn send(&mut self, message: &Value) {
        self.write(message).unwrap();
    }

    fn write(&mut self, message: &Value) -> Result<(), Gone> {
        let line = format!("{message}\n");
        let input = self.input.as_mut().ok_or(Gone)?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| Gone)
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Ends the server as a client does, and asserts that it exits with status 0.
    pub fn finish(self) {
        self.finish_listening();
    }

    /// Ends the server as a client does, and returns its remaining output.
    pub fn finish_listening(mut self) -> Vec<Value> {
        drop(self.input.take());
        let last = std::iter::from_fn(|| self.receive().ok()).collect();
        assert!(self.child.lock().unwrap().wait().unwrap().success());
        last
    }

    /// Asks the server to end, as an operator does.
    #[cfg(unix)]
    pub fn terminate(&self) {
        super::terminate(self.process());
    }

    /// Returns whether it has ended.
    #[cfg(unix)]
    pub fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// Waits until it ends. Returns whether it succeeded.
    #[cfg(unix)]
    pub fn end(self) -> bool {
        self.child.lock().unwrap().wait().unwrap().success()
    }

    /// Returns a handle that kills it at any time, from any thread.
    pub fn killer(&self) -> impl FnOnce() + Send + use<> {
        let child = Arc::clone(&self.child);
        move || {
            let mut child = child.lock().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Kills it.
    pub fn kill(self) {
        self.killer()();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Returns the reply in a tool call's response. The response must contain only its text.
pub fn reply(answer: &Value) -> Value {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let reply: Value = serde_json::from_str(text).unwrap();
    assert_eq!(result["isError"].as_bool().unwrap_or(false), reply["status"] == "REJECTED", "{answer}");
    reply
}
