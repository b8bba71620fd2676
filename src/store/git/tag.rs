//! Reads annotated tags.

use gix::bstr::{BStr, ByteSlice};
use gix::objs::{Kind, TagRef};

use super::error::GitResult;
use super::{CommitId, Git};

/// The maximum size of a tag in bytes. A signature with a certificate chain has some thousands.
const MAX_TAG_BYTES: u64 = 1 << 20;
/// The maximum length of a name in bytes.
const MAX_NAME: usize = 1_000;

/// A tag that points to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// The tag's name without `refs/tags/`.
    pub name: String,
    /// The id of the referenced object.
    pub object: String,
    /// The commit that the tag leads to.
    pub commit: CommitId,
    /// The content of the tag object, or the reason why it is not an annotated tag of a commit.
    pub content: Result<TagContent, String>,
}

/// The content of an annotated tag. Invalid UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagContent {
    /// The tag's name in the tag object.
    pub name: String,
    /// The tagger's name and address.
    pub tagger: String,
    /// The time in seconds since 1970, or 0 if unreadable.
    pub seconds: i64,
    /// The message without the signature.
    pub message: String,
    /// True if the tag is signed.
    pub is_signed: bool,
}

impl Git {
    /// Returns the tags with one of these prefixes, in any order. Tags that don't lead to a commit are omitted.
    pub fn annotated(&self, prefixes: &[&str]) -> GitResult<Vec<Annotated>> {
        let platform = self.repository.references().map_err(self.library("list the references"))?;
        let mut found = Vec::new();
        for reference in platform.tags().map_err(self.library("list the tags"))? {
            // A broken tag must not hide the others.
            let Ok(mut reference) = reference else { continue };
            let name = reference.name().shorten().to_str_lossy().into_owned();
            let Some(object) = reference.try_id().map(|id| id.detach()) else { continue };
            if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            let Ok(peeled) = reference.peel_to_id().map(|id| id.detach()) else { continue };
            let Some(commit) = self.peel(peeled) else { continue };
            let content = self.tag_content(object, commit);
            found.push(Annotated { name, object: object.to_string(), commit, content });
        }
        Ok(found)
    }

    fn tag_content(&self, object: gix::ObjectId, commit: CommitId) -> Result<TagContent, String> {
        let unreadable = |_| "its object can't be read".to_owned();
        let header = self.repository.find_header(object).map_err(unreadable)?;
        if header.kind() != Kind::Tag {
            return Err("it is a lightweight tag, without a message".to_owned());
        }
        if header.size() > MAX_TAG_BYTES {
            return Err(format!("its object has more than {MAX_TAG_BYTES} bytes"));
        }
        let data = self.object(object, Kind::Tag).map_err(|_| "its object can't be read".to_owned())?;
        let tag = TagRef::from_bytes(&data, gix::hash::Kind::Sha1).map_err(unreadable)?;
        if tag.target() != commit.0 {
            return Err("it points to another tag".to_owned());
        }
        let tagger = tag.tagger().ok().flatten().unwrap_or_default();
        let short = |text: &BStr| text[..text.len().min(MAX_NAME)].to_str_lossy().into_owned();
        Ok(TagContent {
            name: tag.name.to_str_lossy().into_owned(),
            tagger: format!("{} <{}>", short(tagger.name), short(tagger.email)),
            seconds: tagger.time().unwrap_or_default().seconds,
            message: tag.message.to_str_lossy().into_owned(),
            is_signed: tag.signature.is_some(),
        })
    }
}
