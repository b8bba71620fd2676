//! The results of the calls that write, as tools reply them and commands print them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{NAMED, Replied, ReplyFields, TransitionEntry, figures, pending, summary};
use crate::assess::{self, Assessment};
use crate::decide::Decision;
use crate::decide::blockers::ended_confirmations;
use crate::decide::quality::quality;
use crate::decide::references::{CitedSource, cited};
use crate::decide::start::Start;
use crate::decide::{comment, commit};
use crate::domain::wording::command;
use crate::domain::{Caller, Code, Comment, CommentKind, Event, Meta, Node, NodeId, PersonsAnswer, Wording};
use crate::fields::NO_SIGN_OFF;
use crate::json::{BoundJson, NodeIdJson, VerdictJson};
use crate::markdown;
use crate::ruleset::instructions::instructions_after_general;
use crate::service::{Loaded, Service, Written, signoff};
use crate::store::Snapshot;
use crate::text::{one_line, shorten};

/// The new investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartBody {
    /// The id for all other calls. Any unique prefix or suffix of at least 4 characters works.
    pub session_id: String,
    /// The method.
    pub ruleset: String,
    /// The mode.
    pub mode: String,
    /// The number of rounds required before the investigation can end.
    pub min_rounds: u32,
    /// True if terminal states are accepted in early rounds.
    pub allow_early_terminal: bool,
    /// The number of roots required in the first proposal.
    pub min_roots: u32,
    /// The folder of the git repository.
    pub repository: String,
    /// The earlier investigations that the question is related to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<RelatedEntry>,
    /// The method's instructions, in Markdown, without what the server's own instructions say.
    pub instructions: String,
}

/// An earlier investigation that a question is related to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedEntry {
    /// The investigation.
    pub session_id: String,
    /// The title.
    pub title: String,
    /// The bottom line, if there is one.
    pub bottom_line: Option<String>,
    /// The beginning of the verdict's sentence.
    pub verdict: String,
}

/// Returns the investigations most closely related to an investigation's question, except itself. An unreadable one is left
/// out.
fn related(service: &Service, meta: &Meta) -> Vec<RelatedEntry> {
    let folders = service.store().related_to(&format!("{}\n{}", meta.title, meta.query));
    let snapshots = folders.iter().filter_map(|path| service.store().load(path).ok());
    let others = snapshots.filter(|other| other.investigation.meta().id != meta.id);
    let entry = |other: Snapshot| {
        let inputs = service.inputs(&other.investigation);
        let assessment = Assessment::new(&other.investigation, other.rules()).with_inputs(inputs.as_ref());
        let meta = other.investigation.meta();
        RelatedEntry {
            session_id: meta.id.to_string(),
            title: shorten(&one_line(&meta.title), RELATED_TITLE),
            bottom_line: assessment.bottom_line(),
            verdict: assessment.in_short_now(),
        }
    };
    others.take(NAMED).map(entry).collect()
}

/// The maximum length of the title of a related investigation, in characters.
const RELATED_TITLE: usize = 120;

impl StartBody {
    /// Describes the new investigation.
    pub fn of(service: &Service, loaded: &Loaded) -> Self {
        let meta = loaded.investigation().meta();
        let path = &loaded.snapshot.path;
        let repository = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        StartBody {
            session_id: meta.id.to_string(),
            ruleset: meta.ruleset.clone(),
            mode: meta.mode.clone(),
            min_rounds: meta.min_rounds,
            allow_early_terminal: meta.allow_early_terminal,
            min_roots: meta.min_roots,
            repository: repository.display().to_string(),
            related: related(service, meta),
            instructions: instructions_after_general(&service.rules(loaded)),
        }
    }
}

/// Starts an investigation. The fields of the reply leave out what the instructions say.
///
/// # Errors
///
/// Returns the same errors as [`Service::start`].
pub fn start(
    service: &Service,
    ruleset: Option<&str>,
    request: Start,
    caller: &Caller,
) -> Replied<StartBody> {
    let (loaded, warnings) = service.start(ruleset, request, caller)?;
    let mut shared = ReplyFields::done(&loaded, Some(loaded.snapshot.head), &warnings);
    let body = StartBody::of(service, &loaded);
    if !body.related.is_empty() {
        let how = Wording::both("tot_status shows", "`tot show` shows");
        shared.message.notes.push(how.map(|how| {
            format!("Read first what `related` already answers: {how} an earlier investigation.")
        }));
    }
    Ok((ReplyFields { owed: Vec::new(), ..shared }, body))
}

