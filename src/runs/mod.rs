//! Commands that are evidence: run by [`capture`], with the project as it was by [`project_state`], and run again in a
//! [`Workspace`]. `tot run` and `tot rerun` alone start commands; nothing that is stored does.
//!
//! # Guarantees
//!
//! - However much a command prints, memory is bounded, and so is what is kept.
//! - After its time, or when somebody asks, a command ends with all that it has started in its group.
//! - What has left its group, or holds a pipe open in the background, is not waited for.
//! - The project is read only: its branches, its index and its work tree stay as they are, unless a command that runs in
//!   place changes them.
//! - No hook and no filter of a project runs when its files are put into a workspace.
//!
//! # Limits
//!
//! - A command at a terminal reads lines as from a pipe: it is in a group of its own, which the terminal does not know.
//! - Without process groups (Windows) only the command itself is ended, and what it started may stay.
//! - Files that a filter would have to unpack, as those of Git LFS, are in a workspace as they are stored.

mod capture;
mod expect;
mod output;
mod sandbox;
mod workspace;

pub use capture::{Captured, Input, Request, Sink, capture};
pub use expect::Expected;
pub use sandbox::{sandbox, try_sandbox};
pub use workspace::{Workspace, folder_in, project_state, tidy};
