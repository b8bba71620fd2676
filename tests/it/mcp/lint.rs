//! What a client could stumble over in a tool: its names, texts and schemas; and whether a reply fits its schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tree_of_thoughts::domain::Code;
use tree_of_thoughts::mcp::server::MAX_INSTRUCTIONS;
use tree_of_thoughts::mcp::tool::{self, About, Answer, Tool};
use tree_of_thoughts::mcp::wire::Shared;
use tree_of_thoughts::mcp::{bounded, coercion, schema};

/// What a client could stumble over; empty when nothing.
pub fn faults(instructions: &str, tools: &[Tool]) -> Vec<String> {
    let mut faults = Vec::new();
    if instructions.chars().count() > MAX_INSTRUCTIONS {
        faults.push(format!("the instructions are longer than {MAX_INSTRUCTIONS} characters"));
    }
    let rejection =
        tool::rejection("no", vec![tool::error(Code::InvalidArgument, "no", Some("yes"))]).content;
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
        faults.extend(output(tool.output_schema()).into_iter().map(fault));
        faults.extend(misfits(tool.output_schema(), &rejection).into_iter().map(fault));
        let example = coercion::example(tool.input_schema());
        if coercion::understand(tool.input_schema(), &example) != Ok(example) {
            faults.push(fault("the example doesn't fit the input schema".to_owned()));
        }
    }
    faults
}

/// How a reply, as it stands, does not fit the output schema of its tool; nothing is coerced. A reply may have no field
/// on its first level that the schema does not name, but for the count of what was left out.
pub fn misfits(schema: &Value, reply: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for name in reply.as_object().into_iter().flat_map(Map::keys) {
        if schema["properties"][name].is_null() && name != bounded::OMITTED {
            faults.push(format!("`{name}` is not in the schema"));
        }
    }
    misfits_at(schema, reply, "the reply", &mut faults);
    faults
}

fn misfits_at(schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
    let is_of = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is_of),
        kind => is_of(kind),
    };
    if !fits {
        faults.push(format!("{place} is {value} and not {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        faults.push(format!("{place} is {value} and not one of {}", schema["enum"]));
    }
    for (at, entry) in value.as_array().into_iter().flatten().enumerate() {
        misfits_at(&schema["items"], entry, &format!("{place}[{at}]"), faults);
    }
    let Some(fields) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            faults.push(format!("{place} lacks `{name}`"));
        }
    }
    for (name, field) in fields {
        let known = &schema["properties"][name];
        let of_map = &schema["additionalProperties"];
        misfits_at(if known.is_null() { of_map } else { known }, field, &format!("{place}.{name}"), faults);
    }
}

/// The formats of JSON Schema itself.
const FORMATS: [&str; 9] =
    ["date-time", "date", "time", "duration", "email", "uri", "uri-reference", "uuid", "regex"];

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Input,
    Output,
}

fn input(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    root(schema, &mut faults);
    at(schema, "the root", Side::Input, &mut faults);
    faults
}

fn output(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    root(schema, &mut faults);
    at(schema, "the root", Side::Output, &mut faults);
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

fn at(schema: &Value, place: &str, side: Side, faults: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    for word in ["$ref", "$defs", "definitions", "$schema", bounded::KEEP] {
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
            if side == Side::Input && place != "the root" {
                faults.push(format!("{place} has `{many}`, which the coercion reader can't judge"));
            }
            parts.iter().for_each(|part| at(part, place, side, faults));
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(one) {
            at(part, &format!("{place}[]"), side, faults);
        }
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    match (side, schema.get("additionalProperties")) {
        (Side::Input, None | Some(Value::Bool(true))) => {
            faults.push(format!("{place} lets unknown fields in"))
        }
        (Side::Output, Some(Value::Bool(false))) => faults.push(format!("{place} allows no further fields")),
        _ => {}
    }
    for (name, property) in properties {
        let place = if place == "the root" { format!("`{name}`") } else { format!("{place} `{name}`") };
        let nullable = property.get("type").and_then(Value::as_array).is_some();
        if side == Side::Input {
            if nullable {
                faults.push(format!("{place} is of several types, which the coercion reader can't judge"));
            }
            if property.get("description").is_none() {
                faults.push(format!("{place} has no description"));
            }
        }
        at(property, &place, side, faults);
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    One { a: String },
    Two { b: String },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    /// Its children.
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct NoInput {}

#[test]
fn what_cannot_fit_is_reported() {
    assert!(input(&schema::input::<Either>()).iter().any(|fault| fault.contains("anyOf")));
    assert!(input(&schema::input::<Tree>()).iter().any(|fault| fault.contains("$ref")));
    assert!(input(&schema::input::<String>()).iter().any(|fault| fault.contains("type: object")));
    let bad = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "uint8"}}});
    assert_eq!(input(&bad).len(), 4, "{:?}", input(&bad));
}

#[test]
fn what_clients_stumble_over_is_found() {
    let about =
        |name, title| About { name, title, description: "Does.", read_only: true, ..About::default() };
    let tool = |about| Tool::new(about, |_: NoInput| Answer::Done { shared: Shared::default(), body: () });
    let good = || tool(about("tot_good", "Good"));
    assert_eq!(faults("Read me.", &[good()]), Vec::<String>::new());
    let many = faults(&"x".repeat(MAX_INSTRUCTIONS + 1), &[good(), good(), tool(about("tot.odd", ""))]);
    assert_eq!(many.len(), 4, "{many:?}");
}

#[test]
fn a_reply_that_does_not_fit_is_found() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}},
        "c": {"type": ["string", "null"]},
    }});
    assert_eq!(misfits(&schema, &json!({"a": [{"b": 1, "more": []}], "c": null})), Vec::<String>::new());
    let faults = misfits(&schema, &json!({"a": [{"b": "1"}], "d": 1}));
    assert_eq!(faults, ["`d` is not in the schema", "the reply.a[0].b is \"1\" and not \"integer\""]);
    assert_eq!(misfits(&schema, &json!({"c": 5})).len(), 2);
}
