//! `tot search`: searches all text of the investigations in the root.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::place::Common;
use super::print::{columns, page, say_fields, tell};
use super::screen::{BOLD, DOUBT, NodeLine, QUIET, Screen, assessed, styled};
use super::{CommandError, ExitResult, misused, passed};
use crate::base::parallel;
use crate::domain::Comment;
use crate::store::{Snapshot, Store};
use crate::text::{composed, counted, folded, one_line};

/// The number of characters shown before the first match.
const BEFORE: usize = 16;
/// The number of characters in an excerpt.
const AROUND: usize = 160;

/// Search all investigations in the root for words: questions, conclusions, everything stored about nodes, and comments. Exits with
/// status 1 if an investigation can't be read.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct SearchArguments {
    /// Words that must all occur in the same text, in any order; case is ignored
    #[arg(required = true)]
    text: Vec<String>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {matches: [{sessionId, title, nodeId?, state?, field, excerpt}], unreadable: [{path, reason}]}

Examples:
  tot search busy_timeout
  tot search checkpoint starvation
  tot search WAL --json | jq -r '.matches[].nodeId'";

struct SearchMatch {
    id: String,
    /// The investigation's title.
    title: String,
    node: Option<NodeLine>,
    /// The name of the field, as shown on the node's page.
    field: &'static str,
    excerpt: String,
    /// The byte ranges of the words in the excerpt.
    marked: Vec<(usize, usize)>,
}

impl SearchMatch {
    /// Returns the match as JSON.
    fn entry(&self) -> Value {
        let (id, title, field, excerpt) = (&self.id, &self.title, self.field, &self.excerpt);
        let (node, state) = self.node.as_ref().map(|node| (&node.node_id, &node.state)).unzip();
        json!({"sessionId": id, "title": title, "nodeId": node, "state": state, "field": field, "excerpt": excerpt})
    }
}

pub(super) fn run(arguments: &SearchArguments) -> ExitResult {
    let words: Vec<String> = arguments
        .text
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(folded)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Err(misused("give a word to search for"));
    }
    let place = arguments.common.place()?;
    let mut folders = place.given()?.unwrap_or_else(|| place.store.folders());
    folders.sort_by(|one, other| other.cmp(one));
    let looked = parallel::each(&folders, parallel::cores(), |path| look_in(&place.store, path, &words));
    let (mut matches, mut unreadable) = (Vec::new(), Vec::new());
    for found in looked {
        match found {
            Ok(found) => matches.extend(found),
            Err(error) => unreadable.push(error),
        }
    }
    let is_whole = unreadable.is_empty();
    if arguments.common.json {
        let matches: Vec<Value> = matches.iter().map(SearchMatch::entry).collect();
        let unreadable = unreadable.iter().map(|(path, reason)| json!({"path": path, "reason": reason}));
        say_fields(&json!({"matches": matches, "unreadable": unreadable.collect::<Vec<_>>()}))?;
        return Ok(passed(is_whole));
    }
    page(&shown(&matches, folders.len(), Screen { columns: columns() }))?;
    for (path, reason) in &unreadable {
        tell(&format!("tot search: {path}: {}", one_line(reason)));
    }
    Ok(passed(is_whole))
}

/// Returns the matches in one investigation, or its path and the reason why it can't be read.
fn look_in(store: &Store, path: &Path, words: &[String]) -> Result<Vec<SearchMatch>, (String, String)> {
    let snapshot = store
        .load(path)
        .map_err(|error| (path.display().to_string(), CommandError::from(error).to_string()))?;
    Ok(matches(&snapshot, words))
}

/// Returns the matches in one investigation: first in the question and the conclusion, then in the nodes in tree order.
fn matches(snapshot: &Snapshot, words: &[String]) -> Vec<SearchMatch> {
    let assessment = assessed(snapshot);
    let investigation = assessment.investigation;
    let meta = investigation.meta();
    let mut found = Vec::new();
    let mut look = |node: Option<&NodeLine>, field: &'static str, text: &str| {
        let Some((excerpt, marked)) = excerpt(text, words) else { return };
        found.push(SearchMatch {
            id: meta.id.to_string(),
            title: meta.title.clone(),
            node: node.cloned(),
            field,
            excerpt,
            marked,
        });
    };
    let said = |comment: &Comment| format!("{}: {}", comment.author.label(), comment.shown());
    look(None, "Title", &meta.title);
    look(None, "Question", &meta.query);
    look(None, "Context", meta.context.as_deref().unwrap_or_default());
    let end = investigation.report();
    look(None, "Bottom line", end.map_or("", |end| &end.bottom_line));
    look(None, "Conclusion", end.and_then(|end| end.conclusion.as_deref()).unwrap_or_default());
    let is_of_the_whole = |comment: &&std::sync::Arc<Comment>| {
        comment.node.as_ref().is_none_or(|node| investigation.node(node).is_none())
    };
    investigation
        .comments()
        .filter(is_of_the_whole)
        .for_each(|comment| look(None, "Comment", &said(comment)));
    for node in investigation.preorder() {
        let line = NodeLine::new(&assessment, node);
        node.fields().for_each(|field| look(Some(&line), field.name, &field.value));
        investigation.comments_on(&node.id).for_each(|comment| look(Some(&line), "Comment", &said(comment)));
    }
    found
}

