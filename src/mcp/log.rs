//! The server log: lines on stderr, one for each call.
//!
//! ```text
//! 2026-11-21T09:15:02.114Z info  tot_commit 5e8b41c7 ok 3.1 ms commit 8d2f0a1b93
//! 2026-11-21T09:15:04.870Z info  tot_propose 5e8b41c7 rejected PARENT_NOT_FOUND 0.4 ms
//! ```
//!
//! Guarantees: the log never contains investigation text, call arguments, or tokens. For each call, it shows the
//! tool, the end of the investigation's id, the outcome with its codes, the duration, and the commit. A slow reader
//! of stderr delays nothing: a separate thread writes the lines, and lines that do not fit into the thread's queue
//! are dropped and counted.
//!
//! Limitation: rmcp's own log is not shown, since it contains whole messages.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::world::World;
use crate::domain::Code;
use crate::json::present;
use crate::service::reply::ReplyFields;
use crate::text::one_line;

/// The log levels. Each level includes all previous levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// Server errors.
    Error,
    /// Problems with a client or a request.
    #[default]
    Warn,
    /// Each call.
    Info,
    /// Each HTTP request.
    Debug,
}

/// The format of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The log. Clones write to the same log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    level: Level,
    format: LogFormat,
    writer: Arc<LogWriter>,
}

impl Log {
    /// Returns a log with the given level and format.
    pub fn new(level: Level, format: LogFormat) -> Log {
        Log { level, format, ..Log::default() }
    }

    /// Returns whether lines at a level are written.
    pub fn tells(&self, level: Level) -> bool {
        level <= self.level && level != Level::Off
    }

    /// Logs a server error.
    pub fn error(&self, what: impl Display) {
        self.note(Level::Error, &what);
    }

    /// Logs a problem with a client or a request.
    pub fn warn(&self, what: impl Display) {
        self.note(Level::Warn, &what);
    }

    /// Logs background work.
    pub fn info(&self, what: impl Display) {
        self.note(Level::Info, &what);
    }

    /// Logs a request.
    pub fn debug(&self, what: impl Display) {
        self.note(Level::Debug, &what);
    }

    /// Logs the server's address when the server is ready. The address is logged at every level, since nothing else
    /// shows a port chosen by the system.
    pub fn listening(&self, url: &str) {
        self.line(Level::Info, &format!("listening on {url}"), json!({"message": "listening", "url": url}));
    }

    /// Logs a call. `named` is the end of the id in the call's arguments (see [`short`]).
    pub(super) fn call(&self, tool: &str, named: Option<String>, reply: &ReplyFields, time: Duration) {
        let ReplyFields { session, commit, .. } = reply;
        let rejected = reply.is_rejected();
        let codes: Vec<&Code> = reply.errors.iter().map(|error| &error.code).take(CODES).collect();
        let broken =
            codes.iter().any(|code| matches!(code, Code::InternalError | Code::StoreError | Code::TimedOut));
        let level = if rejected && broken { Level::Error } else { Level::Info };
        if !self.tells(level) {
            return;
        }
        let outcome = if rejected { "rejected" } else { "ok" };
        let milliseconds = (time.as_secs_f64() * 10_000.0).round() / 10.0;
        let commit = commit.as_deref().and_then(|id| id.get(..10));
        let session = named.or_else(|| session.map(|id| end_of(&id.to_string())));
        let codes = rejected.then(|| codes.iter().map(ToString::to_string).collect::<Vec<_>>());
        let text = [
            Some(tool.to_owned()),
            session.clone(),
            Some(outcome.to_owned()),
            codes.as_ref().map(|codes| codes.join(",")),
            Some(format!("{milliseconds:.1} ms")),
            commit.map(|commit| format!("commit {commit}")),
        ];
        let text: Vec<String> = text.into_iter().flatten().collect();
        let fields = json!({
            "tool": tool,
            "session": session,
            "outcome": outcome,
            "codes": codes,
            "ms": milliseconds,
            "commit": commit,
        });
        self.line(level, &text.join(" "), present(&fields).unwrap_or_default());
    }

