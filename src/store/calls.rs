//! Checks that a commit whose message names a tool call contains changes that such a call could have made.
//!
//! Limitation: a person can imitate a valid call, including its files and trailers. Agents' calls are self-reported as
//! well.

use std::collections::BTreeSet;

use super::HistoryEntry;
use crate::domain::{Happening, NodeId, Run, RunKind};
use crate::format::layout::{self, FileRole};
use crate::format::message::{ATTACH, COMMENT, RELEASE, RERUN, RUN};

impl HistoryEntry {
    /// Returns the reasons why the tool call named in the message cannot have made this commit, one sentence each. The
    /// list is empty for merges and for commits with unknown changes.
    pub fn misfits(&self) -> Vec<String> {
        let tool = self.trailers().into_iter().find(|(key, _)| *key == "Tool").map(|(_, tool)| tool);
        let Some(tool) = tool.filter(|_| self.parents.len() < 2 && self.gaps.is_empty()) else {
            return Vec::new();
        };
        let Some(fits) = is_possible(tool, &self.happenings) else {
            return vec![format!("It names an unknown tool, {tool}.")];
        };
        let unreadable = !self.faults.is_empty();
        if !fits && !unreadable {
            return vec![format!(
                "Its message names a call to {tool}, but it {}.",
                summary(&self.happenings)
            )];
        }
        let mut misfits = Vec::new();
        let first = self.parents.is_empty();
        let strange = self.paths.iter().find(|path| match layout::file_role(path) {
            FileRole::Node(_)
            | FileRole::Conclusion
            | FileRole::Comment(_)
            | FileRole::Run(_)
            | FileRole::Attachment(..) => first,
            FileRole::Meta | FileRole::Ruleset => !first,
            FileRole::Other => *path != layout::README && (!first || *path != layout::ATTRIBUTES),
            FileRole::Stray => true,
        });
        if let Some(path) = strange {
            misfits.push(format!("Its message names a call to {tool}, but it also changed {path}."));
        }
        let named: BTreeSet<&str> =
            self.trailers().into_iter().filter(|(key, _)| *key == "Node").map(|(_, node)| node).collect();
        let changed: BTreeSet<String> =
            self.happenings.iter().filter_map(|happening| Some(happening.node_id()?.to_string())).collect();
        let is_listed = match tool {
            "tot_propose" => changed.iter().all(|id| named.contains(id.as_str())),
            _ => named.iter().copied().eq(changed.iter().map(String::as_str)),
        };
        if !is_listed && !unreadable {
            let list = |ids: Vec<&str>| if ids.is_empty() { "no node".into() } else { ids.join(", ") };
            let (named, changed) =
                (list(named.into_iter().collect()), list(changed.iter().map(String::as_str).collect()));
            misfits.push(format!("Its message names {named}, but it changed {changed}."));
        }
        misfits
    }
}

/// Returns whether one call of the tool could have made these changes, or `None` for an unknown tool.
fn is_possible(tool: &str, happenings: &[Happening]) -> Option<bool> {
    let count = |is: fn(&Happening) -> bool| happenings.iter().filter(|happening| is(happening)).count();
    let all = happenings.len();
    let confirmed = count(|it| matches!(it, Happening::Reclassified(_, change) if change.child().is_some()));
    Some(match tool {
        "tot_start" => all == 1 && count(|it| matches!(it, Happening::Started)) == 1,
        // A proposal repeated within the same millisecond changes nothing.
        "tot_propose" => {
            let is_its = |it: &Happening| {
                matches!(it, Happening::Proposed(_) | Happening::Withdrawn(_) | Happening::Reopened)
            };
            all == count(is_its)
        }
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
        RUN => {
            let captured = happenings.iter().find_map(|it| ran(it).filter(|run| is_first(run)));
            let of_its_node = |it: &&Happening| matches!(it, Happening::Attached(node, _) if captured.is_some_and(|run| run.node.as_ref() == Some(node)));
            captured.is_some() && all == 1 + happenings.iter().filter(of_its_node).count()
        }
        RERUN => all > 0 && happenings.iter().all(|it| ran(it).is_some_and(|run| !is_first(run))),
        "tot_end" => all == 1 && count(|it| matches!(it, Happening::Ended(_)) && !is_amended_end(it)) == 1,
        _ => return None,
    })
}

/// Returns the run that was added, if any.
fn ran(happening: &Happening) -> Option<&Run> {
    match happening {
        Happening::Ran(run) => Some(run),
        _ => None,
    }
}

fn is_first(run: &Run) -> bool {
    matches!(run.what, RunKind::Captured(_))
}

fn is_amended_end(happening: &Happening) -> bool {
    matches!(happening, Happening::Ended(end) if !end.amended.is_empty())
}

/// Returns a summary of the changes, such as `proposed R1.A, committed R2.A1`.
fn summary(happenings: &[Happening]) -> String {
    const SHOWN: usize = 5;
    if happenings.is_empty() {
        return "did not change the investigation".into();
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
            Happening::Ran(_) => "ran a command for",
            Happening::RunEdited(_) => "edited a run of",
            Happening::RunRemoved(_) => "removed a run of",
            Happening::Attached(..) => "attached a file to",
            Happening::AttachmentChanged(..) => "changed an attachment of",
            Happening::AttachmentRemoved(..) => "removed an attachment of",
        };
        let what = match happening.node_id() {
            Some(node) => node.as_str(),
            None if happening.comment().is_some() || happening.run().is_some() => "the investigation",
            None => return verb.to_owned(),
        };
        format!("{verb} {what}")
    };
    let shown = happenings.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ");
    match happenings.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
