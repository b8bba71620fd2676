//! The citations of a finding.

use std::{collections::HashMap, ops::Range};

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};
use serde::Serialize;

use super::{
    parse::{self, Definition, Parsed, Source},
    text::{bare_urls, is_web_url},
};
use crate::text::{first_bytes, is_hidden, one_line, shorten};

/// A longer path or address is not one.
const MAX_TARGET_BYTES: usize = 4096;

/// Stands for an underscore that the parser took for emphasis (`src/__init__.py`) until it is known whether it
/// belongs to a path. A private-use character, dropped from the text itself.
const MARK: char = '\u{E000}';

/// Separators that end a path or a URL in a list item and begin its description.
const SEPARATORS: [&str; 5] = [" - ", " – ", " — ", " -- ", ": "];

/// The part of an item that is searched for its paths and their separator, and the length of a title. Without a bound, an item
/// of nothing but paths would cost their number times its length.
const MAX_HEAD_BYTES: usize = 4096;
const MAX_TITLE_BYTES: usize = 1024;

/// The most characters of an unreadable line that are shown.
const MAX_SHOWN: usize = 80;

/// The first line, and the last one where there are several.
type Span = (u32, Option<u32>);

/// One source that a finding cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The address as it was written, or the path without its line. A path of a named repository has that before it, as
    /// it was written: `repo@commit:path`, `owner/name path`.
    pub target: String,
    /// Which of the two it is.
    pub kind: MentionKind,
    /// The first line that a path names, as `:42`, `:42-50` or `#L42`.
    pub line: Option<u32>,
    /// The last one, where it names several.
    pub last_line: Option<u32>,
    /// A link's title or text, or the description in the list item; of one line, not escaped.
    pub title: Option<String>,
    /// The quote of a path, word for word, as [`references`] reads it.
    pub quote: Option<String>,
}

/// A line under the heading "References" that should name a source, and names none that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableReference {
    /// The line it begins on, from 1.
    pub line: usize,
    /// Its beginning; of one line, not escaped.
    pub text: String,
}

/// The target of a [`Mention`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MentionKind {
    /// An `http` or `https` address.
    Url,
    /// A file path, of whatever repository.
    Path,
}

/// Returns the sources that one finding cites, in order of first mention; each target, with its line, once. Of several titles
/// the first stays.
///
/// - URLs count everywhere but in code blocks and raw HTML: links, images, autolinks, bare URLs, unused link
///   definitions (`[1]: https://…`), and inline code too, since people cite from it.
/// - Paths count only in list items of a section headed "References" or "Reference" (any level and case), which
///   ends with the next heading of its level or a higher one, or with the quote or list that it stands in.
/// - A path is the first thing in its item (several with `,` or `and` between them), bare, in backticks or as
///   the target of a link. In an item that begins with prose, what stands in backticks, or has both a folder
///   and a file extension, is one. White space is never part of a path.
/// - The quote of a path is in backticks or quotation marks at the start of its item's description (``- src/a.rs:18 - `let n =
///   3;` in the loop``), if it is the item's only path; anywhere else in backticks, with the path and its line in brackets
///   after it (`` `let n = 3;` (src/a.rs:18) ``). A name alone (`connect()`) is not a quote.
/// - A path may name its repository: `repo@commit:path:line`, with seven digits of the commit or more, and
///   `owner/name path:line`, which has to name a line.
pub fn references(markdown: &str) -> Vec<Mention> {
    Source::new(markdown).parse().references()
}

/// The lines under "References" from which [`references`] takes nothing: a list item in which nothing is a source,
/// with all that is below it, and a paragraph that would be one if it were an item. "None" is an answer.
pub fn unreadable_references(markdown: &str) -> Vec<UnreadableReference> {
    let source = Source::new(markdown);
    let parsed = source.parse();
    let (mut line, mut seen) = (1, 0);
    let unreadable = parsed.read().unreadable.into_iter().map(|(at, text)| {
        line += parsed.source[seen..at].matches('\n').count();
        seen = at;
        UnreadableReference { line, text: shorten(&one_line(&unmarked(&text)), MAX_SHOWN) }
    });
    unreadable.collect()
}

