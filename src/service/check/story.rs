//! Checks that each commit is as a call made it.

use std::collections::{BTreeMap, HashSet};

use super::Severity::{Note, Warning};
use super::{Finding, Subject};
use crate::domain::{Code, Happening};
use crate::format::layout::{self, FileRole};
use crate::ruleset::effective::list;
use crate::store::{Checksum, CommitId, HistoryEntry};

/// The prefix of conclusion tags.
const ENDED: &str = "ended/";

pub(super) fn findings(subject: &Subject) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in subject.history.iter().rev() {
        let mut own = Vec::new();
        one_commit(entry, &mut own);
        findings.extend(own.into_iter().map(|finding| finding.in_commit(entry.commit)));
    }
    findings.extend(edits(subject));
    tags(subject, &mut findings);
    findings
}

fn one_commit(entry: &HistoryEntry, findings: &mut Vec<Finding>) {
    let first = entry.parents.is_empty();
    for fault in &entry.faults {
        findings.push(Finding::new(
            Note,
            Code::UnreadableChange,
            format!("It changed an unreadable file: {fault}."),
        ));
    }
    for gap in &entry.gaps {
        findings.push(Finding::new(Note, Code::HistoryCut, gap.as_str()));
    }
    for path in entry.paths.iter().filter(|_| !first) {
        let (code, what) = match layout::file_role(path) {
            FileRole::Meta => (Code::TermsChanged, "the settings that `tot start` fixed"),
            FileRole::Ruleset => (Code::RulesetChanged, "the rules for all calls"),
            _ => continue,
        };
        findings.push(
            Finding::new(Warning, code, format!("It changed {path}: {what}."))
                .suggest("Check with `git show` whether this was intended."),
        );
    }
    let subject = entry.subject();
    findings.extend(match (entry.parents.len(), entry.checksum) {
        (2.., _) => Some(Finding::new(Note, Code::Merge, format!("A merge: {subject}"))),
        (_, Checksum::Missing | Checksum::Wrong) if !entry.names_call() => {
            Some(Finding::new(Note, Code::CommitByHand, format!("Not a call: {subject}")))
        }
        (_, Checksum::Missing) => Some(not_as_made("its message names a call, but it has no checksum")),
        (_, Checksum::Wrong) => Some(not_as_made("its checksum does not fit")),
        (_, Checksum::Valid | Checksum::Unchecked) => None,
    });
}

fn not_as_made(why: &str) -> Finding {
    let message = format!(
        "It is not as a call made it: {why}. It was amended, squashed or edited, or moved to where its files were different."
    );
    Finding::new(Warning, Code::CommitByHand, message).suggest("Inspect it with `git show`.")
}

/// Returns the files that merges and the commits merged by them changed by hand.
fn edits(subject: &Subject) -> impl Iterator<Item = Finding> {
    let own = subject.history.iter().filter(|entry| entry.parents.len() < 2);
    let own: HashSet<CommitId> = own.map(|entry| entry.commit).collect();
    let mut files: BTreeMap<CommitId, Vec<&str>> = BTreeMap::new();
    for edit in subject.snapshot.edits.iter().filter(|edit| !own.contains(&edit.commit)) {
        files.entry(edit.commit).or_default().push(&edit.path);
    }
    files.into_iter().map(|(commit, files)| {
        let message = format!("It changed by hand: {}.", list(files));
        Finding::new(Warning, Code::CommitByHand, message)
            .in_commit(commit)
            .suggest("Inspect it with `git show`.")
    })
}

/// Checks the tags on conclusions. The next `tot_end` call writes a missing tag.
fn tags(subject: &Subject, findings: &mut Vec<Finding>) {
    // A merge only takes over an end.
    let is_end = |entry: &HistoryEntry| {
        entry.parents.len() < 2
            && entry.happenings.iter().any(|it| matches!(it, Happening::Ended(end) if !end.draft))
    };
    let end = subject.history.iter().find(|entry| is_end(entry) || !entry.gaps.is_empty());
    if subject.snapshot.investigation.end().is_some()
        && let Some(end) = end.filter(|entry| is_end(entry))
        && !end.tags.iter().any(|tag| tag.starts_with(ENDED))
    {
        findings.push(
            Finding::new(
                Warning,
                Code::EndedTagMissing,
                "It ends the investigation, but has no tag ended/N.",
            )
            .in_commit(end.commit)
            .suggest("Fetch tags with `git fetch --tags`, or let the next `tot end` write it."),
        );
    }
    // Earlier versions tagged a merge that took an end over.
    let is_other = |entry: &&HistoryEntry| !is_end(entry) && entry.parents.len() < 2 && entry.gaps.is_empty();
    for entry in subject.history.iter().filter(is_other) {
        for tag in entry.tags.iter().filter(|tag| tag.starts_with(ENDED)) {
            findings.push(
                Finding::new(
                    Warning,
                    Code::EndedTagElsewhere,
                    format!("The tag {tag} is on this commit, which does not end the investigation."),
                )
                .in_commit(entry.commit),
            );
        }
    }
}
