//! Nodes, comments and runs as JSON for programs: in `investigation.json`, in replies, and in the output of commands.
//!
//! Nodes serialize themselves, as in files, where an id is `id`. The types here name ids as the arguments of calls do: `nodeId`,
//! `commentId`, `runId`. Comments and runs are copied into them. [`NodeJson`] adds what is derived from the tree and the rules,
//! with the verdict on an answer as one object.
//! No JSON contains what only files tell about people: email addresses, and names that git contradicts.
//!
//! Pure. [`shorten`] creates a short form.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::assess::{Answer, Assessment, CapturedRun, Distance, InputState};
use crate::domain::run::{Expectation, Ran, RunComparison};
use crate::domain::{
    BoundAs, Caller, Classification, Comment, CommentId, CommentKind, Commenter, Conclusion, Diagnostic,
    Meta, Node, NodeId, Run, RunId, RunKind, TextEdit, Timestamp,
};
use crate::format::comment_file::{AuthorEntry, ByEntry, author_entry};
use crate::ruleset::Role;
use crate::ruleset::rules::objections::Objection;
use crate::ruleset::rules::verification::Grade;
use crate::text;

/// A node: its stored fields, and those derived from its place in the tree and from the rules.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeJson<'a> {
    /// The short id while no other node has it, otherwise the whole id.
    pub node_id: &'a NodeId,
    /// The whole id, which never changes.
    pub full_id: &'a str,
    /// The other stored fields. `state` is the current state, and `committedAs` the state stored by the commit.
    #[serde(flatten, serialize_with = "node_fields")]
    #[schemars(schema_with = "node_schema")]
    pub node: &'a Node,
    /// The children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<&'a NodeId>,
    /// The round.
    pub round: u32,
    /// The role of the current state in the ruleset, if the ruleset is readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// True if the node's results have different states and nobody has decided between them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contested: bool,
    /// The verdict, if the node is an answer or refuted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictJson>,
}

/// The verdict on an answer, with what it is based on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictJson {
    /// The verdict in words.
    pub words: String,
    /// The kind of verdict: `confirmed`, `self-checked`, `unconfirmed`, `contested`, `undermined` or `refuted`.
    pub class: &'static str,
    /// The grade of the best confirmation, even of a contested answer.
    pub confirmation: Grade,
    /// The confirming nodes, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed_by: Vec<ConfirmationJson>,
    /// The refuting nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted_by: Vec<NodeId>,
    /// The premise that limits the verdict: the nodes that lead to it from the answer, and last the premise itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weakest_premise: Vec<NodeId>,
    /// The open objections to the answer or to a node it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<CommentId>,
    /// The nodes with differing results that the answer rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<NodeId>,
    /// The worth of the commands that were run as evidence, in words.
    pub evidence: String,
    /// The runs for the answer, for its path and for the nodes that confirm it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// The runs whose rerun gave a different result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing_runs: Vec<RunId>,
}

/// A node that confirms an answer, with the weight of that confirmation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationJson {
    /// The confirming node.
    pub node_id: NodeId,
    /// The grade of the confirmation.
    pub grade: Grade,
    /// The distance from the answer, in words.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    #[schemars(with = "Option<String>")]
    pub distance: Option<Distance>,
    /// The limits of the confirmation: what it did not try.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// A node of which only the id is told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeIdJson {
    /// The node.
    pub node_id: NodeId,
}

/// An answer that the conclusion rests on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundJson {
    /// The node.
    pub node_id: NodeId,
    /// The role of the answer in the conclusion.
    pub r#as: BoundAs,
}

/// An open objection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectionJson {
    /// The comment that objects.
    pub comment_id: CommentId,
    /// The node that it is about. Absent for the whole investigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The objection, in a sentence.
    pub message: String,
}

/// A requirement that is not met.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlockerJson {
    code: String,
    /// The node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<String>,
    message: String,
}

/// A comment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentJson {
    /// The id, which begins with the time.
    pub comment_id: CommentId,
    /// The node that the comment is about. Absent for the whole investigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The kind of comment.
    pub kind: CommentKind,
    /// The comment that this one answers or resolves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<CommentId>,
    /// The author, and the time.
    #[serde(flatten)]
    pub written: WrittenBy,
    /// The text in Markdown, as written.
    pub text: String,
    /// Only in a correction: the passages to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<TextEdit>,
}

/// A command that was run as evidence, a rerun of one, or a judgement on a rerun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunJson<'a> {
    /// The id, which begins with the time.
    run_id: RunId,
    /// The node that the run is evidence for.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<&'a NodeId>,
    /// The run that this one repeats or judges, or of which it expects something.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<RunId>,
    /// Only in a rerun: how its result compares with the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<RunComparison>,
    /// Only in a rerun: the commit of the project at which it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    project_commit: Option<&'a str>,
    /// Only in a judgement: whether the evidence holds despite the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<bool>,
    #[serde(flatten)]
    written: WrittenBy,
    /// The author's note. In a judgement, the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The command and its outcome. Absent in a judgement.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "ran")]
    ran: Option<&'a Ran>,
    /// What somebody expects of a captured run later.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    expectations: &'a [Expectation],
    /// Only in a first run: what its reruns gave, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<String>,
    /// Only in a first run: what became of the files that it reads, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_state: Option<InputState>,
}

