//! The geometry of the picture.
//!
//! In the wide form, lanes run from left to right, with labels above them and twigs below. A stem leads from each stop
//! down to the rows of its twigs. Stops are placed from last to first, and each row is placed at the first free
//! height. A stem therefore only passes elements to its left, and nothing overlaps.
//!
//! In the tall form, each stop and each twig has its own row.

use super::{Lane, LaneStop, Model, Sort, Twig};
use crate::graph::text::{clamp_lines, measure, number};

// All lengths are in CSS pixels.
pub(super) const WIDTH: f64 = 1_072.0;
pub(super) const NARROW: f64 = 358.0;
const SIZE: f64 = 14.0;
const SMALL: f64 = 13.0;
const LINE: f64 = 18.0;
/// The minimum height of a touch target (WCAG 2.2) on a page that is 320 pixels wide.
pub(super) const ROW: f64 = 30.0;
/// The relative width of bold text.
const BOLD: f64 = 1.12;
/// The space to the right of an answer for its label and joining lines.
const RIGHT: f64 = 335.0;
/// The distance from a stop to the label above it.
const ABOVE: f64 = 21.0;
/// The space above a lane for its labels.
const LABEL: f64 = 74.0;
const STEP_RADIUS: f64 = 8.0;
const END_RADIUS: f64 = 13.0;
/// The distance between the end of a lane and the end of another lane that continues from there.
const BEYOND: f64 = 100.0;
/// The minimum distance between stops at which all labels fit above the line. If stops are closer, every other label
/// is placed below the line.
const CLOSE: f64 = 170.0;
const LEFT: f64 = 15.0;
/// The minimum fraction of the available space that a clause must fill to replace its sentence.
const LEAST_PHRASE: f64 = 0.4;
/// The distance between the line and the text in the tall form.
const INDENT: f64 = 28.0;

/// The geometry of a picture.
#[derive(Debug, Default)]
pub(super) struct PathLayout {
    pub top: f64,
    pub width: f64,
    pub height: f64,
    /// The lines, from the lowest layer to the highest.
    pub strokes: Vec<Stroke>,
    /// The stops and twigs, in reading order.
    pub places: Vec<PathPlace>,
}

#[derive(Debug)]
pub(super) struct Stroke {
    /// The CSS classes: `line`, `join` or `twig`, followed by the class of the lane or twig.
    pub class: String,
    pub width: f64,
    pub is_dashed: bool,
    pub course: String,
}

/// A stop or a twig.
#[derive(Debug)]
pub(super) struct PathPlace {
    pub class: String,
    pub title: String,
    pub href: Option<String>,
    pub dot: Option<Dot>,
    pub texts: Vec<PathText>,
}

#[derive(Debug)]
pub(super) struct Dot {
    pub x: f64,
    pub y: f64,
    pub radius: f64,
    /// The sign inside a filled dot. Empty for a hollow dot.
    pub sign: &'static str,
}

#[derive(Debug)]
pub(super) struct PathText {
    pub x: f64,
    pub y: f64,
    pub size: f64,
    /// The CSS class: `found`, `aside`, `note`, `text`, `mark` or `from`.
    pub class: &'static str,
    pub text: String,
}

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

impl PathText {
    /// Returns a generous estimate of the area covered by the text.
    pub fn area(&self) -> Area {
        let bold = if self.class == "found" { BOLD } else { 1.0 };
        Area {
            left: self.x,
            top: self.y - self.size * 0.8,
            right: self.x + measure(&self.text) * self.size * bold,
            bottom: self.y + self.size * 0.25,
        }
    }
}

