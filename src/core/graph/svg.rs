//! The picture of the tree: the content, position and markup of its cards.
//!
//! 1. [`SvgCard::new`] decides the content of each card, which determines its height.
//! 2. [`place`](super::place) positions the cards.
//! 3. `edge` and `write_card` write the markup.
//! 4. A standalone picture starts with a title.

pub(super) mod sign;

use std::fmt::Write as _;

use super::markup;
use super::palette;
use super::place::{self, Bounds, Gaps};
use super::text::{clamp_lines, clamp_middle, measure, number, one_line};
use super::tree::{DrawnTree, TreeItem, Way};
use crate::assess::Verdict;
use crate::domain::{Investigation, NodeId};
use crate::ruleset::Role;
use crate::text::{counted, escape};

pub use sign::sign;

/// Options for a picture.
#[derive(Clone, Copy, Default)]
pub struct SvgOptions<'a> {
    /// A function that returns the link target of a card. If `None`, cards are not links.
    pub href: Option<&'a dyn Fn(&NodeId) -> String>,
    /// True if the picture is a complete file with a namespace, styles (light and dark), a background and a title.
    ///
    /// Otherwise, the page's stylesheet colours the picture, which contains neither `<style>` nor `style` attributes.
    pub standalone: bool,
    /// True if each card has its node id as its `id`.
    pub has_ids: bool,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    /// The `<svg>` element.
    pub markup: String,
    /// The width in CSS pixels.
    pub width: f64,
    /// The height in CSS pixels.
    pub height: f64,
}

impl Svg {
    /// Returns the smallest width, in CSS pixels, at which the scaled picture is still readable.
    pub fn readable_width(&self) -> f64 {
        (self.width * LEAST_SIZE / SMALL_SIZE).ceil()
    }
}

/// Draws the tree from left to right, with one column per round and one card per node. Of a large tree, it draws the path
/// to the best answer and the first rounds.
pub fn svg(tree: &DrawnTree<'_>, options: &SvgOptions<'_>) -> Svg {
    let title = title_of(tree.investigation);
    if tree.items.is_empty() {
        return nothing(&title, options);
    }
    let all = counted(tree.items.len(), "node");
    let nodes = match tree.shown.len() {
        shown if shown < tree.items.len() => format!("{shown} of {all}"),
        _ => all,
    };
    let label = format!("Graph of {title}, left to right: {nodes}");
    let scene = Scene::new(tree, options);
    let mut out = String::with_capacity(scene.cards.len() * 1000);
    open_file(&mut out, options, &label, scene.width, scene.height);
    if options.standalone {
        let bold = format!(" font-size=\"{}\" font-weight=\"700\"", number(HEADING_SIZE));
        let all = (scene.width - 2.0 * MARGIN) / HEADING_SIZE / BOLD;
        let text = clamp_lines(&one_line(&tree.investigation.meta().title), all, 1);
        let text = text.first().map_or("", String::as_str);
        markup::text(&mut out, "", [&number(MARGIN), &number(HEADING_BASE)], &bold, text);
        out.push('\n');
    }
    out.push_str("<g class=\"edges\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\">\n");
    // Draw paths to answers last, so that no other edge covers them.
    for way in [None, Some(Way::Doubted), Some(Way::Confirmed)] {
        for (from, to) in scene.edges().filter(|(_, to)| scene.cards[*to].item.way == way) {
            let (from, until) = (scene.places[from], scene.places[to]);
            let from = (from.x + from.width, from.y + from.height / 2.0);
            edge(&mut out, &scene.cards[to].item, from, (until.x, until.y + until.height / 2.0));
        }
    }
    out.push_str("</g>\n<g class=\"cards\">\n");
    for (card, place) in scene.cards.iter().zip(&scene.places) {
        write_card(&mut out, options, card, *place);
    }
    out.push_str("</g>\n</svg>\n");
    Svg { markup: out, width: scene.width.ceil(), height: scene.height.ceil() }
}

