//! Finds the sources cited by a finding.

use std::{collections::HashMap, ops::Range};

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};
use serde::Serialize;

use super::{
    parse::{self, Definition, Parsed},
    source::SourceTarget,
    text::{bare_urls, is_web_url, lines_at},
};
use crate::text::{first_bytes, is_hidden, one_line, shorten};

/// The maximum length of a path or URL, in bytes.
const MAX_TARGET_BYTES: usize = 4096;

/// A placeholder for an underscore that the parser interpreted as emphasis (`src/__init__.py`), until it is known
/// whether the underscore belongs to a path. It is a private-use character, and any occurrence in the original text is
/// removed.
const MARK: char = '\u{E000}';

/// Separators that end a path or URL in a list item and start its description.
const SEPARATORS: [&str; 5] = [" - ", " – ", " — ", " -- ", ": "];

/// The maximum length of the part of an item that is searched for paths and their separator. Without a limit, an item
/// consisting of paths would take quadratic time.
const MAX_HEAD_BYTES: usize = 4096;
/// The maximum length of a title, a description or a quote, in bytes.
const MAX_TITLE_BYTES: usize = 1024;

/// The maximum length of an unreadable line as shown to the author, in characters.
const MAX_SHOWN: usize = 80;

/// A range of lines: the first line, and the last line if there are several lines.
type Span = (u32, Option<u32>);

/// A source cited by a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The URL as written, or the path without its lines. If a path names its repository, the name precedes it as
    /// written: `repo@commit:path`, `owner/name path`.
    pub target: String,
    /// The kind of target.
    pub kind: MentionKind,
    /// The first line given with a path, such as `:42`, `:42-50` or `#L42`.
    pub line: Option<u32>,
    /// The last line, if several lines are given.
    pub last_line: Option<u32>,
    /// The title or text of a link, or the description in the list item. On one line, not escaped.
    pub title: Option<String>,
    /// The text quoted from the file, verbatim. See [`references`].
    pub quote: Option<String>,
}

/// A line under the "References" heading from which no source could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableReference {
    /// The line number, starting at 1.
    pub line: usize,
    /// The beginning of the unreadable line. On one line, not escaped.
    pub text: String,
}

/// The kind of target of a [`Mention`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MentionKind {
    /// An `http` or `https` URL.
    Url,
    /// A file path in any repository.
    Path,
}

/// Finds the sources cited by a finding, in order of first mention.
///
/// Repeated mentions of the same target and line are merged. The first title is kept.
///
/// - URLs are found in links, images, autolinks, plain text, unused link definitions (`[1]: https://…`) and inline
///   code, but not in code blocks or raw HTML.
/// - Paths are found only in list items in a section with the heading "References" or "Reference" (any level and
///   case). The section ends at the next heading of the same or a higher level, or at the end of the quote or list
///   that contains it.
/// - An item starts with its path, or with several paths separated by `,` or `and`. A path may be bare, in backticks or
///   the target of a link. In an item that starts with prose, paths must be in backticks, or have both a folder and a
///   file extension. Paths contain no white space.
/// - A quote is text from the file, in backticks or quotation marks. In an item with a single path, the quote starts
///   the description (``- src/a.rs:18 - `let n = 3;` in the loop``). Elsewhere, it is in backticks and followed by the
///   path and line in brackets (`` `let n = 3;` (src/a.rs:18) ``). A mere name (`connect()`) is not a quote.
/// - A path may name its repository, as `repo@commit:path:line` with at least seven commit digits, or as `owner/name
///   path:line`, where the line is required.
pub fn references(markdown: &str) -> Vec<Mention> {
    Parsed::new(markdown).references().0
}

/// Parses a source given as data into a path and its lines. Returns `None` for a URL, a path in another repository, or
/// anything else that is not a path.
pub fn own_path(target: &str) -> Option<Mention> {
    let target = target.trim();
    if is_web_url(target) || repository_before(target).is_some() {
        return None;
    }
    path_of(target, true).map(|(path, lines)| path_mention(path, lines, None))
}

impl Parsed {
    /// Returns the sources cited in parsed text, like [`references`], and whether the text has a section with the heading
    /// "References" or "Reference".
    pub fn references(&self) -> (Vec<Mention>, bool) {
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
        (found, reader.has_section)
    }

    /// Finds the lines under "References" from which [`references`] can't read a source.
    ///
    /// The result contains list items without any source in them or below them, and paragraphs that would cite a source if
    /// they were list items. "None" is accepted as a statement that there is no source.
    pub fn unreadable_references(&self) -> Vec<UnreadableReference> {
        let (mut line, mut seen) = (1, 0);
        let unreadable = self.read().unreadable.into_iter().map(|(at, text)| {
            line += self.source[seen..at].matches('\n').count();
            seen = at;
            UnreadableReference { line, text: shorten(&one_line(&unmarked(&text)), MAX_SHOWN) }
        });
        unreadable.collect()
    }

