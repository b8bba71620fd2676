//! Investigations on disk, each an ordinary git repository.

pub mod git;
pub mod snapshot;

pub use git::CommitId;
pub use snapshot::{Fault, HistoryEntry, Snapshot};
