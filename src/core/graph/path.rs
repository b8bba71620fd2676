//! The picture that shows how an answer was reached: a line from the question to the answer.
//!
//! Confirmations, objections and runs join the line at its end. Dead ends branch off where they were found.
//!
//! 1. [`Model::of`] decides the content: the lanes, the stops on each lane, and the twigs at each stop. Long paths are
//!    folded in the middle, and surplus twigs are only counted, so the picture's size is bounded.
//! 2. [`layout`] positions all lines and labels, from left to right for desktop windows and from top to bottom for
//!    phones.
//! 3. [`draw`] writes the markup.

mod draw;
mod layout;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::svg::Svg;
use super::text::one_line;
use super::tree::{DrawnTree, TreeItem};
use crate::assess::{Answer, Assessment, Bound, CapturedRun, RunStanding, Verdict};
use crate::domain::{BoundAs, Node, NodeId};
use crate::markdown;
use crate::ruleset::Role;
use crate::text::{counted, telling_sentence};

/// The maximum number of lanes. There is one lane for each answer in the conclusion.
const MOST_LANES: usize = 3;
/// The maximum number of stops on a lane, not counting the question. A longer lane keeps its first and last stops.
const MOST_STOPS: usize = 6;
const FIRST_STOPS: usize = 2;
const LAST_STOPS: usize = 3;
/// The target number of twigs, including those that count the omitted branches.
const MOST_TWIGS: usize = 8;
/// The minimum number of twigs per stop, if there are enough branches.
const LEAST_TWIGS: usize = 2;
/// The maximum number of confirmations that join at an answer, and the maximum number of refutations.
const MOST_VOICES: usize = 3;
/// The maximum number of nodes named in the text of a twig.
const NAMED: usize = 4;
/// The maximum number of nodes named in the tooltip of a twig.
const TOLD: usize = 12;
/// The number of characters of the findings that are searched for the first sentence.
const FINDINGS: usize = 240;
/// The maximum length of the first sentence, in bytes.
const SENTENCE: usize = 130;

/// The links of the picture.
#[derive(Clone, Copy)]
pub struct PathLinks<'a> {
    /// A function that returns the address of a node.
    pub node: &'a dyn Fn(&NodeId) -> String,
    /// The address of the question. `None` on the question's own page.
    pub question: Option<&'a str>,
}

/// The picture in two forms.
#[derive(Clone, Debug)]
pub struct PathPicture {
    /// The picture from left to right.
    pub wide: Svg,
    /// The picture from top to bottom, narrow enough for a phone.
    pub tall: Svg,
}

/// Draws the path to the answer `to`. If `to` is `None`, draws the paths to the answers in the conclusion.
///
/// If the investigation has no answer, draws the path to its newest node.
pub fn path(
    assessment: &Assessment<'_>,
    tree: &DrawnTree<'_>,
    to: Option<&NodeId>,
    links: PathLinks<'_>,
) -> PathPicture {
    let model = Model::of(assessment, tree, to, links);
    let label = model.label();
    PathPicture {
        wide: draw::svg("wide", &label, &layout::wide(&model)),
        tall: draw::svg("tall", &label, &layout::tall(&model)),
    }
}

/// The content of the picture.
#[derive(Debug, Default)]
struct Model {
    /// The lanes. The first lane begins with the question.
    lanes: Vec<Lane>,
}

/// A line from left to right.
#[derive(Debug, Default)]
struct Lane {
    /// The lane and stop where this lane branches off. `None` for the first lane.
    from: Option<(usize, usize)>,
    stops: Vec<LaneStop>,
    /// The CSS class: the class of the verdict, or `open`.
    class: &'static str,
}

impl Lane {
    fn is_dashed(&self) -> bool {
        matches!(self.class, "unconfirmed" | "open")
    }
}

