//! `tot diff`: compares two commits, for the terminal or as Markdown.

use clap::Args;
use serde::Serialize;

use super::place::{Common, WithholdArgument};
use super::print::{columns, page, say_json};
use super::screen::{BAD, BOLD, GOOD, NodeLine, QUIET, Screen, plain_lines, section, styled};
use super::{CommandResult, misused};
use crate::domain::{Happening, Node};
use crate::report::diff::{AnswerDiff, CONCLUSION, Diff, FieldDiff, NodeDiff};
use crate::report::difference::{DifferenceLine, difference};
use crate::report::{self, NoRange, Range, changes, verb_of};
use crate::text::{counted, made_visible, one_line};
use crate::view::{CHANGES_OF_STATE, CHANGES_OF_TEXTS};

/// Compare two commits of an investigation: nodes, states, and text word by word.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DiffArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), then the two commits
    #[arg(value_names = ["A..B"], required = true, num_args = 1..=2)]
    what: Vec<String>,
    /// Print a short Markdown summary, for a pull request, a mail or a chat
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    withhold: WithholdArgument,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id, from, to, nodes: [{nodeId, change, title, stateBefore?, stateAfter?, reason?,
fields: [{name, before, after}]}], answers?: [{nodeId, before, after}], said?: [{nodeId?, what, by, text}],
attached?: [{nodeId, what, name}], conclusion?: {before, after}, end?: [{name, before, after}],
facts?: [{name, before, after}], rulesetChanged}, where change is added, changed or gone

Examples:
  tot diff ended/1..               what has changed since it ended
  tot diff 0196 HEAD~10..HEAD
  tot diff --markdown 0196 main..  a summary to post
  tot-report investigations/ID --compare A.. --out site    a page with more detail";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffDocument {
    id: String,
    from: String,
    to: String,
    nodes: Vec<NodeDifference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<ChangedAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said: Vec<DiffComment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attached: Vec<DiffAttachment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<BeforeAfter>,
    /// Changes to the conclusion's fields other than its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    end: Vec<ChangedField>,
    /// Changes to the start settings, which only manual edits can make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<ChangedField>,
    ruleset_changed: bool,
}

/// An answer whose verdict changed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangedAnswer {
    node_id: String,
    #[serde(flatten)]
    texts: BeforeAfter,
}

/// A new or changed comment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffComment {
    /// The node commented on. Absent for a comment on the whole investigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
    /// The verb used in the history, such as `objected` or `resolved`.
    what: String,
    by: String,
    text: String,
}

/// A new or changed attachment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffAttachment {
    node_id: String,
    what: String,
    name: String,
}

/// An added, changed or removed node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDifference {
    node_id: String,
    /// The kind of change: `added`, `changed` or `gone`.
    change: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_after: Option<String>,
    /// The reason given for the new state.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The changed fields. Empty for an added or removed node.
    fields: Vec<ChangedField>,
    #[serde(skip)]
    line: NodeLine,
}

#[derive(Serialize)]
struct ChangedField {
    name: &'static str,
    #[serde(flatten)]
    texts: BeforeAfter,
}

#[derive(Serialize)]
struct BeforeAfter {
    before: String,
    after: String,
}

pub(super) fn run(arguments: &DiffArguments) -> CommandResult {
    let (id, range) = match arguments.what.as_slice() {
        [range] => (None, range),
        [id, range] => (Some(id.as_str()), range),
        _ => return Err(misused(NoRange)),
    };
    let Range { from, to } = range.parse().map_err(misused)?;
    let place = arguments.common.place();
    let path = place.folder(id)?;
    let (mut before, mut after) = (place.store.load_at(&path, &from)?, place.store.load_at(&path, &to)?);
    let withheld = report::withheld(&place.store, &path, arguments.withhold.ignore_uncommitted)?;
    withheld.hide(&mut before);
    withheld.hide(&mut after);
    if arguments.markdown {
        return page(&changes::markdown(&Diff::new(&before, &after), [&from, &to]));
    }
    let document = document(&Diff::new(&before, &after));
    match arguments.common.json {
        true => say_json(&document),
        false => page(&shown(&document, [&from, &to], Screen { columns: columns() })),
    }
}

