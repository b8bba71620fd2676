//! `tot show`: shows an investigation or one of its nodes.

mod node;
mod tree;

use std::borrow::Cow;

use clap::Args;
use serde::Serialize;

use super::CommandResult;
use super::place::{Common, id_and_node};
use super::print::{columns, page, say_json};
use super::screen::{BOLD, DOUBT, NodeLine, QUIET, Screen, assessed, section, styled, verdict_style};
use crate::assess::{self, Assessment, Verdict};
use crate::decide::standing;
use crate::domain::{BoundAnswer, Timestamp};
use crate::ruleset::rules::verification::{Confirming, Grade};
use crate::store::Snapshot;
use crate::text::{counted, one_line};

/// Show an investigation: the question, the answers and their evidence, the remaining steps, and the tree. With a node, show
/// everything stored about it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ShowArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), and the node
    #[arg(value_names = ["ID", "NODE"], num_args = 0..=2)]
    what: Vec<String>,
    /// Show every node of the tree. By default, only answers, the paths to them, their checks, and open questions are shown
    #[arg(long)]
    all: bool,
    /// Maximum number of rounds shown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {id, title, query, ruleset, mode, startedAt, endedAt?, head, outcome, stopped?, verdict?,
conclusion?, evidence?, restsOn?, notCovered?, answers: [{nodeId, state, title, sure?,
contested, evidence, confirmedBy: [{nodeId, grade, distance, caveats?}], refutedBy}], openObjections, blockers: [{code, nodeId?, message}], nextAction?, faults, nodes}; of a
node: {id, node, sure?, contested, confirmedBy, refutedBy, comments, runs, attachments}, where node has the fields of
investigation.json

Examples:
  tot show                  the current or only investigation
  tot show 0196 --all       with every node of its tree
  tot show 0196 R2.A1       one node
  tot show --json | jq -r '.answers[].title'";

/// An investigation, for JSON and the terminal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowDocument<'a> {
    id: String,
    title: &'a str,
    query: &'a str,
    ruleset: &'a str,
    mode: &'a str,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    head: String,
    /// `running`, `ended`, `stoppedEarly` or `continued`.
    outcome: assess::Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    /// The certainty of the conclusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'a str>,
    /// The results of the commands that the conclusion rests on, or a note on other evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    /// The answers that the conclusion rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rests_on: Vec<BoundAnswer>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_covered: &'a [String],
    /// The answers that the conclusion rests on, then the other answers, most certain first.
    answers: Vec<ShowAnswer<'a>>,
    open_objections: Vec<String>,
    blockers: Vec<ShowBlocker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<String>,
    faults: Vec<String>,
    nodes: Vec<ShowEntry>,
}

/// An answer with the nodes that confirm or refute it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowAnswer<'a> {
    #[serde(flatten)]
    line: NodeLine,
    #[serde(skip)]
    words: Cow<'static, str>,
    evidence: String,
    #[serde(skip)]
    has_runs: bool,
    confirmed_by: Vec<ShowConfirmation<'a>>,
    refuted_by: Vec<String>,
}

/// A node that confirms an answer, with the weight of that confirmation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowConfirmation<'a> {
    node_id: String,
    grade: Grade,
    /// The distance from the answer, as a line of text.
    distance: String,
    /// The limits of the confirmation: what it did not try.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    caveats: &'a [String],
    #[serde(skip)]
    verdict: Verdict,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowBlocker {
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
    message: String,
}

/// A node in the tree.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowEntry {
    #[serde(flatten)]
    line: NodeLine,
    parent: Option<String>,
}

/// The maximum number of answers shown on the terminal.
const ANSWERS: usize = 20;
/// The maximum number of blockers and objections shown.
const LISTED: usize = 10;

