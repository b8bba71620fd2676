//! The tools. Each has its own file with its description and its handler. The arguments of a decision are documented in the
//! verb's module in [`crate::decide`], those of `tot_next` and `tot_step` in [`crate::service::reply`] (`plan`).
//!
//! # Adding a tool
//!
//! 1. `src/mcp/tools/list.rs` is a small tool to start from. Copy the file, then write the input, the reply, the
//!    descriptions for agents and the handler. The first sentence of the file describes the tool to readers of the
//!    README. Logic that the command line could also use belongs in [`crate::service`].
//! 2. `src/mcp/tools/mod.rs`: declare the module, add the tool to [`all`] and mention it in [`INSTRUCTIONS`].
//! 3. `tests/clients/tools.json`: add the tool, whether it only reads, the size limits of its replies, and how it shows
//!    verdicts. Add a call, which each official client makes.
//!
//! Then `TOT_WRITE_SESSION=1 cargo test --test it the_readme_lists_the_tools` rewrites the README's table of tools. The
//! other tests find the tool and its arguments in its schema. The skill that clients install
//! ([`SKILL`](crate::cli::client_config::SKILL)) needs a sentence only if agents must know about the tool from the start.

mod amend;
mod comment;
mod commit;
mod end;
pub(super) mod list;
pub(crate) mod next;
mod propose;
mod read;
mod reclassify;
mod report;
mod start;
mod status;
mod step;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::tool::{About, Tool, ToolReply, plain_list};
use crate::domain::{Caller, Code, Diagnostic};
use crate::graph;
use crate::ruleset::{builtin, effective};
use crate::service::address::ResourceAddress;
use crate::service::reply::sent;
use crate::service::reply::{Graph, GraphForm, GraphNode, ReplyFields};
use crate::service::{Loaded, Refusal, Service};
use crate::text::{one_line, shorten};

/// The introduction for agents.
pub const INSTRUCTIONS: &str = "\
Tree of Thoughts keeps investigations of hard questions. Each is a tree of nodes in rounds, stored in a git \
repository that people review: each change is one commit.

The loop: tot_start returns a sessionId (its beginning or end will do) and the method's instructions. \
tot_propose registers nodes to research. Research each node; if you have sub-agents, give each of them one. tot_commit \
stores each node's state, agentId, and findings in Markdown with sources under `## References`. In your own shell, \
`tot run NODE --agent NAME -- COMMAND` captures evidence: best for shared logs, and for numbers. \
Propose children where they are required, and go on until `canEnd` is true; then call tot_end with a bottom line and a conclusion. \
tot_next plans for you: it returns tasks and, in `nextCall`, one legal call. Agents that share the work take tasks with \
its `claim`. tot_step does a whole turn in one call.

A reply is JSON: `message` says what to do next, `owed` lists by code why tot_end would be rejected. `errors` and \
`warnings` hold {code, nodeId?, message, suggestion?}. A reply with status REJECTED wrote nothing (TIMED_OUT: it goes on): its errors say how to \
fix the call, or that a person must act. `omitted` counts what was left out of a list; tot_status has the rest.

Work survives a restart: tot_list finds an investigation, tot_status shows its state, tot_read returns whole \
nodes, tot_reclassify revives or gives up a node, tot_amend corrects its text, \
tot_comment objects, answers and corrects (mend a wrong sentence, then confirm the rest), \
tot_report writes a site for people. Resources: tot://{sessionId}.";

/// The codes that any tool may return.
pub const CODES: &[Code] = &[
    Code::SessionNotFound,
    Code::AmbiguousSession,
    Code::InvalidArgument,
    Code::AmbiguousNode,
    Code::TextTooLong,
    Code::ReadOnly,
    Code::OperationInProgress,
    Code::InvalidRuleset,
    Code::InvalidInvestigation,
    Code::InvestigationFull,
    Code::StoreError,
    Code::RootFolder,
    Code::HistoryMoved,
    Code::Busy,
    Code::TimedOut,
    Code::InternalError,
];

/// Returns the instructions for clients: [`INSTRUCTIONS`], the codes common to all tools, and the rulesets that this
/// server offers.
pub fn instructions(service: &Service) -> String {
    // Clients truncate long instructions. The error UNKNOWN_RULESET lists all names.
    const SHOWN: usize = 12;
    let names: Vec<&str> = service.rulesets().names().collect();
    let shown = effective::list(names.iter().take(SHOWN));
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!(
        "{INSTRUCTIONS}\n\nCodes for every tool: {}.\n\nMethods for tot_start's `ruleset` (default {}; review if others use it): {shown}{more}.",
        plain_list(CODES),
        builtin::DEFAULT
    )
}

