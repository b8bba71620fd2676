//! The prompts that people can choose in a client: starting an investigation with the full method, continuing an
//! investigation, researching a node, and checking an answer. All instructions about the method come from the
//! ruleset.

use std::sync::Arc;

use rmcp::model::{Prompt, PromptArgument};

use super::resources::{AROUND, MOST, fitting, length};
use crate::assess::{Answer, Assessment, DoubtKind};
use crate::decide::blockers::blockers;
use crate::decide::next::{brief, briefs, check, outlook};
use crate::domain::wording::command;
use crate::domain::{Code, Diagnostic, Investigation, Node, NodeId};
use crate::ruleset::effective::list;
use crate::ruleset::instructions::instructions;
use crate::ruleset::{EffectiveRules, Role};
use crate::service::reply::plan::{claim, unshown};
use crate::service::{Loaded, Refusal, Service};
use crate::text::{one_line, shorten};

/// Returns all prompts, in the order in which they are listed.
pub fn prompts() -> [Prompt; 4] {
    let argument = |name: &str, description: &str, required| {
        PromptArgument::new(name).with_description(description).with_required(required)
    };
    let prompt = |name: &str, title: &str, description: &str, arguments| {
        Prompt::new(name, Some(description), Some(arguments)).with_title(title)
    };
    let session =
        argument("sessionId", "The investigation: its id, or a unique prefix or suffix of it.", true);
    [
        prompt(
            "investigate",
            "Investigate a question",
            "Starts an investigation: the question and the whole method.",
            vec![
                argument("query", "The question.", true),
                argument("ruleset", "The method; the server's default if absent.", false),
            ],
        ),
        prompt(
            "continue",
            "Continue an investigation",
            "Continues an investigation: its state, the next step and the method.",
            vec![session.clone()],
        ),
        prompt(
            "research",
            "Research a node",
            "The whole brief of a node, for an agent without context.",
            vec![session.clone(), argument("nodeId", "The node.", true)],
        ),
        prompt(
            "verify",
            "Check an answer",
            "Has the answers, or one node, checked by someone other than the author.",
            vec![session, argument("nodeId", "The node to check; all answers if absent.", false)],
        ),
    ]
}

/// The maximum length of findings and of the report in a prompt, in characters.
const TEXT: usize = 6_000;

/// The maximum length of other user-supplied text in a prompt, in characters.
const BESIDE: usize = 2_000;

/// The maximum number of blockers and pending nodes to list.
const NAMED: usize = 10;

/// Returns the text of a prompt. `argument` returns arguments by name.
///
/// # Errors
///
/// Returns an error if the prompt is unknown, an argument is missing, or the investigation or node does not exist.
pub fn prompt(
    service: &Service,
    name: &str,
    argument: impl Fn(&str) -> Option<String>,
) -> Result<String, Refusal> {
    let prompts = prompts();
    let prompt = prompts.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
        let (shown, names) = (shorten(name, 60), list(prompts.iter().map(|prompt| &prompt.name)));
        Diagnostic::new(Code::InvalidArgument, format!("Unknown prompt `{shown}`. The prompts are {names}."))
    })?;
    let given = |name: &str| argument(name).filter(|text| !text.trim().is_empty());
    let mut required = prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
    if let Some(missing) = required.find(|argument| given(&argument.name).is_none()) {
        let description = missing.description.as_deref().unwrap_or_default();
        let message = format!("The prompt `{name}` needs `{}`: {description}", missing.name);
        return Err(Diagnostic::new(Code::InvalidArgument, message).into());
    }
    let text = |name: &str| given(name).unwrap_or_default();
    let text = match name {
        "investigate" => investigate(service, &text("query"), given("ruleset").as_deref()),
        "continue" => continue_prompt(service, &text("sessionId")),
        "research" => research(service, &text("sessionId"), text("nodeId").trim()),
        _ => match given("nodeId") {
            Some(node) => verify(service, &text("sessionId"), node.trim()),
            None => attack(service, &text("sessionId")),
        },
    };
    text.map(bounded)
}

/// Cuts a prompt that is too long, as a reply to a tool is.
fn bounded(text: String) -> String {
    let kept = fitting(&text, false);
    if kept == text.len() {
        return text;
    }
    format!(
        "{}\n\n…\n\nThe rest is left out: tot_read returns whole texts, and tot_next the tasks with their prompts.\n",
        &text[..kept]
    )
}

