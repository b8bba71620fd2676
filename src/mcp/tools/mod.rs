//! The tools, one file each: the documented input, the reply, and the handler.
//!
//! # To add a tool
//!
//! 1. `src/mcp/tools/list.rs` is a small one to begin from: copy it, and write its input, its reply, what an agent reads of
//!    it, and the handler. What the person's command could also do goes into [`crate::service`].
//! 2. `src/mcp/tools/mod.rs`: the module, its place in [`all`], and a word about it in [`INSTRUCTIONS`].
//! 3. `tests/it/mcp/tools.rs`: its place in the order of the work, and whether it only reads.
//! 4. `tests/it/mcp/budget.rs`: that its reply is small, however large the investigation.
//! 5. `tests/it/fuzz.rs`: its input, fed with anything.
//! 6. `tests/clients/investigation.py`: a call, since each official client calls every tool.
//! 7. `src/setup.rs`: what the skill for clients says of it, if an agent has to know of it from the start.
//! 8. `README.md`: its row among the tools.

mod amend;
mod comment;
mod commit;
mod end;
pub(super) mod list;
mod next;
mod propose;
mod read;
mod reclassify;
mod report;
mod start;
mod status;
mod step;

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Builder;

use super::address::Address;
use super::bounded::sent;
use super::stdio;
use super::tool::{Answer, Reply, Tool, plain_list};
use super::wire::{Graph, GraphForm, GraphNode, Shared};
use crate::domain::{Caller, Code, Node};
use crate::graph;
use crate::ruleset::{builtin, effective};
use crate::service::{Refusal, Service, Standing};
use crate::text::{one_line, shorten};

/// What an agent reads first.
pub const INSTRUCTIONS: &str = "\
Tree of Thoughts keeps structured investigations of hard questions. Each is a tree of nodes in rounds, and a git \
repository that people review: every call that changes something is one commit.

The loop: tot_start gives a sessionId, of which a unique beginning or ending will do, and the method's instructions. \
tot_propose registers nodes to research. Research each one; if you have sub-agents, give each of them one. tot_commit \
stores each node's state, findings in Markdown with sources under `## References`, and agentId. In your own shell, \
`tot run` captures a command as evidence: best for one log that several nodes share, and for numbers with their basis. \
Propose children where some are owed, and go on until `canEnd` is true; then tot_end with a conclusion. tot_next plans \
for you: tasks, and in `nextCall` the one call that is legal now; agents that share the work take tasks with its \
`claim`. tot_step is a whole turn in one call.

A reply is JSON: `message` says what to do next, `owed` what keeps the end away, by the codes of tot_end. `errors` and \
`warnings` hold {code, nodeId?, message, suggestion?}. A reply with status REJECTED wrote nothing: its errors say how to \
mend the call, or that a person must. `omitted` counts what was left out of a list; tot_status has the rest.

Work survives a restart: tot_list finds an investigation again, tot_status shows how it stands, tot_read gives nodes \
whole, tot_reclassify revives, corrects or gives up one, tot_amend corrects what one says, \
tot_comment objects and answers, \
tot_report writes a site for people. Resources: tot://{sessionId}.";

/// What any tool may answer.
pub const CODES: &[Code] = &[
    Code::SessionNotFound,
    Code::AmbiguousSession,
    Code::InvalidArgument,
    Code::TextTooLong,
    Code::ReadOnly,
    Code::OperationInProgress,
    Code::InvalidRuleset,
    Code::InvalidInvestigation,
    Code::InvestigationFull,
    Code::StoreError,
    Code::HistoryMoved,
    Code::Busy,
    Code::TimedOut,
    Code::InternalError,
];

/// The instructions for clients: the text above, the codes of any tool, and the rulesets that this server offers.
pub fn instructions(service: &Service) -> String {
    // Clients cut long instructions; UNKNOWN_RULESET lists all names.
    const SHOWN: usize = 12;
    let names: Vec<&str> = service.rulesets().names().collect();
    let shown = effective::list(names.iter().take(SHOWN));
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!(
        "{INSTRUCTIONS}\n\nCodes of any tool: {}.\n\nMethods for tot_start's `ruleset`, {} by default: {shown}{more}.",
        plain_list(CODES),
        builtin::DEFAULT
    )
}

