//! `tot next --claim NODE` and `tot next --release NODE`: claim proposals and release them. A claim is a note that expires, not
//! a lock.

use std::sync::Arc;

use serde_json::json;

use crate::cli::print::{say_fields, stored, warn};
use crate::cli::work::WorkTarget;
use crate::cli::{CommandResult, say};
use crate::decide::claim::Claimant;
use crate::domain::{Claim, Node, NodeId};
use crate::service::Written;
use crate::text::{one_line, shorten};

/// Claims the nodes or, without a claimant, releases them, whoever claimed them.
pub(super) fn run(subject: &WorkTarget, nodes: &[String], claimant: Option<&Claimant>) -> CommandResult {
    let nodes: CommandResult<Vec<NodeId>> = nodes.iter().map(|word| subject.node_id(word)).collect();
    let (nodes, session, caller) = (nodes?, subject.id(), subject.caller()?);
    let written = match claimant {
        Some(claimant) => subject.service().claim(&session, &nodes, claimant, &caller)?,
        None => subject.service().release(&session, &nodes, &caller)?,
    };
    warn("tot next", &written);
    stored(tell(&written, &nodes, subject.is_json()))
}

fn tell(written: &Written, nodes: &[NodeId], json: bool) -> CommandResult {
    let investigation = written.loaded.investigation();
    let nodes: Vec<&Arc<Node>> = nodes.iter().filter_map(|id| investigation.node(id)).collect();
    if json {
        let entry = |node: &&Arc<Node>| {
            let claim = node.claim.as_ref();
            json!({
                "nodeId": node.id,
                "agentId": claim.map(|claim| &claim.agent_id),
                "until": claim.map(|claim| claim.until.to_string()),
            })
        };
        let commit = written.commit().map(|commit| commit.to_string());
        let nodes: Vec<_> = nodes.iter().map(entry).collect();
        return say_fields(&json!({"commit": commit, "nodes": nodes}));
    }
    let line = |node: &&Arc<Node>| {
        let title = shorten(&node.title, 60);
        let claim = match &node.claim {
            Some(Claim { agent_id, until, .. }) => {
                format!("claimed by {agent_id} until {}", until.to_minute())
            }
            None => "free".to_owned(),
        };
        one_line(&format!("{} {title}: {claim}", node.id)) + "\n"
    };
    say(&nodes.iter().map(line).collect::<String>())
}
