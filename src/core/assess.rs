//! How sure an investigation is of what: how each answer is confirmed, what contests it, and how far to trust the whole. Every
//! surface (pages, replies, the terminal, files that git shows) takes its grades, order, counts, words and classes from
//! here, so that no two surfaces differ.
//!
//! Two rules live elsewhere: who confirms an answer, in [`verification`](crate::ruleset::rules::verification), and what an open
//! objection contests, in [`objections`]. This module turns both into what a reader sees.

mod distance;
mod evidence;
mod summary;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::decide::standing;
use crate::domain::{
    BoundAs, Caller, Classification, CommentId, Conclusion, Diagnostic, Investigation, Node, NodeId,
    Reclassification, RunId, StateName, Timestamp,
};
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::rules::verification::{Confirming, Grade};
use crate::ruleset::{EffectiveRules, Role};
use crate::text::{counted, one_line};

pub use distance::{Distance, Own};
pub use evidence::{CapturedRun, NEWEST_RUNS, Repetition, RunEntry, RunStanding, newest_runs};
pub use summary::{Sign, Signed, Subject, VerdictLine};

/// The words for an answer that a commit outside of all calls has changed, and that nobody has checked since.
const BY_HAND: &str = "changed by hand, not checked since";

/// How far an answer can be trusted, or a whole investigation: the worst first.
///
/// As JSON: `class` for style sheets, `sign` beside the colour, `label` for people, and `contested`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Another node shows that it is wrong.
    Refuted,
    /// An objection to it, or to what it rests on, is open; or its results differ; or its evidence differed when run again.
    Contested,
    /// Of a whole: it was ended before its rules were met.
    StoppedEarly,
    /// Of a whole: it was ended although its rules still required something.
    RulesUnmet,
    /// No confirmation of it counts.
    NotChecked,
    /// Only its author has checked it.
    AuthorOnly,
    /// Another agent in the same session, or in one that is not known, has confirmed it.
    SecondAgent,
    /// An agent in another session has confirmed it.
    OtherSession,
    /// A person has confirmed it.
    Person,
}

impl Verdict {
    /// For the style sheet: `confirmed`, `self-checked`, `unconfirmed`, `early`, `contested`, `refuted`.
    pub fn class(self) -> &'static str {
        match self {
            Verdict::Refuted => "refuted",
            Verdict::Contested => "contested",
            Verdict::StoppedEarly | Verdict::RulesUnmet => "early",
            Verdict::NotChecked => "unconfirmed",
            Verdict::AuthorOnly => "self-checked",
            Verdict::SecondAgent | Verdict::OtherSession | Verdict::Person => "confirmed",
        }
    }

    /// A sign beside the colour.
    pub fn sign(self) -> &'static str {
        match self {
            Verdict::Refuted => "✗",
            Verdict::Contested | Verdict::StoppedEarly | Verdict::RulesUnmet => "!",
            Verdict::NotChecked => "?",
            Verdict::AuthorOnly => "~",
            Verdict::SecondAgent | Verdict::OtherSession | Verdict::Person => "✓",
        }
    }

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Refuted => "refuted",
            Verdict::Contested => "contested",
            Verdict::StoppedEarly => "stopped early",
            Verdict::RulesUnmet => "rules not met",
            Verdict::NotChecked => Grade::None.label(),
            Verdict::AuthorOnly => Grade::SelfChecked.label(),
            Verdict::SecondAgent => Grade::SecondAgent.label(),
            Verdict::OtherSession => Grade::Independent.label(),
            Verdict::Person => "confirmed by a person",
        }
    }

    /// Returns the verdict for places where it does not matter who else has confirmed the answer.
    pub fn in_short(self) -> Verdict {
        if self.is_confirmed() { Verdict::Person } else { self }
    }

    /// For people, in a word or two: of whoever has confirmed it, `confirmed`.
    pub fn short_label(self) -> &'static str {
        if self.is_confirmed() { "confirmed" } else { self.label() }
    }

    /// Whether somebody other than its author has confirmed it, and nothing contests it. Nothing else may be green.
    pub fn is_confirmed(self) -> bool {
        self >= Verdict::SecondAgent
    }

    /// Whether somebody has checked it, even if only its author, and nothing contests it.
    pub fn is_checked(self) -> bool {
        self >= Verdict::AuthorOnly
    }

    /// The place in lists that begin with the best verdict.
    pub fn rank(self) -> usize {
        (Verdict::Person as usize) - (self as usize)
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Verdict", 4)?;
        fields.serialize_field("class", self.class())?;
        fields.serialize_field("sign", self.sign())?;
        fields.serialize_field("label", self.label())?;
        fields.serialize_field("contested", &(*self == Verdict::Contested))?;
        fields.end()
    }
}

