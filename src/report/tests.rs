//! Sites of hand-made investigations.

mod agree;
mod argument;
mod compare;
#[path = "../../tests/it/report/pages.rs"]
mod pages;
mod sign_offs;
mod sites;
mod withheld;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use self::pages::{SiteContents, site};
use super::model::Time;
use super::*;
use crate::domain::run::{Ended, Expectation, Output, ProjectState, Ran, RunVerdict, Seconds, System};
use crate::domain::{
    AmendedConclusion, Amendment, Asked, Attached, Author, BoundAnswer, BoundAs, Caller, Change, Citation,
    Classification, Code, Command, Comment, CommentId, CommentKind, Commenter, Conclusion, Happening,
    Investigation, Lines, Link, LinkKind, Meta, NamedIn, Node, NodeId, PersonsAnswer, Pin, Reclassification,
    Run, RunId, RunKind, StopReason, Stopped, Timestamp, Warning,
};
use crate::ruleset::{EffectiveRules, builtin};
use crate::service::project::{Drift, Forge, ProjectEvidence};
use crate::store::{CommitId, Fault, Relation, Size};
use crate::view::NodeView;

type Files = BTreeMap<String, Vec<u8>>;

#[test]
fn every_page_of_an_investigation_is_under_one_tab() {
    let files = render(&[sample()]);
    assert!(!files.contains_key("README.md"), "the guide for template authors is no page");
    for (path, page) in pages(&files).into_iter().filter(|(path, _)| path != "print.html") {
        let (_, nav) = page.split_once("aria-label=\"Investigation\">").unwrap();
        let (nav, _) = nav.split_once("</nav>").unwrap();
        let current: Vec<&str> = nav.lines().filter(|line| line.contains(" aria-current=\"")).collect();
        assert_eq!(current.len(), 1, "{path}: {current:?}");
        let is_first = current[0].contains(&format!("href=\"{path}\" aria-current=\"page\">"));
        assert_eq!(is_first, current[0].contains("\"page\""), "{path}: {current:?}");
    }
    // Views under one tab link to each other.
    for (from, to) in [("tree", "graph"), ("graph", "tree"), ("judged", "doubts"), ("doubts", "judged")] {
        let page = page(&files, &format!("{from}.html"));
        let (_, views) = page.split_once("<nav class=\"views\"").unwrap();
        let (views, _) = views.split_once("</nav>").unwrap();
        assert!(views.contains(&format!("href=\"{to}.html\">")), "{views}");
        assert!(views.contains(&format!("href=\"{from}.html\" aria-current=\"page\">")), "{views}");
    }
}

#[test]
fn the_first_page_answers_the_questions() {
    let page = page(&render(&[sample()]), "index.html");
    let (first, _) = page.split_once("id=\"map\"").unwrap();
    for text in [
        "<section class=\"answer confirmed\"",
        "<h2 id=\"trust\">Confirmed by another agent, same session, but no command was run for it. Nobody has signed it off.</h2>",
        "found by researcher-r4.a1a1",
        "Another agent in the same session tried to refute it and could not",
        "title=\"R5.A1a1v\">researcher-r5.a1a1v: Replaying production load",
        "<a href=\"#ruled-out\">9 alternatives ruled out</a>",
        "No objection is open",
        "Names are not verified; no person took part",
        "<a href=\"#notes\">",
    ] {
        assert!(first.contains(text), "{text} is missing in {first}");
    }
    for text in [
        "Why did checkout latency double",
        "<bdi>Cross-zone traffic adds 1 ms to each of 14 queries</bdi></a></span> <span class=\"doubt\">not checked</span>",
        "Ruled out <span class=\"count\">9</span>",
        "<a href=\"tree.html#only-DEAD\">3 more</a>",
        "<h2 id=\"notes\">Notes",
        "<p class=\"small quiet\">Ended <time",
    ] {
        assert!(page.contains(text), "{text} is missing in {page}");
    }
    // Each fact is shown once: the finding, the ruled-out nodes and the conclusion.
    for once in [
        "The pool is exhausted by idle transactions</bdi>",
        "<h2 id=\"conclusion\">",
        "p99 of the connection pool",
    ] {
        assert!(page.matches(once).count() <= 1, "{once} stands twice in {page}");
    }
}

/// Returns the texts of the doubts on a page.
fn doubts(page: &str) -> Vec<String> {
    let lists = page.split("<ul class=\"doubts\">").skip(1).filter_map(|list| list.split("</ul>").next());
    let lines =
        lists.flat_map(|list| list.split("<li class=").skip(1)).filter_map(|item| item.split("</li>").next());
    let text = |item: &str| {
        let parts = item.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text);
        parts.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    lines.map(text).collect()
}

#[test]
fn doubts_stand_by_how_near_they_are_to_the_conclusion() {
    let mut input = discussed("The replay had a warm cache.");
    let lost = edit(
        node(
            "R5.A1a1v",
            "VERIFY",
            "Replaying production load on a copy confirms it",
            "Three runs, three without.",
        ),
        |c| {
            c.references = vec![Citation { pinned: Some(pin()), ..Citation::default() }];
        },
    );
    let old = Arc::unwrap_or_clone(input.snapshot.investigation);
    input.snapshot.investigation = Arc::new(old.with(&[crate::domain::Change::Node(Arc::new(lost))]));
    input.evidence = ProjectEvidence { drift: [(pin(), Drift::Gone)].into(), forge: None };
    let page = page(&render(&[input]), "doubts.html");
    let told = doubts(&page);
    let at = |text: &str| {
        told.iter().position(|doubt| doubt.contains(text)).unwrap_or_else(|| panic!("no {text} in {told:#?}"))
    };
    let order = [
        "Maria objects to it: “The replay had a warm cache.”",
        "cites src/sort.rs:18-24, which is now gone.",
        "Cross-zone traffic adds 1 ms to each of 14 queries has not been checked.",
        "Cross-zone traffic adds 1 ms to each of 14 queries cites no source.",
        "was “Ruled out” and is now “Explored”, by reviewer-1: The trace shows a second path through the other zone.",
    ];
    let places = order.map(at);
    assert!(places.is_sorted(), "{places:?} in {told:#?}");
    let titles = ["Answers behind the conclusion", "Basis of the conclusion", "Other answers", "Elsewhere"];
    let places = titles.map(|title| page.find(&format!(">{title} <")).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    // The tooltip shows the code, which is not read aloud.
    assert!(
        page.contains("<span dir=\"auto\" title=\"SUSPICIOUS\">: Committed 4 s after it was proposed"),
        "{page}"
    );
    assert!(page.contains(&format!(">Notes <span class=\"count\">{}</span>", told.len())), "{page}");
}

#[test]
fn no_text_leaves_its_quotation_on_a_forge_or_notifies_anybody() {
    let input = all_texts("@name, see #12 </td><img src=x>\n\n</blockquote>\n\n# Ours\n\n<!-- @name");
    let (before, after) = (sample().snapshot, &input.snapshot);
    let readme = crate::format::readme::readme(&after.investigation, &after.rules().unwrap());
    let summary = changes::markdown(&diff::Diff::new(&before, after), ["a", "@name"]);
    let (readme, _) = readme.rsplit_once("<!--").unwrap();
    for page in [readme, summary.as_str()] {
        for mark in ["</", "<img", "<!--", " @name", "\n@name", " #12", "\n# Ours", "> # Ours"] {
            assert!(!page.contains(mark), "{mark} in {page}");
        }
        assert!(
            page.contains("`@name`, see `#12` &lt;/td>&lt;img") && page.contains("> #### Ours"),
            "{page}"
        );
    }
}

#[test]
fn a_reader_can_have_each_result_challenged() {
    let issue_url = Some("https://github.com/o/n/issues/new".parse().unwrap());
    let base_url = Some("https://example.org/r/".parse().unwrap());
    let options = SiteOptions { issue_url, base_url, ..SiteOptions::default() };
    let input = all_texts("a & b </pre><script>\u{202e} @c");
    let (id, head) = (input.snapshot.investigation.meta().id, input.snapshot.head.to_string());
    let files = site(&SiteContents::from(&[input][..]), &Templates::load(&options).unwrap()).unwrap();
    let node = page(&files, "nodes/R4.A1a1.html");
    for text in [
        "Node: R4.A1a1, FOUND: a &amp; b &lt;/pre&gt;&lt;script&gt;",
        &format!("Commit: {head}\nPage: https://example.org/r/nodes/R4.A1a1.html\n"),
        &format!("tot_comment with sessionId {id}, nodeId R4.A1a1, kind objection"),
        "href=\"https://github.com/o/n/issues/new?title=Objection+to+R4.A1a1%3A+a+%26+b+%3C%2Fpre%3E",
        "FOUND%3A+a+%26+b+%26lt%3B%2Fpre%3E%26lt%3Bscript%3E%EF%BF%BD+%60%40c%60%0A",
        &format!("tot object {id} R4.A1a1</code>"),
    ] {
        assert!(node.contains(text), "{text} is missing in {node}");
    }
    let index = page(&files, "index.html");
    let (_, button) = index.split_once("<a class=\"button strong\" href=\"").unwrap();
    let (address, text) = button.split_once("\" rel=\"noopener noreferrer\">").unwrap();
    assert!(address.starts_with("https://github.com/o/n/issues/new?title=Objection+to+R4.A1a1"), "{address}");
    assert!(text.starts_with("Object to this answer</a>"), "{text}");
    // Without a forge there is only the text. A proposal can't be challenged.
    let files = render(&[unfinished()]);
    let pages = pages(&files).into_iter().filter(|(path, _)| path.starts_with("nodes/"));
    let challenged = pages.filter(|(_, page)| page.contains("id=\"challenge\"")).count();
    assert_eq!(challenged, 2);
    assert!(files.values().all(|file| !String::from_utf8_lossy(file).contains("Open an issue")));
    let node = page(&files, "nodes/R2.A1.html");
    let (_, mail) = node.split_once("href=\"mailto:?subject=Objection%20to%20R2.A1%3A%20").unwrap();
    assert!(mail.split_once('"').unwrap().0.contains("&amp;body=Investigation%3A%20"), "{mail}");
    // The forge is recognized by the project's remote.
    let mut input = unfinished();
    input.evidence.forge = Forge::of("git@gitlab.com:o/n.git");
    let node = page(&render(&[input]), "nodes/R2.A1.html");
    assert!(
        node.contains("href=\"https://gitlab.com/o/n/-/issues/new?issue%5Btitle%5D=Objection+to+R2.A1"),
        "{node}"
    );
    assert!(!node.contains("mailto:"), "{node}");
}

#[test]
fn an_answer_that_only_its_own_agent_checked_is_doubted_as_that() {
    let mut input = sample();
    let old = Arc::unwrap_or_clone(input.snapshot.investigation);
    let answer = old.node(&"R4.A1a1".parse().unwrap()).unwrap().classification.clone().unwrap();
    let check = edit(node("R5.A1a1v", "VERIFY", "Replayed", "Three runs, the same thrice."), |c| {
        c.agent_id = answer.agent_id;
    });
    input.snapshot.investigation = Arc::new(old.with(&[crate::domain::Change::Node(Arc::new(check))]));
    let files = render(&[input]);
    let told = doubts(&page(&files, "doubts.html"));
    assert!(told.iter().any(|it| it.contains("was checked only by its author, in R5.A1a1v.")), "{told:#?}");
    let index = page(&files, "index.html");
    assert!(index.contains("<section class=\"answer self-checked\""), "{index}");
    assert!(index.contains(">Checked only by its author, "), "{index}");
    let (_, line) = index.split_once("Only its author checked it").unwrap();
    assert!(
        line.contains("title=\"R5.A1a1v\"") && !index.contains("tried to refute it and could not"),
        "{index}"
    );
}

#[test]
fn what_is_not_there_is_no_doubt() {
    let told = |input: ReportInput| doubts(&page(&render(&[input]), "doubts.html"));
    assert_eq!(told(empty()), ["The investigation ! It has not ended: 2 required steps left."]);
    let early = told(backed());
    assert!(
        early[0].starts_with("The investigation ! It was stopped early (the budget was spent)"),
        "{early:#?}"
    );
    assert!(
        !early.iter().any(|doubt| doubt.contains("checked by") || doubt.contains("been checked")),
        "a refuted one is no answer: {early:#?}"
    );
}

#[test]
fn an_open_objection_is_told_where_the_answer_stands_and_at_its_node() {
    let files = render(&[discussed("The replay had a warm cache.")]);
    let index = page(&files, "index.html");
    for text in [
        "<li class=\"against\" id=\"objections\">",
        "<a href=\"nodes/R4.A1a1.html#said-",
        ">Maria objects: “The replay had a warm cache.”</a>",
        "<section class=\"answer contested\"",
        "<h2 id=\"trust\">Contested.",
        "<h2 id=\"said\">Comments",
    ] {
        assert!(index.contains(text), "{text} is missing in {index}");
    }
    assert_eq!(index.matches("Maria objects").count(), 1, "{index}");
    let node = page(&files, "nodes/R4.A1a1.html");
    for text in ["Maria objects to it</a>", "The replay had a warm cache.", "(a person)", "(an agent"] {
        assert!(node.contains(text), "{text} is missing in {node}");
    }
    assert!(node.contains("No effect: a node’s author"));
    let confirming = page(&files, "nodes/R5.A1a1v.html");
    assert!(confirming.contains("objects to the answer it confirms"), "{confirming}");
    assert!(
        page(&files, "tree.html")
            .contains("<span class=\"sure contested\"><span aria-hidden=\"true\">!</span> contested")
    );
    let graph = page(&files, "graph.html");
    for text in [
        "role-solution contested on-path doubted best-answer\"",
        ">! contested</text>",
        "to a contested answer, or one checked only by its author",
    ] {
        assert!(graph.contains(text), "{text} is missing in {graph}");
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    assert_eq!(data["comments"].as_array().unwrap().len(), 5);
    assert_eq!(data["openObjections"].as_array().unwrap().len(), 1);
}

#[test]
fn whoever_concluded_or_objected_is_not_said_to_have_taken_no_part() {
    for input in [backed(), discussed("The replay had a warm cache.")] {
        let index = page(&render(&[input]), "index.html");
        assert!(index.contains("Names are not verified; 1 person took part"), "{index}");
    }
}

#[test]
fn what_refutes_is_not_called_a_confirmation() {
    let nodes = sample_nodes().into_iter().map(|node| match node.id.as_str() {
        "R5.A1a1v" => edit(node, |result| result.refutes = true),
        _ => node,
    });
    let files = render(&[input(meta(1, "Why?", "Why?"), nodes.map(Arc::new).collect(), None)]);
    for path in ["nodes/R5.A1a1v.html", "tree.html", "graph.html"] {
        let page = page(&files, path);
        assert!(page.contains("<span class=\"chip role-refutation\""), "{path}: {page}");
        assert!(page.contains(">Refutation<"), "{path}: {page}");
    }
    // It is not counted as a confirmation: the legend and the tree list refutations separately.
    let (tree, graph) = (page(&files, "tree.html"), page(&files, "graph.html"));
    assert!(tree.contains("value=\"Refutation\">Refutation <span class=\"count\">1</span>"), "{tree}");
    assert!(!tree.contains("value=\"Confirmation\""), "{tree}");
    assert!(graph.contains("<b>Refutation</b> <span class=\"count\">1</span>"), "{graph}");
    let card = graph.lines().find(|line| line.contains("<title>R5.A1a1v ")).unwrap();
    assert!(
        card.starts_with("<a class=\"card role-deadEnd\"") && card.contains("class=\"sign role-deadEnd\""),
        "{card}"
    );
    assert!(card.contains(">Refutation</text>") && !card.contains("Confirmation"), "{card}");
}

#[test]
fn a_node_page_tells_its_story() {
    let files = render(&[sample()]);
    let page = page(&files, "nodes/R3.A2b.html");
    for text in [
        "Requested",
        "DEAD",
        "stored as",
        "EXPLORE",
        "R3_EXPLORE_ONLY",
        "../history.html#c-",
        "../index.html",
    ] {
        assert!(page.contains(text), "{text} is missing");
    }
    let revived = self::page(&files, "nodes/R2.A3.html");
    assert!(
        revived.contains("Changes of state") && revived.contains("The trace shows a second path"),
        "{revived}"
    );
}

#[test]
fn every_page_has_the_policy_and_one_heading_of_the_first_level() {
    let mut all = pages(&render(&[sample(), unfinished()]));
    all.extend(pages(&render(&[discussed("# Why\n\nIt holds.")])));
    for (path, page) in all {
        let policy =
            format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">");
        assert!(page.contains(&policy), "{path}");
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
        assert!(page.contains("<main id=\"main\"") && page.contains("href=\"#main\""), "{path}");
        for forbidden in ["<style", " style=", "<script>", " onclick", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden} in {path}");
        }
        let mut last = 0;
        for (at, _) in page.match_indices("<h").filter(|(at, _)| page.as_bytes()[at + 2].is_ascii_digit()) {
            let level = page.as_bytes()[at + 2] - b'0';
            assert!(level <= last + 1, "h{level} after h{last} in {path}");
            last = level;
        }
        let ids: Vec<&str> = attributes(&page, "id").collect();
        assert_eq!(
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            "an id stands twice in {path}: {ids:?}"
        );
    }
}