/// A point on a lane.
#[derive(Debug, Default)]
struct LaneStop {
    sort: Sort,
    /// The preorder indexes of the nodes. A fold has several nodes, and the question has none.
    nodes: Vec<usize>,
    /// The finding to show.
    text: String,
    /// The verdict on the answer at the end of a lane.
    note: String,
    /// The full text, for tooltips and screen readers.
    title: String,
    href: Option<String>,
    /// The CSS class of the verdict.
    class: &'static str,
    sign: &'static str,
    joins: Vec<Twig>,
    twigs: Vec<Twig>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Step,
    Question,
    /// A stop that represents omitted steps.
    Fold,
    /// The answer at the end of a lane.
    End,
}

/// A line that joins a lane or branches off it.
#[derive(Clone, Debug, Default)]
struct Twig {
    sign: &'static str,
    class: &'static str,
    text: String,
    /// A suffix that is never truncated, such as ` (3)`.
    tail: String,
    /// The verdict on the node.
    note: String,
    title: String,
    href: Option<String>,
}

impl Twig {
    /// Creates a twig whose tooltip repeats its text.
    fn of(sign: &'static str, class: &'static str, text: String, href: Option<String>) -> Twig {
        Twig { sign, class, title: text.clone(), text, href, ..Twig::default() }
    }
}

/// The node at the end of a lane.
struct LaneEnd<'a, 'i> {
    id: &'a NodeId,
    answer: Option<&'a Answer<'i>>,
    class: &'static str,
    sign: &'static str,
    words: String,
}

/// The kind of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BranchKind {
    Answer(Verdict),
    RuledOut,
    Open,
    Exhausted,
}

impl BranchKind {
    /// Returns the sort key. The best answers come first.
    fn rank(self) -> (usize, usize) {
        match self {
            BranchKind::Answer(verdict) => (0, verdict.rank()),
            BranchKind::RuledOut => (1, 0),
            BranchKind::Open => (2, 0),
            BranchKind::Exhausted => (3, 0),
        }
    }
}

/// Nodes of one kind that branch off a stop together.
struct Branch {
    kind: BranchKind,
    /// The preorder indexes of the nodes.
    nodes: Vec<usize>,
    /// The node that represents the branch: the answer itself, the root of a subtree, or the parent of grouped leaves.
    at: usize,
}

impl Model {
    fn of(
        assessment: &Assessment<'_>,
        tree: &DrawnTree<'_>,
        to: Option<&NodeId>,
        links: PathLinks<'_>,
    ) -> Model {
        let (ends, more) = ends(assessment, tree, to);
        let model = Model::to(assessment, tree, &ends, more, links);
        match &model.lanes[..] {
            // The conclusion is not based on any node, and nothing was ruled out.
            [Lane { stops, .. }] if stops.len() == 1 && stops[0].twigs.is_empty() => {
                let newest: Vec<LaneEnd<'_, '_>> = newest(tree).into_iter().collect();
                Model::to(assessment, tree, &newest, 0, links)
            }
            _ => model,
        }
    }

    fn to(
        assessment: &Assessment<'_>,
        tree: &DrawnTree<'_>,
        ends: &[LaneEnd<'_, '_>],
        more: usize,
        links: PathLinks<'_>,
    ) -> Model {
        let ways: Vec<Vec<usize>> = ends.iter().map(|end| tree.way(end.id)).collect();
        let mut sketch = Sketch {
            assessment,
            tree,
            links,
            taken: ways.iter().flatten().copied().collect(),
            joined: BTreeSet::new(),
            model: Model::default(),
        };
        let question = sketch.question();
        sketch.model.lanes.push(Lane { stops: vec![question], class: "open", ..Lane::default() });
        for (end, way) in ends.iter().zip(&ways) {
            sketch.lane(end, way);
        }
        sketch.branch_off();
        if more > 0 {
            let text = format!("{} of the conclusion", counted(more, "more part"));
            sketch.model.lanes[0].stops[0].twigs.push(Twig::of("+", "quiet", text, None));
        }
        sketch.model
    }

