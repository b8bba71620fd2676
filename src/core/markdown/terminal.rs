//! Formats Markdown for a terminal. The result is wrapped and contains escape sequences for styles, which the caller
//! may strip.
//!
//! Hostile text is as harmless as in HTML. Every character passes through [`visible`], so the only escape sequences in
//! the output are ours. The address of a link is always shown, because its text may be misleading. Nesting uses at
//! most half of the columns.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{Event, Tag, TagEnd};

use super::lines::LineWriter;
use super::parse::Parsed;
use super::source::{Source, SourceTarget};
use crate::text::{columns, made_visible, visible};

const CODE: Style = AnsiColor::Cyan.on_default();
const QUIET: Style = Style::new().dimmed();

/// Formats text as lines of at most `width` columns. Only code and long words can be wider. Each line ends with a
/// newline. `known` says in short how a passage with a source is known, to be shown after it.
pub fn to_terminal(markdown: &str, width: usize, known: &dyn Fn(&Source) -> Option<String>) -> String {
    let parsed = Parsed::new(markdown);
    let mut writer = TerminalWriter { width: width.max(20), ..TerminalWriter::default() };
    let mut sources = parsed.sources().into_iter();
    for (event, _) in &parsed.events {
        if let Event::Start(Tag::Link { dest_url, .. }) = event
            && SourceTarget::parse(dest_url).is_some()
        {
            writer.source = sources.next().as_ref().and_then(known);
        }
        writer.take(event);
    }
    writer.end_block();
    writer.lines.out
}

/// A piece of text in a single style. `spaced` is true if white space precedes it.
struct Piece {
    text: String,
    style: Style,
    spaced: bool,
}

#[derive(Default)]
struct TerminalWriter {
    lines: LineWriter,
    width: usize,
    styles: Vec<Style>,
    /// The words in the current block so far.
    words: Vec<Piece>,
    spaced: bool,
    code: Option<String>,
    /// How the passage of the open link is known.
    source: Option<String>,
    /// The addresses of open links and images, each with the index of its first word.
    links: Vec<(String, usize)>,
    table: Vec<Vec<String>>,
    cell: Option<String>,
}

