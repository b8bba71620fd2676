//! The end of an investigation: its conclusion, the answers that it names, and what happened to it later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node::swap;
use super::{Amendment, Caller, Citation, Classification, CommentId, Node, NodeId, Pin, Timestamp, stored};
use crate::text::one_line;

/// A later change to the conclusion, with the previous text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmendedConclusion {
    /// The time of the amendment.
    pub at: Timestamp,
    /// The agent that amended the conclusion.
    pub agent_id: Option<String>,
    /// The client that sent the amendment.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
    /// The reason.
    pub reason: String,
    /// The correction that the amendment accepts.
    pub correction: Option<CommentId>,
    /// The previous bottom line; absent if unchanged.
    pub bottom_line: Option<String>,
    /// The previous conclusion; absent if unchanged.
    pub conclusion: Option<String>,
    /// The answers that the conclusion previously named; absent if unchanged.
    pub answers: Option<Vec<BoundAnswer>>,
    /// The points that the conclusion previously listed as not covered; absent if unchanged.
    pub not_covered: Option<Vec<String>>,
    /// The places of the previous text, as they were when it was written; absent if unchanged.
    pub references: Option<Vec<Citation>>,
}

/// An answer that the conclusion names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoundAnswer {
    /// The node.
    #[schemars(rename = "nodeId")]
    pub id: NodeId,
    /// The role of the answer in the conclusion.
    #[serde(rename = "as")]
    pub role: BoundAs,
}

/// The role of an answer in a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BoundAs {
    /// The answer is the conclusion.
    Main,
    /// The answer is one of several parts of the conclusion.
    Part,
    /// The answer is a possible alternative to the conclusion.
    Rival,
}

/// The conclusion of an investigation, as stored by `tot_end`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conclusion {
    /// The time at which the investigation ended.
    pub ended_at: Timestamp,
    /// The agent that ended the investigation.
    pub agent_id: Option<String>,
    /// The client that ended the investigation.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
    /// True for a draft, which ends nothing. The time and the author are those of the draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// The draft that the end accepted.
    pub drafted: Option<Drafted>,
    /// The reason for stopping early, if required steps were missing.
    pub stopped: Option<Stopped>,
    /// The person's response, if the server had to ask whether the investigation may end.
    pub asked: Option<Asked>,
    /// The time at which the conclusion was added, if the investigation had already ended.
    pub concluded_at: Option<Timestamp>,
    /// What to do, or what is so, in one or two sentences, for somebody who reads nothing else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bottom_line: String,
    /// The conclusion in Markdown.
    pub conclusion: Option<String>,
    /// The answers that the conclusion names. Files written by older versions name no answers; a single answer then
    /// counts as named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<BoundAnswer>,
    /// The points that the conclusion does not cover, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// The places in the project that are sources of the bottom line and the conclusion, as they were when that was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Citation>,
    /// Other conclusions for the same investigation, added by merges, oldest first. They have no other conclusions
    /// themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "stored::other_conclusions")]
    pub other_conclusions: Vec<Conclusion>,
    /// All later changes to the conclusion, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<AmendedConclusion>,
    /// The call that reopened the investigation, if one did. The conclusion is then no longer in force.
    pub reopened: Option<Reopening>,
}

/// The draft of a conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Drafted {
    /// The time of the draft.
    pub at: Timestamp,
    /// The agent that wrote it.
    pub agent_id: Option<String>,
    /// The client that sent it.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
}

/// The state change or the proposal that reopened an investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reopening {
    /// The time of the call.
    pub at: Timestamp,
    /// The agent that requested it.
    pub agent_id: Option<String>,
    /// The client that sent it.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
    /// The reason.
    pub reason: Option<String>,
}

/// The reason for ending an investigation before its rules were met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stopped {
    /// The kind of reason.
    pub reason: StopReason,
    /// A note on the reason.
    pub note: Option<String>,
}

/// The result of asking the person at the client whether the investigation may end. It is not a sign-off, because a
/// client can report any answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    /// The person's choice.
    pub answer: PersonsAnswer,
    /// A comment in the person's own words.
    pub said: Option<String>,
}

