//! `tot_report`: the static site of an investigation, into the server's own folder for reports.
//!
//! Guarantees: a client can't choose the folder, and nothing is replaced there that this program did not write; of
//! several calls at once, in one process or several, one writes after the other, and each leaves a whole site. A lock
//! file in the folder sees to that; a process that dies lets go of it.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::Shared;
use super::answer;
use crate::domain::{Code, Diagnostic};
use crate::report::{self, Input as ReportInput, Options, Templates};
use crate::service::{Refusal, Service};

const ABOUT: About = About {
    name: "tot_report",
    title: "Write the report",
    description: "Writes an investigation, ended or not, as a static site for people: the answer, the graph, a page for \
                  each node, references, history. It goes to the server's folder for reports and replaces the site that \
                  an earlier call wrote. Returns `index`, the path of its first page, and how many `nodes`, `commits` \
                  and `files` it has. Codes: REPORT_ERROR, SESSION_NOT_FOUND.",
    read_only: false,
    idempotent: true,
};

/// The file that one writer at a time holds.
const LOCK: &str = ".tot-report.lock";

/// Of which investigation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
}

/// What was written.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The path of the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
    /// How many nodes it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<usize>,
    /// How many commits it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    commits: Option<usize>,
    /// How many files it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
}

impl From<Shared> for Output {
    fn from(shared: Shared) -> Self {
        Output { shared, ..Output::default() }
    }
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<Output, Refusal> {
    // What is written last is what was committed last: read with the lock held, not before.
    let folder = service.site();
    let id = match service.look(&input.session_id)? {
        Ok(standing) => standing.investigation().meta().id,
        Err(unjudged) => unjudged.snapshot.investigation.meta().id,
    };
    let lock = lock(folder)?;
    let seen = service.look(&id.to_string())?;
    let (shared, snapshot) = match seen {
        Ok(standing) => (Shared::done(&standing, None, &[]), standing.snapshot),
        Err(unjudged) => (Shared::unjudged(&unjudged), unjudged.snapshot),
    };
    let history = service.store().history(&snapshot)?;
    let (nodes, commits) = (snapshot.investigation.nodes().count(), history.len());
    let templates = Templates::load(&Options::default()).map_err(|error| failed(&error))?;
    let site = report::site(&[ReportInput { snapshot, history, rev: None }], &templates)
        .map_err(|error| failed(&error))?;
    let out = folder.join(id.to_string());
    report::write(&site, &out).map_err(|error| failed(&error))?;
    drop(lock);
    let index = out.join("index.html");
    let index = std::path::absolute(&index).unwrap_or(index).display().to_string();
    let mut output = Output::from(shared);
    output.shared.message = format!("The report is written: open {index} in a browser.");
    output.nodes = Some(nodes);
    output.commits = Some(commits);
    output.files = Some(site.len());
    output.index = Some(index);
    Ok(output)
}

/// Waits until no other call writes in the folder.
fn lock(folder: &Path) -> Result<File, Refusal> {
    let fault = |error: std::io::Error| {
        let message = format!("The folder for reports, {}, can't be used: {error}.", folder.display());
        Refusal::from(
            Diagnostic::new(Code::ReportError, message)
                .suggest("The operator of the server chooses the folder with --site."),
        )
    };
    if folder.join(".git").exists() {
        return Err(fault(std::io::Error::other("it is a git repository")));
    }
    fs::create_dir_all(folder).map_err(fault)?;
    let file = File::options().create(true).append(true).open(folder.join(LOCK)).map_err(fault)?;
    file.lock().map_err(fault)?;
    Ok(file)
}

fn failed(error: &dyn std::error::Error) -> Refusal {
    let suggestion =
        "The operator of the server chooses the folder with --site; tot-report writes to any other.";
    Diagnostic::new(Code::ReportError, crate::service::sentence(error)).suggest(suggestion).into()
}
