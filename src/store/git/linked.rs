//! Work trees whose `.git` is a file that leads to a repository in another folder.

use std::fs;
use std::path::{Path, PathBuf};

use gix::config::{File, Source};
use gix::discover::path::{RepositoryKind, from_gitdir_file, from_plain_file, repository_kind};

/// The relation of a work tree to its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkTree {
    /// The main work tree of a repository. The repository may be in another folder.
    Main,
    /// A work tree of `git worktree add`, which `git worktree remove` deletes with all ignored files in it.
    Linked {
        /// The folder of the repository, which all its work trees share.
        repository: PathBuf,
        /// The main work tree, or `None` if the repository is bare or out of reach.
        main: Option<PathBuf>,
    },
    /// A submodule, which `git submodule deinit` deletes with all ignored files in it.
    Submodule,
}

impl WorkTree {
    /// Returns how a folder is connected to its repository, or `None` if it is not the top of a work tree.
    ///
    /// Reads only git's own files, as `git` does without `GIT_DIR`: neither the environment nor the owner matters, nor
    /// whether the repository's format is supported.
    pub fn of(folder: &Path) -> Option<WorkTree> {
        let inner = folder.join(".git");
        let metadata = fs::metadata(&inner).ok()?;
        if metadata.is_dir() {
            // Git passes over a folder without HEAD, which may be a link to a missing branch.
            return fs::symlink_metadata(inner.join("HEAD")).is_ok().then_some(WorkTree::Main);
        }
        // Opening a pipe would block.
        if !metadata.is_file() {
            return None;
        }
        let git_dir = plain(from_gitdir_file(&inner).ok()?);
        let kind = repository_kind(&git_dir);
        Some(match from_plain_file(&git_dir.join("commondir")) {
            Some(Ok(common)) => {
                let repository = plain(git_dir.join(common));
                WorkTree::Linked { main: main_of(&repository), repository }
            }
            _ if kind == Some(RepositoryKind::LinkedWorktree) && !git_dir.exists() => {
                WorkTree::Linked { repository: git_dir, main: None }
            }
            _ if matches!(kind, None | Some(RepositoryKind::Common)) => WorkTree::Main,
            _ => WorkTree::Submodule,
        })
    }

    /// Returns the folder to open instead of a linked work tree, if it is in reach: the main work tree, or the bare
    /// repository.
    pub fn origin(folder: &Path) -> Option<PathBuf> {
        match WorkTree::of(folder)? {
            WorkTree::Linked { repository, main } => {
                Some(main.unwrap_or(repository)).filter(|it| it.exists())
            }
            WorkTree::Main | WorkTree::Submodule => None,
        }
    }

    /// Returns whether a folder in `root` is a linked work tree of a repository in the same root.
    pub fn is_second(root: &Path, folder: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        folder.join(".git").is_file()
            && WorkTree::origin(folder).is_some_and(|origin| origin.parent().and_then(real) == real(root))
    }
}

/// Returns the main work tree of a repository.
fn main_of(repository: &Path) -> Option<PathBuf> {
    let files = ["config.worktree", "config"].map(|name| repository.join(name));
    let files = files.map(|file| File::from_path_no_includes(file, Source::Local).ok());
    let files = || files.iter().flatten();
    if files().find_map(|file| file.boolean("core.bare").ok()?) == Some(true) {
        return None;
    }
    let named = files().find_map(|file| file.string("core.worktree"));
    let main = match named {
        Some(named) => plain(repository.join(gix::path::from_bstr(&named).ok()?)),
        None if repository.file_name()? == ".git" => repository.parent()?.to_owned(),
        None => return None,
    };
    main.is_dir().then_some(main)
}

/// Removes `..` from an absolute path.
fn plain(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    gix::path::normalize(path.as_path().into(), &here).map(|path| path.into_owned()).unwrap_or(path)
}
