//! Renders events as HTML. This module is the first filter and limits the work of the second filter, `sanitize`.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    ops::Range,
};

use pulldown_cmark::{Alignment, BlockQuoteKind, CodeBlockKind, Event, LinkType, Tag, TagEnd};
use unicode_normalization::char::is_combining_mark;

use super::{
    parse::{Located, Parsed},
    sanitize::{REL, is_language, sanitize},
    source::SourceTarget,
    text::{FileLines, attribute_into, bare_urls, file_lines, node_ids, safe_url},
};
use crate::text::{composed, escape, is_hidden, one_line, percent_decoded};

/// The maximum nesting depth of elements. Browsers nest at most 512.
const MAX_DEPTH: usize = 100;
/// The maximum number of events of a text. A long finding contains about a thousand.
const MAX_EVENTS: usize = 60_000;
/// The maximum length of an address shown in place of a removed link, in bytes.
const MAX_SHOWN_TARGET: usize = 300;

/// Options that depend on the page around a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions<'a> {
    /// The prefix of every id in the fragment, which prevents collisions between fragments.
    ///
    /// Characters other than ASCII letters, digits, `_`, `.` and `-` become `-`. An empty prefix becomes `md`.
    pub prefix: &'a str,
    /// The level of the highest heading, clamped to 2–6. Deeper headings follow, down to `h6`.
    pub heading_level: u8,
}

impl Parsed {
    /// Renders untrusted Markdown (CommonMark with tables, footnotes, strikethrough, task lists and GitHub's alerts) as a
    /// safe, balanced HTML fragment.
    ///
    /// - Bare `http` and `https` URLs become links. Links become plain text unless they point to an `http`, `https` or
    ///   `mailto` address, or to an id in this fragment. For relative links, the address follows the text.
    /// - Node ids such as `R3.A1a` become links to `#node:R3.A1a`, and files with lines such as `src/a.rs:12-14`
    ///   become links to `#file:12-14:src/a.rs`. This applies to text and to inline code that consists only of an id
    ///   or a file. The caller, which knows the nodes, the files and the page, replaces these addresses.
    /// - Sources such as `run:4c7d8f` and `src/a.rs:12` become links to `#source:` and the target as written, for the caller
    ///   to replace as well.
    /// - Images are not loaded. Instead, they become links with the alternative text.
    /// - Raw HTML is shown as text.
    /// - A link to `#slug` points to the heading with that name, as on GitHub. Each heading ends with a link to itself.
    /// - Footnotes are moved to the end, including unreferenced ones.
    /// - Text with more than 60,000 pieces of markup, or with markup nested deeper than 100 levels, is shown as it is
    ///   written.
    pub fn to_html(&self, options: &HtmlOptions<'_>) -> String {
        if self.is_excessive() {
            return sanitize(&format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(self.written())));
        }
        let mut writer = HtmlWriter::new(&self.events, options);
        for (at, (event, _)) in self.events.iter().enumerate() {
            writer.write(event, &self.events[at + 1..]);
        }
        sanitize(&writer.finish())
    }

    fn is_excessive(&self) -> bool {
        let mut depth = 0_usize;
        let is_too_deep = |(event, _): &Located| {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > MAX_DEPTH
        };
        self.events.len() > MAX_EVENTS || self.events.iter().any(is_too_deep)
    }

    /// Returns the source of the events.
    fn written(&self) -> &str {
        let start = self.events.first().map_or(0, |(_, range)| range.start);
        let end = self.events.iter().map(|(_, range)| range.end).max().unwrap_or(start);
        &self.source[start..end]
    }
}

#[derive(Default)]
struct HtmlWriter {
    prefix: String,
    heading_level: u8,
    /// The level of the highest heading in the text. Text often begins with `##`.
    highest_heading: u8,
    out: String,
    /// The outputs suspended while a footnote is written.
    outer: Vec<String>,
    open: Vec<Open>,
    /// The number of open links and images. Links can't be nested.
    links: usize,
    /// The number of open images. Their alternative text can't contain elements.
    images: usize,
    /// The text of the open code block.
    code: Option<String>,
    table: Option<OpenTable>,
    /// The ids of all headings, in order.
    slugs: Vec<String>,
    next_slug: usize,
    /// The ids of all headings, for lookups.
    known_slugs: HashSet<String>,
    footnotes: Footnotes,
}

