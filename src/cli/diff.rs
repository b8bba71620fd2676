//! `tot diff`: compares two commits, for the terminal or as Markdown.

use clap::Args;
use serde_json::{Value, json};

use super::CommandResult;
use super::place::{Common, WithholdArgument};
use super::print::{columns, page, say_fields};
use super::screen::{BAD, BOLD, GOOD, NodeLine, QUIET, Screen, section, styled};
use crate::domain::{AttachmentName, Comment, Happening, NodeId, Run};
use crate::fields::{CHANGES_OF_STATE, CHANGES_OF_TEXTS};
use crate::json::{CommentJson, RunJson};
use crate::report::diff::{AnswerDiff, CONCLUSION, Diff, FieldDiff, NodeDiff};
use crate::report::difference::{DifferenceLine, LinePart, difference};
use crate::report::{self, Range, changes, verb_of};
use crate::service::reply::Advised;
use crate::text::{columns as width, counted, made_visible, one_line};

/// Compare two commits of an investigation: nodes, states, and text word by word.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DiffArguments {
    /// The two commits
    #[arg(value_name = "A..B")]
    range: Range,
    /// Print a short Markdown summary, for a pull request, a mail or a chat
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    withhold: WithholdArgument,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {sessionId, from, to, nodes: [{nodeId, change, title, stateBefore?, stateAfter?, reason?,
fields: [{name, before, after}]}], answers?: [{nodeId, before, after}], said?: [{what, commentId, nodeId?, kind, author, by, at, text}],
ran?: [{what, runId, nodeId?, of?, author, by, at, …}], attached?: [{nodeId, what, name}], conclusion?: {before, after}, end?: [{name, before, after}],
facts?: [{name, before, after}], files?: [PATH], rulesetChanged}, where change is added, changed or gone

Examples:
  tot diff ended/1..               what has changed since it ended
  tot diff HEAD~10..HEAD
  tot diff --markdown main..       a summary to post
  tot-report investigations/ID --compare A.. --out site    a page with more detail";

pub(super) fn run(arguments: &DiffArguments) -> CommandResult {
    let Range { from, to } = &arguments.range;
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let (mut before, mut after) = (place.store.load_at(&path, from)?, place.store.load_at(&path, to)?);
    let withheld = report::withheld(&place.store, &path, arguments.withhold.ignore_uncommitted)?;
    withheld.hide(&mut before);
    withheld.hide(&mut after);
    let mut diff = Diff::new(&before, &after);
    if diff.is_empty() {
        let changes = place.store.open(&path)?.diff(Some(before.head), after.head)?;
        let paths = changes.into_iter().map(|change| change.path);
        diff.files = paths.filter(|path| !withheld.hides_file(path)).collect();
    }
    if arguments.markdown {
        return page(&changes::markdown(&diff, [from, to]));
    }
    match arguments.common.json {
        true => say_fields(&document(&diff)),
        false => page(&shown(&diff, [from, to], Screen { columns: columns() })),
    }
}

/// Returns the difference as JSON.
fn document(diff: &Diff<'_>) -> Value {
    let node = |of: &&NodeDiff<'_>| {
        let node = of.node()?;
        let fields: Vec<Value> = told(of).map(field).collect();
        Some(json!({
            "nodeId": node.id.to_string(),
            "change": change(of),
            "title": node.name(),
            "stateBefore": of.before.and_then(|node| node.state()),
            "stateAfter": of.after.and_then(|node| node.state()),
            // The reason given for the new state.
            "reason": reason(of),
            "fields": fields,
        }))
    };
    let answer =
        |it: &AnswerDiff| json!({"nodeId": it.id.to_string(), "before": it.before, "after": it.after});
    let said = |(comment, what): (&Comment, String)| Advised {
        body: json!({"what": what}),
        advice: CommentJson::new(comment),
    };
    let ran = |(run, what): (&Run, String)| {
        json!(Advised { body: json!({"what": what}), advice: RunJson::new(&diff.judged[1], run) })
    };
    let attached = |(node, name, what): (&NodeId, &AttachmentName, String)| json!({"nodeId": node.to_string(), "what": what, "name": name.to_string()});
    let conclusion = conclusion(diff).map(|it| json!({"before": it.before, "after": it.after}));
    let list = |entries: Vec<Value>| Some(entries).filter(|entries| !entries.is_empty());
    json!({
        "sessionId": diff.after.investigation.meta().id,
        "from": diff.before.head.to_string(),
        "to": diff.after.head.to_string(),
        "nodes": nodes(diff).iter().filter_map(node).collect::<Vec<_>>(),
        "answers": list(diff.answers.iter().map(answer).collect()),
        "said": list(comments(diff).map(said).map(|it| json!(it)).collect()),
        "ran": list(runs(diff).map(ran).collect()),
        "attached": list(attachments(diff).map(attached).collect()),
        "conclusion": conclusion,
        // Changes to the conclusion's fields other than its text.
        "end": list(end(diff).map(field).collect()),
        // Changes to the start settings, which only manual edits can make.
        "facts": list(diff.facts.iter().map(field).collect()),
        "files": list(diff.files.iter().map(|file| json!(file)).collect()),
        "rulesetChanged": diff.ruleset.is_some(),
    })
}

