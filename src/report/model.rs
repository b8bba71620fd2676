//! What the pages of one investigation show: typed data, computed from an [`Input`] and nothing else.
//!
//! Addresses (`href`) are relative to the investigation's folder; a template puts its page's `root` before them.
//! Texts of strangers are plain strings, which templates escape; Markdown is [`SafeHtml`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::Input;
use super::history::{self, CommitLink, History};
use super::references::{self, Reference};
use super::templates::SafeHtml;
use crate::decide::quality::{Quality, quality};
use crate::decide::standing;
use crate::domain::{Author, Investigation, Node, NodeId, Reclassification, StateName, Timestamp};
use crate::format::layout;
use crate::markdown;
use crate::ruleset::schema::LAST_ROUND;
use crate::ruleset::{Role, Ruleset, Severity, Terms, terms};

/// Characters of a finding on a card.
const CARD_EXCERPT: usize = 220;
/// Characters of a question that stand whole at the top of a page.
const SHORT_QUERY: usize = 700;

/// All pages of one investigation.
pub(super) struct Report {
    /// On every page.
    pub header: Header,
    /// The first page.
    pub overview: Overview,
    /// Every node, in the order of reading: depth first.
    pub nodes: Vec<NodeView>,
    /// The tree, as the rows of a nested list.
    pub outline: Vec<OutlineRow>,
    /// What the findings cite.
    pub references: References,
    /// The commits.
    pub history: History,
    /// The rules and what came of them.
    pub judged: Judged,
    /// The same as `references`, for the data file.
    pub cited: Vec<Reference>,
    addresses: HashMap<NodeId, String>,
}

/// What every page of an investigation knows of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Header {
    pub id: String,
    pub title: String,
    pub query: String,
    /// Its beginning, in one line.
    pub query_excerpt: String,
    /// Whether the question is so long that a page folds it.
    pub query_is_long: bool,
    pub ended: bool,
    pub started_at: Time,
    pub ended_at: Option<Time>,
    pub ended_by: Option<String>,
    pub ruleset: String,
    pub mode: String,
    pub rounds: u32,
    pub committed: usize,
    pub pending: usize,
    /// Solutions, and how many of them are verified.
    pub answers: usize,
    pub verified: usize,
    pub ruled_out: usize,
    pub open_ends: usize,
    /// The commit that was read.
    pub head: String,
    pub head_short: String,
    /// What is wrong with the files.
    pub faults: Vec<String>,
    /// Whether the ruleset could be used; without it no state has a role.
    pub has_rules: bool,
}

/// The first page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Overview {
    /// What was found, in one sentence.
    pub verdict: String,
    pub context: Option<SafeHtml>,
    pub conclusion: Option<SafeHtml>,
    /// Solutions, verified ones first.
    pub solutions: Vec<Solution>,
    /// Whether the method can verify at all.
    pub method_verifies: bool,
    pub awaiting: Vec<Card>,
    pub theories: Vec<Finding>,
    pub dead_ends: Vec<Finding>,
    pub exhausted: Vec<Finding>,
    pub open_ends: Vec<OpenEnd>,
    pub pending: Vec<Card>,
    /// What keeps it from its end.
    pub blockers: Vec<Blocker>,
    pub states: Vec<StateCount>,
    pub rounds: Vec<RoundCount>,
    pub warnings: Vec<WarningKind>,
    pub reference_count: usize,
    pub agent_count: usize,
}

/// A node in a few words, as a link to its page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Card {
    pub id: String,
    pub title: String,
    pub href: String,
    pub round: u32,
    pub state: StateView,
    /// The beginning of its findings, or of its plan while it is pending; empty where there is none.
    pub excerpt: String,
    /// For a solution, whether it is verified.
    pub verified: Option<bool>,
    pub child_count: usize,
}

/// A state as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct StateView {
    /// `EXPLORE`, or `proposed` while the node is pending.
    pub name: String,
    /// `role-open`, `role-deadEnd`, …; `role-pending`, `role-unknown`.
    pub class: &'static str,
    /// The role for people; empty where it is unknown.
    pub label: &'static str,
    /// What the ruleset says of it; empty where it says nothing.
    pub meaning: String,
    pub pending: bool,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Time {
    /// For machines: RFC 3339.
    pub iso: String,
    /// For people, to the minute.
    pub text: String,
}

/// An answer, and how sure it is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Solution {
    pub card: Card,
    pub verified: bool,
    pub verified_by: Vec<Card>,
    /// What was found, or the evidence where it was given.
    pub evidence: String,
    pub reference_count: usize,
}

