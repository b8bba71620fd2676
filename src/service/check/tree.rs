//! Checks states, ids, parents, times, roots and the conclusion against the investigation's own ruleset.
//!
//! Each finding has the error code that a rejected call would have returned.

use super::Severity::{Error, Warning};
use super::joined::MergeEffects;
use super::{Finding, Subject, entry_line, key_line};
use crate::decide::{TITLE_MAX, standing};
use crate::domain::{Author, Classification, Code, CommentKind, Investigation, Node, StateName, Timestamp};
use crate::format::layout;
use crate::ruleset::rules::confirmation::confirmations;
use crate::ruleset::{EffectiveRules, effective};
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
    check.roots();
    for node in check.investigation.nodes() {
        check.node(node);
    }
    check.confirmations();
    check.contested();
    check.comments();
    check.end();
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

    /// Checks for settings that `tot_start` would have rejected.
    fn meta(&mut self) {
        let meta = self.investigation.meta();
        let ruleset = self.rules.ruleset();
        let text = self.subject.text(layout::META).unwrap_or_default();
        let mut found = |severity, code: Code, key: &str, message: String| {
            self.findings.push(Finding::new(severity, code, message).at(layout::META, key_line(text, key)));
        };
        if !ruleset.mode_names().contains(&meta.mode.as_str()) {
            let modes = effective::list(ruleset.mode_names());
            found(
                Error,
                Code::UnknownMode,
                "mode",
                format!("{} has no mode `{}`; it has {modes}.", ruleset.name, meta.mode),
            );
        }
        let mode = ruleset.mode(&meta.mode);
        let least = mode.and_then(|mode| mode.min_rounds).unwrap_or(ruleset.end.min_rounds);
        let lowered = mode.is_some_and(|mode| mode.min_rounds_may_be_lowered);
        if meta.min_rounds < if lowered { 1 } else { least } {
            let message =
                format!("minRounds is {}, but {} requires at least {least}.", meta.min_rounds, ruleset.name);
            found(Error, Code::MinRoundsLowered, "minRounds", message);
        }
        if !ruleset.roots.min_is_chosen && meta.min_roots != ruleset.roots.min {
            let message = format!(
                "minRoots is {}, but {} fixes it at {}.",
                meta.min_roots, ruleset.name, ruleset.roots.min
            );
            found(Error, Code::MinRootsChanged, "minRoots", message);
        }
        if meta.allow_early_terminal
            && !ruleset.has_conversions()
            && ruleset.allow_early_terminal_below.is_none()
        {
            let message = format!("{} converts no states, so this setting has no effect.", ruleset.name);
            found(Error, Code::EarlyTerminalAllowed, "allowEarlyTerminal", message);
        }
        let folder = self.subject.snapshot.path.file_name().and_then(|name| name.to_str());
        let named = folder.and_then(|name| name.parse::<crate::domain::SessionId>().ok());
        if let Some(named) = named.filter(|named| *named != meta.id) {
            found(
                Error,
                Code::FolderName,
                "id",
                format!("Its folder is named {named}, so searches find it by the wrong id."),
            );
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

    fn roots(&mut self) {
        let rule = &self.rules.ruleset().roots;
        let name = &self.rules.ruleset().name;
        let roots: Vec<_> = self.investigation.roots().cloned().collect();
        // If no branch can continue, `tot_propose` accepts another root with any id.
        let (excused, ordinary): (Vec<_>, Vec<_>) =
            roots.iter().cloned().partition(|root| self.recovery_at(root));
        if let Some(ids) = &rule.ids {
            for root in ordinary.iter().filter(|root| !ids.contains(&root.id)) {
                let message =
                    format!("{} can't be a root in {name}: its root is {}.", root.id, effective::list(ids));
                let finding = Finding::new(Error, Code::InvalidRootId, message);
                self.at(root, "id", finding.unless_merged(self.joined.is_root(root)));
            }
        }
        if let Some(most) = rule.max.map(|max| max as usize) {
            for root in ordinary.iter().skip(most) {
                let message =
                    format!("{name} allows {}, but there are {}.", counted(most, "root"), ordinary.len());
                let finding = Finding::new(Error, Code::TooManyRoots, message);
                self.at(root, "id", finding.unless_merged(self.joined.is_root(root)));
            }
        }
        let least = self.rules.min_roots() as usize;
        if !roots.is_empty() && ordinary.len() + excused.len() < least {
            let message = format!("It has {} of the {least} required roots.", roots.len());
            self.at(&roots[0], "id", Finding::new(Warning, Code::InsufficientRoots, message));
        }
    }

    /// Returns whether all branches were closed before the minimum round when the root was proposed.
    fn recovery_at(&self, root: &Node) -> bool {
        let at = root.proposed_at;
        let mut earlier = self
            .investigation
            .nodes()
            .filter(|node| node.id != root.id)
            .filter_map(|node| Some((node.round(), state_at(node.classification.as_ref()?, at)?)))
            .peekable();
        earlier.peek().is_some()
            && earlier.all(|(round, state)| round < self.rules.min_rounds() && self.rules.is_terminal(state))
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
            self.commit(node, classification);
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
        let state = above.current_state();
        let finding = match misfit(node, parent, self.rules) {
            None => return,
            Some(Code::TerminalParent) => {
                let message =
                    format!("{} is below {}, which is {state} and can't have children.", node.id, parent.id);
                Finding::new(Error, Code::TerminalParent, message)
                    .suggest(format!("Revive {} with `tot reclassify`.", parent.id))
            }
            Some(code) => {
                let own = node.state().map(StateName::as_str).unwrap_or_default();
                let allowed = effective::list(self.rules.child_states(state).unwrap_or_default());
                let message = format!("{} can't be {own} under {}, which is {state}.", node.id, parent.id);
                Finding::new(Error, code, message).suggest(format!("Allowed under {state}: {allowed}."))
            }
        };
        let key = if finding.code == Code::TerminalParent { "parent" } else { "state" };
        let finding = finding.unless_merged(self.joined.misfits(node));
        self.at(node, key, finding);
    }

    /// Checks the result that `tot_commit` stored.
    fn commit(&mut self, node: &Node, classification: &Classification) {
        let state = &classification.state;
        for (key, name) in
            [("state", Some(state)), ("requestedState", classification.requested_state.as_ref())]
        {
            if let Some(name) = name.filter(|name| self.rules.ruleset().state(name).is_none()) {
                self.at(node, key, self.unknown(name));
            }
        }
        if let Some(rule) = self.rules.early_rule(state, node.round()) {
            let would = match &rule.store_as {
                Some(other) => format!("would have stored {other}"),
                None => "would have been rejected".to_owned(),
            };
            let when = match self.rules.first_round_from(state, 1) {
                Some(first) => format!("{state} is not allowed before round {first}"),
                None => format!("{state} is never allowed"),
            };
            let round = node.round();
            let message = format!(
                "{} was committed as {state} in round {round}, where a commit {would}: {when}.",
                node.id
            );
            self.at(node, "state", Finding::new(Error, Code::EarlyState, message));
        }
        if let Some(asked) = &classification.requested_state {
            let stored = self.rules.early_rule(asked, node.round()).and_then(|rule| rule.store_as.as_ref());
            if stored != Some(state) {
                let message = format!("No rule stores {asked} as {state} in round {}.", node.round());
                self.at(node, "requestedState", Finding::new(Error, Code::RequestedState, message));
            }
        }
        let (evidence, runs) = (classification.evidence.as_deref(), &classification.runs);
        if let Some(least) = self.rules.lacks_evidence(self.investigation, &node.id, state, evidence, runs) {
            let message = format!("{state} needs evidence of at least {least} characters.");
            let key = if evidence.is_some() { "evidence" } else { "state" };
            self.at(node, key, Finding::new(Error, Code::MissingEvidence, message));
        }
        if classification.committed_at < node.proposed_at {
            let message = format!("{} was committed before it was proposed.", node.id);
            self.at(node, "committedAt", Finding::new(Warning, Code::TimeRunsBack, message));
        }
    }

    /// Checks the result's references to other nodes, and the time when work on it began.
    fn backing(&mut self, node: &Node, classification: &Classification) {
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
        let mut evidence: Vec<&str> = classification.evidence.as_deref().into_iter().collect();
        for (number, change) in classification.reclassified.iter().enumerate() {
            if &change.from != state {
                let message = format!("{} changed from {}, but it was {state}.", node.id, change.from);
                self.at_change(node, number, Finding::new(Error, Code::ReclassifiedChain, message));
            } else if change.from == change.to && change.settles == 0 && !self.joined.is_alike(change) {
                let message = format!("{} changed from {} to itself.", node.id, change.from);
                self.at_change(node, number, Finding::new(Error, Code::ReclassifiedChain, message));
            }
            if change.at < time {
                let message = format!("{} became {} before it became {state}.", node.id, change.to);
                self.at_change(node, number, Finding::new(Warning, Code::TimeRunsBack, message));
            }
            if self.rules.ruleset().state(&change.to).is_none() {
                self.at_change(node, number, self.unknown(&change.to));
            }
            evidence.extend(change.evidence.as_deref());
            match &change.by {
                Author::Child(child) => {
                    let is_child = child.round() == node.round().saturating_add(1)
                        && self.investigation.children(&node.id).any(|other| &other.id == child);
                    let rule = self.rules.confirmation(&change.from);
                    let is_outcome =
                        rule.is_some_and(|rule| rule.outcomes.iter().any(|it| it.becomes == change.to));
                    if !is_child || !is_outcome {
                        let why = if is_child { "no rule allows this" } else { "that is not its child" };
                        let message = format!("{} became {} by {child}, but {why}.", node.id, change.to);
                        self.at_change(node, number, Finding::new(Error, Code::NoConfirmation, message));
                    }
                }
                Author::Agent(_) | Author::Unknown => {
                    let warned = |code: Code| change.warnings.iter().any(|warning| warning.code == code);
                    if self.rules.early_rule(&change.to, node.round()).is_some() && !warned(Code::EarlyState)
                    {
                        let message = format!(
                            "{} became {} in round {}, too early for a commit, and has no warning about it.",
                            node.id,
                            change.to,
                            node.round()
                        );
                        self.at_change(node, number, Finding::new(Warning, Code::EarlyState, message));
                    }
                    let (texts, runs) = (evidence.iter().copied(), &classification.runs);
                    let lacks =
                        self.rules.lacks_evidence(self.investigation, &node.id, &change.to, texts, runs);
                    if let Some(least) = lacks
                        && !warned(Code::MissingEvidence)
                    {
                        let message = format!(
                            "{} became {} without the {least} characters of evidence that a commit needs, and has no warning about it.",
                            node.id, change.to
                        );
                        self.at_change(node, number, Finding::new(Warning, Code::MissingEvidence, message));
                    }
                }
            }
            state = &change.to;
            time = change.at;
        }
    }

    /// Checks for nodes whose state should follow from their children but doesn't. A merge of two clones can cause
    /// this.
    fn confirmations(&mut self) {
        let now = self.investigation.meta().started_at;
        for missed in confirmations(self.investigation, self.rules, now) {
            let by = missed.by.map(|child| format!(", by {child}")).unwrap_or_default();
            let message = format!("{} is {}, but should be {}{by}.", missed.node.id, missed.from, missed.to);
            let finding = Finding::new(Warning, Code::ConfirmationDue, message)
                .suggest("The next `tot commit` or `tot reclassify` corrects it.");
            self.at(&missed.node, "state", finding);
        }
    }

    /// Checks for nodes with differing results from several clones.
    fn contested(&mut self) {
        for contested in standing::contested(self.investigation) {
            let Some(node) =
                contested.node.as_deref().and_then(|id| self.investigation.node(&id.parse().ok()?))
            else {
                continue;
            };
            let finding = Finding::new(Warning, Code::Contested, contested.message.person())
                .suggest("Settle it with `tot reclassify` to the correct state.");
            self.at(node, "otherResults", finding);
        }
    }

    /// Checks that a call could have ended the investigation in this state.
    fn end(&mut self) {
        let Some(conclusion) = self.investigation.conclusion() else { return };
        let subject = self.subject;
        let line = |key: &str| subject.text(layout::CONCLUSION).and_then(|text| key_line(text, key));
        // An early conclusion records its skipped steps itself. Only a merge can add research done after the
        // conclusion.
        let is_merged = self.subject.history.iter().any(|entry| entry.parents.len() > 1);
        let is_in_force = !is_merged || self.investigation.end_in_force().is_some();
        let owed = match &conclusion.stopped {
            None if is_in_force => standing::missing_steps(self.investigation, self.rules),
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
            .suggest("Reopen it with `tot reclassify` to an open state, and continue.");
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
        let mut last = conclusion.concluded_at.unwrap_or(conclusion.ended_at);
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
        if !conclusion.other_conclusions.is_empty() {
            let number = conclusion.other_conclusions.len() + 1;
            let message = format!("It was ended {number} times before a merge. The earliest end counts.");
            warn(Code::OtherEnds, "otherConclusions", &message, None);
        }
    }

    fn unknown(&self, name: &StateName) -> Finding {
        let ruleset = self.rules.ruleset();
        Finding::new(Error, Code::UnknownState, format!("{name} is not a state of {}.", ruleset.name))
            .suggest(format!("The states are {}.", ruleset.state_list()))
    }
}

/// Returns the code of the rule that forbids placing the node below its parent, if any.
pub(super) fn misfit(node: &Node, parent: &Node, rules: &EffectiveRules) -> Option<Code> {
    let above = parent.classification.as_ref()?;
    let state = above.current_state();
    if rules.is_terminal(state) {
        // If a child promoted the node, that child and its siblings remain allowed.
        return above.promoted_by().is_none().then_some(Code::TerminalParent);
    }
    let is_allowed = node.state().is_none_or(|own| rules.allows_child(state, own));
    (!is_allowed).then_some(Code::InvalidChildState)
}

/// Returns the state at the given time, or `None` if the node was not committed yet.
fn state_at(classification: &Classification, at: Timestamp) -> Option<&StateName> {
    if classification.committed_at > at {
        return None;
    }
    let before = classification.reclassified.iter().take_while(|change| change.at <= at);
    Some(before.last().map_or(&classification.state, |change| &change.to))
}
