//! An investigation in rows: each answer with the attacks on it, its evidence and the checks that are missing; then what
//! became of the other answers and ideas. The pages and the terminal show the same rows.
//!
//! 1. [`Assessment::rows`] sorts answers and nodes into groups. A large investigation has a row per branch instead of one
//!    per idea.
//! 2. A [`Track`] places a row's work on the time axis, if there is one. Investigations whose nodes were all stored in a few
//!    minutes have none.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::distance::in_words;
use super::summary::sign_off;
use super::{Answer, Assessment, Bound, Signed, Verdict, VerdictLimit};
use crate::domain::{BoundAs, Classification, Node, NodeId, Timestamp};
use crate::markdown;
use crate::ruleset::Role;
use crate::text::{counted, one_line, shorten, telling_sentence};

/// The maximum number of nodes for a row per idea. Beyond, there is a row per branch.
const MOST_NODES: usize = 60;
/// The maximum number of rows in a group of a large investigation.
const MOST_ROWS: usize = 24;
/// The maximum number of other answers in a large investigation.
const MOST_ANSWERS: usize = 8;
/// The number of distinct minutes in which results were stored, from which there is a time axis.
const LEAST_MINUTES: usize = 10;
/// The maximum number of labels on the time axis, apart from its end.
const MOST_TICKS: i64 = 6;
/// The distances between labels on the time axis, in minutes.
const STEPS: [i64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 10_080, 43_200];
/// The number of characters of a result that are searched for its first sentence.
const FINDINGS: usize = 320;
/// The maximum length of a reason, in characters.
const REASON: usize = 120;
/// The maximum number of steps to an answer that are listed.
const MOST_STEPS: usize = 8;
/// The height of the area of a branch in its own units.
const AREA: usize = 100;

/// An investigation in rows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rows {
    /// The time axis, if the rows have one.
    pub axis: Option<TimeAxis>,
    /// The groups, none of them empty.
    pub groups: Vec<RowGroup>,
}

/// The labels of the time axis.
#[derive(Clone, Debug, Serialize)]
pub struct TimeAxis {
    /// The places of the labels, in percent of the axis, with their texts.
    pub ticks: Vec<(f64, String)>,
    /// The label at the end.
    pub end: String,
}

/// A group of rows.
#[derive(Clone, Debug, Serialize)]
pub struct RowGroup<R = Row> {
    /// The id of the group's place on a page.
    pub id: &'static str,
    /// The heading.
    pub heading: &'static str,
    /// The number after the heading, if the rows are counted.
    pub count: Option<usize>,
    /// The rows.
    pub rows: Vec<R>,
    /// The number of omitted rows.
    pub more: usize,
}

/// A row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The node. `None` for a sentence of the conclusion.
    pub node: Option<NodeId>,
    /// The name of the node, or the sentence.
    pub title: String,
    /// The CSS class: that of the verdict, or `branch`, `ruled-out`, `exhausted`, `pending`, `withdrawn`, `limit`.
    pub class: &'static str,
    /// A sign to accompany the color.
    pub sign: &'static str,
    /// What became of it: the verdict, or the counts of a branch.
    pub words: String,
    /// Why, or what it says, in one sentence.
    pub reason: String,
    /// The time from the proposal to the result, if the rows have a time axis.
    pub took: String,
    /// The steps that led to an answer.
    pub steps: Vec<NodeId>,
    /// The number of the first of `steps` in the path.
    pub first_step: usize,
    /// The attacks on an answer, and what they changed.
    pub attacks: Vec<String>,
    /// The evidence of an answer.
    pub evidence: String,
    /// The checks of an answer, done or missing.
    pub checks: Vec<RowCheck>,
    /// The other nodes whose changes concern the row.
    #[serde(skip)]
    pub others: Vec<NodeId>,
    /// The row's place in time. Empty without a time axis.
    pub track: Track,
}

/// A check of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct RowCheck {
    /// What was done, or is missing.
    pub text: String,
    /// The CSS class: `done`, `missing` or `failed`.
    pub class: &'static str,
    /// A sign to accompany the color.
    pub sign: &'static str,
}

/// The work on a row, and its standing, on the time axis. Places are in percent of the axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Track {
    /// The lines.
    pub spans: Vec<TrackSpan>,
    /// The points.
    pub marks: Vec<TrackMark>,
    /// The requirements left in a branch, as an SVG path in a box of 1,000 by 100. May be empty.
    pub area: String,
}

/// A line on a track: `work` is thin, `checked` solid, and `unchecked` dashed; `attack` spans a confirmation, and `trunk` a branch.
#[derive(Clone, Debug, Serialize)]
pub struct TrackSpan {
    /// The CSS class.
    pub class: &'static str,
    /// The left end.
    pub from: f64,
    /// The right end.
    pub until: f64,
}

/// A point on a track.
#[derive(Clone, Debug, Serialize)]
pub struct TrackMark {
    /// The CSS class: `refuted`, `ruled-out`, `exhausted`, `withdrawn`, `step`, `explored`, or `end` for a node of a branch that was ruled out.
    pub class: &'static str,
    /// The place.
    pub x: f64,
    /// The sign or number.
    pub sign: String,
}

