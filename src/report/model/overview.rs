//! The first page: the question, the answer and its verdict, ruled-out nodes and evidence.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Time;
use super::cards::{Card, Cards};
use super::comments::{CommentThreads, Thread};
use super::node::client;
use super::runs::{RunView, RunViews};
use crate::assess::{
    Doubt, Outcome, Row, RowGroup, Rows, TimeAxis, Verdict, VerdictLine, VerdictSubject, newest_runs,
    reactions,
};
use crate::domain::{CommentId, NodeId};
use crate::markdown;
use crate::report::ReportInput;
use crate::report::history::History;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::ruleset::rules::objections::Objection;
use crate::service::project::{Drift, PlaceCount};
use crate::text::one_line;

/// The maximum length of the lead, in characters.
const LEAD: usize = 480;
/// The maximum number of open objections shown in full.
const MOST_OPEN: usize = 5;
/// The length below which the line about objections quotes a text in full, in characters.
const QUOTED: usize = 150;
/// The maximum number of commands shown on the first page.
const SHOWN: usize = 6;
/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overview {
    /// The outcome in one or two sentences.
    pub found: String,
    /// The heading and the verdict.
    pub top: TopView,
    /// The verdict in a few words.
    pub label: &'static str,
    /// What the signs in the bottom line mean.
    pub key: String,
    /// The verdict in one or two sentences.
    pub sentence: String,
    /// The details of the verdict.
    pub verdict: Vec<VerdictLineView>,
    /// The bottom line of the conclusion.
    pub bottom_line: Option<String>,
    /// The bottom line with its sources, for a heading.
    pub bottom_line_html: Option<SafeHtml>,
    /// The draft of the report.
    pub draft: Option<SafeHtml>,
    /// The best answer. `None` if there is no answer, or if the conclusion does not name the answer it rests on.
    pub best: Option<BestLink>,
    /// The answers, and what became of everything else.
    pub rows: RowsView,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// The lead of the best answer's findings, if there is no conclusion.
    pub lead: Lead,
    /// The captured runs and the citations behind the outcome.
    pub evidence: EvidenceInShort,
    /// What to check, the strongest doubt first.
    pub doubts: Vec<DoubtView>,
    /// The later changes to the conclusion, with the previous versions.
    pub conclusion_amended: Vec<AmendedConclusionHtml>,
    /// The comments on the investigation.
    pub comments: Vec<Thread>,
    /// The missing required steps.
    pub blockers: Vec<BlockerView>,
}

/// A line of the verdict, with its links.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct VerdictLineView {
    #[serde(flatten)]
    pub line: VerdictLine,
    /// The node named in the line.
    pub card: Option<SharedValue<Card>>,
    /// The address of the quoted comment, relative to the investigation's folder.
    pub said_at: Option<String>,
    /// The distance of a confirmation from the answer, or empty for other lines.
    pub distance: String,
    /// The open objections, if the line is about them.
    pub open: Vec<OpenView>,
}

/// An open objection.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OpenView {
    pub by: String,
    /// The address of the objection.
    pub href: String,
    /// The whole text, if the line shows only a part of it.
    pub text: Option<SafeHtml>,
    /// What can be done about it, with the commands.
    pub commands: [(&'static str, String); 2],
}

/// One thing to do about a doubt.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct DoubtView {
    /// What to do, in a sentence.
    pub text: String,
    /// The command that checks it.
    pub command: String,
    /// The recorded time of the commands that it reruns, or empty.
    pub cost: String,
}

/// The investigation in rows, with links.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct RowsView {
    pub axis: Option<TimeAxis>,
    pub groups: Vec<RowGroup<RowView>>,
    /// The ids of the groups.
    pub ids: Vec<&'static str>,
}

impl RowsView {
    /// Returns the row of an answer that has its checks in it.
    pub(in crate::report) fn whole(&self, id: &NodeId) -> Option<&RowView> {
        let mut rows = self.groups.iter().flat_map(|group| &group.rows);
        rows.find(|view| view.row.node.as_ref() == Some(id) && !view.row.checks.is_empty())
    }
}

/// A row, with links.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RowView {
    #[serde(flatten)]
    pub row: Row,
    /// The node.
    pub card: Option<SharedValue<Card>>,
    /// The steps that led to an answer.
    pub path: Vec<SharedValue<Card>>,
    /// The number of the newest commit that changed the row.
    pub changed: usize,
}

/// The evidence behind the outcome, or behind the whole investigation if there is no outcome.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct EvidenceInShort {
    /// The first captured runs, each with the number of those that look the same.
    pub runs: Vec<(SharedValue<RunView>, usize)>,
    pub more_runs: usize,
    /// The number of commands reported by agents.
    pub commands: usize,
    /// The number of cited places in each state.
    pub places: Vec<PlaceCount>,
    /// The total number of sources.
    pub sources: usize,
}

