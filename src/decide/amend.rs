//! `tot_amend`: the texts of a committed node are corrected. What stood there before stays in its file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::backing::LINE_MAX;
use super::{Decision, Rejection, TITLE_MAX, check_lengths, not_blank, quoted, refuse_if_ended};
use crate::domain::{Amendment, Caller, Code, Diagnostic, Event, Investigation, Node, NodeId, Timestamp};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::confirmation::stamp;
use crate::ruleset::rules::{Verdict, secrets};

/// What an agent asks for, not yet checked. It is told in these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amend {
    /// A committed node.
    #[schemars(extend("examples" = ["R3.A1a"]))]
    pub node_id: String,
    /// Why.
    pub reason: String,
    /// What was found, in one sentence.
    pub headline: Option<String>,
    /// The findings, whole, in Markdown.
    pub findings: Option<String>,
    /// One line.
    pub title: Option<String>,
    /// Who asks for it.
    pub agent_id: Option<String>,
}

/// What an amendment may be refused for, beside what any call is.
pub const CODES: &[Code] =
    &[Code::NodeNotFound, Code::MissingReason, Code::EmptyBatch, Code::InvestigationEnded];

/// What it may be warned of.
pub const WARNINGS: &[Code] = &[Code::SecretSuspected];

/// Judges an amendment. Texts that are as asked for already are left: with none that changes, a decision without an event.
///
/// # Errors
///
/// `NODE_NOT_FOUND`, `MISSING_REASON`, `EMPTY_BATCH` where nothing is given, `TEXT_TOO_LONG`, `SECRET_SUSPECTED` where the
/// rules refuse it, and `INVESTIGATION_ENDED`.
pub fn amend(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Amend,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    refuse_if_ended(investigation)?;
    let about = request.node_id.clone();
    let found = about.parse::<NodeId>().ok().and_then(|id| investigation.committed_node(&id));
    let Some(node) = found else {
        return Err(Diagnostic::new(Code::NodeNotFound, format!("{} is no committed node.", quoted(&about)))
            .about(&about)
            .suggest("Amend a committed node; a pending proposal is proposed again with its new title.")
            .into());
    };
    let mut verdict = Verdict::default();
    if request.reason.trim().is_empty() {
        verdict.errors.push(
            Diagnostic::new(Code::MissingReason, format!("The amendment of {about} has no reason."))
                .about(&about)
                .suggest("Say in `reason` what was wrong with the text."),
        );
    }
    let texts = texts(&request);
    check_lengths(&about, texts.clone(), &mut verdict.errors);
    secrets::check(rules.secrets(), &about, texts, &mut verdict);
    let line = |text: Option<String>| not_blank(text).map(|text| text.trim().to_owned());
    let (title, headline, findings) =
        (line(request.title), line(request.headline), not_blank(request.findings));
    for (field, text, most) in [("title", &title, TITLE_MAX), ("headline", &headline, LINE_MAX)] {
        check_line(&about, field, text.as_deref(), most, &mut verdict.errors);
    }
    if title.is_none() && headline.is_none() && findings.is_none() {
        verdict.errors.push(
            Diagnostic::new(Code::EmptyBatch, "The call holds no text to put in place of another.")
                .about(&about)
                .suggest("Give `headline`, `findings` or `title`."),
        );
    }
    Rejection::unless_empty(verdict.errors)?;
    let mut after = Node::clone(node);
    let at = stamp(investigation, node, now);
    let Some(classification) = &mut after.classification else {
        return Ok(Decision { event: None, warnings: Vec::new() });
    };
    let mut before = Amendment {
        at,
        agent_id: not_blank(request.agent_id).map(|agent| agent.trim().to_owned()),
        caller: Caller::default(),
        reason: request.reason,
        title: None,
        headline: None,
        findings: None,
    };
    if let Some(title) = title.filter(|title| *title != after.title) {
        before.title = Some(std::mem::replace(&mut after.title, title));
    }
    if let Some(headline) = headline.filter(|headline| Some(headline) != classification.headline.as_ref()) {
        before.headline = Some(classification.headline.replace(headline).unwrap_or_default());
    }
    if let Some(findings) = findings.filter(|findings| *findings != classification.findings) {
        before.findings = Some(std::mem::replace(&mut classification.findings, findings));
    }
    if before.parts().next().is_none() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    classification.amended.push(before);
    Ok(Decision { event: Some(Event::Amended { node: Arc::new(after) }), warnings: verdict.warnings })
}

/// Every text of a request, with the name of its field.
fn texts(request: &Amend) -> impl Iterator<Item = (&str, &str)> + Clone {
    let optional = [
        ("headline", &request.headline),
        ("findings", &request.findings),
        ("title", &request.title),
        ("agentId", &request.agent_id),
    ];
    let optional = optional.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?)));
    std::iter::once(("reason", request.reason.as_str())).chain(optional)
}

/// `TEXT_TOO_LONG` for a line over so many characters.
pub(super) fn check_line(
    about: &str,
    field: &str,
    text: Option<&str>,
    most: usize,
    errors: &mut Vec<Diagnostic>,
) {
    let length = text.map_or(0, |text| text.chars().count());
    if length > most {
        errors.push(
            Diagnostic::new(
                Code::TextTooLong,
                format!("The {field} has {length} characters; the most is {most}."),
            )
            .about(about)
            .suggest("Shorten it, and say the rest in the findings."),
        );
    }
}
