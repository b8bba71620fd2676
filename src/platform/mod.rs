//! System-dependent functions, each with one signature, and an implementation for each system.
//!
//! `unix` and `windows` are the two families. `linux` has the features of Linux alone, and `other` their substitutes.

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

/// Distinguishes a file from another of the same name, even if its content changes.
///
/// # Errors
///
/// The file's metadata can't be read.
pub fn file_identity(path: &Path) -> io::Result<String> {
    family::file_identity(path)
}

/// Adds the executable bit for all who may read, as git does. No effect on systems other than Unix.
///
/// # Errors
///
/// The permissions can't be changed.
pub fn make_executable(file: &File) -> io::Result<()> {
    family::make_executable(file)
}

/// Removes read permission from those who may not write. No effect on systems without such permissions.
///
/// # Errors
///
/// The permissions can't be changed.
pub fn hide_from_readers(file: &File) -> io::Result<()> {
    family::hide_from_readers(file)
}

/// Whether others than the owner have permissions on a file; false without such permissions, or without the file.
pub fn is_open_to_others(path: &Path) -> bool {
    family::is_open_to_others(path)
}

/// Creates folders that nobody else can read. Without modes, a folder is as open as its parent.
pub fn private_folder() -> DirBuilder {
    family::private_folder()
}

/// Waits until a file is on the disk; a folder too, if the system supports it.
///
/// # Errors
///
/// The path can't be opened or written.
pub fn sync(path: &Path) -> io::Result<()> {
    family::sync(path)
}

/// Syncs the file systems of these paths, if the system can and all are of a suitable kind. Otherwise nothing is synced.
///
/// # Errors
///
/// The path that can't be opened or synced, with the error.
pub fn sync_file_systems<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<bool, (&'a PathBuf, io::Error)> {
    kernel::sync_file_systems(paths)
}

/// The name of this machine.
pub fn host_name() -> String {
    family::host_name()
}

/// The start time of this machine, if the system reports it.
pub fn machine_start() -> Option<SystemTime> {
    kernel::machine_start()
}

/// Whether a process of this machine is alive; true if unknown.
pub fn is_alive(process: i32) -> bool {
    family::is_alive(process)
}

/// Puts a child into a new group, with all its future children. Without groups, only the child itself is affected.
pub fn begin_group(command: &mut Command) {
    family::begin_group(command);
}

/// Asks a child's group to end. No effect without groups.
pub fn ask_group_to_end(child: &Child) {
    family::ask_group_to_end(child);
}

/// Sends a signal to a child's group. No effect without groups.
pub fn signal_group(child: &Child, signal: i32) {
    family::signal_group(child, signal);
}

/// The signal that ended a process, if any.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    family::signal_of(status)
}

/// Kills a child's group. No effect without groups: the caller that waits for the child must kill it.
pub fn end_group(child: &Child) {
    family::end_group(child);
}

/// The limit of open files of this process, after raising it to `wanted` or as near as possible.
pub fn raise_open_files(wanted: usize) -> usize {
    family::raise_open_files(wanted)
}

/// Limits the memory of this process to so many bytes, beyond which its allocator ends it, if the system supports this.
pub fn limit_memory(most: u64) {
    family::limit_memory(most);
}

/// The signals that ask this process to end, counted since it began to listen.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens for Ctrl-C and SIGTERM, and with `hangup` for the terminal's; for Ctrl-C alone on systems without others.
    /// `refused` gets each signal that can't be listened for: it ends the process, as it ends any other process.
    ///
    /// It must be called within a runtime.
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

    /// Waits until that many signals have arrived.
    pub async fn arrived(mut self, times: u32) {
        if self.0.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signal of a closed terminal, on systems that have one.
pub const HANGUP: Option<i32> = if cfg!(unix) { Some(1) } else { None };

/// Whether a browser can always show something on a screen. On other systems the environment names it.
pub const HAS_SCREEN: bool = cfg!(any(windows, target_os = "macos"));

/// The suffixes of program names, including those of npm.
pub const PROGRAM_SUFFIXES: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };

/// The folder for a user's application settings: the environment variable that names it, if any, and its default in the
/// user's home.
pub const SETTINGS: (Option<&str>, &str) = if cfg!(target_os = "macos") {
    (None, "Library/Application Support")
} else if cfg!(windows) {
    (Some("APPDATA"), "AppData/Roaming")
} else {
    (Some("XDG_CONFIG_HOME"), ".config")
};
