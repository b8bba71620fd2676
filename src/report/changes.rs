//! What happened between two states of an investigation, in Markdown: for a pull request, a mail, a chat.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::history::verb_of;
use crate::assess::Assessment;
use crate::domain::event::{what_happened, what_was_attached, what_was_said_between};
use crate::domain::{Happening, Investigation, NodeId};
use crate::format::readme::{inline, quoted};
use crate::store::Snapshot;
use crate::text::counted;

/// How many lines there are under each heading: a comment of a forge has room for some 65,000 characters.
const LISTED: usize = 60;
/// How many characters of a title or a reason.
const LENGTH: usize = 200;

/// The headings, in their order, each with the verbs below it.
const HEADINGS: [(&str, &[&str]); 7] = [
    ("Found", &["committed"]),
    ("Changed", &["reclassified", "amended"]),
    ("Said", &["commented"]),
    ("Attached", &["attached"]),
    ("Changed by hand", &["edited", "removed"]),
    ("Proposed, claimed, withdrawn", &["proposed", "claimed", "released", "withdrawn"]),
    ("The end", &["ended", "reopened"]),
];

/// A summary of what came between these two states, which are called by these names.
pub fn markdown(before: &Snapshot, after: &Snapshot, names: [&str; 2]) -> String {
    let (old, new) = (before.investigation.as_ref(), after.investigation.as_ref());
    let title = inline(&new.meta().title, LENGTH);
    let mut page = format!("### {title}: {} to {}\n\n", inline(names[0], 60), inline(names[1], 60));
    let ids: BTreeSet<&NodeId> = old.nodes().chain(new.nodes()).map(|node| &node.id).collect();
    let of_nodes = ids.into_iter().flat_map(|id| what_happened(old.node(id), new.node(id)));
    let happenings: Vec<Happening> =
        of_nodes.chain(what_was_said_between(old, new)).chain(what_was_attached(old, new)).collect();
    let count = happenings.len();
    for (heading, verbs) in HEADINGS {
        let of_it = |it: &&Happening| verbs.contains(&verb_of(it).1);
        let mut lines: Vec<String> = happenings.iter().filter(of_it).map(line).collect();
        if heading == "The end" {
            lines.extend(end(old, new));
        }
        if lines.is_empty() {
            continue;
        }
        let _ = write!(page, "**{heading}**\n\n");
        lines.iter().take(LISTED).for_each(|line| page.push_str(line));
        if let Some(more @ 1..) = lines.len().checked_sub(LISTED) {
            let _ = writeln!(page, "- and {more} more");
        }
        page.push('\n');
    }
    let answers = answers(before, after);
    if !answers.is_empty() {
        page.push_str("**Answers now**\n\n");
        answers.iter().take(LISTED).for_each(|line| page.push_str(line));
        page.push('\n');
    }
    if count == 0 && end(old, new).is_none() {
        page.push_str("Nothing of the investigation changed.\n");
    }
    page
}

fn line(happening: &Happening) -> String {
    if let Some((node, name)) = happening.attachment() {
        return format!(
            "- `{node}` {}: {}\n",
            verb_of(happening).0.to_lowercase(),
            inline(name.as_str(), LENGTH)
        );
    }
    if let Some(comment) = happening.comment() {
        let about = comment.node.as_ref().map(|node| format!("`{node}` ")).unwrap_or_default();
        return format!(
            "- {about}{}, {}: {}\n",
            verb_of(happening).0.to_lowercase(),
            inline(comment.author.label(), 60),
            inline(&comment.text, LENGTH)
        );
    }
    let Some(node) = happening.node() else { return String::new() };
    let mut line = format!("- `{}`", node.id);
    match happening {
        Happening::Reclassified(_, change) => {
            let by = change.by.child().map(|child| format!(", by `{child}`")).unwrap_or_default();
            let reason = change.reason.as_deref().map(|reason| format!(": {}", inline(reason, LENGTH)));
            let _ = write!(line, " {} → {}{by}{}", change.from, change.to, reason.unwrap_or_default());
        }
        Happening::Amended(_, amendment) => {
            let parts: Vec<&str> = amendment.parts().collect();
            let _ = write!(line, " {} amended: {}", parts.join(", "), inline(&amendment.reason, LENGTH));
        }
        Happening::Committed(_) => {
            let state = node.classification.as_ref().map(|result| result.state.to_string());
            let _ = write!(line, " {}: {}", state.unwrap_or_default(), inline(node.name(), LENGTH));
        }
        other => {
            let _ = write!(line, " {}: {}", verb_of(other).0.to_lowercase(), inline(node.name(), LENGTH));
        }
    }
    line + "\n"
}

/// What became of the end.
fn end(old: &Investigation, new: &Investigation) -> Option<String> {
    match (old.conclusion(), new.conclusion()) {
        (Some(_), None) => Some("- It was opened again.\n".to_owned()),
        (old, Some(end)) if old != Some(end) => {
            let text = end.conclusion.as_deref().unwrap_or("No conclusion was given.");
            Some(quoted(text, 4_000))
        }
        _ => None,
    }
}

/// The answers whose standing has changed.
fn answers(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let [before, after] =
        [before, after].map(|snapshot| Assessment::new(&snapshot.investigation, snapshot.rules()));
    let stands = |assessment: &Assessment<'_>, id: &NodeId| {
        let answer = assessment.answer(id)?;
        Some(match answer.refuted_by.len() {
            0 => answer.words().into_owned(),
            number => format!("{} by {}", answer.verdict.label(), counted(number, "node")),
        })
    };
    let changed = after.answers.iter().chain(&after.refuted).filter_map(|answer| {
        let id = &answer.node.id;
        let now = stands(&after, id)?;
        let is_new = stands(&before, id).as_ref() != Some(&now);
        is_new.then(|| format!("- `{id}` {}: {}\n", inline(&now, LENGTH), inline(answer.node.name(), LENGTH)))
    });
    changed.collect()
}