// All lengths are in CSS pixels.
const WIDTH: f64 = 196.0;
const GAPS: Gaps = Gaps { columns: 38.0, cards: 12.0 };
const MARGIN: f64 = 12.0;
/// The width of the bar at a card's left edge.
const BAR: f64 = 5.0;
/// The distance between a card's left edge and its text.
const LEFT: f64 = 14.0;
/// The distance between a card's text and its right edge.
const RIGHT: f64 = 9.0;
/// The distance from a card's top edge to the first baseline.
const HEAD: f64 = 18.0;
/// The distance between two lines of text.
const LINE: f64 = 15.0;
/// The distance from the last line to a card's bottom edge.
const FOOT: f64 = 10.5;
/// The size, the baseline and the least width of the title of a standalone picture.
const HEADING_SIZE: f64 = 16.0;
const HEADING_BASE: f64 = 24.0;
const LEAST_WIDTH: f64 = 480.0;
const TITLE_LINES: usize = 2;
const TITLE_SIZE: f64 = 12.5;
const SMALL_SIZE: f64 = 10.5;
/// The minimum font size. Smaller pictures are scrolled instead of scaled.
const LEAST_SIZE: f64 = 9.0;
/// The relative width of bold text.
const BOLD: f64 = 1.1;
/// The font list, which contains only fonts installed on the reader's machine. A page's stylesheet may name other
/// fonts.
pub(super) const FONTS: &str = "system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, &quot;Noto Sans&quot;, &quot;DejaVu Sans&quot;, sans-serif";

/// All cards and their positions.
struct Scene<'i> {
    cards: Vec<SvgCard<'i>>,
    places: Vec<Bounds>,
    width: f64,
    height: f64,
}

/// The content of a card.
struct SvgCard<'i> {
    item: TreeItem<'i>,
    /// The index of the parent's card.
    parent: Option<usize>,
    state: String,
    id: String,
    title: Vec<String>,
    /// The number of nodes in the branches below that are not in the picture.
    hidden: usize,
    /// True for the best answer in the picture.
    is_best: bool,
}

impl<'i> Scene<'i> {
    fn new(tree: &DrawnTree<'i>, options: &SvgOptions<'_>) -> Self {
        let best = tree.highlighted();
        let card = |at: &usize| SvgCard { is_best: best == Some(*at), ..SvgCard::new(tree, *at) };
        let cards: Vec<SvgCard<'i>> = tree.shown.iter().map(card).collect();
        let parents: Vec<Option<usize>> = cards.iter().map(|card| card.parent).collect();
        let heights: Vec<f64> = cards.iter().map(SvgCard::height).collect();
        let mut places = place::places(&parents, WIDTH, &heights, GAPS);
        let mut width = places.iter().map(|place| MARGIN + place.x + WIDTH + MARGIN).fold(0.0, f64::max);
        let mut head = 0.0;
        if options.standalone {
            width = width.max(LEAST_WIDTH);
            head = HEADING_BASE + 10.0;
        }
        for place in &mut places {
            place.x += MARGIN;
            place.y += head + MARGIN;
        }
        let height = places.iter().map(|place| place.y + place.height + MARGIN).fold(0.0, f64::max);
        Scene { cards, places, width, height }
    }

    /// Returns the edges as pairs of parent and child.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.cards.iter().enumerate().filter_map(|(to, card)| Some((card.parent?, to)))
    }
}

