//! The log and HTTP options of `tot-mcp`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{CommandResult, root};
use crate::base::platform::is_open_to_others;
use crate::domain::SessionId;
use crate::mcp::http::{BearerToken, HttpOptions, SLOW};
use crate::mcp::log::{Level, Log, LogFormat, end_of};
use crate::service::Service;
use crate::service::background::Background;
use crate::service::sharing::SyncMessage;

/// The last part of the `--help` text.
pub(super) const EXAMPLES: &str = "\
Examples:
  The client starts the server itself and talks to it over stdio. In its configuration:
    tot-mcp --root ~/investigations

  For a team, one server for all. Clients get http://HOST:8080/mcp and the token.
    openssl rand -hex 32 >token && chmod 600 token
    tot-mcp --http 0.0.0.0:8080 --token-file token --allowed-host tot.example.org
  Tokens and findings are sent unencrypted: put a TLS proxy in front of the server.

  Log what agents do, one line per call:
    tot-mcp --log info 2>>tot-mcp.log

  Let agents read, but not write:
    tot-mcp --root /srv/investigations --read-only

  Share what agents find with a team, while they work:
    tot-mcp --remote git@github.com:team/research.git --sync

  Require at least six rounds, and offer your own rulesets:
    tot-mcp --min-rounds 6 --rulesets ./rulesets";

/// The log options.
#[derive(Args)]
pub(super) struct LogOptions {
    /// How much to log on standard error; info logs a line per call, without any text from investigations
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LevelArgument::Warn)]
    log: LevelArgument,
    /// Log format: for people, or one JSON object per line
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

impl LogOptions {
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
    let tell = move |session, outcome: Result<String, String>| match outcome {
        Ok(what) => log.info(format_args!("synced {}: {what}", short(session))),
        Err(why) => log.warn(format_args!("not synced {}: {why}", short(session))),
    };
    Background::begin(Arc::clone(service), channel, Box::new(tell))
}

/// The HTTP options.
#[derive(Args)]
#[command(next_help_heading = "Over HTTP")]
pub(super) struct HttpArguments {
    /// Serve over HTTP at this address, under /mcp, instead of over stdio. Port 0 picks a free port, which is printed on standard
    /// error. GET /health reports whether the server is up
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    http: Option<SocketAddr>,
    /// File with the token that clients must send (Authorization: Bearer TOKEN); default: the environment variable
    /// TOT_TOKEN. Without a token, the server listens on loopback only, and serves every user of this machine
    #[arg(long, value_name = "FILE", requires = "http", value_parser = root::path())]
    token_file: Option<PathBuf>,
    /// Host name under which clients may reach the server, with or without a port, in addition to localhost and the address
    #[arg(long, value_name = "HOST", requires = "http")]
    allowed_host: Vec<String>,
    /// Origin of web pages that may use the server, such as https://app.example; default: none
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allowed_origin: Vec<String>,
    /// Maximum number of sessions (clients with protocols up to 2025-11-25 have one each)
    #[arg(long, value_name = "N", default_value = "10000", requires = "http")]
    max_sessions: NonZeroUsize,
    /// Maximum number of connections. At the limit, the connection that has been idle longest is closed. Each uses a file
    /// descriptor: see ulimit -n
    #[arg(long, value_name = "N", default_value = "11000", requires = "http")]
    max_connections: NonZeroUsize,
    /// Minutes after which an idle session ends; the client then starts a new one
    #[arg(long, value_name = "MINUTES", default_value = "60", requires = "http",
          value_parser = clap::value_parser!(u32).range(1..=10_080))]
    session_idle: u32,
    /// Maximum bytes of a request. All requests in progress share 64 MiB, plus 64 MiB for the first 32 KiB of each; requests
    /// beyond that are answered with 503
    #[arg(long, value_name = "BYTES", default_value_t = 4 * 1024 * 1024, requires = "http",
          value_parser = clap::value_parser!(u32).range(1024..=64 * 1024 * 1024))]
    max_request: u32,
}

impl HttpArguments {
    /// Returns the HTTP options if `--http` was given.
    pub(super) fn options(self, log: &Log) -> CommandResult<Option<HttpOptions>> {
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
            idle: Duration::from_secs(u64::from(self.session_idle) * 60),
            body: self.max_request as usize,
            slow: SLOW,
        }))
    }
}

/// Parses an address with a port. Names are looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    let hint = "give an address and a port, like 127.0.0.1:8080";
    let found: Vec<SocketAddr> =
        text.to_socket_addrs().map_err(|fault| format!("{fault}; {hint}"))?.collect();
    // `localhost` often has IPv4 and IPv6 addresses, and clients configured with 127.0.0.1 do not try IPv6.
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| hint.to_owned())
}

fn warn_of_readers(file: &Path, log: &Log) {
    if is_open_to_others(file) {
        log.warn(format_args!("others can read the token: chmod 600 {}", file.display()));
    }
}
