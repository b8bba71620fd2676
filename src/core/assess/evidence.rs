//! Commands run as evidence and their reruns.
//!
//! For each command, the newest completed rerun counts. If it differs, it contests the answers that rest on the command
//! until somebody else than the author of the command and those of the answers judges that the evidence holds, or it is the
//! same again: at that or a newer commit, and not only for the author. A rerun that could not be carried out, or with uncommitted changes of its own,
//! contests and clears nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::lacking::{lost_outside, said_lost};
use super::{Answer, Assessment, InputState};
use crate::domain::run::{Ended, Expectation, Ran, RunComparison, System};
use crate::domain::{
    BoundAs, Classification, Code, Commenter, Investigation, Node, NodeId, Run, RunId, RunKind,
};
use crate::markdown::named_runs;
use crate::numbers::Figures;
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::verification::{ClaimedAuthor, Grade};
use crate::text::{counted, made_visible, one_line, shorten};

/// The maximum length of a name, in characters.
const NAME: usize = 60;
/// The maximum length of a command within a sentence, in characters.
const COMMAND: usize = 120;
/// The maximum number of runs shown per node (see [`newest_runs`]).
pub const NEWEST_RUNS: usize = 20;
/// The length of an abbreviated commit id.
pub(super) const COMMIT: usize = 7;
const BY_ANOTHER: &str = "gave the same when rerun by another";
const BY_SOMEBODY: &str = "gave the same when rerun, not known to be by another";

/// A command that was run as evidence.
#[derive(Clone, Debug)]
pub struct CapturedRun<'a> {
    /// The run record.
    pub run: &'a Arc<Run>,
    /// The command and its outcome.
    pub ran: &'a Ran,
    /// The reruns, oldest first.
    pub repetitions: Vec<Repetition<'a>>,
    /// What was expected of it later, each with the record that says so.
    pub later: Vec<(&'a Arc<Run>, &'a Expectation)>,
    /// What became of the files that it reads, if that is known.
    pub input_state: Option<InputState>,
    /// The numbers that it shows, once they are needed; see [`figures`](crate::decide::sources::figures).
    pub(super) figures: OnceLock<Option<Figures>>,
}

/// A rerun of a command.
#[derive(Clone, Debug)]
pub struct Repetition<'a> {
    /// The rerun record.
    pub run: &'a Arc<Run>,
    /// The command and its outcome.
    pub ran: &'a Ran,
    /// The result of the comparison with the first run.
    pub verdict: RunComparison,
    /// The project commit that was checked out.
    pub at: Option<&'a str>,
    /// True if the rerun differs from the captured run in its session, machine or person.
    pub is_by_other: bool,
    /// True if the author of the captured run reran it alone: in no other session, and on a machine of the same kind.
    pub is_own: bool,
    /// True if it ran with uncommitted changes that the captured run did not have.
    pub is_dirty: bool,
    /// True if it ran at the commit of the captured run, or at one without the commit of an earlier difference.
    pub is_old: bool,
    /// Judgements on the difference found by the rerun and on identical differences found by other reruns, oldest
    /// first.
    pub judgements: Vec<&'a Arc<Run>>,
}

/// The overall outcome of a command's reruns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStanding {
    /// Not rerun yet.
    NeverRepeated,
    /// None of the reruns could be carried out.
    CouldNotRun,
    /// What was expected of the command was not met when it was captured, nor since.
    NotMet,
    /// The rerun that counts had the same result.
    Same,
    /// The rerun that counts differs, and nobody has judged the difference.
    Differs,
    /// The rerun that counts differs. According to the latest judgement, the evidence holds.
    Holds,
    /// The rerun that counts differs. According to the latest judgement, the evidence fails.
    Fails,
}

impl RunStanding {
    /// Returns a short label, shown next to the command.
    pub fn label(self) -> &'static str {
        match self {
            RunStanding::NeverRepeated => "not rerun yet",
            RunStanding::CouldNotRun => "could not be rerun",
            RunStanding::NotMet => "not met",
            RunStanding::Same => "same again",
            RunStanding::Differs => "differs",
            RunStanding::Holds => "differs (judged to hold)",
            RunStanding::Fails => "differs (judged to fail)",
        }
    }

    /// Returns the CSS class: `same`, `differs` or `quiet`.
    pub fn class(self) -> &'static str {
        match self {
            RunStanding::Same => "same",
            RunStanding::Differs | RunStanding::Fails => "differs",
            _ => "quiet",
        }
    }
}

/// A command and its outcome for replies and JSON, shortened and with hidden characters made visible.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEntry {
    /// The id of the run.
    pub run_id: RunId,
    /// The command line, quoted for a shell.
    pub command: String,
    /// How the command ended, and how long it took: `exit 0, 55 s`.
    pub ended: String,
    /// The author and the time of the run.
    pub captured_by: String,
    /// The author's note.
    pub note: Option<String>,
    /// The beginning of the output or, if the output was not stored in full, its end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The files from outside the project, and the variables, that are stored with the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The project's files whose content is not stored, so that a rerun lacks it.
    pub not_stored: Option<String>,
    /// What became of the files that it reads, if that is known.
    pub inputs: Option<String>,
    /// The expected output patterns, each with the value found.
    pub expectations: Vec<String>,
    /// The outcome of the reruns, such as `not rerun yet`.
    pub standing: String,
    /// The newest reruns, newest first.
    pub repetitions: Vec<String>,
}

