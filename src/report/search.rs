//! The data that the search of a site looks through: a script, since pages on `file://` may not fetch.
//!
//! It is loaded when a reader turns to the search, and not before. A browser searches all of it within milliseconds
//! (`tests/README.md` has figures), so there is no index. Beyond [`MOST_CHARACTERS`] each node's text is cut to its
//! share, and the page says so; ids and titles stay whole.

use serde::Serialize;

use super::ReportError;
use super::model::{Report, StateView};
use crate::domain::Node;
use crate::graph::Sure;
use crate::markdown;
use crate::text::is_hidden;
use crate::view::{NodeView, OtherResult, Text};

/// Characters of text in the file.
const MOST_CHARACTERS: usize = 4_000_000;
/// Of one node, however few there are.
const MOST_OF_ONE: usize = 40_000;

/// A call of the function that `assets/search.js` defines, with this as its argument.
#[derive(Serialize)]
struct Data<'a> {
    /// The characters that a text was cut to; 0 where none was cut.
    cut: usize,
    /// Name, class, and meaning of each state that nodes are in.
    states: Vec<(&'a str, &'a str, &'a str)>,
    nodes: Vec<Found<'a>>,
}

/// A list in JSON: id, title, address, state as an index of `states`, how sure it is if it is an answer, and text.
#[derive(Serialize)]
struct Found<'a>(&'a str, &'a str, &'a str, usize, Option<Sure>, &'a str);

/// The script of an input; `path` is where it will stand.
pub(super) fn file(report: &Report, path: &str) -> Result<Vec<u8>, ReportError> {
    let share = share(report.nodes.len());
    let mut states: Vec<&StateView> = Vec::new();
    let mut cut = 0;
    let mut nodes = Vec::with_capacity(report.nodes.len());
    for view in &report.nodes {
        let card = &view.card;
        let state = states.iter().position(|state| state.name == card.state.name).unwrap_or_else(|| {
            states.push(&card.state);
            states.len() - 1
        });
        if view.search.ends_with('…') {
            cut = share;
        }
        nodes.push(Found(
            card.id.as_str(),
            card.title.as_str(),
            card.href.as_str(),
            state,
            card.sure,
            view.search.as_str(),
        ));
    }
    let states = states.into_iter().map(|s| (s.name.as_str(), s.class, s.meaning.as_str())).collect();
    let json = serde_json::to_string(&Data { cut, states, nodes })
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    Ok(script(&json).into_bytes())
}

/// Characters of one node's text, where there are so many nodes.
pub(super) fn share(nodes: usize) -> usize {
    (MOST_CHARACTERS / nodes.max(1)).min(MOST_OF_ONE)
}

/// What a search finds a node by, beside its id and title: its findings, and what else was said of it.
pub(super) fn text(node: &Node, findings: &markdown::Parsed<'_>, most: usize) -> String {
    if node.is_pending() {
        return markdown::plain_text(&node.planned_action, most);
    }
    let mut text = findings.plain_text(most);
    let view = NodeView::stored(node);
    let others: Vec<String> = view.other_results.iter().map(OtherResult::text).collect();
    let backing = view.texts.iter().flat_map(Text::entries);
    let reasons = view.reclassified.iter().filter_map(|change| change.reason.as_deref());
    let planned = view.headline.iter().map(|_| &*view.title);
    let commands = view.commands.iter().map(|it| it.command.as_str());
    let sources = view.references.iter().flat_map(|it| {
        let kept = it.pinned.as_ref().and_then(|pin| pin.text.as_ref());
        [Some(&it.target), it.quote.as_ref(), it.note.as_ref(), kept]
            .into_iter()
            .flatten()
            .map(String::as_str)
    });
    let amended = view.amended.iter().map(|it| &*it.reason);
    for more in planned
        .chain(others.iter().map(String::as_str))
        .chain(backing)
        .chain(commands)
        .chain(sources)
        .chain(reasons)
        .chain(amended)
    {
        let room = most.saturating_sub(text.chars().count() + 3);
        if room > 0 && !more.trim().is_empty() {
            text.push_str(" · ");
            text.push_str(&markdown::plain_text(more, room));
        }
    }
    text
}

/// JSON as a script. What could end a script, or be read as HTML where the file is shown, is written as an escape;
/// it only ever stands in strings.
fn script(json: &str) -> String {
    let mut script = String::with_capacity(json.len() + 64);
    script.push_str("totSearch(");
    let special = |c| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    let mut rest = json;
    while let Some(at) = rest.find(|c| special(c) || is_hidden(c)) {
        script.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        match chars.next().filter(|c| special(*c)) {
            Some(c) => script.push_str(&format!("\\u{:04x}", u32::from(c))),
            None => script.push('\u{fffd}'),
        }
        rest = chars.as_str();
    }
    script.push_str(rest);
    script.push_str(");\n");
    script
}
