//! Syncs the investigations used by a server's calls, on a background thread.
//!
//! 1. A call reports the investigation it used ([`SyncMessage`]) and continues.
//! 2. A write is synced after [`BATCH`], so that many calls share one exchange with the remote. A conclusion is synced
//!    at once. An investigation that is only read is synced on first use, and then at most once a minute, to fetch the
//!    work of others.
//! 3. All due investigations are synced together, by [`crate::service::sync`]. Failures are retried with exponential backoff
//!    and jitter. `tot_status` shows the outcome.
//! 4. [`Background::finish`] syncs all unsent changes within a time limit, then ends the remaining git processes.
//!
//! Guarantees: no call waits for a sync or fails because of a remote. Limitations: writes by other processes, and
//! writes that were unsent when the server was killed, are synced after the next call that uses the investigation. A
//! hanging remote can delay syncs with other remotes by several minutes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::domain::SessionId;
use crate::service::Service;
use crate::service::changes::ServiceChange;
use crate::service::remote::{Deadline, GitProgram};
use crate::service::sharing::{SyncMessage, UseKind};
use crate::service::sync::{Done, SyncError, SyncOptions, SyncOutcome, Syncing};
use crate::text::{counted, one_line, shorten};

/// The delay between a write and its sync, which lets later writes share that sync.
pub const BATCH: Duration = Duration::from_secs(3);
/// The time after a sync during which reads do not cause another sync.
const FRESH: Duration = Duration::from_secs(60);
/// The initial and the maximum delay after failures.
const FIRST_WAIT: Duration = Duration::from_secs(4);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The time limit for one exchange with a remote.
const EXCHANGE: Duration = Duration::from_secs(300);
/// The time limit for the last sync at shutdown.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The time limit for ending git at shutdown, after the last sync.
const TO_END: Duration = Duration::from_secs(3);
/// The maximum length of an error, in characters.
const SHOWN: usize = 300;

/// Tells the operator how many commits a sync received and sent, or why it failed for the first time or with a new error.
/// The text contains nothing from an investigation.
pub type SyncReporter = Box<dyn Fn(SessionId, Result<String, String>) + Send>;

/// The sync thread.
pub struct Background {
    told: Sender<SyncMessage>,
    deadline: Deadline,
    thread: thread::JoinHandle<()>,
}

impl Background {
    /// Starts the thread. The service must send its messages through the given channel.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread.
    pub fn begin(
        service: Arc<Service>,
        (told, heard): (Sender<SyncMessage>, Receiver<SyncMessage>),
        tell: SyncReporter,
    ) -> io::Result<Background> {
        let deadline = Deadline::default();
        let until = deadline.clone();
        let syncer = Syncer { service, deadline: until, jobs: HashMap::new(), tell };
        let thread = thread::Builder::new().spawn(move || syncer.run(&heard))?;
        Ok(Background { told, deadline, thread })
    }

