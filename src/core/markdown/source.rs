//! Finds the sources of a text: the links that say how a passage is known, such as `[29 windows](run:4c7d8f)`.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::parse::{Located, Parsed, is_inline};
use super::reference::{Mention, own_path};
use super::text::node_ids;
use crate::numbers::says_about;
use crate::text::{first_sentence, is_hidden, made_visible, one_line};

/// The maximum length of a target, in bytes.
const MAX_TARGET_BYTES: usize = 1024;

/// A passage and what it is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The passage: the text of the link without markup, on one line.
    pub text: String,
    /// True if the text before it says that its number is not exact.
    pub is_about: bool,
    /// The target as written.
    pub written: String,
    /// The target.
    pub target: SourceTarget,
}

/// A sentence of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence without markup, on one line.
    pub text: String,
    /// What it says outside of links and code.
    pub own: String,
    /// True if a link or a URL is in it, which says how it is known.
    pub has_link: bool,
}

/// What a passage is known from. Nothing in it needs to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceTarget {
    /// `run:4c7d8f`: a command that was run, by a part of its id.
    Run(String),
    /// `node:R1.A`: a finding of the same investigation, by its id.
    Node(String),
    /// `tot://ID/nodes/R4.A1-k3f9q2`: a finding of any investigation, or a whole one.
    Address(String),
    /// `hearth/wheel.py:88`: a place in the project.
    Place(Mention),
    /// `how:worked-out`, or another word, which says nothing.
    How(Option<How>),
}

/// How a passage is known that nothing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Calculated or concluded from what else is written.
    WorkedOut,
    /// Taken for granted.
    Assumed,
    /// Seen, but nothing recorded it.
    NotRecorded,
}

impl How {
    /// All ways, with their words in an address.
    pub const ALL: [(&str, How); 3] =
        [("worked-out", How::WorkedOut), ("assumed", How::Assumed), ("not-recorded", How::NotRecorded)];

    /// Returns the label shown to readers.
    pub fn label(self) -> &'static str {
        match self {
            How::WorkedOut => "worked out",
            How::Assumed => "assumed",
            How::NotRecorded => "not recorded",
        }
    }
}

impl SourceTarget {
    /// Returns what a link of a text names, if it is a source.
    pub(super) fn of_link(link: LinkType, address: &str) -> Option<SourceTarget> {
        SourceTarget::parse(address).filter(|_| link != LinkType::Email)
    }

    /// Reads the target of a link. Returns `None` if it is an address of another kind, such as `https:` or `#section`.
    pub fn parse(target: &str) -> Option<SourceTarget> {
        let target = target.trim();
        // Browsers read a backslash as a slash.
        let is_host = target.starts_with(['\\', '?']) || target.starts_with("/\\");
        if is_host || target.len() > MAX_TARGET_BYTES || target.chars().any(|c| is_hidden(c) || c == '\n') {
            return None;
        }
        if target.starts_with("tot://") {
            return Some(SourceTarget::Address(target.to_owned()));
        }
        let (scheme, named) = target.split_once(':').unwrap_or_default();
        let named = named.trim();
        Some(match scheme.to_ascii_lowercase().as_str() {
            "run" => SourceTarget::Run(named.to_owned()),
            "node" => SourceTarget::Node(named.to_owned()),
            "how" => {
                let way = How::ALL.into_iter().find(|(word, _)| *word == named);
                SourceTarget::How(way.map(|(_, way)| way))
            }
            _ if node_ids(target).first() == Some(&(0..target.len())) => {
                SourceTarget::Node(target.to_owned())
            }
            _ => SourceTarget::Place(own_path(target)?),
        })
    }
}

/// Returns the lowercase ids, or parts of ids, of the runs that a text names as sources.
pub fn named_runs(markdown: &str) -> Vec<String> {
    if !markdown.contains("run:") {
        return Vec::new();
    }
    let sources = Parsed::new(markdown).sources().into_iter();
    let named = sources.filter_map(|source| match source.target {
        SourceTarget::Run(named) => Some(named.to_ascii_lowercase()),
        _ => None,
    });
    named.collect()
}

/// Returns a line of Markdown with its links replaced by their texts, for titles.
pub fn without_links(line: &str) -> String {
    replaced(line, false, &|_| None)
}

/// Returns a line of Markdown with its sources replaced by their passages. Other links stay as they are.
pub fn without_sources(line: &str) -> String {
    replaced(line, true, &|_| None)
}

/// Returns a line of Markdown like [`without_links`]. `known` says how a passage with a source is known, which follows it.
pub fn with_known(line: &str, known: &dyn Fn(&Source) -> Option<String>) -> String {
    replaced(line, false, known)
}

fn replaced(line: &str, only_sources: bool, known: &dyn Fn(&Source) -> Option<String>) -> String {
    let parsed = Parsed::new(line);
    let mut sources = parsed.sources().into_iter();
    let (mut shown, mut seen, mut links) = (String::new(), 0, parsed.events.iter());
    while let Some((event, range)) = links.next() {
        let Event::Start(Tag::Link { link_type, dest_url, .. }) = event else { continue };
        let is_source = SourceTarget::of_link(*link_type, dest_url).is_some();
        let source = if is_source { sources.next() } else { None };
        if matches!(link_type, LinkType::Autolink | LinkType::Email) || only_sources && !is_source {
            continue;
        }
        let inside = links.by_ref().take_while(|(event, _)| *event != Event::End(TagEnd::Link));
        let text =
            inside.map(|(_, range)| range.clone()).reduce(|all, next| all.start..all.end.max(next.end));
        shown.push_str(&parsed.source[seen..range.start]);
        shown.push_str(text.map_or("", |text| &parsed.source[text]));
        shown.extend(source.as_ref().and_then(known).map(|known| format!(" ({known})")));
        seen = range.end;
    }
    shown + &parsed.source[seen..]
}

