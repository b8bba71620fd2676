//! Text for display: shortening, wrapping and escaping untrusted text, and formatting errors as sentences.
//!
//! This module does not depend on any other module. All other modules use it for these tasks.

pub mod related;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::error::Error;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the text with each letter and its accents as one character where Unicode has one (NFC). macOS stores file names
/// decomposed, and people type composed letters.
pub fn composed(text: &str) -> String {
    if is_nfc(text) { text.to_owned() } else { text.nfc().collect() }
}

/// Returns JSON without the byte order mark that some systems put before it, and in which U+FFFD replaces each escaped half
/// of a character without its other half. Clients send such halves when a model emits half an emoji, and JSON parsers refuse
/// them. The reply to the call notes the replacement.
pub fn mended_json(text: &[u8]) -> Cow<'_, [u8]> {
    let (whole, text) = (text, text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text));
    if !text.windows(3).any(|part| part.eq_ignore_ascii_case(b"\\ud")) {
        return if text.len() == whole.len() { Cow::Borrowed(text) } else { Cow::Owned(text.to_vec()) };
    }
    let code = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut mended, mut found, mut at) = (Vec::with_capacity(text.len()), false, 0);
    while at < text.len() {
        let length = match (code(at), code(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.extend_from_slice(b"\\ufffd");
                (found, at) = (true, at + 6);
                continue;
            }
            // An escaped backslash begins no other escape.
            _ if text[at] == b'\\' => 2,
            _ => 1,
        };
        let end = (at + length).min(text.len());
        mended.extend_from_slice(&text[at..end]);
        at = end;
    }
    if found || text.len() < whole.len() { Cow::Owned(mended) } else { Cow::Borrowed(text) }
}

/// Returns the form used to search text: full case folding, of compatible characters (NFKC). A typographic apostrophe is a plain
/// one, and a dotted capital `İ` is an `i`.
pub fn folded(text: &str) -> String {
    let text = text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let text = text.filter(|c| *c != '\u{307}' && !is_hidden(*c));
    text.map(|c| if matches!(c, '‘' | '’' | 'ʼ') { '\'' } else { c }).collect()
}

/// Returns whether the character is a vowel sign or tone mark of a script, such as those of Thai, and no accent for letters of
/// any script.
pub fn is_sign(c: char) -> bool {
    let is_accent = matches!(
        u32::from(c),
        0x300..=0x36f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe00..=0xfe2f
    );
    is_combining_mark(c) && !is_accent
}

/// Shortens the text to at most `most` characters, including the `…` that marks a cut. Cuts after a whole word if that
/// keeps at least half of the available length.
pub fn shorten(text: &str, most: usize) -> String {
    if text.char_indices().nth(most).is_none() {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let after_word = match text[end..].starts_with(char::is_whitespace) {
        true => Some(end),
        false => text[..end].rfind(char::is_whitespace),
    };
    let kept = &text[..after_word.filter(|at| *at * 2 >= end).unwrap_or(end)];
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.');
    format!("{}…", kept.trim_end_matches(ends))
}

/// Percent-encodes all characters that are not plain.
pub fn percent_encoded(text: &str, is_plain: impl Fn(char) -> bool) -> String {
    let mut encoded = String::new();
    for c in text.chars() {
        match is_plain(c) {
            true => encoded.push(c),
            false => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| encoded += &format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Decodes the percent-encoded bytes of the text. A `%` without two digits stays.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let code = code.filter(|_| *byte == b'%');
        decoded.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    decoded
}

/// Returns the longest prefix of the text with at most `most` bytes.
pub fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

/// Returns the longest suffix of the text with at most `most` bytes.
pub fn last_bytes(text: &str, most: usize) -> &str {
    let begin = text.len().saturating_sub(most);
    &text[(begin..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

/// Returns text in which [`visible`] replaced the control characters as a terminal shows it: without escape sequences, such as
/// colours, and without what a backspace takes back. A move to the beginning of the line becomes a carriage return.
pub fn without_escapes(text: &str) -> String {
    let mut parts = text.split('␛');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.split_at_checked(1) {
            // A control sequence ends with a letter, and an operating system command with a bell or at the next escape.
            Some(("[", rest)) => {
                let end = rest.find(|c| ('@'..='~').contains(&c)).map_or(rest.len(), |at| at + 1);
                if ["G", "0G", "1G"].contains(&&rest[..end]) {
                    plain.push('␍');
                }
                &rest[end..]
            }
            Some(("]", rest)) => rest.split_once('␇').map_or("", |(_, rest)| rest),
            Some((_, rest)) => rest,
            None => part,
        };
        plain += rest;
    }
    let mut shown = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '␈' => drop(shown.pop()),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the number of terminal columns that the text occupies. Wide characters count as two.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Shortens the text to at most `most` terminal columns, including the `…` that marks a cut.
pub fn fit(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= room
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

/// Wraps the text into lines of at most `most` columns and collapses whitespace. Words that are longer than a line are
/// not broken.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = columns(word);
        match lines.last_mut().filter(|_| used + 1 + length <= most) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
                used += 1 + length;
            }
            None => {
                lines.push(word.to_owned());
                used = length;
            }
        }
    }
    lines
}

/// Returns the form used to compare names on a case-insensitive file system.
pub fn without_case(name: &str) -> String {
    // Some letters have two lowercase forms and only one uppercase form.
    name.to_uppercase().to_lowercase()
}

/// Formats a command on one line, quoted for a shell.
pub fn shell_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Puts the text on one line: collapses whitespace and makes hidden characters visible.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(visible));
    }
    line
}

