//! `states`: the states of nodes. Each entry has a `name` (A-Z, 0-9, `_`), a `meaning` in a few words, a `role` and a
//! `colour` (a Graphviz color name, or `"#rrggbb"` in quotes). A `terminal` state is final: its nodes neither have nor
//! need children. Reports show the state's `label`, with its name in the tooltip. Without a label, they show the label
//! of its role (*Explored*, *Unconfirmed*, *Answer*, *Theory*, *Confirmation*, *Exhausted*, *Ruled out*). If several
//! states share the role, they show the name in lower case.
//!
//! ```yaml
//! - {name: REFUTED, meaning: Ruled out, role: deadEnd, colour: "#cc3333", terminal: true}
//! - {name: EVIDENCE, label: Borne out, meaning: An observation, role: confirmation, colour: khaki, terminal: true}
//! ```
//!
//! | role | meaning |
//! |---|---|
//! | `open` | work to continue |
//! | `awaitingConfirmation` | an unconfirmed answer; needs a rule under `confirmations`, and keeps the investigation from ending |
//! | `solution` | an answer, listed by `tot_end` and in the report's conclusion |
//! | `theory` | an answer that can't be tested here |
//! | `confirmation` | a result that confirms the answer above it |
//! | `exhausted` | a path with nothing left to try |
//! | `deadEnd` | a path that was ruled out |
//!
//! A child in a state with `refutes: true` refutes its parent, which then no longer counts as an answer. For a child in
//! any other terminal state, the agent can set `refutes`.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::child_states::ChildStates;
use super::children::Children;
use super::{
    CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, StoredFact, Verb, Violation,
    committed, shortened,
};
use crate::domain::{Code, Diagnostic, Investigation, Node, NodeId, StateName, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::Problems;
use crate::text::one_line;

/// A state of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// The name in capitals, such as `EXPLORE`.
    pub name: StateName,
    /// The label shown to people, such as `Explored`. Default: the label of its role, or its name if several states
    /// share the role.
    pub label: Option<String>,
    /// The meaning, in a few words.
    pub meaning: String,
    /// The role in results, quality scores and reports.
    pub role: Role,
    /// The color in DOT: a Graphviz name, or `#rrggbb`.
    pub colour: String,
    /// True if nodes in this state neither have nor need children.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// True if a child in this state refutes its parent even without `refutes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refutes: bool,
    /// The required children of an open node, by its round. The first matching entry applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Children>,
    /// The allowed states of its children; absent for any.
    pub child_states: Option<ChildStates>,
}

/// The role of a state in results, quality scores and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Work to continue.
    Open,
    /// A solution that waits for a child to confirm it.
    AwaitingConfirmation,
    /// An answer.
    Solution,
    /// An answer that can't be tested here.
    Theory,
    /// A confirmation of its parent.
    Confirmation,
    /// A path with nothing left to try.
    Exhausted,
    /// A path that was ruled out.
    DeadEnd,
}

impl Role {
    /// Returns the human-readable name of the role.
    pub fn label(self) -> &'static str {
        match self {
            Role::Open => "open",
            Role::AwaitingConfirmation => "awaiting confirmation",
            Role::Solution => "solution",
            Role::Theory => "theory",
            Role::Confirmation => "confirmation",
            Role::Exhausted => "exhausted",
            Role::DeadEnd => "dead end",
        }
    }

    /// Returns the label for a state that is the only one with this role.
    fn word(self) -> &'static str {
        match self {
            Role::Open => "Explored",
            Role::AwaitingConfirmation => "Unconfirmed",
            Role::Solution => "Answer",
            Role::Theory => "Theory",
            Role::Confirmation => "Confirmation",
            Role::Exhausted => "Exhausted",
            Role::DeadEnd => "Ruled out",
        }
    }
}

/// The maximum length of a label.
const LABEL: usize = 30;

/// Converts a state name to words: `RULED_OUT` becomes `Ruled out`.
pub fn as_words(name: &StateName) -> String {
    let (first, rest) = name.as_str().split_at(1);
    format!("{first}{}", rest.to_ascii_lowercase().replace('_', " "))
}

/// Returns the label of a state or, without rules, its name in words.
pub fn label(rules: Option<&EffectiveRules<'_>>, name: &StateName) -> String {
    rules.map_or_else(|| as_words(name), |rules| rules.ruleset().label_of(name))
}

/// Reports `UNKNOWN_STATE`, `TERMINAL_PARENT` and `HAS_CHILDREN`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "states",
    errors: &[
        (Verb::Commit, Code::UnknownState),
        (Verb::Commit, Code::TerminalParent),
        (Verb::Reclassify, Code::UnknownState),
        (Verb::Reclassify, Code::HasChildren),
    ],
    problems,
    of_state,
    commit,
    reclassify,
    placement,
    stored_checks,
    ..SILENT
};

