//! Looks for the numbers of a passage in a program's output.
//!
//! A number is there if the output has its value, however it is written, or a value that rounds to it. Units of time and size
//! are converted, and `12 %` is also 0.12. `20 174` and `20.174` may be thousands, and `1.2 million` is also 1.2. What is no
//! number is looked for as text: dates, versions, hashes.
//!
//! A number of one or two digits is somewhere in nearly every output. So it also has to be where the passage says: on a line
//! with one of its words, if such lines have numbers, and beside the number that a list or a share names with it. One that
//! stands alone is seldom found to be wrong.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::{around, is_group, is_separator, value_and_place};
use crate::text::{first_bytes, last_bytes, shorten};

/// How far apart two numbers of a line may be to stand beside each other.
const BESIDE: usize = 8;
/// The maximum number of words and of pairs of a passage, and of places of a number, that are looked at.
const WORDS: usize = 12;
const PAIRS: usize = 24;
const PLACES: usize = 2_000;
/// The minimum length of a word that is looked for, in characters.
const WORD: usize = 4;
/// The maximum length of what is said to be missing, in characters.
const SHOWN: usize = 60;
/// Words that say little about a number.
const PLAIN: [&str; 10] =
    ["after", "before", "from", "over", "second", "than", "then", "with", "without", "between"];
/// What stands between a part and its whole, and between the numbers of a list.
const OF: [&str; 3] = ["of", "out of", "/"];
const LIST: [&str; 8] = [",", "and", ", and", "or", "to", "–", "-", ":"];
/// The maximum length of a passage that is read, in bytes.
const PASSAGE: usize = 2_000;

/// Words before a number that is rounded to its last digit that is not zero.
const ABOUT: [&str; 10] =
    ["≈", "~", "about", "around", "roughly", "circa", "ca.", "nearly", "almost", "approximately"];

/// Units that are converted: the kind, the size and the names.
const UNITS: [(char, f64, &[&str]); 13] = [
    ('s', 1e-9, &["ns"]),
    ('s', 1e-6, &["us", "µs", "μs"]),
    ('s', 1e-3, &["ms"]),
    ('s', 1.0, &["s", "sec", "second", "seconds"]),
    ('s', 60.0, &["min", "minute", "minutes"]),
    ('s', 3_600.0, &["h", "hour", "hours"]),
    ('b', 1.0, &["B", "byte", "bytes"]),
    ('b', 1e3, &["kB", "KB"]),
    ('b', 1e6, &["MB"]),
    ('b', 1e9, &["GB"]),
    ('b', 1_024.0, &["KiB"]),
    ('b', 1_048_576.0, &["MiB"]),
    ('%', 1.0, &["%"]),
];

/// Words and signs after a number that multiply it.
const SCALES: [(f64, &[&str]); 3] =
    [(1e3, &["k", "K", "thousand"]), (1e6, &["M", "million"]), (1e9, &["billion"])];

/// What was read at a place of a text: a number, or `None` for what is looked for as text.
type Reading = (Range<usize>, Option<Figure>);

/// A number in a text, without its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    value: f64,
    /// The distance between two numbers with as many digits.
    step: f64,
    /// The kind and the size of its unit.
    unit: Option<(char, f64)>,
    /// True if it is said not to be exact.
    is_about: bool,
}

/// The numbers of an output, to look for others in.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The numbers, smallest first.
    all: Vec<Figure>,
    /// The numbers where they stand, in order.
    places: Vec<Place>,
    text: String,
}

/// A number of an output with its place.
#[derive(Clone, Debug)]
struct Place {
    figure: Figure,
    line: usize,
    /// Which number of its line it is.
    at: usize,
    /// The word before it.
    label: String,
}

impl Figures {
    /// Reads an output.
    pub fn of(output: &str) -> Figures {
        let (text, plain) = (output.to_lowercase(), powers(output));
        let lowercase = plain.to_lowercase();
        let places = lowercase.lines().enumerate().flat_map(|(line, text)| {
            let placed = move |(at, (range, figure)): (usize, Reading)| {
                Some(Place { figure: figure?, line, at, label: last_word(&text[..range.start]) })
            };
            read(text).into_iter().enumerate().filter_map(placed)
        });
        let places = places.collect();
        let readings = read(&plain).into_iter().chain(read(&joined(&plain)));
        let mut all: Vec<Figure> = readings.filter_map(|(_, figure)| figure).collect();
        all.sort_by(|one, other| one.value.total_cmp(&other.value).then(one.step.total_cmp(&other.step)));
        all.dedup();
        Figures { all, places, text }
    }

