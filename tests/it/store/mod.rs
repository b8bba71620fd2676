//! The store, and what people find in it.

mod cost;
mod faulty;
mod hands;
mod history;
mod list;
mod strangers;
