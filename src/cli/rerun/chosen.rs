//! Selects the runs to repeat, and describes what a difference means. Pure.

use crate::assess::{Assessment, CapturedRun, InputState};
use crate::domain::{NodeId, RunId};
use crate::text::{first_sentence, one_line, shorten};

/// The maximum number of characters in a quoted sentence.
const SENTENCE_MAX: usize = 300;

/// The runs to repeat.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// All captured runs.
    All,
    /// The runs of these nodes, and these runs.
    Of(&'a [NodeId], &'a [RunId]),
    /// The runs that the answers rest on.
    Answers,
    /// The runs that the conclusion rests on or, while it names no answers, all answers.
    Concluding,
}

/// Returns the wanted runs without duplicates, oldest first.
pub(super) fn chosen<'s, 'a>(assessment: &'s Assessment<'a>, wanted: Wanted<'_>) -> Vec<&'s CapturedRun<'a>> {
    let mut chosen: Vec<&CapturedRun<'a>> = match wanted {
        Wanted::All => assessment.runs().collect(),
        Wanted::Of(nodes, runs) => {
            let of_nodes = nodes.iter().flat_map(|node| assessment.runs_of(node));
            of_nodes.chain(runs.iter().filter_map(|id| assessment.run(*id))).collect()
        }
        Wanted::Answers => assessment.whole_runs().collect(),
        Wanted::Concluding => {
            assessment.concluding().into_iter().flat_map(|answer| assessment.evidence(answer)).collect()
        }
    };
    chosen.sort_by_key(|it| it.run.id);
    chosen.dedup_by_key(|it| it.run.id);
    chosen
}

/// Returns whether the inputs of a command changed or, if `unknown` is true, are not known to be unchanged. Inputs that are
/// again as they were when it was captured have changed since a rerun that differed.
pub(super) fn is_due(run: &CapturedRun<'_>, unknown: bool) -> bool {
    match run.input_state {
        Some(InputState::Changed(_)) => true,
        Some(InputState::Unchanged | InputState::NotRecorded) if run.is_contesting() => true,
        Some(InputState::Unchanged | InputState::Pinned) => false,
        Some(InputState::NotRecorded | InputState::NotChecked) | None => unknown,
    }
}

/// Returns a sentence about what no longer holds, if the answers rest on one of these differing runs.
pub(super) fn no_longer(
    assessment: &Assessment<'_>,
    mut differing: impl Iterator<Item = RunId>,
) -> Option<String> {
    differing.find(|id| assessment.whole_runs().any(|it| it.run.id == *id))?;
    let sentence = |text: &str| shorten(&one_line(first_sentence(text.trim())), SENTENCE_MAX);
    let conclusion = assessment.end().and_then(|end| end.conclusion.clone());
    let conclusion = assessment.bottom_line().or(conclusion);
    Some(match (conclusion, assessment.first()) {
        (Some(conclusion), _) => format!("The conclusion no longer holds: {}", sentence(&conclusion)),
        (None, Some(answer)) => {
            format!("The answer {} no longer holds: {}", answer.node.id, sentence(answer.node.name()))
        }
        (None, None) => return None,
    })
}