/// The result of a proposal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposeBody {
    /// The ids of the proposed nodes.
    pub approved_nodes: Vec<String>,
    /// The ids of the withdrawn nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
}

/// The advice that accompanies a proposal.
#[derive(Serialize)]
pub struct ProposeAdvice {
    /// All proposed nodes without a result.
    pub pending: Vec<String>,
}

/// Describes stored proposals.
pub fn proposed(written: &Written) -> (ReplyFields, ProposeBody, ProposeAdvice) {
    let (approved, withdrawn) = match &written.decision.event {
        Some(Event::Proposed { nodes, withdrawn, .. }) => (nodes.as_slice(), withdrawn.as_slice()),
        _ => Default::default(),
    };
    let body = ProposeBody {
        approved_nodes: approved.iter().map(|node| node.id.to_string()).collect(),
        withdrawn: withdrawn.iter().map(|node| node.id.to_string()).collect(),
    };
    let advice = ProposeAdvice { pending: pending(written.loaded.investigation()) };
    let mut shared = ReplyFields::written(written);
    // `pending` already lists these nodes.
    shared.owed.retain(|debt| debt.code != Code::PendingProposals);
    (shared, body, advice)
}

/// The outcome of storing a batch of results.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredResults {
    /// The stored nodes.
    pub committed: Vec<StoredNode>,
    /// The nodes whose results were not stored. The warnings give the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<String>,
    /// The parents whose state the results changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionEntry>,
}

/// A stored node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredNode {
    /// The node's id.
    pub node_id: String,
    /// The node's current state.
    pub state: String,
    /// The requested state, if a different state was stored.
    pub requested_state: Option<String>,
}

impl StoredResults {
    /// Returns the outcome of storing results.
    pub fn of(decision: &Decision) -> Self {
        let (nodes, transitions) = match &decision.event {
            Some(Event::Committed { nodes, transitions, .. }) => (nodes.as_slice(), transitions.as_slice()),
            _ => Default::default(),
        };
        let left_out = decision.warnings.iter().filter(|warning| commit::is_left_out(warning));
        let mut rejected: Vec<String> = left_out.filter_map(|warning| warning.node.clone()).collect();
        rejected.dedup();
        StoredResults {
            committed: nodes.iter().filter_map(|node| committed(node)).collect(),
            rejected,
            transitions: transitions.iter().map(Into::into).collect(),
        }
    }

    /// Says which results were not stored.
    pub fn not_stored(&self) -> Option<Wording> {
        (!self.rejected.is_empty()).then(|| format!("Not stored: {}.", self.rejected.join(", ")).into())
    }
}

/// Describes a stored node. Returns `None` if the node has no result.
fn committed(node: &Node) -> Option<StoredNode> {
    let classification = node.classification.as_ref()?;
    let newest = classification.newest();
    let state = classification.current_state();
    // If another agent's result is also stored, the newest result's own state is reported too.
    let requested = newest
        .requested_state
        .as_ref()
        .or(Some(&newest.state).filter(|own| !classification.other_results.is_empty() && *own != state));
    Some(StoredNode {
        node_id: node.id.to_string(),
        state: state.to_string(),
        requested_state: requested.map(ToString::to_string),
    })
}

/// The result of a state change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReclassifyBody {
    /// The node's id.
    pub node_id: String,
    /// The node's previous state.
    pub previous_state: Option<String>,
    /// The node's current state.
    pub new_state: Option<String>,
    /// The parents whose state also changed as a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionEntry>,
}

/// Describes a change of state.
pub fn reclassified(written: &Written, node_id: String) -> (ReplyFields, ReclassifyBody) {
    let node_id = shown(written, node_id);
    let mut shared = ReplyFields::written(written);
    let (previous_state, new_state, transitions) = match &written.decision.event {
        Some(Event::Reclassified { transition, transitions, .. }) => (
            Some(transition.from.to_string()),
            Some(transition.to.to_string()),
            transitions.iter().map(Into::into).collect(),
        ),
        _ => {
            let node = written.before.find(&node_id).ok();
            let state = node.and_then(|node| node.state().map(ToString::to_string));
            let note = format!("{node_id} already has that state; nothing was written.");
            shared.message.notes.insert(0, note.into());
            (state.clone(), state, Vec::new())
        }
    };
    let (rules, investigation) = (written.loaded.rules(), written.loaded.investigation());
    let node = investigation.find(&node_id).ok();
    let node = node.filter(|node| rules.taken_back(investigation, node).is_some());
    if let Some(parent) = node.and_then(|node| node.parent.as_ref()) {
        let note = format!(
            "{node_id} still refutes {parent}: whoever wrote {parent} does not take that back. Its refuter can, or anybody in \
             another session."
        );
        shared.message.notes.insert(0, note.into());
    }
    (shared, ReclassifyBody { node_id, previous_state, new_state, transitions })
}

