//! What a person writes in the editor that git names, from a template with a comment.
//!
//! Guarantee: what was written is lost nowhere. The file stays where the text is refused, and no later one takes its place.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::interrupt::left_to_another;
use super::is_person;
use crate::remote::GitProgram;
use crate::text::made_visible;

/// Below this, what stands in the editor is no part of the text. git's own mark.
pub(super) const SCISSORS: &str = "# ------------------------ >8 ------------------------";

/// A text that was written, and the file that has it until it is stored.
#[must_use]
pub(super) struct Edited {
    pub text: String,
    file: PathBuf,
    /// The command that takes the file, up to where its name stands.
    again: String,
}

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

    /// The same, with the command that goes on from there.
    pub(super) fn kept(&self) -> String {
        let file = self.file.display().to_string();
        let file = if file.contains(char::is_whitespace) { format!("'{file}'") } else { file };
        format!("{}. Once it is mended: {} {file}", self.place(), self.again)
    }
}

/// Has the user write a text: `text` is there already, and `help` stands below it as a comment. The file `name` lies in
/// `folder`, or with a number in its name where there is one already. `again` is the command that takes the file, up to its name.
///
/// # Errors
///
/// No terminal or no editor, one that fails, and a text that is empty or as it was: then nothing is meant.
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
    let comment: String = help.lines().map(commented).collect();
    let template = format!("{text}\n\n{SCISSORS}\n{comment}");
    let file = create(folder, name, &template)?;
    let ran = left_to_another(|| GitProgram::find(is_person()).and_then(|git| git.edit(folder, &file)));
    let unread = |error| format!("cannot read what was written, in {}: {error}", file.display());
    let written = above(&fs::read_to_string(&file).map_err(unread)?);
    let is_meant = !written.is_empty() && written != text.trim();
    let edited = Edited { text: written, file, again };
    if is_meant {
        // Without the comment, so that it can be given to the command as it is.
        fs::write(&edited.file, edited.text.clone() + "\n")?;
    }
    match ran {
        Ok(()) if is_meant => Ok(edited),
        Ok(()) => {
            edited.stored();
            Err("nothing was said, so nothing was written".into())
        }
        Err(error) if is_meant => Err(format!("{error}\n{}", edited.kept()).into()),
        Err(error) => {
            edited.stored();
            Err(error.into())
        }
    }
}

/// What stands above the last such line, whatever the editor ends lines with.
fn above(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mark = lines.iter().rposition(|line| line.trim_end() == SCISSORS);
    let above = lines[..mark.unwrap_or(lines.len())].join("\n");
    above.trim().to_owned()
}

/// A line of a comment; what hides in it or controls a terminal is made visible.
fn commented(line: &str) -> String {
    format!("{}\n", format!("# {}", made_visible(line)).trim_end())
}

/// Creates the file, which nobody else has.
fn create(folder: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "md"));
    for number in 1.. {
        let name = if number == 1 { name.to_owned() } else { format!("{stem}-{number}.{ending}") };
        let path = folder.join(name);
        match File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
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
    }

    #[test]
    fn a_file_that_is_kept_is_not_replaced() {
        let folder = crate::testing::folder();
        let one = create(folder.path(), "TOT_COMMIT.md", "one").unwrap();
        let other = create(folder.path(), "TOT_COMMIT.md", "other").unwrap();
        assert_eq!(other, folder.path().join("TOT_COMMIT-2.md"));
        assert_eq!(fs::read_to_string(one).unwrap(), "one");
    }
}
