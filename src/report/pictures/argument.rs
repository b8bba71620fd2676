//! The picture of an answer and its reasons: which boxes and lines it has. There are few of both, so that it can be read on a
//! sheet, and is placed in no time; what is left out is counted.

use std::collections::HashMap;

use serde::Serialize;

use super::Drawing;
use crate::assess::Assessment;
use crate::domain::NodeId;
use crate::graph::{ReasonBox, ReasonKind, ReasonLine, Reasons, SvgOptions, reasons};
use crate::report::model::{Argument, Card, Header, Voice};
use crate::report::templates::SafeHtml;
use crate::text::{counted, shorten};

/// Steps that have cards: the first and the last ones.
const FIRST_STEPS: usize = 2;
const LAST_STEPS: usize = 6;
/// Cards beside each step, and beside all.
const BESIDE: usize = 2;
const ALL_BESIDE: usize = 10;
const VOICES: usize = 4;
const OBJECTIONS: usize = 3;
const CROSSING: usize = 5;
const SOURCES: usize = 3;
/// Characters of an address.
const ADDRESS: usize = 60;

/// The picture, and what its lines mean.
#[derive(Serialize)]
pub(in crate::report) struct ArgumentPicture {
    drawing: Drawing,
    legend: Vec<LegendLine>,
}

/// A kind of line that is on the picture.
#[derive(Serialize)]
pub(in crate::report) struct LegendLine {
    sign: SafeHtml,
    label: &'static str,
}

/// All kinds, in the order of a legend.
const KINDS: [(ReasonKind, &str); 8] = [
    (ReasonKind::Way(true), "the way to a confirmed answer"),
    (ReasonKind::Way(false), "the way to an answer in doubt"),
    (ReasonKind::Confirms, "confirms it"),
    (ReasonKind::Checks, "would confirm it: by its author, or does not count"),
    (ReasonKind::Refutes, "speaks against it"),
    (ReasonKind::RuledOut, "ruled out"),
    (ReasonKind::Names, "has to do with another branch"),
    (ReasonKind::Cites, "rests on this source"),
];

/// The picture for the page of an answer.
pub(in crate::report) fn of_argument(
    argument: &Argument,
    header: &Header,
    assessment: &Assessment<'_>,
) -> ArgumentPicture {
    let mut sketch = Sketch { reasons: Reasons::default(), at: HashMap::new(), sources: 0 };
    sketch.way(argument, header);
    let answer = sketch.reasons.boxes.len() - 1;
    sketch.voices(&argument.confirming, argument.more_confirming, answer);
    sketch.voices(&argument.refuting, argument.more_refuting, answer);
    sketch.objections(argument);
    sketch.crossing(argument);
    sketch.sources(argument);
    sketch.sources_first();
    sketch.reasons.label = format!(
        "Picture of how {} was reached, from left to right: {}; the page says the same in words",
        argument.card.id,
        counted(argument.way.steps, "step")
    );
    let href = |id: &NodeId| sketch.href(id);
    let options = SvgOptions { href: Some(&href), ..SvgOptions::default() };
    let drawn = reasons(assessment, &sketch.reasons, &options);
    let used = |kind: ReasonKind| sketch.reasons.lines.iter().any(|line| line.kind == kind);
    let legend = KINDS
        .into_iter()
        .filter(|(kind, _)| used(*kind))
        .map(|(kind, label)| LegendLine { sign: SafeHtml::drawing(&kind.sample()), label })
        .collect();
    ArgumentPicture { drawing: Drawing::of(&drawn, sketch.at.len(), 0), legend }
}

/// The picture as it grows.
struct Sketch<'a> {
    reasons: Reasons,
    /// The boxes of nodes, with their addresses.
    at: HashMap<&'a NodeId, (usize, &'a str)>,
    /// How many boxes of sources there are, at the end.
    sources: usize,
}

impl<'a> Sketch<'a> {
    fn href(&self, id: &NodeId) -> String {
        self.at.get(id).map(|(_, href)| format!("../{href}")).unwrap_or_default()
    }

    /// A node's box, which is made where it has none.
    fn card(&mut self, card: &'a Card, on_path: bool) -> usize {
        if let Some((at, _)) = self.at.get(&card.id) {
            return *at;
        }
        let at = self.reasons.boxes.len();
        self.reasons.boxes.push(ReasonBox::Node(card.id.clone(), on_path));
        self.at.insert(&card.id, (at, &card.href));
        at
    }

    fn note(&mut self, class: &'static str, head: String, text: String, href: Option<String>) -> usize {
        self.reasons.boxes.push(ReasonBox::Note { class, head, text, href });
        self.reasons.boxes.len() - 1
    }

    fn rest(&mut self, more: usize, what: &str, from: usize, kind: ReasonKind) {
        if more > 0 {
            let rest = self.note("rest", format!("+{more} more {what}"), String::new(), None);
            self.line(from, rest, kind, String::new());
        }
    }

