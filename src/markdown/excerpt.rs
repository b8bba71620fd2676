//! The beginning of a text, for summaries and descriptions.

use pulldown_cmark::{Event, Tag, TagEnd};

use super::{
    parse::{self, Parsed, Source},
    reference::is_references,
};
use crate::text::{one_line, shorten};

/// Plain text of the beginning, for summaries: markup dropped, white space folded, cut at a word boundary so
/// that with its `…` it has at most `max_chars` characters.
///
/// A heading is followed by a colon. Code blocks, tables, footnotes, rules, and what stands from a References heading
/// on are left out (a text that has nothing else gives these); between two sentences a `…` stands for a block or table; raw HTML is text, as in [`to_html`](super::to_html). It is not escaped.
pub fn excerpt(markdown: &str, max_chars: usize) -> String {
    Source::new(markdown).parse().excerpt(max_chars)
}

/// All of a text without its markup, on one line: for a search. Cut as an [`excerpt`] is.
pub fn plain_text(markdown: &str, max_chars: usize) -> String {
    Source::new(markdown).parse().plain_text(max_chars)
}

impl Parsed<'_> {
    /// As [`excerpt`].
    pub fn excerpt(&self, max_chars: usize) -> String {
        let mut words = plain(&self.events, max_chars, Extent::Prose);
        if words.is_empty() {
            words = plain(&self.events, max_chars, Extent::All);
        }
        shorten(&words, max_chars)
    }

    /// As [`plain_text`].
    pub fn plain_text(&self, max_chars: usize) -> String {
        shorten(&plain(&self.events, max_chars, Extent::All), max_chars)
    }
}

/// What of a text is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// What reads as sentences.
    Prose,
    /// Code, tables and references, too.
    All,
}

fn plain(events: &[parse::Located<'_>], max_chars: usize, extent: Extent) -> String {
    let mut text = String::new();
    let (mut block, mut footnotes, mut heading) = (false, 0_usize, 0);
    // Something was left out here: what follows does not continue the text before.
    let mut gap = false;
    for (event, _) in events {
        // Four bytes a character at most, and some to see that there is more. White space is folded later, and a
        // text that is mostly white space gives a short excerpt.
        if text.len() > max_chars.saturating_mul(4).saturating_add(4096) {
            break;
        }
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Table(_)) => {
                block = true;
                text.push(' ');
            }
            Event::End(TagEnd::CodeBlock | TagEnd::Table) => {
                block = false;
                gap = extent == Extent::Prose;
            }
            Event::Start(Tag::FootnoteDefinition(_)) => footnotes += 1,
            Event::End(TagEnd::FootnoteDefinition) => footnotes = footnotes.saturating_sub(1),
            _ if (block && extent == Extent::Prose) || footnotes > 0 => {}
            // A heading begins anew anyway.
            Event::Start(Tag::Heading { .. }) => {
                gap = false;
                text.push(' ');
                heading = text.len();
            }
            Event::Text(piece) | Event::Code(piece) | Event::Html(piece) | Event::InlineHtml(piece) => {
                if std::mem::take(&mut gap) && !text.trim_end().is_empty() {
                    text.push_str("… ");
                }
                text.push_str(piece);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::End(TagEnd::Heading(_)) if extent == Extent::Prose && is_references(&text[heading..]) => {
                text.truncate(heading);
                break;
            }
            Event::End(TagEnd::Heading(_)) => {
                if text.trim_end().ends_with(char::is_alphanumeric) {
                    text.truncate(text.trim_end().len());
                    text.push(':');
                }
                text.push(' ');
            }
            Event::Start(tag) if !parse::is_inline(&tag.to_end()) => text.push(' '),
            Event::End(tag) if !parse::is_inline(tag) => text.push(' '),
            _ => {}
        }
    }
    let folded = one_line(&text);
    // A heading with nothing below it is the whole text.
    folded.strip_suffix(':').map(str::to_owned).unwrap_or(folded)
}
