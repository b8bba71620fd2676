//! A site's search data. It is a script, because pages on `file://` can't fetch files.
//!
//! A page loads the script when search is first used. A browser searches all of the data within milliseconds (see
//! `tests/browser/README.md` for figures), so there is no index. If the data exceeds [`MOST_CHARACTERS`], each node's
//! text is truncated to its share, and the page says so. Ids and titles are never truncated.

use std::collections::HashMap;

use serde::Serialize;

use super::model::{Report, StateView};
use super::{ReportError, ReportInput};
use crate::assess::Verdict;
use crate::domain::{Classification, Investigation, Node};
use crate::markdown;
use crate::text::{is_hidden, shorten};
use crate::view::{BackingText, NodeView, OtherResult};

/// The maximum total size of the text in the file, in characters.
const MOST_CHARACTERS: usize = 4_000_000;
/// The maximum size of one node's text, in characters.
const MOST_OF_ONE: usize = 40_000;

/// The display name of a searchable field, and its text.
pub(super) type SearchText = (&'static str, String);

/// The argument of the function defined by `assets/search.js`.
#[derive(Serialize)]
struct Data<'a> {
    /// The length to which text was truncated, or 0 if none was.
    cut: usize,
    /// The label, the class and the meaning of each state in use.
    states: Vec<(&'a str, &'a str, &'a str)>,
    /// The display names of the fields: `Findings`, `Comments`, …
    fields: Vec<&'static str>,
    /// The entries for the investigation, followed by those for the nodes.
    found: Vec<FoundPlace<'a>>,
}

/// A search entry, serialized as a list: id, title, address, index in `states`, verdict on an answer, and the text of
/// each field, with the field's index in `fields`. Entries other than nodes have no id and no state.
#[derive(Serialize)]
struct FoundPlace<'a>(&'a str, &'a str, String, Option<usize>, Option<Verdict>, Vec<(usize, &'a str)>);

/// Returns the search script for a report. `path` is the script's path in the site.
pub(super) fn file(input: &ReportInput, report: &Report, path: &str) -> Result<Vec<u8>, ReportError> {
    let share = share(report.nodes.len());
    let investigation = input.snapshot.investigation.as_ref();
    let mut fields: Vec<&'static str> = Vec::new();
    let mut field = |name: &'static str| {
        fields.iter().position(|known| *known == name).unwrap_or_else(|| {
            fields.push(name);
            fields.len() - 1
        })
    };
    let mut cut = 0;
    let mut note_cut = |text: &str| {
        if text.ends_with('…') {
            cut = share;
        }
    };
    let (of_nodes, mut whole) = comments(investigation);
    let meta = investigation.meta();
    let texts = [Some(&meta.query), meta.context.as_ref()].into_iter().flatten();
    let asked: Vec<String> = texts.map(|text| markdown::plain_text(text, MOST_OF_ONE)).collect();
    whole.push(("The question", "index.html".to_owned(), ("Question", asked.join(" · "))));
    if let Some(end) = investigation.conclusion() {
        let text = markdown::plain_text(end.conclusion.as_deref().unwrap_or_default(), MOST_OF_ONE);
        let text = [text, end.who().unwrap_or_default()].join(" · ");
        whole.push(("Conclusion", "index.html#conclusion".to_owned(), ("Conclusion", text)));
    }
    let mut found: Vec<FoundPlace<'_>> = Vec::with_capacity(whole.len() + report.nodes.len());
    // The conclusion comes before the question.
    for (title, href, (name, text)) in whole.iter().rev() {
        note_cut(text);
        found.push(FoundPlace("", title, href.clone(), None, None, vec![(field(name), text)]));
    }
    let mut states: Vec<&StateView> = Vec::new();
    for view in &report.nodes {
        let card = &view.card;
        // The state of a refuting node has another label.
        let is_it = |state: &&StateView| state.name == card.state.name && state.word == card.state.word;
        let state = states.iter().position(is_it).unwrap_or_else(|| {
            states.push(&card.state);
            states.len() - 1
        });
        let mut texts = Vec::new();
        let comments = of_nodes.get(card.id.as_str()).into_iter().flatten();
        for (name, text) in view.search.iter().chain(comments) {
            note_cut(text);
            texts.push((field(name), text.as_str()));
        }
        found.push(FoundPlace(
            card.id.as_str(),
            &card.title,
            card.href.clone(),
            Some(state),
            card.sure,
            texts,
        ));
    }
    let states = states.into_iter().map(|s| (s.word.as_str(), s.class, s.meaning.as_str())).collect();
    let json = serde_json::to_string(&Data { cut, states, fields, found })
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    Ok(script("totSearch", &json).into_bytes())
}

