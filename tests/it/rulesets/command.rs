//! `tot ruleset` and `--rulesets`.

use super::example;
use crate::support::{Said, Sandbox, TOT, TOT_MCP};

fn tot(sandbox: &Sandbox, arguments: &[&str]) -> Said {
    sandbox.run(TOT, &[&["ruleset"], arguments].concat())
}

fn printed(said: Said) -> String {
    assert_eq!(said.status, 0, "{}", said.err);
    said.out
}

/// A sandbox with files in a rulesets folder.
fn with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("rules")).unwrap();
    for (name, text) in files {
        std::fs::write(sandbox.path("rules").join(name), text).unwrap();
    }
    sandbox
}

#[test]
fn all_rulesets_are_listed() {
    let sandbox = with(&[("post-mortem.yaml", example()), ("notes.txt", "not a ruleset")]);
    insta::assert_snapshot!(printed(tot(&sandbox, &["list", "--rulesets", "rules"])));
    assert!(!printed(tot(&sandbox, &["list"])).contains("post-mortem"));
}

#[test]
fn a_ruleset_can_be_read() {
    let sandbox = with(&[("post-mortem.yaml", example())]);
    insta::assert_snapshot!(printed(tot(&sandbox, &["show", "post-mortem", "--rulesets", "rules"])));
    insta::assert_snapshot!(printed(tot(&sandbox, &["show", "single-root"])));
    assert_eq!(printed(tot(&sandbox, &["show", "post-mortem", "--yaml", "--rulesets", "rules"])), example());
    let unknown = tot(&sandbox, &["show", "post-mortem"]);
    assert_eq!(unknown.status, 1);
    insta::assert_snapshot!(unknown.err, @"tot ruleset: unknown ruleset post-mortem (known: single-root, drill, multi-gate, found-verify, exhaust, review); --rulesets DIR adds more");
}

#[test]
fn files_are_checked() {
    let broken = example()
        .replace("becomes: CONFIRMED", "becomes: CONFIRMD")
        .replace("batchLimit: 10", "batchLimit: 0");
    let sandbox = with(&[
        ("post-mortem.yaml", example()),
        ("broken.yaml", &broken),
        ("other.yaml", example()),
        ("single-root.yaml", tree_of_thoughts::ruleset::builtin::TEXTS[0].1),
        ("ruleset.yaml", tree_of_thoughts::ruleset::builtin::TEXTS[0].1),
        ("typo.yaml", &example().replace("minCharacters", "minCharacter")),
    ]);
    let fine = tot(&sandbox, &["check", "rules/post-mortem.yaml", "rules/ruleset.yaml"]);
    assert_eq!(printed(fine), "rules/post-mortem.yaml: OK\nrules/ruleset.yaml: OK\n");
    let files = ["broken", "other", "single-root", "typo", "absent"].map(|name| format!("rules/{name}.yaml"));
    let mut arguments = vec!["check"];
    arguments.extend(files.iter().map(String::as_str));
    let said = tot(&sandbox, &arguments);
    assert_eq!((said.status, said.err.as_str()), (1, "tot ruleset: 6 errors\n"));
    let (told, absent) = said.out.split_at(said.out.find("rules/absent.yaml").unwrap());
    insta::assert_snapshot!(told, @"
    rules/broken.yaml:37: a batch must allow at least one node (leave batchLimit out for no limit)
    rules/broken.yaml:48: CONFIRMD is not one of the states (did you mean CONFIRMED?)
    rules/other.yaml:3: the file is called other.yaml, but its ruleset is called post-mortem (call the file post-mortem.yaml)
    rules/single-root.yaml:3: single-root is the name of a built-in ruleset, which can't be replaced (rename yours: both `name` and the file)
    rules/typo.yaml:44: unknown field `minCharacter`, expected one of states, minCharacters, orRun (did you mean minCharacters?)
    ");
    assert!(absent.starts_with("rules/absent.yaml: can't be read: "), "{absent}");
}

#[test]
fn a_server_does_not_start_on_a_broken_folder() {
    let sandbox = with(&[
        (
            "one.yaml",
            &example().replace("name: post-mortem", "name: one").replace("toRound: 2,", "toRound: 101,"),
        ),
        ("two.yaml", "version: 1\nname: two\n"),
        ("post-mortem.yaml", example()),
    ]);
    let refused = |folder: &str| {
        let said = sandbox.run(TOT_MCP, &["--rulesets", folder]);
        assert_eq!((said.status, said.out.as_str()), (1, ""));
        said.err
    };
    insta::assert_snapshot!(refused("rules"), @"
    tot-mcp: the rulesets in rules can't be used:
      rules/one.yaml:41: toRound 101 is beyond the last round (use at most 100, which means no limit)
      rules/one.yaml:43: it stores ROOT_CAUSE, which itself comes too early in round 3 (store a state that may be committed in all these rounds)
      rules/two.yaml:2: missing field `summary` (add the key summary)
    ");
    assert!(refused("nowhere").starts_with("tot-mcp: can't read the ruleset folder nowhere: "));
}

#[test]
fn the_schema_is_json() {
    let schema: serde_json::Value =
        serde_json::from_str(&printed(tot(&Sandbox::new(), &["schema"]))).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["required"], serde_json::json!(["version", "name", "summary", "states", "end"]));
}
