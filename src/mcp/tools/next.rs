//! `tot_next`: tasks, and the next call that is legal.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::tool::{About, Tool};
use super::super::wire::{Object, Shared};
use super::answer;
use crate::decide::commit::TO_FILL_IN;
use crate::decide::next::{
    Call, Coverage, Dimension, Next, NextCall, Plan, Step, Strategy, Task, next, number_of_tasks,
};
use crate::domain::{Investigation, SessionId};
use crate::service::{Refusal, Service};
use crate::text::shorten;

const ABOUT: About = About {
    name: "tot_next",
    title: "Plan the next tasks",
    description: "Plans, without writing. `tasks`: what to research next, each with a `prompt` that briefs a \
                  research agent and a state that leads to the end; pending nodes first (`pending: true`), then \
                  fresh ones with legal ids. `nextCall`: the one call that is legal now and makes progress; what \
                  stands in < > is to be filled in. `dimensions` asks for tasks that cover all combinations of \
                  values; a node covers one if title and plannedAction name its values.",
    codes: &[],
    warnings: &[],
    also: &[],
    read_only: true,
    idempotent: true,
};

/// The most characters of a planned action in the reply; the whole stands in the node.
const ACTION: usize = 300;

/// What is to be planned.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    #[serde(flatten)]
    asked: Asked,
}

/// What is asked of the planner.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked {
    /// What comes first: the lowest round; that, with 3 children each; unconfirmed answers; the deepest branch.
    #[serde(default, with = "StrategyName", skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "balanced"))]
    strategy: Strategy,
    /// The most tasks; else 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20))]
    max_tasks: Option<u32>,
    /// What varies, and its values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("examples" = [{"os": ["linux", "mac"], "load": ["idle", "peak"]}]))]
    dimensions: BTreeMap<String, Vec<String>>,
}

fn is_default(strategy: &Strategy) -> bool {
    *strategy == Strategy::default()
}

/// What comes first.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Strategy", rename_all = "camelCase")]
#[schemars(inline)]
enum StrategyName {
    Balanced,
    Exhaustive,
    Verify,
    Deepen,
}

/// The plan.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Body {
    /// The one call that is legal now and makes progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NextCallEntry", extend("x-keep" = "whole"))]
    next_call: Option<NextCallEntry>,
    /// Nodes to research: the pending ones, then those that tot_step would propose.
    #[schemars(extend("x-keep" = "last"))]
    tasks: Vec<TaskEntry>,
    /// How far the combinations of `dimensions` are covered, pending nodes included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    coverage: Option<Coverage>,
}

/// A call with its arguments.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct NextCallEntry {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments; what stands in `<` and `>` is to be filled in.
    arguments: Map<String, Value>,
    /// Why it is the next.
    reason: String,
}

/// One node to research.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct TaskEntry {
    /// Its id.
    id: String,
    /// Its parent; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// One line.
    title: String,
    /// What is to be done.
    planned_action: String,
    /// The brief for the agent that does the research.
    prompt: String,
    /// A state that is legal and leads to the end; the findings decide.
    suggested_state: String,
    /// Whether it is proposed already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
}

/// The tool.
pub(super) fn tool(service: Arc<Service>) -> Tool {
    Tool::new(ABOUT, move |input| answer(&service, run(&service, input)))
}

fn run(service: &Service, input: Input) -> Result<(Shared, Body), Refusal> {
    let standing = service.read(&input.session_id)?;
    let request = input.asked.plan();
    let plan = match next(standing.investigation(), &standing.rules(), &request) {
        Ok(plan) => plan,
        Err(rejection) => {
            return Err(Refusal { errors: rejection.errors, standing: Some(Box::new(standing)) });
        }
    };
    let mut shared = Shared::done(&standing, None, &[]);
    let next_call = next_call(standing.investigation(), &plan, &input.asked);
    if let Some(call) = &next_call {
        shared.message = call.message();
    }
    let room = number_of_tasks(request.max_tasks)? as usize;
    let fresh = room.saturating_sub(plan.pending.len());
    let fresh =
        if plan.pending.is_empty() { plan.tasks } else { plan.tasks.into_iter().take(fresh).collect() };
    let tasks = tasks(plan.pending, fresh);
    Ok((shared, Body { next_call, tasks, coverage: plan.coverage }))
}

