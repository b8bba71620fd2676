//! `investigation.json`: the facts of an investigation and what follows from them, for programs. All facts are in it, so
//! that `tot import` makes the same investigation of it.

use serde::Serialize;

use super::history::verb_of;
use super::references::Reference;
use super::{ReportError, ReportInput};
use crate::decide::quality::{Quality, quality};
use crate::decide::standing;
use crate::domain::{Caller, Comment, Node, NodeId, PersonsAnswer, StopReason};
use crate::format::attachment_entry::AttachmentEntry;
use crate::ruleset::Role;
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::rules::verification::Grade;
use crate::signoff::SignOffView;
use crate::view::{AmendedConclusionView, NodeView};

/// The version of the file's form.
const VERSION: u32 = 1;

/// The file of an input; `path` is where it will stand.
pub(super) fn file(
    input: &ReportInput,
    references: &[Reference],
    path: &str,
) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(&document(input, references))
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: u32,
    meta: Meta,
    /// The text of the ruleset in force; absent where it can't be used.
    ruleset_file: Option<&'a str>,
    conclusion: Option<Conclusion<'a>>,
    faults: Vec<String>,
    solutions: Vec<Solution>,
    refuted: Vec<Refuted>,
    theories: Vec<String>,
    dead_ends: Vec<String>,
    blockers: Vec<Blocker>,
    quality: Option<Quality>,
    nodes: Vec<NodeView<'a>>,
    /// What was said, the oldest first.
    comments: Vec<&'a Comment>,
    /// What stands beside the nodes.
    attachments: Vec<AttachmentEntry>,
    /// How many more there was no room for.
    #[serde(skip_serializing_if = "is_zero")]
    attachments_left_out: usize,
    /// The objections that nobody has resolved.
    open_objections: Vec<String>,
    references: Vec<ReferenceData>,
    commits: Vec<Commit>,
    /// Each with what it was worth when the file was made.
    sign_offs: Vec<SignOffView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    id: String,
    title: String,
    query: String,
    context: Option<String>,
    ruleset: String,
    mode: String,
    min_rounds: u32,
    min_roots: u32,
    allow_early_terminal: bool,
    started_at: String,
    current_round: u32,
    head: String,
    ended: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Conclusion<'a> {
    ended_at: String,
    agent_id: Option<String>,
    by: Option<Caller>,
    stopped: Option<Stopped>,
    asked: Option<Asked>,
    concluded_at: Option<String>,
    conclusion: Option<String>,
    amended: Vec<AmendedConclusionView<'a>>,
    /// Ends of others, before a merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_conclusions: Vec<Conclusion<'a>>,
}

