//! What replies share, and how domain values become parts of them. What is sent whole (a diagnostic, what is owed in the
//! next round, a reference, the quality figures) says itself how it is written; where a reply shortens, joins or leaves out,
//! it has a type of its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::decide::quality::Quality;
use crate::decide::standing::{self, NextRound};
use crate::domain::{Diagnostic, Investigation, SessionId, Transition};
use crate::markdown;
use crate::ruleset::EffectiveRules;
use crate::service::{Refusal, Standing, Unjudged, Written};
use crate::store::CommitId;

/// How much of a finding stands in a reply.
const SUMMARY: usize = 300;

/// Whether the call was done: where it was rejected, nothing was written, and the errors say why.
#[expect(missing_docs, reason = "a schema lists plain variants only of an enum without words on them")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Status {
    Ok,
    #[default]
    Rejected,
}

/// In the schema, what every tool's reply has and one place describes: said in full in each, it would be most of the list
/// of tools. The server's instructions say what a notice is.
#[derive(JsonSchema)]
#[schemars(inline)]
pub struct Object {}

/// What every reply has. What it requires is all that an output schema requires: a rejection has no more.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Shared {
    /// The investigation, for the log.
    #[serde(skip)]
    pub session: Option<SessionId>,
    /// OK, or REJECTED: then nothing was written.
    pub status: Status,
    /// What to do next.
    pub message: String,
    /// Why the call was rejected.
    #[schemars(with = "Vec<Object>")]
    pub errors: Vec<Diagnostic>,
    /// What is doubtful, though the call went through.
    #[schemars(with = "Vec<Object>")]
    pub warnings: Vec<Diagnostic>,
    /// The git commit that was written; absent when none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The highest round of any committed node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_round: Option<u32>,
    /// Whether tot_end would be accepted now.
    pub can_end: bool,
    /// Everything that keeps tot_end from being accepted.
    #[schemars(with = "Vec<Object>")]
    pub blockers: Vec<Diagnostic>,
    /// The children that are owed next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    pub next_round_info: Option<NextRound>,
    /// How many entries of which list were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub omitted: BTreeMap<&'static str, usize>,
}

/// A node's change of state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransitionEntry {
    /// The node.
    pub node_id: String,
    /// Its state before.
    pub from: String,
    /// Its state now; also the key under which other replies give a state.
    pub state: String,
    /// The child that brought it about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// An open node that lacks children.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IncompleteNode {
    /// The node.
    pub node_id: String,
    /// Its state.
    pub state: String,
    /// Children that count.
    pub has: u32,
    /// Children that it needs.
    pub needs: u32,
    /// The states in which children count; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<String>>,
}

/// Which form of the graph a reply shall have: none; `auto`, which is DOT while there are at most 40 nodes and the
/// address of its resource beyond; or one that is sent whatever its size. The variants have no words of their own, since
/// five tools would repeat them.
#[expect(missing_docs, reason = "the words would stand in the schema of five tools")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum GraphForm {
    None,
    #[default]
    Auto,
    Dot,
    Mermaid,
    Json,
}

impl GraphForm {
    /// The default of the tools that write.
    pub fn none() -> Self {
        GraphForm::None
    }
}

/// The graph of a reply, in the form that was asked for.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Graph {
    /// The graph as DOT.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-keep" = "asked for"))]
    pub dot: Option<String>,
    /// The graph as Mermaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-keep" = "asked for"))]
    pub mermaid: Option<String>,
    /// The graph as nodes with their parents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    pub graph: Option<Vec<GraphNode>>,
    /// The address of the resource that has the graph, where it is too large for a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_resource: Option<String>,
}

/// One node of the graph.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The node.
    pub node_id: String,
    /// The node it extends; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its state; absent while it is only proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Its title.
    pub title: String,
}

impl Shared {
    /// Of a call that went through; without a message of its own the next legal step is the message.
    pub fn done(standing: &Standing, commit: Option<CommitId>, warnings: &[Diagnostic]) -> Shared {
        Shared::of(standing, Status::Ok, commit, &[], warnings)
    }

    /// Of a call that is about no single investigation.
    pub fn apart(message: String) -> Shared {
        Shared { status: Status::Ok, message, ..Shared::default() }
    }

