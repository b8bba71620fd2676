//! The pages of nodes.

use super::*;

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
        &format!("tot object -i {id} R4.A1a1</code>"),
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
fn what_refutes_is_not_called_a_confirmation() {
    let nodes = sample_nodes().into_iter().map(|node| match node.id.as_str() {
        "R5.A1a1v" => edit(node, |result| result.refutes = true),
        _ => node,
    });
    let files = render(&[input(meta(1, "Why?", "Why?"), nodes.map(Arc::new).collect(), None)]);
    for path in ["nodes/R5.A1a1v.html", "tree.html", "graph.html"] {
        let page = page(&files, path);
        assert!(page.contains("<span class=\"chip role-refutation\""), "{path}: {page}");
        assert!(page.contains(">refutes R4.A1a1<"), "{path}: {page}");
    }
    // It is not counted as a confirmation: the legend and the tree list refutations separately.
    let (tree, graph) = (page(&files, "tree.html"), page(&files, "graph.html"));
    assert!(tree.contains("value=\"Refutes\">Refutes <span class=\"count\">1</span>"), "{tree}");
    assert!(!tree.contains("value=\"Confirmation\""), "{tree}");
    assert!(graph.contains("<b>Refutes</b> <span class=\"count\">1</span>"), "{graph}");
    let card = graph.lines().find(|line| line.contains("<title>R5.A1a1v ")).unwrap();
    assert!(
        card.starts_with("<a class=\"card refutes\"") && card.contains("class=\"sign role-deadEnd\""),
        "{card}"
    );
    assert!(card.contains(">✗ refutes R4.A1a1</text>") && !card.contains("Confirmation"), "{card}");
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
fn ids_that_differ_in_case_have_pages_of_their_own() {
    let mut input = empty();
    let nodes = ["R1.A", "R1.a"].map(|id| Arc::new(node(id, "EXPLORE", "Same", "")));
    let meta = input.snapshot.investigation.meta().clone();
    input.snapshot.investigation = Arc::new(Investigation::from_facts(meta, nodes, None).0);
    let files = render(&[input]);
    let folded: BTreeSet<String> = files.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(folded.len(), files.len());
}

/// Every field of a node is on its page.
#[test]
fn every_field_of_a_node_is_on_its_page_and_in_the_data() {
    let input = backed();
    let investigation = Arc::clone(&input.snapshot.investigation);
    let file = input.snapshot.ruleset.clone().unwrap();
    let rules = EffectiveRules::new(&file.ruleset, investigation.meta());
    let node = investigation.node(&"R3.A1a".parse().unwrap()).unwrap();
    let assessment = crate::assess::Assessment::new(&investigation, Some(rules));
    let view = serde_json::to_value(NodeJson::new(&assessment, node)).unwrap();
    let files = render(&[input]);
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    let stored = data["nodes"].as_array().unwrap().iter().find(|it| it["nodeId"] == "R3.A1a").unwrap();
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
fn a_browser_is_told_which_commit_changed_each_node_last() {
    let input = edited();
    let files = render(std::slice::from_ref(&input));
    let tree = page(&files, "tree.html");
    for node in input.snapshot.investigation.nodes() {
        let touches = |entry: &HistoryEntry| entry.happenings.iter().any(|it| it.node_id() == Some(&node.id));
        let newest = input.history.iter().position(touches).unwrap();
        let told = format!("<a id=\"{}\" data-changed=\"{}\"", node.id, input.history.len() - newest);
        assert!(tree.contains(&told), "{told} {tree}");
    }
    assert!(tree.contains(&format!("data-commits=\"{}\"", input.history.len())), "{tree}");
    // Showing an earlier state does not count as a visit.
    let earlier = render(&[ReportInput { rev: Some("HEAD~1".to_owned()), ..input }]);
    assert!(!page(&earlier, "index.html").contains("since.js"));
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
