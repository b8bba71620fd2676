//! The server over HTTP, for several clients at once: the protocol's Streamable HTTP at [`PATH`].
//!
//! 1. [`serve_http`] listens, and ends at a signal. [`connections`] accepts connections within its limits.
//! 2. `gate` judges each request: path, origin, rate, token, size, number of sessions. `body` keeps the content of all
//!    requests within a budget.
//! 3. rmcp reads the protocol. Clients up to 2025-11-25 have a session, which begins with `initialize` and ends with `DELETE` or
//!    after [`Options::idle`]; from 2026-07-28 on each request is independent.
//! 4. The tools are those of [`Server`], on threads of their own.
//!
//! Guarantees:
//!
//! - Beyond loopback nothing is served without a token ([`HttpError::Open`]), and nothing at all to a web page of
//!   another origin or by another host name than the operator's, whatever a browser is made to send (DNS rebinding).
//! - Memory is bounded: connections in all and of one address, sessions, the size of a request and of all at once, and the
//!   time that one may take to be sent or its answer to be read.
//! - [`HEALTH`] is always answered: connections that send no whole request make room for those that do, and some places are
//!   reserved.
//! - **An accepted call is answered** when SIGTERM, SIGINT or SIGHUP arrives, as over stdio; later requests are refused with 503.
//!   A client that disconnects loses only its own answer: its call finishes what it writes.
//!
//! Limits: no TLS and no HTTP/2; both are for a proxy in front. One token for all. Rates are counted per session, or by
//! the address of the connection where there is none, which behind a proxy is that of the proxy.

mod body;
mod gate;
mod rate;
mod token;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};
use tokio::net::TcpListener;

use super::log::Log;
use super::server::Server;
use super::stdio::{finishing, run, signals, start};
use crate::connections::{self, Event, Limits};
use gate::Gate;
pub use token::{Token, TokenError};

/// The path of the protocol.
pub const PATH: &str = "/mcp";

/// The path where anybody may ask whether the server is up.
pub const HEALTH: &str = "/health";

/// The address, the access and the limits of the server.
#[derive(Debug)]
pub struct Options {
    /// The address it listens on; port 0 lets the machine choose.
    pub address: SocketAddr,
    /// The token that clients must send.
    pub token: Option<Token>,
    /// Names, with or without a port, by which clients may call it, beside those of loopback and the address.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use it, as browsers write them: `https://app.example`.
    pub origins: Vec<String>,
    /// The most sessions at once.
    pub sessions: usize,
    /// How long a session lives without a request.
    pub idle: Duration,
    /// The sustained requests per second of one client.
    pub rate: Option<NonZeroU32>,
    /// The longest request, in bytes.
    pub body: usize,
    /// The most connections at once.
    pub connections: usize,
    /// The most connections at once from one [`network`](connections::network).
    pub network_connections: usize,
    /// How long a client may take to send the body of a request, or to take a piece of an answer. [`SLOW`] but in tests.
    pub slow: Duration,
}

/// An error of serving over HTTP: it did not start, or ended other than by one signal.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No token: anybody who reaches the address could read and write.
    #[error(
        "{0} can be reached from other machines, and there is no token. Make one with `openssl rand -hex 32 >token && \
         chmod 600 token` and give `--token-file token`, or put it into the environment as TOT_TOKEN; or listen on \
         127.0.0.1"
    )]
    Open(SocketAddr),
    /// An invalid origin.
    #[error(
        "`{0}` is no origin: write it as a browser does, scheme, host and port alone, like https://app.example"
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
    /// The runtime could not be created.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    /// A second signal came while calls were still in flight.
    #[error("interrupted before all calls were answered")]
    Interrupted,
}

/// The longest that a client may take for a body or a piece of an answer.
pub const SLOW: Duration = Duration::from_secs(30);

/// The longest that the head of a request may take, and that a connection may be idle.
const HEAD: Duration = Duration::from_secs(10);

