//! The picture: which cards there are, how large they are and where they stand, and their markup.
//!
//! 1. [`select`] walks the tree from its roots (or one branch's) and keeps what is within the depth.
//! 2. [`Card::new`] decides what stands on each card, and thereby its height.
//! 3. [`place`](super::place) gives each card its place in its column.
//! 4. [`draw`](super::draw) calls the [`Writer`] for each edge and card, which writes the markup.

use std::fmt::Write as _;

use super::draw::{self, Pen, Place};
use super::palette;
use super::place::{self, Gaps};
use super::text::{clamp_lines, clamp_middle, measure, number, one_line, xml};
use crate::domain::{Investigation, Node, NodeId};
use crate::ruleset::{Role, Terms};

/// What the picture is to be.
#[derive(Clone, Copy, Default)]
pub struct SvgOptions<'a> {
    /// Where a card leads to; without it the cards are no links.
    pub href: Option<&'a dyn Fn(&NodeId) -> String>,
    /// A file of its own, with namespace, style (light and dark) and background. Otherwise it is part of a page
    /// whose stylesheet colours it, and holds neither `<style>` nor a `style` attribute.
    pub standalone: bool,
    /// Put before the node's id in the `id` of each card, so that two pictures on one page do not collide. When it
    /// is empty, cards have no `id`.
    pub id_prefix: &'a str,
    /// Only the branch from this node on.
    pub root: Option<&'a NodeId>,
    /// Only so many columns (at least one); a card whose descendants are left out says how many: `+12`.
    pub max_depth: Option<u32>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    /// The `<svg>` element.
    pub markup: String,
    /// Its width in CSS pixels.
    pub width: f64,
    /// Its height in CSS pixels.
    pub height: f64,
    /// How many nodes have a card.
    pub shown: usize,
    /// How many nodes of the investigation, or of the branch, lie deeper than the picture goes.
    pub hidden: usize,
}

/// The picture of an investigation, laid out from left to right: a column per round, a card per node.
pub fn svg(investigation: &Investigation, terms: &Terms<'_>, options: &SvgOptions<'_>) -> Svg {
    let scene = Scene::new(investigation, terms, options);
    if scene.cards.is_empty() {
        return nothing(investigation, options);
    }
    let mut writer = Writer { out: String::with_capacity(scene.cards.len() * 900), scene: &scene, options };
    let shown = scene.cards.len();
    let mut label = format!("Graph of {}, left to right: {}", title_of(investigation), count(shown, "node"));
    if scene.hidden > 0 {
        let _ = write!(label, ", {} more not shown", scene.hidden);
    }
    open(&mut writer.out, options, &label, scene.width, scene.height);
    writer.out.push_str("<g class=\"edges\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" aria-hidden=\"true\">\n");
    // The ways to what was found come last, so that no other edge lies over them.
    for on_path in [false, true] {
        let edges = scene.edges().filter(|(_, to)| scene.cards[*to].on_path == on_path);
        draw::edges(&scene.places, edges, &mut writer);
    }
    writer.out.push_str("</g>\n<g class=\"cards\">\n");
    draw::cards(&scene.places, &mut writer);
    writer.out.push_str("</g>\n</svg>\n");
    Svg { markup: writer.out, width: scene.width, height: scene.height, shown, hidden: scene.hidden }
}

// All in CSS pixels.
const WIDTH: f64 = 212.0;
const COLUMN_GAP: f64 = 52.0;
const GAPS: Gaps = Gaps { siblings: 10.0, cousins: 16.0 };
const MARGIN: f64 = 10.0;
/// The width of the bar at the left edge.
const BAR: f64 = 5.0;
/// From the card's left and right edge to its texts.
const LEFT: f64 = 13.0;
const RIGHT: f64 = 10.0;
/// From the card's top to the baseline of its head, from line to line, and from the last line to the bottom.
const HEAD: f64 = 17.0;
const LINE: f64 = 14.5;
const FOOT: f64 = 10.5;
const TITLE_LINES: usize = 2;
const TITLE_SIZE: f64 = 12.0;
const SMALL_SIZE: f64 = 9.5;
/// How much wider a text is in bold.
const BOLD: f64 = 1.1;
/// Only faces that are on the reader's machine; the page's stylesheet may name others.
const FONTS: &str = "system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, &quot;Noto Sans&quot;, &quot;DejaVu Sans&quot;, sans-serif";

