//! A look at one of thousands of repositories: its head, and a few objects, without opening it.
//!
//! To open a repository is to read its settings and to look at its packs: some 250 system calls, while its head is in
//! two files. What is not as git and this program leave it (a packed reference, an object in a pack, anything odd) is
//! looked up in the opened repository, which says what is wrong as well.
//!
//! Limit: a repository that is refused for its settings alone, as one with its work tree elsewhere, may be looked at all
//! the same. Only its own object folder is ever read.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::Kind;

use super::error::{Result, shown};
use super::open::ALLOCATION_LIMIT;
use super::tree::TreeWalk;
use super::worktree::refuse_link;
use super::{BlobId, CommitId, Configuration, Git, GitError, TreeFile, loose};

/// The most bytes of `HEAD` and of a reference.
const REFERENCE_MAX: u64 = 1_024;

/// A repository of which the head is known.
pub struct Glance {
    dir: PathBuf,
    head: Option<CommitId>,
    opened: OnceCell<Git>,
}

impl Glance {
    /// Looks at the repository in that folder.
    pub fn at(dir: &Path) -> Result<Glance> {
        let glance =
            Glance { dir: dir.to_owned(), head: plain_head(&dir.join(".git")), opened: OnceCell::new() };
        if glance.head.is_some() {
            return Ok(glance);
        }
        let head = glance.git()?.head()?.commit;
        Ok(Glance { head, ..glance })
    }

    /// The commit that `HEAD` is at, if there is one yet.
    pub fn head(&self) -> Option<CommitId> {
        self.head
    }

    /// All files of a commit, in the order of the tree.
    pub fn files(&self, commit: CommitId) -> Result<Vec<TreeFile>> {
        refuse_link(&self.objects())?;
        let data = self.object(commit.0, Kind::Commit)?;
        let tree = gix::objs::CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1).tree_id();
        let tree = tree.map_err(|source| GitError::Library {
            action: "read a commit",
            path: shown(&self.dir),
            source: Box::new(source),
        })?;
        TreeWalk::files(shown(&self.dir), tree, &|tree| self.object(tree, Kind::Tree))
    }

    /// The content of `blob`, which may have at most `max_len` bytes.
    pub fn read(&self, blob: BlobId, max_len: u64) -> Result<Vec<u8>> {
        match loose::read(&self.objects(), blob.0, max_len) {
            Some((Kind::Blob, bytes)) => Ok(bytes),
            _ => self.git()?.reader().read(blob, max_len),
        }
    }

    fn object(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        match loose::read(&self.objects(), id, ALLOCATION_LIMIT) {
            Some((found, bytes)) if found == kind => Ok(bytes),
            _ => self.git().and_then(|git| git.object(&git.local(), id, kind)),
        }
    }

    fn objects(&self) -> PathBuf {
        self.dir.join(".git").join("objects")
    }

    fn git(&self) -> Result<&Git> {
        if let Some(git) = self.opened.get() {
            return Ok(git);
        }
        let git = Git::open_with(Configuration::Isolated, &self.dir)?;
        Ok(self.opened.get_or_init(|| git))
    }
}

/// The commit that `HEAD` is at, where both are in files of their own.
fn plain_head(git_dir: &Path) -> Option<CommitId> {
    fs::symlink_metadata(git_dir).ok().filter(fs::Metadata::is_dir)?;
    let head = reference(&git_dir.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: refs/heads/") else { return head.parse().ok() };
    gix::refs::FullName::try_from(format!("refs/heads/{name}")).ok()?;
    reference(&git_dir.join("refs/heads").join(name))?.parse().ok()
}

fn reference(path: &Path) -> Option<String> {
    // What is no plain file is not even opened: a pipe would wait for its writer.
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(REFERENCE_MAX).read_to_string(&mut text).ok()?;
    Some(text.strip_suffix('\n')?.to_owned())
}
