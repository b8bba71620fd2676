//! The checks that a request passes before rmcp sees it, and the requests under way.
//!
//! [`Gate::routes`] is the way in, from the outside to the inside: the log of requests ([`tell`]); pages of other origins
//! ([`judge_origin`]), and the preflight requests of browsers (tower's CORS layer); the rate, the token and the number of
//! sessions ([`admit`]); then the size of the body and the time it takes, and the id ([`answer`]).

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
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

use super::super::framing::{self, parse};
use super::super::log::{Level, Log};
use super::super::server::Server;
use super::body::{BodyError, Budget};
use super::rate::{Client, Rates};
use super::{HEALTH, Options, PATH, PATIENCE};
use crate::connections::{Place, network};

type Service = StreamableHttpService<Server, LocalSessionManager>;
type Here = State<Arc<Gate>>;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The state and settings that requests are judged by.
pub(super) struct Gate {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    options: Options,
    rates: Option<Rates>,
    bodies: Budget,
    /// Held while a session is created, so that no two take the last place.
    beginning: tokio::sync::Mutex<()>,
    log: Log,
    under_way: TaskTracker,
    /// The requests under way in sessions.
    ids: Arc<Mutex<HashSet<(String, RequestId)>>>,
    stopping: CancellationToken,
}

impl Gate {
    pub(super) fn new(
        service: Service,
        sessions: Arc<LocalSessionManager>,
        options: Options,
        log: Log,
    ) -> Gate {
        Gate {
            service,
            sessions,
            rates: options.rate.map(Rates::new),
            bodies: Budget::new(),
            beginning: tokio::sync::Mutex::default(),
            options,
            log,
            under_way: TaskTracker::new(),
            ids: Arc::default(),
            stopping: CancellationToken::new(),
        }
    }

    /// Returns the routes through the gate. They need the address of the client as [`ConnectInfo`].
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
        Router::new()
            .route(PATH, any(answer))
            .route_layer(from_fn_with_state(Arc::clone(&self), admit))
            .route_layer(cors)
            .route_layer(from_fn_with_state(Arc::clone(&self), judge_origin))
            .route(HEALTH, get(health))
            .fallback((StatusCode::NOT_FOUND, format!("the server is at {PATH}\n")))
            .layer(fixed(X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .layer(fixed(CACHE_CONTROL, "no-store"))
            .layer(from_fn_with_state(Arc::clone(&self), tell))
            .with_state(self)
    }

    /// Accepts no more requests, and waits until the accepted ones are answered to the last byte. It waits only briefly for an
    /// answer that no tool is working on, such as one to a client that reads slowly.
    pub(super) async fn stop(&self, tools: &TaskTracker) {
        self.stopping.cancel();
        self.under_way.close();
        while tokio::time::timeout(PATIENCE, self.under_way.wait()).await.is_err() && !tools.is_empty() {}
    }

    fn refuse_when_stopping(&self) -> Result<(), Refusal> {
        if self.stopping.is_cancelled() {
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")
                .after(Duration::from_secs(1))
                .closing());
        }
        Ok(())
    }

    async fn count(&self, from: IpAddr, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let client = match headers.get(SESSION).and_then(|id| id.to_str().ok()) {
            // An invented session id does not make another client.
            Some(id) if self.sessions.sessions.read().await.contains_key(id) => {
                Client::Session(id.to_owned())
            }
            _ => Client::Network(network(from)),
        };
        rates.take(client, Instant::now()).map_err(|wait| {
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests: wait a little").after(wait)
        })
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.options.token.as_ref().is_none_or(|token| token.is_shown(headers)) {
            return Ok(());
        }
        let (challenge, why) = if headers.contains_key(AUTHORIZATION) {
            ("Bearer realm=\"tot-mcp\", error=\"invalid_token\"", "this is not the token")
        } else {
            ("Bearer realm=\"tot-mcp\"", "a token is needed: send `Authorization: Bearer …`")
        };
        Err(Refusal::new(StatusCode::UNAUTHORIZED, why)
            .with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
    }

    /// Refuses a request that would exceed the number of sessions. No other session is created until the guard is dropped.
    async fn count_sessions(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, Refusal> {
        let turn = self.beginning.lock().await;
        if self.sessions.sessions.read().await.len() >= self.options.sessions {
            let why = "there are too many sessions: wait until one ends (--max-sessions, --session-idle)";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why).after(Duration::from_secs(60)));
        }
        Ok(turn)
    }

    /// Claims the id of a request until it is answered. Of two simultaneous requests with the same id, rmcp would answer one and
    /// leave the other open for ever.
    fn claim(&self, headers: &HeaderMap, id: RequestId) -> Result<Option<Claim>, Refusal> {
        let Some(session) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else { return Ok(None) };
        let of = (session.to_owned(), id);
        let is_free = self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(of.clone());
        if !is_free {
            let why = format!("a request with the id {} is under way in this session", of.1);
            return Err(Refusal::new(StatusCode::CONFLICT, why));
        }
        Ok(Some(Claim { ids: Arc::clone(&self.ids), of }))
    }
}

/// Logs a request. A request without access is worth a warning; an unknown path is not.
async fn tell(
    State(gate): Here,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let (since, from, method) = (Instant::now(), from.ip(), request.method().clone());
    // The path is a stranger's text, so only the two known ones are logged.
    let path = [PATH, HEALTH].into_iter().find(|known| *known == request.uri().path());
    let answer = next.run(request).await;
    let status = answer.status();
    if let Some(Why(why)) = answer.extensions().get() {
        gate.log.warn(format_args!("{} to {from}: {why}", status.as_u16()));
    } else if status == StatusCode::FORBIDDEN {
        gate.log.warn(format_args!("403 to {from}: by a host name that --allowed-host doesn't give"));
    }
    if gate.log.tells(Level::Debug) {
        let (path, milliseconds) = (path.unwrap_or("another path"), since.elapsed().as_secs_f64() * 1_000.0);
        gate.log.debug(format_args!("{from} {method} {path} {} {milliseconds:.1} ms", status.as_u16()));
    }
    answer
}

