//! The picture of an answer and its reasons, which is no tree: one node has several reasons, and several share a source.
//!
//! 1. The caller says which boxes there are and which lines between them: few of both, see [`ranked`](super::ranked).
//! 2. [`ranked::place`] says where they stand and where lines pass between them.
//! 3. The ends of lines are spread over the sides of boxes, so that no two of them meet.
//! 4. The [`Writer`] writes the cards of nodes as in the tree, and here the other boxes and the lines.

use std::fmt::Write as _;

use super::{
    BOLD, Card, FOOT, HEAD, LEFT, LINE, MARGIN, RIGHT, SMALL_SIZE, Svg, SvgOptions, TITLE_LINES, TITLE_SIZE,
    WIDTH, Writer, open,
};
use crate::assess::Assessment;
use crate::domain::NodeId;
use crate::graph::pages::{Item, Way};
use crate::graph::place::Bounds;
use crate::graph::ranked::{self, Course, Space};
use crate::graph::text::{clamp_lines, number, one_line};
use crate::text::escape;

/// What is in the picture.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    /// What it shows, for ears.
    pub label: String,
    /// The boxes, each before what it leads to.
    pub boxes: Vec<ReasonBox>,
    /// The lines between them, as places in `boxes`.
    pub lines: Vec<ReasonLine>,
}

/// A box.
#[derive(Clone, Debug)]
pub enum ReasonBox {
    /// The card of a node, and whether it is on the way to an answer that another node confirms.
    Node(NodeId, bool),
    /// Anything else.
    Note {
        /// For the style sheet: `question`, `source`, `rest`.
        class: &'static str,
        /// What it is.
        head: String,
        /// What there is to say.
        text: String,
        /// Where it leads.
        href: Option<String>,
    },
}

/// A line between two boxes.
#[derive(Clone, Debug)]
pub struct ReasonLine {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What it says.
    pub kind: ReasonKind,
    /// The same in words, for ears and as a tooltip.
    pub label: String,
}

/// What a line says of its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonKind {
    /// The next step of the way; whether it leads to an answer that another node confirms.
    Way(bool),
    /// It confirms it.
    Confirms,
    /// It would, and does not count, or is by its author.
    Checks,
    /// It refutes it.
    Refutes,
    /// The branch was ruled out.
    RuledOut,
    /// It names it, or has to do with it.
    Names,
    /// A source of it.
    Cites,
}

/// How lines end.
enum End {
    Arrow,
    Bar,
    None,
}

impl ReasonKind {
    /// Its class, the width of its line, its dashes, and its end.
    fn look(self) -> (&'static str, &'static str, &'static str, End) {
        match self {
            ReasonKind::Way(true) => ("on-path", "3", "", End::None),
            ReasonKind::Way(false) => ("way-on", "3", "", End::None),
            ReasonKind::Confirms => ("confirms", "2", "", End::Arrow),
            ReasonKind::Checks => ("checks", "2", "6 4", End::Arrow),
            ReasonKind::Refutes => ("refutes", "2", "", End::Bar),
            ReasonKind::RuledOut => ("to-dead", "1.5", "4 3", End::None),
            ReasonKind::Names => ("names", "1.5", "7 3 1.5 3", End::Arrow),
            ReasonKind::Cites => ("cites", "1.5", "1.5 3", End::None),
        }
    }

    /// A short line of that kind, for a legend on a page.
    pub fn sample(self) -> Svg {
        let (width, height) = (30.0, 12.0);
        let mut markup = format!(
            "<svg class=\"graph-sign graph\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             aria-hidden=\"true\">"
        );
        line(&mut markup, self, "", &[(1.0, 6.0), (29.0, 6.0)]);
        markup.push_str("</svg>");
        Svg { markup, width, height }
    }
}

/// Free space between columns, and between the boxes of one.
const SPACE: Space = Space { columns: 54.0, boxes: 16.0 };
/// From end to end of lines at one side of a box, at most.
const ENDS: f64 = 11.0;
/// How much room the end of a line takes.
const HEAD_LENGTH: f64 = 7.0;

