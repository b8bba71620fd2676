//! Restores the rules and terms of an investigation's first commit, because no one may lower the standard of a running
//! investigation.

use super::git::{CommitId, Git};
use super::{Fault, read};
use crate::domain::{Code, Meta};
use crate::format::layout;
use crate::ruleset::RulesetFile;

/// Restores the rules and terms of the first commit. Adds a fault for each difference, or a single fault if the first
/// commit is unknown. Returns whether the terms differ.
pub(super) fn restore(
    git: &Git,
    first: Option<CommitId>,
    head: CommitId,
    meta: &mut Meta,
    ruleset: &mut Result<RulesetFile, Fault>,
    faults: &mut Vec<Fault>,
) -> bool {
    let mut are_others = false;
    let Some(first) = first else {
        let reason = "the first commit can't be read, so its terms and rules can't be compared with the current ones, \
                      and whether the oldest changes were made by hand is unchecked; in a shallow clone, \
                      `git fetch --unshallow` fetches it";
        faults.push(Fault::of_history(layout::META, reason, Code::HistoryCut));
        return false;
    };
    let Ok(files) = git.files(first) else { return false };
    let file = |path: &str| files.iter().find(|file| file.path == path);
    let changed = |path: &str| changed_by(git, head, path).unwrap_or_default();
    if let Some(Ok(then)) = file(layout::META).map(|file| read::meta(git, file)) {
        let differing = differing_terms(meta, &then);
        are_others = !differing.is_empty();
        if are_others {
            let were = if differing.len() == 1 { "was" } else { "were" };
            let reason = format!(
                "{} {were} changed{}; the terms of the first commit apply",
                differing.join(", "),
                changed(layout::META)
            );
            faults.push(Fault::of_history(layout::META, reason, Code::TermsChanged));
            let Meta { ruleset, mode, min_rounds, min_roots, allow_early_terminal, .. } = then;
            *meta = Meta { ruleset, mode, min_rounds, min_roots, allow_early_terminal, ..meta.clone() };
        }
    }
    if let (Ok(now), Some(Ok(then))) =
        (&mut *ruleset, file(layout::RULESET).map(|file| read::ruleset(git, file)))
        && now.ruleset != then.ruleset
    {
        let reason =
            format!("it was changed{}; the rules of the first commit apply", changed(layout::RULESET));
        faults.push(Fault::of_history(layout::RULESET, reason, Code::RulesetDiffers));
        *now = then;
    }
    are_others
}

/// Returns ` on 2026-11-03 09:15 by NAME` for the last commit in which the file differs from every parent.
fn changed_by(git: &Git, head: CommitId, path: &str) -> Option<String> {
    let blob = |id| git.blob_at(id, path).ok();
    let (mut at, now) = (head, blob(head)?);
    loop {
        let commit = git.commit_info(at).ok()?;
        match commit.parents.iter().find(|parent| blob(**parent).as_ref() == Some(&now)) {
            Some(same) => at = *same,
            None => {
                let time = commit.at().unwrap_or_default().to_minute();
                return Some(format!(" on {time} by {}", commit.author_name));
            }
        }
    }
}

/// Returns the names of the terms that differ.
fn differing_terms(now: &Meta, then: &Meta) -> Vec<&'static str> {
    let terms = [
        ("ruleset", now.ruleset != then.ruleset),
        ("mode", now.mode != then.mode),
        ("minRounds", now.min_rounds != then.min_rounds),
        ("minRoots", now.min_roots != then.min_roots),
        ("allowEarlyTerminal", now.allow_early_terminal != then.allow_early_terminal),
    ];
    terms.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
