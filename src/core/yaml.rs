//! Reads and writes YAML. No other module uses the YAML crate.
//!
//! Guarantees:
//!
//! - Text from [`to_text`] reads back to exactly the same value, here and in other YAML 1.2 and 1.1 parsers.
//! - Multi-line text is written as a literal block (`|`) wherever YAML allows it. Absent values are left out.
//! - Hostile input (alias bombs, deep nesting, huge documents) is rejected once it exceeds a budget.
//! - Errors include a line and a column.
//! - A byte order mark and CRLF line ends are accepted. The callers decode UTF-8.
//!
//! Limitation: comments do not survive reading and writing. Files written by people (rulesets) are therefore stored as
//! text.

use crate::text::shorten;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Returns the number of the first line that git has written into a file with a merge conflict.
pub fn merge_conflict(text: &str) -> Option<u64> {
    text.lines().zip(1..).find_map(|(line, number)| line.starts_with("<<<<<<< ").then_some(number))
}

/// The maximum length of an error message, in characters.
const MESSAGE_MAX: usize = 300;

/// An error from reading or writing YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", line.map(|line| format!("line {line}, column {}: ", column.unwrap_or(1))).unwrap_or_default())]
pub struct YamlError {
    /// The line, counted from 1, if known.
    pub line: Option<u64>,
    /// The column, counted from 1, if known.
    pub column: Option<u64>,
    /// The description of the problem.
    pub message: String,
}

/// Parses one document.
///
/// # Errors
///
/// Returns an error if the text is not valid YAML, does not fit the type, repeats a key, or exceeds the budget.
pub fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_yaml::from_str_with_options(text, read_options()).map_err(|error| {
        let location = error.location();
        let message = error.without_snippet().render();
        let at = location.and_then(|location| text.lines().nth((location.line() as usize).checked_sub(1)?));
        YamlError {
            line: location.map(|location| location.line()),
            column: location.map(|location| location.column()),
            message: short_message(&message, at.unwrap_or_default()),
        }
    })
}

/// Serializes one document, with a final newline.
///
/// # Errors
///
/// Returns an error if YAML can't represent the value, such as a map with maps as keys. No type in this program has
/// such values.
pub fn to_text<T: Serialize>(value: &T) -> Result<String, YamlError> {
    let failed = |message| YamlError { line: None, column: None, message };
    let value = serde_json::to_value(value).map_err(|error| failed(error.to_string()))?;
    let text = serde_yaml::to_string_with_options(&YamlValue(&value), write_options());
    Ok(without_trailing_spaces(&text.map_err(|error| failed(error.to_string()))?))
}

/// A value whose absent fields are left out. Text is written as a literal block if it has several lines, and quoted if a block
/// can't represent it.
struct YamlValue<'a>(&'a Value);

impl Serialize for YamlValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if needs_quotes(text) => {
                serde_yaml::DoubleQuoted(text.as_str()).serialize(serializer)
            }
            Value::String(text) if text.contains('\n') => serde_yaml::LitStr(text).serialize(serializer),
            Value::Array(entries) => serializer.collect_seq(entries.iter().map(YamlValue)),
            Value::Object(fields) => {
                let present = fields.iter().filter(|(_, value)| !value.is_null());
                serializer.collect_map(present.map(|(name, value)| (name, YamlValue(value))))
            }
            value => value.serialize(serializer),
        }
    }
}

/// Returns whether a literal block can't represent the text, or another parser would misread the block.
fn needs_quotes(text: &str) -> bool {
    let first_line = text.lines().find(|line| !line.trim_matches([' ', '\t']).is_empty());
    // PyYAML misreads a block whose first line begins with a tab. A block of blank lines has no indentation to detect.
    let ambiguous_indentation = match first_line {
        None => text.contains('\n'),
        Some(line) => line.starts_with(['\t', ' ']) || text.starts_with(['\n', ' ', '\t']),
    };
    let unprintable = text.chars().any(|c| match c {
        '\n' | '\t' => false,
        // YAML 1.1 line breaks, the byte order mark, and characters that YAML allows only in escaped form.
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    });
    ambiguous_indentation || unprintable
}

/// Removes trailing spaces from blank lines in literal blocks, which a diff would highlight as errors.
fn without_trailing_spaces(text: &str) -> String {
    /// The position of a line relative to a literal block.
    enum BlockPosition {
        Outside,
        Header,
        Block(usize),
    }
    let mut place = BlockPosition::Outside;
    let mut result = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        let blank = line.bytes().all(|b| b == b' ');
        let indentation = line.len() - line.trim_start_matches(' ').len();
        place = match place {
            // The first line of a block sets its indentation. `needs_quotes` ensures this.
            BlockPosition::Header if !blank => BlockPosition::Block(indentation),
            BlockPosition::Block(block) if !blank && indentation < block => BlockPosition::Outside,
            other => other,
        };
        match place {
            BlockPosition::Block(block) if blank && line.len() <= block => {}
            _ => result.push_str(line),
        }
        result.push('\n');
        let header = line.rsplit_once(' ').is_some_and(|(_, end)| matches!(end, "|" | "|-" | "|+"));
        if matches!(place, BlockPosition::Outside) && header {
            place = BlockPosition::Header;
        }
    }
    result
}

