//! What the commands that look put on a screen. Pure: each text follows from values and from how wide the screen is. Styles are
//! always in it; who prints it leaves them out where they are not wanted. Nothing that others wrote reaches a screen but through
//! [`one_line`], [`to_terminal`] or [`plain_lines`], so that no control character comes through.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::domain::{Classification, Investigation, Node};
use crate::graph::Sure;
use crate::markdown::to_terminal;
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::{EffectiveRules, Role};
use crate::store::Snapshot;
use crate::text::{columns, fit, made_visible, one_line, wrap};

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const QUIET: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const DOUBT: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();

/// How many columns prose has where it is not known how many there are, and at most: longer lines are hard to read.
const PROSE: usize = 80;
const MOST_PROSE: usize = 100;

/// The text in that style.
pub(super) fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// How wide a screen is; in a pipe that is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    pub columns: Option<usize>,
}

impl Screen {
    /// A text of others on one line, cut to the room beside what takes `taken` columns. In a pipe nothing is cut.
    pub(super) fn rest(self, text: &str, taken: usize) -> String {
        let line = one_line(text);
        self.columns.map_or_else(|| line.clone(), |all| fit(&line, all.saturating_sub(taken).max(8)))
    }

    /// A text of others in lines, beside what takes `taken` columns. In a pipe it is one line.
    pub(super) fn wrapped(self, text: &str, taken: usize) -> Vec<String> {
        wrap(&one_line(text), self.columns.map_or(usize::MAX, |all| all.saturating_sub(taken).max(8)))
    }

    /// Markdown of others, indented.
    pub(super) fn prose(self, markdown: &str, indent: usize) -> String {
        let width = self.columns.unwrap_or(PROSE).min(MOST_PROSE).saturating_sub(indent);
        indented(&to_terminal(markdown, width), indent)
    }
}

/// Lines of others as they are, without what a terminal would take for a command, indented.
pub(super) fn plain_lines(text: &str, indent: usize) -> String {
    let lines = text.trim_end().lines().map(|line| made_visible(&line.replace('\t', "    ")) + "\n");
    indented(&lines.collect::<String>(), indent)
}

fn indented(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") };
    text.lines().map(line).collect()
}

/// A heading with what is below it; nothing where that is empty.
pub(super) fn section(heading: &str, text: &str) -> String {
    match text.trim().is_empty() {
        true => String::new(),
        false => format!("\n{}\n{text}", styled(BOLD, heading)),
    }
}

/// The style of a state by what it means; of a proposal, which has none, a quiet one.
pub(super) fn role_style(role: Option<Role>) -> Style {
    match role {
        None => QUIET,
        Some(Role::Open) => AnsiColor::Blue.on_default(),
        Some(Role::AwaitingConfirmation) => NAME,
        Some(Role::Solution) => GOOD.bold(),
        Some(Role::Confirmation) => GOOD,
        Some(Role::Theory) => AnsiColor::Magenta.on_default(),
        Some(Role::Exhausted) => QUIET,
        Some(Role::DeadEnd) => BAD,
    }
}

/// An investigation with what its rules say of it.
pub(super) struct Judged<'a> {
    pub investigation: &'a Investigation,
    /// None where the ruleset can't be used.
    pub rules: Option<EffectiveRules<'a>>,
    /// The objections that nobody has resolved.
    pub open: Vec<Objection>,
}

/// A node in a line, as text and as JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeLine {
    pub node_id: String,
    /// Absent while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub title: String,
    /// `confirmed`, `self-checked`, `unconfirmed` of an answer; `refuted`; absent of what is none of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sure: Option<&'static str>,
    pub contested: bool,
    #[serde(skip)]
    pub role: Option<Role>,
    #[serde(skip)]
    pub mark: Option<Sure>,
}

impl<'a> Judged<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let investigation = snapshot.investigation.as_ref();
        Judged { investigation, rules: snapshot.rules(), open: objections::open(investigation) }
    }

    pub(super) fn role(&self, node: &Node) -> Option<Role> {
        Some(self.rules?.role(node.state()?))
    }

    pub(super) fn sure(&self, node: &Node) -> Option<Sure> {
        Sure::of_node(self.investigation, &self.rules?, &self.open, node)
    }

    /// The answers that nobody has refuted, the surest first.
    pub(super) fn answers(&self) -> Vec<(&'a Node, Sure)> {
        let nodes = self.investigation.committed().map(|(node, _)| node.as_ref());
        let mut answers: Vec<(&Node, Sure)> = nodes
            .filter(|node| self.role(node) == Some(Role::Solution))
            .filter_map(|node| Some((node, self.sure(node)?)))
            .filter(|(_, sure)| *sure != Sure::REFUTED)
            .collect();
        answers.sort_by_key(|(_, sure)| sure.rank());
        answers
    }

    pub(super) fn line(&self, node: &Node) -> NodeLine {
        let mark = self.sure(node);
        let differs = node.classification.as_ref().is_some_and(Classification::is_contested);
        NodeLine {
            node_id: node.id.to_string(),
            state: node.state().map(ToString::to_string),
            title: node.name().to_owned(),
            sure: mark.map(|mark| mark.class),
            contested: differs || mark.is_some_and(|mark| mark.contested),
            role: self.role(node),
            mark,
        }
    }
}

impl NodeLine {
    /// The node on a line of the screen, of which `taken` columns are taken.
    pub(super) fn text(&self, screen: Screen, taken: usize) -> String {
        let state = self.state.as_deref().map_or_else(|| "proposed".to_owned(), one_line);
        let mark = self.mark.map(|mark| format!("{} ", mark.sign)).unwrap_or_default();
        let contested = if self.contested { "contested " } else { "" };
        let used = taken + columns(&self.node_id) + columns(&mark) + columns(&state) + columns(contested) + 2;
        let style = role_style(self.role.filter(|_| self.state.is_some()));
        let mark_style = self.mark.map_or(QUIET, sure_style);
        let title = screen.rest(&self.title, used);
        let title = if self.state.is_none() || self.role == Some(Role::DeadEnd) {
            styled(QUIET, &title)
        } else {
            title
        };
        format!(
            "{} {}{} {}{title}",
            styled(BOLD, &self.node_id),
            styled(mark_style, &mark),
            styled(style, &state),
            styled(DOUBT, contested),
        )
    }
}

/// The style of how sure an answer is.
pub(super) fn sure_style(sure: Sure) -> Style {
    match sure {
        _ if sure == Sure::REFUTED => BAD,
        _ if sure.is_confirmed() && !sure.contested => GOOD,
        _ => DOUBT,
    }
}