/// How long a graph may be that is sent unasked, in bytes as it is sent.
const GRAPH: usize = 2_000;

/// All tools, in the order of the work.
pub fn all(service: &Arc<Service>) -> Vec<Tool> {
    vec![
        start::tool(Arc::clone(service)),
        propose::tool(Arc::clone(service)),
        commit::tool(Arc::clone(service)),
        reclassify::tool(Arc::clone(service)),
        amend::tool(Arc::clone(service)),
        comment::tool(Arc::clone(service)),
        status::tool(Arc::clone(service)),
        read::tool(Arc::clone(service)),
        next::tool(Arc::clone(service)),
        step::tool(Arc::clone(service)),
        end::tool(Arc::clone(service)),
        list::tool(Arc::clone(service)),
        report::tool(Arc::clone(service)),
    ]
}

/// What the tool of that name answers to these arguments of that caller, in this process and for no client: each command of
/// a person that does what a tool does is a call of it.
///
/// # Errors
///
/// No such tool, and a machine that has no thread left.
pub fn call(service: &Arc<Service>, name: &str, arguments: Value, caller: Caller) -> io::Result<Reply> {
    let tool = all(service).into_iter().find(|tool| tool.about().name == name);
    let tool = tool.ok_or_else(|| io::Error::other(format!("there is no tool {name}")))?;
    let runtime = stdio::start(&mut Builder::new_current_thread())?;
    Ok(stdio::run(runtime, tool.answer(arguments, caller)))
}

/// The caller, with the model that the call names.
fn with_model(caller: &Caller, model: Option<String>) -> Caller {
    /// The most characters of a name.
    const MOST: usize = 100;
    let model = model.filter(|model| !model.trim().is_empty());
    Caller { model: model.map(|model| shorten(&one_line(&model), MOST)), ..caller.clone() }
}

/// The reply of a call, or that of its refusal.
fn answer<B, A>(service: &Service, outcome: Result<(Shared, B, A), Refusal>) -> Answer<B, A> {
    // What every reply about an investigation warns of. A rejection has no warnings, and it may be why.
    let moves = |shared: &Shared| shared.session.map(|session| service.moves(session)).unwrap_or_default();
    match outcome {
        Ok((mut shared, body, advice)) => {
            let moves = moves(&shared);
            shared.warnings.splice(0..0, moves);
            Answer::Done { shared, body, advice }
        }
        Err(refusal) => {
            let mut shared = Shared::refused(&refusal);
            let moves = moves(&shared);
            shared.errors.extend(moves);
            Answer::Rejected { shared }
        }
    }
}

/// The graph in the form that was asked for, or the address of the resource that has it.
fn graph_of(standing: &Standing, form: GraphForm) -> Graph {
    let investigation = standing.investigation();
    let nodes = investigation.len();
    let address = || Address::GraphDot(investigation.meta().id.to_string()).to_string();
    let mut fields = Graph::default();
    match form {
        GraphForm::None => {}
        // It is not even drawn where its nodes alone would be too long.
        GraphForm::Auto if nodes > GRAPH / 40 => fields.graph_resource = Some(address()),
        GraphForm::Auto | GraphForm::Dot => {
            let dot = graph::dot(&standing.assessment());
            if form == GraphForm::Auto && sent(&dot) > GRAPH {
                fields.graph_resource = Some(address());
            } else {
                fields.dot = Some(dot);
            }
        }
        GraphForm::Mermaid => fields.mermaid = Some(graph::mermaid(&standing.assessment())),
        GraphForm::Json => {
            let node = |node: &Arc<Node>| GraphNode {
                node_id: node.id.to_string(),
                parent: node.parent.as_ref().map(ToString::to_string),
                state: node.state().map(ToString::to_string),
                title: node.title.clone(),
            };
            fields.graph = Some(investigation.nodes().map(node).collect());
        }
    }
    fields
}
