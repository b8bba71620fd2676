//! Converts a Rust type to a JSON schema that every client accepts.
//!
//! Guarantees for non-recursive types: the schema contains no `$ref`, no `$schema`, no type names as titles, and no
//! number formats unknown to JSON Schema. It rejects unknown fields, and optional fields are not nullable.
//!
//! Limitations: recursive types, enums with data, enums with documented variants, and optional structs are not
//! supported. They do not cause panics, but `tests/it/mcp/tools.rs` reports tools that use them.
//!
//! Reasons: model APIs reject a root `anyOf`; several clients do not resolve `$ref`; and a `[T, null]` type makes
//! models send nulls.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, RestrictFormats, Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::coercion::EMPTY;

/// Marks an input field that another tool documents: `#[schemars(extend("x-elsewhere" = true))]`. In the tool list,
/// objects nested in the field have only their required properties, and nothing nested in the field has a description.
/// Model APIs refuse an object without properties. Clients do not see the mark.
pub const ELSEWHERE: &str = "x-elsewhere";

/// Returns the schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let settings = settings.with_transform(RestrictFormats::default());
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    RecursiveTransform(drop_null).transform(&mut schema);
    RecursiveTransform(close).transform(&mut schema);
    schema.to_value()
}

/// Descriptions that are omitted from the tool list because the field names suffice.
const PLAIN: [&str; 20] = [
    "From tot_start.",
    "A graph in the reply.",
    "Your model.",
    "The node.",
    "The nodes.",
    "The results.",
    "The new state.",
    "The passage.",
    "The new text.",
    "Its exit code.",
    "How it was verified.",
    "Its file name.",
    "Its output.",
    "The reason.",
    "The full question.",
    "Commands run.",
    "Files to store.",
    "The agent's name.",
    "The amending agent.",
    "The agent that changes it.",
];

/// Returns the schema of a tool's arguments for the tool list. It omits examples, which are used only in errors, and
/// object descriptions, since the fields have their own descriptions. Fields marked [`ELSEWHERE`] are reduced to
/// their types.
pub fn for_list(schema: &Value) -> Value {
    let mut listed = schema.clone();
    if let Ok(schema) = (&mut listed).try_into() {
        RecursiveTransform(shorten).transform(schema);
    }
    listed
}

fn shorten(schema: &mut Schema) {
    schema.remove("examples");
    schema.remove(EMPTY);
    // An object's fields describe it.
    let is_plain =
        schema.get("description").and_then(Value::as_str).is_some_and(|words| PLAIN.contains(&words));
    if is_plain || schema.get("properties").is_some() {
        schema.remove("description");
    }
    // Empty defaults go without saying. The error for an unknown field explains that there are no other fields.
    let nothing = [json!([]), json!({}), json!(0), json!(false), json!("")];
    if schema.get("default").is_some_and(|value| nothing.contains(value)) {
        schema.remove("default");
    }
    if schema.get("additionalProperties") == Some(&json!(false)) {
        schema.remove("additionalProperties");
    }
    if schema.remove(ELSEWHERE).is_some() {
        transform_subschemas(&mut RecursiveTransform(outline), schema);
    }
}

/// Makes objects reject unknown fields.
fn close(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut().filter(|schema| schema.get("type") == Some(&json!("object")))
    else {
        return;
    };
    if !schema.contains_key("additionalProperties") {
        // Schemas of empty structs lack `properties`, which some clients take to mean "anything".
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Removes optional object fields and descriptions.
fn outline(schema: &mut Schema) {
    let required = schema.remove("required").unwrap_or_default();
    let required: Vec<&str> = required.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| required.contains(&name.as_str()));
    }
    for word in ["additionalProperties", "description"] {
        schema.remove(word);
    }
}

/// Turns `[T, null]` into `T`.
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

    /// The level of detail.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum TestDetail {
        Concise,
        Full,
    }

    /// A proposal.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct TestNode {
        /// Its id.
        id: String,
        /// The parent's id.
        parent: Option<String>,
        /// Its title.
        title: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct TestInput {
        /// The nodes.
        nodes: Vec<TestNode>,
        /// How much to tell.
        detail: Option<TestDetail>,
        /// How many.
        #[schemars(range(min = 1, max = 20))]
        max_tasks: Option<u32>,
        /// What to vary.
        dimensions: Option<BTreeMap<String, Vec<String>>>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct TestNothing {}

    #[test]
    fn an_input_is_inline_closed_and_without_needless_nulls() {
        let schema = input::<TestInput>();
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(schema["required"], json!(["nodes"]));
        let node = &schema["properties"]["nodes"]["items"];
        assert_eq!(node["type"], "object");
        assert_eq!(node["additionalProperties"], json!(false));
        assert_eq!(node["properties"]["parent"]["type"], "string");
        assert_eq!(node["required"], json!(["id"]));
        // A property named like a keyword is kept.
        assert_eq!(node["properties"]["title"]["type"], "string");
        assert!(schema.get("$schema").is_none());
        assert!(schema.get("title").is_none());
    }

    #[test]
    fn an_enum_is_a_string_with_its_values() {
        let detail = &input::<TestInput>()["properties"]["detail"];
        let plain = json!({"type": "string", "enum": ["concise", "full"]});
        assert_eq!(detail["type"], "string");
        assert_eq!(detail["enum"], plain["enum"]);
        assert_eq!(detail["description"], "How much to tell.");
    }

    #[test]
    fn a_range_stays_and_a_number_format_goes() {
        let tasks = &input::<TestInput>()["properties"]["maxTasks"];
        assert_eq!(tasks["type"], "integer");
        assert_eq!((&tasks["minimum"], &tasks["maximum"]), (&json!(1), &json!(20)));
        assert!(tasks.get("format").is_none());
    }

    #[test]
    fn a_map_keeps_the_schema_of_its_values() {
        let dimensions = &input::<TestInput>()["properties"]["dimensions"];
        assert_eq!(dimensions["type"], "object");
        assert_eq!(dimensions["additionalProperties"]["type"], "array");
    }

    #[test]
    fn an_input_without_fields_is_a_closed_object() {
        assert_eq!(
            input::<TestNothing>(),
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }
}
