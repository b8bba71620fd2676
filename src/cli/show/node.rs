//! Shows one node: everything stored about it, and what other nodes and people say about it.

use std::collections::HashSet;

use serde::Serialize;

use crate::assess::{Assessment, CapturedRun, NEWEST_RUNS, newest_runs};
use crate::cli::screen::{
    BAD, BOLD, NodeLine, QUIET, Screen, doubts, known, plain_lines, section, styled, verdict_style,
};
use crate::domain::{Comment, Node, RunId, SessionId};
use crate::fields::{COMMANDS, FINDINGS, HEADLINE, OTHER_RESULTS};
use crate::json::{CommentJson, NodeJson, RunJson};
use crate::markdown::Source;
use crate::service::project::ProjectEvidence;
use crate::service::reply::AttachmentEntry;
use crate::text::{counted, one_line};

/// The JSON output of `tot show` for a node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeDocument<'a> {
    session_id: SessionId,
    node: NodeJson<'a>,
    comments: Vec<CommentJson>,
    /// The runs for the node and those that its results name, with their reruns and the judgements on them, oldest first.
    runs: Vec<RunJson<'a>>,
    attachments: Vec<AttachmentEntry<'a>>,
}

pub(super) fn document<'a>(assessment: &'a Assessment<'a>, node: &'a Node) -> NodeDocument<'a> {
    let investigation = assessment.investigation;
    let captured: HashSet<RunId> = assessment.runs_of(&node.id).map(|run| run.run.id).collect();
    let repeated = |of: RunId| investigation.run(of).and_then(|run| run.of()).unwrap_or(of);
    let runs =
        investigation.counted_runs().filter(|run| captured.contains(&run.of().map_or(run.id, repeated)));
    NodeDocument {
        session_id: investigation.meta().id,
        node: NodeJson::new(assessment, node),
        comments: investigation.comments_on(&node.id).map(|comment| CommentJson::new(comment)).collect(),
        runs: runs.map(|run| RunJson::new(assessment, run)).collect(),
        attachments: AttachmentEntry::all(investigation, &node.id),
    }
}

/// Formats the node for the terminal.
pub(super) fn shown(
    assessment: &Assessment<'_>,
    node: &Node,
    evidence: &ProjectEvidence,
    named: Option<&str>,
    screen: Screen,
) -> String {
    let investigation = assessment.investigation;
    let line = NodeLine::new(assessment, node);
    let mut text = format!("{}\n", line.text(screen, 0));
    let answer = assessment.answer(&node.id);
    if let Some(answer) = answer {
        text.push_str(&format!("{}\n", styled(verdict_style(answer.verdict), &answer.words())));
    }
    if let Some(why) = assessment.counts_for_nothing(node) {
        text.push_str(&format!("{}\n", styled(BAD, why)));
    }
    let fields = node.fields().filter(|field| !field.value.trim().is_empty());
    let (texts, facts): (Vec<_>, Vec<_>) = fields.partition(|field| field.is_text);
    for field in texts {
        text.push_str(&match field.name {
            // The headline is already shown as the title.
            HEADLINE => String::new(),
            COMMANDS => section(&format!("{COMMANDS} reported by the agent"), &plain_lines(&field.value, 2)),
            // As Markdown, its fields would be one paragraph.
            OTHER_RESULTS => section(field.name, &lines(&field.value, screen)),
            FINDINGS => {
                let known = |source: &Source| Some(known(assessment, Some(&node.id), evidence, source));
                section(field.name, &screen.prose_known(&field.value, 2, &known))
            }
            name => section(name, &screen.prose(&field.value, 2)),
        });
    }
    let unsure = answer.map(|answer| assessment.doubts_of(answer, &|_| None)).unwrap_or_default();
    text.push_str(&section("Check it yourself", &doubts(&unsure, named, screen)));
    let (newest, more) = newest_runs(assessment.runs_of(&node.id), NEWEST_RUNS);
    let mut runs: String = newest.iter().map(|run| ran(run, screen)).collect();
    if more > 0 {
        let rest = format!("… and {more} more: tot show {} --json lists them all", node.id);
        runs.push_str(&format!("  {}\n", styled(QUIET, &screen.rest(&rest, 2))));
    }
    text.push_str(&section("Captured commands", &runs));
    let parent = node.parent.as_ref().and_then(|id| investigation.node(id));
    let parent = parent.map(|parent| format!("  {}\n", NodeLine::new(assessment, parent).text(screen, 2)));
    text.push_str(&section("Extends", &parent.unwrap_or_default()));
    let below = |child: &Node| {
        let by = answer.and_then(|answer| answer.confirming.iter().find(|by| by.node == child.id));
        let confirms = by.map(|by| by.verdict());
        let confirms = confirms
            .map(|verdict| styled(verdict_style(verdict), &format!("confirms it: {}", verdict.label())));
        let refutes = answer.is_some_and(|answer| answer.refuted_by.contains(&child.id));
        let refutes = refutes.then(|| styled(BAD, "refutes it"));
        let distance = by.and_then(|by| assessment.distance(node, by));
        let distance = distance.map(|it| styled(QUIET, &screen.rest(&it.to_string(), 4)));
        let notes = [confirms, distance, refutes].into_iter().flatten().map(|note| format!("    {note}\n"));
        format!("  {}\n{}", NodeLine::new(assessment, child).text(screen, 2), notes.collect::<String>())
    };
    let children: String = investigation.children(&node.id).map(|child| below(child)).collect();
    text.push_str(&section("Extended by", &children));
    let said = |comment: &Comment| {
        let who = format!("{}, {}", one_line(&comment.author.label()), comment.at.to_minute());
        let head = format!("{} {}", styled(BOLD, comment.kind.label()), styled(QUIET, &who));
        format!("  {head}\n{}", screen.prose(&comment.shown(), 4))
    };
    let comments: String = investigation.comments_on(&node.id).map(|comment| said(comment)).collect();
    text.push_str(&section("Comments", &comments));
    let attached = investigation.attachments_of(&node.id).iter();
    let attached = attached.map(|(name, bytes)| {
        format!(
            "  {} ({})\n",
            one_line(name.as_str()),
            counted(usize::try_from(*bytes).unwrap_or(usize::MAX), "byte")
        )
    });
    text.push_str(&section("Attachments", &attached.collect::<String>()));
    // The name and the parent are already shown.
    let facts = facts.iter().filter(|field| field.name != "Parent" && field.value != node.name());
    let facts: String = facts.map(|field| fact(field.name, &field.value, screen)).collect();
    text + &section("Facts", &facts)
}

