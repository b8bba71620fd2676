//! The integration tests: one binary, so that it links once. `tests/README.md` says how they are laid out.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod check;
mod demo;
mod evidence;
mod fuzz;
mod html;
mod look;
mod mcp;
mod packaging;
#[cfg(unix)]
mod port;
mod remote;
mod report;
mod rules;
mod rulesets;
#[cfg(unix)]
mod runs;
mod setup;
#[path = "../specimens/mod.rs"]
mod specimens;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod surfaces;
mod terminal;
mod tidy;
mod work;