    /// Syncs everything reported so far, for at most `patience`, then stops the thread and any remaining git processes.
    pub fn finish(&self, patience: Duration) {
        self.deadline.set(patience);
        // The thread may have ended already.
        let _ = self.told.send(SyncMessage::Shutdown);
        let until = Instant::now() + patience + TO_END;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Syncer {
    service: Arc<Service>,
    deadline: Deadline,
    jobs: HashMap<SessionId, Job>,
    tell: SyncReporter,
}

/// The sync state of an investigation in use.
struct Job {
    path: PathBuf,
    /// The time of the next sync, if one is planned.
    due: Option<Instant>,
    /// The time of the last attempt.
    tried: Option<Instant>,
    /// The number of failures since the last success.
    failures: u32,
    /// The last error.
    error: Option<String>,
}

impl Syncer {
    fn run(mut self, heard: &Receiver<SyncMessage>) {
        loop {
            let due = self.jobs.values().filter_map(|job| job.due).min();
            let told = match due {
                Some(due) => heard.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match told {
                Ok(SyncMessage::Used { session, path, kind }) => self.hear(session, path, kind),
                Err(RecvTimeoutError::Timeout) => self.sync(|due| due <= Instant::now()),
                Ok(SyncMessage::Shutdown) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.sync(|_| true);
    }

    fn hear(&mut self, session: SessionId, path: PathBuf, kind: UseKind) {
        let new = Job { path, due: None, tried: None, failures: 0, error: None };
        let job = self.jobs.entry(session).or_insert(new);
        let now = Instant::now();
        let due = match kind {
            UseKind::Read if job.tried.is_some_and(|tried| tried.elapsed() < FRESH) => return,
            // The next attempt is already scheduled.
            UseKind::Read | UseKind::Wrote if job.failures > 0 => return,
            UseKind::Read | UseKind::Ended => now,
            UseKind::Wrote => now + BATCH,
        };
        job.due = Some(job.due.map_or(due, |before| before.min(due)));
    }

    fn sync(&mut self, is_due: impl Fn(Instant) -> bool) {
        let due = self.jobs.iter().filter(|(_, job)| job.due.is_some_and(&is_due));
        let (sessions, folders): (Vec<SessionId>, Vec<PathBuf>) =
            due.map(|(session, job)| (*session, job.path.clone())).unzip();
        if sessions.is_empty() {
            return;
        }
        let mut outcomes = match GitProgram::find(false) {
            Ok(git) => {
                let git = git.with_limit(EXCHANGE).until(self.deadline.clone());
                let (store, world) = (self.service.store(), self.service.world());
                let syncing = Syncing { store, git: &git, world, options: SyncOptions::default() };
                syncing.run(&folders, true, &|_| ())
            }
            Err(error) => {
                let error = SyncError::from(error);
                let failed = |path: &PathBuf| SyncOutcome {
                    path: path.clone(),
                    upstream: None,
                    done: Done::default(),
                    error: Some(error.clone()),
                };
                folders.iter().map(failed).collect()
            }
        };
        for (session, path) in sessions.into_iter().zip(&folders) {
            let outcome = outcomes.iter().position(|outcome| outcome.path == *path);
            self.note(session, outcome.map(|at| outcomes.swap_remove(at)));
        }
    }

    /// Records the outcome of a sync. `None` means that the investigation has no remote.
    fn note(&mut self, session: SessionId, outcome: Option<SyncOutcome>) {
        let Some(job) = self.jobs.get_mut(&session) else { return };
        (job.due, job.tried) = (None, Some(Instant::now()));
        let Some(SyncOutcome { done, error, .. }) = outcome else {
            (job.failures, job.error) = (0, None);
            return;
        };
        let notices: Vec<&str> = done.notices.iter().map(|notice| notice.message.as_str()).collect();
        if !notices.is_empty() {
            self.service.note_came(session, shorten(&one_line(&notices.join("; ")), SHOWN));
        }
        if !done.is_nothing() {
            if done.came > 0 {
                self.service.tell(ServiceChange { session, nodes: Vec::new(), started: false });
            }
            if self.service.store().open(&job.path).is_ok_and(|git| git.wants_upkeep()) {
                self.service.maintain(&job.path);
            }
            let what = format!("{} received, {} sent", counted(done.came, "commit"), done.went);
            (self.tell)(session, Ok(what));
        }
        let Some(error) = error else {
            (job.failures, job.error) = (0, None);
            if let Ok(now) = self.service.world().now() {
                self.service.note_synced(session, Ok(now));
            }
            return;
        };
        let longest = FIRST_WAIT.saturating_mul(1 << job.failures.min(16)).min(LONGEST_WAIT);
        job.due = Some(Instant::now() + longest / 2 + self.service.world().jitter(longest / 2));
        job.failures += 1;
        let shown = error_line(&error);
        self.service.note_synced(session, Err(shown.clone()));
        if job.error.as_ref() != Some(&shown) {
            // Other errors may contain a commit subject, so only the error code is reported.
            let says_itself = matches!(error, SyncError::Remote(_) | SyncError::Refused { .. });
            let why = if says_itself { shown.clone() } else { error.code().to_owned() };
            (self.tell)(session, Err(why));
        }
        job.error = Some(shown);
    }
}

/// Formats an error on one line, with a hint. Remote errors get no hint, since they are retried.
fn error_line(error: &SyncError) -> String {
    let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
    let hint = error.hint().filter(|_| !matches!(error, SyncError::Remote(_)));
    let hint = hint.map(|hint| format!(". {hint}")).unwrap_or_default();
    shorten(&one_line(&(lines.join("; ") + &hint)), SHOWN)
}
