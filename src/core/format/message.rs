//! Commit messages for readers of `git log`. The subject names the event. The body contains titles, reasons and
//! warnings. Trailers follow in git's own format.
//!
//! Text from callers can't pass for a trailer: it is indented or follows a node id, and the trailers are the last
//! paragraph.
//!
//! A message quotes only text that its commit writes. Withholding a node from publication
//! ([`crate::format::layout::WITHHELD`]) therefore withholds the messages of the commits that wrote it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::assess::Assessment;
use crate::domain::{
    Amendment, Attached, Caller, Change, Code, Comment, CommentKind, Diagnostic, Event, Investigation, Meta,
    Node, NodeId, Run, RunKind, Transition, Warning,
};
use crate::format::layout::{self, Place};
use crate::ruleset::EffectiveRules;
use crate::text::{counted, one_line, shorten, visible};

/// The maximum length of a subject in characters. A longer subject states the number of nodes instead of naming all of
/// them.
const SUBJECT_MAX: usize = 100;

/// The command that releases proposals. No tool does this.
pub const RELEASE: &str = "tot release";

/// The tool that agents use to comment, and the commands that people use.
pub const COMMENT: [&str; 4] = ["tot_comment", "tot comment", "tot object", "tot resolve"];

/// The command that attaches files. No tool does this.
pub const ATTACH: &str = "tot attach";

/// The command for runs, used by people and by agents with a shell.
pub const RUN: &str = "tot run";
/// The command for repetitions and judgements, used by people and by agents with a shell.
pub const RERUN: &str = "tot rerun";

/// Returns whether a warning is recorded only in the message. This is the case for suspected credentials and for all
/// warnings issued when an investigation ends.
fn is_unfiled(event: &Event, code: &Code) -> bool {
    matches!(event, Event::Ended { .. }) || *code == Code::SecretSuspected
}

/// Returns the message for the first commit, without warnings.
pub fn started(meta: &Meta) -> String {
    started_with(meta, &[], &Caller::default())
}

/// Returns the message for the first commit, with the warnings issued when the investigation started.
pub fn started_with(meta: &Meta, warnings: &[Diagnostic], caller: &Caller) -> String {
    let mut message = format!("Start: {}\n\n{}\n", line(&meta.title, SUBJECT_MAX), block(&meta.query));
    if !warnings.is_empty() {
        message.push_str(&format!("\n{}", unfiled_warnings(warnings)));
    }
    message.push('\n');
    trailer(&mut message, "Tool", "tot_start");
    trailer(&mut message, "Ruleset", &meta.ruleset);
    trailer(&mut message, "Mode", &meta.mode);
    caller_trailers(&mut message, caller);
    for warning in warnings {
        trailer(&mut message, "Warning", &warning.code.to_string());
    }
    message
}

/// Returns the message for a merge of two commits, with a line for each decision. `parents` contains the short ids of
/// the commits.
pub fn merged(parents: &[String; 2], decisions: &[String]) -> String {
    with_decisions(format!("Merge {} and {}\n", parents[0], parents[1]), decisions)
}

/// Returns the message for a commit that resolves the conflict markers in the given files, with a line for each
/// decision.
pub fn resolved(files: &[String], decisions: &[String]) -> String {
    let name = |path: &String| match layout::place(path) {
        Place::Node(id) => id.to_string(),
        _ => path.clone(),
    };
    with_decisions(listed("Resolve the conflict in", files.iter().map(name)) + "\n", decisions)
}

fn with_decisions(mut message: String, decisions: &[String]) -> String {
    message.push_str(if decisions.is_empty() { "" } else { "\n" });
    decisions.iter().for_each(|decision| trailer(&mut message, "Merged", decision));
    message
}

/// Returns the message for the annotated tag that marks an investigation as ended.
pub fn ended(meta: &Meta, conclusion: Option<&str>) -> String {
    let mut message = format!("{}\n", line(&meta.title, SUBJECT_MAX));
    if let Some(conclusion) = conclusion {
        message.push_str(&format!("\n{}\n", block(conclusion)));
    }
    message.push('\n');
    trailer(&mut message, "Tool", "tot_end");
    message
}