impl Repetition<'_> {
    /// Returns the rerun in words, with any judgement: `differs: CI on 24 Nov 2026 at 3f2a91c`.
    pub fn words(&self) -> String {
        let judged = self.judged().map(|(run, _)| {
            let why = shorten(&one_line(run.note.as_deref().unwrap_or_default()), COMMAND);
            format!("; {}, says {}: {why}", run.outcome(), name(&run.author))
        });
        format!("{}: {}{}", self.verdict.label(), self.by(), judged.unwrap_or_default())
    }

    /// Returns true if the rerun differs and no judgement in force says that the evidence holds.
    pub fn is_contesting(&self) -> bool {
        self.verdict == RunComparison::Differs && !matches!(self.judged(), Some((_, true)))
    }

    /// Returns true if the rerun differs in the same way as the given rerun.
    fn differs_as(&self, other: &Ran) -> bool {
        self.verdict == RunComparison::Differs && self.ran.is_alike(other)
    }

    /// Returns the judgement in force, and whether it says that the evidence holds.
    pub fn judged(&self) -> Option<(&Run, bool)> {
        let last = self.judgements.last()?;
        match last.what {
            RunKind::Judged { holds, .. } => Some((last, holds)),
            _ => None,
        }
    }

    /// Returns true if the rerun came to its end, and not with uncommitted changes of its own.
    pub(super) fn is_counted(&self) -> bool {
        self.verdict != RunComparison::CouldNotRun && !self.is_dirty
    }

    /// Returns true if this rerun counts instead of an earlier one.
    fn replaces(&self, earlier: &Repetition<'_>) -> bool {
        let is_as_new = self.at == earlier.at || !self.is_old;
        !earlier.is_contesting() || is_as_new && (earlier.is_own || !self.is_own)
    }

    /// Returns why it could not run, if so: `the program jest is not here`.
    pub(super) fn why_not(&self) -> Option<String> {
        let lost = match &self.ran.ended {
            Ended::NotRun(_) => None,
            _ => said_lost(self.ran).into_iter().next().map(|path| format!("{path} is not there")),
        };
        let ended = lost.unwrap_or_else(|| self.ran.ended.to_string());
        let why = shorten(&one_line(ended.trim_start_matches("not run: ")), COMMAND);
        (self.verdict == RunComparison::CouldNotRun).then_some(why)
    }

    /// Returns the author, day and commit: `CI on 24 Nov 2026 at 3f2a91c`. Notes if the author also captured the first
    /// run, and uncommitted changes.
    fn by(&self) -> String {
        let by = name(&self.run.author);
        let by = if self.is_own { format!("{by}, who captured it,") } else { by };
        format!("{by}{}", self.when())
    }

    /// Returns the day and the commit: ` on 24 Nov 2026 at 3f2a91c`. Notes uncommitted changes.
    fn when(&self) -> String {
        let commit: String = self.at.unwrap_or_default().chars().take(COMMIT).collect();
        let at = if commit.is_empty() { String::new() } else { format!(" at {}", one_line(&commit)) };
        let changed = self.ran.project.as_ref().map_or(0, |project| project.changed.len());
        let with =
            if changed == 0 { String::new() } else { format!(" with {}", counted(changed, "changed file")) };
        format!(" on {}{at}{with}", self.run.at.to_day())
    }
}

