//! Quotes untrusted Markdown in a Markdown document of ours, for forges and other readers.
//!
//! The text is not copied: it is parsed, and each event is written anew in its plainest form. So nothing that the text
//! leaves open stays open, it defines no links or footnotes for the document, its headings are below ours, and raw HTML is
//! text. What a forge would turn into a notification or a reference, such as `@name` or `#12`, becomes code, which no forge
//! links. (A backslash or an entity is not enough: GitHub and GitLab look for names in the rendered text.)

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

use super::lines::LineWriter;
use super::parse::Parsed;
use super::sanitize::is_language;
use super::source::{Source, SourceTarget};
use super::text::{bare_urls, safe_url};
use crate::text::{made_visible, one_line, percent_encoded, shorten, visible};

/// The maximum nesting depth of quotes and lists, and of emphasis. Deeper text loses this markup.
const MAX_DEPTH: usize = 16;
/// The level of the text's highest heading. Ours are above it.
const HEADING: u8 = 4;

/// Where the quotation is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// On a page. Web addresses are links.
    Page,
    /// In a comment on a forge, where the address of an issue or a commit would leave a trace there. Addresses are code.
    Comment,
}

/// Quotes Markdown, at most the first `most` characters, so that it has no effect outside the quotation. Each line ends
/// with a newline.
pub fn quoted(markdown: &str, most: usize, reader: Reader) -> String {
    quoted_with(markdown, most, reader, &|_| ShownSource::default())
}

/// What a quotation shows of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownSource {
    /// The file that its passage links to.
    pub file: Option<String>,
    /// How the passage is known, in a sign and words.
    pub state: Option<String>,
}

/// Quotes Markdown like [`quoted`]. `shown` says what is shown of a source.
pub fn quoted_with(
    markdown: &str,
    most: usize,
    reader: Reader,
    shown: &dyn Fn(&Source) -> ShownSource,
) -> String {
    let markdown = markdown.trim_end();
    let cut = markdown.char_indices().nth(most).map(|(at, _)| at);
    let parsed = Parsed::new(&markdown[..cut.unwrap_or(markdown.len())]);
    let levels = parsed.events.iter().filter_map(|(event, _)| match event {
        Event::Start(Tag::Heading { level, .. }) => Some(*level as u8),
        _ => None,
    });
    let mut writer = QuoteWriter::new(reader, levels.min().unwrap_or(1));
    let mut sources = parsed.sources().into_iter();
    for (event, _) in &parsed.events {
        if let Event::Start(Tag::Link { link_type, dest_url, .. }) = event {
            let is_source = SourceTarget::of_link(*link_type, dest_url).is_some();
            let source = if is_source { sources.next() } else { None };
            writer.source = source.as_ref().map(shown).unwrap_or_default();
        }
        writer.take(event);
    }
    writer.end_block();
    if cut.is_some() {
        writer.write_line("…");
    }
    writer.lines.out
}

/// Puts untrusted text on one line of at most `most` characters, as text without Markdown.
pub fn literal(text: &str, most: usize, reader: Reader) -> String {
    let mut line = String::new();
    escape_into(&mut line, &shorten(&one_line(text), most), reader);
    line
}

/// Formats untrusted text as inline code.
pub fn code_span(text: &str) -> String {
    let text = made_visible(text).replace('\n', " ");
    let fence = fence(&text, 1);
    let is_padded = [text.starts_with(['`', ' ']), text.ends_with(['`', ' ', '\\'])];
    let pad = if is_padded == [false, false] { "" } else { " " };
    if text.is_empty() { text } else { format!("{fence}{pad}{text}{pad}{fence}") }
}

/// Returns backticks that no run of backticks in the code ends.
fn fence(code: &str, least: usize) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(least.max(longest + 1))
}

