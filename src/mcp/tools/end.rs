//! `tot_end`: the answer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, Object, QualityFigures, ReferenceEntry, Shared, summary};
use super::{answer, graph_of};
use crate::decide::end::{End, end};
use crate::decide::quality::quality;
use crate::decide::results::results;
use crate::domain::Node;
use crate::service::{Refusal, Service};
use crate::text::shorten;

const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once nothing is owed (`canEnd`), with your conclusion at the top of its \
                  report. Returns `solutions` (`verifiedBy` which nodes), `theories`, `deadEnds` (their number), \
                  `references` cited in the findings, `quality`, and the git `tag`. While something is owed it is \
                  rejected with every blocker: NO_NODES, RECOVERY_REQUIRED (all closed too early), MIN_ROUNDS, \
                  INSUFFICIENT_CHILDREN, PENDING_PROPOSALS, DEPTH_TOO_SHALLOW, QUALITY_TOO_LOW, \
                  AWAITING_CONFIRMATION. An ended one answers as before and writes nothing.",
    read_only: false,
    idempotent: true,
};

/// The most characters of a title in the reply.
const TITLE: usize = 120;

/// The end.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// The answer, in Markdown: what was found, how sure it is, what was ruled out.
    conclusion: Option<String>,
    /// Who ends it.
    agent_id: Option<String>,
    /// auto: DOT up to 40 nodes, else its resource.
    #[serde(default)]
    graph: GraphForm,
}

/// What was found.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    solutions: Option<Vec<Solution>>,
    /// Answers that can't be tested here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    theories: Option<Vec<Theory>>,
    /// How many nodes were ruled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_ends: Option<usize>,
    /// The sources in the findings, in order of first mention.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Object>")]
    references: Option<Vec<ReferenceEntry>>,
    /// The quality figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    quality: Option<QualityFigures>,
    /// The git tag of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// The graph as DOT.
    #[serde(skip_serializing_if = "Option::is_none")]
    final_dot: Option<String>,
    #[serde(flatten)]
    graph: Graph,
}

/// One answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Solution {
    /// The node.
    node_id: String,
    /// Its title.
    title: String,
    /// Its round.
    round: u32,
    /// Whether a child confirms it.
    verified: bool,
    /// The nodes that confirm it.
    verified_by: Vec<String>,
    /// The beginning of its findings.
    summary: String,
}

/// One answer that can't be tested here.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Theory {
    /// The node.
    node_id: String,
    /// Its title.
    title: String,
    /// Its round.
    round: u32,
    /// The beginning of its findings.
    summary: String,
}

impl From<Shared> for Output {
    fn from(shared: Shared) -> Self {
        Output { shared, ..Output::default() }
    }
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<Output, Refusal> {
    let request = End { conclusion: input.conclusion, agent_id: input.agent_id };
    let written = service.write(&input.session_id, |investigation, rules, now| {
        end(investigation, rules, request.clone(), now)
    })?;
    let standing = &written.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let commit = written.decision.event.is_some().then_some(standing.snapshot.head);
    let found = results(investigation, &rules);
    let mut graph = graph_of(standing, input.graph);
    let findings =
        |node: &Node| node.classification.as_ref().map(|it| summary(&it.findings)).unwrap_or_default();
    Ok(Output {
        solutions: Some(
            found
                .solutions
                .iter()
                .map(|solution| Solution {
                    node_id: solution.node.id.to_string(),
                    title: shorten(&solution.node.title, TITLE),
                    round: solution.node.round(),
                    verified: !solution.verified_by.is_empty(),
                    verified_by: solution.verified_by.iter().map(ToString::to_string).collect(),
                    summary: findings(&solution.node),
                })
                .collect(),
        ),
        theories: Some(
            found
                .theories
                .iter()
                .map(|node| Theory {
                    node_id: node.id.to_string(),
                    title: shorten(&node.title, TITLE),
                    round: node.round(),
                    summary: findings(node),
                })
                .collect(),
        ),
        dead_ends: Some(found.dead_ends.len()),
        references: Some(found.references.into_iter().map(Into::into).collect()),
        quality: Some(quality(investigation, &rules).into()),
        tag: written.tag.clone(),
        final_dot: graph.dot.take(),
        graph,
        ..Output::from(Shared::done(standing, commit, &written.decision.warnings))
    })
}
