//! Suggests states that lead toward the conclusion: the states allowed at a node's position, and the state that a plan
//! assumes.
//!
//! [`Advisor::suggest`] considers a batch as a whole, because a ruleset may limit the share of closed nodes in a
//! commit. Each node gets the first applicable state from this list:
//!
//! 1. a state that its parent requires or waits for;
//! 2. an open state, if the required depth has not been reached and few branches are kept open;
//! 3. the state that needs the fewest further nodes, preferably a closed one.
//!
//! The number of further nodes ([`Costs`]) depends only on the ruleset, so every suggestion brings the conclusion
//! closer.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{Investigation, Node, NodeId, StateName};
use crate::ruleset::{EffectiveRules, Role, State};

/// Maximum number of branches kept open for depth in each round. A higher limit would let plans grow with every round.
pub(super) const KEPT_OPEN: usize = 5;

/// The round after which rules are assumed not to change. No id is that deep.
const ROUNDS_MAX: u32 = 200;

/// The place of a future node.
#[derive(Clone, Copy)]
pub(super) struct NodePlace<'a> {
    /// The committed parent; `None` for a root.
    pub(super) parent: Option<&'a Node>,
    /// True if the node must be open, even if other nodes already are.
    pub(super) keep_open: bool,
}

impl NodePlace<'_> {
    fn round(&self) -> u32 {
        self.parent.map_or(1, |parent| parent.round().saturating_add(1))
    }
}

/// A suggested state for a node.
pub(super) struct Suggestion<'a> {
    pub(super) state: &'a State,
    /// True if the state is open only because no more nodes in the batch may be closed.
    pub(super) held_open: bool,
    /// True if the parent relies on this state.
    bound: bool,
    place: NodePlace<'a>,
}

/// Facts shared by all suggestions for one investigation.
pub(super) struct Advisor<'a> {
    pub(super) investigation: &'a Investigation,
    pub(super) rules: &'a EffectiveRules<'a>,
    costs: Costs<'a>,
    /// The round that must be reached before ending.
    pub(super) goal: u32,
}

impl<'a> Advisor<'a> {
    pub(super) fn new(investigation: &'a Investigation, rules: &'a EffectiveRules<'a>) -> Self {
        let goal = rules.min_rounds().max(rules.min_depth().unwrap_or(1));
        Advisor { investigation, rules, costs: Costs::new(rules), goal }
    }