/// A result, and on what evidence.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    pub card: Card,
    pub evidence: String,
    pub reference_count: usize,
}

/// A node that still owes children.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OpenEnd {
    pub card: Card,
    /// `2 children`.
    pub needs: String,
    pub has: u32,
    pub missing: u32,
}

/// Something that keeps the investigation from its end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Blocker {
    pub code: String,
    pub message: String,
    pub card: Option<Card>,
}

/// How many nodes are in a state.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StateCount {
    pub state: StateView,
    pub count: usize,
}

/// How many nodes are in a round.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RoundCount {
    pub round: u32,
    pub count: usize,
}

/// All warnings of one code.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WarningKind {
    pub code: String,
    pub warnings: Vec<WarningView>,
}

/// A warning and the node it was given for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WarningView {
    pub code: String,
    pub message: String,
    pub at: Time,
    pub card: Card,
}

/// One row of the nested list: an item, and the lists that end behind it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct OutlineRow {
    pub card: Card,
    pub has_children: bool,
    /// How many lists end after this item.
    pub closes: usize,
}

/// The page of a node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeView {
    pub card: Card,
    /// From the root to its parent.
    pub path: Vec<Card>,
    pub parent: Option<Card>,
    pub children: Vec<Card>,
    pub previous: Option<Card>,
    pub next: Option<Card>,
    pub agent: Option<String>,
    pub proposed_at: Time,
    pub committed_at: Option<Time>,
    /// The state it was committed in, where a later change left another.
    pub committed_as: Option<StateView>,
    /// The state that was asked for, and the one that was stored.
    pub converted: Option<Conversion>,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    pub evidence: Option<SafeHtml>,
    pub verification_method: Option<SafeHtml>,
    pub alternatives: Vec<SafeHtml>,
    pub warnings: Vec<WarningView>,
    pub reclassified: Vec<Change>,
    pub verified_by: Vec<Card>,
    /// What it still owes.
    pub owes: Option<OpenEnd>,
    pub references: Vec<NodeReference>,
    pub commits: Vec<CommitLink>,
    /// Its file in the repository.
    pub file: String,
}

/// A commit that was stored in another state than was asked for.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Conversion {
    pub card: Card,
    pub requested: StateView,
    pub stored: StateView,
}

/// A later change of a node's state.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change {
    pub card: Card,
    pub from: StateView,
    pub to: StateView,
    pub at: Time,
    pub agent: Option<String>,
    /// The child that brought it about.
    pub child: Option<Card>,
    pub child_id: Option<String>,
    pub reason: Option<String>,
    pub evidence: Option<SafeHtml>,
    pub verification_method: Option<SafeHtml>,
    pub alternatives: Vec<SafeHtml>,
}

/// What the findings cite.
#[derive(Clone, Debug, Serialize)]
pub(super) struct References {
    pub urls: Vec<ReferenceView>,
    pub paths: Vec<ReferenceView>,
}

/// A source, and who cites it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReferenceView {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub cited_by: Vec<Citation>,
}

/// A source on the page of a node that cites it. Not who else does: of 1,000 nodes all may cite one source.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeReference {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub lines: Vec<u32>,
    /// How many other nodes cite it.
    pub others: usize,
}

/// A node that cites a source.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Citation {
    pub card: Card,
    pub lines: Vec<u32>,
}

/// The rules and what came of them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Judged {
    pub rules: Option<Rules>,
    pub quality: Option<Quality>,
    pub warnings: Vec<WarningKind>,
    pub conversions: Vec<Conversion>,
    pub changes: Vec<Change>,
    pub min_rounds: u32,
    pub min_roots: u32,
    pub allow_early: bool,
    /// The states that nodes are in, by number.
    pub states: Vec<StateCount>,
}

/// A ruleset for people.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Rules {
    pub name: String,
    pub summary: String,
    pub advice: Option<SafeHtml>,
    pub mode_meaning: Option<String>,
    pub states: Vec<StateRule>,
    /// What comes too early, in sentences.
    pub early: Vec<String>,
    /// What the end asks for, in sentences.
    pub end: Vec<String>,
    /// What else is asked, in sentences.
    pub checks: Vec<String>,
    /// The file, as it is pinned.
    pub text: String,
}

