//! What an agent must know to follow a ruleset, written from it: the states, what each needs, the loop, the end.

use super::schema::{Role, Severity, State};
use super::terms::{Terms, list};
use crate::domain::Meta;

/// The instructions for one investigation, in Markdown.
pub fn instructions(terms: &Terms, meta: &Meta) -> String {
    let ruleset = terms.ruleset();
    let mut text = format!("# {} (mode {})\n\n{}\n", ruleset.name, meta.mode, ruleset.summary);
    if let Some(advice) = &ruleset.advice {
        text.push_str(&format!("\n{}\n", advice.trim()));
    }
    text.push_str("\n## States\n\n");
    for state in &ruleset.states {
        text.push_str(&format!("- {}: {}. {}\n", state.name, state.meaning, needs(terms, state)));
    }
    let rules = rules(terms);
    if !rules.is_empty() {
        text.push_str("\n## Rules\n\n");
        for rule in rules {
            text.push_str(&format!("- {rule}\n"));
        }
    }
    text.push_str("\n## Loop\n\n");
    for (number, step) in steps(terms).iter().enumerate() {
        text.push_str(&format!("{}. {step}\n", number + 1));
    }
    text.push_str(&format!("\n## End\n\n{}\n", end(terms)));
    text
}

/// What a state asks for and what it does, in sentences.
pub fn needs(terms: &Terms, state: &State) -> String {
    let mut parts = Vec::new();
    if state.terminal {
        parts.push("Terminal.".to_owned());
    }
    // The rules by round, each said once.
    let mut round = 1;
    let mut said: Vec<(u32, String)> = Vec::new();
    while round <= 100 {
        if let Some((min, of)) = terms.owed(&state.name, round) {
            let need = super::terms::children(min, of);
            if said.last().is_none_or(|(_, last)| *last != need) {
                said.push((round, need));
            }
        }
        round += 1;
    }
    match said.as_slice() {
        [] => {}
        [(_, need)] => parts.push(format!("Needs {need}.")),
        several => {
            let each: Vec<String> = several
                .iter()
                .enumerate()
                .map(|(i, (from, need))| match several.get(i + 1) {
                    Some((next, _)) if next - 1 == *from => format!("{need} in round {from}"),
                    Some((next, _)) => format!("{need} in rounds {from} to {}", next - 1),
                    None => format!("{need} from round {from}"),
                })
                .collect();
            parts.push(format!("Needs {}.", each.join(", ")));
        }
    }
    if let Some(allowed) = &state.child_states {
        parts.push(format!("Its children may be {}.", list(allowed)));
    }
    let first = terms.first_round(&state.name);
    if first > 1 {
        parts.push(format!("From round {first}."));
    }
    if let Some(least) = terms.evidence(&state.name) {
        parts.push(format!("Needs `evidence` of {least} characters or more."));
    }
    if let Some(confirmation) = terms.confirmation(&state.name) {
        for outcome in &confirmation.outcomes {
            parts.push(format!("A {} child makes it {}.", outcome.child, outcome.becomes));
        }
    }
    parts.join(" ")
}

/// The rules that go across states, one sentence each.
pub fn rules(terms: &Terms) -> Vec<String> {
    let ruleset = terms.ruleset();
    let mut rules = Vec::new();
    for rule in &ruleset.early_states {
        let early: Vec<_> =
            rule.states.iter().filter(|state| terms.early_rule(state, rule.to_round).is_some()).collect();
        if early.is_empty() {
            continue;
        }
        let rounds = match rule.from_round.unwrap_or(1) {
            from if from == rule.to_round => format!("round {from}"),
            from => format!("rounds {from} to {}", rule.to_round),
        };
        rules.push(match &rule.store_as {
            Some(stored) => format!("In {rounds}, {} is stored as {stored}.", list(&early)),
            None => format!("In {rounds}, {} is refused.", list(&early)),
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
        rules.push(format!(
            "Of one commit's nodes, at most so many may be closed{also}: {}.",
            limits.join(", ")
        ));
    }
    if let Some(limit) = ruleset.batch_limit {
        rules.push(format!("At most {limit} nodes in a proposal."));
    }
    if let Some((round, recommended)) = terms.breadth() {
        rules.push(format!("{recommended} or more nodes are recommended in round {round}."));
    }
    let checks = &ruleset.checks;
    let mut check = |severity: Severity, what: String| match severity {
        Severity::Off => {}
        Severity::Warn => rules.push(format!("{what} draws a warning that stays in the history.")),
        Severity::Reject => rules.push(format!("{what} is refused.")),
    };
    check(
        checks.suspicious,
        format!("A commit less than {} s after its proposal", checks.min_research_seconds),
    );
    check(checks.missing_agent, "A result without agentId".to_owned());
    check(checks.reused_agent, "An agentId that already stands on another node".to_owned());
    rules
}

fn steps(terms: &Terms) -> Vec<String> {
    let ruleset = terms.ruleset();
    let roots = match (&ruleset.roots.ids, terms.min_roots(), ruleset.roots.max) {
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

fn end(terms: &Terms) -> String {
    let mut parts = vec![format!("Round {} is reached", terms.min_rounds())];
    if let Some(depth) = terms.min_depth() {
        parts.push(format!("the deepest node is in round {depth} or later"));
    }
    if let Some(percent) = terms.ruleset().end.min_quality_percent {
        parts.push(format!("the quality is {:.2} or more", f64::from(percent) / 100.0));
    }
    if !terms.ruleset().confirmations.is_empty() {
        parts.push("no node awaits confirmation".to_owned());
    }
    parts.push("every open node has the children it needs".to_owned());
    parts.push("no proposal is pending".to_owned());
    format!("{}.", parts.join("; "))
}
