//! `README.md`: what a forge shows of an investigation, to people without this program.
//!
//! It follows from the facts, is written by the call that changes what it says (the start, the end, and what changes an
//! ended one), and is never read back.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{FileChange, layout};
use crate::domain::{Classification, Conclusion, Investigation, Node, NodeId};
use crate::graph;
use crate::ruleset::rules::objections;
use crate::ruleset::rules::verification::Grade;
use crate::ruleset::{EffectiveRules, Role};
use crate::text::{counted, made_visible, one_line, shorten};

/// The last line, by which it is known whether a README is this one.
const MARK: &str = "<!-- tot writes this page from the facts; what is changed here by hand is not kept. -->";

/// How many nodes the map shows: more can't be told apart on a page.
const MAP: usize = 40;
/// How many bytes it may have; forges draw 50,000.
const MAP_BYTES: usize = 40_000;
/// How many nodes a list names.
const LISTED: usize = 20;
/// How many characters a question and an answer may have.
const QUESTION: usize = 4_000;
const ANSWER: usize = 40_000;

/// Whether a text is the page that [`readme`] makes, of these facts or others.
pub fn is_ours(text: &str) -> bool {
    text.trim_end().ends_with(MARK)
}

/// The page as a file to be written, where this change of the facts changes it.
pub fn change(before: &Investigation, after: &Investigation, rules: &EffectiveRules) -> Option<FileChange> {
    if before.conclusion().is_none() && after.conclusion().is_none() {
        return None;
    }
    let page = readme(after, rules);
    let is_new = page != readme(before, rules);
    is_new.then(|| FileChange::text(layout::README, page))
}

/// The page.
pub fn readme(investigation: &Investigation, rules: &EffectiveRules) -> String {
    let meta = investigation.meta();
    let mut page = format!("# {}\n\n{}\n", inline(&meta.title, 300), quoted(&meta.query, QUESTION));
    match investigation.conclusion() {
        None => page.push_str(
            "This is an investigation in git: every finding is a file, every step a commit. It is under \
             way; at its end the answer will stand here.\n\n",
        ),
        Some(end) => ended(&mut page, investigation, rules, end),
    }
    let _ = write!(
        page,
        "## How to read it\n\n\
         - [`{}`](<{}>): the question and the settings, method `{}`, mode `{}`, begun {}.\n\
         - [`{}`](<{}>): the rules that it is judged by.\n\
         - [`nodes/`](<nodes>): the findings. `R2.A1` is a child of `R1.A`, in round 2; each file has what was proposed, \
         what was found, in which state, and every later change.\n\n\
         ```sh\n\
         git log --reverse                    # the story of the work\n\
         git log -p -- 'nodes/*/R2.A1.yaml'   # one finding, from its proposal on\n\
         tot-report . --out site              # pages, with a graph, references and history\n\
         ```\n\n{MARK}\n",
        layout::META,
        layout::META,
        meta.ruleset,
        meta.mode,
        meta.started_at.to_minute(),
        layout::RULESET,
        layout::RULESET,
    );
    page
}

