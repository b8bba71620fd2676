//! Assesses how well each answer is confirmed, which objections contest it, and how far the whole investigation can be
//! trusted.
//!
//! All surfaces (pages, replies, the terminal, files shown by git) take their grades, order, counts, words and classes
//! from this module, so they cannot disagree. `evidence` has the runs and their reruns in words, `inputs` says what became
//! of the files that commands read and counts the commands concerned, and `summary` has the lines of the verdict.
//!
//! Two rules are defined elsewhere: [`verification`](crate::ruleset::rules::verification) determines who confirms an
//! answer, and [`objections`] determines what an open objection contests. This module combines them.
//!
//! # Adding a surface of the verdict
//!
//! A surface is a page, a reply, a screen or a file that says how certain an answer is. It takes the words, the class and
//! the sign from [`Assessment::top`] for the whole investigation, its sentence from [`Assessment::sentence`], in a list from
//! [`Assessment::in_short`], and those for an answer from [`Answer::words`] and [`Verdict`].
//!
//! 1. `src/report/site.rs`: a file of a site, such as `graph.mmd`. Pages, tools and commands have lists of their own, in
//!    the module docs of their rooms. A line on an existing page, reply or screen belongs where the rest of it is written.
//! 2. `src/report/tests/agree.rs`: for a file of a site, an entry in `SURFACES` with its reader, which compares the file
//!    with the assessment of random investigations. A file without an entry may not show a verdict.
//! 3. `tests/it/surfaces.rs`: for a resource, a command or a format of `tot export`, an entry in `SURFACES` with the call
//!    that shows it. `SILENT` names those without a verdict; a command without one needs no entry. For a tool,
//!    `tests/clients/tools.json` has the call. `INSTA_UPDATE=always` adds the surface to the snapshots of the test.

mod distance;
mod evidence;
pub mod inputs;
pub mod lacking;
mod mark;
mod overturn;
pub mod refs;
mod report;
mod rows;
mod sources;
mod summary;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::decide::blockers;
use crate::domain::{
    BoundAs, Caller, Classification, CommentId, Conclusion, Diagnostic, Investigation, Node, NodeId,
    Reclassification, RunId, StateName, Timestamp,
};
use crate::markdown::without_links;
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::rules::verification::{Confirming, Grade};
use crate::ruleset::support::{Premise, PremiseKind};
use crate::ruleset::{EffectiveRules, Role};
use crate::text::{counted, one_line};

pub use distance::{Distance, Own, in_words};
pub use evidence::{CapturedRun, NEWEST_RUNS, Repetition, RunEntry, RunStanding, newest_runs};
pub use inputs::{InputState, ProjectInputs, ProjectView, Touched};
pub use mark::NodeMark;
pub use overturn::{Doubt, DoubtJson, DoubtKind, LostCitation};
pub use report::{ReportStanding, ReportState};
pub use rows::{Row, RowCheck, RowGroup, Rows, TimeAxis, Track, given_evidence, reason};
pub use sources::{SourceAt, SourceIn, SourceState, SourceUse};
pub use summary::{Sign, Signed, VerdictLine, VerdictSubject, reactions};

/// The label for an answer that was edited outside tool calls and has not been checked since.
const BY_HAND: &str = "changed by hand, not checked since";

