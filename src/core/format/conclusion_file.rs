//! The file `conclusion.yaml`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Version;
use crate::domain::{AmendedConclusion, Asked, BoundAnswer, Caller, Conclusion, Stopped, Timestamp, stored};
use crate::yaml::{self, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    /// Absent in the list of other conclusions.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    ended_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "stored::caller::is_absent", with = "stored::caller")]
    by: Caller,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concluded_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    conclusion: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<BoundAnswer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "yaml::texts")]
    not_covered: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_conclusions: Vec<File>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    amended: Vec<AmendedConclusion>,
}

/// Serializes the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(conclusion: &Conclusion) -> Result<String, YamlError> {
    yaml::to_text(&File { version: Some(Version), ..entry(conclusion.clone()) })
}

fn entry(conclusion: Conclusion) -> File {
    File {
        version: None,
        ended_at: conclusion.ended_at,
        agent_id: conclusion.agent_id,
        by: conclusion.caller,
        stopped: conclusion.stopped,
        asked: conclusion.asked,
        concluded_at: conclusion.concluded_at,
        conclusion: conclusion.conclusion,
        answers: conclusion.answers,
        not_covered: conclusion.not_covered,
        other_conclusions: conclusion.other_conclusions.into_iter().map(entry).collect(),
        amended: conclusion.amended,
    }
}

/// Parses the file.
///
/// # Errors
///
/// The file is invalid. The error has the line, if known.
pub fn read(text: &str) -> Result<Conclusion, YamlError> {
    whole(super::read(text)?)
}

/// Deserializes the same fields from other formats.
impl<'de> Deserialize<'de> for Conclusion {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        whole(File::deserialize(fields)?).map_err(D::Error::custom)
    }
}

fn whole(file: File) -> Result<Conclusion, YamlError> {
    let others = &file.other_conclusions;
    let is_flat = others.iter().all(|other| other.version.is_none() && other.other_conclusions.is_empty());
    match file.version {
        None => Err(super::unfit("missing field `version`")),
        Some(_) if !is_flat => {
            Err(super::unfit("an entry of `otherConclusions` may contain only a conclusion"))
        }
        Some(_) => Ok(conclusion(file)),
    }
}

fn conclusion(file: File) -> Conclusion {
    Conclusion {
        ended_at: file.ended_at,
        agent_id: file.agent_id,
        caller: file.by,
        stopped: file.stopped,
        asked: file.asked,
        concluded_at: file.concluded_at,
        conclusion: file.conclusion,
        answers: file.answers,
        not_covered: file.not_covered,
        other_conclusions: file.other_conclusions.into_iter().map(conclusion).collect(),
        amended: file.amended,
    }
}
