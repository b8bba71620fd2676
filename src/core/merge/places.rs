//! Matches nodes across the sides and assigns their ids in the merged tree.
//!
//! A proposal is identified by its original id, its time and its text, none of which change with a result or a rename.
//! Two proposals made under the same id are two nodes. The earlier proposal keeps the id. The later proposal is renamed
//! below the same parent, together with all nodes below it.
//!
//! The new id consists of the proposal's original id plus four digits or three letters. It depends only on the renamed
//! proposal, so three trees can be merged in any order with the same result. The next free id would depend on which
//! trees were merged first, so it is left for future proposals. Renamed proposals keep their new ids, and all other
//! proposals keep theirs.
//!
//! About one in 10,000 pairs of proposals renamed from the same id gets the same digits. Both proposals are then kept,
//! and the merge order decides which of them gets different digits. With fewer digits, this would happen in
//! every long team investigation. More digits would be hard to remember.
//!
//! If somebody withdraws one of two proposals made under the same id, the order of further merges may affect ids. A
//! tree does not record which proposal caused a rename. In one order, a proposal was renamed because of the withdrawn
//! proposal and returns to its original id. In another order, it was also renamed because of another proposal and
//! keeps its new id. Two histories that require opposite results can lead to the same tree, so no rule can distinguish
//! them. No text is lost, and clones that merge with each other have the same tree.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::node::{self, original_title};
use super::{Conflict, ConflictReason, MergeDecision};
use crate::domain::{Author, Classification, Node, NodeId, Timestamp};
use crate::format::layout;

/// The nodes whose files differ between base, ours and theirs.
pub(super) struct Nodes {
    pub(super) sides: [BTreeMap<NodeId, Node>; 3],
    /// The ids used by other files.
    pub(super) taken: BTreeSet<NodeId>,
    /// The nodes from an existing merge, if that merge is being checked.
    pub(super) made: BTreeMap<NodeId, Node>,
}

/// The nodes of the merged tree.
pub(super) struct JoinedNodes {
    /// The merged nodes. Each node comes with the sides that have it and its id on each of these sides.
    pub(super) nodes: Vec<(Node, Vec<(usize, NodeId)>)>,
    pub(super) decisions: Vec<MergeDecision>,
    /// For each side, a map from the old ids of renamed nodes to the new ids.
    pub(super) new_ids: [HashMap<NodeId, NodeId>; 3],
}

/// The parent of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Parent {
    None,
    /// A proposal, given by its index.
    Proposal(usize),
    /// A node that is identical on all sides.
    Untouched(NodeId),
}

/// The identity of a proposal. If several proposals claim the same id, the proposal with the smallest identity gets
/// it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ProposalIdentity {
    proposed_at: Timestamp,
    title: String,
    planned_action: String,
    covers: Vec<String>,
    made_as: NodeId,
    parent: Parent,
    /// A number that distinguishes manual copies of a proposal.
    copy: usize,
}

/// A proposal and its versions on all sides.
struct MergedProposal {
    identity: ProposalIdentity,
    sides: [Option<Node>; 3],
    is_present: bool,
    /// The id of the proposal in an existing merge.
    there: Option<NodeId>,
    /// The id of the proposal in the merged tree.
    id: NodeId,
}

/// Joins the nodes of both sides.
///
/// # Errors
///
/// Returns the nodes that can't be joined and the nodes for which there is no free id.
pub(super) fn join(nodes: Nodes) -> Result<JoinedNodes, Vec<Conflict>> {
    let Nodes { sides, taken, made } = nodes;
    let mut proposals = match_proposals(sides, &made);
    find_present(&mut proposals);
    let rounds: BTreeSet<u32> = proposals.iter().map(|proposal| proposal.id.round()).collect();
    let mut conflicts = Vec::new();
    for round in rounds {
        conflicts.extend(place(&mut proposals, round, &taken));
    }
    let mut joined = JoinedNodes { nodes: Vec::new(), decisions: Vec::new(), new_ids: new_ids(&proposals) };
    for proposal in proposals.iter().filter(|proposal| proposal.is_present) {
        let origins: Vec<(usize, NodeId)> =
            (1..3).filter_map(|side| Some((side, proposal.sides[side].as_ref()?.id.clone()))).collect();
        // A rename that a side made earlier is not reported to that side again.
        for from in ids_before(proposal).into_iter().filter(|from| *from != proposal.id) {
            let to = proposal.id.clone();
            joined.decisions.push(MergeDecision::Renamed {
                from,
                to,
                title: proposal.identity.title.clone(),
            });
        }
        let [base, ours, theirs] = [0, 1, 2].map(|side| {
            let node = proposal.sides[side].clone()?;
            Some(renamed(node, proposal, parent_id(&proposals, proposal), &joined.new_ids[side]))
        });
        match node::join(base, ours, theirs) {
            Some((node, decisions)) => {
                joined.decisions.extend(decisions);
                joined.nodes.extend(node.map(|node| (node, origins)));
            }
            None => conflicts
                .push(Conflict { path: layout::node(&proposal.id), reason: ConflictReason::BothChanged }),
        }
    }
    if conflicts.is_empty() { Ok(joined) } else { Err(conflicts) }
}

