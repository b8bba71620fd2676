//! Whether each commit is one call. Its difference shows what it did, its trailers say what it was.

use std::collections::{BTreeSet, HashSet};

use super::Severity::{Error, Note, Warning};
use super::{Finding, Subject};
use crate::domain::{Code, Happening, NodeId};
use crate::format::layout::{self, Place};
use crate::format::message::{ATTACH, COMMENT, RELEASE};
use crate::ruleset::EffectiveRules;
use crate::store::HistoryEntry;

/// The tags of an end.
const ENDED: &str = "ended/";

pub(super) fn findings(subject: &Subject, rules: Option<&EffectiveRules>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // In a shallow clone, or where a merge brought nodes along, not every proposal was seen.
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
                // A merge has put a proposal where a committed node was, which it has moved.
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
    let tool = entry.trailers().into_iter().find(|(key, _)| *key == "Tool").map(|(_, tool)| tool);
    let first = entry.parents.is_empty();
    for fault in &entry.faults {
        findings.push(Finding::new(
            Note,
            Code::UnreadableChange,
            format!("It changed a file that can't be read: {fault}."),
        ));
    }
    for gap in &entry.gaps {
        findings.push(Finding::new(Note, Code::HistoryCut, gap.as_str()));
    }
    for path in entry.paths.iter().filter(|_| !first) {
        let (code, what) = match layout::place(path) {
            Place::Meta => (Code::TermsChanged, "what tot_start fixed for good"),
            Place::Ruleset => (Code::RulesetChanged, "the rules that every call is judged by"),
            _ => continue,
        };
        findings.push(
            Finding::new(Warning, code, format!("It changed {path}: {what}."))
                .suggest("See with `git show` whether that was meant."),
        );
    }
    if entry.parents.len() > 1 {
        findings.push(Finding::new(Note, Code::Merge, format!("A merge: {}", entry.subject())));
        return;
    }
    // What is left out of it can be what makes it one call.
    if !entry.gaps.is_empty() {
        return;
    }
    let Some(tool) = tool else {
        findings.push(Finding::new(Note, Code::CommitByHand, format!("Not a call: {}", entry.subject())));
        return;
    };
    let mut wrong = |message: String| {
        findings.push(
            Finding::new(Error, Code::NotOneCall, message)
                .suggest("It was amended, squashed or written by hand: see it with `git show`."),
        );
    };
    let Some(fits) = judge(tool, &entry.happenings) else {
        wrong(format!("It names the tool {tool}, which this program does not have."));
        return;
    };
    let unreadable = !entry.faults.is_empty();
    if !fits && !unreadable {
        wrong(format!("It says that it is a call of {tool}, but it {}.", told(&entry.happenings)));
        return;
    }
    let strange = entry.paths.iter().find(|path| match layout::place(path) {
        Place::Node(_) | Place::Conclusion | Place::Comment(_) | Place::Attachment(..) => first,
        Place::Meta | Place::Ruleset => !first,
        Place::Other => *path != layout::README && (!first || *path != layout::ATTRIBUTES),
        Place::Stray => true,
    });
    if let Some(path) = strange {
        wrong(format!("It says that it is a call of {tool}, but it also changed {path}."));
    }
    let says: BTreeSet<&str> =
        entry.trailers().into_iter().filter(|(key, _)| *key == "Node").map(|(_, node)| node).collect();
    let does: BTreeSet<String> =
        entry.happenings.iter().filter_map(|happening| Some(happening.node_id()?.to_string())).collect();
    let told = match tool {
        "tot_propose" => does.iter().all(|id| says.contains(id.as_str())),
        _ => says.iter().copied().eq(does.iter().map(String::as_str)),
    };
    if !told && !unreadable {
        let list = |ids: Vec<&str>| if ids.is_empty() { "none".into() } else { ids.join(", ") };
        let (says, does) =
            (list(says.into_iter().collect()), list(does.iter().map(String::as_str).collect()));
        wrong(format!("It says that it is about {says}, but it changed {does}."));
    }
    for happening in &entry.happenings {
        if let Happening::Committed(node) = happening
            && whole
            && !unreadable
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

/// Whether one call of the tool could have done this; `None` for an unknown tool.
fn judge(tool: &str, happenings: &[Happening]) -> Option<bool> {
    let count = |is: fn(&Happening) -> bool| happenings.iter().filter(|happening| is(happening)).count();
    let all = happenings.len();
    let confirmed =
        count(|it| matches!(it, Happening::Reclassified(_, change) if change.by.child().is_some()));
    Some(match tool {
        "tot_start" => all == 1 && count(|it| matches!(it, Happening::Started)) == 1,
        // A proposal that is repeated within a millisecond changes nothing.
        "tot_propose" => all == count(|it| matches!(it, Happening::Proposed(_) | Happening::Withdrawn(_))),
        "tot_next" => all > 0 && all == count(|it| matches!(it, Happening::Claimed(_))),
        RELEASE => all > 0 && all == count(|it| matches!(it, Happening::Released(_))),
        "tot_commit" => {
            let committed = count(|it| matches!(it, Happening::Committed(_) | Happening::OtherResult(..)));
            let to_its_own = |node: &NodeId| {
                let mut nodes = happenings.iter().filter_map(Happening::node);
                nodes.any(|it| it.id == *node)
            };
            let attached =
                happenings.iter().filter(|it| matches!(it, Happening::Attached(node, _) if to_its_own(node)));
            committed > 0 && all == committed + confirmed + attached.count()
        }
        ATTACH => {
            let nodes: BTreeSet<_> = happenings.iter().filter_map(Happening::node_id).collect();
            nodes.len() == 1 && all == count(|it| matches!(it, Happening::Attached(..)))
        }
        "tot_reclassify" => {
            let asked = count(|it| matches!(it, Happening::Reclassified(..))) - confirmed;
            let reopened = count(|it| matches!(it, Happening::Reopened));
            asked == 1 && reopened <= 1 && all == asked + confirmed + reopened
        }
        "tot_amend" => {
            all == 1 && count(|it| matches!(it, Happening::Amended(..)) || is_amended_end(it)) == 1
        }
        tool if COMMENT.contains(&tool) => all == 1 && count(|it| matches!(it, Happening::Commented(_))) == 1,
        "tot_end" => all == 1 && count(|it| matches!(it, Happening::Ended(_)) && !is_amended_end(it)) == 1,
        _ => return None,
    })
}

fn is_amended_end(happening: &Happening) -> bool {
    matches!(happening, Happening::Ended(end) if !end.amended.is_empty())
}

/// `proposed R1.A, committed R2.A1`.
fn told(happenings: &[Happening]) -> String {
    const SHOWN: usize = 5;
    if happenings.is_empty() {
        return "changed nothing of the investigation".into();
    }
    let one = |happening: &Happening| {
        let verb = match happening {
            Happening::Started => "began the investigation",
            end if is_amended_end(end) => "amended the conclusion",
            Happening::Ended(_) => "ended the investigation",
            Happening::Reopened => "reopened the investigation",
            Happening::Proposed(_) => "proposed",
            Happening::Withdrawn(_) => "withdrew",
            Happening::Claimed(_) => "claimed",
            Happening::Released(_) => "released",
            Happening::Committed(_) => "committed",
            Happening::OtherResult(..) => "committed another result for",
            Happening::Reclassified(..) => "reclassified",
            Happening::Amended(..) => "amended",
            Happening::Edited(_) => "edited",
            Happening::Removed(_) => "removed",
            Happening::Commented(_) => "commented on",
            Happening::CommentEdited(_) => "edited a comment on",
            Happening::CommentRemoved(_) => "removed a comment on",
            Happening::Attached(..) => "put a file beside",
            Happening::AttachmentChanged(..) => "changed a file beside",
            Happening::AttachmentRemoved(..) => "removed a file beside",
        };
        let what = match (happening.node_id(), happening.comment()) {
            (Some(node), _) => node.as_str(),
            (None, Some(_)) => "the whole",
            (None, None) => return verb.to_owned(),
        };
        format!("{verb} {what}")
    };
    let shown = happenings.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ");
    match happenings.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

/// The tag is a pointer to the end: one that is missing is written by the next tot_end.
fn tags(subject: &Subject, findings: &mut Vec<Finding>) {
    let is_end = |entry: &HistoryEntry| entry.happenings.iter().any(|it| matches!(it, Happening::Ended(_)));
    let end = subject.history.iter().find(|entry| is_end(entry) || !entry.gaps.is_empty());
    if subject.snapshot.investigation.conclusion().is_some()
        && let Some(end) = end.filter(|entry| is_end(entry))
        && !end.tags.iter().any(|tag| tag.starts_with(ENDED))
    {
        findings.push(
            Finding::new(
                Warning,
                Code::EndedTagMissing,
                "It ends the investigation, but no tag ended/N is on it.",
            )
            .in_commit(end.commit)
            .suggest("Fetch the tags with `git fetch --tags`; else the next tot_end writes it."),
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
