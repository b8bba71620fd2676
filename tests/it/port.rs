//! `tot import` and `tot export`, with real git.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::store::Store;

use crate::html::Page;
use crate::remote::{Machine, Ran, hub, refs, team};
use crate::support::{Sandbox, files};

/// A file from each generation of the predecessor, with the matching ruleset.
const ANCESTOR: [(&str, &str); 5] = [
    ("drill", include_str!("../ancestor/drill.json")),
    ("multi-gate", include_str!("../ancestor/multi-gate.json")),
    ("found-verify", include_str!("../ancestor/found-verify.json")),
    ("exhaust", include_str!("../ancestor/exhaust.json")),
    ("single-root", include_str!("../ancestor/single-root.json")),
];

fn written(sandbox: &Sandbox, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = sandbox.path(name);
    fs::write(&path, text).unwrap();
    path
}

/// Imports a file and returns its `--json` output.
fn imported(machine: &Machine<'_>, file: &Path, more: &[&str]) -> Value {
    let ran = machine.tot(&[&["import", "--json", file.to_str().unwrap()], more].concat());
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    assert_eq!(ran.status, i32::from(document["failed"] != 0), "{document:#}");
    let files = document["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{document:#}");
    files[0].clone()
}

fn export(machine: &Machine<'_>, id: &str, format: &str) -> Vec<u8> {
    let file = machine.sandbox.path(&format!("export.{format}"));
    let said = machine.ok(&["export", id, "--format", format, "-o", file.to_str().unwrap()]);
    assert_eq!(said, "");
    fs::read(file).unwrap()
}

/// Returns the entries of a root, including hidden folders.
fn entries(root: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = fs::read_dir(root).into_iter().flatten().flatten().map(name).collect();
    names.retain(|name| name != ".gitignore");
    names.sort();
    names
}

/// Asserts that two folders contain the same investigation: the same files and the same state.
fn assert_same(one: &Path, other: &Path) {
    let (ours, mut theirs) = (files(one, false), files(other, false));
    // An investigation from an earlier version has no README page; its import has one.
    theirs.retain(|path, _| path != Path::new("README.md") || ours.contains_key(path));
    assert_eq!(ours, theirs);
    let [one, other] = [one, other].map(|folder| {
        let snapshot = Store::new(folder).load(folder).unwrap();
        assert_eq!(snapshot.faults, []);
        (snapshot.investigation, snapshot.ruleset.unwrap())
    });
    assert_eq!(one, other);
}

#[test]
fn a_file_of_the_ancestor_is_the_same_history_on_every_machine() {
    let sandbox = Sandbox::new();
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    for (ruleset, text) in ANCESTOR {
        let file = written(&sandbox, &format!("{ruleset}.json"), text);
        let entry = imported(&one, &file, &[]);
        let old: Value = serde_json::from_str(text).unwrap();
        let id = old["sessionId"].as_str().unwrap();
        assert_eq!(entry["imported"]["id"], id);
        assert_eq!(entry["imported"]["findings"], json!([]));
        // Another person, on a machine with other settings.
        let person = [("GIT_AUTHOR_NAME", "Other"), ("GIT_COMMITTER_DATE", "1"), ("TZ", "Asia/Tokyo")];
        let config =
            written(&sandbox, "home/.gitconfig", "[init]\ndefaultBranch = trunk\n[user]\nname = Me\n");
        let ran = other.tot_with(&["import", file.to_str().unwrap()], &person);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        fs::remove_file(config).unwrap();
        assert_eq!(one.head(id), other.head(id));
        assert_eq!(entry["imported"]["head"], one.head(id));
        one.assert_sound(id);
        assert_eq!(refs(&sandbox, &other.repository(id)), ["refs/heads/main"]);
        // The file's values are stored.
        let data: Value = serde_json::from_slice(&export(&one, id, "json")).unwrap();
        assert_eq!((&data["meta"]["ruleset"], &data["meta"]["query"]), (&json!(ruleset), &old["query"]));
        let nodes = data["nodes"].as_array().unwrap();
        for (node, field) in
            nodes.iter().flat_map(|node| ["parent", "title", "findings", "state"].map(|it| (node, it)))
        {
            let id = node["id"].as_str().unwrap();
            let entry =
                if node["state"].is_null() { &old["pendingProposals"][id] } else { &old["nodes"][id] };
            assert_eq!(node[field], *entry.get(field).unwrap_or(&Value::Null), "{id} {field}");
        }
        let all = |key: &str| old[key].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(nodes.len(), all("nodes") + all("pendingProposals"));
        let again = imported(&one, &file, &[]);
        assert_eq!((&again["imported"]["present"], &again["error"]), (&json!(true), &Value::Null));
    }
    assert_eq!(entries(&one.root).len(), ANCESTOR.len());
}

