//! Mends texts that were damaged on their way here, and says so.
//!
//! [`mended`] is the entry point. A model sometimes escapes a text once too often, so that `\n` stands where a line ends.
//! Guarantee: `\n` or `\r\n` becomes a line break only in prose with hardly any line break, only where nothing but a line can end,
//! and never in a code span, between quotation marks, or in a path such as `C:\new`. Any other `\n` stays as it is, with a note.

use serde_json::Value;

use crate::text::{first_bytes, last_bytes};

/// The fields with prose. Commands, their output, edits and attachments may well contain `\n`.
const PROSE: [&str; 13] = [
    "alternativesConsidered",
    "bottomLine",
    "caveats",
    "conclusion",
    "context",
    "evidence",
    "findings",
    "notCovered",
    "plannedAction",
    "query",
    "reason",
    "text",
    "verificationMethod",
];

/// The fields whose content is taken as it is.
const VERBATIM: [&str; 4] = ["attachments", "commands", "edits", "references"];

/// The number of bytes on each side by which a `\n` is judged.
const NEAR: usize = 200;
/// The number of fields that a note names.
const NAMED: usize = 3;

/// The places of texts, by what was found there.
#[derive(Default)]
struct Found {
    unescaped: Vec<String>,
    unclear: Vec<String>,
    lost: Vec<String>,
}

/// Mends the texts of understood arguments. Returns notes for the caller.
pub fn mended(arguments: &mut Value) -> Vec<String> {
    let mut found = Found::default();
    mend(arguments, "", &mut found);
    let notes = [
        (found.unescaped, "was escaped once too often: its `\\n` became line breaks."),
        (found.unclear, "has `\\n`, which stays: correct it if lines should end there."),
        (found.lost, "has the character U+FFFD: a part of it was lost on the way here."),
    ];
    let notes = notes.into_iter().filter(|(places, _)| !places.is_empty());
    notes.map(|(places, what)| format!("{} {what}", listed(&places))).collect()
}

fn listed(places: &[String]) -> String {
    let shown: Vec<String> = places.iter().take(NAMED).map(|place| format!("`{place}`")).collect();
    let more = places.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more: each") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn mend(value: &mut Value, path: &str, found: &mut Found) {
    match value {
        Value::String(text) => {
            if text.contains('\u{fffd}') {
                found.lost.push(path.to_owned());
            }
            let mut parts = path.split('.').map(|part| part.split('[').next().unwrap_or_default());
            let is_prose = parts.clone().next_back().is_some_and(|name| PROSE.contains(&name));
            let (breaks, escapes) = (text.trim_end().matches('\n').count(), text.matches("\\n").count());
            if !is_prose || parts.any(|name| VERBATIM.contains(&name)) || escapes <= 2 * breaks {
                return;
            }
            let mut left = unescaped(text);
            if let Escapes::Clear(mended) = left {
                found.unescaped.push(path.to_owned());
                *text = mended;
                left = unescaped(text);
            }
            if left != Escapes::None {
                found.unclear.push(path.to_owned());
            }
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(at, item)| mend(item, &format!("{path}[{at}]"), found));
        }
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| {
            mend(value, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, found);
        }),
        _ => {}
    }
}

/// What a text has in place of line breaks.
#[derive(Debug, PartialEq)]
enum Escapes {
    None,
    /// It may be meant as it stands.
    Unclear,
    /// Line breaks, which this text has.
    Clear(String),
}

fn unescaped(text: &str) -> Escapes {
    let (mut mended, mut is_clear) = (String::with_capacity(text.len()), false);
    let (mut in_code, mut in_quotes, mut in_fence, mut has_unclear) = (false, false, false, false);
    let (mut line, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        // An escaped backslash begins no other escape.
        let part = ["```", "\\\\", "\\\"", "\\r\\n", "\\n"].into_iter().find(|part| rest.starts_with(part));
        let part = part.unwrap_or(&rest[..c.len_utf8()]);
        let after = &rest[part.len()..];
        match part {
            "```" if line == mended.len() => in_fence = !in_fence && opens_fence(after),
            "`" if !in_fence => in_code = !in_code,
            "\"" | "\\\"" if !in_code && !in_fence => in_quotes = !in_quotes,
            _ => {}
        }
        match part {
            "\\n" | "\\r\\n" if !in_code && !in_quotes => {
                // What is further away does not tell whether a line ends.
                let before = last_bytes(&mended, NEAR);
                let after = &first_bytes(after, NEAR).replace("\\r\\n", "\\n");
                let is_heading = mended[line..].starts_with('#');
                let is_mine = in_fence || is_loose(before, after) && ends_line(before, after, is_heading);
                has_unclear |= !is_mine && is_loose(before, after);
                is_clear |= is_mine;
                mended.push_str(if is_mine { "\n" } else { part });
            }
            "\\\"" if !in_code => mended.push('"'),
            _ => mended.push_str(part),
        }
        at += part.len();
        line = if mended.ends_with('\n') { mended.len() } else { line };
    }
    match (is_clear, has_unclear) {
        (true, _) => Escapes::Clear(mended),
        (false, true) => Escapes::Unclear,
        (false, false) => Escapes::None,
    }
}

/// Returns whether a code block begins with the text after these three marks: with its language, and the end of that line.
fn opens_fence(after: &str) -> bool {
    let language = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+-_#".contains(c));
    language.starts_with("\\n") || language.starts_with("\\r\\n")
}