/// The path, and its lines, that a source means which was given as data, unless it is a URL, a path of another repository
/// that it names, or no path at all.
pub fn own_path(target: &str) -> Option<Mention> {
    let target = target.trim();
    if is_web_url(target) || repository_before(target).is_some() {
        return None;
    }
    path_of(target, true).map(|(path, lines)| path_mention(path, lines, None))
}

impl Parsed<'_> {
    /// Returns the citations of a parsed text, as [`references`] does.
    pub fn references(&self) -> Vec<Mention> {
        let mut reader = self.read();
        reader.define(&self.definitions);
        reader.found.sort_by_key(|(at, _)| *at);
        let mut found = deduplicate(reader.found.into_iter().map(|(_, mention)| mention));
        for mention in found.iter_mut().filter(|it| it.kind == MentionKind::Path && it.quote.is_none()) {
            let of = |(path, span, _): &&(String, Span, String)| {
                *path == mention.target && Some(span.0) == mention.line && span.1 == mention.last_line
            };
            mention.quote = reader.quotes.iter().find(of).map(|(.., quote)| quote.clone());
        }
        found
    }

    fn read(&self) -> Reader {
        let mut reader = Reader::default();
        for (event, range) in &self.events {
            reader.take(self.source, event, range);
        }
        reader.end_line();
        reader
    }

    /// Whether the text has a section headed "References" or "Reference", which [`references`] reads paths from.
    pub fn lists_references(&self) -> bool {
        let mut heading: Option<String> = None;
        for (event, _) in &self.events {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) if heading.take().is_some_and(|text| is_references(&text)) => {
                    return true;
                }
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some(text) = &mut heading {
                        text.push_str(piece);
                    }
                }
                _ => {}
            }
        }
        false
    }
}

#[derive(Default)]
struct Reader {
    /// Mentions with their places: the offset of their line of text and the place in it.
    found: Vec<((usize, usize), Mention)>,
    line: Line,
    /// Open quotes, lists, items and footnotes.
    containers: usize,
    section: Option<Section>,
    heading: Option<(u8, String)>,
    /// Whether the line is the first of a list item.
    item: bool,
    /// The outermost list item of the section that is open.
    outer: Option<Outer>,
    /// A quote in backticks, with the path and the lines in brackets after it.
    quotes: Vec<(String, Span, String)>,
    /// The start of each unreadable line, and its fault.
    unreadable: Vec<(usize, String)>,
    silent: bool,
}

/// A list item of the section that is in no other.
struct Outer {
    at: usize,
    /// Its first line.
    text: String,
    /// The number of open containers in it, itself included.
    containers: usize,
    /// The number of mentions before it.
    found: usize,
}

struct Section {
    level: u8,
    containers: usize,
}

/// The text of a paragraph, cell, heading or tight list item.
#[derive(Default)]
struct Line {
    at: usize,
    text: String,
    plain: Vec<Range<usize>>,
    codes: Vec<Range<usize>>,
    links: Vec<LinkSpan>,
    open_links: Vec<usize>,
    /// For every open emphasis, its number of underscores.
    marks: Vec<usize>,
}

struct LinkSpan {
    range: Range<usize>,
    target: String,
    title: String,
}

