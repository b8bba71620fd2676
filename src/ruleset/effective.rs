//! The rules in force for one investigation: the ruleset, its mode, and what `tot_start` fixed. Every question that a
//! decision asks of a ruleset is answered here.

use super::schema::{Children, Confirmation, EarlyState, LAST_ROUND, Mode, Role, Ruleset, Severity, State};
use crate::domain::{Investigation, Meta, Node, NodeId, StateName};

/// The mode of a ruleset that names none.
pub const ONLY_MODE: &str = "deep";

impl Ruleset {
    /// The state of that name.
    pub fn state(&self, name: &StateName) -> Option<&State> {
        self.states.iter().find(|state| &state.name == name)
    }

    /// The first rule by which the state comes too early in the round.
    pub fn early_rule(&self, state: &StateName, round: u32) -> Option<&EarlyState> {
        self.early_states.iter().find(|rule| {
            rule.states.contains(state) && (rule.from_round.unwrap_or(1)..=rule.to_round).contains(&round)
        })
    }

    /// The names of the modes, the default first.
    pub fn mode_names(&self) -> Vec<&str> {
        if self.modes.is_empty() {
            vec![ONLY_MODE]
        } else {
            self.modes.iter().map(|mode| mode.name.as_str()).collect()
        }
    }

    /// The mode of that name; `None` for the only mode of a ruleset that names none.
    pub fn mode(&self, name: &str) -> Option<&Mode> {
        self.modes.iter().find(|mode| mode.name == name)
    }

    /// The names of all states, for messages: `EXPLORE, FOUND, …`.
    pub fn state_list(&self) -> String {
        list(self.states.iter().map(|state| &state.name))
    }

    /// Whether early states are kept with that number of minimum rounds, where `tot_start` does not say.
    pub fn keeps_early_states(&self, min_rounds: u32) -> bool {
        self.allow_early_terminal_below.is_some_and(|below| min_rounds < below)
    }

    /// Whether any early state is stored as another one.
    pub fn has_conversions(&self) -> bool {
        self.early_states.iter().any(|rule| rule.store_as.is_some())
    }
}

impl Children {
    /// Whether it applies to a node of that round.
    pub fn applies(&self, round: u32) -> bool {
        self.from_round.unwrap_or(1) <= round && self.to_round.is_none_or(|last| round <= last)
    }

    /// Whether its bounds leave no round.
    pub fn applies_to_none(&self) -> bool {
        let first = self.from_round.unwrap_or(1);
        first == 0 || self.to_round.is_some_and(|last| last < first)
    }
}

/// The rules in force for one investigation.
#[derive(Clone, Copy, Debug)]
pub struct EffectiveRules<'a> {
    ruleset: &'a Ruleset,
    mode: Option<&'a Mode>,
    min_rounds: u32,
    min_roots: u32,
    allow_early_terminal: bool,
    secrets: Severity,
}

/// Children that an open node owes in all, and how many of them it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// How many it owes.
    pub needs: u32,
    /// How many count already.
    pub has: u32,
    /// The states that count; `None` for all.
    pub of: Option<Vec<StateName>>,
}

impl Requirement {
    /// How many are missing.
    pub fn missing(&self) -> u32 {
        self.needs.saturating_sub(self.has)
    }

    /// What is owed, for people: `2 children`, `1 VERIFY child`.
    pub fn describe(&self) -> String {
        children(self.needs, self.of.as_deref())
    }
}

impl<'a> EffectiveRules<'a> {
    /// The rules of an investigation.
    pub fn new(ruleset: &'a Ruleset, meta: &Meta) -> Self {
        EffectiveRules {
            ruleset,
            mode: ruleset.mode(&meta.mode),
            min_rounds: meta.min_rounds,
            min_roots: meta.min_roots,
            allow_early_terminal: meta.allow_early_terminal,
            secrets: ruleset.checks.secret_suspected,
        }
    }

    /// The rules of an investigation that chooses nothing for itself.
    pub fn by_default(ruleset: &'a Ruleset) -> Self {
        let mode = ruleset.modes.first();
        let min_rounds = mode.and_then(|mode| mode.min_rounds).unwrap_or(ruleset.end.min_rounds);
        EffectiveRules {
            ruleset,
            mode,
            min_rounds,
            min_roots: ruleset.roots.min,
            allow_early_terminal: ruleset.keeps_early_states(min_rounds),
            secrets: ruleset.checks.secret_suspected,
        }
    }

    /// The same, but what looks like a credential is refused, whatever the ruleset says: an operator's choice.
    pub fn refusing_secrets(self) -> Self {
        EffectiveRules { secrets: Severity::Reject, ..self }
    }

