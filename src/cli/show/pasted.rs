//! Formats an investigation as ten lines to paste into a pull request. Pure. Its text has no effect there.

use crate::assess::{Assessment, Signed, VerdictLine};
use crate::domain::wording::command;
use crate::markdown::{Reader, code_span, literal};
use crate::text::sentence;

/// The maximum number of characters of a sentence.
const SENTENCE: usize = 400;
/// The maximum number of doubts.
const DOUBTS: usize = 3;

/// Returns the bottom line, the verdict, what changed since, what would overturn it, and where to read more. `link` leads to the
/// investigation.
pub(super) fn pasted(
    assessment: &Assessment<'_>,
    signed: &[Signed],
    since: Option<&VerdictLine>,
    link: Option<&str>,
) -> String {
    let plain = |text: &str| literal(text, SENTENCE, Reader::Comment);
    let meta = assessment.investigation.meta();
    let line = assessment.known_bottom_line().unwrap_or_else(|| meta.title.clone());
    let since = since.map(|since| format!(" {}", plain(&sentence(&since.text)))).unwrap_or_default();
    let mut text = format!("**{}**\n\n{}{since}\n\n", plain(&line), plain(&assessment.sentence(signed)));
    let session = meta.id.to_string();
    let doubts = assessment.doubts(&|_| None);
    if !doubts.is_empty() {
        text.push_str("What would overturn it:\n\n");
        for doubt in doubts.iter().take(DOUBTS) {
            let command = doubt.todo.as_ref().map(|_| code_span(&doubt.command(Some(&session))));
            text.push_str(format!("- {} {}", plain(&doubt.text), command.unwrap_or_default()).trim_end());
            text.push('\n');
        }
        let more = doubts.len().saturating_sub(DOUBTS);
        text.push_str(&if more > 0 { format!("- and {more} more\n\n") } else { "\n".to_owned() });
    }
    let title = plain(&meta.title);
    let title = link.map_or_else(|| title.clone(), |link| format!("[{title}]({link})"));
    text + &format!("{title}, {}\n", code_span(&command("tot show", Some(&session), "")))
}
