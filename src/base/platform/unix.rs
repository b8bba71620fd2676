use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _, fchown,
};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::{Errno, ioctl_fionread};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpgrp, getrlimit, kill_process, kill_process_group, setrlimit,
    test_kill_process,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::{KILL, kernel};

/// The time in which whoever writes to a pipe may start and end.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Returns the part of standard input that is not read yet, if it is a file or a pipe, without reading it from there. `None` if it
/// is neither, or if it is a pipe to which nothing was written within a moment.
///
/// # Errors
///
/// Returns an error if it has more than `most` bytes, or may get more, or can't be read.
pub fn input(most: u64) -> Option<io::Result<Vec<u8>>> {
    let file = standard_input()?;
    let about = file.metadata().ok()?;
    if !about.is_file() {
        let is_open = is_open_stream(&file, &MOMENT)?;
        let number = ioctl_fionread(&file).ok().filter(|number| *number > 0)?;
        let is_whole = !is_open && about.file_type().is_fifo() && number <= most;
        let peek = || kernel::peek(&file, usize::try_from(number).unwrap_or(0));
        return Some(if is_whole { peek() } else { Err(io::ErrorKind::FileTooLarge.into()) });
    }
    let read = || {
        let from = (&file).stream_position()?;
        let length = about.len().saturating_sub(from);
        let mut content = vec![0; usize::try_from(length.min(most + 1)).unwrap_or(0)];
        file.read_exact_at(&mut content, from)?;
        if length > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(content) }
    };
    Some(read())
}

/// Returns whether standard input is a pipe to which somebody may still write.
pub fn is_input_open() -> bool {
    standard_input().is_some_and(|file| is_open_stream(&file, &Timespec::default()) == Some(true))
}

/// Returns the number of bytes in the pipe of standard input. `None` if it is no pipe.
pub fn input_left() -> Option<u64> {
    let file = standard_input()?;
    file.metadata().ok()?.file_type().is_fifo().then(|| ioctl_fionread(&file).ok())?
}

fn standard_input() -> Option<File> {
    io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
}

/// Returns whether somebody may still write to a pipe after some time. `None` of what is not a pipe.
fn is_open_stream(file: &File, time: &Timespec) -> Option<bool> {
    let kind = file.metadata().ok()?.file_type();
    let mut ends = [PollFd::new(file, PollFlags::empty())];
    (kind.is_fifo() || kind.is_socket()).then(|| poll(&mut ends, Some(time)) == Ok(0))
}

/// Returns an identity that stays the same when the file's content changes, but differs for another file with the
/// same name.
///
/// # Errors
///
/// Returns an error if the file's metadata can't be read.
pub fn file_identity(path: &Path) -> io::Result<String> {
    Ok(identity(&fs::symlink_metadata(path)?))
}

/// Returns the same identity for an open file, even if its name has been removed or given to another file.
///
/// # Errors
///
/// Returns an error if the file's metadata can't be read.
pub fn open_file_identity(file: &File) -> io::Result<String> {
    Ok(identity(&file.metadata()?))
}

fn identity(metadata: &Metadata) -> String {
    format!("{}:{}", metadata.dev(), metadata.ino())
}

/// Adds the executable bit for everyone with read permission, as git does. Has no effect on systems other than Unix.
///
/// # Errors
///
/// Returns an error if the permissions can't be changed.
pub fn make_executable(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
}

/// Gives a new file the owner and group of the file that it replaces, or only the group, if permitted. Has no effect on
/// systems other than Unix.
pub fn set_owner(file: &File, old: &Metadata) {
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(file, None, Some(old.gid()));
    }
}

/// Removes read permission from everyone without write permission. Has no effect on systems without such permissions.
///
/// # Errors
///
/// Returns an error if the permissions can't be changed.
pub fn hide_from_readers(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    let hidden = mode & !((!mode & 0o222) << 1);
    if hidden != mode {
        file.set_permissions(Permissions::from_mode(hidden))?;
    }
    Ok(())
}

/// Returns true if users other than the owner have permissions on a file. Returns false if the file is missing, or if
/// the system has no such permissions.
pub fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Returns whether a program runs with the rights of its owner or group. Returns false if the file is missing, or if the system
/// has no such permissions.
pub fn runs_as_its_owner(program: &Path) -> bool {
    fs::metadata(program).is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0)
}

