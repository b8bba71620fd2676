//! The kinds of rules, each in a file of its own: its keys in the ruleset file, their contradictions, its refusals, conversions
//! and warnings, its blockers of the end, and its one wording.
//!
//! [`KINDS`] lists them. All callers go through them in that order: [`validity`](super::validity), the verbs of `decide`, and
//! the texts for agents, at a terminal and in the report, which use the same sentences.
//!
//! # To add a rule kind
//!
//! 1. `src/core/ruleset/rules/evidence.rs` is a small one to begin from: copy it, and answer those questions of [`Kind`] that
//!    concern the new one.
//! 2. `src/core/ruleset/rules/mod.rs`: the module, and its place in [`KINDS`].
//! 3. `src/core/ruleset/schema.rs`: its key in the ruleset file.
//! 4. `src/core/domain/code.rs`: its codes, each with its meaning.
//! 5. `src/core/decide/commit.rs`, `src/core/decide/reclassify.rs` or their neighbours: its codes among those of the call that
//!    answers them.
//! 6. `src/check/tree.rs`: what `tot check` says of stored facts that break it.
//! 7. `src/report/site.rs`: its key once more, absent, in the ruleset that stands in for one that cannot be read.
//! 8. `src/core/ruleset/builtin/README.md`: its key, for those who write rulesets.
//! 9. `tests/it/rules/kinds.rs`: a ruleset in which it fires and what it says; the other tests there follow from it.

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
use std::sync::Arc;

use super::effective::EffectiveRules;
use super::schema::{Enforcement, Ruleset};
use super::validity::Fault;
use crate::domain::{Code, Diagnostic, Investigation, Node, NodeId, RunId, StateName, Timestamp};
use states::State;

/// Every kind of rule, in the order in which they are checked and reported.
pub const KINDS: [Kind; 20] = [
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

/// One kind of rule: its answer to each question.
pub struct Kind {
    /// Its key in the ruleset file; a dot before one within another.
    pub key: &'static str,
    /// Reports contradictions in a ruleset.
    pub faults: fn(&Ruleset, &mut Vec<Fault>),
    /// Returns its meaning for nodes in one state, in sentences.
    pub of_state: fn(&EffectiveRules, &State) -> Vec<String>,
    /// Returns its requirements across states, in sentences.
    pub sentences: fn(&EffectiveRules) -> Vec<String>,
    /// Returns its requirement for the end, in a sentence.
    pub end: fn(&EffectiveRules) -> Option<String>,
    /// Reports faults of a proposal as a whole.
    pub propose: fn(&Proposed, &mut Verdict),
    /// Reports faults of one result of a commit.
    pub commit: fn(&Committed, &mut Verdict),
    /// Reports faults of the nodes of a commit together: each with the state that it would be stored with.
    pub commit_together: fn(&Investigation, &EffectiveRules, &[(&Node, StateName)], &mut Verdict),
    /// Reports faults of a change of state.
    pub reclassify: fn(&Reclassified, &mut Verdict),
    /// Reports its blockers of the end.
    pub blockers: fn(&Investigation, &EffectiveRules, &mut Blockers),
    /// Returns its warnings of an end.
    pub end_warnings: fn(&Investigation, &EffectiveRules) -> Vec<Diagnostic>,
}

impl Kind {
    /// A kind that asks nothing, to be filled in.
    const SILENT: Kind = Kind {
        key: "",
        faults: |_, _| {},
        of_state: |_, _| Vec::new(),
        sentences: |_| Vec::new(),
        end: |_| None,
        propose: |_, _| {},
        commit: |_, _| {},
        commit_together: |_, _, _, _| {},
        reclassify: |_, _| {},
        blockers: |_, _, _| {},
        end_warnings: |_, _| Vec::new(),
    };
}

/// The findings of rules about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Reasons to refuse it.
    pub errors: Vec<Diagnostic>,
    /// Its warnings.
    pub warnings: Vec<Diagnostic>,
}

impl Verdict {
    /// Adds a finding that a ruleset may ignore, warn of or refuse.
    pub fn add(&mut self, enforcement: Enforcement, diagnostic: Diagnostic) {
        match enforcement {
            Enforcement::Off => {}
            Enforcement::Warn => self.warnings.push(diagnostic),
            Enforcement::Reject => self.errors.push(diagnostic),
        }
    }
}

/// The blockers of the end, in the order in which they are found: all of them, or a summary that words only the first of each
/// code, since thousands of nodes may lack children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blockers {
    /// All blockers; in a summary the first of each code.
    pub list: Vec<Diagnostic>,
    /// The number of blockers of each code, in the order of the first of each.
    pub debts: Vec<Debt>,
    is_summary: bool,
}

/// The blockers of one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debt {
    /// The code.
    pub code: Code,
    /// Their number.
    pub count: usize,
    /// The nodes of the first three.
    pub nodes: Vec<String>,
}

impl Blockers {
    /// A summary that words only the first of each code.
    pub fn summary() -> Blockers {
        Blockers { is_summary: true, ..Blockers::default() }
    }

