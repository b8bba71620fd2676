//! Roots, omitted ids, colors and exit statuses.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{import_the_demo, tot, tot_in};
use crate::support::Sandbox;

#[test]
fn a_root_stands_before_or_after_the_command_or_in_the_environment() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let (root, home) = (sandbox.root(), sandbox.path("home"));
    let root = root.to_str().unwrap();
    let place = sandbox.repository(&id);
    let with = |arguments: &[&str], environment: &[(&str, &str)]| {
        let ran = tot_in(&sandbox, &home, arguments, environment);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
        ran.out
    };
    let after = with(&["check", "--root", root], &[]);
    assert!(after.ends_with("1 investigation: 0 errors, 0 warnings\n"), "{after}");
    assert_eq!(with(&["--root", root, "check"], &[]), after);
    assert_eq!(with(&["check"], &[("TOT_ROOT", root)]), after);
    // The root around the current folder, at any depth.
    let inside = tot_in(&sandbox, &place.join("nodes"), &["check"], &[]);
    assert_eq!(inside.status, 0, "{inside:#?}");
    // An empty variable names no root.
    let empty = sandbox.path("home/investigations");
    std::fs::create_dir(&empty).unwrap();
    let unset = with(&["list"], &[("TOT_ROOT", "")]);
    assert_eq!(unset, "No investigations in investigations.\n");
    std::fs::remove_dir(&empty).unwrap();
    // Commands that do not use a root reject the option, and a server accepts it in either place.
    let refused = tot(&sandbox, &["--root", root, "demo"]);
    assert_eq!(refused.status, 2, "{refused:#?}");
    assert!(refused.err.contains("`tot demo` does not accept --root"), "{refused:#?}");
    let elsewhere = sandbox.path("elsewhere");
    let server = tot(&sandbox, &["--root", elsewhere.to_str().unwrap(), "mcp", "--min-rounds", "0"]);
    assert_eq!(server.status, 2, "{server:#?}");
}

/// The exit status is correct even if standard error can't be written.
#[cfg(target_os = "linux")]
#[test]
fn an_error_that_nobody_can_read_is_no_panic() {
    let sandbox = Sandbox::new();
    let line = format!("{} show zzzz 2>/dev/full", crate::support::TOT);
    let output = sandbox.command("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// If stored work were reported as failed, it would be done a second time.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_not_taken_for_nothing_done() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    for command in ["comment R4.A1a1 -m Once.", "reclassify R4.A4a1 EXPLORE -m 'No timeout was set.'"] {
        let line = format!("{} {command} >/dev/full", crate::support::TOT);
        let output = sandbox.command("sh").args(["-c", &line]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.contains("the change is stored")), (Some(1), true), "{said}");
    }
}

#[test]
fn an_id_that_fits_several_names_them() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let other = "01a19b7c-a680-7000-8000-000000000000";
    std::fs::create_dir(sandbox.root().join(other)).unwrap();
    let ran = tot(&sandbox, &["verify", &id[..8]]);
    assert_eq!(ran.status, 1, "{ran:#?}");
    assert!(
        ran.err.contains("several investigations match") && ran.err.contains(&id) && ran.err.contains(other),
        "{ran:#?}"
    );
    let ambiguous = tot(&sandbox, &["check", &id[..8]]);
    assert_eq!((ambiguous.status, ambiguous.err.contains(other)), (1, true), "{ambiguous:#?}");
    let unknown = tot(&sandbox, &["verify", "ffff"]);
    assert_eq!(unknown.status, 1, "{unknown:#?}");
    assert!(unknown.err.contains("not found in investigations"), "{unknown:#?}");
}