#[test]
fn every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere() {
    for inputs in [
        vec![sample()],
        vec![sample(), unfinished()],
        vec![],
        vec![empty()],
        vec![large(400)],
        vec![discussed("# It holds.\n\nSee [there](R1.A).")],
    ] {
        let files = render(&inputs);
        let pages = pages(&files);
        let ids: HashSet<(&str, &str)> = pages
            .iter()
            .flat_map(|(path, page)| attributes(page, "id").map(move |id| (path.as_str(), id)))
            .collect();
        for (path, page) in &pages {
            for (attribute, link) in
                ["href", "src"].into_iter().flat_map(|a| attributes(page, a).map(move |v| (a, v)))
            {
                if ["http://", "https://", "mailto:?"].iter().any(|it| link.starts_with(it)) {
                    assert_eq!(attribute, "href", "{path} loads {link}");
                    continue;
                }
                let (target, anchor) = link.split_once('#').map_or((link, None), |(t, a)| (t, Some(a)));
                let target = if target.is_empty() { path.clone() } else { resolve(path, target) };
                assert!(files.contains_key(&target), "{path} links to {link}: no {target}");
                let is_there = anchor.is_none_or(|anchor| ids.contains(&(target.as_str(), anchor)));
                assert!(is_there, "{path} links to {link}: no such id");
            }
        }
    }
}

#[test]
fn a_large_graph_is_an_overview_and_branches_that_lead_to_each_other() {
    let files = render(&[large(400)]);
    let overview = page(&files, "graph.html");
    assert!(
        overview.contains("<svg class=\"graph icicle\"") && overview.contains("data-graph"),
        "{overview}"
    );
    let root = "R2.Ab";
    assert!(overview.contains(&format!("href=\"graph/{root}.html#{root}\"><title>")), "{overview}");
    assert!(
        overview
            .contains(&format!("<li><a href=\"graph/{root}.html\"><span class=\"node-id\">{root}</span>"))
    );
    let page = self::page(&files, &format!("graph/{root}.html"));
    assert!(page.contains("<li><a href=\"../graph.html\">Whole graph</a></li>"), "{page}");
    assert!(page.contains("class=\"neighbours\"") && page.contains(&format!("href=\"../graph/{root}.svg\"")));
    assert!(!page.contains("id=\"tree\""), "the list stands once");
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".svg")) {
        let svg = std::str::from_utf8(bytes).unwrap();
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{path}: {error}"));
        for link in document.descendants().filter_map(|node| node.attribute("href")) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(path, target);
            assert!(files.contains_key(&target), "{path} links to {link}");
            assert!(anchor.is_empty() || self::page(&files, &target).contains(&format!("id=\"{anchor}\"")));
        }
    }
    // Each node's card is below its parent on exactly one page, and the script lists that page.
    let script = self::page(&files, "graph/places.js");
    let json = script.strip_prefix("window.graphPlaces=").unwrap().trim_end().trim_end_matches(';');
    let places: Vec<(String, Vec<String>)> = serde_json::from_str(json).unwrap();
    assert_eq!(places.iter().map(|(_, ids)| ids.len()).sum::<usize>(), 400);
    for (path, ids) in places {
        let page = self::page(&files, &path);
        assert!(ids.iter().all(|id| page.contains(&format!("id=\"{id}\""))), "{path}");
    }
}

#[test]
fn one_stands_at_the_root_and_several_in_folders() {
    let (one, two) = (sample(), unfinished());
    let ids = [&one, &two].map(|input| input.snapshot.investigation.meta().id.to_string());
    let files = render(&[one, two]);
    for id in &ids {
        assert!(
            files.contains_key(&format!("{id}/index.html"))
                && files.contains_key(&format!("{id}/nodes/R1.A.html"))
        );
    }
    let index = page(&files, "index.html");
    for text in [
        "Why did checkout latency double",
        "Unfinished",
        "Ended",
        "single-root",
        "2 answers: 1 confirmed by another agent, same session, 1 not checked.",
    ] {
        assert!(index.contains(text), "{text}");
    }
    // Newest first.
    assert!(index.find(&ids[1]) < index.find(&ids[0]), "{index}");
}

#[test]
fn an_unfinished_one_says_what_it_needs() {
    let page = page(&render(&[unfinished()]), "index.html");
    for text in [
        "<span class=\"status unfinished\">Unfinished</span>",
        " required steps left</h2>",
        " required steps left.",
        "Round 5 must be reached; the deepest committed node is in round 2.",
        "needs 2 children; it has 0.",
        "Proposed, but not committed:",
        "No answer yet.",
    ] {
        assert!(page.contains(text), "{text} is missing");
    }
}

#[test]
fn an_investigation_without_nodes_has_pages_too() {
    let files = render(&[empty()]);
    assert!(page(&files, "index.html").contains("Nothing is committed yet."));
    assert!(page(&files, "graph.html").contains("No node has been proposed yet."));
    assert!(!files.keys().any(|path| path.starts_with("nodes/")));
}

