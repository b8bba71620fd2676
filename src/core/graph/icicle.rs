//! An icicle diagram with one row per round. The width of a node is proportional to its number of leaves.
//!
//! Each cell has the pattern of its role and, if there is room, a label. Branches that would be too narrow are merged
//! into one cell with a bar that counts their nodes by kind. Links above the cells lead to parts that have their own
//! page. A flag below the cells points to the best answer.
//!
//! Horizontal positions are percentages, so the diagram fills the page while text keeps its size. A standalone picture
//! has a fixed width.

use std::fmt::Write as _;

use super::bar::BAR;
use super::markup;
use super::pages::{MapPage, PageItem, PagePart, Pages, Way};
use super::palette;
use super::svg::{FONTS, Svg, SvgOptions, legend, open_file, sign};
use super::text::{clamp_lines, measure, number, one_line};
use crate::assess::Verdict;
use crate::ruleset::Role;
use crate::text::{counted, escape};

/// The width of the diagram in most windows, in CSS pixels. This width and [`NARROW`] determine which labels fit.
const WIDE: f64 = 1_280.0;
/// The minimum width of the diagram, in CSS pixels.
pub(super) const NARROW: f64 = 900.0;
const ROW: f64 = 26.0;
const CELL: f64 = 24.0;
/// The height of the links above the cells.
const PARTS: f64 = 30.0;
/// The height of the flag below the cells.
const FLAG: f64 = 30.0;
const SIZE: f64 = 12.0;
/// The space before a label, which contains the sign.
const LEFT: f64 = 20.0;
/// The space after a label.
const RIGHT: f64 = 5.0;
/// The minimum width of a cell with an outline.
pub(super) const LINED: f64 = 3.5;
/// The minimum width of a hollow cell.
const HOLLOW: f64 = 10.0;
/// The minimum width of a cell with a sign.
const SIGNED: f64 = 18.0;
/// The minimum width of a cell that can be reached by touch or keyboard (WCAG 2.2).
pub(super) const REACHED: f64 = 26.0;
/// The minimum number of rows used by merged branches, not counting the row with their number.
const LEAST_BARS: u32 = 1;
/// The maximum number of rows used by merged branches, not counting the row with their number.
const MOST_BARS: u32 = 4;
/// The maximum width of a name in a tooltip, in em.
const TOOLTIP: f64 = 60.0;

/// The geometry of the cells.
struct IcicleLayout<'a> {
    pages: &'a Pages<'a>,
    root: Option<usize>,
    /// The depth of the first row.
    first: u32,
    /// The number of leaves to the left of the diagram.
    before: usize,
    /// The number of leaves in the diagram.
    leaves: usize,
}

impl<'a> IcicleLayout<'a> {
    fn new(pages: &'a Pages<'a>, page: &MapPage) -> IcicleLayout<'a> {
        let leaves = page.tops.iter().map(|top| pages.leaves[*top].1).sum::<usize>();
        IcicleLayout {
            pages,
            root: root_of(page),
            first: root_of(page).or(page.tops.first().copied()).map_or(0, |first| pages.items[first].depth),
            before: page.tops.first().map_or(0, |top| pages.leaves[*top].0),
            leaves: leaves.max(1),
        }
    }

    /// Returns the left edge and width of neighbouring branches, as fractions of the total width.
    fn place(&self, tops: &[usize]) -> (f64, f64) {
        let (start, leaves) = match tops {
            [only] if Some(*only) == self.root => (0, self.leaves),
            _ => {
                let start = tops.first().map_or(0, |top| self.pages.leaves[*top].0 - self.before);
                (start, tops.iter().map(|top| self.pages.leaves[*top].1).sum())
            }
        };
        (start as f64 / self.leaves as f64, leaves as f64 / self.leaves as f64)
    }

    fn row(&self, item: usize) -> u32 {
        self.pages.items[item].depth - self.first
    }

    /// Returns the number of rows used by merged branches: one row for their number and, within limits, one row per
    /// level.
    fn rows(&self, together: &PagePart) -> u32 {
        let last = self.pages.range(&together.tops).map(|item| self.row(item)).max().unwrap_or(0);
        let row = together.tops.first().map_or(0, |top| self.row(*top));
        1 + (last - row).clamp(LEAST_BARS, MOST_BARS)
    }
}

