//! The server, over real stdio and HTTP.

mod app;
mod ask;
mod budget;
mod claims;
mod clear;
mod fields;
mod flood;
mod http;
mod life;
mod log;
mod next;
mod read;
mod read_only;
mod report;
mod resources;
mod secrets;
mod tools;

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use serde_json::{Value, json};
use tree_of_thoughts::domain::Caller;
use tree_of_thoughts::mcp::{self, ToolReply};
use tree_of_thoughts::service::Service;

use crate::support::http::HttpServer;
use crate::support::{Sandbox, node};

/// Returns what tests expect of each tool, and the calls of the official clients.
pub fn table() -> Value {
    serde_json::from_str(include_str!("../../clients/tools.json")).unwrap()
}

/// Holds the writer lock of an investigation, so that calls that write to it wait.
fn hold(sandbox: &Sandbox, id: &str) -> File {
    let path = sandbox.repository(id).join(".git/tot-lock");
    let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
    file.lock().unwrap();
    file
}

/// Returns the `tools/call` that proposes a root.
fn proposal(id: &str, number: Value) -> Value {
    let arguments = json!({"sessionId": id, "nodes": [node("R1.A", None)]});
    json!({"jsonrpc": "2.0", "id": number, "method": "tools/call",
        "params": {"name": "tot_propose", "arguments": arguments}})
}

/// Returns what each request of the stateless protocol has.
fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Returns the server's response to a raw request, or an empty string if it disconnects.
fn exchange(server: &HttpServer, request: &[u8]) -> String {
    let mut stream = server.connect();
    // It may rightly disconnect before it has read everything.
    let _ = stream.write_all(request);
    rest(stream)
}

/// Returns everything that still arrives on a connection.
fn rest(mut stream: impl Read) -> String {
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

/// Calls the named tool without a client.
pub fn call(service: &Arc<Service>, name: &str, arguments: Value) -> ToolReply {
    let tool = mcp::tools::all(service).into_iter().find(|tool| tool.about().name == name).unwrap();
    tool.call(arguments, &Caller::default())
}
