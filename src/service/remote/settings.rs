//! A repository's remotes, configured so that plain `git pull` and `git push` commands transfer the same references as
//! a sync. Only tags are not fetched by a plain `git pull`, because pruning would delete those that were not sent yet.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::place::{shown_address, whole_address};
use super::process::GitCall;
use super::{GitProgram, LocalReferences, RemoteError, RemotePlace, Result, is_address};
use crate::store::MERGE_DRIVER;

/// The branch that each investigation begins with.
const MAIN: &str = "main";
/// The key for the address of a remote at the last sync.
const SYNCED: &str = "totSynced";
/// The refspec that keeps tags out of a plain fetch. No fetch can then delete one that is not on the remote yet.
const NO_TAGS: &str = "^refs/tags/*";

/// The effective configuration of a folder, as git reads it from all configuration files.
#[derive(Debug, Default)]
pub struct Settings {
    /// The settings in file order. The last value of a key wins.
    entries: Vec<Setting>,
}

#[derive(Debug)]
struct Setting {
    /// The key, with section and name in lowercase.
    key: String,
    /// The value. Absent for a key without `=`, which means true.
    value: Option<String>,
    /// True if the setting is in the repository's configuration rather than the user's.
    is_local: bool,
    /// The file that contains the setting, as named by git.
    origin: String,
}

/// The remote and the branch with which a local branch is synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The name of the remote.
    pub remote: String,
    /// The address of the remote, as configured.
    pub address: String,
    /// The branch and the tags on the remote.
    pub place: RemotePlace,
    /// The local reference to the last known commit of the remote branch.
    pub tracking: String,
}

impl Settings {
    /// Parses the output of `git config --null --show-scope --show-origin --list`.
    fn read(text: &str) -> Settings {
        let mut settings = Settings::default();
        let mut parts = text.split_terminator('\0');
        while let (Some(scope), Some(origin), Some(entry)) = (parts.next(), parts.next(), parts.next()) {
            let (key, value) =
                entry.split_once('\n').map_or((entry, None), |(key, value)| (key, Some(value)));
            settings.entries.push(Setting {
                key: key.to_owned(),
                value: value.map(str::to_owned),
                is_local: ["local", "worktree"].contains(&scope),
                origin: origin.to_owned(),
            });
        }
        settings
    }

    /// Returns the effective value of a key.
    pub fn last(&self, key: &str) -> Option<&str> {
        let entry = self.entries.iter().rfind(|entry| entry.key == key)?;
        Some(entry.value.as_deref().unwrap_or("true"))
    }

    /// Returns the key, value and file of each of the user's own settings, excluding the repository's settings.
    pub(super) fn users_own(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let own = self.entries.iter().filter(|entry| !entry.is_local);
        own.filter_map(|entry| Some((entry.key.as_str(), entry.value.as_deref()?, entry.origin.as_str())))
    }

    /// Returns the remotes by name, with their addresses.
    pub fn remotes(&self) -> Vec<(&str, &str)> {
        let keys = self.entries.iter().map(|entry| entry.key.as_str());
        let remotes: BTreeMap<_, _> = keys
            .filter_map(|key| Some((key.strip_prefix("remote.")?.strip_suffix(".url")?, self.last(key)?)))
            .collect();
        remotes.into_iter().collect()
    }

    /// Returns the upstream of the local branch.
    pub fn upstream(&self, branch: &str) -> Option<Upstream> {
        let remote = self.last(&format!("branch.{branch}.remote"))?;
        let merge = self.last(&format!("branch.{branch}.merge"))?;
        let address = self.last(&format!("remote.{remote}.url"))?;
        Some(Upstream {
            remote: remote.to_owned(),
            address: address.to_owned(),
            place: RemotePlace::of_branch(merge.strip_prefix("refs/heads/")?),
            tracking: format!("refs/remotes/{remote}/{branch}"),
        })
    }

    /// Returns the address of a remote at the last sync, without a password. See [`GitProgram::mark_synced`].
    pub fn synced(&self, remote: &str) -> Option<&str> {
        self.last(&format!("remote.{remote}.totsynced"))
    }

    /// Returns the address to which a remote is pushed, if it is not the one from which it is fetched.
    pub fn other_push_address(&self, upstream: &Upstream) -> Option<String> {
        if let Some(own) = self.last(&format!("remote.{}.pushurl", upstream.remote)) {
            return Some(own.to_owned()).filter(|own| *own != upstream.address);
        }
        let replaced = |rule: &Setting| {
            let base = rule.key.strip_prefix("url.")?.strip_suffix(".pushinsteadof")?;
            Some((base.to_owned(), upstream.address.strip_prefix(rule.value.as_deref()?)?))
        };
        let longest = self.entries.iter().filter_map(replaced).min_by_key(|(_, rest)| rest.len());
        longest.map(|(base, rest)| base + rest)
    }

