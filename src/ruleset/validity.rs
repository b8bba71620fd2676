//! Whether a ruleset contradicts itself. A ruleset that passes can be followed to an end.

use std::collections::HashSet;

use super::schema::{LAST_ROUND, Role, Ruleset, State, VERSION};
use crate::domain::StateName;

/// One contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The top-level key in which it stands.
    pub section: &'static str,
    /// The item of that key's list, from 0, where the fault is in one.
    pub item: Option<usize>,
    /// A word that stands in the offending line.
    pub needle: String,
    /// What is wrong.
    pub reason: String,
    /// How to mend it.
    pub suggestion: Option<String>,
}

impl Fault {
    fn new(section: &'static str, needle: impl ToString, reason: impl Into<String>) -> Self {
        Fault { section, item: None, needle: needle.to_string(), reason: reason.into(), suggestion: None }
    }

    fn at(mut self, item: usize) -> Self {
        self.item = Some(item);
        self
    }

    fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The line of the offending word in its item or section, else the first line of that, from 1.
    pub fn line_in(&self, text: &str) -> Option<u64> {
        let lines: Vec<&str> = text.lines().collect();
        let is_key = |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        let start = lines.iter().position(|line| is_key(line, self.section))?;
        // The section ends at the next top-level key.
        let inner = |line: &&str| line.starts_with([' ', '-', '#']) || line.is_empty();
        let end = start + 1 + lines[start + 1..].iter().take_while(|line| inner(line)).count();
        let (first, last) =
            self.item.and_then(|item| nth_item(&lines, start + 1, end, item)).unwrap_or((start, end));
        let is_word = |line: &&str| {
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.' || c == '#'))
                .any(|word| word == self.needle)
        };
        let within = lines[first..last].iter().position(is_word).unwrap_or(0);
        Some((first + within) as u64 + 1)
    }
}

/// The lines of the nth item of a block list between two lines, from its dash to the next one's.
fn nth_item(lines: &[&str], start: usize, end: usize, item: usize) -> Option<(usize, usize)> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let dashes: Vec<usize> = (start..end).filter(|at| lines[*at].trim_start().starts_with("- ")).collect();
    let least = dashes.iter().map(|at| indentation(lines[*at])).min()?;
    let mut items = dashes.into_iter().filter(|at| indentation(lines[*at]) == least).skip(item);
    Some((items.next()?, items.next().unwrap_or(end)))
}

/// How alike a word must be to what it may have meant.
const ALIKE: f64 = 0.59;

/// How to mend what the YAML reader refuses: `did you mean …?` for "unknown … `x`, expected one of a, b", and the key
/// for one that is missing.
pub(super) fn mend(message: &str) -> Option<String> {
    if let Some(missing) = message.strip_prefix("missing field `") {
        return Some(format!("add the key {}", missing.split('`').next()?));
    }
    let (unknown, expected) = message.split_once(", expected one of ")?;
    let unknown = unknown.split('`').nth(1)?.to_lowercase();
    let nearest = expected
        .split(", ")
        .map(|known| known.trim_matches('`'))
        .map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &unknown), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 > ALIKE).then(|| format!("did you mean {}?", nearest.1))
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
        faults.push(
            Fault::new("version", ruleset.version, reason).suggest(format!("write `version: {VERSION}`")),
        );
    }
    let plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 60
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !plain(&ruleset.name) {
        let reason = format!("`{}` is no name for a ruleset", ruleset.name);
        faults.push(Fault::new("name", "name", reason).suggest("use a-z, 0-9 and hyphens, at most 60"));
    }
    for (at, mode) in ruleset.modes.iter().enumerate().filter(|(_, mode)| !plain(&mode.name)) {
        let reason = format!("`{}` is no name for a mode", mode.name);
        faults.push(
            Fault::new("modes", &mode.name, reason).at(at).suggest("use a-z, 0-9 and hyphens, at most 60"),
        );
    }
}

