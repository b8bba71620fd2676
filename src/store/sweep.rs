//! Removes abandoned temporary files and folders that git's own cleanup does not recognize.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// The age at which a temporary file or folder is considered abandoned.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Removes abandoned temporary objects in a git folder. `git gc` does not recognize all of their names.
pub(super) fn objects(git_dir: &Path) {
    // The prefixes used by gix and by an earlier version of this program.
    sweep(&git_dir.join("objects"), &[".tmp", "tmp_obj_tot_"], fs::remove_file);
}

/// Removes the folders of investigations whose creation was interrupted.
pub(super) fn root(root: &Path) {
    sweep(root, &[".tmp-"], fs::remove_dir_all);
}

/// Removes this program's abandoned entries from a folder. Ignores failures because leftovers are harmless.
fn sweep(folder: &Path, prefixes: &[&str], remove: fn(PathBuf) -> io::Result<()>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))) {
            continue;
        }
        // Does not follow symbolic links.
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age >= ABANDONED) {
            let _ = remove(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_what_is_ours_and_abandoned_is_swept() {
        let folder = crate::testing::folder();
        let git_dir = folder.path().join(".git");
        let objects = git_dir.join("objects");
        fs::create_dir_all(&objects).unwrap();
        for name in ["tmp_obj_tot_1_2", ".tmpAb1", ".tmpnew", "tmp_obj_x"] {
            fs::write(objects.join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join(".tmp-0")).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH;
        for name in ["tmp_obj_tot_1_2", ".tmpAb1", "tmp_obj_x"] {
            File::options().write(true).open(objects.join(name)).unwrap().set_modified(long_ago).unwrap();
        }
        // On other systems a folder can't be opened like a file.
        #[cfg(unix)]
        File::open(folder.path().join(".tmp-0")).unwrap().set_modified(long_ago).unwrap();
        super::objects(&git_dir);
        root(folder.path());
        let mut left: Vec<_> = fs::read_dir(objects)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".tmpnew", "tmp_obj_x"]);
        assert_eq!(folder.path().join(".tmp-0").exists(), !cfg!(unix));
    }
}