fn field(field: &FieldDiff) -> Value {
    json!({"name": field.name, "before": field.before, "after": field.after})
}

/// Returns the changed nodes, by id.
fn nodes<'d, 's>(diff: &'d Diff<'s>) -> Vec<&'d NodeDiff<'s>> {
    let mut nodes: Vec<_> = diff.nodes.iter().collect();
    nodes.sort_by_key(|of| of.node().map(|node| &node.id));
    nodes
}

/// Returns the kind of change: `added`, `changed` or `gone`.
fn change(of: &NodeDiff<'_>) -> &'static str {
    match (of.before, of.after) {
        (None, _) => "added",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "gone",
    }
}

/// Returns the reason given for the new state.
fn reason<'d>(of: &'d NodeDiff<'_>) -> Option<&'d String> {
    of.steps.last()?.reason.as_ref()
}

/// Returns the changed fields, without those that only report other changes. Empty for an added or removed node.
fn told<'d>(of: &'d NodeDiff<'_>) -> impl Iterator<Item = &'d FieldDiff> {
    of.fields.iter().filter(|field| ![CHANGES_OF_STATE, CHANGES_OF_TEXTS].contains(&field.name))
}

/// Returns the new and changed comments with the verbs used in the history, such as `objected` or `resolved`.
fn comments<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = (&'d Comment, String)> {
    diff.happenings.iter().filter_map(|it| Some((&**it.comment()?, verb_of(it).0.to_lowercase())))
}

/// Returns the new and changed runs, with the verbs used in the history.
fn runs<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = (&'d Run, String)> {
    diff.happenings.iter().filter_map(|it| Some((&**it.run()?, verb_of(it).0.to_lowercase())))
}

/// Returns the new and changed attachments.
fn attachments<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = (&'d NodeId, &'d AttachmentName, String)> {
    let attached = |it: &'d Happening| {
        let (node, name) = it.attachment()?;
        Some((node, name, verb_of(it).0.to_lowercase()))
    };
    diff.happenings.iter().filter_map(attached)
}

/// Returns the change to the conclusion's text.
fn conclusion<'d>(diff: &'d Diff<'_>) -> Option<&'d FieldDiff> {
    diff.end.as_ref()?.fields.iter().find(|field| field.name == CONCLUSION)
}

/// Returns the changes to the conclusion's other fields.
fn end<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = &'d FieldDiff> {
    diff.end.iter().flat_map(|end| &end.fields).filter(|field| field.name != CONCLUSION)
}

