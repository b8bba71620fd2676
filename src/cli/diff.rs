//! `tot diff`: what came between two states, on a screen or in Markdown to be posted.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::place::{Common, WithholdArgument};
use super::print::{columns, page, say_json};
use super::screen::{BAD, BOLD, GOOD, NodeLine, QUIET, Screen, assessed, plain_lines, section, styled};
use super::{Outcome, finish, misused};
use crate::domain::event::{what_was_attached, what_was_said_between};
use crate::domain::{Happening, Investigation, Node, NodeId};
use crate::report::difference::{Line, difference};
use crate::report::{self, NoRange, Range, changes, verb_of};
use crate::store::Snapshot;
use crate::text::{counted, made_visible, one_line};
use crate::view::{CHANGES_OF_STATE, CHANGES_OF_TEXTS, NodeView};

/// Says what came between two commits of an investigation: nodes, states, and texts word by word.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DiffArguments {
    /// The investigation (an id, or the beginning or ending of one; not where there is only one), then the two commits
    #[arg(value_names = ["A..B"], required = true, num_args = 1..=2)]
    what: Vec<String>,
    /// As Markdown, in short: for a pull request, a mail, a chat
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    withhold: WithholdArgument,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id, from, to, nodes: [{nodeId, change, title, stateBefore?, stateAfter?, reason?,
fields: [{name, before, after}]}], said?: [{nodeId?, what, by, text}], attached?: [{nodeId, what, name}],
conclusion?: {before, after}, rulesetChanged}, where change is added, changed or gone

Examples:
  tot diff ended/1..               in its folder: what came since it was ended
  tot diff 0196 HEAD~10..HEAD
  tot diff --markdown 0196 main..  to be posted
  tot-report investigations/ID --compare A.. --out site    the same and more as a page";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    id: String,
    from: String,
    to: String,
    nodes: Vec<Changed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said: Vec<Said>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attached: Vec<Attached>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<Texts>,
    ruleset_changed: bool,
}

/// A comment that is new, or not as it was.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    /// Absent of what is said of the investigation as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
    /// In the words of the history: `objected`, `resolved`.
    what: String,
    by: String,
    text: String,
}

/// A file beside a node that is new, or not as it was.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    node_id: String,
    what: String,
    name: String,
}

/// A node that is not as it was.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    node_id: String,
    /// `added`, `changed`, `gone`.
    change: &'static str,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_after: Option<String>,
    /// Why it has another state, as who changed it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Of one that was there before.
    fields: Vec<Field>,
    #[serde(skip)]
    line: NodeLine,
}

#[derive(Serialize)]
struct Field {
    name: &'static str,
    #[serde(flatten)]
    texts: Texts,
}

#[derive(Serialize)]
struct Texts {
    before: String,
    after: String,
}

pub(super) fn run(arguments: &DiffArguments) -> ExitCode {
    finish("tot diff", try_run(arguments))
}

fn try_run(arguments: &DiffArguments) -> Outcome {
    let (id, range) = match arguments.what.as_slice() {
        [range] => (None, range),
        [id, range] => (Some(id.as_str()), range),
        _ => return Err(misused(NoRange)),
    };
    let Range { from, to } = range.parse().map_err(misused)?;
    let place = arguments.common.place();
    let path = place.one(id)?;
    let (mut before, mut after) = (place.store.load_at(&path, &from)?, place.store.load_at(&path, &to)?);
    let withheld = report::withheld(&place.store, &path, arguments.withhold.ignore_uncommitted)?;
    withheld.hide(&mut before);
    withheld.hide(&mut after);
    if arguments.markdown {
        return page(&changes::markdown(&before, &after, [&from, &to]));
    }
    let document = document(&before, &after);
    match arguments.common.json {
        true => say_json(&document),
        false => page(&shown(&document, [&from, &to], Screen { columns: columns() })),
    }
}

