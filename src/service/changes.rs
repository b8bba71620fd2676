//! Notifications about writes by this server.
//!
//! Guarantee: every listener that exists when a write is accepted receives the change once. A listener that lags too
//! far behind receives [`RecvError::Lagged`] and must assume that everything has changed. Limitation: writes by other processes
//! and manual edits are not noticed.

use tokio::sync::broadcast;
pub use tokio::sync::broadcast::error::RecvError;

use crate::domain::{Change, Investigation, NodeId, SessionId};

/// The maximum number of changes by which a listener may lag behind.
pub(super) const BEHIND: usize = 256;

/// The effect of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceChange {
    /// The investigation.
    pub session: SessionId,
    /// The written nodes and their parents, whose lists of children changed.
    pub nodes: Vec<NodeId>,
    /// True if the investigation is new.
    pub started: bool,
}

impl ServiceChange {
    /// Returns the change for a write to an existing investigation.
    pub fn by(before: &Investigation, changes: &[Change]) -> Self {
        let mut nodes = Vec::new();
        for change in changes {
            let (id, parent) = match change {
                Change::Node(node) => (Some(&node.id), node.parent.as_ref()),
                Change::NodeRemoved(id) => (Some(id), before.node(id).and_then(|node| node.parent.as_ref())),
                Change::Comment(comment) => (comment.node.as_ref(), None),
                Change::Run(run) => (run.node.as_ref(), None),
                Change::Attached(file) => (Some(&file.node), None),
                Change::Concluded(_) | Change::Reopened(_) => (None, None),
            };
            nodes.extend([id, parent].into_iter().flatten().cloned());
        }
        nodes.sort();
        nodes.dedup();
        ServiceChange { session: before.meta().id, nodes, started: false }
    }
}

/// The channel from the calls to the listeners.
pub(super) type Changes = broadcast::Sender<ServiceChange>;

/// A receiver for changes.
pub type Listener = broadcast::Receiver<ServiceChange>;
