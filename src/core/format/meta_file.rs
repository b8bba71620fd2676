//! The file `investigation.yaml`.

use serde::{Deserialize, Deserializer, Serialize};

use super::Version;
use crate::domain::{Meta, SessionId, Timestamp};
use crate::yaml::{self, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    version: Version,
    id: SessionId,
    title: String,
    #[serde(serialize_with = "yaml::text")]
    query: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    context: Option<String>,
    ruleset: String,
    mode: String,
    min_rounds: u32,
    min_roots: u32,
    allow_early_terminal: bool,
    started_at: Timestamp,
}

/// Serializes the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(meta: &Meta) -> Result<String, YamlError> {
    let meta = meta.clone();
    yaml::to_text(&File {
        version: Version,
        id: meta.id,
        title: meta.title,
        query: meta.query,
        context: meta.context,
        ruleset: meta.ruleset,
        mode: meta.mode,
        min_rounds: meta.min_rounds,
        min_roots: meta.min_roots,
        allow_early_terminal: meta.allow_early_terminal,
        started_at: meta.started_at,
    })
}

/// Parses the file.
///
/// # Errors
///
/// The file is invalid. The error has the line, if known.
pub fn read(text: &str) -> Result<Meta, YamlError> {
    super::read(text).map(meta)
}

/// Deserializes the same fields from other formats.
impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        File::deserialize(fields).map(meta)
    }
}

fn meta(file: File) -> Meta {
    Meta {
        id: file.id,
        title: file.title,
        query: file.query,
        context: file.context,
        ruleset: file.ruleset,
        mode: file.mode,
        min_rounds: file.min_rounds,
        min_roots: file.min_roots,
        allow_early_terminal: file.allow_early_terminal,
        started_at: file.started_at,
    }
}
