use std::sync::Arc;

use proptest::prelude::*;

use super::layout::{Area, PathLayout, PathText, tall, wide};
use super::*;
use crate::domain::{BoundAnswer, Conclusion, Investigation, Timestamp};
use crate::graph::samples::{self, well_formed};

fn href(id: &NodeId) -> String {
    format!("nodes/{id}.html")
}

const LINKS: PathLinks<'static> = PathLinks { node: &href, question: None };

fn model(investigation: &Investigation) -> Model {
    let assessment = samples::assessed(investigation);
    Model::of(&assessment, &DrawnTree::new(&assessment), None, LINKS)
}

/// Closes the investigation with a conclusion that is based on these nodes.
fn ended(investigation: &Investigation, answers: &[&str]) -> Investigation {
    let bound = |id: &&str| BoundAnswer { id: id.parse().unwrap(), role: BoundAs::Part };
    let conclusion = Conclusion {
        conclusion: Some("It is so.".to_owned()),
        answers: answers.iter().map(bound).collect(),
        ..Conclusion::new(Timestamp::from_milliseconds(9).unwrap())
    };
    let nodes = investigation.nodes().cloned();
    Investigation::from_facts(investigation.meta().clone(), nodes, Some(conclusion)).0
}

/// Returns the findings and verdicts along a lane.
fn stops(lane: &Lane) -> Vec<String> {
    lane.stops.iter().map(|stop| format!("{} {}", stop.text, stop.note).trim().to_owned()).collect()
}

fn twigs(twigs: &[Twig]) -> Vec<String> {
    twigs
        .iter()
        .map(|it| format!("{} {}{} {}", it.sign, it.text, it.tail, it.note).trim().to_owned())
        .collect()
}

/// Returns a confirmed answer, another answer and five dead ends.
fn sample() -> Vec<Node> {
    let mut nodes = vec![
        samples::node("R1.A", None, Some("EXPLORE"), "Reproduce it"),
        samples::node("R2.A1", Some("R1.A"), Some("EXPLORE"), "Where?"),
        samples::node("R2.A2", Some("R1.A"), Some("EXPLORE"), "Waiting"),
        samples::node("R2.A3", Some("R1.A"), Some("DEAD"), "The disk"),
        samples::node("R2.A4", Some("R1.A"), Some("DEAD"), "The network"),
        samples::node("R3.A1a", Some("R2.A1"), Some("FOUND"), "Lock first"),
        samples::node("R3.A1b", Some("R2.A1"), Some("FOUND"), "No lock at all"),
        samples::node("R3.A2a", Some("R2.A2"), Some("DEAD"), "A longer timeout"),
        samples::node("R3.A2b", Some("R2.A2"), Some("DEAD"), "Retry"),
        samples::node("R4.A1a1", Some("R3.A1a"), Some("VERIFY"), "Again"),
        samples::node("R4.A1a2", Some("R3.A1a"), Some("DEAD"), "Two locks"),
        samples::node("R4.A1a3", Some("R3.A1a"), None, "On Windows"),
    ];
    nodes[9].classification.as_mut().unwrap().headline = Some("164,302 more, and no error.".to_owned());
    nodes
}

#[test]
fn one_line_leads_to_the_answer_and_all_else_joins_or_leaves_it() {
    let investigation = ended(&samples::of(sample()), &["R3.A1a"]);
    let model = model(&investigation);
    let [lane] = &model.lanes[..] else { panic!("{model:?}") };
    let found = "Looked, and measured it";
    let end = format!("{found} ✓ confirmed by another agent, same session");
    assert_eq!(stops(lane), ["Question", found, found, &end]);
    assert_eq!((lane.class, lane.is_dashed()), ("confirmed", false));
    let [_, first, second, last] = &lane.stops[..] else { panic!("{lane:?}") };
    // Leaves below one node are grouped, as are the nodes of a branch.
    assert_eq!(twigs(&first.twigs), ["× The disk · The network (2)", "× A longer timeout · Retry (2)"]);
    assert_eq!(twigs(&second.twigs), [format!("? {found} not checked")]);
    assert_eq!(twigs(&last.joins), ["✓ 164,302 more, and no error"]);
    assert_eq!(twigs(&last.twigs), ["× Two locks", "○ On Windows"]);
    // Ids are shown only in tooltips.
    let assessment = samples::assessed(&investigation);
    let drawn = path(&assessment, &DrawnTree::new(&assessment), None, LINKS);
    for svg in [drawn.wide, drawn.tall] {
        well_formed(&svg.markup);
        assert!(svg.markup.contains("<title>R3.A1a: Looked"), "{}", svg.markup);
        let shown = svg.markup.split("<text ").skip(1).filter_map(|text| text.split(['>', '<']).nth(1));
        assert!(
            shown.clone().count() > 9 && !shown.clone().any(|text| text.contains("A1")),
            "{}",
            svg.markup
        );
        assert!(!svg.markup.contains("style="));
        assert_eq!(svg.markup.matches("<a ").count(), 3 + 2 + 1 + 1 + 2);
    }
}

