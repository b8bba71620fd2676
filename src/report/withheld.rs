//! Reads the list of nodes whose text an investigation withholds from publication.

use std::path::Path;

use crate::format::layout::WITHHELD;
use crate::service::withhold::{List, Withheld, WithheldError};
use crate::store::{CommittedList, Snapshot, Store};

/// Reads the list in the newest commit and resolves its entries. The list applies to every state shown.
///
/// # Errors
///
/// Returns an error if the list can't be read, if it names a node that never existed, or if it has uncommitted changes
/// and `ignore_uncommitted` is false.
pub fn withheld(store: &Store, folder: &Path, ignore_uncommitted: bool) -> Result<Withheld, WithheldError> {
    let CommittedList { text, misnamed } = store.withheld(folder)?;
    misnamed.map_or(Ok(()), |path| Err(WithheldError::Misnamed(path)))?;
    if !ignore_uncommitted {
        check_uncommitted(store, folder)?;
    }
    let list = List::read(text.as_deref())?;
    if list.is_empty() {
        return Ok(Withheld::default());
    }
    let snapshot = store.load(folder)?;
    let history = store.history(&snapshot)?;
    match list.clone().follow(&snapshot, &history, &[]) {
        // The entry may name a node from the other side of a merge, whose commits are not in the history.
        Err(WithheldError::Stranger(_)) => {
            let others = history.iter().flat_map(|entry| entry.parents.iter().skip(1));
            let others = others.filter_map(|parent| store.load_at(folder, &parent.to_string()).ok());
            let others: Vec<Snapshot> = others.collect();
            list.follow(&snapshot, &history, &others.iter().collect::<Vec<_>>())
        }
        followed => followed,
    }
}

/// Checks that no uncommitted file is meant as the list of withheld nodes.
///
/// # Errors
///
/// Returns an error if there is such a file, or if it can't be determined.
pub fn check_uncommitted(store: &Store, folder: &Path) -> Result<(), WithheldError> {
    match store.uncommitted_list(folder)? {
        None => Ok(()),
        Some(path) if path == WITHHELD => Err(WithheldError::Uncommitted),
        Some(path) => Err(WithheldError::Misnamed(path)),
    }
}
