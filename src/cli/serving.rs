//! The serving options of `tot-mcp`: its log, and HTTP.

use std::net::{SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::background::{Background, SyncReport};
use crate::domain::SessionId;
use crate::mcp::http::{BearerToken, HttpOptions, SLOW};
use crate::mcp::log::{Level, Log, LogFormat, end_of};
use crate::platform::is_open_to_others;
use crate::service::Service;
use crate::service::sharing::SyncMessage;

/// The end of `--help`.
pub(super) const EXAMPLES: &str = "\
Examples:
  A client starts the server itself, and speaks with it over stdio. In its configuration:
    tot-mcp --root ~/investigations

  For a team: one server for all. Clients are given http://HOST:8080/mcp and the token.
    openssl rand -hex 32 >token && chmod 600 token
    tot-mcp --http 0.0.0.0:8080 --token-file token --allowed-host tot.example.org
  Tokens and findings cross the net as they are: put a proxy with TLS in front.

  See what agents do, one line per call:
    tot-mcp --log info 2>>tot-mcp.log

  Let agents read what was found, and nothing more:
    tot-mcp --root /srv/investigations --read-only

  Share what agents find with a team, while they work:
    tot-mcp --remote git@github.com:team/research.git --sync

  Hold agents to at least six rounds, and offer a method of your own:
    tot-mcp --min-rounds 6 --rulesets ./rulesets";

/// What is logged, and how.
#[derive(Args)]
pub(super) struct LogArguments {
    /// How much is told on standard error: info has a line for each call, without any text of an investigation
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LevelArgument::Warn)]
    log: LevelArgument,
    /// How it is told: for people, or one JSON object per line
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = FormatArgument::Text)]
    log_format: FormatArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum LevelArgument {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatArgument {
    Text,
    Json,
}

impl LogArguments {
    pub(super) fn log(&self) -> Log {
        let level = match self.log {
            LevelArgument::Off => Level::Off,
            LevelArgument::Error => Level::Error,
            LevelArgument::Warn => Level::Warn,
            LevelArgument::Info => Level::Info,
            LevelArgument::Debug => Level::Debug,
        };
        let format = match self.log_format {
            FormatArgument::Text => LogFormat::Text,
            FormatArgument::Json => LogFormat::Json,
        };
        Log::new(level, format)
    }
}

/// Starts syncing in the background.
pub(super) fn background(
    service: &Arc<Service>,
    channel: (Sender<SyncMessage>, Receiver<SyncMessage>),
    log: &Log,
) -> std::io::Result<Background> {
    let log = log.clone();
    let short = |session: SessionId| end_of(&session.to_string());
    Background::begin(Arc::clone(service), channel, move |event| match event {
        SyncReport::Synced { session, what } => log.info(format_args!("synced {}: {what}", short(session))),
        SyncReport::Failed { session, why } => log.warn(format_args!("not synced {}: {why}", short(session))),
    })
}

/// Serving over HTTP.
#[derive(Args)]
#[command(next_help_heading = "Over HTTP")]
pub(super) struct HttpArguments {
    /// Serve over HTTP at this address, at the path /mcp, instead of over stdio. Port 0 takes a free one; standard error
    /// says which. GET /health tells whether the server is up
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    http: Option<SocketAddr>,
    /// The file with the token that clients must send (Authorization: Bearer TOKEN). Without it TOT_TOKEN in the
    /// environment holds the token; without both the server listens on loopback only, to every user of this machine
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// A host name by which clients may call the server, with or without a port, beside localhost and the address itself
    #[arg(long, value_name = "HOST", requires = "http")]
    allowed_host: Vec<String>,
    /// The origin of a web page that may use the server, like https://app.example; none may otherwise
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allowed_origin: Vec<String>,
    /// The most sessions at once (clients of protocols up to 2025-11-25 have one each)
    #[arg(long, value_name = "N", default_value = "10000", requires = "http")]
    max_sessions: NonZeroUsize,
    /// The most connections at once. Where there is no room for one more, the one without a request for longest is closed.
    /// Each takes an open file: see ulimit -n
    #[arg(long, value_name = "N", default_value = "11000", requires = "http")]
    max_connections: NonZeroUsize,
    /// The most connections at once from one address (of IPv6: from one /64 network). All clients behind a proxy have
    /// its address
    #[arg(long, value_name = "N", default_value = "2000", requires = "http")]
    max_connections_per_address: NonZeroUsize,
    /// How many minutes a session lives without a request; its client then begins another one
    #[arg(long, value_name = "MINUTES", default_value = "60", requires = "http",
          value_parser = clap::value_parser!(u32).range(1..=10_080))]
    session_idle: u32,
    /// The most requests per second that one client may make for long: one session, or one address for clients without
    /// a session; five times as many at once. 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 100, requires = "http")]
    max_rate: u32,
    /// The longest request, in bytes. All that are being received or answered at once have 64 MiB together, beside 64 MiB
    /// for the first 32 KiB of each; what finds no room is answered with 503
    #[arg(long, value_name = "BYTES", default_value_t = 4 * 1024 * 1024, requires = "http",
          value_parser = clap::value_parser!(u32).range(1024..=64 * 1024 * 1024))]
    max_request: u32,
}

impl HttpArguments {
    /// Returns the options of HTTP, if it was asked for.
    pub(super) fn options(self, log: &Log) -> Result<Option<HttpOptions>, Box<dyn std::error::Error>> {
        let Some(address) = self.http else { return Ok(None) };
        let token = match (&self.token_file, std::env::var("TOT_TOKEN")) {
            (Some(file), _) => {
                warn_of_readers(file, log);
                Some(BearerToken::read(file)?)
            }
            (None, Ok(token)) => Some(BearerToken::new(&token)?),
            (None, Err(std::env::VarError::NotPresent)) => None,
            (None, Err(unfit)) => return Err(format!("TOT_TOKEN: {unfit}").into()),
        };
        Ok(Some(HttpOptions {
            address,
            token,
            hosts: self.allowed_host,
            origins: self.allowed_origin,
            sessions: self.max_sessions.get(),
            connections: self.max_connections.get(),
            network_connections: self.max_connections_per_address.get(),
            idle: Duration::from_secs(u64::from(self.session_idle) * 60),
            rate: NonZeroU32::new(self.max_rate),
            body: self.max_request as usize,
            slow: SLOW,
        }))
    }
}

/// Parses an address and a port; a name is looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    let hint = "give an address and a port, like 127.0.0.1:8080";
    let found: Vec<SocketAddr> =
        text.to_socket_addrs().map_err(|fault| format!("{fault}; {hint}"))?.collect();
    // `localhost` is often both, and clients that are told 127.0.0.1 try nothing else.
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| hint.to_owned())
}

fn warn_of_readers(file: &Path, log: &Log) {
    if is_open_to_others(file) {
        log.warn(format_args!("others can read the token: chmod 600 {}", file.display()));
    }
}