/// Returns the message for an event. `before` is the state on which the event was decided, and `warnings` contains the
/// warnings in the reply.
pub fn message(
    before: &Investigation,
    rules: &EffectiveRules,
    event: &Event,
    warnings: &[Diagnostic],
    caller: &Caller,
) -> String {
    let mut text = format!("{}\n", subject(before, rules, event));
    let mut body = body(before, rules, event);
    if matches!(
        event,
        Event::Proposed { .. }
            | Event::Ended { .. }
            | Event::Commented { .. }
            | Event::Attached { .. }
            | Event::Ran { .. }
    ) {
        // No file stores these warnings, so a reviewer sees them only in the message.
        let kept: Vec<Diagnostic> =
            warnings.iter().filter(|warning| is_unfiled(event, &warning.code)).cloned().collect();
        body.push_str(&unfiled_warnings(&kept));
    }
    if !body.is_empty() {
        text.push('\n');
        text.push_str(&body);
    }
    text.push('\n');
    trailers(&mut text, event, warnings, caller);
    text
}

fn subject(before: &Investigation, rules: &EffectiveRules, event: &Event) -> String {
    match event {
        Event::Proposed { nodes, withdrawn } => {
            let propose = listed("Propose", ids(nodes));
            let withdraw = listed("Withdraw", withdrawn.iter().map(ToString::to_string));
            match (nodes.is_empty(), withdrawn.is_empty()) {
                (_, true) => propose,
                (true, false) => withdraw,
                (false, false) => format!("{propose}; w{}", &withdraw[1..]),
            }
        }
        Event::Claimed { nodes } => {
            let agent =
                nodes.iter().find_map(|node| node.claim.as_ref()).map(|claim| line(&claim.agent_id, 60));
            let claim = listed("Claim", ids(nodes));
            format!("{claim} for {}", agent.unwrap_or_default())
        }
        Event::Released { nodes } => listed("Release", ids(nodes)),
        Event::Committed { nodes, transitions, attachments } => {
            let results = nodes.iter().map(|node| format!("{} {}", node.id, committed_state(node)));
            format!(
                "{}{}{}",
                listed("Commit", results),
                transition_list(transitions),
                with_files(attachments.len())
            )
        }
        Event::Reclassified { transition, transitions, reopened } => {
            let reopened = if *reopened { ", reopening the investigation" } else { "" };
            let Transition { node, from, to, .. } = transition;
            format!("Reclassify {} {from}→{to}{}{reopened}", node.id, transition_list(transitions))
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            let parts: Vec<&str> = last.into_iter().flat_map(Amendment::parts).collect();
            format!("Amend {} of {}", parts.join(", "), node.id)
        }
        Event::Ended { conclusion } if !conclusion.amended.is_empty() => {
            let last = conclusion.amended.last();
            match last.is_some_and(|it| it.conclusion.is_none() && it.answers.is_some()) {
                true => "Name the answers of the conclusion".to_owned(),
                false => "Amend the conclusion".to_owned(),
            }
        }
        Event::Ended { conclusion } => {
            let after = before.with(&[Change::Concluded(Arc::clone(conclusion))]);
            let assessment = Assessment::new(&after, Some(*rules));
            let verb = if conclusion.stopped.is_some() { "Stop early" } else { "End" };
            let counts: String = assessment
                .counts()
                .iter()
                .map(|(verdict, count)| format!(", {count} {}", verdict.label()))
                .collect();
            let refuted = match assessment.refuted.len() {
                0 => String::new(),
                refuted => format!(", {refuted} refuted"),
            };
            let found = match assessment.answers.len() {
                0 => "no answer".to_owned(),
                number => counted(number, "answer"),
            };
            let ruled_out = assessment.ruled_out().count();
            format!("{verb} with {found}{counts}{refuted}, and {ruled_out} ruled out")
        }
        Event::Commented { comment } => comment_subject(comment),
        Event::Attached { attachments } => {
            let node = attachments.first().map_or_else(String::new, |file| file.node.to_string());
            match attachments.as_slice() {
                [file] => format!("Attach {} to {node}", line(file.name.as_str(), 60)),
                several => format!("Attach {} files to {node}", several.len()),
            }
        }
        Event::Ran { runs, attachments } => match runs.as_slice() {
            [run] => format!("{}{}", run_subject(run), with_files(attachments.len())),
            several => {
                let mut counts: Vec<(&str, usize)> = Vec::new();
                for label in several.iter().map(|run| run.outcome()) {
                    match counts.iter_mut().find(|(other, _)| *other == label) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((label, 1)),
                    }
                }
                let counts: Vec<String> =
                    counts.iter().map(|(label, count)| format!("{count} {label}")).collect();
                format!("Run {} commands again: {}", several.len(), counts.join(", "))
            }
        },
    }
}

fn ids(nodes: &[Arc<Node>]) -> impl Iterator<Item = String> {
    nodes.iter().map(|node| node.id.to_string())
}

