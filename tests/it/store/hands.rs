//! Manual changes: whatever state a person leaves the repository in, nothing of theirs is lost or committed by a call,
//! and if a call can't continue, the error says what to do.

use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, codes, node};
#[cfg(unix)]
use crate::support::{Server, TOT_MCP};

/// An investigation with a root and two children.
fn begun(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::begun(sandbox);
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
    session
}

fn write(repository: &Path, path: &str, text: &str) {
    std::fs::write(repository.join(path), text).unwrap();
}

fn read(repository: &Path, path: &str) -> String {
    std::fs::read_to_string(repository.join(path)).unwrap()
}

/// Returns the files that the last commit changed.
fn touched(sandbox: &Sandbox, repository: &Path) -> String {
    sandbox.git(repository, &["show", "--format=", "--name-only", "HEAD"])
}

/// Returns the only error of a reply that the store refused.
fn store_error(reply: &Value) -> String {
    error(reply, "STORE_ERROR")
}

/// Returns the only error of a refused reply, which must have this code: the message and the suggestion.
fn error(reply: &Value, code: &str) -> String {
    assert_eq!(reply["status"], "REJECTED", "{reply:#}");
    assert_eq!(codes(&reply["errors"]), [code]);
    let part = |name: &str| reply["errors"][0][name].as_str().unwrap_or_default();
    format!("{} {}", part("message"), part("suggestion")).trim_end().to_owned()
}

const A1: &str = "nodes/R2/R2.A1.yaml";

fn dead() -> Value {
    json!({"nodeId": "R2.A1", "newState": "DEAD"})
}

/// A change next to those of `R2.A1`.
fn change(state: &str) -> Value {
    json!({"nodeId": "R2.A2", "newState": state})
}

#[test]
fn dirty_files_stay_dirty_and_are_not_committed() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let edited = read(&repository, A1).replace("Findings of", "My own words on");
    write(&repository, A1, &edited);
    write(&repository, "notes.md", "mine\n");
    write(&repository, "nodes/R1/draft.txt", "mine too\n");
    std::fs::remove_file(repository.join("nodes/R2/R2.A2.yaml")).unwrap();
    let before = sandbox.git(&repository, &["status", "--porcelain"]);
    session.ok("tot_reclassify", dead());
    assert_eq!(touched(&sandbox, &repository), format!("{A1}\n"));
    let committed = sandbox.git(&repository, &["show", &format!("HEAD:{A1}")]);
    assert!(committed.contains("to: DEAD") && !committed.contains("My own words"), "{committed}");
    assert_eq!(read(&repository, A1), edited, "the user's edit is kept");
    assert_eq!(sandbox.git(&repository, &["status", "--porcelain"]), before);
    sandbox.git(&repository, &["fsck", "--strict"]);
}

#[test]
fn staged_changes_stay_staged_and_are_not_committed() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    write(&repository, "notes.md", "mine\n");
    let edited = read(&repository, A1).replace("Findings of", "My own words on");
    write(&repository, A1, &edited);
    sandbox.git(&repository, &["add", "notes.md", A1]);
    sandbox.git(&repository, &["rm", "-q", "--cached", "nodes/R2/R2.A2.yaml"]);
    let staged = sandbox.git(&repository, &["ls-files", "--stage"]);
    session.ok("tot_reclassify", dead());
    session.ok("tot_propose", json!({"nodes": [node("R3.A2a", Some("R2.A2"))]}));
    let added = "nodes/R3/R3.A2a.yaml";
    assert_eq!(touched(&sandbox, &repository), format!("{added}\n"));
    let after = sandbox.git(&repository, &["ls-files", "--stage"]);
    let theirs: Vec<&str> = after.lines().filter(|line| !line.ends_with(added)).collect();
    assert_eq!(theirs, staged.lines().collect::<Vec<_>>());
    assert_eq!(sandbox.git(&repository, &["show", &format!(":{A1}")]), edited);
    assert!(sandbox.git(&repository, &["show", &format!("HEAD:{A1}")]).contains("to: DEAD"));
}

