//! Finds URLs, node ids and files in text, and decides which addresses may be linked.

use std::{fmt::Write, ops::Range, sync::LazyLock};

use crate::text::{escape, is_hidden};
use ammonia::Url;
use linkify::{LinkFinder, LinkKind};

/// The maximum length of a linked address, in bytes. Browsers and servers have similar limits.
const MAX_URL_BYTES: usize = 4096;
/// The maximum length of a linked path, in bytes.
const MAX_PATH_BYTES: usize = 500;

/// The number of `://` occurrences above which a word is searched in pieces. linkify restarts at each `://`, so a long
/// word would otherwise take quadratic time.
const MAX_SCHEMES_PER_WORD: usize = 64;
/// The length of the pieces in which a long word is searched.
const PIECE_BYTES: usize = 2048;

static FINDER: LazyLock<LinkFinder> = LazyLock::new(|| {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    finder
});

/// Returns the byte ranges of `http` and `https` URLs in plain text, in order.
///
/// A URL does not include trailing punctuation or an unbalanced closing bracket. It ends at East Asian punctuation,
/// typographic quotes, an ellipsis or a hidden character.
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
        // The separator is a single character of unknown width.
        start += word.len();
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
    urls
}

/// The number of characters after the hyphen of a whole node id.
const DIGEST: usize = 6;

/// Returns the byte ranges of node ids such as `R3.A1a` and `R3.A1a-k3f9q2` in plain text, in order. The nodes need not exist.
pub fn node_ids(text: &str) -> Vec<Range<usize>> {
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
        // A file name such as `R2.A1.yaml` is not an id. A period at the end of a sentence is not part of an id.
        let is_file =
            suffix[length..].strip_prefix('.').is_some_and(|it| it.starts_with(char::is_alphanumeric));
        if digits == 0 || length == 0 || is_file || after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let mut end = start + 1 + digits + 1 + length;
        let digest = suffix[length..].strip_prefix('-').unwrap_or_default();
        if digest.bytes().take_while(u8::is_ascii_alphanumeric).count() == DIGEST {
            end += 1 + DIGEST;
        }
        ids.push(start..end);
        while rest.next_if(|(at, _)| *at < end).is_some() {}
        before = text[..end].chars().next_back();
    }
    ids
}

/// A mention of a project file with lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileLines<'t> {
    /// The byte range of the mention.
    pub range: Range<usize>,
    pub path: &'t str,
    pub first: u32,
    pub last: u32,
}

/// Returns the mentions of files with lines in plain text, in order: `src/a.rs:12`, `src/a.rs:12-14`,
/// `src/a.rs#L12-L14`, `a.rs:12:5` (line and column). The files need not exist.
pub(super) fn file_lines(text: &str) -> Vec<FileLines<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./+@".contains(c);
    let mut found = Vec::new();
    let mut from = 0;
    // The character between the path and the lines is rare, so search for it first.
    while let Some(at) = text[from..].find([':', '#']).map(|at| from + at) {
        let (before, after) = (&text[from..at], &text[at..]);
        from = at + 1;
        let Some((first, last, length)) = lines_at(after) else { continue };
        let start = before
            .rfind(|c: char| !is_part(c))
            .map_or(0, |end| end + before[end..].chars().next().map_or(0, char::len_utf8));
        // A path that continues to the left belongs to an address, a version or a file in another repository.
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

/// Returns the line numbers at the beginning of the text, and their length in bytes: `:12`, `:12-14`, `:12:5`,
/// `#L12-L14`.
pub(super) fn lines_at(text: &str) -> Option<(u32, u32, usize)> {
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

/// Returns true if this may be the path of a file in a project.
///
/// Unlike a network address, it must have an extension that begins with a letter. It must not lead out of the project.
/// Node ids are not paths.
fn is_file_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    path.len() <= MAX_PATH_BYTES
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && node_ids(path).is_empty()
}

/// Returns true for `http` and `https` addresses with a host.
pub(super) fn is_web_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && rest.starts_with(|first: char| !matches!(first, '/' | '\\' | '?' | '#'))
}

/// Returns the address as a browser would normalize it. Returns `None` if it must not be linked.
pub(super) fn safe_url(url: &str) -> Option<String> {
    let url = url.trim();
    if url.len() > MAX_URL_BYTES
        || url.chars().any(|c| is_hidden(c) || c == '\u{FFFD}' || c == '\n' || c == '\t')
    {
        return None;
    }
    if is_web_url(url) {
        // Browsers treat a backslash as a slash, but other programs do not. Such ambiguous addresses are not linked.
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
    // Writing to a `String` can't fail.
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
