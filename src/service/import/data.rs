//! `investigation.json`, as written by reports and `tot export`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Facts, ImportError, invalid, typed};
use crate::domain::{Attached, Comment, Conclusion, Meta, Node, Run, SessionId};
use crate::format::VERSION;
use crate::format::attachment_entry::AttachmentEntry;
use crate::format::record::Record;
use crate::ruleset::{RulesetFile, builtin};

type JsonFields = Map<String, Value>;

/// The imported fields. All other fields are derived from these.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExportedInvestigation {
    version: u32,
    meta: JsonFields,
    /// Absent in files from earlier versions of this program.
    #[serde(default)]
    ruleset_file: Option<String>,
    #[serde(default)]
    conclusion: Option<JsonFields>,
    #[serde(default)]
    faults: Vec<String>,
    nodes: Vec<JsonFields>,
    /// Absent in files from earlier versions of this program.
    #[serde(default)]
    comments: Vec<Value>,
    #[serde(default)]
    runs: Vec<Value>,
    /// Absent in files from earlier versions of this program.
    #[serde(default)]
    attachments: Vec<Value>,
    #[serde(default)]
    attachments_left_out: usize,
}

pub(super) fn read(value: Value, new: Option<SessionId>) -> Result<Facts, ImportError> {
    let document: ExportedInvestigation = typed(value, "")?;
    if document.version != VERSION {
        let reason = format!("{} is not supported; this program reads version {VERSION}", document.version);
        return Err(invalid("version", reason));
    }
    let fields = file_fields(document.meta, &["currentRound", "head", "ended"]);
    let mut meta = typed::<Meta>(fields, "meta")?;
    meta.id = new.unwrap_or(meta.id);
    let mut notes: Vec<String> = document
        .faults
        .iter()
        .map(|fault| format!("The export omitted an unreadable part: {fault}."))
        .collect();
    let ruleset = match document.ruleset_file {
        Some(text) => RulesetFile::parse(&text).map_err(ImportError::Ruleset)?,
        None => {
            let name = &meta.ruleset;
            let built_in = builtin::all().iter().find(|file| file.ruleset.name == *name);
            let missing = || invalid("rulesetFile", format!("is missing, and {name} is not built in"));
            notes.push(format!("It does not contain its ruleset: the built-in {name} is used."));
            built_in.cloned().ok_or_else(missing)?
        }
    };
    let conclusion = document
        .conclusion
        .map(|end| typed::<Conclusion>(file_fields(end, &[]), "conclusion"))
        .transpose()?;
    let nodes = document.nodes.into_iter().enumerate().map(|(number, fields)| {
        let fields = file_fields(result_fields(fields), &["children", "round"]);
        typed::<Node>(fields, &format!("nodes[{number}]"))
    });
    let nodes = nodes.collect::<Result<_, _>>()?;
    let facts = Facts::new(meta, ruleset, nodes, conclusion, |node| format!("nodes ({})", node.id))?;
    let comments: Vec<Arc<Comment>> = records(document.comments, "comments")?;
    let runs: Vec<Arc<Run>> = records(document.runs, "runs")?;
    if document.attachments_left_out > 0 {
        let left_out = document.attachments_left_out;
        notes.push(format!("Attachments missing because of the file's size limit: {left_out}."));
    }
    let mut attachments: Vec<Arc<Attached>> = Vec::with_capacity(document.attachments.len());
    let mut taken = BTreeSet::new();
    for (number, value) in document.attachments.into_iter().enumerate() {
        let place = format!("attachments[{number}]");
        let attached = typed::<AttachmentEntry>(value, &place)?.attached();
        let attached = attached.map_err(|reason| invalid(format!("{place}.base64"), reason))?;
        if !facts.nodes.iter().any(|node| node.id == attached.node) {
            return Err(invalid(place, format!("the node {} does not exist", attached.node)));
        }
        if !taken.insert((attached.node.clone(), attached.name.without_case())) {
            return Err(invalid(place, format!("{} has two files named {}", attached.node, attached.name)));
        }
        attachments.push(Arc::new(attached));
    }
    Ok(Facts { notes, comments, runs, attachments, ..facts })
}

/// Parses a list of comments or runs and sorts it by id.
fn records<T: Record<Id: Ord> + DeserializeOwned>(
    values: Vec<Value>,
    list: &str,
) -> Result<Vec<Arc<T>>, ImportError> {
    let values = values.into_iter().enumerate();
    let records = values.map(|(number, it)| typed::<T>(it, &format!("{list}[{number}]")).map(Arc::new));
    let mut records: Vec<Arc<T>> = records.collect::<Result<_, _>>()?;
    records.sort_by_key(|record| record.id());
    if records.windows(2).any(|pair| pair[0].id() == pair[1].id()) {
        return Err(invalid(list, "an id occurs twice"));
    }
    Ok(records)
}

/// Converts fields to the form used in stored files, which omits derived fields, `null` and empty lists.
fn file_fields(fields: JsonFields, derived: &[&str]) -> Value {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let is_stored = |(name, value): &(String, Value)| !is_empty(value) && !derived.contains(&name.as_str());
    Value::Object(fields.into_iter().filter(is_stored).collect())
}

/// Converts a node, or one of its other results, to the form used in stored files, in which `state` is the committed
/// state.
fn result_fields(mut fields: JsonFields) -> JsonFields {
    for derived in ["role", "contested"] {
        fields.shift_remove(derived);
    }
    if let Some(state) = fields.shift_remove("committedAs") {
        fields.insert("state".to_owned(), state);
    }
    if let Some(Value::Array(others)) = fields.get_mut("otherResults") {
        for other in others {
            if let Value::Object(result) = other {
                *result = result_fields(std::mem::take(result));
            }
        }
    }
    fields
}
