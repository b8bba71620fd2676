//! What a person writes in the editor that git names, from a template with a comment.
//!
//! Guarantee: what was written is lost nowhere. The file stays where the text is refused, and no later one takes its place.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use super::interrupt::left_to_another;
use super::is_person;
use crate::remote::{GitProgram, RemoteError};
use crate::text::made_visible;

/// Why a text was refused stands on lines above it that begin so.
const REASON: &str = "#! ";

/// Below this, what stands in the editor is no part of the text. git's own mark.
pub(super) const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// How often a text that is refused is opened again.
pub(super) const TRIES: usize = 5;

/// A text that was written, and the file that has it until it is stored.
#[must_use]
pub(super) struct Edited {
    pub text: String,
    file: PathBuf,
    /// What stands below it in the editor.
    help: String,
    /// The command that takes the file, up to where its name stands.
    again: String,
}

/// The text was left empty or as it was: nothing is meant.
#[derive(Debug, thiserror::Error)]
#[error("unchanged, so nothing was written")]
pub(super) struct Unchanged;

impl Edited {
    /// Removes the file: the text is stored.
    pub(super) fn stored(&self) {
        let _ = fs::remove_file(&self.file);
    }

    /// What was read of the text, or why it can't be, with where it is kept.
    pub(super) fn understood<T, E: std::fmt::Display>(&self, read: Result<T, E>) -> Result<T, String> {
        read.map_err(|error| format!("{error}\n{}", self.kept()))
    }

    /// Where the text is kept, as a sentence.
    pub(super) fn place(&self) -> String {
        format!("Your text is kept in {}", self.file.display())
    }

    /// Names the file in which the text is kept, and the command that goes on from there.
    pub(super) fn kept(&self) -> String {
        let file = self.file.display().to_string();
        let file = if file.contains(char::is_whitespace) { format!("'{file}'") } else { file };
        format!("{}. Once it is mended: {} {file}", self.place(), self.again)
    }

    /// Opens the editor again, with the reason above the text. Whether the text is another then.
    pub(super) fn again(&mut self, reason: &str) -> Result<bool, Box<dyn std::error::Error>> {
        let (written, ran) = self.open(reason)?;
        let is_other = ran.is_ok() && !written.is_empty() && written != self.text;
        if !written.is_empty() {
            self.text = written;
        }
        fs::write(&self.file, self.text.clone() + "\n")?;
        Ok(is_other)
    }

    /// What the user made of the text, and how the editor ended.
    fn open(&self, reason: &str) -> Result<(String, Result<(), RemoteError>), Box<dyn std::error::Error>> {
        let reason: String = reason.lines().map(|line| format!("{REASON}{}\n", made_visible(line))).collect();
        let comment: String = self.help.lines().map(commented).collect();
        fs::write(&self.file, format!("{reason}{}\n\n{SCISSORS}\n{comment}", self.text))?;
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let ran =
            left_to_another(|| GitProgram::find(is_person()).and_then(|git| git.edit(folder, &self.file)));
        let unread = |error| format!("cannot read what was written, in {}: {error}", self.file.display());
        Ok((above(&fs::read_to_string(&self.file).map_err(unread)?), ran))
    }
}

/// Has the user write a text: `text` is there already, and `help` stands below it as a comment. The file `name` lies in
/// `folder`, or with a number in its name where there is one already. `again` is the command that takes the file, up to its name.
///
/// # Errors
///
/// No terminal or no editor, one that fails, and a text that is empty or as it was: [`Unchanged`].
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
    // Without the comment, so that it can be given to the command as it is.
    fs::write(&edited.file, written.clone() + "\n")?;
    edited.text = written;
    match ran {
        Ok(()) => Ok(edited),
        Err(error) => Err(format!("{error}\n{}", edited.kept()).into()),
    }
}

/// What stands above the last such line and below the reasons, whatever the editor ends lines with.
fn above(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip_while(|line| line.starts_with(REASON)).collect();
    let mark = lines.iter().rposition(|line| line.trim_end() == SCISSORS);
    let above = lines[..mark.unwrap_or(lines.len())].join("\n");
    above.trim().to_owned()
}

/// A line of a comment; what hides in it or controls a terminal is made visible.
fn commented(line: &str) -> String {
    format!("{}\n", format!("# {}", made_visible(line)).trim_end())
}

/// Creates the file, which nobody else has.
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
