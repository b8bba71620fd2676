//! Captured runs, as shown on node pages and on the evidence page.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::cards::{Card, Cards, Time};
use super::node::client;
use crate::assess::{CapturedRun, NEWEST_RUNS, Repetition, newest_runs};
use crate::domain::run::{Ended, Expectation, Ran, RunComparison};
use crate::domain::{NodeId, Run, RunId, RunKind};
use crate::report::difference::{Difference, difference};
use crate::report::templates::SharedValue;
use crate::text::{first_bytes, last_bytes, made_visible, one_line, shorten};

/// The maximum size of the output shown on a page, in bytes. `investigation.json` contains the full stored output.
const SHOWN: usize = 8 << 10;
/// The maximum length of a command in a list, in characters.
const COMMAND: usize = 80;
/// The maximum number of reruns listed for one run, newest first.
const MOST_REPEATS: usize = 20;

/// A captured command with its outcome and its reruns.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RunView {
    pub id: String,
    /// The node it belongs to, or `None` if it belongs to the investigation or to a missing node.
    pub card: Option<SharedValue<Card>>,
    /// The address of the output, relative to the investigation's folder, or the address of the node if the node's page
    /// lists only newer runs. `None` if the evidence page shows the run in full.
    pub href: Option<String>,
    /// The command as shell input, shortened.
    pub command: String,
    /// The full command, if it was shortened.
    pub whole: Option<String>,
    /// The standing of the run in words: `not rerun yet`.
    pub standing: String,
    pub in_short: &'static str,
    /// What became of the files that it reads, with its CSS class. Absent if that is unknown.
    pub inputs: Option<(&'static str, String)>,
    /// The CSS class: `same`, `differs` or `quiet`.
    pub class: &'static str,
    /// The outcome: `exit 0`, `signal 9`, `timed out` or `not run: …`.
    pub ended: String,
    pub seconds: String,
    pub by: String,
    pub client: Option<String>,
    pub at: Time,
    pub note: Option<String>,
    /// The working folder, relative to the project root.
    pub folder: Option<String>,
    /// The project commit.
    pub commit: Option<String>,
    /// The number of files that differed from the commit.
    pub changed: usize,
    /// The project's files whose content is not stored, so that a rerun lacks it.
    pub not_stored: Option<String>,
    /// The files stored with the run.
    pub files: Vec<FileView>,
    /// The system: `linux x86_64, 2 CPUs`.
    pub system: String,
    pub expectations: Vec<ExpectationView>,
    pub output: OutputView,
    /// The reruns, newest first.
    pub repeats: Vec<RepeatView>,
    /// The number of omitted older reruns.
    pub more_repeats: usize,
}

/// A file from outside the project that the command needs.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct FileView {
    pub name: String,
    /// The beginning of its text. Empty for other content.
    pub text: String,
}

/// A pattern that the output was expected to match.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ExpectationView {
    #[serde(flatten)]
    pub it: Expectation,
    /// The author of an expectation that was added later.
    pub by: Option<String>,
}

/// The output of a command.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct OutputView {
    /// The beginning, or the full output if `end` is absent.
    pub text: String,
    /// The end of a long output.
    pub end: Option<String>,
    /// The total size: `12.5 kB`.
    pub size: String,
}

/// A rerun.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RepeatView {
    /// The verdict: `same`, `differs` or `could not run`.
    pub verdict: &'static str,
    pub ended: String,
    pub by: String,
    pub at: Time,
    /// The project commit of the rerun.
    pub commit: Option<String>,
    /// The number of files that differed from the commit.
    pub changed: usize,
    pub system: String,
    /// The expectations that failed.
    pub unmet: Vec<ExpectationView>,
    /// The difference between the outputs, if they differ.
    pub difference: Option<Difference>,
    /// The judgements on the difference, oldest first.
    pub judgements: Vec<JudgementView>,
}

/// A judgement on a difference.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct JudgementView {
    pub holds: bool,
    pub by: String,
    pub at: Time,
    pub reason: String,
}

/// The maximum number of runs for nodes on the evidence page. Runs without a node have the same limit as those on a
/// node page.
const LISTED: usize = 200;

/// All runs of an investigation, oldest first.
pub(in crate::report) type RunViews = BTreeMap<RunId, SharedValue<RunView>>;

