//! `tot_end` stores the conclusion, its answers, and what it does not cover.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::ask::Asking;
use super::super::tool::{About, Tool, ToolReply};
use super::super::wire::{Graph, GraphForm, ReplyFields, figures, summary};
use super::{ToolOutcome, answer, graph_of, with_model};
use crate::assess::{self, Assessment};
use crate::decide::end::{self, End};
use crate::decide::quality::quality;
use crate::decide::references::{Reference, references};
use crate::domain::{BoundAnswer, Caller, Node, PersonsAnswer};
use crate::fields::NO_SIGN_OFF;
use crate::ruleset::rules::Verb;
use crate::ruleset::rules::verification::Grade;
use crate::service::{Service, Standing};
use crate::text::shorten;

pub(super) const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once no required step is left (`canEnd`), or early with `stopped`. Returns the results.",
    verb: Some(Verb::End),
    codes: end::CODES,
    warnings: end::WARNINGS,
    idempotent: true,
    budget: 4_000,
    ..About::PLAIN
};

/// The maximum lengths of titles and source addresses in the reply, in characters.
const TITLE: usize = 120;
const TARGET: usize = 500;

/// The conclusion, and how to reply.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "conclusion": "The plan of the slow query changed."}]))]
struct EndInput {
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

/// The result of ending an investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndBody {
    /// The git tag for the ended investigation.
    tag: Option<String>,
    /// `ended` or `stoppedEarly`.
    outcome: assess::Outcome,
    /// The verdict on the investigation, in words.
    verdict: Option<Cow<'static, str>>,
    /// The answers that the conclusion rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<BoundAnswer>,
    /// The number of nodes that were ruled out.
    dead_ends: usize,
    /// The reply from the person at the client.
    asked: Option<PersonsReply>,
}

/// A person's reply when asked whether the investigation may end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PersonsReply {
    /// The person's choice.
    answer: PersonsAnswer,
    /// The person's comment.
    said: Option<String>,
    /// A note that the reply is not a sign-off.
    note: &'static str,
}

/// The results of the investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndAdvice {
    /// The answers that have not been refuted.
    solutions: Vec<EndAnswer>,
    /// The answers that a child refuted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted: Vec<EndAnswer>,
    /// The answers that cannot be tested here.
    theories: Vec<NodeSummary>,
    /// The sources cited in the findings, in order of first mention.
    references: Vec<Reference>,
    /// The quality metrics.
    quality: Value,
}

/// An answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndAnswer {
    #[serde(flatten)]
    node: NodeSummary,
    /// The verdict on the answer, in words.
    verdict: Cow<'static, str>,
    /// True if another node has confirmed the answer and no objection is open.
    verified: bool,
    /// The confirmation grade: `independent`, `second-agent`, `self` or `none`.
    confirmation: Grade,
    /// The nodes that confirm the answer, best first.
    verified_by: Vec<String>,
    /// The distance between the answer and its best confirmation.
    distance: Option<String>,
    /// The nodes that refute the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted_by: Vec<String>,
    /// The open objections to nodes that the answer rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contested_by: Vec<String>,
    /// The verdict on the recorded commands that the answer rests on.
    evidence: Option<String>,
}

/// A node with a summary of its findings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeSummary {
    /// The node's id.
    node_id: String,
    /// The node's title.
    title: String,
    /// The node's round.
    round: u32,
    /// The beginning of the node's findings.
    summary: String,
}

/// Returns the tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |mut input: EndInput, caller, asking| {
        match asking {
            Asking::Nobody => {}
            Asking::First => match service.would_end(&input.session_id, &input.request) {
                Ok(None) => {}
                Ok(Some(standing)) => return ToolReply::asks(question(&standing, &input.request)),
                Err(refusal) => return answer(&service, ToolOutcome::<()>::Err(refusal), &ABOUT),
            },
            Asking::Done(asked) => input.request.asked = Some(asked),
        }
        answer(&service, run(&service, input, caller), &ABOUT)
    })
}

/// Returns the question to ask a person before the investigation ends.
fn question(standing: &Standing, request: &End) -> String {
    /// The maximum length of the conclusion, in characters.
    const CONCLUSION: usize = 3_000;
    let investigation = standing.investigation();
    let assessment = standing.assessment();
    let early = if request.stopped.is_some() { ", before its rules are met" } else { "" };
    let conclusion = match request.conclusion.as_deref().map(str::trim) {
        None | Some("") => "It has no conclusion.".to_owned(),
        Some(text) => format!("Its conclusion:\n\n{}", shorten(text, CONCLUSION)),
    };
    format!(
        "May the investigation “{}” end{early}? {} {conclusion}",
        shorten(&investigation.meta().title, TITLE),
        assessment.found(),
    )
}

fn run(service: &Service, input: EndInput, caller: &Caller) -> ToolOutcome<EndBody, EndAdvice> {
    let written = service.end(&input.session_id, input.request, &with_model(caller, input.model))?;
    let standing = &written.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let assessment = standing.assessment();
    let mut graph = graph_of(standing, input.graph);
    let asked = investigation.conclusion().and_then(|end| end.asked.clone());
    let asked = asked.map(|asked| PersonsReply { answer: asked.answer, said: asked.said, note: NO_SIGN_OFF });
    let body = EndBody {
        tag: written.tag.clone(),
        outcome: assessment.outcome,
        verdict: assessment.words(),
        answers: assessment.bound().map(|it| BoundAnswer { id: it.id.clone(), role: it.role }).collect(),
        dead_ends: assessment.dead_ends.len(),
        asked,
    };
    let advice = EndAdvice {
        solutions: assessment.answers.iter().map(|it| EndAnswer::of(&assessment, it)).collect(),
        refuted: assessment.refuted.iter().map(|it| EndAnswer::of(&assessment, it)).collect(),
        theories: assessment.theories.iter().map(|node| NodeSummary::of(node)).collect(),
        references: references(investigation).into_iter().map(shortened).collect(),
        quality: figures(&quality(investigation, &rules)),
    };
    let graph = Graph { final_dot: graph.dot.take(), ..graph };
    Ok((ReplyFields { graph, ..ReplyFields::written(&written) }, body, advice))
}

fn shortened(reference: Reference) -> Reference {
    Reference {
        target: shorten(&reference.target, TARGET),
        title: reference.title.map(|title| shorten(&title, TITLE)),
        ..reference
    }
}

impl EndAnswer {
    fn of(assessment: &Assessment<'_>, answer: &assess::Answer<'_>) -> Self {
        let best = answer.confirming.first();
        EndAnswer {
            node: NodeSummary::of(answer.node),
            verdict: answer.words(),
            verified: answer.verdict.is_confirmed(),
            confirmation: answer.grade,
            verified_by: answer.confirming.iter().map(|it| it.node.to_string()).collect(),
            distance: best.and_then(|best| Some(assessment.distance(answer.node, best)?.to_string())),
            refuted_by: answer.refuted_by.iter().map(ToString::to_string).collect(),
            contested_by: answer.against.iter().map(ToString::to_string).collect(),
            evidence: (!answer.runs.is_empty()).then(|| assessment.evidence_words(answer)),
        }
    }
}

impl NodeSummary {
    fn of(node: &Node) -> Self {
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        NodeSummary {
            node_id: node.id.to_string(),
            title: shorten(node.name(), TITLE),
            round: node.round(),
            summary: summary(findings),
        }
    }
}