    /// Returns the states in which a child of `parent` (or a root) can be committed, in ruleset order.
    pub(super) fn committable(&self, parent: Option<&Node>) -> Vec<&'a State> {
        let round = parent.map_or(1, |parent| parent.round().saturating_add(1));
        let parent = parent.and_then(Node::state);
        committable(self.rules, parent, round).collect()
    }

    /// Returns whether the missing children of an open node could be committed in a state that counts.
    pub(super) fn can_be_completed(&self, node: &Node) -> bool {
        let of = self.rules.requirement(self.investigation, node).and_then(|requirement| requirement.of);
        self.committable(Some(node)).iter().any(|state| of.is_none_or(|of| of.contains(&state.name)))
    }

    /// Returns the closed state to which a leaf could be reclassified.
    pub(super) fn closing(&self, node: &Node) -> Option<&'a State> {
        let parent = node.parent.as_ref().and_then(|parent| self.investigation.node(parent)?.state());
        self.rules
            .ruleset()
            .states
            .iter()
            .filter(|state| state.terminal)
            .filter(|state| parent.is_none_or(|parent| self.rules.allows_child(parent, &state.name)))
            .min_by_key(|state| rank(state.role, false))
    }

    /// Returns another state that leads toward the conclusion. If that state is open, the node's children can be
    /// committed. Prefers the state that the ruleset would have stored, then open work.
    pub(super) fn instead(&self, node: &Node, only_open: bool) -> Option<&'a State> {
        let current = node.state()?;
        let (rules, investigation) = (self.rules, self.investigation);
        let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent)?.state());
        let has_children = investigation.children(&node.id).next().is_some();
        let stored_as = rules.early_rule(current, node.round()).and_then(|rule| rule.store_as.as_ref());
        rules
            .ruleset()
            .states
            .iter()
            .filter(|state| &state.name != current && state.role != Role::AwaitingConfirmation)
            .filter(|state| !(state.terminal && (has_children || only_open)))
            .filter(|state| parent.is_none_or(|parent| rules.allows_child(parent, &state.name)))
            .filter(|state| {
                investigation
                    .committed_children(&node.id)
                    .all(|(_, child)| rules.allows_child(&state.name, child))
            })
            .filter(|state| self.costs.of(&state.name, node.round()) < NEVER)
            .min_by_key(|state| {
                (
                    Some(&state.name) != stored_as,
                    state.role != Role::Open,
                    state.terminal,
                    rank(state.role, false),
                )
            })
    }

    /// Returns a state for each node in a batch that is committed together, or `None` for nodes that can't be
    /// committed.
    pub(super) fn suggest<'s>(&'s self, places: &[NodePlace<'s>]) -> Vec<Option<Suggestion<'s>>> {
        let mut kept_open = self.open_by_round();
        let mut continued: Vec<&NodeId> = Vec::new();
        // The number of children that each parent still needs, and the parents that are no longer waiting.
        let mut lacks: HashMap<&NodeId, u32> = HashMap::new();
        let mut answered: Vec<&NodeId> = Vec::new();
        let mut chosen: Vec<Option<Suggestion<'s>>> = Vec::with_capacity(places.len());
        for place in places {
            let round = place.round();
            let mut options = self.committable(place.parent);
            let mut bound = false;
            let mut narrow = |options: &mut Vec<&'a State>, wanted: &dyn Fn(&State) -> bool| {
                if options.iter().any(|state| wanted(state)) {
                    options.retain(|state| wanted(state));
                    bound = true;
                }
            };
            let parent_state = place.parent.and_then(Node::state);
            if let (Some(parent), Some(state)) = (place.parent, parent_state) {
                let requirement = self.rules.requirement(self.investigation, parent);
                let missing = requirement.as_ref().map_or(0, |requirement| requirement.missing());
                let missing = lacks.entry(&parent.id).or_insert(missing);
                if let Some(of) = requirement.and_then(|requirement| requirement.of).filter(|_| *missing > 0)
                {
                    narrow(&mut options, &|option| of.contains(&option.name));
                }
                *missing = missing.saturating_sub(1);
                if let Some(confirmation) = self.rules.confirmation(state)
                    && !answered.contains(&&parent.id)
                {
                    let decides = |option: &State, closes: bool| {
                        confirmation.outcomes.iter().any(|outcome| {
                            outcome.child == option.name
                                && (!closes || self.rules.is_terminal(&outcome.becomes))
                        })
                    };
                    narrow(&mut options, &|option| decides(option, false));
                    narrow(&mut options, &|option| decides(option, true));
                    answered.push(&parent.id);
                }
            }
            let solution = parent_state.is_some_and(|state| {
                matches!(self.rules.role(state), Role::Solution | Role::AwaitingConfirmation)
            });
            let has_open_child = place.parent.is_some_and(|parent| {
                continued.contains(&&parent.id)
                    || self
                        .investigation
                        .committed_children(&parent.id)
                        .any(|(_, state)| !self.rules.is_terminal(state))
            });
            let kept = kept_open.entry(round).or_default();
            let goes_on = place.keep_open || (round < self.goal && !has_open_child && *kept < KEPT_OPEN);
            let open = options
                .iter()
                .find(|state| state.role == Role::Open && self.costs.of(&state.name, round) < NEVER);
            let state = match open.filter(|_| goes_on) {
                Some(open) => Some(*open),
                None => options
                    .into_iter()
                    .min_by_key(|state| (self.costs.of(&state.name, round), rank(state.role, solution))),
            };
            if state.is_some_and(|state| !state.terminal) {
                *kept += 1;
                continued.extend(place.parent.map(|parent| &parent.id));
            }
            chosen.push(state.map(|state| Suggestion { state, bound, held_open: false, place: *place }));
        }
        self.hold_open(&mut chosen);
        chosen
    }

    /// Returns the number of open committed nodes in each round.
    pub(super) fn open_by_round(&self) -> HashMap<u32, usize> {
        let mut open = HashMap::new();
        for (node, state) in self.investigation.committed() {
            if !self.rules.is_terminal(state) {
                *open.entry(node.round()).or_default() += 1;
            }
        }
        open
    }

    /// Switches choices to open states until each round respects the limit on closing. Starts with the last choices,
    /// and changes a state that a parent relies on only if there is no alternative.
    fn hold_open<'s>(&'s self, chosen: &mut [Option<Suggestion<'s>>]) {
        let mut rounds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, choice) in chosen.iter().enumerate() {
            if let Some(choice) = choice {
                rounds.entry(choice.place.round()).or_default().push(at);
            }
        }
        for (round, members) in rounds {
            let Some(percent) = self.rules.closing_limit(round).map(|percent| percent as usize) else {
                continue;
            };
            let counts = |choice: &Suggestion<'_>| {
                let parent = choice.place.parent.and_then(Node::state);
                self.rules.counts_as_closed(&choice.state.name, round, parent)
            };
            loop {
                let verdicts: Vec<(usize, bool)> =
                    members.iter().filter_map(|at| Some((*at, counts(chosen[*at].as_ref()?)?))).collect();
                let closed = verdicts.iter().filter(|(_, closed)| *closed).count();
                if closed * 100 <= verdicts.len() * percent {
                    break;
                }
                let next = verdicts
                    .iter()
                    .rev()
                    .filter(|(_, closed)| *closed)
                    .filter_map(|(at, _)| Some((*at, self.open_instead(chosen[*at].as_ref()?)?)))
                    .min_by_key(|(at, _)| chosen[*at].as_ref().is_some_and(|choice| choice.bound));
                let Some((at, open)) = next else { break };
                chosen[at] = Some(open);
            }
        }
    }

    /// Returns the choice with the cheapest state that does not count as closed.
    fn open_instead<'s>(&'s self, choice: &Suggestion<'s>) -> Option<Suggestion<'s>> {
        let (place, round) = (choice.place, choice.place.round());
        let parent = place.parent.and_then(Node::state);
        let state = self
            .committable(place.parent)
            .into_iter()
            .filter(|state| self.rules.counts_as_closed(&state.name, round, parent) != Some(true))
            .min_by_key(|state| self.costs.of(&state.name, round))?;
        Some(Suggestion { state, bound: choice.bound, held_open: true, place })
    }
}

