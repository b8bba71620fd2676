//! Addresses at which forges show a file of a commit.

use crate::domain::Pin;

/// Where people see the committed files of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    kind: Kind,
    /// `https://github.com/owner/name`.
    base: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    GitHub,
    GitLab,
    Forgejo,
    Bitbucket,
}

impl Forge {
    /// The forge of a remote's address, if it is one whose addresses are known. A user name or password in it is left out.
    pub fn of(remote: &str) -> Option<Forge> {
        let remote = remote.trim();
        let rest =
            ["https://", "http://", "ssh://", "git://"].iter().find_map(|scheme| remote.strip_prefix(scheme));
        // `git@host:path`, as ssh has it.
        let (host, path) = match rest {
            Some(rest) => rest.split_once('/')?,
            None => remote.split_once(':')?,
        };
        let host = host.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let kind = match host.as_str() {
            "github.com" => Kind::GitHub,
            "bitbucket.org" => Kind::Bitbucket,
            "codeberg.org" | "gitea.com" => Kind::Forgejo,
            "gitlab.com" => Kind::GitLab,
            host if host.starts_with("gitlab.") => Kind::GitLab,
            host if ["gitea.", "forgejo."].iter().any(|start| host.starts_with(start)) => Kind::Forgejo,
            _ => return None,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/~".contains(c);
        let is_named = path.split('/').count() >= 2
            && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        let fits = is_named && path.chars().all(is_plain) && host.chars().all(|c| is_plain(c) && c != '/');
        fits.then(|| Forge { kind, base: format!("https://{host}/{path}") })
    }

    /// Where a file is shown as it was cited; `None` of what was not committed.
    pub fn permalink(&self, pin: &Pin) -> Option<String> {
        let commit = pin.commit.as_ref().filter(|_| !pin.uncommitted)?;
        let is_id = commit.chars().all(|c| c.is_ascii_hexdigit());
        let (base, path) = (&self.base, escaped(&pin.path));
        let place = match self.kind {
            Kind::GitHub => format!("{base}/blob/{commit}/{path}"),
            Kind::GitLab => format!("{base}/-/blob/{commit}/{path}"),
            Kind::Forgejo => format!("{base}/src/commit/{commit}/{path}"),
            Kind::Bitbucket => format!("{base}/src/{commit}/{path}"),
        };
        let lines = pin.lines.map(|lines| match (self.kind, lines.first == lines.last) {
            (Kind::Bitbucket, true) => format!("#lines-{}", lines.first),
            (Kind::Bitbucket, false) => format!("#lines-{}:{}", lines.first, lines.last),
            (_, true) => format!("#L{}", lines.first),
            (Kind::GitLab, false) => format!("#L{}-{}", lines.first, lines.last),
            (_, false) => format!("#L{}-L{}", lines.first, lines.last),
        });
        is_id.then(|| place + &lines.unwrap_or_default())
    }
}

/// A path as a part of an address.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
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
    fn each_forge_has_its_own_form() {
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
    fn what_is_no_known_forge_or_not_committed_has_no_link() {
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
}
