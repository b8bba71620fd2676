//! What a call replies, for agents and people: the fields of all replies here, the results of each call in `results`.
//! Values that are sent in full (diagnostics, references, quality metrics) serialize themselves. Parts that are shortened,
//! joined or reduced have their own types here.

pub(crate) mod plan;
mod results;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::decide::blockers::{Weakened, weakened};
use crate::decide::next::{NextStep, Outlook, Plan, outlook};
use crate::decide::quality::Quality;
use crate::domain::{
    AttachmentName, Code, CommentKind, Diagnostic, Event, Investigation, Node, NodeId, SessionId, Transition,
    Wording,
};
use crate::format::layout;
use crate::json::present;
use crate::markdown;
use crate::ruleset::rules::shortened;
use crate::service::{Loaded, Refusal, Service, Written};
use crate::store::{CommitId, Snapshot};
use crate::text::counted;

pub use results::*;

/// The reply to a call, or its refusal.
pub type Replied<B> = Result<(ReplyFields, B), Refusal>;

/// A result with its advice, as one result.
#[derive(Serialize)]
pub struct Advised<B, A> {
    /// The result.
    #[serde(flatten)]
    pub body: B,
    /// The advice.
    #[serde(flatten)]
    pub advice: A,
}

/// The maximum number of nodes to name in a message.
const NAMED: usize = 3;

/// The maximum length of a summary of findings, in characters.
const SUMMARY: usize = 300;

/// Indicates whether the call succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CallStatus {
    /// The call succeeded.
    Ok,
    /// The call was rejected, and nothing was written. The errors give the reasons.
    #[default]
    Rejected,
}

/// The fields common to all replies. Skipped fields are either added after the body, where they may be cut, or not
/// sent.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyFields {
    /// The investigation, for logging.
    #[serde(skip)]
    pub session: Option<SessionId>,
    /// Indicates whether the call succeeded.
    pub status: CallStatus,
    /// Notes on the call, and the next step.
    pub message: ReplyMessage,
    /// The reasons for a rejection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Diagnostic>,
    /// Warnings about a successful call. No later reply repeats them.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
    /// The git commit that was written, if any.
    pub commit: Option<String>,
    /// The highest round with a committed node.
    pub current_round: Option<u32>,
    /// True if a tot_end call would be accepted now. Absent if the call does not identify an investigation; false if
    /// the investigation does not exist.
    pub can_end: Option<bool>,
    /// All reasons why a tot_end call would be rejected now.
    #[serde(skip)]
    pub owed: Vec<BlockerEntry>,
    /// The graph, if it was requested or is small. It is always sent in full and does not reduce the room for other
    /// parts.
    #[serde(skip)]
    pub graph: Graph,
}

/// A reply's message, which is serialized as agents read it.
#[derive(Clone, Debug, Default)]
pub struct ReplyMessage {
    /// Notes on the call and its effects.
    pub notes: Vec<Wording>,
    /// The next step, if the message names one.
    pub next: Option<NextStep>,
}

impl ReplyMessage {
    /// Returns a message without a next step.
    pub fn note(text: impl Into<Wording>) -> ReplyMessage {
        ReplyMessage { notes: vec![text.into()], next: None }
    }

    /// Returns a message that only names the next step.
    pub fn next(step: NextStep) -> ReplyMessage {
        ReplyMessage { notes: Vec::new(), next: Some(step) }
    }
}

impl Serialize for ReplyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let next = self.next.as_ref().map(|next| next.wording(None));
        let parts: Vec<&str> = self.notes.iter().chain(&next).map(Wording::agent).collect();
        serializer.serialize_str(&parts.join(" "))
    }
}

/// A group of similar reasons why a tot_end call would be rejected.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockerEntry {
    /// The code shared by all reasons in the group.
    pub code: Code,
    /// The number of reasons, if more than one.
    pub count: Option<usize>,
    /// The first affected nodes, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_ids: Vec<String>,
    /// The first reason's message.
    pub message: Wording,
}

/// A change in a node's state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransitionEntry {
    /// The node that changed.
    pub node_id: String,
    /// The node's previous state.
    pub from: String,
    /// The node's current state, under the same key as in other replies.
    pub state: String,
    /// The child that caused the change, if any.
    pub by: Option<String>,
}

/// The form of the graph in a reply. `auto` is DOT for small graphs and a resource address for large ones; the other
/// forms ignore the size. The variants have no doc comments because five tools would repeat them.
#[expect(missing_docs, reason = "the descriptions would appear in the schemas of five tools")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum GraphForm {
    None,
    #[default]
    Auto,
    Dot,
    Mermaid,
    Json,
}