/// The picture of an answer and its reasons, from left to right.
pub fn reasons(assessment: &Assessment<'_>, reasons: &Reasons, options: &SvgOptions<'_>) -> Svg {
    let drawn: Vec<Drawn<'_>> = reasons.boxes.iter().map(|it| Drawn::new(assessment, it)).collect();
    let sizes: Vec<(f64, f64)> = drawn.iter().map(|it| (WIDTH, it.height())).collect();
    let lines: Vec<(usize, usize)> = reasons.lines.iter().map(|line| (line.from, line.to)).collect();
    let mut placed = ranked::place(&sizes, &lines, SPACE);
    spread_ends(&placed.boxes, &lines, &mut placed.lines);
    let points = || placed.lines.iter().flatten();
    let top = placed.boxes.iter().map(|it| it.y).chain(points().map(|it| it.1)).fold(0.0, f64::min);
    let foot =
        placed.boxes.iter().map(|it| it.y + it.height).chain(points().map(|it| it.1)).fold(0.0, f64::max);
    let right = placed.boxes.iter().map(|it| it.x + it.width).fold(0.0, f64::max);
    for it in &mut placed.boxes {
        *it = Bounds { x: it.x + MARGIN, y: it.y + MARGIN - top, ..*it };
    }
    for (x, y) in placed.lines.iter_mut().flatten() {
        (*x, *y) = (*x + MARGIN, *y + MARGIN - top);
    }
    let (width, height) = (right + 2.0 * MARGIN, foot - top + 2.0 * MARGIN);

    let mut writer = Writer { out: String::with_capacity(drawn.len() * 1000), options };
    open(&mut writer.out, options, &one_line(&reasons.label), width, height);
    writer.out.push_str("<g class=\"edges\" fill=\"none\" stroke=\"currentColor\">\n");
    // What matters most comes last, so that no other line lies over it.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|at| match reasons.lines[*at].kind {
        ReasonKind::Cites => 0,
        ReasonKind::Names => 1,
        ReasonKind::RuledOut => 2,
        ReasonKind::Checks | ReasonKind::Refutes => 3,
        ReasonKind::Confirms | ReasonKind::Way(_) => 4,
    });
    for at in order {
        line(&mut writer.out, reasons.lines[at].kind, &reasons.lines[at].label, &placed.lines[at]);
    }
    writer.out.push_str("</g>\n<g class=\"cards\">\n");
    for (it, place) in drawn.iter().zip(&placed.boxes) {
        match it {
            Drawn::Card(card) => writer.card(card, *place),
            Drawn::Note(note) => note.write(&mut writer.out, *place),
        }
    }
    writer.out.push_str("</g>\n</svg>\n");
    Svg { markup: writer.out, width: width.ceil(), height: height.ceil() }
}

/// What is drawn of a box.
enum Drawn<'i> {
    Card(Card<'i>),
    Note(Note),
}

struct Note {
    class: &'static str,
    head: String,
    lines: Vec<String>,
    full: String,
    href: Option<String>,
}