    /// Logs only the location of panics, since their messages may contain investigation text.
    pub fn take_panics(&self) {
        let log = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            log.error(format_args!("bug: panic at {place}"));
        }));
    }

    /// Waits briefly for the log to be written.
    pub fn flush(&self) {
        if let Some(Some(lines)) = self.writer.lines.get() {
            let (done, written) = sync_channel(1);
            if lines.try_send(LogMessage::Flush(done)).is_ok() {
                // Gives up if nobody reads stderr.
                let _ = written.recv_timeout(Duration::from_millis(500));
            }
        }
    }

    fn note(&self, level: Level, what: &dyn Display) {
        if self.tells(level) {
            let what = what.to_string();
            self.line(level, &what, json!({"message": what}));
        }
    }

    fn line(&self, level: Level, text: &str, fields: Value) {
        let time = World::Machine.now().map(|now| now.to_string()).unwrap_or_default();
        let name = match level {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Debug => "debug",
            Level::Off | Level::Info => "info",
        };
        let line = match self.format {
            // Ensures a single line without terminal control sequences.
            LogFormat::Text => format!("{time} {name:<5} {}\n", one_line(text)),
            LogFormat::Json => {
                let mut whole = json!({"time": time, "level": name});
                if let (Some(whole), Value::Object(fields)) = (whole.as_object_mut(), fields) {
                    whole.extend(fields);
                }
                format!("{whole}\n")
            }
        };
        self.writer.write(line);
    }
}

/// The maximum number of codes to log for a rejection.
const CODES: usize = 5;

/// The maximum number of lines queued for a slow reader.
const WAITING: usize = 1024;

/// Returns the end of the id in a call's arguments, or `None` if the id is invalid.
pub(super) fn short(fields: &Value) -> Option<String> {
    let id = fields.get("sessionId")?.as_str()?.trim();
    let plain = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    (plain && (4..=36).contains(&id.len())).then(|| end_of(id))
}

/// Returns the last characters of an id. Ids begin with the time, so they differ more at the end.
pub(crate) fn end_of(id: &str) -> String {
    id[id.len().saturating_sub(8)..].to_ascii_lowercase()
}

enum LogMessage {
    Line(String),
    Flush(SyncSender<()>),
}

/// The writer thread, started when the first line is logged. If the system cannot create a thread, lines are written directly.
#[derive(Debug, Default)]
struct LogWriter {
    lines: OnceLock<Option<SyncSender<LogMessage>>>,
    dropped: Arc<AtomicU64>,
}

impl LogWriter {
    fn write(&self, line: String) {
        let lines = self.lines.get_or_init(|| {
            let (sender, lines) = sync_channel(WAITING);
            let dropped = Arc::clone(&self.dropped);
            // A panic may be the message to log, and a second panic would abort the process.
            let begun = thread::Builder::new().spawn(move || write_all(&lines, &dropped));
            begun.is_ok().then_some(sender)
        });
        let Some(lines) = lines else {
            let _ = std::io::stderr().write_all(line.as_bytes());
            return;
        };
        if lines.try_send(LogMessage::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines to stderr. Errors are ignored, since there is nowhere else to report them.
fn write_all(lines: &Receiver<LogMessage>, dropped: &AtomicU64) {
    let mut stderr = std::io::stderr();
    for message in lines {
        match message {
            LogMessage::Line(line) => {
                let missing = dropped.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let _ = writeln!(stderr, "({missing} lines dropped: nobody read them in time)");
                }
                let _ = stderr.write_all(line.as_bytes());
            }
            LogMessage::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_include_those_before() {
        let told = |level| {
            [Level::Error, Level::Warn, Level::Info, Level::Debug]
                .map(|of| Log::new(level, LogFormat::Text).tells(of))
        };
        assert_eq!(told(Level::Off), [false; 4]);
        assert_eq!(told(Level::Error), [true, false, false, false]);
        assert_eq!(told(Level::default()), [true, true, false, false]);
        assert_eq!(told(Level::Debug), [true; 4]);
        assert!(!Log::new(Level::Off, LogFormat::Text).tells(Level::Off));
    }

    #[test]
    fn only_an_id_is_told_of_a_call() {
        let of = |id: Value| short(&json!({"sessionId": id}));
        assert_eq!(of(json!("019A3F5C-1D2E-7ABC-8DEF-0123456789AB")), Some("456789ab".to_owned()));
        assert_eq!(of(json!("89ab")), Some("89ab".to_owned()));
        for odd in [json!("the password is x"), json!(""), json!(5), json!("aé"), json!("a".repeat(40))] {
            assert_eq!(of(odd.clone()), None, "{odd}");
        }
    }
}
