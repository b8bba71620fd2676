//! Clones a hub's investigations into a temporary folder for one run.

use std::env;

use super::sync::shown;
use super::{CommandResult, Progress, is_person};
use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::report::UnreadableInvestigation;
use crate::service::remote::GitProgram;
use crate::service::sync::clone::clone;
use crate::store::Store;
use crate::text::one_line;

/// The prefix of temporary folder names.
const PREFIX: &str = "tot-hub-";

/// A hub's clones, which are removed on drop.
pub(super) struct Hub {
    /// The folder with the clones.
    pub folder: TemporaryFolder,
    /// The investigations that could not be cloned.
    pub failed: Vec<UnreadableInvestigation>,
}

impl Hub {
    /// Clones all investigations at the address.
    pub(super) fn clone(address: &str, progress: &Progress) -> CommandResult<Hub> {
        let git = GitProgram::find(is_person())?;
        let temporary = env::temp_dir();
        remove_abandoned(&temporary, PREFIX, &|_| true);
        let folder = TemporaryFolder::new(&temporary, PREFIX)
            .map_err(|error| format!("can't create a folder in {}: {error}", temporary.display()))?;
        let mut hub = Hub { folder, failed: Vec::new() };
        let store = Store::new(hub.folder.path());
        let cloned = clone(&store, &git, address, &[], &|what| progress.count(|| what.to_owned()));
        for one in cloned.map_err(|error| shown(&error))? {
            if let Err(error) = one.outcome {
                // A site must not reveal anything about the machine that built it.
                let reason = error.to_string().replace(&hub.folder.path().display().to_string(), "the hub");
                hub.failed
                    .push(UnreadableInvestigation { name: one_line(&one.branch), reason: one_line(&reason) });
            }
        }
        Ok(hub)
    }
}
