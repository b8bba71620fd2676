//! `tot check`: what is wrong with investigations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{chain, is_repository, say};
use crate::check::{self, Finding, Objects, Severity};
use crate::domain::Code;
use crate::store::Store;
use crate::text::{counted, one_line, sentence};

/// The exit status of wrong arguments, as clap's.
const USAGE: u8 = 2;

/// Investigations to be checked.
#[derive(Args)]
pub(super) struct CheckArguments {
    /// Folders of investigations (bare clones too), or a folder that holds several
    #[arg(value_name = "INVESTIGATION", default_value = "investigations")]
    investigations: Vec<PathBuf>,
    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
    /// Verify the hash of every object in the repository, too
    #[arg(long)]
    full: bool,
    /// Look for commits of calls that no branch leads to, too: what `git reset` and its like have taken away
    #[arg(long)]
    lost: bool,
}

/// What was found in one folder.
#[derive(Serialize)]
struct Report {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    findings: Vec<Entry>,
}

/// One finding, as JSON.
#[derive(Serialize)]
struct Entry {
    severity: String,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    /// The line for people.
    #[serde(skip)]
    shown: String,
}

/// All that was found, as JSON.
#[derive(Serialize)]
struct Document<'a> {
    investigations: &'a [Report],
    errors: usize,
    warnings: usize,
}

/// Checks and prints. The status is 0 without an error, 1 with one, 2 where there is nothing to check.
pub(super) fn run(arguments: &CheckArguments) -> ExitCode {
    let mut reports = Vec::new();
    for path in &arguments.investigations {
        let folders = folders(path);
        if folders.is_empty() {
            let reason = if path.exists() { "holds no investigation" } else { "does not exist" };
            eprintln!(
                "tot check: {} {reason}: give the folder of one, or a folder of several",
                path.display()
            );
            return ExitCode::from(USAGE);
        }
        let objects = Objects { damaged: arguments.full, lost: arguments.lost };
        reports.extend(folders.iter().map(|folder| inspect(folder, objects)));
    }
    same_id_twice(&mut reports);
    let count = |severity: Severity| {
        let is = severity.to_string();
        reports.iter().flat_map(|report| &report.findings).filter(|entry| entry.severity == is).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let text = if arguments.json {
        let document = Document { investigations: &reports, errors, warnings };
        serde_json::to_string_pretty(&document).map(|text| text + "\n")
    } else {
        Ok(lines(&reports, errors, warnings))
    };
    let said = match text {
        Ok(text) => say(&text),
        Err(error) => Err(error.into()),
    };
    match said {
        Err(error) => super::finish("tot check", Err(error)),
        Ok(()) if errors > 0 => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// The repositories that a path means, whatever they hold: one that can't be read is to be named, not passed over.
fn folders(path: &Path) -> Vec<PathBuf> {
    if is_repository(path) {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| !hidden(path) && is_repository(path)).collect();
    folders.sort();
    folders
}

fn inspect(folder: &Path, objects: Objects) -> Report {
    let path = folder.display().to_string();
    let store = Store::new(folder);
    match check::read(&store, folder, objects) {
        Ok(subject) => {
            let meta = subject.snapshot.investigation.meta();
            Report {
                id: Some(meta.id.to_string()),
                title: Some(meta.title.clone()),
                head: Some(subject.snapshot.head.to_string()),
                findings: check::check(&subject).into_iter().map(|finding| entry(&path, finding)).collect(),
                path,
            }
        }
        Err(error) => {
            let entry = fault(&path, Code::Unreadable, sentence(&chain(&error)));
            Report { path, id: None, title: None, head: None, findings: vec![entry] }
        }
    }
}

/// A server's root must hold each id once.
fn same_id_twice(reports: &mut [Report]) {
    for at in 1..reports.len() {
        let (before, rest) = reports.split_at_mut(at);
        let Some(this) = rest.first_mut().filter(|this| this.id.is_some()) else { continue };
        if let Some(other) = before.iter().find(|other| other.id == this.id && other.path != this.path) {
            let id = this.id.clone().unwrap_or_default();
            let message =
                format!("{id} stands in {} too, so that no server can tell which is meant.", other.path);
            this.findings.push(fault(&this.path, Code::DuplicateId, message));
        }
    }
}

fn fault(path: &str, code: Code, message: String) -> Entry {
    Entry {
        severity: Severity::Error.to_string(),
        code: code.to_string(),
        path: None,
        line: None,
        commit: None,
        shown: one_line(&format!("{path}: error {code} {message}")),
        message,
        suggestion: None,
    }
}

fn entry(folder: &str, finding: Finding) -> Entry {
    let separator = if finding.path.is_some() { "/" } else { "@" };
    Entry {
        severity: finding.severity.to_string(),
        shown: one_line(&format!("{folder}{separator}{finding}")),
        code: finding.code.to_string(),
        path: finding.path,
        line: finding.line,
        commit: finding.commit.map(|commit| commit.to_string()),
        message: finding.message,
        suggestion: finding.suggestion,
    }
}

fn lines(reports: &[Report], errors: usize, warnings: usize) -> String {
    let mut text = String::new();
    for entry in reports.iter().flat_map(|report| &report.findings) {
        text.push_str(&entry.shown);
        text.push('\n');
    }
    text.push_str(&format!(
        "{}: {}, {}\n",
        counted(reports.len(), "investigation"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    text
}