impl Parsed {
    /// Returns the text inside of its only paragraph, as a heading has it. `None` if there is anything else.
    pub fn only_paragraph(&self) -> Option<Parsed> {
        let is_inside = |(event, _): &Located| match event {
            Event::Start(tag) => is_inline(&tag.to_end()),
            Event::End(tag) => is_inline(tag),
            _ => true,
        };
        match self.events.as_slice() {
            [(Event::Start(Tag::Paragraph), _), inside @ .., (Event::End(TagEnd::Paragraph), _)]
                if inside.iter().all(is_inside) =>
            {
                Some(self.part(inside.to_vec()))
            }
            _ => None,
        }
    }

    /// Returns the sources of the text in order. Code, raw HTML and pictures have none.
    pub fn sources(&self) -> Vec<Source> {
        let mut sources: Vec<Source> = Vec::new();
        // A link can contain a picture, but no other link.
        let mut open = None;
        let mut before = "";
        for (event, _) in &self.events {
            match event {
                Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                    open = SourceTarget::of_link(*link_type, dest_url).map(|target| Source {
                        text: String::new(),
                        is_about: says_about(before),
                        written: dest_url.to_string(),
                        target,
                    });
                }
                Event::End(TagEnd::Link) => {
                    // Narrow and hard spaces stay: they are inside of numbers.
                    let words = |text: &str| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
                    sources
                        .extend(open.take().map(|it| Source { text: made_visible(&words(&it.text)), ..it }));
                }
                Event::Text(text) | Event::Code(text) => {
                    before = text;
                    open.iter_mut().for_each(|source| source.text.push_str(text));
                }
                Event::SoftBreak | Event::HardBreak => {
                    open.iter_mut().for_each(|source| source.text.push(' '));
                }
                _ => {}
            }
        }
        sources
    }

    /// Returns the sentences of the text in order. A table is one. Headings, code blocks and raw HTML have none.
    pub fn sentences(&self) -> Vec<Sentence> {
        let (mut found, mut block) = (Vec::new(), Block::default());
        // Inside of links and pictures, of tables, and of what has no sentences.
        let (mut links, mut tables, mut silent) = (0_usize, 0_usize, 0_usize);
        for (event, _) in &self.events {
            match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) => links += 1,
                Event::End(TagEnd::Link | TagEnd::Image) => links -= 1,
                Event::Start(tag) if is_inline(&tag.to_end()) => {}
                Event::End(tag) if is_inline(tag) => {}
                Event::Start(tag) => {
                    tables += usize::from(matches!(tag, Tag::Table(_)));
                    if tables == 0 {
                        found.extend(block.end(true));
                    }
                    silent += usize::from(is_silent(&tag.to_end()));
                }
                Event::End(tag) => {
                    let is_table = *tag == TagEnd::Table;
                    match tables > 0 && !is_table {
                        true => block.add(" ", true, false),
                        false => found.extend(block.end(!is_table)),
                    }
                    tables -= usize::from(is_table);
                    silent -= usize::from(is_silent(tag));
                }
                Event::Text(text) if silent == 0 => block.add(text, links == 0, links > 0),
                Event::Code(text) if silent == 0 => block.add(text, false, links > 0),
                Event::SoftBreak | Event::HardBreak => block.add(" ", links == 0, links > 0),
                _ => {}
            }
        }
        found.extend(block.end(true));
        found
    }
}

/// Returns whether an element has no sentences.
fn is_silent(tag: &TagEnd) -> bool {
    matches!(tag, TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::HtmlBlock)
}

/// A paragraph, an item or a table.
#[derive(Default)]
struct Block {
    text: String,
    /// The parts outside of links and code, and the parts inside of links.
    own: Vec<Range<usize>>,
    links: Vec<Range<usize>>,
}

impl Block {
    fn add(&mut self, text: &str, is_own: bool, is_link: bool) {
        let range = self.text.len()..self.text.len() + text.len();
        // One byte for each, so that the places stay.
        self.text.extend(text.chars().map(|c| if c == '\n' { ' ' } else { c }));
        self.own.extend(is_own.then(|| range.clone()));
        self.links.extend(is_link.then_some(range));
    }

    /// Ends the block and returns its sentences, or all of it as one.
    fn end(&mut self, has_sentences: bool) -> Vec<Sentence> {
        let Block { text, own, links } = std::mem::take(self);
        let (mut found, mut start) = (Vec::new(), 0);
        while start < text.len() {
            let rest = &text[start..];
            let blank = rest.len() - rest.trim_start().len();
            start += blank;
            let sentence = if has_sentences { first_sentence(&text[start..]) } else { &text[start..] };
            let range = start..start + sentence.len();
            let inside = |part: &Range<usize>| part.start.max(range.start)..part.end.min(range.end);
            let own = own.iter().map(inside).filter_map(|part| text.get(part)).collect::<Vec<_>>();
            let is_linked = links.iter().map(inside).any(|part| !part.is_empty());
            let has_link = is_linked || sentence.contains("://");
            start = range.end;
            let sentence = Sentence { text: one_line(sentence), own: own.join(" "), has_link };
            found.extend(Some(sentence).filter(|it| !it.text.is_empty()));
        }
        found
    }
}
