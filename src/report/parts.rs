//! Records the output for each investigation, so that the next run need not render unchanged investigations again.
//!
//! A part is the set of files of one investigation, with a digest of the state shown. The digest `maker`, shared by all parts,
//! covers the program, its templates and its options. [`super::Writing`] reuses the files if they are unmodified.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::sites::SiteEntry;
use super::templates::Templates;
use crate::service::project::ProjectEvidence;

/// The files of one investigation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SitePart {
    /// The name of the investigation's folder, if it is one of several.
    #[serde(default)]
    pub folder: String,
    /// A digest of the repository state shown.
    pub state: String,
    /// True if identical states always produce these files.
    pub is_lasting: bool,
    /// The key of the state shown, for served pages.
    #[serde(skip)]
    pub shown: String,
    /// A digest of the state of the cited files, if there are any.
    pub evidence: Option<String>,
    /// The investigation's entry in the index.
    pub entry: SiteEntry,
    /// The files, by path in the site.
    pub files: FileMarks,
}

/// Files by path in the site.
pub type FileMarks = BTreeMap<String, FileMark>;

/// The size and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// The size in bytes.
    pub size: u64,
    /// The digest of the contents.
    pub digest: String,
}

/// The parts of a site.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub maker: String,
    pub parts: Vec<SitePart>,
}

impl FileMark {
    /// Returns the size and digest of a file with the given contents.
    pub fn of(bytes: &[u8]) -> FileMark {
        FileMark { size: bytes.len() as u64, digest: digest([bytes]) }
    }
}

impl Manifest {
    /// Returns the parts, if they were built by the given maker, or by any if none is given.
    pub(super) fn made_by(&self, maker: Option<&str>) -> &[SitePart] {
        if maker.is_none_or(|maker| self.maker == maker) { &self.parts } else { &[] }
    }

    /// Serializes the manifest, with a digest in the first line to detect damage.
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = format!("{}\n", digest([json.as_slice()])).into_bytes();
        bytes.extend(json);
        Ok(bytes)
    }

    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Manifest> {
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        let (first, json) = (&bytes[..at], &bytes[at + 1..]);
        if first != digest([json]).as_bytes() {
            return None;
        }
        serde_json::from_slice(json).ok()
    }
}

/// Returns a digest of a list of strings. Different lists have different digests.
pub(super) fn digest<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        let text = text.as_ref();
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    // Half of the digest is enough to rule out accidental matches, and keeps the manifest small.
    hasher.finalize().iter().take(16).fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns a digest of the state of the cited files.
pub(super) fn evidence(evidence: &ProjectEvidence) -> String {
    let mut drift: Vec<String> =
        evidence.drift.iter().map(|(pin, drift)| format!("{pin:?} {drift:?}")).collect();
    drift.sort();
    drift.push(format!("{:?} {:?}", evidence.forge, evidence.inputs));
    digest(drift)
}

/// Returns a digest of the inputs shared by all parts: the program, the templates, the options, the flag `several`, and any
/// further inputs from the caller.
pub(super) fn maker(program: &str, templates: &Templates, several: bool, more: &str) -> String {
    let options = super::SiteOptions { template: None, ..templates.options().clone() };
    let options = format!("{options:?} {several}");
    digest([program, templates.fingerprint(), &options, more])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_manifest_is_not_believed() {
        let manifest = Manifest { maker: "one".to_owned(), parts: Vec::new() };
        let bytes = manifest.to_bytes().unwrap();
        assert_eq!(Manifest::of_bytes(&bytes).unwrap().maker, "one");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Manifest::of_bytes(&damaged).is_none(), "byte {at}");
        }
        assert!(Manifest::of_bytes(b"").is_none());
    }

    #[test]
    fn lists_that_differ_only_in_where_a_text_ends_have_two_digests() {
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
        assert_ne!(digest(["a"]), digest(["a", ""]));
        assert_eq!(digest([""; 0]).len(), 32);
    }
}
