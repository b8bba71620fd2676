//! The authoring guide: its example runs as written, its snippets are valid, and no key is missing.

use serde_json::{Map, Value, json};
use tree_of_thoughts::ruleset::rules::{KINDS, RuleKind};
use tree_of_thoughts::ruleset::schema::json_schema;
use tree_of_thoughts::ruleset::{Ruleset, RulesetFile, builtin};
use tree_of_thoughts::yaml;

use super::{GUIDE, begun, blocks, example};
use crate::support::{Sandbox, TOT_REPORT, codes};

/// How the rules work: `rules/transcripts/post-mortem.md`.
#[test]
fn the_example_is_offered_to_agents_and_its_rules_reach_the_report() {
    let (mut session, start) = begun(&Sandbox::new());
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
    let status = session.ok("tot_status", json!({"graph": "dot"}));
    let states = json!({"CONFIRMED": 0, "EVIDENCE": 0, "HYPOTHESIS": 1, "REFUTED": 0, "ROOT_CAUSE": 0});
    assert_eq!(status["activeByState"], states);
    let legend = "L_ROOT_CAUSE [fillcolor=orange, label=\"ROOT_CAUSE\"];";
    assert!(status["dot"].as_str().unwrap().contains(legend), "{status:#}");
    let repository = session.repository();
    let made = session.sandbox.run(TOT_REPORT, &[repository.to_str().unwrap(), "--out", "site"]);
    assert_eq!(made.status, 0, "{}", made.err);
    let judged = std::fs::read_to_string(session.sandbox.path("site/judged.html")).unwrap();
    let states = states.as_object().unwrap().keys().map(String::as_str);
    for word in states.chain(["TEST_FIRST", "CONFIRM_FIRST", "post-mortem"]) {
        assert!(judged.contains(word), "{word} is not on the page of the rules");
    }
    session.assert_sound();
}

/// Below these keys, the guide has a heading.
const HEADINGS: [(&str, &str); 4] =
    [("states", "States"), ("roots", "Proposals"), ("earlyStates", "Commits"), ("end", "Ending")];

/// The guide takes the text on a rule kind from the docs of its module, in the order of the keys in `Ruleset`.
/// `TOT_WRITE_GUIDE=1` writes it anew.
#[test]
fn the_guide_has_the_docs_of_each_rule_kind() {
    let sources = crate::tidy::files("src/core/ruleset/rules", &["rs"]);
    let docs = |kind: &RuleKind| {
        let is_its = |text: &&String| text.contains(&format!("key: \"{}\",", kind.key));
        let source = sources.iter().map(|(_, text)| text).find(is_its).unwrap();
        source.split("\n\n").next().unwrap().replace("//! ", "").replace("//!", "") + "\n\n"
    };
    let keys = yaml::from_text::<Ruleset>("unknown: 1").unwrap_err().message;
    let mut now = String::new();
    for key in keys.split_once("expected one of ").unwrap().1.split(", ") {
        let heading = HEADINGS.iter().find(|(first, _)| *first == key);
        now.extend(heading.map(|(_, heading)| format!("### {heading}\n\n")));
        now.extend(KINDS.iter().filter(|kind| kind.key.split('.').next() == Some(key)).map(docs));
    }
    let [start, end] = ["### States\n", "## Contradictions\n"].map(|heading| GUIDE.find(heading).unwrap());
    let guide = [&GUIDE[..start], &now, &GUIDE[end..]].concat();
    match std::env::var_os("TOT_WRITE_GUIDE") {
        Some(_) => std::fs::write("src/core/ruleset/builtin/README.md", guide).unwrap(),
        None => assert!(guide == GUIDE, "TOT_WRITE_GUIDE=1 writes the guide anew"),
    }
}

/// Each snippet, inserted in place of the example's own keys or states, gives a valid ruleset.
#[test]
fn every_snippet_is_sound() {
    for snippet in &blocks()[1..] {
        let mut ruleset: Value = yaml::from_text(example()).unwrap();
        match yaml::from_text::<Value>(snippet).unwrap() {
            Value::Object(keys) => {
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
    let definitions = schema["definitions"].as_object().unwrap().values();
    let properties = definitions.clone().chain([&schema]).filter_map(|it| it["properties"].as_object());
    let variants = definitions.filter_map(|it| it["oneOf"].as_array()).flatten();
    let variants = variants.filter_map(|it| it["const"].as_str());
    let keys: Vec<&str> = properties.flat_map(Map::keys).map(String::as_str).chain(variants).collect();
    assert!(keys.len() > 50, "{keys:?}");
    for key in keys {
        let explained = GUIDE.contains(&format!("`{key}`")) || GUIDE.contains(&format!("`\"{key}\"`"));
        let shown = GUIDE.contains(&format!("{key}: "));
        assert!(explained || shown, "the guide does not explain {key}");
    }
}

/// Asserts that the value matches the schema, with references resolved. Counts the known keys, optional values and
/// variants.
fn fits(root: &Value, schema: &Value, value: &Value, path: &str, asked: &mut [usize; 3]) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/definitions/").unwrap();
        return fits(root, &root["definitions"][name], value, path, asked);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().for_each(|part| fits(root, part, value, path, asked));
    }
    if let Some(any) = schema["anyOf"].as_array() {
        asked[1] += 1;
        let part = any.iter().find(|part| part["type"] != "null").unwrap();
        return fits(root, part, value, path, asked);
    }
    if let Some(variants) = schema["oneOf"].as_array() {
        let known = variants.iter().any(|one| {
            &one["const"] == value || one["enum"].as_array().is_some_and(|all| all.contains(value))
        });
        assert!(known, "{path}: {value}");
        asked[2] += 1;
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
                asked[0] += 1;
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
    let mut asked = [0; 3];
    for (name, text) in texts {
        fits(&schema, &schema, &yaml::from_text::<Value>(text).unwrap(), name, &mut asked);
    }
    assert!(asked.iter().all(|number| *number > 0), "{asked:?}");
}
