//! The forge of the project that an investigation is about: its URLs of a committed file and of a new issue. The forge of the
//! investigation's own repository is not known.

use std::str::FromStr;

use url::Url;

use crate::domain::{Lines, Pin};
use crate::text::percent_encoded;

/// The name that forges use for the newest commit.
const NEWEST: &str = "HEAD";
/// The placeholders in a template.
const PATH: &str = "{path}";
const LINE: &str = "{line}";
const LAST: &str = "{last}";
const COMMIT: &str = "{commit}";

/// A website that shows the committed files of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    kind: ForgeKind,
    /// A URL such as `https://github.com/owner/name`, or a complete template.
    base: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForgeKind {
    GitHub,
    GitLab,
    Forgejo,
    Bitbucket,
    /// A person has configured a template for URLs.
    Template,
}

/// The reason why a URL template is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: give a URL such as https://git.example.org/project/src/{{commit}}/{{path}}#L{{line}}")]
pub struct SourceUrlError(String);

/// Parses a template: an `http` or `https` URL that contains `{path}`, and optionally `{line}`, `{last}` and `{commit}`.
impl FromStr for Forge {
    type Err = SourceUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |reason: &str| Err(SourceUrlError(reason.to_owned()));
        let text = text.trim();
        // Validates a sample URL to report an invalid template at once.
        let filled = [(PATH, "a"), (LINE, "1"), (LAST, "1"), (COMMIT, NEWEST)]
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        if let Some(rest) = filled.split_once(['{', '}']).map(|(before, _)| &filled[before.len()..]) {
            let name: String = rest.chars().take(20).collect();
            let reason = format!("`{name}` is unknown (known: {{path}}, {{line}}, {{last}}, {{commit}})");
            return wrong(&reason);
        }
        if !text.contains(PATH) {
            return wrong("it lacks {path}");
        }
        if filled.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'<>\\`^|".contains(c)) {
            return wrong("it has a character that URLs can't contain");
        }
        let Ok(url) = Url::parse(&filled) else { return wrong("it is not a complete URL") };
        if !matches!(url.scheme(), "http" | "https") {
            return wrong("it is not an http or https URL");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("it contains a user name or password, which every page would show");
        }
        // A citation must not determine the host.
        let host_ends = text.match_indices('/').nth(2).map_or(text.len(), |(at, _)| at);
        if text[..host_ends].contains('{') {
            return wrong("the host name can't contain a placeholder");
        }
        Ok(Forge { kind: ForgeKind::Template, base: text.to_owned() })
    }
}

