//! What clients with a screen show beside texts: the icon, links, and the page of the tree.

use serde_json::{Value, json};
use tree_of_thoughts::mcp::app::ADDRESS;

use crate::support::Sandbox;

#[test]
fn the_page_of_the_tree_stands_beside_the_status() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    for tool in listed.as_array().unwrap() {
        let is_shown = tool["name"] == "tot_status";
        let shown = if is_shown { json!({"ui": {"resourceUri": ADDRESS}}) } else { Value::Null };
        assert_eq!(tool["_meta"], shown);
    }
    let page = server.request("resources/read", json!({"uri": ADDRESS}))["result"]["contents"][0].clone();
    assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(page["uri"], ADDRESS);
    let html = page["text"].as_str().unwrap();
    // Without a network there is nothing to load; the one address is a name.
    for outside in ["src=", "href=", "http:", "https:", "import ", "fetch(", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 6_000, "{} bytes", html.len());
    // A host asks for no other address.
    let other = server.request("resources/read", json!({"uri": "ui://tree-of-thoughts/other.html"}));
    assert!(other["error"].is_object(), "{other}");
}

#[test]
fn the_first_answer_has_an_icon_and_a_report_links_to_its_investigation_where_the_protocol_has_links() {
    for (version, links) in [("2025-03-26", 0), ("2025-11-25", 1)] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.bare_server();
        let client = json!({"name": "c", "version": "1"});
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let icon = server.request("initialize", hello)["result"]["serverInfo"]["icons"][0].clone();
        assert_eq!(icon["mimeType"], "image/svg+xml");
        let address = icon["src"].as_str().unwrap();
        assert!(
            address.starts_with("data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'"),
            "{address}"
        );
        // No address may hold these; the protocol's own suite refuses one with a space.
        assert!(!address.contains(['<', '>', '#', '"', ' ', '\n']) && address.len() < 800, "{address}");

        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let started = server.ok("tot_start", json!({"query": "Why?", "mode": "smoke"}));
        let id = started["sessionId"].as_str().unwrap();
        let mut content = |tool: &str| {
            let call = json!({"name": tool, "arguments": {"sessionId": id}});
            server.request("tools/call", call)["result"]["content"].as_array().unwrap()[1..].to_vec()
        };
        assert_eq!(content("tot_end"), [json!(null); 0], "a rejection");
        assert_eq!(content("tot_status"), [json!(null); 0]);
        let link = json!({"type": "resource_link", "uri": format!("tot://{id}"), "name": "investigation",
            "mimeType": "text/markdown"});
        assert_eq!(content("tot_report"), vec![link; links], "{version}");
    }
}
