#![allow(missing_docs, reason = "`unix` documents the same functions")]

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use tokio::signal::windows::{CtrlC, ctrl_c};

/// Always returns `None`.
pub fn input(_: u64) -> Option<io::Result<Vec<u8>>> {
    None
}

pub fn is_input_open() -> bool {
    false
}

pub fn input_left() -> Option<u64> {
    None
}

/// Ignores the creation time, since Windows reuses that of a recently removed file with the same name.
pub fn file_identity(path: &Path) -> io::Result<String> {
    open_file_identity(winapi_util::Handle::from_path_any(path)?.as_file())
}

pub fn open_file_identity(file: &File) -> io::Result<String> {
    let information = winapi_util::file::information(file)?;
    Ok(format!("{}:{}", information.volume_serial_number(), information.file_index()))
}

pub fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

pub fn set_owner(_: &File, _: &Metadata) {}

pub fn hide_from_readers(_: &File) -> io::Result<()> {
    Ok(())
}

pub fn is_open_to_others(_: &Path) -> bool {
    false
}

pub fn runs_as_its_owner(_: &Path) -> bool {
    false
}

pub fn private_folder() -> DirBuilder {
    DirBuilder::new()
}

/// Files must be opened for writing to be synced. Folders can't be synced.
pub fn sync(path: &Path) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { File::options().write(true).open(path)?.sync_all() }
}

pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

pub fn is_alive(_: i32) -> bool {
    true
}

pub fn begin_group(_: &mut Command) {}

/// Otherwise, Windows would look for a relative path in the folder of this process.
pub fn program_in(folder: &Path, program: &Path) -> PathBuf {
    if program.components().count() > 1 { folder.join(program) } else { program.to_owned() }
}

/// Unknown, because access depends on lists that only the system can judge.
pub fn check_writable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A console sends Ctrl-C to all its programs by itself.
pub enum Terminal {}

impl Terminal {
    pub fn of_this_process() -> Option<Terminal> {
        None
    }

    pub fn signal_started(&self, _: i32) {}

    pub fn restore(&self) {}
}

pub fn signal_group(_: &Child, _: i32) {}

pub fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// Windows has no comparable limit.
pub fn raise_open_files(_: usize) -> usize {
    usize::MAX
}

pub fn limit_memory(_: u64) {}

pub(super) fn signals(_hangup: bool) -> impl Iterator<Item = (&'static str, io::Result<CtrlC>)> {
    std::iter::once_with(|| ("Ctrl-C", ctrl_c()))
}