/// One state of a ruleset.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StateRule {
    pub state: StateView,
    pub count: usize,
    pub terminal: bool,
    /// What a node in it owes, in sentences.
    pub owes: Vec<String>,
    pub child_states: Option<String>,
    pub first_round: Option<u32>,
    pub evidence: Option<u32>,
}

impl Report {
    /// The data of all pages.
    pub(super) fn of(input: &Input) -> Report {
        let investigation = input.snapshot.investigation.as_ref();
        let file = input.snapshot.ruleset.as_ref().ok();
        let terms = file.map(|file| Terms::new(&file.ruleset, investigation.meta()));
        let references = references::collect(investigation);
        let cards = Cards::new(investigation, terms, &references);
        let history = history::view(input, &cards);
        let nodes = cards.node_views(&references, &history);
        let warnings = cards.warnings();
        let states = cards.state_counts();
        let overview = cards.overview(&warnings, &states, references.len());
        let views = |is_url| {
            references
                .iter()
                .filter(|reference| reference.is_url == is_url)
                .map(|reference| cards.reference(reference))
                .collect()
        };
        Report {
            header: header(input, &overview),
            nodes,
            outline: cards.outline(),
            references: References { urls: views(true), paths: views(false) },
            judged: Judged {
                rules: file.zip(terms).map(|(file, terms)| cards.rules(terms, &file.text)),
                quality: terms.map(|terms| quality(investigation, &terms)),
                warnings,
                conversions: cards.conversions(),
                changes: cards.changes(),
                min_rounds: investigation.meta().min_rounds,
                min_roots: investigation.meta().min_roots,
                allow_early: investigation.meta().allow_early_terminal,
                states,
            },
            addresses: cards.cards.iter().map(|(id, card)| (id.clone(), card.href.clone())).collect(),
            overview,
            history,
            cited: references,
        }
    }

    /// The address of a node's page.
    pub(super) fn href(&self, id: &NodeId) -> String {
        self.addresses.get(id).cloned().unwrap_or_default()
    }
}

/// The class of a role in pages and drawings.
pub(super) fn role_class(role: Option<Role>) -> &'static str {
    match role {
        None => "role-unknown",
        Some(Role::Open) => "role-open",
        Some(Role::AwaitingConfirmation) => "role-awaitingConfirmation",
        Some(Role::Solution) => "role-solution",
        Some(Role::Theory) => "role-theory",
        Some(Role::Confirmation) => "role-confirmation",
        Some(Role::Exhausted) => "role-exhausted",
        Some(Role::DeadEnd) => "role-deadEnd",
    }
}

impl Time {
    /// For pages.
    pub(super) fn of(time: Timestamp) -> Time {
        Time { iso: time.to_string(), text: time.to_minute() }
    }
}

/// Every node as a card, and the questions that pages ask of nodes.
pub(super) struct Cards<'a> {
    investigation: &'a Investigation,
    terms: Option<Terms<'a>>,
    cards: HashMap<NodeId, Card>,
    cited: HashMap<NodeId, Vec<usize>>,
}

impl<'a> Cards<'a> {
    fn new(investigation: &'a Investigation, terms: Option<Terms<'a>>, references: &[Reference]) -> Self {
        let mut cited: HashMap<NodeId, Vec<usize>> = HashMap::new();
        for (at, reference) in references.iter().enumerate() {
            for (node, _) in &reference.cited_by {
                cited.entry(node.clone()).or_default().push(at);
            }
        }
        let mut cards = Cards { investigation, terms, cards: HashMap::new(), cited };
        let addresses = addresses(investigation);
        for (node, href) in investigation.nodes().zip(addresses) {
            let card = cards.make(node, href);
            cards.cards.insert(node.id.clone(), card);
        }
        cards
    }

    fn make(&self, node: &Node, href: String) -> Card {
        let text = node.classification.as_ref().map_or(&node.planned_action, |c| &c.findings);
        let state = match node.state() {
            Some(state) => self.state(state),
            None => StateView {
                name: "proposed".to_owned(),
                class: "role-pending",
                label: "not yet explored",
                meaning: "Proposed, and not yet explored".to_owned(),
                pending: true,
            },
        };
        let verified = self.is(node, Role::Solution).then(|| !self.verified_by(node).is_empty());
        Card {
            id: node.id.to_string(),
            title: node.title.clone(),
            href,
            round: node.round(),
            state,
            excerpt: markdown::excerpt(text, CARD_EXCERPT),
            verified,
            child_count: self.investigation.children(&node.id).count(),
        }
    }

