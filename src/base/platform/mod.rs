//! System-dependent functions. Each has one signature and one implementation per system.
//!
//! `unix` and `windows` cover the two families of systems: permissions, identities of files, process groups, and what a
//! command has started at a terminal. `linux` contains features specific to Linux, such as the list of processes from
//! `/proc`, and `other` contains their fallbacks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, path};

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
    Terminal, begin_group, check_writable, file_identity, hide_from_readers, host_name, input, input_left,
    is_alive, is_input_open, is_open_to_others, limit_memory, make_executable, open_file_identity,
    private_folder, raise_open_files, runs_as_its_owner, set_owner, signal_group, signal_of, sync,
};
pub use kernel::{inherited_files, machine_start, path_of_pipe, sync_file_systems};

/// The variables that point a program to the repository or the folder of its caller: those of `git rev-parse
/// --local-env-vars`, others that a git hook inherits, and those of shells and npm. `GIT_CONFIG_COUNT` is not among
/// them: CI systems use it for settings such as `safe.directory`.
pub const CALLERS: [&str; 23] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_PUSH_OPTION_COUNT",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "INIT_CWD",
    "OLDPWD",
];

/// Returns a command that runs in a folder. No variable points it to the repository of a git hook that this process
/// runs in, or to another folder. All child processes begin here.
pub fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(family::program_in(folder, Path::new(&program)));
    for name in CALLERS {
        command.env_remove(name);
    }
    // The name that the user's shell has for the folder may contain symbolic links.
    let real = fs::canonicalize(folder).ok();
    let named = env::var_os("PWD").map(PathBuf::from);
    let named = named.filter(|it| it.is_absolute() && real.is_some() && fs::canonicalize(it).ok() == real);
    match named.or_else(|| path::absolute(folder).ok()) {
        Some(named) => command.env("PWD", named),
        None => command.env_remove("PWD"),
    };
    command.current_dir(folder);
    command
}

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

/// The signals that ask a program to exit when the terminal is closed and when Ctrl-\ is pressed, on systems that have
/// them.
pub const TERMINAL_SIGNALS: &[i32] = if cfg!(unix) { &[1, QUIT] } else { &[] };
/// The signal sent by Ctrl-C.
pub const INTERRUPT: i32 = 2;
/// The signal sent by Ctrl-\.
pub const QUIT: i32 = 3;
/// The signal that ends a program.
pub const KILL: i32 = 9;
/// The signal that asks a program to exit.
pub const TERMINATE: i32 = 15;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_told_from_a_newer_one_with_its_name() {
        let folder = crate::testing::folder();
        let path = folder.path().join("lock");
        let file = fs::File::create(&path).unwrap();
        assert_eq!(open_file_identity(&file).unwrap(), file_identity(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(file_identity(&path).is_err());
        fs::write(&path, "").unwrap();
        assert_ne!(open_file_identity(&file).unwrap(), file_identity(&path).unwrap());
    }

    #[test]
    fn no_variable_of_git_leads_a_child_to_the_repository_of_a_hook() {
        let folder = env::temp_dir();
        let listed = command("git", &folder).args(["rev-parse", "--local-env-vars"]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("GIT_INDEX_FILE"), "{listed}");
        for name in listed.lines().filter(|name| *name != "GIT_CONFIG_COUNT") {
            assert!(CALLERS.contains(&name), "{name}");
        }
    }
}