/// Returns the text around the first word, and the positions of all words in that text. Returns `None` if a word is missing.
fn excerpt(text: &str, words: &[String]) -> Option<(String, Vec<(usize, usize)>)> {
    let whole = folded(text);
    if !words.iter().all(|word| whole.contains(word.as_str())) {
        return None;
    }
    let line = one_line(&composed(text));
    let characters: Vec<char> = line.chars().collect();
    let folds: Vec<String> = characters.iter().map(|c| folded(c.encode_utf8(&mut [0; 4]))).collect();
    let first = words.iter().filter_map(|word| find(&folds, word, 0)).map(|(at, _)| at).min().unwrap_or(0);
    let mut from = first.saturating_sub(BEFORE);
    // The excerpt begins at a word.
    while from > 0 && from < first && !characters[from - 1].is_whitespace() {
        from += 1;
    }
    let to = (from + AROUND).min(characters.len());
    let part = &characters[from..to];
    let mut excerpt = if from > 0 { "…".to_owned() } else { String::new() };
    let start = excerpt.len();
    excerpt.extend(part);
    if to < characters.len() {
        excerpt.push('…');
    }
    let byte = |at: usize| start + part[..at].iter().map(|c| c.len_utf8()).sum::<usize>();
    let mut marked = Vec::new();
    for word in words {
        let mut next = 0;
        while let Some((at, end)) = find(&folds[from..to], word, next) {
            next = end;
            marked.push((byte(at), byte(end)));
        }
    }
    marked.sort_unstable();
    // Matches of two words may overlap.
    marked.dedup_by(|later, earlier| {
        let overlap = later.0 < earlier.1;
        earlier.1 = if overlap { earlier.1.max(later.1) } else { earlier.1 };
        overlap
    });
    Some((excerpt, marked))
}

/// Finds a folded word in the folded characters of a text. Returns where it starts and ends.
fn find(text: &[String], word: &str, from: usize) -> Option<(usize, usize)> {
    let end = |at: usize| {
        let (mut rest, mut end) = (word, at);
        while !rest.is_empty() {
            let next = text.get(end)?;
            // A word may end within a letter that folds to several.
            rest = rest.strip_prefix(next.as_str()).or_else(|| next.starts_with(rest).then_some(""))?;
            end += 1;
        }
        Some(end)
    };
    (from..text.len()).find_map(|at| Some((at, end(at)?)))
}

fn shown(matches: &[SearchMatch], folders: usize, screen: Screen) -> String {
    let mut text = String::new();
    let mut before: (Option<&str>, Option<&str>) = (None, None);
    for it in matches {
        if before.0 != Some(&it.id) {
            let gap = if text.is_empty() { "" } else { "\n" };
            let title = screen.rest(&it.title, it.id.len() + 2);
            text.push_str(&format!("{gap}{}  {}\n", styled(QUIET, &it.id), styled(BOLD, &title)));
            before = (Some(&it.id), None);
        }
        if let Some(node) = &it.node
            && before.1 != Some(node.node_id.as_str())
        {
            text.push_str(&format!("  {}\n", node.text(screen, 2)));
            before.1 = Some(node.node_id.as_str());
        }
        let indent = if it.node.is_some() { 4 } else { 2 };
        let line = screen.rest(&it.excerpt, indent + it.field.len() + 2);
        let excerpt = highlighted(&line, &it.marked);
        text.push_str(&format!("{}{}: {excerpt}\n", " ".repeat(indent), styled(QUIET, it.field)));
    }
    let nodes = matches
        .iter()
        .map(|it| (&it.id, it.node.as_ref().map(|node| &node.node_id)))
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    if matches.is_empty() {
        return format!("No matches in {}.\n", counted(folders, "investigation"));
    }
    text + &format!("\n{} in {}.\n", counted(matches.len(), "text"), counted(nodes, "place"))
}

/// Highlights the given parts of the line, unless they were cut off.
fn highlighted(line: &str, marked: &[(usize, usize)]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    for (from, to) in marked {
        let (Some(before), Some(word)) = (line.get(at..*from), line.get(*from..*to)) else { break };
        text.push_str(before);
        text.push_str(&styled(DOUBT.bold(), word));
        at = *to;
    }
    text + line.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, words: &[&str]) -> Option<String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let (excerpt, marked) = excerpt(text, &words)?;
        let mut shown = excerpt.clone();
        for (from, to) in marked.iter().rev() {
            shown.replace_range(*from..*to, &format!("[{}]", &excerpt[*from..*to]));
        }
        Some(shown)
    }

    #[test]
    fn every_word_is_looked_for_and_marked() {
        assert_eq!(
            found("The Writer\nholds the lock", &["lock", "writer"]).unwrap(),
            "The [Writer] holds the [lock]"
        );
        assert_eq!(found("The writer", &["writer", "lock"]), None);
        assert_eq!(found("ababab", &["aba", "bab"]).unwrap(), "[abab]ab");
        assert_eq!(found("ÄÖ straße İx", &["öx"]), None);
        // Letters that get longer do not shift the marks.
        for (text, word, shown) in [
            ("ÄÖ x", "äö", "[ÄÖ] x"),
            ("İİİ lock", "lock", "İİİ [lock]"),
            ("Große Straße", "STRASSE", "Große [Straße]"),
            ("İstanbul, ＡＢＣ", "istanbul", "[İstanbul], ＡＢＣ"),
            ("ﬁne, don’t ＡＢＣ", "don't", "ﬁne, [don’t] ＡＢＣ"),
        ] {
            assert_eq!(found(text, &[&folded(word)]).unwrap(), shown);
        }
    }

    #[test]
    fn only_what_is_around_the_first_word_is_shown() {
        let text = format!("{} needle {}", "word ".repeat(100), "tail ".repeat(100));
        let shown = found(&text, &["needle"]).unwrap();
        assert!(shown.starts_with("…word") && shown.contains("[needle]") && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() < AROUND + 10, "{shown}");
    }
}
