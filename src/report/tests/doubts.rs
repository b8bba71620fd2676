//! The page of doubts.

use super::*;

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
