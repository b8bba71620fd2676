use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

pub(super) fn sync_file_systems<'a>(
    _: impl Iterator<Item = &'a PathBuf>,
) -> Result<bool, (&'a PathBuf, io::Error)> {
    Ok(false)
}

pub(super) fn machine_start() -> Option<SystemTime> {
    None
}
