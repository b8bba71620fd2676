//! The wall around layout-rs, which says where boxes stand that are no tree, and where the lines between them run.
//!
//! layout-rs gives each box a rank (here a column: left of all that it leads to), orders the boxes of each rank so that few
//! lines cross, and leads a line over several ranks through each of them, beside the boxes. What it finds comes back through a
//! `RenderBackend` that only notes it. Nothing of anybody's text goes through it: `properties` holds a number.
//!
//! # Limits
//!
//! - Its time grows with the cube of the boxes, and a line over many ranks is a box in each: callers have few of both.
//! - It looks for cycles in a time that can double with each box. So it is given no cycle, and no cause to look: each line
//!   leads from a box to a later one, and comes after all lines of earlier boxes. A line back is turned round, and given back
//!   as it was.
//! - It panics without boxes and on a size that is zero or not a number: such a box is made a small one. A line to itself or to
//!   a box that is not there has no course.

use layout::core::base::Orientation;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::{Point, Position};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;

use super::place::Bounds;

/// Free space between columns, and between the boxes of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    pub columns: f64,
    pub boxes: f64,
}

/// Where everything is; the top left corner is at 0, 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    /// The boxes, in their order.
    pub boxes: Vec<Bounds>,
    /// The courses of the lines, in their order.
    pub lines: Vec<Course>,
}

/// The way of a line: from the side of its first box to that of its last one, and for each column that it passes, its edges and
/// the height at which it does. Empty for a line without a course.
pub(super) type Course = Vec<(f64, f64)>;

/// The least width and height of a box.
const LEAST: f64 = 1.0;

/// Places boxes of these widths and heights so that lines lead from left to right, as far as they are in no circle.
pub(super) fn place(sizes: &[(f64, f64)], lines: &[(usize, usize)], space: Space) -> Placed {
    if sizes.is_empty() {
        return Placed { boxes: Vec::new(), lines: vec![Course::new(); lines.len()] };
    }
    let mut graph = VisualGraph::new(Orientation::LeftToRight);
    // Its checks of its own work ask for each line whether it closes a circle.
    graph.dag.set_validate(false);
    let boxes: Vec<_> =
        sizes.iter().enumerate().map(|(at, size)| graph.add_node(element(at, *size, space))).collect();
    let mut onward: Vec<(usize, usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, (from, to))| from != to && *from.max(to) < sizes.len())
        .map(|(line, (from, to))| (*from.min(to), *from.max(to), line))
        .collect();
    onward.sort_unstable();
    // Of lines between the same two boxes it places one.
    let mut last = None;
    for (from, to, line) in &onward {
        if last.replace((*from, *to)) != Some((*from, *to)) {
            let arrow = Arrow::simple_with_properties("", line.to_string());
            graph.add_edge(arrow, boxes[*from], boxes[*to]);
        }
    }
    let mut notes = Notes { boxes: vec![None; sizes.len()], heights: vec![Vec::new(); lines.len()] };
    graph.do_it(false, false, false, &mut notes);

    let boxes = at_origin(notes.boxes);
    let columns = Columns::of(&boxes.0);
    let mut courses = vec![Course::new(); lines.len()];
    let mut placed = (0, 0, 0);
    for (from, to, line) in onward {
        // What leads between the same two boxes has the course of the first.
        if (placed.0, placed.1) != (from, to) {
            placed = (from, to, line);
        }
        let heights = notes.heights[placed.2].iter().map(|y| y - boxes.1);
        let mut course = columns.course(&boxes.0[from], &boxes.0[to], heights);
        if lines[line].0 > lines[line].1 {
            course.reverse();
        }
        courses[line] = course;
    }
    Placed { boxes: boxes.0, lines: courses }
}

fn element(at: usize, (width, height): (f64, f64), space: Space) -> Element {
    let sound = |size: f64| if size.is_finite() { size.max(LEAST) } else { LEAST };
    let size = Point::new(sound(width), sound(height));
    let shape = ShapeKind::Box(String::new());
    let orientation = Orientation::LeftToRight;
    let mut element =
        Element::create_with_properties(shape, StyleAttr::simple(), orientation, size, at.to_string());
    element.pos = Position::new(Point::zero(), size, Point::zero(), Point::new(space.columns, space.boxes));
    element
}