fn root_of(page: &MapPage) -> Option<usize> {
    page.root.as_ref().and(page.cards.first().copied())
}

/// Draws the diagram for a page.
pub(super) fn draw(pages: &Pages<'_>, page: &MapPage, options: &SvgOptions<'_>, label: &str) -> Svg {
    let layout = IcicleLayout::new(pages, page);
    let mut writer = IcicleWriter {
        out: String::with_capacity(page.cards.len() * 250),
        pages,
        options,
        layout: &layout,
        top: 0.0,
    };
    let parts: Vec<(usize, &[usize])> = match options.page_href {
        Some(_) => page.parts.iter().filter_map(|part| Some((part.page?, part.tops.as_slice()))).collect(),
        None => Vec::new(),
    };
    let head = options.standalone.map_or(0.0, |ruleset| legend::height(ruleset, WIDE));
    writer.top = head + if parts.is_empty() { 2.0 } else { PARTS };
    let all = root_of(page).into_iter().chain(pages.range(&page.tops));
    let best = pages.best_of(all);
    let rows: Vec<u32> = page.together.iter().map(|together| layout.rows(together)).collect();
    let ends = page
        .together
        .iter()
        .zip(&rows)
        .map(|(it, rows)| it.tops.first().map_or(0, |top| layout.row(*top)) + rows);
    let last = page.cards.iter().map(|card| layout.row(*card) + 1).chain(ends).max().unwrap_or(1);
    // The position and depth of the best answer, unless its cell is wide enough to show it.
    let hides = |together: &&PagePart| best.is_some_and(|best| pages.range(&together.tops).contains(&best));
    let flag = match page.together.iter().position(|it| hides(&it)) {
        Some(at) => {
            Some((layout.place(&page.together[at].tops), layout.row(page.together[at].tops[0]) + rows[at]))
        }
        None => best
            .map(|best| (layout.place(&[best]), layout.row(best) + 1))
            .filter(|((_, width), _)| width * NARROW < 120.0),
    };
    let height = writer.top + f64::from(last) * ROW + if flag.is_some() { FLAG } else { 2.0 };
    writer.open(label, height);
    if let Some(ruleset) = options.standalone {
        legend::write(&mut writer.out, &one_line(&pages.investigation.meta().title), ruleset, WIDE);
    }
    writer.patterns();
    if !parts.is_empty() {
        writer.out.push_str("<g class=\"parts\">\n");
        parts.iter().for_each(|(own, tops)| writer.part(*own, tops, head));
        writer.out.push_str("</g>\n");
    }
    writer.out.push_str("<g class=\"cells\">\n");
    // Keep tree order, so that the Tab key follows the tree.
    let mut together = page.together.iter().zip(&rows).peekable();
    for card in page.cards.iter().map(Some).chain([None]) {
        while let Some((part, rows)) =
            together.next_if(|(part, _)| card.is_none_or(|card| part.tops[0] < *card))
        {
            writer.together(part, *rows, hides(&part));
        }
        if let Some(card) = card {
            writer.cell(*card, best == Some(*card));
        }
    }
    writer.out.push_str("</g>\n");
    if let (Some(best), Some((place, row))) = (best, flag) {
        writer.flag(&pages.items[best], place, row, height);
    }
    writer.out.push_str("</svg>\n");
    Svg { markup: writer.out, width: WIDE, height: height.ceil() }
}

struct IcicleWriter<'a> {
    out: String,
    pages: &'a Pages<'a>,
    options: &'a SvgOptions<'a>,
    layout: &'a IcicleLayout<'a>,
    /// The top of the first row.
    top: f64,
}

