//! Maps investigation ids to folders.
//!
//! A folder name that is an id is trusted until the folder is loaded. The folder is opened if its name is not an id
//! (`git clone … foo`) or if its work tree contradicts the name (`cp -r`).

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::git::WorkTree;
use super::{Store, list};
use crate::domain::SessionId;
use crate::format::layout;

/// The reason why a folder was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No investigation has this id.
    #[error("investigation `{id}` not found in {root}")]
    NotFound {
        /// The requested id, shortened.
        id: String,
        /// The searched root.
        root: PathBuf,
    },
    /// Several investigations match.
    #[error("`{id}` is ambiguous: several investigations match")]
    Ambiguous {
        /// The requested id.
        id: String,
        /// The matching ids.
        candidates: Vec<SessionId>,
    },
    /// Two folders contain the same investigation.
    #[error("{id} is in two folders: {} and {}", folders[0].display(), folders[1].display())]
    Twice {
        /// The shared id.
        id: SessionId,
        /// The two folders with this id.
        folders: [PathBuf; 2],
    },
    /// The root was removed while this program was running.
    #[error(transparent)]
    RootRemoved(#[from] RootRemoved),
}

/// The root was removed while this program was running.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the investigations folder {} was removed, with everything in it", .0.display())]
pub struct RootRemoved(pub PathBuf);

impl RootRemoved {
    /// What a person can do.
    pub const HINT: &str = "Restore it from a copy or from the remote of each investigation. To begin anew, create the \
                            folder, or name another with --root DIR or TOT_ROOT";
}

impl FindError {
    /// Returns a hint on how to fix the error, if there is one.
    pub fn hint(&self) -> Option<String> {
        let candidates = match self {
            FindError::Ambiguous { candidates, .. } => candidates,
            FindError::RootRemoved(_) => return Some(RootRemoved::HINT.to_owned()),
            FindError::NotFound { .. } | FindError::Twice { .. } => return None,
        };
        let ids: Vec<String> = candidates.iter().take(5).map(SessionId::to_string).collect();
        let more = if candidates.len() > ids.len() { " …" } else { "" };
        Some(format!("Matches: {}{more}", ids.join(", ")))
    }
}

impl Store {
    /// Returns the folder of the investigation with this id, or of the only investigation whose id starts or ends with
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an error if no investigation or more than one matches, or if two folders have the same id.
    pub fn find(&self, id: &str) -> Result<PathBuf, FindError> {
        let text = SessionId::part(id);
        let not_found = || FindError::NotFound { id: id.chars().take(80).collect(), root: self.root.clone() };
        // Don't list the root if the text can't be part of an id.
        let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !plain || !(1..=36).contains(&text.len()) {
            return Err(not_found());
        }
        let mut found = self.identified();
        self.is_root_there()?;
        found.retain(|(id, _)| id.matches(&text));
        let mut ids: Vec<SessionId> = found.iter().map(|(id, _)| *id).collect();
        ids.dedup();
        match (ids.as_slice(), found.as_slice()) {
            ([], _) | (_, []) => Err(not_found()),
            ([_], [(_, path)]) => Ok(path.clone()),
            ([id], [(_, first), (_, second), ..]) => {
                Err(FindError::Twice { id: *id, folders: [first.clone(), second.clone()] })
            }
            (several, _) => Err(FindError::Ambiguous { id: text, candidates: several.to_vec() }),
        }
    }

    /// Returns all folders that contain an investigation, sorted by id.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.identified().into_iter().map(|(_, path)| path).collect()
    }

    /// Returns an error if the root was removed while this program was running, which is not the same as an empty root.
    pub(super) fn is_root_there(&self) -> Result<(), RootRemoved> {
        let is_there = self.root.is_dir();
        let was_there = self.was_there.fetch_or(is_there, Ordering::Relaxed);
        match is_there || !was_there {
            true => Ok(()),
            false => Err(RootRemoved(std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone()))),
        }
    }

    /// Returns the ids of all investigations in the root, with their folders. Ids are remembered, so this is cheaper than
    /// [`Store::list`].
    pub fn identified(&self) -> Vec<(SessionId, PathBuf)> {
        let mut folders = Vec::new();
        for path in entries(&self.root).unwrap_or_default() {
            let id = self.known(&path, |known| {
                // A folder without an investigation may be a clone in progress, so a missing id is not cached.
                known.id = known.id.or_else(|| identify(&path));
                known.id
            });
            folders.extend(id.map(|id| (id, path)));
        }
        folders.sort();
        folders
    }
}

/// Returns the entries of the root that may contain an investigation, which are all entries that are not hidden.
/// Symbolic links are followed because the operator created them. Linked work trees of an investigation in the same root
/// are left out. A missing root is treated as empty.
pub(super) fn entries(root: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_shown = entry.file_name().to_str().is_some_and(|name| !name.starts_with('.'));
        paths.extend(is_shown.then(|| entry.path()).filter(|path| !WorkTree::is_second(root, path)));
    }
    Ok(paths)
}

/// Returns the investigation id in a folder's work tree. The file may have been edited, so the id is only a hint.
fn id_in_work_tree(path: &Path) -> Option<SessionId> {
    /// The number of bytes to read, enough to contain the id.
    const BEGINNING: u64 = 256;
    let file = path.join(layout::META);
    std::fs::symlink_metadata(&file).ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().find_map(|line| line.strip_prefix("id: "))?.trim().parse().ok()
}

/// Returns the id of the investigation in a folder, falling back to the id in the folder name.
fn identify(path: &Path) -> Option<SessionId> {
    let named: Option<SessionId> = path.file_name()?.to_str()?.parse().ok();
    // A copy whose folder is named after another id is recognized by its work tree.
    named
        .filter(|id| id_in_work_tree(path).is_none_or(|said| said == *id))
        .or_else(|| list::read_folder(path)?.entry.id)
        .or(named)
}
