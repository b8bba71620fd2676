//! Detects contradictions in a ruleset, such as rules that make it impossible to end an investigation.

use super::rules::{KINDS, Ruleset};
use super::schema::VERSION;
use crate::domain::StateName;

/// A contradiction in a ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The top-level key that contains the contradiction.
    pub section: &'static str,
    /// The index of the list item that contains the contradiction, if any.
    pub item: Option<usize>,
    /// A word in the offending line.
    pub needle: String,
    /// The problem.
    pub reason: String,
    /// The remedy.
    pub suggestion: Option<String>,
}

impl Contradiction {
    /// Returns the line number of the offending word, counted from 1. If the word is not found, returns the first line
    /// of the item or section.
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

/// Returns the line range of an item in a block list, from its dash to the next dash. The list spans `start` to `end`.
fn nth_item(lines: &[&str], start: usize, end: usize, item: usize) -> Option<(usize, usize)> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let dashes: Vec<usize> = (start..end).filter(|at| lines[*at].trim_start().starts_with("- ")).collect();
    let least = dashes.iter().map(|at| indentation(lines[*at])).min()?;
    let mut items = dashes.into_iter().filter(|at| indentation(lines[*at]) == least).skip(item);
    Some((items.next()?, items.next().unwrap_or(end)))
}

/// The minimum similarity of a suggested word.
const ALIKE: f64 = 0.59;

