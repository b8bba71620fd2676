//! The pure middle of Tree of Thoughts: what an investigation is, what a ruleset requires, what a call may change, and how each
//! is written. Nothing here knows git, a file or the protocol of a server. The time comes in as a value.
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
