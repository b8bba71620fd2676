//! Nodes, states and times for display, and lookups shared by the pages.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::assess::{Assessment, NodeMark, ProjectInputs, Verdict};
use crate::decide::references::{CitedSource, CitingLines};
use crate::domain::{Investigation, Node, NodeId, StateName, Timestamp};
use crate::graph::role_class;
use crate::report::templates::SharedValue;
use crate::ruleset::rules::states::label;
use crate::ruleset::rules::verification::Confirming;
use crate::ruleset::{EffectiveRules, Role};
use crate::text::telling_sentence;

/// The label and the CSS class of states whose nodes refute their parents.
const REFUTES: &str = "Refutes";
pub(in crate::report) const REFUTATION: &str = "role-refutation";

/// A short form of a node, shown as a link to its page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Card {
    pub id: NodeId,
    pub title: String,
    pub href: String,
    pub round: u32,
    pub state: StateView,
    /// The beginning of its findings, or of its plan while it is pending. May be empty.
    pub excerpt: String,
    /// The first sentence of the excerpt.
    pub first: String,
    /// The verdict on an answer. For other nodes, `Refuted` or `None`.
    pub sure: Option<Verdict>,
    pub child_count: usize,
}

/// A node that confirms an answer, with its verdict.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ConfirmedBy {
    pub card: SharedValue<Card>,
    pub sure: Verdict,
    /// The distance between the node and the answer, in one line.
    pub distance: String,
}

/// A state for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::report) struct StateView {
    /// The name: `EXPLORE`, or `proposed` while the node is pending.
    pub name: String,
    /// Its label: `Explored`, or `refutes R1.A` for a node that refutes its parent.
    pub word: String,
    /// The CSS classes: `role-open`, `role-deadEnd`, …, or `role-refutation`, `role-pending` or, without a ruleset, `role-unknown`;
    /// and that of the node's verdict, if it has one.
    pub class: String,
    /// The name of the state's role, or empty without a ruleset.
    pub label: &'static str,
    /// The state's description in the ruleset, possibly empty.
    pub meaning: String,
    pub pending: bool,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::report) struct Time {
    /// The time in RFC 3339 format, for machines.
    pub iso: String,
    /// The time to the minute: `2026-11-20 09:15 UTC`.
    pub text: String,
    /// The date: `2026-11-20`.
    pub day: String,
    /// The time of day: `09:15 UTC`.
    pub clock: String,
}

impl Time {
    pub(in crate::report) fn of(time: Timestamp) -> Time {
        let text = time.to_minute();
        let (day, clock) = text.split_once(' ').unwrap_or((&text, ""));
        Time { iso: time.to_string(), day: day.to_owned(), clock: clock.to_owned(), text }
    }
}

/// The cards of all nodes, and lookups shared by the pages.
pub(in crate::report) struct Cards<'a> {
    pub(super) investigation: &'a Investigation,
    pub(super) rules: Option<EffectiveRules<'a>>,
    pub(super) cards: HashMap<NodeId, SharedValue<Card>>,
    pub(super) cited: HashMap<NodeId, Vec<usize>>,
    pub(super) assessment: Assessment<'a>,
    /// The nodes whose text is withheld.
    pub(super) withheld: &'a BTreeSet<NodeId>,
}

impl<'a> Cards<'a> {
    pub(in crate::report) fn new(
        investigation: &'a Investigation,
        rules: Option<EffectiveRules<'a>>,
        references: &[CitedSource],
        withheld: &'a BTreeSet<NodeId>,
        inputs: Option<&ProjectInputs>,
        excerpt: impl Fn(&Node) -> String,
    ) -> Self {
        let mut cited: HashMap<NodeId, Vec<usize>> = HashMap::new();
        for (at, reference) in references.iter().enumerate() {
            for CitingLines { node_id, .. } in &reference.cited_by {
                cited.entry(node_id.clone()).or_default().push(at);
            }
        }
        let assessment = Assessment::new(investigation, rules).with_inputs(inputs);
        let mut cards = Cards { investigation, rules, cards: HashMap::new(), cited, assessment, withheld };
        let addresses = addresses(investigation);
        for (node, href) in investigation.nodes().zip(addresses) {
            let card = cards.make(node, href, excerpt(node));
            cards.cards.insert(node.id.clone(), SharedValue::of(card));
        }
        cards
    }

    /// Changes the address of each card.
    pub(in crate::report) fn put_at(&mut self, place: impl Fn(&NodeId) -> String) {
        for (id, card) in &mut self.cards {
            let href = place(id);
            if card.href != href {
                *card = SharedValue::of(Card { href, ..Card::clone(card) });
            }
        }
    }

    /// Returns the state of a node at an earlier commit.
    pub(in crate::report) fn state_then(&self, node: &Node) -> StateView {
        self.state_of(node, NodeMark::new(self.rules.as_ref(), node))
    }

    fn state_of(&self, node: &Node, mark: NodeMark<'_>) -> StateView {
        let verdict = mark.shade().map(|verdict| format!(" {}", verdict.class())).unwrap_or_default();
        let view = match node.state() {
            Some(state) if mark.refutes.is_some() => StateView { word: mark.label, ..self.refutation(state) },
            Some(state) => self.state(state),
            None => StateView {
                name: "proposed".to_owned(),
                word: mark.label,
                class: "role-pending".to_owned(),
                label: "not yet explored",
                meaning: "Proposed, not yet explored".to_owned(),
                pending: true,
            },
        };
        StateView { class: view.class + &verdict, ..view }
    }

