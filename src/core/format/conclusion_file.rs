//! `conclusion.yaml`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{CallerEntry, Time, Version};
use crate::domain::{
    AmendedConclusion, Asked, BoundAnswer, BoundAs, Conclusion, NodeId, PersonsAnswer, StopReason, Stopped,
};
use crate::yaml::{self, Text, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    /// Absent of an end that stands in the list of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    ended_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<CallerEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<StoppedEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<AskedEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concluded_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conclusion: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<BoundEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_covered: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_conclusions: Vec<File>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    amended: Vec<AmendedEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AmendedEntry {
    at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<CallerEntry>,
    reason: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conclusion: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answers: Option<Vec<BoundEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_covered: Option<Vec<Text>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BoundEntry {
    id: NodeId,
    r#as: BoundAs,
}

impl BoundEntry {
    fn of(bound: Vec<BoundAnswer>) -> Vec<BoundEntry> {
        bound.into_iter().map(|it| BoundEntry { id: it.id, r#as: it.role }).collect()
    }

    fn bound(entries: Vec<BoundEntry>) -> Vec<BoundAnswer> {
        entries.into_iter().map(|it| BoundAnswer { id: it.id, role: it.r#as }).collect()
    }
}

fn entries(texts: Vec<String>) -> Vec<Text> {
    texts.into_iter().map(Text).collect()
}

fn texts(entries: Vec<Text>) -> Vec<String> {
    entries.into_iter().map(|text| text.0).collect()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoppedEntry {
    reason: StopReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Text>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskedEntry {
    answer: PersonsAnswer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<Text>,
}

/// The text of the file.
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
        ended_at: Time(conclusion.ended_at),
        agent_id: conclusion.agent_id.map(Text),
        by: CallerEntry::of(conclusion.caller),
        stopped: conclusion
            .stopped
            .map(|stopped| StoppedEntry { reason: stopped.reason, note: stopped.note.map(Text) }),
        asked: conclusion.asked.map(|asked| AskedEntry { answer: asked.answer, said: asked.said.map(Text) }),
        concluded_at: conclusion.concluded_at.map(Time),
        conclusion: conclusion.conclusion.map(Text),
        answers: BoundEntry::of(conclusion.answers),
        not_covered: entries(conclusion.not_covered),
        other_conclusions: conclusion.other_conclusions.into_iter().map(entry).collect(),
        amended: conclusion
            .amended
            .into_iter()
            .map(|it| AmendedEntry {
                at: Time(it.at),
                agent_id: it.agent_id.map(Text),
                by: CallerEntry::of(it.caller),
                reason: Text(it.reason),
                conclusion: it.conclusion.map(Text),
                answers: it.answers.map(BoundEntry::of),
                not_covered: it.not_covered.map(entries),
            })
            .collect(),
    }
}

/// The value of the file.
///
/// # Errors
///
/// An invalid file, with the line.
pub fn read(text: &str) -> Result<Conclusion, YamlError> {
    whole(super::read(text)?)
}

/// Out of the same fields in another format.
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
        Some(_) if !is_flat => Err(super::unfit("an entry of `otherConclusions` holds an end alone")),
        Some(_) => Ok(conclusion(file)),
    }
}

fn conclusion(file: File) -> Conclusion {
    Conclusion {
        ended_at: file.ended_at.0,
        agent_id: file.agent_id.map(|text| text.0),
        caller: CallerEntry::caller(file.by),
        stopped: file
            .stopped
            .map(|stopped| Stopped { reason: stopped.reason, note: stopped.note.map(|text| text.0) }),
        asked: file.asked.map(|asked| Asked { answer: asked.answer, said: asked.said.map(|text| text.0) }),
        concluded_at: file.concluded_at.map(|time| time.0),
        conclusion: file.conclusion.map(|text| text.0),
        answers: BoundEntry::bound(file.answers),
        not_covered: texts(file.not_covered),
        other_conclusions: file.other_conclusions.into_iter().map(conclusion).collect(),
        amended: file
            .amended
            .into_iter()
            .map(|it| AmendedConclusion {
                at: it.at.0,
                agent_id: it.agent_id.map(|text| text.0),
                caller: CallerEntry::caller(it.by),
                reason: it.reason.0,
                conclusion: it.conclusion.map(|text| text.0),
                answers: it.answers.map(BoundEntry::bound),
                not_covered: it.not_covered.map(texts),
            })
            .collect(),
    }
}