impl Forge {
    /// Returns the forge for a remote's URL, or `None` if the forge is unknown. Ignores a user name or password in the
    /// URL.
    pub fn of(remote: &str) -> Option<Forge> {
        let remote = remote.trim();
        let rest =
            ["https://", "http://", "ssh://", "git://"].iter().find_map(|scheme| remote.strip_prefix(scheme));
        // The scp-like syntax `git@host:path`.
        let (host, path) = match rest {
            Some(rest) => rest.split_once('/')?,
            None => remote.split_once(':')?,
        };
        let host = host.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let kind = match host.as_str() {
            "github.com" => ForgeKind::GitHub,
            "bitbucket.org" => ForgeKind::Bitbucket,
            "codeberg.org" | "gitea.com" => ForgeKind::Forgejo,
            "gitlab.com" => ForgeKind::GitLab,
            host if host.starts_with("gitlab.") => ForgeKind::GitLab,
            host if ["gitea.", "forgejo."].iter().any(|start| host.starts_with(start)) => ForgeKind::Forgejo,
            _ => return None,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/~".contains(c);
        let is_named = path.split('/').count() >= 2
            && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        let fits = is_named && path.chars().all(is_plain) && host.chars().all(|c| is_plain(c) && c != '/');
        fits.then(|| Forge { kind, base: format!("https://{host}/{path}") })
    }

    /// Returns the URL for creating an issue, or `None` for a template, which covers only files.
    pub fn new_issue(&self) -> Option<String> {
        match self.kind {
            ForgeKind::Template => None,
            ForgeKind::GitLab => Some(format!("{}/-/issues/new", self.base)),
            _ => Some(format!("{}/issues/new", self.base)),
        }
    }

    /// Returns the URL of the cited version of a file, or `None` if that version was not committed.
    pub fn permalink(&self, pin: &Pin) -> Option<String> {
        let commit = pin.commit.as_ref().filter(|_| !pin.uncommitted)?;
        self.link(&pin.path, pin.lines, Some(commit))
    }

    /// Returns the URL of a file in the given or the newest commit, or `None` for a path outside the project.
    pub fn link(&self, path: &str, lines: Option<Lines>, commit: Option<&str>) -> Option<String> {
        let is_inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let is_id = commit.is_none_or(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_hexdigit()));
        if !is_inside || !is_id {
            return None;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let (base, path, commit) = (&self.base, percent_encoded(path, is_plain), commit.unwrap_or(NEWEST));
        let place = match self.kind {
            ForgeKind::GitHub => format!("{base}/blob/{commit}/{path}"),
            ForgeKind::GitLab => format!("{base}/-/blob/{commit}/{path}"),
            ForgeKind::Forgejo => format!("{base}/src/commit/{commit}/{path}"),
            ForgeKind::Bitbucket => format!("{base}/src/{commit}/{path}"),
            ForgeKind::Template => return Some(self.filled(&path, lines, commit)),
        };
        let lines = lines.map(|lines| match (self.kind, lines.first == lines.last) {
            (ForgeKind::Bitbucket, true) => format!("#lines-{}", lines.first),
            (ForgeKind::Bitbucket, false) => format!("#lines-{}:{}", lines.first, lines.last),
            (_, true) => format!("#L{}", lines.first),
            (ForgeKind::GitLab, false) => format!("#L{}-{}", lines.first, lines.last),
            (_, false) => format!("#L{}-L{}", lines.first, lines.last),
        });
        Some(place + &lines.unwrap_or_default())
    }

    /// Fills in a template. If there are no line numbers, omits a fragment that needs them and uses line 1 elsewhere.
    fn filled(&self, path: &str, lines: Option<Lines>, commit: &str) -> String {
        let needs_lines = |part: &str| part.contains(LINE) || part.contains(LAST);
        let template = match self.base.split_once('#') {
            Some((before, part)) if lines.is_none() && needs_lines(part) => before,
            _ => &self.base,
        };
        let lines = lines.unwrap_or(Lines { first: 1, last: 1 });
        // The path is untrusted, so it is filled in last. Its braces are escaped.
        template
            .replace(COMMIT, commit)
            .replace(LINE, &lines.first.to_string())
            .replace(LAST, &lines.last.to_string())
            .replace(PATH, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Lines;

    fn pin(lines: Option<(u32, u32)>) -> Pin {
        Pin {
            path: "src/a b#.rs".into(),
            commit: Some("0123abcd".into()),
            blob: String::new(),
            uncommitted: false,
            lines: lines.map(|(first, last)| Lines { first, last }),
            text: None,
        }
    }

    #[test]
    fn each_forge_has_its_own_url_format() {
        let link = |remote: &str, lines| Forge::of(remote).and_then(|forge| forge.permalink(&pin(lines)));
        for (remote, one, two) in [
            (
                "git@github.com:o/n.git",
                "https://github.com/o/n/blob/0123abcd/src/a%20b%23.rs#L3",
                "https://github.com/o/n/blob/0123abcd/src/a%20b%23.rs#L3-L7",
            ),
            (
                "https://user:secret@gitlab.com/g/sub/n.git",
                "https://gitlab.com/g/sub/n/-/blob/0123abcd/src/a%20b%23.rs#L3",
                "https://gitlab.com/g/sub/n/-/blob/0123abcd/src/a%20b%23.rs#L3-7",
            ),
            (
                "ssh://git@codeberg.org:22/o/n",
                "https://codeberg.org/o/n/src/commit/0123abcd/src/a%20b%23.rs#L3",
                "https://codeberg.org/o/n/src/commit/0123abcd/src/a%20b%23.rs#L3-L7",
            ),
            (
                "https://bitbucket.org/o/n/",
                "https://bitbucket.org/o/n/src/0123abcd/src/a%20b%23.rs#lines-3",
                "https://bitbucket.org/o/n/src/0123abcd/src/a%20b%23.rs#lines-3:7",
            ),
        ] {
            assert_eq!(link(remote, Some((3, 3))).as_deref(), Some(one));
            assert_eq!(link(remote, Some((3, 7))).as_deref(), Some(two));
        }
        assert_eq!(
            link("https://github.com/o/n", None).as_deref(),
            Some("https://github.com/o/n/blob/0123abcd/src/a%20b%23.rs")
        );
    }

    #[test]
    fn unknown_forges_and_uncommitted_files_have_no_link() {
        for remote in [
            "",
            "/srv/git/n.git",
            "https://example.org/o/n",
            "https://github.com/o",
            "https://github.com/../n",
            "https://github.com/o/n\"onclick=",
            "javascript:alert(1)//github.com/o/n",
            "git@evil.example:github.com/o/n",
        ] {
            assert_eq!(Forge::of(remote), None, "{remote}");
        }
        let forge = Forge::of("https://github.com/o/n").unwrap();
        assert_eq!(forge.permalink(&Pin { uncommitted: true, ..pin(None) }), None);
        assert_eq!(forge.permalink(&Pin { commit: None, ..pin(None) }), None);
        assert_eq!(forge.permalink(&Pin { commit: Some("x\" onclick=".into()), ..pin(None) }), None);
    }

    #[test]
    fn templates_escape_inserted_paths() {
        let forge: Forge =
            "https://git.example.org/p/{commit}/{path}?at={line}#L{line}-{last}".parse().unwrap();
        assert_eq!(
            forge.permalink(&pin(Some((3, 7)))).as_deref(),
            Some("https://git.example.org/p/0123abcd/src/a%20b%23.rs?at=3#L3-7")
        );
        assert_eq!(
            forge.link("{line}.rs", None, None).as_deref(),
            Some("https://git.example.org/p/HEAD/%7Bline%7D.rs?at=1")
        );
        let known = Forge::of("https://github.com/o/n").unwrap();
        for path in ["../../../other/name", "/etc/passwd", "a//b", "a/./b", ""] {
            assert_eq!(forge.link(path, None, None), None, "{path}");
            assert_eq!(known.link(path, None, None), None, "{path}");
        }
        assert_eq!(known.link("a.rs", None, None).as_deref(), Some("https://github.com/o/n/blob/HEAD/a.rs"));
    }

    #[test]
    fn invalid_templates_are_rejected() {
        for (text, reason) in [
            ("", "lacks {path}"),
            ("https://example.org/", "lacks {path}"),
            ("{path}", "not a complete URL"),
            ("example.org/{path}", "not a complete URL"),
            ("javascript:alert({path})", "not an http"),
            ("javascript://x/%0aalert(1)//{path}", "not an http"),
            ("file:///{path}", "not an http"),
            ("https://{path}/", "a placeholder"),
            ("https://{commit}.example.org/{path}", "a placeholder"),
            ("https://me:secret@example.org/{path}", "user name or password"),
            ("https://example.org/{path}/{branch}", "`{branch}` is unknown"),
            ("https://example.org/{path}}", "`}` is unknown"),
            ("https://example.org/{path}\" onclick=", "a character that URLs can't contain"),
        ] {
            let error = text.parse::<Forge>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("such as https://"), "{text}: {error}");
        }
    }
}
