//! The identity of nodes across the sides, and their ids in the merged tree.
//!
//! A proposal is identified by its original id, its time and its texts: neither a result nor another id changes these. Two
//! proposals that were made under one id are two nodes. The earlier one keeps the id, and the later one moves to
//! another below the same parent, with all that is below it.
//!
//! To be the same in any order of three merges, the id of one that moves follows from that proposal alone: the id that it was
//! made under, with four digits or three letters more. Were it the next that is free, it would depend on who met whom first;
//! that one is left to whoever proposes next. What has moved stays there, and what is not concerned stays where it is.
//!
//! Of 10,000 pairs that have to move from one id, one pair gets the same digits. Then both are kept, and who met whom first
//! decides which of them has these digits and which gets others. Fewer digits would let that happen in each long
//! investigation of a team; more of them nobody could remember.

//!
//! Whoever takes back one of two proposals that have met under one id may make the order of further merges matter, too. A
//! tree does not say for whom a proposal has made way in it. In one order it has made way for the one that is taken back,
//! and has its own id again. In another it has made way for both, and stays. Two histories that ask for opposite outcomes come to
//! the same tree on the way, so no rule can know. Nothing is lost by it, and clones that meet have one tree again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::node::{self, original_title};
use super::{Conflict, Decision, Reason};
use crate::domain::{Author, Classification, Node, NodeId, Timestamp};
use crate::format::layout;

/// The nodes of base, ours and theirs whose files differ between the three.
pub(super) struct Nodes {
    pub(super) sides: [BTreeMap<NodeId, Node>; 3],
    /// Ids that other files have.
    pub(super) taken: BTreeSet<NodeId>,
    /// The nodes of a merge that was made already.
    pub(super) made: BTreeMap<NodeId, Node>,
}

/// The nodes of the merged tree.
pub(super) struct Joined {
    /// Each with its old place: the number of the side, and its id there.
    pub(super) nodes: Vec<(Node, Vec<(usize, NodeId)>)>,
    pub(super) decisions: Vec<Decision>,
    /// For each side, the ids that are others in the merged tree.
    pub(super) new_ids: [HashMap<NodeId, NodeId>; 3],
}

/// The parent of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Parent {
    None,
    /// One of the seats, by its number.
    Seat(usize),
    /// A node that is equal on all sides.
    Untouched(NodeId),
}

/// The identity of a proposal. Proposals have a right to an id in this order.
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
    /// Its id in a merge that was made already.
    there: Option<NodeId>,
    /// Its id in the merged tree.
    id: NodeId,
}

