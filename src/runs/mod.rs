//! Commands as evidence: run by [`capture`], with the project's state from [`project_state`], and run again in a
//! [`Workspace`]. Only `tot run` and `tot rerun` start commands; nothing that is stored does.
//!
//! # Guarantees
//!
//! - Memory and stored output are bounded, however much a command prints.
//! - At its time limit, or on request, a command ends with everything that it has started in its group.
//! - A process that has left the group, or holds a pipe open in the background, is not waited for.
//! - The project is only read: its branches, its index and its work tree are unchanged, unless a command that runs in
//!   place changes them.
//! - No hook and no filter of a project runs when its files are put into a workspace.
//!
//! # Limits
//!
//! - A command at a terminal reads lines as from a pipe: it is in a group of its own, which is not the terminal's.
//! - Without process groups (Windows) only the command itself is ended, and its children may stay.
//! - Files that need a filter to unpack, such as those of Git LFS, are in a workspace as they are stored.

mod capture;
mod expect;
mod output;
mod sandbox;
mod workspace;

pub use capture::{Captured, Input, Request, Sink, capture};
pub use expect::Expected;
pub use sandbox::{sandbox, try_sandbox};
pub use workspace::{Workspace, folder_in, project_state, tidy};
