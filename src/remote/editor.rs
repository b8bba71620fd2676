//! The user's editor, as git finds it: `GIT_EDITOR`, `core.editor`, `VISUAL`, `EDITOR`, or git's own default.

use std::path::Path;
use std::process::Command;

use super::process::{Call, GitProgram};
use super::{RemoteError, Result};

impl GitProgram {
    /// Has the user edit a file, and waits until the editor is closed.
    ///
    /// # Errors
    ///
    /// No editor, as on a dumb terminal, and one that fails, by which the user says that it is given up.
    pub fn edit(&self, folder: &Path, file: &Path) -> Result<()> {
        let what = "git var GIT_EDITOR";
        let ran = self.run(folder, &["var", "GIT_EDITOR"], Call { what, ..Call::default() })?;
        let editor = ran.succeeded(what)?.text().trim().to_owned();
        // It may have arguments, and git runs it in the same way.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).arg(file);
        let status =
            command.status().map_err(|source| RemoteError::Io { action: format!("run {editor}"), source })?;
        match status.success() {
            true => Ok(()),
            false => Err(RemoteError::Failed { what: editor, said: "the text was given up".to_owned() }),
        }
    }
}
