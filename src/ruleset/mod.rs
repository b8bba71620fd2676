//! Methods of investigation, as data. The engine is written once; a ruleset file says what the states are and what
//! each rule asks for.
//!
//! 1. [`schema`]: the file, as types; every kind of rule there is.
//! 2. [`validity`]: whether a ruleset contradicts itself.
//! 3. [`terms`]: the rules in force for one investigation: the ruleset, its mode and what `tot_start` fixed.
//! 4. [`builtin`]: the rulesets that the program brings along.
//! 5. [`instructions`]: what an agent must know, written from the ruleset.
//!
//! No ruleset's name appears in code outside `builtin`.

pub mod builtin;
pub mod instructions;
pub mod schema;
pub mod terms;
pub mod validity;

pub use schema::{Mode, Role, Ruleset, Severity, State};
pub use terms::{Requirement, Terms};

use crate::yaml;

/// A ruleset together with the text it was read from, which is pinned in an investigation as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesetFile {
    /// The rules.
    pub ruleset: Ruleset,
    /// The file's text, comments and all.
    pub text: String,
}

/// Why a ruleset can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}{}", line.map(|line| format!("line {line}: ")).unwrap_or_default(),
    suggestion.as_ref().map(|suggestion| format!(" ({suggestion})")).unwrap_or_default())]
pub struct RulesetError {
    /// The line in the file, from 1, where it is known.
    pub line: Option<u64>,
    /// What is wrong.
    pub reason: String,
    /// How to mend it.
    pub suggestion: Option<String>,
}

impl RulesetFile {
    /// Reads and checks a ruleset.
    ///
    /// # Errors
    ///
    /// Every fault that was found: text that is no ruleset file, or a ruleset that contradicts itself.
    pub fn parse(text: &str) -> Result<RulesetFile, Vec<RulesetError>> {
        let ruleset: Ruleset = yaml::from_text(text).map_err(|error| {
            vec![RulesetError { line: error.line, reason: error.message, suggestion: None }]
        })?;
        let faults = validity::faults(&ruleset);
        if faults.is_empty() {
            return Ok(RulesetFile { ruleset, text: text.to_owned() });
        }
        Err(faults
            .into_iter()
            .map(|fault| RulesetError {
                line: fault.line_in(text),
                reason: fault.reason,
                suggestion: fault.suggestion,
            })
            .collect())
    }
}
