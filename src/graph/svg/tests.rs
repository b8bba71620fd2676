use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::graph::samples;

fn drawn(investigation: &Investigation, options: &SvgOptions<'_>) -> Svg {
    svg(investigation, &samples::terms(investigation), options)
}

fn link(id: &NodeId) -> String {
    format!("nodes/{id}.html?a=1&b=\"2\"")
}

fn small() -> Investigation {
    samples::build(&[
        ("R1.A", None, Some("EXPLORE"), "Why does it fail?"),
        ("R2.A1", Some("R1.A"), Some("EXPLORE"), "Cache"),
        ("R2.A2", Some("R1.A"), Some("DEAD"), "Lock"),
        ("R2.A3", Some("R1.A"), None, "Queue"),
        ("R3.A1a", Some("R2.A1"), Some("FOUND"), "Stale entries"),
        ("R3.A1b", Some("R2.A1"), Some("FOUND"), "Slow disk"),
        ("R4.A1a1", Some("R3.A1a"), Some("VERIFY"), "Measured again"),
    ])
}

fn card<'a>(markup: &'a str, id: &str) -> &'a str {
    markup.lines().find(|line| line.contains(&format!("<title>{id} "))).unwrap()
}

#[test]
fn each_card_says_what_it_is_without_colour() {
    let options = SvgOptions { href: Some(&link), id_prefix: "g-", ..SvgOptions::default() };
    let svg = drawn(&small(), &options);
    let start = "<a class=\"card role-solution verified on-path\" id=\"g-R3.A1a\" \
                 href=\"nodes/R3.A1a.html?a=1&amp;b=&quot;2&quot;\"><title>R3.A1a (FOUND, verified): Stale entries</title>";
    assert!(card(&svg.markup, "R3.A1a").starts_with(start), "{}", svg.markup);
    assert!(card(&svg.markup, "R3.A1a").contains(">✓ verified</text>"));
    assert!(card(&svg.markup, "R3.A1b").contains("class=\"card role-solution unverified\""));
    assert!(card(&svg.markup, "R3.A1b").contains(">unverified</text>"));
    assert!(card(&svg.markup, "R2.A2").contains(">DEAD</text>"));
    let proposal = card(&svg.markup, "R2.A3");
    assert!(proposal.contains("class=\"card proposed\"") && proposal.contains(">proposed</text>"));
    assert!(proposal.contains("stroke-dasharray"));
    assert!(card(&svg.markup, "R1.A").contains("role-open on-path"));
    assert_eq!(svg.markup.matches("class=\"edge on-path\"").count(), 2);
    assert_eq!(svg.markup.matches("<path class=\"edge").count(), 6);
    assert_eq!((svg.shown, svg.hidden), (7, 0));
    well_formed(&svg.markup);
}

#[test]
fn inline_there_is_no_style_and_alone_there_is() {
    let inline = drawn(&small(), &SvgOptions::default()).markup;
    assert!(!inline.contains("style") && !inline.contains("xmlns") && !inline.contains(" id="), "{inline}");
    assert!(inline.contains("role=\"img\""));
    let alone =
        drawn(&small(), &SvgOptions { standalone: true, href: Some(&link), ..SvgOptions::default() }).markup;
    assert!(alone.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"group\""));
    assert!(alone.contains("prefers-color-scheme:dark") && alone.contains("--role-open:#"));
    well_formed(&alone);
}

#[test]
fn an_overview_says_how_much_it_leaves_out() {
    let svg = drawn(&small(), &SvgOptions { max_depth: Some(2), ..SvgOptions::default() });
    assert_eq!((svg.shown, svg.hidden), (4, 3));
    assert!(card(&svg.markup, "R2.A1").contains(">+3</text>"));
    assert!(card(&svg.markup, "R2.A1").contains("– 3 nodes below, not shown"));
    assert!(card(&svg.markup, "R2.A1").contains("on-path"), "the way to what is hidden is still marked");
    assert!(!card(&svg.markup, "R1.A").contains(">+"));
    assert!(svg.markup.contains("4 nodes, 3 more not shown"));
    let least = drawn(&small(), &SvgOptions { max_depth: Some(0), ..SvgOptions::default() });
    assert_eq!((least.shown, least.hidden), (1, 6));
}