/// Writes text so that a Markdown parser returns it unchanged.
fn escape_into(out: &mut String, text: &str, reader: Reader) {
    let mut urls = bare_urls(text).into_iter().peekable();
    let mut code: Option<usize> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        while urls.next_if(|url| url.start < at).is_some() {}
        let url = urls.next_if(|url| url.start == at).map(|url| &text[url]);
        let url = url.and_then(|url| url.split(['`', '|']).next());
        let before = text[..at].chars().next_back().or_else(|| out.chars().next_back());
        // What follows code begins a text of its own.
        let before = before.filter(|_| code.is_none());
        let length = url.map_or_else(|| token(&text[at..], before, reader), str::len);
        let address = url.filter(|_| reader == Reader::Page).and_then(safe_url);
        let after = at + length.max(c.len_utf8());
        if length > 0 && address.is_none() {
            code.get_or_insert(at);
        } else {
            push_code(out, code.take().map_or("", |from| &text[from..at]));
            match address {
                Some(address) => out.push_str(&link(&escaped(&text[at..after]), &address)),
                None => escape_char_into(out, c, &text[after..]),
            }
        }
        at = after;
    }
    push_code(out, code.map_or("", |from| &text[from..]));
}

/// Writes inline code. Two pieces without a space between them would not be read as code.
fn push_code(out: &mut String, code: &str) {
    if out.ends_with('`') && !code.is_empty() && !out.ends_with("\\`") {
        out.push(' ');
    }
    out.push_str(&code_span(code));
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    text.char_indices().for_each(|(at, c)| escape_char_into(&mut escaped, c, &text[at + c.len_utf8()..]));
    escaped
}

fn escape_char_into(out: &mut String, c: char, rest: &str) {
    match c {
        '<' => out.push_str("&lt;"),
        // Jekyll acts on `{%` and `{{` before it reads Markdown.
        '{' if rest.starts_with('%') => out.push_str("&#123;"),
        '&' if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#') => out.push_str("&amp;"),
        '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '$' | '^' | '!' => {
            out.extend(['\\', c])
        }
        c => out.push(visible(c)),
    }
}

/// Returns the length of the token at the start of the text that a forge would give a meaning of its own: a name, a
/// reference, a formula or a directive. Returns 0 if there is none.
fn token(text: &str, before: Option<char>, reader: Reader) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
    let part = |text: &str| -> usize {
        let part = &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
        part.trim_end_matches(['.', '-', '/']).len()
    };
    let Some(first) = text.chars().next() else { return 0 };
    let rest = &text[first.len_utf8()..];
    let next = rest.chars().next().unwrap_or(' ');
    let to_space = || text.find(|c: char| c.is_whitespace() || "`|<".contains(c)).unwrap_or(text.len());
    let is_start = !before.is_some_and(|c| c.is_ascii_alphanumeric());
    match first {
        '$' => 1 + part(rest),
        '@' if is_start && (next.is_alphanumeric() || "_{".contains(next)) => 1 + part(rest),
        '~' | '%' if next.is_alphanumeric() || "_\"".contains(next) => 1 + part(rest),
        '#' | '!' | '&' if next.is_ascii_digit() => 1 + part(rest),
        '[' => directive(rest),
        ':' if reader == Reader::Comment && text.starts_with("://") => to_space(),
        'w' | 'W' if reader == Reader::Comment && has_prefix(text, "www.") => to_space(),
        _ if reader == Reader::Comment && is_start => reference(text),
        _ => 0,
    }
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Returns the length of a directive such as `[!NOTE]`, `[[_TOC_]]` or `[issue:12]`, whose text begins after the bracket.
fn directive(rest: &str) -> usize {
    let Some(label) = rest.split_once(']').map(|(label, _)| label).filter(|it| !it.contains(['`', '|']))
    else {
        return 0;
    };
    let is_kind = |kind: &str| kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_reference = label.split_once(':').is_some_and(|(kind, of)| is_kind(kind) && !of.contains(' '));
    let is_directive = label.starts_with(['!', '[']) || label.eq_ignore_ascii_case("TOC") || is_reference;
    if is_directive { label.len() + 2 } else { 0 }
}

