//! The address at which a site will stand, for what needs absolute URLs: feed, previews, canonical links.

use std::str::FromStr;

use url::Url;

/// The address of a site's folder: `https://example.org/reports/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why a base URL is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: give the address of the folder that the site will stand in, like https://example.org/reports/")]
pub struct BaseUrlError(&'static str);

impl BaseUrl {
    /// The address of a file of the site. A page that is its folder's index has the folder's address.
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

    /// The address of the folder.
    pub(super) fn folder(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut url = Url::parse(text.trim()).map_err(|_| BaseUrlError("it is not a whole URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError("it is not an http or https URL"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError("it holds a user name or password, which every page would show"));
        }
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
            ("", "not a whole URL"),
            ("example.org/x", "not a whole URL"),
            ("ftp://example.org/", "not an http"),
            ("javascript:alert(1)", "not an http"),
            ("https://me:secret@example.org/", "user name or password"),
            ("https://example.org/?q=1", "after `?`"),
            ("https://example.org/#x", "after `?`"),
            ("https://", "not a whole URL"),
        ] {
            let error = text.parse::<BaseUrl>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("like https://"), "{text}: {error}");
        }
    }
}
