//! Annotated tags, as they are stored.

use gix::bstr::{BStr, ByteSlice};
use gix::objs::{Kind, TagRef};

use super::error::Result;
use super::{CommitId, Git};

/// The maximum bytes of a tag that is read: a signature by a chain of certificates has some thousands.
const MAX_TAG_BYTES: u64 = 1 << 20;
/// The maximum bytes of a name.
const MAX_NAME: usize = 1_000;

/// A tag that leads to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// Without `refs/tags/`.
    pub name: String,
    /// The id of the object that the reference points to.
    pub object: String,
    /// The commit.
    pub commit: CommitId,
    /// The content of the tag object, or why it is not the annotated tag of a commit.
    pub content: std::result::Result<TagContent, String>,
}

/// The content of an annotated tag. Invalid UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagContent {
    /// The name in the tag object.
    pub name: String,
    /// The tagger: name and address.
    pub tagger: String,
    /// The time, in seconds since 1970; 0 if unreadable.
    pub seconds: i64,
    /// The message, up to the signature that git would check.
    pub message: String,
    /// Whether it has a signature.
    pub is_signed: bool,
}

impl Git {
    /// The tags with one of these prefixes, in no order. A tag that leads to no commit is left out.
    pub fn annotated(&self, prefixes: &[&str]) -> Result<Vec<Annotated>> {
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

    fn tag_content(
        &self,
        object: gix::ObjectId,
        commit: CommitId,
    ) -> std::result::Result<TagContent, String> {
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