/// A node that is shown, before it has a card.
struct Selected<'i> {
    node: &'i Node,
    /// The index of its parent among those that are shown.
    parent: Option<usize>,
    /// The column.
    depth: u32,
    /// How many of its descendants are not shown.
    more: usize,
    /// Whether it lies on the way to a verified solution.
    on_path: bool,
}

/// All cards with their places.
struct Scene<'i> {
    cards: Vec<Card<'i>>,
    places: Vec<Place>,
    width: f64,
    height: f64,
    hidden: usize,
}

/// What stands on a card.
struct Card<'i> {
    node: &'i Node,
    parent: Option<usize>,
    role: Option<Role>,
    state: String,
    id: String,
    title: Vec<String>,
    /// Whether a solution is verified; `None` for any other node.
    verified: Option<bool>,
    more: usize,
    on_path: bool,
}

impl<'i> Scene<'i> {
    fn new(investigation: &'i Investigation, terms: &Terms<'_>, options: &SvgOptions<'_>) -> Self {
        let (selected, hidden) = select(investigation, terms, options);
        let cards: Vec<Card<'i>> =
            selected.iter().map(|selected| Card::new(selected, investigation, terms)).collect();
        let parents: Vec<Option<usize>> = cards.iter().map(|card| card.parent).collect();
        let heights: Vec<f64> = cards.iter().map(Card::height).collect();
        let tops = place::tops(&parents, &heights, GAPS);
        let places: Vec<Place> = selected
            .iter()
            .zip(tops.iter().zip(&heights))
            .map(|(selected, (top, height))| Place {
                x: MARGIN + f64::from(selected.depth) * (WIDTH + COLUMN_GAP),
                y: MARGIN + top,
                width: WIDTH,
                height: *height,
            })
            .collect();
        let right = places.iter().map(|place| place.x + place.width).fold(0.0, f64::max);
        let bottom = places.iter().map(|place| place.y + place.height).fold(0.0, f64::max);
        Scene { cards, places, width: right + MARGIN, height: bottom + MARGIN, hidden }
    }

    /// Each edge, from parent to child.
    fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.cards.iter().enumerate().filter_map(|(to, card)| Some((card.parent?, to)))
    }
}

/// The nodes to be shown, in preorder, and the number of those that are not.
fn select<'i>(
    investigation: &'i Investigation,
    terms: &Terms<'_>,
    options: &SvgOptions<'_>,
) -> (Vec<Selected<'i>>, usize) {
    // The whole branch first, so that what is hidden can be counted and shows the way to what was found in it.
    let mut all: Vec<Selected<'i>> = Vec::new();
    let mut stack: Vec<(&'i Node, Option<usize>)> = match options.root {
        Some(root) => investigation.node(root).map(|node| (node.as_ref(), None)).into_iter().collect(),
        None => investigation.roots().map(|node| (node.as_ref(), None)).collect(),
    };
    stack.reverse();
    while let Some((node, parent)) = stack.pop() {
        let depth = parent.map_or(0, |parent| all[parent].depth + 1);
        let at = all.len();
        all.push(Selected { node, parent, depth, more: 0, on_path: false });
        let first = stack.len();
        stack.extend(investigation.children(&node.id).map(|child| (child.as_ref(), Some(at))));
        stack[first..].reverse();
    }
    for at in 0..all.len() {
        if is_verified(all[at].node, investigation, terms) == Some(true) {
            let mut on_path = Some(at);
            while let Some(at) = on_path.filter(|at| !all[*at].on_path) {
                all[at].on_path = true;
                on_path = all[at].parent;
            }
        }
    }
    let columns = options.max_depth.unwrap_or(u32::MAX).max(1);
    let mut hidden = 0;
    let mut below = vec![0; all.len()];
    for at in (0..all.len()).rev() {
        if all[at].depth + 1 == columns {
            all[at].more = below[at];
        }
        hidden += usize::from(all[at].depth >= columns);
        if let Some(parent) = all[at].parent {
            below[parent] += below[at] + 1;
        }
    }
    // What is kept moves up; a parent that is kept stands before its children.
    let mut kept = vec![0; all.len()];
    let mut next = 0;
    for (at, selected) in all.iter().enumerate() {
        kept[at] = next;
        next += usize::from(selected.depth < columns);
    }
    all.retain(|selected| selected.depth < columns);
    for selected in &mut all {
        selected.parent = selected.parent.map(|parent| kept[parent]);
    }
    (all, hidden)
}

