//! The data shown on every page of an investigation.

use serde::{Deserialize, Serialize};

use super::node::client;
use super::{Overview, Time};
use crate::assess::{Assessment, Verdict};
use crate::decide::blockers;
use crate::domain::{Asked, Conclusion};
use crate::markdown;
use crate::report::templates::SafeHtml;
use crate::report::texts::CARD_EXCERPT;
use crate::report::{ReportInput, history};

/// The maximum length of a question shown in full at the top of a page, in characters.
const SHORT_QUERY: usize = 320;

/// The data shown on every page of an investigation.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Header {
    #[serde(flatten)]
    pub facts: HeaderFacts,
    pub query: String,
    /// True if pages show the question collapsed.
    pub query_is_long: bool,
    /// The requested revision and its time, if the report does not show the newest commit.
    pub as_of: Option<AsOf>,
    /// The start date: `2 Nov 2026`.
    pub started_on: String,
    /// The end date.
    pub ended_on: Option<String>,
    /// The duration: `3 h 55 min`.
    pub took: Option<String>,
    pub ended_by: Option<String>,
    /// The name reported by the client that ended the investigation.
    pub ended_client: Option<String>,
    /// The reason for stopping early, if the investigation was stopped.
    pub stopped: Option<StoppedView>,
    /// A person's answer to the question whether the investigation may end, in one sentence. `None` if no person had to
    /// be asked.
    pub asked: Option<String>,
    /// Other conclusions of the same investigation, brought in by a merge.
    pub other_ends: Vec<OtherEnd>,
    /// True if research continued elsewhere after the investigation ended.
    pub is_continued: bool,
    /// The number of nodes with unresolved conflicts between their results.
    pub contested: usize,
    /// The number of contested answers.
    pub contested_answers: usize,
    /// The time at which the conclusion was added, if the investigation had already ended.
    pub concluded_at: Option<Time>,
    /// The number of answers checked only by their authors.
    pub self_checked: usize,
    /// The verdict on the investigation or on the best answer so far.
    pub sure: Option<Verdict>,
    /// The number of refuted nodes among the answers and the steps to them.
    pub refuted: usize,
    /// The number of commits.
    pub commits: usize,
    /// The commit shown.
    pub head: String,
    pub head_short: String,
    /// True if the ruleset could be read. Otherwise, no state has a role.
    pub has_rules: bool,
}

/// The facts shown on the pages of an investigation and in the index of several investigations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::report) struct HeaderFacts {
    pub id: String,
    pub title: String,
    /// What the question asks, or its beginning, in one line.
    pub query_excerpt: String,
    pub ended: bool,
    pub started_at: Time,
    pub ended_at: Option<Time>,
    /// The number of unresolved objections.
    pub objections: usize,
    /// True if the investigation ended with a conclusion.
    pub has_conclusion: bool,
    pub ruleset: String,
    pub mode: String,
    pub rounds: u32,
    pub committed: usize,
    pub pending: usize,
    /// The number of answers.
    pub answers: usize,
    /// The number of confirmed answers.
    pub confirmed: usize,
    pub ruled_out: usize,
    /// The errors in the investigation's files.
    pub faults: Vec<String>,
}

/// A conclusion other than the one in force.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OtherEnd {
    pub at: Time,
    pub agent: Option<String>,
    pub conclusion: Option<SafeHtml>,
}

/// The reason for stopping an investigation before the rules were met.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StoppedView {
    /// The reason: `the budget was spent`, …
    pub label: &'static str,
    pub note: Option<String>,
}

/// An earlier state shown by a report.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct AsOf {
    /// The revision, as requested.
    pub rev: String,
    /// The time of its commit, or `None` if no commit was read.
    pub at: Option<Time>,
}

/// Returns the header of a report.
pub(super) fn header(input: &ReportInput, assessment: &Assessment<'_>, overview: &Overview) -> Header {
    let snapshot = &input.snapshot;
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let conclusion = investigation.conclusion();
    let head = snapshot.head.to_string();
    let committed = investigation.committed().count();
    let at_odds = snapshot.rules().map(|rules| blockers::at_odds(investigation, &rules)).unwrap_or_default();
    let faults = snapshot.all_faults().map(ToString::to_string);
    Header {
        facts: HeaderFacts {
            id: meta.id.to_string(),
            title: meta.title.clone(),
            query_excerpt: markdown::question(&meta.query, CARD_EXCERPT),
            ended: investigation.end().is_some(),
            started_at: Time::of(meta.started_at),
            ended_at: conclusion.map(|end| Time::of(end.ended_at)),
            objections: assessment.open.iter().filter(|it| !it.is_correction()).count(),
            has_conclusion: overview.conclusion.is_some(),
            ruleset: meta.ruleset.clone(),
            mode: meta.mode.clone(),
            rounds: if committed == 0 { 0 } else { investigation.current_round() },
            committed,
            pending: investigation.pending().count(),
            answers: assessment.answers.len(),
            confirmed: assessment.count(Verdict::is_confirmed),
            ruled_out: assessment.ruled_out().count(),
            faults: faults.chain(at_odds.iter().map(ToString::to_string)).collect(),
        },
        query: meta.query.clone(),
        query_is_long: meta.query.chars().nth(SHORT_QUERY).is_some(),
        as_of: input
            .rev
            .as_ref()
            .map(|rev| AsOf { rev: rev.clone(), at: input.history.first().map(|entry| Time::of(entry.at)) }),
        started_on: meta.started_at.to_day(),
        ended_on: conclusion.map(|end| end.ended_at.to_day()),
        took: conclusion
            .map(|end| duration(end.ended_at.seconds().saturating_sub(meta.started_at.seconds()))),
        ended_by: conclusion.and_then(Conclusion::who),
        ended_client: conclusion.and_then(|end| client(&end.caller)),
        stopped: conclusion
            .and_then(|end| end.stopped.as_ref())
            .map(|stopped| StoppedView { label: stopped.reason.label(), note: stopped.note.clone() }),
        asked: conclusion.and_then(|end| end.asked.as_ref()).map(Asked::line),
        other_ends: conclusion
            .iter()
            .flat_map(|end| &end.other_conclusions)
            .filter(|other| !other.draft)
            .enumerate()
            .map(|(at, other)| OtherEnd {
                at: Time::of(other.ended_at),
                agent: other.who(),
                conclusion: SafeHtml::some_markdown(
                    Some(&other.report()).filter(|text| !text.is_empty()).map(String::as_str),
                    &format!("other-end-{at}"),
                    3,
                ),
            })
            .collect(),
        is_continued: conclusion.is_some() && investigation.end_in_force().is_none(),
        contested: blockers::contested(investigation).len(),
        contested_answers: assessment.count(|verdict| verdict == Verdict::Contested),
        concluded_at: conclusion.and_then(|end| end.concluded_at).map(Time::of),
        self_checked: assessment.count(|verdict| verdict == Verdict::AuthorOnly),
        sure: assessment.overall(),
        refuted: assessment.refuted_answers().count(),
        commits: input.history.len(),
        head_short: head.chars().take(history::SHORT).collect(),
        head,
        has_rules: snapshot.ruleset.is_ok(),
    }
}

/// Formats a duration: `40 s`, `12 min`, `3 h 55 min`, `4 days`.
fn duration(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        seconds => format!("{} days", seconds / 86_400),
    }
}
