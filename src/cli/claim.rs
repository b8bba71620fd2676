//! `tot claim` and `tot release`: claim proposals and release them.

use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::caller::caller;
use super::place::{Common, id_and_nodes};
use super::print::{say_fields, stored, warn};
use super::{CommandResult, misused, refused, say};
use crate::base::world::World;
use crate::decide::claim::Claimant;
use crate::domain::{Caller, Claim, Node, NodeId};
use crate::service::{Service, Written};
use crate::text::{one_line, shorten};

/// Claim pending proposals, so that nobody else does the same work. A claim is a note that expires, not a lock.
#[derive(Args)]
#[command(after_long_help = CLAIM_EXAMPLES)]
pub(super) struct ClaimArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), then the nodes
    #[arg(value_names = ["NODE"], required = true)]
    what: Vec<String>,
    /// Claimant's name, as it will appear on the result; default: the author of your commits
    #[arg(long = "as", value_name = "NAME")]
    agent: Option<String>,
    /// Duration of the claim
    #[arg(long = "for", value_name = "MINUTES")]
    minutes: Option<u32>,
    #[command(flatten)]
    common: Common,
}

const CLAIM_EXAMPLES: &str = "\
Examples:
  tot claim R2.A1 R2.A2          in the folder of an investigation, for an hour
  tot claim 0196 R2.A1 --for 240 --as reviewer-2";

/// Release claimed proposals, whoever claimed them.
#[derive(Args)]
#[command(after_long_help = RELEASE_EXAMPLES)]
pub(super) struct ReleaseArguments {
    /// Investigation (id, prefix or suffix; optional when there is only one), then the nodes
    #[arg(value_names = ["NODE"], required = true)]
    what: Vec<String>,
    #[command(flatten)]
    common: Common,
}

const RELEASE_EXAMPLES: &str = "\
Examples:
  tot release R2.A1       frees it for others
  tot release 0196 R2.A1";

pub(super) fn claim(arguments: &ClaimArguments) -> CommandResult {
    let ClaimSubject { service, session, nodes, author, caller } =
        ClaimSubject::of(&arguments.common, &arguments.what)?;
    let agent_id = match arguments.agent.clone().or(author) {
        Some(name) => name,
        None => return Err("git does not know your name: name the claimant with --as".into()),
    };
    let claimant = Claimant { agent_id: Some(agent_id), minutes: arguments.minutes };
    let written = service.claim(&session, &nodes, &claimant, &caller).map_err(refused)?;
    warn("tot claim", &written);
    stored(tell(&written, &nodes, arguments.common.json))
}

pub(super) fn release(arguments: &ReleaseArguments) -> CommandResult {
    let ClaimSubject { service, session, nodes, caller, .. } =
        ClaimSubject::of(&arguments.common, &arguments.what)?;
    let written = service.release(&session, &nodes, &caller).map_err(refused)?;
    warn("tot release", &written);
    stored(tell(&written, &nodes, arguments.common.json))
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
    fn of(common: &Common, what: &[String]) -> CommandResult<ClaimSubject> {
        let (id, nodes) = id_and_nodes(what)?;
        if nodes.is_empty() {
            return Err(misused("name at least one node, such as R2.A1"));
        }
        let place = common.place()?;
        let path = place.folder(id)?;
        let session = place.store.id(&path)?.to_string();
        let author = place.store.author(&path)?;
        let caller = caller(&place.store, &path)?;
        let service = Service::new(place.store.root().to_owned(), World::Machine, None);
        Ok(ClaimSubject { service, session, nodes, author, caller })
    }
}

fn tell(written: &Written, nodes: &[NodeId], json: bool) -> CommandResult {
    let investigation = written.standing.investigation();
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
        let commit = written.decision.event.as_ref().map(|_| written.standing.snapshot.head.to_string());
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
