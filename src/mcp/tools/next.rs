//! `tot_next`: tasks, and the next call that is legal.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::server::{About, Tool};
use super::super::service::{Refusal, Service};
use super::super::wire::{Object, Shared};
use super::answer;
use crate::decide::next::{Call, Coverage, Dimension, Next, NextCall, Plan, Step, Strategy, Task, next};
use crate::domain::{Investigation, SessionId};

const ABOUT: About = About {
    name: "tot_next",
    title: "Plan the next tasks",
    description: "Plans, without writing. `tasks`: what to research next, each with a `prompt` that briefs a \
                  research agent and a state that leads to the end; pending nodes first (`pending: true`), then \
                  fresh ones with legal ids. `nextCall`: the one call that is legal now and makes progress; what \
                  stands in < > is to be filled in. `dimensions` asks for tasks that cover all combinations of \
                  values; a node covers one if title and plannedAction name its values. Codes: INVALID_ARGUMENT, \
                  SESSION_NOT_FOUND.",
    read_only: true,
    idempotent: true,
};

/// What is to be planned.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Its id, or a unique beginning or ending.
    session_id: String,
    /// What comes first: the lowest round; that, with 3 children each; unconfirmed answers; the deepest branch.
    #[serde(default)]
    strategy: StrategyName,
    /// The most tasks; else 8.
    #[schemars(range(min = 1, max = 20))]
    max_tasks: Option<u32>,
    /// What varies, and its values.
    #[serde(default)]
    #[schemars(extend("examples" = [{"os": ["linux", "mac"], "load": ["idle", "peak"]}]))]
    dimensions: BTreeMap<String, Vec<String>>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) enum StrategyName {
    #[default]
    Balanced,
    Exhaustive,
    Verify,
    Deepen,
}

/// The plan.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(flatten)]
    shared: Shared,
    /// The one call that is legal now and makes progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_call: Option<NextCallEntry>,
    /// Nodes to propose and research; a batch that tot_propose accepts as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<TaskEntry>>,
    /// How far the combinations of `dimensions` are covered, pending nodes included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    coverage: Option<CoverageEntry>,
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
}

/// How far combinations are covered.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct CoverageEntry {
    /// Whether pairs of values are counted instead of whole combinations.
    pairwise: bool,
    /// How many there are.
    total: usize,
    /// How many are covered.
    covered: usize,
    /// The first ones that are missing, each with a value by dimension.
    missing: Vec<BTreeMap<String, String>>,
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
    let standing = service.read(&input.session_id)?;
    let request = Next {
        strategy: input.strategy.into(),
        max_tasks: input.max_tasks,
        dimensions: input.dimensions.into_iter().map(|(name, values)| Dimension { name, values }).collect(),
    };
    let plan = match next(standing.investigation(), &standing.terms(), &request) {
        Ok(plan) => plan,
        Err(rejection) => {
            return Err(Refusal { errors: rejection.errors, standing: Some(Box::new(standing)) });
        }
    };
    let mut output = Output::from(Shared::done(&standing, None, &[]));
    output.next_call = next_call(standing.investigation(), &plan);
    if let Some(call) = &output.next_call {
        output.shared.message = call.message();
    }
    output.tasks = Some(plan.tasks.into_iter().map(Into::into).collect());
    output.coverage = plan.coverage.map(Into::into);
    Ok(output)
}

/// The plan's next call, as arguments for its tool.
pub(super) fn next_call(investigation: &Investigation, plan: &Plan) -> Option<NextCallEntry> {
    let NextCall { call, reason } = plan.next_call.as_ref()?;
    let session = investigation.meta().id;
    let (tool, arguments) = match call {
        Call::Propose => {
            let nodes: Vec<Value> = plan
                .tasks
                .iter()
                .map(|task| {
                    json!({
                        "id": task.id.as_str(),
                        "parent": task.parent.as_ref().map(|parent| parent.as_str()),
                        "title": task.title,
                        "plannedAction": task.planned_action,
                    })
                })
                .collect();
            ("tot_propose", json!({"nodes": nodes}))
        }
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
        "findings": "<findings in Markdown, sources under ## References>",
        "agentId": format!("<agent of {}>", step.node),
    });
    if let (Some(least), Some(fields)) = (step.evidence, result.as_object_mut()) {
        fields.insert("evidence".into(), evidence(least));
    }
    result
}

/// Short on purpose: sent as it stands, it is refused or warned of.
fn evidence(least: u32) -> Value {
    json!(format!("<{least} characters or more>"))
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Balanced => Strategy::Balanced,
            StrategyName::Exhaustive => Strategy::Exhaustive,
            StrategyName::Verify => Strategy::Verify,
            StrategyName::Deepen => Strategy::Deepen,
        }
    }
}

impl From<Task> for TaskEntry {
    fn from(task: Task) -> Self {
        TaskEntry {
            id: task.id.to_string(),
            parent: task.parent.as_ref().map(ToString::to_string),
            title: task.title,
            planned_action: task.planned_action,
            prompt: task.prompt,
            suggested_state: task.suggested_state.to_string(),
        }
    }
}

impl From<Coverage> for CoverageEntry {
    fn from(coverage: Coverage) -> Self {
        CoverageEntry {
            pairwise: coverage.pairwise,
            total: coverage.total,
            covered: coverage.covered,
            missing: coverage.missing.into_iter().map(|missing| missing.into_iter().collect()).collect(),
        }
    }
}
