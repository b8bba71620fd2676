//! The HTTP server for any number of clients, using the protocol's Streamable HTTP transport at [`PATH`].
//!
//! 1. [`serve_http`] listens until a signal arrives. [`connections`] accepts connections within its limits.
//! 2. `gate` checks each request: path, origin, token, size and number of sessions. `body` keeps all request
//!    bodies within a memory budget. `media` serves each client that accepts one of the forms of an answer.
//! 3. rmcp handles the protocol. In protocol versions up to 2025-11-25, a client has a session, which starts with
//!    `initialize` and ends with `DELETE` or after [`HttpOptions::idle`]. Since version 2026-07-28, each request is
//!    independent.
//! 4. The tools come from [`Server`] and run on separate threads.
//!
//! Guarantees:
//!
//! - Nothing is served beyond loopback without a token ([`HttpError::Open`]). Requests from web pages are accepted
//!   only if their origin and host name are the server's own or allowed by the operator. This also prevents DNS
//!   rebinding.
//! - Memory is bounded. There are limits on the number of connections and sessions, the size of requests (individually
//!   and in total), and the time to send a request or read its answer.
//! - [`HEALTH`] is always answered: connections without a complete request make room for others, and some connections
//!   are reserved.
//! - **An accepted call is answered** even if SIGTERM, SIGINT or SIGHUP arrives, as over stdio. Later requests are
//!   refused with 503. If a client disconnects, its call still finishes its writes and only the answer is lost.
//!
//! Limitations: the server supports neither TLS nor HTTP/2, and does not limit the rate or the connections of one
//! client, but a proxy can add all of these. All clients share one token.

mod body;
mod gate;
mod media;
mod token;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};
use tokio::net::TcpListener;

use super::log::Log;
use super::server::Server;
use super::stdio::{ServeError, serve_until_signal, start};
use crate::base::connections::{self, ConnectionEvent, Limits};
use gate::HttpGate;
pub use token::{BearerToken, TokenError};

/// The path of the protocol endpoint.
pub const PATH: &str = "/mcp";

/// The path of the health check, which is open to everyone.
pub const HEALTH: &str = "/health";

/// The server's address, access rules and limits.
pub struct HttpOptions {
    /// The address to listen on. With port 0, the system chooses the port.
    pub address: SocketAddr,
    /// The token that clients must send, if any.
    pub token: Option<BearerToken>,
    /// Additional host names for the server, with or without a port. The server's address and loopback names are
    /// always allowed.
    pub hosts: Vec<String>,
    /// The origins of web pages that may use the server, in the form that browsers send, such as `https://app.example`.
    pub origins: Vec<String>,
    /// The maximum number of sessions.
    pub sessions: usize,
    /// The time after which a session without requests ends.
    pub idle: Duration,
    /// The maximum size of a request, in bytes.
    pub body: usize,
    /// The maximum number of connections.
    pub connections: usize,
    /// The time limit for sending a request body and for reading a piece of an answer. It is [`SLOW`] except in
    /// tests.
    pub slow: Duration,
}

/// An error that kept the HTTP server from starting or made it stop.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// There is no token, so anyone who can reach the address could read and write.
    #[error(
        "{0} can be reached from other machines, but there is no token. Make one with `openssl rand -hex 32 >token && \
         chmod 600 token` and pass `--token-file token`, or set TOT_TOKEN in the environment; or listen on \
         127.0.0.1"
    )]
    Open(SocketAddr),
    /// An invalid origin.
    #[error(
        "`{0}` is not an origin: write only scheme, host and port, as a browser does, like https://app.example"
    )]
    Origin(String),
    /// The address is not available.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The runtime could not be created, or a second signal arrived while calls were in progress.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// The default time limit for sending a body and for reading a piece of an answer.
pub const SLOW: Duration = Duration::from_secs(30);

/// The time limit for receiving a request head and for an idle connection.
const HEAD: Duration = Duration::from_secs(10);

