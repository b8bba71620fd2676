//! The server, over real stdio.

mod budget;
mod life;
mod next;
mod read;
mod report;
mod resources;
mod secrets;
mod tools;
