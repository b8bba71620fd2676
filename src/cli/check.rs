//! `tot check`: finds errors in investigations.

pub(super) mod signatures;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::place::{Common, EVERYWHERE, origin};
use super::print::say_fields;
use super::{CommandError, ExitResult, is_repository, misused, passed, say};
use crate::domain::{Code, Investigation, Lines, Node, NodeId, Pin};
use crate::format::layout;
use crate::service::check::{self, Finding, Objects, Severity};
use crate::service::project::{Drift, Project};
use crate::store::{Store, WorkTree};
use crate::text::{causes, counted, one_line, sentence};

/// Check the files and the history of investigations, or with --signatures the sign-offs. Exits with status 1 on errors.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CheckArguments {
    /// Folders of investigations (also bare clones), or folders that contain several; default: the current investigation, or all
    /// in the root
    #[arg(value_name = "FOLDER", conflicts_with = "signatures")]
    folders: Vec<PathBuf>,
    /// Also verify the hash of every object in the repository
    #[arg(long)]
    full: bool,
    /// Also report for each cited project file whether it is unchanged, moved, changed or gone
    #[arg(long)]
    references: bool,
    /// Project whose files are cited; default: the repository around the current folder
    #[arg(long, value_name = "DIR", requires = "references", help_heading = EVERYWHERE)]
    project: Option<PathBuf>,
    /// Exit with status 1 if a cited file is changed or gone; moved files are fine
    #[arg(long, requires = "references")]
    strict: bool,
    /// Also look for investigation commits that no branch reaches, for example after `git reset`
    #[arg(long)]
    lost: bool,
    /// Verify the sign-offs of one investigation instead: which are valid, whose they are, and what has changed since. Exits with
    /// status 0 if the current commit is approved
    #[arg(long, conflicts_with_all = ["full", "references", "project", "strict", "lost"])]
    signatures: bool,
    /// File of allowed SSH keys, one per line as `name@example.org ssh-ed25519 AAAA…` (see ALLOWED SIGNERS in ssh-keygen); default:
    /// gpg.ssh.allowedSignersFile in your git configuration. For OpenPGP and X.509, your keyring decides
    #[arg(long, value_name = "FILE", requires = "signatures", conflicts_with_all = ["folders", "full", "references", "lost"])]
    allowed_signers: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
States of a sign-off:
  valid      good signature on the current commit
  stale      good signature, but there are later commits
  unsigned   anyone could have made it
  unchecked  no key or program to check the signature with
  invalid    bad signature, a key that is not allowed, another commit, or a moved tag

Examples:
  tot check                       all investigations, or the current one
  tot check -i 0196 --full --lost one investigation, with every object and lost commits
  tot check --references --strict in the CI of the cited project
  tot check --signatures --allowed-signers team/allowed_signers
  tot check --signatures --json | jq '.signOffs[] | select(.state == \"valid\") | .signer'";

/// The findings in one folder.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReport {
    path: String,
    session_id: Option<String>,
    title: Option<String>,
    head: Option<String>,
    findings: Vec<Finding>,
    /// The states of the cited files, if requested.
    references: Option<Vec<CheckedReference>>,
}

/// The state of a cited project file, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckedReference {
    /// The node that cites the file; `null` for the report.
    node_id: Option<String>,
    /// The path of the cited file. The cited lines are in `lines`.
    path: String,
    lines: Option<Lines>,
    state: &'static str,
    /// The current location of the cited lines, if they moved: `path` and `lines`.
    now: Option<Value>,
    /// The line printed without `--json`.
    #[serde(skip)]
    shown: String,
    #[serde(skip)]
    is_lost: bool,
}