/// How long shutdown waits for answers that no tool is working on, and then for connections.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves over HTTP until a signal arrives. Blocks.
///
/// # Errors
///
/// Returns an [`HttpError`] if the server cannot start or is interrupted.
pub fn serve_http(server: Server, options: HttpOptions) -> Result<(), HttpError> {
    if !is_loopback(options.address.ip()) && options.token.is_none() {
        return Err(HttpError::Open(options.address));
    }
    if let Some(odd) = options.origins.iter().find(|origin| !is_origin(origin)) {
        return Err(HttpError::Origin(odd.clone()));
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        start(builder.enable_all().max_blocking_threads(calls_at_once())).map_err(ServeError::Start)?;
    serve_until_signal(runtime, server, |server, stop| serve(server, options, stop.arrived(1)))
}

/// Returns the number of calls to run at once. Calls beyond what the processor and the disk can handle only slow each
/// other down. With a thread for each of 50 investigations, the slowest of a hundred calls took almost twice as long,
/// and memory use multiplied. Even small machines need several threads, since calls also wait for locks and the disk.
fn calls_at_once() -> usize {
    std::thread::available_parallelism().map_or(0, |cores| cores.get() * 4).max(16)
}

async fn serve(
    server: Server,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
) -> Result<(), HttpError> {
    let address = options.address;
    let listen = |source| HttpError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    serve_at(address, listener, server, options, stop).await;
    Ok(())
}

async fn serve_at(
    address: SocketAddr,
    listener: TcpListener,
    server: Server,
    options: HttpOptions,
    stop: impl Future<Output = ()>,
) {
    let (log, whole) = (server.log.clone(), server.clone());
    let limits = Limits { all: options.connections, head: options.slow.min(HEAD), write: options.slow };

    let mut sessions = LocalSessionManager::default();
    sessions.session_config = SessionConfig::default();
    sessions.session_config.keep_alive = Some(options.idle);
    sessions.session_config.sse_retry = None;
    // Answers are plain JSON and cannot be resumed. The default one-minute cache took most of the memory on a busy
    // server.
    sessions.session_config.completed_cache_ttl = Duration::ZERO;
    let sessions = Arc::new(sessions);
    let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(options.hosts.iter().cloned());
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_json_response(true)
        .with_sse_retry(None)
        .with_max_request_body_bytes(options.body);
    // The gate compares origins exactly. In rmcp's check, an origin without a port matches any port.
    config = config.disable_allowed_origins();
    let sessions_end = config.cancellation_token.clone();
    let service = StreamableHttpService::new(move || Ok(server.connected()), Arc::clone(&sessions), config);
    let gate = Arc::new(HttpGate::new(service, sessions, options, log.clone()));

    let routes = Arc::clone(&gate).routes();
    log.listening(&format!("http://{address}{PATH}"));
    let connections =
        connections::serve(listener, routes, limits, move |event| log_event(&log, event), stop).await;

    // Subscriptions are requests that never end by themselves.
    whole.closing.cancel();
    gate.stop(&whole.busy).await;
    // Calls from disconnected clients get no answer but must finish their writes.
    whole.idle().await;
    // This comes last, since it ends the sessions and their notification streams.
    sessions_end.cancel();
    let _ = tokio::time::timeout(PATIENCE, connections).await;
}

fn log_event(log: &Log, event: ConnectionEvent) {
    match event {
        ConnectionEvent::FewFiles { files, room } => log
            .warn(format_args!("at most {room} connections: the limit on open files is {files} (ulimit -n)")),
        ConnectionEvent::NotAccepted(fault) => log.error(format_args!("cannot accept a connection: {fault}")),
        ConnectionEvent::Broke(from, fault) if fault.is_parse() => {
            let status = if fault.is_parse_too_large() { 431 } else { 400 };
            log.warn(format_args!(
                "{status} to {from}: not a request that can be read (no TLS here): {fault}"
            ));
        }
        ConnectionEvent::Broke(from, fault) => {
            log.debug(format_args!("connection from {from} failed: {fault}"))
        }
        ConnectionEvent::NoRoom(from) => log.debug(format_args!("no room for a connection from {from}")),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns whether the text is an origin in the form that browsers send.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]+".contains(&byte);
    !scheme.is_empty() && !host.is_empty() && scheme.bytes().chain(host.bytes()).all(plain)
}

#[cfg(test)]
mod tests;