/// The maximum size, in bytes as sent, of a graph that is included without a request.
const GRAPH: usize = 2_000;

/// Returns all tools, in workflow order.
pub fn all(service: &Arc<Service>) -> Vec<Tool> {
    vec![
        tool(service, start::ABOUT, start::run),
        tool(service, propose::ABOUT, propose::run),
        tool(service, commit::ABOUT, commit::run),
        tool(service, reclassify::ABOUT, reclassify::run),
        tool(service, amend::ABOUT, amend::run),
        tool(service, comment::ABOUT, comment::run),
        tool(service, status::ABOUT, status::run),
        tool(service, read::ABOUT, read::run),
        tool(service, next::ABOUT, next::run),
        tool(service, step::ABOUT, step::run),
        end::tool(Arc::clone(service)),
        tool(service, list::ABOUT, list::run),
        tool(service, report::ABOUT, report::run),
    ]
}

/// Returns the caller with the model named in the call.
fn with_model(caller: &Caller, model: Option<String>) -> Caller {
    /// The maximum length of a model name, in characters.
    const MOST: usize = 100;
    let model = model.filter(|model| !model.trim().is_empty());
    Caller { model: model.map(|model| shorten(&one_line(&model), MOST)), ..caller.clone() }
}

/// The outcome of a tool's function: the reply, or a refusal.
pub(crate) type ToolOutcome<B, A = ()> = Result<(ReplyFields, B, A), Refusal>;

/// Returns a tool that calls `run`.
fn tool<I, B, A>(
    service: &Arc<Service>,
    about: About,
    run: impl Fn(&Service, I, &Caller) -> ToolOutcome<B, A> + Send + Sync + 'static,
) -> Tool
where
    I: DeserializeOwned + JsonSchema + Send + 'static,
    B: Serialize,
    A: Serialize,
{
    let service = Arc::clone(service);
    Tool::new(about, move |input, caller, _| answer(&service, run(&service, input, caller), &about))
}

/// Turns the outcome of a call into a reply of at most `budget` bytes.
fn answer<B: Serialize, A: Serialize>(
    service: &Service,
    outcome: ToolOutcome<B, A>,
    about: &About,
) -> ToolReply {
    let outcome = outcome.map(|(shared, body, advice)| (shared, (body, advice)));
    let is_about_root = [start::ABOUT.name, list::ABOUT.name].contains(&about.name);
    match service.replied(outcome, is_about_root) {
        (shared, Some((body, advice))) => ToolReply::done(shared, &body, &advice, about.budget),
        (shared, None) => ToolReply::rejected(shared, about.budget),
    }
}

/// Returns the refusal for an invalid cursor.
fn invalid_cursor() -> Refusal {
    Diagnostic::new(Code::InvalidArgument, "cursor: not a cursor from a reply.")
        .suggest("Pass the previous reply's `nextCursor`, or omit it for the first page.")
        .into()
}

/// Returns the graph in the requested form, or the address of the resource that contains it.
fn graph_of(loaded: &Loaded, form: GraphForm) -> Graph {
    let investigation = loaded.investigation();
    let nodes = investigation.len();
    let address = || ResourceAddress::GraphDot(investigation.meta().id.to_string()).to_string();
    let mut fields = Graph::default();
    match form {
        GraphForm::None => {}
        // There are too many nodes to fit, so the graph is not drawn.
        GraphForm::Auto if nodes > GRAPH / 40 => fields.graph_resource = Some(address()),
        GraphForm::Auto | GraphForm::Dot => {
            let dot = graph::dot(&loaded.assessment());
            if form == GraphForm::Auto && sent(&dot) > GRAPH {
                fields.graph_resource = Some(address());
            } else {
                fields.dot = Some(dot);
            }
        }
        GraphForm::Mermaid => fields.mermaid = Some(graph::mermaid(&loaded.assessment())),
        GraphForm::Json => {
            fields.graph = Some(investigation.nodes().map(|node| GraphNode::of(node)).collect());
        }
    }
    fields
}
