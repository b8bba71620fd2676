//! `roots`: the first proposal must have at least `min` roots (`INSUFFICIENT_ROOTS`); with `minIsChosen`, `tot_start`
//! may set another number with `minRoots`. At most `max` roots are allowed (`TOO_MANY_ROOTS`), and only with the ids in
//! `ids` (`INVALID_ROOT_ID`).
//!
//! ```yaml
//! roots: {min: 3, minIsChosen: true, max: 8}
//! batchLimit: 8
//! ```
//!
//! ```yaml
//! roots: {ids: [R1.A, R1.B]}
//! ```

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallDiagnostics, ProposalCheck, RuleKind, SILENT, StoredFact, Verb, Violation, committed};
use crate::domain::{
    Classification, Code, Diagnostic, Investigation, Node, ShortId, StateName, Timestamp, Wording,
};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::Problems;
use crate::text::counted;

/// Requirements for roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Roots {
    /// The minimum number of roots in the first batch.
    pub min: u32,
    /// True if `tot_start` may set a different number with `minRoots`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub min_is_chosen: bool,
    /// The maximum number of roots; absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The allowed root ids; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<ShortId>>,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { min: 1, min_is_chosen: false, max: None, ids: None }
    }
}

/// Reports `INSUFFICIENT_ROOTS`, `TOO_MANY_ROOTS` and `INVALID_ROOT_ID`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "roots",
    errors: &[
        (Verb::Propose, Code::InsufficientRoots),
        (Verb::Propose, Code::TooManyRoots),
        (Verb::Propose, Code::InvalidRootId),
    ],
    problems,
    sentences,
    propose,
    stored_checks,
    ..SILENT
};