impl CapturedRun<'_> {
    /// Returns the last rerun that differed in the same way.
    pub fn as_before(&self, again: &Ran) -> Option<&Repetition<'_>> {
        self.repetitions.iter().rev().find(|it| it.differs_as(again))
    }

    /// Returns the rerun that counts: the newest completed one that is as new as those that contest the command, and as
    /// independent of its author.
    pub fn counts(&self) -> Option<&Repetition<'_>> {
        let counted = self.repetitions.iter().filter(|it| it.is_counted());
        counted.reduce(|earlier, later| if later.replaces(earlier) { later } else { earlier })
    }

    /// Returns the overall outcome of the reruns.
    pub fn standing(&self) -> RunStanding {
        let counts = self.counts();
        if !self.ran.is_met() && counts.is_none_or(|it| it.verdict == RunComparison::Same && !it.ran.is_met())
        {
            return RunStanding::NotMet;
        }
        let Some(counts) = counts else {
            let has_failed = self.repetitions.iter().any(|it| it.verdict == RunComparison::CouldNotRun);
            return if has_failed { RunStanding::CouldNotRun } else { RunStanding::NeverRepeated };
        };
        match (counts.verdict, counts.judged()) {
            (RunComparison::Differs, None) => RunStanding::Differs,
            (RunComparison::Differs, Some((_, true))) => RunStanding::Holds,
            (RunComparison::Differs, Some((_, false))) => RunStanding::Fails,
            _ => RunStanding::Same,
        }
    }

    /// Applies each judgement to all reruns that differ in the same way. Runs with withheld output are never considered
    /// alike.
    fn share_judgements(&mut self) {
        let judged = self.repetitions.iter().filter(|it| !it.judgements.is_empty());
        let judged: Vec<_> = judged.map(|it| (it.run.id, it.ran, it.judgements.clone())).collect();
        for repetition in self.repetitions.iter_mut() {
            let alike =
                judged.iter().filter(|(id, ran, _)| *id != repetition.run.id && repetition.differs_as(ran));
            let alike: Vec<_> = alike.flat_map(|(.., judgements)| judgements.iter().copied()).collect();
            repetition.judgements.extend(alike);
            repetition.judgements.sort_by_key(|run| run.id);
        }
    }

    /// Returns whether the rerun that counts is by whoever captured the command.
    pub fn is_repeated_by_author(&self) -> bool {
        self.counts().is_some_and(|it| it.is_own)
    }

    /// Returns true if the command contests the answers that rest on it.
    pub fn is_contesting(&self) -> bool {
        matches!(self.standing(), RunStanding::Differs | RunStanding::Fails)
    }

    /// Returns true if a rerun that contests the answers ran at a later commit than the captured run.
    pub fn differs_later(&self) -> bool {
        self.repetitions.iter().any(|it| it.is_contesting() && it.at.is_some() && !it.is_old)
    }

    /// Returns true if a rerun in another session, on another machine or by another person had the same result.
    pub fn is_reproduced(&self) -> bool {
        let is_same =
            |it: &Repetition<'_>| it.is_by_other && !it.is_dirty && it.verdict == RunComparison::Same;
        self.standing() == RunStanding::Same && self.ran.is_met() && self.repetitions.iter().any(is_same)
    }

    /// Returns true if reruns, not only by the author, had the same result, and what was expected was met from the start.
    pub fn is_shown_again(&self) -> bool {
        self.standing() == RunStanding::Same
            && self.ran.is_met()
            && (self.is_reproduced() || !self.is_repeated_by_author())
    }

    /// Returns true if somebody other than the author has rerun the command to its end.
    pub fn is_rerun_by_other(&self) -> bool {
        self.repetitions.iter().any(|it| it.is_by_other && it.is_counted())
    }

    /// Returns the outcome of the reruns in words: `rerun by CI on 24 Nov 2026 at 3f2a91c: same` or `never run
    /// again`.
    pub fn words(&self) -> String {
        let Some(last) = self.repetitions.last() else {
            return if self.ran.is_met() { "not rerun yet" } else { "not met, and not rerun yet" }.to_owned();
        };
        let why_not = || last.why_not().map(|why| format!(": {why}")).unwrap_or_default();
        let Some(counts) = self.counts() else {
            return match last.verdict {
                RunComparison::CouldNotRun => format!("could not be rerun by {}{}", last.by(), why_not()),
                verdict => format!("not rerun without changes; rerun by {}: {}", last.by(), verdict.label()),
            };
        };
        let judged = match counts.judged().filter(|_| counts.verdict == RunComparison::Differs) {
            Some((run, _)) => {
                format!(", and the evidence {} as judged by {}", run.outcome(), name(&run.author))
            }
            None => String::new(),
        };
        let since = match last.verdict {
            RunComparison::CouldNotRun => format!("; could not be rerun by {}{}", last.by(), why_not()),
            _ if last.run.id == counts.run.id => String::new(),
            verdict => format!("; rerun by {}: {}, which settles nothing", last.by(), verdict.label()),
        };
        let reproduced = if self.is_reproduced() { ", reproduced" } else { "" };
        let said = counts.ran.said(self.ran, counts.verdict);
        format!("rerun by {}: {said}{reproduced}{judged}{since}", counts.by())
    }

    /// Returns the command and its outcome: `the command python3 load.py, rerun by CI on 24 Nov 2026 at 3f2a91c:
    /// differs`.
    pub fn told(&self) -> String {
        format!("the command {}, {}", self.command(), self.words())
    }

    /// Returns the entry for replies and JSON, limited to `characters` per text and `entries` per list.
    pub fn entry(&self, characters: usize, entries: usize) -> RunEntry {
        let cut = |text: &str| shorten(&one_line(text), characters);
        let output = &self.ran.output;
        let later = self.later.iter().map(|(run, it)| format!("{it}, says {}", name(&run.author)));
        let expected = self.ran.expectations.iter().map(ToString::to_string).chain(later);
        RunEntry {
            run_id: self.run.id,
            command: cut(&self.ran.line()),
            ended: cut(&format!("{}, {}", self.ran.ended, self.ran.seconds)),
            captured_by: format!("{}, {}", name(&self.run.author), self.run.at.to_minute()),
            note: self.run.note.as_deref().map(cut),
            output: shorten(&made_visible(output.end.as_deref().unwrap_or(&output.text)), characters),
            files: self.ran.stored_with().iter().map(|it| cut(it)).collect(),
            not_stored: self.ran.not_stored().as_deref().map(cut),
            inputs: self.input_state.as_ref().map(|it| it.words(self.ran.traced)),
            expectations: expected.take(entries).map(|it| cut(&it)).collect(),
            standing: self.words(),
            repetitions: self.repetitions.iter().rev().take(entries).map(Repetition::words).collect(),
        }
    }

    /// Returns the command on one line, shortened.
    pub fn command(&self) -> String {
        shorten(&one_line(&self.ran.line()), COMMAND)
    }
}

/// All commands run as evidence, and the nodes they support.
#[derive(Clone, Debug, Default)]
pub(super) struct EvidenceRuns<'a> {
    pub(super) captured: BTreeMap<RunId, CapturedRun<'a>>,
    by_node: HashMap<&'a NodeId, Vec<RunId>>,
    /// The captured runs that each text names as a source, by its words for them.
    named: HashMap<String, Option<RunId>>,
}

