//! Project files cited by a result or the report: collects the paths to look up, then pins the files found.

use std::collections::HashSet;

use super::amend::Amend;
use super::backing::NewCitation;
use super::commit::NodeResult;
use super::sources::MOST;
use crate::domain::{
    Citation, CitedPath, Code, Conclusion, Diagnostic, Lines, LookedUp, LookedUpPaths, NamedIn, Wording,
};
use crate::markdown::{self, Mention, MentionKind, Parsed, Source, SourceTarget};

/// Warning codes for the sources and citations of a text.
pub const WARNINGS: &[Code] = &[
    Code::UnreadableReference,
    Code::ReferenceNotFound,
    Code::QuoteNotThere,
    Code::SourceNotThere,
    Code::NumberNotThere,
    Code::ReferenceIgnored,
];

/// Maximum number of missing paths named in a message.
const NAMED: usize = 5;

/// Returns the paths cited by these results.
pub fn cited_by_results(results: &[NodeResult]) -> Vec<CitedPath> {
    let cited = |result: &NodeResult| {
        let texts = [Some(result.findings.as_str()), result.evidence.as_deref()];
        cited(&result.references, texts)
    };
    results.iter().flat_map(cited).collect()
}

/// Returns the paths cited by an amendment.
pub fn cited_by_amendment(request: &Amend) -> Vec<CitedPath> {
    let texts = [request.findings.as_deref(), request.evidence.as_deref()];
    let mut cited = cited(request.references.as_deref().unwrap_or_default(), texts);
    cited.extend(cited_by_report([request.bottom_line.as_deref(), request.conclusion.as_deref()]));
    cited
}

/// Returns the places that are sources of a report: of its bottom line and its conclusion.
pub fn cited_by_report(texts: [Option<&str>; 2]) -> Vec<CitedPath> {
    let paths = texts.into_iter().flatten().flat_map(|text| source_paths(&Parsed::new(text)));
    let mut seen = HashSet::new();
    paths.filter(|path| seen.insert(path.clone())).take(MOST).collect()
}

fn cited(given: &[NewCitation], texts: [Option<&str>; 2]) -> Vec<CitedPath> {
    let [findings, evidence] = texts.map(|text| text.map(Parsed::new));
    let given = given
        .iter()
        .filter_map(|it| given_path(&it.target, [&it.lines, &it.commit, &it.quote].map(Option::as_deref)));
    let named = findings.iter().chain(&evidence).flat_map(named_paths);
    given.chain(named).chain(findings.iter().flat_map(source_paths)).take(MOST).collect()
}

/// Returns the path cited by a structured source, if any.
fn given_path(target: &str, [lines, commit, quote]: [Option<&str>; 3]) -> Option<CitedPath> {
    let path = markdown::own_path(target)?;
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Some(CitedPath {
        lines: lines.and_then(|lines| lines.parse().ok()).or_else(|| lines_of(&path)),
        commit: commit.and_then(given),
        quote: quote.and_then(given),
        path: path.target,
    })
}

/// Returns the paths cited in the text.
fn named_paths(text: &Parsed) -> impl Iterator<Item = CitedPath> + use<> {
    let paths = text.references().0.into_iter().filter(|mention| mention.kind == MentionKind::Path);
    paths.filter(|mention| markdown::own_path(&mention.target).is_some()).map(|mention| CitedPath {
        lines: lines_of(&mention),
        path: mention.target,
        quote: mention.quote,
        commit: None,
    })
}

/// Returns the sources of the text that have to be looked up: places in the project and other investigations.
fn source_paths(text: &Parsed) -> impl Iterator<Item = CitedPath> + use<> {
    let sources = text.sources().into_iter();
    sources.filter_map(|source| source_path(&source))
}

/// Returns what is looked up for a source. The path may be the address of another investigation.
pub(super) fn source_path(source: &Source) -> Option<CitedPath> {
    match &source.target {
        SourceTarget::Place(place) => {
            Some(CitedPath { path: place.target.clone(), lines: lines_of(place), ..CitedPath::default() })
        }
        SourceTarget::Address(address) => Some(CitedPath { path: address.clone(), ..CitedPath::default() }),
        _ => None,
    }
}

/// Returns the lines that a mention names.
pub fn lines_of(mention: &Mention) -> Option<Lines> {
    let first = mention.line?;
    Some(Lines { first, last: mention.last_line.unwrap_or(first) })
}

/// Pins each structured source to the file found for it. Returns the lookups to warn about.
pub(super) fn pin_given(given: &mut [Citation], known: &LookedUpPaths) -> Vec<LookedUp> {
    let mut missing = Vec::new();
    for citation in given {
        let said = [&citation.lines, &citation.commit, &citation.quote].map(Option::as_deref);
        let Some(found) = given_path(&citation.target, said).and_then(|path| known.get(&path)) else {
            continue;
        };
        citation.pinned = found.pin().cloned();
        missing.extend(Some(found.clone()).filter(|found| !matches!(found, LookedUp::Found(_))));
    }
    missing
}

/// Returns the texts in which files are named: the findings, the evidence, and the sources of the findings.
pub(super) fn named([findings, evidence]: [Option<&Parsed>; 2]) -> impl Iterator<Item = (NamedIn, &Parsed)> {
    let texts = [(NamedIn::Findings, findings), (NamedIn::Evidence, evidence), (NamedIn::Source, findings)];
    texts.into_iter().filter_map(|(named_in, text)| Some((named_in, text?)))
}

