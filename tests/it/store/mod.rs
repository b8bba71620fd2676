//! The store, and what people find in it.

mod clones;
mod cost;
mod durable;
mod faulty;
mod hands;
mod history;
mod join;
mod list;
mod moved;
mod readme;
mod runs;
mod strangers;
mod transact;