    /// Returns the description for screen readers.
    fn label(&self) -> String {
        let ends = self.lanes.iter().flat_map(|lane| &lane.stops).filter(|stop| stop.sort == Sort::End);
        let ends: Vec<String> = ends.map(|stop| stop.text.clone()).collect();
        match ends.as_slice() {
            [] => "The question and the branches explored. No answer was reached".to_owned(),
            ends => format!("The path from the question to: {}", ends.join("; and to: ")),
        }
    }
}

/// Returns the ends of the lanes, and the number of omitted ends.
fn ends<'a, 'i>(
    assessment: &'a Assessment<'i>,
    tree: &DrawnTree<'i>,
    to: Option<&'a NodeId>,
) -> (Vec<LaneEnd<'a, 'i>>, usize) {
    let of = |id: &'a NodeId, answer: Option<&'a Answer<'i>>| {
        let bound = Bound { id, role: BoundAs::Main, answer };
        let (verdict, words) = (bound.verdict(), bound.words().into_owned());
        LaneEnd { id, answer, class: verdict.class(), sign: verdict.sign(), words }
    };
    if let Some(id) = to {
        return (vec![of(id, assessment.answer(id))], 0);
    }
    let is_there = |bound: &Bound<'a, 'i>| assessment.investigation.node(bound.id).is_some();
    let mut seen = BTreeSet::new();
    let own = assessment.bound().filter(|bound| bound.role != BoundAs::Rival).filter(is_there);
    let own = own.filter(|bound| seen.insert(bound.id));
    let mut ends: Vec<LaneEnd<'a, 'i>> = own.map(|bound| of(bound.id, bound.answer)).collect();
    if ends.is_empty() && assessment.end().is_none() {
        match assessment.first() {
            Some(first) => ends.push(of(&first.node.id, Some(first))),
            None => ends.extend(newest(tree)),
        }
    }
    let more = ends.len().saturating_sub(MOST_LANES);
    ends.truncate(MOST_LANES);
    (ends, more)
}

