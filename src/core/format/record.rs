//! Records that are written once, each into a file of its own: comments and runs.

use std::fmt::Display;
use std::sync::Arc;

use super::{comment_file, layout, run_file};
use crate::domain::{Comment, CommentId, Commenter, Investigation, NodeId, Run, RunId, Timestamp};
use crate::yaml::YamlError;

/// A comment or a run.
pub trait Record: Clone + PartialEq {
    /// Its id, which is the name of its file.
    type Id: Copy + Display + PartialEq;

    /// The id.
    fn id(&self) -> Self::Id;
    /// The node that it is about; `None` for the whole.
    fn node_mut(&mut self) -> &mut Option<NodeId>;
    /// The author.
    fn author(&self) -> &Commenter;
    /// The author, for changes.
    fn author_mut(&mut self) -> &mut Commenter;
    /// When.
    fn at(&self) -> Timestamp;
    /// The one of that id in an investigation.
    fn known(investigation: &Investigation, id: Self::Id) -> Option<&Arc<Self>>;
    /// The file of the one of that id.
    fn path(id: Self::Id) -> String;
    /// The text of its file.
    ///
    /// # Errors
    ///
    /// None in practice; see [`super::files`].
    fn write(&self) -> Result<String, YamlError>;
    /// The value of its file.
    ///
    /// # Errors
    ///
    /// An invalid file, with the line.
    fn read(text: &str) -> Result<Self, YamlError>;
}

macro_rules! record {
    ($type:ty, $id:ty, $name:ident, $file:ident) => {
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

            fn write(&self) -> Result<String, YamlError> {
                $file::write(self)
            }

            fn read(text: &str) -> Result<Self, YamlError> {
                $file::read(text)
            }
        }
    };
}

record!(Comment, CommentId, comment, comment_file);
record!(Run, RunId, run, run_file);