/// Returns the length of the commit, or of the key of an issue such as `GH-12`, at the start of the text.
fn reference(text: &str) -> usize {
    let word = &text[..text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len())];
    let has = |what: fn(&u8) -> bool| word.as_bytes().iter().any(what);
    let number = text[word.len()..].strip_prefix('-').unwrap_or_default();
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let is_forge = ["gh", "gl"].iter().any(|forge| word.eq_ignore_ascii_case(forge));
    let is_key = word.len() > 1 && has(u8::is_ascii_alphabetic) && !has(u8::is_ascii_lowercase);
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match word.len() {
        length if digits > 0 && (is_forge || is_key) => length + 1 + digits,
        length @ 7..=64 if is_hex && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) => length,
        _ => 0,
    }
}

/// Writes a link. The label is Markdown.
fn link(label: &str, address: &str) -> String {
    // An entity would be decoded.
    let address = percent_encoded(address, |c| !" <>()\\`|\"'".contains(c)).replace('&', "&amp;");
    format!("[{label}]({address})")
}

struct QuoteWriter {
    reader: Reader,
    source: ShownSource,
    /// The level of the text's highest heading.
    highest: u8,
    lines: LineWriter,
    /// The number of open emphases.
    emphasis: usize,
    /// The paragraph, heading or table row so far.
    line: String,
    /// True if nothing follows the last list so far.
    after_list: bool,
    /// The language and the text of the open code block.
    code: Option<(String, String)>,
    /// The address of each open link, with the position of its text. Links and images in links are only text.
    links: Vec<Option<(String, usize)>>,
    /// The number of cells in the open table row.
    cells: usize,
}

