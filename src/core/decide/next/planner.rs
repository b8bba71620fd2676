//! Chooses the next step and the nodes to propose.
//!
//! 1. Withdraw pending proposals that can't be committed, and commit the others.
//! 2. Choose between results that differ: what a node needs depends on which of them holds.
//! 3. Reply to an objection: somebody waits for it, and it may change what is worth doing.
//! 4. Collect the nodes to propose, in the order of [`Need`]. Ids are reserved for as many as fit into one proposal.
//!    Change a state if no proposal helps.
//! 5. End the investigation, or propose what meets the remaining blockers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::brief;
use super::states::States;
use super::{LegalCall, NextCall, NextState, NextStep, ObjectionReply, Task};
use crate::decide::blockers::{file_problems, refuted_alone};
use crate::domain::fresh::Ids;
use crate::domain::{
    BoundAnswer, BoundAs, Code, CommentKind, Diagnostic, Investigation, Node, NodeId, StateName, Wording,
};
use crate::ruleset::effective::list;
use crate::ruleset::rules::children::children;
use crate::ruleset::rules::confirmation::Confirmation;
use crate::ruleset::rules::objections::{self, Objection};
use crate::ruleset::rules::shortened;
use crate::ruleset::rules::verification::{ClaimedAuthor, covers, writers};
use crate::ruleset::{EffectiveRules, Enforcement, Requirement, Role, State};

/// Maximum number of branches to widen in each round. A higher limit would let plans grow with every round.
const WIDENED: usize = 5;

/// Number of roots to propose if the ruleset does not set one.
const ROOTS: usize = 3;

/// Maximum number of tasks proposed at once just to raise the quality score.
const QUALITY_TASKS: usize = 5;

/// Maximum total size in bytes of the ids in a call, where each id appears twice.
const IDS: usize = 1_500;

/// Maximum number of answers to bind to a conclusion.
const MOST_BOUND: usize = 5;

/// Maximum number of proposals withdrawn by one call.
const WITHDRAWN: usize = 20;

/// Maximum number of parents to name in a description of tasks.
const PARENTS: usize = 4;

/// The facts that a plan is made from.
pub(super) struct Planner<'a> {
    investigation: &'a Investigation,
    rules: &'a EffectiveRules<'a>,
    /// The round that must be reached before ending.
    goal: u32,
    /// The open nodes that lack children, ordered by id.
    pub(super) incomplete: Vec<(&'a Node, Requirement<'a>)>,
    /// The answers, and the nodes that await a confirmation, ordered by id.
    claims: Vec<&'a Node>,
    /// The requesting agent.
    who: ClaimedAuthor<'a>,
    /// The requested maximum number of tasks.
    most: usize,
    /// The maximum number of nodes in one proposal: `most`, capped by the ruleset's batch limit.
    limit: usize,
}

/// Why nodes are wanted, in the order in which they are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// The rules require them.
    Required,
    /// They check an answer that nobody has confirmed or refuted.
    Check,
    /// The mode or the recommended breadth asks for them.
    Widen,
}

/// Children wanted under a node.
struct Want<'a> {
    parent: &'a Node,
    need: Need,
    number: usize,
}

/// A node to be proposed.
pub(super) struct Slot<'a> {
    id: NodeId,
    parent: Option<&'a Node>,
    need: Need,
}

impl<'a> Planner<'a> {
    /// Prepares a plan of at most `most` tasks for an agent.
    pub(super) fn new(
        investigation: &'a Investigation,
        rules: &'a EffectiveRules<'a>,
        who: ClaimedAuthor<'a>,
        most: u32,
    ) -> Self {
        let most = most as usize;
        let limit = rules.ruleset().batch_limit.map_or(most, |limit| most.min(limit as usize));
        let goal = rules.min_rounds.max(rules.ruleset().end.min_depth.unwrap_or(1));
        let is_claim = |state| matches!(rules.role(state), Role::Solution | Role::AwaitingConfirmation);
        let claims = investigation.committed().filter(|(_, state)| is_claim(state));
        Planner {
            investigation,
            rules,
            goal,
            incomplete: rules.incomplete(investigation).collect(),
            claims: claims.map(|(node, _)| node.as_ref()).collect(),
            who,
            most,
            limit,
        }
    }