#[test]
fn what_is_not_checked_or_refuted_is_no_green_line() {
    let mut nodes = sample();
    nodes[9].classification.as_mut().unwrap().refutes = true;
    let refuted = model(&ended(&samples::of(nodes.clone()), &["R3.A1a"]));
    assert_eq!((refuted.lanes[0].class, refuted.lanes[0].is_dashed()), ("refuted", false));
    assert_eq!(twigs(&refuted.lanes[0].stops[3].joins), ["✗ 164,302 more, and no error"]);
    nodes.remove(9);
    let unchecked = model(&ended(&samples::of(nodes), &["R3.A1a"]));
    assert_eq!((unchecked.lanes[0].class, unchecked.lanes[0].is_dashed()), ("unconfirmed", true));
}

#[test]
fn parts_of_a_conclusion_meet_where_their_ways_part() {
    let model = model(&ended(&samples::of(sample()), &["R3.A1a", "R3.A1b", "R2.A3", "R3.A2a"]));
    let from: Vec<Option<(usize, usize)>> = model.lanes.iter().map(|lane| lane.from).collect();
    assert_eq!(from, [None, Some((0, 2)), Some((0, 1))]);
    assert_eq!(stops(&model.lanes[2]), ["Looked, and measured it ✗ no longer an answer"]);
    assert_eq!(twigs(&model.lanes[0].stops[0].twigs), ["+ 1 more part of the conclusion"]);
}

#[test]
fn without_an_answer_it_leads_to_what_is_looked_at_or_shows_what_was_ruled_out() {
    let is_answer =
        |node: &Node| matches!(node.id.as_str(), "R3.A1a" | "R3.A1b" | "R4.A1a1" | "R4.A1a2" | "R4.A1a3");
    let mut nodes: Vec<Node> = sample().into_iter().filter(|node| !is_answer(node)).collect();
    nodes.push(samples::node("R3.A1c", Some("R2.A1"), None, "The next thing"));
    let running = samples::of(nodes);
    let lane = &model(&running).lanes[0];
    assert_eq!(stops(lane)[3], "The next thing ○ proposed, not yet looked at");
    assert_eq!((lane.class, lane.is_dashed()), ("open", true));
    let lanes = model(&ended(&running, &[])).lanes;
    assert_eq!(lanes.iter().map(|lane| lane.stops.len()).collect::<Vec<_>>(), [1]);
    let ruled_out = ["× The disk · The network (2)", "× A longer timeout · Retry (2)", "○ The next thing"];
    assert_eq!(twigs(&lanes[0].stops[0].twigs), ruled_out);
}

#[test]
fn a_long_way_is_folded_in_the_middle() {
    let parents: Vec<Option<usize>> = (0..40_usize).map(|node| node.checked_sub(1)).collect();
    let chain = samples::tree(&parents, |node| Some(if node == 39 { "FOUND" } else { "EXPLORE" }));
    let lane = &model(&chain).lanes[0];
    assert_eq!(lane.stops.len(), 7);
    assert_eq!(lane.stops[3].text, "35 more steps");
    assert_eq!(
        (lane.stops[2].sort, lane.stops[3].sort, lane.stops[6].sort),
        (Sort::Step, Sort::Fold, Sort::End)
    );
}

