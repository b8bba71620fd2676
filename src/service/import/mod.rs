//! Reads investigations from `investigation.json` files and from files written by this program's predecessor. Pure: it
//! converts text to facts and steps, and [`crate::service::sync::import`] writes them.
//!
//! 1. [`read`] recognizes the format and parses the investigation into [`Facts`].
//!    - `data`: `investigation.json`, which contains all facts and the ruleset.
//!    - `ancestor`: `investigations/<id>.json`, as written by any generation of the TypeScript server.
//! 2. [`steps`] reconstructs the history: one [`ImportStep`] for each call, ordered by the times in the facts.
//!
//! # Guarantees
//!
//! - The result depends only on the file: identical files produce identical commits on every machine.
//! - An invalid file results in an error that names the location, and never in a partial investigation.
//! - Rule violations are imported, and `tot check` reports them.
//!
//! # Limitations
//!
//! A file contains only the final state. Withdrawn proposals and reopened conclusions are missing.

mod ancestor;
mod data;
mod story;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
pub use story::{ImportStep, steps};

use crate::domain::{Attached, Change, Comment, Conclusion, Investigation, Meta, Node, Run, SessionId};
use crate::ruleset::{RulesetError, RulesetFile};

/// The contents of an investigation file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The settings that were fixed when the investigation started.
    pub meta: Meta,
    /// The ruleset.
    pub ruleset: RulesetFile,
    /// The nodes, parents before their children.
    pub nodes: Vec<Arc<Node>>,
    /// The conclusion, if the investigation has ended.
    pub conclusion: Option<Conclusion>,
    /// The comments, oldest first.
    pub comments: Vec<Arc<Comment>>,
    /// Captured runs, reruns and judgments.
    pub runs: Vec<Arc<Run>>,
    /// The attachments of all nodes.
    pub attachments: Vec<Arc<Attached>>,
    /// Notes about assumptions and omissions, for people.
    pub notes: Vec<String>,
}

/// The reason why a file can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The file is JSON in another format.
    #[error(
        "it is neither an investigation.json (with `meta` and `nodes`) nor a file of the ancestor (with `sessionId` \
             and `nodes`)"
    )]
    UnknownForm,
    /// A value is invalid.
    #[error("{place}: {reason}")]
    Invalid {
        /// The location, such as `nodes.R1.A.state`.
        place: String,
        /// The reason.
        reason: String,
    },
    /// The ruleset in the file is invalid.
    #[error("rulesetFile: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Ruleset(Vec<RulesetError>),
    /// No built-in ruleset has all states in the file.
    #[error("no built-in ruleset{} has the states {states}", of(.name))]
    NoRuleset {
        /// The requested ruleset.
        name: Option<String>,
        /// The node states in the file.
        states: String,
    },
}

fn of(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default()
}

/// Options for reading a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions<'a> {
    /// Import as a new investigation, with an id derived from the contents of the file.
    pub as_new: bool,
    /// The built-in ruleset for an ancestor file. Defaults to the ruleset with the fewest violations.
    pub ruleset: Option<&'a str>,
}

/// Parses the contents of a file.
///
/// # Errors
///
/// Returns an [`ImportError`] if the file is invalid or has an unknown format.
pub fn read(text: &str, options: ImportOptions<'_>) -> Result<Facts, ImportError> {
    let value: Value = serde_json::from_str(text).map_err(ImportError::NotJson)?;
    let has = |key: &str| value.get(key).is_some();
    let new = options.as_new.then(|| SessionId::derived(text.as_bytes()));
    match (has("nodes"), has("meta"), has("sessionId")) {
        (true, true, _) => data::read(value, new),
        (true, false, true) => ancestor::read(value, new, options.ruleset),
        _ => Err(ImportError::UnknownForm),
    }
}

impl Facts {
    /// Creates the facts if every node fits into the tree. `place` returns the location of a node in the file.
    fn new(
        meta: Meta,
        ruleset: RulesetFile,
        nodes: Vec<Node>,
        conclusion: Option<Conclusion>,
        place: impl Fn(&Node) -> String,
    ) -> Result<Self, ImportError> {
        let mut nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
        nodes.sort_by(|one, other| one.id.cmp(&other.id));
        for pair in nodes.windows(2) {
            if pair[0].id == pair[1].id {
                return Err(invalid(place(&pair[0]), "the id occurs twice"));
            }
        }
        let (_, faults) = Investigation::from_facts(meta.clone(), nodes.iter().cloned(), None);
        if let Some(fault) = faults.into_iter().next() {
            let node = nodes.iter().find(|node| node.id == fault.node);
            return Err(invalid(node.map_or_else(String::new, |node| place(node)), fault.reason));
        }
        let (comments, runs, attachments, notes) = Default::default();
        Ok(Facts { meta, ruleset, nodes, conclusion, comments, runs, attachments, notes })
    }

    /// Returns the investigation with these facts.
    pub fn investigation(&self) -> Investigation {
        let nodes = self.nodes.iter().cloned();
        let investigation = Investigation::from_facts(self.meta.clone(), nodes, self.conclusion.clone()).0;
        let attachments: Vec<Change> = self.attachments.iter().cloned().map(Change::Attached).collect();
        investigation
            .with_comments(self.comments.iter().cloned())
            .with_runs(self.runs.iter().cloned())
            .with(&attachments)
    }
}

/// Parses a value at the given location in the file.
fn typed<T: DeserializeOwned>(value: Value, place: &str) -> Result<T, ImportError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let parts = [place, path.as_str()].into_iter().filter(|part| !part.is_empty() && *part != ".");
        invalid(parts.collect::<Vec<_>>().join("."), error.into_inner())
    })
}

fn invalid(place: impl Into<String>, reason: impl fmt::Display) -> ImportError {
    ImportError::Invalid { place: place.into(), reason: reason.to_string() }
}
