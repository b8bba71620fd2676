//! The MCP server: a table of tools, each understood, run and answered. The module `handler` is rmcp's view of it.
//!
//! 1. A [`Tool`] is made from an input type, an output type and a function; its schemas come from the types.
//! 2. [`Server::new`] takes the tools in the order in which clients shall see them.
//! 3. A call is understood by the tool's schema ([`coercion`]), run where it may block (at the `desk` over stdio, else
//!    on a thread), and answered.
//!
//! Guarantees: every call of a known tool is answered by a result, never by a protocol error, also when the arguments
//! don't fit (`INVALID_ARGUMENT`) and when the tool panics (`INTERNAL_ERROR`); `structuredContent` and the text say the
//! same; a call that has begun runs to its end, even if the client cancels it or goes away. Protocol errors are for
//! requests that are none: an unknown tool or method, params that are not an object.
//!
//! Limits: calls run side by side and in no order, but for those that write to one investigation (`lanes`);
//! a tool must be safe to run beside itself. A call that takes longer than [`PATIENCE`] is answered by `TIMED_OUT` and
//! goes on. Of a panic only the place is told, in the log; a build with `panic = "abort"` would end here.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use rmcp::{
    ErrorData,
    model::{CallToolResult, JsonObject, ToolAnnotations},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{
    bounded::{LIMIT, bounded},
    coercion::{self, Misfit},
    desk::Desk,
    handler::Heard,
    lanes::{Lane, Lanes},
    log::{self, Log},
    schema,
};
use crate::domain::Code;
use crate::service::Service;

/// The server: what it says of itself, its tools, and the service whose investigations are its resources.
#[derive(Clone)]
pub struct Server {
    pub(super) instructions: Arc<str>,
    tools: Arc<[Tool]>,
    pub(super) service: Option<Arc<Service>>,
    pub(super) heard: Arc<Heard>,
    pub(super) closing: Closing,
    busy: Busy,
    lanes: Lanes,
    desk: Option<Desk>,
    log: Log,
    read_only: bool,
}

impl Server {
    /// A server with these tools, listed in this order. The instructions are what an agent reads first; clients cut
    /// them at [`MAX_INSTRUCTIONS`] characters.
    pub fn new(instructions: impl Into<String>, tools: Vec<Tool>) -> Server {
        Server {
            instructions: instructions.into().into(),
            tools: tools.into(),
            service: None,
            heard: Arc::default(),
            closing: Closing::default(),
            busy: Busy::default(),
            lanes: Lanes::default(),
            desk: None,
            log: Log::default(),
            read_only: false,
        }
    }

    /// The same, with the investigations of the service as resources, and the prompts and completions that go with them.
    pub fn serving(self, service: Arc<Service>) -> Server {
        Server { service: Some(service), ..self }
    }

    /// The server with another log.
    pub fn with_log(self, log: Log) -> Server {
        Server { log, ..self }
    }

    /// The server with or without the tools that write: they are not listed then, and a call of one is answered by
    /// `READ_ONLY`.
    pub fn reading_only(self, read_only: bool) -> Server {
        Server { read_only, ..self }
    }

    /// The server with a desk for its calls, where there is one.
    pub(super) fn at(self, desk: Desk) -> Server {
        Server { desk: Some(desk), ..self }
    }

    /// The same server for one more connection: what a client subscribes to is its own, all else is shared.
    pub(super) fn connected(&self) -> Server {
        Server { heard: Arc::default(), ..self.clone() }
    }

    /// Where it tells what it does.
    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// What a client could stumble over: names, texts and schemas. Empty when nothing; for tests.
    pub fn lint(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.instructions.chars().count() > MAX_INSTRUCTIONS {
            faults.push(format!("the instructions are longer than {MAX_INSTRUCTIONS} characters"));
        }
        let sample = rejection("no", vec![error(Code::InvalidArgument, "no", Some("yes"))]).content;
        for (at, tool) in self.tools.iter().enumerate() {
            let About { name, title, description, .. } = tool.about;
            let fault = |what: String| format!("{name}: {what}");
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            if name.is_empty() || name.len() > 64 || !plain {
                faults.push(fault("a name is 1 to 64 letters, digits, `_` and `-`".to_owned()));
            }
            if title.is_empty() || description.is_empty() {
                faults.push(fault("the title or the description is missing".to_owned()));
            }
            if self.tools[..at].iter().any(|other| other.about.name == name) {
                faults.push(fault("there are two of this name".to_owned()));
            }
            faults.extend(schema::lint_input(tool.input_schema()).into_iter().map(fault));
            faults.extend(schema::lint_output(tool.output_schema(), &sample).into_iter().map(fault));
            let example = coercion::example(tool.input_schema());
            if coercion::understand(tool.input_schema(), example.clone()) != Ok(example) {
                faults.push(fault("the example doesn't fit the input schema".to_owned()));
            }
        }
        faults
    }