impl<'i> SvgCard<'i> {
    fn new(tree: &DrawnTree<'i>, at: usize) -> Self {
        let item = tree.items[at].clone();
        let parent = item.parent.and_then(|parent| tree.shown.binary_search(&parent).ok());
        let node = item.node;
        let inner = WIDTH - LEFT - RIGHT;
        // The state may take half of the first line. The id gets the rest.
        // What a node refutes needs a line of its own.
        let label = if item.mark.refutes.is_some() { "" } else { &item.mark.label };
        let state = clamp_middle(label, inner / 2.0 / SMALL_SIZE);
        let left = inner - measure(&state) * SMALL_SIZE - sign::SIZE - 10.0;
        let mut title = clamp_lines(&one_line(node.name()), inner / TITLE_SIZE, TITLE_LINES);
        if title.is_empty() {
            title.push("(no title)".to_owned());
        }
        SvgCard {
            parent,
            id: clamp_middle(node.id.as_str(), left / TITLE_SIZE / BOLD),
            state,
            title,
            hidden: tree.hidden_below(at),
            is_best: false,
            item,
        }
    }

    fn height(&self) -> f64 {
        let note = if self.note().is_some() { LINE } else { 0.0 };
        HEAD + LINE * self.title.len() as f64 + note + FOOT
    }

    /// Returns the full text on one line for tooltips and screen readers.
    fn full(&self) -> String {
        let (node, mark) = (self.item.node, &self.item.mark);
        let verdict = mark.verdict.map(|it| format!(", {}", it.label())).unwrap_or_default();
        format!("{} ({}{verdict}): {}", node.id, mark.label, one_line(node.name()))
    }

    /// Returns the last line of the card: the verdict, and the number of hidden descendants.
    fn note(&self) -> Option<String> {
        let most = (WIDTH - LEFT - RIGHT) / SMALL_SIZE / BOLD;
        let refutes =
            self.item.mark.refutes.map(|_| clamp_middle(&format!("✗ {}", self.item.mark.label), most));
        let verdict = self.item.mark.verdict.map(|it| format!("{} {}", it.sign(), it.short_label()));
        let hidden = (self.hidden > 0).then(|| format!("{} more below", self.hidden));
        let notes: Vec<String> = refutes.into_iter().chain(verdict).chain(hidden).collect();
        (!notes.is_empty()).then(|| notes.join(" · "))
    }
}

// Sizes, line widths and dashes are attributes because they carry meaning or affect the layout. Colours come from the
// stylesheet. Without a stylesheet, everything has the page's text colour.

/// Writes the edge that leads to the card of a node.
fn edge(out: &mut String, item: &TreeItem<'_>, from: (f64, f64), until: (f64, f64)) {
    let class = match item.role {
        _ if item.way.is_some() => Way::class(item.way),
        None => " to-proposed",
        Some(Role::DeadEnd) if item.mark.refutes.is_none() => " to-dead",
        Some(_) => "",
    };
    let _ = write!(out, "<path class=\"edge{class}\" d=\"M{} {}", number(from.0), number(from.1));
    if number(from.1) == number(until.1) {
        let _ = write!(out, "H{}\"", number(until.0));
    } else {
        let middle = number((from.0 + until.0) / 2.0);
        let (y0, x1, y1) = (number(from.1), number(until.0), number(until.1));
        let _ = write!(out, "C{middle} {y0} {middle} {y1} {x1} {y1}\"");
    }
    if item.way.is_some() {
        out.push_str(" stroke-width=\"3\"");
    }
    if item.way == Some(Way::Doubted) {
        out.push_str(" stroke-dasharray=\"9 4\"");
    } else if class == " to-dead" || class == " to-proposed" {
        out.push_str(" stroke-dasharray=\"4 3\"");
    }
    out.push_str("/>\n");
}

