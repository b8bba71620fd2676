//! The common interface of comments and runs, which are written once, each to its own file.

use std::fmt::Display;
use std::sync::Arc;

use super::{StoredFile, layout};
use crate::domain::{Comment, CommentId, Commenter, Investigation, NodeId, Run, RunId, Timestamp};

/// A comment or a run.
pub trait Record: StoredFile + Clone + PartialEq {
    /// The id type. The id is also the file name.
    type Id: Copy + Display + PartialEq;

    /// Returns the id.
    fn id(&self) -> Self::Id;
    /// Returns a mutable reference to the node that the record is about; `None` for the whole investigation.
    fn node_mut(&mut self) -> &mut Option<NodeId>;
    /// Returns the author.
    fn author(&self) -> &Commenter;
    /// Returns a mutable reference to the author.
    fn author_mut(&mut self) -> &mut Commenter;
    /// Returns the time at which the record was stored.
    fn at(&self) -> Timestamp;
    /// Finds the record with the given id in an investigation.
    fn known(investigation: &Investigation, id: Self::Id) -> Option<&Arc<Self>>;
    /// Returns the path of the file with the given id.
    fn path(id: Self::Id) -> String;
}

macro_rules! record {
    ($type:ty, $id:ty, $name:ident) => {
        impl Record for $type {
            type Id = $id;

            fn id(&self) -> $id {
                self.id
            }

            fn node_mut(&mut self) -> &mut Option<NodeId> {
                &mut self.node
            }

            fn author(&self) -> &Commenter {
                &self.author
            }

            fn author_mut(&mut self) -> &mut Commenter {
                &mut self.author
            }

            fn at(&self) -> Timestamp {
                self.at
            }

            fn known(investigation: &Investigation, id: $id) -> Option<&Arc<Self>> {
                investigation.$name(id)
            }

            fn path(id: $id) -> String {
                layout::$name(id)
            }
        }
    };
}

record!(Comment, CommentId, comment);
record!(Run, RunId, run);
