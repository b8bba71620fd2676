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
//! Reports do not delay other calls. They are rendered from a snapshot, and a server renders one at a time ([`RENDERING`]):
//! other calls need a free core, and a report on 10,000 nodes takes 600 MB of memory.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::About;
use super::ToolOutcome;
use crate::domain::{Caller, Code, Diagnostic};
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
    queue: "report of ",
    ..About::PLAIN
};

/// Held while a report is rendered.
static RENDERING: Mutex<()> = Mutex::new(());

/// The investigation to write.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportToolInput {
    /// From tot_start.
    session_id: String,
}

/// The result of a report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportBody {
    /// The path to the first page.
    index: String,
    /// The number of nodes on the site.
    total_nodes: usize,
    /// The number of commits on the site.
    total_commits: usize,
    /// The number of files on the site.
    total_files: usize,
}

pub(super) fn run(service: &Service, input: ReportToolInput, _: &Caller) -> ToolOutcome<ReportBody> {
    let id = service.look(&input.session_id)?.investigation.meta().id;
    let out = report::folder_in(service.site(), id).map_err(|error| report_error(&error))?;
    let writing = Writing::begin(&out, &()).map_err(|error| report_error(&error))?;
    let _turn = RENDERING.lock().unwrap_or_else(PoisonError::into_inner);
    let snapshot = service.look(&id.to_string())?;
    let mut shared = ReplyFields::seen(&snapshot);
    let reading = ReadOptions { project: service.project().cloned(), ..ReadOptions::default() };
    let (folders, store) = ([snapshot.path.clone()], Some(service.store()));
    let sources = Sources { folders: &folders, roots: &[], reading: &reading, store };
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
    Ok((shared, ReportBody { index, total_nodes, total_commits, total_files: published.files() }, ()))
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
    /// A named pipe in place of the lock file used to block the tool forever.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_lock_that_is_no_file_is_refused() {
        use std::fs;
        use std::sync::Arc;

        use serde_json::json;

        use super::*;
        use crate::base::world::World;

        let folder = crate::testing::folder();
        let service = Arc::new(Service::new(folder.path().join("root"), World::Machine, None));
        let started = super::super::all(&service)[0].call(json!({"query": "q"}), &Caller::default());
        let session_id = started.content["sessionId"].as_str().unwrap().to_owned();
        let site = service.site().join(&session_id);
        fs::create_dir_all(&site).unwrap();
        let lock = site.join(".tot-report.lock");
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        let report = || {
            let input = ReportToolInput { session_id: session_id.clone() };
            run(&service, input, &Caller::default()).err().expect("written")
        };
        let message = report().errors[0].message.agent().to_string();
        assert!(message.contains("was not written by this program"), "{message}");
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", &lock).unwrap();
        report();
    }
}
