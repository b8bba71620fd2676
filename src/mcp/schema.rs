//! From a Rust type to a JSON schema that every client takes.
//!
//! Guarantees, for a type without recursion: the root is `type: object`; nothing is a `$ref`, all is inline; no
//! `$schema`, no type names as titles, no number formats that JSON Schema doesn't know; an enum of plain variants is
//! `type: string` with an `enum`, the variants' docs folded into its description. An input refuses unknown fields and
//! calls no optional field nullable. An output allows more fields than it names, and requires only those that a
//! rejection has too (those of [`Shared`]), since some clients validate rejections as well.
//!
//! Limits: an enum's undocumented variants come before its documented ones, so document all or none. A recursive type
//! and an enum with data can't be made to fit: `tests/it/mcp/lint.rs` says so of a tool;
//! nothing here panics. Write such a type otherwise.
//!
//! Why so strict: an output schema whose root isn't an object makes older official clients refuse the whole list of
//! tools; model APIs refuse a root `anyOf`; several clients resolve no `$ref`; and a `[T, null]` type makes models
//! send nulls.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::bounded::{KEEP, Keep, Marks};
use super::wire::Shared;

/// Marks an optional field that is required but may be null, such as the parent of a root:
/// `#[schemars(extend("x-nullable" = true))]`. The mark itself doesn't reach the client.
pub const NULLABLE: &str = "x-nullable";

/// Marks a field of the input whose parts another tool explains: `#[schemars(extend("x-elsewhere" = true))]`. The mark
/// itself doesn't reach the client.
pub const ELSEWHERE: &str = "x-elsewhere";

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Value {
    let generated = settings().into_generator().into_root_schema_for::<T>().to_value();
    finish(generated, Side::Input)
}

/// The schema of a tool's arguments as a list of tools shows it: without the examples, which are for the errors of a call
/// that doesn't fit, without words on objects, whose fields have theirs, and with no descriptions below a field that says [`ELSEWHERE`].
pub fn listed(schema: &Value) -> Value {
    let mut listed = schema.clone();
    shorten(&mut listed);
    listed
}

fn shorten(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    schema.remove("examples");
    // Of an object, its fields say what it is.
    if schema.contains_key("properties") {
        schema.remove("description");
    }
    // That nothing is given unless something is goes without saying.
    if schema
        .get("default")
        .is_some_and(|value| *value == json!([]) || *value == json!({}) || *value == json!(0))
    {
        schema.remove("default");
    }
    let elsewhere = schema.remove(ELSEWHERE).is_some();
    for one in ["items", "additionalProperties"] {
        if let Some(part) = schema.get_mut(one) {
            shorten(part);
            if elsewhere {
                silence(part);
            }
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(shorten);
    }
}

/// The schema of a tool's replies, and how their fields are kept.
pub struct Output {
    /// The schema.
    pub schema: Value,
    /// The marks of the fields.
    pub marks: Marks,
}

/// The schema of a tool's replies: what each reply has, and the fields of the body, none of them required, since a
/// rejection has none. Without descriptions: the names say it, the tool's own description says the rest, and every word
/// of the list of tools costs each agent that connects.
pub fn output<B: JsonSchema>() -> Output {
    let mut schema = reply::<Shared>();
    let mut marks = Marks::new();
    let mut body = reply::<B>();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter();
    for fields in fields {
        fields.extend(body["properties"].as_object_mut().map(std::mem::take).unwrap_or_default());
        for (name, field) in fields {
            let mark = field.as_object_mut().and_then(|field| field.remove(KEEP));
            marks.extend(mark.and_then(|mark| Some((name.clone(), Keep::parse(mark.as_str()?)?))));
        }
    }
    Output { schema, marks }
}

fn reply<T: JsonSchema>() -> Value {
    let generated = settings().for_serialize().into_generator().into_root_schema_for::<T>().to_value();
    let mut schema = finish(generated, Side::Output);
    silence(&mut schema);
    schema
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Input,
    Output,
}

/// The formats of JSON Schema itself. schemars adds `uint32`, `double` and the like, at which strict clients warn.
const FORMATS: [&str; 9] =
    ["date-time", "date", "time", "duration", "email", "uri", "uri-reference", "uuid", "regex"];

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

fn finish(mut schema: Value, side: Side) -> Value {
    tidy(&mut schema, side);
    if let Value::Object(root) = &mut schema {
        // An empty struct comes without a word about its properties, which some clients take for "anything".
        if root.get("type").and_then(Value::as_str) == Some("object") {
            root.entry("properties").or_insert_with(|| json!({}));
            if side == Side::Input && !root.contains_key("additionalProperties") {
                root.insert("additionalProperties".to_owned(), json!(false));
            }
        }
    }
    schema
}

/// Tidies a schema and those in it. Walks by position, since a property may be named like a keyword (`title`).
fn tidy(schema: &mut Value, side: Side) {
    let Value::Object(schema) = schema else { return };
    for word in ["$schema", "title", "unevaluatedProperties"] {
        schema.remove(word);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
    for many in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(parts)) = schema.get_mut(many) {
            parts.iter_mut().for_each(|part| tidy(part, side));
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(part) = schema.get_mut(one) {
            tidy(part, side);
        }
    }
    fold_single(schema);
    fold_enum(schema);
    fold_null(schema);
    if let Some(only) = schema.remove("const") {
        schema.insert("enum".to_owned(), json!([only]));
    }
    tidy_properties(schema, side);
}

fn tidy_properties(schema: &mut Map<String, Value>, side: Side) {
    let mut required: Vec<Value> = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        tidy(property, side);
        let Value::Object(property) = property else { continue };
        let listed = required.iter().any(|other| other == name);
        if property.remove(NULLABLE) == Some(Value::Bool(true)) {
            if !listed {
                required.push(json!(name));
            }
        } else if side == Side::Input || !listed {
            // Optional means: leave it out. In an output a field that is always there may well be null.
            drop_null(property);
        }
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    match side {
        Side::Input => {
            schema.entry("additionalProperties").or_insert(json!(false));
        }
        Side::Output if schema.get("additionalProperties") == Some(&json!(false)) => {
            schema.remove("additionalProperties");
        }
        Side::Output => {}
    }
}

/// Takes away what only explains.
fn silence(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for word in ["description", "minimum", "examples"] {
        schema.remove(word);
    }
    for one in ["items", "additionalProperties"] {
        if let Some(part) = schema.get_mut(one) {
            silence(part);
        }
    }
    for many in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(parts)) = schema.get_mut(many) {
            parts.iter_mut().for_each(silence);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(silence);
    }
}

