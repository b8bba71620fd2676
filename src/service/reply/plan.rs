//! The plan in the replies of `tot_next` and `tot_step` and in `tot next`: the next tasks, with a brief for each agent, and the
//! next legal call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ReplyFields, sent};
use crate::assess::{Answer, Doubt};
use crate::decide::next::{LegalCall, Next, ObjectionReply, Plan, Task, next, number_of_tasks};
use crate::decide::sources::{places, warnings};
use crate::domain::{BoundAnswer, Caller, CommentKind, Investigation};
use crate::json::BoundJson;
use crate::markdown::Parsed;
use crate::service::{Loaded, Refusal, Service};
use crate::text::{one_line, shorten};

/// The maximum size of the tasks, in bytes as sent.
const ROOM: usize = 2_700;

/// The task lengths to try, in characters. The first length at which all tasks fit is used, or the last length if the
/// tasks never fit.
const LENGTHS: [usize; 7] = [700, 500, 350, 260, 190, 120, 50];

/// The maximum number of other agents' claims to list, and the maximum length of an agent's name.
const CLAIMED: usize = 10;
const AGENT: usize = 60;

/// The maximum number of claims to list, and the maximum length of one, in characters.
const CLAIMS: usize = 8;
const CLAIM: usize = 200;

/// The maximum number of nodes to name in a path: the root and the last nodes, or only the last nodes if the task
/// must be short.
const STEPS: usize = 4;
const FEW_STEPS: usize = 2;

/// The plan to make, and whether to claim it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextInput {
    /// From tot_start.
    pub(crate) session_id: String,
    #[serde(flatten)]
    pub(crate) asked: PlanRequest,
    /// Your name: omits others' claims.
    pub(crate) agent_id: Option<String>,
    /// Claims pending nodes for agentId.
    #[serde(default)]
    pub(crate) claim: bool,
    /// Default 60.
    pub(crate) ttl_minutes: Option<u32>,
}

/// The options of a plan, shared with tot_step.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanRequest {
    /// Default 8.
    #[schemars(range(min = 1, max = 20))]
    pub(crate) max_tasks: Option<u32>,
    /// full: with whole prompts.
    #[serde(default, skip_serializing_if = "Brief::is_short")]
    pub(crate) brief: Brief,
}

/// The level of detail of a task.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum Brief {
    #[default]
    Short,
    Full,
}

impl Brief {
    fn is_short(&self) -> bool {
        *self == Brief::Short
    }
}

/// The plan.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextBody {
    /// Nodes to research: pending nodes, then the nodes that tot_step would propose.
    pub(crate) tasks: Vec<TaskEntry>,
    /// A call that is legal now and makes progress.
    pub(crate) next_call: Option<NextCallEntry>,
}

/// The advice that accompanies a plan.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextAdvice {
    /// Pending nodes that other agents have claimed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) claimed: Vec<ClaimedEntry>,
    /// What the report and the answers claim, with the sources and numbers that nothing shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) claims: Vec<String>,
    /// What would overturn the conclusion or the best answer, strongest first. Checking it is optional.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) would_overturn: Vec<Doubt>,
}

/// A pending node that another agent has claimed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimedEntry {
    pub(crate) node_id: String,
    pub(crate) agent_id: String,
    pub(crate) until: String,
}

/// A call and its arguments. The reply's message gives the reason.
#[derive(Serialize)]
pub(crate) struct NextCallEntry {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The arguments, with placeholders enclosed in `<` and `>`.
    arguments: Map<String, Value>,
}

/// A node to research.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskEntry {
    /// The node's id.
    pub(crate) node_id: String,
    /// The ids and titles of the nodes from the root to this node.
    pub(crate) path: String,
    /// The task.
    pub(crate) ask: String,
    /// The states in which a result counts.
    pub(crate) counts: String,
    /// The whole prompt for the researching agent.
    pub(crate) prompt: Option<String>,
    /// True if the node is already proposed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) pending: bool,
}

