//! Which node of one side is which of the other, and under which id it stands in the merged tree.
//!
//! A proposal is known by the id that it was made under, its time and its texts: neither a result nor another id changes
//! these. Two proposals that were made under one id are two nodes. The earlier one has the id, and the later one moves to
//! a free id below the same parent, with all that is below it.
//!
//! To be the same in any order of three merges, the ids of those that move follow from the set of all that were made under
//! the id, not from who met whom first: with a third one, the second may move again. What is not concerned stays where it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::node::{self, original_title};
use super::{Conflict, Decision, Reason};
use crate::domain::fresh::Ids;
use crate::domain::{Author, Classification, Node, NodeId, Timestamp};
use crate::format::layout;

/// The nodes of base, ours and theirs whose files are not the same in all three.
pub(super) struct Nodes {
    pub(super) sides: [BTreeMap<NodeId, Node>; 3],
    /// Ids of files that are none of these.
    pub(super) taken: BTreeSet<NodeId>,
}

/// The nodes of the merged tree.
pub(super) struct Joined {
    /// Each with where it stood: the number of the side, and its id there.
    pub(super) nodes: Vec<(Node, Vec<(usize, NodeId)>)>,
    pub(super) decisions: Vec<Decision>,
    /// For each side, the ids that are others in the merged tree.
    pub(super) new_ids: [HashMap<NodeId, NodeId>; 3],
}

/// What a proposal extends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Parent {
    None,
    /// One of the seats, by its number.
    Seat(usize),
    /// A node that is the same on all sides.
    Untouched(NodeId),
}

/// What tells one proposal from all others. The order is that in which proposals have a right to an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    proposed_at: Timestamp,
    title: String,
    planned_action: String,
    covers: Vec<String>,
    made_as: NodeId,
    parent: Parent,
    /// Copies that somebody has made by hand.
    copy: usize,
}

/// One proposal, as it is on each side.
struct Seat {
    key: Key,
    sides: [Option<Node>; 3],
    is_present: bool,
    /// Its id in the merged tree.
    id: NodeId,
}

/// Joins the nodes of both sides.
///
/// # Errors
///
/// Nodes that can't be joined, or for which there is no free id.
pub(super) fn join(nodes: Nodes) -> Result<Joined, Vec<Conflict>> {
    let Nodes { sides, taken } = nodes;
    let in_base: BTreeSet<NodeId> = sides[0].keys().cloned().collect();
    let mut seats = seats(sides);
    find_present(&mut seats);
    let rounds: BTreeSet<u32> = seats.iter().map(|seat| seat.id.round()).collect();
    let mut conflicts = Vec::new();
    for round in rounds {
        conflicts.extend(place(&mut seats, round, &taken, &in_base));
    }
    let mut joined = Joined { nodes: Vec::new(), decisions: Vec::new(), new_ids: new_ids(&seats) };
    for seat in seats.iter().filter(|seat| seat.is_present) {
        let stood: Vec<(usize, NodeId)> =
            (1..3).filter_map(|side| Some((side, seat.sides[side].as_ref()?.id.clone()))).collect();
        // A side that had not heard of an earlier move is told nothing new.
        for from in stands_at(seat).into_iter().filter(|from| *from != seat.id) {
            let to = seat.id.clone();
            joined.decisions.push(Decision::Renamed { from, to, title: seat.key.title.clone() });
        }
        let [base, ours, theirs] = [0, 1, 2].map(|side| {
            let node = seat.sides[side].clone()?;
            Some(renamed(node, seat, parent_id(&seats, seat), &joined.new_ids[side]))
        });
        match node::join(base, ours, theirs) {
            Some((node, decisions)) => {
                joined.decisions.extend(decisions);
                joined.nodes.extend(node.map(|node| (node, stood)));
            }
            None => conflicts.push(Conflict { path: layout::node(&seat.id), reason: Reason::BothChanged }),
        }
    }
    if conflicts.is_empty() { Ok(joined) } else { Err(conflicts) }
}

