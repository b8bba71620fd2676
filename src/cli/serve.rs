//! `tot-report --serve`: serves the site from memory, and re-renders an investigation when it has new commits.
//!
//! A thread checks the heads of the repositories, which is cheap. Only investigations with a changed head are read and rendered.
//! Errors are reported on stderr, and the last good site stays available.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use super::print::tell;
use super::report::{SiteSource, Watched, note_unreadable};
use super::{CommandResult, Progress};
use crate::report::serve::{Publisher, Served, serve};
use crate::report::{SiteOptions, Sources, Templates, Waiting, check_uncommitted, publish};
use crate::store::Store;

/// The default port.
const PORT: u16 = 8420;
/// The interval between checks; longer if a check takes more than a tenth of it.
const INTERVAL: Duration = Duration::from_secs(1);

/// Parses an address to listen on.
pub(super) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let numbers = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numbers.parse().map_err(
        |_| "expected an address like 127.0.0.1:8420 or [::1]:8420; name investigations before --serve",
    )
}

/// Serves the site until Ctrl-C.
pub(super) fn run(
    source: SiteSource,
    options: SiteOptions,
    address: Option<SocketAddr>,
    allow_remote: bool,
) -> CommandResult {
    let listener = listen(address, allow_remote)?;
    let options = SiteOptions { live: true, ..options };
    let mut shown = LiveSite { source, options, store: Store::new(""), state: String::new() };
    let progress = Progress::new();
    progress.show("reading");
    let first = shown.look()?;
    let watched = Watched { progress: &progress, interrupt: None };
    let publisher = Publisher::new(shown.render(&first, &Served::default(), &watched)?);
    progress.clear();
    tell(&format!(
        "http://{}/ serves the site, updated with every commit. Ctrl-C stops it.",
        listener.local_addr()?
    ));
    let watched = publisher.clone();
    // The thread ends with the process.
    thread::Builder::new().name("watch".to_owned()).spawn(move || shown.watch(&watched))?;
    Ok(serve(listener, &publisher)?)
}

fn listen(address: Option<SocketAddr>, allow_remote: bool) -> CommandResult<TcpListener> {
    let wanted = address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    if !wanted.ip().is_loopback() && !allow_remote {
        return Err(format!(
            "{wanted} can be reached from other machines, and anyone there could read the investigations: \
             listen on 127.0.0.1:{}, or add --allow-remote",
            wanted.port()
        )
        .into());
    }
    match TcpListener::bind(wanted) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && address.is_none() => {
            Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)
        }
        outcome => outcome.map_err(|error| format!("can't listen on {wanted}: {error}").into()),
    }
}

/// The served site, and the state from which it was rendered.
struct LiveSite {
    source: SiteSource,
    options: SiteOptions,
    /// The store, which caches what it has read.
    store: Store,
    state: String,
}

impl LiveSite {
    /// Returns a key that represents the state of all repositories.
    fn look(&self) -> CommandResult<String> {
        let mut hasher = DefaultHasher::new();
        for folder in self.source.folders()? {
            folder.hash(&mut hasher);
            // A new sign-off is a tag and does not move the branch.
            self.store.refs(&folder).ok().map(|it| (it.head, it.tags)).hash(&mut hasher);
            check_uncommitted(&self.store, &folder).is_ok().hash(&mut hasher);
        }
        Ok(format!("{:016x}", hasher.finish()))
    }

    fn render(&mut self, state: &str, before: &Served, waiting: &dyn Waiting) -> CommandResult<Served> {
        state.clone_into(&mut self.state);
        let folders = self.source.folders()?;
        let sources = Sources { store: Some(&self.store), ..self.source.all(&folders) };
        let next = before.next();
        let published = publish(sources, &Templates::load(&self.options)?, &next, waiting)?;
        note_unreadable(&published.unreadable);
        Ok(next.finish(&published))
    }

    fn watch(mut self, publisher: &Publisher) {
        let mut interval = INTERVAL;
        loop {
            thread::sleep(interval);
            let started = Instant::now();
            let looked = self.look();
            interval = INTERVAL.max(started.elapsed() * 10);
            // A missing folder counts as a state, so it is reported once.
            let state = looked.unwrap_or_else(|error| error.to_string());
            if state == self.state {
                continue;
            }
            match self.render(&state, &publisher.shown(), &()) {
                Ok(served) => publisher.publish(served),
                Err(error) => {
                    tell(&format!("tot-report: {error}; still serving the previous pages"));
                }
            }
        }
    }
}