pub(crate) fn run(
    service: &Service,
    input: NextInput,
    caller: &Caller,
) -> Result<(ReplyFields, NextBody, NextAdvice), Refusal> {
    let request = input.asked.plan(input.agent_id, caller);
    let (loaded, commit, warnings) = match input.claim {
        true => {
            let written = service.claim_next(&input.session_id, &request, input.ttl_minutes, caller)?;
            let commit = written.commit();
            (written.loaded, commit, written.decision.warnings)
        }
        false => (service.read(&input.session_id)?, None, Vec::new()),
    };
    let plan = match next(loaded.investigation(), &loaded.rules(), &request, service.now()?) {
        Ok(plan) => plan,
        Err(rejection) => {
            return Err(Refusal { errors: rejection.errors, loaded: Some(Box::new(loaded)) });
        }
    };
    let agent = request.agent_id.as_deref();
    let shared = ReplyFields::planned(&loaded, &plan, commit, &warnings);
    let next_call = next_call(loaded.investigation(), &plan, &input.asked, agent);
    let room = number_of_tasks(request.max_tasks)? as usize;
    let fresh = room.saturating_sub(plan.pending.len());
    let fresh =
        if plan.pending.is_empty() { plan.tasks } else { plan.tasks.into_iter().take(fresh).collect() };
    let tasks = tasks(&plan.pending, &fresh, ROOM, input.asked.brief);
    let claimed = plan.claimed.iter().take(CLAIMED).map(|(node, claim)| ClaimedEntry {
        node_id: node.to_string(),
        agent_id: shorten(&one_line(&claim.agent_id), AGENT),
        until: claim.until.to_string(),
    });
    let assessment = loaded.assessment();
    let report = loaded.investigation().report().into_iter().flat_map(|it| {
        std::iter::once(one_line(&it.bottom_line)).chain(unshown(service, &loaded, "", &it.report()))
    });
    let answers = assessment.answers.iter().flat_map(|answer| claim(service, &loaded, answer));
    let claims = report.chain(answers).filter(|it| !it.is_empty()).take(CLAIMS);
    let claims = claims.map(|it| shorten(&it, CLAIM)).collect();
    let would_overturn = assessment.doubts(&|_| None);
    let advice = NextAdvice { claimed: claimed.collect(), claims, would_overturn };
    Ok((shared, NextBody { tasks, next_call }, advice))
}

impl PlanRequest {
    /// Converts the options to a request for the planner.
    pub(crate) fn plan(&self, agent_id: Option<String>, caller: &Caller) -> Next {
        Next { max_tasks: self.max_tasks, agent_id, caller: caller.clone() }
    }
}

/// Returns what an answer claims, then which of its sources are not there, and which numbers their runs do not show.
pub(crate) fn claim(service: &Service, loaded: &Loaded, answer: &Answer<'_>) -> Vec<String> {
    let node = answer.node;
    let findings = node.classification.as_ref().map_or("", |it| &it.findings);
    let words = format!("{} {}: {}", node.id, answer.words(), one_line(node.name()));
    std::iter::once(words).chain(unshown(service, loaded, node.id.as_str(), findings)).collect()
}

/// Names the sources of a text that are not there, and its numbers that their runs do not show. `about` is the node, or empty
/// for the report.
pub(crate) fn unshown(service: &Service, loaded: &Loaded, about: &str, text: &str) -> Vec<String> {
    let text = Parsed::new(text);
    let known = service.look_up(|| places(&text).collect());
    warnings(loaded.investigation(), about, &text, &known).map(|it| it.message.agent().to_owned()).collect()
}

/// Returns the task entries, pending nodes first, shortened to fit `room` if possible.
pub(crate) fn tasks(pending: &[Task], fresh: &[Task], room: usize, brief: Brief) -> Vec<TaskEntry> {
    let entries = |length| -> Vec<TaskEntry> {
        let entry = |pending| move |task| TaskEntry { pending, ..TaskEntry::of(task, length) };
        pending.iter().map(entry(true)).chain(fresh.iter().map(entry(false))).collect()
    };
    let [lengths @ .., last] = &LENGTHS;
    let mut tries = lengths.iter().map(|length| entries(*length));
    let mut entries = tries.find(|entries| sent(entries) <= room).unwrap_or_else(|| entries(*last));
    if brief == Brief::Full {
        for (entry, task) in entries.iter_mut().zip(pending.iter().chain(fresh)) {
            entry.prompt = Some(task.prompt.clone());
        }
    }
    entries
}

