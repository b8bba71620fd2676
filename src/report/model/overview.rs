//! The first page: what was asked, what was found, how sure it is, what was ruled out and on what evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Time;
use super::argument::WayLink;
use super::cards::{Card, Cards, ConfirmedBy, OpenEnd};
use super::comments::{Comments, ContestedBy, Thread};
use super::judged::{StateCount, WarningKind};
use super::node::client;
use super::trust::Trust;
use crate::assess::{Answer, CapturedRun, Verdict};
use crate::domain::{BoundAs, Node};
use crate::graph::BarPart;
use crate::markdown;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::CARD_EXCERPT;
use crate::text::{first_sentence, shorten};

/// Characters of the beginning of a conclusion.
const LEAD: usize = 280;
/// Characters of the sentence that stands for a result.
pub(super) const SENTENCE: usize = 140;

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overview {
    /// What was found, in a sentence or two.
    pub found: String,
    /// What stands on top.
    pub top: Top,
    /// The answer that stands first; absent where there is none, or where it is not known on which the conclusion rests.
    pub best: Option<Solution>,
    /// The answers that the conclusion rests on.
    pub bound: Vec<BoundView>,
    /// What the conclusion does not cover, and what those did not try who confirm what it rests on.
    pub limits: Vec<Limits>,
    /// The answers that stand beside it.
    pub others: Vec<Solution>,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// What the conclusion comes to, or the findings of the best answer where there is none.
    pub lead: Lead,
    /// How far to trust it.
    pub trust: Trust,
    /// Every later change of the conclusion, with what stood there before.
    pub conclusion_amended: Vec<AmendedConclusion>,
    /// The answers that stand, in the order of the assessment.
    pub solutions: Vec<Solution>,
    /// Objections that nobody has resolved, the oldest first.
    pub objections: Vec<Thread>,
    /// What was said of the whole.
    pub comments: Vec<Thread>,
    /// Nodes that others refuted.
    pub refuted: Vec<Refuted>,
    /// Whether the method can confirm answers at all.
    pub method_confirms: bool,
    pub awaiting: Vec<SharedValue<Card>>,
    pub theories: Vec<Finding>,
    pub dead_ends: Vec<Finding>,
    pub exhausted: Vec<Finding>,
    pub open_ends: Vec<OpenEnd>,
    pub pending: Vec<SharedValue<Card>>,
    /// What keeps it from its end.
    pub blockers: Vec<Blocker>,
    pub states: Vec<StateCount>,
    pub rounds: Vec<RoundCount>,
    pub warnings: Vec<WarningKind>,
    pub reference_count: usize,
}

/// An answer, and how sure it is.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Solution {
    pub card: SharedValue<Card>,
    /// The surest first.
    pub confirmed_by: Vec<ConfirmedBy>,
    /// The open objections to what it rests on.
    pub contested_by: Vec<ContestedBy>,
    /// The commands that it rests on and that came out otherwise when they were run again.
    pub differing_runs: Vec<String>,
    /// What was found, or the evidence where it was given.
    pub evidence: String,
    /// The first sentence of that.
    pub in_short: String,
    pub reference_count: usize,
    /// Whether it says what was run for it.
    pub has_commands: bool,
    /// Whether its texts are left out of the report: then nobody can tell what it cites.
    pub is_withheld: bool,
    /// Who found it, as the agent says.
    pub agent: Option<String>,
    pub found_at: Time,
    /// The page of the way to it; absent where there are too many answers.
    pub way: Option<WayLink>,
}

/// How far to trust what stands on top, and what that is.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Top {
    /// `Conclusion`, `Best answer so far`, …
    pub what: &'static str,
    /// `confirmed by Ada`; empty where there is nothing to trust.
    pub words: String,
    /// What stands there where no answer does.
    pub heading: String,
    pub class: &'static str,
    pub sign: &'static str,
}

/// What the verdict does not cover, as one says it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Limits {
    /// `Not covered`, `R3.A1a did not try`.
    pub label: String,
    pub texts: Vec<String>,
}

/// An answer that the conclusion rests on.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct BoundView {
    pub id: String,
    /// `main`, `part`, `rival`.
    pub role: BoundAs,
    /// `part of the answer`.
    pub label: &'static str,
    pub sure: Verdict,
    pub words: String,
    /// Absent where there is no such node.
    pub card: Option<SharedValue<Card>>,
}

/// What a text comes to: its beginning as it is formatted, or in plain words. Of one that says nothing both are missing.
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

/// What an index says of an investigation's answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::report) struct InShort {
    /// The answer that stands first on its summary.
    pub best: Option<Best>,
    /// How far to trust it: for the style sheet, and in words.
    pub top: (String, String),
    /// What that is said of: `Conclusion`, `Best answer so far`.
    pub what: String,
    /// All its nodes by what they are.
    pub bar: Vec<BarPart>,
    /// How many answers are contested.
    pub contested: usize,
    /// How many reasons to doubt there are.
    pub doubts: usize,
}

