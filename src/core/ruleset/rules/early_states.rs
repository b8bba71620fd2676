//! `earlyStates`: each rule names `states` that come too early from `fromRound` to `toRound`. A rule with `storeAs` is
//! a conversion: the node is stored with that state, and the reply warns with `code` (by default `DEPTH_ENFORCED`). A
//! rule without it is a lock: the commit is refused (`STATE_LOCKED`). The first matching rule applies, and the state
//! that it stores must be allowed in these rounds. Round 100 is the last: with `toRound: 100`, only a confirmation or a
//! reclassification can set the state. A reclassification to an early state warns (`EARLY_STATE`).
//!
//! ```yaml
//! earlyStates:
//! - {states: [REFUTED], toRound: 2, storeAs: HYPOTHESIS, code: TEST_FIRST}
//! ```
//!
//! ```yaml
//! earlyStates:
//! - {states: [ROOT_CAUSE, CONFIRMED], fromRound: 1, toRound: 2}
//! ```
//!
//! `allowEarlyTerminalBelow`: an investigation with fewer minimum rounds than this keeps early states as they are,
//! unless `tot_start` sets `allowEarlyTerminal` otherwise. Locks still apply.
//!
//! ```yaml
//! allowEarlyTerminalBelow: 4
//! earlyStates: [{states: [REFUTED], toRound: 2, storeAs: HYPOTHESIS}]
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::State;
use super::{
    CallDiagnostics, ROUNDS_REMEDY, ReclassificationCheck, RuleKind, SILENT, StoredFact, Verb, Violation,
    applies, changes_without, children, committed, no_round,
};
use crate::domain::{Code, Diagnostic, Investigation, Node, StateName, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, joined, list};
use crate::ruleset::schema::LAST_ROUND;
use crate::ruleset::validity::Problems;

/// States that come too early in some rounds. They are stored as another state, or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlyState {
    /// The early states.
    pub states: Vec<StateName>,
    /// The first round to which this applies; absent for 1.
    pub from_round: Option<u32>,
    /// The last round to which this applies.
    pub to_round: u32,
    /// The state to store instead; absent to refuse the commit (`STATE_LOCKED`).
    pub store_as: Option<StateName>,
    /// The code of the warning; absent for `DEPTH_ENFORCED`.
    pub code: Option<String>,
}

/// Reports `DEPTH_ENFORCED` or the ruleset's own code, `STATE_LOCKED` and `EARLY_STATE`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "earlyStates",
    errors: &[(Verb::Commit, Code::StateLocked)],
    warnings: &[(Verb::Commit, Code::DepthEnforced), (Verb::Reclassify, Code::EarlyState)],
    problems,
    of_state,
    sentences,
    reclassify,
    stored_checks,
    ..SILENT
};

impl Ruleset {
    /// Returns the first rule under which the state is too early in the round.
    pub fn early_rule(&self, state: &StateName, round: u32) -> Option<&EarlyState> {
        let mut rules = self.early_states.iter().filter(|rule| rule.states.contains(state));
        rules.find(|rule| applies(rule.from_round, Some(rule.to_round), round))
    }

    /// Returns whether early states are kept by default with this minimum number of rounds.
    pub fn keeps_early_states(&self, min_rounds: u32) -> bool {
        self.allow_early_terminal_below.is_some_and(|below| min_rounds < below)
    }

    /// Returns whether any early state is stored as another state.
    pub fn has_conversions(&self) -> bool {
        self.early_states.iter().any(|rule| rule.store_as.is_some())
    }
}

impl<'a> EffectiveRules<'a> {
    /// Returns the rule under which the state is too early in the round, unless this investigation allows the state.
    pub fn early_rule(&self, state: &StateName, round: u32) -> Option<&'a EarlyState> {
        let rule = self.ruleset.early_rule(state, round)?;
        (!(self.allow_early_terminal && rule.store_as.is_some())).then_some(rule)
    }

    /// Returns the first round, starting with `round`, in which the state can be committed; `None` if it can never be
    /// committed.
    pub fn first_round_from(&self, state: &StateName, round: u32) -> Option<u32> {
        if round > LAST_ROUND {
            return Some(round);
        }
        (round..=LAST_ROUND).find(|round| self.early_rule(state, *round).is_none())
    }
}

