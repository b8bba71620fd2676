//! Comments by people and agents: through commands, the tool and an editor, on two machines.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Machine, hub};
use crate::support::{Sandbox, Server, Session, TOT, codes};

/// Returns the id in a command's `--json` output.
fn id_in(out: &str) -> String {
    let document: Value = serde_json::from_str(out).unwrap();
    document["commentId"].as_str().unwrap().to_owned()
}

/// Returns the findings of `tot check`, except notes that commits are not calls.
fn findings(machine: &Machine<'_>, id: &str, but: &str) -> String {
    let mut command = machine.sandbox.command(TOT);
    let output = command.args(["check", "--json"]).arg(machine.repository(id)).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["investigations"][0]["findings"].as_array().unwrap().iter();
    let told = findings
        .filter(|it| !but.split(' ').any(|code| it["code"] == code))
        .map(|it| format!("{} {}", it["code"].as_str().unwrap(), it["message"].as_str().unwrap()));
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_person_objects_an_agent_answers_and_a_person_resolves() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    one.grow(&id, &["R2.A1"]);
    let objection = id_in(&one.ok(&["object", "R2.A1", "-m", "The cache was *warm*.", "--json"]));
    let log = sandbox.git(&one.repository(&id), &["log", "-1", "--format=%an%n%B"]);
    assert_snapshot!(log, @r#"
        Tester
        Object to R2.A1

            The cache was *warm*.

        Tool: tot object
        Round: 2
        Node: R2.A1
        Person: Tester
        "#);
    let file =
        std::fs::read_to_string(one.repository(&id).join(format!("comments/{objection}.yaml"))).unwrap();
    let at = file.lines().find(|line| line.starts_with("at: ")).unwrap().to_owned();
    assert_snapshot!(file.replace(&objection, "OBJECTION").replace(&at, "at: TIME"), @r#"
        version: 1
        id: OBJECTION
        node: R2.A1
        kind: objection
        author:
          name: Tester
          email: tester@localhost
        by:
          kind: person
        at: TIME
        text: The cache was *warm*.
        "#);

    let mut server = one.server();
    let session = json!({"sessionId": id});
    let with = |more: Value| {
        let mut arguments = session.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let plan = server.ok("tot_next", with(json!({})));
    assert_eq!(plan["nextCall"]["tool"], "tot_comment", "{plan}");
    let mut answer = plan["nextCall"]["arguments"].clone();
    assert_eq!(answer["replyTo"], json!(objection));
    assert!(plan["message"].as_str().unwrap().contains("Tester objects to R2.A1: “The cache was *warm*”"));
    assert!(server.call("tot_comment", answer.clone())["errors"].to_string().contains("INVALID_ARGUMENT"));
    answer["text"] = json!("It was run again, cold: 4 s.");
    answer["agentId"] = json!("agent-R2.A1");
    let said = server.ok("tot_comment", answer.clone());
    assert!(said["commentId"].is_string() && said["commit"].is_string(), "{said}");
    let again = server.ok("tot_comment", answer.clone());
    assert!(again["commentId"].is_null() && again["commit"].is_null(), "{again}");
    answer["kind"] = json!("resolution");
    assert_eq!(
        server.call("tot_comment", answer)["errors"][0]["code"],
        "RESOLVED_BY_AUTHOR",
        "who wrote it settles nothing"
    );
    let read = server.ok("tot_read", with(json!({"nodeIds": ["R2.A1"]})));
    let kinds = |node: &Value| -> Vec<String> {
        let comments = node["comments"].as_array().unwrap().iter();
        // The server's clock is simulated, so the order of these times means nothing.
        let mut kinds: Vec<String> =
            comments.map(|it| format!("{}: {}", it["kind"], it["by"]["kind"]).replace('"', "")).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(&read["nodes"][0]), ["answer: agent", "objection: person"]);
    server.finish();

    let said = one.ok(&["resolve", "R2.A1", "-m", "Seen."]);
    assert!(said.starts_with("resolution ") && said.ends_with(" on R2.A1; no objection is open\n"), "{said}");
    let none = one.tot(&["resolve", "R2.A1", "-m", "Seen."]);
    assert_eq!((none.status, none.err.as_str()), (1, "tot resolve: there is no open objection R2.A1\n"));
    assert_eq!(findings(&one, &id, "MERGE"), "");
    sandbox.assert_sound(&one.repository(&id));
}

// `script` from util-linux provides a terminal.
#[cfg(target_os = "linux")]
#[test]
fn the_editor_of_git_opens_and_what_is_refused_is_not_lost() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    let editor = |text: &str| {
        let script = sandbox.path("editor.sh");
        let kept = "cat \"$1\" > \"$1.seen\"";
        std::fs::write(
            &script,
            format!("#!/bin/sh\n{kept}\nprintf '%s' '{text}' | cat - \"$1.seen\" > \"$1\"\n"),
        )
        .unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        script.to_str().unwrap().to_owned()
    };
    // `script` provides a terminal.
    let run = |arguments: &str, editor: &str| {
        let line = format!("{} {arguments} --root {}", TOT, one.root.display());
        let mut command = sandbox.command("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("GIT_EDITOR", editor).env("TERM", "xterm");
        String::from_utf8(command.output().unwrap().stdout).unwrap().replace('\r', "")
    };
    let said = run("comment R1.A", &editor("# A heading\n\nGood."));
    assert!(said.starts_with("comment ") && said.ends_with(" on R1.A; no objection is open\n"), "{said}");
    let seen = std::fs::read_to_string(one.repository(&id).join(".git/TOT_COMMENT.md.seen")).unwrap();
    assert_snapshot!(seen.trim_start(), @r#"
        # ------------------------ >8 ------------------------
        # Your comment on R1.A, in Markdown. Everything below the line is ignored.
        #
        # Title of R1.A
        # Findings of R1.A.
        "#);
    let log = sandbox.git(&one.repository(&id), &["log", "-1", "--format=%B"]);
    assert!(log.contains("    # A heading\n\n    Good.\n"), "{log}");
    assert_eq!(run("comment R1.A", "true"), "tot comment: unchanged, so nothing was written\n");
    let given_up = run("comment R1.A", "false");
    assert!(given_up.contains("the editor exited without saving"), "{given_up}");
}

/// The two machines have different proposals, and both have comments.
#[test]
fn what_two_machines_have_said_is_merged_by_sync_and_by_git_without_a_conflict() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let id = one.start();
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.synced();
    other.ok(&["clone", hub.to_str().unwrap()]);
    let by_git = sandbox.path("by-git");
    sandbox.git(
        &sandbox.path("."),
        &["clone", "-q", one.repository(&id).to_str().unwrap(), by_git.to_str().unwrap()],
    );

    one.grow(&id, &["R2.A1"]);
    one.ok(&["object", "R2.A1", "-m", "on the first"]);
    one.ok(&["object", "R1.A", "-m", "by one"]);
    sandbox.sleep(60);
    other.grow(&id, &["R2.A1"]);
    other.ok(&["object", "R2.A1", "-m", "on the second"]);
    let theirs = id_in(&other.ok(&["object", "R1.A", "-m", "by the other", "--json"]));
    other.ok(&["comment", "--reply-to", &theirs[28..], "-m", "more of it"]);
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    let mut server = one.server();
    let read = |server: &mut Server, node: &str| -> Vec<String> {
        let read = server.ok("tot_read", json!({"sessionId": id, "nodeIds": [node]}));
        let comments = read["nodes"][0]["comments"].as_array().unwrap().clone();
        comments.iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(read(&mut server, "R2.A1"), ["on the first"]);
    let moved = one.nodes(&id).into_iter().find(|node| node.starts_with("R2.A1") && node != "R2.A1").unwrap();
    assert_eq!(read(&mut server, &moved), ["on the second"]);
    assert_eq!(read(&mut server, "R1.A"), ["by one", "by the other", "more of it"]);
    assert_eq!(findings(&one, &id, "MERGE"), "");

    // Plain git reports no problem either.
    sandbox.git(&by_git, &["config", "user.name", "Git"]);
    let text =
        std::fs::read_to_string(other.repository(&id).join(format!("comments/{theirs}.yaml"))).unwrap();
    let name = "01a1fb7f-2603-7166-96ef-ddcdd76363f4";
    std::fs::create_dir(by_git.join("comments")).unwrap();
    std::fs::write(by_git.join(format!("comments/{name}.yaml")), text.replace(&theirs, name)).unwrap();
    sandbox.git(&by_git, &["add", "."]);
    sandbox.git(&by_git, &["commit", "-q", "-m", "By hand"]);
    sandbox.git(&by_git, &["pull", "-q", "--no-rebase", "--no-edit", "origin", "HEAD"]);
    assert_eq!(std::fs::read_dir(by_git.join("comments")).unwrap().count(), 6);
}

#[test]
fn a_comment_that_was_changed_or_removed_by_hand_is_named_by_check() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    let comment = id_in(&one.ok(&["comment", "R1.A", "-m", "The first word.", "--json"]));
    let repository = one.repository(&id);
    let file = repository.join(format!("comments/{comment}.yaml"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("first", "last").replace("node: R1.A", "node: R7.Z")).unwrap();
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Change"]);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(repository.join("comments/notes.md"), "Mine.\n").unwrap();
    sandbox.git(&repository, &["add", "."]);
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Remove"]);
    std::fs::write(&file, text.replace("node: R1.A", "node: R7.Z").replace("kind: comment", "kind: answer"))
        .unwrap();
    sandbox.git(&repository, &["add", "."]);
    sandbox.git(&repository, &["commit", "-q", "-m", "Again"]);
    let told = findings(&one, &id, "COMMIT_BY_HAND");
    assert_snapshot!(told.replace(&comment, "COMMENT"), @r#"
        REPLY_NOWHERE It is about R7.Z, which is missing.
        REPLY_NOWHERE The answer replies to nothing.
        STRAY_FILE It is left out: not a valid path for a comment.
        STORED_LOST This commit changed the comment COMMENT.
        STORED_LOST This commit removed the comment COMMENT.
        "#);
}

#[test]
fn a_review_tells_what_is_new_until_it_is_marked() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    let repository = one.repository(&id);
    let first = one.ok(&["review"]);
    assert!(first.contains("1 of 1 node to review; nothing is marked as seen yet."), "{first}");
    one.ok(&["review", "--mark"]);
    let marked = one.head(&id);
    assert_eq!(sandbox.git(&repository, &["rev-parse", "refs/tot/seen"]).trim(), marked);
    let none = format!("Why is the sky blue?\nNo answer yet.\nNothing new: since {}.\n\n", &marked[..10]);
    assert_eq!(one.ok(&["review"]), none);

    one.grow(&id, &["R2.A1", "R2.A2"]);
    one.ok(&["object", "R2.A1", "-m", "\u{1b}[31mThe cache was warm."]);
    let told = one.ok(&["review"]);
    assert_snapshot!(told.replace(&marked[..10], "COMMIT"), @r#"
        Why is the sky blue?
        No answer yet.
        2 of 3 nodes to review (1 objection); since COMMIT.

        R2.A1 EXPLORE Title of R2.A1
          objection   Tester objects: ␛[31mThe cache was warm.
          changed     committed as EXPLORE, by agent-R2.A1
        R2.A2 EXPLORE Title of R2.A2
          changed     committed as EXPLORE, by agent-R2.A2
        "#);
    assert!(!told.contains('\u{1b}'));
    let document: Value = serde_json::from_str(&one.ok(&["review", "--json"])).unwrap();
    assert_eq!(document["items"][0]["risk"], "objection");
    assert_eq!(document["since"], json!(marked));
    assert_eq!(one.ok(&["review", "--since", "HEAD"]).lines().count(), 4);
    let unknown = one.tot(&["review", "--since", "nothing"]);
    assert!(unknown.status == 1 && unknown.err.contains("has no commit `nothing`"), "{unknown:?}");

    // The state of a person's review is private.
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    one.synced();
    assert!(!sandbox.git(&hub, &["for-each-ref"]).contains("refs/tot"));
    one.ok(&["review", "--mark"]);
    assert!(one.ok(&["review"]).contains("Nothing new"));
}

/// At a terminal, with keys: a comment from the editor, then the reviewed items are marked. `script` from util-linux
/// provides a terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_review_at_a_terminal_goes_on_by_keys() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    let mut command = sandbox.command("script");
    let review = format!("{TOT} review --root {}", one.root.display());
    command.args(["-q", "-e", "-c", &review, "/dev/null"]).env("TERM", "xterm").env("GIT_PAGER", "cat");
    command.env("GIT_EDITOR", "sed -i '1s/^/Looks right./'");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    {
        let mut keys = child.stdin.take().unwrap();
        for key in ["x", "o", "c", "n", "y"] {
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            std::io::Write::write_all(&mut keys, key.as_bytes()).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(1_500));
    }
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(out.contains("Findings of R1.A.") && out.contains("Committed."), "{out}");
    assert!(out.contains("Marked as seen."), "{out}");
    assert!(sandbox.git(&one.repository(&id), &["log", "-1", "--format=%B"]).contains("    Looks right."));
}

/// Every place that shows the answer says so.
#[test]
fn a_contested_answer_is_called_so_by_every_tool_and_page() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "FOUND");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "VERIFY");
    let objection =
        json!({"nodeId": "R1.A", "kind": "objection", "text": "It was another day.", "agentId": "x"});
    let comment = session.ok("tot_comment", objection)["commentId"].clone();
    let status = session.ok("tot_status", json!({}));
    assert!(status.to_string().contains("R2.A1 FOUND (contested) "), "{status}");
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1"]}));
    assert_eq!(read["nodes"][0]["contestedBy"], json!([comment]));
    let end = session.ok("tot_end", json!({"conclusion": "It was the cache."}));
    assert_eq!(end["solutions"][0]["contestedBy"], json!([comment]), "{end}");
    assert!(codes(&end["warnings"]).contains(&"OBJECTION_OPEN".to_owned()), "{end}");
    let repository = session.repository();
    let readme = std::fs::read_to_string(repository.join("README.md")).unwrap();
    assert!(readme.contains("**1 open objection; 1 answer contested by that:**"), "{readme}");
    let resolution =
        json!({"kind": "resolution", "replyTo": comment, "text": "The day does not matter.", "agentId": "y"});
    session.ok("tot_comment", resolution);
    let readme = std::fs::read_to_string(repository.join("README.md")).unwrap();
    assert!(!readme.contains("objection"), "{readme}");
    sandbox.assert_sound(&repository);
}
