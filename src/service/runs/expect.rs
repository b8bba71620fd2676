//! Expectations about a command's output.

use std::sync::LazyLock;

use regex_lite::{Regex, RegexBuilder};

use super::output::clean;
use super::workspace::may_precede_path;
use crate::domain::run::{Ended, Expectation, PROJECT, Ran};
use crate::numbers;
use crate::text::{one_line, shorten, without_escapes};

/// The maximum size of a compiled regular expression, in bytes.
const EXPRESSION_MAX: usize = 256 << 10;
/// The maximum number of characters stored from a matching line.
const FOUND_MAX: usize = 500;
/// What stands between what a group took and the whole number.
const PART: &str = ", a part of ";
/// Quantities of several numbers: a time (`3m2.5`, `1:02.5`), a power of ten (`1.5x10^3`) and hexadecimal digits.
const QUANTITIES: &str = r"(?:^|[\s(\[=])((?:\d+[dhm])+\d+(?:[.,]\d+)?|\d+(?::\d\d)+(?:[.,]\d+)?|[\d.,]+\s?[x×*]\s?10(?:\^|\*\*)[-+]?\d+|0[xX][0-9a-fA-F]+)";

/// An expectation, with the last match so far.
#[derive(Debug)]
pub struct Expected {
    pattern: String,
    range: Option<(String, f64, f64)>,
    expression: Regex,
    found: Option<String>,
    /// The paths of the project's root.
    roots: Vec<String>,
}

impl Expected {
    /// Parses `REGEX`, or `REGEX in LOW..HIGH`, where the number in the first group must be in the range.
    ///
    /// # Errors
    ///
    /// Returns the reason why the expectation is invalid.
    pub fn parse(text: &str) -> Result<Expected, String> {
        // Half a range is a mistake, and not a part of the pattern, as is one in another notation after a group.
        const OTHER: &str = r"^\s*([<>]=?\s*N|N\s*(…|-|–|:|to)\s*N|[\[(]\s*N\s*[,;]\s*N\s*[\])])\s*$";
        let is_number = |bound: &str| numbers::value(bound.trim()).is_some();
        let other = Regex::new(&OTHER.replace('N', "-?[0-9.]+"));
        let is_range = |(pattern, range): &(&str, &str)| {
            range.split_once("..").is_some_and(|(a, b)| is_number(a) || is_number(b))
                || Regex::new(pattern).is_ok_and(|it| it.captures_len() > 1)
                    && other.as_ref().is_ok_and(|other| other.is_match(range))
        };
        match text.rsplit_once(" in ").filter(is_range) {
            // It may also mean 0..50.
            Some((_, range)) if range.contains("...") => {
                Err(format!("`{range}` is not a range such as 0..50"))
            }
            Some((pattern, _)) if touches_number(pattern) => Err(format!(
                "the group in `{pattern}` takes only a part of a number: put the whole number in it"
            )),
            Some((pattern, range)) => Expected::new(pattern, Some(range)),
            None => Expected::new(text, None),
        }
    }

    /// Recreates the expectation of an earlier run to check it again.
    ///
    /// # Errors
    ///
    /// Returns the reason why the expectation is invalid. A stored expectation may have been written by hand.
    pub fn from_stored(stored: &Expectation) -> Result<Expected, String> {
        Expected::new(&stored.pattern, stored.range.as_deref())
    }

    /// Lets the pattern name the project in which the command runs, which has these paths, by [`PROJECT`].
    #[must_use]
    pub fn within(self, roots: Vec<String>) -> Expected {
        Expected { roots, ..self }
    }

