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
use crate::markdown::{self, Mention, Parsed};
use crate::text::{composed, is_hidden, shorten};

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
    if let Some(end) = investigation.report() {
        let text = markdown::plain_text(end.conclusion.as_deref().unwrap_or_default(), MOST_OF_ONE);
        let texts = [end.bottom_line.clone(), text, end.who().unwrap_or_default()];
        let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ");
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
    let states =
        states.into_iter().map(|s| (s.word.as_str(), s.class.as_str(), s.meaning.as_str())).collect();
    let json = serde_json::to_string(&Data { cut, states, fields, found })
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })?;
    // The page composes what people type, too.
    Ok(script("totSearch", &composed(&json)).into_bytes())
}

/// The title, the address and the text of an entry about the investigation.
type OfTheWhole = (&'static str, String, SearchText);

/// Returns the comments on nodes by node id, and the comments on the investigation.
fn comments(investigation: &Investigation) -> (HashMap<String, Vec<SearchText>>, Vec<OfTheWhole>) {
    let (mut of_nodes, mut whole) = (HashMap::<String, Vec<SearchText>>::new(), Vec::new());
    let most = (MOST_CHARACTERS / investigation.comments().count().max(1)).min(MOST_OF_ONE);
    for comment in investigation.comments() {
        let text = format!("{}: {}", comment.author.label(), markdown::plain_text(&comment.shown(), most));
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
pub(super) fn texts(node: &Node, findings: &Parsed, mentions: &[Mention], most: usize) -> Vec<SearchText> {
    let mut said = Room { said: Vec::new(), left: most };
    if let Some(result) = &node.classification {
        said.add_result(result, findings, mentions, most);
        said.add("Proposed as", result.headline.iter().map(|_| node.title.clone()));
    }
    said.add("Plan", [markdown::plain_text(&node.planned_action, most)]);
    said.said
}

/// Searchable text, up to a total length.
struct Room {
    said: Vec<SearchText>,
    left: usize,
}

impl Room {
    fn add_result(&mut self, result: &Classification, findings: &Parsed, mentions: &[Mention], most: usize) {
        let plain = |text: &String| markdown::plain_text(text, most);
        self.add("Findings", [findings.plain_text(most)]);
        for text in result.backing() {
            self.add(text.heading, text.entries.iter().map(plain));
        }
        let sources = result.references.iter().flat_map(|it| {
            let kept = it.pinned.as_ref().and_then(|pin| pin.text.as_ref());
            [Some(&it.target), it.quote.as_ref(), it.note.as_ref(), kept].into_iter().flatten()
        });
        let mentions = mentions.iter().flat_map(|it| [Some(&it.target), it.title.as_ref()]).flatten();
        self.add("Sources", sources.chain(mentions).cloned());
        self.add("Commands", result.commands.iter().map(|it| it.command.clone()));
        self.add("Agent", result.agent_id.clone());
        self.add("Person", result.people().map(|person| person.name.clone()));
        self.add("Other results", result.other_results.iter().map(|other| plain(&other.text())));
        let changes = result.reclassified.iter().flat_map(|it| {
            let backing = it.backing().flat_map(|text| text.entries);
            it.agent_id.iter().chain(&it.reason).chain(backing)
        });
        self.add("Changes of state", changes.map(plain));
        let amended = result.amended.iter().flat_map(|it| {
            let person = it.caller.person.as_ref().map(|person| &person.name);
            let before = [&it.title, &it.headline, &it.findings, &it.evidence].into_iter().flatten();
            it.agent_id.as_ref().or(person).into_iter().chain([&it.reason]).chain(before)
        });
        self.add("Amendments", amended.map(plain));
    }

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
