//! Whether a ruleset contradicts itself. A ruleset that passes can be followed to an end.

use std::collections::HashSet;

use super::schema::{Role, Ruleset, VERSION};
use crate::domain::StateName;

/// One contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The top-level key in which it stands.
    pub section: &'static str,
    /// A word that stands in the offending line.
    pub needle: String,
    /// What is wrong.
    pub reason: String,
    /// How to mend it.
    pub suggestion: Option<String>,
}

impl Fault {
    fn new(section: &'static str, needle: impl ToString, reason: impl Into<String>) -> Self {
        Fault { section, needle: needle.to_string(), reason: reason.into(), suggestion: None }
    }

    fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The line of the offending word in the section, else that of the section, from 1.
    pub fn line_in(&self, text: &str) -> Option<u64> {
        let lines: Vec<&str> = text.lines().collect();
        let section = lines
            .iter()
            .position(|line| line.strip_prefix(self.section).is_some_and(|rest| rest.starts_with(':')))?;
        let is_word = |line: &str| {
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.'))
                .any(|word| word == self.needle)
        };
        let within = lines[section..]
            .iter()
            .enumerate()
            // The section ends at the next top-level key.
            .take_while(|(offset, line)| *offset == 0 || line.starts_with([' ', '-', '#']) || line.is_empty())
            .find(|(_, line)| is_word(line));
        Some((section + within.map_or(0, |(offset, _)| offset)) as u64 + 1)
    }
}

/// All contradictions of a ruleset.
pub fn faults(ruleset: &Ruleset) -> Vec<Fault> {
    let mut faults = Vec::new();
    names(ruleset, &mut faults);
    states(ruleset, &mut faults);
    early_states(ruleset, &mut faults);
    gates(ruleset, &mut faults);
    roots_and_modes(ruleset, &mut faults);
    faults
}

fn names(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    if ruleset.version != VERSION {
        let reason =
            format!("version {} is not known; this program reads version {VERSION}", ruleset.version);
        faults.push(Fault::new("version", ruleset.version, reason));
    }
    let plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 60
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !plain(&ruleset.name) {
        faults.push(Fault::new("name", &ruleset.name, "a ruleset's name is made of a-z, 0-9 and hyphens"));
    }
    for mode in ruleset.modes.iter().filter(|mode| !plain(&mode.name)) {
        faults.push(Fault::new("modes", &mode.name, "a mode's name is made of a-z, 0-9 and hyphens"));
    }
}

/// Every state that a rule names must be one of the states.
fn known(ruleset: &Ruleset, section: &'static str, names: &[StateName], faults: &mut Vec<Fault>) {
    for name in names.iter().filter(|name| ruleset.state(name).is_none()) {
        let nearest = ruleset
            .states
            .iter()
            .map(|state| (strsim::jaro_winkler(state.name.as_str(), name.as_str()), &state.name))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, nearest)| format!("did you mean {nearest}?"));
        let mut fault = Fault::new(section, name, format!("{name} is not one of the states"));
        fault.suggestion = nearest;
        faults.push(fault);
    }
}

fn states(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    let mut seen = HashSet::new();
    if ruleset.states.is_empty() {
        faults.push(Fault::new("states", "states", "there must be at least one state"));
    }
    for state in &ruleset.states {
        let mut fault = |reason: String| faults.push(Fault::new("states", &state.name, reason));
        if !seen.insert(&state.name) {
            fault(format!("{} stands twice", state.name));
        }
        if state.terminal && !state.children.is_empty() {
            fault(format!("{} is terminal and can't owe children", state.name));
        }
        if state.terminal && state.child_states.is_some() {
            fault(format!("{} is terminal and can't have children", state.name));
        }
        if !state.terminal && state.children.iter().all(|children| children.min == 0) {
            fault(format!(
                "{} is open, but owes no child: make it terminal, or say what it owes",
                state.name
            ));
        }
        let rgb = state
            .colour
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let named = state.colour.bytes().all(|b| b.is_ascii_alphanumeric()) && !state.colour.is_empty();
        if !rgb && !named {
            fault(format!("`{}` is no colour: a name that Graphviz knows, or #rrggbb", state.colour));
        }
        if state.role == Role::AwaitingConfirmation
            && !ruleset.confirmations.iter().any(|confirmation| confirmation.state == state.name)
        {
            fault(format!("{} awaits a confirmation that no rule under `confirmations` gives", state.name));
        }
        for children in &state.children {
            let of = children.of.as_deref().unwrap_or_default();
            known(ruleset, "states", of, faults);
            if let Some(allowed) = &state.child_states
                && children.of.as_ref().is_some_and(|of| !of.iter().any(|one| allowed.contains(one)))
            {
                let reason =
                    format!("{} owes children in states that its childStates do not allow", state.name);
                faults.push(Fault::new("states", &state.name, reason));
            }
        }
        known(ruleset, "states", state.child_states.as_deref().unwrap_or_default(), faults);
        if state.child_states.as_ref().is_some_and(Vec::is_empty) {
            let reason = format!("{} allows no child at all", state.name);
            faults.push(
                Fault::new("states", &state.name, reason).suggest("leave childStates out to allow any"),
            );
        }
    }
    if !ruleset.states.is_empty() && !ruleset.states.iter().any(|state| state.terminal) {
        faults.push(Fault::new(
            "states",
            "states",
            "no state is terminal, so that no investigation could end",
        ));
    }
    if !ruleset.states.iter().any(|state| !state.terminal) && ruleset.end.min_rounds > 1 {
        faults.push(Fault::new(
            "states",
            "states",
            "every state is terminal, so that no round after the first could be reached",
        ));
    }
}