    /// Returns the numbers of a passage that the output does not show, as written, each once. `is_about` is true if the text
    /// before the passage says that it is not exact.
    pub fn not_shown(&self, passage: &str, is_about: bool) -> Vec<String> {
        let passage = looked_at(passage);
        let plain = powers(passage);
        let joined = joined(&plain);
        let parts = read(&plain);
        let (mut seen, mut missing): (Vec<Reading>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        for (range, figure) in read(&joined) {
            let is_about = is_about && seen.is_empty();
            if let Some(shown) = self.shown(&joined, &(range.clone(), figure), is_about) {
                seen.push(shown);
                continue;
            }
            // Numbers with a blank between them, of which some are there, are several.
            let inside = |part: &&Reading| range.start <= part.0.start && part.0.end <= range.end;
            let parts: Vec<&Reading> = parts.iter().filter(inside).collect();
            let (there, not_there): (Vec<&Reading>, Vec<&Reading>) =
                parts.iter().partition(|part| self.shown(&plain, part, is_about).is_some());
            if plain[range.clone()].contains(' ') && !there.is_empty() {
                missing.extend(not_there.into_iter().map(|part| part.0.clone()));
                seen.extend(parts.into_iter().cloned());
            } else {
                missing.push(range.clone());
                seen.push((range, figure));
            }
        }
        if missing.is_empty() {
            missing = self.apart(&plain, &seen).collect();
            missing.extend(self.is_away_from_words(&plain, &seen).then_some(0..passage.len()));
        }
        missing.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        missing.dedup_by(|later, earlier| later.end <= earlier.end);
        let mut said = HashSet::new();
        let written = missing.into_iter().filter_map(|range| passage.get(range));
        let new = written.filter(|written| said.insert(*written));
        new.map(|written| shorten(written, SHOWN)).collect()
    }

    /// Returns the number of a passage as the output shows it, in one of the ways in which it can be read. Returns `None` if the
    /// output does not show it.
    fn shown(&self, passage: &str, (range, figure): &Reading, is_about: bool) -> Option<Reading> {
        let written = &passage[range.clone()];
        let as_written = || (range.clone(), *figure);
        let Some(figure) = figure else {
            // No number, but a name with digits in it.
            return self.text.contains(&written.to_lowercase()).then(as_written);
        };
        if has_leading_zero(written) {
            // Nobody writes a plain number so.
            return self.has_word(written).then(as_written);
        }
        let is_about = is_about || says_about(&passage[..range.start]);
        let digits = written.chars().rev().filter(|c| !is_separator(*c));
        let zeros = digits.take_while(|digit| *digit == '0').count() as i32;
        let after = passage[range.end..].strip_prefix(char::is_whitespace).unwrap_or_default();
        let after = after.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let scale = SCALES.iter().find(|(_, names)| names.contains(&after)).map(|(by, _)| figure.times(*by));
        let is_thousands = |(whole, part): &(&str, &str)| part.len() == 3 && is_group(whole);
        let thousands = written.split_once('.').filter(is_thousands).map(|_| figure.times(1e3));
        let rounded = |it: Figure| {
            let zeros = if is_about && it.step >= 1.0 { zeros } else { 0 };
            Figure { step: it.step * 10_f64.powi(zeros), is_about, ..it }
        };
        let mut ways = [Some(*figure), scale, thousands].into_iter().flatten();
        ways.find(|it| self.shows(&rounded(*it))).map(|it| (range.clone(), Some(it)))
    }

    /// Returns the pairs of a list, or of a part and its whole, that the output has, but not together: neither on a line nor,
    /// in a list, after the same word or with the same unit.
    fn apart(&self, passage: &str, read: &[Reading]) -> impl Iterator<Item = Range<usize>> {
        read.windows(2).take(PAIRS).filter_map(|two| {
            let [(one, Some(first)), (other, Some(second))] = two else { return None };
            let between = passage.get(one.end..other.start)?.trim();
            let (is_part, is_list) = (OF.contains(&between), LIST.contains(&between));
            if !(is_part || is_list) || !(first.is_small() || second.is_small()) {
                return None;
            }
            let is_same = first.value == second.value;
            let [first, second] =
                [first, second].map(|it| self.places_of(it).take(PLACES).collect::<Vec<_>>());
            let at: HashSet<(usize, usize)> = second.iter().map(|it| (it.line, it.at)).collect();
            let is_beside = |it: &&Place| {
                (1..=BESIDE).any(|by| {
                    at.contains(&(it.line, it.at + by)) || it.at >= by && at.contains(&(it.line, it.at - by))
                })
            };
            let mut labels: HashMap<&str, usize> = HashMap::new();
            second.iter().for_each(|it| *labels.entry(it.label.as_str()).or_default() += 1);
            let is_alike = |it: &&Place| {
                let has_unit =
                    |other: &&Place| it.figure.unit.is_some() && other.figure.unit == it.figure.unit;
                let labelled = labels.get(it.label.as_str()).copied().unwrap_or_default();
                !it.label.is_empty() && labelled > usize::from(is_same) || second.iter().any(has_unit)
            };
            let is_known = first.is_empty() || second.is_empty() || first.iter().any(is_beside);
            let is_together = is_known || is_list && first.iter().any(is_alike);
            (!is_together).then_some(one.start..other.end)
        })
    }

    /// Returns whether the output has a small number of the passage only on lines without its words, although other lines
    /// with numbers have them. A single such line may be a heading.
    fn is_away_from_words(&self, passage: &str, read: &[Reading]) -> bool {
        let mut small = read.iter().filter_map(|(_, it)| it.as_ref()).filter(|it| it.is_small()).peekable();
        if small.peek().is_none() {
            return false;
        }
        let passage = passage.to_lowercase();
        let words = passage.split(|c: char| !c.is_alphabetic()).filter(|it| it.chars().count() >= WORD);
        let words: Vec<&str> =
            words.map(|it| it.trim_end_matches('s')).filter(|it| !PLAIN.contains(it)).take(WORDS).collect();
        let lines = self.text.lines().enumerate();
        let named: HashSet<usize> = lines
            .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
            .map(|(number, _)| number)
            .collect();
        let named: BTreeSet<usize> =
            self.places.iter().map(|it| it.line).filter(|it| named.contains(it)).collect();
        let is_there = |it: &Place| match named.first() {
            Some(heading) if named.len() == 1 => it.line >= *heading,
            _ => named.contains(&it.line),
        };
        !named.is_empty()
            && small.any(|it| self.places_of(it).next().is_some() && !self.places_of(it).any(is_there))
    }

    /// Returns where the output has a number, or one that rounds to it.
    fn places_of(&self, wanted: &Figure) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|it| wanted.is_met_by(&it.figure))
    }

    /// Returns whether the output has the digits, and no others beside them.
    fn has_word(&self, digits: &str) -> bool {
        let is_part = |c: char| c.is_ascii_digit() || ".,".contains(c);
        let (starts, text) = (self.text.match_indices(digits), &self.text);
        starts.map(|(at, _)| (&text[..at], &text[at + digits.len()..])).any(|(before, after)| {
            !before.ends_with(is_part) && !after.starts_with(|c: char| c.is_ascii_digit())
        })
    }

    fn shows(&self, wanted: &Figure) -> bool {
        let is_of = |unit: Option<(char, f64)>| {
            move |shown: &Figure| shown.unit.is_none() || unit.is_none() || shown.unit == unit
        };
        let times = |by: f64, unit| Figure { unit, ..wanted.times(by) };
        let percent = Some(('%', 1.0));
        let other_units = UNITS.iter().filter_map(|(kind, size, _)| {
            let (_, own) = wanted.unit.filter(|unit| unit.0 == *kind && unit.1 != *size)?;
            Some(times(own / size, Some((*kind, *size))))
        });
        self.has(wanted, is_of(wanted.unit))
            || (wanted.unit == percent
                && self.has(&times(0.01, None), |it| it.unit.is_none() && it.step < 1.0))
            || (wanted.unit.is_none()
                && wanted.step < 1.0
                && self.has(&times(100.0, percent), |it| it.unit == percent))
            || other_units.into_iter().any(|other| self.has(&other, |it| it.unit == other.unit))
    }

    /// Returns whether the output has the value or, unless it has only one digit, one with more digits that rounds to it.
    fn has(&self, wanted: &Figure, fits: impl Fn(&Figure) -> bool) -> bool {
        let half = wanted.step / 2.0 + wanted.value * 1e-9;
        let from = self.all.partition_point(|it| it.value < wanted.value - half);
        let mut near = self.all[from..].iter().take_while(|it| it.value <= wanted.value + half);
        near.any(|it| fits(it) && wanted.is_met_by(it))
    }
}

