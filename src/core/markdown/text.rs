//! Addresses: where a URL begins and ends, which may be a link.

use std::{fmt::Write, ops::Range, sync::LazyLock};

use crate::text::{escape, is_hidden};
use ammonia::Url;
use linkify::{LinkFinder, LinkKind};

/// A longer address is not made a link; browsers and servers have limits near it, too.
const MAX_URL_BYTES: usize = 4096;
/// A longer path is not made one either.
const MAX_PATH_BYTES: usize = 500;

/// linkify starts over at every `://`, so a run without a space costs their number times its length.
const MAX_SCHEMES_PER_WORD: usize = 64;
/// The pieces in which a run with more of them than that is searched.
const PIECE_BYTES: usize = 2048;

static FINDER: LazyLock<LinkFinder> = LazyLock::new(|| {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    finder
});

/// The `http` and `https` URLs in a run of plain text, as ranges of bytes, in order.
///
/// Trailing punctuation and an unbalanced closing bracket are not part of one, nor is what follows a mark of
/// East Asian punctuation, a typographic quote, an ellipsis or a hidden character.
pub(super) fn bare_urls(text: &str) -> Vec<Range<usize>> {
    let mut urls = Vec::new();
    if !text.contains("://") {
        return urls;
    }
    let mut start = 0;
    for word in text.split(ends_bare_url) {
        if word.matches("://").nth(MAX_SCHEMES_PER_WORD).is_none() {
            find_urls(word, start, &mut urls);
        } else {
            let mut from = 0;
            while from < word.len() {
                let to = (from + PIECE_BYTES..word.len())
                    .find(|at| word.is_char_boundary(*at))
                    .unwrap_or(word.len());
                find_urls(&word[from..to], start + from, &mut urls);
                from = to;
            }
        }
        // The separator is one character of unknown width.
        start += word.len();
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
    urls
}

/// Returns ids of nodes in a run of plain text, as ranges of bytes, in order: `R3.A1a`, as a word of its own. Whether such a
/// node exists is not checked here.
pub(super) fn node_ids(text: &str) -> Vec<Range<usize>> {
    let mut ids = Vec::new();
    let mut before = None;
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let stands_alone = !before.is_some_and(|c: char| c.is_alphanumeric() || "_/.-\\".contains(c));
        before = Some(c);
        if c != 'R' || !stands_alone {
            continue;
        }
        let tail = &text[start + 1..];
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        let suffix = tail[digits..].strip_prefix('.').unwrap_or_default();
        let length = suffix.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let after = suffix[length..].chars().next();
        // A file such as `R2.A1.yaml` is not an id; the full stop of a sentence does not belong to the id.
        let is_file =
            suffix[length..].strip_prefix('.').is_some_and(|it| it.starts_with(char::is_alphanumeric));
        if digits == 0 || length == 0 || is_file || after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let end = start + 1 + digits + 1 + length;
        ids.push(start..end);
        while rest.next_if(|(at, _)| *at < end).is_some() {}
        before = text[..end].chars().next_back();
    }
    ids
}

/// A file of the project with lines, as a text names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileLines<'t> {
    /// The place of all of it, in bytes.
    pub range: Range<usize>,
    pub path: &'t str,
    pub first: u32,
    pub last: u32,
}

/// Returns files with lines in a run of plain text, in order: `src/a.rs:12`, `src/a.rs:12-14`, `src/a.rs#L12-L14`, `a.rs:12:5`
/// (line and column). Whether such a file exists is not checked here.
pub(super) fn file_lines(text: &str) -> Vec<FileLines<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./+@".contains(c);
    let mut found = Vec::new();
    let mut from = 0;
    // The sign between path and lines is rare, so it is searched for.
    while let Some(at) = text[from..].find([':', '#']).map(|at| from + at) {
        let (before, after) = (&text[from..at], &text[at..]);
        from = at + 1;
        let Some((first, last, length)) = lines_at(after) else { continue };
        let start = before
            .rfind(|c: char| !is_part(c))
            .map_or(0, |end| end + before[end..].chars().next().map_or(0, char::len_utf8));
        // If the path continues to the left, it is an address, a version or a file of another repository.
        let goes_on = text[..at - before.len() + start]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || "~:#\\%?=&$".contains(c));
        let path = before[start..].strip_prefix("./").unwrap_or(&before[start..]);
        let end = at + length;
        let ends = !text[end..].starts_with(|c: char| c.is_alphanumeric() || "_/#".contains(c));
        if goes_on || !ends || !is_file_path(path) {
            continue;
        }
        found.push(FileLines { range: at - before.len() + start..end, path, first, last });
        from = end;
    }
    found
}

