//! `README.md`: the page shown by git forges, for people without this program.
//!
//! It is derived from the facts and never read back. It is written by calls that change its content: those that start
//! or end an investigation, and those that change an ended one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{FileChange, layout};
use crate::assess::{Answer, Assessment, differs};
use crate::decide::sources::found_run;
use crate::domain::{Classification, Conclusion, DRAFT, Investigation, Node, NodeId};
use crate::graph;
use crate::markdown::{Reader, ShownSource, Source, SourceTarget, literal, quoted, quoted_with};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::objections;
use crate::ruleset::rules::verification::Confirming;
use crate::text::counted;

/// The last line, which identifies a README written by this program.
const MARK: &str = "<!-- tot writes this page from the facts; what is changed here by hand is not kept. -->";

/// The maximum number of nodes on the map. More would be illegible on a page.
const MAP: usize = 40;
/// The maximum size of the map in bytes. Forges draw maps of up to 50,000 bytes.
const MAP_BYTES: usize = 40_000;
/// The maximum number of entries in a list.
const LISTED: usize = 20;
/// The maximum length of the question and of the conclusion, in characters.
const QUESTION: usize = 4_000;
const ANSWER: usize = 40_000;

/// Returns whether [`readme`] created the text, regardless of the facts.
pub fn is_ours(text: &str) -> bool {
    text.trim_end().ends_with(MARK)
}

/// Returns the page as a file to write, if it is affected by the change to the facts.
pub fn change(before: &Investigation, after: &Investigation, rules: &EffectiveRules) -> Option<FileChange> {
    if before.report().is_none() && after.report().is_none() {
        return None;
    }
    let page = readme(after, rules);
    let is_new = page != readme(before, rules);
    is_new.then(|| FileChange::text(layout::README, page))
}

