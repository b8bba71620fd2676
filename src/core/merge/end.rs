//! Joins two conclusions of the same investigation.

use super::node::join_amended;
use super::order::join_lists;
use super::{MergeDecision, three_way};
use crate::domain::Conclusion;

/// Returns the first conclusion with the others attached, and the decisions. Which of them counts depends on research that
/// a later merge may bring, so [`Conclusion::ranked`] decides it when they are read.
///
/// `went_on` is true for each side that changed nodes.
pub(super) fn join(
    [base, ours, theirs]: [Option<Conclusion>; 3],
    went_on: [bool; 2],
) -> (Option<Conclusion>, Vec<MergeDecision>) {
    if let Some(end) = three_way(&base, &ours, &theirs) {
        let is_new = |side: &Option<Conclusion>| side.as_ref().is_some_and(|it| !it.draft) && *side != base;
        let goes_on = match (is_new(&ours), is_new(&theirs)) {
            (true, false) => went_on[1],
            (false, true) => went_on[0],
            _ => false,
        };
        let decided = goes_on.then_some(MergeDecision::EndedThenContinued);
        return (end, decided.into_iter().collect());
    }
    let is_reopened = ours.is_none() || theirs.is_none();
    let [base, ours, theirs] = [base, ours, theirs].map(|end| end.as_ref().map(apart).unwrap_or_default());
    // An unchanged conclusion that the other side reopened is dropped.
    let kept = |side: &[Conclusion], other: &[Conclusion]| -> Vec<Conclusion> {
        let is_gone =
            |end: &Conclusion| base.contains(end) && !other.iter().any(|other| key(other) == key(end));
        side.iter().filter(|end| !is_gone(end)).cloned().collect()
    };
    let (ours, theirs) = (kept(&ours, &theirs), kept(&theirs, &ours));
    let both_amended = |base: Option<&Conclusion>, our: &Conclusion, their: &Conclusion| {
        let lists = [base.map_or(&[][..], |base| &base.amended), &our.amended, &their.amended];
        let amended =
            join_amended(lists, |it| (it.at, format!("{:?} {:?} {:?}", it.agent_id, it.caller, it.reason)))?;
        // Places that were not recorded with the text may have been on one side later.
        let references = [our, their].map(|it| it.references.clone());
        let references = references.into_iter().max_by_key(|it| (it.len(), format!("{it:?}")))?;
        Some(Conclusion { amended, references, ..our.clone() })
    };
    let lists = [&base[..], &ours, &theirs];
    // If both sides edited an amendment differently, keep both conclusions.
    let mut ends = join_lists(lists, key, both_amended)
        .or_else(|| {
            join_lists(
                lists,
                |end| (end.ended_at, end.concluded_at, format!("{end:?}")),
                |_, our, _| Some(our.clone()),
            )
        })
        .unwrap_or_default();
    // A conclusion without text is an earlier version of a conclusion whose text was added later.
    let texts: Vec<Conclusion> = ends.iter().filter(|end| end.conclusion.is_some()).cloned().collect();
    let call = |end: &Conclusion| (end.ended_at, end.agent_id.clone(), end.caller.clone());
    let has_text = |end: &Conclusion| texts.iter().any(|other| call(other) == call(end));
    ends.retain(|end| end.conclusion.is_some() || !has_text(end));
    ends.sort_by_key(|end| (end.reopened.is_some(), end.draft));
    let mut ends = ends.into_iter().map(|end| exchanged(end, false));
    let Some(first) = ends.next() else { return (None, Vec::new()) };
    let other_conclusions: Vec<Conclusion> = ends.collect();
    let others = other_conclusions.iter().filter(|end| !end.draft && !first.draft).count();
    let decided = (others > 0).then_some(MergeDecision::OtherEnds { others });
    // A conclusion changed on one side and reopened on the other is kept.
    let decided = decided.or_else(|| is_reopened.then_some(MergeDecision::EndedThenContinued));
    (Some(Conclusion { other_conclusions, ..first }), decided.into_iter().collect())
}

/// Returns a conclusion and the other conclusions attached to it, each before its amendments. The amendments contain
/// the new text.
fn apart(end: &Conclusion) -> Vec<Conclusion> {
    let alone = Conclusion { other_conclusions: Vec::new(), ..end.clone() };
    let all = std::iter::once(alone).chain(end.other_conclusions.iter().cloned());
    all.map(|end| exchanged(end, true)).collect()
}

/// Returns the conclusion with each amendment swapped with the current text.
fn exchanged(mut end: Conclusion, is_backwards: bool) -> Conclusion {
    let mut amended = std::mem::take(&mut end.amended);
    match is_backwards {
        true => amended.iter_mut().rev().for_each(|it| it.swap(&mut end)),
        false => amended.iter_mut().for_each(|it| it.swap(&mut end)),
    }
    Conclusion { amended, ..end }
}

/// Returns the identity of a conclusion, ignoring amendments: its time, and all other fields to distinguish
/// simultaneous conclusions.
fn key(end: &Conclusion) -> impl Ord + Clone + use<> {
    let core = Conclusion { amended: Vec::new(), references: Vec::new(), ..end.clone() };
    (end.ended_at, end.concluded_at, format!("{core:?}"))
}
