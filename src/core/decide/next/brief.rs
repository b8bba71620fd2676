//! Writes the text for tasks: the title, the planned action, and the prompt for the research agent.
//!
//! All wording about states comes from the ruleset. Prompts have a maximum length: the query, the path and the findings
//! may be shortened, but never the rules or the reporting instructions.

use super::Task;
use super::states::States;
use crate::decide::TITLE_MAX;
use crate::domain::{Investigation, Node, NodeId};
use crate::markdown;
use crate::ruleset::effective::list;
use crate::ruleset::rules::children::children;
use crate::ruleset::rules::of_state;
use crate::ruleset::{EffectiveRules, Role, State};
use crate::text::{one_line, shorten};

/// Maximum length of a prompt in characters, and the lower limit that applies when a plan has many prompts.
const PROMPT_MAX: usize = 1_200;
const PROMPT_LEAST: usize = 600;

/// Maximum total length of all prompts in a plan.
const PROMPTS_MAX: usize = 6_500;

/// Maximum number of characters copied from the parent's title.
const BASE_MAX: usize = 80;

/// Maximum number of characters of the answer's caveats, which a check is to try.
const CAVEATS_MAX: usize = 240;

/// Prefixes that turn a parent's title into a child's title. They apply, in this order, if the parent is an open node,
/// an answer, or a seemingly exhausted node.
const TASKS: [&str; 3] = ["Dig deeper", "Check the answer", "Look for what is left"];

/// Returns the maximum length of each prompt in a plan.
pub(super) fn prompt_length(tasks: usize) -> usize {
    (PROMPTS_MAX / tasks.max(1)).clamp(PROMPT_LEAST, PROMPT_MAX)
}

/// Returns a title and a planned action. `number` is the task's position among its siblings, counting from 1.
pub(super) fn title_and_action(
    investigation: &Investigation,
    rules: &EffectiveRules,
    parent: Option<&Node>,
    number: usize,
    of_roots: usize,
) -> (String, String) {
    let meta = investigation.meta();
    let (title, action) = match parent.and_then(|parent| Some((parent, parent.state()?))) {
        None if of_roots < 2 => (meta.title.clone(), "Take the question apart: what is known, which directions are open, and which of them look promising.".to_owned()),
        None => (
            format!("{} ({number})", shorten(&meta.title, BASE_MAX)),
            "Approach the question from an angle no other root takes: say which, and why it could be the right one.".to_owned(),
        ),
        Some((parent, state)) => {
            let (base, path) = base(parent.name());
            let path = path.map_or(number.to_string(), |path| format!("{path}.{number}"));
            let needed = rules.required_children(state, parent.round());
            let needed = needed.map(|(number, of)| format!(", which needs {}", children(number, of))).unwrap_or_default();
            let [deeper, check, left] = TASKS;
            let (task, todo) = match rules.role(state) {
                Role::Solution if rules.must_fall(investigation, parent) => (check, "What it rests on is refuted: say what falls with it."),
                Role::Solution | Role::AwaitingConfirmation => (check, "Try to break what it says; confirm it only if it holds."),
                Role::Exhausted => (left, "Make sure that nothing is left to try there."),
                _ if number > 1 => (deeper, "Take a direction that its other children do not take."),
                _ => (deeper, "Take the most promising direction from its findings."),
            };
            let caveats = parent.classification.iter().filter(|_| task == check).flat_map(|it| &it.caveats);
            let caveats = caveats.map(|it| one_line(it).trim_end_matches('.').to_owned()).collect::<Vec<_>>();
            let caveats = Some(caveats.join("; ")).filter(|it| !it.is_empty());
            let targets = caveats.map(|it| format!(" Its caveats: {}.", shorten(&it, CAVEATS_MAX)));
            (
                format!("{task}: {} ({path})", shorten(base, BASE_MAX)),
                format!("Continue {} ({state}{needed}). {todo}{}", parent.id, targets.unwrap_or_default()),
            )
        }
    };
    (shorten(&title, TITLE_MAX), action)
}

impl States<'_> {
    /// Returns a complete task. Its prompt has at most `length` characters.
    pub(super) fn task(
        self,
        id: &NodeId,
        parent: Option<&Node>,
        (title, planned_action): (String, String),
        length: usize,
    ) -> Task {
        let above = parent.map(|parent| self.investigation.path(&parent.id)).unwrap_or_default();
        Task {
            path: above.iter().map(|node| (node.id.clone(), node.name().to_owned())).collect(),
            counts: counts(self, parent),
            prompt: prompt(self, (id, parent, &title, &planned_action), length),
            id: id.clone(),
            parent: parent.map(|parent| parent.id.clone()),
            title,
            planned_action,
            is_required: false,
        }
    }
}

/// Lists the states that can be committed below `parent`, with their requirements, and the states that `parent` is
/// waiting for.
fn counts(states: States<'_>, parent: Option<&Node>) -> String {
    let state = |state: &&State| format!("{}{}", state.name, needs(states.rules, state));
    let allowed = list(states.committable(parent).iter().map(state));
    let asked = parent.and_then(|parent| {
        let requirement = states.rules.requirement(states.investigation, parent)?;
        let of = requirement.of?;
        Some(format!("; {} needs {}", parent.id, children(requirement.missing().max(1), Some(of))))
    });
    format!("{allowed}{}", asked.unwrap_or_default())
}

