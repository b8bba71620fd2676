//! Decisions: pure functions that turn an investigation, its rules, a request and the current time into an event or a
//! rejection, without access to git, the clock or files.
//!
//! Each verb has its own module: [`start`], [`propose`], [`commit`], [`reclassify`], [`amend`], [`claim`], [`attach`],
//! [`comment`], [`run`] and [`end`]. Each checks the conditions common to all rulesets. `propose`, `commit`, `reclassify`,
//! `amend` and `end` then call all [`rules`](crate::ruleset::rules) in order. Three other modules derive information from the
//! state: [`blockers`] (what prevents ending, and results that contradict each other), [`references`] (sources) and [`next`]
//! (the next legal call, and tasks). [`backing`], [`citing`] and [`sources`] check what a result rests on. `edits` changes passages of a text for amendments and corrections.
//!
//! A rejection lists every error, and no part of a rejected request is stored. Each check names its
//! code, of `domain::code`.

pub mod amend;
pub mod attach;
pub mod backing;
pub mod blockers;
pub mod citing;
pub mod claim;
pub mod comment;
pub mod commit;
mod edits;
pub mod end;
pub mod next;
pub mod propose;
pub mod reclassify;
pub mod references;
pub mod run;
pub mod sources;
pub mod start;

use std::sync::Arc;

use crate::domain::{
    Caller, Code, Conclusion, Diagnostic, Event, Investigation, Reopening, Timestamp, Warning, Wording,
};
use crate::markdown::without_sources;
use crate::ruleset::EffectiveRules;
pub use crate::ruleset::rules::quality;
use crate::ruleset::rules::{CallDiagnostics, secrets};
use crate::text::shorten;

/// Maximum number of characters in a title.
pub const TITLE_MAX: usize = 300;

/// Maximum number of bytes in any other text.
pub const TEXT_MAX: usize = 1 << 20;

/// The outcome of an accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The event to write, or `None` if the request changes nothing.
    pub event: Option<Event>,
    /// Warnings for the agent, which don't make the call fail.
    pub warnings: Vec<Diagnostic>,
}

/// A rejected request, with at least one error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Rejection {
    /// All errors found in the request.
    pub errors: Vec<Diagnostic>,
}

impl Rejection {
    fn unless_empty(errors: Vec<Diagnostic>) -> Result<(), Rejection> {
        if errors.is_empty() { Ok(()) } else { Err(Rejection { errors }) }
    }

    /// Prepends why a commit left out results: what was to be proposed below them can't be.
    pub fn after_left_out(mut self, commit: &Decision) -> Rejection {
        let left_out = commit.warnings.iter().filter(|warning| commit::is_left_out(warning));
        self.errors.splice(0..0, left_out.cloned());
        self
    }
}

impl From<Diagnostic> for Rejection {
    fn from(error: Diagnostic) -> Self {
        Rejection { errors: vec![error] }
    }
}

/// Returns the conclusion in force as a call stores it that reopens the investigation.
fn reopened(
    investigation: &Investigation,
    at: Timestamp,
    agent_id: Option<String>,
    reason: Option<String>,
) -> Option<Arc<Conclusion>> {
    let end = investigation.end_in_force()?;
    let reopening = Reopening { at, agent_id, caller: Caller::default(), reason };
    Some(Arc::new(Conclusion { reopened: Some(reopening), ..end.clone() }))
}

fn refuse_if_ended(investigation: &Investigation) -> Result<(), Rejection> {
    match investigation.end_in_force() {
        None => Ok(()),
        Some(conclusion) => Err(Diagnostic::new(
            Code::InvestigationEnded,
            format!("This investigation was ended at {}.", conclusion.ended_at),
        )
        .suggest(
            Wording::both(
                "propose a node with the reason in `reopen`, or reclassify a node to an open state",
                "propose a node with `--reopen -m REASON`, or give a node an open state with `tot amend --state`",
            )
            .map(|how| format!("To continue it, {how}; otherwise start a new investigation.")),
        )
        .into()),
    }
}

/// Returns whether somebody who names a node means the report.
fn means_report(named: &str) -> bool {
    ["conclusion", "report"].contains(&named.trim().to_lowercase().as_str())
}

/// Refuses short ids that several nodes have.
fn refuse_ambiguous<'n>(
    investigation: &Investigation,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<(), Rejection> {
    let error = |name: &str| investigation.find(name.trim()).err()?.ambiguous(name);
    Rejection::unless_empty(names.into_iter().filter_map(error).collect())
}

/// Checks the named text fields for excessive length and suspected credentials.
fn check_texts<'a>(
    rules: &EffectiveRules,
    node: &str,
    texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    diagnostics: &mut CallDiagnostics,
) {
    let texts: Vec<(&str, &str)> = texts.into_iter().collect();
    check_lengths(node, texts.iter().copied(), diagnostics);
    secrets::check(rules.secrets, node, texts, diagnostics);
}

/// Adds `TEXT_TOO_LONG` for each text over the limit.
fn check_lengths<'a>(
    node: &str,
    texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    diagnostics: &mut CallDiagnostics,
) {
    for (field, text) in texts.into_iter().filter(|(_, text)| text.len() > TEXT_MAX) {
        let message = format!("{field} has {} bytes; the limit is {TEXT_MAX}.", text.len());
        let how = "Shorten it, or keep the long material in a file and cite its path.";
        diagnostics.refuse(Code::TextTooLong, node, message, how);
    }
}

/// Adds `TEXT_TOO_LONG` if a line exceeds `most` characters.
fn check_line(
    node: &str,
    field: &str,
    text: Option<&str>,
    most: usize,
    rest: impl Into<Wording>,
    diagnostics: &mut CallDiagnostics,
) {
    let length = text.map_or(0, |text| text.chars().count());
    if length > most {
        let message = format!("The {field} has {length} characters; the limit is {most}.");
        let how = rest.into().map(|rest| format!("Shorten it, and say the rest in {rest}."));
        diagnostics.refuse(Code::TextTooLong, node, message, how);
    }
}

/// Quotes text from an agent for use in a message.
fn quoted(text: &str) -> String {
    format!("`{}`", shorten(text, 60))
}

/// Returns an optional text field with its name, if it is given.
fn given<'a>((field, text): (&'a str, &'a Option<String>)) -> Option<(&'a str, &'a str)> {
    Some((field, text.as_deref()?))
}

/// Treats blank text as absent.
fn not_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Trims text of one line, such as a name. Treats blank text as absent.
fn trimmed(text: Option<String>) -> Option<String> {
    not_blank(text).map(|text| text.trim().to_owned())
}

/// Returns a title or a headline. It is shown as it is, so its sources become their words.
fn title(text: Option<String>) -> Option<String> {
    not_blank(trimmed(text).map(|text| without_sources(&text)))
}

fn to_warning(warning: &Diagnostic) -> Warning {
    Warning { code: warning.code.clone(), message: warning.message.agent().to_owned() }
}
