//! `tot show`: shows an investigation or one of its nodes.

mod node;
mod pasted;
mod tree;

use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::check::signatures;
use super::place::{Common, node as named_node};
use super::print::{columns, page, say, say_json};
use super::screen::{
    BAD, BOLD, DOUBT, NAME, NodeLine, QUIET, Screen, assessed, doubts, known, section, styled, verdict_style,
};
use super::{CommandResult, is_person};
use crate::assess::{
    Answer, Assessment, Row, RowGroup, Rows, Sign, Signed, VerdictLine, VerdictSubject, reactions,
};
use crate::decide::blockers;
use crate::decide::next::outlook;
use crate::domain::{Conclusion, DRAFT, Diagnostic, Investigation, Node, NotFound};
use crate::json::{BlockerJson, BoundJson, ObjectionJson, VerdictJson, present};
use crate::markdown::{Parsed, SourceTarget};
use crate::service::project::{Drift, Forge, PlaceCount, Project, ProjectEvidence, inputs_here};
use crate::service::remote::GitProgram;
use crate::service::signoff::{self, SignOffView, SignOffs};
use crate::store::Snapshot;
use crate::text::{columns as width, counted, one_line};

/// Show an investigation: the question, the answers and their evidence, the remaining steps, and the tree. With a node, show
/// everything stored about it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ShowArguments {
    /// Node, such as R2.A1, or words of its title
    node: Vec<String>,
    /// Show every node of the tree. By default, only answers, the paths to them, their checks, and open questions are shown
    #[arg(long)]
    all: bool,
    /// Maximum number of rounds shown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Print ten lines of Markdown to paste into a pull request: the bottom line, the verdict, and what would overturn it
    #[arg(long, conflicts_with_all = ["node", "all", "depth", "json"])]
    markdown: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {sessionId, title, query, ruleset, mode, startedAt, endedAt?, head, outcome, stopped?, verdict?,
sentence, bottomLine?, conclusion?, draft?, report?, evidence?, restsOn?, notCovered?, wouldOverturn?: [{kind, text, command, seconds?, nodeId?,
commentId?}], answers: [{nodeId, state, title, sure?, contested, verdict: {words, class, confirmation, confirmedBy?: [{nodeId, grade, distance, caveats?}], refutedBy?, contestedBy?, evidence, …}}],
signOffs, openObjections: [{commentId, nodeId?, message}], blockers: [{code, nodeId?, message}], nextAction?, faults, nodes}; of a
node: {sessionId, node, comments, runs, attachments}, where all have the fields of investigation.json

Examples:
  tot show                  the current or only investigation
  tot show --all            with every node of its tree
  tot show R2.A1            one node
  tot show --markdown       to paste into a pull request
  tot show lock wait        the node with these words in its title
  tot show -i 0196 R2.A1    a node of another investigation
  tot show --json | jq -r '.answers[].title'";

/// The maximum number of blockers and objections shown.
const LISTED: usize = 10;

pub(super) fn run(arguments: &ShowArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let snapshot = place.store.load(&place.folder()?)?;
    let assessment = assessed(&snapshot).with_inputs(inputs_here(&snapshot.investigation).as_ref());
    let sign_offs = || signoff::looked_up(&place.store, &snapshot, is_person());
    let screen = Screen { columns: columns() };
    if !arguments.node.is_empty() {
        let text = arguments.node.join(" ");
        let investigation = assessment.investigation;
        let withdrawn = investigation
            .find_withdrawn(&text)
            .filter(|_| investigation.find(&text) == Err(NotFound::Unknown));
        let found = withdrawn.map_or_else(|| named_node(investigation, &arguments.node), Ok)?;
        return match arguments.common.json {
            true => say_json(&node::document(&assessment, found)),
            false => {
                let findings = found.classification.as_ref().map(|it| it.findings.as_str());
                let named = findings.filter(|text| names_place(text));
                let evidence = named.map(|_| evidence(assessment.investigation)).unwrap_or_default();
                page(&node::shown(&assessment, found, &evidence, place.named(), screen))
            }
        };
    }
    if arguments.markdown {
        let settings = GitProgram::find(is_person())?.settings(&snapshot.path)?;
        let forge = settings.last("remote.origin.url").and_then(Forge::of);
        let link = forge.and_then(|it| it.link("README.md", None, Some(&snapshot.head.to_string())));
        let signed = sign_offs().signed();
        let lines = assessment.verdict_lines(&signed, told(&assessment, &evidence(assessment.investigation)));
        return say(&pasted::pasted(&assessment, &signed, since(&lines), link.as_deref()));
    }
    if arguments.common.json {
        return say_json(&document(&assessment, &snapshot, &sign_offs(), place.named())?);
    }
    let evidence = evidence(assessment.investigation);
    let extent = tree::TreeExtent { all: arguments.all, depth: arguments.depth };
    page(
        &(shown(&assessment, &snapshot, &sign_offs(), &evidence, place.named(), screen)
            + &section("Tree", &tree::shown(&assessment, extent, screen))),
    )
}