    fn read(&self) -> ReferenceReader {
        let mut reader = ReferenceReader::default();
        for (event, range) in &self.events {
            reader.take(&self.source, event, range);
        }
        reader.end_line();
        reader
    }
}

#[derive(Default)]
struct ReferenceReader {
    /// The mentions, each with the offset of its line of text and its position in that line.
    found: Vec<((usize, usize), Mention)>,
    line: ReferenceLine,
    /// The number of open quotes, lists, items and footnotes.
    containers: usize,
    section: Option<Section>,
    /// True if the text has a References section.
    has_section: bool,
    heading: Option<(u8, String)>,
    /// True if the current line is the first line of a list item.
    item: bool,
    /// The outermost open list item in the References section.
    outer: Option<OuterItem>,
    /// Quotes in backticks, each with the path and lines given in brackets.
    quotes: Vec<(String, Span, String)>,
    /// The position and text of each unreadable line.
    unreadable: Vec<(usize, String)>,
    silent: bool,
}

/// A list item in the References section that is not nested in another item.
struct OuterItem {
    at: usize,
    /// The first line of the item.
    text: String,
    /// The number of open containers, including the item.
    containers: usize,
    /// The number of mentions found before the item.
    found: usize,
    /// True if the item names a source, such as `run:4c7d8f`.
    has_source: bool,
}

struct Section {
    level: u8,
    containers: usize,
}

/// The text of a paragraph, cell, heading or tight list item.
#[derive(Default)]
struct ReferenceLine {
    at: usize,
    text: String,
    plain: Vec<Range<usize>>,
    codes: Vec<Range<usize>>,
    links: Vec<LinkSpan>,
    open_links: Vec<usize>,
    /// The number of underscores in the delimiter of each open emphasis.
    marks: Vec<usize>,
}

struct LinkSpan {
    range: Range<usize>,
    target: String,
    title: String,
}

