//! Checks states, ids, parents, times, roots and the conclusion against the investigation's own ruleset. Each rule kind
//! checks the stored facts itself.
//!
//! Each finding has the error code that a rejected call would have returned.

use std::collections::HashSet;

use super::Severity::{Error, Note, Warning};
use super::joined::MergeEffects;
use super::{Finding, Subject, entry_line, key_line};
use crate::decide::{TITLE_MAX, blockers, sources};
use crate::domain::{Citation, Classification, Code, CommentKind, Investigation, Node};
use crate::format::layout;
use crate::markdown::Parsed;
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::{self, StoredFact, Violation};
use crate::text::counted;

pub(super) fn findings(subject: &Subject, rules: &EffectiveRules) -> Vec<Finding> {
    let mut check = TreeCheck {
        subject,
        investigation: &subject.snapshot.investigation,
        rules,
        joined: MergeEffects::new(&subject.history, rules),
        findings: Vec::new(),
    };
    check.meta();
    for node in check.investigation.nodes() {
        check.node(node);
    }
    check.rules();
    check.contested();
    check.comments();
    check.end();
    check.places();
    check.findings
}

struct TreeCheck<'a> {
    subject: &'a Subject,
    investigation: &'a Investigation,
    rules: &'a EffectiveRules<'a>,
    joined: MergeEffects<'a>,
    findings: Vec<Finding>,
}