    /// The card of a node that is in the tree.
    pub(super) fn get(&self, id: &NodeId) -> Option<&Card> {
        self.cards.get(id)
    }

    /// A state, with the role that the ruleset gives it.
    pub(super) fn state(&self, name: &StateName) -> StateView {
        let known = self.terms.and_then(|terms| terms.ruleset().state(name));
        StateView {
            name: name.to_string(),
            class: role_class(known.map(|state| state.role)),
            label: known.map_or("", |state| state.role.label()),
            meaning: known.map_or_else(String::new, |state| state.meaning.clone()),
            pending: false,
        }
    }

    fn card(&self, node: &Node) -> Option<Card> {
        self.get(&node.id).cloned()
    }

    fn in_order<'i>(&self, ids: impl IntoIterator<Item = &'i NodeId>) -> Vec<Card> {
        ids.into_iter().filter_map(|id| self.get(id)).cloned().collect()
    }

    fn is(&self, node: &Node, role: Role) -> bool {
        self.terms.zip(node.state()).is_some_and(|(terms, state)| terms.role(state) == role)
    }

    fn verified_by(&self, node: &Node) -> Vec<NodeId> {
        self.terms.map_or_else(Vec::new, |terms| terms.verified_by(self.investigation, node))
    }

    fn with_role(&self, role: Role) -> impl Iterator<Item = &'a Arc<Node>> {
        self.investigation.committed().map(|(node, _)| node).filter(move |node| self.is(node, role))
    }

    fn findings(&self, role: Role) -> Vec<Finding> {
        self.with_role(role)
            .filter_map(|node| {
                Some(Finding {
                    card: self.card(node)?,
                    evidence: evidence_of(node),
                    reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
                })
            })
            .collect()
    }

    fn open_end(&self, node: &Node) -> Option<OpenEnd> {
        let requirement = self.terms?.requirement(self.investigation, node)?;
        (requirement.missing() > 0).then_some(())?;
        Some(OpenEnd {
            card: self.card(node)?,
            needs: requirement.describe(),
            has: requirement.has,
            missing: requirement.missing(),
        })
    }

    fn overview(&self, warnings: &[WarningKind], states: &[StateCount], reference_count: usize) -> Overview {
        let mut solutions: Vec<Solution> = self
            .with_role(Role::Solution)
            .filter_map(|node| {
                let verified_by = self.in_order(&self.verified_by(node));
                Some(Solution {
                    card: self.card(node)?,
                    verified: !self.verified_by(node).is_empty(),
                    verified_by,
                    evidence: evidence_of(node),
                    reference_count: self.cited.get(&node.id).map_or(0, Vec::len),
                })
            })
            .collect();
        solutions.sort_by_key(|solution| !solution.verified);
        let meta = self.investigation.meta();
        let conclusion = self.investigation.conclusion();
        let mut rounds: BTreeMap<u32, usize> = BTreeMap::new();
        let mut agents: HashSet<&str> = HashSet::new();
        for (node, _) in self.investigation.committed() {
            *rounds.entry(node.round()).or_default() += 1;
            agents.extend(node.classification.iter().flat_map(|classification| classification.agents()));
        }
        let method_verifies = self.terms.is_some_and(|terms| {
            let ruleset = terms.ruleset();
            !ruleset.confirmations.is_empty()
                || ruleset.states.iter().any(|state| state.role == Role::Confirmation)
        });
        let blockers = self.terms.map_or_else(Vec::new, |terms| standing::owed(self.investigation, &terms));
        let dead_ends = self.findings(Role::DeadEnd);
        let theories = self.findings(Role::Theory);
        Overview {
            verdict: verdict(self.terms.is_some(), method_verifies, &solutions, theories.len()),
            context: some_markdown(meta.context.as_deref(), "context", 3),
            conclusion: some_markdown(conclusion.and_then(|end| end.conclusion.as_deref()), "conclusion", 3),
            solutions,
            method_verifies,
            awaiting: self.with_role(Role::AwaitingConfirmation).filter_map(|node| self.card(node)).collect(),
            theories,
            dead_ends,
            exhausted: self.findings(Role::Exhausted),
            open_ends: self.investigation.nodes().filter_map(|node| self.open_end(node)).collect(),
            pending: self.investigation.pending().filter_map(|node| self.card(node)).collect(),
            blockers: blockers
                .into_iter()
                .map(|blocker| Blocker {
                    card: blocker.node.and_then(|id| self.get(&id.parse().ok()?).cloned()),
                    code: blocker.code.into_owned(),
                    message: blocker.message,
                })
                .collect(),
            states: states.to_vec(),
            rounds: rounds.into_iter().map(|(round, count)| RoundCount { round, count }).collect(),
            warnings: warnings.to_vec(),
            reference_count,
            agent_count: agents.len(),
        }
    }

    /// The states of the ruleset in its order, then those that nodes have beside them.
    fn state_counts(&self) -> Vec<StateCount> {
        let mut counts: BTreeMap<&StateName, usize> = BTreeMap::new();
        for (_, state) in self.investigation.committed() {
            *counts.entry(state).or_default() += 1;
        }
        let known = self.terms.map_or(&[][..], |terms| &terms.ruleset().states);
        let mut states: Vec<StateCount> = known
            .iter()
            .map(|state| StateCount {
                state: self.state(&state.name),
                count: counts.remove(&state.name).unwrap_or(0),
            })
            .collect();
        states.extend(counts.into_iter().map(|(name, count)| StateCount { state: self.state(name), count }));
        states
    }

    fn warnings(&self) -> Vec<WarningKind> {
        let mut kinds: BTreeMap<String, Vec<WarningView>> = BTreeMap::new();
        for (node, _) in self.investigation.committed() {
            for warning in self.warnings_of(node) {
                kinds.entry(warning.code.clone()).or_default().push(warning);
            }
        }
        kinds.into_iter().map(|(code, warnings)| WarningKind { code, warnings }).collect()
    }

    fn warnings_of(&self, node: &Node) -> Vec<WarningView> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let committed = classification.warnings.iter().map(|warning| (warning, classification.committed_at));
        let changed = classification
            .reclassified
            .iter()
            .flat_map(|change| change.warnings.iter().map(|warning| (warning, change.at)));
        committed
            .chain(changed)
            .map(|(warning, at)| WarningView {
                code: warning.code.clone(),
                message: warning.message.clone(),
                at: Time::of(at),
                card: card.clone(),
            })
            .collect()
    }

    fn outline(&self) -> Vec<OutlineRow> {
        let order = self.investigation.preorder();
        let rounds: Vec<usize> = order.iter().map(|node| node.round() as usize).collect();
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let next = rounds.get(at + 1).copied().unwrap_or(1);
                Some(OutlineRow {
                    card: self.card(node)?,
                    has_children: next > rounds[at],
                    closes: rounds[at].saturating_sub(next),
                })
            })
            .collect()
    }

    fn reference(&self, reference: &Reference) -> ReferenceView {
        ReferenceView {
            target: reference.target.clone(),
            is_url: reference.is_url,
            title: reference.title.clone().filter(|title| *title != reference.target),
            cited_by: reference
                .cited_by
                .iter()
                .filter_map(|(id, lines)| {
                    Some(Citation { card: self.get(id)?.clone(), lines: lines.clone() })
                })
                .collect(),
        }
    }

    fn node_views(&self, references: &[Reference], history: &History) -> Vec<NodeView> {
        let order = self.investigation.preorder();
        let neighbour = |at: Option<usize>| at.and_then(|at| self.card(order.get(at)?));
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let card = self.card(node)?;
                let classification = node.classification.as_ref();
                let text = |text: Option<&String>, prefix| some_markdown(text.map(String::as_str), prefix, 3);
                let mut path = self.in_order(self.investigation.path(&node.id).iter().map(|node| &node.id));
                path.pop();
                Some(NodeView {
                    parent: path.last().cloned(),
                    path,
                    children: self.in_order(self.investigation.children(&node.id).map(|child| &child.id)),
                    previous: neighbour(at.checked_sub(1)),
                    next: neighbour(at.checked_add(1)),
                    agent: classification.and_then(|c| c.agent_id.clone()),
                    proposed_at: Time::of(node.proposed_at),
                    committed_at: classification.map(|c| Time::of(c.committed_at)),
                    committed_as: classification
                        .filter(|c| &c.state != c.current_state())
                        .map(|c| self.state(&c.state)),
                    converted: self.conversion(node),
                    planned_action: text(Some(&node.planned_action), "plan"),
                    findings: text(classification.map(|c| &c.findings), "findings"),
                    evidence: text(classification.and_then(|c| c.evidence.as_ref()), "evidence"),
                    verification_method: text(
                        classification.and_then(|c| c.verification_method.as_ref()),
                        "verification",
                    ),
                    alternatives: classification
                        .map_or_else(Vec::new, |c| list(&c.alternatives_considered, "alternative")),
                    warnings: self.warnings_of(node),
                    reclassified: self.changes_of(node),
                    verified_by: if card.verified == Some(true) {
                        self.in_order(&self.verified_by(node))
                    } else {
                        Vec::new()
                    },
                    owes: self.open_end(node),
                    references: self
                        .cited
                        .get(&node.id)
                        .into_iter()
                        .flatten()
                        .filter_map(|at| references.get(*at))
                        .map(|reference| NodeReference {
                            target: reference.target.clone(),
                            is_url: reference.is_url,
                            title: reference.title.clone().filter(|title| *title != reference.target),
                            lines: reference.lines_of(&node.id).to_vec(),
                            others: reference.cited_by.len().saturating_sub(1),
                        })
                        .collect(),
                    commits: history.of_node(&node.id),
                    file: layout::node(&node.id),
                    card,
                })
            })
            .collect()
    }

    fn conversion(&self, node: &Node) -> Option<Conversion> {
        let classification = node.classification.as_ref()?;
        Some(Conversion {
            card: self.card(node)?,
            requested: self.state(classification.requested_state.as_ref()?),
            stored: self.state(&classification.state),
        })
    }

    fn conversions(&self) -> Vec<Conversion> {
        self.investigation.committed().filter_map(|(node, _)| self.conversion(node)).collect()
    }

    fn changes(&self) -> Vec<Change> {
        self.investigation.committed().flat_map(|(node, _)| self.changes_of(node)).collect()
    }

    fn changes_of(&self, node: &Node) -> Vec<Change> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let change = |(at, change): (usize, &Reclassification)| {
            let (agent, child) = match &change.by {
                Author::Agent(agent) => (Some(agent.clone()), None),
                Author::Child(child) => (None, Some(child)),
                Author::Unknown => (None, None),
            };
            let text =
                |text: &Option<String>, what| some_markdown(text.as_deref(), &format!("{what}-{at}"), 4);
            Change {
                card: card.clone(),
                from: self.state(&change.from),
                to: self.state(&change.to),
                at: Time::of(change.at),
                agent,
                child: child.and_then(|child| self.get(child).cloned()),
                child_id: child.map(ToString::to_string),
                reason: change.reason.clone().filter(|reason| !reason.trim().is_empty()),
                evidence: text(&change.evidence, "change-evidence"),
                verification_method: text(&change.verification_method, "change-verification"),
                alternatives: list(&change.alternatives_considered, &format!("change-{at}-alternative")),
            }
        };
        classification.reclassified.iter().enumerate().map(change).collect()
    }

    fn rules(&self, terms: Terms<'_>, text: &str) -> Rules {
        let ruleset = terms.ruleset();
        let counts = self.state_counts();
        let mode = ruleset.mode(&self.investigation.meta().mode);
        Rules {
            name: ruleset.name.clone(),
            summary: ruleset.summary.clone(),
            advice: some_markdown(ruleset.advice.as_deref(), "advice", 3),
            mode_meaning: mode.map(|mode| mode.meaning.clone()),
            states: ruleset
                .states
                .iter()
                .zip(counts)
                .map(|(state, count)| StateRule {
                    state: count.state,
                    count: count.count,
                    terminal: state.terminal,
                    owes: owes(terms, state),
                    child_states: state.child_states.as_ref().map(terms::list),
                    first_round: terms.first_round(&state.name),
                    evidence: terms.evidence(&state.name),
                })
                .collect(),
            early: early(ruleset, self.investigation.meta().allow_early_terminal),
            end: end(terms),
            checks: checks(terms),
            text: text.to_owned(),
        }
    }
}

