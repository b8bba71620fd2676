//! `tot next --claim NODE` and `tot next --release NODE`: claim proposals and release them. A claim is a note that expires, not
//! a lock.

use std::sync::Arc;

use serde_json::json;

use super::UNNAMED;
use crate::base::world::World;
use crate::cli::caller::caller;
use crate::cli::place::Common;
use crate::cli::print::{say_fields, stored, warn};
use crate::cli::{CommandResult, misused, say};
use crate::decide::claim::Claimant;
use crate::domain::{Caller, Claim, Node, NodeId};
use crate::service::{Service, Written};
use crate::text::{one_line, shorten};

/// Claims the nodes. Without an agent, the claimant is the author of commits in git.
pub(super) fn claim(
    nodes: &[String],
    agent: Option<&str>,
    minutes: Option<u32>,
    common: &Common,
) -> CommandResult {
    let ClaimSubject { service, session, nodes, author, caller } = ClaimSubject::of(common, nodes)?;
    let Some(agent_id) = agent.map(str::to_owned).or(author) else { return Err(UNNAMED.into()) };
    let claimant = Claimant { agent_id: Some(agent_id), minutes };
    let written = service.claim(&session, &nodes, &claimant, &caller)?;
    warn("tot next", &written);
    stored(tell(&written, &nodes, common.json))
}

/// Releases the nodes, whoever claimed them.
pub(super) fn release(nodes: &[String], common: &Common) -> CommandResult {
    let ClaimSubject { service, session, nodes, caller, .. } = ClaimSubject::of(common, nodes)?;
    let written = service.release(&session, &nodes, &caller)?;
    warn("tot next", &written);
    stored(tell(&written, &nodes, common.json))
}

/// The nodes given to a command, with everything needed to write claims.
struct ClaimSubject {
    service: Service,
    session: String,
    nodes: Vec<NodeId>,
    /// The commit author configured in git, if any.
    author: Option<String>,
    caller: Caller,
}

impl ClaimSubject {
    fn of(common: &Common, nodes: &[String]) -> CommandResult<ClaimSubject> {
        if nodes.is_empty() {
            return Err(misused("name at least one node, such as R2.A1"));
        }
        let place = common.place()?;
        let path = place.folder()?;
        let nodes: CommandResult<_> = nodes.iter().map(|word| place.node_id(&path, word)).collect();
        let session = place.store.id(&path)?.to_string();
        let author = place.store.open(&path)?.author();
        let caller = caller(&place.store, &path)?;
        let service = Service::new(place.store.root().to_owned(), World::Machine, None);
        Ok(ClaimSubject { service, session, nodes: nodes?, author, caller })
    }
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
        let commit = written.decision.event.as_ref().map(|_| written.loaded.snapshot.head.to_string());
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
