//! Checks requests before rmcp handles them, and tracks the requests in progress.
//!
//! Requests enter through [`HttpGate::routes`] and pass through these layers, outermost first: the request log
//! ([`tell`]); the origin check ([`check_origin`]); browser preflight handling (tower's CORS layer); the token check
//! ([`admit`]); and finally the checks of the body, the number of sessions and the request id
//! ([`answer`]).

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Extension, Router};
use http_body_util::{BodyExt, Full};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::cors::CorsLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use super::super::framing::{Envelope, parse};
use super::super::log::{Level, Log};
use super::super::server::Server;
use super::body::{BodyBudget, BodyError};
use super::media::{Accepted, is_json};
use super::{HEALTH, HttpOptions, PATH, PATIENCE};
use crate::base::connections::Connection;
use crate::text::mended_json;

type RmcpService = StreamableHttpService<Server, LocalSessionManager>;
type GateState = State<Arc<HttpGate>>;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The server state and the request limits.
pub(super) struct HttpGate {
    service: RmcpService,
    sessions: Arc<LocalSessionManager>,
    options: HttpOptions,
    bodies: BodyBudget,
    /// Locked while a session is created, so that concurrent requests cannot exceed the maximum.
    new_session: tokio::sync::Mutex<()>,
    log: Log,
    in_progress: TaskTracker,
    /// The session and the id of each request in progress in a session.
    ids: Arc<Mutex<HashSet<(String, RequestId)>>>,
    stopping: CancellationToken,
}

