//! What an agent must know to follow a ruleset, written from it: the states, what each needs, the loop, the end.

use super::effective::{EffectiveRules, list};
use super::schema::{LAST_ROUND, Role, Severity, State};
use crate::domain::StateName;
use crate::text::sentence;

/// The instructions for one investigation, in Markdown.
pub fn instructions(rules: &EffectiveRules) -> String {
    let ruleset = rules.ruleset();
    // Summary and advice are of the whole method: they would contradict the rules where some of them are not in force.
    let summary = if rules.is_relaxed() { rules.mode_meaning() } else { ruleset.summary.as_str() };
    let mut text = format!("# {} (mode {})\n\n{summary}\n", ruleset.name, rules.mode_name());
    if let Some(advice) = ruleset.advice.as_ref().filter(|_| !rules.is_relaxed()) {
        text.push_str(&format!("\n{}\n", advice.trim()));
    }
    text.push_str("\n## States\n\n");
    for state in &ruleset.states {
        text.push_str(&format!("- {}: {}. {}\n", state.name, state.meaning, needs(rules, state)));
    }
    let rules_said = sentences(rules);
    if !rules_said.is_empty() {
        text.push_str("\n## Rules\n\n");
        for rule in rules_said {
            text.push_str(&format!("- {rule}\n"));
        }
    }
    text.push_str("\n## Loop\n\n");
    for (number, step) in steps(rules).iter().enumerate() {
        text.push_str(&format!("{}. {step}\n", number + 1));
    }
    text.push_str(&format!("\n## End\n\n{}\n", end(rules)));
    text
}

/// What a state asks for and what it does, in sentences.
pub fn needs(rules: &EffectiveRules, state: &State) -> String {
    let mut parts = Vec::new();
    if state.terminal {
        parts.push("Terminal.".to_owned());
    }
    if let Some(owed) = owed(rules, state) {
        parts.push(format!("Needs {owed}."));
    }
    if let Some(allowed) = &state.child_states {
        parts.push(format!("Its children may be {}.", list(allowed)));
    }
    match rules.first_round(&state.name) {
        Some(1) => {}
        Some(first) => parts.push(format!("From round {first}.")),
        None => parts.push("No commit gives it.".to_owned()),
    }
    if let Some(least) = rules.evidence(&state.name) {
        parts.push(format!("Needs `evidence` of {least} characters or more."));
    }
    if let Some(confirmation) = rules.confirmation(&state.name) {
        for outcome in &confirmation.outcomes {
            parts.push(format!("A child in {} makes it {}.", outcome.child, outcome.becomes));
        }
    }
    parts.join(" ")
}

/// The children that a state asks for, by rounds: `2 children in rounds 1 to 2, 1 child from round 3`.
pub fn owed(rules: &EffectiveRules, state: &State) -> Option<String> {
    // Each said once, with the round from which it holds; an empty one where nothing is owed.
    let mut said: Vec<(u32, String)> = Vec::new();
    for round in 1..=100 {
        let need = match rules.owed(&state.name, round) {
            Some((min, of)) if min > 0 => super::effective::children(min, of),
            _ => String::new(),
        };
        if said.last().is_none_or(|(_, last)| *last != need) {
            said.push((round, need));
        }
    }
    if let [(_, need)] = said.as_slice() {
        return (!need.is_empty()).then(|| need.clone());
    }
    let each: Vec<String> = said
        .iter()
        .enumerate()
        .filter(|(_, (_, need))| !need.is_empty())
        .map(|(i, (from, need))| match said.get(i + 1) {
            Some((next, _)) if next - 1 == *from => format!("{need} in round {from}"),
            Some((next, _)) => format!("{need} in rounds {from} to {}", next - 1),
            None => format!("{need} from round {from}"),
        })
        .collect();
    Some(each.join(", "))
}