impl<'i> Drawn<'i> {
    fn new(assessment: &Assessment<'i>, given: &ReasonBox) -> Drawn<'i> {
        let (class, head, text, href) = match given {
            ReasonBox::Node(id, on_path) => match assessment.investigation.node(id) {
                Some(node) => {
                    let way = on_path.then_some(Way::Confirmed);
                    let item = Item { way, ..Item::alone(assessment, node) };
                    return Drawn::Card(Card::alone(item));
                }
                None => ("rest", "Not there", id.as_str(), &None),
            },
            ReasonBox::Note { class, head, text, href } => (*class, head.as_str(), text.as_str(), href),
        };
        let text = one_line(text);
        let inner = WIDTH - LEFT - RIGHT;
        Drawn::Note(Note {
            class,
            head: clamp_lines(&one_line(head), inner / SMALL_SIZE / BOLD, 1).join(" "),
            lines: clamp_lines(&text, inner / TITLE_SIZE, TITLE_LINES),
            full: text,
            href: href.clone(),
        })
    }

    fn height(&self) -> f64 {
        match self {
            Drawn::Card(card) => card.height(),
            Drawn::Note(note) => HEAD + LINE * note.lines.len() as f64 + FOOT,
        }
    }
}

impl Note {
    fn write(&self, out: &mut String, place: Bounds) {
        let tag = if self.href.is_some() { "a" } else { "g" };
        let _ = write!(out, "<{tag} class=\"card note-{}\"", self.class);
        if let Some(href) = &self.href {
            let _ = write!(out, " href=\"{}\"", escape(&one_line(href)));
        }
        let full =
            if self.full.is_empty() { self.head.clone() } else { format!("{}: {}", self.head, self.full) };
        let _ = write!(
            out,
            "><title>{}</title><rect class=\"card-box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"14\" fill=\"none\" \
             stroke=\"currentColor\"/>",
            escape(&full),
            number(place.x),
            number(place.y),
            number(place.width),
            number(place.height)
        );
        let left = number(place.x + LEFT);
        let _ = write!(
            out,
            "<text class=\"card-note\" x=\"{left}\" y=\"{}\" font-size=\"{}\" font-weight=\"600\">{}</text>",
            number(place.y + HEAD),
            number(SMALL_SIZE),
            escape(&self.head)
        );
        for (at, text) in self.lines.iter().enumerate() {
            let y = number(place.y + HEAD + LINE * (at + 1) as f64);
            let _ = write!(out, "<text class=\"card-title\" x=\"{left}\" y=\"{y}\">{}</text>", escape(text));
        }
        let _ = writeln!(out, "</{tag}>");
    }
}

/// Moves the ends of lines along the sides of their boxes, in the order in which the lines leave.
fn spread_ends(boxes: &[Bounds], lines: &[(usize, usize)], courses: &mut [Course]) {
    // Box, whether on its right side, the height of what the line leads to, line, and which end of it.
    let mut ends: Vec<(usize, bool, f64, usize, bool)> = Vec::new();
    for (at, ((from, to), course)) in lines.iter().zip(courses.iter()).enumerate() {
        let ([first, second, ..], [.., before, last]) = (course.as_slice(), course.as_slice()) else {
            continue;
        };
        ends.push((*from, second.0 > first.0, second.1, at, true));
        ends.push((*to, before.0 > last.0, before.1, at, false));
    }
    ends.sort_by(|one, other| {
        (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)).then(one.3.cmp(&other.3))
    });
    for side in ends.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let (it, all) = (&boxes[side[0].0], side.len() as f64);
        let apart = ENDS.min(it.height / (all + 1.0));
        for (at, (.., line, is_first)) in side.iter().enumerate() {
            let course = &mut courses[*line];
            let end = if *is_first { course.first_mut() } else { course.last_mut() };
            if let Some((_, y)) = end {
                *y = it.y + it.height / 2.0 + (at as f64 - (all - 1.0) / 2.0) * apart;
            }
        }
    }
}

