//! The reasons for doubt, closest to the conclusion first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};

use serde::Serialize;

use super::cards::{Card, Cards};
use super::overview::{Overview, Solution};
use crate::assess::{Verdict, differs};
use crate::domain::{Code, Conclusion, Node, NodeId};
use crate::markdown;
use crate::report::templates::SharedValue;
use crate::ruleset::effective::list;
use crate::service::project::ProjectEvidence;
use crate::text::{counted, first_sentence, one_line, sentence, shorten};

/// The maximum length of a quoted comment or reason, in characters.
const QUOTED: usize = 200;

/// The notes page.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::report) struct Doubts {
    /// The groups with at least one doubt, closest to the conclusion first.
    pub places: Vec<DoubtsByDistance>,
    pub count: usize,
    /// The doubts about the outcome and its basis that the verdict does not mention.
    #[serde(skip)]
    pub about: Vec<Doubt>,
    /// The number of other doubts by kind, most frequent first.
    #[serde(skip)]
    pub elsewhere: Vec<NoteKind>,
}

/// The number of notes of one kind.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NoteKind {
    /// The label: `Overturned during the work`, or an explanation of a warning.
    pub label: String,
    /// The warning code, if the kind is a warning.
    pub code: Option<String>,
    pub count: usize,
    /// The first group that contains this kind.
    pub place: &'static str,
}

impl Doubt {
    fn new(kind: DoubtKind, card: Option<&SharedValue<Card>>, text: impl Into<String>) -> Doubt {
        let [class, sign, label] = kind.words();
        let (label, card, text) = (label.to_owned(), card.cloned(), text.into());
        Doubt { kind, class, sign, label, card, text, code: None, href: None }
    }

    /// Returns true if the verdict on an answer already covers this doubt.
    fn is_graded(&self, is_near: bool) -> bool {
        let kinds = [DoubtKind::Unconfirmed, DoubtKind::SelfChecked, DoubtKind::Contested];
        kinds[..if is_near { 3 } else { 2 }].contains(&self.kind)
    }
}

/// The doubts at one distance from an answer.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct DoubtsByDistance {
    /// The anchor on the page: `answers`, `rests-on`, …
    pub key: &'static str,
    pub title: &'static str,
    pub doubts: Vec<Doubt>,
}

/// One reason to doubt.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Doubt {
    #[serde(skip)]
    kind: DoubtKind,
    /// The CSS class: `contested`, `unconfirmed`, …
    pub class: &'static str,
    /// The sign of the kind.
    pub sign: &'static str,
    /// The label of the kind, or the meaning of the warning code.
    pub label: String,
    /// The node, or `None` for the investigation.
    pub card: Option<SharedValue<Card>>,
    /// The text after the node name, including the leading space or colon: ` cites no source.` For the investigation, a full
    /// sentence.
    pub text: String,
    /// The warning code, if the doubt is a warning.
    pub code: Option<String>,
    /// The address of the details, relative to the investigation's folder.
    pub href: Option<String>,
}

/// The kinds of doubt, most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DoubtKind {
    Undermined,
    Contested,
    Unconfirmed,
    SelfChecked,
    Overturned,
    Warned,
    Unsourced,
    Drifted,
    Open,
    Whole,
}

impl DoubtKind {
    /// Returns the CSS class, the sign and the label.
    fn words(self) -> [&'static str; 3] {
        match self {
            DoubtKind::Undermined => ["undermined", "✗", "Rests on a refuted answer"],
            DoubtKind::Contested => ["contested", "!", "Contested"],
            DoubtKind::Unconfirmed => ["unconfirmed", "?", "Not checked"],
            DoubtKind::SelfChecked => ["self-checked", "~", "Checked only by its author"],
            DoubtKind::Overturned => ["overturned", "↺", "Overturned during the work"],
            DoubtKind::Warned => ["warned", "!", "Warning"],
            DoubtKind::Unsourced => ["unsourced", "–", "Cites no source"],
            DoubtKind::Drifted => ["drifted", "≠", "Cited file has changed"],
            DoubtKind::Open => ["open", "○", "Open or not yet explored"],
            DoubtKind::Whole => ["whole", "!", "The investigation"],
        }
    }
}

/// The groups of doubts, closest to the conclusion first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DoubtGroup {
    Whole,
    Answer,
    RestsOn,
    OtherAnswer,
    Elsewhere,
}

