//! Parses Markdown into the events that the other files use.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};

/// An event and its byte range in the source.
pub(super) type Located = (Event<'static>, Range<usize>);

/// A link reference definition: `[label]: target "title"`.
pub(super) struct Definition {
    pub at: usize,
    pub target: String,
    pub title: Option<String>,
}

/// Parsed Markdown, from which all other forms of the text are created.
pub struct Parsed {
    /// The text with `\n` line endings and without a byte order mark.
    pub(super) source: String,
    /// All events of the text.
    ///
    /// Adjacent text events are merged, because the parser splits text at `_`, `*`, `[`, entities and escapes, but
    /// URLs must be found in the whole text. Emphasis that starts inside a bare URL (`https://x/_a_/b`) is converted
    /// back into text, as on GitHub. So are the signs in `8*16*4` and `~5~`, so that each number is shown as it was written.
    pub(super) events: Vec<Located>,
    /// The link reference definitions in order.
    pub(super) definitions: Vec<Definition>,
}

impl Parsed {
    /// Parses Markdown.
    pub fn new(markdown: &str) -> Parsed {
        let markdown = markdown.strip_prefix('\u{FEFF}').unwrap_or(markdown);
        let source = markdown.replace("\r\n", "\n").replace('\r', "\n");
        let parser = Parser::new_ext(&source, options()).into_offset_iter();
        // The parser stores definitions in a hash map, in no particular order.
        let definitions = parser.reference_definitions().iter().map(|(_, definition)| Definition {
            at: definition.span.start,
            target: definition.dest.to_string(),
            title: definition.title.as_deref().map(str::to_owned),
        });
        let mut definitions: Vec<Definition> = definitions.collect();
        definitions.sort_by_key(|definition| definition.at);

        let mut mistaken = MistakenEmphasis::default();
        let events = parser.map(|(event, range)| mistaken.undo(&source, event, range));
        let events = TextMergeWithOffset::new(events).map(|(event, range)| (event.into_static(), range));
        Parsed { events: events.collect(), definitions, source }
    }

    /// Returns whether each line that has these words is also a line of the `earlier` text, if any has them.
    pub fn has_lines_of(&self, earlier: &str, words: &str) -> bool {
        let earlier: HashSet<&str> = earlier.lines().collect();
        let mut lines = self.source.lines().filter(|line| line.contains(words)).peekable();
        lines.peek().is_some() && lines.all(|line| earlier.contains(line))
    }

    /// Returns the part of the text that these events cover.
    pub(super) fn part(&self, events: Vec<Located>) -> Parsed {
        Parsed { source: self.source.clone(), events, definitions: Vec::new() }
    }
}

/// Returns true if the element occurs inside a line of text.
pub(super) fn is_inline(tag: &TagEnd) -> bool {
    use TagEnd::{Emphasis, Image, Link, Strikethrough, Strong, Subscript, Superscript};
    matches!(tag, Emphasis | Strong | Strikethrough | Link | Image | Superscript | Subscript)
}

/// Heading attributes are disabled because they would let the text choose ids and classes.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
}

/// Converts emphasis inside bare URLs and numbers back into text.
#[derive(Default)]
struct MistakenEmphasis {
    /// True if the text so far ends inside a likely URL.
    in_url: bool,
    /// For each open emphasis, true if it was converted back into text.
    undone: Vec<bool>,
    links: usize,
}

impl MistakenEmphasis {
    fn undo<'a>(
        &mut self,
        source: &'a str,
        event: Event<'a>,
        range: Range<usize>,
    ) -> (Event<'a>, Range<usize>) {
        let text = match &event {
            Event::Text(text) => Some(text.clone()),
            Event::Start(tag @ (Tag::Emphasis | Tag::Strong | Tag::Strikethrough)) => {
                let width = delimiter_width(source, &range, &tag.to_end());
                let undo = self.in_url && self.links == 0 || is_of_number(source, &range, width);
                self.undone.push(undo);
                undo.then(|| source[range.start..range.start + width].into())
            }
            Event::End(tag @ (TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough)) => {
                let width = delimiter_width(source, &range, tag);
                let undone = self.undone.pop().unwrap_or(false);
                undone.then(|| source[range.end - width..range.end].into())
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                self.links += 1;
                None
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.links = self.links.saturating_sub(1);
                None
            }
            _ => None,
        };
        let Some(text) = text else {
            self.in_url = false;
            return (event, range);
        };
        let word_start = text.rfind(char::is_whitespace);
        let word = &text[word_start.unwrap_or(0)..];
        self.in_url =
            (self.in_url && word_start.is_none()) || word.contains("http://") || word.contains("https://");
        (Event::Text(text), range)
    }
}

/// Returns whether the marks of an emphasis are signs of a calculation within a word, or of an approximate number.
fn is_of_number(source: &str, range: &Range<usize>, width: usize) -> bool {
    let inside = &source[range.start + width..range.end - width];
    let (before, after) = (&source[..range.start], &source[range.end..]);
    let is_approximate = source[range.start..].starts_with('~') && width == 1;
    if is_approximate && inside.starts_with(char::is_numeric)
        || joins_digits(before, inside)
        || joins_digits(inside, after)
    {
        return true;
    }
    let around = [before.chars().next_back(), after.chars().next()];
    let ends = [inside.chars().next(), inside.chars().next_back()];
    let is_calculated =
        |c: &Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "()[]$€£.,+-%!\"'`".contains(c));
    around.iter().all(is_calculated)
        && around.iter().any(|c| c.is_some_and(char::is_alphanumeric))
        && around.iter().chain(&ends).flatten().any(|c| c.is_numeric())
}

/// Returns whether two digits would stand side by side if the marks between these texts were not shown.
fn joins_digits(before: &str, after: &str) -> bool {
    let is_mark = |c| matches!(c, '*' | '~' | '_');
    before.trim_end_matches(is_mark).ends_with(char::is_numeric)
        && after.trim_start_matches(is_mark).starts_with(char::is_numeric)
}

/// Returns the length of the delimiter that opens and closes an emphasis. Delimiters are ASCII.
fn delimiter_width(source: &str, range: &Range<usize>, tag: &TagEnd) -> usize {
    let bytes = &source.as_bytes()[range.clone()];
    match tag {
        TagEnd::Strong => 2,
        TagEnd::Strikethrough => bytes.iter().take(2).filter(|byte| **byte == b'~').count(),
        _ => 1,
    }
    .min(bytes.len() / 2)
}
