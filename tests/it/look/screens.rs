//! The output of `list`, `show`, `log`, `diff` and `search` for the bundled investigation and for an attacker's.

use insta::assert_snapshot;
use serde_json::Value;

use super::{import_the_demo, tot, tot_in};
use crate::specimens::{hostile, payloads::payloads};
use crate::support::{Sandbox, some};

/// Returns what a command prints on a terminal of this width, without colors.
fn on(sandbox: &Sandbox, columns: &str, arguments: &[&str]) -> String {
    let ran = tot_in(sandbox, &sandbox.path(""), arguments, &[("COLUMNS", columns)]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
    ran.out
}

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let ran = tot(sandbox, &[arguments, &["--json"]].concat());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_narrow_screen_and_a_wide_one() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    let narrow = |arguments: &[&str]| on(&sandbox, "80", arguments);
    assert_snapshot!("list", narrow(&["list"]));
    assert_snapshot!("show", narrow(&["show"]));
    assert_snapshot!("show_wide", on(&sandbox, "140", &["show", "--depth", "3", "--all"]));
    assert_snapshot!("show_node", narrow(&["show", "R4.A1b1"]));
    assert_snapshot!("log", narrow(&["log", "A1b", "-n", "4"]));
    assert_snapshot!("diff", narrow(&["diff", "HEAD~23..HEAD~19"]));
    assert_snapshot!("search", narrow(&["search", "busy", "handler"]));
    for columns in ["80", "140"] {
        for arguments in [&["list"][..], &["show", "--all"], &["log"], &["search", "the"]] {
            let widest =
                on(&sandbox, columns, arguments).lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.parse().unwrap(), "{arguments:?}: {widest} of {columns}");
        }
    }
    // On a narrow terminal, the properties of an investigation take several lines.
    assert!(
        on(&sandbox, "20", &["list"]).ends_with("          ended\n          confirmed\n          38 nodes\n")
    );
}

#[test]
fn documents_for_programs() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let shortened = |mut document: Value| {
        shorten(&mut document);
        format!("{document:#}")
    };
    let list = json(&sandbox, &["list"]);
    assert_eq!(list["investigations"][0]["id"], id.as_str());
    assert_snapshot!("list_json", shortened(list));
    assert_snapshot!("show_json", shortened(json(&sandbox, &["show"])));
    assert_snapshot!("show_node_json", shortened(json(&sandbox, &["show", "R3.A1b"])));
    assert_snapshot!("log_json", shortened(json(&sandbox, &["log", "R3.A1b"])));
    assert_snapshot!("diff_json", shortened(json(&sandbox, &["diff", "HEAD~23..HEAD~19"])));
    assert_snapshot!("search_json", shortened(json(&sandbox, &["search", "busy", "handler"])));
}

/// Keeps the field names and the types of their values: the first two entries of each list, and the beginning of each
/// string.
pub fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.chars().take(60).collect(),
        Value::Array(values) => {
            values.truncate(2);
            values.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[test]
fn lists_are_narrowed_by_words_and_by_what_an_investigation_is() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let found = |arguments: &[&str]| json(&sandbox, arguments)["investigations"].as_array().unwrap().len();
    for (arguments, number) in [
        (&["list", "sqlite", "locked"][..], 1),
        (&["list", "postgres"], 0),
        (&["list", "--open"], 0),
        (&["list", "--state", "ended"], 1),
        (&["list", "--state", "contested,confirmed"], 1),
        (&["list", "--state", "unanswered", "--state", "approved"], 0),
    ] {
        assert_eq!(found(arguments), number, "{arguments:?}");
    }
    let objection = tot(&sandbox, &["object", "R4.A1a1", "-m", "The cache was warm."]);
    assert_eq!(objection.status, 0, "{objection:#?}");
    assert_eq!(found(&["list", "--state", "contested"]), 1);
    // Contested results are not shown as confirmed.
    assert_eq!(found(&["list", "--state", "confirmed"]), 0);
    let since = on(&sandbox, "80", &["diff", "HEAD~1.."]);
    assert!(since.contains("Said\n  R4.A1a1 objected, Tester\n    The cache was warm.\n"), "{since}");
    let since = on(&sandbox, "80", &["diff", "--markdown", "HEAD~1.."]);
    assert!(since.contains("**Said**\n\n- `R4.A1a1` objected, Tester: The cache was warm."), "{since}");
    let shown = on(&sandbox, "80", &["show"]);
    assert!(shown.contains("Open objections\n  Tester objects to R4.A1a1: “The cache was warm”"), "{shown}");
    assert!(on(&sandbox, "80", &["show", &id[..8], "R4.A1a1"]).contains("contested"), "{shown}");
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let empty = tot(&sandbox, &["list", "--root", "elsewhere"]);
    assert_eq!((empty.status, empty.out.as_str()), (0, "No investigations in elsewhere.\n"));
}

