//! The wall around layout-rs: cards become its `Element`s at places of our own, and its rendering comes back to us
//! through a `RenderBackend` that only passes on which card or edge is to be drawn where.
//!
//! Nothing of a node's text goes through layout-rs: `properties` holds the card's number. Its own SVG writer is not
//! used, since it puts texts into the markup as they are, nor is its placement, since that grows with the cube of
//! the number of nodes. It panics on a size that is zero or not a number: such a card is left out.

use layout::core::base::Orientation;
use layout::core::format::{ClipHandle, RenderBackend, Renderable};
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::render::render_arrow;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};

/// Where a card is, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// The left edge.
    pub x: f64,
    /// The top edge.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// Receives what is to be drawn.
pub(super) trait Pen {
    /// Draws the edge that leads to the card of this number, from the first point to the second.
    fn edge(&mut self, to: usize, from: (f64, f64), until: (f64, f64));
    /// Draws the card of this number.
    fn card(&mut self, card: usize, place: Bounds);
}

/// Draws the edges to the given cards from their parents, in that order.
pub(super) fn edges(places: &[Bounds], edges: impl Iterator<Item = (usize, usize)>, pen: &mut dyn Pen) {
    let mut backend = Backend { pen, ends: ((0.0, 0.0), (0.0, 0.0)) };
    for (from, to) in edges {
        let (Some(parent), Some(child)) = (element(places, from), element(places, to)) else { continue };
        // layout-rs moves the ends along the sides of a box; ours are the middles of the facing sides.
        backend.ends =
            ((parent.pos.right(false), parent.pos.center().y), (child.pos.left(false), child.pos.center().y));
        let arrow = Arrow::simple_with_properties("", to.to_string());
        render_arrow(&mut backend, false, &[parent, child], &arrow);
    }
}

/// Draws all cards, in their order.
pub(super) fn cards(places: &[Bounds], pen: &mut dyn Pen) {
    let mut backend = Backend { pen, ends: ((0.0, 0.0), (0.0, 0.0)) };
    for element in (0..places.len()).filter_map(|card| element(places, card)) {
        element.render(false, &mut backend);
    }
}

fn element(places: &[Bounds], card: usize) -> Option<Element> {
    let place = places.get(card)?;
    let sound = [place.x, place.y, place.width, place.height].iter().all(|number| number.is_finite())
        && place.width > 0.0
        && place.height > 0.0;
    if !sound {
        return None;
    }
    let size = Point::new(place.width, place.height);
    let shape = ShapeKind::Box(String::new());
    let mut element = Element::create_with_properties(
        shape,
        StyleAttr::simple(),
        Orientation::LeftToRight,
        size,
        card.to_string(),
    );
    element.move_to(Point::new(place.x + place.width / 2.0, place.y + place.height / 2.0));
    Some(element)
}

struct Backend<'a> {
    pen: &'a mut dyn Pen,
    /// The ends of the edge that is being drawn.
    ends: ((f64, f64), (f64, f64)),
}

impl RenderBackend for Backend<'_> {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        _look: &StyleAttr,
        properties: Option<String>,
        _clip: Option<ClipHandle>,
    ) {
        if let Some(card) = properties.and_then(|key| key.parse().ok()) {
            self.pen.card(card, Bounds { x: xy.x, y: xy.y, width: size.x, height: size.y });
        }
    }

    fn draw_arrow(
        &mut self,
        _path: &[(Point, Point)],
        _dashed: bool,
        _head: (bool, bool),
        _look: &StyleAttr,
        properties: Option<String>,
        _text: &str,
    ) {
        if let Some(card) = properties.and_then(|key| key.parse().ok()) {
            self.pen.edge(card, self.ends.0, self.ends.1);
        }
    }

    // The pen writes a card's text itself, and there are no other shapes.
    fn draw_text(&mut self, _xy: Point, _text: &str, _look: &StyleAttr) {}
    fn draw_line(&mut self, _start: Point, _stop: Point, _look: &StyleAttr, _properties: Option<String>) {}
    fn draw_circle(&mut self, _xy: Point, _size: Point, _look: &StyleAttr, _properties: Option<String>) {}
    fn create_clip(&mut self, _xy: Point, _size: Point, _rounded_px: usize) -> ClipHandle {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Pen for Notes {
        fn edge(&mut self, to: usize, from: (f64, f64), until: (f64, f64)) {
            self.0.push(format!("edge {to} {from:?} {until:?}"));
        }
        fn card(&mut self, card: usize, place: Bounds) {
            self.0.push(format!("card {card} {} {}", place.x, place.y));
        }
    }

    #[test]
    fn cards_and_edges_come_back_where_they_were_put() {
        let place = |x, y| Bounds { x, y, width: 100.0, height: 40.0 };
        let mut notes = Notes::default();
        edges(&[place(0.0, 0.0), place(150.0, 30.0)], [(0, 1)].into_iter(), &mut notes);
        cards(&[place(0.0, 0.0), place(150.0, 30.0)], &mut notes);
        assert_eq!(notes.0, ["edge 1 (100.0, 20.0) (150.0, 50.0)", "card 0 0 0", "card 1 150 30"]);
    }

    #[test]
    fn what_layout_would_panic_on_is_left_out() {
        let good = Bounds { x: 0.0, y: 0.0, width: 100.0, height: 40.0 };
        let bad = [
            Bounds { x: f64::NAN, ..good },
            Bounds { y: f64::INFINITY, ..good },
            Bounds { width: 0.0, ..good },
            Bounds { height: -1.0, ..good },
        ];
        for bad in bad {
            let mut notes = Notes::default();
            edges(&[good, bad], [(0, 1), (0, 7), (0, 0)].into_iter(), &mut notes);
            cards(&[bad], &mut notes);
            assert_eq!(notes.0, ["edge 0 (100.0, 20.0) (0.0, 20.0)"]);
        }
        cards(&[], &mut Notes::default());
    }
}