impl Ruleset {
    /// Returns the state with this name, if any.
    pub fn state(&self, name: &StateName) -> Option<&State> {
        self.states.iter().find(|state| &state.name == name)
    }

    /// Returns the human-readable label of a state.
    pub fn label_of(&self, name: &StateName) -> String {
        let Some(state) = self.state(name) else { return as_words(name) };
        let is_alone = self.states.iter().filter(|other| other.role == state.role).count() == 1;
        match &state.label {
            Some(label) => label.clone(),
            None if is_alone => state.role.word().to_owned(),
            None => as_words(name),
        }
    }

    /// Returns all state names as a list for messages: `EXPLORE, FOUND, …`.
    pub fn state_list(&self) -> String {
        list(self.states.iter().map(|state| &state.name))
    }

    /// Parses a state name, or a role such as `open` that only one state has, ignoring case and surrounding spaces.
    ///
    /// # Errors
    ///
    /// Returns `UNKNOWN_STATE` for the node if the ruleset does not define the state.
    pub fn state_meant(&self, text: &str, node: &str) -> Result<StateName, Diagnostic> {
        let text = text.trim();
        let named = self.states.iter().find(|state| state.name.as_str().eq_ignore_ascii_case(text));
        let mut of_role = self.states.iter().filter(|state| state.role.label().eq_ignore_ascii_case(text));
        let meant = named.or(match (of_role.next(), of_role.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        });
        meant.map(|state| state.name.clone()).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            let states = self.state_list();
            let message = format!("`{shown}` is not a state of {}. The states are {states}.", self.name);
            Diagnostic::new(Code::UnknownState, message).about(node)
        })
    }
}

impl EffectiveRules<'_> {
    /// Returns the role of a state. An unknown state counts as open.
    pub fn role(&self, state: &StateName) -> Role {
        self.ruleset.state(state).map_or(Role::Open, |state| state.role)
    }

    /// Returns whether nodes in this state can't have children.
    pub fn is_terminal(&self, state: &StateName) -> bool {
        self.ruleset.state(state).is_some_and(|state| state.terminal)
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let mut seen = HashSet::new();
    if ruleset.states.is_empty() {
        problems.add("states", "there must be at least one state", "");
    }
    for (at, state) in ruleset.states.iter().enumerate() {
        let name = &state.name;
        problems.item = Some(at);
        if !seen.insert(name) {
            problems.add(name, format!("{name} is repeated"), "each state has one entry");
        }
        if let Some(label) = &state.label {
            let is_plain = one_line(label) == *label && !label.is_empty() && label.chars().count() <= LABEL;
            if !is_plain {
                let reason = format!("the label of {name} is not a short word");
                problems.add("label", reason, "give a word or two, at most 30 characters");
            }
            if ruleset
                .states
                .iter()
                .any(|other| other.name != *name && ruleset.label_of(&other.name) == *label)
            {
                let reason = format!("{name} has the same label as another state");
                problems.add("label", reason, "give each state its own");
            }
        }
        let rgb = state
            .colour
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let named = state.colour.bytes().all(|b| b.is_ascii_alphanumeric()) && !state.colour.is_empty();
        if !rgb && !named {
            let reason = format!("`{}` is not a colour", state.colour);
            let remedy = "give a name that Graphviz knows, like lightblue, or \"#rrggbb\"";
            problems.add("colour", reason, remedy);
        }
    }
    problems.item = None;
    if !ruleset.states.is_empty() && !ruleset.states.iter().any(|state| state.terminal) {
        let reason = "no state is terminal, so no investigation could end";
        problems.add("states", reason, "write `terminal: true` in those that need nothing further");
    }
    if ruleset.states.iter().all(|state| state.terminal) && ruleset.end.min_rounds > 1 {
        let reason = "every state is terminal, so no round after the first could be reached";
        problems.add("states", reason, "add an open state, or `minRounds: 1` under end");
    }
}

fn of_state(_: &EffectiveRules, state: &State) -> Vec<String> {
    state.terminal.then(|| "Terminal.".to_owned()).into_iter().collect()
}

