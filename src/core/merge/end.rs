//! Two ends of one investigation.

use super::{Decision, three_way};
use crate::domain::Conclusion;

/// The end that stands, with the others beside it, and what was decided. `went_on`: whether
/// each side has changed nodes.
pub(super) fn join(
    base: Option<Conclusion>,
    ours: Option<Conclusion>,
    theirs: Option<Conclusion>,
    went_on: [bool; 2],
) -> (Option<Conclusion>, Vec<Decision>) {
    if let Some(end) = three_way(&base, &ours, &theirs) {
        let is_new = |side: &Option<Conclusion>| side.is_some() && *side != base;
        let goes_on = match (is_new(&ours), is_new(&theirs)) {
            (true, false) => went_on[1],
            (false, true) => went_on[0],
            _ => false,
        };
        let decided = goes_on.then_some(Decision::EndedThenContinued);
        return (end, decided.into_iter().collect());
    }
    let (Some(ours), Some(theirs)) = (&ours, &theirs) else {
        // Changed on one side and opened again on the other: its text is kept.
        return (ours.or(theirs), vec![Decision::EndedThenContinued]);
    };
    let [base, ours, theirs] = [base.as_ref().map(apart).unwrap_or_default(), apart(ours), apart(theirs)];
    let is_gone = |end: &Conclusion| base.contains(end) && !(ours.contains(end) && theirs.contains(end));
    let mut ends: Vec<Conclusion> = ours.iter().chain(&theirs).filter(|end| !is_gone(end)).cloned().collect();
    ends.sort_by_cached_key(order);
    ends.dedup();
    // An end without a text is the one with a text before that was given to it.
    let texts: Vec<Conclusion> = ends.iter().filter(|end| end.conclusion.is_some()).cloned().collect();
    let has_text = |end: &Conclusion| texts.iter().any(|other| other.ended_at == end.ended_at);
    ends.retain(|end| end.conclusion.is_some() || !has_text(end));
    let mut ends = ends.into_iter();
    let Some(first) = ends.next() else { return (None, Vec::new()) };
    let other_conclusions: Vec<Conclusion> = ends.collect();
    let others = other_conclusions.len();
    let decided = (others > 0).then_some(Decision::OtherEnds { others });
    (Some(Conclusion { other_conclusions, ..first }), decided.into_iter().collect())
}

/// An end and the others beside it, each by itself.
fn apart(end: &Conclusion) -> Vec<Conclusion> {
    let alone = Conclusion { other_conclusions: Vec::new(), ..end.clone() };
    std::iter::once(alone).chain(end.other_conclusions.iter().cloned()).collect()
}

/// By time; the rest only tells apart what happened at once.
fn order(end: &Conclusion) -> impl Ord + use<> {
    (end.ended_at, end.concluded_at, format!("{end:?}"))
}
