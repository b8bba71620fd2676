//! Local references, and what an exchange with a remote needs of local objects. `store` relates commits to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::process::GitCall;
use super::{GitProgram, ObjectName, RemoteError, Result};
use crate::store::{CommitId, ResolvedFile};

/// The filter that excludes files larger than any text file in an investigation.
const TEXTS_ONLY: &str = "--filter=blob:limit=8m";
/// The number of bytes of text read by one call, unless a single file is larger.
const TEXTS_AT_ONCE: u64 = 8 << 20;

/// The local references.
#[derive(Clone, Debug, Default)]
pub struct LocalReferences {
    /// The branch of HEAD, without `refs/heads/`. Absent if HEAD is detached or the branch is unborn.
    pub branch: Option<String>,
    /// The branches, tags and remote branches by their full names.
    pub refs: BTreeMap<String, ObjectName>,
}

impl LocalReferences {
    /// Returns the tags by their short names.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &ObjectName)> {
        self.refs.iter().filter_map(|(name, object)| Some((name.strip_prefix("refs/tags/")?, object)))
    }

    /// Returns the local branches by their short names, without those that keep commits.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        let branches = self.refs.keys().filter_map(|name| name.strip_prefix("refs/heads/"));
        branches.filter(|name| name.split('/').next() != Some(KEPT))
    }

    /// Returns the commit of a branch or a remote branch.
    pub fn commit(&self, reference: &str) -> Option<CommitId> {
        self.refs.get(reference)?.commit()
    }
}

/// The location of a piece of text in a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextOrigin {
    /// A file at the given path. A file to which only a tag refers may have no path.
    File(String),
    /// The message of a commit.
    Commit(ObjectName),
    /// The message in a tag object that contains this tag name.
    Tag(String),
}

/// The prefix of branches that keep otherwise unreachable commits.
pub const KEPT: &str = "tot-kept";

/// The reference to the last commit that a reviewer has seen. See [`GitProgram::mark_seen`].
pub const SEEN: &str = "refs/tot/seen";

