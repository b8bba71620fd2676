//! Git repository errors.

use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
use std::path::Path;
use std::{fs, io};

use gix::ObjectId;
use gix::objs::Kind;
use gix::refs::FullName;

use super::{CommitId, Git};
pub(super) use crate::store::error::{StoreResult, io_error};
use crate::store::{StoreError, StoreErrorKind};
use crate::text::shell_line;

impl Git {
    pub(super) fn missing(&self, kind: Kind, id: ObjectId) -> StoreError {
        let wanted = match kind {
            Kind::Blob => "file",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
            Kind::Tag => "tag",
        };
        let message = format!("{} has no {wanted} {id}", self.location().display());
        StoreError::new(StoreErrorKind::Missing, message)
    }

    pub(super) fn head_moved(&self, expected: CommitId, actual: Option<CommitId>) -> StoreError {
        let actual = actual.map_or_else(|| "without a commit".to_owned(), |commit| commit.to_string());
        let path = self.location();
        let message = format!("the head of {} has moved: it is {actual}, not {expected}", path.display());
        StoreError::new(StoreErrorKind::HeadMoved, message)
    }

    pub(super) fn too_much(&self, what: &str, limit: &str) -> StoreError {
        let path = self.location();
        let message = format!("{what} in {} was not read: it has more than {limit}", path.display());
        StoreError::new(StoreErrorKind::TooMuch, message)
    }

    pub(super) fn damaged(&self, tree: ObjectId, reason: &str) -> StoreError {
        let message = format!("the tree {tree} in {} is damaged: {reason}", self.location().display());
        StoreError::new(StoreErrorKind::Damaged, message)
    }

    pub(super) fn library(&self, action: &'static str) -> impl Fn(gix::Error) -> StoreError + '_ {
        move |source| library_error(action, &self.location())(source)
    }

    /// Names one of git's files that can't be read: `HEAD`, or `shallow` with the boundary of a shallow clone.
    pub(super) fn damaged_file(&self, name: &str) -> StoreError {
        let path = self.git_dir.join(name);
        let (shown, file) = (path.display(), in_shell(&path));
        let hint = match name {
            "HEAD" => format!("`echo ref: refs/heads/main >{file}` restores it, if it was main"),
            _ => format!("`rm {file}` removes it; if this was a shallow clone, make it again"),
        };
        StoreError::new(StoreErrorKind::Damaged, format!("git's file {shown} is damaged")).hinting(hint)
    }

    /// Names the file of a branch that can't be read, for example because a power cut emptied it, and how to restore it.
    pub(super) fn unreadable_head(&self, source: gix::Error) -> StoreError {
        if let Some(broken) = self.broken_packs().into_iter().next() {
            return broken;
        }
        let (place, head) = (self.location(), fs::read_to_string(self.git_dir.join("HEAD")));
        let name = head.unwrap_or_default().trim().trim_start_matches("ref: ").to_owned();
        let path = self.git_dir.join(&name);
        let is_id = |text: &[u8]| ObjectId::from_hex(text.trim_ascii_end()).is_ok();
        if !is_id(name.as_bytes()) && FullName::try_from(name.as_str()).is_err() {
            return self.damaged_file("HEAD");
        }
        let is_branch = name.starts_with("refs/heads/") && fs::read(&path).is_ok_and(|it| !is_id(&it));
        if !is_branch {
            return self.library("read the head")(source);
        }
        let message = format!("the branch {} is damaged", path.display());
        let error = StoreError::new(StoreErrorKind::Damaged, message);
        let log = fs::read(self.git_dir.join("logs").join(&name)).unwrap_or_default();
        let last =
            log.rsplit(|byte| *byte == b'\n').find_map(|line| ObjectId::from_hex(line.get(41..81)?).ok());
        match last.filter(|id| self.object(*id, Kind::Commit).is_ok()) {
            None => error,
            Some(id) => error.hinting(format!(
                "`rm {}`, then `git -C {} update-ref {} {id}` restores the last commit of its reflog",
                in_shell(&path),
                in_shell(&place),
                shell_line(&[name])
            )),
        }
    }

    /// Reports a held lock file as [`StoreErrorKind::Locked`], and any other error as [`StoreErrorKind::Library`].
    pub(super) fn reference_error(
        &self,
        action: &'static str,
        references: &[String],
        source: gix::Error,
    ) -> StoreError {
        if source.is_retryable() {
            let names = references.iter().map(String::as_str).chain(["packed-refs"]);
            let locks = names.map(|name| self.git_dir.join(format!("{name}.lock")));
            let held = locks.into_iter().find(|lock| fs::symlink_metadata(lock).is_ok());
            return StoreError::locked(&held.unwrap_or_else(|| self.git_dir.join("HEAD.lock")));
        }
        self.library(action)(source)
    }
}

pub(super) fn library_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl Fn(gix::Error) -> StoreError + 'a {
    move |source| {
        let message = format!("could not {action} in {}", path.display());
        match source.downcast_any_ref().map(io::Error::kind) {
            Some(kind @ (PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)) => {
                StoreError::of_files(message, path, io::Error::new(kind, source))
            }
            _ => StoreError::new(StoreErrorKind::Library, message).caused_by(source),
        }
    }
}

/// Returns the path for a command in a shell.
pub(super) fn in_shell(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return shell_line(&[text.into_owned()]);
    }
    let written = text.chars().map(|c| match c {
        '\\' => "\\\\".to_owned(),
        c if c.is_ascii_control() => format!("\\0{:03o}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"$(printf %b {})\"", shell_line(&[written.collect()]))
}
