//! Arguments that agents and people write as JSON or YAML, for the types of the calls.

pub mod coercion;
pub mod schema;
pub mod texts;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reply::each_once;
use crate::domain::{Code, Diagnostic, Wording};
use coercion::Misfit;

/// The maximum number of errors in one reply. An agent that makes twenty errors has misread the schema.
const MAX_ERRORS: usize = 20;

/// Coerces the arguments to the schema of their type, mends their texts and deserializes them. Returns notes on what was
/// mended as well. Deserialization may still fail if the type has its own checks.
///
/// # Errors
///
/// Returns what doesn't fit.
pub fn understand<I: DeserializeOwned>(
    schema: &Value,
    arguments: &Value,
) -> Result<(I, Vec<String>), Vec<Diagnostic>> {
    let mut input =
        coercion::understand(schema, arguments).map_err(|misfits| misfitting(&misfits, arguments))?;
    let notes = texts::mended(&mut input);
    serde_json::from_value(input)
        .map(|input| (input, notes))
        .map_err(|misfit| vec![Diagnostic::new(Code::InvalidArgument, misfit.to_string())])
}

fn misfitting(misfits: &[Misfit], arguments: &Value) -> Vec<Diagnostic> {
    // People give a single entry without the list around it.
    let is_alone = |list: &&str| arguments[*list].as_array().is_some_and(|it| it.len() == 1);
    let alone = ["results", "nodes"].into_iter().find(is_alone);
    let message = |misfit: &Misfit| {
        let path = alone.and_then(|list| misfit.path.strip_prefix(list)?.strip_prefix("[0]."));
        let path = path.unwrap_or(&misfit.path).to_owned();
        Wording::both(misfit.message(), Misfit { path, ..misfit.clone() }.message())
    };
    let invalid = |misfit: &Misfit| Diagnostic {
        suggestion: misfit.suggestion.clone().map(Wording::from),
        ..Diagnostic::new(Code::InvalidArgument, message(misfit))
    };
    let errors: Vec<Diagnostic> = misfits.iter().map(invalid).collect();
    let mut errors = each_once(errors);
    if errors.len() > MAX_ERRORS {
        let rest = errors.split_off(MAX_ERRORS).len();
        errors.push(Diagnostic::new(Code::InvalidArgument, format!("{rest} more errors are not shown")));
    }
    errors
}
