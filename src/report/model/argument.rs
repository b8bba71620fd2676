//! Answer pages: the path from the question to the answer, the nodes that confirm or refute it, and its relations to the rest
//! of the investigation.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::cards::{Card, Cards, Time};
use super::node::NodePage;
use super::references;
use crate::assess::{Answer, CapturedRun, Verdict, given_evidence, reason};
use crate::decide::references::CitedSource;
use crate::domain::{Comment, Investigation, NodeId};
use crate::markdown;
use crate::report::templates::SharedValue;
use crate::report::text_links;
use crate::report::texts::CARD_EXCERPT;
use crate::text::{one_line, shorten, telling_sentence};

/// The maximum number of answers with a page, counted in the order of the first page.
pub(super) const MOST: usize = 100;
/// The number of steps shown at the beginning of a long path.
const FIRST_STEPS: usize = 4;
/// The number of steps shown at the end of a long path.
const LAST_STEPS: usize = 20;
/// The maximum length of each list. Further entries are only counted.
const MOST_BESIDE: usize = 3;
const MOST_VOICES: usize = 12;
const MOST_CROSSING: usize = 12;
const MOST_SOURCES: usize = 8;
const MOST_CITING: usize = 6;
/// The number of ruled-out nodes to examine on each side of a step when looking for the nearest ones.
const LOOKED_AT: usize = 64;
/// The maximum length of a sentence, in characters.
const SENTENCE: usize = 140;

/// A link to an answer page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct WayLink {
    /// The address relative to the investigation's folder.
    pub href: String,
    /// The number of steps to the answer, including the answer.
    pub steps: usize,
}

/// An answer page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct AnswerPage {
    pub card: SharedValue<Card>,
    pub way: WayLink,
    /// True if the ruleset provides a way to confirm answers.
    pub method_confirms: bool,
    /// True if the answer's text is withheld from the report. Its citations are then unknown.
    pub is_withheld: bool,
    /// The path from the question. The last step is the answer.
    pub steps: Vec<PathStep>,
    /// The number of steps omitted from a long path.
    pub skipped: usize,
    /// The number of steps shown before the omitted ones.
    pub skipped_after: usize,
    /// The nodes that confirm the answer, surest first.
    pub confirming: ShortList<Voice>,
    /// The nodes that refute the answer.
    pub refuting: ShortList<Voice>,
    /// The open objections to the answer, to a step, or to a node that confirms the answer.
    pub objections: ShortList<Objecting>,
    /// Commands supporting the answer whose reruns gave different results.
    pub differing_runs: ShortList<String>,
    /// Relations between steps and nodes outside the path.
    pub crossing: ShortList<Crossing>,
    /// Sources cited both by a node on this page and by another node.
    pub sources: ShortList<SharedSource>,
    /// The contributors.
    pub hands: Vec<Hand>,
}

/// A truncated list, with the number of omitted entries.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct ShortList<T> {
    pub shown: Vec<T>,
    pub more: usize,
}

impl<T> ShortList<T> {
    fn of(mut shown: Vec<T>, most: usize) -> ShortList<T> {
        let more = shown.len().saturating_sub(most);
        shown.truncate(most);
        ShortList { shown, more }
    }
}

/// A step on the path.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct PathStep {
    pub card: SharedValue<Card>,
    /// The step number, starting at 1.
    pub number: usize,
    /// The finding in one sentence. Empty if the title already contains it.
    pub sentence: String,
    /// The evidence. Empty if the findings have no separate evidence.
    pub evidence: String,
    pub agent: Option<String>,
    pub at: Option<Time>,
    pub reference_count: usize,
    /// The number of commands run for this step.
    pub commands: usize,
    /// True if the step's results conflict and the conflict is unresolved.
    pub is_contested: bool,
    /// The number of warnings about the step's commit.
    pub warnings: usize,
    /// The ruled-out nodes on branches that leave the path here.
    pub beside: ShortList<RuledOutNode>,
}

/// A ruled-out node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct RuledOutNode {
    pub card: SharedValue<Card>,
    pub sentence: String,
}