#[test]
fn faults_are_named_and_the_rest_is_shown() {
    let mut input = sample();
    let fault = |path: &str, reason: &str| Fault::new(path, Some(7), reason);
    input.snapshot.ruleset = Err(fault("ruleset.yaml", "unknown state <b>NO</b>"));
    input.snapshot.faults.push(fault("nodes/R9/R9.X.yaml", "its parent is missing"));
    let files = render(&[input]);
    let page = page(&files, "index.html");
    assert!(page.contains("ruleset.yaml:7: unknown state &lt;b&gt;NO&lt;/b&gt;"));
    assert!(page.contains("nodes/R9/R9.X.yaml:7: its parent is missing"));
    assert!(page.contains("so the answers are unknown") && page.contains("Unknown: the ruleset"));
    // Nodes of the conclusion are not called refuted, since that is unknown here.
    assert!(!page.contains("no longer an answer"), "{page}");
    assert!(self::page(&files, "tree.html").contains("chip role-unknown"));
    assert!(!files.contains_key("ruleset.yaml"));
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
fn what_strangers_write_stays_text() {
    const EVIL: &str =
        "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 1111*1111 }} \u{202e}gpj.exe";
    let input = all_texts(EVIL);
    let mut other = unfinished();
    other.snapshot.branch = Some(EVIL.to_owned());
    for files in [render(std::slice::from_ref(&input)), render(&[input.clone(), other])] {
        for (path, page) in pages(&files) {
            for evil in ["<script>", "<img", "onerror=alert(1)>", "1234321", "\u{202e}"] {
                assert!(!page.contains(evil), "{evil} in {path}");
            }
            assert_eq!(page.matches("<script").count(), page.matches("<script src=").count(), "{path}");
        }
    }
}

#[test]
fn the_same_input_yields_the_same_bytes() {
    assert_eq!(render(&[sample(), unfinished()]), render(&[sample(), unfinished()]));
}

#[test]
fn the_data_file_has_camel_case_fields() {
    let files = render(&[sample()]);
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    assert_eq!(data["meta"]["minRounds"], 5);
    assert_eq!(data["solutions"][0]["verifiedBy"][0], "R5.A1a1v");
    let node = data["nodes"].as_array().unwrap().iter().find(|node| node["id"] == "R2.A3").unwrap();
    assert_eq!((&node["state"], &node["committedAs"]), (&"EXPLORE".into(), &"EXPLORE".into()));
    assert_eq!(node["reclassified"].as_array().unwrap().len(), 2);
    assert_eq!(node["parent"], "R1.A");
    assert_eq!(data["references"][0]["citedBy"][0]["node"], "R2.A1");
    assert_eq!(data["commits"][0]["changes"][0]["what"], "ended");
}

#[test]
fn ids_that_differ_in_case_have_pages_of_their_own() {
    let mut input = empty();
    let nodes = ["R1.A", "R1.a"].map(|id| Arc::new(node(id, "EXPLORE", "Same", "")));
    let meta = input.snapshot.investigation.meta().clone();
    input.snapshot.investigation = Arc::new(Investigation::from_facts(meta, nodes, None).0);
    let files = render(&[input]);
    let folded: BTreeSet<String> = files.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(folded.len(), files.len());
}

#[test]
fn every_ruleset_can_be_rendered() {
    for file in builtin::all() {
        let mut input = empty();
        let state = &file.ruleset.states;
        let root = Arc::new(node("R1.A", state[0].name.as_str(), "Root", "Something"));
        let ids = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5", "R2.A6"];
        let children =
            state.iter().zip(ids).map(|(state, id)| Arc::new(node(id, state.name.as_str(), "Child", "x")));
        let meta = Meta { ruleset: file.ruleset.name.clone(), ..input.snapshot.investigation.meta().clone() };
        let (investigation, faults) = Investigation::from_facts(meta, children.chain([root]), None);
        assert!(faults.is_empty());
        input.snapshot.investigation = Arc::new(investigation);
        input.snapshot.ruleset = Ok(Arc::new(file.clone()));
        let files = render(&[input]);
        assert!(page(&files, "judged.html").contains(&file.ruleset.summary));
    }
}

#[test]
fn a_template_of_the_users_replaces_one_and_an_asset() {
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("references.html"), "<p>{{ investigation.title }} of ours</p>")
        .unwrap();
    std::fs::create_dir(folder.path().join("assets")).unwrap();
    std::fs::write(folder.path().join("assets/style.css"), "body{}").unwrap();
    std::fs::write(folder.path().join("assets/logo.png"), [0, 255]).unwrap();
    let files = site(&SiteContents::from(&[sample()][..]), &with_folder(&folder).unwrap()).unwrap();
    assert!(page(&files, "references.html").starts_with("<p>Why did checkout latency double"));
    assert_eq!(
        (&files["assets/style.css"][..], &files["assets/logo.png"][..]),
        (&b"body{}"[..], &[0, 255][..])
    );
    assert!(page(&files, "index.html").contains("id=\"trust\""));
}

/// Names in the guide must exist, or templates based on it break.
#[test]
fn the_names_and_the_example_of_the_guide_work() {
    let guide = Templates::built_in().find(|(path, _)| path == "README.md").unwrap().1;
    let guide = std::str::from_utf8(guide).unwrap();
    let of = |heading: &str| -> String {
        let section = guide.split_once(&format!("\n### {heading}\n")).unwrap().1.split("\n#").next().unwrap();
        let names = section.split('`').skip(1).step_by(2).filter(|name| {
            name.contains('.') && name.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
        });
        // Even testing an unknown name is an error.
        names.map(|name| format!("{{% if {name} %}}{{% endif %}}")).collect()
    };
    let every = of("On every page") + &of("On every page of an investigation");
    let small = "{% set card = node.card %}{% set time = node.proposed_at %}{% set state = card.state %}\
                 {% set verdict = investigation.sure %}{% if verdict %}"
        .to_owned()
        + &of("A time, a verdict, a state, a card")
        + "{% endif %}";
    let example = guide.split_once("```html\n").unwrap().1.split("```").next().unwrap();
    for (file, text) in [
        ("overview.html", every.clone() + &of("`overview.html`")),
        ("node.html", every + &of("`node.html`") + &small),
        ("sites.html", of("On every page") + &of("`sites.html`")),
        ("overview.html", example.to_owned()),
    ] {
        assert!(text.len() > 100, "{file} has names");
        let folder = crate::testing::folder();
        std::fs::write(folder.path().join(file), text).unwrap();
        site(&SiteContents::from(&[sample(), unfinished()][..]), &with_folder(&folder).unwrap())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_template_error_names_file_line_and_reason() {
    let cases = [
        ("index\n{% if %}\n", "overview.html", 2, "syntax error"),
        ("one\ntwo\n{{ investigation.titel }}\n", "overview.html", 3, "titel"),
        ("\n{{ investigation.ended_by }}", "overview.html", 2, "the value is absent here"),
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}",
            "node.html",
            1,
            "loop",
        ),
        ("{% include \"none.html\" %}", "judged.html", 1, "none.html"),
    ];
    for (text, name, line, reason) in cases {
        let folder = crate::testing::folder();
        std::fs::write(folder.path().join(name), text).unwrap();
        let error = with_folder(&folder)
            .and_then(|templates| site(&SiteContents::from(&[unfinished()][..]), &templates))
            .unwrap_err();
        let ReportError::Template(error) = &error else { panic!("{error}") };
        assert_eq!(error.file, folder.path().join(name).display().to_string(), "{error}");
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    // For an included file, the error names that file rather than the page.
    let built_in = Templates::built_in().find(|(path, _)| path == "macros.html").unwrap().1;
    let broken = String::from_utf8(built_in.to_vec()).unwrap().replace("{{ state.name }}", "{{ state.nam }}");
    let line = broken.lines().position(|line| line.contains("state.nam }}")).unwrap() + 1;
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("macros.html"), broken).unwrap();
    let error = with_folder(&folder)
        .and_then(|templates| site(&SiteContents::from(&[unfinished()][..]), &templates))
        .unwrap_err();
    assert!(error.to_string().contains(&format!("macros.html:{line}: ")), "{error}");
    let missing = SiteOptions { template: Some(PathBuf::from("/nowhere/at/all")), ..SiteOptions::default() };
    let error = Templates::load(&missing).unwrap_err();
    assert_eq!(error.to_string(), "can't read the template /nowhere/at/all");
}

/// A template from a stranger once published the targets of its links, and a FIFO in it blocked forever.
#[cfg(unix)]
#[test]
fn a_template_takes_nothing_from_outside_its_folder() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let outside = crate::testing::folder();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    for (target, inside) in [(outside.path().join("secret"), "x"), (outside.path().to_owned(), "assets")] {
        let folder = crate::testing::folder();
        symlink(target, folder.path().join(inside)).unwrap();
        let error = with_folder(&folder).unwrap_err();
        assert!(crate::text::causes(&error).contains("points outside the template's folder"), "{error}");
    }
    let folder = crate::testing::folder();
    let _socket = UnixListener::bind(folder.path().join("x")).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("neither a file nor a folder"), "{error}");
    // A link inside the folder is one of its files, and a folder that contains itself ends.
    let folder = crate::testing::folder();
    std::fs::write(folder.path().join("a.css"), "a").unwrap();
    symlink("a.css", folder.path().join("b.css")).unwrap();
    assert_eq!(with_folder(&folder).unwrap().assets()["b.css"], b"a");
    symlink(".", folder.path().join("loop")).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("too deep"), "{error}");
}

#[test]
fn a_template_has_a_size() {
    let folder = crate::testing::folder();
    for name in 0..5 {
        let file = std::fs::File::create(folder.path().join(name.to_string())).unwrap();
        file.set_len(15 << 20).unwrap();
    }
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("larger than 64 MiB"), "{error}");
    std::fs::File::create(folder.path().join("0")).unwrap().set_len(17 << 20).unwrap();
    let error = with_folder(&folder).unwrap_err();
    assert!(crate::text::causes(&error).contains("MiB"), "{error}");
}

/// Few steps can print a lot.
#[test]
fn a_page_has_a_length() {
    let folder = crate::testing::folder();
    let text = "a".repeat(1 << 20);
    let page = format!("{{% for _ in range(100000) %}}{text}{{% endfor %}}");
    std::fs::write(folder.path().join("judged.html"), page).unwrap();
    let error = site(&SiteContents::from(&[unfinished()][..]), &with_folder(&folder).unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("judged.html: the page is longer than 256 MiB: is there an endless loop?"),
        "{error}"
    );
}

/// Every field of a node is on its page.
#[test]
fn every_field_of_a_node_is_on_its_page_and_in_the_data() {
    let input = backed();
    let investigation = Arc::clone(&input.snapshot.investigation);
    let file = input.snapshot.ruleset.clone().unwrap();
    let rules = EffectiveRules::new(&file.ruleset, investigation.meta());
    let node = investigation.node(&"R3.A1a".parse().unwrap()).unwrap();
    let view = serde_json::to_value(NodeView::new(&investigation, Some(rules), node)).unwrap();
    let files = render(&[input]);
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    let stored = data["nodes"].as_array().unwrap().iter().find(|it| it["id"] == "R3.A1a").unwrap();
    assert_eq!(stored, &view);
    let (page, print) = (page(&files, "nodes/R3.A1a.html"), page(&files, "print.html"));
    for (field, value) in leaves("", &view) {
        // Messages use the labels of states.
        let value = if field.ends_with("warnings/message") {
            value.replace("DEAD", "“Ruled out”")
        } else {
            value
        };
        assert!(page.contains(&crate::text::escape(&value)), "{field}: {value} is not on the page");
    }
    for shown in
        ["It refutes", "Commands", "exit code 101", "Sources in full", "It supports", "Previous headline"]
    {
        assert!(page.contains(shown), "{shown} is not on the page");
    }
    for shown in ["cargo bench", "three of five", "It supports", "The first finding", "It refutes R2.A1"] {
        assert!(print.contains(shown), "{shown} is not in the print");
    }
    let search = self::page(&files, "search-data.js");
    for shown in ["Sort first", "cargo bench", "three of five"] {
        assert!(search.contains(shown), "{shown} is not found");
    }
    // The replacement title is shown wherever the node is named.
    for path in
        ["index.html", "tree.html", "graph.html", "graph.svg", "graph.dot", "graph.mmd", "nodes/R2.A1.html"]
    {
        let file = self::page(&files, path);
        assert!(file.contains("Sorting costs"), "{path}");
        assert!(!file.contains("Sort first"), "{path}");
    }
    let linked = self::page(&files, "nodes/R2.A2.html");
    assert!(linked.contains("It is supported by <a") && linked.contains("../nodes/R3.A1a.html"), "{linked}");
    let refuted = self::page(&files, "nodes/R2.A1.html");
    assert!(refuted.contains("Refuted by"), "{refuted}");
}

