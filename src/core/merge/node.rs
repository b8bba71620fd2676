//! Joins both sides' work on a node.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::order::{interleave, join_lists};
use super::{MergeDecision, three_way};
use crate::domain::{Citation, Claim, Classification, Node, Reclassification};

/// Returns the merged node and the decisions. The node is absent if a side removed it by hand, unless the other side worked
/// on it or `is_needed` says that it has children. Returns `None` if both sides manually edited the same text.
pub(super) fn join(
    [base, ours, theirs]: [Option<Node>; 3],
    is_needed: bool,
) -> Option<(Option<Node>, Vec<MergeDecision>)> {
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (one, other) => {
            let node = one.or(other);
            if node == base && !is_needed {
                return Some((None, Vec::new()));
            }
            let node = node.or_else(|| base.clone());
            let kept = node.iter().filter(|_| base.is_some());
            let decisions = kept.map(|node| MergeDecision::Missing { node: node.id.clone() }).collect();
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
    let proposals = [before, &ours, &theirs];
    let mut node = Node {
        planned_action: three_way_of(proposals, |it| it.planned_action.clone())?,
        covers: three_way_of(proposals, |it| it.covers.clone())?,
        claim: join_claims(claims, &ours, &mut decisions),
        replaces: three_way_of(proposals, |it| it.replaces.clone())?,
        withdrawn: [&ours, &theirs]
            .into_iter()
            .filter_map(|it| it.withdrawn.clone())
            .min_by_key(|it| (it.at, format!("{it:?}"))),
        classification: None,
        ..ours.clone()
    };
    let (our_past, their_past) = (UnamendedNode::of(&ours), UnamendedNode::of(&theirs));
    let past = base.as_ref().map(UnamendedNode::of);
    if past.as_ref().is_some_and(|past| past.is_edited_and_amended([&our_past, &their_past])) {
        decisions.push(MergeDecision::EditedAndAmended { node: node.id.clone() });
    }
    node.title = three_way_of(proposals, |it| UnamendedNode::of(it).title)?;
    let before = past.map(|past| past.results).unwrap_or_default();
    let results = join_results(before, our_past.results, their_past.results, &node, &mut decisions)?;
    if !results.is_empty() {
        node.claim = None;
        UnamendedNode { title: std::mem::take(&mut node.title), results }.bring_back(&mut node);
        if ours.is_withdrawn() != theirs.is_withdrawn() {
            decisions.push(MergeDecision::Kept { node: node.id.clone() });
        }
        if let Some(first) = &node.classification {
            note_results(first, &[&ours, &theirs], &mut decisions);
        }
    }
    Some((Some(node), decisions))
}

/// Returns the claim in force, if both sides changed the claim: one that replaced more expired claims, or the earlier one. Each
/// claim that replaces or renews another ranks higher, so the order of merges does not matter.
fn join_claims(claims: [Option<Claim>; 3], node: &Node, decisions: &mut Vec<MergeDecision>) -> Option<Claim> {
    let [base, ours, theirs] = claims;
    three_way(&base, &ours, &theirs).unwrap_or_else(|| {
        let rank =
            |claim: &Claim| (Reverse(claim.earlier), claim.at, claim.agent_id.clone(), Reverse(claim.until));
        let claim = ours.into_iter().chain(theirs).min_by_key(rank)?;
        let (node, agent_id) = (node.id.clone(), claim.agent_id.clone());
        decisions.push(MergeDecision::BothClaimed { node, agent_id });
        Some(claim)
    })
}

fn three_way_of<T: PartialEq + Clone>(versions: [&Node; 3], part: impl Fn(&Node) -> T) -> Option<T> {
    let [base, ours, theirs] = versions.map(part);
    three_way(&base, &ours, &theirs)
}

/// A node before its amendments. Each of its amendments contains the new text instead of the earlier text.
struct UnamendedNode {
    title: String,
    /// The node's own result, followed by the other results.
    results: Vec<Classification>,
}

impl UnamendedNode {
    fn of(node: &Node) -> UnamendedNode {
        let (title, mut results) = (node.title.clone(), Vec::new());
        if let Some(result) = &node.classification {
            results.push(Classification { other_results: Vec::new(), ..result.clone() });
            results.extend(result.other_results.iter().cloned());
        }
        let mut past = UnamendedNode { title, results };
        past.exchange(node, true);
        past
    }

    /// Returns whether one of two later versions has this text changed by hand, and the other one a new amendment.
    fn is_edited_and_amended(&self, [one, other]: [&UnamendedNode; 2]) -> bool {
        let is_edited = |side: &UnamendedNode| {
            let is_edited = |before: &Classification| {
                let after = side.results.iter().find(|after| is_same(before, after));
                after.is_some_and(|after| {
                    core(before) != core(after) || before.amended.iter().any(|it| !after.amended.contains(it))
                })
            };
            side.title != self.title || self.results.iter().any(is_edited)
        };
        let amendments = |side: &UnamendedNode| side.results.iter().map(|it| it.amended.len()).sum::<usize>();
        let is_amended = |side: &UnamendedNode| amendments(side) > amendments(self);
        (is_edited(one) && is_amended(other)) || (is_edited(other) && is_amended(one))
    }

    /// Reapplies the amendments in chronological order.
    fn bring_back(mut self, node: &mut Node) {
        self.exchange(node, false);
        node.title = self.title;
        let mut results = self.results.into_iter();
        node.classification = results.next();
        if let Some(first) = &mut node.classification {
            first.other_results = results.collect();
        }
    }

    /// Swaps each amendment with the current text, in chronological order. Simultaneous amendments keep their order.
    fn exchange(&mut self, node: &Node, is_backwards: bool) {
        let mut all = Vec::new();
        for (at, result) in self.results.iter().enumerate() {
            // Within a result, amendments keep their order even if a clock was set back.
            let mut latest = None;
            for (number, amendment) in result.amended.iter().enumerate() {
                latest = latest.max(Some(amendment.at));
                all.push((latest, at, number));
            }
        }
        all.sort();
        if is_backwards {
            all.reverse();
        }
        for (_, at, number) in all {
            let mut amendment = self.results[at].amended[number].clone();
            // An amendment applies to a node, so wrap this result in one.
            let mut shell = Node {
                title: std::mem::take(&mut self.title),
                classification: Some(self.results[at].clone()),
                ..Node::new(node.id.clone(), None, String::new(), node.proposed_at)
            };
            amendment.swap(&mut shell);
            self.title = shell.title;
            self.results.extend(shell.classification);
            let last = self.results.len() - 1;
            self.results.swap(at, last);
            self.results.truncate(last);
            self.results[at].amended[number] = amendment;
        }
    }
}

/// Returns the results from both sides, earliest first.
fn join_results(
    base: Vec<Classification>,
    ours: Vec<Classification>,
    theirs: Vec<Classification>,
    node: &Node,
    decisions: &mut Vec<MergeDecision>,
) -> Option<Vec<Classification>> {
    let mut results = BTreeMap::new();
    let mut add = |result: Classification| {
        let (at, core) = (result.committed_at, order(&core(&result)));
        // The number distinguishes manual copies.
        let mut key = (at, core, 0);
        while results.contains_key(&key) {
            key.2 += 1;
        }
        results.insert(key.clone(), result);
        key
    };
    let mut their_keys: Vec<_> = theirs.iter().map(|_| None).collect();
    let mut our_keys = Vec::new();
    for our in ours {
        let before = base.iter().find(|before| is_same(before, &our));
        let twin = (0..theirs.len()).find(|at| their_keys[*at].is_none() && is_same(&theirs[*at], &our));
        let Some(twin) = twin else {
            our_keys.push(add(our));
            continue;
        };
        let their = &theirs[twin];
        let Some(core) = same_core(before, &our, their) else {
            their_keys[twin] = Some(add(their.clone()));
            our_keys.push(add(our));
            continue;
        };
        let result = joined(core, before, &our, their)?;
        let is_twice = |number: fn(&Classification) -> usize| {
            let old = before.map_or(0, number);
            number(&our) > old && number(their) > old
        };
        if our.reclassified != their.reclassified && is_twice(|it| it.reclassified.len()) {
            let state = result.current_state().clone();
            decisions.push(MergeDecision::BothReclassified { node: node.id.clone(), state });
        }
        if our.amended != their.amended && is_twice(|it| it.amended.len()) {
            decisions.push(MergeDecision::BothAmended { node: node.id.clone() });
        }
        let key = add(result);
        their_keys[twin] = Some(key.clone());
        our_keys.push(key);
    }
    let their_keys: Vec<_> =
        theirs.into_iter().zip(their_keys).map(|(their, key)| key.unwrap_or_else(|| add(their))).collect();
    let keys = interleave(&our_keys, &their_keys);
    Some(keys.iter().filter_map(|key| results.remove(key)).collect())
}

/// Returns true if both values are the same result, ignoring later changes.
fn is_same(one: &Classification, other: &Classification) -> bool {
    one.committed_at == other.committed_at && one.agent_id == other.agent_id && one.caller == other.caller
}

/// Returns the result that both sides share, without later changes. Returns `None` if the sides have different
/// results.
fn same_core(
    base: Option<&Classification>,
    ours: &Classification,
    theirs: &Classification,
) -> Option<Classification> {
    let (ours, theirs) = (core(ours), core(theirs));
    match base {
        Some(base) => three_way(&core(base), &ours, &theirs),
        // Results are considered identical even if servers found different versions of cited files.
        None => (unpinned(&ours) == unpinned(&theirs)).then(|| std::cmp::min_by_key(ours, theirs, order)),
    }
}

/// Returns the result without the data that servers added to its sources.
fn unpinned(result: &Classification) -> Classification {
    Classification { references: Citation::given(&result.references), ..result.clone() }
}

/// Returns the result with the later changes from both sides. Returns `None` if both sides edited the same amendment
/// differently.
fn joined(
    core: Classification,
    base: Option<&Classification>,
    ours: &Classification,
    theirs: &Classification,
) -> Option<Classification> {
    let mut result = core;
    // If only one side added to a list, its order is kept, regardless of the clocks.
    let before = base.map_or(&[][..], |base| &base.reclassified);
    result.reclassified = three_way(&before, &&*ours.reclassified, &&*theirs.reclassified)
        .map_or_else(|| join_changes(&result, [ours, theirs]), <[_]>::to_vec);
    let lists = [base.map_or(&[][..], |base| &base.amended), &ours.amended, &theirs.amended];
    result.amended =
        join_amended(lists, |it| (it.at, format!("{:?} {:?} {:?}", it.agent_id, it.caller, it.reason)))?;
    Some(result)
}

/// Returns a result as it was committed, without later changes.
fn core(result: &Classification) -> Classification {
    Classification {
        reclassified: Vec::new(),
        amended: Vec::new(),
        other_results: Vec::new(),
        ..result.clone()
    }
}

/// Returns the state changes from both sides. Each change starts from the state left by the previous change.
fn join_changes(result: &Classification, [ours, theirs]: [&Classification; 2]) -> Vec<Reclassification> {
    let key = |change: &Reclassification| {
        let alone = Reclassification { from: change.to.clone(), ..change.clone() };
        (change.at, format!("{alone:?}"))
    };
    let lists = [&[][..], &ours.reclassified, &theirs.reclassified];
    let mut changes = join_lists(lists, key, |_, our, _| Some(our.clone())).unwrap_or_default();
    let mut state = result.state.clone();
    for change in &mut changes {
        change.from = std::mem::replace(&mut state, change.to.clone());
    }
    changes
}

/// Returns the amendments from both sides, identified by `key`. Returns `None` if both sides edited the same amendment
/// differently.
pub(super) fn join_amended<T: Clone + PartialEq, K: Ord + Clone>(
    lists: [&[T]; 3],
    key: impl Fn(&T) -> K,
) -> Option<Vec<T>> {
    let [base, ours, theirs] = &lists;
    three_way(base, ours, theirs)
        .map(<[T]>::to_vec)
        .or_else(|| join_lists(lists, key, |base, our, their| three_way(base.unwrap_or(our), our, their)))
}

/// Returns a sort key that orders simultaneous changes identically on every machine.
fn order(result: &Classification) -> String {
    format!("{result:?}")
}

/// Reports the decisions about merged results.
fn note_results(first: &Classification, sides: &[&Node; 2], decisions: &mut Vec<MergeDecision>) {
    let node = || sides[0].id.clone();
    let others = first.other_results.len();
    let before = |side: &&Node| side.classification.as_ref().map_or(0, |it| it.other_results.len());
    if sides.iter().all(|side| before(side) < others) {
        decisions.push(MergeDecision::OtherResult { node: node(), others });
        if first.is_contested() {
            let results = std::iter::once(first).chain(&first.other_results);
            let mut states: Vec<_> = results.map(|result| result.current_state().clone()).collect();
            states.dedup();
            decisions.push(MergeDecision::Contested { node: node(), states });
        }
    }
}