/// The proposals of all sides. A parent's number is lower than its children's.
fn seats(sides: [BTreeMap<NodeId, Node>; 3]) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    // Somebody may have written over the texts by hand: what is in the base is known without them.
    let mut in_base: HashMap<(NodeId, Timestamp, Parent), usize> = HashMap::new();
    let mut numbers: [HashMap<NodeId, usize>; 3] = Default::default();
    let mut nodes: Vec<(usize, Node)> = Vec::new();
    for (side, of_side) in sides.into_iter().enumerate() {
        nodes.extend(of_side.into_values().map(|node| (side, node)));
    }
    nodes.sort_by(|(one, a), (other, b)| (a.round(), one, &a.id).cmp(&(b.round(), other, &b.id)));
    for (side, node) in nodes {
        let parent = match &node.parent {
            None => Parent::None,
            Some(id) => match numbers[side].get(id) {
                Some(number) => Parent::Seat(*number),
                None => Parent::Untouched(id.clone()),
            },
        };
        let mut key = Key {
            proposed_at: node.proposed_at,
            title: original_title(&node),
            planned_action: node.planned_action.clone(),
            covers: node.covers.clone(),
            made_as: node.renamed_from.clone().unwrap_or_else(|| node.id.clone()),
            parent,
            copy: 0,
        };
        let is_full = |number: &usize, seats: &[Seat]| seats[*number].sides[side].is_some();
        let without_texts = (key.made_as.clone(), key.proposed_at, key.parent.clone());
        let number = match in_base.get(&without_texts).filter(|number| !is_full(number, &seats)) {
            Some(number) => *number,
            None => {
                while known.get(&key).is_some_and(|number| is_full(number, &seats)) {
                    key.copy += 1;
                }
                *known.entry(key.clone()).or_insert(seats.len())
            }
        };
        if side == 0 {
            in_base.entry(without_texts).or_insert(number);
        }
        if number == seats.len() {
            let (sides, id) = (Default::default(), node.id.clone());
            seats.push(Seat { key, sides, is_present: false, id });
        }
        numbers[side].insert(node.id.clone(), number);
        seats[number].sides[side] = Some(node);
    }
    seats
}

/// Which proposals are in the merged tree: what one side has taken away stays away, unless the other has done something
/// with it that would be lost, or with a node below it.
fn find_present(seats: &mut [Seat]) {
    for number in (0..seats.len()).rev() {
        let seat = &mut seats[number];
        seat.is_present |= match &seat.sides {
            [_, None, None] => false,
            [_, Some(_), Some(_)] | [None, ..] => true,
            [base, Some(left), None] | [base, None, Some(left)] => {
                !left.is_pending() && base.as_ref() != Some(left)
            }
        };
        if let (true, Parent::Seat(parent)) = (seat.is_present, seat.key.parent.clone()) {
            seats[parent].is_present = true;
        }
    }
}

/// Gives each proposal of one round its id, those of the rounds before having theirs.
fn place(
    seats: &mut [Seat],
    round: u32,
    untouched: &BTreeSet<NodeId>,
    in_base: &BTreeSet<NodeId>,
) -> Vec<Conflict> {
    let here: Vec<usize> = (0..seats.len())
        .filter(|number| seats[*number].is_present && seats[*number].id.round() == round)
        .collect();
    let claimed: HashMap<usize, NodeId> =
        here.iter().map(|number| (*number, claimed_id(seats, &seats[*number]))).collect();
    let mut standing: HashMap<String, BTreeSet<usize>> = HashMap::new();
    for number in &here {
        for id in stands_at(&seats[*number]) {
            standing.entry(folded(&id)).or_default().insert(*number);
        }
    }
    // Who can't simply stay, who was made under the same id as one of these, and who has moved since the base: so that the
    // free ids are given out in one order, whichever merge comes first.
    let must_move = |number: &usize| {
        let (seat, stands) = (&seats[*number], stands_at(&seats[*number]));
        stands.len() != 1
            || stands.iter().any(|id| standing[&folded(id)].len() > 1)
            || has_moved_parent(seats, seat)
    };
    let wanted: BTreeSet<String> =
        here.iter().filter(|number| must_move(number)).map(|number| folded(&claimed[number])).collect();
    let has_moved = |number: &usize| {
        seats[*number].sides[0].is_none() && !stands_at(&seats[*number]).contains(&claimed[number])
    };
    let (mut movers, stayers): (Vec<usize>, Vec<usize>) = here.iter().partition(|number| {
        let is_concerned = wanted.contains(&folded(&claimed[*number])) || has_moved(number);
        must_move(number) || (!wanted.is_empty() && is_concerned)
    });
    movers.sort_by(|a, b| seats[*a].key.cmp(&seats[*b].key));
    let mut fixed: BTreeSet<String> = untouched.iter().map(folded).collect();
    for number in stayers {
        if let Some(id) = stands_at(&seats[number]).into_iter().next() {
            fixed.insert(folded(&id));
            seats[number].id = id;
        }
    }
    // First everybody who has a right to the id that it was made under, then a free one for each of the others.
    let mut losers = Vec::new();
    for number in movers {
        match fixed.insert(folded(&claimed[&number])) {
            true => seats[number].id = claimed[&number].clone(),
            false => losers.push(number),
        }
    }
    losers.sort_by(|a, b| (&claimed[a], &seats[*a].key).cmp(&(&claimed[b], &seats[*b].key)));
    let mut ids = Ids::besides(untouched.iter().chain(in_base).chain(claimed.values()));
    here.iter().filter(|number| !losers.contains(number)).for_each(|number| ids.take(&seats[*number].id));
    let mut conflicts = Vec::new();
    for number in losers {
        let free = match parent_id(seats, &seats[number]) {
            Some(parent) => ids.child(&parent),
            None => ids.root(None),
        };
        match free {
            Some(id) => seats[number].id = id,
            None => {
                conflicts.push(Conflict { path: layout::node(&seats[number].id), reason: Reason::NoFreeId })
            }
        }
    }
    conflicts
}

