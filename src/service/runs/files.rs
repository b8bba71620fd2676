//! The files from outside the project that a command needs, such as a script: laid out in a folder for the run and each
//! rerun.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::workspace::moved;
use crate::base::platform::make_executable;
use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::domain::run::{InputFile, PROJECT, STDIN};

/// The environment variable with the folder.
const VARIABLE: &str = "TOT_FILES";
/// The folder in stored commands and outputs.
pub const PLACE: &str = "$TOT_FILES";
/// The prefix of temporary folder names.
const PREFIX: &str = "tot-files-";
/// The name of the folder within a temporary folder.
const NAME: &str = "files";

/// The files of a run, in a temporary folder.
#[derive(Debug)]
#[must_use]
pub struct LaidOut<'a> {
    files: &'a [InputFile],
    folder: TemporaryFolder,
}

impl<'a> LaidOut<'a> {
    /// Writes the files into a new folder.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if a content is missing or the file system fails.
    pub fn new(
        files: &'a [InputFile],
        content: impl Fn(&InputFile) -> Option<Vec<u8>>,
    ) -> Result<LaidOut<'a>, String> {
        remove_abandoned(&std::env::temp_dir(), PREFIX, &|_| true);
        let failed = |error: io::Error| format!("can't lay out the files of the run: {error}");
        let folder = TemporaryFolder::new(&std::env::temp_dir(), PREFIX).map_err(failed)?;
        let laid_out = LaidOut { files, folder };
        fs::create_dir(laid_out.folder()).map_err(failed)?;
        for file in files {
            let missing = || format!("the content of {} is not stored in the investigation", file.name);
            let content = content(file).ok_or_else(missing)?;
            let write = |path: PathBuf| {
                let mut file = File::create_new(path)?;
                file.write_all(&content)?;
                make_executable(&file)
            };
            write(laid_out.folder().join(file.name.as_str())).map_err(failed)?;
        }
        Ok(laid_out)
    }

    /// Returns the folder.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Returns the file that is the standard input of the command.
    pub fn input(&self) -> Option<PathBuf> {
        let file = self.files.iter().find(|file| file.name.as_str() == STDIN)?;
        Some(self.folder().join(file.name.as_str()))
    }

    /// Returns the environment variable that names the folder.
    pub fn variable(&self) -> (String, Option<String>) {
        (VARIABLE.to_owned(), Some(self.folder().to_string_lossy().into_owned()))
    }

    /// Returns a stored command with the paths of the files.
    pub fn command(&self, words: &[String]) -> Vec<String> {
        let folder = self.folder();
        let laid_out = |word: &String| {
            self.files.iter().fold(word.clone(), |word, file| {
                let path = folder.join(file.name.as_str());
                word.replace(&format!("{PLACE}/{}", file.name), &path.to_string_lossy())
            })
        };
        words.iter().map(laid_out).collect()
    }
}

/// Returns a command to store, in which the paths of the files are those in the folder. Each file is given by the path
/// that the user named. Resolves words as paths.
pub fn stored_command(words: &[String], files: &[(PathBuf, InputFile)]) -> Vec<String> {
    let stored = |word: &String| {
        files.iter().fold(word.clone(), |word, (path, file)| {
            let place = format!("{PLACE}/{}", file.name);
            let Ok(whole) = fs::canonicalize(path) else { return word };
            if fs::canonicalize(&word).is_ok_and(|named| named == whole) {
                return place;
            }
            let names = [path.clone(), std::path::absolute(path).unwrap_or_default(), whole];
            let names = names.iter().map(|it| it.to_string_lossy().into_owned());
            let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            moved(&word, &names, &place, str::is_empty)
        })
    };
    words.iter().map(stored).collect()
}

/// Returns a text to store, in which the project is named so that a rerun finds its own. `names` are the paths of its root.
pub fn stored_project(text: &str, names: &[String]) -> String {
    moved(text, names, PROJECT, |_| true)
}

/// Returns a stored text for the project with this root.
pub fn in_project(text: &str, root: &Path) -> String {
    let mut parts = text.split(PROJECT);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Another variable may begin alike.
        let is_other = part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        result += if is_other { PROJECT.into() } else { root.to_string_lossy() }.as_ref();
        result += part;
    }
    result
}

/// Returns the environment variables that a command names and that are set, except those that each machine sets.
pub fn named_variables(words: &[String]) -> BTreeSet<String> {
    const ANYWHERE: [&str; 16] = [
        "HOME", "HOSTNAME", "LANG", "LOGNAME", "OLDPWD", "PATH", "PPID", "PWD", "SHELL", "SHLVL", "TEMP",
        "TERM", "TMP", "TMPDIR", "USER", VARIABLE,
    ];
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = words.iter().flat_map(|word| word.split('$').skip(1)).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.split(|c| !is_of_name(c)).next().unwrap_or_default()
    });
    let is_set = |name: &&str| !name.is_empty() && std::env::var_os(name).is_some();
    names.filter(|name| !ANYWHERE.contains(name)).filter(is_set).map(str::to_owned).collect()
}

/// Returns the existing files and folders that a command names outside of a folder, except those of the system, in the order
/// in which they are named. A folder ends with `/`.
pub fn named_outside(words: &[String], root: &Path) -> Vec<String> {
    /// Folders whose files other machines have too.
    const SYSTEM: [&str; 12] = [
        "/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/proc", "/sys", "/opt", "/nix", "/System",
        "/Library",
    ];
    let temporary = fs::canonicalize(std::env::temp_dir()).unwrap_or_default();
    let is_end = |c: char| c.is_whitespace() || "\"'`=;,()[]{}<>|&".contains(c);
    let is_path = |part: &&str| Path::new(part).is_absolute() || part.starts_with("..");
    let is_elsewhere = |part: &&str| {
        let Ok(path) = fs::canonicalize(part) else { return false };
        let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
        let is_shared = root.starts_with(&path) || path == temporary || is_system || is_program(&path);
        (path.is_file() || path.is_dir()) && !path.starts_with(root) && !is_shared
    };
    let parts = words.iter().flat_map(|word| word.split(is_end));
    let mut found: Vec<String> = Vec::new();
    for part in parts.filter(is_path).filter(is_elsewhere) {
        let end = if Path::new(part).is_dir() && !part.ends_with('/') { "/" } else { "" };
        let part = format!("{part}{end}");
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

/// Returns whether a file is in a folder of `PATH`.
fn is_program(path: &Path) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&folders).filter_map(|folder| fs::canonicalize(folder).ok());
    folders.any(|folder| path.parent() == Some(&folder))
}
