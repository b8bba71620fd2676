//! Errors, warnings and blockers, as shown to agents and people.

use std::fmt;

use serde::Serialize;

use super::id::SHORT_ID_MAX;
use super::{Code, Wording};

/// An error, warning or blocker: a code, the affected node, a message and a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The kind of problem.
    pub code: Code,
    /// The id of the affected node as given, which may be invalid.
    #[serde(rename = "nodeId")]
    pub node: Option<String>,
    /// The message, in one sentence.
    pub message: Wording,
    /// The suggested remedy.
    pub suggestion: Option<Wording>,
}

impl Diagnostic {
    /// Creates a diagnostic without a node or a suggestion.
    pub fn new(code: Code, message: impl Into<Wording>) -> Self {
        Diagnostic { code, node: None, message: message.into(), suggestion: None }
    }

    /// Sets the node. A blank id is ignored, and an overlong id is shortened.
    pub fn about(mut self, node: impl fmt::Display) -> Self {
        let node: String = node.to_string().chars().take(SHORT_ID_MAX).collect();
        self.node = Some(node).filter(|node| !node.trim().is_empty());
        self
    }

    /// Sets the suggested remedy.
    pub fn suggest(mut self, suggestion: impl Into<Wording>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Sets a separate suggestion for people. The existing one is then shown only to agents.
    pub fn for_people(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = self.suggestion.map(|it| Wording::both(it.agent(), suggestion));
        self
    }

    /// Returns the message with the suggestion.
    pub fn text(&self) -> Wording {
        self.suggestion.as_ref().map_or_else(|| self.message.clone(), |how| self.message.then(how))
    }
}

/// Formats the diagnostic as agents read it.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(node) = &self.node {
            write!(f, " {node}")?;
        }
        write!(f, ": {}", self.text().agent())
    }
}