    /// The calls that are running, for whoever has to wait for them.
    pub(super) fn busy(&self) -> Busy {
        self.busy.clone()
    }

    /// Ends the subscriptions, which have no end of their own.
    pub(super) fn closing(&self) -> Closing {
        self.closing.clone()
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.about.name == name) else {
            self.log.warn("a call of a tool that there is not");
            return Err(self.unknown_tool(name));
        };
        let (since, named) = (Instant::now(), log::short(&arguments));
        let reply =
            if self.is_offered(tool) { self.run(tool.clone(), arguments).await } else { read_only(name) };
        self.log.call(&log::Call {
            tool: name,
            session: named.or_else(|| log::short(&reply.content)),
            reply: &reply.content,
            rejected: reply.rejected,
            time: since.elapsed(),
        });
        Ok(if reply.rejected {
            CallToolResult::structured_error(reply.content)
        } else {
            CallToolResult::structured(reply.content)
        })
    }

    async fn run(&self, tool: Tool, arguments: Value) -> Reply {
        let lane = if tool.about.read_only { None } else { self.lanes.of(&arguments) };
        match self.work(lane, move || tool.answer(arguments)).await {
            Ok(reply) => reply,
            Err(Unanswered::Panicked) => internal_error("the tool panicked"),
            Err(Unanswered::TimedOut) => timed_out(),
        }
    }

    /// Does work that blocks, at the desk or on a thread, when its lane is free. It goes on to its end, whatever becomes of
    /// the request.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        lane: Option<Arc<Lane>>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        // A task of its own: it outlives a request that is dropped, and the patience with it.
        let (mark, desk) = (self.busy.mark(), self.desk.clone());
        let call = tokio::spawn(async move {
            let turn = match lane {
                Some(lane) => Some(lane.lock_owned().await),
                None => None,
            };
            let run = move || {
                let _held = (mark, turn);
                work()
            };
            let outcome = match desk {
                Some(desk) => desk.run(run).await,
                None => tokio::task::spawn_blocking(run).await.ok(),
            };
            outcome.ok_or(Unanswered::Panicked)
        });
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(outcome) => outcome.unwrap_or(Err(Unanswered::Panicked)),
            Err(_) => Err(Unanswered::TimedOut),
        }
    }

    fn is_offered(&self, tool: &Tool) -> bool {
        tool.about.read_only || !self.read_only
    }

    /// The tools that this server has for its clients.
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

/// Why work has no outcome to answer with.
pub(super) enum Unanswered {
    Panicked,
    TimedOut,
}

/// How long a call may take before it is answered without its outcome: less than the minute after which clients built
/// on the official TypeScript SDK give up, who would then know nothing.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// How long the instructions may be: clients cut what is beyond.
pub const MAX_INSTRUCTIONS: usize = 2048;

/// One tool: what it says of itself, its schemas, and what it does.
#[derive(Clone)]
pub struct Tool {
    about: About,
    // Made when first asked for: a client that only says hello shall not wait for them.
    input: Arc<LazyLock<Value>>,
    output: Arc<LazyLock<Value>>,
    call: Arc<dyn Fn(Value) -> Reply + Send + Sync>,
}

impl Tool {
    /// A tool that does `call`. The function may block and do file I/O; it is run beside itself.
    pub fn new<I, O>(about: About, call: impl Fn(I) -> Answer<O> + Send + Sync + 'static) -> Tool
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let typed = move |input: Value| match serde_json::from_value::<I>(input) {
            Ok(input) => Reply::from(call(input)),
            // The schema let through what the type refuses, say a check in a `Deserialize` of its own.
            Err(misfit) => rejection(
                &format!("Nothing was done. Mend the arguments and call `{}` again.", about.name),
                vec![error(Code::InvalidArgument, &misfit.to_string(), None)],
            ),
        };
        Tool {
            about,
            input: Arc::new(LazyLock::new(schema::input::<I>)),
            output: Arc::new(LazyLock::new(schema::output::<O>)),
            call: Arc::new(typed),
        }
    }

    /// Answers a call as an agent sent it. Blocks; a panic of the tool goes through.
    pub fn answer(&self, arguments: Value) -> Reply {
        let sent = coercion::short_fields(&arguments);
        match coercion::understand(self.input_schema(), arguments) {
            Ok(input) => (self.call)(input),
            Err(misfits) => self.misfitting(&misfits, &sent),
        }
    }

    /// What the tool says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// The schema of its replies, rejections included.
    pub fn output_schema(&self) -> &Value {
        &self.output
    }

    fn misfitting(&self, misfits: &[Misfit], sent: &Map<String, Value>) -> Reply {
        let name = self.about.name;
        let example = coercion::example_like(self.input_schema(), sent).to_string();
        let mut errors: Vec<Value> = misfits.iter().take(MAX_ERRORS).map(invalid_argument).collect();
        if let Some(rest) = misfits.len().checked_sub(MAX_ERRORS).filter(|rest| *rest > 0) {
            errors.push(error(Code::InvalidArgument, &format!("{rest} more misfits are not shown"), None));
        }
        let mut message =
            format!("Nothing was done. Mend the arguments as the errors say and call `{name}` again");
        if example.len() <= MAX_EXAMPLE {
            message.push_str(", like: ");
            message.push_str(&example);
        } else {
            message.push('.');
        }
        rejection(&message, errors)
    }

