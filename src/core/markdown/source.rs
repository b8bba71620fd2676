//! Finds the sources of a text: the links that say how a passage is known, such as `[29 windows](run:4c7d8f)`.

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::parse::Parsed;
use super::reference::{Mention, own_path};
use super::text::node_ids;
use crate::numbers::says_about;
use crate::text::{is_hidden, one_line};

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
    /// Reads the target of a link. Returns `None` if it is an address of another kind, such as `https:` or `#section`.
    pub fn parse(target: &str) -> Option<SourceTarget> {
        let target = target.trim();
        // Browsers read a backslash as a slash.
        let is_host = target.starts_with(['\\', '?']) || target.starts_with("/\\");
        if is_host || target.len() > MAX_TARGET_BYTES || target.chars().any(|c| is_hidden(c) || c == '\n') {
            return None;
        }
        let named = |text: &str| text.trim().to_owned();
        if target.starts_with("tot://") {
            return Some(SourceTarget::Address(target.to_owned()));
        }
        match target.split_once(':') {
            Some(("run", run)) => return Some(SourceTarget::Run(named(run))),
            Some(("node", node)) => return Some(SourceTarget::Node(named(node))),
            Some(("how", how)) => {
                let way = How::ALL.into_iter().find(|(word, _)| *word == how.trim());
                return Some(SourceTarget::How(way.map(|(_, way)| way)));
            }
            _ => {}
        }
        match node_ids(target).as_slice() {
            [id] if *id == (0..target.len()) => Some(SourceTarget::Node(named(target))),
            _ => own_path(target).map(SourceTarget::Place),
        }
    }
}

impl Parsed {
    /// Returns the sources of the text in order. Code, raw HTML and pictures have none.
    pub fn sources(&self) -> Vec<Source> {
        let mut sources: Vec<Source> = Vec::new();
        // A link can contain a picture, but no other link.
        let mut open = None;
        let mut before = "";
        for (event, _) in &self.events {
            match event {
                Event::Start(Tag::Link { link_type, dest_url, .. }) if *link_type != LinkType::Email => {
                    let written = dest_url.to_string();
                    open = SourceTarget::parse(&written).map(|target| Source {
                        text: String::new(),
                        is_about: says_about(before),
                        written,
                        target,
                    });
                }
                Event::End(TagEnd::Link) => {
                    sources.extend(open.take().map(|it| Source { text: one_line(&it.text), ..it }));
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
}
