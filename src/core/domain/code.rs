//! The codes of errors, warnings, blockers and findings of `tot check`, each with what it means.
//!
//! This is their one home: tool descriptions, pages, docs and tests draw on it. A code is stored in node files and commit
//! messages, so none is ever renamed. A ruleset may name codes of its own for early states ([`Code::Other`]).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::StateName;

macro_rules! codes {
    ($($variant:ident $text:literal $meaning:literal)*) => {
        /// What kind of thing is wrong, doubtful or owed. An agent acts on it.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// `INCOMPLETE_<STATE>`: after a commit, an open node in that state still lacks children.
            Incomplete(StateName),
            /// `R2_BREADTH`: that round has fewer nodes than recommended.
            Breadth(u32),
            /// A code that a ruleset names for a state that comes too early, or that another version wrote.
            Other(String),
        }

        impl Code {
            /// All that have a name of their own, in the order of a call.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// What it means, in a clause; for a code of a ruleset's own, that the ruleset says so.
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Code::$variant => $meaning,)*
                    Code::Incomplete(_) => "after this commit, an open node still lacks children",
                    Code::Breadth(_) => "the round has fewer nodes than recommended",
                    Code::Other(_) => "the state came too early by a rule of this ruleset",
                }
            }

            fn named(text: &str) -> Option<Code> {
                match text {
                    $($text => Some(Code::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Code::$variant => f.write_str($text),)*
                    Code::Incomplete(state) => write!(f, "INCOMPLETE_{state}"),
                    Code::Breadth(round) => write!(f, "R{round}_BREADTH"),
                    Code::Other(text) => f.write_str(text),
                }
            }
        }
    };
}