fn early_states(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    for rule in &ruleset.early_states {
        known(ruleset, "earlyStates", &rule.states, faults);
        let needle = rule.states.first().map_or("earlyStates", StateName::as_str);
        let from = rule.from_round.unwrap_or(1);
        if from > rule.to_round || from == 0 {
            let reason = format!("fromRound {from} and toRound {} leave no round", rule.to_round);
            faults.push(Fault::new("earlyStates", needle, reason));
            continue;
        }
        if rule.to_round > 100 {
            let reason = format!("toRound {} is beyond every investigation; 100 is the most", rule.to_round);
            faults.push(Fault::new("earlyStates", needle, reason));
            continue;
        }
        let Some(target) = &rule.store_as else {
            if rule.code.is_some() {
                let reason = "a rule that refuses the commit has no code of its own: it is STATE_LOCKED";
                faults.push(
                    Fault::new("earlyStates", needle, reason).suggest("add storeAs, or leave code out"),
                );
            }
            continue;
        };
        known(ruleset, "earlyStates", std::slice::from_ref(target), faults);
        // What a commit is stored as must itself be allowed in that round, else the conversion leads nowhere.
        if let Some(round) = (from..=rule.to_round).find(|round| ruleset.early_rule(target, *round).is_some())
        {
            let reason = format!("it stores {target}, which itself comes too early in round {round}");
            faults.push(Fault::new("earlyStates", needle, reason));
        }
    }
    // In every round some state must remain, and before the last round an open one.
    let last = ruleset.early_states.iter().map(|rule| rule.to_round).max().unwrap_or(0);
    for round in 1..=last.min(100) {
        let available = |open: bool| {
            ruleset
                .states
                .iter()
                .any(|state| (!open || !state.terminal) && ruleset.early_rule(&state.name, round).is_none())
        };
        if !available(round < ruleset.end.min_rounds) {
            let reason = format!("in round {round} no open state is left to commit");
            faults.push(Fault::new("earlyStates", "earlyStates", reason));
            break;
        }
    }
}

fn gates(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    if let Some(evidence) = &ruleset.evidence {
        known(ruleset, "evidence", &evidence.states, faults);
    }
    if let Some(ratio) = &ruleset.terminal_ratio {
        known(ruleset, "terminalRatio", &ratio.also_closed, faults);
        for rule in &ratio.not_counted {
            known(ruleset, "terminalRatio", rule.states.as_deref().unwrap_or_default(), faults);
            known(ruleset, "terminalRatio", rule.children_of.as_deref().unwrap_or_default(), faults);
        }
        for limit in ratio.limits.iter().filter(|limit| limit.max_percent > 100) {
            let reason = format!("{} % is more than all", limit.max_percent);
            faults.push(Fault::new("terminalRatio", limit.max_percent, reason));
        }
    }
    for confirmation in &ruleset.confirmations {
        known(ruleset, "confirmations", std::slice::from_ref(&confirmation.state), faults);
        let mut fault =
            |reason: String| faults.push(Fault::new("confirmations", &confirmation.state, reason));
        if confirmation.outcomes.is_empty() {
            fault(format!("{} waits for an outcome, but none is named", confirmation.state));
        }
        if ruleset.state(&confirmation.state).is_some_and(|state| state.terminal) {
            fault(format!("{} is terminal and takes no child that could confirm it", confirmation.state));
        }
        for outcome in &confirmation.outcomes {
            if outcome.becomes == confirmation.state {
                fault(format!("{} would become what it is", confirmation.state));
            }
        }
        for outcome in &confirmation.outcomes {
            known(ruleset, "confirmations", &[outcome.child.clone(), outcome.becomes.clone()], faults);
        }
    }
    if ruleset.end.min_quality_percent.is_some_and(|percent| percent > 100) {
        faults.push(Fault::new("end", "minQualityPercent", "the quality can't be above 100 %"));
    }
    if !(1..=20).contains(&ruleset.end.min_rounds) {
        faults.push(Fault::new("end", "minRounds", "minRounds is from 1 to 20"));
    }
}

fn roots_and_modes(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    let roots = &ruleset.roots;
    let mut fault = |reason: &str| faults.push(Fault::new("roots", "roots", reason));
    if roots.min == 0 {
        fault("there must be at least one root");
    }
    if roots.max.is_some_and(|max| max < roots.min) {
        fault("max is below min");
    }
    if ruleset.batch_limit.is_some_and(|limit| limit < roots.min) {
        fault("min is above batchLimit, so that no investigation could begin");
    }
    if roots.ids.as_ref().is_some_and(|ids| ids.iter().any(|id| id.round() != 1)) {
        fault("the ids of roots are in round 1");
    }
    if roots.ids.as_ref().is_some_and(|ids| (ids.len() as u64) < u64::from(roots.min)) {
        fault("there are fewer ids than roots");
    }
    if ruleset.batch_limit == Some(0) {
        faults.push(Fault::new("batchLimit", "batchLimit", "a batch must be allowed to hold a node"));
    }
    if ruleset.breadth.as_ref().is_some_and(|breadth| breadth.round == 0) {
        faults.push(Fault::new("breadth", "breadth", "rounds are counted from 1"));
    }
    let mut seen = HashSet::new();
    for mode in &ruleset.modes {
        let mut fault = |reason: String| faults.push(Fault::new("modes", &mode.name, reason));
        if !seen.insert(&mode.name) {
            fault(format!("the mode {} stands twice", mode.name));
        }
        if mode.min_rounds.is_some_and(|rounds| !(1..=20).contains(&rounds)) {
            fault("minRounds is from 1 to 20".into());
        }
        if mode.max_children_owed == Some(0) {
            fault("maxChildrenOwed 0 would let open nodes end an investigation".into());
        }
    }
}
