//! A temporary checkout of a project commit, for the duration of one command.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::domain::run::ProjectState;
use crate::service::project::Project;
use crate::service::remote::{GitProgram, RemoteError};
use crate::text::{causes, one_line, shorten};

/// The prefix of temporary folder names.
const PREFIX: &str = "tot-rerun-";
/// The name of the work tree in a temporary folder.
const NAME: &str = "tot-rerun";
/// The maximum depth of nested submodules.
const DEPTH: usize = 8;

/// Returns the current state of the project, with the content of the untracked files in `named`.
///
/// # Errors
///
/// Returns an error if git or the file system fails.
pub fn project_state(
    git: &GitProgram,
    project: &Project,
    named: &[String],
) -> Result<ProjectState, Box<dyn std::error::Error>> {
    let folder = TemporaryFolder::new(&std::env::temp_dir(), PREFIX)?;
    Ok(git.project_state(project.root(), &folder.path().join("index"), named)?)
}

/// A project commit in a temporary work tree. Dropping it removes the work tree.
#[derive(Debug)]
#[must_use]
pub struct Workspace<'a> {
    git: &'a GitProgram,
    folder: TemporaryFolder,
    /// The work trees, each with its repository. The first is the project's own.
    worktrees: Vec<(PathBuf, PathBuf)>,
}

impl<'a> Workspace<'a> {
    /// Checks out a commit with its submodules and applies the patch, if given.
    ///
    /// # Errors
    ///
    /// Returns the reason why the workspace can't be created, for people.
    pub fn new(
        git: &'a GitProgram,
        root: &Path,
        commit: &str,
        patch: Option<&str>,
    ) -> Result<Workspace<'a>, String> {
        let failed = |error: RemoteError| one_line(&causes(&error));
        let folder = TemporaryFolder::new(&std::env::temp_dir(), PREFIX)
            .map_err(|error| format!("can't create a temporary folder: {error}"))?;
        let mut workspace = Workspace { git, folder, worktrees: Vec::new() };
        let place = workspace.root();
        workspace.check_out(root, &place, commit, DEPTH)?;
        if let Some(patch) = patch {
            git.apply(&place, patch).map_err(failed)?;
        }
        Ok(workspace)
    }

    /// Returns the root of the work tree.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    fn check_out(&mut self, root: &Path, place: &Path, commit: &str, depth: usize) -> Result<(), String> {
        let failed = |error: RemoteError| one_line(&causes(&error));
        let Some(commit) = self.git.resolve(root, commit).map_err(failed)? else {
            return Err(format!(
                "the commit {} is not in {}",
                shorten(&one_line(commit), 40),
                root.display()
            ));
        };
        self.worktrees.push((root.to_owned(), place.to_owned()));
        self.git.add_worktree(root, place, &commit).map_err(failed)?;
        for (path, commit) in self.git.submodules(root, &commit).map_err(failed)? {
            let source = root.join(&path);
            if !source.join(".git").exists() || depth == 0 {
                return Err(format!("the submodule {} is not checked out here", one_line(&path)));
            }
            self.check_out(&source, &place.join(&path), &commit, depth - 1)?;
        }
        Ok(())
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        for (root, place) in self.worktrees.iter().rev() {
            let _ = fs::remove_dir_all(place);
            let _ = self.git.remove_worktree(root, place);
        }
    }
}

/// Resolves the folder of a run relative to a root. Returns `None` if it does not exist or is outside the root.
pub fn folder_in(root: &Path, folder: Option<&str>) -> Option<PathBuf> {
    let root = fs::canonicalize(root).ok()?;
    let folder = fs::canonicalize(root.join(folder.unwrap_or_default())).ok()?;
    (folder.starts_with(&root) && folder.is_dir()).then_some(folder)
}

/// Removes the folders and git worktree entries left behind by killed processes.
pub fn remove_leftovers(git: &GitProgram, root: &Path) {
    remove_abandoned(&std::env::temp_dir(), PREFIX, &|_| true);
    let is_ours = |place: &&PathBuf| {
        let above = place.parent().and_then(Path::file_name);
        let is_in = above.is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        is_in && place.file_name().is_some_and(|name| name == NAME) && !place.exists()
    };
    for place in git.worktrees(root).unwrap_or_default().iter().filter(is_ours) {
        let _ = git.remove_worktree(root, place);
    }
}
