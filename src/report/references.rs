//! The sources of the findings and the nodes that cite them.

use std::collections::HashMap;

use super::texts::NodeTexts;
use crate::domain::{Citation, Investigation, NodeId, Pin};
use crate::markdown::{Mention, MentionKind};
use crate::text::one_line;

/// A source and the nodes that cite it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CitedSource {
    /// The URL or path.
    pub target: String,
    /// True if it is a URL that may become a link: `http` or `https`.
    pub is_url: bool,
    /// The first title given for the source.
    pub title: Option<String>,
    /// The citing nodes in order, with the cited lines.
    pub cited_by: Vec<(NodeId, Vec<u32>)>,
    /// The cited file contents, one for each citation that stores them.
    pub pins: Vec<Pin>,
}

impl CitedSource {
    /// Returns the lines cited by a node.
    pub(super) fn lines_of(&self, node: &NodeId) -> &[u32] {
        // Nodes are read in order, so the list is sorted.
        let at = self.cited_by.binary_search_by(|(id, _)| id.cmp(node));
        at.ok().and_then(|at| self.cited_by.get(at)).map_or(&[], |(_, lines)| lines)
    }
}

/// Returns all references in order of first mention.
pub(super) fn collect(investigation: &Investigation, texts: &HashMap<NodeId, NodeTexts>) -> Vec<CitedSource> {
    let mut references: Vec<CitedSource> = Vec::new();
    let mut known: HashMap<(bool, String), usize> = HashMap::new();
    for (node, _) in investigation.committed() {
        let mentioned = texts.get(&node.id).into_iter().flat_map(|texts| &texts.mentions);
        let given = node.classification.iter().flat_map(|it| &it.references);
        let given = given.map(|citation| (mention(citation), citation.pinned.as_ref()));
        for (mention, pin) in mentioned.map(|mention| (mention.clone(), None)).chain(given) {
            let is_url = mention.kind == MentionKind::Url && is_web(&mention.target);
            let at = *known.entry((is_url, mention.target.clone())).or_insert_with(|| {
                references.push(CitedSource {
                    target: mention.target.clone(),
                    is_url,
                    title: None,
                    cited_by: Vec::new(),
                    pins: Vec::new(),
                });
                references.len() - 1
            });
            let reference = &mut references[at];
            reference.pins.extend(pin.cloned());
            if reference.title.is_none() {
                reference.title = mention.title.clone().filter(|title| !title.trim().is_empty());
            }
            if reference.cited_by.last().is_none_or(|(last, _)| last != &node.id) {
                reference.cited_by.push((node.id.clone(), Vec::new()));
            }
            if let (Some(line), Some((_, lines))) = (mention.line, reference.cited_by.last_mut())
                && !lines.contains(&line)
            {
                lines.push(line);
            }
        }
    }
    references
}

/// Converts a source given as structured data to a mention, as if the findings had mentioned it.
fn mention(citation: &Citation) -> Mention {
    let kind = if is_web(&citation.target) { MentionKind::Url } else { MentionKind::Path };
    let first = citation.lines.as_deref().map(|lines| lines.split('-').next().unwrap_or_default());
    Mention {
        target: citation.target.clone(),
        kind,
        line: first.and_then(|line| line.trim().parse().ok()),
        last_line: None,
        title: citation.note.as_deref().map(one_line),
        quote: None,
    }
}

/// Returns true for URLs that may become links. A `javascript:` URL would run as a script.
pub(super) fn is_web(target: &str) -> bool {
    let lower = target.get(..8).unwrap_or(target).to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://")
}
