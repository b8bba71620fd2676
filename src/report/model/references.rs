//! What the findings cite, and who cites it.

use serde::Serialize;

use super::Reference;
use super::cards::{Card, Cards};

/// What the findings cite.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct References {
    pub urls: Vec<ReferenceView>,
    pub paths: Vec<ReferenceView>,
}

/// A source, and who cites it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ReferenceView {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub cited_by: Vec<Citation>,
}

/// A node that cites a source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Citation {
    pub card: Card,
    pub lines: Vec<u32>,
}

impl<'a> Cards<'a> {
    pub(super) fn reference(&self, reference: &Reference) -> ReferenceView {
        ReferenceView {
            target: reference.target.clone(),
            is_url: reference.is_url,
            title: reference.title.clone().filter(|title| *title != reference.target),
            cited_by: reference
                .cited_by
                .iter()
                .filter_map(|(id, lines)| {
                    Some(Citation { card: self.get(id)?.clone(), lines: lines.clone() })
                })
                .collect(),
        }
    }
}