/// Ranks states for nodes without findings, weakest claim first. Below an answer, confirmations come first.
fn rank(role: Role, below_a_solution: bool) -> u8 {
    match role {
        Role::Confirmation if below_a_solution => 0,
        Role::DeadEnd => 1,
        Role::Open => 2,
        Role::Exhausted => 3,
        Role::Theory => 4,
        Role::Solution => 5,
        Role::Confirmation => 6,
        Role::AwaitingConfirmation => 7,
    }
}

/// Returns the states in which a child of a node in state `parent` (or a root) can be committed, in ruleset order.
fn committable<'r>(
    rules: &EffectiveRules<'r>,
    parent: Option<&StateName>,
    round: u32,
) -> impl Iterator<Item = &'r State> {
    rules
        .ruleset()
        .states
        .iter()
        .filter(move |state| rules.early_rule(&state.name, round).is_none())
        .filter(move |state| parent.is_none_or(|parent| rules.allows_child(parent, &state.name)))
}

/// The cost of a state from which commits alone can't close all nodes.
const NEVER: u32 = u32::MAX;

/// The number of further nodes needed below a node to close the branch, by state and round.
struct Costs<'a> {
    /// Costs by round, starting with round 1. The last entry applies to all later rounds.
    rounds: Vec<HashMap<&'a StateName, u32>>,
}

impl<'a> Costs<'a> {
    fn new(rules: &'a EffectiveRules<'a>) -> Self {
        let ruleset = rules.ruleset();
        let early = ruleset.early_states.iter().map(|rule| rule.to_round);
        let children = ruleset.states.iter().flat_map(|state| &state.children);
        let changes = children.flat_map(|rule| [rule.from_round, rule.to_round]).flatten();
        let last = early.chain(changes).max().unwrap_or(0).saturating_add(1).min(ROUNDS_MAX);
        // In the last round, a state's cost depends on other costs in the same table, so computing it takes as many
        // passes as there are states.
        let mut below: HashMap<&StateName, u32> = HashMap::new();
        for _ in 0..=ruleset.states.len() {
            below = Costs::of_round(rules, last, &below);
        }
        let mut rounds = vec![below];
        for round in (1..last).rev() {
            let above = Costs::of_round(rules, round, &rounds[rounds.len() - 1]);
            rounds.push(above);
        }
        rounds.reverse();
        Costs { rounds }
    }

    fn of_round(
        rules: &'a EffectiveRules<'a>,
        round: u32,
        below: &HashMap<&'a StateName, u32>,
    ) -> HashMap<&'a StateName, u32> {
        let cost = |state: &State| {
            let Some((least, of)) =
                rules.required_children(&state.name, round).filter(|(least, _)| *least > 0)
            else {
                return 0;
            };
            let cheapest = committable(rules, Some(&state.name), round.saturating_add(1))
                .filter(|child| of.is_none_or(|of| of.contains(&child.name)))
                .filter_map(|child| below.get(&child.name).copied().filter(|cost| *cost < NEVER))
                .min();
            cheapest.map_or(NEVER, |cost| least.saturating_mul(cost.saturating_add(1)).min(NEVER - 1))
        };
        rules.ruleset().states.iter().map(|state| (&state.name, cost(state))).collect()
    }

    fn of(&self, state: &StateName, round: u32) -> u32 {
        let at = (round.max(1) as usize - 1).min(self.rounds.len() - 1);
        self.rounds[at].get(state).copied().unwrap_or(NEVER)
    }
}
