//! Investigations as a static site that opens from disk, from any host and under any path.
//!
//! # How
//!
//! 1. `model` turns each [`ReportInput`] into typed data for the pages. `texts` parses the text of each node once,
//!    `history` collects commits, and `json` and `search` build the data files.
//! 2. `templates` ([`Templates`], the only module that uses minijinja) renders that data with `site-template/`. A user's folder
//!    can replace some of its files.
//! 3. [`Builder`] assembles the pages of one investigation at a time, as relative paths and bytes. Apart from
//!    `templates`, which reads that folder, all steps up to this point are pure. `sites` builds the index of several
//!    investigations. `page_head` uses the base URL, if there is one. `diff` computes the difference between two commits. `compare` shows it on a page, and does the same
//!    for consecutive ends, which `ends` reads from the tags. `challenge` prepares objections for the reader.
//! 4. [`publish()`] reads each investigation ([`ReadOptions`]), builds its pages, and reuses unchanged output from an
//!    earlier run (`parts`). [`Writing`] writes the site to a temporary folder inside the output folder, and then puts its
//!    files into place. [`mod@serve`] keeps the site in memory and serves it from there.
//!
//! [`export`] returns single files of the site, or the whole investigation as one page. `document` writes it and its nodes as
//! Markdown, for `tot export` and for resources.
//!
//! # Guarantees
//!
//! - The same input yields the same bytes. The bytes do not depend on the clock, on local paths or on hash map order.
//! - Untrusted text is always escaped when printed. Only values of type `SafeHtml` are printed unescaped. They are created only
//!   from Markdown rendered by [`crate::markdown`] and from drawings made by [`crate::graph`].
//! - Every link inside the site is relative, and pages load nothing from elsewhere. The Content-Security-Policy of each page
//!   enforces this.
//! - [`Writing`] removes only files written by an earlier run, and reuses only files that a rebuild would reproduce.
//!
//! # Adding a page
//!
//! 1. `src/report/model/references.rs`: the typed data for the page. This file is a small example.
//! 2. `src/report/model/mod.rs`: the module, and the data in `Report`.
//! 3. `site-template/references.html`: the template. It begins with a comment that says which page it makes.
//! 4. `src/report/site.rs`: the tab, the context of the template, and the page with its path and title.
//!
//! A [`ReportInput`] already has the judged sign-offs and the history, so a new line on a page reads nothing more. The print page
//! repeats much of the others in `print.html`.
//!
//! The tests that read all pages of a site also read the new one. They fail if it shows a verdict and has no reader:
//! [`crate::assess`] says how to add one.

mod address;
mod attachments;
mod challenge;
pub mod changes;
mod compare;
pub mod diff;
pub mod difference;
pub mod document;
mod ends;
pub mod export;
mod history;
mod json;
mod model;
mod page_head;
mod pager;
mod parts;
mod pictures;
mod publish;
mod read;
pub mod review;
mod search;
pub mod serve;
mod site;
mod sites;
mod svg;
mod templates;
#[cfg(test)]
mod tests;
mod text_links;
mod texts;
mod withheld;
mod write;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use address::{BaseUrl, BaseUrlError, IssueUrl, IssueUrlError};
pub use compare::Comparison;
pub use ends::{EndedState, ends};
pub use history::verb_of;
pub use parts::{FileMark, FileMarks, SitePart};
pub use publish::{Published, SiteTarget, Sources, Waiting, publish, publish_into};
pub use read::{NoRange, Range, ReadOptions, ReportReadError};
pub use site::{Builder, CONTENT_SECURITY_POLICY, Put, RELOAD_SCRIPT};
pub use sites::{SiteEntry, UnreadableInvestigation};
pub(crate) use templates::collect;
pub use templates::{TemplateError, Templates};
pub use withheld::{check_uncommitted, withheld};
pub use write::{MANIFEST, MARKER, Writing, dump_template, folder_in};

use crate::assess::ProjectInputs;
use crate::domain::run::Ran;
use crate::domain::{Attached, NodeId};
use crate::service::project::ProjectEvidence;
use crate::service::signoff::SignOffs;
use crate::service::withhold::Withheld;
use crate::store::{HistoryEntry, Snapshot};