impl GitProgram {
    /// Marks a commit as seen with [`SEEN`]. That reference is neither a branch nor a tag, so it is never pushed or cloned.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn mark_seen(&self, repository: &Path, commit: CommitId) -> Result<()> {
        let arguments = ["update-ref", "-m", "tot review --mark", SEEN, &commit.to_string()];
        self.here(repository, &arguments)?.succeeded().map(drop)
    }

    /// Returns the local references.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn references(&self, repository: &Path) -> Result<LocalReferences> {
        let format = "--format=%(HEAD)%00%(refname)%00%(objectname)";
        let arguments = ["for-each-ref", format, "refs/heads", "refs/remotes", "refs/tags"];
        let ran = self.here(repository, &arguments)?.succeeded()?;
        let mut here = LocalReferences::default();
        for line in ran.text().lines() {
            let mut parts = line.split('\0');
            let (Some(head), Some(name), Some(Ok(object))) =
                (parts.next(), parts.next(), parts.next().map(str::parse))
            else {
                return Err(ran.unreadable(line));
            };
            if head == "*" {
                here.branch = name.strip_prefix("refs/heads/").map(str::to_owned);
            }
            here.refs.insert(name.to_owned(), object);
        }
        Ok(here)
    }

    /// Returns the full names of the tags whose commits are in the history of `tip`.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn tags_within(&self, repository: &Path, tip: CommitId) -> Result<BTreeSet<String>> {
        let merged = format!("--merged={tip}");
        let ran = self.here(repository, &["for-each-ref", "--format=%(refname)", &merged, "refs/tags"])?;
        Ok(ran.succeeded()?.text().lines().map(str::to_owned).collect())
    }

    /// Calls `see` with all text that `tips` add to `known`: each version of each file, and the commit and tag
    /// messages. Deleted text is included, because the commits contain it. Invalid UTF-8 is replaced. Memory use is
    /// bounded.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn each_text(
        &self,
        repository: &Path,
        tips: &[ObjectName],
        known: &[ObjectName],
        mut see: impl FnMut(&TextOrigin, &str),
    ) -> Result<()> {
        let tips = tips.iter().map(|tip| format!("{tip}\n"));
        let range: String = tips.chain(known.iter().map(|known| format!("^{known}\n"))).collect();
        let listed = |filters: &[&str]| -> Result<String> {
            let call = GitCall { input: Some(range.clone().into_bytes()), ..GitCall::default() };
            let arguments = [&["rev-list", "--stdin"], filters].concat();
            Ok(self.run(repository, &arguments, call)?.succeeded()?.text())
        };
        // The tips are listed along with the files. Tags have a name in this list. Commits have none and are listed
        // above.
        let files = listed(&["--objects", "--filter=object:type=blob", TEXTS_ONLY])?;
        let files = files.lines().filter_map(|line| line.split_once(' '));
        let commits = listed(&[])?;
        let objects: Vec<(&str, &str)> = files.chain(commits.lines().map(|id| (id, ""))).collect();
        let asked = |option: &str, objects: &[(&str, &str)]| {
            let names: String = objects.iter().map(|(id, _)| format!("{id}\n")).collect();
            let call = GitCall { input: Some(names.into_bytes()), ..GitCall::default() };
            self.run(repository, &["cat-file", option], call)?.succeeded()
        };
        let sizes = asked("--batch-check=%(objectsize)", &objects)?;
        let unreadable = |id: &str| sizes.unreadable(id);
        let mut rest = objects.as_slice();
        for number in at_once(&sizes.text()) {
            let (objects, after) = rest.split_at_checked(number).ok_or_else(|| unreadable("a size"))?;
            rest = after;
            let read = asked("--batch", objects)?;
            let mut read = read.output.as_slice();
            for (id, name) in objects {
                let (kind, content, after) = one_of_batch(read).ok_or_else(|| unreadable(id))?;
                read = after;
                let text = String::from_utf8_lossy(content);
                let message = text.split_once("\n\n").map_or("", |(_, message)| message);
                match kind {
                    "blob" => see(&TextOrigin::File((*name).to_owned()), &text),
                    "commit" => {
                        see(&TextOrigin::Commit(id.parse().map_err(|()| unreadable(id))?), message);
                    }
                    "tag" => see(&TextOrigin::Tag((*name).to_owned()), message),
                    // A tree that a tag refers to.
                    _ => {}
                }
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(unreadable("the sizes")) }
    }

    /// Returns the objects missing from HEAD's history, as in a partial clone.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn missing(&self, repository: &Path) -> Result<Vec<ObjectName>> {
        let ran = self.here(repository, &["rev-list", "--objects", "--missing=print", "HEAD"])?;
        let text = ran.succeeded()?.text();
        Ok(text.lines().filter_map(|line| line.strip_prefix('?')?.parse().ok()).collect())
    }

    /// Creates a branch at a commit unless the branch exists. Returns whether the branch was created.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn create_branch(&self, repository: &Path, name: &str, commit: CommitId) -> Result<bool> {
        // The old value of all zeros means that the branch must not exist.
        let (reference, zeros) = (format!("refs/heads/{name}"), "0".repeat(40));
        let ran = self.here(repository, &["update-ref", &reference, &commit.to_string(), &zeros])?;
        Ok(ran.status == Some(0))
    }

    /// Moves a reference from one commit to another.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn move_reference(&self, repository: &Path, name: &str, from: CommitId, to: CommitId) -> Result<()> {
        let (from, to) = (from.to_string(), to.to_string());
        self.here(repository, &["update-ref", name, &to, &from])?.succeeded().map(drop)
    }

    /// Removes a local reference.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn remove_reference(&self, repository: &Path, name: &str) -> Result<()> {
        self.here(repository, &["update-ref", "-d", name])?.succeeded().map(drop)
    }

    /// Returns a bundle of a branch and all tags.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn bundle(&self, repository: &Path, branch: &str) -> Result<Vec<u8>> {
        let branch = format!("refs/heads/{branch}");
        let ran = self.here(repository, &["bundle", "create", "--quiet", "-", &branch, "--tags"])?;
        Ok(ran.succeeded()?.output)
    }

    pub(super) fn commit_tree(
        &self,
        repository: &Path,
        tree: &str,
        parents: &[String],
        message: &str,
    ) -> Result<CommitId> {
        // The commit has no personal author, so git needs no configured name.
        let mut arguments =
            vec!["-c", "user.name=Tree of Thoughts", "-c", "user.email=tot@localhost", "commit-tree", tree];
        arguments.extend(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
        let what = "git commit-tree";
        let call = GitCall { what, input: Some(format!("{message}\n").into_bytes()), ..GitCall::default() };
        let ran = self.run(repository, &arguments, call)?.succeeded()?;
        let commit = ran.text();
        commit.trim().parse().map_err(|_| ran.unreadable(&commit))
    }

    /// Returns the changes to the given files since the merge base, in HEAD and in another commit, as shown by git.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn both_changes(&self, repository: &Path, theirs: CommitId, files: &[&str]) -> Result<[String; 2]> {
        let theirs = theirs.to_string();
        let changes = |from: &str, to: &str| -> Result<String> {
            let arguments = [
                &["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--merge-base", from, to, "--"],
                files,
            ]
            .concat();
            Ok(self.here(repository, &arguments)?.succeeded()?.text())
        };
        Ok([changes(&theirs, "HEAD")?, changes("HEAD", &theirs)?])
    }

    /// Commits all tracked files in the work tree as a merge of HEAD with the given commits, if any, without updating a branch.
    /// The work tree and the index stay unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn commit_work(&self, repository: &Path, theirs: &[CommitId], message: &str) -> Result<CommitId> {
        let folder = repository.join(".git");
        // Git starts in the repository, so the path must not be relative.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let index = folder.join(format!("tot-index-{}", std::process::id()));
        let made = || -> Result<CommitId> {
            let failed = |source| RemoteError::Io { action: format!("write {}", index.display()), source };
            fs::copy(folder.join("index"), &index).map_err(failed)?;
            let of_index = |arguments: &[&str]| {
                let call = GitCall { index: Some(&index), ..GitCall::default() };
                self.run(repository, arguments, call)?.succeeded()
            };
            of_index(&["add", "--update"])?;
            let tree = of_index(&["write-tree"])?.text().trim().to_owned();
            let parents: Vec<String> =
                std::iter::once("HEAD".to_owned()).chain(theirs.iter().map(ToString::to_string)).collect();
            self.commit_tree(repository, &tree, &parents, message)
        };
        let made = made();
        // No other process uses the file.
        let _ = fs::remove_file(&index);
        made
    }

    /// Returns the tracked files in the work tree that differ from HEAD.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn changed_files(&self, repository: &Path) -> Result<Vec<String>> {
        // A submodule has settings of its own.
        let arguments = ["diff-index", "-z", "--name-only", "--ignore-submodules=all", "HEAD", "--"];
        // Otherwise a file with a new timestamp counts as changed.
        self.here(repository, &["update-index", "-q", "--refresh"])?;
        let text = self.here(repository, &arguments)?.succeeded()?.text();
        Ok(text.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Writes files to the work tree and to git's index, without a conflict.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn stage(&self, repository: &Path, files: &[ResolvedFile]) -> Result<()> {
        let with_input = |arguments: &[&str], input: String| {
            let call = GitCall { input: Some(input.into_bytes()), ..GitCall::default() };
            self.run(repository, arguments, call)?.succeeded().map(drop)
        };
        let (mut removed, mut entries, mut written) = (String::new(), String::new(), String::new());
        for (path, content) in files {
            let Some((content, is_executable)) = content else {
                removed.push_str(&format!("{path}\0"));
                continue;
            };
            let call = GitCall { input: Some(content.clone()), ..GitCall::default() };
            let id = self.run(repository, &["hash-object", "-w", "--stdin"], call)?.succeeded()?.text();
            let mode = if *is_executable { "100755" } else { "100644" };
            entries.push_str(&format!("{mode} {}\t{path}\0", id.trim()));
            written.push_str(&format!("{path}\0"));
        }
        if !removed.is_empty() {
            let remove = ["--literal-pathspecs", "rm", "--quiet", "--force", "--ignore-unmatch"];
            let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
            with_input(&[&remove[..], &from].concat(), removed)?;
        }
        with_input(&["update-index", "-z", "--index-info"], entries)?;
        with_input(&["checkout-index", "--quiet", "--force", "--index", "-z", "--stdin"], written)
    }

    /// Continues a git command that has stopped, such as `rebase`. Returns what git said if it has stopped again or failed.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be started.
    pub fn go_on(&self, repository: &Path, command: &str) -> Result<Option<String>> {
        let is_empty =
            self.here(repository, &["diff-index", "--cached", "--quiet", "HEAD", "--"])?.status == Some(0);
        // It refuses to make an empty commit.
        let how = if command == "cherry-pick" && is_empty { "--skip" } else { "--continue" };
        // A rebase can run any program.
        let todo =
            fs::read_to_string(repository.join(".git/rebase-merge/git-rebase-todo")).unwrap_or_default();
        if todo.lines().any(|line| line.starts_with("x ") || line.starts_with("exec ")) {
            return Ok(Some("the rest runs programs: finish it with `git rebase --continue`".to_owned()));
        }
        // Nothing is signed, as by a call.
        let ran = self.here(repository, &["-c", "commit.gpgSign=false", command, how])?;
        Ok(ran.succeeded().err().map(|error| error.to_string()))
    }

    /// Creates an empty repository on branch `main`.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn init(&self, folder: &Path, name: &str) -> Result<()> {
        let arguments = ["init", "--quiet", "--template=", "--initial-branch=main", "--", name];
        self.here(folder, &arguments)?.succeeded().map(drop)
    }

    /// Sets HEAD, the index and the work tree of a new repository to a commit. The work tree omits the files in
    /// `left_out`, which git treats as in a sparse checkout.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn check_out(&self, repository: &Path, commit: CommitId, left_out: &[&str]) -> Result<()> {
        let commit = commit.to_string();
        // `git reset` would take a tag named HEAD for the head of a branch without a commit.
        self.here(repository, &["update-ref", "HEAD", &commit])?.succeeded()?;
        if left_out.is_empty() {
            return self.here(repository, &["read-tree", "--reset", "-u", &commit])?.succeeded().map(drop);
        }
        self.here(repository, &["read-tree", &commit])?.succeeded()?;
        let call = GitCall { input: Some(left_out.join("\0").into_bytes()), ..GitCall::default() };
        let arguments = ["update-index", "--skip-worktree", "-z", "--stdin"];
        self.run(repository, &arguments, call)?.succeeded()?;
        self.here(repository, &["checkout", "--quiet", "--", "."])?.succeeded().map(drop)
    }
}

/// Returns the number of objects in each batch, given their sizes, one per line.
fn at_once(sizes: &str) -> Vec<usize> {
    let mut groups: Vec<(usize, u64)> = Vec::new();
    // A missing object has no size. Reading the object reports the error.
    for size in sizes.lines().map(|size| size.parse().unwrap_or(0)) {
        match groups.last_mut() {
            Some((number, bytes)) if *bytes + size <= TEXTS_AT_ONCE => {
                (*number, *bytes) = (*number + 1, *bytes + size);
            }
            _ => groups.push((1, size)),
        }
    }
    groups.into_iter().map(|(number, _)| number).collect()
}

/// Parses the type and content of the first object in the output of `cat-file --batch`. Also returns the remaining
/// output.
fn one_of_batch(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (kind, size) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?.1.split_once(' ')?;
    let (content, after) = bytes.get(end + 1..)?.split_at_checked(size.parse().ok()?)?;
    Some((kind, content, after.strip_prefix(b"\n")?))
}
