//! The tree, the graph, and their colours.

use super::*;

#[test]
fn a_large_graph_shows_a_part_and_leads_to_the_tree_for_the_rest() {
    let files = render(&[large(400)]);
    let graph = page(&files, "graph.html");
    assert!(graph.contains("80 of 400 nodes: the path to the best answer") && graph.contains("data-graph"));
    let picture = page(&files, "graph.svg");
    let document = roxmltree::Document::parse(&picture).unwrap();
    let links: Vec<_> = document.descendants().filter_map(|node| node.attribute("href")).collect();
    assert_eq!(links.len(), 80);
    assert!(links.iter().all(|link| files.contains_key(*link)), "{links:?}");
    let nodes = files.iter().filter(|(path, _)| path.starts_with("nodes/"));
    assert_eq!(nodes.filter(|(path, _)| page(&files, path).contains(">On the graph<")).count(), 80);
}

#[test]
fn a_state_that_the_ruleset_does_not_define_is_open_in_the_tree_as_in_the_graph() {
    let mut input = sample();
    put(&mut input, vec![node("R1.A", "ODD", "Why?", "Edited by hand.")]);
    let files = render(&[input]);
    let lines = |path, text| page(&files, path).lines().filter(|it| it.contains(text)).collect::<String>();
    assert!(lines("tree.html", ">Odd<").contains("chip role-open"));
    assert!(lines("graph.svg", "<title>R1.A (Odd)").contains("card role-open"));
}

#[test]
fn the_style_sheet_has_the_colours_of_the_graph() {
    let style = page(&render(&[empty()]), "assets/style.css");
    for colour in crate::graph::palette() {
        for value in [colour.light, colour.dark] {
            let line = format!("{}: {value};", colour.name);
            assert!(style.contains(&line), "{line} is missing");
        }
    }
}

/// The dark colours chosen explicitly are the same as those on a dark system.
#[test]
fn the_dark_colours_are_the_same_by_choice() {
    let style = page(&render(&[empty()]), "assets/style.css");
    let colours = |from: &str| -> Vec<String> {
        let block = style.split(from).nth(1).and_then(|rest| rest.split('}').next()).unwrap();
        block.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let system = colours(":root:where(:not([data-theme=\"light\"])) {");
    assert!(system.len() > 30);
    assert_eq!(system, colours(":root:where([data-theme=\"dark\"]) {"));
}

#[test]
fn the_colours_can_be_told_apart_in_both_schemes() {
    let style = page(&render(&[empty()]), "assets/style.css");
    let dark_at = style.find("@media screen and (prefers-color-scheme: dark)").unwrap();
    let colour = |name: &str, dark: bool| {
        let from = if dark { dark_at } else { 0 };
        let line =
            style[from..].split(&format!("--{name}: #")).nth(1).unwrap_or_else(|| panic!("no --{name}"));
        u32::from_str_radix(&line[..6], 16).unwrap()
    };
    // The WCAG 2.2 formula.
    let luminance = |colour: u32| {
        let part = |shift: u32| {
            let value = f64::from((colour >> shift) & 0xff) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    };
    let contrast = |a: u32, b: u32| {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    };
    let roles = ["open", "awaitingConfirmation", "solution", "confirmation", "theory", "deadEnd"];
    let texts: Vec<(String, Vec<&str>, f64)> = roles
        .map(|role| (format!("role-{role}"), vec!["page"], 4.5))
        .into_iter()
        .chain([
            ("text".to_owned(), vec!["page", "panel", "mark", "accent-soft", "graph-card"], 7.0),
            ("quiet".to_owned(), vec!["page", "panel", "accent-soft", "graph-card", "graph-card-muted"], 4.5),
            ("accent".to_owned(), vec!["page", "panel", "accent-soft"], 4.5),
            ("warn".to_owned(), vec!["page", "warn-soft"], 4.5),
            ("fault".to_owned(), vec!["page", "fault-soft"], 4.5),
            ("good".to_owned(), vec!["page", "good-soft"], 4.5),
            // The edge of a field, and a bar that repeats a word.
            ("field".to_owned(), vec!["page", "panel"], 3.0),
            ("role-exhausted".to_owned(), vec!["page"], 3.0),
        ])
        .collect();
    for dark in [false, true] {
        for (name, grounds, least) in &texts {
            for ground in grounds {
                let ratio = contrast(colour(name, dark), colour(ground, dark));
                assert!(ratio >= *least, "{name} on {ground}, dark: {dark}: {ratio:.2} of {least}");
            }
        }
    }
}