impl<'a> Conclusion<'a> {
    fn of(end: &'a crate::domain::Conclusion) -> Self {
        Conclusion {
            ended_at: end.ended_at.to_string(),
            agent_id: end.agent_id.clone(),
            by: (!end.caller.is_unknown()).then(|| end.caller.clone()),
            stopped: end.stopped.as_ref().map(|it| Stopped { reason: it.reason, note: it.note.clone() }),
            asked: end.asked.as_ref().map(|it| Asked { answer: it.answer, said: it.said.clone() }),
            concluded_at: end.concluded_at.map(|at| at.to_string()),
            conclusion: end.conclusion.clone(),
            amended: end.amended.iter().map(AmendedConclusionView::new).collect(),
            other_conclusions: end.other_conclusions.iter().map(Conclusion::of).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stopped {
    reason: StopReason,
    note: Option<String>,
}

/// What a person said through the client, which is not a sign-off.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    answer: PersonsAnswer,
    said: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Solution {
    node: String,
    /// Whether another than who found it confirms it.
    verified: bool,
    /// How well.
    confirmation: Grade,
    /// What confirms it, the surest first.
    verified_by: Vec<String>,
    /// The open objections to what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contested_by: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refuted {
    node: String,
    refuted_by: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blocker {
    code: String,
    node: Option<String>,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceData {
    target: String,
    kind: &'static str,
    title: Option<String>,
    cited_by: Vec<Citation>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Citation {
    node: String,
    lines: Vec<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    commit: String,
    parents: Vec<String>,
    at: String,
    author: String,
    message: String,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
    changes: Vec<ChangeOf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeOf {
    what: &'static str,
    node: Option<String>,
}

fn document<'a>(input: &'a ReportInput, references: &[Reference]) -> Document<'a> {
    let snapshot = &input.snapshot;
    let investigation = snapshot.investigation.as_ref();
    let rules = snapshot.rules();
    let meta = investigation.meta();
    let open: Vec<Objection> = objections::open(investigation);
    let with_role = |role| -> Vec<&Node> {
        let is = |(node, state)| (rules?.role(state) == role).then_some(node);
        investigation.committed().filter_map(|(node, state)| is((node.as_ref(), state))).collect()
    };
    let is_dead_end =
        |node: &Node| rules.zip(node.state()).is_some_and(|(rules, state)| rules.is_dead_end(state));
    let ids = |nodes: Vec<&Node>| nodes.into_iter().map(|node| node.id.to_string()).collect();
    let refuted_by = |node: &Node| rules.map_or_else(Vec::new, |rules| rules.refuted_by(investigation, node));
    let solution = |node: &Node| {
        let rules = rules.filter(|_| refuted_by(node).is_empty())?;
        let by: Vec<NodeId> = rules.confirming(investigation, node).into_iter().map(|it| it.node).collect();
        let confirmation = rules.grade(investigation, node);
        let verified = confirmation.is_confirmed();
        let against = rules.against(investigation, node, &open);
        let against: Vec<_> = against.iter().map(|objection| objection.comment.id).collect();
        Some(Solution {
            node: node.id.to_string(),
            verified,
            confirmation,
            verified_by: strings(&by),
            contested_by: strings(&against),
        })
    };
    let refuted = investigation.committed().filter_map(|(node, _)| {
        let by = refuted_by(node);
        (!by.is_empty()).then(|| Refuted { node: node.id.to_string(), refuted_by: strings(&by) })
    });
    let blockers = rules.map_or_else(Vec::new, |rules| standing::owed(investigation, &rules));
    Document {
        version: VERSION,
        meta: Meta {
            id: meta.id.to_string(),
            title: meta.title.clone(),
            query: meta.query.clone(),
            context: meta.context.clone(),
            ruleset: meta.ruleset.clone(),
            mode: meta.mode.clone(),
            min_rounds: meta.min_rounds,
            min_roots: meta.min_roots,
            allow_early_terminal: meta.allow_early_terminal,
            started_at: meta.started_at.to_string(),
            current_round: investigation.current_round(),
            head: snapshot.head.to_string(),
            ended: investigation.conclusion().is_some(),
        },
        ruleset_file: snapshot.ruleset.as_ref().ok().map(|file| file.text.as_str()),
        conclusion: investigation.conclusion().map(Conclusion::of),
        faults: strings(snapshot.all_faults()),
        solutions: with_role(Role::Solution).into_iter().filter_map(solution).collect(),
        refuted: refuted.collect(),
        theories: ids(with_role(Role::Theory)),
        dead_ends: ids(with_role(Role::DeadEnd).into_iter().filter(|node| is_dead_end(node)).collect()),
        blockers: blockers
            .into_iter()
            .map(|blocker| Blocker {
                code: blocker.code.to_string(),
                node: blocker.node,
                message: blocker.message,
            })
            .collect(),
        quality: rules.map(|rules| quality(investigation, &rules)),
        nodes: investigation.nodes().map(|node| NodeView::new(investigation, rules, node)).collect(),
        comments: investigation.comments().map(AsRef::as_ref).collect(),
        attachments: input.attachments.iter().map(AttachmentEntry::of).collect(),
        attachments_left_out: investigation.attachment_count().saturating_sub(input.attachments.len()),
        open_objections: open.iter().map(|objection| objection.comment.id.to_string()).collect(),
        references: references.iter().map(reference).collect(),
        commits: input
            .history
            .iter()
            .map(|entry| Commit {
                commit: entry.commit.to_string(),
                parents: strings(&entry.parents),
                at: entry.at.to_string(),
                author: entry.author_name.clone(),
                message: entry.message.clone(),
                tags: entry.tags.clone(),
                gaps: entry.gaps.clone(),
                changes: entry
                    .happenings
                    .iter()
                    .map(|happening| ChangeOf {
                        what: verb_of(happening).1,
                        node: happening.node_id().map(ToString::to_string),
                    })
                    .collect(),
            })
            .collect(),
        sign_offs: input.sign_offs.all.iter().map(SignOffView::from).collect(),
    }
}

fn reference(reference: &Reference) -> ReferenceData {
    ReferenceData {
        target: reference.target.clone(),
        kind: if reference.is_url { "url" } else { "path" },
        title: reference.title.clone(),
        cited_by: reference
            .cited_by
            .iter()
            .map(|(node, lines)| Citation { node: node.to_string(), lines: lines.clone() })
            .collect(),
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