#[test]
fn wrong_usage_is_told_with_status_2() {
    let sandbox = Sandbox::new();
    for arguments in [&["nothing"][..], &["verify", "--nothing"], &["--color", "pink", "verify"], &["diff"]] {
        let ran = tot(&sandbox, arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:#?}");
    }
}

#[test]
fn wrong_usage_that_clap_cannot_see_ends_with_2_as_well() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    for (arguments, reason) in [
        (&["diff", "HEAD"][..], "two dots"),
        (&["diff", "01a1", "HEAD"], "two dots"),
        (&["show", "01a1", "A1"], "A1"),
        (&["open", "01a1", "A1"], "A1"),
        (&["comment", "01a1", "A1", "-m", "x"], "A1"),
        (&["object", "01a1", "A1", "-m", "x"], "A1"),
        (&["reclassify", "foo", "bar"], "name a node and a state"),
        (&["claim", "01a1"], "name at least one node"),
        (&["release", "01a1", "A1"], "A1"),
        (&["attach", "01a1", "R2.A1"], "name a node"),
        (&["attach", "R2.A1", "-"], "--name"),
        (&["attach", "R2.A1", "a", "b", "--name", "c"], "--name"),
        (&["end", "a.md", "-m", "x"], "give one file"),
        (&["propose", "a.yaml", "b.yaml"], "or one file"),
        (&["search", " "], "give a word"),
        (&["remote", "add", "origin", ""], "empty"),
        (&["remote", "add", "origin", "ext::sh"], "run a command"),
        (&["setup", "agents-md", "--write", "--skill"], "needs a client"),
        (&["setup", "claude-desktop", "--write", "--skill"], "leave out --skill"),
        (&["log", "-n", "0"], "0 is not in"),
    ] {
        for json in [&[][..], &["--json"]] {
            // Not every command has the option, and a command without it reports the usual usage error.
            let ran = tot(&sandbox, &[arguments, json].concat());
            assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:#?}");
            assert!(!json.is_empty() || ran.err.contains(reason), "{arguments:?}: {ran:#?}");
            assert!(ran.err.starts_with("error: ") && ran.err.contains("--help"), "{arguments:?}: {ran:#?}");
        }
    }
    assert_snapshot!(tot(&sandbox, &["diff", "HEAD"]).err, @"
        error: give two commits with two dots between them: HEAD~3..HEAD, or ended/1.. for the changes since then

        Usage: tot diff [OPTIONS] [ID] A..B

        For more information, try '--help'.
        ");
}

#[test]
fn an_error_leaves_no_document_out() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    let error = |arguments: &[&str]| {
        let ran = tot(&sandbox, &[arguments, &["--json"]].concat());
        assert_eq!(ran.status, 1, "{arguments:?}: {ran:#?}");
        let document: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{arguments:?}: {ran:#?}"));
        let message =
            document["error"]["message"].as_str().unwrap_or_else(|| panic!("{arguments:?}: {document}"));
        assert!(ran.err.contains(message), "{arguments:?}: people read the same: {ran:#?}");
        document
    };
    assert_snapshot!(format!("{:#}", error(&["show", "zzzz"])), @r#"
        {
          "error": {
            "message": "investigation `zzzz` not found in investigations"
          }
        }
        "#);
    assert_snapshot!(format!("{:#}", error(&["comment", "R2.B", "-m", ""])), @r#"
        {
          "error": {
            "message": "there is no node R2.B"
          }
        }
        "#);
    error(&["verify", "--allowed-signers", "nowhere"]);
    error(&["diff", "HEAD~1..nothing"]);
}

#[test]
fn a_root_that_is_not_there_is_not_taken_for_an_empty_one() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["list"][..],
        &["show"],
        &["log"],
        &["diff", "HEAD~1.."],
        &["search", "x"],
        &["review"],
        &["check"],
        &["verify"],
        &["next"],
        &["sync"],
        &["remote"],
        &["export", "--format", "csv"],
        &["open", "01a1"],
    ] {
        let ran = tot(&sandbox, &[&["--root", "nowhere"], arguments].concat());
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{arguments:?}: {ran:#?}");
        let said = format!(
            "tot {}: folder nowhere not found: `tot start` creates it with the first investigation; --root DIR or TOT_ROOT \
             names another\n",
            arguments[0]
        );
        assert_eq!(ran.err, said, "{arguments:?}");
    }
    assert!(!sandbox.path("nowhere").exists());
}

#[test]
fn a_file_in_the_place_of_the_root_is_not_called_missing() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("notes"), "").unwrap();
    let ran = tot(&sandbox, &["--root", "notes", "list"]);
    assert_eq!((ran.status, ran.err.contains("notes is a file")), (1, true), "{ran:#?}");
}

