//! `investigation.json`: the facts of an investigation and the results computed from them, for programs.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use super::history::verb_of;
use super::{ReportError, ReportInput};
use crate::assess::{Answer, Assessment, Doubt, DoubtJson, Outcome, ReportState, SourceUse};
use crate::decide::quality::{Quality, quality};
use crate::decide::references::CitedSource;
use crate::domain::{Attached, AttachmentName, Conclusion, Meta, Node, NodeId};
use crate::json::{
    self, BlockerJson, BoundJson, CommentJson, NodeIdJson, NodeJson, ObjectionJson, RunJson, VerdictJson,
};
use crate::service::project::Drift;
use crate::service::signoff::SignOffView;

/// The version of the file format.
const VERSION: u32 = 1;

/// The file name of the schema, beside the data file of a site.
pub(super) const SCHEMA: &str = "investigation.schema.json";

/// Returns the data file for a report. `path` is the file's path in the site.
pub(super) fn file(
    input: &ReportInput,
    references: &[CitedSource],
    path: &str,
    schema: Option<&'static str>,
) -> Result<Vec<u8>, ReportError> {
    pretty(&InvestigationJson { schema, ..document(input, references) }, path)
}

/// Returns the JSON Schema of the data file, generated from its types. `path` is the file's path in the site.
pub(super) fn schema(path: &str) -> Result<Vec<u8>, ReportError> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator =
        settings.with_transform(RecursiveTransform(require_what_is_never_absent)).into_generator();
    let mut schema = generator.into_root_schema_for::<InvestigationJson<'_>>();
    schema.insert("title".to_owned(), "An investigation by Tree of Thoughts".into());
    pretty(&schema, path)
}

/// Keeps only fields that can't be `null` among the required ones, since most absent fields are left out.
fn require_what_is_never_absent(schema: &mut Schema) {
    let is_null = |schema: &Value| schema["type"] == "null" || schema["type"][1] == "null";
    let is_absent = |name: &Value| {
        let property = name.as_str().and_then(|name| schema.get("properties")?.get(name));
        property.is_some_and(|it| is_null(it) || is_null(&it["anyOf"][1]))
    };
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let required: Vec<Value> = required.into_iter().filter(|name| !is_absent(name)).collect();
    if schema.get("required").is_some() {
        schema.insert("required".to_owned(), required.into());
    }
}

fn pretty(value: &impl Serialize, path: &str) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InvestigationJson<'a> {
    /// The schema of this file, if it is beside it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    version: u32,
    meta: MetaJson<'a>,
    /// The text of the ruleset in force, if it can be used.
    ruleset_file: Option<&'a str>,
    #[serde(serialize_with = "json::conclusion")]
    #[schemars(with = "Option<Conclusion>")]
    conclusion: Option<&'a Conclusion>,
    /// The draft of the report, which ends nothing.
    #[serde(serialize_with = "json::conclusion", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Conclusion>")]
    draft: Option<&'a Conclusion>,
    /// The state of the draft or, without one, of the conclusion: its attackers, and whether it changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<ReportState>,
    faults: Vec<String>,
    /// The outcome: `running`, `ended`, `stoppedEarly`, `continued` or `reopened`.
    outcome: Outcome,
    /// The verdict on an ended investigation.
    verdict: Option<Cow<'static, str>>,
    /// The answers the conclusion rests on.
    rests_on: Vec<BoundJson>,
    /// The limits of the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<String>,
    /// What would overturn the conclusion or, without one, the best answer: at most five doubts, strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<DoubtJson>")]
    would_overturn: Vec<Doubt>,
    /// The answers that the conclusion rests on, then the other answers, most certain first.
    answers: Vec<AnswerJson<'a>>,
    refuted: Vec<AnswerJson<'a>>,
    theories: Vec<NodeIdJson>,
    dead_ends: Vec<NodeIdJson>,
    blockers: Vec<BlockerJson>,
    quality: Option<Quality>,
    nodes: Vec<NodeJson<'a>>,
    /// The comments, oldest first.
    comments: Vec<CommentJson>,
    /// The runs that count, their reruns and the judgements on them, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<RunJson<'a>>,
    attachments: Vec<AttachmentJson<'a>>,
    /// The number of omitted attachments.
    #[serde(skip_serializing_if = "is_zero")]
    attachments_left_out: usize,
    /// The unresolved objections.
    open_objections: Vec<ObjectionJson>,
    references: &'a [CitedSource],
    /// The passages that say by a link how they are known: of the draft, of the conclusion, then of the findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceUse<'a>>,
    commits: Vec<CommitJson<'a>>,
    /// The sign-offs, with their validity when the file was written.
    sign_offs: Vec<SignOffView<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AttachmentJson<'a> {
    node_id: &'a NodeId,
    name: &'a AttachmentName,
    base64: String,
}

