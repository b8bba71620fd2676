//! The state of the report: who attacked its text, and whether the text is still what they saw. A correction attacks it once
//! it is accepted: until then it is a doubt, and nobody has said that the rest is right.

use schemars::JsonSchema;
use serde::Serialize;

use super::Assessment;
use crate::domain::{Amendment, Classification, Comment, CommentKind, Conclusion, Node};
use crate::ruleset::corrections::{self, Corrections, accepter};
use crate::ruleset::rules::objections::Objection;
use crate::ruleset::rules::verification::{ClaimedAuthor, Grade};
use crate::text::{one_line, shorten};

/// The maximum number of attackers named, and the maximum length of a name in characters.
const NAMED: usize = 3;
const NAME: usize = 40;

/// Whether somebody attacked the report: confirmed it, or corrected it.
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
        let grade = |comment: &Comment| {
            let by = corrections::author(comment);
            by.independence_from(&corrections.others(&by))
        };
        let is_attack = |comment: &&Comment| {
            comment.node.is_none()
                && !by_hand.comments.contains(&comment.id)
                && (comment.kind == CommentKind::Confirmation || corrections.is_accepted(comment))
                && grade(comment).is_confirmed()
        };
        let attacks = || self.investigation.comments().map(AsRef::as_ref).filter(is_attack);
        let covers = |comment: &&Comment| {
            let by = corrections::author(comment);
            comment.saw.is_some() && !by_hand.end && corrections.are_covered((comment.saw, comment.at), &by)
        };
        let covering: Vec<&Comment> = attacks().filter(covers).collect();
        let (standing, attacked_by) = match names(covering.iter().copied()) {
            by if !by.is_empty() => (ReportStanding::Attacked, by),
            _ => match names(attacks().filter(|comment| comment.at >= report.proposed_at)) {
                by if by.is_empty() => (ReportStanding::NotAttacked, by),
                by => (ReportStanding::ChangedSince, by),
            },
        };
        let is_corrected = covering.iter().all(|attack| attack.saw != report.claim_hash());
        let mut by = match attacked_by.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!("{} and {more} more", attacked_by[..NAMED].join(", ")),
            _ => attacked_by.join(", "),
        };
        if !covering.is_empty() && covering.iter().all(|attack| grade(attack) == Grade::SecondAgent) {
            by.push_str(" in the same session");
        }
        // A reopened conclusion has a verdict of its own.
        let what =
            if self.end().is_some() && self.investigation.draft().is_some() { "new draft" } else { "report" };
        let words = match standing {
            ReportStanding::Attacked if is_corrected => {
                format!("The {what}: checked by {by}, its text changed since only by corrections")
            }
            ReportStanding::Attacked => format!("The {what}: checked by {by}, its text unchanged since"),
            ReportStanding::ChangedSince => format!("The {what} changed since {by} checked it"),
            ReportStanding::NotAttacked => {
                let result = report.classification.as_ref();
                let agent = if result.is_some_and(|it| it.agent_id.is_some()) { "the agent " } else { "" };
                match result.and_then(Classification::who).map(|who| shorten(&one_line(&who), NAME)) {
                    Some(who) => {
                        let changed =
                            changed_by(&report).map(|by| format!(", changed by {by}")).unwrap_or_default();
                        format!("The {what} is by {agent}{who}{changed}; nobody else has checked the {what}")
                    }
                    None => format!("Nobody has checked the {what}"),
                }
            }
        };
        Some(ReportState { standing, words, attacked_by })
    }

    /// Returns the open corrections of the report.
    pub(super) fn corrections_of_report(&self) -> impl Iterator<Item = &Objection> {
        self.open.iter().filter(|it| it.is_correction() && it.comment.node.is_none())
    }
}

/// Returns the name of the last author who changed the text of the report as a node, unless he drafted it or the text was
/// corrected.
fn changed_by(report: &Node) -> Option<String> {
    let result = report.classification.as_ref()?;
    let texts = |it: &&Amendment| it.correction.is_none() && (it.title.is_some() || it.findings.is_some());
    let last = result.amended.iter().rev().find(texts)?;
    let (by, drafted) = (accepter(last), ClaimedAuthor::of(result.agent_id.as_deref(), &result.caller));
    let who = last.caller.who(last.agent_id.as_deref()).filter(|_| !by.is_same_as(&drafted))?;
    Some(shorten(&one_line(&who), NAME))
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