/// The boxes moved to the origin, and by how much they were moved up.
fn at_origin(boxes: Vec<Option<Bounds>>) -> (Vec<Bounds>, f64) {
    let mut boxes: Vec<Bounds> = boxes
        .into_iter()
        .map(|it| it.unwrap_or(Bounds { x: 0.0, y: 0.0, width: LEAST, height: LEAST }))
        .collect();
    let left = boxes.iter().map(|it| it.x).fold(f64::INFINITY, f64::min);
    let top = boxes.iter().map(|it| it.y).fold(f64::INFINITY, f64::min);
    for it in &mut boxes {
        it.x -= left;
        it.y -= top;
    }
    (boxes, top)
}

/// The columns from left to right: the left and right edge of each. Boxes of one have the same middle.
struct Columns(Vec<(f64, f64)>);

impl Columns {
    fn of(boxes: &[Bounds]) -> Columns {
        let mut all: Vec<(f64, f64)> = boxes.iter().map(|it| (it.x, it.x + it.width)).collect();
        all.sort_by(|one, other| (one.0 + one.1).total_cmp(&(other.0 + other.1)));
        let mut columns: Vec<(f64, f64)> = Vec::new();
        for (left, right) in all {
            match columns.last_mut() {
                Some(last) if left < last.1 => *last = (last.0.min(left), last.1.max(right)),
                _ => columns.push((left, right)),
            }
        }
        Columns(columns)
    }

    /// From one box to another, at these heights through the columns between.
    fn course(&self, from: &Bounds, to: &Bounds, heights: impl Iterator<Item = f64>) -> Course {
        let own = self.0.iter().position(|(left, right)| (*left..*right).contains(&from.x)).unwrap_or(0);
        let passed = self.0.iter().skip(own + 1).zip(heights);
        std::iter::once((from.x + from.width, from.y + from.height / 2.0))
            .chain(passed.flat_map(|((left, right), y)| [(*left, y), (*right, y)]))
            .chain([(to.x, to.y + to.height / 2.0)])
            .collect()
    }
}

/// Notes where boxes stand and at which heights lines pass columns.
struct Notes {
    boxes: Vec<Option<Bounds>>,
    heights: Vec<Vec<f64>>,
}