impl RowGroup {
    fn counted(id: &'static str, heading: &'static str, rows: Vec<Row>) -> RowGroup {
        RowGroup { id, heading, count: Some(rows.len()), rows, more: 0 }
    }
}

impl RowCheck {
    fn new(is_done: bool, text: impl Into<String>) -> RowCheck {
        let (class, sign) = if is_done { ("done", "✓") } else { ("missing", "○") };
        RowCheck { text: text.into(), class, sign }
    }

    fn failed(text: String) -> RowCheck {
        RowCheck { text, class: "failed", sign: "✗" }
    }
}

/// The period that the time axis shows, in milliseconds.
#[derive(Clone, Copy)]
struct Period {
    from: i64,
    until: i64,
}

impl Period {
    /// Returns the place of a time, in percent with two decimals.
    fn place(self, at: Timestamp) -> f64 {
        let all = (self.until - self.from).max(1) as f64;
        let part = (at.milliseconds() - self.from) as f64 / all;
        (part.clamp(0.0, 1.0) * 10_000.0).round() / 100.0
    }
}

impl Track {
    /// Adds a line from one time to a later one.
    fn span(&mut self, class: &'static str, period: Period, from: Timestamp, until: Timestamp) {
        let (from, until) = (period.place(from), period.place(until));
        if until > from {
            self.spans.push(TrackSpan { class, from, until });
        }
    }

    fn mark(&mut self, class: &'static str, x: f64, sign: impl Into<String>) {
        self.marks.push(TrackMark { class, x, sign: sign.into() });
    }
}

/// Returns the evidence that was given in brief, apart from the findings. That of a later change takes precedence.
pub fn given_evidence(node: &Node) -> Option<&str> {
    let result = node.classification.as_ref()?;
    let later = result.reclassified.iter().rev().find_map(|change| change.evidence.as_deref());
    later.or(result.evidence.as_deref()).filter(|text| !text.trim().is_empty())
}

/// Returns the reason for a node's state or what it found in one sentence, if that differs from its name.
pub fn reason(node: &Node) -> String {
    let findings = node.classification.as_ref().map(|result| result.findings.as_str());
    let text =
        given_evidence(node).or(findings).map(|text| markdown::excerpt(text, FINDINGS)).unwrap_or_default();
    let sentence = shorten(telling_sentence(&text), REASON);
    // All texts of a withheld node are its name.
    if [&text, &sentence].contains(&&node.name().to_owned()) { String::new() } else { sentence }
}

fn name(node: &Node) -> String {
    one_line(node.name()).trim_end_matches('.').to_owned()
}

impl<'a> Assessment<'a> {
    /// Returns the rows.
    pub fn rows(&self, signed: &[Signed]) -> Rows {
        let reader = RowReader { assessment: self, signed, period: self.period() };
        let mut groups = Vec::new();
        // Without rules, nothing is known of any node.
        if self.rules.is_some() {
            groups = reader.answers();
            groups.push(reader.others());
            groups.extend(reader.pending());
            groups.push(reader.branches());
            groups.extend(reader.exhausted());
        }
        groups.push(reader.not_covered());
        groups.retain(|group| !group.rows.is_empty());
        for group in groups.iter_mut().filter(|group| !self.is_small() && group.id != "not-covered") {
            let most = if group.id == "others" { MOST_ANSWERS } else { MOST_ROWS };
            group.more = group.rows.len().saturating_sub(most);
            group.rows.truncate(most);
        }
        Rows { axis: reader.period.map(|period| self.axis(period)), groups }
    }

    fn is_small(&self) -> bool {
        self.investigation.len() <= MOST_NODES
    }

    /// Returns the period of the time axis, if results were stored at enough different times.
    fn period(&self) -> Option<Period> {
        let results = || self.investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
        let minutes: BTreeSet<i64> = results().map(|it| it.committed_at.seconds() / 60).collect();
        (minutes.len() >= LEAST_MINUTES).then_some(())?;
        let end = self.investigation.end_in_force().map(|end| end.ended_at);
        let last = self.investigation.nodes().map(|node| node.last_research()).max();
        let until = [end, last].into_iter().flatten().max()?.milliseconds();
        let proposed = self.investigation.nodes().map(|node| node.proposed_at);
        let from = proposed.chain([self.investigation.meta().started_at]).min()?.milliseconds();
        Some(Period { from, until })
    }