fn header(input: &Input, overview: &Overview) -> Header {
    let snapshot = &input.snapshot;
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let conclusion = investigation.conclusion();
    let head = snapshot.head.to_string();
    let terms = snapshot.ruleset.as_ref().ok().map(|file| Terms::new(&file.ruleset, meta));
    let at_odds = terms.map(|terms| standing::at_odds(investigation, &terms)).unwrap_or_default();
    Header {
        id: meta.id.to_string(),
        title: meta.title.clone(),
        query: meta.query.clone(),
        query_excerpt: markdown::excerpt(&meta.query, CARD_EXCERPT),
        query_is_long: meta.query.chars().nth(SHORT_QUERY).is_some(),
        ended: conclusion.is_some(),
        started_at: Time::of(meta.started_at),
        ended_at: conclusion.map(|end| Time::of(end.ended_at)),
        ended_by: conclusion.and_then(|end| end.agent_id.clone()),
        ruleset: meta.ruleset.clone(),
        mode: meta.mode.clone(),
        rounds: if investigation.committed().next().is_none() { 0 } else { investigation.current_round() },
        committed: investigation.committed().count(),
        pending: overview.pending.len(),
        answers: overview.solutions.len(),
        verified: overview.solutions.iter().filter(|solution| solution.verified).count(),
        ruled_out: overview.dead_ends.len(),
        open_ends: overview.open_ends.len(),
        head_short: head.chars().take(history::SHORT).collect(),
        head,
        faults: snapshot
            .ruleset
            .as_ref()
            .err()
            .into_iter()
            .chain(&snapshot.faults)
            .map(ToString::to_string)
            .chain(at_odds.iter().map(ToString::to_string))
            .collect(),
        has_rules: snapshot.ruleset.is_ok(),
    }
}

