//! What is not the same on every system: each function once, with one signature, and what each system does for it.
//!
//! `unix` and `windows` are the two families. `linux` is what Linux alone can do, and `other` what is done instead.

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

/// Tells one file from another of the same name, while its content changes.
///
/// # Errors
///
/// A file that can't be looked at.
pub fn file_identity(path: &Path) -> io::Result<String> {
    family::file_identity(path)
}

/// Adds the executable bit for all who may read, as git does. Other systems than Unix have none.
///
/// # Errors
///
/// Rights that can't be changed.
pub fn make_executable(file: &File) -> io::Result<()> {
    family::make_executable(file)
}

/// Takes the right to read a file from those who may not write it. Where rights are not of this kind, they stay.
///
/// # Errors
///
/// Rights that can't be changed.
pub fn hide_from_readers(file: &File) -> io::Result<()> {
    family::hide_from_readers(file)
}

/// Whether others than its owner have rights to a file; no where rights are not of this kind, or there is no file.
pub fn is_open_to_others(path: &Path) -> bool {
    family::is_open_to_others(path)
}

/// Makes folders that nobody else can look into. Where there are no modes, a folder is as open as the one that it is in.
pub fn private_folder() -> DirBuilder {
    family::private_folder()
}

/// Waits until a file is on the disk; a folder too, where the system has a call for that.
///
/// # Errors
///
/// A path that can't be opened or written.
pub fn sync(path: &Path) -> io::Result<()> {
    family::sync(path)
}

/// Syncs the file systems of these paths, if the system can and all are of a kind that does it. If not, nothing is synced.
///
/// # Errors
///
/// The path that can't be opened or synced, and why.
pub fn sync_file_systems<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<bool, (&'a PathBuf, io::Error)> {
    kernel::sync_file_systems(paths)
}

/// The name of this machine.
pub fn host_name() -> String {
    family::host_name()
}

/// When this machine was started, where the system says so.
pub fn machine_start() -> Option<SystemTime> {
    kernel::machine_start()
}

/// Whether a process of this machine lives; where that can't be said, it does.
pub fn is_alive(process: i32) -> bool {
    family::is_alive(process)
}

/// Has a child begin a group of its own, with all that it will start. Where there are no groups, it is alone.
pub fn begin_group(command: &mut Command) {
    family::begin_group(command);
}

/// Asks the group that a child has begun to end. Where there are no groups, nobody is asked.
pub fn ask_group_to_end(child: &Child) {
    family::ask_group_to_end(child);
}

/// Sends a signal to the group that a child has begun. Where there are no groups, nobody gets it.
pub fn signal_group(child: &Child, signal: i32) {
    family::signal_group(child, signal);
}

/// The signal that ended a process, where there are signals and one did.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    family::signal_of(status)
}

/// Ends the group that a child has begun. Where there are no groups, nothing ends: whoever waits for the child ends it.
pub fn end_group(child: &Child) {
    family::end_group(child);
}

/// How many files this process may have open, after raising that to `wanted` or as near as it may be.
pub fn raise_open_files(wanted: usize) -> usize {
    family::raise_open_files(wanted)
}

/// Ends this process by its allocator when it takes more memory than so many bytes, where the system has such a limit.
pub fn limit_memory(most: u64) {
    family::limit_memory(most);
}

/// The signals that ask this process to end, counted from when it began to listen.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens for Ctrl-C and SIGTERM, and for the hangup of the terminal where that is to count; for Ctrl-C alone where
    /// there are no others. `refused` gets each signal that can't be listened for: such a signal ends the process, as it ends any
    /// other process.
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

    /// Waits until that many have arrived.
    pub async fn arrived(mut self, times: u32) {
        if self.0.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signal of a terminal that is closed, where there is one.
pub const HANGUP: Option<i32> = if cfg!(unix) { Some(1) } else { None };

/// Whether there is always a screen that a browser can show something on. Elsewhere the environment names it.
pub const HAS_SCREEN: bool = cfg!(any(windows, target_os = "macos"));

/// What the names of programs end with, those that npm installs too.
pub const PROGRAM_SUFFIXES: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };

/// Where applications keep their settings of a user: the variable that names the folder, if there is one, and where it is
/// in the user's home without it.
pub const SETTINGS: (Option<&str>, &str) = if cfg!(target_os = "macos") {
    (None, "Library/Application Support")
} else if cfg!(windows) {
    (Some("APPDATA"), "AppData/Roaming")
} else {
    (Some("XDG_CONFIG_HOME"), ".config")
};