    /// Adds one of that code about that node, which is worded only where it is kept.
    pub fn add(&mut self, code: Code, node: Option<&str>, word: impl FnOnce() -> Diagnostic) {
        /// The most nodes that are named.
        const NAMED: usize = 3;
        let at = self.debts.iter().position(|debt| debt.code == code).unwrap_or_else(|| {
            self.debts.push(Debt { code, count: 0, nodes: Vec::new() });
            self.debts.len() - 1
        });
        let debt = &mut self.debts[at];
        debt.count += 1;
        debt.nodes.extend(node.filter(|_| debt.nodes.len() < NAMED).map(str::to_owned));
        if !self.is_summary || debt.count == 1 {
            self.list.push(word());
        }
    }

    /// Adds one.
    pub fn push(&mut self, blocker: Diagnostic) {
        let node = blocker.node.clone();
        self.add(blocker.code.clone(), node.as_deref(), || blocker);
    }
}

impl Extend<Diagnostic> for Blockers {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, blockers: T) {
        blockers.into_iter().for_each(|blocker| self.push(blocker));
    }
}

/// A proposal, as rules see it.
pub struct Proposed<'a> {
    /// The investigation of the proposal.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The number of nodes in the call.
    pub number: usize,
    /// The nodes of the call without a fault of their own.
    pub nodes: &'a [Arc<Node>],
    /// All new roots of the call, faulty ones included: they will come once they are mended.
    pub asked_roots: &'a HashSet<String>,
    /// The pending proposals that it takes back.
    pub withdrawn: &'a [NodeId],
}

/// One result of a commit, as rules see it.
pub struct Committed<'a> {
    /// The investigation of the commit.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The proposal.
    pub node: &'a Node,
    /// The state that was asked for.
    pub asked: &'a StateName,
    /// The state that it would be stored with.
    pub state: &'a StateName,
    /// The evidence.
    pub evidence: Option<&'a str>,
    /// The alternatives considered.
    pub alternatives: &'a [String],
    /// The agent that did the research.
    pub agent: Option<&'a str>,
    /// Whether a person did it.
    pub is_person: bool,
    /// When the work began, if the result says so.
    pub started_at: Option<Timestamp>,
    /// Whether it names its runs.
    pub has_commands: bool,
    /// The captured runs that it names.
    pub runs: &'a [RunId],
    /// Whether it cites a file that was found.
    pub cites_a_file: bool,
    /// The node that names this agent already.
    pub agents_other: Option<&'a NodeId>,
    /// When.
    pub now: Timestamp,
}

/// A change of state, as rules see it.
pub struct Reclassified<'a> {
    /// The investigation of the change.
    pub investigation: &'a Investigation,
    /// The rules in force.
    pub rules: &'a EffectiveRules<'a>,
    /// The node, as it is.
    pub node: &'a Node,
    /// The new state.
    pub to: &'a StateName,
    /// Why.
    pub reason: Option<&'a str>,
    /// The evidence that comes with the change.
    pub evidence: Option<&'a str>,
    /// The alternatives that come with the change.
    pub alternatives: &'a [String],
}

/// Returns the requirements and effects of a state, in sentences.
pub fn of_state(rules: &EffectiveRules, state: &State) -> String {
    KINDS.iter().flat_map(|kind| (kind.of_state)(rules, state)).collect::<Vec<_>>().join(" ")
}

/// The rules that go across states, in sentences.
pub fn sentences(rules: &EffectiveRules) -> Vec<String> {
    KINDS.iter().flat_map(|kind| (kind.sentences)(rules)).collect()
}

/// Returns the requirements of the end, in sentences.
pub fn end(rules: &EffectiveRules) -> Vec<String> {
    let of_kinds = KINDS.iter().filter_map(|kind| (kind.end)(rules));
    of_kinds.chain(["No proposal is pending.".to_owned()]).collect()
}

/// Whether a rule with these bounds applies to a round.
fn applies(from: Option<u32>, to: Option<u32>, round: u32) -> bool {
    from.unwrap_or(1) <= round && to.is_none_or(|last| round <= last)
}

/// Returns the fault of bounds that contain no round.
fn no_round(from: Option<u32>, to: Option<u32>) -> Option<String> {
    let (from, to) = (from.unwrap_or(1), to.unwrap_or(u32::MAX));
    (from == 0 || from > to).then(|| format!("fromRound {from} and toRound {to} contain no round"))
}

/// The remedy.
const MEND_ROUNDS: &str = "rounds are counted from 1, and toRound is the later one";

/// `in round 3`, `in rounds 1 to 4`, `from round 4`.
fn in_rounds(from: u32, to: Option<u32>) -> String {
    match to {
        None => format!("from round {from}"),
        Some(to) if to == from => format!("in round {from}"),
        Some(to) => format!("in rounds {from} to {to}"),
    }
}

/// Joins names with commas: `EXPLORE, FOUND, VERIFY`; after `most` of them, gives the number of further ones.
pub fn shortened<T: ToString>(names: &[T], most: usize) -> String {
    let shown = super::effective::list(names.iter().take(most).map(ToString::to_string));
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
