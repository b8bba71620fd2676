#![allow(missing_docs, reason = "`unix` documents the same functions")]

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use tokio::signal::windows::{CtrlC, ctrl_c};

/// Ignores the creation time, since Windows reuses that of a recently removed file with the same name.
pub fn file_identity(path: &Path) -> io::Result<String> {
    let information = winapi_util::file::information(winapi_util::Handle::from_path_any(path)?)?;
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

pub fn ask_group_to_end(_: &Child) {}

pub fn signal_group(_: &Child, _: i32) {}

pub fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

pub fn end_group(_: &Child) {}

/// Windows has no comparable limit.
pub fn raise_open_files(_: usize) -> usize {
    usize::MAX
}

pub fn limit_memory(_: u64) {}

pub(super) fn signals(_hangup: bool) -> impl Iterator<Item = (&'static str, io::Result<CtrlC>)> {
    std::iter::once_with(|| ("Ctrl-C", ctrl_c()))
}