    fn states(&self) -> States<'a> {
        States { investigation: self.investigation, rules: self.rules }
    }

    /// Returns the nodes of the lowest round with nodes that lack children.
    pub(super) fn first_incomplete(&self) -> &[(&'a Node, Requirement<'a>)] {
        self.incomplete.chunk_by(|(a, _), (b, _)| a.round() == b.round()).next().unwrap_or_default()
    }

    /// Returns the next step, and the nodes to propose if no proposal is pending, given the pending proposals that the agent
    /// may commit and the first blockers.
    pub(super) fn plan(&self, pending: &[&Node], blockers: &[Diagnostic]) -> (NextStep, Vec<Slot<'a>>) {
        if !pending.is_empty() {
            return (NextStep::Call(self.settle(pending)), Vec::new());
        }
        if let Some(call) = self.contested(blockers) {
            return (NextStep::Call(call), Vec::new());
        }
        // The roots may be there, in files that can't be read.
        if self.investigation.committed().next().is_none()
            && let Some(problem) = file_problems(self.investigation, self.rules).into_iter().next()
        {
            return (NextStep::Settle(problem), Vec::new());
        }
        let mut ids = Ids::new(self.investigation);
        let (mut slots, what) = self.wanted(&mut ids);
        let leaves = self.leaves_to_close(&slots);
        let change = self.instead_of_children(&slots);
        let change = change.or_else(|| leaves.first().and_then(|leaf| self.close(leaf)));
        if change.is_some() {
            slots.clear();
        }
        if let Some(call) = self.objected().or(change) {
            return (NextStep::Call(call), slots);
        }
        if !slots.is_empty() {
            let reason = match blockers.iter().find(|it| it.code == Code::RecoveryRequired) {
                Some(blocker) => blocker.message.clone(),
                None if blockers.is_empty() => "No required steps remain, so you may end.".into(),
                None => "".into(),
            };
            return (propose(reason, what), slots);
        }
        self.remaining(&mut ids, blockers)
    }

    /// Returns the nodes to propose while the agent has pending ones.
    pub(super) fn beside_pending(&self) -> Vec<Slot<'a>> {
        let (mut slots, _) = self.wanted(&mut Ids::new(self.investigation));
        // Leaves are closed once the pending nodes are committed, so no children are proposed below them.
        let leaves = self.leaves_to_close(&slots);
        let is_closed = |node: &Node| leaves.iter().any(|leaf| node.id == leaf.id);
        slots.retain(|slot| !slot.parent.is_some_and(is_closed));
        slots
    }

    /// Returns the next step if the rules ask for no particular nodes.
    fn remaining(&self, ids: &mut Ids, blockers: &[Diagnostic]) -> (NextStep, Vec<Slot<'a>>) {
        let settle = |blocker: &Diagnostic| (NextStep::Settle(blocker.clone()), Vec::new());
        // Other agents work on what is pending, which may change the requirements.
        let is_for_others = |it: &&Diagnostic| it.code == Code::PendingProposals;
        if let Some(blocker) = blockers.iter().find(is_for_others) {
            return settle(blocker);
        }
        if let Some(problem) = file_problems(self.investigation, self.rules).first() {
            return settle(problem);
        }
        let Some(blocker) = blockers.iter().find(|it| it.code != Code::ObjectionOpen) else {
            return match (blockers.first(), self.other_way(ids)) {
                (Some(objection), _) => settle(
                    &objection
                        .clone()
                        .suggest("Nothing is left for you to do: somebody else must settle this."),
                ),
                (None, Some((slot, reason))) => (propose(reason, "another approach".into()), vec![slot]),
                (None, None) => (NextStep::Call(self.end()), Vec::new()),
            };
        };
        let is_shallow = self.investigation.current_round() < self.goal;
        let slots = if is_shallow { self.deeper(ids).into_iter().collect() } else { self.broader(ids) };
        let Some(parent) = slots.first().and_then(|slot| slot.parent) else {
            return match self.revive(blocker) {
                Some(call) => (NextStep::Call(call), slots),
                None => settle(blocker),
            };
        };
        let what = self.children_of(&[(parent, slots.len())]);
        (propose(blocker.message.clone(), what), slots)
    }

    /// Returns the tasks for the nodes to propose.
    pub(super) fn tasks(&self, slots: Vec<Slot<'a>>) -> Vec<Task> {
        let length = brief::prompt_length(slots.len());
        let roots = slots.iter().filter(|slot| slot.parent.is_none()).count();
        let mut numbers: BTreeMap<Option<&NodeId>, usize> = BTreeMap::new();
        let mut tasks = Vec::with_capacity(slots.len());
        for slot in slots {
            let parent = slot.parent.map(|parent| &parent.id);
            let number = numbers.entry(parent).or_insert_with(|| match parent {
                Some(parent) => self.investigation.children(parent).count(),
                None => self.investigation.roots().count(),
            });
            *number += 1;
            let of_roots = roots.max(*number);
            let words =
                brief::title_and_action(self.investigation, self.rules, slot.parent, *number, of_roots);
            let task = self.states().task(&slot.id, slot.parent, words, length);
            tasks.push(Task { is_required: slot.need == Need::Required, ..task });
        }
        tasks
    }

    /// Returns the parents of the nodes that the rules require; `None` stands for a root.
    pub(super) fn required_places(&self) -> Vec<Option<NodeId>> {
        let (slots, _) = self.wanted(&mut Ids::new(self.investigation));
        let required = slots.into_iter().filter(|slot| slot.need == Need::Required);
        required.map(|slot| slot.parent.map(|parent| parent.id.clone())).collect()
    }

    /// Returns the nodes to propose, and describes the first of them.
    fn wanted(&self, ids: &mut Ids) -> (Vec<Slot<'a>>, Wording) {
        let mut slots = self.roots(ids);
        let what = self.root_words(&slots);
        let mut wants = self.wants();
        let group = |want: &Want<'a>| (want.need, want.parent.round());
        wants.sort_by_key(group);
        let groups: Vec<_> = wants.chunk_by(|a, b| group(a) == group(b)).collect();
        groups.iter().for_each(|group| self.spread(group, ids, &mut slots));
        slots.retain(|slot| {
            slot.parent.is_none_or(|parent| !self.states().committable(Some(parent)).is_empty())
        });
        let first = groups.first().copied().unwrap_or_default();
        let parents: Vec<_> = first.iter().map(|want| (want.parent, want.number)).collect();
        let what = what.unwrap_or_else(|| match first {
            [Want { need: Need::Check, .. }, ..] => self.checks_of(&parents),
            _ => self.children_of(&parents),
        });
        (slots, what)
    }

    /// Returns the roots to propose: the first batch, or an additional root if no branch can continue.
    fn roots(&self, ids: &mut Ids) -> Vec<Slot<'a>> {
        let investigation = self.investigation;
        if investigation.roots().any(|root| root.is_pending()) {
            return Vec::new();
        }
        let roots = &self.rules.ruleset().roots;
        let recovery = self.rules.recovery_required(investigation);
        let existing = investigation.roots().count();
        let least = (self.rules.min_roots as usize).saturating_sub(existing);
        let most = roots.max.map_or(usize::MAX, |max| max as usize);
        let number = if recovery {
            let room = most.max(existing + 1) - existing;
            Some(least.max(1)).filter(|number| *number <= room)
        } else if existing == 0 {
            // The first roots are proposed as one batch, even if fewer tasks were requested.
            Some(ROOTS.min(self.limit).max(least).min(most))
        } else {
            None
        };
        let allowed = self.rules.root_ids(investigation);
        let ids: Vec<NodeId> =
            (0..number.unwrap_or(0)).map_while(|_| ids.root(allowed)).map(NodeId::from).collect();
        if ids.len() < least {
            return Vec::new();
        }
        let need = |at| if at < least.max(1) { Need::Required } else { Need::Widen };
        ids.into_iter().enumerate().map(|(at, id)| Slot { id, parent: None, need: need(at) }).collect()
    }

    /// Returns the children wanted under open nodes.
    fn wants(&self) -> Vec<Want<'a>> {
        let mut wants = self.required();
        let checks = self.claims.iter().filter(|node| {
            let is_wanted = wants.iter().any(|want| want.parent.id == node.id);
            !is_wanted && self.is_open(node) && self.pending_children(node) == 0 && self.is_unchecked(node)
        });
        let checks: Vec<_> = checks.map(|node| Want { parent: node, need: Need::Check, number: 1 }).collect();
        wants.extend(checks);
        let planned: usize = wants.iter().map(|want| want.number).sum();
        if planned < self.limit {
            wants.extend(self.widening(&wants));
        }
        wants
    }

    /// Returns the children that the rules require: those of the lowest round that lacks some, and as many more as fit
    /// into one proposal.
    fn required(&self) -> Vec<Want<'a>> {
        let mut wants: Vec<Want<'a>> = Vec::new();
        let mut planned = 0;
        for (node, requirement) in &self.incomplete {
            let is_later = wants.first().is_some_and(|first| first.parent.round() < node.round());
            if is_later && planned >= self.limit {
                break;
            }
            let number = (requirement.missing() as usize).saturating_sub(self.pending_children(node));
            if number > 0 && self.states().can_be_completed(node) {
                planned += number;
                wants.push(Want { parent: node, need: Need::Required, number });
            }
        }
        for node in &self.claims {
            let must_be_checked = match node.state().map(|state| self.rules.role(state)) {
                Some(Role::AwaitingConfirmation) => self.states().can_be_completed(node),
                _ => {
                    self.can_be_confirmed(node)
                        && (self.rules.lacks_confirmation(self.investigation, node)
                            || self.rules.must_fall(self.investigation, node))
                }
            };
            let is_wanted = || wants.iter().any(|want| want.parent.id == node.id);
            if must_be_checked && self.is_open(node) && self.pending_children(node) == 0 && !is_wanted() {
                wants.push(Want { parent: node, need: Need::Required, number: 1 });
            }
        }
        wants
    }

    /// Returns the children that the mode and the recommended breadth ask for besides those that are wanted.
    fn widening(&self, wants: &[Want<'a>]) -> Vec<Want<'a>> {
        let (investigation, rules) = (self.investigation, self.rules);
        let asked = rules.children_asked() as usize;
        let breadth = rules.breadth().filter(|(round, _)| investigation.current_round() <= *round);
        if asked == 0 && breadth.is_none() {
            return Vec::new();
        }
        let mut open: HashMap<u32, usize> = HashMap::new();
        self.open_nodes().for_each(|node| *open.entry(node.round()).or_default() += 1);
        let wanted = |node: &Node| {
            let same = wants.iter().find(|want| want.parent.id == node.id);
            investigation.children(&node.id).count() + same.map_or(0, |want| want.number)
        };
        let mut widened: Vec<Want<'a>> = Vec::new();
        for node in self.open_nodes().filter(|node| self.states().can_be_completed(node)) {
            // If a limit keeps some of the children open, requesting more than required would let the tree grow with
            // every round. Extra children are then requested only while few branches are open and the required depth
            // has not been reached.
            let below = node.round().saturating_add(1);
            let limited = rules.closing_limit(below).is_some_and(|percent| percent < 100);
            let many = open.get(&below).is_some_and(|open| *open >= WIDENED);
            let asked = if limited && (node.round() >= self.goal || many) { 0 } else { asked };
            widened.push(Want {
                parent: node,
                need: Need::Widen,
                number: asked.saturating_sub(wanted(node)),
            });
        }
        // The recommended breadth, preferring parents with the fewest children.
        if let Some((round, recommended)) = breadth {
            let fits = |want: &&Want<'a>| want.parent.round() + 1 == round;
            let planned: usize = wants.iter().chain(&widened).filter(fits).map(|want| want.number).sum();
            let there = investigation.nodes().filter(|node| node.round() == round).count();
            for _ in planned..(recommended as usize).saturating_sub(there) {
                let fitting = widened.iter_mut().filter(|want| fits(&&**want));
                let Some(want) = fitting.min_by_key(|want| wanted(want.parent) + want.number) else { break };
                want.number += 1;
            }
        }
        widened.retain(|want| want.number > 0);
        widened
    }

    fn is_open(&self, node: &Node) -> bool {
        node.state().is_some_and(|state| !self.rules.is_terminal(state))
    }

    fn pending_children(&self, node: &Node) -> usize {
        self.investigation.children(&node.id).filter(|child| child.is_pending()).count()
    }

    /// Returns whether nobody has confirmed or refuted an answer. A check since its last change is not asked for again,
    /// even if it did neither.
    fn is_unchecked(&self, answer: &Node) -> bool {
        let mut children = self.investigation.committed_children(&answer.id);
        self.can_be_confirmed(answer)
            && !self.rules.grade(self.investigation, answer).is_confirmed()
            && self.rules.refuted_by(self.investigation, answer).is_empty()
            && !children.any(|(child, _)| {
                child.classification.as_ref().is_some_and(|it| covers(self.investigation, answer, it))
            })
    }

    /// Returns whether a child of an answer could confirm it.
    fn can_be_confirmed(&self, node: &Node) -> bool {
        self.states().committable(Some(node)).iter().any(|state| state.role == Role::Confirmation)
    }

    /// Adds slots for children up to the limit, in turn under each parent.
    fn spread(&self, wants: &[Want<'a>], ids: &mut Ids, slots: &mut Vec<Slot<'a>>) {
        let mut rest: Vec<(&Want<'a>, usize)> = wants.iter().map(|want| (want, want.number)).collect();
        while slots.len() < self.limit && !rest.is_empty() {
            for (want, number) in &mut rest {
                if slots.len() == self.limit {
                    break;
                }
                let id = ids.child(want.parent.id.short()).map(NodeId::from);
                *number = if id.is_some() { *number - 1 } else { 0 };
                slots.extend(id.map(|id| Slot { id, parent: Some(want.parent), need: want.need }));
            }
            rest.retain(|(_, number)| *number > 0);
        }
    }

    /// Describes the required roots to propose.
    fn root_words(&self, slots: &[Slot<'a>]) -> Option<Wording> {
        let required = slots.iter().filter(|slot| slot.need == Need::Required).collect::<Vec<_>>();
        let what = match (required.as_slice(), &self.rules.ruleset().roots.ids) {
            ([], _) => return None,
            ([root], Some(_)) => format!("the root {}", root.id),
            ([_], None) => "a root".to_owned(),
            (roots, _) => format!("{} roots in one batch", roots.len()),
        };
        Some(Wording::both(format!("{what} (parent: null)"), what))
    }

    /// Describes children to propose below the parents of one round.
    fn children_of(&self, parents: &[(&Node, usize)]) -> Wording {
        let round = parents.first().map_or(1, |(parent, _)| parent.round().saturating_add(1));
        let below = parents.iter().take(PARENTS).map(|(parent, number)| {
            let state = parent.state().map(ToString::to_string).unwrap_or_default();
            let required = self.rules.requirement(self.investigation, parent);
            let of = required.filter(|required| required.missing() > 0).and_then(|required| required.of);
            let number = u32::try_from(*number).unwrap_or(u32::MAX);
            format!("{} below {} ({state})", children(number, of), parent.id)
        });
        let below = list(below);
        let more = match parents.len().saturating_sub(PARENTS) {
            0 => String::new(),
            more => format!(", and below {more} more"),
        };
        format!("round {round}: {below}{more}").into()
    }

    /// Describes the checks of answers.
    fn checks_of(&self, parents: &[(&Node, usize)]) -> Wording {
        let answers: Vec<&NodeId> = parents.iter().map(|(parent, _)| &parent.id).collect();
        let checks = if answers.len() == 1 { "a check" } else { "checks" };
        format!("{checks} of {}, unconfirmed so far", shortened(&answers, PARENTS)).into()
    }

    /// Returns the call that settles pending proposals: first withdraw those that can't be committed, then commit the
    /// others.
    fn settle(&self, pending: &[&Node]) -> NextCall {
        let lost: Vec<NodeId> =
            pending.iter().filter(|node| self.is_lost(node)).map(|node| node.id.clone()).collect();
        if !lost.is_empty() {
            let reason = format!(
                "{} can't be committed any more: no state is allowed there now.",
                list(lost.iter().take(5))
            );
            let lost = lost.into_iter().take(WITHDRAWN).collect();
            return NextCall { call: LegalCall::Withdraw(lost), reason: reason.into() };
        }
        // The reply has a size limit, and ids may be long.
        let mut room = IDS;
        let fits = |node: &&&Node| {
            let needs = node.id.short().as_str().len();
            let fits = room >= needs;
            room = room.saturating_sub(needs);
            fits
        };
        let batch = pending.iter().take(self.most).take_while(fits).map(|node| node.id.clone());
        let batch: Vec<NodeId> = batch.collect();
        let reason = match pending.len() - batch.len() {
            0 => String::new(),
            more => format!("{} are pending; the others later.", batch.len() + more),
        };
        NextCall { call: LegalCall::Commit(batch), reason: reason.into() }
    }

    /// Returns whether a pending node can no longer be committed.
    fn is_lost(&self, node: &Node) -> bool {
        let parent = super::parent(self.investigation, node);
        let closed = parent.and_then(Node::state).is_some_and(|state| self.rules.is_terminal(state));
        closed || self.states().committable(parent).is_empty()
    }

    /// Returns the call that chooses between conflicting results after a merge.
    fn contested(&self, blockers: &[Diagnostic]) -> Option<NextCall> {
        let contested = blockers.iter().find(|it| it.code == Code::Contested)?;
        let node = self.investigation.find(contested.node.as_ref()?).ok()?;
        let call = LegalCall::Reclassify(self.change(node, self.rules.ruleset().state(node.state()?)?));
        let read = Wording::both("tot_read", "`tot show`");
        let how = read.map(|call| format!("Read both with {call}, and decide."));
        Some(NextCall { call, reason: contested.message.then(&how) })
    }

    /// Returns a state change for a node that is waiting for children that can't be committed.
    fn instead_of_children(&self, slots: &[Slot<'a>]) -> Option<NextCall> {
        let served: HashSet<&NodeId> = slots.iter().filter_map(|slot| Some(&slot.parent?.id)).collect();
        // Whether children can be committed depends only on the state and the round.
        let mut completable: HashMap<(&StateName, u32), bool> = HashMap::new();
        let lacking = self.incomplete.iter().map(|(node, _)| (*node, true));
        let claims = self.claims.iter().map(|node| (*node, false));
        lacking.chain(claims).find_map(|(node, lacks)| {
            let state = node.state()?;
            let waits = self.rules.role(state) == Role::AwaitingConfirmation;
            let mut can_be_completed = || {
                let known = completable.entry((state, node.round()));
                *known.or_insert_with(|| self.states().can_be_completed(node))
            };
            let decided = |confirmation: &Confirmation| {
                let states = self.states().committable(Some(node));
                let decides =
                    |state: &State| confirmation.outcomes.iter().any(|it| it.child == state.name);
                states.into_iter().any(decides)
            };
            let hopeless = (lacks && !can_be_completed())
                || (waits && !self.rules.confirmation(state).is_some_and(decided));
            let no_id_left = (lacks || waits) && !served.contains(&node.id) && node.id.short().child("1").is_none();
            let other = match no_id_left {
                true if self.investigation.children(&node.id).next().is_none() => self.states().closing(node)?,
                _ if hopeless => self.states().instead(node, false)?,
                _ => return None,
            };
            let reason = format!(
                "{} is {state}, but no child that it needs can be committed in round {}; reclassify it to {} to continue.",
                node.id,
                node.round().saturating_add(1),
                other.name
            );
            Some(NextCall { call: LegalCall::Reclassify(self.change(node, other)), reason: reason.into() })
        })
    }

    /// Returns the sufficiently deep open leaves whose children could not be closed in one commit. The limit on closing
    /// would keep their branches open forever.
    fn leaves_to_close(&self, slots: &[Slot<'a>]) -> Vec<&'a Node> {
        // By round: the number of tasks that the limit applies to.
        let mut limited: BTreeMap<u32, usize> = BTreeMap::new();
        let limited_parent =
            |slot: &Slot<'a>| slot.parent.filter(|parent| self.states().is_closing_limited(parent));
        for parent in slots.iter().filter_map(limited_parent) {
            *limited.entry(parent.round()).or_default() += 1;
        }
        let stays_open = |parent: &&Node| {
            let percent = self.rules.closing_limit(parent.round().saturating_add(1)).unwrap_or(100) as usize;
            limited.get(&parent.round()).is_some_and(|tasks| tasks * percent < 100)
                && parent.round() >= self.goal
                && self.investigation.children(&parent.id).next().is_none()
                && self.states().closing(parent).is_some()
        };
        slots.iter().filter_map(limited_parent).filter(stays_open).collect()
    }

    fn close(&self, leaf: &Node) -> Option<NextCall> {
        let closed = self.states().closing(leaf)?;
        let reason = format!(
            "{} is an open leaf, and the limit on closing keeps all its children open: reclassify it to a closed state, \
             {} or the one its findings call for.",
            leaf.id, closed.name
        );
        Some(NextCall { call: LegalCall::Reclassify(self.change(leaf, closed)), reason: reason.into() })
    }

    /// Returns the call that reopens a node once every node is closed, preferring nodes with children, then the
    /// deepest.
    fn revive(&self, blocker: &Diagnostic) -> Option<NextCall> {
        let has_children = |node: &Node| self.investigation.children(&node.id).next().is_some();
        let mut closed: Vec<&Node> = self.investigation.committed().map(|(node, _)| node.as_ref()).collect();
        closed.sort_by_key(|node| (has_children(node), node.round(), Reverse(node.id.clone())));
        closed.into_iter().rev().find_map(|node| {
            let open = self.states().instead(node, true)?;
            let how = format!("No open node is left: go on from {}.", node.id);
            let reason = blocker.message.then(&how.into());
            Some(NextCall { call: LegalCall::Reclassify(self.change(node, open)), reason })
        })
    }

    /// Returns a new child of the deepest open node that can have another.
    fn deeper(&self, ids: &mut Ids) -> Option<Slot<'a>> {
        self.open_nodes().rev().find_map(|node| {
            let is_last = node.round().saturating_add(1) >= self.goal;
            self.states().committable(Some(node)).iter().find(|state| is_last || !state.terminal)?;
            Some(Slot { id: ids.child(node.id.short())?.into(), parent: Some(node), need: Need::Required })
        })
    }

    /// Returns new children that can be closed to raise the quality score. Their parent is the open node nearest to the
    /// root that is deep enough. In that position, the children increase branching and need few descendants.
    fn broader(&self, ids: &mut Ids) -> Vec<Slot<'a>> {
        let deep_enough = |node: &Node| node.round().saturating_add(1) >= self.goal;
        let closable =
            |node: &&Node| self.states().committable(Some(node)).iter().any(|state| state.terminal);
        let parent = self.open_nodes().filter(closable).min_by_key(|node| match deep_enough(node) {
            true => (false, node.round()),
            false => (true, u32::MAX - node.round()),
        });
        let Some(parent) = parent else { return Vec::new() };
        (0..self.limit.min(QUALITY_TASKS))
            .map_while(|_| ids.child(parent.id.short()))
            .map(|id| Slot { id: id.into(), parent: Some(parent), need: Need::Required })
            .collect()
    }

    fn open_nodes(&self) -> impl DoubleEndedIterator<Item = &'a Node> {
        let committed = self.investigation.committed();
        committed.filter(|(_, state)| !self.rules.is_terminal(state)).map(|(node, _)| node.as_ref())
    }

    /// Returns the reply to an objection: an answer first, then a resolution if the investigation can't end without
    /// one.
    fn objected(&self) -> Option<NextCall> {
        let is_waited_for = self.rules.ruleset().objections == Enforcement::Reject;
        objections::open(self.investigation).iter().find_map(|objection| {
            let (kind, how) = match objection.is_answered() {
                _ if !self.is_for_who_asks(objection) => return None,
                false if objection.is_correction() && !objection.is_outdated => {
                    let call = LegalCall::Accept(objection.comment.id);
                    let how = "Accept it if it is right; else answer why not.";
                    return Some(NextCall { call, reason: format!("{}. {how}", objection.message()).into() });
                }
                false => (CommentKind::Answer, "Check it, fix what is wrong, and answer it."),
                true if is_waited_for => (
                    CommentKind::Resolution,
                    "It is answered: judge that, and resolve it or answer again. The node's author can't.",
                ),
                true => return None,
            };
            let reason = format!("{}. {how}", objection.message());
            let call = LegalCall::Reply(ObjectionReply { to: objection.comment.id, kind });
            Some(NextCall { call, reason: reason.into() })
        })
    }

    /// Returns whether the requesting agent may answer or resolve an objection. The objection's author may not answer
    /// it, and the node's authors may not resolve it. An unnamed agent may speak for others in its session.
    fn is_for_who_asks(&self, objection: &Objection) -> bool {
        let Objection { comment, .. } = objection;
        let about = comment.node.as_ref().and_then(|id| self.investigation.committed_node(id));
        let writers = about.map_or_else(Vec::new, |node| writers(self.investigation, node, None));
        let has_name = writers.is_empty() || writers.iter().any(ClaimedAuthor::has_name);
        let by = ClaimedAuthor::of(comment.author.agent_id.as_deref(), &comment.author.caller);
        match objection.is_answered() {
            false if self.who.has_name() => !self.who.is_same_as(&by),
            false => !self.who.shares_session(&by) || writers.iter().any(|who| self.who.shares_session(who)),
            true if self.who.has_name() => self.who.independence_from(&writers).is_confirmed(),
            true => has_name,
        }
    }

    /// Returns another approach (a new root, or a child of the deepest open node) if the last answer was refuted and
    /// nothing has been tried since.
    fn other_way(&self, ids: &mut Ids) -> Option<(Slot<'a>, String)> {
        let refuted = refuted_alone(self.investigation, self.rules);
        let at = |node: &Node| node.classification.as_ref().map(|result| result.committed_at);
        let last = self.investigation.committed().filter_map(|(node, _)| at(node)).max();
        let mut by = refuted.iter().filter_map(|id| self.investigation.node(id));
        by.find(|node| {
            let refuting = self.rules.refuted_by(self.investigation, node).into_iter();
            refuting.filter_map(|id| at(self.investigation.node(&id)?)).max() == last
        })?;
        let roots = &self.rules.ruleset().roots;
        let has_room = roots.max.is_none_or(|max| self.investigation.roots().count() < max as usize);
        let root = if has_room { ids.root(roots.ids.as_deref()) } else { None };
        let root = root.map(|id| Slot { id: id.into(), parent: None, need: Need::Check });
        let slot = root.or_else(|| self.deeper(ids))?;
        Some((slot, format!("No answer remains; refuted: {}.", shortened(&refuted, 5))))
    }

    /// Returns the call that ends the investigation. If there are several answers, it binds the best ones, since most
    /// answers are rivals.
    fn end(&self) -> NextCall {
        let mut answers: Vec<_> = self.rules.answers(self.investigation).collect();
        answers.sort_by_key(|node| Reverse(self.rules.grade(self.investigation, node)));
        let roles = std::iter::once(BoundAs::Main).chain(std::iter::repeat(BoundAs::Rival));
        let bound = answers.iter().zip(roles).map(|(node, role)| BoundAnswer { id: node.id.clone(), role });
        let bound = if answers.len() > 1 { bound.take(MOST_BOUND).collect() } else { Vec::new() };
        let bound = self.investigation.draft().is_none().then_some(bound);
        NextCall { call: LegalCall::End(bound), reason: "No required steps remain.".into() }
    }

    fn change(&self, node: &Node, state: &State) -> NextState {
        let evidence = self.rules.evidence(&state.name);
        NextState { node: node.id.clone(), state: state.name.clone(), evidence }
    }
}

fn propose(reason: impl Into<Wording>, what: Wording) -> NextStep {
    NextStep::Call(NextCall { call: LegalCall::Propose(what), reason: reason.into() })
}
