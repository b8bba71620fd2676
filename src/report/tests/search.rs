//! The search.

use super::*;

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
        ("Comment", "Comments", "Maria (a person): The replay had a warm cache."),
        ("R4.A1a1", "Comments", "Maria (a person): The replay had a warm cache."),
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