/// Every state that a rule names must be one of the states.
fn known(
    ruleset: &Ruleset,
    section: &'static str,
    item: Option<usize>,
    names: &[StateName],
    faults: &mut Vec<Fault>,
) {
    for name in names.iter().filter(|name| ruleset.state(name).is_none()) {
        let nearest = ruleset
            .states
            .iter()
            .map(|state| (strsim::jaro_winkler(state.name.as_str(), name.as_str()), &state.name))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(alike, nearest)| match alike > ALIKE {
                true => format!("did you mean {nearest}?"),
                false => format!("the states are {}", ruleset.state_list()),
            });
        let mut fault = Fault::new(section, name, format!("{name} is not one of the states"));
        fault.item = item;
        fault.suggestion = nearest;
        faults.push(fault);
    }
}

fn states(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    let mut seen = HashSet::new();
    if ruleset.states.is_empty() {
        faults.push(Fault::new("states", "states", "there must be at least one state"));
    }
    for (at, state) in ruleset.states.iter().enumerate() {
        let name = &state.name;
        let mut fault = |needle: &str, reason: String, suggestion: &str| {
            faults.push(Fault::new("states", needle, reason).at(at).suggest(suggestion));
        };
        if !seen.insert(name) {
            fault(name.as_str(), format!("{name} stands twice"), "each state has one entry");
        }
        if state.terminal && !state.children.is_empty() {
            let reason = format!("{name} is terminal and can't owe children");
            fault("children", reason, "leave children out, or terminal");
        }
        if state.terminal && state.child_states.is_some() {
            let reason = format!("{name} is terminal and can't have children");
            fault("childStates", reason, "leave childStates out, or terminal");
        }
        if !state.terminal && state.children.iter().all(|children| children.min == 0) {
            let reason = format!("{name} is open, but owes no child");
            fault(name.as_str(), reason, "write `terminal: true`, or what it owes: `children: [{min: 1}]`");
        }
        if let Some(last) = state.children.iter().position(|rule| rule.applies_to_none()) {
            let rule = &state.children[last];
            let (from, to) = (rule.from_round.unwrap_or(1), rule.to_round.unwrap_or(u32::MAX));
            let reason = format!("fromRound {from} and toRound {to} leave no round");
            fault("fromRound", reason, "rounds are counted from 1, and toRound is the later one");
        }
        let rgb = state
            .colour
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let named = state.colour.bytes().all(|b| b.is_ascii_alphanumeric()) && !state.colour.is_empty();
        if !rgb && !named {
            let reason = format!("`{}` is no colour", state.colour);
            fault("colour", reason, "give a name that Graphviz knows, like lightblue, or \"#rrggbb\"");
        }
        let waits = ruleset.confirmations.iter().any(|confirmation| &confirmation.state == name);
        if state.role == Role::AwaitingConfirmation && !waits {
            let reason = format!("{name} awaits a confirmation that no rule under `confirmations` gives");
            fault("role", reason, "add one, or give it another role");
        }
        for children in &state.children {
            let of = children.of.as_deref().unwrap_or_default();
            known(ruleset, "states", Some(at), of, faults);
            if let Some(allowed) = &state.child_states
                && children.of.as_ref().is_some_and(|of| !of.iter().any(|one| allowed.contains(one)))
            {
                let reason = format!("{name} owes children in states that its childStates do not allow");
                faults.push(
                    Fault::new("states", "childStates", reason).at(at).suggest("add them to childStates"),
                );
            }
        }
        known(ruleset, "states", Some(at), state.child_states.as_deref().unwrap_or_default(), faults);
        if state.child_states.as_ref().is_some_and(Vec::is_empty) {
            let reason = format!("{name} allows no child at all");
            faults.push(
                Fault::new("states", "childStates", reason)
                    .at(at)
                    .suggest("leave childStates out to allow any"),
            );
        }
        if let Some(round) = never_complete(ruleset, state) {
            let reason = format!(
                "{name} of round {round} could never have the children it owes: none of their states can be \
                 committed in round {}",
                round + 1
            );
            faults.push(
                Fault::new("states", name, reason)
                    .at(at)
                    .suggest("let them come earlier under earlyStates, or this state later"),
            );
        }
    }
    if !ruleset.states.is_empty() && !ruleset.states.iter().any(|state| state.terminal) {
        faults.push(
            Fault::new("states", "states", "no state is terminal, so that no investigation could end")
                .suggest("write `terminal: true` in those that need nothing further"),
        );
    }
    if !ruleset.states.iter().any(|state| !state.terminal) && ruleset.end.min_rounds > 1 {
        faults.push(
            Fault::new(
                "states",
                "states",
                "every state is terminal, so that no round after the first could be reached",
            )
            .suggest("add an open state, or `minRounds: 1` under end"),
        );
    }
}