fn document(before: &Snapshot, after: &Snapshot) -> Document {
    let sides = [assessed(before), assessed(after)];
    let [old, new] = [sides[0].investigation, sides[1].investigation];
    let ids: BTreeSet<&NodeId> = old.nodes().chain(new.nodes()).map(|node| &node.id).collect();
    let changed = |id: &NodeId| {
        let (was, is) = (old.node(id), new.node(id));
        if was == is {
            return None;
        }
        let (change, side, node) = match (was, is) {
            (None, Some(node)) => ("added", &sides[1], node),
            (Some(_), Some(node)) => ("changed", &sides[1], node),
            (Some(node), None) => ("gone", &sides[0], node),
            (None, None) => return None,
        };
        let state = |node: Option<&std::sync::Arc<Node>>| Some(node?.state()?.to_string());
        Some(Changed {
            node_id: id.to_string(),
            change,
            title: node.name().to_owned(),
            state_before: state(was),
            state_after: state(is),
            reason: was.zip(is).and_then(|(was, is)| reason(was, is)),
            fields: was.zip(is).map(|(was, is)| fields(was, is)).unwrap_or_default(),
            line: NodeLine::new(side, node),
        })
    };
    let end = |it: &Investigation| {
        let text = it.conclusion().and_then(|end| end.conclusion.clone());
        text.unwrap_or_default()
    };
    let said = |happening: Happening| {
        let comment = happening.comment()?;
        Some(Said {
            node_id: comment.node.as_ref().map(ToString::to_string),
            what: verb_of(&happening).0.to_lowercase(),
            by: comment.author.label().to_owned(),
            text: comment.text.clone(),
        })
    };
    let attached = |happening: Happening| {
        let (node, name) = happening.attachment()?;
        let what = verb_of(&happening).0.to_lowercase();
        Some(Attached { node_id: node.to_string(), what, name: name.to_string() })
    };
    let texts = Texts { before: end(old), after: end(new) };
    let rules = |snapshot: &Snapshot| snapshot.ruleset.as_ref().ok().map(|file| file.text.clone());
    Document {
        id: new.meta().id.to_string(),
        from: before.head.to_string(),
        to: after.head.to_string(),
        nodes: ids.into_iter().filter_map(changed).collect(),
        said: what_was_said_between(old, new).into_iter().filter_map(said).collect(),
        attached: what_was_attached(old, new).into_iter().filter_map(attached).collect(),
        conclusion: (texts.before != texts.after).then_some(texts),
        ruleset_changed: rules(before) != rules(after),
    }
}

/// What was said to the newest change of its state, if that is new.
fn reason(was: &Node, is: &Node) -> Option<String> {
    let changes = |node: &Node| node.classification.as_ref().map_or(0, |result| result.reclassified.len());
    let newest = is.classification.as_ref()?.reclassified.last()?;
    newest.reason.clone().filter(|_| changes(is) > changes(was))
}

/// The fields that differ, but for those that only say that others do.
fn fields(was: &Node, is: &Node) -> Vec<Field> {
    let old: Vec<_> = NodeView::fields(was).collect();
    let new: Vec<_> = NodeView::fields(is).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for field in old.iter().chain(&new) {
        if !names.contains(&field.name) && ![CHANGES_OF_STATE, CHANGES_OF_TEXTS].contains(&field.name) {
            names.push(field.name);
        }
    }
    let value = |fields: &[crate::view::Field<'_>], name: &str| {
        let found = fields.iter().find(|field| field.name == name);
        found.map_or_else(String::new, |field| field.value.to_string())
    };
    let field = |name: &'static str| {
        let texts = Texts { before: value(&old, name), after: value(&new, name) };
        (texts.before != texts.after).then_some(Field { name, texts })
    };
    names.into_iter().filter_map(field).collect()
}

fn shown(document: &Document, names: [&str; 2], screen: Screen) -> String {
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
            // A result that was not there before is for `tot show`; what it came to stands in the line.
            if node.state_before.is_none() && field.texts.before.is_empty() {
                continue;
            }
            text.push_str(&format!("    {}\n{}", styled(QUIET, field.name), texts(&field.texts)));
        }
    }
    let said = |it: &Said| {
        let about = one_line(it.node_id.as_deref().unwrap_or("the whole"));
        let what = format!("{}, {}", it.what, one_line(&it.by));
        format!("  {} {}\n{}", styled(BOLD, &about), styled(QUIET, &what), screen.prose(&it.text, 4))
    };
    text.push_str(&section("Said", &document.said.iter().map(said).collect::<String>()));
    let attached = |it: &Attached| {
        format!("  {} {} {}\n", styled(BOLD, &it.node_id), styled(QUIET, &it.what), one_line(&it.name))
    };
    text.push_str(&section("Files", &document.attached.iter().map(attached).collect::<String>()));
    if let Some(conclusion) = &document.conclusion {
        text.push_str(&section("Conclusion", &texts(conclusion)));
    }
    if document.ruleset_changed {
        text.push_str("\nThe ruleset is another.\n");
    }
    let [from, to] = names.map(one_line);
    if text.is_empty() {
        return format!("Nothing of the investigation changed from {from} to {to}.\n");
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

/// Two texts, line by line; where a line changed, with the words that did between brackets, as in git's word diff.
fn texts(texts: &Texts) -> String {
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

fn line_of(line: &Line) -> String {
    let (style, brackets) = match line.sign {
        "+" => (GOOD, ("{+", "+}")),
        "-" => (BAD, ("[-", "-]")),
        _ => (QUIET, ("", "")),
    };
    let part = |part: &crate::report::difference::Part| {
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
        let both = texts(&Texts { before: before.to_owned(), after: after.to_owned() });
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
