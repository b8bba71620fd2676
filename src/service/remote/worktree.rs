//! The state of a project, and its additional work trees. The project's branches, index and files stay unchanged.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::process::GitCall;
use super::{GitProgram, RemoteError, Result};
use crate::domain::run::{PLAIN_FILE, ProjectState};
use crate::format::layout;
use crate::secrets::{suspects, text_of};
use crate::service::project::ChangedFiles;
use crate::text::one_line;

/// The maximum size of a patch, in bytes.
const PATCH_MAX: usize = 64 << 10;
/// The maximum numbers of changed and of untracked files to list.
const CHANGED_MAX: usize = 1_000;
const UNTRACKED_MAX: usize = 100;
/// The maximum number of paths in the arguments of one call.
const PATHS_AT_ONCE: usize = 100;

/// The parts of `git diff` that a user's configuration would change.
const DIFF: [&str; 12] = [
    "--no-optional-locks",
    "-c",
    "diff.noprefix=false",
    "-c",
    "diff.mnemonicPrefix=false",
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=none",
    "HEAD",
];

impl GitProgram {
    /// Returns the state of the project at `root`: its commit, the changed files with their patch, and the names of
    /// untracked files. The patch includes the content of an untracked file only if `named` lists its path. `index` is
    /// the path for a new file with a separate index.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn project_state(&self, root: &Path, index: &Path, named: &[String]) -> Result<ProjectState> {
        let commit = self.resolve(root, "HEAD")?;
        // Without optional locks, git does not write the index.
        let mut status = vec!["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
        // Where the user hides untracked files, as in a home folder under git, their names are private too.
        let hides = self.here(root, &["config", "--get", "status.showUntrackedFiles"])?.text();
        if !["no", "false"].contains(&hides.trim()) {
            status.push("--untracked-files=all");
        }
        let call = GitCall { is_project: true, ..GitCall::default() };
        let status = self.run(root, &status, call)?.succeeded()?.text();
        // A path that ends with a slash is a separate repository. An investigation or a linked work tree is no part of the project.
        let entries = status.split('\0').filter_map(|entry| entry.split_at_checked(3));
        let is_apart = |path: &str| {
            let folder = root.join(path);
            path.ends_with('/') && (folder.join(layout::META).exists() || folder.join(".git").is_file())
        };
        let entries: Vec<_> = entries.filter(|(_, path)| !is_apart(path)).collect();
        let paths = entries.iter().map(|(_, path)| (*path).to_owned());
        if commit.is_none() || (entries.is_empty() && named.is_empty()) {
            return Ok(ProjectState {
                commit,
                untracked: listed(paths.collect()),
                ..ProjectState::default()
            });
        }
        // Editors and other version control systems announce new files with `git add -N`, without their content.
        let announced =
            entries.iter().filter(|(state, path)| *state == " A " && !named.iter().any(|name| name == path));
        self.copy_index(root, index, named, announced.map(|(_, path)| *path).collect())?;
        let most = |most| GitCall { index: Some(index), most, is_project: true, ..GitCall::default() };
        let names = self.run(root, &[&DIFF[..], &["--name-only", "-z"]].concat(), most(None))?;
        let mut changed: Vec<String> =
            names.succeeded()?.text().split_terminator('\0').map(str::to_owned).collect();
        let untracked = listed(paths.filter(|path| !changed.contains(path)).collect());
        // A patch cannot contain files from another repository.
        let is_whole = changed.len() <= CHANGED_MAX && !changed.iter().any(|path| root.join(path).is_dir());
        changed.truncate(CHANGED_MAX);
        let patch = match is_whole && !changed.is_empty() {
            true => match self.run(root, &[&DIFF[..], &["--binary"]].concat(), most(Some(PATCH_MAX))) {
                Err(RemoteError::TooMuch { .. }) => None,
                ran => {
                    let patch = String::from_utf8(ran?.succeeded()?.output).ok();
                    patch.filter(|patch| !patch.is_empty() && !hides_secrets(root, patch, &changed))
                }
            },
            false => None,
        };
        Ok(ProjectState { commit, changed, patch, untracked, ..ProjectState::default() })
    }