    fn line(&mut self, from: usize, to: usize, kind: ReasonKind, label: String) {
        self.reasons.lines.push(ReasonLine { from, to, kind, label });
    }

    /// The question, the steps, and what was ruled out beside each.
    fn way(&mut self, argument: &'a Argument, header: &Header) {
        let is_confirmed = argument.card.sure.is_some_and(|verdict| verdict.is_confirmed());
        let kind = ReasonKind::Way(is_confirmed);
        let mut last = self.note(
            "question",
            "The question".to_owned(),
            header.title.clone(),
            Some("../index.html".to_owned()),
        );
        let mut room = ALL_BESIDE;
        let steps = argument.way.steps;
        let folded = steps.saturating_sub(FIRST_STEPS + LAST_STEPS);
        let is_shown = |number: usize| folded == 0 || number <= FIRST_STEPS || number > FIRST_STEPS + folded;
        for step in argument.steps.iter().filter(|step| is_shown(step.number)) {
            if folded > 0 && step.number == FIRST_STEPS + folded + 1 {
                let rest =
                    self.note("rest", format!("+{} more", counted(folded, "step")), String::new(), None);
                self.line(last, rest, kind, String::new());
                last = rest;
            }
            let shown = step.beside.len().min(BESIDE).min(room);
            room -= shown;
            for it in &step.beside[..shown] {
                let at = self.card(&it.card, false);
                self.line(last, at, ReasonKind::RuledOut, format!("{} was ruled out", it.card.id));
            }
            self.rest(step.beside.len() - shown + step.more_beside, "ruled out", last, ReasonKind::RuledOut);
            let at = self.card(&step.card, is_confirmed);
            self.line(last, at, kind, format!("Step {}: {}", step.number, step.card.id));
            last = at;
        }
    }

    /// What confirms or refutes the answer.
    fn voices(&mut self, voices: &'a [Voice], more: usize, answer: usize) {
        for voice in voices.iter().take(VOICES) {
            let (kind, what) = match voice.sure {
                Some(sure) if sure.is_confirmed() => (ReasonKind::Confirms, "confirms it"),
                Some(sure) if sure.is_checked() => (ReasonKind::Checks, "confirms it, by its author"),
                Some(_) => (ReasonKind::Checks, "would confirm it, and does not count"),
                None => (ReasonKind::Refutes, "refutes it"),
            };
            let at = self.card(&voice.card, false);
            self.line(at, answer, kind, format!("{} {what}", voice.card.id));
        }
        let (kind, what) = match voices.first() {
            Some(Voice { sure: None, .. }) => (ReasonKind::Refutes, "against it"),
            _ => (ReasonKind::Checks, "for it"),
        };
        self.rest(voices.len().saturating_sub(VOICES) + more, what, answer, kind);
    }

    fn objections(&mut self, argument: &'a Argument) {
        for it in argument.objections.iter().take(OBJECTIONS) {
            if let Some((at, _)) = self.at.get(&it.card.id).copied() {
                let href = Some(format!("../{}", it.href));
                let note = self.note("objection", format!("! {} objects", it.by), it.text.clone(), href);
                self.line(note, at, ReasonKind::Refutes, format!("{} objects to {}", it.by, it.card.id));
            }
        }
    }

    fn crossing(&mut self, argument: &'a Argument) {
        for it in argument.crossing.iter().take(CROSSING) {
            let Some((from, _)) = self.at.get(&it.from.id).copied() else { continue };
            let to = self.card(&it.to, false);
            let label = format!("{} {} {}", it.from.id, it.what, it.to.id);
            self.line(from, to, ReasonKind::Names, label);
        }
    }

    fn sources(&mut self, argument: &'a Argument) {
        for it in argument.sources.iter().take(SOURCES) {
            let citing: Vec<usize> =
                it.here.iter().filter_map(|card| Some(self.at.get(&card.id)?.0)).collect();
            if citing.is_empty() {
                continue;
            }
            let all = it.here.len() + it.elsewhere.len() + it.more_elsewhere;
            let text = it.title.clone().unwrap_or_else(|| shorten(&it.target, ADDRESS));
            let href = Some(format!("../{}", it.href));
            let source = self.note("source", format!("Source of {}", counted(all, "node")), text, href);
            self.sources += 1;
            for at in citing {
                self.line(source, at, ReasonKind::Cites, String::new());
            }
        }
    }

    /// Puts the sources before all that rests on them, which stands right of them then.
    fn sources_first(&mut self) {
        let (all, sources) = (self.reasons.boxes.len(), self.sources);
        self.reasons.boxes.rotate_right(sources);
        for end in self.reasons.lines.iter_mut().flat_map(|line| [&mut line.from, &mut line.to]) {
            *end = (*end + sources) % all;
        }
    }
}
