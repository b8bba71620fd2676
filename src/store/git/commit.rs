//! Creates tags and commits: writes a commit's objects, updates the index and work tree, and moves the head.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::BStr;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind, Write as _, WriteTo};
use gix::refs::file::transaction::prepare::ReferenceOutOfDate;
use gix::refs::transaction::{PreviousValue, RefEdit};
use gix::refs::{FullName, Target};

use super::collector::WrittenObject;
use super::durability::{EVERYTHING, INDEX, OBJECTS, REFERENCES, unconfirmed};
use super::error::{StoreResult, io_error};
use super::journal::{Journal, remove_if_orphaned};
use super::lock::{FOREIGN_LOCK_WAIT, IndexLock, WriterLock};
use super::paths::check_changes;
use super::refuse::refuse_link;
use super::tree::Leaf;
use super::worktree::optional_metadata;
use super::{CommitId, Git, Head, JOURNAL_FILE};
use crate::base::platform::check_writable;
use crate::format::FileChange;
use crate::store::checksum;

/// The number of retries after a race with git. Such races are short.
pub(super) const RACE_RETRIES: usize = 5;

/// The exclusive right to write to a repository, released on drop. Anything left behind by a killed writer has been
/// cleaned up.
#[must_use = "dropping it releases the lock"]
pub struct GitWriter<'g> {
    git: &'g Git,
    /// The state of `HEAD` when the lock was taken.
    pub head: Head,
    _lock: WriterLock,
}

impl Git {
    /// Waits for other writers and returns the right to write.
    pub fn writer(&self) -> StoreResult<GitWriter<'_>> {
        let lock = WriterLock::wait(&self.git_dir)?;
        let head = self.head()?;
        self.recover_in(&head, true)?;
        Ok(GitWriter { git: self, head, _lock: lock })
    }

    /// Cleans up what a killed process left behind: lock files, the index and work tree files. Returns whether there
    /// was anything to clean up. Does nothing while another writer is active, because the next [`Git::writer`] cleans
    /// up.
    pub fn recover(&self) -> StoreResult<bool> {
        let journal = optional_metadata(&self.git_dir.join(JOURNAL_FILE))?;
        if journal.is_none_or(|journal| journal.len() == 0) {
            return Ok(false);
        }
        match WriterLock::if_free(&self.git_dir)? {
            Some(_lock) => self.recover_in(&self.head()?, false),
            None => Ok(false),
        }
    }
}

