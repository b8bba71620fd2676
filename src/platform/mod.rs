//! System-dependent functions. Each has one signature and an implementation for each system.
//!
//! `unix` and `windows` are the two families. `linux` contains features specific to Linux, and `other` their fallbacks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::SystemTime;

use tokio::sync::watch;

#[cfg(target_os = "linux")]
use linux as kernel;
#[cfg(not(target_os = "linux"))]
use other as kernel;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;

/// Returns an identity that stays the same when the file's content changes, but differs for another file of the same name.
///
/// # Errors
///
/// Returns an error if the file's metadata can't be read.
pub fn file_identity(path: &Path) -> io::Result<String> {
    family::file_identity(path)
}

/// Adds the executable bit for everyone with read permission, as git does. No effect on systems other than Unix.
///
/// # Errors
///
/// Returns an error if the permissions can't be changed.
pub fn make_executable(file: &File) -> io::Result<()> {
    family::make_executable(file)
}

/// Removes read permission from everyone without write permission. No effect on systems without such permissions.
///
/// # Errors
///
/// Returns an error if the permissions can't be changed.
pub fn hide_from_readers(file: &File) -> io::Result<()> {
    family::hide_from_readers(file)
}

/// Returns whether users other than the owner have permissions on a file. Returns false if the file is missing, or if the
/// system has no such permissions.
pub fn is_open_to_others(path: &Path) -> bool {
    family::is_open_to_others(path)
}

/// Returns a builder of folders that only their owner can read. On systems without modes, a folder inherits the
/// permissions of its parent.
pub fn private_folder() -> DirBuilder {
    family::private_folder()
}

/// Waits until a file is on disk. Also syncs a folder if the system supports it.
///
/// # Errors
///
/// Returns an error if the path can't be opened or written.
pub fn sync(path: &Path) -> io::Result<()> {
    family::sync(path)
}

/// Syncs the file systems of these paths and returns true. Returns false without syncing if the system or one of the file
/// systems does not support this.
///
/// # Errors
///
/// Returns the path that can't be opened or synced, with the error.
pub fn sync_file_systems<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<bool, (&'a PathBuf, io::Error)> {
    kernel::sync_file_systems(paths)
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    family::host_name()
}

/// Returns the time at which this machine was started, if known.
pub fn machine_start() -> Option<SystemTime> {
    kernel::machine_start()
}

/// Returns whether a process of this machine is alive. Returns true if unknown.
pub fn is_alive(process: i32) -> bool {
    family::is_alive(process)
}

/// Starts the command in a new process group. No effect on systems without groups.
pub fn begin_group(command: &mut Command) {
    family::begin_group(command);
}

/// Asks a child's process group to exit. No effect on systems without groups.
pub fn ask_group_to_end(child: &Child) {
    family::ask_group_to_end(child);
}

/// Sends a signal to a child's process group. No effect on systems without groups.
pub fn signal_group(child: &Child, signal: i32) {
    family::signal_group(child, signal);
}

/// Returns the signal that ended a process, if any.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    family::signal_of(status)
}

/// Kills a child's process group. No effect on systems without groups, so the caller must also kill the child.
pub fn end_group(child: &Child) {
    family::end_group(child);
}

/// Raises this process's limit on open files to `wanted`, or as close to it as possible. Returns the new limit.
pub fn raise_open_files(wanted: usize) -> usize {
    family::raise_open_files(wanted)
}

/// Limits this process's memory to `most` bytes if the system supports it. Beyond the limit, allocations abort the process.
pub fn limit_memory(most: u64) {
    family::limit_memory(most);
}

/// The number of termination signals received since this process began to listen.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens for Ctrl-C, and on Unix also for SIGTERM and, with `hangup`, SIGHUP. Calls `refused` for each signal without
    /// a handler: such a signal ends the process at once.
    ///
    /// Must be called within a Tokio runtime.
    pub fn listen(hangup: bool, mut refused: impl FnMut(&str, io::Error)) -> Signals {
        let (count, signals) = watch::channel(0);
        for (name, stream) in family::signals(hangup) {
            match stream {
                Ok(mut stream) => {
                    let count = count.clone();
                    tokio::spawn(async move {
                        while stream.recv().await.is_some() {
                            count.send_modify(|count| *count += 1);
                        }
                    });
                }
                Err(fault) => refused(name, fault),
            }
        }
        Signals(signals)
    }

    /// Waits until at least `times` signals have arrived.
    pub async fn arrived(mut self, times: u32) {
        if self.0.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signal sent when the terminal is closed, on systems that have one.
pub const HANGUP: Option<i32> = if cfg!(unix) { Some(1) } else { None };

/// Whether a screen is always available. On other systems an environment variable names it.
pub const HAS_SCREEN: bool = cfg!(any(windows, target_os = "macos"));

/// The suffixes of program names, including npm's.
pub const PROGRAM_SUFFIXES: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };

/// The folder for application settings: the environment variable that names it, if any, and the default path in the home
/// folder.
pub const SETTINGS: (Option<&str>, &str) = if cfg!(target_os = "macos") {
    (None, "Library/Application Support")
} else if cfg!(windows) {
    (Some("APPDATA"), "AppData/Roaming")
} else {
    (Some("XDG_CONFIG_HOME"), ".config")
};
