//! What a request must get past before rmcp sees it, and the account of those under way.

use std::collections::HashSet;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE,
    HOST, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager};
use tokio::sync::watch;

use super::super::framing::{id_of, parse};
use super::super::log::{Level, Log};
use super::super::server::{Busy, Mark, Server};
use super::rate::{Client, Rates};
use super::{HEALTH, Options, PATH, PATIENCE};

type Answer = Response<Counted>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Judges requests, and hands those that may be on.
pub(super) struct Gate {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    options: Options,
    rates: Option<Rates>,
    log: Log,
    under_way: Busy,
    /// The requests under way in sessions.
    ids: Arc<Mutex<HashSet<(String, RequestId)>>>,
    stopping: watch::Sender<bool>,
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
            options,
            log,
            under_way: Busy::default(),
            ids: Arc::default(),
            stopping: watch::Sender::new(false),
        }
    }

    /// Takes nothing more in, and waits until what was taken in is answered to the last byte. An answer that no tool is
    /// at work on and that doesn't come all the same, say to a client that reads slowly, is not waited for long.
    pub(super) async fn stop(&self, tools: &Busy) {
        self.stopping.send_replace(true);
        while tokio::time::timeout(PATIENCE, self.under_way.idle()).await.is_err() && !tools.is_idle() {}
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, from: IpAddr, request: Request<Incoming>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let since = Instant::now();
        let origin = request.headers().get(ORIGIN).cloned();
        let mut answer = match self.judge(from, request).await {
            Ok(answer) => answer,
            Err(refusal) => {
                let told = format_args!("{} to {from}: {}", refusal.status.as_u16(), refusal.why);
                // A stranger's request is worth a look; a place where there is nothing is not.
                if refusal.status != StatusCode::NOT_FOUND {
                    self.log.warn(told);
                }
                refusal.into()
            }
        };
        let status = answer.status();
        let headers = answer.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if !headers.contains_key(CACHE_CONTROL) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(origin) = origin.filter(|origin| self.allows(origin)) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        if self.log.tells(Level::Debug) {
            // The path is a stranger's text, but only one of two is told.
            let path = [PATH, HEALTH].into_iter().find(|known| *known == path).unwrap_or("another path");
            let milliseconds = since.elapsed().as_secs_f64() * 1_000.0;
            self.log.debug(format_args!("{from} {method} {path} {} {milliseconds:.1} ms", status.as_u16()));
        }
        answer
    }

    async fn judge(&self, from: IpAddr, request: Request<Incoming>) -> Result<Answer, Refusal> {
        match request.uri().path() {
            HEALTH => return self.health(request.method()),
            PATH => {}
            _ => return Err(Refusal::new(StatusCode::NOT_FOUND, format!("the server is at {PATH}"))),
        }
        self.refuse_when_stopping()?;
        self.count(from, request.headers()).await?;
        if let Some(origin) = request.headers().get(ORIGIN)
            && !self.allows(origin)
            && !is_same(origin, request.headers())
        {
            let why = "web pages of this origin may not use this server (--allowed-origin lets one in)";
            return Err(Refusal::new(StatusCode::FORBIDDEN, why));
        }
        if request.method() == Method::OPTIONS {
            return Ok(preflight());
        }
        if let Some(token) = &self.options.token
            && !token.is_shown(request.headers())
        {
            return Err(unauthorized(request.headers()));
        }
        self.count_sessions(&request).await?;
        let (parts, body) = request.into_parts();
        let body = tokio::time::timeout(self.options.slow, self.collect(body)).await.map_err(|_| {
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive").closing()
        })??;
        // A stream that waits for notices is under way for as long as its client likes.
        let listens = parts.method == Method::GET
            || parts.headers.get(METHOD).is_some_and(|method| method == "subscriptions/listen");
        let mark = (!listens).then(|| self.under_way.mark());
        // Between the first look and the mark, the end may have come.
        self.refuse_when_stopping()?;
        let id = self.claim(&parts.headers, &body)?;
        let text = body.clone();
        let is_end = parts.method == Method::DELETE;
        let mut answer = self.service.handle(Request::from_parts(parts, Full::new(body))).await;
        if is_end && answer.status() == StatusCode::ACCEPTED {
            // Of 202, which rmcp says, the official Python client tells its user as of a failure.
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
            && let Some(answer) = not_understood(&text)
        {
            return Ok(answer);
        }
        if answer.status() == StatusCode::FORBIDDEN {
            self.log.warn(format_args!("403 to {from}: by a host name that --allowed-host doesn't give"));
        }
        Ok(answer.map(|body| Counted { body, _mark: mark, _id: id }))
    }

    /// Takes the id of a request for its own, until it is answered. Of two with the same one at the same time, rmcp would
    /// answer one, and leave the other one open for ever.
    fn claim(&self, headers: &HeaderMap, text: &[u8]) -> Result<Option<Claim>, Refusal> {
        let Some(session) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else { return Ok(None) };
        let Some(id) = id_of(text) else { return Ok(None) };
        let of = (session.to_owned(), id);
        let is_free = self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(of.clone());
        if !is_free {
            let why = format!("a request with the id {} is under way in this session", of.1);
            return Err(Refusal::new(StatusCode::CONFLICT, why));
        }
        Ok(Some(Claim { ids: Arc::clone(&self.ids), of }))
    }

    fn health(&self, method: &Method) -> Result<Answer, Refusal> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "the health is only to be read")
                .with(ALLOW, HeaderValue::from_static("GET, HEAD")));
        }
        let stopping = *self.stopping.borrow();
        let (status, text) = if stopping {
            (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"stopping\"}\n")
        } else {
            (StatusCode::OK, "{\"status\":\"ok\"}\n")
        };
        Ok(plain(status, "application/json", text.to_owned()))
    }

    fn refuse_when_stopping(&self) -> Result<(), Refusal> {
        if *self.stopping.borrow() {
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")
                .after(Duration::from_secs(1))
                .closing());
        }
        Ok(())
    }

    /// Whether a browser may use the server for a page of that origin. Browsers write one origin in one way.
    fn allows(&self, origin: &HeaderValue) -> bool {
        self.options.origins.iter().any(|allowed| origin == allowed.as_str())
    }

    async fn count(&self, from: IpAddr, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(rates) = &self.rates else { return Ok(()) };
        let client = match headers.get(SESSION).and_then(|id| id.to_str().ok()) {
            // One that is made up is no client of its own.
            Some(id) if self.sessions.sessions.read().await.contains_key(id) => {
                Client::Session(id.to_owned())
            }
            _ => Client::at(from),
        };
        rates.take(client, Instant::now()).map_err(|wait| {
            Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests: wait a little").after(wait)
        })
    }

    /// Refuses what would make one session too many: only `initialize` comes without a session and without the header
    /// of the protocol without sessions.
    async fn count_sessions(&self, request: &Request<Incoming>) -> Result<(), Refusal> {
        let headers = request.headers();
        let stateless = headers.get(VERSION).is_some_and(|version| version.as_bytes() >= &b"2026-07-28"[..]);
        if request.method() != Method::POST || headers.contains_key(SESSION) || stateless {
            return Ok(());
        }
        if self.sessions.sessions.read().await.len() >= self.options.sessions {
            let why = "there are too many sessions: wait until one ends (--max-sessions, --session-idle)";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why).after(Duration::from_secs(60)));
        }
        Ok(())
    }

    async fn collect(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let most = self.options.body;
        let too_long =
            || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {most} bytes"));
        // Told before it is sent, it is not waited for.
        if body.size_hint().lower() > most as u64 {
            return Err(too_long().closing());
        }
        match Limited::new(body, most).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(fault) if fault.is::<LengthLimitError>() => Err(too_long().closing()),
            Err(_) => Err(Refusal::new(StatusCode::BAD_REQUEST, "the request broke off").closing()),
        }
    }
}