/// Returns whether a new investigation keeps early states unchanged.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the ruleset leaves no choice.
pub fn chosen(ruleset: &Ruleset, asked: Option<bool>, min_rounds: u32) -> Result<bool, Diagnostic> {
    match asked {
        None => Ok(ruleset.keeps_early_states(min_rounds)),
        Some(asked) if ruleset.has_conversions() => Ok(asked),
        Some(_) => {
            let setting = Wording::both("allowEarlyTerminal", "--allow-early-terminal");
            let message = setting.map(|it| {
                format!("{it}: {} converts no states, so there is nothing to allow.", ruleset.name)
            });
            let how = setting.map(|it| format!("Leave {it} out."));
            Err(Diagnostic::new(Code::InvalidArgument, message).suggest(how))
        }
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    for (at, rule) in ruleset.early_states.iter().enumerate() {
        problems.item = Some(at);
        problems.check_states(ruleset, &rule.states);
        if rule.states.is_empty() {
            problems.add("states", "the rule names no state", "name the states that come too early");
        }
        if let Some(reason) = no_round(rule.from_round, Some(rule.to_round)) {
            problems.add("toRound", reason, ROUNDS_REMEDY);
            continue;
        }
        if rule.to_round > LAST_ROUND {
            let reason = format!("toRound {} is beyond the last round", rule.to_round);
            problems.add("toRound", reason, format!("use at most {LAST_ROUND}, which means no limit"));
            continue;
        }
        if let Some(code) = rule.code.as_ref().filter(|code| !is_code(code)) {
            let reason = format!("`{code}` is not a code");
            problems.add("code", reason, "use A-Z, 0-9 and _, as in DEPTH_ENFORCED");
        }
        let Some(target) = &rule.store_as else {
            if rule.code.is_some() {
                let reason = "a rule that refuses the commit has no code of its own: it is STATE_LOCKED";
                problems.add("code", reason, "add storeAs, or leave code out");
            }
            continue;
        };
        // The replacement must itself be allowed in that round. Otherwise, the conversion is useless.
        let mut rounds = rule.from_round.unwrap_or(1)..=rule.to_round;
        if let Some(round) = rounds.find(|round| ruleset.early_rule(target, *round).is_some()) {
            let reason = format!("it stores {target}, which itself comes too early in round {round}");
            problems.add("storeAs", reason, "store a state that may be committed in all these rounds");
        }
        problems.check_states(ruleset, [target]);
    }
    problems.item = None;
    // Every round needs an allowed state. Before the minimum round, it must be an open state.
    let last = ruleset.early_states.iter().map(|rule| rule.to_round).max().unwrap_or(0);
    let lacks_state = |round: &u32| {
        let needs_open = *round < ruleset.end.min_rounds;
        let mut fitting = ruleset.states.iter().filter(|state| !needs_open || !state.terminal);
        !fitting.any(|state| ruleset.early_rule(&state.name, *round).is_none())
    };
    if let Some(round) = (1..=last.min(LAST_ROUND)).find(lacks_state) {
        let reason = format!("in round {round} no open state is left to commit");
        problems.add("earlyStates", reason, "let one open state be committed in every round");
    }
}

/// Returns whether a warning code follows the naming rule.
fn is_code(code: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    code.starts_with(|c: char| c.is_ascii_uppercase()) && code.len() <= 40 && code.bytes().all(plain)
}

fn of_state(rules: &EffectiveRules, state: &State) -> Vec<String> {
    match rules.first_round_from(&state.name, 1) {
        Some(1) => Vec::new(),
        Some(first) => vec![format!("From round {first}.")],
        None => vec!["Commits can't set it.".to_owned()],
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    // Rules that differ only in their code share a sentence.
    type EarlyKey<'r> = (u32, u32, &'r Option<StateName>);
    let mut early: Vec<(EarlyKey, Vec<&StateName>)> = Vec::new();
    for rule in &rules.ruleset().early_states {
        let states = rule.states.iter().filter(|state| rules.early_rule(state, rule.to_round).is_some());
        let key = (rule.from_round.unwrap_or(1), rule.to_round, &rule.store_as);
        match early.iter_mut().find(|(other, _)| *other == key) {
            Some((_, known)) => known.extend(states),
            None => early.push((key, states.collect())),
        }
    }
    let sentence = |((from, to, stored), states): (EarlyKey, Vec<&StateName>)| {
        let rounds = match to {
            LAST_ROUND if from == 1 => "any round".to_owned(),
            LAST_ROUND => format!("round {from} and later"),
            to if to == from => format!("round {from}"),
            to => format!("rounds {from} to {to}"),
        };
        let is = if states.len() == 1 { "is" } else { "are" };
        match stored {
            Some(stored) => format!("In {rounds}, {} {is} stored as {stored}.", joined(&states, "and")),
            None => format!("In {rounds}, {} {is} refused.", joined(&states, "and")),
        }
    };
    early.into_iter().filter(|(_, states)| !states.is_empty()).map(sentence).collect()
}

/// Returns the state that a commit stores instead of an early state, with the warning. `None` if the state is not
/// early.
///
/// # Errors
///
/// Returns `STATE_LOCKED` if the ruleset refuses the state.
pub fn stored_instead(
    rules: &EffectiveRules,
    asked: &StateName,
    node: &Node,
) -> Result<Option<(StateName, Diagnostic)>, Diagnostic> {
    let round = node.round();
    let Some(rule) = rules.early_rule(asked, round) else { return Ok(None) };
    let first = rules.first_round_from(asked, round);
    let Some(stored) = &rule.store_as else {
        let names = rules.ruleset().states.iter().map(|state| &state.name);
        let available = names.filter(|state| rules.early_rule(state, round).is_none());
        let message = match first {
            Some(first) => format!("{asked} is locked until round {first}; {} is in round {round}.", node.id),
            None => format!("Commits can't set {asked}."),
        };
        return Err(Diagnostic::new(Code::StateLocked, message)
            .about(&node.id)
            .suggest(format!("Available in round {round}: {}.", list(available))));
    };
    let next = match rules.required_children(stored, round) {
        Some((needs, of)) => {
            format!("It now needs {} in round {}.", children::children(needs, of), round.saturating_add(1))
        }
        None => "It is closed.".to_owned(),
    };
    let why = match first {
        Some(first) => format!("{asked} is allowed from round {first} on"),
        None => format!("commits can't set {asked}"),
    };
    let code = rule.code.as_deref().map_or(Code::DepthEnforced, Code::parse);
    let message = format!(
        "{} was committed as {asked} in round {round} and stored as {stored}: {why}. {next}",
        node.id
    );
    Ok(Some((stored.clone(), Diagnostic::new(code, message).about(&node.id))))
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let (rules, node, to) = (change.rules, change.node, &change.stored.to);
    let round = node.round();
    if rules.early_rule(to, round).is_none() {
        return;
    }
    let message = match rules.first_round_from(to, round) {
        Some(first) => {
            format!(
                "{} became {to} in round {round}, but {to} is allowed only from round {first} on.",
                node.id
            )
        }
        None => format!("{} became {to}, which no commit allows.", node.id),
    };
    diagnostics.warnings.push(Diagnostic::new(Code::EarlyState, message).about(&node.id));
}

/// Checks for early states that a commit would have converted or refused, and for conversions that no rule requires.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    let (ruleset, meta) = (rules.ruleset(), investigation.meta());
    if meta.allow_early_terminal && !ruleset.has_conversions() && ruleset.allow_early_terminal_below.is_none()
    {
        let place = StoredFact::Setting("allowEarlyTerminal");
        let message = format!("{} converts no states, so this setting has no effect.", ruleset.name);
        violations.push(Violation::error(place, Code::EarlyTerminalAllowed, message));
    }
    for (node, result) in committed(investigation) {
        let (id, round, state) = (&node.id, node.round(), &result.state);
        if let Some(rule) = rules.early_rule(state, round) {
            let would = match &rule.store_as {
                Some(other) => format!("would have stored {other}"),
                None => "would have been rejected".to_owned(),
            };
            let when = match rules.first_round_from(state, 1) {
                Some(first) => format!("{state} is not allowed before round {first}"),
                None => format!("{state} is never allowed"),
            };
            let message =
                format!("{id} was committed as {state} in round {round}, where a commit {would}: {when}.");
            let place = StoredFact::Node(id.clone(), "state");
            violations.push(Violation::error(place, Code::EarlyState, message));
        }
        if let Some(asked) = &result.requested_state {
            let stored = rules.early_rule(asked, round).and_then(|rule| rule.store_as.as_ref());
            if stored != Some(state) {
                let message = format!("No rule stores {asked} as {state} in round {round}.");
                let place = StoredFact::Node(id.clone(), "requestedState");
                violations.push(Violation::error(place, Code::RequestedState, message));
            }
        }
        for (number, change) in changes_without(result, Code::EarlyState) {
            let to = &change.to;
            if rules.early_rule(to, round).is_some() {
                let message = format!(
                    "{id} became {to} in round {round}, too early for a commit, and has no warning about it."
                );
                let place = StoredFact::Change(id.clone(), number);
                violations.push(Violation::warning(place, Code::EarlyState, message));
            }
        }
    }
}
