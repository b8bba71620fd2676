//! Id types. Each is a newtype, so one kind can't be passed in place of another.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::Timestamp;
use crate::text::{natural_order, shorten};

/// The minimum length of a part of an id of a run or a comment.
const PART_MIN: usize = 4;

/// The maximum length of a short id in bytes. With the digest, it becomes a file name.
pub const SHORT_ID_MAX: usize = 200;

/// The short id of a node, `R<round>.<suffix>`: `R3.A1a` is in round 3. People and agents read and type it.
///
/// Several nodes may have the same short id, if clones have proposed them. Short ids are ordered by round, then by suffix
/// in natural order: `R2.A2` before `R2.A10`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShortId {
    text: Arc<str>,
    round: u32,
}

/// The id of a node: its short id and six characters from its proposal, `R3.A1a-k3f9q2`. No other proposal has it, and it
/// never changes.
///
/// An id is shown as its short id, unless [`Investigation`](super::Investigation) has found that another node has the same
/// one. Files have it whole. A node that somebody has written by hand may lack the six characters.
///
/// Ids are ordered by their short ids first.
#[derive(Clone, Debug)]
pub struct NodeId {
    short: ShortId,
    whole: Arc<str>,
    /// True if the short id is not enough to name the node. Not a part of the identity.
    is_shown_whole: bool,
}

/// An invalid id or name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not of the form `R<round>.<suffix>`.
    #[error("`{text}` is not of the form R<round>.<suffix>: {reason}")]
    Node {
        /// The text, shortened.
        text: String,
        /// The reason.
        reason: &'static str,
    },
    /// The text is not a UUID.
    #[error("`{text}` is not {what} id (a UUID)")]
    Uuid {
        /// The text, shortened.
        text: String,
        /// The kind of id that was expected.
        what: &'static str,
    },
    /// The text is not a valid file name on every system.
    #[error("`{text}` is not an attachment name: {reason}")]
    Attachment {
        /// The text, shortened.
        text: String,
        /// The reason.
        reason: &'static str,
    },
    /// The text is not a state name.
    #[error("`{text}` is not a state name: A-Z, 0-9 and _, beginning with a letter, at most 40 characters")]
    State {
        /// The text, shortened.
        text: String,
    },
}

impl ShortId {
    /// Returns the round. Roots are in round 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Returns the part after the dot.
    pub fn suffix(&self) -> &str {
        self.text.split_once('.').map_or("", |(_, suffix)| suffix)
    }

    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the id in the next round whose suffix is extended by `step`; `None` if that id is invalid.
    pub fn child(&self, step: &str) -> Option<ShortId> {
        format!("R{}.{}{step}", self.round.checked_add(1)?, self.suffix()).parse().ok()
    }
}

impl NodeId {
    /// The number of characters that follow the hyphen.
    pub const DIGEST: usize = 6;

    /// Creates the id of a proposal from everything that tells it from others. The six characters are the first eight bytes
    /// of a SHA-256, modulo 36^6, in base 36. Each part is preceded by its length, in eight bytes.
    pub fn of_proposal(short: ShortId, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in std::iter::once(short.as_str()).chain(parts.iter().copied()) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut number =
            hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        let mut whole = format!("{short}-");
        for _ in 0..Self::DIGEST {
            whole.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]));
            number /= 36;
        }
        NodeId { short, whole: whole.into(), is_shown_whole: false }
    }

    /// Returns the short id.
    pub fn short(&self) -> &ShortId {
        &self.short
    }

    /// Returns the start of a round in the order of ids. No node has it.
    pub(super) fn before_round(round: u32) -> NodeId {
        ShortId { text: Arc::from(""), round }.into()
    }

    /// Returns the round. Roots are in round 1.
    pub fn round(&self) -> u32 {
        self.short.round
    }

    /// Returns the part of the short id after the dot.
    pub fn suffix(&self) -> &str {
        self.short.suffix()
    }

    /// Returns whether the id lacks the six characters.
    pub fn is_short(&self) -> bool {
        self.whole == self.short.text
    }

    /// Returns the whole id, as in files.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// Returns the id as it is shown.
    pub fn as_str(&self) -> &str {
        if self.is_shown_whole { &self.whole } else { &self.short.text }
    }

    /// Parses the id in a file. Unlike any other text, it is then shown as its short id.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not an id.
    pub fn in_file(text: &str) -> Result<Self, IdError> {
        Ok(NodeId { is_shown_whole: false, ..text.parse()? })
    }

    /// Returns whether somebody who writes `name` means this node. A short id means every node that ever had it.
    pub fn is_named(&self, name: &NodeId) -> bool {
        self == name || (name.is_short() && self.short == name.short)
    }

    /// Returns the texts that name the node while its short id is not ambiguous: the id as it is shown, and whole.
    pub fn names(&self) -> [&str; 2] {
        [self.as_str(), &self.whole]
    }

    /// Returns whether the id is shown whole.
    pub fn is_shown_whole(&self) -> bool {
        self.is_shown_whole
    }

    /// Sets whether the id is shown whole.
    pub fn show_whole(&mut self, is_shown_whole: bool) {
        self.is_shown_whole = is_shown_whole;
    }
}

