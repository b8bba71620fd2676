//! Argument completions, for clients that offer them while a person types.

use crate::service::{Refusal, Service};
use crate::store::{ListFilter, ListState};

/// The protocol's limit on the number of values in one answer.
pub const MAX_VALUES: usize = 100;

/// Returns the first [`MAX_VALUES`] values of an argument that start with `value`, and the total number of such
/// values. `session` is the value of `sessionId`, if known. Unknown arguments have no values.
///
/// # Errors
///
/// Returns an error if the store fails.
pub fn complete(
    service: &Service,
    argument: &str,
    value: &str,
    session: Option<&str>,
) -> Result<(Vec<String>, usize), Refusal> {
    let prefix = value.trim().to_ascii_lowercase();
    let mut values: Vec<String> = match (argument, session) {
        ("ruleset", _) => service.rulesets().names().map(str::to_owned).collect(),
        ("sessionId", _) => {
            // This also matches words in the title.
            let text = Some(prefix).filter(|prefix| !prefix.is_empty());
            let filter = ListFilter { state: ListState::All, text, after: None, limit: MAX_VALUES };
            let listing = service.store().list(&filter)?;
            let ids = listing.entries.iter().filter_map(|entry| entry.id);
            return Ok((ids.map(|id| id.to_string()).collect(), listing.total));
        }
        ("nodeId", Some(session)) => {
            service.snapshot(session)?.investigation.nodes().map(|node| node.id.to_string()).collect()
        }
        _ => Vec::new(),
    };
    values.retain(|text| text.to_ascii_lowercase().starts_with(&prefix));
    let total = values.len();
    values.truncate(MAX_VALUES);
    Ok((values, total))
}