#[test]
fn commits_go_to_whatever_head_is_at() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let main = sandbox.head(&repository);
    sandbox.git(&repository, &["checkout", "-q", "-b", "idea"]);
    session.ok("tot_reclassify", dead());
    assert_eq!(sandbox.git(&repository, &["rev-parse", "main"]).trim(), main);
    assert_eq!(sandbox.git(&repository, &["rev-parse", "idea"]).trim(), sandbox.head(&repository));
    sandbox.assert_sound(&repository);
    // Another branch is another state: the checked-out branch is shown.
    sandbox.git(&repository, &["checkout", "-q", "main"]);
    assert_eq!(session.ok("tot_status", json!({}))["activeByState"]["DEAD"], 0);
    // Detached: the commit becomes HEAD and is in its reflog, and no branch moves.
    sandbox.git(&repository, &["checkout", "-q", "--detach", "main"]);
    session.ok("tot_reclassify", dead());
    assert_eq!(sandbox.git(&repository, &["rev-parse", "main"]).trim(), main);
    assert_eq!(sandbox.git(&repository, &["rev-parse", "HEAD~1"]).trim(), main);
    assert_eq!(sandbox.git(&repository, &["rev-parse", "HEAD@{0}"]).trim(), sandbox.head(&repository));
    sandbox.assert_sound(&repository);
}

/// Two branches that changed the same line of one node.
fn quarrel(sandbox: &Sandbox, repository: &Path) {
    let original = read(repository, A1);
    for (branch, words) in [("theirs", "Their words on"), ("main", "Our words on")] {
        if branch == "theirs" {
            sandbox.git(repository, &["checkout", "-q", "-b", branch]);
        } else {
            sandbox.git(repository, &["checkout", "-q", branch]);
        }
        write(repository, A1, &original.replace("Findings of", words));
        sandbox.git(repository, &["commit", "-q", "-a", "-m", words]);
    }
}

#[test]
fn while_git_is_in_the_middle_of_something_nothing_is_written() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    quarrel(&sandbox, &repository);
    for (command, name, end) in [
        (&["merge", "theirs"][..], "A merge", &["merge", "--abort"][..]),
        (&["rebase", "theirs"], "A rebase", &["rebase", "--abort"]),
        (&["rebase", "--apply", "theirs"], "A rebase", &["rebase", "--abort"]),
        (&["cherry-pick", "theirs"], "A cherry-pick", &["cherry-pick", "--abort"]),
        (&["revert", "HEAD~1", "theirs"], "A revert", &["revert", "--abort"]),
        (&["bisect", "start"], "A bisect", &["bisect", "reset"]),
    ] {
        sandbox.try_git(&repository, command);
        let state = || {
            let git = |arguments: &[&str]| sandbox.git(&repository, arguments);
            (
                git(&["status"]),
                git(&["ls-files", "--stage"]),
                git(&["rev-parse", "HEAD"]),
                read(&repository, A1),
            )
        };
        let before = state();
        assert_eq!(session.ok("tot_status", json!({}))["status"], "OK", "reading goes on");
        for (tool, arguments) in
            [("tot_reclassify", dead()), ("tot_propose", json!({"nodes": [node("R3.A2a", Some("R2.A2"))]}))]
        {
            let message = error(&session.call(tool, arguments), "OPERATION_IN_PROGRESS");
            let expected = format!("{name} is in progress in ");
            assert!(
                message.starts_with(&expected) && message.contains(&end.join(" ")),
                "{command:?}: {message}"
            );
        }
        assert_eq!(state(), before, "{command:?}");
        sandbox.git(&repository, end);
        sandbox.assert_sound(&repository);
    }
    session.ok("tot_reclassify", dead());
    sandbox.assert_sound(&repository);
}

#[test]
fn a_file_that_is_unmerged_stays_so() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    // A stash that no longer applies leaves a conflict without an operation in progress.
    let original = read(&repository, A1);
    write(&repository, A1, &original.replace("Findings of", "Stashed words on"));
    sandbox.git(&repository, &["stash", "-q"]);
    write(&repository, A1, &original.replace("Findings of", "Our words on"));
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Ours"]);
    sandbox.try_git(&repository, &["stash", "pop"]);
    let unmerged = sandbox.git(&repository, &["ls-files", "--unmerged"]);
    assert_eq!(unmerged.lines().count(), 3, "{unmerged}");
    let conflict = read(&repository, A1);
    session.ok("tot_reclassify", dead());
    session.ok("tot_propose", json!({"nodes": [node("R3.A2a", Some("R2.A2"))]}));
    assert_eq!(sandbox.git(&repository, &["ls-files", "--unmerged"]), unmerged);
    assert_eq!(read(&repository, A1), conflict);
    assert_eq!(sandbox.git(&repository, &["stash", "list"]).lines().count(), 1);
    let committed = sandbox.git(&repository, &["show", &format!("HEAD:{A1}")]);
    assert!(committed.contains("Our words") && committed.contains("to: DEAD"), "{committed}");
}