pub(super) fn run(arguments: &ShowArguments) -> CommandResult {
    let (id, node) = id_and_node(&arguments.what)?;
    let place = arguments.common.place();
    let snapshot = place.store.load(&place.folder(id)?)?;
    let assessment = assessed(&snapshot);
    let screen = Screen { columns: columns() };
    if let Some(node) = node {
        let found = assessment.investigation.node(&node).ok_or_else(|| format!("there is no node {node}"))?;
        return match arguments.common.json {
            true => say_json(&node::document(&assessment, found)),
            false => page(&node::shown(&assessment, found, screen)),
        };
    }
    let document = document(&assessment, &snapshot);
    if arguments.common.json {
        return say_json(&document);
    }
    let extent = tree::TreeExtent { all: arguments.all, depth: arguments.depth };
    page(
        &(shown(&document, &assessment, screen)
            + &section("Tree", &tree::shown(&assessment, extent, screen))),
    )
}

fn document<'a>(assessment: &'a Assessment<'a>, snapshot: &'a Snapshot) -> ShowDocument<'a> {
    let investigation = assessment.investigation;
    let meta = investigation.meta();
    let end = assessment.end();
    let next = assessment.rules.map(|rules| standing::outlook(investigation, &rules).next_step);
    let blockers = assessment.rules.map_or_else(Vec::new, |rules| standing::blockers(investigation, &rules));
    ShowDocument {
        id: meta.id.to_string(),
        title: &meta.title,
        query: &meta.query,
        ruleset: &meta.ruleset,
        mode: &meta.mode,
        started_at: meta.started_at.to_string(),
        ended_at: investigation.end_in_force().map(|end| end.ended_at.to_string()),
        head: snapshot.head.to_string(),
        outcome: assessment.outcome,
        stopped: end.and_then(|end| end.stopped.as_ref()).map(|stopped| stopped.reason.label()),
        verdict: assessment.words(),
        conclusion: end.and_then(|end| end.conclusion.as_deref()),
        evidence: assessment.whole_evidence(),
        rests_on: assessment.bound().map(|it| BoundAnswer { id: it.id.clone(), role: it.role }).collect(),
        not_covered: end.map_or(&[], |end| end.not_covered.as_slice()),
        answers: assessment
            .answers
            .iter()
            .map(|answer| ShowAnswer {
                line: NodeLine::new(assessment, answer.node),
                words: answer.words(),
                evidence: assessment.evidence_words(answer),
                has_runs: !answer.runs.is_empty(),
                confirmed_by: confirmed_by(assessment, Some(answer)),
                refuted_by: refuted_by(Some(answer)),
            })
            .collect(),
        open_objections: assessment.open.iter().map(|objection| objection.message()).collect(),
        blockers: blockers
            .into_iter()
            .map(|it| ShowBlocker {
                code: it.code.to_string(),
                node_id: it.node,
                message: it.message.person().to_owned(),
            })
            .collect(),
        next_action: next
            .filter(|_| investigation.end_in_force().is_none())
            .map(|next| next.wording(None).agent().to_owned()),
        faults: snapshot.all_faults().map(ToString::to_string).collect(),
        nodes: investigation
            .preorder()
            .into_iter()
            .map(|node| ShowEntry {
                line: NodeLine::new(assessment, node),
                parent: node.parent.as_ref().map(ToString::to_string),
            })
            .collect(),
    }
}

fn confirmed_by<'a>(
    assessment: &Assessment<'a>,
    answer: Option<&assess::Answer<'_>>,
) -> Vec<ShowConfirmation<'a>> {
    let by = answer.iter().flat_map(|answer| answer.confirming.iter().map(|by| (&**answer.node, by)));
    let confirmation = |(answer, by): (_, &Confirming)| ShowConfirmation {
        node_id: by.node.to_string(),
        grade: by.grade,
        distance: assessment.distance(answer, by).map_or_else(String::new, |it| it.to_string()),
        caveats: {
            let node = assessment.investigation.node(&by.node);
            node.and_then(|node| node.classification.as_ref()).map_or(&[], |result| &result.caveats)
        },
        verdict: by.verdict(),
    };
    by.map(confirmation).collect()
}

fn refuted_by(answer: Option<&assess::Answer<'_>>) -> Vec<String> {
    answer.iter().flat_map(|answer| &answer.refuted_by).map(ToString::to_string).collect()
}

