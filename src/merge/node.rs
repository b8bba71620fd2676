//! What both sides have done with one node. Its id, parent and links are those of the merged tree already.

use super::{Decision, three_way};
use crate::domain::{Amendment, Claim, Classification, Node, Reclassification, Timestamp};

/// The node, where there is one, and what was decided. `None`: both sides have written over the same text by hand.
pub(super) fn join(
    base: Option<Node>,
    ours: Option<Node>,
    theirs: Option<Node>,
) -> Option<(Option<Node>, Vec<Decision>)> {
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (left, right) => {
            let node = left.or(right);
            let was_there = base.is_some();
            let kept = node.as_ref().filter(|_| was_there);
            let decisions = kept.map(|node| Decision::Kept { node: node.id.clone() }).into_iter().collect();
            return Some((node, decisions));
        }
    };
    if let Some(node) = three_way(&base, &Some(ours.clone()), &Some(theirs.clone())) {
        return Some((node, Vec::new()));
    }
    let mut decisions = Vec::new();
    let before = base.as_ref().unwrap_or(&ours);
    let claims =
        [base.as_ref().and_then(|base| base.claim.clone()), ours.claim.clone(), theirs.claim.clone()];
    let mut node = Node {
        planned_action: three_way(&before.planned_action, &ours.planned_action, &theirs.planned_action)?,
        covers: three_way(&before.covers, &ours.covers, &theirs.covers)?,
        claim: join_claims(claims, &ours, &mut decisions),
        classification: None,
        ..ours.clone()
    };
    let results = join_results(
        base.as_ref().map(apart).unwrap_or_default(),
        apart(&ours),
        apart(&theirs),
        &node,
        &mut decisions,
    )?;
    let mut results = results.into_iter();
    if let Some(mut first) = results.next() {
        first.other_results = results.collect();
        node.claim = None;
        note_results(&first, &[&ours, &theirs], &mut decisions);
        node.classification = Some(first);
    }
    join_titles(&mut node, base.as_ref(), &ours, &theirs)?;
    Some((Some(node), decisions))
}

/// The claim that stands: the earlier one.
fn join_claims(claims: [Option<Claim>; 3], node: &Node, decisions: &mut Vec<Decision>) -> Option<Claim> {
    let [base, ours, theirs] = claims;
    three_way(&base, &ours, &theirs).unwrap_or_else(|| {
        let claim = ours.into_iter().chain(theirs).min()?;
        let (node, agent_id) = (node.id.clone(), claim.agent_id.clone());
        decisions.push(Decision::BothClaimed { node, agent_id });
        Some(claim)
    })
}

/// What was proposed, before any amendment.
pub(super) fn original_title(node: &Node) -> String {
    title_steps(node).into_iter().next().map_or_else(|| node.title.clone(), |step| step.before)
}

/// A result and the others beside it, each by itself.
fn apart(node: &Node) -> Vec<Classification> {
    let Some(result) = &node.classification else { return Vec::new() };
    let alone = Classification { other_results: Vec::new(), ..result.clone() };
    std::iter::once(alone).chain(result.other_results.iter().cloned()).collect()
}

/// All results of both sides, the earliest first.
fn join_results(
    base: Vec<Classification>,
    ours: Vec<Classification>,
    theirs: Vec<Classification>,
    node: &Node,
    decisions: &mut Vec<Decision>,
) -> Option<Vec<Classification>> {
    let mut theirs: Vec<Option<Classification>> = theirs.into_iter().map(Some).collect();
    let mut results = Vec::new();
    for our in ours {
        let before = base.iter().find(|before| is_same(before, &our));
        let twin = theirs.iter_mut().find(|their| their.as_ref().is_some_and(|their| is_same(their, &our)));
        match twin.and_then(Option::take) {
            None => results.push(our),
            Some(their) => match same_core(before, &our, &their) {
                Some(core) => {
                    let result = joined(core, before, &our, &their)?;
                    let twice = |old: usize, ours: usize, theirs: usize| ours > old && theirs > old;
                    let changes = |it: &Classification| it.reclassified.len();
                    let old = before.map_or(0, changes);
                    if our.reclassified != their.reclassified && twice(old, changes(&our), changes(&their)) {
                        let state = result.current_state().clone();
                        decisions.push(Decision::BothReclassified { node: node.id.clone(), state });
                    }
                    let amended = |it: &Classification| it.amended.len();
                    let old = before.map_or(0, amended);
                    if our.amended != their.amended && twice(old, amended(&our), amended(&their)) {
                        decisions.push(Decision::BothAmended { node: node.id.clone() });
                    }
                    results.push(result);
                }
                None => results.extend([our, their]),
            },
        }
    }
    results.extend(theirs.into_iter().flatten());
    results.sort_by_cached_key(|result| (result.committed_at, order(&core(result))));
    Some(results)
}