/// Returns each value in a JSON value, with its path. None may be empty, since the sample has all fields.
fn leaves(path: &str, value: &serde_json::Value) -> Vec<(String, String)> {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String as Text};
    match value {
        Null => panic!("the sample has no {path}"),
        Bool(is) => {
            assert!(is, "the sample has no {path}");
            Vec::new()
        }
        Number(number) => vec![(path.to_owned(), number.to_string())],
        Text(text) => {
            assert!(!text.is_empty(), "the sample has no {path}");
            vec![(path.to_owned(), text.clone())]
        }
        Array(values) => {
            assert!(!values.is_empty(), "the sample has no {path}");
            values.iter().flat_map(|value| leaves(path, value)).collect()
        }
        Object(fields) => {
            fields.iter().flat_map(|(key, value)| leaves(&format!("{path}/{key}"), value)).collect()
        }
    }
}

#[test]
fn one_that_was_stopped_early_says_so_everywhere_with_what_was_owed() {
    let files = render(&[backed()]);
    for (path, page) in pages(&files).into_iter().filter(|(path, _)| path != "print.html") {
        assert!(page.contains("Stopped early"), "{path}");
        assert!(page.contains("Ended without a conclusion"), "{path}");
    }
    let overview = page(&files, "index.html");
    for shown in [
        "Stopped early: the budget was spent",
        "No calls are left.",
        " skipped</h2>",
        "accepted: “Then stop.” (said through the client, which is not a sign-off)",
    ] {
        assert!(overview.contains(shown), "{shown}");
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    assert_eq!(data["conclusion"]["stopped"]["reason"], "budget");
    assert_eq!(data["conclusion"]["asked"], serde_json::json!({"answer": "accepted", "said": "Then stop."}));
    assert_eq!(data["refuted"][0], serde_json::json!({"node": "R2.A1", "refutedBy": ["R3.A1a"]}));
    assert_eq!(data["solutions"], serde_json::json!([]), "a refuted one does not count");
    assert!(overview.contains("No answer was found. 1 refuted."), "{overview}");
    // The same holds for the index of several investigations.
    let index = page(&render(&[backed(), empty()]), "index.html");
    assert!(index.contains("Stopped early") && index.contains("Ended without a conclusion"), "{index}");
}

#[test]
fn a_conclusion_that_came_after_the_end_says_so() {
    let files = render(&[concluded_late()]);
    let page = page(&files, "index.html");
    let (_, after) = page.split_once("added later").unwrap();
    assert!(after.contains(&Time::of(time(300)).text) && page.contains("It sorts."), "{page}");
    // The texts from before an amendment are shown too.
    for shown in
        ["Conclusion amended", "editor-2", "client-5/1.0", "It was hasty.", "<strong>does not</strong> sort"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    let amended = &data["conclusion"]["amended"][0];
    assert_eq!((&amended["agentId"], &amended["reason"]), (&"editor-2".into(), &"It was hasty.".into()));
    assert_eq!(amended["conclusion"], "It **does not** sort.");
}

fn concluded_late() -> ReportInput {
    let mut input = backed();
    let old = Arc::clone(&input.snapshot.investigation);
    let end = Conclusion {
        conclusion: Some("It sorts.".to_owned()),
        concluded_at: Some(time(300)),
        agent_id: Some("lead".to_owned()),
        amended: vec![AmendedConclusion {
            at: time(310),
            agent_id: Some("editor-2".to_owned()),
            caller: Caller { client: Some("client-5/1.0".to_owned()), ..Caller::default() },
            reason: "It was hasty.".to_owned(),
            conclusion: Some("It **does not** sort.".to_owned()),
            answers: None,
            not_covered: None,
        }],
        ..Conclusion::new(time(200))
    };
    let nodes: Vec<Arc<Node>> = old.nodes().cloned().collect();
    input.snapshot.investigation =
        Arc::new(Investigation::from_facts(old.meta().clone(), nodes, Some(end)).0);
    input
}

#[test]
fn an_edit_by_hand_is_shown_as_a_difference() {
    let page = page(&render(&[edited()]), "history.html");
    for text in
        ["Edited by hand", "<summary>Findings", "<mark>", "class=\"line removed\"", "Wrote findings, "]
    {
        assert!(page.contains(text), "{text} is missing");
    }
}

#[test]
fn a_long_history_has_pages_and_every_commit_is_found_on_its_own() {
    let mut input = sample();
    let first = input.history.last().unwrap().clone();
    for number in 0..450_u32 {
        let commit = format!("{number:040x}").parse().unwrap();
        input.history.push(HistoryEntry { commit, happenings: Vec::new(), ..first.clone() });
    }
    // The oldest commit is on the last page.
    let number = input.history.len();
    let oldest = input.history.remove(number - 451);
    input.history.push(oldest);
    let files = render(&[input]);
    assert!(page(&files, "history.html").contains("href=\"history-2.html\""));
    assert!(page(&files, "history-2.html").contains("Page 2 of 3"));
    assert!(!files.contains_key("history-4.html"));
    assert!(page(&files, "nodes/R1.A.html").contains("href=\"../history.html#c-"));
}

#[test]
fn a_report_of_an_earlier_commit_says_so_on_every_page() {
    let input = ReportInput { rev: Some("v1~2".to_owned()), ..sample() };
    for (path, page) in pages(&render(&[input])) {
        assert!(page.contains("A newer state may exist.") && page.contains("v1~2"), "{path}");
    }
    assert!(pages(&render(&[sample()])).iter().all(|(_, page)| !page.contains("A newer state may exist.")));
}

#[test]
fn one_that_ended_without_an_answer_says_so() {
    let mut input = empty();
    let meta = input.snapshot.investigation.meta().clone();
    let end = Conclusion::new(time(9));
    input.snapshot.investigation = Arc::new(Investigation::from_facts(meta, [], Some(end)).0);
    let page = page(&render(&[input]), "index.html");
    assert!(page.contains("Ended without a conclusion") && page.contains("No answer was found."), "{page}");
}

#[test]
fn the_data_of_the_search_is_a_script_that_holds_no_markup() {
    let files = render(&[all_texts("</script><b>`x`</b> & \u{202e}\u{2028}é")]);
    let script = page(&files, "search-data.js");
    for evil in ['<', '>', '&', '\u{202e}', '\u{2028}'] {
        assert!(!script.contains(evil), "{evil:?}");
    }
    let json = script.strip_prefix("totSearch(").and_then(|text| text.strip_suffix(");\n")).unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["cut"], 0);
    let found = data["found"].as_array().unwrap();
    let node = found.iter().find(|it| it[0] != "").unwrap();
    assert!(node[1].as_str().unwrap().starts_with("</script><b>"), "{node}");
    assert!(files.contains_key(node[2].as_str().unwrap()), "{node}");
    assert!(data["states"][node[3].as_u64().unwrap() as usize].is_array());
    for it in found {
        for said in it[5].as_array().unwrap() {
            assert!(data["fields"][said[0].as_u64().unwrap() as usize].is_string(), "{said}");
        }
        let (page, id) = it[2].as_str().unwrap().split_once('#').unwrap_or((it[2].as_str().unwrap(), ""));
        let html = String::from_utf8_lossy(&files[page]);
        assert!(id.is_empty() || attributes(&html, "id").any(|it| it == id), "{it} leads nowhere");
    }
}

#[test]
fn one_file_asks_for_nothing_and_says_what_it_leaves_out() {
    let whole = export::html(&sample(), &SiteOptions::default()).unwrap();
    let text = String::from_utf8(whole.bytes).unwrap();
    assert_eq!(whole.in_short, 0);
    for (attribute, value) in
        ["href", "src"].into_iter().flat_map(|name| attributes(&text, name).map(move |value| (name, value)))
    {
        let is_own = value.starts_with('#') || value.starts_with("data:");
        // Other addresses occur only as links.
        assert!(is_own || (attribute == "href" && value.starts_with("http")), "{attribute} {value}");
    }
    assert!(!text.contains("<script"));
    let large = export::html(&large(2_100), &SiteOptions::default()).unwrap();
    assert!(large.in_short > 0);
    let text = String::from_utf8(large.bytes).unwrap();
    assert!(text.contains(&format!("{} of 2100 nodes are listed", large.in_short)), "it says so");
    assert!(!text.contains("Each has its own page"));
}

#[test]
fn a_search_finds_what_a_reader_sees_and_says_where() {
    let files = render(&[discussed("The replay had a warm cache.")]);
    let script = page(&files, "search-data.js");
    let json = script.strip_prefix("totSearch(").and_then(|text| text.strip_suffix(");\n")).unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let fields = data["fields"].as_array().unwrap();
    let field = |name: &str| fields.iter().position(|it| it == name).unwrap_or_else(|| panic!("no {name}"));
    for (title, name, text) in [
        ("Conclusion", "Conclusion", "takes four minutes and locks nothing"),
        ("The question", "Question", "the p99 of POST /checkout is 820 ms"),
        ("The question", "Question", "No one may restart production."),
        ("Comment", "Comments", "Maria: The replay had a warm cache."),
        ("R4.A1a1", "Comments", "Maria: The replay had a warm cache."),
        ("R4.A1a1", "Agent", "researcher-r4.a1a1"),
    ] {
        let found = data["found"].as_array().unwrap().iter().filter(|it| it[0] == title || it[1] == title);
        let mut said = found.flat_map(|it| it[5].as_array().unwrap());
        let is_it = |it: &serde_json::Value| {
            it[0] == field(name) && it[1].as_str().unwrap().to_lowercase().contains(&text.to_lowercase())
        };
        assert!(said.any(is_it), "{title} {name} {text}");
    }
    let sources = field("Sources");
    let is_source = |it: &serde_json::Value| it[0] == sources && it[1].as_str().unwrap().contains("https://");
    assert!(
        data["found"].as_array().unwrap().iter().any(|it| it[5].as_array().unwrap().iter().any(is_source))
    );
}

#[test]
fn code_in_a_title_is_code_and_the_rest_is_text() {
    let mut input = empty();
    let meta = input.snapshot.investigation.meta().clone();
    let nodes = [("R1.A", "Use `BEGIN <IMMEDIATE>` & wait"), ("R1.B", "``` opens nothing, and `` `two` ``")]
        .map(|(id, title)| Arc::new(node(id, "EXPLORE", title, "")));
    input.snapshot.investigation = Arc::new(Investigation::from_facts(meta, nodes, None).0);
    let files = render(&[input]);
    let page = |path| self::page(&files, path);
    assert!(page("nodes/R1.A.html").contains("Use <code>BEGIN &lt;IMMEDIATE&gt;</code> &amp; wait</h1>"));
    assert!(page("nodes/R1.A.html").contains("<title>R1.A Use BEGIN &lt;IMMEDIATE&gt; &amp; wait – "));
    assert!(
        page("nodes/R1.B.html").contains("``` opens nothing, and <code>`two`</code></h1>"),
        "{}",
        page("nodes/R1.B.html")
    );
}

#[test]
fn references_that_the_findings_list_are_not_listed_again() {
    let mut input = empty();
    let meta = input.snapshot.investigation.meta().clone();
    let list = "So.\n\n## References\n\n- https://a.example/own\n- https://a.example/shared";
    let nodes = [("R1.A", list), ("R1.B", "See https://a.example/shared and https://a.example/other")]
        .map(|(id, findings)| Arc::new(node(id, "EXPLORE", "T", findings)));
    input.snapshot.investigation = Arc::new(Investigation::from_facts(meta, nodes, None).0);
    let files = render(&[input]);
    let listed = page(&files, "nodes/R1.A.html");
    assert_eq!(listed.matches("href=\"https://a.example/own\"").count(), 1);
    assert!(
        listed.contains("Also cited by other nodes") && listed.contains("../references.html#ref-2"),
        "{listed}"
    );
    let bare = page(&files, "nodes/R1.B.html");
    assert!(bare.contains("<h2 id=\"references\">Sources</h2>"));
    assert_eq!(bare.matches("href=\"https://a.example/other\"").count(), 2);
}

#[test]
fn a_run_stands_at_its_node_with_what_came_of_it_again_and_all_are_on_the_page_of_evidence() {
    let mut input = sample();
    let plain = |what: &str| what.to_owned();
    let mut runs = [
        run(1, Some("R4.A1a1"), captured, 0, &plain),
        run(2, None, repeated, 1, &plain),
        run(3, None, judged, 2, &plain),
        run(4, None, captured, 0, &plain),
    ];
    if let RunKind::Repeated { ran, .. } = &mut Arc::make_mut(&mut runs[1]).what {
        ran.output =
            Output { text: "another output".to_owned(), sha256: "1".repeat(64), ..Output::default() };
        ran.expectations.iter_mut().for_each(|it| it.held = false);
    }
    let investigation = Arc::unwrap_or_clone(input.snapshot.investigation);
    input.snapshot.investigation = Arc::new(investigation.with_runs(runs.clone()));
    let files = render(&[input]);
    let node = page(&files, "nodes/R4.A1a1.html");
    for told in [
        "<pre class=\"command\"><code>program argument</code></pre>",
        "not run: reason",
        "at commit <code class=\"break\">3f2a91c</code> with 1 changed file",
        "Beginning and end of the output (100.0 kB in total):",
        "<b>Differs</b>, rerun by",
        "another",
        "Judged to hold by",
    ] {
        assert!(node.contains(told), "{told}");
    }
    assert_eq!(node.matches("class=\"unmet\"").count(), 1);
    let evidence = page(&files, "references.html");
    for run in [&runs[0], &runs[3]] {
        let place = match run.node {
            Some(_) => format!("href=\"nodes/R4.A1a1.html#run-{}\"", run.id),
            None => format!("id=\"run-{}\"", run.id),
        };
        assert!(evidence.contains(&place), "{place}");
    }
}

/// Adds or replaces nodes.
fn put(input: &mut ReportInput, nodes: Vec<Node>) {
    let changes: Vec<_> = nodes.into_iter().map(|node| crate::domain::Change::Node(Arc::new(node))).collect();
    input.snapshot.investigation =
        Arc::new(Investigation::clone(&input.snapshot.investigation).with(&changes));
}

/// Replaces the citations of the root.
fn cite(input: &mut ReportInput, references: Vec<Citation>) {
    let root = input.snapshot.investigation.node(&"R1.A".parse().unwrap()).unwrap();
    let root = edit(Node::clone(root), |c| c.references = references);
    put(input, vec![root]);
}

fn cites(input: &mut ReportInput, number: usize) {
    let cited = |at| Citation { target: format!("src/file-{at:03}.rs"), ..Citation::default() };
    cite(input, (0..number).map(cited).collect());
}

/// The slider ends with the current tree.
#[test]
fn what_each_commit_did_adds_up_to_the_tree() {
    let input = edited();
    let files = render(std::slice::from_ref(&input));
    assert!(page(&files, "history.html").contains("<details class=\"grown\">"));
    let script = page(&files, "grown.js");
    let json = script.strip_prefix("totGrown(").unwrap().strip_suffix(");\n").unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let commits = data["commits"].as_array().unwrap();
    assert_eq!(commits.len(), input.history.len());
    let mut tree = BTreeMap::new();
    for change in commits.iter().flat_map(|commit| commit[2].as_array().unwrap()) {
        let id = change[0].as_str().unwrap();
        match change[2].as_u64() {
            Some(state) => tree.insert(id, data["states"][state as usize][0].as_str().unwrap()),
            None => tree.remove(id),
        };
    }
    for (id, word) in tree {
        let node = input.snapshot.investigation.node(&id.parse().unwrap());
        assert!(node.is_some(), "{id} is gone");
        assert!(
            page(&files, &format!("nodes/{id}.html")).contains(&format!(">{word}</span>")),
            "{id}: {word}"
        );
    }
}

#[test]
fn many_sources_stand_on_several_pages() {
    let mut input = sample();
    cites(&mut input, 450);
    let files = render(&[input]);
    let pages = ["references.html", "references-2.html", "references-3.html"].map(|path| page(&files, path));
    assert!(!files.contains_key("references-4.html"));
    let mut found = 0;
    for (at, page) in pages.iter().enumerate() {
        let numbers = page.split("<li id=\"ref-").skip(1).map(|row| row.split('"').next().unwrap());
        let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
        assert!(numbers.iter().copied().eq(at * 200 + 1..at * 200 + 1 + numbers.len()), "{numbers:?}");
        assert!(numbers.len() <= 200 && page.contains(&format!("<span>Page {} of 3</span>", at + 1)));
        found += numbers.len();
    }
    assert!(found >= 450);
    assert!(pages[1].contains("rel=\"prev\" href=\"references.html\"") && pages[1].contains("rel=\"next\""));
    // Citing nodes link to the page with the source.
    let node = page(&files, "nodes/R1.A.html");
    for link in node.split("href=\"../").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let Some((path, place)) = link.split_once('#').filter(|(path, _)| path.starts_with("references"))
        else {
            continue;
        };
        assert!(page(&files, path).contains(&format!("id=\"{place}\"")), "{link}");
    }
}

