//! The authoring guide: its example runs as written, its snippets are valid, and no key is missing.

use serde_json::{Value, json};
use tree_of_thoughts::ruleset::schema::json_schema;
use tree_of_thoughts::ruleset::{RulesetFile, builtin};
use tree_of_thoughts::yaml;

use super::{GUIDE, blocks, example};
use crate::support::{Sandbox, Session, TOT_REPORT, codes, node};

/// Returns a result with an agent and evidence.
fn result(id: &str, state: &str) -> Value {
    json!({
        "nodeId": id,
        "state": state,
        "findings": format!("Findings of {id}.\n\n## References\n\n- src/pool.rs:12 - the pool\n"),
        "evidence": "The log of the load balancer shows it at 09:14, on both machines.",
        "agentId": format!("agent-{id}"),
    })
}

fn grow(session: &mut Session, nodes: &[(&str, Option<&str>, &str)]) -> Value {
    let new: Vec<Value> = nodes.iter().map(|(id, parent, _)| node(id, *parent)).collect();
    session.ok("tot_propose", json!({"nodes": new}));
    session.sandbox.sleep(60);
    let results: Vec<Value> = nodes.iter().map(|(id, _, state)| result(id, state)).collect();
    session.ok("tot_commit", json!({"results": results}))
}

#[test]
fn the_example_runs_from_start_to_report_as_written() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("rulesets");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("post-mortem.yaml"), example()).unwrap();
    let mut server = sandbox.server_with(&["--rulesets", "rulesets"]);
    let hello = server.request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}));
    let hello = hello["result"]["instructions"].as_str().unwrap().to_owned();
    assert!(hello.ends_with("exhaust, review, post-mortem."), "{hello}");
    let unknown = server.call("tot_start", json!({"query": "q", "ruleset": "postmortem"}));
    assert_eq!(codes(&unknown["errors"]), ["UNKNOWN_RULESET"]);
    assert!(unknown["errors"][0]["suggestion"].as_str().unwrap().contains(", post-mortem"), "{unknown}");
    let start = server
        .ok("tot_start", json!({"query": "Why were orders refused on Friday?", "ruleset": "post-mortem"}));
    let instructions = start["instructions"].as_str().unwrap();
    assert!(instructions.contains("Look for what would"), "{instructions}");
    assert!(instructions.contains("A child in EVIDENCE makes it CONFIRMED."), "{instructions}");
    let mut session = Session::of(&sandbox, server, start["sessionId"].as_str().unwrap());
    grow(&mut session, &[("R1.A", None, "HYPOTHESIS")]);
    let second = grow(
        &mut session,
        &[
            ("R2.A1", Some("R1.A"), "REFUTED"),
            ("R2.A2", Some("R1.A"), "HYPOTHESIS"),
            ("R2.A3", Some("R1.A"), "HYPOTHESIS"),
        ],
    );
    assert_eq!(codes(&second["warnings"]), ["TEST_FIRST"]);
    let third = grow(
        &mut session,
        &[
            ("R3.A1a", Some("R2.A1"), "REFUTED"),
            ("R3.A2a", Some("R2.A2"), "CONFIRMED"),
            ("R3.A3a", Some("R2.A3"), "ROOT_CAUSE"),
        ],
    );
    assert_eq!(codes(&third["warnings"]), ["CONFIRM_FIRST"]);
    let message = third["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("commits can't set CONFIRMED"), "{message}");
    let blockers = session.ok("tot_status", json!({}))["owed"].clone();
    assert!(codes(&blockers).contains(&"AWAITING_CONFIRMATION".to_owned()), "{blockers}");
    session.ok(
        "tot_propose",
        json!({"nodes": [node("R4.A2a1", Some("R3.A2a")), node("R4.A3a1", Some("R3.A3a"))]}),
    );
    sandbox.sleep(60);
    let mut bare = result("R4.A2a1", "REFUTED");
    bare["evidence"] = Value::Null;
    let mut anonymous = result("R4.A3a1", "EVIDENCE");
    anonymous["agentId"] = Value::Null;
    let refused = session.refused("tot_commit", json!({"results": [bare, anonymous]}));
    assert_eq!(refused, ["MISSING_EVIDENCE", "MISSING_AGENT"]);
    let fourth = session
        .ok("tot_commit", json!({"results": [result("R4.A2a1", "REFUTED"), result("R4.A3a1", "EVIDENCE")]}));
    let moved: Vec<(&str, &str)> = fourth["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|moved| (moved["nodeId"].as_str().unwrap(), moved["state"].as_str().unwrap()))
        .collect();
    assert!(
        moved.contains(&("R3.A2a", "HYPOTHESIS")) && moved.contains(&("R3.A3a", "CONFIRMED")),
        "{moved:?}"
    );
    let status = session.ok("tot_status", json!({}));
    assert_eq!(
        status["activeByState"],
        json!({"CONFIRMED": 1, "EVIDENCE": 1, "HYPOTHESIS": 5, "REFUTED": 2, "ROOT_CAUSE": 0})
    );
    assert!(
        status["dot"].as_str().unwrap().contains("L_ROOT_CAUSE [fillcolor=orange, label=\"ROOT_CAUSE\"];")
    );
    assert_eq!(status["canEnd"], true, "{status:#}");
    let end = session.ok("tot_end", json!({"conclusion": "The pool was too small."}));
    assert_eq!(end["solutions"][0]["nodeId"], "R3.A3a", "{end:#}");
    assert_eq!(end["solutions"][0]["verified"], true, "{end:#}");

    let site = sandbox.path("site");
    let output =
        sandbox.command(TOT_REPORT).arg(session.repository()).arg("--out").arg(&site).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged = std::fs::read_to_string(site.join("judged.html")).unwrap();
    let words: Vec<String> = states_of_the_example();
    for word in words.iter().map(String::as_str).chain(["TEST_FIRST", "CONFIRM_FIRST", "post-mortem"]) {
        assert!(judged.contains(word), "{word} is not on the page of the rules");
    }
    sandbox.assert_sound(&session.repository());
}

fn states_of_the_example() -> Vec<String> {
    RulesetFile::parse(example()).unwrap().ruleset.states.iter().map(|state| state.name.to_string()).collect()
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