impl DoubtGroup {
    /// Returns the key and the title. If the conclusion names no answers, all answers count.
    fn words(self, is_bound: bool) -> (&'static str, &'static str) {
        match (self, is_bound) {
            (DoubtGroup::Whole, _) => ("whole", "The investigation"),
            (DoubtGroup::Answer, true) => ("answers", "Answers behind the conclusion"),
            (DoubtGroup::Answer, false) => ("answers", "Answers"),
            (DoubtGroup::RestsOn, true) => ("rests-on", "Basis of the conclusion"),
            (DoubtGroup::RestsOn, false) => ("rests-on", "Basis of an answer"),
            (DoubtGroup::OtherAnswer, _) => ("other-answers", "Other answers"),
            (DoubtGroup::Elsewhere, _) => ("elsewhere", "Elsewhere"),
        }
    }
}

/// The places of nodes in relation to the answers behind the conclusion.
struct Nearness {
    groups: HashMap<NodeId, DoubtGroup>,
    /// The number of steps in the tree from each node to the nearest answer.
    steps: HashMap<NodeId, usize>,
    /// True if the conclusion names its answers.
    is_bound: bool,
}

impl Cards<'_> {
    /// Returns all doubts. Without rules, no node counts as an answer, but objections and refutations are still included.
    pub(super) fn doubts(&self, overview: &Overview, evidence: &ProjectEvidence) -> Doubts {
        let mut found = Vec::new();
        self.of_the_whole(overview, &mut found);
        for objection in &self.assessment.open {
            let by = one_line(&objection.comment.author.label());
            let said = markdown::excerpt(&objection.comment.text, QUOTED);
            let card = objection.comment.node.as_ref().and_then(|id| self.get(id));
            let text = match (card, &objection.comment.node) {
                _ if objection.is_correction() => {
                    let colon = if card.is_some() { ": " } else { "" };
                    format!("{colon}{by} proposes a correction: {}", objection.comment.edits_in_short())
                }
                (Some(_), _) => format!(": {by} objects to it: “{said}”"),
                (None, None) => format!("{by} objects: “{said}”"),
                (None, Some(gone)) => format!("{by} objects to {gone}, which is missing: “{said}”"),
            };
            let href = Some(self.place(&objection.comment));
            found.push(Doubt { href, ..Doubt::new(DoubtKind::Contested, card, text) });
        }
        for run in self.assessment.runs().filter(|run| run.is_contesting()) {
            let card = run.run.node.as_ref().and_then(|id| self.get(id));
            let text = if card.is_some() { format!(": {}.", run.told()) } else { format!("{}.", run.told()) };
            found.push(Doubt::new(DoubtKind::Contested, card, text));
        }
        for (node, _) in self.investigation.committed() {
            self.of_node(node, evidence, &mut found);
        }
        for solution in &overview.solutions {
            self.of_answer(solution, &mut found);
        }
        for card in self.in_order(self.assessment.awaiting.iter().map(|node| &node.id)) {
            found.push(Doubt::new(DoubtKind::Unconfirmed, Some(&card), " awaits confirmation."));
        }
        for it in self.assessment.overturned() {
            let Some(card) = self.get(&it.node.id) else { continue };
            let by = it.change.who().map(|by| format!(", by {}", one_line(&by))).unwrap_or_default();
            let reason =
                it.change.reason.as_deref().map(|why| markdown::excerpt(why, QUOTED)).unwrap_or_default();
            let reason =
                if reason.is_empty() { ".".to_owned() } else { format!(": {}", first_sentence(&reason)) };
            let text = format!(
                " was “{}” and is now “{}”{by}{reason}",
                self.state(&it.change.from).word,
                self.state(it.now).word
            );
            found.push(Doubt::new(DoubtKind::Overturned, Some(card), text));
        }
        let is_settled = |id: &NodeId, code: &str| self.assessment.is_settled(id, &Code::parse(code));
        let warnings = self.investigation.committed().flat_map(|(node, _)| self.warnings_of(node));
        for warning in warnings.filter(|it| !is_settled(&it.card.id, &it.code)) {
            // Most messages begin with the id of the node.
            let text = match warning.message.strip_prefix(warning.card.id.as_str()) {
                Some(rest) if rest.starts_with(' ') => rest.to_owned(),
                _ => format!(": {}", warning.message),
            };
            let label = sentence(Code::parse(&warning.code).meaning()).trim_end_matches('.').to_owned();
            let doubt = Doubt::new(DoubtKind::Warned, Some(&warning.card), text);
            found.push(Doubt { label, code: Some(warning.code), ..doubt });
        }
        for end in &overview.open_ends {
            let text = format!(" is open: it needs {} and has {}.", end.needs, end.has);
            found.push(Doubt::new(DoubtKind::Open, Some(&end.card), text));
        }
        for card in self.in_order(self.investigation.pending().map(|node| &node.id)) {
            found.push(Doubt::new(DoubtKind::Open, Some(&card), " is proposed, but not yet explored."));
        }
        self.in_places(found, &overview.solutions)
    }

    fn of_the_whole(&self, overview: &Overview, found: &mut Vec<Doubt>) {
        let owed = overview.blockers.len();
        let steps = counted(owed, "required step");
        let end = self.investigation.conclusion();
        let mut tell = |text: &str| found.push(Doubt::new(DoubtKind::Whole, None, text));
        match end {
            None if owed > 0 => tell(&format!("It has not ended: {steps} left.")),
            None => tell("It has not ended."),
            Some(Conclusion { reopened: Some(reopened), .. }) => tell(&format!("{}.", reopened.line())),
            Some(end) if end.stopped.is_some() => {
                let why = end.stopped.as_ref().map_or("", |stopped| stopped.reason.label());
                tell(&format!("It was stopped early ({why}): {steps} skipped."));
            }
            Some(_) if owed > 0 => {
                tell(&format!("It has ended, but its rules are no longer met: {steps} missing."));
            }
            Some(_) => {}
        }
        if let Some(end) = end {
            if self.investigation.end().is_some() && self.investigation.end_in_force().is_none() {
                tell("Research continued after it ended.");
            }
            if end.conclusion.is_none() {
                tell("It has ended without a conclusion.");
            }
            if !end.other_conclusions.is_empty() {
                tell("It was ended several times, in different places.");
            }
        }
        if !overview.solutions.is_empty() && !self.assessment.method_confirms {
            tell("Its method does not confirm answers.");
        }
    }

    fn of_node(&self, node: &Node, evidence: &ProjectEvidence, found: &mut Vec<Doubt>) {
        let Some(card) = self.get(&node.id) else { return };
        if differs(node) {
            let text = " has results that differ, and nobody has decided between them.";
            found.push(Doubt::new(DoubtKind::Contested, Some(card), text));
        }
        for pin in node.pins() {
            if let Some(drift) = evidence.drift.get(pin).filter(|drift| drift.is_lost()) {
                let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
                let text = format!(" cites {}{lines}, which is now {}.", one_line(&pin.path), drift.as_str());
                found.push(Doubt::new(DoubtKind::Drifted, Some(card), text));
            }
        }
    }

    fn of_answer(&self, solution: &Solution, found: &mut Vec<Doubt>) {
        let card = &solution.card;
        let by = shorten(&list(solution.confirmed_by.iter().map(|by| &by.card.id)), QUOTED);
        let answer = self.assessment.answer(&card.id);
        // An objection to the answer itself is already included.
        let mut objections =
            answer.into_iter().flat_map(|answer| self.objections_to(answer)).filter_map(|comment| {
                Some((comment.node.as_ref().filter(|node| **node != card.id)?, comment.author.label()))
            });
        if let Some((node, by)) = objections.next() {
            let text = format!(" rests on {node}, to which {} objects.", one_line(&by));
            found.push(Doubt::new(DoubtKind::Contested, Some(card), text));
        }
        let mut runs = answer.into_iter().flat_map(|answer| self.assessment.differing_runs(answer));
        // A run for the answer itself is already included.
        if let Some(run) = runs.find(|run| run.run.node.as_ref() != Some(&card.id)) {
            found.push(Doubt::new(DoubtKind::Contested, Some(card), format!(" rests on {}.", run.told())));
        }
        if let Some(limited) = answer.filter(|answer| answer.weakest.is_some()) {
            let kind = match limited.verdict {
                Verdict::Undermined => DoubtKind::Undermined,
                Verdict::Contested => DoubtKind::Contested,
                _ => DoubtKind::Unconfirmed,
            };
            found.push(Doubt::new(kind, Some(card), format!(" {}.", limited.words())));
        }
        let answer = answer.filter(|_| self.assessment.method_confirms);
        match answer.map(|answer| (answer.checked(), answer.is_by_hand)) {
            Some((Verdict::NotChecked, true)) => {
                let text = " was changed by hand, and nobody has confirmed it since.";
                found.push(Doubt::new(DoubtKind::Unconfirmed, Some(card), text));
            }
            Some((Verdict::NotChecked, _)) if by.is_empty() => {
                found.push(Doubt::new(DoubtKind::Unconfirmed, Some(card), " has not been checked."));
            }
            Some((Verdict::NotChecked, _)) => {
                let text = format!(" is confirmed only by {by}, which is empty or confirms another text.");
                found.push(Doubt::new(DoubtKind::Unconfirmed, Some(card), text));
            }
            Some((Verdict::AuthorOnly, _)) => {
                let text = format!(" was checked only by its author, in {by}.");
                found.push(Doubt::new(DoubtKind::SelfChecked, Some(card), text));
            }
            _ => {}
        }
        if solution.reference_count == 0 && !solution.has_commands && !solution.is_withheld {
            found.push(Doubt::new(DoubtKind::Unsourced, Some(card), " cites no source."));
        }
    }

    fn in_places(&self, mut found: Vec<Doubt>, solutions: &[Solution]) -> Doubts {
        let Nearness { groups, steps, is_bound } = self.nearness(solutions);
        let place = |doubt: &Doubt| match &doubt.card {
            None => (DoubtGroup::Whole, 0),
            Some(card) => (
                groups.get(&card.id).copied().unwrap_or(DoubtGroup::Elsewhere),
                steps.get(&card.id).copied().unwrap_or(usize::MAX),
            ),
        };
        found.sort_by_key(|doubt| (place(doubt), doubt.kind));
        let of_group = |doubts: &[Doubt]| {
            let (key, title) = place(&doubts[0]).0.words(is_bound);
            DoubtsByDistance { key, title, doubts: doubts.to_vec() }
        };
        let places: Vec<DoubtsByDistance> =
            found.chunk_by(|one, other| place(one).0 == place(other).0).map(of_group).collect();
        let (about, elsewhere) = self.notes(&places);
        Doubts { places, count: found.len(), about, elsewhere }
    }

    /// Returns the notes about the outcome that the verdict does not cover, and the numbers of other notes by kind.
    fn notes(&self, places: &[DoubtsByDistance]) -> (Vec<Doubt>, Vec<NoteKind>) {
        let whole: HashSet<&NodeId> = self.assessment.whole_nodes().iter().map(|node| &node.id).collect();
        let (mut about, mut kinds): (Vec<Doubt>, Vec<NoteKind>) = (Vec::new(), Vec::new());
        for place in places {
            for doubt in &place.doubts {
                let Some(card) = &doubt.card else { continue };
                let is_near = whole.contains(&card.id);
                match kinds.iter_mut().find(|kind| kind.label == doubt.label) {
                    _ if doubt.is_graded(is_near) => {}
                    _ if is_near => about.push(doubt.clone()),
                    Some(kind) => kind.count += 1,
                    None => {
                        let (label, code) = (doubt.label.clone(), doubt.code.clone());
                        kinds.push(NoteKind { label, code, count: 1, place: place.key });
                    }
                }
            }
        }
        kinds.sort_by_key(|kind| Reverse(kind.count));
        (about, kinds)
    }

    fn nearness(&self, solutions: &[Solution]) -> Nearness {
        let bound: HashSet<&NodeId> = self.assessment.bound().map(|bound| bound.id).collect();
        let is_bound = solutions.iter().any(|it| bound.contains(&it.card.id));
        let (near, far): (Vec<&Solution>, Vec<&Solution>) =
            solutions.iter().partition(|it| !is_bound || bound.contains(&it.card.id));
        let mut groups: HashMap<NodeId, DoubtGroup> = HashMap::new();
        groups.extend(far.iter().map(|it| (it.card.id.clone(), DoubtGroup::OtherAnswer)));
        for answer in &near {
            let path = self.investigation.path(&answer.card.id).into_iter().map(|node| &node.id);
            let basis = path.chain(answer.confirmed_by.iter().map(|by| &by.card.id));
            groups.extend(basis.map(|id| (id.clone(), DoubtGroup::RestsOn)));
        }
        let answers: Vec<NodeId> = near.iter().map(|it| it.card.id.clone()).collect();
        groups.extend(answers.iter().map(|id| (id.clone(), DoubtGroup::Answer)));
        let mut steps: HashMap<NodeId, usize> = answers.iter().map(|id| (id.clone(), 0)).collect();
        let mut next = VecDeque::from(answers);
        while let Some(at) = next.pop_front() {
            let step = steps.get(&at).map_or(1, |steps| steps + 1);
            let parent = self.investigation.node(&at).and_then(|node| node.parent.clone());
            let children = self.investigation.children(&at).map(|child| child.id.clone());
            for beside in children.chain(parent) {
                if !steps.contains_key(&beside) {
                    steps.insert(beside.clone(), step);
                    next.push_back(beside);
                }
            }
        }
        Nearness { groups, steps, is_bound }
    }
}
