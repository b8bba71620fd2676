//! Edits: changes of passages in a longer text, each named by the words that it replaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{one_line, shorten};

/// The maximum length of a quoted passage, in characters.
const QUOTED: usize = 40;

/// The change of a passage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextEdit {
    /// The passage.
    pub old: String,
    /// The new text.
    pub new: String,
}

/// The reason why a text can't be edited as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditFault {
    /// The passage of this edit is not there exactly once. The count is the second number.
    Found(usize, usize),
    /// The passages of these two edits overlap.
    Overlapping(usize, usize),
}

/// Makes all edits, each in the text as given.
///
/// # Errors
///
/// Returns the first edit whose passage is not there exactly once, or the first two that overlap.
pub fn apply(text: &str, edits: &[TextEdit]) -> Result<String, EditFault> {
    let mut places = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        let edit = edit.with_line_ends_of(text);
        let starts: Vec<usize> = match edit.old.as_str() {
            "" => Vec::new(),
            old => text.char_indices().map(|(at, _)| at).filter(|at| text[*at..].starts_with(old)).collect(),
        };
        let [start] = starts[..] else { return Err(EditFault::Found(number, starts.len())) };
        places.push((start, start + edit.old.len(), number, edit.new));
    }
    places.sort();
    let (mut edited, mut done) = (String::new(), (0, 0));
    for (start, end, number, new) in places {
        if start < done.0 {
            return Err(EditFault::Overlapping(done.1.min(number), done.1.max(number)));
        }
        edited.push_str(&text[done.0..start]);
        edited.push_str(&new);
        done = (end, number);
    }
    edited.push_str(&text[done.0..]);
    Ok(edited)
}

/// Returns the first edits in short: `“two lots” → “three lots”, 1 more`. Those that are withheld change nothing and are left
/// out.
pub fn in_short(edits: &[TextEdit]) -> String {
    let changes = || edits.iter().filter(|edit| edit.old != edit.new);
    let more = changes().skip(2).count();
    let mut short: Vec<String> = changes().take(2).map(TextEdit::quoted).collect();
    short.extend((more > 0).then(|| format!("{more} more")));
    short.join(", ")
}

impl TextEdit {
    /// Returns the edit with the line ends of the text, if it has only one kind of them.
    fn with_line_ends_of(&self, text: &str) -> TextEdit {
        let ends = text.matches("\r\n").count();
        let ends = match ends == text.matches('\n').count() && ends > 0 {
            true => "\r\n",
            false if ends == 0 => "\n",
            false => return self.clone(),
        };
        let adapted = |part: &str| part.replace("\r\n", "\n").replace('\n', ends);
        TextEdit { old: adapted(&self.old), new: adapted(&self.new) }
    }

    /// Returns the edit in the other direction.
    pub fn reversed(&self) -> TextEdit {
        TextEdit { old: self.new.clone(), new: self.old.clone() }
    }

    /// Returns the number of characters that differ, in the longer of both passages.
    pub fn changed(&self) -> usize {
        let [old, new] = self.core(|_| true);
        old.chars().count().max(new.chars().count())
    }

    /// Returns both passages without their common beginning and ending, cut only at places where `may_cut` holds for the
    /// character before.
    fn core(&self, may_cut: impl Fn(char) -> bool) -> [&str; 2] {
        let (mut old, mut new) = (self.old.as_str(), self.new.as_str());
        let mut cut = 0;
        for ((at, left), right) in old.char_indices().zip(new.chars()) {
            if left != right {
                break;
            }
            if may_cut(left) {
                cut = at + left.len_utf8();
            }
        }
        (old, new) = (&old[cut..], &new[cut..]);
        let mut cut = 0;
        for (at, (left, right)) in old.chars().rev().zip(new.chars().rev()).scan(0, |at, pair| {
            *at += pair.0.len_utf8();
            Some((*at, pair))
        }) {
            if left != right {
                break;
            }
            if may_cut(left) {
                cut = at;
            }
        }
        [&old[..old.len() - cut], &new[..new.len() - cut]]
    }

    /// Returns the words that differ, shortened: `“two lots” → “three lots”`.
    fn quoted(&self) -> String {
        let [old, new] = self.core(char::is_whitespace).map(|part| shorten(&one_line(part.trim()), QUOTED));
        format!("“{old}” → “{new}”")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_passage_is_there_once_and_what_differs_is_counted() {
        let edit = |old: &str, new: &str| TextEdit { old: old.into(), new: new.into() };
        let made = |text: &str, pairs: &[(&str, &str)]| {
            apply(text, &pairs.iter().map(|(old, new)| edit(old, new)).collect::<Vec<_>>())
        };
        let text = "Two lots of two.\nIt has 144 lines.";
        assert_eq!(
            made(text, &[("144", "145"), ("Two", "Three")]).unwrap(),
            "Three lots of two.\nIt has 145 lines."
        );
        assert_eq!(made(text, &[("wo", "x")]), Err(EditFault::Found(0, 2)));
        assert_eq!(made("aaa", &[("aa", "x")]), Err(EditFault::Found(0, 2)));
        assert_eq!(made(text, &[("Two", "x"), ("three", "x")]), Err(EditFault::Found(1, 0)));
        assert_eq!(made(text, &[("", "x")]), Err(EditFault::Found(0, 0)));
        assert_eq!(made(text, &[("144 lines", "x"), ("has 144", "y")]), Err(EditFault::Overlapping(0, 1)));
        assert_eq!(made("a\r\nb\r\n", &[("a\nb", "c\nd")]).unwrap(), "c\r\nd\r\n");
        assert_eq!(made("a\nb", &[("a\r\nb", "c\r\nd")]).unwrap(), "c\nd");
        assert_eq!(edit("It has 144 lines.", "It has 145 lines.").changed(), 1);
        assert_eq!(edit("Grüße über", "Grüße unter").quoted(), "“über” → “unter”");
        assert_eq!(edit("It has 144 lines.", "It has 145 lines.").quoted(), "“144” → “145”");
        assert_eq!([edit("aa", "aaa").changed(), edit("same", "same").changed()], [1, 0]);
    }
}