impl<'a> EvidenceRuns<'a> {
    pub(super) fn of(investigation: &'a Investigation, rules: Option<&EffectiveRules<'_>>) -> Self {
        let mut runs = EvidenceRuns::default();
        let mut expected = investigation.expected_later();
        for run in investigation.counted_runs() {
            if let RunKind::Captured(ran) = &run.what {
                runs.captured.insert(
                    run.id,
                    CapturedRun {
                        run,
                        ran,
                        repetitions: Vec::new(),
                        later: expected.remove(&run.id).unwrap_or_default(),
                        input_state: None,
                        figures: OnceLock::new(),
                    },
                );
                if let Some(node) = &run.node {
                    runs.by_node.entry(node).or_default().push(run.id);
                }
            }
        }
        if runs.captured.is_empty() {
            return runs;
        }
        let mut judgements: HashMap<RunId, Vec<&'a Arc<Run>>> = HashMap::new();
        for run in investigation.counted_runs() {
            if let RunKind::Judged { of, .. } = run.what {
                judgements.entry(of).or_default().push(run);
            }
        }
        for run in investigation.counted_runs() {
            let RunKind::Repeated { of, at, verdict, ran } = &run.what else { continue };
            let Some(first) = runs.captured.get_mut(of) else { continue };
            let state = ran.project.as_ref();
            let recorded = first.ran.project.as_ref();
            let is_at_first = at.is_some() && *at == recorded.and_then(|state| state.commit.clone());
            let mut judgements = judgements.remove(&run.id).unwrap_or_default();
            judgements.retain(|it| {
                !matches!(it.what, RunKind::Judged { holds: true, .. })
                    || !it.author.is_same_author(&first.run.author)
                        && !rules.is_some_and(|rules| {
                            rules.wrote_what_rests_on(investigation, first.run, &it.author, Some(it.at))
                        })
            });
            let is_by_other = is_by_other([&first.run.author, &run.author], [&first.ran.system, &ran.system]);
            // Earlier versions took a script that is not there for a difference.
            let is_lost = || judgements.is_empty() && lost_outside(ran, first.ran).is_some();
            let verdict = match verdict {
                RunComparison::Differs if is_lost() => RunComparison::CouldNotRun,
                verdict => *verdict,
            };
            first.repetitions.push(Repetition {
                run,
                ran,
                verdict,
                at: at.as_deref(),
                is_by_other,
                is_own: !is_by_other && run.author.is_same_author(&first.run.author),
                is_dirty: state.is_some_and(|state| state.is_dirty(recorded)),
                is_old: is_at_first || state.is_some_and(|state| state.behind),
                judgements,
            });
        }
        for run in runs.captured.values_mut() {
            run.share_judgements();
        }
        for node in investigation.nodes() {
            for result in node.results() {
                let cited = runs.cited(&result.findings);
                let of_node = runs.by_node.entry(&node.id).or_default();
                for run in result.runs.iter().chain(&cited).filter(|run| runs.captured.contains_key(run)) {
                    if !of_node.contains(run) {
                        of_node.push(*run);
                    }
                }
            }
        }
        runs
    }

    /// Returns the captured runs that a text names as sources. Who cites a rerun rests on what that one showed.
    pub(super) fn cited(&mut self, text: &str) -> Vec<RunId> {
        if self.captured.is_empty() {
            return Vec::new();
        }
        let captured = &self.captured;
        let only = |part: &str| {
            let mut runs = captured.values().filter(|it| it.run.id.is_named(part));
            runs.next().filter(|_| runs.next().is_none()).map(|it| it.run.id)
        };
        let named = &mut self.named;
        let parts = named_runs(text).into_iter();
        parts.filter_map(|part| *named.entry(part).or_insert_with_key(|part| only(part))).collect()
    }

    /// Returns the runs that support the given nodes, in node order and without duplicates.
    pub(super) fn of_nodes<'n>(&self, nodes: impl Iterator<Item = &'n NodeId>) -> Vec<RunId> {
        let mut seen = HashSet::new();
        let runs = nodes.flat_map(|node| self.by_node.get(node).into_iter().flatten());
        runs.filter(|run| seen.insert(**run)).copied().collect()
    }
}

/// Returns true if the rerun was made in another session, on another machine or by another person.
///
/// An author contradicted by git does not count as another person.
fn is_by_other([first, again]: [&Commenter; 2], systems: [&System; 2]) -> bool {
    let [who, by] = [first, again].map(|it| ClaimedAuthor::of(it.agent_id.as_deref(), &it.caller));
    let [first, again] = [&first.caller, &again.caller];
    if first.disowned.is_some() || again.disowned.is_some() {
        return false;
    }
    let is_another_session = matches!((&first.session, &again.session), (Some(a), Some(b)) if a != b);
    let is_another_machine = systems.iter().all(|it| !it.os.is_empty()) && !systems[0].is_like(systems[1]);
    is_another_session || is_another_machine || by.independence_from(&[who]) == Grade::Independent
}

/// Returns up to `most` runs, oldest first, and the number of omitted runs. Contesting runs take precedence over newer
/// ones.
pub fn newest_runs<'s, 'a>(
    runs: impl Iterator<Item = &'s CapturedRun<'a>>,
    most: usize,
) -> (Vec<&'s CapturedRun<'a>>, usize) {
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|run| (!run.is_contesting(), std::cmp::Reverse(run.run.id)));
    let more = runs.len().saturating_sub(most);
    runs.truncate(most);
    runs.sort_by_key(|run| run.run.id);
    (runs, more)
}

fn name(author: &Commenter) -> String {
    shorten(&one_line(&author.label()), NAME)
}

impl<'a> Assessment<'a> {
    /// Returns how a rerun compares with the captured run. `None` for another run.
    pub fn comparison(&self, run: &Run) -> Option<RunComparison> {
        let RunKind::Repeated { of, verdict, .. } = &run.what else { return None };
        let again = self.run(*of).and_then(|first| first.repetitions.iter().find(|it| it.run.id == run.id));
        Some(again.map_or(*verdict, |it| it.verdict))
    }