/// Returns the id of the node that the call named, as replies show it.
fn shown(written: &Written, name: String) -> String {
    written.before.find(&name).map(|node| node.id.to_string()).unwrap_or(name)
}

/// The outcome of a correction.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AmendBody {
    /// The node's id; absent if the conclusion was amended.
    pub node_id: Option<String>,
    /// The names of the changed fields.
    pub amended: Vec<&'static str>,
}

/// Describes a change of texts. `named` is the node and the correction that the call named.
pub fn amended(
    written: &Written,
    (node, correction): (Option<String>, Option<String>),
) -> (ReplyFields, AmendBody) {
    let correction = correction.and_then(|id| {
        let is_correction = |it: &Comment, is_named| is_named && it.kind == CommentKind::Correction;
        comment::find(&written.before, &id, "correction", is_correction).ok()
    });
    let node = node.or(correction.and_then(|it| it.node.as_ref()).map(ToString::to_string));
    let node_id = node.filter(|id| !id.trim().is_empty()).map(|id| shown(written, id));
    let mut shared = ReplyFields::written(written);
    let amended = match &written.decision.event {
        Some(Event::Amended { node }) => {
            shared.message.notes.splice(0..0, told_ended(written, node));
            let last = node.classification.as_ref().and_then(|it| it.amended.last());
            last.map_or_else(Vec::new, |amendment| amendment.parts().collect())
        }
        Some(Event::Ended { conclusion }) if conclusion.draft => vec!["draft"],
        Some(_) => {
            let id = written.loaded.investigation().meta().id.to_string();
            let approve = command("tot approve", Some(&id), "");
            let note = format!(
                "Confirmations of the answers remain valid. An approval of the earlier conclusion lapses: a person renews it with \
                 `{approve}`."
            );
            shared.message.notes.insert(0, note.into());
            vec!["conclusion"]
        }
        None => {
            let what = node_id.as_deref().unwrap_or("The conclusion");
            let note = format!("{what} already says that; nothing was written.");
            shared.message.notes.insert(0, note.into());
            Vec::new()
        }
    };
    (shared, AmendBody { node_id, amended })
}

/// Says which confirmations of a node, or by it, an amendment ends, and who can renew them. Says nothing if none counted.
fn told_ended(written: &Written, node: &Node) -> Option<Wording> {
    let (rules, after) = (written.loaded.rules(), written.loaded.investigation());
    let ended = ended_confirmations(&written.before, after, &rules, node)?;
    let renew = |id: &NodeId| {
        let by = after.node(id)?.classification.as_ref()?.who().unwrap_or_else(|| "its author".to_owned());
        let by = one_line(&by);
        Some(match rules.may_renew(after, id) {
            true => Wording::both("tot_reclassify", "`tot amend --state`")
                .map(|call| format!("{id} by {by}, who renews it with {call} to the state that it has")),
            false => format!("{id} by {by}, who wrote a part of the answer and can't renew it").into(),
        })
    };
    let ended: Vec<Wording> = ended.iter().take(NAMED).filter_map(renew).collect();
    let joined = |part: fn(&Wording) -> &str| ended.iter().map(part).collect::<Vec<_>>().join("; ");
    match ended.is_empty() {
        true => Some("No confirmation ends.".into()),
        false => {
            let told = Wording::both(joined(Wording::agent), joined(Wording::person)).map(|ended| {
                format!(
                    "Confirmations ended: {ended}. Anybody who wrote no part of the answer can confirm it anew."
                )
            });
            let reopen = Wording::both("tot_propose with `reopen`", "`tot propose --reopen`")
                .map(|call| format!("To renew a confirmation, first reopen the investigation with {call}."));
            Some(if after.end_in_force().is_some() { reopen.then(&told) } else { told })
        }
    }
}