impl Confirming {
    /// The verdict on the answer if this were its only confirmation.
    pub fn verdict(&self) -> Verdict {
        match self.grade {
            Grade::None => Verdict::NotChecked,
            Grade::SelfChecked => Verdict::AuthorOnly,
            Grade::SecondAgent => Verdict::SecondAgent,
            Grade::Independent if self.person.is_some() => Verdict::Person,
            Grade::Independent => Verdict::OtherSession,
        }
    }
}

/// A node that answers the question, or a node that another one has refuted.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The node.
    pub node: &'a Arc<Node>,
    /// Whether its state is an answer: a refuted node may have lost that state.
    pub is_answering: bool,
    /// How far to trust it.
    pub verdict: Verdict,
    /// The best confirmation, whatever contests the answer.
    pub grade: Grade,
    /// Whether a commit outside of all calls has changed it, or what confirmed it.
    pub is_by_hand: bool,
    /// The nodes that confirm it, the best first.
    pub confirming: Vec<Confirming>,
    /// The nodes that refute it.
    pub refuted_by: Vec<NodeId>,
    /// The open objections to it, to the steps it rests on, and to its confirmations.
    pub against: Vec<CommentId>,
    /// Nodes among these whose results differ.
    pub differing: Vec<NodeId>,
    /// The commands that are the evidence of these nodes, in the order of the steps.
    pub runs: Vec<RunId>,
    /// Commands among these that differed when run again, unless somebody judged that the evidence holds.
    pub differing_runs: Vec<RunId>,
}

impl Answer<'_> {
    /// The verdict in words, with the name of the person who has confirmed the answer.
    pub fn words(&self) -> Cow<'static, str> {
        let person = self.confirming.first().and_then(|best| best.person.as_deref());
        match (self.verdict, person) {
            (Verdict::Person, Some(name)) => Cow::Owned(format!("confirmed by {}", one_line(name))),
            (Verdict::NotChecked, _) if self.is_by_hand => Cow::Borrowed(BY_HAND),
            (verdict, _) => Cow::Borrowed(verdict.label()),
        }
    }

    /// The verdict by the confirmations alone, whatever contests the answer.
    pub fn checked(&self) -> Verdict {
        self.confirming.first().map_or(Verdict::NotChecked, Confirming::verdict)
    }

    /// The nodes behind the verdict: those that refute the answer, or its best confirmations.
    pub fn because_of(&self) -> Vec<&NodeId> {
        if self.verdict == Verdict::Refuted {
            return self.refuted_by.iter().collect();
        }
        let best = self.confirming.iter().filter(|it| it.grade == self.grade && it.grade != Grade::None);
        best.map(|it| &it.node).collect()
    }
}

/// How an investigation stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// No end is in force yet.
    Running,
    /// It was ended when nothing was owed.
    Ended,
    /// It was ended before its rules were met.
    StoppedEarly,
    /// It was ended, and a merge has brought later research.
    Continued,
}

impl Outcome {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Running => "unfinished",
            Outcome::Ended => "ended",
            Outcome::StoppedEarly => "stopped early",
            Outcome::Continued => "ended, then continued",
        }
    }

    /// Whether an end is in force.
    pub fn is_ended(self) -> bool {
        matches!(self, Outcome::Ended | Outcome::StoppedEarly)
    }
}

/// An answer that the conclusion rests on.
#[derive(Clone, Debug)]
pub struct Bound<'s, 'a> {
    /// Its id, as the conclusion names it.
    pub id: &'s NodeId,
    /// How it belongs to the conclusion.
    pub role: BoundAs,
    /// The answer; absent if the node is no longer an answer.
    pub answer: Option<&'s Answer<'a>>,
}

impl Bound<'_, '_> {
    /// How far to trust it. An answer that is gone counts as refuted.
    pub fn verdict(&self) -> Verdict {
        self.answer.map_or(Verdict::Refuted, |answer| answer.verdict)
    }

    /// The verdict in words.
    pub fn words(&self) -> Cow<'static, str> {
        self.answer.map_or(Cow::Borrowed("no longer an answer"), Answer::words)
    }
}