fn document(diff: &Diff<'_>) -> DiffDocument {
    let sides = &diff.judged;
    let changed = |of: &NodeDiff<'_>| {
        let (change, side) = match (of.before, of.after) {
            (None, _) => ("added", &sides[1]),
            (Some(_), Some(_)) => ("changed", &sides[1]),
            (Some(_), None) => ("gone", &sides[0]),
        };
        let node = of.node()?;
        let state = |node: Option<&std::sync::Arc<Node>>| Some(node?.state()?.to_string());
        // Leaves out fields that only report other changes.
        let is_told = |field: &&FieldDiff| ![CHANGES_OF_STATE, CHANGES_OF_TEXTS].contains(&field.name);
        Some(NodeDifference {
            node_id: node.id.to_string(),
            change,
            title: node.name().to_owned(),
            state_before: state(of.before),
            state_after: state(of.after),
            reason: of.steps.last().and_then(|step| step.reason.clone()),
            fields: of.fields.iter().filter(is_told).map(ChangedField::of).collect(),
            line: NodeLine::new(side, node),
        })
    };
    let said = |happening: &Happening| {
        let comment = happening.comment()?;
        Some(DiffComment {
            node_id: comment.node.as_ref().map(ToString::to_string),
            what: verb_of(happening).0.to_lowercase(),
            by: comment.author.label().to_owned(),
            text: comment.text.clone(),
        })
    };
    let attached = |happening: &Happening| {
        let (node, name) = happening.attachment()?;
        let what = verb_of(happening).0.to_lowercase();
        Some(DiffAttachment { node_id: node.to_string(), what, name: name.to_string() })
    };
    let mut nodes: Vec<&NodeDiff<'_>> = diff.nodes.iter().collect();
    nodes.sort_by_key(|of| of.node().map(|node| &node.id));
    let of_end = |is_conclusion: bool| {
        let fields = diff.end.iter().flat_map(|end| &end.fields);
        fields.filter(move |field| (field.name == CONCLUSION) == is_conclusion).map(ChangedField::of)
    };
    DiffDocument {
        id: diff.after.investigation.meta().id.to_string(),
        from: diff.before.head.to_string(),
        to: diff.after.head.to_string(),
        nodes: nodes.into_iter().filter_map(changed).collect(),
        answers: diff.answers.iter().map(ChangedAnswer::of).collect(),
        said: diff.happenings.iter().filter_map(said).collect(),
        attached: diff.happenings.iter().filter_map(attached).collect(),
        conclusion: of_end(true).next().map(|field| field.texts),
        end: of_end(false).collect(),
        facts: diff.facts.iter().map(ChangedField::of).collect(),
        ruleset_changed: diff.ruleset.is_some(),
    }
}

impl ChangedField {
    fn of(field: &FieldDiff) -> ChangedField {
        ChangedField {
            name: field.name,
            texts: BeforeAfter { before: field.before.clone(), after: field.after.clone() },
        }
    }
}

impl ChangedAnswer {
    fn of(answer: &AnswerDiff) -> ChangedAnswer {
        let AnswerDiff { id, before, after } = answer;
        ChangedAnswer {
            node_id: id.to_string(),
            texts: BeforeAfter { before: before.clone(), after: after.clone() },
        }
    }
}

