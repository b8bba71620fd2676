//! The pure core of Tree of Thoughts: investigations, rulesets, decisions about calls, and file formats.
//!
//! Nothing in this crate uses git, files or the server protocol. Times are passed in as values.
//!
//! As a separate crate, it compiles in parallel with the libraries that only the rest of the program needs, and it is
//! not recompiled when the rest changes. `tree_of_thoughts` re-exports each module under the same name, and its crate
//! documentation describes the architecture.

pub mod assess;
pub mod decide;
pub mod domain;
pub mod fields;
pub mod format;
pub mod graph;
pub mod json;
pub mod markdown;
pub mod merge;
pub mod numbers;
pub mod picture;
pub mod ruleset;
pub mod secrets;
#[cfg(test)]
#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../../tests/support/testing.rs"]
mod testing;
// Tests of the library and of the programs share code, which names the library from outside.
#[cfg(test)]
extern crate self as tree_of_thoughts;
pub mod text;
pub mod yaml;
