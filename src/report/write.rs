//! Writes a site: first to a temporary folder, which is then renamed.
//!
//! 1. [`Writing::begin`] examines the folder and the output of an earlier run.
//! 2. As a [`SiteTarget`], it writes each file as soon as it is built, from several threads, and reuses files of the earlier
//!    site.
//! 3. [`Writing::finish`] replaces the old site with the new one.
//!
//! # Guarantees
//!
//! - A folder is replaced only if it is empty, or if an earlier run wrote every file in it. The marker lists these
//!   files. A folder that contains anything else, such as `.git` or `CNAME`, is refused before anything is written.
//! - The old site is removed only after the new one has replaced it. If an error occurs before that, the old site stays
//!   in place. Until then, both sites share the reused files, which are never written to.
//! - A file that was touched after the earlier run is reused only if its bytes are unchanged.
//!
//! # Limitations
//!
//! For a moment between the two renames, neither site is in place. A killed run leaves a folder `.NAME.tot-…`, which
//! contains the sites, next to the output folder. The next successful run removes it. A replacement file is not
//! detected if it has the same size and is older than the site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::parts::{FileMark, Manifest, SitePart};
use super::publish::{Published, SiteTarget};
use super::{ReportError, Templates};
use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::domain::SessionId;

/// The file that marks a folder as written by this program. It contains one line of text, followed by the path of each
/// file.
pub const MARKER: &str = ".tot-report";
/// The file with the inputs of each part, for the next run.
pub const MANIFEST: &str = ".tot-report.parts";

const HEADLINE: &str = "Written by tot-report 1. This folder is replaced by its next run.";
/// Files created by desktop environments.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// The maximum wait for another process that is writing the report. Writing a large report takes a fraction of this time.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);

/// Opens the lock file for writing an investigation's report into a shared folder. If the process dies, its lock is released.
///
/// # Errors
///
/// Returns an error if the folder is a git repository, where no report belongs, if something other than a file exists at the
/// path, or if the file system fails.
pub fn lock_file(folder: &Path, id: SessionId) -> io::Result<File> {
    if folder.join(".git").exists() {
        return Err(io::Error::other("it is a git repository"));
    }
    fs::create_dir_all(folder)?;
    let path = folder.join(format!(".tot-report-{id}.lock"));
    // Opening another kind of file, such as a named pipe, might block forever, and a link may point anywhere.
    if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
        return Err(io::Error::other(format!("{} is not a file", path.display())));
    }
    File::options().create(true).append(true).open(path)
}

/// Writes the site to `out`, replacing the site of an earlier run.
///
/// # Errors
///
/// Returns an error if the folder contains anything else, if a path is not valid in a folder, or if the file system fails.
pub fn write(site: &BTreeMap<String, Vec<u8>>, out: &Path) -> Result<(), ReportError> {
    let writing = Writing::begin(out)?;
    let mut published = Published::default();
    for (path, bytes) in site {
        published.rest.insert(path.clone(), writing.put(path, bytes.clone())?);
    }
    writing.finish(&published)
}

/// A site being written. It is removed unless it is finished.
#[derive(Debug)]
#[must_use]
pub struct Writing {
    out: PathBuf,
    parent: PathBuf,
    /// The prefix of the temporary folders for sites with this name.
    prefix: String,
    /// The folder that contains the new site and, during the exchange, the old one.
    folder: TemporaryFolder,
    aside: PathBuf,
    /// The earlier site, if there is one.
    earlier: Option<Earlier>,
}

/// An existing site.
#[derive(Debug)]
struct Earlier {
    /// The time at which the earlier site was completed, if known.
    at: Option<SystemTime>,
    manifest: Option<Manifest>,
}