#[test]
fn several_investigations_are_named_where_one_is_to_be_chosen() {
    let sandbox = Sandbox::new();
    import_the_demo(&sandbox);
    for number in 1..=5 {
        let question = format!("Why is the sky blue, part {number}?");
        assert_eq!(tot(&sandbox, &["start", &question, "--mode", "smoke"]).status, 0);
    }
    let ran = tot(&sandbox, &["next"]);
    assert_eq!(ran.status, 1, "{ran:#?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        lines[0],
        "tot next: 6 investigations found: name one by the beginning or end of its id, or choose a default with `tot use ID`"
    );
    assert_eq!((lines.len(), *lines.last().unwrap()), (7, "  tot list shows all"), "{ran:#?}");
    for (line, number) in lines[1..6].iter().zip((1..=5).rev()) {
        let (id, title) = line.trim().split_once("  ").unwrap();
        assert_eq!(title, format!("Why is the sky blue, part {number}?"));
        let shown = tot(&sandbox, &["show", id]);
        assert!(shown.status == 0 && shown.out.starts_with(title), "{shown:#?}");
    }
}

#[test]
fn a_report_is_made_where_one_stands_and_of_an_id() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let inside = tot_in(&sandbox, &sandbox.repository(&id), &["report", "--out", "../../inside"], &[]);
    assert_eq!(inside.status, 0, "{inside:#?}");
    let root = sandbox.root();
    for arguments in [
        &["report", &id[..8], "--out", "by-id"][..],
        &["--root", root.to_str().unwrap(), "report", "--out", "of-all"],
    ] {
        let ran = tot(&sandbox, arguments);
        assert!(ran.status == 0 && ran.out.starts_with("1 investigation"), "{arguments:?}: {ran:#?}");
    }
    let pages = ["inside", "by-id", "of-all"]
        .map(|site| std::fs::read(sandbox.path(site).join("index.html")).unwrap());
    assert!(pages.iter().all(|page| *page == pages[0]));
    let unknown = tot(&sandbox, &["report", "ffff", "--out", "none"]);
    assert_eq!((unknown.status, unknown.err.contains("ffff does not exist")), (1, true), "{unknown:#?}");
}

#[test]
fn a_sync_does_not_pass_over_in_silence_what_has_no_remote() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let hub = crate::remote::hub(&sandbox);
    assert_eq!(tot(&sandbox, &["remote", "add", "origin", hub.to_str().unwrap(), &id]).status, 0);
    assert_eq!(tot(&sandbox, &["start", "Why is the sky blue?", "--mode", "smoke"]).status, 0);
    let synced = tot(&sandbox, &["sync"]);
    let last = synced.out.lines().last().unwrap_or_default();
    assert_eq!(last, "2 investigations: 1 synced, 0 up to date, 0 failed, 1 without a remote", "{synced:#?}");
}

#[test]
fn people_are_told_of_commands_and_not_of_tools() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let release = tot(&sandbox, &["release", "R2.A1"]);
    assert_eq!(release.status, 1, "{release:#?}");
    assert!(release.err.contains("`tot show` lists them") && !release.err.contains("tot_"), "{release:#?}");
    sandbox.git(&sandbox.repository(&id), &["tag", "-d", "ended/1"]);
    let check = tot(&sandbox, &["check"]);
    assert!(
        check.out.contains("let the next `tot end` write it") && !check.out.contains("tot_"),
        "{check:#?}"
    );
    let review = tot(&sandbox, &["help", "review"]);
    assert!(review.out.contains("Anyone who can use your key can sign in your"), "{review:#?}");
}

#[test]
fn a_short_beginning_of_an_id_is_enough_for_people() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    for part in ["0", &id[..2], &id[id.len() - 3..], &id] {
        assert_eq!(tot(&sandbox, &["log", part, "-n", "1"]).status, 0, "{part}");
    }
    for part in ["", "-"] {
        let ran = tot(&sandbox, &["log", part]);
        assert_eq!(ran.status, 1, "{part}: {ran:#?}");
    }
    // An agent that provides so little did so by accident.
    let mut server = sandbox.server();
    assert_eq!(server.refused("tot_status", json!({"sessionId": &id[..3]})), ["SESSION_NOT_FOUND"]);
}