/// An open tag, and how to close it.
enum Open {
    /// The element was omitted.
    Nothing,
    Block(&'static str),
    Inline(&'static str),
    /// A heading with its element and its id.
    Heading(&'static str, String),
    Code,
    Table,
    Link(OpenLink),
    Footnote(usize),
}

/// A link whose text is being written.
struct OpenLink {
    element: Option<&'static str>,
    from: usize,
    /// The text shown if the link contains no text.
    instead: String,
    /// The address of a removed link.
    dropped: Option<String>,
}

struct OpenTable {
    alignments: Vec<Alignment>,
    column: usize,
    head: bool,
}

/// The footnotes by lower-case label. Their ids contain only numbers.
#[derive(Default)]
struct Footnotes {
    numbers: HashMap<String, usize>,
    count: usize,
    /// The footnotes whose first reference has an id.
    referenced: HashSet<usize>,
    /// The footnotes whose text has been written.
    written: HashSet<usize>,
    notes: Vec<(usize, String)>,
}

impl HtmlWriter {
    fn new(events: &[Located], options: &HtmlOptions<'_>) -> Self {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let prefix: String = options.prefix.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
        let slugs = slugs(events);
        let levels = events.iter().filter_map(|(event, _)| match event {
            Event::Start(Tag::Heading { level, .. }) => Some(*level as u8),
            _ => None,
        });
        let mut footnotes = Footnotes::default();
        for (event, _) in events {
            if let Event::FootnoteReference(label) = event {
                footnotes.number(label);
            }
        }
        Self {
            prefix: if prefix.is_empty() { "md".to_owned() } else { prefix },
            heading_level: options.heading_level.clamp(2, 6),
            highest_heading: levels.min().unwrap_or(1),
            known_slugs: slugs.iter().cloned().collect(),
            slugs,
            footnotes,
            ..Self::default()
        }
    }

    fn finish(mut self) -> String {
        if self.footnotes.notes.is_empty() {
            return self.out;
        }
        self.out.push_str("<section class=\"footnotes\">\n<ol>\n");
        let mut notes = std::mem::take(&mut self.footnotes.notes);
        notes.sort_by_key(|(number, _)| *number);
        for (number, note) in notes {
            let _ = write!(self.out, "<li id=\"{}-fn-{number}\">", self.prefix);
            if self.footnotes.referenced.contains(&number) {
                let (text, end) =
                    note.trim_end().strip_suffix("</p>").map_or((&*note, ""), |text| (text, "</p>"));
                let _ = write!(
                    self.out,
                    "{text} <a class=\"footnote-backref\" href=\"#{}-fnref-{number}\" \
                     aria-label=\"Back to reference {number}\">↩</a>{end}",
                    self.prefix
                );
            } else {
                self.out.push_str(&note);
            }
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ol>\n</section>\n");
        self.out
    }

    fn write(&mut self, event: &Event<'_>, rest: &[Located]) {
        match event {
            Event::Start(tag) => {
                let open = self.start(tag, rest);
                self.open.push(open);
            }
            Event::End(_) => {
                if let Some(open) = self.open.pop() {
                    self.end(open);
                }
            }
            Event::Text(text) => self.text(text),
            Event::Code(code) if self.images == 0 => self.inline_code(code),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str(&escape(text));
            }
            Event::Html(html) | Event::InlineHtml(html) => self.out.push_str(&escape(html)),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak if self.images == 0 => self.out.push_str("<br>\n"),
            Event::HardBreak => self.out.push('\n'),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::FootnoteReference(label) => self.footnote_reference(label),
            Event::TaskListMarker(done) => self.task(*done),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, rest: &[Located]) -> Open {
        match tag {
            Tag::Paragraph => self.block("p", ""),
            Tag::Heading { level, .. } => self.heading(*level as u8),
            Tag::BlockQuote(None) => self.container("blockquote", ""),
            Tag::BlockQuote(Some(kind)) => self.alert(*kind),
            Tag::CodeBlock(kind) => self.code(kind),
            Tag::HtmlBlock => {
                self.out.push_str("<pre class=\"raw-html\" tabindex=\"0\"><code>");
                Open::Code
            }
            Tag::List(None) => self.container("ul", ""),
            Tag::List(Some(1)) => self.container("ol", ""),
            Tag::List(Some(first)) => self.container("ol", &format!(" start=\"{first}\"")),
            Tag::Item => {
                let mut rest = rest.iter().map(|(event, _)| event);
                let task = match rest.next() {
                    Some(Event::Start(Tag::Paragraph)) => {
                        matches!(rest.next(), Some(Event::TaskListMarker(_)))
                    }
                    first => matches!(first, Some(Event::TaskListMarker(_))),
                };
                self.block("li", if task { " class=\"task-list-item\"" } else { "" })
            }
            Tag::FootnoteDefinition(label) => {
                let number = self.footnotes.number_of_definition(label);
                self.outer.push(std::mem::take(&mut self.out));
                Open::Footnote(number)
            }
            Tag::Table(alignments) => {
                self.out.push_str(
                    "<div class=\"table-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n",
                );
                self.table = Some(OpenTable { alignments: alignments.clone(), column: 0, head: true });
                Open::Table
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.column = 0;
                }
                if matches!(tag, Tag::TableHead) {
                    self.out.push_str("<thead>\n");
                }
                self.block("tr", "")
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.inline("em"),
            Tag::Strong => self.inline("strong"),
            Tag::Strikethrough => self.inline("del"),
            Tag::Link { link_type, dest_url, title, .. } => self.link(*link_type, dest_url, title, false),
            Tag::Image { link_type, dest_url, title, .. } => self.link(*link_type, dest_url, title, true),
            // The extensions for these tags are disabled.
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => Open::Nothing,
        }
    }

    fn end(&mut self, open: Open) {
        match open {
            Open::Nothing => {}
            Open::Block(element) => {
                let element = if element == "th" { self.end_heading_cell() } else { element };
                let _ = writeln!(self.out, "</{element}>");
                if element == "tr"
                    && let Some(table) = &mut self.table
                    && std::mem::take(&mut table.head)
                {
                    self.out.push_str("</thead>\n<tbody>\n");
                }
            }
            Open::Heading(element, id) => {
                let _ = writeln!(
                    self.out,
                    "<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a></{element}>"
                );
            }
            Open::Inline(element) => {
                let _ = write!(self.out, "</{element}>");
            }
            Open::Code => {
                let code = self.code.take().unwrap_or_default();
                self.code_lines(&code);
                self.out.push_str("</code></pre>\n");
            }
            Open::Table => {
                self.table = None;
                self.out.push_str("</tbody>\n</table>\n</div>\n");
            }
            Open::Link(target) => self.end_link(target),
            Open::Footnote(number) => {
                let outer = self.outer.pop().unwrap_or_default();
                let note = std::mem::replace(&mut self.out, outer);
                self.footnotes.notes.push((number, note));
            }
        }
    }

    fn block(&mut self, element: &'static str, attributes: &str) -> Open {
        let _ = write!(self.out, "<{element}{attributes}>");
        Open::Block(element)
    }

    /// Begins a block of blocks.
    fn container(&mut self, element: &'static str, attributes: &str) -> Open {
        let _ = writeln!(self.out, "<{element}{attributes}>");
        Open::Block(element)
    }

    fn inline(&mut self, element: &'static str) -> Open {
        if self.images > 0 {
            return Open::Nothing;
        }
        let _ = write!(self.out, "<{element}>");
        Open::Inline(element)
    }

    fn heading(&mut self, level: u8) -> Open {
        const NAMES: [&str; 5] = ["h2", "h3", "h4", "h5", "h6"];
        let level = (self.heading_level + level.saturating_sub(self.highest_heading)).min(6);
        let slug = self.slugs.get(self.next_slug).cloned().unwrap_or_default();
        self.next_slug += 1;
        let id = format!("{}-h-{slug}", self.prefix);
        let element = NAMES.get(usize::from(level) - 2).copied().unwrap_or("h6");
        let _ = write!(self.out, "<{element} id=\"{id}\">");
        Open::Heading(element, id)
    }

    fn alert(&mut self, kind: BlockQuoteKind) -> Open {
        let (name, title) = match kind {
            BlockQuoteKind::Note => ("note", "Note"),
            BlockQuoteKind::Tip => ("tip", "Tip"),
            BlockQuoteKind::Important => ("important", "Important"),
            BlockQuoteKind::Warning => ("warning", "Warning"),
            BlockQuoteKind::Caution => ("caution", "Caution"),
        };
        let open =
            self.container("div", &format!(" class=\"markdown-alert markdown-alert-{name}\" role=\"note\""));
        // The kind is also written as text, since some readers can't see colour.
        let _ = writeln!(self.out, "<p class=\"markdown-alert-title\">{title}</p>");
        open
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>) -> Open {
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.as_ref(),
            CodeBlockKind::Indented => "",
        };
        let language = info.split([' ', '\t', ',']).next().filter(|word| is_language(word));
        self.code = Some(String::new());
        match language {
            Some(language) => {
                let _ = write!(self.out, "<pre tabindex=\"0\"><code class=\"language-{language}\">");
            }
            None => self.out.push_str("<pre tabindex=\"0\"><code>"),
        }
        Open::Code
    }

    /// Writes the lines of a code block. In a diff in any language, added and removed lines are marked.
    fn code_lines(&mut self, code: &str) {
        let begins = |sign: &'static str| code.lines().any(|line| line.starts_with(sign));
        let is_of_one = |line: &str| line.trim().is_empty() || line.starts_with(['+', '-', ' ', '@']);
        if !(begins("+") && begins("-") && code.lines().all(is_of_one)) {
            return self.out.push_str(&escape(code));
        }
        for line in code.split_inclusive('\n') {
            let class = match line.chars().next() {
                Some('+') => "line-added",
                Some('-') => "line-removed",
                _ => "",
            };
            let text = escape(line);
            if class.is_empty() {
                self.out.push_str(&text);
            } else {
                let _ = write!(self.out, "<span class=\"{class}\">{text}</span>");
            }
        }
    }

    fn cell(&mut self) -> Open {
        let Some(table) = &mut self.table else { return Open::Nothing };
        let class = match table.alignments.get(table.column) {
            Some(Alignment::Left) => " class=\"align-left\"",
            Some(Alignment::Center) => " class=\"align-center\"",
            Some(Alignment::Right) => " class=\"align-right\"",
            _ => "",
        };
        table.column += 1;
        if table.head { self.block("th", &format!(" scope=\"col\"{class}")) } else { self.block("td", class) }
    }

    /// Turns a header cell without content into a plain cell, which screen readers do not announce. The top left
    /// corner of a table is often empty.
    fn end_heading_cell(&mut self) -> &'static str {
        const SCOPE: &str = "<th scope=\"col\"";
        let start = self.out.rfind(SCOPE).filter(|start| {
            self.out[*start..].find('>').is_some_and(|end| start + end + 1 == self.out.len())
        });
        let Some(start) = start else { return "th" };
        self.out.replace_range(start..start + SCOPE.len(), "<td");
        "td"
    }

    fn link(&mut self, kind: LinkType, dest: &str, title: &str, image: bool) -> Open {
        if self.images > 0 {
            return Open::Nothing;
        }
        let nested = self.links > 0;
        if !(image || nested || kind == LinkType::Email) && SourceTarget::parse(dest).is_some() {
            let _ = write!(self.out, "<a class=\"source\"");
            attribute_into(&mut self.out, "href", &format!("#source:{dest}"));
            self.out.push('>');
            self.links += 1;
            let (from, instead) = (self.out.len(), dest.to_owned());
            return Open::Link(OpenLink { element: Some("a"), from, instead, dropped: None });
        }
        let href = if nested { None } else { self.href(kind, dest, image) };
        let shown = href.is_none() && !nested && is_relative_path(dest);
        let mut target = OpenLink {
            element: None,
            from: 0,
            instead: if image { "image".to_owned() } else { href.clone().unwrap_or_default() },
            dropped: shown.then(|| dest.to_string()),
        };
        if let Some(href) = href {
            self.out.push_str(if image { "<a class=\"image-link\"" } else { "<a" });
            attribute_into(&mut self.out, "href", &href);
            if !href.starts_with('#') {
                attribute_into(&mut self.out, "rel", REL);
            }
            let title = one_line(title);
            if !title.is_empty() {
                attribute_into(&mut self.out, "title", &title);
            }
            self.out.push('>');
            target.element = Some("a");
        } else if image {
            self.out.push_str("<span class=\"image-alt\">");
            target.element = Some("span");
        }
        target.from = self.out.len();
        self.links += 1;
        self.images += usize::from(image);
        Open::Link(target)
    }

    fn end_link(&mut self, target: OpenLink) {
        self.links -= 1;
        // An image can't contain images or links, so the outermost image ends here.
        self.images = 0;
        let text = self.out.get(target.from..).unwrap_or_default();
        if text.trim().is_empty() {
            self.out.push_str(&escape(&target.instead));
        }
        let same = target.dropped.as_deref().is_none_or(|dropped| self.out[target.from..].contains(dropped));
        if let Some(element) = target.element {
            let _ = write!(self.out, "</{element}>");
        }
        if let Some(dropped) = target.dropped
            && !same
        {
            let _ = write!(self.out, " <span class=\"link-target\">({})</span>", escape(&dropped));
        }
    }

    /// Returns the address of a link if it is allowed.
    fn href(&self, kind: LinkType, dest: &str, image: bool) -> Option<String> {
        if kind == LinkType::Email {
            return safe_url(&format!("mailto:{dest}"));
        }
        if let Some(fragment) = dest.strip_prefix('#') {
            let slug = composed(&String::from_utf8_lossy(&percent_decoded(fragment)).to_lowercase());
            return (!image && self.known_slugs.contains(&slug))
                .then(|| format!("#{}-h-{slug}", self.prefix));
        }
        safe_url(dest)
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            return code.push_str(text);
        }
        if self.links > 0 {
            return self.out.push_str(&escape(text));
        }
        let mut done = 0;
        for Range { start, end } in bare_urls(text) {
            self.words(&text[done..start]);
            done = end;
            let shown = escape(&text[start..end]);
            match safe_url(&text[start..end]) {
                Some(href) => {
                    self.out.push_str("<a");
                    attribute_into(&mut self.out, "href", &href);
                    attribute_into(&mut self.out, "rel", REL);
                    let _ = write!(self.out, ">{shown}</a>");
                }
                None => self.out.push_str(&shown),
            }
        }
        self.words(&text[done..]);
    }

    /// Writes text that contains no URLs, and marks files with lines and node ids in it.
    fn words(&mut self, text: &str) {
        let mut done = 0;
        for file in file_lines(text) {
            self.ids(&text[done..file.range.start]);
            done = file.range.end;
            let shown = &text[file.range.clone()];
            self.mark(&file_mark(&file), shown);
        }
        self.ids(&text[done..]);
    }

    fn ids(&mut self, text: &str) {
        let mut done = 0;
        for Range { start, end } in node_ids(text) {
            self.out.push_str(&escape(&text[done..start]));
            done = end;
            let id = &text[start..end];
            self.mark(&node_mark(id), id);
        }
        self.out.push_str(&escape(&text[done..]));
    }

    /// Writes a link around escaped text. The caller of this module completes the link.
    fn mark(&mut self, mark: &str, html: &str) {
        let _ = write!(self.out, "<a {mark}>{html}</a>");
    }

    /// Writes inline code. Code that consists only of a node id or of a file with lines is marked as it would be in
    /// plain text.
    fn inline_code(&mut self, code: &str) {
        let whole = 0..code.len();
        let mark = match (file_lines(code).as_slice(), node_ids(code).as_slice()) {
            _ if self.links > 0 => None,
            ([file], _) if file.range == whole => Some(file_mark(file)),
            (_, [id]) if *id == whole => Some(node_mark(code)),
            _ => None,
        };
        let html = format!("<code>{}</code>", escape(code));
        match mark {
            Some(mark) => self.mark(&mark, &html),
            None => self.out.push_str(&html),
        }
    }

    fn task(&mut self, done: bool) {
        let (checked, label) = if done { (" checked=\"\"", "Done") } else { ("", "Not done") };
        let _ = write!(self.out, "<input type=\"checkbox\" disabled=\"\"{checked} aria-label=\"{label}\"> ");
    }

    fn footnote_reference(&mut self, label: &str) {
        let number = self.footnotes.number(label);
        if self.links > 0 {
            let _ = write!(self.out, "[{number}]");
            return;
        }
        let prefix = &self.prefix;
        let _ = write!(self.out, "<sup class=\"footnote-ref\"><a href=\"#{prefix}-fn-{number}\"");
        if self.footnotes.referenced.insert(number) {
            let _ = write!(self.out, " id=\"{prefix}-fnref-{number}\"");
        }
        let _ = write!(self.out, " aria-label=\"Footnote {number}\">{number}</a></sup>");
    }
}

impl Footnotes {
    fn number(&mut self, label: &str) -> usize {
        *self.numbers.entry(label.to_lowercase()).or_insert_with(|| {
            self.count += 1;
            self.count
        })
    }

