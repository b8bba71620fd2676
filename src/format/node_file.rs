//! `nodes/R3/R3.A1a.yaml` and its like: one node, from its proposal on.

use serde::{Deserialize, Serialize};

use super::{Time, Version};
use crate::domain::{Author, Classification, Code, Node, NodeId, Reclassification, StateName, Warning};
use crate::yaml::{self, Text, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    version: Version,
    id: NodeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<NodeId>,
    title: Text,
    planned_action: Text,
    proposed_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<StateName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_state: Option<StateName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    committed_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    findings: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verification_method: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reclassified: Vec<ReclassificationEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WarningEntry {
    code: String,
    message: Text,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReclassificationEntry {
    from: StateName,
    to: StateName,
    at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    /// The child that confirmed or refuted the node: in place of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verification_method: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningEntry>,
}

/// The text of the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(node: &Node) -> Result<String, YamlError> {
    let node = node.clone();
    let mut file = File {
        version: Version,
        id: node.id,
        parent: node.parent,
        title: Text(node.title),
        planned_action: Text(node.planned_action),
        proposed_at: Time(node.proposed_at),
        state: None,
        requested_state: None,
        agent_id: None,
        committed_at: None,
        findings: None,
        evidence: None,
        verification_method: None,
        alternatives_considered: Vec::new(),
        warnings: Vec::new(),
        reclassified: Vec::new(),
    };
    if let Some(classification) = node.classification {
        file.state = Some(classification.state);
        file.requested_state = classification.requested_state;
        file.agent_id = classification.agent_id.map(Text);
        file.committed_at = Some(Time(classification.committed_at));
        file.findings = Some(Text(classification.findings));
        file.evidence = classification.evidence.map(Text);
        file.verification_method = classification.verification_method.map(Text);
        file.alternatives_considered = texts(classification.alternatives_considered);
        file.warnings = warning_entries(classification.warnings);
        file.reclassified = classification.reclassified.into_iter().map(reclassification_entry).collect();
    }
    yaml::to_text(&file)
}

/// The value of the file.
///
/// # Errors
///
/// An invalid file, with the line where it is known.
pub fn read(text: &str) -> Result<Node, YamlError> {
    let file: File = super::read(text)?;
    let missing = |field: &str| YamlError {
        line: None,
        column: None,
        message: format!("`{field}` is missing: a node with a `state` has been committed"),
    };
    let stray = |field: &str| YamlError {
        line: None,
        column: None,
        message: format!("`{field}` stands without a `state`: a pending proposal has none"),
    };
    let classification = match file.state {
        Some(state) => Some(Classification {
            state,
            requested_state: file.requested_state,
            agent_id: file.agent_id.map(|text| text.0),
            committed_at: file.committed_at.ok_or_else(|| missing("committedAt"))?.0,
            findings: file.findings.ok_or_else(|| missing("findings"))?.0,
            evidence: file.evidence.map(|text| text.0),
            verification_method: file.verification_method.map(|text| text.0),
            alternatives_considered: file.alternatives_considered.into_iter().map(|text| text.0).collect(),
            warnings: warnings(file.warnings),
            reclassified: file.reclassified.into_iter().map(reclassification).collect(),
        }),
        None if file.findings.is_some() => return Err(stray("findings")),
        None if file.committed_at.is_some() => return Err(stray("committedAt")),
        None if !file.reclassified.is_empty() => return Err(stray("reclassified")),
        None => None,
    };
    Ok(Node {
        id: file.id,
        parent: file.parent,
        title: file.title.0,
        planned_action: file.planned_action.0,
        proposed_at: file.proposed_at.0,
        classification,
    })
}

fn texts(texts: Vec<String>) -> Vec<Text> {
    texts.into_iter().map(Text).collect()
}

fn warning_entries(warnings: Vec<Warning>) -> Vec<WarningEntry> {
    warnings
        .into_iter()
        .map(|warning| WarningEntry { code: warning.code.to_string(), message: Text(warning.message) })
        .collect()
}

fn warnings(entries: Vec<WarningEntry>) -> Vec<Warning> {
    entries
        .into_iter()
        .map(|entry| Warning { code: Code::parse(&entry.code), message: entry.message.0 })
        .collect()
}

fn reclassification_entry(change: Reclassification) -> ReclassificationEntry {
    let (agent_id, by) = match change.by {
        Author::Agent(agent) => (Some(Text(agent)), None),
        Author::Child(child) => (None, Some(child)),
        Author::Unknown => (None, None),
    };
    ReclassificationEntry {
        from: change.from,
        to: change.to,
        at: Time(change.at),
        agent_id,
        by,
        reason: change.reason.map(Text),
        evidence: change.evidence.map(Text),
        verification_method: change.verification_method.map(Text),
        alternatives_considered: texts(change.alternatives_considered),
        warnings: warning_entries(change.warnings),
    }
}

fn reclassification(entry: ReclassificationEntry) -> Reclassification {
    Reclassification {
        from: entry.from,
        to: entry.to,
        at: entry.at.0,
        by: match (entry.by, entry.agent_id) {
            (Some(child), _) => Author::Child(child),
            (None, Some(agent)) => Author::Agent(agent.0),
            (None, None) => Author::Unknown,
        },
        reason: entry.reason.map(|text| text.0),
        evidence: entry.evidence.map(|text| text.0),
        verification_method: entry.verification_method.map(|text| text.0),
        alternatives_considered: entry.alternatives_considered.into_iter().map(|text| text.0).collect(),
        warnings: warnings(entry.warnings),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_node_file_is_made_to_be_read() {
        let text = "\
version: 1
id: R3.A1a
parent: R2.A1
title: Read the slow query log
plannedAction: |
  Look for plans that changed
  after the upgrade.
proposedAt: \"2026-11-20T09:15:02.114Z\"
state: EXPLORE
requestedState: DEAD
agentId: abc-123
committedAt: \"2026-11-20T09:17:40.902Z\"
findings: |
  # Plans

  - one\t1
  - two: \"2\"
alternativesConsidered:
- nothing
warnings:
- code: R3_EXPLORE_ONLY
  message: \"stored as EXPLORE: too early\"
reclassified:
- from: EXPLORE
  to: DEAD
  at: \"2026-11-20T10:00:00.000Z\"
  agentId: abc-124
  reason: given up
";
        let node = read(text).unwrap();
        assert_eq!(write(&node).unwrap(), text);
        assert_eq!(node.state().unwrap().as_str(), "DEAD");
    }

    #[test]
    fn a_fault_is_named() {
        let pending = "version: 1\nid: R1.A\ntitle: x\nplannedAction: y\nproposedAt: 2026-11-20T09:15:02Z\n";
        assert!(read(pending).unwrap().is_pending());
        for (text, reason) in [
            (pending.replace("version: 1", "version: 2"), "version 2 is not known"),
            (format!("{pending}children: [R2.A1]\n"), "children"),
            (format!("{pending}state: EXPLORE\n"), "`committedAt` is missing"),
            (format!("{pending}findings: x\n"), "stands without a `state`"),
            (pending.replace("R1.A", "R1-A"), "R<round>.<suffix>"),
            (pending.replace("2026-11-20T09:15:02Z", "today"), "`today` is not a time"),
            (format!("{pending}title: z\n"), "title"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["(?s).{0,40}", "[ -~\\n]{0,60}", "[a-z ]{1,20}(\\n[ a-z#:-]{0,20}){0,5}\\n?"]
    }

    proptest! {
        #[test]
        fn any_node_comes_back_as_it_was(
            title in text(), action in text(), findings in text(), evidence in proptest::option::of(text()),
            agent in proptest::option::of(text()), alternatives in proptest::collection::vec(text(), 0..3),
            reason in proptest::option::of(text()), pending: bool,
        ) {
            let time = |ms| crate::domain::Timestamp::from_milliseconds(ms).unwrap();
            let state = |name: &str| name.parse::<StateName>().unwrap();
            let node = Node {
                id: "R2.A1".parse().unwrap(),
                parent: Some("R1.A".parse().unwrap()),
                title,
                planned_action: action,
                proposed_at: time(1_700_000_000_123),
                classification: (!pending).then(|| Classification {
                    state: state("EXPLORE"),
                    requested_state: Some(state("DEAD")),
                    agent_id: agent.clone(),
                    committed_at: time(1_700_000_100_000),
                    findings,
                    evidence: evidence.clone(),
                    verification_method: evidence,
                    alternatives_considered: alternatives.clone(),
                    warnings: vec![Warning { code: Code::parse("A_B"), message: reason.clone().unwrap_or_default() }],
                    reclassified: vec![Reclassification {
                        from: state("EXPLORE"),
                        to: state("DEAD"),
                        at: time(1_700_000_200_000),
                        by: agent.map_or(Author::Child("R3.A1a".parse().unwrap()), Author::Agent),
                        reason,
                        evidence: None,
                        verification_method: None,
                        alternatives_considered: alternatives,
                        warnings: Vec::new(),
                    }],
                }),
            };
            let written = write(&node).unwrap();
            prop_assert_eq!(read(&written).unwrap(), node, "{}", written);
        }
    }
}