/// Returns the newest proposal or, if there are no proposals, the most recently researched node.
fn newest<'a, 'i>(tree: &DrawnTree<'i>) -> Option<LaneEnd<'a, 'i>>
where
    'i: 'a,
{
    let nodes = tree.items.iter().map(|item| item.node);
    let newest = nodes.max_by_key(|node| (node.is_pending(), node.last_research(), Reverse(&node.id)))?;
    let (sign, words) = match newest.is_pending() {
        true => ("○", "proposed, not yet looked at"),
        false => ("●", "looked at last"),
    };
    Some(LaneEnd { id: &newest.id, answer: None, class: "open", sign, words: words.to_owned() })
}

/// A model under construction.
struct Sketch<'a, 'i> {
    assessment: &'a Assessment<'i>,
    tree: &'a DrawnTree<'i>,
    links: PathLinks<'a>,
    /// The nodes on the lanes.
    taken: HashSet<usize>,
    /// The nodes that join the lanes.
    joined: BTreeSet<NodeId>,
    model: Model,
}

impl<'i> Sketch<'_, 'i> {
    fn node(&self, at: usize) -> &'i Node {
        self.tree.items[at].node
    }

    fn question(&self) -> LaneStop {
        let meta = self.assessment.investigation.meta();
        LaneStop {
            sort: Sort::Question,
            text: "Question".to_owned(),
            title: format!("The question: {}", one_line(&meta.title)),
            href: self.links.question.map(str::to_owned),
            ..LaneStop::default()
        }
    }

    /// Adds a lane that leads to an answer. The lane branches off the last stop that it shares with an earlier lane.
    fn lane(&mut self, end: &LaneEnd<'_, '_>, way: &[usize]) {
        self.joined.extend(end.answer.into_iter().flat_map(|answer| {
            answer.confirming.iter().map(|it| &it.node).chain(&answer.refuted_by).cloned()
        }));
        let mut best = (0, (0, 0));
        for (lane, Lane { stops, .. }) in self.model.lanes.iter().enumerate() {
            for (stop, LaneStop { nodes, .. }) in stops.iter().enumerate() {
                let at = |node: &usize| way.iter().position(|at| at == node).map_or(0, |at| at + 1);
                let shared = if let [node] = &nodes[..] { at(node) } else { 0 };
                best = best.max((shared, (lane, stop)));
            }
        }
        let (shared, from) = best;
        if shared == way.len() {
            // This answer is on the path to another answer.
            let end = self.end(end, way);
            let stop = &mut self.model.lanes[from.0].stops[from.1];
            if stop.sort == Sort::Step {
                let nodes = std::mem::take(&mut stop.nodes);
                *stop = LaneStop { sort: Sort::Step, nodes, twigs: end.joins, joins: Vec::new(), ..end };
            }
            return;
        }
        let before = self.model.column(from);
        let mut shown: Vec<Vec<usize>> = way[shared..].iter().map(|at| vec![*at]).collect();
        if shown.len() > MOST_STOPS.saturating_sub(before).max(LAST_STOPS + 1) {
            let first = FIRST_STOPS.saturating_sub(before);
            let folded = shown.drain(first..shown.len() - LAST_STOPS).flatten().collect();
            shown.insert(first, folded);
        }
        let last = shown.len() - 1;
        let stop = |(at, nodes): (usize, Vec<usize>)| {
            let stop = match nodes[..] {
                [_] if at == last => self.end(end, way),
                [node] => self.step(node),
                _ => self.fold(&nodes),
            };
            LaneStop { nodes, ..stop }
        };
        let mut stops: Vec<LaneStop> = shown.into_iter().enumerate().map(stop).collect();
        if self.model.lanes[0].stops.len() == 1 {
            // The question is the first stop of the first lane.
            let lane = &mut self.model.lanes[0];
            lane.stops.append(&mut stops);
            lane.class = end.class;
        } else {
            self.model.lanes.push(Lane { from: Some(from), stops, class: end.class });
        }
    }

    fn step(&self, at: usize) -> LaneStop {
        let node = self.node(at);
        LaneStop {
            text: found(node),
            title: self.title(at),
            href: Some((self.links.node)(&node.id)),
            ..LaneStop::default()
        }
    }

    fn fold(&self, nodes: &[usize]) -> LaneStop {
        let text = format!("{} more steps", nodes.len());
        let ends = nodes.first().zip(nodes.last());
        let span = ends.map(|(first, last)| format!(", {} to {}", self.node(*first).id, self.node(*last).id));
        let title = format!("{text}{}", span.unwrap_or_default());
        let href = nodes.first().map(|first| (self.links.node)(&self.node(*first).id));
        LaneStop { sort: Sort::Fold, text, title, href, ..LaneStop::default() }
    }

    /// Returns the stop for an answer, with the lines that join there.
    fn end(&self, end: &LaneEnd<'_, '_>, way: &[usize]) -> LaneStop {
        let Some(at) = way.last() else { return LaneStop::default() };
        let joins = end.answer.map_or_else(Vec::new, |answer| self.joins(answer));
        LaneStop {
            sort: Sort::End,
            note: format!("{} {}", end.sign, one_line(&end.words)),
            title: format!("{}: {}, {}", self.node(*at).id, found(self.node(*at)), one_line(&end.words)),
            class: end.class,
            sign: end.sign,
            joins,
            ..self.step(*at)
        }
    }

    /// Returns the full text of a node for tooltips.
    fn title(&self, at: usize) -> String {
        let item: &TreeItem<'_> = &self.tree.items[at];
        format!("{}: {}", item.in_words(), found(item.node))
    }

    /// Returns the twigs for the confirmations, refutations, objections and runs of an answer.
    fn joins(&self, answer: &Answer<'_>) -> Vec<Twig> {
        let investigation = self.assessment.investigation;
        let mut joins = Vec::new();
        let href = |id: &NodeId| Some((self.links.node)(id));
        let own = href(&answer.node.id);
        let voice = |id: &NodeId, verdict: Verdict, what: &str| {
            let text = investigation.node(id).map_or_else(String::new, |node| found(node));
            let title = format!("{id} {what}: {text}");
            Twig {
                sign: verdict.sign(),
                class: verdict.class(),
                text,
                title,
                href: href(id),
                ..Twig::default()
            }
        };
        let rest = |number: usize, what: &str, class: &'static str, joins: &mut Vec<Twig>| {
            if let Some(more @ 1..) = number.checked_sub(MOST_VOICES) {
                let text = format!("{more} more {what}");
                joins.push(Twig::of("+", class, text, own.clone()));
            }
        };
        for id in answer.refuted_by.iter().take(MOST_VOICES) {
            joins.push(voice(id, Verdict::Refuted, "refutes it"));
        }
        rest(answer.refuted_by.len(), "against it", Verdict::Refuted.class(), &mut joins);
        for by in answer.confirming.iter().take(MOST_VOICES) {
            let verdict = by.verdict();
            joins.push(voice(&by.node, verdict, &format!("looked at it, {}", verdict.label())));
        }
        rest(answer.confirming.len(), "looked at it", "quiet", &mut joins);
        let contested =
            |text: String| Twig::of(Verdict::Contested.sign(), Verdict::Contested.class(), text, own.clone());
        match answer.against.len() {
            0 => {}
            1 => joins.push(contested("1 objection is open".to_owned())),
            open => joins.push(contested(format!("{open} objections are open"))),
        }
        if !answer.differing.is_empty() {
            joins.push(contested("Results differ, and nobody has decided".to_owned()));
        }
        let runs: Vec<&CapturedRun<'_>> = self.assessment.evidence(answer).collect();
        let repeated = RunStanding::ALL.into_iter().filter(|it| *it != RunStanding::NeverRepeated);
        for standing in repeated {
            let same: Vec<&&CapturedRun<'_>> = runs.iter().filter(|run| run.standing() == standing).collect();
            if same.is_empty() {
                continue;
            }
            let text = format!("{}, {}", counted(same.len(), "command"), standing.label());
            let commands: Vec<String> = same.iter().take(NAMED).map(|run| run.command()).collect();
            let title = format!("{text}: {}", commands.join("; "));
            let (sign, class) = match standing.class() {
                "same" => ("✓", "confirmed"),
                "differs" => ("!", "contested"),
                _ => ("!", "unconfirmed"),
            };
            joins.push(Twig { sign, class, text, title, href: own.clone(), ..Twig::default() });
        }
        joins
    }

    /// Returns the kind of a node that is not on a lane. Returns `None` if the node is not shown as a branch.
    fn kind(&self, at: usize) -> Option<BranchKind> {
        let item = &self.tree.items[at];
        if self.taken.contains(&at) || self.joined.contains(&item.node.id) {
            return None;
        }
        match item.verdict {
            Some(Verdict::Refuted) => return Some(BranchKind::RuledOut),
            Some(verdict) => return Some(BranchKind::Answer(verdict)),
            None => {}
        }
        let dead_end = item.node.state().zip(self.assessment.rules);
        if dead_end.is_some_and(|(state, rules)| rules.is_dead_end(state)) {
            return Some(BranchKind::RuledOut);
        }
        match item.role {
            Some(Role::Exhausted) => Some(BranchKind::Exhausted),
            None | Some(Role::Theory | Role::AwaitingConfirmation) => Some(BranchKind::Open),
            Some(_) => None,
        }
    }

    /// Adds branches to each stop, up to a limit. Alternates between the kinds and prefers larger branches. The
    /// remaining branches are only counted.
    fn branch_off(&mut self) {
        let lanes = self.model.lanes.iter().enumerate();
        let stops =
            lanes.flat_map(|(lane, it)| it.stops.iter().enumerate().map(move |(at, it)| ((lane, at), it)));
        let mut all: Vec<((usize, usize), Vec<Branch>)> =
            stops.map(|(place, stop)| (place, self.branches(&stop.nodes))).collect();
        // Stops close to an answer come first.
        all.reverse();
        let counts: Vec<usize> = all.iter().map(|(_, branches)| branches.len()).collect();
        let rows = |shares: &[usize]| {
            shares.iter().zip(&counts).map(|(share, count)| share + usize::from(share < count)).sum::<usize>()
        };
        let shares = (LEAST_TWIGS..=MOST_TWIGS).rev().map(|room| shares(&counts, room));
        let shares = shares.min_by_key(|shares| rows(shares).saturating_sub(MOST_TWIGS)).unwrap_or_default();
        for (((lane, stop), mut branches), share) in all.into_iter().zip(shares) {
            branches.sort_by_key(|it| (it.kind.rank(), Reverse(it.nodes.len()), it.at));
            // Take one branch of each kind in turn.
            let mut of_kind: HashMap<usize, usize> = HashMap::new();
            branches.sort_by_cached_key(|it| {
                let turn = of_kind.entry(it.kind.rank().0).or_default();
                *turn += 1;
                (*turn, it.kind.rank())
            });
            let rest = branches.split_off(share);
            branches.sort_by_key(|it| (it.kind.rank(), it.at));
            let rest = self.rest(&rest, share > 0);
            let twigs: Vec<Twig> = branches.iter().map(|branch| self.twig(branch)).chain(rest).collect();
            self.model.lanes[lane].stops[stop].twigs.extend(twigs);
        }
    }

    /// Returns the branches at a stop, one per subtree. Leaves below the same node are grouped, and each answer is a
    /// separate branch.
    fn branches(&self, nodes: &[usize]) -> Vec<Branch> {
        let mut roots = self.tree.children(None);
        let lone = roots.next().filter(|root| roots.next().is_none() && !self.taken.contains(root));
        // If no node below the question is on a lane, show the branches of a single root instead.
        let parents: Vec<Option<usize>> = match nodes {
            [] => vec![lone],
            nodes => nodes.iter().map(|node| Some(*node)).collect(),
        };
        let mut branches: Vec<Branch> = Vec::new();
        let mut known: HashMap<(BranchKind, usize), usize> = HashMap::new();
        let mut add = |node: usize, branch: usize| {
            let Some(kind) = self.kind(node) else { return };
            let at = match (kind, nodes) {
                (BranchKind::Answer(_), _) => node,
                (_, [first, _, ..]) => *first,
                _ => branch,
            };
            let place = *known.entry((kind, at)).or_insert(branches.len());
            match branches.get_mut(place) {
                Some(branch) => branch.nodes.push(node),
                None => branches.push(Branch { kind, nodes: vec![node], at }),
            }
        };
        lone.iter().filter(|_| nodes.is_empty()).for_each(|root| add(*root, *root));
        for parent in parents {
            for child in self.tree.children(parent).filter(|child| !self.taken.contains(child)) {
                let below = self.tree.items[child].below;
                let branch = if below == 0 { parent.unwrap_or(child) } else { child };
                (child..=child + below).for_each(|node| add(node, branch));
            }
        }
        branches
    }

    fn twig(&self, branch: &Branch) -> Twig {
        let items = || branch.nodes.iter().map(|at| &self.tree.items[*at]);
        let name = |item: &TreeItem<'_>| {
            let refuted = if item.verdict == Some(Verdict::Refuted) { " (refuted)" } else { "" };
            format!("{}{refuted}", one_line(item.node.name()))
        };
        let (sign, class, what) = match branch.kind {
            BranchKind::Answer(verdict) => (verdict.sign(), verdict.class(), "Another answer"),
            BranchKind::RuledOut => ("×", "quiet", "Ruled out"),
            BranchKind::Open => ("○", "open", "Open"),
            BranchKind::Exhausted => ("–", "quiet", "Nothing left to try"),
        };
        let mut note = "";
        let (mut text, mut tail) =
            (items().take(NAMED).map(name).collect::<Vec<_>>().join(" · "), String::new());
        match (branch.kind, branch.nodes.as_slice()) {
            (BranchKind::Answer(verdict), [only]) => {
                text = found(self.node(*only));
                note = verdict.label();
            }
            (_, [_]) => {}
            (_, nodes) => tail = format!(" ({})", nodes.len()),
        }
        let told: Vec<String> =
            items().take(TOLD).map(|item| format!("{} {}", item.node.id, name(item))).collect();
        let more = branch.nodes.len().saturating_sub(TOLD);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let at = if let [only] = branch.nodes[..] { only } else { branch.at };
        Twig {
            sign,
            class,
            text,
            title: format!(
                "{what}{tail}{}{note}: {}{more}",
                if note.is_empty() { "" } else { ", " },
                told.join("; ")
            ),
            note: note.to_owned(),
            tail,
            href: Some((self.links.node)(&self.node(at).id)),
        }
    }

    /// Returns a twig that counts the omitted branches at a stop.
    fn rest(&self, rest: &[Branch], is_more: bool) -> Option<Twig> {
        let count = |fits: fn(BranchKind) -> bool| -> usize {
            rest.iter().filter(|it| fits(it.kind)).map(|it| it.nodes.len()).sum()
        };
        let counts = [
            (count(|kind| matches!(kind, BranchKind::Answer(_))), "answer"),
            (count(|kind| kind == BranchKind::RuledOut), "ruled out"),
            (count(|kind| kind == BranchKind::Open), "open"),
            (count(|kind| kind == BranchKind::Exhausted), "exhausted"),
        ];
        let mut more = if is_more { "more " } else { "" };
        let words = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| {
            let more = std::mem::take(&mut more);
            let many = if what == "answer" && count > 1 { "s" } else { "" };
            format!("{count} {more}{what}{many}")
        });
        let text = words.collect::<Vec<_>>().join(", ");
        let at = rest.first()?.at;
        let href = Some((self.links.node)(&self.node(at).id));
        Some(Twig::of("+", "quiet", text, href))
    }
}