/// How far an answer or a whole investigation can be trusted, from worst to best:
///
/// | verdict | what leads to it, if nothing above does |
/// |---|---|
/// | refuted | a child refutes the answer and says why, even if only the answer's author took that back |
/// | resting on a refuted answer | an answer on its path, or a finding that it depends on, is refuted |
/// | contested | it or a premise has an open objection, differing results or a rerun that differed; or a finding that it depends on and that is no answer changed since |
/// | stopped early | the whole only: ended before the rules were met |
/// | rules not met | the whole only: ended, but the rules require something |
/// | not checked | nobody confirmed it; or whoever did saw another text, said nothing, was amended by somebody else since, or depends on what is refuted |
/// | checked only by its author | each confirmation is by somebody who wrote a word of it, or by nobody named |
/// | confirmed by another agent, same session | the best confirmation is by another agent of the same session |
/// | confirmed with corrections | the best confirmation is by an agent of another session or a person who also corrected the findings: at most a quarter of them, accepted by somebody else or still open |
/// | confirmed in another session | the best confirmation is by an agent of another session |
/// | confirmed by a person | the best confirmation is by a person |
///
/// An answer that depends on another, on a theory or on what awaits confirmation is no better than that one. Nothing bad that is
/// added makes any verdict better: `report::tests::agree` tests it.
///
/// Serializes to `class` for style sheets, `sign` to accompany the color, `label` for readers, and `contested`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Another node shows that the answer is wrong.
    Refuted,
    /// The answer rests on a refuted one.
    Undermined,
    /// The answer or a node it rests on is contested by an open objection, differing results, or a rerun that differed, or
    /// a finding that it depends on changed since its author saw it.
    Contested,
    /// Investigations only: ended early, before the rules were met.
    StoppedEarly,
    /// Investigations only: ended normally, but the rules still require something.
    RulesUnmet,
    /// No confirmation counts.
    NotChecked,
    /// Only the author has checked the answer.
    AuthorOnly,
    /// Confirmed by another agent, in the same session or an unknown session.
    SecondAgent,
    /// Confirmed in another session or by a person, by somebody who corrected a few passages.
    Corrected,
    /// Confirmed by an agent in another session.
    OtherSession,
    /// Confirmed by a person.
    Person,
}

impl Verdict {
    /// Returns the CSS class, a sign to accompany the color, and the label shown to readers.
    fn shown(self) -> [&'static str; 3] {
        match self {
            Verdict::Refuted => ["refuted", "✗", "refuted"],
            Verdict::Undermined => ["undermined", "✗", "resting on a refuted answer"],
            Verdict::Contested => ["contested", "!", "contested"],
            Verdict::StoppedEarly => ["early", "!", "stopped early"],
            Verdict::RulesUnmet => ["early", "!", "rules not met"],
            Verdict::NotChecked => ["unconfirmed", "?", Grade::None.label()],
            Verdict::AuthorOnly => ["self-checked", "~", Grade::SelfChecked.label()],
            Verdict::SecondAgent => ["confirmed", "✓", Grade::SecondAgent.label()],
            Verdict::Corrected => ["confirmed", "✓", Grade::Corrected.label()],
            Verdict::OtherSession => ["confirmed", "✓", Grade::Independent.label()],
            Verdict::Person => ["confirmed", "✓", "confirmed by a person"],
        }
    }

    /// Returns the CSS class.
    pub fn class(self) -> &'static str {
        self.shown()[0]
    }

    /// Returns a sign to accompany the color.
    pub fn sign(self) -> &'static str {
        self.shown()[1]
    }

    /// Returns the label shown to readers.
    pub fn label(self) -> &'static str {
        self.shown()[2]
    }

    /// Returns a label of one or two words, which is `confirmed` for all confirmed verdicts.
    pub fn short_label(self) -> &'static str {
        if self.is_confirmed() { "confirmed" } else { self.label() }
    }

    /// Returns true if somebody other than the author has confirmed the answer and nothing contests it. Only such
    /// answers may be shown in green.
    pub fn is_confirmed(self) -> bool {
        self >= Verdict::SecondAgent
    }

    /// Returns true if somebody, possibly only the author, has checked the answer and nothing contests it.
    pub fn is_checked(self) -> bool {
        self >= Verdict::AuthorOnly
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
    /// Returns the verdict that the answer would have if this were its only confirmation.
    pub fn verdict(&self) -> Verdict {
        match self.grade {
            Grade::None => Verdict::NotChecked,
            Grade::SelfChecked => Verdict::AuthorOnly,
            Grade::SecondAgent => Verdict::SecondAgent,
            Grade::Corrected => Verdict::Corrected,
            Grade::Independent if self.person.is_some() => Verdict::Person,
            Grade::Independent => Verdict::OtherSession,
        }
    }
}

