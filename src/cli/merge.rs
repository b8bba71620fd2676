//! `tot merge --resolve`: what git could not merge by lines, by node.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::say_json;
use super::{Outcome, finish, say};
use crate::merge::Decision;
use crate::remote::GitProgram;
use crate::store::{Joined, Resolved};
use crate::text::one_line;
use crate::world::World;

/// Joins by node what git could not merge by lines.
///
/// `tot sync` merges by itself; this is for a merge made with git. One that is in progress is given up, and made anew by
/// node. Where conflict markers were committed, both sides are joined in a commit on top.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct MergeArguments {
    /// The investigation: an id, or the beginning or ending of one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Resolve the conflicts that a merge with git has left
    #[arg(long, required = true)]
    resolve: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  git pull; tot merge --resolve     in the folder of an investigation, after git has said CONFLICT
  tot merge --resolve 0196          after `tot check` has named conflict markers";

/// What was done.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    /// Absent where there was nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The files that had conflict markers in a commit.
    files: Vec<String>,
    decisions: Vec<Decision>,
}

pub(super) fn run(arguments: &MergeArguments) -> ExitCode {
    finish("tot merge", try_run(arguments))
}

fn try_run(arguments: &MergeArguments) -> Outcome {
    let place = arguments.common.place();
    let path = place.one(arguments.id.as_deref())?;
    let git = GitProgram::find(super::is_person())?;
    let mut document = Document::default();
    if let Some(theirs) = git.merge_head(&path)? {
        git.abort_merge(&path)?;
        match place.store.join(&path, theirs)? {
            Joined::Unchanged => {}
            Joined::FastForwarded { to, .. } => document.commit = Some(to.to_string()),
            Joined::Merged { commit, decisions } => {
                document = Document { commit: Some(commit.to_string()), decisions, ..document };
            }
        }
    }
    if let Some(Resolved { commit, files, decisions }) = place.store.resolve(&path, World::Machine.now()?)? {
        document.commit = Some(commit.to_string());
        document.files = files;
        document.decisions.extend(decisions);
    }
    if arguments.common.json {
        return say_json(&document);
    }
    let Some(commit) = &document.commit else {
        return say("Nothing is to be resolved.\n");
    };
    let mut text = format!("Joined in {commit:.10}\n");
    for decision in &document.decisions {
        text.push_str(&format!("  {}\n", one_line(&format!("{decision:#}"))));
    }
    say(&text)
}
