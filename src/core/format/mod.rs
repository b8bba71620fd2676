//! Conversion between files of an investigation and domain values, and the commit messages. Pure: text in, text out;
//! attachments are not converted.
//!
//! Guarantees: a written file reads back to the same value, byte for byte on the next write; keys are in a fixed order,
//! multi-line text in literal blocks, so that a diff shows only the change; each file has a version. An invalid file is an
//! error with its line, never a guess.
//!
//! # Versions
//!
//! A form grows by keys that are absent where they are not used: a file without them is read and written byte for byte as
//! before, and its version stays. A reader that does not know a key refuses that one file, names the key, and says that a
//! newer program may have written it; the other files of the investigation stay readable, and it never overwrites a
//! file that it can't read. The version goes up only where a key changes its meaning. The reader then names the version.
//!
//! Two examples. A node with `caveats`: an older program reports its file as a fault, shows the investigation without the
//! node and its confirmation, and leaves the file unchanged. A conclusion with `answers` and `notCovered`: an older program
//! reports `conclusion.yaml` as a fault, shows the investigation as not ended, and leaves the file unchanged. In a file
//! without these keys, a single answer is the one that is meant; among several, none is.
//!
//! - [`layout`]: the path of each file.
//! - [`node_file`], [`meta_file`], [`conclusion_file`], [`comment_file`], [`run_file`]: the files.
//! - [`record`](mod@record): the common part of comments and runs.
//! - [`attachment_entry`]: an attachment in `investigation.json`.
//! - [`message`]: the commit message of an event.
//! - [`readme`]: the page that a forge shows.

pub mod attachment_entry;
pub mod comment_file;
pub mod conclusion_file;
pub mod layout;
pub mod message;
pub mod meta_file;
pub mod node_file;
pub mod readme;
pub mod record;
pub mod run_file;
pub mod withheld_file;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serializer};

use crate::domain::{Change, Event};
use crate::yaml::{self, YamlError};

/// The version of the files' form that this program writes and reads.
pub const VERSION: u32 = 1;

/// A file of an investigation, written or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path in the repository, with `/`.
    pub path: String,
    /// Its content; `None` removes the file, if there is one.
    pub content: Option<Vec<u8>>,
}

impl FileChange {
    /// Returns a text file.
    pub fn text(path: impl Into<String>, text: String) -> Self {
        FileChange { path: path.into(), content: Some(text.into_bytes()) }
    }
}

/// The files that an event writes and removes.
///
/// # Errors
///
/// Not with values of this program; the error exists so that nothing can panic.
pub fn files(event: &Event) -> Result<Vec<FileChange>, YamlError> {
    let mut files: Vec<FileChange> = Vec::new();
    for change in event.changes() {
        let file = match &change {
            Change::Meta(meta) => FileChange::text(layout::META, meta_file::write(meta)?),
            Change::Node(node) => FileChange::text(layout::node(&node.id), node_file::write(node)?),
            Change::NodeRemoved(id) => FileChange { path: layout::node(id), content: None },
            Change::Concluded(conclusion) => {
                FileChange::text(layout::CONCLUSION, conclusion_file::write(conclusion)?)
            }
            Change::Reopened => FileChange { path: layout::CONCLUSION.into(), content: None },
            Change::Comment(comment) => {
                FileChange::text(layout::comment(comment.id), comment_file::write(comment)?)
            }
            Change::CommentRemoved(id) => FileChange { path: layout::comment(*id), content: None },
            Change::Run(run) => FileChange::text(layout::run(run.id), run_file::write(run)?),
            Change::RunRemoved(id) => FileChange { path: layout::run(*id), content: None },
            Change::Attached(file) => FileChange {
                path: layout::attachment(&file.node, &file.name),
                content: Some(file.content.clone()),
            },
        };
        // A node that changed twice in one event is written as it is in the end.
        files.retain(|other| other.path != file.path);
        files.push(file);
    }
    Ok(files)
}

/// Reads a file and checks its version, so that a file of a later version is not called malformed.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    yaml::from_text(text).map_err(|error| match yaml::from_text::<Versioned>(text) {
        Ok(versioned) if versioned.version != VERSION => YamlError {
            line: error.line,
            column: error.column,
            message: format!(
                "version {} is not known; this program reads version {VERSION}",
                versioned.version
            ),
        },
        _ => match error.message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", ")) {
            Some((key, _)) => YamlError {
                message: format!(
                    "{key} is not a key of this file: it is misspelled, or a newer version of this program wrote it"
                ),
                ..error
            },
            None => error,
        },
    })
}

/// An error of a readable file with invalid content.
fn unfit(message: impl Into<String>) -> YamlError {
    YamlError { line: None, column: None, message: message.into() }
}

/// The version key of every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version;

impl serde::Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Version),
            other => {
                let message = format!("version {other} is not known; this program reads version {VERSION}");
                Err(serde::de::Error::custom(message))
            }
        }
    }
}
