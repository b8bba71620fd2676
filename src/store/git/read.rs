//! Reading: heads, revisions, files, differences, commits and tags.

use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::str::FromStr;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::{Kind, TreeRefIter};
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::refs::FullName;

use super::commit::RACE_RETRIES;
use super::error::Result;
use super::tree::{MAX_DEPTH, MAX_ENTRIES, MAX_TREE_BYTES, TreeWalk, is_file};
use super::{BlobId, CommitId, CommitInfo, Git, GitError, Head, PathChange, Signature, TreeFile};

/// Reading. It takes no lock and sees only what is committed.
impl Git {
    /// What `HEAD` is now.
    pub fn head(&self) -> Result<Head> {
        self.head_in(&self.local())
    }

    /// The commit that `rev` names: `HEAD`, a full id, a branch or tag, its full name, or the beginning of an id.
    /// `None` when there is none.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>> {
        let repository = self.local();
        if let Ok(id) = CommitId::from_str(rev) {
            return Ok(peel(&repository, id.0).map(CommitId));
        }
        let full_names = match rev {
            "HEAD" => vec![rev.to_owned()],
            _ if rev.starts_with("refs/") => vec![rev.to_owned()],
            _ => ["tags", "heads", "remotes"].map(|kind| format!("refs/{kind}/{rev}")).to_vec(),
        };
        for name in full_names {
            // An invalid reference name may still be the beginning of an id.
            let Ok(name) = FullName::try_from(name) else { continue };
            let found = repository.try_find_reference(&name);
            if let Some(mut reference) = found.map_err(self.library("look up a reference"))? {
                return Ok(reference
                    .peel_to_id()
                    .ok()
                    .and_then(|id| peel(&repository, id.detach()))
                    .map(CommitId));
            }
        }
        let Ok(prefix) = gix::hash::Prefix::from_hex(rev) else { return Ok(None) };
        match repository.objects.lookup_prefix(prefix, None).map_err(self.library("look up an id"))? {
            None => Ok(None),
            Some(Ok(id)) => Ok(peel(&repository, id).map(CommitId)),
            Some(Err(())) => Err(GitError::Ambiguous { path: self.shown(), rev: rev.to_owned() }),
        }
    }

    /// All files of `commit`, in the order of the tree.
    pub fn files(&self, commit: CommitId) -> Result<Vec<TreeFile>> {
        let repository = self.local();
        let tree = self.tree_of(&repository, commit.0)?;
        TreeWalk::files(self, &repository, tree)
    }

    /// Reads the contents of files and what commits changed.
    pub fn reader(&self) -> Reader<'_> {
        let mut repository = self.local();
        repository.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(KEPT_BYTES)));
        Reader { git: self, repository }
    }

    /// The commits from `from` along first parents, newest first, at most `limit`. In a shallow clone it ends where
    /// the clone does.
    pub fn log(&self, from: CommitId, limit: Option<usize>) -> Result<Vec<CommitInfo>> {
        let repository = self.local();
        let shallow =
            repository.shallow_commits().map_err(self.library("read the ends of a shallow clone"))?;
        let mut commits = Vec::new();
        let mut next = Some(from.0);
        while let Some(id) = next.filter(|_| limit.is_none_or(|limit| commits.len() < limit)) {
            let data = self.object(&repository, id, Kind::Commit)?;
            let commit = gix::objs::CommitRef::from_bytes(&data, gix::hash::Kind::Sha1)
                .map_err(self.library("read a commit"))?;
            let parents: Vec<CommitId> = commit.parents().map(CommitId).collect();
            let ends_here = shallow.as_ref().is_some_and(|ends| ends.iter().any(|end| *end == id));
            next = parents.first().map(|parent| parent.0).filter(|_| !ends_here);
            commits.push(CommitInfo {
                id: CommitId(id),
                parents,
                author: signature(commit.author().ok()),
                committer: signature(commit.committer().ok()),
                message: commit.message.to_str_lossy().into_owned(),
            });
        }
        Ok(commits)
    }

    /// Whether `earlier` is `later` or among the commits that it came from, by any of their parents. In a shallow clone
    /// it looks as far as the clone goes.
    pub fn leads_to(&self, earlier: CommitId, later: CommitId) -> Result<bool> {
        let failed = self.library("walk the history");
        let repository = self.local();
        for commit in repository.rev_walk([later.0]).all().map_err(&failed)? {
            if commit.map_err(&failed)?.id == earlier.0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All tags that lead to a commit, without `refs/tags/`, with that commit.
    pub fn tags(&self) -> Result<Vec<(String, CommitId)>> {
        let repository = self.local();
        let platform = repository.references().map_err(self.library("list the references"))?;
        let mut tags = Vec::new();
        for reference in platform.tags().map_err(self.library("list the tags"))? {
            // A broken tag must not hide the others.
            let Ok(mut reference) = reference else { continue };
            let name = reference.name().as_bstr().to_str_lossy().into_owned();
            let Some(short) = name.strip_prefix("refs/tags/") else { continue };
            let Ok(id) = reference.peel_to_id().map(|id| id.detach()) else { continue };
            if let Some(commit) = peel(&repository, id) {
                tags.push((short.to_owned(), CommitId(commit)));
            }
        }
        Ok(tags)
    }
}

/// The most bytes of `HEAD` and of a reference.
const REFERENCE_MAX: u64 = 1_024;

/// What a [`Reader`] keeps of what it has read from packs.
const KEPT_BYTES: usize = 16 << 20;

/// Reads many objects of a repository, on one thread.
///
/// In a pack most objects are differences from others. What was made whole last is kept here, so that the next one
/// need not be made from its first ancestor on.
pub struct Reader<'g> {
    git: &'g Git,
    repository: gix::Repository,
}

