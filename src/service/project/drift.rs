//! Compares citations with the current files.

use serde::Serialize;

use crate::domain::{Lines, Pin};

/// The change to a passage since it was cited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Drift {
    /// The passage is unchanged and in the same place.
    Unchanged,
    /// The passage is unchanged but elsewhere: once in the same file, or in a file that replaced it.
    Moved {
        /// The new path.
        path: String,
        /// The new lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        lines: Option<Lines>,
    },
    /// The file exists, but the passage is missing or occurs several times.
    Changed,
    /// The file is missing, and no other file has replaced it.
    Gone,
    /// The file is now too large, or its content is unavailable, as in a partial clone.
    Unchecked,
}

/// The current content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// The git ids of the content, if known, both unmodified and with normalized line endings.
    pub blobs: Vec<String>,
    /// The text, or `None` if the file is binary or was not read.
    pub text: Option<String>,
    /// True if the file was read; false if it is too large or unavailable.
    pub is_read: bool,
}

impl Drift {
    /// Returns the name, for people and programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Drift::Unchanged => "unchanged",
            Drift::Moved { .. } => "moved",
            Drift::Changed => "changed",
            Drift::Gone => "gone",
            Drift::Unchecked => "unchecked",
        }
    }

    /// Returns the new location, such as `src/a.rs:18-24`.
    pub fn moved_to(&self) -> Option<String> {
        match self {
            Drift::Moved { path, lines: Some(lines) } => Some(format!("{path}:{lines}")),
            Drift::Moved { path, lines: None } => Some(path.clone()),
            _ => None,
        }
    }

    /// Returns true if the cited passage was not found anywhere.
    pub fn is_lost(&self) -> bool {
        matches!(self, Drift::Changed | Drift::Gone)
    }
}

/// Compares a citation with the current content at its path. If the file is missing, compares the citation with files
/// that may have replaced it because they have the same content or the same name.
///
/// Lines count as moved only if they occur exactly once. A citation without stored lines refers to the whole file.
pub fn drift(pin: &Pin, here: Option<&FileContent>, elsewhere: &[(String, FileContent)]) -> Drift {
    let is_same = |content: &FileContent| content.blobs.contains(&pin.blob);
    let moved = |path: &str, lines| Drift::Moved { path: path.to_owned(), lines };
    let quoted = pin.lines.zip(pin.text.as_deref());
    if let Some(here) = here {
        let stands = |(lines, quote): (Lines, &str)| places(here, quote).contains(&lines.first);
        if is_same(here) || quoted.is_some_and(stands) {
            return Drift::Unchanged;
        }
        if !here.is_read {
            return Drift::Unchecked;
        }
        return match quoted.map(|(lines, quote)| (lines, places(here, quote))) {
            Some((lines, found)) if found.len() == 1 => moved(&pin.path, Some(lines.from(found[0]))),
            _ => Drift::Changed,
        };
    }
    if let Some((path, _)) = elsewhere.iter().find(|(_, content)| is_same(content)) {
        return moved(path, pin.lines);
    }
    let gone =
        if elsewhere.iter().all(|(_, content)| content.is_read) { Drift::Gone } else { Drift::Unchecked };
    let Some((lines, quote)) = quoted else { return gone };
    let mut found = elsewhere
        .iter()
        .flat_map(|(path, content)| places(content, quote).into_iter().map(move |first| (path, first)));
    match (found.next(), found.next()) {
        (Some((path, first)), None) => moved(path, Some(lines.from(first))),
        _ => gone,
    }
}

/// Returns the line numbers at which the quote occurs in a file.
fn places(content: &FileContent, quote: &str) -> Vec<u32> {
    let lines: Vec<&str> = content.text.iter().flat_map(|text| text.lines()).collect();
    let quote: Vec<&str> = quote.lines().collect();
    let starts = lines.windows(quote.len().max(1)).enumerate();
    let found = starts.filter(|(_, window)| !quote.is_empty() && **window == *quote);
    found.filter_map(|(at, _)| u32::try_from(at + 1).ok()).collect()
}
