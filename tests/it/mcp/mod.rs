//! The server, over real stdio.

mod life;
mod next;
mod secrets;
mod tools;
