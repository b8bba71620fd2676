//! What a result cites, and what a cited file of the project was at that moment.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::id::as_text;
use crate::yaml;

/// A source, given as data; or a file that a text names, kept as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Citation {
    /// The URL or path.
    #[serde(serialize_with = "yaml::text")]
    pub target: String,
    /// The line, or the first and the last with `-` between.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub lines: Option<String>,
    /// The commit of the repository that it was read in.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub commit: Option<String>,
    /// What the agent read there, word for word.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub quote: Option<String>,
    /// What it is, or what it shows.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub note: Option<String>,
    /// The text that names it, where it was not given as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_in: Option<NamedIn>,
    /// The file that it meant when it was stored, where that is one of the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Pin>,
}

/// A text of a result that names sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamedIn {
    /// The findings.
    Findings,
    /// The evidence.
    Evidence,
}

/// A file of the project as it was when it was cited: what the server saw itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Where it is, from the root of the project, with `/` between the parts.
    #[serde(serialize_with = "yaml::text")]
    pub path: String,
    /// The project's commit; none where it had none yet.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub commit: Option<String>,
    /// git's id of the content.
    #[serde(serialize_with = "yaml::text")]
    pub blob: String,
    /// Whether that commit has another content there, or none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncommitted: bool,
    /// The lines that are cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// The text at that place; of many lines, the first ones.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub text: Option<String>,
}

/// Lines of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The first.
    pub first: u32,
    /// The last; not before the first.
    pub last: u32,
}

/// A text that names no lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write one line as 18, several as 18-24")]
pub struct NoLines;

/// A path that a result cites, to be looked up in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CitedPath {
    /// As it was written.
    pub path: String,
    /// Which lines of it.
    pub lines: Option<Lines>,
    /// In which commit.
    pub commit: Option<String>,
    /// What it is said to hold there.
    pub quote: Option<String>,
}

/// What was found of a cited path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookedUp {
    /// It is there, and this is it.
    Found(Pin),
    /// It is there, and does not hold what is quoted of it: what is wrong, as a clause.
    Misquoted(Pin, String),
    /// It is not: what is wrong, as a clause.
    Missing(String),
    /// The file at this path is there, and git ignores it: nothing of what it holds is known.
    Ignored(String),
}

/// What was found of the paths that a call cites. A path that is missing here lies outside the project or could not be read.
pub type LookedUpPaths = HashMap<CitedPath, LookedUp>;

impl LookedUp {
    /// The file, where it is there.
    pub fn pin(&self) -> Option<&Pin> {
        match self {
            LookedUp::Found(pin) | LookedUp::Misquoted(pin, _) => Some(pin),
            LookedUp::Missing(_) | LookedUp::Ignored(_) => None,
        }
    }
}

impl Citation {
    /// What was given as data: without what a text names, and without what the server added.
    pub fn given(references: &[Citation]) -> Vec<Citation> {
        let given = references.iter().filter(|citation| citation.named_in.is_none());
        given.map(|citation| Citation { pinned: None, ..citation.clone() }).collect()
    }
}

impl Lines {
    /// As many lines from another one on.
    pub fn from(self, first: u32) -> Lines {
        Lines { first, last: first.saturating_add(self.last - self.first) }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

impl FromStr for Lines {
    type Err = NoLines;

    fn from_str(text: &str) -> Result<Self, NoLines> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Lines { first, last }),
            _ => Err(NoLines),
        }
    }
}

as_text!(Lines);
