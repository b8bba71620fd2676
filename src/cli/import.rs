//! `tot import`: imports investigations from files.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::place::{Common, Location};
use super::print::{say_fields, tell};
use super::{ExitResult, Progress, chain, passed, say};
use crate::service::import::{self, ImportError};
use crate::service::remote::GitProgram;
use crate::service::sync::SyncError;
use crate::service::sync::import::{Imported, Unbundled, bundle, facts};
use crate::text::{causes, counted, one_line};

/// The size limit for JSON files, larger than any readable investigation.
const MOST: u64 = 1 << 30;
/// The maximum number of findings printed for one investigation.
const FINDINGS: usize = 20;
/// The first bytes of every bundle.
const BUNDLE: &[u8] = b"# v";

/// Import investigations from files into the root: git bundles, investigation.json, and the JSON files from the earlier
/// TypeScript server. Parts that violate the rules are kept and reported.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ImportArguments {
    /// Files to import
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only report what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Import JSON files under new ids, derived from their content
    #[arg(long)]
    as_new: bool,
    /// Built-in ruleset for files from the TypeScript server, which do not name one; default: the one with the fewest
    /// violations
    #[arg(long, value_name = "NAME")]
    ruleset: Option<String>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot import sky.bundle                     with its full history, from git bundle or tot export
  tot import site/investigation.json        the data from a report
  tot import --dry-run investigations/*.json  files from the TypeScript server, without importing them";

/// The result for a file, or for one investigation in it.
struct ImportEntry {
    file: String,
    branch: Option<String>,
    /// The imported investigation with notes on it, or the error.
    outcome: Result<(Imported, Vec<String>), FileError>,
}

/// An error from importing a file: its code and its message.
struct FileError {
    code: &'static str,
    message: String,
}

impl FileError {
    fn new(code: &'static str, message: impl Into<String>) -> FileError {
        FileError { code, message: message.into() }
    }
}

impl From<ImportError> for FileError {
    fn from(error: ImportError) -> FileError {
        FileError::new("NOT_IMPORTED", causes(&error))
    }
}

impl From<SyncError> for FileError {
    fn from(error: SyncError) -> FileError {
        FileError::new(error.code(), chain(&error))
    }
}

pub(super) fn run(arguments: &ImportArguments) -> ExitResult {
    let place = arguments.common.place();
    let progress = Progress::new();
    let mut files = Vec::new();
    for file in &arguments.files {
        progress.show(&format!("importing {}", file.display()));
        let name = file.display().to_string();
        files.extend(
            import_file(arguments, &place, file)
                .unwrap_or_else(|error| vec![ImportEntry { file: name, branch: None, outcome: Err(error) }]),
        );
    }
    progress.clear();
    let failed = files.iter().filter(|entry| entry.outcome.is_err()).count();
    if arguments.common.json {
        let files: Vec<Value> = files.iter().map(entry).collect();
        say_fields(&json!({"dryRun": arguments.dry_run, "files": files, "failed": failed}))?;
    } else {
        files.iter().try_for_each(|entry| print(entry, arguments.dry_run))?;
    }
    Ok(passed(failed == 0))
}

fn import_file(
    arguments: &ImportArguments,
    place: &Location,
    path: &Path,
) -> Result<Vec<ImportEntry>, FileError> {
    let unreadable = |error| FileError::new("UNREADABLE", format!("cannot be read: {error}"));
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.by_ref().take(BUNDLE.len() as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    let name = path.display().to_string();
    if bytes == BUNDLE {
        if arguments.as_new {
            let message = "a bundle keeps its ids: --as-new is only for JSON files";
            return Err(FileError::new("INVALID_ARGUMENT", message));
        }
        let git = GitProgram::find(false).map_err(SyncError::from)?;
        let imported = bundle(&place.store, &git, path, arguments.dry_run)?;
        return Ok(imported
            .into_iter()
            .map(|Unbundled { branch, outcome }| ImportEntry {
                file: name.clone(),
                branch: Some(branch),
                outcome: outcome.map(|imported| (imported, Vec::new())).map_err(FileError::from),
            })
            .collect());
    }
    file.take(MOST).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST {
        return Err(FileError::new("UNREADABLE", format!("has more than {MOST} bytes")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| FileError::new("NOT_IMPORTED", "is neither a git bundle nor UTF-8 text"))?;
    let options = import::ImportOptions { as_new: arguments.as_new, ruleset: arguments.ruleset.as_deref() };
    let read = import::read(text.trim_start_matches('\u{feff}'), options)?;
    let imported = facts(&place.store, &read, arguments.dry_run)?;
    Ok(vec![ImportEntry { file: name, branch: None, outcome: Ok((imported, read.notes)) }])
}

/// Returns the result as JSON.
fn entry(ImportEntry { file, branch, outcome }: &ImportEntry) -> Value {
    let (done, error) = (outcome.as_ref().ok(), outcome.as_ref().err());
    let summary = |it: &Imported| {
        json!({
            "path": it.path.display().to_string(),
            "id": it.id.to_string(),
            "title": it.title,
            "head": it.head.to_string(),
            "nodes": it.nodes,
            "commits": it.commits,
            "present": it.is_present,
            "findings": it.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": file,
        "branch": branch,
        "imported": done.map(|(imported, _)| summary(imported)),
        "notes": done.map_or(&[][..], |(_, notes)| notes),
        "error": error.map(|error| one_line(&error.message)),
        "code": error.map(|error| error.code),
    })
}

fn print(entry: &ImportEntry, dry_run: bool) -> super::CommandResult {
    let branch = entry.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let file = one_line(&format!("{}{branch}", entry.file));
    let (imported, notes) = match &entry.outcome {
        Ok(done) => done,
        Err(error) => {
            tell(&format!("tot import: {file}: {}", one_line(&error.message)));
            return Ok(());
        }
    };
    let is = match (imported.is_present, dry_run) {
        (true, _) => "was already in",
        (false, true) => "would be imported into",
        (false, false) => "imported into",
    };
    let what = format!("{}, {}", counted(imported.nodes, "node"), counted(imported.commits, "commit"));
    let (path, head) = (imported.path.display(), imported.head.to_string());
    let mut lines = vec![format!("{file} {is} {path}: {what}, at {head:.10}")];
    lines.push(format!("  {}", imported.title));
    lines.extend(notes.iter().map(|note| format!("  {note}")));
    lines.extend(imported.findings.iter().take(FINDINGS).map(|finding| format!("  {finding}")));
    if imported.findings.len() > FINDINGS {
        let rest = counted(imported.findings.len() - FINDINGS, "more finding");
        lines.push(format!("  and {rest}: see `tot check {path}`"));
    }
    let shown = |line: &String| {
        let rest = line.trim_start();
        format!("{}{}\n", &line[..line.len() - rest.len()], one_line(rest))
    };
    say(&lines.iter().map(shown).collect::<String>())
}