/// Returns `Run R2.A1: python3 load.py (exit 0, 55 s)` or `Run R2.A1 again: python3 load.py (differs)`.
fn run_subject(run: &Run) -> String {
    let about = run.node.as_ref().map_or_else(|| "the whole".to_owned(), ToString::to_string);
    let command = |max| run.ran().map_or_else(String::new, |ran| line(&ran.line(), max));
    match &run.what {
        RunKind::Captured(ran) => {
            let (ended, seconds) = (line(&ran.ended.to_string(), 60), ran.seconds);
            format!("Run {about}: {} ({ended}, {seconds})", command(60))
        }
        RunKind::Repeated { .. } => format!("Run {about} again: {} ({})", command(60), run.outcome()),
        RunKind::Judged { .. } => format!("Judge a difference in {about}: {}", run.outcome()),
    }
}

/// Returns `, with 2 files`, or an empty string for 0.
fn with_files(number: usize) -> String {
    if number == 0 { String::new() } else { format!(", with {}", counted(number, "file")) }
}

/// Lists the attachments of a node, each on an indented line.
fn attachment_lines(attachments: &[Arc<Attached>], node: &NodeId) -> String {
    let of_node = attachments.iter().filter(|file| file.node == *node);
    of_node
        .map(|file| format!("    attached {} ({})\n", file.name, counted(file.content.len(), "byte")))
        .collect()
}

/// Returns `Object to R2.A1` or `Answer a comment on R2.A1`.
fn comment_subject(comment: &Comment) -> String {
    let about = comment.node.as_ref().map_or_else(|| "the whole".to_owned(), ToString::to_string);
    match comment.kind {
        CommentKind::Comment => format!("Comment on {about}"),
        CommentKind::Objection => format!("Object to {about}"),
        CommentKind::Answer => format!("Answer a comment on {about}"),
        CommentKind::Resolution => format!("Resolve an objection to {about}"),
    }
}

/// Returns `EXPLORE`, or `DEAD→EXPLORE` if a rule replaced the requested state.
fn committed_state(node: &Node) -> String {
    let Some(classification) = &node.classification else { return String::new() };
    let newest = classification.newest();
    let state = match &newest.requested_state {
        None => newest.state.to_string(),
        Some(asked) => format!("{asked}→{}", newest.state),
    };
    match classification.other_results.is_empty() {
        true => state,
        false => format!("{state} as another result"),
    }
}

fn transition_list(transitions: &[Transition]) -> String {
    transitions.iter().map(|Transition { node, from, to, .. }| format!("; {} {from}→{to}", node.id)).collect()
}

/// Returns `Commit R2.A1 EXPLORE, R2.A2 DEAD`, or `Commit 40 nodes: R2.A1 EXPLORE, …` if that would be too long.
fn listed(verb: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let whole = format!("{verb} {}", items.join(", "));
    if whole.chars().count() <= SUBJECT_MAX {
        return whole;
    }
    let mut text = format!("{verb} {} nodes: ", items.len());
    for item in &items {
        if text.chars().count() + item.chars().count() > SUBJECT_MAX - 2 {
            break;
        }
        text.push_str(item);
        text.push_str(", ");
    }
    text.push('…');
    text
}