pub(super) fn run(arguments: &CheckArguments) -> ExitResult {
    if arguments.signatures {
        return signatures::run(arguments.allowed_signers.as_deref(), &arguments.common);
    }
    let project = match arguments.project.as_deref() {
        _ if !arguments.references => None,
        None if Project::here().is_none() => {
            return Err(misused("not inside a project: name one with --project"));
        }
        dir => Some(Project::around(dir.unwrap_or(Path::new("."))).map_err(|it| misused(causes(&it)))?),
    };
    let mut reports = Vec::new();
    for path in &arguments.common.place.paths(&arguments.folders)? {
        let folders = folders(path)?;
        if folders.is_empty() {
            let reason = "contains no investigation: give an investigation's folder, or a folder that contains several";
            return Err(format!("{} {reason}", path.display()).into());
        }
        let objects = Objects { damaged: arguments.full, lost: arguments.lost };
        reports.extend(folders.iter().map(|folder| inspect(folder, objects, project.as_ref())));
    }
    same_id_twice(&mut reports);
    let count = |severity: Severity| {
        let all = reports.iter().flat_map(|report| &report.findings);
        all.filter(|finding| finding.severity == severity).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let is_lost = reports.iter().flat_map(|report| &report.references).flatten().any(|it| it.is_lost);
    match arguments.common.json {
        true => {
            say_fields(&json!({"investigations": reports, "totalErrors": errors, "totalWarnings": warnings}))?
        }
        false => say(&lines(&reports, errors, warnings))?,
    }
    Ok(passed(errors == 0 && !(arguments.strict && is_lost)))
}

/// Returns the repositories in a folder, including unreadable ones, which must be reported.
fn folders(path: &Path) -> Result<Vec<PathBuf>, String> {
    if is_repository(path) {
        return Ok(vec![origin(path)]);
    }
    if !path.exists() {
        return Err(format!("{} does not exist", path.display()));
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_one =
        |folder: &PathBuf| !hidden(folder) && is_repository(folder) && !WorkTree::is_second(path, folder);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    folders.sort();
    Ok(folders)
}

fn inspect(folder: &Path, objects: Objects, project: Option<&Project>) -> CheckReport {
    let path = folder.display().to_string();
    let store = Store::new(folder);
    match check::read(&store, folder, objects) {
        Ok(subject) => {
            let investigation = &subject.snapshot.investigation;
            let meta = investigation.meta();
            CheckReport {
                session_id: Some(meta.id.to_string()),
                title: Some(meta.title.clone()),
                head: Some(subject.snapshot.head.to_string()),
                findings: check::check(&subject)
                    .into_iter()
                    .chain(project.into_iter().flat_map(|project| misquoted(investigation, project)))
                    .collect(),
                references: project.map(|project| references(&path, investigation, project)),
                path,
            }
        }
        Err(error) => {
            let finding = Finding::new(
                Severity::Error,
                Code::Unreadable,
                sentence(&CommandError::from(error).to_string()),
            );
            CheckReport { path, findings: vec![finding], ..CheckReport::default() }
        }
    }
}

/// Returns a finding for each quote that did not match the cited lines when they were cited.
fn misquoted(investigation: &Investigation, project: &Project) -> Vec<Finding> {
    let results = investigation
        .committed()
        .flat_map(|(node, _)| node.results().map(move |result| (&node.id, &result.references)));
    let cited: Vec<(&NodeId, &Pin, &str)> = results
        .flat_map(|(id, all)| {
            all.iter().filter_map(move |it| Some((id, it.pinned.as_ref()?, it.quote.as_deref()?)))
        })
        .collect();
    let wrong = project.misquoted(cited.iter().map(|(_, pin, quote)| (*pin, *quote)));
    let finding = |((id, ..), what): (&(&NodeId, &Pin, &str), Option<String>)| {
        let message = format!("{id} cites words that the file does not contain: {}.", what?);
        Some(Finding::new(Severity::Warning, Code::QuoteNotThere, message).at(layout::node(id), None))
    };
    cited.iter().zip(wrong).filter_map(finding).collect()
}

/// Returns the state of each cited project file, in node order.
fn references(folder: &str, investigation: &Investigation, project: &Project) -> Vec<CheckedReference> {
    let pins: Vec<(Option<&Node>, &Pin)> = investigation.pins().collect();
    let evidence = project.cited_in(investigation);
    let reference = |(node, pin): (Option<&Node>, &Pin)| {
        let who = node.map_or("the report", |node| node.id.as_str());
        // In the repository of another project, nothing is known.
        let drift = evidence.drift.get(pin).unwrap_or(&Drift::Unchecked);
        let now = match drift {
            Drift::Moved { path, lines } => Some(json!({"path": path, "lines": lines})),
            _ => None,
        };
        let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
        let to = drift.moved_to().map(|to| format!(" to {to}")).unwrap_or_default();
        let state = drift.as_str();
        let shown = if *drift == Drift::Unchecked { "not checked here" } else { state };
        CheckedReference {
            node_id: node.map(|node| node.id.to_string()),
            path: pin.path.clone(),
            lines: pin.lines,
            state,
            shown: one_line(&format!("{folder}: {who} {shown} {}{lines}{to}", pin.path)),
            now,
            is_lost: drift.is_lost(),
        }
    };
    pins.into_iter().map(reference).collect()
}

/// Reports duplicate ids: a server's root must contain each id only once.
fn same_id_twice(reports: &mut [CheckReport]) {
    for at in 1..reports.len() {
        let (before, rest) = reports.split_at_mut(at);
        let Some(this) = rest.first_mut().filter(|this| this.session_id.is_some()) else { continue };
        if let Some(other) =
            before.iter().find(|other| other.session_id == this.session_id && other.path != this.path)
        {
            let id = this.session_id.clone().unwrap_or_default();
            let message =
                format!("{id} is also in {}, so no server can tell which one is meant.", other.path);
            this.findings.push(Finding::new(Severity::Error, Code::DuplicateId, message));
        }
    }
}

/// Formats a finding as a line.
fn line(folder: &str, finding: &Finding) -> String {
    let separator = match (&finding.path, finding.commit) {
        (Some(_), _) => "/",
        (None, Some(_)) => "@",
        (None, None) => ": ",
    };
    one_line(&format!("{folder}{separator}{finding}")) + "\n"
}

fn lines(reports: &[CheckReport], errors: usize, warnings: usize) -> String {
    let mut text = String::new();
    for report in reports {
        text.extend(report.findings.iter().map(|finding| line(&report.path, finding)));
        let references = report.references.iter().flatten();
        text.extend(references.map(|reference| format!("{}\n", reference.shown)));
    }
    let references: Vec<&CheckedReference> =
        reports.iter().flat_map(|report| &report.references).flatten().collect();
    if reports.iter().any(|report| report.references.is_some()) {
        let count = |state: &str| references.iter().filter(|reference| reference.state == state).count();
        let mut states = ["unchanged", "moved", "changed", "gone"]
            .map(|state| format!("{} {state}", count(state)))
            .to_vec();
        states.extend(
            Some(count("unchecked")).filter(|number| *number > 0).map(|it| format!("{it} not checked here")),
        );
        text.push_str(&format!("{}: {}\n", counted(references.len(), "cited file"), states.join(", ")));
    }
    text.push_str(&format!(
        "{}: {}, {}\n",
        counted(reports.len(), "investigation"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    text
}
