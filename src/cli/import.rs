//! `tot import`: imports investigations from git bundles.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::place::{Common, Location};
use super::print::{say, say_fields, tell};
use super::{CommandError, ExitResult, Progress, passed};
use crate::service::remote::GitProgram;
use crate::service::sync::SyncError;
use crate::service::sync::import::{Imported, Unbundled, bundle};
use crate::text::{counted, one_line};

/// The maximum number of findings printed for one investigation.
const FINDINGS: usize = 20;
/// The first bytes of every bundle.
const BUNDLE: &[u8] = b"# v";

/// Import investigations from git bundles into the root. Parts that violate the rules are kept and reported.
#[derive(Args)]
#[command(after_long_help = EXAMPLES, mut_arg("investigation", |it| it.hide(true)))]
pub(super) struct ImportArguments {
    /// Bundles to import
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only report what would be imported
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot import sky.bundle                 with its full history, from git bundle or tot export
  tot import --dry-run team.bundle      only says what is in it";

/// The result for a file, or for one investigation in it.
struct ImportEntry {
    file: String,
    branch: Option<String>,
    outcome: Result<Imported, FileError>,
}

/// An error from importing a file: its code and its message.
type FileError = (&'static str, String);

fn failure(error: SyncError) -> FileError {
    (error.code(), CommandError::from(error).to_string())
}

pub(super) fn run(arguments: &ImportArguments) -> ExitResult {
    let place = arguments.common.place()?;
    let progress = Progress::new();
    let mut files = Vec::new();
    for file in &arguments.files {
        progress.show(&format!("importing {}", file.display()));
        let entry = |branch, outcome| ImportEntry { file: file.display().to_string(), branch, outcome };
        match import_file(&place, file, arguments.dry_run) {
            Ok(imported) => files
                .extend(imported.into_iter().map(|it| entry(Some(it.branch), it.outcome.map_err(failure)))),
            Err(error) => files.push(entry(None, Err(error))),
        }
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

fn import_file(place: &Location, path: &Path, dry_run: bool) -> Result<Vec<Unbundled>, FileError> {
    if path == Path::new("-") {
        return Err(("UNREADABLE", "standard input can't be imported: give a file".to_owned()));
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BUNDLE.len() as u64).read_to_end(&mut start))
        .map_err(|error| ("UNREADABLE", format!("cannot be read: {error}")))?;
    if start != BUNDLE {
        let message = "is not a git bundle. Other files cannot be imported: make a bundle with `tot export --format \
                       bundle`, or clone the repository with `tot clone`";
        return Err(("NOT_IMPORTED", message.to_owned()));
    }
    let git = GitProgram::find(false).map_err(|error| failure(error.into()))?;
    bundle(&place.store, &git, path, dry_run).map_err(failure)
}

/// Returns the result as JSON.
fn entry(ImportEntry { file, branch, outcome }: &ImportEntry) -> Value {
    let error = outcome.as_ref().err();
    let summary = |it: &Imported| {
        json!({
            "path": it.path.display().to_string(),
            "sessionId": it.id.to_string(),
            "title": it.title,
            "head": it.head.to_string(),
            "totalNodes": it.nodes,
            "totalCommits": it.commits,
            "present": it.is_present,
            "findings": it.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": file,
        "branch": branch,
        "imported": outcome.as_ref().ok().map(summary),
        "error": error.map(|(_, message)| one_line(message)),
        "code": error.map(|(code, _)| code),
    })
}

fn print(entry: &ImportEntry, dry_run: bool) -> super::CommandResult {
    let branch = entry.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let file = one_line(&format!("{}{branch}", entry.file));
    let imported = match &entry.outcome {
        Ok(imported) => imported,
        Err((_, message)) => {
            tell(&format!("tot import: {file}: {}", one_line(message)));
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