/// Returns the proposals from all sides. A parent's index is lower than those of its children.
fn match_proposals(sides: [BTreeMap<NodeId, Node>; 3], made: &BTreeMap<NodeId, Node>) -> Vec<MergedProposal> {
    let mut proposals: Vec<MergedProposal> = Vec::new();
    let mut known: HashMap<ProposalIdentity, usize> = HashMap::new();
    // If its text was edited manually, the proposal can still be identified by its version in the base.
    let mut in_base: HashMap<(NodeId, Timestamp, Parent), usize> = HashMap::new();
    let mut numbers: [HashMap<NodeId, usize>; 3] = Default::default();
    let mut nodes: Vec<(usize, Node)> = Vec::new();
    for (side, of_side) in sides.into_iter().enumerate() {
        nodes.extend(of_side.into_values().map(|node| (side, node)));
    }
    nodes.sort_by(|(one, a), (other, b)| (a.round(), one, &a.id).cmp(&(b.round(), other, &b.id)));
    // A parent always belongs to an earlier round.
    for group in nodes.chunk_by(|(one, a), (other, b)| (a.round(), one) == (b.round(), other)) {
        let identified =
            |(side, node): &(usize, Node)| (identity_of(node, &numbers[*side]), *side, node.clone());
        let mut group: Vec<(ProposalIdentity, usize, Node)> = group.iter().map(identified).collect();
        // Process unchanged proposals first. If two proposals were made under the same id at the same time, neither is
        // an edited version of the other.
        group.sort_by_key(|(identity, ..)| !known.contains_key(identity));
        for (mut identity, side, node) in group {
            let is_free = |number: &&usize| proposals[**number].sides[side].is_none();
            let without_texts = (identity.made_as.clone(), identity.proposed_at, identity.parent.clone());
            let as_it_is = known.get(&identity).filter(is_free);
            let number = match as_it_is.or_else(|| in_base.get(&without_texts).filter(is_free)) {
                Some(number) => *number,
                None => {
                    while known.get(&identity).is_some_and(|number| !is_free(&number)) {
                        identity.copy += 1;
                    }
                    known.get(&identity).copied().unwrap_or(proposals.len())
                }
            };
            if number == proposals.len() {
                known.insert(identity.clone(), number);
                let (sides, id) = (Default::default(), node.id.clone());
                proposals.push(MergedProposal { identity, sides, is_present: false, there: None, id });
            }
            if side == 0 {
                in_base.entry(without_texts).or_insert(number);
            }
            numbers[side].insert(node.id.clone(), number);
            proposals[number].sides[side] = Some(node);
        }
    }
    let mut numbers = HashMap::new();
    for (id, node) in made {
        if let Some(number) = known.get(&identity_of(node, &numbers)) {
            numbers.insert(id.clone(), *number);
            proposals[*number].there = Some(id.clone());
        }
    }
    proposals
}

/// Returns the identity of a proposal. `numbers` contains the indexes of possible parents.
fn identity_of(node: &Node, numbers: &HashMap<NodeId, usize>) -> ProposalIdentity {
    let parent = match &node.parent {
        None => Parent::None,
        Some(id) => match numbers.get(id) {
            Some(number) => Parent::Proposal(*number),
            None => Parent::Untouched(id.clone()),
        },
    };
    ProposalIdentity {
        proposed_at: node.proposed_at,
        title: original_title(node),
        planned_action: node.planned_action.clone(),
        covers: node.covers.clone(),
        made_as: node.renamed_from.clone().unwrap_or_else(|| node.id.clone()),
        parent,
        copy: 0,
    }
}