fn investigate(service: &Service, query: &str, ruleset: Option<&str>) -> Result<String, Refusal> {
    let ruleset = &service.ruleset(ruleset)?.ruleset;
    let instructions = instructions(&EffectiveRules::by_default(ruleset));
    let room = MOST.saturating_sub(2 * AROUND + length(&instructions));
    if length(query) > room {
        let message = format!("The question has {} bytes; this prompt has room for {room}.", length(query));
        let how = "Put the details into a file, and name the file in the question.";
        return Err(Diagnostic::new(Code::TextTooLong, message).suggest(how).into());
    }
    Ok(format!(
        "Investigate this question with the Tree of Thoughts tools (tot_start, tot_propose, tot_commit, tot_next, \
         tot_step, tot_end):\n\n{}\n\nBegin with tot_start: `query` is the exact question, `ruleset` is \
         `{}`, `context` what is already known. Keep the sessionId that it returns; every other call takes it. \
         Then follow the method below to its end. Do actual research, with whatever tools you have, and give each node to \
         a sub-agent if you have some: people review everything you commit, with its sources.\n\n{}",
        quoted(query),
        ruleset.name,
        instructions
    ))
}

fn continue_prompt(service: &Service, session: &str) -> Result<String, Refusal> {
    let loaded = service.read(session)?;
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let committed = investigation.committed().count();
    let mut text = format!(
        "Continue the investigation {} with the Tree of Thoughts tools. {}\n\nIt is in round {} of at least {}; \
         committed: {committed}.",
        investigation.meta().id,
        question(&loaded),
        investigation.current_round(),
        rules.min_rounds,
    );
    let pending: Vec<NodeId> = investigation.pending().take(NAMED).map(|node| node.id.clone()).collect();
    if !pending.is_empty() {
        text.push_str("\n\n## Proposed, not yet committed\n");
        for task in briefs(investigation, &rules, &pending) {
            text.push_str(&format!(
                "\n- {}: {}. {}",
                task.id,
                task.title,
                shorten(&task.planned_action, 300)
            ));
        }
    }
    let outlook = outlook(investigation, &rules);
    let blockers = blockers(investigation, &rules);
    if !blockers.is_empty() {
        text.push_str("\n\n## What prevents ending\n");
        for blocker in blockers.iter().take(NAMED) {
            text.push_str(&format!("\n- {}", blocker.message.agent()));
        }
        if blockers.len() > NAMED {
            text.push_str(&format!("\n- and {} more", blockers.len() - NAMED));
        }
    }
    text.push_str(&format!(
        "\n\n## Next\n\n{} tot_next returns tasks, prompts and the next legal call; tot_read returns the findings of \
         others.\n\n{}",
        outlook.next_step.wording(None).agent(),
        instructions(&service.rules(&loaded))
    ));
    Ok(text)
}

fn research(service: &Service, session: &str, node: &str) -> Result<String, Refusal> {
    let loaded = service.read(session)?;
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let node = found(investigation, "node", node)?;
    Ok(brief(investigation, &rules, node))
}

/// Returns what somebody needs to attack all answers: their claims, and what each gives to attack.
fn attack(service: &Service, session: &str) -> Result<String, Refusal> {
    let loaded = service.read(session)?;
    let assessment = loaded.assessment();
    let mut text = format!(
        "Attack the investigation {}: try to refute each of its answers, and confirm those that hold. Correct single \
         sentences first (tot_comment with kind correction and `edits`), then confirm the rest. Do not trust the \
         findings: measure, read and reproduce yourself, under your own agentId. tot_read returns them whole. {}\n",
        loaded.investigation().meta().id,
        question(&loaded)
    );
    text.push_str(&not_covered(&loaded));
    for answer in &assessment.answers {
        let targets = targets(service, &loaded, &assessment, answer);
        text.push_str(&format!("\n## {}\n\n{targets}\n", answer.node.id));
    }
    // A prompt that is too long is cut at its end, and tot_read returns the report.
    if let Some(report) = loaded.investigation().report() {
        let unshown = unshown(service, &loaded, "", &report.report());
        let unshown: String = unshown.iter().map(|it| format!("\n- {it}\n")).collect();
        text.push_str(&format!("\n## The report\n\n{}\n{unshown}", shorten(report.report().trim(), TEXT)));
    }
    Ok(text)
}

/// Lists what the report does not cover.
fn not_covered(loaded: &Loaded) -> String {
    match loaded.investigation().report().map(|it| it.not_covered.join("\n- ")) {
        Some(limits) if !limits.is_empty() => format!("\n## Not covered\n\n- {limits}\n"),
        _ => String::new(),
    }
}

