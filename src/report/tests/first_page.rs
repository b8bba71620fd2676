//! The first page: the answer, how sure it is, and what ended the work.

use super::*;

#[test]
fn the_first_page_answers_the_questions() {
    let page = page(&render(&[sample()]), "index.html");
    let (first, _) = page.split_once("<section class=\"report\"").unwrap();
    for text in [
        "<section class=\"answer confirmed\" aria-labelledby=\"found\">\n<h1 id=\"found\" class=\"finding\"><span class=\"sure confirmed\">✓ Confirmed<",
        "<h2 id=\"trust\">Confirmed by another agent, same session, but no command was captured for it. The report is by the agent lead; nobody else has checked the report or signed it off.</h2>",
        "found by researcher-r4.a1a1",
        "Another agent in the same session tried to refute it and could not",
        "title=\"R5.A1a1v\">researcher-r5.a1a1v: Replaying production load",
        "<a href=\"#ruled-out\">9 steps ruled out</a>",
        "No objection is open",
        "Names are not verified; no person took part",
    ] {
        assert!(first.contains(text), "{text} is missing in {first}");
    }
    for text in [
        "Why did checkout latency double",
        "<li class=\"lane unconfirmed\">",
        "<span class=\"words-of unconfirmed\">not checked</span>",
        "Ruled out <span class=\"count\">9</span>",
        "<li class=\"missing\"><span aria-hidden=\"true\">○</span> <span class=\"hidden\">missing: </span>nobody has signed it off</li>",
        "<h2 id=\"check\">Check it yourself</h2>",
        "Run a command that would show R4.A1a1 to be wrong: none was captured.",
        "<code class=\"break\">tot run -i 010101010101 R4.A1a1 -- COMMAND</code>",
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

#[test]
fn whoever_concluded_or_objected_is_not_said_to_have_taken_no_part() {
    for input in [backed(), discussed("The replay had a warm cache.")] {
        let index = page(&render(&[input]), "index.html");
        assert!(index.contains("Names are not verified; 1 person took part"), "{index}");
    }
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
        "1 answer refuted: R2.A1; 2 steps ruled out",
        "accepted: “Then stop.” (said through the client, which is not a sign-off)",
    ] {
        assert!(overview.contains(shown), "{shown}");
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    assert_eq!(data["conclusion"]["stopped"]["reason"], "budget");
    assert_eq!(data["conclusion"]["asked"], serde_json::json!({"answer": "accepted", "said": "Then stop."}));
    assert_eq!(data["refuted"][0]["nodeId"], "R2.A1");
    assert_eq!(data["refuted"][0]["verdict"]["refutedBy"], serde_json::json!(["R3.A1a"]));
    assert_eq!(data["answers"], serde_json::json!([]), "a refuted one does not count");
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
    // The texts from before an amendment are in the history.
    let history = super::page(&files, "history.html");
    for shown in
        ["Conclusion amended", "editor-2", "client-5/1.0", "It was hasty.", "<strong>does not</strong> sort"]
    {
        assert!(history.contains(shown), "{shown}: {history}");
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    let amended = &data["conclusion"]["amended"][0];
    assert_eq!((&amended["agentId"], &amended["reason"]), (&"editor-2".into(), &"It was hasty.".into()));
    assert_eq!(amended["conclusion"], "It **does not** sort.");
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
fn an_open_objection_is_told_where_the_answer_stands_and_at_its_node() {
    let files = render(&[discussed("The replay had a warm cache.")]);
    let index = page(&files, "index.html");
    for text in [
        "<li class=\"against\" id=\"objections\">",
        "<a href=\"nodes/R4.A1a1.html#said-",
        ">Maria (a person) objects: “The replay had a warm cache.”</a>",
        ">Maria (a person) objects to R4.A1a1: “The replay had a warm cache”.</",
        "<section class=\"answer contested\"",
        "<h2 id=\"trust\">Contested, because Maria (a person) objects.",
        "<h2 id=\"said\">Comments",
    ] {
        assert!(index.contains(text), "{text} is missing in {index}");
    }
    assert_eq!(index.matches("Maria (a person) objects").count(), 3, "{index}");
    let node = page(&files, "nodes/R4.A1a1.html");
    for text in
        ["Maria (a person) objects to it</a>", "The replay had a warm cache.", "(a person)", "(an agent"]
    {
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
