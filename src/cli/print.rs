//! Printing: in colour or not, through the pager or not, and how wide.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ColorChoice as Asked;
use serde::Serialize;

use super::{Outcome, is_person};
use crate::remote::GitProgram;

/// Has all that is printed from here on in colour, or not, or as the terminal and `NO_COLOR` and `CLICOLOR_FORCE` say.
pub(super) fn set_colour(asked: Asked) {
    let choice = match asked {
        Asked::Auto => ColorChoice::Auto,
        Asked::Always => ColorChoice::Always,
        Asked::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Prints to stdout, without colours where they are not wanted.
pub(super) fn say(text: &str) -> Outcome {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Prints a document of `--json`.
pub(super) fn say_json(document: &impl Serialize) -> Outcome {
    say(&(serde_json::to_string_pretty(document)? + "\n"))
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
    match GitProgram::find(is_person()).and_then(|git| git.page(&here, &shown)) {
        Ok(()) => Ok(()),
        Err(_) => say(text),
    }
}
