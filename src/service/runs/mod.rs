//! Commands as evidence.
//!
//! [`capture`] runs a command, [`project_state`] records the project's state, and a [`Workspace`] is used for reruns.
//! Only `tot run` and `tot rerun` start recorded commands; `tot setup` captures programs of clients. Stored data never starts a command.
//!
//! # Guarantees
//!
//! - Memory use and stored output are bounded, no matter how much a command prints.
//! - A command that reaches its time limit or is interrupted is killed with its process group or, at a terminal, with
//!   everything that it has started.
//! - In a workspace, the paths of the project in a command and in its environment lead to the workspace.
//! - A process that has left the group, or keeps a pipe open in the background, does not prevent a run from ending.
//! - The files that a run needs lie in a folder of their own, for the run and each rerun.
//! - The project's branches, index and work tree are only read. Only a command that runs in place can change them.
//! - No project hook or filter runs while a workspace is created.
//!
//! # Limitations
//!
//! - On systems without process groups (Windows), only the command itself is killed, and its children may continue. At a
//!   terminal of a system other than Linux, so may a process whose parent has exited.
//! - A program that a command finds in an ignored folder of the project, such as one in `PATH`, is not the workspace's.
//! - A traced command runs slower, and ends only when everything that it started has ended. A program that runs with the rights
//!   of another user does not have them under a trace.
//! - Files that need a filter, such as Git LFS files, appear in a workspace in their stored form, unless the project has them
//!   checked out as they were.

mod capture;
mod expect;
mod files;
mod output;
mod sandbox;
mod trace;
mod workspace;

pub use capture::{CaptureRequest, Captured, CommandInput, Sink, capture, plain_variables, temporary_place};
pub use expect::{Expected, timed_line, took_a_part};
pub use files::{LaidOut, PLACE, in_project, named_outside, named_variables, stored_command, stored_project};
pub use sandbox::{sandbox, try_sandbox};
pub use trace::{TracedPaths, Tracer};
pub use workspace::{Workspace, folder_in, own_names, project_state, remove_leftovers};
