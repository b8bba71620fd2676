//! The server over stdin and stdout, with one JSON message per line.
//!
//! 1. [`serve_stdio`] creates the runtime, handles signals, and waits for running calls before it returns.
//! 2. [`serve`] runs rmcp over any two streams through `drain`, which tracks unanswered requests.
//! 3. `drain` uses `framing` to read lines.
//!
//! Guarantees:
//!
//! - Only messages go to stdout.
//! - **An accepted call is answered**, however long it takes. When stdin ends or a signal arrives (SIGTERM, SIGINT or
//!   SIGHUP on Unix, Ctrl-C elsewhere), the server stops reading, lets running calls finish, and writes their
//!   answers. The process can then exit successfully.
//! - Closing stdin is never an error, even before the first request.
//! - An invalid line does not stop the server. If a request id can be found in the line, the server answers with an
//!   error, even if the line is malformed JSON or longer than [`MAX_LINE`]. Otherwise, the line is dropped and
//!   logged.
//! - A notification or response before the first request is ignored.
//! - A long call does not delay others: calls run on separate threads.
//! - Memory is bounded. If a client has too many requests in progress or too many unread answers, the server stops
//!   reading from it.
//!
//! Limitations: a second signal aborts the wait and any running calls. If a request stays unanswered although no call
//! is running, for example because the client does not read, shutdown is delayed by [`PATIENCE`]. A cancelled request
//! runs to completion but gets no answer, as the protocol requires.

use std::{io, time::Duration};

use rmcp::{
    ServiceExt,
    service::{QuitReason, ServerInitializeError},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime::{Builder, Runtime},
};

use super::{drain::Drain, server::Server};
use crate::base::platform::Signals;
use crate::service::background;

/// Serves over stdin and stdout until stdin ends or a signal arrives. Blocks.
pub fn serve_stdio(server: Server) -> Result<(), ServeError> {
    // A runtime with a single protocol thread starts fastest.
    let runtime = start(Builder::new_current_thread().enable_all()).map_err(ServeError::Start)?;
    serve_until_signal(runtime, server, |server, stop| {
        let (input, output) = rmcp::transport::stdio_pipes();
        serve(server, input, output, stop.arrived(1))
    })
}

/// Runs `serve`, which completes after the first signal, and then finishes the background work. Returns the error
/// [`ServeError::Interrupted`] after a second signal.
pub(super) fn serve_until_signal<E: From<ServeError>, F: Future<Output = Result<(), E>>>(
    runtime: Runtime,
    server: Server,
    serve: impl FnOnce(Server, Signals) -> F,
) -> Result<(), E> {
    let (log, whole) = (server.log.clone(), server.clone());
    let outcome = run(runtime, async {
        let signals =
            Signals::listen(true, |name, fault| log.warn(format_args!("cannot listen for {name}: {fault}")));
        let serving = async {
            let outcome = serve(server.clone(), signals.clone()).await;
            // If the thread panicked, the panic has already been logged.
            let _ = tokio::task::spawn_blocking(move || server.finish(background::PATIENCE)).await;
            outcome
        };
        tokio::select! {
            outcome = serving => outcome,
            () = signals.clone().arrived(2) => Err(ServeError::Interrupted.into()),
        }
    });
    // After a second signal, calls may still be running.
    whole.finish(Duration::ZERO);
    log.flush();
    outcome
}