/// Whether both are one result, whatever has become of it since.
fn is_same(one: &Classification, other: &Classification) -> bool {
    one.committed_at == other.committed_at && one.agent_id == other.agent_id && one.caller == other.caller
}

/// What was committed, where both are one result; `None` where they are two after all.
fn same_core(
    base: Option<&Classification>,
    ours: &Classification,
    theirs: &Classification,
) -> Option<Classification> {
    let (ours, theirs) = (core(ours), core(theirs));
    match base {
        Some(base) => three_way(&core(base), &ours, &theirs),
        None => (ours == theirs).then_some(ours),
    }
}

/// What was committed, with what became of it on both sides.
fn joined(
    core: Classification,
    base: Option<&Classification>,
    ours: &Classification,
    theirs: &Classification,
) -> Option<Classification> {
    let mut result = core;
    result.reclassified = join_changes(&result, [ours, theirs]);
    let mut amended: Vec<Amendment> = ours.amended.iter().chain(&theirs.amended).cloned().collect();
    amended.sort_by_cached_key(identity);
    amended.dedup_by_key(|amendment| identity(amendment));
    for part in PARTS {
        let of = |side: &Classification| steps(side.amended.iter(), part.before, (part.now)(side));
        let steps = join_steps(base.map(of).unwrap_or_default(), of(ours), of(theirs))?;
        let now = chain(amended.iter_mut(), part, (part.now)(&result), &steps);
        (part.set_now)(&mut result, now);
    }
    result.amended = amended;
    Some(result)
}

/// A result as it was committed, before any change.
fn core(result: &Classification) -> Classification {
    let mut core = Classification {
        reclassified: Vec::new(),
        amended: Vec::new(),
        other_results: Vec::new(),
        ..result.clone()
    };
    for part in PARTS {
        let first = result.amended.iter().find_map(part.before);
        first.into_iter().for_each(|text| (part.set_now)(&mut core, text));
    }
    core
}

/// The changes of state of both sides, by time. Each begins with the state that the one before has left.
fn join_changes(result: &Classification, sides: [&Classification; 2]) -> Vec<Reclassification> {
    let alone = |change: &Reclassification| Reclassification { from: change.to.clone(), ..change.clone() };
    let mut changes: Vec<Reclassification> =
        sides.iter().flat_map(|side| &side.reclassified).map(alone).collect();
    changes.sort_by_cached_key(|change| (change.at, format!("{change:?}")));
    changes.dedup();
    let mut state = result.state.clone();
    for change in &mut changes {
        change.from = std::mem::replace(&mut state, change.to.clone());
    }
    changes
}

/// The title that the later amendment has left, with the earlier ones before it.
fn join_titles(node: &mut Node, base: Option<&Node>, ours: &Node, theirs: &Node) -> Option<()> {
    let steps =
        join_steps(base.map(title_steps).unwrap_or_default(), title_steps(ours), title_steps(theirs))?;
    let [our_first, their_first] = [ours, theirs].map(original_title);
    let first = three_way(&base.map_or_else(|| our_first.clone(), original_title), &our_first, &their_first)?;
    let results = node.classification.iter_mut();
    let mut amended: Vec<&mut Amendment> = results
        .flat_map(|result| {
            let others = result.other_results.iter_mut().flat_map(|other| &mut other.amended);
            result.amended.iter_mut().chain(others)
        })
        .collect();
    amended.sort_by_cached_key(|amendment| identity(amendment));
    node.title = chain(amended, &TITLE, first, &steps);
    Some(())
}

/// The amendments of a node's title, whichever result they stand with.
fn title_steps(node: &Node) -> Vec<Step> {
    let results = node.classification.iter().flat_map(|it| std::iter::once(it).chain(&it.other_results));
    let mut amended: Vec<&Amendment> = results.flat_map(|result| &result.amended).collect();
    amended.sort_by_cached_key(|amendment| identity(amendment));
    steps(amended.into_iter(), TITLE.before, node.title.clone())
}

/// One amendment of a text.
#[derive(Clone)]
struct Step {
    by: Identity,
    before: String,
    after: String,
}