/// Writes a line: curves between columns, straight where it passes one.
fn line(out: &mut String, kind: ReasonKind, label: &str, course: &[(f64, f64)]) {
    let (Some(first), Some(last)) = (course.first(), course.last()) else { return };
    let (class, width, dashes, end) = kind.look();
    let onward = if last.0 >= course[course.len() - 2].0 { 1.0 } else { -1.0 };
    let room = if matches!(end, End::None) { 0.0 } else { HEAD_LENGTH - 1.0 };
    let _ = write!(out, "<g class=\"edge {class}\">");
    if !label.is_empty() {
        let _ = write!(out, "<title>{}</title>", escape(&one_line(label)));
    }
    let _ = write!(
        out,
        "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" d=\"M{} {}",
        number(first.0),
        number(first.1)
    );
    for (at, pair) in course.windows(2).enumerate() {
        let (from, mut to) = (pair[0], pair[1]);
        if at + 2 == course.len() {
            to.0 -= onward * room;
        }
        if at % 2 == 1 || number(from.1) == number(to.1) {
            let _ = write!(out, "H{}", number(to.0));
        } else {
            let middle = number((from.0 + to.0) / 2.0);
            let (y0, x1, y1) = (number(from.1), number(to.0), number(to.1));
            let _ = write!(out, "C{middle} {y0} {middle} {y1} {x1} {y1}");
        }
    }
    out.push('"');
    if !dashes.is_empty() {
        let _ = write!(out, " stroke-dasharray=\"{dashes}\"");
    }
    out.push_str("/>");
    let (x, y) = (number(last.0), number(last.1));
    match end {
        End::None => {}
        End::Arrow => {
            let back = number(-onward * HEAD_LENGTH);
            let _ = write!(out, "<path class=\"head\" fill=\"currentColor\" d=\"M{x} {y}l{back}-4v8z\"/>");
        }
        End::Bar => {
            let x = number(last.0 - onward * (HEAD_LENGTH - 2.0));
            let y = number(last.1 - 5.5);
            let _ = write!(
                out,
                "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"3\" d=\"M{x} {y}v11\"/>"
            );
        }
    }
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::samples;
    use crate::graph::svg::tests::well_formed;

    fn drawn(given: &Reasons) -> Svg {
        let investigation = samples::build(&[
            ("R1.A", None, Some("EXPLORE"), "Why?"),
            ("R2.A1", Some("R1.A"), Some("FOUND"), "Slow disk"),
            ("R3.A1a", Some("R2.A1"), Some("VERIFY"), "Measured again"),
        ]);
        let href = |id: &NodeId| format!("{id}.html");
        let options = SvgOptions { href: Some(&href), ..SvgOptions::default() };
        let svg = reasons(&samples::assessed(&investigation), given, &options);
        well_formed(&svg.markup);
        svg
    }

    fn note(text: &str) -> ReasonBox {
        ReasonBox::Note {
            class: "source",
            head: text.to_owned(),
            text: text.to_owned(),
            href: Some(text.to_owned()),
        }
    }

    fn line(from: usize, to: usize, kind: ReasonKind, label: &str) -> ReasonLine {
        ReasonLine { from, to, kind, label: label.to_owned() }
    }

    fn node(id: &str, on_path: bool) -> ReasonBox {
        ReasonBox::Node(id.parse().unwrap(), on_path)
    }

    #[test]
    fn an_answer_its_way_and_what_confirms_it() {
        let svg = drawn(&Reasons {
            label: "An answer".to_owned(),
            boxes: vec![node("R1.A", true), node("R2.A1", true), node("R3.A1a", false), node("R9.Z", false)],
            lines: vec![
                line(0, 1, ReasonKind::Way(true), "Step 2"),
                line(2, 1, ReasonKind::Confirms, "R3.A1a confirms it"),
                line(0, 3, ReasonKind::RuledOut, ""),
            ],
        });
        let markup = &svg.markup;
        assert!(
            markup.starts_with("<svg class=\"graph\" role=\"group\" aria-label=\"An answer\""),
            "{markup}"
        );
        assert!(markup.contains("<a class=\"card role-solution confirmed on-path\" href=\"R2.A1.html\">"));
        assert!(markup.contains("<g class=\"edge confirms\"><title>R3.A1a confirms it</title>"));
        // It points back to the answer.
        assert!(markup.contains("l7-4v8z"), "{markup}");
        assert!(markup.contains("<title>Not there: R9.Z</title>"));
        assert!(!markup.contains("style"));
    }

    #[test]
    fn hostile_texts_stay_text() {
        let evil = "</title><script>alert('1')</script>\0\u{202e}\"&]]>\n-->";
        let svg = drawn(&Reasons {
            label: evil.to_owned(),
            boxes: vec![note(evil), node("R1.A", false)],
            lines: vec![line(0, 1, ReasonKind::Cites, evil)],
        });
        assert!(!svg.markup.contains("<script") && !svg.markup.contains('\u{202e}'));
        drawn(&Reasons::default());
    }

    proptest! {
        #![proptest_config(crate::testing::sampled(24))]

        #[test]
        fn ends_of_lines_stay_at_their_boxes(
            boxes in 1_usize..40,
            lines in prop::collection::vec((0_usize..40, 0_usize..40, 0_usize..8), 0..70),
        ) {
            let kinds = [
                ReasonKind::Way(true), ReasonKind::Way(false), ReasonKind::Confirms, ReasonKind::Checks,
                ReasonKind::Refutes, ReasonKind::RuledOut, ReasonKind::Names, ReasonKind::Cites,
            ];
            let given = Reasons {
                label: String::new(),
                boxes: (0..boxes).map(|at| note(&format!("{at}"))).collect(),
                lines: lines.iter().map(|(from, to, kind)| line(*from, *to, kinds[*kind], "")).collect(),
            };
            let svg = drawn(&given);
            prop_assert!(svg.width.is_finite() && svg.height.is_finite());
            prop_assert_eq!(&svg.markup, &drawn(&given).markup);
            let sizes = vec![(WIDTH, 40.0); boxes];
            let pairs: Vec<(usize, usize)> = lines.iter().map(|(from, to, _)| (*from, *to)).collect();
            let mut placed = ranked::place(&sizes, &pairs, SPACE);
            spread_ends(&placed.boxes, &pairs, &mut placed.lines);
            for ((from, to), course) in pairs.iter().zip(&placed.lines).filter(|(_, course)| !course.is_empty()) {
                for (at, (_, y)) in [(from, course[0]), (to, course[course.len() - 1])] {
                    let it = placed.boxes[*at];
                    prop_assert!(y > it.y && y < it.y + it.height);
                }
            }
        }
    }
}
