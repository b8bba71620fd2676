//! Edits of findings and of the conclusion, for amendments and for corrections.

use super::{not_blank, quoted};
use crate::domain::edit::{self, EditFault, TextEdit};
use crate::domain::{Code, Diagnostic, Wording};
use crate::text::{counted, shorten};

/// The longest passage that is compared with the text to find the nearest one, in characters.
const COMPARED: usize = 80;

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
        let error = Diagnostic::new(Code::InvalidArgument, message).suggest(how);
        if about.is_empty() { error } else { error.about(about) }
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
                (0, Some(near)) => format!("The nearest passage is {}; copy it as it is.", quoted(&near)),
                (0, None) => "Copy the passage as it is.".to_owned(),
                _ => "Copy more of the text before or after it.".to_owned(),
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

/// Returns the passage of the text that is most like the given one, as it is written.
fn nearest(text: &str, old: &str) -> Option<String> {
    let old = shorten(old.trim(), COMPARED).to_lowercase();
    let length = old.chars().count();
    let starts = std::iter::once(0).chain(text.match_indices([' ', '\n']).map(|(at, _)| at + 1));
    let passages = starts.map(|start| {
        let cut = text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
        let end = text[cut..].find([' ', '\n']).map_or(text.len(), |at| cut + at);
        &text[start..end]
    });
    let alike =
        passages.map(|passage| (strsim::normalized_levenshtein(&passage.to_lowercase(), &old), passage));
    let (alike, passage) = alike.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (alike >= ALIKE).then(|| passage.to_owned())
}
