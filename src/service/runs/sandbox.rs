//! Runs commands in Bubblewrap: without network access, with write access to a single folder, and killed when this
//! process exits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::base::platform::command;

/// Returns the program and arguments that start a command in the sandbox, with `folder` as the working folder. The command
/// can write only to `writable`, and to a private `/tmp` and `/dev`. It can also read `folders`, which may be in `/tmp`.
pub fn sandbox(writable: &Path, folder: &Path, folders: impl IntoIterator<Item = PathBuf>) -> Vec<OsString> {
    let options = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
    let alone =
        ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--"];
    let places =
        [OsString::from("--bind"), writable.into(), writable.into(), "--chdir".into(), folder.into()];
    let files = folders.into_iter().flat_map(|it| ["--ro-bind".into(), it.clone().into(), it.into()]);
    let options = options.map(OsString::from).into_iter();
    options.chain(files).chain(places).chain(alone.map(OsString::from)).collect()
}

/// Checks that the sandbox works.
///
/// # Errors
///
/// Returns the reason why the sandbox is unavailable, for people.
pub fn try_sandbox(folder: &Path) -> Result<(), String> {
    let starter = sandbox(folder, folder, []);
    let tried = command(&starter[0], folder).args(&starter[1..]).arg("true").stdin(Stdio::null()).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "bubblewrap does not work here: {}",
            String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it printed nothing")
        )),
        Err(_) => Err("the program bwrap is missing: install bubblewrap".to_owned()),
    }
}