impl IcicleWriter<'_> {
    fn open(&mut self, label: &str, height: f64) {
        if self.options.standalone.is_some() {
            return open_file(&mut self.out, "graph icicle", self.options, label, WIDE, height);
        }
        let _ = writeln!(
            self.out,
            "<svg class=\"graph icicle\" role=\"group\" aria-label=\"{}\" width=\"100%\" height=\"{}\" font-family=\"{FONTS}\" \
             font-size=\"{}\" fill=\"currentColor\">",
            escape(label),
            number(height.ceil()),
            number(SIZE)
        );
    }

    /// Defines the patterns that distinguish roles in cells too narrow for a sign. Lines continue across neighbouring
    /// cells.
    fn patterns(&mut self) {
        self.out.push_str("<defs>");
        for (id, class, size, path) in PATTERNS {
            let _ = write!(
                self.out,
                "<pattern id=\"hatch-{id}\" class=\"hatch {class}\" width=\"{size}\" height=\"{size}\" \
                 patternUnits=\"userSpaceOnUse\"><rect width=\"{size}\" height=\"{size}\"/><path fill=\"none\" \
                 stroke=\"currentColor\" d=\"{path}\"/></pattern>"
            );
        }
        self.out.push_str("</defs>\n");
    }

    /// Writes the link to a part's page above the cells of that part.
    fn part(&mut self, own: usize, tops: &[usize], head: f64) {
        let (Some(first), Some(last), Some(href)) = (tops.first(), tops.last(), self.options.page_href)
        else {
            return;
        };
        let node = &self.pages.items[*first].node;
        let nodes = self.pages.range(tops).len();
        let (x, width) = self.layout.place(tops);
        let name = match first == last {
            true => node.id.to_string(),
            false => format!("{} to {}", node.id, self.pages.items[*last].node.id),
        };
        let out = &mut self.out;
        let title = format!("A picture of {name}: {}", counted(nodes, "node"));
        markup::open(out, "more", None, Some(&href(own, &node.id)), width * NARROW < REACHED, &title);
        let bounds = [percent(x), number(head + 2.0), percent(width), number(PARTS - 6.0)];
        markup::rect(out, "more-box", bounds, " rx=\"3\" fill=\"none\" stroke=\"currentColor\"");
        let words = [format!("{name}: {nodes}"), node.id.to_string(), nodes.to_string()];
        let fits = |room: f64| words.iter().find(|words| measure(words) * SIZE + 26.0 <= room).cloned();
        self.text(x, width, head + 2.0, 7.0, fits, "");
        self.out.push_str("</a>\n");
    }

    /// Writes merged branches as a number and a bar that counts their nodes by kind.
    fn together(&mut self, part: &PagePart, rows: u32, is_best: bool) {
        let first = &self.pages.items[part.tops[0]];
        let (x, width) = self.layout.place(&part.tops);
        let y = self.top + f64::from(self.layout.row(part.tops[0])) * ROW;
        let way = part.tops.iter().filter_map(|top| self.pages.items[*top].way).max();
        let name = match part.tops.len() {
            1 => format!("1 branch, {}", counted(part.nodes, "node")),
            branches if branches == part.nodes => counted(part.nodes, "node"),
            branches => format!("{branches} small branches, {}", counted(part.nodes, "node")),
        };
        let bar = self.pages.tallies.bar(&part.tops, BAR);
        let kinds: Vec<String> = bar.iter().map(|kind| format!("{} {}", kind.count, kind.label)).collect();
        let href = part.page.zip(self.options.page_href).map(|(page, href)| href(page, &first.node.id));
        let on_path = Way::class(way);
        let best = if is_best { " best-answer" } else { "" };
        let out = &mut self.out;
        let tag = markup::open(
            out,
            &format!("cell together{on_path}{best}"),
            self.options.id(&first.node.id),
            href.as_deref(),
            width * NARROW < REACHED,
            &format!("{name}: {}", kinds.join(", ")),
        );
        let bounds = |y: f64, height: f64| [percent(x), number(y), percent(width), number(height)];
        markup::rect(out, "more-box", bounds(y, CELL), "");
        out.push_str("<g class=\"tally\">");
        let (from, scale) = (y + CELL, (f64::from(rows - 1) * ROW) / BAR as f64);
        for kind in &bar {
            markup::rect(
                out,
                &kind.class,
                bounds(from + kind.x as f64 * scale, kind.width as f64 * scale),
                "",
            );
        }
        self.out.push_str("</g>");
        self.way(way, x, width, y);
        let words = [name, part.nodes.to_string()];
        let fits = |room: f64| words.iter().find(|words| measure(words) * SIZE + 6.0 <= room).cloned();
        self.text(x, width, y, 3.0, fits, "");
        let _ = writeln!(self.out, "</{tag}>");
    }

    /// Draws a line along the bottom edge of a cell on a path to an answer.
    fn way(&mut self, way: Option<Way>, x: f64, width: f64, y: f64) {
        let Some(way) = way else { return };
        let dashes = if way == Way::Doubted { " stroke-dasharray=\"9 4\"" } else { "" };
        let y = number(y + CELL - 1.5);
        let _ = write!(
            self.out,
            "<line class=\"way\" x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"currentColor\" stroke-width=\"3\"{dashes}/>",
            percent(x),
            percent(x + width)
        );
    }

    fn cell(&mut self, cell: usize, is_best: bool) {
        let item = &self.pages.items[cell];
        let (x, width) = self.layout.place(&[cell]);
        let narrow = width * NARROW;
        let y = self.top + f64::from(self.layout.row(cell)) * ROW;
        let mut classes = item.classes();
        if narrow < LINED {
            classes.push_str(" thin");
        }
        if is_best {
            classes.push_str(" best-answer");
        }
        let href = self.options.href.map(|href| href(&item.node.id));
        let name = one_line(item.node.name());
        let short = clamp_lines(&name, TOOLTIP, 1).into_iter().next().unwrap_or_default();
        let tag = markup::open(
            &mut self.out,
            &format!("cell {classes}"),
            self.options.id(&item.node.id),
            href.as_deref(),
            narrow < REACHED,
            &format!("{}: {short}", item.in_words()),
        );
        let (fill, stroke) = fill(item, narrow);
        let bounds = [percent(x), number(y), percent(width), number(CELL)];
        markup::rect(&mut self.out, "", bounds, &format!("{fill}{stroke}"));
        self.way(item.way, x, width, y);
        if narrow >= SIGNED {
            let mut sign = String::new();
            match item.verdict {
                Some(verdict) => {
                    let bold = " text-anchor=\"middle\" font-weight=\"700\"";
                    markup::text(&mut sign, "cell-sign", ["10", "16.5"], bold, verdict.sign());
                }
                None => sign::write(&mut sign, item.role, 10.0, CELL / 2.0),
            }
            let id = item.node.id.as_str();
            let fits = |room: f64| {
                let left = (room - LEFT - RIGHT) / SIZE;
                let used = measure(id) + 0.8;
                let title = (left - used > 6.0)
                    .then(|| clamp_lines(&name, left - used, 1).into_iter().next())
                    .flatten();
                match title {
                    Some(title) => Some(format!("{id}  {title}")),
                    None => (used - 0.8 <= left).then(|| id.to_owned()),
                }
            };
            self.text(x, width, y, LEFT, fits, &sign);
        }
        let _ = writeln!(self.out, "</{tag}>");
    }

    /// Writes text clipped to its cell, in one version for narrow pages and one for wide pages.
    fn text(
        &mut self,
        x: f64,
        width: f64,
        y: f64,
        left: f64,
        fits: impl Fn(f64) -> Option<String>,
        sign: &str,
    ) {
        let alone = self.options.standalone.is_some();
        let (narrow, wide) = (fits(width * NARROW).filter(|_| !alone), fits(width * WIDE));
        if narrow.is_none() && wide.is_none() && sign.is_empty() {
            return;
        }
        let _ = write!(
            self.out,
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{CELL}\">{sign}",
            percent(x),
            number(y),
            percent(width)
        );
        let mut write = |text: &Option<String>, class: &str| {
            if let Some(text) = text {
                markup::text(&mut self.out, class, [&number(left), "16.5"], "", text);
            }
        };
        if narrow == wide || alone {
            write(&wide, "");
        } else {
            write(&narrow, "if-narrow");
            write(&wide, "if-wide");
        }
        self.out.push_str("</svg>");
    }

    /// Writes a flag that names the best answer, unless its cell is wide enough for a label.
    fn flag(&mut self, item: &PageItem<'_>, (x, width): (f64, f64), row: u32, height: f64) {
        let x = x + width / 2.0;
        let from = self.top + f64::from(row) * ROW - (ROW - CELL);
        let anchor = match x {
            ..0.25 => "start",
            ..0.75 => "middle",
            _ => "end",
        };
        let Some(verdict) = item.verdict else { return };
        let sign = verdict.sign();
        let name = one_line(item.node.name());
        let name = clamp_lines(&name, 34.0, 1).into_iter().next().unwrap_or_default();
        let _ = writeln!(
            self.out,
            "<g class=\"flag {}\" aria-hidden=\"true\"><line x1=\"{2}\" x2=\"{2}\" y1=\"{1}\" y2=\"{3}\" stroke=\"currentColor\" \
             stroke-width=\"1.5\"/><text x=\"{2}\" y=\"{4}\" text-anchor=\"{anchor}\" font-weight=\"600\">{sign} {5}  {6}</text></g>",
            item.classes(),
            number(from),
            percent(x),
            number(height - FLAG + 8.0),
            number(height - 8.0),
            item.node.id,
            escape(&name)
        );
    }
}