/// A node that answers the question, or a refuted node.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The node.
    pub node: &'a Arc<Node>,
    /// True if the node's state counts as an answer. A refuted node may no longer be in such a state.
    pub is_answering: bool,
    /// The verdict on the answer.
    pub verdict: Verdict,
    /// The grade of the best confirmation, even if the answer is contested.
    pub grade: Grade,
    /// True if the answer or one of its confirmations, present or removed, was edited outside tool calls.
    pub is_by_hand: bool,
    /// The confirming nodes, best first.
    pub confirming: Vec<Confirming>,
    /// The refuting nodes.
    pub refuted_by: Vec<NodeId>,
    /// The author who withdrew the first refutation, if that has no effect.
    pub taken_back_by: Option<String>,
    /// Everything that the answer rests on, itself included.
    pub premises: Vec<Premise<'a>>,
    /// The premise that limits the verdict, with the node that refutes it, if one does.
    pub weakest: Option<Weakest<'a>>,
    /// Open objections to the premises.
    pub against: Vec<CommentId>,
    /// Open corrections of the premises, which are doubts.
    pub corrections: Vec<CommentId>,
    /// The premises that have differing results.
    pub differing: Vec<NodeId>,
    /// Commands run as evidence for the premises, in their order.
    pub runs: Vec<RunId>,
    /// The `runs` whose rerun differed, except those whose evidence was judged to hold.
    pub differing_runs: Vec<RunId>,
}

/// A premise that limits the verdict on an answer.
#[derive(Clone, Debug)]
pub struct Weakest<'a> {
    /// The nodes that lead from the answer to the premise, which is the last.
    pub chain: Vec<&'a NodeId>,
    /// The node that refutes the premise, if one does.
    pub refuted_by: Option<NodeId>,
    /// What happened to the premise since the author saw it, if it is no answer.
    pub changed: Option<&'static str>,
}

impl Answer<'_> {
    /// Returns the verdict in words, including the name of the person who confirmed the answer.
    pub fn words(&self) -> Cow<'static, str> {
        if let Some((premise, weakest)) = self.weakest.as_ref().and_then(|it| Some((it.chain.last()?, it))) {
            return Cow::Owned(match (&weakest.refuted_by, weakest.changed) {
                (Some(by), _) => format!("rests on {premise}, refuted by {by}"),
                (None, Some(what)) => format!("depends on {premise}, which {what}"),
                (None, None) => format!("depends on {premise}, {}", self.verdict.label()),
            });
        }
        let best = self.confirming.first();
        let person = best.and_then(|best| best.person.as_deref());
        let corrected = best.map_or("", |best| &best.corrected);
        match (self.verdict, person) {
            (Verdict::Person, Some(name)) => Cow::Owned(format!("confirmed by {}", one_line(name))),
            (Verdict::Corrected | Verdict::SecondAgent, _) if !corrected.is_empty() => {
                let by = person.map(|name| format!(" by {}", one_line(name))).unwrap_or_default();
                let with = if self.verdict == Verdict::Corrected { "" } else { ", with corrections" };
                Cow::Owned(format!("{}{by}{with} ({corrected})", self.verdict.label()))
            }
            (Verdict::NotChecked, _) if self.is_by_hand => Cow::Borrowed(BY_HAND),
            (Verdict::Refuted, _) if self.taken_back_by.is_some() => {
                let (by, who) = (self.refuted_by.first(), self.taken_back_by.as_deref().unwrap_or_default());
                let by = by.map_or("the refutation", NodeId::as_str);
                Cow::Owned(format!("refuted; {} alone took {by} back", one_line(who)))
            }
            (verdict, _) => Cow::Borrowed(verdict.label()),
        }
    }

    /// Returns the verdict based on confirmations alone, ignoring objections and refutations.
    pub fn checked(&self) -> Verdict {
        self.confirming.first().map_or(Verdict::NotChecked, Confirming::verdict)
    }

    /// Returns the nodes that explain the verdict: the refuting nodes or the best confirmations.
    pub fn because_of(&self) -> Vec<&NodeId> {
        if self.verdict == Verdict::Refuted {
            return self.refuted_by.iter().collect();
        }
        if let Some(weakest) = &self.weakest {
            return weakest.chain.last().copied().into_iter().chain(&weakest.refuted_by).collect();
        }
        let best = self.confirming.iter().filter(|it| it.grade == self.grade && it.grade != Grade::None);
        best.map(|it| &it.node).collect()
    }
}