/// Returns a builder that creates folders readable only by their owner. On systems without modes, a folder inherits
/// its parent's permissions.
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Waits until a file is stored on disk. Folders are also synced if the system supports this.
///
/// # Errors
///
/// Returns an error if the path can't be opened or synced.
pub fn sync(path: &Path) -> io::Result<()> {
    // Files and folders can be synced even if opened only for reading.
    File::open(path)?.sync_all()
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns true if a process on this machine is alive, or if this is unknown.
pub fn is_alive(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

/// Starts the command in a new process group. Has no effect on systems without process groups.
pub fn begin_group(command: &mut Command) {
    command.process_group(0);
}

/// Returns the path from which a program is started in a folder. Programs in `PATH` are named without a folder.
pub fn program_in(_folder: &Path, program: &Path) -> PathBuf {
    program.to_owned()
}

/// Fails if this process can't create files in a folder, without trying it. Succeeds if this is unknown.
///
/// # Errors
///
/// Returns an error if the permissions or the file system don't allow it, or if the folder is missing.
pub fn check_writable(folder: &Path) -> io::Result<()> {
    Ok(accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?)
}

/// The terminal that controls this process, for a command in the same process group. As without this program, it can
/// read the terminal, and Ctrl-C, Ctrl-\ and Ctrl-Z reach it.
pub struct Terminal {
    file: File,
    settings: Termios,
    /// The processes that this one had started before.
    before: Vec<i32>,
}

impl Terminal {
    /// Returns the terminal, with its settings, if there is one.
    pub fn of_this_process() -> Option<Terminal> {
        let file = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let settings = tcgetattr(&file).ok()?;
        kernel::adopt_orphans();
        Some(Terminal { file, settings, before: started(&[]) })
    }

    /// Sends a signal to each process that this one has started since, directly or indirectly. Except on Linux, a
    /// process whose parent has exited is not reached.
    pub fn signal_started(&self, signal: i32) {
        let Some(named) = Signal::from_named_raw(signal) else { return };
        // A process may start another one meanwhile.
        for _ in 0..if signal == KILL { 10 } else { 1 } {
            let started = started(&self.before);
            if started.is_empty() {
                return;
            }
            for process in started.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(process, named);
            }
        }
    }

    /// Restores the settings, after a command that could not do so.
    pub fn restore(&self) {
        // In the background, this process would be stopped.
        if tcgetpgrp(&self.file) == Ok(getpgrp()) {
            let _ = tcsetattr(&self.file, OptionalActions::Now, &self.settings);
        }
    }
}

/// Returns the processes that this one has started, directly or indirectly, without `except` and what they have started.
fn started(except: &[i32]) -> Vec<i32> {
    let all = kernel::processes();
    let mut found = vec![i32::try_from(std::process::id()).unwrap_or_default()];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process);
        found.extend(children.filter(|process| !except.contains(process)));
        at += 1;
    }
    found.split_off(1)
}

/// Sends a signal to a child's process group. Has no effect on systems without process groups.
pub fn signal_group(child: &Child, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process_group(Pid::from_child(child), signal);
    }
}

/// Returns the signal that ended a process, if any.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Raises this process's limit on open files to `wanted`, or as close to it as possible. Returns the new limit.
pub fn raise_open_files(wanted: usize) -> usize {
    // The usual limit of 1,024 exists for programs that use `select`.
    let wanted = wanted as u64;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, limit);
        limit = getrlimit(Resource::Nofile);
    }
    limit.current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// Limits this process's memory to `most` bytes if the system supports it. Allocations beyond the limit abort the
/// process.
pub fn limit_memory(most: u64) {
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(most), maximum: Some(most) });
}

pub(super) fn signals(
    hangup: bool,
) -> impl Iterator<Item = (&'static str, io::Result<tokio::signal::unix::Signal>)> {
    let kinds = [("SIGINT", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())];
    let hangup = hangup.then(|| ("SIGHUP", SignalKind::hangup()));
    kinds.into_iter().chain(hangup).map(|(name, kind)| (name, signal(kind)))
}
