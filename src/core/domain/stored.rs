//! Types whose form in files differs from their form in memory.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Caller, Classification, Conclusion, Person};

/// A caller in a file, under the key `by`. The key is absent if nothing is known about the caller.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StoredCaller {
    /// Absent for agents.
    kind: Option<CallerKind>,
    /// Present only for a person, like `email`.
    name: Option<String>,
    email: Option<String>,
    client: Option<String>,
    session: Option<String>,
    model: Option<String>,
}

/// The kind of a caller that is not an agent.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum CallerKind {
    Person,
}

impl From<Caller> for StoredCaller {
    fn from(caller: Caller) -> Self {
        let Caller { person, disowned, client, session, model } = caller;
        let person = person.or(disowned);
        let kind = person.as_ref().map(|_| CallerKind::Person);
        let (name, email) = person.map(|person| (person.name, person.email)).unzip();
        StoredCaller { kind, name, email: email.flatten(), client, session, model }
    }
}

impl From<Option<StoredCaller>> for Caller {
    fn from(stored: Option<StoredCaller>) -> Self {
        let Some(stored) = stored else { return Caller::default() };
        let StoredCaller { kind, name, email, client, session, model } = stored;
        let person = match (kind, name, email) {
            (None, None, None) => None,
            (_, name, email) => Some(Person { name: name.unwrap_or_default(), email }),
        };
        Caller { person, disowned: None, client, session, model }
    }
}

/// Deserializes the other results of a node, which have no other results themselves.
pub fn other_results<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Classification>, D::Error> {
    let others = Vec::<Classification>::deserialize(list)?;
    match others.iter().all(|other| other.other_results.is_empty()) {
        true => Ok(others),
        false => Err(D::Error::custom("an entry of `otherResults` may contain only a result")),
    }
}

/// Deserializes the other conclusions of an investigation, which have no other conclusions themselves.
pub fn other_conclusions<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Conclusion>, D::Error> {
    let others = Vec::<Conclusion>::deserialize(list)?;
    match others.iter().all(|other| other.other_conclusions.is_empty()) {
        true => Ok(others),
        false => Err(D::Error::custom("an entry of `otherConclusions` may contain only a conclusion")),
    }
}

/// Returns whether a file omits the number.
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}