/// Joins the nodes of both sides.
///
/// # Errors
///
/// Nodes that can't be joined, or for which there is no free id.
pub(super) fn join(nodes: Nodes) -> Result<Joined, Vec<Conflict>> {
    let Nodes { sides, taken, made } = nodes;
    let mut seats = seats(sides, &made);
    find_present(&mut seats);
    let rounds: BTreeSet<u32> = seats.iter().map(|seat| seat.id.round()).collect();
    let mut conflicts = Vec::new();
    for round in rounds {
        conflicts.extend(place(&mut seats, round, &taken));
    }
    let mut joined = Joined { nodes: Vec::new(), decisions: Vec::new(), new_ids: new_ids(&seats) };
    for seat in seats.iter().filter(|seat| seat.is_present) {
        let stood: Vec<(usize, NodeId)> =
            (1..3).filter_map(|side| Some((side, seat.sides[side].as_ref()?.id.clone()))).collect();
        // A side without the earlier move gets no message about it.
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
fn seats(sides: [BTreeMap<NodeId, Node>; 3], made: &BTreeMap<NodeId, Node>) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    // If the texts were edited by hand, the base still identifies the proposal.
    let mut in_base: HashMap<(NodeId, Timestamp, Parent), usize> = HashMap::new();
    let mut numbers: [HashMap<NodeId, usize>; 3] = Default::default();
    let mut nodes: Vec<(usize, Node)> = Vec::new();
    for (side, of_side) in sides.into_iter().enumerate() {
        nodes.extend(of_side.into_values().map(|node| (side, node)));
    }
    nodes.sort_by(|(one, a), (other, b)| (a.round(), one, &a.id).cmp(&(b.round(), other, &b.id)));
    // A parent is in an earlier round.
    for group in nodes.chunk_by(|(one, a), (other, b)| (a.round(), one) == (b.round(), other)) {
        let keyed = |(side, node): &(usize, Node)| (key_of(node, &numbers[*side]), *side, node.clone());
        let mut group: Vec<(Key, usize, Node)> = group.iter().map(keyed).collect();
        // Unchanged proposals come first: of two that were made under one id at one time, neither is an edited form of the
        // other.
        group.sort_by_key(|(key, ..)| !known.contains_key(key));
        for (mut key, side, node) in group {
            let is_free = |number: &&usize| seats[**number].sides[side].is_none();
            let without_texts = (key.made_as.clone(), key.proposed_at, key.parent.clone());
            let as_it_is = known.get(&key).filter(is_free);
            let number = match as_it_is.or_else(|| in_base.get(&without_texts).filter(is_free)) {
                Some(number) => *number,
                None => {
                    while known.get(&key).is_some_and(|number| !is_free(&number)) {
                        key.copy += 1;
                    }
                    known.get(&key).copied().unwrap_or(seats.len())
                }
            };
            if number == seats.len() {
                known.insert(key.clone(), number);
                let (sides, id) = (Default::default(), node.id.clone());
                seats.push(Seat { key, sides, is_present: false, there: None, id });
            }
            if side == 0 {
                in_base.entry(without_texts).or_insert(number);
            }
            numbers[side].insert(node.id.clone(), number);
            seats[number].sides[side] = Some(node);
        }
    }
    let mut numbers = HashMap::new();
    for (id, node) in made {
        if let Some(number) = known.get(&key_of(node, &numbers)) {
            numbers.insert(id.clone(), *number);
            seats[*number].there = Some(id.clone());
        }
    }
    seats
}

/// The identity of a proposal, by the seats of its possible parents.
fn key_of(node: &Node, numbers: &HashMap<NodeId, usize>) -> Key {
    let parent = match &node.parent {
        None => Parent::None,
        Some(id) => match numbers.get(id) {
            Some(number) => Parent::Seat(*number),
            None => Parent::Untouched(id.clone()),
        },
    };
    Key {
        proposed_at: node.proposed_at,
        title: original_title(node),
        planned_action: node.planned_action.clone(),
        covers: node.covers.clone(),
        made_as: node.renamed_from.clone().unwrap_or_else(|| node.id.clone()),
        parent,
        copy: 0,
    }
}

/// Returns the proposals in the merged tree. A removal by one side counts, unless the other side has worked on the proposal, or
/// on a node below it, and that work would be lost.
fn find_present(seats: &mut [Seat]) {
    for number in (0..seats.len()).rev() {
        let seat = &mut seats[number];
        let has_both = seat.sides[1..].iter().all(Option::is_some);
        seat.is_present |= has_both || [1, 2].into_iter().any(|side| is_kept_by(seat, side));
        if let (true, Parent::Seat(parent)) = (seat.is_present, seat.key.parent.clone()) {
            seats[parent].is_present = true;
        }
    }
}

/// Whether a side has made it or researched it: it stays, whatever the other side did.
fn is_kept_by(seat: &Seat, side: usize) -> bool {
    match (&seat.sides[0], &seat.sides[side]) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(base), Some(node)) => !node.is_pending() && base != node,
    }
}

