//! The codes for errors, warnings, blockers and `tot check` findings, with their meanings.
//!
//! Tool descriptions, pages, docs and tests use these definitions. Codes are stored in node files and commit messages,
//! so a code is never renamed. A ruleset may define its own codes for early states ([`Code::Other`]).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! codes {
    ($($variant:ident $text:literal $meaning:literal)*) => {
        /// The kind of an error, warning, blocker or finding. Agents act on it.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// `R2_BREADTH`: the round has fewer nodes than recommended.
            Breadth(u32),
            /// A ruleset's own code for an early state, or a code written by another version.
            Other(String),
        }

        impl Code {
            /// All fixed codes, in the order in which a call can return them.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// Returns the meaning as a clause. All ruleset-defined codes share one meaning.
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Code::$variant => $meaning,)*
                    Code::Breadth(_) => "the round has fewer nodes than recommended",
                    Code::Other(_) => "the ruleset does not allow that state so early",
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
                    Code::Breadth(round) => write!(f, "R{round}_BREADTH"),
                    Code::Other(text) => f.write_str(text),
                }
            }
        }
    };
}

codes! {
    // Codes for any call.
    SessionNotFound "SESSION_NOT_FOUND" "no such investigation"
    AmbiguousSession "AMBIGUOUS_SESSION" "several investigations match, or one id is in two folders"
    InvalidArgument "INVALID_ARGUMENT" "an invalid argument"
    UnknownRuleset "UNKNOWN_RULESET" "no ruleset with that name"
    InvestigationEnded "INVESTIGATION_ENDED" "propose with `reopen`, or reclassify to an open state"
    TextTooLong "TEXT_TOO_LONG" "a title or text exceeds its limit"
    EmptyBatch "EMPTY_BATCH" "nothing to do"
    DuplicateInBatch "DUPLICATE_IN_BATCH" "the call names an id twice"
    SecretSuspected "SECRET_SUSPECTED" "text may contain a credential"
    ReadOnly "READ_ONLY" "this server only reads"
    OperationInProgress "OPERATION_IN_PROGRESS" "a merge or rebase is in progress, or HEAD is detached"
    InvalidRuleset "INVALID_RULESET" "the pinned ruleset can't be used"
    InvalidInvestigation "INVALID_INVESTIGATION" "a git repository without an investigation"
    InvestigationFull "INVESTIGATION_FULL" "over the size limit: end it and start another"
    StoreError "STORE_ERROR" "git or the file system failed"
    ReportError "REPORT_ERROR" "the site could not be written"
    RootFolder "ROOT_FOLDER" "the investigations folder is gone, at risk, or not the only one"
    HistoryMoved "HISTORY_MOVED" "some known commits are not on any branch"
    Busy "BUSY" "other processes keep writing"
    TimedOut "TIMED_OUT" "still running; tot_status shows the result"
    InternalError "INTERNAL_ERROR" "the server failed during the call"
    // Proposals.
    InvalidIdFormat "INVALID_ID_FORMAT" "not of the form `R<round>.<suffix>`"
    AmbiguousNode "AMBIGUOUS_NODE" "several nodes have this short id"
    DuplicateId "DUPLICATE_ID" "already in use"
    IdCaseCollision "ID_CASE_COLLISION" "differs from another id only in letter case"
    ParentNotFound "PARENT_NOT_FOUND" "the parent is not a committed node"
    TerminalParent "TERMINAL_PARENT" "the parent's state does not allow children"
    RoundMismatch "ROUND_MISMATCH" "not the parent's round + 1"
    IdParentMismatch "ID_PARENT_MISMATCH" "the suffix does not extend the parent's"
    MissingTitle "MISSING_TITLE" "the title is blank"
    BatchOverflow "BATCH_OVERFLOW" "more nodes than a proposal may have"
    InsufficientRoots "INSUFFICIENT_ROOTS" "fewer roots than the method requires"
    TooManyRoots "TOO_MANY_ROOTS" "more roots than the method allows"
    InvalidRootId "INVALID_ROOT_ID" "not the id that the root must have"
    // Commits and reclassifications.
    NotProposed "NOT_PROPOSED" "not a pending proposal"
    ClaimedByOther "CLAIMED_BY_OTHER" "another agent has claimed the node"
    UnknownState "UNKNOWN_STATE" "not a state in the ruleset"
    StateLocked "STATE_LOCKED" "the state is not allowed this early"
    InvalidChildState "INVALID_CHILD_STATE" "conflicts with the parent's or a child's state"
    MissingEvidence "MISSING_EVIDENCE" "the state needs more evidence"
    MissingAlternatives "MISSING_ALTERNATIVES" "the state needs more alternatives considered"
    TerminalRatioExceeded "TERMINAL_RATIO_EXCEEDED" "too many nodes closed at once"
    NodeNotFound "NODE_NOT_FOUND" "not a committed node"
    MissingReason "MISSING_REASON" "a change without a reason"
    HasChildren "HAS_CHILDREN" "a node with children can't be terminal"
    // Comments.
    CommentNotFound "COMMENT_NOT_FOUND" "no such comment, or not an objection to resolve"
    ResolvedByAuthor "RESOLVED_BY_AUTHOR" "authors can't resolve objections to their own node"
    // Runs.
    RunNotFound "RUN_NOT_FOUND" "no such run, or no differing repetition to judge"
    // Warnings.
    LargeCorrection "LARGE_CORRECTION" "a correction changes so much that its author can't confirm the rest"
    Suspicious "SUSPICIOUS" "committed too soon after its proposal"
    MissingAgent "MISSING_AGENT" "no agent is named"
    ReusedAgent "REUSED_AGENT" "the same agent is on two nodes"
    NotRun "NOT_RUN" "the evidence is text only: no command was captured, no file cited"
    EmptyFindings "EMPTY_FINDINGS" "the findings are empty or say nothing"
    UnreadableReference "UNREADABLE_REFERENCE" "a line under References can't be read as a source"
    ReferenceNotFound "REFERENCE_NOT_FOUND" "a cited file, line or commit is not in the project"
    QuoteNotThere "QUOTE_NOT_THERE" "a cited file lacks the quoted words, or has them elsewhere"
    SourceNotThere "SOURCE_NOT_THERE" "a source names a run, a node or a place that is not there"
    NumberNotThere "NUMBER_NOT_THERE" "a number in a source is not in the output of its run"
    NoSource "NO_SOURCE" "a number in a draft does not say how it is known"
    PlacesNotChecked "PLACES_NOT_CHECKED" "a report names places in files, and no project was here to look at them"
    InsiderWords "INSIDER_WORDS" "a draft uses ids or state names, which its readers don't know"
    ReferenceIgnored "REFERENCE_IGNORED" "git ignores a cited file, so only its name is stored"
    DepthEnforced "DEPTH_ENFORCED" "a state requested too early was stored as another"
    NoReason "NO_REASON" "a state was changed without saying why"
    MissingConclusion "MISSING_CONCLUSION" "ended without a conclusion"
    MissingBottomLine "MISSING_BOTTOM_LINE" "ended without a bottom line"
    ConclusionUnbound "CONCLUSION_UNBOUND" "there are several answers; the conclusion names none"
    UnderminedAnswer "UNDERMINED_ANSWER" "an answer rests on one that fell"
    EarlyState "EARLY_STATE" "a state that is not allowed in that round"
    NotAccepted "NOT_ACCEPTED" "ended without a person's approval"
    AlreadyEnded "ALREADY_ENDED" "already ended; nothing was written"
    // Blockers.
    NoNodes "NO_NODES" "nothing is committed"
    RecoveryRequired "RECOVERY_REQUIRED" "every node is terminal before the minimum round"
    MinRounds "MIN_ROUNDS" "the minimum round is not reached yet"
    InsufficientChildren "INSUFFICIENT_CHILDREN" "an open node lacks children"
    PendingProposals "PENDING_PROPOSALS" "proposals are still pending"
    DepthTooShallow "DEPTH_TOO_SHALLOW" "the deepest node is not deep enough"
    QualityTooLow "QUALITY_TOO_LOW" "the quality score is too low"
    AwaitingConfirmation "AWAITING_CONFIRMATION" "a state waits for a child to confirm it"
    OtherEnds "OTHER_ENDS" "ended more than once, before a merge"
    Contested "CONTESTED" "results of one proposal differ, and nobody has decided"
    UnconfirmedAnswer "UNCONFIRMED_ANSWER" "an answer confirmed by nobody else"
    NotIndependent "NOT_INDEPENDENT" "an answer not confirmed in another session"
    ObjectionOpen "OBJECTION_OPEN" "an objection that nobody has resolved"
    EndDeclined "END_DECLINED" "the person who was asked did not clearly say yes"
    UnreadableNode "UNREADABLE_NODE" "a node's file can't be read or has no place"
    // Findings that only `tot check` reports.
    StrayFile "STRAY_FILE" "an unexpected path, or a file of a missing node"
    Unreadable "UNREADABLE" "the repository can't be read"
    UnreadableFile "UNREADABLE_FILE" "the file's format does not match its path"
    LeftOut "LEFT_OUT" "a file excluded from work trees"
    MisplacedNode "MISPLACED_NODE" "the node has no place in the tree"
    EditedFile "EDITED_FILE" "not as this program writes it"
    LineEndings "LINE_ENDINGS" "git may convert line endings"
    RulesetName "RULESET_NAME" "not the ruleset named at the start"
    RulesetDiffers "RULESET_DIFFERS" "not the built-in ruleset with that name"
    RulesetChanged "RULESET_CHANGED" "the rules were changed after the start"
    AuthorDiffers "AUTHOR_DIFFERS" "does not name the git author"
    TermsChanged "TERMS_CHANGED" "the terms of tot_start were changed"
    ReadmeDiffers "README_DIFFERS" "the README differs from the stored facts"
    FolderName "FOLDER_NAME" "the folder is named after another id"
    UnknownMode "UNKNOWN_MODE" "not a mode in the ruleset"
    MinRoundsLowered "MIN_ROUNDS_LOWERED" "a lower minimum round than the ruleset allows"
    MinRootsChanged "MIN_ROOTS_CHANGED" "a number of roots that the ruleset does not allow"
    EarlyTerminalAllowed "EARLY_TERMINAL_ALLOWED" "early states are kept where the ruleset converts them"
    TimeRunsBack "TIME_RUNS_BACK" "a time before that of an earlier entry"
    RequestedState "REQUESTED_STATE" "a conversion that no rule requires"
    ReclassifiedChain "RECLASSIFIED_CHAIN" "state changes that do not form a chain"
    RefutesNothing "REFUTES_NOTHING" "a root that refutes its parent"
    LinkNowhere "LINK_NOWHERE" "a link to a missing node"
    ReplyNowhere "REPLY_NOWHERE" "a comment on a missing node or comment"
    AmendedNothing "AMENDED_NOTHING" "an amendment that changes no text"
    NoConfirmation "NO_CONFIRMATION" "a promotion that the child does not support"
    ConfirmationDue "CONFIRMATION_DUE" "a child confirmed or refuted the parent, which still waits"
    EndedTooEarly "ENDED_TOO_EARLY" "ended although required steps were missing"
    EndedTagMissing "ENDED_TAG_MISSING" "ended, but the tag is missing"
    EndedTagElsewhere "ENDED_TAG_ELSEWHERE" "the tag for ending is on another commit"
    CommitByHand "COMMIT_BY_HAND" "a commit that is not as a call made it"
    Merge "MERGE" "a merge"
    StoredLost "STORED_LOST" "a commit changed or removed data stored by a call"
    DamagedObject "DAMAGED_OBJECT" "a git object that does not match its id"
    DamagedRepository "DAMAGED_REPOSITORY" "a file or a tag in the repository that is in the way"
    LostCommits "LOST_COMMITS" "commits made by calls but not on any branch"
    NotSigned "NOT_SIGNED" "settings require signed commits, but calls do not sign"
    UnreadableChange "UNREADABLE_CHANGE" "the commit's changes can't be read"
    HistoryCut "HISTORY_CUT" "part of the history was not read"
}

impl Code {
    /// Parses a code as it appears in files and replies.
    pub fn parse(text: &str) -> Code {
        let breadth =
            |text: &str| Some(Code::Breadth(text.strip_prefix('R')?.strip_suffix("_BREADTH")?.parse().ok()?));
        let known = Code::named(text).or_else(|| breadth(text));
        // `R02_BREADTH` is not the code for round 2.
        known.filter(|code| code == text).unwrap_or_else(|| Code::Other(text.to_owned()))
    }

    /// Returns whether the code only describes the current state of a growing tree. Such a code appears in the reply
    /// but not in the history.
    pub fn is_passing(&self) -> bool {
        matches!(self, Code::Breadth(_))
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
        let own = Code::Other("R3_EXPLORE_ONLY".into());
        for code in Code::ALL.iter().chain(&[Code::Breadth(2), own]) {
            assert_eq!(&Code::parse(&code.to_string()), code);
            assert!(!code.meaning().is_empty());
        }
        for text in ["R02_BREADTH", "R_BREADTH", "", "x"] {
            assert_eq!(Code::parse(text), Code::Other(text.to_owned()));
        }
    }
}
