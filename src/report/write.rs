//! Writing a site: aside first, then renamed into place.
//!
//! # Guarantees
//!
//! - A folder is replaced only if it is empty or if an earlier run wrote every file in it: the marker lists them.
//!   Anything else in it (a `.git`, a `CNAME`) is refused before anything is written.
//! - The old site is removed only after the new one stands in its place; when anything fails before, it stays.
//!
//! # Limits
//!
//! Between two renames there is an instant in which neither stands there. A kill may leave a folder
//! `.NAME.tot-new-…` or `.NAME.tot-old-…` beside it, which can be deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{ReportError, Templates};

/// The file that marks a folder as written by this program: a line of its own, then the path of each file.
pub const MARKER: &str = ".tot-report";

const HEADLINE: &str = "Written by tot-report 1. This folder is replaced by its next run.";
/// Files that desktops leave behind in folders they have shown.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// Writes the site to `out`, in place of the one that an earlier run wrote there.
///
/// # Errors
///
/// A folder that holds something else, a path that has no place in a folder, and whatever the file system says.
pub fn write(site: &BTreeMap<String, Vec<u8>>, out: &Path) -> Result<(), ReportError> {
    check_paths(site)?;
    let standing = match fs::metadata(out) {
        Ok(about) if !about.is_dir() => return Err(ReportError::NotAFolder { out: out.to_owned() }),
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(source) => return Err(failed("look at", out)(source)),
    };
    // The folder itself is replaced, not a link to it; and `.` has a name only in its full form.
    let out = if standing { fs::canonicalize(out).map_err(failed("look at", out))? } else { out.to_owned() };
    if standing {
        check_own(&out)?;
    }
    let no_parent = || ReportError::NoParent { out: out.clone() };
    let name = out.file_name().ok_or_else(no_parent)?.to_string_lossy().into_owned();
    let parent = match out.parent().ok_or_else(no_parent)? {
        here if here.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    fs::create_dir_all(parent).map_err(failed("create", parent))?;
    let aside = fresh_folder(parent, &format!(".{name}.tot-new"))?;
    let result = fill(site, &aside).and_then(|()| put_in_place(&aside, &out, parent, &name, standing));
    if result.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_dir_all(&aside);
    }
    result
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

fn fill(site: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<(), ReportError> {
    let mut marker = format!("{HEADLINE}\n");
    for path in site.keys() {
        marker.push_str(path);
        marker.push('\n');
    }
    let mut known = BTreeSet::new();
    for (path, bytes) in site
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .chain([(MARKER, marker.as_bytes())])
    {
        let file = folder.join(path);
        if let Some(parent) = file.parent().filter(|parent| known.insert(parent.to_path_buf())) {
            fs::create_dir_all(parent).map_err(failed("create", parent))?;
        }
        fs::write(&file, bytes).map_err(failed("write", &file))?;
    }
    Ok(())
}

fn put_in_place(
    aside: &Path,
    out: &Path,
    parent: &Path,
    name: &str,
    standing: bool,
) -> Result<(), ReportError> {
    if !standing {
        return fs::rename(aside, out).map_err(failed("rename the new site to", out));
    }
    let old = fresh_folder(parent, &format!(".{name}.tot-old"))?;
    let old_site = old.join("site");
    if let Err(source) = fs::rename(out, &old_site) {
        let _ = fs::remove_dir(&old);
        return Err(failed("move the old site away from", out)(source));
    }
    if let Err(source) = fs::rename(aside, out) {
        // Back to where it stood: a site that is old is better than none.
        let _ = fs::rename(&old_site, out);
        let _ = fs::remove_dir(&old);
        return Err(failed("rename the new site to", out)(source));
    }
    fs::remove_dir_all(&old).map_err(failed("remove the old site in", &old))
}

/// A new, empty folder beside the output. Its name says whose it is, so that two runs do not meet.
fn fresh_folder(parent: &Path, name: &str) -> Result<PathBuf, ReportError> {
    let mut number = 0;
    loop {
        let folder = parent.join(format!("{name}-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 100 => number += 1,
            Err(source) => return Err(failed("create", &folder)(source)),
        }
    }
}

/// Whether an earlier run wrote everything in the folder.
fn check_own(out: &Path) -> Result<(), ReportError> {
    let marker = out.join(MARKER);
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
    check_folder(out, out, "", &own)
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

fn check_paths(site: &BTreeMap<String, Vec<u8>>) -> Result<(), ReportError> {
    for path in site.keys() {
        let bad = |reason| Err(ReportError::BadPath { path: path.clone(), reason });
        if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
            return bad("each part of it must be a name");
        }
        if path.contains(['\\', ':', '\0', '\n', '\r']) {
            return bad("it holds a character that not every system has in names");
        }
        if path == MARKER {
            return bad("it is the file that marks the folder");
        }
    }
    Ok(())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ReportError + use<> {
    let path = path.to_owned();
    move |source| ReportError::Io { action, path, source }
}
