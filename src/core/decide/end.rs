//! `tot_end`: the answer, once nothing is owed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::standing::{blockers, faults, owed};
use super::{Decision, Rejection, check_lengths, not_blank};
use crate::domain::node::says_nothing;
use crate::domain::{
    Asked, Code, Conclusion, Diagnostic, Event, Investigation, PersonsAnswer, StopReason, Stopped, Timestamp,
};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::{KINDS, Verdict, secrets};

/// What an agent asks for, not yet checked. It is told in these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// The answer, in Markdown: what was found, how sure it is, what was ruled out.
    pub conclusion: Option<String>,
    /// Who ends it.
    pub agent_id: Option<String>,
    /// To end before nothing is owed: every page says so, with what was owed.
    pub stopped: Option<Stop>,
    /// What the person in front of the client said, where one was to be asked. No argument of the call: an agent can't say
    /// it.
    #[serde(skip)]
    pub asked: Option<Asked>,
}

/// Why it ends early.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Stop {
    /// No time or money is left; what was found is enough; nothing leads on.
    #[schemars(with = "StopReasonName")]
    pub reason: StopReason,
    /// More about it.
    pub note: Option<String>,
}

/// The reasons, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[expect(dead_code, reason = "it stands for the domain's own, which knows no schemas")]
enum StopReasonName {
    Budget,
    Enough,
    Stuck,
}

/// What keeps an end away, beside what any call is.
pub const CODES: &[Code] = &[
    Code::NoNodes,
    Code::RecoveryRequired,
    Code::MinRounds,
    Code::InsufficientChildren,
    Code::PendingProposals,
    Code::DepthTooShallow,
    Code::QualityTooLow,
    Code::AwaitingConfirmation,
    Code::Contested,
    Code::UnconfirmedAnswer,
    Code::NotIndependent,
    Code::ObjectionOpen,
    Code::MissingConclusion,
    Code::EndDeclined,
    Code::UnreadableNode,
    Code::UnknownState,
    Code::TerminalParent,
    Code::InvalidChildState,
];

/// What it may be warned of.
pub const WARNINGS: &[Code] = &[
    Code::AlreadyEnded,
    Code::MissingConclusion,
    Code::UnconfirmedAnswer,
    Code::NotIndependent,
    Code::ObjectionOpen,
    Code::NotAccepted,
    Code::SecretSuspected,
];

/// Judges an end. One that has already ended stays as it is, a decision without an event, but for a conclusion where there
/// was none. With `stopped`, what is owed does not keep the end away. The word of a person who was asked counts once nothing
/// else does.
///
/// # Errors
///
/// Every blocker, not only the first; `TEXT_TOO_LONG`; and `END_DECLINED`.
pub fn end(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: End,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    if let Some(ended) = investigation.end_in_force() {
        // It answers as before; but who brings another answer must know that it is not stored.
        let brings = not_blank(request.conclusion).filter(|text| Some(text) != ended.conclusion.as_ref());
        if let Some(text) = brings.as_ref().filter(|_| ended.conclusion.is_none()) {
            let mut verdict = Verdict::default();
            check_texts(
                rules,
                [("conclusion", Some(text)), ("agentId", request.agent_id.as_ref())],
                &mut verdict,
            );
            Rejection::unless_empty(verdict.errors)?;
            let conclusion = Arc::new(Conclusion {
                agent_id: not_blank(request.agent_id).or_else(|| ended.agent_id.clone()),
                concluded_at: Some(now.max(ended.ended_at)),
                conclusion: brings,
                ..Conclusion::clone(ended)
            });
            return Ok(Decision { event: Some(Event::Ended { conclusion }), warnings: verdict.warnings });
        }
        let unstored = brings.map(|_| {
            let message =
                format!("It was ended at {} already; this conclusion was not stored.", ended.ended_at);
            Diagnostic::new(Code::AlreadyEnded, message)
                .suggest("To replace it, call tot_amend with `conclusion`. To go on, reclassify a node to an open state, and end it again.")
        });
        return Ok(Decision { event: None, warnings: unstored.into_iter().collect() });
    }
    let owed = owed(investigation, rules);
    let errors = match request.stopped {
        Some(_) => faults(investigation, rules),
        None => blockers(investigation, rules),
    };
    let mut verdict = Verdict { errors, warnings: Vec::new() };
    let note = request.stopped.as_ref().and_then(|stop| stop.note.as_ref());
    let texts = [
        ("conclusion", request.conclusion.as_ref()),
        ("agentId", request.agent_id.as_ref()),
        ("stopped.note", note),
        ("what the person said", request.asked.as_ref().and_then(|asked| asked.said.as_ref())),
    ];
    check_texts(rules, texts, &mut verdict);
    let conclusion = not_blank(request.conclusion);
    if conclusion.as_deref().is_none_or(says_nothing) {
        let doubt = Diagnostic::new(Code::MissingConclusion, "It ends without a conclusion.")
            .suggest("Call tot_end with `conclusion`: the answer, how sure it is, what was ruled out.");
        verdict.add(rules.ruleset().checks.missing_conclusion, doubt);
    }
    verdict.warnings.extend(KINDS.iter().flat_map(|kind| (kind.end_warnings)(investigation, rules)));
    Rejection::unless_empty(verdict.errors)?;
    verdict.warnings.extend(request.asked.as_ref().map(word_of).transpose()?.flatten());
    let conclusion = Arc::new(Conclusion {
        agent_id: not_blank(request.agent_id),
        asked: request.asked,
        // Where nothing was owed, nothing was stopped early.
        stopped: request
            .stopped
            .filter(|_| !owed.is_empty())
            .map(|stop| Stopped { reason: stop.reason, note: not_blank(stop.note) }),
        conclusion,
        // A clock may have been set back since the last result.
        ..Conclusion::new(investigation.last_research().map_or(now, |last| last.max(now)))
    });
    Ok(Decision { event: Some(Event::Ended { conclusion }), warnings: verdict.warnings })
}

/// What follows from the answer of a person who was to be asked.
///
/// # Errors
///
/// `END_DECLINED`.
fn word_of(asked: &Asked) -> Result<Option<Diagnostic>, Rejection> {
    match asked.answer {
        PersonsAnswer::Accepted => Ok(None),
        PersonsAnswer::Declined => {
            let said = asked.said.as_deref().map(|said| format!(": “{said}”")).unwrap_or_default();
            let message = format!("The person in front of the client was asked and declined the end{said}.");
            Err(Diagnostic::new(Code::EndDeclined, message)
                .suggest("Ask that person what is missing, do it, and end it then.")
                .into())
        }
        PersonsAnswer::Cancelled | PersonsAnswer::Unanswered | PersonsAnswer::NotOffered => {
            let message = format!("It ended without a person's yes ({}).", asked.answer.label());
            Ok(Some(Diagnostic::new(Code::NotAccepted, message)))
        }
    }
}

fn check_texts<'a>(
    rules: &EffectiveRules,
    texts: impl IntoIterator<Item = (&'a str, Option<&'a String>)>,
    verdict: &mut Verdict,
) {
    let texts: Vec<(&str, &str)> =
        texts.into_iter().filter_map(|(field, text)| Some((field, text?.as_str()))).collect();
    check_lengths("", texts.iter().copied(), &mut verdict.errors);
    secrets::check(rules.secrets(), "", texts, verdict);
}
