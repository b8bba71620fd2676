//! Instructions for agents, generated from the ruleset: the states and their requirements, the research loop, and the
//! requirements for ending.

use super::effective::EffectiveRules;
use super::rules::states::Role;
use super::rules::{self, roots};

/// Returns the instructions for one investigation, in Markdown.
pub fn instructions(rules: &EffectiveRules) -> String {
    with_steps(rules, steps(rules).into_iter().map(|(_, step)| step))
}

/// Returns the instructions without the steps that are the same in each investigation: a client was given them by the server.
pub fn instructions_after_general(rules: &EffectiveRules) -> String {
    with_steps(rules, steps(rules).into_iter().filter(|(is_general, _)| !is_general).map(|(_, step)| step))
}

fn with_steps(rules: &EffectiveRules, steps: impl Iterator<Item = String>) -> String {
    let ruleset = rules.ruleset();
    // The summary and the advice describe the whole method, and would contradict the rules if some were not in force.
    let summary = if rules.is_relaxed() { rules.mode_meaning() } else { ruleset.summary.as_str() };
    let mut text = format!("# {} (mode {})\n\n{summary}\n", ruleset.name, rules.mode_name());
    if let Some(advice) = ruleset.advice.as_ref().filter(|_| !rules.is_relaxed()) {
        text.push_str(&format!("\n{}\n", advice.trim()));
    }
    text.push_str("\n## States\n\n");
    for state in &ruleset.states {
        let asks = rules::of_state(rules, state);
        text.push_str(&format!("- {}: {}. {asks}\n", state.name, state.meaning));
    }
    text.push_str("\n## Rules\n\n");
    for rule in rules::sentences(rules) {
        text.push_str(&format!("- {rule}\n"));
    }
    text.push_str("\n## Loop\n\n");
    for (number, step) in steps.enumerate() {
        text.push_str(&format!("{}. {step}\n", number + 1));
    }
    text.push_str("\n## End\n\n");
    for condition in rules::end(rules) {
        text.push_str(&format!("- {condition}\n"));
    }
    text
}

/// Returns the steps of the loop, and whether each is general.
fn steps(rules: &EffectiveRules) -> Vec<(bool, String)> {
    let ruleset = rules.ruleset();
    let roots = roots::first_step(rules);
    let confirm = ruleset.states.iter().find(|state| state.role == Role::Confirmation);
    let mut steps = vec![
        (false, format!("tot_propose: {roots}.")),
        (true, "Research each proposed node; if you have sub-agents, give each of them one.".to_owned()),
        (
            true,
            "tot_commit: for each node a state, findings in Markdown (sources under `## References`), and the agentId.".to_owned(),
        ),
        (
            false,
            "tot_propose: children for the nodes that need them. A child's round is its parent's + 1, and its suffix extends \
             its parent's, letters and digits in turn (R2.A1 below R1.A, R3.A1a below R2.A1)."
                .to_owned(),
        ),
        (
            true,
            "Repeat 2 to 4; each reply's `message` names the next step, and `owed` lists what still prevents ending. tot_next \
             gives tasks with ids, and the call that is legal now; tot_step does 3 and 4 in one call."
                .to_owned(),
        ),
    ];
    if let Some(confirm) = confirm {
        let step = format!(
            "Try to break what looks like an answer; a child in state {} confirms it. If only a sentence is wrong, correct \
             it first: tot_comment with kind correction.",
            confirm.name
        );
        steps.push((false, step));
    }
    steps.push((
        false,
        "tot_end, once `canEnd` is true: `bottomLine`, what to do or what is so in one or two sentences, and a `conclusion` \
         in Markdown, for somebody who asked and has read nothing else: the question's parts in their order, what to do next, \
         what was not covered. A link says how a number is known: `[29 windows](run:4c7d8f)`."
            .to_owned(),
    ));
    steps
}