/// Returns the layout of the wide form.
pub(super) fn wide(model: &Model) -> PathLayout {
    // A single stop beyond the end of the first lane needs no column.
    let end = model.lanes[0].stops.len().checked_sub(1).map(|last| (0, last));
    let beyond = |lane: &Lane| lane.stops.len() == 1 && lane.from.is_some() && lane.from == end;
    let lanes = model.lanes.iter().enumerate().filter(|(_, it)| !beyond(it));
    let stops = lanes.flat_map(|(lane, it)| {
        let column = move |stop| model.column((lane, stop));
        (0..it.stops.len()).map(column)
    });
    let last = stops.max().unwrap_or(0);
    let step = |first: f64, right: f64| {
        ((WIDTH - right - LEFT - first) / last.saturating_sub(1).max(1) as f64).min(260.0)
    };
    let first = if last < 3 { 210.0 } else { 116.0 };
    let is_close = last > 1 && step(first, RIGHT) < CLOSE;
    let (first, step) = match is_close {
        true => (82.0, step(82.0, RIGHT - 45.0)),
        false => (first, step(first, RIGHT)),
    };
    let columns = (0..=last).map(|at| LEFT + if at == 0 { 0.0 } else { first + step * (at - 1) as f64 });
    let mut scene = Wide {
        model,
        columns: columns.collect(),
        is_close,
        taken: Vec::new(),
        at: Vec::new(),
        layout: PathLayout { width: WIDTH, ..PathLayout::default() },
    };
    scene.at.resize(model.lanes.len(), 0.0);
    scene.lane(0, 0.0);
    let bottom = scene.taken.iter().map(|it| it.bottom).fold(0.0, f64::max);
    scene.layout.top = scene.taken.iter().map(|it| it.top).fold(bottom, f64::min).floor() - 3.0;
    scene.layout.height = bottom + 6.0 - scene.layout.top;
    // Draw joins and twigs beneath the lanes.
    scene.layout.strokes.sort_by_key(|it| it.width as u32);
    scene.layout
}

struct Wide<'m> {
    model: &'m Model,
    /// The horizontal positions of the stops, indexed by column.
    columns: Vec<f64>,
    /// True if every other label is placed below the line.
    is_close: bool,
    /// The areas already in use.
    taken: Vec<Area>,
    /// The vertical position of each lane.
    at: Vec<f64>,
    layout: PathLayout,
}

