//! The state of a project, and its additional work trees. The project's branches, index and files stay unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use super::process::GitCall;
use super::{GitProgram, RemoteError, Result};
use crate::domain::run::ProjectState;

/// The maximum size of a patch, and of the untracked files in it, in bytes.
const PATCH_MAX: usize = 64 << 10;
const UNTRACKED_MAX: u64 = 1 << 20;
/// The maximum number of files to list.
const CHANGED_MAX: usize = 1_000;

impl GitProgram {
    /// Returns the state of the project at `root`: its commit, the changed files, and their patch. `index` is the path
    /// for a new file with a separate index.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn project_state(&self, root: &Path, index: &Path) -> Result<ProjectState> {
        let commit = self.resolve(root, "HEAD")?;
        // Without optional locks, git does not write the index.
        let status =
            ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let status = self.here(root, &status)?.succeeded()?.text();
        // A path that ends with a slash is a separate repository, such as an investigation.
        let entries = || {
            status
                .split('\0')
                .filter_map(|entry| entry.split_at_checked(3))
                .filter(|(_, path)| !path.ends_with('/'))
        };
        let changed: Vec<String> = entries().map(|(_, path)| path.to_owned()).take(CHANGED_MAX).collect();
        let untracked: Vec<&str> =
            entries().filter(|(state, _)| *state == "?? ").map(|(_, path)| path).collect();
        let bytes = |path: &&str| fs::symlink_metadata(root.join(path)).map_or(0, |file| file.len());
        let is_whole = entries().count() == changed.len()
            && untracked.iter().map(bytes).sum::<u64>() <= UNTRACKED_MAX
            // A patch cannot contain files from another repository.
            && !changed.iter().any(|path| root.join(path).is_dir());
        let patch = match commit.is_some() && is_whole && !changed.is_empty() {
            true => self.patch(root, index, &untracked)?,
            false => None,
        };
        Ok(ProjectState { commit, changed, patch })
    }

    /// Returns the patch from the commit to the current files, or `None` if the patch is too long or not text.
    fn patch(&self, root: &Path, index: &Path, untracked: &[&str]) -> Result<Option<String>> {
        let own = self.here(root, &["rev-parse", "--git-path", "index"])?.succeeded()?.text();
        let own = root.join(own.trim_end_matches('\n'));
        let aside = || GitCall { index: Some(index), ..GitCall::default() };
        // A copy of the index contains the timestamps that let git skip unchanged files. No index exists before the
        // first `git add`.
        if own.exists() {
            // The index's own timestamp matters too, since git rereads newer files.
            let copied = fs::copy(&own, index).and_then(|_| {
                fs::File::options().write(true).open(index)?.set_modified(own.metadata()?.modified()?)
            });
            copied.map_err(|source| RemoteError::Io { action: format!("copy {}", own.display()), source })?;
        }
        if !untracked.is_empty() {
            let add = ["--literal-pathspecs", "add", "-N", "--pathspec-from-file=-", "--pathspec-file-nul"];
            let input = Some(untracked.join("\0").into_bytes());
            self.run(root, &add, GitCall { input, ..aside() })?.succeeded()?;
        }
        let diff = [
            "--no-optional-locks",
            "-c",
            "diff.noprefix=false",
            "-c",
            "diff.mnemonicPrefix=false",
            "diff",
            "--binary",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "HEAD",
        ];
        match self.run(root, &diff, GitCall { most: Some(PATCH_MAX), ..aside() }) {
            Err(RemoteError::TooMuch { .. }) => Ok(None),
            ran => Ok(String::from_utf8(ran?.succeeded()?.output).ok().filter(|patch| !patch.is_empty())),
        }
    }

    /// Returns the commit with the given name, or `None` if unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn resolve(&self, root: &Path, name: &str) -> Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let ran = self.here(root, &arguments)?;
        Ok((ran.status == Some(0)).then(|| ran.text().trim().to_owned()))
    }

    /// Checks out a commit into a missing or empty folder. Configured filters are not run.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn add_worktree(&self, root: &Path, folder: &Path, commit: &str) -> Result<()> {
        let names = ["config", "--name-only", "--get-regexp", r"^filter\..*\.(smudge|process|required)$"];
        let names = self.here(root, &names)?.text();
        let off =
            names.lines().map(|name| format!("{name}={}", if name.ends_with("d") { "false" } else { "" }));
        let off: Vec<String> = off.flat_map(|setting| ["-c".to_owned(), setting]).collect();
        let folder = folder.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "--detach", "--force", &folder, commit];
        let arguments: Vec<&str> = off.iter().map(String::as_str).chain(add).collect();
        let call = GitCall { what: "git worktree add", ..GitCall::default() };
        self.run(root, &arguments, call)?.succeeded().map(drop)
    }

    /// Unregisters a work tree. Its folder may be missing.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn remove_worktree(&self, root: &Path, folder: &Path) -> Result<()> {
        let folder = folder.to_string_lossy();
        self.here(root, &["worktree", "remove", "--force", "--force", &folder])?.succeeded().map(drop)
    }

    /// Returns the folders of all registered work trees. Some may be missing.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn worktrees(&self, root: &Path) -> Result<Vec<PathBuf>> {
        let listed = self.here(root, &["worktree", "list", "--porcelain"])?.succeeded()?.text();
        Ok(listed.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from).collect())
    }

    /// Applies a patch to the files in a folder.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn apply(&self, folder: &Path, patch: &str) -> Result<()> {
        let input = Some(patch.as_bytes().to_vec());
        let arguments = ["apply", "--whitespace=nowarn", "-"];
        self.run(folder, &arguments, GitCall { input, ..GitCall::default() })?.succeeded().map(drop)
    }

    /// Returns the path and the commit of each submodule in a commit.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn submodules(&self, root: &Path, commit: &str) -> Result<Vec<(String, String)>> {
        let text = self.here(root, &["ls-tree", "-r", "-z", "--full-tree", commit])?.succeeded()?.text();
        let entry = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            Some((path.to_owned(), about.strip_prefix("160000 commit ")?.to_owned()))
        };
        Ok(text.split('\0').filter_map(entry).collect())
    }
}
