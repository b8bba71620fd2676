//! Manual changes: whatever state a person leaves the repository in, nothing of theirs is lost or committed by a call,
//! and if a call can't continue, the error says what to do. The tests of `store::git` try more states.

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::support::random::Random;
use crate::support::{Sandbox, Session, TOT, TOT_MCP, codes, node, short, there, told};

/// An investigation with a root and two children.
fn begun(sandbox: &Sandbox) -> Session {
    Session::grown(sandbox, &["R2.A1", "R2.A2"], "EXPLORE")
}

/// Returns the only error of a refused reply, which must have this code: the message and the suggestion.
fn error(reply: &Value, code: &str) -> String {
    assert_eq!(reply["status"], "REJECTED", "{reply:#}");
    assert_eq!(codes(&reply["errors"]), [code]);
    told(&reply["errors"][0])
}

const A1: &str = "nodes/R2/R2.A1.yaml";

fn change(id: &str, state: &str) -> Value {
    json!({"nodeId": id, "newState": state})
}

fn dead() -> Value {
    change("R2.A1", "DEAD")
}

/// A proposal below a node that the tests leave alone.
fn proposal() -> Value {
    json!({"nodes": [node("R3.A2a", Some("R2.A2"))]})
}

#[test]
fn changed_and_staged_files_stay_so_and_are_not_committed() {
    let mut session = begun(&Sandbox::new());
    let edited = session.text(A1).replace("Findings of", "My own words on");
    session.write(A1, &edited);
    session.write("notes.md", "mine\n");
    session.write("nodes/R1/draft.txt", "mine too\n");
    std::fs::remove_file(there(&session.repository(), "nodes/R2/R2.A2.yaml")).unwrap();
    for (is_staged, state) in [(false, "DEAD"), (true, "EXPLORE")] {
        if is_staged {
            session.git(&["add", "--all"]);
        }
        let before = session.git(&["status", "--porcelain"]);
        session.ok("tot_reclassify", change("R2.A1", state));
        let changed = session.git(&["show", "--format=", "--name-only", "HEAD"]);
        assert_eq!(short(&changed), format!("{A1}\n"));
        let committed = session.git(&["show", &format!("HEAD:{}", changed.trim())]);
        assert!(committed.contains(&format!("to: {state}")) && !committed.contains("My own"), "{committed}");
        assert_eq!(session.text(A1), edited, "the user's edit is kept");
        assert_eq!(session.git(&["status", "--porcelain"]), before);
    }
    let staged = session.git(&["ls-files", "nodes/*/R2.A1-*"]);
    assert_eq!(session.git(&["show", &format!(":{}", staged.trim())]), edited);
    session.git(&["fsck", "--strict"]);
}

#[test]
fn commits_go_to_the_branch_that_is_checked_out() {
    let mut session = begun(&Sandbox::new());
    let commit_of = |session: &Session, rev: &str| session.git(&["rev-parse", rev]);
    let main = commit_of(&session, "main");
    session.git(&["checkout", "-q", "-b", "idea"]);
    session.ok("tot_reclassify", dead());
    assert_eq!(commit_of(&session, "main"), main);
    assert_eq!(commit_of(&session, "idea"), commit_of(&session, "HEAD"));
    session.assert_sound();
    // Another branch is another state: the checked-out branch is shown.
    session.git(&["checkout", "-q", "main"]);
    assert_eq!(session.ok("tot_status", json!({}))["activeByState"]["DEAD"], 0);
}

#[test]
fn while_git_is_in_the_middle_of_something_nothing_is_written() {
    let mut session = begun(&Sandbox::new());
    let repository = session.repository();
    let original = session.text(A1);
    session.git(&["checkout", "-q", "-b", "theirs"]);
    session.edit(A1, &original.replace("Findings of", "Their words on"));
    session.git(&["checkout", "-q", "main"]);
    session.edit(A1, &original.replace("Findings of", "Our words on"));
    for (command, name, end) in [
        (&["merge", "theirs"][..], "A merge", &["merge", "--abort"][..]),
        (&["rebase", "theirs"], "A rebase", &["rebase", "--abort"]),
        (&["rebase", "--apply", "theirs"], "A rebase", &["rebase", "--abort"]),
        (&["cherry-pick", "theirs"], "A cherry-pick", &["cherry-pick", "--abort"]),
        (&["revert", "HEAD~1", "theirs"], "A revert", &["revert", "--abort"]),
        (&["bisect", "start"], "A bisect", &["bisect", "reset"]),
        // No branch would have the commit.
        (&["checkout", "-q", "HEAD~1"], "HEAD", &["switch", "main"]),
    ] {
        session.sandbox.try_git(&repository, command);
        let state = |session: &Session| {
            let git = ["status", "ls-files --stage", "rev-parse HEAD"];
            (git.map(|it| session.git(&it.split(' ').collect::<Vec<_>>())), session.text(A1))
        };
        let before = state(&session);
        assert_eq!(session.ok("tot_status", json!({}))["status"], "OK", "reading goes on");
        for (tool, arguments) in [("tot_reclassify", dead()), ("tot_propose", proposal())] {
            let message = error(&session.call(tool, arguments), "OPERATION_IN_PROGRESS");
            let expected = if name == "HEAD" { "HEAD of " } else { &format!("{name} is in progress in ") };
            assert!(
                message.starts_with(expected) && message.contains(&end.join(" ")),
                "{command:?}: {message}"
            );
        }
        // A command whose run could not be stored does not start.
        let (ran, root) = (session.sandbox.path("ran"), session.sandbox.root());
        let touch = ["run", "--root", root.to_str().unwrap(), "--", "touch", ran.to_str().unwrap()];
        assert!(session.sandbox.run(TOT, &touch).err.contains(end[1]), "{command:?}");
        assert!(!ran.exists(), "{command:?}");
        assert_eq!(state(&session), before, "{command:?}");
        session.git(end);
        session.assert_sound();
    }
    session.ok("tot_reclassify", dead());
    session.assert_sound();
}

