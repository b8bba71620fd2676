//! What a person gives to `tot commit`, `tot amend` and `tot propose`, as the arguments of the tool. Pure.
//!
//! A result is Markdown with a head of fields in YAML, named as in the tool:
//!
//! ```text
//! ---
//! nodeId: R2.A1
//! state: EXPLORE
//! ---
//! The plan changed.
//! ```
//!
//! What has no such head is YAML or JSON: the tool's own arguments, or one entry of their list, or the list.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::yaml::{self, Text, YamlError};

/// Fields by name.
pub(super) type Fields = Map<String, Value>;

/// Why a text is no draft.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DraftError {
    /// The fields, or all of it, can't be read.
    #[error("{0}. A text that holds `: ` or ` #`, or begins with a mark such as `-`, stands in quotes")]
    Yaml(YamlError),
    /// The text below the head stands in the head, too.
    #[error("`{0}` stands in the head, and a text below it: only one of them can be meant")]
    Twice(&'static str),
    /// YAML has made something else of a text, and what was written can't be told any more.
    #[error("`{0}` is {1} as YAML reads it: write the text in quotes")]
    NoText(String, String),
    /// It is a text without a head, say, or a number.
    #[error(
        "it is neither Markdown with a head of fields between two lines `---`, nor fields in YAML or JSON; --help shows both"
    )]
    NoFields,
}

impl From<YamlError> for DraftError {
    fn from(error: YamlError) -> DraftError {
        DraftError::Yaml(error)
    }
}

/// The fields of a text with a head; what stands below it is the field `body`. `None` where it has no head.
pub(super) fn with_head(text: &str, body: &'static str) -> Result<Option<Fields>, DraftError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start_matches(['\n', '\r']);
    let mut lines = text.split_inclusive('\n');
    let is_mark = |line: &str| line.trim_end() == "---";
    if !lines.next().is_some_and(is_mark) {
        return Ok(None);
    }
    let mut head = "\n".to_owned();
    for line in lines.by_ref() {
        if is_mark(line) {
            let mut fields = fields(read(&head)?)?;
            let below: String = lines.collect();
            if !below.trim().is_empty() {
                if fields.get(body).is_some_and(|value| !value.is_null()) {
                    return Err(DraftError::Twice(body));
                }
                fields.insert(body.to_owned(), Value::String(trimmed(&below)));
            }
            return Ok(Some(fields));
        }
        head.push_str(line);
    }
    // A document of YAML may begin with the mark.
    Ok(None)
}

/// The entries of a batch: one with a head, or YAML or JSON as the tool takes it, with the batch as `list`.
pub(super) fn batch(text: &str, list: &str, body: &'static str) -> Result<Fields, DraftError> {
    let one = |value: Value| Fields::from_iter([(list.to_owned(), value)]);
    if let Some(fields) = with_head(text, body)? {
        return Ok(one(Value::Array(vec![Value::Object(fields)])));
    }
    match read(text)? {
        Value::Array(entries) => Ok(one(Value::Array(entries))),
        Value::Object(arguments) if arguments.contains_key(list) => Ok(given(arguments)),
        Value::Object(entry) if entry.contains_key("withdraw") => Ok(given(entry)),
        Value::Object(entry) => Ok(one(Value::Array(vec![Value::Object(given(entry))]))),
        _ => Err(DraftError::NoFields),
    }
}

/// The fields of one text with a head, or of YAML or JSON.
pub(super) fn single(text: &str, body: &'static str) -> Result<Fields, DraftError> {
    match with_head(text, body)? {
        Some(fields) => Ok(fields),
        None => fields(read(text)?),
    }
}

/// A text with a head of these fields, then blank ones to be filled in.
pub(super) fn template(head: &impl Serialize, blank: &[&str], body: &str) -> Result<String, YamlError> {
    let head = yaml::to_text(head)?;
    // A map without fields.
    let head = if head.trim() == "{}" { "" } else { head.as_str() };
    let blank: String = blank.iter().map(|name| format!("{name}:\n")).collect();
    Ok(format!("---\n{head}{blank}---\n\n{body}"))
}

/// A text that is written as a block where it has several lines.
pub(super) fn text(text: &str) -> Text {
    Text(text.to_owned())
}

/// YAML or JSON, in which no text became anything else.
fn read(text: &str) -> Result<Value, DraftError> {
    let value: Value = yaml::from_text(text)?;
    texts_in("", &value)?;
    Ok(value)
}