/// A page with 9,500 nodes once had 85,000 elements.
#[test]
fn a_source_that_hundreds_cite_names_a_few_of_them() {
    let one = |at: usize| {
        edit(node(&format!("R2.A{at}"), "EXPLORE", "One of many", "Read."), |c| {
            c.references = vec![Citation { target: "src/shared.rs".to_owned(), ..Citation::default() }];
        })
    };
    let mut input = sample();
    put(&mut input, (1..=300).map(one).collect());
    let page = page(&render(&[input]), "references.html");
    let (_, row) = page.split_once("<code class=\"break\">src/shared.rs</code>").unwrap();
    let (row, _) = row.split_once("</li>").unwrap();
    assert_eq!(row.matches("href=\"nodes/").count(), 44, "{row}");
    assert!(row.contains("296 more nodes") && row.contains(" and 256 more"), "{row}");
}

#[test]
fn a_cited_file_says_how_it_stands_today() {
    let mut input = sample();
    let of = |pinned| Citation { target: "src/sort.rs".to_owned(), pinned, ..Citation::default() };
    cite(&mut input, vec![of(Some(pin()))]);
    let row = |drift: Option<Drift>| {
        let drift = drift.map(|drift| (pin(), drift)).into_iter().collect();
        let evidence = ProjectEvidence { drift, forge: None };
        let page = page(&render(&[ReportInput { evidence, ..input.clone() }]), "references.html");
        let (_, row) = page.split_once("<code class=\"break\">src/sort.rs</code>").unwrap();
        row.lines().next().unwrap().trim().to_owned()
    };
    assert_eq!(row(Some(Drift::Unchanged)), "<span class=\"drift unchanged\">unchanged</span>");
    assert_eq!(row(Some(Drift::Gone)), "<span class=\"drift gone\">gone since</span>");
    assert_eq!(row(Some(Drift::Unchecked)), "");
    assert_eq!(row(None), "");
}

#[test]
fn what_a_confirmed_answer_cites_comes_first() {
    let page = page(&render(&[sample()]), "references.html");
    let first = page.find("class=\"confirmed\"").expect("one is marked");
    let plain = page.find("<li id=\"ref-").unwrap();
    assert!(page[plain..first].len() < 60, "the first of the list is the marked one");
}

#[test]
fn every_built_in_template_says_what_it_is_for_and_escapes_its_output() {
    for (path, bytes) in Templates::built_in().filter(|(path, _)| path.ends_with(".html")) {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.starts_with("{# "), "{path} does not begin with what it is for");
        for forbidden in ["safe", "autoescape", "style=\"", "<style"] {
            assert!(!text.contains(forbidden), "{forbidden} in {path}");
        }
    }
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

#[test]
fn a_site_is_written_and_replaced() {
    let folder = crate::testing::folder();
    let out = folder.path().join("deep/site");
    let first: Files =
        [("index.html", "1"), ("nodes/R1.A.html", "a")].map(|(p, b)| (p.into(), b.into())).into();
    write(&first, &out).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("nodes/R1.A.html")).unwrap(), "a");
    std::fs::write(out.join(".DS_Store"), "litter").unwrap();
    let second: Files = [("index.html".to_owned(), b"2".to_vec())].into();
    write(&second, &out).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("index.html")).unwrap(), "2");
    assert!(!out.join("nodes").exists());
    assert_eq!(names(out.parent().unwrap()), ["site"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    write(&second, &folder.path().join("empty")).unwrap();
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let folder = crate::testing::folder();
    let files: Files = [("index.html".to_owned(), b"new".to_vec())].into();
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.txt"), "years").unwrap();
    let error = write(&files, &foreign).unwrap_err();
    assert!(
        matches!(error, ReportError::Foreign { .. }) && error.to_string().contains("choose another"),
        "{error}"
    );
    assert_eq!(names(&foreign), ["thesis.txt"]);

    // A file or folder added to one of our sites is foreign too.
    let own = folder.path().join("own");
    write(&files, &own).unwrap();
    std::fs::create_dir(own.join(".git")).unwrap();
    assert!(
        matches!(write(&files, &own), Err(ReportError::Foreign { found, .. }) if found.ends_with(".git"))
    );
    assert!(own.join("index.html").exists());

    std::fs::write(folder.path().join("file"), "x").unwrap();
    assert!(matches!(write(&files, &folder.path().join("file")), Err(ReportError::NotAFolder { .. })));
    for path in ["../x", "/etc/x", "a//b", "a\\b", "", MARKER] {
        let bad: Files = [(path.to_owned(), Vec::new())].into();
        assert!(
            matches!(write(&bad, &folder.path().join("new")), Err(ReportError::BadPath { .. })),
            "{path}"
        );
    }
    assert_eq!(names(folder.path()), ["file", "foreign", "own"]);
}

// The parts of the samples

fn render(inputs: &[ReportInput]) -> Files {
    site(&inputs.into(), &Templates::load(&SiteOptions::default()).unwrap()).unwrap_or_else(|error| {
        match error {
            ReportError::Template(error) => panic!("{error}\n{}", error.excerpt),
            error => panic!("{error}"),
        }
    })
}

fn with_folder(folder: &tempfile::TempDir) -> Result<Templates, ReportError> {
    Templates::load(&SiteOptions { template: Some(folder.path().to_owned()), ..SiteOptions::default() })
}

fn page(files: &Files, path: &str) -> String {
    String::from_utf8(files[path].clone()).unwrap()
}

fn pages(files: &Files) -> Vec<(String, String)> {
    files
        .keys()
        .filter(|path| path.ends_with(".html"))
        .map(|path| (path.clone(), page(files, path)))
        .collect()
}

fn attributes<'p>(page: &'p str, name: &str) -> impl Iterator<Item = &'p str> {
    let open = format!(" {name}=\"");
    let starts: Vec<usize> = page.match_indices(&open).map(|(at, open)| at + open.len()).collect();
    starts.into_iter().filter_map(|at| page[at..].split('"').next())
}

fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{link} in {page} leads out of the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn time(minutes: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_795_166_102_114 + minutes * 60_000).unwrap()
}

pub(super) fn meta(number: u8, title: &str, query: &str) -> Meta {
    Meta {
        id: crate::domain::SessionId::new(1_795_166_102_114 + u64::from(number) * 1000, [number; 10]),
        title: title.to_owned(),
        query: query.to_owned(),
        context: None,
        ruleset: "single-root".to_owned(),
        mode: "deep".to_owned(),
        min_rounds: 5,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: time(i64::from(number)),
    }
}

fn pending(id: &str, title: &str, plan: &str) -> Node {
    let id: NodeId = id.parse().unwrap();
    let parent = (id.round() > 1).then(|| {
        let suffix = &id.suffix()[..(id.round() as usize - 1).min(id.suffix().len() - 1)];
        format!("R{}.{suffix}", id.round() - 1).parse().unwrap()
    });
    let proposed_at = time(i64::from(id.round()) * 20);
    Node { planned_action: plan.to_owned(), ..Node::new(id, parent, title, proposed_at) }
}

