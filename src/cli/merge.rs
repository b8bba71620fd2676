//! `tot merge --resolve`: resolves git's merge conflicts node by node.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::say_fields;
use super::{CommandError, CommandResult, say};
use crate::base::world::World;
use crate::merge::MergeDecision;
use crate::service::remote::GitProgram;
use crate::service::sync::{self, SyncError};
use crate::store::{BY_HAND, CommitId, Joined, Resolved, Store, StoreErrorKind};
use crate::text::one_line;

/// Resolve git's merge conflicts node by node.
///
/// `tot sync` merges automatically; this command is for a merge made with git. A merge in progress is aborted and repeated node
/// by node. If conflict markers were committed, both sides are merged in a new commit.
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
  git pull; tot merge --resolve     in an investigation's folder, after git reported CONFLICT
  tot merge --resolve -i 0196       after `tot check` reported conflict markers";

/// The JSON output of `tot merge`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MergeDocument {
    /// The merge commit. Absent if there was nothing to do.
    commit: Option<String>,
    /// The files whose committed version had conflict markers.
    files: Vec<String>,
    decisions: Vec<MergeDecision>,
    /// The branch that keeps the work tree as it was during the aborted merge.
    kept: Option<String>,
}

pub(super) fn run(arguments: &MergeArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let git = GitProgram::find(super::is_person())?;
    let mut document = MergeDocument::default();
    // Checked first: if the merge is impossible, the user's work tree stays unchanged.
    let stopped = place.store.stopped_merge(&path).map_err(|error| match error.kind {
        StoreErrorKind::Conflicts(_) => {
            format!("{error}. The merge in progress stays as it is. {BY_HAND}").into()
        }
        _ => CommandError::from(error),
    })?;
    if !stopped.is_empty() {
        let message = "Save a manual merge that tot merge --resolve redoes";
        let work = git.commit_work(&path, &stopped, message)?;
        let kept = sync::keep(&git, &World::Machine, &path, work)?;
        merge_by_node(&place.store, &git, &path, &stopped, &mut document)
            .map_err(|error| format!("{error}. {}", saved_in(&kept)))?;
        document.kept = Some(kept);
    }
    if let Some(Resolved { commit, files, decisions }) = place.store.resolve(&path, World::Machine.now()?)? {
        document.commit = Some(commit.to_string());
        document.files = files;
        document.decisions.extend(decisions);
    }
    if arguments.common.json {
        return say_fields(&document);
    }
    let mut text = match &document.commit {
        Some(commit) => format!("Merged in {commit:.10}\n"),
        None => "Nothing to resolve.\n".to_owned(),
    };
    for decision in &document.decisions {
        text.push_str(&format!("  {}\n", one_line(&format!("{decision:#}"))));
    }
    if let Some(kept) = &document.kept {
        text.push_str(&format!("{}\n", saved_in(kept)));
    }
    say(&text)
}

/// Aborts the merge in progress and merges node by node.
fn merge_by_node(
    store: &Store,
    git: &GitProgram,
    path: &Path,
    stopped: &[CommitId],
    document: &mut MergeDocument,
) -> Result<(), SyncError> {
    git.abort_merge(path)?;
    for theirs in stopped {
        match store.join(path, *theirs)? {
            Joined::Unchanged => {}
            Joined::FastForwarded { to, .. } => document.commit = Some(to.to_string()),
            Joined::Merged { commit, decisions } => {
                document.commit = Some(commit.to_string());
                document.decisions.extend(decisions);
            }
        }
    }
    Ok(())
}

fn saved_in(branch: &str) -> String {
    format!("The manual merge is saved on branch {branch}")
}
