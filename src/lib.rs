//! Tree of Thoughts: investigations by AI agents, stored as git repositories.
//!
//! # Data flow
//!
//! A write call from an agent or a person takes these steps:
//!
//! 1. [`mcp`] turns the request's JSON into a typed command for the [`service`]. Commands in [`cli`] take the same path.
//! 2. [`store`] loads the committed investigation and records its head.
//! 3. [`service::project`] looks up the cited files. [`decide`] judges the command by the investigation's own [`ruleset`] and
//!    returns an event or a rejection.
//! 4. [`mod@format`] turns the event into files and a commit message. [`store`] writes them as one git commit and moves the
//!    branch by compare-and-swap. If the head has moved, the service loads and decides again.
//! 5. [`mcp`] or [`cli`] replies with the new state.
//!
//! Reading: [`store`] loads the state and the history, and [`assess`] computes the verdicts. [`report`] renders a typed
//! model with templates into a map from paths to bytes, and then writes the files.
//!
//! Sharing: [`service::sync`] fetches and pushes through [`service::remote`]. [`merge`] decides each merge, node by node, as a
//! pure function; `store::join` commits the result.
//!
//! Other starting points: [`service::check`] checks an investigation, like `git fsck`. [`service::signoff`] signs with
//! git, through `service::remote::signature`, and decides which signatures are valid. [`service::withhold`] hides
//! withheld text in reports and in `tot diff`; the text stays in the repository. `format::readme` renders the `README.md`
//! of an investigation. [`service`] adds the file to each draft that changes it; [`store`] adds it when creating or
//! merging an investigation. `service::runs` runs the commands of `tot run` and `tot rerun`, and `cli::rerun` chooses
//! which captured commands to repeat.
//!
//! # Layers
//!
//! A module may use only modules earlier in this list. Those up to `merge` form the pure crate
//! `tot-core` (`src/core/lib.rs`), so the compiler ensures that they don't depend on the rest.
//!
//! - `text`: shortening, hidden characters, escaping, related texts.
//! - `numbers`: numbers in text, as people write them.
//! - `yaml`: the one YAML reader and writer.
//! - `secrets`: finds credentials in text.
//! - `picture`: removes metadata from pictures.
//! - `markdown`: safe HTML, terminal text, references and excerpts.
//! - `domain`: investigations, nodes, events, ids, times.
//! - `ruleset`: the rules as data, and their checks.
//! - `decide`: the decision on each call.
//! - `assess`: verdicts, the only source of certainty; what they rest on, in rows, and what changed under it.
//! - `graph`: layouts and drawings.
//! - `fields`: a node's fields with headings, for display and comparison.
//! - `format`: files, commit messages, README.
//! - `json`: nodes and records as JSON for programs.
//! - `merge`: merge decisions.
//! - `base`: clock, random ids, platform, threads, temporary folders, HTTP connections.
//! - `store`: git storage. It writes what it is given. It never names `decide` or `assess`.
//! - `service`: load, decide, write, reply; remotes, sync, import of bundles, check, sign-off, captured runs, the user's project.
//! - `report`: the static site and its data.
//! - `mcp`: the server.
//! - `cli`: the commands for people, and the demo.
//! - `bin`: the programs.
//!
//! # Invariants
//!
//! - `base`, `bin`, `cli`, `mcp`, `report`, `service`, `store`: may use files, clocks, git and threads. Everything else is pure.
//! - `cli::client_config`, `cli::screen`, `service::signoff::judge`, `service::signoff::statement`: pure too.
//! - The time of day and randomness are read only in `base::world`. All other code receives them as values.
//! - `Instant`: only for waiting and measuring, by `cli`, `mcp`, `service::background`, `service::remote`, `service::runs` and `store::git`.
//! - `Command`: programs are started by `base::platform` (in process groups), `service::remote` (git, and the editor and pager that git names), and
//!   `service::runs` (the commands of `tot run` and `tot rerun`; clients and their servers for `cli`).
//! - `mcp`: of the commands, only `cli::serving` and `cli::demo` name it.
//! - `cfg` of a system: only `base::platform` distinguishes systems.
//! - Only `assess` decides how certain an answer is, and how to say so.
//! - Only facts are stored. Children, rounds, counts and blockers are computed on every load.
//! - A rejected call writes nothing. An accepted call that changes something is exactly one git commit (`tot_step` is two calls
//!   in one). One that only reads, or repeats what is stored, writes none.
//! - Only `cli` prints to stdout. The server's stdout carries only the protocol.
//!
//! # Words for problems
//!
//! - `Diagnostic`: an error or a warning about a call or a state, with its code and remedy. Replies and commands show it.
//! - `Warning`: a diagnostic that a node's file keeps.
//! - `Rejection`, `Refusal`: all errors of a call that writes nothing, from `decide` and from [`service`], which adds the state.
//! - `Misfit`: an argument that does not fit a tool's schema, in [`mcp`].
//! - `Fault`: a file or a commit that can't be read as written, in [`store`]. `StructureFault`: a node without a place in the tree.
//! - `Violation`: a stored fact that breaks a rule, found by a rule of [`ruleset`].
//! - `Finding`: what `tot check` reports: faults, violations and more, in [`service::check`].
//! - `Contradiction`, `FileProblem`: what is wrong inside a ruleset, and with its file.
//!
//! `tests/it/tidy.rs` checks the code against these lists, and each library in Cargo.toml against the modules named beside it.

pub use tot_core::{
    assess, decide, domain, fields, format, graph, json, markdown, merge, numbers, picture, ruleset, secrets,
    text, yaml,
};

pub mod base;
pub mod cli;
pub mod mcp;
pub mod report;
pub mod service;
pub mod store;
#[cfg(test)]
#[path = "../tests/support/testing.rs"]
mod testing;
