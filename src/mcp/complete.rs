//! Completions of an argument, for clients that offer them while a person types.

use crate::service::{Refusal, Service};
use crate::store::{ListFilter, ListState};

/// The protocol's limit on the number of values in one answer.
pub const MAX_VALUES: usize = 100;

/// The possible completions of an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The first [`MAX_VALUES`] values.
    pub values: Vec<String>,
    /// The number of all values.
    pub total: usize,
}

impl Completions {
    fn of(values: Vec<String>) -> Self {
        let total = values.len();
        Completions { values: values.into_iter().take(MAX_VALUES).collect(), total }
    }
}

/// Returns the values of an argument that start with `value`. `session` is the value of `sessionId`, if known. An
/// unknown argument has no values.
///
/// # Errors
///
/// Returns the errors of the store.
pub fn complete(
    service: &Service,
    argument: &str,
    value: &str,
    session: Option<&str>,
) -> Result<Completions, Refusal> {
    let prefix = value.trim().to_ascii_lowercase();
    let fits = |text: &String| text.to_ascii_lowercase().starts_with(&prefix);
    Ok(match argument {
        "ruleset" => {
            let names = service.rulesets().names().map(str::to_owned);
            Completions::of(names.filter(fits).collect())
        }
        "sessionId" => {
            // Also matches words of the title.
            let text = (!prefix.is_empty()).then(|| prefix.clone());
            let filter = ListFilter { state: ListState::All, text, after: None, limit: MAX_VALUES };
            let listing = service.store().list(&filter)?;
            let ids = listing.entries.iter().filter_map(|entry| entry.id);
            Completions { values: ids.map(|id| id.to_string()).collect(), total: listing.total }
        }
        "nodeId" => {
            let Some(session) = session else { return Ok(Completions::default()) };
            let snapshot = service.snapshot(session)?;
            let ids = snapshot.investigation.nodes().map(|node| node.id.to_string());
            Completions::of(ids.filter(fits).collect())
        }
        _ => Completions::default(),
    })
}
