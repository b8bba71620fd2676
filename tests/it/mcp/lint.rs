//! What a client could stumble over in a tool: its names, texts and schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree_of_thoughts::domain::Caller;
use tree_of_thoughts::mcp::server::MAX_INSTRUCTIONS;
use tree_of_thoughts::mcp::tool::{About, Tool, ToolReply};
use tree_of_thoughts::mcp::wire::ReplyFields;
use tree_of_thoughts::mcp::{coercion, schema};

/// What a client could stumble over; empty when nothing.
pub fn faults(instructions: &str, tools: &[Tool]) -> Vec<String> {
    let mut faults = Vec::new();
    if instructions.chars().count() > MAX_INSTRUCTIONS {
        faults.push(format!("the instructions are longer than {MAX_INSTRUCTIONS} characters"));
    }
    for (at, tool) in tools.iter().enumerate() {
        let About { name, title, description, .. } = tool.about();
        let fault = |what: String| format!("{name}: {what}");
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if name.is_empty() || name.len() > 64 || !plain {
            faults.push(fault("a name is 1 to 64 letters, digits, `_` and `-`".to_owned()));
        }
        if title.is_empty() || description.is_empty() {
            faults.push(fault("the title or the description is missing".to_owned()));
        }
        if tools[..at].iter().any(|other| other.about().name == *name) {
            faults.push(fault("there are two of this name".to_owned()));
        }
        faults.extend(input(tool.input_schema()).into_iter().map(fault));
        let example = coercion::example(tool.input_schema());
        if coercion::understand(tool.input_schema(), &example) != Ok(example) {
            faults.push(fault("the example doesn't fit the input schema".to_owned()));
        }
    }
    faults
}

/// The formats of JSON Schema itself.
const FORMATS: [&str; 9] =
    ["date-time", "date", "time", "duration", "email", "uri", "uri-reference", "uuid", "regex"];

fn input(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    root(schema, &mut faults);
    at(schema, "the root", &mut faults);
    faults
}

fn root(schema: &Value, faults: &mut Vec<String>) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        faults.push("the root isn't `type: object`".to_owned());
    }
    for word in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        if schema.get(word).is_some() {
            faults.push(format!("the root has `{word}`"));
        }
    }
}

fn at(schema: &Value, place: &str, faults: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    for word in ["$ref", "$defs", "definitions", "$schema"] {
        if schema.contains_key(word) {
            faults.push(format!("{place} has `{word}`"));
        }
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && !FORMATS.contains(&format)
    {
        faults.push(format!("{place} has the format `{format}`, which JSON Schema doesn't know"));
    }
    for many in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(parts)) = schema.get(many) {
            if place != "the root" {
                faults.push(format!("{place} has `{many}`, which the coercion reader can't judge"));
            }
            parts.iter().for_each(|part| at(part, place, faults));
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(one) {
            at(part, &format!("{place}[]"), faults);
        }
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    if matches!(schema.get("additionalProperties"), None | Some(Value::Bool(true))) {
        faults.push(format!("{place} lets unknown fields in"));
    }
    for (name, property) in properties {
        let place = if place == "the root" { format!("`{name}`") } else { format!("{place} `{name}`") };
        let nullable = property.get("type").and_then(Value::as_array).is_some();
        if nullable {
            faults.push(format!("{place} is of several types, which the coercion reader can't judge"));
        }
        if property.get("description").is_none() {
            faults.push(format!("{place} has no description"));
        }
        at(property, &place, faults);
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    One { a: String },
    Two { b: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct LintedTree {
    /// Its children.
    children: Vec<LintedTree>,
}

#[derive(Deserialize, JsonSchema)]
struct NoInput {}

#[test]
fn what_cannot_fit_is_reported() {
    assert!(input(&schema::input::<Either>()).iter().any(|fault| fault.contains("anyOf")));
    assert!(input(&schema::input::<LintedTree>()).iter().any(|fault| fault.contains("$ref")));
    assert!(input(&schema::input::<String>()).iter().any(|fault| fault.contains("type: object")));
    let bad = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "uint8"}}});
    assert_eq!(input(&bad).len(), 4, "{:?}", input(&bad));
}

#[test]
fn what_clients_stumble_over_is_found() {
    let about = |name, title| About { name, title, description: "Does.", read_only: true, ..About::PLAIN };
    let done = |_: NoInput, _: &Caller, _| ToolReply::done(ReplyFields::default(), &(), &(), 1_500);
    let tool = |about| Tool::new(about, done);
    let good = || tool(about("tot_good", "Good"));
    assert_eq!(faults("Read me.", &[good()]), Vec::<String>::new());
    let many = faults(&"x".repeat(MAX_INSTRUCTIONS + 1), &[good(), good(), tool(about("tot.odd", ""))]);
    assert_eq!(many.len(), 4, "{many:?}");
}
