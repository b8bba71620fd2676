//! The MCP server: a table of tools, each understood, run and answered. The module `handler` is rmcp's view of it.
//!
//! 1. A [`Tool`] is made from an input type, an output type and a function; its schemas come from the types.
//! 2. [`Server::new`] takes the tools in the order in which clients see them.
//! 3. A call is understood by the tool's schema ([`coercion`]), run on a thread where it may block, and answered.
//!
//! Guarantees: every call of a known tool is answered by a result, never by a protocol error, even if the arguments
//! don't fit (`INVALID_ARGUMENT`) or the tool panics (`INTERNAL_ERROR`). A call that has begun runs to its end, even if the
//! client cancels it or goes away. Protocol errors are for malformed requests: an unknown tool or method, or params that
//! are not an object.
//!
//! Limits: calls run concurrently and in no order, except those that write to one investigation (`queues`), so a tool must be
//! safe to run concurrently with itself. A call that takes longer than [`PATIENCE`] is answered by `TIMED_OUT` and goes on. A
//! call that has not had its turn by `TURN` is refused. The log names only the place of a panic; a build with `panic = "abort"`
//! would end the process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, Implementation},
};
use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ask::Asking,
    coercion,
    handler::Teller,
    log::{self, Log},
    queues::Queues,
    tool::{Reply, Tool, error, internal_error, rejection},
};
use crate::background::Background;
use crate::domain::{Caller, Code};
use crate::service::Service;
use crate::text::{one_line, shorten};

/// The server: its instructions, its tools, and the service whose investigations are its resources.
#[derive(Clone)]
pub struct Server {
    pub(super) instructions: Arc<str>,
    tools: Arc<[Tool]>,
    pub(super) service: Option<Arc<Service>>,
    pub(super) teller: Arc<Teller>,
    /// Cancelled when the connection ends: subscriptions have no end of their own.
    pub(super) closing: CancellationToken,
    /// The calls that haven't ended.
    pub(super) busy: TaskTracker,
    writers: Queues<()>,
    pub(super) log: Log,
    read_only: bool,
    session: ClientSession,
    /// How long a call waits for the person who is asked before the end; `None` to ask nobody.
    pub(super) ask_before_end: Option<Duration>,
    /// What runs beside the calls: syncing.
    background: Option<Arc<Background>>,
}

/// The way to tell one run of a client from another.
#[derive(Clone, Debug, Default)]
pub enum ClientSession {
    /// Runs are not told apart.
    #[default]
    Unknown,
    /// This process serves a single run, which has this name.
    Process(String),
    /// A connection may have a session of its own, by the protocol up to 2025-11-25; it gets a name when it begins.
    Connections,
    /// The session of this connection.
    Connection(String),
}

impl Server {
    /// Returns a server with these tools, listed in this order. The instructions are what an agent reads first; clients cut them
    /// at [`MAX_INSTRUCTIONS`] characters.
    pub fn new(instructions: impl Into<String>, tools: Vec<Tool>) -> Server {
        Server {
            instructions: instructions.into().into(),
            tools: tools.into(),
            service: None,
            teller: Arc::default(),
            closing: CancellationToken::new(),
            busy: TaskTracker::new(),
            writers: Queues::default(),
            log: Log::default(),
            read_only: false,
            session: ClientSession::Unknown,
            ask_before_end: None,
            background: None,
        }
    }

    /// Offers the investigations of the service as resources, with the prompts and completions that go with them.
    pub fn serving(self, service: Arc<Service>) -> Server {
        Server { service: Some(service), ..self }
    }

    /// Sets the log.
    pub fn with_log(self, log: Log) -> Server {
        Server { log, ..self }
    }

    /// Leaves out the tools that write if `read_only`: they are not listed, and a call of one is answered by `READ_ONLY`.
    pub fn reading_only(self, read_only: bool) -> Server {
        Server { read_only, ..self }
    }

    /// Asks the person in front of the client before an investigation ends, and waits this long for the answer.
    pub fn asking_before_end(self, patience: Option<Duration>) -> Server {
        Server { ask_before_end: patience, ..self }
    }

    /// Sets the work beside the calls, to be finished when the server ends.
    pub fn with_background(self, background: Option<Background>) -> Server {
        Server { background: background.map(Arc::new), ..self }
    }

