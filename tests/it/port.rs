//! `tot import` and `tot export`, with real git.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::store::Store;

use crate::html::Page;
use crate::remote::{Machine, hub, refs, team};
use crate::support::{Said, Sandbox, files};

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
fn two_imports_of_one_file_are_merged() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let file = written(&sandbox, "old.json", ANCESTOR[4].1);
    let id = imported(&one, &file, &[])["imported"]["id"].as_str().unwrap().to_owned();
    imported(&other, &file, &[]);
    for machine in [&one, &other] {
        machine.ok(&["remote", "add", "origin", &hub.address]);
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
        let Said { out, .. } = machine.tot_check(&id);
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
