//! `conclusion.yaml`.

use serde::{Deserialize, Serialize};

use super::{Time, Version};
use crate::domain::Conclusion;
use crate::yaml::{self, Text, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    version: Version,
    ended_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conclusion: Option<Text>,
}

/// The text of the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(conclusion: &Conclusion) -> Result<String, YamlError> {
    let conclusion = conclusion.clone();
    yaml::to_text(&File {
        version: Version,
        ended_at: Time(conclusion.ended_at),
        agent_id: conclusion.agent_id.map(Text),
        conclusion: conclusion.conclusion.map(Text),
    })
}

/// The value of the file.
///
/// # Errors
///
/// An invalid file, with the line.
pub fn read(text: &str) -> Result<Conclusion, YamlError> {
    let file: File = super::read(text)?;
    Ok(Conclusion {
        ended_at: file.ended_at.0,
        agent_id: file.agent_id.map(|text| text.0),
        conclusion: file.conclusion.map(|text| text.0),
    })
}
