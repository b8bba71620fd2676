//! The facts of an investigation and the questions that can be asked of them. Pure: no file, clock, git or protocol.
//!
//! - [`id`]: node ids, session ids, states' names, commit-independent newtypes.
//! - [`fresh`]: ids that are not in use.
//! - [`time`]: points in time, in UTC with milliseconds.
//! - [`citation`]: what a result cites, and what a cited file was.
//! - [`node`]: one node, from its proposal to its last change of state; `stored`, what of it has another form in files.
//! - [`investigation`]: the tree of nodes; children, rounds and open questions are computed here, never stored.
//! - [`attachment`]: files that stand beside a node.
//! - [`comment`]: what people and agents say about it.
//! - [`run`]: what the program saw when it ran a command.
//! - [`event`]: what one call did, and what the difference of two trees says happened.
//! - [`code`]: the codes of these, with what they mean.
//! - [`diagnostic`]: errors, warnings and blockers, in the one form that agents and people read.

pub mod attachment;
pub mod citation;
pub mod code;
pub mod comment;
pub mod diagnostic;
pub mod event;
pub mod fresh;
pub mod id;
pub mod investigation;
pub mod node;
pub mod run;
pub(crate) mod stored;
pub mod time;

pub use attachment::{Attached, AttachmentName, Attachments};
pub use citation::{Citation, CitedPath, Lines, LookedUp, LookedUpPaths, NamedIn, Pin};
pub use code::Code;
pub use comment::{Comment, CommentKind, Commenter};
pub use diagnostic::Diagnostic;
pub use event::{Change, Event, Happening, Transition};
pub use id::{CommentId, IdError, NodeId, RunId, SessionId, StateName};
pub use investigation::{ByHand, Investigation, Kin, Meta, StructureFault};
pub use node::{
    AmendedConclusion, Amendment, Asked, Author, BoundAnswer, BoundAs, Caller, Claim, Classification,
    Command, Conclusion, Link, LinkKind, Node, Person, PersonsAnswer, Reclassification, StopReason, Stopped,
    Warning,
};
pub use run::{Run, RunKind};
pub use time::Timestamp;