impl Reader<'_> {
    /// The content of `blob`, which may have at most `max_len` bytes. The size is known before anything is
    /// decompressed.
    pub fn read(&self, blob: BlobId, max_len: u64) -> Result<Vec<u8>> {
        let git = self.git;
        let repository = &self.repository;
        let size = git.blob_size(repository, blob.0)?;
        if size > max_len {
            return Err(GitError::TooLarge { path: git.shown(), blob, size, limit: max_len });
        }
        git.object(repository, blob.0, Kind::Blob)
    }

    /// The files that differ between `before` and `after`, in order of their paths; `None` is the empty tree.
    ///
    /// Files only: a symbolic link or submodule counts as no file, and a changed executable bit as no change.
    pub fn diff(&self, before: Option<CommitId>, after: CommitId) -> Result<Vec<PathChange>> {
        let (git, repository) = (self.git, &self.repository);
        let before = match before {
            Some(commit) => git.tree_of(repository, commit.0)?,
            None => ObjectId::empty_tree(gix::hash::Kind::Sha1),
        };
        let after = git.tree_of(repository, after.0)?;
        if before == after {
            return Ok(Vec::new());
        }
        let old = git.object(repository, before, Kind::Tree)?;
        let new = git.object(repository, after, Kind::Tree)?;
        let mut changes = FileChanges::default();
        let outcome = gix::diff::tree(
            TreeRefIter::from_bytes(&old, gix::hash::Kind::Sha1),
            TreeRefIter::from_bytes(&new, gix::hash::Kind::Sha1),
            gix::diff::tree::State::default(),
            &repository.objects,
            &mut changes,
        );
        match outcome {
            Ok(()) => {}
            Err(gix::diff::tree::Error::Cancelled) => {
                return Err(GitError::TooMuch {
                    path: git.shown(),
                    what: format!("the difference of the trees {before} and {after}"),
                    limit: format!("{MAX_ENTRIES} entries or {MAX_DEPTH} levels"),
                });
            }
            Err(gix::diff::tree::Error::Failure(source)) => {
                return Err(git.library("compare two trees")(source));
            }
        }
        let mut found = changes.found;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// The head.
impl Git {
    /// Reads the head so that a `git pack-refs` in the same instant cannot turn it into an older one.
    ///
    /// It moves the branch from its own file to the common one. Who has read the common file before that, and looks
    /// for the branch's own file after it, finds the state of the last packing. Reading once more finds the new one.
    pub(super) fn head_in(&self, repository: &gix::Repository) -> Result<Head> {
        let mut head = self.head_once(repository)?;
        for _ in 0..RACE_RETRIES {
            let own_file = head.branch.as_ref().map(|branch| self.git_dir.join(branch));
            if own_file.is_none_or(|file| fs::symlink_metadata(file).is_ok()) {
                break;
            }
            let again = self.head_once(repository)?;
            if again == head {
                break;
            }
            head = again;
        }
        Ok(head)
    }

    pub(super) fn head_once(&self, repository: &gix::Repository) -> Result<Head> {
        let head = repository.head().map_err(self.library("read the head"))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_str_lossy().into_owned());
        if head.is_unborn() {
            return Ok(Head { branch, commit: None });
        }
        let id = head.into_peeled_id().map_err(self.library("read the head"))?.detach();
        Ok(Head { branch, commit: Some(CommitId(id)) })
    }
}

