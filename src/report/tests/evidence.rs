//! The pages of evidence: runs, cited files and other sources.

use super::*;

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
        let evidence = ProjectEvidence { drift, ..ProjectEvidence::default() };
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
        inputs: None,
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
