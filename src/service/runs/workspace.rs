//! A temporary checkout of a project commit, for the duration of one command.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::platform::CALLERS;
use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::domain::run::ProjectState;
use crate::service::project::Project;
use crate::service::remote::{GitProgram, RemoteError};
use crate::text::{causes, counted, one_line, shorten};

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
) -> Result<ProjectState, RemoteError> {
    let failed = |source| RemoteError::Io { action: "create a temporary folder".to_owned(), source };
    let folder = TemporaryFolder::new(&std::env::temp_dir(), PREFIX).map_err(failed)?;
    git.project_state(project.root(), &folder.path().join("index"), named)
}

/// A project commit in a temporary work tree. Dropping it removes the work tree.
#[derive(Debug)]
#[must_use]
pub struct Workspace<'a> {
    git: &'a GitProgram,
    folder: TemporaryFolder,
    /// The paths of the project's own work trees, also those by which the user's shell knows them.
    names: Vec<String>,
    /// The work trees, each with its repository. The first is the project's own.
    worktrees: Vec<(PathBuf, PathBuf)>,
    /// The files in their stored form, because their filter does not run, each with the filter.
    unfiltered: Vec<(String, String)>,
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
        let names = names(git, root);
        let mut workspace = Workspace { git, folder, names, worktrees: Vec::new(), unfiltered: Vec::new() };
        let place = workspace.root();
        workspace.check_out(root, &place, commit, DEPTH)?;
        workspace.copy_filtered(root, &place, commit).map_err(failed)?;
        if let Some(patch) = patch {
            git.apply(&place, patch).map_err(failed)?;
        }
        Ok(workspace)
    }

    /// Returns the root of the work tree.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Returns a command in which each path of the project is one of the work tree.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if the work tree does not contain the program.
    pub fn command(&self, words: &[String]) -> Result<Vec<String>, String> {
        let place = self.root().to_string_lossy().into_owned();
        let words_here: Vec<String> =
            words.iter().map(|word| moved(word, &self.names, &place, |_| true)).collect();
        match (words.first(), words_here.first()) {
            (Some(named), Some(program)) if named != program && !Path::new(program).exists() => Err(format!(
                "the program {} of the project is not in the work tree: commit it, or rerun with --at here",
                one_line(named)
            )),
            _ => Ok(words_here),
        }
    }

    /// Returns the environment variables that name files of the project, with the paths of those in the work tree. Others,
    /// such as the ignored folder of an installed tool, keep their paths.
    pub fn variables(&self) -> Vec<(String, Option<String>)> {
        let place = self.root();
        let text = place.to_string_lossy();
        let is_here = |path: &str| place.join(path).exists();
        let all = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        all.filter(|(name, _)| !UNMOVED.iter().chain(&CALLERS).any(|it| it == name))
            .filter_map(|(name, value)| {
                let there = moved(&value, &self.names, &text, is_here);
                (there != value).then_some((name, Some(there)))
            })
            .collect()
    }

    /// Adds the new files of a patch, such as those stored with a run, that the commit lacks.
    pub fn add_included(&self, patch: &str) {
        for file in new_files(patch) {
            let path = file.lines().find_map(|line| line.strip_prefix("+++ b/"));
            // What the project had later and removed is gone for a reason.
            if path.is_some_and(|path| self.git.was_removed(&self.root(), path)) {
                continue;
            }
            // What is there already can't be added.
            let _ = self.git.apply(&self.root(), file);
        }
    }

    /// Copies the files that need a filter from the project, where it has them as the commit does.
    fn copy_filtered(&mut self, root: &Path, place: &Path, commit: &str) -> Result<(), RemoteError> {
        self.unfiltered = self.git.filtered_files(place)?;
        if self.unfiltered.is_empty() {
            return Ok(());
        }
        let changed = self.git.changed_since(root, commit)?;
        self.unfiltered.retain(|(path, _)| {
            let [own, stored] = [root, place].map(|folder| fs::read(folder.join(path)).ok());
            let is_copied = !changed.contains(path)
                && own.is_some()
                && own != stored
                && fs::copy(root.join(path), place.join(path)).is_ok();
            !is_copied
        });
        Ok(())
    }

    /// Names the files whose content is not what a checkout would give, with their filters.
    pub fn unfiltered(&self) -> Option<String> {
        let (path, filter) = self.unfiltered.first()?;
        let more = if self.unfiltered.len() > 1 { ", …" } else { "" };
        let files = counted(self.unfiltered.len(), "file");
        Some(format!("the filter {} did not run for {files} ({}{more})", one_line(filter), one_line(path)))
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

/// Returns the parts of a patch that create files. Pure.
fn new_files(patch: &str) -> impl Iterator<Item = &str> {
    let starts = patch.match_indices("diff --git ").map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| *at == 0 || patch[..*at].ends_with('\n')).collect();
    let ends = starts.clone().into_iter().skip(1).chain([patch.len()]);
    let files = starts.into_iter().zip(ends).map(|(start, end)| &patch[start..end]);
    files.filter(|file| file.lines().nth(1).is_some_and(|line| line.starts_with("new file mode ")))
}