/// Writes the card of a node.
fn write_card(out: &mut String, options: &SvgOptions<'_>, card: &SvgCard<'_>, place: Bounds) {
    let item = &card.item;
    let id = &item.node.id;
    let (x, y) = (place.x, place.y);
    let class = format!("card {}{}", item.classes(), if card.is_best { " best-answer" } else { "" });
    let href = options.href.map(|href| href(id));
    let tag =
        markup::open(out, &class, options.has_ids.then(|| id.to_string()), href.as_deref(), &card.full());
    let outline = match item.role {
        None => " stroke-dasharray=\"4 3\"",
        Some(_) if item.way.is_some() => " stroke-width=\"2\"",
        Some(_) => "",
    };
    let outline = format!(" rx=\"4\" fill=\"none\" stroke=\"currentColor\"{outline}");
    markup::rect(out, "card-box", [x, y, place.width, place.height].map(number), &outline);
    if item.role.is_some() {
        markup::rect(out, "card-bar", [x, y, BAR, place.height].map(number), " rx=\"2.5\"");
    }

    let (left, right) = (number(x + LEFT), x + place.width - RIGHT);
    let head = number(y + HEAD);
    markup::text(out, "card-id", [&left, &head], " font-weight=\"700\"", &card.id);
    let small = format!(" font-size=\"{}\"", number(SMALL_SIZE));
    let state_end = number(right - sign::SIZE - 4.0);
    let end = format!("{small} text-anchor=\"end\"");
    markup::text(out, "card-state", [&state_end, &head], &end, &card.state);
    let (role, class) = match (item.mark.refutes, item.mark.shade()) {
        (Some(_), _) | (None, Some(Verdict::Refuted | Verdict::Undermined)) => {
            (Some(Role::DeadEnd), "role-deadEnd")
        }
        (None, Some(verdict)) if verdict.is_confirmed() => {
            (Some(Role::Confirmation), "role-solution confirmed")
        }
        (None, Some(_)) => (item.role, "doubt"),
        (None, None) => (item.role, sign::class(item.role)),
    };
    sign::write(out, role, class, right - sign::SIZE / 2.0, y + HEAD - 4.0);
    let mut line = y + HEAD;
    for text in &card.title {
        line += LINE;
        markup::text(out, "card-title", [&left, &number(line)], "", text);
    }
    if let Some(note) = card.note() {
        let bold = format!("{small} font-weight=\"600\"");
        markup::text(out, "card-note", [&left, &number(line + LINE)], &bold, &note);
    }
    let _ = writeln!(out, "</{tag}>");
}

fn nothing(title: &str, options: &SvgOptions<'_>) -> Svg {
    let (width, height) = (240.0, 60.0);
    let mut markup = String::new();
    open_file(&mut markup, options, &format!("Graph of {title}: no nodes yet"), width, height);
    let middle = [width / 2.0, height / 2.0 + 4.0].map(number);
    let anchor = " text-anchor=\"middle\"";
    markup::text(&mut markup, "card-note", [&middle[0], &middle[1]], anchor, "No nodes yet");
    markup.push_str("\n</svg>\n");
    Svg { markup, width, height }
}

/// Opens the `<svg>` element of a picture with a fixed size.
fn open_file(out: &mut String, options: &SvgOptions<'_>, label: &str, width: f64, height: f64) {
    let (width, height) = (number(width.ceil()), number(height.ceil()));
    let standalone = options.standalone;
    let namespace = if standalone { "xmlns=\"http://www.w3.org/2000/svg\" " } else { "" };
    // The role `img` hides the content from assistive technology, so it is only used if there are no links.
    let role = if options.href.is_some() { "group" } else { "img" };
    let _ = writeln!(
        out,
        "<svg {namespace}class=\"graph\" role=\"{role}\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" font-size=\"{}\" fill=\"currentColor\">",
        escape(label),
        number(TITLE_SIZE)
    );
    if standalone {
        // The stylesheet contains no `<` or `&`, so it needs no escaping.
        let _ = writeln!(
            out,
            "<style>\n{}</style>\n<rect class=\"background\" width=\"{width}\" height=\"{height}\" fill=\"none\"/>",
            palette::stylesheet()
        );
    }
}

fn title_of(investigation: &Investigation) -> String {
    let title = one_line(&investigation.meta().title);
    if title.trim().is_empty() { "the investigation".to_owned() } else { format!("“{}”", title.trim()) }
}

#[cfg(test)]
mod tests;
