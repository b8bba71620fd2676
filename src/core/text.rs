//! Texts for people: foreign texts, made fit to be shown, and errors as sentences.
//!
//! Pure, and below every other module: each has its texts shortened, cleaned and escaped here and nowhere else.

use std::cmp::Ordering;
use std::error::Error;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text with at most `most` characters. A longer one ends with `…`, which is one of them, after a whole word if
/// that keeps half of the room.
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

/// The beginning of the text, with at most so many bytes.
pub fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

/// The end of the text, with at most so many bytes.
pub fn last_bytes(text: &str, most: usize) -> &str {
    let begin = text.len().saturating_sub(most);
    &text[(begin..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

/// Returns the columns of a terminal that the text fills; wide characters fill two.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text in at most so many columns. A longer one ends with `…`.
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

/// The text in lines of at most so many columns, but for longer words; white space is folded.
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

/// The common form of two names that a case-insensitive file system can't tell apart.
pub fn without_case(name: &str) -> String {
    // Some letters have two small forms and one large one.
    name.to_uppercase().to_lowercase()
}

/// The text on one line: white space is folded, hidden characters are made visible.
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

/// Returns the character, or a visible stand-in if it would hide, reorder or control text, or is not a character of
/// Unicode: a control picture (`␀`) or `U+FFFD`. Joiners and the plain direction marks stay, since scripts and emoji need them.
pub fn visible(c: char) -> char {
    match c {
        // Nearly every character of a site.
        ' '..='~' | '\n' | '\t' => c,
        '\r' => ' ',
        '\u{0}'..='\u{1F}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{FFFD}'),
        '\u{7F}' => '\u{2421}',
        '\u{80}'..='\u{9F}' => '\u{FFFD}',
        // Zero-width space; line and paragraph separators, bidi embeddings and overrides; the word joiner, the
        // invisible operators, bidi isolates and the deprecated controls; byte order mark; interlinear marks;
        // tags, which can carry a whole hidden message.
        '\u{200B}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' => '\u{FFFD}',
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => '\u{FFFD}',
        // Code points that Unicode will never assign: an error to parsers of HTML and XML.
        '\u{FDD0}'..='\u{FDEF}' => '\u{FFFD}',
        c if u32::from(c) & 0xFFFE == 0xFFFE => '\u{FFFD}',
        c => c,
    }
}

/// Returns the text with hidden characters shown, as [`visible`] does.
pub fn made_visible(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Whether [`visible`] replaces the character.
pub fn is_hidden(c: char) -> bool {
    visible(c) != c
}

/// The text for the content of an element or for a quoted attribute, in HTML or XML; hidden characters are made
/// visible.
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

/// An error and its causes, with colons between.
pub fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// The text with a capital letter first and a full stop last.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// Returns the first sentence of a text on one line, or all of it. A stop, a blank and a possible beginning end it.
pub fn first_sentence(text: &str) -> &str {
    let stops = text.match_indices(['.', '!', '?', '…']);
    let ends = stops.map(|(at, stop)| at + stop.len()).find(|end| {
        let (before, after) = text.split_at(*end);
        let is_next =
            after.strip_prefix(' ').and_then(|next| next.chars().next()).is_some_and(|c| !c.is_lowercase());
        // The next step looks back over the word before, which may be all of the text.
        if !is_next {
            return false;
        }
        // An initial or an abbreviation ends none.
        let last = before.trim_end_matches(['.', '!', '?', '…']).rsplit(' ').next().unwrap_or_default();
        let is_whole = before.ends_with('…') || (last.chars().count() > 2 && !last.contains('.'));
        is_whole || last.chars().all(|c| c.is_ascii_digit())
    });
    ends.map_or(text, |end| &text[..end])
}

/// The first sentence of an excerpt that says something by itself: not one that ends in a colon, before a table or code that the
/// excerpt leaves out.
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

/// The natural order of names: `A2` before `A10`. Numbers in them compare as numbers, all else by character. Only identical
/// names are equal.
pub fn natural_order(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    // The number around the first difference may have begun before it.
    let start = one[..same].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let number = |text: &[u8]| {
        let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let zeros = text[start..start + digits].iter().take_while(|byte| **byte == b'0').count();
        (digits > 0).then_some((digits - zeros, start + zeros..start + digits, zeros))
    };
    match (number(one), number(other)) {
        // The longer one is the larger; of equal ones, the one with fewer zeros before it comes first.
        (Some((length, digits, zeros)), Some((other_length, other_digits, other_zeros))) => length
            .cmp(&other_length)
            .then_with(|| one[digits].cmp(&other[other_digits]))
            .then_with(|| zeros.cmp(&other_zeros))
            .then_with(|| one.cmp(other)),
        _ => one.cmp(other),
    }
}

/// `1 node`, `2 nodes`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_of_stops_is_cut_in_time() {
        // Seconds, were each stop to look back over all before it.
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
        struct Outer(#[source] std::io::Error);
        let text = causes(&Outer(std::io::Error::other("it is full.")));
        assert_eq!(text, "the disk can't be written: it is full.");
        assert_eq!(sentence(&text), "The disk can't be written: it is full.");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }
}