/// The person's choice, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PersonsAnswer {
    /// The person agreed to end the investigation.
    Accepted,
    /// The person, or the client on its own, declined. No file stores this answer, since the investigation continues.
    Declined,
    /// The question was dismissed, or the answer was unclear. Only older files store this answer.
    Cancelled,
    /// The person did not answer in time.
    Unanswered,
    /// The client can't ask questions.
    NotOffered,
}

/// The kind of reason for stopping early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// No time, money or calls remained.
    Budget,
    /// The findings were sufficient for the person who asked the question.
    Enough,
    /// No step could make progress.
    Stuck,
}

/// The heading of a draft on every surface.
pub const DRAFT: &str = "Draft of the report";

impl Drafted {
    /// Returns when and by whom a draft was written.
    pub fn of(draft: &Conclusion) -> Drafted {
        Drafted { at: draft.ended_at, agent_id: draft.agent_id.clone(), caller: draft.caller.clone() }
    }
}

impl Reopening {
    /// Formats the reopening as `Reopened 2026-11-21T09:15:02.114Z by ann: Because of the log`.
    pub fn line(&self) -> String {
        let by = self.caller.by_line(self.agent_id.as_deref());
        let by = if by.is_empty() { by } else { format!(" {by}") };
        let why = self
            .reason
            .as_deref()
            .map(|why| format!(": {}", one_line(why).trim_end_matches('.')))
            .unwrap_or_default();
        format!("Reopened {}{by}{why}", self.at)
    }
}

/// Joins the texts that are there, with blank lines between them.
fn paragraphs(texts: [Option<&str>; 2]) -> String {
    texts.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

impl AmendedConclusion {
    /// Returns the changed ones of the previous bottom line and the previous conclusion, in Markdown.
    pub fn report(&self) -> String {
        paragraphs([self.bottom_line.as_deref(), self.conclusion.as_deref()])
    }

    /// Returns the author for display.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// Returns the keys of the changed parts.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("bottomLine", self.bottom_line.is_some()),
            ("conclusion", self.conclusion.is_some()),
            ("answers", self.answers.is_some()),
            ("notCovered", self.not_covered.is_some()),
        ];
        parts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name)
    }

    /// Swaps the text with the conclusion's. Afterwards, the amendment contains only the previous text of the changed
    /// parts.
    pub fn exchange(&mut self, end: &mut Conclusion) {
        self.swap(end);
        self.answers.take_if(|held| *held == end.answers);
        self.not_covered.take_if(|held| *held == end.not_covered);
        self.bottom_line.take_if(|held| *held == end.bottom_line);
        self.conclusion.take_if(|held| end.conclusion.as_ref() == Some(held));
    }

    /// Swaps all text with the conclusion's, whether changed or not. A second call restores both.
    pub fn swap(&mut self, end: &mut Conclusion) {
        swap(&mut self.answers, &mut end.answers);
        swap(&mut self.not_covered, &mut end.not_covered);
        swap(&mut self.bottom_line, &mut end.bottom_line);
        swap(&mut self.references, &mut end.references);
        if let Some(text) = &mut end.conclusion {
            swap(&mut self.conclusion, text);
        }
    }
}

impl BoundAs {
    /// Returns the label shown before the answer.
    pub fn label(self) -> &'static str {
        match self {
            BoundAs::Main => "answer",
            BoundAs::Part => "part of the answer",
            BoundAs::Rival => "also possible",
        }
    }
}

impl StopReason {
    /// Returns the reason, worded for the end of a sentence.
    pub fn label(self) -> &'static str {
        match self {
            StopReason::Budget => "the budget was spent",
            StopReason::Enough => "what was found is enough",
            StopReason::Stuck => "nothing led on",
        }
    }
}

impl PersonsAnswer {
    /// Returns the answer, worded for the beginning of a sentence.
    pub fn label(self) -> &'static str {
        match self {
            PersonsAnswer::Accepted => "accepted",
            PersonsAnswer::Declined => "declined",
            PersonsAnswer::Cancelled => "asked, and nobody chose",
            PersonsAnswer::Unanswered => "asked, and nobody answered in time",
            PersonsAnswer::NotOffered => "nobody was asked: the client has no way to",
        }
    }
}

