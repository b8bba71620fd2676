//! Completions: what the beginning of an argument may become, for clients that ask while a person types.

use crate::service::{Refusal, Service};
use crate::store::{ListFilter, ListState};

/// How many values one answer has at most: the protocol's own limit.
pub const MOST: usize = 100;

/// What may stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The first [`MOST`].
    pub values: Vec<String>,
    /// How many there are.
    pub total: usize,
}

impl Completions {
    fn of(values: Vec<String>) -> Self {
        let total = values.len();
        Completions { values: values.into_iter().take(MOST).collect(), total }
    }
}

/// Values for the argument of that name which begin as it does; `session` is the value of `sessionId`, where it is
/// known. An argument that nothing is known of has none.
///
/// # Errors
///
/// What the store says.
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
            // Words of the title lead to an id as well as its beginning.
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