#[test]
fn one_branch_stands_at_the_left() {
    let root: NodeId = "R2.A1".parse().unwrap();
    let svg = drawn(&small(), &SvgOptions { root: Some(&root), ..SvgOptions::default() });
    assert_eq!((svg.shown, svg.hidden), (4, 0));
    assert!(card(&svg.markup, "R2.A1").contains("x=\"10\""));
    let unknown: NodeId = "R9.Z".parse().unwrap();
    let svg = drawn(&small(), &SvgOptions { root: Some(&unknown), ..SvgOptions::default() });
    assert!(svg.markup.contains(">No such node<") && svg.shown == 0);
}

#[test]
fn an_empty_investigation_says_so() {
    for standalone in [false, true] {
        let svg = drawn(&samples::build(&[]), &SvgOptions { standalone, ..SvgOptions::default() });
        assert!(svg.markup.contains(">No nodes yet</text>"));
        well_formed(&svg.markup);
    }
}

#[test]
fn hostile_texts_stay_text() {
    let title = "</title><script>alert('1')</script>\0\u{8}\u{202e}\"&]]>\u{ffff}\n--><!--";
    let svg = drawn(
        &samples::build(&[("R1.A", None, Some("EXPLORE"), title), ("R1.B", None, None, "\u{202e}")]),
        &SvgOptions { href: Some(&|_| "\"><x\n".to_owned()), id_prefix: "\"<&", ..SvgOptions::default() },
    );
    well_formed(&svg.markup);
    assert!(!svg.markup.contains("<script") && !svg.markup.contains('\u{202e}'));
    assert!(card(&svg.markup, "R1.B").contains("(no title)"));
}

#[test]
fn a_long_id_and_a_long_state_share_the_head() {
    let id = format!("R1.{}", "Ab1".repeat(60));
    let sample = samples::build(&[(&id, None, Some("A_STATE_WITH_A_VERY_LONG_NAME_INDEED_SO"), "t")]);
    let terms = samples::terms(&sample);
    let scene = Scene::new(&sample, &terms, &SvgOptions::default());
    let card = &scene.cards[0];
    let used = measure(&card.id) * TITLE_SIZE * BOLD + measure(&card.state) * SMALL_SIZE;
    assert!(used <= WIDTH - LEFT - RIGHT, "{} {}", card.id, card.state);
}

#[test]
fn a_very_deep_chain_and_a_very_wide_level_are_drawn() {
    let chain: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1)).collect();
    let svg = drawn(&samples::tree(&chain, |_| Some("EXPLORE")), &SvgOptions::default());
    assert_eq!(svg.shown, 5_000);
    assert!(svg.width.is_finite() && svg.height < 100.0);
    let wide: Vec<Option<usize>> = (0..2_000_usize).map(|node| node.checked_sub(1).map(|_| 0)).collect();
    check(&samples::tree(&wide, |_| Some("EXPLORE")));
}

#[test]
fn the_same_investigation_yields_the_same_bytes() {
    let options = SvgOptions { standalone: true, ..SvgOptions::default() };
    assert_eq!(drawn(&small(), &options).markup, drawn(&small(), &options).markup);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_tree_is_drawn_without_overlaps_and_crossings(
        picks in prop::collection::vec((any::<u32>(), 0_u8..7), 0..300),
        reach in 1_usize..40,
    ) {
        // Parents among the last few nodes yield deep trees, among all of them broad ones.
        let parents: Vec<Option<usize>> = picks
            .iter()
            .enumerate()
            .map(|(node, (pick, _))| match node {
                0 => None,
                _ if pick % 37 == 0 => None,
                node => Some(node - 1 - *pick as usize % reach.min(node)),
            })
            .collect();
        let states = ["EXPLORE", "FOUND", "VERIFY", "EXHAUST", "DEAD", "ODD"];
        check(&samples::tree(&parents, |node| states.get(picks[node].1 as usize).copied()));
    }

    #[test]
    fn any_title_yields_well_formed_markup(title in any::<String>(), prefix in any::<String>()) {
        let sample = samples::build(&[("R1.A", None, Some("FOUND"), &title)]);
        let href = |_: &NodeId| prefix.clone();
        let options = SvgOptions { href: Some(&href), id_prefix: &prefix, standalone: true, ..SvgOptions::default() };
        well_formed(&drawn(&sample, &options).markup);
    }
}