codes! {
    // Any call.
    SessionNotFound "SESSION_NOT_FOUND" "no such investigation"
    AmbiguousSession "AMBIGUOUS_SESSION" "several investigations fit, or one id stands in two folders"
    InvalidArgument "INVALID_ARGUMENT" "an argument that does not fit"
    UnknownRuleset "UNKNOWN_RULESET" "no ruleset of that name"
    InvestigationEnded "INVESTIGATION_ENDED" "a reclassify to an open state reopens it"
    TextTooLong "TEXT_TOO_LONG" "a title or text over its limit"
    EmptyBatch "EMPTY_BATCH" "nothing to do"
    DuplicateInBatch "DUPLICATE_IN_BATCH" "an id stands twice in the call"
    SecretSuspected "SECRET_SUSPECTED" "a text seems to hold a credential"
    ReadOnly "READ_ONLY" "this server only reads"
    OperationInProgress "OPERATION_IN_PROGRESS" "a person merges or rebases there"
    InvalidRuleset "INVALID_RULESET" "the pinned ruleset can't be used"
    InvalidInvestigation "INVALID_INVESTIGATION" "a git repository, but no investigation"
    InvestigationFull "INVESTIGATION_FULL" "more than is read again: end it, and begin another"
    StoreError "STORE_ERROR" "git or the file system refused"
    ReportError "REPORT_ERROR" "the site could not be written"
    HistoryMoved "HISTORY_MOVED" "commits that calls knew are left behind"
    Busy "BUSY" "others write without a pause"
    TimedOut "TIMED_OUT" "the call goes on; tot_status shows what it did"
    InternalError "INTERNAL_ERROR" "the server broke down over the call"
    // Proposals.
    InvalidIdFormat "INVALID_ID_FORMAT" "not of the form `R<round>.<suffix>`"
    DuplicateId "DUPLICATE_ID" "already committed"
    IdCaseCollision "ID_CASE_COLLISION" "differs from another id only in letter case"
    ParentNotFound "PARENT_NOT_FOUND" "the parent is not a committed node"
    TerminalParent "TERMINAL_PARENT" "the parent's state takes no children"
    RoundMismatch "ROUND_MISMATCH" "not the parent's round + 1"
    IdParentMismatch "ID_PARENT_MISMATCH" "the suffix does not extend the parent's"
    MissingTitle "MISSING_TITLE" "the title is blank"
    BatchOverflow "BATCH_OVERFLOW" "more nodes than a proposal may have"
    InsufficientRoots "INSUFFICIENT_ROOTS" "fewer roots than the method asks for"
    TooManyRoots "TOO_MANY_ROOTS" "more roots than the method allows"
    InvalidRootId "INVALID_ROOT_ID" "not the id that the root must have"
    // Commits and reclassifications.
    NotProposed "NOT_PROPOSED" "not a pending proposal"
    ClaimedByOther "CLAIMED_BY_OTHER" "another agent has claimed the node"
    UnknownState "UNKNOWN_STATE" "not a state of the ruleset"
    StateLocked "STATE_LOCKED" "the state comes too early and is refused"
    InvalidChildState "INVALID_CHILD_STATE" "not allowed beside the parent's or children's states"
    MissingEvidence "MISSING_EVIDENCE" "the state needs more evidence"
    MissingAlternatives "MISSING_ALTERNATIVES" "the state needs more alternatives considered"
    TerminalRatioExceeded "TERMINAL_RATIO_EXCEEDED" "too many nodes closed at once"
    NodeNotFound "NODE_NOT_FOUND" "not a committed node"
    MissingReason "MISSING_REASON" "a change without a reason"
    HasChildren "HAS_CHILDREN" "a terminal state while it has children"
    // Comments.
    CommentNotFound "COMMENT_NOT_FOUND" "no such comment, or no objection where one is to be resolved"
    ResolvedByAuthor "RESOLVED_BY_AUTHOR" "who wrote a node can't resolve an objection to it"
    // Runs.
    RunNotFound "RUN_NOT_FOUND" "no such run, or no repetition that differs where one is to be judged"
    // Warnings.
    Suspicious "SUSPICIOUS" "committed too soon after its proposal"
    MissingAgent "MISSING_AGENT" "no agent is named"
    ReusedAgent "REUSED_AGENT" "the agent stands on another node"
    NotRun "NOT_RUN" "the evidence is words alone: no command was run, and no file is cited"
    EmptyFindings "EMPTY_FINDINGS" "nothing was found, or nothing was said"
    UnreadableReference "UNREADABLE_REFERENCE" "a line under References names no source that can be read"
    ReferenceNotFound "REFERENCE_NOT_FOUND" "a cited file, line or commit is not in the project"
    QuoteNotThere "QUOTE_NOT_THERE" "a cited file does not hold the words that are quoted of it, or holds them elsewhere"
    ReferenceIgnored "REFERENCE_IGNORED" "git ignores a cited file, so only its name is stored"
    DepthEnforced "DEPTH_ENFORCED" "a state that came too early was stored as another"
    NoReason "NO_REASON" "a state was changed without saying why"
    MissingConclusion "MISSING_CONCLUSION" "ended without an answer"
    ConclusionUnbound "CONCLUSION_UNBOUND" "there are several answers, and the conclusion names none"
    EarlyState "EARLY_STATE" "a state that no commit could have had in that round"
    NotAccepted "NOT_ACCEPTED" "a person was to be asked before the end, and did not say yes"
    AlreadyEnded "ALREADY_ENDED" "it has ended before; nothing was written"
    // What blocks the end.
    NoNodes "NO_NODES" "nothing is committed"
    RecoveryRequired "RECOVERY_REQUIRED" "every node is terminal before the minimum round"
    MinRounds "MIN_ROUNDS" "the minimum round is not reached"
    InsufficientChildren "INSUFFICIENT_CHILDREN" "an open node lacks children"
    PendingProposals "PENDING_PROPOSALS" "proposals wait for a commit"
    DepthTooShallow "DEPTH_TOO_SHALLOW" "the deepest node is not deep enough"
    QualityTooLow "QUALITY_TOO_LOW" "the quality score is too low"
    AwaitingConfirmation "AWAITING_CONFIRMATION" "a state waits for a child to confirm it"
    OtherEnds "OTHER_ENDS" "it was ended more than once, before a merge"
    Contested "CONTESTED" "results of one proposal that differ, between which nobody has decided"
    UnconfirmedAnswer "UNCONFIRMED_ANSWER" "an answer that no other has confirmed"
    NotIndependent "NOT_INDEPENDENT" "an answer that no other session has confirmed"
    ObjectionOpen "OBJECTION_OPEN" "an objection that nobody has resolved"
    EndDeclined "END_DECLINED" "the person who was asked said no"
    UnreadableNode "UNREADABLE_NODE" "a node's file can't be read or has no place"
    // Findings of `tot check` alone.
    StrayFile "STRAY_FILE" "not the path of a file of the investigation, or beside no node"
    Unreadable "UNREADABLE" "the repository can't be read"
    UnreadableFile "UNREADABLE_FILE" "the file can't be read as what its path says"
    LeftOut "LEFT_OUT" "a file that no work tree gets"
    MisplacedNode "MISPLACED_NODE" "the node has no place in the tree"
    EditedFile "EDITED_FILE" "not as this program writes it"
    LineEndings "LINE_ENDINGS" "git may convert line endings"
    RulesetName "RULESET_NAME" "another ruleset than the one named at the start"
    RulesetDiffers "RULESET_DIFFERS" "not the built-in ruleset of that name"
    RulesetChanged "RULESET_CHANGED" "the rules were changed after the start"
    AuthorDiffers "AUTHOR_DIFFERS" "a person is named whom git does not name as the author"
    TermsChanged "TERMS_CHANGED" "what tot_start fixed was changed"
    ReadmeDiffers "README_DIFFERS" "the page for forges does not fit the facts"
    FolderName "FOLDER_NAME" "the folder is named by another id"
    UnknownMode "UNKNOWN_MODE" "not a mode of the ruleset"
    MinRoundsLowered "MIN_ROUNDS_LOWERED" "fewer minimum rounds than the ruleset allows"
    MinRootsChanged "MIN_ROOTS_CHANGED" "a number of roots that the ruleset does not allow"
    EarlyTerminalAllowed "EARLY_TERMINAL_ALLOWED" "early states are kept where the ruleset converts them"
    TimeRunsBack "TIME_RUNS_BACK" "a time before one that came first"
    RequestedState "REQUESTED_STATE" "a conversion that no rule asks for"
    ReclassifiedChain "RECLASSIFIED_CHAIN" "changes of state that do not follow from each other"
    RefutesNothing "REFUTES_NOTHING" "a root that refutes its parent"
    LinkNowhere "LINK_NOWHERE" "a link to a node that is not there"
    ReplyNowhere "REPLY_NOWHERE" "a comment on a node, or to a comment, that is not there"
    AmendedNothing "AMENDED_NOTHING" "an amendment that changes no text"
    NoConfirmation "NO_CONFIRMATION" "a promotion that its child does not bear out"
    ConfirmationDue "CONFIRMATION_DUE" "a child has confirmed or refuted, and the parent still waits"
    EndedTooEarly "ENDED_TOO_EARLY" "ended while something blocked the end"
    EndedTagMissing "ENDED_TAG_MISSING" "an end without its tag"
    EndedTagElsewhere "ENDED_TAG_ELSEWHERE" "a tag of an end on another commit"
    CommitByHand "COMMIT_BY_HAND" "a commit that was not made by a call"
    Merge "MERGE" "a merge"
    StoredLost "STORED_LOST" "a commit rewrote or removed what a call had stored"
    NotOneCall "NOT_ONE_CALL" "a change that no single call makes"
    DamagedObject "DAMAGED_OBJECT" "an object of git that is not what its id says"
    LostCommits "LOST_COMMITS" "commits of calls that no branch leads to"
    NotSigned "NOT_SIGNED" "the settings ask for signed commits, and calls make none"
    UnreadableChange "UNREADABLE_CHANGE" "what the commit changed can't be read"
    HistoryCut "HISTORY_CUT" "something of the history is not read"
}

