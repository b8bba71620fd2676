//! The server, over real stdio.

mod life;
mod secrets;
mod tools;