fn shown(diff: &Diff<'_>, names: [&str; 2], screen: Screen) -> String {
    let mut text = String::new();
    let nodes = nodes(diff);
    for (of, node) in nodes.iter().filter_map(|of| Some((of, of.node()?))) {
        let change = change(of);
        let (style, sign, side) = match change {
            "added" => (GOOD, "+", &diff.judged[1]),
            "gone" => (BAD, "-", &diff.judged[0]),
            _ => (BOLD, "~", &diff.judged[1]),
        };
        let before = of.before.and_then(|node| node.state());
        let line = NodeLine::new(side, node).text(screen, 2);
        text.push_str(&format!("{} {line}\n", styled(style, sign)));
        let was = of.before.filter(|was| change == "changed" && was.state() != node.state());
        let was = was.map(|was| one_line(&format!("was {}", diff.judged[0].mark(was).words())));
        text.extend(was.map(|was| format!("    {}\n", styled(QUIET, &was))));
        text.extend(reason(of).map(|reason| screen.prose(reason, 4)));
        // `tot show` prints new results; the line already contains the state.
        text.extend(
            told(of).filter(|it| before.is_some() || !it.before.is_empty()).map(|it| shown_field(it, screen)),
        );
    }
    let said = |(comment, what): (&Comment, String)| {
        let about = comment.node.as_ref().map_or("the investigation", |node| node.as_str());
        let what = format!("{what}, {}", one_line(&comment.author.label()));
        format!("  {} {}\n{}", styled(BOLD, about), styled(QUIET, &what), screen.prose(&comment.shown(), 4))
    };
    text.push_str(&section("Said", &comments(diff).map(said).collect::<String>()));
    let ran = |(run, what): (&Run, String)| {
        let about = run.node.as_ref().map_or("the investigation", |node| node.as_str());
        let what = format!("{what}, {}", one_line(&run.author.label()));
        let line = screen.prose(&one_line(&run.summary()), 4);
        format!("  {} {}\n{line}", styled(BOLD, about), styled(QUIET, &what))
    };
    text.push_str(&section("Run", &runs(diff).map(ran).collect::<String>()));
    let attached = |(node, name, what): (&NodeId, &AttachmentName, String)| {
        let name = one_line(name.as_str());
        format!("  {} {} {name}\n", styled(BOLD, node.as_str()), styled(QUIET, &what))
    };
    text.push_str(&section("Files", &attachments(diff).map(attached).collect::<String>()));
    let stands = |it: &AnswerDiff| {
        let change = format!("{} → {}", it.before, it.after);
        format!("  {} {}\n", styled(BOLD, it.id.as_str()), one_line(&change))
    };
    text.push_str(&section("Answers", &diff.answers.iter().map(stands).collect::<String>()));
    if let Some(conclusion) = conclusion(diff) {
        text.push_str(&section("Conclusion", &texts(&conclusion.before, &conclusion.after, screen)));
    }
    text.push_str(&section("The end", &end(diff).map(|it| shown_field(it, screen)).collect::<String>()));
    text.push_str(&section(
        "Changed by hand",
        &diff.facts.iter().map(|it| shown_field(it, screen)).collect::<String>(),
    ));
    if diff.ruleset.is_some() {
        text.push_str("\nThe ruleset differs.\n");
    }
    let file = |path: &String| format!("  {}\n", one_line(path));
    text.push_str(&section("Other files", &diff.files.iter().map(file).collect::<String>()));
    let [from, to] = names.map(one_line);
    if text.is_empty() {
        return format!("Nothing in the investigation changed from {from} to {to}.\n");
    }
    let count = |kind: &str| nodes.iter().filter(|of| change(of) == kind).count();
    let counts = format!(
        "{}: {} added, {} changed, {} gone",
        counted(nodes.len(), "node"),
        count("added"),
        count("changed"),
        count("gone")
    );
    let text = text.trim_start_matches('\n');
    format!("{}\n\n{text}", styled(QUIET, &format!("{from}..{to}  {counts}")))
}

fn shown_field(field: &FieldDiff, screen: Screen) -> String {
    format!("    {}\n{}", styled(QUIET, field.name), texts(&field.before, &field.after, screen))
}

/// Compares two texts line by line, with changed words in brackets, as in git's word diff.
fn texts(before: &str, after: &str, screen: Screen) -> String {
    if before.is_empty() {
        let line = |line: &str| {
            let parts = vec![LinePart { text: line.to_owned(), changed: false }];
            line_of(&DifferenceLine { class: "added", sign: "+", parts }, screen)
        };
        return after.trim_end().lines().map(line).collect();
    }
    let difference = difference(before, after);
    let mut text = String::new();
    for (at, passage) in difference.passages.iter().enumerate() {
        if at > 0 || passage.skipped > 0 {
            text.push_str(&styled(QUIET, "      …\n"));
        }
        passage.lines.iter().for_each(|line| text.push_str(&line_of(line, screen)));
    }
    text
}

/// Formats a line, broken between words if it is longer than the screen.
fn line_of(line: &DifferenceLine, screen: Screen) -> String {
    let (style, brackets) = match line.sign {
        "+" => (GOOD, ("{+", "+}")),
        "-" => (BAD, ("[-", "-]")),
        _ => (QUIET, ("", "")),
    };
    let room = screen.columns.map_or(usize::MAX, |all| all.saturating_sub(6).max(8));
    let (mut text, mut used) = (format!("    {} ", styled(style, line.sign)), 0);
    for part in &line.parts {
        let clean = made_visible(&part.text.replace('\t', "    "));
        let (style, clean) = match part.changed {
            true => (style.bold(), format!("{}{clean}{}", brackets.0, brackets.1)),
            false => (style, clean),
        };
        for word in clean.split_inclusive(' ') {
            if used > 0 && used + width(word.trim_end()) > room {
                text.push_str("\n      ");
                used = 0;
            }
            used += width(word);
            text.push_str(&styled(style, word));
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let both = texts(before, after, Screen { columns: None });
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