fn body(before: &Investigation, rules: &EffectiveRules, event: &Event) -> String {
    let mut body = String::new();
    let entry = |id: &NodeId, text: &str| format!("{id} {}\n", line(text, 300));
    match event {
        Event::Proposed { nodes, withdrawn } => {
            for node in nodes {
                body.push_str(&entry(&node.id, &node.title));
            }
            for node in withdrawn.iter().filter_map(|id| before.node(id)) {
                body.push_str(&entry(&node.id, &format!("(withdrawn) {}", node.title)));
            }
        }
        Event::Claimed { nodes } | Event::Released { nodes } => {
            for node in nodes {
                let until = node.claim.as_ref().map(|claim| format!(" (until {})", claim.until));
                body.push_str(&entry(&node.id, &format!("{}{}", node.title, until.unwrap_or_default())));
            }
        }
        Event::Committed { nodes, transitions, attachments } => {
            for node in nodes {
                let found = node.classification.as_ref().and_then(|it| it.newest().headline.as_ref());
                body.push_str(&entry(&node.id, found.unwrap_or(&node.title)));
                body.push_str(&stored_warnings(
                    node.classification.iter().flat_map(|it| &it.newest().warnings),
                ));
                body.push_str(&attachment_lines(attachments, &node.id));
            }
            for transition in transitions {
                body.push_str(&entry(&transition.node.id, &transition_note(transition)));
            }
        }
        Event::Reclassified { transition, transitions, .. } => {
            let last = transition.node.classification.as_ref().and_then(|it| it.reclassified.last());
            body.push_str(&entry(&transition.node.id, &transition.node.title));
            body.push_str(&stored_warnings(last.iter().flat_map(|change| &change.warnings)));
            if let Some(reason) = last.and_then(|change| change.reason.as_deref()) {
                body.push_str(&format!("\n{}\n", block(reason)));
            }
            for transition in transitions {
                body.push_str(&entry(&transition.node.id, &transition_note(transition)));
            }
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            body.push_str(&entry(&node.id, node.name()));
            if let Some(amendment) = last {
                body.push_str(&format!("\n{}\n", block(&amendment.reason)));
            }
        }
        Event::Ended { conclusion } => {
            if let Some(amended) = conclusion.amended.last() {
                body.push_str(&format!("{}\n\n", block(&amended.reason)));
            }
            if let Some(text) = &conclusion.conclusion {
                body.push_str(&format!("{}\n", block(text)));
            }
            let has_notes = !(conclusion.answers.is_empty() && conclusion.not_covered.is_empty());
            body.push_str(if has_notes { "\n" } else { "" });
            for bound in &conclusion.answers {
                body.push_str(&format!("{} {}\n", bound.role.label(), bound.id));
            }
            for missing in &conclusion.not_covered {
                body.push_str(&format!("not covered: {}\n", line(missing, 300)));
            }
            let after = before.with(&[Change::Concluded(Arc::clone(conclusion))]);
            let limits = Assessment::new(&after, Some(*rules)).limits();
            for caveat in limits.iter().filter(|limit| limit.node.is_some()) {
                body.push_str(&format!("{}\n", line(&caveat.to_string(), 300)));
            }
        }
        Event::Commented { comment } => body.push_str(&format!("{}\n", block(&comment.text))),
        Event::Attached { attachments } => {
            if let Some(file) = attachments.first() {
                body.push_str(&attachment_lines(attachments, &file.node));
            }
        }
        Event::Ran { runs, attachments } => {
            if runs.len() > 1 {
                runs.iter().for_each(|run| body.push_str(&format!("{}\n", run_subject(run))));
            }
            for note in runs.iter().filter_map(|run| run.note.as_deref()) {
                body.push_str(&format!("{}\n", block(note)));
            }
            if let Some(file) = attachments.first() {
                body.push_str(&attachment_lines(attachments, &file.node));
            }
        }
    }
    body
}

/// Lists the warnings of a node, each on an indented line.
fn stored_warnings<'a>(warnings: impl Iterator<Item = &'a Warning>) -> String {
    warnings.map(|warning| format!("    {}: {}\n", warning.code, line(&warning.message, 300))).collect()
}

/// Lists warnings that do not belong to a node in the commit.
fn unfiled_warnings(warnings: &[Diagnostic]) -> String {
    let said = |warning: &Diagnostic| match &warning.code {
        // The message of this warning quotes the comment, which this commit does not write.
        code @ Code::ObjectionOpen => {
            format!("    {code}: {}, on {}\n", code.meaning(), warning.node.as_deref().unwrap_or("the whole"))
        }
        code => format!("    {code}: {}\n", line(warning.message.agent(), 300)),
    };
    warnings.iter().map(said).collect()
}

fn transition_note(transition: &Transition) -> String {
    match &transition.by {
        Some(child) => format!("became {}, by {child}", transition.to),
        None => format!("became {}", transition.to),
    }
}