    /// What is done about a text that holds what looks like a credential.
    pub fn secrets(&self) -> Severity {
        self.secrets
    }

    /// The name of the mode.
    pub fn mode_name(&self) -> &'a str {
        self.mode.map_or(ONLY_MODE, |mode| &mode.name)
    }

    /// What the mode is for, in one line.
    pub fn mode_meaning(&self) -> &'a str {
        self.mode.map_or(self.ruleset.summary.as_str(), |mode| &mode.meaning)
    }

    /// Whether less is asked than the ruleset asks by itself: early states are kept, or the mode asks for less.
    pub fn is_relaxed(&self) -> bool {
        let keeps_early = self.allow_early_terminal && self.ruleset.has_conversions();
        let asks_less = |mode: &Mode| mode.max_children_owed.is_some() || mode.without_breadth;
        keeps_early || self.mode.is_some_and(asks_less)
    }

    /// The ruleset.
    pub fn ruleset(&self) -> &'a Ruleset {
        self.ruleset
    }

    /// The end is refused before this round.
    pub fn min_rounds(&self) -> u32 {
        self.min_rounds
    }

    /// Roots that round 1 must have.
    pub fn min_roots(&self) -> u32 {
        self.min_roots
    }

    /// The round that the deepest node must reach, where the ruleset asks for one.
    pub fn min_depth(&self) -> Option<u32> {
        self.ruleset.end.min_depth
    }

    /// The recommended breadth: the round, and the nodes it should have.
    pub fn breadth(&self) -> Option<(u32, u32)> {
        let breadth = self.ruleset.breadth.as_ref()?;
        (!self.mode.is_some_and(|mode| mode.without_breadth)).then_some((breadth.round, breadth.recommended))
    }

    /// Children that `tot_next` asks for under an open node, at least.
    pub fn children_asked(&self) -> u32 {
        self.mode.and_then(|mode| mode.children_asked).unwrap_or(0)
    }

    /// The role of a state; an unknown state counts as open work.
    pub fn role(&self, state: &StateName) -> Role {
        self.ruleset.state(state).map_or(Role::Open, |state| state.role)
    }

    /// Whether a node in this state takes no children.
    pub fn is_terminal(&self, state: &StateName) -> bool {
        self.ruleset.state(state).is_some_and(|state| state.terminal)
    }

    /// Whether a child may have the state under a parent in that one.
    pub fn allows_child(&self, parent: &StateName, child: &StateName) -> bool {
        self.child_states(parent).is_none_or(|allowed| allowed.contains(child))
    }

    /// The states that children may have under a parent in that state; `None` for any.
    pub fn child_states(&self, parent: &StateName) -> Option<&'a [StateName]> {
        self.ruleset.state(parent)?.child_states.as_deref()
    }

    /// The rule by which the state comes too early in the round, unless this investigation lets it pass.
    pub fn early_rule(&self, state: &StateName, round: u32) -> Option<&'a EarlyState> {
        let rule = self.ruleset.early_rule(state, round)?;
        (!(self.allow_early_terminal && rule.store_as.is_some())).then_some(rule)
    }

    /// The first round in which the state may be committed here; `None` where no commit gives it.
    pub fn first_round(&self, state: &StateName) -> Option<u32> {
        self.first_round_from(state, 1)
    }

    /// The first round, not before `round`, in which the state may be committed here.
    pub fn first_round_from(&self, state: &StateName, round: u32) -> Option<u32> {
        if round > LAST_ROUND {
            return Some(round);
        }
        (round..=LAST_ROUND).find(|round| self.early_rule(state, *round).is_none())
    }

    /// How many characters of evidence the state needs; `None` for none.
    pub fn evidence(&self, state: &StateName) -> Option<u32> {
        self.ruleset
            .evidence
            .as_ref()
            .filter(|rule| rule.states.contains(state))
            .map(|rule| rule.min_characters)
    }

    /// The most that one commit may close of its nodes of a round, in percent; `None` for no limit.
    pub fn closing_limit(&self, round: u32) -> Option<u32> {
        let rule = self.ruleset.terminal_ratio.as_ref()?;
        let limit = rule.limits.iter().find(|limit| {
            limit.from_round.unwrap_or(1) <= round && limit.to_round.is_none_or(|last| round <= last)
        })?;
        Some(limit.max_percent)
    }

    /// Whether a node in this state counts as closed for that limit; `None` where it does not count at all. `parent`
    /// is its parent's state.
    pub fn counts_as_closed(
        &self,
        state: &StateName,
        round: u32,
        parent: Option<&StateName>,
    ) -> Option<bool> {
        let rule = self.ruleset.terminal_ratio.as_ref()?;
        let left_out = rule.not_counted.iter().any(|exception| {
            exception.states.as_ref().is_none_or(|states| states.contains(state))
                && exception
                    .children_of
                    .as_ref()
                    .is_none_or(|of| parent.is_some_and(|parent| of.contains(parent)))
                && exception.to_round.is_none_or(|last| round <= last)
        });
        (!left_out).then(|| self.is_terminal(state) || rule.also_closed.contains(state))
    }

    /// What makes a waiting state move.
    pub fn confirmation(&self, state: &StateName) -> Option<&'a Confirmation> {
        self.ruleset.confirmations.iter().find(|confirmation| &confirmation.state == state)
    }

    /// What a node in this state and round owes: how many children, and in which states.
    pub fn owed(&self, state: &StateName, round: u32) -> Option<(u32, Option<&'a [StateName]>)> {
        let state = self.ruleset.state(state).filter(|state| !state.terminal)?;
        let rule = state.children.iter().find(|rule| rule.applies(round))?;
        let most = self.mode.and_then(|mode| mode.max_children_owed).unwrap_or(u32::MAX);
        Some((rule.min.min(most), rule.of.as_deref()))
    }

    /// What a committed node owes and has; `None` for pending and terminal ones.
    pub fn requirement(&self, investigation: &Investigation, node: &Node) -> Option<Requirement> {
        let children = investigation.committed_children(&node.id).map(|(_, state)| (state, 1));
        self.required(node.state()?, node.round(), children)
    }

    /// The same, of its state, its round, and how many children are in which state.
    fn required<'s>(
        &self,
        state: &StateName,
        round: u32,
        children: impl Iterator<Item = (&'s StateName, u32)>,
    ) -> Option<Requirement> {
        let (needs, of) = self.owed(state, round)?;
        let counted = children.filter(|(state, _)| of.is_none_or(|of| of.contains(state)));
        let has = counted.fold(0, |sum: u32, (_, count)| sum.saturating_add(count));
        Some(Requirement { needs, has, of: of.map(<[StateName]>::to_vec) })
    }

    /// The open nodes that still lack children, with what they lack, by round and suffix.
    pub fn incomplete<'i>(&self, investigation: &'i Investigation) -> Vec<(&'i Node, Requirement)> {
        let mut incomplete: Vec<(&Node, Requirement)> = Vec::new();
        for kin in investigation.kin() {
            let children = kin.children.iter().map(|(state, count)| (state, *count));
            let requirement = self.required(&kin.state, kin.round, children);
            if let Some(requirement) = requirement.filter(|requirement| requirement.missing() > 0) {
                incomplete.extend(kin.nodes.iter().map(|node| (node.as_ref(), requirement.clone())));
            }
        }
        incomplete.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        incomplete
    }

    /// Whether every node is terminal before the minimum round, so that nothing could go on.
    pub fn recovery_required(&self, investigation: &Investigation) -> bool {
        let mut committed = investigation.committed().peekable();
        committed.peek().is_some()
            && investigation.current_round() < self.min_rounds
            && committed.all(|(_, state)| self.is_terminal(state))
    }

    /// The nodes by which a solution is verified: children in a confirming role, and the child that promoted it.
    pub fn verified_by(&self, investigation: &Investigation, node: &Node) -> Vec<NodeId> {
        let confirming = investigation
            .committed_children(&node.id)
            .filter(|(_, state)| self.role(state) == Role::Confirmation)
            .map(|(child, _)| child.id.clone());
        let promoted = self.promoted_by(investigation, node);
        let mut by: Vec<NodeId> = confirming.chain(promoted).collect();
        by.sort();
        by.dedup();
        by
    }

    /// The child that promoted the node, while that child still is what promoted it.
    fn promoted_by(&self, investigation: &Investigation, node: &Node) -> Option<NodeId> {
        let classification = node.classification.as_ref()?;
        let last = classification.reclassified.last()?;
        let child = classification.promoted_by()?;
        let state = investigation.committed_node(child)?.state()?;
        let outcomes = &self.confirmation(&last.from)?.outcomes;
        outcomes.iter().any(|it| it.becomes == last.to && &it.child == state).then(|| child.clone())
    }
}

/// `2 children`, `1 VERIFY child`, `2 VERIFY or DEAD children`.
pub fn children(number: u32, of: Option<&[StateName]>) -> String {
    let noun = if number == 1 { "child" } else { "children" };
    match of {
        None => format!("{number} {noun}"),
        Some(of) => format!("{number} {} {noun}", or(of)),
    }
}

/// Names with commas between: `EXPLORE, FOUND, VERIFY`.
pub fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

fn or(names: &[StateName]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} or {last}", list(first)),
    }
}