    /// Returns the branch that is synced, or `None` if it is not certain. Another branch, such as an experiment, is the
    /// user's own. It may track the same branch on the remote.
    pub fn own_branch<'a>(&self, here: &'a LocalReferences) -> Option<&'a str> {
        let upstream = |branch: &str| self.upstream(branch).map(|it| (it.remote, it.place));
        let current = here.branch.as_deref().and_then(upstream);
        let mut candidates: Vec<&str> = here.branches().filter(|branch| upstream(branch).is_some()).collect();
        match current {
            Some(current) => candidates.retain(|branch| upstream(branch).as_ref() == Some(&current)),
            None if candidates.is_empty() => candidates.extend(here.branches()),
            None => {}
        }
        // The second is the branch of a plain `git clone`.
        let is_named = |branch: &&&str| upstream(branch).is_some_and(|(_, place)| place.branch == ***branch);
        let named = candidates.iter().find(|branch| **branch == MAIN);
        let named = named.or_else(|| candidates.iter().find(is_named));
        named.or(candidates.first().filter(|_| candidates.len() == 1)).copied()
    }

    /// Returns the place of an investigation on the remote, as defined by the push settings.
    pub fn place(&self, remote: &str) -> Option<RemotePlace> {
        let key = format!("remote.{remote}.push");
        let specs = self.entries.iter().filter(|entry| entry.key == key);
        let branch = specs.filter_map(|spec| spec.value.as_deref()?.split_once(":refs/heads/")).next()?.1;
        Some(RemotePlace::of_branch(branch))
    }

    /// Returns whether a remote may be a promisor, from which git fetches objects on demand.
    pub fn is_partial(&self) -> bool {
        let is_promisor = |key: &str| key == "extensions.partialclone" || key.ends_with(".promisor");
        self.entries.iter().any(|entry| is_promisor(&entry.key))
    }

    /// Returns the first key for a program that only the repository's configuration names.
    fn strange_program(&self) -> Option<&str> {
        let is_own = |strange: &Setting| {
            let own = |entry: &Setting| entry.key == strange.key && entry.value == strange.value;
            self.entries.iter().any(|entry| !entry.is_local && own(entry))
        };
        let is_strange = |entry: &&Setting| {
            let is_set = entry.value.as_ref().is_some_and(|value| !value.is_empty());
            entry.is_local && is_set && names_program(&entry.key) && !is_own(entry)
        };
        self.entries.iter().find(is_strange).map(|entry| entry.key.as_str())
    }

    /// Returns the folder of the user's hooks. A relative one would be in the investigation.
    fn hooks_path(&self) -> Option<&str> {
        self.users_own().filter(|(key, ..)| *key == "core.hookspath").last().map(|(_, value, _)| value)
    }

    /// Returns the settings that turn off all filters and merge drivers but our own, or the name of one that can't be turned
    /// off. Attributes in a tree can name the user's own too.
    fn without_programs(&self) -> std::result::Result<Vec<(String, String)>, &str> {
        let mut off = Vec::new();
        let is_program = |key: &&str| key.starts_with("filter.") || key.starts_with("merge.");
        for key in self.entries.iter().map(|entry| entry.key.as_str()).filter(is_program) {
            if key.contains('\u{fffd}') {
                return Err(key);
            }
            let value = match key.rsplit_once('.').map_or("", |(_, name)| name) {
                "clean" | "smudge" | "process" => "",
                "required" => "false",
                "driver" => MERGE_DRIVER,
                _ => continue,
            };
            off.push((key.to_owned(), value.to_owned()));
        }
        Ok(off)
    }
}

/// Returns whether an exchange with a remote, or maintenance, starts a program that the key names.
fn names_program(key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    let name = key.rsplit('.').next().unwrap_or_default();
    matches!(
        (section, name),
        ("core", "alternaterefscommand" | "askpass" | "gitproxy" | "hookspath" | "sshcommand")
            | ("credential", "helper")
            | ("gc", "recentobjectshook")
            | ("remote", "receivepack" | "uploadpack" | "vcs")
    )
}

/// Returns whether git resolves the path in the same way in every folder.
pub(super) fn is_whole(path: &str) -> bool {
    path.starts_with(['~', '%']) || Path::new(path).is_absolute()
}

impl GitProgram {
    /// Returns settings that keep git from starting programs that the user has not chosen: those that files from others
    /// name in attributes, and those that only the configuration of the repository names.
    ///
    /// # Errors
    ///
    /// Returns an error if the call can't do without such a program.
    pub(super) fn restrictions(&self, folder: &Path, call: &GitCall<'_>) -> Result<Vec<(String, String)>> {
        let settings = self.settings(folder)?;
        let strange = |named: &str| RemoteError::StrangeProgram {
            folder: folder.display().to_string(),
            named: crate::text::one_line(named),
        };
        // In a partial clone, any call may fetch.
        if (call.exchange || call.upkeep || settings.is_partial())
            && let Some(key) = settings.strange_program()
        {
            return Err(strange(key));
        }
        let mut restrictions = settings.without_programs().map_err(strange)?;
        if let Some(hook) = call.hook {
            let users_own = settings.hooks_path();
            let git_dir = if folder.join(".git").exists() { ".git/" } else { "" };
            let hook = format!("{git_dir}hooks/{hook}");
            if users_own.is_none() && folder.join(&hook).exists() {
                return Err(strange(&hook));
            }
            let path = users_own.filter(|path| is_whole(path)).unwrap_or("/dev/null");
            restrictions.push(("core.hooksPath".to_owned(), path.to_owned()));
        }
        Ok(restrictions)
    }

