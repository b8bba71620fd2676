//! The hash of a claim: of a node's title and the texts of one of its results.
//!
//! A confirmation, the resolution of an objection and a link to a finding that an answer depends on store it as `saw`. They
//! count while the claim has the texts that their author saw, whatever the clocks of two clones say. Hand-written files may
//! lack it; times decide there.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::id::as_text;
use super::{Citation, Classification, Node};

/// The first eight bytes of the SHA-256 of a claim, as 16 lowercase hexadecimal digits.
///
/// The hashed bytes are a JSON array: title, headline, findings, evidence, sources given as data, alternatives, caveats and
/// commands. An absent text is an empty one. What a server recorded of cited files is left out, because two clones may find
/// different versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimHash(u64);

/// An error returned for text that is not 16 lowercase hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hash of a claim has 16 digits, 0 to 9 and a to f")]
pub struct NoClaimHash;

impl ClaimHash {
    /// Stands for a claim that is not there any more.
    pub const GONE: ClaimHash = ClaimHash(0);

    fn of(title: &str, result: &Classification) -> ClaimHash {
        let texts = (
            title,
            result.headline.as_deref().unwrap_or_default(),
            &result.findings,
            result.evidence.as_deref().unwrap_or_default(),
            Citation::given(&result.references),
            &result.alternatives_considered,
            &result.caveats,
            &result.commands,
        );
        let digest = Sha256::digest(serde_json::to_vec(&texts).unwrap_or_default());
        ClaimHash(digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)))
    }
}

impl Node {
    /// Returns the hash of the claim as shown. `None` for a pending node.
    pub fn claim_hash(&self) -> Option<ClaimHash> {
        self.claim_hashes().next()
    }

    /// Returns the hash of each result, its own first.
    pub fn claim_hashes(&self) -> impl Iterator<Item = ClaimHash> {
        self.results().map(|result| ClaimHash::of(&self.title, result))
    }
}

impl fmt::Display for ClaimHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ClaimHash {
    type Err = NoClaimHash;

    fn from_str(text: &str) -> Result<Self, NoClaimHash> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_hash = text.len() == 16 && text.bytes().all(is_digit);
        let hash = u64::from_str_radix(text, 16).ok().filter(|_| is_hash);
        hash.map(ClaimHash).ok_or(NoClaimHash)
    }
}

as_text!(ClaimHash);
