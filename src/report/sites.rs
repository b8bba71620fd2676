//! The index of several investigations, with an entry for each, including unreadable ones.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::ReportInput;
use super::model::{HeaderFacts, Report, SignOffMark, Time, TopView, words};
use super::templates::SafeHtml;
use crate::service::signoff::SignOffs;

/// An unreadable investigation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UnreadableInvestigation {
    /// The name of the investigation's folder.
    pub name: String,
    /// The reason, in one sentence.
    pub reason: String,
    /// The address of its first page from an earlier run, if it is still in the site.
    pub kept: Option<String>,
}

/// The index.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SitesView<'a> {
    /// The entries: first what needs somebody, then the newest.
    pub investigations: &'a [SiteEntry],
    pub unreadable: &'a [UnreadableInvestigation],
    /// The filters in use: their values, their labels, and the number of entries.
    pub filters: Vec<(&'static str, &'static str, usize)>,
    /// The words for states, with their meaning.
    pub words: SafeHtml,
}

/// A summary of an investigation. It is stored for the next run, which may reuse it without rereading the investigation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteEntry {
    #[serde(flatten)]
    pub(super) facts: HeaderFacts,
    /// The address of its first page, relative to the site's folder.
    pub(super) href: String,
    /// The outcome, in one sentence.
    pub(super) verdict: String,
    /// The bottom line of its conclusion.
    pub(super) bottom_line: Option<String>,
    /// Its best answer, if there is one.
    pub(super) best: Option<BestAnswer>,
    /// The heading and the verdict of its first page.
    pub(super) top: TopView,
    /// The number of contested answers.
    pub(super) contested: usize,
    /// True if the investigation was stopped early.
    pub(super) stopped: bool,
    pub(super) commits: usize,
    /// The time of its last commit.
    pub(super) changed_at: Time,
    /// The number of sign-offs by validity.
    pub(super) sign_offs: Vec<SignOffCount>,
    /// The CSS class of the verdict, or `unanswered` or `unknown`.
    pub(super) sure: Cow<'static, str>,
}

/// The best answer of an investigation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BestAnswer {
    pub title: String,
    /// The address relative to the investigation's folder.
    pub href: String,
}

/// The number of sign-offs with the same validity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SignOffCount {
    pub mark: SignOffMark,
    pub count: usize,
}

/// The filters of the index: each verdict, and whether it has ended. What comes first needs somebody most.
const FILTERS: [(&str, &str); 11] = [
    ("refuted", "Refuted"),
    ("undermined", "Resting on a refuted answer"),
    ("contested", "Contested"),
    ("unknown", "Unreadable rules"),
    ("open", "Unfinished"),
    ("early", "Stopped early"),
    ("unconfirmed", "Not checked"),
    ("self-checked", "Checked only by its author"),
    ("unanswered", "Without an answer"),
    ("confirmed", "Confirmed"),
    ("ended", "Ended"),
];

impl SiteEntry {
    /// Returns the id of the investigation.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Returns true if the entry passes the filter with this value.
    fn passes(&self, filter: &str) -> bool {
        match filter {
            "open" => !self.facts.ended,
            "ended" => self.facts.ended,
            sure => self.sure == sure,
        }
    }

    /// Returns the entry for a report. `folder` is the folder of the report's pages. It is empty or ends in `/`.
    pub(super) fn of(input: &ReportInput, report: &Report, folder: &str) -> SiteEntry {
        let header = &report.header;
        SiteEntry {
            facts: header.facts.clone(),
            href: format!("{folder}index.html"),
            verdict: report.overview.found.clone(),
            bottom_line: report.overview.bottom_line.clone(),
            best: report
                .overview
                .best
                .as_ref()
                .map(|best| BestAnswer { title: best.card.title.clone(), href: best.card.href.clone() }),
            top: report.overview.top.clone(),
            contested: header.contested_answers,
            stopped: header.stopped.is_some(),
            commits: input.history.len(),
            changed_at: input
                .history
                .first()
                .map_or_else(|| header.facts.started_at.clone(), |entry| Time::of(entry.at)),
            sign_offs: sign_offs(&input.sign_offs),
            sure: Cow::Borrowed(match header.sure {
                _ if !header.has_rules => "unknown",
                None => "unanswered",
                Some(_) if header.facts.answers == 0 => "unanswered",
                Some(verdict) => verdict.class(),
            }),
        }
    }
}

fn sign_offs(sign_offs: &SignOffs) -> Vec<SignOffCount> {
    let mut counts: Vec<SignOffCount> = Vec::new();
    for mark in sign_offs.all.iter().map(SignOffMark::of) {
        match counts.iter_mut().find(|known| known.mark == mark) {
            Some(known) => known.count += 1,
            None => counts.push(SignOffCount { mark, count: 1 }),
        }
    }
    counts
}

impl<'a> SitesView<'a> {
    /// Sorts the entries and returns the index.
    pub(super) fn of(
        entries: &'a mut [SiteEntry],
        unreadable: &'a [UnreadableInvestigation],
    ) -> SitesView<'a> {
        // Ids sort by time only if this program created them.
        entries.sort_by_cached_key(|entry| {
            let need = FILTERS.iter().position(|(value, _)| entry.passes(value));
            let need = if entry.facts.objections > 0 { Some(0) } else { need };
            (need, Reverse((entry.facts.started_at.iso.clone(), entry.facts.id.clone())))
        });
        let filter = |(value, label): (&'static str, &'static str)| {
            (value, label, entries.iter().filter(|entry| entry.passes(value)).count())
        };
        let filters = FILTERS.into_iter().map(filter).filter(|(.., count)| *count > 0).collect();
        SitesView { investigations: entries, unreadable, filters, words: words() }
    }
}