impl Writing {
    /// Begins writing a site to `out`.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder contains anything else, or if the file system fails.
    pub fn begin(out: &Path) -> Result<Writing, ReportError> {
        let standing = match fs::metadata(out) {
            Ok(about) if !about.is_dir() => return Err(ReportError::NotAFolder { out: out.to_owned() }),
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(source) => return Err(failed("look at", out)(source)),
        };
        // Replace the folder itself rather than a link to it. `.` has a name only in its absolute form.
        let out =
            if standing { fs::canonicalize(out).map_err(failed("look at", out))? } else { out.to_owned() };
        if standing {
            check_own(&out, &out)?;
        }
        let no_parent = || ReportError::NoParent { out: out.clone() };
        let name = out.file_name().ok_or_else(no_parent)?.to_string_lossy().into_owned();
        let parent = match out.parent().ok_or_else(no_parent)? {
            here if here.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        fs::create_dir_all(parent).map_err(failed("create", parent))?;
        let earlier = standing.then(|| Earlier {
            at: fs::symlink_metadata(out.join(MARKER)).and_then(|about| about.modified()).ok(),
            manifest: fs::read(out.join(MANIFEST)).ok().and_then(|bytes| Manifest::of_bytes(&bytes)),
        });
        let prefix = format!(".{name}.tot-");
        let folder = TemporaryFolder::new(parent, &prefix).map_err(failed("create a folder in", parent))?;
        let aside = folder.path().join("new");
        fs::create_dir(&aside).map_err(failed("create", &aside))?;
        Ok(Writing { parent: parent.to_owned(), prefix, folder, aside, earlier, out })
    }

    fn is_as_written(&self, path: &str, mark: &FileMark) -> bool {
        let file = self.out.join(path);
        let Ok(about) = fs::symlink_metadata(&file) else { return false };
        if !about.is_file() || about.len() != mark.size {
            return false;
        }
        let written = self.earlier.as_ref().and_then(|earlier| earlier.at);
        let is_older = about.modified().ok().zip(written).is_some_and(|(at, written)| at < written);
        is_older || fs::read(&file).is_ok_and(|bytes| FileMark::of(&bytes) == *mark)
    }

    /// Moves the site into place.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails.
    pub fn finish(self, published: &Published) -> Result<(), ReportError> {
        let mut paths: BTreeSet<String> = published.rest.keys().cloned().collect();
        paths.extend(published.parts.iter().flat_map(|part| part.files.keys().cloned()));
        if let Some(mut manifest) = published.manifest() {
            manifest.parts.retain(|part| part.is_lasting);
            let manifest = manifest.to_bytes();
            let manifest =
                manifest.map_err(|source| ReportError::Json { path: MANIFEST.to_owned(), source })?;
            self.write(MANIFEST, &manifest)?;
            paths.insert(MANIFEST.to_owned());
        }
        let mut marker = format!("{HEADLINE}\n");
        for path in paths {
            marker.push_str(&path);
            marker.push('\n');
        }
        // Write the marker last, so any file changed later is newer.
        self.write(MARKER, marker.as_bytes())?;
        let old = self.earlier.is_some().then(|| self.folder.path().join("old"));
        let placed = put_in_place(&self.aside, &self.out, old.as_deref());
        if placed.is_err() && old.is_some_and(|old| old.exists()) {
            // The old site could not be moved back, so this is the only copy.
            self.folder.keep();
        }
        placed?;
        remove_abandoned(&self.parent, &self.prefix, &holds_sites_alone);
        Ok(())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let file = self.aside.join(path);
        let write = || OpenOptions::new().write(true).create_new(true).open(&file)?.write_all(bytes);
        make(&file, write).map_err(failed("write", &file))
    }
}

impl SiteTarget for Writing {
    fn earlier(&self, maker: &str) -> &[SitePart] {
        let manifest = self.earlier.as_ref().and_then(|earlier| earlier.manifest.as_ref());
        manifest.map_or(&[], |manifest| manifest.made_by(maker))
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<FileMark, ReportError> {
        check_path(path)?;
        self.write(path, &bytes)?;
        Ok(FileMark::of(&bytes))
    }

    fn keep(&self, part: &SitePart) -> Result<bool, ReportError> {
        // Check all files before reusing the first.
        if !part.files.iter().all(|(path, mark)| check_path(path).is_ok() && self.is_as_written(path, mark)) {
            return Ok(false);
        }
        for path in part.files.keys() {
            let (from, to) = (self.out.join(path), self.aside.join(path));
            // Use a hard link if the file system supports it.
            let made = make(&to, || fs::hard_link(&from, &to));
            made.or_else(|_| fs::copy(&from, &to).map(drop)).map_err(failed("reuse", &from))?;
        }
        Ok(true)
    }
}

/// Creates a file and its folder. An existing file is removed rather than overwritten, since the earlier site may share it.
fn make(file: &Path, make: impl Fn() -> io::Result<()>) -> io::Result<()> {
    match (make(), file.parent()) {
        (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            make()
        }
        (Err(error), _) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(file)?;
            make()
        }
        (made, _) => made,
    }
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
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed("create", parent))?;
        }
        fs::write(&path, bytes).map_err(failed("write", &path))?;
    }
    Ok(())
}