/// The commit that `HEAD` is at in the repository `dir`, where it and its branch are files of their own. For who looks at
/// thousands of repositories: opening one takes a hundred times as long. `None` says nothing: ask [`Git::head`] then.
pub fn head_at_a_glance(dir: &Path) -> Option<CommitId> {
    let git_dir = dir.join(".git");
    fs::symlink_metadata(&git_dir).ok().filter(fs::Metadata::is_dir)?;
    let head = reference(&git_dir.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: refs/heads/") else { return head.parse().ok() };
    FullName::try_from(format!("refs/heads/{name}")).ok()?;
    reference(&git_dir.join("refs/heads").join(name))?.parse().ok()
}

/// The line in a file of a reference.
fn reference(path: &Path) -> Option<String> {
    // Only a plain file is opened: a pipe would wait for its writer.
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(REFERENCE_MAX).read_to_string(&mut text).ok()?;
    Some(text.strip_suffix('\n')?.to_owned())
}

/// Reading objects.
impl Git {
    /// The bytes of an object that must be there and of `kind`.
    pub(super) fn object(&self, repository: &gix::Repository, id: ObjectId, kind: Kind) -> Result<Vec<u8>> {
        match repository.try_find_object(id).map_err(self.library("read an object"))? {
            Some(object) if object.kind == kind => Ok(object.detach().data),
            _ => Err(self.missing(kind, id)),
        }
    }

    pub(super) fn blob_size(&self, repository: &gix::Repository, id: ObjectId) -> Result<u64> {
        match repository.try_find_header(id).map_err(self.library("read the size of an object"))? {
            Some(header) if header.kind() == Kind::Blob => Ok(header.size()),
            _ => Err(self.missing(Kind::Blob, id)),
        }
    }

    pub(super) fn tree_of(&self, repository: &gix::Repository, commit: ObjectId) -> Result<ObjectId> {
        let data = self.object(repository, commit, Kind::Commit)?;
        let mut fields = gix::objs::CommitRefIter::from_bytes(&data, gix::hash::Kind::Sha1);
        fields.tree_id().map_err(self.library("read a commit"))
    }
}

/// Collects the files of a difference, under the caps.
#[derive(Default)]
pub(super) struct FileChanges {
    /// It keeps the current path.
    recorder: gix::diff::tree::Recorder,
    seen: usize,
    bytes: usize,
    found: Vec<PathChange>,
}

impl gix::diff::tree::Visit for FileChanges {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: gix::diff::tree::visit::Change) -> gix::diff::tree::visit::Action {
        use gix::diff::tree::visit::Change;

        let path = self.recorder.path();
        self.seen += 1;
        self.bytes += path.len();
        let depth = path.find_iter("/").count();
        if self.seen > MAX_ENTRIES || self.bytes > MAX_TREE_BYTES || depth > MAX_DEPTH {
            return std::ops::ControlFlow::Break(());
        }
        let file = |mode: gix::objs::tree::EntryMode, id| is_file(mode.kind()).then_some(BlobId(id));
        let (before, after) = match change {
            Change::Addition { entry_mode, oid, .. } => (None, file(entry_mode, oid)),
            Change::Deletion { entry_mode, oid, .. } => (file(entry_mode, oid), None),
            Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid } => {
                (file(previous_entry_mode, previous_oid), file(entry_mode, oid))
            }
        };
        if before != after {
            self.found.push(PathChange { path: path.to_str_lossy().into_owned(), before, after });
        }
        std::ops::ControlFlow::Continue(())
    }
}

/// The commit that `id` is, or that the tag `id` leads to.
pub(super) fn peel(repository: &gix::Repository, id: ObjectId) -> Option<ObjectId> {
    let object = repository.try_find_object(id).ok()??;
    Some(object.peel_to_kind(Kind::Commit).ok()?.id)
}

pub(super) fn signature(signature: Option<gix::actor::SignatureRef<'_>>) -> Signature {
    let signature = signature.unwrap_or_default();
    let time = signature.time().unwrap_or_default();
    Signature {
        name: signature.name.to_str_lossy().into_owned(),
        email: signature.email.to_str_lossy().into_owned(),
        seconds: time.seconds,
        offset: time.offset,
    }
}
