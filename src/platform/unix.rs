use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit, test_kill_process,
};
use tokio::signal::unix::{SignalKind, signal};

pub(super) fn file_identity(path: &Path) -> io::Result<String> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(format!("{}:{}", metadata.dev(), metadata.ino()))
}

pub(super) fn make_executable(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
}

pub(super) fn hide_from_readers(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    let hidden = mode & !((!mode & 0o222) << 1);
    if hidden != mode {
        file.set_permissions(Permissions::from_mode(hidden))?;
    }
    Ok(())
}

pub(super) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

pub(super) fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// A file opened for reading can be synced, as can a folder.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn is_alive(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

pub(super) fn begin_group(command: &mut Command) {
    command.process_group(0);
}

pub(super) fn ask_group_to_end(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
}

pub(super) fn signal_group(child: &Child, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process_group(Pid::from_child(child), signal);
    }
}

pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

pub(super) fn end_group(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The usual limit of 1,024 exists for programs that use `select`.
pub(super) fn raise_open_files(wanted: usize) -> usize {
    let wanted = wanted as u64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
        limit = getrlimit(Resource::Nofile);
    }
    limit.current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// Does nothing if the system does not support the limit.
pub(super) fn limit_memory(most: u64) {
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) });
}

pub(super) fn signals(
    hangup: bool,
) -> impl Iterator<Item = (&'static str, io::Result<tokio::signal::unix::Signal>)> {
    let kinds = [("SIGINT", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())];
    let hangup = hangup.then(|| ("SIGHUP", SignalKind::hangup()));
    kinds.into_iter().chain(hangup).map(|(name, kind)| (name, signal(kind)))
}