impl GraphForm {
    /// Returns the default form for tools that write.
    pub fn none() -> Self {
        GraphForm::None
    }
}

/// The graph in a reply, in the requested form.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    /// The graph as DOT.
    pub dot: Option<String>,
    /// The graph as DOT, in the reply to a tot_end call.
    pub final_dot: Option<String>,
    /// The graph as Mermaid.
    pub mermaid: Option<String>,
    /// The graph as nodes with their parents.
    pub graph: Option<Vec<GraphNode>>,
    /// The address of the graph resource, if the graph is too large for a reply.
    pub graph_resource: Option<String>,
}

/// A node in the graph.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// The node's id.
    pub node_id: String,
    /// The parent's id; absent for a root.
    pub parent: Option<String>,
    /// The node's state; absent while the node is only proposed.
    pub state: Option<String>,
    /// The node's title.
    pub title: String,
}

impl GraphNode {
    /// Returns the entry for a node.
    pub fn of(node: &Node) -> GraphNode {
        GraphNode {
            node_id: node.id.to_string(),
            parent: node.parent.as_ref().map(ToString::to_string),
            state: node.state().map(ToString::to_string),
            title: node.title.clone(),
        }
    }
}

/// A file attached to a node.
#[derive(Clone, Debug, Serialize)]
pub struct AttachmentEntry<'a> {
    name: &'a AttachmentName,
    bytes: u64,
    /// The path in the repository.
    path: String,
}

impl<'a> AttachmentEntry<'a> {
    /// Returns the files attached to a node.
    pub fn all(investigation: &'a Investigation, node: &NodeId) -> Vec<Self> {
        let files = investigation.attachments_of(node).iter();
        files
            .map(|(name, bytes)| AttachmentEntry {
                name,
                bytes: *bytes,
                path: layout::attachment(node, name),
            })
            .collect()
    }
}

impl Service {
    /// Returns the fields of a reply and its result, if the call was accepted. Adds what every reply about an investigation
    /// reports: that its history moved. Rejections have no warnings, so they report it as an error. The first reply also warns
    /// about the root, and so do all replies that are about it.
    pub fn replied<T>(
        &self,
        outcome: Result<(ReplyFields, T), Refusal>,
        is_about_root: bool,
    ) -> (ReplyFields, Option<T>) {
        let (mut shared, result) = match outcome {
            Ok((shared, result)) => (shared, Some(result)),
            Err(refusal) => (ReplyFields::refused(&refusal), None),
        };
        let moves = shared.session.map(|session| self.moves(session)).unwrap_or_default();
        match result {
            Some(_) => {
                let first = moves.into_iter().chain(self.root_note(is_about_root));
                shared.warnings.splice(0..0, first);
            }
            None => shared.errors.extend(moves),
        }
        (shared, result)
    }
}

impl ReplyFields {
    /// Returns the fields for a successful call. The message names the next legal step.
    pub fn done(loaded: &Loaded, commit: Option<CommitId>, warnings: &[Diagnostic]) -> ReplyFields {
        let outlook = outlook(loaded.investigation(), &loaded.rules());
        ReplyFields::loaded(loaded, &outlook).acted(commit, warnings)
    }

    /// Returns the fields for a successful call of the agent that the plan is for. The steps that it still requires are left
    /// out if the next call is one of them; tot_status lists them.
    pub fn planned(
        loaded: &Loaded,
        plan: &Plan,
        commit: Option<CommitId>,
        warnings: &[Diagnostic],
    ) -> ReplyFields {
        let mut shared = ReplyFields::loaded(loaded, &plan.outlook);
        shared.owed.retain(|_| plan.outlook.next_step.call().is_none());
        shared.acted(commit, warnings)
    }

    /// Adds the commit that a call wrote, if any, and its warnings.
    fn acted(self, commit: Option<CommitId>, warnings: &[Diagnostic]) -> ReplyFields {
        let mut warnings = warnings.to_vec();
        let mut told = HashSet::new();
        for warning in &mut warnings {
            warning.suggestion.take_if(|suggestion| !told.insert(suggestion.clone()));
        }
        ReplyFields { warnings, commit: commit.map(|commit| commit.to_string()), ..self }
    }

    /// Returns the fields for a call that only reads.
    pub fn loaded(loaded: &Loaded, outlook: &Outlook) -> ReplyFields {
        let investigation = loaded.investigation();
        ReplyFields {
            session: Some(investigation.meta().id),
            status: CallStatus::Ok,
            message: ReplyMessage::next(outlook.next_step.clone()),
            current_round: Some(investigation.current_round()),
            can_end: Some(outlook.blockers.is_empty()),
            owed: blocker_entries(&outlook.blockers, outlook.lacking),
            ..ReplyFields::default()
        }
    }