    fn axis(&self, period: Period) -> TimeAxis {
        let minutes = (period.until - period.from) / 60_000;
        let step = STEPS.into_iter().find(|step| minutes / step < MOST_TICKS);
        let step = 60_000 * step.unwrap_or(minutes / MOST_TICKS + 1);
        let times = (0..).map(|number| (period.from + step - 1) / step * step + number * step);
        // The label of the end needs room.
        let last = period.until - (period.until - period.from) / 8;
        let times = times.take_while(|time| *time <= last).filter_map(Timestamp::from_milliseconds);
        let mut day = Timestamp::from_milliseconds(period.from).map(Timestamp::to_day).unwrap_or_default();
        let mut is_first = Timestamp::from_milliseconds(period.until).is_none_or(|end| end.to_day() != day);
        // A time stands alone only if the label before it is of the same day.
        let mut label = |at: Timestamp| {
            let time = at.to_minute().get(11..16).unwrap_or_default().to_owned();
            let is_same = at.to_day() == day && !std::mem::take(&mut is_first);
            day = at.to_day();
            match step < 86_400_000 {
                true if is_same => time,
                true => format!("{} {time}", day.rsplit_once(' ').map_or(&*day, |(day, _)| day)),
                false => day.clone(),
            }
        };
        let ticks = times.map(|at| (period.place(at), label(at))).collect();
        let end = Timestamp::from_milliseconds(period.until).map(label).unwrap_or_default();
        TimeAxis { ticks, end }
    }
}

/// What there is in a branch.
#[derive(Clone, Default)]
struct BranchParts<'t, 'a> {
    /// The number of requirements left.
    left: usize,
    answers: Vec<&'t Answer<'a>>,
    /// The number of answers that were refuted.
    refuted: usize,
    ruled_out: Vec<&'a Arc<Node>>,
}

struct RowReader<'s, 'a> {
    assessment: &'s Assessment<'a>,
    signed: &'s [Signed],
    period: Option<Period>,
}

