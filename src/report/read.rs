//! Reads an investigation for a report. All commands and tools that show an investigation use this module.

use std::path::Path;
use std::str::FromStr;

use super::{Comparison, ReportInput, ends, withheld};
use crate::domain::{Investigation, NodeId};
use crate::service::project::{Forge, Project, ProjectEvidence};
use crate::service::signoff::{self, SignOff, Signers};
use crate::service::withhold::{List, WithheldError};
use crate::store::{Since, Snapshot, Store, StoreError};

/// The options for reading an investigation.
#[derive(Debug, Default)]
pub struct ReadOptions {
    /// The revision to show, if it is not the newest commit.
    pub rev: Option<String>,
    /// Two commits to compare. The report shows the second one.
    pub range: Option<Range>,
    /// The repository of the project under investigation, in which cited files are checked.
    pub project: Option<Project>,
    /// The forge that hosts the project's files, if the remote does not identify it.
    pub forge: Option<Forge>,
    /// Nodes to withhold, in addition to those on the list.
    pub withhold: Vec<NodeId>,
    /// True to use the committed list of withheld nodes even if it has uncommitted changes.
    pub ignore_uncommitted: bool,
    /// The keys for checking sign-offs. Without keys, no sign-off is valid.
    pub signers: Option<Signers>,
}

/// Two commits: `ended/1..HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The earlier commit.
    pub from: String,
    /// The commit to show.
    pub to: String,
}

/// An invalid range.
#[derive(Debug, thiserror::Error)]
#[error("give two commits with two dots between them: HEAD~3..HEAD, or ended/1.. for the changes since then")]
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

/// An error while reading an investigation for a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportReadError {
    /// The repository can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of withheld nodes can't be used.
    #[error(transparent)]
    Withheld(#[from] WithheldError),
}

impl ReportReadError {
    /// Returns a hint, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReportReadError::Store(error) => error.hint(),
            ReportReadError::Withheld(error) => error.hint(),
        }
    }
}

impl ReadOptions {
    /// Returns the current state in the project of what an investigation cites and of what its commands read.
    pub fn evidence(&self, investigation: &Investigation) -> ProjectEvidence {
        let found = self.project.as_ref().map(|project| project.evidence_for(investigation));
        let found = found.unwrap_or_default();
        ProjectEvidence { forge: self.forge.clone().or(found.forge), ..found }
    }

    /// Returns the website that shows the project's files, if it is known.
    pub fn forge(&self) -> Option<Forge> {
        self.forge.clone().or_else(|| self.project.as_ref()?.evidence([]).forge)
    }

    /// Reads an investigation without its withheld text, and, if requested, the state to compare it with.
    ///
    /// # Errors
    ///
    /// Returns an error if a commit is missing, if the list of withheld nodes can't be applied, or if git fails.
    pub fn read(
        &self,
        store: &Store,
        folder: &Path,
    ) -> Result<(ReportInput, Option<Comparison>), ReportReadError> {
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
        // Pages don't mention a revision that names the newest commit.
        let rev = rev.filter(|rev| *rev != "HEAD").cloned();
        let evidence = self.evidence(&snapshot.investigation);
        let mut sign_offs = match &self.signers {
            None => signoff::unchecked(store, &snapshot)?,
            Some(signers) => signoff::checked(store, &snapshot, signers)?,
        };
        if rev.is_some() {
            // Sign-offs on later states do not apply to this state.
            sign_offs.all.retain(|it| it.since != Since::Elsewhere);
        }
        sign_offs.all.iter_mut().for_each(SignOff::hide_addresses);
        let listed = withheld(store, folder, self.ignore_uncommitted)?;
        let mut named = List::default();
        for node in &self.withhold {
            named.add(node.clone(), "the publisher", None);
        }
        // The withheld ids refer to the state shown.
        let before: Vec<&Snapshot> = comparison.iter().map(|comparison| &comparison.before).collect();
        let named = named.follow(&snapshot, &history, &before)?;
        let attachments = store.attachments(&snapshot)?;
        let ends = ends(store, folder, &history)?;
        let input = ReportInput::new(snapshot, history);
        let mut input = ReportInput { rev, sign_offs, evidence, attachments, ends, ..input };
        for withheld in [listed, named] {
            if let Some(comparison) = &mut comparison {
                withheld.hide(&mut comparison.before);
            }
            input.withhold(&withheld);
        }
        Ok((input, comparison))
    }
}