/// The best answer.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct BestLink {
    pub card: SharedValue<Card>,
    /// The number of steps to the answer, including the answer.
    pub steps: usize,
}

/// The heading of the first page, and the verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::report) struct TopView {
    /// The kind of heading: `Conclusion`, `Best answer so far`, …
    pub what: Cow<'static, str>,
    /// The verdict in words: `confirmed by Ada`. Empty if there is no verdict.
    pub words: String,
    /// The heading if there is no best answer.
    pub heading: String,
    pub class: Cow<'static, str>,
    pub sign: Cow<'static, str>,
}

/// The beginning of some text, either formatted or plain. Both fields are empty if the text is empty.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct Lead {
    pub html: Option<SafeHtml>,
    pub text: String,
}

impl Lead {
    fn of(text: &str) -> Lead {
        let html = SafeHtml::lead(text, LEAD, "lead");
        let text = if html.is_some() { String::new() } else { markdown::excerpt(text, LEAD) };
        Lead { html, text }
    }
}

/// A missing required step.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct BlockerView {
    pub code: String,
    pub message: String,
    pub card: Option<SharedValue<Card>>,
}

/// A later change to the conclusion, with the previous version.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct AmendedConclusionHtml {
    pub at: Time,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub reason: String,
    /// The names of the changed parts: `answers`, `notCovered`.
    pub parts: Vec<&'static str>,
    /// The previous text, or `None` if the text was not changed.
    pub conclusion: Option<SafeHtml>,
}

impl<'a> Cards<'a> {
    /// Returns the heading and the verdict.
    fn top(&self) -> TopView {
        let assessment = &self.assessment;
        let is_unbound = assessment.end().is_some() && !assessment.answers.is_empty();
        let heading = match is_unbound && assessment.first().is_none() {
            true => format!(
                "The conclusion does not say which of {} answers it rests on.",
                assessment.answers.len()
            ),
            false => assessment.found(),
        };
        let top = assessment.top();
        TopView {
            what: Cow::Borrowed(top.what),
            heading,
            class: Cow::Borrowed(top.verdict.map_or("none", Verdict::class)),
            sign: Cow::Borrowed(top.verdict.map_or("", Verdict::sign)),
            words: top.words.into_owned(),
        }
    }

    /// Adds page links to the rows.
    fn rows(&self, rows: Rows, history: &History) -> RowsView {
        let row = |row: Row| RowView {
            card: row.node.as_ref().and_then(|id| self.get(id)).cloned(),
            path: self.in_order(&row.steps),
            changed: history.changed(row.node.iter().chain(&row.others)),
            row,
        };
        let group = |RowGroup { id, heading, count, rows, more }: RowGroup| {
            let rows = rows.into_iter().map(row).collect();
            RowGroup { id, heading, count, rows, more }
        };
        RowsView {
            axis: rows.axis,
            ids: rows.groups.iter().map(|group| group.id).collect(),
            groups: rows.groups.into_iter().map(group).collect(),
        }
    }

    /// Returns the evidence behind the outcome, or all evidence if there is no outcome.
    fn evidence_in_short(&self, runs: &RunViews, input: &ReportInput) -> EvidenceInShort {
        let assessment = &self.assessment;
        let mut nodes = assessment.whole_nodes();
        let (mut shown, mut more_runs) = newest_runs(assessment.whole_runs(), SHOWN);
        if nodes.is_empty() {
            nodes = self.investigation.nodes().collect();
            (shown, more_runs) = newest_runs(assessment.runs(), SHOWN);
        }
        let mut unlike: Vec<(SharedValue<RunView>, usize)> = Vec::new();
        for run in shown.iter().filter_map(|it| runs.get(&it.run.id)) {
            let is_alike = |it: &RunView| {
                (&it.note, &it.command, it.in_short) == (&run.note, &run.command, run.in_short)
            };
            match unlike.iter_mut().find(|(it, _)| is_alike(it)) {
                Some((_, times)) => *times += 1,
                None => unlike.push((run.clone(), 1)),
            }
        }
        EvidenceInShort {
            runs: unlike,
            more_runs,
            commands: nodes.iter().flat_map(|node| &node.classification).map(|it| it.commands.len()).sum(),
            places: input.evidence.places(assessment),
            sources: self.cited.values().flatten().collect::<HashSet<_>>().len(),
        }
    }

    fn doubt(&self, doubt: &Doubt) -> DoubtView {
        let id = self.investigation.meta().id.short();
        DoubtView {
            text: doubt.todo.clone().unwrap_or_default(),
            command: doubt.command(Some(&id)),
            cost: doubt.seconds.map(|seconds| seconds.to_string()).unwrap_or_default(),
        }
    }