    /// Of a write that went through.
    pub fn written(written: &Written) -> Shared {
        let commit = written.decision.event.is_some().then_some(written.standing.snapshot.head);
        Shared::done(&written.standing, commit, &written.decision.warnings)
    }

    /// Of a reading call on an investigation whose rules can't be used.
    pub fn unjudged(unjudged: &Unjudged) -> Shared {
        let investigation = &unjudged.snapshot.investigation;
        let error = std::slice::from_ref(&unjudged.error);
        Shared {
            session: Some(investigation.meta().id),
            status: Status::Ok,
            message: first_error(error),
            warnings: error.to_vec(),
            current_round: Some(investigation.current_round()),
            blockers: error.to_vec(),
            ..Shared::default()
        }
    }

    /// Of a call that was refused.
    pub fn refused(refusal: &Refusal) -> Shared {
        let shared = match &refusal.standing {
            Some(standing) => Shared::of(standing, Status::Rejected, None, &refusal.errors, &[]),
            None => Shared { errors: refusal.errors.clone(), ..Shared::default() },
        };
        Shared { message: format!("Nothing was written. {}", first_error(&refusal.errors)), ..shared }
    }

    /// Whether nothing was done, or not all of it.
    pub fn is_rejected(&self) -> bool {
        self.status == Status::Rejected
    }

    /// Leaves out and counts the blockers beyond so many.
    pub fn shorten_blockers(&mut self, most: usize) {
        let more = self.blockers.len().saturating_sub(most);
        if more > 0 {
            self.blockers.truncate(most);
            self.omitted.insert("blockers", more);
        }
    }

    fn of(
        standing: &Standing,
        status: Status,
        commit: Option<CommitId>,
        errors: &[Diagnostic],
        warnings: &[Diagnostic],
    ) -> Shared {
        let (investigation, rules) = (standing.investigation(), standing.rules());
        let outlook = standing::outlook(investigation, &rules);
        Shared {
            session: Some(investigation.meta().id),
            status,
            message: outlook.next_action,
            errors: errors.to_vec(),
            warnings: warnings.to_vec(),
            commit: commit.map(|commit| commit.to_string()),
            current_round: Some(investigation.current_round()),
            can_end: outlook.blockers.is_empty(),
            blockers: outlook.blockers,
            next_round_info: outlook.next_round,
            omitted: BTreeMap::new(),
        }
    }
}

/// The first error with what to do about it, and how many more there are.
pub fn first_error(errors: &[Diagnostic]) -> String {
    let Some(first) = errors.first() else { return String::new() };
    let suggestion = first.suggestion.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
    let more = match errors.len() {
        0 | 1 => String::new(),
        2 => " One more error is listed.".into(),
        many => format!(" {} more errors are listed.", many - 1),
    };
    format!("{}{suggestion}{more}", first.message)
}

impl From<&Transition> for TransitionEntry {
    fn from(transition: &Transition) -> Self {
        TransitionEntry {
            node_id: transition.node.id.to_string(),
            from: transition.from.to_string(),
            state: transition.to.to_string(),
            by: transition.by.as_ref().map(ToString::to_string),
        }
    }
}

/// The open nodes that lack children.
pub fn incomplete(investigation: &Investigation, rules: &EffectiveRules) -> Vec<IncompleteNode> {
    rules
        .incomplete(investigation)
        .into_iter()
        .filter_map(|(node, requirement)| {
            Some(IncompleteNode {
                node_id: node.id.to_string(),
                state: node.state()?.to_string(),
                has: requirement.has,
                needs: requirement.needs,
                of: requirement.of.map(|of| of.iter().map(ToString::to_string).collect()),
            })
        })
        .collect()
}

/// The quality figures. Six digits are more than they mean, and spare an agent 0.30000000000000004.
pub fn figures(quality: &Quality) -> Value {
    let mut figures = serde_json::to_value(quality).unwrap_or_default();
    for (_, figure) in figures.as_object_mut().into_iter().flatten().filter(|(_, figure)| figure.is_f64()) {
        *figure = figure.as_f64().map_or(Value::Null, |size| Value::from((size * 1e6).round() / 1e6));
    }
    figures
}

/// The ids of the pending proposals.
pub fn pending(investigation: &Investigation) -> Vec<String> {
    investigation.pending().map(|node| node.id.to_string()).collect()
}

/// The beginning of a finding.
pub fn summary(findings: &str) -> String {
    markdown::excerpt(findings, SUMMARY)
}
