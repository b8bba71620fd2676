//! Nodes, comments and runs as JSON for programs: in `investigation.json`, in replies, and in the output of commands.
//!
//! The domain's types serialize themselves, as in files. [`NodeJson`] adds what is derived from the tree and the rules,
//! with the verdict on an answer as one object.
//! No JSON contains what only files tell about people: email addresses, and names that git contradicts.
//!
//! Pure. [`shorten`] creates a short form.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::assess::{Answer, Assessment, Distance};
use crate::domain::{Caller, Classification, CommentId, Conclusion, Node, NodeId, RunId};
use crate::format::record::Record;
use crate::ruleset::Role;
use crate::ruleset::rules::verification::Grade;
use crate::text;

/// A node: its stored fields, and those derived from its place in the tree and from the rules.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeJson<'a> {
    /// The id.
    pub node_id: &'a NodeId,
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
    /// The kind of verdict: `confirmed`, `self-checked`, `unconfirmed`, `contested` or `refuted`.
    pub class: &'static str,
    /// The grade of the best confirmation, even of a contested answer.
    pub confirmation: Grade,
    /// The confirming nodes, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed_by: Vec<ConfirmationJson>,
    /// The refuting nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuted_by: Vec<NodeId>,
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

impl<'a> NodeJson<'a> {
    /// Creates the JSON of a node of the assessed investigation.
    pub fn new(assessment: &Assessment<'a>, node: &'a Node) -> Self {
        let role = |state| Some(assessment.rules?.ruleset().state(state)?.role);
        NodeJson {
            node_id: &node.id,
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
            contested_by: answer.against.clone(),
            differing: answer.differing.clone(),
            evidence: assessment.evidence_words(answer),
            runs: answer.runs.clone(),
            differing_runs: answer.differing_runs.clone(),
        }
    }
}

fn in_words<S: Serializer>(distance: &Option<Distance>, serializer: S) -> Result<S::Ok, S::Error> {
    distance.as_ref().map(ToString::to_string).serialize(serializer)
}

fn node_fields<S: Serializer>(node: &&Node, serializer: S) -> Result<S::Ok, S::Error> {
    let mut node = Node::clone(node);
    node.visit_callers(|_, caller| publish(caller));
    let mut fields = serde_json::to_value(&node).map_err(serde::ser::Error::custom)?;
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

/// Returns the conclusion as it is serialized for programs.
pub fn conclusion(end: &Conclusion) -> Conclusion {
    let mut end = end.clone();
    end.visit_callers(|_, caller| publish(caller));
    end
}

/// Returns the comment or run as it is serialized for programs.
pub fn record<T: Record>(record: &T) -> T {
    let mut record = record.clone();
    let author = record.author_mut();
    author.email = None;
    publish(&mut author.caller);
    record
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
