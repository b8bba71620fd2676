//! Exports an investigation as a single file, in formats for people and other programs.

use super::model::Report;
use super::site::{assessed, document, ruleset_of};
use super::{ReportError, ReportInput, SiteOptions, Templates, json};
use crate::graph::{self, DrawnTree, SvgOptions};

/// Returns the facts and the results computed from them, as in the site's `investigation.json`.
///
/// # Errors
///
/// Returns [`ReportError::Json`] if serialization fails, which does not happen in practice.
pub fn data(input: &ReportInput) -> Result<Vec<u8>, ReportError> {
    json::file(input, &Report::of(input).cited, "investigation.json", None)
}

/// The single-file report.
pub struct SingleFile {
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// The number of nodes reduced to their titles to limit the size.
    pub in_short: usize,
}

/// Returns the report as one self-contained page.
///
/// # Errors
///
/// Returns an error if a template fails.
pub fn html(input: &ReportInput, options: &SiteOptions) -> Result<SingleFile, ReportError> {
    document(input, &Templates::load(options)?)
}

/// Returns the tree as a Graphviz graph.
pub fn dot(input: &ReportInput) -> String {
    graph::dot(&assessed(&input.snapshot.investigation, &ruleset_of(input)))
}

/// Returns the tree as a Mermaid diagram, as used in READMEs.
pub fn mermaid(input: &ReportInput) -> String {
    graph::mermaid(&assessed(&input.snapshot.investigation, &ruleset_of(input)))
}

/// Returns the tree as a standalone SVG picture.
pub fn svg(input: &ReportInput) -> String {
    let (investigation, ruleset) = (&input.snapshot.investigation, ruleset_of(input));
    let options = SvgOptions { standalone: true, ..SvgOptions::default() };
    graph::svg(&DrawnTree::new(&assessed(investigation, &ruleset)), &options).markup
}