/// The patterns, each with its name, its CSS class for the colour, its size and its path.
const PATTERNS: [(&str, &str, u8, &str); 8] = [
    ("deadEnd", "role-deadEnd", 6, "M-1 1l2-2M0 6l6-6M5 7l2-2"),
    ("exhausted", "role-exhausted", 5, "M0 2.5h5"),
    ("theory", "role-theory", 6, "M0 0l6 6M6 0l-6 6"),
    ("awaiting", "role-awaitingConfirmation", 6, "M0 1h3M3 4h3"),
    ("confirmation", "role-confirmation", 8, "M0 4h8"),
    ("doubt", "doubt", 5, "M0 1h5M0 2h5"),
    ("contested", "doubt", 6, "M-1-1l2 2M0 0l6 6M5 5l2 2M-.7-1.3l8 8"),
    ("proposed", "proposed", 4, "M0 1h2M2 3h2"),
];

/// Returns a cell with the pattern and sign of a role, or of a proposal if `role` is `None`. Used in legends on pages
/// that define the patterns.
pub fn swatch(role: Option<Role>) -> Svg {
    let fill = match role {
        Some(Role::Solution) => " class=\"full\"",
        _ => pattern(role),
    };
    let mut markup = format!(
        "<svg class=\"graph-sign graph\" width=\"32\" height=\"12\" viewBox=\"0 0 32 12\" aria-hidden=\"true\"><g class=\"cell {}\">\
         <rect width=\"15\" height=\"12\"{fill}/></g>",
        role.map_or("proposed", palette::class)
    );
    sign::write(&mut markup, role, 25.0, 6.0);
    markup.push_str("</svg>");
    Svg { markup, width: 32.0, height: 12.0 }
}

