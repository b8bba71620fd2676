//! Clones investigations from a remote, which is a hub or a repository with a single investigation.
//!
//! Each investigation is built in a `.tmp-…` folder in the root, read, and renamed into place, so it appears completely
//! or not at all.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

use super::{DEFAULT_NAME, SyncError, at_once};
use crate::domain::SessionId;
use crate::service::remote::{
    Advertised, GitProgram, RemoteError, RemotePlace, shown_address, whole_address,
};
use crate::store::{self, FindError, LeftOut, Store};

/// The local branch.
const BRANCH: &str = "main";

/// The outcome for one investigation on a remote.
#[derive(Debug)]
pub struct Cloned {
    /// The branch on the remote.
    pub branch: String,
    /// The folder of the investigation, or the error.
    pub outcome: Result<ClonedFolder, SyncError>,
}

/// The folder of a cloned investigation.
#[derive(Debug)]
pub struct ClonedFolder {
    /// The path of the folder.
    pub path: PathBuf,
    /// True if the folder is new; false if the investigation already existed.
    pub is_new: bool,
    /// The files in the newest commit that are left out of the work tree.
    pub left_out: Vec<LeftOut>,
}

/// Clones all investigations on a remote, or those whose ids start or end with one of `ids`.
///
/// # Errors
///
/// Returns an error if the remote can't be listed or has no match. Errors for a single investigation are in its
/// outcome.
pub fn clone(
    store: &Store,
    git: &GitProgram,
    address: &str,
    ids: &[String],
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Cloned>, SyncError> {
    let address = &whole_address(address);
    into_root(store, || {
        tell(&format!("reading {}", shown_address(address)));
        let (advertised, places) = listed(store, git, address, ids)?;
        Ok(at_once(&places, |place| {
            tell(&format!("cloning {}", place.branch));
            let outcome = one(store, git, address, place, &advertised);
            Cloned { branch: place.branch.clone(), outcome }
        }))
    })
}

/// Creates the root before `bring`, and removes a new one afterwards if nothing came into it.
pub(super) fn into_root<T>(
    store: &Store,
    bring: impl FnOnce() -> Result<T, SyncError>,
) -> Result<T, SyncError> {
    let is_new = !store.root().exists();
    store.prepare()?;
    let brought = bring();
    if is_new && store.folders().is_empty() {
        let _ = fs::remove_file(store.root().join(".gitignore"));
        let _ = fs::remove_dir(store.root());
    }
    brought
}

/// Lists the references at an address, and the places of the investigations chosen by `ids`.
pub(super) fn listed(
    store: &Store,
    git: &GitProgram,
    address: &str,
    ids: &[String],
) -> Result<(Advertised, Vec<RemotePlace>), SyncError> {
    let patterns = ["refs/heads/*".to_owned(), "refs/tags/*".to_owned()];
    let advertised = git.ls_remote(store.root(), address, &patterns)?;
    match chosen(&advertised, ids) {
        Ok(places) => Ok((advertised, places)),
        Err(id) => Err(SyncError::NotThere { address: address.to_owned(), id }),
    }
}

/// Returns the branches that contain investigations: the matching branches of a hub, or HEAD of another repository.
pub(super) fn chosen(advertised: &Advertised, ids: &[String]) -> Result<Vec<RemotePlace>, String> {
    let branches = advertised.refs.keys().filter_map(|name| name.strip_prefix("refs/heads/"));
    let places: Vec<RemotePlace> = branches.map(RemotePlace::of_branch).collect();
    let hub: Vec<RemotePlace> = places.iter().filter(|place| place.id().is_some()).cloned().collect();
    if hub.is_empty() {
        let head = advertised.head.as_deref().and_then(|head| head.strip_prefix("refs/heads/"));
        // A bundle may lack a HEAD.
        let is_only = head.is_none() && places.len() == 1;
        let own = places.into_iter().find(|place| is_only || head.unwrap_or(BRANCH) == place.branch);
        return own.map(|own| vec![own]).ok_or_else(String::new);
    }
    let fits = |place: &RemotePlace, id: &str| {
        let (known, id) = (place.id().map(|id| id.to_string()).unwrap_or_default(), id.to_ascii_lowercase());
        known.starts_with(&id) || known.ends_with(&id)
    };
    if let Some(unknown) = ids.iter().find(|id| !hub.iter().any(|place| fits(place, id))) {
        return Err(unknown.clone());
    }
    let is_chosen = |place: &RemotePlace| ids.is_empty() || ids.iter().any(|id| fits(place, id));
    Ok(hub.into_iter().filter(is_chosen).collect())
}

fn one(
    store: &Store,
    git: &GitProgram,
    address: &str,
    place: &RemotePlace,
    advertised: &Advertised,
) -> Result<ClonedFolder, SyncError> {
    let known = |path| ClonedFolder { path, is_new: false, left_out: Vec::new() };
    if let Some(present) = place.id().and_then(|id| present(store, id)) {
        return Ok(known(present));
    }
    let name = format!(".tmp-{}-{}", place.branch.replace('/', "-"), process::id());
    let aside = store.root().join(&name);
    let built = build(store, git, address, place, advertised, &name, true);
    let outcome = built.and_then(|(id, left_out)| match present(store, id) {
        Some(present) => Ok(known(present)),
        None => {
            let path = store.root().join(id.to_string());
            match fs::rename(&aside, &path) {
                Ok(()) => Ok(ClonedFolder { path, is_new: true, left_out }),
                Err(source) => Err(io_error("rename the clone to", &path, source)),
            }
        }
    });
    // The first error is reported. A hidden folder may remain and is removed later.
    let _ = fs::remove_dir_all(&aside);
    outcome
}

/// Returns the folder of an existing investigation in the root.
pub(super) fn present(store: &Store, id: SessionId) -> Option<PathBuf> {
    match store.find(&id.to_string()) {
        Ok(path) => Some(path),
        Err(FindError::Twice { folders: [path, _], .. }) => Some(path),
        Err(_) => None,
    }
}

/// Builds the investigation in a folder in the root. If `is_remote` is true, configures the source as its remote.
/// Returns the id and the files left out of the work tree.
pub(super) fn build(
    store: &Store,
    git: &GitProgram,
    address: &str,
    place: &RemotePlace,
    advertised: &Advertised,
    name: &str,
    is_remote: bool,
) -> Result<(SessionId, Vec<LeftOut>), SyncError> {
    let aside = store.root().join(name);
    git.init(store.root(), name)?;
    store.configure(&aside)?;
    let (remote, tracking) = if is_remote {
        git.add_remote(&aside, BRANCH, DEFAULT_NAME, address, place)?;
        let settings = git.settings(&aside)?;
        let Some(upstream) = settings.upstream(BRANCH) else {
            return Err(SyncError::NoRemote { path: aside, branch: BRANCH.to_owned() });
        };
        (upstream.remote, upstream.tracking)
    } else {
        // git does not fetch into the current branch.
        (address.to_owned(), format!("refs/remotes/{DEFAULT_NAME}/{BRANCH}"))
    };
    let tags = advertised.refs.keys().filter_map(|reference| place.tag(reference));
    let tags = tags.map(|tag| (place.tag_ref(tag), format!("refs/tags/{tag}")));
    let wanted: Vec<_> = std::iter::once((place.branch_ref(), tracking.clone())).chain(tags).collect();
    git.fetch(&aside, &remote, &wanted)?;
    let Some(tip) = git.references(&aside)?.commit(&tracking) else {
        let said = format!("the remote did not send the branch {}", place.branch);
        return Err(
            RemoteError::Failed { what: format!("fetch from {}", shown_address(address)), said }.into()
        );
    };
    let read = store.inspect(&aside, tip);
    let read = read.map_err(|error| error.instead_of(&aside, &shown_address(address)))?;
    let id = read.investigation.meta().id;
    // Otherwise, an investigation could replace another one by using its name.
    if place.id().is_some_and(|named| named != id) {
        return Err(SyncError::Misnamed { branch: place.branch.clone(), id });
    }
    let left_out = store.open(&aside)?.left_out(None, tip)?;
    // A name that is not UTF-8 can't be passed to git, so git handles that file as usual.
    let files = left_out.iter().map(|it| it.file.as_str()).filter(|file| !file.contains('\u{fffd}'));
    let files: Vec<&str> = files.collect();
    git.check_out(&aside, tip, &files)?;
    if !is_remote {
        git.remove_reference(&aside, &tracking)?;
    }
    Ok((id, left_out))
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> SyncError {
    store::io_error(action, path)(source).into()
}
