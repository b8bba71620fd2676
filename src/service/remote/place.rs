//! The place of an investigation on a remote: in its own repository or among others in a hub.
//!
//! Only branches and tags are used. Other references are not cloned, and hosts refuse them.

use std::path::Path;

use super::{ObjectName, RemoteError, Result};
use crate::domain::SessionId;

/// The branch and the tags of an investigation on a remote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemotePlace {
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The prefix of the investigation's tags: empty, or the branch and `/`. The prefix distinguishes the tags of
    /// investigations in a hub.
    tags: String,
}

impl RemotePlace {
    /// Returns the place of an investigation in a hub: the branch `<prefix>/<id>` and the tags `<prefix>/<id>/<name>`.
    pub fn in_hub(prefix: &str, id: SessionId) -> RemotePlace {
        RemotePlace::of_branch(&format!("{prefix}/{id}"))
    }

    /// Returns the place that uses a branch. The place is in a hub if the branch name ends with an id. Otherwise, it is in
    /// the investigation's own repository, with unprefixed tags.
    pub fn of_branch(branch: &str) -> RemotePlace {
        let tags = id_of(branch).map(|_| format!("{branch}/")).unwrap_or_default();
        RemotePlace { branch: branch.to_owned(), tags }
    }

    /// Returns the id in the branch name, if the place is in a hub.
    pub fn id(&self) -> Option<SessionId> {
        id_of(&self.branch)
    }

    /// Returns the full name of the branch on the remote.
    pub fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the full name of a local tag on the remote.
    pub fn tag_ref(&self, tag: &str) -> String {
        format!("refs/tags/{}{tag}", self.tags)
    }

    /// Returns the local name of a remote tag, if the tag belongs to the investigation.
    pub fn tag<'a>(&self, reference: &'a str) -> Option<&'a str> {
        reference.strip_prefix("refs/tags/")?.strip_prefix(&self.tags)
    }

    /// Returns the `ls-remote` patterns that match the branches and tags of this place and of its neighbors in a hub.
    pub fn patterns(&self) -> [String; 2] {
        match self.branch.rsplit_once('/').filter(|_| self.id().is_some()) {
            Some((prefix, _)) => [format!("refs/heads/{prefix}/*"), format!("refs/tags/{prefix}/*")],
            None => [self.branch_ref(), "refs/tags/*".to_owned()],
        }
    }
}

fn id_of(branch: &str) -> Option<SessionId> {
    branch.rsplit_once('/').and_then(|(_, id)| id.parse().ok())
}

/// Rejects an address that git could mistake for an option or a command.
///
/// # Errors
///
/// Returns an error if the address is empty or could be mistaken for an option or a command.
pub fn is_address(address: &str) -> Result<()> {
    let reason = if address.trim().is_empty() {
        "it is empty"
    } else if address.starts_with('-') {
        "it begins with a hyphen, like an option"
    } else if address.starts_with("ext::") || address.starts_with("fd::") {
        "it would run a command"
    } else if address.chars().any(char::is_control) {
        "it has a control character"
    } else {
        return Ok(());
    };
    Err(RemoteError::Address { address: shown_address(address), reason })
}

/// Returns the address for display, without credentials.
pub fn shown_address(address: &str) -> String {
    crate::text::one_line(&without_credentials(address))
}

