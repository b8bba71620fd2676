//! What a remote has, fetch, and push.

use std::collections::BTreeMap;
use std::path::Path;

use super::place::Reference;
use super::process::Call;
use super::{GitProgram, ObjectName, RemoteError, Result, is_address, shown_address};
use crate::text::shorten;

/// What a remote says that it has.
#[derive(Clone, Debug, Default)]
pub struct Advertised {
    /// Its branches and tags by their full names, as far as they were asked for.
    pub refs: BTreeMap<String, ObjectName>,
    /// The branch that its HEAD is, by its full name.
    pub head: Option<String>,
}

/// What became of a fetch that reached its remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Every reference is as it is there.
    All,
    /// One would not have gone forward, or could not be written; the objects are here.
    Rejected {
        /// In git's words.
        said: String,
    },
}

/// What became of a push that reached its remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has said so of each reference.
    Accepted,
    /// At least one reference was refused.
    Refused {
        /// In the words of git and of the remote.
        said: String,
        /// Whether each refusal may be that of a lost race: git, here or there, found the reference at another commit, or
        /// locked. A refusal by a hook or a host is not.
        may_pass: bool,
    },
}

/// What git says in its own status of a reference that it could not move.
const LOST: [&str; 5] = [
    "cannot lock ref",
    "failed to lock",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
];

impl GitProgram {
    /// All that a remote has of what fits the patterns, by one call. `remote` is a name or an address.
    ///
    /// # Errors
    ///
    /// A remote that can't be reached, or does not answer as one.
    pub fn ls_remote(&self, folder: &Path, remote: &str, patterns: &[String]) -> Result<Advertised> {
        is_address(remote)?;
        let what = format!("asking {}", shown_address(remote));
        let mut arguments = vec!["ls-remote", "--quiet", "--symref", "--", remote, "HEAD"];
        arguments.extend(patterns.iter().map(String::as_str));
        let call = Call { what: &what, exchange: true, ..Call::default() };
        let ran = self.run(folder, &arguments, call)?.succeeded(&what)?;
        let mut advertised = Advertised::default();
        for line in ran.text().lines() {
            let unreadable = || RemoteError::Unreadable { what: what.clone(), answer: shorten(line, 80) };
            let (value, name) = line.split_once('\t').ok_or_else(unreadable)?;
            if let Some(branch) = value.strip_prefix("ref: ") {
                advertised.head = (name == "HEAD").then(|| branch.to_owned()).or(advertised.head);
            // What a tag points to comes beside it.
            } else if (name.starts_with("refs/heads/") || name.starts_with("refs/tags/"))
                && !name.ends_with("^{}")
            {
                advertised.refs.insert(name.to_owned(), value.parse().map_err(|()| unreadable())?);
            }
        }
        Ok(advertised)
    }

    /// Fetches references: each as it is called there, and here. None is moved otherwise than forward, and none removed.
    ///
    /// # Errors
    ///
    /// A remote that can't be reached, or whose objects are not sound.
    pub fn fetch(&self, repository: &Path, remote: &str, refs: &[(String, String)]) -> Result<Fetched> {
        is_address(remote)?;
        let what = format!("fetch from {}", shown_address(remote));
        let mut arguments = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            // A shallow remote has no more to give.
            "--update-shallow",
            // Nothing but what is named here: not what the configuration would move along.
            "--refmap=",
        ];
        if repository.join(".git/shallow").exists() {
            arguments.push("--unshallow");
        }
        let specs: Vec<String> = refs.iter().map(|(there, here)| format!("{there}:{here}")).collect();
        arguments.extend(["--", remote]);
        arguments.extend(specs.iter().map(String::as_str));
        let ran =
            self.run(repository, &arguments, Call { what: &what, exchange: true, ..Call::default() })?;
        match ran.status {
            // The status of references that were rejected; others end with 128.
            Some(1) => Ok(Fetched::Rejected { said: ran.said }),
            _ => ran.succeeded(&what).map(|_| Fetched::All),
        }
    }

    /// Fetches objects that are not here, all in one go.
    ///
    /// # Errors
    ///
    /// As [`GitProgram::fetch`].
    pub fn fetch_objects(&self, repository: &Path, remote: &str, objects: &[ObjectName]) -> Result<()> {
        is_address(remote)?;
        let what = format!("fetch of {} objects from {}", objects.len(), shown_address(remote));
        let names: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let arguments = [
            // What is asked for is known: nothing that is here is to be compared.
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--refmap=",
            "--no-filter",
            "--stdin",
            "--",
            remote,
        ];
        let call = Call { what: &what, exchange: true, input: Some(names.into_bytes()), ..Call::default() };
        self.run(repository, &arguments, call)?.succeeded(&what)?;
        Ok(())
    }

    /// Pushes objects to references there. The remote accepts only what goes forward.
    ///
    /// # Errors
    ///
    /// A remote that can't be reached, or a connection that was cut: then nobody knows what it has accepted.
    pub fn push(&self, repository: &Path, remote: &str, refs: &[Reference]) -> Result<Pushed> {
        is_address(remote)?;
        let what = format!("push to {}", shown_address(remote));
        let mut arguments = vec![
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--recurse-submodules=no",
            // A key that can't be used must not keep anything from being shared.
            "--no-signed",
            "--",
            remote,
        ];
        let specs: Vec<String> = refs.iter().map(|(there, object)| format!("{object}:{there}")).collect();
        arguments.extend(specs.iter().map(String::as_str));
        let call = Call { what: &what, exchange: true, hooks: true, ..Call::default() };
        let ran = self.run(repository, &arguments, call)?;
        let text = ran.text();
        // `=` is what is there already. Flag, both names, what became of it.
        let status =
            |line: &str| line.split_once('\t').map(|(flag, rest)| (flag.to_owned(), rest.to_owned()));
        let told: Vec<(String, String)> = text.lines().filter_map(status).collect();
        let refused: Vec<&str> = told
            .iter()
            .filter(|(flag, _)| flag == "!")
            .filter_map(|(_, rest)| rest.split('\t').nth(1))
            .collect();
        if !refused.is_empty() {
            let reasons = crate::text::one_line(&refused.join(", "));
            let remote: Vec<&str> = ran.said.lines().filter(|line| line.starts_with("remote:")).collect();
            let said = if remote.is_empty() { reasons } else { format!("{reasons}\n{}", remote.join("\n")) };
            // The words of hooks are not looked at: they stand in lines of their own.
            let may_pass = refused.iter().all(|status| {
                status.starts_with("[rejected]") || LOST.iter().any(|words| status.contains(words))
            });
            return Ok(Pushed::Refused { said, may_pass });
        }
        let ran = ran.succeeded(&what)?;
        if told.len() < refs.len() {
            let answer = shorten(&ran.text(), 200);
            return Err(RemoteError::Unreadable { what, answer });
        }
        Ok(Pushed::Accepted)
    }
}