/// Gives each proposal of one round its id; earlier rounds have theirs.
fn place(seats: &mut [Seat], round: u32, untouched: &BTreeSet<NodeId>) -> Vec<Conflict> {
    let is_here = |seat: &Seat| seat.id.round() == round;
    // For each side, the ids of proposals that have made way there, or that the other side has taken back.
    let mut gone: [HashSet<&NodeId>; 3] = Default::default();
    for seat in seats.iter().filter(|seat| is_here(seat)) {
        let [base, ours, theirs] = &seat.sides;
        for (side, other) in [(1, theirs), (2, ours)] {
            let is_taken_back = !seat.is_present && other.is_none();
            let stood = seat.sides[side].as_ref().or(base.as_ref());
            gone[side].extend(stood.filter(|_| is_taken_back).map(|node| &node.id));
            let has_made_way = seat.is_present && moved_step(seats, seat).is_some();
            gone[side].extend(seat.sides[side].iter().filter(|_| has_made_way).map(|node| &node.id));
        }
    }
    let mut here: Vec<(bool, usize)> = Vec::new();
    for (number, seat) in seats.iter().enumerate().filter(|(_, seat)| is_here(seat) && seat.is_present) {
        let made = made_step(seats, seat);
        // It has not moved there, or the proposal that it made way for is taken back or has made way as well: had that been
        // known first, it would not have moved. A side that has not worked on it does not count: had it been taken back
        // elsewhere, nothing would be left there of its move.
        let claims_on = |side: usize| {
            let node = seat.sides[side].as_ref().filter(|_| is_kept_by(seat, side))?;
            let own = below(node.parent.as_ref(), &node.id, made?)?;
            Some(node.id == own || gone[side].contains(&own))
        };
        let returns = [1, 2].into_iter().any(|side| claims_on(side) == Some(true));
        let claims = returns || moved_step(seats, seat).is_none();
        here.push((!claims, number));
    }
    here.sort_by(|(one, a), (other, b)| (one, &seats[*a].key).cmp(&(other, &seats[*b].key)));
    let mut taken: BTreeSet<String> = untouched.iter().map(folded).collect();
    let there = ids_there(seats, &here, &taken);
    let mut places = Vec::new();
    let mut conflicts = Vec::new();
    // First proposals with a right to their original id, then those that have moved before, then all that must move.
    let mut losers = Vec::new();
    for (has_moved, number) in here {
        let seat = &seats[number];
        let moved = moved_step(seats, seat).filter(|_| has_moved);
        let wanted = moved.or_else(|| made_step(seats, seat));
        let wanted = wanted.and_then(|step| below(parent_id(seats, seat).as_ref(), &seat.id, step));
        let wanted = there.get(&number).cloned().or(wanted);
        // A proposal that was misplaced by hand stays there.
        match wanted.or_else(|| stands_at(seat).into_iter().next()) {
            Some(id) if taken.insert(folded(&id)) => places.push((number, id)),
            _ => losers.push(number),
        }
    }
    for number in losers {
        let seat = &seats[number];
        let parent = parent_id(seats, seat);
        let made = made_step(seats, seat).unwrap_or_else(|| last_run(&seat.key.made_as));
        let free =
            (0..).map(|attempt| below(parent.as_ref(), &seat.id, &other_step(made, &seat.key, attempt)));
        match free.take_while(Option::is_some).flatten().find(|id| taken.insert(folded(id))) {
            Some(id) => places.push((number, id)),
            None => conflicts.push(Conflict { path: layout::node(&seat.id), reason: Reason::NoFreeId }),
        }
    }
    for (number, id) in places {
        seats[number].id = id;
    }
    conflicts
}

/// Returns the ids that an earlier merge, perhaps by another program, gave to these proposals: to one that makes way for an
/// earlier one of the same original id, that had moved before, or that has its own again.
fn ids_there(seats: &[Seat], here: &[(bool, usize)], taken: &BTreeSet<String>) -> HashMap<usize, NodeId> {
    let own_id = |seat: &Seat| below(parent_id(seats, seat).as_ref(), &seat.id, made_step(seats, seat)?);
    let mut first: HashMap<String, &Key> = HashMap::new();
    for seat in here.iter().map(|(_, number)| &seats[*number]) {
        if let Some(id) = own_id(seat) {
            let first = first.entry(folded(&id)).or_insert(&seat.key);
            *first = (*first).min(&seat.key);
        }
    }
    let may_be = |seat: &Seat, id: &NodeId| {
        let Some(own) = own_id(seat).map(|own| folded(&own)) else { return false };
        let parent = parent_id(seats, seat);
        let is_below = step(id, parent.as_ref()).and_then(|step| below(parent.as_ref(), &seat.id, step));
        let had_moved = stands_at(seat).contains(id);
        let makes_way = taken.contains(&own) || first.get(&own) != Some(&&seat.key);
        folded(id) == own || ((makes_way || had_moved) && is_below.as_ref() == Some(id))
    };
    let there = |number: usize| seats[number].there.clone().filter(|id| may_be(&seats[number], id));
    here.iter().filter_map(|(_, number)| Some((*number, there(*number)?))).collect()
}