/// Removes passwords from the addresses in a text. A user name is removed too, since it may be a token, except for ssh,
/// which never sends one. A query is removed for the same reason.
pub(super) fn without_credentials(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && !"+.-".contains(c)).next();
        let is_ssh = scheme.is_some_and(|scheme| scheme.to_ascii_lowercase().contains("ssh"));
        let end = |text: &str, ends: &str| {
            text.find(|c: char| c.is_whitespace() || ends.contains(c)).unwrap_or(text.len())
        };
        let (mut host, path) = after.split_at(end(after, "/?#'\"`<>"));
        shown.extend([before, "://"]);
        if let Some((user, place)) = host.rsplit_once('@') {
            let name = user.split(':').next().filter(|_| is_ssh).unwrap_or_default();
            shown.extend([
                name,
                if name == user {
                    "@"
                } else if name.is_empty() {
                    "…@"
                } else {
                    ":…@"
                },
            ]);
            host = place;
        }
        let (path, after) = path.split_at(end(path, "?'\"`<>"));
        shown.extend([host, path]);
        rest = after;
        if let Some(query) = after.strip_prefix('?') {
            shown.push_str("?…");
            rest = &query[end(query, "'\"`<>")..];
        }
    }
    shown + rest
}

/// Returns an address that is valid in any folder. Relative paths become absolute, since git resolves them from the
/// repository.
pub fn whole_address(address: &str) -> String {
    let path = Path::new(address);
    match path.canonicalize() {
        Ok(whole) if path.is_relative() && !address.contains("://") => whole.to_string_lossy().into_owned(),
        _ => address.to_owned(),
    }
}

/// A reference on a remote.
pub(super) type RemoteReference = (String, ObjectName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_layouts_have_their_branches_and_tags() {
        let id: SessionId = "019ab2c4-0000-7000-8000-000000000001".parse().unwrap();
        let hub = RemotePlace::in_hub("team/tot", id);
        assert_eq!(hub.branch_ref(), format!("refs/heads/team/tot/{id}"));
        assert_eq!(hub.tag_ref("ended/1"), format!("refs/tags/team/tot/{id}/ended/1"));
        assert_eq!(hub.tag(&hub.tag_ref("ended/1")), Some("ended/1"));
        assert_eq!(hub.tag("refs/tags/ended/1"), None);
        assert_eq!((hub.id(), RemotePlace::of_branch(&hub.branch)), (Some(id), hub.clone()));
        assert_eq!(hub.patterns(), ["refs/heads/team/tot/*", "refs/tags/team/tot/*"]);
        let own = RemotePlace::of_branch("main");
        assert_eq!((own.id(), own.tag_ref("ended/1")), (None, "refs/tags/ended/1".to_owned()));
        assert_eq!(own.patterns(), ["refs/heads/main", "refs/tags/*"]);
    }

    #[test]
    fn an_address_that_runs_something_is_refused() {
        for address in ["--upload-pack=touch x", "-oProxyCommand=x", "ext::sh -c x", "fd::3", "", " ", "a\nb"]
        {
            assert!(is_address(address).is_err(), "{address}");
        }
        for address in
            ["https://example.org/x.git", "git@example.org:x/y.git", "/srv/hub.git", "../hub", "file:///x"]
        {
            assert!(is_address(address).is_ok(), "{address}");
        }
    }

    #[test]
    fn neither_a_password_nor_a_token_is_shown() {
        for (address, shown) in [
            ("https://me:secret@example.org/x.git?a=b", "https://…@example.org/x.git?…"),
            ("https://me:se@cret@example.org:8080", "https://…@example.org:8080"),
            ("HTTPS://ghp_token@example.org/x:y@z", "HTTPS://…@example.org/x:y@z"),
            ("https://token:x-oauth-basic@example.org/x", "https://…@example.org/x"),
            ("https://example.org?private_token=x", "https://example.org?…"),
            ("ssh://git@example.org/x", "ssh://git@example.org/x"),
            ("git+ssh://me:secret@example.org/x", "git+ssh://me:…@example.org/x"),
            ("git@example.org:x", "git@example.org:x"),
            ("", ""),
            // As git says it, also with two addresses.
            (
                "fatal: could not read Password for 'https://token@example.org': a http://b@c/d?e 'x'",
                "fatal: could not read Password for 'https://…@example.org': a http://…@c/d?… 'x'",
            ),
        ] {
            assert_eq!(shown_address(address), shown);
        }
    }
}