/// The lines at the beginning of a text, and how many bytes they take: `:12`, `:12-14`, `:12:5`, `#L12-L14`.
fn lines_at(text: &str) -> Option<(u32, u32, usize)> {
    let number = |text: &str| {
        let digits = text.bytes().take(8).take_while(u8::is_ascii_digit).count();
        Some((text[..digits].parse::<u32>().ok().filter(|number| *number > 0 && digits < 8)?, digits))
    };
    let mark = [":", "#L"].into_iter().find(|mark| text.starts_with(mark))?;
    let (first, digits) = number(&text[mark.len()..])?;
    let end = mark.len() + digits;
    let rest = &text[end..];
    let second = ["-L", "-"].into_iter().find_map(|dash| {
        let (last, digits) = number(rest.strip_prefix(dash)?)?;
        Some((last, dash.len() + digits))
    });
    match second {
        Some((last, length)) if last >= first => Some((first, last, end + length)),
        _ => {
            let column = rest.strip_prefix(':').filter(|_| mark == ":").and_then(number);
            Some((first, first, end + column.map_or(0, |(_, digits)| 1 + digits)))
        }
    }
}

/// Whether this may be a path of a file from a project's root: with an ending that begins with a letter, which an address of a
/// machine has not, and no way out of the project. A name without a folder may not be an id of a node.
fn is_file_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    path.len() <= MAX_PATH_BYTES
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && node_ids(path).is_empty()
}

/// Whether this is an address with the scheme `http` or `https` and a host.
pub(super) fn is_web_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && rest.starts_with(|first: char| !matches!(first, '/' | '\\' | '?' | '#'))
}

/// The address that a link to elsewhere may carry, normalised as a browser would, or none.
pub(super) fn safe_url(url: &str) -> Option<String> {
    let url = url.trim();
    if url.len() > MAX_URL_BYTES
        || url.chars().any(|c| is_hidden(c) || c == '\u{FFFD}' || c == '\n' || c == '\t')
    {
        return None;
    }
    if is_web_url(url) {
        // A backslash is a slash to a browser and a character to everyone else: no link rather than two readings.
        let before_query = url.split(['?', '#']).next().unwrap_or_default();
        if before_query.contains('\\') {
            return None;
        }
        let parsed = Url::parse(url).ok()?;
        let plain = parsed.username().is_empty() && parsed.password().is_none();
        return (matches!(parsed.scheme(), "http" | "https") && parsed.has_host() && plain)
            .then(|| parsed.into());
    }
    let address = url.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("mailto:")).map(|_| &url[7..])?;
    let parsed = Url::parse(url).ok()?;
    (address.contains('@') && parsed.scheme() == "mailto").then(|| parsed.into())
}

/// Appends ` name="value"`.
pub(super) fn attribute_into(out: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(out, " {name}=\"{}\"", escape(value));
}

fn find_urls(word: &str, offset: usize, urls: &mut Vec<Range<usize>>) {
    if word.contains("://") {
        let found = FINDER.links(word).filter(|link| is_web_url(link.as_str()));
        urls.extend(found.map(|link| offset + link.start()..offset + link.end()));
    }
}

fn ends_bare_url(c: char) -> bool {
    c.is_whitespace() || is_hidden(c) || "。，、；：！？…「」『』【】《》〈〉（）“”‘’«»‹›".contains(c)
}