/// Returns whether a text names places in the project.
fn names_place(text: &str) -> bool {
    Parsed::new(text).sources().iter().any(|source| matches!(source.target, SourceTarget::Place(_)))
}

/// Returns what became of the cited files.
fn evidence(investigation: &Investigation) -> ProjectEvidence {
    let cites = investigation.pins().next().is_some();
    cites.then(Project::here).flatten().map(|it| it.cited_in(investigation)).unwrap_or_default()
}

/// Returns what became of the places that the outcome cites, for the verdict.
fn told(assessment: &Assessment<'_>, evidence: &ProjectEvidence) -> (Vec<String>, bool) {
    PlaceCount::told(&evidence.places(assessment))
}

/// Returns the line about what changed since.
fn since(lines: &[VerdictLine]) -> Option<&VerdictLine> {
    lines.iter().find(|line| line.subject == VerdictSubject::Since)
}

/// Returns the investigation as JSON. `id` is the id for the next command, if it needs one.
fn document(
    assessment: &Assessment<'_>,
    snapshot: &Snapshot,
    sign_offs: &SignOffs,
    id: Option<&str>,
) -> serde_json::Result<Value> {
    let investigation = assessment.investigation;
    let meta = investigation.meta();
    let (end, in_force) = (assessment.end(), investigation.end_in_force());
    let next = assessment.rules.filter(|_| in_force.is_none());
    let next = next.map(|rules| outlook(investigation, &rules).next_step);
    let line = |node: &Node| present(&NodeLine::new(assessment, node));
    let answer = |answer: &Answer<'_>| {
        let mut entry = line(answer.node)?;
        entry["verdict"] = present(&VerdictJson::new(assessment, answer))?;
        Ok(entry)
    };
    let bound = Some(BoundJson::all(assessment)).filter(|bound| !bound.is_empty());
    let not_covered = end.map(|end| &end.not_covered).filter(|texts| !texts.is_empty());
    let mut document = present(&json!({
        "sessionId": meta.id,
        "title": meta.title,
        "query": meta.query,
        "ruleset": meta.ruleset,
        "mode": meta.mode,
        "startedAt": meta.started_at.to_string(),
        "endedAt": in_force.map(|end| end.ended_at.to_string()),
        "head": snapshot.head.to_string(),
        // `running`, `ended`, `stoppedEarly`, `continued` or `reopened`.
        "outcome": assessment.outcome,
        "stopped": end.and_then(|end| Some(end.stopped.as_ref()?.reason.label())),
        // The certainty of the conclusion.
        "verdict": assessment.words(),
        // The whole verdict, as on the first page of a report.
        "sentence": assessment.sentence(&sign_offs.signed()),
        "bottomLine": assessment.bottom_line(),
        "conclusion": end.map(|end| &end.conclusion),
        "draft": investigation.draft().map(Conclusion::report),
        // Who attacked the draft or, without one, the conclusion, and whether it changed since.
        "report": assessment.report(),
        // The results of the commands that the conclusion rests on, or a note on other evidence.
        "evidence": assessment.whole_evidence(),
        // The answers that the conclusion rests on.
        "restsOn": bound,
        "notCovered": not_covered,
        // What would overturn it, the strongest doubt first.
        "wouldOverturn": Some(assessment.doubts(&|_| None)).filter(|doubts| !doubts.is_empty()),
        // The answers that the conclusion rests on, then the other answers, most certain first.
        "answers": assessment.answers.iter().map(answer).collect::<serde_json::Result<Vec<_>>>()?,
        "signOffs": sign_offs.all.iter().map(SignOffView::from).collect::<Vec<_>>(),
        "openObjections": ObjectionJson::all(assessment),
        "blockers": blockers(assessment).iter().map(BlockerJson::from).collect::<Vec<_>>(),
        "nextAction": next.map(|next| next.wording(id).person().to_owned()),
        "faults": snapshot.all_faults().map(ToString::to_string).collect::<Vec<_>>(),
    }))?;
    // A root's parent is `null`.
    let node = |node: &Arc<Node>| {
        let mut entry = line(node)?;
        entry["parent"] = json!(node.parent.as_ref().map(ToString::to_string));
        Ok(entry)
    };
    document["nodes"] = investigation.preorder().into_iter().map(node).collect::<serde_json::Result<_>>()?;
    Ok(document)
}

pub(super) fn blockers(assessment: &Assessment<'_>) -> Vec<Diagnostic> {
    let rules = assessment.rules.as_ref();
    rules.map_or_else(Vec::new, |rules| blockers::blockers(assessment.investigation, rules))
}

