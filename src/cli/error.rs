//! The error of a command.

use std::fmt;
use std::io::ErrorKind;
use std::string::FromUtf8Error;

use super::draft::DraftError;
use crate::base::world::WorldError;
use crate::domain::{Diagnostic, IdError};
use crate::report::{ReportError, ReportReadError};
use crate::service::Refusal;
use crate::service::project::ProjectError;
use crate::service::remote::RemoteError;
use crate::service::sync::SyncError;
use crate::service::withhold::WithheldError;
use crate::store::{FindError, StoreError};
use crate::text::causes;

/// Why a command failed. Displayed with the causes and the hint.
#[derive(Debug)]
pub(super) enum CommandError {
    /// A usage error that clap cannot detect.
    Misused(String),
    /// A refused call: each reason with its suggestion, naming commands instead of tools.
    Refused(Vec<Diagnostic>),
    /// The text in the editor was left empty or unchanged, so there is nothing to do.
    Unchanged,
    /// Anything else: the error with its causes, and how to fix it.
    Failed(String, Option<String>),
}

impl CommandError {
    /// Returns the error with its causes.
    pub(super) fn message(&self) -> String {
        match self {
            CommandError::Misused(message) | CommandError::Failed(message, _) => message.clone(),
            CommandError::Refused(errors) => {
                let reasons = errors.iter().map(|error| error.text().person().to_owned());
                reasons.collect::<Vec<_>>().join("\n")
            }
            CommandError::Unchanged => "unchanged, so nothing was written".to_owned(),
        }
    }

    /// Returns a hint on how to fix the error, if there is one.
    pub(super) fn hint(&self) -> Option<&str> {
        if let CommandError::Failed(_, hint) = self { hint.as_deref() } else { None }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        self.hint().map_or(Ok(()), |hint| write!(f, ". {hint}"))
    }
}

/// Returns the error of a command that failed with an error without a hint.
pub(super) fn failed(error: impl std::error::Error) -> CommandError {
    CommandError::Failed(causes(&error), None)
}

/// Converts errors, each with the function that returns its hint, if it has one.
macro_rules! failures {
    ($($error:ty $(=> $hint:expr)?),* $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let hint = None$(.or($hint(&error)))?;
                CommandError::Failed(causes(&error), hint)
            }
        }
    )*};
}

failures! {
    FindError => FindError::hint,
    RemoteError => RemoteError::hint,
    ReportError => ReportError::hint,
    ReportReadError => ReportReadError::hint,
    StoreError => StoreError::hint,
    SyncError => SyncError::hint,
    WithheldError => WithheldError::hint,
    DraftError,
    FromUtf8Error,
    IdError,
    ProjectError,
    WorldError,
    serde_json::Error,
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound if std::env::current_dir().is_err() => {
                CommandError::from("the current folder no longer exists: change to another one")
            }
            _ => failed(error),
        }
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        CommandError::Failed(message, None)
    }
}

impl From<&str> for CommandError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        CommandError::Refused(refusal.errors)
    }
}
