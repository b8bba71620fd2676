//! `SECRET_SUSPECTED`: a text that holds what looks like a credential, which git would remember.

use crate::domain::{Code, Diagnostic};
use crate::ruleset::Severity;
use crate::secrets::suspects;

/// How many suspects of one text are named.
const NAMED: usize = 3;

/// What was found, by what it means for the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons to refuse it.
    pub errors: Vec<Diagnostic>,
    /// What it is warned of.
    pub warnings: Vec<Diagnostic>,
}

impl Findings {
    /// Looks into the fields of a node (or of the whole, with no name). The message tells kinds and lines and never
    /// the text: it is stored, logged and shown.
    pub(super) fn check<'a>(
        &mut self,
        severity: Severity,
        node: &str,
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        if severity == Severity::Off {
            return;
        }
        for (field, text) in texts {
            let found = suspects(text);
            if found.is_empty() {
                continue;
            }
            let mut named: Vec<String> = found
                .iter()
                .take(NAMED)
                .map(|suspect| format!("{} (line {})", suspect.kind, suspect.line))
                .collect();
            if found.len() > NAMED {
                named.push(format!("{} more", found.len() - NAMED));
            }
            let of = if node.is_empty() { String::new() } else { format!(" of {node}") };
            let message = format!("`{field}`{of} seems to hold {}.", named.join(", "));
            let mut diagnostic = Diagnostic::new(Code::SecretSuspected, message);
            if !node.is_empty() {
                diagnostic = diagnostic.about(node);
            }
            match severity {
                Severity::Off => {}
                Severity::Warn => self.warnings.push(diagnostic.suggest(
                    "If it is real, have it revoked: git keeps what was committed, even after it is edited out.",
                )),
                Severity::Reject => self.errors.push(
                    diagnostic.suggest("Nothing was written. Leave the credential out, or name where it is kept."),
                ),
            }
        }
    }
}