    /// Adds page links to a line of the verdict.
    fn verdict_line(&self, line: VerdictLine) -> VerdictLineView {
        let is_alone = line.subject == VerdictSubject::Checked && self.assessment.bound().count() < 2;
        let checked = self.assessment.first().filter(|_| is_alone);
        let by = checked.into_iter().flat_map(|first| self.confirmed_by(first.node));
        let distance = by.filter(|by| line.node.as_ref() == Some(&by.card.id)).map(|by| by.distance).next();
        VerdictLineView {
            card: line.node.as_ref().and_then(|node| self.get(node)).cloned(),
            said_at: line
                .comment
                .and_then(|id| self.investigation.comments().find(|comment| comment.id == id))
                .map(|comment| self.place(comment)),
            distance: distance.unwrap_or_default(),
            open: match line.subject {
                VerdictSubject::Objections => self.open_objections(line.comment),
                _ => Vec::new(),
            },
            line,
        }
    }

    /// Returns the first open objections, that which the line quotes first.
    fn open_objections(&self, quoted: Option<CommentId>) -> Vec<OpenView> {
        let id = self.investigation.meta().id.short();
        let mut open: Vec<&Objection> = self.assessment.open.iter().collect();
        open.sort_by_key(|it| Some(it.comment.id) != quoted);
        let view = |it: &&Objection| {
            let text = &it.comment.text;
            let is_quoted = Some(it.comment.id) == quoted && text.chars().count() < QUOTED;
            OpenView {
                by: one_line(&it.comment.author.label()),
                href: self.place(&it.comment),
                text: SafeHtml::some_markdown(
                    (!is_quoted).then_some(text),
                    &format!("open-{}", it.comment.id),
                    4,
                ),
                commands: reactions(it, Some(&id)),
            }
        };
        open.iter().take(MOST_OPEN).map(view).collect()
    }

    pub(super) fn overview(
        &self,
        comments: &CommentThreads,
        runs: &RunViews,
        history: &History,
        input: &ReportInput,
    ) -> Overview {
        let assessment = &self.assessment;
        let first = assessment.first();
        let best = first.and_then(|first| {
            let steps = self.investigation.path(&first.node.id).len();
            Some(BestLink { steps, card: self.get(&first.node.id)?.clone() })
        });
        let signed = input.sign_offs.signed();
        let evidence = self.evidence_in_short(runs, input);
        let lines = assessment.verdict_lines(&signed, PlaceCount::told(&evidence.places)).into_iter();
        let lines = lines.map(|line| self.verdict_line(line)).collect();
        let meta = self.investigation.meta();
        let conclusion = self.investigation.conclusion();
        let text = conclusion.and_then(|end| end.conclusion.as_deref());
        let findings = first.filter(|_| text.is_none()).and_then(|first| first.node.classification.as_ref());
        Overview {
            found: assessment.found(),
            top: self.top(),
            // The bottom line of a reopened conclusion has no verdict.
            label: match assessment.outcome {
                Outcome::Reopened => "",
                _ => assessment.top().verdict.map_or("", Verdict::short_label),
            },
            key: assessment.key(&|pin| input.evidence.drift.get(pin).map(Drift::as_str)),
            sentence: assessment.sentence(&signed),
            verdict: lines,
            bottom_line: assessment.doubted_bottom_line(),
            bottom_line_html: conclusion.and_then(|end| SafeHtml::line(&end.bottom_line, "bottom-line")),
            draft: self.investigation.draft().map(|draft| SafeHtml::markdown(&draft.report(), "draft", 3)),
            rows: self.rows(assessment.rows(&signed), history),
            context: SafeHtml::some_markdown(meta.context.as_deref(), "context", 3),
            conclusion: SafeHtml::some_markdown(text, "conclusion", 3),
            conclusion_amended: conclusion
                .iter()
                .flat_map(|end| &end.amended)
                .enumerate()
                .map(|(at, amended)| AmendedConclusionHtml {
                    at: Time::of(amended.at),
                    agent: amended.who(),
                    client: client(&amended.caller),
                    reason: amended.reason.clone(),
                    parts: amended
                        .parts()
                        .filter(|part| !["bottomLine", "conclusion"].contains(part))
                        .collect(),
                    conclusion: SafeHtml::some_markdown(
                        Some(&amended.report()).filter(|text| !text.is_empty()).map(String::as_str),
                        &format!("conclusion-before-{at}"),
                        3,
                    ),
                })
                .collect(),
            lead: findings.map(|result| Lead::of(&result.findings)).unwrap_or_default(),
            evidence,
            doubts: assessment
                .checks(&|pin| input.evidence.lost(pin))
                .iter()
                .map(|it| self.doubt(it))
                .collect(),
            best,
            comments: comments.whole.clone(),
            blockers: assessment
                .owed
                .iter()
                .map(|blocker| BlockerView {
                    card: blocker
                        .node
                        .as_ref()
                        .and_then(|id| self.get(&self.investigation.find(id).ok()?.id).cloned()),
                    code: blocker.code.to_string(),
                    message: self.in_words(blocker.message.person()),
                })
                .collect(),
        }
    }
}
