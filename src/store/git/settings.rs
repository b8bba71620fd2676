//! Whether git's settings are still those that a repository was opened with: its user's name, what is synced.
//!
//! They are read when a repository is opened, and a server holds it open for days. So whoever writes asks first, by a
//! look at each of the files that they came from or could come from, and opens it again where one has changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gix::config::Source;

use super::platform::file_identity;
use super::{Configuration, Git};

/// The files of the settings, as they were.
pub(super) struct Settings {
    files: BTreeMap<PathBuf, Option<State>>,
}

/// What is another once a file has been written.
#[derive(PartialEq, Eq)]
struct State {
    identity: String,
    len: u64,
    modified: Option<SystemTime>,
}

impl Settings {
    pub(super) fn of(repository: &gix::Repository, git_dir: &Path, configuration: Configuration) -> Settings {
        let mut paths = vec![git_dir.join("config")];
        // Included files are among these.
        let snapshot = repository.config_snapshot();
        paths.extend(snapshot.plumbing().sections().filter_map(|section| section.meta().path.clone()));
        if configuration == Configuration::User {
            // One that is not there yet may come.
            let sources = [Source::System, Source::Git, Source::User];
            let places = sources
                .iter()
                .filter_map(|source| source.storage_location(&mut |name| std::env::var_os(name)));
            paths.extend(places);
        }
        Settings { files: paths.into_iter().map(|path| (path.clone(), state(&path))).collect() }
    }
}

impl Git {
    /// Whether the files that its settings came from are as they were when it was opened.
    pub fn has_current_settings(&self) -> bool {
        self.settings.files.iter().all(|(path, before)| state(path) == *before)
    }
}

fn state(path: &Path) -> Option<State> {
    let metadata = fs::metadata(path).ok()?;
    Some(State {
        identity: file_identity(&metadata),
        len: metadata.len(),
        modified: metadata.modified().ok(),
    })
}