/// The variables that stay as they are: the home folder, even of someone whose home folder is the project, and `PWD`,
/// which follows the command's folder.
const UNMOVED: [&str; 3] = ["HOME", "PWD", "USERPROFILE"];

/// Returns the paths of the project's work trees.
fn names(git: &GitProgram, root: &Path) -> Vec<String> {
    let known = git.worktrees(root).unwrap_or_default().into_iter();
    let known = known.filter(|path| path.parent().is_some()).map(|path| path.to_string_lossy().into_owned());
    known.chain(own_names(root)).collect()
}

/// Returns the paths of a project's root, also the one by which the user's shell knows it.
pub fn own_names(root: &Path) -> Vec<String> {
    let shell = std::env::var_os("PWD").map(PathBuf::from).unwrap_or_default();
    let is_root = |path: &&Path| fs::canonicalize(path).is_ok_and(|path| path == root);
    let shell = shell.ancestors().filter(|path| path.is_absolute()).find(is_root).map(Path::to_owned);
    let known = shell.into_iter().chain([root.to_owned()]);
    let known = known.filter(|path| path.parent().is_some());
    let mut names: Vec<String> = known.map(|path| path.to_string_lossy().into_owned()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
}

/// Returns whether the beginning of a word may stand before an absolute path: an option such as `-I`, or the rest of `file://`.
pub(super) fn may_precede_path(word: &str) -> bool {
    word.is_empty() || word == "//" || word.starts_with('-') && !word.contains(['/', '\\'])
}

/// Returns a text with each path that begins with one of `from` moved to the folder `to`, if `is_there` returns true for the
/// rest of the path. Pure.
pub(super) fn moved(text: &str, from: &[String], to: &str, is_there: impl Fn(&str) -> bool) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"'`=:;,()[]{}<>|&@".contains(c);
    let (mut result, mut kept) = (String::new(), 0);
    for (at, _) in text.char_indices() {
        let before = text[..at].rsplit(|c| is_end(c) && !")}".contains(c)).next().unwrap_or_default();
        let begins = may_precede_path(before);
        let found = from.iter().filter(|name| begins && at >= kept && text[at..].starts_with(name.as_str()));
        let found = found.filter_map(|name| {
            let rest = text[at + name.len()..].split(is_end).next().unwrap_or_default();
            let is_whole = rest.is_empty() || rest.starts_with(['/', '\\']);
            (is_whole && is_there(rest.trim_start_matches(['/', '\\']))).then_some(name.len())
        });
        if let Some(length) = found.max() {
            result.push_str(&text[kept..at]);
            result.push_str(to);
            kept = at + length;
        }
    }
    result + &text[kept..]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_files_of_a_patch_are_those_that_it_creates() {
        let added =
            "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+diff --git \n";
        let changed = "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n";
        assert_eq!(new_files(&[changed, added, changed].concat()).collect::<Vec<_>>(), [added]);
        assert_eq!(new_files("").next(), None);
    }

    #[test]
    fn each_path_of_the_project_becomes_one_of_the_work_tree_and_no_other() {
        let from = ["/home/me/proj".to_owned(), "/home/me/proj/wt".to_owned()];
        let moved = |text: &str| moved(text, &from, "/t", |rest| rest != "missing");
        for (before, after) in [
            ("/home/me/proj", "/t"),
            ("/home/me/proj/wt/s.sh", "/t/s.sh"),
            ("-I/home/me/proj/include", "-I/t/include"),
            ("--out=/home/me/proj/x", "--out=/t/x"),
            ("file:///home/me/proj/x", "file:///t/x"),
            ("/home/me/proj:/work:ro", "/t:/work:ro"),
            ("cd '/home/me/proj' && rm -rf /home/me/proj/build; ls", "cd '/t' && rm -rf /t/build; ls"),
            ("/usr/bin:/home/me/proj/bin:/home/me/proj/missing", "/usr/bin:/t/bin:/home/me/proj/missing"),
        ] {
            assert_eq!(moved(before), after);
        }
        for other in [
            "/home/me/proj2",
            "/home/me/proj.old/x",
            "/home/me/projé",
            "/mnt/home/me/proj/x",
            "$X/home/me/proj",
            "${X}/home/me/proj",
            "$(pwd)/home/me/proj",
            "https://example.org/home/me/proj",
        ] {
            assert_eq!(moved(other), other);
        }
    }
}
