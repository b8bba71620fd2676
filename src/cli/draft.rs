//! Parses the drafts of `tot commit`, `tot amend` and `tot propose` into fields. Pure.
//!
//! A result is Markdown with a YAML head, whose fields are named after the arguments of the tool for agents:
//!
//! ```text
//! ---
//! nodeId: R2.A1
//! state: EXPLORE
//! ---
//! The plan changed.
//! ```
//!
//! In an editor, a result is plain text instead, in which colons, quotes and indents have no special meaning:
//!
//! ```text
//! # R2.A1 Read the slow query log
//!
//! State: EXPLORE
//! Headline: The plan changed
//!
//! ## Evidence
//!
//! ## Findings
//!
//! The plan changed.
//! ```
//!
//! Any other draft is YAML or JSON. It contains those arguments, the list in them, or one entry of that list.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::decide::propose::NewNode;
use crate::domain::NodeId;
use crate::yaml::{self, YamlError};

/// The fields of a draft, by name.
pub(super) type DraftFields = Map<String, Value>;

/// An error from parsing a draft.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DraftError {
    /// The head or the entire draft is not valid YAML.
    #[error("{0}. Quote text that contains `: ` or ` #`, or begins with a mark such as `-`")]
    Yaml(YamlError),
    /// The head contains the field that the text below it already supplies.
    #[error("`{0}` is in the head, but the text below the head is the same field: give only one of them")]
    Twice(&'static str),
    /// YAML reads a part of a line as a comment, a tag or an anchor.
    #[error(
        "line {0}: YAML would drop part of this text, from a `#`, `!` or `&` after a space: put the text in quotes"
    )]
    Cut(usize),
    /// YAML converted a string, so its original form is lost.
    #[error("YAML reads `{0}` as {1}: put the text in quotes")]
    NoText(String, String),
    /// The draft has no fields, for example because it is text without a head.
    #[error(
        "this is neither Markdown with fields between two `---` lines at the top, nor YAML or JSON; --help has examples"
    )]
    NoFields,
}

impl From<YamlError> for DraftError {
    fn from(error: YamlError) -> DraftError {
        DraftError::Yaml(error)
    }
}

/// The labels at the top of a plain draft, with their fields.
const LINES: [(&str, &str); 5] = [
    ("State", "state"),
    ("Headline", "headline"),
    ("Title", "title"),
    ("Reason", "reason"),
    ("Bottom line", "bottomLine"),
];

/// The sections below the labelled lines. The last section extends to the end of the draft, whatever headings it contains.
const SECTIONS: [(&str, &str); 5] = [
    ("Evidence", "evidence"),
    ("Alternatives", "alternativesConsidered"),
    ("Caveats", "caveats"),
    ("Findings", "findings"),
    ("Conclusion", "conclusion"),
];

/// The fields that contain lists. Each unindented line begins an item.
const LISTS: [&str; 2] = ["alternativesConsidered", "caveats"];

/// The subject line of a plain conclusion draft.
pub(super) const CONCLUSION: &str = "The conclusion";

