//! The sources of findings and of the conclusion: whether the runs, nodes and places that their links name are there.

use std::collections::{HashMap, HashSet};

use strsim::damerau_levenshtein;

use super::citing::source_path;
use super::run;
use crate::domain::{
    CitedPath, Code, Diagnostic, Investigation, LookedUp, LookedUpPaths, NotFound, Run, RunId, Wording,
};
use crate::markdown::{How, Parsed, Sentence, Source, SourceTarget, node_ids};
use crate::numbers::{Figures, has_number, is_too_long};
use crate::ruleset::{EffectiveRules, Enforcement};
use crate::text::{counted, one_line, shorten, without_escapes};

/// Maximum number of different sources checked in one text.
pub(super) const MOST: usize = 200;

/// Maximum number of sources, and of numbers of each, named in a message.
const NAMED: usize = 5;

/// Maximum length of a sentence in a message, in characters.
const QUOTED: usize = 120;

/// Maximum length of a source in a message, and of an id that is compared with others, in characters.
const SHOWN: usize = 80;

/// Returns what a draft says without a source, and in words that its readers don't know, and whether nobody looked at the places
/// that it names. Sentences without a source are told where the method asks for a report with a bottom line.
pub fn preview(
    rules: &EffectiveRules,
    texts: [&str; 2],
    known: &LookedUpPaths,
) -> impl Iterator<Item = Diagnostic> + use<> {
    let texts = texts.map(Parsed::new);
    let places: HashSet<CitedPath> = texts.iter().flat_map(places).collect();
    let unchecked = places.len() * usize::from(places.iter().all(|place| !known.contains_key(place)));
    let [bottom_line, sentences] = texts.map(|text| text.sentences());
    let is_asked = rules.ruleset().checks.missing_bottom_line != Enforcement::Off;
    let known_from_nothing = |it: &&Sentence| is_asked && !it.has_link && has_number(&it.own);
    let unknown = sentences.iter().filter(known_from_nothing);
    let quote = |it: &Sentence| format!("“{}”", shorten(it.text.trim_end_matches('.'), QUOTED));
    let unknown = unknown.map(quote).collect();
    let is_state = |word: &&str| rules.ruleset().states.iter().any(|state| state.name.as_str() == *word);
    let words = bottom_line.iter().chain(&sentences).flat_map(|Sentence { own, .. }| {
        let ids = node_ids(own).into_iter().map(|range| &own[range]);
        ids.chain(own.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(is_state))
    });
    let how = "Link each to how it is known: `[4000 jobs](run:4c7d8f)`. Or to `node:R1.A`, `src/a.rs:12`, `how:worked-out`, \
               `how:assumed`, `how:not-recorded`.";
    let unknown = warning(Code::NoSource, "", "has numbers without a source", unknown);
    let insider = warning(
        Code::InsiderWords,
        "",
        "uses ids or state names, which its readers don't know",
        words.map(str::to_owned).collect(),
    );
    let mend = "Say what was found. Name a node only as a source: `[two lots](node:R1.A)`.";
    let unchecked = (unchecked > 0).then(|| {
        let were = if unchecked == 1 { "was" } else { "were" };
        let message =
            format!("No project is here, so {} in files {were} not checked.", counted(unchecked, "place"));
        Diagnostic::new(Code::PlacesNotChecked, message).suggest(Wording::both(
            "Send the draft again to a server in the project, or have `tot end --draft` run there.",
            "Run it in the project.",
        ))
    });
    [unknown.map(|it| it.suggest(how)), insider.map(|it| it.suggest(mend)), unchecked].into_iter().flatten()
}

/// Returns the places in the project that are sources of a text.
pub fn places(text: &Parsed) -> impl Iterator<Item = CitedPath> + use<> {
    let sources = text.sources().into_iter();
    let places = sources.filter(|source| matches!(source.target, SourceTarget::Place(_)));
    places.filter_map(|source| source_path(&source))
}

/// Returns the warnings about the sources of a text. `about` is the node, or empty for the report.
pub fn warnings(
    investigation: &Investigation,
    about: &str,
    text: &Parsed,
    known: &LookedUpPaths,
) -> impl Iterator<Item = Diagnostic> + use<> {
    let sources = text.sources();
    let [missing, unchecked] = not_there(investigation, about, &sources, known);
    missing.into_iter().chain(unchecked).chain(numbers_not_there(investigation, about, &sources))
}

