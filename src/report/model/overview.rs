//! The first page: the question, the answer, its certainty, the ruled out nodes and the evidence.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Time;
use super::argument::WayLink;
use super::cards::{Card, Cards, ConfirmedBy, OpenEnd};
use super::comments::{Comments, ContestedBy, Thread};
use super::doubts::{Doubt, Doubts, NoteKind};
use super::header::Header;
use super::node::client;
use super::runs::{RunView, Runs};
use super::sign_offs::Mark;
use crate::assess::{Answer, Signed, Verdict, VerdictLine, VerdictSubject, newest_runs};
use crate::domain::{BoundAs, Node, NodeId, Pin};
use crate::graph::{self, BarPart};
use crate::markdown;
use crate::project::Drift;
use crate::report::ReportInput;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::CARD_EXCERPT;
use crate::signoff::{SignOffDecision, SignOffState};
use crate::text::{counted, one_line, shorten, telling_sentence};

/// Characters of the beginning of a conclusion.
const LEAD: usize = 480;
/// Characters, and lines, of one that stands open on the first page.
const OPEN: usize = 3_000;
const OPEN_LINES: usize = 50;
/// Commands that the first page names.
const SHOWN: usize = 6;
/// The most characters of the sentence for a result.
pub(super) const SENTENCE: usize = 140;

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overview {
    /// The finding, in a sentence or two.
    pub found: String,
    /// The verdict and what it is about.
    pub top: Top,
    /// How far to trust it, in a sentence or two, and what that rests on.
    pub sentence: String,
    pub verdict: Vec<VerdictLineView>,
    /// The answer that stands first; absent where there is none, or where it is not known on which the conclusion rests.
    pub best: Option<Solution>,
    /// The answers that the conclusion rests on.
    pub bound: Vec<BoundView>,
    /// What the conclusion does not cover, and what those did not try who confirm what it rests on.
    pub limits: Vec<Limits>,
    /// What else was found: answers that stand beside it, theories, and what is refuted or waits for a confirmation.
    pub others: Vec<Other>,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// What the conclusion comes to, or the findings of the best answer where there is none.
    pub lead: Lead,
    /// The rest of the conclusion, and whether it is so long that the first page folds it.
    pub rest: Option<SafeHtml>,
    pub rest_is_long: bool,
    /// What it rests on: what was run, and what is cited.
    pub evidence: EvidenceInShort,
    /// The notes about what stands on top and its way, and how many there are of each kind elsewhere.
    pub notes: Vec<Doubt>,
    pub notes_elsewhere: Vec<NoteKind>,
    /// All nodes by what they are, side by side.
    pub bar: Vec<BarPart>,
    /// Every later change of the conclusion, with the earlier text.
    pub conclusion_amended: Vec<AmendedConclusion>,
    /// The answers that stand, in the order of the assessment.
    pub solutions: Vec<Solution>,
    /// The comments on the whole.
    pub comments: Vec<Thread>,
    pub dead_ends: Vec<Finding>,
    pub open_ends: Vec<OpenEnd>,
    /// The blockers of its end.
    pub blockers: Vec<Blocker>,
}

/// A line of the verdict, and the place with more of it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct VerdictLineView {
    #[serde(flatten)]
    pub line: VerdictLine,
    /// The node that it names.
    pub card: Option<SharedValue<Card>>,
    /// Where the comment stands that it quotes, from the investigation's folder.
    pub said_at: Option<String>,
    /// The distance of a confirmation from the answer; empty for any other line.
    pub distance: String,
}

/// What was found beside what stands on top.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Other {
    pub card: SharedValue<Card>,
    pub sign: &'static str,
    pub class: &'static str,
    /// `checked only by its author`, `a theory, not tested`.
    pub words: String,
}

/// The evidence of what stands on top; of all, where nothing does.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct EvidenceInShort {
    /// What the program ran: the first of them.
    pub runs: Vec<SharedValue<RunView>>,
    pub more_runs: usize,
    /// The number of commands that agents say they ran.
    pub commands: usize,
    /// How many cited places of the project stand how: `unchanged`.
    pub places: Vec<PlaceCount>,
    /// The number of all sources.
    pub sources: usize,
}

/// How many cited places stand alike.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct PlaceCount {
    /// `12 cited places`.
    pub label: String,
    pub words: &'static str,
    /// For the style sheet: `same`, `differs`, `quiet`.
    pub class: &'static str,
}

/// An answer and its certainty.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Solution {
    pub card: SharedValue<Card>,
    /// The surest first.
    pub confirmed_by: Vec<ConfirmedBy>,
    /// The open objections to what it rests on.
    pub contested_by: Vec<ContestedBy>,
    /// What was found, or the evidence where it was given.
    pub evidence: String,
    /// The first sentence of that.
    pub in_short: String,
    pub reference_count: usize,
    /// Whether it says what was run for it.
    pub has_commands: bool,
    /// Whether its texts are left out of the report: its citations are then unknown.
    pub is_withheld: bool,
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
    /// Absent if the node is missing.
    pub card: Option<SharedValue<Card>>,
}

