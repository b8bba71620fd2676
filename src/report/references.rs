//! The sources of the findings and the nodes that cite them.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::texts::NodeTexts;
use crate::decide::references::{is_web, mentioned};
use crate::domain::{Investigation, NodeId, Pin};
use crate::markdown::MentionKind;

/// A source and the nodes that cite it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CitedSource {
    /// The URL or path.
    pub target: String,
    /// True if it is a URL that may become a link: `http` or `https`.
    #[serde(rename = "kind", serialize_with = "kind")]
    #[schemars(with = "String", extend("enum" = ["url", "path"]))]
    pub is_url: bool,
    /// The first title given for the source.
    pub title: Option<String>,
    /// The citing nodes in order, with the cited lines.
    pub cited_by: Vec<CitingLines>,
    /// The cited file contents, one for each citation that stores them.
    #[serde(skip)]
    pub pins: Vec<Pin>,
}

/// A node that cites a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct CitingLines {
    pub node: NodeId,
    /// The cited lines.
    pub lines: Vec<u32>,
}

fn kind<S: Serializer>(is_url: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_url { "url" } else { "path" })
}

impl CitedSource {
    /// Returns the lines cited by a node.
    pub(super) fn lines_of(&self, node: &NodeId) -> &[u32] {
        // Nodes are read in order, so the list is sorted.
        let at = self.cited_by.binary_search_by(|citing| citing.node.cmp(node));
        at.ok().and_then(|at| self.cited_by.get(at)).map_or(&[], |citing| &citing.lines)
    }
}

/// Returns all references in order of first mention.
pub(super) fn collect(investigation: &Investigation, texts: &HashMap<NodeId, NodeTexts>) -> Vec<CitedSource> {
    let mut references: Vec<CitedSource> = Vec::new();
    let mut known: HashMap<(bool, String), usize> = HashMap::new();
    for (node, _) in investigation.committed() {
        let found = texts.get(&node.id).into_iter().flat_map(|texts| &texts.mentions);
        let given = node.classification.iter().flat_map(|it| &it.references);
        let given = given.map(|citation| (mentioned(citation), citation.pinned.as_ref()));
        for (mention, pin) in found.map(|mention| (mention.clone(), None)).chain(given) {
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
            if reference.cited_by.last().is_none_or(|last| last.node != node.id) {
                reference.cited_by.push(CitingLines { node: node.id.clone(), lines: Vec::new() });
            }
            if let (Some(line), Some(citing)) = (mention.line, reference.cited_by.last_mut())
                && !citing.lines.contains(&line)
            {
                citing.lines.push(line);
            }
        }
    }
    references
}