/// The largest number of answers that are shown with the attacks on them.
const ATTACKED: usize = 4;

/// Formats the rows of the first page. Of the checks of an answer, those that are missing or failed; what all answers of a group
/// lack, once.
fn picture(assessment: &Assessment<'_>, rows: &Rows, screen: Screen) -> String {
    let row = |row: &Row, answers: usize, shared: &[&str]| {
        let verdict = row.node.as_ref().and_then(|id| assessment.verdict_of(id));
        let style = verdict.map_or(QUIET, verdict_style);
        let is_branch = row.class == "branch";
        let id = row.node.as_ref().filter(|_| !is_branch).map(|id| format!("{id} ")).unwrap_or_default();
        let sign = if row.sign.is_empty() { String::new() } else { format!("{} ", row.sign) };
        let is_whole = !row.checks.is_empty();
        let parts: &[&str] = match verdict {
            _ if is_whole => &[&row.title],
            Some(_) if !is_branch => &[&row.words, &row.title],
            _ => &[&row.title, &row.words, &row.reason],
        };
        let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(": ");
        let text = text.replace(".: ", ": ");
        let indent = if ["ruled-out", "exhausted"].contains(&row.class) { 4 } else { 2 };
        let text = screen.rest(&text, indent + width(&sign) + width(&id));
        let text = if is_branch { styled(QUIET, &text) } else { text };
        let mut lines = format!("{:indent$}{}{}{text}\n", "", styled(style, &sign), styled(BOLD, &id));
        if is_whole {
            let open = row.checks.iter().filter(|it| it.class != "done" && !shared.contains(&&*it.text));
            // The verdict says that only its author tried it.
            let is_said = ["self-checked", "unconfirmed"].contains(&row.class);
            let open = open.filter(|it| {
                !is_said || !["tried only", "nobody has tried"].iter().any(|is| it.text.starts_with(is))
            });
            let checks = open.map(|check| format!("{} {}", check.sign, check.text));
            let checks: Vec<String> = std::iter::once(row.words.clone()).chain(checks).collect();
            // Several answers have a line each, and many no attacks, so that all of them fit on a screen.
            let checks = match answers {
                1 => screen.wrapped(&checks.join(" · "), 4),
                _ => vec![screen.rest(&checks.join(" · "), 4)],
            };
            lines.extend(checks.iter().map(|line| format!("    {}\n", styled(style, line))));
            // Otherwise, a missing check says how many commands there are.
            let evidence = Some(&row.evidence).filter(|_| {
                row.checks.iter().any(|it| it.text.ends_with(" rerun by another") && it.class == "done")
            });
            let attacks = row.attacks.iter().filter(|_| answers <= ATTACKED);
            let told = attacks.chain(evidence).map(|line| styled(QUIET, &screen.rest(line, 4)));
            lines.extend(told.map(|line| format!("    {line}\n")));
        }
        lines
    };
    let group = |group: &RowGroup| {
        let count = group.count.map(|count| format!(" ({count})")).unwrap_or_default();
        let more = (group.more > 0).then(|| format!("  and {} more\n", group.more));
        let missing =
            |row: &&Row, text: &str| row.checks.iter().any(|it| it.class == "missing" && it.text == text);
        let whole: Vec<&Row> = group.rows.iter().filter(|row| !row.checks.is_empty()).collect();
        let first = whole.first().filter(|_| whole.len() > 1).map_or(&[][..], |row| &row.checks);
        let shared: Vec<&str> = first.iter().map(|it| &*it.text).collect();
        let shared: Vec<&str> =
            shared.into_iter().filter(|text| whole.iter().all(|row| missing(row, text))).collect();
        let all = format!("○ all of them: {}", shared.join(" · "));
        let all = (!shared.is_empty()).then(|| format!("  {}\n", styled(DOUBT, &screen.rest(&all, 2))));
        let lines: String =
            group.rows.iter().map(|it| row(it, whole.len(), &shared)).chain(all).chain(more).collect();
        section(&format!("{}{count}", group.heading), &lines)
    };
    rows.groups.iter().map(group).collect()
}