impl GitWriter<'_> {
    /// Returns the repository.
    pub fn git(&self) -> &Git {
        self.git
    }

    /// Commits the changes on top of `expected`, one commit on top of the other, and moves the head to the last one.
    /// Either all commits are published, or none. Returns their ids, oldest first.
    ///
    /// The steps are described in the module documentation. A tag on the last commit is prepared before the head moves,
    /// so that an obstacle to the tag is an obstacle to the commits. `check` can read the last commit before it is
    /// published.
    pub fn commit(
        &self,
        expected: CommitId,
        commits: &[CommitText<'_>],
        tag: Option<&TagText>,
        check: impl FnOnce(CommitId) -> StoreResult<()>,
    ) -> StoreResult<(Vec<CommitId>, Confirmation)> {
        let (mut ids, mut last) = (Vec::new(), expected);
        let published = self.publish_draft(expected, tag, |git| {
            let mut whole: Option<CommitDraft> = None;
            for commit in commits {
                check_changes(commit.changes)?;
                let next = git.draft(Some(last.0), commit.changes, commit.message, commit.at)?;
                last = CommitId(next.commit);
                ids.push(last);
                whole = Some(match whole {
                    Some(before) => before.followed_by(next),
                    None => next,
                });
            }
            check(last)?;
            Ok(whole)
        })?;
        Ok((ids, published))
    }

    /// Checks that `changes` could be committed on top of `expected`: no operation is in progress, the locks are free and
    /// the folders are writable. The disk may still fill up, and access to single files is not checked.
    pub fn rehearse(&self, expected: CommitId, changes: &[FileChange]) -> StoreResult<()> {
        let git = self.git;
        git.refuse_in_progress()?;
        let references = head_references(&self.head);
        let mut journal = Journal::begin(&git.git_dir, &[expected.0], &references, &[])?;
        let mut lock = || -> StoreResult<()> {
            if git.work_dir.is_some() {
                journal.note(&IndexLock::take(&git.git_dir)?)?;
            }
            let edit = RefEdit::update(
                git.reference_name("HEAD".to_owned())?,
                expected.0,
                PreviousValue::MustExistAndMatch(Target::Object(expected.0)),
                gix::reference::log::message("commit", BStr::new(""), 1),
            );
            let wait = gix::lock::acquire::Fail::AfterDurationWithBackoff(FOREIGN_LOCK_WAIT);
            let prepared = git.repository.refs.transaction().prepare(Some(edit.with_deref(true)), wait, wait);
            prepared.map(drop).map_err(|source| git.reference_error("move the head", &references, source))
        };
        let locked = lock();
        journal.finish();
        locked?;
        let branch = references.iter().map(|name| git.git_dir.join(name));
        let logs = references.iter().map(|name| git.git_dir.join("logs").join(name));
        let files = changes.iter().filter_map(|change| Some(git.work_dir.as_ref()?.join(&change.path)));
        let objects = git.objects.path().join("object");
        for file in branch.chain(logs).chain(files).chain([objects]) {
            let Some(folder) = file.ancestors().skip(1).find(|folder| folder.is_dir()) else { continue };
            check_writable(folder).map_err(io_error("write to", folder))?;
        }
        Ok(())
    }

    /// Publishes the commit returned by `draft`, a child of `expected`, if there is one.
    pub(super) fn publish_draft(
        &self,
        expected: CommitId,
        tag: Option<&TagText>,
        draft: impl FnOnce(&Git) -> StoreResult<Option<CommitDraft>>,
    ) -> StoreResult<Confirmation> {
        let git = self.git;
        let head = git.head()?;
        if head.commit != Some(expected) {
            return Err(git.head_moved(expected, head.commit));
        }
        git.refuse_in_progress()?;
        let Some(mut draft) = draft(git)? else { return Ok(Ok(())) };
        let mut references = head_references(&head);
        let tag = tag.map(|tag| git.tag_object(tag, CommitId(draft.commit))).transpose()?;
        let mut targets = vec![draft.commit];
        if let Some((name, object)) = &tag {
            references.push(name.as_bstr().to_string());
            targets.push(object.id);
            draft.objects.push(*object);
        }
        let mut journal = Journal::begin(&git.git_dir, &targets, &references, &draft.steps)?;
        // The journal reaches the disk before any lock file exists, so recovery can explain every lock file.
        let synced = git.sync_new_objects(&draft.objects);
        let lock =
            synced.and_then(|()| git.work_dir.as_ref().map(|_| IndexLock::take(&git.git_dir)).transpose());
        // Check again, because git holds the index lock while it starts a merge or a similar operation.
        let lock = lock.and_then(|lock| git.refuse_in_progress().map(|()| lock));
        let tag = tag.map(|(name, object)| git.lock_tag(&name, object.id));
        let (lock, tag) = match lock.and_then(|lock| Ok((lock, tag.transpose()?))) {
            Ok(locks) => locks,
            Err(error) => {
                journal.finish();
                return Err(error);
            }
        };
        match git.publish(&draft, lock, Some(&mut journal)) {
            Ok(is_complete) => {
                // The commit is published. A tag that can't be renamed now is missing, like one that a kill prevented.
                tag.map(gix::lock::Marker::commit);
                let touched: Vec<PathBuf> = git.work_dir.iter().flat_map(|dir| draft.files(dir)).collect();
                let synced = git.sync_names(&references, &touched);
                // If the index could not be replaced, the next recovery completes it.
                if is_complete.is_ok() {
                    journal.finish();
                }
                let confirmed = is_complete.and(synced).and_then(|()| git.protect(&draft.objects));
                Ok(confirmed.map_err(unconfirmed(&git.location(), format!("the commit {}", draft.commit))))
            }
            Err(error) => {
                drop(tag);
                // If this fails too, the next recovery uses the journal. The caller gets the first error.
                if git.bring_to_head(draft.paths(), &mut journal).is_ok() {
                    journal.finish();
                }
                Err(error)
            }
        }
    }

    /// Creates an annotated tag on the commit `target`.
    pub fn tag(&self, tag: &TagText, target: CommitId) -> StoreResult<()> {
        let git = self.git;
        git.object(target.0, Kind::Commit)?;
        let (name, object) = git.tag_object(tag, target)?;
        let references = [name.as_bstr().to_string()];
        let journal = Journal::begin(&git.git_dir, &[object.id], &references, &[])?;
        let synced = git.sync_new_objects(&[object]);
        let placed = synced.and_then(|()| git.lock_tag(&name, object.id)).and_then(|lock| {
            let path = lock.resource_path();
            lock.commit().map(drop).map_err(|failed| io_error("create", &path)(failed.error))
        });
        journal.finish();
        placed?;
        let synced = git.protect(&[object]).and_then(|()| git.sync_names(&references, &[]));
        synced.map_err(unconfirmed(&git.location(), format!("the tag {:?}", tag.name)))
    }
}

