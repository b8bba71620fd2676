//! Edits of findings and of the conclusion, for amendments and for corrections.

use super::{not_blank, quoted};
use crate::domain::edit::{self, EditFault, TextEdit};
use crate::domain::{Code, Diagnostic, Wording};
use crate::text::{counted, one_line, shorten};

/// The longest passage that is compared with the text to find the nearest one, in characters.
const COMPARED: usize = 80;

/// The maximum length of the nearest passage in a message, in characters.
const SHOWN: usize = 400;

/// How much of the text is shown after a passage that is there several times, in characters.
const AFTER: usize = 20;

/// The similarity from which on a passage is suggested.
const ALIKE: f64 = 0.5;

/// Makes the edits in a text.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if a passage is not there exactly once, if two overlap, or if no text is left.
pub(super) fn edited(about: &str, text: &str, edits: &[TextEdit]) -> Result<String, Diagnostic> {
    let what = if about.is_empty() { "the conclusion" } else { about };
    let refuse = |message: String, how: Wording| {
        Diagnostic::new(Code::InvalidArgument, message).about(about).suggest(how)
    };
    let made = edit::apply(text, edits).map_err(|fault| match fault {
        EditFault::Found(number, _) if edits[number].old.is_empty() => {
            refuse("`old` is empty.".to_owned(), "Give the passage to replace.".into())
        }
        EditFault::Found(number, found) => {
            let old = &edits[number].old;
            let times = if found == 0 { "not".to_owned() } else { counted(found, "time") };
            let message = format!("{} is {times} in the text of {what}; it must be there once.", quoted(old));
            let how = match (found, nearest(text, old)) {
                (0, Some(near)) => {
                    format!("The nearest passage is `{}`; copy it as it is.", shorten(near, SHOWN))
                }
                (0, None) => "Copy the passage as it is.".to_owned(),
                _ => {
                    let first = old.trim().lines().next().unwrap_or_default();
                    let most = first.chars().count() + AFTER;
                    let places = text.match_indices(first).take(2).map(|(at, _)| &text[at..]);
                    let places = places.map(|rest| format!("`{}`", shorten(&one_line(rest), most)));
                    let places = places.collect::<Vec<_>>().join(" or ");
                    format!("Copy more of the text before or after it, as in {places}.")
                }
            };
            refuse(message, how.into())
        }
        EditFault::Overlapping(one, other) => {
            let [one, other] = [one, other].map(|number| quoted(&edits[number].old));
            refuse(format!("{one} and {other} overlap in {what}."), "Make one edit of both.".into())
        }
    })?;
    not_blank(Some(made))
        .ok_or_else(|| refuse(format!("The edits leave no text in {what}."), "Replace less.".into()))
}

/// Returns the passage of the text that begins most like the given one, as it is written.
fn nearest<'t>(text: &'t str, old: &str) -> Option<&'t str> {
    let whole = old.trim().chars().count();
    let old = shorten(old.trim(), COMPARED).to_lowercase();
    let length = old.chars().count();
    let passage = |start: usize, length: usize| {
        let cut = text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
        let end = text[cut..].find([' ', '\n']).map_or(text.len(), |at| cut + at);
        &text[start..end]
    };
    let starts = std::iter::once(0).chain(text.match_indices([' ', '\n']).map(|(at, _)| at + 1));
    let alike = |start| strsim::normalized_levenshtein(&passage(start, length).to_lowercase(), &old);
    let (alike, start) =
        starts.map(|start| (alike(start), start)).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (alike >= ALIKE).then(|| passage(start, whole))
}
