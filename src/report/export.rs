//! One investigation as one file, in the forms that other programs and people read.

use super::model::Report;
use super::site::{assessed, document, ruleset_of};
use super::{ReportError, ReportInput, SiteOptions, Templates, json};
use crate::graph::{self, Pages, SvgOptions};

/// The facts and what follows from them, as the site's `investigation.json`.
///
/// # Errors
///
/// None in practice; see [`ReportError::Json`].
pub fn data(input: &ReportInput) -> Result<Vec<u8>, ReportError> {
    json::file(input, &Report::of(input).cited, "investigation.json")
}

/// The report as one page.
pub struct Document {
    /// The page.
    pub bytes: Vec<u8>,
    /// The number of nodes that it shows only by title, since there are too many.
    pub in_short: usize,
}

/// The report as one page, which opens without any other file and asks for none.
///
/// # Errors
///
/// A template that fails.
pub fn html(input: &ReportInput, options: &SiteOptions) -> Result<Document, ReportError> {
    document(input, &Templates::load(options)?)
}

/// The tree for Graphviz.
pub fn dot(input: &ReportInput) -> String {
    graph::dot(&assessed(&input.snapshot.investigation, &ruleset_of(input)))
}

/// The tree for READMEs.
pub fn mermaid(input: &ReportInput) -> String {
    graph::mermaid(&assessed(&input.snapshot.investigation, &ruleset_of(input)))
}

/// The tree as a standalone picture.
pub fn svg(input: &ReportInput) -> String {
    let (investigation, ruleset) = (&input.snapshot.investigation, ruleset_of(input));
    let options = SvgOptions { standalone: Some(&ruleset), ..SvgOptions::default() };
    graph::svg(&Pages::new(&assessed(investigation, &ruleset)), 0, &options).markup
}
