//! Opens git's editor on a template with a comment, for the user to write text.
//!
//! No text is ever lost: if text is refused, its file is kept, and later files get different names.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use super::interrupt::left_to_another;
use super::{CommandError, CommandResult, is_person};
use crate::service::remote::{GitProgram, RemoteError};
use crate::text::made_visible;

/// The prefix of the lines that state why the text below them was refused.
const REASON: &str = "#! ";

/// git's scissors line. Everything below it is ignored.
pub(super) const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// The maximum number of times the editor opens for one text.
pub(super) const TRIES: usize = 5;

/// Text from the editor, and the file that keeps it until it is stored.
#[must_use]
pub(super) struct Edited {
    pub text: String,
    file: PathBuf,
    /// The comment shown below the text.
    help: String,
    /// The command that reads the file, without the file name at its end.
    again: String,
}

impl Edited {
    /// Removes the file after the text has been stored.
    pub(super) fn stored(&self) {
        let _ = fs::remove_file(&self.file);
    }

    /// Returns the parsed text, or the parse error with the location of the saved text.
    pub(super) fn understood<T, E: std::fmt::Display>(&self, read: Result<T, E>) -> Result<T, String> {
        read.map_err(|error| format!("{error}\n{}", self.kept()))
    }

    /// Returns a sentence that names the file with the text.
    pub(super) fn place(&self) -> String {
        format!("Your text is kept in {}", self.file.display())
    }

    /// Returns a sentence that names the file with the text and the command to continue from it.
    pub(super) fn kept(&self) -> String {
        let file = self.file.display().to_string();
        let file = if file.contains(char::is_whitespace) { format!("'{file}'") } else { file };
        format!("{}. Once it is fixed: {} {file}", self.place(), self.again)
    }

    /// Reopens the editor with the reason above the text. Returns whether the text was changed.
    pub(super) fn again(&mut self, reason: &str) -> CommandResult<bool> {
        let (written, ran) = self.open(reason)?;
        let is_other = ran.is_ok() && !written.is_empty() && written != self.text;
        if !written.is_empty() {
            self.text = written;
        }
        fs::write(&self.file, self.text.clone() + "\n")?;
        Ok(is_other)
    }

    /// Opens the editor. Returns the text and the editor's result.
    fn open(&self, reason: &str) -> CommandResult<(String, Result<(), RemoteError>)> {
        let reason: String = reason.lines().map(|line| format!("{REASON}{}\n", made_visible(line))).collect();
        let comment: String = self.help.lines().map(commented).collect();
        fs::write(&self.file, format!("{reason}{}\n\n{SCISSORS}\n{comment}", self.text))?;
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let ran =
            left_to_another(|| GitProgram::find(is_person()).and_then(|git| git.edit(folder, &self.file)));
        let unread = |error| format!("cannot read the edited text in {}: {error}", self.file.display());
        Ok((above(&fs::read_to_string(&self.file).map_err(unread)?, &reason), ran))
    }
}

/// Returns the folder of a repository for texts that are being written: its git folder, or the temporary folder if that is
/// elsewhere, as in a linked work tree.
pub(super) fn folder_in(repository: &Path) -> PathBuf {
    let inside = repository.join(".git");
    match (inside.is_dir(), inside.exists()) {
        (true, _) => inside,
        // A bare repository.
        (false, false) => repository.to_owned(),
        (false, true) => std::env::temp_dir(),
    }
}

/// Opens an editor on `text`, with `help` below it as a comment. The file is `name` in `folder`, with a number added if that name
/// is taken. `again` is the command that reads the file, without the file name at its end.
///
/// # Errors
///
/// Returns an error if there is no terminal or editor, or the editor fails, and [`CommandError::Unchanged`] if the text is
/// empty or unchanged.
pub(super) fn write(
    folder: &Path,
    name: &str,
    text: &str,
    help: &str,
    again: String,
) -> CommandResult<Edited> {
    if !std::io::stdin().is_terminal() {
        return Err("no terminal for an editor: give the text as a file, or - for standard input".into());
    }
    let file = create(folder, name)?;
    let mut edited = Edited { text: text.to_owned(), file, help: help.to_owned(), again };
    let (written, ran) = edited.open("")?;
    if written.is_empty() || written == text.trim() {
        edited.stored();
        return Err(ran.map_or_else(Into::into, |()| CommandError::Unchanged));
    }
    // Written without the comment, so the command accepts the file as it is.
    fs::write(&edited.file, written.clone() + "\n")?;
    edited.text = written;
    match ran {
        Ok(()) => Ok(edited),
        Err(error) => Err(format!("{error}\n{}", edited.kept()).into()),
    }
}

/// Returns the text between the reason's lines and the last scissors line. Any line endings are accepted.
fn above(text: &str, reason: &str) -> String {
    let is_reason = |line: &&str| reason.lines().any(|reason| reason.trim_end() == line.trim_end());
    let lines: Vec<&str> = text.lines().skip_while(is_reason).collect();
    let mark = lines.iter().rposition(|line| line.trim_end() == SCISSORS);
    let above = lines[..mark.unwrap_or(lines.len())].join("\n");
    above.trim().to_owned()
}

/// Formats a comment line, with hidden and control characters made visible.
fn commented(line: &str) -> String {
    format!("{}\n", format!("# {}", made_visible(line)).trim_end())
}

/// Creates a new file, with a number in its name if the name is taken.
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
        assert_eq!(
            above(&format!("# A heading\n\nText.\n\n{SCISSORS}\n# help\n"), ""),
            "# A heading\n\nText."
        );
        let cited = format!("A mark:\n{SCISSORS}\nText.");
        assert_eq!(above(&format!("{cited}\n\n{SCISSORS}\n# help\n"), ""), cited);
        assert_eq!(above("no mark\n", ""), "no mark");
        assert_eq!(above(&format!("Text.\r\n\r\n{SCISSORS}\r\n# help\r\n"), ""), "Text.");
        assert_eq!(above(&format!("\r\n{SCISSORS}\r\n# help\r\n"), ""), "");
        let reasons = "#! a reason\r\n#! another\r\n#! is a shebang\r\n\r\n";
        let text = above(&format!("{reasons}{SCISSORS}\r\n"), "#! a reason\n#! another\n");
        assert_eq!(text, "#! is a shebang");
    }

    #[test]
    fn a_file_that_is_kept_is_not_replaced() {
        let folder = crate::testing::folder();
        create(folder.path(), "TOT_COMMIT.md").unwrap();
        let other = create(folder.path(), "TOT_COMMIT.md").unwrap();
        assert_eq!(other, folder.path().join("TOT_COMMIT-2.md"));
    }
}