/// Returns the last part of an id, after that of its parent.
fn step<'i>(id: &'i NodeId, parent: Option<&NodeId>) -> Option<&'i str> {
    id.suffix().strip_prefix(parent.map_or("", NodeId::suffix)).filter(|step| !step.is_empty())
}

/// Returns the steps of a proposal that a side has moved from its original step.
fn moved_step<'s>(seats: &'s [Seat], seat: &'s Seat) -> Option<&'s str> {
    let (made, stands) = (made_step(seats, seat)?, stands_at(seat));
    let own = seat.sides[1..].iter().flatten().filter(|node| stands.contains(&node.id));
    own.filter_map(|node| step(&node.id, node.parent.as_ref())).filter(|step| *step != made).min()
}

/// The step that a proposal was made under, whose parent may have had another id then; `None` where it was none of its parent's.
fn made_step<'s>(seats: &'s [Seat], seat: &'s Seat) -> Option<&'s str> {
    let made = &seat.key.made_as;
    let parent = match &seat.key.parent {
        Parent::Seat(number) => Some(&seats[*number].key.made_as),
        Parent::Untouched(id) => Some(id),
        Parent::None => None,
    };
    let sides = || seat.sides.iter().flatten();
    // It is there, or has moved along with its parent: the parent may have had another id when it was made.
    let mut along = sides().filter_map(|node| step(&node.id, node.parent.as_ref())).peekable();
    along.peek()?;
    along
        .find(|step| made.suffix().ends_with(*step))
        .or_else(|| {
            // Or it has moved by itself.
            let parents = sides().filter_map(|node| node.parent.as_ref()).map(Some).chain([parent]);
            parents.filter_map(|parent| step(made, parent)).min_by_key(|step| step.len())
        })
        .or_else(|| Some(last_run(made)))
}

/// The letters or the digits at the end of an id.
fn last_run(id: &NodeId) -> &str {
    let suffix = id.suffix();
    let is_digit = suffix.ends_with(|last: char| last.is_ascii_digit());
    let before = suffix.trim_end_matches(|c: char| c.is_ascii_digit() == is_digit);
    &suffix[before.len()..]
}

/// The id with that step below that parent, in the round of its own one; of a root, which has none, as that is.
fn below(parent: Option<&NodeId>, own: &NodeId, step: &str) -> Option<NodeId> {
    match parent {
        Some(parent) => parent.child(step).filter(|id| id.round() == own.round()),
        None => format!("R{}.{step}", own.round()).parse().ok(),
    }
}

/// Returns a step for a proposal that can't have its own: digits if its own ends with a digit, else letters, so that the ids
/// below it go on with the other kind.
fn other_step(made: &str, key: &Key, attempt: u32) -> String {
    // FNV-1a.
    let told = format!("{} {} {} {} {attempt}", key.proposed_at, key.title, key.planned_action, key.copy);
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

/// Ids that differ only in letter case are one file on some systems.
fn folded(id: &NodeId) -> String {
    id.as_str().to_ascii_lowercase()
}

/// Returns its place before the merge: where a side has moved it, or else its old place; two places if both have moved it, or
/// if it has different ids.
fn stands_at(seat: &Seat) -> BTreeSet<NodeId> {
    let [base, ours, theirs] = seat.sides.each_ref().map(|side| side.as_ref().map(|node| &node.id));
    let all: BTreeSet<NodeId> = [ours, theirs].into_iter().flatten().cloned().collect();
    match all.len() {
        1 => all,
        _ => all.into_iter().filter(|id| Some(id) != base).collect(),
    }
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
