//! An agent that closes branches where it may. It keeps some open until the required depth is reached, finds dead ends, and
//! confirms the answers that it checks.

use std::collections::{BTreeMap, HashMap};

use tree_of_thoughts::domain::{Investigation, Node, NodeId, StateName};
use tree_of_thoughts::ruleset::{EffectiveRules, Role, State};

/// The number of branches that the agent keeps open in each round.
const KEPT_OPEN: usize = 5;

/// A pending node, its parent, and the states in which it can be committed.
struct Place<'a> {
    round: u32,
    parent: Option<&'a Node>,
    options: Vec<&'a State>,
    chosen: Option<&'a State>,
}

/// Returns the states in which the agent commits these pending nodes together.
pub fn states(investigation: &Investigation, rules: &EffectiveRules, nodes: &[NodeId]) -> Vec<StateName> {
    let goal = rules.min_rounds.max(rules.ruleset().end.min_depth.unwrap_or(1));
    let mut open: HashMap<u32, usize> = HashMap::new();
    for (node, _) in investigation.committed().filter(|(_, state)| !rules.is_terminal(state)) {
        *open.entry(node.round()).or_default() += 1;
    }
    let mut continued: Vec<&NodeId> = Vec::new();
    let mut places: Vec<Place<'_>> = Vec::new();
    for id in nodes {
        let node = investigation.find(id.as_str()).unwrap();
        let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent)).map(AsRef::as_ref);
        let round = node.round();
        let mut options = committable(rules, parent, round);
        prefer_needed(investigation, rules, parent, &mut options);
        let goes_on = parent.is_some_and(|parent| {
            let mut children = investigation.committed_children(&parent.id);
            continued.contains(&&parent.id) || children.any(|(_, state)| !rules.is_terminal(state))
        });
        let open = open.entry(round).or_default();
        let keeps_open = round < goal && !goes_on && *open < KEPT_OPEN;
        let work = options.iter().find(|state| state.role == Role::Open && keeps_open);
        let chosen = work.copied().or_else(|| cheapest(rules, round, parent, &options));
        if chosen.is_some_and(|state| !state.terminal) {
            *open += 1;
            continued.extend(parent.map(|parent| &parent.id));
        }
        places.push(Place { round, parent, options, chosen });
    }
    hold_open(rules, &mut places);
    places.into_iter().map(|place| place.chosen.unwrap().name.clone()).collect()
}

fn committable<'a>(rules: &EffectiveRules<'a>, parent: Option<&Node>, round: u32) -> Vec<&'a State> {
    let above = parent.and_then(Node::state);
    let states = rules.ruleset().states.iter();
    let states = states.filter(|state| above.is_none_or(|above| rules.allows_child(above, &state.name)));
    states.filter(|state| rules.early_rule(&state.name, round).is_none()).collect()
}

/// Keeps only the states that the parent needs or waits for, if any of them is possible.
fn prefer_needed(
    investigation: &Investigation,
    rules: &EffectiveRules,
    parent: Option<&Node>,
    options: &mut Vec<&State>,
) {
    let mut narrow = |wanted: &dyn Fn(&State) -> bool| {
        if options.iter().any(|state| wanted(state)) {
            options.retain(|state| wanted(state));
        }
    };
    let Some((parent, above)) = parent.and_then(|parent| Some((parent, parent.state()?))) else { return };
    let required = rules.requirement(investigation, parent).filter(|required| required.missing() > 0);
    if let Some(of) = required.and_then(|required| required.of) {
        narrow(&|state| of.contains(&state.name));
    }
    if rules.must_fall(investigation, parent) {
        narrow(&|state| state.refutes);
    }
    if let Some(confirmation) = rules.confirmation(above) {
        let closes = |state: &State| {
            let mut outcomes = confirmation.outcomes.iter().filter(|it| it.child == state.name);
            outcomes.any(|outcome| rules.is_terminal(&outcome.becomes))
        };
        narrow(&closes);
    }
}

/// Returns the state that needs the fewest children and claims the least.
fn cheapest<'a>(
    rules: &EffectiveRules,
    round: u32,
    parent: Option<&Node>,
    options: &[&'a State],
) -> Option<&'a State> {
    let above = parent.and_then(Node::state).map(|state| rules.role(state));
    let checks = matches!(above, Some(Role::Solution | Role::AwaitingConfirmation));
    let rank = |state: &State| match state.role {
        Role::Confirmation if checks => 0,
        Role::DeadEnd => 1,
        Role::Open | Role::Exhausted => 2,
        Role::Theory | Role::Solution => 3,
        Role::Confirmation | Role::AwaitingConfirmation => 4,
    };
    let needs = |state: &State| rules.required_children(&state.name, round).map_or(0, |(least, _)| least);
    options.iter().copied().min_by_key(|state| (needs(state), rank(state)))
}

/// Opens the last closed choices until each round respects the limit on closing.
fn hold_open(rules: &EffectiveRules, places: &mut [Place<'_>]) {
    let mut rounds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        rounds.entry(place.round).or_default().push(at);
    }
    for (round, members) in rounds {
        let Some(percent) = rules.closing_limit(round).map(|percent| percent as usize) else { continue };
        let is_closed = |place: &Place<'_>, state: &State| {
            rules.counts_as_closed(&state.name, round, place.parent.and_then(Node::state))
        };
        loop {
            let counted = members.iter().filter_map(|at| {
                let place = &places[*at];
                Some((*at, is_closed(place, place.chosen?)?))
            });
            let counted: Vec<(usize, bool)> = counted.collect();
            let closed = counted.iter().filter(|(_, closed)| *closed).count();
            if closed * 100 <= counted.len() * percent {
                break;
            }
            let opened = counted.iter().rev().filter(|(_, closed)| *closed).find_map(|(at, _)| {
                let place = &places[*at];
                let mut open = place.options.clone();
                open.retain(|state| is_closed(place, state) != Some(true));
                Some((*at, cheapest(rules, round, place.parent, &open)?))
            });
            let Some((at, state)) = opened else { break };
            places[at].chosen = Some(state);
        }
    }
}
