//! `tot export`: writes an investigation as one file.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::place::{PlaceArguments, WithholdArgument};
use super::print::write_to;
use super::{CommandResult, say};
use crate::base::temporary::replace_file;
use crate::report::{ReadOptions, ReportInput, document, export};
use crate::service::project::Project;
use crate::service::remote::GitProgram;
use crate::service::sync::SyncError;
use crate::store::Store;
use crate::text::made_visible;

/// Export an investigation as one file, or to standard output. `tot import` reads bundles. Nodes listed in withheld.yaml are left
/// out, except from a bundle, which is the whole repository.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ExportArguments {
    /// Output format
    #[arg(long, short, value_name = "FORMAT")]
    format: ExportFormat,
    /// Output file; default, and -: standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    withhold: WithholdArgument,
    #[command(flatten)]
    place: PlaceArguments,
}

const EXAMPLES: &str = "\
Examples:
  tot export -i 0196 --format bundle -o sky.bundle   everything with its history, for tot import
  tot export --format mermaid                        for a README";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// All facts and everything derived from them, as in the report's investigation.json
    Json,
    /// One document for people
    Markdown,
    /// The tree for Graphviz
    Dot,
    /// The tree as an image
    Svg,
    /// The tree for READMEs
    Mermaid,
    /// A git bundle: the branch with its whole history, and the tags
    Bundle,
}

pub(super) fn run(arguments: &ExportArguments) -> CommandResult {
    let output = arguments.output.as_deref().filter(|file| *file != Path::new("-"));
    if arguments.format == ExportFormat::Bundle && output.is_none() && io::stdout().is_terminal() {
        return Err("a bundle is not text for a terminal: name a file with -o, or redirect it with >".into());
    }
    let place = arguments.place.place()?;
    let folder = place.folder()?;
    let bytes = match arguments.format {
        ExportFormat::Bundle => bundle(&folder)?,
        format => {
            let ignore_uncommitted = arguments.withhold.ignore_uncommitted;
            let reading =
                ReadOptions { project: Project::here(), ignore_uncommitted, ..ReadOptions::default() };
            let (input, _) = reading.read(&place.store, &folder)?;
            let attached = input.snapshot.investigation.attachment_count();
            if format == ExportFormat::Json && input.attachments.len() < attached {
                let reason = "too many attachments for one JSON file, which would lose some: export a bundle";
                return Err(reason.into());
            }
            text(&input, format)?
        }
    };
    put(output, bytes)
}

/// Writes a file, or without one to standard output.
pub(super) fn put(output: Option<&Path>, bytes: Vec<u8>) -> CommandResult {
    match output {
        Some(file) => replace_file(file, &bytes)
            .map_err(|source| format!("cannot write {}: {source}", file.display()).into()),
        // Text written by others must not control the terminal. It is written to files unchanged.
        None if io::stdout().is_terminal() => say(&made_visible(&String::from_utf8(bytes)?)),
        None => write_to(io::stdout().lock(), &bytes),
    }
}

fn bundle(folder: &Path) -> Result<Vec<u8>, SyncError> {
    let git = GitProgram::find(false)?;
    let Some(branch) = git.references(folder)?.branch else {
        Store::new(folder).open(folder)?.refuse_in_progress()?;
        return Err(SyncError::NoRemote { path: folder.to_owned(), branch: "HEAD".to_owned() });
    };
    Ok(git.bundle(folder, &branch)?)
}

fn text(input: &ReportInput, format: ExportFormat) -> CommandResult<Vec<u8>> {
    Ok(match format {
        ExportFormat::Json => export::data(input)?,
        ExportFormat::Markdown => document::document(&input.snapshot).into_bytes(),
        ExportFormat::Dot => export::dot(input).into_bytes(),
        ExportFormat::Svg => export::svg(input).into_bytes(),
        ExportFormat::Mermaid => export::mermaid(input).into_bytes(),
        ExportFormat::Bundle => Vec::new(),
    })
}
