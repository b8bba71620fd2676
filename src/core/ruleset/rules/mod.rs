//! Rule kinds. Each file but `kind` defines one kind: its keys in the ruleset file and their possible contradictions, its
//! errors, warnings and conversions, the conditions under which it prevents ending, its description, and its checks of stored
//! facts. It begins with the docs for the authors of rulesets.
//!
//! [`KINDS`] lists all kinds in the order used by every caller: [`validity`](super::validity), the verbs in `decide`,
//! `tot check`, and the text for agents, the terminal and the report, which use the same sentences.
//!
//! # Adding a rule kind
//!
//! 1. `src/core/ruleset/rules/evidence.rs` is a small example. Copy it, document the key for the authors of rulesets,
//!    and fill in the [`RuleKind`] fields that the new kind needs.
//! 2. `src/core/ruleset/rules/mod.rs`: declare the module, add it to [`KINDS`], and add its key to [`Ruleset`].
//! 3. `src/core/domain/code.rs`: add its codes, each with its meaning.
//! 4. `tests/it/rules/kinds.yaml`: add a ruleset in which it fires. The tests on all kinds then cover it too.
//!
//! A kind that needs a new fact about a call adds it to the verb's check in `kind`, and the verb's module in `decide` fills it.
//! One that prevents ending may need a step of the planner in `decide::next`.
//!
//! Then run `TOT_WRITE_GUIDE=1 cargo test --test it guide`, which copies the docs to the guide for authors.

pub mod agents;
pub mod alternatives;
pub mod batch_limit;
pub mod breadth;
pub mod child_states;
pub mod children;
pub mod confirmation;
pub mod early_states;
pub mod evidence;
mod kind;
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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effective::EffectiveRules;
use super::schema::VERSION;
use crate::domain::{Code, Investigation, Node, NodeId};
use agents::{Checks, Enforcement};
use alternatives::Alternatives;
use breadth::Breadth;
use confirmation::Confirmation;
use early_states::EarlyState;
use evidence::Evidence;
pub use kind::{
    AmendmentCheck, CallDiagnostics, ProposalCheck, ReclassificationCheck, ResultCheck, RuleKind, StoredFact,
    Verb, Violation, shortened,
};
use kind::{ROUNDS_REMEDY, SILENT, applies, changes_without, committed, in_rounds, no_round};
use modes::Mode;
use roots::Roots;
use runs::Runs;
use states::State;
use terminal_ratio::TerminalRatio;
use verification::Verification;

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

/// A method of investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ruleset {
    /// The version of the file format: 1.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// The name, consisting of a-z, 0-9 and hyphens. The file is named `NAME.yaml`.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,60}$"))]
    pub name: String,
    /// The purpose of the method, in one line.
    pub summary: String,
    /// Advice for agents beyond the rules, in Markdown; included in the instructions.
    pub advice: Option<String>,
    /// The states of nodes, in display order.
    pub states: Vec<State>,
    /// Requirements for roots.
    #[serde(default)]
    pub roots: Roots,
    /// The maximum number of nodes in a proposal; absent for no limit.
    pub batch_limit: Option<u32>,
    /// The recommended breadth of one round.
    pub breadth: Option<Breadth>,
    /// Rules for states that come too early. The first matching rule applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early_states: Vec<EarlyState>,
    /// The evidence that some states require.
    pub evidence: Option<Evidence>,
    /// States that should be backed by commands, runs or cited files.
    pub runs: Option<Runs>,
    /// The alternatives that some states require.
    pub alternatives: Option<Alternatives>,
    /// Limits on the share of one commit that may be closed.
    pub terminal_ratio: Option<TerminalRatio>,
    /// States that wait for a child to confirm or refute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<Confirmation>,
    /// Rules on who must confirm answers.
    pub verification: Option<Verification>,
    /// The effect of open objections on ending the investigation; default: `warn`.
    #[serde(default = "Enforcement::warn", skip_serializing_if = "Enforcement::is_warn")]
    pub objections: Enforcement,
    /// Checks on agents' calls.
    #[serde(default)]
    pub checks: Checks,
    /// Requirements for ending the investigation.
    pub end: EndRules,
    /// Below this minimum number of rounds, early states are kept by default; `tot_start` can override this.
    pub allow_early_terminal_below: Option<u32>,
    /// The modes that `tot_start` may choose, the default first. Absent for a single mode, `deep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