/// What every surface shows first, and how far to trust it. As text it is one line: `Conclusion, confirmed by Ada`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// `Conclusion`, `Best answer so far`, …
    pub what: &'static str,
    /// `confirmed by Ada`; empty where there is nothing to trust.
    pub words: Cow<'static, str>,
    /// Its verdict; absent where there is nothing to trust.
    pub verdict: Option<Verdict>,
}

impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if self.words.is_empty() { Ok(()) } else { write!(f, ", {}", self.words) }
    }
}

/// A sentence that the verdict does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<'a> {
    /// The confirmation that did not try this; absent if the conclusion itself does not cover it.
    pub node: Option<&'a NodeId>,
    /// The sentence.
    pub text: &'a str,
}

impl Limit<'_> {
    /// For people, before the sentence: `Not covered`, `R3.A1a did not try`.
    pub fn label(&self) -> Cow<'static, str> {
        self.node.map_or("Not covered".into(), |node| format!("{node} did not try").into())
    }
}

/// `R3.A1a did not try: The other disk.`
impl fmt::Display for Limit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label(), self.text)
    }
}

/// A node whose result was taken back.
#[derive(Clone, Debug)]
pub struct Overturned<'a> {
    /// The node.
    pub node: &'a Arc<Node>,
    /// The change that took the result back.
    pub change: &'a Reclassification,
    /// The state now.
    pub now: &'a StateName,
}

/// The assessment of an investigation: how sure it is of what.
#[derive(Clone, Debug)]
pub struct Assessment<'a> {
    /// What is assessed.
    pub investigation: &'a Investigation,
    /// The rules in force. Without rules no node is known to be an answer.
    pub rules: Option<EffectiveRules<'a>>,
    /// How it stands as a whole.
    pub outcome: Outcome,
    /// Everything that the rules still require.
    pub owed: Vec<Diagnostic>,
    /// The objections that nobody has resolved, the oldest first.
    pub open: Vec<Objection>,
    /// The answers that are not refuted: those of the conclusion in its order, then the others, the best first.
    pub answers: Vec<Answer<'a>>,
    /// The nodes that another has refuted, by round and suffix.
    pub refuted: Vec<Answer<'a>>,
    /// Answers that can't be tested here.
    pub theories: Vec<&'a Arc<Node>>,
    /// Nodes that are ruled out, the refuted ones among them.
    pub dead_ends: Vec<&'a Arc<Node>>,
    /// Nodes with nothing left to try.
    pub exhausted: Vec<&'a Arc<Node>>,
    /// Answers that wait for a confirmation.
    pub awaiting: Vec<&'a Arc<Node>>,
    /// Whether the method can confirm answers at all.
    pub method_confirms: bool,
    /// Where the nodes are in `answers`, or after them in `refuted`.
    places: HashMap<&'a NodeId, usize>,
    /// The callers who confirmed an answer, by the time of the call: one entry per confirmation.
    calls: HashMap<Timestamp, Vec<&'a Caller>>,
    bound: Vec<(NodeId, BoundAs)>,
    runs: evidence::Runs<'a>,
}

impl<'a> Assessment<'a> {
    /// Assesses an investigation by its rules.
    pub fn new(investigation: &'a Investigation, rules: Option<EffectiveRules<'a>>) -> Self {
        let mut assessment = Assessment {
            investigation,
            rules,
            outcome: match (investigation.conclusion(), investigation.end_in_force()) {
                (None, _) => Outcome::Running,
                (Some(_), None) => Outcome::Continued,
                (Some(end), Some(_)) if end.stopped.is_some() => Outcome::StoppedEarly,
                (Some(_), Some(_)) => Outcome::Ended,
            },
            owed: rules.map_or_else(Vec::new, |rules| standing::owed(investigation, &rules)),
            open: objections::open(investigation),
            answers: Vec::new(),
            refuted: Vec::new(),
            theories: Vec::new(),
            dead_ends: Vec::new(),
            exhausted: Vec::new(),
            awaiting: Vec::new(),
            method_confirms: rules.is_some_and(|rules| rules.confirms_answers()),
            places: HashMap::new(),
            calls: HashMap::new(),
            bound: Vec::new(),
            runs: evidence::Runs::of(investigation),
        };
        if let Some(rules) = rules {
            for (node, state) in investigation.committed() {
                assessment.take_in(&rules, node, state);
            }
        }
        assessment.bound = assessment.binding();
        let bound: HashMap<&NodeId, usize> =
            assessment.bound.iter().enumerate().map(|(at, (id, _))| (id, at)).collect();
        assessment.answers.sort_by_key(|answer| {
            let place = bound.get(&answer.node.id).copied().unwrap_or(usize::MAX);
            (place, Reverse(answer.verdict), answer.node.id.clone())
        });
        let both = || assessment.answers.iter().chain(&assessment.refuted);
        let confirming = both().flat_map(|answer| &answer.confirming);
        let mut calls: HashMap<Timestamp, Vec<&Caller>> = HashMap::new();
        for result in confirming.filter_map(|by| investigation.node(&by.node)?.classification.as_ref()) {
            calls.entry(result.committed_at).or_default().push(&result.caller);
        }
        assessment.calls = calls;
        assessment.places = both().enumerate().map(|(at, answer)| (&answer.node.id, at)).collect();
        assessment
    }