impl<'a> AttachmentJson<'a> {
    fn of(file: &'a Attached) -> Self {
        AttachmentJson { node_id: &file.node, name: &file.name, base64: STANDARD.encode(&file.content) }
    }
}

/// The facts fixed by the start, and the state of the repository.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MetaJson<'a> {
    #[serde(flatten, serialize_with = "json::meta")]
    #[schemars(with = "Meta")]
    meta: &'a Meta,
    current_round: u32,
    /// The newest commit.
    head: String,
    ended: bool,
}

/// An answer, or a refuted node.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AnswerJson<'a> {
    node_id: &'a NodeId,
    verdict: VerdictJson,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommitJson<'a> {
    commit: String,
    parents: Vec<String>,
    at: String,
    author: String,
    /// The agent that made the call, if it was one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    message: String,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
    changes: Vec<ChangeOf>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChangeOf {
    what: &'static str,
    node_id: Option<String>,
}

fn document<'a>(input: &'a ReportInput, references: &'a [CitedSource]) -> InvestigationJson<'a> {
    let snapshot = &input.snapshot;
    let investigation = snapshot.investigation.as_ref();
    let rules = snapshot.rules();
    let assessment = Assessment::new(investigation, rules).with_inputs(input.inputs().as_ref());
    let refs =
        |nodes: &[&Arc<Node>]| nodes.iter().map(|node| NodeIdJson { node_id: node.id.clone() }).collect();
    // The citations of a withheld confirmation are unknown.
    let public = |mut verdict: VerdictJson| {
        let withheld = verdict.confirmed_by.iter_mut().filter(|by| input.withheld.contains(&by.node_id));
        withheld.filter_map(|by| by.distance.as_mut()).for_each(|distance| distance.own = None);
        verdict
    };
    let answers = |answers: &[Answer<'a>]| {
        let verdict = |answer: &Answer<'_>| public(VerdictJson::new(&assessment, answer));
        answers.iter().map(|it| AnswerJson { node_id: &it.node.id, verdict: verdict(it) }).collect()
    };
    let nodes = investigation.nodes().map(|node| {
        let node = NodeJson::new(&assessment, node);
        NodeJson { verdict: node.verdict.map(public), ..node }
    });
    InvestigationJson {
        schema: None,
        version: VERSION,
        meta: MetaJson {
            meta: investigation.meta(),
            current_round: investigation.current_round(),
            head: snapshot.head.to_string(),
            ended: investigation.end().is_some(),
        },
        ruleset_file: snapshot.ruleset.as_ref().ok().map(|file| file.text.as_str()),
        conclusion: investigation.conclusion(),
        draft: investigation.draft(),
        report: assessment.report(),
        faults: strings(snapshot.all_faults()),
        outcome: assessment.outcome,
        verdict: assessment.words(),
        rests_on: BoundJson::all(&assessment),
        limits: strings(assessment.limits()),
        would_overturn: assessment.doubts(&|pin| input.evidence.lost(pin)),
        answers: answers(&assessment.answers),
        refuted: answers(&assessment.refuted),
        theories: refs(&assessment.theories),
        dead_ends: refs(&assessment.dead_ends),
        blockers: assessment.owed.iter().map(BlockerJson::from).collect(),
        quality: rules.map(|rules| quality(investigation, &rules)),
        nodes: nodes.collect(),
        comments: investigation.comments().map(|comment| CommentJson::new(comment)).collect(),
        runs: investigation.counted_runs().map(|run| RunJson::new(&assessment, run)).collect(),
        attachments: input.attachments.iter().map(AttachmentJson::of).collect(),
        attachments_left_out: investigation.attachment_count().saturating_sub(input.attachments.len()),
        open_objections: ObjectionJson::all(&assessment),
        references,
        sources: assessment.sources(&|pin| input.evidence.drift.get(pin).map(Drift::as_str)),
        commits: input
            .history
            .iter()
            .map(|entry| CommitJson {
                commit: entry.commit.to_string(),
                parents: strings(&entry.parents),
                at: entry.at.to_string(),
                author: entry.author_name.clone(),
                agent_id: entry.agent(),
                message: entry.message.clone(),
                tags: entry.tags.clone(),
                gaps: entry.gaps.clone(),
                changes: entry
                    .happenings
                    .iter()
                    .map(|happening| ChangeOf {
                        what: verb_of(happening).1,
                        node_id: happening.node_id().map(ToString::to_string),
                    })
                    .collect(),
            })
            .collect(),
        sign_offs: input.sign_offs.all.iter().map(SignOffView::from).collect(),
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