/// The first round in which the state can be committed, but none of the children it owes in the next.
fn never_complete(ruleset: &Ruleset, state: &State) -> Option<u32> {
    let last = ruleset.early_states.iter().map(|rule| rule.to_round).max().unwrap_or(0).min(LAST_ROUND);
    (1..=last.saturating_add(1)).filter(|round| ruleset.early_rule(&state.name, *round).is_none()).find(
        |round| {
            let Some(rule) = state.children.iter().find(|rule| rule.applies(*round)) else { return false };
            let counts = |child: &StateName| {
                rule.of.as_ref().is_none_or(|of| of.contains(child))
                    && state.child_states.as_ref().is_none_or(|allowed| allowed.contains(child))
            };
            // What is stored of it there; `None` where it is refused.
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
        },
    )
}

fn early_states(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    for (at, rule) in ruleset.early_states.iter().enumerate() {
        known(ruleset, "earlyStates", Some(at), &rule.states, faults);
        let mut fault = |needle: &str, reason: String, suggestion: &str| {
            faults.push(Fault::new("earlyStates", needle, reason).at(at).suggest(suggestion));
        };
        if rule.states.is_empty() {
            fault("states", "the rule names no state".into(), "name the states that come too early");
        }
        let from = rule.from_round.unwrap_or(1);
        if from > rule.to_round || from == 0 {
            let reason = format!("fromRound {from} and toRound {} leave no round", rule.to_round);
            fault("toRound", reason, "rounds are counted from 1, and toRound is the later one");
            continue;
        }
        if rule.to_round > LAST_ROUND {
            let reason = format!("toRound {} is beyond every investigation", rule.to_round);
            fault("toRound", reason, &format!("{LAST_ROUND} is the most, and means for ever"));
            continue;
        }
        if let Some(code) = &rule.code
            && !is_code(code)
        {
            let reason = format!("`{code}` is no code");
            fault("code", reason, "use A-Z, 0-9 and _, as in DEPTH_ENFORCED");
        }
        let Some(target) = &rule.store_as else {
            if rule.code.is_some() {
                let reason = "a rule that refuses the commit has no code of its own: it is STATE_LOCKED";
                fault("code", reason.into(), "add storeAs, or leave code out");
            }
            continue;
        };
        // What a commit is stored as must itself be allowed in that round, else the conversion leads nowhere.
        if let Some(round) = (from..=rule.to_round).find(|round| ruleset.early_rule(target, *round).is_some())
        {
            let reason = format!("it stores {target}, which itself comes too early in round {round}");
            fault("storeAs", reason, "store a state that may be committed in all these rounds");
        }
        known(ruleset, "earlyStates", Some(at), std::slice::from_ref(target), faults);
    }
    // In every round some state must remain, and before the last round an open one.
    let last = ruleset.early_states.iter().map(|rule| rule.to_round).max().unwrap_or(0);
    for round in 1..=last.min(LAST_ROUND) {
        let available = |open: bool| {
            ruleset
                .states
                .iter()
                .any(|state| (!open || !state.terminal) && ruleset.early_rule(&state.name, round).is_none())
        };
        if !available(round < ruleset.end.min_rounds) {
            let reason = format!("in round {round} no open state is left to commit");
            faults.push(
                Fault::new("earlyStates", "earlyStates", reason)
                    .suggest("let one open state be committed in every round"),
            );
            break;
        }
    }
}

