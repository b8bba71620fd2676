//! What was found: solutions, theories, dead ends, and the references in the findings.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use crate::domain::{Citation, CommentId, Investigation, Node, NodeId};
use crate::markdown::{self, Mention, MentionKind};
use crate::ruleset::rules::objections;
use crate::ruleset::rules::verification::{Confirming, Grade};
use crate::ruleset::{EffectiveRules, Role};
use crate::text::one_line;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The node.
    pub node: Arc<Node>,
    /// The nodes that confirm it, the best first.
    pub confirming: Vec<Confirming>,
    /// By whom it is confirmed: the best of them.
    pub grade: Grade,
    /// The nodes that refute it.
    pub refuted_by: Vec<NodeId>,
    /// The open objections to what it rests on.
    pub contested_by: Vec<CommentId>,
}

/// One source, with the nodes that cite it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The URL or path.
    pub target: String,
    /// Which of the two.
    pub kind: MentionKind,
    /// The line, for a path with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it is, in the words of the first node that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The nodes that cite it, by round and suffix.
    pub cited_by: Vec<NodeId>,
}

/// What an investigation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Nodes in a state that is an answer, without those that are refuted.
    pub solutions: Vec<Solution>,
    /// Answers that a child has refuted.
    pub refuted: Vec<Solution>,
    /// Nodes in a state that is an untestable answer.
    pub theories: Vec<Arc<Node>>,
    /// Nodes in a state that is a dead end, without those that refute an answer.
    pub dead_ends: Vec<Arc<Node>>,
    /// In order of first mention.
    pub references: Vec<Reference>,
}

/// What this investigation found so far.
pub fn results(investigation: &Investigation, rules: &EffectiveRules) -> Results {
    let mut results = Results { references: references(investigation), ..Results::default() };
    let open = objections::open(investigation);
    for (node, state) in investigation.committed() {
        match rules.role(state) {
            Role::Solution => {
                let confirming = rules.confirming(investigation, node);
                let solution = Solution {
                    node: Arc::clone(node),
                    grade: confirming.first().map_or(Grade::None, |it| it.grade),
                    confirming,
                    refuted_by: rules.refuted_by(investigation, node),
                    contested_by: rules
                        .against(investigation, node, &open)
                        .into_iter()
                        .map(|objection| objection.comment.id)
                        .collect(),
                };
                match solution.refuted_by.is_empty() {
                    true => results.solutions.push(solution),
                    false => results.refuted.push(solution),
                }
            }
            Role::Theory => results.theories.push(Arc::clone(node)),
            _ if rules.is_dead_end(state) => results.dead_ends.push(Arc::clone(node)),
            Role::DeadEnd
            | Role::Open
            | Role::AwaitingConfirmation
            | Role::Confirmation
            | Role::Exhausted => {}
        }
    }
    results
}

/// A source that is given as data, as if the findings named it after all others.
fn mentioned(citation: &Citation) -> Mention {
    let is_url = ["http://", "https://"].iter().any(|scheme| citation.target.starts_with(scheme));
    let first = citation.lines.as_deref().and_then(|lines| lines.split('-').next()?.parse().ok());
    Mention {
        kind: if is_url { MentionKind::Url } else { MentionKind::Path },
        target: citation.target.clone(),
        line: first,
        last_line: None,
        title: citation.note.as_deref().map(one_line),
    }
}

/// The references in all findings, and those given as data, in order of first mention: by round, then suffix, then place in the text.
pub fn references(investigation: &Investigation) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    let mut known: HashMap<(MentionKind, String, Option<u32>), usize> = HashMap::new();
    for (node, _) in investigation.committed() {
        let Some(classification) = &node.classification else { continue };
        let given = classification.references.iter().map(mentioned);
        for mention in markdown::references(&classification.findings).into_iter().chain(given) {
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
