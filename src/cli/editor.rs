//! Texts written in the editor that git names, from a template with a comment.
//!
//! Guarantee: no text is lost. The file is kept if the text is refused, and no later file replaces it.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use super::interrupt::left_to_another;
use super::is_person;
use crate::remote::{GitProgram, RemoteError};
use crate::text::made_visible;

/// The prefix of the lines above a refused text that give the reason.
const REASON: &str = "#! ";

/// The line below which nothing belongs to the text. It is git's own scissors line.
pub(super) const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// How often a refused text is reopened.
pub(super) const TRIES: usize = 5;

/// A text that was written, and the file that keeps it until it is stored.
#[must_use]
pub(super) struct Edited {
    pub text: String,
    file: PathBuf,
    /// The comment below the text in the editor.
    help: String,
    /// The command that reads the file, up to its name.
    again: String,
}

/// The text was left empty or unchanged: nothing is to be done.
#[derive(Debug, thiserror::Error)]
#[error("unchanged, so nothing was written")]
pub(super) struct Unchanged;

impl Edited {
    /// Removes the file: the text is stored.
    pub(super) fn stored(&self) {
        let _ = fs::remove_file(&self.file);
    }

    /// Returns the parsed text, or the error of parsing with the place where the text is kept.
    pub(super) fn understood<T, E: std::fmt::Display>(&self, read: Result<T, E>) -> Result<T, String> {
        read.map_err(|error| format!("{error}\n{}", self.kept()))
    }

    /// Names the file in which the text is kept, as a sentence.
    pub(super) fn place(&self) -> String {
        format!("Your text is kept in {}", self.file.display())
    }

    /// Names the file in which the text is kept, and the command that goes on from there.
    pub(super) fn kept(&self) -> String {
        let file = self.file.display().to_string();
        let file = if file.contains(char::is_whitespace) { format!("'{file}'") } else { file };
        format!("{}. Once it is fixed: {} {file}", self.place(), self.again)
    }

    /// Reopens the editor, with the reason above the text. Returns whether the text was changed.
    pub(super) fn again(&mut self, reason: &str) -> Result<bool, Box<dyn std::error::Error>> {
        let (written, ran) = self.open(reason)?;
        let is_other = ran.is_ok() && !written.is_empty() && written != self.text;
        if !written.is_empty() {
            self.text = written;
        }
        fs::write(&self.file, self.text.clone() + "\n")?;
        Ok(is_other)
    }

    /// Returns the edited text, and how the editor ended.
    fn open(&self, reason: &str) -> Result<(String, Result<(), RemoteError>), Box<dyn std::error::Error>> {
        let reason: String = reason.lines().map(|line| format!("{REASON}{}\n", made_visible(line))).collect();
        let comment: String = self.help.lines().map(commented).collect();
        fs::write(&self.file, format!("{reason}{}\n\n{SCISSORS}\n{comment}", self.text))?;
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let ran =
            left_to_another(|| GitProgram::find(is_person()).and_then(|git| git.edit(folder, &self.file)));
        let unread = |error| format!("cannot read the edited text in {}: {error}", self.file.display());
        Ok((above(&fs::read_to_string(&self.file).map_err(unread)?), ran))
    }
}

/// Opens an editor with `text`, and with `help` below it as a comment. The file is `name` in `folder`, with a number added if it
/// exists. `again` is the command that reads the file, up to its name.
///
/// # Errors
///
/// No terminal or no editor, a failing editor, and an empty or unchanged text: [`Unchanged`].
pub(super) fn write(
    folder: &Path,
    name: &str,
    text: &str,
    help: &str,
    again: String,
) -> Result<Edited, Box<dyn std::error::Error>> {
    if !std::io::stdin().is_terminal() {
        return Err(
            "there is no terminal for an editor: give the text as a file, or - for standard input".into()
        );
    }
    let file = create(folder, name)?;
    let mut edited = Edited { text: text.to_owned(), file, help: help.to_owned(), again };
    let (written, ran) = edited.open("")?;
    if written.is_empty() || written == text.trim() {
        edited.stored();
        return Err(ran.map_or_else(Into::into, |()| Unchanged.into()));
    }
    // Without the comment, so that the command accepts the file as it is.
    fs::write(&edited.file, written.clone() + "\n")?;
    edited.text = written;
    match ran {
        Ok(()) => Ok(edited),
        Err(error) => Err(format!("{error}\n{}", edited.kept()).into()),
    }
}

/// Returns the text between the reasons and the last scissors line, with any line endings.
fn above(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip_while(|line| line.starts_with(REASON)).collect();
    let mark = lines.iter().rposition(|line| line.trim_end() == SCISSORS);
    let above = lines[..mark.unwrap_or(lines.len())].join("\n");
    above.trim().to_owned()
}

/// Formats a line of a comment, with hidden and control characters made visible.
fn commented(line: &str) -> String {
    format!("{}\n", format!("# {}", made_visible(line)).trim_end())
}

/// Creates a new file.
fn create(folder: &Path, name: &str) -> std::io::Result<PathBuf> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "md"));
    for number in 1.. {
        let name = if number == 1 { name.to_owned() } else { format!("{stem}-{number}.{ending}") };
        let path = folder.join(name);
        match File::create_new(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_stands_above_the_last_mark() {
        assert_eq!(above(&format!("# A heading\n\nText.\n\n{SCISSORS}\n# help\n")), "# A heading\n\nText.");
        let cited = format!("A mark:\n{SCISSORS}\nText.");
        assert_eq!(above(&format!("{cited}\n\n{SCISSORS}\n# help\n")), cited);
        assert_eq!(above("no mark\n"), "no mark");
        assert_eq!(above(&format!("Text.\r\n\r\n{SCISSORS}\r\n# help\r\n")), "Text.");
        assert_eq!(above(&format!("\r\n{SCISSORS}\r\n# help\r\n")), "");
        assert_eq!(above(&format!("#! a reason\r\n#! another\r\nText.\r\n\r\n{SCISSORS}\r\n")), "Text.");
    }

    #[test]
    fn a_file_that_is_kept_is_not_replaced() {
        let folder = crate::testing::folder();
        create(folder.path(), "TOT_COMMIT.md").unwrap();
        let other = create(folder.path(), "TOT_COMMIT.md").unwrap();
        assert_eq!(other, folder.path().join("TOT_COMMIT-2.md"));
    }
}