fn shown(document: &DiffDocument, names: [&str; 2], screen: Screen) -> String {
    let mut text = String::new();
    for node in &document.nodes {
        let (style, sign) = match node.change {
            "added" => (GOOD, "+"),
            "gone" => (BAD, "-"),
            _ => (BOLD, "~"),
        };
        let was = match (&node.state_before, &node.state_after) {
            (Some(before), Some(after)) if before != after => format!("{} → ", one_line(before)),
            (None, Some(_)) if node.change == "changed" => "proposed → ".to_owned(),
            _ => String::new(),
        };
        let line = node.line.text(screen, 2 + was.chars().count());
        text.push_str(&format!("{} {}{line}\n", styled(style, sign), styled(QUIET, &was)));
        if let Some(reason) = &node.reason {
            text.push_str(&screen.prose(reason, 4));
        }
        for field in &node.fields {
            // `tot show` prints new results; the line already contains the state.
            if node.state_before.is_none() && field.texts.before.is_empty() {
                continue;
            }
            text.push_str(&shown_field(field));
        }
    }
    let said = |it: &DiffComment| {
        let about = one_line(it.node_id.as_deref().unwrap_or("the investigation"));
        let what = format!("{}, {}", it.what, one_line(&it.by));
        format!("  {} {}\n{}", styled(BOLD, &about), styled(QUIET, &what), screen.prose(&it.text, 4))
    };
    text.push_str(&section("Said", &document.said.iter().map(said).collect::<String>()));
    let attached = |it: &DiffAttachment| {
        format!("  {} {} {}\n", styled(BOLD, &it.node_id), styled(QUIET, &it.what), one_line(&it.name))
    };
    text.push_str(&section("Files", &document.attached.iter().map(attached).collect::<String>()));
    let stands = |it: &ChangedAnswer| {
        let change = format!("{} → {}", it.texts.before, it.texts.after);
        format!("  {} {}\n", styled(BOLD, &it.node_id), one_line(&change))
    };
    text.push_str(&section("Answers", &document.answers.iter().map(stands).collect::<String>()));
    if let Some(conclusion) = &document.conclusion {
        text.push_str(&section("Conclusion", &texts(conclusion)));
    }
    text.push_str(&section("The end", &document.end.iter().map(shown_field).collect::<String>()));
    text.push_str(&section("Changed by hand", &document.facts.iter().map(shown_field).collect::<String>()));
    if document.ruleset_changed {
        text.push_str("\nThe ruleset differs.\n");
    }
    let [from, to] = names.map(one_line);
    if text.is_empty() {
        return format!("Nothing in the investigation changed from {from} to {to}.\n");
    }
    let count = |change: &str| document.nodes.iter().filter(|node| node.change == change).count();
    let counts = format!(
        "{}: {} added, {} changed, {} gone",
        counted(document.nodes.len(), "node"),
        count("added"),
        count("changed"),
        count("gone")
    );
    let text = text.trim_start_matches('\n');
    format!("{}\n\n{text}", styled(QUIET, &format!("{from}..{to}  {counts}")))
}

fn shown_field(field: &ChangedField) -> String {
    format!("    {}\n{}", styled(QUIET, field.name), texts(&field.texts))
}

/// Compares two texts line by line, with changed words in brackets, as in git's word diff.
fn texts(texts: &BeforeAfter) -> String {
    if texts.before.is_empty() {
        return coloured("+", &plain_lines(&texts.after, 0));
    }
    let difference = difference(&texts.before, &texts.after);
    let mut text = String::new();
    for (at, passage) in difference.passages.iter().enumerate() {
        if at > 0 || passage.skipped > 0 {
            text.push_str(&styled(QUIET, "      …\n"));
        }
        passage.lines.iter().for_each(|line| text.push_str(&line_of(line)));
    }
    text
}

fn coloured(sign: &str, lines: &str) -> String {
    let style = if sign == "+" { GOOD } else { BAD };
    lines.lines().map(|line| format!("    {}\n", styled(style, &format!("{sign} {line}")))).collect()
}

fn line_of(line: &DifferenceLine) -> String {
    let (style, brackets) = match line.sign {
        "+" => (GOOD, ("{+", "+}")),
        "-" => (BAD, ("[-", "-]")),
        _ => (QUIET, ("", "")),
    };
    let part = |part: &crate::report::difference::LinePart| {
        let clean = made_visible(&part.text.replace('\t', "    "));
        match part.changed {
            true => styled(style.bold(), &format!("{}{clean}{}", brackets.0, brackets.1)),
            false => styled(style, &clean),
        }
    };
    let parts: String = line.parts.iter().map(part).collect();
    format!("    {} {parts}\n", styled(style, line.sign))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let both = texts(&BeforeAfter { before: before.to_owned(), after: after.to_owned() });
        anstream::adapter::strip_str(&both).to_string()
    }

    #[test]
    fn words_that_changed_stand_between_brackets() {
        assert_snapshot!(shown("one\ntwo\nthree\nThe timeout is 5 s.\n", "one\ntwo\nthree\nThe timeout is 30 s.\nAlways.\n"), @r"
          …
          two
          three
        - The timeout is [-5-] s.
        + The timeout is {+30+} s.
        + {+Always.+}
        ");
        assert_snapshot!(shown("", "A new\ttext\nof \u{1b}[31mtwo lines\n"), @r"
        + A new    text
        + of ␛[31mtwo lines
        ");
        assert_snapshot!(shown("gone \u{202e}\u{7}", ""), @"    - gone �␇");
    }
}