impl Reader {
    fn take(&mut self, source: &str, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                self.end_line();
                self.silent = true;
            }
            Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock) => self.silent = false,
            _ if self.silent => {}
            Event::Start(Tag::Heading { level, .. }) => {
                self.end_line();
                self.heading = Some((*level as u8, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                self.end_line();
                self.end_heading();
            }
            Event::Start(tag) if !parse::is_inline(&tag.to_end()) => {
                self.end_line();
                match tag {
                    Tag::Item => {
                        self.containers += 1;
                        self.item = true;
                        self.start_item(range.start);
                    }
                    Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_) => self.containers += 1,
                    _ => {}
                }
            }
            Event::End(tag) if !parse::is_inline(tag) => {
                self.end_line();
                if matches!(
                    tag,
                    TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition
                ) {
                    self.end_item();
                    self.containers = self.containers.saturating_sub(1);
                    self.item = false;
                    if self.section.as_ref().is_some_and(|section| section.containers > self.containers) {
                        self.section = None;
                    }
                }
            }
            event => {
                if let (Some((_, heading)), Event::Text(text) | Event::Code(text)) =
                    (&mut self.heading, event)
                {
                    heading.push_str(text);
                } else if let (Some((_, heading)), Event::SoftBreak | Event::HardBreak) =
                    (&mut self.heading, event)
                {
                    // A setext heading takes the lines above it as well; the last is the one underlined.
                    heading.clear();
                }
                self.line.take(source, event, range);
            }
        }
    }

    fn start_item(&mut self, at: usize) {
        if self.section.is_some() && self.outer.is_none() {
            let (containers, found) = (self.containers, self.found.len());
            self.outer = Some(Outer { at, text: String::new(), containers, found });
        }
    }

    /// Ends the outermost item, if it is what ends here.
    fn end_item(&mut self) {
        let Some(outer) = self.outer.take_if(|outer| outer.containers == self.containers) else { return };
        if outer.found == self.found.len() && !says_none(&outer.text) {
            self.unreadable.push((outer.at, outer.text));
        }
    }

    fn end_heading(&mut self) {
        let Some((level, text)) = self.heading.take() else { return };
        let containers = self.containers;
        if self
            .section
            .as_ref()
            .is_some_and(|section| containers == section.containers && level <= section.level)
        {
            self.section = None;
        }
        if is_references(&text) && self.section.is_none() {
            self.section = Some(Section { level, containers });
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.text.is_empty() && line.links.is_empty() {
            return;
        }
        let is_first = std::mem::take(&mut self.item);
        self.quotes.extend(line.quotes());
        let mut found = line.urls();
        if self.section.is_some() && is_first {
            line.list_item(&mut found);
        } else if self.section.is_some() && self.outer.is_none() && self.heading.is_none() && found.is_empty()
        {
            // A paragraph. Citations in an item are meant as sources.
            line.list_item(&mut found);
            if !found.is_empty() {
                found.clear();
                self.unreadable.push((line.at, first_bytes(&line.text, MAX_TITLE_BYTES).to_owned()));
            }
        }
        if let Some(outer) = self.outer.as_mut().filter(|outer| outer.text.is_empty()) {
            outer.text.push_str(first_bytes(&line.text, MAX_TITLE_BYTES));
        }
        found.sort_by_key(|(range, _)| range.start);
        self.found.extend(found.into_iter().map(|(range, mention)| ((line.at, range.start), mention)));
    }

    fn define(&mut self, definitions: &[Definition]) {
        for Definition { at, target, title } in definitions {
            if is_citable_url(target) {
                let title = title.as_ref().and_then(|title| title_of(title, target));
                let mention = url_mention(target.clone(), title);
                self.found.push(((*at, 0), mention));
            }
        }
    }
}