/// Returns a warning about sources that are not there, and one about those that were not checked.
fn not_there(
    investigation: &Investigation,
    about: &str,
    sources: &[Source],
    known: &LookedUpPaths,
) -> [Option<Diagnostic>; 2] {
    let mut seen = HashSet::new();
    let mut new = sources.iter().filter(|source| seen.insert(&source.written));
    let missing = new.by_ref().take(MOST).filter_map(|source| {
        let why = fault(investigation, source, known)?;
        Some(format!("{} ({})", shorten(&one_line(&source.written), SHOWN), one_line(&why)))
    });
    let how = "names sources that are not there";
    let missing = warning(Code::SourceNotThere, about, how, missing.collect());
    let unchecked = new.count();
    let unchecked = (unchecked > 0).then(|| {
        let message =
            format!("Of the sources of one text, {MOST} are looked up: {unchecked} more were not checked.");
        Diagnostic::new(Code::SourceNotThere, message).about(about)
    });
    [missing, unchecked]
}

/// Returns a warning about the numbers in sources that the output of their runs does not show.
fn numbers_not_there(investigation: &Investigation, about: &str, sources: &[Source]) -> Option<Diagnostic> {
    let mut printed: HashMap<RunId, Option<Figures>> = HashMap::new();
    let of_runs = sources.iter().filter(|source| matches!(source.target, SourceTarget::Run(_)));
    let missing = of_runs.take(MOST).filter_map(|source| {
        let SourceTarget::Run(named) = &source.target else { return None };
        let run = found_run(investigation, named).ok()?;
        let figures = printed.entry(run.id).or_insert_with(|| figures(run)).as_ref()?;
        let name = shorten(&one_line(&source.written), SHOWN);
        let missing = not_shown(figures, source);
        let part = if is_cut(run) { ", of whose output a part is stored" } else { "" };
        match is_too_long(&source.text) {
            _ if !missing.is_empty() => Some(format!("{} ({name}{part})", missing.join(", "))),
            true => Some(format!("those at the end of a long passage were not looked for ({name})")),
            false => None,
        }
    });
    let what = "has numbers that are not in the output of their runs";
    warning(Code::NumberNotThere, about, what, missing.collect())
}

/// Returns the first few numbers of a passage that its run does not show.
fn not_shown(figures: &Figures, source: &Source) -> Vec<String> {
    named(figures.not_shown(&source.text, source.is_about))
}

/// Says what is wrong or unknown about the numbers of a passage, and whether they are wrong. `figures` are those of its run.
pub fn number_doubt(run: &Run, figures: Option<&Figures>, source: &Source) -> Option<(bool, String)> {
    let Some(figures) = figures else {
        return Some((false, "output withheld, so its numbers are not checked here".to_owned()));
    };
    let missing = not_shown(figures, source);
    if missing.is_empty() {
        let words = "the numbers at its end were not looked for";
        return is_too_long(&source.text).then(|| (false, words.to_owned()));
    }
    let are = if missing.len() == 1 { "is" } else { "are" };
    let place = if is_cut(run) { "the stored part of its output" } else { "its output" };
    Some((!is_cut(run), format!("{} {are} not in {place}", missing.join(", "))))
}

/// Returns whether only the two ends of a run's output are stored.
fn is_cut(run: &Run) -> bool {
    run.ran().is_some_and(|ran| ran.output.end.is_some())
}

/// Returns the numbers that a run shows. Returns `None` if its output is withheld.
pub fn figures(run: &Run) -> Option<Figures> {
    let ran = run.ran().filter(|ran| !ran.output.sha256.is_empty())?;
    let end = ran.output.end.as_deref().unwrap_or_default();
    let printed = format!("{}\n{end}\n{}", ran.output.text, ran.seconds);
    Some(Figures::of(&printed.lines().map(without_escapes).collect::<Vec<_>>().join("\n")))
}

/// Shortens a list to what a message names.
fn named(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    all.extend((more > 0).then(|| format!("{more} more")));
    all
}

