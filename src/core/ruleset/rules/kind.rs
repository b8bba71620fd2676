//! The type of a rule kind, the calls that a kind judges, and helpers that several kinds share.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::Ruleset;
use super::agents::Enforcement;
use super::children::Lacking;
use super::states::State;
use crate::domain::{
    Amendment, Classification, Code, Diagnostic, Investigation, Node, NodeId, Reclassification, StateName,
    Timestamp, Wording,
};
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// A call that rule kinds judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `tot_propose`.
    Propose,
    /// `tot_commit`.
    Commit,
    /// `tot_reclassify`.
    Reclassify,
    /// `tot_amend` of a node.
    Amend,
    /// `tot_end`.
    End,
}

/// A rule kind, with one function for each aspect.
pub struct RuleKind {
    /// The key in the ruleset file; nested keys contain a dot.
    pub key: &'static str,
    /// The codes of its errors and blockers, each with the call that returns it.
    pub errors: &'static [(Verb, Code)],
    /// The codes of its warnings, each with the call that returns it. A ruleset may make them errors.
    pub warnings: &'static [(Verb, Code)],
    /// Reports contradictions in a ruleset.
    pub problems: fn(&Ruleset, &mut Problems),
    /// Describes the effect on nodes in one state, in sentences.
    pub of_state: fn(&EffectiveRules, &State) -> Vec<String>,
    /// Describes the requirements across states, in sentences.
    pub sentences: fn(&EffectiveRules) -> Vec<String>,
    /// Describes the requirement for ending, in one sentence.
    pub end: fn(&EffectiveRules) -> Option<String>,
    /// Reports errors in a proposal as a whole.
    pub propose: fn(&ProposalCheck, &mut CallDiagnostics),
    /// Reports errors in one result of a commit.
    pub commit: fn(&ResultCheck, &mut CallDiagnostics),
    /// Reports errors in a commit as a whole. Each node is paired with the state to store.
    pub commit_together: fn(&Investigation, &EffectiveRules, &[(&Node, StateName)], &mut CallDiagnostics),
    /// Reports errors in a state change.
    pub reclassify: fn(&ReclassificationCheck, &mut CallDiagnostics),
    /// Reports errors in an amendment.
    pub amend: fn(&AmendmentCheck, &mut CallDiagnostics),
    /// Returns the conditions that prevent ending. Thousands of nodes may lack children, so the caller gives those to
    /// describe.
    pub blockers: fn(&Investigation, &EffectiveRules, &[Lacking]) -> Vec<Diagnostic>,
    /// Returns the doubts about a conclusion that have this enforcement level in the ruleset.
    pub end_checks: fn(&Investigation, &EffectiveRules, Enforcement) -> Vec<Diagnostic>,
    /// Reports that a stored node can't be below this parent. A merge may have put it there.
    pub placement: fn(&EffectiveRules, &Node, &Node) -> Option<Violation>,
    /// Reports the other stored facts that break the rule, for `tot check`.
    pub stored_checks: fn(&Investigation, &EffectiveRules, &mut Vec<Violation>),
}

/// A rule kind without any effect, as the base for all others.
pub(super) const SILENT: RuleKind = RuleKind {
    key: "",
    errors: &[],
    warnings: &[],
    problems: |_, _| {},
    of_state: |_, _| Vec::new(),
    sentences: |_| Vec::new(),
    end: |_| None,
    propose: |_, _| {},
    commit: |_, _| {},
    commit_together: |_, _, _, _| {},
    reclassify: |_, _| {},
    amend: |_, _| {},
    blockers: |_, _, _| Vec::new(),
    end_checks: |_, _, _| Vec::new(),
    placement: |_, _, _| None,
    stored_checks: |_, _, _| {},
};

/// The results of checking a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDiagnostics {
    /// The errors for which the call is refused.
    pub errors: Vec<Diagnostic>,
    /// Warnings about the call.
    pub warnings: Vec<Diagnostic>,
}

impl CallDiagnostics {
    /// Adds an error about a node, or about the whole call if `node` is empty.
    pub fn refuse(
        &mut self,
        code: Code,
        node: impl fmt::Display,
        message: impl Into<Wording>,
        how: impl Into<Wording>,
    ) {
        self.errors.push(Diagnostic::new(code, message).about(node).suggest(how));
    }

    /// Adds a warning about a node, or about the whole call if `node` is empty.
    pub fn warn(
        &mut self,
        code: Code,
        node: impl fmt::Display,
        message: impl Into<Wording>,
        how: impl Into<Wording>,
    ) {
        self.warnings.push(Diagnostic::new(code, message).about(node).suggest(how));
    }

    /// Adds a diagnostic as a warning or an error, or ignores it, depending on the enforcement.
    pub fn add(&mut self, enforcement: Enforcement, diagnostic: Diagnostic) {
        match enforcement {
            Enforcement::Off => {}
            Enforcement::Warn => self.warnings.push(diagnostic),
            Enforcement::Reject => self.errors.push(diagnostic),
        }
    }
}