impl Line {
    fn take(&mut self, source: &str, event: &Event<'_>, range: &Range<usize>) {
        if self.text.is_empty() && self.links.is_empty() {
            self.at = range.start;
        }
        match event {
            Event::Text(text) => {
                let range = self.push(text);
                if self.open_links.is_empty() {
                    self.plain.push(range);
                }
            }
            Event::Code(text) => {
                let range = self.push(text);
                if self.open_links.is_empty() {
                    self.codes.push(range);
                }
            }
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::Emphasis | Tag::Strong) => {
                let bytes = &source.as_bytes()[range.clone()];
                let width = bytes.iter().take(2).take_while(|byte| **byte == b'_').count();
                let width = if matches!(event, Event::Start(Tag::Emphasis)) { width.min(1) } else { width };
                self.marks.push(width);
                self.mark(width);
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong) => {
                let width = self.marks.pop().unwrap_or(0);
                self.mark(width);
            }
            Event::Start(Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. }) => {
                self.start_link(dest_url, title);
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(index) = self.open_links.pop() {
                    self.links[index].range.end = self.text.len();
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.extend(text.chars().filter(|c| *c != MARK));
        start..self.text.len()
    }

    fn mark(&mut self, width: usize) {
        self.text.extend(std::iter::repeat_n(MARK, width));
    }

    fn start_link(&mut self, target: &CowStr<'_>, title: &CowStr<'_>) {
        let start = self.text.len();
        self.open_links.push(self.links.len());
        self.links.push(LinkSpan {
            range: start..start,
            target: target.to_string(),
            title: title.to_string(),
        });
    }

    /// Returns the URLs of the line, with their places in its text.
    fn urls(&self) -> Vec<(Range<usize>, Mention)> {
        let mut found = Vec::new();
        for link in self.links.iter().filter(|link| is_citable_url(&link.target)) {
            let title = title_of(&link.title, &link.target).or_else(|| self.text_of(link));
            let mention = url_mention(link.target.clone(), title);
            found.push((link.range.clone(), mention));
        }
        for run in self.plain.iter().chain(&self.codes) {
            for url in bare_urls(&self.text[run.clone()]) {
                let range = run.start + url.start..run.start + url.end;
                let target = self.text[range.clone()].to_owned();
                if is_citable_url(&target) {
                    found.push((range, url_mention(target, None)));
                }
            }
        }
        // Stable, so that a link stays before the image in it.
        found.sort_by_key(|(range, _)| range.start);
        found
    }

    fn text_of(&self, link: &LinkSpan) -> Option<String> {
        title_of(&unmarked(first_bytes(&self.text[link.range.clone()], MAX_TITLE_BYTES)), &link.target)
    }

    /// Adds the paths of a list item in the References section, or the item's description to its URL.
    fn list_item(&self, found: &mut Vec<(Range<usize>, Mention)>) {
        let end = self.head_end();
        if let Some((range, mention)) = found.first_mut().filter(|(range, _)| range.start < end) {
            if mention.title.is_none() {
                mention.title = description(&self.text[range.end..]);
            }
            return;
        }
        let mut paths = self.head_paths(end);
        if paths.is_empty() && found.is_empty() {
            paths = self.prose_paths();
        }
        found.extend(paths);
    }

    /// Reads a text in backticks, with a path and its lines in brackets after it.
    fn quotes(&self) -> impl Iterator<Item = (String, Span, String)> {
        self.codes.iter().filter_map(|code| {
            let behind = self.text[code.end..].strip_prefix(" (")?;
            let (path, lines) = path_of(&unmarked(&behind[..behind.find(')')?]), true)?;
            Some((path, lines?, quote_of(&self.text[code.clone()])?))
        })
    }

    /// Returns the quote at the start of a description, in backticks or quotation marks. This text begins with the separator.
    fn quote_after(&self, end: usize) -> Option<String> {
        let rest = &self.text[end..];
        let mark = SEPARATORS.iter().find(|mark| rest.starts_with(**mark))?;
        let text = rest[mark.len()..].trim_start();
        let start = self.text.len() - text.len();
        if let Some(code) = self.codes.iter().find(|code| code.start == start) {
            return quote_of(&self.text[code.clone()]);
        }
        let marks = [("\"", '"'), ("“", '”')];
        let inner = marks.iter().find_map(|(open, close)| text.strip_prefix(open)?.split_once(*close));
        inner.and_then(|(quote, _)| quote_of(&unmarked(quote)))
    }

    /// Returns the place of the item's first separator outside of code and links.
    fn head_end(&self) -> usize {
        let head = first_bytes(&self.text, MAX_HEAD_BYTES);
        let mut from = 0;
        while let Some(at) = SEPARATORS.iter().filter_map(|mark| head.get(from..)?.find(mark)).min() {
            let at = from + at;
            match self.code_or_link_over(at) {
                Some(end) => from = end,
                None => return at,
            }
        }
        head.len()
    }

    /// The end of the code or link that covers a place.
    fn code_or_link_over(&self, at: usize) -> Option<usize> {
        let code = self.codes[..self.codes.partition_point(|range| range.start <= at)].last();
        let link = self.links[..self.links.partition_point(|link| link.range.start <= at)].last();
        let ends = [code.map(|range| range.end), link.map(|link| link.range.end)];
        ends.into_iter().flatten().filter(|end| *end > at).max()
    }

    /// The paths of an item that begins with them. All of its beginning must be paths, or the first be code or
    /// a link.
    fn head_paths(&self, end: usize) -> Vec<(Range<usize>, Mention)> {
        let title = description(&self.text[end..]);
        let mut paths = Vec::new();
        let mut start = 0;
        while start < end {
            let gap = self.text[start..end].len() - self.text[start..end].trim_start().len();
            start += gap;
            let code = self.codes.get(self.codes.partition_point(|range| range.start < start));
            let code = code.filter(|range| range.start == start);
            let link = self.links.get(self.links.partition_point(|link| link.range.start < start));
            let link = link.filter(|link| link.range.start == start && link.range.end > start);
            let (range, path, title) = if let Some(link) = link {
                let path = path_of(&link.target, true);
                let own = title_of(&link.title, &link.target).or_else(|| self.text_of(link));
                let own = own.filter(|own| path.as_ref().is_none_or(|(path, _)| own != path));
                (link.range.clone(), path, own.or_else(|| title.clone()))
            } else if let Some(range) = code {
                // The line may stand behind the backtick.
                // Code can reach past the end of the part that is searched.
                let behind = self.text.get(range.end..end).unwrap_or_default();
                let tail = behind.find([' ', ',', ';', ')']).unwrap_or(behind.len());
                let whole = start..range.end + tail;
                match path_of(&self.text[whole.clone()], true) {
                    Some(path) => (whole, Some(path), title.clone()),
                    None => (range.clone(), path_of(&self.text[range.clone()], true), title.clone()),
                }
            } else {
                let (word, path) = first_path(&self.text[start..end]);
                (start..start + word.len(), path, title.clone())
            };
            let quoted = code.is_some() || link.is_some();
            let Some((target, lines)) = path else {
                // Prose: what came before it was prose too, unless its backticks say otherwise.
                paths.retain(|(quoted, _, _)| *quoted);
                break;
            };
            start = range.end;
            paths.push((quoted, range, path_mention(target, lines, title)));
            let behind = self.text.get(start..end).unwrap_or_default().trim_start();
            let next = behind
                .strip_prefix("and ")
                .or_else(|| behind.strip_prefix([',', ';', '&']))
                .unwrap_or(behind);
            start = end.max(start) - next.len();
            let next = next.trim_start();
            // A remark in brackets belongs to the path before it.
            if next.is_empty() || next.starts_with('(') {
                break;
            }
        }
        if let [(.., only)] = paths.as_mut_slice() {
            only.quote = self.quote_after(end);
        }
        paths.into_iter().map(|(_, range, mention)| (range, mention)).collect()
    }

    /// Returns the paths in an item of prose: only what can hardly be anything else.
    fn prose_paths(&self) -> Vec<(Range<usize>, Mention)> {
        let mut paths = Vec::new();
        let mut add = |range: Range<usize>, path: Option<(String, Option<Span>)>| {
            if let Some((target, lines)) = path {
                let title = description(&self.text[range.end..]);
                paths.push((range, path_mention(target, lines, title)));
            }
        };
        for range in &self.codes {
            add(
                range.clone(),
                path_of(&self.text[range.clone()], true).filter(|(path, line)| {
                    // `self.items` has the shape of a file's name as well.
                    line.is_some() || path.contains(['/', '\\'])
                }),
            );
        }
        for link in &self.links {
            add(link.range.clone(), path_of(&link.target, true));
        }
        for run in &self.plain {
            for word in self.text[run.clone()].split_whitespace() {
                let start = word.as_ptr() as usize - self.text.as_ptr() as usize;
                let path = path_of(word, false);
                add(
                    start..start + word.len(),
                    path.filter(|(path, _)| path.contains(['/', '\\']) && extension(path).is_some()),
                );
            }
        }
        paths.sort_by_key(|(range, _): &(Range<usize>, Mention)| range.start);
        paths
    }
}

/// Each target with its line once; a later title fills a gap.
fn deduplicate(mentions: impl Iterator<Item = Mention>) -> Vec<Mention> {
    let mut known: HashMap<(MentionKind, String, Option<u32>), usize> = HashMap::new();
    let mut unique: Vec<Mention> = Vec::new();
    for mention in mentions {
        let key = (mention.kind, mention.target.clone(), mention.line);
        match known.get(&key).and_then(|index| unique.get_mut(*index)) {
            Some(first) => {
                first.title = first.title.take().or(mention.title);
                first.quote = first.quote.take().or(mention.quote);
            }
            None => {
                known.insert(key, unique.len());
                unique.push(mention);
            }
        }
    }
    unique
}

fn url_mention(target: String, title: Option<String>) -> Mention {
    Mention { target, kind: MentionKind::Url, line: None, last_line: None, title, quote: None }
}

fn path_mention(target: String, lines: Option<Span>, title: Option<String>) -> Mention {
    let (line, last_line) = lines.map_or((None, None), |(first, last)| (Some(first), last));
    Mention { target, kind: MentionKind::Path, line, last_line, title, quote: None }
}

/// A text that quotes, rather than names something.
fn quote_of(text: &str) -> Option<String> {
    let name = |c: char| c.is_alphanumeric() || "_-.:/\\<>$@#!?&*'()[]".contains(c);
    let has_arguments = text.contains(['(', '[']) && !text.ends_with("()") && !text.ends_with("[]");
    let is_name = text.chars().all(name) && !has_arguments;
    (!is_name && text.len() <= MAX_TITLE_BYTES).then(|| text.to_owned())
}

fn is_citable_url(url: &str) -> bool {
    url.len() <= MAX_TARGET_BYTES
        && is_web_url(url)
        && !url.chars().any(|c| c == '\n' || c == '\t' || is_hidden(c))
}

/// A title that says more than its target.
fn title_of(title: &str, target: &str) -> Option<String> {
    let title = one_line(first_bytes(title, MAX_TITLE_BYTES));
    (!title.is_empty() && title != target).then_some(title)
}

/// The text after the first separator.
fn description(rest: &str) -> Option<String> {
    let rest = first_bytes(rest, MAX_TITLE_BYTES);
    let (at, mark) =
        SEPARATORS.iter().filter_map(|mark| Some((rest.find(mark)?, mark))).min_by_key(|(at, _)| *at)?;
    let text = one_line(&unmarked(&rest[at + mark.len()..]));
    (!text.is_empty()).then_some(text)
}

fn unmarked(text: &str) -> String {
    text.replace(MARK, "")
}

/// A word with its underscores back, unless they surround all of it, or it and others, and so are emphasis.
fn literal(word: &str) -> String {
    let word = word.trim_end_matches(['.', ',', ';', ':']);
    let groups = word.split(|c| c != MARK).filter(|run| !run.is_empty()).count();
    let around = groups == 2 && word.starts_with(MARK) && word.ends_with(MARK);
    if groups % 2 == 1 || around { unmarked(word) } else { word.replace(MARK, "_") }
}

/// Returns the first word, or the first two if these are a repository and a path in it; and the path that this is.
fn first_path(text: &str) -> (&str, Option<(String, Option<Span>)>) {
    let first = word_end(text);
    let gap = text[first..].len() - text[first..].trim_start().len();
    let second = first + gap + word_end(&text[first + gap..]);
    let both = Some(&text[..second]).filter(|both| first < second && both.len() <= MAX_TARGET_BYTES);
    let path = |word| path_of(&literal(word), false);
    match both.and_then(|both| Some((both, path(both)?))) {
        Some((both, found)) => (both, Some(found)),
        None => (&text[..first], path(&text[..first])),
    }
}

fn word_end(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

/// The path and line in a word, with the repository before it, if it looks like one. `quoted` words (backticks, links)
/// are given more credit.
fn path_of(word: &str, quoted: bool) -> Option<(String, Option<Span>)> {
    if word.len() > MAX_TARGET_BYTES {
        return None;
    }
    let word = word.trim();
    match repository_before(word) {
        Some((repository, path)) => {
            let (path, line) = path_in_repository(path, quoted)?;
            // Two words may be two paths.
            (line.is_some() || repository.ends_with(':')).then(|| (format!("{repository}{path}"), line))
        }
        None => path_in_repository(word, quoted),
    }
}

/// Splits `repo@commit:` or `owner/name ` from the text after it.
fn repository_before(word: &str) -> Option<(&str, &str)> {
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let is_name = |name: &str| !name.is_empty() && name.chars().all(named);
    let is_commit =
        |text: &str| (7..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    let at_commit = |text: &str| {
        text.split_once('@').map_or(is_name(text), |(name, commit)| is_name(name) && is_commit(commit))
    };
    let pinned = word.split_once(':').filter(|(before, _)| before.contains('@') && at_commit(before));
    if let Some((before, path)) = pinned {
        return Some((&word[..=before.len()], path));
    }
    let (before, path) = word.split_once(' ')?;
    let owned = before.matches('/').count() == 1 && extension(before).is_none();
    (owned && at_commit(before)).then(|| (&word[..=before.len()], path.trim_start()))
}

fn path_in_repository(word: &str, quoted: bool) -> Option<(String, Option<Span>)> {
    let word = word.trim_end_matches(['.', ',', ';', ':']);
    let word = ["()", "[]", "<>", "\"\"", "''"]
        .iter()
        .find_map(|pair| word.strip_prefix(&pair[..1])?.strip_suffix(&pair[1..]))
        .unwrap_or(word);
    let word = if word.contains('(') { word } else { word.trim_end_matches(')') };
    let word = if word.contains(')') { word } else { word.trim_start_matches('(') };
    let (path, line) = split_line(word);
    let drive = path.get(1..3) == Some(":\\") || path.get(1..3) == Some(":/");
    let body = if drive { &path[2..] } else { path };
    let strange = |c: char| c.is_whitespace() || is_hidden(c) || ":*?\"<>|`#".contains(c);
    if path.is_empty() || body.contains(strange) || body.starts_with("//") {
        return None;
    }
    let parts: Vec<&str> = body.split(['/', '\\']).collect();
    let name = parts.last().copied().unwrap_or_default();
    let rooted =
        drive || ["/", "./", "../", "~/", ".\\", "..\\", "\\"].iter().any(|start| body.starts_with(start));
    let nothing = !body.contains(char::is_alphanumeric);
    let looks = if nothing {
        false
    } else if parts.len() == 1 {
        let host = extension(name).is_some_and(|ext| ["com", "net", "org"].contains(&ext));
        !name.contains(['@', '(', ')', '=']) && ((extension(name).is_some() && !host) || is_known_name(name))
    } else {
        let doi = body.starts_with("10.") && !rooted;
        // `N/A` and `TCP/IP` are not paths; `src/markdown` is.
        let words = extension(name).is_none() && !rooted && !quoted && !body.contains(char::is_lowercase);
        let none = body.eq_ignore_ascii_case("n/a") || body.eq_ignore_ascii_case("and/or");
        !doi && !words && !none
    };
    looks.then(|| (path.to_owned(), line))
}

/// Takes `:42`, `:42-50`, `:42:7`, `#L42` or `#L42-L50` off the end.
fn split_line(word: &str) -> (&str, Option<Span>) {
    for (at, _) in word.match_indices([':', '#']) {
        let behind = &word[at + 1..];
        let behind = match behind.strip_prefix(['L', 'l']) {
            Some(number) => number,
            // `#42` is an issue.
            None if word[at..].starts_with('#') => continue,
            None => behind,
        };
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let range = behind[digits..]
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | '–' | ':' | ',' | 'L' | 'C'));
        if digits > 0 && range {
            let first = behind[..digits].parse().ok().filter(|line| *line > 0);
            let last = behind[digits..].strip_prefix(['-', '–']).unwrap_or_default();
            let last = last.trim_start_matches('L').split(|c: char| !c.is_ascii_digit()).next();
            let last = last.and_then(|last| last.parse().ok());
            return (&word[..at], first.map(|first| (first, last.filter(|last| *last > first))));
        }
    }
    (word, None)
}

/// The extension of a file's name; a dot file counts as one.
fn extension(name: &str) -> Option<&str> {
    let name = name.rsplit(['/', '\\']).next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let letters = extension.starts_with(|c: char| c.is_ascii_alphabetic());
    let word = extension.len() <= if stem.is_empty() { 40 } else { 12 };
    let plain = extension.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (letters && word && plain).then_some(extension)
}

/// Files that go without an extension.
fn is_known_name(name: &str) -> bool {
    const NAMES: [&str; 20] = [
        "makefile",
        "gnumakefile",
        "dockerfile",
        "containerfile",
        "justfile",
        "rakefile",
        "gemfile",
        "procfile",
        "jenkinsfile",
        "vagrantfile",
        "brewfile",
        "license",
        "licence",
        "copying",
        "readme",
        "changelog",
        "notice",
        "authors",
        "codeowners",
        "build",
    ];
    // `Build` begins a sentence, `BUILD` is Bazel's file.
    NAMES.contains(&name.to_ascii_lowercase().as_str()) && (name != "Build" && name != "build")
}

/// Whether an item says that there is no source.
fn says_none(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    text.chars().all(|c| !c.is_alphanumeric())
        || ["none", "n/a"].iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// Whether a heading's text opens a References section.
pub(super) fn is_references(heading: &str) -> bool {
    let name = heading.trim().trim_end_matches(':').trim_end();
    name.eq_ignore_ascii_case("references") || name.eq_ignore_ascii_case("reference")
}
