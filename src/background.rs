//! Syncs what the calls of a server use, beside them, on a thread of its own.
//!
//! 1. A call tells what it used ([`Told`]), and goes on.
//! 2. What was written waits for [`BATCH`], so that many calls are one exchange with the remote; an end waits for nothing.
//!    What is only read is synced too, at first and then once a minute, so that what others did comes in.
//! 3. What is due is synced, all of it at once, by [`crate::sync`]. What fails is tried again after a while, each time twice
//!    as long, with jitter; what became of it, `tot_status` shows.
//! 4. [`Background::finish`] has what is not sent yet synced, within a time, and ends the git processes that take longer.
//!
//! Guarantees: no call waits for this, and none fails since a remote does. Limits: what another process writes is synced with
//! the next call that uses the investigation, and so is what was not sent when the server was killed; a remote that hangs
//! keeps others waiting for some minutes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::domain::SessionId;
use crate::remote::{Deadline, GitProgram};
use crate::service::Service;
use crate::service::changes::Changed;
use crate::service::sharing::{How, Told, Used};
use crate::sync::{Done, Options, Outcome, SyncError, Syncing};
use crate::text::{counted, one_line, shorten};

/// How long what was written waits for more.
pub const BATCH: Duration = Duration::from_secs(3);
/// How long what was read counts as new.
const FRESH: Duration = Duration::from_secs(60);
/// How long a failure is waited after, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(4);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// How long one exchange with a remote may take.
const EXCHANGE: Duration = Duration::from_secs(300);
/// How long the end of a server waits for the last sync, and then for git to end.
pub const PATIENCE: Duration = Duration::from_secs(10);
const TO_END: Duration = Duration::from_secs(3);
/// How much of an error is shown.
const SHOWN: usize = 300;

/// What the operator may want to know. No text of an investigation is in it.
pub enum Event {
    /// Commits came or went.
    Synced {
        /// Which investigation.
        session: SessionId,
        /// How many.
        what: String,
    },
    /// It could not be done, for the first time or for another reason than before.
    Failed {
        /// Which investigation.
        session: SessionId,
        /// Why.
        why: String,
    },
}

/// The thread.
pub struct Background {
    told: Sender<Told>,
    deadline: Deadline,
    thread: thread::JoinHandle<()>,
}

impl Background {
    /// Begins it. The service tells by the same channel what is used.
    ///
    /// # Errors
    ///
    /// A machine that has no thread left.
    pub fn begin(
        service: Arc<Service>,
        (told, heard): (Sender<Told>, Receiver<Told>),
        tell: impl Fn(Event) + Send + 'static,
    ) -> io::Result<Background> {
        let deadline = Deadline::default();
        let until = deadline.clone();
        let syncer = Syncer { service, deadline: until, jobs: HashMap::new(), tell: Box::new(tell) };
        let thread = thread::Builder::new().spawn(move || syncer.run(&heard))?;
        Ok(Background { told, deadline, thread })
    }

    /// Waits until what was told so far is synced, but no longer than that. Then no git process is left.
    pub fn finish(&self, patience: Duration) {
        self.deadline.set(patience);
        // It may have ended already.
        let _ = self.told.send(Told::TheEnd);
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
    tell: Box<dyn Fn(Event) + Send>,
}

/// One investigation that was used.
struct Job {
    path: PathBuf,
    /// When it is to be synced; not at all where nothing is to be done.
    due: Option<Instant>,
    /// When it was tried last.
    tried: Option<Instant>,
    /// How often it has failed since it last came to its end.
    failures: u32,
    /// Why it failed last.
    error: Option<String>,
}

impl Syncer {
    fn run(mut self, heard: &Receiver<Told>) {
        loop {
            let due = self.jobs.values().filter_map(|job| job.due).min();
            let told = match due {
                Some(due) => heard.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match told {
                Ok(Told::Used(used)) => self.hear(used),
                Err(RecvTimeoutError::Timeout) => self.sync(|due| due <= Instant::now()),
                Ok(Told::TheEnd) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.sync(|_| true);
    }

    fn hear(&mut self, Used { session, path, how }: Used) {
        let new = Job { path, due: None, tried: None, failures: 0, error: None };
        let job = self.jobs.entry(session).or_insert(new);
        let now = Instant::now();
        let due = match how {
            How::Read if job.tried.is_some_and(|tried| tried.elapsed() < FRESH) => return,
            // It is tried again anyway.
            How::Read | How::Wrote if job.failures > 0 => return,
            How::Read | How::Ended => now,
            How::Wrote => now + BATCH,
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
                let syncing = Syncing { store, git: &git, world, options: Options::default() };
                syncing.run(&folders, true, &|_| ())
            }
            Err(error) => {
                let error = SyncError::from(error);
                let failed = |path: &PathBuf| Outcome {
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

    /// Notes what became of a sync; without an outcome, the investigation has no remote.
    fn note(&mut self, session: SessionId, outcome: Option<Outcome>) {
        let Some(job) = self.jobs.get_mut(&session) else { return };
        (job.due, job.tried) = (None, Some(Instant::now()));
        let Some(Outcome { done, error, .. }) = outcome else {
            (job.failures, job.error) = (0, None);
            return;
        };
        let notices: Vec<&str> = done.notices.iter().map(|notice| notice.message.as_str()).collect();
        if !notices.is_empty() {
            self.service.note_came(session, shorten(&one_line(&notices.join("; ")), SHOWN));
        }
        if !done.is_nothing() {
            if done.came > 0 {
                self.service.tell(Changed { session, nodes: Vec::new(), started: false });
            }
            if self.service.store().wants_upkeep(&job.path).unwrap_or(false) {
                self.service.maintain(&job.path);
            }
            let what = format!("{} came, {} went", counted(done.came, "commit"), done.went);
            (self.tell)(Event::Synced { session, what });
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
        let shown = shown(&error);
        self.service.note_synced(session, Err(shown.clone()));
        if job.error.as_ref() != Some(&shown) {
            // The others may tell the subject of a commit.
            let says_itself = matches!(error, SyncError::Remote(_) | SyncError::Refused { .. });
            let why = if says_itself { shown.clone() } else { error.code().to_owned() };
            (self.tell)(Event::Failed { session, why });
        }
        job.error = Some(shown);
    }
}

/// The error in one line, with what a person can do about it. What git says of a remote is tried again without one.
fn shown(error: &SyncError) -> String {
    let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
    let hint = error.hint().filter(|_| !matches!(error, SyncError::Remote(_)));
    let hint = hint.map(|hint| format!(". {hint}")).unwrap_or_default();
    shorten(&one_line(&(lines.join("; ") + &hint)), SHOWN)
}
