//! Errors, warnings and blockers, in the one form that agents and people read.

use std::fmt;

use serde::Serialize;

use super::Code;
use super::id::NODE_ID_MAX;

/// One thing that is wrong, doubtful or still owed: a code to act on, the node it concerns, what happened and
/// what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What kind.
    pub code: Code,
    /// The node it concerns, as it was written (it need not be a valid id).
    #[serde(rename = "nodeId", skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// A diagnostic that concerns no node and suggests nothing.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Diagnostic { code, node: None, message: message.into(), suggestion: None }
    }

    /// Sets the node. A blank name is left out, and one that is far too long for an id is shortened.
    pub fn about(mut self, node: impl fmt::Display) -> Self {
        let node: String = node.to_string().chars().take(NODE_ID_MAX).collect();
        self.node = Some(node).filter(|node| !node.trim().is_empty());
        self
    }

    /// Sets what to do about it.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(node) = &self.node {
            write!(f, " {node}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, " {suggestion}")?;
        }
        Ok(())
    }
}
