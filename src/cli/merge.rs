//! `tot merge --resolve`: resolves git's merge conflicts node by node. `tot merge-file`: git's merge driver, which prevents most of
//! them.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::say_fields;
use super::{CommandResult, say};
use crate::base::world::World;
use crate::merge::{self, MergeDecision};
use crate::service::remote::GitProgram;
use crate::service::sync;
use crate::store::Fault;
use crate::store::git::FILE_MAX;
use crate::text::one_line;

/// Resolve git's merge conflicts node by node.
///
/// `tot sync` merges automatically; this command is for a merge, rebase or cherry-pick made with git that has stopped at a
/// conflict. It resolves the conflicts and finishes what git began. What you have resolved and added stays as it is.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct MergeArguments {
    /// Resolve the conflicts left by git
    #[arg(long, required = true)]
    resolve: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  git pull; tot merge --resolve                 in an investigation's folder, after git reported CONFLICT
  git cherry-pick topic; tot merge --resolve    the same";

/// Merge a node or conclusion for git, which calls this as the merge driver `tot`.
#[derive(Args)]
#[command(after_long_help = FILE_EXAMPLES)]
pub(super) struct MergeFileArguments {
    /// File with the version of the common ancestor; empty if there is none
    base: PathBuf,
    /// File with our version; the result is written to it
    ours: PathBuf,
    /// File with their version
    theirs: PathBuf,
    /// Path of the file in the repository
    path: String,
}

const FILE_EXAMPLES: &str = "\
Examples:
  tot merge-file base.yaml ours.yaml theirs.yaml nodes/R2/R2.A1-k3f9q2.yaml";

/// The JSON output of `tot merge`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MergeDocument {
    /// The commit at HEAD afterwards. Absent if there was nothing to do.
    commit: Option<String>,
    /// The files that were in conflict.
    files: Vec<String>,
    decisions: Vec<MergeDecision>,
    /// The branch that keeps the work tree as it was before.
    kept: Option<String>,
}

pub(super) fn run(arguments: &MergeArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let git = GitProgram::find(super::is_person())?;
    let mut document = MergeDocument::default();
    let mut said = None;
    for round in 0.. {
        let found = place.store.resolve(&path)?;
        if !found.files.is_empty() {
            if document.kept.is_none() {
                let message = "Save the conflicts that tot merge --resolve resolves";
                let work = git.commit_work(&path, &found.heads, message)?;
                document.kept = Some(sync::keep(&git, &World::Machine, &path, work)?);
            }
            git.stage(&path, &found.files)?;
        }
        // A rebase may stop at each of its commits, or where the user asked for it.
        let command = found.in_progress.filter(|_| round == 0 || !found.files.is_empty());
        document.files.extend(found.files.into_iter().map(|(file, _)| file));
        document.decisions.extend(found.decisions);
        let Some(command) = command else { break };
        said = git.go_on(&path, command)?;
        document.commit = place.store.head(&path)?.map(|head| head.to_string());
    }
    if let Some(said) = said {
        return Err(said.into());
    }
    if arguments.common.json {
        return say_fields(&document);
    }
    let mut text = match &document.commit {
        Some(commit) => format!("Merged in {commit:.10}\n"),
        None if document.files.is_empty() => {
            let faults = place.store.load(&path)?.faults;
            let conflicts = faults.iter().filter(|fault| fault.reason == Fault::CONFLICT);
            let lines = conflicts.map(|fault| one_line(&format!("{}: {}", fault.path, fault.reason)) + "\n");
            "Nothing to resolve.\n".to_owned() + &lines.collect::<String>()
        }
        None => format!("Resolved {}\n", document.files.join(", ")),
    };
    for decision in &document.decisions {
        text.push_str(&format!("  {}\n", one_line(&format!("{decision:#}"))));
    }
    if let Some(kept) = &document.kept {
        text.push_str(&format!("The conflicts are saved on branch {kept}\n"));
    }
    say(&text)
}

/// Merges a file for git. If this fails, git merges it by line: the driver says so.
pub(super) fn run_file(arguments: &MergeFileArguments) -> CommandResult {
    let MergeFileArguments { base, ours, theirs, path } = arguments;
    let failed = |action: &str, file: &PathBuf, error| format!("cannot {action} {}: {error}", file.display());
    let read = |file: &PathBuf| match fs::metadata(file) {
        Ok(about) if about.len() > FILE_MAX => Err(format!("{path} is too large to be merged by node")),
        _ => fs::read(file).map_err(|error| failed("read", file, error)),
    };
    let versions = [read(base)?, read(ours)?, read(theirs)?];
    let merged = merge::merge_file(path, versions)
        .map_err(|conflicts| conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    // In one step, so that our version is still complete if this fails.
    let aside = ours.with_extension("tot-merged");
    let written = fs::write(&aside, merged).and_then(|()| fs::rename(&aside, ours));
    Ok(written.map_err(|error| {
        let _ = fs::remove_file(&aside);
        failed("write", ours, error)
    })?)
}