impl TreeCheck<'_> {
    /// Adds a finding at a key of the node's file.
    fn at(&mut self, node: &Node, key: &str, finding: Finding) {
        let (path, line) = self.subject.node_key(&node.id, key);
        self.findings.push(finding.at(path, line));
    }

    /// Adds a finding at a key of the investigation's settings.
    fn at_setting(&mut self, key: &str, finding: Finding) {
        let line = self.subject.text(layout::META).and_then(|text| key_line(text, key));
        self.findings.push(finding.at(layout::META, line));
    }

    /// Adds a finding at one of the node's reclassifications.
    fn at_change(&mut self, node: &Node, number: usize, finding: Finding) {
        self.at_entry(node, "reclassified", number, finding);
    }

    /// Adds a finding at a list entry of the node's file.
    fn at_entry(&mut self, node: &Node, list: &str, number: usize, finding: Finding) {
        let path = layout::node(&node.id);
        let line = self.subject.text(&path).and_then(|text| entry_line(text, list, number));
        self.findings.push(finding.at(path, line));
    }

    /// Checks that the folder has the name that the settings say.
    fn meta(&mut self) {
        let meta = self.investigation.meta();
        let folder = self.subject.snapshot.path.file_name().and_then(|name| name.to_str());
        let named = folder.and_then(|name| name.parse::<crate::domain::SessionId>().ok());
        if let Some(named) = named.filter(|named| *named != meta.id) {
            let message = format!("Its folder is named {named}, so searches find it by the wrong id.");
            let finding = Finding::new(Error, Code::FolderName, message);
            self.at_setting("id", finding);
        }
    }

    /// Checks for comments on missing nodes. The node may have been withdrawn since then, or its file may be missing.
    fn comments(&mut self) {
        for comment in self.investigation.comments() {
            let path = layout::comment(comment.id);
            let text = self.subject.text(&path).unwrap_or_default();
            let mut found = |key: &str, message: String| {
                let finding = Finding::new(Warning, Code::ReplyNowhere, message);
                self.findings.push(finding.at(&path, key_line(text, key)));
            };
            if let Some(node) = comment.node.as_ref().filter(|node| self.investigation.node(node).is_none()) {
                found("node", format!("It is about {node}, which is missing."));
            }
            let is_reply = matches!(comment.kind, CommentKind::Answer | CommentKind::Resolution);
            match comment.reply_to {
                Some(to) if self.investigation.comment(to).is_none() => {
                    found("replyTo", format!("It replies to {to}, which is missing."));
                }
                None if is_reply => {
                    found("kind", format!("The {} replies to nothing.", comment.kind.label()))
                }
                _ => {}
            }
        }
    }

    /// Checks the stored facts against each rule kind.
    fn rules(&mut self) {
        for violation in rules::violations(self.investigation, self.rules) {
            let Violation { place, is_error, may_be_merged, diagnostic } = violation;
            let severity = if is_error { Error } else { Warning };
            let finding = Finding {
                suggestion: diagnostic.suggestion.map(|how| how.person().to_owned()),
                ..Finding::new(severity, diagnostic.code, diagnostic.message.person())
            };
            match place {
                StoredFact::Setting(key) => self.at_setting(key, finding),
                StoredFact::Node(id, key) => {
                    let Some(node) = self.investigation.node(&id) else { continue };
                    let is_merged = may_be_merged && self.joined.has_placed(node);
                    self.at(node, key, finding.unless_merged(is_merged));
                }
                StoredFact::Change(id, number) => {
                    let Some(node) = self.investigation.node(&id) else { continue };
                    self.at_change(node, number, finding);
                }
            }
        }
    }

    fn node(&mut self, node: &Node) {
        if node.title.trim().is_empty() {
            self.at(
                node,
                "title",
                Finding::new(Error, Code::MissingTitle, format!("{} has no title.", node.id)),
            );
        } else if node.title.chars().count() > TITLE_MAX {
            let message = format!("The title has more than {TITLE_MAX} characters.");
            self.at(node, "title", Finding::new(Warning, Code::TextTooLong, message));
        }
        if node.proposed_at < self.investigation.meta().started_at {
            let message = format!("{} was proposed before the investigation began.", node.id);
            self.at(node, "proposedAt", Finding::new(Warning, Code::TimeRunsBack, message));
        }
        let investigation = self.investigation;
        if let Some(parent) = node.parent.as_ref().and_then(|parent| investigation.node(parent)) {
            self.below(node, parent);
        }
        if let Some(classification) = &node.classification {
            self.changes(node, classification);
            self.backing(node, classification);
            self.amendments(node, classification);
        }
    }

    /// Checks the node as a child of its parent.
    fn below(&mut self, node: &Node, parent: &Node) {
        let extends = node.id.suffix().len() > parent.id.suffix().len()
            && node.id.suffix().starts_with(parent.id.suffix());
        if !extends {
            let message =
                format!("The suffix of {} does not extend that of its parent {}.", node.id, parent.id);
            self.at(node, "parent", Finding::new(Error, Code::IdParentMismatch, message));
        }
        let Some(above) = &parent.classification else { return };
        if node.proposed_at < above.committed_at {
            let message = format!("{} was proposed before its parent {} was committed.", node.id, parent.id);
            self.at(node, "proposedAt", Finding::new(Warning, Code::TimeRunsBack, message));
        }
    }

    /// Checks the result's times and its references to other nodes.
    fn backing(&mut self, node: &Node, classification: &Classification) {
        if classification.committed_at < node.proposed_at {
            let message = format!("{} was committed before it was proposed.", node.id);
            self.at(node, "committedAt", Finding::new(Warning, Code::TimeRunsBack, message));
        }
        if classification.refutes && node.parent.is_none() {
            let message = format!("{} refutes its parent, but is a root.", node.id);
            self.at(node, "refutes", Finding::new(Error, Code::RefutesNothing, message));
        }
        if classification.started_at.is_some_and(|began| began > classification.committed_at) {
            let message = format!("Work on {} began after it was committed.", node.id);
            self.at(node, "startedAt", Finding::new(Warning, Code::TimeRunsBack, message));
        }
        for (number, link) in classification.links.iter().enumerate() {
            let what = if link.to == node.id {
                "itself".to_owned()
            } else if self.investigation.node(&link.to).is_none() {
                format!("{}, which is missing", link.to)
            } else {
                continue;
            };
            // Calls can cause this: the linked node may have been a proposal that was withdrawn later.
            let message = format!("{} {} {what}.", node.id, link.kind.label());
            self.at_entry(node, "links", number, Finding::new(Warning, Code::LinkNowhere, message));
        }
    }

    /// Checks the amendments to the node's text.
    fn amendments(&mut self, node: &Node, classification: &Classification) {
        let mut time = classification.committed_at;
        for (number, amendment) in classification.amended.iter().enumerate() {
            if amendment.at < time {
                let message = format!("{} was amended before its previous text was written.", node.id);
                let finding = Finding::new(Warning, Code::TimeRunsBack, message);
                self.at_entry(node, "amended", number, finding);
            }
            if amendment.parts().next().is_none() {
                let message = format!("An amendment of {} changes nothing.", node.id);
                let finding = Finding::new(Error, Code::AmendedNothing, message);
                self.at_entry(node, "amended", number, finding);
            }
            time = amendment.at;
        }
    }

    /// Checks the node's reclassifications.
    fn changes(&mut self, node: &Node, classification: &Classification) {
        let mut state = &classification.state;
        let mut time = classification.committed_at;
        for (number, change) in classification.reclassified.iter().enumerate() {
            if &change.from != state {
                let message = format!("{} changed from {}, but it was {state}.", node.id, change.from);
                self.at_change(node, number, Finding::new(Error, Code::ReclassifiedChain, message));
            } else if change.from == change.to
                && change.settles == 0
                && change.links.is_empty()
                && change.saw.is_none()
                && !self.rules.has_refuted(classification)
                && !self.joined.is_alike(change)
            {
                let message = format!("{} changed from {} to itself.", node.id, change.from);
                self.at_change(node, number, Finding::new(Error, Code::ReclassifiedChain, message));
            }
            if change.at < time {
                let message = format!("{} became {} before it became {state}.", node.id, change.to);
                self.at_change(node, number, Finding::new(Warning, Code::TimeRunsBack, message));
            }
            state = &change.to;
            time = change.at;
        }
    }

    /// Checks for nodes with differing results from several clones.
    fn contested(&mut self) {
        for contested in blockers::contested(self.investigation) {
            let Some(node) = contested.node.as_deref().and_then(|id| self.investigation.find(id).ok()) else {
                continue;
            };
            let finding = Finding::new(Warning, Code::Contested, contested.message.person())
                .suggest("Settle it with `tot amend --state` to the correct state.");
            self.at(node, "otherResults", finding);
        }
    }

    /// Checks that a call could have ended the investigation in this state.
    fn end(&mut self) {
        let Some(conclusion) = self.investigation.end() else { return };
        let subject = self.subject;
        let line = |key: &str| subject.text(layout::CONCLUSION).and_then(|text| key_line(text, key));
        // An early conclusion records its skipped steps itself. Only a merge can add research done after the
        // conclusion.
        let is_merged = self.subject.history.iter().any(|entry| entry.parents.len() > 1);
        let is_in_force = !is_merged || self.investigation.end_in_force().is_some();
        let owed = match &conclusion.stopped {
            None if is_in_force => blockers::missing_steps(self.investigation, self.rules),
            _ => Vec::new(),
        };
        for owed in owed {
            let finding = Finding::new(
                Error,
                Code::EndedTooEarly,
                format!("It has ended, but {}: {}", owed.code, owed.message.person()),
            )
            .unless_merged(self.joined.since_end())
            .at(layout::CONCLUSION, line("version"))
            .suggest("Reopen it with `tot amend --state` to an open state, and continue.");
            self.findings.push(finding);
        }
        let mut warn = |code: Code, key: &str, message: &str, suggestion: Option<&str>| {
            let finding = Finding::new(Warning, code, message).at(layout::CONCLUSION, line(key));
            self.findings.push(Finding { suggestion: suggestion.map(str::to_owned), ..finding });
        };
        if conclusion.concluded_at.is_some_and(|at| at < conclusion.ended_at) {
            warn(
                Code::TimeRunsBack,
                "concludedAt",
                "Its conclusion is older than the time at which it ended.",
                None,
            );
        }
        let drafted = conclusion.drafted.as_ref().map(|draft| draft.at);
        let mut last = drafted.or(conclusion.concluded_at).unwrap_or(conclusion.ended_at);
        for amended in &conclusion.amended {
            if amended.at < last {
                let message = "Its conclusion was amended before the previous text was written.";
                warn(Code::TimeRunsBack, "amended", message, None);
            }
            last = amended.at;
        }
        let times =
            self.investigation.nodes().filter_map(|node| Some(node.classification.as_ref()?.current_since()));
        if is_in_force && times.max().is_some_and(|last| conclusion.ended_at < last) {
            warn(Code::TimeRunsBack, "endedAt", "It ended before the last change to a node.", None);
        }
        if !is_in_force {
            let message = "It ended, but research continued elsewhere after that.";
            let suggestion = "End it again with `tot end` when that research is done.";
            warn(Code::TimeRunsBack, "endedAt", message, Some(suggestion));
        }
        let others = conclusion.other_conclusions.iter().filter(|other| !other.draft).count();
        if others > 0 {
            let number = others + 1;
            let message = format!(
                "It was ended {number} times before a merge. The first that no research followed counts."
            );
            warn(Code::OtherEnds, "otherConclusions", &message, None);
        }
    }

    /// Tells of places of which nothing is stored, because the texts that name them were written outside of the project.
    fn places(&mut self) {
        let unread = |text: &str, references: &[Citation]| {
            let is_read = references.iter().any(|it| it.pinned.is_some() || it.named_in.is_some())
                || !text.contains("](");
            if is_read { 0 } else { sources::places(&Parsed::new(text)).collect::<HashSet<_>>().len() }
        };
        let is_told = |it: &&Classification| it.warnings.iter().any(|it| it.code == Code::SourceNotThere);
        let results = self.investigation.nodes().flat_map(|node| node.results()).filter(|it| !is_told(it));
        let places = results.map(|it| unread(&it.findings, &it.references)).sum::<usize>()
            + self.investigation.reports().map(|it| unread(&it.report(), &it.references)).sum::<usize>();
        if places > 0 {
            let places = counted(places, "place");
            let message = format!("Nothing is stored of {places} in files, so a change there does not show.");
            let how = "`tot end --draft` or `tot amend` in the project stores what they say.";
            self.findings.push(Finding::new(Note, Code::PlacesNotChecked, message).suggest(how));
        }
    }
}