/// The maximum number of output lines shown.
const OUTPUT: usize = 8;
/// The maximum number of output characters shown.
const OUTPUT_CHARACTERS: usize = 2_000;
/// The maximum number of reruns and expectations shown.
const AGAIN: usize = 5;

/// Formats a run, with its result and the beginning of its output.
fn ran(run: &CapturedRun<'_>, screen: Screen) -> String {
    let entry = run.entry(usize::MAX, AGAIN);
    let mut text = format!("  {}\n", styled(BOLD, &screen.rest(&format!("$ {}", entry.command), 2)));
    let ended = format!("{}; captured by {}", entry.ended, entry.captured_by);
    let files = &entry.files;
    let with = (!files.is_empty()).then(|| format!("stored with it: {}", files.join(", ")));
    let lacks = entry.not_stored.map(|files| format!("not stored, and missing in a rerun: {files}"));
    let facts = [Some(ended), Some(entry.standing), entry.note, with, lacks, entry.inputs];
    let expected = entry.expectations.into_iter().map(|it| format!("expected {it}"));
    for line in facts.into_iter().flatten().chain(expected).chain(entry.repetitions) {
        text.push_str(&format!("    {}\n", styled(QUIET, &screen.rest(&line, 4))));
    }
    let (shown, output) = (run.entry(OUTPUT_CHARACTERS, 0).output, &run.ran.output);
    let first: Vec<&str> = shown.lines().take(OUTPUT).collect();
    text.push_str(&plain_lines(&first.join("\n"), 6));
    let is_whole = output.end.is_none() && first.len() == output.text.lines().count();
    if !is_whole {
        let rest = format!("… of {} bytes: runs/{}.yaml has what was kept", output.bytes, entry.run_id);
        text.push_str(&format!("      {}\n", styled(QUIET, &rest)));
    }
    text
}

/// Indents lines without joining them.
fn lines(text: &str, screen: Screen) -> String {
    let wrapped = |line: &str| match line.trim().is_empty() {
        true => "\n".to_owned(),
        false => screen.wrapped(line, 2).iter().map(|part| format!("  {part}\n")).collect(),
    };
    text.lines().map(wrapped).collect()
}

/// The width of a fact's name.
const NAME: usize = 20;
/// The column of a fact's value.
const BEFORE: usize = NAME + 4;

/// Formats a fact's name with its value.
fn fact(name: &str, value: &str, screen: Screen) -> String {
    let lines = value.lines().flat_map(|line| screen.wrapped(line, BEFORE));
    let line = |(at, line): (usize, String)| match at {
        0 => format!("  {}  {line}\n", styled(QUIET, &format!("{name:<NAME$}"))),
        _ => format!("{}{line}\n", " ".repeat(BEFORE)),
    };
    lines.enumerate().map(line).collect()
}