    /// Returns the captured run with the given id. `None` for a rerun, a judgement or an unknown id.
    pub fn run(&self, id: RunId) -> Option<&CapturedRun<'a>> {
        self.runs.captured.get(&id)
    }

    /// Returns all commands run as evidence, oldest first.
    pub fn runs(&self) -> impl Iterator<Item = &CapturedRun<'a>> {
        self.runs.captured.values()
    }

    /// Returns the commands that support a node: those run for it, and those that its results name or cite.
    pub fn runs_of(&self, node: &NodeId) -> impl Iterator<Item = &CapturedRun<'a>> {
        self.runs.of_nodes(std::iter::once(node)).into_iter().filter_map(|id| self.run(id))
    }

    /// Returns the commands that an answer rests on, including those for the steps leading to it and for its
    /// confirmations.
    pub fn evidence(&self, answer: &Answer<'_>) -> impl Iterator<Item = &CapturedRun<'a>> {
        answer.runs.iter().filter_map(|id| self.run(*id))
    }

    /// Returns the commands that contest an answer because their rerun differed.
    pub fn differing_runs(&self, answer: &Answer<'_>) -> impl Iterator<Item = &CapturedRun<'a>> {
        answer.differing_runs.iter().filter_map(|id| self.run(*id))
    }

    /// Returns true if a stored "not run" warning is obsolete because a command was run for the node later.
    pub fn is_settled(&self, node: &NodeId, code: &Code) -> bool {
        *code == Code::NotRun && self.runs_of(node).next().is_some()
    }

    /// Describes the strength of an answer's evidence.
    pub fn evidence_words(&self, answer: &Answer<'_>) -> String {
        self.in_words(&[answer])
    }

    /// Returns the answers that the overall verdict rests on: the conclusion's answers or, without a conclusion, the
    /// first answer.
    pub(super) fn supporting(&self) -> Vec<&Answer<'a>> {
        let bound =
            self.bound().filter(|bound| bound.role != BoundAs::Rival).filter_map(|bound| bound.answer);
        bound.chain(self.first().filter(|_| self.end().is_none())).collect()
    }

    /// Returns the nodes that the overall verdict rests on: its answers with all their premises.
    pub fn whole_nodes(&self) -> Vec<&'a Arc<Node>> {
        let mut seen = HashSet::new();
        let supporting = self.supporting().into_iter();
        let nodes = supporting.flat_map(|answer| answer.premises.iter().map(|it| it.node));
        nodes.filter(|node| seen.insert(&node.id)).collect()
    }

    /// Returns the commands that the overall verdict rests on.
    pub fn whole_runs(&self) -> impl Iterator<Item = &CapturedRun<'a>> {
        self.runs_behind(self.supporting())
    }

    /// Describes the strength of the overall evidence. `None` if the verdict rests on no answer.
    pub fn whole_evidence(&self) -> Option<String> {
        let answers = self.supporting();
        (!answers.is_empty()).then(|| self.in_words(&answers))
    }

    /// Returns the commands that the given answers rest on, without duplicates.
    fn runs_behind<'s>(
        &'s self,
        answers: impl IntoIterator<Item = &'s Answer<'a>>,
    ) -> impl Iterator<Item = &'s CapturedRun<'a>> {
        let mut seen = HashSet::new();
        let ids = answers.into_iter().flat_map(|answer| &answer.runs);
        ids.filter(move |run| seen.insert(**run)).filter_map(|id| self.run(*id))
    }

    /// Describes the outcome of all commands, and what became of their inputs. If there are no commands, describes the other
    /// evidence.
    fn in_words(&self, answers: &[&Answer<'a>]) -> String {
        let runs: Vec<&CapturedRun<'a>> = self.runs_behind(answers.iter().copied()).collect();
        let Some(words) = self.reruns_in_words(&runs) else {
            let premises = answers.iter().flat_map(|answer| &answer.premises);
            return match premises.filter_map(|it| it.node.classification.as_ref()).any(is_pinned) {
                true => "cites files, and no command was captured".to_owned(),
                false => "only the agent's word".to_owned(),
            };
        };
        let is_known = |run: &&CapturedRun<'_>| {
            matches!(run.input_state, Some(InputState::Unchanged | InputState::Changed(_)))
        };
        let inputs = self.inputs_in_words(&runs).filter(|_| runs.iter().any(is_known));
        words + &inputs.map(|words| format!("; {words}")).unwrap_or_default()
    }

    /// Describes the outcome of commands, each counted once: `3 commands: 2 gave the same when rerun by another, 1 differs; last
    /// rerun by CI on 24 Nov 2026 at 3f2a91c`. `None` without a command.
    pub(super) fn reruns_in_words(&self, runs: &[&CapturedRun<'a>]) -> Option<String> {
        let commands = (!runs.is_empty()).then(|| counted(runs.len(), "command"))?;
        let last = runs.iter().filter_map(|run| run.counts().or(run.repetitions.last()));
        let Some(last) = last.max_by_key(|it| it.run.id) else {
            let unmet = runs.iter().filter(|run| !run.ran.is_met()).count();
            let unmet = if unmet == 0 { String::new() } else { format!(": {unmet} not met") };
            return Some(format!(
                "{commands}{}, not rerun yet",
                if runs.len() == 1 { unmet.replace("1 ", "") } else { unmet }
            ));
        };
        let became = |run: &&CapturedRun<'_>| match run.standing() {
            RunStanding::Same if !run.ran.is_met() => (RunStanding::NotMet, "met"),
            RunStanding::Same if run.is_reproduced() => (RunStanding::Same, "another"),
            RunStanding::Same if run.is_repeated_by_author() => (RunStanding::Same, "author"),
            standing => (standing, ""),
        };
        let all: Vec<_> = runs.iter().map(became).collect();
        let mut pairs = all.iter().zip(runs);
        let is_tried = |((standing, _), run): (&(RunStanding, &str), &&CapturedRun<'_>)| {
            *standing == RunStanding::NeverRepeated && !run.repetitions.is_empty()
        };
        let never = if pairs.any(is_tried) { "not rerun without changes" } else { "not rerun yet" };
        let became = [
            ((RunStanding::Same, "another"), BY_ANOTHER, BY_ANOTHER),
            (
                (RunStanding::Same, "author"),
                "gave the same when rerun by its author",
                "gave the same when rerun by their author",
            ),
            ((RunStanding::Same, ""), BY_SOMEBODY, BY_SOMEBODY),
            ((RunStanding::Differs, ""), "differs", "differ"),
            ((RunStanding::Fails, ""), "differs (judged to fail)", "differ (judged to fail)"),
            ((RunStanding::Holds, ""), "differs (judged to hold)", "differ (judged to hold)"),
            ((RunStanding::NotMet, "met"), "met now, and not met before", "met now, and not met before"),
            ((RunStanding::NotMet, ""), "not met", "not met"),
            ((RunStanding::CouldNotRun, ""), "could not run", "could not run"),
            ((RunStanding::NeverRepeated, ""), never, never),
        ];
        let count = |of| all.iter().filter(|it| **it == of).count();
        let parts = became.map(|(of, one, many)| (count(of), one, many));
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts =
            parts.map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let parts = if runs.len() == 1 { parts.trim_start_matches("1 ") } else { &parts };
        Some(format!("{commands}: {parts}; last rerun by {}{}", name(&last.run.author), last.when()))
    }
}