fn gates(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    if let Some(evidence) = &ruleset.evidence {
        known(ruleset, "evidence", None, &evidence.states, faults);
    }
    if let Some(ratio) = &ruleset.terminal_ratio {
        known(ruleset, "terminalRatio", None, &ratio.also_closed, faults);
        for rule in &ratio.not_counted {
            known(ruleset, "terminalRatio", None, rule.states.as_deref().unwrap_or_default(), faults);
            known(ruleset, "terminalRatio", None, rule.children_of.as_deref().unwrap_or_default(), faults);
        }
        for limit in &ratio.limits {
            if limit.max_percent > 100 {
                let reason = format!("{} % is more than all", limit.max_percent);
                faults
                    .push(Fault::new("terminalRatio", limit.max_percent, reason).suggest("100 is the most"));
            }
            let (from, to) = (limit.from_round.unwrap_or(1), limit.to_round.unwrap_or(u32::MAX));
            if from == 0 || from > to {
                let reason = format!("fromRound {from} and toRound {to} leave no round");
                faults.push(
                    Fault::new("terminalRatio", "limits", reason)
                        .suggest("rounds are counted from 1, and toRound is the later one"),
                );
            }
        }
    }
    let mut waiting = HashSet::new();
    for (at, confirmation) in ruleset.confirmations.iter().enumerate() {
        let name = &confirmation.state;
        let mut fault = |needle: &str, reason: String, suggestion: &str| {
            faults.push(Fault::new("confirmations", needle, reason).at(at).suggest(suggestion));
        };
        if !waiting.insert(name) {
            fault(name.as_str(), format!("{name} waits twice"), "put all its outcomes into one rule");
        }
        if confirmation.outcomes.is_empty() {
            let reason = format!("{name} waits for an outcome, but none is named");
            fault("outcomes", reason, "add `{child: …, becomes: …}`");
        }
        let state = ruleset.state(name);
        if state.is_some_and(|state| state.terminal) {
            let reason = format!("{name} is terminal and takes no child that could confirm it");
            fault(name.as_str(), reason, "leave `terminal: true` out of that state");
        }
        if let Some(state) = state.filter(|state| state.role != Role::AwaitingConfirmation) {
            let reason = format!("{name} waits for a confirmation, but its role is {}", state.role.label());
            fault(name.as_str(), reason, "give that state `role: awaitingConfirmation`");
        }
        for outcome in &confirmation.outcomes {
            let (child, becomes) = (&outcome.child, &outcome.becomes);
            if becomes == name {
                let reason = format!("{name} would become what it is");
                fault("outcomes", reason, "name another state under becomes");
            }
            let allowed = state.and_then(|state| state.child_states.as_ref()).filter(|some| !some.is_empty());
            if allowed.is_some_and(|allowed| !allowed.contains(child)) {
                let reason = format!("{name} allows no {child} child that could make it {becomes}");
                fault(child.as_str(), reason, "add it to that state's childStates");
            }
            // A parent that allows the waiting state must allow what becomes of it; so must what it becomes, for the
            // children that it has by then.
            for parent in &ruleset.states {
                let allows = |one| parent.child_states.as_ref().is_none_or(|allowed| allowed.contains(one));
                if allows(name) && !allows(becomes) {
                    let reason =
                        format!("{name} may become {becomes} below {}, which does not allow it", parent.name);
                    fault(becomes.as_str(), reason, "add it to the childStates of that parent");
                }
            }
            if let Some(after) = ruleset.state(becomes).and_then(|state| state.child_states.as_ref()) {
                let had = ruleset.states.iter().map(|state| &state.name);
                let had = had.filter(|one| allowed.is_none_or(|allowed| allowed.contains(one)));
                if let Some(child) = had.into_iter().find(|one| !after.contains(one)) {
                    let reason = format!("{name} may have a {child} child, which {becomes} does not allow");
                    fault(becomes.as_str(), reason, "give both states the same childStates");
                }
            }
        }
        known(ruleset, "confirmations", Some(at), std::slice::from_ref(name), faults);
        for outcome in &confirmation.outcomes {
            let names = [outcome.child.clone(), outcome.becomes.clone()];
            known(ruleset, "confirmations", Some(at), &names, faults);
        }
    }
    if ruleset.end.min_quality_percent.is_some_and(|percent| percent > 100) {
        faults.push(
            Fault::new("end", "minQualityPercent", "the quality can't be above 100 %")
                .suggest("100 is the most, and 50 is a lot"),
        );
    }
    if !(1..=20).contains(&ruleset.end.min_rounds) {
        let reason = format!("minRounds is {}", ruleset.end.min_rounds);
        faults.push(Fault::new("end", "minRounds", reason).suggest("it is from 1 to 20"));
    }
}