/// A commit to be made.
pub struct CommitText<'a> {
    /// The changes to the files.
    pub changes: &'a [FileChange],
    /// The message.
    pub message: &'a str,
    /// The time, in seconds since 1970.
    pub at: i64,
}

/// An annotated tag to be made.
pub struct TagText {
    /// The name, without `refs/tags/`.
    pub name: String,
    /// The message.
    pub message: String,
    /// The time, in seconds since 1970.
    pub at: i64,
}

/// The outcome of what follows the publication of a commit. An error means that the commit exists, but that the disk did
/// not confirm it or that git's index is still the old one.
pub type Confirmation = StoreResult<()>;

/// Tags.
impl Git {
    /// Writes an unreferenced tag object and returns it with the full name of the reference.
    fn tag_object(&self, tag: &TagText, target: CommitId) -> StoreResult<(FullName, WrittenObject)> {
        let name = self.reference_name(format!("refs/tags/{}", tag.name))?;
        let time = raw_time(tag.at);
        let tagger = self.committer.signature(&time);
        let object = gix::objs::Tag {
            target: target.0,
            target_kind: Kind::Commit,
            name: tag.name.as_str().into(),
            tagger: Some(tagger.to_owned().map_err(self.library("write a tag"))?),
            message: clean_message(&tag.message).into(),
            signature: None,
        };
        Ok((name, self.write_object(&object)?))
    }

    /// Returns whether the name of a tag is locked, by another process or by one that has just died.
    pub fn is_tag_locked(&self, name: &str) -> bool {
        let lock = self.git_dir.join(format!("refs/tags/{name}.lock"));
        let _ = remove_if_orphaned(&lock);
        fs::symlink_metadata(&lock).is_ok()
    }

    /// Locks a new reference and writes its value, so that only a rename is left to do. gix does both in one transaction,
    /// but would rename the tag before the branch.
    fn lock_tag(&self, name: &FullName, id: ObjectId) -> StoreResult<gix::lock::Marker> {
        let full = name.as_bstr().to_string();
        let path = self.git_dir.join(&full);
        self.check_room(full.trim_start_matches("refs/tags/"))?;
        let wait = gix::lock::acquire::Fail::AfterDurationWithBackoff(FOREIGN_LOCK_WAIT);
        let boundary = self.git_dir.join("refs");
        let failed = |source| self.reference_error("create a tag", std::slice::from_ref(&full), source);
        let lock = gix::lock::File::acquire_to_update_resource(&path, wait, Some(boundary), 0);
        let mut lock = lock.map_err(failed)?;
        lock.with_mut(|file| writeln!(file, "{id}")).map_err(io_error("write", lock.lock_path()))?;
        if self.disk.syncs(REFERENCES) {
            self.disk.sync(&[lock.lock_path().to_owned()], &[])?;
        }
        lock.close().map_err(io_error("close", &path))
    }
}

/// A commit and its changes to the index and the work tree.
pub(super) struct CommitDraft {
    pub(super) commit: ObjectId,
    pub(super) parent: Option<ObjectId>,
    pub(super) parent_tree: ObjectId,
    /// All objects written for the commit.
    pub(super) objects: Vec<WrittenObject>,
    pub(super) steps: Vec<PathUpdate>,
    /// The action named in the reflog.
    pub(super) action: &'static str,
    pub(super) subject: String,
    pub(super) time: String,
}

/// A step of a commit: the change to one path in the index and the work tree.
pub(super) struct PathUpdate {
    pub(super) path: String,
    /// The states that may be replaced with `to`. Any other state belongs to the user.
    pub(super) from: Vec<Option<Leaf>>,
    pub(super) to: Option<Leaf>,
    /// Two flags, for the old and the new entry: true if the entry is not checked out.
    pub(super) unfit: (bool, bool),
    /// True if a file missing from the work tree counts as deleted by the user, even if `from` contains `None`.
    pub(super) is_absence_kept: bool,
    /// True if an empty or all-zero file in the work tree may be replaced. A power cut leaves such a file if the
    /// content had not reached the disk.
    pub(super) are_zeros_ours: bool,
}

