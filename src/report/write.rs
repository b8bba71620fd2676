//! Writing a site: aside first, then renamed into place.
//!
//! 1. [`Writing::begin`] looks at the folder, and what an earlier run has left there.
//! 2. It is a [`Target`]: each file is written as it is made, by several threads, and an investigation's files are taken over
//!    from the earlier site.
//! 3. [`Writing::finish`] puts the new site in the place of the old one.
//!
//! # Guarantees
//!
//! - A folder is replaced only if it is empty or if an earlier run wrote every file in it: the marker lists them.
//!   Anything else in it (a `.git`, a `CNAME`) is refused before anything is written.
//! - The old site is removed only after the new one stands in its place; when anything fails before, it stays. A file that
//!   is taken over is the same file in both until then, and nothing writes to it.
//! - A file that was changed after the earlier run is taken over only if its bytes are what was written.
//!
//! # Limits
//!
//! Between two renames there is an instant in which neither stands there. A kill leaves a folder `.NAME.tot-…` beside it, in
//! which the sites are; the next run that ends well removes it. That a file was replaced by one that is older than the site,
//! and as long, is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::parts::{Manifest, Mark, Part};
use super::publish::{Published, Target};
use super::{ReportError, Templates};
use crate::domain::SessionId;
use crate::temporary::{TemporaryFolder, remove_abandoned};

/// The file that marks a folder as written by this program: a line of its own, then the path of each file.
pub const MARKER: &str = ".tot-report";
/// The file that says of what the site was made, for the next run.
pub const MANIFEST: &str = ".tot-report.parts";

const HEADLINE: &str = "Written by tot-report 1. This folder is replaced by its next run.";
/// Files that desktops leave behind in folders they have shown.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// The longest wait for another process that writes the report: several times what a large report takes.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);

/// The file whose lock has who writes the report of an investigation into a folder that several processes write to. A process
/// that dies lets go of it.
///
/// # Errors
///
/// A git repository, where no report belongs; something else in the place of the file; and whatever the file system says.
pub fn lock_file(folder: &Path, id: SessionId) -> io::Result<File> {
    if folder.join(".git").exists() {
        return Err(io::Error::other("it is a git repository"));
    }
    fs::create_dir_all(folder)?;
    let path = folder.join(format!(".tot-report-{id}.lock"));
    // Opening another kind of file, such as a named pipe, might never end; a link may lead anywhere.
    if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
        return Err(io::Error::other(format!("{} is not a file", path.display())));
    }
    File::options().create(true).append(true).open(path)
}

/// Writes the site to `out`, in place of the one that an earlier run wrote there.
///
/// # Errors
///
/// A folder that holds something else, a path that has no place in a folder, and whatever the file system says.
pub fn write(site: &BTreeMap<String, Vec<u8>>, out: &Path) -> Result<(), ReportError> {
    let writing = Writing::begin(out)?;
    let mut published = Published::default();
    for (path, bytes) in site {
        published.rest.insert(path.clone(), writing.put(path, bytes.clone())?);
    }
    writing.finish(&published)
}

/// A site that is being written. Unless it is finished, nothing of it stays.
#[derive(Debug)]
#[must_use]
pub struct Writing {
    out: PathBuf,
    parent: PathBuf,
    /// The prefix of the folders in which sites of this name are written.
    prefix: String,
    /// Holds the new site, and the old one while they change places.
    folder: TemporaryFolder,
    aside: PathBuf,
    /// The earlier site, if there is one.
    earlier: Option<Earlier>,
}

/// The existing site.
#[derive(Debug)]
struct Earlier {
    /// When it was done; absent where nobody knows.
    at: Option<SystemTime>,
    manifest: Option<Manifest>,
}

