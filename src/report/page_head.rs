//! Metadata in the head of a page: the canonical address, and Open Graph data for previews.

use serde::Serialize;

use super::address::BaseUrl;
use super::model::{Header, NodePage};

/// The metadata of a page.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageHead {
    /// The full address of the page.
    pub canonical: Option<String>,
    /// `article` or `website`, for Open Graph.
    pub kind: &'static str,
    /// The time of the last commit that changed the page's content, or `None` while the content can still change.
    pub modified: Option<String>,
}

impl PageHead {
    /// Returns the metadata of an investigation page.
    pub(super) fn plain(header: &Header, base: Option<&BaseUrl>, folder: &str, path: &str) -> PageHead {
        PageHead {
            canonical: base.map(|base| base.of(&format!("{folder}{path}"))),
            kind: "article",
            modified: header.facts.ended_at.as_ref().map(|at| at.iso.clone()),
        }
    }

    /// Returns the metadata of a node page.
    pub(super) fn node(header: &Header, node: &NodePage, base: Option<&BaseUrl>, folder: &str) -> PageHead {
        PageHead {
            modified: node.committed_at.as_ref().map(|at| at.iso.clone()),
            ..PageHead::plain(header, base, folder, &node.card.href)
        }
    }

    /// Returns the metadata of the index.
    pub(super) fn index(base: Option<&BaseUrl>) -> PageHead {
        PageHead {
            canonical: base.map(|base| base.folder().to_owned()),
            kind: "website",
            ..PageHead::default()
        }
    }
}
