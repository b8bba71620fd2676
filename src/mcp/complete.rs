//! Completions of a partial argument, for clients that ask while a person types.

use crate::service::{Refusal, Service};
use crate::store::{ListFilter, ListState};

/// The most values in one answer: the protocol's own limit.
pub const MOST: usize = 100;

/// The possible values of an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The first [`MOST`].
    pub values: Vec<String>,
    /// The number of all values.
    pub total: usize,
}

impl Completions {
    fn of(values: Vec<String>) -> Self {
        let total = values.len();
        Completions { values: values.into_iter().take(MOST).collect(), total }
    }
}

/// Returns the values of the named argument that start with the given text. `session` is the value of `sessionId`, if known. An
/// unknown argument has no values.
///
/// # Errors
///
/// The errors of the store.
pub fn complete(
    service: &Service,
    argument: &str,
    value: &str,
    session: Option<&str>,
) -> Result<Completions, Refusal> {
    let begun = value.trim().to_ascii_lowercase();
    let fits = |text: &String| text.to_ascii_lowercase().starts_with(&begun);
    Ok(match argument {
        "ruleset" => {
            let names = service.rulesets().names().map(str::to_owned);
            Completions::of(names.filter(fits).collect())
        }
        "sessionId" => {
            // Words of the title find an id as well as its beginning does.
            let text = (!begun.is_empty()).then(|| begun.clone());
            let filter = ListFilter { state: ListState::All, text, after: None, limit: MOST };
            let listing = service.store().list(&filter)?;
            let ids = listing.entries.iter().filter_map(|entry| entry.id);
            Completions { values: ids.map(|id| id.to_string()).collect(), total: listing.total }
        }
        "nodeId" => {
            let Some(session) = session else { return Ok(Completions::default()) };
            let snapshot = match service.look(session)? {
                Ok(standing) => standing.snapshot,
                Err(unjudged) => unjudged.snapshot,
            };
            let ids = snapshot.investigation.nodes().map(|node| node.id.to_string());
            Completions::of(ids.filter(fits).collect())
        }
        _ => Completions::default(),
    })
}