fn node(id: &str, state: &str, title: &str, findings: &str) -> Node {
    let mut node = pending(id, title, "Look, and say what is there.");
    let committed_at = time(i64::from(node.round()) * 20 + 12);
    node.classification = Some(Classification {
        agent_id: Some(format!("researcher-{}", id.to_lowercase())),
        ..Classification::new(state.parse().unwrap(), findings, committed_at)
    });
    node
}

/// Returns a cited file.
fn pin() -> Pin {
    Pin {
        path: "src/sort.rs".to_owned(),
        commit: Some("0a1b2c3d".repeat(5)),
        blob: "b10b".repeat(10),
        uncommitted: false,
        lines: Some(Lines { first: 18, last: 24 }),
        text: Some("let sorted = <Vec<_>>::from(all); // **not** Markdown\n".to_owned()),
    }
}

#[test]
fn a_browser_is_told_how_each_node_stands() {
    let nodes = vec![
        node("R1.A", "EXPLORE", "Why is it slow?", "Profiled."),
        node("R2.A1", "FOUND", "The sort", "It is the sort."),
        node("R2.A2", "DEAD", "The hash", "It is not."),
        node("R2.A3", "DEAD", "The disk", "It is not."),
        pending("R2.A4", "The network", "Look there."),
    ];
    let input = input(meta(9, "Slow", "Why is it slow?"), nodes.into_iter().map(Arc::new).collect(), None);
    let head = input.snapshot.head.to_string();
    let files = render(std::slice::from_ref(&input));
    let states = "a2.A1;d2.A2,A3;o1.A;p2.A4";
    assert_eq!(page(&files, "states.js"), format!("totStates(\"{states}\");\n"));
    assert!(page(&files, "tree.html").contains(&format!("data-states=\"{states}\"")));
    for file in ["index.html", "tree.html"] {
        let page = page(&files, file);
        assert!(
            page.contains(&format!(
                "class=\"since\" data-investigation=\"{}\" data-head=\"{head}\"",
                input.snapshot.investigation.meta().id
            )),
            "{page}"
        );
    }
    // Showing an earlier state does not count as a visit.
    let earlier = render(&[ReportInput { rev: Some("HEAD~1".to_owned()), ..input }]);
    assert!(!page(&earlier, "index.html").contains("class=\"since\""));
}

#[test]
fn ids_in_texts_lead_to_their_nodes() {
    let nodes = vec![
        node("R1.A", "EXPLORE", "Why <so>?", "It is R2.A1, not R2.A9, as R1.A says. [x](#node:R2.A1)"),
        node("R2.A1", "FOUND", "The \"sort\"", "It follows from R1.A."),
    ];
    let conclusion =
        Conclusion { conclusion: Some("Because of R2.A1.".to_owned()), ..Conclusion::new(time(200)) };
    let input = input(meta(9, "Why?", "Why?"), nodes.into_iter().map(Arc::new).collect(), Some(conclusion));
    let files = render(&[input]);
    let link = |href: &str| {
        let about = match href {
            "#n-R2.A1" => "",
            _ => " data-state=\"Answer, not checked\" data-first=\"It follows from R1.A.\"",
        };
        format!("<a class=\"node-ref\" href=\"{href}\" title=\"The &quot;sort&quot;\"{about}>R2.A1</a>")
    };
    let of_root = page(&files, "nodes/R1.A.html");
    let expected = format!("<p>It is {}, not R2.A9, as R1.A says. ", link("../nodes/R2.A1.html"));
    assert!(of_root.contains(&expected), "{of_root}");
    assert!(page(&files, "nodes/R2.A1.html").contains("<a class=\"node-ref\" href=\"../nodes/R1.A.html\""));
    assert!(page(&files, "index.html").contains(&format!("Because of {}.", link("nodes/R2.A1.html"))));
    assert!(page(&files, "print.html").contains(&format!("It is {}, not R2.A9", link("#n-R2.A1"))));
    assert!(files.values().all(|bytes| !String::from_utf8_lossy(bytes).contains("\"#node:")));
}

#[test]
fn files_with_lines_lead_to_where_people_see_them() {
    let said = "At sort.rs:20, `src/new.rs:3-4` and new.rs:1.";
    let node = edit(node("R1.A", "EXPLORE", "Why is it slow?", said), |c| {
        c.references = vec![Citation { pinned: Some(pin()), ..Citation::default() }];
    });
    let input = input(meta(9, "Slow", "Why is it slow?"), vec![Arc::new(node)], None);
    let page = |forge| {
        let input = ReportInput {
            evidence: ProjectEvidence { forge, ..ProjectEvidence::default() },
            ..input.clone()
        };
        page(&render(&[input]), "nodes/R1.A.html")
    };
    assert!(page(None).contains("At sort.rs:20, <code>src/new.rs:3-4</code> and new.rs:1."));
    let linked = page(Some("https://x.example/{commit}/{path}#{line}".parse().unwrap()));
    let commit = "0a1b2c3d".repeat(5);
    for expected in [
        format!(
            "<a class=\"file-ref\" href=\"https://x.example/{commit}/src/sort.rs#20\" title=\"src/sort.rs at commit 0a1b2c3d0a, as it was cited\""
        ),
        "href=\"https://x.example/HEAD/src/new.rs#3\"".to_owned(),
        "<code>src/new.rs:3-4</code></a> and new.rs:1.".to_owned(),
    ] {
        assert!(linked.contains(&expected), "{expected}\n{linked}");
    }
}

#[test]
fn cited_files_stand_beside_the_claim_as_they_were() {
    let page = |evidence| page(&render(&[ReportInput { evidence, ..backed() }]), "nodes/R3.A1a.html");
    let unknown = page(ProjectEvidence::default());
    assert!(
        unknown.contains("let sorted = &lt;Vec&lt;_&gt;&gt;::from(all); // **not** Markdown"),
        "{unknown}"
    );
    assert!(unknown.contains("before any commit"));
    assert!(!unknown.contains("drift") && !unknown.contains(">view<"));
    let drifted = |drift: Drift| ProjectEvidence {
        drift: [(pin(), drift)].into(),
        forge: Forge::of("git@github.com:o/n.git"),
    };
    let changed = page(drifted(Drift::Changed));
    let link = format!("href=\"https://github.com/o/n/blob/{}/src/sort.rs#L18-L24\"", "0a1b2c3d".repeat(5));
    assert_eq!(changed.matches(">view<").count(), 1, "only what was committed is linked");
    assert!(
        changed.contains(&link) && changed.contains("<span class=\"drift changed\">changed since</span>")
    );
    let to = Drift::Moved { path: "src/<b>.rs".to_owned(), lines: None };
    assert!(page(drifted(to)).contains("moved to <code class=\"break\">src/&lt;b&gt;.rs</code>"));
}

/// Returns an investigation that was stopped early and whose node R3.A1a has every field.
fn backed() -> ReportInput {
    let caller = |number: u8| Caller {
        person: None,
        disowned: None,
        client: Some(format!("client-{number}/1.0")),
        session: Some(format!("session-{number}")),
        model: Some(format!("model-{number}")),
    };
    let text = |text: &str| Some(text.to_owned());
    let full = edit(
        Node {
            covers: vec!["engine=gix".to_owned()],
            ..node("R3.A1a", "DEAD", "Sort first", "It sorts first.")
        },
        |c| {
            c.requested_state = Some("DEAD".parse().unwrap());
            c.state = "EXPLORE".parse().unwrap();
            c.refutes = true;
            c.caller = caller(1);
            c.started_at = Some(time(3));
            c.headline = text("Sorting costs as much as it saves");
            c.evidence = text("Measured on three machines.");
            c.verification_method = text("Repeated with a cold cache.");
            c.alternatives_considered = vec!["A hash table".to_owned()];
            c.commands = vec![Command {
                command: "cargo bench & wait".to_owned(),
                exit_code: Some(101),
                output: text("<1.5 s> before"),
            }];
            c.references = vec![Citation {
                target: "src/sort.rs".to_owned(),
                lines: text("18-24"),
                commit: text("0a1b2c3d"),
                quote: text("sort_unstable()"),
                note: text("three of five calls"),
                named_in: None,
                pinned: Some(pin()),
            }];
            c.references.push(Citation {
                target: "src/sort.rs".to_owned(),
                named_in: Some(NamedIn::Findings),
                pinned: Some(Pin { commit: None, uncommitted: true, ..pin() }),
                ..Citation::default()
            });
            c.caveats = vec!["A full disk.".to_owned()];
            c.links = vec![Link { to: "R2.A2".parse().unwrap(), kind: LinkKind::Supports }];
            c.warnings = vec![Warning { code: Code::Suspicious, message: "Too soon.".to_owned() }];
            c.reclassified = vec![Reclassification {
                evidence: text("Seen again."),
                verification_method: text("By eye."),
                alternatives_considered: vec!["To wait".to_owned()],
                by: Author::Caller(caller(2)),
                ..change("EXPLORE", "DEAD", 90, "It holds after all.")
            }];
            c.amended = vec![Amendment {
                at: time(99),
                agent_id: text("editor-1"),
                caller: caller(3),
                reason: "A figure was wrong.".to_owned(),
                title: text("Sorted at first"),
                headline: text("Sorting saves half"),
                findings: text("The first finding."),
                evidence: text("Measured once."),
                alternatives_considered: Some(vec!["To sort later".to_owned()]),
                caveats: Some(vec!["A cold cache.".to_owned()]),
                commands: Some(vec![Command {
                    command: "time sort".to_owned(),
                    exit_code: Some(1),
                    output: text("2.5 s"),
                }]),
                references: Some(vec![Citation { target: "src/first.rs".to_owned(), ..Citation::default() }]),
            }];
            c.other_results = vec![Classification {
                agent_id: text("elsewhere-2"),
                caller: caller(5),
                headline: text("Sorting costs nothing"),
                evidence: text("Measured elsewhere."),
                ..Classification::new("FOUND".parse().unwrap(), "It does not sort at all.", time(95))
            }];
        },
    );
    let full = Node { renamed_from: Some("R3.A1b".parse().unwrap()), ..full };
    let nodes = vec![
        node("R1.A", "EXPLORE", "Why is it slow?", "Profiled."),
        node("R2.A1", "FOUND", "The sort", "It is the sort."),
        node("R2.A2", "EXPLORE", "The hash", "It is the hash."),
        full,
        node("R4.A1a1", "DEAD", "Look again", "It does not."),
    ];
    let stopped = Some(Stopped { reason: StopReason::Budget, note: text("No calls are left.") });
    let asked = Some(Asked { answer: PersonsAnswer::Accepted, said: text("Then stop.") });
    let other = Conclusion { conclusion: text("It is the hash, after all."), ..Conclusion::new(time(210)) };
    let other_conclusions = vec![Conclusion { agent_id: text("elsewhere-1"), ..other }];
    let end = Conclusion {
        stopped,
        asked,
        caller: Caller::of_person("Ada", None),
        other_conclusions,
        ..Conclusion::new(time(200))
    };
    let nodes = nodes.into_iter().map(Arc::new).collect();
    let mut input = input(meta(9, "Why is it slow?", "Why is it slow?"), nodes, Some(end));
    let file = |name: &str, content: &[u8]| Attached {
        node: "R3.A1a".parse().unwrap(),
        name: name.parse().unwrap(),
        content: content.to_vec(),
    };
    input.attachments = vec![
        file("bench.log", b"sort: <1.5 s>\n"),
        file("flame.svg", b"<svg xmlns='http://www.w3.org/2000/svg' width='9'><script>x</script></svg>"),
        file("heap.bin", b"\xff\0"),
    ];
    let changes: Vec<Change> =
        input.attachments.iter().map(|file| Change::Attached(Arc::new(file.clone()))).collect();
    input.snapshot.investigation = Arc::new(input.snapshot.investigation.with(&changes));
    input
}

