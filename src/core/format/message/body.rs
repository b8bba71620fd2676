//! The body of a commit message: titles, reasons and warnings.

use std::sync::Arc;

use super::subject::run_subject;
use super::{block, line};
use crate::assess::Assessment;
use crate::domain::{Attached, Change, Code, Diagnostic, Event, Investigation, NodeId, Transition, Warning};
use crate::ruleset::EffectiveRules;
use crate::text::counted;

pub(super) fn body(before: &Investigation, rules: &EffectiveRules, event: &Event) -> String {
    let mut body = String::new();
    let entry = |id: &NodeId, text: &str| format!("{id} {}\n", line(text, 300));
    match event {
        Event::Proposed { nodes, withdrawn, reopened, .. } => {
            for node in nodes {
                body.push_str(&entry(&node.id, &node.title));
            }
            for node in withdrawn {
                body.push_str(&entry(&node.id, &format!("(withdrawn) {}", node.title)));
            }
            let reopening = reopened.as_ref().and_then(|end| end.reopened.as_ref());
            if let Some(reason) = reopening.and_then(|reopening| reopening.reason.as_deref()) {
                body.push_str(&format!("\n{}\n", block(reason)));
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
                body.push_str(&attachment_lines(attachments.iter().filter(|file| file.node == node.id)));
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
            if let Some(amended) = conclusion.amendment() {
                body.push_str(&format!("{}\n\n", block(&amended.reason)));
            }
            let report = conclusion.report();
            body.push_str(&if report.is_empty() { report } else { block(&report) + "\n" });
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
        Event::Commented { comment } => body.push_str(&format!("{}\n", block(&comment.shown()))),
        Event::Attached { attachments } => body.push_str(&attachment_lines(attachments.iter())),
        Event::Ran { runs, attachments } => {
            if runs.len() > 1 {
                runs.iter().for_each(|run| body.push_str(&format!("{}\n", run_subject(run))));
            }
            for note in runs.iter().filter_map(|run| run.note.as_deref()) {
                body.push_str(&format!("{}\n", block(note)));
            }
            body.push_str(&attachment_lines(attachments.iter()));
        }
    }
    body
}

/// Lists attachments of one node, each on an indented line.
fn attachment_lines<'a>(attachments: impl Iterator<Item = &'a Arc<Attached>>) -> String {
    let line = |file: &Arc<Attached>| {
        format!("    attached {} ({})\n", file.name, counted(file.content.len(), "byte"))
    };
    attachments.map(line).collect()
}

/// Lists the warnings of a node, each on an indented line.
fn stored_warnings<'a>(warnings: impl Iterator<Item = &'a Warning>) -> String {
    warnings.map(|warning| format!("    {}: {}\n", warning.code, line(&warning.message, 300))).collect()
}

/// Lists warnings that do not belong to a node in the commit.
pub(super) fn unfiled_warnings(warnings: &[Diagnostic]) -> String {
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
