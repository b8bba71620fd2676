//! The pure core of Tree of Thoughts: investigations, rulesets, decisions about calls, and the format of each. Nothing here
//! knows git, files or the protocol of a server; the time is passed in as a value.
//!
//! It is a crate of its own so that it is built beside the libraries that only the rest needs, and once for a change
//! elsewhere. `tree_of_thoughts` has each of these modules under the same name; its documentation is the map of all.

pub mod assess;
pub mod decide;
pub mod domain;
pub mod format;
pub mod graph;
pub mod markdown;
pub mod merge;
pub mod parallel;
pub mod ruleset;
pub mod secrets;
#[cfg(test)]
#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../../tests/support/testing.rs"]
mod testing;
pub mod text;
pub mod view;
pub mod yaml;
