//! `tot_end`: the answer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::ask::Asking;
use super::super::tool::{About, Answer, Tool};
use super::super::wire::{Graph, GraphForm, Shared, figures, summary};
use super::{answer, graph_of, with_model};
use crate::decide::end::{self, End};
use crate::decide::quality::quality;
use crate::decide::results::{self, Reference, results};
use crate::domain::{Caller, Node, PersonsAnswer};
use crate::ruleset::rules::verification::Grade;
use crate::service::{Refusal, Service, Standing};
use crate::text::{counted, shorten};
use crate::view::NO_SIGN_OFF;

const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once nothing is owed (`canEnd`), with your conclusion. Returns `solutions`, `theories`, `deadEnds`, `references`, `quality`, the git `tag`. While something is owed it is rejected, but with `stopped`.",
    codes: end::CODES,
    warnings: end::WARNINGS,
    also: &[],
    read_only: false,
    also_reads: false,
    idempotent: true,
    budget: 4_000,
};

/// The most characters of a title, and of a source's address, in the reply.
const TITLE: usize = 120;
const TARGET: usize = 500;

/// The end.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// From tot_start.
    session_id: String,
    #[serde(flatten)]
    request: End,
    /// auto: DOT of a small tree.
    #[serde(default)]
    graph: GraphForm,
    /// Your model.
    model: Option<String>,
}

/// What was written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The git tag of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// How many nodes were ruled out.
    dead_ends: usize,
    /// What the person in front of the client said.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Said>,
}

/// What the person in front of the client said to the end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    /// What was chosen.
    answer: PersonsAnswer,
    /// In the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// How much it is worth.
    note: &'static str,
}

/// What was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Advice {
    /// The answers.
    solutions: Vec<Solution>,
    /// Answers that a child has refuted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted: Vec<Solution>,
    /// Answers that can't be tested here.
    theories: Vec<Summary>,
    /// The sources in the findings, in order of first mention.
    references: Vec<Reference>,
    /// The quality figures.
    quality: Value,
}

/// One answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Solution {
    #[serde(flatten)]
    node: Summary,
    /// Whether another has confirmed it.
    verified: bool,
    /// By whom: independent, second-agent, self, none.
    confirmation: Grade,
    /// The nodes that confirm it, the best first.
    verified_by: Vec<String>,
    /// The nodes that refute it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted_by: Vec<String>,
    /// The open objections to what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contested_by: Vec<String>,
}

/// A node that says something about the question.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
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
    Tool::asking(ABOUT, move |mut input: Input, caller, asking| {
        match asking {
            Asking::Nobody => {}
            Asking::First => match service.would_end(&input.session_id, &input.request) {
                Ok(None) => {}
                Ok(Some(standing)) => return Answer::Asks(question(&standing, &input.request)),
                Err(refusal) => return answer(&service, Err(refusal)),
            },
            Asking::Done(asked) => input.request.asked = Some(asked),
        }
        answer(&service, run(&service, input, caller))
    })
}

/// What a person is asked before the end.
fn question(standing: &Standing, request: &End) -> String {
    /// The most characters of the conclusion.
    const CONCLUSION: usize = 3_000;
    let investigation = standing.investigation();
    let found = results(investigation, &standing.rules());
    let confirmed = found.solutions.iter().filter(|solution| solution.grade.is_confirmed()).count();
    let early = if request.stopped.is_some() { ", before its rules are met" } else { "" };
    let conclusion = match request.conclusion.as_deref().map(str::trim) {
        None | Some("") => "It has no conclusion.".to_owned(),
        Some(text) => format!("Its conclusion:\n\n{}", shorten(text, CONCLUSION)),
    };
    format!(
        "May the investigation “{}” end{early}? It has {}, {confirmed} confirmed by another agent. {conclusion}",
        shorten(&investigation.meta().title, TITLE),
        counted(found.solutions.len(), "answer"),
    )
}

fn run(service: &Service, input: Input, caller: &Caller) -> Result<(Shared, Body, Advice), Refusal> {
    let written = service.end(&input.session_id, input.request, &with_model(caller, input.model))?;
    let standing = &written.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let found = results(investigation, &rules);
    let mut graph = graph_of(standing, input.graph);
    let asked = investigation.conclusion().and_then(|end| end.asked.clone());
    let asked = asked.map(|asked| Said { answer: asked.answer, said: asked.said, note: NO_SIGN_OFF });
    let body = Body { tag: written.tag.clone(), dead_ends: found.dead_ends.len(), asked };
    let advice = Advice {
        solutions: found.solutions.iter().map(Solution::of).collect(),
        refuted: found.refuted.iter().map(Solution::of).collect(),
        theories: found.theories.iter().map(|node| Summary::of(node)).collect(),
        references: found.references.into_iter().map(shortened).collect(),
        quality: figures(&quality(investigation, &rules)),
    };
    let graph = Graph { final_dot: graph.dot.take(), ..graph };
    Ok((Shared { graph, ..Shared::written(&written) }, body, advice))
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
            contested_by: solution.contested_by.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Summary {
    fn of(node: &Node) -> Self {
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        Summary {
            node_id: node.id.to_string(),
            title: shorten(node.name(), TITLE),
            round: node.round(),
            summary: summary(findings),
        }
    }
}
