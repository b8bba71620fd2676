#![allow(missing_docs, reason = "`linux` documents the same functions")]

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

pub fn sync_file_systems<'a>(_: impl Iterator<Item = &'a PathBuf>) -> Result<bool, (&'a PathBuf, io::Error)> {
    Ok(false)
}

pub fn machine_start() -> Option<SystemTime> {
    None
}