/// Returns the minimum number of roots for a new investigation.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the ruleset fixes another number, or if that many roots exceed the batch limit.
pub fn chosen(ruleset: &Ruleset, asked: Option<u32>) -> Result<u32, Diagnostic> {
    let (roots, own) = (&ruleset.roots, ruleset.roots.min);
    let Some(asked) = asked else { return Ok(own) };
    let most = ruleset.batch_limit.unwrap_or(u32::MAX).min(roots.max.unwrap_or(u32::MAX));
    let setting = Wording::both("minRoots", "--min-roots");
    let (message, suggestion) = if !roots.min_is_chosen && asked != own {
        let message = setting.map(|it| format!("{it}: {} fixes it at {own}.", ruleset.name));
        (message, setting.map(|it| format!("Leave {it} out.")))
    } else if asked < 1 || asked > most {
        let message =
            setting.map(|it| format!("{it} is {asked}; use 1 to {most}, since one batch allows no more."));
        (message, format!("Leave it out for {own}, or choose within this range.").into())
    } else {
        return Ok(asked);
    };
    Err(Diagnostic::new(Code::InvalidArgument, message).suggest(suggestion))
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let roots = &ruleset.roots;
    if roots.min == 0 {
        problems.add("min", "there must be at least one root", "write `min: 1`, or leave it out");
    }
    if roots.max.is_some_and(|max| max < roots.min) {
        problems.add("max", "max is below min", "raise max, or lower min");
    }
    if roots.ids.as_ref().is_some_and(|ids| ids.iter().any(|id| id.round() != 1)) {
        problems.add("ids", "a root is in round 1", "use ids like R1.A");
    }
    if roots.ids.as_ref().is_some_and(|ids| (ids.len() as u64) < u64::from(roots.min)) {
        problems.add("ids", "there are fewer ids than roots", "name as many as min, or leave ids out");
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let roots = &rules.ruleset().roots;
    let ids = roots.ids.as_ref().map(|ids| format!(", {}", list(ids))).unwrap_or_default();
    vec![match (rules.min_roots, roots.max) {
        (1, Some(1)) => format!("One root{ids}."),
        (least, Some(most)) if least == most => format!("{least} roots in the first proposal{ids}."),
        (least, Some(most)) => format!("{least} to {most} roots{ids}."),
        (1, None) => format!("One or more roots{ids}."),
        (least, None) if roots.min_is_chosen => {
            format!("{least} or more roots in the first proposal{ids}; minRoots may choose another number.")
        }
        (least, None) => format!("{least} or more roots in the first proposal{ids}."),
    }]
}

/// Describes the first proposal, for the research loop in the instructions.
pub(in crate::ruleset) fn first_step(rules: &EffectiveRules) -> String {
    let roots = &rules.ruleset().roots;
    match (&roots.ids, rules.min_roots, roots.max) {
        (Some(ids), _, _) if ids.len() == 1 => format!("one root, {} (parent: null)", ids[0]),
        (_, 1, Some(1)) => "one root (parent: null)".to_owned(),
        (_, 1, _) => "one or more roots, R1.A, R1.B, … (parent: null)".to_owned(),
        (_, least, _) => format!("{least} or more roots in one batch, R1.A, R1.B, … (parent: null)"),
    }
}

/// Checks the root limits, counting both committed and pending roots.
fn propose(proposal: &ProposalCheck, diagnostics: &mut CallDiagnostics) {
    let ProposalCheck { investigation, rules, nodes, asked_roots, withdrawn, .. } = proposal;
    let new: Vec<&ShortId> =
        nodes.iter().filter(|node| node.parent.is_none()).map(|node| node.id.short()).collect();
    let roots = &rules.ruleset().roots;
    let name = &rules.ruleset().name;
    let recovery = rules.recovery_required(investigation);
    if let Some(ids) = roots.ids.as_ref().filter(|_| !recovery) {
        for id in new.iter().filter(|id| !ids.contains(id)) {
            let how = format!("The root is {}; propose other nodes below it.", list(ids));
            diagnostics.refuse(Code::InvalidRootId, id, format!("{id} can't be a root in {name}."), how);
        }
    }
    let kept = || investigation.roots().filter(|node| !withdrawn.contains(&node.id));
    let total = kept().filter(|node| !new.contains(&node.id.short())).count() + new.len();
    let committed = investigation.roots().filter(|node| !node.is_pending()).count();
    // If no node can continue, one more root is allowed.
    let most = roots.max.map(|max| if recovery { (max as usize).max(committed + 1) } else { max as usize });
    if let Some(most) = most.filter(|most| total > *most)
        && let Some(last) = new.last()
    {
        let suggestion = match recovery {
            true => "Propose one further root, and the others below it once it is committed.",
            false => "Propose the node as a child of a committed one.",
        };
        let message = format!("There would be {total} roots; {name} allows {most} here.");
        diagnostics.refuse(Code::TooManyRoots, last, message, suggestion);
    }
    let least = rules.min_roots as usize;
    let kept = kept().filter(|node| !asked_roots.contains(node.id.short().as_str())).count();
    // All roots may be withdrawn to start over. Otherwise, enough roots must remain.
    let takes_back = kept > 0 && withdrawn.iter().any(|id| id.round() == 1);
    let total = kept + asked_roots.len();
    if (!asked_roots.is_empty() || takes_back) && total < least {
        let message = format!("There would be {total} roots; at least {least} are required.");
        let suggestion = match asked_roots.is_empty() {
            true => format!("Withdraw all of them to start over, or keep at least {least}.").into(),
            false => {
                let missing = least - kept;
                Wording::both(" (parent: null)", " (`tot propose --next` has them)")
                    .map(|how| format!("Give {missing} roots in this batch{how}, from different angles."))
            }
        };
        diagnostics.refuse(Code::InsufficientRoots, "", message, suggestion);
    }
}

/// Checks the number and the ids of the stored roots.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    let (ruleset, meta) = (rules.ruleset(), investigation.meta());
    let (rule, name) = (&ruleset.roots, &ruleset.name);
    if !rule.min_is_chosen && meta.min_roots != rule.min {
        let message = format!("minRoots is {}, but {name} fixes it at {}.", meta.min_roots, rule.min);
        violations.push(Violation::error(StoredFact::Setting("minRoots"), Code::MinRootsChanged, message));
    }
    let place = |root: &Node| StoredFact::Node(root.id.clone(), "id");
    // If no branch can continue, `tot_propose` accepts another root with any id.
    let is_ordinary = |root: &&Arc<Node>| !recovery_at(investigation, rules, root);
    let ordinary: Vec<_> = investigation.roots().filter(is_ordinary).collect();
    for root in &ordinary {
        if let Some(ids) = rule.ids.as_ref().filter(|ids| !ids.contains(root.id.short())) {
            let message = format!("{} can't be a root in {name}: its root is {}.", root.id, list(ids));
            let violation = Violation::error(place(root), Code::InvalidRootId, message);
            violations.push(violation.unless_merged());
        }
    }
    let most = rule.max.map_or(usize::MAX, |max| max as usize);
    for root in ordinary.iter().skip(most) {
        let message = format!("{name} allows {}, but there are {}.", counted(most, "root"), ordinary.len());
        let violation = Violation::error(place(root), Code::TooManyRoots, message);
        violations.push(violation.unless_merged());
    }
    let (has, least) = (investigation.roots().count(), rules.min_roots as usize);
    if let Some(first) = investigation.roots().next().filter(|_| has < least) {
        let message = format!("It has {has} of the {least} required roots.");
        violations.push(Violation::warning(place(first), Code::InsufficientRoots, message));
    }
}

/// Returns whether all branches were closed before the minimum round when the root was proposed.
fn recovery_at(investigation: &Investigation, rules: &EffectiveRules, root: &Node) -> bool {
    let mut earlier = committed(investigation)
        .filter(|(node, _)| node.id != root.id)
        .filter_map(|(node, result)| Some((node.round(), state_at(result, root.proposed_at)?)))
        .peekable();
    earlier.peek().is_some()
        && earlier.all(|(round, state)| round < rules.min_rounds && rules.is_terminal(state))
}

/// Returns the state at the given time, or `None` if the node was not committed yet.
fn state_at(result: &Classification, at: Timestamp) -> Option<&StateName> {
    if result.committed_at > at {
        return None;
    }
    let before = result.reclassified.iter().take_while(|change| change.at <= at);
    Some(before.last().map_or(&result.state, |change| &change.to))
}