/// Starts a runtime that always has at least one thread for calls. If the system cannot create more threads, calls wait
/// for that thread. Without any thread for calls, tokio would panic.
pub(super) fn start(builder: &mut Builder) -> io::Result<Runtime> {
    /// A duration longer than any server runs.
    const KEPT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let begin = || -> io::Result<Runtime> {
        let runtime = builder.thread_keep_alive(KEPT).build()?;
        runtime.spawn_blocking(|| ());
        Ok(runtime)
    };
    let no_thread =
        |_| Err(io::Error::other("the system cannot create a thread for this process (ulimit -u)"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(begin)).unwrap_or_else(no_thread)
}

/// Runs a future to completion and shuts down the runtime. Dropping the runtime instead would wait for its threads,
/// which may still be running calls after a second signal or be blocked reading stdin.
pub(super) fn run<T>(runtime: Runtime, future: impl Future<Output = T>) -> T {
    let outcome = runtime.block_on(future);
    runtime.shutdown_background();
    outcome
}

/// Serves over any two streams until `input` ends or `stop` completes, and then waits until all calls are answered.
pub async fn serve<R, W>(
    server: Server,
    input: R,
    output: W,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (whole, closing) = (server.clone(), server.closing.clone());
    let drain = Drain::new(input, output, &server);
    let serving = async {
        match server.serve(drain).await {
            Ok(running) => match running.waiting().await {
                Ok(QuitReason::JoinError(fault)) | Err(fault) => Err(ServeError::Protocol(fault.to_string())),
                Ok(_) => Ok(()),
            },
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(fault) => Err(ServeError::Protocol(fault.to_string())),
        }
    };
    tokio::pin!(serving);
    let outcome = tokio::select! {
        outcome = &mut serving => outcome,
        () = stop => {
            closing.cancel();
            serving.await
        }
    };
    // Cancelled calls get no answer but must finish their writes.
    whole.idle().await;
    outcome
}

/// An error that kept the server from starting or made it stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime could not be created.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// The protocol failed, for example because the client does not read answers.
    #[error("the connection to the client failed: {0}")]
    Protocol(String),
    /// A second signal arrived while calls were in progress.
    #[error("interrupted before all calls were answered")]
    Interrupted,
}