/// An answer in an index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::report) struct Best {
    pub title: String,
    /// From the investigation's folder.
    pub href: String,
    /// How far to trust it, as on top of its summary.
    pub class: String,
    pub sign: String,
    pub label: String,
}

impl InShort {
    /// Of an investigation with that first page and so many doubts.
    pub(in crate::report) fn of(overview: &Overview, doubts: usize) -> InShort {
        let best = |solution: &Solution| Best {
            title: solution.card.title.clone(),
            href: solution.card.href.clone(),
            class: overview.top.class.to_owned(),
            sign: overview.top.sign.to_owned(),
            label: overview.top.words.clone(),
        };
        InShort {
            best: overview.best.as_ref().map(best),
            top: (overview.top.class.to_owned(), overview.top.words.clone()),
            what: overview.top.what.to_owned(),
            bar: overview.trust.bar.clone(),
            contested: overview.trust.contested,
            doubts,
        }
    }
}

/// A node that others refuted.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Refuted {
    pub card: SharedValue<Card>,
    pub refuted_by: Vec<SharedValue<Card>>,
    pub evidence: String,
}

/// A result, and on what evidence.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Finding {
    pub card: SharedValue<Card>,
    pub evidence: String,
    /// The first sentence of that.
    pub in_short: String,
    pub reference_count: usize,
}

/// Something that keeps the investigation from its end.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Blocker {
    pub code: String,
    pub message: String,
    pub card: Option<SharedValue<Card>>,
}

/// How many nodes are in a round.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RoundCount {
    pub round: u32,
    pub count: usize,
}

/// A later change of the conclusion, with what stood there before.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct AmendedConclusion {
    pub at: Time,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub reason: String,
    /// What was changed: `answers`, `notCovered`.
    pub parts: Vec<&'static str>,
    /// Absent where the text was left as it was.
    pub conclusion: Option<SafeHtml>,
}