/// A path with its entries in the old and the new commit.
pub(super) type TouchedPath = (String, Option<Leaf>, Option<Leaf>);

impl CommitDraft {
    /// Returns the draft that publishes two commits at once, the second on top of the first.
    fn followed_by(mut self, next: CommitDraft) -> CommitDraft {
        for step in next.steps {
            match self.steps.iter_mut().find(|before| before.path == step.path) {
                Some(before) => (before.to, before.unfit.1) = (step.to, step.unfit.1),
                None => self.steps.push(step),
            }
        }
        self.objects.extend(next.objects);
        CommitDraft { commit: next.commit, subject: next.subject, time: next.time, ..self }
    }

    pub(super) fn paths(&self) -> Vec<TouchedPath> {
        let steps = self.steps.iter();
        steps.map(|step| (step.path.clone(), step.from.first().copied().flatten(), step.to)).collect()
    }

    /// Returns the paths of the affected work tree files.
    fn files(&self, work_dir: &Path) -> impl Iterator<Item = PathBuf> {
        self.steps.iter().map(|step| work_dir.join(&step.path))
    }
}

/// Syncing, as configured. See `durability`.
impl Git {
    /// Syncs the journal at full durability.
    pub(super) fn sync_journal(&self) -> StoreResult<()> {
        match self.disk.syncs(EVERYTHING) {
            true => self.disk.sync(&[self.git_dir.join(JOURNAL_FILE)], &[]),
            false => Ok(()),
        }
    }

    /// Syncs objects. At full durability, also syncs the journal, which must reach the disk before the files it names.
    pub(super) fn sync_objects(&self, objects: &[WrittenObject]) -> StoreResult<()> {
        if !self.disk.syncs(OBJECTS) {
            return Ok(());
        }
        let journal = self.git_dir.join(JOURNAL_FILE);
        let files = objects.iter().map(|object| self.objects.object_path(&object.id));
        let mut files: Vec<PathBuf> =
            files.chain(self.disk.syncs(EVERYTHING).then(|| journal.clone())).collect();
        // Identical contents are stored as one object.
        files.sort();
        files.dedup();
        let mut attempts = 0;
        loop {
            let synced = match self.disk.syncs(EVERYTHING) {
                true => self.disk.sync_with_names(&self.git_dir, &files, &[]),
                false => self.disk.sync(&files, &[]),
            };
            match synced {
                // A missing object was packed by git or removed. See `collector`.
                Err(error) if error.is_not_found() && attempts < RACE_RETRIES => {
                    files.retain(|file| *file == journal || file.exists());
                    attempts += 1;
                }
                synced => return synced,
            }
        }
    }

    /// At full durability, syncs the reflogs, and the directory entries of references and files.
    fn sync_names(&self, references: &[String], files: &[PathBuf]) -> StoreResult<()> {
        if !self.disk.syncs(EVERYTHING) {
            return Ok(());
        }
        let logs = references.iter().map(|name| self.git_dir.join("logs").join(name));
        let logs: Vec<PathBuf> = logs.filter(|log| log.exists()).collect();
        let names = references.iter().map(|name| self.git_dir.join(name));
        let top = self.work_dir.as_ref().unwrap_or(&self.git_dir);
        let names: Vec<PathBuf> = names.chain(files.iter().cloned()).collect();
        self.disk.sync_with_names(top, &logs, &names)
    }

    /// Changes the reference `name` through gix, directly or through HEAD. Syncs the new value and `files` before the
    /// change takes effect. The outer error means that syncing failed and the reference is unchanged.
    fn edit_reference(
        &self,
        edit: RefEdit,
        committer: gix::actor::SignatureRef<'_>,
        name: &str,
        files: &[PathBuf],
    ) -> StoreResult<Result<(), gix::Error>> {
        let wait = gix::lock::acquire::Fail::AfterDurationWithBackoff(FOREIGN_LOCK_WAIT);
        let prepared = match self.repository.refs.transaction().prepare(Some(edit), wait, wait) {
            Ok(prepared) => prepared,
            Err(source) => return Ok(Err(source)),
        };
        let mut files = files.to_vec();
        if self.disk.syncs(REFERENCES) {
            let lock = self.git_dir.join(format!("{name}.lock"));
            files.extend(lock.exists().then_some(lock));
        }
        self.disk.sync(&files, &[])?;
        Ok(prepared.commit(Some(committer)).map(drop))
    }

    fn reference_name(&self, name: String) -> StoreResult<FullName> {
        let failed = self.library("validate a reference name");
        FullName::try_from(name).map_err(|source| failed(gix::Error::from_error(source)))
    }
}