/// Renders the page.
pub fn readme(investigation: &Investigation, rules: &EffectiveRules) -> String {
    let meta = investigation.meta();
    let mut page = format!("# {}\n\n", inline(&meta.title, 300));
    let end = investigation.conclusion();
    let assessment = Assessment::new(investigation, Some(*rules));
    if let Some(line) = assessment.known_bottom_line() {
        let _ = write!(page, "**{}**\n\n", inline(&line, 600));
    }
    let _ = writeln!(page, "{}", quoted(&meta.query, QUESTION, Reader::Page));
    match end {
        None => page.push_str(
            "This is an investigation in git: every finding is a file, every step a commit. It is under \
             way; the answer will appear here.\n\n",
        ),
        Some(end) => ended(&mut page, &assessment, end),
    }
    if let Some(draft) = investigation.draft() {
        let text = quoted_with(&draft.report(), ANSWER, Reader::Page, &|source| shown(&assessment, source));
        let _ = write!(page, "## {DRAFT}\n\n{text}\n");
    }
    if let Some(report) = assessment.report() {
        let _ = write!(page, "{}.\n\n", inline(&report.words, 300));
    }
    let _ = write!(
        page,
        "## How to read it\n\n\
         - [`{}`](<{}>): the question and the settings, method `{}`, mode `{}`, begun {}.\n\
         - [`{}`](<{}>): the rules that it is judged by.\n\
         - [`nodes/`](<nodes>): the findings. `R2.A1` is a child of `R1.A`, in round 2; each file has the proposal, the findings, \
         the state and every later change.\n\n\
         ```sh\n\
         git log --reverse                    # the history of the work\n\
         git log -p -- 'nodes/*/R2.A1-*'      # one finding, from its proposal on\n\
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

/// Adds the sections for an ended investigation.
fn ended(page: &mut String, assessment: &Assessment<'_>, end: &Conclusion) {
    let investigation = assessment.investigation;
    let verdict = assessment.words().map(|words| format!(", {}", inline(&words, 300))).unwrap_or_default();
    let text = end.conclusion.as_deref().unwrap_or("No conclusion was given.");
    let text = quoted_with(text, ANSWER, Reader::Page, &|source| shown(assessment, source));
    let _ = write!(page, "## Conclusion{verdict}\n\n{text}\n");
    let limits = assessment.limits();
    for limit in &limits {
        let _ = writeln!(page, "- {}: {}", limit.label(), inline(limit.text, 300));
    }
    page.push_str(if limits.is_empty() { "" } else { "\n" });
    let by = end.who().map(|who| format!(" by {}", inline(&who, 60))).unwrap_or_default();
    let _ = write!(page, "Ended {}{by}", end.ended_at.to_minute());
    if let Some(stopped) = &end.stopped {
        let note =
            stopped.note.as_deref().map(|note| format!(" ({})", inline(note, 300))).unwrap_or_default();
        let _ = write!(page, ", stopped early: {}{note}", stopped.reason.label());
    }
    let results = || investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
    let is_by_people =
        end.caller.person.is_some() || results().flat_map(Classification::people).next().is_some();
    page.push_str(match is_by_people {
        true => ". People wrote some of this; none of it is a sign-off.\n\n",
        false => ". Agents wrote this; no person has signed it off.\n\n",
    });
    let others = end.other_conclusions.iter().filter(|other| !other.draft).count();
    if others > 0 {
        let others = counted(others, "other end");
        let _ = write!(page, "**A merge has brought {others}: see [`{0}`](<{0}>).**\n\n", layout::CONCLUSION);
    }
    if let Some(reopened) = &end.reopened {
        let _ = write!(page, "**{}.**\n\n", inline(&reopened.line(), 300));
    } else if investigation.end_in_force().is_none() {
        page.push_str("**Ended, then continued: this end is not the last word.**\n\n");
    }
    let _ = write!(page, "## How far to trust it\n\n{}\n\n", assessment.found());
    if let Some(evidence) = assessment.whole_evidence().filter(|_| assessment.runs().next().is_some()) {
        let _ = write!(page, "Evidence: {}.\n\n", inline(&evidence, 400));
    }
    let (answers, theories) = (&assessment.answers, &assessment.theories);
    if !(answers.is_empty() && theories.is_empty()) {
        page.push_str("| answer | | how well checked |\n|---|---|---|\n");
        let graded = answers.iter().map(|answer| (answer.node, graded(answer)));
        let untested = theories.iter().map(|node| (*node, "can't be tested here".to_owned()));
        for (node, grade) in graded.chain(untested).take(LISTED) {
            let _ = writeln!(page, "| {} | {} | {grade} |", link(&node.id), inline(node.name(), 200));
        }
        more(page, answers.len() + theories.len());
    }
    let differing: Vec<String> =
        investigation.nodes().filter(|node| differs(node)).map(|node| link(&node.id)).collect();
    if !differing.is_empty() {
        let _ = write!(page, "**Contested, with results that differ: {}.**\n\n", differing.join(", "));
    }
    let mut unlike = assessment.runs().filter(|run| run.is_contesting()).peekable();
    if unlike.peek().is_some() {
        page.push_str("**Contested by commands that were run again:**\n\n");
        for run in unlike.by_ref().take(LISTED) {
            let node = run.run.node.as_ref().map_or_else(|| "the whole".to_owned(), link);
            let _ = writeln!(page, "- {node}: {}", inline(&run.told(), 400));
        }
        more(page, LISTED + unlike.count());
    }
    let open = &assessment.open;
    if !open.is_empty() {
        let answers = answers.iter().filter(|answer| !answer.against.is_empty()).count();
        let (what, of) = (objections::counted_in_words(open, "open "), counted(answers, "answer"));
        let _ = write!(page, "**{what}; {of} contested by that:**\n\n");
        for objection in open.iter().take(LISTED) {
            let comment = &objection.comment;
            let to = comment.node.as_ref().map_or_else(|| "the whole".to_owned(), link);
            let (by, text) = (inline(&comment.author.label(), 60), inline(&comment.shown(), 200));
            let _ = writeln!(page, "- {by} to {to}: {text}");
        }
        more(page, open.len());
    }
    page.push_str("## Map\n\n```mermaid\n");
    page.push_str(&map(assessment));
    page.push_str("```\n\n");
    let refuted = assessment.refuted.iter().map(|it| (it.node, it.refuted_by.as_slice()));
    let ruled_out: Vec<(&Arc<Node>, &[NodeId])> =
        refuted.chain(assessment.ruled_out().map(|node| (node, &[][..]))).collect();
    if !ruled_out.is_empty() {
        page.push_str("## Ruled out\n\n");
        for (node, by) in ruled_out.iter().take(LISTED) {
            let by: Vec<String> = by.iter().map(link).collect();
            let by = if by.is_empty() { String::new() } else { format!(", refuted by {}", by.join(", ")) };
            let _ = writeln!(page, "- {} {}{by}", link(&node.id), inline(node.name(), 200));
        }
        more(page, ruled_out.len());
    }
}

/// Formats the grade of an answer with its confirmations. Confirmations with a different grade state their own.
fn graded(answer: &Answer<'_>) -> String {
    let by = |by: &Confirming| match by.grade == answer.grade {
        true => link(&by.node),
        false => format!("{} ({})", link(&by.node), by.verdict().label()),
    };
    let by: Vec<String> = answer.confirming.iter().map(by).collect();
    let words = inline(&answer.words(), 300);
    if by.is_empty() { words } else { format!("{words}: {}", by.join(", ")) }
}

/// Ends a list, with a note about the omitted entries if the list was shortened.
fn more(page: &mut String, number: usize) {
    match number.checked_sub(LISTED) {
        Some(more @ 1..) => {
            let _ = write!(page, "\nAnd {more} more.\n\n");
        }
        _ => page.push('\n'),
    }
}

/// Draws the map: answers with their ancestors and checks, and as many other nodes as fit.
fn map(assessment: &Assessment<'_>) -> String {
    let investigation = assessment.investigation;
    let mut shown: BTreeSet<&NodeId> = BTreeSet::new();
    let mut show = |id: &NodeId| {
        let path = investigation.path(id);
        let new = path.iter().filter(|node| !shown.contains(&node.id)).count();
        if shown.len() + new <= MAP {
            shown.extend(path.into_iter().map(|node| &node.id));
        }
    };
    for answer in assessment.answers.iter().chain(&assessment.refuted) {
        show(&answer.node.id);
        answer.confirming.iter().map(|by| &by.node).chain(&answer.refuted_by).for_each(&mut show);
    }
    assessment.theories.iter().for_each(|node| show(&node.id));
    investigation.nodes().for_each(|node| show(&node.id));
    let mut most = shown.len();
    loop {
        // Ordered by round, so ancestors are included.
        let part: BTreeSet<&NodeId> = shown.iter().take(most).copied().collect();
        let chart = graph::mermaid_of(assessment, |id| part.contains(id));
        if chart.len() <= MAP_BYTES || most == 0 {
            return chart;
        }
        most /= 2;
    }
}

/// Returns the file of the run or node that a source names, and how the passage is known. A place or a node of which nothing
/// is known has no sign, which would only disturb.
fn shown(assessment: &Assessment<'_>, source: &Source) -> ShownSource {
    let investigation = assessment.investigation;
    let state = assessment.source(source, None, &|_| None);
    let file = match &source.target {
        SourceTarget::Run(named) => found_run(investigation, named).ok().map(|run| layout::run(run.id)),
        SourceTarget::Node(named) => investigation.find(named).ok().map(|node| layout::node(&node.id)),
        _ => None,
    };
    let is_told = matches!(source.target, SourceTarget::Run(_)) || state.class != "quiet";
    ShownSource { file, state: is_told.then(|| state.known()) }
}

/// Returns a link to a node's file.
fn link(id: &NodeId) -> String {
    format!("[{id}](<{}>)", layout::node(id))
}

/// Puts untrusted text on one line, as text without Markdown.
fn inline(text: &str, most: usize) -> String {
    literal(text, most, Reader::Page)
}
