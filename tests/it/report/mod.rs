//! The site generator, as a command.

mod compare;
mod hostile;
mod incremental;
mod judge;
mod leaks;
pub mod pages;
#[cfg(unix)]
mod publishing;
mod serve;
mod site;
mod withheld;

use std::path::{Path, PathBuf};

use tree_of_thoughts::report::{
    Builder, Comparison, ReportError, ReportInput, Templates, UnreadableInvestigation,
};

use crate::support::{Sandbox, TOT_REPORT, short, there};

/// Runs `tot-report` into an empty folder. Returns the folder, or the error, after which there must be no folder.
fn published(sandbox: &Sandbox, source: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let out = sandbox.path("site");
    let _ = std::fs::remove_dir_all(&out);
    let said = sandbox.run(TOT_REPORT, &[&[source.to_str().unwrap(), "--out", "site"], more].concat());
    if said.status == 0 {
        return Ok(out);
    }
    assert!(!out.exists());
    Err(said.err)
}

/// Returns a page of a site.
fn page(site: &Path, path: &str) -> String {
    short(&std::fs::read_to_string(there(site, path)).unwrap())
}
