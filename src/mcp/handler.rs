//! Connects the server to rmcp, with one function for each protocol method.
//!
//! Both the older protocol and the newest, stateless protocol are supported. rmcp negotiates `initialize`, answers
//! `server/discover`, checks `_meta`, and adds or removes `resultType`. This module adds the tool order, cache hints,
//! change notifications, and support for params that rmcp cannot parse. In the older protocol, every connection is
//! notified of new investigations. In the newest protocol, each `subscriptions/listen` request receives the
//! notifications it asks for.
//!
//! Like tools, requests that read an investigation run on a blocking thread and are answered even if they panic.

use std::borrow::Cow;
use std::sync::OnceLock;

use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        InitializeRequestParams, InitializeResult, InputResponses, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam, Role,
        ServerCapabilities, ServerConfig, ServerNotification, ServerResult, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::app;
use super::ask::{self, Asking};
use super::prompts::{prompt, prompts};
use super::resources;
use super::server::{Called, Server, Unanswered};
use super::tool::blocking;
use crate::service::Service;
use crate::service::address::ResourceAddress;
use crate::service::changes::{RecvError, ServiceChange};

/// The maximum number of resources in a subscription.
const SUBSCRIPTIONS: usize = 1_000;

/// How long clients may cache the lists of tools, prompts and templates, in milliseconds. These lists never change
/// while the server runs. Clients notice an updated binary within an hour.
const FRESH_MS: u64 = 3_600_000;

/// The task that notifies a client using the older protocol about new investigations. The task ends with the
/// connection.
pub(super) type Notifier = OnceLock<AbortOnDropHandle<()>>;

impl Server {
    /// Runs `work` with the service on a blocking thread.
    async fn with_service<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let Some(service) = self.service.clone() else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this server has tools only", None));
        };
        self.work(blocking(move || work(&service))).await.map_err(|unanswered| {
            let why = match unanswered {
                Unanswered::Panicked => "the server failed to handle this request",
                Unanswered::TimedOut => "this request took too long",
            };
            ErrorData::internal_error(why, None)
        })
    }

    /// Answers a tool call, asking a person first if the tool requires it.
    async fn answer(
        &self,
        name: &str,
        arguments: Value,
        responses: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let stateless = is_stateless(context);
        let caller = self.caller(context.client_info(), stateless);
        // In the older protocol, an answer is the response to a question and never comes with a call.
        let responses = responses.filter(|_| stateless);
        let mut asking = match self.ask_before_end {
            None => Asking::Nobody,
            Some(_) => Asking::of(context.client_capabilities().as_ref(), responses.as_ref()),
        };
        loop {
            match self.call(name, arguments.clone(), caller.clone(), asking).await? {
                Called::Done(result) => return Ok(result.into()),
                Called::Asks(question) if stateless => return Ok(ask::required(&question).into()),
                Called::Asks(question) => {
                    asking = Asking::Done(tokio::select! {
                        asked = ask::ask(&context.peer, &question, self.ask_before_end) => asked,
                        () = self.closing.cancelled() => ask::unanswered(),
                    });
                }
            }
        }
    }

    /// Notifies a client using the older protocol about new investigations as long as the client is connected.
    fn follow(&self, peer: Peer<RoleServer>) {
        let Some(service) = &self.service else { return };
        self.notifier.get_or_init(|| {
            let mut listener = service.listen();
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    let change = listener.recv().await;
                    if change == Err(RecvError::Closed) {
                        return;
                    }
                    for notice in notices(&change, [].iter(), true) {
                        if peer.send_notification(notice).await.is_err() {
                            return;
                        }
                    }
                }
            }))
        });
    }
}

/// Returns the notifications about a change for a client subscribed to `addresses` and, if `lists` is true, to the
/// list of investigations.
fn notices<'a>(
    change: &Result<ServiceChange, RecvError>,
    addresses: impl Iterator<Item = &'a String>,
    lists: bool,
) -> Vec<ServerNotification> {
    let is_touched = |address: &&String| match change {
        Ok(change) => ResourceAddress::parse(address).is_some_and(|address| address.is_touched_by(change)),
        Err(_) => true,
    };
    let updated = addresses.filter(is_touched).map(|address| {
        let address = ResourceUpdatedNotificationParam::new(address.as_str());
        ResourceUpdatedNotification::new(address).into()
    });
    let is_new = change.as_ref().map_or(true, |change| change.started);
    let list_changed = (lists && is_new).then(|| ResourceListChangedNotification::default().into());
    updated.chain(list_changed).collect()
}