impl Wide<'_> {
    fn x(&self, lane: usize, stop: usize) -> f64 {
        let column = self.model.column((lane, stop));
        let beyond = || self.columns.last().map_or(0.0, |last| last + BEYOND);
        self.columns.get(column).copied().unwrap_or_else(beyond)
    }

    fn lane(&mut self, own: usize, y: f64) {
        let model = self.model;
        let lane = &model.lanes[own];
        self.at[own] = y;
        let Some(last) = lane.stops.len().checked_sub(1) else { return };
        let end = self.x(own, last);
        let (begin, course) = match lane.from {
            Some((from, stop)) => {
                let (x, from) = (self.x(from, stop), self.at[from]);
                self.taken.push(Area { left: x - 6.0, top: from, right: x + 6.0, bottom: y });
                (x, turn((x, from), y, 18.0, end))
            }
            None => {
                let x = self.x(own, 0);
                (x, format!("M{} {}H{}", number(x), number(y), number(end)))
            }
        };
        self.taken.push(Area { left: begin, top: y - 14.0, right: end + 14.0, bottom: y + 14.0 });
        if lane.stops.len() > 1 || lane.from.is_some() {
            self.layout.strokes.push(line(lane, course));
        }
        let first = self.layout.places.len();
        for stop in 0..=last {
            self.stop(own, stop, y);
        }
        for stop in (0..=last).rev() {
            let places = self.place_twigs(own, stop, y);
            // In reading order, each stop is followed by its twigs.
            let at = first + stop + 1;
            self.layout.places.splice(at..at, places);
            for (sub, _) in model.lanes.iter().enumerate().filter(|(_, it)| it.from == Some((own, stop))) {
                let x = self.x(own, stop);
                let lowest =
                    self.taken.iter().filter(|it| it.right > x).map(|it| it.bottom).fold(y, f64::max);
                self.lane(sub, lowest + LABEL + 6.0);
            }
        }
    }

    /// Returns true if a stem leads down from a stop.
    fn hangs(&self, lane: usize, stop: usize) -> bool {
        let it = &self.model.lanes[lane].stops[stop];
        !it.twigs.is_empty() || self.model.lanes.iter().any(|sub| sub.from == Some((lane, stop)))
    }

    /// Returns true if a stop's label is below the line.
    fn is_below(&self, lane: usize, stop: usize) -> bool {
        let stops = &self.model.lanes[lane].stops;
        self.is_close
            && matches!(stops[stop].sort, Sort::Step | Sort::Fold)
            && (stops.len() - 1 - stop) % 2 == 1
    }

    /// Places a stop and its label.
    fn stop(&mut self, lane: usize, at: usize, y: f64) {
        let stops = &self.model.lanes[lane].stops;
        let stop = &stops[at];
        let x = self.x(lane, at);
        let is_below = self.is_below(lane, at);
        let left = if is_below { x + 13.0 } else { x - radius(stop) };
        // The space up to the next label on the same side or up to the next stem.
        let next = (at + 1..stops.len()).find(|next| match is_below {
            true => self.hangs(lane, *next) || self.is_below(lane, *next) || *next == stops.len() - 1,
            false => !self.is_below(lane, *next),
        });
        let room = next.map_or(WIDTH, |next| self.x(lane, next) - 26.0) - left;
        let label = label(stop, left, room, self.is_close);
        let height = LINE * label.len() as f64;
        let top = if is_below { y + 14.0 } else { y - ABOVE - height + LINE - SIZE * 0.9 };
        let texts = stacked(label, top);
        self.taken.extend(texts.iter().map(PathText::area));
        self.layout.places.push(place_of(&self.model.lanes[lane], stop, x, y, texts));
    }

    /// Places the twigs of a stop. Joining twigs come first.
    fn place_twigs(&mut self, lane: usize, at: usize, y: f64) -> Vec<PathPlace> {
        let stop = &self.model.lanes[lane].stops[at];
        let x = self.x(lane, at);
        let mut places = Vec::new();
        for twig in &stop.joins {
            let left = x + 66.0;
            let texts = self.place_texts(twig, left, 2, y - LINE / 2.0 - 3.0);
            let row = texts[0].y - 4.5;
            let is_level = (row - y).abs() < 1.0;
            let (from, y, row, to) = (x + END_RADIUS, number(y), number(row), number(left - 8.0));
            let (middle, from) = (number(from + 22.0), number(from));
            let course = match is_level {
                true => format!("M{from} {y}H{to}"),
                false => format!("M{from} {y}C{middle} {y} {middle} {row} {to} {row}"),
            };
            self.layout.strokes.push(stroke("join", twig, course));
            places.push(place(twig, "join", texts));
        }
        for twig in &stop.twigs {
            let left = x + 28.0;
            let texts = self.place_texts(twig, left, 1, y + 22.0);
            let row = texts[0].y - 4.5;
            let course = turn((x, y), row, 10.0, left - 7.0);
            self.taken.push(Area { left: x - 3.0, top: y, right: x + 3.0, bottom: row });
            self.layout.strokes.push(stroke("twig", twig, course));
            places.push(place(twig, "twig", texts));
        }
        places
    }

    /// Places the text of a twig at the first free height.
    fn place_texts(&mut self, twig: &Twig, left: f64, most: usize, from: f64) -> Vec<PathText> {
        let lines = twig_lines(twig, left, (WIDTH - left).min(560.0), most);
        let height = LINE * (lines.len() - 1) as f64 + ROW;
        let right = lines.iter().map(|it| it.area().right).fold(left, f64::max);
        let mut area = Area { left: left - 20.0, top: from, right: right + 10.0, bottom: from + height };
        while let Some(other) =
            self.taken.iter().filter(|it| it.meets(&area)).map(|it| it.bottom).reduce(f64::max)
        {
            (area.top, area.bottom) = (other + 0.5, other + 0.5 + height);
        }
        self.taken.push(area);
        stacked(lines, area.top + 4.0)
    }
}