    /// Finishes the work beside the calls once these have ended. Blocks for at most `patience`.
    pub(super) fn finish(&self, patience: Duration) {
        if let Some(background) = &self.background {
            background.finish(patience);
        }
    }

    /// Returns this server for one more connection. Only the channel of notices to the client is its own.
    pub(super) fn connected(&self) -> Server {
        let session = match (&self.session, self.new_session()) {
            (ClientSession::Connections, Some(name)) => ClientSession::Connection(name),
            (session, _) => session.clone(),
        };
        Server { teller: Arc::default(), session, ..self.clone() }
    }

    /// Sets what tells one run of a client from another.
    pub fn with_session(self, session: ClientSession) -> Server {
        Server { session, ..self }
    }

    /// Names the run of the only client of this process; without a name it gets a new one.
    pub fn of_one_client(self, name: Option<String>) -> Server {
        let session = name.or_else(|| self.new_session()).map(ClientSession::Process);
        self.with_session(session.unwrap_or_default())
    }

    fn new_session(&self) -> Option<String> {
        let world = self.service.as_ref()?.world();
        Some(world.session_id(world.now().ok()?).to_string())
    }

    /// The caller, as far as it is known. In the stateless protocol no two requests of a connection belong together.
    pub(super) fn caller(&self, client: Option<Implementation>, is_stateless: bool) -> Caller {
        /// The most characters of a name.
        const MOST: usize = 100;
        let session = match &self.session {
            ClientSession::Process(name) => Some(name.clone()),
            ClientSession::Connection(name) if !is_stateless => Some(name.clone()),
            _ => None,
        };
        let client = client.map(|client| format!("{}/{}", client.name, client.version));
        let client = client.map(|client| shorten(&one_line(&client), MOST));
        Caller { client, session, ..Caller::default() }
    }

    pub(super) async fn call(
        &self,
        name: &str,
        arguments: Value,
        caller: Caller,
        asking: Asking,
    ) -> Result<Called, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.about.name == name) else {
            self.log.warn("a call of an unknown tool");
            return Err(self.unknown_tool(name));
        };
        let (since, named) = (Instant::now(), log::short(&arguments));
        let reply = if self.is_offered(tool) {
            self.run(tool.clone(), arguments, caller, asking).await
        } else {
            read_only(name)
        };
        if let Some(question) = reply.question {
            return Ok(Called::Asks(question));
        }
        self.log.call(&log::Call {
            tool: name,
            session: named,
            outcome: &reply.outcome,
            time: since.elapsed(),
        });
        let text = vec![ContentBlock::text(reply.content.to_string())];
        Ok(Called::Done(match reply.outcome.rejected {
            true => CallToolResult::error(text),
            false => CallToolResult::success(text),
        }))
    }

    async fn run(&self, tool: Tool, arguments: Value, caller: Caller, asking: Asking) -> Reply {
        let queue = written_to(&tool, &arguments).map(|id| self.writers.of(&id));
        let call = async move {
            let _turn = match &queue {
                Some(queue) => match tokio::time::timeout(TURN, queue.lock()).await {
                    Ok(turn) => Some(turn),
                    Err(_) => return not_begun(),
                },
                None => None,
            };
            tool.answer_asking(arguments, caller, asking).await
        };
        match self.work(call).await {
            Ok(reply) => reply,
            Err(Unanswered::Panicked) => internal_error("the tool panicked"),
            Err(Unanswered::TimedOut) => timed_out(),
        }
    }

    /// Waits until no call is running.
    pub(super) async fn idle(&self) {
        self.busy.close();
        self.busy.wait().await;
    }

    /// Runs `work` to its end, even if the request is dropped.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Unanswered> {
        // A separate task outlives a dropped request and the time limit.
        match tokio::time::timeout(PATIENCE, self.busy.spawn(work)).await {
            Ok(outcome) => outcome.map_err(|_| Unanswered::Panicked),
            Err(_) => Err(Unanswered::TimedOut),
        }
    }

    fn is_offered(&self, tool: &Tool) -> bool {
        tool.about.read_only || tool.about.also_reads || !self.read_only
    }

    /// The tools on offer, as clients see them.
    pub(super) fn listed(&self) -> impl Iterator<Item = rmcp::model::Tool> {
        self.offered().map(|tool| tool.listed(self.read_only))
    }

    /// Returns the tools on offer.
    pub(super) fn offered(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| self.is_offered(tool))
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let known: Vec<&str> = self.offered().map(|tool| tool.about.name).collect();
        let hint = coercion::nearest(known.iter().copied(), name)
            .map(|name| format!(" Did you mean `{name}`?"))
            .unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        let message = format!("there is no tool `{shown}`.{hint} The tools are {}", known.join(", "));
        ErrorData::invalid_params(message, None)
    }
}