/// The path of each node's page. On a disk that ignores letter case no page may take another's place.
fn addresses(investigation: &Investigation) -> Vec<String> {
    let mut taken: HashMap<String, usize> = HashMap::new();
    investigation
        .nodes()
        .map(|node| {
            let number = taken.entry(node.id.as_str().to_ascii_lowercase()).or_default();
            *number += 1;
            match *number {
                1 => format!("nodes/{}.html", node.id),
                number => format!("nodes/{}-{number}.html", node.id),
            }
        })
        .collect()
}

fn verdict(has_rules: bool, method_verifies: bool, solutions: &[Solution], theories: usize) -> String {
    let answers = solutions.len();
    let verified = solutions.iter().filter(|solution| solution.verified).count();
    if !has_rules {
        return "The ruleset can't be read, so it is not known which nodes are answers.".to_owned();
    }
    match (answers, verified) {
        (0, _) if theories > 0 => {
            format!("No answer; {theories} {}.", plural(theories, "theory", "theories"))
        }
        (0, _) => "No answer has been found.".to_owned(),
        _ if !method_verifies => {
            format!(
                "{answers} {}. This method does not verify answers.",
                plural(answers, "answer", "answers")
            )
        }
        (1, 1) => "One answer, verified.".to_owned(),
        (1, _) => "One answer, not verified.".to_owned(),
        (_, 0) => format!("{answers} answers, none of them verified."),
        (_, verified) if verified == answers => format!("{answers} answers, all verified."),
        (_, verified) => format!("{answers} answers, {verified} of them verified."),
    }
}