/// The author of a comment or a run, and the time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WrittenBy {
    /// The author.
    author: AuthorEntry,
    /// The client, and whether a person or an agent used it.
    by: ByEntry,
    /// The time.
    at: Timestamp,
}

impl<'a> NodeJson<'a> {
    /// Creates the JSON of a node of the assessed investigation.
    pub fn new(assessment: &Assessment<'a>, node: &'a Node) -> Self {
        let role = |state| Some(assessment.rules?.ruleset().state(state)?.role);
        NodeJson {
            node_id: &node.id,
            full_id: node.id.whole(),
            node,
            children: assessment.investigation.children(&node.id).map(|child| &child.id).collect(),
            round: node.round(),
            role: node.state().and_then(role),
            contested: node.classification.as_ref().is_some_and(Classification::is_contested),
            verdict: assessment.answer(&node.id).map(|answer| VerdictJson::new(assessment, answer)),
        }
    }
}

impl VerdictJson {
    /// Creates the JSON of the verdict on an answer.
    pub fn new(assessment: &Assessment<'_>, answer: &Answer<'_>) -> Self {
        let confirmations = answer.confirming.iter().map(|by| {
            let node = assessment.investigation.node(&by.node);
            let result = node.and_then(|node| node.classification.as_ref());
            ConfirmationJson {
                node_id: by.node.clone(),
                grade: by.grade,
                distance: assessment.distance(answer.node, by),
                caveats: result.map(|result| result.caveats.clone()).unwrap_or_default(),
            }
        });
        VerdictJson {
            words: answer.words().into_owned(),
            class: answer.verdict.class(),
            confirmation: answer.grade,
            confirmed_by: confirmations.collect(),
            refuted_by: answer.refuted_by.clone(),
            weakest_premise: answer.weakest.iter().flat_map(|it| &it.chain).map(|id| (*id).clone()).collect(),
            contested_by: answer.against.clone(),
            differing: answer.differing.clone(),
            evidence: assessment.evidence_words(answer),
            runs: answer.runs.clone(),
            differing_runs: answer.differing_runs.clone(),
        }
    }
}

impl BoundJson {
    /// Returns the answers that the conclusion rests on.
    pub fn all(assessment: &Assessment<'_>) -> Vec<BoundJson> {
        assessment.bound().map(|bound| BoundJson { node_id: bound.id.clone(), r#as: bound.role }).collect()
    }
}

impl ObjectionJson {
    /// Returns the open objections, oldest first.
    pub fn all(assessment: &Assessment<'_>) -> Vec<ObjectionJson> {
        let one = |open: &Objection| ObjectionJson {
            comment_id: open.comment.id,
            node_id: open.comment.node.clone(),
            message: open.message(),
        };
        assessment.open.iter().map(one).collect()
    }
}

impl From<&Diagnostic> for BlockerJson {
    fn from(blocker: &Diagnostic) -> Self {
        BlockerJson {
            code: blocker.code.to_string(),
            node_id: blocker.node.clone(),
            message: blocker.message.person().to_owned(),
        }
    }
}

impl CommentJson {
    /// Creates the JSON of a comment.
    pub fn new(comment: &Comment) -> Self {
        CommentJson {
            comment_id: comment.id,
            node_id: comment.node.clone(),
            kind: comment.kind,
            reply_to: comment.reply_to,
            written: WrittenBy::new(&comment.author, comment.at),
            text: comment.text.clone(),
            edits: comment.edits.clone(),
        }
    }
}

impl<'a> RunJson<'a> {
    /// Creates the JSON of a run of the assessed investigation.
    pub fn new(assessment: &Assessment<'_>, run: &'a Run) -> Self {
        let (comparison, project_commit, holds) = match &run.what {
            RunKind::Repeated { at, .. } => (assessment.comparison(run), at.as_deref(), None),
            RunKind::Judged { holds, .. } => (None, None, Some(*holds)),
            _ => (None, None, None),
        };
        RunJson {
            run_id: run.id,
            node_id: run.node.as_ref(),
            of: run.of(),
            comparison,
            project_commit,
            holds,
            written: WrittenBy::new(&run.author, run.at),
            note: run.note.as_deref(),
            ran: run.ran(),
            expectations: if run.ran().is_some() { &[] } else { run.expectations() },
            standing: assessment.run(run.id).map(CapturedRun::words),
            input_state: assessment.run(run.id).and_then(|run| run.input_state.clone()),
        }
    }
}

impl WrittenBy {
    fn new(author: &Commenter, at: Timestamp) -> Self {
        let mut author = Commenter { email: None, ..author.clone() };
        publish(&mut author.caller);
        let (author, by) = author_entry(author);
        WrittenBy { author, by, at }
    }
}

fn in_words<S: Serializer>(distance: &Option<Distance>, serializer: S) -> Result<S::Ok, S::Error> {
    distance.as_ref().map(ToString::to_string).serialize(serializer)
}

fn node_fields<S: Serializer>(node: &&Node, serializer: S) -> Result<S::Ok, S::Error> {
    let mut node = Node::clone(node);
    node.visit_callers(|_, caller| publish(caller));
    let mut fields = present(&node).map_err(serde::ser::Error::custom)?;
    // The file has it as `id`. Calls use `nodeId`.
    fields.as_object_mut().and_then(|fields| fields.shift_remove("id"));
    if let Some(result) = &node.classification {
        name_states(&mut fields, result);
        let others = fields.get_mut("otherResults").and_then(Value::as_array_mut).into_iter().flatten();
        others.zip(&result.other_results).for_each(|(fields, other)| name_states(fields, other));
    }
    fields.serialize(serializer)
}

/// Returns the schema of what [`node_fields`] writes.
fn node_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Node::json_schema(generator);
    generator.subschema_for::<Classification>();
    let result = generator.definitions_mut().get_mut(Classification::schema_name().as_ref());
    for schema in [schema.as_object_mut(), result.and_then(Value::as_object_mut)].into_iter().flatten() {
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { continue };
        if let Some(state) = properties.get_mut("state") {
            let stored = state.clone();
            state["description"] = "The current state.".into();
            properties.insert("committedAs".to_owned(), stored);
        }
        properties.shift_remove("id");
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != "id");
    }
    schema
}

