//! `tot_report` writes the report of an investigation. The report is a static site in the server's report folder.
//!
//! Guarantees:
//!
//! - Clients cannot choose the folder, and files that this program did not write are never replaced.
//! - Each call leaves a complete site that contains everything committed before the call.
//! - Reports on the same investigation are written one after the other, even by several processes. Each report reads
//!   the state after the previous report is complete, so the last site has the newest state. The lock of [`Writing`]
//!   ensures this.
//!
//! Reports do not delay other calls. They are rendered from a snapshot, at most [`at_once`] at the same time. Calls
//! that wait for another report on the same investigation share the next report. Waiting does not occupy a thread,
//! even if another process holds the lock.

use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::super::queues::Queues;
use super::super::tool::{About, Tool, blocking};
use super::answer;
use crate::domain::{Code, Diagnostic, SessionId};
use crate::report::{self, ReadOptions, ReportError, ReportReadError, SiteOptions, Sources, Writing};
use crate::service::reply::{ReplyFields, ReplyMessage};
use crate::service::withhold::WithheldError;
use crate::service::{Refusal, Service};
use crate::text::{causes, sentence};

pub(super) const ABOUT: About = About {
    name: "tot_report",
    title: "Write the report",
    description: "Writes an investigation as a static site for people, replacing any earlier one.",
    codes: &[Code::ReportError],
    idempotent: true,
    ..About::PLAIN
};

/// Returns the maximum number of reports to render at once. Other calls need a free core, and a report on 10,000
/// nodes takes 600 MB of memory.
fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2).clamp(1, 4)
}

/// The investigation to write.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReportToolInput {
    /// From tot_start.
    session_id: String,
}

/// The result of a report.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportBody {
    /// The path to the first page.
    index: String,
    /// The number of nodes on the site.
    total_nodes: usize,
    /// The number of commits on the site.
    total_commits: usize,
    /// The number of files on the site.
    total_files: usize,
}

/// Returns the tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    let reports = Arc::new(Reports::new(service));
    Tool::waiting(ABOUT, move |input: ReportToolInput| {
        let reports = Arc::clone(&reports);
        async move {
            let outcome = reports.report(input.session_id).await;
            let outcome = outcome.map(|(shared, body)| (shared, body, ()));
            blocking(move || answer(&reports.service, outcome, &ABOUT)).await
        }
    })
}

/// The reports in progress.
struct Reports {
    service: Arc<Service>,
    /// A queue of calls for each investigation, with the last report written.
    calls: Queues<Option<WrittenReport>>,
    places: Semaphore,
}

/// A finished report.
struct WrittenReport {
    /// The time just before the state was read.
    began: Instant,
    reply: (ReplyFields, ReportBody),
}

impl Reports {
    fn new(service: Arc<Service>) -> Reports {
        Reports { service, calls: Queues::default(), places: Semaphore::new(at_once()) }
    }

    async fn report(&self, session: String) -> Result<(ReplyFields, ReportBody), Refusal> {
        let asked = Instant::now();
        let find = move |service: &Service| Ok(service.snapshot(&session)?.investigation.meta().id);
        let id = self.blocking(find).await?;
        let queue = self.calls.of(&id.to_string());
        let mut before = queue.lock().await;
        if let Some(written) = before.as_ref().filter(|written| asked <= written.began) {
            return Ok(written.reply.clone());
        }
        let writing = self.begin(id).await?;
        let _place = self.places.acquire().await;
        let written = self.blocking(move |service| write(service, id, writing)).await?;
        Ok(before.insert(written).reply.clone())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Service) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let service = Arc::clone(&self.service);
        blocking(move || work(&service)).await
    }

    /// Waits until no other process writes the site, up to a time limit.
    async fn begin(&self, id: SessionId) -> Result<Writing, Refusal> {
        let begin = move |service: &Service| {
            let out = report::folder_in(service.site(), id);
            let writing = out.and_then(|out| Writing::try_begin(&out));
            writing.map_err(|error| report_error(&error))
        };
        for _ in 0..report::LOCK_ATTEMPTS {
            if let Some(writing) = self.blocking(begin).await? {
                return Ok(writing);
            }
            tokio::time::sleep(report::LOCK_AGAIN).await;
        }
        Err(report_error(&ReportError::Busy { out: self.service.site().join(id.to_string()) }))
    }
}

/// Writes a report on the current state.
fn write(service: &Service, id: SessionId, writing: Writing) -> Result<WrittenReport, Refusal> {
    let began = Instant::now();
    let (mut shared, snapshot) = match service.look(&id.to_string())? {
        Ok(loaded) => (ReplyFields::done(&loaded, None, &[]), loaded.snapshot),
        Err(unruled) => (ReplyFields::without_rules(&unruled), unruled.snapshot),
    };
    let reading = ReadOptions { project: service.project().cloned(), ..ReadOptions::default() };
    let (folders, store) = ([snapshot.path.clone()], Some(service.store()));
    let sources = Sources { folders: &folders, roots: &[], reading: &reading, store };
    let out = service.site().join(id.to_string());
    let published = report::publish_into(writing, sources, &SiteOptions::default(), &());
    let published = published.map_err(|error| match error {
        ReportError::Read(ReportReadError::Store(error)) => error.into(),
        ReportError::Read(ReportReadError::Withheld(error)) => withheld_error(error),
        error => report_error(&error),
    })?;
    let (total_nodes, total_commits) = published.told();
    let index = out.join("index.html");
    let index = std::path::absolute(&index).unwrap_or(index).display().to_string();
    shared.message = ReplyMessage::note(format!("Report written: open {index} in a browser."));
    let reply = (shared, ReportBody { index, total_nodes, total_commits, total_files: published.files() });
    Ok(WrittenReport { began, reply })
}

