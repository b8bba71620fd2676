//! The first page: the question, the answer and its verdict, ruled-out nodes and evidence.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Time;
use super::argument::WayLink;
use super::cards::{Card, Cards, ConfirmedBy, OpenEnd};
use super::comments::{CommentThreads, Thread};
use super::node::client;
use super::runs::{RunView, RunViews};
use crate::assess::{Answer, Doubt, Verdict, VerdictLine, VerdictSubject, newest_runs};
use crate::domain::{BoundAs, Node, NodeId, Pin};
use crate::graph::{self, BarPart};
use crate::markdown;
use crate::report::ReportInput;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::CARD_EXCERPT;
use crate::service::project::Drift;
use crate::text::{counted, shorten, telling_sentence};

/// The maximum length of the lead, in characters.
const LEAD: usize = 480;
/// The maximum length, in characters, up to which the rest of the conclusion is shown expanded.
const OPEN: usize = 3_000;
/// The maximum number of lines at which the rest of the conclusion is shown expanded.
const OPEN_LINES: usize = 50;
/// The maximum number of commands shown on the first page.
const SHOWN: usize = 6;
/// The maximum length of a result's first sentence, in characters.
pub(super) const SENTENCE: usize = 140;

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overview {
    /// The outcome in one or two sentences.
    pub found: String,
    /// The heading and the verdict.
    pub top: TopView,
    /// The verdict in one or two sentences.
    pub sentence: String,
    /// The details of the verdict.
    pub verdict: Vec<VerdictLineView>,
    /// The bottom line of the conclusion.
    pub bottom_line: Option<String>,
    /// The draft of the report.
    pub draft: Option<SafeHtml>,
    /// The best answer. `None` if there is no answer, or if the conclusion does not name the answer it rests on.
    pub best: Option<Solution>,
    /// The answers the conclusion rests on.
    pub bound: Vec<BoundView>,
    /// The limits of the conclusion, and the caveats about its confirmations.
    pub limits: Vec<LimitsView>,
    /// Further results: other answers, theories, refuted answers, and answers awaiting confirmation.
    pub others: Vec<Other>,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// The lead of the conclusion, or of the best answer's findings if there is no conclusion.
    pub lead: Lead,
    /// The rest of the conclusion.
    pub rest: Option<SafeHtml>,
    /// True if the first page collapses the rest of the conclusion.
    pub rest_is_long: bool,
    /// The captured runs and the citations behind the outcome.
    pub evidence: EvidenceInShort,
    /// What would overturn the outcome, the strongest doubt first.
    pub doubts: Vec<DoubtView>,
    /// The number of nodes by kind.
    pub bar: Vec<BarPart>,
    /// The later changes to the conclusion, with the previous versions.
    pub conclusion_amended: Vec<AmendedConclusionHtml>,
    /// The answers that are not refuted, best first.
    pub solutions: Vec<Solution>,
    /// The comments on the investigation.
    pub comments: Vec<Thread>,
    pub dead_ends: Vec<BriefResult>,
    pub open_ends: Vec<OpenEnd>,
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
}

/// One thing that would overturn the outcome.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct DoubtView {
    /// What it is, in a sentence.
    pub text: String,
    /// The node to read.
    pub card: Option<SharedValue<Card>>,
    /// The command that checks it.
    pub command: String,
    /// The recorded time of the commands that it reruns, or empty.
    pub cost: String,
}

/// A further result.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Other {
    pub card: SharedValue<Card>,
    pub sign: &'static str,
    pub class: &'static str,
    /// The standing in words: `checked only by its author`, `a theory, not tested`.
    pub words: String,
}

/// The evidence behind the outcome, or behind the whole investigation if there is no outcome.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct EvidenceInShort {
    /// The first captured runs.
    pub runs: Vec<SharedValue<RunView>>,
    pub more_runs: usize,
    /// The number of commands reported by agents.
    pub commands: usize,
    /// The number of cited places in each state.
    pub places: Vec<PlaceCount>,
    /// The total number of sources.
    pub sources: usize,
}

/// The number of cited places in one state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct PlaceCount {
    /// The label: `12 cited places`.
    pub label: String,
    pub words: &'static str,
    /// The CSS class: `same`, `differs` or `quiet`.
    pub class: &'static str,
}

/// An answer and its verdict.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Solution {
    pub card: SharedValue<Card>,
    /// The nodes that confirm the answer, surest first.
    pub confirmed_by: Vec<ConfirmedBy>,
    /// The evidence, or the findings if no separate evidence was given.
    pub evidence: String,
    /// The first sentence of the evidence.
    pub in_short: String,
    pub reference_count: usize,
    /// True if the answer's author reports commands.
    pub has_commands: bool,
    /// True if the answer's text is withheld from the report. Its citations are then unknown.
    pub is_withheld: bool,
    /// The link to the answer's page, or `None` beyond the maximum number of answer pages.
    pub way: Option<WayLink>,
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

