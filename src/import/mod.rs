//! Reads investigations from files: `investigation.json`, and the format of the program's ancestor. Pure: text in, facts
//! and steps out; [`crate::sync::import`] writes them.
//!
//! 1. [`read`] recognizes the format and parses the investigation: [`Facts`].
//!    - `data`: `investigation.json`, which has all facts, and the text of the ruleset.
//!    - `ancestor`: `investigations/<id>.json` of the TypeScript server, of any generation of states.
//! 2. [`steps`] reconstructs its history: one [`Step`] for each call, in the order of the times in the facts.
//!
//! Guarantees: the result depends on the file alone, so the same file gives the same commits on every machine. An invalid
//! file is an error with its place, never a part of an investigation. Violations of the rules are kept, for `tot check` to
//! report.
//!
//! Limit: a file contains only the final state. Withdrawn proposals, and ends that were reopened, are not in it.

mod ancestor;
mod data;
mod story;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
pub use story::{Step, steps};

use crate::domain::{Attached, Change, Comment, Conclusion, Investigation, Meta, Node, Run, SessionId};
use crate::ruleset::{RulesetError, RulesetFile};

/// The contents of a file about an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The terms fixed at the start.
    pub meta: Meta,
    /// The ruleset in force.
    pub ruleset: RulesetFile,
    /// The nodes, parents before their children.
    pub nodes: Vec<Arc<Node>>,
    /// The conclusion, if it has ended.
    pub conclusion: Option<Conclusion>,
    /// The comments, oldest first.
    pub comments: Vec<Arc<Comment>>,
    /// Commands that were run, repetitions and judgements.
    pub runs: Vec<Arc<Run>>,
    /// The attachments of the nodes.
    pub attachments: Vec<Arc<Attached>>,
    /// Notes on the import for a person: interpretations and omissions.
    pub notes: Vec<String>,
}

/// Why a file can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// The file is JSON of another format.
    #[error(
        "it is neither an investigation.json, which has `meta` and `nodes`, nor a file of the ancestor, which has \
             `sessionId` and `nodes`"
    )]
    UnknownForm,
    /// A value is invalid.
    #[error("{place}: {reason}")]
    Invalid {
        /// Its place: `nodes.R1.A.state`.
        place: String,
        /// The fault.
        reason: String,
    },
    /// The ruleset in the file can't be used.
    #[error("rulesetFile: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Ruleset(Vec<RulesetError>),
    /// No built-in ruleset has the states.
    #[error("no built-in ruleset{} has the states {states}", of(.name))]
    NoRuleset {
        /// The requested ruleset.
        name: Option<String>,
        /// The states of its nodes.
        states: String,
    },
}

fn of(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default()
}

/// Options for reading a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Import as another investigation, with an id derived from the whole text.
    pub as_new: bool,
    /// The built-in ruleset for a file of the ancestor, which names none; by default, the one that it breaks least.
    pub ruleset: Option<&'a str>,
}

/// Reads the text of a file.
///
/// # Errors
///
/// [`ImportError`].
pub fn read(text: &str, options: Options<'_>) -> Result<Facts, ImportError> {
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
    /// The facts, if each node has a place in the tree. `place` returns the place of a node in the file.
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
                return Err(invalid(place(&pair[0]), "the id stands twice"));
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

    /// The investigation with these facts.
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

/// Parses a value. `place` is its place in the file.
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
