//! Resources that clients can read: investigations and nodes as Markdown, the graph as DOT and SVG, and the history.
//!
//! Resources are for people and for clients that display them, and some clients give them to a model. Like a tool's reply,
//! a resource therefore has at most 12,000 bytes. Its end says how much was left out, and at which address the text goes
//! on, with `?offset=N`.

use std::fmt::Write as _;

use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::tools::list::judged;
use crate::assess::Assessment;
use crate::domain::{Code, Diagnostic};
use crate::graph::{self, DrawnTree, SvgOptions};
use crate::report::document::{self, LINES, Links, literal, more, overview};
use crate::service::address::ResourceAddress;
use crate::service::{Loaded, Refusal, Service};
use crate::store::{ListEntry, ListFilter, ListState, Snapshot, StoreError, StoreErrorKind};
use crate::text::{counted, first_bytes, one_line, shorten};

/// The number of resources on a page.
const PAGE: usize = 20;

/// The maximum size of a resource or a prompt, in bytes as sent.
pub(super) const MOST: usize = 12_000;

/// What precedes the number of bytes to skip at the end of an address.
const OFFSET: &str = "?offset=";

/// The room for the fields around a text and for the note on what was left out, in bytes.
pub(super) const AROUND: usize = 600;

/// The content types.
const MARKDOWN: &str = "text/markdown";
const DOT: &str = "text/vnd.graphviz";
const SVG: &str = "image/svg+xml";

/// Returns the resource templates.
pub fn templates() -> Vec<ResourceTemplate> {
    let template = |pattern: &str, name: &str, title: &str, description: &str, mime: &str| {
        ResourceTemplate::new(format!("tot://{{sessionId}}{pattern}"), name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(mime)
    };
    vec![
        template("", "investigation", "An investigation", "Its state, findings and tree.", MARKDOWN),
        template(
            "/nodes/{nodeId}",
            "node",
            "A node",
            "A whole node: findings, evidence and all changes.",
            MARKDOWN,
        ),
        template("/graph.dot", "graph-dot", "The graph as DOT", "The tree as text for Graphviz.", DOT),
        template("/graph.svg", "graph-svg", "The graph as a picture", "The tree as a picture.", SVG),
        template(
            "/history",
            "history",
            "The history",
            "The effect of each git commit, newest first.",
            MARKDOWN,
        ),
    ]
}

/// Returns a page of resources and the cursor for the next page. The first entry is the list of investigations. The
/// investigations follow, newest first.
///
/// # Errors
///
/// Returns an error if the cursor is invalid or the store fails.
pub fn list(service: &Service, cursor: Option<String>) -> Result<(Vec<Resource>, Option<String>), ErrorData> {
    let first = cursor.is_none().then(|| {
        Resource::new(ResourceAddress::Investigations.to_string(), "investigations")
            .with_title("All investigations")
            .with_description("The investigations on this server, newest first.")
            .with_mime_type(MARKDOWN)
    });
    let filter = ListFilter { state: ListState::All, text: None, after: cursor, limit: PAGE };
    let listing = service.store().list(&filter).map_err(|error| match error.kind {
        StoreErrorKind::UnknownCursor => ErrorData::invalid_params("this cursor is invalid", None),
        _ => ErrorData::internal_error(Refusal::from(error).line(), None),
    })?;
    let investigations = listing.entries.into_iter().filter_map(|entry| {
        let (id, facts) = (entry.id?.to_string(), entry.facts?);
        let ended = if facts.ended { "ended" } else { "open" };
        let description = format!("{}, {ended}: {}", facts.ruleset, counted(facts.nodes, "node"));
        let resource = Resource::new(ResourceAddress::Overview(id.clone()).to_string(), id);
        let resource =
            resource.with_title(shorten(&one_line(&facts.title), 80)).with_description(description);
        Some(resource.with_mime_type(MARKDOWN))
    });
    Ok((first.into_iter().chain(investigations).collect(), listing.next))
}

/// Reads the resource at an address.
///
/// # Errors
///
/// Returns an error if the resource does not exist or cannot be read.
pub fn read(service: &Service, address: &str) -> Result<ResourceContents, ErrorData> {
    let shown = shorten(&one_line(address), 120);
    // rmcp turns this error into -32602 in the newest protocol.
    let not_found = |why: String| ErrorData::resource_not_found(why, Some(json!({"uri": shown})));
    let unknown = |why: &str| not_found(format!("unknown resource `{shown}`: {why}"));
    let (whole, offset) = address.split_once(OFFSET).unwrap_or((address, "0"));
    let parsed = ResourceAddress::parse(whole).zip(offset.parse().ok());
    let (parsed, offset) = parsed.ok_or_else(|| {
        let patterns: Vec<String> =
            templates().into_iter().map(|template| template.uri_template.clone()).collect();
        unknown(&format!("resources are {}, {}", ResourceAddress::Investigations, patterns.join(", ")))
    })?;
    let absent = |error: &Diagnostic| matches!(error.code, Code::SessionNotFound | Code::AmbiguousSession);
    let content = content(service, &parsed).map_err(|refusal| match refusal.errors.iter().any(absent) {
        true => not_found(refusal.line()),
        false if refusal.errors.iter().any(|error| error.code == Code::AmbiguousNode) => {
            ErrorData::invalid_params(refusal.line(), None)
        }
        false => ErrorData::internal_error(refusal.line(), None),
    })?;
    let (mime, text) = content.ok_or_else(|| unknown("the investigation has no such node"))?;
    let text = if mime == SVG { text } else { within(&text, whole, offset, mime == DOT) };
    Ok(ResourceContents::text(text, address).with_mime_type(mime))
}

/// Returns the content type and text of a resource, or `None` if the node does not exist.
fn content(service: &Service, address: &ResourceAddress) -> Result<Option<(&'static str, String)>, Refusal> {
    let content = match address {
        ResourceAddress::Investigations => (MARKDOWN, investigations(service)?),
        ResourceAddress::Overview(session) => {
            let snapshot = service.look(session)?;
            (MARKDOWN, overview(&snapshot, Loaded::of(&snapshot).ok().as_ref(), Links::Addresses))
        }
        ResourceAddress::Node(session, node) => {
            let snapshot = service.look(session)?;
            let found = match snapshot.investigation.find(node) {
                Ok(found) => found,
                Err(error) => return error.ambiguous(node).map_or(Ok(None), |error| Err(error.into())),
            };
            let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
            (MARKDOWN, document::node(&assessment, found, Links::Addresses))
        }
        ResourceAddress::History(session) => (MARKDOWN, history(service, &service.look(session)?)?),
        ResourceAddress::GraphDot(session) => (DOT, graph::dot(&service.read(session)?.assessment())),
        ResourceAddress::GraphSvg(session) => {
            let loaded = service.read(session)?;
            let options = SvgOptions { standalone: true, ..SvgOptions::default() };
            let assessment = loaded.assessment();
            let mut tree = DrawnTree::new(&assessment);
            loop {
                let (picture, cards) = (graph::svg(&tree, &options).markup, tree.shown().count());
                // A picture says itself how many nodes it leaves out.
                if cards < 2 || length(&picture) + AROUND <= MOST {
                    break (SVG, picture);
                }
                tree = DrawnTree::of_most(&assessment, cards * 3 / 4);
            }
        }
    };
    Ok(Some(content))
}

/// Returns a text from an offset, cut after a line if it is too long, and what was left out.
fn within(text: &str, address: &str, offset: usize, is_graph: bool) -> String {
    let text = &text[first_bytes(text, offset).len()..];
    let (shown, left) = text.split_at(fitting(text, is_graph));
    if left.is_empty() {
        return text.to_owned();
    }
    let next = format!("{address}{OFFSET}{}", offset + shown.len());
    let note = format!("{} left out: the text goes on at {next}", counted(left.lines().count(), "line"));
    if is_graph { format!("{shown}  // {note}\n}}\n") } else { format!("{shown}\n\n…\n\n{note}\n") }
}

/// Returns how much of a text fits into a message, in bytes. The last line may be a part of one, except in a graph.
pub(super) fn fitting(text: &str, is_graph: bool) -> usize {
    let (mut room, mut kept) = (MOST - AROUND, 0);
    for line in text.split_inclusive('\n') {
        let size = length(line);
        if size <= room {
            (room, kept) = (room - size, kept + line.len());
            continue;
        }
        for c in line.chars().take_while(|_| !is_graph) {
            let size = length(c.encode_utf8(&mut [0; 4]));
            if size > room {
                break;
            }
            (room, kept) = (room - size, kept + c.len_utf8());
        }
        break;
    }
    kept
}

/// Returns the length of a text within a message, in bytes.
pub(super) fn length(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |text| text.len() - 2)
}

