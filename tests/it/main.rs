//! The integration tests, in one binary, so that they link once. `tests/README.md` describes their layout.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod check;
mod demo;
mod evidence;
mod fuzz;
mod html;
#[cfg(unix)]
mod look;
mod mcp;
mod packaging;
#[cfg(unix)]
mod port;
#[cfg(unix)]
mod remote;
mod report;
mod rules;
mod rulesets;
#[cfg(unix)]
mod runs;
#[cfg(unix)]
mod sessions;
#[path = "../specimens/mod.rs"]
mod specimens;
mod store;
#[path = "../support/mod.rs"]
mod support;
#[cfg(unix)]
mod surfaces;
mod tidy;