fn change(from: &str, to: &str, minutes: i64, reason: &str) -> Reclassification {
    Reclassification {
        agent_id: Some("reviewer-1".to_owned()),
        reason: Some(reason.to_owned()),
        warnings: vec![Warning {
            code: Code::parse("EARLY_STATE"),
            message: "DEAD in round 2: a commit could not have had it before round 4.".to_owned(),
        }],
        ..Reclassification::new(from.parse().unwrap(), to.parse().unwrap(), time(minutes))
    }
}

fn edit(mut node: Node, with: impl FnOnce(&mut Classification)) -> Node {
    with(node.classification.as_mut().unwrap());
    node
}

fn hostile(node: &Node, evil: &str) -> Node {
    let mut node = node.clone();
    node.title = evil.to_owned();
    node.planned_action = evil.to_owned();
    if let Some(c) = &mut node.classification {
        c.agent_id = Some(evil.to_owned());
        c.findings = evil.to_owned();
        c.evidence = Some(evil.to_owned());
        c.verification_method = Some(evil.to_owned());
        c.alternatives_considered = vec![evil.to_owned()];
        c.warnings = vec![Warning { code: Code::parse(evil), message: evil.to_owned() }];
        for change in &mut c.reclassified {
            change.agent_id = Some(evil.to_owned());
            change.reason = Some(evil.to_owned());
        }
    }
    node
}

/// Returns the sample with comments and objections, one of which is open.
fn discussed(text: &str) -> ReportInput {
    let mut input = sample();
    let comment = |number: u8, node: Option<&str>, kind, reply_to: Option<u8>, agent: Option<&str>| {
        let id = |number: u8| CommentId::new(1_795_000_000_000 + u64::from(number), [number; 10]);
        Arc::new(Comment {
            id: id(number),
            node: node.map(|node| node.parse().unwrap()),
            kind,
            reply_to: reply_to.map(id),
            author: Commenter {
                name: "Maria".to_owned(),
                agent_id: agent.map(str::to_owned),
                caller: match agent {
                    Some(_) => Caller { client: Some(text.to_owned()), ..Caller::default() },
                    None => Caller::of_person("Maria", None),
                },
                ..Commenter::default()
            },
            at: time(180 + i64::from(number)),
            text: text.to_owned(),
        })
    };
    let (answer, root) = ("R4.A1a1", "R1.A");
    let investigation = Arc::unwrap_or_clone(input.snapshot.investigation);
    let own = investigation.node(&answer.parse().unwrap()).unwrap().classification.clone().unwrap();
    let author = own.agent_id.unwrap();
    input.snapshot.investigation = Arc::new(investigation.with_comments([
        comment(1, Some(answer), CommentKind::Objection, None, None),
        comment(2, Some(answer), CommentKind::Resolution, Some(1), Some(&author)),
        comment(3, Some(root), CommentKind::Comment, None, Some(text)),
        comment(4, None, CommentKind::Comment, None, None),
        comment(5, None, CommentKind::Answer, Some(4), Some(text)),
    ]));
    input
}

/// Creates a run's kind from the run it refers to and the result.
type RunOf = fn(RunId, Ran) -> RunKind;

/// Returns a run with `text` in each free-text field.
fn run(number: u8, node: Option<&str>, what: RunOf, of: u8, text: &dyn Fn(&str) -> String) -> Arc<Run> {
    let id = |number: u8| format!("01989c3e-7f2a-7000-8000-0000000001{number:02x}").parse().unwrap();
    let ran = Ran {
        command: vec![text("program"), text("argument")],
        folder: Some(text("folder")),
        project: Some(ProjectState {
            commit: Some("3f2a91c".to_owned()),
            changed: vec![text("changed file")],
            patch: Some(text("patch")),
            untracked: vec![text("untracked file")],
        }),
        started_at: time(170),
        seconds: Seconds { milliseconds: 1_000 },
        timeout: None,
        ended: Ended::NotRun(text("reason")),
        expected_exit: None,
        output: Output {
            text: text("output"),
            end: Some(text("end of the output")),
            bytes: 100_000,
            sha256: "0".repeat(64),
        },
        expectations: vec![Expectation {
            pattern: text("pattern"),
            range: Some(text("range")),
            found: Some(text("found")),
            held: true,
        }],
        attachments: Vec::new(),
        system: System { os: "linux".to_owned(), architecture: "x86_64".to_owned(), cpus: 2 },
    };
    Arc::new(Run {
        id: id(number),
        node: node.map(|node| node.parse().unwrap()),
        author: Commenter { name: "Maria".to_owned(), ..Commenter::default() },
        at: time(181),
        note: Some(text("note")),
        what: what(id(of), ran),
    })
}

fn captured(_: RunId, ran: Ran) -> RunKind {
    RunKind::Captured(ran)
}

fn repeated(of: RunId, ran: Ran) -> RunKind {
    RunKind::Repeated { of, at: Some("3f2a91c".to_owned()), verdict: RunVerdict::Differs, ran }
}

fn judged(of: RunId, _: Ran) -> RunKind {
    RunKind::Judged { of, holds: true }
}

/// Returns the sample with `text` in each free-text field.
fn all_texts(text: &str) -> ReportInput {
    let mut input = sample();
    let old = Arc::unwrap_or_clone(input.snapshot.investigation);
    let meta = Meta {
        title: text.to_owned(),
        query: text.to_owned(),
        context: Some(text.to_owned()),
        ..old.meta().clone()
    };
    let nodes: Vec<Arc<Node>> = old.nodes().map(|node| Arc::new(hostile(node, text))).collect();
    let conclusion = Conclusion {
        agent_id: Some(text.into()),
        conclusion: Some(text.into()),
        asked: Some(Asked { answer: PersonsAnswer::Cancelled, said: Some(text.into()) }),
        amended: vec![AmendedConclusion {
            at: time(901),
            agent_id: Some(text.into()),
            caller: Caller { client: Some(text.into()), ..Caller::default() },
            reason: text.into(),
            conclusion: Some(text.into()),
            answers: None,
            not_covered: Some(vec![text.into()]),
        }],
        answers: vec![BoundAnswer { id: "R4.A1a1".parse().unwrap(), role: BoundAs::Main }],
        not_covered: vec![text.into()],
        ..Conclusion::new(time(900))
    };
    let (evil, _) = Investigation::from_facts(meta, nodes, Some(conclusion));
    let all = |_: &str| text.to_owned();
    let runs = [
        run(1, Some("R4.A1a1"), captured, 0, &all),
        run(2, None, repeated, 1, &all),
        run(3, None, judged, 2, &all),
        run(4, None, captured, 0, &all),
    ];
    input.snapshot.investigation = Arc::new(evil.with_runs(runs));
    input.snapshot.branch = Some(text.to_owned());
    input.snapshot.faults.push(Fault::new(text, None, text));
    for entry in &mut input.history {
        entry.message = format!("{text}\n\n{text}\n\nAgent-Id: {text}");
        entry.author_name = text.to_owned();
        entry.tags = vec![text.to_owned()];
    }
    input
}

fn sample_nodes() -> Vec<Node> {
    let log = "The slow query log of the week after the upgrade has one statement in 94 % of its lines:\n\n\
        ```sql\nSELECT * FROM cart_items WHERE cart_id = $1 AND deleted_at IS NULL ORDER BY added_at;\n```\n\n\
        | week | p50 | p99 |\n|---|---|---|\n| before | 3 ms | 11 ms |\n| after | 4 ms | **410 ms** |\n\n\
        ## References\n\n- https://www.postgresql.org/docs/17/release-17.html - Release notes of PostgreSQL 17\n\
        - `db/migrations/0042_cart_items.sql:17` - the partial index\n";
    vec![
        node(
            "R1.A",
            "EXPLORE",
            "Why is checkout slow since the upgrade?",
            "Latency doubled at 14:02, minutes after the database moved to version 17. Application, database and network are all possible.",
        ),
        node("R2.A1", "EXPLORE", "Query plans that changed with the database upgrade", log),
        node(
            "R2.A2",
            "EXPLORE",
            "The connection pool runs dry under load",
            "The pool has 20 connections; see [its documentation](https://github.com/brettwooldridge/HikariCP \"HikariCP\").",
        ),
        edit(
            node(
                "R2.A3",
                "EXPLORE",
                "The network between the zones",
                "Round trips between the zones are unchanged: 0.6 ms.",
            ),
            |c| {
                c.reclassified.push(change("EXPLORE", "DEAD", 70, "Round trips did not change."));
                c.reclassified.push(change(
                    "DEAD",
                    "EXPLORE",
                    95,
                    "The trace shows a second path through the other zone.",
                ));
            },
        ),
        node(
            "R2.A4",
            "EXPLORE",
            "Garbage collection pauses in the checkout service",
            "The pauses are below 8 ms.",
        ),
        node(
            "R2.A5",
            "EXPLORE",
            "A change of the code in the same release",
            "The release holds two commits that touch the cart.",
        ),
        node(
            "R3.A1a",
            "EXPLORE",
            "The partial index is no longer used",
            "`EXPLAIN` shows a sequential scan where there was an index scan.",
        ),
        edit(
            node("R3.A2b", "EXPLORE", "Connections leak when a payment times out", "All are returned."),
            |c| {
                c.requested_state = Some("DEAD".parse().unwrap());
                c.warnings.push(Warning {
                    code: Code::parse("R3_EXPLORE_ONLY"),
                    message: "DEAD in round 3 is stored as EXPLORE: nothing else is kept there.".to_owned(),
                });
                c.warnings.push(Warning {
                    code: Code::parse("SUSPICIOUS"),
                    message: "Committed 4 s after it was proposed; research takes at least 10 s.".to_owned(),
                });
            },
        ),
        node("R3.A3c", "EXPLORE", "Traffic crosses zones since the upgrade", "A third of the requests."),
        node("R3.A4d", "EXPLORE", "Heap size against the new container limit", "The limit did not change."),
        edit(
            node(
                "R3.A5e",
                "EXPLORE",
                "N+1 queries in the cart",
                "Found one in `cart/total.rs`, older than the release.\n\n## References\n\n- `src/cart/total.rs:88` - the loop\n- https://www.postgresql.org/docs/17/release-17.html\n",
            ),
            |c| c.agent_id = None,
        ),
        edit(
            node(
                "R4.A1a1",
                "FOUND",
                "Statistics were not rebuilt after the upgrade: the planner takes cart_items for empty",
                "`pg_upgrade` does not carry optimiser statistics over. `ANALYZE` brings the old plan back.\n\n### Measured\n\n1. before: 410 ms\n2. after `ANALYZE cart_items`: 4 ms\n\n> Statistics are not transferred by pg_upgrade.\n\nSee https://www.postgresql.org/docs/17/pgupgrade.html.\n",
            ),
            |c| {
                c.evidence = Some("`last_analyze` is empty for every table; after `ANALYZE` the p99 falls from 410 ms to 12 ms on the same load.".to_owned());
                c.verification_method =
                    Some("Replayed the load of one hour on a copy, with and without `ANALYZE`.".to_owned());
                c.alternatives_considered =
                    vec!["A larger `work_mem`".to_owned(), "Pinning the plan with a hint".to_owned()];
            },
        ),
        edit(node("R4.A2b1", "DEAD", "The pool is exhausted by idle transactions", "No."), |c| {
            c.evidence = Some("p99 of the connection pool's wait is 0.3 ms during the worst hour, and it never holds more than 11 of 20 connections.".to_owned());
        }),
        node(
            "R4.A3c1",
            "FOUND",
            "Cross-zone traffic adds 1 ms to each of 14 queries",
            "It explains 14 ms of 400.",
        ),
        node(
            "R4.A4d1",
            "DEAD",
            "Heap pressure",
            "Heap use is at 40 % of the limit at its highest, and the longest pause in the hour of the incident is 7.6 ms: https://docs.oracle.com/en/java/javase/21/gctuning/",
        ),
        node(
            "R4.A5e1",
            "EXHAUST",
            "The N+1 query is older than the release",
            "It costs 6 ms, and did so a month ago.",
        ),
        node(
            "R5.A1a1v",
            "VERIFY",
            "Replaying production load on a copy confirms it",
            "Three runs with and three without `ANALYZE`: 12, 11, 12 ms against 405, 398, 417 ms.",
        ),
        node(
            "R5.A3c1x",
            "EXPLORE",
            "Would zone-aware routing help anyway?",
            "Worth a ticket, not part of this.",
        ),
        node("R5.A5e1x", "EXHAUST", "Other queries of the cart", "None that changed."),
        node("R6.A3c1xy", "EXHAUST", "Zone-aware routing is a ticket of its own", "It is OPS-1182."),
        node(
            "R7.A3c1xyz",
            "DEAD",
            "Zone-aware routing as the smallest fix",
            "It would win 14 ms of 400, and takes a week.",
        ),
        node(
            "R6.A5e1xy",
            "DEAD",
            "The totals of the cart",
            "The same statement, the same plan, the same 2 ms as a month ago.",
        ),
        node("R3.A1f", "EXPLORE", "Was the index dropped by the migration?", "It is there, and valid."),
        node(
            "R4.A1f1",
            "DEAD",
            "The index is missing or invalid",
            "`pg_index.indisvalid` is true, and its size is what it was.\n\n## References\n\n- `db/migrations/0042_cart_items.sql:17`",
        ),
        node("R3.A2g", "EXPLORE", "Is the pool too small for the new release?", "It peaks at 11 of 20."),
        node("R4.A2g1", "DEAD", "The pool is too small", "Doubling it changed nothing in a test of an hour."),
        node("R3.A3h", "EXPLORE", "Did a firewall rule change?", "One did."),
        node("R4.A3h1", "DEAD", "The new firewall rule slows packets down", "It applies to another subnet."),
        node("R3.A4i", "EXPLORE", "Is another process on the host?", "A backup runs at 03:00 only."),
        node(
            "R4.A4i1",
            "DEAD",
            "The backup competes for the disk",
            "It ran eleven hours before the incident.",
        ),
        node(
            "R3.A5j",
            "EXPLORE",
            "The second commit of the release",
            "It changes the wording of one e-mail.",
        ),
        node(
            "R4.A5j1",
            "DEAD",
            "The release slowed checkout down",
            "Rolling it back on one host changed nothing.",
        ),
    ]
}