/// Returns true if a result cites a file that was found when the result was stored.
fn is_pinned(result: &Classification) -> bool {
    result.references.iter().any(|source| source.pinned.is_some())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::assess::{ProjectInputs, ProjectView};
    use crate::domain::run::{Output, ProjectState, RunInput, RunRef};
    use crate::domain::{Caller, Change, Meta, Pin, Timestamp};
    use crate::ruleset::{EffectiveRules, Ruleset, builtin};

    fn at(day: i64) -> Timestamp {
        Timestamp::from_milliseconds(1_795_000_000_000 + day * 86_400_000).unwrap()
    }

    fn id(number: u8) -> RunId {
        RunId::new(1_795_000_000_000 + u64::from(number), [number; 10])
    }

    fn ran(command: &str) -> Ran {
        let output = Output { text: "41".into(), bytes: 2, ..Output::default() };
        Ran { output, ..Ran::new(vec![command.to_owned()], at(0)) }
    }

    fn run(number: u8, node: Option<&str>, by: &str, what: RunKind) -> Arc<Run> {
        let caller = Caller::of_person(by, None);
        let author = Commenter { name: by.to_owned(), caller, ..Commenter::default() };
        let node = node.map(|node| node.parse().unwrap());
        Arc::new(Run {
            id: id(number),
            node,
            author,
            at: at(number.into()),
            note: Some("Slow.".into()),
            what,
        })
    }

    fn captured(number: u8, node: Option<&str>) -> Arc<Run> {
        run(number, node, "Ada", RunKind::Captured(ran("./measure")))
    }

    fn again(number: u8, of: u8, by: &str, verdict: RunComparison) -> Arc<Run> {
        let at = Some("3f2a91c0aa".to_owned());
        run(number, None, by, RunKind::Repeated { of: id(of), at, verdict, ran: ran("./measure") })
    }

    fn judged(number: u8, of: u8, holds: bool) -> Arc<Run> {
        run(number, None, "Ben", RunKind::Judged { of: id(of), holds })
    }

    /// Creates an answer with one ancestor, whose result names run 9.
    fn facts(runs: Vec<Arc<Run>>) -> Investigation {
        let mut parent: Option<NodeId> = None;
        let nodes = [("R1.A", "EXPLORE"), ("R2.A1", "FOUND")].map(|(id, state)| {
            let mut node = Node::new(id.parse().unwrap(), parent.take(), "Title", at(0));
            let mut result = Classification::new(state.parse().unwrap(), "Findings that say it.", at(0));
            result.runs = if state == "FOUND" { vec![self::id(9)] } else { Vec::new() };
            node.classification = Some(result);
            parent = Some(node.id.clone());
            Arc::new(node)
        });
        let meta = Meta::sample("found-verify", at(0));
        Investigation::from_facts(meta, nodes.to_vec(), None).0.with_runs(runs)
    }

    fn ruleset() -> &'static Ruleset {
        &builtin::all().iter().find(|it| it.ruleset.name == "found-verify").unwrap().ruleset
    }

    /// Returns the answer's evidence in words, and whether the answer is contested.
    fn told(runs: Vec<Arc<Run>>) -> (String, bool) {
        let facts = facts(runs);
        let ruleset = ruleset();
        let rules = EffectiveRules::new(ruleset, facts.meta());
        let assessment = Assessment::new(&facts, Some(rules));
        let answer = &assessment.answers[0];
        let is_contested = answer.verdict == super::super::Verdict::Contested;
        assert_eq!(is_contested, !answer.differing_runs.is_empty());
        (assessment.evidence_words(answer), is_contested)
    }

    #[test]
    fn a_command_on_the_way_of_an_answer_is_its_evidence_and_a_difference_contests_it_until_it_is_judged() {
        let first = || vec![captured(1, Some("R1.A"))];
        let with = |more: Vec<Arc<Run>>| told([first(), more].concat());
        assert_eq!(told(Vec::new()), ("only the agent's word".into(), false));
        assert_eq!(with(vec![]), ("1 command, not rerun yet".into(), false));
        let words = |became: &str| {
            format!("1 command: {became}; last rerun by CI (a person) on 21 Nov 2026 at 3f2a91c")
        };
        let same = || again(3, 1, "CI", RunComparison::Same);
        assert_eq!(with(vec![same()]), (words(BY_ANOTHER), false));
        let (each_once, _) = with(vec![
            same(),
            captured(2, Some("R1.A")),
            captured(4, Some("R1.A")),
            again(5, 4, "Ada", RunComparison::Same),
        ]);
        assert!(
            each_once.starts_with(
                "3 commands: 1 gave the same when rerun by another, 1 gave the same when rerun by its author, 1 not rerun yet;"
            ),
            "{each_once}"
        );
        let differs = || again(3, 1, "CI", RunComparison::Differs);
        assert_eq!(with(vec![differs()]), (words("differs"), true));
        let judged_to = |what: &str| words(&format!("differs (judged to {what})"));
        assert_eq!(with(vec![differs(), judged(4, 3, true)]), (judged_to("hold"), false));
        let fails = with(vec![differs(), judged(4, 3, true), judged(5, 3, false)]);
        assert_eq!(fails, (judged_to("fail"), true));
    }

    #[test]
    fn a_judgement_by_who_wrote_an_answer_only_later_stays() {
        let differs = again(3, 1, "CI", RunComparison::Differs);
        let facts = facts(vec![captured(1, Some("R1.A")), differs, judged(4, 3, true)]);
        let is_contested = |day| {
            let mut own = Node::clone(facts.node(&"R2.A1".parse().unwrap()).unwrap());
            own.id = "R2.A2".parse().unwrap();
            let result = own.classification.as_mut().unwrap();
            (result.caller, result.committed_at) = (Caller::of_person("Ben", None), at(day));
            let facts = facts.with(&[Change::Node(Arc::new(own))]);
            !Assessment::new(&facts, Some(EffectiveRules::new(ruleset(), facts.meta()))).answers[0]
                .differing_runs
                .is_empty()
        };
        assert_eq!([2, 9].map(is_contested), [true, false]);
    }

    #[test]
    fn a_judgement_is_of_each_repetition_that_differs_in_the_same_way_and_the_last_one_counts() {
        let printing = |number: u8, sha256: &str| {
            let mut run = again(number, 1, "CI", RunComparison::Differs).as_ref().clone();
            let RunKind::Repeated { ran, .. } = &mut run.what else { panic!("repeated") };
            (ran.output.text, ran.output.sha256) = (sha256.to_owned(), sha256.to_owned());
            // Another output is another difference, also where an expectation is missed in the same way.
            let found = Some("9".to_owned());
            ran.expectations = vec![Expectation { pattern: "9".into(), range: None, found, held: false }];
            Arc::new(run)
        };
        let with = |more: Vec<Arc<Run>>| told([vec![captured(1, Some("R2.A1"))], more].concat());
        let (first, same, other) = (printing(2, "a"), printing(4, "a"), printing(4, "b"));
        let holds = judged(3, 2, true);
        assert!(!with(vec![first.clone(), holds.clone(), same.clone()]).1);
        assert!(with(vec![first.clone(), holds.clone(), other]).1, "another difference");
        let (words, is_contested) =
            with(vec![first.clone(), holds.clone(), same.clone(), judged(5, 2, false)]);
        assert!(is_contested && words.contains(": differs (judged to fail);"), "{words}");
        assert!(!with(vec![first, judged(3, 2, false), same, judged(5, 4, true)]).1);
        // Withheld outputs look alike but may differ.
        assert!(with(vec![printing(2, ""), holds, printing(4, "")]).1);
    }

    #[test]
    fn the_newest_repetition_that_ran_counts_and_one_that_could_not_run_settles_nothing() {
        let all = |more: Vec<Arc<Run>>| told([vec![captured(1, Some("R2.A1"))], more].concat());
        let (same, differs) =
            (again(3, 1, "CI", RunComparison::Same), again(2, 1, "CI", RunComparison::Differs));
        let (words, is_contested) = all(vec![differs.clone(), same]);
        assert!(!is_contested && words.contains(": gave the same when rerun by another;"), "{words}");
        assert!(all(vec![differs, again(4, 1, "CI", RunComparison::CouldNotRun)]).1);
        let (words, is_contested) = all(vec![again(3, 1, "CI", RunComparison::CouldNotRun)]);
        assert!(!is_contested && words.contains(": could not run;"), "{words}");
        let mut lost = ran("../x.py");
        lost.output.text = "No such file: '/w/../x.py'".to_owned();
        let lost = RunKind::Repeated { of: id(1), at: None, verdict: RunComparison::Differs, ran: lost };
        assert!(all(vec![run(3, None, "CI", lost)]).0.contains(": could not run;"));
    }

    #[test]
    fn a_difference_stays_after_what_is_older_uncommitted_or_by_the_author_alone() {
        let with = |run: Arc<Run>, commit: &str, state: ProjectState| {
            let mut run = run.as_ref().clone();
            if let RunKind::Repeated { at, .. } = &mut run.what {
                *at = Some(commit.to_owned());
            }
            if let RunKind::Captured(ran) | RunKind::Repeated { ran, .. } = &mut run.what {
                ran.project = Some(ProjectState { commit: Some(commit.to_owned()), ..state });
            }
            Arc::new(run)
        };
        let clean = ProjectState::default;
        let stays = |last: Arc<Run>| {
            let first = with(captured(1, Some("R2.A1")), "old", clean());
            told(vec![first, again(2, 1, "CI", RunComparison::Differs), last]).1
        };
        let same = |by: &str, commit: &str, state| with(again(3, 1, by, RunComparison::Same), commit, state);
        assert!(!stays(same("CI", "new", clean())));
        assert!(stays(same("CI", "old", clean())));
        assert!(stays(same("Ada", "new", clean())));
        let own = with(again(3, 1, "Ada", RunComparison::Differs), "new", clean());
        let first = with(captured(1, Some("R2.A1")), "old", clean());
        let same_again = with(again(4, 1, "Ada", RunComparison::Same), "new", clean());
        assert!(told(vec![first, again(2, 1, "CI", RunComparison::Differs), own, same_again]).1);
        assert!(stays(same("CI", "new", ProjectState { behind: true, ..clean() })));
        assert!(stays(same("CI", "new", ProjectState { changed: vec!["value".into()], ..clean() })));
        assert!(!stays(judged(3, 2, true)));
        assert!(stays(run(3, None, "Ada", RunKind::Judged { of: id(2), holds: true })));
    }

    #[test]
    fn a_run_that_a_result_names_is_evidence_once_and_its_author_alone_has_not_reproduced_it() {
        let runs = vec![captured(9, None), again(10, 9, "Ada", RunComparison::Same), captured(7, None)];
        let facts = facts(runs);
        let assessment = Assessment::new(&facts, None);
        let named: Vec<_> = assessment.runs_of(&"R2.A1".parse().unwrap()).collect();
        assert_eq!(named.iter().map(|run| run.run.id).collect::<Vec<_>>(), [id(9)]);
        assert!(!named[0].is_reproduced());
        assert_eq!(
            named[0].words(),
            "rerun by Ada (a person), who captured it, on 28 Nov 2026 at 3f2a91c: same"
        );
    }

    #[test]
    fn another_machine_or_session_is_another_and_whom_git_contradicts_is_nobody() {
        let machine = |os: &str| System { os: os.to_owned(), ..System::default() };
        let by = |caller: Caller| Commenter { name: "git".into(), caller, ..Commenter::default() };
        let session = |name: &str| Caller { session: Some(name.to_owned()), ..Caller::default() };
        let same = [&machine("linux"), &machine("linux")];
        let (one, two) = (by(session("one")), by(session("two")));
        assert!(is_by_other([&one, &two], same));
        assert!(!is_by_other([&one, &one], same));
        assert!(is_by_other([&one, &one], [&machine("linux"), &machine("macos")]));
        let mut false_name = by(Caller::of_person("Ben", None));
        false_name.disown();
        assert!(!is_by_other([&one, &false_name], [&machine("linux"), &machine("macos")]));
    }
    /// The files of a project at the commits `0`, `1` and `2`, the last of which is now.
    struct Commits([BTreeMap<String, (String, String)>; 3]);

    impl ProjectView for Commits {
        fn since(&self, commit: &str) -> Option<Arc<BTreeMap<String, bool>>> {
            let then = self.0.get(commit.parse::<usize>().ok()?)?;
            let paths =
                then.keys().chain(self.0[2].keys()).filter(|path| then.get(*path) != self.0[2].get(*path));
            Some(Arc::new(paths.map(|path| (path.clone(), then.contains_key(path))).collect()))
        }

        fn files(&self) -> Option<&BTreeMap<String, (String, String)>> {
            Some(&self.0[2])
        }

        fn is_lost(&self, _: &Pin) -> bool {
            false
        }

        fn refs(&self, _: &[RunRef]) -> Vec<RunRef> {
            Vec::new()
        }
    }

    #[test]
    fn unchanged_means_as_when_the_command_last_ran_and_every_change_is_named() {
        // Each file is absent, plain, or executable.
        let files = |number: usize| {
            let file = |(at, path): (u32, &str)| {
                let mode = [None, Some("100644"), Some("100755")][number / 3_usize.pow(at) % 3]?;
                Some((path.to_owned(), (mode.to_owned(), "b10b".to_owned())))
            };
            (0..).zip(["src/a", "src/b", "see"]).filter_map(file).collect::<BTreeMap<_, _>>()
        };
        let at = |number: usize, mut run: Run, first: Option<&BTreeMap<String, (String, String)>>| {
            if let RunKind::Captured(ran) | RunKind::Repeated { ran, .. } = &mut run.what {
                ran.command = vec!["sh".into(), "-c".into(), "./see <x".into()];
                let commit = Some(number.to_string());
                ran.project = Some(ProjectState { commit, ..ProjectState::default() });
                ran.input_folders = first.map(|_| "src".to_owned()).into_iter().collect();
                let input = |(path, (mode, blob)): (&String, &(String, String))| RunInput {
                    path: path.clone(),
                    blob: blob.clone(),
                    mode: mode.clone(),
                    seen: false,
                };
                ran.inputs = first.into_iter().flatten().map(input).collect();
            }
            if let RunKind::Repeated { at, .. } = &mut run.what {
                *at = Some(number.to_string());
            }
            Arc::new(run)
        };
        for (first, again, now) in
            (0..27 * 27 * 27).step_by(7).map(|all| (all % 27, all / 27 % 27, all / 729))
        {
            let view = Commits([files(first), files(again), files(now)]);
            let changed = |then: usize| {
                let paths = view.0[then].keys().chain(view.0[2].keys());
                paths
                    .filter(|it| view.0[then].get(*it) != view.0[2].get(*it))
                    .cloned()
                    .collect::<BTreeSet<_>>()
            };
            let known = |runs: Vec<Arc<Run>>| {
                ProjectInputs::of(&facts(runs), "2", None, &view).states[&id(1)].clone()
            };
            let captured = |inputs| at(0, captured(1, None).as_ref().clone(), inputs);
            let declared = captured(Some(&view.0[0]).filter(|files| !files.is_empty()));
            // Only a file that was there when the command ran is one that it names.
            let was_there = |then: usize| view.0[then].contains_key("see");
            let named = |then: usize| changed(then).contains("see") && (was_there(then) || was_there(0));
            let is_as_then = |then: usize| !changed(then).iter().any(|it| it != "see") && !named(then);
            match known(vec![declared.clone()]) {
                InputState::Unchanged => assert!(is_as_then(0)),
                InputState::Changed(files) => {
                    let missed =
                        changed(0).into_iter().find(|it| !files.contains(it) && (it != "see" || named(0)));
                    assert_eq!((missed, is_as_then(0)), (None, false));
                }
                // The command may read a file that it did not find then.
                state => {
                    assert_eq!(state, InputState::NotRecorded);
                    assert!(first == 0 || changed(0).contains("see"));
                }
            }
            let again = self::again(2, 1, "CI", RunComparison::Same).as_ref().clone();
            let state = known(vec![declared, at(1, again, None)]);
            let is_as_ever = changed(0).is_empty() || changed(1).is_empty();
            assert_eq!(state == InputState::Unchanged, first > 0 && is_as_ever);
            let state = known(vec![captured(None)]);
            assert_eq!(matches!(state, InputState::Changed(_)), named(0), "{state:?}");
        }
    }
}
