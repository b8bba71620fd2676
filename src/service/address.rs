//! Parses and formats resource addresses (`tot://…`).

use std::fmt;

use crate::domain::NodeId;
use crate::service::changes::ServiceChange;

/// The prefix of every address.
pub(super) const SCHEME: &str = "tot://";

/// The address of the list of investigations.
const LIST: &str = "investigations";

/// A resource address. The session is given by its id or by a unique prefix or suffix of its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceAddress {
    /// `tot://investigations`: the list of investigations.
    Investigations,
    /// `tot://{sessionId}`: the overview of an investigation.
    Overview(String),
    /// `tot://{sessionId}/nodes/{nodeId}`: a whole node.
    Node(String, String),
    /// `tot://{sessionId}/graph.dot`: the graph in DOT format.
    GraphDot(String),
    /// `tot://{sessionId}/graph.svg`: the graph as an SVG image.
    GraphSvg(String),
    /// `tot://{sessionId}/history`: the git commits.
    History(String),
}

impl ResourceAddress {
    /// Parses an address without looking up the ids. Returns `None` if the text is not an address.
    pub fn parse(text: &str) -> Option<ResourceAddress> {
        let path = text.strip_prefix(SCHEME)?;
        let mut parts = path.split('/');
        let session = parts.next().filter(|session| !session.is_empty())?.to_owned();
        let mut rest: Vec<&str> = parts.collect();
        // URL libraries add a slash after a bare host.
        if rest == [""] {
            rest.clear();
        }
        match rest.as_slice() {
            [] if session == LIST => Some(ResourceAddress::Investigations),
            _ if session == LIST => None,
            [] => Some(ResourceAddress::Overview(session)),
            ["nodes", node] if !node.is_empty() => Some(ResourceAddress::Node(session, (*node).to_owned())),
            ["graph.dot"] => Some(ResourceAddress::GraphDot(session)),
            ["graph.svg"] => Some(ResourceAddress::GraphSvg(session)),
            ["history"] => Some(ResourceAddress::History(session)),
            _ => None,
        }
    }

    /// Returns whether the change may affect the content at this address.
    pub fn is_touched_by(&self, change: &ServiceChange) -> bool {
        let id = change.session.to_string();
        let same = |session: &str| {
            let part = session.to_ascii_lowercase();
            part.len() >= 4 && (id.starts_with(&part) || id.ends_with(&part))
        };
        match self {
            ResourceAddress::Investigations => true,
            ResourceAddress::Overview(session)
            | ResourceAddress::GraphDot(session)
            | ResourceAddress::GraphSvg(session)
            | ResourceAddress::History(session) => same(session),
            ResourceAddress::Node(session, node) => {
                let is_named = |id: &NodeId| {
                    id.short().as_str() == node || (node.contains('-') && id.whole().starts_with(node))
                };
                same(session) && change.nodes.iter().any(is_named)
            }
        }
    }
}

impl fmt::Display for ResourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceAddress::Investigations => write!(f, "{SCHEME}{LIST}"),
            ResourceAddress::Overview(session) => write!(f, "{SCHEME}{session}"),
            ResourceAddress::Node(session, node) => write!(f, "{SCHEME}{session}/nodes/{node}"),
            ResourceAddress::GraphDot(session) => write!(f, "{SCHEME}{session}/graph.dot"),
            ResourceAddress::GraphSvg(session) => write!(f, "{SCHEME}{session}/graph.svg"),
            ResourceAddress::History(session) => write!(f, "{SCHEME}{session}/history"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let session = || "01a19b7c-a680-746e-a361-b8f3735ece1a".to_owned();
        for address in [
            ResourceAddress::Investigations,
            ResourceAddress::Overview(session()),
            ResourceAddress::Node(session(), "R3.A1a".to_owned()),
            ResourceAddress::GraphDot(session()),
            ResourceAddress::GraphSvg(session()),
            ResourceAddress::History(session()),
        ] {
            assert_eq!(ResourceAddress::parse(&address.to_string()), Some(address));
        }
    }

    #[test]
    fn a_slash_behind_a_bare_host_says_nothing() {
        assert_eq!(ResourceAddress::parse("tot://investigations/"), Some(ResourceAddress::Investigations));
        assert_eq!(ResourceAddress::parse("tot://01a1/"), Some(ResourceAddress::Overview("01a1".to_owned())));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "tot://",
            "tot:///history",
            "file:///etc/passwd",
            "tot://investigations/history",
            "tot://a/b",
            "tot://a/nodes/",
            "tot://a/nodes/R1.A/x",
            "tot://a/graph.svg/",
            "TOT://a",
        ] {
            assert_eq!(ResourceAddress::parse(text), None, "{text}");
        }
    }
}
