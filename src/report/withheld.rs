//! The texts that the list in an investigation withholds from everything published.

use std::path::Path;

use crate::store::{Snapshot, Store};
use crate::withhold::{List, Withheld, WithheldError};

/// Reads the list of the newest commit, and follows what it names; whichever state is shown, this list holds for it.
///
/// # Errors
///
/// A list that can't be read, or that names what was never a node. One that is not committed as it is in the work tree, unless
/// that is to be ignored.
pub fn withheld(store: &Store, folder: &Path, ignore_uncommitted: bool) -> Result<Withheld, WithheldError> {
    let text = store.withheld(folder)?;
    if !ignore_uncommitted && store.has_uncommitted_list(folder)? {
        return Err(WithheldError::Uncommitted);
    }
    let list = List::read(text.as_deref())?;
    if list.is_empty() {
        return Ok(Withheld::default());
    }
    let snapshot = store.load(folder)?;
    let history = store.history(&snapshot)?;
    match list.clone().follow(&snapshot, &history, &[]) {
        // It may have been a node on the other side of a merge, whose commits are not in the history.
        Err(WithheldError::Stranger(_)) => {
            let others = history.iter().flat_map(|entry| entry.parents.iter().skip(1));
            let others = others.filter_map(|parent| store.load_at(folder, &parent.to_string()).ok());
            let others: Vec<Snapshot> = others.collect();
            list.follow(&snapshot, &history, &others.iter().collect::<Vec<_>>())
        }
        followed => followed,
    }
}
