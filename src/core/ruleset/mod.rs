//! Methods of investigation, as data. The engine is written once; a ruleset file says what the states are and what
//! each rule asks for.
//!
//! 1. [`schema`]: the file, as types.
//! 2. [`rules`]: every kind of rule there is, one file each. To add one, begin there.
//! 3. [`validity`]: whether a ruleset contradicts itself.
//! 4. [`effective`]: the rules in force for one investigation: the ruleset, its mode and what `tot_start` fixed.
//! 5. [`builtin`]: the rulesets that the program brings along.
//! 6. [`library`]: these and an operator's own.
//! 7. [`instructions`]: what an agent must know, written from the rules; [`plain_text`]: the same at a terminal.
//!
//! No ruleset's name appears in code outside `builtin`.

pub mod builtin;
pub mod effective;
pub mod instructions;
pub mod library;
pub mod plain_text;
pub mod rules;
pub mod schema;
pub mod validity;

pub use effective::{ATTACHMENT_MAX, EffectiveRules};
pub use library::Library;
pub use rules::children::Requirement;
pub use schema::{Enforcement, Mode, Role, Ruleset, State};

use crate::yaml;

/// A ruleset together with its source text, which is pinned in an investigation unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesetFile {
    /// The rules.
    pub ruleset: Ruleset,
    /// The file's text, comments and all.
    pub text: String,
}

/// Why a ruleset can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", line.map(|line| format!("line {line}: ")).unwrap_or_default(), self.without_line())]
pub struct RulesetError {
    /// The line in the file, from 1, where it is known.
    pub line: Option<u64>,
    /// The fault.
    pub reason: String,
    /// Its remedy.
    pub suggestion: Option<String>,
}

impl RulesetError {
    /// Returns the reason and the remedy, for output that shows the line beside it.
    pub fn without_line(&self) -> String {
        match &self.suggestion {
            Some(suggestion) => format!("{} ({suggestion})", self.reason),
            None => self.reason.clone(),
        }
    }
}

impl RulesetFile {
    /// Reads and checks a ruleset.
    ///
    /// # Errors
    ///
    /// Every fault that was found: an invalid ruleset file, or a ruleset that contradicts itself.
    pub fn parse(text: &str) -> Result<RulesetFile, Vec<RulesetError>> {
        if let Some(error) = merge_conflict(text) {
            return Err(vec![error]);
        }
        let ruleset: Ruleset = yaml::from_text(text).map_err(|error| {
            let suggestion = validity::mend(&error.message);
            vec![RulesetError { line: error.line, reason: error.message, suggestion }]
        })?;
        let faults = validity::faults(&ruleset);
        if faults.is_empty() {
            return Ok(RulesetFile { ruleset, text: text.to_owned() });
        }
        let mut errors: Vec<RulesetError> = faults
            .into_iter()
            .map(|fault| RulesetError {
                line: fault.line_in(text),
                reason: fault.reason,
                suggestion: fault.suggestion,
            })
            .collect();
        errors.sort_by_key(|error| error.line);
        Err(errors)
    }
}

/// The markers that git leaves in a file that two branches changed.
fn merge_conflict(text: &str) -> Option<RulesetError> {
    let line = text.lines().position(|line| line.starts_with("<<<<<<< "))?;
    Some(RulesetError {
        line: Some(line as u64 + 1),
        reason: "a merge conflict is left in it".into(),
        suggestion: Some("keep one side, and remove the lines <<<<<<<, ======= and >>>>>>>".into()),
    })
}