/// Why a request is not handed on.
struct Refusal {
    status: StatusCode,
    why: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into(), headers: Vec::new() }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Refusal {
        self.headers.push((name, value));
        self
    }

    /// With how long to wait, in whole seconds.
    fn after(self, wait: Duration) -> Refusal {
        self.with(RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64))
    }

    /// The end of the connection: what else is on it is not waited for.
    fn closing(self) -> Refusal {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let mut answer = plain(refusal.status, "text/plain; charset=utf-8", refusal.why + "\n");
        answer.headers_mut().extend(refusal.headers);
        answer
    }
}

/// Whether the page comes from this very server, by a name that rmcp looks at next.
fn is_same(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    origin
        .to_str()
        .ok()
        .and_then(|origin| origin.strip_prefix("http://"))
        .is_some_and(|name| host == Some(name))
}

fn unauthorized(headers: &HeaderMap) -> Refusal {
    let (challenge, why) = if headers.contains_key(hyper::header::AUTHORIZATION) {
        ("Bearer realm=\"tot-mcp\", error=\"invalid_token\"", "this is not the token")
    } else {
        ("Bearer realm=\"tot-mcp\"", "a token is needed: send `Authorization: Bearer …`")
    };
    Refusal::new(StatusCode::UNAUTHORIZED, why).with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

/// The answer to a text that is no message: rmcp's own is nothing that a client could connect with its request. None
/// where the text is a message.
fn not_understood(text: &[u8]) -> Option<Answer> {
    match parse(text.trim_ascii()) {
        Ok(Some(_)) => None,
        // A notification that nobody knows, which the protocol lets pass.
        Ok(None) => Some(plain(StatusCode::ACCEPTED, "text/plain; charset=utf-8", String::new())),
        Err(refusal) => {
            let error = serde_json::to_string(&refusal.into_message()).unwrap_or_default();
            Some(plain(StatusCode::BAD_REQUEST, "application/json", error))
        }
    }
}

/// What a browser asks before it lets a page of an allowed origin call.
fn preflight() -> Answer {
    let mut answer = plain(StatusCode::NO_CONTENT, "text/plain; charset=utf-8", String::new());
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    let names = "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, \
                 mcp-method, mcp-name";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    answer
}

fn plain(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer =
        Response::new(Counted { body: Full::new(Bytes::from(text)).boxed(), _mark: None, _id: None });
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// A body that counts as under way until it is sent or given up.
pub(super) struct Counted {
    body: BoxBody<Bytes, std::convert::Infallible>,
    _mark: Option<Mark>,
    _id: Option<Claim>,
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

impl Body for Counted {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