/// A node that confirms or refutes the answer.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Voice {
    pub card: SharedValue<Card>,
    /// The verdict on a confirmation, or `None` for a refutation.
    pub sure: Option<Verdict>,
    pub agent: Option<String>,
    pub at: Option<Time>,
    pub sentence: String,
    pub evidence: String,
    /// The distance between the node and the answer, in one line. Empty for a refutation.
    pub distance: String,
    /// The caveats about a confirmation: alternatives that were not tried.
    pub caveats: Vec<String>,
}

/// An open objection.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Objecting {
    pub by: String,
    /// True if the objection was written on the command line, according to its file.
    pub is_person: bool,
    /// The node objected to.
    pub card: SharedValue<Card>,
    /// The beginning of the objection.
    pub text: String,
    pub at: Time,
    /// The address of the objection.
    pub href: String,
}

/// The relation of a step to a node outside the path.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Crossing {
    pub from: SharedValue<Card>,
    /// `names`, or a value of `LinkView::what`.
    pub what: &'static str,
    pub to: SharedValue<Card>,
}

/// A source cited by several nodes.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct SharedSource {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    /// Its address on the sources page.
    pub href: String,
    /// The nodes on this page that cite the source.
    pub here: Vec<SharedValue<Card>>,
    /// The other nodes that cite the source.
    pub elsewhere: Vec<SharedValue<Card>>,
    pub more_elsewhere: usize,
}

/// A contributor, with the nodes listed by kind of contribution.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct Hand {
    /// The name, or `None` for unnamed agents.
    pub name: Option<String>,
    pub found: Vec<SharedValue<Card>>,
    pub confirmed: Vec<SharedValue<Card>>,
    /// The nodes in which the contributor checks its own answer.
    pub checked: Vec<SharedValue<Card>>,
    pub refuted: Vec<SharedValue<Card>>,
}

/// The data shared by all answer pages. Nodes are in preorder, so the descendants of a node follow it.
struct ArgumentReader<'r> {
    nodes: &'r [NodePage],
    at: HashMap<&'r NodeId, usize>,
    /// The index of each node by its shown id and by its whole id.
    named: HashMap<&'r str, usize>,
    /// The index after the last descendant of each node.
    end: Vec<usize>,
    /// The ruled-out and refuted nodes, in preorder.
    ruled_out: Vec<usize>,
    investigation: &'r Investigation,
}

impl<'r> ArgumentReader<'r> {
    fn new(cards: &Cards<'r>, nodes: &'r [NodePage]) -> ArgumentReader<'r> {
        let mut end = vec![nodes.len(); nodes.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            while let Some(last) = open.pop_if(|last| nodes[*last].path.len() >= node.path.len()) {
                end[last] = at;
            }
            open.push(at);
        }
        let ruled_out: HashSet<&NodeId> = cards.assessment.ruled_out().map(|node| &node.id).collect();
        let is_ruled_out = |node: &NodePage| {
            let node = cards.investigation.committed_node(&node.card.id);
            // Refuting nodes are shown with the answer they refute.
            node.is_some_and(|node| ruled_out.contains(&node.id) || cards.assessment.is_refuted(&node.id))
        };
        ArgumentReader {
            nodes,
            at: nodes.iter().enumerate().map(|(at, node)| (&node.card.id, at)).collect(),
            named: nodes
                .iter()
                .enumerate()
                .flat_map(|(at, node)| node.card.id.names().map(|name| (name, at)))
                .collect(),
            end,
            ruled_out: (0..nodes.len()).filter(|at| is_ruled_out(&nodes[*at])).collect(),
            investigation: cards.investigation,
        }
    }

    fn node(&self, id: &NodeId) -> Option<&'r NodePage> {
        self.nodes.get(*self.at.get(id)?)
    }

    /// Returns the ruled-out nodes on branches that leave the path at the parent of a step, nearest first, and the number of
    /// omitted nodes.
    fn beside(&self, step: usize) -> ShortList<RuledOutNode> {
        let node = &self.nodes[step];
        let above = node.parent.as_ref().and_then(|parent| self.at.get(&parent.id));
        let (from, until) = above.map_or((0, self.nodes.len()), |above| (above + 1, self.end[*above]));
        let within = |from: usize, until: usize| {
            let first = self.ruled_out.partition_point(|at| *at < from);
            &self.ruled_out[first..self.ruled_out.partition_point(|at| *at < until).max(first)]
        };
        let (before, after) = (within(from, step), within(self.end[step], until));
        let mut near: Vec<usize> =
            before.iter().take(LOOKED_AT).chain(after.iter().take(LOOKED_AT)).copied().collect();
        near.sort_by_key(|at| self.nodes[*at].path.len());
        near.truncate(MOST_BESIDE);
        let all = before.len() + after.len();
        let beside = |at: &usize| {
            let node = &self.nodes[*at];
            // The finding was wrong, so show the refutation instead.
            let sentence = match node.refuted_by.first() {
                Some(by) => sentence(by),
                None => self.investigation.node(&node.card.id).map(|node| reason(node)).unwrap_or_default(),
            };
            RuledOutNode { card: node.card.clone(), sentence }
        };
        ShortList { shown: near.iter().map(beside).collect(), more: all - near.len() }
    }
}

