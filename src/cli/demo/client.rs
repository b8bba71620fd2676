//! A minimal MCP client of a server in this process, with one call at a time.

use std::future::pending;
use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::DemoError;
use crate::mcp::stdio::{ServeError, serve};
use crate::mcp::{Server, tools};
use crate::service::Service;

/// The protocol version that the client requests.
const PROTOCOL: &str = "2025-11-25";
/// The size of the buffers between client and server, in bytes.
const BUFFER: usize = 1 << 16;

/// A running server.
pub(super) struct DemoClient {
    runtime: Runtime,
    serving: JoinHandle<Result<(), ServeError>>,
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    number: u64,
}

impl DemoClient {
    /// Starts a server for the named session.
    pub(super) fn start(service: &Arc<Service>, session: &str) -> Result<DemoClient, DemoError> {
        let server = Server::new(tools::instructions(service), tools::all(service))
            .serving(Arc::clone(service))
            .of_one_client(Some(session.to_owned()));
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| failed("could not be started", Some(source)))?;
        let (here, there) = duplex(BUFFER);
        let (output, input) = split(here);
        let (from_client, to_client) = split(there);
        let serving = runtime.spawn(serve(server, from_client, to_client, pending()));
        let output = BufReader::new(output).lines();
        let mut client = DemoClient { runtime, serving, input, output, number: 0 };
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

    /// Closes the server's input, as clients do, and waits until the server has finished.
    pub(super) fn finish(self) -> Result<(), DemoError> {
        let DemoClient { runtime, serving, mut input, .. } = self;
        let served = runtime.block_on(async {
            input.shutdown().await?;
            serving.await.map_err(io::Error::other)?.map_err(io::Error::other)
        });
        served.map_err(|source| failed("did not end", Some(source)))
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, DemoError> {
        self.number += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))?;
        loop {
            let line = self.runtime.block_on(self.output.next_line());
            let unanswered = |source| failed(&format!("did not answer {method}"), source);
            let line = line.map_err(|source| unanswered(Some(source)))?.ok_or_else(|| unanswered(None))?;
            let mut message: Value =
                serde_json::from_str(&line).map_err(|error| unanswered(Some(error.into())))?;
            if message["id"] != self.number {
                continue;
            }
            if !message["error"].is_null() {
                return Err(failed(&format!("refused {method}: {}", message["error"]["message"]), None));
            }
            return Ok(message["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), DemoError> {
        let line = format!("{message}\n");
        let sent = self.runtime.block_on(self.input.write_all(line.as_bytes()));
        sent.map_err(|source| failed("stopped reading", Some(source)))
    }
}

fn failed(action: &str, source: Option<io::Error>) -> DemoError {
    DemoError::Server { action: action.to_owned(), source }
}