#[test]
fn a_commit_by_hand_is_part_of_the_state() {
    let mut session = begun(&Sandbox::new());
    session.write("README.md", "# Mine\n");
    session.edit(A1, &session.text(A1).replace("state: EXPLORE", "state: DEAD"));
    assert_eq!(session.ok("tot_status", json!({}))["activeByState"]["DEAD"], 1);
    let below = json!({"nodes": [node("R3.A1a", Some("R2.A1"))]});
    assert_eq!(session.refused("tot_propose", below), ["TERMINAL_PARENT"]);
    session.ok("tot_propose", proposal());
    assert_eq!(session.text("README.md"), "# Mine\n");
    session.assert_sound();
}

#[test]
fn line_endings_stay_as_they_are() {
    let sandbox = Sandbox::new();
    for (key, value) in [("core.autocrlf", "true"), ("core.eol", "crlf")] {
        sandbox.git(&sandbox.path("home"), &["config", "--global", key, value]);
    }
    let session = begun(&sandbox);
    session.assert_sound();
    // A clone has the same bytes, and can be written too.
    let mut clone = session.cloned("clone");
    assert_eq!(clone.text(A1), session.text(A1));
    clone.ok("tot_reclassify", dead());
    assert!(!clone.text(A1).contains('\r'));
    clone.assert_sound();
}

#[test]
fn a_copy_under_another_ids_name_is_known_before_it_is_used() {
    let sandbox = Sandbox::new();
    let id = Session::begun(&sandbox).id;
    let other = "019b8d62-7a80-7717-aff5-cc760645a06a";
    sandbox.git(&sandbox.root(), &["clone", "--quiet", &id, other]);
    let mut server = sandbox.server();
    let message = error(&server.call("tot_status", json!({"sessionId": id})), "AMBIGUOUS_SESSION");
    assert!(message.contains(&format!("{id} is in two folders")) && message.contains(other), "{message}");
    assert_eq!(server.refused("tot_status", json!({"sessionId": other})), ["SESSION_NOT_FOUND"]);
    std::fs::remove_dir_all(sandbox.repository(other)).unwrap();
    server.ok("tot_status", json!({"sessionId": id}));
}