/// Returns the character, or a visible replacement (a control picture such as `␀`, or `U+FFFD`).
///
/// Replaces characters that hide, reorder or control text, and code points that are not characters. Keeps joiners and
/// plain direction marks, since scripts and emoji need them.
pub fn visible(c: char) -> char {
    match c {
        // Fast path for nearly all characters on a site.
        ' '..='~' | '\n' | '\t' => c,
        '\r' => ' ',
        '\u{0}'..='\u{1F}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{FFFD}'),
        '\u{7F}' => '\u{2421}',
        '\u{80}'..='\u{9F}' => '\u{FFFD}',
        // Zero-width space; line and paragraph separators, bidi embeddings and overrides; the word joiner, invisible
        // operators, bidi isolates and deprecated controls; byte order mark; interlinear annotations; tags, which can
        // carry an entire hidden message.
        '\u{200B}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' => '\u{FFFD}',
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => '\u{FFFD}',
        // Noncharacters, which Unicode never assigns and which HTML and XML parsers report as errors.
        '\u{FDD0}'..='\u{FDEF}' => '\u{FFFD}',
        c if u32::from(c) & 0xFFFE == 0xFFFE => '\u{FFFD}',
        c => c,
    }
}

/// Replaces the hidden characters in the text, as [`visible`] does.
pub fn made_visible(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Returns whether [`visible`] replaces the character.
pub fn is_hidden(c: char) -> bool {
    visible(c) != c
}

/// Escapes the text for element content or quoted attributes in HTML or XML. Makes hidden characters visible.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(|c| matches!(c, '&' | '<' | '>' | '"' | '\'') || is_hidden(c)) {
        escaped.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        match chars.next() {
            Some('&') => escaped.push_str("&amp;"),
            Some('<') => escaped.push_str("&lt;"),
            Some('>') => escaped.push_str("&gt;"),
            Some('"') => escaped.push_str("&quot;"),
            Some('\'') => escaped.push_str("&#39;"),
            hidden => escaped.extend(hidden.map(visible)),
        }
        rest = chars.as_str();
    }
    escaped + rest
}

/// Returns the error and its causes, separated by colons.
pub fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Capitalizes the first letter, unless the text begins with a path, and ends the text with a period.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let is_path = text.split(' ').next().is_some_and(|word| word.contains(['/', '\\']));
    let first = chars.next().filter(|_| !is_path).map(|first| first.to_uppercase().collect::<String>());
    let rest = if is_path { text } else { chars.as_str() };
    format!("{}{}.", first.unwrap_or_default(), rest.trim_end_matches('.'))
}

/// Returns the first sentence of a single-line text, or the whole text if no sentence ends in it. A sentence ends at a
/// punctuation mark that is followed by a space and any character except a lowercase letter.
pub fn first_sentence(text: &str) -> &str {
    let stops = text.match_indices(['.', '!', '?', '…']);
    let ends = stops.map(|(at, stop)| at + stop.len()).find(|end| {
        let (before, after) = text.split_at(*end);
        let is_next =
            after.strip_prefix(' ').and_then(|next| next.chars().next()).is_some_and(|c| !c.is_lowercase());
        // This is checked first because the next step scans the word before the punctuation mark, which may be the
        // whole text.
        if !is_next {
            return false;
        }
        // A period after an initial or an abbreviation does not end a sentence.
        let last = before.trim_end_matches(['.', '!', '?', '…']).rsplit(' ').next().unwrap_or_default();
        let is_whole = before.ends_with('…') || (last.chars().count() > 2 && !last.contains('.'));
        is_whole || last.chars().all(|c| c.is_ascii_digit())
    });
    ends.map_or(text, |end| &text[..end])
}

/// Returns the first meaningful sentence of an excerpt. Skips a sentence that ends in a colon, since it introduces a
/// table or code that the excerpt omits.
pub fn telling_sentence(excerpt: &str) -> &str {
    let mut rest = excerpt;
    loop {
        let first = first_sentence(rest);
        let after = rest[first.len()..].trim_start();
        if after.is_empty() || !first.trim_end_matches(['…', ' ']).ends_with(':') {
            return first;
        }
        rest = after;
    }
}

/// Compares names in natural order: `A2` before `A10`. Numbers are compared by value, and all other text is compared
/// character by character. Only identical names are equal.
pub fn natural_order(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    // The number that contains the first difference may begin before it.
    let start = one[..same].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let number = |text: &[u8]| {
        let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let zeros = text[start..start + digits].iter().take_while(|byte| **byte == b'0').count();
        (digits > 0).then_some((digits - zeros, start + zeros..start + digits, zeros))
    };
    match (number(one), number(other)) {
        // A number with more digits is larger. If the values are equal, the number with fewer leading zeros comes
        // first.
        (Some((length, digits, zeros)), Some((other_length, other_digits, other_zeros))) => length
            .cmp(&other_length)
            .then_with(|| one[digits].cmp(&other[other_digits]))
            .then_with(|| zeros.cmp(&other_zeros))
            .then_with(|| one.cmp(other)),
        _ => one.cmp(other),
    }
}

