//! Listing, fetch, and push.

use std::collections::BTreeMap;
use std::path::Path;

use super::place::Reference;
use super::process::Call;
use super::{GitProgram, ObjectName, RemoteError, Result, is_address, shown_address};
use crate::text::shorten;

/// The references that a remote advertises.
#[derive(Clone, Debug, Default)]
pub struct Advertised {
    /// Its branches and tags by their full names, as far as requested.
    pub refs: BTreeMap<String, ObjectName>,
    /// The branch of its HEAD, by its full name.
    pub head: Option<String>,
}

/// The outcome of a fetch that reached its remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Every reference is up to date.
    All,
    /// One is not a fast-forward, or could not be written; the objects have been fetched.
    Rejected {
        /// git's message.
        said: String,
    },
}

/// The outcome of a push that reached its remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has confirmed each reference.
    Accepted,
    /// At least one reference was refused.
    Refused {
        /// The messages of git and of the remote.
        said: String,
        /// Whether each refusal may be that of a lost race: git, here or there, found the reference at another commit, or
        /// locked. Not for a refusal by a hook or a host.
        may_pass: bool,
    },
}

/// git's own status messages for a reference that it could not move.
const LOST: [&str; 5] = [
    "cannot lock ref",
    "failed to lock",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
];

impl GitProgram {
    /// Lists the references of a remote that match the patterns, in one call. `remote` is a name or an address.
    ///
    /// # Errors
    ///
    /// The remote can't be reached, or is not a repository.
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
            // The target of an annotated tag is on a line of its own.
            } else if (name.starts_with("refs/heads/") || name.starts_with("refs/tags/"))
                && !name.ends_with("^{}")
            {
                advertised.refs.insert(name.to_owned(), value.parse().map_err(|()| unreadable())?);
            }
        }
        Ok(advertised)
    }

    /// Fetches references, each with its remote and local name. They move only forward, and none is removed.
    ///
    /// # Errors
    ///
    /// The remote can't be reached, or its objects are damaged.
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
            // A shallow remote has no more to offer.
            "--update-shallow",
            // Only the named references: no others that the configuration would move along.
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
            // The status of rejected references; other errors end with 128.
            Some(1) => Ok(Fetched::Rejected { said: ran.said }),
            _ => ran.succeeded(&what).map(|_| Fetched::All),
        }
    }

    /// Fetches missing objects, in one exchange.
    ///
    /// # Errors
    ///
    /// As [`GitProgram::fetch`].
    pub fn fetch_objects(&self, repository: &Path, remote: &str, objects: &[ObjectName]) -> Result<()> {
        is_address(remote)?;
        let what = format!("fetch of {} objects from {}", objects.len(), shown_address(remote));
        let names: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let arguments = [
            // The wanted objects are known: local ones need not be compared.
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

    /// Pushes objects to references of the remote, which accepts only fast-forwards.
    ///
    /// # Errors
    ///
    /// The remote can't be reached, or the connection was cut: then it is unknown what it has accepted.
    pub fn push(&self, repository: &Path, remote: &str, refs: &[Reference]) -> Result<Pushed> {
        is_address(remote)?;
        let what = format!("push to {}", shown_address(remote));
        let mut arguments = vec![
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--recurse-submodules=no",
            // An unusable key must not prevent sharing.
            "--no-signed",
            "--",
            remote,
        ];
        let specs: Vec<String> = refs.iter().map(|(there, object)| format!("{object}:{there}")).collect();
        arguments.extend(specs.iter().map(String::as_str));
        let call = Call { what: &what, exchange: true, hooks: true, ..Call::default() };
        let ran = self.run(repository, &arguments, call)?;
        let text = ran.text();
        // `=` marks an unchanged reference. The fields: flag, both names, status.
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
            // The messages of hooks are ignored: they are on lines of their own.
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
