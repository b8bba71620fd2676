//! Writes a site into a folder, which stays the same folder.
//!
//! 1. [`Writing::try_begin`] locks the folder, and examines it and the output of an earlier run.
//! 2. As a [`SiteTarget`], it writes each file as soon as it is built, from several threads, into a temporary folder inside
//!    the output folder, and leaves unchanged files of the earlier site where they are.
//! 3. [`Writing::finish`] renames the new files into place and removes the old ones.
//!
//! # Guarantees
//!
//! - A folder is used only if it is empty, or if an earlier run wrote every file in it. The marker lists these files. A folder
//!   that contains anything else, such as `.git` or `CNAME`, is refused before anything is written.
//! - If an error occurs before all files are built, the earlier site stays as it is.
//! - A run that is killed leaves only whole files. New files are put into place before those that link to them, the first pages
//!   after that, and old files are removed last. The next run completes the site, and removes temporary files.
//! - Only one run at a time writes to the folder. The system releases the lock if the process dies.
//! - A file that was touched after the earlier run is reused only if its bytes are unchanged.
//!
//! # Limitations
//!
//! New pages may link to each other, so until the last of them is in place, one that nothing else links to may have a dead link.
//! A replacement file is not detected if it has the same size and is older than the site. On a file system without locks, several
//! runs may write at once.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use super::parts::{FileMark, FileMarks, Manifest, SitePart};
use super::publish::{Published, SiteTarget, Waiting};
use super::{ReportError, Templates};
use crate::base::platform::{file_identity, open_file_identity};
use crate::base::temporary::{TemporaryFolder, remove_abandoned, replace_file};
use crate::domain::SessionId;

/// The file that marks a folder as written by this program. It contains one line of text, followed by the path of each
/// file.
pub const MARKER: &str = ".tot-report";
/// The file with the inputs of each part, for the next run.
pub const MANIFEST: &str = ".tot-report.parts";
/// The file that is locked while a site is written.
const LOCK: &str = ".tot-report.lock";
/// The prefix of the temporary folders in the output folder.
const NEW: &str = ".tot-report.new-";

const HEADLINE: &str = "Written by tot-report 1. This folder is replaced by its next run.";
/// Files created by desktop environments, which are removed with the folder that contains them.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];
/// The beginnings of the names of files that network file systems create. They stay.
const OF_NETWORKS: [&str; 3] = ["._", ".nfs", ".fuse_hidden"];
/// Folders of file systems, which stay. The output folder may be a volume.
const OF_VOLUMES: [&str; 9] = [
    "lost+found",
    ".Spotlight-V100",
    ".Trashes",
    ".fseventsd",
    "$RECYCLE.BIN",
    "System Volume Information",
    "@eaDir",
    "#recycle",
    "#snapshot",
];

/// The interval between attempts to lock the folder.
const LOCK_AGAIN: Duration = Duration::from_millis(20);
/// The maximum number of attempts to lock the folder: a minute. Writing a large report takes a fraction of this time.
const LOCK_ATTEMPTS: u32 = 3_000;

/// Returns the folder for the site of one investigation in a shared folder.
///
/// # Errors
///
/// Returns an error if the shared folder is a git repository, where no report belongs.
pub fn folder_in(shared: &Path, id: SessionId) -> Result<PathBuf, ReportError> {
    let found = shared.join(".git");
    match found.exists() {
        true => Err(ReportError::Foreign { out: shared.to_owned(), found }),
        false => Ok(shared.join(id.to_string())),
    }
}

/// A site being written. Unless it is finished, the earlier site stays.
#[derive(Debug)]
#[must_use]
pub struct Writing {
    /// The folder with the new files. It is removed before the output folder is unlocked.
    aside: TemporaryFolder,
    out: OutputFolder,
    /// The files of the earlier site.
    own: BTreeSet<String>,
    /// The time at which the earlier site was completed, if known.
    completed: Option<SystemTime>,
    manifest: Option<Manifest>,
}

/// The output folder, locked. If it contains no site when it is dropped, nothing of ours stays in it.
#[derive(Debug)]
struct OutputFolder {
    path: PathBuf,
    /// The locked file.
    _lock: File,
    /// True if the folder was created for the site.
    is_new: bool,
}

