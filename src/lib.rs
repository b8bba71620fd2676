//! Tree of Thoughts: investigations by AI agents, stored as git repositories.
//!
//! # Data flow
//!
//! An agent's call writes in five steps:
//!
//! 1. [`mcp`] parses the JSON request and passes a command to the [`service`].
//! 2. [`store`] loads the committed state of the investigation: its facts, and the head commit that they were read from.
//! 3. [`project`] looks up the cited files. [`decide`] judges the command by the investigation's own [`ruleset`], and
//!    returns an event or a rejection.
//! 4. [`mod@format`] turns the event into files and a commit message. [`store`] writes them as one git commit and
//!    moves the branch by compare-and-swap. If the head has moved since, the call is loaded and decided again.
//! 5. [`mcp`] replies with the consequences of the new state.
//!
//! To share an investigation, [`sync`] fetches from a remote through [`remote`], has [`store`] merge the new commits, and
//! pushes. A server syncs in the [`background`].
//!
//! To read one, [`store`] loads its state and history. [`report`] builds a typed model, renders it with templates to a map
//! from paths to bytes, and finally writes that map. [`check`] examines state and history, as an fsck does, and
//! [`signoff`] verifies people's signatures.
//!
//! # Module dependencies
//!
//! The pure modules are a separate crate, `tot-core` in `src/core`, so the compiler ensures that they are independent of the
//! others: `assess`, `decide`, `domain`, `format`, `graph`, `markdown`, `merge`, `parallel`, `ruleset`, `secrets`, `text`,
//! `view` and `yaml`.
//!
//! `store` never evaluates a rule, and `decide` never uses git. `service` (load, decide, write, report rejections) serves
//! all interfaces. Each module may use only these other modules:
//!
//! - `platform` (system-dependent functions), `text` (shortening, hidden characters, escaping, error causes),
//!   `secrets`, `setup`, `parallel`: none.
//! - `connections` (HTTP connections, within limits), `temporary` (folders for one run): `platform`.
//! - `runs` (commands run by people and agents): `domain`, `platform`, `project`, `remote`, `temporary`, `text`.
//! - `markdown`, `yaml`: `text`.
//! - `domain`: `text`, `yaml` (the form of texts in files).
//! - `world`: `domain`.
//! - `project`: `domain`, `secrets`, `text`.
//! - `ruleset`: `domain`, `secrets`, `text`, `yaml`.
//! - `decide`: `domain`, `markdown` (references), `ruleset`, `text`.
//! - `assess`: `decide` (required steps), `domain`, `markdown` (quotations), `ruleset`, `text`.
//! - `format`: `assess` (answers on pages and in messages), `domain`, `graph`, `ruleset`, `text`, `yaml`.
//! - `merge`: `domain`, `format`, `text`, `yaml`.
//! - `graph`: `assess`, `domain`, `markdown` (the first sentence of findings), `ruleset`, `text`.
//! - `view`: `domain`, `ruleset`, `text`.
//! - `withhold`: `domain`, `format` (files about withheld texts), `store`, `text`, `yaml`.
//! - `store`: `domain`, `format`, `merge`, `platform`, `ruleset`, `yaml`.
//! - `service`: `assess`, `decide`, `domain`, `format`, `project` (citations), `remote`, `ruleset`, `store`, `sync`
//!   (the remote of a new investigation), `text`, `world`.
//! - `background`: `domain`, `remote`, `service`, `sync`, `text`.
//! - `remote`: `domain` (ids), `platform` (processes), `store` (commit ids), `text`.
//! - `sync`: `check`, `domain`, `format` (node paths), `import` (file contents), `merge` (decisions),
//!   `parallel`, `remote`, `ruleset`, `secrets`, `store`, `text`, `world`.
//! - `import`: `check` (choice of a ruleset), `decide` (settings at the start), `domain`, `format`, `ruleset`.
//! - `check`: `decide`, `domain`, `format`, `merge` (conflict markers), `ruleset`, `secrets`, `store`, `text`, `view`.
//! - `signoff`: `assess`, `decide` (open points), `domain`, `remote` (signature checks), `ruleset`, `store`, `text`.
//! - `report`: `assess`, `connections`, `decide` (investigation state), `domain`, `format` (file paths), `graph`,
//!   `markdown`, `parallel`, `platform` (signals), `project` (drift of citations), `review`, `ruleset`, `signoff`, `store`,
//!   `temporary`, `text`, `view` (stored parts of a node), `withhold`.
//! - `mcp`: `assess`, `background` (stopping it), `connections`, `decide`, `domain`, `format`, `graph`, `markdown`,
//!   `platform` (signals), `report`, `ruleset`, `service`, `signoff` (display only), `store`, `text`, `view`, `withhold`
//!   (omissions from a report), `world`.
//! - `review`: `assess`, `decide` (reversed states), `domain`, `project` (drift of citations), `ruleset`, `text`.
//! - `demo`: `domain`, `format`, `yaml`.
//! - `cli`: all of them.
//! - `bin`: `cli`.
//!
//! # Walls
//!
//! Each external library is used only in the modules listed here, so that it can be replaced:
//!
//! - `serde`, `serde_json`, `thiserror`: everywhere.
//! - `tot-core`: everywhere. Its modules are re-exported under their own names.
//! - `serde_path_to_error`: `import`.
//! - `csv`: `cli::export`.
//! - `gix`: `store::git`, `project` (a user's repository, read-only).
//! - `idna_adapter`: nowhere. It pins the version used by url.
//! - `markup5ever`: nowhere. It enables a feature that tests need.
//! - `rustix`, `winapi-util`: `platform`.
//! - `rmcp`: `mcp`.
//! - `tokio`: `connections`, `mcp`, `platform` (signals), `report::serve`, `service::changes` (subscribers).
//! - `tokio-util`: `connections`, `mcp`.
//! - `hyper`, `hyper-util`, `tokio-io-timeout`, `tower`: `connections`.
//! - `http-body-util`, `tower-http`, `subtle`: `mcp::http`.
//! - `axum`: `connections`, `mcp::http`, `report::serve`.
//! - `schemars`: `mcp` (tool schemas), `decide` (schemas of agents' input), `ruleset` (schemas of ruleset files).
//! - `base64`: `decide::attach`, `format::attachment_entry`, `report::attachments`.
//! - `strsim`: `mcp::coercion` (fields), `ruleset::validity` (keys of a ruleset file).
//! - `uuid`: `world` (creates ids), `domain::id` (parses ids), `domain::attachment` (names derived from contents).
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
//!   `signoff::judge`, `signoff::statement`, `text`, `view`, `withhold`, `yaml`: pure. They use no files, clock, git or
//!   protocol.
//! - Only `world` reads the time of day and random numbers. All other modules receive them as values.
//! - `Instant`: only for waiting and durations, never for stored facts. Used in `background`, `cli`, `mcp`, `remote`, `runs`
//!   and `store::git`.
//! - `Command`: programs are started by `remote` (git, and the editor and pager that git names), `runs` (the commands of
//!   `tot run` and `tot rerun`) and `demo` (this program). `platform` puts them into process groups. The library `open`
//!   starts a browser.
//! - `cfg` of a system: only in `platform`.
//! - Only `assess` decides how certain an answer or an investigation is, and how it is ordered, worded and classified.
//! - Only facts are stored. Children, rounds, counts and blockers are computed from them on every load.
//! - A rejected call writes nothing. An accepted call is exactly one git commit. (`tot_step` is two calls in one.)
//! - Only `cli` prints to stdout. A server's stdout belongs to the protocol.
//!
//! `tests/it/tidy.rs` checks the code against these lists.

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
