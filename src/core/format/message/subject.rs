//! The subject of a commit message: what happened, to which nodes.

use std::sync::Arc;

use super::{SUBJECT_MAX, line};
use crate::assess::Assessment;
use crate::domain::{
    Amendment, Change, Comment, CommentKind, Conclusion, Event, Investigation, Node, Run, RunKind, Transition,
};
use crate::ruleset::EffectiveRules;
use crate::text::counted;

pub(super) fn subject(before: &Investigation, rules: &EffectiveRules, event: &Event) -> String {
    match event {
        Event::Proposed { nodes, withdrawn, reopened, .. } => {
            let propose = listed("Propose", ids(nodes));
            let withdraw = listed("Withdraw", ids(withdrawn));
            let proposed = match (nodes.is_empty(), withdrawn.is_empty()) {
                (_, true) => propose,
                (true, false) => withdraw,
                (false, false) => format!("{propose}; w{}", &withdraw[1..]),
            };
            proposed + reopening(reopened.as_deref())
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
            let reopened = reopening(reopened.as_deref());
            let Transition { node, from, to, .. } = transition;
            format!("Reclassify {} {from}→{to}{}{reopened}", node.id, transition_list(transitions))
        }
        Event::Amended { node } => {
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            let parts: Vec<&str> = last.into_iter().flat_map(Amendment::parts).collect();
            format!("Amend {} of {}", parts.join(", "), node.id)
        }
        Event::Ended { conclusion } if conclusion.draft => match conclusion.amendment() {
            Some(_) => "Change the draft of the report".to_owned(),
            None => "Draft the report".to_owned(),
        },
        Event::Ended { conclusion } if conclusion.amendment().is_some() => {
            let last = conclusion.amendment();
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

fn reopening(reopened: Option<&Conclusion>) -> &'static str {
    if reopened.is_some() { ", reopening the investigation" } else { "" }
}

fn ids(nodes: &[Arc<Node>]) -> impl Iterator<Item = String> {
    nodes.iter().map(|node| node.id.to_string())
}

/// Returns `Run R2.A1: python3 load.py (exit 0, 55 s)` or `Run R2.A1 again: python3 load.py (differs)`.
pub(super) fn run_subject(run: &Run) -> String {
    let about = run.node.as_ref().map_or_else(|| "the whole".to_owned(), ToString::to_string);
    let command = |max| run.ran().map_or_else(String::new, |ran| line(&ran.line(), max));
    match &run.what {
        RunKind::Captured(ran) => {
            let (ended, seconds) = (line(&ran.ended.to_string(), 60), ran.seconds);
            format!("Run {about}: {} ({ended}, {seconds})", command(60))
        }
        RunKind::Repeated { .. } => format!("Run {about} again: {} ({})", command(60), run.outcome()),
        RunKind::Expected { .. } => format!("Expect of a run of {about}: {}", line(&run.summary(), 60)),
        RunKind::Judged { .. } => format!("Judge a difference in {about}: {}", run.outcome()),
        RunKind::Retracted { of } => format!("Take back a run of {about}: {of}"),
    }
}

/// Returns `, with 2 files`, or an empty string for 0.
fn with_files(number: usize) -> String {
    if number == 0 { String::new() } else { format!(", with {}", counted(number, "file")) }
}

/// Returns `Object to R2.A1` or `Answer a comment on R2.A1`.
fn comment_subject(comment: &Comment) -> String {
    let about = comment.node.as_ref().map_or_else(|| "the whole".to_owned(), ToString::to_string);
    match comment.kind {
        CommentKind::Comment => format!("Comment on {about}"),
        CommentKind::Objection => format!("Object to {about}"),
        CommentKind::Correction => match &comment.node {
            Some(node) => format!("Propose a correction of {node}"),
            None => "Propose a correction of the conclusion".to_owned(),
        },
        CommentKind::Confirmation => "Confirm the report".to_owned(),
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
    if classification.other_results.is_empty() { state } else { format!("{state} as another result") }
}

fn transition_list(transitions: &[Transition]) -> String {
    transitions.iter().map(|Transition { node, from, to, .. }| format!("; {} {from}→{to}", node.id)).collect()
}

/// Returns `Commit R2.A1 EXPLORE, R2.A2 DEAD`, or `Commit 40 nodes: R2.A1 EXPLORE, …` if that would be too long.
pub(super) fn listed(verb: &str, items: impl Iterator<Item = String>) -> String {
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