/// Returns the layout of the tall form.
pub(super) fn tall(model: &Model) -> PathLayout {
    let mut layout = PathLayout { width: NARROW, ..PathLayout::default() };
    let (x, left) = (LEFT, LEFT + INDENT);
    let room = NARROW - left;
    let mut y = 2.0;
    for lane in &model.lanes {
        let begin = y + SIZE * 0.75;
        if let Some((from, stop)) = lane.from {
            let from = &model.lanes[from].stops[stop];
            let what = if from.sort == Sort::Question {
                "Also from the question".to_owned()
            } else {
                format!("Also from: {}", from.text)
            };
            let mut lines = clamp_lines(&what, room / SMALL, 1);
            let text = PathText {
                x: left,
                y: y + SMALL,
                size: SMALL,
                class: "from",
                text: lines.pop().unwrap_or_default(),
            };
            let dot = Some(Dot { x, y: begin, radius: 5.0, sign: "" });
            layout.places.push(PathPlace {
                class: "stop quiet".to_owned(),
                title: what,
                href: None,
                dot,
                texts: vec![text],
            });
            y += 34.0;
        }
        let line_at = layout.strokes.len();
        let mut end = begin;
        for stop in &lane.stops {
            end = y + SIZE * 0.75;
            let texts = stacked(label(stop, left, room, false), y);
            y += LINE * texts.len() as f64 + 6.0;
            layout.places.push(place_of(lane, stop, x, end, texts));
            for (twig, what) in
                stop.joins.iter().map(|it| (it, "join")).chain(stop.twigs.iter().map(|it| (it, "twig")))
            {
                let texts = stacked(
                    twig_lines(twig, left, room, if what == "join" || twig.sign == "+" { 2 } else { 1 }),
                    y + 4.0,
                );
                let row = texts[0].y - 4.5;
                let course = turn((x, end), row, 10.0, left - 5.0);
                y += LINE * (texts.len() - 1) as f64 + ROW;
                layout.strokes.push(stroke(what, twig, course));
                layout.places.push(place(twig, what, texts));
            }
            y += 12.0;
        }
        // Draw lines to near twigs above lines that lead further down.
        layout.strokes[line_at..].reverse();
        if end > begin {
            layout.strokes.push(line(lane, format!("M{} {}V{}", number(x), number(begin), number(end))));
        }
        y += 8.0;
    }
    layout.height = y;
    layout
}

fn radius(stop: &LaneStop) -> f64 {
    match stop.sort {
        Sort::End => END_RADIUS,
        Sort::Fold => STEP_RADIUS + 2.0,
        Sort::Question | Sort::Step => STEP_RADIUS,
    }
}

/// Returns the lines of a stop's label. The vertical positions are set later.
fn label(stop: &LaneStop, x: f64, room: f64, is_close: bool) -> Vec<PathText> {
    let (class, size) = match stop.sort {
        Sort::Question | Sort::Fold => ("aside", SMALL),
        Sort::Step if is_close => ("found light", SMALL),
        Sort::Step => ("found", SIZE),
        Sort::End => ("found", SIZE + 1.0),
    };
    let line = |class, size: f64| move |text| PathText { x, y: 0.0, size, class, text };
    let bold = if class == "found" { BOLD } else { 1.0 };
    let lines = phrase(&stop.text, room / size / bold, 2).into_iter().map(line(class, size));
    let notes = clamp_lines(&stop.note, room / SMALL, 2).into_iter().map(line("note", SMALL));
    lines.chain(notes).collect()
}