pub(super) fn sample() -> ReportInput {
    let mut meta = meta(
        1,
        "Why did checkout latency double after the database upgrade?",
        "Since Tuesday, 14:02, the p99 of POST /checkout is 820 ms instead of 390 ms. The database was upgraded from \
         PostgreSQL 15 to 17 that morning, and a release went out at noon. What causes it, and what is the smallest fix?",
    );
    meta.context = Some("Dashboards: *checkout*, *postgres*. No one may restart production.".to_owned());
    let conclusion = Conclusion {
        agent_id: Some("lead".to_owned()),
        conclusion: Some(
            "The upgrade left the database **without optimiser statistics**, so the planner chose a sequential scan of \
             `cart_items` (R4.A1a1). Verified by replaying production load.\n\n# What to do\n\n- Run `ANALYZE` now; it \
             takes four minutes and locks nothing.\n- Add `vacuumdb --analyze-in-stages` to the upgrade's checklist.\n\n\
             Cross-zone traffic is real, and costs 14 ms; it is a ticket of its own."
                .to_owned(),
        ),
        answers: vec![BoundAnswer { id: "R4.A1a1".parse().unwrap(), role: BoundAs::Main }],
        ..Conclusion::new(time(170))
    };
    let nodes: Vec<Arc<Node>> = sample_nodes().into_iter().map(Arc::new).collect();
    input(meta, nodes, Some(conclusion))
}

fn unfinished() -> ReportInput {
    let meta = meta(
        9,
        "Which message queue for the new billing service?",
        "Compare what is run in house with what is offered by the cloud.",
    );
    let nodes = vec![
        node("R1.A", "EXPLORE", "Which queue?", "Four candidates."),
        node("R2.A1", "EXPLORE", "What is run in house", "RabbitMQ and Redis streams."),
        pending(
            "R2.A2",
            "What the cloud offers",
            "Read the price list, and measure with the load of last month.",
        ),
    ];
    input(meta, nodes.into_iter().map(Arc::new).collect(), None)
}

/// Texts changed by hand in every commit are compared only until the comparisons become too expensive.
#[test]
fn a_long_text_that_is_edited_again_and_again_does_not_fill_the_memory() {
    let mut input = edited();
    let happening = input.history[0].happenings.pop().unwrap();
    let Happening::Edited(node) = happening else { panic!("{happening:?}") };
    let version = |number: usize| {
        let mut node = Node::clone(&node);
        let classification = node.classification.as_mut().unwrap();
        classification.findings = format!("version {number}\n{}", "The same line.\n".repeat(60_000));
        Happening::Edited(Arc::new(node))
    };
    let versions = [version(1), version(2)];
    let entry = input.history[0].clone();
    for number in 0..30 {
        let happenings = vec![versions[number % 2].clone()];
        input.history.insert(0, HistoryEntry { happenings, ..entry.clone() });
    }
    let report = model::Report::of(&input);
    let (_, page) = report.history.pages().next().unwrap();
    let edits = || page.entries[..29].iter().map(|entry| &entry.happenings[0]);
    let compared: Vec<usize> = edits().map(|edit| edit.changes.len()).collect();
    assert!((2..6).contains(&compared.iter().sum::<usize>()), "{compared:?}");
    assert_eq!(edits().next().unwrap().wrote, ["findings, 60001 lines"]);
}

#[test]
fn the_first_page_of_the_history_tells_where_something_is_left_out() {
    let mut input = sample();
    assert!(!page(&render(std::slice::from_ref(&input)), "history.html").contains("shown in part"));
    let oldest = input.history.last_mut().unwrap();
    oldest.gaps.push("What came before is not there.".to_owned());
    let place = format!("href=\"history.html#c-{}\"", &oldest.commit.to_string()[..10]);
    let page = page(&render(&[input]), "history.html");
    let (head, entries) = page.split_once("<div class=\"timeline\">").unwrap();
    assert!(head.contains("1 commit is shown only in part") && head.contains(&place), "{head}");
    assert!(entries.contains("What came before is not there."));
}

/// Returns the sample with a text changed by hand afterwards.
fn edited() -> ReportInput {
    let mut input = sample();
    let id: NodeId = "R2.A1".parse().unwrap();
    let mut node = Node::clone(input.snapshot.investigation.node(&id).unwrap());
    if let Some(classification) = &mut node.classification {
        classification.findings = classification.findings.replace("94 %", "49 %");
        classification.evidence = Some("Counted again.".to_owned());
    }
    let entry = HistoryEntry {
        commit: "00112233445566778899aabbccddeeff00112233".parse().unwrap(),
        happenings: vec![Happening::Edited(Arc::new(node))],
        paths: vec!["nodes/R2/R2.A1.yaml".to_owned(), "notes.txt".to_owned()],
        ..input.history[0].clone()
    };
    input.history.insert(0, entry);
    input
}

fn empty() -> ReportInput {
    input(meta(5, "Nothing yet", "What is there?"), Vec::new(), None)
}

fn large(number: usize) -> ReportInput {
    let mut nodes = vec![node("R1.A", "EXPLORE", "A large one", "x")];
    let findings = sample_nodes()[1].classification.clone().unwrap().findings.repeat(4);
    let letters = "abcdefghijklmnopqrstuvwxyz";
    let mut level = vec!["A".to_owned()];
    let mut round = 2;
    while nodes.len() < number {
        let mut next = Vec::new();
        for (parent, letter) in level.iter().flat_map(|parent| letters[..4].chars().map(move |l| (parent, l)))
        {
            if nodes.len() == number {
                break;
            }
            let suffix = format!("{parent}{letter}");
            let state = ["EXPLORE", "FOUND", "EXHAUST"][if round < 4 { 0 } else { nodes.len() % 3 }];
            nodes.push(node(
                &format!("R{round}.{suffix}"),
                state,
                "A title of usual length for a node of a tree",
                &findings,
            ));
            next.push(suffix);
        }
        level = next;
        round += 1;
    }
    input(meta(7, "A large one", "How does it look?"), nodes.into_iter().map(Arc::new).collect(), None)
}

/// Returns an investigation with one commit per round and call.
fn input(meta: Meta, nodes: Vec<Arc<Node>>, conclusion: Option<Conclusion>) -> ReportInput {
    let id = meta.id;
    let mut happenings = vec![(0, vec![Happening::Started], format!("Start {}", meta.title))];
    let rounds: BTreeSet<u32> = nodes.iter().map(|node| node.round()).collect();
    for round in rounds {
        let of = || nodes.iter().filter(|node| node.round() == round);
        let at = i64::from(round) * 20;
        let proposed = of().cloned().map(Happening::Proposed).collect();
        happenings.push((at, proposed, format!("Propose {} nodes of round {round}", of().count())));
        let committed: Vec<_> =
            of().filter(|node| !node.is_pending()).cloned().map(Happening::Committed).collect();
        happenings.push((at + 12, committed, format!("Commit {} nodes of round {round}", of().count())));
    }
    for node in &nodes {
        for change in node.classification.iter().flat_map(|c| &c.reclassified) {
            let what = vec![Happening::Reclassified(Arc::clone(node), change.clone())];
            let subject = format!("Reclassify {} {} to {}", node.id, change.from, change.to);
            happenings.push(((change.at.milliseconds() - time(0).milliseconds()) / 60_000, what, subject));
        }
    }
    if let Some(conclusion) = &conclusion {
        happenings.push((
            170,
            vec![Happening::Ended(Arc::new(conclusion.clone()))],
            "End the investigation".to_owned(),
        ));
    }
    happenings.sort_by_key(|(at, ..)| *at);
    let commit = |number: usize| {
        let mut bytes = [0u8; 20];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (number as u8).wrapping_mul(37).wrapping_add((at as u8).wrapping_mul(91)) ^ 0x5a;
        }
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().parse::<CommitId>().unwrap()
    };
    let number = happenings.len();
    let ended = conclusion.is_some();
    let entries =
        happenings.into_iter().enumerate().map(|(at, (minutes, happenings, subject))| HistoryEntry {
            commit: commit(at),
            parents: (at > 0).then(|| commit(at - 1)).into_iter().collect(),
            author_name: "Ada Lovelace".to_owned(),
            author_email: "ada@example.org".to_owned(),
            at: time(minutes),
            message: format!(
                "{subject}\n\nWhat the message says beside it.\n\nTool: tot_commit\nAgent-Id: lead\n"
            ),
            happenings,
            paths: Vec::new(),
            tags: if ended && at + 1 == number { vec!["ended/1".to_owned()] } else { Vec::new() },
            faults: Vec::new(),
            gaps: Vec::new(),
        });
    let mut history: Vec<HistoryEntry> = entries.collect();
    history.reverse();
    let (investigation, faults) = Investigation::from_facts(meta, nodes, conclusion);
    assert!(faults.is_empty(), "{faults:?}");
    let snapshot = Snapshot {
        path: PathBuf::from(format!("/investigations/{id}")),
        head: commit(number - 1),
        branch: Some("main".to_owned()),
        investigation: Arc::new(investigation),
        ruleset: Ok(Arc::new(builtin::all()[0].clone())),
        faults: Vec::new(),
        size: Size::default(),
        first: None,
    };
    ReportInput::new(snapshot, history)
}