/// The commit steps, in the order given in the module documentation.
impl Git {
    /// Step 4: writes unreferenced blobs, trees and the commit, and plans the changes to its paths.
    pub(super) fn draft(
        &self,
        parent: Option<ObjectId>,
        changes: &[FileChange],
        message: &str,
        at: i64,
    ) -> StoreResult<CommitDraft> {
        let message = clean_message(message);
        let time = raw_time(at);
        let draft = self.draft_of(
            parent,
            changes,
            Vec::new(),
            |_, old| old,
            |tree| gix::objs::Commit {
                tree,
                parents: parent.into_iter().collect(),
                author: self.author.signature(&time).into(),
                committer: self.committer.signature(&time).into(),
                encoding: None,
                message: message.as_str().into(),
                extra_headers: Vec::new(),
            },
        )?;
        Ok(CommitDraft { subject: message, time, ..draft })
    }

    /// Drafts a commit with additional steps. `kind` maps a file's old kind to its new kind, and `commit` builds the
    /// commit object for a tree.
    pub(super) fn draft_of(
        &self,
        parent: Option<ObjectId>,
        changes: &[FileChange],
        more: Vec<PathUpdate>,
        kind: impl Fn(&str, EntryKind) -> EntryKind,
        commit: impl FnOnce(ObjectId) -> gix::objs::Commit,
    ) -> StoreResult<CommitDraft> {
        let parent_tree = self.tree_or_empty(parent.map(CommitId))?;
        // Reject invalid changes before writing the first object.
        let leaves = changes.iter().map(|change| self.leaf(parent_tree, &change.path));
        let leaves: Vec<Option<Leaf>> = leaves.collect::<StoreResult<_>>()?;
        let mut objects = Vec::new();
        let mut write = |object: &dyn WriteTo| {
            let written = self.write_object(object)?;
            let id = written.id;
            objects.push(written);
            Ok(id)
        };
        let mut steps = Vec::with_capacity(changes.len());
        for (change, old) in changes.iter().zip(leaves) {
            let to = match &change.content {
                None => None,
                Some(content) => {
                    let executable = old.is_some_and(|old| old.kind == EntryKind::BlobExecutable);
                    let old = if executable { EntryKind::BlobExecutable } else { EntryKind::Blob };
                    let kind = kind(&change.path, old);
                    Some(Leaf { kind, id: write(&gix::objs::BlobRef { data: content })? })
                }
            };
            steps.push(PathUpdate::plain(change.path.clone(), old, to));
        }
        steps.extend(more);
        let changed: Vec<&PathUpdate> =
            steps.iter().filter(|step| step.from.first() != Some(&step.to)).collect();
        let tree = match changed.as_slice() {
            [] if parent.is_some() => parent_tree,
            changed => self.edit_tree(parent_tree, changed, &mut write)?,
        };
        let mut commit = commit(tree);
        let mut unsealed = Vec::new();
        commit.write_to(&mut unsealed).map_err(io_error("write a commit to", self.objects.path()))?;
        commit.message = checksum::sealed(&self.raw_commit_of(&unsealed)?).into();
        let commit = write(&commit)?;
        let (subject, time) = (String::new(), String::new());
        Ok(CommitDraft { commit, parent, parent_tree, objects, steps, action: "commit", subject, time })
    }

    /// Writes an object even if it already exists, and keeps it in memory. After a `git gc`, an open repository still sees
    /// objects in deleted packs and would skip objects that the new commit needs.
    pub(super) fn write_object(&self, object: &dyn WriteTo) -> StoreResult<WrittenObject> {
        let (kind, mut data) = (object.kind(), Vec::new());
        object.write_to(&mut data).map_err(io_error("write an object to", self.objects.path()))?;
        let id = self.write_bytes(kind, &data)?;
        let kept = self.repository.objects.write_buf_with_known_id(kind, &data, id);
        kept.map_err(self.library("keep an object in memory"))?;
        Ok(WrittenObject { id, kind })
    }