/// Returns the fill attributes of a cell, and the outline attributes if the cell is hollow.
fn fill(item: &PageItem<'_>, narrow: f64) -> (&'static str, &'static str) {
    let hollow = (" fill=\"none\"", " class=\"hollow\" stroke=\"currentColor\" stroke-dasharray=\"4 2\"");
    match (item.verdict, item.role) {
        (Some(Verdict::Contested | Verdict::Undermined), _) => (" fill=\"url(#hatch-contested)\"", ""),
        (Some(Verdict::Refuted), _) => (" fill=\"url(#hatch-deadEnd)\"", ""),
        (Some(verdict), _) if verdict.is_confirmed() => (" class=\"full\"", ""),
        (Some(_), _) | (None, None) if narrow >= HOLLOW => hollow,
        (Some(_), _) => (" fill=\"url(#hatch-doubt)\"", ""),
        (None, role) => (pattern(role), ""),
    }
}

/// Returns the fill attributes for a role, or for a proposal if `role` is `None`.
fn pattern(role: Option<Role>) -> &'static str {
    match role {
        None => " fill=\"url(#hatch-proposed)\"",
        Some(Role::Open | Role::Solution) => " class=\"tint\"",
        Some(Role::DeadEnd) => " fill=\"url(#hatch-deadEnd)\"",
        Some(Role::Exhausted) => " fill=\"url(#hatch-exhausted)\"",
        Some(Role::Theory) => " fill=\"url(#hatch-theory)\"",
        Some(Role::AwaitingConfirmation) => " fill=\"url(#hatch-awaiting)\"",
        Some(Role::Confirmation) => " fill=\"url(#hatch-confirmation)\"",
    }
}

