//! Reads annotated tags.

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::objs::{Kind, TagRef};

use super::error::{StoreResult, in_shell};
use super::{CommitId, Git, timestamp};
use crate::domain::Timestamp;
use crate::store::{StoreError, StoreErrorKind};
use crate::text::shell_line;

/// The maximum size of a tag in bytes. A signature with a certificate chain takes a few thousand bytes.
const MAX_TAG_BYTES: u64 = 1 << 20;
/// The maximum length of a name in bytes.
const MAX_NAME: usize = 1_000;

/// A tag that points to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagInfo {
    /// The tag's name without `refs/tags/`.
    pub name: String,
    /// The id of the referenced object.
    pub object: String,
    /// The commit that the tag points to, possibly through other tags.
    pub commit: CommitId,
    /// The content of the tag object, or the reason why the tag is not an annotated tag on a commit.
    pub annotation: Result<Annotation, String>,
}

/// The content of an annotated tag. Invalid UTF-8 is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The tag's name in the tag object.
    pub name: String,
    /// The tagger's name and address.
    pub tagger: String,
    /// The tagger's time.
    pub at: Timestamp,
    /// The message without the signature.
    pub message: String,
    /// True if the tag is signed.
    pub is_signed: bool,
}

impl Git {
    /// Returns the tags with one of these prefixes, sorted by name. Tags that don't point to a commit are omitted.
    pub fn tags_under(&self, prefixes: &[&str]) -> StoreResult<Vec<TagInfo>> {
        let mut tags = Vec::new();
        for (name, object) in self.tag_objects()? {
            let Ok(object) = ObjectId::from_hex(object.as_bytes()) else { continue };
            if prefixes.iter().any(|prefix| name.starts_with(prefix))
                && let Some(commit) = self.peel(object)
            {
                let annotation = self.annotation(object, commit);
                tags.push(TagInfo { name, object: object.to_string(), commit, annotation });
            }
        }
        Ok(tags)
    }

    /// Returns an error if a tag has this name, or a name that is a folder of this one or the other way round.
    pub fn check_room(&self, tag: &str) -> StoreResult<()> {
        let is_in = |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        let all = self.tag_objects()?;
        let Some((other, _)) = all.iter().find(|(other, _)| is_in(other, tag) || is_in(tag, other)) else {
            return Ok(());
        };
        let place = self.location();
        let message = match tag == other {
            true => format!("the tag {tag:?} already exists in {}", place.display()),
            false => format!("the tag {other:?} in {} leaves no room for the tag {tag:?}", place.display()),
        };
        let (place, other) = (in_shell(&place), shell_line(std::slice::from_ref(other)));
        let hint =
            format!("Rename it: `git -C {place} tag NEW {other}`, then `git -C {place} tag -d {other}`");
        Err(StoreError::new(StoreErrorKind::TagExists, message).hinting(hint))
    }

    /// Returns the data of a tag object.
    pub fn tag_data(&self, object: &str) -> StoreResult<Vec<u8>> {
        let id = ObjectId::from_hex(object.as_bytes());
        let id = id.map_err(|error| self.library("read a tag")(gix::Error::from_error(error)))?;
        self.object(id, Kind::Tag)
    }

    fn annotation(&self, object: ObjectId, commit: CommitId) -> Result<Annotation, String> {
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
        Ok(Annotation {
            name: tag.name.to_str_lossy().into_owned(),
            tagger: format!("{} <{}>", short(tagger.name), short(tagger.email)),
            at: timestamp(tagger.time().unwrap_or_default().seconds).unwrap_or_default(),
            message: tag.message.to_str_lossy().into_owned(),
            is_signed: tag.signature.is_some(),
        })
    }
}