impl HttpGate {
    pub(super) fn new(
        service: RmcpService,
        sessions: Arc<LocalSessionManager>,
        options: HttpOptions,
        log: Log,
    ) -> HttpGate {
        HttpGate {
            service,
            sessions,
            bodies: BodyBudget::new(),
            new_session: tokio::sync::Mutex::default(),
            options,
            log,
            in_progress: TaskTracker::new(),
            ids: Arc::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns the routes through the gate. The routes require the client's address as [`ConnectInfo`].
    pub(super) fn routes(self: Arc<Self>) -> Router {
        let origins = self.options.origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
        let cors = CorsLayer::new()
            .allow_origin(origins.collect::<Vec<_>>())
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([AUTHORIZATION, CONTENT_TYPE, ACCEPT, LAST_EVENT, SESSION, VERSION, METHOD, NAME])
            .expose_headers([SESSION])
            .max_age(Duration::from_secs(600));
        let fixed =
            |name, value| SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value));
        let with_slash = |path| format!("{path}/");
        Router::new()
            .route(PATH, any(answer))
            .route(&with_slash(PATH), any(answer))
            .route_layer(from_fn_with_state(Arc::clone(&self), admit))
            .route_layer(cors)
            .route_layer(from_fn_with_state(Arc::clone(&self), check_origin))
            .route(HEALTH, get(health))
            .route(&with_slash(HEALTH), get(health))
            .fallback((StatusCode::NOT_FOUND, format!("the server is at {PATH}\n")))
            .layer(fixed(X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .layer(fixed(CACHE_CONTROL, "no-store"))
            .layer(from_fn_with_state(Arc::clone(&self), tell))
            .with_state(self)
    }

    /// Stops accepting requests and waits until all accepted requests are fully answered. The wait is brief for answers
    /// that no tool is working on, such as answers to a client that reads slowly.
    pub(super) async fn stop(&self, tools: &TaskTracker) {
        self.stopping.cancel();
        self.in_progress.close();
        while tokio::time::timeout(PATIENCE, self.in_progress.wait()).await.is_err() && !tools.is_empty() {}
    }

    fn refuse_when_stopping(&self) -> Result<(), HttpRefusal> {
        if self.stopping.is_cancelled() {
            return Err(HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")
                .after(Duration::from_secs(1))
                .closing());
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        if self.options.token.as_ref().is_none_or(|token| token.is_sent_in(headers)) {
            return Ok(());
        }
        let (challenge, why) = if headers.contains_key(AUTHORIZATION) {
            ("Bearer realm=\"tot-mcp\", error=\"invalid_token\"", "wrong token")
        } else {
            ("Bearer realm=\"tot-mcp\"", "token required: send `Authorization: Bearer …`")
        };
        Err(HttpRefusal::new(StatusCode::UNAUTHORIZED, why)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
    }

    /// Refuses a request that would exceed the maximum number of sessions. No other session is created while the
    /// returned guard exists.
    async fn count_sessions(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, HttpRefusal> {
        let turn = self.new_session.lock().await;
        if self.sessions.sessions.read().await.len() >= self.options.sessions {
            let why = "too many sessions: wait until one ends (--max-sessions, --session-idle)";
            return Err(HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why).after(Duration::from_secs(60)));
        }
        Ok(turn)
    }

    /// Reserves a request's id until the request is answered. If two concurrent requests had the same id, rmcp would
    /// answer one and never close the other.
    fn reserve_id(&self, headers: &HeaderMap, id: RequestId) -> Result<Option<ReservedId>, HttpRefusal> {
        let Some(session) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else { return Ok(None) };
        let of = (session.to_owned(), id);
        let is_free = self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(of.clone());
        if !is_free {
            let why = format!("a request with the id {} is already in progress in this session", of.1);
            return Err(HttpRefusal::new(StatusCode::CONFLICT, why));
        }
        Ok(Some(ReservedId { ids: Arc::clone(&self.ids), of }))
    }
}

/// Logs a request. Refused requests are warnings, except for unknown paths, which clients try for other services.
async fn tell(
    State(gate): GateState,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let (since, from, method) = (Instant::now(), from.ip(), request.method().clone());
    // Other paths are untrusted text and are not logged.
    let path = request.uri().path().trim_end_matches('/');
    let path = [PATH, HEALTH].into_iter().find(|known| *known == path);
    let answer = next.run(request).await;
    let status = answer.status();
    if let Some(RefusalReason(why)) = answer.extensions().get() {
        gate.log.warn(format_args!("{} to {from}: {why}", status.as_u16()));
    } else if status == StatusCode::FORBIDDEN {
        gate.log.warn(format_args!("403 to {from}: host name not in --allowed-host"));
    } else if path.is_none() && status == StatusCode::NOT_FOUND {
        gate.log.info(format_args!("404 to {from}: a path other than {PATH}"));
    } else if status.is_client_error() || status.is_server_error() {
        let why = status.canonical_reason().unwrap_or("refused").to_lowercase();
        gate.log.warn(format_args!("{} to {from}: {why}", status.as_u16()));
    }
    if gate.log.tells(Level::Debug) {
        let (path, milliseconds) = (path.unwrap_or("another path"), since.elapsed().as_secs_f64() * 1_000.0);
        gate.log.debug(format_args!("{from} {method} {path} {} {milliseconds:.1} ms", status.as_u16()));
    }
    answer
}

async fn health(State(gate): GateState) -> impl IntoResponse {
    let (status, text) = if gate.stopping.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"stopping\"}\n")
    } else {
        (StatusCode::OK, "{\"status\":\"ok\"}\n")
    };
    (status, [(CONTENT_TYPE, "application/json")], text)
}

async fn check_origin(State(gate): GateState, request: Request, next: Next) -> Result<Response, HttpRefusal> {
    // Browsers always write an origin the same way.
    if let Some(origin) = request.headers().get(ORIGIN)
        && !gate.options.origins.iter().any(|allowed| origin == allowed.as_str())
        && !is_same(origin, request.headers())
    {
        let why = "web pages from this origin may not use this server (see --allowed-origin)";
        return Err(HttpRefusal::new(StatusCode::FORBIDDEN, why));
    }
    let is_preflight = request.method() == Method::OPTIONS;
    let mut answer = next.run(request).await;
    if is_preflight && answer.status() == StatusCode::OK {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(answer)
}

async fn admit(State(gate): GateState, request: Request, next: Next) -> Result<Response, HttpRefusal> {
    gate.refuse_when_stopping()?;
    gate.check_token(request.headers())?;
    Ok(next.run(request).await)
}

async fn answer(
    State(gate): GateState,
    Extension(connection): Extension<Connection>,
    request: Request,
) -> Result<Response, HttpRefusal> {
    let (mut parts, body) = request.into_parts();
    // rmcp may retain these parts after the connection has ended.
    parts.extensions.remove::<Connection>();
    let accepted = check_media(&mut parts)?;
    let (body, share) = gate.bodies.receive(body, gate.options.body, gate.options.slow).await?;
    let body = match mended_json(&body) {
        Cow::Owned(mended) => mended.into(),
        Cow::Borrowed(_) => body,
    };
    // The request is complete, so its connection must not be closed to make room.
    let protected = connection.hold().ok_or_else(|| {
        let why = "too many requests in progress: retry later";
        HttpRefusal::new(StatusCode::SERVICE_UNAVAILABLE, why).after(Duration::from_secs(1))
    })?;
    // A notification stream stays open as long as the client wants, so shutdown does not wait for it.
    let asked = Some(Envelope::read(&body)).filter(Envelope::is_request);
    let listens = parts.method == Method::GET || asked.as_ref().is_some_and(|request| request.listens);
    let mark = (!listens).then(|| gate.in_progress.token());
    // Shutdown may have started since the first check.
    gate.refuse_when_stopping()?;
    let (id, turn) = match asked {
        // rmcp creates a session for this method only, regardless of the headers.
        Some(request) if request.initializes => (None, Some(gate.count_sessions().await?)),
        Some(Envelope { id: Some(id), .. }) => (gate.reserve_id(&parts.headers, id)?, None),
        _ => (None, None),
    };
    let text = body.clone();
    let [has_host, has_session] = [HOST, SESSION].map(|name| parts.headers.contains_key(name));
    let is_end = parts.method == Method::DELETE;
    let mut answer = gate.service.handle(Request::from_parts(parts, Full::new(body))).await;
    drop(turn);
    if is_end && answer.status() == StatusCode::ACCEPTED {
        // rmcp answers 202, which the official Python client reports as a failure.
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(answer) = invalid_message_answer(&text)
    {
        return Ok(answer);
    }
    // The request is in progress until the body of its answer is sent or dropped. No errors occur here; the mapping
    // only carries the guards.
    let held = (mark, id, protected, (!listens).then_some(share));
    if let Some(why) = refusal_of_rmcp(answer.status(), has_host, has_session) {
        answer.extensions_mut().insert(why);
    }
    let answer = answer.map(|body| {
        Body::new(body.map_err(move |never| {
            let _held = &held;
            never
        }))
    });
    Ok(accepted.answer(answer).await)
}

/// Checks the media types of a request, and writes the headers that rmcp demands.
fn check_media(parts: &mut Parts) -> Result<Accepted, HttpRefusal> {
    let accepted = Accepted::take(&mut parts.headers);
    let serves = match parts.method {
        Method::POST => accepted.json || accepted.events,
        Method::GET => accepted.events,
        _ => true,
    };
    if !serves {
        let why =
            "the client accepts neither application/json nor text/event-stream (GET has the latter only)";
        return Err(HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, why).closing());
    }
    if parts.method == Method::POST {
        if !is_json(&parts.headers) {
            let why = "send the message with `Content-Type: application/json`";
            return Err(HttpRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why).closing());
        }
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Ok(accepted)
}

/// Returns the reason for a refusal of rmcp, whose own words may repeat what the client sent.
fn refusal_of_rmcp(status: StatusCode, has_host: bool, has_session: bool) -> Option<RefusalReason> {
    let why = match status {
        StatusCode::NOT_FOUND => "no such session: it has ended, or another server had it",
        StatusCode::METHOD_NOT_ALLOWED => "this method is for clients with a session of an older protocol",
        StatusCode::BAD_REQUEST if !has_host => "no Host",
        StatusCode::BAD_REQUEST if !has_session => {
            "no Mcp-Session-Id, an unsupported MCP-Protocol-Version, or headers that don't fit the message"
        }
        StatusCode::BAD_REQUEST => {
            "an unsupported MCP-Protocol-Version, or headers that don't fit the message"
        }
        _ => return None,
    };
    Some(RefusalReason(why.to_owned()))
}

/// A refused request.
struct HttpRefusal {
    status: StatusCode,
    why: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The reason for a refusal, which is logged.
#[derive(Clone)]
struct RefusalReason(String);

impl HttpRefusal {
    fn new(status: StatusCode, why: impl Into<String>) -> HttpRefusal {
        HttpRefusal { status, why: why.into(), headers: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> HttpRefusal {
        self.headers.push((name, value));
        self
    }

    /// Tells the client how long to wait, in whole seconds.
    fn after(self, wait: Duration) -> HttpRefusal {
        self.with(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64))
    }

    /// Closes the connection without reading the rest of the request.
    fn closing(self) -> HttpRefusal {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }
}

impl From<BodyError> for HttpRefusal {
    fn from(fault: BodyError) -> HttpRefusal {
        let refusal = |status| HttpRefusal::new(status, fault.to_string()).closing();
        match fault {
            BodyError::NoRoom => refusal(StatusCode::SERVICE_UNAVAILABLE).after(Duration::from_secs(1)),
            BodyError::TooLong(_) => refusal(StatusCode::PAYLOAD_TOO_LARGE),
            BodyError::TooSlow => refusal(StatusCode::REQUEST_TIMEOUT),
            BodyError::Broken => refusal(StatusCode::BAD_REQUEST),
        }
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let mut answer = (self.status, format!("{}\n", self.why)).into_response();
        answer.headers_mut().extend(self.headers);
        answer.extensions_mut().insert(RefusalReason(self.why));
        answer
    }
}

/// Returns whether a page comes from this server itself. rmcp checks the host name later.
fn is_same(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    host.is_some() && origin.as_bytes().strip_prefix(b"http://") == host
}

/// Returns the answer to an invalid message, or `None` if the message is valid. rmcp's own answer lacks the request's
/// id.
fn invalid_message_answer(text: &[u8]) -> Option<Response> {
    match parse(text.trim_ascii()) {
        Ok(Some(_)) => None,
        // The protocol ignores invalid notifications and responses.
        Ok(None) => Some(StatusCode::ACCEPTED.into_response()),
        Err(refusal) => {
            let why = RefusalReason(refusal.message.clone());
            let error = serde_json::to_string(&refusal.into_message()).unwrap_or_default();
            let kind = [(CONTENT_TYPE, "application/json")];
            Some((StatusCode::BAD_REQUEST, kind, Extension(why), error).into_response())
        }
    }
}

/// The reserved id of a request. Dropping it releases the id.
struct ReservedId {
    ids: Arc<Mutex<HashSet<(String, RequestId)>>>,
    of: (String, RequestId),
}

impl Drop for ReservedId {
    fn drop(&mut self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.of);
    }
}
