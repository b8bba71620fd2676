//! The index of several investigations, with an entry for each, including unreadable ones.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::ReportInput;
use super::model::{HeaderFacts, Report, SignOffMark, Time, TopView};
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
    /// The entries, newest first.
    pub investigations: &'a [SiteEntry],
    pub unreadable: &'a [UnreadableInvestigation],
    pub counts: Counts,
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

/// The number of entries for each filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub open: usize,
    pub ended: usize,
    pub answered: usize,
    pub confirmed: usize,
    pub self_checked: usize,
    pub unanswered: usize,
}

impl SiteEntry {
    /// Returns the id of the investigation.
    pub fn id(&self) -> &str {
        &self.facts.id
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
        entries.sort_by(|a, b| {
            let place = |entry: &SiteEntry| (entry.facts.started_at.iso.clone(), entry.facts.id.clone());
            place(b).cmp(&place(a))
        });
        let mut counts = Counts::default();
        for entry in entries.iter() {
            counts.ended += usize::from(entry.facts.ended);
            counts.open += usize::from(!entry.facts.ended);
            counts.answered += usize::from(entry.facts.answers > 0);
            counts.confirmed += usize::from(entry.sure == "confirmed");
            counts.self_checked += usize::from(entry.sure == "self-checked");
            counts.unanswered += usize::from(entry.sure == "unanswered");
        }
        SitesView { investigations: entries, unreadable, counts }
    }
}
