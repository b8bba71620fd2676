//! Maps investigations to their folders.
//!
//! A folder named by an id is trusted until it is loaded, unless its work tree contradicts the name (after `cp -r` under
//! another id's name). Such a folder, or one with another name (`git clone … foo`), is read once.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::list;
use crate::domain::SessionId;
use crate::format::layout;

/// Why no folder was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No investigation has that id.
    #[error("investigation `{id}` not found in {root}")]
    NotFound {
        /// The requested id, shortened.
        id: String,
        /// The root that was searched.
        root: PathBuf,
    },
    /// Several investigations match.
    #[error("`{id}` is ambiguous: several investigations match")]
    Ambiguous {
        /// The requested id.
        id: String,
        /// The matches.
        candidates: Vec<SessionId>,
    },
    /// Two folders have the same id.
    #[error("{id} is in two folders: {} and {}", folders[0].display(), folders[1].display())]
    Twice {
        /// The id.
        id: SessionId,
        /// The folders.
        folders: [PathBuf; 2],
    },
}

impl FindError {
    /// Returns the hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        let candidates = match self {
            FindError::Ambiguous { candidates, .. } => candidates,
            FindError::NotFound { id, .. } if id.contains(' ') => {
                return Some("An id has no spaces: a command that takes a text has -m for it".to_owned());
            }
            FindError::NotFound { .. } | FindError::Twice { .. } => return None,
        };
        let ids: Vec<String> = candidates.iter().take(5).map(SessionId::to_string).collect();
        let more = if candidates.len() > ids.len() { " …" } else { "" };
        Some(format!("Matches: {}{more}", ids.join(", ")))
    }
}

/// The ids of the folders, as read from them or from their names.
#[derive(Default)]
pub(super) struct Catalog {
    known: Mutex<HashMap<PathBuf, SessionId>>,
}

impl Catalog {
    /// The folder of an id or a part of it.
    pub(super) fn find(&self, root: &Path, id: &str) -> Result<PathBuf, FindError> {
        let text = id.trim().to_ascii_lowercase();
        let not_found = || FindError::NotFound { id: id.chars().take(80).collect(), root: root.to_owned() };
        // A text that can't be part of an id is not searched for on disk.
        let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !plain || !(1..=36).contains(&text.len()) {
            return Err(not_found());
        }
        let mut found = self.folders(root);
        found.retain(|(id, _)| {
            let id = id.to_string();
            id.starts_with(&text) || id.ends_with(&text)
        });
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

    /// All folders that contain an investigation, by id.
    pub(super) fn folders(&self, root: &Path) -> Vec<(SessionId, PathBuf)> {
        let mut known = self.known();
        let mut folders = Vec::new();
        for path in entries(root).unwrap_or_default() {
            // A folder without an investigation may be a clone in progress: it is read again.
            if let Some(id) = known.get(&path).copied().or_else(|| identify(&path)) {
                known.insert(path.clone(), id);
                folders.push((id, path));
            }
        }
        folders.sort();
        folders
    }

    /// Records the actual id of a folder whose name or earlier contents said another.
    pub(super) fn correct(&self, path: &Path, id: SessionId) {
        self.known().insert(path.to_owned(), id);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, SessionId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries of the root that may be an investigation's folder: all that are not hidden. A symbolic link to a folder
/// is followed: it was made by the operator. A root that does not exist is empty.
pub(super) fn entries(root: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_shown = entry.file_name().to_str().is_some_and(|name| !name.starts_with('.'));
        paths.extend(is_shown.then(|| entry.path()));
    }
    Ok(paths)
}

/// The id in the work tree of a folder, read at a glance: a hint, never acted on without a closer look.
fn says(path: &Path) -> Option<SessionId> {
    /// The id is at the beginning of the file.
    const BEGINNING: u64 = 256;
    let file = path.join(layout::META);
    std::fs::symlink_metadata(&file).ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().find_map(|line| line.strip_prefix("id: "))?.trim().parse().ok()
}

/// The id of the investigation that a folder contains or should contain.
fn identify(path: &Path) -> Option<SessionId> {
    let named: Option<SessionId> = path.file_name()?.to_str()?.parse().ok();
    // A copy under another id's name is recognized by its work tree alone.
    named
        .filter(|id| says(path).is_none_or(|said| said == *id))
        .or_else(|| list::look_at(path, None)?.entry.id)
        .or(named)
}
