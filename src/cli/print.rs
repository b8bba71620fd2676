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

/// Has all that is printed from here on in colour, or not, or as the terminal and `NO_COLOR` and `CLICOLOR_FORCE` say.
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

/// Has errors printed as JSON, too, from here on.
pub(super) fn set_json(asked: bool) {
    JSON.store(asked, Ordering::Relaxed);
}

/// Whether what is printed is JSON.
pub(super) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Prints to stdout, without colours where they are not wanted.
pub(super) fn say(text: &str) -> Outcome {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// What is said of what is stored by then. That it can't be printed takes nothing back, which the error says.
pub(super) fn stored(said: Outcome) -> Outcome {
    said.map_err(|error| match error.downcast::<io::Error>() {
        // A reader that went away is no failure.
        Ok(error) if error.kind() == ErrorKind::BrokenPipe => error.into(),
        Ok(error) => {
            format!("it is done and stored, and only what to say of it can't be printed: {error}").into()
        }
        Err(error) => error,
    })
}

/// Says something on stderr, a line or several. What others wrote in it commands no terminal, and that nobody listens any more
/// is no reason to fail.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", wrapped(&made_visible(text), columns_of(&io::stderr())).trim_end());
}

/// Whether somebody is at a terminal who reads a question and can answer it.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on stderr, and gives the line of the answer; `None` where the input ends.
pub(super) fn ask(question: &str) -> io::Result<Option<String>> {
    write!(io::stderr(), "{} ", made_visible(question))?;
    let mut answer = String::new();
    Ok((io::stdin().read_line(&mut answer)? > 0).then(|| answer.trim().to_ascii_lowercase()))
}

/// Prints a document of `--json`. What a terminal would take for a command, or would hide, is an escape: it stands in strings
/// only, and is the same to programs.
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

/// How many columns there are for what is printed on stdout.
pub(super) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// How many columns there are: those of the terminal, or as many as `COLUMNS` says; in a pipe it is not known.
fn columns_of(stream: &impl IsTerminal) -> Option<usize> {
    let said =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    // Asked where there is no terminal, it starts `tput`, twice.
    let size = || stream.is_terminal().then(crossterm::terminal::size)?.ok();
    said.or_else(|| Some(usize::from(size()?.0)).filter(|columns| *columns > 0))
}

/// The lines in so many columns; what belongs to a line stands a little to the right of it.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> String {
    /// The least that is left beside what is indented.
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
