//! What clients see of the tools.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::mcp::{About, tools};
use tree_of_thoughts::service::Service;

use super::lint;
use crate::support::{Sandbox, Session, node};

#[test]
fn no_client_stumbles_over_the_tools() {
    let service = Arc::new(Service::new(PathBuf::from("nowhere"), World::Machine, None));
    let faults = lint::faults(&tools::instructions(&service), &tools::all(&service));
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_list_of_tools_has_hints_and_is_small() {
    let sandbox = Sandbox::new();
    let answer = sandbox.server().request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert!(tool["outputSchema"].is_null(), "{name}: it would ask for structuredContent");
        assert_eq!(
            tool["annotations"]["readOnlyHint"],
            json!(matches!(name, "tot_status" | "tot_read" | "tot_list")),
            "{name}"
        );
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        assert!(!tool["title"].as_str().unwrap().is_empty(), "{name}");
    }
    // Every agent that connects pays for it: 4,000 tokens of four bytes.
    let bytes = answer["result"].to_string().len();
    assert!(bytes <= 16_000, "{bytes} bytes");
}

#[test]
fn the_graph_comes_in_the_form_that_was_asked_for() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    let silent = session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    assert!(["dot", "mermaid", "graph"].iter().all(|field| silent[field].is_null()), "{silent}");
    for (form, field) in [("dot", "dot"), ("auto", "dot"), ("mermaid", "mermaid"), ("json", "graph")] {
        let reply = session.ok("tot_status", json!({"graph": form}));
        assert!(reply[field].is_string() || reply[field].is_array(), "{form}: {reply}");
    }
    let reply = session.ok("tot_propose", json!({"nodes": [node("R1.A", None)], "graph": "json"}));
    assert_eq!(reply["graph"], json!([{"nodeId": "R1.A", "title": "Title of R1.A"}]));
}

#[test]
fn an_agent_reads_every_code_that_a_tool_may_be_refused_for() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let description = |name: &str| -> String {
        let tools = listed.as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["description"].as_str().unwrap().to_owned()
    };
    let service = Arc::new(Service::new(PathBuf::from("nowhere"), World::Machine, None));
    let instructions = tools::instructions(&service);
    assert!(tools::CODES.iter().all(|code| instructions.contains(&code.to_string())), "{instructions}");
    let mut named = tools::CODES.len();
    for tool in tools::all(&service) {
        let About { name, codes, also, .. } = tool.about();
        let text = description(name);
        for code in *codes {
            assert!(text.contains(&code.to_string()), "{name} does not say {code}: {text}");
            named += 1;
        }
        assert!(also.iter().all(|other| text.contains(other.name)), "{name}: {text}");
    }
    assert!(named > 50, "{named}");
}