    /// Returns the untracked files or, if `is_ignored` is true, the ignored ones, with a whole ignored folder as one path that
    /// ends with `/`.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn untracked(&self, root: &Path, is_ignored: bool) -> Result<Vec<String>> {
        let ignored = if is_ignored { &["--ignored", "--directory"][..] } else { &[] };
        let arguments = [&["ls-files", "--others", "--exclude-standard", "-z"], ignored].concat();
        let call = GitCall { is_project: true, ..GitCall::default() };
        let text = self.run(root, &arguments, call)?.succeeded()?.text();
        Ok(text.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Returns the files whose content differs from HEAD in the work tree or, if `is_staged` is true, in the index. Of the
    /// work tree, `untracked` files count as well, and those whose changes git hides. Only paths that `is_wanted` are returned.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn changes(
        &self,
        root: &Path,
        is_staged: bool,
        untracked: &[String],
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<ChangedFiles> {
        let project = || GitCall { is_project: true, ..GitCall::default() };
        let staged = if is_staged { &["--cached"][..] } else { &[] };
        let arguments = [&DIFF[..], &["--raw", "-z", "--no-abbrev"], staged].concat();
        let text = self.run(root, &arguments, project())?.succeeded()?.text();
        let (mut changed, mut parts) = (ChangedFiles::new(), text.split_terminator('\0'));
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            let mut about = about.split(' ').skip(1);
            let (mode, blob) = (about.next().unwrap_or_default(), about.nth(1).unwrap_or_default());
            let blob = if blob.trim_matches('0').is_empty() { "" } else { blob };
            let is_there = mode != "000000";
            changed.insert(path.to_owned(), is_there.then(|| (mode.to_owned(), blob.to_owned())));
        }
        // Of a file that git was told to assume unchanged, or to leave out of the work tree, it reports no change.
        let listed = match is_staged {
            true => String::new(),
            false => self.run(root, &["ls-files", "-v", "-s", "-z"], project())?.succeeded()?.text(),
        };
        for (about, path) in listed.split_terminator('\0').filter_map(|entry| entry.split_once('\t')) {
            let mut about = about.split(' ');
            let is_hidden = about.next().is_some_and(|tag| tag == "S" || tag.starts_with(char::is_lowercase));
            if let Some(mode) = about.next().filter(|_| is_hidden && is_file(root, path)) {
                changed.insert(path.to_owned(), Some((mode.to_owned(), String::new())));
            }
        }
        for path in untracked.iter().filter(|path| is_file(root, path)) {
            changed.entry(path.clone()).or_insert_with(|| Some((PLAIN_FILE.to_owned(), String::new())));
        }
        changed.retain(|path, _| is_wanted(path));
        let unknown = changed.iter_mut().filter_map(|(path, file)| Some((path, file.as_mut()?)));
        let unknown = unknown.filter(|(path, (_, blob))| blob.is_empty() && is_file(root, path));
        let mut unknown: Vec<(&String, &mut (String, String))> = unknown.collect();
        for some in unknown.chunks_mut(PATHS_AT_ONCE) {
            let arguments =
                ["hash-object", "--"].into_iter().chain(some.iter().map(|(path, _)| path.as_str()));
            let text = self.run(root, &arguments.collect::<Vec<_>>(), project())?.succeeded()?.text();
            some.iter_mut().zip(text.lines()).for_each(|((_, file), blob)| file.1 = blob.to_owned());
        }
        Ok(changed)
    }