/// Returns the first sentence of a node's findings if it differs from the title.
fn sentence(card: &Card) -> String {
    let sentence = shorten(telling_sentence(&card.excerpt), SENTENCE);
    if sentence == card.title || card.excerpt == card.title { String::new() } else { sentence }
}

impl<'a> Cards<'a> {
    /// Returns the link to an answer's page, if the answer has one.
    pub(super) fn way(&self, card: &Card, before: usize) -> Option<WayLink> {
        let href = card.href.replacen("nodes/", "answers/", 1);
        (before < MOST).then(|| WayLink { href, steps: self.investigation.path(&card.id).len() })
    }

    /// Returns the answer pages in the order of the first page, followed by the pages for refuted answers.
    pub(super) fn arguments(&self, nodes: &[NodePage], cited: (&[CitedSource], &[usize])) -> Vec<AnswerPage> {
        let standing = self.assessment.answers.iter().filter_map(|answer| self.get(&answer.node.id));
        let refuted = self.assessment.refuted.iter().filter(|answer| answer.is_answering);
        let refuted = refuted.filter_map(|answer| self.get(&answer.node.id));
        let answers: Vec<(&SharedValue<Card>, WayLink)> = standing
            .chain(refuted)
            .enumerate()
            .filter_map(|(at, card)| Some((card, self.way(card, at)?)))
            .collect();
        if answers.is_empty() {
            return Vec::new();
        }
        let reading = ArgumentReader::new(self, nodes);
        let argument = |(card, way): (&SharedValue<Card>, WayLink)| {
            Some(self.argument(&reading, reading.node(&card.id)?, way, cited))
        };
        answers.into_iter().filter_map(argument).collect()
    }