/// Returns the cache hints for content that is the same for all clients. The older protocol has no cache hints.
fn cache_hints(context: &RequestContext<RoleServer>) -> (Option<u64>, Option<CacheScope>) {
    is_stateless(context).then_some((FRESH_MS, CacheScope::Public)).unzip()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("tot-mcp", env!("CARGO_PKG_VERSION"))
            .with_title("Tree of Thoughts")
            .with_icons(vec![app::icon()]);
        let tools = ServerCapabilities::builder().enable_tools();
        let capabilities = match &self.service {
            None => tools.build(),
            Some(_) => tools
                .enable_prompts()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_resources_list_changed()
                .build(),
        };
        ServerConfig::new(capabilities).with_server_info(me).with_instructions(&*self.instructions)
    }

    /// Returns the protocol versions up to the newest version that this server was tested with, even if rmcp supports
    /// later versions.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28))
    }

    /// Starts a connection in the older protocol, without subscriptions.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        if let Some(resources) = &mut result.capabilities.resources {
            resources.subscribe = None;
        }
        Ok(result)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.and_then(|page| page.cursor).is_some_and(|cursor| !cursor.is_empty()) {
            return Err(ErrorData::invalid_params(
                "the list of tools has a single page and takes no cursor",
                None,
            ));
        }
        let mut result = ListToolsResult::with_all_items(self.listed().map(app::with_page).collect());
        (result.ttl_ms, result.cache_scope) = cache_hints(&context);
        Ok(result)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = if self.service.is_some() { prompts().into() } else { Vec::new() };
        let mut result = ListPromptsResult::with_all_items(prompts);
        (result.ttl_ms, result.cache_scope) = cache_hints(&context);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = move |name: &str| match arguments.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let name = request.name.clone();
        let text = self.with_service(move |service| prompt(service, &name, argument)).await?;
        let text = text.map_err(|refusal| ErrorData::invalid_params(refusal.line(), None))?;
        let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
        let known = prompts().into_iter().find(|prompt| prompt.name == request.name);
        result.description = known.and_then(|prompt| prompt.description);
        Ok(GetPromptResponse::Complete(result))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|page| page.cursor).filter(|cursor| !cursor.is_empty());
        let (entries, next) = self.with_service(move |service| resources::list(service, cursor)).await??;
        let mut result = ListResourcesResult::with_all_items(entries);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = if self.service.is_some() { resources::templates() } else { Vec::new() };
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        (result.ttl_ms, result.cache_scope) = cache_hints(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri == app::ADDRESS {
            return Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![app::page()])));
        }
        let content = self.with_service(move |service| resources::read(service, &request.uri)).await??;
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![content])))
    }

    /// Starts notifying a client using the older protocol about new investigations.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.follow(context.peer);
    }

    /// Accepts a subscription in the newest protocol, up to the maximum size.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.service.as_ref()?;
        let mut accepted = SubscriptionFilter::default();
        accepted.resources_list_changed = requested.resources_list_changed;
        accepted.resource_subscriptions = requested.resource_subscriptions.as_ref().map(|addresses| {
            addresses
                .iter()
                .filter(|address| ResourceAddress::parse(address).is_some())
                .take(SUBSCRIPTIONS)
                .cloned()
                .collect()
        });
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(service) = &self.service else { return Ok(()) };
        let mut listener = service.listen();
        let accepted = context.accepted();
        let addresses = accepted.resource_subscriptions.clone().unwrap_or_default();
        let lists = accepted.resources_list_changed == Some(true);
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.closing.cancelled() => return Ok(()),
                change = listener.recv() => change,
            };
            if change == Err(RecvError::Closed) {
                return Ok(());
            }
            for notice in notices(&change, addresses.iter(), lists) {
                if context.sink().send(notice).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let link = app::link(&request.name, &arguments, context.protocol_version().as_ref());
        let mut response = self.answer(&request.name, arguments, request.input_responses, &context).await?;
        if let CallToolResponse::Complete(result) = &mut response
            && result.is_error != Some(true)
        {
            result.content.extend(link);
        }
        Ok(response)
    }

    /// Answers requests for unknown methods and requests whose params rmcp cannot parse.
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
            // Arguments that are not an object, such as JSON text, are coerced to the tool's schema.
            let responses = params.remove("inputResponses").map(serde_json::from_value).transpose();
            let responses = responses.map_err(|fault| ErrorData::invalid_params(fault.to_string(), None))?;
            let mut response = self.answer(&name, arguments, responses, &context).await?;
            if let CallToolResponse::Complete(result) = &mut response
                && !is_stateless(&context)
            {
                result.result_type = None;
            }
            return serde_json::to_value(ServerResult::from(response))
                .map(CustomResult::new)
                .map_err(|fault| ErrorData::internal_error(fault.to_string(), None));
        }
        if method == "tools/call" {
            let message = "the params of `tools/call` are `name` (a string) and `arguments` (an object)";
            return Err(ErrorData::invalid_params(message, None));
        }
        let is_gone = is_stateless(&context) && REMOVED.contains(&method);
        if METHODS.contains(&method) && !is_gone {
            return Err(ErrorData::invalid_params(format!("the params of `{method}` don't fit"), None));
        }
        Err(no_such_method(method))
    }
}

/// The methods that rmcp knows. If a request for one of these methods arrives as a custom request, its params could
/// not be parsed.
const METHODS: [&str; 11] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
];

/// The methods that do not exist in the stateless protocol.
const REMOVED: [&str; 3] = ["initialize", "logging/setLevel", "ping"];

fn no_such_method(method: &str) -> ErrorData {
    let shown: String = method.chars().take(80).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{shown}`"), None)
}

/// Returns whether the request uses the stateless protocol. Versions are ISO dates, which sort chronologically as
/// text.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
