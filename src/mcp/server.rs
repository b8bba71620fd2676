//! The MCP server, which holds a table of tools and runs calls to them. The module `handler` connects it to rmcp.
//!
//! 1. A [`Tool`] consists of an input type, an output type and a function. Its schema is derived from the input type.
//! 2. [`Server::new`] takes the tools in the order in which clients list them.
//! 3. The arguments of a call are coerced to the tool's schema ([`coercion`]). Then the tool runs and its reply is
//!    sent.
//!
//! Guarantees: every call to a known tool is answered with a result, never with a protocol error, even if the
//! arguments don't fit (`INVALID_ARGUMENT`) or the tool panics (`INTERNAL_ERROR`). A call that has started runs to
//! completion, even if the client cancels it or disconnects. Protocol errors are reserved for malformed requests: an
//! unknown tool or method, or params that are not an object.
//!
//! Limitations: calls run concurrently and in no particular order, except calls that write to the same investigation
//! (`queues`). Therefore, a tool must be safe to run concurrently with itself. A call that takes longer than
//! [`PATIENCE`] is answered with `TIMED_OUT` but continues. A call that is still queued after `TURN` is refused. Only
//! the location of a panic is logged. In a build with `panic = "abort"`, a panic would end the process instead.

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
    handler::Notifier,
    log::{self, Log},
    queues::Queues,
    tool::{Tool, ToolReply, internal_error, rejection},
};
use crate::domain::{Caller, Code, Diagnostic, SessionId};
use crate::service::Service;
use crate::service::arguments::coercion;
use crate::service::background::Background;
use crate::text::{one_line, shorten};

/// An MCP server: its instructions, its tools, and the service whose investigations it offers as resources.
#[derive(Clone, Default)]
pub struct Server {
    pub(super) instructions: Arc<str>,
    tools: Arc<[Tool]>,
    pub(super) service: Option<Arc<Service>>,
    pub(super) notifier: Arc<Notifier>,
    /// Cancelled when the connection ends, since subscriptions never end by themselves.
    pub(super) closing: CancellationToken,
    /// The running calls.
    pub(super) busy: TaskTracker,
    queues: Queues,
    pub(crate) log: Log,
    /// Hides the tools that write. Calling a hidden tool returns `READ_ONLY`.
    pub(crate) read_only: bool,
    /// How client runs are distinguished.
    pub(crate) session: ClientSession,
    /// How long to wait for a person's permission to end an investigation. If `None`, nobody is asked.
    pub(crate) ask_before_end: Option<Duration>,
    /// The background work, syncing, that the server finishes before it stops.
    pub(crate) background: Option<Arc<Background>>,
}

/// How client runs are distinguished.
#[derive(Clone, Debug, Default)]
pub enum ClientSession {
    /// Client runs are not distinguished.
    #[default]
    Unknown,
    /// This process serves a single client run with this name.
    Process(String),
    /// Each connection may have a session in protocol versions up to 2025-11-25. The session is named when the
    /// connection starts.
    Connections,
    /// The session of one connection.
    Connection(String),
}

impl Server {
    /// Returns a server with the given tools, listed in the given order. Agents read the instructions first; clients
    /// truncate them after 2,048 characters.
    pub fn new(instructions: impl Into<String>, tools: Vec<Tool>) -> Server {
        Server { instructions: instructions.into().into(), tools: tools.into(), ..Server::default() }
    }

    /// Offers the service's investigations as resources, along with prompts.
    pub fn serving(self, service: Arc<Service>) -> Server {
        Server { service: Some(service), ..self }
    }

    /// Finishes the background work after the last call. Blocks for at most `patience`.
    pub(super) fn finish(&self, patience: Duration) {
        if let Some(background) = &self.background {
            background.finish(patience);
        }
    }

    /// Returns a server for another connection. The new server shares everything except the notifications and the
    /// client session.
    pub(super) fn connected(&self) -> Server {
        let session = match (&self.session, self.new_session()) {
            (ClientSession::Connections, Some(name)) => ClientSession::Connection(name),
            (session, _) => session.clone(),
        };
        Server { notifier: Arc::default(), session, ..self.clone() }
    }

    /// Names the run of this process's only client, creating a new name if none is given.
    pub fn of_one_client(self, name: Option<String>) -> Server {
        let session = name.or_else(|| self.new_session()).map(ClientSession::Process);
        Server { session: session.unwrap_or_default(), ..self }
    }

    fn new_session(&self) -> Option<String> {
        let world = self.service.as_ref()?.world();
        Some(world.id(world.now().ok()?, SessionId::new).to_string())
    }

    /// Returns the caller, if known. In the stateless protocol, requests on the same connection are not related.
    pub(super) fn caller(&self, client: Option<Implementation>, is_stateless: bool) -> Caller {
        /// The maximum length of a client name, in characters.
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
            self.log.warn("call to an unknown tool");
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
        self.log.call(name, named, &reply.shared, since.elapsed());
        let text = vec![ContentBlock::text(reply.content.to_string())];
        Ok(Called::Done(match reply.shared.is_rejected() {
            true => CallToolResult::error(text),
            false => CallToolResult::success(text),
        }))
    }