fn investigations(service: &Service) -> Result<String, StoreError> {
    let filter = ListFilter { state: ListState::All, text: None, after: None, limit: LINES };
    let listing = service.store().list(&filter)?;
    let mut text = String::from("# Investigations\n\n");
    if listing.entries.is_empty() {
        text.push_str("No investigations yet.\n");
    }
    for entry in &listing.entries {
        text.push_str(&entry_line(service, entry));
    }
    more(&mut text, listing.total - listing.entries.len());
    Ok(text)
}

fn entry_line(service: &Service, entry: &ListEntry) -> String {
    let name = entry.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let title = entry.facts.as_ref().map_or(name, |facts| facts.title.clone());
    let mut text = match entry.id {
        Some(id) => format!("- [{}]({})", literal(&title), ResourceAddress::Overview(id.to_string())),
        None => format!("- {}", literal(&title)),
    };
    if let Some(facts) = &entry.facts {
        let _ = write!(
            text,
            ": {}, {}, round {}, {}, started {}",
            if facts.ended { "ended" } else { "open" },
            facts.ruleset,
            facts.round,
            counted(facts.nodes, "node"),
            facts.started_at
        );
    }
    if let Some((verdict, bottom_line)) = judged(service, entry) {
        let _ = write!(text, ". {verdict}");
        text.extend(bottom_line.map(|line| format!(": {}", literal(&line))));
    }
    if let Some(fault) = &entry.fault {
        let _ = write!(text, " (error: {})", literal(fault));
    }
    text.push('\n');
    text
}

fn history(service: &Service, snapshot: &Snapshot) -> Result<String, StoreError> {
    let meta = snapshot.investigation.meta();
    let entries = service.store().history(snapshot)?;
    let mut text = format!("# History of {}\n\n", literal(&meta.title));
    for entry in entries.iter().take(LINES) {
        let tags = literal(&entry.tags.join(", "));
        let tags = if tags.is_empty() { tags } else { format!(" ({tags})") };
        let commit: String = entry.commit.to_string().chars().take(10).collect();
        let _ = writeln!(text, "- {} `{commit}` {}{tags}", entry.at, literal(entry.subject()));
        for gap in &entry.gaps {
            let _ = writeln!(text, "  - {}", literal(gap));
        }
    }
    more(&mut text, entries.len().saturating_sub(LINES));
    for gap in entries.iter().skip(LINES).last().iter().flat_map(|first| &first.gaps) {
        let _ = write!(text, "\n{}\n", literal(gap));
    }
    Ok(text)
}
