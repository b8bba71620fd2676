//! Imports investigations from files: facts read by [`crate::service::import`], or git bundles.
//!
//! Each investigation is built in a `.tmp-…` folder in the root, checked, and renamed into place, so it appears
//! completely or not at all. Commits made from facts have a fixed author and the times in the facts, so two imports of
//! the same file have the same history and can be merged.

use std::path::{Path, PathBuf};
use std::{fs, process};

use super::SyncError;
use super::clone::{build, io_error, listed, present};
use crate::domain::SessionId;
use crate::format::{self, message, readme};
use crate::ruleset::EffectiveRules;
use crate::service::check::{self, Finding, Objects, Severity};
use crate::service::import::{Facts, steps};
use crate::service::remote::GitProgram;
use crate::store::{CommitId, Draft, Relation, Store, StoreError};

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

/// Writes facts as an investigation in the root. If `dry_run` is true, only returns the result.
///
/// # Errors
///
/// Returns an error if the id belongs to another history, the facts exceed a limit, or the file system fails. Nothing
/// is left behind.
pub fn facts(store: &Store, facts: &Facts, dry_run: bool) -> Result<Imported, SyncError> {
    store.prepare()?;
    let aside = Aside::new(store, &facts.meta.id.to_string());
    let writing = Store::new(&aside.0).reproducible();
    let begun = writing.create(facts.meta.clone(), &facts.ruleset, &message::started(&facts.meta))?;
    for step in steps(facts) {
        writing.transact(&begun.path, |before| {
            let mut files = format::files(&step.event).map_err(StoreError::from)?;
            let (changes, message) = (step.event.changes(), step.message.clone());
            let before = &before.investigation;
            let rules = EffectiveRules::new(&facts.ruleset.ruleset, before.meta());
            files.extend(readme::change(before, &before.with(&changes), &rules));
            Ok::<_, StoreError>((vec![Draft { files, changes, message, at: step.at }], ()))
        })?;
    }
    settle(store, &begun.path, dry_run)
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
    store.prepare()?;
    // The path is absolute, so that git can't mistake it for a host or an option, in any folder.
    let whole = file.canonicalize().map_err(|source| io_error("read", file, source))?;
    let address = whole.to_string_lossy();
    let (advertised, places) = listed(store, git, &address, &[])?;
    let one = |place| {
        let aside = Aside::new(store, &file_name(&whole));
        fs::create_dir_all(&aside.0).map_err(|source| io_error("create", &aside.0, source))?;
        let within = Store::new(&aside.0);
        build(&within, git, &address, place, &advertised, "bundle", false)?;
        settle(store, &aside.0.join("bundle"), dry_run)
    };
    Ok(places.iter().map(|place| Unbundled { branch: place.branch.clone(), outcome: one(place) }).collect())
}

fn file_name(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A temporary folder in the root, removed on drop.
struct Aside(PathBuf);

impl Aside {
    fn new(store: &Store, name: &str) -> Self {
        Aside(store.root().join(format!(".tmp-import-{name}-{}", process::id())))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // On failure a hidden folder remains and is removed later.
        let _ = fs::remove_dir_all(&self.0);
    }
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
