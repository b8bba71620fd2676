//! Ids of nodes in texts as links. A text does not know which nodes there are, nor on which page it will stand: it has a
//! mark for each id, and where a page is done the marks become links, or text again.

use std::collections::HashMap;

use super::model::NodePage;
use crate::text::escape;

/// What [`crate::markdown`] writes around an id: before it, and between the address and the text.
const MARK: &str = "<a class=\"node-ref\" href=\"#node:";
const CLOSE: &str = "</a>";

/// The nodes of an investigation by their ids: address from its folder, and title.
pub(super) struct NodeLinks<'r>(HashMap<&'r str, (&'r str, &'r str)>);

/// From which page links lead.
#[derive(Clone, Copy)]
pub(super) enum From<'p> {
    /// A page with this way to the investigation's folder; on the page of a node its own id is no link.
    Page { root: &'p str, own: Option<&'p str> },
    /// The page on which all nodes stand.
    Print,
}

impl<'r> NodeLinks<'r> {
    pub fn of(nodes: &'r [NodePage]) -> Self {
        let entry =
            |node: &'r NodePage| (node.card.id.as_str(), (node.card.href.as_str(), node.card.title.as_str()));
        NodeLinks(nodes.iter().map(entry).collect())
    }

    /// The page with its marks made links.
    pub fn put_into(&self, page: Vec<u8>, from: From<'_>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&page) else { return page };
        if !text.contains(MARK) {
            return page;
        }
        let mut out = String::with_capacity(text.len());
        let mut pieces = text.split(MARK);
        out.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            // `R2.A1">R2.A1</a>`, and what follows.
            let id = piece.split('"').next().unwrap_or_default();
            let rest = piece.get(2 * id.len() + "\">".len() + CLOSE.len()..).unwrap_or_default();
            let own = matches!(from, From::Page { own: Some(own), .. } if own == id);
            match self.0.get(id).filter(|_| !own) {
                Some((href, title)) => {
                    let href = match from {
                        From::Page { root, .. } => format!("{root}{href}"),
                        From::Print => format!("#n-{id}"),
                    };
                    let title = escape(title);
                    out.push_str(&format!(
                        "<a class=\"node-ref\" href=\"{href}\" title=\"{title}\">{id}</a>"
                    ));
                }
                None => out.push_str(id),
            }
            out.push_str(rest);
        }
        out.into_bytes()
    }
}