/// Returns the remedy for a YAML error. Suggests the closest expected word for an unknown key or value, or the key to
/// add for a missing field.
pub(super) fn remedy(message: &str) -> Option<String> {
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

/// Returns all contradictions in a ruleset.
pub fn problems(ruleset: &Ruleset) -> Vec<Contradiction> {
    let mut problems = Problems { key: "version", item: None, found: Vec::new() };
    if ruleset.version != VERSION {
        let reason =
            format!("version {} is not known; this program reads version {VERSION}", ruleset.version);
        problems.add(ruleset.version, reason, format!("write `version: {VERSION}`"));
    }
    if !is_plain_name(&ruleset.name) {
        problems.key = "name";
        problems.add("name", format!("`{}` is not a ruleset name", ruleset.name), PLAIN_NAME);
    }
    for kind in &KINDS {
        problems.key = kind.key.split('.').next().unwrap_or_default();
        problems.item = None;
        (kind.problems)(ruleset, &mut problems);
    }
    problems.found
}

/// The naming rule for rulesets and modes.
pub(super) const PLAIN_NAME: &str = "use a-z, 0-9 and hyphens, at most 60";

/// Returns whether a name follows [`PLAIN_NAME`].
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The contradictions found so far, and the part of the ruleset that is being checked.
pub struct Problems {
    /// The top-level key.
    pub key: &'static str,
    /// The index of the list item, if any.
    pub item: Option<usize>,
    found: Vec<Contradiction>,
}

impl Problems {
    /// Adds a contradiction. An empty suggestion is left out.
    pub fn add(&mut self, needle: impl ToString, reason: impl Into<String>, suggestion: impl Into<String>) {
        self.found.push(Contradiction {
            section: self.key,
            item: self.item,
            needle: needle.to_string(),
            reason: reason.into(),
            suggestion: Some(suggestion.into()).filter(|text| !text.is_empty()),
        });
    }

    /// Adds a problem for each name that is not a state in the ruleset.
    pub fn check_states<'n>(&mut self, ruleset: &Ruleset, names: impl IntoIterator<Item = &'n StateName>) {
        for name in names.into_iter().filter(|name| ruleset.state(name).is_none()) {
            let nearest = ruleset
                .states
                .iter()
                .map(|state| (strsim::jaro_winkler(state.name.as_str(), name.as_str()), &state.name))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(alike, nearest)| match alike > ALIKE {
                    true => format!("did you mean {nearest}?"),
                    false => format!("the states are {}", ruleset.state_list()),
                });
            self.add(name, format!("{name} is not one of the states"), nearest.unwrap_or_default());
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

    /// Returns the problems found in a valid ruleset after applying some replacements.
    fn problems(replacements: &[(&str, &str)]) -> String {
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
        assert_eq!(problems(&[]), "sound");
    }

    #[test]
    fn each_contradiction_is_told_with_its_line_and_how_to_mend_it() {
        insta::assert_snapshot!(CASES.iter().map(|(from, to)| format!("{from:?} -> {to:?}\n  {}\n", problems(&[(from, to)]).replace('\n', "\n  "))).collect::<String>(), @r##"
        "version: 1" -> "version: 2"
          line 1: version 2 is not known; this program reads version 1 (write `version: 1`)
        "version: 1\n" -> ""
          line 36: missing field `version` (add the key version)
        "name: own" -> "name: Own Rules"
          line 2: `Own Rules` is not a ruleset name (use a-z, 0-9 and hyphens, at most 60)
        "roots: {min: 1}" -> "roots: {id: [R1.A]}"
          line 26: unknown field `id`, expected one of min, minIsChosen, max, ids (did you mean ids?)
        "role: open" -> "role: opened"
          line 7: unknown variant `opened`, expected one of open, awaitingConfirmation, solution, theory, confirmation, exhausted, deadEnd (did you mean open?)
        "min: 1" -> "min: one"
          line 9: not a whole number
        "name: CLAIM" -> "name: claim"
          line 10: `claim` is not a state name: A-Z, 0-9 and _, beginning with a letter, at most 40 characters
        "name: STOP" -> "name: GO"
          line 16: GO is repeated (each state has one entry)
          line 35: STOP is not one of the states (the states are GO, CLAIM, GO, YES)
        "terminal: true" -> "terminal: true\n  children: [{min: 1}]"
          line 21: STOP is terminal and can't require children (omit either children or terminal)
        "terminal: true" -> "terminal: true\n  childStates: [GO]"
          line 21: STOP is terminal and can't have children (leave childStates out, or terminal)
        "children: [{min: 1}]" -> "children: [{min: 0}]"
          line 5: GO is open, but requires no child (write `terminal: true`, or require one: `children: [{min: 1}]`)
        "children: [{min: 1}]" -> "children: [{min: 1, fromRound: 3, toRound: 2}]"
          line 9: fromRound 3 and toRound 2 span no rounds (rounds start at 1; toRound must not precede fromRound)
        "\"#00ff00\"" -> "\"#00ff0\""
          line 24: `#00ff0` is not a colour (give a name that Graphviz knows, like lightblue, or "#rrggbb")
        "role: open" -> "role: awaitingConfirmation"
          line 7: GO awaits confirmation, but has no rule under `confirmations` (add one, or give it another role)
        "- {min: 1}" -> "- {min: 1, of: [YSE]}"
          line 15: YSE is not one of the states (the states are GO, CLAIM, STOP, YES)
        "- {min: 1}" -> "- {min: 1, of: [NOTHING]}"
          line 15: NOTHING is not one of the states (the states are GO, CLAIM, STOP, YES)
        "- {min: 1}" -> "- {min: 1, of: [STOP]}\n  childStates: [YES]"
          line 16: CLAIM requires children in states that its childStates do not allow (add them to childStates)
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
          line 29: fromRound 3 and toRound 2 span no rounds (rounds start at 1; toRound must not precede fromRound)
        "toRound: 2" -> "toRound: 200"
          line 29: toRound 200 is beyond the last round (use at most 100, which means no limit)
        "toRound: 2" -> "toRound: 2, code: TOO_SOON"
          line 29: a rule that refuses the commit has no code of its own: it is STATE_LOCKED (add storeAs, or leave code out)
        "storeAs: GO" -> "storeAs: GO, code: too soon"
          line 28: `too soon` is not a code (use A-Z, 0-9 and _, as in DEPTH_ENFORCED)
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
          line 27: batchLimit is below the minimum number of roots, so no investigation could start (raise it, or lower min under roots)
        "roots: {min: 1}" -> "batchLimit: 0"
          line 26: a batch must allow at least one node (leave batchLimit out for no limit)
        "roots: {min: 1}" -> "breadth: {round: 0, recommended: 3}"
          line 26: rounds are counted from 1 (write `round: 2`, say)
        "roots: {min: 1}" -> "terminalRatio: {limits: [{maxPercent: 101}], alsoClosed: [CLAM]}"
          line 26: CLAM is not one of the states (did you mean CLAIM?)
          line 26: 101 % is over 100 % (use at most 100)
        "becomes: GO" -> "becomes: CLAIM"
          line 33: CLAIM would not change (name another state under becomes)
        "role: awaitingConfirmation" -> "role: solution"
          line 32: CLAIM awaits confirmation, but its role is solution (give that state `role: awaitingConfirmation`)
        "children: [{min: 1}]" -> "children: [{min: 1}]\n  childStates: [GO, CLAIM, STOP]"
          line 35: CLAIM may become YES below GO, which does not allow it (add it to the childStates of that parent)
          line 36: CLAIM may have a YES child, which GO does not allow (give both states the same childStates)
        "minRounds: 2" -> "minRounds: 21"
          line 36: minRounds is 21 (use 1 to 20)
        "minRounds: 2" -> "minRounds: 2, minQualityPercent: 120"
          line 36: the quality can't be above 100 % (use at most 100; 50 is already high)
        "name: quick" -> "name: deep"
          line 39: the mode deep is repeated (each mode has one entry)
        "name: quick" -> "name: quick, maxChildrenOwed: 0, minRounds: 0"
          line 39: minRounds is 0 (use 1 to 20)
          line 39: maxChildrenOwed 0 would allow ending with open nodes (use at least 1)
        "##);
    }

    const CASES: [(&str, &str); 44] = [
        ("version: 1", "version: 2"),
        ("version: 1\n", ""),
        ("name: own", "name: Own Rules"),
        ("roots: {min: 1}", "roots: {id: [R1.A]}"),
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
