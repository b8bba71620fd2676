//! The store, and what people find in it.

mod history;
mod strangers;