#[test]
fn a_commit_by_hand_is_part_of_the_state_and_checked() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    write(&repository, "README.md", "# Mine\n");
    write(&repository, A1, &read(&repository, A1).replace("state: EXPLORE", "state: DEAD"));
    sandbox.git(&repository, &["add", "-A"]);
    sandbox.git(&repository, &["commit", "-q", "-m", "By hand"]);
    assert_eq!(session.ok("tot_status", json!({}))["activeByState"]["DEAD"], 1);
    let proposal = json!({"nodes": [node("R3.A1a", Some("R2.A1"))]});
    assert_eq!(session.refused("tot_propose", proposal), ["TERMINAL_PARENT"]);
    // A user's mistake affects only that file, and its location is reported.
    write(&repository, A1, "version: 1\nid: R2.A1\ncolour: red\n");
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Oops"]);
    let status = session.ok("tot_status", json!({}));
    assert!(status["faults"][0].as_str().unwrap().starts_with("nodes/R2/R2.A1.yaml:3: "), "{status:#}");
    session.ok("tot_propose", json!({"nodes": [node("R3.A2a", Some("R2.A2"))]}));
    assert_eq!(read(&repository, "README.md"), "# Mine\n");
    sandbox.assert_sound(&repository);
}

#[test]
fn gc_may_run_at_any_time() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let mut tidying = [&["gc", "-q"][..], &["pack-refs", "--all"]].map(|arguments| {
            let mut command = sandbox.command("git");
            command.arg("-C").arg(&repository).args(arguments);
            command
        });
        scope.spawn(move || {
            // Until the other end is dropped, even by a panic.
            while is_done.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                for command in &mut tidying {
                    command.output().unwrap();
                }
            }
        });
        let _done = done;
        for _ in 0..15 {
            session.ok("tot_reclassify", dead());
            session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
        }
    });
    sandbox.assert_sound(&repository);
    assert_eq!(sandbox.git(&repository, &["rev-list", "--count", "HEAD"]).trim(), "35");
}

#[cfg(unix)]
#[test]
fn signing_and_hooks_are_not_run() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    for (key, value) in [("commit.gpgSign", "true"), ("tag.gpgSign", "true"), ("gpg.program", "/bin/false")] {
        sandbox.git(&repository, &["config", key, value]);
    }
    let hooks = repository.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-commit", "commit-msg", "reference-transaction", "post-commit"] {
        let path = hooks.join(hook);
        std::fs::write(&path, "#!/bin/sh\necho ran >> ran\nexit 1\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    session.ok("tot_reclassify", dead());
    assert!(!sandbox.git(&repository, &["cat-file", "commit", "HEAD"]).contains("gpgsig"));
    sandbox.assert_sound(&repository);
}

