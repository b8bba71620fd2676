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
        "3 investigations, newest first: 1 ended, 2 open; 1 with an answer, 1 confirmed, 0 checked only by their authors.",
        "data-state=\"ended confirmed answered\"",
        "data-state=\"open unanswered\"",
        "2 answers: 1 confirmed by another agent, same session, 1 not checked. 9 ruled out.",
        "No answer yet.",
        "2 nodes in 2 rounds, 1 proposed · single-root",
        "What is there?",
        "/nodes/R4.A1a1.html\"><bdi>Statistics were not rebuilt after the upgrade",
        "<span class=\"sure confirmed\"><span aria-hidden=\"true\">✓</span> confirmed by another agent, same session</span>",
        "<svg class=\"bar\"",
        "<form class=\"finder\" role=\"search\" hidden>",
        "Without an answer <span class=\"count\">2</span>",
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
    assert!(page(&files, "index.html").contains("<h2 id=\"trust\">Contested."));
    assert!(page(&files, "answers/R4.A1a1.html").contains("Its results differ"));
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
    let unreadable =
        vec![UnreadableInvestigation { name: "broken<b>".into(), reason: "it has no commit yet".into() }];
    let contents = SiteContents { inputs: vec![sample()], unreadable, ..SiteContents::default() };
    let files = with(SiteOptions::default(), contents);
    let index = page(&files, "index.html");
    assert!(index.contains("1 investigation can’t be read"));
    assert!(index.contains("<code>broken&lt;b&gt;</code>: it has no commit yet"), "{index}");
    let id = sample().snapshot.investigation.meta().id;
    assert!(index.contains(&format!("{id}/index.html")) && files.contains_key(&format!("{id}/index.html")));
}

#[test]
fn without_a_base_url_no_address_of_a_site_is_made_up() {
    for (path, page) in pages(&render(&[sample(), unfinished()])) {
        for absent in ["og:", "canonical", "feed.xml", "application/atom+xml", "reload.js"] {
            assert!(!page.contains(absent), "{absent} in {path}");
        }
    }
    let files = render(&[sample()]);
    assert!(!files.contains_key("feed.xml") && !files.contains_key(RELOAD_SCRIPT));
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
        let up = "../".repeat(path.matches('/').count());
        let feed = format!("title=\"Ended investigations\" href=\"{up}feed.xml\"");
        assert!(page.contains(&feed), "{feed} is missing in {path}");
    }
}

#[test]
fn the_feed_has_what_atom_asks_for() {
    const EVIL: &str = "]]></title><script>alert(1)</script> & \u{0} \u{b} \u{fffe} \u{202e}x";
    let mut second = all_texts(EVIL);
    let old = second.snapshot.investigation.as_ref().clone();
    let meta = Meta { id: meta(44, "", "").id, ..old.meta().clone() };
    let nodes: Vec<_> = old.nodes().cloned().collect();
    second.snapshot.investigation =
        Arc::new(Investigation::from_facts(meta, nodes, old.conclusion().cloned()).0);
    let files = published(vec![sample(), unfinished(), second]);
    let text = page(&files, "feed.xml");
    let feed = roxmltree::Document::parse(&text).unwrap();
    let atom = |name| ("http://www.w3.org/2005/Atom", name);
    let root = feed.root_element();
    assert!(root.has_tag_name(atom("feed")));
    let child = |node: roxmltree::Node<'_, '_>, name: &'static str| -> String {
        let found: Vec<_> = node.children().filter(|child| child.has_tag_name(atom(name))).collect();
        assert_eq!(found.len(), 1, "one {name}");
        found[0].text().unwrap_or_default().to_owned()
    };
    assert_eq!(child(root, "id"), "https://example.org/reports/feed.xml");
    let entries: Vec<_> = root.children().filter(|node| node.has_tag_name(atom("entry"))).collect();
    assert_eq!(entries.len(), 2, "only what ended");
    // The first entry is for the investigation that ended last, and has the same time as the feed.
    assert_eq!(child(root, "updated"), child(entries[0], "updated"));
    assert!(child(entries[0], "updated") > child(entries[1], "updated"));
    for entry in &entries {
        child(*entry, "updated").parse::<Timestamp>().unwrap();
        assert!(child(*entry, "id").starts_with("urn:uuid:") && !child(*entry, "summary").is_empty());
        let author = entry.children().find(|node| node.has_tag_name(atom("author"))).unwrap();
        assert!(!child(author, "name").is_empty());
        let link = entry.children().find(|node| node.has_tag_name(atom("link"))).unwrap();
        let place = link.attribute("href").unwrap().strip_prefix("https://example.org/reports/").unwrap();
        assert!(files.contains_key(&format!("{place}index.html")), "{place}");
    }
    assert!(child(entries[0], "title").starts_with("]]></title><script>alert(1)</script> & "));
    assert_eq!(child(entries[1], "author"), "\n      ");
    assert!(child(entries[1], "summary").contains("without optimiser statistics"));
}