/// The title, the address and the text of an entry about the investigation.
type OfTheWhole = (&'static str, String, SearchText);

/// Returns the comments on nodes by node id, and the comments on the investigation.
fn comments(investigation: &Investigation) -> (HashMap<String, Vec<SearchText>>, Vec<OfTheWhole>) {
    let (mut of_nodes, mut whole) = (HashMap::<String, Vec<SearchText>>::new(), Vec::new());
    let most = (MOST_CHARACTERS / investigation.comments().count().max(1)).min(MOST_OF_ONE);
    for comment in investigation.comments() {
        let text = format!("{}: {}", comment.author.label(), markdown::plain_text(&comment.text, most));
        let said = ("Comments", text);
        match comment.node.as_ref().filter(|id| investigation.node(id).is_some()) {
            Some(id) => of_nodes.entry(id.to_string()).or_default().push(said),
            None => whole.push(("Comment", format!("index.html#said-{}", comment.id), said)),
        }
    }
    (of_nodes, whole)
}

/// Returns the maximum number of characters per node, given the number of nodes.
pub(super) fn share(nodes: usize) -> usize {
    (MOST_CHARACTERS / nodes.max(1)).min(MOST_OF_ONE)
}

/// Returns the searchable text of a node: everything that pages show, except its id, its title and its comments.
pub(super) fn texts(node: &Node, findings: &markdown::Parsed, most: usize) -> Vec<SearchText> {
    let view = NodeView::stored(node);
    let mut said = Room { said: Vec::new(), left: most };
    said.add("Findings", [findings.plain_text(most)]);
    let list = |texts: &[&str]| texts.iter().map(|text| markdown::plain_text(text, most)).collect::<Vec<_>>();
    for text in view.texts.iter() {
        said.add(text.heading, list(&text.entries().collect::<Vec<_>>()));
    }
    let sources = view.references.iter().flat_map(|it| {
        let kept = it.pinned.as_ref().and_then(|pin| pin.text.as_ref());
        [Some(&it.target), it.quote.as_ref(), it.note.as_ref(), kept].into_iter().flatten().cloned()
    });
    let mentions = findings.references().into_iter().flat_map(|it| [Some(it.target), it.title]).flatten();
    said.add("Sources", sources.chain(mentions));
    said.add("Commands", view.commands.iter().map(|it| it.command.to_string()));
    said.add("Agent", view.agent_id.iter().map(ToString::to_string));
    let people = node.classification.iter().flat_map(Classification::people);
    said.add("Person", people.map(|person| person.name.clone()));
    let results = view.other_results.iter().map(OtherResult::text);
    said.add("Other results", results.map(|text| markdown::plain_text(&text, most)));
    let changes = view.reclassified.iter().flat_map(|it| {
        let backing = it.texts.iter().flat_map(BackingText::entries);
        [it.agent_id.as_deref(), it.reason.as_deref()].into_iter().flatten().chain(backing)
    });
    said.add("Changes of state", list(&changes.collect::<Vec<_>>()));
    let amended = view.amended.iter().flat_map(|it| {
        let before = [&it.title, &it.headline, &it.findings, &it.evidence];
        let person = it.by.as_ref().and_then(|by| by.person.as_ref()).map(|person| person.name.as_str());
        [it.agent_id.as_deref().or(person), Some(&*it.reason)]
            .into_iter()
            .chain(before.map(Option::as_deref))
            .flatten()
    });
    said.add("Amendments", list(&amended.collect::<Vec<_>>()));
    said.add("Proposed as", view.headline.iter().map(|_| view.title.to_string()));
    said.add("Plan", [markdown::plain_text(&node.planned_action, most)]);
    said.said
}

/// Searchable text, up to a total length.
struct Room {
    said: Vec<SearchText>,
    left: usize,
}

impl Room {
    /// Joins the text of one kind and adds it, if there is any.
    fn add(&mut self, name: &'static str, texts: impl IntoIterator<Item = String>) {
        let mut texts = texts.into_iter().filter(|text| !text.trim().is_empty());
        let Some(mut all) = texts.next().filter(|_| self.left > 0) else { return };
        for text in texts {
            all.push_str(" · ");
            all.push_str(&text);
        }
        let text = shorten(&all, self.left);
        self.left = self.left.saturating_sub(text.chars().count() + 3);
        self.said.push((name, text));
    }
}

/// Returns a script that calls a function with JSON. Characters that could end a script or be read as HTML are escaped.
/// Such characters occur only inside strings.
pub(super) fn script(function: &str, json: &str) -> String {
    let mut script = String::with_capacity(json.len() + 64);
    script.push_str(function);
    script.push('(');
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