/// Checks that the parent has not become terminal since the proposal.
fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let node = result.node;
    let Some(parent) = node.parent.as_ref().and_then(|parent| result.investigation.node(parent)) else {
        return;
    };
    if let Some(state) = parent.state().filter(|state| result.rules.is_terminal(state)) {
        let message = format!("{} has become {state} since {} was proposed.", parent.id, node.id);
        let how = Wording::both(
            format!(
                "Withdraw the proposal (tot_propose with `withdraw: [{}]`), or revive {} with tot_reclassify.",
                node.id, parent.id
            ),
            format!(
                "Withdraw the proposal (`tot propose --withdraw {}`), or revive {} with `tot amend --state`.",
                node.id, parent.id
            ),
        );
        diagnostics.refuse(Code::TerminalParent, &node.id, message, how);
    }
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    let (node, to) = (change.node, &change.stored.to);
    if !change.rules.is_terminal(to) {
        return;
    }
    let children: Vec<&NodeId> = change.investigation.children(&node.id).map(|child| &child.id).collect();
    if !children.is_empty() {
        let pending = change.investigation.children(&node.id).filter(|child| child.is_pending()).count();
        let suggestion = match pending == children.len() {
            true => Wording::both("`withdraw` in tot_propose", "`tot propose --withdraw`")
                .map(|call| format!("They are only proposed: withdraw them first, with {call}.")),
            false => "A node with committed children stays open: close the leaves below it instead.".into(),
        };
        let message = format!("{} has children ({}), and {to} takes none.", node.id, shortened(&children, 5));
        diagnostics.refuse(Code::HasChildren, &node.id, message, suggestion);
    }
}

/// Checks that a stored node is not below a terminal one.
fn placement(rules: &EffectiveRules, node: &Node, parent: &Node) -> Option<Violation> {
    let above = parent.classification.as_ref()?;
    let state = above.current_state();
    // If a child promoted the parent, that child and its siblings remain allowed.
    if !rules.is_terminal(state) || above.promoted_by().is_some() {
        return None;
    }
    let place = StoredFact::Node(node.id.clone(), "parent");
    let message = format!("{} is below {}, which is {state} and can't have children.", node.id, parent.id);
    let how = format!("Revive {} with `tot amend --state`.", parent.id);
    Some(Violation::error(place, Code::TerminalParent, message).unless_merged().suggest(how))
}

/// Checks for unknown states.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    let ruleset = rules.ruleset();
    for (node, result) in committed(investigation) {
        let requested = result.requested_state.iter().map(|state| ("requestedState", state));
        let keys = std::iter::once(("state", &result.state)).chain(requested);
        let keys = keys.map(|(key, state)| (StoredFact::Node(node.id.clone(), key), state));
        let changes = result.reclassified.iter().enumerate();
        let changes =
            changes.map(|(number, change)| (StoredFact::Change(node.id.clone(), number), &change.to));
        for (place, name) in keys.chain(changes).filter(|(_, name)| ruleset.state(name).is_none()) {
            let message = format!("{name} is not a state of {}.", ruleset.name);
            let how = format!("The states are {}.", ruleset.state_list());
            violations.push(Violation::error(place, Code::UnknownState, message).suggest(how));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ruleset::RulesetFile;

    const RULESET: &str = "version: 1\nname: words\nsummary: Words.\nstates:\n\
        - {name: OPEN, meaning: m, role: open, colour: red, children: [{min: 1}]}\n\
        - {name: RULED_OUT, meaning: m, role: deadEnd, colour: red, terminal: true}\n\
        - {name: REFUTED, meaning: m, role: deadEnd, colour: red, terminal: true}\n\
        - {name: YES, label: It is so, meaning: m, role: solution, colour: red, terminal: true}\n\
        end: {minRounds: 1}\n";

    #[test]
    fn a_state_is_called_by_its_label_its_role_or_its_name() {
        let file = RulesetFile::parse(RULESET).unwrap();
        let words = ["OPEN", "RULED_OUT", "REFUTED", "YES", "STRANGE_ONE"];
        let words = words.map(|name| file.ruleset.label_of(&name.parse().unwrap()));
        assert_eq!(words, ["Explored", "Ruled out", "Refuted", "It is so", "Strange one"]);
    }

    #[test]
    fn a_label_is_a_short_word_of_its_own() {
        for (label, reason) in [
            ("' '", "not a short word"),
            ("'a\u{202e}b'", "not a short word"),
            ("a very long label that nobody reads", "not a short word"),
            ("Refuted", "has the same label as another state"),
            ("Explored", "has the same label as another state"),
        ] {
            let problems = RulesetFile::parse(&RULESET.replace("It is so", label)).unwrap_err();
            assert!(problems.iter().any(|problem| problem.reason.contains(reason)), "{label}: {problems:?}");
            assert!(problems.iter().all(|problem| problem.line == Some(8)), "{label}: {problems:?}");
        }
    }
}