/// Refuses what YAML has rounded or translated, such as a version `1.10`, or `No`: no field of a draft takes a number with a
/// fraction, and few take yes or no.
fn texts_in(key: &str, value: &Value) -> Result<(), DraftError> {
    /// Those of the tools' arguments that do.
    const YES_OR_NO: [&str; 2] = ["refutes", "claimed"];
    match value {
        Value::Number(number) if number.is_f64() => {
            Err(DraftError::NoText(key.to_owned(), format!("the number {number}")))
        }
        Value::Bool(truth) if !YES_OR_NO.contains(&key) => {
            Err(DraftError::NoText(key.to_owned(), truth.to_string()))
        }
        Value::Array(values) => values.iter().try_for_each(|value| texts_in(key, value)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| texts_in(key, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn fields(value: Value) -> Result<Fields, DraftError> {
    match value {
        Value::Object(fields) => Ok(given(fields)),
        _ => Err(DraftError::NoFields),
    }
}

/// The fields that were filled in.
fn given(fields: Fields) -> Fields {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Without the blank lines around it; what the first line is indented by means something in Markdown.
fn trimmed(text: &str) -> String {
    let begin = text.split_inclusive('\n').take_while(|line| line.trim().is_empty());
    let blank: usize = begin.map(str::len).sum();
    text.get(blank..).unwrap_or(text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results(text: &str) -> Result<Value, String> {
        batch(text, "results", "findings").map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn a_head_gives_fields_and_the_rest_is_the_text() {
        let text = "---\nnodeId: R1.A\nstate: EXPLORE\nheadline:\nalternativesConsidered: [a, b]\n---\n\n    code\n\n---\nbelow a rule\n";
        assert_eq!(
            results(text).unwrap(),
            json!({"results": [{"nodeId": "R1.A", "state": "EXPLORE", "alternativesConsidered": ["a", "b"],
                "findings": "    code\n\n---\nbelow a rule"}]})
        );
        let windows = "\u{feff}---\r\nnodeId: R1.A\r\n---\r\n\r\nText.\r\n";
        assert_eq!(results(windows).unwrap(), json!({"results": [{"nodeId": "R1.A", "findings": "Text."}]}));
    }

    #[test]
    fn yaml_and_json_are_taken_as_the_tool_takes_them() {
        let one = json!({"results": [{"nodeId": "R1.A", "state": "DEAD"}]});
        for text in [
            r#"{"results": [{"nodeId": "R1.A", "state": "DEAD"}]}"#,
            r#"[{"nodeId": "R1.A", "state": "DEAD"}]"#,
            "results:\n- nodeId: R1.A\n  state: DEAD\n",
            "---\nresults:\n- nodeId: R1.A\n  state: DEAD\n",
            "nodeId: R1.A\nstate: DEAD\n",
        ] {
            assert_eq!(results(text).unwrap(), one, "{text}");
        }
        assert_eq!(
            batch("withdraw: [R1.A]", "nodes", "plannedAction").unwrap(),
            *json!({"withdraw": ["R1.A"]}).as_object().unwrap()
        );
    }

    #[test]
    fn a_text_that_yaml_would_make_a_number_of_is_not_changed_in_silence() {
        for (line, key) in [
            ("headline: 1.10", "headline"),
            ("headline: 1e3", "headline"),
            ("evidence: No", "evidence"),
            ("alternativesConsidered: [1.10, b]", "alternativesConsidered"),
        ] {
            let error = results(&format!("---\nnodeId: R1.A\n{line}\n---\n")).unwrap_err();
            assert!(error.starts_with(&format!("`{key}` is ")), "{line}: {error}");
        }
        let kept = "---\nheadline: '1.10'\nrefutes: true\ncommands: [{command: ls, exitCode: 0}]\n---\n";
        let read =
            json!({"headline": "1.10", "refutes": true, "commands": [{"command": "ls", "exitCode": 0}]});
        assert_eq!(results(kept).unwrap(), json!({"results": [read]}));
    }

    #[test]
    fn what_is_no_draft_is_told() {
        assert_eq!(results("Some text.").unwrap_err(), DraftError::NoFields.to_string());
        assert!(results("").is_err());
        let twice = "---\nnodeId: R1.A\nfindings: one\n---\nother\n";
        assert_eq!(results(twice).unwrap_err(), DraftError::Twice("findings").to_string());
        let colon = results("---\nnodeId: R1.A\nheadline: a: b\n---\n").unwrap_err();
        assert!(colon.starts_with("line 3, column"), "{colon}");
    }

    #[test]
    fn a_template_reads_back_as_it_was_written() {
        #[derive(Serialize)]
        struct Head {
            title: Text,
            evidence: Text,
        }
        let head = Head { title: text("a: \"b\" # c"), evidence: text("two\nlines\n") };
        let written = template(&head, &["headline"], "# Heading\n\nText.").unwrap();
        assert_eq!(
            Value::Object(single(&written, "findings").unwrap()),
            json!({"title": "a: \"b\" # c", "evidence": "two\nlines\n", "findings": "# Heading\n\nText."})
        );
        let empty = template(&Fields::new(), &["reason"], "Text.").unwrap();
        assert_eq!(Value::Object(single(&empty, "conclusion").unwrap()), json!({"conclusion": "Text."}));
    }
}
