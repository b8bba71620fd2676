//! `tot sync`: fetches the work of others and pushes local work.

use clap::Args;
use serde_json::{Value, json};

use super::place::Common;
use super::print::{say_fields, tell};
use super::{ExitResult, Progress, passed, say};
use crate::base::world::World;
use crate::service::remote::{GitProgram, shown_address};
use crate::service::sync::{SyncError, SyncOptions, SyncOutcome, Syncing};
use crate::text::{counted, one_line};

/// Sync investigations with their remotes: receive the work of others, and send yours.
///
/// Nothing is forced, deleted or rewritten on either side. Concurrent work is merged node by node, in a merge commit; servers may
/// keep writing. Exits with status 1 if an investigation could not be synced; the others are synced anyway.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SyncArguments {
    /// Show what would be done, as far as can be determined without fetching
    #[arg(long)]
    dry_run: bool,
    /// Merge with a remote whose history was rewritten; nothing is lost on either side
    #[arg(long)]
    rejoin: bool,
    /// Push even if text looks like a credential
    #[arg(long)]
    allow_secrets: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot sync                    all investigations with a remote
  tot sync -i 0196 --dry-run  what would be received and sent for one of them
  tot sync --rejoin           after someone rewrote the remote, and you know why";

pub(super) fn run(arguments: &SyncArguments) -> ExitResult {
    let place = arguments.common.place()?;
    let (folders, all) = place.folders()?;
    let git = GitProgram::find(super::is_person())?;
    let SyncArguments { dry_run, rejoin, allow_secrets, .. } = *arguments;
    let options = SyncOptions { dry_run, rejoin, allow_secrets };
    let syncing = Syncing { store: &place.store, git: &git, world: &World::Machine, options };
    let progress = Progress::new();
    let show = |what: &str| progress.show(what);
    let outcomes = syncing.run(&folders, all, &show);
    progress.clear();
    if !dry_run {
        let has_grown = |outcome: &&SyncOutcome| {
            !outcome.done.is_nothing() && place.store.open(&outcome.path).is_ok_and(|git| git.wants_upkeep())
        };
        let grown: Vec<_> = outcomes.iter().filter(has_grown).map(|outcome| outcome.path.clone()).collect();
        // If maintenance can't be started, the repositories merely stay larger than necessary.
        let _ = git.maintain(&grown);
    }
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    if arguments.common.json {
        let investigations: Vec<Value> = outcomes.iter().map(entry).collect();
        say_fields(&json!({"dryRun": dry_run, "investigations": investigations, "failed": failed}))?;
        return Ok(passed(failed == 0));
    }
    if outcomes.is_empty() {
        say("No remotes: `tot remote add origin URL` adds one.\n")?;
        return Ok(passed(true));
    }
    say(&lines(&outcomes, folders.len(), failed, dry_run))?;
    for outcome in &outcomes {
        if let Some(error) = &outcome.error {
            tell(&format!("tot sync: {}: {}", outcome.path.display(), shown(error)));
        }
    }
    Ok(passed(failed == 0))
}

fn failure(error: &SyncError) -> Value {
    json!({"code": error.code(), "message": error.to_string(), "suggestion": error.hint()})
}

fn lines(outcomes: &[SyncOutcome], investigations: usize, failed: usize, dry_run: bool) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let (path, done) = (outcome.path.display(), &outcome.done);
        let mut parts = Vec::new();
        let verbs = if dry_run { ["to receive", "to send"] } else { ["received", "sent"] };
        for ((commits, tags), verb) in
            [(done.came, &done.tags_came), (done.went, &done.tags_went)].into_iter().zip(verbs)
        {
            let commits = (commits > 0).then(|| counted(commits, "commit"));
            let all: Vec<String> =
                commits.into_iter().chain(tags.iter().map(|tag| format!("tag {tag}"))).collect();
            if !all.is_empty() {
                parts.push(format!("{} {verb}", all.join(", ")));
            }
        }
        if !parts.is_empty() {
            text.push_str(&one_line(&format!("{path}: {}", parts.join("; "))));
            text.push('\n');
        }
        if let Some((commit, decisions)) = &done.joined {
            text.push_str(&format!("{path}: merged in {:.10}\n", commit.to_string()));
            for decision in decisions {
                text.push_str(&format!("  {}\n", one_line(&format!("{decision:#}"))));
            }
        }
        let notices = done.notices.iter().map(|notice| &notice.message);
        for note in notices.chain(&done.notes) {
            text.push_str(&one_line(&format!("{path}: note: {note}")));
            text.push('\n');
        }
    }
    let is_same = |outcome: &&SyncOutcome| outcome.error.is_none() && outcome.done.is_nothing();
    let same = outcomes.iter().filter(is_same).count();
    let done = outcomes.len() - failed - same;
    let verb = if dry_run { "to be synced" } else { "synced" };
    let without = match investigations.saturating_sub(outcomes.len()) {
        0 => String::new(),
        without => format!(", {without} without a remote"),
    };
    text + &format!(
        "{}: {done} {verb}, {same} up to date, {failed} failed{without}\n",
        counted(investigations, "investigation")
    )
}

/// Formats the error with its hint, and puts messages from a remote on separate lines.
pub(super) fn shown(error: &SyncError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\n  {hint}."),
        None => error.to_string(),
    }
}

/// Returns the outcome for an investigation, as JSON.
fn entry(outcome: &SyncOutcome) -> Value {
    let (done, upstream) = (&outcome.done, outcome.upstream.as_ref());
    json!({
        "path": outcome.path.display().to_string(),
        "remote": upstream.map(|upstream| &upstream.remote),
        "url": upstream.map(|upstream| shown_address(&upstream.address)),
        "branch": upstream.map(|upstream| &upstream.place.branch),
        "came": done.came,
        "went": done.went,
        "tagsCame": done.tags_came,
        "tagsWent": done.tags_went,
        "merge": done.joined.as_ref().map(|(commit, _)| commit.to_string()),
        "decisions": done.joined.as_ref().map_or(&[][..], |(_, decisions)| decisions),
        "notices": done.notices,
        "notes": done.notes,
        "error": outcome.error.as_ref().map(failure),
    })
}
