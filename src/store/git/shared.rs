//! What a repository's settings and references say of sharing and upkeep, without git and without the network.

use std::fs;

use super::{CommitId, Git};

/// When git tidies up by itself, where the settings say nothing: so many loose objects, so many packs.
const LOOSE: i64 = 6_700;
const PACKS: i64 = 50;
/// Into how many folders git puts loose objects; it counts those of one of them, as we do.
const FOLDERS: i64 = 256;
const COUNTED: &str = "17";

/// The remote that a branch is synced with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its address, as it is configured: with a password where that has one.
    pub address: String,
    /// How many commits are here and not there, and there and not here, by what was last seen of it. Absent where it
    /// was never seen, and where the history can't be read.
    pub apart: Option<(usize, usize)>,
}

impl Git {
    /// The remote that the branch, by its full name, is synced with; `commit` is what the branch is at.
    pub fn upstream(&self, branch: &str, commit: CommitId) -> Option<Upstream> {
        let config = self.repository.config_snapshot();
        let branch = branch.strip_prefix("refs/heads/")?;
        let remote = config.string(format!("branch.{branch}.remote").as_str())?;
        let address = config.string(format!("remote.{remote}.url").as_str())?;
        let seen = self.resolve(&format!("refs/remotes/{remote}/{branch}")).ok().flatten();
        let apart = seen.and_then(|seen| self.apart(commit, seen).ok());
        Some(Upstream { address: address.to_string(), apart })
    }

    /// Whether git's own maintenance would find something to do, by git's own estimate, and the user has not switched it off.
    pub fn wants_upkeep(&self) -> bool {
        let config = self.repository.config_snapshot();
        let most = |key, default| config.integer(key).unwrap_or(default);
        let (loose, packs) = (most("gc.auto", LOOSE), most("gc.autoPackLimit", PACKS));
        if loose <= 0 || config.boolean("maintenance.auto") == Some(false) {
            return false;
        }
        let objects = self.git_dir.join("objects");
        let count = |folder: &str, ending: &str| -> i64 {
            let entries = fs::read_dir(objects.join(folder)).into_iter().flatten().flatten();
            let named = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
            i64::try_from(named.count()).unwrap_or(i64::MAX)
        };
        // Rounded up, as git does.
        let loose_of_folder = loose.saturating_add(FOLDERS - 1) / FOLDERS;
        count(COUNTED, "") > loose_of_folder || (packs > 0 && count("pack", ".pack") > packs)
    }
}