    async fn run(&self, tool: Tool, arguments: Value, caller: Caller, asking: Asking) -> ToolReply {
        let queue = queue_of(&tool, &arguments).map(|name| self.queues.of(&name));
        let call = async move {
            let _turn = match &queue {
                Some(queue) => match tokio::time::timeout(TURN, queue.lock()).await {
                    Ok(turn) => Some(turn),
                    Err(_) => return not_begun(),
                },
                None => None,
            };
            tool.answer(arguments, caller, asking).await
        };
        match self.work(call).await {
            Ok(reply) => reply,
            Err(Unanswered::Panicked) => internal_error("the tool panicked"),
            Err(Unanswered::TimedOut) => timed_out(),
        }
    }

    /// Waits until no calls are running.
    pub(super) async fn idle(&self) {
        self.busy.close();
        self.busy.wait().await;
    }

    /// Runs `work` to completion, even if the request is dropped.
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

    /// Returns the available tools as clients see them.
    pub(super) fn listed(&self) -> impl Iterator<Item = rmcp::model::Tool> {
        self.offered().map(|tool| tool.listed(self.read_only))
    }

    /// Returns the available tools.
    pub(super) fn offered(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| self.is_offered(tool))
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let known: Vec<&str> = self.offered().map(|tool| tool.about.name).collect();
        let hint = coercion::nearest(known.iter().copied(), name)
            .map(|name| format!(" Did you mean `{name}`?"))
            .unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        let message = format!("unknown tool `{shown}`.{hint} The tools are {}", known.join(", "));
        ErrorData::invalid_params(message, None)
    }
}

/// The outcome of a call.
pub(super) enum Called {
    /// The call was answered.
    Done(CallToolResult),
    /// A person must be asked this question, and the call must be repeated with the answer.
    Asks(String),
}

/// Returns the name of the queue in which a call waits if it writes to an existing investigation or its report.
fn queue_of(tool: &Tool, arguments: &Value) -> Option<String> {
    let id = arguments.get("sessionId")?.as_str()?.trim();
    // Longer ids are invalid, so they need no queue.
    (!tool.about.read_only && id.len() <= 36).then(|| tool.about.queue.to_owned() + &id.to_ascii_lowercase())
}

/// The reason why a request's work produced no outcome.
pub(super) enum Unanswered {
    Panicked,
    TimedOut,
}

/// The time limit for a call. It is shorter than the one minute after which clients based on the official TypeScript
/// SDK give up without an answer.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// How long a call may wait for earlier writes to the same investigation. It is shorter than [`PATIENCE`], so the
/// reply can say that the call has not started rather than that it continues.
const TURN: Duration = Duration::from_secs(45);

fn timed_out() -> ToolReply {
    let message = format!(
        "The call has taken longer than {} seconds and continues. See tot_status for its outcome before you call again.",
        PATIENCE.as_secs()
    );
    let error = Diagnostic::new(Code::TimedOut, &message).suggest("Call tot_status to see what was written.");
    rejection(&message, vec![error])
}

fn not_begun() -> ToolReply {
    let message = format!(
        "Earlier calls have been writing for {} seconds. This call was not started, and nothing was written.",
        TURN.as_secs()
    );
    let suggestion =
        "Call again. If this persists, a process that writes may be stuck. tot_status still works.";
    rejection(&message, vec![Diagnostic::new(Code::Busy, &message).suggest(suggestion)])
}

fn read_only(name: &str) -> ToolReply {
    let what =
        format!("`{name}` writes, but this server is read-only: its operator started it with --read-only.");
    let suggestion = "Use tot_status, tot_next and the other listed tools, or a server without --read-only.";
    let error = Diagnostic::new(Code::ReadOnly, what).suggest(suggestion);
    rejection("Nothing was done: this server is read-only.", vec![error])
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::mcp::tool::About;
    use crate::service::reply::ReplyFields;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct WriteInput {
        /// Which one.
        session_id: String,
    }

    fn writing() -> Tool {
        let about = About { name: "tot_write", title: "A title", description: "It writes.", ..About::PLAIN };
        Tool::new(about, |input: WriteInput, _: &Caller, _| {
            ToolReply::done(ReplyFields::apart(input.session_id), &(), &(), 1_500)
        })
    }

    /// Returns the text of a reply and the time it took.
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
        let queue = server.queues.of("0190");
        let before = queue.lock().await;
        let (reply, after) = called(&server, "0190").await;
        assert!(reply.contains("BUSY") && reply.contains("nothing was written"), "{reply}");
        assert!(after >= TURN && after < PATIENCE, "{after:?}");
        // Another investigation has its own queue and is not delayed.
        assert!(!called(&server, "0191").await.0.contains("BUSY"));
        drop(before);
        let (reply, after) = called(&server, "0190").await;
        assert!(!reply.contains("REJECTED") && after < TURN, "{reply}");
    }
}