impl<'a> Cards<'a> {
    fn findings<'n>(&self, nodes: impl IntoIterator<Item = &'n Arc<Node>>) -> Vec<Finding> {
        let finding = |node: &Arc<Node>| {
            let card = self.card(node)?;
            let evidence = evidence_of(node, &card);
            Some(Finding {
                in_short: shorten(first_sentence(&evidence), SENTENCE),
                evidence,
                card,
                reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
            })
        };
        nodes.into_iter().filter_map(finding).collect()
    }

    fn solution(&self, answer: &Answer<'_>, comments: &Comments) -> Option<Solution> {
        let node = answer.node;
        let card = self.card(node)?;
        let result = node.classification.as_ref()?;
        let evidence = evidence_of(node, &card);
        Some(Solution {
            in_short: shorten(first_sentence(&evidence), SENTENCE),
            evidence,
            has_commands: !result.commands.is_empty(),
            is_withheld: false,
            agent: result.who(),
            found_at: Time::of(result.committed_at),
            confirmed_by: self.confirmed_by(node),
            contested_by: self.contested_by(node, comments),
            differing_runs: self.assessment.differing_runs(answer).map(CapturedRun::told).collect(),
            card,
            reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
            way: None,
        })
    }

    /// What stands on top, by how the whole stands.
    fn top(&self) -> Top {
        let assessment = &self.assessment;
        let is_unbound = assessment.end().is_some() && !assessment.answers.is_empty();
        let heading = match is_unbound && assessment.first().is_none() {
            true => format!(
                "The conclusion does not say on which of {} answers it rests.",
                assessment.answers.len()
            ),
            false => assessment.found(),
        };
        let top = assessment.top();
        Top {
            what: top.what,
            heading,
            class: top.verdict.map_or("none", Verdict::class),
            sign: top.verdict.map_or("", Verdict::sign),
            words: top.words.into_owned(),
        }
    }

    /// What an answer says.
    fn findings_of(&self, solution: Option<&Solution>) -> &str {
        let node = solution.and_then(|solution| self.investigation.committed_node(&solution.card.id));
        node.and_then(|node| node.classification.as_ref()).map_or("", |result| &result.findings)
    }

    pub(super) fn overview(
        &self,
        warnings: &[WarningKind],
        states: &[StateCount],
        reference_count: usize,
        comments: &Comments,
    ) -> Overview {
        let assessment = &self.assessment;
        let solutions = assessment.answers.iter().filter_map(|answer| self.solution(answer, comments));
        let solutions: Vec<Solution> = solutions
            .enumerate()
            .map(|(at, solution)| Solution { way: self.way(&solution.card, at), ..solution })
            .collect();
        let best = assessment.first().and_then(|first| {
            let known = solutions.iter().find(|it| it.card.id == first.node.id);
            known.cloned().or_else(|| self.solution(first, comments))
        });
        let refuted: Vec<Refuted> = assessment
            .refuted
            .iter()
            .filter_map(|answer| {
                let card = self.card(answer.node)?;
                let evidence = evidence_of(answer.node, &card);
                Some(Refuted { refuted_by: self.in_order(&answer.refuted_by), evidence, card })
            })
            .collect();
        let bound: Vec<BoundView> = assessment
            .bound()
            .map(|bound| BoundView {
                id: bound.id.to_string(),
                role: bound.role,
                label: bound.role.label(),
                sure: bound.verdict(),
                words: bound.answer.map_or("no answer any more".into(), |it| it.words().into_owned()),
                card: self.get(bound.id).cloned(),
            })
            .collect();
        let others = solutions.iter().filter(|it| {
            let is_own = |bound: &BoundView| bound.role != BoundAs::Rival && bound.id == it.card.id.as_str();
            !bound.iter().any(is_own) && best.as_ref().is_none_or(|best| best.card.id != it.card.id)
        });
        let others: Vec<Solution> = others.cloned().collect();
        let meta = self.investigation.meta();
        let conclusion = self.investigation.conclusion();
        let mut rounds: BTreeMap<u32, usize> = BTreeMap::new();
        for (node, _) in self.investigation.committed() {
            *rounds.entry(node.round()).or_default() += 1;
        }
        Overview {
            found: assessment.found(),
            top: self.top(),
            bound,
            limits: assessment
                .limits()
                .chunk_by(|one, other| one.node == other.node)
                .map(|same| Limits {
                    label: same[0].label().into_owned(),
                    texts: same.iter().map(|limit| limit.text.to_owned()).collect(),
                })
                .collect(),
            others,
            context: SafeHtml::some_markdown(meta.context.as_deref(), "context", 3),
            conclusion: SafeHtml::some_markdown(
                conclusion.and_then(|end| end.conclusion.as_deref()),
                "conclusion",
                3,
            ),
            conclusion_amended: conclusion
                .iter()
                .flat_map(|end| &end.amended)
                .enumerate()
                .map(|(at, amended)| AmendedConclusion {
                    at: Time::of(amended.at),
                    agent: amended.who(),
                    client: client(&amended.caller),
                    reason: amended.reason.clone(),
                    parts: amended.parts().filter(|part| *part != "conclusion").collect(),
                    conclusion: SafeHtml::some_markdown(
                        amended.conclusion.as_deref(),
                        &format!("conclusion-before-{at}"),
                        3,
                    ),
                })
                .collect(),
            lead: Lead::of(match conclusion.and_then(|end| end.conclusion.as_deref()) {
                Some(text) => text,
                None => self.findings_of(best.as_ref()),
            }),
            trust: self.trust(warnings.iter().map(|kind| kind.warnings.len()).sum()),
            best,
            solutions,
            objections: comments.open(),
            comments: comments.of_the_whole(),
            refuted,
            method_confirms: assessment.method_confirms,
            awaiting: assessment.awaiting.iter().filter_map(|node| self.card(node)).collect(),
            theories: self.findings(assessment.theories.iter().copied()),
            dead_ends: self.findings(assessment.ruled_out()),
            exhausted: self.findings(assessment.exhausted.iter().copied()),
            open_ends: self.investigation.nodes().filter_map(|node| self.open_end(node)).collect(),
            pending: self.investigation.pending().filter_map(|node| self.card(node)).collect(),
            blockers: assessment
                .owed
                .iter()
                .map(|blocker| Blocker {
                    card: blocker.node.as_ref().and_then(|id| self.get(&id.parse().ok()?).cloned()),
                    code: blocker.code.to_string(),
                    message: self.in_words(&blocker.message),
                })
                .collect(),
            states: states.to_vec(),
            rounds: rounds.into_iter().map(|(round, count)| RoundCount { round, count }).collect(),
            warnings: warnings.to_vec(),
            reference_count,
        }
    }
}

/// The evidence in short, or the findings where no evidence was given apart from them.
fn evidence_of(node: &Node, card: &Card) -> String {
    if node.classification.is_none() {
        return String::new();
    }
    let evidence = given_evidence(node).unwrap_or_else(|| card.excerpt.clone());
    // Of a withheld node all texts are one, which its title says already.
    if evidence == card.title { String::new() } else { evidence }
}

/// The evidence in short, where some was given apart from the findings.
pub(super) fn given_evidence(node: &Node) -> Option<String> {
    let classification = node.classification.as_ref()?;
    // What a later change brought forward counts more than what the commit did.
    let later = classification.reclassified.iter().rev().find_map(|change| change.evidence.as_deref());
    let given = later.or(classification.evidence.as_deref()).filter(|text| !text.trim().is_empty());
    given.map(|text| markdown::excerpt(text, CARD_EXCERPT))
}