impl ReferenceReader {
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
                    // A setext heading includes the lines above it, but only the underlined line counts.
                    heading.clear();
                }
                self.line.take(source, event, range);
            }
        }
    }

    fn start_item(&mut self, at: usize) {
        if self.section.is_some() && self.outer.is_none() {
            let (containers, found) = (self.containers, self.found.len());
            self.outer = Some(OuterItem { at, text: String::new(), containers, found, has_source: false });
        }
    }

    /// Ends the outermost list item, unless a nested item ends at this point.
    fn end_item(&mut self) {
        let Some(outer) = self.outer.take_if(|outer| outer.containers == self.containers) else { return };
        if outer.found == self.found.len() && !outer.has_source && !says_none(&outer.text) {
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
        if is_references(&text) {
            self.has_section = true;
            self.section.get_or_insert(Section { level, containers });
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
            // The line is a paragraph. Citations inside an item count as the item's sources.
            line.list_item(&mut found);
            if !found.is_empty() {
                found.clear();
                self.unreadable.push((line.at, first_bytes(&line.text, MAX_TITLE_BYTES).to_owned()));
            }
        }
        if let Some(outer) = &mut self.outer {
            outer.has_source |= line.links.iter().any(|link| SourceTarget::parse(&link.target).is_some());
            if outer.text.is_empty() {
                outer.text.push_str(first_bytes(&line.text, MAX_TITLE_BYTES));
            }
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

impl ReferenceLine {
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

    /// Returns the URLs in the line and their positions.
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
        // The sort is stable, so a link stays in front of the image inside it.
        found.sort_by_key(|(range, _)| range.start);
        found
    }

    fn text_of(&self, link: &LinkSpan) -> Option<String> {
        title_of(&unmarked(first_bytes(&self.text[link.range.clone()], MAX_TITLE_BYTES)), &link.target)
    }

    /// Adds the paths in a list item of the References section, or adds the item's description to its URL.
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

    /// Finds text in backticks that is followed by a path and its lines in brackets.
    fn quotes(&self) -> impl Iterator<Item = (String, Span, String)> {
        self.codes.iter().filter_map(|code| {
            let behind = self.text[code.end..].strip_prefix(" (")?;
            let (path, lines) = path_of(&unmarked(&behind[..behind.find(')')?]), true)?;
            Some((path, lines?, quote_of(&self.text[code.clone()])?))
        })
    }

    /// Returns the quote at the start of a description, in backticks or quotation marks. The text at `end` begins with
    /// the separator.
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

    /// Returns the position of the item's first separator outside of code and links.
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

    /// Returns the end of the code span or link that contains a position.
    fn code_or_link_over(&self, at: usize) -> Option<usize> {
        let code = self.codes[..self.codes.partition_point(|range| range.start <= at)].last();
        let link = self.links[..self.links.partition_point(|link| link.range.start <= at)].last();
        let ends = [code.map(|range| range.end), link.map(|link| link.range.end)];
        ends.into_iter().flatten().filter(|end| *end > at).max()
    }

    /// Returns the paths at the start of an item. The start must consist entirely of paths, unless the first path is
    /// code or a link.
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
                // The line may follow the closing backtick. Code can extend past the end of the searched part.
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
                // Prose follows. Earlier paths were also prose, unless they are in backticks or links.
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
            // A remark in brackets belongs to the preceding path.
            if next.is_empty() || next.starts_with('(') {
                break;
            }
        }
        if let [(.., only)] = paths.as_mut_slice() {
            only.quote = self.quote_after(end);
        }
        paths.into_iter().map(|(_, range, mention)| (range, mention)).collect()
    }

    /// Returns the paths in a prose item that can't be mistaken for ordinary words.
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
                    // `self.items` also looks like a file name.
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

/// Merges mentions with the same target and line. A later title or quote fills in a missing one.
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

/// Returns the text if it is a quotation rather than a name.
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

/// Returns a title if it adds anything to the target.
fn title_of(title: &str, target: &str) -> Option<String> {
    let title = one_line(first_bytes(title, MAX_TITLE_BYTES));
    (!title.is_empty() && title != target).then_some(title)
}

/// Returns the text after the first separator.
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

/// Restores the underscores in a word. Underscores around the word or around several words are emphasis and are not
/// restored.
fn literal(word: &str) -> String {
    let word = word.trim_end_matches(['.', ',', ';', ':']);
    let groups = word.split(|c| c != MARK).filter(|run| !run.is_empty()).count();
    let around = groups == 2 && word.starts_with(MARK) && word.ends_with(MARK);
    if groups % 2 == 1 || around { unmarked(word) } else { word.replace(MARK, "_") }
}

/// Returns the first word, or the first two if they are a repository and a path, together with the parsed path.
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

/// Parses a path, its lines and the repository before it, if the word looks like a path. The check is less strict for
/// `quoted` words (in backticks or links).
fn path_of(word: &str, quoted: bool) -> Option<(String, Option<Span>)> {
    if word.len() > MAX_TARGET_BYTES {
        return None;
    }
    let word = word.trim();
    match repository_before(word) {
        Some((repository, path)) => {
            let (path, line) = path_in_repository(path, quoted)?;
            // Two words may also be two paths.
            (line.is_some() || repository.ends_with(':')).then(|| (format!("{repository}{path}"), line))
        }
        None => path_in_repository(word, quoted),
    }
}

/// Splits `repo@commit:` or `owner/name ` from the text that follows.
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
        // `N/A` and `TCP/IP` are not paths, but `src/markdown` is.
        let words = extension(name).is_none() && !rooted && !quoted && !body.contains(char::is_lowercase);
        let none = body.eq_ignore_ascii_case("n/a") || body.eq_ignore_ascii_case("and/or");
        !doi && !words && !none
    };
    looks.then(|| (path.to_owned(), line))
}

/// Splits `:42`, `:42-50`, `:42:7`, `#L42` or `#L42-L50` from the end.
fn split_line(word: &str) -> (&str, Option<Span>) {
    for (at, _) in word.match_indices([':', '#']) {
        let behind = word[at..].replace('–', "-");
        let Some((first, last, length)) = lines_at(&behind) else { continue };
        if behind[length..].chars().all(|c| c.is_ascii_digit() || "-:,LC".contains(c)) {
            return (&word[..at], Some((first, Some(last).filter(|last| *last > first))));
        }
    }
    (word, None)
}

/// Returns the extension of a file name. The name of a dot file counts as an extension.
fn extension(name: &str) -> Option<&str> {
    let name = name.rsplit(['/', '\\']).next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let letters = extension.starts_with(|c: char| c.is_ascii_alphabetic());
    let word = extension.len() <= if stem.is_empty() { 40 } else { 12 };
    let plain = extension.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    (letters && word && plain).then_some(extension)
}

/// Returns whether a file name without an extension is well known.
fn is_known_name(name: &str) -> bool {
    const NAMES: &str = "makefile gnumakefile dockerfile containerfile justfile rakefile gemfile procfile jenkinsfile \
        vagrantfile brewfile license licence copying readme changelog notice authors codeowners build";
    // `Build` begins a sentence, but `BUILD` is a Bazel file.
    NAMES.split(' ').any(|known| name.eq_ignore_ascii_case(known)) && (name != "Build" && name != "build")
}

/// Returns true if an item states that there is no source.
fn says_none(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    text.chars().all(|c| !c.is_alphanumeric())
        || ["none", "n/a"].iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// Returns true if a heading starts a References section.
pub(super) fn is_references(heading: &str) -> bool {
    let name = heading.trim().trim_end_matches(':').trim_end();
    name.eq_ignore_ascii_case("references") || name.eq_ignore_ascii_case("reference")
}