#[test]
fn line_endings_stay_as_they_are() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    sandbox.git(&repository, &["config", "core.autocrlf", "true"]);
    sandbox.git(&repository, &["config", "core.eol", "crlf"]);
    session.grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    sandbox.assert_sound(&repository);
    // A clone with the same setting has the same bytes, and can be written too.
    let clone = sandbox.path("clones").join(&session.id);
    let (from, to) = (repository.to_str().unwrap(), clone.to_str().unwrap());
    sandbox.git(&sandbox.path("home"), &["-c", "core.autocrlf=true", "clone", "-q", from, to]);
    sandbox.git(&clone, &["config", "core.autocrlf", "true"]);
    assert_eq!(read(&clone, A1), read(&repository, A1));
    let server = sandbox.server_in(&sandbox.path("clones"), &[]);
    let mut other = Session { sandbox: &sandbox, server, id: session.id.clone() };
    other.ok("tot_reclassify", change("DEAD"));
    assert!(!read(&clone, A1).contains('\r'));
    sandbox.assert_sound(&clone);
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
    sandbox.git(&repository, &["config", "user.name", "A stranger"]);
    assert!(
        sandbox.command("chown").args(["-R", "65534:65534"]).arg(&repository).status().unwrap().success()
    );
    let refused = sandbox.try_git(&repository, &["status"]);
    assert!(!refused.status.success(), "git itself asks for safe.directory");
    let mut command = sandbox.command(TOT_MCP);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    command.arg("--root").arg(sandbox.root()).arg("--clock-file").arg(sandbox.path("clock"));
    session.server = Server::start(command);
    session.ok("tot_reclassify", dead());
    let safe = format!("safe.directory={}", repository.canonicalize().unwrap().display());
    let who = sandbox.git(&repository, &["-c", &safe, "log", "-1", "--format=%an"]);
    assert_eq!(who.trim(), "Tree of Thoughts", "their configuration does not say who we are");
    sandbox.git(&repository, &["-c", &safe, "fsck", "--strict"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    let session = begun(&sandbox);
    let (repository, id) = (session.repository(), session.id.clone());
    session.server.finish();
    let before = sandbox.head(&repository);
    let mode = |mode: u32| {
        for path in folders(&repository) {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
    };
    let mut command = if is_root(&sandbox) {
        std::fs::set_permissions(sandbox.path("."), PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = sandbox.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", TOT_MCP]);
        let probe = sandbox
            .command("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", TOT_MCP, "--version"])
            .output();
        if !probe.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: the privilege of root can't be dropped here");
            return;
        }
        command
    } else {
        sandbox.command(TOT_MCP)
    };
    mode(0o555);
    command.arg("--root").arg(sandbox.root()).arg("--clock-file").arg(sandbox.path("clock"));
    let mut session = Session { sandbox: &sandbox, server: Server::start(command), id };
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 3);
    let message = store_error(&session.call("tot_reclassify", dead()));
    assert!(message.contains("writable"), "it says what to do: {message}");
    let message = store_error(&session.server.call("tot_start", json!({"query": "q"})));
    assert!(message.contains("write") || message.contains("writable"), "{message}");
    mode(0o755);
    assert_eq!(sandbox.head(&repository), before);
    sandbox.assert_sound(&repository);
}

/// Returns all folders of a repository, and their root.
#[cfg(unix)]
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(folders(&path));
        }
    }
    found
}

/// Returns incompressible text.
#[cfg(target_os = "linux")]
fn noise(length: usize) -> String {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state >> 40) as u8 % 90)
    };
    (0..length).map(|_| next()).collect()
}

/// After a failed write, the head is unchanged, the repository is sound, and the next call succeeds.
#[cfg(target_os = "linux")]
fn assert_unharmed(session: &mut Session, before: &str) {
    let (sandbox, repository) = (session.sandbox, session.repository());
    assert_eq!(sandbox.head(&repository), before);
    session.ok("tot_reclassify", change("DEAD"));
    session.ok("tot_reclassify", change("EXPLORE"));
    sandbox.assert_sound(&repository);
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_grow_fail_a_call_and_nothing_else() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    sandbox.sleep(60);
    let mut big = crate::support::result("R3.A1a", "EXPLORE");
    big["findings"] = json!(noise(3_000));
    // In blocks of 512 bytes: from too little for the journal to too little for the index.
    let mut failed = 0;
    for blocks in 0..8 {
        let before = sandbox.head(&session.repository());
        let mut command = sandbox.command("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", &blocks.to_string(), TOT_MCP]);
        command.arg("--root").arg(sandbox.root()).arg("--clock-file").arg(sandbox.path("clock"));
        let mut limited =
            Session { sandbox: &sandbox, server: Server::start(command), id: session.id.clone() };
        let reply = limited.call("tot_commit", json!({"results": [big]}));
        if reply["status"] == "OK" {
            break;
        }
        let message = store_error(&reply);
        assert!(message.contains("has space") || message.contains("git fsck"), "{blocks}: {message}");
        failed += 1;
        assert_unharmed(&mut session, &before);
    }
    assert!(failed > 2, "{failed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_a_call_and_nothing_else() {
    /// A file system of one megabyte, removed when the test ends.
    struct Mounted<'a>(&'a Sandbox, PathBuf);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = self.0.command("umount").arg("-l").arg(&self.1).status();
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
    let _mounted = Mounted(&sandbox, disk.clone());
    let mut session = begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    sandbox.sleep(60);
    let before = sandbox.head(&session.repository());
    let mut big = crate::support::result("R3.A1a", "EXPLORE");
    big["findings"] = json!(noise(900_000));
    let message = store_error(&session.call("tot_commit", json!({"results": [big]})));
    assert!(message.contains("has space") || message.contains("space"), "{message}");
    // Now to the last byte, and a small call.
    let filler = disk.join("filler");
    let _ = std::fs::write(&filler, vec![b'x'; 2 << 20]);
    let message = store_error(&session.call("tot_reclassify", change("DEAD")));
    assert!(message.contains("has space") || message.contains("space"), "{message}");
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 3, "reading goes on");
    std::fs::remove_file(&filler).unwrap();
    assert_unharmed(&mut session, &before);
    session.server.kill();
}

