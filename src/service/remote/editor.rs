//! The user's editor and pager, chosen in the same way as by git. The editor is taken from `GIT_EDITOR`, `core.editor`,
//! `VISUAL` or `EDITOR`, and the pager from `GIT_PAGER`, `core.pager` or `PAGER`. Otherwise, git's own defaults apply.
//! The settings of a repository are not read, because a stranger may have made it.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::process::{GitCall, GitProgram};
use super::{RemoteError, Result};
use crate::base::platform::command;

impl GitProgram {
    /// Opens a file in the user's editor and waits until the editor exits.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no editor, as on a dumb terminal, or if the editor fails, which is how users
    /// cancel.
    pub fn edit(&self, folder: &Path, file: &Path) -> Result<()> {
        // An empty variable would run the file itself.
        let editor = Some(self.variable(folder, "GIT_EDITOR")?).filter(|it| !it.is_empty());
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        // The setting may contain arguments. git runs the editor in the same way.
        let mut command = command("sh", Path::new("."));
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).arg(file);
        let status =
            command.status().map_err(|source| RemoteError::Io { action: format!("run {editor}"), source })?;
        match status.success() {
            true => Ok(()),
            false => {
                Err(RemoteError::Failed { what: editor, said: "the editor exited without saving".to_owned() })
            }
        }
    }

    /// Shows text in the user's pager and waits until the pager exits.
    ///
    /// # Errors
    ///
    /// Returns an error if the pager can't be started.
    pub fn page(&self, folder: &Path, text: &str) -> Result<()> {
        let pager = self.variable(folder, "GIT_PAGER")?;
        let mut command = command("sh", Path::new("."));
        command.arg("-c").arg(&pager).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // git's own defaults: exit at once if the text is short, and show colors.
            command.env("LESS", "FRX");
        }
        let failed = |source| RemoteError::Io { action: format!("run {pager}"), source };
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // The user may quit the pager early.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait().map(drop).map_err(failed)
    }

    fn variable(&self, folder: &Path, name: &str) -> Result<String> {
        let call = GitCall { is_outside: true, ..GitCall::default() };
        Ok(self.start(folder, &["var", name], call, &[])?.succeeded()?.text().trim().to_owned())
    }
}