/// Returns whether a `\n` may end a line, and is neither a part of a path nor of quoted code, nor the subject itself.
fn is_loose(before: &str, after: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let next = after.split(char::is_whitespace).next().unwrap_or_default();
    let next = next.replace("\\n", "").replace("\\\"", "");
    let place = word.rsplit(['\'', '"', '`']).next().unwrap_or_default();
    let is_drive =
        place.len() == 2 && place.ends_with(':') && place.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_folder = before.ends_with(')') && after.starts_with(char::is_lowercase);
    let is_path = is_drive || is_folder || place.contains('\\') || next.contains('\\');
    // An apostrophe within a word is no quotation mark.
    let is_mark = |at: usize| {
        !(word[..at].ends_with(char::is_alphanumeric) && word[at + 1..].starts_with(char::is_alphanumeric))
    };
    let marks = word.match_indices('\'').filter(|(at, _)| is_mark(*at)).count();
    let is_subject = before.ends_with(' ') && !ends_sentence(before.trim_end_matches(' '));
    !is_path && marks % 2 == 0 && !is_subject
}

/// Returns whether only a line can end between these texts.
fn ends_line(before: &str, after: &str, is_heading: bool) -> bool {
    let is_double = after.starts_with("\\n") || before.ends_with('\n');
    let rest = after.trim_start_matches("\\n").trim_start_matches(' ');
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item =
        ["- ", "* ", "+ ", "# ", "## ", "### ", "#### ", "> ", "```"].iter().any(|it| rest.starts_with(it))
            || number.len() < rest.len() && number.starts_with([')', '.']) && number[1..].starts_with(' ');
    let begins = rest.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase());
    let is_text = rest.starts_with(|c: char| c.is_alphanumeric() || "*_[`|<(\"“«".contains(c));
    is_item
        || before.ends_with("```")
        || before.ends_with('|')
        || rest.starts_with('|')
        || is_heading && !rest.starts_with(char::is_lowercase)
        || rest.is_empty() && before.ends_with(|c: char| c.is_alphanumeric() || c == '.')
        || begins && ends_sentence(before)
        || is_double && is_text
}

fn ends_sentence(text: &str) -> bool {
    text.ends_with(['.', ':', ';', '!', '?', ')', '。', '！', '？', '：', '；'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_breaks_escaped_twice_are_line_breaks_and_code_is_code() {
        for (sent, expected) in [
            (r#"It is so.\n\n- a \"b\"\n- c "d""#, "It is so.\n\n- a \"b\"\n- c \"d\""),
            (r"1. one\n2. two\n3. three", "1. one\n2. two\n3. three"),
            (r"## Summary\nIt is so", "## Summary\nIt is so"),
            (r"日本語の文。\n次の文。", "日本語の文。\n次の文。"),
            (r"## A\n\nPath C:\new\table is read.\n\n- x", "## A\n\nPath C:\\new\\table is read.\n\n- x"),
            (
                r"## A\n\nUse `a\nb` or printf('x.\n').\n\n```\nls\n```",
                "## A\n\nUse `a\\nb` or printf('x.\\n').\n\n```\nls\n```",
            ),
            (r"It isn't.\r\nBut it's near.", "It isn't.\nBut it's near."),
            (
                "## A\\n|a|b|\\n|-|-|\\n\\n```sh\\necho a\\n\"b\\n```\\n",
                "## A\n|a|b|\n|-|-|\n\n```sh\necho a\n\"b\n```\n",
            ),
            (r"Files in src\new are read.\n\n- one", "Files in src\\new are read.\n\n- one"),
            (r#"Run \"a.\nB\" first.\n\nThen stop"#, "Run \"a.\\nB\" first.\n\nThen stop"),
        ] {
            assert_eq!(unescaped(sent), Escapes::Clear(expected.to_owned()), "{sent}");
        }
        for kept in [
            r"Use printf('x.\n') to print",
            r#"Use printf("x.\nY.\n\n") to print"#,
            r"Look in C:\new\notes.",
            r"Split at `\n\n`. Then join.",
            r"\\server\new.\nX",
            r"Split at \n\n and join. Split at \n.",
            "One.",
        ] {
            assert_eq!(unescaped(kept), Escapes::None, "{kept}");
        }
        for unclear in [r"First line\nsecond line", r"src\new is read", r"Ergebnis ist gut\nUnd weiter"] {
            assert_eq!(unescaped(unclear), Escapes::Unclear, "{unclear}");
        }
    }

    #[test]
    fn a_long_text_is_mended_at_once() {
        let long = "a\\na".repeat(20_000);
        assert_eq!(unescaped(&long), Escapes::Unclear);
        assert_eq!(unescaped(&r"\n".repeat(20_000)), Escapes::Unclear);
    }

    #[test]
    fn what_was_mended_is_noted_by_field() {
        let text = r"A.\n\n- b";
        let mut arguments = json!({"results": [{"findings": text, "caveats": [text], "evidence": r"a\nb",
            "headline": "Half \u{fffd}", "attachments": [{"text": text}], "commands": [{"command": text}]}],
            "conclusion": format!("{text}\nx\n")});
        let notes = mended(&mut arguments).join("\n");
        let result = &arguments["results"][0];
        assert_eq!((&result["findings"], &result["caveats"][0]), (&json!("A.\n\n- b"), &json!("A.\n\n- b")));
        assert_eq!(
            (&result["attachments"][0]["text"], &result["commands"][0]["command"]),
            (&json!(text), &json!(text))
        );
        let places = [
            "`results[0].findings`, `results[0].caveats[0]` was escaped",
            "`results[0].evidence` has `\\n`",
            "`results[0].headline` has the character",
        ];
        assert!(places.iter().all(|place| notes.contains(place)), "{notes}");
        assert_eq!(notes.lines().count(), 3);
    }
}
