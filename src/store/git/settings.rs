//! The settings of an investigation's repository, for plain git commands in it.

use std::io::{self, Write as _};
use std::path::Path;

use gix::config::File;
use gix::config::Source::Local;
use gix::lock::acquire::Fail;

use super::Git;

/// The command with which git merges a node or a conclusion that both sides changed. `git merge-file` does what git does by
/// default, and follows if `tot` can't merge the file or is not on the PATH. Git quotes the path (`%P`) itself, and runs the
/// command with `sh`, on Windows too.
pub const MERGE_DRIVER: &str = "tot merge-file %O %A %B %P || git merge-file --marker-size=%L %A %O %B";

/// Each setting with the reason for it.
const SETTINGS: [(&str, &str); 5] = [
    // Rebasing would change the ids of acknowledged commits.
    ("pull.rebase", "false"),
    // A fetch must not delete tags that are not on a remote yet, such as sign-offs.
    ("fetch.pruneTags", "false"),
    // Two files with similar text are no rename. (`merge.renames` has no effect before git 2.50.)
    ("branch.main.mergeOptions", "-Xfind-renames=100%"),
    ("merge.tot.name", "merge by node"),
    ("merge.tot.driver", MERGE_DRIVER),
];

impl Git {
    /// Returns whether the repository has all these settings.
    pub fn is_configured(&self) -> bool {
        missing(&self.git_dir.join("config")).is_ok_and(|(_, missing)| missing.is_empty())
    }
}

type Missing = (File, Vec<(&'static str, &'static str)>);

fn missing(path: &Path) -> io::Result<Missing> {
    let config = File::from_path_no_includes(path.to_owned(), Local).map_err(io::Error::other)?;
    let missing = SETTINGS.into_iter().filter(|(key, _)| config.string(*key).is_none()).collect();
    Ok((config, missing))
}

/// Writes the settings that a repository lacks. Those that a person has changed stay.
pub fn configure(git_dir: &Path) -> io::Result<()> {
    let path = git_dir.join("config");
    if missing(&path)?.1.is_empty() {
        return Ok(());
    }
    // With the lock that git uses, no change to the settings is lost.
    let lock = gix::lock::File::acquire_to_update_resource(&path, Fail::Immediately, None, 0);
    let mut lock = lock.map_err(io::Error::other)?;
    let (mut config, missing) = missing(&path)?;
    for (key, value) in missing {
        config.set_raw_value(key, value).map_err(io::Error::other)?;
    }
    lock.with_mut(|file| file.write_all(&config.to_bstring()))?;
    lock.commit().map(drop).map_err(|error| error.error)
}
