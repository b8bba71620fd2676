//! A ruleset for people: its states as a table, its rules as sentences.

use serde::Serialize;

use super::cards::{Cards, StateView};
use super::plural;
use crate::report::templates::SafeHtml;
use crate::ruleset::schema::LAST_ROUND;
use crate::ruleset::{EffectiveRules, Ruleset, Severity, State, effective};

/// A ruleset for people.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Rules {
    pub name: String,
    pub summary: String,
    pub advice: Option<SafeHtml>,
    pub mode_meaning: Option<String>,
    pub states: Vec<StateRule>,
    /// What comes too early, in sentences.
    pub early: Vec<String>,
    /// What the end asks for, in sentences.
    pub end: Vec<String>,
    /// What else is asked, in sentences.
    pub checks: Vec<String>,
    /// The file, as it is pinned.
    pub text: String,
}

/// One state of a ruleset.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StateRule {
    pub state: StateView,
    pub count: usize,
    pub terminal: bool,
    /// What a node in it owes, in sentences.
    pub owes: Vec<String>,
    pub child_states: Option<String>,
    pub first_round: Option<u32>,
    pub evidence: Option<u32>,
}

impl<'a> Cards<'a> {
    pub(super) fn rules(&self, rules: EffectiveRules<'_>, text: &str) -> Rules {
        let ruleset = rules.ruleset();
        let counts = self.state_counts();
        let mode = ruleset.mode(&self.investigation.meta().mode);
        Rules {
            name: ruleset.name.clone(),
            summary: ruleset.summary.clone(),
            advice: SafeHtml::some_markdown(ruleset.advice.as_deref(), "advice", 3),
            mode_meaning: mode.map(|mode| mode.meaning.clone()),
            states: ruleset
                .states
                .iter()
                .zip(counts)
                .map(|(state, count)| StateRule {
                    state: count.state,
                    count: count.count,
                    terminal: state.terminal,
                    owes: owes(rules, state),
                    child_states: state.child_states.as_ref().map(effective::list),
                    first_round: rules.first_round(&state.name),
                    evidence: rules.evidence(&state.name),
                })
                .collect(),
            early: early(ruleset, self.investigation.meta().allow_early_terminal),
            end: end(rules),
            checks: checks(rules),
            text: text.to_owned(),
        }
    }
}

/// What a node in the state owes, by rounds: between the bounds of the rules nothing changes.
fn owes(rules: EffectiveRules<'_>, state: &State) -> Vec<String> {
    let mut starts: Vec<u32> = vec![1];
    for rule in &state.children {
        starts.extend(rule.from_round);
        starts.extend(rule.to_round.and_then(|last| last.checked_add(1)));
    }
    starts.sort_unstable();
    starts.dedup();
    let mut spans: Vec<(u32, _)> =
        starts.into_iter().map(|start| (start, rules.owed(&state.name, start))).collect();
    spans.dedup_by(|later, earlier| later.1 == earlier.1);
    let number = spans.len();
    let ends: Vec<Option<u32>> =
        spans.iter().skip(1).map(|(start, _)| Some(start - 1)).chain([None]).collect();
    spans
        .into_iter()
        .zip(ends)
        .filter_map(|((start, owed), end)| {
            let (min, of) = owed?;
            let what = format!("at least {}", effective::children(min, of));
            Some(match end {
                _ if number == 1 => what,
                end => format!("{what} {}", in_rounds(start, end)),
            })
        })
        .collect()
}

/// `in round 3`, `in rounds 1 and 2`, `in rounds 1 to 4`, `from round 4`.
fn in_rounds(first: u32, last: Option<u32>) -> String {
    match last {
        None => format!("from round {first}"),
        Some(last) if last == first => format!("in round {first}"),
        Some(last) if last.checked_sub(1) == Some(first) => format!("in rounds {first} and {last}"),
        Some(last) => format!("in rounds {first} to {last}"),
    }
}

fn early(ruleset: &Ruleset, allowed: bool) -> Vec<String> {
    ruleset
        .early_states
        .iter()
        .filter(|rule| !(allowed && rule.store_as.is_some()))
        .map(|rule| {
            let last = Some(rule.to_round).filter(|last| *last < LAST_ROUND);
            let rounds = in_rounds(rule.from_round.unwrap_or(1), last);
            let states = effective::list(&rule.states);
            let is = if rule.states.len() == 1 { "is" } else { "are" };
            match &rule.store_as {
                Some(state) => format!("{states} {is} stored as {state} {rounds}."),
                None => format!("{states} {is} refused {rounds}."),
            }
        })
        .collect()
}

fn end(rules: EffectiveRules<'_>) -> Vec<String> {
    let end = &rules.ruleset().end;
    let mut sentences = vec![
        format!("Round {} is reached.", rules.min_rounds()),
        "Every open node has the children it needs, and no proposal is pending.".to_owned(),
    ];
    sentences
        .extend(rules.min_depth().map(|depth| format!("The deepest node is in round {depth} or later.")));
    sentences.extend(
        end.min_quality_percent
            .map(|percent| format!("The quality is at least {:.2}.", f64::from(percent) / 100.0)),
    );
    for confirmation in &rules.ruleset().confirmations {
        sentences.push(format!("No node is left in {}.", confirmation.state));
    }
    sentences
}

fn checks(rules: EffectiveRules<'_>) -> Vec<String> {
    let ruleset = rules.ruleset();
    let mut sentences = Vec::new();
    let roots = &ruleset.roots;
    match (rules.min_roots(), roots.max) {
        (1, Some(1)) => sentences.push("There is one root.".to_owned()),
        (min, Some(max)) => sentences.push(format!("There are {min} to {max} roots.")),
        (min, None) => sentences.push(format!(
            "There {} at least {min} {}.",
            if min == 1 { "is" } else { "are" },
            plural(min as usize, "root", "roots")
        )),
    }
    sentences.extend(
        rules.breadth().map(|(round, nodes)| format!("Round {round} should have {nodes} nodes or more.")),
    );
    sentences.extend(ruleset.batch_limit.map(|limit| format!("At most {limit} nodes are proposed at once.")));
    if let Some(evidence) = &ruleset.evidence {
        let states = effective::list(&evidence.states);
        sentences.push(format!("{states} need evidence of {} characters or more.", evidence.min_characters));
    }
    if let Some(ratio) = &ruleset.terminal_ratio {
        for limit in &ratio.limits {
            let rounds = in_rounds(limit.from_round.unwrap_or(1), limit.to_round);
            sentences.push(format!("Of one commit, at most {} % may be closed {rounds}.", limit.max_percent));
        }
    }
    for confirmation in &ruleset.confirmations {
        for outcome in &confirmation.outcomes {
            sentences.push(format!(
                "A child in {} makes {} {}.",
                outcome.child, confirmation.state, outcome.becomes
            ));
        }
    }
    let checks = &ruleset.checks;
    let seconds = format!("A commit less than {} s after its proposal", checks.min_research_seconds);
    for (what, severity) in [
        (seconds.as_str(), checks.suspicious),
        ("A commit without an agent's id", checks.missing_agent),
        ("An agent's id on a second node", checks.reused_agent),
        ("What looks like a credential", checks.secret_suspected),
    ] {
        match severity {
            Severity::Off => {}
            Severity::Warn => sentences.push(format!("{what} is warned of.")),
            Severity::Reject => sentences.push(format!("{what} is refused.")),
        }
    }
    sentences
}
