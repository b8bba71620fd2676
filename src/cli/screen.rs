//! Formats the terminal output of commands that only read. Pure: the output depends only on values and the terminal width. The
//! text always contains styles; printing removes them if they are disabled. Stored text is shown only through [`one_line`],
//! [`to_terminal`] or [`plain_lines`], so no control character reaches the terminal.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::assess::{Assessment, Doubt, NodeMark, Verdict, differs};
use crate::domain::{Node, NodeId, Pin};
use crate::markdown::{Source, to_terminal};
use crate::ruleset::Role;
use crate::service::project::{Drift, ProjectEvidence};
use crate::store::Snapshot;
use crate::text::{columns, fit, made_visible, one_line, wrap};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const QUIET: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const DOUBT: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();

/// The width of prose if the terminal width is unknown.
const PROSE: usize = 80;
/// The maximum width of prose, since longer lines are hard to read.
const MOST_PROSE: usize = 100;

/// Formats text in a style.
pub(super) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// The terminal's width, or `None` in a pipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    pub columns: Option<usize>,
}

impl Screen {
    /// Formats text on one line, cut to fit after `taken` columns. In a pipe, nothing is cut.
    pub(super) fn rest(self, text: &str, taken: usize) -> String {
        let line = one_line(text);
        self.columns.map_or_else(|| line.clone(), |all| fit(&line, all.saturating_sub(taken).max(8)))
    }

    /// Wraps text to fit after `taken` columns. In a pipe, it stays on one line.
    pub(super) fn wrapped(self, text: &str, taken: usize) -> Vec<String> {
        wrap(&one_line(text), self.columns.map_or(usize::MAX, |all| all.saturating_sub(taken).max(8)))
    }

    /// Formats Markdown with an indent.
    pub(super) fn prose(self, markdown: &str, indent: usize) -> String {
        self.prose_known(markdown, indent, &|_| None)
    }

    /// Formats Markdown with an indent. `known` says how a passage with a source is known.
    pub(super) fn prose_known(
        self,
        markdown: &str,
        indent: usize,
        known: &dyn Fn(&Source) -> Option<String>,
    ) -> String {
        let width = self.columns.unwrap_or(PROSE).min(MOST_PROSE).saturating_sub(indent);
        indented(&to_terminal(markdown, width, known), indent)
    }
}

/// Indents lines, with control characters made visible.
pub(super) fn plain_lines(text: &str, indent: usize) -> String {
    let lines = text.trim_end().lines().map(|line| made_visible(&line.replace('\t', "    ")) + "\n");
    indented(&lines.collect::<String>(), indent)
}

fn indented(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") };
    text.lines().map(line).collect()
}

/// Formats a heading with its text. Returns an empty string if the text is empty.
pub(super) fn section(heading: &str, text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("\n{}\n{text}", styled(BOLD, heading)) }
}

/// Formats what to do about doubts, each with its command, and leaves out those that a command only shows. `named` is the id for the
/// commands, if they need one.
pub(super) fn doubts(doubts: &[Doubt], named: Option<&str>, screen: Screen) -> String {
    let mut text = String::new();
    for (doubt, todo) in doubts.iter().filter_map(|doubt| Some((doubt, doubt.todo.as_ref()?))) {
        text.extend(screen.wrapped(todo, 2).iter().map(|line| format!("  {line}\n")));
        let cost = doubt.seconds.map(|seconds| format!("  ({seconds})")).unwrap_or_default();
        text.push_str(&format!("    {}{cost}\n", styled(NAME, &doubt.command(named))));
    }
    text
}

/// Returns the style of a node's label: that of its verdict, if it has one. A proposal is quiet.
fn mark_style(mark: &NodeMark<'_>) -> Style {
    match (mark.refutes, mark.shade(), mark.role) {
        (Some(_), ..) => BAD,
        (None, Some(verdict), _) => verdict_style(verdict),
        (None, None, Some(Role::AwaitingConfirmation | Role::Theory)) => NAME,
        (None, None, Some(Role::Open | Role::Solution | Role::Confirmation)) => Style::new(),
        (None, None, None | Some(Role::Exhausted | Role::DeadEnd)) => QUIET,
    }
}

/// A node on one line, for the terminal and as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeLine {
    pub node_id: String,
    /// The state. Absent for a pending node.
    pub state: Option<String>,
    pub title: String,
    /// The certainty of an answer: `confirmed`, `self-checked`, `unconfirmed`, `contested` or `refuted`. Absent for other nodes.
    pub sure: Option<&'static str>,
    /// True if the node's results differ, or the node is a contested answer.
    pub contested: bool,
    /// The sign and the label, with their style.
    #[serde(skip)]
    mark: (String, Style),
    #[serde(skip)]
    is_quiet: bool,
}

/// Assesses a snapshot.
pub(super) fn assessed(snapshot: &Snapshot) -> Assessment<'_> {
    Assessment::new(&snapshot.investigation, snapshot.rules())
}

impl NodeLine {
    pub(super) fn new(assessment: &Assessment<'_>, node: &Node) -> NodeLine {
        let mark = assessment.mark(node);
        let verdict = mark.verdict;
        let differs = differs(node);
        let words = match differs && verdict != Some(Verdict::Contested) {
            true => format!("{}, contested", mark.words()),
            false => mark.words(),
        };
        let sign = match mark.sign() {
            "" => String::new(),
            sign => format!("{sign} "),
        };
        NodeLine {
            node_id: node.id.to_string(),
            state: node.state().map(ToString::to_string),
            title: node.name().to_owned(),
            sure: verdict.map(Verdict::class),
            contested: differs || verdict == Some(Verdict::Contested),
            mark: (format!("{sign}{}", one_line(&words)), if differs { DOUBT } else { mark_style(&mark) }),
            is_quiet: node.state().is_none() || mark.role == Some(Role::DeadEnd) && mark.refutes.is_none(),
        }
    }

    /// Formats the node on one line, after `taken` columns.
    pub(super) fn text(&self, screen: Screen, taken: usize) -> String {
        let (mark, style) = &self.mark;
        let title = screen.rest(&self.title, taken + columns(&self.node_id) + columns(mark) + 3);
        let title = if self.is_quiet { styled(QUIET, &title) } else { title };
        format!("{} {}: {title}", styled(BOLD, &self.node_id), styled(*style, mark))
    }
}

/// Says in short how a passage is known: its sign, its source and, if that raises a doubt, the state.
pub(super) fn known(
    assessment: &Assessment<'_>,
    own: Option<&NodeId>,
    evidence: &ProjectEvidence,
    source: &Source,
) -> String {
    let drift = |pin: &Pin| evidence.drift.get(pin).map(Drift::as_str);
    let state = assessment.source(source, own, &drift);
    let words = if state.name.is_empty() || state.class == "differs" { &*state.words } else { "" };
    let parts = [&*state.name, words].into_iter().filter(|part| !part.is_empty());
    format!("{} {}", state.sign, parts.collect::<Vec<_>>().join(", "))
}

/// Returns the style for a verdict.
pub(super) fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Refuted | Verdict::Undermined => BAD,
        verdict if verdict.is_confirmed() => GOOD,
        _ => DOUBT,
    }
}