/// Lists what an answer gives to attack: its claim, what it rests on, what would overturn it, which of its sources and
/// numbers were not found, and the commands to run again.
fn targets(service: &Service, loaded: &Loaded, assessment: &Assessment<'_>, answer: &Answer<'_>) -> String {
    let node = answer.node;
    let mut lines = claim(service, loaded, answer);
    let premises: Vec<&NodeId> =
        answer.premises.iter().map(|it| &it.node.id).filter(|id| **id != node.id).collect();
    if !premises.is_empty() {
        lines.push(format!("It rests on {}.", list(premises)));
    }
    let doubts = assessment.doubts_of(answer, &|_| None).into_iter();
    lines.extend(doubts.filter(|doubt| doubt.kind != DoubtKind::NotCovered).map(|doubt| doubt.text));
    let own = node.classification.iter().flat_map(|it| &it.caveats);
    let own = own.map(|caveat| format!("Its caveat: {}", one_line(caveat)));
    let others = assessment.caveats(answer).map(|limit| one_line(&limit.to_string()));
    lines.extend(own.chain(others).take(NAMED));
    let runs = assessment.evidence(answer);
    let session = assessment.investigation.meta().id.to_string();
    lines.extend(runs.take(NAMED).map(|run| {
        let again = command("tot rerun", Some(&session), &run.run.id.to_string());
        format!("`{again}` runs `{}` again ({})", run.command(), run.ran.seconds)
    }));
    lines.into_iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

fn verify(service: &Service, session: &str, node: &str) -> Result<String, Refusal> {
    let loaded = service.read(session)?;
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let id = investigation.meta().id;
    let found = found(investigation, "committed node", node)?;
    let it = found.classification.as_ref().ok_or_else(|| no_such("committed node", node))?;
    let node = found;
    let state = it.current_state();
    let mut text = format!(
        "Check node {} in investigation {id}, whose state is {state}: “{}”. Try to refute it; confirm it only if it \
         holds. If only a few sentences are wrong, correct them first (tot_comment with kind correction and `edits`), \
         then confirm the rest. Do not trust its findings: measure, read and reproduce yourself, under your \
         own agentId. {}\n\n## Its findings\n\n{}\n",
        node.id,
        node.title,
        question(&loaded),
        shorten(it.findings.trim(), TEXT)
    );
    if it.findings.trim().chars().count() > TEXT {
        text.push_str(&format!(
            "\nFor the rest, call tot_read with nodeIds [{}] and offset {TEXT}.\n",
            node.id
        ));
    }
    if let Some(evidence) = &it.evidence {
        text.push_str(&format!("\n## Its evidence\n\n{}\n", shorten(evidence.trim(), BESIDE)));
    }
    let assessment = loaded.assessment();
    if let Some(answer) = assessment.answer(&node.id) {
        let targets = targets(service, &loaded, &assessment, answer);
        text.push_str(&format!("\n## What to attack\n\n{targets}\n{}", not_covered(&loaded)));
    }
    text.push_str("\n## The rules\n");
    if let Some(confirmation) = rules.confirmation(state) {
        for outcome in &confirmation.outcomes {
            text.push_str(&format!("\n- A child in {} makes it {}.", outcome.child, outcome.becomes));
        }
    }
    let allowed = |name: &_| rules.child_states(state).is_none_or(|states| states.contains(name));
    for confirming in rules.ruleset().states.iter().filter(|state| state.role == Role::Confirmation) {
        if allowed(&confirming.name) && !rules.is_terminal(state) {
            text.push_str(&format!("\n- A child in {} confirms it.", confirming.name));
        }
    }
    match check(investigation, &rules, node).filter(|_| investigation.end_in_force().is_none()) {
        Some(task) => text.push_str(&format!(
            "\n- Propose the check as {} with parent {} (tot_propose), research it, then commit the result with tot_commit \
             in the state that your findings support.\n\n## The task\n\n{}",
            task.id, node.id, task.prompt
        )),
        None if investigation.end_in_force().is_some() => text.push_str(
            "\n- The investigation has ended. If the node doesn't hold, change its state with tot_reclassify and give \
             the reason: an open state reopens the investigation.",
        ),
        None => text.push_str(&format!(
            "\n- {} takes no children as {state}: if it doesn't hold, change its state with tot_reclassify and give a \
             reason and evidence.",
            node.id
        )),
    }
    Ok(text)
}

fn found<'i>(investigation: &'i Investigation, what: &str, node: &str) -> Result<&'i Arc<Node>, Refusal> {
    investigation
        .find(node)
        .map_err(|error| error.ambiguous(node).map_or_else(|| no_such(what, node), Refusal::from))
}

fn no_such(what: &str, node: &str) -> Refusal {
    Diagnostic::new(Code::NodeNotFound, format!("There is no {what} `{}`.", shorten(node, 60)))
        .suggest("tot_status with `detail: full` lists the nodes.")
        .into()
}

/// Returns the investigation's question and context.
fn question(loaded: &Loaded) -> String {
    let meta = loaded.investigation().meta();
    let context = meta
        .context
        .as_deref()
        .map(|context| format!("\n\nContext:\n\n{}", quoted(&shorten(context.trim(), BESIDE))));
    format!("Its question:\n\n{}{}", quoted(&shorten(meta.query.trim(), BESIDE)), context.unwrap_or_default())
}

/// Formats text as a Markdown quotation.
fn quoted(text: &str) -> String {
    text.trim().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