impl Model {
    /// Returns the number of stops up to and including this one, not counting the question.
    fn column(&self, (lane, stop): (usize, usize)) -> usize {
        let (mut lane, mut column) = (lane, stop);
        while let Some((from, at)) = self.lanes.get(lane).and_then(|lane| lane.from) {
            (lane, column) = (from, column + at + 1);
        }
        column
    }
}

/// Distributes `room` units among the claimants in turn. No claimant gets more than its count.
fn shares(counts: &[usize], room: usize) -> Vec<usize> {
    let mut shares = vec![0; counts.len()];
    let mut left = room;
    while left > 0 && shares != counts {
        for (share, _) in shares.iter_mut().zip(counts).filter(|(share, count)| **share < **count) {
            if let Some(rest) = left.checked_sub(1) {
                (*share, left) = (*share + 1, rest);
            }
        }
    }
    shares
}

/// Returns the finding of a node: its headline, the first sentence of its findings if that is short, or its title.
fn found(node: &Node) -> String {
    let result = node.classification.as_ref();
    let findings = || {
        let excerpt = markdown::excerpt(&result?.findings, FINDINGS);
        let first = telling_sentence(&excerpt);
        let is_short = first.len() <= SENTENCE && !first.is_empty() && !first.ends_with([':', '…']);
        is_short.then(|| first.to_owned())
    };
    let headline = result.and_then(|it| it.headline.clone());
    let found = headline.or_else(findings).unwrap_or_else(|| node.title.clone());
    one_line(&found).trim().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
