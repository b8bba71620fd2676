//! Numbers in text, as people and programs write them: `1,234.5`, `12,5`, `1'000`, `-3`, `1.5e+03`.
//!
//! [`Figures`] says which numbers of a passage a program's output does not show.

mod figures;

use std::ops::Range;

pub use figures::{Figures, has_number, is_too_long, says_about};

/// Returns the whole number that a group of a match belongs to, with its sign, separators and exponent, or the group if it is
/// no number. Where the match goes on beside the group, only digits and an exponent belong to it: the pattern says the rest.
pub fn around(line: &str, group: Range<usize>, whole: Range<usize>) -> &str {
    if !line[group.clone()].contains(|c: char| c.is_ascii_digit()) {
        return &line[group];
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let start = match whole.start < group.start && line[group.clone()].starts_with(is_digit) {
        true => line[..group.start].trim_end_matches(is_digit).len(),
        false if whole.start < group.start => group.start,
        false => start_of(line, group.start),
    };
    let is_number = line[group.clone()].ends_with(is_digit);
    let end = match whole.end > group.end && is_number {
        // An exponent separates nothing.
        true if line[group.end..].starts_with(['e', 'E']) => end_of(line, group.end),
        true => line.len() - line[group.end..].trim_start_matches(is_digit).len(),
        false if whole.end > group.end => group.end,
        false => end_of(line, group.end),
    };
    &line[start..end]
}

/// Returns where the number begins that goes on at a position.
fn start_of(line: &str, at: usize) -> usize {
    let mut start = at;
    loop {
        let left = &line[..start];
        let mut before = left.chars().rev();
        // It may go on with its exponent.
        let mantissa = left.strip_suffix(['-', '+']).unwrap_or(left).strip_suffix(['e', 'E']);
        match (before.next(), mantissa) {
            (Some(c), _) if c.is_ascii_digit() => start -= 1,
            (Some(c), _) if is_separator(c) && is_digit(before.next()) => start -= c.len_utf8(),
            (_, Some(rest)) if is_digit(rest.chars().next_back()) => start = rest.len(),
            _ => break,
        }
    }
    let mut before = line[..start].chars().rev();
    match before.next() {
        Some(sign @ ('-' | '+' | '\u{2212}' | '\u{2013}'))
            if is_digit(line[start..].chars().next())
                && !before.next().is_some_and(char::is_alphanumeric) =>
        {
            start - sign.len_utf8()
        }
        _ => start,
    }
}

/// Returns where the number ends that goes on at a position.
fn end_of(line: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let mut after = line[end..].chars();
        match after.next() {
            Some(c) if c.is_ascii_digit() => end += 1,
            Some(c) if is_separator(c) && is_digit(after.next()) => end += c.len_utf8(),
            Some('e' | 'E') => {
                let rest = after.as_str();
                let exponent = rest.strip_prefix(['-', '+']).unwrap_or(rest);
                let digits = exponent.bytes().take_while(u8::is_ascii_digit).count();
                let is_exponent = digits > 0 && !exponent[digits..].starts_with(char::is_alphanumeric);
                return if is_exponent { line.len() - exponent.len() + digits } else { end };
            }
            _ => return end,
        }
    }
}

fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

/// Returns the value of a number, or `None` if the text is no number. A comma before exactly three digits separates thousands, any
/// other single one is a decimal comma.
pub fn value(text: &str) -> Option<f64> {
    value_and_place(text).map(|(value, _)| value)
}

