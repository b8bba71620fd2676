//! `tot import`: imports investigations from files.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::place::{Common, Location};
use super::print::{say_json, tell};
use super::{ExitResult, Progress, chain, passed, say};
use crate::service::import::{self, ImportError};
use crate::service::remote::GitProgram;
use crate::service::sync::SyncError;
use crate::service::sync::import::{Imported, Unbundled, bundle, facts};
use crate::text::{counted, one_line};

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
#[derive(Default, Serialize)]
struct ImportEntry {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<ImportSummary>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct ImportSummary {
    path: String,
    id: String,
    title: String,
    head: String,
    nodes: usize,
    commits: usize,
    /// Whether the folder already existed.
    present: bool,
    findings: Vec<String>,
}

/// An error from importing a file.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("cannot be read")]
    Unreadable(#[source] std::io::Error),
    #[error("has more than {MOST} bytes")]
    TooLarge,
    #[error("is neither a git bundle nor UTF-8 text")]
    NotText,
    #[error("a bundle keeps its ids: --as-new is only for JSON files")]
    BundleAsNew,
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Sync(#[from] SyncError),
}

impl FileError {
    fn code(&self) -> &'static str {
        match self {
            FileError::Unreadable(_) | FileError::TooLarge => "UNREADABLE",
            FileError::NotText | FileError::Import(_) => "NOT_IMPORTED",
            FileError::BundleAsNew => "INVALID_ARGUMENT",
            FileError::Sync(error) => error.code(),
        }
    }

    fn entry(&self, file: &Path, branch: Option<String>) -> ImportEntry {
        // A sync error formats its own causes.
        let said = if let FileError::Sync(error) = self { chain(error) } else { chain(self) };
        let error = Some(one_line(&said));
        ImportEntry {
            file: file.display().to_string(),
            branch,
            error,
            code: Some(self.code()),
            ..ImportEntry::default()
        }
    }
}

pub(super) fn run(arguments: &ImportArguments) -> ExitResult {
    let place = arguments.common.place();
    let progress = Progress::new();
    let mut files = Vec::new();
    for file in &arguments.files {
        progress.show(&format!("importing {}", file.display()));
        files.extend(
            import_file(arguments, &place, file).unwrap_or_else(|error| vec![error.entry(file, None)]),
        );
    }
    progress.clear();
    let failed = files.iter().filter(|entry| entry.error.is_some()).count();
    if arguments.common.json {
        say_json(&json!({"dryRun": arguments.dry_run, "files": files, "failed": failed}))?;
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
    let mut file = File::open(path).map_err(FileError::Unreadable)?;
    let mut bytes = Vec::new();
    file.by_ref().take(BUNDLE.len() as u64).read_to_end(&mut bytes).map_err(FileError::Unreadable)?;
    let name = path.display().to_string();
    if bytes == BUNDLE {
        if arguments.as_new {
            return Err(FileError::BundleAsNew);
        }
        let git = GitProgram::find(false).map_err(SyncError::from)?;
        let imported = bundle(&place.store, &git, path, arguments.dry_run)?;
        return Ok(imported
            .into_iter()
            .map(|Unbundled { branch, outcome }| match outcome {
                Ok(imported) => entry(&name, Some(branch), imported, Vec::new()),
                Err(error) => FileError::from(error).entry(path, Some(branch)),
            })
            .collect());
    }
    file.take(MOST).read_to_end(&mut bytes).map_err(FileError::Unreadable)?;
    if bytes.len() as u64 > MOST {
        return Err(FileError::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText)?;
    let options = import::ImportOptions { as_new: arguments.as_new, ruleset: arguments.ruleset.as_deref() };
    let read = import::read(text.trim_start_matches('\u{feff}'), options)?;
    let imported = facts(&place.store, &read, arguments.dry_run)?;
    Ok(vec![entry(&name, None, imported, read.notes)])
}

fn entry(file: &str, branch: Option<String>, imported: Imported, notes: Vec<String>) -> ImportEntry {
    let summary = ImportSummary {
        path: imported.path.display().to_string(),
        id: imported.id.to_string(),
        title: imported.title,
        head: imported.head.to_string(),
        nodes: imported.nodes,
        commits: imported.commits,
        present: imported.is_present,
        findings: imported.findings.iter().map(ToString::to_string).collect(),
    };
    ImportEntry { file: file.to_owned(), branch, imported: Some(summary), notes, ..ImportEntry::default() }
}

fn print(entry: &ImportEntry, dry_run: bool) -> super::CommandResult {
    let branch = entry.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let file = one_line(&format!("{}{branch}", entry.file));
    if let Some(error) = &entry.error {
        tell(&format!("tot import: {file}: {error}"));
    }
    let Some(imported) = &entry.imported else { return Ok(()) };
    let is = match (imported.present, dry_run) {
        (true, _) => "was already in",
        (false, true) => "would be imported into",
        (false, false) => "imported into",
    };
    let what = format!("{}, {}", counted(imported.nodes, "node"), counted(imported.commits, "commit"));
    let mut lines = vec![format!("{file} {is} {}: {what}, at {:.10}", imported.path, imported.head)];
    lines.push(format!("  {}", imported.title));
    lines.extend(entry.notes.iter().map(|note| format!("  {note}")));
    lines.extend(imported.findings.iter().take(FINDINGS).map(|finding| format!("  {finding}")));
    if imported.findings.len() > FINDINGS {
        let rest = counted(imported.findings.len() - FINDINGS, "more finding");
        lines.push(format!("  and {rest}: see `tot check {}`", imported.path));
    }
    let shown = |line: &String| {
        let rest = line.trim_start();
        format!("{}{}\n", &line[..line.len() - rest.len()], one_line(rest))
    };
    say(&lines.iter().map(shown).collect::<String>())
}