    fn argument(
        &self,
        reading: &ArgumentReader<'_>,
        node: &NodePage,
        way: WayLink,
        cited: (&[CitedSource], &[usize]),
    ) -> AnswerPage {
        let all: Vec<&SharedValue<Card>> = node.path.iter().chain([&node.card]).collect();
        let skipped = all.len().saturating_sub(FIRST_STEPS + LAST_STEPS);
        let skipped_after = if skipped > 0 { FIRST_STEPS } else { 0 };
        let is_told =
            |number: &usize| skipped == 0 || *number < FIRST_STEPS || *number >= FIRST_STEPS + skipped;
        let steps: Vec<PathStep> = (0..all.len())
            .filter(is_told)
            .filter_map(|number| self.step(reading, *reading.at.get(&all[number].id)?, number + 1))
            .collect();
        let confirming: Vec<Voice> = node
            .confirmed_by
            .iter()
            .filter_map(|by| {
                Some(Voice {
                    sure: Some(by.sure),
                    distance: by.distance.clone(),
                    caveats: by.caveats.clone(),
                    ..self.voice(reading, &by.card)?
                })
            })
            .collect();
        let refuting: Vec<Voice> =
            node.refuted_by.iter().filter_map(|card| self.voice(reading, card)).collect();
        let shown: HashSet<&NodeId> = all
            .iter()
            .copied()
            .chain(confirming.iter().chain(&refuting).map(|voice| &voice.card))
            .map(|card| &card.id)
            .collect();
        let crossing = crossing(reading, &steps, &shown);
        let hands = hands(&steps, &confirming, &refuting);
        let (confirming, refuting) =
            (ShortList::of(confirming, MOST_VOICES), ShortList::of(refuting, MOST_VOICES));
        let voices = confirming.shown.iter().chain(&refuting.shown).map(|voice| &voice.card);
        let sources = self.shared_sources(steps.iter().map(|step| &step.card).chain(voices), cited);
        let answer = self.assessment.answer(&node.card.id);
        let objections = answer.map_or_else(Vec::new, |answer| self.objecting(answer));
        let runs = answer.into_iter().flat_map(|answer| self.assessment.differing_runs(answer));
        AnswerPage {
            card: node.card.clone(),
            way,
            method_confirms: self.assessment.method_confirms,
            is_withheld: self.withheld.contains(&node.card.id),
            objections: ShortList::of(objections, MOST_VOICES),
            differing_runs: ShortList::of(runs.map(CapturedRun::told).collect(), MOST_VOICES),
            crossing: ShortList::of(crossing, MOST_CROSSING),
            sources,
            steps,
            skipped,
            skipped_after,
            confirming,
            refuting,
            hands,
        }
    }

    fn step(&self, reading: &ArgumentReader<'_>, at: usize, number: usize) -> Option<PathStep> {
        let page = &reading.nodes[at];
        Some(PathStep {
            card: page.card.clone(),
            number,
            sentence: sentence(&page.card),
            evidence: self.evidence_of(&page.card),
            agent: page.agent.clone(),
            at: page.committed_at.clone(),
            reference_count: self.cited.get(&page.card.id).map_or(0, Vec::len),
            commands: page.commands.len(),
            is_contested: page.is_contested,
            warnings: page.warnings.len(),
            beside: reading.beside(at),
        })
    }

    fn voice(&self, reading: &ArgumentReader<'_>, card: &SharedValue<Card>) -> Option<Voice> {
        let page = reading.node(&card.id)?;
        Some(Voice {
            card: card.clone(),
            sure: None,
            agent: page.agent.clone(),
            at: page.committed_at.clone(),
            sentence: sentence(card),
            evidence: self.evidence_of(card),
            distance: String::new(),
            caveats: Vec::new(),
        })
    }

    /// Returns the evidence for a node if it differs from the title.
    fn evidence_of(&self, card: &Card) -> String {
        let node = self.investigation.node(&card.id);
        let evidence = node.and_then(|node| given_evidence(node));
        let evidence = evidence.map(|text| markdown::excerpt(text, CARD_EXCERPT)).unwrap_or_default();
        if evidence == card.title || evidence == card.excerpt { String::new() } else { evidence }
    }

    fn objecting(&self, answer: &Answer<'_>) -> Vec<Objecting> {
        let objecting = |comment: &Comment| {
            Some(Objecting {
                by: one_line(&comment.author.label()),
                is_person: comment.author.is_person(),
                card: self.get(comment.node.as_ref()?)?.clone(),
                text: markdown::excerpt(&comment.text, SENTENCE),
                at: Time::of(comment.at),
                href: self.place(comment),
            })
        };
        self.objections_to(answer).filter_map(objecting).collect()
    }