/// What a text comes to: its beginning as it is formatted, or in plain words. Of one that says nothing both are missing.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct Lead {
    pub html: Option<SafeHtml>,
    pub text: String,
}

impl Lead {
    /// The lead of a text, and the rest.
    fn of(text: &str) -> (Lead, Option<SafeHtml>) {
        let [html, rest] = SafeHtml::lead(text, LEAD, "lead");
        let text = if html.is_some() { String::new() } else { markdown::excerpt(text, LEAD) };
        (Lead { html, text }, rest)
    }
}

/// The answers of an investigation as an index shows them.
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
    /// The number of contested answers.
    pub contested: usize,
    /// The number of notes about what the conclusion rests on.
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
    /// Of an investigation with that first page.
    pub(in crate::report) fn of(overview: &Overview, header: &Header) -> InShort {
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
            bar: overview.bar.clone(),
            contested: header.contested_answers,
            doubts: header.doubts,
        }
    }
}

/// A result, and in a sentence on what evidence.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Finding {
    pub card: SharedValue<Card>,
    pub in_short: String,
}

/// A blocker of the end.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Blocker {
    pub code: String,
    pub message: String,
    pub card: Option<SharedValue<Card>>,
}

/// A later change of the conclusion, with the earlier text.
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
    fn solution(&self, answer: &Answer<'_>, comments: &Comments) -> Option<Solution> {
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
            contested_by: self.contested_by(node, comments),
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
                "The conclusion does not say which of {} answers it rests on.",
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

    /// Returns the text of an answer.
    fn findings_of(&self, solution: Option<&Solution>) -> &str {
        let node = solution.and_then(|solution| self.investigation.committed_node(&solution.card.id));
        node.and_then(|node| node.classification.as_ref()).map_or("", |result| &result.findings)
    }

    /// What was found beside what stands on top, answers first.
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

    /// What stands on top rests on this; all there is, where nothing does.
    fn evidence_in_short(&self, runs: &Runs, input: &ReportInput) -> EvidenceInShort {
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
                Some(_) | None => (2, "not compared with today’s project", "quiet"),
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

    /// A line of the verdict, with what a page adds to it.
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

    pub(super) fn overview(&self, comments: &Comments, runs: &Runs, input: &ReportInput) -> Overview {
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
        let bound: Vec<BoundView> = assessment
            .bound()
            .map(|bound| BoundView {
                id: bound.id.to_string(),
                role: bound.role,
                label: bound.role.label(),
                sure: bound.verdict(),
                words: bound.words().into_owned(),
                card: self.get(bound.id).cloned(),
            })
            .collect();
        let signed: Vec<Signed> = input
            .sign_offs
            .all
            .iter()
            .map(|it| Signed {
                label: format!("{} by {}", Mark::of(it).label, one_line(&it.by())),
                is_valid: it.state == SignOffState::Valid,
                is_approval: it.decision == SignOffDecision::Approved,
            })
            .collect();
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
            bound,
            limits: assessment
                .limits()
                .chunk_by(|one, other| one.node == other.node)
                .map(|same| Limits {
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
            lead,
            rest: rest.filter(|_| text.is_some()),
            rest_is_long: text
                .is_some_and(|text| text.chars().count() > OPEN || text.lines().count() > OPEN_LINES),
            evidence: self.evidence_in_short(runs, input),
            notes: Vec::new(),
            notes_elsewhere: Vec::new(),
            bar: graph::bar(self.investigation.nodes().filter_map(|node| self.kind(node))),
            best,
            solutions,
            comments: comments.of_the_whole(),
            dead_ends: assessment
                .ruled_out()
                .filter_map(|node| {
                    let card = self.card(node)?;
                    Some(Finding {
                        in_short: shorten(telling_sentence(&evidence_of(node, &card)), SENTENCE),
                        card,
                    })
                })
                .collect(),
            open_ends: self.investigation.nodes().filter_map(|node| self.open_end(node)).collect(),
            blockers: assessment
                .owed
                .iter()
                .map(|blocker| Blocker {
                    card: blocker.node.as_ref().and_then(|id| self.get(&id.parse().ok()?).cloned()),
                    code: blocker.code.to_string(),
                    message: self.in_words(&blocker.message),
                })
                .collect(),
        }
    }
}

impl Overview {
    /// The notes, which follow from all else.
    pub(super) fn take_in(&mut self, doubts: &Doubts) {
        let elsewhere = doubts.elsewhere.iter().map(|kind| kind.count).sum();
        let line = VerdictLine::notes(self.best.is_some().then_some(doubts.about.len()), elsewhere);
        self.verdict.push(VerdictLineView { line, card: None, said_at: None, distance: String::new() });
        self.notes.clone_from(&doubts.about);
        self.notes_elsewhere.clone_from(&doubts.elsewhere);
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
