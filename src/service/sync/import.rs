//! Imports investigations from git bundles.
//!
//! Each investigation is built in a `.tmp-…` folder in the root, checked, and renamed into place, so it appears
//! completely or not at all. A dry run builds it outside of the root, which need not exist.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::SyncError;
use super::clone::{build, into_root, io_error, listed, present};
use crate::base::temporary::{TemporaryFolder, remove_abandoned};
use crate::domain::SessionId;
use crate::service::check::{self, Finding, Objects, Severity};
use crate::service::remote::GitProgram;
use crate::store::{CommitId, Relation, Store};

/// The prefix of temporary folder names. The store removes the folders with this prefix that a killed import left.
const PREFIX: &str = ".tmp-import-";

/// An imported investigation.
#[derive(Debug)]
pub struct Imported {
    /// Its folder. In a dry run, the folder that an import would create.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
    /// Its title.
    pub title: String,
    /// Its newest commit.
    pub head: CommitId,
    /// The number of nodes in the investigation, including proposals.
    pub nodes: usize,
    /// The number of commits in the investigation's history.
    pub commits: usize,
    /// True if the investigation already existed, with the same history.
    pub is_present: bool,
    /// Rule violations and questionable data.
    pub findings: Vec<Finding>,
}

/// The outcome for one investigation in a bundle.
#[derive(Debug)]
pub struct Unbundled {
    /// The investigation's branch in the bundle.
    pub branch: String,
    /// The imported investigation, or the error.
    pub outcome: Result<Imported, SyncError>,
}

/// Imports the investigations in a bundle, which contains one investigation or a hub.
///
/// # Errors
///
/// Returns an error if the file is not a bundle or contains no investigation. Errors for a single investigation are in
/// its outcome.
pub fn bundle(
    store: &Store,
    git: &GitProgram,
    file: &Path,
    dry_run: bool,
) -> Result<Vec<Unbundled>, SyncError> {
    let bring = || unbundled(store, git, file, dry_run);
    if dry_run { bring() } else { into_root(store, bring) }
}

fn unbundled(
    store: &Store,
    git: &GitProgram,
    file: &Path,
    dry_run: bool,
) -> Result<Vec<Unbundled>, SyncError> {
    let aside = aside(store, dry_run)?;
    let within = Store::new(aside.path());
    // The path is absolute, so that git can't mistake it for a host or an option, in any folder.
    let whole = file.canonicalize().map_err(|source| io_error("read", file, source))?;
    let address = whole.to_string_lossy();
    let (advertised, places) = listed(&within, git, &address, &[])?;
    let one = |number: usize, place| {
        let name = format!("bundle-{number}");
        build(&within, git, &address, place, &advertised, &name, false)?;
        settle(store, &aside.path().join(name), dry_run)
    };
    let outcomes = places.iter().enumerate();
    let outcomes = outcomes.map(|(at, it)| Unbundled { branch: it.branch.clone(), outcome: one(at, it) });
    Ok(outcomes.collect())
}

/// Creates the temporary folder to build in, in the root or, for a dry run, in the system's folder.
fn aside(store: &Store, dry_run: bool) -> Result<TemporaryFolder, SyncError> {
    let parent = if dry_run { env::temp_dir() } else { store.root().to_owned() };
    remove_abandoned(&parent, PREFIX, &|_| true);
    TemporaryFolder::new(&parent, PREFIX).map_err(|source| io_error("create a folder in", &parent, source))
}

/// Checks the result and moves it into place, unless the investigation already exists.
fn settle(store: &Store, built: &Path, dry_run: bool) -> Result<Imported, SyncError> {
    let reading = Store::new(built);
    let subject = check::read(&reading, built, Objects::default())?;
    let (investigation, head) = (&subject.snapshot.investigation, subject.snapshot.head);
    let id = investigation.meta().id;
    let there = present(store, id);
    if let Some(path) = there.clone().filter(|path| !has(store, path, head)) {
        return Err(SyncError::AlreadyHere { path, id });
    }
    let path = there.clone().unwrap_or_else(|| store.root().join(id.to_string()));
    if there.is_none() && !dry_run {
        fs::rename(built, &path).map_err(|source| io_error("rename the import to", &path, source))?;
    }
    let findings = check::check(&subject).into_iter().filter(|finding| finding.severity != Severity::Note);
    Ok(Imported {
        path,
        id,
        title: investigation.meta().title.clone(),
        head,
        nodes: investigation.nodes().count(),
        commits: subject.history.len(),
        is_present: there.is_some(),
        findings: findings.collect(),
    })
}

/// Returns whether an investigation's history contains the commit.
fn has(store: &Store, path: &Path, commit: CommitId) -> bool {
    let relation = || {
        let now = store.load(path)?;
        store.relation(&store.load_at(path, &commit.to_string())?, &now)
    };
    matches!(relation(), Ok(Relation::Same | Relation::Forward))
}
