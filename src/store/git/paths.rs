//! Which paths are written, and which names of a stranger's tree are names of files.

use std::collections::HashSet;

use gix::bstr::{BStr, ByteSlice};

use super::GitError;
use super::error::Result;
use super::tree::MAX_DEPTH;
use crate::format::FileChange;

pub(super) fn check_changes(changes: &[FileChange]) -> Result<()> {
    let mut paths = HashSet::with_capacity(changes.len());
    for change in changes {
        check_path(&change.path)?;
        if !paths.insert(change.path.as_str()) {
            let reason = "it is changed twice".to_owned();
            return Err(GitError::InvalidPath { path: change.path.clone(), reason });
        }
    }
    for change in changes.iter().filter(|change| change.content.is_some()) {
        let folders = change.path.match_indices('/').map(|(at, _)| &change.path[..at]);
        if let Some(blocker) = folders.into_iter().find(|folder| paths.contains(folder)) {
            return Err(GitError::PathConflict {
                path: change.path.clone(),
                blocker: blocker.to_owned(),
                is: "a file",
            });
        }
    }
    Ok(())
}

/// Accepts only what every platform's git can check out.
pub(super) fn check_path(path: &str) -> Result<()> {
    let invalid = |reason: String| GitError::InvalidPath { path: path.to_owned(), reason };
    if path.split('/').count() > MAX_DEPTH {
        return Err(invalid(format!("it has more than {MAX_DEPTH} parts")));
    }
    for part in path.split('/') {
        if part.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(invalid("it has a backslash or a control character".to_owned()));
        }
        gix::validate::path::component(BStr::new(part), None, Default::default())
            .map_err(|error| invalid(error.to_string()))?;
    }
    Ok(())
}

/// Whether a name of a stranger's tree can be a file's: not what is only bad on another platform.
pub(super) fn is_safe_name(name: &BStr) -> bool {
    let options = gix::validate::path::component::Options { protect_windows: false, ..Default::default() };
    name.to_str().is_ok()
        && !name.contains(&0)
        && !name.contains(&b'\\')
        && gix::validate::path::component(name, None, options).is_ok()
}
