//! An investigation by a person without any agent: `tot start`, `next`, `propose`, `commit`, `reclassify`, `amend`, `end`,
//! through the real command.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::remote::Ran;
use crate::support::{Sandbox, TOT};

/// A person at work, on the sandbox's clock.
struct Person {
    sandbox: Sandbox,
}

impl Person {
    fn new() -> Person {
        Person { sandbox: Sandbox::new() }
    }

    /// A person who has proposed the root.
    fn begun() -> Person {
        let person = Person::new();
        person.ok(&["start", "Why is the sky blue?", "--mode", "smoke"]);
        person.ok(&["propose", "--next"]);
        person
    }

    fn given(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.sandbox.command(TOT);
        command.args(arguments).arg("--clock-file").arg(self.sandbox.path("clock"));
        self.run(command, input)
    }

    fn run(&self, mut command: std::process::Command, input: &str) -> Ran {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A refused command may not have read it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// Runs a command, which must succeed.
    fn ok(&self, arguments: &[&str]) -> String {
        self.ok_with(arguments, "")
    }

    fn ok_with(&self, arguments: &[&str], input: &str) -> String {
        let ran = self.given(arguments, input);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}: {}", ran.out);
        // A minute passes before the next command.
        self.sandbox.sleep(60);
        ran.out
    }

    /// Runs a command that takes no time on the clock.
    fn used(&self, arguments: &[&str]) -> Ran {
        let mut command = self.sandbox.command(TOT);
        command.args(arguments);
        self.run(command, "")
    }

    /// Runs a command, which must be refused.
    fn refused(&self, arguments: &[&str], input: &str) -> String {
        let ran = self.given(arguments, input);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{arguments:?}");
        ran.err
    }

    /// Runs a shell command line at a terminal, provided by `script` from util-linux, and returns its output.
    #[cfg(target_os = "linux")]
    fn at_terminal(&self, line: &str, editor: Option<&std::path::Path>) -> (i32, String) {
        let line = format!("{line} --clock-file {}", self.sandbox.path("clock").display());
        let mut command = self.sandbox.command("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm");
        command.envs(editor.map(|editor| ("GIT_EDITOR", editor)));
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
        (output.status.code().unwrap(), text)
    }

    /// Returns the folder of the only investigation.
    fn repository(&self) -> PathBuf {
        let all = std::fs::read_dir(self.sandbox.root()).unwrap().map(|entry| entry.unwrap().path());
        let folders: Vec<PathBuf> = all.filter(|path| path.join(".git").is_dir()).collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders[0].clone()
    }
}

const ROOT: &str = "\
---
nodeId: R1.A
state: EXPLORE
headline: It scatters
---
Short waves scatter more.

## References
- https://example.org/rayleigh - the law
";