/// What only an ended one has.
fn ended(page: &mut String, investigation: &Investigation, rules: &EffectiveRules, end: &Conclusion) {
    let answer = end.conclusion.as_deref().unwrap_or("No answer was given.");
    let _ = write!(page, "## Answer\n\n{}\n", quoted(answer, ANSWER));
    let by = end.who().map(|who| format!(" by {}", inline(&who, 60))).unwrap_or_default();
    let _ = write!(page, "Ended {}{by}", end.ended_at.to_minute());
    if let Some(stopped) = &end.stopped {
        let note =
            stopped.note.as_deref().map(|note| format!(" ({})", inline(note, 300))).unwrap_or_default();
        let _ = write!(page, ", before the rules were met: {}{note}", stopped.reason.label());
    }
    let results = || investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
    let is_by_people =
        end.caller.person.is_some() || results().flat_map(Classification::people).next().is_some();
    page.push_str(match is_by_people {
        true => ". Some of this was written by people: none of it is a sign-off.\n\n",
        false => ". Agents wrote this: it is no sign-off by a person.\n\n",
    });
    if !end.other_conclusions.is_empty() {
        let others = counted(end.other_conclusions.len(), "other end");
        let _ = write!(page, "**A merge has brought {others}: see [`{0}`](<{0}>).**\n\n", layout::CONCLUSION);
    }
    if investigation.end_in_force().is_none() {
        page.push_str("**Research went on after this end: it is not the last word.**\n\n");
    }
    let of_role = |role: Role| -> Vec<&Arc<Node>> {
        investigation
            .committed()
            .filter(|(_, state)| rules.role(state) == role)
            .map(|(node, _)| node)
            .collect()
    };
    let (refuted, answers): (Vec<_>, Vec<_>) = of_role(Role::Solution)
        .into_iter()
        .partition(|node| !rules.refuted_by(investigation, node).is_empty());
    let theories = of_role(Role::Theory);
    page.push_str("## How far to trust it\n\n");
    if answers.is_empty() && theories.is_empty() {
        page.push_str("No answer was found.\n\n");
    } else {
        page.push_str("| finding | | how well it is checked |\n|---|---|---|\n");
        for node in answers.iter().chain(&theories).take(LISTED) {
            let best = rules.grade(investigation, node);
            let confirming = rules.confirming(investigation, node).into_iter().map(|by| match by.grade {
                grade if grade == best => link(&by.node),
                grade => format!("{} ({})", link(&by.node), grade.label()),
            });
            let confirming: Vec<String> = confirming.collect();
            let grade = match node.state().map(|state| rules.role(state)) {
                Some(Role::Theory) => "an answer that can't be tested here".to_owned(),
                _ if confirming.is_empty() => Grade::None.label().to_owned(),
                _ => format!("{}: {}", best.label(), confirming.join(", ")),
            };
            let _ = writeln!(page, "| {} | {} | {grade} |", link(&node.id), inline(node.name(), 200));
        }
        more(page, answers.len() + theories.len());
    }
    let contested: Vec<String> = investigation
        .committed()
        .filter(|(node, _)| node.classification.as_ref().is_some_and(|result| result.is_contested()))
        .map(|(node, _)| link(&node.id))
        .collect();
    if !contested.is_empty() {
        let _ = write!(page, "**Contested, with results that differ: {}.**\n\n", contested.join(", "));
    }
    let open = objections::open(investigation);
    if !open.is_empty() {
        let is_contested = |node: &&&Arc<Node>| !rules.against(investigation, node, &open).is_empty();
        let answers = answers.iter().filter(is_contested).count();
        let (what, of) = (counted(open.len(), "open objection"), counted(answers, "answer"));
        let _ = write!(page, "**{what}; {of} contested by that:**\n\n");
        for objection in open.iter().take(LISTED) {
            let comment = &objection.comment;
            let to = comment.node.as_ref().map_or_else(|| "the whole".to_owned(), link);
            let (by, text) = (inline(comment.author.label(), 60), inline(&comment.text, 200));
            let _ = writeln!(page, "- {by} to {to}: {text}");
        }
        more(page, open.len());
    }
    page.push_str("## Map\n\n```mermaid\n");
    page.push_str(&map(investigation, rules, answers.iter().chain(&refuted).chain(&theories).copied()));
    page.push_str("```\n\n");
    let dead_ends: Vec<&Arc<Node>> = investigation
        .committed()
        .filter(|(_, state)| rules.is_dead_end(state))
        .map(|(node, _)| node)
        .collect();
    if !refuted.is_empty() || !dead_ends.is_empty() {
        page.push_str("## Ruled out\n\n");
        for node in refuted.iter().chain(&dead_ends).take(LISTED) {
            let by: Vec<String> = rules.refuted_by(investigation, node).iter().map(link).collect();
            let by = if by.is_empty() { String::new() } else { format!(", refuted by {}", by.join(", ")) };
            let _ = writeln!(page, "- {} {}{by}", link(&node.id), inline(node.name(), 200));
        }
        more(page, refuted.len() + dead_ends.len());
    }
}

/// What ends a list of so many.
fn more(page: &mut String, number: usize) {
    match number.checked_sub(LISTED) {
        Some(more @ 1..) => {
            let _ = write!(page, "\nAnd {more} more.\n\n");
        }
        _ => page.push('\n'),
    }
}

/// The answers with what they extend and what checks them, and others as far as there is room.
fn map<'a>(
    investigation: &Investigation,
    rules: &EffectiveRules,
    answers: impl Iterator<Item = &'a Arc<Node>>,
) -> String {
    let mut shown: BTreeSet<NodeId> = BTreeSet::new();
    let mut show = |node: &Node| {
        let path: Vec<NodeId> = investigation.path(&node.id).iter().map(|node| node.id.clone()).collect();
        let new = path.iter().filter(|id| !shown.contains(*id)).count();
        if shown.len() + new <= MAP {
            shown.extend(path);
        }
    };
    for node in answers {
        show(node);
        let checks = rules.confirming(investigation, node).into_iter().map(|by| by.node);
        for id in checks.chain(rules.refuted_by(investigation, node)) {
            investigation.node(&id).into_iter().for_each(|node| show(node));
        }
    }
    investigation.nodes().for_each(|node| show(node));
    let mut most = shown.len();
    loop {
        let nodes = investigation.nodes().filter(|node| shown.contains(&node.id)).take(most).cloned();
        let part = Investigation::from_facts(investigation.meta().clone(), nodes, None).0;
        let chart = graph::mermaid(&part, rules.ruleset());
        if chart.len() <= MAP_BYTES || most == 0 {
            return chart;
        }
        most /= 2;
    }
}

/// A node, as a link to its file.
fn link(id: &NodeId) -> String {
    format!("[{id}](<{}>)", layout::node(id))
}

/// A text of others on one line, in which nothing is Markdown.
pub fn inline(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    for c in shorten(&one_line(text), most).chars() {
        if "\\`*_{}[]<>#|~$&!".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A text of others as it is, in Markdown, in a quotation: what it opens ends with that.
pub fn quoted(text: &str, most: usize) -> String {
    let mut quoted = String::new();
    let cut: String = text.trim().chars().take(most).collect();
    for line in cut.lines() {
        let _ = writeln!(quoted, "{}", format!("> {}", made_visible(line)).trim_end());
    }
    if text.trim().chars().nth(most).is_some() {
        quoted.push_str(">\n> …\n");
    }
    quoted
}
