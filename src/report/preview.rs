//! The picture that chats and search engines show beside a link to an investigation: its nodes in little, a row for each round,
//! in the colours of their states, and at the left edge how sure the best answer is.
//!
//! There is no text in it: programs show title and description beside it, in their own letters, and letters would need a font
//! in this program for each script that people write.

use std::collections::{BTreeSet, HashMap};

use tiny_skia::{Color, Paint, Pixmap, Rect, Transform};

use super::model::{Card, Report};
use crate::assess::Verdict;
use crate::domain::{Investigation, NodeId};
use crate::graph;
use crate::ruleset::{Role, Ruleset};

/// Its file, in the folder of the investigation.
pub(super) const FILE: &str = "preview.png";
/// The size that those who show such pictures ask for, in pixels.
const WIDTH: u32 = 1200;
const HEIGHT: u32 = 630;
const MARGIN: f32 = 56.0;
const BAND: f32 = 20.0;
/// So high is a row at most, and so wide a node with no other beside it: a tree of three is not a picture of three walls.
const ROW_MAX: f32 = 92.0;
const LEAF_MAX: f32 = 150.0;
/// Between two nodes, where there is room.
const GAP: f32 = 3.0;

/// A node in the picture: how many leaves are left of it, how many below it, and in which row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: usize,
    leaves: usize,
    row: usize,
    is_root: bool,
}

/// The picture as a PNG; none of an investigation without nodes.
pub(super) fn png(report: &Report, investigation: &Investigation, ruleset: &Ruleset) -> Option<Vec<u8>> {
    let places = places(investigation);
    let leaves =
        places.iter().filter(|(_, place)| place.is_root).map(|(_, place)| place.leaves).sum::<usize>();
    // Rounds that have no node take no room.
    let rounds: BTreeSet<usize> = places.iter().map(|(_, place)| place.row).collect();
    let row_of: HashMap<usize, usize> = rounds.iter().enumerate().map(|(at, round)| (*round, at)).collect();
    let rows = rounds.len();
    if rows == 0 {
        return None;
    }
    let mut picture = Pixmap::new(WIDTH, HEIGHT)?;
    picture.fill(Color::WHITE);
    let band = match report.header.sure {
        Some(verdict) if verdict.is_confirmed() => graph::role_colour(Role::Solution).light,
        Some(_) => graph::DOUBT.light,
        None => graph::role_colour(Role::Exhausted).light,
    };
    fill(&mut picture, [0.0, 0.0, BAND, HEIGHT as f32], band, 1.0);
    let (width, height) = (WIDTH as f32 - BAND - 2.0 * MARGIN, HEIGHT as f32 - 2.0 * MARGIN);
    let leaf = (width / leaves as f32).min(LEAF_MAX);
    let row = (height / rows as f32).min(ROW_MAX);
    // Little ones stand in the middle.
    let left = BAND + MARGIN + (width - leaf * leaves as f32) / 2.0;
    let top = MARGIN + (height - row * rows as f32) / 2.0;
    let gap = if leaf > 4.0 * GAP { GAP } else { 0.0 };
    let cards: HashMap<&NodeId, &Card> =
        report.nodes.iter().map(|node| (&node.card.id, &*node.card)).collect();
    for (id, place) in places {
        let state =
            investigation.node(id).and_then(|node| node.state()).and_then(|state| ruleset.state(state));
        let card = cards.get(id);
        let role = match state {
            _ if card.is_some_and(|card| card.state.word == graph::REFUTATION) => Role::DeadEnd,
            state => state.map_or(Role::Open, |state| state.role),
        };
        let colour = match card.and_then(|card| card.sure) {
            None => graph::role_colour(role),
            Some(Verdict::Refuted) => graph::role_colour(Role::DeadEnd),
            Some(verdict) if verdict.is_confirmed() => graph::role_colour(role),
            Some(_) => graph::DOUBT,
        };
        let area = [
            left + leaf * place.start as f32,
            top + row * row_of[&place.row] as f32,
            leaf * place.leaves as f32 - gap,
            if row > 3.0 * GAP { row - GAP } else { row },
        ];
        // What leads on is pale, so that what came of it is seen.
        let strength = match role {
            Role::Open => 0.25,
            Role::DeadEnd | Role::Exhausted => 0.5,
            _ => 1.0,
        };
        fill(&mut picture, area, colour.light, strength);
    }
    picture.encode_png().ok()
}

/// Every node, parents before their children.
fn places(investigation: &Investigation) -> Vec<(&NodeId, Place)> {
    let nodes: Vec<_> = investigation.nodes().collect();
    let at: HashMap<&NodeId, usize> = nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let parent = |number: usize| nodes[number].parent.as_ref().and_then(|parent| at.get(parent)).copied();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|number| nodes[*number].round());
    let mut leaves = vec![0; nodes.len()];
    for number in order.iter().rev() {
        leaves[*number] = leaves[*number].max(1);
        if let Some(parent) = parent(*number) {
            leaves[parent] += leaves[*number];
        }
    }
    let mut next = vec![0; nodes.len()];
    let mut roots = 0;
    let mut places = Vec::with_capacity(nodes.len());
    for number in order {
        let is_root = parent(number).is_none();
        let free = parent(number).map_or(&mut roots, |parent| &mut next[parent]);
        let start = *free;
        *free += leaves[number];
        next[number] = start;
        let row = nodes[number].round().saturating_sub(1) as usize;
        places.push((&nodes[number].id, Place { start, leaves: leaves[number], row, is_root }));
    }
    places
}

/// A rectangle: left, top, width, height.
fn fill(picture: &mut Pixmap, [left, top, width, height]: [f32; 4], colour: &str, strength: f32) {
    let Some(area) = Rect::from_xywh(left, top, width.max(0.05), height) else { return };
    let part =
        |at: usize| colour.get(at..at + 2).and_then(|part| u8::from_str_radix(part, 16).ok()).unwrap_or(0);
    let mut paint = Paint::default();
    paint.set_color_rgba8(part(1), part(3), part(5), (strength * 255.0) as u8);
    picture.fill_rect(area, &paint, Transform::identity(), None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    #[test]
    fn a_node_is_as_wide_as_the_leaves_below_it() {
        let input = sample();
        let places = places(&input.snapshot.investigation);
        let all = places.len();
        assert_eq!(all, input.snapshot.investigation.nodes().count());
        let of = |wanted: &str| places.iter().find(|(id, _)| id.as_str() == wanted).unwrap().1;
        let (root, child) = (of("R1.A"), of("R2.A1"));
        assert_eq!((root.row, child.row), (0, 1));
        assert!(root.start <= child.start && child.start + child.leaves <= root.start + root.leaves);
        // In a row none stands on another.
        for (id, one) in &places {
            let others = places.iter().filter(|(other, place)| other != id && place.row == one.row);
            for (other, place) in others {
                assert!(
                    place.start + place.leaves <= one.start || one.start + one.leaves <= place.start,
                    "{id} {other}"
                );
            }
        }
    }
}