/// The input for the report on one investigation.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// The state at one commit.
    pub snapshot: Snapshot,
    /// The commits up to that state, newest first.
    pub history: Vec<HistoryEntry>,
    /// The requested revision, if it is not the newest commit. Every page then mentions it.
    pub rev: Option<String>,
    /// The sign-offs and their validity.
    pub sign_offs: SignOffs,
    /// The current state of the cited project files. Empty if the project is unknown.
    pub evidence: ProjectEvidence,
    /// The contents of the attachments, within the size limit.
    pub attachments: Vec<Attached>,
    /// The nodes whose text is withheld. Citations in withheld text are unknown.
    pub withheld: BTreeSet<NodeId>,
    /// The states in which the investigation ended, oldest first. Empty if it ended only once.
    pub ends: Vec<EndedState>,
}

impl ReportInput {
    /// Creates the input for a state and its history, without anything else.
    pub fn new(snapshot: Snapshot, history: Vec<HistoryEntry>) -> ReportInput {
        ReportInput {
            snapshot,
            history,
            rev: None,
            sign_offs: SignOffs::default(),
            evidence: ProjectEvidence::default(),
            attachments: Vec::new(),
            withheld: BTreeSet::new(),
            ends: Vec::new(),
        }
    }

    /// Returns what became of the inputs of the commands, except those that are withheld.
    pub(crate) fn inputs(&self) -> Option<ProjectInputs> {
        let mut inputs = self.evidence.inputs.clone()?;
        let investigation = &self.snapshot.investigation;
        let is_shown = |ran: &Ran| !ran.output.sha256.is_empty();
        inputs.states.retain(|id, _| investigation.run(*id).and_then(|run| run.ran()).is_some_and(is_shown));
        Some(inputs)
    }

    /// Removes the text of the withheld nodes.
    pub fn withhold(&mut self, withheld: &Withheld) {
        withheld.hide_in(&mut self.history, &self.snapshot);
        self.withheld.extend(withheld.hide(&mut self.snapshot));
        self.ends.iter_mut().for_each(|end| drop(withheld.hide(&mut end.snapshot)));
        let investigation = &self.snapshot.investigation;
        self.attachments.retain(|file| investigation.attachments_of(&file.node).contains_key(&file.name));
    }
}

/// The options of a site.
#[derive(Clone, Debug, Default)]
pub struct SiteOptions {
    /// A folder with files that replace or extend the built-in template.
    pub template: Option<PathBuf>,
    /// The base address for absolute links, if known.
    pub base_url: Option<BaseUrl>,
    /// The forge page where readers can file objections as issues.
    pub issue_url: Option<IssueUrl>,
    /// True if the pages are served. Served pages reload when the investigation changes.
    pub live: bool,
}

/// An error while building a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The only investigation can't be read.
    #[error(transparent)]
    Read(#[from] ReportReadError),
    /// None of several investigations can be read.
    #[error("none of the {all} investigations can be read; {}: {}", first.name, first.reason)]
    NoneReadable {
        /// The number of investigations.
        all: usize,
        /// The first unreadable investigation.
        first: UnreadableInvestigation,
    },
    /// A template can't be read, compiled or rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A path is not valid in a site.
    #[error("`{path}` is not a valid path in a site: {reason}")]
    BadPath {
        /// The path in the site.
        path: String,
        /// The problem.
        reason: &'static str,
    },
    /// The data file could not be serialized.
    #[error("`{path}` can't be written as JSON")]
    Json {
        /// The path in the site.
        path: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The output folder contains a file or folder that no earlier run wrote.
    #[error("{} is not empty, and {} in it was not written by this program, so nothing was changed: choose another \
        folder, or move that file away", out.display(), found.display())]
    Foreign {
        /// The output folder.
        out: PathBuf,
        /// The foreign file or folder.
        found: PathBuf,
    },
    /// The output folder is a file, or a link to one.
    #[error("{} is not a folder: choose another one", out.display())]
    NotAFolder {
        /// The path.
        out: PathBuf,
    },
    /// Another process is writing to the output folder.
    #[error("another process has been writing the site in {} for too long, and nothing was changed: end it if it hangs, \
        and try again", out.display())]
    Busy {
        /// The output folder.
        out: PathBuf,
    },
    /// The run was interrupted before the site was complete.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// A file system operation failed.
    #[error("can't {action} {}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl ReportError {
    /// Returns a hint, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReportError::Read(error) => error.hint(),
            _ => None,
        }
    }
}
