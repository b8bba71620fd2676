//! The server, over real stdio.

mod app;
mod ask;
mod budget;
mod claims;
mod clear;
mod fields;
mod flood;
mod http;
mod life;
mod lint;
mod log;
mod next;
mod read;
mod read_only;
mod report;
mod resources;
mod secrets;
mod session;
mod tools;
