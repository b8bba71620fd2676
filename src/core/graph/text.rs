//! Prepares untrusted text for display: cleans, measures, wraps and truncates it.

use crate::text;

/// The number of combining marks kept per letter. More marks would overflow the card.
const MARKS_KEPT: usize = 4;

/// Returns the text on one line, with excess combining marks removed.
pub(super) fn one_line(text: &str) -> String {
    let mut marks = 0;
    let line = text::one_line(text);
    let kept = line.chars().filter(|c| {
        marks = if width_of(*c) == 0.0 { marks + 1 } else { 0 };
        marks <= MARKS_KEPT
    });
    kept.collect()
}

/// Formats a number for SVG with at most one decimal.
pub(super) fn number(value: f64) -> String {
    // Out-of-range values saturate and NaN becomes 0, so the result is always safe in an attribute.
    let tenths = (value * 10.0).round() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// Wraps text into up to `most` lines of up to `width` em.
///
/// If text remains, the last line ends with `…`. Words longer than a line are broken.
pub(super) fn clamp_lines(text: &str, width: f64, most: usize) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        if measure(rest) <= width {
            lines.push(rest.to_owned());
            break;
        }
        if lines.len() + 1 >= most {
            let end = fit(rest, width - width_of('…'));
            // Cut after a whole word if that keeps at least half of the text.
            let after_word = if rest[end..].starts_with(' ') { Some(end) } else { rest[..end].rfind(' ') };
            let kept = &rest[..after_word.filter(|at| at * 2 >= end).unwrap_or(end)];
            lines.push(format!("{}…", kept.trim_end_matches([' ', ',', ';', ':', '.'])));
            break;
        }
        let end = fit(rest, width);
        let end = if rest[end..].starts_with(' ') { end } else { break_before(rest, end) };
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    lines
}

/// Truncates text to `width` em by replacing its middle with `…`. The end stays visible because that is where ids
/// differ.
pub(super) fn clamp_middle(text: &str, width: f64) -> String {
    if measure(text) <= width {
        return text.to_owned();
    }
    let left = width - width_of('…');
    let head = &text[..fit(text, left * 0.4)];
    let mut tail = text.len();
    let mut used = measure(head);
    for (at, c) in text.char_indices().rev() {
        used += width_of(c);
        if used > left || at < head.len() {
            break;
        }
        tail = at;
    }
    format!("{head}…{}", &text[tail..])
}

/// Returns the estimated width of the text in em, with enough margin for common sans-serif fonts.
pub(super) fn measure(text: &str) -> f64 {
    text.chars().map(width_of).sum()
}

/// Returns the number of bytes that fit into `width` em, but at least one character, so that repeated cuts terminate.
fn fit(text: &str, width: f64) -> usize {
    let mut used = 0.0;
    for (at, c) in text.char_indices() {
        used += width_of(c);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the last position up to `end` where a line may be broken. Prefers to break after a space or a wide
/// character, then after punctuation inside a long word, and otherwise at `end`.
fn break_before(text: &str, end: usize) -> usize {
    let after = |may: fn(char) -> bool| {
        text[..end].char_indices().rev().find(|(_, c)| may(*c)).map(|(at, c)| at + c.len_utf8())
    };
    after(|c| c == ' ' || width_of(c) == 1.0 && !c.is_ascii())
        .or_else(|| after(|c| matches!(c, '=' | '/' | '_' | '-' | '.' | ',' | ':' | ';' | '(' | ')')))
        .unwrap_or(end)
}

/// Returns the width of a character in em, based on the widest common fonts (DejaVu Sans, Verdana).
fn width_of(c: char) -> f64 {
    match c {
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        'i' | 'j' | 'l' | '\'' | '|' => 0.35,
        ' ' => 0.38,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 0.6,
        'f' | 'r' | 't' | 'I' | '!' | '"' | '(' | ')' | ',' | '-' | '.' | '/' | ':' | ';' | '[' | ']' => 0.46,
        'A'..='Z' => 0.74,
        '\0'..='\u{2ff}' => 0.64,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}' => 0.0,
        '\u{64b}'..='\u{65f}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' => 0.0,
        '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{200b}'..='\u{200f}' => 0.0,
        '\u{2060}'..='\u{2064}' | '\u{20d0}'..='\u{20ff}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}' => 0.0,
        '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' => 0.0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' => 1.0,
        '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' => 1.0,
        '\u{20000}'..='\u{3fffd}' => 1.0,
        // Symbols, arrows and emoji come from fallback fonts, where they are wide.
        '\u{2190}'..='\u{2bff}' | '\u{fffd}' => 1.0,
        '\u{1f000}'..='\u{1faff}' => 1.4,
        // A ligature that represents a whole sentence, and cuneiform.
        '\u{fdfd}' => 12.0,
        '\u{12000}'..='\u{1254f}' => 3.0,
        _ => 0.7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_nothing_that_xml_forbids_or_that_turns_the_direction() {
        assert_eq!(one_line("a\r\nb\nc\td\u{2028}e"), "a b c d e");
        assert_eq!(one_line("a\0b\u{1b}c\u{ffff}d"), "a␀b␛c\u{fffd}d");
        assert_eq!(one_line("\u{202e}evil\u{2066}x"), "\u{fffd}evil\u{fffd}x");
        assert_eq!(one_line("שלום"), "שלום");
        assert_eq!(one_line(&format!("a{}b", "\u{301}".repeat(50))).chars().count(), 2 + MARKS_KEPT);
    }

    #[test]
    fn numbers_have_at_most_one_decimal() {
        let written: Vec<String> = [0.0, -0.01, 3.0, 3.25, -2.04, 1e6, f64::NAN].map(number).to_vec();
        assert_eq!(written, ["0", "0", "3", "3.3", "-2", "1000000", "0"]);
    }

    #[test]
    fn titles_are_cut_to_two_lines() {
        assert_eq!(clamp_lines("short", 15.0, 2), ["short"]);
        assert_eq!(
            clamp_lines("fault fault stream lock vector", 15.0, 2),
            ["fault fault stream lock", "vector"]
        );
        let long = clamp_lines(&"word ".repeat(40), 15.0, 2);
        assert_eq!(long.len(), 2);
        assert!(long[1].ends_with('…'), "{long:?}");
        assert_eq!(clamp_lines(&"x".repeat(30), 6.0, 2), ["xxxxxxxxxx", "xxxxxxxx…"]);
        assert_eq!(clamp_lines("isolation_level=IMMEDIATE", 12.0, 2), ["isolation_level=", "IMMEDIATE"]);
        assert_eq!(clamp_lines("日本語の題名です", 4.0, 2), ["日本語の", "題名です"]);
        assert!(clamp_lines(" ", 4.0, 2).is_empty());
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for text in [
            "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
            "a 日本 b 語語語語語語 c",
            "é🙂🙂🙂🙂🙂🙂🙂 end end end end end end",
        ] {
            for line in clamp_lines(text, 6.0, 2) {
                assert!(measure(&line) <= 6.0, "{line}");
            }
            assert!(measure(&clamp_middle(text, 6.0)) <= 6.0);
        }
        assert_eq!(clamp_middle("R12.A1a1b2c3d4e5f6", 6.0), "R1…4e5f6");
    }
}
