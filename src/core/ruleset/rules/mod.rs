//! Rule kinds. Each file defines one kind: its keys in the ruleset file and their possible contradictions, its errors,
//! warnings and conversions, the conditions under which it prevents ending, and its description.
//!
//! [`KINDS`] lists all kinds in the order used by every caller: [`validity`](super::validity), the verbs in `decide`,
//! and the text for agents, the terminal and the report, which use the same sentences.
//!
//! # Adding a rule kind
//!
//! 1. `src/core/ruleset/rules/evidence.rs` is a small example. Copy it and fill in the [`RuleKind`] fields that the new
//!    kind needs.
//! 2. `src/core/ruleset/rules/mod.rs`: declare the module and add it to [`KINDS`].
//! 3. `src/core/ruleset/schema.rs`: add its key to the ruleset type.
//! 4. `src/core/domain/code.rs`: add its codes, each with its meaning.
//! 5. `src/core/decide/commit.rs`, `src/core/decide/reclassify.rs` or a neighboring file: add its codes to the code
//!    lists of the calls that return them.
//! 6. `src/service/check/tree.rs`: make `tot check` report stored facts that violate the rule.
//! 7. `src/report/site.rs`: add its key, unset, to the fallback for unreadable rulesets.
//! 8. `src/core/ruleset/builtin/README.md`: document its key for ruleset authors.
//! 9. `tests/it/rules/kinds.rs`: add a ruleset that triggers the rule, and the expected message. The other tests in the
//!    file then cover the rule too.

pub mod agents;
pub mod alternatives;
pub mod batch_limit;
pub mod breadth;
pub mod child_states;
pub mod children;
pub mod confirmation;
pub mod early_states;
pub mod evidence;
pub mod min_depth;
pub mod min_rounds;
pub mod modes;
pub mod objections;
pub mod quality;
pub mod roots;
pub mod runs;
pub mod secrets;
pub mod states;
pub mod terminal_ratio;
pub mod verification;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::effective::EffectiveRules;
use super::schema::{Enforcement, Ruleset};
use super::validity::Contradiction;
use crate::domain::{Code, Diagnostic, Investigation, Node, NodeId, RunId, StateName, Timestamp, Wording};
use states::State;

/// All rule kinds, in the order in which they are checked and reported.
pub const KINDS: [RuleKind; 20] = [
    min_rounds::KIND,
    min_depth::KIND,
    states::KIND,
    children::KIND,
    child_states::KIND,
    early_states::KIND,
    evidence::KIND,
    runs::KIND,
    alternatives::KIND,
    confirmation::KIND,
    verification::KIND,
    objections::KIND,
    terminal_ratio::KIND,
    batch_limit::KIND,
    roots::KIND,
    breadth::KIND,
    agents::KIND,
    secrets::KIND,
    quality::KIND,
    modes::KIND,
];

/// A rule kind, with one function for each aspect.
pub struct RuleKind {
    /// The key in the ruleset file; nested keys contain a dot.
    pub key: &'static str,
    /// Reports contradictions in a ruleset.
    pub problems: fn(&Ruleset, &mut Vec<Contradiction>),
    /// Describes the effect on nodes in one state, in sentences.
    pub of_state: fn(&EffectiveRules, &State) -> Vec<String>,
    /// Describes the requirements across states, in sentences.
    pub sentences: fn(&EffectiveRules) -> Vec<String>,
    /// Describes the requirement for ending, in one sentence.
    pub end: fn(&EffectiveRules) -> Option<String>,
    /// Reports errors in a proposal as a whole.
    pub propose: fn(&ProposalCheck, &mut CallVerdict),
    /// Reports errors in one result of a commit.
    pub commit: fn(&ResultCheck, &mut CallVerdict),
    /// Reports errors in a commit as a whole. Each node is paired with the state to store.
    pub commit_together: fn(&Investigation, &EffectiveRules, &[(&Node, StateName)], &mut CallVerdict),
    /// Reports errors in a state change.
    pub reclassify: fn(&ReclassificationCheck, &mut CallVerdict),
    /// Returns the conditions that prevent ending. Thousands of nodes may lack children, so describes at most the given
    /// number of them.
    pub blockers: fn(&Investigation, &EffectiveRules, usize) -> Vec<Diagnostic>,
    /// Returns the doubts about a conclusion that have this enforcement level in the ruleset.
    pub end_checks: fn(&Investigation, &EffectiveRules, Enforcement) -> Vec<Diagnostic>,
}

