//! The tools, one file each: the documented input, the reply, and the handler.

mod commit;
mod end;
mod propose;
mod reclassify;
mod start;
mod status;

use std::sync::Arc;

use super::server::{Answer, Tool};
use super::service::{Refusal, Service};
use super::wire::{GraphForm, Shared};
use crate::domain::Investigation;
use crate::graph;
use crate::ruleset::Terms;

/// The most nodes of an investigation whose graph is sent unasked.
const GRAPH_NODES: usize = 40;

/// All tools, in the order of the work.
pub fn all(service: &Arc<Service>) -> Vec<Tool> {
    vec![
        start::tool(Arc::clone(service)),
        propose::tool(Arc::clone(service)),
        commit::tool(Arc::clone(service)),
        reclassify::tool(Arc::clone(service)),
        status::tool(Arc::clone(service)),
        end::tool(Arc::clone(service)),
    ]
}

/// The reply of a call, or that of its refusal.
fn answer<O: From<Shared>>(outcome: Result<O, Refusal>) -> Answer<O> {
    match outcome {
        Ok(reply) => Answer::Done(reply),
        Err(refusal) => Answer::Rejected(O::from(Shared::refused(&refusal))),
    }
}

/// The graph in the form that was asked for, and a word where it was left out.
fn graph(investigation: &Investigation, terms: &Terms, form: GraphForm) -> (Option<String>, Option<String>) {
    let nodes = investigation.nodes().count();
    match form {
        GraphForm::None => (None, None),
        GraphForm::Auto if nodes > GRAPH_NODES => {
            let note =
                format!("The graph has {nodes} nodes and is left out; `graph: dot` sends it all the same.");
            (None, Some(note))
        }
        GraphForm::Auto | GraphForm::Dot => (Some(graph::dot(investigation, terms.ruleset())), None),
        GraphForm::Mermaid => (Some(graph::mermaid(investigation, terms.ruleset())), None),
    }
}
