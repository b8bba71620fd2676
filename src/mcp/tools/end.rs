//! `tot_end`: ends an investigation with its answer.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::ask::Asking;
use super::super::tool::{About, Answer, Tool};
use super::super::wire::{Graph, GraphForm, Shared, figures, summary};
use super::{answer, graph_of, with_model};
use crate::assess::{self, Assessment};
use crate::decide::end::{self, End};
use crate::decide::quality::quality;
use crate::decide::references::{Reference, references};
use crate::domain::{BoundAnswer, Caller, Node, PersonsAnswer};
use crate::ruleset::rules::verification::Grade;
use crate::service::{Refusal, Service, Standing};
use crate::text::shorten;
use crate::view::NO_SIGN_OFF;

const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once nothing is owed (`canEnd`), or early with `stopped`. Returns what was found.",
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
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "conclusion": "The plan of the slow query changed."}]))]
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
    /// ended, stoppedEarly.
    outcome: assess::Outcome,
    /// How far to trust the whole, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'static, str>>,
    /// The answers that the conclusion rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<BoundAnswer>,
    /// The number of ruled out nodes.
    dead_ends: usize,
    /// What the person in front of the client said.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Said>,
}

/// The answer of the person in front of the client to the end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    /// The choice.
    answer: PersonsAnswer,
    /// In the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// Its worth.
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
    /// How far to trust it, in words.
    verdict: Cow<'static, str>,
    /// Whether another has confirmed it, and nothing speaks against it.
    verified: bool,
    /// The grade of its confirmation: independent, second-agent, self, none.
    confirmation: Grade,
    /// The nodes that confirm it, the best first.
    verified_by: Vec<String>,
    /// The distance of the best of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<String>,
    /// The nodes that refute it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refuted_by: Vec<String>,
    /// The open objections to what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contested_by: Vec<String>,
    /// The outcome of the commands that it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
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

/// Returns the question to a person before the end.
fn question(standing: &Standing, request: &End) -> String {
    /// The most characters of the conclusion.
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

fn run(service: &Service, input: Input, caller: &Caller) -> Result<(Shared, Body, Advice), Refusal> {
    let written = service.end(&input.session_id, input.request, &with_model(caller, input.model))?;
    let standing = &written.standing;
    let (investigation, rules) = (standing.investigation(), standing.rules());
    let assessment = standing.assessment();
    let mut graph = graph_of(standing, input.graph);
    let asked = investigation.conclusion().and_then(|end| end.asked.clone());
    let asked = asked.map(|asked| Said { answer: asked.answer, said: asked.said, note: NO_SIGN_OFF });
    let body = Body {
        tag: written.tag.clone(),
        outcome: assessment.outcome,
        verdict: assessment.words(),
        answers: assessment.bound().map(|it| BoundAnswer { id: it.id.clone(), role: it.role }).collect(),
        dead_ends: assessment.dead_ends.len(),
        asked,
    };
    let advice = Advice {
        solutions: assessment.answers.iter().map(|it| Solution::of(&assessment, it)).collect(),
        refuted: assessment.refuted.iter().map(|it| Solution::of(&assessment, it)).collect(),
        theories: assessment.theories.iter().map(|node| Summary::of(node)).collect(),
        references: references(investigation).into_iter().map(shortened).collect(),
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
    fn of(assessment: &Assessment<'_>, answer: &assess::Answer<'_>) -> Self {
        let best = answer.confirming.first();
        Solution {
            node: Summary::of(answer.node),
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