/// Determines which proposals are in the merged tree. A removal by one side counts unless the other side worked on the
/// proposal or on a node below it.
fn find_present(proposals: &mut [MergedProposal]) {
    for number in (0..proposals.len()).rev() {
        let proposal = &mut proposals[number];
        let has_both = proposal.sides[1..].iter().all(Option::is_some);
        proposal.is_present |= has_both || [1, 2].into_iter().any(|side| is_kept_by(proposal, side));
        if let (true, Parent::Proposal(parent)) = (proposal.is_present, proposal.identity.parent.clone()) {
            proposals[parent].is_present = true;
        }
    }
}

/// Returns true if a side made or researched the proposal, and it is therefore kept regardless of the other side.
fn is_kept_by(proposal: &MergedProposal, side: usize) -> bool {
    match (&proposal.sides[0], &proposal.sides[side]) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(base), Some(node)) => !node.is_pending() && base != node,
    }
}

/// Assigns ids to the proposals in one round. Proposals in earlier rounds already have their ids.
fn place(proposals: &mut [MergedProposal], round: u32, untouched: &BTreeSet<NodeId>) -> Vec<Conflict> {
    let is_here = |proposal: &MergedProposal| proposal.id.round() == round;
    // For each side, the ids of proposals that were renamed on that side or withdrawn by the other side.
    let mut gone: [HashSet<&NodeId>; 3] = Default::default();
    for proposal in proposals.iter().filter(|proposal| is_here(proposal)) {
        let [base, ours, theirs] = &proposal.sides;
        for (side, other) in [(1, theirs), (2, ours)] {
            let is_withdrawn = !proposal.is_present && other.is_none();
            let origins = proposal.sides[side].as_ref().or(base.as_ref());
            gone[side].extend(origins.filter(|_| is_withdrawn).map(|node| &node.id));
            let is_renamed = proposal.is_present && moved_step(proposals, proposal).is_some();
            gone[side].extend(proposal.sides[side].iter().filter(|_| is_renamed).map(|node| &node.id));
        }
    }
    let mut here: Vec<(bool, usize)> = Vec::new();
    for (number, proposal) in
        proposals.iter().enumerate().filter(|(_, proposal)| is_here(proposal) && proposal.is_present)
    {
        let made = made_step(proposals, proposal);
        // The proposal was not renamed on this side, or the proposal that caused the rename was itself withdrawn or
        // renamed. A side that has not worked on the proposal does not count, because no trace of the rename would
        // remain there if the proposal had been withdrawn elsewhere.
        let claims_on = |side: usize| {
            let node = proposal.sides[side].as_ref().filter(|_| is_kept_by(proposal, side))?;
            let own = below(node.parent.as_ref(), &node.id, made?)?;
            Some(node.id == own || gone[side].contains(&own))
        };
        let returns = [1, 2].into_iter().any(|side| claims_on(side) == Some(true));
        let claims = returns || moved_step(proposals, proposal).is_none();
        here.push((!claims, number));
    }
    here.sort_by(|(one, a), (other, b)| {
        (one, &proposals[*a].identity).cmp(&(other, &proposals[*b].identity))
    });
    let mut taken: BTreeSet<String> = untouched.iter().map(folded).collect();
    let there = ids_there(proposals, &here, &taken);
    let mut places = Vec::new();
    let mut conflicts = Vec::new();
    // Proposals entitled to their original id come first, followed by previously renamed proposals and then by
    // proposals that must be renamed.
    let mut displaced = Vec::new();
    for (has_moved, number) in here {
        let proposal = &proposals[number];
        let moved = moved_step(proposals, proposal).filter(|_| has_moved);
        let wanted = moved.or_else(|| made_step(proposals, proposal));
        let wanted =
            wanted.and_then(|step| below(parent_id(proposals, proposal).as_ref(), &proposal.id, step));
        let wanted = there.get(&number).cloned().or(wanted);
        // A proposal that was manually misplaced stays where it is.
        match wanted.or_else(|| ids_before(proposal).into_iter().next()) {
            Some(id) if taken.insert(folded(&id)) => places.push((number, id)),
            _ => displaced.push(number),
        }
    }
    for number in displaced {
        let proposal = &proposals[number];
        let parent = parent_id(proposals, proposal);
        let made = made_step(proposals, proposal).unwrap_or_else(|| last_run(&proposal.identity.made_as));
        let free = (0..).map(|attempt| {
            below(parent.as_ref(), &proposal.id, &other_step(made, &proposal.identity, attempt))
        });
        match free.take_while(Option::is_some).flatten().find(|id| taken.insert(folded(id))) {
            Some(id) => places.push((number, id)),
            None => conflicts
                .push(Conflict { path: layout::node(&proposal.id), reason: ConflictReason::NoFreeId }),
        }
    }
    for (number, id) in places {
        proposals[number].id = id;
    }
    conflicts
}