/// `allOf: [X]`, which is how a description is laid over a type, becomes X with that description.
fn fold_single(schema: &mut Map<String, Value>) {
    for word in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = schema.get(word)
            && let [Value::Object(only)] = parts.as_slice()
        {
            let only = only.clone();
            schema.remove(word);
            lay_under(schema, only);
        }
    }
}

/// `oneOf` of constants, which is how documented variants come, becomes one `enum` whose description names them.
fn fold_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = schema.get("oneOf") else { return };
    let mut values = Vec::new();
    let mut docs = Vec::new();
    for part in parts {
        let named: Vec<&Value> = match (part.get("const"), part.get("enum")) {
            (Some(only), _) => vec![only],
            (None, Some(Value::Array(some))) => some.iter().collect(),
            _ => return,
        };
        if named.iter().any(|value| !value.is_string()) {
            return;
        }
        if let ([Value::String(name)], Some(doc)) =
            (named.iter().map(|v| (*v).clone()).collect::<Vec<_>>().as_slice(), part.get("description"))
        {
            docs.push(format!("- {name}: {}", doc.as_str().unwrap_or_default().replace('\n', " ")));
        }
        values.extend(named.into_iter().cloned());
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(values));
    if !docs.is_empty() {
        let lead = schema.get("description").and_then(Value::as_str).map(|lead| format!("{lead}\n"));
        let description = format!("{}{}", lead.unwrap_or_default(), docs.join("\n"));
        schema.insert("description".to_owned(), json!(description));
    }
}

/// `anyOf: [X, null]`, which is how an optional struct comes, becomes X of type `[…, null]`, like other options.
fn fold_null(schema: &mut Map<String, Value>) {
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = schema.get(word) else { continue };
        let is_null = |part: &Value| part.get("type").and_then(Value::as_str) == Some("null");
        let rest: Vec<&Value> = parts.iter().filter(|part| !is_null(part)).collect();
        if let [Value::Object(only)] = rest.as_slice()
            && rest.len() < parts.len()
        {
            let mut only = only.clone();
            if let Some(Value::String(kind)) = only.get("type") {
                let both = json!([kind, "null"]);
                only.insert("type".to_owned(), both);
            }
            if let Some(Value::Array(values)) = only.get_mut("enum") {
                values.push(Value::Null);
            }
            schema.remove(word);
            lay_under(schema, only);
        }
    }
}