impl Writing {
    /// Begins a site that will stand at `out`.
    ///
    /// # Errors
    ///
    /// A folder that holds something else, and whatever the file system says.
    pub fn begin(out: &Path) -> Result<Writing, ReportError> {
        let standing = match fs::metadata(out) {
            Ok(about) if !about.is_dir() => return Err(ReportError::NotAFolder { out: out.to_owned() }),
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(source) => return Err(failed("look at", out)(source)),
        };
        // The folder itself is replaced, not a link to it; and `.` has a name only in its full form.
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

    fn is_as_written(&self, path: &str, mark: &Mark) -> bool {
        let file = self.out.join(path);
        let Ok(about) = fs::symlink_metadata(&file) else { return false };
        if !about.is_file() || about.len() != mark.size {
            return false;
        }
        let written = self.earlier.as_ref().and_then(|earlier| earlier.at);
        let is_older = about.modified().ok().zip(written).is_some_and(|(at, written)| at < written);
        is_older || fs::read(&file).is_ok_and(|bytes| Mark::of(&bytes) == *mark)
    }

    /// Puts the site in its place.
    ///
    /// # Errors
    ///
    /// The errors of the file system.
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
        // The last one: what is changed afterwards is newer.
        self.write(MARKER, marker.as_bytes())?;
        let old = self.earlier.is_some().then(|| self.folder.path().join("old"));
        let placed = put_in_place(&self.aside, &self.out, old.as_deref());
        if placed.is_err() && old.is_some_and(|old| old.exists()) {
            // It could not be moved back, and nothing else has it.
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

impl Target for Writing {
    fn earlier(&self, maker: &str) -> &[Part] {
        let manifest = self.earlier.as_ref().and_then(|earlier| earlier.manifest.as_ref());
        manifest.map_or(&[], |manifest| manifest.made_by(maker))
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<Mark, ReportError> {
        check_path(path)?;
        self.write(path, &bytes)?;
        Ok(Mark::of(&bytes))
    }

    fn keep(&self, part: &Part) -> Result<bool, ReportError> {
        // All are looked at before the first is taken.
        if !part.files.iter().all(|(path, mark)| check_path(path).is_ok() && self.is_as_written(path, mark)) {
            return Ok(false);
        }
        for path in part.files.keys() {
            let (from, to) = (self.out.join(path), self.aside.join(path));
            // A hard link, if the file system has them.
            let made = make(&to, || fs::hard_link(&from, &to));
            made.or_else(|_| fs::copy(&from, &to).map(drop)).map_err(failed("reuse", &from))?;
        }
        Ok(true)
    }
}

/// Makes a file, and the folder that it goes into. One that stands in the way is removed, and not written to: it may be one of
/// the earlier site, too.
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

/// Writes the built-in template into a folder, as a start for one's own. A file that is there already is not touched.
///
/// # Errors
///
/// A file that exists, and whatever the file system says.
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

/// Whether nothing is in the folder of a run that was killed but what it has written itself.
fn holds_sites_alone(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    let is_ours = |entry: &io::Result<fs::DirEntry>| {
        entry.as_ref().is_ok_and(|entry| ["lock", "new", "old"].iter().any(|name| entry.file_name() == *name))
    };
    let old = folder.join("old");
    entries.all(|entry| is_ours(&entry)) && (!old.exists() || check_own(&old, &old).is_ok())
}

/// Puts the new site in its place; the one that stands there, if there is one, is moved to `old` before.
fn put_in_place(aside: &Path, out: &Path, old: Option<&Path>) -> Result<(), ReportError> {
    let place = || fs::rename(aside, out).map_err(failed("rename the new site to", out));
    let Some(old) = old else { return place() };
    fs::rename(out, old).map_err(failed("move the old site away from", out))?;
    // What somebody has put there since the run began is not removed.
    check_own(old, out).and_then(|()| place()).map_err(|error| {
        // Back to where it stood: a site that is old is better than none.
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

/// Whether an earlier run wrote everything in the folder, which is `out` to people.
fn check_own(folder: &Path, out: &Path) -> Result<(), ReportError> {
    let marker = folder.join(MARKER);
    // Reading another kind of file, such as a named pipe, might never end.
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
        // A link is foreign whatever it points to: the type is that of the entry itself.
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
        return bad("each part of it must be a name");
    }
    if path.contains(['\\', ':', '\0', '\n', '\r']) {
        return bad("it has a character that not every system allows in names");
    }
    if path == MARKER || path == MANIFEST {
        return bad("it is reserved for the program itself");
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ReportError + use<> {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}