#[test]
fn a_person_without_an_agent_gets_from_the_question_to_the_published_report() {
    let person = Person::new();
    let at = |text: String| text.replace(&person.sandbox.path("").display().to_string(), "/here/");
    assert_snapshot!(at(person.ok(&["start", "Why is the sky blue?", "--mode", "smoke"])), @"
        019b8d62-7a80-7da0-a12b-9fd1f7790eda
          in      /here/investigations/019b8d62-7a80-7da0-a12b-9fd1f7790eda
          method  single-root, smoke, at least 2 rounds (tot ruleset show single-root)
        commit 92be059425
        Next: `tot propose --next` for the root R1.A.
        ");
    assert_snapshot!(person.ok(&["next"]), @"
        R1.A Why is the sky blue?
            Take the question apart: what is known, which directions are open, and which of them look promising.
            counts as EXPLORE, FOUND, VERIFY, EXHAUST, DEAD
        Next: `tot propose --next`. Nothing is committed yet. Other blockers: 1. Propose the tasks, then research them.
        ");
    assert_snapshot!(person.ok(&["propose", "--next"]), @"
        proposed R1.A
        commit 4e1413e727
        Next: Research R1.A, then `tot commit`.
        ");
    assert_snapshot!(person.ok(&["next"]), @"
        R1.A Why is the sky blue?  (proposed)
            Take the question apart: what is known, which directions are open, and which of them look promising.
            counts as EXPLORE, FOUND, VERIFY, EXHAUST, DEAD
        Next: `tot commit R1.A`. This node is proposed but not committed: research it, then commit it in the state that its findings call for.
        ");
    assert_snapshot!(person.ok_with(&["commit"], ROOT), @"
        committed R1.A as EXPLORE
        commit 5b5f6ba9fd
        Next: `tot propose --next` for round 2: 1 child below R1.A (EXPLORE).
        ");
    assert_snapshot!(person.refused(&["commit", "-"], ROOT), @"
        tot commit: rejected, nothing was written
          NOT_PROPOSED R1.A is already committed as EXPLORE. If you had claimed it, put `claimed: true` in its file to store your result next to it; to change its state, use `tot reclassify`. No proposal is pending: propose nodes with `tot propose` first.
        ");

    let nodes = "nodes:\n- id: R2.A1\n  parent: R1.A\n  title: Measure it\n  plannedAction: At noon.\n";
    std::fs::write(person.sandbox.path("nodes.yaml"), nodes).unwrap();
    assert_snapshot!(person.ok(&["propose", "nodes.yaml"]), @"
        proposed R2.A1
        commit a8f573dadf
        Next: Research R2.A1, then `tot commit`.
        ");
    let found = "---\nnodeId: R2.A1\nstate: FOUND\nevidence: Measured at noon, on three days.\n---\nAs the law says.\n";
    std::fs::write(person.sandbox.path("found.md"), found).unwrap();
    person.ok(&["commit", "found.md"]);
    person.ok(&["propose", "--next"]);
    let verify = r#"{"nodeId": "R3.A1a", "state": "VERIFY", "findings": "It holds.", "evidence": "Measured with a filter."}"#;
    let committed: Value = serde_json::from_str(&person.ok_with(&["commit", "--json"], verify)).unwrap();
    assert_eq!((&committed["status"], &committed["canEnd"]), (&"OK".into(), &true.into()), "{committed:#}");
    assert_eq!(committed["committed"][0]["nodeId"], "R3.A1a");

    let amendment = "---\nnodeId: R2.A1\nheadline: The law holds at noon\n---\n";
    assert_snapshot!(person.refused(&["amend", "-"], amendment), @"
        tot amend: rejected, nothing was written
          MISSING_REASON The change to R2.A1 has no reason. Say with -m what was wrong.
        ");
    assert_snapshot!(person.ok_with(&["amend", "-m", "It had no headline."], amendment), @"
        amended R2.A1: headline
        commit 7140bc1fa1
        Next: No required steps remain: run `tot end` with your conclusion, or go deeper.
        ");
    assert_snapshot!(person.ok(&["next"]), @"
        Next: `tot end`. No required steps remain: end with your conclusion.
        ");
    assert_snapshot!(person.ok(&["end", "-m", "It *scatters*."]), @"
    answer R2.A1 The law holds at noon (not checked)
    conclusion not checked ended, tag ended/1
    commit bfa5dd8f9f
    Next: The investigation has ended. `tot reclassify NODE STATE` with an open state reopens it.
    ");
    assert_snapshot!(person.refused(&["propose", "--withdraw", "R2.A1"], ""), @"
        tot propose: rejected, nothing was written
          INVESTIGATION_ENDED This investigation was ended at 2026-01-05T09:11:00.000Z. To continue it, reclassify a node to an open state; otherwise start a new investigation.
        ");
    person.ok(&["reclassify", "R3.A1a", "EXPLORE", "-m", "The filter was the wrong one."]);
    assert_snapshot!(person.ok(&["reclassify", "R3.A1a", "VERIFY", "-m", "It was not."]), @"
    R3.A1a was EXPLORE and is VERIFY
    commit cdad97076d
    Next: No required steps remain: run `tot end` with your conclusion, or go deeper.
    ");
    person.ok(&["end", "-m", "It *scatters*."]);
    assert_snapshot!(person.ok_with(&["amend", "-"], "---\nreason: A word was missing.\n---\nIt *scatters*, at noon.\n"), @"
    amended the conclusion
    commit 2d96ad6f13
    Confirmations of the answers remain valid. An approval of the earlier conclusion lapses: a person renews it with `tot approve 019b8d62-7a80-7da0-a12b-9fd1f7790eda`.
    Next: The investigation has ended. `tot reclassify NODE STATE` with an open state reopens it.
    ");

    let repository = person.repository();
    let log =
        person.sandbox.git(&repository, &["log", "--reverse", "--format=%an %s%n  %(trailers:key=Agent-Id)"]);
    assert_snapshot!(log.replace("\n  \n", "\n"), @"
    Tester Start: Why is the sky blue?
    Tester Propose R1.A
    Tester Commit R1.A EXPLORE
    Tester Propose R2.A1
    Tester Commit R2.A1 FOUND
    Tester Propose R3.A1a
    Tester Commit R3.A1a VERIFY
    Tester Amend headline of R2.A1
    Tester End with 1 answer, 1 not checked, and 0 ruled out
    Tester Reclassify R3.A1a VERIFY→EXPLORE, reopening the investigation
    Tester Reclassify R3.A1a EXPLORE→VERIFY
    Tester End with 1 answer, 1 checked only by its author, and 0 ruled out
    Tester Amend the conclusion
    ");
    person.sandbox.assert_sound(&repository);
    assert_snapshot!(person.used(&["check"]).out, @"1 investigation: 0 errors, 0 warnings");
    assert_eq!(person.used(&["report", "--out", "site"]).status, 0);
    let page = std::fs::read_to_string(person.sandbox.path("site/index.html")).unwrap();
    assert!(page.contains("<em>scatters</em>, at noon."), "the conclusion is published");
}

#[test]
fn a_small_tree_is_shown_whole_and_a_folded_one_says_how_to_see_the_rest() {
    let person = Person::begun();
    person.ok_with(&["commit"], ROOT);
    let nodes = |parent: &str, ids: &[String]| {
        let node = |id: &String| {
            format!("- id: {id}\n  parent: {parent}\n  title: Look at {id}\n  plannedAction: At noon.\n")
        };
        person.ok_with(&["propose", "-"], &format!("nodes:\n{}", ids.iter().map(node).collect::<String>()));
        let result = |id: &String| format!("- nodeId: {id}\n  state: EXPLORE\n  findings: More light.\n");
        person.ok_with(&["commit", "-"], &ids.iter().map(result).collect::<String>());
    };
    // As a git user would type it.
    let show = |arguments: &[&str]| person.used(&[&["status"], arguments].concat()).out;
    nodes("R1.A", &["R2.A1".to_owned(), "R2.A2".to_owned()]);
    let tree = show(&[]).split_once("\nTree\n").unwrap().1.to_owned();
    assert_snapshot!(tree, @"
        R1.A EXPLORE It scatters
        ├─ R2.A1 EXPLORE Look at R2.A1
        └─ R2.A2 EXPLORE Look at R2.A2
        ");
    nodes("R2.A1", &('a'..='r').map(|letter| format!("R3.A1{letter}")).collect::<Vec<_>>());
    let tree = show(&[]).split_once("\nTree\n").unwrap().1.to_owned();
    assert!(tree.ends_with("  --all shows every node\n"), "{tree}");
    assert!(!show(&["--all"]).contains("--all"));
}

#[test]
fn the_fields_of_another_result_are_not_run_into_one_paragraph() {
    let person = Person::begun();
    person.ok_with(&["commit"], ROOT);
    let other = "---\nnodeId: R1.A\nstate: DEAD\nheadline: It is paint\nagentId: ada\nclaimed: true\n---\nOne line.\n\nAnother.\n";
    person.ok_with(&["commit", "-"], other);
    let shown = person.used(&["show", "R1.A"]).out;
    let others = shown.split_once("\nOther results\n").unwrap().1;
    assert_snapshot!(others.split_once("\nFacts\n").unwrap().0, @"
          DEAD by ada at 2026-01-05T09:03:00.000Z
          State as committed: DEAD
          Agent: ada
          Person: Tester
          Committed: 2026-01-05T09:03:00.000Z
          Found: It is paint
          Findings: One line.

          Another.
        ");
}

#[test]
fn another_conclusion_is_not_dropped_with_a_status_of_success() {
    let person = Person::begun();
    person.ok_with(&["commit"], ROOT);
    person.ok(&["end", "--stopped", "enough", "-m", "It is paint."]);
    // The same command again has nothing to do.
    person.ok(&["end", "-m", "It is paint."]);
    std::fs::write(person.sandbox.path("other.md"), "It is air.").unwrap();
    for (arguments, input) in
        [(&["end", "other.md"][..], ""), (&["end"], "It is air."), (&["end", "--json", "-"], "It is air.")]
    {
        let ran = person.given(arguments, input);
        assert_eq!((ran.status, ran.out.contains("ALREADY_ENDED")), (1, true), "{arguments:?}: {}", ran.out);
    }
    let ran = person.given(&["end", "-m", "It is air."], "");
    assert!(ran.out.contains("`tot amend --conclusion` changes what is stored"), "{}", ran.out);
    // It does, even without an editor.
    let amended = person.ok(&["amend", "--conclusion", "other.md", "-m", "It was measured."]);
    assert!(amended.starts_with("amended the conclusion\n"), "{amended}");
    let amended = person.ok_with(&["amend", "--conclusion", "-m", "It was seen."], "It is light.");
    assert!(amended.starts_with("amended the conclusion\n"), "{amended}");
}

#[test]
fn a_next_step_names_the_investigation_where_there_are_several() {
    let person = Person::new();
    let first = person.ok(&["start", "Why?", "--mode", "smoke"]);
    assert!(first.contains("\nNext: `tot propose --next` for the root R1.A.\n"), "{first}");
    let second = person.ok(&["start", "How?", "--mode", "smoke"]);
    let command = second.split('`').nth(1).unwrap();
    let id = command.strip_prefix("tot propose ").and_then(|rest| rest.strip_suffix(" --next")).unwrap();
    assert!(second.starts_with(id) && id.len() < 20, "{second}");
    let proposed = person.ok(&["propose", id, "--next"]);
    assert!(proposed.ends_with(&format!("then `tot commit {id}`.\n")), "{proposed}");
}

#[test]
fn a_node_may_be_named_beside_the_file_that_is_about_it() {
    let person = Person::begun();
    assert_snapshot!(person.refused(&["commit", "R1.B", "-"], ROOT), @"tot commit: R1.B was named, but the file is about R1.A");
    let two = r#"[{"state": "DEAD"}, {"state": "DEAD"}]"#;
    assert_snapshot!(person.refused(&["commit", "R1.A", "-"], two), @"tot commit: R1.A was named, but the files contain several results");
    assert!(person.ok_with(&["commit", "R1.A", "-"], &ROOT.replace("nodeId: R1.A\n", "")).contains("R1.A"));
}

#[test]
fn lines_as_windows_ends_them_do_not_get_into_the_files() {
    let person = Person::begun();
    person.ok_with(&["commit", "-"], "---\r\nnodeId: R1.A\r\nstate: EXPLORE\r\n---\r\n\r\nTwo\r\nlines.\r\n");
    let mut command = person.sandbox.command(TOT);
    command.args(["comment", "R1.A"]);
    assert_eq!(person.run(command, "Three\r\nlines\r\nof it.\r\n").status, 0);
    let changes = person.sandbox.git(&person.repository(), &["log", "-p", "--format="]);
    assert!(changes.contains("Three") && !changes.contains("\\r"), "{changes}");
}

#[test]
fn who_has_no_name_in_git_is_nobody_and_not_a_person_of_the_programs_name() {
    let person = Person::begun();
    let mut command = person.sandbox.command(TOT);
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    command.args(["commit", "-"]).arg("--clock-file").arg(person.sandbox.path("clock"));
    let ran = person.run(command, ROOT);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("git config --global user.name"), "{}", ran.err);
    let node = std::fs::read_to_string(person.repository().join("nodes/R1/R1.A.yaml")).unwrap();
    assert!(!node.contains("kind: person"), "{node}");
}

#[test]
fn what_an_end_was_warned_of_stays_in_its_message() {
    let person = Person::new();
    person.ok(&["start", "Why is the sky blue?", "--mode", "smoke"]);
    let nothing = person.refused(&["end", "--stopped", "budget", "-m", "-"], "");
    assert!(nothing.contains("NO_NODES"), "{nothing}");
    person.ok(&["propose", "--next"]);
    person.ok_with(&["commit"], ROOT);
    person.ok(&["end", "--stopped", "budget", "-m", "-"]);
    let message = person.sandbox.git(&person.repository(), &["log", "-1", "--format=%B"]);
    assert!(message.contains("Warning: MISSING_CONCLUSION"), "{message}");
}

#[test]
fn the_question_may_come_from_a_pipe_and_the_reply_is_that_of_the_tool() {
    let person = Person::new();
    let reply: Value =
        serde_json::from_str(&person.ok_with(&["start", "--ruleset", "review", "--json"], "Why?\n")).unwrap();
    assert_eq!((&reply["status"], &reply["ruleset"]), (&"OK".into(), &"review".into()));
    let id = reply["sessionId"].as_str().unwrap();
    let next: Value = serde_json::from_str(&person.ok(&["next", &id[..8], "--json"])).unwrap();
    assert_eq!(next["nextCall"]["tool"], "tot_step");
    let ran = person.given(&["commit", id, "-", "--json"], ROOT);
    let rejected: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, ran.err.as_str()), (1, ""));
    assert_eq!(
        (&rejected["status"], &rejected["errors"][0]["code"]),
        (&"REJECTED".into(), &"NOT_PROPOSED".into())
    );
}

#[test]
fn what_is_no_call_is_told_and_nothing_is_written() {
    let person = Person::new();
    assert_snapshot!(person.refused(&["next"], ""), @"tot next: folder investigations not found: `tot start` creates it with the first investigation; --root DIR or TOT_ROOT names another");
    assert_snapshot!(person.refused(&["start", " "], ""), @"
        tot start: rejected, nothing was written
          INVALID_ARGUMENT query is empty. Say what to find out, in a sentence or more.
        ");
    assert_snapshot!(person.refused(&["start", "Why?", "--ruleset", "none"], ""), @"
        tot start: rejected, nothing was written
          UNKNOWN_RULESET Unknown ruleset `none`. The rulesets are single-root, drill, multi-gate, found-verify, exhaust, review; the default is single-root.
        ");
    assert!(!person.sandbox.root().exists());
    person.ok(&["start", "Why?", "--mode", "smoke"]);
    let head = person.sandbox.head(&person.repository());
    assert_snapshot!(person.refused(&["commit", "there-is.none"], ""), @"tot commit: cannot read there-is.none: No such file or directory (os error 2)");
    assert_snapshot!(person.refused(&["commit", "zzzz", "-"], ROOT), @"tot commit: investigation `zzzz` not found in investigations");
    for text in ["Because of this", "Because of this."] {
        let told = person.refused(&["end", text], ROOT);
        assert!(told.contains("An id has no spaces: pass text with -m"), "{told}");
    }
    assert_snapshot!(person.refused(&["commit", "-"], "Only a text."), @"tot commit: this is neither Markdown with fields between two `---` lines at the top, nor YAML or JSON; --help has examples");
    assert_snapshot!(person.refused(&["commit", "-"], "---\nnodeId: R1.A\nheadline: a: b\n---\n"), @"tot commit: line 3, column 12: mapping values are not allowed in this context. Quote text that contains `: ` or ` #`, or begins with a mark such as `-`");
    assert_snapshot!(person.refused(&["commit", "-"], "---\nnodeId: R1.A\nstat: EXPLORE\n---\nText.\n"), @r#"
        tot commit: rejected, nothing was written
          INVALID_ARGUMENT `stat`: expected one of the fields `nodeId`, `state`, `findings`, `agentId`, `evidence`, `verificationMethod`, `alternativesConsidered`, `caveats`, `headline`, `refutes`, `claimed`, `startedAt`, `commands`, `runs`, `references`, `links`, `attachments`, got an unknown field. Did you mean `state`?
          INVALID_ARGUMENT `state`: expected a string, got nothing. Add `state`, such as "<state>".
        "#);
    assert_snapshot!(person.refused(&["commit", "R1.A"], ""), @"tot commit: nothing is proposed: propose a node with `tot propose`, or store a finding with `tot note`");
    assert_snapshot!(person.refused(&["end", "-m", "Because."], ""), @"
        tot end: rejected, nothing was written
          NO_NODES Nothing is committed yet. Propose a root with `tot propose`, research it, and commit it.
          MIN_ROUNDS Round 2 must be reached; nothing is committed yet.
        ");
    assert_eq!(person.given(&["reclassify", "R1.A"], "").status, 2);
    assert_eq!(person.given(&["next", "--max-tasks", "21"], "").status, 2);
    assert_eq!(person.given(&["next", "--dimension", "os"], "").status, 2);
    assert_eq!(person.sandbox.head(&person.repository()), head);
    person.sandbox.git(&person.repository(), &["update-ref", "-d", "HEAD"]);
    assert_eq!(person.given(&["next"], "").status, 1);
}

#[test]
fn a_small_investigation_takes_a_handful_of_commands_and_no_refusal() {
    let person = Person::new();
    person.ok(&["start", "Which queue do we take?", "--ruleset", "review"]);
    let noted = |arguments: &[&str]| person.ok(&[&["note"], arguments].concat());
    assert!(noted(&["Three: SQLite, Redis, RabbitMQ"]).starts_with("committed R1.A as OPEN\n"));
    let why = "The operations team runs none, and plans none this year.";
    let ruled_out = noted(&["RabbitMQ needs a server", "--state", "ruled_out", "--evidence", why]);
    assert!(ruled_out.starts_with("committed R2.A1 as RULED_OUT\n"), "{ruled_out}");
    let why = "bench.py, three runs: 4010, 3990 and 4050 jobs a second.";
    let answer = ["SQLite is fast enough: 4000 jobs a second", "--state", "ANSWER", "--evidence", why];
    let alternatives =
        ["--alternative", "Redis: loses the last second.", "--alternative", "RabbitMQ: R2.A1."];
    assert_snapshot!(noted(&[&answer[..], &alternatives].concat()), @"
        committed R2.A2 as ANSWER
        commit 450b1f98b6
        warning: NOT_RUN R2.A2 is ANSWER, and its evidence is text only. If something can be run, capture it in your shell: `tot run R2.A2 -- COMMAND`.
        Next: `tot propose --next`. R2.A2 is ANSWER and not checked. Propose the tasks, then research them.
        ");
    let mut check = person.sandbox.command(TOT);
    let tried = "bench.py with 40 writers: 3900 jobs a second, none lost.";
    check.args(["note", "It holds with 40 writers", "--state", "CONFIRMED", "--evidence", tried]);
    check.arg("--clock-file").arg(person.sandbox.path("clock"));
    check.envs([("GIT_AUTHOR_NAME", "Bo"), ("GIT_AUTHOR_EMAIL", "bo@localhost")]);
    let checked = person.run(check, "");
    assert_eq!((checked.status, checked.err.as_str()), (0, ""));
    assert!(checked.out.starts_with("committed R3.A2a as CONFIRMED\n"), "{}", checked.out);
    assert_snapshot!(person.ok(&["end", "-m", "SQLite is fast enough."]), @"
        answer R2.A2 SQLite is fast enough: 4000 jobs a second (confirmed by Bo)
        conclusion confirmed by Bo ended, tag ended/1
        commit f1dcf82449
        Next: The investigation has ended. `tot reclassify NODE STATE` with an open state reopens it.
        ");
    // The node is the same as after two steps.
    let log = person.sandbox.git(&person.repository(), &["log", "--reverse", "--format=%s"]);
    assert_snapshot!(log, @"
        Start: Which queue do we take?
        Propose R1.A
        Commit R1.A OPEN
        Propose R2.A1
        Commit R2.A1 RULED_OUT
        Propose R2.A2
        Commit R2.A2 ANSWER
        Propose R3.A2a
        Commit R3.A2a CONFIRMED
        End with 1 answer, 1 confirmed by a person, and 1 ruled out
        ");
    person.sandbox.assert_sound(&person.repository());
}

#[test]
fn the_default_rules_take_a_command_for_each_node_that_they_ask_for() {
    let person = Person::new();
    person.ok(&["start", "Why is the sky blue?"]);
    // Within a second of each other. This is suspicious for an agent, but not for a person who knew the answer.
    let noted = |arguments: &[&str]| {
        let said = person.ok(&[&["note"], arguments].concat());
        assert!(!said.contains("SUSPICIOUS"), "{said}");
        said.lines().next().unwrap().trim_start_matches("committed ").to_owned()
    };
    let mut nodes: Vec<String> =
        (1..=7).map(|number| noted(&[&format!("What is known, part {number}")])).collect();
    nodes.push(noted(&["Short waves scatter more", "--state", "FOUND"]));
    nodes.extend((1..=3).map(|number| noted(&[&format!("Not the sea, part {number}"), "--state", "DEAD"])));
    nodes.push(noted(&["The law predicts it", "--state", "VERIFY"]));
    assert_snapshot!(nodes.join(", "), @"R1.A as EXPLORE, R2.A1 as EXPLORE, R2.A2 as EXPLORE, R3.A1a as EXPLORE, R3.A1b as EXPLORE, R3.A2a as EXPLORE, R3.A2b as EXPLORE, R4.A1a1 as FOUND, R4.A1b1 as DEAD, R4.A2a1 as DEAD, R4.A2b1 as DEAD, R5.A1a1a as VERIFY");
    person.ok(&["end", "-m", "It scatters."]);
}

#[test]
fn a_note_is_stored_whole_or_not_at_all() {
    let person = Person::new();
    person.ok(&["start", "Why?", "--ruleset", "review"]);
    let head = person.sandbox.head(&person.repository());
    assert_snapshot!(person.refused(&["note", "Because", "--state", "ANSWER"], ""), @"
        tot note: rejected, nothing was written
          MISSING_EVIDENCE R1.A: ANSWER needs evidence of at least 40 characters; there are 0. State what was measured or read with --evidence, or below `## Evidence`.
          MISSING_ALTERNATIVES R1.A: ANSWER needs 2 alternatives, not 0. Say what else could be the answer, and why it is not, each in a sentence: --alternative, or a line below `## Alternatives`.
        ");
    assert_eq!(person.sandbox.head(&person.repository()), head, "nothing is proposed, either");
    // The proposal is committed with the first finding as its headline.
    person.ok(&["propose", "Ask: why?"]);
    assert!(
        person.ok_with(&["note", "-"], "They know\n\nAt length.\n").starts_with("committed R1.A as OPEN\n")
    );
    let node = std::fs::read_to_string(person.repository().join("nodes/R1/R1.A.yaml")).unwrap();
    assert!(node.contains("title: \"Ask: why?\"\n") && node.contains("headline: They know\n"), "{node}");
    person.ok(&["propose", "One", "Another"]);
    assert_snapshot!(person.refused(&["note", "No"], ""), @"tot note: several nodes are proposed: name one of R2.A1, R2.A2");
    let answer = "It is so, as all of them say, each in other words.";
    let alternatives = ["--alternative", "It is not.", "--alternative", "It was."];
    let arguments = ["note", answer, "R2.A2", "--state", "answer", "--evidence", answer];
    person.ok(&[&arguments[..], &alternatives].concat());
    person.ok(&["propose", "--withdraw", "R2.A1"]);
    // The answer above awaits a check, so the state is not guessed.
    assert_snapshot!(person.refused(&["note", "Also"], ""), @"
        tot note: give the state with --state. States that count for a node below R2.A2:
          OPEN         A question, to be looked into below
          ANSWER       An answer with evidence, which another tries to refute below (evidence: 40 characters, 2 alternatives)
          CONFIRMED    The answer above was attacked and stands (evidence: 40 characters)
          REFUTED      The answer above is wrong, for the reason found here (evidence: 40 characters)
        ");
}

#[test]
fn a_title_is_enough_to_propose() {
    let person = Person::new();
    person.ok(&["start", "Why is the sky blue?"]);
    let said = |arguments: &[&str]| {
        let said = person.ok(arguments);
        let (proposed, _) = said.split_once("commit ").unwrap();
        proposed.replace('\n', ", ")
    };
    assert_eq!(said(&["propose", "Look: up"]), "proposed R1.A, ");
    assert_snapshot!(person.refused(&["propose", "Look down"], ""), @"tot propose: commit R1.A first, then propose below it");
    assert_snapshot!(person.refused(&["propose", "--next"], ""), @"tot propose: no other node is required until R1.A is committed: `tot commit R1.A`");
    person.ok(&["note", "It is blue"]);
    // The required number, although five are recommended, and named after the findings.
    assert_eq!(said(&["propose", "--next"]), "proposed R2.A1, proposed R2.A2, ");
    let node = std::fs::read_to_string(person.repository().join("nodes/R2/R2.A2.yaml")).unwrap();
    assert!(node.contains("title: \"Dig deeper: It is blue (2)\"\n"), "{node}");
    assert_eq!(said(&["propose", "--withdraw", "R2.A1", "R2.A2"]), "withdrawn R2.A1, withdrawn R2.A2, ");
    assert_eq!(said(&["propose", "At noon", "At night"]), "proposed R2.A1, proposed R2.A2, ");
    assert_eq!(said(&["propose", "At dawn", "--below", "R1.A"]), "proposed R2.A3, ");
    // A file need not repeat what the id says, nor the id.
    let file = "nodes:\n- id: R2.A9\n  title: At sea\n- title: On land\n";
    let ran = person.given(&["propose", "-"], file);
    assert!(ran.out.starts_with("proposed R2.A9\nproposed R2.A4\n"), "{}{}", ran.out, ran.err);
    assert_snapshot!(person.refused(&["propose", "Below", "--below", "R2.A1"], ""), @"
        tot propose: rejected, nothing was written
          PARENT_NOT_FOUND R3.A1a: The parent R2.A1 is only proposed. Commit R2.A1 first, then propose below it.
        ");
    assert_snapshot!(person.refused(&["propose", "-"], "nodes: []"), @"
        tot propose: rejected, nothing was written
          EMPTY_BATCH The call has no nodes to propose or withdraw. Give titles, or a file.
        ");
    let ids: Vec<&str> = vec!["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A9"];
    person.ok(&[&["propose", "--withdraw"], &ids[..]].concat());
    person.ok(&["reclassify", "R1.A", "DEAD", "-m", "It is not blue."]);
    person.ok(&["propose", "--next"]);
    person.ok(&["note", "It is grey"]);
}

#[test]
fn the_only_open_investigation_is_meant_or_the_one_that_was_chosen() {
    let person = Person::new();
    let git = |arguments: &[&str]| person.sandbox.git(&person.sandbox.path(""), arguments);
    git(&["init", "-q"]);
    let start = |query: &str| person.ok(&["start", query, "--mode", "smoke"])[..36].to_owned();
    let first = start("The first?");
    person.ok(&["note", "It is"]);
    person.ok(&["end", "--stopped", "enough", "-m", "Yes."]);
    let second = start("The second?");
    let used = |arguments: &[&str]| person.used(&[&["use"], arguments].concat());
    assert_eq!(used(&[]).out, format!("{second} The second?\n"));
    assert!(person.ok(&["note", "It is, too"]).contains("\nNext: `tot propose --next`. "));
    assert_eq!(used(&[&first[..]]).out, format!("{first} The first?\n"));
    assert_eq!(used(&[]).out, format!("{first} The first?\n"));
    assert!(person.ok(&["next"]).contains("ended"));
    // No other program mistakes the file.
    assert_eq!(used(&["--none"]).out, "no default investigation is set any more\n");
    start("The third?");
    let several = used(&[]);
    assert_eq!((several.status, several.err.contains("`tot use ID`")), (1, true), "{}", several.err);
    assert_eq!(used(&[&second[..]]).status, 0);
    assert!(person.sandbox.root().join(".tot-use").is_file());
    assert_eq!(git(&["status", "--short", "-uall"]), "?? clock\n");
    assert_eq!(person.used(&["list", "--json"]).out.matches("\"id\"").count(), 3);
    assert_eq!(person.used(&["check"]).out, "3 investigations: 0 errors, 0 warnings\n");
    // A missing file is not used.
    std::fs::remove_dir_all(person.sandbox.root().join(&second)).unwrap();
    assert!(used(&[]).out.ends_with("The third?\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn at_a_terminal_a_start_asks_for_the_method_and_nowhere_else() {
    let person = Person::new();
    let start = |typed: &str, more: &str| {
        let line = format!("printf '{typed}' | script -q -e -c '{TOT} start Why {more}' /dev/null");
        let mut command = person.sandbox.command("sh");
        let output = command.args(["-c", &line]).env("TERM", "xterm").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
        (output.status.code().unwrap(), text)
    };
    // Invalid input is asked for again.
    let (_, quick) = start("x\\nQ\\n", "");
    assert!(quick.contains("  quick     answer at any depth, checked by someone else (review)\n"), "{quick}");
    assert_eq!(quick.matches("Quick or thorough? [q/T] ").count(), 2, "{quick}");
    assert!(quick.contains("\n  method  review, deep"), "{quick}");
    assert!(start("\\n", "").1.contains("\n  method  single-root, deep"));
    for given in ["--ruleset drill", "--mode smoke", "--json"] {
        let (status, said) = start("", given);
        assert_eq!((status, said.contains("horough")), (0, false), "{given}: {said}");
    }
    let number = || std::fs::read_dir(person.sandbox.root()).unwrap().count();
    let before = number();
    assert_eq!((start("", "").0, number()), (1, before), "whoever answers nothing starts nothing");
}

// `script` from util-linux provides a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_result_is_written_in_the_editor_and_what_is_refused_is_kept() {
    use std::os::unix::fs::PermissionsExt;

    let person = Person::begun();
    let sandbox = &person.sandbox;
    let editor = sandbox.path("editor.sh");
    let at_terminal = |arguments: &str, edit: &str| {
        std::fs::write(&editor, format!("#!/bin/sh\ncat \"$1\" >seen\n{edit}\n")).unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
        person.at_terminal(&format!("{TOT} {arguments}"), Some(&editor))
    };
    let head = || sandbox.head(&person.repository());
    let seen = || std::fs::read_to_string(sandbox.path("seen")).unwrap();
    let before = head();
    assert_eq!(at_terminal("commit", "true"), (1, "tot commit: unchanged, so nothing was written\n".into()));
    assert_snapshot!(seen());
    // The editor reopens with the reason for each different text that is refused, but not forever.
    let fill = "sed -i -e 's/^State:/State: NO/' -e 's/^## Findings/&\\nIt scatters./' \"$1\"";
    let (status, refused) = at_terminal("commit R1.A", fill);
    assert_eq!(status, 1);
    assert_snapshot!(refused, @"
        tot commit: rejected, nothing was written
          UNKNOWN_STATE R1.A: `NO NO NO NO NO` is not a state of single-root. The states are EXPLORE, FOUND, VERIFY, EXHAUST, DEAD.
        Your text is kept in investigations/019b8d62-7a80-7da0-a12b-9fd1f7790eda/.git/TOT_COMMIT.md. Once it is fixed: tot commit investigations/019b8d62-7a80-7da0-a12b-9fd1f7790eda/.git/TOT_COMMIT.md
        ");
    assert_snapshot!(seen().split("\n## Evidence").next().unwrap(), @"
        #! UNKNOWN_STATE R1.A: `NO NO NO NO` is not a state of single-root. The states are EXPLORE, FOUND, VERIFY, EXHAUST, DEAD.
        # R1.A Why is the sky blue?

        State: NO NO NO NO
        Headline:
        ");
    assert_eq!(head(), before);
    let kept = person.repository().join(".git/TOT_COMMIT.md");
    let text = std::fs::read_to_string(&kept).unwrap();
    assert!(text.starts_with("# R1.A Why is") && text.contains("\nIt scatters.\n"), "{text}");
    // Another attempt leaves it in place.
    let (status, given_up) = at_terminal("commit R1.A", &format!("{fill}\nexit 1"));
    assert_eq!((status, given_up.contains("/.git/TOT_COMMIT-2.md")), (1, true), "{given_up}");
    // After a correction, the kept text is accepted. Colons, quotes and markers in it have no special meaning.
    let line = text.lines().find(|line| line.starts_with("State:")).unwrap();
    let mended =
        text.replace(line, "State: EXPLORE").replace("Headline:", "Headline: - it: 'scatters' # blue");
    std::fs::write(&kept, mended).unwrap();
    person.ok(&["commit", kept.to_str().unwrap()]);
    let node = std::fs::read_to_string(person.repository().join("nodes/R1/R1.A.yaml")).unwrap();
    assert!(node.contains("headline: \"- it: 'scatters' # blue\"\n"), "{node}");

    assert_snapshot!(at_terminal("propose", "true").1, @"tot propose: unchanged, so nothing was proposed. To accept the draft as it is: `tot propose --next`");
    let (status, proposed) =
        at_terminal("propose", "sed -i 's/^R2.A1 .*/R2.A1 Measure: at noon\\nAnd at night/' \"$1\"");
    assert_eq!(status, 0);
    assert!(proposed.starts_with("proposed R2.A1\nproposed R2.A2\n"), "{proposed}");
    person.ok(&["propose", "--withdraw", "R2.A2"]);
    // Corrected in the second attempt: the state, then the text below it.
    let mend = "grep -q '^#!' \"$1\" || exec sed -i 's/^Headline:/&: it: is/' \"$1\"\n\
                sed -i -e 's/^State:/& DEAD/' -e 's/^## Findings/&\\nNo: dark./' \"$1\"";
    let (status, committed) = at_terminal("commit", mend);
    assert_eq!((status, committed.starts_with("committed R2.A1 as DEAD\n")), (0, true), "{committed}");
    person.ok(&["propose", "Another: one", "--below", "R1.A"]);
    let amend =
        "sed -i -e 's/^Headline:.*/Headline: It scatters: blue/' -e 's/^Reason:/& It had: none/' \"$1\"";
    let (status, amended) = at_terminal("amend R1.A", amend);
    assert_eq!(status, 0);
    assert!(amended.starts_with("amended R1.A: headline\n"), "{amended}");
    assert!(!person.repository().join(".git/TOT_AMEND.md").exists(), "what is stored is not kept twice");
    // The line that names the node is missing, but the text still belongs to the node, not to the conclusion.
    let amend = "sed -i -e 1d -e 's/^## Evidence/&\\nA photo/' -e 's/^Reason:/& None/' \"$1\"";
    let (status, amended) = at_terminal("amend R1.A", amend);
    assert_eq!((status, amended.starts_with("amended R1.A: evidence\n")), (0, true), "{amended}");
    // Missing steps are reported before the conclusion is written.
    std::fs::remove_file(sandbox.path("seen")).unwrap();
    let (status, owing) = at_terminal("end", "true");
    assert_snapshot!(owing, @"tot end: Proposed, but not committed: R2.A2. Commit it, or withdraw it with `tot propose --withdraw`.");
    assert_eq!((status, sandbox.path("seen").exists()), (1, false), "{owing}");
    let (status, ended) = at_terminal("end --stopped enough", "echo Enough. | cat - seen >\"$1\"");
    assert_eq!((status, ended.contains("ended, tag ended/1")), (0, true), "{ended}");
    // The editor is not opened in vain: the command first reports that the investigation has ended.
    std::fs::remove_file(sandbox.path("seen")).unwrap();
    let (status, again) = at_terminal("end", "true");
    assert_snapshot!(again, @"tot end: already ended: `tot amend --conclusion` changes the conclusion");
    assert_eq!((status, sandbox.path("seen").exists()), (1, false), "{again}");
}
