//! The store, and what people find in it.

mod hands;
mod history;
mod strangers;