    /// Returns the state of nodes that refute their parents.
    pub(super) fn refutation(&self, name: &StateName) -> StateView {
        StateView {
            name: name.to_string(),
            word: REFUTES.to_owned(),
            class: REFUTATION.to_owned(),
            label: "a refutation",
            meaning: "Shows that the answer above is wrong".to_owned(),
            pending: false,
        }
    }

    fn make(&self, node: &Node, href: String, excerpt: String) -> Card {
        let mark = self.assessment.mark(node);
        let sure = mark.verdict;
        // In a withheld node, the title and the findings both name the person who withholds it.
        let excerpt = if excerpt == node.name() { String::new() } else { excerpt };
        Card {
            id: node.id.clone(),
            title: node.name().to_owned(),
            href,
            round: node.round(),
            state: match self.assessment.counts_for_nothing(node) {
                Some(why) => StateView { meaning: why.to_owned(), ..self.state_of(node, mark) },
                None => self.state_of(node, mark),
            },
            first: telling_sentence(&excerpt).to_owned(),
            excerpt,
            sure,
            child_count: self.investigation.children(&node.id).count(),
        }
    }

    /// Returns the card of a node in the tree.
    pub(in crate::report) fn get(&self, id: &NodeId) -> Option<&SharedValue<Card>> {
        self.cards.get(id)
    }

    /// Returns a state with its role in the ruleset.
    pub(in crate::report) fn state(&self, name: &StateName) -> StateView {
        let known = self.rules.and_then(|rules| rules.ruleset().state(name));
        if known.is_some_and(|state| state.refutes) {
            return self.refutation(name);
        }
        let role = self.rules.map(|rules| rules.role(name));
        StateView {
            name: name.to_string(),
            word: label(self.rules.as_ref(), name),
            class: role.map_or("role-unknown", role_class).to_owned(),
            label: role.map_or("", Role::label),
            meaning: known.map_or_else(String::new, |state| state.meaning.clone()),
            pending: false,
        }
    }

    /// Rewrites a rule's message for people, replacing state names with labels and field names with plain words.
    pub(super) fn in_words(&self, message: &str) -> String {
        let word = |word: &str| {
            let name = word
                .parse()
                .ok()
                .filter(|name| self.rules.is_some_and(|it| it.ruleset().state(name).is_some()));
            match name {
                Some(name) => format!("“{}”", self.state(&name).word),
                None if word == "agentId" => "agent".to_owned(),
                None => word.to_owned(),
            }
        };
        let is_of_word = |sign: char| sign.is_alphanumeric() || "._-".contains(sign);
        let mut words = String::with_capacity(message.len());
        let mut rest = message;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|sign| is_of_word(sign) != is_of_word(first)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            // The full stop ends a sentence and is not part of the name.
            let name = part.trim_end_matches('.');
            words.push_str(&word(name));
            words.push_str(&part[name.len()..]);
            rest = after;
        }
        words
    }

    pub(super) fn card(&self, node: &Node) -> Option<SharedValue<Card>> {
        self.get(&node.id).cloned()
    }

    pub(super) fn in_order<'i>(&self, ids: impl IntoIterator<Item = &'i NodeId>) -> Vec<SharedValue<Card>> {
        ids.into_iter().filter_map(|id| self.get(id)).cloned().collect()
    }

    pub(super) fn confirmed_by(&self, node: &Node) -> Vec<ConfirmedBy> {
        let confirming = self.assessment.answer(&node.id).map_or(&[][..], |answer| &answer.confirming);
        let by = |it: &Confirming| {
            Some(ConfirmedBy {
                card: self.get(&it.node)?.clone(),
                sure: it.verdict(),
                distance: self.assessment.distance(node, it).map_or_else(String::new, |mut distance| {
                    distance.own.take_if(|_| self.withheld.contains(&it.node));
                    distance.to_string()
                }),
            })
        };
        confirming.iter().filter_map(by).collect()
    }

    pub(super) fn refuted_by(&self, node: &Node) -> &[NodeId] {
        self.assessment.answer(&node.id).map_or(&[], |answer| &answer.refuted_by)
    }

    pub(super) fn open_end(&self, node: &Node) -> Option<OpenEnd> {
        let requirement = self.rules?.requirement(self.investigation, node)?;
        (requirement.missing() > 0).then_some(())?;
        Some(OpenEnd { card: self.card(node)?, needs: requirement.describe(), has: requirement.has })
    }
}

/// A node that still requires children.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OpenEnd {
    pub card: SharedValue<Card>,
    /// The missing children: `2 children`.
    pub needs: String,
    pub has: u32,
}

/// Returns the path of each node's page. No two paths differ only in letter case, because some file systems ignore
/// case.
fn addresses(investigation: &Investigation) -> Vec<String> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    investigation
        .nodes()
        .map(|node| {
            let number = taken.entry(node.id.whole().to_ascii_lowercase()).or_default();
            *number += 1;
            match *number {
                1 => format!("nodes/{}.html", node.id.whole()),
                number => format!("nodes/{}-{number}.html", node.id.whole()),
            }
        })
        .collect()
}
