//! Quotes from project files are found where they are cited, or the agent learns immediately where they are.

use insta::assert_snapshot;
use serde_json::json;

use super::{amend_root, at_work, begun, commit_root, references, warnings, write};
use crate::support::{Sandbox, TOT, short};

const CODE: &str = "QUOTE_NOT_THERE";

#[test]
fn a_quote_of_the_line_before_is_told_at_once_and_by_the_check() {
    let sandbox = Sandbox::new();
    let (project, mut session) = at_work(&sandbox);
    let cited = |lines: &str| {
        json!([
            {"target": "src/db.py", "lines": lines, "quote": "line  4 …\nLINE 5"},
            {"target": "src/db.py", "lines": "3-6", "quote": "line 4"},
            {"target": "src/db.py", "quote": "line 21"},
            {"target": "https://example.org/", "quote": "line 4"},
        ])
    };
    let reply = commit_root(&mut session, json!({"references": cited("5")}));
    let told = "R1.A cites words that the file does not contain: “line 4 … LINE 5” is not at src/db.py:5 but at line 4; “line 21” is not in src/db.py.";
    assert_eq!(warnings(&reply, CODE), [told]);
    assert_eq!(references(&mut session)[0]["pinned"]["text"], "line 5\n", "it is kept all the same");
    let id = session.id.clone();
    let check = || {
        let arguments = ["check", "--references", "--project", project.to_str().unwrap()];
        short(&sandbox.run(TOT, &arguments).out.replace(&id, "ID"))
    };
    // The cited content counts, whatever became of it later.
    write(&project, "src/db.py", "another\n");
    assert_snapshot!(check(), @"
    investigations/ID/nodes/R1/R1.A.yaml: warning QUOTE_NOT_THERE R1.A cites words that the file does not contain: “line 4 … LINE 5” is not at src/db.py:5 but at line 4.
    investigations/ID/nodes/R1/R1.A.yaml: warning QUOTE_NOT_THERE R1.A cites words that the file does not contain: “line 21” is not in src/db.py.
    investigations/ID: R1.A changed src/db.py:5
    investigations/ID: R1.A changed src/db.py:3-6
    investigations/ID: R1.A changed src/db.py
    3 cited files: 0 unchanged, 0 moved, 3 changed, 0 gone
    1 investigation: 0 errors, 2 warnings
    ");
    let cited = |words: &str| json!({"references": [{"target": "src/db.py", "lines": "1", "quote": words}]});
    assert_eq!(warnings(&amend_root(&mut session, cited("Another")), CODE), [""; 0]);
    assert!(!check().contains(CODE), "{}", check());
    assert_eq!(warnings(&amend_root(&mut session, cited("one more")), CODE).len(), 1);
}

#[test]
fn what_findings_quote_of_a_line_in_backticks_is_asked_about_once() {
    let (_, mut session) = at_work(&Sandbox::new());
    let findings = |more: &str| {
        format!(
            "It says `line 9` (src/db.py:8), and `line 3` elsewhere.{more}\n\n## References\n\
             - src/db.py:4 - `line 5` is the wait\n- src/db.py:6 - “line 6”, and `line 7` below\n\
             - src/db.py:8 - the loop\n- src/db.py:12 - `connect()`\n- src/db.py:14 - calls `line 2`"
        )
    };
    let reply = commit_root(&mut session, json!({"findings": findings("")}));
    let told = "R1.A cites words that the file does not contain: “line 5” is not at src/db.py:4 but at line 5; “line 9” is not at src/db.py:8 but at line 9.";
    assert_eq!(warnings(&reply, CODE), [told]);
    let mut amend =
        |more: &str| warnings(&amend_root(&mut session, json!({"findings": findings(more)})), CODE);
    assert_eq!(amend(" It waits."), [""; 0], "asked once");
    assert_eq!(amend("\n\n## References\n- src/db.py:1 - `line 2`").len(), 1, "that is new");
}

#[test]
fn nothing_is_said_of_quotes_that_nobody_can_compare() {
    let (project, mut session) = at_work(&Sandbox::new());
    write(&project, ".env", "token here\n");
    write(&project, "binary.dat", "a\0b");
    let cited = json!({"references": [
        {"target": ".env", "lines": "1", "quote": "another token"},
        {"target": "binary.dat", "lines": "1", "quote": "letters"},
        {"target": "owner/name src/db.py:1", "quote": "letters"},
    ]});
    assert_eq!(warnings(&commit_root(&mut session, cited), CODE), [""; 0]);
    // Without a project, quotes can't be checked.
    let mut session = begun(&session.sandbox, session.sandbox.server());
    let cited = json!({"references": [{"target": "src/db.py", "lines": "1", "quote": "letters"}]});
    assert_eq!(warnings(&commit_root(&mut session, cited), CODE), [""; 0]);
}
