//! Decisions: (investigation, rules, request, now) to an event or a rejection. Pure: no git, no clock, no file.
//!
//! One file per verb: [`start`], [`propose`], [`commit`], [`reclassify`], [`amend`], [`claim`], [`attach`], [`comment`],
//! [`run`], [`end`]. Each checks the rules that all rulesets share, then asks the kinds of
//! [`rules`](crate::ruleset::rules) in their order. The consequences of a state, for every caller, are in [`standing`] (what is
//! owed, whether it can end), [`references`] (the sources) and [`next`] (tasks, and the next legal call).
//!
//! A rejection lists all errors, not only the first, and nothing of a rejected request is stored.
//! The codes and rules are those of the method's specification; each check names its code.

pub mod amend;
pub mod attach;
pub mod backing;
pub mod citing;
pub mod claim;
pub mod comment;
pub mod commit;
pub mod end;
pub mod next;
pub mod propose;
pub mod reclassify;
pub mod references;
pub mod run;
pub mod standing;
pub mod start;

use crate::domain::{Code, Diagnostic, Event, Investigation, Warning};
pub use crate::ruleset::rules::quality;
use crate::text::shorten;

/// The most characters of a title.
pub const TITLE_MAX: usize = 300;

/// The most bytes of any other text.
pub const TEXT_MAX: usize = 1 << 20;

/// The outcome of an accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The event to write; `None` if the state already is as asked for.
    pub event: Option<Event>,
    /// Warnings for the agent; the call succeeds.
    pub warnings: Vec<Diagnostic>,
}

/// Why a request was refused. It has at least one error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Rejection {
    /// Everything that was wrong.
    pub errors: Vec<Diagnostic>,
}

impl Rejection {
    fn unless_empty(errors: Vec<Diagnostic>) -> Result<(), Rejection> {
        if errors.is_empty() { Ok(()) } else { Err(Rejection { errors }) }
    }
}

impl From<Diagnostic> for Rejection {
    fn from(error: Diagnostic) -> Self {
        Rejection { errors: vec![error] }
    }
}

fn refuse_if_ended(investigation: &Investigation) -> Result<(), Rejection> {
    match investigation.end_in_force() {
        None => Ok(()),
        Some(conclusion) => Err(Diagnostic::new(
            Code::InvestigationEnded,
            format!("This investigation was ended at {}.", conclusion.ended_at),
        )
        .suggest(
            "To go on with it, reclassify a node to an open state; otherwise start another investigation.",
        )
        .into()),
    }
}

/// `TEXT_TOO_LONG` for each text over the limit.
fn check_lengths<'a>(
    node: &str,
    texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    errors: &mut Vec<Diagnostic>,
) {
    for (field, text) in texts {
        if text.len() > TEXT_MAX {
            errors.push(
                Diagnostic::new(
                    Code::TextTooLong,
                    format!("{field} has {} bytes; the limit is {TEXT_MAX}.", text.len()),
                )
                .about(node)
                .suggest("Shorten it, or keep the long material in a file and cite its path."),
            );
        }
    }
}

/// An id that an agent gave, for a message.
fn quoted(text: &str) -> String {
    format!("`{}`", shorten(text, 60))
}

/// A blank text is as good as none.
fn not_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn stored(warning: &Diagnostic) -> Warning {
    Warning { code: warning.code.clone(), message: warning.message.clone() }
}
