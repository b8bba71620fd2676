//! Printing: in colour or not, through the pager or not, and how wide.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::ColorChoice as Asked;
use serde::Serialize;

use super::interrupt::left_to_another;
use super::{Outcome, is_person};
use crate::remote::GitProgram;
use crate::text::{self, is_hidden, made_visible, wrap};

/// Sets whether output is coloured: always, never, or by the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
pub(super) fn set_colour(asked: Asked) {
    let choice = match asked {
        Asked::Auto => ColorChoice::Auto,
        Asked::Always => ColorChoice::Always,
        Asked::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether the command prints JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Sets whether errors are also printed as JSON.
pub(super) fn set_json(asked: bool) {
    JSON.store(asked, Ordering::Relaxed);
}

/// Whether output is JSON.
pub(super) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Prints to stdout, without colours where they are not wanted.
pub(super) fn say(text: &str) -> Outcome {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Reports a failure to print after something was stored. The error says that it is stored.
pub(super) fn stored(said: Outcome) -> Outcome {
    said.map_err(|error| match error.downcast::<io::Error>() {
        // A closed pipe is not a failure.
        Ok(error) if error.kind() == ErrorKind::BrokenPipe => error.into(),
        Ok(error) => format!("it is done and stored, but its output can't be printed: {error}").into(),
        Err(error) => error,
    })
}

/// Prints one or more lines on stderr. Texts of others in it send a terminal no commands, and a closed stderr is not a failure.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", wrapped(&made_visible(text), columns_of(&io::stderr())).trim_end());
}

/// Whether a person at a terminal can read and answer a question.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on stderr, and returns the line of the answer; `None` at the end of input.
pub(super) fn ask(question: &str) -> io::Result<Option<String>> {
    write!(io::stderr(), "{} ", made_visible(question))?;
    let mut answer = String::new();
    Ok((io::stdin().read_line(&mut answer)? > 0).then(|| answer.trim().to_ascii_lowercase()))
}

/// Prints a document of `--json`. Control and hidden characters are escaped: they occur only in strings, and programs read the
/// same value.
pub(super) fn say_json(document: &impl Serialize) -> Outcome {
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

/// Prints to stdout, at a terminal through the user's pager, as git does.
pub(super) fn page(text: &str) -> Outcome {
    if !io::stdout().is_terminal() {
        return say(text);
    }
    let here = std::env::current_dir()?;
    let shown = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    };
    // Without git there is no pager to ask for, and the text is what matters.
    let paged = || GitProgram::find(is_person()).and_then(|git| git.page(&here, &shown));
    match left_to_another(paged) {
        Ok(()) => Ok(()),
        Err(_) => say(text),
    }
}

/// Returns the number of columns of stdout.
pub(super) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// Returns the number of columns of the terminal, or `COLUMNS`; unknown in a pipe.
fn columns_of(stream: &impl IsTerminal) -> Option<usize> {
    let said =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    // Without a terminal, the crate would start `tput` twice.
    let size = || stream.is_terminal().then(crossterm::terminal::size)?.ok();
    said.or_else(|| Some(usize::from(size()?.0)).filter(|columns| *columns > 0))
}

/// Wraps the lines to the columns, with continuation lines indented a little more.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> String {
    /// The least width that remains beside the indent.
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