    /// Returns the sources that both the given nodes and other nodes cite.
    fn shared_sources<'c>(
        &self,
        cards: impl Iterator<Item = &'c SharedValue<Card>>,
        (references, places): (&[CitedSource], &[usize]),
    ) -> ShortList<SharedSource> {
        let mut here: HashMap<usize, Vec<SharedValue<Card>>> = HashMap::new();
        for card in cards {
            for at in self.cited.get(&card.id).into_iter().flatten() {
                here.entry(*at).or_default().push(card.clone());
            }
        }
        let mut shared: Vec<(usize, Vec<SharedValue<Card>>)> =
            here.into_iter().filter(|(at, _)| references[*at].cited_by.len() > 1).collect();
        // Sort by the number of steps that cite the source, then by the number of other nodes that cite it.
        shared.sort_by_key(|(at, here)| (Reverse((here.len(), references[*at].cited_by.len())), *at));
        let ShortList { shown, more } = ShortList::of(shared, MOST_SOURCES);
        let shown =
            shown.into_iter().map(|(at, here)| self.shared(&references[at], places[at], here)).collect();
        ShortList { shown, more }
    }

    fn shared(&self, reference: &CitedSource, place: usize, here: Vec<SharedValue<Card>>) -> SharedSource {
        let is_here = |id: &NodeId| here.iter().any(|card| card.id == *id);
        // Thousands of nodes may cite a source, so only some are examined.
        let others = reference.cited_by.iter().map(|citing| &citing.node_id).take(here.len() + MOST_CITING);
        let elsewhere: Vec<SharedValue<Card>> =
            self.in_order(others.filter(|id| !is_here(id)).take(MOST_CITING));
        SharedSource {
            target: reference.target.clone(),
            is_url: reference.is_url,
            title: reference.title.clone().filter(|title| *title != reference.target),
            href: references::href(place),
            more_elsewhere: reference.cited_by.len().saturating_sub(here.len() + elsewhere.len()),
            elsewhere,
            here,
        }
    }
}

/// Returns the relations between steps and nodes not shown on the page. Structured links come before links in text.
fn crossing(reading: &ArgumentReader<'_>, steps: &[PathStep], shown: &HashSet<&NodeId>) -> Vec<Crossing> {
    let mut crossing = Vec::new();
    let mut known: HashSet<(&NodeId, &NodeId)> = HashSet::new();
    let pages: Vec<(&PathStep, &NodePage)> =
        steps.iter().filter_map(|step| Some((step, reading.node(&step.card.id)?))).collect();
    let links = pages.iter().flat_map(|(step, page)| {
        page.links.iter().filter_map(|link| Some((*step, link.what, reading.node(&link.card.as_ref()?.id)?)))
    });
    let named = pages.iter().flat_map(|(step, page)| {
        let texts =
            page.findings.iter().chain(page.texts.iter().flat_map(|text| text.text.iter().chain(&text.list)));
        let ids = texts.flat_map(|html| text_links::nodes_in(html.as_str()));
        ids.filter_map(|id| Some((*step, "names", &reading.nodes[*reading.named.get(id)?])))
    });
    for (step, what, to) in links.chain(named) {
        if !shown.contains(&to.card.id) && known.insert((&step.card.id, &to.card.id)) {
            crossing.push(Crossing { from: step.card.clone(), what, to: to.card.clone() });
        }
    }
    crossing
}

/// Returns the contributors, ordered by their first step. Checks that do not count are excluded, since the page shows them
/// elsewhere.
fn hands(steps: &[PathStep], confirming: &[Voice], refuting: &[Voice]) -> Vec<Hand> {
    let mut hands: Vec<Hand> = Vec::new();
    let mut add = |name: &Option<String>, list: fn(&mut Hand) -> &mut Vec<SharedValue<Card>>, card| {
        let at = hands.iter().position(|hand| hand.name == *name).unwrap_or_else(|| {
            hands.push(Hand { name: name.clone(), ..Hand::default() });
            hands.len() - 1
        });
        list(&mut hands[at]).push(SharedValue::clone(card));
    };
    for step in steps {
        add(&step.agent, |hand| &mut hand.found, &step.card);
    }
    for voice in confirming {
        match voice.sure {
            Some(sure) if sure.is_confirmed() => add(&voice.agent, |hand| &mut hand.confirmed, &voice.card),
            Some(sure) if sure.is_checked() => add(&voice.agent, |hand| &mut hand.checked, &voice.card),
            _ => {}
        }
    }
    for voice in refuting {
        add(&voice.agent, |hand| &mut hand.refuted, &voice.card);
    }
    hands
}