/// How long the end waits for answers that no tool is at work on, and then for connections.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves over HTTP until a signal comes. Blocks.
///
/// # Errors
///
/// See [`HttpError`].
pub fn serve_http(server: Server, options: Options) -> Result<(), HttpError> {
    if !is_loopback(options.address.ip()) && options.token.is_none() {
        return Err(HttpError::Open(options.address));
    }
    if let Some(odd) = options.origins.iter().find(|origin| !is_origin(origin)) {
        return Err(HttpError::Origin(odd.clone()));
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        start(builder.enable_all().max_blocking_threads(calls_at_once())).map_err(HttpError::Start)?;
    let (log, whole) = (server.log.clone(), server.clone());
    let outcome = run(runtime, async {
        let signals = signals(&log);
        let serving = finishing(server.clone(), serve(server, options, signals.clone().arrived(1)));
        tokio::select! {
            outcome = serving => outcome,
            () = signals.arrived(2) => Err(HttpError::Interrupted),
        }
    });
    // After a second signal calls may still be running.
    whole.finish(Duration::ZERO);
    log.flush();
    outcome
}

/// How many calls are worked on at once; the others wait. More than the processor and the disk can do makes each of them
/// slower: with a thread for each of 50 investigations the slowest of a hundred calls took almost twice as long, and
/// the memory was several times as much. No fewer on a small machine: some calls only wait for a lock or the disk.
fn calls_at_once() -> usize {
    std::thread::available_parallelism().map_or(0, |cores| cores.get() * 4).max(16)
}

async fn serve(server: Server, options: Options, stop: impl Future<Output = ()>) -> Result<(), HttpError> {
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
    options: Options,
    stop: impl Future<Output = ()>,
) {
    let (log, whole) = (server.log.clone(), server.clone());
    let limits = Limits {
        all: options.connections,
        network: options.network_connections,
        head: options.slow.min(HEAD),
        write: options.slow,
    };

    let mut sessions = LocalSessionManager::default();
    sessions.session_config = SessionConfig::default();
    sessions.session_config.keep_alive = Some(options.idle);
    sessions.session_config.sse_retry = None;
    // Answers are plain JSON, which can't be resumed. Cached for a minute, as by default, they were most of the memory of a busy
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
    // The gate compares origins exactly; rmcp's own check takes one without a port for any.
    config = config.disable_allowed_origins();
    let sessions_end = config.cancellation_token.clone();
    let service = StreamableHttpService::new(move || Ok(server.connected()), Arc::clone(&sessions), config);
    let gate = Arc::new(Gate::new(service, sessions, options, log.clone()));

    let routes = Arc::clone(&gate).routes();
    log.listening(&format!("http://{address}{PATH}"));
    let connections =
        connections::serve(listener, routes, limits, move |event| told(&log, event), stop).await;

    // Subscriptions are requests too, and have no end of their own.
    whole.closing.cancel();
    gate.stop(&whole.busy).await;
    // Calls whose client went away are owed no answer, but must finish what they write.
    whole.idle().await;
    // Last, since it ends the sessions, and with them the streams that wait for notices.
    sessions_end.cancel();
    let _ = tokio::time::timeout(PATIENCE, connections.shutdown()).await;
}

fn told(log: &Log, event: Event) {
    match event {
        Event::FewFiles { files, room } => log.warn(format_args!(
            "at most {room} connections at once: the limit of open files is {files} (ulimit -n)"
        )),
        Event::NotAccepted(fault) => log.error(format_args!("cannot take a connection in: {fault}")),
        Event::Broke(from, fault) => log.debug(format_args!("a connection from {from} broke: {fault}")),
        Event::NoRoom(from) => log.debug(format_args!("no more room for a connection from {from}")),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether the text is an origin as browsers write it.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]+".contains(&byte);
    !scheme.is_empty() && !host.is_empty() && scheme.bytes().chain(host.bytes()).all(plain)
}

#[cfg(test)]
mod tests;