impl Figure {
    fn times(&self, by: f64) -> Figure {
        Figure { value: self.value * by, step: self.step * by, ..*self }
    }

    /// Returns whether it has at most two digits.
    fn is_small(&self) -> bool {
        self.value < self.step * 99.5
    }

    /// Returns whether the other one has the same value or, unless this one has only one digit, more digits and rounds to it.
    fn is_met_by(&self, other: &Figure) -> bool {
        let exact = self.value * 1e-9;
        let distance = (other.value - self.value).abs();
        let is_rounded = self.is_about || self.value >= self.step * 9.5;
        let is_finer = is_rounded && other.step < self.step * (1.0 - 1e-9);
        distance <= exact || is_finer && distance <= self.step / 2.0 + exact
    }
}

/// Returns the last word of a text.
fn last_word(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let text = text.trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '%'));
    text.rsplit(|c| !is_part(c)).next().unwrap_or_default().to_owned()
}

/// Returns whether a number begins with a zero and another digit.
fn has_leading_zero(number: &str) -> bool {
    let digits = number.trim_start_matches(|c: char| !c.is_ascii_digit());
    !number.starts_with('.')
        && digits.starts_with('0')
        && digits[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether a text says that the number after it is not exact.
pub fn says_about(before: &str) -> bool {
    let before = last_bytes(before.trim_end(), PASSAGE).to_lowercase();
    ABOUT.iter().any(|word| before.ends_with(word))
}

/// Returns whether a text has a number in it, and not only names with digits.
pub fn has_number(text: &str) -> bool {
    read(text).iter().any(|(_, figure)| figure.is_some())
}

/// Returns the numbers of a text in order with their places, and as `None` what is looked for as text.
fn read(text: &str) -> Vec<Reading> {
    let mut found: Vec<Reading> = Vec::new();
    let mut words = words(text).peekable();
    while let Some(word) = words.next() {
        let shown = &text[word.clone()];
        if is_text(shown) {
            found.push((word, None));
            continue;
        }
        let mut at = 0;
        while let Some(digit) = shown[at..].find(|c: char| c.is_ascii_digit()).map(|found| at + found) {
            let whole = around(shown, digit..digit + 1, digit..digit + 1);
            let mut start = whole.as_ptr() as usize - shown.as_ptr() as usize;
            let end = start + whole.len();
            let is_after = |c: char| c.is_alphanumeric() || "._)]".contains(c);
            // `.5` is 0.5, but `1..5` is not.
            start -= usize::from(shown[..start].strip_suffix('.').is_some_and(|it| !it.ends_with(is_after)));
            let whole = &shown[start..end];
            let is_name = shown[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let letters: &str = {
                let after = &shown[end..];
                &after[..after.find(|c: char| !(c.is_alphabetic() || c == '%')).unwrap_or(after.len())]
            };
            let after = end + letters.len();
            if is_name || shown[after..].starts_with(|c: char| c.is_ascii_digit() || c == '_') {
                let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
                at = end + shown[end..].find(|c| !is_part(c)).unwrap_or(shown.len() - end);
                continue;
            }
            let Some((value, place)) = value_and_place(whole) else {
                // Several numbers without a space between them.
                let digits = shown[digit..].bytes().take_while(u8::is_ascii_digit).count();
                let number = &shown[digit..digit + digits];
                let range = word.start + digit..word.start + digit + digits;
                let figure =
                    number.parse().ok().map(|value| Figure { value, step: 1.0, unit: None, is_about: false });
                found.extend(figure.map(|figure| (range, Some(figure))));
                at = digit + digits;
                continue;
            };
            let next = words.peek().map(|next| &text[next.clone()]);
            let unit = if letters.is_empty() && after == shown.len() { next } else { Some(letters) };
            let unit = UNITS.iter().find(|(.., names)| unit.is_some_and(|unit| names.contains(&unit)));
            let scale = SCALES.iter().find(|(_, names)| names.contains(&letters)).map_or(1.0, |(by, _)| *by);
            let range = word.start + start..word.start + end;
            let figure = Figure {
                value: value.abs() * scale,
                step: 10_f64.powi(place) * scale,
                unit: unit.map(|(kind, size, _)| (*kind, *size)),
                is_about: false,
            };
            found.push((range, Some(figure)));
            at = end;
        }
    }
    found
}

/// Returns the words of a text without the marks around them. A narrow or hard space in a number does not end a word.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_end =
        move |(at, c): &(usize, char)| c.is_whitespace() && (c.is_ascii() || !is_in_number(text, *at, *c));
    let mut start = 0;
    text.char_indices().filter(is_end).chain([(text.len(), ' ')]).filter_map(move |(end, c)| {
        let word = &text[std::mem::replace(&mut start, end + c.len_utf8())..end];
        let word = word.trim_end_matches(is_mark).trim_start_matches(|c| is_mark(c) && c != '.');
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        (!word.is_empty()).then(|| start..start + word.len())
    })
}

/// Returns whether the blank at a position may separate thousands: a digit is before it, and three after it.
fn is_in_number(text: &str, at: usize, blank: char) -> bool {
    let after = &text[at + blank.len_utf8()..];
    text[..at].ends_with(|c: char| c.is_ascii_digit())
        && after.bytes().take_while(u8::is_ascii_digit).count() == 3
}

/// Returns the text with apostrophes for the blanks that may separate thousands, at the same places: `20'174` for `20 174`.
fn joined(text: &str) -> String {
    let is_first = |before: &str| {
        let rest = before.trim_end_matches(|c: char| c.is_ascii_digit());
        before.len() - rest.len() <= 3
            && !rest.ends_with(|c: char| c.is_alphanumeric() || ".,:_/'".contains(c))
    };
    let mut joined = String::with_capacity(text.len());
    let mut last = 0;
    for (at, c) in text.char_indices() {
        let is_next = last > 0 && at == last + 4;
        let is_inside = c == ' ' && is_in_number(text, at, c) && (is_next || is_first(&text[..at]));
        last = if is_inside { at } else { last };
        joined.push(if is_inside { '\'' } else { c });
    }
    joined
}

/// Returns the beginning of a passage that is looked at: at most [`PASSAGE`] bytes, in whole words.
fn looked_at(passage: &str) -> &str {
    let first = first_bytes(passage, PASSAGE);
    match first.len() < passage.len() {
        true => first.rsplit_once(char::is_whitespace).map_or("", |(first, _)| first),
        false => first,
    }
}

/// Returns whether a passage has numbers beyond what [`Figures::not_shown`] looks at.
pub fn is_too_long(passage: &str) -> bool {
    passage[looked_at(passage).len()..].contains(|c: char| c.is_ascii_digit())
}

fn is_mark(c: char) -> bool {
    ".,;:!?()[]{}<>\"'“”‘’`*|".contains(c)
}

/// Returns whether the word is a date, a time, a version or a hash.
fn is_text(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_made_of =
        |mark: char, least: usize| word.split(mark).all(digits) && word.matches(mark).count() >= least;
    let is_date = word.get(..10).is_some_and(|day| {
        day.split('-').map(|part| if digits(part) { part.len() } else { 0 }).eq([4, 2, 2])
    });
    let is_hash = (7..=64).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.contains(|c: char| c.is_ascii_alphabetic())
        && word.contains(|c: char| c.is_ascii_digit())
        && value_and_place(word).is_none();
    let is_version = is_made_of('.', 2) && value_and_place(word).is_none();
    is_date || is_hash || is_version || is_made_of(':', 1)
}

/// Writes powers of ten as exponents at the same places: `3×10⁵` as `3e000005`.
fn powers(text: &str) -> String {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let mut written = String::with_capacity(text.len());
    let without_blanks = |text: &str| text.trim_end_matches([' ', '\u{a0}', '\u{202f}', '\u{2009}']).len();
    let mut rest = text;
    while let Some(at) = rest.find("10") {
        let before = &rest[..without_blanks(&rest[..at])];
        let after = &rest[at + 2..];
        let is_power = after.starts_with(|c| c == '^' || c == '⁻' || RAISED.contains(c));
        let power = after.strip_prefix('^').unwrap_or(after);
        let (sign, power) = power.strip_prefix(['⁻', '-']).map_or(("e", power), |power| ("e-", power));
        // Digits that follow are read only in a power, so that a long row of them is read once.
        let digits = power.chars().take_while(|c| is_power && (RAISED.contains(*c) || c.is_ascii_digit()));
        let power = &power[..digits.map(char::len_utf8).sum()];
        let factor = before.strip_suffix(['×', '·', '*', 'x']).map(|it| &it[..without_blanks(it)]);
        let end = power.as_ptr() as usize - rest.as_ptr() as usize + power.len();
        match factor.filter(|it| !power.is_empty() && it.ends_with(|c: char| c.is_ascii_digit())) {
            Some(factor) => {
                let digit = |c| match RAISED.chars().position(|it| it == c) {
                    Some(digit) => char::from(b'0' + digit as u8),
                    None => c,
                };
                let digits: String = power.chars().map(digit).collect();
                let width = end - factor.len() - sign.len();
                written.push_str(&format!("{factor}{sign}{digits:0>width$}"));
            }
            None => {
                written.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
                continue;
            }
        }
        rest = &rest[end..];
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_there_however_it_is_written() {
        let output = "p99 1,234.5 ms over 48 windows; worst=4012 ms\nshare 0.1234, 12.34 %; 19 of 29, 7/60\n\
            3.05e5 reads at 2026-11-27 09:15:02, commit 3f2a91c4, version 1.6.2 of x86_64, R3.A1\n\
            n=20174; delta -3.25; 1'000'000 keys; t=[2.0, 3.5] .5, 2.5×10⁴";
        let figures = Figures::of(output);
        for (odd, missing) in [("2×10³⁻⁴ keys", "2×10³"), ("3×10⁵⁻", "3×10⁵"), ("7×10⁻ 9", "10")]
        {
            assert_eq!(figures.not_shown(odd, false).first().map(String::as_str), Some(missing), "{odd}");
        }
        let long = format!("47 {}47{}", "x".repeat(1_995), "8".repeat(50));
        assert!(is_too_long(&long) && !is_too_long("47"));
        for passage in [
            "48 windows",
            "1234.5 ms",
            "1.234,5 ms",
            "1\u{202f}234.5",
            "1235 ms",
            "4.0 s",
            "4.012 s",
            "about 4 s",
            "≈ 4000 ms",
            "12.34%",
            "12 %",
            "12.3 %",
            "0.123",
            "19 of 29",
            "7 of 60",
            "12.34 of 29",
            "305,000",
            "3.05×10⁵",
            "3.1 x 10^5",
            "≈ 300,000",
            "20 174 jobs",
            "20\u{a0}174\u{2009}jobs",
            "20.174",
            "1 000 000 keys",
            "48 19",
            "20.2 thousand",
            "1.0 million keys",
            "0.5",
            "25,000",
            "20,174",
            "20.2k",
            "2026-11-27",
            "09:15:02",
            "3f2a91c4",
            "1.6.2",
            "p50 of R1.A on x86_64",
            "−3.25",
            "3.3",
            "1M keys",
            "2, 3.5",
            "none",
            "48",
            "29",
            "",
            "\u{0}1,,,2...3%%%e9999",
        ] {
            let missing = figures.not_shown(passage, false);
            assert!(missing.is_empty() || passage.starts_with('\u{0}'), "{passage}: {missing:?}");
        }
        for (passage, expected) in [
            ("47 windows", "47"),
            ("1,234.6 ms", "1,234.6"),
            ("4.1 s", "4.1"),
            ("12.35 %", "12.35"),
            ("13 %", "13"),
            ("18 of 29", "18"),
            ("29 of 29", "29 of 29"),
            ("47 to 48 windows", "47"),
            ("2 to 48", "2 to 48"),
            ("048 windows", "048"),
            ("3.06×10⁵", "3.06×10⁵"),
            ("20 175 jobs, 20 175 jobs", "20 175"),
            ("48 175 windows", "175"),
            ("4.1×10⁴ keys", "4.1×10⁴"),
            ("1.7 million", "1.7"),
            ("≈ 400,000", "400,000"),
            (long.as_str(), "47"),
            ("4000 ms", "4000"),
            ("2026-11-28", "2026-11-28"),
            ("3f2a91c5", "3f2a91c5"),
            ("1.6.3", "1.6.3"),
            ("20,175", "20,175"),
            ("48 of 47 to 49", "47 49"),
            ("8/60", "8"),
        ] {
            assert_eq!(figures.not_shown(passage, false).join(" "), expected, "{passage}");
        }
        assert!(figures.not_shown("4000 ms", true).is_empty());
    }
}