/// Returns the command of a server without a git identity.
fn unnamed(sandbox: &Sandbox) -> std::process::Command {
    let mut command = sandbox.command(TOT_MCP);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_name_that_the_user_sets_while_the_server_runs_is_taken() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(unnamed(&sandbox));
    let mut session = Session::start_with(&sandbox, server, json!({"mode": "smoke"}));
    let repository = session.repository();
    let author = |session: &Session| session.git(&["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author(&session), "Tree of Thoughts <tot@localhost>\n");
    let mut assert_author = |expected: &str| {
        session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
        session.ok("tot_propose", json!({"withdraw": ["R1.A"]}));
        assert_eq!(author(&session), expected);
    };
    // A missing file, a changed one, and the repository's own, which takes precedence.
    let file = sandbox.path("home/.gitconfig");
    std::fs::write(&file, "[user]\nname = Ada\nemail = ada@example.com\n").unwrap();
    assert_author("Ada <ada@example.com>\n");
    std::fs::write(&file, "[user]\nname = Grace\nemail = g@example.com\n").unwrap();
    assert_author("Grace <g@example.com>\n");
    sandbox.git(&repository, &["config", "user.name", "Here"]);
    assert_author("Here <g@example.com>\n");
}

/// Returns whether the tests run as root, which has all permissions.
#[cfg(unix)]
fn is_root(sandbox: &Sandbox) -> bool {
    use std::os::unix::fs::MetadataExt;

    std::fs::metadata(sandbox.path("home")).unwrap().uid() == 0
}

#[cfg(unix)]
#[test]
fn a_repository_of_another_user_is_read_and_written() {
    let sandbox = Sandbox::new();
    if !is_root(&sandbox) {
        eprintln!("skipped: only root can give a folder to another user");
        return;
    }
    let mut session = begun(&sandbox);
    let repository = session.repository();
    session.git(&["config", "user.name", "A stranger"]);
    let chown = sandbox.command("chown").args(["-R", "65534:65534"]).arg(&repository).status().unwrap();
    assert!(chown.success());
    let refused = sandbox.try_git(&repository, &["status"]);
    assert!(!refused.status.success(), "git itself asks for safe.directory");
    session.server = sandbox.serve(unnamed(&sandbox));
    session.ok("tot_reclassify", dead());
    let safe = format!("safe.directory={}", repository.canonicalize().unwrap().display());
    let who = session.git(&["-c", &safe, "log", "-1", "--format=%an"]);
    assert_eq!(who.trim(), "Tree of Thoughts", "their configuration does not say who we are");
    session.git(&["-c", &safe, "fsck", "--strict"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let before = session.head();
    let mode = |mode: &str| {
        let mut find = sandbox.command("find");
        find.arg(sandbox.root()).args(["-type", "d", "-exec", "chmod", mode, "{}", "+"]);
        assert!(find.status().unwrap().success());
    };
    let command = || {
        let mut command = sandbox.command(if is_root(&sandbox) { "setpriv" } else { TOT_MCP });
        if is_root(&sandbox) {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", TOT_MCP]);
        }
        command
    };
    assert!(sandbox.command("chmod").args(["755", "."]).status().unwrap().success());
    if !command().arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: the privilege of root can't be dropped here");
        return;
    }
    mode("555");
    session.server = sandbox.serve(command());
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 3);
    let message = error(&session.call("tot_reclassify", dead()), "STORE_ERROR");
    assert!(message.contains("writable"), "it says what to do: {message}");
    let message = error(&session.server.call("tot_start", json!({"query": "q"})), "STORE_ERROR");
    assert!(message.contains("write") || message.contains("writable"), "{message}");
    mode("755");
    assert_eq!(session.head(), before);
    session.assert_sound();
}

/// Proposes a node, and returns the arguments that commit it with findings of this length, which can't be compressed.
#[cfg(target_os = "linux")]
fn big(session: &mut Session, length: usize) -> Value {
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    session.sandbox.sleep(60);
    let mut random = Random(1);
    let findings: String = (0..length).map(|_| char::from(b'!' + random.below(90) as u8)).collect();
    let mut result = crate::support::result("R3.A1a", "EXPLORE");
    result["findings"] = json!(findings);
    json!({"results": [result]})
}

/// After a failed write, the head is unchanged, the repository is sound, and the next call succeeds.
#[cfg(target_os = "linux")]
fn assert_unharmed(session: &mut Session, before: &str) {
    assert_eq!(session.head(), before);
    session.ok("tot_reclassify", change("R2.A2", "DEAD"));
    session.ok("tot_reclassify", change("R2.A2", "EXPLORE"));
    session.assert_sound();
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_grow_fail_a_call_and_nothing_else() {
    let mut session = begun(&Sandbox::new());
    let big = big(&mut session, 3_000);
    // In blocks of 512 bytes: from too little for the journal to too little for the index.
    let mut failed = 0;
    for blocks in 0..8 {
        let before = session.head();
        let mut command = session.sandbox.command("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", &blocks.to_string(), TOT_MCP]);
        let mut limited = Session::of(&session.sandbox, session.sandbox.serve(command), &session.id);
        let reply = limited.call("tot_commit", big.clone());
        if reply["status"] == "OK" {
            break;
        }
        let message = error(&reply, "STORE_ERROR");
        assert!(message.contains("has space") || message.contains("git fsck"), "{blocks}: {message}");
        failed += 1;
        assert_unharmed(&mut session, &before);
    }
    assert!(failed > 2, "{failed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_a_call_and_nothing_else() {
    /// A file system of one megabyte as the root, removed when the test ends.
    struct Mounted<'a>(&'a Sandbox);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = self.0.command("umount").arg("-l").arg(self.0.root()).status();
        }
    }

    let sandbox = Sandbox::new();
    let disk = sandbox.root();
    std::fs::create_dir(&disk).unwrap();
    let mount = sandbox.command("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let _mounted = Mounted(&sandbox);
    let mut session = begun(&sandbox);
    let big = big(&mut session, 900_000);
    let before = session.head();
    let message = error(&session.call("tot_commit", big), "STORE_ERROR");
    assert!(message.contains("space"), "{message}");
    // Now to the last byte, and a small call.
    let filler = disk.join("filler");
    let _ = std::fs::write(&filler, vec![b'x'; 2 << 20]);
    let message = error(&session.call("tot_reclassify", change("R2.A2", "DEAD")), "STORE_ERROR");
    assert!(message.contains("space"), "{message}");
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 3, "reading goes on");
    std::fs::remove_file(&filler).unwrap();
    assert_unharmed(&mut session, &before);
    session.server.kill();
}