/// The state of the whole investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// No conclusion is in force yet.
    Running,
    /// Ended without being stopped early.
    Ended,
    /// Ended early, before its rules were met.
    StoppedEarly,
    /// Ended, but a merge brought in later research.
    Continued,
    /// Ended, but reopened since.
    Reopened,
}

impl Outcome {
    /// Returns the label shown to readers.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Running => "unfinished",
            Outcome::Ended => "ended",
            Outcome::StoppedEarly => "stopped early",
            Outcome::Continued => "ended, then continued",
            Outcome::Reopened => "reopened",
        }
    }

    /// Returns true if a conclusion is in force.
    pub fn is_ended(self) -> bool {
        matches!(self, Outcome::Ended | Outcome::StoppedEarly)
    }
}

/// An answer that the conclusion rests on.
#[derive(Clone, Debug)]
pub struct Bound<'s, 'a> {
    /// The node id, as the conclusion names it.
    pub id: &'s NodeId,
    /// The role of the answer in the conclusion.
    pub role: BoundAs,
    /// The answer. `None` if the node is no longer an answer.
    pub answer: Option<&'s Answer<'a>>,
}

impl Bound<'_, '_> {
    /// Returns the verdict on the answer, or [`Verdict::Refuted`] if the node is no longer an answer.
    pub fn verdict(&self) -> Verdict {
        self.answer.map_or(Verdict::Refuted, |answer| answer.verdict)
    }

    /// Returns the verdict in words.
    pub fn words(&self) -> Cow<'static, str> {
        self.answer.map_or(Cow::Borrowed("no longer an answer"), Answer::words)
    }
}

/// The headline shown on every surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The kind of headline, such as `Conclusion` or `Best answer so far`.
    pub what: &'static str,
    /// The verdict in words: `confirmed by Ada`. Empty if there is no verdict.
    pub words: Cow<'static, str>,
    /// The verdict. `None` if there is nothing to judge.
    pub verdict: Option<Verdict>,
}

/// A limitation of the verdict: a sentence about something that the verdict does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictLimit<'a> {
    /// The confirmation that states the limitation. `None` if the conclusion states it.
    pub node: Option<&'a NodeId>,
    /// The sentence.
    pub text: &'a str,
}

impl VerdictLimit<'_> {
    /// Returns the label shown before the sentence: `Not covered` or `R3.A1a did not try`.
    pub fn label(&self) -> Cow<'static, str> {
        self.node.map_or("Not covered".into(), |node| format!("{node} did not try").into())
    }
}

/// Displayed as `R3.A1a did not try: The other disk.`
impl fmt::Display for VerdictLimit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label(), self.text)
    }
}

/// The assessment of an investigation.
#[derive(Clone, Debug)]
pub struct Assessment<'a> {
    /// The assessed investigation.
    pub investigation: &'a Investigation,
    /// The rules in force. `None` means that no node counts as an answer.
    pub rules: Option<EffectiveRules<'a>>,
    /// The state of the whole investigation.
    pub outcome: Outcome,
    /// All steps that the rules still require.
    pub owed: Vec<Diagnostic>,
    /// Unresolved objections and corrections, oldest first.
    pub open: Vec<Objection>,
    /// Answers that are not refuted. Those named by the conclusion come first, in its order, followed by the others,
    /// best first.
    pub answers: Vec<Answer<'a>>,
    /// Refuted nodes, ordered by round and suffix.
    pub refuted: Vec<Answer<'a>>,
    /// Answers that cannot be tested here.
    pub theories: Vec<&'a Arc<Node>>,
    /// Nodes that are ruled out, including refuted nodes.
    pub dead_ends: Vec<&'a Arc<Node>>,
    /// Nodes with nothing left to try.
    pub exhausted: Vec<&'a Arc<Node>>,
    /// Answers that await confirmation.
    pub awaiting: Vec<&'a Arc<Node>>,
    /// True if the method can confirm answers.
    pub method_confirms: bool,
    /// The index of each node in `answers` followed by `refuted`.
    places: HashMap<&'a NodeId, usize>,
    /// Callers who confirmed an answer, keyed by the time of the call. Each confirmation adds one entry.
    calls: HashMap<Timestamp, Vec<&'a Caller>>,
    bound: Vec<(NodeId, BoundAs)>,
    runs: evidence::EvidenceRuns<'a>,
    /// The project's commit with which the inputs of the commands were compared, shortened.
    pub inputs_at: Option<String>,
}