/// Returns the ids that an existing merge, perhaps by another program, gave to these proposals.
///
/// Each id is accepted if it is the original id, if the proposal already had it on a side, or if an earlier proposal
/// claims the original id.
fn ids_there(
    proposals: &[MergedProposal],
    here: &[(bool, usize)],
    taken: &BTreeSet<String>,
) -> HashMap<usize, NodeId> {
    let own_id = |proposal: &MergedProposal| {
        below(parent_id(proposals, proposal).as_ref(), &proposal.id, made_step(proposals, proposal)?)
    };
    let mut first: HashMap<String, &ProposalIdentity> = HashMap::new();
    for proposal in here.iter().map(|(_, number)| &proposals[*number]) {
        if let Some(id) = own_id(proposal) {
            let first = first.entry(folded(&id)).or_insert(&proposal.identity);
            *first = (*first).min(&proposal.identity);
        }
    }
    let may_be = |proposal: &MergedProposal, id: &NodeId| {
        let Some(own) = own_id(proposal).map(|own| folded(&own)) else { return false };
        let parent = parent_id(proposals, proposal);
        let is_below = step(id, parent.as_ref()).and_then(|step| below(parent.as_ref(), &proposal.id, step));
        let had_moved = ids_before(proposal).contains(id);
        let is_displaced = taken.contains(&own) || first.get(&own) != Some(&&proposal.identity);
        folded(id) == own || ((is_displaced || had_moved) && is_below.as_ref() == Some(id))
    };
    let there = |number: usize| proposals[number].there.clone().filter(|id| may_be(&proposals[number], id));
    here.iter().filter_map(|(_, number)| Some((*number, there(*number)?))).collect()
}

/// Returns the last step of an id, without the parent's id.
fn step<'i>(id: &'i NodeId, parent: Option<&NodeId>) -> Option<&'i str> {
    id.suffix().strip_prefix(parent.map_or("", NodeId::suffix)).filter(|step| !step.is_empty())
}

/// Returns the step that a side assigned to a renamed proposal.
fn moved_step<'s>(proposals: &'s [MergedProposal], proposal: &'s MergedProposal) -> Option<&'s str> {
    let (made, before) = (made_step(proposals, proposal)?, ids_before(proposal));
    let own = proposal.sides[1..].iter().flatten().filter(|node| before.contains(&node.id));
    own.filter_map(|node| step(&node.id, node.parent.as_ref())).filter(|step| *step != made).min()
}

/// Returns the step under which a proposal was made. Its parent may have had a different id at that time.
///
/// Returns `None` if no side has the proposal below a parent that matches its id.
fn made_step<'s>(proposals: &'s [MergedProposal], proposal: &'s MergedProposal) -> Option<&'s str> {
    let made = &proposal.identity.made_as;
    let parent = match &proposal.identity.parent {
        Parent::Proposal(number) => Some(&proposals[*number].identity.made_as),
        Parent::Untouched(id) => Some(id),
        Parent::None => None,
    };
    let sides = || proposal.sides.iter().flatten();
    // The proposal kept its id, or was renamed along with its parent.
    let mut along = sides().filter_map(|node| step(&node.id, node.parent.as_ref())).peekable();
    along.peek()?;
    along
        .find(|step| made.suffix().ends_with(*step))
        .or_else(|| {
            // The proposal itself was renamed.
            let parents = sides().filter_map(|node| node.parent.as_ref()).map(Some).chain([parent]);
            parents.filter_map(|parent| step(made, parent)).min_by_key(|step| step.len())
        })
        .or_else(|| Some(last_run(made)))
}