fn plural<'t>(number: usize, one: &'t str, many: &'t str) -> &'t str {
    if number == 1 { one } else { many }
}

/// The evidence in short, or the findings where no evidence was given apart from them.
fn evidence_of(node: &Node) -> String {
    let Some(classification) = &node.classification else { return String::new() };
    // What a later change brought forward counts more than what the commit did.
    let later = classification.reclassified.iter().rev().find_map(|change| change.evidence.as_deref());
    let given = later.or(classification.evidence.as_deref()).filter(|text| !text.trim().is_empty());
    markdown::excerpt(given.unwrap_or(&classification.findings), CARD_EXCERPT)
}

fn list(texts: &[String], prefix: &str) -> Vec<SafeHtml> {
    let texts = texts.iter().filter(|text| !text.trim().is_empty()).enumerate();
    texts.map(|(at, text)| SafeHtml::markdown(text, &format!("{prefix}-{at}"), 4)).collect()
}

fn some_markdown(text: Option<&str>, prefix: &str, heading_level: u8) -> Option<SafeHtml> {
    text.filter(|text| !text.trim().is_empty()).map(|text| SafeHtml::markdown(text, prefix, heading_level))
}

/// What a node in the state owes, by rounds: between the bounds of the rules nothing changes.
fn owes(terms: Terms<'_>, state: &crate::ruleset::State) -> Vec<String> {
    let mut starts: Vec<u32> = vec![1];
    for rule in &state.children {
        starts.extend(rule.from_round);
        starts.extend(rule.to_round.and_then(|last| last.checked_add(1)));
    }
    starts.sort_unstable();
    starts.dedup();
    let mut spans: Vec<(u32, _)> =
        starts.into_iter().map(|start| (start, terms.owed(&state.name, start))).collect();
    spans.dedup_by(|later, earlier| later.1 == earlier.1);
    let number = spans.len();
    let ends: Vec<Option<u32>> =
        spans.iter().skip(1).map(|(start, _)| Some(start - 1)).chain([None]).collect();
    spans
        .into_iter()
        .zip(ends)
        .filter_map(|((start, owed), end)| {
            let (min, of) = owed?;
            let what = format!("at least {}", terms::children(min, of));
            Some(match end {
                _ if number == 1 => what,
                end => format!("{what} {}", in_rounds(start, end)),
            })
        })
        .collect()
}

