//! `tot_end`: the answer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::tool::{About, Tool};
use super::super::wire::{Graph, GraphForm, Object, Shared, figures, summary};
use super::{answer, graph_of, with_model};
use crate::decide::end::{self, End};
use crate::decide::quality::quality;
use crate::decide::results::{self, Reference, results};
use crate::domain::{Caller, Node};
use crate::ruleset::rules::verification::Grade;
use crate::service::{Refusal, Service};
use crate::text::shorten;

const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once nothing is owed (`canEnd`), with your conclusion at the top of its \
                  report. Returns `solutions` (`verifiedBy` which nodes), `theories`, `deadEnds` (their number), \
                  `references` cited in the findings, `quality`, and the git `tag`. While something is owed it is \
                  rejected with every blocker. An ended one answers as before and writes nothing.",
    codes: end::CODES,
    warnings: end::WARNINGS,
    also: &[],
    read_only: false,
    idempotent: true,
};

/// The most characters of a title, and of a source's address, in the reply.
const TITLE: usize = 120;
const TARGET: usize = 500;

/// The end.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    #[serde(flatten)]
    request: End,
    /// auto: DOT up to 40 nodes, else its resource.
    #[serde(default)]
    graph: GraphForm,
    /// The model that does the work.
    model: Option<String>,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The answers.
    solutions: Vec<Solution>,
    /// Answers that a child has refuted.
    #[schemars(with = "Vec<Object>")]
    refuted: Vec<Solution>,
    /// Answers that can't be tested here.
    #[schemars(with = "Vec<Object>")]
    theories: Vec<Summary>,
    /// How many nodes were ruled out.
    dead_ends: usize,
    /// The sources in the findings, in order of first mention.
    #[schemars(with = "Vec<Object>")]
    references: Vec<Reference>,
    /// The quality figures.
    #[schemars(with = "Object")]
    quality: Value,
    /// The git tag of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// The graph as DOT.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-keep" = "asked for"))]
    final_dot: Option<String>,
    #[serde(flatten)]
    graph: Graph,
}

/// One answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Solution {
    #[serde(flatten)]
    node: Summary,
    /// Whether another has confirmed it.
    verified: bool,
    /// By whom: independent, second-agent, self, none.
    #[schemars(with = "String")]
    confirmation: Grade,
    /// The nodes that confirm it, the best first.
    verified_by: Vec<String>,
    /// The nodes that refute it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted_by: Vec<String>,
}

/// A node that says something about the question.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Summary {
    /// The node.
    node_id: String,
    /// Its title.
    title: String,
    /// Its round.
    round: u32,
    /// The beginning of its findings.
    summary: String,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::writing(ABOUT, move |input, caller| answer(&service, run(&service, input, caller)))
}

fn run(service: &Service, input: Input, caller: &Caller) -> Result<(Shared, Body), Refusal> {
    let written = service.end(&input.session_id, input.request, &with_model(caller, input.model))?;
    let standing = &written.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let found = results(investigation, &rules);
    let mut graph = graph_of(standing, input.graph);
    let body = Body {
        solutions: found.solutions.iter().map(Solution::of).collect(),
        refuted: found.refuted.iter().map(Solution::of).collect(),
        theories: found.theories.iter().map(|node| Summary::of(node)).collect(),
        dead_ends: found.dead_ends.len(),
        references: found.references.into_iter().map(shortened).collect(),
        quality: figures(&quality(investigation, &rules)),
        tag: written.tag.clone(),
        final_dot: graph.dot.take(),
        graph,
    };
    Ok((Shared::written(&written), body))
}

fn shortened(reference: Reference) -> Reference {
    Reference {
        target: shorten(&reference.target, TARGET),
        title: reference.title.map(|title| shorten(&title, TITLE)),
        ..reference
    }
}

impl Solution {
    fn of(solution: &results::Solution) -> Self {
        Solution {
            node: Summary::of(&solution.node),
            verified: solution.grade.is_confirmed(),
            confirmation: solution.grade,
            verified_by: solution.confirming.iter().map(|it| it.node.to_string()).collect(),
            refuted_by: solution.refuted_by.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Summary {
    fn of(node: &Node) -> Self {
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        Summary {
            node_id: node.id.to_string(),
            title: shorten(&node.title, TITLE),
            round: node.round(),
            summary: summary(findings),
        }
    }
}
