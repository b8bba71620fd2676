//! `tot_end` stores the conclusion, its answers, and what it does not cover.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::ask::Asking;
use super::super::tool::{About, Tool, ToolReply};
use super::{ToolOutcome, answer, graph_of, with_model};
use crate::decide::end::{self, End};
use crate::domain::Caller;
use crate::ruleset::rules::Verb;
use crate::service::reply::{self, EndAdvice, EndBody, Graph, GraphForm, ReplyFields};
use crate::service::{Loaded, Service};
use crate::text::shorten;

pub(super) const ABOUT: About = About {
    name: "tot_end",
    title: "End an investigation",
    description: "Ends an investigation once `canEnd`, or early with `stopped`.",
    verb: Some(Verb::End),
    codes: end::CODES,
    warnings: &[end::WARNINGS],
    idempotent: true,
    budget: 4_000,
    ..About::PLAIN
};

/// The maximum length of the title in the question, in characters.
const TITLE: usize = 120;

/// The conclusion, and how to reply.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("examples" = [{"sessionId": "01a19b7c", "bottomLine": "Add the index.", "conclusion": "The plan changed."}]))]
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

/// Returns the tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |mut input: EndInput, caller, asking| {
        match asking {
            Asking::Nobody => {}
            Asking::First => match service.would_end(&input.session_id, &input.request) {
                Ok(None) => {}
                Ok(Some(loaded)) => return ToolReply::asks(question(&loaded, &input.request)),
                Err(refusal) => return answer(&service, ToolOutcome::<()>::Err(refusal), &ABOUT),
            },
            Asking::Done(asked) => input.request.asked = Some(asked),
        }
        answer(&service, run(&service, input, caller), &ABOUT)
    })
}

/// Returns the question to ask a person before the investigation ends.
fn question(loaded: &Loaded, request: &End) -> String {
    /// The maximum length of the conclusion, in characters.
    const CONCLUSION: usize = 3_000;
    let investigation = loaded.investigation();
    let assessment = loaded.assessment();
    let early = if request.stopped.is_some() { ", before its rules are met" } else { "" };
    let texts = [&request.bottom_line, &request.conclusion].into_iter().flatten().map(|text| text.trim());
    let conclusion = match &*texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n") {
        "" => "It has no conclusion.".to_owned(),
        text => format!("Its conclusion:\n\n{}", shorten(text, CONCLUSION)),
    };
    format!(
        "May the investigation “{}” end{early}? {} {conclusion}",
        shorten(&investigation.meta().title, TITLE),
        assessment.found(),
    )
}

fn run(service: &Service, input: EndInput, caller: &Caller) -> ToolOutcome<EndBody, EndAdvice> {
    let written = service.end(&input.session_id, input.request, &with_model(caller, input.model))?;
    let (shared, body, advice) = reply::ended(service, &written);
    let mut graph = graph_of(&written.loaded, input.graph);
    let graph = Graph { final_dot: graph.dot.take(), ..graph };
    Ok((ReplyFields { graph, ..shared }, body, advice))
}
