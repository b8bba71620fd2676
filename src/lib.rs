//! Tree of Thoughts: investigations by AI agents, kept as git repositories.
//!
//! # How data flows
//!
//! Writing, one call of an agent:
//!
//! 1. [`mcp`] turns the request's JSON into a tool input, and the input into a command for the [`service`].
//! 2. [`store`] loads the committed state of the investigation: its facts, and the head that they were read at.
//! 3. [`project`] looks up the cited files, and [`decide`] judges the command by the investigation's own [`ruleset`]: an event,
//!    or a rejection.
//! 4. [`mod@format`] turns the event into files and a commit message; [`store`] writes them as one git commit and
//!    moves the branch by compare-and-swap. If the head has moved meanwhile: load and decide again.
//! 5. [`mcp`] answers with what follows from the new state.
//!
//! Sharing: [`sync`] fetches from a remote through [`remote`], has [`store`] merge what came, and pushes. A server has
//! [`background`] do so beside its calls.
//!
//! Reading: [`store`] loads state and history; [`report`] makes a typed model of them, renders it through the
//! templates to a map of path to bytes, and writes that map last. [`check`] judges state and history, as an fsck does,
//! and [`signoff`] judges what people have signed.
//!
//! # Who may know whom
//!
//! The pure middle is a crate of its own, `tot-core` in `src/core`, so the compiler ensures that it knows nothing of the rest:
//! `assess`, `decide`, `domain`, `format`, `graph`, `markdown`, `merge`, `parallel`, `ruleset`, `secrets`, `text`, `view` and
//! `yaml`.
//!
//! `store` never evaluates a rule; `decide` never sees git; `service` (load, decide, write, report refusals) serves
//! every edge. Each module may name these others of the crate:
//!
//! - `platform` (system-dependent functions), `text` (shortening, hidden characters, escaping, causes of errors),
//!   `secrets`, `setup`, `parallel`: none.
//! - `connections` (over HTTP, within limits), `temporary` (folders for one run): `platform`.
//! - `runs` (commands of people and agents): `domain`, `platform`, `project`, `remote`, `temporary`, `text`.
//! - `markdown`, `yaml`: `text`.
//! - `domain`: `text`, `yaml` (how texts stand in files).
//! - `world`: `domain`.
//! - `project`: `domain`, `secrets`, `text`.
//! - `ruleset`: `domain`, `secrets`, `text`, `yaml`.
//! - `decide`: `domain`, `markdown` (references), `ruleset`, `text`.
//! - `assess`: `decide` (owed steps), `domain`, `markdown` (quotations), `ruleset`, `text`.
//! - `format`: `assess` (answers on pages and in messages), `domain`, `graph`, `ruleset`, `text`, `yaml`.
//! - `merge`: `domain`, `format`, `text`, `yaml`.
//! - `graph`: `assess`, `domain`, `markdown` (the first sentence of findings), `ruleset`, `text`.
//! - `view`: `domain`, `ruleset`, `text`.
//! - `withhold`: `domain`, `format` (its files), `store`, `text`, `yaml`.
//! - `store`: `domain`, `format`, `merge`, `platform`, `ruleset`, `yaml`.
//! - `service`: `assess`, `decide`, `domain`, `format`, `project` (citations), `remote`, `ruleset`, `store`, `sync` (the remote of a new investigation), `text`,
//!   `world`.
//! - `background`: `domain`, `remote`, `service`, `sync`, `text`.
//! - `remote`: `domain` (ids), `platform` (git and all that it starts), `store` (ids of commits), `text`.
//! - `sync`: `check`, `domain`, `format` (paths of nodes), `import` (contents of files), `merge` (decisions),
//!   `parallel`, `remote`, `ruleset`, `secrets`, `store`, `text`, `world`.
//! - `import`: `check` (choice of a ruleset), `decide` (terms of a start), `domain`, `format`, `ruleset`.
//! - `check`: `decide`, `domain`, `format`, `merge` (conflict markers), `ruleset`, `secrets`, `store`, `text`, `view`.
//! - `signoff`: `assess`, `decide` (open points), `domain`, `remote` (verdicts on signatures), `ruleset`, `store`, `text`.
//! - `report`: `assess`, `connections`, `decide` (state of an investigation), `domain`, `format` (paths of files), `graph`,
//!   `markdown`, `parallel`, `platform` (signals), `project` (drift of citations), `review`, `ruleset`, `signoff`, `store`, `temporary`,
//!   `text`, `view` (stored parts of a node), `withhold`.
//! - `mcp`: `assess`, `background` (its end), `connections`, `decide`, `domain`, `format`, `graph`, `markdown`, `platform` (signals), `report`, `ruleset`, `service`, `signoff` (which are shown,
//!   and none is made), `store`, `text`, `view`, `withhold` (omissions of a report), `world`.
//! - `review`: `assess`, `decide` (reversed states), `domain`, `project` (drift of citations), `ruleset`, `text`.
//! - `demo`: `domain`, `format`, `yaml`.
//! - `cli`: all of them.
//! - `bin`: `cli`.
//!
//! # Walls
//!
//! Each outside library is named behind one wall, so that another can take its place:
//!
//! - `serde`, `serde_json`, `thiserror`: everywhere.
//! - `tot-core`: everywhere. Its modules keep their names here.
//! - `serde_path_to_error`: `import`.
//! - `csv`: `cli::export`.
//! - `gix`: `store::git`, `project` (a user's repository, read only).
//! - `idna_adapter`: nowhere. It pins the version that url uses.
//! - `markup5ever`: nowhere. It enables a feature that tests need.
//! - `rustix`, `winapi-util`: `platform`.
//! - `rmcp`: `mcp`.
//! - `tokio`: `connections`, `mcp`, `platform` (signals), `report::serve`, `service::changes` (whom to tell of a change).
//! - `tokio-util`: `connections`, `mcp`.
//! - `hyper`, `hyper-util`, `tokio-io-timeout`, `tower`: `connections`.
//! - `http-body-util`, `tower-http`, `subtle`: `mcp::http`.
//! - `axum`: `connections`, `mcp::http`, `report::serve`.
//! - `schemars`: `mcp` (schemas of tools), `decide` (of what agents send), `ruleset` (of ruleset files).
//! - `base64`: `decide::attach`, `format::attachment_entry`, `report::attachments`.
//! - `strsim`: `mcp::coercion` (fields), `ruleset::validity` (keys of a ruleset file).
//! - `uuid`: `world` (makes ids), `domain::id` (reads them), `domain::attachment` (a name that follows from a content).
//! - `jiff`: `domain::time`.
//! - `serde_yaml`: `yaml`.
//! - `layout-rs`: `graph::place`.
//! - `pulldown-cmark`, `ammonia`, `linkify`: `markdown`.
//! - `minijinja`, `include_dir`: `report::templates`.
//! - `sha2`: `report::parts`, `runs`.
//! - `regex-lite`: `runs`.
//! - `roxmltree`: `report::svg`.
//! - `imagesize`: `report::attachments`.
//! - `similar`: `report::difference`.
//! - `url`: `project::forge`, `report::address`, `report::serve`.
//! - `jsonc-parser`, `toml_edit`: `setup`.
//! - `anstyle`: `cli`, `markdown::terminal`.
//! - `unicode-width`: `text`.
//! - `clap_complete`: `cli::completions`.
//! - `clap_mangen`, `roff`: `cli::man`.
//! - `open`: `cli::open`.
//! - `anstream`, `clap`, `crossterm`, `signal-hook`: `cli`.
//! - `mimalloc`: `bin`.
//!
//! # Invariants
//!
//! - `assess`, `cli::screen`, `domain`, `ruleset`, `decide`, `format`, `graph`, `import`, `markdown`, `merge`, `secrets`, `setup`,
//!   `signoff::judge`, `signoff::statement`, `text`, `view`, `withhold`, `yaml`: pure. No file, no clock, no git, no protocol.
//! - The time of day and randomness are read in `world` and nowhere else; everything further in gets them as values.
//! - `Instant`: only for waiting and for durations, and no fact follows from it. These modules use it: `background`,
//!   `cli`, `mcp`, `remote`, `runs` and `store::git`.
//! - `Command`: programs are started by `remote` (git, which nothing else in the library starts, and the editor and
//!   the pager that git names), `runs` (what a person or an agent has `tot run` and `tot rerun` run) and `demo` (our own); a
//!   browser by the library `open`. `platform` puts those into groups.
//! - `cfg` of a system: `platform` alone asks which system it is built for.
//! - The certainty of an answer or of the whole, its order, its words and its class come from `assess` alone.
//! - Only facts are stored. Children, rounds, counts and blockers are computed from them on every load.
//! - A rejected call writes nothing; an accepted one is exactly one git commit. (`tot_step` is two calls in one.)
//! - Nothing in the library prints to stdout but `cli`; the server's stdout belongs to the protocol.
//!
//! `tests/it/tidy.rs` reads these lists and checks the code against them.

pub use tot_core::{
    assess, decide, domain, format, graph, markdown, merge, parallel, ruleset, secrets, text, view, yaml,
};

pub mod background;
pub mod check;
pub mod cli;
pub mod connections;
pub mod demo;
pub mod import;
pub mod mcp;
pub mod platform;
pub mod project;
pub mod remote;
pub mod report;
pub mod review;
pub mod runs;
pub mod service;
pub mod setup;
pub mod signoff;
pub mod store;
pub mod sync;
pub mod temporary;
#[cfg(test)]
#[path = "../tests/support/testing.rs"]
mod testing;
pub mod withhold;
pub mod world;
