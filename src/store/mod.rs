//! In the making.

pub mod git;