impl From<ShortId> for NodeId {
    /// Creates an id without digest.
    fn from(short: ShortId) -> Self {
        NodeId { whole: Arc::clone(&short.text), short, is_shown_whole: false }
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let Some((short, digest)) = text.split_once('-') else { return text.parse().map(ShortId::into) };
        let short = short.parse()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if digest.len() == Self::DIGEST && digest.bytes().all(is_digit) {
            return Ok(NodeId { short, whole: text.into(), is_shown_whole: true });
        }
        let reason = "six characters of 0-9 and a-z have to follow the hyphen";
        Err(IdError::Node { text: shorten(text, 60), reason })
    }
}

impl FromStr for ShortId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = |reason| IdError::Node { text: shorten(text, 60), reason };
        if text.len() > SHORT_ID_MAX {
            return Err(error("it is longer than 200 bytes"));
        }
        let rest = text.strip_prefix('R').ok_or_else(|| error("it does not begin with a capital R"))?;
        let (round, suffix) = rest.split_once('.').ok_or_else(|| error("it has no dot"))?;
        if round.is_empty() || !round.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error("the round is not a number"));
        }
        if round.starts_with('0') {
            return Err(error("the round begins with 0"));
        }
        let round = round.parse().map_err(|_| error("the round is too large"))?;
        if suffix.is_empty() {
            return Err(error("the suffix is empty"));
        }
        if !suffix.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(error("the suffix may contain only A-Z, a-z and 0-9"));
        }
        Ok(ShortId { text: text.into(), round })
    }
}

impl Ord for ShortId {
    fn cmp(&self, other: &Self) -> Ordering {
        // Ids in the same round have the same text before the suffix.
        self.round.cmp(&other.round).then_with(|| natural_order(&self.text, &other.text))
    }
}

impl PartialOrd for ShortId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for NodeId {
    fn eq(&self, other: &Self) -> bool {
        self.whole == other.whole
    }
}

impl Eq for NodeId {}

impl Hash for NodeId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.whole.hash(state);
    }
}

impl Ord for NodeId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.short.cmp(&other.short).then_with(|| self.whole.cmp(&other.whole))
    }
}

impl PartialOrd for NodeId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl SessionId {
    /// Returns the id, or a part of it, in a text for [`SessionId::matches`]. Agents copy ids from addresses and from prose,
    /// or write them without hyphens.
    pub fn part(text: &str) -> String {
        let is_around = |c: char| c.is_whitespace() || "`'\"".contains(c);
        let text = text.trim_matches(is_around).to_ascii_lowercase();
        let text = text.strip_prefix("tot://").map_or(&*text, |text| text.trim_end_matches('/'));
        uuid::Uuid::try_parse(text).map_or_else(|_| text.to_owned(), |id| id.hyphenated().to_string())
    }

    /// Returns the time encoded in a version 7 UUID.
    pub fn time(self) -> Option<Timestamp> {
        let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
        let milliseconds = seconds.checked_mul(1_000)?.checked_add(u64::from(nanoseconds / 1_000_000))?;
        Timestamp::from_milliseconds(i64::try_from(milliseconds).ok()?)
    }
}

/// Implements serde and schemars for a type through its `Display` and `FromStr` implementations.
macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text: String = serde::Deserialize::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }
    )+};
}
pub(super) use as_text;

/// Parses a UUID in hyphenated form, in lower or upper case.
fn hyphenated(text: &str) -> Option<uuid::Uuid> {
    uuid::Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}

/// Parses a lowercase, hyphenated UUID. No other form is accepted, so each id has a single spelling.
fn canonical(text: &str) -> Option<uuid::Uuid> {
    hyphenated(text).filter(|id| id.hyphenated().to_string() == text)
}

