//! The facts of an investigation, and queries on them. Pure: no files, clock, git or protocol.
//!
//! - [`id`]: the ids and state names, each a newtype.
//! - [`fresh`]: allocation of unused ids.
//! - [`time`]: timestamps in UTC with milliseconds.
//! - [`claim_hash`]: the hash of what a node claims.
//! - [`citation`]: the sources that results cite, and the recorded state of cited files with the project's commit.
//! - [`caller`]: who made a call.
//! - [`conclusion`]: the end of an investigation, and which of several counts.
//! - [`node`]: a node, from its proposal to its last state change. `stored` contains the types that have a different
//!   form in files.
//! - [`investigation`]: the tree of nodes. Children, rounds and open questions are computed here, never stored.
//! - [`attachment`]: files attached to a node.
//! - [`comment`]: comments by people and agents.
//! - [`edit`]: changes of passages in a longer text.
//! - [`run`]: recorded command runs with their durations and the project's commit, when two outputs count as the same, and
//!   the words for what a rerun showed.
//! - [`event`]: the effect of a call, and the events between two trees.
//! - [`code`]: the codes for errors, warnings and blockers, with their meanings.
//! - [`diagnostic`]: errors, warnings and blockers, as shown to agents and people.
//! - [`wording`]: texts that read differently for agents and people.

pub mod attachment;
pub mod caller;
pub mod citation;
pub mod claim_hash;
pub mod code;
pub mod comment;
pub mod conclusion;
pub mod diagnostic;
pub mod edit;
pub mod event;
pub mod fresh;
pub mod id;
pub mod investigation;
pub mod node;
pub mod run;
pub(crate) mod stored;
pub mod time;
pub mod wording;

pub use attachment::{Attached, AttachmentName, Attachments};
pub use caller::{Caller, Person};
pub use citation::{Citation, CitedPath, Lines, LookedUp, LookedUpPaths, NamedIn, Pin};
pub use claim_hash::{ClaimHash, NoClaimHash};
pub use code::Code;
pub use comment::{Comment, CommentKind, Commenter};
pub use conclusion::{
    AmendedConclusion, Asked, BoundAnswer, BoundAs, Conclusion, DRAFT, Drafted, PersonsAnswer, Reopening,
    StopReason, Stopped,
};
pub use diagnostic::Diagnostic;
pub use edit::TextEdit;
pub use event::{Change, Event, Happening, Transition};
pub use id::{CommentId, IdError, NodeId, RunId, SessionId, ShortId, StateName};
pub use investigation::{ByHand, Investigation, Meta, NotFound, StructureFault};
pub use node::{
    Amendment, Author, Claim, Classification, Command, Link, LinkKind, Node, Reclassification, Warning,
    Withdrawal,
};
pub use run::{Run, RunKind};
pub use time::Timestamp;
pub use wording::Wording;
