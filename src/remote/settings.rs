//! The remotes of a repository, in git's own configuration, so that a plain `git pull` and `git push` do the same.

use std::collections::BTreeMap;
use std::path::Path;

use super::place::{shown_address, whole_address};
use super::process::Call;
use super::{GitProgram, Place, RemoteError, Result, is_address};

/// What a repository's configuration says of remotes.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The values of each key, in their order.
    values: BTreeMap<String, Vec<String>>,
}

/// Where a branch is synced with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The name of the remote.
    pub remote: String,
    /// Its address, as it is configured.
    pub address: String,
    /// The branch and the tags there.
    pub place: Place,
    /// The reference here that holds what was last seen there.
    pub tracking: String,
}

impl Settings {
    fn last(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.last().map(String::as_str)
    }

    /// The remotes, each with its address, by name.
    pub fn remotes(&self) -> Vec<(&str, &str)> {
        let name = |key: &'_ str| {
            key.strip_prefix("remote.").and_then(|rest| rest.strip_suffix(".url")).map(str::len)
        };
        let remote = |key: &String| name(key).map(|length| "remote.".len()..("remote.".len() + length));
        let found = self.values.keys().filter_map(|key| remote(key).map(|range| (&key[range], key)));
        found.filter_map(|(name, key)| Some((name, self.last(key)?))).collect()
    }

    /// What the branch here is synced with: the remote, and the branch there.
    pub fn upstream(&self, branch: &str) -> Option<Upstream> {
        let remote = self.last(&format!("branch.{branch}.remote"))?;
        let merge = self.last(&format!("branch.{branch}.merge"))?;
        let address = self.last(&format!("remote.{remote}.url"))?;
        Some(Upstream {
            remote: remote.to_owned(),
            address: address.to_owned(),
            place: Place::of_branch(merge.strip_prefix("refs/heads/")?),
            tracking: format!("refs/remotes/{remote}/{branch}"),
        })
    }

    /// Where the remote has an investigation, by what would be pushed there.
    pub fn place(&self, remote: &str) -> Option<Place> {
        let specs = self.values.get(&format!("remote.{remote}.push"))?;
        let branch =
            specs.iter().find_map(|spec| spec.split_once(":refs/heads/").map(|(_, branch)| branch))?;
        Some(Place::of_branch(branch))
    }

    /// Whether some remote is asked for objects only when they are needed.
    pub fn is_partial(&self) -> bool {
        let is_promisor = |key: &str| key.starts_with("remote.") && key.ends_with(".promisor");
        self.values.keys().any(|key| is_promisor(key) && self.last(key) == Some("true"))
    }
}

impl GitProgram {
    /// What the configuration says of remotes.
    ///
    /// # Errors
    ///
    /// Whatever git says.
    pub fn settings(&self, repository: &Path) -> Result<Settings> {
        let call = Call { what: "git config", ..Call::default() };
        let ran = self.run(repository, &["config", "--null", "--get-regexp", r"^(remote|branch)\."], call)?;
        // There is none.
        if ran.status == Some(1) {
            return Ok(Settings::default());
        }
        let text = ran.succeeded("git config")?.text();
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in text.split_terminator('\0') {
            // A key without a value is true.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            values.entry(key.to_owned()).or_default().push(value.to_owned());
        }
        Ok(Settings { values })
    }

    /// One value of the configuration that is in force in that folder.
    ///
    /// # Errors
    ///
    /// Whatever git says.
    pub fn setting(&self, folder: &Path, key: &str) -> Result<Option<String>> {
        let call = Call { what: "git config", ..Call::default() };
        let ran = self.run(folder, &["config", "--get", key], call)?;
        match ran.status {
            Some(1) => Ok(None),
            _ => Ok(Some(ran.succeeded("git config")?.text().trim_end_matches('\n').to_owned())),
        }
    }

    /// Writes a value into the configuration of the repository that the folder is in. Says whether there is one.
    ///
    /// # Errors
    ///
    /// Whatever git says.
    pub fn set(&self, folder: &Path, key: &str, value: &str) -> Result<bool> {
        let is_inside = self.run(folder, &["rev-parse", "--git-dir"], Call::default())?.status == Some(0);
        if is_inside {
            self.configure(folder, &["--replace-all", key, value])?;
        }
        Ok(is_inside)
    }

    /// Adds a remote, where an investigation is at `place`. The branch here is synced with it, unless it is with another.
    /// Added again, it is as it was.
    ///
    /// # Errors
    ///
    /// An address that is none, a name that is taken, and whatever git says.
    pub fn add_remote(
        &self,
        repository: &Path,
        branch: &str,
        name: &str,
        address: &str,
        place: &Place,
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
        // Without `+`: what was rewritten there is refused here.
        let mut entries = vec![
            (key("url"), address),
            (fetch.clone(), format!("{there}:refs/remotes/{name}/{branch}")),
            (fetch, format!("{there_tags}:{here_tags}")),
            (push.clone(), format!("{here}:{there}")),
            (push, format!("{here_tags}:{there_tags}")),
            // Else those of other investigations would come along by their names there.
            (key("tagOpt"), "--no-tags".to_owned()),
            // What was acknowledged keeps its id, whatever the user's own setting is.
            ("pull.rebase".to_owned(), "false".to_owned()),
            // A plain merge takes no proposal for another with like texts.
            (format!("branch.{branch}.mergeOptions"), "-Xfind-renames=100%".to_owned()),
        ];
        let remote = format!("branch.{branch}.remote");
        if settings.last(&remote).is_none_or(|other| other == name) {
            entries.push((format!("branch.{branch}.merge"), there));
            // The last one: with it, the branch is synced.
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

    fn configure(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        let arguments = [&["config", "--local"], arguments].concat();
        let what = "writing git's configuration";
        self.run(folder, &arguments, Call { what, ..Call::default() })?.succeeded(what)?;
        Ok(())
    }

    /// Refuses names that git does not allow.
    fn is_name(&self, folder: &Path, remote: &str, place: &Place) -> Result<()> {
        let is_reference = |name: String| {
            let ran = self.run(
                folder,
                &["check-ref-format", &name],
                Call { what: "git check-ref-format", ..Call::default() },
            );
            ran.map(|ran| ran.status == Some(0))
        };
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
