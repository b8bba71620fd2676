//! The index of several investigations, and the effects of a base URL.

use super::*;

fn with(options: SiteOptions, contents: SiteContents) -> Files {
    site(&contents, &Templates::load(&options).unwrap()).unwrap()
}

fn published(inputs: Vec<ReportInput>) -> Files {
    let base_url = Some("https://example.org/reports".parse().unwrap());
    with(
        SiteOptions { base_url, ..SiteOptions::default() },
        SiteContents { inputs, ..SiteContents::default() },
    )
}

#[test]
fn an_entry_says_what_was_asked_found_and_how_sure() {
    let index = page(&render(&[sample(), unfinished(), empty()]), "index.html");
    for text in [
        "3 investigations; what needs somebody comes first.",
        "data-state=\"ended confirmed\"",
        "data-state=\"open unanswered\"",
        "2 answers: 1 confirmed by another agent, same session, 1 not checked. 9 ruled out.",
        "No answer yet.",
        "2 steps, 1 proposed",
        "What is there?",
        "/nodes/R4.A1a1.html\"><bdi>Statistics were not rebuilt after the upgrade",
        "<span class=\"sure confirmed\"><span aria-hidden=\"true\">✓</span> confirmed by another agent, same session</span>",
        "<form class=\"finder\" role=\"search\" hidden>",
        "Without an answer <span class=\"count\">2</span>",
        "Unfinished <span class=\"count\">2</span>",
        "<strong>checked only by its author</strong>",
        "assets/sites.js",
    ] {
        assert!(index.contains(text), "{text} is missing in {index}");
    }
}

/// A contested answer was once listed as confirmed.
#[test]
fn an_answer_whose_results_differ_does_not_read_as_confirmed() {
    let mut input = sample();
    let id: NodeId = "R4.A1a1".parse().unwrap();
    let mut node = Node::clone(input.snapshot.investigation.node(&id).unwrap());
    if let Some(result) = &mut node.classification {
        let other = Classification::new("DEAD".parse().unwrap(), "It does not help.", result.committed_at);
        result.other_results.push(other);
    }
    let changed = input.snapshot.investigation.with(&[Change::Node(Arc::new(node))]);
    let before = page(&render(&[sample()]), "index.html");
    assert!(before.contains("<h2 id=\"trust\">Confirmed") && !before.contains("<h2 id=\"trust\">Contested"));
    input.snapshot.investigation = Arc::new(changed);
    let files = render(&[input]);
    assert!(
        page(&files, "index.html").contains("<h2 id=\"trust\">Contested, because results of R4.A1a1 differ.")
    );
    assert!(page(&files, "nodes/R4.A1a1.html").contains("Results of R4.A1a1 differ"));
}

#[test]
fn an_entry_says_that_its_answer_is_contested() {
    let index = page(&render(&[discussed("It holds."), unfinished()]), "index.html");
    for text in [
        "<span class=\"status contested\">! 1 answer contested</span>",
        "<span class=\"sure contested\"><span aria-hidden=\"true\">!</span> contested</span>",
    ] {
        assert_eq!(index.matches(text).count(), 1, "{text} in {index}");
    }
}

#[test]
fn one_that_cannot_be_read_costs_only_itself() {
    let unreadable = vec![UnreadableInvestigation {
        name: "broken<b>".into(),
        reason: "it has no commit yet".into(),
        kept: Some("old/index.html".into()),
    }];
    let contents = SiteContents { inputs: vec![sample()], unreadable, ..SiteContents::default() };
    let files = with(SiteOptions::default(), contents);
    let index = page(&files, "index.html");
    assert!(index.contains("1 investigation can’t be read"));
    assert!(index.contains("<code>broken&lt;b&gt;</code>: it has no commit yet (<a href=\"old/index.html\">its pages</a> are from an earlier report)"), "{index}");
    let id = sample().snapshot.investigation.meta().id;
    assert!(index.contains(&format!("{id}/index.html")) && files.contains_key(&format!("{id}/index.html")));
}

#[test]
fn without_a_base_url_no_address_of_a_site_is_made_up() {
    for (path, page) in pages(&render(&[sample(), unfinished()])) {
        for absent in ["og:", "canonical", "reload.js"] {
            assert!(!page.contains(absent), "{absent} in {path}");
        }
    }
    let files = render(&[sample()]);
    assert!(!files.contains_key(RELOAD_SCRIPT));
}

#[test]
fn a_wrong_address_leads_to_the_root_if_it_is_known() {
    let options = SiteOptions::default();
    for (base_url, live, link) in [
        (None, false, "Go back"),
        (None, true, "<a href=\"/\">"),
        (Some("https://example.org/reports"), false, "<a href=\"https://example.org/reports/\">"),
    ] {
        let base_url = base_url.map(|url| url.parse().unwrap());
        let options = SiteOptions { base_url, live, ..options.clone() };
        let files = site(&SiteContents::from(&[sample()][..]), &Templates::load(&options).unwrap()).unwrap();
        assert!(page(&files, "404.html").contains(link), "{link}");
    }
}

#[test]
fn with_a_base_url_each_page_says_where_it_stands() {
    let files = published(vec![sample(), unfinished()]);
    for (path, page) in pages(&files) {
        let place = path.strip_suffix("index.html").unwrap_or(&path);
        let link = format!("<link rel=\"canonical\" href=\"https://example.org/reports/{place}\">");
        assert!(page.contains(&link), "{link} is missing in {path}");
        assert!(page.contains(&format!(
            "<meta property=\"og:url\" content=\"https://example.org/reports/{place}\">"
        )));
        assert!(page.contains("<meta property=\"og:title\"") && page.contains("<meta property=\"og:type\""));
    }
}

#[test]
fn only_served_pages_ask_their_server() {
    let options = SiteOptions { live: true, ..SiteOptions::default() };
    let files = with(options, SiteContents { inputs: vec![sample()], ..SiteContents::default() });
    assert!(files.contains_key(RELOAD_SCRIPT));
    for (path, page) in pages(&files) {
        let script =
            format!("src=\"{}assets/reload.js\" data-shown=", "../".repeat(path.matches('/').count()));
        assert!(page.contains(&script), "{script} is missing in {path}");
    }
}