impl Conclusion {
    /// Returns the bottom line and the conclusion, in Markdown. Empty if neither was given.
    pub fn report(&self) -> String {
        paragraphs([Some(self.bottom_line.as_str()), self.conclusion.as_deref()])
    }

    /// Returns the report as the findings of a node, so that what counts for a node's claim counts for the report: who wrote
    /// it, who corrected it, who saw it. Whoever accepted a draft as it was wrote none of it. The answers have verdicts of
    /// their own. `None` without a text.
    pub fn as_node(&self) -> Option<Node> {
        let Drafted { at, agent_id, caller } = self.drafted.clone().unwrap_or_else(|| Drafted::of(self));
        let amended = self.amended.iter().map(|it| Amendment {
            at: it.at,
            agent_id: it.agent_id.clone(),
            caller: it.caller.clone(),
            correction: it.correction,
            title: it.bottom_line.clone(),
            findings: it.conclusion.clone(),
            caveats: it.not_covered.clone(),
            ..Amendment::default()
        });
        let findings = self.conclusion.clone()?;
        let result = Classification {
            agent_id,
            caller,
            caveats: self.not_covered.clone(),
            amended: amended.filter(|it| it.parts().next().is_some()).collect(),
            ..Classification::new("REPORT".parse().ok()?, findings, at)
        };
        let node = Node::new("R1.A".parse().ok()?, None, self.bottom_line.clone(), at);
        Some(Node { classification: Some(result), ..node })
    }

    /// Returns the recorded states of the project files that are sources of the report.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.references.iter().filter_map(|cited| cited.pinned.as_ref())
    }

    /// Returns the author for display.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// Returns the amendment that wrote the conclusion as it is. `None` if an end or a draft did.
    pub fn amendment(&self) -> Option<&AmendedConclusion> {
        self.amended.last().filter(|last| last.at > self.ended_at)
    }

    /// Returns the time of the last change.
    pub fn last_change(&self) -> Timestamp {
        self.amended.last().map_or(self.concluded_at.unwrap_or(self.ended_at), |last| last.at)
    }

    /// Returns the conclusion that counts with the others attached: an end that no research followed, else a draft, else the
    /// first end. `researched` is the time of the last research.
    pub(super) fn ranked(mut self, researched: Option<Timestamp>) -> Conclusion {
        let mut ends = std::mem::take(&mut self.other_conclusions);
        ends.insert(0, self);
        let is_over = |end: &Conclusion| {
            end.reopened.is_some() || !end.draft && researched.is_some_and(|at| at > end.ended_at)
        };
        ends.sort_by_key(|end| (is_over(end), end.draft));
        let first = ends.remove(0);
        Conclusion { other_conclusions: ends, ..first }
    }

    /// Returns the callers that wrote a part of the file, each with the time at which that part was written.
    pub fn written_by(&self) -> impl Iterator<Item = (Timestamp, &Caller)> {
        std::iter::once(self).chain(&self.other_conclusions).flat_map(|end| {
            let amended = end.amended.iter().map(|it| (it.at, &it.caller));
            let drafted = end.drafted.iter().map(|it| (it.at, &it.caller));
            std::iter::once((end.ended_at, &end.caller)).chain(drafted).chain(amended)
        })
    }

    /// Calls `visit` with a mutable reference to each caller in [`Conclusion::written_by`].
    pub fn visit_callers(&mut self, mut visit: impl FnMut(Timestamp, &mut Caller)) {
        let mut of = |end: &mut Conclusion| {
            visit(end.ended_at, &mut end.caller);
            end.drafted.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
            end.amended.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
        };
        of(self);
        self.other_conclusions.iter_mut().for_each(of);
    }

    /// Calls `visit` with each id of a node.
    pub fn visit_ids(&mut self, visit: &mut impl FnMut(&mut NodeId)) {
        let former = self.amended.iter_mut().flat_map(|it| &mut it.answers).flatten();
        self.answers.iter_mut().chain(former).for_each(|answer| visit(&mut answer.id));
        self.other_conclusions.iter_mut().for_each(|other| other.visit_ids(visit));
    }

    /// Creates a conclusion without any text.
    pub fn new(ended_at: Timestamp) -> Self {
        Conclusion { ended_at, ..Conclusion::default() }
    }
}