/// Everything that a picture of a tree promises.
fn check(investigation: &Investigation) {
    let terms = samples::terms(investigation);
    let scene = Scene::new(investigation, &terms, &SvgOptions::default());
    const NEARLY: f64 = 1e-6;
    let centre = |at: usize| scene.places[at].y + scene.places[at].height / 2.0;

    assert_eq!(scene.cards.len(), investigation.nodes().count());
    for place in &scene.places {
        assert!(place.x >= 0.0 && place.y >= 0.0, "{place:?}");
        assert!(place.x + place.width <= scene.width && place.y + place.height <= scene.height);
    }
    // In each column, from the top: no overlaps, and the parents in the same order, so that no edges cross (all run
    // in the same gap along the same curve).
    let mut columns: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, place) in scene.places.iter().enumerate() {
        columns.entry(place.x.to_bits()).or_default().push(at);
    }
    for column in columns.values() {
        for pair in column.windows(2) {
            let (upper, lower) = (pair[0], pair[1]);
            let gap = scene.places[lower].y - (scene.places[upper].y + scene.places[upper].height);
            assert!(gap >= GAPS.siblings - NEARLY, "{gap}");
            if let (Some(above), Some(below)) = (scene.cards[upper].parent, scene.cards[lower].parent) {
                assert!(centre(above) <= centre(below));
            }
        }
    }
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in scene.edges() {
        assert!(scene.places[to].x >= scene.places[from].x + WIDTH + COLUMN_GAP - NEARLY);
        children.entry(from).or_default().push(to);
    }
    for (parent, children) in &children {
        let ids: Vec<&NodeId> = children.iter().map(|child| &scene.cards[*child].node.id).collect();
        assert!(ids.is_sorted());
        let (first, last) = (centre(children[0]), centre(children[children.len() - 1]));
        assert!((centre(*parent) - (first + last) / 2.0).abs() < NEARLY);
    }
    let svg =
        drawn(investigation, &SvgOptions { standalone: true, href: Some(&link), ..SvgOptions::default() });
    assert!(svg.width.is_finite() && svg.height.is_finite());
    assert_eq!(svg.markup.matches("class=\"card ").count(), scene.cards.len());
    well_formed(&svg.markup);
}

/// A small XML checker: tags nest, attributes are quoted and named once, references are known, characters are
/// allowed.
fn well_formed(markup: &str) {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(markup.chars().all(allowed), "a character that XML forbids");
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup.trim_end();
    loop {
        let Some(at) = rest.find('<') else { panic!("text after the end: {rest}") };
        text_is_escaped(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.find('>').unwrap();
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic()), "<{tag}>");
            attributes_are_sound(attributes);
            if !alone {
                open.push(name);
            }
        }
        if open.is_empty() {
            assert!(rest.is_empty(), "{rest}");
            return;
        }
    }
}

fn attributes_are_sound(mut rest: &str) {
    let mut names = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap();
        let (value, after) = after.split_once('"').unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-'), "{name}");
        assert!(!names.contains(&name), "{name} twice");
        names.push(name);
        text_is_escaped(value);
        rest = after.strip_prefix(' ').unwrap_or(after);
        assert!(rest.is_empty() || after.starts_with(' '));
    }
}

fn text_is_escaped(text: &str) {
    assert!(!text.contains(['<', '>']), "{text}");
    for reference in text.split('&').skip(1) {
        let (name, _) = reference.split_once(';').unwrap();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{name};");
    }
}