    /// Returns the configuration of the folder. It is cached until this program or one of its clones changes the
    /// configuration.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn settings(&self, folder: &Path) -> Result<Arc<Settings>> {
        if let Some(known) = self.known().get(folder) {
            return Ok(Arc::clone(known));
        }
        let arguments = ["config", "--null", "--show-scope", "--show-origin", "--list"];
        // No hook runs, and the user's own setting for hooks must be in the list.
        let call = GitCall { hook: Some(""), ..GitCall::default() };
        let ran = self.start(folder, &arguments, call, &[])?.succeeded()?;
        let settings = Arc::new(Settings::read(&ran.text()));
        self.known().insert(folder.to_owned(), Arc::clone(&settings));
        Ok(settings)
    }

    /// Writes a value to the configuration of the repository that contains the folder. Returns false if there is no
    /// such repository.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn set(&self, folder: &Path, key: &str, value: &str) -> Result<bool> {
        let is_inside = self.here(folder, &["rev-parse", "--git-dir"])?.status == Some(0);
        if is_inside {
            self.configure(folder, &["--replace-all", key, value])?;
        }
        Ok(is_inside)
    }

    /// Adds a remote with the investigation at `place`. Makes the local branch sync with this remote, unless it
    /// already syncs with another. Adding the same remote again changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid, the name is in use, or git fails.
    pub fn add_remote(
        &self,
        repository: &Path,
        branch: &str,
        name: &str,
        address: &str,
        place: &RemotePlace,
    ) -> Result<()> {
        is_address(address)?;
        self.is_name(repository, name, place)?;
        let address = whole_address(address);
        let settings = self.settings(repository)?;
        let key = |last: &str| format!("remote.{name}.{last}");
        if let Some(taken) = settings.last(&key("url")).filter(|taken| **taken != address) {
            return Err(RemoteError::Taken { name: name.to_owned(), address: shown_address(taken) });
        }
        let (here, there) = (format!("refs/heads/{branch}"), place.branch_ref());
        let (here_tags, there_tags) = ("refs/tags/*", place.tag_ref("*"));
        let (fetch, push) = (key("fetch"), key("push"));
        // Without `+`, a rewritten branch is refused.
        let mut entries = vec![
            (key(SYNCED), shown_address(&address)),
            (key("url"), address),
            (fetch.clone(), format!("{there}:refs/remotes/{name}/{branch}")),
            (fetch, NO_TAGS.to_owned()),
            (push.clone(), format!("{here}:{there}")),
            (push, format!("{here_tags}:{there_tags}")),
            // Otherwise the tags of other investigations would also be fetched.
            (key("tagOpt"), "--no-tags".to_owned()),
        ];
        let remote = format!("branch.{branch}.remote");
        if settings.last(&remote).is_none_or(|other| other == name) {
            entries.push((format!("branch.{branch}.merge"), there));
            // Written last: this setting turns on syncing.
            entries.push((remote, name.to_owned()));
        }
        let mut seen = Vec::new();
        for (key, value) in &entries {
            let how = if seen.contains(&key) { "--add" } else { "--replace-all" };
            self.configure(repository, &[how, key, value])?;
            seen.push(key);
        }
        Ok(())
    }

    /// Stores the address of the remote, so that another one is recognized as the user's choice.
    ///
    /// # Errors
    ///
    /// Returns an error if git fails.
    pub fn mark_synced(&self, repository: &Path, upstream: &Upstream) -> Result<()> {
        let address = shown_address(&upstream.address);
        if self.settings(repository)?.synced(&upstream.remote) == Some(&address) {
            return Ok(());
        }
        let key = format!("remote.{}.{SYNCED}", upstream.remote);
        self.configure(repository, &["--replace-all", &key, &address])
    }

    fn configure(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        let arguments = [&["config", "--local"], arguments].concat();
        let call = GitCall { what: "writing git's configuration", ..GitCall::default() };
        let ran = self.start(folder, &arguments, call, &[]);
        self.known().remove(folder);
        ran?.succeeded().map(drop)
    }

    /// Checks names against git's rules.
    fn is_name(&self, folder: &Path, remote: &str, place: &RemotePlace) -> Result<()> {
        let is_reference =
            |name: String| self.here(folder, &["check-ref-format", &name]).map(|ran| ran.status == Some(0));
        if remote.starts_with('-')
            || remote.contains('/')
            || !is_reference(format!("refs/remotes/{remote}/x"))?
        {
            return Err(RemoteError::Name { name: remote.to_owned(), what: "the name of a remote" });
        }
        match is_reference(place.branch_ref())? {
            true => Ok(()),
            false => Err(RemoteError::Name { name: place.branch.clone(), what: "the name of a branch" }),
        }
    }
}
