//! The server: the options of `tot-mcp`, and what they set up.

use std::io::IsTerminal;
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use clap::Args;

use super::error::{CommandError, failed};
use super::place::{EVERYWHERE, RootArgument};
use super::util::ruleset::RulesetFolder;
use super::{CommandResult, ValueTable, attach, one_of, print, remote_address, root};
use crate::base::platform::is_open_to_others;
use crate::base::world::World;
use crate::domain::SessionId;
use crate::mcp::http::{BearerToken, HttpOptions, SLOW};
use crate::mcp::log::{Level, Log, LogFormat, end_of};
use crate::mcp::{self, Server};
use crate::ruleset::ATTACHMENT_MAX;
use crate::service::Service;
use crate::service::background::Background;
use crate::service::project::Project;
use crate::service::remote::RemoteError;
use crate::service::sharing::{Sharing, SyncMessage};
use crate::store::Durability;

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

#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct McpArguments {
    #[command(flatten)]
    root: RootArgument,
    /// Folder for the sites of tot_report; default: `site` in the root
    #[arg(long, value_name = "DIR", value_parser = root::path())]
    site: Option<PathBuf>,
    /// Offer only reading tools, and write nothing: no commits, locks, recovery or sites
    #[arg(long)]
    read_only: bool,
    /// Remote for new investigations: each gets it, as with tot remote add, on its own branch tot/<id>. Default: tot.remote in
    /// git's configuration, if set. If empty, they get none, and tot sync gives them none
    #[arg(long, value_name = "URL", conflicts_with = "read_only", value_parser = default_remote)]
    remote: Option<String>,
    /// In the background, sync the investigations that calls use, as tot sync does: receive the work of others, and
    /// send new commits within seconds. Failures are retried while work goes on, and tot_status reports them. On exit
    /// the server waits up to 10 seconds for unsent commits. Not possible with --read-only, because received work is
    /// written
    #[arg(long, conflicts_with = "read_only")]
    sync: bool,
    /// Minimum number of rounds for new investigations: raises the ruleset's own minimum; a tot_start call that asks
    /// for fewer is refused
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    min_rounds: Option<u32>,
    /// Refuse text that looks like it contains a credential, even if the ruleset only warns
    #[arg(long)]
    reject_secrets: bool,
    /// Maximum bytes of an attachment
    #[arg(long, value_name = "BYTES", default_value_t = ATTACHMENT_MAX, value_parser = clap::value_parser!(u64).range(1..=attach::MOST))]
    max_attachment: u64,
    /// Have the client ask its user before an investigation ends. If there is no answer within SECONDS, the investigation ends and
    /// records that
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "45",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    // Clients built on the official TypeScript SDK abandon a call after a minute.
    ask_before_end: Option<u64>,
    /// Repository that the investigations are about: cited files are stored as they were when cited, and citations of missing
    /// files are reported. Default: the one around the current folder; with --http, none, because clients are elsewhere
    #[arg(long, value_name = "DIR", value_parser = root::path(), help_heading = EVERYWHERE)]
    project: Option<PathBuf>,
    /// Use no project, even in a repository
    #[arg(long, conflicts_with = "project", help_heading = EVERYWHERE)]
    no_project: bool,
    #[command(flatten)]
    rulesets: RulesetFolder,
    /// What to wait for before answering a call that writes. A killed process loses nothing either way
    #[arg(long, value_name = "WHAT", default_value = "disk", value_parser = one_of(DURABILITIES))]
    durability: Durability,
    /// How much to log on standard error; info logs a line per call, without any text from investigations
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = one_of(LEVELS))]
    log: Level,
    /// Log format: for people, or one JSON object per line
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(FORMATS))]
    log_format: LogFormat,
    #[command(flatten)]
    http: HttpArguments,
}

const DURABILITIES: ValueTable<Durability> = &[
    ("disk", "The write to disk, so a power failure loses nothing", Durability::Disk),
    ("git", "Whatever git's core.fsync setting requires; by default, nothing", Durability::Git),
];

pub(super) fn run(arguments: McpArguments) -> CommandResult {
    let log = Log::new(arguments.log, arguments.log_format);
    let http = arguments.http.options(&log)?;
    log.take_panics();
    let world = World::here();
    let project = match &arguments.project {
        Some(dir) => Some(Project::around(dir)?),
        None if arguments.no_project || http.is_some() => None,
        None => Project::here(),
    };
    let place = arguments.root.place()?;
    // The current folder may be removed.
    let root = std::path::absolute(place.store.root()).map_err(|_| {
        let how = "Start it in a folder that exists, or give --root DIR or TOT_ROOT as a whole path in the client's \
                   configuration";
        CommandError::Failed("the folder that the server was started in is gone".to_owned(), Some(how.to_owned()))
    })?;
    let channel = mpsc::channel();
    let mut sharing = Sharing::to(arguments.remote);
    sharing.syncer = arguments.sync.then(|| channel.0.clone());
    let mut service = Service::new(root, world, arguments.min_rounds);
    service.root_note = place.note;
    service.rulesets = arguments.rulesets.library()?;
    service.reject_secrets = arguments.reject_secrets;
    service.attachment_max = arguments.max_attachment;
    service.project = project;
    service.sharing = Some(sharing).filter(|_| !arguments.read_only);
    service.site = arguments.site.unwrap_or(service.site);
    service.store = service.store.with_durability(arguments.durability).reading_only(arguments.read_only);
    let service = Arc::new(service);
    let background = if arguments.sync { Some(background(&service, channel, &log)?) } else { None };
    let server = Server::new(mcp::tools::instructions(&service), mcp::tools::all(&service));
    let mut server = server.serving(service);
    server.log = log;
    server.read_only = arguments.read_only;
    server.ask_before_end = arguments.ask_before_end.map(Duration::from_secs);
    server.background = background.map(Arc::new);
    match http {
        Some(options) => {
            server.session = mcp::ClientSession::Connections;
            mcp::serve_http(server, options).map_err(failed)
        }
        // Claude Code passes its session id to the servers that it starts.
        None => {
            if std::io::stdin().is_terminal() {
                print::tell(
                    "Waiting for an MCP client on standard input; tot setup configures one. Ctrl-C stops the server.",
                );
            }
            let session = std::env::var("CLAUDE_CODE_SESSION_ID").ok().filter(|id| !id.trim().is_empty());
            mcp::serve_stdio(server.of_one_client(session)).map_err(failed)
        }
    }
}

fn default_remote(text: &str) -> Result<String, RemoteError> {
    if text.is_empty() { Ok(String::new()) } else { remote_address(text) }
}

const LEVELS: ValueTable<Level> = &[
    ("off", "", Level::Off),
    ("error", "", Level::Error),
    ("warn", "", Level::Warn),
    ("info", "", Level::Info),
    ("debug", "", Level::Debug),
];

const FORMATS: ValueTable<LogFormat> = &[("text", "", LogFormat::Text), ("json", "", LogFormat::Json)];

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
                Some(BearerToken::read(file).map_err(failed)?)
            }
            (None, Ok(token)) => Some(BearerToken::new(&token).map_err(failed)?),
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