/// Returns the value of a number and the power of ten of its last digit.
fn value_and_place(text: &str) -> Option<(f64, i32)> {
    let text = text.trim();
    let at = text.find(['e', 'E']).unwrap_or(text.len());
    let (digits, exponent) = text.split_at(at);
    let digits: String =
        digits.replace(['\u{2212}', '\u{2013}'], "-").chars().filter(|c| !is_spacer(*c)).collect();
    let count = |mark| digits.matches(mark).count();
    let decimal = match (count(','), count('.'), digits.rfind([',', '.'])) {
        (0, 0, _) | (_, _, None) => None,
        (0, 1, at) => at,
        (1, 0, Some(at)) => Some(at).filter(|at| !(digits.len() - at == 4 && is_group(&digits[..*at]))),
        (1, _, Some(at)) if digits[at..].starts_with(',') => Some(at),
        (_, 1, Some(at)) if digits[at..].starts_with('.') => Some(at),
        (0, _, _) | (_, 0, _) => None,
        _ => return None,
    };
    let (whole, part) = digits.split_at(decimal.unwrap_or(digits.len()));
    let mut groups = whole.split([',', '.']);
    let is_whole =
        groups.next().is_some_and(|first| decimal.is_some() || first.contains(|c: char| c.is_ascii_digit()))
            && groups.all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    let number = format!("{}{}{exponent}", whole.replace([',', '.'], ""), part.replace(',', "."));
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let value = number.parse().ok().filter(|number: &f64| is_whole && is_plain && number.is_finite())?;
    let decimals = i32::try_from(part.len().saturating_sub(1)).ok()?;
    Some((
        value,
        exponent.get(1..).and_then(|it| it.parse::<i32>().ok()).unwrap_or(0).saturating_sub(decimals),
    ))
}

/// Returns whether thousands may follow: up to three digits that are not all zero.
fn is_group(part: &str) -> bool {
    let digits = part.trim_start_matches(['-', '+']);
    (1..=3).contains(&digits.len()) && digits.contains(|c| c != '0')
}

/// Returns whether the character may stand between the digits of one number.
fn is_separator(c: char) -> bool {
    matches!(c, ',' | '.') || is_spacer(c)
}

/// Returns whether the character only groups digits: an apostrophe, a low line, a narrow or hard space, or the Arabic mark.
fn is_spacer(c: char) -> bool {
    matches!(c, '\'' | '’' | '_' | '\u{a0}' | '\u{202f}' | '\u{2007}' | '\u{2009}' | '\u{66c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_value_that_they_are_read_with() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("-3", Some(-3.0)),
            ("\u{2212}3", Some(-3.0)),
            ("\u{2013}1\u{66c}234", Some(-1234.0)),
            (".5", Some(0.5)),
            ("1,234", Some(1234.0)),
            ("0,234", Some(0.234)),
            ("1234,567", Some(1234.567)),
            ("12,5", Some(12.5)),
            ("1,234.5", Some(1234.5)),
            ("1.234,5", Some(1234.5)),
            ("-1,234,567", Some(-1_234_567.0)),
            ("1.234.567", Some(1_234_567.0)),
            ("1'234’567.25", Some(1_234_567.25)),
            ("1\u{202f}234", Some(1234.0)),
            ("1,5e+03", Some(1500.0)),
            ("1.2.3", None),
            ("1,2,3.4", None),
            ("", None),
            (".", None),
            (",", None),
            ("many", None),
            ("inf", None),
            ("1-2", None),
            ("1e999", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn a_group_inside_a_number_stands_for_the_whole_of_it() {
        for (line, group, expected) in [
            ("p99 1,234 ms", "234", "1,234"),
            ("n=1'234;", "1", "1'234"),
            ("took 1.5e+03 s", "1.5", "1.5e+03"),
            ("took 1.5e+03 s", "03", "1.5e+03"),
            ("took 12e3", "12", "12e3"),
            ("took 5e", "5", "5"),
            ("delta -3 ms", "3", "-3"),
            ("run-7", "7", "7"),
            ("3-5", "5", "5"),
            ("12 345 ops", "345", "345"),
            ("12:30:45 120 ms", "120", "120"),
            ("n=, 5.", "5", "5"),
            ("none", "on", "on"),
        ] {
            let at = line.find(group).unwrap();
            let range = at..at + group.len();
            assert_eq!(around(line, range.clone(), range.clone()), expected, "{line}");
            let digits = |c: char| c.is_ascii_digit() || "e+".contains(c);
            let whole = around(line, range, 0..line.len());
            assert!(whole.contains(group) && whole.replace(group, "").chars().all(digits), "{line}: {whole}");
        }
    }
}