/// Returns the plan's next call, with arguments for its tool.
pub(crate) fn next_call(
    investigation: &Investigation,
    plan: &Plan,
    asked: &PlanRequest,
    agent: Option<&str>,
) -> Option<NextCallEntry> {
    let call = plan.outlook.next_step.call()?;
    let session = investigation.meta().id;
    let arguments = match call {
        // The reply already lists the tasks. A step in this state proposes exactly these tasks.
        LegalCall::Propose(_) => json!(asked),
        LegalCall::Withdraw(ids) => {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            json!({"withdraw": ids})
        }
        LegalCall::Commit(nodes) => {
            // The state and the findings are missing because the research is not done yet.
            let results: Vec<Value> = nodes.iter().map(|node| json!({"nodeId": node.as_str()})).collect();
            json!({"results": results})
        }
        LegalCall::Reclassify(change) => {
            let mut arguments = json!({
                "nodeId": change.node.as_str(),
                "newState": "<state>",
                "reason": "<why>",
            });
            if let Some(least) = change.evidence {
                // The placeholder is too short to pass as evidence if sent unchanged.
                arguments["evidence"] = json!(format!("<{least} characters or more>"));
            }
            arguments
        }
        LegalCall::Reply(ObjectionReply { to, kind }) => {
            let mut arguments = json!({"kind": kind, "replyTo": to.to_string(), "text": "<what you say>"});
            if *kind == CommentKind::Resolution {
                arguments["agentId"] = json!(agent.unwrap_or("<yours>"));
            }
            arguments
        }
        LegalCall::Accept(id) => {
            json!({"correction": id.to_string(), "agentId": agent.unwrap_or("<yours>")})
        }
        LegalCall::End(None) => json!({}),
        LegalCall::End(Some(answers)) => {
            let mut arguments = json!({
                "bottomLine": "<what to do, or what is so>",
                "conclusion": "<the answer, in Markdown>",
            });
            if !answers.is_empty() {
                let bound = |it: &BoundAnswer| BoundJson { node_id: it.id.clone(), r#as: it.role };
                arguments["answers"] = json!(answers.iter().map(bound).collect::<Vec<_>>());
            }
            arguments
        }
    };
    let mut all = Map::from_iter([("sessionId".to_owned(), json!(session.to_string()))]);
    all.extend(arguments.as_object().cloned().unwrap_or_default());
    Some(NextCallEntry { tool: call.names().0, arguments: all })
}

impl TaskEntry {
    /// Returns the entry for a task, shortened to about `length` characters.
    fn of(task: &Task, length: usize) -> TaskEntry {
        let ask = shorten(&one_line(&task.planned_action), length / 3);
        let counts = shorten(&task.counts, length / 4);
        let left = length.saturating_sub(ask.chars().count() + counts.chars().count());
        TaskEntry {
            node_id: task.id.to_string(),
            path: path(task, left),
            ask,
            counts,
            prompt: None,
            pending: false,
        }
    }
}

/// Returns the ids and titles from the root to the task, shortened to about `length` characters.
fn path(task: &Task, length: usize) -> String {
    let above = task.path.iter().map(|(id, title)| (id, title));
    let mut steps: Vec<_> = above.chain([(&task.id, &task.title)]).collect();
    let (first, most) = if length < LENGTHS[4] / 2 { (0, FEW_STEPS) } else { (1, STEPS) };
    let left_out = steps.len().saturating_sub(most);
    steps.drain(first..first + left_out);
    let ids: usize = steps.iter().map(|(id, _)| id.as_str().chars().count() + 4).sum();
    let each = (length.saturating_sub(ids) / steps.len()).max(8);
    let mut named: Vec<String> =
        steps.iter().map(|(id, title)| format!("{id} {}", shorten(title, each))).collect();
    if left_out > 0 {
        named.insert(first, "…".to_owned());
    }
    named.join(" > ")
}