    fn take_in(&mut self, rules: &EffectiveRules<'a>, node: &'a Arc<Node>, state: &StateName) {
        let refuted_by = rules.refuted_by(self.investigation, node);
        let is_refuted = !refuted_by.is_empty();
        if rules.is_dead_end(state) {
            self.dead_ends.push(node);
        }
        match rules.role(state) {
            Role::Solution => {}
            _ if is_refuted => {}
            Role::Theory => return self.theories.push(node),
            Role::Exhausted => return self.exhausted.push(node),
            Role::AwaitingConfirmation => return self.awaiting.push(node),
            Role::DeadEnd | Role::Open | Role::Confirmation => return,
        }
        let confirming = rules.confirming(self.investigation, node);
        let best = confirming.first();
        let mut answer = Answer {
            node,
            is_answering: rules.role(state) == Role::Solution,
            verdict: best.map_or(Verdict::NotChecked, Confirming::verdict),
            grade: best.map_or(Grade::None, |best| best.grade),
            is_by_hand: {
                let by_hand = self.investigation.by_hand();
                let mut own = std::iter::once(&node.id).chain(confirming.iter().map(|it| &it.node));
                own.any(|id| by_hand.nodes.contains(id))
                    || by_hand.confirmed_before.get(&node.id).is_some_and(|before| !before.is_empty())
            },
            refuted_by,
            against: Vec::new(),
            differing: Vec::new(),
            runs: Vec::new(),
            differing_runs: Vec::new(),
            confirming,
        };
        let rests_on = self.rests_on(node, &answer.confirming);
        answer.runs = self.runs.of_nodes(rests_on.iter().copied());
        let is_contesting = |id: &&RunId| self.run(**id).is_some_and(CapturedRun::is_contesting);
        answer.differing_runs = answer.runs.iter().filter(is_contesting).copied().collect();
        let rests_on: HashSet<&NodeId> = rests_on.into_iter().collect();
        let concerns = |it: &&Objection| it.comment.node.as_ref().is_some_and(|node| rests_on.contains(node));
        answer.against = self.open.iter().filter(concerns).map(|objection| objection.comment.id).collect();
        let differing = rests_on.into_iter().filter(|id| {
            let result = self.investigation.node(id).and_then(|node| node.classification.as_ref());
            result.is_some_and(Classification::is_contested)
        });
        answer.differing = differing.cloned().collect();
        answer.differing.sort_unstable();
        if !(answer.against.is_empty() && answer.differing.is_empty() && answer.differing_runs.is_empty()) {
            answer.verdict = Verdict::Contested;
        }
        match is_refuted {
            true => self.refuted.push(Answer { verdict: Verdict::Refuted, ..answer }),
            false => self.answers.push(answer),
        }
    }