macro_rules! uuids {
    ($(#[$meaning:meta] $name:ident, $what:literal, $parse:ident;)*) => {$(
        #[$meaning]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// Creates a version 7 UUID from the time and 74 of the random bits.
            pub fn new(milliseconds: u64, random: [u8; 10]) -> Self {
                $name(uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid())
            }

            /// Returns whether the lowercase text is a part of the id that [`matches`](Self::matches) and is long enough to name it.
            pub fn is_named(self, part: &str) -> bool {
                part.len() >= PART_MIN && self.matches(part)
            }

            /// Returns whether the id starts or ends with the lowercase text.
            pub fn matches(self, part: &str) -> bool {
                let mut id = uuid::Uuid::encode_buffer();
                let id = self.0.hyphenated().encode_lower(&mut id);
                id.starts_with(part) || id.ends_with(part)
            }

            /// Returns the last twelve digits, which are enough to name it in a command.
            pub fn short(self) -> String {
                self.to_string().split_off(24)
            }

            /// Returns the next id, for use if this one is taken.
            pub fn next(self) -> Self {
                $name(uuid::Uuid::from_u128(self.0.as_u128().wrapping_add(1)))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                $parse(text).map($name).ok_or_else(|| IdError::Uuid { text: shorten(text, 60), what: $what })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        as_text!($name);
    )*};
}

uuids! {
    /// An investigation id: a UUID, of version 7 if this program created it.
    SessionId, "a session", hyphenated;
    /// A comment id: a version 7 UUID, so that comments sort by time.
    CommentId, "a comment", canonical;
    /// A run id: a version 7 UUID, so that runs sort by time.
    RunId, "a run", canonical;
}

/// The name of a state in a ruleset: `EXPLORE`, `VALID_PENDING`. The default is no state's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateName(Arc<str>);

impl StateName {
    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StateName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fits = text.len() <= 40
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if fits { Ok(StateName(text.into())) } else { Err(IdError::State { text: shorten(text, 60) }) }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_id_has_a_round_and_a_suffix() {
        let id: ShortId = "R12.A1b2".parse().unwrap();
        assert_eq!((id.round(), id.suffix(), id.as_str()), (12, "A1b2", "R12.A1b2"));
        assert_eq!(id.child("c").unwrap().as_str(), "R13.A1b2c");
    }

    #[test]
    fn other_shapes_are_refused_with_the_reason() {
        let long = format!("R1.{}", "A".repeat(198));
        for text in [
            "",
            "A",
            "R1",
            "R1.",
            "R.A",
            "r1.A",
            "R1.A-1",
            "R1.A-K3F9Q2",
            "R1.A.1",
            "Rx.A",
            "R0.A",
            "R01.A",
            "R1.é",
            &long,
        ] {
            assert!(text.parse::<NodeId>().is_err(), "{text}");
        }
        assert!("R99999999999.A".parse::<NodeId>().is_err());
        assert!(format!("R1.{}", "A".repeat(197)).parse::<NodeId>().is_ok());
    }

    #[test]
    fn ids_sort_by_round_first() {
        let mut ids: Vec<NodeId> =
            ["R10.A", "R2.B", "R2.A10", "R2.A2"].iter().map(|t| t.parse().unwrap()).collect();
        ids.sort();
        assert_eq!(ids.iter().map(NodeId::whole).collect::<Vec<_>>(), ["R2.A2", "R2.A10", "R2.B", "R10.A"]);
    }

    #[test]
    fn a_session_id_sorts_by_time_and_reads_back() {
        let early = SessionId::new(1_000, [255; 10]);
        let bare = early.to_string().replace('-', "");
        for text in [format!("`tot://{early}/`"), format!("\"{}\"", bare.to_uppercase()), bare] {
            assert_eq!(SessionId::part(&text), early.to_string(), "{text}");
        }
        assert_eq!(SessionId::part(" 01A2 "), "01a2");
        let late = SessionId::new(2_000, [0; 10]);
        assert!(early.to_string() < late.to_string());
        assert_eq!(late.to_string().parse(), Ok(late));
        assert_eq!(late.time(), Timestamp::from_milliseconds(2_000));
        assert_eq!("a1b2c3d4-0000-4000-8000-000000000000".parse().map(SessionId::time), Ok(None));
        for text in ["", "../x", "01890000000070008000000000000000", "{01890000-0000-7000-8000-000000000000}"]
        {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }
}