    /// Returns the fields for a call that does not concern a single investigation.
    pub fn apart(message: String) -> ReplyFields {
        ReplyFields {
            status: CallStatus::Ok,
            message: ReplyMessage::note(message),
            can_end: Some(false),
            ..ReplyFields::default()
        }
    }

    /// Returns the fields for a successful write.
    pub fn written(written: &Written) -> ReplyFields {
        let shared = ReplyFields::done(&written.loaded, written.commit(), &written.decision.warnings);
        match &written.decision.event {
            Some(Event::Commented { comment }) if comment.kind == CommentKind::Correction => {
                shared.after_correction(&written.before, &written.loaded)
            }
            _ => shared.after_what_changed(&written.before, &written.loaded),
        }
    }

    /// Prepends to the message what an open correction means for the answers that its author has confirmed.
    fn after_correction(mut self, before: &Investigation, loaded: &Loaded) -> ReplyFields {
        let Weakened { unconfirmed, .. } = weakened(before, loaded.investigation(), &loaded.rules());
        if !unconfirmed.is_empty() {
            let named = shortened(&unconfirmed, NAMED);
            let note = format!(
                "Your confirmation of {named} waits. If the correction is accepted, you are one of its authors, and somebody \
                 else has to check it; if it is declined, your confirmation counts again."
            );
            self.message.notes.insert(0, note.into());
        }
        self
    }

    /// Prepends to the message a note on how the call affected answers that it did not name.
    pub fn after_what_changed(mut self, before: &Investigation, loaded: &Loaded) -> ReplyFields {
        let Weakened { refuted, unconfirmed } = weakened(before, loaded.investigation(), &loaded.rules());
        let mut notes = Vec::new();
        if !refuted.is_empty() {
            notes.push(format!("Refuted now: {}.", shortened(&refuted, NAMED)).into());
        }
        if !unconfirmed.is_empty() {
            let how = Wording::both("tot_step proposes", "`tot propose --next` proposes");
            let named = shortened(&unconfirmed, NAMED);
            notes.push(how.map(|how| {
                format!("No longer confirmed: {named}. {how} a new check for another agent to carry out.")
            }));
        }
        self.message.notes.splice(0..0, notes);
        self
    }

    /// Returns the fields for a call that reads an investigation, even with unusable rules.
    pub fn seen(snapshot: &Snapshot) -> ReplyFields {
        let error = match Loaded::of(snapshot) {
            Ok(loaded) => return ReplyFields::done(&loaded, None, &[]),
            Err(error) => error,
        };
        ReplyFields {
            session: Some(snapshot.investigation.meta().id),
            status: CallStatus::Ok,
            message: ReplyMessage::note(error.text()),
            current_round: Some(snapshot.investigation.current_round()),
            can_end: Some(false),
            owed: blocker_entries(std::slice::from_ref(&error), 0),
            warnings: vec![error],
            ..ReplyFields::default()
        }
    }

    /// Returns the fields for a refused call.
    pub fn refused(refusal: &Refusal) -> ReplyFields {
        let loaded = refusal.loaded.as_ref();
        let can_end = |it: &Loaded| outlook(it.investigation(), &it.rules()).blockers.is_empty();
        let unknown = refusal.errors.iter().any(|error| error.code == Code::SessionNotFound);
        ReplyFields {
            session: loaded.map(|it| it.investigation().meta().id),
            message: ReplyMessage::note("Nothing was written: fix the call as the errors say."),
            errors: each_once(refusal.errors.clone()),
            can_end: loaded.map(|it| can_end(it)).or(unknown.then_some(false)),
            ..ReplyFields::default()
        }
    }

    /// Returns the whole reply with this result as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is not valid JSON.
    pub fn whole(&self, result: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
        let mut reply = fields(self)?;
        reply.extend(fields(result)?);
        reply.extend(list("warnings", &self.warnings)?);
        reply.extend(list("owed", &self.owed)?);
        Ok(reply)
    }

    /// Returns whether the call was rejected.
    pub fn is_rejected(&self) -> bool {
        self.status == CallStatus::Rejected
    }
}

