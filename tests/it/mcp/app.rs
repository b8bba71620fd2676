//! What clients with a screen show beside texts: the icon, links, and the page of the tree.

use serde_json::{Value, json};
use tree_of_thoughts::mcp::app::ADDRESS;

use crate::support::{Sandbox, Session};

#[test]
fn the_page_of_the_tree_stands_beside_the_status() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let shown: Vec<(&str, &Value)> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| Some((tool["name"].as_str()?, tool.get("_meta")?)))
        .collect();
    assert_eq!(shown, [("tot_status", &json!({"ui": {"resourceUri": ADDRESS}}))]);
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
fn the_page_finds_each_node_in_the_drawing() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    session.grow(&[("R1.A", None)], "FOUND");
    let address = format!("tot://{}/graph.svg", session.id);
    let read = session.server.request("resources/read", json!({"uri": address}));
    let drawing = read["result"]["contents"][0]["text"].as_str().unwrap();
    let (_, card) = drawing.split_once("class=\"card ").unwrap();
    let (_, title) = card.split_once("<title>").unwrap();
    assert!(title.starts_with("R1.A ("), "{title}");
}

#[test]
fn the_icon_is_in_the_first_answer() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.bare_server();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}});
    let icon = server.request("initialize", hello)["result"]["serverInfo"]["icons"][0].clone();
    assert_eq!(icon["mimeType"], "image/svg+xml");
    let address = icon["src"].as_str().unwrap();
    assert!(
        address.starts_with("data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'"),
        "{address}"
    );
    // No address may hold these; the protocol's own suite refuses one with a space.
    assert!(!address.contains(['<', '>', '#', '"', ' ', '\n']) && address.len() < 800, "{address}");
}

#[test]
fn an_end_links_to_its_investigation_where_the_protocol_has_links() {
    for (version, links) in [("2025-03-26", 0), ("2025-11-25", 1)] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.bare_server();
        let hello = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"}});
        server.request("initialize", hello);
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