#[test]
fn what_can_not_be_read_is_named() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let broken = sandbox.root().join("01a19b7c-0000-7000-8000-000000000001");
    std::fs::create_dir_all(broken.join(".git")).unwrap();
    let list = tot(&sandbox, &["list", "--state", "unreadable"]);
    assert_eq!(list.status, 0, "{list:#?}");
    assert!(list.out.contains("can't be read") && !list.out.contains(&id[..13]), "{list:#?}");
    let search = tot(&sandbox, &["search", "busy"]);
    assert_eq!(search.status, 1, "{search:#?}");
    assert!(search.out.contains("R1.A") && search.err.contains("01a19b7c-0000"), "{search:#?}");
    let id = broken.file_name().unwrap().to_str().unwrap();
    for arguments in [&["show", id][..], &["log", id], &["diff", id, "HEAD~1.."]] {
        let ran = tot(&sandbox, arguments);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{arguments:?}: {ran:#?}");
        assert!(ran.err.starts_with(&format!("tot {}: ", arguments[0])), "{ran:#?}");
    }
    let demo = tot(&sandbox, &["list", "--state", "ended"]).out;
    assert!(demo.contains("SQLite"), "{demo}");
}

#[test]
fn odd_names_are_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    for (arguments, reason) in [
        (&["show", "R9.Z"][..], "there is no node R9.Z"),
        (&["show", "zzzz"], "not found"),
        (&["log", "R9.Z"], "there was never a node R9.Z"),
        (&["log", "Z"], "there was never a branch Z"),
        (&["diff", "HEAD~1..nothing"], "nothing"),
    ] {
        let ran = tot(&sandbox, arguments);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{arguments:?}: {ran:#?}");
        assert!(ran.err.contains(reason), "{arguments:?}: {ran:#?}");
    }
    let refused = tot(&sandbox, &["list", "--state", "nice"]);
    assert_eq!(refused.status, 2, "{refused:#?}");
}

#[test]
fn no_text_of_an_attacker_commands_a_terminal() {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    let all = hostile::write(&root, &some(payloads()));
    let check = |arguments: &[&str]| {
        let ran =
            tot_in(&sandbox, &root, arguments, &[("COLUMNS", "80"), ("TOT_ROOT", root.to_str().unwrap())]);
        let hidden = |c: char| (c.is_control() && c != '\n') || tree_of_thoughts::text::is_hidden(c);
        for text in [&ran.out, &ran.err] {
            assert!(
                !text.contains(hidden),
                "{arguments:?}: {:?}",
                text.lines().find(|line| line.contains(hidden))
            );
        }
        ran
    };
    assert_eq!(check(&["list"]).status, 0);
    check(&["search", "a"]);
    let listed = check(&["list", "--json"]);
    let document: Value = serde_json::from_str(&listed.out).unwrap();
    let entries = document["investigations"].as_array().unwrap();
    assert_eq!(entries.len(), all.len());
    for (number, entry) in entries.iter().enumerate() {
        // The payloads that hide something, and some of the others. The lists above cover all of them.
        let hides =
            entry["title"].as_str().is_some_and(|title| title.contains(tree_of_thoughts::text::is_hidden));
        if !hides && !number.is_multiple_of(20) {
            continue;
        }
        let id = entry["id"].as_str().unwrap();
        assert_eq!(check(&["show", id, "--all"]).status, 0, "{id}");
        assert_eq!(check(&["show", id, "R1.A"]).status, 0, "{id}");
        // A command that was run, with its output and a comment on it.
        let run = check(&["show", id, "R2.A1"]);
        assert!(run.status == 0 && run.out.contains("$ rm -rf '~' "), "{run:#?}");
        let asked = check(&["rerun", id, "--all", "--dry-run"]);
        let is_judged = !asked.err.contains("are unusable");
        assert!(!is_judged || (asked.status == 0 && asked.out.contains("rm -rf '~' ")), "{asked:#?}");
        check(&["log", id]);
        check(&["review", id, "--print"]);
        check(&["next", id]);
        check(&["verify", id]);
        check(&["diff", id, "HEAD~1..HEAD"]);
    }
}

#[test]
fn a_file_in_the_place_of_the_nodes_is_a_fault() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let place = sandbox.repository(&id);
    sandbox.git(&place, &["rm", "-rq", "nodes"]);
    std::fs::write(place.join("nodes"), "Nothing.\n").unwrap();
    sandbox.git(&place, &["add", "nodes"]);
    sandbox.git(&place, &["commit", "-qm", "Lose all"]);
    let fault = "nodes: a file where a folder is expected; it is ignored";
    for arguments in [&["list"][..], &["show"]] {
        let shown = on(&sandbox, "140", arguments);
        assert!(shown.contains(fault), "{arguments:?}: {shown}");
    }
    let entry = &json(&sandbox, &["list"])["investigations"][0];
    assert!(entry["fault"].as_str().unwrap().contains(fault), "{entry}");
    let check = tot(&sandbox, &["check"]);
    assert!(check.status == 1 && check.out.contains("/nodes: "), "{check:#?}");
}

#[test]
fn inside_of_an_investigation_the_others_of_its_root_are_searched_too() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    assert_eq!(tot(&sandbox, &["start", "Why is the sky blue?"]).status, 0);
    let inside = tot_in(&sandbox, &sandbox.repository(&id).join("nodes"), &["search", "sky"], &[]);
    assert_eq!(inside.status, 0, "{inside:#?}");
    assert!(inside.out.contains("Why is the sky blue?"), "{inside:#?}");
}
