//! Tree of Thoughts: investigations by AI agents, kept as git repositories.
//!
//! # How data flows
//!
//! Writing, one call of an agent:
//!
//! 1. [`mcp`] turns the request's JSON into a tool input, and that into a command for the [`service`].
//! 2. [`store`] loads the committed state of the investigation: its facts and the head they were read at.
//! 3. [`decide`] judges the command by the investigation's own [`ruleset`]: an event, or a rejection.
//! 4. [`mod@format`] turns the event into files and a commit message; [`store`] writes them as one git commit and
//!    moves the branch by compare-and-swap. If the head has moved meanwhile: load and decide again.
//! 5. [`mcp`] answers with what follows from the new state.
//!
//! Reading: [`store`] loads state and history, [`report`] makes a typed model of them, renders it through the
//! templates to a map of path to bytes, and writes that last. [`check`] judges the same, as an fsck does.
//!
//! # Who may know whom
//!
//! `domain` ← `ruleset` ← `decide`; `domain`, `ruleset` ← `format` ← `store`; `domain`, `ruleset` ← `graph`;
//! `decide` (how an investigation stands), `format` (where its files are), `graph`, `markdown` ← `report`; `decide`,
//! `format`, `store` ← `check`; `yaml` below `ruleset` and `format`; `markdown` (references) and `secrets` below
//! `decide`; `setup` (clients' configurations) stands alone; `service` (load, decide, write, name what was refused)
//! above these, for every edge; `mcp` and the binaries see all of them. `store` never
//! evaluates a rule;
//! `decide` never sees git.
//!
//! # Invariants
//!
//! - `domain`, `ruleset`, `decide`, `format`, `graph` and `setup` are pure: no file, no clock, no git, no protocol.
//! - Each outside library stands behind one wall: gix in `store::git`, rmcp in `mcp`, hyper in `mcp::http`, the YAML crate
//!   in `yaml`, pulldown-cmark and ammonia in `markdown`, layout-rs in `graph::draw`, minijinja in `report::templates`,
//!   similar in `report::difference`, axum in `report::serve`, jsonc-parser and toml_edit in `setup`.
//! - Time and randomness are read in `world` and nowhere else; everything further in gets them as values.
//! - Only facts are stored. Children, rounds, counts and blockers are computed from them on every load.
//! - A rejected call writes nothing; an accepted one is exactly one git commit. (`tot_step` is two calls in one.)
//! - Nothing in the library prints to stdout but `cli`; the server's stdout belongs to the protocol.
//!
//! `tests/it/tidy.rs` holds the rules above that a machine can hold.

pub mod check;
pub mod cli;
pub mod decide;
pub mod demo;
pub mod domain;
pub mod format;
pub mod graph;
pub mod markdown;
pub mod mcp;
pub mod report;
pub mod ruleset;
pub mod secrets;
pub mod service;
pub mod setup;
pub mod store;
pub mod world;
pub mod yaml;
