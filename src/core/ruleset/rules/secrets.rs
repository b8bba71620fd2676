//! `checks.secretSuspected`: text that seems to contain a credential (`SECRET_SUSPECTED`), which git would store
//! permanently. The server's `--reject-secrets` raises this to `reject` for every ruleset.
//!
//! ```yaml
//! checks: {secretSuspected: reject}
//! ```

use super::{CallDiagnostics, RuleKind, SILENT, Verb};
use crate::domain::{Code, Diagnostic, Wording};
use crate::ruleset::Enforcement;
use crate::ruleset::effective::EffectiveRules;
use crate::secrets::suspects;

/// The maximum number of suspected credentials named per text.
const NAMED: usize = 3;

/// Reports `SECRET_SUSPECTED` for any text in any call.
pub(super) const KIND: RuleKind = RuleKind {
    key: "checks.secretSuspected",
    warnings: &[
        (Verb::Propose, Code::SecretSuspected),
        (Verb::Commit, Code::SecretSuspected),
        (Verb::Reclassify, Code::SecretSuspected),
        (Verb::Amend, Code::SecretSuspected),
        (Verb::End, Code::SecretSuspected),
    ],
    sentences,
    ..SILENT
};

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    rules.secrets.sentence("Text that may contain a credential").into_iter().collect()
}

/// Checks the fields of a node, or of the whole investigation if `node` is empty, for credentials. The message states
/// their kinds and lines but never quotes the text, because messages are stored, logged and shown.
pub fn check<'a>(
    enforcement: Enforcement,
    node: &str,
    texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    diagnostics: &mut CallDiagnostics,
) {
    if enforcement == Enforcement::Off {
        return;
    }
    let how = match enforcement {
        Enforcement::Reject => "Nothing was written. Leave the credential out, or say where it is kept.",
        _ => "If it is real, have it revoked: git keeps what was committed, even after it is edited out.",
    };
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
        let message = Wording::both(format!("`{field}`"), field)
            .map(|field| format!("{field}{of} may contain {}.", named.join(", ")));
        diagnostics
            .add(enforcement, Diagnostic::new(Code::SecretSuspected, message).about(node).suggest(how));
    }
}
