//! Investigation methods as data. All methods share one engine. A ruleset file defines the states and configures each
//! rule.
//!
//! 1. [`rules`]: the type of a ruleset, and all rule kinds, one file each. Start there to add a rule kind.
//! 2. [`schema`]: the version of the file format, and its JSON Schema.
//! 3. [`validity`]: detects contradictions in a ruleset.
//! 4. [`effective`]: the rules in force for one investigation: the ruleset, its mode and the choices made with
//!    `tot_start`.
//! 5. [`support`]: what an answer rests on. `corrections`: whose confirmation covers a corrected answer.
//! 6. [`builtin`]: the rulesets included in the program.
//! 7. [`library`]: the built-in rulesets and the operator's own rulesets.
//! 8. [`instructions`]: instructions for agents, generated from the rules; [`plain_text`]: the terminal version.
//!
//! Ruleset names appear in code only in `builtin`.

pub mod builtin;
pub mod corrections;
pub mod effective;
pub mod instructions;
pub mod library;
pub mod plain_text;
pub mod rules;
pub mod schema;
pub mod support;
pub mod validity;

pub use effective::{ATTACHMENT_MAX, EffectiveRules};
pub use library::Library;
pub use rules::Ruleset;
pub use rules::agents::Enforcement;
pub use rules::children::Requirement;
pub use rules::modes::Mode;
pub use rules::states::{Role, State};

use crate::yaml;

/// A ruleset and its source text, which is pinned unchanged in an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesetFile {
    /// The rules.
    pub ruleset: Ruleset,
    /// The file's text, including comments.
    pub text: String,
}

/// A problem that makes a ruleset unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", line.map(|line| format!("line {line}: ")).unwrap_or_default(), self.without_line())]
pub struct RulesetError {
    /// The line in the file, from 1, if known.
    pub line: Option<u64>,
    /// The problem.
    pub reason: String,
    /// The remedy.
    pub suggestion: Option<String>,
}

impl RulesetError {
    /// Returns the reason and the remedy, for output that shows the line separately.
    pub fn without_line(&self) -> String {
        match &self.suggestion {
            Some(suggestion) => format!("{} ({suggestion})", self.reason),
            None => self.reason.clone(),
        }
    }
}

impl RulesetFile {
    /// Parses and validates a ruleset.
    ///
    /// # Errors
    ///
    /// Returns all problems found: syntax errors or contradictions in the ruleset.
    pub fn parse(text: &str) -> Result<RulesetFile, Vec<RulesetError>> {
        if let Some(error) = merge_conflict(text) {
            return Err(vec![error]);
        }
        let ruleset: Ruleset = yaml::from_text(text).map_err(|error| {
            let suggestion = validity::remedy(&error.message);
            vec![RulesetError { line: error.line, reason: error.message, suggestion }]
        })?;
        let problems = validity::problems(&ruleset);
        if problems.is_empty() {
            return Ok(RulesetFile { ruleset, text: text.to_owned() });
        }
        let mut errors: Vec<RulesetError> = problems
            .into_iter()
            .map(|problem| RulesetError {
                line: problem.line_in(text),
                reason: problem.reason,
                suggestion: problem.suggestion,
            })
            .collect();
        errors.sort_by_key(|error| error.line);
        Err(errors)
    }
}

/// Returns an error if the file contains git conflict markers.
fn merge_conflict(text: &str) -> Option<RulesetError> {
    Some(RulesetError {
        line: Some(yaml::merge_conflict(text)?),
        reason: "it still contains a merge conflict".into(),
        suggestion: Some("keep one side, and remove the lines <<<<<<<, ======= and >>>>>>>".into()),
    })
}
