//! Checks that each commit is one call, both on its own and as a continuation of the earlier commits.

use std::collections::HashSet;

use super::Severity::{Error, Note, Warning};
use super::{Finding, Subject};
use crate::domain::{Code, Happening, NodeId};
use crate::format::layout::{self, FileRole};
use crate::ruleset::EffectiveRules;
use crate::store::HistoryEntry;

/// The prefix of conclusion tags.
const ENDED: &str = "ended/";

pub(super) fn findings(subject: &Subject, rules: Option<&EffectiveRules>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // In a shallow clone, or after a merge that wrote nodes, some proposals are unknown.
    let whole = subject.history.last().is_some_and(|first| first.parents.is_empty())
        && subject.history.iter().all(|entry| entry.gaps.is_empty());
    let mut pending: HashSet<NodeId> = HashSet::new();
    for entry in subject.history.iter().rev() {
        let mut own = Vec::new();
        one_commit(entry, &pending, whole, rules, &mut own);
        for happening in &entry.happenings {
            match happening {
                Happening::Proposed(node) => {
                    pending.insert(node.id.clone());
                }
                // A merge has renamed a committed node and given its id to a proposal.
                Happening::Edited(node) if node.is_pending() => {
                    pending.insert(node.id.clone());
                }
                Happening::Withdrawn(node) | Happening::Committed(node) | Happening::Removed(node) => {
                    pending.remove(&node.id);
                }
                _ => {}
            }
        }
        findings.extend(own.into_iter().map(|finding| finding.in_commit(entry.commit)));
    }
    tags(subject, &mut findings);
    findings
}

fn one_commit(
    entry: &HistoryEntry,
    pending: &HashSet<NodeId>,
    whole: bool,
    rules: Option<&EffectiveRules>,
    findings: &mut Vec<Finding>,
) {
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
    if entry.parents.len() > 1 {
        findings.push(Finding::new(Note, Code::Merge, format!("A merge: {}", entry.subject())));
        return;
    }
    // The unknown part may complete the call.
    if !entry.gaps.is_empty() {
        return;
    }
    if !entry.is_of_call() {
        findings.push(Finding::new(Note, Code::CommitByHand, format!("Not a call: {}", entry.subject())));
        return;
    }
    let mut wrong = |message: String| {
        findings.push(
            Finding::new(Error, Code::NotOneCall, message)
                .suggest("It was amended, squashed or written by hand: inspect it with `git show`."),
        );
    };
    let misfits = entry.misfits();
    if !misfits.is_empty() {
        return misfits.into_iter().for_each(wrong);
    }
    for happening in &entry.happenings {
        if let Happening::Committed(node) = happening
            && whole
            && entry.faults.is_empty()
            && !pending.contains(&node.id)
        {
            wrong(format!("It commits {}, which no earlier commit proposed.", node.id));
        }
    }
    let proposed = entry.happenings.iter().filter(|it| matches!(it, Happening::Proposed(_))).count();
    if let Some(limit) = rules.and_then(|rules| rules.ruleset().batch_limit)
        && proposed > limit as usize
    {
        findings.push(Finding::new(
            Error,
            Code::BatchOverflow,
            format!("It proposes {proposed} nodes; the ruleset allows {limit}."),
        ));
    }
}

/// Checks the tags on conclusions. The next `tot_end` call writes a missing tag.
fn tags(subject: &Subject, findings: &mut Vec<Finding>) {
    let is_end = |entry: &HistoryEntry| entry.happenings.iter().any(|it| matches!(it, Happening::Ended(_)));
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
    for entry in subject.history.iter().filter(|entry| !is_end(entry) && entry.gaps.is_empty()) {
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
