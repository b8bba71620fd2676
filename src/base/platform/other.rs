#![allow(missing_docs, reason = "`linux` documents the same functions")]

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

pub fn sync_file_systems<'a>(_: impl Iterator<Item = &'a PathBuf>) -> Result<bool, (&'a PathBuf, io::Error)> {
    Ok(false)
}

#[cfg(unix)]
pub fn adopt_orphans() {}

#[cfg(unix)]
pub fn processes() -> Vec<(i32, i32)> {
    let listed =
        super::command("ps", &std::env::temp_dir()).args(["-A", "-o", "pid=", "-o", "ppid="]).output();
    let listed =
        listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    let read = |line: &str| {
        let (process, parent) = line.trim().split_once(' ')?;
        Some((process.parse().ok()?, parent.trim().parse().ok()?))
    };
    listed.lines().filter_map(read).collect()
}

pub fn path_of_pipe(_: &io::PipeWriter) -> PathBuf {
    PathBuf::new()
}

#[cfg(unix)]
pub fn peek(_: &std::fs::File, _: usize) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn inherited_files() -> Vec<PathBuf> {
    Vec::new()
}

pub fn machine_start() -> Option<SystemTime> {
    None
}
