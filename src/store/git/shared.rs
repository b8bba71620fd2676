//! Remote and maintenance status, read from settings and references without running git or using the network.

use std::fs;

use super::{CommitId, Git};

/// Git's default limits for automatic maintenance: the number of loose objects and the number of packs.
const LOOSE: i64 = 6_700;
const PACKS: i64 = 50;
/// The number of folders for loose objects. Like git, we count the objects in one of them.
const FOLDERS: i64 = 256;
const COUNTED: &str = "17";

/// The remote that a branch tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedRemote {
    /// The configured address, including any password.
    pub address: String,
    /// The number of commits ahead and behind, as of the last fetch, or `None` if the remote was never fetched or the
    /// history is unreadable.
    pub apart: Option<(usize, usize)>,
}

impl Git {
    /// Returns the remote that a branch tracks. `branch` is the branch's full name, and `commit` is the commit it
    /// points to.
    pub fn upstream(&self, branch: &str, commit: CommitId) -> Option<TrackedRemote> {
        let config = self.repository.config_snapshot();
        let remote_of = |branch: &str| config.string(format!("branch.{branch}.remote").as_str());
        let branch = branch.strip_prefix("refs/heads/")?;
        // Another branch is not synced, and the outcome of the last sync says so.
        let remote = remote_of(branch).or_else(|| remote_of("main"))?;
        let address = config.string(format!("remote.{remote}.url").as_str())?;
        let seen = self.resolve(&format!("refs/remotes/{remote}/{branch}")).ok().flatten();
        let beyond = |base, tip| self.count_beyond(Some(base), tip).ok();
        let apart = seen.and_then(|seen| Some((beyond(seen, commit)?, beyond(commit, seen)?)));
        Some(TrackedRemote { address: address.to_string(), apart })
    }

    /// Returns whether git's automatic maintenance is enabled and has work to do, according to git's own estimate.
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
        // Rounded up, as in git.
        let loose_of_folder = loose.saturating_add(FOLDERS - 1) / FOLDERS;
        count(COUNTED, "") > loose_of_folder || (packs > 0 && count("pack", ".pack") > packs)
    }
}
