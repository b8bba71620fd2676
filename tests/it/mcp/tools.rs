//! What clients see of the tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::mcp::{Tool, tools};
use tree_of_thoughts::service::Service;

use super::table;
use crate::sessions::compare;
use crate::support::{Sandbox, Session, all_tools, node};

/// Asserts that clients and the coercion reader can read a schema and everything in it.
fn assert_plain(place: &str, schema: &Value) {
    for word in
        ["$ref", "$defs", "definitions", "$schema", "anyOf", "oneOf", "allOf", "not", "prefixItems", "format"]
    {
        assert!(schema.get(word).is_none(), "{place} has `{word}`");
    }
    assert!(schema["type"].is_string(), "{place} has several types or none");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        assert_eq!(schema["additionalProperties"], false, "{place} lets unknown fields in");
        assert!(property["description"].is_string(), "{place} `{name}` has no description");
        assert_plain(&format!("{place} `{name}`"), property);
    }
    for inner in ["items", "additionalProperties"].map(|word| &schema[word]) {
        if inner.is_object() {
            assert_plain(&format!("{place}[]"), inner);
        }
    }
}

/// Asserts that each object in a listed schema has properties, which some model APIs demand.
fn assert_no_empty_object(place: &str, schema: &Value) {
    let properties = schema["properties"].as_object();
    assert!(schema["type"] != "object" || properties.is_some_and(|it| !it.is_empty()), "{place}: {schema}");
    for (name, inner) in properties.into_iter().flatten().chain([(&"[]".to_owned(), &schema["items"])]) {
        if inner.is_object() {
            assert_no_empty_object(&format!("{place} {name}"), inner);
        }
    }
}

#[test]
fn no_client_stumbles_over_the_tools() {
    let sandbox = Sandbox::new();
    let listed = sandbox.server().request("tools/list", json!({}))["result"].clone();
    // Every agent that connects pays for it: some 300 tokens of four bytes for each tool, on average.
    let (bytes, most) = (listed.to_string().len(), 1_230 * all_tools().len());
    assert!(bytes <= most, "{bytes} bytes, {most} are allowed");
    let service = Arc::new(Service::new(PathBuf::from("nowhere"), World::Machine, None));
    let instructions = tools::instructions(&service);
    assert!(instructions.chars().count() <= 2_048, "clients cut off the rest");
    assert!(tools::CODES.iter().all(|code| instructions.contains(&code.to_string())), "{instructions}");
    let (known, table) = (tools::all(&service), table());
    let names: Vec<&str> = known.iter().map(|tool| tool.about().name).collect();
    assert!(table["tools"].as_object().unwrap().keys().eq(&names), "tools.json has not {names:?}");
    let listed = listed["tools"].as_array().unwrap();
    assert_eq!(listed.len(), known.len());
    for (tool, known) in listed.iter().zip(&known) {
        let name = &known.about().name;
        assert_eq!(tool["name"], *name);
        assert!(
            name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{name}"
        );
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        let (hints, row) = (&tool["annotations"], &table["tools"][name]);
        assert_eq!(hints["readOnlyHint"], row["reads"], "{name}");
        assert!(row["verdict"].is_object() || row["verdict"].is_string(), "tools.json: verdict of {name}");
        let calls = table["calls"].as_array().unwrap();
        assert!(calls.iter().any(|call| call["tool"] == *name), "tools.json has no call of {name}");
        for hint in ["destructiveHint", "openWorldHint"] {
            assert_eq!(hints[hint], false, "{name}");
        }
        assert!(tool["outputSchema"].is_null(), "{name}: it would ask for structuredContent");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_plain(name, known.input_schema());
        assert_no_empty_object(name, &tool["inputSchema"]);
    }
}

#[test]
fn the_readme_lists_the_tools() {
    const HEAD: &str = "| tool | what it does |\n|---|---|\n";
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let row = |tool: &Tool| {
        let name = tool.about().name;
        let file = project.join(format!("src/mcp/tools/{}.rs", name.trim_start_matches("tot_")));
        let text = std::fs::read_to_string(file).unwrap().replace("\n//!", "");
        let (first, _) = text.split_once('.').unwrap();
        let does = first.strip_prefix(&format!("//! `{name}` ")).unwrap_or_else(|| panic!("{name}: {first}"));
        format!("| `{name}` | {does} |\n")
    };
    let path = project.join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (above, table) = readme.split_once(HEAD).unwrap();
    let (_, below) = table.split_once("\n\n").unwrap();
    compare(&path, format!("{above}{HEAD}{}\n{below}", all_tools().iter().map(row).collect::<String>()));
}

#[test]
fn the_graph_comes_in_the_form_that_was_asked_for() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    let reply = session.ok("tot_propose", json!({"nodes": [node("R1.A", None)], "graph": "json"}));
    assert_eq!(reply["graph"], json!([{"nodeId": "R1.A", "title": "Title of R1.A"}]));
    let silent = session.ok("tot_status", json!({}));
    assert!(["dot", "mermaid", "graph", "quality"].iter().all(|field| silent[field].is_null()), "{silent}");
    for (form, field) in [("dot", "dot"), ("auto", "dot"), ("mermaid", "mermaid"), ("json", "graph")] {
        let reply = session.ok("tot_status", json!({"graph": form}));
        assert!(reply[field].is_string() || reply[field].is_array(), "{form}: {reply}");
    }
}
