//! Listing, fetching and pushing.

use std::collections::BTreeMap;
use std::path::Path;

use super::place::RemoteReference;
use super::process::{GitCall, clean};
use super::{GitProgram, ObjectName, RemoteError, Result, is_address, shown_address};
use crate::text::shorten;

/// The references that a remote advertises.
#[derive(Clone, Debug, Default)]
pub struct Advertised {
    /// The requested branches and tags, by full name.
    pub refs: BTreeMap<String, ObjectName>,
    /// The full name of the branch that the remote's HEAD refers to.
    pub head: Option<String>,
}

/// The outcome of a push that reached its remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote confirmed each reference.
    Accepted {
        /// The lines that the remote printed, such as the address of a page, without git's `remote:`.
        said: Vec<String>,
    },
    /// At least one reference was refused.
    Refused {
        /// The messages from git and the remote.
        said: String,
        /// True if every refusal may be due to a lost race: the reference was locked or at another commit. False if a
        /// hook or a host refused.
        may_pass: bool,
    },
}

/// git's status messages for references that it could not move.
const LOST: [&str; 5] = [
    "cannot lock ref",
    "failed to lock",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
];

/// A fetch that changes nothing beyond what it is asked for.
const FETCH: &[&str] = &[
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    // Fetch only the named references, not others from the configuration.
    "--refmap=",
];

impl GitProgram {
    /// Lists the references on a remote that match the patterns, in one call. `remote` is a name or an address.
    ///
    /// # Errors
    ///
    /// Returns an error if the remote can't be reached or is not a repository.
    pub fn ls_remote(&self, folder: &Path, remote: &str, patterns: &[String]) -> Result<Advertised> {
        is_address(remote)?;
        let what = format!("reading {}", shown_address(remote));
        let mut arguments = vec!["ls-remote", "--quiet", "--symref", "--", remote, "HEAD"];
        arguments.extend(patterns.iter().map(String::as_str));
        let call = GitCall { what: &what, exchange: true, ..GitCall::default() };
        let ran = self.run(folder, &arguments, call)?.succeeded()?;
        let mut advertised = Advertised::default();
        for line in ran.text().lines() {
            let unreadable = || ran.unreadable(line);
            let (value, name) = line.split_once('\t').ok_or_else(unreadable)?;
            if let Some(branch) = value.strip_prefix("ref: ") {
                advertised.head = (name == "HEAD").then(|| branch.to_owned()).or(advertised.head);
            // The target of an annotated tag is on a separate line.
            } else if (name.starts_with("refs/heads/") || name.starts_with("refs/tags/"))
                && !name.ends_with("^{}")
            {
                advertised.refs.insert(name.to_owned(), value.parse().map_err(|()| unreadable())?);
            }
        }
        Ok(advertised)
    }

    /// Fetches references, given by their remote and local names. References only move forward and are never removed.
    /// Returns git's message if it rejected some of them.
    ///
    /// # Errors
    ///
    /// Returns an error if the remote can't be reached or its objects are damaged.
    pub fn fetch(
        &self,
        repository: &Path,
        remote: &str,
        refs: &[(String, String)],
    ) -> Result<Option<String>> {
        is_address(remote)?;
        let what = format!("fetch from {}", shown_address(remote));
        // A shallow remote cannot send a complete history.
        let mut arguments = [FETCH, &["--update-shallow"]].concat();
        if repository.join(".git/shallow").exists() {
            arguments.push("--unshallow");
        }
        let specs: Vec<String> = refs.iter().map(|(there, here)| format!("{there}:{here}")).collect();
        arguments.extend(["--", remote]);
        arguments.extend(specs.iter().map(String::as_str));
        let call = GitCall { what: &what, exchange: true, ..GitCall::default() };
        let ran = self.run(repository, &arguments, call)?;
        match ran.status {
            // git exits with 1 for rejected references, and with 128 for other errors.
            Some(1) => Ok(Some(ran.said)),
            _ => ran.succeeded().map(|_| None),
        }
    }

    /// Fetches missing objects in one exchange.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`GitProgram::fetch`].
    pub fn fetch_objects(&self, repository: &Path, remote: &str, objects: &[ObjectName]) -> Result<()> {
        is_address(remote)?;
        let what = format!("fetch of {} objects from {}", objects.len(), shown_address(remote));
        let names: String = objects.iter().map(|object| format!("{object}\n")).collect();
        // The missing objects are known, so no negotiation is needed.
        let no_negotiation = ["-c", "fetch.negotiationAlgorithm=noop"];
        let arguments = [&no_negotiation[..], FETCH, &["--no-filter", "--stdin", "--", remote]].concat();
        let input = Some(names.into_bytes());
        let call = GitCall { what: &what, exchange: true, input, ..GitCall::default() };
        self.run(repository, &arguments, call)?.succeeded().map(drop)
    }

    /// Pushes objects to references on the remote, which accepts only fast-forwards.
    ///
    /// # Errors
    ///
    /// Returns an error if the remote can't be reached or the connection is cut. If the connection is cut, the state of
    /// the remote is unknown.
    pub fn push(&self, repository: &Path, remote: &str, refs: &[RemoteReference]) -> Result<Pushed> {
        is_address(remote)?;
        let what = format!("push to {}", shown_address(remote));
        let mut arguments = vec![
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--recurse-submodules=no",
            // An unusable signing key must not prevent sharing.
            "--no-signed",
            "--",
            remote,
        ];
        let specs: Vec<String> = refs.iter().map(|(there, object)| format!("{object}:{there}")).collect();
        arguments.extend(specs.iter().map(String::as_str));
        let call = GitCall { what: &what, exchange: true, hook: Some("pre-push"), ..GitCall::default() };
        let ran = self.run(repository, &arguments, call)?;
        let text = ran.text();
        // The fields are flag, both names, and status. The flag `=` marks an unchanged reference.
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
            // Hook messages are on separate lines, which are ignored.
            let may_pass = refused.iter().all(|status| {
                status.starts_with("[rejected]") || LOST.iter().any(|words| status.contains(words))
            });
            return Ok(Pushed::Refused { said, may_pass });
        }
        let hook = |line: &&str| !line.contains('\t') && !line.starts_with("To ") && *line != "Done";
        let hook = clean(&text.lines().filter(hook).collect::<Vec<_>>().join("\n"));
        let remote = ran.said.lines().filter_map(|line| line.strip_prefix("remote:"));
        let said = remote.map(|line| line.trim().to_owned()).collect();
        let ran = ran.after(&hook).succeeded()?;
        if told.len() < refs.len() {
            let answer = shorten(&ran.text(), 200);
            return Err(RemoteError::Unreadable { what, answer });
        }
        Ok(Pushed::Accepted { said })
    }
}
