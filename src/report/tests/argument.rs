//! Tests of answer pages.

use super::*;
use crate::service::withhold::List;

const ANSWER: &str = "answers/R4.A1a1.html";

/// Returns the text of the section whose heading has the given id.
fn section(page: &str, id: &str) -> String {
    let (_, rest) = page.split_once(&format!(" id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {page}"));
    let section = rest.split("</section>").next().unwrap_or_default();
    let texts = section.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
    texts.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_nodes(nodes: Vec<Node>) -> ReportInput {
    input(meta(1, "Why?", "Why is it slow?"), nodes.into_iter().map(Arc::new).collect(), None)
}

#[test]
fn an_answer_is_followed_from_the_question_with_all_that_stands_for_and_against_it() {
    let files = render(&[discussed("The replay had a warm cache.")]);
    let page = page(&files, ANSWER);
    let way = section(&page, "way");
    let steps =
        ["0. The question", "R1.A Why is", "R2.A1 Query plans", "R3.A1a The partial", "R4.A1a1 Statistics"];
    let places: Vec<usize> = steps
        .iter()
        .map(|step| way.find(step.trim_start_matches("0. ")).unwrap_or_else(|| panic!("{step} in {way}")))
        .collect();
    assert!(places.is_sorted(), "{way}");
    for told in [
        "Since Tuesday, 14:02, the p99",
        "EXPLAIN shows a sequential scan where there was an index scan.",
        "Evidence. last_analyze is empty for every table",
        "Found by researcher-r4.a1a1",
        "1 source",
        "Siblings ruled out × The pool is exhausted by idle transactions",
        "and 5 more",
    ] {
        assert!(way.contains(told), "{told} in {way}");
    }
    // A contested answer does not look confirmed.
    assert!(page.contains("argument-head contested") && page.contains("</span> Answer, contested"));
    let confirms = section(&page, "for");
    assert!(confirms.contains("✓ R5.A1a1v Replaying production load"), "{confirms}");
    assert!(confirms.contains("By researcher-r5.a1a1v"), "{confirms}");
    assert!(confirms.contains("confirmed by another agent, same session"), "{confirms}");
    let against = section(&page, "against");
    assert!(against.contains("! Maria (a person) objects to R4.A1a1"), "{against}");
    assert!(against.contains("“The replay had a warm cache.”"), "{against}");
    let shared = section(&page, "shared");
    assert!(
        shared.contains("Release notes of PostgreSQL 17 Cited here by R2.A1, elsewhere by R3.A5e"),
        "{shared}"
    );
    let who = section(&page, "who");
    assert!(who.contains("researcher-r5.a1a1v confirmed it in R5.A1a1v"), "{who}");
    // Other pages link to it.
    let link = format!("href=\"{ANSWER}\">See the 4 steps that led to it</a>");
    assert!(super::page(&files, "index.html").contains(&link));
    assert!(super::page(&files, "nodes/R4.A1a1.html").contains(&format!("href=\"../{ANSWER}\"")));
    assert!(!super::page(&files, "nodes/R3.A1a.html").contains("../answers/"));
}

#[test]
fn an_answer_that_nobody_confirms_does_not_look_confirmed() {
    let page = page(&render(&[sample()]), "answers/R4.A3c1.html");
    assert!(page.contains("argument-head unconfirmed"), "{page}");
    assert!(page.contains("<span aria-hidden=\"true\">?</span> Answer, not checked"));
    assert!(section(&page, "for").contains("? Nobody has confirmed it."));
    assert!(section(&page, "against").contains("Not refuted, no open objections."));
}

#[test]
fn what_refutes_an_answer_stands_against_it() {
    let files = render(&[backed()]);
    let page = page(&files, "answers/R2.A1.html");
    assert!(page.contains("argument-head refuted") && page.contains("Refuted: no longer an answer"));
    assert!(section(&page, "against").contains("R3.A1a Sorting costs as much as it saves"));
    assert!(section(&page, "who").contains("refuted it in R3.A1a"));
    // The first page shows what refutes it, and not how it was reached.
    let index = super::page(&files, "index.html");
    assert!(index.contains("refuted</span>: <span dir=\"auto\">researcher-r3.a1a: Sorting costs"), "{index}");
    assert!(!index.contains("that led to it"));
}

/// Returns an investigation whose steps name nodes elsewhere.
pub(super) fn crossed() -> ReportInput {
    with_nodes(vec![
        node("R1.A", "EXPLORE", "Why?", "Profiled, as R2.A2 says; and again R2.A2. Not R9.X."),
        edit(node("R2.A1", "FOUND", "The sort", "It is the sort, see R1.A."), |c| {
            c.links = vec![Link::new("R2.A3".parse().unwrap(), LinkKind::Contradicts)];
        }),
        node("R2.A2", "EXPLORE", "The hash", "It is R2.A1."),
        node("R2.A3", "EXPLORE", "The disk", "Slow."),
        edit(node("R3.A1a", "VERIFY", "Again", "The same."), |c| {
            c.caveats = vec!["A <b>cold</b> cache.".to_owned(), "A full disk.".to_owned()];
        }),
    ])
}

#[test]
fn steps_lead_to_what_they_name_elsewhere() {
    let page = page(&render(&[crossed()]), "answers/R2.A1.html");
    let crossing = section(&page, "crossing");
    let told = "R2.A1 contradicts R2.A3 The disk Explored R1.A names R2.A2 The hash Explored";
    assert!(crossing.ends_with(told), "{crossing}");
    assert!(
        page.contains("A &lt;b&gt;cold&lt;/b&gt; cache.</span> · <span dir=\"auto\">A full disk."),
        "{page}"
    );
}

#[test]
fn a_withheld_node_says_only_that() {
    let mut input = discussed("No.");
    let mut withheld = List::default();
    for node in ["R3.A1a", "R5.A1a1v", "R4.A2b1"] {
        withheld.add(node.parse().unwrap(), "Anna", None);
    }
    input.withhold(&withheld.follow(&input.snapshot, &input.history, &[]).unwrap());
    let page = page(&render(&[input]), ANSWER);
    for text in ["sequential scan where", "Replaying", "Three runs", "idle transactions", "0.3 ms"] {
        assert!(!page.contains(text), "{text}");
    }
    let way = section(&page, "way");
    assert_eq!(way.matches("Withheld by Anna").count(), 2, "{way}");
    assert_eq!(section(&page, "for").matches("Withheld by Anna").count(), 1);
}

#[test]
fn of_many_answers_the_first_have_a_page_and_of_a_long_way_the_ends_are_told() {
    let mut nodes = vec![node("R1.A", "EXPLORE", "Begin", "It begins.")];
    let mut id = "A".to_owned();
    for round in 2..60 {
        id.push('1');
        nodes.push(node(&format!("R{round}.{id}"), "EXPLORE", "Further", "And on."));
    }
    nodes.push(node(&format!("R60.{id}1"), "FOUND", "The end", "It ends."));
    let long = format!("answers/R60.{id}1.html");
    for number in 0..150 {
        nodes.push(node(&format!("R2.A{number}x"), "FOUND", "One of many", "One."));
    }
    let files = render(&[with_nodes(nodes)]);
    let answers = files.keys().filter(|path| path.starts_with("answers/")).count();
    assert_eq!(answers, 100);
    // The deepest answer comes last, so it has no page.
    assert!(!files.contains_key(&long));
    for (path, page) in pages(&files).iter().filter(|(path, _)| path.starts_with("answers/")) {
        assert!(page.len() < 40_000, "{path}: {}", page.len());
    }
}

#[test]
fn a_long_way_is_told_by_its_ends() {
    let mut nodes = vec![node("R1.A", "EXPLORE", "Begin", "It begins.")];
    let mut id = "A".to_owned();
    for round in 2..60 {
        id.push('1');
        nodes.push(node(&format!("R{round}.{id}"), "EXPLORE", "Further", "And on."));
    }
    nodes.push(node(&format!("R60.{id}1"), "FOUND", "The end", "It ends."));
    let page = page(&render(&[with_nodes(nodes)]), &format!("answers/R60.{id}1.html"));
    assert!(section(&page, "way").contains("36 steps omitted."), "{page}");
    assert_eq!(page.matches("<p class=\"way-head\">").count(), 1 + 24);
}