/// Adds the files cited in `text` to the sources, except those that already have a structured source. Removes files
/// cited only in the `earlier` version of the text. Where a line is as it was, nobody has read its files again, so what was
/// recorded stays. Returns the lookups to warn about.
pub(super) fn pin_named(
    references: &mut Vec<Citation>,
    named_in: NamedIn,
    (text, earlier): (&Parsed, &str),
    known: &LookedUpPaths,
) -> Vec<LookedUp> {
    let before =
        references.extract_if(.., |citation| citation.named_in == Some(named_in)).collect::<Vec<_>>();
    let mut missing = Vec::new();
    let named: Vec<CitedPath> = match named_in {
        _ if known.is_empty() && before.is_empty() => Vec::new(),
        NamedIn::Source => source_paths(text).collect(),
        NamedIn::Findings | NamedIn::Evidence => named_paths(text).collect(),
    };
    for path in named {
        let lines = path.lines.map(|lines| lines.to_string());
        let is_known =
            |it: &&Citation| (&it.target, &it.lines, &it.quote) == (&path.path, &lines, &path.quote);
        let found = known.get(&path);
        let was = before.iter().find(is_known);
        let stays = was.is_some() && text.has_lines_of(earlier, &path.path);
        // An earlier author read what is not here, or no longer.
        if stays || found.is_none_or(|it| matches!(it, LookedUp::Missing(_))) {
            references.extend(was.filter(|it| !references.contains(it)).cloned());
        }
        let Some(found) = found.filter(|it| !stays || matches!(it, LookedUp::Missing(_))) else { continue };
        match found {
            LookedUp::Found(_) => {}
            // Authors who kept a quote after a warning are not warned again.
            LookedUp::Misquoted(..) if before.iter().any(|it| is_known(&it)) => {}
            // `sources` warns of it.
            LookedUp::Missing(_) if named_in == NamedIn::Source => {}
            other => missing.push(other.clone()),
        }
        let is_missing_source = named_in == NamedIn::Source && matches!(found, LookedUp::Missing(_));
        let pinned = found.pin().cloned();
        // A source that was never there is stored without a pin, so that its readers are told.
        if pinned.is_none() && !(is_missing_source && was.is_none()) {
            continue;
        }
        let is_same = |it: &Citation| {
            let is_open = it.named_in.is_none() || named_in == NamedIn::Source;
            is_open && it.pinned == pinned && (pinned.is_some() || is_known(&it))
        };
        if !references.iter().any(is_same) {
            references.push(Citation {
                target: path.path,
                lines,
                quote: path.quote,
                named_in: Some(named_in),
                pinned,
                ..Citation::default()
            });
        }
    }
    missing
}

/// Pins the places that are sources of a report, which was `earlier`.
pub(super) fn pin_report(report: &mut Conclusion, earlier: &str, known: &LookedUpPaths) {
    let text = Parsed::new(&report.report());
    pin_named(&mut report.references, NamedIn::Source, (&text, earlier), known);
}

/// Returns warnings about missing sources, misquoted files, and files ignored by git.
pub(super) fn not_found(about: &str, unpinned: Vec<LookedUp>) -> Vec<Diagnostic> {
    let [mut missing, mut misquoted, mut ignored, mut unread] = <[Vec<String>; 4]>::default();
    for one in unpinned {
        match one {
            LookedUp::Missing(what) => missing.push(what),
            LookedUp::Misquoted(_, what) => misquoted.push(what),
            LookedUp::Ignored(path) => ignored.push(path),
            LookedUp::Unread(why) => unread.push(why),
            LookedUp::Found(_) => {}
        }
    }
    let warning = |code, mut all: Vec<String>, what: &str, how: Wording| {
        all.dedup();
        all.first()?;
        let more = all.len().saturating_sub(NAMED);
        all.truncate(NAMED);
        if more > 0 {
            all.push(format!("{more} more"));
        }
        let message = format!("{about} cites {what}: {}.", all.join("; "));
        Some(Diagnostic::new(code, message).about(about).suggest(how))
    };
    let amend = Wording::both("tot_amend", "`tot amend`");
    let missing = warning(
        Code::ReferenceNotFound,
        missing,
        "missing sources",
        amend.map(|call| {
            format!(
                "Look again, and correct it with {call}; name another repository as `owner/name path:line`."
            )
        }),
    );
    let misquoted = warning(
        Code::QuoteNotThere,
        misquoted,
        "words that the file does not contain",
        amend.map(|call| format!("Look again, and correct the lines or the words with {call}.")),
    );
    let unread = warning(
        Code::StoreError,
        unread,
        "files of a project that git can't read, so nothing of them is stored",
        amend.map(|call| {
            format!("Mend it (a bad index: delete it, `git reset`), and cite again with {call}.")
        }),
    );
    ignored.sort();
    let ignored = warning(
        Code::ReferenceIgnored,
        ignored,
        "ignored files, so only the names are stored",
        "If the content may be shared, quote the relevant part in the findings.".into(),
    );
    missing.into_iter().chain(misquoted).chain(unread).chain(ignored).collect()
}
