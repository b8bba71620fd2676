//! From a Rust type to a JSON schema that every client takes.
//!
//! Guarantees, for a type without recursion: nothing is a `$ref`, all is inline; no `$schema`, no type names as titles, no
//! number formats that JSON Schema doesn't know. An input refuses unknown fields and calls no optional field nullable. An
//! output allows more fields than it names, and requires only those that a rejection has too (those of [`Shared`]), since
//! some clients validate rejections as well.
//!
//! Limits: a recursive type, an enum with data, an enum whose variants are documented and an optional struct can't be made to
//! fit: `tests/it/mcp/lint.rs` says so of a tool; nothing here panics. Write such a type otherwise.
//!
//! Why so strict: an output schema whose root isn't an object makes older official clients refuse the whole list of
//! tools; model APIs refuse a root `anyOf`; several clients resolve no `$ref`; and a `[T, null]` type makes models
//! send nulls.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, RestrictFormats, Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::bounded::{KEEP, Keep, Marks};
use super::wire::Shared;

/// Marks a field of the input whose parts another tool explains: `#[schemars(extend("x-elsewhere" = true))]`. The mark
/// itself doesn't reach the client.
pub const ELSEWHERE: &str = "x-elsewhere";

/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Value {
    let mut schema = generated::<T>(SchemaSettings::draft2020_12());
    RecursiveTransform(drop_null).transform(&mut schema);
    RecursiveTransform(close).transform(&mut schema);
    schema.to_value()
}

/// The schema of a tool's arguments as a list of tools shows it: without the examples, which are for the errors of a call
/// that doesn't fit, without words on objects, whose fields have theirs, and with no descriptions below a field that says [`ELSEWHERE`].
pub fn listed(schema: &Value) -> Value {
    let mut listed = schema.clone();
    if let Ok(schema) = (&mut listed).try_into() {
        RecursiveTransform(shorten).transform(schema);
    }
    listed
}

fn shorten(schema: &mut Schema) {
    schema.remove("examples");
    // Of an object, its fields say what it is.
    if schema.get("properties").is_some() {
        schema.remove("description");
    }
    // That nothing is given unless something is goes without saying.
    if schema.get("default").is_some_and(|value| [json!([]), json!({}), json!(0)].contains(value)) {
        schema.remove("default");
    }
    if schema.remove(ELSEWHERE).is_some() {
        transform_subschemas(&mut RecursiveTransform(silence), schema);
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
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.extend(body["properties"].as_object_mut().map(std::mem::take).unwrap_or_default());
        for (name, field) in fields {
            let mark = field.as_object_mut().and_then(|field| field.remove(KEEP));
            marks.extend(mark.and_then(|mark| Some((name.clone(), Keep::parse(mark.as_str()?)?))));
        }
    }
    Output { schema, marks }
}

fn reply<T: JsonSchema>() -> Value {
    let mut schema = generated::<T>(SchemaSettings::draft2020_12().for_serialize());
    RecursiveTransform(silence).transform(&mut schema);
    RecursiveTransform(drop_null_of_optional).transform(&mut schema);
    schema.to_value()
}

fn generated<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let settings = settings.with_transform(RestrictFormats::default());
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    schema
}

/// Refuses unknown fields.
fn close(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut().filter(|schema| schema.get("type") == Some(&json!("object")))
    else {
        return;
    };
    if !schema.contains_key("additionalProperties") {
        // An empty struct comes without a word about its properties, which some clients take for "anything".
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Takes away what only explains.
fn silence(schema: &mut Schema) {
    for word in ["description", "minimum", "examples"] {
        schema.remove(word);
    }
}

/// Optional means: leave it out. What is always there may well be null.
fn drop_null_of_optional(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &String| required.as_array().is_some_and(|names| names.contains(&json!(name)));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, property) in properties.filter(|(name, _)| !is_required(name)) {
        if let Ok(property) = property.try_into() {
            drop_null(property);
        }
    }
}

/// `[T, null]` becomes `T`.
fn drop_null(schema: &mut Schema) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
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
        Concise,
        Full,
    }

    /// A proposal.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Node {
        /// Its id.
        id: String,
        /// The parent's id.
        parent: Option<String>,
        /// Its title.
        title: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        /// The nodes.
        nodes: Vec<Node>,
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
        assert_eq!(node["properties"]["parent"]["type"], "string");
        assert_eq!(node["required"], json!(["id"]));
        // A property named like a keyword stays.
        assert_eq!(node["properties"]["title"]["type"], "string");
        assert!(schema.get("$schema").is_none());
        assert!(schema.get("title").is_none());
    }

    #[test]
    fn an_enum_is_a_string_with_its_values() {
        let detail = &input::<Input>()["properties"]["detail"];
        let plain = json!({"type": "string", "enum": ["concise", "full"]});
        assert_eq!(detail["type"], "string");
        assert_eq!(detail["enum"], plain["enum"]);
        assert_eq!(detail["description"], "How much to tell.");
        assert_eq!(output::<Body>().schema["properties"]["detail"], plain, "an output explains nothing");
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
