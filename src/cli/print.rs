//! Printing: color, pager and width.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ColorChoice as Asked;
use serde::Serialize;

use super::interrupt::left_to_another;
use super::{CommandError, CommandResult, is_person};
use crate::json::present;
use crate::service::Written;
use crate::service::remote::GitProgram;
use crate::text::{self, is_hidden, made_visible, wrap};

/// Sets the color mode: always, never, or automatic, based on the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
pub(super) fn set_colour(asked: Asked) {
    let choice = match asked {
        Asked::Auto => ColorChoice::Auto,
        Asked::Always => ColorChoice::Always,
        Asked::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Prints to stdout, without colors if they are disabled.
pub(super) fn say(text: &str) -> CommandResult {
    write_to(anstream::stdout().lock(), text.as_bytes())
}

/// Writes to stdout. If the reader is gone, such as `head`, the command goes on and keeps its exit status.
pub(super) fn write_to(mut stdout: impl Write, bytes: &[u8]) -> CommandResult {
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Extends a printing error to say that the change is stored.
pub(super) fn stored(said: CommandResult) -> CommandResult {
    said.map_err(|error| match error {
        CommandError::Failed(..) => {
            format!("the change is stored, but its output can't be printed: {error}").into()
        }
        error => error,
    })
}

/// Prints lines on stderr, with control characters made visible. A closed stderr is not a failure.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", wrapped(&made_visible(text), columns_of(&io::stderr())).trim_end());
}

/// Prints the warnings of a change that is stored.
pub(super) fn warn(command: &str, written: &Written) {
    for warning in &written.decision.warnings {
        tell(&format!("{command}: warning: {}", warning.message.person()));
    }
}

/// Returns whether a person at a terminal can read and answer a question.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question on stderr and reads a line as the answer. Returns `None` at the end of input.
pub(super) fn ask(question: &str) -> io::Result<Option<String>> {
    write!(io::stderr(), "{} ", made_visible(question))?;
    let mut answer = String::new();
    Ok((io::stdin().read_line(&mut answer)? > 0).then(|| answer.trim().to_ascii_lowercase()))
}

/// Prints a JSON document, with control and hidden characters escaped. These characters occur only in strings, so programs read
/// the same values.
pub(super) fn say_json(document: &impl Serialize) -> CommandResult {
    let document = serde_json::to_string_pretty(document)?;
    let mut text = String::with_capacity(document.len() + 1);
    for c in document.chars() {
        match is_hidden(c) {
            true => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")))
            }
            false => text.push(c),
        }
    }
    text.push('\n');
    say(&text)
}

/// Prints a JSON document without its `null` fields.
pub(super) fn say_fields(document: &impl Serialize) -> CommandResult {
    say_json(&present(document)?)
}

/// Prints to stdout, through the user's pager if stdout is a terminal, as git does.
pub(super) fn page(text: &str) -> CommandResult {
    // A pager stops on a terminal that can't move its cursor.
    if !io::stdout().is_terminal() || std::env::var_os("TERM").is_some_and(|it| it == "dumb") {
        return say(text);
    }
    let here = std::env::current_dir()?;
    let shown = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    };
    // Without git the pager is unknown, so the text is printed directly.
    let paged = || GitProgram::find(is_person()).and_then(|git| git.page(&here, &shown));
    match left_to_another(paged) {
        Ok(()) => Ok(()),
        Err(_) => say(text),
    }
}

/// Returns the width of stdout in columns.
pub(super) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// Returns the value of `COLUMNS`, or the terminal width if it is not set. Returns `None` in a pipe without `COLUMNS`.
fn columns_of(stream: &impl IsTerminal) -> Option<usize> {
    let said =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    // In a pipe, crossterm would start `tput` twice.
    let size = || stream.is_terminal().then(crossterm::terminal::size)?.ok();
    said.or_else(|| Some(usize::from(size()?.0)).filter(|columns| *columns > 0))
}

/// Wraps lines to the width, with continuation lines indented by four more columns.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> String {
    /// The minimum width of the text beside the indent.
    const LEAST: usize = 20;
    let Some(columns) = columns else { return text.to_owned() };
    let mut lines = String::new();
    for line in text.lines() {
        if text::columns(line) <= columns {
            lines.push_str(&format!("{line}\n"));
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        for (number, part) in
            wrap(line.trim_start(), columns.saturating_sub(indent + 4).max(LEAST)).iter().enumerate()
        {
            let more = if number == 0 { 0 } else { 4 };
            lines.push_str(&format!("{:1$}{part}\n", "", indent + more));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_long_line_goes_on_to_the_right_of_its_beginning() {
        let text = "one two three four five six seven eight\n  tot next\n";
        assert_snapshot!(wrapped(text, Some(30)), @"
            one two three four five
                six seven eight
              tot next
            ");
        assert_eq!(wrapped(text, None), text);
    }
}
