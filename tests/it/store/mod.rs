//! The store, and what people find in it.

mod cost;
mod history;
