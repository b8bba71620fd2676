//! System-dependent functions. Each has one signature and one implementation per system.
//!
//! `unix` and `windows` cover the two families of systems. `linux` contains features specific to Linux, and `other`
//! contains their fallbacks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;

use tokio::sync::watch;

#[cfg(target_os = "linux")]
use linux as kernel;
#[cfg(not(target_os = "linux"))]
use other as kernel;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;

pub use family::{
    ask_group_to_end, begin_group, end_group, file_identity, hide_from_readers, host_name, is_alive,
    is_open_to_others, limit_memory, make_executable, private_folder, raise_open_files, set_owner,
    signal_group, signal_of, sync,
};
pub use kernel::{machine_start, sync_file_systems};

/// The number of termination signals received since the process started listening.
#[derive(Clone, Debug)]
pub struct Signals(watch::Receiver<u32>);

impl Signals {
    /// Listens for Ctrl-C and, on Unix, also for SIGTERM and, with `hangup`, SIGHUP. Calls `refused` for each signal
    /// whose handler can't be installed. Such a signal ends the process immediately.
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

/// True if a screen is always available. Other systems name the screen in an environment variable.
pub const HAS_SCREEN: bool = cfg!(any(windows, target_os = "macos"));

/// The suffixes of program names, including those used by npm.
pub const PROGRAM_SUFFIXES: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };

/// The application settings folder: the environment variable that names it, if any, and the default path in the home
/// folder.
pub const SETTINGS: (Option<&str>, &str) = if cfg!(target_os = "macos") {
    (None, "Library/Application Support")
} else if cfg!(windows) {
    (Some("APPDATA"), "AppData/Roaming")
} else {
    (Some("XDG_CONFIG_HOME"), ".config")
};
