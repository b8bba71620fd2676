//! What is not the same on every system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::{Result, io_error};

/// Tells one file from another of the same name, while its content changes.
#[cfg(unix)]
pub(super) fn file_identity(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(path)?;
    Ok(format!("{}:{}", metadata.dev(), metadata.ino()))
}

/// Not by the time of creation: Windows gives a file that of one of the same name that was removed a moment ago.
#[cfg(windows)]
pub(super) fn file_identity(path: &Path) -> io::Result<String> {
    let information = winapi_util::file::information(winapi_util::Handle::from_path_any(path)?)?;
    Ok(format!("{}:{}", information.volume_serial_number(), information.file_index()))
}

/// Adds the executable bit for all who may read, as git does. Other systems than Unix have none.
pub(super) fn make_executable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Takes the right to read a file from those who may not write it. Where rights are not of this kind, they stay.
pub(super) fn hide_from_readers(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        let hidden = mode & !((!mode & 0o222) << 1);
        if hidden != mode {
            file.set_permissions(fs::Permissions::from_mode(hidden))?;
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// The name of this machine.
pub(super) fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    name
}

/// Whether a process of this machine lives; where that can't be said, it does.
pub(super) fn is_alive(process: i32) -> bool {
    #[cfg(unix)]
    {
        let process = rustix::process::Pid::from_raw(process);
        process.is_some_and(|process| {
            rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
        })
    }
    #[cfg(not(unix))]
    {
        let _ = process;
        true
    }
}

/// When this machine was started, where the system says so: Linux does.
pub(super) fn machine_start() -> Option<SystemTime> {
    let facts = fs::read_to_string("/proc/stat").ok()?;
    let seconds = facts.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Waits until a file or folder is on the disk.
pub(super) fn sync(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    // Unix syncs what is open for reading, folders too. Windows wants to write, and has no call for folders.
    if cfg!(unix) {
        options.read(true);
    } else if path.is_dir() {
        return Ok(());
    } else {
        options.write(true);
    }
    options.open(path).and_then(|file: File| file.sync_all()).map_err(io_error("sync", path))
}

/// Syncs the file systems of these paths, if all are of a kind that does it.
#[cfg(target_os = "linux")]
pub(super) fn sync_file_systems<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;

    /// ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
    const KNOWN: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

    let mut file_systems = std::collections::BTreeMap::new();
    for path in paths {
        let failed = io_error("sync", path);
        let device = std::fs::metadata(path).map_err(&failed)?.dev();
        if let std::collections::btree_map::Entry::Vacant(place) = file_systems.entry(device) {
            let file = File::open(path).map_err(&failed)?;
            let kind = rustix::fs::fstatfs(&file).map_err(|error| failed(error.into()))?.f_type;
            if !u64::try_from(kind).is_ok_and(|kind| KNOWN.contains(&kind)) {
                return Ok(false);
            }
            place.insert((path, file));
        }
    }
    for (path, file) in file_systems.values() {
        rustix::fs::syncfs(file).map_err(|error| io_error("sync", path)(error.into()))?;
    }
    Ok(true)
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn sync_file_systems<'a>(_: impl Iterator<Item = &'a PathBuf>) -> Result<bool> {
    Ok(false)
}