#[test]
fn what_is_printed_of_an_import() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let mut old: Value = serde_json::from_str(ANCESTOR[3].1).unwrap();
    // Parts that violate the rules are kept.
    old["nodes"]["R1.A"]["state"] = json!("VERIFY");
    old["nodes"]["R2.B1"]["title"] = json!("  ");
    written(&sandbox, "old.json", old.to_string());
    written(&sandbox, "cut.json", &ANCESTOR[0].1[..300]);
    let ran = machine.tot(&["import", "old.json", "cut.json", "none.json"]);
    assert_eq!(ran.status, 1);
    let root = machine.root.to_str().unwrap();
    insta::assert_snapshot!(format!("{}{}", ran.out, ran.err).replace(root, "ROOT"), @r"
    old.json imported into ROOT/22222222-3333-4444-9555-666666666666: 6 nodes, 11 commits, at 04d41bc88f
      Where do the missing invoices go?
      Imported with the ruleset exhaust.
      Nodes have no times: each step is dated one millisecond after the previous one.
      Not imported, since investigations have no such field: projectDir.
      nodes/R1/R1.A.yaml:6: error EARLY_STATE R1.A was committed as VERIFY in round 1, where a commit would have stored EXPLORE: VERIFY is not allowed before round 5.
      nodes/R2/R2.B1.yaml:4: error MISSING_TITLE R2.B1 has no title.
    tot import: cut.json: it is not JSON: EOF while parsing a string at line 13 column 9
    tot import: none.json: cannot be read: No such file or directory (os error 2)
    ");
    let log =
        sandbox.git(&machine.repository(old["sessionId"].as_str().unwrap()), &["log", "--format=%an %aI %s"]);
    insta::assert_snapshot!(log, @r"
    Tree of Thoughts 2026-01-07T07:00:00Z Commit R3.B1b EXPLORE
    Tree of Thoughts 2026-01-07T07:00:00Z Propose R3.B1b
    Tree of Thoughts 2026-01-07T07:00:00Z Commit R4.B1a1 DEAD
    Tree of Thoughts 2026-01-07T07:00:00Z Propose R4.B1a1
    Tree of Thoughts 2026-01-07T07:00:00Z Commit R3.B1a EXHAUST
    Tree of Thoughts 2026-01-07T07:00:00Z Propose R3.B1a
    Tree of Thoughts 2026-01-07T07:00:00Z Commit R2.B1 EXPLORE
    Tree of Thoughts 2026-01-07T07:00:00Z Propose R2.B1
    Tree of Thoughts 2026-01-07T07:00:00Z Commit R1.A VERIFY, R1.B EXPLORE
    Tree of Thoughts 2026-01-07T07:00:00Z Propose R1.A, R1.B
    Tree of Thoughts 2026-01-07T07:00:00Z Start: Where do the missing invoices go?
    ");
}

#[test]
fn two_imports_of_one_file_are_merged() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let file = written(&sandbox, "old.json", ANCESTOR[4].1);
    let id = imported(&one, &file, &[])["imported"]["id"].as_str().unwrap().to_owned();
    imported(&other, &file, &[]);
    for machine in [&one, &other] {
        machine.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    }
    one.grow(&id, &["R2.A8"]);
    other.grow(&id, &["R2.A9"]);
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    assert!(
        one.nodes(&id).ends_with(&["R5.A1a1a".to_owned()]) && one.nodes(&id).len() == 9,
        "{:?}",
        one.nodes(&id)
    );
    one.assert_sound(&id);
}

#[test]
fn bundles_and_data_come_back_as_they_were() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations");
    for name in ["demo.bundle", "confirmed.bundle"] {
        let entry = imported(&one, &shipped.join(name), &[]);
        let id = entry["imported"]["id"].as_str().unwrap();
        one.assert_sound(id);
        let other = Machine::new(&sandbox, &format!("{name} as bundle"));
        let file = written(&sandbox, "copy.bundle", export(&one, id, "bundle"));
        assert_eq!(imported(&other, &file, &[])["imported"]["present"], false);
        assert_same(&one.repository(id), &other.repository(id));
        let all = |machine: &Machine<'_>| sandbox.git(&machine.repository(id), &["show-ref"]);
        assert_eq!(all(&one), all(&other));
        assert_eq!(sandbox.git(&other.repository(id), &["remote"]), "");
        assert_eq!(imported(&other, &file, &[])["imported"]["present"], true);

        let third = Machine::new(&sandbox, &format!("{name} as data"));
        let data = export(&one, id, "json");
        let file = written(&sandbox, "copy.json", &data);
        imported(&third, &file, &[]);
        assert_same(&one.repository(id), &third.repository(id));
        third.assert_sound(id);
        let [mut before, mut after]: [Value; 2] =
            [data, export(&third, id, "json")].map(|bytes| serde_json::from_slice(&bytes).unwrap());
        for data in [&mut before, &mut after] {
            data["meta"]["head"].take();
            data["commits"].take();
        }
        assert_eq!(before, after);
    }
}

