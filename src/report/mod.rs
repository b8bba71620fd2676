//! Investigations as a static site that opens from disk, from any host and under any path.
//!
//! # How
//!
//! 1. `texts` reads what each node says, once; `model` turns each [`ReportInput`] into typed data for the pages; `references`
//!    what it cites, `history` what its commits did, `json` what `investigation.json` holds, `search` what a search
//!    looks through.
//! 2. `templates` ([`Templates`], the one user of minijinja) renders that data through `site-template/`, or through a
//!    folder of the user's that replaces some of its files.
//! 3. [`Builder`] puts the pages together, one investigation after the other: relative paths and bytes. Up to here
//!    everything is pure. With several investigations `sites` is the index above them, with a base URL `feed` and
//!    `page_head` write what needs whole addresses; `diff` is what lies between two commits, `compare` the page of it
//!    (between one of the `ends` and the next it is made unasked), and `challenge` what a reader gives to an agent.
//! 4. [`publish()`] does so for each investigation, as [`Reading`] has read it, and takes over what an earlier run has made of the
//!    same (`parts`). It puts the files into a folder ([`Writing`]: aside first, then renamed into place), or into memory, from
//!    which [`mod@serve`] answers.
//!
//! [`export`] gives one of the site's files alone, and the investigation as one page.
//!
//! # Guarantees
//!
//! - The same input yields the same bytes: no clock, no path of the machine, no order of a hash map.
//! - Every text that others wrote is escaped where it is printed. Unescaped text has the type `SafeHtml`, which
//!   only Markdown that went through [`crate::markdown`] and drawings of [`crate::graph`] ever become.
//! - Every link inside the site is relative, and nothing is loaded from elsewhere; each page's
//!   Content-Security-Policy says so too.
//! - [`Writing`] removes only what an earlier run wrote, and what it takes over is what it would have made.
//!
//! # To add a page
//!
//! 1. `src/report/model/references.rs` is a small one to begin from: the typed data of its page.
//! 2. `src/report/model/mod.rs`: the module, and the data in `Report`.
//! 3. `site-template/references.html`: the template.
//! 4. `src/report/site.rs`: what the template is given, and the page with its path and its title.
//! 5. `site-template/base.html`: the link that every page has to it.
//! 6. `site-template/README.md`: its row, for those who change templates.
//! 7. `src/report/tests.rs`: what it shows. The tests in a browser find a page by themselves.

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
mod parts;
mod pictures;
mod publish;
mod read;
mod references;
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
pub use ends::{End, ends};
pub use help::{Topic, help_site};
pub use history::verb_of;
pub use parts::{Mark, Part};
pub use publish::{Published, Sources, Target, Waiting, publish, publish_into};
pub use read::{NoRange, Range, ReadError, Reading};
pub use site::{Builder, CONTENT_SECURITY_POLICY, Put, RELOAD_SCRIPT, site};
pub use sites::{SiteEntry, Unreadable};
pub use templates::{TemplateError, Templates};
pub use withheld::withheld;
pub use write::{LOCK_WAIT, MANIFEST, MARKER, Writing, dump_template, lock_file, write};

use crate::domain::{Attached, NodeId, SessionId};
use crate::project::Evidence;
use crate::signoff::SignOffs;
use crate::store::{HistoryEntry, Snapshot};
use crate::withhold::Withheld;

/// The input of the report of one investigation.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// Its state at one commit.
    pub snapshot: Snapshot,
    /// The commits that led there, newest first.
    pub history: Vec<HistoryEntry>,
    /// The revision that was asked for, if it is not the newest; every page then says so.
    pub rev: Option<String>,
    /// The sign-offs, and their validity.
    pub sign_offs: SignOffs,
    /// The state of the cited project files now; nothing without a known project.
    pub evidence: Evidence,
    /// The contents of the attachments, as far as there is room for them.
    pub attachments: Vec<Attached>,
    /// The nodes whose texts are left out: their citations are unknown.
    pub withheld: BTreeSet<NodeId>,
    /// The states in which it was ended, where that was more than once, oldest first.
    pub ends: Vec<End>,
}

impl ReportInput {
    /// Leaves the texts of these nodes out.
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
pub struct Contents {
    /// The investigations.
    pub inputs: Vec<ReportInput>,
    /// The unreadable investigations: the index names them.
    pub unreadable: Vec<Unreadable>,
    /// The state that the investigation is compared with, if it is the only one.
    pub comparison: Option<Comparison>,
}

impl From<&[ReportInput]> for Contents {
    fn from(inputs: &[ReportInput]) -> Contents {
        Contents { inputs: inputs.to_vec(), ..Contents::default() }
    }
}

/// The options of a site.
#[derive(Clone, Debug)]
pub struct SiteOptions {
    /// A folder whose files replace those of the built-in template, or join them.
    pub template: Option<PathBuf>,
    /// The base address of the site, if known: for a feed and for absolute links.
    pub base_url: Option<BaseUrl>,
    /// Where a forge takes objections as issues.
    pub issue_url: Option<IssueUrl>,
    /// Whether the pages are served: such pages ask their server whether there is another state to show.
    pub live: bool,
    /// Name and version of the program, for the foot of each page.
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

/// An error of making a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The only investigation can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// None of several investigations can be read.
    #[error("none of the {all} investigations can be read; {}: {}", first.name, first.reason)]
    NoneReadable {
        /// Their number.
        all: usize,
        /// The first of them.
        first: Unreadable,
    },
    /// A template that can't be read, compiled or rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Two inputs are one investigation.
    #[error("the investigation {0} was given twice: give each one once")]
    Twice(SessionId),
    /// A path that can't be a file of the site.
    #[error("`{path}` can't be a file of the site: {reason}")]
    BadPath {
        /// The path in the site.
        path: String,
        /// The fault.
        reason: &'static str,
    },
    /// The data file could not be written as JSON.
    #[error("`{path}` can't be written as JSON")]
    Json {
        /// The path in the site.
        path: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The output folder contains something that no earlier run wrote.
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
    /// The output folder is a file system's root or the like, which can't be replaced.
    #[error("{} has no parent folder for temporary files: choose a folder inside it", out.display())]
    NoParent {
        /// The path.
        out: PathBuf,
    },
    /// A person interrupted the run before the site was complete.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// A file or folder could not be read or written.
    #[error("can't {action} {}", path.display())]
    Io {
        /// The attempted operation.
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