/// Requirements for ending the investigation, apart from complete nodes and no pending proposals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "End")]
pub struct EndRules {
    /// The minimum round to reach. Reports `MIN_ROUNDS` if it is not reached.
    pub min_rounds: u32,
    /// The minimum round of the deepest node. Reports `DEPTH_TOO_SHALLOW` if it is not reached.
    pub min_depth: Option<u32>,
    /// The minimum composite quality in percent. Reports `QUALITY_TOO_LOW` below it.
    pub min_quality_percent: Option<u32>,
}

/// Adds the codes that the rule kinds declare for a call to the call's own.
pub fn codes(
    verb: Option<Verb>,
    own: &[Code],
    declared: fn(&RuleKind) -> &'static [(Verb, Code)],
) -> Vec<Code> {
    let of_kinds = KINDS.iter().flat_map(declared).filter(|(of, _)| Some(*of) == verb).map(|(_, code)| code);
    let mut all: Vec<Code> = own.iter().chain(of_kinds).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the rule that forbids storing the node below this parent, if any.
pub fn misplaced(rules: &EffectiveRules, node: &Node, parent: &Node) -> Option<Violation> {
    KINDS.iter().find_map(|kind| (kind.placement)(rules, node, parent))
}

/// Returns the stored facts that break the rules.
pub fn violations(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Violation> {
    let mut violations = Vec::new();
    for node in investigation.nodes() {
        let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent));
        violations.extend(parent.and_then(|parent| misplaced(rules, node, parent)));
    }
    for kind in &KINDS {
        (kind.stored_checks)(investigation, rules, &mut violations);
    }
    violations
}

/// Describes the requirements and effects of a state, in sentences.
pub fn of_state(rules: &EffectiveRules, state: &State) -> String {
    KINDS.iter().flat_map(|kind| (kind.of_state)(rules, state)).collect::<Vec<_>>().join(" ")
}

/// Describes the rules that apply across states, in sentences.
pub fn sentences(rules: &EffectiveRules) -> Vec<String> {
    KINDS.iter().flat_map(|kind| (kind.sentences)(rules)).collect()
}

/// The requirement for ending that no kind has.
const NO_PROPOSAL: &str = "No proposal is pending.";

/// Describes the requirements for ending, in sentences.
pub fn end(rules: &EffectiveRules) -> Vec<String> {
    let of_kinds = KINDS.iter().filter_map(|kind| (kind.end)(rules));
    of_kinds.chain([NO_PROPOSAL.to_owned()]).collect()
}

/// Returns the requirements for ending, each with the nodes that do not meet it. `None` stands for the investigation.
pub fn end_checked(
    rules: &EffectiveRules,
    investigation: &Investigation,
) -> Vec<(String, Vec<Option<NodeId>>)> {
    let lacking: Vec<_> = children::lacking(investigation, rules).collect();
    let of_kind = |kind: &RuleKind| {
        let missing = (kind.blockers)(investigation, rules, &lacking);
        let missing = missing.into_iter().chain((kind.end_checks)(investigation, rules, Enforcement::Reject));
        let nodes = missing.map(|it| it.node.and_then(|id| Some(investigation.find(&id).ok()?.id.clone())));
        let nodes: Vec<Option<NodeId>> = nodes.collect();
        // Kinds that say elsewhere what they require are named only where it is not met.
        let unmet = || (kind.sentences)(rules).into_iter().next().filter(|_| !nodes.is_empty());
        Some(((kind.end)(rules).or_else(unmet)?, nodes))
    };
    let pending = investigation.pending().map(|node| Some(node.id.clone())).collect();
    KINDS.iter().filter_map(of_kind).chain([(NO_PROPOSAL.to_owned(), pending)]).collect()
}