impl Code {
    /// The code of that text, as it is written in files and replies.
    pub fn parse(text: &str) -> Code {
        let breadth =
            |text: &str| Some(Code::Breadth(text.strip_prefix('R')?.strip_suffix("_BREADTH")?.parse().ok()?));
        let incomplete = |text: &str| Some(Code::Incomplete(text.strip_prefix("INCOMPLETE_")?.parse().ok()?));
        let known = Code::named(text).or_else(|| breadth(text)).or_else(|| incomplete(text));
        // `R02_BREADTH` is another text than that of round 2.
        known.filter(|code| code == text).unwrap_or_else(|| Code::Other(text.to_owned()))
    }

    /// Whether it only says how things stand, as every commit of a growing tree does: it is in the reply and not in the
    /// history.
    pub fn is_passing(&self) -> bool {
        matches!(self, Code::Incomplete(_) | Code::Breadth(_))
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        String::deserialize(text).map(|text| Code::parse(&text))
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.to_string().as_str() == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_as_it_is_written() {
        let of_a_state = Code::Incomplete("EXPLORE".parse().unwrap());
        let own = Code::Other("R3_EXPLORE_ONLY".into());
        for code in Code::ALL.iter().chain(&[of_a_state, Code::Breadth(2), own]) {
            assert_eq!(&Code::parse(&code.to_string()), code);
            assert!(!code.meaning().is_empty());
        }
        for text in ["R02_BREADTH", "R_BREADTH", "INCOMPLETE_", "", "x"] {
            assert_eq!(Code::parse(text), Code::Other(text.to_owned()));
        }
    }
}
