//! Extracts the beginning of Markdown text for summaries and descriptions.

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use super::{
    parse::{self, Parsed},
    reference::is_references,
};
use crate::text::{first_sentence, one_line, shorten};

/// The maximum number of blocks that are searched for code belonging to the beginning of the text.
const LEAD_BLOCKS: usize = 4;
/// The maximum size of code that is included with the beginning of the text, in bytes.
const LEAD_CODE: usize = 800;
/// The maximum size of code that is included with the beginning of the text, in lines.
const LEAD_LINES: usize = 10;

/// Extracts plain text from the beginning of Markdown text, for summaries.
///
/// Markup is removed, white space is collapsed, and the text is cut at a word boundary. The result, including the `…`,
/// has at most `max_chars` characters. It is not escaped.
///
/// A colon follows each heading. Code blocks, tables, footnotes, rules, and a References heading with everything after
/// it are omitted, unless that would leave nothing. An omitted block between two sentences becomes `…`. Raw HTML
/// counts as text, as in [`Parsed::to_html`].
pub fn excerpt(markdown: &str, max_chars: usize) -> String {
    Parsed::new(markdown).excerpt(max_chars)
}

/// Extracts what a long text asks: its sentences that end with a question mark or, without one, its beginning. The text is
/// cut in the same way as an [`excerpt`].
pub fn question(markdown: &str, max_chars: usize) -> String {
    let whole = excerpt(markdown, markdown.len());
    let mut rest = whole.as_str();
    let sentences = std::iter::from_fn(|| {
        let sentence = Some(first_sentence(rest)).filter(|it| !it.is_empty())?;
        rest = rest[sentence.len()..].trim_start();
        Some(sentence)
    });
    // After a short word, as in `Is it?`, the sentence goes on.
    let end = |sentence: &str| sentence.strip_suffix('?').map(str::len).or_else(|| sentence.rfind("? "));
    let asked = sentences.filter_map(|sentence| Some(&sentence[..=end(sentence)?]));
    let asked = asked.collect::<Vec<_>>().join(" ");
    let is_short = asked.is_empty() || whole.chars().nth(max_chars).is_none();
    shorten(if is_short { &whole } else { &asked }, max_chars)
}

/// Extracts all text without markup on one line, for searches. The text is cut in the same way as an [`excerpt`].
pub fn plain_text(markdown: &str, max_chars: usize) -> String {
    Parsed::new(markdown).plain_text(max_chars)
}

impl Parsed {
    /// Returns the excerpt of parsed text, like [`excerpt`].
    pub fn excerpt(&self, max_chars: usize) -> String {
        let mut words = plain(&self.events, max_chars, TextExtent::Prose);
        if words.is_empty() {
            words = plain(&self.events, max_chars, TextExtent::All);
        }
        shorten(&words, max_chars)
    }

    /// Splits the text into its lead and the rest.
    ///
    /// The lead consists of the first sentences of the first paragraph. If a short code block follows soon after, the
    /// lead also includes the code and the paragraph before it. Headings before the first paragraph are dropped. If
    /// the text begins with anything else, there is no lead, and the rest is the whole text.
    pub fn lead(&self, max_chars: usize) -> (Option<Parsed>, Parsed) {
        let (mut lead, mut rest): (Vec<parse::Located>, Vec<parse::Located>) = (Vec::new(), Vec::new());
        // The paragraph before the code.
        let mut before: Option<&[parse::Located]> = None;
        let mut text = blocks(&self.events)
            .skip_while(|block| {
                matches!(block.last(), Some((Event::End(TagEnd::Heading(_)) | Event::Rule, _)))
            })
            .peekable();
        for number in 0..LEAD_BLOCKS {
            let Some(block) = text.next_if(|block| match block {
                [.., (Event::End(TagEnd::Paragraph), _)] => true,
                [(_, code), .., (Event::End(TagEnd::CodeBlock), _)] if number > 0 => {
                    let code = &self.source[code.clone()];
                    code.len() <= LEAD_CODE && code.lines().count() <= LEAD_LINES + 2
                }
                _ => false,
            }) else {
                break;
            };
            let is_code = matches!(block.last(), Some((Event::End(TagEnd::CodeBlock), _)));
            let (paragraph, room) = match number {
                0 => (Some(block), max_chars),
                _ if is_code => (before.take(), max_chars / 2),
                _ => {
                    rest.extend(before.replace(block).into_iter().flatten().cloned());
                    continue;
                }
            };
            let (kept, left) = paragraph.map_or_else(Default::default, |block| split_paragraph(block, room));
            lead.extend(kept);
            rest.extend(left);
            if is_code {
                lead.extend(block.iter().cloned());
                break;
            }
        }
        rest.extend(before.into_iter().flatten().cloned());
        if lead.is_empty() {
            return (None, self.part(self.events.clone()));
        }
        rest.extend(text.flatten().cloned());
        // A footnote's text is not part of the lead.
        lead.retain(|(event, _)| !matches!(event, Event::FootnoteReference(_)));
        (Some(self.part(lead)), self.part(rest))
    }