/// The outcome of a call.
pub(super) enum Called {
    /// It was answered.
    Done(CallToolResult),
    /// A question for a person; the call is repeated with the answer.
    Asks(String),
}

/// The investigation that a call writes to, as the call names it; `None` for a call that starts one.
fn written_to(tool: &Tool, arguments: &Value) -> Option<String> {
    let id = arguments.get("sessionId")?.as_str()?.trim();
    // No valid id is longer, so an invalid one needs no queue.
    (tool.queues && id.len() <= 36).then(|| id.to_ascii_lowercase())
}

/// The reason why work has no outcome.
pub(super) enum Unanswered {
    Panicked,
    TimedOut,
}

/// How long a call may take before it is answered without its outcome: less than the minute after which clients built on the
/// official TypeScript SDK give up, and would know nothing.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// How long a call waits for earlier calls that write to the same investigation. The answer says that it has not begun, rather
/// than that it goes on.
const TURN: Duration = Duration::from_secs(45);

/// The most characters of the instructions: clients cut the rest.
pub const MAX_INSTRUCTIONS: usize = 2048;

fn timed_out() -> Reply {
    let message = format!(
        "The call takes longer than {} seconds and goes on. Look at tot_status for what it did before you call again.",
        PATIENCE.as_secs()
    );
    rejection(
        &message,
        vec![error(Code::TimedOut, &message, Some("Call tot_status to see what was written."))],
    )
}

fn not_begun() -> Reply {
    let message = format!(
        "Calls before this one have been writing to the investigation for {} seconds. This one has not begun, and nothing was written.",
        TURN.as_secs()
    );
    let suggestion = "Call again. If it stays so, a process that writes there hangs or was stopped: tot_status works meanwhile.";
    rejection(&message, vec![error(Code::Busy, &message, Some(suggestion))])
}

fn read_only(name: &str) -> Reply {
    let what =
        format!("`{name}` writes, and this server only reads: its operator started it with --read-only.");
    let suggestion =
        "Use tot_status, tot_next and the other tools that are listed, or a server without --read-only.";
    rejection(
        "Nothing was done: this server only reads.",
        vec![error(Code::ReadOnly, &what, Some(suggestion))],
    )
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::mcp::tool::{About, Answer, Nothing};
    use crate::mcp::wire::Shared;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        /// Which one.
        session_id: String,
    }

    fn writing() -> Tool {
        let about =
            About { name: "tot_write", title: "A title", description: "It writes.", ..About::default() };
        Tool::new(about, |input: Input| Answer::Done {
            shared: Shared::apart(input.session_id),
            body: Nothing {},
            advice: Nothing {},
        })
    }

    /// The text of a reply, and after how long it came.
    async fn called(server: &Server, session: &str) -> (String, Duration) {
        let since = tokio::time::Instant::now();
        let arguments = json!({"sessionId": session});
        match server.call("tot_write", arguments, Caller::default(), Asking::Nobody).await {
            Ok(Called::Done(result)) => (serde_json::to_string(&result).unwrap(), since.elapsed()),
            _ => panic!("no reply"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_turn_does_not_come_is_not_told_that_it_goes_on() {
        let server = Server::new("", vec![writing()]);
        let queue = server.writers.of("0190");
        let before = queue.lock().await;
        let (reply, after) = called(&server, "0190").await;
        assert!(reply.contains("BUSY") && reply.contains("nothing was written"), "{reply}");
        assert!(after >= TURN && after < PATIENCE, "{after:?}");
        // Another investigation is another queue, and this one goes on.
        assert!(!called(&server, "0191").await.0.contains("BUSY"));
        drop(before);
        let (reply, after) = called(&server, "0190").await;
        assert!(!reply.contains("REJECTED") && after < TURN, "{reply}");
    }
}