impl<'a> Assessment<'a> {
    /// Assesses an investigation under the given rules.
    pub fn new(investigation: &'a Investigation, rules: Option<EffectiveRules<'a>>) -> Self {
        let mut assessment = Assessment {
            investigation,
            rules,
            outcome: match (investigation.conclusion(), investigation.end_in_force()) {
                (None, _) => Outcome::Running,
                (Some(end), None) if end.reopened.is_some() => Outcome::Reopened,
                (Some(_), None) => Outcome::Continued,
                (Some(end), Some(_)) if end.stopped.is_some() => Outcome::StoppedEarly,
                (Some(_), Some(_)) => Outcome::Ended,
            },
            owed: rules.map_or_else(Vec::new, |rules| blockers::missing_steps(investigation, &rules)),
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
            runs: evidence::EvidenceRuns::of(investigation, rules.as_ref()),
            inputs_at: None,
        };
        if let Some(rules) = rules {
            let mut refutations = rules.refutations(investigation);
            for (node, state) in investigation.committed() {
                let refuted_by = refutations.remove(&node.id).unwrap_or_default();
                assessment.add_node(&rules, node, state, refuted_by);
            }
            assessment.bound = assessment.binding();
            assessment.add_runs_of_conclusion();
            assessment.limit_verdicts(&rules);
        }
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

    fn add_node(
        &mut self,
        rules: &EffectiveRules<'a>,
        node: &'a Arc<Node>,
        state: &StateName,
        refuted_by: Vec<NodeId>,
    ) {
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
        let premises = rules.premises(self.investigation, &node.id);
        let own = premises.iter().filter(|premise| premise.chain == [&premise.node.id]);
        let confirming = own.filter_map(|premise| match &premise.kind {
            PremiseKind::Confirmation(confirming) => confirming.clone(),
            PremiseKind::Step | PremiseKind::Dependency => None,
        });
        let confirming: Vec<Confirming> = confirming.collect();
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
            taken_back_by: {
                let children = refuted_by.iter().filter_map(|id| self.investigation.node(id));
                let changes = children.map(|child| rules.taken_back(self.investigation, child));
                let changes = changes.collect::<Option<Vec<_>>>().unwrap_or_default();
                changes.first().map(|change| change.who().unwrap_or_else(|| "somebody".to_owned()))
            },
            refuted_by,
            premises,
            weakest: None,
            against: Vec::new(),
            corrections: Vec::new(),
            differing: Vec::new(),
            runs: Vec::new(),
            differing_runs: Vec::new(),
            confirming,
        };
        answer.runs = self.runs.of_nodes(answer.premises.iter().map(|it| &it.node.id));
        answer.differing_runs = self.contesting(&answer.runs);
        let open = objections::against(&answer.premises, &self.open);
        let (corrections, against): (Vec<_>, Vec<_>) = open.into_iter().partition(|it| it.is_correction());
        let ids = |of: Vec<&Objection>| of.into_iter().map(|it| it.comment.id).collect();
        (answer.against, answer.corrections) = (ids(against), ids(corrections));
        let differing = answer.premises.iter().filter(|it| differs(it.node));
        answer.differing = differing.map(|it| it.node.id.clone()).collect();
        answer.differing.sort_unstable();
        if !(answer.against.is_empty() && answer.differing.is_empty() && answer.differing_runs.is_empty()) {
            answer.verdict = Verdict::Contested;
        }
        match is_refuted {
            true => self.refuted.push(Answer { verdict: Verdict::Refuted, ..answer }),
            false => self.answers.push(answer),
        }
    }

    fn contesting(&self, runs: &[RunId]) -> Vec<RunId> {
        let is_contesting = |id: &&RunId| self.run(**id).is_some_and(CapturedRun::is_contesting);
        runs.iter().filter(is_contesting).copied().collect()
    }

