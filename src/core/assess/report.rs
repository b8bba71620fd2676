//! The state of the report: who attacked its text, and whether the text is still what they saw.

use schemars::JsonSchema;
use serde::Serialize;

use super::Assessment;
use crate::domain::{Classification, Comment, CommentKind, Conclusion};
use crate::ruleset::corrections::{self, Corrections};
use crate::text::{one_line, shorten};

/// The maximum number of attackers named, and the maximum length of a name in characters.
const NAMED: usize = 3;
const NAME: usize = 40;

/// Whether somebody attacked the report: confirmed it, or proposed a correction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReportStanding {
    /// Somebody else attacked the text as it is, but for the attacker's own small corrections.
    Attacked,
    /// The text changed since.
    ChangedSince,
    /// Nobody else attacked it.
    NotAttacked,
}

/// The state of the draft of the report or, without one, of the conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportState {
    /// Whether somebody attacked the text as it is.
    pub standing: ReportStanding,
    /// The state in words.
    pub words: String,
    /// The names of the attackers, oldest attack first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attacked_by: Vec<String>,
}

impl Assessment<'_> {
    /// Returns the state of the report. `None` if there is no text.
    pub fn report(&self) -> Option<ReportState> {
        let report = self.investigation.report().and_then(Conclusion::as_node)?;
        let corrections = Corrections::of_report(self.investigation, &report);
        let by_hand = self.investigation.by_hand();
        let is_attack = |comment: &&Comment| {
            let by = corrections::author(comment);
            comment.node.is_none()
                && !by_hand.comments.contains(&comment.id)
                && matches!(comment.kind, CommentKind::Confirmation | CommentKind::Correction)
                && by.independence_from(&corrections.others(&by)).is_confirmed()
        };
        let attacks = || self.investigation.comments().map(AsRef::as_ref).filter(is_attack);
        let covers = |comment: &&Comment| {
            let by = corrections::author(comment);
            comment.saw.is_some() && !by_hand.end && corrections.are_covered((comment.saw, comment.at), &by)
        };
        let (standing, attacked_by) = match names(attacks().filter(covers)) {
            by if !by.is_empty() => (ReportStanding::Attacked, by),
            _ => match names(attacks().filter(|comment| comment.at >= report.proposed_at)) {
                by if by.is_empty() => (ReportStanding::NotAttacked, by),
                by => (ReportStanding::ChangedSince, by),
            },
        };
        let last = self.investigation.report().and_then(|report| report.amended.last()).map(|it| it.at);
        let is_corrected = attacks().filter(covers).all(|attack| last.is_some_and(|last| last > attack.at));
        let by = match attacked_by.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!("{} and {more} more", attacked_by[..NAMED].join(", ")),
            _ => attacked_by.join(", "),
        };
        let words = match standing {
            ReportStanding::Attacked if is_corrected => {
                format!("The report: checked by {by}, its text changed since only by corrections")
            }
            ReportStanding::Attacked => format!("The report: checked by {by}, its text unchanged since"),
            ReportStanding::ChangedSince => format!("The report changed since {by} checked it"),
            ReportStanding::NotAttacked => {
                let result = report.classification.as_ref();
                let agent = if result.is_some_and(|it| it.agent_id.is_some()) { "the agent " } else { "" };
                match result.and_then(Classification::who).map(|who| shorten(&one_line(&who), NAME)) {
                    Some(who) => format!("The report is by {agent}{who}; nobody else has checked the report"),
                    None => "Nobody has checked the report".to_owned(),
                }
            }
        };
        Some(ReportState { standing, words, attacked_by })
    }
}

/// Returns the names of the authors, each once.
fn names<'a>(comments: impl Iterator<Item = &'a Comment>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for comment in comments {
        let name = shorten(&one_line(&comment.author.label()), NAME);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