/// What tells an amendment from others, whatever stood there before it. By time first.
type Identity = (Timestamp, String);

fn identity(amendment: &Amendment) -> Identity {
    let Amendment { at, agent_id, caller, reason, .. } = amendment;
    let parts: Vec<&str> = amendment.parts().collect();
    (*at, format!("{agent_id:?} {caller:?} {reason:?} {parts:?}"))
}

/// A text that can be amended.
struct Part {
    before: fn(&Amendment) -> Option<String>,
    set_before: fn(&mut Amendment, String),
    now: fn(&Classification) -> String,
    set_now: fn(&mut Classification, String),
}

/// The texts of a result. No headline is an empty one.
const PARTS: &[Part] = &[
    Part {
        before: |amendment| amendment.headline.clone(),
        set_before: |amendment, text| amendment.headline = Some(text),
        now: |result| result.headline.clone().unwrap_or_default(),
        set_now: |result, text| result.headline = Some(text).filter(|text| !text.is_empty()),
    },
    Part {
        before: |amendment| amendment.findings.clone(),
        set_before: |amendment, text| amendment.findings = Some(text),
        now: |result| result.findings.clone(),
        set_now: |result, text| result.findings = text,
    },
];

/// The title, which is the node's.
const TITLE: Part = Part {
    before: |amendment| amendment.title.clone(),
    set_before: |amendment, text| amendment.title = Some(text),
    now: |_| String::new(),
    set_now: |_, _| {},
};

/// What each amendment has made of a text that is now `now`.
fn steps<'a>(
    amended: impl Iterator<Item = &'a Amendment>,
    before: fn(&Amendment) -> Option<String>,
    now: String,
) -> Vec<Step> {
    let mut after = now;
    let amended: Vec<(Identity, String)> =
        amended.filter_map(|amendment| Some((identity(amendment), before(amendment)?))).collect();
    let mut steps: Vec<Step> = Vec::with_capacity(amended.len());
    for (by, before) in amended.into_iter().rev() {
        let text = before.clone();
        steps.push(Step { by, before, after: std::mem::replace(&mut after, text) });
    }
    steps.reverse();
    steps
}

/// The steps of both sides. One that is on both has left the same text, unless somebody has written over it by hand.
fn join_steps(base: Vec<Step>, ours: Vec<Step>, theirs: Vec<Step>) -> Option<Vec<Step>> {
    let mut steps = Vec::with_capacity(ours.len() + theirs.len());
    let of = |steps: &[Step], by: &Identity| steps.iter().find(|step| step.by == *by).cloned();
    for our in ours {
        let after = match of(&theirs, &our.by) {
            None => our.after,
            Some(their) => {
                let before = of(&base, &our.by).map_or_else(|| our.after.clone(), |step| step.after);
                three_way(&before, &our.after, &their.after)?
            }
        };
        steps.push(Step { after, ..our });
    }
    let is_new = |step: &Step| steps.iter().all(|other| other.by != step.by);
    let new: Vec<Step> = theirs.into_iter().filter(is_new).collect();
    steps.extend(new);
    Some(steps)
}

/// Notes with each amendment of a text what stood there before it, from `first` on, and gives what the last one left.
fn chain<'a>(
    amended: impl IntoIterator<Item = &'a mut Amendment>,
    part: &Part,
    first: String,
    steps: &[Step],
) -> String {
    let mut text = first;
    for amendment in amended {
        if let Some(step) = steps.iter().find(|step| step.by == identity(amendment)) {
            (part.set_before)(amendment, std::mem::replace(&mut text, step.after.clone()));
        }
    }
    text
}

/// For an order that is the same on every machine, of what happened at the same time.
fn order(result: &Classification) -> String {
    format!("{result:?}")
}

/// What there is to say of results that came together.
fn note_results(first: &Classification, sides: &[&Node; 2], decisions: &mut Vec<Decision>) {
    let node = || sides[0].id.clone();
    let others = first.other_results.len();
    let before = |side: &&Node| side.classification.as_ref().map_or(0, |it| it.other_results.len());
    if sides.iter().all(|side| before(side) < others) {
        decisions.push(Decision::OtherResult { node: node(), others });
        if first.is_contested() {
            let results = std::iter::once(first).chain(&first.other_results);
            let mut states: Vec<_> = results.map(|result| result.current_state().clone()).collect();
            states.dedup();
            decisions.push(Decision::Contested { node: node(), states });
        }
    }
}