/// Formats the verdict's sentence, the key of the signs, what changed since, and what objects to it, each with the command that
/// answers.
fn verdict(
    assessment: &Assessment<'_>,
    signed: &[Signed],
    key: &str,
    since: Option<&VerdictLine>,
    named: Option<&str>,
    screen: Screen,
) -> String {
    let style = assessment.top().verdict.map_or(QUIET, verdict_style);
    let sentence = screen.wrapped(&assessment.sentence(signed), 0);
    let mut lines: Vec<String> = sentence.iter().map(|line| styled(style, line)).collect();
    lines.extend(screen.wrapped(key, 0).iter().filter(|it| !it.is_empty()).map(|line| styled(QUIET, line)));
    if let Some(since) = since {
        let style = if since.sign == Sign::Doubt { DOUBT } else { QUIET };
        lines.extend(screen.wrapped(&since.text, 0).iter().map(|line| styled(style, line)));
    }
    for open in assessment.open.iter().take(LISTED) {
        let said = screen.wrapped(&format!("{}.", open.message()), 2);
        lines.extend(said.iter().map(|line| format!("  {}", styled(BAD, line))));
        for (what, command) in reactions(open, named) {
            lines.push(format!("    {what:<7}  {}", styled(NAME, &command)));
        }
    }
    let more = assessment.open.len().saturating_sub(LISTED);
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    let reopened = assessment.end().and_then(|end| end.reopened.as_ref());
    lines.extend(reopened.map(|it| format!("{}.", screen.rest(&it.line(), 1))));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Formats everything except the tree.
fn shown(
    assessment: &Assessment<'_>,
    snapshot: &Snapshot,
    sign_offs: &SignOffs,
    evidence: &ProjectEvidence,
    named: Option<&str>,
    screen: Screen,
) -> String {
    let (investigation, end) = (assessment.investigation, assessment.end());
    let meta = investigation.meta();
    let outcome = assessment.outcome.label();
    let mut facts = vec![one_line(&meta.title), meta.id.to_string()];
    facts.push(one_line(&format!("{}, {}", meta.ruleset, meta.mode)));
    facts.push(match end.map(|end| (end, &end.reopened)) {
        Some((end, Some(reopened))) => {
            format!("ended {}, {outcome} {}", end.ended_at.to_minute(), reopened.at.to_minute())
        }
        Some((end, None)) => format!("{outcome} {}", end.ended_at.to_minute()),
        None => format!("started {}", meta.started_at.to_minute()),
    });
    let stopped = end.and_then(|end| end.stopped.as_ref());
    facts.extend(stopped.map(|stopped| stopped.reason.label().to_owned()));
    facts.push(counted(investigation.committed().count(), "node"));
    let prose = |text: &str, indent| {
        screen.prose_known(text, indent, &|source| Some(known(assessment, None, evidence, source)))
    };
    // As on the first page, the name of the best answer stands for a bottom line.
    let bottom_line = match end.map(|end| prose(&end.bottom_line, 0)).filter(|line| !line.is_empty()) {
        Some(line) => line,
        None => assessment.first().map(|first| screen.rest(first.node.name(), 0)).unwrap_or_default(),
    };
    let mut text: String = bottom_line.lines().map(|line| styled(BOLD, line) + "\n").collect();
    let signed = sign_offs.signed();
    let lines = assessment.verdict_lines(&signed, told(assessment, evidence));
    let key = assessment.key(&|pin| evidence.drift.get(pin).map(Drift::as_str));
    text += &verdict(assessment, &signed, &key, since(&lines), named, screen);
    text += &format!("{}\n", styled(QUIET, &screen.wrapped(&facts.join(" · "), 0).join("\n")));
    for fault in snapshot.all_faults() {
        text.push_str(&format!("{}\n", styled(BAD, &screen.rest(&fault.to_string(), 0))));
    }
    text.push_str(&picture(assessment, &assessment.rows(&signed), screen));
    if assessment.rules.is_none() {
        text.push_str(&section("Answers", "  Unknown, because the ruleset can't be read.\n"));
    }
    text.push_str(&section("Question", &screen.prose(&meta.query, 2)));
    let conclusion = end.and_then(|end| end.conclusion.as_deref());
    if let Some(conclusion) = conclusion {
        let how = assessment.words().unwrap_or(outcome.into());
        text.push_str(&section(&format!("Conclusion, {how}"), &prose(conclusion, 2)));
    }
    if let Some(draft) = investigation.draft() {
        text.push_str(&section(DRAFT, &prose(&draft.report(), 2)));
    }
    text.push_str(&section("Check it yourself", &doubts(&assessment.checks(&|_| None), named, screen)));
    let list = |lines: Vec<String>| {
        let shown =
            lines.iter().take(LISTED).map(|line| format!("  {}\n", styled(DOUBT, &screen.rest(line, 2))));
        let mut text: String = shown.collect();
        if let Some(more @ 1..) = lines.len().checked_sub(LISTED) {
            text.push_str(&format!("  and {more} more\n"));
        }
        text
    };
    if !sign_offs.all.is_empty() {
        text.push_str(&section("Sign-offs", &signatures::lines(sign_offs, screen)));
    }
    let names = lines.iter().filter(|it| it.subject == VerdictSubject::Names);
    let names = names.map(|it| format!("  {}\n", screen.rest(&format!("{}. {}", it.text, it.detail), 2)));
    text.push_str(&section("Names", &names.collect::<String>()));
    let blockers = list(blockers(assessment).iter().map(|it| it.message.person().to_owned()).collect());
    text + &section("Required before the end", &blockers)
}
