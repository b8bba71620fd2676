//! The edge to the agents: the MCP server. The only user of rmcp.
//!
//! The path of a request:
//!
//! 1. [`stdio`] reads a line (`framing`), or [`mod@http`] receives a request. `drain` keeps account of the answers owed.
//! 2. rmcp reads the protocol and asks the `handler`. A call of a tool goes to [`server`], which finds the [`tool`];
//!    [`resources`], [`prompts`] and [`complete`] answer the other requests.
//! 3. [`coercion`] fits the arguments to the tool's schema, which [`schema`] has made. If a person must be asked first,
//!    [`ask`] does so.
//! 4. The tool's function answers in the types of [`wire`], and [`bounded`] cuts advice that is too long. The answer is sent
//!    as a text; [`tool`] gives the reasons.
//!
//! The service sends what a call has written to all listeners, by its [`changes`](crate::service::changes). [`log`] tells the
//! operator what the server does.
//!
//! Guarantees: a rejection is a result that the agent can read; a protocol error means a malformed request. An accepted call
//! is answered, even if it panics or the server is told to end. Only the protocol goes to stdout.

pub mod address;
pub mod app;
pub mod ask;
pub mod bounded;
pub mod coercion;
pub mod complete;
mod drain;
mod framing;
mod handler;
pub mod http;
pub mod log;
pub mod prompts;
mod queues;
pub mod resources;
pub mod schema;
pub mod server;
pub mod stdio;
pub mod tool;
pub mod tools;
pub mod wire;

pub use http::serve_http;
pub use server::{ClientSession, Server};
pub use stdio::{ServeError, serve_stdio};
pub use tool::{About, Answer, Reply, Tool};