/// The RFC 4287 elements, each with its allowed number and attributes.
#[test]
fn the_feed_is_valid_by_its_standard() {
    type Child = (&'static str, usize, usize, &'static [&'static str]);
    const FEED: &[Child] = &[
        ("title", 1, 1, &[]),
        ("id", 1, 1, &[]),
        ("updated", 1, 1, &[]),
        ("generator", 0, 1, &["uri", "version"]),
        ("link", 0, 9, &["rel", "type", "href"]),
        ("entry", 0, 100, &[]),
    ];
    const ENTRY: &[Child] = &[
        ("title", 1, 1, &[]),
        ("id", 1, 1, &[]),
        ("updated", 1, 1, &[]),
        // The feed has no author, so each entry needs one.
        ("author", 1, 9, &[]),
        // An entry without content needs an alternate link.
        ("link", 1, 9, &["rel", "type", "href"]),
        ("summary", 1, 1, &[]),
    ];
    let check = |node: roxmltree::Node<'_, '_>, children: &[Child]| {
        let elements: Vec<_> = node.children().filter(roxmltree::Node::is_element).collect();
        for (name, least, most, attributes) in children {
            let found = elements.iter().filter(|it| it.tag_name().name() == *name);
            let found: Vec<_> = found.collect();
            assert!(
                (*least..=*most).contains(&found.len()),
                "{} {name} in {:?}",
                found.len(),
                node.tag_name()
            );
            for attribute in found.iter().flat_map(|it| it.attributes()) {
                assert!(attributes.contains(&attribute.name()), "{name} {attribute:?}");
            }
        }
        for element in &elements {
            assert_eq!(element.tag_name().namespace(), Some("http://www.w3.org/2005/Atom"));
            let name = element.tag_name().name();
            assert!(children.iter().any(|(known, ..)| *known == name), "{name} in {:?}", node.tag_name());
            let text = element.text().unwrap_or_default();
            match name {
                // A date with an upper-case T and a time zone.
                "updated" => {
                    text.parse::<Timestamp>().unwrap();
                    assert!(text.contains('T') && text.ends_with('Z'), "{text}");
                }
                "id" => drop(url::Url::parse(text).unwrap()),
                "link" => drop(url::Url::parse(element.attribute("href").unwrap()).unwrap()),
                // Text constructs of type `text` contain no elements.
                "title" | "summary" | "generator" => {
                    assert!(!text.is_empty() && element.children().all(|child| child.is_text()), "{name}");
                }
                _ => {}
            }
        }
        let links = elements.iter().filter(|it| it.tag_name().name() == "link");
        let relations: Vec<_> = links.map(|it| (it.attribute("rel"), it.attribute("type"))).collect();
        let distinct: BTreeSet<_> = relations.iter().collect();
        assert_eq!(distinct.len(), relations.len(), "{relations:?}");
        assert!(relations.iter().any(|(rel, _)| *rel == Some("alternate")));
    };
    for inputs in
        [vec![], vec![sample()], vec![sample(), unfinished()], vec![all_texts("\u{0}\u{b}]]>& <b>")]]
    {
        let text = page(&published(inputs), "feed.xml");
        let feed = roxmltree::Document::parse(&text).unwrap();
        let root = feed.root_element();
        check(root, FEED);
        let mut ids = BTreeSet::new();
        for entry in root.children().filter(|it| it.tag_name().name() == "entry") {
            check(entry, ENTRY);
            assert!(ids.insert(entry.children().find(|it| it.tag_name().name() == "id").unwrap().text()));
        }
    }
}

#[test]
fn a_feed_without_entries_is_one_too() {
    for inputs in [vec![], vec![unfinished()]] {
        let text = page(&published(inputs), "feed.xml");
        let feed = roxmltree::Document::parse(&text).unwrap();
        let updated = feed.descendants().find(|node| node.has_tag_name("updated")).unwrap();
        updated.text().unwrap().parse::<Timestamp>().unwrap();
        assert!(!text.contains("<entry>"));
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