/// Ids that differ only in letter case are one file on some systems.
fn folded(id: &NodeId) -> String {
    id.as_str().to_ascii_lowercase()
}

/// The id that a proposal was made under, below its parent's id of now.
fn claimed_id(seats: &[Seat], seat: &Seat) -> NodeId {
    let made_as = &seat.key.made_as;
    let Parent::Seat(parent) = &seat.key.parent else { return made_as.clone() };
    let parent = &seats[*parent];
    let step = made_as.suffix().strip_prefix(parent.key.made_as.suffix());
    step.and_then(|step| parent.id.child(step))
        .filter(|id| id.round() == made_as.round())
        .unwrap_or_else(|| made_as.clone())
}

/// Where it stands before the merge: where a side has moved it, or else where it was; in two places where both have, or
/// where it is under different ids.
fn stands_at(seat: &Seat) -> BTreeSet<NodeId> {
    let [base, ours, theirs] = seat.sides.each_ref().map(|side| side.as_ref().map(|node| &node.id));
    let all: BTreeSet<NodeId> = [ours, theirs].into_iter().flatten().cloned().collect();
    match all.len() {
        1 => all,
        _ => all.into_iter().filter(|id| Some(id) != base).collect(),
    }
}

/// Whether what it extends has another id than on a side where it stands.
fn has_moved_parent(seats: &[Seat], seat: &Seat) -> bool {
    let Parent::Seat(parent) = &seat.key.parent else { return false };
    let parent = &seats[*parent];
    let stands = stands_at(seat);
    let own = [1, 2].into_iter().filter_map(|side| seat.sides[side].as_ref());
    own.filter(|node| stands.contains(&node.id)).any(|node| node.parent.as_ref() != Some(&parent.id))
}

fn parent_id(seats: &[Seat], seat: &Seat) -> Option<NodeId> {
    match &seat.key.parent {
        Parent::None => None,
        Parent::Seat(number) => Some(seats[*number].id.clone()),
        Parent::Untouched(id) => Some(id.clone()),
    }
}

/// For each side, the ids that are others in the merged tree.
fn new_ids(seats: &[Seat]) -> [HashMap<NodeId, NodeId>; 3] {
    let mut new_ids: [HashMap<NodeId, NodeId>; 3] = Default::default();
    for seat in seats.iter().filter(|seat| seat.is_present) {
        for (ids, node) in new_ids.iter_mut().zip(&seat.sides) {
            let moved = node.as_ref().filter(|node| node.id != seat.id);
            ids.extend(moved.map(|node| (node.id.clone(), seat.id.clone())));
        }
    }
    new_ids
}

/// The node with the ids of the merged tree.
fn renamed(mut node: Node, seat: &Seat, parent: Option<NodeId>, ids: &HashMap<NodeId, NodeId>) -> Node {
    node.id = seat.id.clone();
    node.parent = parent;
    node.renamed_from = (seat.id != seat.key.made_as).then(|| seat.key.made_as.clone());
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
        Author::Agent(_) | Author::Unknown => None,
    });
    for id in links.chain(children) {
        if let Some(new) = ids.get(id) {
            *id = new.clone();
        }
    }
}