/// The rules that go across states, one sentence each.
pub fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let ruleset = rules.ruleset();
    let mut sentences = Vec::new();
    // Rules that differ only in their code are one sentence.
    type Key<'r> = (u32, u32, &'r Option<StateName>);
    let mut early: Vec<(Key, Vec<&StateName>)> = Vec::new();
    for rule in &ruleset.early_states {
        let states = rule.states.iter().filter(|state| rules.early_rule(state, rule.to_round).is_some());
        let key = (rule.from_round.unwrap_or(1), rule.to_round, &rule.store_as);
        match early.iter_mut().find(|(other, _)| *other == key) {
            Some((_, known)) => known.extend(states),
            None => early.push((key, states.collect())),
        }
    }
    for ((from, to, stored), states) in early.iter().filter(|(_, states)| !states.is_empty()) {
        let rounds = match to {
            to if to == from => format!("round {from}"),
            &LAST_ROUND if *from == 1 => "any round".to_owned(),
            &LAST_ROUND => format!("round {from} and later"),
            to => format!("rounds {from} to {to}"),
        };
        let is = if states.len() == 1 { "is" } else { "are" };
        sentences.push(match stored {
            Some(stored) => format!("In {rounds}, {} {is} stored as {stored}.", list(states)),
            None => format!("In {rounds}, {} {is} refused.", list(states)),
        });
    }
    if let Some(ratio) = &ruleset.terminal_ratio {
        let limits: Vec<String> = ratio
            .limits
            .iter()
            .map(|limit| match (limit.from_round.unwrap_or(1), limit.to_round) {
                (from, Some(to)) if from == to => format!("{} % in round {from}", limit.max_percent),
                (from, Some(to)) => format!("{} % in rounds {from} to {to}", limit.max_percent),
                (from, None) => format!("{} % from round {from}", limit.max_percent),
            })
            .collect();
        let also = match ratio.also_closed.as_slice() {
            [] => String::new(),
            states => format!(" (with {})", list(states)),
        };
        sentences.push(format!(
            "Of one commit's nodes, at most so many may be closed{also}: {}.",
            limits.join(", ")
        ));
        for exception in &ratio.not_counted {
            let nodes = match &exception.states {
                Some(states) => format!("nodes in {}", list(states)),
                None => "nodes".to_owned(),
            };
            let below = exception.children_of.as_ref().map(|of| format!(" below {}", list(of)));
            let rounds = exception.to_round.map(|last| match last {
                1 => " of round 1".to_owned(),
                last => format!(" up to round {last}"),
            });
            sentences.push(format!(
                "There, {nodes}{}{} do not count.",
                below.unwrap_or_default(),
                rounds.unwrap_or_default()
            ));
        }
    }
    if let Some(limit) = ruleset.batch_limit {
        sentences.push(format!("At most {limit} nodes in a proposal."));
    }
    if let Some((round, recommended)) = rules.breadth() {
        sentences.push(format!("{recommended} or more nodes are recommended in round {round}."));
    }
    let checks = &ruleset.checks;
    let mut check = |severity: Severity, what: String| match severity {
        Severity::Off => {}
        Severity::Warn => sentences.push(format!("{what} draws a warning that stays in the history.")),
        Severity::Reject => sentences.push(format!("{what} is refused.")),
    };
    check(
        checks.suspicious,
        format!("A commit less than {} s after its proposal", checks.min_research_seconds),
    );
    check(checks.missing_agent, "A result without agentId".to_owned());
    check(checks.reused_agent, "An agentId that already stands on another node".to_owned());
    if rules.secrets() == Severity::Reject {
        check(Severity::Reject, "A text that holds what looks like a credential".to_owned());
    }
    sentences
}

/// What is asked of the roots, in a sentence.
pub fn roots(rules: &EffectiveRules) -> String {
    let roots = &rules.ruleset().roots;
    let ids = roots.ids.as_ref().map(|ids| format!(", {}", list(ids))).unwrap_or_default();
    match (rules.min_roots(), roots.max) {
        (1, Some(1)) => format!("One root{ids}."),
        (least, Some(most)) if least == most => format!("{least} roots in the first proposal{ids}."),
        (least, Some(most)) => format!("{least} to {most} roots{ids}."),
        (1, None) => format!("One or more roots{ids}."),
        (least, None) if roots.min_is_chosen => {
            format!("{least} or more roots in the first proposal{ids}; `minRoots` may choose another number.")
        }
        (least, None) => format!("{least} or more roots in the first proposal{ids}."),
    }
}

fn steps(rules: &EffectiveRules) -> Vec<String> {
    let ruleset = rules.ruleset();
    let roots = match (&ruleset.roots.ids, rules.min_roots(), ruleset.roots.max) {
        (Some(ids), _, _) if ids.len() == 1 => format!("one root, {} (parent: null)", ids[0]),
        (_, 1, Some(1)) => "one root (parent: null)".to_owned(),
        (_, 1, _) => "one or more roots, R1.A, R1.B, … (parent: null)".to_owned(),
        (_, least, _) => format!("{least} or more roots in one batch, R1.A, R1.B, … (parent: null)"),
    };
    let confirm = ruleset.states.iter().find(|state| state.role == Role::Confirmation);
    let mut steps = vec![
        format!("tot_propose: {roots}."),
        "Research each proposed node, best with an agent of its own.".to_owned(),
        "tot_commit: for each node a state, findings in Markdown (sources under `## References`), and the agentId.".to_owned(),
        "tot_propose children of the nodes that need some: a child's round is its parent's + 1, and its suffix extends \
         its parent's, letters and digits in turn (R2.A1 below R1.A, R3.A1a below R2.A1)."
            .to_owned(),
        "Repeat 2 to 4; each reply's `message` names the next step, `nextRoundInfo` what is owed. tot_next gives tasks \
         with ids and prompts, and the call that is legal now; tot_step does 3 and 4 in one call."
            .to_owned(),
    ];
    if let Some(confirm) = confirm {
        steps.push(format!(
            "Try to break what looks like an answer; a child in state {} confirms it.",
            confirm.name
        ));
    }
    steps.push("tot_end with a `conclusion` in Markdown once `canEnd` is true.".to_owned());
    steps
}

fn end(rules: &EffectiveRules) -> String {
    sentence(&end_parts(rules).join("; "))
}

/// What must hold at the end, one clause each.
pub fn end_parts(rules: &EffectiveRules) -> Vec<String> {
    let mut parts = vec![format!("round {} is reached", rules.min_rounds())];
    if let Some(depth) = rules.min_depth() {
        parts.push(format!("the deepest node is in round {depth} or later"));
    }
    if let Some(percent) = rules.ruleset().end.min_quality_percent {
        parts.push(format!("the quality is {:.2} or more", f64::from(percent) / 100.0));
    }
    if !rules.ruleset().confirmations.is_empty() {
        parts.push("no node awaits confirmation".to_owned());
    }
    parts.push("every open node has the children it needs".to_owned());
    parts.push("no proposal is pending".to_owned());
    parts
}
