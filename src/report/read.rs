//! Reading an investigation for a report: the one place for every command and tool that shows one.

use std::path::Path;
use std::str::FromStr;

use super::{Comparison, ReportInput, ends, withheld};
use crate::domain::{NodeId, Pin};
use crate::project::{Evidence, Forge, Project};
use crate::signoff::{self, Signers};
use crate::store::{Since, Snapshot, Store, StoreError};
use crate::withhold::{List, WithheldError};

/// Which state of an investigation is read, and with what.
#[derive(Debug, Default)]
pub struct Reading {
    /// The revision that is shown, where that is not the newest commit.
    pub rev: Option<String>,
    /// Two commits that are compared, of which the second is shown.
    pub range: Option<Range>,
    /// The repository that the investigation is about, where the cited files are checked.
    pub project: Option<Project>,
    /// Where people see its files, where its remote does not say so.
    pub forge: Option<Forge>,
    /// Nodes whose texts are left out, beside those that the list names.
    pub withhold: Vec<NodeId>,
    /// Whether the list counts as it is committed, although it has changed since.
    pub ignore_uncommitted: bool,
    /// With what sign-offs are checked; without it none is valid.
    pub signers: Option<Signers>,
}

/// Two commits: `ended/1..HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The earlier one.
    pub from: String,
    /// The one that is shown.
    pub to: String,
}

/// An invalid range.
#[derive(Debug, thiserror::Error)]
#[error("give two commits with two dots between them: HEAD~3..HEAD, or ended/1.. for what changed since")]
pub struct NoRange;

impl FromStr for Range {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, to) = text.split_once("..").ok_or(NoRange)?;
        if from.is_empty() || to.contains("..") || to.starts_with('.') {
            return Err(NoRange);
        }
        let to = if to.is_empty() { "HEAD" } else { to };
        Ok(Range { from: from.to_owned(), to: to.to_owned() })
    }
}

/// Why an investigation can't be read for a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its repository.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of withheld nodes can't be used.
    #[error(transparent)]
    Withheld(#[from] WithheldError),
    /// Its sign-offs.
    #[error(transparent)]
    SignOffs(#[from] signoff::SignOffError),
}

impl ReadError {
    /// Returns a hint, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReadError::Store(error) | ReadError::SignOffs(signoff::SignOffError::Store(error)) => {
                error.hint()
            }
            ReadError::Withheld(error) => error.hint(),
            ReadError::SignOffs(signoff::SignOffError::Git(error)) => error.hint(),
        }
    }
}

impl Reading {
    /// How these stand in the project now.
    pub fn evidence<'p>(&self, pins: impl IntoIterator<Item = &'p Pin>) -> Evidence {
        let found = self.project.as_ref().map(|project| project.evidence(pins)).unwrap_or_default();
        Evidence { forge: self.forge.clone().or(found.forge), ..found }
    }

    /// An investigation without what is withheld, and what it is compared with.
    ///
    /// # Errors
    ///
    /// A commit that is not there, a list of withheld nodes that can't be followed, and whatever git says.
    pub fn read(&self, store: &Store, folder: &Path) -> Result<(ReportInput, Option<Comparison>), ReadError> {
        let rev = self.rev.as_ref().or(self.range.as_ref().map(|range| &range.to));
        let snapshot = match rev {
            Some(rev) => store.load_at(folder, rev)?,
            None => store.load(folder)?,
        };
        let mut comparison = match &self.range {
            None => None,
            Some(Range { from, to }) => {
                let before = store.load_at(folder, from)?;
                let relation = store.relation(&before, &snapshot)?;
                Some(Comparison { before, relation, names: [from.clone(), to.clone()] })
            }
        };
        let history = store.history(&snapshot)?;
        // If the newest commit was asked for by its name, the pages need not say so.
        let rev = rev.filter(|rev| *rev != "HEAD").cloned();
        let evidence = self.evidence(snapshot.investigation.pins().map(|(_, pin)| pin));
        let mut sign_offs = match &self.signers {
            None => signoff::unchecked(store, &snapshot)?,
            Some(signers) => signoff::checked(store, &snapshot, signers)?,
        };
        if rev.is_some() {
            // Those of later states say nothing of this one, and nothing is wrong with them.
            sign_offs.all.retain(|it| it.since != Since::Elsewhere);
        }
        let listed = withheld(store, folder, self.ignore_uncommitted)?;
        let mut named = List::default();
        for node in &self.withhold {
            named.add(node.clone(), "the publisher", None);
        }
        // These are ids of what is shown.
        let before: Vec<&Snapshot> = comparison.iter().map(|comparison| &comparison.before).collect();
        let named = named.follow(&snapshot, &history, &before)?;
        let attachments = store.attachments(&snapshot)?;
        let ends = ends(store, folder, &history)?;
        let nothing = Default::default();
        let mut input =
            ReportInput { snapshot, history, rev, sign_offs, evidence, attachments, withheld: nothing, ends };
        for withheld in [listed, named] {
            if let Some(comparison) = &mut comparison {
                withheld.hide(&mut comparison.before);
            }
            input.withhold(&withheld);
        }
        Ok((input, comparison))
    }
}