    /// Copies the project's index to `index`, with the named files but without those that are only announced.
    fn copy_index(&self, root: &Path, index: &Path, named: &[String], announced: Vec<&str>) -> Result<()> {
        let own = self.here(root, &["rev-parse", "--git-path", "index"])?.succeeded()?.text();
        let own = root.join(own.trim_end_matches('\n'));
        // The copy contains the timestamps that let git skip unchanged files. No index exists before the first `git
        // add`.
        if own.exists() {
            // The index's own timestamp matters too, since git rereads newer files.
            let copied = fs::copy(&own, index).and_then(|_| {
                fs::File::options().write(true).open(index)?.set_modified(own.metadata()?.modified()?)
            });
            copied.map_err(|source| RemoteError::Io { action: format!("copy {}", own.display()), source })?;
        }
        let remove = &["update-index", "--force-remove", "-z", "--stdin"][..];
        let add =
            &["--literal-pathspecs", "add", "-N", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"][..];
        let named = named.iter().map(String::as_str).collect();
        for (arguments, paths) in [(remove, announced), (add, named)] {
            if !paths.is_empty() {
                let input = Some(paths.join("\0").into_bytes());
                let call = GitCall { input, index: Some(index), is_project: true, ..GitCall::default() };
                self.run(root, arguments, call)?.succeeded()?;
            }
        }
        Ok(())
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
        match ran.status {
            // The only status for an unknown name. With others, git refuses the repository, as one of another user.
            Some(1) => Ok(None),
            _ => Ok(Some(ran.succeeded()?.text().trim().to_owned())),
        }
    }

    /// Returns the last commit that two commits have in common, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be started.
    pub fn merge_base(&self, root: &Path, one: &str, other: &str) -> Result<Option<String>> {
        let call = GitCall { is_project: true, ..GitCall::default() };
        let ran = self.run(root, &["merge-base", one, other], call)?;
        Ok(Some(ran.text().trim().to_owned()).filter(|_| ran.status == Some(0)))
    }

    /// Returns whether a commit contains another.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be started.
    pub fn contains(&self, root: &Path, commit: &str, other: &str) -> Result<bool> {
        let call = GitCall { is_project: true, ..GitCall::default() };
        Ok(self.run(root, &["merge-base", "--is-ancestor", other, commit], call)?.status == Some(0))
    }

    /// Checks out all files of a commit into a missing or empty folder, also in a sparse checkout. Configured filters are not run.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn add_worktree(&self, root: &Path, folder: &Path, commit: &str) -> Result<()> {
        let folder = folder.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "--detach", "--force", &folder, commit];
        self.here(root, &[&["-c", "core.sparseCheckout=false"], &add[..]].concat())?.succeeded().map(drop)
    }

    /// Returns the files of a work tree that need a filter, each with the filter's name.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn filtered_files(&self, folder: &Path) -> Result<Vec<(String, String)>> {
        let input = Some(self.here(folder, &["ls-files", "-z"])?.succeeded()?.output);
        let call = GitCall { input, ..GitCall::default() };
        let text = self.run(folder, &["check-attr", "-z", "--stdin", "filter"], call)?.succeeded()?.text();
        let parts: Vec<&str> = text.split('\0').collect();
        let has_filter = |part: &&[&str]| !["unspecified", "unset", "set"].contains(&part[2]);
        let files = parts.chunks_exact(3).filter(has_filter);
        Ok(files.map(|part| (part[0].to_owned(), part[2].to_owned())).collect())
    }

    /// Says what a work tree lacks of what a command reads: a submodule, or the content for which a file stands, as of Git LFS or
    /// git-annex.
    pub fn not_checked_out(&self, folder: &Path, is_read: &dyn Fn(&str) -> bool) -> Option<String> {
        let submodules = self.submodules(folder, "HEAD").unwrap_or_default().into_iter();
        let mut missing = submodules.filter(|(path, _)| !folder.join(path).join(".git").exists());
        if let Some((path, _)) = missing.find(|(path, _)| is_read(path)) {
            return Some(format!("{} is not checked out here: git submodule update --init", one_line(&path)));
        }
        let is_pointer = |path: &String| {
            let file = folder.join(path);
            let is_short = fs::metadata(&file).is_ok_and(|about| about.len() < 1_024);
            let text = fs::read_to_string(&file).ok().filter(|_| is_short).unwrap_or_default();
            text.starts_with("version https://git-lfs.") || text.starts_with("/annex/objects/")
        };
        let files = self.filtered_files(folder).ok()?.into_iter().map(|(path, _)| path);
        let file = files.into_iter().find(|path| is_read(path) && is_pointer(path))?;
        Some(format!("the content of {} is not here: git lfs pull, or git annex get", one_line(&file)))
    }

    /// Returns whether a commit behind HEAD removed a path.
    pub fn was_removed(&self, folder: &Path, path: &str) -> bool {
        let log = ["log", "-1", "--format=%H", "--diff-filter=D", "--", path];
        self.here(folder, &log).and_then(|ran| ran.succeeded()).is_ok_and(|ran| !ran.text().trim().is_empty())
    }

    /// Returns whether git ignores a path, whether it is there or not.
    pub fn ignores(&self, folder: &Path, path: &str) -> bool {
        let ignored = self.here(folder, &["check-ignore", "--quiet", "--", path]);
        ignored.is_ok_and(|it| it.succeeded().is_ok())
    }

    /// Returns the files whose checked-out content is not that of a commit. Without filters, so a file counts as changed if
    /// git has to read it.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn changed_since(&self, root: &Path, commit: &str) -> Result<Vec<String>> {
        let options = ["--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "-z", commit, "--"];
        let text =
            self.here(root, &[&["--no-optional-locks", "diff"], &options[..]].concat())?.succeeded()?.text();
        Ok(text.split_terminator('\0').map(str::to_owned).collect())
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

/// Returns whether a path is a file, and no link to one.
fn is_file(root: &Path, path: &str) -> bool {
    fs::symlink_metadata(root.join(path)).is_ok_and(|about| about.is_file())
}

/// Returns whether binary files in a patch seem to contain credentials. In the patch, they are compressed.
fn hides_secrets(root: &Path, patch: &str, changed: &[String]) -> bool {
    /// The maximum number of bytes to search in each file.
    const SEARCHED: u64 = 8 << 20;
    let holds = |name: &String| {
        let mut content = Vec::new();
        let file = fs::File::open(root.join(name));
        file.and_then(|file| file.take(SEARCHED).read_to_end(&mut content)).is_ok()
            && !suspects(&text_of(&content)).is_empty()
    };
    patch.lines().any(|line| line == "GIT binary patch") && changed.iter().any(holds)
}

/// Returns the names of untracked files to list: at most [`UNTRACKED_MAX`], with top folders in place of too many files.
fn listed(mut names: Vec<String>) -> Vec<String> {
    if names.len() > UNTRACKED_MAX {
        let top = |name: &String| name.find('/').map_or(name.clone(), |end| name[..=end].to_owned());
        names = names.iter().map(top).collect();
        names.dedup();
        names.truncate(UNTRACKED_MAX);
    }
    names
}
