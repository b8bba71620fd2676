//! Whole sites in memory, for the tests in `src/report` and in `it`.

use std::collections::BTreeMap;

use super::{Builder, Comparison, ReportError, ReportInput, Templates, UnreadableInvestigation};

/// The contents of a site.
#[derive(Clone, Debug, Default)]
pub struct SiteContents {
    pub inputs: Vec<ReportInput>,
    pub unreadable: Vec<UnreadableInvestigation>,
    /// The comparison for the `compare` page. Used only for a single investigation.
    pub comparison: Option<Comparison>,
}

impl From<&[ReportInput]> for SiteContents {
    fn from(inputs: &[ReportInput]) -> SiteContents {
        SiteContents { inputs: inputs.to_vec(), ..SiteContents::default() }
    }
}

/// Builds the files of a site, by path.
pub fn site(
    contents: &SiteContents,
    templates: &Templates,
) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
    let SiteContents { inputs, unreadable, comparison } = contents;
    let builder = Builder::new(templates, inputs.len() + unreadable.len() != 1);
    let mut files = BTreeMap::new();
    let mut put = |path: &str, bytes: Vec<u8>| {
        files.insert(path.to_owned(), bytes);
        Ok(())
    };
    builder.assets(&mut put)?;
    let mut entries = Vec::with_capacity(inputs.len());
    for input in inputs {
        entries.push(builder.investigation(input, comparison.as_ref(), "", &mut |_, _| {}, &mut put)?);
    }
    builder.rest(entries, unreadable, "", &mut put)?;
    Ok(files)
}
