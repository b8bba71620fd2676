//! The changes between two states of an investigation in Markdown, for pull requests, emails and chats.

use std::fmt::Write as _;

use super::diff::{AnswerDiff, CONCLUSION, Diff, FieldDiff};
use super::history::verb_of;
use crate::domain::Happening;
use crate::markdown::{Reader, code_span, literal, quoted};
use crate::ruleset::effective::list;
use crate::text::{one_line, shorten};

/// The maximum number of lines under each heading. Forges accept comments of about 65,000 characters.
const LISTED: usize = 60;
/// The maximum length of a title or a reason, in characters.
const LENGTH: usize = 200;

/// The headings in order, with the verbs listed under each.
const HEADINGS: [(&str, &[&str]); 7] = [
    ("Found", &["committed"]),
    ("Changed", &["reclassified", "amended"]),
    ("Run", &["ran"]),
    ("Said", &["commented"]),
    ("Attached", &["attached"]),
    ("Changed by hand", &["edited", "removed"]),
    ("Proposed, claimed, withdrawn", &["proposed", "claimed", "released", "withdrawn"]),
];

/// The conclusion fields to omit: times, and fields already shown.
const UNTOLD: [&str; 3] = ["Ended", "Concluded later", CONCLUSION];

/// Returns a summary of the changes between two states. `names` are their display names.
pub fn markdown(diff: &Diff<'_>, names: [&str; 2]) -> String {
    let title = inline(&diff.after.investigation.meta().title, LENGTH);
    let [from, to] = names.map(|name| code_span(&shorten(&one_line(name), 60)));
    let mut page = format!("### {title}: {from} to {to}\n\n");
    let mut list = |heading: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        let _ = write!(page, "**{heading}**\n\n");
        lines.iter().take(LISTED).for_each(|line| page.push_str(line));
        if let Some(more @ 1..) = lines.len().checked_sub(LISTED) {
            let _ = writeln!(page, "- and {more} more");
        }
        page.push('\n');
    };
    for (heading, verbs) in HEADINGS {
        let of_it = |it: &&Happening| verbs.contains(&verb_of(it).1);
        list(heading, diff.happenings.iter().filter(of_it).map(line).collect());
    }
    list("Conclusion", end(diff));
    list("Fixed settings, changed by hand", diff.facts.iter().map(field).collect());
    let rules = diff.ruleset.iter().map(|_| "- `ruleset.yaml` differs.\n".to_owned());
    list("The ruleset, changed by hand", rules.collect());
    list("Answers now", diff.answers.iter().map(|it| answer(diff, it)).collect());
    list("Other files", diff.files.iter().map(|file| format!("- {}\n", inline(file, LENGTH))).collect());
    if diff.is_empty() && diff.files.is_empty() {
        page.push_str("Nothing in the investigation changed.\n");
    }
    page
}

/// Puts untrusted text on one line, as text that links to nothing and notifies nobody.
fn inline(text: &str, most: usize) -> String {
    literal(text, most, Reader::Comment)
}

fn line(happening: &Happening) -> String {
    if let Some((node, name)) = happening.attachment() {
        return format!(
            "- `{node}` {}: {}\n",
            verb_of(happening).0.to_lowercase(),
            inline(name.as_str(), LENGTH)
        );
    }
    let comment = happening.comment().map(|it| (&it.node, &it.author, it.shown()));
    if let Some((node, author, text)) =
        comment.or_else(|| happening.run().map(|it| (&it.node, &it.author, it.summary().into())))
    {
        let about = node.as_ref().map(|node| format!("`{node}` ")).unwrap_or_default();
        return format!(
            "- {about}{}, {}: {}\n",
            verb_of(happening).0.to_lowercase(),
            inline(&author.label(), 60),
            inline(&text, LENGTH)
        );
    }
    let Some(node) = happening.node() else { return String::new() };
    let mut line = format!("- `{}`", node.id);
    match happening {
        Happening::Reclassified(_, change) => {
            let by = change.child().map(|child| format!(", by `{child}`")).unwrap_or_default();
            let reason = change.reason.as_deref().map(|reason| format!(": {}", inline(reason, LENGTH)));
            let _ = write!(line, " {} → {}{by}{}", change.from, change.to, reason.unwrap_or_default());
        }
        Happening::Amended(_, amendment) => {
            let parts = list(amendment.parts());
            let _ = write!(line, " {parts} amended: {}", inline(&amendment.reason, LENGTH));
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

/// Lists the changes to the conclusion, starting with its text.
fn end(diff: &Diff<'_>) -> Vec<String> {
    let Some(end) = &diff.end else { return Vec::new() };
    if end.what == "reopened" {
        return vec!["- It was reopened.\n".to_owned()];
    }
    let conclusion = diff.after.investigation.conclusion().and_then(|end| end.conclusion.as_deref());
    let is_told = |field: &&FieldDiff| !field.after.is_empty() && !UNTOLD.contains(&field.name);
    let fields =
        end.fields.iter().filter(is_told).map(|it| format!("- {}: {}\n", it.name, inline(&it.after, LENGTH)));
    std::iter::once(quoted(conclusion.unwrap_or("No conclusion given."), 4_000, Reader::Comment) + "\n")
        .chain(fields)
        .collect()
}

fn field(field: &FieldDiff) -> String {
    let [before, after] = [&field.before, &field.after].map(|text| inline(text, LENGTH));
    format!("- {}: {before} → {after}\n", field.name)
}

fn answer(diff: &Diff<'_>, answer: &AnswerDiff) -> String {
    let node = [diff.after, diff.before].into_iter().find_map(|side| side.investigation.node(&answer.id));
    let name = node.map(|node| node.name()).unwrap_or_default();
    format!("- `{}` {}: {}\n", answer.id, inline(&answer.after, LENGTH), inline(name, LENGTH))
}