fn trailers(text: &mut String, event: &Event, warnings: &[Diagnostic], caller: &Caller) {
    let (tool, nodes, agents): (_, Vec<&NodeId>, Vec<&str>) = match event {
        Event::Proposed { nodes, withdrawn } => {
            ("tot_propose", nodes.iter().map(|node| &node.id).chain(withdrawn).collect(), Vec::new())
        }
        Event::Claimed { nodes } => (
            "tot_next",
            nodes.iter().map(|node| &node.id).collect(),
            nodes.iter().filter_map(|node| Some(node.claim.as_ref()?.agent_id.as_str())).collect(),
        ),
        Event::Released { nodes } => (RELEASE, nodes.iter().map(|node| &node.id).collect(), Vec::new()),
        Event::Committed { nodes, transitions, .. } => (
            "tot_commit",
            nodes
                .iter()
                .chain(transitions.iter().map(|transition| &transition.node))
                .map(|node| &node.id)
                .collect(),
            nodes
                .iter()
                .filter_map(|node| node.classification.as_ref()?.newest().agent_id.as_deref())
                .collect(),
        ),
        Event::Reclassified { transition, transitions, .. } => {
            let last = transition.node.classification.as_ref().and_then(|it| it.reclassified.last());
            let agent = last.and_then(|change| change.agent());
            let nodes = std::iter::once(transition)
                .chain(transitions)
                .map(|transition| &transition.node.id)
                .collect();
            ("tot_reclassify", nodes, agent.into_iter().collect())
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            let agent = last.and_then(|amendment| amendment.agent_id.as_deref());
            ("tot_amend", vec![&node.id], agent.into_iter().collect())
        }
        Event::Ended { conclusion } => {
            let (tool, agent) = match conclusion.amended.last() {
                Some(amended) => ("tot_amend", &amended.agent_id),
                None => ("tot_end", &conclusion.agent_id),
            };
            (tool, Vec::new(), agent.as_deref().into_iter().collect())
        }
        Event::Commented { comment } => {
            let [tool, on, object, resolve] = COMMENT;
            let tool = match comment.kind {
                _ if !comment.author.is_person() => tool,
                CommentKind::Comment | CommentKind::Answer => on,
                CommentKind::Objection => object,
                CommentKind::Resolution => resolve,
            };
            let agent = comment.author.agent_id.as_deref();
            (tool, comment.node.iter().collect(), agent.into_iter().collect())
        }
        Event::Attached { attachments } => {
            (ATTACH, attachments.iter().take(1).map(|file| &file.node).collect(), Vec::new())
        }
        Event::Ran { runs, .. } => {
            let first = runs.iter().all(|run| matches!(run.what, RunKind::Captured(_)));
            let nodes: BTreeSet<&NodeId> = runs.iter().filter_map(|run| run.node.as_ref()).collect();
            let agents = runs.iter().filter_map(|run| run.author.agent_id.as_deref());
            (if first { RUN } else { RERUN }, nodes.into_iter().collect(), agents.collect())
        }
    };
    trailer(text, "Tool", tool);
    for round in nodes.iter().map(|id| id.round()).collect::<BTreeSet<_>>() {
        trailer(text, "Round", &round.to_string());
    }
    for node in nodes {
        trailer(text, "Node", node.as_str());
    }
    let mut seen = BTreeSet::new();
    for agent in agents.into_iter().filter(|agent| seen.insert(*agent)) {
        trailer(text, "Agent-Id", agent);
    }
    caller_trailers(text, caller);
    let stored = stored_codes(event);
    let is_kept = |code: &Code| stored.contains(code) || is_unfiled(event, code);
    for warning in warnings.iter().filter(|warning| is_kept(&warning.code)) {
        let node = warning.node.as_deref().unwrap_or_default();
        trailer(text, "Warning", format!("{} {node}", warning.code).trim_end());
    }
}

/// Adds the trailers about the caller, if known.
fn caller_trailers(text: &mut String, caller: &Caller) {
    let Caller { person, client, session, model, .. } = caller;
    let person = person.as_ref().map(|person| person.name.clone());
    for (key, value) in [("Person", &person), ("Client", client), ("Session", session), ("Model", model)] {
        if let Some(value) = value {
            trailer(text, key, value);
        }
    }
}

/// Returns the warning codes that the event's nodes store. Codes that only describe the current state are not part of
/// the history.
fn stored_codes(event: &Event) -> BTreeSet<&Code> {
    let nodes: &[Arc<Node>] = match event {
        Event::Committed { nodes, .. } => nodes,
        Event::Reclassified { transition: Transition { node, .. }, .. } | Event::Amended { node } => {
            std::slice::from_ref(node)
        }
        _ => &[],
    };
    nodes
        .iter()
        .filter_map(|node| node.classification.as_ref())
        .flat_map(|classification| classification.all_warnings().chain(&classification.newest().warnings))
        .map(|warning| &warning.code)
        .collect()
}

fn trailer(text: &mut String, key: &str, value: &str) {
    text.push_str(&format!("{key}: {}\n", line(value, 300)));
}

/// Shortens the text to one line of at most `max` characters.
fn line(text: &str, max: usize) -> String {
    shorten(&one_line(text), max)
}

/// Indents free text so that none of its lines can pass for a trailer, and truncates it after forty lines.
fn block(text: &str) -> String {
    const LINES: usize = 40;
    let mut lines: Vec<String> = text
        .trim()
        .lines()
        .take(LINES)
        .map(|one| {
            let clean: String = one.chars().take(1_000).map(visible).collect();
            let clean = clean.trim_end();
            if clean.is_empty() { String::new() } else { format!("    {clean}") }
        })
        .collect();
    if text.trim().lines().count() > LINES {
        lines.push("    …".into());
    }
    lines.join("\n")
}
