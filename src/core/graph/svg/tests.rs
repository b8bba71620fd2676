use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::graph::samples::{self, well_formed};
use crate::graph::tree::MOST_CARDS;

fn drawn(investigation: &Investigation, options: &SvgOptions<'_>) -> Svg {
    svg(&DrawnTree::new(&samples::assessed(investigation)), options)
}

fn file() -> SvgOptions<'static> {
    SvgOptions { standalone: true, ..SvgOptions::default() }
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
    let options = SvgOptions { href: Some(&link), has_ids: true, ..SvgOptions::default() };
    let svg = drawn(&small(), &options);
    let start = "<a class=\"card role-solution confirmed on-path best-answer\" id=\"R3.A1a\" \
                 href=\"nodes/R3.A1a.html?a=1&amp;b=&quot;2&quot;\"><title>R3.A1a (Answer, confirmed by another agent, same session): Stale entries</title>";
    assert!(card(&svg.markup, "R3.A1a").starts_with(start), "{}", svg.markup);
    assert!(card(&svg.markup, "R3.A1a").contains(">✓ confirmed</text>"));
    assert!(card(&svg.markup, "R3.A1b").contains("class=\"card role-solution unconfirmed\""));
    assert!(card(&svg.markup, "R3.A1b").contains(">? not checked</text>"));
    assert!(card(&svg.markup, "R2.A2").contains(">Ruled out</text>"));
    let proposal = card(&svg.markup, "R2.A3");
    assert!(proposal.contains("class=\"card proposed\"") && proposal.contains(">Proposed</text>"));
    assert!(proposal.contains("stroke-dasharray"));
    assert!(card(&svg.markup, "R1.A").contains("role-open on-path"));
    assert_eq!(svg.markup.matches("class=\"edge on-path\"").count(), 2);
    assert_eq!(svg.markup.matches("<path class=\"edge").count(), 6);
    well_formed(&svg.markup);
}

#[test]
fn inline_there_is_no_style_and_alone_there_is() {
    let inline = drawn(&small(), &SvgOptions::default()).markup;
    assert!(!inline.contains("style") && !inline.contains("xmlns") && !inline.contains(" id="), "{inline}");
    assert!(inline.contains("role=\"img\""));
    let alone = drawn(&small(), &SvgOptions { href: Some(&link), ..file() }).markup;
    assert!(alone.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"group\""));
    assert!(alone.contains("prefers-color-scheme:dark") && alone.contains("--role-open:#"));
    well_formed(&alone);
}

#[test]
fn a_large_tree_is_drawn_as_the_way_to_the_best_answer_and_the_first_rounds() {
    // The last leaf, in round 6, is the only answer.
    let parents = samples::complete(400, 3);
    let tree = samples::tree(&parents, |at| Some(if at == 399 { "FOUND" } else { "EXPLORE" }));
    let svg = drawn(&tree, &SvgOptions { href: Some(&link), has_ids: true, ..SvgOptions::default() });
    assert_eq!(svg.markup.matches("class=\"card ").count(), MOST_CARDS);
    assert!(svg.markup.contains("left to right: 80 of 400 nodes\""), "{}", &svg.markup[..400]);
    assert!(svg.markup.contains("best-answer\""));
    assert!(!card(&svg.markup, tree.roots().next().unwrap().id.as_str()).contains(" more below"));
    let hidden =
        svg.markup.split(" more below</text>").filter_map(|it| it.rsplit('>').next()?.parse::<usize>().ok());
    assert_eq!(hidden.sum::<usize>(), 320);
    well_formed(&svg.markup);
}

#[test]
fn an_empty_investigation_says_so() {
    for options in [SvgOptions::default(), file()] {
        let svg = drawn(&samples::build(&[]), &options);
        assert!(svg.markup.contains(">No nodes yet</text>"));
        well_formed(&svg.markup);
    }
}

#[test]
fn hostile_texts_stay_text() {
    let title = "</title><script>alert('1')</script>\0\u{8}\u{202e}\"&]]>\u{ffff}\n--><!--";
    let svg = drawn(
        &samples::build(&[
            ("R1.A", None, Some("EXPLORE"), title),
            ("R1.B", None, None, "\u{202e}"),
            ("R1.C", None, None, " \n"),
        ]),
        &SvgOptions { href: Some(&|_| "\"><x\n".to_owned()), has_ids: true, ..SvgOptions::default() },
    );
    well_formed(&svg.markup);
    assert!(!svg.markup.contains("<script") && !svg.markup.contains('\u{202e}'));
    assert!(card(&svg.markup, "R1.B").contains('\u{fffd}'));
    assert!(card(&svg.markup, "R1.C").contains("(no title)"));
}

#[test]
fn a_long_id_and_a_long_state_share_the_head() {
    let id = format!("R1.{}", "Ab1".repeat(60));
    let sample = samples::build(&[(&id, None, Some("A_STATE_WITH_A_VERY_LONG_NAME_INDEED_SO"), "t")]);
    let scene = Scene::new(&DrawnTree::new(&samples::assessed(&sample)), &SvgOptions::default());
    let card = &scene.cards[0];
    let used = measure(&card.id) * TITLE_SIZE * BOLD + measure(&card.state) * SMALL_SIZE;
    assert!(used + sign::SIZE <= WIDTH - LEFT - RIGHT, "{} {}", card.id, card.state);
}