impl<'a> RowReader<'_, 'a> {
    /// Returns the groups of the answers that the conclusion names or, without one, of the best answer.
    fn answers(&self) -> Vec<RowGroup> {
        let assessment = self.assessment;
        let mut seen = HashSet::new();
        let bound: Vec<_> = assessment.bound().filter(|bound| seen.insert(bound.id)).collect();
        let of_role = |is_rival: bool| -> Vec<Row> {
            let of_role = bound.iter().filter(|bound| (bound.role == BoundAs::Rival) == is_rival);
            of_role.map(|bound| self.bound(bound)).collect()
        };
        let (mut rows, rivals) = (of_role(false), of_role(true));
        let mut heading = if rows.len() > 1 { "The parts of the answer" } else { "The answer" };
        if rows.is_empty() && rivals.is_empty() {
            match (assessment.first(), assessment.end()) {
                (Some(first), _) => {
                    heading = "The best answer so far";
                    rows.push(self.answer(first, true));
                }
                (None, Some(_)) if !assessment.answers.is_empty() => {
                    heading = "Answers; the conclusion does not say which it rests on";
                    rows.extend(assessment.answers.iter().map(|answer| self.answer(answer, true)));
                }
                (None, Some(end)) if end.conclusion.is_some() || !end.bottom_line.is_empty() => {
                    let top = assessment.top();
                    rows.push(Row {
                        title: one_line(
                            assessment
                                .bottom_line()
                                .as_deref()
                                .unwrap_or("The conclusion, which names no answer"),
                        ),
                        class: top.verdict.map_or("limit", Verdict::class),
                        sign: top.verdict.map_or("", Verdict::sign),
                        words: top.words.into_owned(),
                        checks: vec![self.signature()],
                        ..Row::default()
                    });
                }
                _ => {}
            }
        }
        let group = |id, heading, rows| RowGroup { count: None, ..RowGroup::counted(id, heading, rows) };
        vec![group("answers", heading, rows), group("rivals", "Also possible", rivals)]
    }

    fn bound(&self, bound: &Bound<'_, 'a>) -> Row {
        match bound.answer {
            Some(answer) => self.answer(answer, true),
            None => {
                let node = self.assessment.investigation.node(bound.id);
                Row {
                    node: Some(bound.id.clone()),
                    title: node.map_or_else(|| "no longer there".to_owned(), |node| name(node)),
                    class: bound.verdict().class(),
                    sign: bound.verdict().sign(),
                    words: bound.words().into_owned(),
                    reason: node.map(|node| reason(node)).unwrap_or_default(),
                    ..Row::default()
                }
            }
        }
    }

    /// Returns the row of an answer, with its checks if it is among those of the conclusion.
    fn answer(&self, answer: &Answer<'a>, is_whole: bool) -> Row {
        let node = answer.node;
        let by = answer.confirming.iter().map(|by| &by.node).chain(&answer.refuted_by);
        let is_weak = answer.verdict.is_confirmed() && self.assessment.weakly_confirmed(answer).is_some();
        let mut row = Row {
            node: Some(node.id.clone()),
            title: name(node),
            class: answer.verdict.class(),
            sign: answer.verdict.sign(),
            words: format!("{}{}", answer.words(), if is_weak { ", weakly" } else { "" }),
            others: by.cloned().collect(),
            track: self.period.map(|period| self.standing(answer, is_whole, period)).unwrap_or_default(),
            ..Row::default()
        };
        let because = answer.because_of().first().map(|id| self.assessment.attributed_name(id));
        if !is_whole {
            row.reason = because.unwrap_or_else(|| reason(node));
            return row;
        }
        let path = self.assessment.investigation.path(&node.id);
        let steps = path.iter().filter(|step| step.id != node.id).map(|step| step.id.clone());
        row.steps = steps.collect();
        let left_out = row.steps.len().saturating_sub(MOST_STEPS);
        row.steps.drain(..left_out);
        row.first_step = left_out + 1;
        row.reason = reason(node);
        row.attacks = self.attacks(answer);
        row.evidence = self.assessment.evidence_words(answer);
        row.checks = self.checks(answer);
        row
    }

    /// Returns the attacks on an answer, open ones first, and what they changed.
    fn attacks(&self, answer: &Answer<'a>) -> Vec<String> {
        let open = self.assessment.open.iter();
        let open = open.filter(|it| {
            answer.against.contains(&it.comment.id) || answer.corrections.contains(&it.comment.id)
        });
        let mut attacks: Vec<String> = open.map(|it| format!("{}.", it.message())).collect();
        let refuted = answer.refuted_by.iter();
        attacks
            .extend(refuted.map(|by| format!("✗ {by} refutes it. {}", self.assessment.attributed_name(by))));
        let differing = answer.differing.iter();
        attacks.extend(
            differing.map(|id| format!("Results of {id} differ, and nobody has decided between them.")),
        );
        for by in answer.confirming.iter().filter(|by| by.verdict().is_confirmed()) {
            let held = match by.corrected.as_str() {
                "" => "Nothing was changed".to_owned(),
                edits => format!("Corrected: {edits}"),
            };
            let said = self.assessment.attributed_name(&by.node);
            let stop = if said.ends_with(['.', '…']) { "" } else { "." };
            attacks.push(format!("{said}{stop} {held}."));
        }
        attacks
    }

    /// Returns the four checks that an answer can have.
    fn checks(&self, answer: &Answer<'a>) -> Vec<RowCheck> {
        let best = answer.confirming.first().filter(|by| by.verdict().is_checked());
        let person = best.and_then(|best| best.person.as_deref()).map(one_line);
        let mut checks = Vec::new();
        match (answer.refuted_by.first(), answer.checked(), person) {
            (Some(by), ..) => checks.push(RowCheck::failed(format!("refuted by {by}"))),
            _ if !self.assessment.method_confirms => {}
            (_, Verdict::Person | Verdict::Corrected, Some(name)) => {
                checks.push(RowCheck::new(true, format!("tried by {name}: it held")));
            }
            (_, Verdict::Person | Verdict::Corrected | Verdict::OtherSession, _) => {
                checks.push(RowCheck::new(true, "tried in another session: it held"));
            }
            (_, Verdict::SecondAgent, _) => {
                checks.push(RowCheck::new(false, "tried only in the same session"))
            }
            (_, Verdict::AuthorOnly, _) => checks.push(RowCheck::new(false, "tried only by its author")),
            _ if !answer.confirming.is_empty() => {
                checks.push(RowCheck::new(false, "its confirmation does not count"))
            }
            _ => checks.push(RowCheck::new(false, "nobody has tried to refute it")),
        }
        let runs: Vec<_> = self.assessment.evidence(answer).collect();
        let by_other = runs.iter().filter(|run| run.is_rerun_by_other()).count();
        let differing = runs.iter().filter(|run| run.is_contesting()).count();
        let of_all = format!("of {}", counted(runs.len(), "command"));
        checks.push(match (runs.len(), differing) {
            (0, _) => RowCheck::new(false, "no command was captured for it"),
            (_, 1) => RowCheck::failed(format!("1 {of_all} differs when rerun")),
            (_, 2..) => RowCheck::failed(format!("{differing} {of_all} differ when rerun")),
            (all, 0) => RowCheck::new(by_other == all, format!("{by_other} {of_all} rerun by another")),
        });
        let elsewhere = best.and_then(|best| match &best.person {
            Some(_) => Some("tried by a person".to_owned()),
            None => self.assessment.distance(answer.node, best)?.elsewhere(),
        });
        checks.push(match elsewhere {
            Some(text) => RowCheck::new(true, text),
            None => RowCheck::new(false, "no other client or model"),
        });
        checks.push(self.signature());
        checks
    }

    fn signature(&self) -> RowCheck {
        match sign_off(self.signed) {
            Some((by, words)) if by.is_valid && !by.is_approval => RowCheck::failed(words),
            Some((by, words)) => RowCheck::new(by.is_valid, words),
            None => RowCheck::new(false, "nobody has signed it off"),
        }
    }

    /// Returns the other answers, and what became of them.
    fn others(&self) -> RowGroup {
        let assessment = self.assessment;
        let mut shown: HashSet<&NodeId> = assessment.bound().map(|bound| bound.id).collect();
        shown.extend(assessment.first().map(|first| &first.node.id));
        let is_unbound = assessment.end().is_some() && assessment.bound().next().is_none();
        let answers = assessment.answers.iter().filter(|_| !is_unbound);
        let answers = answers.chain(assessment.refuted_answers());
        let answers = answers.filter(|answer| !shown.contains(&answer.node.id));
        let mut rows: Vec<Row> = answers.map(|answer| self.answer(answer, false)).collect();
        for (nodes, words) in
            [(&assessment.awaiting, "not checked"), (&assessment.theories, "theory, not checked")]
        {
            rows.extend(nodes.iter().filter(|node| !shown.contains(&node.id)).map(|node| {
                let row = self.node(node, Verdict::NotChecked.class(), Verdict::NotChecked.sign());
                Row { words: words.to_owned(), ..row }
            }));
        }
        RowGroup::counted("others", "Other answers, and what became of them", rows)
    }

    /// Returns the row of a node that is no answer.
    fn node(&self, node: &Node, class: &'static str, sign: &'static str) -> Row {
        let result = node.classification.as_ref();
        let until = result.map(|result| result.committed_at);
        let until = until.or(node.withdrawn.as_ref().map(|it| it.at));
        let mut row = Row {
            node: Some(node.id.clone()),
            title: name(node),
            class,
            sign,
            reason: reason(node),
            ..Row::default()
        };
        if let (Some(period), Some(until)) = (self.period, until) {
            row.took = in_words(until.seconds().saturating_sub(node.proposed_at.seconds()).max(0));
            let span = if class == "withdrawn" { class } else { "work" };
            row.track.span(span, period, node.proposed_at, until);
            if class != Verdict::NotChecked.class() {
                let at = result.map_or(until, Classification::current_since);
                row.track.mark(class, period.place(at), sign);
            }
        }
        row
    }

    /// Returns the proposals that nobody has explored yet.
    fn pending(&self) -> Option<RowGroup> {
        let pending = self.assessment.investigation.pending();
        let rows = pending.map(|node| self.node(node, "pending", "○")).collect();
        self.assessment.is_small().then(|| RowGroup::counted("pending", "Proposed, not begun", rows))
    }

    /// Returns a row for each branch. In a small investigation, a row for each idea that was ruled out follows; after the end,
    /// branches without one are left out.
    fn branches(&self) -> RowGroup {
        let assessment = self.assessment;
        let is_small = assessment.is_small();
        let is_ended = assessment.outcome.is_ended();
        let branches = self.split();
        let ruled_out: HashSet<&NodeId> = assessment.ruled_out().map(|node| &node.id).collect();
        let peak = branches.iter().flat_map(|branch| self.open_ends(branch)).map(|(_, open)| open).max();
        let overturned: HashMap<&NodeId, String> = assessment
            .overturned()
            .map(|(node, change)| {
                let by = change.who().map(|by| format!(" by {}", one_line(&by)));
                (&node.id, format!("overturned{}", by.unwrap_or_default()))
            })
            .collect();
        let mut rows = Vec::new();
        for (branch, parts) in branches.iter().zip(self.parts(&branches)) {
            let leaves: Vec<_> =
                branch.iter().filter(|node| is_small && ruled_out.contains(&node.id)).collect();
            // Otherwise, its nodes have rows of their own.
            let has_open = !is_small || branch.iter().any(|node| self.is_open(node));
            if has_open && !(is_small && is_ended && leaves.is_empty()) {
                rows.push(self.branch(branch, parts, peak.unwrap_or(0)));
            }
            rows.extend(leaves.into_iter().map(|node| {
                let words = overturned.get(&node.id).cloned().unwrap_or_default();
                Row { words, ..self.node(node, "ruled-out", "✕") }
            }));
        }
        let count = assessment.ruled_out().count();
        let is_list = is_small && is_ended;
        let heading = if is_list { "Ruled out" } else { "What was tried, by branch" };
        RowGroup { count: is_list.then_some(count), ..RowGroup::counted("ruled-out", heading, rows) }
    }

    /// Returns the steps that left nothing to try, and the refuted ones that were never answers.
    fn exhausted(&self) -> Option<RowGroup> {
        let assessment = self.assessment;
        let answers: HashSet<&NodeId> = assessment.refuted_answers().map(|it| &it.node.id).collect();
        // What the conclusion names has a row above.
        let bound: HashSet<&NodeId> = assessment.bound().map(|bound| bound.id).collect();
        let is_left = |node: &Node| !answers.contains(&node.id) && !bound.contains(&node.id);
        let refuted = assessment.refuted.iter().filter(|it| is_left(it.node));
        let mut rows: Vec<Row> = refuted.map(|answer| self.answer(answer, false)).collect();
        let exhausted =
            |node: &Arc<Node>| Row { words: "exhausted".to_owned(), ..self.node(node, "exhausted", "–") };
        rows.extend(assessment.exhausted.iter().filter(|node| is_left(node)).map(|node| exhausted(node)));
        assessment.is_small().then(|| RowGroup::counted("exhausted", "Came to nothing", rows))
    }

    /// Splits the tree where it first branches. If something above that was ruled out, it is a branch, too; and so is a tree that
    /// does not branch.
    fn split(&self) -> Vec<Vec<&'a Arc<Node>>> {
        let investigation = self.assessment.investigation;
        let mut heads: Vec<&NodeId> = investigation.roots().map(|node| &node.id).collect();
        while let [only] = heads.as_slice() {
            heads = investigation.children(only).map(|node| &node.id).collect();
        }
        let mut branches: Vec<Vec<&'a Arc<Node>>> = Vec::new();
        let round = heads.first().map_or(1, |head| head.round());
        let (stem, rest): (Vec<_>, Vec<_>) =
            investigation.preorder().into_iter().partition(|node| node.round() < round);
        if self.assessment.ruled_out().any(|node| node.round() < round) {
            branches.push(stem);
        }
        for node in rest {
            match branches.last_mut().filter(|_| node.round() > round) {
                Some(branch) => branch.push(node),
                None => branches.push(vec![node]),
            }
        }
        branches
    }

    /// Returns the number of nodes in a branch that wanted children, after each change.
    fn open_ends(&self, branch: &[&'a Arc<Node>]) -> Vec<(Timestamp, usize)> {
        let investigation = self.assessment.investigation;
        let mut changes: Vec<(Timestamp, bool)> = Vec::new();
        for node in branch {
            let Some(result) = &node.classification else { continue };
            let required = self.assessment.rules.and_then(|rules| rules.requirement(investigation, node));
            let Some(required) = required.filter(|it| it.needs > 0) else { continue };
            changes.push((result.committed_at, true));
            if required.missing() == 0 {
                let children = investigation.committed_children(&node.id);
                let counted = children.filter(|(_, state)| required.of.is_none_or(|of| of.contains(state)));
                let mut times: Vec<Timestamp> = counted
                    .filter_map(|(child, _)| Some(child.classification.as_ref()?.committed_at))
                    .collect();
                times.sort_unstable();
                let last = times.get(required.needs as usize - 1).copied();
                changes.push((last.unwrap_or(result.committed_at).max(result.committed_at), false));
            }
        }
        changes.sort_by_key(|(at, is_open)| (*at, !is_open));
        let open = changes.into_iter().scan(0_usize, |open, (at, is_open)| {
            *open = if is_open { *open + 1 } else { open.saturating_sub(1) };
            Some((at, *open))
        });
        open.collect()
    }

    /// Sorts by branch what is left, the answers, and what was ruled out.
    fn parts(&self, branches: &[Vec<&'a Arc<Node>>]) -> Vec<BranchParts<'_, 'a>> {
        let assessment = self.assessment;
        let places = branches.iter().enumerate();
        let places: HashMap<&NodeId, usize> =
            places.flat_map(|(at, branch)| branch.iter().map(move |node| (&node.id, at))).collect();
        let place = |id: &NodeId| places.get(id).copied();
        let mut parts = vec![BranchParts::default(); branches.len()];
        let owed = assessment.owed.iter().filter_map(|owed| owed.node.as_deref());
        let owed = owed.filter_map(|id| assessment.investigation.find(id).ok());
        owed.filter_map(|node| place(&node.id)).for_each(|at| parts[at].left += 1);
        for answer in &assessment.answers {
            place(&answer.node.id).into_iter().for_each(|at| parts[at].answers.push(answer));
        }
        let refuted = assessment.refuted_answers();
        refuted.filter_map(|answer| place(&answer.node.id)).for_each(|at| parts[at].refuted += 1);
        for node in assessment.ruled_out() {
            place(&node.id).into_iter().for_each(|at| parts[at].ruled_out.push(node));
        }
        parts
    }

    /// Returns the row of a branch. `peak` is the largest number of open ends in any branch.
    fn branch(&self, branch: &[&'a Arc<Node>], parts: BranchParts<'_, 'a>, peak: usize) -> Row {
        let assessment = self.assessment;
        let BranchParts { left, answers, refuted, ruled_out } = parts;
        let stand = answers.iter().filter(|it| it.verdict > Verdict::Undermined).count();
        let all = answers.len() + refuted;
        let stands = if all == 1 { "stands" } else { "stand" };
        let parts = [
            Some(counted(branch.len(), "step")),
            (left > 0).then(|| format!("{} left", counted(left, "requirement"))),
            (all > 0).then(|| format!("{stand} of {} {stands}", counted(all, "answer"))),
            (!ruled_out.is_empty()).then(|| format!("{} ruled out", ruled_out.len())),
        ];
        // In a small investigation, what was ruled out and the answers have rows of their own.
        let has_row = |node: &Node| {
            self.assessment.is_small()
                && (ruled_out.iter().any(|it| it.id == node.id)
                    || answers.iter().any(|it| it.node.id == node.id))
        };
        let others = branch.iter().skip(1).filter(|node| !has_row(node));
        let mut row = Row {
            node: branch.first().map(|node| node.id.clone()),
            title: branch.first().map(|node| name(node)).unwrap_or_default(),
            class: "branch",
            words: parts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
            others: others.map(|node| node.id.clone()).collect(),
            ..Row::default()
        };
        let Some(period) = self.period else { return row };
        let at = |node: &Arc<Node>| node.classification.as_ref().map(Classification::current_since);
        if assessment.is_small() {
            let mut times: Vec<Timestamp> =
                branch.iter().filter(|node| self.is_open(node)).filter_map(|node| at(node)).collect();
            times.sort_unstable();
            if let (Some(first), Some(last)) = (branch.first(), times.last()) {
                row.track.span("trunk", period, first.proposed_at, *last);
            }
            times.dedup();
            times.into_iter().for_each(|it| row.track.mark("explored", period.place(it), ""));
            return row;
        }
        let mut ticks: Vec<f64> = ruled_out.iter().filter_map(|it| Some(period.place(at(it)?))).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        ticks.into_iter().for_each(|x| row.track.mark("end", x, ""));
        row.track.area = area(&self.open_ends(branch), peak, period);
        let found = answers.iter().filter_map(|answer| at(answer.node)).min();
        if let Some((found, until)) = found.zip(Timestamp::from_milliseconds(period.until)) {
            let is_checked = answers.iter().any(|answer| answer.verdict.is_confirmed());
            row.track.span(if is_checked { "checked" } else { "unchecked" }, period, found, until);
        }
        row
    }

    fn is_open(&self, node: &Node) -> bool {
        let role = self.assessment.rules.zip(node.state()).map(|(rules, state)| rules.role(state));
        role == Some(Role::Open)
    }

    /// Returns the limits of the conclusion, and the ideas that were withdrawn.
    fn not_covered(&self) -> RowGroup {
        let limit = |limit: VerdictLimit<'_>| Row {
            title: one_line(limit.text),
            class: "limit",
            sign: "▨",
            words: limit.node.map(|by| format!("{by} did not try it")).unwrap_or_default(),
            ..Row::default()
        };
        let withdrawn = self.assessment.investigation.withdrawn().map(|node| {
            let row = self.node(node, "withdrawn", "↶");
            Row { words: "proposed, then withdrawn".to_owned(), ..row }
        });
        let rows = self.assessment.limits().into_iter().map(limit).chain(withdrawn).collect();
        RowGroup::counted("not-covered", "Not covered, or never tried", rows)
    }

    /// Returns the track of an answer: worked on, unchecked, checked, and refuted.
    fn standing(&self, answer: &Answer<'a>, is_whole: bool, period: Period) -> Track {
        let investigation = self.assessment.investigation;
        let since = |id: &NodeId| Some(investigation.node(id)?.classification.as_ref()?.current_since());
        let mut track = Track::default();
        let Some(result) = &answer.node.classification else { return track };
        let path = investigation.path(&answer.node.id);
        let steps: Vec<_> = path.iter().filter(|_| is_whole).collect();
        let began = steps.first().map_or(answer.node.proposed_at, |first| first.proposed_at);
        let found = result.committed_at;
        track.span("work", period, began, found);
        let end = Timestamp::from_milliseconds(period.until).unwrap_or(found);
        let refuted = answer.refuted_by.iter().filter_map(since).min().map(|at| at.max(found));
        let until = refuted.unwrap_or(end);
        let objected = answer.against.iter().filter_map(|id| Some(investigation.comment(*id)?.at)).min();
        let is_doubted = refuted.is_none() && !answer.verdict.is_confirmed();
        let doubted = if is_doubted { objected.unwrap_or(found).max(found) } else { until };
        let held = answer.confirming.iter().filter(|by| by.verdict().is_confirmed());
        let held =
            held.filter_map(|by| since(&by.node)).min().unwrap_or(until).clamp(found.min(until), until);
        track.span("unchecked", period, found, held.min(doubted));
        track.span("checked", period, held, doubted);
        track.span("unchecked", period, doubted.max(found), until);
        if is_whole {
            let best = answer.confirming.first().filter(|by| by.verdict().is_confirmed());
            let best = best.and_then(|by| investigation.node(&by.node));
            if let Some((by, at)) = best.and_then(|by| Some((by, since(&by.id)?))) {
                track.span("attack", period, by.proposed_at, at);
            }
            // Steps stored by one call share a place, which shows the last of them.
            let places = steps.iter().enumerate().filter_map(|(at, step)| {
                Some((period.place(step.classification.as_ref()?.committed_at), at + 1))
            });
            for (x, number) in places {
                track.marks.retain(|mark| mark.x != x);
                track.mark("step", x, number.to_string());
            }
        }
        if let Some(refuted) = refuted {
            track.mark("refuted", period.place(refuted), "✕");
        }
        track
    }
}

/// Returns the area of the open ends over time as an SVG path.
fn area(open: &[(Timestamp, usize)], peak: usize, period: Period) -> String {
    let mut path = String::new();
    let height = |number: usize| AREA - number * AREA / peak.max(1);
    let mut last = 0;
    for (at, number) in open {
        let x = (period.place(*at) * 10.0).round();
        let from = if path.is_empty() { format!("M{x} {AREA}") } else { format!("H{x}") };
        path.push_str(&format!("{from}V{}", height(*number)));
        last = *number;
    }
    if last > 0 {
        path.push_str(&format!("H1000V{AREA}"));
    }
    if path.is_empty() { path } else { path + "Z" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BoundAnswer, Caller, Conclusion, Investigation, Meta};
    use crate::ruleset::{EffectiveRules, builtin};

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_milliseconds(1_795_000_000_000 + minute * 60_000).unwrap()
    }

    /// Creates a node from `ID STATE SESSION MINUTE`, proposed a minute before. Without a state, it is pending.
    fn node(line: &str) -> Arc<Node> {
        let mut parts = line.split(' ');
        let id: NodeId = parts.next().unwrap().parse().unwrap();
        let above = id.suffix().trim_end_matches(|c: char| c.is_ascii_digit());
        let parent = (id.round() > 1).then(|| format!("R{}.{above}", id.round() - 1));
        let parent = parent.map(|parent| parent.parse().unwrap());
        let (state, session) = (parts.next(), parts.next().unwrap_or_default());
        let minute = parts.next().map_or(0, |minute| minute.parse().unwrap());
        let mut node = Node::new(id.clone(), parent, format!("Title of {id}"), at(minute - 1));
        if let Some(state) = state {
            let findings = "Measured ten times, with the cache cold and warm.";
            let mut result = Classification::new(state.parse().unwrap(), findings, at(minute));
            result.refutes = state == "REFUTED";
            result.agent_id = Some(session.to_owned());
            result.caller = Caller { session: Some(session.into()), ..Caller::default() };
            node.classification = Some(result);
        }
        Arc::new(node)
    }

    /// Returns the rows as `heading: sign id words [checks]`, and the width of the axis in labels.
    fn told(nodes: &[&str], answers: &[(&str, BoundAs)], signed: &[Signed]) -> (Vec<String>, Option<usize>) {
        let meta = Meta::sample("review", at(0));
        let mut end = Conclusion::new(at(100));
        end.conclusion = Some("So it is.".into());
        end.not_covered = vec!["Windows.".into()];
        end.answers =
            answers.iter().map(|(id, role)| BoundAnswer { id: id.parse().unwrap(), role: *role }).collect();
        let end = Some(end).filter(|_| !answers.is_empty());
        let (investigation, faults) =
            Investigation::from_facts(meta, nodes.iter().map(|line| node(line)), end);
        assert!(faults.is_empty(), "{faults:?}");
        let ruleset = &builtin::all().iter().find(|it| it.ruleset.name == "review").unwrap().ruleset;
        let rules = EffectiveRules::new(ruleset, investigation.meta());
        let rows = Assessment::new(&investigation, Some(rules)).rows(signed);
        let row = |group: &RowGroup, row: &Row| {
            let id = row.node.as_ref().map_or(&*row.title, NodeId::as_str);
            let checks: String = row.checks.iter().map(|check| check.sign).collect();
            format!("{}: {} {id} {} {checks}", group.heading, row.sign, row.words).trim_end().to_owned()
        };
        let lines = rows.groups.iter().flat_map(|group| group.rows.iter().map(|it| row(group, it)));
        (lines.collect(), rows.axis.map(|axis| axis.ticks.len()))
    }

    #[test]
    fn each_answer_has_one_row_with_its_checks_and_a_rival_is_no_part() {
        let nodes = [
            "R1.A ANSWER author 1",
            "R1.B ANSWER author 1",
            "R1.C ANSWER author 1",
            "R1.D RULED_OUT author 1",
            "R2.A1 CONFIRMED critic 1",
            "R2.B1 REFUTED critic 1",
        ];
        let answers = [("R1.A", BoundAs::Part), ("R1.B", BoundAs::Part), ("R1.C", BoundAs::Rival)];
        let (rows, axis) = told(&nodes, &answers, &[]);
        assert_eq!(
            rows,
            [
                "The parts of the answer: ✓ R1.A confirmed in another session, weakly ✓○○○",
                "The parts of the answer: ✗ R1.B refuted ✗○○○",
                "Also possible: ? R1.C not checked ○○○○",
                "Ruled out: ✕ R1.D",
                "Not covered, or never tried: ▨ Windows.",
            ]
        );
        assert_eq!(axis, None, "all nodes are of one minute");
        for (is_valid, is_approval, sign) in [(true, true, '✓'), (true, false, '✗'), (false, true, '○')]
        {
            let signed = [Signed { label: "By Ada".into(), is_valid, is_approval, is_earlier: false }];
            assert!(told(&nodes, &answers, &signed).0[0].ends_with(sign), "{signed:?}");
        }
    }

    #[test]
    fn a_large_investigation_has_a_row_for_each_branch_and_ten_minutes_have_an_axis() {
        let mut nodes = vec!["R1.A OPEN author 1".to_owned(), "R1.B OPEN author 1".to_owned()];
        nodes.extend((1..=70).map(|number| format!("R2.A{number} RULED_OUT author {}", number + 1)));
        nodes.push("R2.B1".to_owned());
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let (rows, axis) = told(&nodes, &[], &[]);
        assert_eq!(rows[0], "What was tried, by branch:  R1.A 71 steps · 70 ruled out");
        assert!(rows[1].starts_with("What was tried, by branch:  R1.B 2 steps · "), "{rows:?}");
        assert_eq!((rows.len(), axis), (2, Some(4)), "{rows:?}");
        let has_axis = |nodes| told(nodes, &[], &[]).1.is_some();
        assert!(!has_axis(&nodes[..10]) && has_axis(&nodes[..11]), "nine minutes, and ten");
    }
}
