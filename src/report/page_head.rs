//! The head of a page for programs: its canonical address, and Open Graph for previews.

use serde::Serialize;

use super::address::BaseUrl;
use super::feed;
use super::model::{Header, NodePage};

/// The head of a page, as far as it is for programs.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageHead {
    /// The whole address of the page.
    pub canonical: Option<String>,
    /// `article` or `website`, for Open Graph.
    pub kind: &'static str,
    /// The title of the feed, where there is one.
    pub feed: Option<&'static str>,
    /// When what it says was committed last; absent while that can still change.
    pub modified: Option<String>,
}

impl PageHead {
    /// A page of an investigation.
    pub(super) fn plain(header: &Header, base: Option<&BaseUrl>, folder: &str, path: &str) -> PageHead {
        PageHead {
            canonical: base.map(|base| base.of(&format!("{folder}{path}"))),
            kind: "article",
            feed: base.map(|_| feed::TITLE),
            modified: header.ended_at.as_ref().map(|at| at.iso.clone()),
        }
    }

    /// The page of a node.
    pub(super) fn node(header: &Header, node: &NodePage, base: Option<&BaseUrl>, folder: &str) -> PageHead {
        PageHead {
            modified: node.committed_at.as_ref().map(|at| at.iso.clone()),
            ..PageHead::plain(header, base, folder, &node.card.href)
        }
    }

    /// The index above several investigations.
    pub(super) fn index(base: Option<&BaseUrl>) -> PageHead {
        PageHead {
            canonical: base.map(|base| base.folder().to_owned()),
            kind: "website",
            feed: base.map(|_| feed::TITLE),
            ..PageHead::default()
        }
    }
}