fn warning(code: Code, about: &str, what: &str, mut missing: Vec<String>) -> Option<Diagnostic> {
    let mut seen = HashSet::new();
    missing.retain(|one| seen.insert(one.clone()));
    missing.first()?;
    let who = if about.is_empty() { "The report" } else { about };
    let message = format!("{who} {what}: {}.", named(missing).join("; "));
    let how = Wording::both("tot_amend", "`tot amend`").map(|call| format!("Correct them with {call}."));
    Some(Diagnostic::new(code, message).about(about).suggest(how))
}

/// Says why a source is not there. Returns `None` if it is, or if it can't be looked up.
fn fault(investigation: &Investigation, source: &Source, known: &LookedUpPaths) -> Option<String> {
    match &source.target {
        SourceTarget::Run(named) => match found_run(investigation, named) {
            Ok(_) => None,
            Err(_) if was_taken_back(investigation, named) => Some("it was taken back".to_owned()),
            Err(several) if several.is_empty() => {
                let ids: Vec<String> = printing(investigation).map(|run| run.id.to_string()).collect();
                let part = |id: &str, from_end: bool| {
                    let length = id.len().min(named.len());
                    if from_end { id[id.len() - length..].to_owned() } else { id[..length].to_owned() }
                };
                let slips = |id: &str| {
                    let of = |from_end| damerau_levenshtein(&part(id, from_end), named);
                    of(false).min(of(true))
                };
                Some(format!("there is no such run{}", nearest("run:", named, &ids, slips)))
            }
            Err(several) => {
                let ids: Vec<String> =
                    several.iter().take(NAMED).map(|run| format!("run:{}", run.id)).collect();
                Some(format!("it may be {}", ids.join(" or ")))
            }
        },
        SourceTarget::Node(named) => match investigation.find(named) {
            Ok(_) => None,
            Err(NotFound::Ambiguous(nodes)) => {
                let ids: Vec<String> =
                    nodes.iter().take(NAMED).map(|node| format!("node:{}", node.id.whole())).collect();
                Some(format!("it may be {}", ids.join(" or ")))
            }
            Err(NotFound::Unknown) if investigation.find_withdrawn(named).is_some() => {
                Some("it was withdrawn".to_owned())
            }
            Err(NotFound::Unknown) => {
                let ids: Vec<String> = investigation.nodes().map(|node| node.id.to_string()).collect();
                let slips = |id: &str| damerau_levenshtein(id, named);
                Some(format!("there is no such node{}", nearest("node:", named, &ids, slips)))
            }
        },
        SourceTarget::Address(_) | SourceTarget::Place(_) => match known.get(&source_path(source)?) {
            Some(LookedUp::Missing(what)) => Some(what.clone()),
            _ => None,
        },
        SourceTarget::How(Some(_)) => None,
        SourceTarget::How(None) => {
            let ways: Vec<String> = How::ALL.iter().map(|(word, _)| format!("how:{word}")).collect();
            Some(format!("it can be {}", ways.join(", ")))
        }
    }
}

/// Returns the run that a source names.
///
/// # Errors
///
/// Returns the runs that it may mean, if there are several or none.
pub fn found_run<'a>(investigation: &'a Investigation, named: &str) -> Result<&'a Run, Vec<&'a Run>> {
    let mut runs: Vec<&Run> = run::named(investigation, named).filter(|run| run.ran().is_some()).collect();
    match (runs.pop(), runs.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => Err(runs.into_iter().chain(last).collect()),
    }
}

/// Returns whether a source names a run that was taken back, and no other.
pub fn was_taken_back(investigation: &Investigation, named: &str) -> bool {
    let part = named.to_ascii_lowercase();
    run::named(investigation, named).next().is_none()
        && investigation.runs().any(|run| run.ran().is_some() && run.id.is_named(&part))
}

/// Returns the runs and repetitions, newest first.
fn printing(investigation: &Investigation) -> impl Iterator<Item = &Run> {
    investigation.counted_runs().rev().map(AsRef::as_ref).filter(|run| run.ran().is_some())
}

/// Names the id that differs least.
fn nearest(scheme: &str, named: &str, ids: &[String], slips: impl Fn(&str) -> usize) -> String {
    let is_short = named.chars().count() <= SHOWN;
    let nearest = ids.iter().filter(|_| is_short).min_by_key(|id| slips(id));
    nearest.map(|id| format!("; the nearest is {scheme}{id}")).unwrap_or_default()
}
