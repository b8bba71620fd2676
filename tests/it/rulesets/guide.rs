//! The authoring guide: its example runs as written, its snippets are valid, and no key is missing.

use serde_json::{Value, json};
use tree_of_thoughts::ruleset::schema::json_schema;
use tree_of_thoughts::ruleset::{RulesetFile, builtin};
use tree_of_thoughts::yaml;

use super::{GUIDE, begun, blocks, example};
use crate::support::{Sandbox, TOT_REPORT, codes};

/// How the rules work: `rules/transcripts/post-mortem.md`.
#[test]
fn the_example_is_offered_to_agents_and_its_rules_reach_the_report() {
    let sandbox = Sandbox::new();
    let (mut session, start) = begun(&sandbox);
    let hello = session.server.request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}));
    let hello = hello["result"]["instructions"].as_str().unwrap();
    assert!(hello.ends_with("exhaust, review, post-mortem."), "{hello}");
    let unknown = session.server.call("tot_start", json!({"query": "q", "ruleset": "postmortem"}));
    assert_eq!(codes(&unknown["errors"]), ["UNKNOWN_RULESET"]);
    assert!(unknown["errors"][0]["suggestion"].as_str().unwrap().contains(", post-mortem"), "{unknown}");
    let instructions = start["instructions"].as_str().unwrap();
    assert!(instructions.contains("Look for what would"), "{instructions}");
    assert!(instructions.contains("A child in EVIDENCE makes it CONFIRMED."), "{instructions}");
    session.grow(&[("R1.A", None)], "HYPOTHESIS");
    let status = session.ok("tot_status", json!({}));
    let states = json!({"CONFIRMED": 0, "EVIDENCE": 0, "HYPOTHESIS": 1, "REFUTED": 0, "ROOT_CAUSE": 0});
    assert_eq!(status["activeByState"], states);
    let legend = "L_ROOT_CAUSE [fillcolor=orange, label=\"ROOT_CAUSE\"];";
    assert!(status["dot"].as_str().unwrap().contains(legend), "{status:#}");
    let repository = session.repository();
    let made = sandbox.run(TOT_REPORT, &[repository.to_str().unwrap(), "--out", "site"]);
    assert_eq!(made.status, 0, "{}", made.err);
    let judged = std::fs::read_to_string(sandbox.path("site/judged.html")).unwrap();
    let states = states.as_object().unwrap().keys().map(String::as_str);
    for word in states.chain(["TEST_FIRST", "CONFIRM_FIRST", "post-mortem"]) {
        assert!(judged.contains(word), "{word} is not on the page of the rules");
    }
    sandbox.assert_sound(&repository);
}

/// Each snippet, inserted in place of the example's own keys or states, gives a valid ruleset.
#[test]
fn every_snippet_is_sound() {
    assert!(blocks().len() > 10);
    for snippet in &blocks()[1..] {
        let mut ruleset: Value = yaml::from_text(example()).unwrap();
        match yaml::from_text::<Value>(snippet).unwrap() {
            Value::Object(keys) => {
                assert!(snippet.lines().count() <= 3, "a few lines are enough: {snippet}");
                for (key, value) in keys {
                    ruleset[key] = value;
                }
            }
            Value::Array(states) => {
                for state in states {
                    let all = ruleset["states"].as_array_mut().unwrap();
                    let at = all.iter().position(|one| one["name"] == state["name"]).unwrap();
                    all[at] = state;
                }
            }
            other => panic!("{other}"),
        }
        if let Err(errors) = RulesetFile::parse(&yaml::to_text(&ruleset).unwrap()) {
            panic!("{snippet}\n{errors:#?}");
        }
    }
}

#[test]
fn every_key_is_explained() {
    let schema = json_schema();
    let mut keys: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    for definition in schema["definitions"].as_object().unwrap().values() {
        let before = keys.len();
        if let Some(properties) = definition["properties"].as_object() {
            keys.extend(properties.keys().cloned());
        }
        if let Some(variants) = definition["oneOf"].as_array() {
            keys.extend(variants.iter().filter_map(|variant| variant["const"].as_str()).map(str::to_owned));
        }
        let is_plain = definition["type"] != "object" && definition["oneOf"].is_null();
        assert!(keys.len() > before || is_plain, "nothing is read of {definition}");
    }
    assert!(keys.len() > 50, "{keys:?}");
    for key in keys {
        let explained = GUIDE.contains(&format!("`{key}`")) || GUIDE.contains(&format!("`\"{key}\"`"));
        let shown = GUIDE.contains(&format!("{key}: "));
        assert!(explained || shown, "the guide does not explain {key}");
    }
}

/// Counts of the schema features used: keys, optional values and variants.
#[derive(Debug, Default)]
struct Asked {
    required: usize,
    optional: usize,
    variants: usize,
}

/// Asserts that the value matches the schema, with references resolved. Counts the schema features used.
fn fits(root: &Value, schema: &Value, value: &Value, path: &str, asked: &mut Asked) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/definitions/").unwrap();
        return fits(root, &root["definitions"][name], value, path, asked);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().for_each(|part| fits(root, part, value, path, asked));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        asked.optional += 1;
        let part = any.iter().find(|part| part["type"] != "null").unwrap();
        return fits(root, part, value, path, asked);
    }
    if let Some(variants) = schema["oneOf"].as_array() {
        let known = variants.iter().any(|one| {
            &one["const"] == value || one["enum"].as_array().is_some_and(|all| all.contains(value))
        });
        assert!(known, "{path}: {value}");
        asked.variants += 1;
    }
    match value {
        Value::Object(keys) => {
            assert_eq!(schema["additionalProperties"], false, "{path}: unknown keys are marked");
            for (key, value) in keys {
                assert!(!schema["properties"][key].is_null(), "{path}: {key} is not in the schema");
                fits(root, &schema["properties"][key], value, &format!("{path}.{key}"), asked);
            }
            for key in schema["required"].as_array().unwrap_or(&Vec::new()) {
                assert!(keys.contains_key(key.as_str().unwrap()), "{path}: {key} is required");
                asked.required += 1;
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fits(root, &schema["items"], item, path, asked)),
        _ => {}
    }
}

#[test]
fn every_ruleset_fits_the_schema_that_editors_use() {
    let schema = json_schema();
    let texts = builtin::TEXTS.iter().map(|(name, text)| (*name, *text)).chain([("the example", example())]);
    let mut asked = Asked::default();
    for (name, text) in texts {
        fits(&schema, &schema, &yaml::from_text::<Value>(text).unwrap(), name, &mut asked);
    }
    assert!(asked.required > 0 && asked.optional > 0 && asked.variants > 0, "{asked:?}");
}
