//! `states.children`: nodes in an open state need `children`, at least `min` of them before the investigation can end.
//! The first entry whose `fromRound` and `toRound` match the node's round applies. With `of`, only children in these
//! states count.
//!
//! ```yaml
//! - {name: HYPOTHESIS, meaning: A possible cause, role: open, colour: lightblue, children: [{min: 3, toRound: 2}, {min: 1, of: [EVIDENCE, REFUTED]}]}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::{Role, State};
use super::{ROUNDS_REMEDY, RuleKind, SILENT, Verb, applies, in_rounds, no_round, shortened};
use crate::domain::{Code, Diagnostic, Investigation, Node, NodeId, StateName};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, joined, list};
use crate::ruleset::schema::LAST_ROUND;
use crate::ruleset::validity::Problems;

/// Children that a node needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Children {
    /// The minimum number.
    pub min: u32,
    /// The states of children that count; absent for all.
    pub of: Option<Vec<StateName>>,
    /// The first round of a node to which this applies; absent for 1.
    pub from_round: Option<u32>,
    /// The last round of a node to which this applies; absent for all later rounds.
    pub to_round: Option<u32>,
}

/// The number of children that an open node needs and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement<'a> {
    /// The number of required children.
    pub needs: u32,
    /// The number of existing children that count.
    pub has: u32,
    /// The child states that count; `None` for all.
    pub of: Option<&'a [StateName]>,
}

impl Requirement<'_> {
    /// Returns the number of missing children.
    pub fn missing(&self) -> u32 {
        self.needs.saturating_sub(self.has)
    }

    /// Describes the required children: `2 children`, `1 VERIFY child`.
    pub fn describe(&self) -> String {
        children(self.needs, self.of)
    }
}

/// Reports `INSUFFICIENT_CHILDREN`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "states.children",
    errors: &[(Verb::End, Code::InsufficientChildren)],
    problems,
    of_state,
    end,
    blockers,
    ..SILENT
};

impl<'a> EffectiveRules<'a> {
    /// Returns the number and states of the children that a node in this state and round needs.
    pub fn required_children(&self, state: &StateName, round: u32) -> Option<(u32, Option<&'a [StateName]>)> {
        let state = self.ruleset.state(state).filter(|state| !state.terminal)?;
        let rule = state.children.iter().find(|rule| applies(rule.from_round, rule.to_round, round))?;
        let most = self.mode.and_then(|mode| mode.max_children_owed).unwrap_or(u32::MAX);
        Some((rule.min.min(most), rule.of.as_deref()))
    }

    /// Returns the child requirement for a committed node; `None` for pending and terminal nodes.
    pub fn requirement(&self, investigation: &Investigation, node: &Node) -> Option<Requirement<'a>> {
        let (needs, of) = self.required_children(node.state()?, node.round())?;
        let children = investigation.committed_children(&node.id);
        let has = children.filter(|(_, state)| of.is_none_or(|of| of.contains(state))).count();
        Some(Requirement { needs, has: u32::try_from(has).unwrap_or(u32::MAX), of })
    }

    /// Returns the open nodes that need more children, ordered by round and suffix.
    pub fn incomplete<'i>(&self, investigation: &'i Investigation) -> impl Iterator<Item = Lacking<'i, 'a>> {
        let nodes = investigation.nodes().map(AsRef::as_ref);
        let required = nodes.filter_map(|node: &Node| Some((node, self.requirement(investigation, node)?)));
        required.filter(|(_, requirement)| requirement.missing() > 0)
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    for (at, state) in ruleset.states.iter().enumerate() {
        let name = &state.name;
        problems.item = Some(at);
        if state.terminal && !state.children.is_empty() {
            let reason = format!("{name} is terminal and can't require children");
            problems.add("children", reason, "omit either children or terminal");
        }
        if !state.terminal && state.children.iter().all(|children| children.min == 0) {
            let reason = format!("{name} is open, but requires no child");
            problems.add(name, reason, "write `terminal: true`, or require one: `children: [{min: 1}]`");
        }
        if let Some(reason) = state.children.iter().find_map(|rule| no_round(rule.from_round, rule.to_round))
        {
            problems.add("fromRound", reason, ROUNDS_REMEDY);
        }
        if let Some(round) = never_complete(ruleset, state) {
            let reason = format!(
                "{name} of round {round} could never have its required children: none of their states can be \
                 committed in round {}",
                round + 1
            );
            problems.add(name, reason, "let them come earlier under earlyStates, or this state later");
        }
        for children in &state.children {
            problems.check_states(ruleset, children.of.iter().flatten());
        }
    }
}

