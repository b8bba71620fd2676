//! `tot_end`: the answer, once nothing is owed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::standing::blockers;
use super::{Decision, Rejection, check_lengths, not_blank};
use crate::domain::{Code, Conclusion, Diagnostic, Event, Investigation, Timestamp};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::{Verdict, secrets};

/// What an agent asks for, not yet checked. It is told in these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// The answer, in Markdown: what was found, how sure it is, what was ruled out.
    pub conclusion: Option<String>,
    /// Who ends it.
    pub agent_id: Option<String>,
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
    Code::UnreadableNode,
    Code::UnknownState,
    Code::TerminalParent,
    Code::InvalidChildState,
];

/// What it may be warned of.
pub const WARNINGS: &[Code] = &[Code::AlreadyEnded, Code::SecretSuspected];

/// Judges an end. One that has already ended stays as it is: a decision without an event.
///
/// # Errors
///
/// Every blocker, not only the first; and `TEXT_TOO_LONG`.
pub fn end(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: End,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    if let Some(ended) = investigation.conclusion() {
        // It answers as before; but who brings another answer must know that it is not stored.
        let brings = not_blank(request.conclusion).filter(|text| Some(text) != ended.conclusion.as_ref());
        let unstored = brings.map(|_| {
            let message =
                format!("It was ended at {} already; this conclusion was not stored.", ended.ended_at);
            Diagnostic::new(Code::AlreadyEnded, message)
                .suggest("To replace it, reclassify a node to another, open state, and end it again.")
        });
        return Ok(Decision { event: None, warnings: unstored.into_iter().collect() });
    }
    let mut verdict = Verdict { errors: blockers(investigation, rules), warnings: Vec::new() };
    let texts = [("conclusion", &request.conclusion), ("agentId", &request.agent_id)];
    let texts = texts.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?)));
    check_lengths("", texts.clone(), &mut verdict.errors);
    secrets::check(rules.secrets(), "", texts, &mut verdict);
    Rejection::unless_empty(verdict.errors)?;
    let conclusion = Arc::new(Conclusion {
        agent_id: not_blank(request.agent_id),
        conclusion: not_blank(request.conclusion),
        ..Conclusion::new(now)
    });
    Ok(Decision { event: Some(Event::Ended { conclusion }), warnings: verdict.warnings })
}