    /// Returns the text of an expectation in which the project with these paths is named so that every clone meets it.
    pub fn anywhere(text: &str, roots: &[String]) -> String {
        let place = regex_lite::escape(PROJECT);
        // What a sign of a regular expression follows may mean the beginning of another name.
        let is_whole = |rest: &str| {
            rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || "/$)'\":,".contains(c))
        };
        roots.iter().fold(text.to_owned(), |text, root| {
            let text = replaced(&text, root, &place, is_whole);
            replaced(&text, &regex_lite::escape(root), &place, is_whole)
        })
    }

    fn new(pattern: &str, range: Option<&str>) -> Result<Expected, String> {
        let expression = RegexBuilder::new(pattern).size_limit(EXPRESSION_MAX).build();
        let expression =
            expression.map_err(|error| format!("`{pattern}` is not a regular expression: {error}"))?;
        let range = match range {
            None => None,
            Some(text) => {
                let (low, high) =
                    bounds(text).ok_or_else(|| format!("`{text}` is not a range such as 0..50"))?;
                if low > high {
                    return Err(format!("the range {text} is empty: put the lower end first"));
                }
                if expression.captures_len() < 2 {
                    return Err(format!(
                        "`{pattern}` has no group for the number in {text}: put it in parentheses, as in `took ([0-9.]+) ms`"
                    ));
                }
                Some((text.to_owned(), low, high))
            }
        };
        Ok(Expected { pattern: pattern.to_owned(), range, expression, found: None, roots: Vec::new() })
    }

    /// Returns the pattern, if its range is one of time or speed.
    pub(super) fn timed(&self) -> Option<&str> {
        const UNIT: &str = r"[nuµm]?s|secs?|(nano|micro|milli)?seconds?|minutes?|hours?";
        let is = |expression: String, text: &str| Regex::new(&expression).is_ok_and(|it| it.is_match(text));
        // The `s` of `\s` is no unit.
        let plain = self.pattern.replace("\\s", " ").replace("\\d", " ");
        let before = plain.split_once('(').map_or("", |(before, _)| before);
        let after = plain.rsplit_once(')').map_or("", |(_, after)| after);
        let is_timed = || {
            is(format!(r"(?i)^\W*(\w*(/|\s+per\s+))?({UNIT}|min|h)(\W|$)"), after)
                || is(format!(r"(?i)(^|\W|_)({UNIT}|real|elapsed|took|time|duration|latency)\W*$"), before)
        };
        (self.range.is_some() && is_timed()).then_some(&self.pattern)
    }

    /// Judges the stored output of a run.
    pub fn judge(mut self, ran: &Ran) -> Expectation {
        let parts = [Some(&ran.output.text), ran.output.end.as_ref()];
        for line in parts.into_iter().flatten().flat_map(|text| text.lines()) {
            self.check_line(line.replace('␍', "\r").as_bytes());
        }
        let judged = self.finish();
        Expectation { held: judged.held && matches!(ran.ended, Ended::Exit(_)), ..judged }
    }

    /// Checks the next line of output, without colours and as it is. Each state of a progress bar counts as a line, as does
    /// what remains of each end of a line that is too long.
    pub(super) fn check_line(&mut self, line: &[u8]) {
        for part in line.split(|byte| matches!(byte, b'\r' | b'\n')) {
            // Nothing follows the end of a line, or of a state.
            if part.is_empty() && !line.is_empty() {
                continue;
            }
            let part = clean(part);
            let plain = without_escapes(&part);
            let named = |line: &str| {
                self.roots.iter().fold(line.to_owned(), |line, root| renamed(&line, root, PROJECT))
            };
            // Where an escape sequence moves to the beginning of the line, another state begins, too.
            let states = plain.rsplit('␍').flat_map(|state| [named(state), state.to_owned()]);
            let mut lines: Vec<String> = states.collect();
            lines.push(part);
            lines.dedup();
            let found = lines.iter().find_map(|line| self.found_in(line));
            self.found = found.or(self.found.take());
        }
    }

    /// Returns the line or, for a range, the number in the group. A part of a number is no number.
    fn found_in(&self, line: &str) -> Option<String> {
        if self.range.is_none() {
            return self.expression.is_match(line).then(|| shorten(line, FOUND_MAX));
        }
        let found = self.expression.captures(line)?;
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        let Some(group) = found.get(1) else { return Some(String::new()) };
        let is_within = |it: &regex_lite::Match| {
            it.start() <= group.start()
                && group.end() <= it.end()
                && (whole.start > it.start() || whole.end < it.end())
        };
        static QUANTITY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(QUANTITIES).ok());
        let mut quantities =
            QUANTITY.iter().flat_map(|it| it.captures_iter(line)).filter_map(|found| found.get(1));
        let number = quantities.find(is_within).map(|it| it.as_str());
        let number = number.unwrap_or_else(|| numbers::around(line, group.range(), whole));
        let (number, group) = (shorten(number, FOUND_MAX), group.as_str());
        let is_whole =
            number == group || numbers::value(group).is_some_and(|it| numbers::value(&number) == Some(it));
        Some(if is_whole { group.to_owned() } else { format!("{}{PART}{number}", shorten(group, FOUND_MAX)) })
    }

    /// Returns the result.
    pub(super) fn finish(self) -> Expectation {
        let held = match (&self.range, &self.found) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some((_, low, high)), Some(found)) => {
                numbers::value(found).is_some_and(|it| (*low..=*high).contains(&it))
            }
        };
        let range = self.range.map(|(text, ..)| text);
        Expectation { pattern: self.pattern, range, found: self.found, held }
    }
}