impl QuoteWriter {
    fn new(reader: Reader, highest: u8) -> Self {
        let mut lines = LineWriter::default();
        lines.indent(true, None, "> ");
        QuoteWriter {
            reader,
            source: ShownSource::default(),
            highest,
            lines,
            emphasis: 0,
            line: String::new(),
            after_list: false,
            code: None,
            links: Vec::new(),
            cells: 0,
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code {
                Some((_, code)) => code.push_str(text),
                None => self.say(text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.say_code(text),
            Event::SoftBreak => self.line.push('\n'),
            Event::HardBreak => self.line.push_str("\\\n"),
            Event::Rule => {
                self.end_block();
                self.write_line("***");
                self.lines.gap = true;
            }
            Event::FootnoteReference(label) => self.say(&format!("[{label}]")),
            Event::TaskListMarker(done) => self.say(if *done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock | Tag::Table(_) => self.end_block(),
            Tag::BlockQuote(kind) => {
                self.end_block();
                self.indent(None, "> ");
                if let Some(kind) = kind {
                    self.say(&format!("{kind:?}:"));
                    self.end_block();
                }
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                // A forge offers to apply a suggestion.
                let language = Some(info).filter(|word| is_language(word) && *word != "suggestion");
                self.code = Some((language.unwrap_or_default().to_owned(), String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lines.gap &= self.lines.lists.is_empty();
                self.after_list = false;
                self.lines.lists.push(*first);
            }
            Tag::Item => {
                self.lines.gap &= !self.after_list;
                // Below text, a hyphen of its own would make a heading of the text.
                let bullet = if self.lines.lists.len() > 1 { "* " } else { "- " };
                let mark = self.lines.item_mark(bullet);
                let rest = " ".repeat(mark.len());
                self.indent(Some(mark), &rest);
            }
            Tag::FootnoteDefinition(label) => {
                self.end_block();
                self.say(&format!("[{label}]:"));
                self.end_block();
            }
            Tag::Emphasis => self.emphasize("*"),
            Tag::Strong => self.emphasize("**"),
            Tag::Strikethrough => self.emphasize("~~"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let link = self.links.is_empty().then(|| (dest_url.to_string(), self.line.len()));
                self.links.push(link);
            }
            Tag::TableHead | Tag::TableRow => self.cells = 0,
            Tag::TableCell => {
                self.cells += 1;
                self.line.push_str("| ");
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: &TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => self.end_block(),
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.line).replace("\\\n", " ").replace('\n', " ");
                let level = (HEADING + (*level as u8).saturating_sub(self.highest)).min(6);
                self.write_line(&format!("{} {}", "#".repeat(usize::from(level)), text.trim()));
                self.lines.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.lines.outdent();
            }
            TagEnd::CodeBlock => {
                let (language, code) = self.code.take().unwrap_or_default();
                let fence = fence(&code, 3);
                self.write_line(&format!("{fence}{language}"));
                code.lines().for_each(|line| self.write_line(&made_visible(line)));
                self.write_line(&fence);
                self.lines.gap = true;
            }
            TagEnd::List(_) => {
                self.lines.lists.pop();
                (self.lines.gap, self.after_list) = (true, true);
            }
            TagEnd::Item => {
                self.flush();
                if self.lines.is_unwritten() {
                    self.write_line("");
                }
                self.lines.outdent();
            }
            TagEnd::Emphasis => self.end_emphasis("*"),
            TagEnd::Strong => self.end_emphasis("**"),
            TagEnd::Strikethrough => self.end_emphasis("~~"),
            TagEnd::Link | TagEnd::Image => {
                if let Some((address, from)) = self.links.pop().flatten() {
                    self.end_link(&address, from);
                }
            }
            TagEnd::TableCell => self.line.push(' '),
            TagEnd::TableHead => {
                self.end_row();
                self.write_line(&format!("{}|", "|---".repeat(self.cells)));
            }
            TagEnd::TableRow => self.end_row(),
            TagEnd::Table => (self.cells, self.lines.gap) = (0, true),
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        // The text of a link contains no links.
        let reader = if self.links.is_empty() { self.reader } else { Reader::Comment };
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.line.push('\n');
            }
            escape_into(&mut self.line, line, reader);
        }
    }

    fn say_code(&mut self, text: &str) {
        let text = if self.cells > 0 { text.replace('|', "\\|") } else { text.to_owned() };
        push_code(&mut self.line, &text);
    }

    fn emphasize(&mut self, mark: &str) {
        if self.emphasis < MAX_DEPTH {
            self.line.push_str(mark);
        }
        self.emphasis += 1;
    }

    fn end_emphasis(&mut self, mark: &str) {
        self.emphasis = self.emphasis.saturating_sub(1);
        if self.emphasis < MAX_DEPTH {
            self.line.push_str(mark);
        }
    }

    /// Ends a link or an image, which is a link to the picture.
    fn end_link(&mut self, address: &str, from: usize) {
        let label = self.line.split_off(from);
        let is_bare = label.is_empty() || label == code_span(address);
        let ShownSource { file, state } = std::mem::take(&mut self.source);
        let mut known = String::new();
        escape_into(&mut known, &state.unwrap_or_default(), Reader::Comment);
        match SourceTarget::parse(address).filter(|_| !is_bare) {
            Some(SourceTarget::How(Some(how))) => {
                let known = if known.is_empty() { how.label() } else { &known };
                return self.line.push_str(&format!("{label} ({known})"));
            }
            Some(_) if file.is_some() => {
                self.line.push_str(&link(&label, &file.unwrap_or_default()));
                if !known.is_empty() {
                    self.line.push_str(&format!(" ({known})"));
                }
                return;
            }
            _ => {}
        }
        match safe_url(address).filter(|_| self.reader == Reader::Page) {
            Some(url) if is_bare => self.line.push_str(&link(&escaped(&url), &url)),
            Some(url) => self.line.push_str(&link(&label, &url)),
            None if is_bare => self.say_code(address),
            None if address.is_empty() || address.starts_with('#') => self.line.push_str(&label),
            None => {
                self.line.push_str(&label);
                self.line.push_str(" (");
                self.say_code(address);
                if !known.is_empty() {
                    self.line.push_str(&format!(", {known}"));
                }
                self.line.push(')');
            }
        }
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.line);
        self.write_line(&format!("{}|", row.replace('\n', " ")));
    }

    fn end_block(&mut self) {
        let had_text = !self.line.trim().is_empty();
        self.flush();
        self.lines.gap |= had_text;
    }

    /// Writes the lines of a paragraph. A mark that would begin another block is escaped.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.line);
        for line in text.trim().lines().map(str::trim) {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = line.split_at(digits);
            let is_mark = match digits {
                0 => rest.starts_with(['-', '+', '=', '>', ':']),
                _ => rest.starts_with(['.', ')']),
            };
            self.write_line(&format!("{number}{}{rest}", if is_mark { "\\" } else { "" }));
        }
    }

    fn indent(&mut self, first: Option<String>, rest: &str) {
        self.lines.indent(self.lines.depth() < MAX_DEPTH, first, rest);
    }

    fn write_line(&mut self, text: &str) {
        self.after_list = false;
        self.lines.write(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{HeadingLevel, Options, Parser};

    use super::*;

    /// Marks that open, close or define something, or that forges and site generators act on.
    const MARKS: [&str; 65] = [
        "```",
        "~~~~",
        "````rust",
        "<!--",
        "-->",
        "<details>",
        "</details>",
        "</blockquote>",
        "</td></tr></table>",
        "<img src=x onerror=y>",
        "<script>",
        "<pre>",
        "<![CDATA[",
        "<?",
        "---",
        "===",
        "# one",
        "###### six",
        "two\n---",
        "[x]: https://evil.example",
        "[x]",
        "[^1]: note",
        "[^1]",
        "[a](https://a.example/(b))",
        "![i](//h/p.png)",
        "<https://h/?a=1&amp=2>",
        "https://github.com/o/r/issues/7",
        "1https://h/issues/7",
        "www.h.example/x|y",
        "@name",
        "@org/team",
        "fixes #12",
        "o/r#1",
        "!12",
        "~bug",
        "~\"a b\"",
        "%12",
        "$$",
        "$`x`$",
        "GH-1",
        "PROJ-12",
        "f8083175fe890cbf",
        "/close",
        "[[_TOC_]]",
        "[!NOTE]",
        "[issue:12]",
        "{{ x }}",
        "{% raw %}",
        "{: .x}",
        "&#64;name",
        "&lt;b&gt;",
        "\u{202e}",
        "| a | b |\n|---|---|\n| `|` | \\| |",
        "- [ ] a",
        "---\n- [^1]:*",
        "10. b",
        ">",
        "> > c",
        "    code",
        "*",
        "**",
        "~~",
        "`",
        "``",
        "\\",
    ];

    fn hostile() -> impl Strategy<Value = String> {
        let gap = prop::sample::select(vec!["", " ", "\n", "\n\n", "a", "\n  ", "\t", ":", "\n- ", "\n> "]);
        let mark =
            prop_oneof![4 => prop::sample::select(MARKS.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
        prop::collection::vec((mark, gap), 0..14)
            .prop_map(|parts| parts.into_iter().map(|(mark, gap)| mark + gap).collect())
    }

    fn all() -> Options {
        Options::all() - Options::ENABLE_SMART_PUNCTUATION - Options::ENABLE_OLD_FOOTNOTES
    }

    proptest! {
        #[test]
        fn a_quotation_changes_nothing_after_it(text in hostile(), comment: bool) {
            let reader = if comment { Reader::Comment } else { Reader::Page };
            let page = format!("## Before\n\n{}\n## After\n\nOurs, [a][x] and [^1].\n", quoted(&text, 200, reader));
            let (mut depth, mut ours, mut in_code) = (0, Vec::new(), 0);
            for event in Parser::new_ext(&page, all()) {
                match &event {
                    Event::Html(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) => panic!("{event:?} in {page}"),
                    Event::InlineMath(_) | Event::DisplayMath(_) => panic!("{event:?} in {page}"),
                    Event::Start(Tag::Image { .. } | Tag::FootnoteDefinition(_)) => panic!("{event:?} in {page}"),
                    Event::Start(Tag::Heading { level, .. }) if depth > 0 => prop_assert!(*level >= HeadingLevel::H4, "{}", page),
                    Event::Start(Tag::Link { .. }) => prop_assert!(!comment && depth > 0, "{}", page),
                    _ => {}
                }
                match &event {
                    Event::Start(Tag::BlockQuote(kind)) => {
                        prop_assert_eq!(*kind, None, "{}", page);
                        depth += 1;
                    }
                    Event::End(TagEnd::BlockQuote(_)) => depth -= 1,
                    Event::Start(Tag::CodeBlock(_) | Tag::Link { .. }) => in_code += 1,
                    Event::End(TagEnd::CodeBlock | TagEnd::Link) => in_code -= 1,
                    Event::Text(said) if depth > 0 && in_code == 0 => {
                        let is_named = |at: usize| !said[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
                        prop_assert!(!said.match_indices("@name").any(|(at, _)| is_named(at)), "{}", page);
                        prop_assert!(!["#1", "!12", "$$", "[[_TOC"].iter().any(|it| said.contains(it)), "{}", page);
                        prop_assert!(!comment || !said.contains("://"), "{}", page);
                    }
                    other if depth == 0 => ours.push(format!("{other:?}")),
                    _ => {}
                }
            }
            let without = Parser::new_ext("## Before\n\n## After\n\nOurs, [a][x] and [^1].\n", all());
            prop_assert_eq!(ours, without.map(|event| format!("{event:?}")).collect::<Vec<_>>(), "{}", page);
            prop_assert_eq!(page.find(['\u{202e}', '\r']), None);
        }

        #[test]
        fn literal_text_is_read_as_it_was(text in hostile(), comment: bool) {
            let reader = if comment { Reader::Comment } else { Reader::Page };
            let line = format!("| a {} z |\n|---|", literal(&text, 1_000, reader));
            let mut read = String::new();
            for event in Parser::new_ext(&line, all()) {
                match event {
                    Event::Text(text) | Event::Code(text) => read.push_str(&text),
                    Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableCell | Tag::Link { .. }) | Event::End(_) => {}
                    other => panic!("{other:?} in {line}"),
                }
            }
            prop_assert_eq!(one_line(&read), one_line(&format!("a {text} z")), "{}", line);
        }
    }

    #[test]
    fn a_quotation_reads_like_its_source() {
        let text = "# Cause\n\nThe *index* is **missing** (see [the log][1]), `a|b`:\n\n1. one\n   - inner\n2. two\n\n\
                    | a | b |\n|---|--:|\n| `x\\|y` | <br> |\n\n```rust\nlet x = \"```\";\n```\n\n> said\n\nSetext\n---\n\
                    1\\. no list\n- [x] done\n\n<details>\n\n[1]: https://h.example/a_b\n\n~~~~\nopen <!--";
        insta::assert_snapshot!(quoted(text, 1_000, Reader::Page));
        insta::assert_snapshot!(quoted(text, 80, Reader::Comment));
    }

    #[test]
    fn names_and_references_are_code() {
        let text = "@some-org/team and a@b.example, Fixes #12, o/r#1 or GH-1: R1.A costs $5 (f8083175fe89) <b> R&D, 5 %, \
                    https://github.com/o/r/issues/7.";
        insta::assert_snapshot!(literal(text, 1_000, Reader::Page), @"`@some-org/team` and a@b.example, Fixes `#12`, o/r`#1` or GH-1: R1.A costs `$5` (f8083175fe89) &lt;b> R&amp;D, 5 %, [https://github.com/o/r/issues/7](https://github.com/o/r/issues/7).");
        insta::assert_snapshot!(literal(text, 1_000, Reader::Comment), @"`@some-org/team` and a@b.example, Fixes `#12`, o/r`#1` or `GH-1`: R1.A costs `$5` (`f8083175fe89`) &lt;b> R&amp;D, 5 %, `https://github.com/o/r/issues/7`.");
    }

    #[test]
    fn a_quotation_grows_with_its_text_only() {
        let deep = format!("{}\n{}", ">".repeat(4_000), "a\n".repeat(4_000));
        let lists = format!("{}a", "- ".repeat(4_000));
        for text in [
            deep,
            lists,
            "*a ".repeat(4_000),
            "[".repeat(4_000),
            "|a".repeat(4_000) + "\n" + &"|-".repeat(4_000),
        ] {
            let quoted = quoted(&text, usize::MAX, Reader::Page);
            assert!(quoted.len() < 40 * text.len(), "{} of {}", quoted.len(), text.len());
        }
    }
}
