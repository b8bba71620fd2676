//! `tot ruleset` and `--rulesets`.

use std::process::Output;

use super::example;
use crate::support::{Sandbox, TOT, TOT_MCP};

fn tot(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.command(TOT).arg("ruleset").args(arguments).output().unwrap()
}

fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A sandbox with files in a folder of rulesets.
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
    insta::assert_snapshot!(printed(tot(&sandbox, &["list", "--rulesets", "rules"])), @"
    single-root (default)  One root, branched wide in round 2; answers from round 4, checked before the
                           end in round 5 or later.
    drill                  Several roots drilled in parallel until each is valid, dead or speculative;
                           three rounds.
    multi-gate             drill behind gates, with evidence, locked states, limits on closing,
                           confirmation and a quality gate; four rounds.
    found-verify           Four states; nothing counts as found before round 3, and every FOUND needs a
                           VERIFY child; three rounds.
    exhaust                Every path is followed until it is exhausted; two VERIFY per FOUND, a DEAD
                           child per EXHAUST; five rounds.
    review                 Answers at any depth, with evidence and alternatives; another agent tries to
                           refute each one before the end.
    post-mortem            What caused an incident; hypotheses are refuted or become a root cause, which
                           needs evidence; four rounds.
    ");
    assert!(!printed(tot(&sandbox, &["list"])).contains("post-mortem"));
}

#[test]
fn a_ruleset_can_be_read() {
    let sandbox = with(&[("post-mortem.yaml", example())]);
    insta::assert_snapshot!(printed(tot(&sandbox, &["show", "post-mortem", "--rulesets", "rules"])), @"
    post-mortem
    What caused an incident; hypotheses are refuted or become a root cause, which needs evidence; four
    rounds.

    R1.A is the incident: what was seen, when and by whom. Each node of round 2 is one possible cause.
    Look for what would refute it before you look for what supports it.

    States
      - HYPOTHESIS (open): A possible cause, to be tested below. Needs 2 children in round 1, 1 child
        from round 2.
      - EVIDENCE (confirmation): An observation that bears out the node above. Terminal. Needs evidence
        of 40 characters or more.
      - REFUTED (dead end): An observation rules it out. Terminal. From round 3. Needs evidence of 40
        characters or more.
      - ROOT_CAUSE (awaiting confirmation): It explains what was seen, and waits for evidence. Needs 1
        child. From round 3. A child in EVIDENCE makes it CONFIRMED. A child in REFUTED makes it
        HYPOTHESIS.
      - CONFIRMED (solution): A root cause that evidence bears out. Terminal. Commits can't set it.

    Rules
      - In rounds 1 to 2, REFUTED, ROOT_CAUSE, CONFIRMED are stored as HYPOTHESIS.
      - In round 3 and later, CONFIRMED is stored as ROOT_CAUSE.
      - At most 10 nodes in a proposal.
      - One root, R1.A.
      - 3 or more nodes are recommended in round 2.
      - An agent's commit less than 10 s after its proposal triggers a warning, which stays in the
        history.
      - An agent's result without agentId is refused.
      - A state change without a reason triggers a warning, which stays in the history.
      - Ending without a conclusion triggers a warning, which stays in the history.
      - Ending without naming any of several answers triggers a warning, which stays in the history.
      - Text that may contain a credential triggers a warning, which stays in the history.

    End
      - Round 4 is reached.
      - Every open node has the children it needs.
      - No node awaits confirmation.
      - No proposal is pending.
    ");
    insta::assert_snapshot!(printed(tot(&sandbox, &["show", "single-root"])), @"
    single-root
    One root, branched wide in round 2; answers from round 4, checked before the end in round 5 or
    later.

    Begin with the one root R1.A and branch into five or more different directions in round 2. Round 3
    digs deeper: nothing but EXPLORE is kept there. From round 4 on, say what you found: FOUND for an
    answer, EXHAUST for a path with nothing left to try, DEAD for one that is ruled out. Give every
    FOUND a child that tries to break it: VERIFY if it holds.

    States
      - EXPLORE (open): Dig deeper. Needs 2 children in rounds 1 to 2, 1 child from round 3.
      - FOUND (solution): An answer, until something contradicts it. Needs 1 child. Its children may be
        EXPLORE, FOUND, VERIFY. From round 4.
      - VERIFY (confirmation): Confirms the FOUND above it. Terminal. From round 4.
      - EXHAUST (exhausted): Nothing left to try on this path. Needs 1 child. Its children may be
        EXPLORE, EXHAUST, DEAD. From round 4.
      - DEAD (dead end): Ruled out. Terminal. From round 4.

    Rules
      - In round 3, FOUND, VERIFY, EXHAUST, DEAD are stored as EXPLORE.
      - In rounds 1 to 2, FOUND, VERIFY, EXHAUST, DEAD are stored as EXPLORE.
      - One root, R1.A.
      - 5 or more nodes are recommended in round 2.
      - An agent's commit less than 10 s after its proposal triggers a warning, which stays in the
        history.
      - An agent's result without agentId triggers a warning, which stays in the history.
      - An agentId that is already on another node triggers a warning, which stays in the history.
      - A state change without a reason triggers a warning, which stays in the history.
      - Ending without a conclusion triggers a warning, which stays in the history.
      - Ending without naming any of several answers triggers a warning, which stays in the history.
      - Text that may contain a credential triggers a warning, which stays in the history.

    End
      - Round 5 is reached.
      - Every open node has the children it needs.
      - No proposal is pending.

    Modes
      - deep (default): The whole method
      - exhaustive: The whole method, with at least three children asked for under every open node
      - smoke: A quick trial, two rounds, early states allowed
    ");
    assert_eq!(printed(tot(&sandbox, &["show", "post-mortem", "--yaml", "--rulesets", "rules"])), example());
    let unknown = tot(&sandbox, &["show", "post-mortem"]);
    assert_eq!(unknown.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8_lossy(&unknown.stderr), @"tot ruleset: unknown ruleset post-mortem (known: single-root, drill, multi-gate, found-verify, exhaust, review); --rulesets DIR adds more");
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
    let output = tot(&sandbox, &arguments);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).unwrap();
    let (told, absent) = told.split_at(told.find("rules/absent.yaml").unwrap());
    insta::assert_snapshot!(told, @"
    rules/broken.yaml:37: a batch must allow at least one node (leave batchLimit out for no limit)
    rules/broken.yaml:48: CONFIRMD is not one of the states (did you mean CONFIRMED?)
    rules/other.yaml:3: the file is called other.yaml, but its ruleset is called post-mortem (call the file post-mortem.yaml)
    rules/single-root.yaml:3: single-root is the name of a built-in ruleset, which can't be replaced (rename yours: both `name` and the file)
    rules/typo.yaml:44: unknown field `minCharacter`, expected one of states, minCharacters, orRun (did you mean minCharacters?)
    ");
    assert!(absent.starts_with("rules/absent.yaml: can't be read: "), "{absent}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "tot ruleset: 6 errors\n");
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
        let output = sandbox.command(TOT_MCP).args(["--rulesets", folder]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        String::from_utf8(output.stderr).unwrap()
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