/// Returns the last line of an output of which nothing is expected that says how long something took: each rerun may say something
/// else.
pub fn timed_line(ran: &Ran) -> Option<String> {
    const TOOK: &str = r"\d[.,]\d+ ?([mnuµ]?s|secs?|seconds?|min(utes)?)\b|\d ?[mnuµ]s\b";
    let took = Regex::new(TOOK).ok().filter(|_| ran.expectations.is_empty())?;
    let parts = [Some(&ran.output.text), ran.output.end.as_ref()].into_iter().flatten();
    let lines = parts.flat_map(|text| text.lines()).filter(|line| took.is_match(line));
    lines.last().map(|line| shorten(&one_line(line), FOUND_MAX))
}

/// Returns whether an expectation was not met because its group took only a part of a number, which says nothing of the output.
pub fn took_a_part(expectation: &Expectation) -> bool {
    let found = expectation.found.as_deref().filter(|_| expectation.range.is_some() && !expectation.held);
    found.is_some_and(|found| found.contains(PART))
}

/// Returns whether a pattern has a digit, or a separator, a sign or an exponent of a number, beside its group. Pure.
fn touches_number(pattern: &str) -> bool {
    const DIGIT: &str = r"(\\d|[0-9]|\[[^\]^]*0-9[^\]]*\])([*+?]|\{[0-9,]*\})*";
    const SEPARATOR: &str = r"(\\[.,']|[,']|\[[.,']+\])";
    let is = |expression: String, text: &str| Regex::new(&expression).is_ok_and(|it| it.is_match(text));
    // Of several groups, the number in the output tells which one took only a part.
    let (Some((before, rest)), Some((_, after))) = (pattern.split_once('('), pattern.rsplit_once(')')) else {
        return false;
    };
    if rest.contains('(') {
        return false;
    }
    is(format!(r"{DIGIT}{SEPARATOR}?$|(^|\\s[*+]?|[\s:=])(-|\\[-+])$"), before)
        || is(format!(r"^({SEPARATOR}|([eE]|\[[eE]+\])([-+]|\[[-+]+\]\??)?)?{DIGIT}"), after)
}

/// Replaces the path of a folder, where it is neither the beginning nor the end of another one's. Pure.
pub(super) fn renamed(text: &str, path: &str, to: &str) -> String {
    replaced(text, path, to, |rest| {
        let rest = rest.trim_start_matches('.');
        !rest.starts_with(|c: char| c.is_alphanumeric() || "-_@~+".contains(c))
    })
}

fn replaced(text: &str, path: &str, to: &str, is_whole: impl Fn(&str) -> bool) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(path).filter(|_| !path.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        result += before;
        let word = result.rsplit(|c: char| c.is_whitespace() || "\"'`=:;,()[]{}<>|&^".contains(c)).next();
        let begins = may_precede_path(word.unwrap_or_default());
        result += if begins && is_whole(after) { to } else { path };
        rest = after;
    }
    result + rest
}