/// Both sides made the same change, which no single call could have made twice.
#[test]
fn an_investigation_in_which_a_merge_has_joined_two_changes_to_one_state_is_imported_as_it_is() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    one.synced();
    other.synced();
    for (machine, reason) in [(&one, "Refuted here."), (&other, "Refuted there.")] {
        sandbox.sleep(60);
        let change = json!({"sessionId": id, "nodeId": "R2.A1", "newState": "DEAD", "reason": reason});
        machine.server().ok("tot_reclassify", change);
    }
    other.synced();
    one.synced();
    let errors = |machine: &Machine<'_>| {
        let Ran { out, .. } = machine.tot_check(&id);
        out.lines().filter(|line| line.contains(" error ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(errors(&one), Vec::<String>::new());
    for format in ["json", "bundle"] {
        let machine = Machine::new(&sandbox, format);
        let file = written(&sandbox, &format!("copy.{format}"), export(&one, &id, format));
        let entry = imported(&machine, &file, &[]);
        assert_eq!(entry["error"], Value::Null, "{entry:#}");
        assert_same(&one.repository(&id), &machine.repository(&id));
        // A JSON file does not contain merges, so the finding is reported there.
        let found = errors(&machine);
        assert_eq!(found.len(), usize::from(format == "json"), "{found:?}");
        assert!(found.iter().all(|line| line.contains("RECLASSIFIED_CHAIN")), "{found:?}");
    }
}

#[test]
fn an_id_that_another_history_has_is_refused_and_nothing_moves() {
    let sandbox = Sandbox::new();
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let id = one.start();
    let file = written(&sandbox, "copy.json", export(&one, &id, "json"));
    let bundle = written(&sandbox, "copy.bundle", export(&one, &id, "bundle"));
    // An import from JSON has a different history than the original calls: clients and authors are not in it.
    let head = one.head(&id);
    let entry = imported(&one, &file, &[]);
    assert_eq!(entry["code"], "ALREADY_HERE", "{entry:#}");
    assert!(entry["error"].as_str().unwrap().contains("--as-new"), "{entry:#}");
    let new = imported(&one, &file, &["--as-new"]);
    let new = new["imported"]["id"].as_str().unwrap();
    assert_eq!(imported(&one, &file, &["--as-new"])["imported"]["present"], true);
    assert_eq!((one.head(&id), entries(&one.root).len()), (head, 2));
    one.assert_sound(new);
    // A bundle that is older than the local history is part of it.
    one.grow(&id, &["R2.A1"]);
    assert_eq!(imported(&one, &bundle, &[])["imported"]["present"], true);
    imported(&other, &file, &[]);
    assert_eq!(imported(&other, &bundle, &[])["code"], "ALREADY_HERE");
    let ran = other.tot(&["import", "--as-new", bundle.to_str().unwrap()]);
    assert!(ran.status == 1 && ran.err.contains("is only for JSON files"), "{ran:?}");
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let file = written(&sandbox, "old.json", ANCESTOR[0].1);
    let would = imported(&machine, &file, &["--dry-run"]);
    assert_eq!(entries(&machine.root), Vec::<String>::new());
    assert_eq!(would["imported"], imported(&machine, &file, &[])["imported"]);
}

#[test]
fn a_faulty_file_leaves_nothing() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let with = |pointer: &str, value: Value| {
        let mut old: Value = serde_json::from_str(ANCESTOR[4].1).unwrap();
        *old.pointer_mut(pointer).unwrap() = value;
        old.to_string().into_bytes()
    };
    let nested = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let mut bundle =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle")).unwrap();
    bundle.truncate(bundle.len() / 2);
    for (bytes, told) in [
        (with("/sessionId", json!("../../escaped")), "sessionId: "),
        (with("/nodes/R1.A/id", json!("R1.A/../../../escaped")), "nodes.R1.A.id: "),
        (with("/nodes/R1.A/state", json!("../x")), "nodes.R1.A.state: "),
        (with("/nodes/R4.A1a1/state", json!("SOLVED")), "no built-in ruleset has the states"),
        (with("/nodes/R4.A1a1/findings", json!("x".repeat(17 << 20))), "16777216 bytes in one file"),
        (with("/query", json!("x".repeat(2 << 20))), "query: "),
        (ANCESTOR[0].1.as_bytes()[..700].to_vec(), "it is not JSON: "),
        (nested, "recursion limit"),
        (vec![0xff; 100], "is neither a git bundle nor UTF-8 text"),
        (Vec::new(), "it is not JSON"),
        (bundle, "fetch"),
        (b"# v2 git bundle\n".to_vec(), "has no investigation"),
    ] {
        let file = written(&sandbox, "faulty", bytes);
        let entry = imported(&machine, &file, &[]);
        assert!(entry["error"].as_str().unwrap().contains(told), "{told}: {entry:#}");
        assert_eq!(entries(&machine.root), Vec::<String>::new());
        assert!(!sandbox.path("escaped").exists());
    }
    // A bundle of another repository.
    let folder = sandbox.path("other");
    fs::create_dir(&folder).unwrap();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["commit", "-q", "--allow-empty", "-m", "Begin"],
        &["bundle", "create", "-q", "../other.bundle", "main"],
    ] {
        sandbox.git(&folder, arguments);
    }
    let entry = imported(&machine, &sandbox.path("other.bundle"), &[]);
    assert!(entry["error"].as_str().unwrap().contains("not an investigation"), "{entry:#}");
    assert_eq!(entries(&machine.root), Vec::<String>::new());
}

