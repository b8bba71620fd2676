//! The MCP server: a table of tools, and rmcp's handler over it.
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
//! Limits: calls run side by side and in no order, but for those that write to one investigation (`lanes`);
//! a tool must be safe to run beside itself. A call that takes longer than [`PATIENCE`] is answered by `TIMED_OUT` and
//! goes on. Of a panic only the place is told, in the log; a build with `panic = "abort"` would end here.
//!
//! Both eras of the protocol are served. rmcp negotiates `initialize`, answers `server/discover`, checks `_meta` and
//! adds or strips `resultType`; this module adds the order of the tools, the cache hints, and params that rmcp can't
//! read. Resources and prompts join as further parts of [`Server`] and methods of its handler.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
        DiscoverResult, ErrorCode, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    bounded::{LIMIT, bounded},
    forgiving::{self, Misfit},
    lanes::Lanes,
    log::{self, Log},
    schema,
};

/// The server: what it says of itself, and its tools.
pub struct Server {
    instructions: String,
    tools: Vec<Tool>,
    busy: Busy,
    lanes: Lanes,
    log: Log,
    read_only: bool,
}

impl Server {
    /// A server with these tools, listed in this order. The instructions are what an agent reads first; clients cut
    /// them at [`MAX_INSTRUCTIONS`] characters.
    pub fn new(instructions: impl Into<String>, tools: Vec<Tool>) -> Server {
        Server {
            instructions: instructions.into(),
            tools,
            busy: Busy::default(),
            lanes: Lanes::default(),
            log: Log::default(),
            read_only: false,
        }
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

    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.about.name == name) else {
            self.log.warn("a call of a tool that there is not");
            return Err(self.unknown_tool(name));
        };
        let (since, named) = (Instant::now(), log::short(&arguments));
        let reply = if self.is_offered(tool) { self.run(tool, arguments).await } else { read_only(name) };
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

    async fn run(&self, tool: &Tool, arguments: Value) -> Reply {
        // A task of its own: it outlives a request that is dropped, and the patience with it.
        let mark = self.busy.mark();
        let (tool, lanes) = (tool.clone(), self.lanes.clone());
        let call = tokio::spawn(async move {
            let lane = if tool.about.read_only { None } else { lanes.enter(&arguments).await };
            let run = tokio::task::spawn_blocking(move || {
                let _held = (mark, lane);
                tool.answer(arguments)
            });
            run.await.unwrap_or_else(|_| internal_error("the tool panicked"))
        });
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(reply) => reply.unwrap_or_else(|_| internal_error("the call was lost")),
            Err(_) => timed_out(),
        }
    }

    fn is_offered(&self, tool: &Tool) -> bool {
        tool.about.read_only || !self.read_only
    }

    fn offered(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| self.is_offered(tool))
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let known: Vec<&str> = self.offered().map(|tool| tool.about.name).collect();
        let hint = forgiving::nearest(known.iter().copied(), name)
            .map(|name| format!(" Did you mean `{name}`?"))
            .unwrap_or_default();
        let shown: String = name.chars().take(80).collect();
        let message = format!("there is no tool `{shown}`.{hint} The tools are {}", known.join(", "));
        ErrorData::invalid_params(message, None)
    }
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
        match forgiving::understand(self.input_schema(), arguments) {
            Ok(input) => (self.call)(input),
            Err(misfits) => self.misfitting(&misfits),
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

    fn misfitting(&self, misfits: &[Misfit]) -> Reply {
        let name = self.about.name;
        let example = forgiving::example(self.input_schema()).to_string();
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

    fn listed(&self) -> rmcp::model::Tool {
        let About { name, title, description, read_only, idempotent } = self.about;
        let hints = ToolAnnotations::with_title(title)
            .read_only(read_only)
            .destructive(false)
            .idempotent(idempotent || read_only)
            .open_world(false);
        rmcp::model::Tool::new(name, description, object(self.input_schema()))
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

/// How long a client may keep the list of tools, in milliseconds. It never changes while the server runs; an hour is
/// little enough for an update of the binary to be noticed.
const TOOLS_FRESH_MS: u64 = 3_600_000;

fn invalid_argument(misfit: &Misfit) -> Value {
    error("INVALID_ARGUMENT", &misfit.message(), misfit.suggestion.as_deref())
}

fn internal_error(what: &str) -> Reply {
    let message = "The tool broke down. Nothing is known to be written beyond what tot_status shows: look there \
                   before you call again, and file a bug with what the server wrote to stderr.";
    rejection(message, vec![error("INTERNAL_ERROR", what, Some("Call tot_status to see what was written."))])
}

fn timed_out() -> Reply {
    let message = format!(
        "The call takes longer than {} seconds and goes on. Look at tot_status for what it did before you call again.",
        PATIENCE.as_secs()
    );
    rejection(&message, vec![error("TIMED_OUT", &message, Some("Call tot_status to see what was written."))])
}

fn read_only(name: &str) -> Reply {
    let what =
        format!("`{name}` writes, and this server only reads: its operator started it with --read-only.");
    let suggestion =
        "Use tot_status, tot_next and the other tools that are listed, or a server without --read-only.";
    rejection("Nothing was done: this server only reads.", vec![error("READ_ONLY", &what, Some(suggestion))])
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

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("tot-mcp", env!("CARGO_PKG_VERSION")).with_title("Tree of Thoughts");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(me)
            .with_instructions(self.instructions.clone())
    }

    /// Up to the newest revision that this server was tested with, whatever a later rmcp knows.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28))
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(TOOLS_FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|page| page.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            return Err(ErrorData::invalid_params("there is one page of tools, and no cursor into it", None));
        }
        let mut result = ListToolsResult::with_all_items(self.offered().map(Tool::listed).collect());
        if is_stateless(&context) {
            // The same for everyone: nothing of a user's is in it.
            result.ttl_ms = Some(TOOLS_FRESH_MS);
            result.cache_scope = Some(CacheScope::Public);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.call(&request.name, arguments).await.map(CallToolResponse::from)
    }

    /// Where rmcp puts every request whose params it can't read, besides those it doesn't know.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        if method == "tools/call"
            && let Some(Value::Object(mut params)) = request.params
            && let Some(Value::String(name)) = params.remove("name")
            && let Some(arguments) = params.remove("arguments")
        {
            // Arguments that aren't an object, say JSON text: for the tool's schema to judge.
            let mut result = self.call(&name, arguments).await?;
            if !is_stateless(&context) {
                result.result_type = None;
            }
            let result = serde_json::to_value(result);
            return result
                .map(CustomResult::new)
                .map_err(|fault| ErrorData::internal_error(fault.to_string(), None));
        }
        if method == "tools/call" {
            let message = "the params of `tools/call` are `name`, a string, and `arguments`, an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        let is_gone = is_stateless(&context) && REMOVED.contains(&method);
        if METHODS.contains(&method) && !is_gone {
            return Err(ErrorData::invalid_params(format!("the params of `{method}` don't fit"), None));
        }
        let shown: String = method.chars().take(80).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{shown}`"), None))
    }
}

/// The methods that rmcp knows: if one of them comes as a custom request, its params didn't fit.
const METHODS: [&str; 14] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
];

/// Those of them that the stateless protocol doesn't have.
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Whether the request is of the stateless protocol. ISO dates: the order of the text is that of time.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
