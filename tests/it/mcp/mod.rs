//! The server, over real stdio.

mod http;
mod life;
mod log;
mod next;
mod read_only;
mod secrets;
mod tools;