/// Returns the number with its noun: `1 node`, `2 nodes`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_of_stops_is_cut_in_time() {
        // This takes seconds if the text is scanned back to its start at each punctuation mark.
        let text = "R1.".repeat(400_000);
        assert_eq!(first_sentence(&text), text);
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let sorted =
            ["", "A", "A1", "A1a", "A1b2", "A1b10", "A01", "A2", "A2a", "A10", "A010", "A1000", "AB", "B"];
        let mut names = sorted;
        names.sort_unstable();
        assert_ne!(names, sorted);
        names.sort_by(|one, other| natural_order(one, other));
        assert_eq!(names, sorted);
    }

    proptest! {
        #[test]
        fn the_natural_order_is_an_order(one in "[aB019.]{0,6}", two in "[aB019.]{0,6}", three in "[aB019.]{0,6}") {
            prop_assert_eq!(natural_order(&one, &two).is_eq(), one == two);
            prop_assert_eq!(natural_order(&one, &two), natural_order(&two, &one).reverse());
            if natural_order(&one, &two).is_le() && natural_order(&two, &three).is_le() {
                prop_assert!(natural_order(&one, &three).is_le());
            }
        }
    }

    #[test]
    fn a_text_is_shortened_after_a_word() {
        for (text, most, shown) in [
            ("short", 5, "short"),
            ("one two three", 9, "one two…"),
            ("one two, three", 10, "one two…"),
            ("one\ntwo three", 9, "one\ntwo…"),
            ("a verylongword", 8, "a veryl…"),
            ("ééééé", 4, "ééé…"),
            ("any", 1, "…"),
            ("any", 0, ""),
            ("as it came \n", 20, "as it came \n"),
        ] {
            assert_eq!(shorten(text, most), shown, "{text:?}");
            assert!(shown.chars().count() <= most, "{text:?}");
        }
    }

    #[test]
    fn a_text_fits_into_columns() {
        for (text, most, shown) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("一二三", 5, "一二…"),
            ("a b c", 3, "a…"),
            ("any", 0, ""),
        ] {
            assert_eq!(fit(text, most), shown, "{text:?}");
            assert!(columns(shown) <= most, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrap("one two  three\nfour", 7), ["one two", "three", "four"]);
        assert_eq!(wrap("averylongword 一二 三", 5), ["averylongword", "一二", "三"]);
        assert_eq!(wrap(" ", 5), [""; 0]);
    }

    #[test]
    fn a_sentence_ends_at_a_stop_and_not_at_an_abbreviation() {
        for (text, first) in [
            ("It waits. Then it fails.", "It waits."),
            ("Version 1.2 of e.g. Apache fails. Always.", "Version 1.2 of e.g. Apache fails."),
            ("By J. Doe, who waits… So it is", "By J. Doe, who waits…"),
            ("no stop at all", "no stop at all"),
            ("file.rs waits. é is small. “Yes.”", "file.rs waits. é is small."),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), first, "{text:?}");
        }
    }

    #[test]
    fn a_sentence_before_a_table_tells_nothing() {
        for (excerpt, telling) in [
            ("WAL, 10 s: … FULL holds the lock. One run", "FULL holds the lock."),
            ("In turn: none. At most: … 5 s.", "In turn: none."),
            ("WAL, 10 s: …", "WAL, 10 s: …"),
            ("It waits… So: yes.", "It waits…"),
        ] {
            assert_eq!(telling_sentence(excerpt), telling, "{excerpt:?}");
        }
    }

    #[test]
    fn a_line_is_one_line_and_hides_nothing() {
        assert_eq!(one_line(" a\r\nb\n\nc\td\u{2028}e\u{b}f "), "a b c d e f");
        assert_eq!(one_line("a\0b\u{1b}[31mc\u{7f}\u{9b}"), "a␀b␛[31mc␡\u{FFFD}");
        assert_eq!(one_line("\u{202e}evil\u{2066}x\u{feff}\u{ffff}\u{fdd0}\u{e0041}"), "�evil�x����");
        assert_eq!(one_line("שלום\u{200f}, 👩\u{200d}🚀"), "שלום\u{200f}, 👩\u{200d}🚀");
    }

    #[test]
    fn what_html_gives_a_meaning_is_escaped() {
        assert_eq!(
            escape("<a href=\"'\">&\0\r\n</a>"),
            "&lt;a href=&quot;&#39;&quot;&gt;&amp;␀ \n&lt;/a&gt;"
        );
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("the disk can't be written")]
        struct WriteError(#[source] std::io::Error);
        let text = causes(&WriteError(std::io::Error::other("it is full.")));
        assert_eq!(text, "the disk can't be written: it is full.");
        assert_eq!(sentence(&text), "The disk can't be written: it is full.");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }
}