    /// Returns the plain text of parsed text, like [`plain_text`].
    pub fn plain_text(&self, max_chars: usize) -> String {
        shorten(&plain(&self.events, max_chars, TextExtent::All), max_chars)
    }
}

/// Returns the top-level blocks of the text, each with all its events.
fn blocks(events: &[parse::Located]) -> impl Iterator<Item = &[parse::Located]> {
    let mut rest = events;
    std::iter::from_fn(move || {
        let mut depth = 0_usize;
        let end = rest.iter().position(|(event, _)| {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        let (block, after) = rest.split_at(end + 1);
        rest = after;
        Some(block)
    })
}

/// Splits a paragraph after as many sentences as fit. If the first sentence is too long, it is truncated.
fn split_paragraph(
    paragraph: &[parse::Located],
    max_chars: usize,
) -> (Vec<parse::Located>, Vec<parse::Located>) {
    let piece = |event: &Event<'static>| match event {
        Event::Text(piece) | Event::Code(piece) | Event::InlineHtml(piece) => Some(piece.to_string()),
        Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
        _ => None,
    };
    let whole: String = paragraph.iter().filter_map(|(event, _)| piece(event)).collect();
    let has_room = |text: &str| text.chars().count() <= max_chars;
    if has_room(&whole) {
        return (paragraph.to_vec(), Vec::new());
    }
    let mut kept = 0;
    while let Some(sentence) = Some(first_sentence(&whole[kept..])).filter(|it| !it.is_empty())
        && has_room(&whole[..kept + sentence.len()])
    {
        // Include the space after the sentence, so that the rest starts at the first character of the next sentence.
        kept += sentence.len() + usize::from(whole[kept + sentence.len()..].starts_with(' '));
    }
    let (mut left, end) = match kept {
        0 => (shorten(&whole, max_chars).trim_end_matches('…').len(), "…"),
        kept => (whole[..kept].trim_end().len(), ""),
    };
    let (mut events, mut open) = (Vec::new(), Vec::new());
    for (at, (event, range)) in paragraph.iter().enumerate() {
        let length = piece(event).map_or(0, |piece| piece.len());
        if length >= left && length > 0 {
            let text = piece(event).unwrap_or_default();
            let part = |text: &str| {
                let text = CowStr::from(text.to_owned());
                if matches!(event, Event::Code(_)) { Event::Code(text) } else { Event::Text(text) }
            };
            events.push((part(&text[..left]), range.clone()));
            events.push((Event::Text(end.into()), range.clone()));
            let tags = open.iter().rev().map(|tag: &Tag<'static>| (Event::End(tag.to_end()), range.clone()));
            events.extend(tags);
            let tags = open.iter().map(|tag| (Event::Start(tag.clone()), range.clone()));
            let mut rest: Vec<parse::Located> = tags.collect();
            rest.extend(
                Some(text[left..].trim_start())
                    .filter(|it| !it.is_empty())
                    .map(|it| (part(it), range.clone())),
            );
            rest.extend(paragraph[at + 1..].iter().cloned());
            return (events, rest);
        }
        left -= length;
        match event {
            Event::Start(tag) => open.push(tag.clone()),
            Event::End(_) => drop(open.pop()),
            _ => {}
        }
        events.push((event.clone(), range.clone()));
    }
    (events, Vec::new())
}

/// The parts of the text to keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextExtent {
    /// Only sentences.
    Prose,
    /// Everything, including code, tables and references.
    All,
}

fn plain(events: &[parse::Located], max_chars: usize, extent: TextExtent) -> String {
    let mut text = String::new();
    let (mut block, mut footnotes, mut heading) = (false, 0_usize, 0);
    // True if something was omitted at this point, so the next text does not continue the previous text.
    let mut gap = false;
    for (event, _) in events {
        // A character has at most four bytes. The margin makes it possible to see whether more text follows. White
        // space is collapsed later, so text that is mostly white space yields a short excerpt.
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
                gap = extent == TextExtent::Prose;
            }
            Event::Start(Tag::FootnoteDefinition(_)) => footnotes += 1,
            Event::End(TagEnd::FootnoteDefinition) => footnotes = footnotes.saturating_sub(1),
            _ if (block && extent == TextExtent::Prose) || footnotes > 0 => {}
            // A heading always starts a new sentence.
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
            Event::End(TagEnd::Heading(_))
                if extent == TextExtent::Prose && is_references(&text[heading..]) =>
            {
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
    // The whole text is a heading with no text below it.
    folded.strip_suffix(':').map(str::to_owned).unwrap_or(folded)
}
