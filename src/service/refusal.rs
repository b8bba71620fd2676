//! The refusal of a call, from `decide`, the store or the clock, in words for agents and people.

use super::Loaded;
use crate::base::world::WorldError;
use crate::decide::Rejection;
use crate::domain::{Code, Diagnostic};
use crate::ruleset::rules::shortened;
use crate::store::{FindError, RootRemoved, StoreError, StoreErrorKind};
use crate::text::{causes, sentence};

/// The maximum number of candidates to list for an ambiguous id.
const CANDIDATES: usize = 10;

/// The reasons for refusing a call, with the state of the investigation if known.
pub struct Refusal {
    /// The errors. At least one error.
    pub errors: Vec<Diagnostic>,
    /// The state against which the call was judged.
    pub loaded: Option<Box<Loaded>>,
}

impl Refusal {
    /// Formats the errors on one line, each with its suggestion.
    pub fn line(&self) -> String {
        let texts = self.errors.iter().map(|error| error.text().agent().to_owned());
        texts.collect::<Vec<_>>().join(" ")
    }
}

impl From<Diagnostic> for Refusal {
    fn from(error: Diagnostic) -> Self {
        Refusal { errors: vec![error], loaded: None }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Refusal { errors: rejection.errors, loaded: None }
    }
}

impl From<FindError> for Refusal {
    fn from(error: FindError) -> Self {
        let message = sentence(&causes(&error));
        match error {
            FindError::NotFound { .. } => Diagnostic::new(Code::SessionNotFound, message)
                .suggest("Use the sessionId from tot_start, or start an investigation with tot_start.")
                .for_people("`tot list` lists the ids, and `tot start` starts an investigation."),
            FindError::Ambiguous { candidates, .. } => {
                let matches = shortened(&candidates, CANDIDATES);
                Diagnostic::new(Code::AmbiguousSession, message)
                    .suggest(format!("Give more characters; the matches are {matches}."))
            }
            FindError::RootRemoved(_) => Diagnostic::new(Code::RootFolder, message)
                .suggest(format!("A person must act. {}.", RootRemoved::HINT)),
            FindError::Twice { .. } => Diagnostic::new(Code::AmbiguousSession, message)
                .suggest("Move one of the two folders out of the server's root."),
        }
        .into()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match error.kind {
            StoreErrorKind::InProgress | StoreErrorKind::Detached => Code::OperationInProgress,
            StoreErrorKind::Busy | StoreErrorKind::Held => Code::Busy,
            StoreErrorKind::NotAnInvestigation => Code::InvalidInvestigation,
            StoreErrorKind::ReadOnly => Code::ReadOnly,
            StoreErrorKind::RootRemoved => Code::RootFolder,
            StoreErrorKind::Full => Code::InvestigationFull,
            _ => Code::StoreError,
        };
        let diagnostic = Diagnostic::new(code, sentence(&causes(&error)));
        match error.hint().map(|hint| format!("{hint}.")) {
            Some(hint) if error.kind == StoreErrorKind::Full => diagnostic
                .suggest("Conclude it with tot_end, then start another one for the open questions.")
                .for_people(hint),
            Some(hint) => diagnostic.suggest(hint),
            None => diagnostic,
        }
        .into()
    }
}

impl From<WorldError> for Refusal {
    fn from(error: WorldError) -> Self {
        Diagnostic::new(Code::InternalError, sentence(&causes(&error))).into()
    }
}