/// The maximum length of a line in bytes, the same as in rmcp's own transports.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// How long shutdown waits for an answer that no tool is working on.
pub const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf},
        sync::oneshot,
        task::JoinHandle,
    };

    use super::*;
    use crate::domain::Caller;
    use crate::mcp::ask::Asking;
    use crate::mcp::drain::AT_WORK;
    use crate::mcp::tool::{About, Tool, ToolReply};
    use crate::service::reply::ReplyFields;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct EchoInput {
        /// What to say.
        text: String,
        /// How often.
        #[schemars(range(min = 1, max = 9))]
        times: Option<u32>,
    }

    #[derive(Serialize)]
    struct EchoOutput {
        said: String,
    }

    #[derive(Deserialize, JsonSchema)]
    struct NoInput {}

    fn about(name: &'static str) -> About {
        About { name, title: "A title", description: "A description.", read_only: true, ..About::PLAIN }
    }

    fn done(said: &str) -> ToolReply {
        let body = EchoOutput { said: said.to_owned() };
        ToolReply::done(ReplyFields::apart("Said.".to_owned()), &body, &(), 1_500)
    }

    fn echo() -> Tool {
        Tool::new(about("tot_echo"), |input: EchoInput, _: &Caller, _| match input.text.as_str() {
            "forbidden" => ToolReply::rejected(ReplyFields::default(), 1_500),
            text => done(&text.repeat(input.times.unwrap_or(1) as usize)),
        })
    }

    fn panicking() -> Tool {
        Tool::new(about("tot_panic"), |_: NoInput, _: &Caller, _| -> ToolReply {
            panic!("on purpose, by a test")
        })
    }

    /// Blocks calls to `tot_slow` until the test lets them continue.
    #[derive(Default)]
    struct SlowCalls {
        begun: AtomicUsize,
        ended: AtomicUsize,
        is_open: Mutex<bool>,
        opened: Condvar,
    }

    impl SlowCalls {
        fn tool(self: &Arc<Self>) -> Tool {
            let gate = Arc::clone(self);
            Tool::new(about("tot_slow"), move |_: NoInput, _: &Caller, _| {
                gate.begun.fetch_add(1, Ordering::SeqCst);
                drop(gate.opened.wait_while(gate.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
                gate.ended.fetch_add(1, Ordering::SeqCst);
                done("slowly")
            })
        }

        async fn begun(&self, calls: usize) {
            while self.begun.load(Ordering::SeqCst) < calls {
                tokio::task::yield_now().await;
            }
        }

        fn open(&self) {
            *self.is_open.lock().unwrap() = true;
            self.opened.notify_all();
        }

        fn ended(&self) -> usize {
            self.ended.load(Ordering::SeqCst)
        }
    }

    /// A client that sends and receives lines.
    struct RawClient {
        lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
        write: Option<WriteHalf<DuplexStream>>,
        stop: Option<oneshot::Sender<()>>,
        served: JoinHandle<Result<(), ServeError>>,
    }

    impl RawClient {
        fn new(tools: Vec<Tool>) -> RawClient {
            // The buffer is large enough for a long line while nobody reads.
            let (here, there) = tokio::io::duplex(1 << 16);
            let (read, write) = tokio::io::split(here);
            let (input, output) = tokio::io::split(there);
            let (stop, stopped) = oneshot::channel();
            let server = Server::new("Read me.", tools);
            let stopped = async {
                // A dropped sender is not a request to stop.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let served = tokio::spawn(serve(server, input, output, stopped));
            RawClient { lines: BufReader::new(read).lines(), write: Some(write), stop: Some(stop), served }
        }

        async fn send(&mut self, message: Value) {
            self.send_raw(format!("{message}\n").as_bytes()).await;
        }

        async fn send_raw(&mut self, line: &[u8]) {
            self.write.as_mut().unwrap().write_all(line).await.unwrap();
        }

        async fn receive(&mut self) -> Value {
            let line = tokio::time::timeout(Duration::from_secs(20), self.lines.next_line()).await;
            serde_json::from_str(&line.expect("an answer in time").unwrap().expect("not the end")).unwrap()
        }

        async fn ask(&mut self, message: Value) -> Value {
            self.send(message).await;
            self.receive().await
        }

        async fn initialized(tools: Vec<Tool>) -> RawClient {
            let mut client = RawClient::new(tools);
            let answer = client.ask(initialize("2025-11-25")).await;
            assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
            client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            client
        }

        fn hang_up(&mut self) {
            // Dropping one half does not close a duplex stream. That requires dropping both, or a shutdown.
            let mut write = self.write.take().unwrap();
            tokio::spawn(async move { write.shutdown().await });
        }

        fn stop(&mut self) {
            self.stop.take().unwrap().send(()).unwrap();
        }

        /// Returns all remaining messages after the server has ended successfully.
        async fn rest(mut self) -> Vec<Value> {
            let served = tokio::time::timeout(Duration::from_secs(20), &mut self.served).await;
            served.expect("an end in time").unwrap().expect("success");
            let mut rest = Vec::new();
            while let Some(line) = self.lines.next_line().await.unwrap() {
                rest.push(serde_json::from_str(&line).unwrap());
            }
            rest
        }
    }

    fn initialize(version: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
    }

    fn call(id: u32, name: &str, arguments: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}})
    }

    /// Converts a request to the stateless protocol.
    fn stateless(mut request: Value) -> Value {
        request["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        request
    }

    /// Returns the reply contained in an answer.
    fn reply(answer: &Value) -> Value {
        assert!(answer["result"].get("structuredContent").is_none(), "a model would read it twice: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(text).unwrap()
    }

    fn said(answer: &Value) -> String {
        reply(answer)["said"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    #[tokio::test]
    async fn the_older_protocol_is_served() {
        let mut client = RawClient::new(vec![panicking(), echo()]);
        let hello = client.ask(initialize("2025-06-18")).await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(hello["result"]["serverInfo"]["name"], "tot-mcp");
        assert_eq!(hello["result"]["serverInfo"]["title"], "Tree of Thoughts");
        assert_eq!(hello["result"]["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(hello["result"]["instructions"], "Read me.");
        assert_eq!(hello["result"]["capabilities"], json!({"tools": {}}));
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;

        let list = client.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        assert_eq!(tools[0]["name"], "tot_panic");
        assert_eq!(tools[1]["title"], "A title");
        assert_eq!(tools[1]["inputSchema"]["properties"]["times"]["maximum"], 9);
        assert!(tools[1].get("outputSchema").is_none(), "it would ask for structuredContent");
        let hints = json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
        assert_eq!(tools[1]["annotations"], hints);
        assert!(list["result"].get("resultType").is_none() && list["result"].get("ttlMs").is_none());

        let answer = client.ask(call(2, "tot_echo", json!({"text": "ho", "times": "2"}))).await;
        assert_eq!(said(&answer), "hoho");
        assert_eq!(answer["result"]["isError"], false);
        assert!(answer["result"].get("resultType").is_none());

        client.hang_up();
        assert_eq!(client.rest().await, Vec::<Value>::new());
    }

    #[tokio::test]
    async fn a_newer_version_in_initialize_falls_back_to_the_newest_with_a_handshake() {
        for wanted in ["2026-07-28", "2099-01-01"] {
            let mut client = RawClient::new(vec![echo()]);
            let hello = client.ask(initialize(wanted)).await;
            assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{wanted}");
        }
    }

    #[tokio::test]
    async fn the_stateless_protocol_is_served() {
        let mut client = RawClient::new(vec![panicking(), echo()]);
        let discover =
            client.ask(stateless(json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover"}))).await;
        let found = &discover["result"];
        assert_eq!(found["resultType"], "complete");
        let versions = json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
        assert_eq!(found["supportedVersions"], versions);
        assert_eq!(found["instructions"], "Read me.");
        assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tot-mcp");
        assert!(found["ttlMs"].as_u64() > Some(0));

        let list = client.ask(stateless(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))).await;
        assert_eq!(list["result"]["resultType"], "complete");
        assert_eq!(list["result"]["cacheScope"], "public");
        assert!(list["result"]["ttlMs"].as_u64() > Some(0));
        assert_eq!(list["result"]["tools"][0]["name"], "tot_panic");

        let answer = client.ask(stateless(call(2, "tot_echo", json!({"text": "hi"})))).await;
        assert_eq!(said(&answer), "hi");
        assert_eq!(answer["result"]["resultType"], "complete");
        let odd = client.ask(stateless(call(3, "tot_echo", json!("{\"text\": \"hi\"}")))).await;
        assert_eq!((said(&odd).as_str(), &odd["result"]["resultType"]), ("hi", &json!("complete")));

        let bare = client.ask(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"})).await;
        assert_eq!(bare["error"]["code"], -32602, "{bare}");
        let mut future = stateless(call(5, "tot_echo", json!({"text": "hi"})));
        future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
        let future = client.ask(future).await;
        assert!(future["error"]["data"]["supported"].is_array(), "{future}");
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_the_server_lives_on() {
        let mut client = RawClient::initialized(vec![panicking(), echo()]).await;
        let answer = client.ask(call(1, "tot_panic", json!({}))).await;
        assert_eq!(answer["result"]["isError"], true);
        let reply = reply(&answer);
        assert_eq!(reply["status"], "REJECTED");
        assert_eq!(reply["errors"][0]["code"], "INTERNAL_ERROR");
        assert!(reply["message"].as_str().unwrap().contains("tot_status"), "{reply}");
        assert!(!reply.to_string().contains("on purpose"), "the panic's message is for the log");
        assert_eq!(said(&client.ask(call(2, "tot_echo", json!({"text": "hi"}))).await), "hi");
    }

    #[tokio::test]
    async fn wrong_arguments_are_answered_by_a_result_that_shows_the_right_ones() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        let answer = client.ask(call(1, "tot_echo", json!({"texts": "hi", "times": 10}))).await;
        assert_eq!(answer["result"]["isError"], true);
        let reply = reply(&answer);
        assert_eq!(reply["status"], "REJECTED");
        let fields: Vec<&String> = reply.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["status", "message", "errors"], "whether it can end is not known");
        let errors = reply["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 3, "{reply}");
        assert!(errors.iter().all(|error| error["code"] == "INVALID_ARGUMENT"));
        assert_eq!(errors[0]["suggestion"], "Did you mean `text`?");
        assert_eq!(errors[1]["message"], "`times`: expected an integer of 1 to 9, got 10");
        assert!(reply["message"].as_str().unwrap().contains("{\"text\":\"<text>\"}"), "{reply}");
    }

    #[tokio::test]
    async fn a_rejection_by_the_tool_is_an_error_result() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        let answer = client.ask(call(1, "tot_echo", json!({"text": "forbidden"}))).await;
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(reply(&answer)["status"], "REJECTED");
    }

    #[tokio::test]
    async fn arguments_that_are_no_object_are_understood_or_answered() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        let answer = client.ask(call(1, "tot_echo", json!("{\"text\": \"hi\"}"))).await;
        assert_eq!(said(&answer), "hi");
        assert!(answer["result"].get("resultType").is_none());
        let answer = client.ask(call(2, "tot_echo", json!([1]))).await;
        assert_eq!(reply(&answer)["errors"][0]["code"], "INVALID_ARGUMENT", "{answer}");
        let answer = client.ask(call(3, "tot_echo", Value::Null)).await;
        assert_eq!(reply(&answer)["errors"][0]["code"], "INVALID_ARGUMENT", "{answer}");
    }

    #[tokio::test]
    async fn a_request_that_is_none_gets_a_protocol_error_and_ends_nothing() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        let mut code = async |message: Value| {
            let answer = client.ask(message).await;
            (answer["error"]["code"].as_i64(), answer["error"]["message"].as_str().unwrap().to_owned())
        };
        let (unknown, message) = code(call(1, "tot_ehco", json!({}))).await;
        assert_eq!(unknown, Some(-32602));
        assert_eq!(message, "unknown tool `tot_ehco`. Did you mean `tot_echo`? The tools are tot_echo");
        let (method, message) = code(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/cal"})).await;
        assert_eq!((method, message.as_str()), (Some(-32601), "unknown method `tools/cal`"));
        let malformed =
            |params: Value| json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        for params in [json!({"name": 5}), json!({}), json!(null)] {
            assert_eq!(code(malformed(params.clone())).await.0, Some(-32602), "{params}");
        }
        // rmcp only accepts messages whose params are an object.
        assert_eq!(code(malformed(json!("tot_echo"))).await.0, Some(-32600));
        assert_eq!(code(malformed(json!([]))).await.0, Some(-32600));
        let list = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": {"cursor": "x"}});
        assert_eq!(code(list).await.0, Some(-32602));
        assert_eq!(said(&client.ask(call(5, "tot_echo", json!({"text": "hi"}))).await), "hi");
    }

    #[tokio::test]
    async fn a_line_that_is_no_message_ends_nothing() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        // Nobody can be waiting for answers to these lines.
        for line in ["nonsense", "", "  \r", "{\"jsonrpc\":", "\u{feff}", "\0"] {
            client.send_raw(format!("{line}\n").as_bytes()).await;
        }
        client.send_raw(b"\xff\xfe\n").await;
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/unheard-of"})).await;
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5})).await;
        client.send(json!({"jsonrpc": "2.0", "id": 77, "result": {}})).await;
        assert_eq!(said(&client.ask(call(1, "tot_echo", json!({"text": "hi"}))).await), "hi");
    }

    #[tokio::test]
    async fn a_broken_request_whose_id_can_be_read_is_answered() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        // JSON has no such escape.
        client
            .send_raw(b"{\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"id\":1,\"a\":\"\\x\"}}\n")
            .await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32700)), "{answer}");
        let answer = client.ask(json!({"jsonrpc": "1.0", "id": 7, "method": "ping"})).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
        for odd in [json!([]), json!(5), json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})] {
            let answer = client.ask(odd.clone()).await;
            assert_eq!((answer.get("id"), &answer["error"]["code"]), (None, &json!(-32600)), "{odd}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_and_ends_nothing() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        client.send_raw(b"{\"method\":\"tools/call\",\"params\":{\"id\":4,\"text\":\"").await;
        let piece = vec![b'x'; 1 << 16];
        for _ in 0..=(MAX_LINE >> 16) {
            client.send_raw(&piece).await;
        }
        client.send_raw(b"\"},\"jsonrpc\":\"2.0\",\"id\":5}\n").await;
        let answer = client.receive().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32600)), "{answer}");
        assert_eq!(said(&client.ask(call(6, "tot_echo", json!({"text": "hi"}))).await), "hi");
    }

    #[tokio::test]
    async fn messages_before_the_first_request_end_nothing() {
        let mut client = RawClient::new(vec![echo()]);
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client.send(json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
        client.send_raw(b"nonsense\n").await;
        let early = client.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
        assert_eq!(early["error"]["code"], -32602);
        client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
            .await;
        let ping = client.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
        assert_eq!(ping["result"], json!({}));
        let hello = client.ask(initialize("2025-11-25")).await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    }

    #[tokio::test]
    async fn the_end_of_input_is_success_before_and_after_the_first_request() {
        let mut client = RawClient::new(vec![]);
        client.hang_up();
        assert_eq!(client.rest().await, Vec::<Value>::new());
        let mut client = RawClient::initialized(vec![]).await;
        client.hang_up();
        assert_eq!(client.rest().await, Vec::<Value>::new());
        let mut client = RawClient::new(vec![]);
        client.stop();
        assert_eq!(client.rest().await, Vec::<Value>::new());
    }

    #[tokio::test]
    async fn a_last_line_without_its_end_is_taken() {
        let mut client = RawClient::initialized(vec![echo()]).await;
        client.send_raw(call(1, "tot_echo", json!({"text": "hi"})).to_string().as_bytes()).await;
        client.hang_up();
        assert_eq!(said(&client.rest().await[0]), "hi");
    }

    #[tokio::test]
    async fn calls_run_side_by_side_and_all_are_answered() {
        let gate = Arc::<SlowCalls>::default();
        let mut client = RawClient::initialized(vec![gate.tool(), echo()]).await;
        for id in 1..=4 {
            client.send(call(id, "tot_slow", json!({}))).await;
        }
        gate.begun(4).await;
        client.send(call(5, "tot_echo", json!({"text": "hi"}))).await;
        assert_eq!(client.receive().await["id"], 5, "a quick call does not wait for the slow ones");
        gate.open();
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(client.receive().await["id"].as_u64());
        }
        ids.sort();
        assert_eq!(ids, [Some(1), Some(2), Some(3), Some(4)]);
    }

    async fn in_flight() -> (RawClient, Arc<SlowCalls>) {
        let gate = Arc::<SlowCalls>::default();
        let mut client = RawClient::initialized(vec![gate.tool()]).await;
        client.send(call(1, "tot_slow", json!({}))).await;
        gate.begun(1).await;
        (client, gate)
    }

    /// Lets more time pass than rmcp itself waits after a cancellation (2 s) or the end of input (5 s).
    async fn let_time_pass(client: &RawClient) {
        tokio::time::pause();
        for _ in 0..30 {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::resume();
        assert!(!client.served.is_finished());
    }

    #[tokio::test]
    async fn a_long_call_is_answered_after_the_end_of_input() {
        let (mut client, gate) = in_flight().await;
        client.hang_up();
        let_time_pass(&client).await;
        gate.open();
        assert_eq!(said(&client.rest().await[0]), "slowly");
    }

    #[tokio::test]
    async fn a_long_call_is_answered_after_a_signal_and_nothing_more_is_taken_in() {
        let (mut client, gate) = in_flight().await;
        client.stop();
        let_time_pass(&client).await;
        client.send(call(2, "tot_slow", json!({}))).await;
        gate.open();
        let rest = client.rest().await;
        assert_eq!((rest.len(), said(&rest[0]).as_str()), (1, "slowly"));
        assert_eq!(gate.ended(), 1);
    }

    #[tokio::test]
    async fn a_cancelled_call_runs_to_its_end_before_the_server_does() {
        let (mut client, gate) = in_flight().await;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        client.send(cancel).await;
        client.hang_up();
        let_time_pass(&client).await;
        gate.open();
        assert_eq!(client.rest().await, Vec::<Value>::new());
        assert_eq!(gate.ended(), 1);
    }

    #[tokio::test]
    async fn calls_that_are_cancelled_at_once_do_not_pile_up() {
        let gate = Arc::<SlowCalls>::default();
        let mut client = RawClient::initialized(vec![gate.tool()]).await;
        let all = AT_WORK as u32 + 40;
        for id in 1..=all {
            client.send(call(id, "tot_slow", json!({}))).await;
            let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id}});
            client.send(cancel).await;
        }
        gate.begun(AT_WORK).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let begun = gate.begun.load(Ordering::SeqCst);
        gate.open();
        assert!(begun < all as usize, "{begun}");
        gate.begun(all as usize).await;
        client.hang_up();
        client.rest().await;
        assert_eq!(gate.ended(), all as usize);
    }

    #[tokio::test]
    async fn subscriptions_take_no_room_from_requests() {
        let mut client = RawClient::new(vec![echo()]);
        let listen = json!({"jsonrpc": "2.0", "id": 0, "method": "subscriptions/listen",
            "params": {"notifications": {}}});
        for id in 0..AT_WORK + 40 {
            let mut listen = stateless(listen.clone());
            listen["id"] = json!(id);
            client.send(listen).await;
        }
        client.send(stateless(call(1_000, "tot_echo", json!({"text": "hi"})))).await;
        while client.receive().await["id"] != 1_000 {}
    }

    #[tokio::test]
    async fn two_requests_of_one_id_do_not_hold_up_the_end() {
        let (mut client, gate) = in_flight().await;
        client.send(call(1, "tot_slow", json!({}))).await;
        gate.begun(2).await;
        client.hang_up();
        gate.open();
        let since = std::time::Instant::now();
        assert_eq!(client.rest().await.len(), 1);
        assert_eq!(gate.ended(), 2);
        assert!(since.elapsed() < PATIENCE);
    }

    #[test]
    fn the_end_does_not_wait_for_a_thread_that_is_stuck() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (gate, stuck) = (Arc::<SlowCalls>::default(), Arc::<SlowCalls>::default());
        let outcome = run(runtime, async {
            // This is like a blocking read from stdin when stdin is not a pipe.
            let tool = stuck.tool();
            tokio::spawn(async move { tool.answer(json!({}), Caller::default(), Asking::Nobody).await });
            stuck.begun(1).await;
            gate.ended()
        });
        assert_eq!((outcome, stuck.ended()), (0, 0));
        stuck.open();
    }
}
