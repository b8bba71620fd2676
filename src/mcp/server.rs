//! The MCP server: a table of tools, each understood, run and answered. The module `handler` is rmcp's view of it.
//!
//! 1. A [`Tool`] is made from an input type, an output type and a function; its schemas come from the types.
//! 2. [`Server::new`] takes the tools in the order in which clients shall see them.
//! 3. A call is understood by the tool's schema ([`forgiving`]), run on a blocking thread, and answered.
//!
//! Guarantees: every call of a known tool is answered by a result, never by a protocol error, also when the arguments
//! don't fit (`INVALID_ARGUMENT`) and when the tool panics (`INTERNAL_ERROR`); `structuredContent` and the text say the
//! same; a call that has begun runs to its end, even if the client cancels it or goes away. Protocol errors are for
//! requests that are none: an unknown tool or method, params that are not an object.
//!
//! Limits: calls run side by side and in no order, so a tool must be safe to run beside itself. A panic's message goes
//! to stderr only, by the panic hook; a build with `panic = "abort"` would end here.

use std::sync::{Arc, LazyLock};

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
    forgiving::{self, Misfit},
    handler::Heard,
    schema,
    service::Service,
};

/// The server: what it says of itself, its tools, and the service whose investigations are its resources.
pub struct Server {
    pub(super) instructions: String,
    pub(super) tools: Vec<Tool>,
    pub(super) service: Option<Arc<Service>>,
    pub(super) heard: Arc<Heard>,
    pub(super) busy: Busy,
    pub(super) closing: Closing,
}

impl Server {
    /// A server with these tools, listed in this order. The instructions are what an agent reads first; clients cut
    /// them at [`MAX_INSTRUCTIONS`] characters.
    pub fn new(instructions: impl Into<String>, tools: Vec<Tool>) -> Server {
        Server {
            instructions: instructions.into(),
            tools,
            service: None,
            heard: Arc::default(),
            busy: Busy::default(),
            closing: Closing::default(),
        }
    }

    /// The same, with the investigations of the service as resources, and the prompts and completions that go with them.
    pub fn serving(self, service: Arc<Service>) -> Server {
        Server { service: Some(service), ..self }
    }

    /// What a client could stumble over: names, texts and schemas. Empty when nothing; for tests.
    pub fn lint(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.instructions.chars().count() > MAX_INSTRUCTIONS {
            faults.push(format!("the instructions are longer than {MAX_INSTRUCTIONS} characters"));
        }
        let sample = rejection("no", vec![error("INVALID_ARGUMENT", "no", Some("yes"))]).content;
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
            let example = forgiving::example(tool.input_schema());
            if forgiving::understand(tool.input_schema(), example.clone()) != Ok(example) {
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
            return Err(self.unknown_tool(name));
        };
        let work = {
            let tool = tool.clone();
            move || tool.answer(arguments)
        };
        let reply = self.busy.run(work).await.unwrap_or_else(|| internal_error("the tool panicked"));
        Ok(if reply.rejected {
            CallToolResult::structured_error(reply.content)
        } else {
            CallToolResult::structured(reply.content)
        })
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let known: Vec<&str> = self.tools.iter().map(|tool| tool.about.name).collect();
        let hint = forgiving::nearest(known.iter().copied(), name)
            .map(|name| format!(" Did you mean `{name}`?"))
            .unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        let message = format!("there is no tool `{shown}`.{hint} The tools are {}", known.join(", "));
        ErrorData::invalid_params(message, None)
    }
}

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
                vec![error("INVALID_ARGUMENT", &misfit.to_string(), None)],
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
        let sent = forgiving::short_fields(&arguments);
        match forgiving::understand(self.input_schema(), arguments) {
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
        let example = forgiving::example_like(self.input_schema(), sent).to_string();
        let mut errors: Vec<Value> = misfits.iter().take(MAX_ERRORS).map(invalid_argument).collect();
        if let Some(rest) = misfits.len().checked_sub(MAX_ERRORS).filter(|rest| *rest > 0) {
            errors.push(error("INVALID_ARGUMENT", &format!("{rest} more misfits are not shown"), None));
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
pub fn error(code: &str, message: &str, suggestion: Option<&str>) -> Value {
    match suggestion {
        Some(suggestion) => json!({"code": code, "message": message, "suggestion": suggestion}),
        None => json!({"code": code, "message": message}),
    }
}

/// How many misfits one reply tells of. An agent that gets twenty wrong has misread the schema, not mistyped.
const MAX_ERRORS: usize = 20;

/// How long an example may be, in bytes, to be put into a message.
const MAX_EXAMPLE: usize = 1000;

fn invalid_argument(misfit: &Misfit) -> Value {
    error("INVALID_ARGUMENT", &misfit.message(), misfit.suggestion.as_deref())
}

fn internal_error(what: &str) -> Reply {
    let message = "The tool broke down. Nothing is known to be written beyond what tot_status shows: look there \
                   before you call again, and file a bug with what the server wrote to stderr.";
    rejection(message, vec![error("INTERNAL_ERROR", what, Some("Call tot_status to see what was written."))])
}

fn object(schema: &Value) -> JsonObject {
    schema.as_object().cloned().unwrap_or_default()
}

/// Runs calls on blocking threads, and counts those that haven't ended.
#[derive(Clone)]
pub(super) struct Busy(watch::Sender<usize>);

impl Default for Busy {
    fn default() -> Busy {
        Busy(watch::Sender::new(0))
    }
}

impl Busy {
    /// Does work that blocks; `None` when it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // Counted here and let go of on the thread: the count outlives a request that is dropped meanwhile.
        let mark = Mark::new(self.0.clone());
        let run = tokio::task::spawn_blocking(move || {
            let _mark = mark;
            work()
        });
        run.await.ok()
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

struct Mark(watch::Sender<usize>);

impl Mark {
    fn new(running: watch::Sender<usize>) -> Mark {
        running.send_modify(|running| *running += 1);
        Mark(running)
    }
}

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