/// Stores the current state as `state`, where a file has the state stored by the commit.
fn name_states(fields: &mut Value, result: &Classification) {
    fields["committedAs"] = fields["state"].take();
    fields["state"] = Value::from(result.current_state().as_str());
}

/// Serializes the conclusion for programs. Its schema is that of [`Conclusion`].
///
/// # Errors
///
/// Returns the serializer's errors.
pub fn conclusion<S: Serializer>(end: &Option<&Conclusion>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(end) = end else { return serializer.serialize_none() };
    let mut end = Conclusion::clone(end);
    end.visit_callers(|_, caller| publish(caller));
    // They quote files. What became of each place is in the list of sources.
    end.references.clear();
    end.amended.iter_mut().for_each(|it| it.references = None);
    let mut fields = present(&end).map_err(serde::ser::Error::custom)?;
    name_ids(&mut fields, "nodeId");
    fields.serialize(serializer)
}

/// Serializes the facts of an investigation for programs. Their schema is that of [`Meta`].
///
/// # Errors
///
/// Returns the serializer's errors.
pub fn meta<S: Serializer>(meta: &&Meta, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = present(meta).map_err(serde::ser::Error::custom)?;
    name_ids(&mut fields, "sessionId");
    fields.serialize(serializer)
}

fn ran<S: Serializer>(ran: &Option<&Ran>, serializer: S) -> Result<S::Ok, S::Error> {
    present(ran).map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// Returns a value as JSON without `null` fields: absent fields are left out, as in files.
///
/// # Errors
///
/// Returns an error if the value is not valid JSON.
pub fn present(value: &impl Serialize) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(value)?;
    remove_nulls(&mut value);
    Ok(value)
}

fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(entries) => entries.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// Gives each id a name, where the file has `id`.
fn name_ids(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            if let Some(id) = fields.shift_remove("id") {
                fields.shift_insert(0, name.to_owned(), id);
            }
            fields.values_mut().for_each(|value| name_ids(value, name));
        }
        Value::Array(entries) => entries.iter_mut().for_each(|value| name_ids(value, name)),
        _ => {}
    }
}

fn publish(caller: &mut Caller) {
    caller.disowned = None;
    caller.person.iter_mut().for_each(|person| person.email = None);
}

/// Shortens every string in a serialized view to `characters`, and every list to `entries`. Ids and id lists are not
/// shortened. The oldest state and text changes are omitted first.
///
/// Returns the names of the shortened fields.
pub fn shorten(fields: &mut Map<String, Value>, characters: usize, entries: usize) -> Vec<String> {
    let is_shortened = |name: &str, value: &mut Value| shorten_value(name, value, characters, entries);
    fields.iter_mut().filter_map(|(name, value)| is_shortened(name, value).then(|| name.clone())).collect()
}

fn shorten_value(name: &str, value: &mut Value, characters: usize, entries: usize) -> bool {
    match value {
        Value::String(text) if !is_id(text) => {
            let short = text::shorten(text, characters);
            let is_shortened = short != *text;
            *text = short;
            is_shortened
        }
        Value::Array(list) => {
            let mut is_shortened =
                list.len() > entries && !list.iter().all(|entry| entry.as_str().is_some_and(is_id));
            if is_shortened && matches!(name, "reclassified" | "amended") {
                list.drain(..list.len() - entries);
            } else if is_shortened {
                list.truncate(entries);
            }
            for entry in list {
                is_shortened |= shorten_value(name, entry, characters, entries);
            }
            is_shortened
        }
        Value::Object(fields) => !shorten(fields, characters, entries).is_empty(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether the text is the id of a node, a run or a git object.
fn is_id(text: &str) -> bool {
    let is_object = text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_object || text.parse::<NodeId>().is_ok() || text.parse::<RunId>().is_ok()
}