/// The limits of the verdict, from one source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct LimitsView {
    /// The label: `Not covered`, `R3.A1a did not try`.
    pub label: String,
    pub texts: Vec<String>,
}

/// An answer the conclusion rests on.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct BoundView {
    pub id: String,
    /// The role of the answer: `part of the answer`.
    pub label: &'static str,
    pub sure: Verdict,
    pub words: String,
    /// The node, or `None` if it is missing.
    pub card: Option<SharedValue<Card>>,
}

/// The beginning of some text, either formatted or plain. Both fields are empty if the text is empty.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct Lead {
    pub html: Option<SafeHtml>,
    pub text: String,
}

impl Lead {
    /// Splits text into a lead and the rest.
    fn of(text: &str) -> (Lead, Option<SafeHtml>) {
        let [html, rest] = SafeHtml::lead(text, LEAD, "lead");
        let text = if html.is_some() { String::new() } else { markdown::excerpt(text, LEAD) };
        (Lead { html, text }, rest)
    }
}

/// A result, with its evidence in one sentence.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct BriefResult {
    pub card: SharedValue<Card>,
    pub in_short: String,
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
    fn solution(&self, answer: &Answer<'_>) -> Option<Solution> {
        let node = answer.node;
        let card = self.card(node)?;
        let result = node.classification.as_ref()?;
        let evidence = evidence_of(node, &card);
        Some(Solution {
            in_short: shorten(telling_sentence(&evidence), SENTENCE),
            evidence,
            has_commands: !result.commands.is_empty(),
            is_withheld: self.withheld.contains(&node.id),
            confirmed_by: self.confirmed_by(node),
            card,
            reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
            way: None,
        })
    }

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

    /// Returns the findings of an answer.
    fn findings_of(&self, solution: Option<&Solution>) -> &str {
        let node = solution.and_then(|solution| self.investigation.committed_node(&solution.card.id));
        node.and_then(|node| node.classification.as_ref()).map_or("", |result| &result.findings)
    }

    /// Returns the further results, answers first.
    fn others(&self, solutions: &[Solution], best: Option<&Solution>) -> Vec<Other> {
        let assessment = &self.assessment;
        let is_own = |id: &NodeId| {
            best.is_some_and(|best| best.card.id == *id)
                || assessment.bound().any(|bound| bound.id == id && bound.role != BoundAs::Rival)
        };
        let cards = solutions.iter().map(|solution| &solution.card).filter(|card| !is_own(&card.id));
        let refuted = assessment.refuted.iter().filter_map(|answer| self.get(&answer.node.id));
        let graded = cards.chain(refuted.filter(|card| !is_own(&card.id))).filter_map(|card| {
            let answer = assessment.answer(&card.id)?;
            let (sign, class) = (answer.verdict.sign(), answer.verdict.class());
            Some(Other { card: card.clone(), sign, class, words: answer.words().into_owned() })
        });
        let ungraded = |nodes: &[&Arc<Node>], words: &'static str| -> Vec<Other> {
            let cards = nodes.iter().filter_map(|node| self.card(node));
            cards
                .map(|card| Other { card, sign: "?", class: "unconfirmed", words: words.to_owned() })
                .collect()
        };
        let awaiting = ungraded(&assessment.awaiting, "awaits confirmation");
        graded.chain(awaiting).chain(ungraded(&assessment.theories, "a theory, not tested")).collect()
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
        let mut counts: BTreeMap<(usize, &'static str, &'static str), HashSet<&Pin>> = BTreeMap::new();
        for pin in nodes.iter().flat_map(|node| node.pins()) {
            let kind = match input.evidence.drift.get(pin) {
                Some(drift) if drift.is_lost() => (0, drift.as_str(), "differs"),
                Some(drift @ (Drift::Unchanged | Drift::Moved { .. })) => (1, drift.as_str(), "same"),
                Some(_) | None => (2, "not compared with the current project", "quiet"),
            };
            counts.entry(kind).or_default().insert(pin);
        }
        EvidenceInShort {
            runs: shown.iter().filter_map(|it| runs.get(&it.run.id).cloned()).collect(),
            more_runs,
            commands: nodes.iter().flat_map(|node| &node.classification).map(|it| it.commands.len()).sum(),
            places: counts
                .into_iter()
                .map(|((_, words, class), pins)| PlaceCount {
                    label: counted(pins.len(), "cited place"),
                    words,
                    class,
                })
                .collect(),
            sources: self.cited.values().flatten().collect::<HashSet<_>>().len(),
        }
    }

    fn doubt(&self, doubt: &Doubt) -> DoubtView {
        let id = self.investigation.meta().id.to_string();
        DoubtView {
            text: doubt.text.clone(),
            card: doubt.node.as_ref().and_then(|node| self.get(node)).cloned(),
            command: doubt.command(Some(&id)),
            cost: doubt.seconds.map(|seconds| seconds.to_string()).unwrap_or_default(),
        }
    }

    /// Adds page links to a line of the verdict.
    fn verdict_line(&self, line: VerdictLine, solutions: &[Solution]) -> VerdictLineView {
        let by = solutions.iter().flat_map(|solution| &solution.confirmed_by);
        let by = by.filter(|_| line.subject == VerdictSubject::Checked);
        VerdictLineView {
            card: line.node.as_ref().and_then(|node| self.get(node)).cloned(),
            said_at: line
                .comment
                .and_then(|id| self.investigation.comments().find(|comment| comment.id == id))
                .map(|comment| self.place(comment)),
            distance: by
                .filter(|by| line.node.as_ref() == Some(&by.card.id))
                .map(|by| by.distance.clone())
                .next()
                .unwrap_or_default(),
            line,
        }
    }

    pub(super) fn overview(
        &self,
        comments: &CommentThreads,
        runs: &RunViews,
        input: &ReportInput,
    ) -> Overview {
        let assessment = &self.assessment;
        let solutions = assessment.answers.iter().filter_map(|answer| self.solution(answer));
        let solutions: Vec<Solution> = solutions
            .enumerate()
            .map(|(at, solution)| Solution { way: self.way(&solution.card, at), ..solution })
            .collect();
        let best = assessment.first().and_then(|first| {
            let known = solutions.iter().find(|it| it.card.id == first.node.id);
            known.cloned().or_else(|| self.solution(first))
        });
        let bound: Vec<BoundView> = assessment
            .bound()
            .map(|bound| BoundView {
                id: bound.id.to_string(),
                label: bound.role.label(),
                sure: bound.verdict(),
                words: bound.words().into_owned(),
                card: self.get(bound.id).cloned(),
            })
            .collect();
        let signed = input.sign_offs.signed();
        let lines = assessment.verdict_lines(&signed).into_iter();
        let lines = lines.map(|line| self.verdict_line(line, best.as_slice())).collect();
        let meta = self.investigation.meta();
        let conclusion = self.investigation.conclusion();
        let text = conclusion.and_then(|end| end.conclusion.as_deref());
        let (lead, rest) = Lead::of(text.unwrap_or_else(|| self.findings_of(best.as_ref())));
        Overview {
            found: assessment.found(),
            top: self.top(),
            sentence: assessment.sentence(&signed),
            verdict: lines,
            bottom_line: assessment.bottom_line().map(str::to_owned),
            draft: self.investigation.draft().map(|draft| SafeHtml::markdown(&draft.report(), "draft", 3)),
            bound,
            limits: assessment
                .limits()
                .chunk_by(|one, other| one.node == other.node)
                .map(|same| LimitsView {
                    label: same[0].label().into_owned(),
                    texts: same.iter().map(|limit| limit.text.to_owned()).collect(),
                })
                .collect(),
            others: self.others(&solutions, best.as_ref()),
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
            lead,
            rest: rest.filter(|_| text.is_some()),
            rest_is_long: text
                .is_some_and(|text| text.chars().count() > OPEN || text.lines().count() > OPEN_LINES),
            evidence: self.evidence_in_short(runs, input),
            doubts: assessment
                .doubts(&|pin| input.evidence.lost(pin))
                .iter()
                .map(|it| self.doubt(it))
                .collect(),
            bar: graph::bar(self.investigation.nodes().filter_map(|node| self.kind(node))),
            best,
            solutions,
            comments: comments.whole.clone(),
            dead_ends: assessment
                .ruled_out()
                .filter_map(|node| {
                    let card = self.card(node)?;
                    Some(BriefResult {
                        in_short: shorten(telling_sentence(&evidence_of(node, &card)), SENTENCE),
                        card,
                    })
                })
                .collect(),
            open_ends: self.investigation.nodes().filter_map(|node| self.open_end(node)).collect(),
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

/// Returns the evidence in brief, or the findings if no separate evidence was given.
fn evidence_of(node: &Node, card: &Card) -> String {
    if node.classification.is_none() {
        return String::new();
    }
    let evidence = given_evidence(node).unwrap_or_else(|| card.excerpt.clone());
    // All fields of a withheld node contain the same text, which the title already shows.
    if evidence == card.title { String::new() } else { evidence }
}

/// Returns the evidence in brief, if any was given separately from the findings.
pub(super) fn given_evidence(node: &Node) -> Option<String> {
    let classification = node.classification.as_ref()?;
    // Evidence from a later change takes precedence over evidence from the commit.
    let later = classification.reclassified.iter().rev().find_map(|change| change.evidence.as_deref());
    let given = later.or(classification.evidence.as_deref()).filter(|text| !text.trim().is_empty());
    given.map(|text| markdown::excerpt(text, CARD_EXCERPT))
}