/// Formats fields as a plain draft.
pub(super) fn plain_text(about: &str, fields: &[(&str, &str)]) -> String {
    let of = |table: &[(&'static str, &str)], field: &str| {
        table.iter().find(|(_, known)| *known == field).map(|(label, _)| *label)
    };
    let lines = fields.iter().filter_map(|(field, text)| Some((of(&LINES, field)?, text)));
    let lines: String =
        lines.map(|(label, text)| format!("{}\n", format!("{label}: {text}").trim_end())).collect();
    let sections = fields.iter().filter_map(|(field, text)| Some((of(&SECTIONS, field)?, text)));
    let sections = sections.map(|(label, text)| match text.is_empty() {
        true => format!("\n## {label}\n"),
        false => format!("\n## {label}\n\n{text}\n"),
    });
    format!("# {about}\n\n{lines}{}", sections.collect::<String>())
}

/// Formats a list for a plain draft.
pub(super) fn plain_list(items: &[String]) -> String {
    items
        .iter()
        .map(|item| format!("- {}\n", item.trim().replace('\n', "\n  ")))
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Parses a plain draft. Returns `None` for any other text.
fn plain(text: &str) -> Option<DraftFields> {
    let (first, rest) = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start().split_once('\n')?;
    let about = first.strip_prefix("# ")?.trim();
    let node = about.split_whitespace().next()?.parse::<NodeId>().ok();
    (node.is_some() || about == CONCLUSION).then(|| of_plain(node.as_ref(), rest))
}

/// Parses the edited draft of a node or the conclusion, even if its subject line was changed.
pub(super) fn edited(text: &str, node: Option<&NodeId>) -> Result<DraftFields, DraftError> {
    match with_head(text, body_of(node))? {
        Some(fields) => Ok(fields),
        None => Ok(plain(text).unwrap_or_else(|| of_plain(node, text))),
    }
}

fn body_of(node: Option<&NodeId>) -> &'static str {
    if node.is_some() { "findings" } else { "conclusion" }
}

fn of_plain(node: Option<&NodeId>, text: &str) -> DraftFields {
    let body = body_of(node);
    let of = |table: &[(&str, &'static str)], label: &str| {
        table.iter().find(|(known, _)| known.eq_ignore_ascii_case(label.trim())).map(|(_, field)| *field)
    };
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let (mut at, mut is_top, mut is_body) = (body, true, false);
    for line in text.lines() {
        let section = line.strip_prefix("## ").filter(|_| !is_body).and_then(|label| of(&SECTIONS, label));
        let labelled = line.split_once(':').filter(|_| is_top);
        let labelled = labelled.and_then(|(label, rest)| Some((of(&LINES, label)?, rest)));
        let rest = match (section, labelled) {
            (Some(field), _) => {
                (at, is_top, is_body) = (field, false, field == body);
                texts.entry(at).or_default();
                continue;
            }
            (None, Some((field, rest))) => {
                at = field;
                rest
            }
            (None, None) => line,
        };
        if is_top && line.trim().is_empty() {
            at = body;
        }
        let text = texts.entry(at).or_default();
        text.push_str(rest);
        text.push('\n');
    }
    let value = |field: &str, text: &str| match field {
        field if LISTS.contains(&field) => json!(items(text)),
        field if LINES.iter().any(|(_, known)| *known == field) => {
            json!(text.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        _ => json!(trimmed(text)),
    };
    // A list without items is an empty list, as opposed to one that is left out.
    texts.retain(|field, text| LISTS.contains(field) || !text.trim().is_empty());
    let fields = texts.iter().map(|(field, text)| ((*field).to_owned(), value(field, text)));
    fields.chain(node.map(|node| ("nodeId".to_owned(), json!(node.to_string())))).collect()
}

/// Splits a list into items, with or without list markers.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line);
        match items.last_mut().filter(|_| line.starts_with(char::is_whitespace)) {
            Some(last) => last.push_str(&format!("\n{}", line.trim())),
            None => items.push(item.trim().to_owned()),
        }
    }
    items
}

/// Parses the nodes in a plain draft. Each line is a title, optionally preceded by an id. Indented lines below it are the node's
/// task.
pub(super) fn titles(text: &str) -> Vec<NewNode> {
    let mut nodes: Vec<NewNode> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (indented, line) = (line.starts_with(char::is_whitespace), line.trim());
        match nodes.last_mut().filter(|_| indented) {
            Some(node) if node.planned_action.is_empty() => node.planned_action = line.to_owned(),
            Some(node) => node.planned_action += &format!("\n{line}"),
            None => {
                let first = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                let named = first.0.parse::<NodeId>().is_ok();
                let (id, title) = if named { (first.0, first.1.trim()) } else { ("", line) };
                nodes.push(NewNode { id: id.to_owned(), title: title.to_owned(), ..NewNode::default() });
            }
        }
    }
    nodes
}

/// Parses a draft with a head. The text below the head becomes the field that `body` names. Returns `None` if there is no head.
pub(super) fn with_head(text: &str, body: &'static str) -> Result<Option<DraftFields>, DraftError> {
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
    // A YAML document may begin with the same marker.
    Ok(None)
}

/// Parses a batch: one entry with a head, or YAML or JSON as the tool accepts it. The entries go in the field that `list` names.
pub(super) fn batch(text: &str, list: &str, body: &'static str) -> Result<DraftFields, DraftError> {
    let one = |value: Value| DraftFields::from_iter([(list.to_owned(), value)]);
    if let Some(fields) = plain(text).map_or_else(|| with_head(text, body), |fields| Ok(Some(fields)))? {
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

/// Parses a single entry: with a head, or as YAML or JSON.
pub(super) fn single(text: &str, body: &'static str) -> Result<DraftFields, DraftError> {
    match plain(text).map_or_else(|| with_head(text, body), |fields| Ok(Some(fields)))? {
        Some(fields) => Ok(fields),
        None => fields(read(text)?),
    }
}

/// Parses YAML or JSON and rejects strings that YAML converted or cut.
fn read(text: &str) -> Result<Value, DraftError> {
    let value: Value = yaml::from_text(text)?;
    texts_in("", &value)?;
    match cut_line(text, &value) {
        Some(line) => Err(DraftError::Cut(line)),
        None => Ok(value),
    }
}

/// Rejects values that YAML rounded or converted, such as the version `1.10`, the number `0606` or the word `No`. Few draft
/// fields contain numbers or booleans.
fn texts_in(key: &str, value: &Value) -> Result<(), DraftError> {
    /// The boolean tool arguments, and the numbers.
    const YES_OR_NO: [&str; 2] = ["refutes", "claimed"];
    const NUMBERS: [&str; 3] = ["exitCode", "line", "lines"];
    match value {
        Value::Number(number) if number.is_f64() || !NUMBERS.contains(&key) => {
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

/// Returns the first line of which YAML dropped a part, such as ` #12 is the cause` after a title: with letters in place of the
/// marks, a text is longer. A comment on a line of its own, or after a field of one word, is accepted.
fn cut_line(text: &str, value: &Value) -> Option<usize> {
    /// A character that YAML takes for a letter.
    const LETTER: char = '\u{E000}';
    let unmarked = |line: &str| {
        let mut before = ' ';
        let letter = |c: char| {
            let is_mark = "#!&".contains(c) && before.is_whitespace();
            before = c;
            if is_mark { LETTER } else { c }
        };
        line.chars().map(letter).collect::<String>()
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let with =
        |number: usize, line: &str| [&lines[..number], &[line], &lines[number + 1..]].concat().concat();
    let is_other = |text: &str| {
        let read = yaml::from_text::<Value>(text);
        read.map(|other| is_longer("", value, &other))
    };
    // Without this, a long text would be read once for each of its lines.
    if is_other(&lines.iter().map(|line| unmarked(line)).collect::<String>()) == Ok(false) {
        return None;
    }
    let is_cut = |(number, line): (usize, String)| {
        let at = line.find(LETTER)?;
        let is_cut = is_other(&with(number, &line));
        // What follows the mark may be no YAML.
        let is_cut = is_cut.or_else(|_| is_other(&with(number, &format!("{}{LETTER}\n", &line[..at]))));
        (is_cut == Ok(true)).then_some(number + 1)
    };
    lines.iter().map(|line| unmarked(line)).enumerate().find_map(is_cut)
}

/// Returns whether a text in the second value differs from the first, except in fields whose text has no spaces.
fn is_longer(key: &str, value: &Value, other: &Value) -> bool {
    const WORDS: [&str; 6] = ["id", "nodeId", "parent", "state", "refutes", "exitCode"];
    match (value, other) {
        (Value::Array(values), Value::Array(others)) if values.len() == others.len() => {
            values.iter().zip(others).any(|(value, other)| is_longer(key, value, other))
        }
        (Value::Object(fields), Value::Object(others)) if fields.len() == others.len() => {
            fields.iter().any(|(key, value)| others.get(key).is_none_or(|other| is_longer(key, value, other)))
        }
        (Value::String(_) | Value::Null, Value::String(other)) if !WORDS.contains(&key) => {
            value.as_str().unwrap_or_default().chars().count() != other.chars().count()
        }
        _ => !WORDS.contains(&key) && value != other,
    }
}

fn fields(value: Value) -> Result<DraftFields, DraftError> {
    match value {
        Value::Object(fields) => Ok(given(fields)),
        _ => Err(DraftError::NoFields),
    }
}

/// Drops fields without a value.
fn given(fields: DraftFields) -> DraftFields {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Trims blank lines around the text. The first line keeps its indent, which is significant in Markdown.
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
            ("headline: 0606", "headline"),
            ("evidence: No", "evidence"),
            ("alternativesConsidered: [1.10, b]", "alternativesConsidered"),
        ] {
            let error = results(&format!("---\nnodeId: R1.A\n{line}\n---\n")).unwrap_err();
            assert!(error.contains(&format!("YAML reads `{key}` as ")), "{line}: {error}");
        }
        let kept = "---\nheadline: '1.10'\nrefutes: true\ncommands: [{command: ls, exitCode: 0}]\n---\n";
        let read =
            json!({"headline": "1.10", "refutes": true, "commands": [{"command": "ls", "exitCode": 0}]});
        assert_eq!(results(kept).unwrap(), json!({"results": [read]}));
    }

    #[test]
    fn yaml_cuts_no_text_in_silence() {
        for (line, number) in [
            ("headline: Issue #12 causes it", 3),
            ("headline: #12 causes it", 3),
            ("headline: see #12: it stalls", 3),
            ("headline: &anchor or not", 3),
            ("headline: !important", 3),
            ("headline: It stalls\n  with #12 and\n  #13", 4),
            ("caveats: # two\n- Port C # to Rust", 4),
            ("caveats: [Port C #\n  , b]", 3),
        ] {
            let error = results(&format!("---\nstate: OPEN # for now\n{line}\n---\nText.\n")).unwrap_err();
            assert!(error.starts_with(&format!("line {number}: YAML would drop")), "{line}: {error}");
        }
        let kept = "---\n# of #12\nstate: OPEN # for now\nheadline: 'Issue #12: \"it\"'\nevidence: | # a log\n  a # b\n\
                    caveats: # two\n  # the first\n- \"C # and # D\" # said\n- C# ! & d\ncommands: [{command: 'ls #', exitCode: 0}] # one\n---\n";
        let read = json!({"state": "OPEN", "headline": "Issue #12: \"it\"", "evidence": "a # b\n",
            "caveats": ["C # and # D", "C# ! & d"], "commands": [{"command": "ls #", "exitCode": 0}]});
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
    fn a_plain_draft_reads_back_as_it_was_written() {
        let findings = "# Heading\n\nText: \"of\" it.\n\n## Evidence\n\nis a heading here.";
        let alternatives = ["A cache: no, it was cold.".to_owned(), "Two\nlines.".to_owned()];
        let list = plain_list(&alternatives);
        let fields = [
            ("title", "a: \"b\" # c"),
            ("headline", ""),
            ("evidence", "two: lines\n- of it"),
            ("alternativesConsidered", list.as_str()),
            ("findings", findings),
        ];
        let written = plain_text("R1.A Why: now?", &fields);
        let read = json!({"nodeId": "R1.A", "title": "a: \"b\" # c", "evidence": "two: lines\n- of it",
            "alternativesConsidered": alternatives, "findings": findings});
        assert_eq!(Value::Object(single(&written, "findings").unwrap()), read);
        assert_eq!(results(&written.replace('\n', "\r\n")).unwrap()["results"][0]["nodeId"], "R1.A");
        let written = plain_text(CONCLUSION, &[("reason", ""), ("conclusion", "Text.")]);
        assert_eq!(Value::Object(single(&written, "conclusion").unwrap()), json!({"conclusion": "Text."}));
    }

    #[test]
    fn nothing_in_a_plain_draft_is_lost_wherever_it_stands() {
        let text = "# R1.A Why?\nstate: DEAD\nHeadline: It goes\non here\n\nA text: first.\n\n## evidence\nA log.\n\n\
                    ## Alternatives\nOne: no.\n* Two\n  goes on\n\n## References\n- none\n## Findings\nA text.\n## Caveats\n";
        assert_eq!(
            results(text).unwrap()["results"][0],
            json!({"nodeId": "R1.A", "state": "DEAD", "headline": "It goes on here", "evidence": "A log.",
                "alternativesConsidered": ["One: no.", "Two\ngoes on", "## References", "none"],
                "findings": "A text: first.\n\nA text.\n## Caveats"})
        );
        assert_eq!(plain("# A heading\n"), None);
    }
}
