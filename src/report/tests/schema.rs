//! The data of a site has the schema beside it.

use super::*;
use serde_json::{Map, Value};

/// Panics unless every `investigation.json` of the site is valid under the schema that it names.
pub fn assert_valid(files: &Files) {
    for (path, data) in files.iter().filter(|(path, _)| path.ends_with("investigation.json")) {
        let data: Value = serde_json::from_slice(data).unwrap();
        let schema = path.replace("investigation.json", data["$schema"].as_str().unwrap());
        let schema: Value = serde_json::from_slice(&files[&schema]).unwrap();
        let of_rust = ["`None`", "Some(", "[`", "::"].into_iter().find(|it| schema.to_string().contains(it));
        assert_eq!(of_rust, None, "{schema:#}");
        let faults = faults(&data, &schema, &schema);
        assert!(faults.is_empty(), "{path}: {faults:#?}");
    }
}

/// Returns what contradicts the schema, each with its place. A field without a schema is a fault.
fn faults(value: &Value, schema: &Value, root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    for (word, rule) in schema.as_object().unwrap_or(&none) {
        let list = || rule.as_array().unwrap();
        let fitting = || list().iter().filter(|schema| faults(value, schema, root).is_empty()).count();
        let fits = match word.as_str() {
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                found.extend(faults(value, target, root));
                true
            }
            "type" => {
                rule.as_array().map_or(&[rule.clone()][..], Vec::as_slice).iter().any(|kind| {
                    match kind.as_str().unwrap() {
                        "null" => value.is_null(),
                        "boolean" => value.is_boolean(),
                        "string" => value.is_string(),
                        "number" => value.is_number(),
                        "integer" => value.is_u64() || value.is_i64(),
                        "array" => value.is_array(),
                        "object" => value.is_object(),
                        kind => panic!("{kind}"),
                    }
                })
            }
            "enum" => list().contains(value),
            "const" => rule == value,
            "anyOf" => fitting() > 0,
            "oneOf" => fitting() == 1,
            "required" => list().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "items" => {
                let entries = value.as_array().into_iter().flatten();
                found.extend(entries.flat_map(|entry| faults(entry, rule, root)));
                true
            }
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let faults =
                        properties.get(name).map_or(vec![": unknown".into()], |it| faults(value, it, root));
                    found.extend(faults.into_iter().map(|fault| format!("/{name}{fault}")));
                }
                true
            }
            "minimum" => value.as_f64() >= rule.as_f64(),
            "$schema" | "$defs" | "title" | "description" | "format" | "pattern" | "additionalProperties" => {
                true
            }
            word => panic!("the test ignores {word}"),
        };
        if !fits {
            found.push(format!(": {value} contradicts {word}: {rule}"));
        }
    }
    found
}
