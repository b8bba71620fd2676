//! One node: a proposal, what was found, and every later change of its state.
//!
//! # To add a stored field of a node
//!
//! Follow one that is there, such as `verification_method`, which says how a result was verified:
//!
//! 1. `src/domain/node.rs`: the field.
//! 2. `src/format/node_file.rs`: its key in the node's file, and its place among the others.
//! 3. `src/mcp/tools/commit.rs` and `src/decide/commit.rs`: who gives it, and what is asked of it.
//! 4. `src/mcp/tools/reclassify.rs` and `src/decide/reclassify.rs`: whether it can change later.
//! 5. `src/view.rs`: its name in JSON and its heading. `investigation.json`, `tot_read`, resources, pages, search, history
//!    and comparison have it from there.
//! 6. `tests/it/fuzz.rs`: the field in the files and the inputs that it begins from.

use super::{Code, NodeId, StateName, Timestamp};

/// A node, from its proposal on. Without a classification it is a pending proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id, which holds its round.
    pub id: NodeId,
    /// The node it extends; `None` for a root.
    pub parent: Option<NodeId>,
    /// One line.
    pub title: String,
    /// What the agent means to do.
    pub planned_action: String,
    /// When it was proposed, or proposed again.
    pub proposed_at: Timestamp,
    /// What became of it; absent while it is pending.
    pub classification: Option<Classification>,
}

/// What an agent committed for a node, and what happened to its state since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The state stored by the commit. The state in force is [`Node::state`].
    pub state: StateName,
    /// What the agent asked for, where a rule stored another state.
    pub requested_state: Option<StateName>,
    /// Who did the research.
    pub agent_id: Option<String>,
    /// When it was committed.
    pub committed_at: Timestamp,
    /// Markdown, as it came.
    pub findings: String,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
    /// What the commit was warned of.
    pub warnings: Vec<Warning>,
    /// Every later change of state, oldest first.
    pub reclassified: Vec<Reclassification>,
}

/// A warning as it is stored with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What kind.
    pub code: Code,
    /// What was wrong, in one sentence.
    pub message: String,
}

/// Who changed a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// An agent, by its id.
    Agent(String),
    /// A child whose own state confirmed or refuted the node.
    Child(NodeId),
    /// Nobody who gave a name.
    Unknown,
}

/// One change of a node's state after its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclassification {
    /// The state before.
    pub from: StateName,
    /// The state after.
    pub to: StateName,
    /// When.
    pub at: Timestamp,
    /// Who or what did it.
    pub by: Author,
    /// Why, in the agent's words.
    pub reason: Option<String>,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
    /// What the change was warned of.
    pub warnings: Vec<Warning>,
}

/// The end of an investigation, as `tot_end` stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// When it was ended.
    pub ended_at: Timestamp,
    /// Who ended it.
    pub agent_id: Option<String>,
    /// The answer, in Markdown.
    pub conclusion: Option<String>,
}

impl Node {
    /// The round: the number in the id.
    pub fn round(&self) -> u32 {
        self.id.round()
    }

    /// The state in force; `None` while the node is a pending proposal.
    pub fn state(&self) -> Option<&StateName> {
        self.classification.as_ref().map(Classification::current_state)
    }

    /// Whether it is proposed and not yet committed.
    pub fn is_pending(&self) -> bool {
        self.classification.is_none()
    }
}

impl Reclassification {
    /// Its texts, those of its warnings among them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let own = [&self.reason, &self.evidence, &self.verification_method].into_iter().flatten();
        let warnings = self.warnings.iter().map(|warning| &warning.message);
        own.chain(&self.alternatives_considered).chain(warnings).map(String::as_str)
    }
}

impl Classification {
    /// The state in force: the last change's, or the committed one.
    pub fn current_state(&self) -> &StateName {
        self.reclassified.last().map_or(&self.state, |change| &change.to)
    }

    /// When the state in force was set.
    pub fn current_since(&self) -> Timestamp {
        self.reclassified.last().map_or(self.committed_at, |change| change.at)
    }

    /// The child that brought the state in force about, if one did.
    pub fn promoted_by(&self) -> Option<&NodeId> {
        match &self.reclassified.last()?.by {
            Author::Child(child) => Some(child),
            Author::Agent(_) | Author::Unknown => None,
        }
    }

    /// All warnings, of the commit and of later changes, oldest first.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().chain(self.reclassified.iter().flat_map(|change| &change.warnings))
    }

    /// Every agent who put its name to this node.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agent_id.as_deref().into_iter().chain(self.reclassified.iter().filter_map(|change| {
            match &change.by {
                Author::Agent(agent) => Some(agent.as_str()),
                Author::Child(_) | Author::Unknown => None,
            }
        }))
    }
}
