//! The store, and what people find in it.

mod cost;
mod hands;
mod history;
mod strangers;