/// The maximum lengths of titles and source addresses in the reply, in characters.
const TITLE: usize = 120;
const TARGET: usize = 500;

/// The result of ending an investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndBody {
    /// The git tag for the ended investigation.
    pub tag: Option<String>,
    /// `ended` or `stoppedEarly`.
    pub outcome: assess::Outcome,
    /// The verdict on the investigation, in words.
    pub verdict: Option<Cow<'static, str>>,
    /// The whole verdict, as on the first page of a report.
    pub sentence: String,
    /// The answers that the conclusion rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<BoundJson>,
    /// The reply from the person at the client.
    pub asked: Option<PersonsReply>,
}

/// A person's reply when asked whether the investigation may end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonsReply {
    /// The person's choice.
    pub answer: PersonsAnswer,
    /// The person's comment.
    pub said: Option<String>,
    /// A note that the reply is not a sign-off.
    pub note: &'static str,
}

/// The results of the investigation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndAdvice {
    /// The answers that have not been refuted.
    pub answers: Vec<EndAnswer>,
    /// The ids of these answers, under the name that the conformance vectors of the method give them.
    pub solutions: Vec<NodeId>,
    /// The answers that a child refuted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<EndAnswer>,
    /// The answers that cannot be tested here.
    pub theories: Vec<NodeSummary>,
    /// The nodes that were ruled out.
    pub dead_ends: Vec<NodeIdJson>,
    /// The sources cited in the findings, in order of first mention.
    pub references: Vec<CitedSource>,
    /// The quality metrics.
    pub quality: Value,
}

/// An answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndAnswer {
    #[serde(flatten)]
    /// The node.
    pub node: NodeSummary,
    /// The verdict on the answer.
    pub verdict: VerdictJson,
}

/// A node with a summary of its findings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// The node's id.
    pub node_id: String,
    /// The node's title.
    pub title: String,
    /// The node's round.
    pub round: u32,
    /// The beginning of the node's findings.
    pub summary: String,
}

/// Describes an ended investigation.
pub fn ended(service: &Service, written: &Written) -> (ReplyFields, EndBody, EndAdvice) {
    let loaded = &written.loaded;
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let assessment = loaded.assessment();
    let mentions = |node: &Node| {
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        markdown::references(findings)
    };
    let asked = investigation.conclusion().and_then(|end| end.asked.clone());
    let asked = asked.map(|asked| PersonsReply { answer: asked.answer, said: asked.said, note: NO_SIGN_OFF });
    let body = EndBody {
        tag: written.tag.clone(),
        outcome: assessment.outcome,
        verdict: assessment.words(),
        sentence: assessment.sentence(&signoff::looked_up(service.store(), &loaded.snapshot, false).signed()),
        rests_on: BoundJson::all(&assessment),
        asked,
    };
    let advice = EndAdvice {
        answers: assessment.answers.iter().map(|it| EndAnswer::of(&assessment, it)).collect(),
        solutions: assessment.answers.iter().map(|it| it.node.id.clone()).collect(),
        refuted: assessment.refuted.iter().map(|it| EndAnswer::of(&assessment, it)).collect(),
        theories: assessment.theories.iter().map(|node| NodeSummary::of(node)).collect(),
        dead_ends: assessment.dead_ends.iter().map(|node| NodeIdJson { node_id: node.id.clone() }).collect(),
        references: cited(investigation, mentions).into_iter().map(shortened).collect(),
        quality: figures(&quality(investigation, &rules)),
    };
    (ReplyFields::written(written), body, advice)
}

fn shortened(source: CitedSource) -> CitedSource {
    CitedSource {
        target: shorten(&source.target, TARGET),
        title: source.title.map(|title| shorten(&title, TITLE)),
        ..source
    }
}

impl EndAnswer {
    fn of(assessment: &Assessment<'_>, answer: &assess::Answer<'_>) -> Self {
        EndAnswer { node: NodeSummary::of(answer.node), verdict: VerdictJson::new(assessment, answer) }
    }
}

impl NodeSummary {
    fn of(node: &Node) -> Self {
        let findings = node.classification.as_ref().map_or("", |it| it.findings.as_str());
        NodeSummary {
            node_id: node.id.to_string(),
            title: shorten(node.name(), TITLE),
            round: node.round(),
            summary: summary(findings),
        }
    }
}