#[test]
fn the_picture_of_ten_thousand_nodes_is_no_larger() {
    let state = |node| Some(["EXPLORE", "DEAD", "FOUND", "DEAD", "VERIFY", "EXHAUST"][node % 6]);
    let star: Vec<Option<usize>> = (0..10_000_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
    for parents in [samples::complete(10_000, 3), samples::complete(10_000, 40), star] {
        let tree = samples::tree(&parents, state);
        let model = model(&tree);
        let stops = || model.lanes.iter().flat_map(|lane| &lane.stops);
        assert!(stops().count() <= 7);
        assert!(stops().map(|stop| stop.twigs.len()).sum::<usize>() <= MOST_TWIGS + 1, "{model:?}");
        assert!(wide(&model).height < 700.0);
    }
}

#[test]
fn hostile_texts_stay_text() {
    let evil = "</title><script>alert('1')</script>\0\u{202e}\"&]]>\n--> isolation";
    let mut nodes = sample();
    for node in &mut nodes {
        node.title = evil.to_owned();
        if let Some(result) = &mut node.classification {
            result.headline = Some(evil.repeat(9));
        }
    }
    let investigation = samples::of(nodes);
    let assessment = samples::assessed(&investigation);
    let links = PathLinks { node: &|_| evil.to_owned(), question: Some(evil) };
    let drawn = path(&assessment, &DrawnTree::new(&assessment), None, links);
    for svg in [drawn.wide, drawn.tall] {
        well_formed(&svg.markup);
        assert!(!svg.markup.contains("<script") && !svg.markup.contains('\u{202e}'));
    }
}

/// Asserts that nothing overlaps and that everything is inside the picture.
fn check(layout: &PathLayout) -> Result<(), TestCaseError> {
    let texts: Vec<(&PathText, Area)> =
        layout.places.iter().flat_map(|it| &it.texts).map(|it| (it, it.area())).collect();
    for (at, (text, area)) in texts.iter().enumerate() {
        prop_assert!(area.left >= 0.0 && area.right <= layout.width + 0.5, "{text:?} {area:?}");
        prop_assert!(area.top >= layout.top && area.bottom <= layout.top + layout.height, "{text:?}");
        for (other, beside) in &texts[at + 1..] {
            prop_assert!(!area.meets(beside), "{text:?} lies over {other:?}");
        }
        for dot in layout.places.iter().filter_map(|it| it.dot.as_ref()) {
            let (x, y, radius) = (dot.x, dot.y, dot.radius);
            let dot = Area { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius };
            prop_assert!(!area.meets(&dot), "{text:?} lies over {dot:?}");
        }
        for (from, until) in layout.strokes.iter().flat_map(|it| stems(&it.course)) {
            let stem = Area { left: from.0 - 0.5, top: from.1, right: from.0 + 0.5, bottom: until };
            prop_assert!(!area.meets(&stem), "{text:?} lies over the stem {stem:?}");
        }
    }
    Ok(())
}

/// Returns the vertical segment at the start of a line: its starting point and the vertical position of its end.
fn stems(course: &str) -> Option<((f64, f64), f64)> {
    let (from, rest) = course.strip_prefix('M')?.split_once('V')?;
    let (x, y) = from.split_once(' ')?;
    let until = rest.split(|c: char| c.is_ascii_alphabetic()).next()?;
    Some(((x.parse().ok()?, y.parse().ok()?), until.parse().ok()?))
}

proptest! {
    #![proptest_config(crate::testing::sampled(256))]

    #[test]
    fn nothing_lies_over_anything_else(
        picks in prop::collection::vec((any::<u32>(), 0_usize..8, 0_usize..5), 1..120),
        reach in 1_usize..30,
        bound in prop::option::of(prop::collection::vec(any::<prop::sample::Index>(), 0..6)),
    ) {
        let parents: Vec<Option<usize>> = picks
            .iter()
            .enumerate()
            .map(|(node, (pick, ..))| match node {
                0 => None,
                _ if pick % 37 == 0 => None,
                node => Some(node - 1 - *pick as usize % reach.min(node)),
            })
            .collect();
        let states = ["EXPLORE", "FOUND", "FOUND", "VERIFY", "VERIFY", "EXHAUST", "DEAD"];
        let tree = samples::tree(&parents, |node| states.get(picks[node].1).copied());
        let nodes = tree.nodes().cloned().map(|node| {
            let mut node = Arc::unwrap_or_clone(node);
            let (pick, _, words) = picks[node.id.as_str().len() % picks.len()];
            if let Some(result) = &mut node.classification {
                result.refutes = pick % 5 == 0;
                result.headline = (words > 0).then(|| node.title.repeat(words));
            }
            node
        });
        let mut investigation = samples::of(nodes.collect());
        if let Some(bound) = bound {
            let ids: Vec<String> = investigation.nodes().map(|node| node.id.to_string()).collect();
            let named: BTreeSet<&str> = bound.iter().map(|at| at.get(&ids).as_str()).collect();
            investigation = ended(&investigation, &named.into_iter().collect::<Vec<_>>());
        }
        let model = model(&investigation);
        check(&wide(&model))?;
        check(&tall(&model))?;
    }
}