/// Wraps text into up to `most` lines. Longer text is cut after the last clause that fits and fills enough of the
/// space.
fn phrase(text: &str, room: f64, most: usize) -> Vec<String> {
    let fits = |end: &usize| {
        let width = measure(&text[..*end]);
        width >= room * most as f64 * LEAST_PHRASE
            && clamp_lines(&text[..*end], room - 1.0, most + 1).len() <= most
    };
    let marks = [", ", "; ", ": ", " – ", " ("];
    let ends = marks.iter().flat_map(|mark| text.match_indices(mark)).map(|(at, _)| at);
    match ends.filter(fits).max() {
        Some(end) if clamp_lines(text, room, most + 1).len() > most => {
            clamp_lines(&format!("{}…", &text[..end]), room, most)
        }
        _ => clamp_lines(text, room, most),
    }
}

/// Returns the lines of a twig, with space for its sign before the first line and its tail after the last line of
/// text.
fn twig_lines(twig: &Twig, x: f64, room: f64, most: usize) -> Vec<PathText> {
    let left = if twig.sign.is_empty() { 0.0 } else { 17.0 };
    let room = (room - left) / SMALL;
    let tail = measure(&twig.tail);
    let room_of_text = (room - tail).max(6.0);
    let mut lines = match most {
        1 => clamp_lines(&twig.text, room_of_text, 1),
        most => phrase(&twig.text, room_of_text, most),
    };
    match lines.last_mut() {
        Some(last) => last.push_str(&twig.tail),
        None => lines.push(twig.tail.clone()),
    }
    let notes = clamp_lines(&twig.note, room, 2).into_iter().map(|text| ("note", text));
    let lines = lines.into_iter().map(|text| ("text", text)).chain(notes);
    lines.map(|(class, text)| PathText { x: x + left, y: 0.0, size: SMALL, class, text }).collect()
}

/// Positions lines one below the other.
fn stacked(mut lines: Vec<PathText>, top: f64) -> Vec<PathText> {
    for (at, line) in lines.iter_mut().enumerate() {
        line.y = top + LINE * at as f64 + SIZE * 0.9;
    }
    lines
}

fn place_of(lane: &Lane, stop: &LaneStop, x: f64, y: f64, texts: Vec<PathText>) -> PathPlace {
    let sort = match stop.sort {
        Sort::Step => "step",
        Sort::Question => "question",
        Sort::Fold => "fold",
        Sort::End => "end",
    };
    let sign = match stop.sort {
        Sort::End => stop.sign,
        Sort::Fold => "···",
        Sort::Step | Sort::Question => "",
    };
    PathPlace {
        class: format!("stop {sort} {}", if stop.class.is_empty() { lane.class } else { stop.class }),
        title: stop.title.clone(),
        href: stop.href.clone(),
        dot: Some(Dot { x, y, radius: radius(stop), sign }),
        texts,
    }
}

/// Returns a twig with its text positioned.
fn place(twig: &Twig, what: &str, mut texts: Vec<PathText>) -> PathPlace {
    if !twig.sign.is_empty() {
        let (x, y) = (texts[0].x - 17.0, texts[0].y);
        texts.insert(0, PathText { x, y, size: SMALL, class: "mark", text: twig.sign.to_owned() });
    }
    PathPlace {
        class: format!("{what} {}", twig.class),
        title: twig.title.clone(),
        href: twig.href.clone(),
        dot: None,
        texts,
    }
}

fn line(lane: &Lane, course: String) -> Stroke {
    Stroke { class: format!("line {}", lane.class), width: 7.0, is_dashed: lane.is_dashed(), course }
}

fn stroke(what: &str, twig: &Twig, course: String) -> Stroke {
    let width = if what == "join" { 2.4 } else { 1.5 };
    let is_dashed = what == "join" && twig.class == "unconfirmed";
    Stroke { class: format!("{what} {}", twig.class), width, is_dashed, course }
}

/// Returns a path that leads down from a point, turns right in a row and ends there.
fn turn((x, y): (f64, f64), row: f64, radius: f64, end: f64) -> String {
    let [above, right, x, y, row, end] = [row - radius, x + radius, x, y, row, end].map(number);
    format!("M{x} {y}V{above}Q{x} {row} {right} {row}H{end}")
}
