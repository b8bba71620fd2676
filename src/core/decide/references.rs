//! The sources that results cite, either in the findings or as structured sources.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::domain::{Citation, Classification, Investigation, NodeId};
use crate::markdown::{self, Mention, MentionKind};
use crate::text::one_line;

/// A source and the nodes that cite it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The URL or path.
    pub target: String,
    /// The kind of source: a URL or a path.
    pub kind: MentionKind,
    /// The cited line, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The first description given by a citing node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The citing nodes, ordered by round and suffix.
    pub cited_by: Vec<NodeId>,
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
    let targets: HashSet<String> = mentions(result).map(|mention| mention.target).collect();
    targets.len()
}

/// Returns the sources cited in the findings, followed by the structured sources.
fn mentions(result: &Classification) -> impl Iterator<Item = Mention> {
    let given = result.references.iter().map(mentioned);
    markdown::references(&result.findings).into_iter().chain(given)
}

/// Returns all cited sources in order of first mention: by round, then suffix, then position in the text.
pub fn references(investigation: &Investigation) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let mut known: HashMap<(MentionKind, String, Option<u32>), usize> = HashMap::new();
    for (node, _) in investigation.committed() {
        let Some(classification) = &node.classification else { continue };
        for mention in mentions(classification) {
            let key = (mention.kind, mention.target.clone(), mention.line);
            let at = *known.entry(key).or_insert_with(|| {
                references.push(Reference {
                    target: mention.target,
                    kind: mention.kind,
                    line: mention.line,
                    title: None,
                    cited_by: Vec::new(),
                });
                references.len() - 1
            });
            let reference = &mut references[at];
            if reference.cited_by.last() != Some(&node.id) {
                reference.cited_by.push(node.id.clone());
            }
            reference.title = reference.title.take().or(mention.title);
        }
    }
    references
}