impl OutputFolder {
    /// Creates the folder if it is missing, and locks it. Returns `None` if another process has the lock.
    fn lock(out: &Path) -> Result<Option<OutputFolder>, ReportError> {
        let is_new = match fs::metadata(out) {
            Ok(about) if !about.is_dir() => return Err(ReportError::NotAFolder { out: out.to_owned() }),
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(source) => return Err(failed("look at", out)(source)),
        };
        if is_new {
            fs::create_dir_all(out).map_err(failed("create", out))?;
        }
        // A site behind a link is written there, even if the link is replaced meanwhile.
        let path = match fs::canonicalize(out) {
            Ok(path) => path,
            // The process that created the folder failed, and has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed("look at", out)(source)),
        };
        let lock = path.join(LOCK);
        match fs::symlink_metadata(&lock) {
            // Opening another kind of file, such as a named pipe, might block forever, and a link may point anywhere.
            Ok(about) if !about.is_file() => return Err(ReportError::Foreign { out: path, found: lock }),
            Ok(_) => {}
            Err(_) => match own_files(&path) {
                Err(_) if !path.exists() => return Ok(None),
                files => drop(files?),
            },
        }
        let file = match File::options().create(true).append(true).open(&lock) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // The file may belong to another user.
            Err(error) => File::open(&lock).map_err(|_| failed("create", &lock)(error))?,
        };
        // A process that fails removes its lock file, and another may have made a new one since this one was opened.
        let is_current = || Ok::<_, std::io::Error>(open_file_identity(&file)? == file_identity(&lock)?);
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !is_current().unwrap_or(false) {
            return Ok(None);
        }
        Ok(Some(OutputFolder { path, _lock: file, is_new }))
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if !self.path.join(MARKER).exists() {
            let _ = fs::remove_file(self.path.join(LOCK));
            if self.is_new {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}

impl Writing {
    /// Begins writing a site to `out`, as soon as no other process does.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder contains anything else, if another process writes to it for too long, or if the file
    /// system fails.
    pub fn begin(out: &Path, waiting: &dyn Waiting) -> Result<Writing, ReportError> {
        for _ in 0..LOCK_ATTEMPTS {
            if let Some(writing) = Writing::try_begin(out)? {
                return Ok(writing);
            }
            waiting.check()?;
            waiting.show(&|| "waiting for another process that writes this site".to_owned());
            thread::sleep(LOCK_AGAIN);
        }
        Err(ReportError::Busy { out: out.to_owned() })
    }

    /// Begins writing a site to `out`. Returns `None` if another process does.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder contains anything else, or if the file system fails.
    pub fn try_begin(out: &Path) -> Result<Option<Writing>, ReportError> {
        let Some(out) = OutputFolder::lock(out)? else { return Ok(None) };
        let own = own_files(&out.path)?;
        remove_abandoned(&out.path, NEW, &|_| true);
        let aside = TemporaryFolder::new(&out.path, NEW).map_err(failed("create a folder in", &out.path))?;
        let completed = fs::symlink_metadata(out.path.join(MARKER)).and_then(|about| about.modified()).ok();
        let manifest = fs::read(out.path.join(MANIFEST)).ok();
        let manifest = manifest.and_then(|bytes| Manifest::of_bytes(&bytes));
        Ok(Some(Writing { aside, out, own, completed, manifest }))
    }

    /// Returns the path of a new file until it is put into place.
    fn aside(&self, path: &str) -> PathBuf {
        self.aside.path().join("site").join(path)
    }

    fn is_as_written(&self, path: &str, mark: &FileMark) -> bool {
        let file = self.out.path.join(path);
        let Ok(about) = fs::symlink_metadata(&file) else { return false };
        if !about.is_file() || about.len() != mark.size {
            return false;
        }
        let is_older = about.modified().ok().zip(self.completed).is_some_and(|(at, written)| at < written);
        is_older || fs::read(&file).is_ok_and(|bytes| FileMark::of(&bytes) == *mark)
    }

    /// Puts the new files into place and removes the old ones.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails, or if a file was added since the run began. In the second case, nothing is
    /// changed.
    pub fn finish(self, published: &Published) -> Result<(), ReportError> {
        let mut new: BTreeSet<String> = published.rest.keys().cloned().collect();
        new.extend(published.parts.iter().flat_map(|part| part.files.keys().cloned()));
        if let Some(manifest) = published.manifest() {
            let manifest = manifest.to_bytes();
            let manifest =
                manifest.map_err(|source| ReportError::Json { path: MANIFEST.to_owned(), source })?;
            self.write(MANIFEST, &manifest)?;
        }
        let own = own_files(&self.out.path)?;
        let in_case: BTreeSet<String> = new.iter().map(|path| path.to_lowercase()).collect();
        let (in_the_way, old): (Vec<&String>, Vec<&String>) =
            own.difference(&new).partition(|path| is_in_the_way(&path.to_lowercase(), &in_case));
        let mut placed: Vec<&String> = new.iter().filter(|path| self.aside(path).exists()).collect();
        placed.sort_by_cached_key(|path| order(path, &own));
        // If the run is killed from here on, the next one must know all files as ours. Those put into place now are newer than
        // this time, so that they are not taken for files of the earlier manifest.
        self.mark(own.union(&new), self.completed)?;
        self.remove(&in_the_way)?;
        for path in placed {
            self.place(path)?;
        }
        self.remove(&old)?;
        match self.aside(MANIFEST).exists() {
            true => self.place(MANIFEST)?,
            false => self.remove(&[&MANIFEST.to_owned()])?,
        }
        // The marker is last, so any file changed later is newer.
        self.mark(new.iter(), None)
    }

    /// Writes the marker with these files.
    fn mark<'p>(
        &self,
        own: impl Iterator<Item = &'p String>,
        at: Option<SystemTime>,
    ) -> Result<(), ReportError> {
        let text = own.fold(format!("{HEADLINE}\n"), |text, path| text + path + "\n");
        self.write(MARKER, text.as_bytes())?;
        if let Some(at) = at {
            let marker = self.aside(MARKER);
            let set = || File::options().write(true).open(&marker)?.set_modified(at);
            set().map_err(failed("set the time of", &marker))?;
        }
        self.place(MARKER)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let file = self.aside(path);
        create_folder(&file)?;
        fs::write(&file, bytes).map_err(failed("write", &file))
    }

    fn place(&self, path: &str) -> Result<(), ReportError> {
        let (from, to) = (self.aside(path), self.out.path.join(path));
        create_folder(&to)?;
        let placed = fs::rename(&from, &to).or_else(|error| match error.kind() {
            // A folder inside the site may be a mount point.
            ErrorKind::CrossesDevices => replace_file(&to, &fs::read(&from)?),
            _ => Err(error),
        });
        placed.map_err(failed("replace", &to))
    }

    /// Removes files of the earlier site, and the folders that they leave empty.
    fn remove(&self, old: &[&String]) -> Result<(), ReportError> {
        for path in old {
            let file = self.out.path.join(path);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(failed("remove", &file)(error));
                }
                _ => {}
            }
            let within = file.ancestors().skip(1).take_while(|folder| *folder != self.out.path);
            for folder in within {
                if !remove_emptied(folder) {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl SiteTarget for Writing {
    fn earlier(&self, maker: Option<&str>) -> &[SitePart] {
        self.manifest.as_ref().map_or(&[], |manifest| manifest.made_by(maker))
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<FileMark, ReportError> {
        check_path(path)?;
        self.write(path, &bytes)?;
        Ok(FileMark::of(&bytes))
    }

    fn keep(&self, part: &SitePart) -> Result<bool, ReportError> {
        Ok(part.files.iter().all(|(path, mark)| self.own.contains(path) && self.is_as_written(path, mark)))
    }

    fn keep_folder(&self, folder: &str) -> Result<FileMarks, ReportError> {
        let within = self.own.iter().filter(|path| path.starts_with(folder));
        let mark = |path: &String| {
            let file = self.out.path.join(path);
            let bytes = fs::read(&file).map_err(failed("read", &file))?;
            Ok((path.clone(), FileMark::of(&bytes)))
        };
        within.map(mark).collect()
    }
}

/// Creates the folder of a file.
fn create_folder(file: &Path) -> Result<(), ReportError> {
    file.parent().map_or(Ok(()), |folder| fs::create_dir_all(folder).map_err(failed("create", folder)))
}

/// Returns true if an old file must be removed before the new ones are put into place: a file where there is a folder now, or the
/// other way round, or a name that differs only in case, which may be the same file. All paths are in lower case.
fn is_in_the_way(old: &str, new: &BTreeSet<String>) -> bool {
    let within = format!("{old}/");
    new.contains(old)
        || new.range(within.clone()..).next().is_some_and(|path| path.starts_with(&within))
        || old.match_indices('/').any(|(at, _)| new.contains(&old[..at]))
}

/// Returns a sort key: pages come after the files that they show, pages that others may link to already after new ones, and first
/// pages last, that of the whole site after all others.
fn order(path: &str, own: &BTreeSet<String>) -> impl Ord + use<> {
    let is_page = path.ends_with(".html");
    let is_first = path == "index.html" || path.ends_with("/index.html");
    (is_first, is_first && !path.contains('/'), own.contains(path), is_page)
}

/// Removes a folder that contains nothing but litter.
fn remove_emptied(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let litter: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_litter = |path: &PathBuf| path.file_name().is_some_and(|name| LITTER.iter().any(|it| name == *it));
    if !litter.iter().all(is_litter) {
        return false;
    }
    litter.iter().for_each(|path| drop(fs::remove_file(path)));
    fs::remove_dir(folder).is_ok()
}

/// Writes the built-in template into a folder, without replacing existing files.
///
/// # Errors
///
/// Returns an error if a file exists, or if the file system fails.
pub fn dump_template(dir: &Path) -> Result<(), ReportError> {
    let files: Vec<_> = Templates::built_in().map(|(path, bytes)| (dir.join(path), bytes)).collect();
    if let Some((found, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(ReportError::Foreign { out: dir.to_owned(), found: found.clone() });
    }
    for (path, bytes) in files {
        create_folder(&path)?;
        fs::write(&path, bytes).map_err(failed("write", &path))?;
    }
    Ok(())
}

/// Returns the files of the earlier site in a folder. An error means that the folder contains something else.
fn own_files(out: &Path) -> Result<BTreeSet<String>, ReportError> {
    let marker = out.join(MARKER);
    let foreign = |found: &Path| ReportError::Foreign { out: out.to_owned(), found: found.to_owned() };
    // Reading another kind of file, such as a named pipe, might block forever.
    if fs::symlink_metadata(&marker).is_ok_and(|about| !about.is_file()) {
        return Err(foreign(&marker));
    }
    let listed: BTreeSet<String> = match fs::read_to_string(&marker) {
        Ok(text) => {
            let mut lines = text.lines().map(str::to_owned);
            if lines.next().as_deref() != Some(HEADLINE) {
                return Err(foreign(&marker));
            }
            lines.collect()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
        Err(source) => return Err(failed("read", &marker)(source)),
    };
    let mut own = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(prefix) = folders.pop() {
        let folder = out.join(&prefix);
        for entry in fs::read_dir(&folder).map_err(failed("read", &folder))? {
            let entry = entry.map_err(failed("read", &folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link is foreign regardless of its target, so check the type of the entry itself.
            let kind = entry.file_type().map_err(failed("look at", &entry.path()))?;
            let path = format!("{prefix}{name}");
            let within = format!("{path}/");
            let is_ours = match kind.is_dir() {
                true => listed.range(within.clone()..).next().is_some_and(|it| it.starts_with(&within)),
                false => kind.is_file() && listed.contains(&path),
            };
            let is_top = prefix.is_empty();
            let is_of_network = || OF_NETWORKS.iter().any(|it| name.starts_with(it));
            let is_of_volume = || OF_VOLUMES.contains(&name.as_str()) || name.starts_with(".Trash-");
            let is_tolerated = (LITTER.contains(&name.as_str()) || is_of_network()) && kind.is_file()
                || is_top && is_of_volume() && kind.is_dir()
                || is_top && [MARKER, MANIFEST, LOCK].contains(&name.as_str()) && kind.is_file()
                || is_top && name.starts_with(NEW) && kind.is_dir();
            match kind.is_dir() {
                _ if is_tolerated => {}
                _ if !is_ours => return Err(foreign(&entry.path())),
                true => folders.push(within),
                false => drop(own.insert(path)),
            }
        }
    }
    Ok(own)
}

fn check_path(path: &str) -> Result<(), ReportError> {
    let bad = |reason| Err(ReportError::BadPath { path: path.to_owned(), reason });
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return bad("every part must be a name");
    }
    if path.contains(['\\', ':', '\0', '\n', '\r']) {
        return bad("some systems forbid one of its characters");
    }
    if path.starts_with(MARKER) {
        return bad("it is reserved for this program");
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ReportError + use<> {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}