    /// Adds the commands that the conclusion cites to the answers that it rests on, unless one of these rests on them itself.
    fn add_runs_of_conclusion(&mut self) {
        let mut cited = self.end().map(|end| self.runs.cited(&end.report())).unwrap_or_default();
        let bound = self.bound.iter().filter(|(_, role)| *role != BoundAs::Rival);
        let bound: Vec<&NodeId> = bound.map(|(id, _)| id).collect();
        let is_bound = |answer: &&mut Answer<'a>| bound.contains(&&answer.node.id);
        for answer in self.answers.iter_mut().filter(is_bound) {
            cited.retain(|run| !answer.runs.contains(run));
        }
        let differing = self.contesting(&cited);
        for answer in self.answers.iter_mut().filter(is_bound) {
            answer.runs.extend(&cited);
            answer.differing_runs.extend(&differing);
            if !differing.is_empty() {
                answer.verdict = Verdict::Contested.min(answer.verdict);
            }
        }
    }

    /// Limits the verdict on each answer by those on the answers that it rests on.
    fn limit_verdicts(&mut self, rules: &EffectiveRules<'a>) {
        let all = self.answers.iter().chain(&self.refuted);
        let own: HashMap<&NodeId, (Verdict, Option<NodeId>)> =
            all.map(|it| (&it.node.id, (it.verdict, it.refuted_by.first().cloned()))).collect();
        let is_unchecked = |node: &Node| {
            let role = node.state().map(|state| rules.role(state));
            matches!(role, Some(Role::Theory | Role::AwaitingConfirmation))
        };
        for answer in &mut self.answers {
            for premise in answer.premises.iter().filter(|it| !it.chain.is_empty()) {
                let limit = match own.get(&premise.node.id) {
                    Some((Verdict::Refuted, by)) if rules.carries(premise) => {
                        (Verdict::Undermined, by.clone())
                    }
                    Some((verdict, _)) if premise.kind == PremiseKind::Dependency => (*verdict, None),
                    None if premise.kind == PremiseKind::Dependency && is_unchecked(premise.node) => {
                        (Verdict::NotChecked, None)
                    }
                    _ => continue,
                };
                if limit.0 < answer.verdict {
                    answer.verdict = limit.0;
                    let (chain, refuted_by) = (premise.chain.clone(), limit.1);
                    answer.weakest = Some(Weakest { chain, refuted_by, changed: None });
                }
            }
            if answer.verdict > Verdict::Contested
                && let Some((chain, what)) = rules.changed(self.investigation, &answer.premises)
            {
                answer.verdict = Verdict::Contested;
                answer.weakest = Some(Weakest { chain, refuted_by: None, changed: Some(what) });
            }
        }
    }

    /// Returns the answers that the conclusion rests on: those it names, or the only answer if it names none.
    fn binding(&self) -> Vec<(NodeId, BoundAs)> {
        let Some(end) = self.investigation.conclusion() else { return Vec::new() };
        // Refuting one of two answers does not name the other.
        let is_alone = !self.refuted.iter().any(|it| it.is_answering);
        match (end.answers.as_slice(), self.answers.as_slice()) {
            ([], [only]) if is_alone => vec![(only.node.id.clone(), BoundAs::Main)],
            (named, _) => named.iter().map(|bound| (bound.id.clone(), bound.role)).collect(),
        }
    }