    pub(super) fn write_bytes(&self, kind: Kind, data: &[u8]) -> StoreResult<ObjectId> {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, data);
        let id = id.map_err(self.library("hash an object"))?;
        let path = self.objects.object_path(&id);
        path.parent().map_or(Ok(()), refuse_link)?;
        let mut attempts = 0;
        loop {
            match self.objects.write_buf_with_known_id(kind, data, id) {
                // A concurrent `git gc` has removed the empty folder.
                Err(error) if error.is_not_found() && attempts < RACE_RETRIES => attempts += 1,
                outcome => {
                    let failed = io_error("write an object to", self.objects.path());
                    return outcome.map_err(|source| {
                        let kind = source.downcast_any_ref().map_or(io::ErrorKind::Other, io::Error::kind);
                        failed(io::Error::new(kind, source))
                    });
                }
            }
        }
    }

    /// Performs steps 6 to 10, with the index locked. If an error is returned, the head has not moved. The inner result
    /// is an error if the head has moved but the index could not be replaced.
    pub(super) fn publish(
        &self,
        draft: &CommitDraft,
        lock: Option<IndexLock>,
        mut journal: Option<&mut Journal>,
    ) -> StoreResult<Confirmation> {
        let mut lock = lock;
        if let (Some(lock), Some(journal)) = (&lock, &mut journal) {
            journal.note(lock)?;
            // Sync before the lock file has content that could be mistaken for git's.
            self.sync_journal()?;
        }
        // The files to sync before the head moves.
        let mut files = Vec::new();
        if let (Some(work_dir), Some(lock)) = (&self.work_dir, &mut lock) {
            self.prepare_index(work_dir, draft.parent_tree, &draft.steps, lock)?;
            if self.disk.syncs(INDEX) {
                files.push(lock.path.clone());
            }
            if self.disk.syncs(EVERYTHING) {
                files.extend(draft.files(work_dir).filter(|file| file.exists()));
            }
        }
        if let Some(journal) = journal {
            // Empty lock files are recognized only by their age relative to the journal, so update its time.
            journal.add("publish")?;
        }
        self.move_head(draft, files)?;
        Ok(lock.map_or(Ok(()), IndexLock::put_into_place))
    }

    /// Step 9: moves the head, after `files` are synced.
    pub(super) fn move_head(&self, draft: &CommitDraft, files: Vec<PathBuf>) -> StoreResult<()> {
        let name = self.reference_name("HEAD".to_owned())?;
        let expected = match draft.parent {
            Some(parent) => PreviousValue::MustExistAndMatch(Target::Object(parent)),
            None => PreviousValue::MustNotExist,
        };
        let parents = usize::from(draft.parent.is_some());
        let log = gix::reference::log::message(draft.action, BStr::new(&draft.subject), parents);
        // Update HEAD rather than the branch, so that both get a reflog entry.
        let edit = RefEdit::update(name, draft.commit, expected, log).with_deref(true);
        let signature = self.committer.signature(&draft.time);
        let mut attempts = 0;
        loop {
            let branch = if self.disk.syncs(REFERENCES) { self.head()?.branch } else { None };
            let name = branch.as_deref().unwrap_or("HEAD");
            let moved = self.edit_reference(edit.clone(), signature, name, &files)?;
            let Err(source) = moved else { return Ok(()) };
            let head = self.head()?;
            let now = head.commit.map(|commit| commit.0);
            if now == Some(draft.commit) {
                return Ok(());
            }
            if let Some(parent) = draft.parent.filter(|parent| now != Some(*parent)) {
                return Err(self.head_moved(CommitId(parent), head.commit));
            }
            // The head is as expected, but gix saw an older value. See `Git::head`.
            let saw_older =
                source.downcast_any_ref::<ReferenceOutOfDate>().is_some() || source.is_not_found();
            attempts += 1;
            if !saw_older || attempts > RACE_RETRIES {
                return Err(self.reference_error("move the head", &head_references(&head), source));
            }
        }
    }
}

/// Returns the message as `git commit --cleanup=whitespace` stores it, so that no git command changes it: without spaces at
/// the ends of lines, without empty lines at the start and two in a row, and with a final line feed. Zero bytes are
/// replaced, because `git fsck` rejects them.
pub(super) fn clean_message(message: &str) -> String {
    let mut clean = String::new();
    for line in message.trim_end().lines().map(str::trim_end) {
        if !(line.is_empty() && (clean.is_empty() || clean.ends_with("\n\n"))) {
            clean.push_str(&line.replace('\0', "\u{fffd}"));
            clean.push('\n');
        }
    }
    clean
}

/// Formats a time for git, which does not support times before 1970.
pub(super) fn raw_time(at: i64) -> String {
    format!("{} +0000", at.max(0))
}

/// Returns the references that a commit locks.
pub(super) fn head_references(head: &Head) -> Vec<String> {
    ["HEAD".to_owned()].into_iter().chain(head.branch.clone()).collect()
}