/// Adds the words of `lower` that `schema` hasn't. A field's own description wins over that of its type, but the list
/// of an enum's values is kept under it.
fn lay_under(schema: &mut Map<String, Value>, lower: Map<String, Value>) {
    for (word, value) in lower {
        match (schema.get_mut(&word), value) {
            (None, value) => {
                schema.insert(word, value);
            }
            (Some(Value::String(upper)), Value::String(lower)) if word == "description" => {
                for line in lower.lines().skip_while(|line| !line.starts_with("- ")) {
                    upper.push('\n');
                    upper.push_str(line);
                }
            }
            (Some(_), _) => {}
        }
    }
}

fn drop_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    /// How far to go.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Detail {
        /// Only the
        /// counts.
        Concise,
        /// All.
        Full,
    }

    /// A proposal.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Node {
        /// Its id.
        id: String,
        /// The parent's id, null for a root.
        #[schemars(extend("x-nullable" = true))]
        parent: Option<String>,
        /// Its title.
        title: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        /// The nodes.
        nodes: Vec<Node>,
        /// One more.
        last_node: Option<Node>,
        /// How much to tell.
        detail: Option<Detail>,
        /// How many.
        #[schemars(range(min = 1, max = 20))]
        max_tasks: Option<u32>,
        /// What to vary.
        dimensions: Option<BTreeMap<String, Vec<String>>>,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        detail: Detail,
        session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        parent: Option<String>,
        #[schemars(extend("x-keep" = "last"))]
        nodes: Vec<Node>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Nothing {}

    #[test]
    fn an_input_is_inline_closed_and_without_needless_nulls() {
        let schema = input::<Input>();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["required"], json!(["nodes"]));
        let node = &schema["properties"]["nodes"]["items"];
        assert_eq!(node["type"], "object");
        assert_eq!(node["additionalProperties"], json!(false));
        assert_eq!(node["properties"]["parent"]["type"], json!(["string", "null"]));
        assert_eq!(node["required"], json!(["id", "parent"]));
        // A property named like a keyword stays.
        assert_eq!(node["properties"]["title"]["type"], "string");
        assert_eq!(schema["properties"]["lastNode"]["type"], "object");
        assert!(schema.get("$schema").is_none());
        assert!(schema.get("title").is_none());
    }

    #[test]
    fn an_enum_is_a_string_whose_description_names_its_values() {
        let detail = &input::<Input>()["properties"]["detail"];
        assert_eq!(detail["type"], "string");
        assert_eq!(detail["enum"], json!(["concise", "full"]));
        let description = detail["description"].as_str().unwrap_or_default();
        assert_eq!(description, "How much to tell.\n- concise: Only the counts.\n- full: All.");
        let status = &output::<Body>().schema["properties"]["detail"];
        assert_eq!(
            status,
            &json!({"type": "string", "enum": ["concise", "full"]}),
            "an output explains nothing"
        );
    }

    #[test]
    fn a_range_stays_and_a_number_format_goes() {
        let tasks = &input::<Input>()["properties"]["maxTasks"];
        assert_eq!(tasks["type"], "integer");
        assert_eq!((&tasks["minimum"], &tasks["maximum"]), (&json!(1), &json!(20)));
        assert!(tasks.get("format").is_none());
    }

    #[test]
    fn a_map_keeps_the_schema_of_its_values() {
        let dimensions = &input::<Input>()["properties"]["dimensions"];
        assert_eq!(dimensions["type"], "object");
        assert_eq!(dimensions["additionalProperties"]["type"], "array");
    }

    #[test]
    fn an_input_without_fields_is_a_closed_object() {
        assert_eq!(
            input::<Nothing>(),
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }

    #[test]
    fn an_output_requires_only_what_a_rejection_has() {
        let Output { schema, marks } = output::<Body>();
        assert_eq!(schema["type"], "object");
        let required = ["status", "message", "errors", "warnings", "canEnd", "blockers"];
        assert_eq!(schema["required"], json!(required));
        assert_eq!(schema["properties"]["commit"]["type"], "string");
        assert_eq!(schema["properties"]["parent"]["type"], json!(["string", "null"]));
        assert!(!schema.to_string().contains("additionalProperties"));
        assert_eq!(marks, Marks::from([("nodes".to_owned(), Keep::Last)]));
        assert!(!schema.to_string().contains(KEEP));
    }
}
