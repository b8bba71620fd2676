//! Verifies that objects match their ids, and finds what git can't use in its folder. Committing does not detect an object file that was damaged or tampered with.
//! Git itself checks object hashes only in `git fsck`.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::odb::pack;
use gix::refs::FullName;

use super::Git;
use super::error::in_shell;
use crate::store::{StoreError, StoreErrorKind};

/// The size from which a file is no reference, in bytes.
const LONGEST_REF: u64 = 4 << 10;

/// The maximum size of a verified object in bytes. This is far above the size of any file in an investigation.
const LARGEST: u64 = 256 << 20;

impl Git {
    /// Returns the objects that are unreadable or don't match their ids, each with the reason.
    ///
    /// # Errors
    ///
    /// Returns an error if the objects cannot be listed.
    pub fn verify_objects(&self) -> Result<Vec<(String, String)>, StoreError> {
        let failed = self.library("list the objects");
        let mut damaged = Vec::new();
        for id in self.repository.objects.iter().map_err(&failed)? {
            let id = id.map_err(|error| failed(gix::Error::from_error(error)))?;
            let what = match self.repository.find_header(id) {
                Ok(header) if header.size() > LARGEST => Some(format!("it has {} bytes", header.size())),
                Err(error) => Some(error.to_string()),
                Ok(_) => match self.repository.find_object(id) {
                    Err(error) => Some(error.to_string()),
                    Ok(object) => match gix::objs::compute_hash(id.kind(), object.kind, &object.data) {
                        Ok(hash) if hash == id => None,
                        Ok(hash) => Some(format!("its content has the id {hash}")),
                        Err(error) => Some(error.to_string()),
                    },
                },
            };
            damaged.extend(what.map(|what| (id.to_string(), what)));
        }
        Ok(damaged)
    }

    /// Returns what git, or this program, can't use in the git folder. Each error names the file or the tag, and the command
    /// that removes it. `tags` are the folders that this program needs for its own tags, each with a `/` at its end.
    pub fn faults(&self, tags: &[&str]) -> Vec<StoreError> {
        let mut faults = self.broken_references();
        faults.extend(self.broken_packs());
        let graph = self.repository.commit_graph().and_then(|graph| {
            graph.verify_integrity::<Infallible>(|_| Ok(())).map_err(gix::Error::from_error)
        });
        if let Err(error) = graph
            && !error.is_not_found()
        {
            let info = self.git_dir.join("objects").join("info");
            let message = format!("the commit-graph in {} is damaged: {error}", info.display());
            let hint =
                format!("`rm -r {}*` removes it; git needs none", in_shell(&info.join("commit-graph")));
            faults.push(StoreError::new(StoreErrorKind::Damaged, message).hinting(hint));
        }
        faults.extend(tags.iter().filter_map(|folder| self.check_room(&format!("{folder}NAME")).err()));
        faults
    }

    /// Returns an error for each index of packed objects that can't be read, or that names a pack that is missing.
    pub(super) fn broken_packs(&self) -> Vec<StoreError> {
        let folder = self.git_dir.join("objects").join("pack");
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let broken = |path: PathBuf| {
            let (reason, then) = if path.extension().is_some_and(|it| it == "idx") {
                let error = pack::index::File::at(&path, self.repository.object_hash()).err()?;
                let again = in_shell(&path.with_extension("pack"));
                (error.to_string(), format!(", and `git index-pack {again}` makes it again"))
            } else if path.file_name().is_some_and(|it| it == "multi-pack-index") {
                let missing = |index: pack::multi_index::File| {
                    let missing = index.index_names().iter().find(|it| !folder.join(it).exists())?;
                    Some(format!("it names {}, which is missing", missing.display()))
                };
                let index = pack::multi_index::File::at(&path, None);
                (index.map_or_else(|error| Some(error.to_string()), missing)?, "; git needs none".to_owned())
            } else {
                return None;
            };
            let message = format!("git's file {} can't be used: {reason}", path.display());
            let hint = format!("`rm -f {}` removes it{then}", in_shell(&path));
            Some(StoreError::new(StoreErrorKind::Damaged, message).hinting(hint))
        };
        files.filter_map(broken).collect()
    }

    /// Returns an error for each file among the references that git can't read as one, such as those that cloud drives leave, or whose
    /// object is missing. Git refuses every exchange with a remote because of it.
    pub fn broken_references(&self) -> Vec<StoreError> {
        let mut broken = Vec::new();
        self.add_broken(&self.git_dir.join("refs"), &mut broken);
        broken
    }

    fn add_broken(&self, folder: &Path, broken: &mut Vec<StoreError>) {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(&self.git_dir).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            // Git ignores these.
            let is_ignored = name.contains("/.") || name.ends_with(".lock");
            match path.is_dir() {
                _ if is_ignored => continue,
                true => self.add_broken(&path, broken),
                false => {
                    let is_small =
                        fs::symlink_metadata(&path).is_ok_and(|it| it.is_file() && it.len() < LONGEST_REF);
                    let content = if is_small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                    let content = String::from_utf8_lossy(&content);
                    let id = ObjectId::from_hex(content.trim_end().as_bytes()).ok();
                    let is_known =
                        content.starts_with("ref: ") || id.is_some_and(|id| self.repository.has_object(id));
                    let is_name = FullName::try_from(name).is_ok();
                    if is_name && is_known {
                        continue;
                    }
                    let message = format!("{} is not a reference that git can read", path.display());
                    let hint = match id.filter(|_| is_name) {
                        Some(id) => format!("Its object {id} is missing: fetch it from another clone"),
                        None => format!("`rm {}` removes it", in_shell(&path)),
                    };
                    broken.push(StoreError::new(StoreErrorKind::Damaged, message).hinting(hint));
                }
            }
        }
    }

    /// Returns whether git is configured to sign commits. This program never signs them.
    pub fn wants_signatures(&self) -> bool {
        self.repository.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }
}