/// `in round 3`, `in rounds 1 and 2`, `in rounds 1 to 4`, `from round 4`.
fn in_rounds(first: u32, last: Option<u32>) -> String {
    match last {
        None => format!("from round {first}"),
        Some(last) if last == first => format!("in round {first}"),
        Some(last) if last.checked_sub(1) == Some(first) => format!("in rounds {first} and {last}"),
        Some(last) => format!("in rounds {first} to {last}"),
    }
}

fn early(ruleset: &Ruleset, allowed: bool) -> Vec<String> {
    ruleset
        .early_states
        .iter()
        .filter(|rule| !(allowed && rule.store_as.is_some()))
        .map(|rule| {
            let last = Some(rule.to_round).filter(|last| *last < LAST_ROUND);
            let rounds = in_rounds(rule.from_round.unwrap_or(1), last);
            let states = terms::list(&rule.states);
            let is = if rule.states.len() == 1 { "is" } else { "are" };
            match &rule.store_as {
                Some(state) => format!("{states} {is} stored as {state} {rounds}."),
                None => format!("{states} {is} refused {rounds}."),
            }
        })
        .collect()
}

fn end(terms: Terms<'_>) -> Vec<String> {
    let end = &terms.ruleset().end;
    let mut sentences = vec![
        format!("Round {} is reached.", terms.min_rounds()),
        "Every open node has the children it needs, and no proposal is pending.".to_owned(),
    ];
    sentences
        .extend(terms.min_depth().map(|depth| format!("The deepest node is in round {depth} or later.")));
    sentences.extend(
        end.min_quality_percent
            .map(|percent| format!("The quality is at least {:.2}.", f64::from(percent) / 100.0)),
    );
    for confirmation in &terms.ruleset().confirmations {
        sentences.push(format!("No node is left in {}.", confirmation.state));
    }
    sentences
}

fn checks(terms: Terms<'_>) -> Vec<String> {
    let ruleset = terms.ruleset();
    let mut sentences = Vec::new();
    let roots = &ruleset.roots;
    match (terms.min_roots(), roots.max) {
        (1, Some(1)) => sentences.push("There is one root.".to_owned()),
        (min, Some(max)) => sentences.push(format!("There are {min} to {max} roots.")),
        (min, None) => sentences.push(format!(
            "There {} at least {min} {}.",
            if min == 1 { "is" } else { "are" },
            plural(min as usize, "root", "roots")
        )),
    }
    sentences.extend(
        terms.breadth().map(|(round, nodes)| format!("Round {round} should have {nodes} nodes or more.")),
    );
    sentences.extend(ruleset.batch_limit.map(|limit| format!("At most {limit} nodes are proposed at once.")));
    if let Some(evidence) = &ruleset.evidence {
        let states = terms::list(&evidence.states);
        sentences.push(format!("{states} need evidence of {} characters or more.", evidence.min_characters));
    }
    if let Some(ratio) = &ruleset.terminal_ratio {
        for limit in &ratio.limits {
            let rounds = in_rounds(limit.from_round.unwrap_or(1), limit.to_round);
            sentences.push(format!("Of one commit, at most {} % may be closed {rounds}.", limit.max_percent));
        }
    }
    for confirmation in &ruleset.confirmations {
        for outcome in &confirmation.outcomes {
            sentences.push(format!(
                "A child in {} makes {} {}.",
                outcome.child, confirmation.state, outcome.becomes
            ));
        }
    }
    let checks = &ruleset.checks;
    let seconds = format!("A commit less than {} s after its proposal", checks.min_research_seconds);
    for (what, severity) in [
        (seconds.as_str(), checks.suspicious),
        ("A commit without an agent's id", checks.missing_agent),
        ("An agent's id on a second node", checks.reused_agent),
        ("What looks like a credential", checks.secret_suspected),
    ] {
        match severity {
            Severity::Off => {}
            Severity::Warn => sentences.push(format!("{what} is warned of.")),
            Severity::Reject => sentences.push(format!("{what} is refused.")),
        }
    }
    sentences
}