/// A rule kind without any effect, as the base for all others.
const SILENT: RuleKind = RuleKind {
    key: "",
    problems: |_, _| {},
    of_state: |_, _| Vec::new(),
    sentences: |_| Vec::new(),
    end: |_| None,
    propose: |_, _| {},
    commit: |_, _| {},
    commit_together: |_, _, _, _| {},
    reclassify: |_, _| {},
    blockers: |_, _, _| Vec::new(),
    end_checks: |_, _, _| Vec::new(),
};

/// The results of checking a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallVerdict {
    /// The errors for which the call is refused.
    pub errors: Vec<Diagnostic>,
    /// Warnings about the call.
    pub warnings: Vec<Diagnostic>,
}

impl CallVerdict {
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
    /// The requested state.
    pub asked: &'a StateName,
    /// The state to store.
    pub state: &'a StateName,
    /// The evidence.
    pub evidence: Option<&'a str>,
    /// The alternatives considered.
    pub alternatives: &'a [String],
    /// The agent that did the research.
    pub agent: Option<&'a str>,
    /// True if a person did the research.
    pub is_person: bool,
    /// The start of the work, if given.
    pub started_at: Option<Timestamp>,
    /// True if the result names commands or runs.
    pub has_commands: bool,
    /// The captured runs that the result names.
    pub runs: &'a [RunId],
    /// True if the result cites a file that was found.
    pub cites_a_file: bool,
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
    /// The new state.
    pub to: &'a StateName,
    /// The reason.
    pub reason: Option<&'a str>,
    /// The evidence given with the change.
    pub evidence: Option<&'a str>,
    /// The alternatives given with the change.
    pub alternatives: &'a [String],
}

/// Describes the requirements and effects of a state, in sentences.
pub fn of_state(rules: &EffectiveRules, state: &State) -> String {
    KINDS.iter().flat_map(|kind| (kind.of_state)(rules, state)).collect::<Vec<_>>().join(" ")
}

/// Describes the rules that apply across states, in sentences.
pub fn sentences(rules: &EffectiveRules) -> Vec<String> {
    KINDS.iter().flat_map(|kind| (kind.sentences)(rules)).collect()
}

/// Describes the requirements for ending, in sentences.
pub fn end(rules: &EffectiveRules) -> Vec<String> {
    let of_kinds = KINDS.iter().filter_map(|kind| (kind.end)(rules));
    of_kinds.chain(["No proposal is pending.".to_owned()]).collect()
}

/// Returns whether a rule with these bounds applies to a round.
fn applies(from: Option<u32>, to: Option<u32>, round: u32) -> bool {
    from.unwrap_or(1) <= round && to.is_none_or(|last| round <= last)
}

/// Returns the problem if the bounds contain no round.
fn no_round(from: Option<u32>, to: Option<u32>) -> Option<String> {
    let (from, to) = (from.unwrap_or(1), to.unwrap_or(u32::MAX));
    (from == 0 || from > to).then(|| format!("fromRound {from} and toRound {to} span no rounds"))
}

/// The remedy for bounds that span no rounds.
const ROUNDS_REMEDY: &str = "rounds start at 1; toRound must not precede fromRound";

/// Formats rounds: `in round 3`, `in rounds 1 to 4`, `from round 4`.
fn in_rounds(from: u32, to: Option<u32>) -> String {
    match to {
        None => format!("from round {from}"),
        Some(to) if to == from => format!("in round {from}"),
        Some(to) => format!("in rounds {from} to {to}"),
    }
}

/// Joins names with commas, as in `EXPLORE, FOUND, VERIFY`. Shows at most `most` names, followed by the number of
/// omitted names.
pub fn shortened<T: ToString>(names: &[T], most: usize) -> String {
    let shown = super::effective::list(names.iter().take(most).map(ToString::to_string));
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
