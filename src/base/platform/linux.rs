use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::pipe::SpliceFlags;

/// The magic numbers of file systems that `syncfs` syncs completely: ext2 to ext4, XFS, Btrfs, F2FS and tmpfs.
const SYNCED_WHOLE: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// Syncs the file systems that contain these paths and returns true. Returns false without syncing if the system or
/// one of the file systems does not support this.
///
/// # Errors
///
/// Returns the path that can't be opened or synced, with the error.
pub fn sync_file_systems<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<bool, (&'a PathBuf, io::Error)> {
    let mut file_systems = BTreeMap::new();
    for path in paths {
        let device = fs::metadata(path).map_err(|error| (path, error))?.dev();
        if let Entry::Vacant(place) = file_systems.entry(device) {
            let file = File::open(path).map_err(|error| (path, error))?;
            let kind = rustix::fs::fstatfs(&file).map_err(|error| (path, error.into()))?.f_type;
            if !u64::try_from(kind).is_ok_and(|kind| SYNCED_WHOLE.contains(&kind)) {
                return Ok(false);
            }
            place.insert((path, file));
        }
    }
    for (path, file) in file_systems.into_values() {
        rustix::fs::syncfs(&file).map_err(|error| (path, error.into()))?;
    }
    Ok(true)
}

/// Makes this process the parent of all processes that it starts indirectly and whose own parent exits.
pub fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Returns each process that has not exited, with its parent.
pub fn processes() -> Vec<(i32, i32)> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let read = |folder: fs::DirEntry| {
        let process = folder.file_name().to_str()?.parse().ok()?;
        let about = fs::read_to_string(folder.path().join("stat")).ok()?;
        // The name of the program is in brackets and may contain any character.
        let mut facts = about.rsplit_once(") ")?.1.split(' ');
        let has_exited = facts.next() == Some("Z");
        (!has_exited).then_some((process, facts.next()?.parse().ok()?))
    };
    folders.filter_map(read).collect()
}

/// Returns a path by which other programs can open a pipe of this process. Only Linux has one.
pub fn path_of_pipe(pipe: &io::PipeWriter) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), pipe.as_raw_fd()))
}

/// The usual capacity of a pipe, in bytes.
const PIPE: usize = 64 << 10;

/// Returns the next bytes of a pipe, and leaves them there.
///
/// # Errors
///
/// Returns an error if the pipe can't be read so.
pub fn peek(pipe: &File, number: usize) -> io::Result<Vec<u8>> {
    let (mut reader, writer) = io::pipe()?;
    if number > PIPE {
        rustix::pipe::fcntl_setpipe_size(&writer, number)?;
    }
    let mut content = vec![0; rustix::pipe::tee(pipe, &writer, number, SpliceFlags::NONBLOCK)?];
    reader.read_exact(&mut content)?;
    if content.len() == number { Ok(content) } else { Err(io::ErrorKind::FileTooLarge.into()) }
}

/// Returns the files that this process was started with, beside its standard streams, and that its children inherit. Only Linux
/// tells.
pub fn inherited_files() -> Vec<PathBuf> {
    const CLOSED_BY_EXEC: u32 = 0o2_000_000;
    let inherited = |entry: fs::DirEntry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok().filter(|number| *number > 2)?;
        let about = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let is_kept = u32::from_str_radix(flags.trim(), 8).ok()? & CLOSED_BY_EXEC == 0;
        fs::read_link(entry.path()).ok().filter(|_| is_kept)
    };
    fs::read_dir("/proc/self/fd").into_iter().flatten().flatten().filter_map(inherited).collect()
}

/// Returns the time at which this machine was started, if known.
pub fn machine_start() -> Option<SystemTime> {
    let facts = fs::read_to_string("/proc/stat").ok()?;
    let seconds = facts.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
