//! The edge to the agents: the MCP server. The only user of rmcp.
//!
//! A request's way: [`stdio`] reads a line (`framing`), or [`mod@http`] a request from the net, and `drain` keeps
//! account of what is owed an answer; rmcp reads the protocol and asks the `handler`. A call of a tool goes to [`server`],
//! which finds the [`tool`]; [`coercion`] makes of the arguments what the tool's schema, made by [`schema`], means; the
//! tool's function answers by [`wire`]; [`bounded`] cuts advice that is too long; the answer goes back as a text, for which
//! [`tool`] has the reasons. Where a person is to be asked first, [`ask`] does. [`resources`], [`prompts`] and [`complete`] answer the other requests. What a call has written, the service tells
//! by its [`changes`](crate::service::changes) to those who listen; what the server does, [`log`] tells its operator.
//!
//! Guarantees: a rejection is a result that the agent can read, a protocol error is for a malformed request; a call that
//! was taken in is answered, also when it panics and when the server is told to end; nothing but protocol goes to stdout.

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