/// Formats everything except the tree.
fn shown(document: &ShowDocument<'_>, assessment: &Assessment<'_>, screen: Screen) -> String {
    let investigation = assessment.investigation;
    let minute = |at: Timestamp| at.to_minute();
    let mut facts = vec![
        one_line(&format!("{}, mode {}", document.ruleset, document.mode)),
        format!("started {}", minute(investigation.meta().started_at)),
    ];
    facts
        .extend(assessment.end().map(|end| format!("{} {}", document.outcome.label(), minute(end.ended_at))));
    facts.extend(document.stopped.map(ToOwned::to_owned));
    facts.push(format!(
        "{} in {}",
        counted(investigation.len(), "node"),
        counted(investigation.current_round() as usize, "round")
    ));
    let mut text = format!(
        "{}\n{}\n{}\n",
        styled(BOLD, &screen.rest(document.title, 0)),
        styled(QUIET, &document.id),
        styled(QUIET, &screen.rest(&facts.join(" · "), 0)),
    );
    for fault in &document.faults {
        text.push_str(&format!("{}\n", styled(super::screen::BAD, &screen.rest(fault, 0))));
    }
    text.push_str(&section("Question", &screen.prose(document.query, 2)));
    let limits: Vec<String> = assessment.limits().iter().map(ToString::to_string).collect();
    if let Some(conclusion) = document.conclusion {
        let how = document.verdict.as_deref().unwrap_or(document.outcome.label());
        text.push_str(&section(&format!("Conclusion, {how}"), &screen.prose(conclusion, 2)));
        let bound = document.rests_on.iter().map(|bound| format!("{}: {}", bound.role.label(), bound.id));
        let evidence = document.evidence.iter().map(|evidence| format!("Evidence: {evidence}"));
        for line in bound.chain(evidence).chain(limits.iter().cloned()) {
            text.push_str(&format!("  {}\n", screen.rest(&line, 2)));
        }
    }
    let answer = |answer: &ShowAnswer<'_>| {
        let mut text = format!("  {}\n", answer.line.text(screen, 2));
        // A verdict is added to confirmations that are weaker than the answer's verdict.
        let by = answer.confirmed_by.iter().map(|by| match Some(by.verdict) == answer.line.verdict {
            true => by.node_id.clone(),
            false => format!("{} ({})", by.node_id, by.verdict.label()),
        });
        let by: Vec<String> = by.collect();
        let words = &answer.words;
        let line = if by.is_empty() { words.to_string() } else { format!("{words}: {}", by.join(", ")) };
        let style = answer.line.verdict.map_or(QUIET, verdict_style);
        text.push_str(&format!("    {}\n", styled(style, &screen.rest(&line, 4))));
        for best in answer.confirmed_by.iter().take(1).filter(|best| best.verdict > Verdict::NotChecked) {
            let line = format!("{}: {}", best.node_id, best.distance);
            text.push_str(&format!("    {}\n", styled(QUIET, &screen.rest(&line, 4))));
        }
        if answer.has_runs {
            text.push_str(&format!("    {}\n", styled(QUIET, &screen.rest(&answer.evidence, 4))));
        }
        text
    };
    let mut answers: String = document.answers.iter().take(ANSWERS).map(answer).collect();
    if let Some(more @ 1..) = document.answers.len().checked_sub(ANSWERS) {
        answers.push_str(&format!("  and {more} more\n"));
    }
    let none = if assessment.rules.is_some() {
        "  None yet.\n"
    } else {
        "  Unknown, because the ruleset can't be read.\n"
    };
    for line in limits.iter().filter(|_| document.conclusion.is_none()) {
        answers.push_str(&format!("  {}\n", screen.rest(line, 2)));
    }
    text.push_str(&section("Answers", if answers.is_empty() { none } else { &answers }));
    let list = |lines: Vec<&str>| {
        let shown =
            lines.iter().take(LISTED).map(|line| format!("  {}\n", styled(DOUBT, &screen.rest(line, 2))));
        let mut text: String = shown.collect();
        if let Some(more @ 1..) = lines.len().checked_sub(LISTED) {
            text.push_str(&format!("  and {more} more\n"));
        }
        text
    };
    let objections = list(document.open_objections.iter().map(String::as_str).collect());
    text.push_str(&section("Open objections", &objections));
    text + &section(
        "Required before the end",
        &list(document.blockers.iter().map(|it| it.message.as_str()).collect()),
    )
}
