//! The server, over real stdio.

mod life;
mod tools;