    /// The nodes that an answer rests on: the path from the root to the answer itself, and the confirmations.
    fn rests_on(&self, answer: &Node, confirming: &[Confirming]) -> Vec<&'a NodeId> {
        let way = self.investigation.path(&answer.id).into_iter();
        let confirming = confirming.iter().filter_map(|it| self.investigation.node(&it.node));
        way.chain(confirming).map(|node| &node.id).collect()
    }

    /// The answers of the conclusion: those it names, or the only one.
    fn binding(&self) -> Vec<(NodeId, BoundAs)> {
        let Some(end) = self.investigation.conclusion() else { return Vec::new() };
        match (end.answers.as_slice(), self.answers.as_slice()) {
            ([], [only]) => vec![(only.node.id.clone(), BoundAs::Main)],
            (named, _) => named.iter().map(|bound| (bound.id.clone(), bound.role)).collect(),
        }
    }

    /// The assessment of an answer or of a refuted node; `None` for any other node.
    pub fn answer(&self, id: &NodeId) -> Option<&Answer<'a>> {
        let at = *self.places.get(id)?;
        self.answers.get(at).or_else(|| self.refuted.get(at - self.answers.len()))
    }

    /// The verdict on an answer or on a refuted node; `None` for any other node.
    pub fn verdict_of(&self, id: &NodeId) -> Option<Verdict> {
        self.answer(id).map(|answer| answer.verdict)
    }

    /// Whether another has refuted the node.
    pub fn is_refuted(&self, id: &NodeId) -> bool {
        self.verdict_of(id) == Some(Verdict::Refuted)
    }

    /// The nodes that are ruled out without a refutation.
    pub fn ruled_out(&self) -> impl Iterator<Item = &'a Arc<Node>> {
        self.dead_ends.iter().filter(|node| !self.is_refuted(&node.id)).copied()
    }

    /// Nodes whose result a later change took back. A node that awaited a confirmation and got it is not one of them.
    pub fn overturned(&self) -> impl Iterator<Item = Overturned<'a>> {
        let rules = self.rules;
        self.investigation.committed().filter_map(move |(node, _)| {
            let (result, rules) = (node.classification.as_ref()?, rules?);
            let now = result.current_state();
            let is_lost = |from: &StateName| {
                let (was, is) = (rules.role(from), rules.role(now));
                let is_result = !matches!(was, Role::Open | Role::AwaitingConfirmation)
                    || (was == Role::AwaitingConfirmation && is != Role::Solution);
                is_result && was != is
            };
            let change = result.reclassified.iter().rev().find(|it| is_lost(&it.from))?;
            Some(Overturned { node, change, now })
        })
    }

    /// What the nodes behind an answer's verdict did not try.
    pub fn caveats(&self, answer: &Answer<'_>) -> impl Iterator<Item = Limit<'a>> {
        let nodes = answer.because_of().into_iter().filter_map(|id| self.investigation.node(id));
        let by = nodes.filter(|_| answer.verdict != Verdict::Refuted);
        by.flat_map(|node| {
            let caveats = node.classification.iter().flat_map(|result| &result.caveats);
            caveats.map(|text| Limit { node: Some(&node.id), text })
        })
    }

    /// What the verdict of the whole does not cover: what the conclusion leaves open, and what the confirmations of its
    /// answers did not try. Without a conclusion, the limits of the first answer.
    pub fn limits(&self) -> Vec<Limit<'a>> {
        let not_covered = self.end().into_iter().flat_map(|end| &end.not_covered);
        let said = not_covered.map(|text| Limit { node: None, text });
        let bound = self.bound().filter(|bound| bound.role != BoundAs::Rival).filter_map(|it| it.answer);
        let first = self.first().filter(|_| self.end().is_none());
        said.chain(bound.chain(first).flat_map(|answer| self.caveats(answer))).collect()
    }

    /// The number of answers with each verdict, the best first. Refuted answers are left out.
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        let mut verdicts: Vec<Verdict> = self.answers.iter().map(|answer| answer.verdict).collect();
        verdicts.sort_unstable_by_key(|verdict| Reverse(*verdict));
        verdicts.chunk_by(|one, other| one == other).map(|same| (same[0], same.len())).collect()
    }

    /// The number of answers whose verdict `fits`. Refuted answers are left out.
    pub fn count(&self, fits: impl Fn(Verdict) -> bool) -> usize {
        self.answers.iter().filter(|answer| fits(answer.verdict)).count()
    }

    /// The end with the conclusion, even if research went on since.
    pub fn end(&self) -> Option<&'a Conclusion> {
        self.investigation.conclusion()
    }

    /// The answers of the conclusion, in its order. Empty without a conclusion, without an answer, and if the conclusion
    /// names none of several answers.
    pub fn bound(&self) -> impl Iterator<Item = Bound<'_, 'a>> {
        self.bound.iter().map(|(id, role)| Bound { id, role: *role, answer: self.answer(id) })
    }

    /// The answer that every surface shows first: the first one of the conclusion, or without a conclusion the best one.
    /// `None` if it is not known which answer the conclusion rests on.
    pub fn first(&self) -> Option<&Answer<'a>> {
        match (self.end(), self.bound.first()) {
            (None, _) => self.answers.first(),
            (Some(_), Some((id, _))) => self.answer(id),
            (Some(_), None) => None,
        }
    }

    /// How far to trust the whole: the worst verdict among the answers of the conclusion and the way it was ended. Rivals
    /// that the conclusion names beside its answers do not count. `None` while no end is in force.
    pub fn verdict(&self) -> Option<Verdict> {
        self.outcome.is_ended().then_some(())?;
        let answers = self.bound().filter(|bound| bound.role != BoundAs::Rival).map(|bound| bound.verdict());
        let answers = answers.min().unwrap_or(Verdict::NotChecked);
        let ended = match self.outcome {
            Outcome::StoppedEarly => Verdict::StoppedEarly,
            _ if !self.owed.is_empty() => Verdict::RulesUnmet,
            _ if self.investigation.by_hand().end => Verdict::NotChecked,
            _ => Verdict::Person,
        };
        Some(answers.min(ended))
    }

    /// The verdict on the whole or, while no end is in force, on the first answer.
    pub fn overall(&self) -> Option<Verdict> {
        self.verdict().or_else(|| self.first().or(self.answers.first()).map(|answer| answer.verdict))
    }

    /// The verdict on the whole in words. `None` while no end is in force.
    pub fn words(&self) -> Option<Cow<'static, str>> {
        let verdict = self.verdict()?;
        let only = self.bound().next().filter(|_| self.bound.len() == 1).and_then(|bound| bound.answer);
        Some(match only {
            Some(answer) if answer.verdict == verdict => answer.words(),
            _ if verdict == Verdict::NotChecked && self.investigation.by_hand().end => Cow::Borrowed(BY_HAND),
            _ => Cow::Borrowed(verdict.label()),
        })
    }

    /// What every surface shows first, and how far to trust it.
    pub fn top(&self) -> Top {
        const CONTINUED: &str = "Conclusion of an end that was continued";
        let has_conclusion = self.end().is_some_and(|end| end.conclusion.is_some());
        let top = |what, words, verdict| Top { what, words, verdict };
        match (self.words(), self.first()) {
            _ if self.rules.is_none() => top("Not known", "".into(), None),
            (Some(words), _) if has_conclusion => top("Conclusion", words, self.verdict()),
            (Some(words), _) => top("Ended without a conclusion", words, self.verdict()),
            (None, Some(answer)) => {
                let is_continued = self.outcome == Outcome::Continued;
                let what = if is_continued { CONTINUED } else { "Best answer so far" };
                top(what, answer.words(), Some(answer.verdict))
            }
            (None, None) if has_conclusion => {
                top(CONTINUED, Verdict::NotChecked.label().into(), Some(Verdict::NotChecked))
            }
            (None, None) => top("No answer yet", "".into(), None),
        }
    }

    /// What was found, in a sentence or two.
    pub fn found(&self) -> String {
        if self.rules.is_none() {
            return "The ruleset can't be read, so the answers are unknown.".to_owned();
        }
        let found = match self.answers.as_slice() {
            [] => self.found_nothing(),
            [one] if self.method_confirms => format!("One answer, {}.", one.words()),
            answers => {
                let number = counted(answers.len(), "answer");
                match self.method_confirms {
                    true => format!("{number}: {}.", self.counted_in_words()),
                    false => format!("{number}. This method does not confirm answers."),
                }
            }
        };
        match self.refuted.len() {
            0 => found,
            refuted => format!("{found} {refuted} refuted."),
        }
    }

    fn found_nothing(&self) -> String {
        let has_conclusion = self.end().is_some_and(|end| end.conclusion.is_some());
        match (self.theories.len(), has_conclusion) {
            (1, _) => "One theory, which can't be tested here.".to_owned(),
            (several @ 2.., _) => format!("{several} theories, which can't be tested here."),
            (0, true) => "No node is marked as an answer, so nobody has checked the conclusion.".to_owned(),
            (0, false) if self.end().is_some() => "No answer was found.".to_owned(),
            (0, false) => "No answer yet.".to_owned(),
        }
    }

    /// The answers counted by verdict: `1 confirmed in another session, 2 not checked`.
    pub fn counted_in_words(&self) -> String {
        let all = self.answers.len();
        let counts = self.counts().into_iter().map(|(verdict, count)| match count == all && all > 1 {
            true => format!("all {}", verdict.label()),
            false => format!("{count} {}", verdict.label()),
        });
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// Whether a node's results differ and nobody has decided between them.
pub fn differs(node: &Node) -> bool {
    node.classification.as_ref().is_some_and(Classification::is_contested)
}