/// Whether a solution is verified; `None` for a node that is none.
fn is_verified(node: &Node, investigation: &Investigation, terms: &Terms<'_>) -> Option<bool> {
    let solution = terms.role(node.state()?) == Role::Solution;
    solution.then(|| !terms.verified_by(investigation, node).is_empty())
}

impl<'i> Card<'i> {
    fn new(selected: &Selected<'i>, investigation: &Investigation, terms: &Terms<'_>) -> Self {
        let node = selected.node;
        let inner = WIDTH - LEFT - RIGHT;
        let state = node.state().map_or("proposed", |state| state.as_str());
        // The state may take half of the head, the id has the rest.
        let state = clamp_middle(state, inner / 2.0 / SMALL_SIZE);
        let left = inner - measure(&state) * SMALL_SIZE - 8.0;
        let mut title = clamp_lines(&one_line(&node.title), inner / TITLE_SIZE, TITLE_LINES);
        if title.is_empty() {
            title.push("(no title)".to_owned());
        }
        Card {
            node,
            parent: selected.parent,
            role: node.state().map(|state| terms.role(state)),
            id: clamp_middle(node.id.as_str(), left / TITLE_SIZE / BOLD),
            state,
            title,
            verified: is_verified(node, investigation, terms),
            more: selected.more,
            on_path: selected.on_path,
        }
    }

    fn height(&self) -> f64 {
        let foot = if self.note().is_some() || self.more > 0 { LINE - 1.0 } else { 0.0 };
        HEAD + LINE * self.title.len() as f64 + foot + FOOT
    }

    fn note(&self) -> Option<&'static str> {
        self.verified.map(|verified| if verified { "✓ verified" } else { "unverified" })
    }

    fn classes(&self) -> String {
        let mut classes = String::from("card ");
        classes.push_str(self.role.map_or("proposed", palette::class));
        match self.verified {
            Some(true) => classes.push_str(" verified"),
            Some(false) => classes.push_str(" unverified"),
            None => {}
        }
        if self.on_path {
            classes.push_str(" on-path");
        }
        classes
    }

    /// All of it in one line, for a tooltip and for ears.
    fn full(&self) -> String {
        let mut full =
            format!("{} ({}", self.node.id, self.node.state().map_or("proposed", |state| state.as_str()));
        match self.verified {
            Some(true) => full.push_str(", verified"),
            Some(false) => full.push_str(", unverified"),
            None => {}
        }
        let _ = write!(full, "): {}", one_line(&self.node.title));
        if self.more > 0 {
            let _ = write!(full, " – {} below, not shown", count(self.more, "node"));
        }
        full
    }
}

/// Writes the markup. Sizes, widths of lines and dashes are attributes, since they carry meaning or hold the layout;
/// colours are the stylesheet's, and without one everything has the colour of the page's text.
struct Writer<'a> {
    out: String,
    scene: &'a Scene<'a>,
    options: &'a SvgOptions<'a>,
}