impl Asked {
    /// The same for the planner.
    pub(super) fn plan(&self) -> Next {
        let dimension = |(name, values): (&String, &Vec<String>)| Dimension {
            name: name.clone(),
            values: values.clone(),
        };
        let dimensions = self.dimensions.iter().map(dimension).collect();
        Next { strategy: self.strategy, max_tasks: self.max_tasks, dimensions }
    }
}

/// The tasks of a reply: what is pending, then what is not proposed yet.
pub(super) fn tasks(pending: Vec<Task>, fresh: Vec<Task>) -> Vec<TaskEntry> {
    let entry = |pending| move |task| TaskEntry { pending, ..TaskEntry::from(task) };
    pending.into_iter().map(entry(true)).chain(fresh.into_iter().map(entry(false))).collect()
}

/// The plan's next call, as arguments for its tool.
pub(super) fn next_call(investigation: &Investigation, plan: &Plan, asked: &Asked) -> Option<NextCallEntry> {
    let NextCall { call, reason } = plan.next_call.as_ref()?;
    let session = investigation.meta().id;
    let (tool, arguments) = match call {
        // The tasks are in the reply already; a turn on this very state proposes them as they are.
        Call::Propose => ("tot_step", json!(asked)),
        Call::Withdraw(ids) => {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            ("tot_propose", json!({"withdraw": ids}))
        }
        Call::Commit(steps) => {
            let results: Vec<Value> = steps.iter().map(result).collect();
            ("tot_commit", json!({"results": results}))
        }
        Call::Reclassify(step) => {
            let mut arguments = json!({
                "nodeId": step.node.as_str(),
                "newState": step.state.as_str(),
                "reason": "<why>",
            });
            if let (Some(least), Some(fields)) = (step.evidence, arguments.as_object_mut()) {
                fields.insert("evidence".into(), evidence(least));
            }
            ("tot_reclassify", arguments)
        }
        Call::End => ("tot_end", json!({"conclusion": "<the answer, in Markdown>"})),
    };
    Some(NextCallEntry {
        tool: tool.to_owned(),
        arguments: with_session(session, arguments),
        reason: reason.clone(),
    })
}

impl NextCallEntry {
    /// What to do next, in one line.
    pub(super) fn message(&self) -> String {
        format!("Next: {}. {}", self.tool, self.reason)
    }
}

fn with_session(session: SessionId, arguments: Value) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("sessionId".into(), json!(session.to_string()));
    if let Value::Object(arguments) = arguments {
        all.extend(arguments);
    }
    all
}

/// A result that is still to be filled in.
fn result(step: &Step) -> Value {
    let mut result = json!({
        "nodeId": step.node.as_str(),
        "state": step.state.as_str(),
        "findings": TO_FILL_IN,
        "agentId": format!("<agent of {}>", step.node),
    });
    if let Some(fields) = result.as_object_mut() {
        fields.extend(step.evidence.map(|least| ("evidence".to_owned(), evidence(least))));
        fields.extend(
            step.alternatives.map(|least| ("alternativesConsidered".to_owned(), alternatives(least))),
        );
    }
    result
}

/// Sent as they stand, they count for nothing.
fn alternatives(least: u32) -> Value {
    json!(vec!["<another answer, and why it is not>"; least as usize])
}

/// Short on purpose: sent as it stands, it is refused or warned of.
fn evidence(least: u32) -> Value {
    json!(format!("<{least} characters or more>"))
}

impl From<Task> for TaskEntry {
    fn from(task: Task) -> Self {
        TaskEntry {
            id: task.id.to_string(),
            parent: task.parent.as_ref().map(ToString::to_string),
            title: task.title,
            planned_action: shorten(&task.planned_action, ACTION),
            pending: false,
            prompt: task.prompt,
            suggested_state: task.suggested_state.to_string(),
        }
    }
}