/// Returns true if the folder of a killed run contains only files written by that run.
fn holds_sites_alone(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    let is_ours = |entry: &io::Result<fs::DirEntry>| {
        entry.as_ref().is_ok_and(|entry| ["lock", "new", "old"].iter().any(|name| entry.file_name() == *name))
    };
    let old = folder.join("old");
    entries.all(|entry| is_ours(&entry)) && (!old.exists() || check_own(&old, &old).is_ok())
}

/// Moves an existing site to `old`, then moves the new site into place.
fn put_in_place(aside: &Path, out: &Path, old: Option<&Path>) -> Result<(), ReportError> {
    let place = || fs::rename(aside, out).map_err(failed("rename the new site to", out));
    let Some(old) = old else { return place() };
    fs::rename(out, old).map_err(failed("move the old site away from", out))?;
    // Files added since the run began are not removed.
    check_own(old, out).and_then(|()| place()).map_err(|error| {
        // Move the old site back, since it is better than none.
        let _ = fs::rename(old, out);
        match error {
            ReportError::Foreign { out, found } => {
                let found = found.strip_prefix(old).map(|within| out.join(within)).unwrap_or(found.clone());
                ReportError::Foreign { out, found }
            }
            error => error,
        }
    })
}

/// Checks that everything in the folder was written by an earlier run. Error messages refer to the folder as `out`.
fn check_own(folder: &Path, out: &Path) -> Result<(), ReportError> {
    let marker = folder.join(MARKER);
    // Reading another kind of file, such as a named pipe, might block forever.
    let is_file = fs::symlink_metadata(&marker).map(|about| about.is_file()).unwrap_or(true);
    if !is_file {
        return Err(ReportError::Foreign { out: out.to_owned(), found: marker });
    }
    let own: BTreeSet<String> = match fs::read_to_string(&marker) {
        Ok(text) => {
            let mut lines = text.lines().map(str::to_owned);
            match lines.next() {
                Some(first) if first == HEADLINE => lines.chain([MARKER.to_owned()]).collect(),
                _ => return Err(ReportError::Foreign { out: out.to_owned(), found: marker }),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
        Err(source) => return Err(failed("read", &marker)(source)),
    };
    check_folder(out, folder, "", &own)
}

fn check_folder(out: &Path, folder: &Path, prefix: &str, own: &BTreeSet<String>) -> Result<(), ReportError> {
    for entry in fs::read_dir(folder).map_err(failed("read", folder))? {
        let entry = entry.map_err(failed("read", folder))?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link is foreign regardless of its target, so check the type of the entry itself.
        let kind = entry.file_type().map_err(failed("look at", &path))?;
        let within = format!("{prefix}{name}");
        if kind.is_dir()
            && own.range(format!("{within}/")..).next().is_some_and(|p| p.starts_with(&format!("{within}/")))
        {
            check_folder(out, &path, &format!("{within}/"), own)?;
        } else if !(kind.is_file() && (own.contains(&within) || LITTER.contains(&name.as_str()))) {
            return Err(ReportError::Foreign { out: out.to_owned(), found: path });
        }
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), ReportError> {
    let bad = |reason| Err(ReportError::BadPath { path: path.to_owned(), reason });
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return bad("every part must be a name");
    }
    if path.contains(['\\', ':', '\0', '\n', '\r']) {
        return bad("some systems forbid one of its characters");
    }
    if path == MARKER || path == MANIFEST {
        return bad("it is reserved for this program");
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ReportError + use<> {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}