#[test]
fn a_name_that_the_user_sets_while_the_server_runs_is_taken() {
    let sandbox = Sandbox::new();
    let mut server = {
        let mut command = sandbox.command(crate::support::TOT_MCP);
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env_remove(name);
        }
        command.arg("--root").arg(sandbox.root()).arg("--clock-file").arg(sandbox.path("clock"));
        crate::support::Server::start(command)
    };
    let started = server.ok("tot_start", json!({"query": "Who am I?", "mode": "smoke"}));
    let id = started["sessionId"].as_str().unwrap().to_owned();
    let repository = sandbox.repository(&id);
    let author = || sandbox.git(&repository, &["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author(), "Tree of Thoughts <tot@localhost>\n");
    let mut propose = |root: &str| {
        server.ok("tot_propose", json!({"sessionId": id, "nodes": [node(root, None)]}));
        server.ok("tot_propose", json!({"sessionId": id, "withdraw": [root]}));
    };
    // A missing file, a changed one, and the repository's own, which takes precedence.
    std::fs::write(sandbox.path("home/.gitconfig"), "[user]\nname = Ada\nemail = ada@example.com\n").unwrap();
    propose("R1.A");
    assert_eq!(author(), "Ada <ada@example.com>\n");
    std::fs::write(sandbox.path("home/.gitconfig"), "[user]\nname = Grace\nemail = g@example.com\n").unwrap();
    propose("R1.A");
    assert_eq!(author(), "Grace <g@example.com>\n");
    sandbox.git(&repository, &["config", "user.name", "Here"]);
    propose("R1.A");
    assert_eq!(author(), "Here <g@example.com>\n");
}

#[test]
fn a_copy_under_another_ids_name_is_known_before_it_is_used() {
    let sandbox = Sandbox::new();
    let session = begun(&sandbox);
    let other = "019b8d62-7a80-7717-aff5-cc760645a06a";
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([session.repository(), sandbox.repository(other)])
        .status();
    assert!(copied.unwrap().success());
    let id = session.id.clone();
    drop(session);
    let mut server = sandbox.server();
    let reply = server.call("tot_status", json!({"sessionId": id}));
    let message = error(&reply, "AMBIGUOUS_SESSION");
    assert!(message.contains(&format!("{id} is in two folders")) && message.contains(other), "{message}");
    assert_eq!(
        codes(&server.call("tot_status", json!({"sessionId": other}))["errors"]),
        ["SESSION_NOT_FOUND"]
    );
    std::fs::remove_dir_all(sandbox.repository(other)).unwrap();
    server.ok("tot_status", json!({"sessionId": id}));
}

#[test]
fn a_broken_file_of_the_whole_is_named_with_line_and_reason() {
    let sandbox = Sandbox::new();
    let mut session = begun(&sandbox);
    let repository = session.repository();
    let text = read(&repository, "investigation.yaml").replace("minRounds: ", "minRounds: many");
    let line = text.lines().position(|line| line.starts_with("minRounds")).unwrap() + 1;
    std::fs::write(repository.join("investigation.yaml"), text).unwrap();
    sandbox.git(&repository, &["commit", "-qam", "By hand"]);
    for (tool, arguments) in [("tot_status", json!({})), ("tot_reclassify", dead())] {
        let message = error(&session.call(tool, arguments), "INVALID_INVESTIGATION");
        assert!(message.contains(&format!("investigation.yaml:{line}: not a whole number")), "{message}");
    }
}
