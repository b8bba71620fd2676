//! Which runs are repeated, and what it means that one differs. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::assess::Assessment;
use crate::domain::run::{Ran, Verdict};
use crate::domain::{BoundAs, Investigation, Node, NodeId, Run, RunId, RunKind};
use crate::text::{first_sentence, one_line, shorten};

/// The most characters of a sentence.
const SENTENCE_MAX: usize = 300;

/// Which runs somebody wants to repeat.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// All that were captured.
    All,
    /// Those of these nodes.
    Of(&'a [NodeId]),
    /// Those that the answers rest on.
    Answers,
}

/// Those that were captured, the oldest first.
pub(super) fn chosen<'a>(assessment: &Assessment<'a>, wanted: Wanted<'_>) -> Vec<(&'a Arc<Run>, &'a Ran)> {
    let all = captured(assessment.investigation);
    match wanted {
        Wanted::All => all.collect(),
        Wanted::Of(nodes) => {
            let of = runs_of(assessment.investigation, |id| nodes.contains(id));
            all.filter(|(run, _)| of.contains(&run.id)).collect()
        }
        Wanted::Answers => {
            let of = decisive(assessment);
            all.filter(|(run, _)| of.contains(&run.id)).collect()
        }
    }
}

fn captured(investigation: &Investigation) -> impl Iterator<Item = (&Arc<Run>, &Ran)> {
    investigation.runs().filter_map(|run| match &run.what {
        RunKind::Captured(ran) => Some((run, ran)),
        _ => None,
    })
}

/// The runs of nodes: those that were made for one, and those that a result of one names.
fn runs_of(investigation: &Investigation, is_wanted: impl Fn(&NodeId) -> bool) -> BTreeSet<RunId> {
    let made = investigation.runs().filter(|run| run.node.as_ref().is_some_and(&is_wanted)).map(|run| run.id);
    let nodes = investigation.nodes().filter(|node| is_wanted(&node.id));
    let results = nodes.filter_map(|node| node.classification.as_ref());
    let named =
        results.flat_map(|own| std::iter::once(own).chain(&own.other_results)).flat_map(|it| &it.runs);
    made.chain(named.copied()).collect()
}

/// The answers that the whole rests on: those that the conclusion names, or the best one while there is no end.
fn answers<'a>(assessment: &Assessment<'a>) -> Vec<&'a Arc<Node>> {
    let bound = assessment.bound().filter(|bound| bound.role != BoundAs::Rival);
    let bound: Vec<_> = bound.filter_map(|bound| assessment.investigation.node(bound.id)).collect();
    match bound.is_empty() {
        true => assessment.first().map(|first| first.node).into_iter().collect(),
        false => bound,
    }
}

/// The runs that the answers rest on: their own, those of the way to them, and of what confirms them.
pub(super) fn decisive(assessment: &Assessment<'_>) -> BTreeSet<RunId> {
    let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
    for answer in answers(assessment) {
        nodes.extend(assessment.investigation.path(&answer.id).into_iter().map(|node| node.id.clone()));
        let confirming = assessment.answer(&answer.id).into_iter().flat_map(|it| &it.confirming);
        nodes.extend(confirming.map(|it| it.node.clone()));
    }
    runs_of(assessment.investigation, |id| nodes.contains(id))
}

/// What is no longer so, in a sentence, if one of these repetitions of what the answers rest on differs.
pub(super) fn no_longer<'r>(
    assessment: &Assessment<'_>,
    mut repeated: impl Iterator<Item = &'r (RunId, Verdict)>,
) -> Option<String> {
    let decisive = decisive(assessment);
    if !repeated.any(|(of, verdict)| *verdict == Verdict::Differs && decisive.contains(of)) {
        return None;
    }
    let sentence = |text: &str| shorten(&one_line(first_sentence(text.trim())), SENTENCE_MAX);
    let conclusion = assessment.end().and_then(|end| end.conclusion.as_deref());
    Some(match (conclusion, answers(assessment).first()) {
        (Some(conclusion), _) => format!("The conclusion no longer holds: {}", sentence(conclusion)),
        (None, Some(answer)) => {
            format!("The answer {} no longer holds: {}", answer.id, sentence(answer.name()))
        }
        (None, None) => return None,
    })
}
