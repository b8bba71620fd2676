//! The form of earlier versions, in which an argument could be an investigation's id. Until 1.0, it is refused with the new form.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use super::place::LEAST;
use super::root;
use crate::domain::SessionId;
use crate::store::{FindError, Store};
use crate::text::shell_line;

/// An argument that an earlier version may have taken for an investigation's id.
pub(super) struct Misplaced {
    word: String,
    /// The value of `--root`.
    root: Option<PathBuf>,
    /// Whether no other argument is before it.
    is_first: bool,
    /// The command line with `-i`.
    line: String,
    /// Whether the command takes similar words in this place: text to search for, or the id of a comment or a run.
    is_usual: bool,
}

impl Misplaced {
    /// Returns the first such argument. Options and their values do not count.
    pub(super) fn find(mut program: Command, arguments: &[OsString]) -> Option<Misplaced> {
        let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let is_named = |word: &String| word.starts_with("-i") || word.starts_with("--investigation");
        if words.iter().any(is_named) || !words.iter().any(|word| is_part(word)) {
            return None;
        }
        program.build();
        let (mut command, mut begin, mut at, mut is_first) = (&program, 1, 1, true);
        let word = loop {
            let word = words.get(at).filter(|word| *word != "--")?;
            let option = command.get_arguments().find(|arg| is_option(arg, word));
            match command.find_subcommand(word) {
                Some(of) => (command, begin) = (of, at + 1),
                None if is_part(word) => break word.clone(),
                None => is_first &= word.starts_with('-'),
            }
            at += 1 + option.and_then(Arg::get_num_args).map_or(0, |number| number.min_values());
        };
        let is_here = |names: &[&str]| {
            command.get_arguments().any(|arg| names.contains(&arg.get_id().as_str()) && !arg.is_hide_set())
        };
        let line = [&[program.get_name().to_owned()], words.get(1..begin)?, &["-i".to_owned(), word.clone()]];
        let line = shell_line(&[&line.concat(), words.get(begin..at)?, words.get(at + 1..)?].concat());
        let is_usual = is_here(&["text", "comment", "nodes_or_runs"]);
        let takes_one = is_here(&["investigation"]) && !command.has_subcommands();
        let root =
            words.iter().zip(&words[1..]).find_map(|(option, value)| match option.strip_prefix("--root") {
                Some("") => Some(value.into()),
                value => Some(value?.strip_prefix('=')?.into()),
            });
        takes_one.then_some(Misplaced { word, root, is_first, line, is_usual })
    }

    /// Returns whether the root has an investigation with this id. A short word, or one without a digit, can be anything: it
    /// counts only if `is_any` is true, as the first argument.
    pub(super) fn is_id(&self, is_any: bool) -> bool {
        let is_certain = self.word.len() >= LEAST && self.word.contains(|c: char| c.is_ascii_digit());
        if self.is_usual || !(is_certain || is_any && self.is_first) || Path::new(&self.word).exists() {
            return false;
        }
        let found = root::root(self.root.as_deref()).map(|root| Store::new(root.folder).find(&self.word));
        self.word.parse::<SessionId>().is_ok()
            || matches!(found, Ok(Ok(_) | Err(FindError::Ambiguous { .. } | FindError::Twice { .. })))
    }

    /// Says how to name the investigation.
    pub(super) fn advice(&self) -> String {
        format!("an investigation is named with -i: `{}`", self.line)
    }
}

/// Returns whether a word has the form of an id or a part of one.
fn is_part(word: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_hexdigit() || c == '-';
    word.starts_with(|c: char| c.is_ascii_hexdigit()) && word.chars().all(is_of_id)
}

/// Returns whether a word is this option, with its value in the next word if it takes one.
fn is_option(arg: &Arg, word: &str) -> bool {
    let is_long = word.strip_prefix("--").is_some_and(|long| arg.get_long() == Some(long));
    is_long || arg.get_short().is_some_and(|short| word == format!("-{short}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_in_the_place_of_an_argument_is_found() {
        let found = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Misplaced::find(crate::cli::command(), &arguments).map(|it| it.line)
        };
        for (line, new) in [
            ("tot show 0196", "tot show -i 0196"),
            ("tot --root r show --json 0196 R1.A", "tot --root r show -i 0196 --json R1.A"),
            ("/bin/tot run 0196 R1.A -- git show 0197", "tot run -i 0196 R1.A -- git show 0197"),
            ("tot remote add origin u.git 0196 --own", "tot remote add -i 0196 origin u.git --own"),
            ("tot comment 0196 --reply-to 8f3a -m =x", "tot comment -i 0196 --reply-to 8f3a -m =x"),
        ] {
            assert_eq!(found(line).as_deref(), Some(new), "{line}");
        }
        for line in [
            "tot",
            "tot 0196",
            "tot show R1.A",
            "tot show -i 0196 db",
            "tot show --investigation=0196 db",
            "tot -i0196 show db",
            "tot --root 0196 show",
            "tot commit -m 0196",
            "tot comment --reply-to 8f3a",
            "tot rerun --judge 4c7d holds -m x",
            "tot run -- 0196",
            "tot help 0196",
            "tot demo 0196",
            "tot start 0196",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
