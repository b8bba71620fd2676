//! The list of withheld nodes, and files that a person may take for it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{CommittedList, Store, StoreError, io_error, read};
use crate::format::layout;
use crate::format::withheld_file::is_misnamed;

impl Store {
    /// Returns the list of withheld nodes in [`layout::WITHHELD`] at HEAD.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails, or if the path exists but is not a readable file, because ignoring it would
    /// publish everything.
    pub fn withheld(&self, path: &Path) -> Result<CommittedList, StoreError> {
        let git = self.open(path)?;
        let Some(head) = git.head()?.commit else { return Ok(CommittedList::default()) };
        read::withheld(&git, path, head)
    }

    /// Returns a file that a person may take for the list of withheld nodes, although it is not the committed one:
    /// [`layout::WITHHELD`] in the work tree, if it differs, or a file with a similar name in the work tree, one folder
    /// deep, or in the root. A file missing from the work tree does not count as different.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Store::withheld`], and an error if the file system fails.
    pub fn uncommitted_list(&self, path: &Path) -> Result<Option<String>, StoreError> {
        let file = path.join(layout::WITHHELD);
        let differs = match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Ok(about) if !about.is_file() || about.len() > read::FILE_MAX => true,
            Ok(_) => {
                let text = fs::read(&file).map_err(io_error("read", &file))?;
                self.withheld(path)?.text.is_none_or(|committed| committed.as_bytes() != text)
            }
            Err(source) => return Err(io_error("read", &file)(source)),
        };
        if differs {
            return Ok(Some(layout::WITHHELD.to_owned()));
        }
        let path = fs::canonicalize(path).map_err(io_error("read", path))?;
        let folders = entries(&path, "").filter(|(_, kind)| kind.is_dir()).map(|(name, _)| name + "/");
        let folders = folders.chain([String::new(), "../".to_owned()]);
        // Another investigation has a list of its own.
        let mut folders =
            folders.filter(|folder| folder.is_empty() || !path.join(folder).join(layout::META).exists());
        Ok(folders.find_map(|folder| {
            entries(&path.join(&folder), &folder).map(|(path, _)| path).find(|path| is_misnamed(path))
        }))
    }
}

/// Returns the paths of a folder's entries that begin with `prefix`, and their kinds. A folder that can't be read has none.
fn entries(folder: &Path, prefix: &str) -> impl Iterator<Item = (String, fs::FileType)> + use<> {
    let prefix = prefix.to_owned();
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(move |entry| {
        Some((format!("{prefix}{}", entry.file_name().to_str()?), entry.file_type().ok()?))
    })
}