    /// Returns the number for a footnote's text. A second footnote with the same label gets a new number.
    fn number_of_definition(&mut self, label: &str) -> usize {
        let number = self.number(label);
        if self.written.insert(number) {
            return number;
        }
        self.count += 1;
        self.written.insert(self.count);
        self.count
    }
}

fn node_mark(id: &str) -> String {
    format!("class=\"node-ref\" href=\"#node:{id}\"")
}

fn file_mark(file: &FileLines<'_>) -> String {
    let FileLines { path, first, last, .. } = file;
    format!("class=\"file-ref\" href=\"#file:{first}-{last}:{path}\"")
}

/// Returns an id for every heading, in order. Ids are made as on GitHub: letters become lower-case, spaces become `-`,
/// punctuation is dropped, and a number is appended to repeated names. Accents are composed (NFC).
fn slugs(events: &[Located]) -> Vec<String> {
    let mut slugs = Vec::new();
    let mut taken = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut heading: Option<String> = None;
    for (event, _) in events {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = slug(&heading.take().unwrap_or_default());
                let mut unique = name.clone();
                let count = counts.entry(name.clone()).or_default();
                while !taken.insert(unique.clone()) {
                    *count += 1;
                    unique = format!("{name}-{count}");
                }
                slugs.push(unique);
            }
            Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|it| it.push_str(text)),
            Event::SoftBreak | Event::HardBreak => heading.iter_mut().for_each(|it| it.push(' ')),
            _ => {}
        }
    }
    slugs
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().flat_map(char::to_lowercase).filter_map(|c| match c {
        ' ' | '\n' | '\t' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() || is_combining_mark(c) => Some(c),
        _ => None,
    });
    let slug = composed(&kept.collect::<String>());
    if slug.is_empty() { "section".to_owned() } else { slug }
}

/// Returns true if a removed address is worth showing. A path in a repository is, but a `javascript:` address is not.
fn is_relative_path(dest: &str) -> bool {
    let start = dest.trim_start();
    let other_host = start.starts_with("//") || start.starts_with("/\\");
    let scheme = start.split('/').next().is_some_and(|first| first.contains(':'));
    let says_nothing =
        start.is_empty() || start.len() > MAX_SHOWN_TARGET || start.starts_with(['#', '\\', '?']);
    !(other_host || scheme || says_nothing || start.chars().any(is_hidden))
}