/// Returns the requirements for a state besides findings, in parentheses, or an empty string without requirements.
pub fn needs(rules: &EffectiveRules, state: &State) -> String {
    let evidence = rules.evidence(&state.name).map(|least| format!("evidence: {least} characters"));
    let alternatives = rules.alternatives(&state.name).map(|least| format!("{least} alternatives"));
    let needs: Vec<String> = evidence.into_iter().chain(alternatives).collect();
    if needs.is_empty() { String::new() } else { format!(" ({})", needs.join(", ")) }
}

/// Returns the full brief for an agent without prior knowledge.
pub(super) fn prompt(
    states: States<'_>,
    task: (&NodeId, Option<&Node>, &str, &str),
    length: usize,
) -> String {
    let States { investigation, rules } = states;
    let (id, parent, title, action) = task;
    let options = states.committable(parent);
    let full: Vec<String> = options
        .iter()
        .map(|state| {
            format!("{} ({})", state.name, describe(rules, state)).replace(". )", ")").replace(".)", ")")
        })
        .collect();
    let mut allowed = format!("States in round {}: {}.", id.round(), full.join("; "));
    if allowed.chars().count() > length / 3 {
        allowed =
            format!("States in round {}: {}.", id.round(), list(options.iter().map(|state| &state.name)));
    }
    if let Some(parent) = parent
        && let Some(requirement) = rules.requirement(investigation, parent)
        && requirement.of.is_some()
    {
        allowed.push_str(&format!(" {} needs {}.", parent.id, requirement.describe()));
    }
    let proven: Vec<_> = options.iter().filter(|state| rules.evidence(&state.name).is_some()).collect();
    if let Some(least) = proven.iter().filter_map(|state| rules.evidence(&state.name)).max() {
        allowed.push_str(&format!(
            " `evidence` of {least} characters or more: {}.",
            list(proven.iter().map(|state| &state.name))
        ));
    }
    let report = "Report in Markdown: what you tried, what you found, how certain it is; sources under `## References`, \
                  one per line as `- path:line - what it is` or a URL. Commit with your own agentId.";
    let room = length.saturating_sub(allowed.chars().count() + report.chars().count() + 30);
    let head = format!("Research {id}: {}", shorten(title, room / 5));
    let query = format!("Question: {}", shorten(&one_line(&investigation.meta().query), room / 5));
    let known = investigation.meta().context.as_deref().map(one_line).filter(|context| !context.is_empty());
    let known = known.map(|context| format!("Known beforehand: {}", shorten(&context, room / 6)));
    let todo = format!("Do: {}", shorten(&one_line(action), room / 4));
    let used = known.as_deref().map_or(0, |known| known.chars().count() + 1);
    let used = used + head.chars().count() + query.chars().count() + todo.chars().count() + 4;
    let path = parent.map(|parent| path(investigation, parent, room.saturating_sub(used)));
    let parts = [Some(head), Some(query), known, path, Some(todo), Some(allowed), Some(report.to_owned())];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Describes the path from the root to the parent, with ids, states, titles and the beginning of the parent's findings.
fn path(investigation: &Investigation, parent: &Node, room: usize) -> String {
    let nodes = investigation.path(&parent.id);
    let step = |node: &Node| {
        let state = node.state().map(ToString::to_string).unwrap_or_default();
        format!("{} {state} “{}”", node.id, shorten(&node.title, 60))
    };
    // The parent and the root matter most. Ancestors between them are added as long as they fit.
    let mut text = step(parent);
    let mut left_out = false;
    for (above, node) in nodes.iter().rev().skip(1).enumerate() {
        let longer = format!("{} > {text}", step(node));
        if longer.chars().count() > room / 2 && above > 0 {
            left_out = true;
            break;
        }
        text = longer;
    }
    let mut text = format!("Path: {}{text}", if left_out { "… > " } else { "" });
    if text.chars().count() + 2 > room {
        return shorten(&text, room);
    }
    let findings =
        parent.classification.as_ref().map_or("", |classification| classification.findings.as_str());
    let rest = room.saturating_sub(text.chars().count() + 20);
    if rest > 20 && !findings.trim().is_empty() {
        text.push_str(&format!("\n{} found: {}", parent.id, markdown::excerpt(findings, rest)));
    }
    text
}

fn describe(rules: &EffectiveRules, state: &State) -> String {
    format!("{}. {}", state.meaning, of_state(rules, state)).trim_end().to_owned()
}

/// Splits a title into the part after any prefix added by an earlier task, and the number in parentheses that ends the
/// title.
fn base(title: &str) -> (&str, Option<&str>) {
    let rest = |task: &&str| title.strip_prefix(*task)?.strip_prefix(": ");
    let base = TASKS.iter().find_map(rest).unwrap_or(title);
    let numbered = base.strip_suffix(')').and_then(|base| base.rsplit_once(" ("));
    match numbered {
        Some((base, path)) if path.bytes().all(|b| b.is_ascii_digit() || b == b'.') && path.len() < 30 => {
            (base, Some(path))
        }
        _ => (base, None),
    }
}