/// Groups the blockers by kind. `lacking` is the number of nodes that lack children, of which only some are among the blockers.
fn blocker_entries(blockers: &[Diagnostic], lacking: usize) -> Vec<BlockerEntry> {
    let mut by_code: Vec<Vec<&Diagnostic>> = Vec::new();
    for blocker in blockers {
        match by_code.iter_mut().find(|same| same[0].code == blocker.code) {
            Some(same) => same.push(blocker),
            None => by_code.push(vec![blocker]),
        }
    }
    let entry = |same: Vec<&Diagnostic>| {
        let number = if same[0].code == Code::InsufficientChildren { lacking } else { same.len() };
        let count = Some(number).filter(|count| *count > 1);
        // If only one node is affected, the message already names it.
        let nodes = same.iter().filter(|_| count.is_some()).filter_map(|blocker| blocker.node.clone());
        BlockerEntry {
            code: same[0].code.clone(),
            count,
            node_ids: nodes.take(3).collect(),
            message: same[0].message.clone(),
        }
    };
    by_code.into_iter().map(entry).collect()
}

/// Merges errors about the same mistake. The first error names the other places where the mistake occurs.
pub fn each_once(errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut each: Vec<(Diagnostic, String, Vec<String>, usize)> = Vec::new();
    for error in errors {
        let message = error.message.agent();
        let mut mistake =
            error.node.as_ref().map_or_else(|| message.to_owned(), |node| message.replace(node, ""));
        while let Some((from, to)) = index_in(&mistake) {
            mistake.replace_range(from..to, "");
        }
        let is_same = |(one, known, ..): &&mut (Diagnostic, String, Vec<String>, usize)| {
            (&one.code, &one.suggestion, known.as_str()) == (&error.code, &error.suggestion, mistake.as_str())
        };
        match each.iter_mut().find(is_same) {
            Some((_, _, nodes, more)) => {
                *more += 1;
                nodes.extend(error.node);
            }
            None => each.push((error, mistake, Vec::new(), 0)),
        }
    }
    let told = each.into_iter().map(|(mut error, _, nodes, more)| {
        let others = match (more, nodes.as_slice()) {
            (0, _) => String::new(),
            (_, []) => format!(", also in {}", counted(more, "more place")),
            (_, nodes) => format!(" The same applies to {}.", shortened(nodes, 10)),
        };
        error.message = error.message.map(|message| format!("{message}{others}"));
        error
    });
    told.collect()
}

/// Returns the range of the first index, such as `[2]` in `nodes[2].id`.
fn index_in(text: &str) -> Option<(usize, usize)> {
    text.match_indices('[').find_map(|(from, _)| {
        let length = text[from + 1..].find(']').filter(|length| *length > 0)?;
        let is_index = text[from + 1..from + 1 + length].bytes().all(|byte| byte.is_ascii_digit());
        is_index.then_some((from, from + length + 2))
    })
}

impl From<&Transition> for TransitionEntry {
    fn from(transition: &Transition) -> Self {
        TransitionEntry {
            node_id: transition.node.id.to_string(),
            from: transition.from.to_string(),
            state: transition.to.to_string(),
            by: transition.by.as_ref().map(ToString::to_string),
        }
    }
}

/// Returns the quality metrics, rounded to six digits to avoid values like 0.30000000000000004.
pub fn figures(quality: &Quality) -> Value {
    let mut figures = serde_json::to_value(quality).unwrap_or_default();
    for (_, figure) in figures.as_object_mut().into_iter().flatten().filter(|(_, figure)| figure.is_f64()) {
        *figure = figure.as_f64().map_or(Value::Null, |size| Value::from((size * 1e6).round() / 1e6));
    }
    figures
}

/// Returns the ids of the pending nodes.
pub fn pending(investigation: &Investigation) -> Vec<String> {
    investigation.pending().map(|node| node.id.to_string()).collect()
}

/// Returns the beginning of the findings.
pub fn summary(findings: &str) -> String {
    markdown::excerpt(findings, SUMMARY)
}

/// Returns a part of a reply as fields.
///
/// # Errors
///
/// Returns an error if the part is not valid JSON.
pub fn fields(part: &impl Serialize) -> serde_json::Result<Map<String, Value>> {
    match present(part)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// Returns the entries as a field, or no field if there are no entries.
///
/// # Errors
///
/// Returns an error if an entry is not valid JSON.
pub fn list(name: &str, entries: &[impl Serialize]) -> serde_json::Result<Map<String, Value>> {
    let field = (!entries.is_empty()).then(|| Ok((name.to_owned(), present(&entries)?)));
    field.into_iter().collect()
}

/// Returns the size of a value as sent, in bytes: as JSON inside a JSON string, with its quotes escaped.
pub fn sent(value: &impl Serialize) -> usize {
    let length = present(value).and_then(|value| serde_json::to_string(&value.to_string()));
    length.map_or(usize::MAX, |text| text.len() - 2)
}
