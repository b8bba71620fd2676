//! A site's base address, for absolute URLs in previews and canonical links, and a forge's address for new issues.

use std::str::FromStr;

use url::Url;

use crate::service::project::Forge;

use crate::text::shorten;

/// Parses an address that may appear on pages.
fn web_address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text.trim()).map_err(|_| "it is not a complete URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it is not an http or https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a user name or password, which every page would show");
    }
    Ok(url)
}

/// The address of the site's folder: `https://example.org/reports/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// An invalid base URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: give the address of the folder that will hold the site, like https://example.org/reports/")]
pub struct BaseUrlError(&'static str);

impl BaseUrl {
    /// Returns the address of a file. An index page has the address of its folder.
    pub(super) fn of(&self, path: &str) -> String {
        let path = match path.strip_suffix("index.html") {
            Some(folder) if folder.is_empty() || folder.ends_with('/') => folder,
            _ => path,
        };
        let mut url = self.0.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(path.split('/'));
        }
        url.into()
    }

    /// Returns the address of the folder.
    pub(super) fn folder(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut url = web_address(text).map_err(BaseUrlError)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError("it has a part after `?` or `#`"));
        }
        if !url.path().ends_with('/') {
            let folder = format!("{}/", url.path());
            url.set_path(&folder);
        }
        Ok(BaseUrl(url))
    }
}

/// The maximum length of an issue address. Servers refuse addresses longer than about 8,000 bytes.
const LONGEST: usize = 6_000;

/// A forge's page for new issues, which accepts a title and text: `https://github.com/owner/name/issues/new`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueUrl {
    url: Url,
    /// The query parameters for the title and the text.
    names: [&'static str; 2],
}

/// An invalid address for new issues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: give the address of the page for a new issue, like https://github.com/owner/name/issues/new")]
pub struct IssueUrlError(&'static str);

impl IssueUrl {
    /// Returns the forge's page for new issues, if it has one.
    pub(super) fn on(forge: &Forge) -> Option<IssueUrl> {
        forge.new_issue()?.parse().ok()
    }

    /// Returns the address of a prefilled email without a recipient.
    pub(super) fn mail(title: &str, text: &str) -> Option<String> {
        let mail = IssueUrl { url: Url::parse("mailto:").ok()?, names: ["subject", "body"] };
        // Mail programs do not decode a plus sign.
        Some(mail.of(title, text).replace('+', "%20"))
    }

    /// Returns the address of a prefilled issue. Long text is truncated.
    pub(super) fn of(&self, title: &str, text: &str) -> String {
        let filled = |text: &str| {
            let mut url = self.url.clone();
            url.query_pairs_mut().append_pair(self.names[0], title).append_pair(self.names[1], text);
            String::from(url)
        };
        let whole = filled(text);
        if whole.len() <= LONGEST {
            return whole;
        }
        // A character can take up to twelve bytes in an address.
        let chars = text.chars().count();
        let (mut fits, mut too_many) = (0, chars);
        while fits + 1 < too_many {
            let half = fits.midpoint(too_many);
            if filled(&shorten(text, half)).len() <= LONGEST { fits = half } else { too_many = half }
        }
        filled(&shorten(text, fits))
    }
}

impl FromStr for IssueUrl {
    type Err = IssueUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = web_address(text).map_err(IssueUrlError)?;
        if url.fragment().is_some() {
            return Err(IssueUrlError("it has a part after `#`"));
        }
        if url.as_str().len() > LONGEST / 4 {
            return Err(IssueUrlError("it is too long"));
        }
        // GitLab has different parameter names. GitHub, Gitea, Forgejo and Bitbucket use the same ones.
        let is_gitlab = url.path().contains("/-/issues/");
        let names = if is_gitlab { ["issue[title]", "issue[description]"] } else { ["title", "body"] };
        Ok(IssueUrl { url, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_addresses_below_the_base() {
        for base in ["https://example.org/reports", " https://example.org/reports/ "] {
            let base: BaseUrl = base.parse().unwrap();
            let of = |path| base.of(path);
            assert_eq!(of("index.html"), "https://example.org/reports/");
            assert_eq!(of("a b/index.html"), "https://example.org/reports/a%20b/");
            assert_eq!(of("nodes/R1.A.html"), "https://example.org/reports/nodes/R1.A.html");
            assert_eq!(of("nodes/R1.index.html"), "https://example.org/reports/nodes/R1.index.html");
        }
        assert_eq!("http://localhost:8000".parse::<BaseUrl>().unwrap().of("x"), "http://localhost:8000/x");
    }

    #[test]
    fn what_is_no_address_of_a_folder_is_refused() {
        for (text, reason) in [
            ("", "not a complete URL"),
            ("example.org/x", "not a complete URL"),
            ("ftp://example.org/", "not an http"),
            ("javascript:alert(1)", "not an http"),
            ("https://me:secret@example.org/", "user name or password"),
            ("https://example.org/?q=1", "after `?`"),
            ("https://example.org/#x", "after `?`"),
            ("https://", "not a complete URL"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("like https://"), "{text}: {error}");
        }
    }

    #[test]
    fn an_issue_is_filled_in_and_nothing_of_it_leaves_its_place() {
        let of = |base: &str, title: &str, text: &str| base.parse::<IssueUrl>().unwrap().of(title, text);
        assert_eq!(
            of("https://github.com/o/n/issues/new", "a&b=c#d", "x\ny \u{e9}\"<"),
            "https://github.com/o/n/issues/new?title=a%26b%3Dc%23d&body=x%0Ay+%C3%A9%22%3C"
        );
        assert_eq!(
            of("https://gitlab.com/o/n/-/issues/new", "a", "b"),
            "https://gitlab.com/o/n/-/issues/new?issue%5Btitle%5D=a&issue%5Bdescription%5D=b"
        );
        assert!(
            of("https://codeberg.org/o/n/issues/new?labels=doubt", "a", "b")
                .contains("?labels=doubt&title=a")
        );
    }

    #[test]
    fn an_issue_has_a_length() {
        let url: IssueUrl = "https://github.com/o/n/issues/new".parse().unwrap();
        for text in ["word ".repeat(5_000), "\u{10348}".repeat(5_000), "x\n".repeat(9_000)] {
            let address = url.of("title", &text);
            assert!((LONGEST - 40..=LONGEST).contains(&address.len()), "{} bytes", address.len());
            assert!(address.ends_with("%E2%80%A6"), "it says that there is more");
        }
        assert!(!url.of("title", "short").ends_with("%E2%80%A6"));
    }

    #[test]
    fn what_takes_no_issues_is_refused() {
        for (text, reason) in [
            ("github.com/o/n", "not a complete URL"),
            ("javascript:alert(1)", "not an http"),
            ("https://me:secret@example.org/new", "user name or password"),
            ("https://example.org/new#x", "after `#`"),
        ] {
            let error = text.parse::<IssueUrl>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("like https://"), "{text}: {error}");
        }
    }
}