impl Cards<'_> {
    /// Returns all runs.
    pub(super) fn runs(&self) -> RunViews {
        // The node for each run: the run's own node, or the first node whose result names the run.
        let mut places: HashMap<RunId, &NodeId> = HashMap::new();
        let mut shown: HashSet<(RunId, &NodeId)> = HashSet::new();
        for node in self.investigation.nodes() {
            let (newest, _) = newest_runs(self.assessment.runs_of(&node.id), NEWEST_RUNS);
            shown.extend(newest.iter().map(|captured| (captured.run.id, &node.id)));
            for captured in self.assessment.runs_of(&node.id) {
                let place = places.entry(captured.run.id).or_insert(&node.id);
                if captured.run.node.as_ref() == Some(&node.id) {
                    *place = &node.id;
                }
            }
        }
        let view = |captured: &CapturedRun<'_>| {
            let id = captured.run.id;
            let place = places.get(&id);
            let card = place.and_then(|node| self.get(node)).cloned();
            let is_shown = place.is_some_and(|node| shown.contains(&(id, *node)));
            let mut view = view(captured, card, is_shown);
            for (file, shown) in captured.ran.files.iter().zip(&mut view.files) {
                let content = self.investigation.content(file);
                let text = content.and_then(|content| String::from_utf8(content).ok()).unwrap_or_default();
                shown.text = made_visible(first_bytes(&text, SHOWN));
            }
            (id, SharedValue::of(view))
        };
        self.assessment.runs().map(view).collect()
    }

    /// Returns the runs listed on the evidence page.
    pub(super) fn listed_runs(&self, runs: &RunViews) -> Vec<SharedValue<RunView>> {
        let is_whole = |run: &CapturedRun<'_>| runs.get(&run.run.id).is_some_and(|view| view.card.is_none());
        let (whole, of_nodes): (Vec<_>, Vec<_>) = self.assessment.runs().partition(|run| is_whole(run));
        let shown = newest_runs(whole.into_iter(), NEWEST_RUNS).0.into_iter();
        let shown = shown.chain(newest_runs(of_nodes.into_iter(), LISTED).0);
        shown.filter_map(|run| runs.get(&run.run.id).cloned()).collect()
    }
}

fn view(captured: &CapturedRun<'_>, card: Option<SharedValue<Card>>, is_shown: bool) -> RunView {
    let CapturedRun { run, ran, repetitions, .. } = captured;
    let later = captured
        .later
        .iter()
        .map(|(run, it)| ExpectationView { by: Some(run.author.label().into_owned()), ..expectation(it) });
    let line = ran.line();
    RunView {
        id: run.id.to_string(),
        href: card.as_ref().map(|card| match is_shown {
            true => format!("{}#run-{}", card.href, run.id),
            false => card.href.clone(),
        }),
        card,
        command: shorten(&one_line(&line), COMMAND),
        whole: (line.chars().count() > COMMAND || line.contains('\n')).then_some(line),
        standing: captured.words(),
        in_short: captured.standing().label(),
        inputs: captured.input_state.as_ref().map(|state| (state.class(), state.words(captured.ran.traced))),
        class: captured.standing().class(),
        ended: ran.ended.to_string(),
        seconds: ran.seconds.to_string(),
        by: run.author.label().into_owned(),
        client: client(&run.author.caller),
        at: Time::of(run.at),
        note: run.note.clone(),
        folder: ran.folder.clone(),
        commit: ran.project.as_ref().and_then(|project| project.commit.clone()),
        changed: changed(ran),
        not_stored: ran.not_stored(),
        files: ran
            .files
            .iter()
            .map(|it| FileView { name: it.name.to_string(), text: String::new() })
            .collect(),
        system: system(ran),
        expectations: ran.expectations.iter().map(expectation).chain(later).collect(),
        output: output(ran),
        repeats: repetitions.iter().rev().take(MOST_REPEATS).map(|it| repeat(it, ran)).collect(),
        more_repeats: repetitions.len().saturating_sub(MOST_REPEATS),
    }
}

fn repeat(repetition: &Repetition<'_>, first: &Ran) -> RepeatView {
    let Repetition { run, ran, verdict, at, judgements, .. } = repetition;
    let judgement = |it: &&Arc<Run>| match it.what {
        RunKind::Judged { holds, .. } => Some(JudgementView {
            holds,
            by: it.author.label().into_owned(),
            at: Time::of(it.at),
            reason: it.note.clone().unwrap_or_default(),
        }),
        _ => None,
    };
    let printed = |ran: &Ran| format!("{}{}", ran.output.text, ran.output.end.as_deref().unwrap_or_default());
    let differs = *verdict == RunComparison::Differs && ran.output.sha256 != first.output.sha256;
    RepeatView {
        verdict: verdict.label(),
        ended: ran.ended.to_string(),
        by: run.author.label().into_owned(),
        at: Time::of(run.at),
        commit: at.map(str::to_owned),
        changed: changed(ran),
        system: system(ran),
        unmet: ran.expectations.iter().filter(|it| !it.held).map(expectation).collect(),
        difference: differs
            .then(|| difference(first_bytes(&printed(first), SHOWN), first_bytes(&printed(ran), SHOWN))),
        judgements: judgements.iter().filter_map(judgement).collect(),
    }
}

fn changed(ran: &Ran) -> usize {
    ran.project.as_ref().map_or(0, |project| project.changed.len())
}

fn expectation(it: &Expectation) -> ExpectationView {
    ExpectationView { it: it.clone(), by: None }
}

/// Returns the operating system, the architecture and the number of CPUs.
fn system(ran: &Ran) -> String {
    if matches!(ran.ended, Ended::NotRun(_)) || ran.system.os.is_empty() {
        return String::new();
    }
    let cpus = crate::text::counted(ran.system.cpus, "CPU");
    format!("{} {}, {cpus}", ran.system.os, ran.system.architecture)
}

fn output(ran: &Ran) -> OutputView {
    let output = &ran.output;
    let size = crate::report::attachments::size(output.bytes);
    match &output.end {
        None if output.text.len() <= SHOWN => OutputView { text: output.text.clone(), end: None, size },
        end => OutputView {
            text: first_bytes(&output.text, SHOWN / 2).to_owned(),
            end: Some(last_bytes(end.as_ref().unwrap_or(&output.text), SHOWN / 2).to_owned()),
            size,
        },
    }
}