#[test]
fn every_form_holds_the_investigation() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let id = imported(&machine, &written(&sandbox, "old.json", ANCESTOR[4].1), &[])["imported"]["id"].clone();
    let id = id.as_str().unwrap();
    let text = |format: &str| String::from_utf8(export(&machine, id, format)).unwrap();
    for (format, begins, holds) in [
        (
            "markdown",
            "# How can the search index",
            "[R5.A1a1a](#R5.A1a1a) VERIFY: Eight readers on the real machine",
        ),
        ("csv", "Node,Round,State,Title,Parent,", "R4.A1a1,4,FOUND,Eight readers,R3.A1a,"),
        ("dot", "digraph Investigation {", "R4_A1a1"),
        ("svg", "<svg xmlns", "Eight readers"),
        ("mermaid", "flowchart", "R4_A1a1"),
        ("html", "<!doctype html>", "41 minutes."),
        ("json", "{", "\"rulesetFile\": \""),
    ] {
        let text = text(format);
        assert!(text.starts_with(begins) && text.contains(holds), "{format}: {text}");
    }
    let anchors = text("markdown");
    assert_eq!(anchors.matches("<a id=\"R").count(), 7);
    assert!(!anchors.contains("tot://"), "{anchors}");
    assert_eq!(csv_rows(&text("csv")), 8);
    // Without a name if there is only one, to standard output, and with only part of a name.
    assert_eq!(machine.ok(&["export", "--format", "dot"]), text("dot"));
    assert_eq!(machine.ok(&["export", &id[..6], "-f", "dot"]), text("dot"));
    imported(&machine, &written(&sandbox, "old.json", ANCESTOR[0].1), &[]);
    for (arguments, status, told) in [
        (&["export", "--format", "dot"][..], 1, "2 investigations found"),
        (&["export", "ffff", "--format", "dot"], 1, "ffff"),
        (&["export", id, "--format", "pdf"], 2, "markdown"),
        (&["export", id, "--format", "dot", "-o", "no/such/file"], 1, "cannot write no/such/file"),
    ] {
        let Ran { err, status: ended, .. } = machine.tot(arguments);
        assert!(ended == status && err.contains(told), "{arguments:?}: {ended} {err}");
    }
}

/// Returns the number of rows that an RFC 4180 reader sees. Line breaks between quotes do not count.
fn csv_rows(text: &str) -> usize {
    text.split('"').step_by(2).map(|outside| outside.matches('\n').count()).sum()
}

#[test]
fn the_one_page_needs_no_other_file() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    let id = imported(&machine, &demo, &[])["imported"]["id"].as_str().unwrap().to_owned();
    let html = String::from_utf8(export(&machine, &id, "html")).unwrap();
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
    for node in machine.nodes(&id) {
        assert!(ids.contains(&format!("n-{node}").as_str()), "{node}");
    }
    let mut styles = page.named("link").filter(|link| link.attribute("rel") == Some("stylesheet"));
    let style = styles.next().and_then(|link| link.attribute("href")).unwrap();
    let decoded = style.strip_prefix("data:text/css,").unwrap().split('%').skip(1);
    let bytes: Vec<u8> = decoded.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(
        bytes,
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("site-template/assets/style.css")).unwrap()
    );
}
