//! Investigations as a static site that opens from disk, from any host and under any path.
//!
//! # How
//!
//! 1. `model` turns each [`ReportInput`] into typed data for the pages. `texts` reads the texts of each node once, `references`
//!    collects citations, `history` the commits, `json` the data file, and `search` the data of the search.
//! 2. `templates` ([`Templates`], the only user of minijinja) renders that data with `site-template/`, or with a folder that
//!    replaces some of its files.
//! 3. [`Builder`] assembles the pages of one investigation after the other, as relative paths and bytes. Everything up to
//!    here is pure. `sites` is the index of several investigations. `feed` and `page_head` use the base URL, if there is
//!    one. `diff` computes the difference between two commits, and `compare` is its page. It is also built between
//!    consecutive `ends`. `challenge` prepares objections for the reader.
//! 4. [`publish()`] reads each investigation ([`ReadOptions`]), builds its pages, and reuses unchanged output of an earlier run
//!    (`parts`). It writes into a folder ([`Writing`]: first to a temporary folder, which is then renamed), or into memory,
//!    from which [`mod@serve`] answers.
//!
//! [`export`] returns single files of the site, and the investigation as one page.
//!
//! # Guarantees
//!
//! - The same input yields the same bytes. They do not depend on the clock, on paths of the machine or on the order of a
//!   hash map.
//! - Every untrusted text is escaped when printed. Unescaped text has the type `SafeHtml`, which is made only from Markdown
//!   rendered by [`crate::markdown`] and from drawings of [`crate::graph`].
//! - Every link inside the site is relative, and pages load nothing from elsewhere. The Content-Security-Policy of each page
//!   enforces it.
//! - [`Writing`] removes only files written by an earlier run, and reuses only files that a rebuild would reproduce.
//!
//! # Adding a page
//!
//! 1. `src/report/model/references.rs`: the typed data of a page. This one is a small example.
//! 2. `src/report/model/mod.rs`: the module, and the data in `Report`.
//! 3. `site-template/references.html`: the template.
//! 4. `src/report/site.rs`: the context of the template, and the page with its path and title.
//! 5. `site-template/base.html`: the link in the navigation.
//! 6. `site-template/README.md`: a row for authors of templates.
//! 7. `src/report/tests.rs`: the expected content. The browser tests find pages by themselves.

mod address;
mod attachments;
mod challenge;
pub mod changes;
mod compare;
pub mod diff;
pub mod difference;
mod ends;
pub mod export;
mod feed;
mod help;
mod history;
mod json;
mod model;
mod page_head;
mod pager;
mod parts;
mod pictures;
mod publish;
mod read;
mod references;
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
pub use help::{Topic, help_site};
pub use history::verb_of;
pub use parts::{FileMark, SitePart};
pub use publish::{Published, SiteTarget, Sources, Waiting, publish, publish_into};
pub use read::{NoRange, Range, ReadOptions, ReportReadError};
pub use site::{Builder, CONTENT_SECURITY_POLICY, Put, RELOAD_SCRIPT, site};
pub use sites::{SiteEntry, UnreadableInvestigation};
pub use templates::{TemplateError, Templates};
pub use withheld::withheld;
pub use write::{LOCK_WAIT, MANIFEST, MARKER, Writing, dump_template, lock_file, write};

use crate::domain::{Attached, NodeId, SessionId};
use crate::service::project::ProjectEvidence;
use crate::service::signoff::SignOffs;
use crate::service::withhold::Withheld;
use crate::store::{HistoryEntry, Snapshot};

/// The input of the report of one investigation.
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
    /// The current state of the cited project files. Empty without a known project.
    pub evidence: ProjectEvidence,
    /// The contents of the attachments, within the size limit.
    pub attachments: Vec<Attached>,
    /// The nodes with withheld texts. Their citations are unknown.
    pub withheld: BTreeSet<NodeId>,
    /// The states in which it was ended, oldest first. Empty if it was ended only once.
    pub ends: Vec<EndedState>,
}

impl ReportInput {
    /// Removes the texts of the withheld nodes.
    pub fn withhold(&mut self, withheld: &Withheld) {
        withheld.hide_in(&mut self.history, &self.snapshot);
        self.withheld.extend(withheld.hide(&mut self.snapshot));
        self.ends.iter_mut().for_each(|end| drop(withheld.hide(&mut end.snapshot)));
        let investigation = &self.snapshot.investigation;
        self.attachments.retain(|file| investigation.attachments_of(&file.node).contains_key(&file.name));
    }
}

/// The input of a site.
#[derive(Clone, Debug, Default)]
pub struct SiteContents {
    /// The investigations.
    pub inputs: Vec<ReportInput>,
    /// The unreadable investigations, listed by the index.
    pub unreadable: Vec<UnreadableInvestigation>,
    /// The state to compare with, for a single investigation.
    pub comparison: Option<Comparison>,
}

impl From<&[ReportInput]> for SiteContents {
    fn from(inputs: &[ReportInput]) -> SiteContents {
        SiteContents { inputs: inputs.to_vec(), ..SiteContents::default() }
    }
}

/// The options of a site.
#[derive(Clone, Debug)]
pub struct SiteOptions {
    /// A folder with files that replace or extend the built-in template.
    pub template: Option<PathBuf>,
    /// The base address for the feed and for absolute links, if known.
    pub base_url: Option<BaseUrl>,
    /// The page of a forge for objections as issues.
    pub issue_url: Option<IssueUrl>,
    /// True if the pages are served. Served pages reload when the investigation changes.
    pub live: bool,
    /// The name and version of the program, for the footer.
    pub generator: String,
}

impl Default for SiteOptions {
    fn default() -> Self {
        SiteOptions {
            template: None,
            base_url: None,
            issue_url: None,
            live: false,
            generator: concat!("Tree of Thoughts ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
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
        /// The first unreadable one.
        first: UnreadableInvestigation,
    },
    /// A template can't be read, compiled or rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Two inputs have the same investigation id.
    #[error("the investigation {0} was given twice: give each one once")]
    Twice(SessionId),
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
    /// The output folder contains something not written by an earlier run.
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
    /// The output folder has no parent, such as the root of a file system, so it can't be replaced.
    #[error("{} has no parent folder for temporary files: choose a folder inside it", out.display())]
    NoParent {
        /// The path.
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
