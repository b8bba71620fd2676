//! `tot import`, `tot export` and the report in one file, with real git.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tree_of_thoughts::store::Store;

use crate::html::Page;
use crate::remote::Machine;
use crate::support::{Sandbox, files, short};

/// Imports a file and returns its `--json` output.
fn imported(machine: &Machine, file: &Path) -> Value {
    let ran = machine.tot(&["import", "--json", file.to_str().unwrap()]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    assert_eq!(ran.status, i32::from(document["failed"] != 0), "{document:#}");
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{document:#}");
    files[0].clone()
}

/// Asserts that two folders contain the same investigation: the same files and the same state.
fn assert_same(one: &Path, other: &Path) {
    assert_eq!(files(one, false), files(other, false));
    let [one, other] = [one, other].map(|folder| {
        let snapshot = Store::new(folder).load(folder).unwrap();
        assert_eq!(snapshot.faults, []);
        (snapshot.investigation, snapshot.ruleset.unwrap())
    });
    assert_eq!(one, other);
}

#[test]
fn bundles_come_back_as_they_were() {
    let one = Machine::new(&Sandbox::new(), "one");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations");
    for name in ["demo.bundle", "confirmed.bundle"] {
        let entry = imported(&one, &shipped.join(name));
        let id = entry["imported"]["sessionId"].as_str().unwrap();
        one.assert_sound(id);
        let other = Machine::new(&one.sandbox, &format!("{name} as bundle"));
        let file = one.sandbox.path("copy.bundle");
        one.ok(&["export", "-i", id, "--format", "bundle", "-o", file.to_str().unwrap()]);
        assert_eq!(imported(&other, &file)["imported"]["present"], false);
        assert_same(&one.repository(id), &other.repository(id));
        let all = |machine: &Machine| one.sandbox.git(&machine.repository(id), &["show-ref"]);
        assert_eq!(all(&one), all(&other));
        assert_eq!(one.sandbox.git(&other.repository(id), &["remote"]), "");
        assert_eq!(imported(&other, &file)["imported"]["present"], true);
    }
}

#[test]
fn the_one_page_needs_no_other_file() {
    let machine = Machine::new(&Sandbox::new(), "one");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    let id = imported(&machine, &demo)["imported"]["sessionId"].as_str().unwrap().to_owned();
    let file = machine.sandbox.path("one.html");
    machine.ok(&["report", "-i", &id, "--single-file", file.to_str().unwrap()]);
    let html = fs::read_to_string(file).unwrap();
    let page = Page::parse(&html);
    assert_eq!(page.errors.len(), 0, "{:?}", page.errors);
    let ids: Vec<&str> = page.values("id").collect();
    for link in page.values("href") {
        let is_inside = link.strip_prefix('#').is_some_and(|id| ids.contains(&id));
        assert!(is_inside || link.starts_with("data:") || link.starts_with("https://"), "{link}");
    }
    let linked = || page.named("link").filter_map(|link| link.attribute("href"));
    assert_eq!(linked().filter(|link| !link.starts_with("data:")).count(), 0);
    assert_eq!(page.values("src").next(), None);
    assert_eq!(page.named("script").count(), 0);
    for path in machine.git(&id, &["grep", "-L", "^withdrawn:", "HEAD", "--", "nodes"]).lines() {
        let node = Path::new(path).file_stem().unwrap().to_str().map(short).unwrap();
        assert!(ids.contains(&format!("n-{node}").as_str()), "{node}");
    }
    let mut styles = page.named("link").filter(|link| link.attribute("rel") == Some("stylesheet"));
    let style = styles.next().and_then(|link| link.attribute("href")).unwrap();
    let own = include_bytes!("../../site-template/assets/style.css");
    assert_eq!(style, format!("data:text/css;base64,{}", STANDARD.encode(own)));
}
