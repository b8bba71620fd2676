//! The warning about commits that HEAD no longer contains.

use crate::domain::{Code, Diagnostic};
use crate::store::{Left, Moved};
use crate::text::{counted, shorten};

/// The maximum length of a commit subject, in characters.
const SUBJECT: usize = 80;

/// Returns the warning, which names the commits, where they still exist, and the command that restores them.
pub(super) fn warning(moved: &Moved) -> Diagnostic {
    let path = moved.path.display();
    let short = |id: &dyn ToString| id.to_string().chars().take(10).collect::<String>();
    let from = short(&moved.from);
    let (message, suggestion) = match &moved.left {
        Left::KeptBy(name) => (
            format!(
                "HEAD has moved to a commit that does not descend from {from}, the last commit that this server knew; \
                 {name} still has it."
            ),
            format!("Nothing is lost: git -C {path} merge {name} brings it back."),
        ),
        Left::Astray { newest, number, end } => {
            let named: Vec<String> = newest
                .iter()
                .map(|(id, subject)| format!("{} ({})", short(id), shorten(subject, SUBJECT)))
                .collect();
            let more = number.saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let as_far = end.as_ref().map(|end| format!(", as far as the history can be read ({end})"));
            (
                format!(
                    "The history has moved: no branch contains {} any more{}: {}{more}. git still has their objects.",
                    counted(*number, "commit"),
                    as_far.unwrap_or_default(),
                    named.join(", ")
                ),
                format!(
                    "If this was a mistake, git -C {path} merge {from} brings them back. tot check --lost {path} finds them \
                     until git gc removes them, by default after some weeks."
                ),
            )
        }
        Left::Gone => (
            format!("The repository no longer has {from}, the last commit that this server knew."),
            format!("If this was a mistake, fetch it into {path} from a clone that has it."),
        ),
    };
    Diagnostic::new(Code::HistoryMoved, message).suggest(suggestion)
}