impl Pen for Writer<'_> {
    fn edge(&mut self, to: usize, from: (f64, f64), until: (f64, f64)) {
        let card = &self.scene.cards[to];
        let class = if card.on_path { "edge on-path" } else { "edge" };
        let _ = write!(self.out, "<path class=\"{class}\" d=\"M{} {}", number(from.0), number(from.1));
        if number(from.1) == number(until.1) {
            let _ = write!(self.out, "H{}\"", number(until.0));
        } else {
            let middle = number((from.0 + until.0) / 2.0);
            let (y0, x1, y1) = (number(from.1), number(until.0), number(until.1));
            let _ = write!(self.out, "C{middle} {y0} {middle} {y1} {x1} {y1}\"");
        }
        if card.on_path {
            self.out.push_str(" stroke-width=\"2.5\"");
        }
        if matches!(card.role, None | Some(Role::DeadEnd)) {
            self.out.push_str(" stroke-dasharray=\"4 3\"");
        }
        self.out.push_str("/>\n");
    }

    fn card(&mut self, card: usize, place: Place) {
        let card = &self.scene.cards[card];
        let out = &mut self.out;
        let tag = if self.options.href.is_some() { "a" } else { "g" };
        let _ = write!(out, "<{tag} class=\"{}\"", card.classes());
        if !self.options.id_prefix.is_empty() {
            let _ = write!(out, " id=\"{}{}\"", xml(&one_line(self.options.id_prefix)), card.node.id);
        }
        if let Some(href) = self.options.href {
            let _ = write!(out, " href=\"{}\"", xml(&one_line(&href(&card.node.id))));
        }
        let _ = write!(out, "><title>{}</title>", xml(&card.full()));

        let (x, y) = (place.x, place.y);
        let _ = write!(
            out,
            "<rect class=\"card-box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"none\" \
             stroke=\"currentColor\"",
            number(x),
            number(y),
            number(place.width),
            number(place.height)
        );
        if card.role.is_none() {
            out.push_str(" stroke-dasharray=\"4 3\"");
        } else if card.on_path {
            out.push_str(" stroke-width=\"1.5\"");
        }
        let _ = write!(
            out,
            "/><rect class=\"card-bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
            number(x),
            number(y),
            number(BAR),
            number(place.height)
        );

        let (left, right) = (number(x + LEFT), number(x + place.width - RIGHT));
        let head = number(y + HEAD);
        let _ = write!(
            out,
            "<text class=\"card-id\" x=\"{left}\" y=\"{head}\" font-weight=\"700\">{}</text>",
            xml(&card.id)
        );
        let small = number(SMALL_SIZE);
        let _ = write!(
            out,
            "<text class=\"card-state\" x=\"{right}\" y=\"{head}\" font-size=\"{small}\" text-anchor=\"end\">{}</text>",
            xml(&card.state)
        );
        for (line, text) in card.title.iter().enumerate() {
            let line = number(y + HEAD + LINE * (line + 1) as f64);
            let _ = write!(out, "<text class=\"card-title\" x=\"{left}\" y=\"{line}\">{}</text>", xml(text));
        }
        let foot = number(y + place.height - FOOT + 1.0);
        if let Some(note) = card.note() {
            let _ = write!(
                out,
                "<text class=\"card-note\" x=\"{left}\" y=\"{foot}\" font-size=\"{small}\">{note}</text>"
            );
        }
        if card.more > 0 {
            let _ = write!(
                out,
                "<text class=\"card-more\" x=\"{right}\" y=\"{foot}\" font-size=\"{small}\" font-weight=\"700\" \
                 text-anchor=\"end\">+{}</text>",
                card.more
            );
        }
        let _ = writeln!(out, "</{tag}>");
    }
}

fn nothing(investigation: &Investigation, options: &SvgOptions<'_>) -> Svg {
    let (width, height) = (240.0, 60.0);
    let text = if options.root.is_some() { "No such node" } else { "No nodes yet" };
    let mut markup = String::new();
    open(&mut markup, options, &format!("Graph of {}: {text}", title_of(investigation)), width, height);
    let _ = writeln!(
        markup,
        "<text class=\"card-note\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{text}</text>\n</svg>",
        number(width / 2.0),
        number(height / 2.0 + 4.0)
    );
    Svg { markup, width, height, shown: 0, hidden: 0 }
}

fn open(out: &mut String, options: &SvgOptions<'_>, label: &str, width: f64, height: f64) {
    let (width, height) = (number(width.ceil()), number(height.ceil()));
    let namespace = if options.standalone { "xmlns=\"http://www.w3.org/2000/svg\" " } else { "" };
    // An image hides what is in it from assistive technology: only right where there are no links.
    let role = if options.href.is_some() { "group" } else { "img" };
    let _ = writeln!(
        out,
        "<svg {namespace}class=\"graph\" role=\"{role}\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" font-size=\"{}\" fill=\"currentColor\">",
        xml(label),
        number(TITLE_SIZE)
    );
    if options.standalone {
        // No `<` or `&` stands in the style, so it needs no escaping.
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

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests;