#[test]
fn a_very_deep_chain_and_a_very_wide_level_are_drawn() {
    let chain: Vec<Option<usize>> = (0..MOST_CARDS).map(|node| node.checked_sub(1)).collect();
    let svg = drawn(&samples::tree(&chain, |_| Some("EXPLORE")), &SvgOptions::default());
    assert!(svg.width.is_finite() && svg.height < 100.0);
    let wide: Vec<Option<usize>> = (0..MOST_CARDS).map(|node| node.checked_sub(1).map(|_| 0)).collect();
    check(&samples::tree(&wide, |_| Some("EXPLORE")));
}

#[test]
fn each_role_has_a_sign_of_its_own() {
    let signs: std::collections::BTreeSet<String> = palette::ROLES
        .iter()
        .map(|role| sign(Some(*role)).markup)
        .chain([sign(None).markup])
        .map(|markup| markup.split(" d=").last().unwrap_or_default().to_owned())
        .collect();
    // The sign of a proposal is a dashed version of the ring of an open node.
    assert_eq!(signs.len(), palette::ROLES.len());
    assert!(sign(None).markup.contains("stroke-dasharray"));
}

#[test]
fn the_picture_of_a_small_tree() {
    let sample =
        samples::build(&[("R1.A", None, Some("EXPLORE"), "Why?"), ("R2.A1", Some("R1.A"), None, "Next")]);
    insta::assert_snapshot!(
        drawn(&sample, &SvgOptions { href: Some(&link), ..SvgOptions::default() }).markup
    );
}

#[test]
fn the_same_investigation_yields_the_same_bytes() {
    let options = file();
    assert_eq!(drawn(&small(), &options).markup, drawn(&small(), &options).markup);
}

proptest! {
    #![proptest_config(crate::testing::sampled(64))]

    #[test]
    fn any_tree_is_drawn_without_overlaps_and_crossings(
        picks in prop::collection::vec((any::<u32>(), 0_u8..7), 0..=MOST_CARDS),
        reach in 1_usize..40,
    ) {
        // Choosing each parent among the last few nodes yields deep trees, and choosing among all nodes yields broad
        // ones.
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
    fn any_title_yields_well_formed_markup(title in any::<String>(), address in any::<String>()) {
        let sample = samples::build(&[("R1.A", None, Some("FOUND"), &title)]);
        let href = |_: &NodeId| address.clone();
        let options = SvgOptions { href: Some(&href), has_ids: true, ..file() };
        well_formed(&drawn(&sample, &options).markup);
    }
}

/// Asserts all guarantees of a picture.
fn check(investigation: &Investigation) {
    let scene = Scene::new(&DrawnTree::new(&samples::assessed(investigation)), &SvgOptions::default());
    const NEARLY: f64 = 0.1;
    let centre = |at: usize| scene.places[at].y + scene.places[at].height / 2.0;

    assert_eq!(scene.cards.len(), investigation.nodes().count());
    for place in &scene.places {
        assert!(place.x >= 0.0 && place.y >= 0.0, "{place:?}");
        assert!(place.x + place.width <= scene.width && place.y + place.height <= scene.height);
    }
    // In each column, cards do not overlap and parents keep their order. Edges therefore do not cross: in each gap,
    // they all follow the same curve.
    let mut columns: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, place) in scene.places.iter().enumerate() {
        columns.entry(place.x.to_bits()).or_default().push(at);
    }
    for column in columns.values() {
        for pair in column.windows(2) {
            let (upper, lower) = (pair[0], pair[1]);
            let gap = scene.places[lower].y - (scene.places[upper].y + scene.places[upper].height);
            assert!(gap >= GAPS.cards - NEARLY, "{gap}");
            if let (Some(above), Some(below)) = (scene.cards[upper].parent, scene.cards[lower].parent) {
                assert!(centre(above) <= centre(below));
            }
        }
    }
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in scene.edges() {
        assert!(scene.places[to].x >= scene.places[from].x + WIDTH + GAPS.columns - NEARLY);
        children.entry(from).or_default().push(to);
    }
    for (parent, children) in &children {
        let ids: Vec<&NodeId> = children.iter().map(|child| &scene.cards[*child].item.node.id).collect();
        assert!(ids.is_sorted());
        let (first, last) = (centre(children[0]), centre(children[children.len() - 1]));
        assert!((first - NEARLY..=last + NEARLY).contains(&centre(*parent)), "{parent}");
    }
    let svg = drawn(investigation, &SvgOptions { href: Some(&link), ..file() });
    assert!(svg.width.is_finite() && svg.height.is_finite());
    assert_eq!(svg.markup.matches("class=\"card ").count(), scene.cards.len());
    well_formed(&svg.markup);
}