/// Whether a warning's code reads like the others.
fn is_code(code: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    code.starts_with(|c: char| c.is_ascii_uppercase()) && code.len() <= 40 && code.bytes().all(plain)
}

fn roots_and_modes(ruleset: &Ruleset, faults: &mut Vec<Fault>) {
    let roots = &ruleset.roots;
    let mut fault = |needle: &str, reason: &str, suggestion: &str| {
        faults.push(Fault::new("roots", needle, reason).suggest(suggestion));
    };
    if roots.min == 0 {
        fault("min", "there must be at least one root", "write `min: 1`, or leave it out");
    }
    if roots.max.is_some_and(|max| max < roots.min) {
        fault("max", "max is below min", "raise max, or lower min");
    }
    if roots.ids.as_ref().is_some_and(|ids| ids.iter().any(|id| id.round() != 1)) {
        fault("ids", "a root is in round 1", "use ids like R1.A");
    }
    if roots.ids.as_ref().is_some_and(|ids| (ids.len() as u64) < u64::from(roots.min)) {
        fault("ids", "there are fewer ids than roots", "name as many as min, or leave ids out");
    }
    if ruleset.batch_limit == Some(0) {
        faults.push(
            Fault::new("batchLimit", "batchLimit", "a batch must be allowed to hold a node")
                .suggest("leave batchLimit out for no limit"),
        );
    } else if ruleset.batch_limit.is_some_and(|limit| limit < roots.min) {
        let reason = "batchLimit is below the least number of roots, so that no investigation could begin";
        faults.push(
            Fault::new("batchLimit", "batchLimit", reason).suggest("raise it, or lower min under roots"),
        );
    }
    if ruleset.breadth.as_ref().is_some_and(|breadth| breadth.round == 0) {
        faults.push(
            Fault::new("breadth", "round", "rounds are counted from 1").suggest("write `round: 2`, say"),
        );
    }
    let mut seen = HashSet::new();
    for (at, mode) in ruleset.modes.iter().enumerate() {
        let mut fault = |needle: &str, reason: String, suggestion: &str| {
            faults.push(Fault::new("modes", needle, reason).at(at).suggest(suggestion));
        };
        if !seen.insert(&mode.name) {
            fault(&mode.name, format!("the mode {} stands twice", mode.name), "each mode has one entry");
        }
        if let Some(rounds) = mode.min_rounds.filter(|rounds| !(1..=20).contains(rounds)) {
            fault("minRounds", format!("minRounds is {rounds}"), "it is from 1 to 20");
        }
        if mode.max_children_owed == Some(0) {
            let reason = "maxChildrenOwed 0 would let open nodes end an investigation";
            fault("maxChildrenOwed", reason.into(), "1 is the least");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ruleset::RulesetFile;

    const SOUND: &str = "\
version: 1
name: own
summary: A method of our own.
states:
- name: GO
  meaning: Go on
  role: open
  colour: lightblue
  children: [{min: 1}]
- name: CLAIM
  meaning: To be confirmed
  role: awaitingConfirmation
  colour: orange
  children:
  - {min: 1}
- name: STOP
  meaning: Stop
  role: deadEnd
  colour: red
  terminal: true
- name: YES
  meaning: Confirmed
  role: solution
  colour: \"#00ff00\"
  terminal: true
roots: {min: 1}
earlyStates:
- {states: [CLAIM], toRound: 1, storeAs: GO}
- {states: [YES], toRound: 2}
evidence: {states: [YES], minCharacters: 20}
confirmations:
- state: CLAIM
  outcomes:
  - {child: YES, becomes: YES}
  - {child: STOP, becomes: GO}
end: {minRounds: 2}
modes:
- {name: deep, meaning: All of it}
- {name: quick, meaning: Less of it}
";

    /// The faults of the sound ruleset after some replacements.
    fn faults(replacements: &[(&str, &str)]) -> String {
        let mut text = SOUND.to_owned();
        for (from, to) in replacements {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        match RulesetFile::parse(&text) {
            Ok(_) => "sound".into(),
            Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn a_sound_ruleset_has_no_fault() {
        assert_eq!(faults(&[]), "sound");
    }

    #[test]
    fn each_contradiction_is_told_with_its_line_and_how_to_mend_it() {
        insta::assert_snapshot!(CASES.iter().map(|(from, to)| format!("{from:?} -> {to:?}\n  {}\n", faults(&[(from, to)]).replace('\n', "\n  "))).collect::<String>(), @r##"
        "version: 1" -> "version: 2"
          line 1: version 2 is not known; this program reads version 1 (write `version: 1`)
        "version: 1\n" -> ""
          line 36: missing field `version` (add the key version)
        "name: own" -> "name: Own Rules"
          line 2: `Own Rules` is no name for a ruleset (use a-z, 0-9 and hyphens, at most 60)
        "summary: A" -> "sumary: A"
          line 3: unknown field `sumary`, expected one of version, name, summary, advice, states, roots, batchLimit, breadth, earlyStates, evidence, terminalRatio, confirmations, checks, end, allowEarlyTerminalBelow, modes (did you mean summary?)
        "role: open" -> "role: opened"
          line 7: unknown variant `opened`, expected one of open, awaitingConfirmation, solution, theory, confirmation, exhausted, deadEnd (did you mean open?)
        "min: 1" -> "min: one"
          line 9: not a whole number
        "name: CLAIM" -> "name: claim"
          line 10: `claim` is not a state's name: A-Z, 0-9 and _, beginning with a letter, at most 40 characters
        "name: STOP" -> "name: GO"
          line 16: GO stands twice (each state has one entry)
          line 35: STOP is not one of the states (the states are GO, CLAIM, GO, YES)
        "terminal: true" -> "terminal: true\n  children: [{min: 1}]"
          line 21: STOP is terminal and can't owe children (leave children out, or terminal)
        "terminal: true" -> "terminal: true\n  childStates: [GO]"
          line 21: STOP is terminal and can't have children (leave childStates out, or terminal)
        "children: [{min: 1}]" -> "children: [{min: 0}]"
          line 5: GO is open, but owes no child (write `terminal: true`, or what it owes: `children: [{min: 1}]`)
        "children: [{min: 1}]" -> "children: [{min: 1, fromRound: 3, toRound: 2}]"
          line 9: fromRound 3 and toRound 2 leave no round (rounds are counted from 1, and toRound is the later one)
        "\"#00ff00\"" -> "\"#00ff0\""
          line 24: `#00ff0` is no colour (give a name that Graphviz knows, like lightblue, or "#rrggbb")
        "role: open" -> "role: awaitingConfirmation"
          line 7: GO awaits a confirmation that no rule under `confirmations` gives (add one, or give it another role)
        "- {min: 1}" -> "- {min: 1, of: [YSE]}"
          line 15: YSE is not one of the states (the states are GO, CLAIM, STOP, YES)
        "- {min: 1}" -> "- {min: 1, of: [NOTHING]}"
          line 15: NOTHING is not one of the states (the states are GO, CLAIM, STOP, YES)
        "- {min: 1}" -> "- {min: 1, of: [STOP]}\n  childStates: [YES]"
          line 16: CLAIM owes children in states that its childStates do not allow (add them to childStates)
          line 36: CLAIM allows no STOP child that could make it GO (add it to that state's childStates)
        "- {min: 1}" -> "- {min: 1}\n  childStates: []"
          line 16: CLAIM allows no child at all (leave childStates out to allow any)
        "- {min: 1}" -> "- {min: 1}\n  childStates: [GO]"
          line 35: CLAIM allows no YES child that could make it YES (add it to that state's childStates)
          line 36: CLAIM allows no STOP child that could make it GO (add it to that state's childStates)
        "toRound: 1" -> "toRound: 5"
          sound
        "[CLAIM], toRound: 1" -> "[GO], toRound: 1"
          line 28: it stores GO, which itself comes too early in round 1 (store a state that may be committed in all these rounds)
        "[CLAIM], toRound: 1" -> "[CLAIN], toRound: 1"
          line 28: CLAIN is not one of the states (did you mean CLAIM?)
        "[CLAIM], toRound: 1" -> "[], toRound: 1"
          line 28: the rule names no state (name the states that come too early)
        "toRound: 2" -> "fromRound: 3, toRound: 2"
          line 29: fromRound 3 and toRound 2 leave no round (rounds are counted from 1, and toRound is the later one)
        "toRound: 2" -> "toRound: 200"
          line 29: toRound 200 is beyond every investigation (100 is the most, and means for ever)
        "toRound: 2" -> "toRound: 2, code: TOO_SOON"
          line 29: a rule that refuses the commit has no code of its own: it is STATE_LOCKED (add storeAs, or leave code out)
        "storeAs: GO" -> "storeAs: GO, code: too soon"
          line 28: `too soon` is no code (use A-Z, 0-9 and _, as in DEPTH_ENFORCED)
        "toRound: 2" -> "toRound: 2, storeAs: CLAIM, fromRound: 1"
          line 29: it stores CLAIM, which itself comes too early in round 1 (store a state that may be committed in all these rounds)
        "states: [YES], min" -> "states: [YESS], min"
          line 30: YESS is not one of the states (did you mean YES?)
        "roots: {min: 1}" -> "roots: {min: 0}"
          line 26: there must be at least one root (write `min: 1`, or leave it out)
        "roots: {min: 1}" -> "roots: {min: 2, max: 1}"
          line 26: max is below min (raise max, or lower min)
        "roots: {min: 1}" -> "roots: {min: 2, ids: [R1.A]}"
          line 26: there are fewer ids than roots (name as many as min, or leave ids out)
        "roots: {min: 1}" -> "roots: {ids: [R2.A]}"
          line 26: a root is in round 1 (use ids like R1.A)
        "roots: {min: 1}" -> "roots: {min: 5}\nbatchLimit: 4"
          line 27: batchLimit is below the least number of roots, so that no investigation could begin (raise it, or lower min under roots)
        "roots: {min: 1}" -> "batchLimit: 0"
          line 26: a batch must be allowed to hold a node (leave batchLimit out for no limit)
        "roots: {min: 1}" -> "breadth: {round: 0, recommended: 3}"
          line 26: rounds are counted from 1 (write `round: 2`, say)
        "roots: {min: 1}" -> "terminalRatio: {limits: [{maxPercent: 101}], alsoClosed: [CLAM]}"
          line 26: CLAM is not one of the states (did you mean CLAIM?)
          line 26: 101 % is more than all (100 is the most)
        "becomes: GO" -> "becomes: CLAIM"
          line 33: CLAIM would become what it is (name another state under becomes)
        "role: awaitingConfirmation" -> "role: solution"
          line 32: CLAIM waits for a confirmation, but its role is solution (give that state `role: awaitingConfirmation`)
        "children: [{min: 1}]" -> "children: [{min: 1}]\n  childStates: [GO, CLAIM, STOP]"
          line 35: CLAIM may become YES below GO, which does not allow it (add it to the childStates of that parent)
          line 36: CLAIM may have a YES child, which GO does not allow (give both states the same childStates)
        "minRounds: 2" -> "minRounds: 21"
          line 36: minRounds is 21 (it is from 1 to 20)
        "minRounds: 2" -> "minRounds: 2, minQualityPercent: 120"
          line 36: the quality can't be above 100 % (100 is the most, and 50 is a lot)
        "name: quick" -> "name: deep"
          line 39: the mode deep stands twice (each mode has one entry)
        "name: quick" -> "name: quick, maxChildrenOwed: 0, minRounds: 0"
          line 39: minRounds is 0 (it is from 1 to 20)
          line 39: maxChildrenOwed 0 would let open nodes end an investigation (1 is the least)
        "##);
    }

    const CASES: [(&str, &str); 44] = [
        ("version: 1", "version: 2"),
        ("version: 1\n", ""),
        ("name: own", "name: Own Rules"),
        ("summary: A", "sumary: A"),
        ("role: open", "role: opened"),
        ("min: 1", "min: one"),
        ("name: CLAIM", "name: claim"),
        ("name: STOP", "name: GO"),
        ("terminal: true", "terminal: true\n  children: [{min: 1}]"),
        ("terminal: true", "terminal: true\n  childStates: [GO]"),
        ("children: [{min: 1}]", "children: [{min: 0}]"),
        ("children: [{min: 1}]", "children: [{min: 1, fromRound: 3, toRound: 2}]"),
        ("\"#00ff00\"", "\"#00ff0\""),
        ("role: open", "role: awaitingConfirmation"),
        ("- {min: 1}", "- {min: 1, of: [YSE]}"),
        ("- {min: 1}", "- {min: 1, of: [NOTHING]}"),
        ("- {min: 1}", "- {min: 1, of: [STOP]}\n  childStates: [YES]"),
        ("- {min: 1}", "- {min: 1}\n  childStates: []"),
        ("- {min: 1}", "- {min: 1}\n  childStates: [GO]"),
        ("toRound: 1", "toRound: 5"),
        ("[CLAIM], toRound: 1", "[GO], toRound: 1"),
        ("[CLAIM], toRound: 1", "[CLAIN], toRound: 1"),
        ("[CLAIM], toRound: 1", "[], toRound: 1"),
        ("toRound: 2", "fromRound: 3, toRound: 2"),
        ("toRound: 2", "toRound: 200"),
        ("toRound: 2", "toRound: 2, code: TOO_SOON"),
        ("storeAs: GO", "storeAs: GO, code: too soon"),
        ("toRound: 2", "toRound: 2, storeAs: CLAIM, fromRound: 1"),
        ("states: [YES], min", "states: [YESS], min"),
        ("roots: {min: 1}", "roots: {min: 0}"),
        ("roots: {min: 1}", "roots: {min: 2, max: 1}"),
        ("roots: {min: 1}", "roots: {min: 2, ids: [R1.A]}"),
        ("roots: {min: 1}", "roots: {ids: [R2.A]}"),
        ("roots: {min: 1}", "roots: {min: 5}\nbatchLimit: 4"),
        ("roots: {min: 1}", "batchLimit: 0"),
        ("roots: {min: 1}", "breadth: {round: 0, recommended: 3}"),
        ("roots: {min: 1}", "terminalRatio: {limits: [{maxPercent: 101}], alsoClosed: [CLAM]}"),
        ("becomes: GO", "becomes: CLAIM"),
        ("role: awaitingConfirmation", "role: solution"),
        ("children: [{min: 1}]", "children: [{min: 1}]\n  childStates: [GO, CLAIM, STOP]"),
        ("minRounds: 2", "minRounds: 21"),
        ("minRounds: 2", "minRounds: 2, minQualityPercent: 120"),
        ("name: quick", "name: deep"),
        ("name: quick", "name: quick, maxChildrenOwed: 0, minRounds: 0"),
    ];
}
