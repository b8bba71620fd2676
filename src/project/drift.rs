//! The drift of citations: how they compare with the present files.

use serde::Serialize;

use crate::domain::{Lines, Pin};

/// The fate of a citation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum Drift {
    /// It is unchanged, at its place.
    Unchanged,
    /// It is unchanged, at another place: in the same file once, or in a file that has replaced it.
    Moved {
        /// The file.
        path: String,
        /// The lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        lines: Option<Lines>,
    },
    /// The file exists without the cited text; or the text occurs several times, so that its place is ambiguous.
    Changed,
    /// The file is missing, and so is anything that it could have become.
    Gone,
    /// The file can't be read: it is too large now, or its content is missing, as in a partial clone.
    Unchecked,
}

/// The present content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its git ids, as far as known: as it is, and with the line ends that git may store.
    pub blobs: Vec<String>,
    /// Its text; `None` if it is binary or was not read.
    pub text: Option<String>,
    /// Whether it was read: a file above the limit is not.
    pub is_read: bool,
}

impl Drift {
    /// Its name, for people and programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Drift::Unchanged => "unchanged",
            Drift::Moved { .. } => "moved",
            Drift::Changed => "changed",
            Drift::Gone => "gone",
            Drift::Unchecked => "unchecked",
        }
    }

    /// The new place: `src/a.rs:18-24`.
    pub fn moved_to(&self) -> Option<String> {
        match self {
            Drift::Moved { path, lines: Some(lines) } => Some(format!("{path}:{lines}")),
            Drift::Moved { path, lines: None } => Some(path.clone()),
            _ => None,
        }
    }

    /// Whether the cited text can no longer be read at its place, nor anywhere else.
    pub fn is_lost(&self) -> bool {
        matches!(self, Drift::Changed | Drift::Gone)
    }
}

/// Judges a citation by the present content at its path, or else by the files that may have replaced it: those with the
/// same content, and those of the same name.
///
/// Lines count as moved only if they occur once. For a citation without lines, or whose lines were not kept, the whole
/// file counts.
pub fn judge(pin: &Pin, here: Option<&Content>, elsewhere: &[(String, Content)]) -> Drift {
    let is_same = |content: &Content| content.blobs.contains(&pin.blob);
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

/// The lines at which the quote occurs in a file.
fn places(content: &Content, quote: &str) -> Vec<u32> {
    let lines: Vec<&str> = content.text.iter().flat_map(|text| text.lines()).collect();
    let quote: Vec<&str> = quote.lines().collect();
    let starts = lines.windows(quote.len().max(1)).enumerate();
    let found = starts.filter(|(_, window)| !quote.is_empty() && **window == *quote);
    found.filter_map(|(at, _)| u32::try_from(at + 1).ok()).collect()
}