/// Formats a fraction of the total width as a percentage.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Investigation, NodeId};
    use crate::graph::samples;

    fn link(id: &NodeId) -> String {
        format!("nodes/{id}.html")
    }

    fn drawn(investigation: &Investigation, standalone: bool) -> String {
        let pages = Pages::new(&samples::assessed(investigation));
        let page_href = |page: usize, id: &NodeId| format!("{page}.html#{id}");
        let options = SvgOptions {
            href: Some(&link),
            page_href: Some(&page_href),
            has_ids: true,
            standalone: standalone.then_some(samples::ruleset()),
        };
        let markup = super::super::svg(&pages, 0, &options).markup;
        let document =
            roxmltree::Document::parse(&markup).unwrap_or_else(|error| panic!("{error} in {markup}"));
        let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
        markup
    }

    /// Returns a root with three branches. The second contains a confirmed answer, and the third contains two
    /// unconfirmed ones.
    fn some() -> Investigation {
        let mut parents = vec![None];
        for _ in 0..3 {
            let top = parents.len();
            parents.push(Some(0));
            parents.extend(vec![Some(top); 29]);
            parents.push(Some(top + 1));
        }
        samples::tree(&parents, |node| match node {
            33 | 64 | 65 => Some("FOUND"),
            62 => Some("VERIFY"),
            35 => Some("DEAD"),
            36 => Some("EXHAUST"),
            37 => None,
            _ => Some("EXPLORE"),
        })
    }

    #[test]
    fn an_icicle_has_a_cell_for_each_node() {
        let sample = some();
        let markup = drawn(&sample, false);
        let cells: Vec<&str> = markup.lines().filter(|line| line.starts_with("<a class=\"cell")).collect();
        assert_eq!(cells.len(), sample.nodes().count());
        let shown: Vec<&str> = [0, 1, 32, 33, 34, 35, 36, 37, 64].iter().map(|at| cells[*at]).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        <a class="cell role-open on-path" id="R1.N000000" href="nodes/R1.N000000.html"><title>R1.N000000 (Explored): cache</title><rect x="0%" y="30" width="100%" height="24" class="tint"/><line class="way" x1="0%" x2="100%" y1="52.5" y2="52.5" stroke="currentColor" stroke-width="3"/><svg x="0%" y="30" width="100%" height="24"><path class="sign role-open" fill="none" stroke="currentColor" stroke-width="1.6" d="M10 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"/><text x="20" y="16.5">R1.N000000  cache</text></svg></a>
        <a class="cell role-open" id="R2.N000001" href="nodes/R2.N000001.html"><title>R2.N000001 (Explored): retry queue retry queue retry queue retry queue</title><rect x="0%" y="56" width="33.333%" height="24" class="tint"/><svg x="0%" y="56" width="33.333%" height="24"><path class="sign role-open" fill="none" stroke="currentColor" stroke-width="1.6" d="M10 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"/><text class="if-narrow" x="20" y="16.5">R2.N000001  retry queue retry queue…</text><text class="if-wide" x="20" y="16.5">R2.N000001  retry queue retry queue retry queue retry queue</text></svg></a>
        <a class="cell role-open on-path" id="R2.N000032" href="nodes/R2.N000032.html"><title>R2.N000032 (Explored): lock latency lock latency lock</title><rect x="33.333%" y="56" width="33.333%" height="24" class="tint"/><line class="way" x1="33.333%" x2="66.667%" y1="78.5" y2="78.5" stroke="currentColor" stroke-width="3"/><svg x="33.333%" y="56" width="33.333%" height="24"><path class="sign role-open" fill="none" stroke="currentColor" stroke-width="1.6" d="M10 12m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"/><text class="if-narrow" x="20" y="16.5">R2.N000032  lock latency lock latency…</text><text class="if-wide" x="20" y="16.5">R2.N000032  lock latency lock latency lock</text></svg></a>
        <a class="cell role-solution confirmed on-path best-answer" id="R3.N000033" href="nodes/R3.N000033.html" tabindex="-1"><title>R3.N000033 (Answer, confirmed by another agent, same session): 日本語</title><rect x="33.333%" y="82" width="1.149%" height="24" class="full"/><line class="way" x1="33.333%" x2="34.483%" y1="104.5" y2="104.5" stroke="currentColor" stroke-width="3"/></a>
        <a class="cell role-confirmation" id="R4.N000062" href="nodes/R4.N000062.html" tabindex="-1"><title>R4.N000062 (Confirmation): lock latency lock latency lock latency</title><rect x="33.333%" y="108" width="1.149%" height="24" fill="url(#hatch-confirmation)"/></a>
        <a class="cell role-open" id="R3.N000034" href="nodes/R3.N000034.html" tabindex="-1"><title>R3.N000034 (Explored): fsync allocator fsync allocator fsync allocator fsync allocator</title><rect x="34.483%" y="82" width="1.149%" height="24" class="tint"/></a>
        <a class="cell role-deadEnd" id="R3.N000035" href="nodes/R3.N000035.html" tabindex="-1"><title>R3.N000035 (Ruled out): vector cache vector cache</title><rect x="35.632%" y="82" width="1.149%" height="24" fill="url(#hatch-deadEnd)"/></a>
        <a class="cell role-exhausted" id="R3.N000036" href="nodes/R3.N000036.html" tabindex="-1"><title>R3.N000036 (Exhausted): queue retry queue retry queue retry queue retry queue retry queue</title><rect x="36.782%" y="82" width="1.149%" height="24" fill="url(#hatch-exhausted)"/></a>
        <a class="cell role-solution unconfirmed" id="R3.N000064" href="nodes/R3.N000064.html" tabindex="-1"><title>R3.N000064 (Answer, not checked): fsync allocator fsync allocator fsync allocator fsync allocator fsync</title><rect x="66.667%" y="82" width="1.149%" height="24" fill="none" class="hollow" stroke="currentColor" stroke-dasharray="4 2"/></a>
        "#);
        let rest: Vec<&str> = markup.lines().filter(|line| !line.starts_with("<a class=\"cell")).collect();
        insta::assert_snapshot!(rest.join("\n"), @r#"
        <svg class="graph icicle" role="group" aria-label="Graph of “Sample &lt;1&gt; &amp; &quot;2&quot;”, a row for each round: 94 nodes" width="100%" height="164" font-family="system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, &quot;Noto Sans&quot;, &quot;DejaVu Sans&quot;, sans-serif" font-size="12" fill="currentColor">
        <defs><pattern id="hatch-deadEnd" class="hatch role-deadEnd" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/><path fill="none" stroke="currentColor" d="M-1 1l2-2M0 6l6-6M5 7l2-2"/></pattern><pattern id="hatch-exhausted" class="hatch role-exhausted" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5"/><path fill="none" stroke="currentColor" d="M0 2.5h5"/></pattern><pattern id="hatch-theory" class="hatch role-theory" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/><path fill="none" stroke="currentColor" d="M0 0l6 6M6 0l-6 6"/></pattern><pattern id="hatch-awaiting" class="hatch role-awaitingConfirmation" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/><path fill="none" stroke="currentColor" d="M0 1h3M3 4h3"/></pattern><pattern id="hatch-confirmation" class="hatch role-confirmation" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/><path fill="none" stroke="currentColor" d="M0 4h8"/></pattern><pattern id="hatch-doubt" class="hatch doubt" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5"/><path fill="none" stroke="currentColor" d="M0 1h5M0 2h5"/></pattern><pattern id="hatch-contested" class="hatch doubt" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6"/><path fill="none" stroke="currentColor" d="M-1-1l2 2M0 0l6 6M5 5l2 2M-.7-1.3l8 8"/></pattern><pattern id="hatch-proposed" class="hatch proposed" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4"/><path fill="none" stroke="currentColor" d="M0 1h2M2 3h2"/></pattern></defs>
        <g class="parts">
        <a class="more" href="1.html#R2.N000001"><title>A picture of R2.N000001: 31 nodes</title><rect class="more-box" x="0%" y="2" width="33.333%" height="24" rx="3" fill="none" stroke="currentColor"/><svg x="0%" y="2" width="33.333%" height="24"><text x="7" y="16.5">R2.N000001: 31</text></svg></a>
        <a class="more" href="2.html#R2.N000032"><title>A picture of R2.N000032: 31 nodes</title><rect class="more-box" x="33.333%" y="2" width="33.333%" height="24" rx="3" fill="none" stroke="currentColor"/><svg x="33.333%" y="2" width="33.333%" height="24"><text x="7" y="16.5">R2.N000032: 31</text></svg></a>
        <a class="more" href="3.html#R2.N000063"><title>A picture of R2.N000063: 31 nodes</title><rect class="more-box" x="66.667%" y="2" width="33.333%" height="24" rx="3" fill="none" stroke="currentColor"/><svg x="66.667%" y="2" width="33.333%" height="24"><text x="7" y="16.5">R2.N000063: 31</text></svg></a>
        </g>
        <g class="cells">
        </g>
        <g class="flag role-solution confirmed on-path" aria-hidden="true"><line x1="33.908%" x2="33.908%" y1="106" y2="142" stroke="currentColor" stroke-width="1.5"/><text x="33.908%" y="156" text-anchor="middle" font-weight="600">✓ R3.N000033  日本語</text></g>
        </svg>
        "#);
    }

    #[test]
    fn a_cell_is_as_wide_as_the_leaves_below_it_and_stands_below_its_parent() {
        let tree = samples::tree(&samples::complete(700, 4), |_| Some("EXPLORE"));
        let pages = Pages::new(&samples::assessed(&tree));
        let page = &pages.all()[0];
        let layout = IcicleLayout::new(&pages, page);
        for (cell, item) in pages.items.iter().enumerate() {
            let (start, width) = pages.leaves[cell];
            let mut next = start;
            for child in pages.children(Some(cell)) {
                assert_eq!(pages.leaves[child].0, next);
                next += pages.leaves[child].1;
            }
            assert_eq!(if item.below == 0 { start + 1 } else { next }, start + width, "{}", item.node.id);
        }
        assert_eq!((layout.leaves, layout.place(&[0])), (525, (0.0, 1.0)));
    }

    #[test]
    fn small_branches_are_drawn_together_as_what_they_are() {
        // A root with 600 children, one of which is a confirmed answer.
        let mut parents = vec![None];
        parents.extend(vec![Some(0); 600]);
        parents.push(Some(300));
        let tree = samples::tree(&parents, |node| match node {
            300 => Some("FOUND"),
            601 => Some("VERIFY"),
            node if node % 2 == 0 => Some("DEAD"),
            _ => Some("EXPLORE"),
        });
        let markup = drawn(&tree, false);
        let cells: Vec<&str> = markup.lines().filter(|line| line.contains(" class=\"cell")).collect();
        assert!(cells.len() < 60, "{} cells", cells.len());
        let best = markup.lines().find(|line| line.contains("best-answer")).unwrap();
        insta::assert_snapshot!(best, @r#"<a class="cell together on-path best-answer" id="R2.N000294" href="6.html#R2.N000294"><title>18 small branches, 19 nodes: 1 Answer, confirmed, 1 Confirmation, 8 Ruled out, 9 Explored</title><rect class="more-box" x="48.833%" y="56" width="3%" height="24"/><g class="tally"><rect class="role-solution confirmed" x="48.833%" y="80" width="3%" height="1.6"/><rect class="role-confirmation" x="48.833%" y="81.6" width="3%" height="1.6"/><rect class="role-deadEnd" x="48.833%" y="83.1" width="3%" height="10.8"/><rect class="role-open" x="48.833%" y="93.9" width="3%" height="12.1"/></g><line class="way" x1="48.833%" x2="51.833%" y1="78.5" y2="78.5" stroke="currentColor" stroke-width="3"/><svg x="48.833%" y="56" width="3%" height="24"><text x="3" y="16.5">19</text></svg></a>"#);
        let flag = markup.lines().find(|line| line.contains("class=\"flag")).unwrap();
        assert!(flag.contains("R2.N000300"), "{flag}");
    }

    #[test]
    fn alone_it_has_a_style_and_a_width() {
        let markup = drawn(&some(), true);
        assert!(
            markup.starts_with(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph icicle\" role=\"group\""
            )
        );
        assert!(
            markup.contains(" width=\"1280\"") && markup.contains("<style>") && !markup.contains("if-narrow")
        );
    }

    #[test]
    fn hostile_texts_stay_text_in_cells() {
        let title = "</title><script>alert('1')</script>\0\u{202e}\"&]]>\n--><!--";
        let nodes: Vec<String> = (0..100).map(|node| format!("R2.A{node}")).collect();
        let mut all = vec![("R1.A", None, Some("EXPLORE"), title)];
        all.extend(nodes.iter().map(|id| (id.as_str(), Some("R1.A"), Some("FOUND"), title)));
        let markup = drawn(&samples::build(&all), false);
        assert!(!markup.contains("<script") && !markup.contains('\u{202e}'));
    }
}
