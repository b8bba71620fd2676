//! The author and committer of new commits.

use gix::bstr::{BStr, BString, ByteSlice};

pub(super) const FALLBACK_NAME: &str = "Tree of Thoughts";
pub(super) const FALLBACK_EMAIL: &str = "tot@localhost";

/// A person named in a commit.
pub(super) struct Identity {
    name: String,
    email: String,
}

impl Identity {
    /// Returns the name, or `None` if not configured.
    pub(super) fn name(&self) -> Option<String> {
        Some(self.name.clone()).filter(|name| name != FALLBACK_NAME)
    }

    /// Returns the name, with a fallback if not configured, and the configured address.
    pub(super) fn parts(&self) -> (String, Option<String>) {
        let email = Some(self.email.clone()).filter(|email| !email.is_empty() && email != FALLBACK_EMAIL);
        (self.name.clone(), email)
    }

    pub(super) fn signature<'a>(&'a self, time: &'a str) -> gix::actor::SignatureRef<'a> {
        gix::actor::SignatureRef { name: BStr::new(&self.name), email: BStr::new(&self.email), time }
    }
}

/// Returns the identity for `role` (`author` or `committer`). The settings for the role take precedence over the user
/// settings. A given name and address replace them all.
///
/// The environment comes last, for machines without settings. In a hook, git has put the author of the commit into it that is
/// being made, who may be somebody else.
pub(super) fn identity(
    repository: &gix::Repository,
    role: &str,
    given: Option<(&'static str, &'static str)>,
) -> Identity {
    if let Some((name, email)) = given {
        return Identity { name: name.to_owned(), email: email.to_owned() };
    }
    let snapshot = repository.config_snapshot();
    let value = |key: &str, with_environment: bool| {
        // Settings in an untrusted repository are ignored.
        let value = snapshot.plumbing().string_filter(key, |section| {
            gix::config::section::is_trusted(section)
                && (with_environment || section.source != gix::config::Source::EnvOverride)
        })?;
        Some(clean_name(&value)).filter(|value| !value.is_empty())
    };
    let either = |part: &str| {
        let of =
            |with| value(&format!("{role}.{part}"), with).or_else(|| value(&format!("user.{part}"), with));
        of(false).or_else(|| of(true))
    };
    let email = either("email").or_else(|| value("gitoxide.user.emailFallback", true));
    Identity {
        name: either("name").unwrap_or_else(|| FALLBACK_NAME.to_owned()),
        email: email.unwrap_or_else(|| FALLBACK_EMAIL.to_owned()),
    }
}

/// Removes characters that are invalid in a commit's author line, and trims the name as git does.
pub(super) fn clean_name(value: &BString) -> String {
    let text = value.to_str_lossy();
    let kept: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    kept.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | ';' | '"' | '\\' | '\''))
        .to_owned()
}