    /// Returns the assessment of an answer or a refuted node. `None` for any other node.
    pub fn answer(&self, id: &NodeId) -> Option<&Answer<'a>> {
        let at = *self.places.get(id)?;
        self.answers.get(at).or_else(|| self.refuted.get(at - self.answers.len()))
    }

    /// Returns the verdict on an answer or a refuted node. `None` for any other node.
    pub fn verdict_of(&self, id: &NodeId) -> Option<Verdict> {
        self.answer(id).map(|answer| answer.verdict)
    }

    /// Returns the refuted nodes that are or were answers.
    pub fn refuted_answers(&self) -> impl Iterator<Item = &Answer<'a>> {
        let is_answer = |state: &StateName| self.rules.is_some_and(|it| it.role(state) == Role::Solution);
        let was_answer = move |result: &Classification| result.states().any(is_answer);
        self.refuted.iter().filter(move |it| it.node.classification.as_ref().is_some_and(was_answer))
    }

    /// Returns why a node that confirms an answer counts for nothing, if so.
    pub fn counts_for_nothing(&self, node: &Node) -> Option<&'static str> {
        let answer =
            self.answer(node.parent.as_ref()?).filter(|_| self.rules.is_some_and(|it| it.confirms(node)))?;
        let is_counted = |by: &Confirming| by.node == node.id && by.verdict().is_checked();
        match answer.verdict {
            Verdict::Refuted => Some("The answer above is refuted all the same"),
            _ if answer.confirming.iter().any(is_counted) => None,
            _ => Some("This confirmation does not count"),
        }
    }

    /// Returns true if another node refutes this one.
    pub fn is_refuted(&self, id: &NodeId) -> bool {
        self.verdict_of(id) == Some(Verdict::Refuted)
    }

    /// Returns the nodes that are ruled out without being refuted.
    pub fn ruled_out(&self) -> impl Iterator<Item = &'a Arc<Node>> {
        self.dead_ends.iter().filter(|node| !self.is_refuted(&node.id)).copied()
    }

    /// Returns the nodes whose result was reversed by a later change. Nodes that awaited confirmation and received it
    /// are not included.
    pub fn overturned(&self) -> impl Iterator<Item = (&'a Arc<Node>, &'a Reclassification)> {
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
            Some((node, change))
        })
    }

    /// Returns the limitations stated by the nodes that explain the verdict on an answer.
    pub fn caveats(&self, answer: &Answer<'_>) -> impl Iterator<Item = VerdictLimit<'a>> {
        let nodes = answer.because_of().into_iter().filter_map(|id| self.investigation.node(id));
        let by = nodes.filter(|_| answer.verdict != Verdict::Refuted);
        by.flat_map(|node| {
            let caveats = node.classification.iter().flat_map(|result| &result.caveats);
            caveats.map(|text| VerdictLimit { node: Some(&node.id), text })
        })
    }

    /// Returns the limitations of the overall verdict: the points that the conclusion lists as not covered, and the
    /// caveats about its answers. Without a conclusion, returns the caveats about the first answer.
    pub fn limits(&self) -> Vec<VerdictLimit<'a>> {
        let not_covered = self.end().into_iter().flat_map(|end| &end.not_covered);
        let said = not_covered.map(|text| VerdictLimit { node: None, text });
        said.chain(self.supporting().into_iter().flat_map(|answer| self.caveats(answer))).collect()
    }

    /// Returns the number of answers for each verdict, best verdict first. Refuted answers are not counted.
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        let mut verdicts: Vec<Verdict> = self.answers.iter().map(|answer| answer.verdict).collect();
        verdicts.sort_unstable_by_key(|verdict| Reverse(*verdict));
        verdicts.chunk_by(|one, other| one == other).map(|same| (same[0], same.len())).collect()
    }

    /// Returns the number of answers whose verdict matches `fits`. Refuted answers are not counted.
    pub fn count(&self, fits: impl Fn(Verdict) -> bool) -> usize {
        self.answers.iter().filter(|answer| fits(answer.verdict)).count()
    }

    /// Returns the conclusion, even if research continued after it.
    pub fn end(&self) -> Option<&'a Conclusion> {
        self.investigation.conclusion()
    }

    /// Returns the conclusion's bottom line without links, if it has one.
    pub fn bottom_line(&self) -> Option<String> {
        let line = self.end().map(|end| without_links(&end.bottom_line));
        line.filter(|line| !line.is_empty())
    }

    /// Returns the answers that the conclusion rests on, in its order.
    ///
    /// Empty if there is no conclusion or no answer, or if the conclusion names none of several answers.
    pub fn bound(&self) -> impl Iterator<Item = Bound<'_, 'a>> {
        self.bound.iter().map(|(id, role)| Bound { id, role: *role, answer: self.answer(id) })
    }

    /// Returns the answer that every surface shows first: the first answer of the conclusion or, without a conclusion,
    /// the best answer.
    ///
    /// `None` if there is no answer, or if the conclusion does not name the answer it rests on.
    pub fn first(&self) -> Option<&Answer<'a>> {
        match (self.end(), self.bound.first()) {
            (None, _) => self.answers.first(),
            (Some(_), Some((id, _))) => self.answer(id),
            (Some(_), None) => None,
        }
    }

    /// Returns the overall verdict: the worst of the verdicts on the conclusion's answers and on how the investigation
    /// ended.
    ///
    /// Rivals named by the conclusion do not count. `None` while no conclusion is in force.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict_on_end().filter(|_| self.outcome.is_ended())
    }

    /// Returns the verdict on the conclusion, even if research continued after it. What it owed then is not known.
    fn verdict_on_end(&self) -> Option<Verdict> {
        let end = self.end()?;
        let answers = self.bound().filter(|bound| bound.role != BoundAs::Rival).map(|bound| bound.verdict());
        let answers = answers.min().unwrap_or(Verdict::NotChecked);
        let ended = match end.stopped {
            Some(_) => Verdict::StoppedEarly,
            _ if self.outcome.is_ended() && !self.owed.is_empty() => Verdict::RulesUnmet,
            _ if self.investigation.by_hand().end => Verdict::NotChecked,
            _ => Verdict::Person,
        };
        Some(answers.min(ended))
    }

    /// Returns the verdict on the conclusion or, without one, on the first answer.
    pub fn overall(&self) -> Option<Verdict> {
        self.verdict_on_end().or_else(|| self.answers.first().map(|answer| answer.verdict))
    }

    /// Returns the overall verdict in words. `None` while no conclusion is in force.
    pub fn words(&self) -> Option<Cow<'static, str>> {
        self.words_on_end().filter(|_| self.outcome.is_ended())
    }

    fn words_on_end(&self) -> Option<Cow<'static, str>> {
        let verdict = self.verdict_on_end()?;
        let only = self.bound().next().filter(|_| self.bound.len() == 1).and_then(|bound| bound.answer);
        Some(match only {
            Some(answer) if answer.verdict == verdict => answer.words(),
            _ if verdict == Verdict::NotChecked && self.investigation.by_hand().end => Cow::Borrowed(BY_HAND),
            _ => Cow::Borrowed(verdict.label()),
        })
    }

    /// Returns the headline shown on every surface.
    pub fn top(&self) -> Headline {
        let earlier = match self.outcome {
            Outcome::Reopened => "Reopened conclusion",
            _ => "Conclusion before research continued",
        };
        let has_conclusion = self.end().is_some_and(|end| end.conclusion.is_some());
        let top = |what, words, verdict| Headline { what, words, verdict };
        match (self.words(), self.first()) {
            _ if self.rules.is_none() => top("Unknown", "".into(), None),
            (Some(words), _) if has_conclusion => top("Conclusion", words, self.verdict()),
            (Some(words), _) => top("Ended without a conclusion", words, self.verdict()),
            (None, _) if has_conclusion || !self.bound.is_empty() => {
                top(earlier, self.words_on_end().unwrap_or_default(), self.verdict_on_end())
            }
            (None, Some(answer)) => top("Best answer so far", answer.words(), Some(answer.verdict)),
            (None, None) => top("No answer yet", "".into(), None),
        }
    }

    /// Returns the findings in one or two sentences.
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
        match self.refuted_answers().count() {
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
            (0, false) if self.investigation.draft().is_some() => "Draft of the report.".to_owned(),
            (0, false) => "No answer yet.".to_owned(),
        }
    }

    /// Returns the number of answers for each verdict in words: `1 confirmed in another session, 2 not checked`.
    pub fn counted_in_words(&self) -> String {
        let all = self.answers.len();
        let counts = self.counts().into_iter().map(|(verdict, count)| match count == all && all > 1 {
            true => format!("all {}", verdict.label()),
            false => format!("{count} {}", verdict.label()),
        });
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns true if the node has differing results and nobody has decided between them.
pub fn differs(node: &Node) -> bool {
    node.classification.as_ref().is_some_and(Classification::is_contested)
}
