//! The integration tests: one binary, so that it links once. `tests/README.md` says how they are laid out.

mod demo;
mod mcp;
mod report;
mod store;
mod support;
mod tidy;