impl RenderBackend for Notes {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        _look: &StyleAttr,
        properties: Option<String>,
        _clip: Option<ClipHandle>,
    ) {
        let at = properties.and_then(|key| key.parse::<usize>().ok());
        if let Some(place) = at.and_then(|at| self.boxes.get_mut(at)) {
            *place = Some(Bounds { x: xy.x, y: xy.y, width: size.x, height: size.y });
        }
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _dashed: bool,
        _head: (bool, bool),
        _look: &StyleAttr,
        properties: Option<String>,
        _text: &str,
    ) {
        let line = properties.and_then(|key| key.parse::<usize>().ok());
        // The first and the last are the ends, the others what it passes.
        let between = path.get(1..path.len().saturating_sub(1)).unwrap_or_default();
        if let Some(heights) = line.and_then(|line| self.heights.get_mut(line)) {
            *heights = between.iter().map(|(_, point)| point.y).collect();
        }
    }

    fn draw_text(&mut self, _xy: Point, _text: &str, _look: &StyleAttr) {}
    fn draw_line(&mut self, _start: Point, _stop: Point, _look: &StyleAttr, _properties: Option<String>) {}
    fn draw_circle(&mut self, _xy: Point, _size: Point, _look: &StyleAttr, _properties: Option<String>) {}
    fn create_clip(&mut self, _xy: Point, _size: Point, _rounded_px: usize) -> ClipHandle {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    const SPACE: Space = Space { columns: 50.0, boxes: 20.0 };

    fn of(boxes: usize, lines: &[(usize, usize)]) -> Placed {
        place(&vec![(100.0, 40.0); boxes], lines, SPACE)
    }

    #[test]
    fn a_way_runs_from_left_to_right_and_what_belongs_together_stands_together() {
        let placed = of(5, &[(0, 1), (1, 2), (0, 3), (1, 4)]);
        let x: Vec<f64> = placed.boxes.iter().map(|it| it.x).collect();
        assert_eq!(x, [0.0, 150.0, 300.0, 150.0, 300.0]);
        assert_eq!(placed.lines[0].len(), 2);
        assert_eq!(placed.lines[0][0].0, 100.0);
        assert_eq!(placed.lines[0][1].0, 150.0);
    }

    #[test]
    fn a_long_line_passes_the_boxes_between() {
        let placed = of(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        let [_, (left, y), (right, same), ..] = placed.lines[3][..] else { panic!() };
        assert_eq!((left, right, y), (150.0, 250.0, same));
        let between = placed.boxes[1];
        assert!(y < between.y || y > between.y + between.height);
    }

    #[test]
    fn a_line_back_is_given_back_as_it_was() {
        let placed = of(2, &[(0, 1), (1, 0)]);
        let back: Vec<_> = placed.lines[1].iter().rev().copied().collect();
        assert_eq!(placed.lines[0], back);
    }

    #[test]
    fn what_layout_would_panic_on_is_left_out() {
        assert!(place(&[], &[(0, 1)], SPACE).lines[0].is_empty());
        let placed = place(&[(f64::NAN, -1.0), (0.0, f64::INFINITY)], &[(0, 0), (0, 9), (0, 1)], SPACE);
        assert!(placed.boxes.iter().all(|it| it.width == LEAST && it.height == LEAST));
        let lengths: Vec<usize> = placed.lines.iter().map(Vec::len).collect();
        assert_eq!(lengths, [0, 0, 2]);
    }

    #[test]
    fn the_search_for_circles_takes_no_time() {
        // As many ways from end to end as there are numbers of 40 bits.
        let diamonds: Vec<(usize, usize)> = (0..40)
            .flat_map(|at| [(at, at + 1), (at, at + 2), (at, at + 1)])
            .filter(|(_, to)| *to < 41)
            .collect();
        let since = Instant::now();
        of(41, &diamonds);
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    }

    proptest! {
        #![proptest_config(crate::testing::sampled(64))]

        #[test]
        fn any_graph_is_placed_and_no_line_runs_through_a_box(
            heights in prop::collection::vec(20.0..120.0_f64, 1..24),
            lines in prop::collection::vec((0_usize..26, 0_usize..26), 0..48),
        ) {
            let sizes: Vec<(f64, f64)> = heights.iter().map(|height| (100.0, *height)).collect();
            let placed = place(&sizes, &lines, SPACE);
            prop_assert_eq!(placed.boxes.len(), sizes.len());
            for (at, one) in placed.boxes.iter().enumerate() {
                prop_assert!(one.x >= 0.0 && one.y >= 0.0 && one.x.is_finite() && one.y.is_finite());
                for other in &placed.boxes[at + 1..] {
                    let apart = one.x + one.width <= other.x
                        || other.x + other.width <= one.x
                        || one.y + one.height <= other.y
                        || other.y + other.height <= one.y;
                    prop_assert!(apart, "{one:?} {other:?}");
                }
            }
            for ((from, to), course) in lines.iter().zip(&placed.lines) {
                let known = from != to && *from.max(to) < sizes.len();
                prop_assert_eq!(known, !course.is_empty());
                let mut course = course.clone();
                if from > to {
                    course.reverse();
                }
                prop_assert!(course.windows(2).all(|pair| pair[0].0 < pair[1].0), "{:?}", course);
                for straight in course.get(1..course.len().max(1) - 1).unwrap_or_default().chunks(2) {
                    let [(left, y), (right, _)] = straight else { panic!("{course:?}") };
                    for it in &placed.boxes {
                        let beside = it.x + it.width <= *left || it.x >= *right;
                        prop_assert!(beside || *y < it.y || *y > it.y + it.height, "{it:?} {course:?}");
                    }
                }
            }
            let again = place(&sizes, &lines, SPACE);
            prop_assert_eq!(placed.boxes, again.boxes);
            prop_assert_eq!(placed.lines, again.lines);
        }
    }
}