fn read_options() -> serde_yaml::Options {
    serde_yaml::options! {
        duplicate_keys: serde_yaml::DuplicateKeyPolicy::Error,
        with_snippet: false,
        // Files written by this program have no aliases, and rulesets have few. The limits make most alias bombs cheap
        // to reject.
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 8 },
    }
}

fn write_options() -> serde_yaml::SerializerOptions {
    serde_yaml::ser_options! {
        // Folded text is hard to read in a diff.
        folded_wrap_chars: usize::MAX >> 1,
        min_fold_chars: usize::MAX >> 1,
        compact_list_indent: true,
    }
}

/// Returns the first line of an error message about this line of the file, without the position, which is shown separately.
fn short_message(message: &str, at: &str) -> String {
    let key = at
        .split_once(':')
        .filter(|_| !at.contains(['{', '[']))
        .map(|(key, _)| key.trim().trim_start_matches("- "));
    let key = key.filter(|key| key.len() < 40 && key.chars().all(char::is_alphanumeric));
    let key = key.map(|key| format!(": `{key}`")).unwrap_or_default();
    let line = message.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = match line.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest,
        None => line,
    };
    // Programmers can change these settings, but authors of files can't.
    let advice = [", set DuplicateKeyPolicy", "; use from_str_multiple"];
    let line = advice.iter().fold(line, |line, advice| line.split(advice).next().unwrap_or(line));
    let end = line.rfind(" at line ").filter(|end| line[end + 9..].contains(", column "));
    match &line[..end.unwrap_or(line.len())] {
        "invalid u32" => format!("not a whole number{key}"),
        line if line.starts_with("cannot deserialize null into ") => format!("the value is missing{key}"),
        "expected string scalar" => format!("not a text{key}"),
        // The message may quote the text, and a key can be a megabyte long.
        line => shorten(line, MESSAGE_MAX),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        title: String,
        findings: String,
    }

    fn round_trip(findings: &str) -> String {
        let sample = Sample { title: "a".into(), findings: findings.into() };
        let text = to_text(&sample).unwrap();
        assert_eq!(from_text::<Sample>(&text).unwrap(), sample, "{text}");
        // This also holds in a list of maps, where another key follows the block.
        let nested = vec![
            Sample { title: "a |".into(), ..sample },
            Sample { title: "b".into(), findings: "x\n".into() },
        ];
        let list = to_text(&nested).unwrap();
        assert_eq!(from_text::<Vec<Sample>>(&list).unwrap(), nested, "{list}");
        text
    }

    #[test]
    fn files_from_windows_are_read() {
        let sample = Sample { title: "a".into(), findings: "one\ntwo\n".into() };
        let text = to_text(&sample).unwrap().replace('\n', "\r\n");
        assert_eq!(from_text::<Sample>(&format!("\u{feff}{text}")).unwrap(), sample);
    }

    #[test]
    fn several_lines_become_a_literal_block() {
        assert_eq!(
            round_trip("one\n\n- two  \n\tthree: x # y\n"),
            "title: a\nfindings: |\n  one\n\n  - two  \n  \tthree: x # y\n"
        );
    }

    #[test]
    fn awkward_texts_come_back_as_they_were() {
        let long = format!("{} {}\nx", "word ".repeat(100), "y".repeat(300));
        for text in [
            "",
            " ",
            "\n",
            "\n\n",
            " \n",
            "\t\n",
            "no end",
            "one\nno end",
            "a\n\n\n",
            "  indented\nnot",
            "\tx\ny\n",
            "null",
            "true",
            "1e3",
            "- x",
            "a: b",
            "# c",
            "'",
            "\"",
            "\\",
            "|",
            ">",
            "%x",
            "@x",
            "a\r\nb\r\n",
            "a\u{85}b\n",
            "\u{feff}x\n",
            "\u{2028}\n",
            "\0\n",
            "---\n...\n",
            "é\n日本\n",
            "2026-11-20",
            "0x1f",
            "~",
            "=",
            "<<",
            "a\n ",
            "a\n \n",
            "a \n",
            "\na\n",
            &long,
        ] {
            round_trip(text);
        }
    }

    #[test]
    fn a_fault_has_line_and_column() {
        let error = from_text::<Sample>("title: a\nfindings: [x]\n").unwrap_err();
        assert_eq!(error.line, Some(2), "{error}");
        let error = from_text::<Sample>("title: a\nfindings: x\ntitle: b\n").unwrap_err();
        assert_eq!(error.line, Some(3), "{error}");
        let error = from_text::<Sample>("title: a\nfinding: x\n").unwrap_err();
        assert!(error.to_string().contains("finding"), "{error}");
    }

    #[test]
    fn an_error_does_not_repeat_a_megabyte() {
        let error = from_text::<Sample>(&format!("? {}\n: 1\n", "k".repeat(1 << 20))).unwrap_err();
        assert!(error.message.chars().count() <= MESSAGE_MAX, "{}", error.message.len());
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
            bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        assert!(from_text::<serde_json::Value>(&bomb).is_err());
        assert!(from_text::<serde_json::Value>(&"{".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_comes_back_as_it_was(text in "(?s).{0,80}") {
            round_trip(&text);
        }

        #[test]
        fn any_lines_come_back_as_they_were(lines in proptest::collection::vec("[ \\ta-c:#\\-'\"|>&*!%@`]{0,8}", 0..8)) {
            round_trip(&lines.join("\n"));
        }
    }
}
