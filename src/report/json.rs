//! `investigation.json`: the facts of an investigation and what follows from them, for programs.

use serde::Serialize;

use super::history::{node_of, verb_of};
use super::references::Reference;
use super::{ReportError, ReportInput};
use crate::decide::quality::{Quality, quality};
use crate::decide::standing;
use crate::domain::{Author, Investigation, Node, NodeId};
use crate::ruleset::{EffectiveRules, Role};

/// The version of the file's form.
const VERSION: u32 = 1;

/// The file of an input; `path` is where it will stand.
pub(super) fn file(
    input: &ReportInput,
    references: &[Reference],
    path: &str,
) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(&document(input, references))
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    version: u32,
    meta: Meta,
    conclusion: Option<Conclusion>,
    faults: Vec<String>,
    solutions: Vec<Solution>,
    theories: Vec<String>,
    dead_ends: Vec<String>,
    blockers: Vec<Blocker>,
    quality: Option<Quality>,
    nodes: Vec<NodeData>,
    references: Vec<ReferenceData>,
    commits: Vec<Commit>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    id: String,
    title: String,
    query: String,
    context: Option<String>,
    ruleset: String,
    mode: String,
    min_rounds: u32,
    min_roots: u32,
    allow_early_terminal: bool,
    started_at: String,
    current_round: u32,
    head: String,
    ended: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Conclusion {
    ended_at: String,
    agent_id: Option<String>,
    conclusion: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Solution {
    node: String,
    verified: bool,
    verified_by: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blocker {
    code: String,
    node: Option<String>,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeData {
    id: String,
    parent: Option<String>,
    children: Vec<String>,
    round: u32,
    title: String,
    /// The state in force; `null` while it is pending.
    state: Option<String>,
    role: Option<Role>,
    planned_action: String,
    proposed_at: String,
    committed_as: Option<String>,
    requested_state: Option<String>,
    agent_id: Option<String>,
    committed_at: Option<String>,
    findings: Option<String>,
    evidence: Option<String>,
    verification_method: Option<String>,
    alternatives_considered: Vec<String>,
    warnings: Vec<WarningData>,
    reclassified: Vec<Change>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WarningData {
    code: String,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    from: String,
    to: String,
    at: String,
    agent_id: Option<String>,
    by: Option<String>,
    reason: Option<String>,
    evidence: Option<String>,
    verification_method: Option<String>,
    alternatives_considered: Vec<String>,
    warnings: Vec<WarningData>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceData {
    target: String,
    kind: &'static str,
    title: Option<String>,
    cited_by: Vec<Citation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Citation {
    node: String,
    lines: Vec<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    commit: String,
    parents: Vec<String>,
    at: String,
    author: String,
    message: String,
    tags: Vec<String>,
    changes: Vec<ChangeOf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeOf {
    what: &'static str,
    node: Option<String>,
}

fn document(input: &ReportInput, references: &[Reference]) -> Document {
    let snapshot = &input.snapshot;
    let investigation = snapshot.investigation.as_ref();
    let rules =
        snapshot.ruleset.as_ref().ok().map(|file| EffectiveRules::new(&file.ruleset, investigation.meta()));
    let meta = investigation.meta();
    let with_role = |role| -> Vec<&Node> {
        let is = |(node, state)| (rules?.role(state) == role).then_some(node);
        investigation.committed().filter_map(|(node, state)| is((node.as_ref(), state))).collect()
    };
    let ids = |nodes: Vec<&Node>| nodes.into_iter().map(|node| node.id.to_string()).collect();
    let solution = |node: &Node| {
        let by = rules.map_or_else(Vec::new, |rules| rules.verified_by(investigation, node));
        Solution { node: node.id.to_string(), verified: !by.is_empty(), verified_by: strings(&by) }
    };
    let blockers = rules.map_or_else(Vec::new, |rules| standing::owed(investigation, &rules));
    Document {
        version: VERSION,
        meta: Meta {
            id: meta.id.to_string(),
            title: meta.title.clone(),
            query: meta.query.clone(),
            context: meta.context.clone(),
            ruleset: meta.ruleset.clone(),
            mode: meta.mode.clone(),
            min_rounds: meta.min_rounds,
            min_roots: meta.min_roots,
            allow_early_terminal: meta.allow_early_terminal,
            started_at: meta.started_at.to_string(),
            current_round: investigation.current_round(),
            head: snapshot.head.to_string(),
            ended: investigation.conclusion().is_some(),
        },
        conclusion: investigation.conclusion().map(|end| Conclusion {
            ended_at: end.ended_at.to_string(),
            agent_id: end.agent_id.clone(),
            conclusion: end.conclusion.clone(),
        }),
        faults: snapshot
            .ruleset
            .as_ref()
            .err()
            .into_iter()
            .chain(&snapshot.faults)
            .map(ToString::to_string)
            .collect(),
        solutions: with_role(Role::Solution).into_iter().map(solution).collect(),
        theories: ids(with_role(Role::Theory)),
        dead_ends: ids(with_role(Role::DeadEnd)),
        blockers: blockers
            .into_iter()
            .map(|blocker| Blocker {
                code: blocker.code.to_string(),
                node: blocker.node,
                message: blocker.message,
            })
            .collect(),
        quality: rules.map(|rules| quality(investigation, &rules)),
        nodes: investigation.nodes().map(|node| node_data(investigation, rules, node)).collect(),
        references: references.iter().map(reference).collect(),
        commits: input
            .history
            .iter()
            .map(|entry| Commit {
                commit: entry.commit.to_string(),
                parents: strings(&entry.parents),
                at: entry.at.to_string(),
                author: entry.author_name.clone(),
                message: entry.message.clone(),
                tags: entry.tags.clone(),
                changes: entry
                    .happenings
                    .iter()
                    .map(|happening| ChangeOf {
                        what: verb_of(happening).1,
                        node: node_of(happening).map(|node| node.id.to_string()),
                    })
                    .collect(),
            })
            .collect(),
    }
}

fn node_data(investigation: &Investigation, rules: Option<EffectiveRules<'_>>, node: &Node) -> NodeData {
    let committed = node.classification.as_ref();
    NodeData {
        id: node.id.to_string(),
        parent: node.parent.as_ref().map(NodeId::to_string),
        children: investigation.children(&node.id).map(|child| child.id.to_string()).collect(),
        round: node.round(),
        title: node.title.clone(),
        state: node.state().map(ToString::to_string),
        role: rules.zip(node.state()).and_then(|(rules, state)| Some(rules.ruleset().state(state)?.role)),
        planned_action: node.planned_action.clone(),
        proposed_at: node.proposed_at.to_string(),
        committed_as: committed.map(|c| c.state.to_string()),
        requested_state: committed.and_then(|c| c.requested_state.as_ref()).map(ToString::to_string),
        agent_id: committed.and_then(|c| c.agent_id.clone()),
        committed_at: committed.map(|c| c.committed_at.to_string()),
        findings: committed.map(|c| c.findings.clone()),
        evidence: committed.and_then(|c| c.evidence.clone()),
        verification_method: committed.and_then(|c| c.verification_method.clone()),
        alternatives_considered: committed.map_or_else(Vec::new, |c| c.alternatives_considered.clone()),
        warnings: committed.map_or_else(Vec::new, |c| warnings(&c.warnings)),
        reclassified: committed.into_iter().flat_map(|c| &c.reclassified).map(change).collect(),
    }
}

fn change(change: &crate::domain::Reclassification) -> Change {
    let (agent_id, by) = match &change.by {
        Author::Agent(agent) => (Some(agent.clone()), None),
        Author::Child(child) => (None, Some(child.to_string())),
        Author::Unknown => (None, None),
    };
    Change {
        from: change.from.to_string(),
        to: change.to.to_string(),
        at: change.at.to_string(),
        agent_id,
        by,
        reason: change.reason.clone(),
        evidence: change.evidence.clone(),
        verification_method: change.verification_method.clone(),
        alternatives_considered: change.alternatives_considered.clone(),
        warnings: warnings(&change.warnings),
    }
}

fn warnings(warnings: &[crate::domain::Warning]) -> Vec<WarningData> {
    let data = |warning: &crate::domain::Warning| WarningData {
        code: warning.code.to_string(),
        message: warning.message.clone(),
    };
    warnings.iter().map(data).collect()
}

fn reference(reference: &Reference) -> ReferenceData {
    ReferenceData {
        target: reference.target.clone(),
        kind: if reference.is_url { "url" } else { "path" },
        title: reference.title.clone(),
        cited_by: reference
            .cited_by
            .iter()
            .map(|(node, lines)| Citation { node: node.to_string(), lines: lines.clone() })
            .collect(),
    }
}

fn strings<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}
