//! Attachments: logs, plots and command output.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::id::as_text;
use super::{IdError, NodeId};
use crate::text::{composed, is_sign, one_line, shorten, without_case};

/// The names of a node's attachments, with their sizes in bytes.
pub type Attachments = BTreeMap<AttachmentName, u64>;

/// An attachment name, which is a valid file name on every system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttachmentName(String);

/// A file attached to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The id of the node.
    pub node: NodeId,
    /// The name of the attachment.
    pub name: AttachmentName,
    /// The file's content.
    pub content: Vec<u8>,
}

/// The maximum length of a name, in bytes.
const NAME_MAX: usize = 120;

/// Names that Windows reserves, with or without an extension.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Names that Windows reserves when a digit follows.
const RESERVED_PORTS: [&str; 2] = ["com", "lpt"];

impl AttachmentName {
    /// Reads the name of a file as systems give it: macOS decomposes letters, and puts a narrow space before `PM` in the
    /// names of screenshots.
    ///
    /// # Errors
    ///
    /// Returns an error if it isn't a valid name otherwise.
    pub fn of_file(name: &str) -> Result<Self, IdError> {
        composed(name.trim()).replace(|c: char| c.is_whitespace() && !c.is_control(), " ").parse()
    }

    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the replacement name for a withheld attachment.
    pub fn withheld() -> Self {
        AttachmentName("withheld".to_owned())
    }

    /// Returns the form used to compare names on a case-insensitive file system.
    pub fn without_case(&self) -> String {
        without_case(&self.0)
    }

    /// Splits the name before its last dot. The second part begins with the dot, or is empty.
    fn parts(&self) -> (&str, &str) {
        self.0.rfind('.').map_or((&self.0, ""), |dot| self.0.split_at(dot))
    }

    /// Returns a name that distinguishes this content from an attachment with the same case-insensitive name:
    /// `Plot.png` becomes `plot-<32 digits>.png`.
    pub fn apart(&self, content: &[u8]) -> AttachmentName {
        /// An arbitrary UUID. It must never change, because all names from this function depend on it.
        const NAMESPACE: uuid::Uuid = uuid::uuid!("6c7f0d2e-7f0b-4b7c-9a55-0a3a8d1f5c21");
        self.with_key(&uuid::Uuid::new_v5(&NAMESPACE, content).simple().to_string())
    }

    /// Returns whether [`AttachmentName::apart`] derived this name from `other`.
    pub fn is_apart_from(&self, other: &AttachmentName) -> bool {
        let key = self.parts().0.rsplit_once('-').map_or("", |(_, key)| key);
        let is_key = uuid::Uuid::try_parse(key).is_ok_and(|key| key.get_version_num() == 5);
        is_key && *self == other.with_key(key)
    }

    fn with_key(&self, key: &str) -> AttachmentName {
        let lower = |c: char| {
            let mut lower = c.to_lowercase();
            let first = lower.next().filter(|first| first.is_alphanumeric() && lower.len() == 0);
            first.unwrap_or(c)
        };
        let name = AttachmentName(self.0.chars().map(lower).collect());
        let (stem, ending) = name.parts();
        let ending = if ending.len() > NAME_MAX / 2 { "" } else { ending };
        let mut stem = stem.to_owned();
        while stem.len() + 1 + key.len() + ending.len() > NAME_MAX {
            stem.pop();
        }
        AttachmentName(format!("{stem}-{key}{ending}"))
    }
}

impl FromStr for AttachmentName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = |reason| Err(IdError::Attachment { text: shorten(&one_line(text), 60), reason });
        if text.is_empty() {
            return wrong("it is empty");
        }
        if text.len() > NAME_MAX {
            return wrong("it is longer than 120 bytes");
        }
        // A Korean syllable can also be spelled with jamo, and some systems treat both spellings as the same name.
        let is_part = |c: char| ('\u{1100}'..='\u{11ff}').contains(&c);
        let is_allowed = |c: char| {
            (c.is_alphanumeric() && !is_part(c)) || is_sign(c) || " ._-+(),=@&[]!'‘’“”–—…·".contains(c)
        };
        if !text.chars().all(is_allowed) || composed(text) != text {
            return wrong(
                "it may contain only letters, digits, spaces and . _ - + ( ) , = @ & [ ] ! ', without combining accents",
            );
        }
        if !text.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return wrong("it does not begin with a letter, a digit or _");
        }
        if text.ends_with(['.', ' ']) {
            return wrong("it ends with a dot or a space");
        }
        let stem = text.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
        let mut ports = RESERVED_PORTS.iter().filter_map(|port| stem.strip_prefix(port));
        let is_port =
            ports.any(|number| matches!(number.chars().collect::<Vec<_>>()[..], [c] if c.is_numeric()));
        if is_port || RESERVED.contains(&stem.as_str()) {
            return wrong("Windows reserves this name");
        }
        Ok(AttachmentName(text.to_owned()))
    }
}

as_text!(AttachmentName);

impl fmt::Display for AttachmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_file_on_every_system() {
        for name in [
            "plot.png",
            "slow query (2).log",
            "_a",
            "日誌.txt",
            "a.tar.gz",
            "console",
            "com.txt",
            "x=1,y@2+3",
            "Capture d’écran – photo [1] & b.png",
            "ภาพหน้าจอ 2569.png",
        ] {
            assert_eq!(name.parse::<AttachmentName>().unwrap().as_str(), name);
        }
        let long = "a".repeat(NAME_MAX + 1);
        let refused = ". .. .git .gitattributes a/b ../a a\\b /etc/passwd C:a a:b git~1 -rf a. con CON.txt nul.tar.gz com1 \
                       LPT9.log COM².x \u{1112}\u{1161}\u{11ab} e\u{301} <script> a\"b a|b a?b a*b %2e%2e";
        let other = ["", " a", "a ", "a\u{0}b", "a\nb", "a\u{202e}b", "a\u{200b}b", &long];
        for name in refused.split(' ').chain(other) {
            assert!(name.parse::<AttachmentName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_name_apart_follows_from_name_and_content() {
        let name: AttachmentName = "plot.png".parse().unwrap();
        let apart = name.apart(b"one");
        assert_eq!(apart, name.apart(b"one"));
        assert_ne!(apart, name.apart(b"another"));
        assert_eq!(apart, "PLOT.png".parse::<AttachmentName>().unwrap().apart(b"one"));
        assert!(apart.as_str().starts_with("plot-") && apart.as_str().ends_with(".png"), "{apart}");
        assert!(apart.is_apart_from(&name) && !apart.is_apart_from(&"plot.jpg".parse().unwrap()));
        assert!(
            !name.is_apart_from(&name)
                && !"plot-1.png".parse::<AttachmentName>().unwrap().is_apart_from(&name)
        );
        for long in ["é".repeat(60), format!("a.{}", "b".repeat(118)), format!("{}.log", "日".repeat(38))] {
            let apart = long.parse::<AttachmentName>().unwrap().apart(b"one");
            assert_eq!(apart.as_str().parse(), Ok(apart.clone()));
        }
    }
}
