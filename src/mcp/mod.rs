//! The MCP server, which is the interface for agents. Only this module uses rmcp.
//!
//! A request passes through these modules:
//!
//! 1. [`stdio`] reads a line (`framing`), or [`mod@http`] receives a request. `drain` tracks unanswered requests.
//! 2. rmcp decodes the protocol and calls the `handler`. Tool calls go to [`server`], which looks up the [`tool`].
//!    The other requests go to [`resources`] and [`prompts`].
//! 3. [`arguments`](crate::service::arguments) coerces the arguments to the tool's schema and types. [`ask`] asks a
//!    person first if required.
//! 4. The tool's function in `tools` answers: reading tools with types of their own, others with those of
//!    [`reply`](crate::service::reply). [`bounded`] cuts advice that is too long; `tools::read` and
//!    [`resources`] give long texts in pieces. `reply::plan` words the next step. The reply is sent as text; [`tool`] explains why.
//!
//! The service reports every write to its listeners through its [`changes`](crate::service::changes). [`log`] tells
//! the operator what the server does.
//!
//! Guarantees: a rejection is a result that the agent can read; a protocol error means a malformed request. An
//! accepted call is answered even if it panics or the server is shutting down. Only protocol messages go to stdout.

pub mod app;
pub mod ask;
pub mod bounded;
mod drain;
mod framing;
mod handler;
pub mod http;
pub mod log;
pub mod prompts;
mod queues;
pub mod resources;
pub mod server;
pub mod stdio;
pub mod tool;
pub mod tools;

pub use http::serve_http;
pub use server::{ClientSession, Server};
pub use stdio::{ServeError, serve_stdio};
pub use tool::{About, Tool, ToolReply};
