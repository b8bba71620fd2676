//! Citations of sources, and the recorded state of cited project files.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::as_text;

/// A source, either given as data or named in one of the result's text fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Citation {
    /// The URL or path.
    pub target: String,
    /// The line, or a range of lines such as `18-24`.
    pub lines: Option<String>,
    /// The commit at which the source was read.
    pub commit: Option<String>,
    /// The quoted passage, word for word.
    pub quote: Option<String>,
    /// A note on the source or its relevance.
    pub note: Option<String>,
    /// The field that names the source; absent if the source was given as data.
    pub named_in: Option<NamedIn>,
    /// The state of the cited file when the citation was stored, if the file belongs to the project.
    pub pinned: Option<Pin>,
}

/// A text field of a result in which sources are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NamedIn {
    /// The findings.
    Findings,
    /// The evidence.
    Evidence,
    /// A link in the findings that says how a passage is known. It is no reference.
    Source,
}

/// The state of a project file when it was cited, as read by the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// The path relative to the project root, separated by `/`.
    pub path: String,
    /// The project's HEAD commit; absent if the repository had no commit yet.
    pub commit: Option<String>,
    /// The git object id of the content.
    pub blob: String,
    /// True if the content differs from the HEAD commit or is not part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncommitted: bool,
    /// The cited lines.
    pub lines: Option<Lines>,
    /// The cited text. If the passage is long, only its first few lines are stored.
    pub text: Option<String>,
}

/// A range of lines, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The first line.
    pub first: u32,
    /// The last line, which is never before the first.
    pub last: u32,
}

/// An error returned for text that is neither a line number nor a line range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write one line as 18, several as 18-24")]
pub struct NoLines;

/// A cited path to look up in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CitedPath {
    /// The path as written.
    pub path: String,
    /// The cited lines.
    pub lines: Option<Lines>,
    /// The cited commit.
    pub commit: Option<String>,
    /// The passage quoted from the file.
    pub quote: Option<String>,
}

/// The result of looking up a cited path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookedUp {
    /// The file exists and contains the quoted passage.
    Found(Pin),
    /// The file exists but does not contain the quoted passage. The string is a clause that describes the mismatch.
    Misquoted(Pin, String),
    /// The file, line range or commit does not exist. The string is a clause that names what is missing.
    Missing(String),
    /// The file exists but is ignored by git, so nothing about its content is recorded. The string is its path.
    Ignored(String),
    /// The project's repository can't be read. The string is the reason.
    Unread(String),
}

/// The lookup results for the paths that a call cites. Paths outside the project and unreadable files have no entry.
pub type LookedUpPaths = HashMap<CitedPath, LookedUp>;

impl LookedUp {
    /// Returns the recorded state of the file, if the file exists and is not ignored.
    pub fn pin(&self) -> Option<&Pin> {
        match self {
            LookedUp::Found(pin) | LookedUp::Misquoted(pin, _) => Some(pin),
            LookedUp::Missing(_) | LookedUp::Ignored(_) | LookedUp::Unread(_) => None,
        }
    }
}

impl Citation {
    /// Returns only the citations given as data, without the state that the server recorded.
    pub fn given(references: &[Citation]) -> Vec<Citation> {
        let given = references.iter().filter(|citation| citation.named_in.is_none());
        given.map(|citation| Citation { pinned: None, ..citation.clone() }).collect()
    }
}

impl Lines {
    /// Returns a range of the same length that begins at `first`.
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