/// Returns the letters or digits at the end of an id.
fn last_run(id: &NodeId) -> &str {
    let suffix = id.suffix();
    let is_digit = suffix.ends_with(|last: char| last.is_ascii_digit());
    let before = suffix.trim_end_matches(|c: char| c.is_ascii_digit() == is_digit);
    &suffix[before.len()..]
}

/// Returns the id for this step below this parent, in the round of `own`. Roots have no parent.
fn below(parent: Option<&NodeId>, own: &NodeId, step: &str) -> Option<NodeId> {
    match parent {
        Some(parent) => parent.child(step).filter(|id| id.round() == own.round()),
        None => format!("R{}.{step}", own.round()).parse().ok(),
    }
}

/// Returns a new step for a proposal that can't keep its own.
///
/// Digits are appended after a digit and letters after a letter, so the ids of children continue with the other kind.
fn other_step(made: &str, identity: &ProposalIdentity, attempt: u32) -> String {
    // Compute the FNV-1a hash.
    let told = format!(
        "{} {} {} {} {attempt}",
        identity.proposed_at, identity.title, identity.planned_action, identity.copy
    );
    let mut hash = told.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    if made.ends_with(|last: char| last.is_ascii_digit()) {
        return format!("{made}{:04}", hash % 10_000);
    }
    let mut letters = made.to_owned();
    for _ in 0..3 {
        letters.push(char::from(b'a' + (hash % 26) as u8));
        hash /= 26;
    }
    letters
}

/// Returns the id in lower case. On some systems, ids that differ only in case name the same file.
fn folded(id: &NodeId) -> String {
    id.as_str().to_ascii_lowercase()
}

/// Returns a proposal's ids before the merge: the new ids from the sides that renamed it, otherwise the old id.
///
/// There are two ids if both sides renamed the proposal, or if its ids differ and there is no base.
fn ids_before(proposal: &MergedProposal) -> BTreeSet<NodeId> {
    let [base, ours, theirs] = proposal.sides.each_ref().map(|side| side.as_ref().map(|node| &node.id));
    let all: BTreeSet<NodeId> = [ours, theirs].into_iter().flatten().cloned().collect();
    match all.len() {
        1 => all,
        _ => all.into_iter().filter(|id| Some(id) != base).collect(),
    }
}

fn parent_id(proposals: &[MergedProposal], proposal: &MergedProposal) -> Option<NodeId> {
    match &proposal.identity.parent {
        Parent::None => None,
        Parent::Proposal(number) => Some(proposals[*number].id.clone()),
        Parent::Untouched(id) => Some(id.clone()),
    }
}

/// Returns, for each side, a map from the old ids of renamed nodes to the new ids.
fn new_ids(proposals: &[MergedProposal]) -> [HashMap<NodeId, NodeId>; 3] {
    let mut new_ids: [HashMap<NodeId, NodeId>; 3] = Default::default();
    for proposal in proposals.iter().filter(|proposal| proposal.is_present) {
        for (ids, node) in new_ids.iter_mut().zip(&proposal.sides) {
            let moved = node.as_ref().filter(|node| node.id != proposal.id);
            ids.extend(moved.map(|node| (node.id.clone(), proposal.id.clone())));
        }
    }
    new_ids
}

/// Returns the node with the ids from the merged tree.
fn renamed(
    mut node: Node,
    proposal: &MergedProposal,
    parent: Option<NodeId>,
    ids: &HashMap<NodeId, NodeId>,
) -> Node {
    node.id = proposal.id.clone();
    node.parent = parent;
    node.renamed_from = (proposal.id != proposal.identity.made_as).then(|| proposal.identity.made_as.clone());
    if let Some(result) = &mut node.classification {
        rename_in(result, ids);
        result.other_results.iter_mut().for_each(|other| rename_in(other, ids));
    }
    node
}

fn rename_in(result: &mut Classification, ids: &HashMap<NodeId, NodeId>) {
    let links = result.links.iter_mut().map(|link| &mut link.to);
    let children = result.reclassified.iter_mut().filter_map(|change| match &mut change.by {
        Author::Child(child) => Some(child),
        Author::Caller(_) => None,
    });
    for id in links.chain(children) {
        if let Some(new) = ids.get(id) {
            *id = new.clone();
        }
    }
}