impl TerminalWriter {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code {
                Some(code) => code.push_str(text),
                None => self.say(text, Style::new()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.say(text, CODE),
            Event::SoftBreak => self.spaced = true,
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.end_block();
                self.lines.write(&format!("{QUIET}{}{QUIET:#}", "─".repeat(self.room().min(40))));
                self.lines.gap = true;
            }
            Event::FootnoteReference(label) => self.say(&format!("[{label}]"), QUIET),
            Event::TaskListMarker(done) => self.say(if *done { "[x] " } else { "[ ] " }, Style::new()),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_block();
                self.styles.push(Style::new().bold());
            }
            Tag::Paragraph | Tag::HtmlBlock | Tag::Table(_) => self.end_block(),
            Tag::BlockQuote(_) => {
                self.end_block();
                self.indent(None, "│ ");
            }
            Tag::CodeBlock(_) => {
                self.end_block();
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                let is_inner = !self.lines.lists.is_empty();
                self.flush();
                self.lines.gap &= !is_inner;
                self.lines.lists.push(*first);
            }
            Tag::Item => {
                let mark = self.lines.item_mark("• ");
                let rest = " ".repeat(columns(&mark));
                self.indent(Some(mark), &rest);
            }
            Tag::FootnoteDefinition(label) => {
                self.end_block();
                let label = made_visible(label);
                self.indent(Some(format!("[{label}] ")), "    ");
            }
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(Style::new().bold()),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.words.len()));
                self.styles.push(Style::new().underline());
            }
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            Tag::TableCell => self.cell = Some(String::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: &TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.end_block();
                self.lines.outdent();
            }
            TagEnd::CodeBlock => {
                for line in self.code.take().unwrap_or_default().lines() {
                    let line = made_visible(&line.replace('\t', "    "));
                    self.lines.write(&format!("    {CODE}{line}{CODE:#}"));
                }
                self.lines.gap = true;
            }
            TagEnd::List(_) => {
                self.lines.lists.pop();
                self.lines.gap |= self.lines.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.lines.outdent();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((address, from)) = self.links.pop() {
                    if let Some(known) = self.source.take_if(|_| *tag == TagEnd::Link) {
                        self.spaced = true;
                        return self.say(&format!("[{known}]"), QUIET);
                    }
                    let shown: String =
                        self.words.iter().skip(from).map(|piece| piece.text.as_str()).collect();
                    if shown != address {
                        self.spaced |= !shown.is_empty();
                        self.say(&format!("<{address}>"), QUIET);
                    }
                }
            }
            TagEnd::TableCell => {
                if let (Some(cell), Some(row)) = (self.cell.take(), self.table.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// Adds words in the current style, combined with `also`.
    fn say(&mut self, text: &str, also: Style) {
        if let Some(cell) = &mut self.cell {
            cell.extend(text.chars().map(visible).map(|c| if c.is_whitespace() { ' ' } else { c }));
            return;
        }
        let effects = self.styles.iter().fold(also.get_effects(), |all, style| all | style.get_effects());
        let style = also.effects(effects);
        for c in text.chars() {
            if c.is_whitespace() {
                self.spaced = true;
                continue;
            }
            let spaced = std::mem::take(&mut self.spaced);
            match self.words.last_mut() {
                Some(last) if !spaced && last.style == style => last.text.push(visible(c)),
                _ => self.words.push(Piece { text: visible(c).into(), style, spaced }),
            }
        }
    }

    /// Wraps the words into lines.
    fn flush(&mut self) {
        self.spaced = false;
        let words = std::mem::take(&mut self.words);
        let starts = |at: usize| words.get(at).is_none_or(|piece: &Piece| piece.spaced);
        let (mut line, mut used, mut at) = (String::new(), 0, 0);
        while at < words.len() {
            // Pieces without a space between them form one word.
            let end = (at + 1..).find(|next| starts(*next)).unwrap_or(words.len());
            let word = &words[at..end];
            let length: usize = word.iter().map(|piece| columns(&piece.text)).sum();
            if used > 0 && used + 1 + length > self.room() {
                self.lines.write(&line);
                line.clear();
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            for Piece { text, style, .. } in word {
                line.push_str(&format!("{style}{text}{style:#}"));
            }
            used += length;
            at = end;
        }
        if used > 0 {
            self.lines.write(&line);
        }
    }

    fn end_block(&mut self) {
        let had_words = !self.words.is_empty();
        self.flush();
        self.lines.gap |= had_words;
    }

    /// Returns the number of columns available for text.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.lines.taken()).max(10)
    }

    fn indent(&mut self, first: Option<String>, rest: &str) {
        self.lines.indent(self.room() >= self.width / 2, first, rest);
    }

    /// Writes a table in columns if it fits, otherwise one line per cell.
    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.table);
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell.trim())).max();
        let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
        let fits = widths.iter().map(|width| width + 2).sum::<usize>() <= self.room() + 2;
        let head = rows.first().cloned().unwrap_or_default();
        for (number, row) in rows.iter().enumerate() {
            let style = if number == 0 { Style::new().bold() } else { Style::new() };
            if fits {
                let cells = row.iter().zip(&widths).map(|(cell, width)| {
                    format!("{}{}", cell.trim(), " ".repeat(width - columns(cell.trim())))
                });
                let line = cells.collect::<Vec<_>>().join("  ");
                self.lines.write(&format!("{style}{}{style:#}", line.trim_end()));
            } else if number > 0 {
                for (cell, name) in row.iter().zip(&head) {
                    self.say(name.trim(), Style::new().bold());
                    self.say(&format!(": {}", cell.trim()), Style::new());
                    self.flush();
                }
                self.lines.gap = true;
            }
        }
        self.lines.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// Returns the output without styles. Fails if it contains any other escape sequence.
    fn plain(markdown: &str, width: usize) -> String {
        let shown = to_terminal(markdown, width, &|_| None);
        let mut parts = shown.split("\u{1b}[");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |all, part| {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            all + rest.strip_prefix('m').unwrap()
        })
    }

    #[test]
    fn every_kind_of_block_is_shown() {
        let text = "# What was *found*\n\nThe **writer** holds the lock\nfor `5 s`, see [the docs](https://sqlite.org/lock).\n\n\
            - one\n- two\n  1. inner, which is long enough to be put on two lines\n  2. more\n\n> quoted\n> text\n\n\
            ```sql\nPRAGMA busy_timeout\t= 5000;\n```\n\n| engine | s |\n|---|---|\n| gix | 12 |\n\n---\n<https://a.b/c>";
        assert_snapshot!(plain(text, 40), @r"
        What was found

        The writer holds the lock for 5 s, see
        the docs <https://sqlite.org/lock>.

        • one
        • two
          1. inner, which is long enough to be
             put on two lines
          2. more

        │ quoted text

            PRAGMA busy_timeout    = 5000;

        engine  s
        gix     12

        ────────────────────────────────────────

        https://a.b/c
        ");
    }

    #[test]
    fn styles_begin_and_end_with_each_word() {
        let shown = to_terminal("a **bold word** and `code`", 40, &|_| None).replace('\u{1b}', "␛");
        assert_snapshot!(shown, @"a ␛[1mbold␛[0m ␛[1mword␛[0m and ␛[36mcode␛[0m");
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_comes_through() {
        let text = "a\u{1b}[31mred\u{7}\u{9b}2J `\u{1b}]0;title\u{7}` \u{202e}evil\n\n```\u{1b}[2J\n\u{1b}c\r\n```\n\n\
            | \u{1b}[1A |\n|---|\n| \u{8} |\n\n[x](http://a/\u{1b}[0m)\n\n[^\u{1b}]: note";
        let ours = plain(text, 60);
        assert!(!ours.chars().any(|c| c.is_control() && c != '\n'), "{ours:?}");
        assert!(ours.contains("␛[31mred") && !ours.contains('\u{202e}'), "{ours}");
    }

    #[test]
    fn hostile_nesting_takes_no_room_and_no_time() {
        let started = std::time::Instant::now();
        let deep = format!("{}text", "> ".repeat(5_000));
        let widest = plain(&deep, 40).lines().map(columns).max().unwrap();
        assert!(widest <= 40, "{widest}");
        plain(&"- ".repeat(5_000), 40);
        plain(&"*a ".repeat(20_000), 40);
        plain(&format!("|{}\n|{}\n", "a|".repeat(5_000), "-|".repeat(5_000)), 40);
        assert!(started.elapsed().as_secs() < 20);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_shown_without_control_characters(text in "[ -~\\n\\t\u{1b}\u{7}\u{9b}é界|>*`#\\[\\]()-]{0,200}") {
            let plain = plain(&text, 30);
            proptest::prop_assert!(!plain.chars().any(|c| c.is_control() && c != '\n'), "{:?}", plain);
        }
    }
}
