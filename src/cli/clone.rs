//! `tot clone`: clones investigations from a remote.

use clap::Args;
use serde_json::{Value, json};

use super::place::Common;
use super::print::{say_fields, tell};
use super::sync::shown;
use super::{ExitResult, Progress, passed, remote_address, say};
use crate::service::remote::GitProgram;
use crate::service::sync::clone::{Cloned, ClonedFolder, clone};
use crate::service::sync::{self, SyncError};
use crate::text::one_line;

/// Clone investigations from a remote into the root. The remote contains one investigation, or several, each on its own
/// branch.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CloneArguments {
    /// Address of the repository, as for git clone
    #[arg(value_parser = remote_address)]
    url: String,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot clone git@example.org:team/research.git          all investigations of a team
  tot clone git@example.org:team/research.git -i 0196  one of them
  tot clone https://example.org/me/sky.git             a repository with a single investigation";

pub(super) fn run(arguments: &CloneArguments) -> ExitResult {
    let place = arguments.common.place()?;
    let git = GitProgram::find(super::is_person())?;
    let progress = Progress::new();
    let show = |what: &str| progress.show(what);
    let cloned = clone(&place.store, &git, &arguments.url, &place.ids, &show);
    progress.clear();
    let cloned = cloned.map_err(|error| shown(&error))?;
    let failed = cloned.iter().filter(|cloned| cloned.outcome.is_err()).count();
    if arguments.common.json {
        let investigations: Vec<Value> = cloned.iter().map(entry).collect();
        say_fields(&json!({"investigations": investigations, "failed": failed}))?;
        return Ok(passed(failed == 0));
    }
    for Cloned { branch, outcome } in &cloned {
        match outcome {
            Ok(ClonedFolder { path, is_new: true, .. }) => {
                say(&one_line(&format!("cloned {branch} into {}", path.display())))?;
            }
            Ok(ClonedFolder { path, .. }) => {
                say(&one_line(&format!(
                    "{branch} was already in {}: `tot sync` updates it",
                    path.display()
                )))?;
            }
            Err(error) => {
                tell(&format!("tot clone: {}: {}", one_line(branch), shown(error)));
                continue;
            }
        }
        say("\n")?;
        for left_out in outcome.iter().flat_map(|folder| &folder.left_out) {
            say(&format!("  {}\n", one_line(&sync::note(left_out))))?;
        }
    }
    Ok(passed(failed == 0))
}

/// Returns the outcome for an investigation, as JSON.
fn entry(cloned: &Cloned) -> Value {
    let (folder, error) = (cloned.outcome.as_ref().ok(), cloned.outcome.as_ref().err());
    let notes = folder.map(|folder| folder.left_out.iter().map(sync::note).collect::<Vec<_>>());
    json!({
        "branch": cloned.branch,
        "path": folder.map(|folder| folder.path.display().to_string()),
        "present": folder.is_some_and(|folder| !folder.is_new),
        "notes": notes.filter(|notes| !notes.is_empty()),
        "error": error.map(shown),
        "code": error.map(SyncError::code),
    })
}
