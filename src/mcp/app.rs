//! Extras for clients with a screen: an icon, resource links, and the investigation tree as an MCP App (extension
//! `io.modelcontextprotocol/ui`, 2026-01-26).
//!
//! A client that supports Apps shows the page at [`ADDRESS`] in a frame without network access, next to the replies
//! from the tool that names it. The page only requests resources that any client can read, and the replies are complete
//! even without the page.

use rmcp::model::{ContentBlock, Icon, MetaObject, ProtocolVersion, Resource, ResourceContents, Tool};
use serde_json::{Value, json};

use crate::service::address::ResourceAddress;
use crate::text::percent_encoded;

/// The address of the tree page.
pub const ADDRESS: &str = "ui://tree-of-thoughts/tree.html";

/// The tool whose replies are shown with the page.
const SHOWN_BESIDE: &str = "tot_status";

/// The tools whose replies link to the investigation, because a person is likely to open the investigation next.
/// Other replies omit the link because it would make them a twelfth larger and the agent already has the node's id.
const LINKED: [&str; 2] = ["tot_end", "tot_report"];

const PAGE: &str = include_str!("app.html");

/// Returns the site's icon as a data URL, escaping characters that are not allowed in URLs.
pub(super) fn icon() -> Icon {
    let drawing = include_str!("../../site-template/assets/icon.svg").trim();
    let coded = percent_encoded(&drawing.replace('"', "'"), |c| !"%#<> \n".contains(c));
    Icon::new(format!("data:image/svg+xml,{coded}"))
        .with_mime_type("image/svg+xml")
        .with_sizes(vec!["any".to_owned()])
}

/// Adds the page's address to the tool whose replies are shown with the page.
pub(super) fn with_page(tool: Tool) -> Tool {
    if tool.name != SHOWN_BESIDE {
        return tool;
    }
    tool.with_meta(meta(json!({"ui": {"resourceUri": ADDRESS}})))
}

/// Returns the page. The page loads nothing from other sources, so it needs no permissions.
pub(super) fn page() -> ResourceContents {
    ResourceContents::text(PAGE, ADDRESS)
        .with_mime_type("text/html;profile=mcp-app")
        .with_meta(meta(json!({"ui": {"prefersBorder": true}})))
}

/// Returns a link to the investigation for a successful call, if the protocol version supports links.
pub(super) fn link(tool: &str, arguments: &Value, version: Option<&ProtocolVersion>) -> Option<ContentBlock> {
    // Versions are ISO dates, which sort chronologically as text.
    let has_links = version?.as_str() >= ProtocolVersion::V_2025_06_18.as_str();
    let session = arguments.get("sessionId")?.as_str()?.trim();
    if !has_links || !LINKED.contains(&tool) {
        return None;
    }
    let address = ResourceAddress::Overview(session.to_owned()).to_string();
    Some(ContentBlock::resource_link(Resource::new(address, "investigation").with_mime_type("text/markdown")))
}

fn meta(value: Value) -> MetaObject {
    MetaObject(value.as_object().cloned().unwrap_or_default())
}