/// A proposal to be checked against the rules.
pub struct ProposalCheck<'a> {
    /// The investigation.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The number of nodes in the call.
    pub number: usize,
    /// The valid nodes in the call.
    pub nodes: &'a [Arc<Node>],
    /// All new roots in the call, including invalid ones, because the agent will probably fix them.
    pub asked_roots: &'a HashSet<String>,
    /// The pending proposals to withdraw.
    pub withdrawn: &'a [NodeId],
}

/// A result in a commit, to be checked against the rules.
pub struct ResultCheck<'a> {
    /// The investigation.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The pending node.
    pub node: &'a Node,
    /// The result to store.
    pub stored: &'a Classification,
    /// True if a person did the research.
    pub is_person: bool,
    /// True if the call also proposes the node.
    pub proposes_itself: bool,
    /// Another node by the same agent.
    pub agents_other: Option<&'a NodeId>,
    /// The current time.
    pub now: Timestamp,
}

/// A state change to be checked against the rules.
pub struct ReclassificationCheck<'a> {
    /// The investigation.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The node before the change.
    pub node: &'a Node,
    /// The change to store.
    pub stored: &'a Reclassification,
}

/// An amendment to be checked against the rules.
pub struct AmendmentCheck<'a> {
    /// The investigation.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The node after the amendment.
    pub node: &'a Node,
    /// The amendment, with the previous text of the changed parts.
    pub amendment: &'a Amendment,
}

/// A stored fact that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The stored fact.
    pub place: StoredFact,
    /// True if no call can have stored it. Otherwise, a call would have warned about it.
    pub is_error: bool,
    /// True if a merge can have caused it, by placing the node.
    pub may_be_merged: bool,
    /// The code, the problem and the remedy.
    pub diagnostic: Diagnostic,
}

/// The file and the key of a stored fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredFact {
    /// A key among the settings that `tot_start` stored.
    Setting(&'static str),
    /// A key of a node's file.
    Node(NodeId, &'static str),
    /// A state change of a node, counted from 0.
    Change(NodeId, usize),
}

impl Violation {
    /// Creates a violation that no call can have stored.
    pub(super) fn error(place: StoredFact, code: Code, message: String) -> Self {
        let diagnostic = Diagnostic::new(code, message);
        Violation { place, is_error: true, may_be_merged: false, diagnostic }
    }

    /// Creates a violation about which a call would have warned.
    pub(super) fn warning(place: StoredFact, code: Code, message: String) -> Self {
        Violation { is_error: false, ..Violation::error(place, code, message) }
    }

    /// Marks the violation as one that a merge can have caused.
    pub(super) fn unless_merged(self) -> Self {
        Violation { may_be_merged: true, ..self }
    }

    /// Sets the suggested remedy.
    pub(super) fn suggest(mut self, suggestion: String) -> Self {
        self.diagnostic.suggestion = Some(suggestion.into());
        self
    }
}

/// Returns the committed nodes with their results.
pub(super) fn committed(investigation: &Investigation) -> impl Iterator<Item = (&Node, &Classification)> {
    investigation.nodes().filter_map(|node| Some((node.as_ref(), node.classification.as_ref()?)))
}

/// Returns the state changes of a node by agents and people that have no warning with this code, each with its number.
pub(super) fn changes_without(
    result: &Classification,
    code: Code,
) -> impl Iterator<Item = (usize, &Reclassification)> {
    result.reclassified.iter().enumerate().filter(move |(_, change)| {
        change.child().is_none() && change.warnings.iter().all(|warning| warning.code != code)
    })
}

/// Returns whether a rule with these bounds applies to a round.
pub(super) fn applies(from: Option<u32>, to: Option<u32>, round: u32) -> bool {
    from.unwrap_or(1) <= round && to.is_none_or(|last| round <= last)
}

/// Returns the problem if the bounds contain no round.
pub(super) fn no_round(from: Option<u32>, to: Option<u32>) -> Option<String> {
    let (from, to) = (from.unwrap_or(1), to.unwrap_or(u32::MAX));
    (from == 0 || from > to).then(|| format!("fromRound {from} and toRound {to} span no rounds"))
}

/// The remedy for bounds that span no rounds.
pub(super) const ROUNDS_REMEDY: &str = "rounds start at 1; toRound must not precede fromRound";

/// Formats rounds: `in round 3`, `in rounds 1 to 4`, `from round 4`.
pub(super) fn in_rounds(from: u32, to: Option<u32>) -> String {
    match to {
        None => format!("from round {from}"),
        Some(to) if to == from => format!("in round {from}"),
        Some(to) => format!("in rounds {from} to {to}"),
    }
}

/// Joins names with commas, as in `EXPLORE, FOUND, VERIFY`. Shows at most `most` names, followed by the number of
/// omitted names.
pub fn shortened<T: ToString>(names: &[T], most: usize) -> String {
    let shown = crate::ruleset::effective::list(names.iter().take(most).map(ToString::to_string));
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