    pub(super) fn listed(&self) -> rmcp::model::Tool {
        let About { name, title, description, read_only, idempotent } = self.about;
        let hints = ToolAnnotations::new()
            .read_only(read_only)
            .destructive(false)
            .idempotent(idempotent || read_only)
            .open_world(false);
        rmcp::model::Tool::new(name, description, object(&schema::listed(self.input_schema())))
            .with_title(title)
            .with_raw_output_schema(object(self.output_schema()).into())
            .with_annotations(hints)
    }
}

/// What a tool says of itself. None is destructive, and none reaches beyond its own files.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name, at most 64 letters, digits, `_` and `-`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does; describes, doesn't command.
    pub description: &'static str,
    /// Whether it writes nothing.
    pub read_only: bool,
    /// Whether the same call again changes nothing more. True of a reader anyway.
    pub idempotent: bool,
}

/// What a tool's function gives back: its reply, and whether it did what was asked.
#[derive(Debug)]
pub enum Answer<O> {
    /// It was done.
    Done(O),
    /// A rule or a circumstance forbids it; the reply says which, and nothing was written.
    Rejected(O),
}

/// A reply as it goes to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The reply, an object: `structuredContent`, and the text.
    pub content: Value,
    /// Whether it is a rejection: `isError`.
    pub rejected: bool,
}

impl<O: Serialize> From<Answer<O>> for Reply {
    fn from(answer: Answer<O>) -> Reply {
        let (reply, rejected) = match answer {
            Answer::Done(reply) => (reply, false),
            Answer::Rejected(reply) => (reply, true),
        };
        match serde_json::to_value(reply) {
            Ok(content) => Reply { content: bounded(content, LIMIT), rejected },
            Err(fault) => internal_error(&format!("the reply can't be written as JSON: {fault}")),
        }
    }
}

/// A rejection that fits every tool's output schema: its required fields are those of [`schema::SHARED`].
pub fn rejection(message: &str, errors: Vec<Value>) -> Reply {
    let content = json!({
        "status": "REJECTED",
        "message": message,
        "errors": errors,
        "warnings": [],
        "canEnd": false,
        "blockers": [],
    });
    Reply { content, rejected: true }
}

/// One of a rejection's errors.
pub fn error(code: Code, message: &str, suggestion: Option<&str>) -> Value {
    match suggestion {
        Some(suggestion) => json!({"code": code.to_string(), "message": message, "suggestion": suggestion}),
        None => json!({"code": code.to_string(), "message": message}),
    }
}

/// How many misfits one reply tells of. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// How long an example may be, in bytes, to be put into a message.
const MAX_EXAMPLE: usize = 1000;

fn invalid_argument(misfit: &Misfit) -> Value {
    error(Code::InvalidArgument, &misfit.message(), misfit.suggestion.as_deref())
}

fn internal_error(what: &str) -> Reply {
    let message = "The tool broke down. Nothing is known to be written beyond what tot_status shows: look there \
                   before you call again, and file a bug with what the server wrote to stderr.";
    rejection(
        message,
        vec![error(Code::InternalError, what, Some("Call tot_status to see what was written."))],
    )
}

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

fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}

/// Counts the calls that haven't ended.
#[derive(Clone)]
pub(super) struct Busy(watch::Sender<usize>);

impl Default for Busy {
    fn default() -> Busy {
        Busy(watch::Sender::new(0))
    }
}

impl Busy {
    /// Counts one call, until the mark is dropped.
    pub(super) fn mark(&self) -> Mark {
        self.0.send_modify(|running| *running += 1);
        Mark(self.0.clone())
    }

    /// Whether no call is running.
    pub(super) fn is_idle(&self) -> bool {
        *self.0.borrow() == 0
    }

    /// Waits until no call is running.
    pub(super) async fn idle(&self) {
        // Fails only without a sender, and we hold one.
        let _ = self.0.subscribe().wait_for(|running| *running == 0).await;
    }
}

/// One call that hasn't ended.
pub(super) struct Mark(watch::Sender<usize>);

impl Drop for Mark {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

/// Tells subscriptions that the connection ends.
#[derive(Clone)]
pub(super) struct Closing(watch::Sender<bool>);

impl Default for Closing {
    fn default() -> Closing {
        Closing(watch::Sender::new(false))
    }
}

impl Closing {
    /// From now on the connection ends.
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it does.
    pub(super) async fn begun(&self) {
        // Fails only without a sender, and we hold one.
        let _ = self.0.subscribe().wait_for(|closing| *closing).await;
    }
}
