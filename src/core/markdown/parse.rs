//! Parses Markdown into the events used by the other files.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// An event and its byte range in the source.
pub(super) type Located<'a> = (Event<'a>, Range<usize>);

/// A link reference definition: `[label]: target "title"`.
pub(super) struct Definition {
    pub at: usize,
    pub target: String,
    pub title: Option<String>,
}

/// Markdown with `\n` line endings and without a byte order mark.
pub struct Source<'t>(Cow<'t, str>);

impl<'t> Source<'t> {
    /// Normalizes the text, copying it only if necessary.
    pub fn new(markdown: &'t str) -> Self {
        let markdown = markdown.strip_prefix('\u{FEFF}').unwrap_or(markdown);
        Source(if markdown.contains('\r') {
            Cow::Owned(markdown.replace("\r\n", "\n").replace('\r', "\n"))
        } else {
            Cow::Borrowed(markdown)
        })
    }

    /// Parses the text. The result serves all uses of it.
    pub fn parse(&self) -> Parsed<'_> {
        let (events, definitions) = events(&self.0);
        Parsed { source: &self.0, events, definitions }
    }
}

/// Parsed Markdown.
pub struct Parsed<'s> {
    pub(super) source: &'s str,
    pub(super) events: Vec<Located<'s>>,
    pub(super) definitions: Vec<Definition>,
}

/// All events of a text, and its link reference definitions in order.
///
/// Adjacent text events are merged: the parser splits text at `_`, `*`, `[`, entities and escapes, but URLs must be
/// searched in the whole text. Emphasis that starts inside a bare URL (`https://x/_a_/b`) is turned back into text, as
/// on GitHub.
fn events(markdown: &str) -> (Vec<Located<'_>>, Vec<Definition>) {
    let parser = Parser::new_ext(markdown, options()).into_offset_iter();
    // The parser stores definitions in a hash map, in no particular order.
    let mut definitions: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(_, definition)| Definition {
            at: definition.span.start,
            target: definition.dest.to_string(),
            title: definition.title.as_deref().map(str::to_owned),
        })
        .collect();
    definitions.sort_by_key(|definition| definition.at);

    let mut merger = Merger::default();
    for (event, range) in parser {
        merger.take(markdown, event, range);
    }
    merger.flush();
    (merger.events, definitions)
}

/// Returns true if the element occurs within a line of text.
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

#[derive(Default)]
struct Merger<'a> {
    events: Vec<Located<'a>>,
    /// Text not yet in `events`: the first piece, and all of it once there is a second piece.
    text: Option<(CowStr<'a>, Range<usize>)>,
    joined: String,
    /// True if `text` ends inside what looks like a URL. Cached because `text` can be long and this is checked often.
    in_url: bool,
    /// For every open emphasis, whether it was turned back into text.
    undone: Vec<bool>,
    links: usize,
    code_block: bool,
}

impl<'a> Merger<'a> {
    fn take(&mut self, source: &'a str, event: Event<'a>, range: Range<usize>) {
        match &event {
            Event::Text(text) => return self.push_text(text.clone(), range),
            Event::Start(tag @ (Tag::Emphasis | Tag::Strong | Tag::Strikethrough)) => {
                let undo = self.in_url && self.links == 0;
                self.undone.push(undo);
                if undo {
                    let width = delimiter_width(source, &range, &tag.to_end());
                    return self.push_text(source[range.start..range.start + width].into(), range);
                }
            }
            Event::End(tag @ (TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough))
                if self.undone.pop() == Some(true) =>
            {
                let width = delimiter_width(source, &range, tag);
                return self.push_text(source[range.end - width..range.end].into(), range);
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => self.links += 1,
            Event::End(TagEnd::Link | TagEnd::Image) => self.links = self.links.saturating_sub(1),
            Event::Start(Tag::CodeBlock(_)) => self.code_block = true,
            Event::End(TagEnd::CodeBlock) => self.code_block = false,
            _ => {}
        }
        self.flush();
        self.events.push((event, range));
    }

    fn push_text(&mut self, piece: CowStr<'a>, range: Range<usize>) {
        if !self.code_block {
            let word_start = piece.rfind(char::is_whitespace);
            let word = &piece[word_start.unwrap_or(0)..];
            self.in_url = (self.in_url && word_start.is_none())
                || word.contains("http://")
                || word.contains("https://");
        }
        match &mut self.text {
            None => self.text = Some((piece, range)),
            Some((first, whole)) => {
                if self.joined.is_empty() {
                    self.joined.push_str(first);
                }
                self.joined.push_str(&piece);
                whole.end = range.end;
            }
        }
    }

    fn flush(&mut self) {
        self.in_url = false;
        if let Some((first, range)) = self.text.take() {
            let text = if self.joined.is_empty() { first } else { std::mem::take(&mut self.joined).into() };
            self.events.push((Event::Text(text), range));
        }
    }
}

/// The length of the delimiter that opens and closes an emphasis. Delimiters are ASCII.
fn delimiter_width(source: &str, range: &Range<usize>, tag: &TagEnd) -> usize {
    let bytes = &source.as_bytes()[range.clone()];
    match tag {
        TagEnd::Strong => 2,
        TagEnd::Strikethrough => bytes.iter().take(2).filter(|byte| **byte == b'~').count(),
        _ => 1,
    }
    .min(bytes.len() / 2)
}
