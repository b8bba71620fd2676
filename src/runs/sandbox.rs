//! Bubblewrap: no network, write access to a single folder, and an end with this process.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// The words that start a command in the sandbox, in the folder where it is to run. Only `writable` and everything below
/// can be written, and `/tmp` and `/dev`, which are the command's own.
pub fn sandbox(writable: &Path, folder: &Path) -> Vec<OsString> {
    let options = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
    let alone =
        ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--"];
    let places =
        [OsString::from("--bind"), writable.into(), writable.into(), "--chdir".into(), folder.into()];
    options.map(OsString::from).into_iter().chain(places).chain(alone.map(OsString::from)).collect()
}

/// Tries the sandbox.
///
/// # Errors
///
/// Why it is unavailable, for people.
pub fn try_sandbox(folder: &Path) -> Result<(), String> {
    let starter = sandbox(folder, folder);
    let tried = Command::new(&starter[0]).args(&starter[1..]).arg("true").stdin(Stdio::null()).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "bubblewrap does not work here: {}",
            String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it printed nothing")
        )),
        Err(_) => Err("the program bwrap is missing: install bubblewrap".to_owned()),
    }
}
