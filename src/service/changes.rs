//! Notifies listeners of the changes made by the calls of this server.
//!
//! Guarantee: every listener that existed before an accepted write receives it once. A listener that does not keep up
//! receives [`Missed`], and must take everything for changed. Limit: writes of another process, or of a person by hand, are
//! not noticed.

use tokio::sync::broadcast;

use crate::domain::{Change, Investigation, NodeId, SessionId};

/// The number of changes that a listener may lag behind.
const BEHIND: usize = 256;

/// The changes of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The investigation.
    pub session: SessionId,
    /// The nodes that now read differently: those that were written, and their parents, which show their children.
    pub nodes: Vec<NodeId>,
    /// Whether the investigation is new.
    pub started: bool,
}

impl Changed {
    /// Returns the change that starts an investigation.
    pub fn started(session: SessionId) -> Self {
        Changed { session, nodes: Vec::new(), started: true }
    }

    /// The change that a listener receives for these changes of an investigation.
    pub fn by(before: &Investigation, changes: &[Change]) -> Self {
        let mut nodes = Vec::new();
        for change in changes {
            let (id, parent) = match change {
                Change::Node(node) => (&node.id, node.parent.as_ref()),
                Change::NodeRemoved(id) => (id, before.node(id).and_then(|node| node.parent.as_ref())),
                Change::Comment(comment) => {
                    nodes.extend(comment.node.clone());
                    continue;
                }
                Change::Run(run) => {
                    nodes.extend(run.node.clone());
                    continue;
                }
                Change::Attached(file) => {
                    nodes.push(file.node.clone());
                    continue;
                }
                Change::Meta(_)
                | Change::Concluded(_)
                | Change::Reopened
                | Change::CommentRemoved(_)
                | Change::RunRemoved(_) => continue,
            };
            nodes.extend([Some(id), parent].into_iter().flatten().cloned());
        }
        nodes.sort();
        nodes.dedup();
        Changed { session: before.meta().id, nodes, started: false }
    }
}

/// The listener lagged behind and missed changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed;

/// The channel from the calls to the listeners.
#[derive(Clone, Debug)]
pub struct Changes(broadcast::Sender<Changed>);

impl Default for Changes {
    fn default() -> Self {
        Changes(broadcast::Sender::new(BEHIND))
    }
}

impl Changes {
    /// Sends a change to all listeners, without waiting.
    pub fn tell(&self, change: Changed) {
        // An error only says that there is no listener.
        let _ = self.0.send(change);
    }

    /// Returns a listener to everything that changes from now on.
    pub fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }

    /// Returns the number of listeners.
    #[cfg(test)]
    pub(super) fn listeners(&self) -> usize {
        self.0.receiver_count()
    }
}

/// Receives changes.
pub struct Listener(broadcast::Receiver<Changed>);

impl Listener {
    /// Returns the next change; `None` once no more can come.
    pub async fn next(&mut self) -> Option<Result<Changed, Missed>> {
        match self.0.recv().await {
            Ok(change) => Some(Ok(change)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Err(Missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
