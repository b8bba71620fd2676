//! Conversion between files and domain values, and commit messages. Pure: text in, text out. Attachments are stored
//! unchanged.
//!
//! Guarantees:
//!
//! - A written file reads back to the same value, and writing that value again produces the same bytes.
//! - Keys have a fixed order and multi-line text is a literal block, so a diff shows only the change.
//! - Every file that stores facts has a version.
//! - An invalid file causes an error that includes the line, if known. Its content is never guessed.
//!
//! # Versions
//!
//! New keys are optional: files without them are read and written as before, and the version does not change. An older
//! program that does not know a key rejects the file, names the key, and says that a newer version may have written it.
//! The other files of the investigation remain readable, and an unreadable file is never overwritten. The version
//! increases only if the meaning of a key changes. The error then names the version.
//!
//! For example, a program that does not know `caveats` reports node files that contain them as invalid. It shows the
//! investigation without these nodes and the confirmations that they provide. Likewise, a program that does not know
//! `answers` and `notCovered` shows the investigation as not ended. In files without `answers`, a single answer counts
//! as named, but if there are several, none does.
//!
//! # Modules
//!
//! - [`layout`]: file paths.
//! - [`node_file`], [`comment_file`], [`run_file`], [`withheld_file`]: the file formats that differ from their types.
//! - [`record`](mod@record): the common interface of comments and runs.
//! - [`message`]: commit messages.
//! - [`readme`]: the page shown by git forges.

pub mod comment_file;
pub mod layout;
pub mod message;
pub mod node_file;
pub mod readme;
pub mod record;
pub mod run_file;
pub mod withheld_file;

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{Change, Comment, Conclusion, Event, Meta, Node, Run};
use crate::yaml::{self, YamlError};

/// The version of the file formats that this program reads and writes.
pub const VERSION: u32 = 2;

/// A file to write or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path in the repository, separated by `/`.
    pub path: String,
    /// The new content; `None` removes the file if it exists.
    pub content: Option<Vec<u8>>,
}

impl FileChange {
    /// Creates a change that writes a text file.
    pub fn text(path: impl Into<String>, text: String) -> Self {
        FileChange { path: path.into(), content: Some(text.into_bytes()) }
    }
}

/// Returns the files that an event writes and removes.
///
/// # Errors
///
/// Never fails in practice, because every value of this program can be serialized. The error avoids a panic.
pub fn files(event: &Event) -> Result<Vec<FileChange>, YamlError> {
    let mut files: Vec<FileChange> = Vec::new();
    for change in event.changes() {
        let file = match &change {
            Change::Node(node) => FileChange::text(layout::node(&node.id), node.write()?),
            Change::NodeRemoved(id) => FileChange { path: layout::node(id), content: None },
            Change::Concluded(conclusion) | Change::Reopened(conclusion) => {
                FileChange::text(layout::CONCLUSION, conclusion.write()?)
            }
            Change::Comment(comment) => FileChange::text(layout::comment(comment.id), comment.write()?),
            Change::Run(run) => FileChange::text(layout::run(run.id), run.write()?),
            Change::Attached(file) => FileChange {
                path: layout::attachment(&file.node, &file.name),
                content: Some(file.content.clone()),
            },
        };
        // If a node changed twice in one event, only its final state is written.
        files.retain(|other| other.path != file.path);
        files.push(file);
    }
    Ok(files)
}

/// A value with a file of its own.
pub trait StoredFile: Serialize + DeserializeOwned {
    /// Serializes the file.
    ///
    /// # Errors
    ///
    /// Never fails in practice; see [`files`].
    fn write(&self) -> Result<String, YamlError> {
        write(self)
    }

    /// Parses the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is invalid. The error includes the line, if known.
    fn read(text: &str) -> Result<Self, YamlError> {
        read(text)
    }
}

impl StoredFile for Meta {}
impl StoredFile for Comment {}
impl StoredFile for Run {}

impl StoredFile for Node {
    fn write(&self) -> Result<String, YamlError> {
        let mut node = self.clone();
        node.visit_ids(&mut |id| id.show_whole(true));
        write(&node)
    }
}

impl StoredFile for Conclusion {
    fn write(&self) -> Result<String, YamlError> {
        let mut conclusion = self.clone();
        conclusion.visit_ids(&mut |id| id.show_whole(true));
        write(&conclusion)
    }
}

fn write<T: Serialize>(value: &T) -> Result<String, YamlError> {
    yaml::to_text(&Versioned { version: Version, value })
}

/// Parses a file. If that fails because of the version or an unknown key, the error says so.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u32,
    }
    let file = yaml::from_text::<Versioned<T>>(text).map_err(|error| {
        let message = match yaml::from_text::<VersionOnly>(text) {
            Ok(other) if other.version != VERSION => unknown_version(other.version),
            _ => match error.message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", ")) {
                Some((key, _)) => format!(
                    "{key} is not a key of this file: it is misspelled, or a newer version of this program wrote it"
                ),
                None => error.message,
            },
        };
        YamlError { message, ..error }
    })?;
    Ok(file.value)
}

fn unknown_version(version: u32) -> String {
    match version {
        1 => "version 1 is no longer read: `tests/convert.py` in the source code converts an investigation to version 2".into(),
        _ => format!("version {version} is not known; this program reads version {VERSION}"),
    }
}

/// A file, which consists of the version and the fields of the value.
#[derive(Serialize)]
struct Versioned<T> {
    version: Version,
    #[serde(flatten)]
    value: T,
}

/// Not derived: with `flatten`, serde would lose the error lines and accept unknown keys.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Versioned<T> {
    fn deserialize<D: Deserializer<'de>>(file: D) -> Result<Self, D::Error> {
        file.deserialize_map(VersionedVisitor(PhantomData))
    }
}

struct VersionedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for VersionedVisitor<T> {
    type Value = Versioned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Versioned<T>, A::Error> {
        let mut version = None;
        let take = |key: &str, map: &mut A| {
            let is_version = key == "version";
            if is_version {
                version = Some(map.next_value()?);
            }
            Ok(is_version)
        };
        let value = T::deserialize(MapAccessDeserializer::new(OtherFields::of(map, take)))?;
        let version = version.ok_or_else(|| A::Error::missing_field("version"))?;
        Ok(Versioned { version, value })
    }
}

/// The fields of a mapping without those that `take` reads.
struct OtherFields<A, F> {
    map: A,
    take: F,
    /// True after the last field.
    is_at_end: bool,
}

impl<'de, A: MapAccess<'de>, F: FnMut(&str, &mut A) -> Result<bool, A::Error>> OtherFields<A, F> {
    /// Creates the mapping. `take` reads the value of its keys and returns whether a key is one of them.
    fn of(map: A, take: F) -> Self {
        OtherFields { map, take, is_at_end: false }
    }
}

impl<'de, A: MapAccess<'de>, F: FnMut(&str, &mut A) -> Result<bool, A::Error>> MapAccess<'de>
    for OtherFields<A, F>
{
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if !(self.take)(&key, &mut self.map)? {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
        }
        self.is_at_end = true;
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The version key, which every file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Version),
            other => Err(serde::de::Error::custom(unknown_version(other))),
        }
    }
}