async fn health(State(gate): Here) -> impl IntoResponse {
    let (status, text) = if gate.stopping.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"stopping\"}\n")
    } else {
        (StatusCode::OK, "{\"status\":\"ok\"}\n")
    };
    (status, [(CONTENT_TYPE, "application/json")], text)
}

async fn judge_origin(State(gate): Here, request: Request, next: Next) -> Result<Response, Refusal> {
    // Browsers write an origin in only one way.
    if let Some(origin) = request.headers().get(ORIGIN)
        && !gate.options.origins.iter().any(|allowed| origin == allowed.as_str())
        && !is_same(origin, request.headers())
    {
        let why = "web pages of this origin may not use this server (--allowed-origin lets one in)";
        return Err(Refusal::new(StatusCode::FORBIDDEN, why));
    }
    let is_question = request.method() == Method::OPTIONS;
    let mut answer = next.run(request).await;
    if is_question && answer.status() == StatusCode::OK {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    Ok(answer)
}

async fn admit(
    State(gate): Here,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    gate.refuse_when_stopping()?;
    gate.count(from.ip(), request.headers()).await?;
    gate.check_token(request.headers())?;
    Ok(next.run(request).await)
}

async fn answer(
    State(gate): Here,
    Extension(place): Extension<Place>,
    request: Request,
) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    // The parts of a request that rmcp keeps may outlive its connection.
    parts.extensions.remove::<Place>();
    let (body, share) = gate.bodies.receive(body, gate.options.body, gate.options.slow).await?;
    // The request is complete: answer it instead of cutting it off for a new connection.
    let place = place.hold().ok_or_else(|| {
        let why = "too many requests are under way: wait a little";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why).after(Duration::from_secs(1))
    })?;
    // A stream that waits for notices is under way for as long as its client likes.
    let asked = framing::Request::of(&body);
    let listens = parts.method == Method::GET || asked.as_ref().is_some_and(|request| request.listens);
    let mark = (!listens).then(|| gate.under_way.token());
    // The server may have begun to stop since the first check.
    gate.refuse_when_stopping()?;
    let (id, turn) = match asked {
        // Whatever its headers say: rmcp creates a session for this request and for no other.
        Some(request) if request.initializes => (None, Some(gate.count_sessions().await?)),
        Some(request) => (gate.claim(&parts.headers, request.id)?, None),
        None => (None, None),
    };
    let text = body.clone();
    let is_end = parts.method == Method::DELETE;
    let mut answer = gate.service.handle(Request::from_parts(parts, Full::new(body))).await;
    drop(turn);
    if is_end && answer.status() == StatusCode::ACCEPTED {
        // rmcp says 202, which the official Python client reports as a failure.
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(answer) = not_understood(&text)
    {
        return Ok(answer);
    }
    // Under way until the body is sent or given up: the mapping of errors, which never occur, is dropped with it.
    let held = (mark, id, place, (!listens).then_some(share));
    Ok(answer.map(|body| {
        Body::new(body.map_err(move |never| {
            let _held = &held;
            never
        }))
    }))
}

/// The refusal of a request.
struct Refusal {
    status: StatusCode,
    why: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The log's line on a refusal.
#[derive(Clone)]
struct Why(String);

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into(), headers: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.headers.push((name, value));
        self
    }

    /// Adds the time to wait, in whole seconds.
    fn after(self, wait: Duration) -> Refusal {
        self.with(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64))
    }

    /// Closes the connection, without waiting for other data on it.
    fn closing(self) -> Refusal {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }
}

impl From<BodyError> for Refusal {
    fn from(fault: BodyError) -> Refusal {
        let refusal = |status| Refusal::new(status, fault.to_string());
        match fault {
            BodyError::NoRoom => refusal(StatusCode::SERVICE_UNAVAILABLE).after(Duration::from_secs(1)),
            BodyError::TooLong(_) => refusal(StatusCode::PAYLOAD_TOO_LARGE).closing(),
            BodyError::TooSlow => refusal(StatusCode::REQUEST_TIMEOUT).closing(),
            BodyError::Broken => refusal(StatusCode::BAD_REQUEST).closing(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut answer = (self.status, format!("{}\n", self.why)).into_response();
        answer.headers_mut().extend(self.headers);
        answer.extensions_mut().insert(Why(self.why));
        answer
    }
}

/// Whether the page comes from this server itself, by a name that rmcp checks next.
fn is_same(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    host.is_some() && origin.as_bytes().strip_prefix(b"http://") == host
}

/// Returns the answer to an invalid message: a client could not match rmcp's own answer to its request. `None` for a valid
/// message.
fn not_understood(text: &[u8]) -> Option<Response> {
    match parse(text.trim_ascii()) {
        Ok(Some(_)) => None,
        // An unknown notification, which the protocol ignores.
        Ok(None) => Some(StatusCode::ACCEPTED.into_response()),
        Err(refusal) => {
            let error = serde_json::to_string(&refusal.into_message()).unwrap_or_default();
            Some((StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], error).into_response())
        }
    }
}

/// The id of a request under way; free again when this is dropped.
struct Claim {
    ids: Arc<Mutex<HashSet<(String, RequestId)>>>,
    of: (String, RequestId),
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.of);
    }
}
