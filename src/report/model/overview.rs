//! The first page: what was asked, what was found, how sure it is, what was ruled out and on what evidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::argument::WayLink;
use super::cards::{Card, Cards, ConfirmedBy, OpenEnd};
use super::comments::{Comments, ContestedBy, Thread};
use super::judged::{StateCount, WarningKind};
use super::node::client;
use super::trust::Trust;
use super::{Time, plural};
use crate::decide::standing;
use crate::domain::Node;
use crate::graph::{BarPart, Sure};
use crate::markdown;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::CARD_EXCERPT;
use crate::ruleset::Role;
use crate::ruleset::rules::verification::Grade;
use crate::text::{first_sentence, shorten};

/// Characters of the beginning of a conclusion.
const LEAD: usize = 280;
/// Characters of the sentence that stands for a result.
pub(super) const SENTENCE: usize = 140;

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Overview {
    /// What was found, in one sentence.
    pub verdict: String,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// What the conclusion comes to, or the findings of the best answer where there is none.
    pub lead: Lead,
    /// How far to trust it.
    pub trust: Trust,
    /// Every later change of the conclusion, with what stood there before.
    pub conclusion_amended: Vec<AmendedConclusion>,
    /// Solutions that are not refuted, the surest first.
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

impl Solution {
    /// Whether an open objection keeps it from standing, or results that differ.
    pub(in crate::report) fn is_contested(&self) -> bool {
        !self.contested_by.is_empty() || self.card.sure.is_some_and(|sure| sure.contested)
    }
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
    /// How sure it is, as in Sure; empty words where its method does not confirm answers.
    pub class: String,
    pub sign: String,
    pub label: String,
    pub is_contested: bool,
}

impl InShort {
    /// Of an investigation with that first page and so many doubts.
    pub(in crate::report) fn of(overview: &Overview, doubts: usize) -> InShort {
        let best = |solution: &Solution| {
            let sure = solution.card.sure.filter(|_| overview.method_confirms);
            let word = |word: fn(Sure) -> &'static str| sure.map_or("", word).to_owned();
            Best {
                title: solution.card.title.clone(),
                href: solution.card.href.clone(),
                class: word(|sure| sure.class),
                sign: word(|sure| sure.sign),
                label: word(|sure| sure.label),
                is_contested: solution.is_contested(),
            }
        };
        InShort {
            best: overview.solutions.first().map(best),
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

impl Overview {
    /// How many answers are that sure, by the word of the style sheet.
    pub(super) fn count(&self, sure: &str) -> usize {
        count(&self.solutions, sure)
    }
}

fn count(solutions: &[Solution], sure: &str) -> usize {
    solutions.iter().filter(|solution| solution.card.sure.is_some_and(|it| it.class == sure)).count()
}

/// A later change of the conclusion, with what stood there before.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct AmendedConclusion {
    pub at: Time,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub reason: String,
    pub conclusion: SafeHtml,
}

impl<'a> Cards<'a> {
    pub(super) fn is_dead_end(&self, node: &Node) -> bool {
        self.rules.zip(node.state()).is_some_and(|(rules, state)| rules.is_dead_end(state))
    }

    fn findings(&self, role: Role) -> Vec<Finding> {
        self.with_role(role)
            // What refutes an answer stands with that.
            .filter(|node| !self.is_refuted(node) && (role != Role::DeadEnd || self.is_dead_end(node)))
            .filter_map(|node| {
                let card = self.card(node)?;
                let evidence = evidence_of(node, &card);
                Some(Finding {
                    in_short: shorten(first_sentence(&evidence), SENTENCE),
                    evidence,
                    card,
                    reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
                })
            })
            .collect()
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
        let mut graded: Vec<(Option<Grade>, Solution)> = self
            .with_role(Role::Solution)
            .filter(|node| !self.is_refuted(node))
            .filter_map(|node| {
                let card = self.card(node)?;
                let result = node.classification.as_ref()?;
                let evidence = evidence_of(node, &card);
                let solution = Solution {
                    in_short: shorten(first_sentence(&evidence), SENTENCE),
                    evidence,
                    has_commands: !result.commands.is_empty(),
                    is_withheld: false,
                    agent: result.who(),
                    found_at: Time::of(result.committed_at),
                    confirmed_by: self.confirmed_by(node),
                    contested_by: self.contested_by(node, comments),
                    card,
                    reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
                    way: None,
                };
                Some((self.grade(node), solution))
            })
            .collect();
        // One that stands before one that is contested, if it is as sure.
        graded.sort_by_key(|(grade, solution)| (Reverse(*grade), solution.is_contested()));
        let in_order = graded.into_iter().map(|(_, solution)| solution).enumerate();
        let solutions: Vec<Solution> = in_order
            .map(|(at, solution)| Solution { way: self.way(&solution.card, at), ..solution })
            .collect();
        let refuted: Vec<Refuted> = self
            .investigation
            .committed()
            .map(|(node, _)| (node, self.refuted_by(node)))
            .filter(|(_, by)| !by.is_empty())
            .filter_map(|(node, by)| {
                let card = self.card(node)?;
                Some(Refuted { refuted_by: self.in_order(&by), evidence: evidence_of(node, &card), card })
            })
            .collect();
        let meta = self.investigation.meta();
        let conclusion = self.investigation.conclusion();
        let mut rounds: BTreeMap<u32, usize> = BTreeMap::new();
        for (node, _) in self.investigation.committed() {
            *rounds.entry(node.round()).or_default() += 1;
        }
        let method_confirms = self.rules.is_some_and(|rules| {
            let ruleset = rules.ruleset();
            !ruleset.confirmations.is_empty()
                || ruleset.states.iter().any(|state| state.role == Role::Confirmation)
        });
        let blockers = self.rules.map_or_else(Vec::new, |rules| standing::owed(self.investigation, &rules));
        let dead_ends = self.findings(Role::DeadEnd);
        let theories = self.findings(Role::Theory);
        Overview {
            verdict: verdict(
                self.rules.is_some(),
                conclusion.is_some(),
                method_confirms,
                &solutions,
                theories.len(),
                refuted.len(),
            ),
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
                    conclusion: SafeHtml::markdown(
                        &amended.conclusion,
                        &format!("conclusion-before-{at}"),
                        3,
                    ),
                })
                .collect(),
            lead: Lead::of(match conclusion.and_then(|end| end.conclusion.as_deref()) {
                Some(text) => text,
                None => self.findings_of(solutions.first()),
            }),
            trust: self.trust(
                &solutions,
                warnings.iter().map(|kind| kind.warnings.len()).sum(),
                blockers.len(),
            ),
            solutions,
            objections: comments.open(),
            comments: comments.of_the_whole(),
            refuted,
            method_confirms,
            awaiting: self.with_role(Role::AwaitingConfirmation).filter_map(|node| self.card(node)).collect(),
            theories,
            dead_ends,
            exhausted: self.findings(Role::Exhausted),
            open_ends: self.investigation.nodes().filter_map(|node| self.open_end(node)).collect(),
            pending: self.investigation.pending().filter_map(|node| self.card(node)).collect(),
            blockers: blockers
                .into_iter()
                .map(|blocker| Blocker {
                    card: blocker.node.and_then(|id| self.get(&id.parse().ok()?).cloned()),
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

fn verdict(
    has_rules: bool,
    ended: bool,
    method_confirms: bool,
    solutions: &[Solution],
    theories: usize,
    refuted: usize,
) -> String {
    if !has_rules {
        return "The ruleset can't be read, so it is not known which nodes are answers.".to_owned();
    }
    let mut verdict = found(ended, method_confirms, solutions, theories);
    let contested = solutions.iter().filter(|solution| solution.is_contested()).count();
    match (contested, solutions.len()) {
        (0, _) => {}
        (contested, answers) => {
            let who = match contested {
                1 if answers == 1 => "it is".to_owned(),
                1 => "1 of them is".to_owned(),
                all if all == answers => "all of them are".to_owned(),
                some => format!("{some} of them are"),
            };
            verdict = format!("{}; {who} contested.", verdict.trim_end_matches('.'));
        }
    }
    match refuted {
        0 => verdict,
        refuted => format!("{verdict} {refuted} refuted."),
    }
}

fn found(ended: bool, method_confirms: bool, solutions: &[Solution], theories: usize) -> String {
    let answers = solutions.len();
    match solutions {
        [] => {
            let yet = if ended { "" } else { " yet" };
            match theories {
                0 => format!("No answer has been found{yet}."),
                1 => format!("No answer{yet}; one theory that could not be tested."),
                _ => format!("No answer{yet}; {theories} theories that could not be tested."),
            }
        }
        _ if !method_confirms => {
            format!(
                "{answers} {}. This method does not confirm answers.",
                plural(answers, "answer", "answers")
            )
        }
        [one] => format!("One answer, {}.", one.card.sure.map_or("", |sure| sure.label)),
        _ => {
            let kinds = [
                ("confirmed", "confirmed"),
                ("self-checked", "self-checked"),
                ("unconfirmed", "not confirmed"),
            ];
            if count(solutions, "unconfirmed") == answers {
                return format!("{answers} answers, none of them confirmed.");
            }
            let counts = kinds.map(|(class, word)| (count(solutions, class), word));
            let counts: Vec<String> = counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(
                    |(count, word)| {
                        if *count == answers { format!("all {word}") } else { format!("{count} {word}") }
                    },
                )
                .collect();
            format!("{answers} answers, {}.", counts.join(", "))
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