fn withheld_error(error: WithheldError) -> Refusal {
    match error {
        WithheldError::Store(error) => error.into(),
        error => {
            let message = sentence(&causes(&error));
            Diagnostic::new(Code::ReportError, message).suggest("Fix withheld.yaml and commit it.").into()
        }
    }
}

fn report_error(error: &dyn std::error::Error) -> Refusal {
    let suggestion =
        "The server's operator chooses the folder with --site; tot-report can write to any other folder.";
    Diagnostic::new(Code::ReportError, sentence(&causes(error))).suggest(suggestion).into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::base::world::World;
    use crate::domain::Caller;

    struct ReportFixture {
        reports: Arc<Reports>,
        id: SessionId,
        _folder: tempfile::TempDir,
    }

    impl ReportFixture {
        async fn new() -> ReportFixture {
            let folder = crate::testing::folder();
            let service = Arc::new(Service::new(folder.path().join("root"), World::Machine, None));
            let started =
                super::super::all(&service)[0].answer(json!({"query": "q"}), Caller::default()).await;
            let id = started.content["sessionId"].as_str().unwrap().parse().unwrap();
            ReportFixture { reports: Arc::new(Reports::new(service)), id, _folder: folder }
        }

        /// Takes the lock, as another process would.
        fn occupy(&self) -> Writing {
            Writing::begin(&self.site(), &()).unwrap()
        }

        fn site(&self) -> PathBuf {
            self.reports.service.site().join(self.id.to_string())
        }

        fn begin(&self) -> tokio::task::JoinHandle<Value> {
            let (reports, id) = (Arc::clone(&self.reports), self.id);
            tokio::spawn(async move {
                let Ok((_, body)) = reports.report(id.to_string()).await else { panic!("refused") };
                serde_json::to_value(body).unwrap()
            })
        }

        /// Waits until the given number of calls are queued.
        async fn queued(&self, calls: usize) {
            while Arc::strong_count(&self.reports.calls.of(&self.id.to_string())) != calls + 1 {
                tokio::task::yield_now().await;
            }
        }

        async fn propose(&self) {
            let proposal = json!({"sessionId": self.id.to_string(),
                "nodes": [{"id": "R1.A", "title": "t", "plannedAction": "p"}]});
            let tot_propose = &super::super::all(&self.reports.service)[1];
            assert!(!tot_propose.answer(proposal, Caller::default()).await.shared.is_rejected());
        }
    }

    /// A named pipe in place of the lock file used to block the tool forever.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_lock_that_is_no_file_is_refused() {
        let fixture = ReportFixture::new().await;
        fs::create_dir_all(fixture.site()).unwrap();
        let lock = fixture.site().join(".tot-report.lock");
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        let Err(refusal) = fixture.reports.report(fixture.id.to_string()).await else { panic!("written") };
        assert!(
            refusal.errors[0].message.agent().contains("was not written by this program"),
            "{:?}",
            refusal.errors
        );
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &lock).unwrap();
        assert!(fixture.reports.report(fixture.id.to_string()).await.is_err());
    }

    #[tokio::test]
    async fn those_who_waited_share_what_was_written_meanwhile() {
        let fixture = ReportFixture::new().await;
        let held = fixture.occupy();
        let calls: Vec<_> = (0..4).map(|_| fixture.begin()).collect();
        fixture.queued(4).await;
        let index = fixture.site().join("index.html");
        assert!(!index.exists(), "another process has the lock");
        drop(held);
        while !index.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // From here on, nobody else can write a report.
        let site = fixture.site();
        let _held = blocking(move || Writing::begin(&site, &())).await.unwrap();
        for call in calls {
            assert_eq!(call.await.unwrap()["totalNodes"], 0);
        }
    }

    #[tokio::test]
    async fn what_was_committed_before_a_call_is_in_its_report() {
        let fixture = ReportFixture::new().await;
        let held = fixture.occupy();
        let first = fixture.begin();
        fixture.queued(1).await;
        // Simulates a first call that read its state before the proposal and is still writing.
        let queue = fixture.reports.calls.of(&fixture.id.to_string());
        drop(held);
        first.await.unwrap();
        fixture.propose().await;
        let report = fixture.begin().await.unwrap();
        assert_eq!(report["totalNodes"], 1, "{report}");
        assert_eq!(queue.lock().await.as_ref().unwrap().reply.1.total_nodes, 1);
    }

    #[tokio::test]
    async fn no_more_than_a_few_are_rendered_at_once() {
        let fixture = ReportFixture::new().await;
        let places = fixture.reports.places.acquire_many(at_once() as u32).await.unwrap();
        let call = fixture.begin();
        fixture.queued(1).await;
        fixture.propose().await;
        assert!(!call.is_finished());
        drop(places);
        assert_eq!(call.await.unwrap()["totalNodes"], 1, "it is read when it is its turn");
    }
}
