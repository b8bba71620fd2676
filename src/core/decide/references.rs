//! The sources that results cite, either in the findings or as structured sources.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::domain::{Citation, Classification, Investigation, NamedIn, Node, NodeId, Pin};
use crate::markdown::{self, Mention, MentionKind};
use crate::text::one_line;

/// A source and the nodes that cite it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CitedSource {
    /// The URL or path.
    pub target: String,
    /// True if it is a URL that may become a link: `http` or `https`.
    #[serde(rename = "kind", serialize_with = "kind")]
    #[schemars(with = "String", extend("enum" = ["url", "path"]))]
    #[schemars(description = "`url` for `http` and `https`, otherwise `path`.")]
    pub is_url: bool,
    /// The first title given for the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The citing nodes in order, with the cited lines.
    pub cited_by: Vec<CitingLines>,
    /// The cited file contents, one for each citation that stores them.
    #[serde(skip)]
    pub pins: Vec<Pin>,
}

/// A node that cites a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CitingLines {
    /// The node.
    pub node_id: NodeId,
    /// The cited lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u32>,
}

fn kind<S: Serializer>(is_url: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *is_url { "url" } else { "path" })
}

impl CitedSource {
    /// Returns the lines cited by a node.
    pub fn lines_of(&self, node: &NodeId) -> &[u32] {
        // Nodes are read in order, so the list is sorted.
        let at = self.cited_by.binary_search_by(|citing| citing.node_id.cmp(node));
        at.ok().and_then(|at| self.cited_by.get(at)).map_or(&[], |citing| &citing.lines)
    }
}

/// Converts a structured source to the form used for sources cited in findings.
pub fn mentioned(citation: &Citation) -> Mention {
    let first = citation.lines.as_deref().and_then(|lines| lines.split('-').next()?.trim().parse().ok());
    Mention {
        kind: if is_web(&citation.target) { MentionKind::Url } else { MentionKind::Path },
        target: citation.target.clone(),
        line: first,
        last_line: None,
        title: citation.note.as_deref().map(one_line),
        quote: None,
    }
}

/// Returns true for URLs that may become links. A `javascript:` URL would run as a script.
pub fn is_web(target: &str) -> bool {
    let lower = target.get(..8).unwrap_or(target).to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("http://")
}

/// Returns the number of distinct sources that a result cites.
pub fn sources(result: &Classification) -> usize {
    let given = result.references.iter().filter(|it| it.named_in != Some(NamedIn::Source)).map(mentioned);
    let all = markdown::references(&result.findings).into_iter().chain(given);
    all.map(|mention| mention.target).collect::<HashSet<_>>().len()
}

/// Returns all cited sources in order of first mention: by round, then suffix, then position in the text. `mentions` returns
/// those in the findings of a node.
pub fn cited(investigation: &Investigation, mentions: impl Fn(&Node) -> Vec<Mention>) -> Vec<CitedSource> {
    let mut references: Vec<CitedSource> = Vec::new();
    let mut known: HashMap<(bool, String), usize> = HashMap::new();
    for (node, _) in investigation.committed() {
        let found = mentions(node);
        let given = node.classification.iter().flat_map(|it| &it.references);
        let given = given.filter(|citation| citation.named_in != Some(NamedIn::Source));
        let given = given.map(|citation| (mentioned(citation), citation.pinned.as_ref()));
        for (mention, pin) in found.into_iter().map(|mention| (mention, None)).chain(given) {
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
            if reference.cited_by.last().is_none_or(|last| last.node_id != node.id) {
                reference.cited_by.push(CitingLines { node_id: node.id.clone(), lines: Vec::new() });
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