/// Returns the first round in which the state can be committed but its required children can't be committed in the next
/// round.
fn never_complete(ruleset: &Ruleset, state: &State) -> Option<u32> {
    let last = ruleset.early_states.iter().map(|rule| rule.to_round).max().unwrap_or(0).min(LAST_ROUND);
    let mut rounds =
        (1..=last.saturating_add(1)).filter(|round| ruleset.early_rule(&state.name, *round).is_none());
    rounds.find(|round| {
        let mut rules = state.children.iter();
        let Some(rule) = rules.find(|rule| applies(rule.from_round, rule.to_round, *round)) else {
            return false;
        };
        let counts = |child: &StateName| {
            rule.of.as_ref().is_none_or(|of| of.contains(child))
                && state.child_states.as_ref().is_none_or(|allowed| allowed.contains(child))
        };
        // The state that is stored; `None` if the commit is refused.
        let stored = |child: &StateName| match ruleset.early_rule(child, round + 1) {
            None => Some(child.clone()),
            Some(rule) => rule.store_as.clone(),
        };
        let known = rule.of.iter().flatten().all(|name| ruleset.state(name).is_some());
        let possible = ruleset.states.iter().any(|child| counts(&child.name));
        rule.min > 0
            && known
            && possible
            && !ruleset.states.iter().filter_map(|child| stored(&child.name)).any(|child| counts(&child))
    })
}

/// Describes the required children by round: `Needs 2 children in rounds 1 to 2, 1 child from round 3.`
fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    // Each sentence with its first round; empty if no children are required.
    let mut said: Vec<(u32, String)> = Vec::new();
    for round in 1..=LAST_ROUND {
        let need = match rules.required_children(&state.name, round) {
            Some((min, of)) if min > 0 => children(min, of),
            _ => String::new(),
        };
        if said.last().is_none_or(|(_, last)| *last != need) {
            said.push((round, need));
        }
    }
    let ends = said.iter().skip(1).map(|(next, _)| Some(next - 1)).chain([None]);
    let sentences = said.iter().zip(ends).filter(|((_, need), _)| !need.is_empty());
    let each: Vec<String> = sentences
        .map(|((from, need), to)| match (from, to) {
            (1, None) => need.clone(),
            (from, to) => format!("{need} {}", in_rounds(*from, to)),
        })
        .collect();
    if each.is_empty() { Vec::new() } else { vec![format!("Needs {}.", each.join(", "))] }
}

fn end(_: &EffectiveRules) -> Option<String> {
    Some("Every open node has the children it needs.".to_owned())
}

/// An open node, and the children that it lacks.
pub type Lacking<'i, 'r> = (&'i Node, Requirement<'r>);

/// Returns the nodes reported with `INSUFFICIENT_CHILDREN`.
pub fn lacking<'i, 'r>(
    investigation: &'i Investigation,
    rules: &EffectiveRules<'r>,
) -> impl Iterator<Item = Lacking<'i, 'r>> {
    rules.incomplete(investigation).filter(|lacking| is_lacking(investigation, rules, lacking))
}

/// Returns whether a node with this unmet requirement is reported with `INSUFFICIENT_CHILDREN`. A missing confirmation
/// may also be a missing required child, but only `verification` reports it.
pub fn is_lacking(
    investigation: &Investigation,
    rules: &EffectiveRules,
    (node, requirement): &Lacking,
) -> bool {
    let is_confirmation = |of: &[StateName]| of.iter().any(|state| rules.role(state) == Role::Confirmation);
    requirement.missing() != 1
        || !requirement.of.is_none_or(is_confirmation)
        || !rules.lacks_confirmation(investigation, node)
}

fn blockers(investigation: &Investigation, _: &EffectiveRules, lacking: &[Lacking]) -> Vec<Diagnostic> {
    let blocker = |(node, requirement): &Lacking| {
        let state = node.state()?;
        let (needs, has) = (requirement.describe(), requirement.has);
        let message = format!("{} is {state} and needs {needs}; it has {has}.", node.id);
        let how = how_to_complete(investigation, node, requirement);
        Some(Diagnostic::new(Code::InsufficientChildren, message).about(&node.id).suggest(how))
    };
    lacking.iter().filter_map(blocker).collect()
}

/// Returns the remedy for missing children. Pending children need no further proposal.
fn how_to_complete(investigation: &Investigation, node: &Node, requirement: &Requirement) -> String {
    let of = requirement.of;
    let pending: Vec<&NodeId> =
        investigation.children(&node.id).filter(|child| child.is_pending()).map(|child| &child.id).collect();
    let round = node.round().saturating_add(1);
    let lacking = requirement.missing().saturating_sub(u32::try_from(pending.len()).unwrap_or(u32::MAX));
    if pending.is_empty() {
        return format!("Propose {} below it, in round {round}.", children(lacking, of));
    }
    let named = shortened(&pending, 5);
    let states = of.map(|of| format!(" as {}", list(of))).unwrap_or_default();
    match lacking {
        0 => format!("Commit {named}{states}."),
        lacking => {
            format!("Commit {named}{states}, and also propose {} below {}.", children(lacking, of), node.id)
        }
    }
}

/// Formats the number of children: `2 children`, `1 VERIFY child`, `2 VERIFY or DEAD children`.
pub fn children(number: u32, of: Option<&[StateName]>) -> String {
    let noun = if number == 1 { "child" } else { "children" };
    match of {
        None => format!("{number} {noun}"),
        Some(of) => format!("{number} {} {noun}", joined(of, "or")),
    }
}