/// Parses the bounds in `LOW..HIGH`.
fn bounds(range: &str) -> Option<(f64, f64)> {
    let (low, high) = range.split_once("..")?;
    Some((numbers::value(low.trim())?, numbers::value(high.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(expectation: &str, lines: &[&str]) -> Expectation {
        let mut expected = Expected::parse(expectation).unwrap().within(vec!["/w/p".to_owned()]);
        lines.iter().for_each(|line| expected.check_line(line.as_bytes()));
        expected.finish()
    }

    #[test]
    fn expectations_are_parsed() {
        let roots = ["/w/p".to_owned()];
        assert_eq!(Expected::anywhere("^/w/p/a.py /w/p2", &roots), "^\\$TOT_PROJECT/a.py /w/p2");
        for (text, pattern, range) in [
            ("ok$", "ok$", None),
            ("took ([0-9.]+) ms in 0..50", "took ([0-9.]+) ms", Some("0..50")),
            ("error in line 3", "error in line 3", None),
            ("(x) in -1.5..1e3", "(x)", Some("-1.5..1e3")),
            ("defined in a..b", "defined in a..b", None),
            ("[^0-9] run-([0-9]+), in 1..2", "[^0-9] run-([0-9]+),", Some("1..2")),
            ("(x) in [0-9]", "(x) in [0-9]", None),
            // Bounds must be finite numbers.
            ("in inf..NaN", "in inf..NaN", None),
        ] {
            let expected = Expected::parse(text).unwrap().finish();
            assert_eq!((expected.pattern.as_str(), expected.range.as_deref()), (pattern, range), "{text}");
        }
        for (text, reason) in [
            ("(", "is not a regular expression"),
            ("x in 1..2", "has no group"),
            ("(x) in 1..x", "is not a range"),
            ("(x) in 0...50", "is not a range"),
            ("(x) in 0-50", "is not a range"),
            ("(x) in [0, 50]", "is not a range"),
            ("(x) in 2..1", "put the lower end first"),
            ("(\\w{1000}){1000}", "is not a regular expression"),
            (r"1([0-9]+) in 1..2", "a part of a number"),
            (r"\d{1,3},(\d+) in 1..2", "a part of a number"),
            (r"loss: -([0-9]+) in 1..2", "a part of a number"),
            (r"([0-9]+)[eE][-+]?\d in 1..2", "a part of a number"),
        ] {
            let error = Expected::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_range_of_time_or_speed_is_known_by_the_words_beside_its_group() {
        for (timed, expectations) in [
            (true, "p99_ms=(.*)|(.*) min|ms: (.*)|real\\s+(.*)|Elapsed (.*)|(.*) req/s|(.*) ops per second"),
            (false, "count:\\s*(.*)|min (.*)|h: (.*)|(.*)\\s*ops|items (.*)|(.*) passed|(.*) MB|n=(.*)"),
        ] {
            for expected in expectations.split('|') {
                let parsed = Expected::parse(&format!("{expected} in 0..5")).unwrap();
                assert_eq!(parsed.timed().is_some(), timed, "{expected}");
            }
        }
    }

    #[test]
    fn the_last_line_that_matches_counts() {
        for (expectation, lines, found, held) in [
            ("ok", &["ok 1", "no", "ok 2"][..], Some("ok 2"), true),
            ("ok", &["no"], None, false),
            ("n=([0-9]+) in 0..50", &["n=51", "n=50"], Some("50"), true),
            ("n=([0-9]+) in 0..50", &["n=50", "n=51"], Some("51"), false),
            ("n=(.*) in 0..50", &["n=many"], Some("many"), false),
            ("n=([0-9]+)? in 0..50", &["n="], Some(""), false),
            ("^␛\\[1mok", &["\u{1b}[1mok"], Some("␛[1mok"), true),
            ("^ok$", &["\u{1b}[1;32mok\u{1b}[0m\r"], Some("ok"), true),
            ("^$", &["x\r", ""], Some(""), true),
            ("^done ([0-9]+) in 0..200", &["10%\r50%\rdone 120"], Some("120"), true),
            // A group may not begin or end inside a number.
            ("([0-9.]+) ms in 0..500", &["p99 1,234 ms"], Some("234, a part of 1,234"), false),
            ("p99 .*([0-9]+) ms in 0..50", &["p99 is 1234 ms"], Some("4, a part of 1234"), false),
            ("([0-9.]+)s in 0..5", &["real\t3m2.500s"], Some("2.500, a part of 3m2.500"), false),
            ("real.*0m([0-9.]+)s in 0..5", &["real\t0m2.500s"], Some("2.500"), true),
            ("([0-9.]+) s in 0..5", &["took 1:02.5 s"], Some("02.5, a part of 1:02.5"), false),
            ("([0-9.]+) s in 0..5", &["took 1.5x10^3 s"], Some("3, a part of 1.5x10^3"), false),
            ("size ([0-9]+) in 0..5", &["size 0x1F400"], Some("0, a part of 0x1F400"), false),
            ("took ([0-9]+)[.] in 0..20", &["took 12.5 s"], Some("12"), true),
            (" ([0-9]+) in 200..299", &["GET / 200 512"], Some("200"), true),
            ("([0-9,]+)% in 0..15", &["loss 12,5%"], Some("12,5"), true),
            // The project is named as such in a pattern, and nothing else is.
            ("^at \\$TOT_PROJECT/x", &["at /w/p/x"], Some("at $TOT_PROJECT/x"), true),
            ("^at \\$TOT_PROJECT", &["at /w/p2/x", "at /w/p-venv"], None, false),
            ("^at /w/p/x", &["at /w/p/x"], Some("at /w/p/x"), true),
            ("run-([0-9]+) in 0..9", &["run-7"], Some("7"), true),
        ] {
            let seen = seen(expectation, lines);
            assert_eq!((seen.found.as_deref(), seen.held), (found, held), "{expectation} {lines:?}");
        }
    }
}
