//! Repositories of strangers: each oddity is named with file and line, the sound part can be read, nothing is executed,
//! and neither time nor memory runs away. Each is built with real git, then looked at through every door.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tree_of_thoughts::store::{HistoryEntry, Store};

use crate::support::{Sandbox, Server, Session, TOT, TOT_MCP, TOT_REPORT};

/// A sound investigation of three nodes, whose tree is then made odd.
struct Stranger {
    sandbox: Sandbox,
    repository: PathBuf,
    id: String,
}

impl Stranger {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let mut session = Session::begun(&sandbox);
        session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
        let (repository, id) = (session.repository(), session.id.clone());
        session.server.finish();
        Stranger { sandbox, repository, id }
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repository, arguments).trim().to_owned()
    }

    /// Writes an object with these bytes, even if git considers it invalid.
    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        let mut command = self.sandbox.command("git");
        command.arg("-C").arg(&self.repository).args([
            "hash-object",
            "-t",
            kind,
            "-w",
            "--stdin",
            "--literally",
        ]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Adds an entry to the next commit's tree, without the work tree.
    fn entry(&self, mode: &str, id: &str, path: &str) {
        self.git(&["update-index", "--add", "--replace", "--cacheinfo", &format!("{mode},{id},{path}")]);
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        self.entry("100644", &self.object("blob", text.as_ref()), path);
    }

    /// Changes the committed version of a file.
    fn edited(&self, path: &str, change: impl Fn(String) -> String) {
        let text = self.sandbox.git(&self.repository, &["show", &format!("HEAD:{path}")]);
        let changed = change(text.clone());
        assert_ne!(text, changed, "{path}");
        self.file(path, changed);
    }

    /// Writes a tree with these entries, in the format of `git ls-tree`.
    fn made_tree(&self, entries: &str) -> String {
        let mut command = self.sandbox.command("git");
        command.arg("-C").arg(&self.repository).arg("mktree");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(entries.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits the tree in git's index.
    fn commit(&self) {
        let tree = self.git(&["write-tree"]);
        self.commit_tree(&tree);
    }

    fn commit_tree(&self, tree: &str) {
        let commit = self.git(&["commit-tree", tree, "-p", "HEAD", "-m", "A stranger's"]);
        self.git(&["update-ref", "HEAD", &commit]);
    }

    /// Writes a raw tree, in the given order.
    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend((0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()));
        }
        self.object("tree", &bytes)
    }

    fn id_of(&self, path: &str) -> String {
        self.git(&["rev-parse", &format!("HEAD:{path}")])
    }

    /// Runs a command with at most a minute and, where supported, a gigabyte of memory.
    fn bounded(&self, program: &str) -> Command {
        if cfg!(target_os = "linux") {
            let mut command = self.sandbox.command("sh");
            command.args(["-c", "ulimit -v 1000000; exec timeout 60 \"$@\"", "sh", program]);
            command
        } else {
            self.sandbox.command(program)
        }
    }

    /// Starts the sandbox's server.
    fn server(&self) -> Server {
        let mut command = self.bounded(TOT_MCP);
        command.arg("--root").arg(self.sandbox.root()).arg("--clock-file").arg(self.sandbox.path("clock"));
        Server::start(command)
    }

    fn status(&self) -> Value {
        let mut server = self.server();
        let status = server.call("tot_status", json!({"sessionId": self.id, "detail": "full"}));
        server.finish();
        status
    }

    /// Returns the output of `tot check` and its exit status.
    fn check(&self) -> (String, i32) {
        let output = self.bounded(TOT).args(["check", "--lost"]).arg(&self.repository).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    }

    fn report(&self) -> Result<PathBuf, String> {
        let site = self.sandbox.path("site");
        let output = self.bounded(TOT_REPORT).arg(&self.repository).arg("--out").arg(&site).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(site) } else { Err(error) }
    }

    /// Asserts that every program opens it, shows `R1.A`, and names this problem: `path:line` in the list of problems,
    /// and with a code in the check.
    fn assert_named(&self, what: &str, place: &str, reason: &str, code: &str) {
        let status = self.status();
        assert_eq!(status["status"], "OK", "{what}: {status:#}");
        assert!(status["listed"].to_string().contains("R1.A"), "{what}: {status:#}");
        let faults = status["faults"].as_array().unwrap_or_else(|| panic!("{what}: {status:#}"));
        let faults: Vec<String> = faults.iter().map(|fault| fault.as_str().unwrap().to_owned()).collect();
        assert_fault(what, &faults, place, reason);
        let site = self.report().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(site.join("nodes/R1.A.html").exists(), "{what}");
        self.assert_found(what, place, reason, code);
    }

    /// Asserts that the library and the check name the problem.
    fn assert_found(&self, what: &str, place: &str, reason: &str, code: &str) {
        let store = Store::new(self.sandbox.root());
        let snapshot = store.load(&self.repository).unwrap_or_else(|error| panic!("{what}: {error}"));
        store.history(&snapshot).unwrap_or_else(|error| panic!("{what}: {error}"));
        let faults: Vec<String> = snapshot.faults.iter().map(ToString::to_string).collect();
        assert_fault(what, &faults, place, reason);
        let (lines, exit) = self.check();
        let named = |line: &&str| line.contains(&format!("/{place}")) && line.contains(code);
        assert!(lines.lines().any(|line| named(&line)), "{what}: {place} {code} in\n{lines}");
        assert_eq!(exit == 1, lines.contains(": error "), "{what}: {lines}");
    }
}

fn assert_fault(what: &str, faults: &[String], place: &str, reason: &str) {
    let named = |fault: &String| fault.starts_with(place) && fault.contains(reason);
    assert!(faults.iter().any(named), "{what}: {place} {reason} in {faults:#?}");
}

const A1: &str = "nodes/R2/R2.A1.yaml";

#[test]
fn links_and_submodules_are_not_entered() {
    let stranger = Stranger::new();
    let link = stranger.object("blob", b"/etc/passwd");
    stranger.entry("120000", &link, A1);
    stranger.commit();
    stranger.assert_named("a link", A1, "symbolic link", "UNREADABLE_FILE");
    let head = stranger.git(&["rev-parse", "HEAD"]);
    stranger.entry("160000", &head, A1);
    stranger.commit();
    stranger.assert_named("a submodule", A1, "another repository", "UNREADABLE_FILE");
    // The folder of a round is a link.
    stranger.git(&["rm", "-q", "-r", "--cached", "nodes/R2"]);
    stranger.entry("120000", &link, "nodes/R2");
    stranger.commit();
    stranger.assert_named("a folder that is a link", "nodes/R2", "symbolic link", "STRAY_FILE");
}

#[test]
fn the_files_of_the_whole_may_be_links_too() {
    let stranger = Stranger::new();
    let link = stranger.object("blob", b"/etc/passwd");
    stranger.entry("120000", &link, "ruleset.yaml");
    stranger.commit();
    let status = stranger.status();
    assert_eq!(status["owed"][0]["code"], "INVALID_RULESET", "{status:#}");
    assert!(stranger.report().is_ok());
    let (lines, exit) = stranger.check();
    assert!(lines.contains("/ruleset.yaml: error INVALID_RULESET") && exit == 1, "{lines}");
    stranger.entry("120000", &link, "investigation.yaml");
    stranger.commit();
    let status = stranger.status();
    assert_eq!(status["errors"][0]["code"], "INVALID_INVESTIGATION", "{status:#}");
    assert!(status["errors"][0]["message"].as_str().unwrap().contains("investigation.yaml"), "{status:#}");
    assert!(stranger.report().unwrap_err().contains("investigation.yaml"));
    let (lines, exit) = stranger.check();
    assert!(
        lines.contains("error UNREADABLE") && lines.contains("investigation.yaml") && exit == 1,
        "{lines}"
    );
}

#[test]
#[ignore = "takes 12 seconds; .ci/run tries it"]
fn bombs_and_huge_files_are_refused() {
    let stranger = Stranger::new();
    let mut bomb = String::from("version: 1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let nested = format!("version: 1\nid: {}\n", "[".repeat(100_000));
    let deep = format!(
        "version: 1\nid:\n{}",
        (0..1_500).map(|at| format!("{}- \n", " ".repeat(at))).collect::<String>()
    );
    let merge = format!("version: 1\nx: &x {{a: 1}}\n{}", "<<: *x\n".repeat(10_000));
    let long_key = format!("? {}\n: 1\n", "k".repeat(1 << 20));
    for (what, text) in [
        ("aliases", bomb),
        ("nesting", nested),
        ("deep lists", deep),
        ("merges", merge),
        ("a long key", long_key),
    ] {
        stranger.file(A1, &text);
        stranger.commit();
        stranger.assert_named(what, A1, "", "UNREADABLE_FILE");
        stranger.edited("ruleset.yaml", |ruleset| format!("{}{text}", &ruleset[..0]));
        stranger.commit();
        assert_eq!(stranger.status()["owed"][0]["code"], "INVALID_RULESET", "{what}");
        assert!(stranger.check().0.contains("ruleset.yaml"), "{what}");
        stranger.git(&["reset", "-q", "--soft", "HEAD~2"]);
        stranger.git(&["read-tree", "HEAD"]);
    }
    // 100 MB that git stores in 100 KB.
    let huge = stranger.object("blob", &vec![b'x'; 100 << 20]);
    stranger.entry("100644", &huge, A1);
    stranger.commit();
    stranger.assert_named("100 MB", A1, "bytes", "UNREADABLE_FILE");
    stranger.git(&["-c", "pack.window=0", "gc", "-q", "--prune=now"]);
    stranger.assert_named("100 MB in a pack", A1, "bytes", "UNREADABLE_FILE");
}

#[test]
fn wrong_files_are_named_with_their_line() {
    let stranger = Stranger::new();
    type Case = (&'static str, fn(String) -> String, u64, &'static str);
    let cases: [Case; 12] = [
        ("a list for a text", |t| t.replace("title: Title of R2.A1", "title: [a]"), 4, ""),
        ("a map for a text", |t| t.replace("title: Title of R2.A1", "title: {a: b}"), 4, ""),
        ("an unknown field", |t| t.replace("title: ", "colour: red\ntitle: "), 4, "colour"),
        ("a field twice", |t| t.replace("title: ", "title: x\ntitle: "), 5, "title"),
        ("no time", |t| t.replace("proposedAt: ", "proposedAt: today #"), 6, "today"),
        ("no state's name", |t| t.replace("state: EXPLORE", "state: explore"), 7, "explore"),
        ("a later version", |t| t.replace("version: 1", "version: 2"), 1, "version 2"),
        ("another id", |t| t.replace("id: R2.A1", "id: R2.A7"), 2, "R2.A7"),
        ("no id at all", |t| t.replace("id: R2.A1\n", ""), 0, "id"),
        ("an anchor of nothing", |t| t.replace("title: Title of R2.A1", "title: *nothing"), 4, ""),
        ("nothing", |_| String::new(), 0, ""),
        ("two documents", |t| format!("{t}---\n{t}"), 0, ""),
    ];
    for (what, change, line, reason) in cases {
        stranger.edited(A1, change);
        stranger.commit();
        // If the YAML reader has no line for something absent, only the file is named.
        let place = if line == 0 || what == "another id" { A1.to_owned() } else { format!("{A1}:{line}") };
        stranger.assert_found(what, &place, reason, "UNREADABLE_FILE");
        if what == "another id" {
            assert!(stranger.check().0.contains(&format!("{A1}:{line}: ")), "{what}");
        }
        stranger.git(&["reset", "-q", "--soft", "HEAD~1"]);
        stranger.git(&["read-tree", "HEAD"]);
    }
    // Another language's tag is only text, though not as this program writes it.
    stranger.edited(A1, |text| text.replace("title: Title of R2.A1", "title: !!python/object:os.system x"));
    stranger.commit();
    assert!(stranger.check().0.contains(&format!("{A1}:4: warning EDITED_FILE")));
    stranger.file(A1, b"version: 1\nid: R2.A1\ntitle: \xff\xfe\n");
    stranger.commit();
    stranger.assert_named("not UTF-8", &format!("{A1}:3"), "UTF-8", "UNREADABLE_FILE");
}

#[test]
fn nodes_without_a_place_are_left_out() {
    let stranger = Stranger::new();
    let parent = |text: &str, parent: &str| text.replace("parent: R1.A", &format!("parent: {parent}"));
    for (what, other, reason) in [
        ("its own parent", "R2.A1", "its parent R2.A1 is in round 2"),
        ("a parent below", "R3.A1a", "its parent R3.A1a is in round 3"),
        ("a missing parent", "R1.Z", "its parent R1.Z is missing"),
    ] {
        stranger.edited(A1, |text| parent(&text, other));
        stranger.commit();
        stranger.assert_found(what, A1, reason, "MISPLACED_NODE");
        assert!(stranger.check().0.contains(&format!("{A1}:3: error MISPLACED_NODE")), "{what}");
        stranger.git(&["reset", "-q", "--soft", "HEAD~1"]);
        stranger.git(&["read-tree", "HEAD"]);
    }
    // A cycle of two, with nodes below it.
    let text = stranger.sandbox.git(&stranger.repository, &["show", &format!("HEAD:{A1}")]);
    stranger.file(A1, parent(&text, "R2.A2"));
    stranger.file("nodes/R2/R2.A2.yaml", parent(&text.replace("R2.A1", "R2.A2"), "R2.A1"));
    stranger.file("nodes/R3/R3.A1a.yaml", parent(&text.replace("R2.A1", "R3.A1a"), "R2.A1"));
    stranger.file("nodes/R2/R2.Q.yaml", text.replace("R2.A1", "R2.Q").replace("parent: R1.A\n", ""));
    stranger.commit();
    stranger.assert_named("a cycle", A1, "its parent R2.A2", "MISPLACED_NODE");
    stranger.assert_named("below a cycle", "nodes/R3/R3.A1a.yaml", "is itself misplaced", "MISPLACED_NODE");
    stranger.assert_named("a second root", "nodes/R2/R2.Q.yaml", "no parent", "MISPLACED_NODE");
}

#[test]
fn ids_that_collide_are_named() {
    let stranger = Stranger::new();
    let text = stranger.sandbox.git(&stranger.repository, &["show", &format!("HEAD:{A1}")]);
    stranger.file("nodes/R2/R2.a1.yaml", text.replace("id: R2.A1", "id: R2.a1"));
    stranger.commit();
    let (lines, exit) = stranger.check();
    assert!(lines.contains("nodes/R2/R2.a1.yaml:2: error ID_CASE_COLLISION") && exit == 1, "{lines}");
    assert!(stranger.status()["faults"].is_null(), "both can be read");
    // One path twice in one tree, and one id under two paths.
    let (one, two) = (stranger.id_of(A1), stranger.object("blob", text.replace("Title", "Other").as_bytes()));
    let r2 = stranger.tree(&[
        ("100644", b"R2.A1.yaml", &one),
        ("100644", b"R2.A1.yaml", &two),
        ("100644", b"copy.yaml", &one),
    ]);
    let nodes = stranger.tree(&[("40000", b"R1", &stranger.id_of("nodes/R1")), ("40000", b"R2", &r2)]);
    let root = stranger.tree(&[
        ("100644", b"investigation.yaml", &stranger.id_of("investigation.yaml")),
        ("40000", b"nodes", &nodes),
        ("100644", b"ruleset.yaml", &stranger.id_of("ruleset.yaml")),
    ]);
    stranger.commit_tree(&root);
    stranger.assert_named("a path twice", A1, "twice", "DUPLICATE_ID");
    stranger.assert_named("an id twice", "nodes/R2/copy.yaml", "not a valid path", "STRAY_FILE");
    let status = stranger.status();
    assert!(status["listed"].to_string().contains("Title of R2.A1"), "the first is read: {status:#}");
}

#[test]
fn names_that_no_checkout_accepts_are_named() {
    let stranger = Stranger::new();
    let blob = stranger.id_of(A1);
    let r2 = stranger.tree(&[
        ("100644", b"R2.A1.yaml", &blob),
        ("100644", b"R2.\xff\xfe.yaml", &blob),
        ("100644", b"\x1b[31mred", &blob),
    ]);
    let nodes = stranger.tree(&[("40000", b"R1", &stranger.id_of("nodes/R1")), ("40000", b"R2", &r2)]);
    let git = stranger.tree(&[("100644", b"config", &blob)]);
    let root = stranger.tree(&[
        ("100644", b"..", &blob),
        ("40000", b".git", &git),
        ("100644", b"investigation.yaml", &stranger.id_of("investigation.yaml")),
        ("40000", b"nodes", &nodes),
        ("100644", b"ruleset.yaml", &stranger.id_of("ruleset.yaml")),
    ]);
    stranger.commit_tree(&root);
    stranger.assert_named("bytes", "nodes/R2/R2.", "refuses to check out", "STRAY_FILE");
    stranger.assert_named("the parent folder", "..", "refuses to check out", "UNREADABLE_FILE");
    stranger.assert_named("git's own folder", ".git/config", "refuses to check out", "UNREADABLE_FILE");
    assert!(!stranger.check().0.contains('\u{1b}'), "no escape reaches the terminal");
}

#[test]
fn a_ruleset_that_lies_is_named() {
    let stranger = Stranger::new();
    stranger.edited("ruleset.yaml", |text| text.replace("name: FOUND", "name: FOND"));
    stranger.commit();
    let status = stranger.status();
    assert_eq!(status["owed"][0]["code"], "INVALID_RULESET", "{status:#}");
    assert!(status["faults"][0].as_str().unwrap().starts_with("ruleset.yaml:"), "{status:#}");
    assert!(stranger.report().unwrap().join("nodes/R2.A1.html").exists());
    let (lines, exit) = stranger.check();
    assert!(lines.contains(": error INVALID_RULESET ") && exit == 1, "{lines}");
    // Valid in itself, but different from what its name says.
    stranger.git(&["reset", "-q", "--hard", "HEAD~1"]);
    stranger.edited("ruleset.yaml", |text| text.replace("end: {minRounds: 5}", "end: {minRounds: 1}"));
    stranger.commit();
    assert_eq!(stranger.status()["status"], "OK");
    assert!(stranger.check().0.contains("warning RULESET_DIFFERS "));
}

#[cfg(unix)]
#[test]
fn nothing_that_a_configuration_names_is_executed() {
    use std::os::unix::fs::PermissionsExt;

    let stranger = Stranger::new();
    let canary = stranger.sandbox.path("canary");
    let script = stranger.sandbox.path("script");
    std::fs::write(&script, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", canary.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    let hooks = stranger.repository.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "prepare-commit-msg",
        "commit-msg",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "fsmonitor-watchman",
        "post-rewrite",
        "pre-auto-gc",
    ] {
        std::fs::copy(script, hooks.join(hook)).unwrap();
    }
    for (key, value) in [
        ("core.fsmonitor", script),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.sshCommand", script),
        ("core.editor", script),
        ("core.pager", script),
        ("core.askPass", script),
        ("core.gitProxy", script),
        ("core.alternateRefsCommand", script),
        ("credential.helper", script),
        ("gpg.program", script),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("user.signingKey", "x"),
        ("diff.external", script),
        ("filter.evil.clean", script),
        ("filter.evil.smudge", script),
        ("filter.evil.process", script),
        ("filter.evil.required", "true"),
        ("merge.evil.driver", script),
        ("alias.log", script),
        ("remote.origin.url", "ext::sh -c x"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialCloneFilter", "blob:none"),
        ("uploadpack.packObjectsHook", script),
        ("extensions.partialClone", "origin"),
        ("trailer.x.command", script),
        ("interactive.diffFilter", script),
    ] {
        stranger.git(&["config", key, value]);
    }
    stranger.file(".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n");
    let tree = stranger.git(&["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/nowhere", "write-tree"]);
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/nowhere", "-c", "commit.gpgSign=false"];
    let commit = stranger.git(&[&quiet[..], &["commit-tree", &tree, "-p", "HEAD", "-m", "x"]].concat());
    stranger.git(&[&quiet[..], &["update-ref", "HEAD", &commit]].concat());
    let _ = std::fs::remove_file(&canary);
    let before = stranger.git(&[&quiet[..], &["rev-parse", "HEAD"]].concat());

    assert_eq!(stranger.status()["status"], "OK");
    stranger.report().unwrap();
    stranger.check();
    // Writing executes nothing either.
    let mut session =
        Session { sandbox: &stranger.sandbox, server: stranger.sandbox.server(), id: stranger.id.clone() };
    session.grow(&[("R3.A1a", Some("R2.A1")), ("R3.A2a", Some("R2.A2"))], "DEAD");
    session.ok("tot_end", json!({"conclusion": "Done."}));
    let after = stranger.git(&[&quiet[..], &["rev-list", "--count", &format!("{before}..HEAD")]].concat());
    assert_eq!(after, "3");
    assert!(!canary.exists(), "executed: {}", std::fs::read_to_string(&canary).unwrap_or_default());
}

#[cfg(unix)]
#[test]
fn includes_of_a_configuration_neither_hang_nor_fill_the_memory() {
    for included in ["fifo", "/dev/zero", "/dev/tty", "config", "absent"] {
        let stranger = Stranger::new();
        let path = match included {
            "fifo" => {
                let fifo = stranger.sandbox.path("fifo");
                assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
                fifo.display().to_string()
            }
            other => other.to_owned(),
        };
        let config = stranger.repository.join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        let evil = format!("{text}[include]\n\tpath = {path}\n[includeIf \"gitdir:**\"]\n\tpath = {path}\n");
        std::fs::write(&config, evil).unwrap();
        let (lines, _) = stranger.check();
        assert!(!lines.is_empty(), "{included}: it hung");
        let status = stranger.status();
        assert!(
            status["status"] == "OK" || status["errors"][0]["code"] == "STORE_ERROR",
            "{included}: {status:#}"
        );
    }
}

#[cfg(unix)]
#[test]
fn pipes_in_place_of_gits_own_files_do_not_hang() {
    for name in [
        "HEAD",
        "config",
        "index",
        "logs/HEAD",
        "objects/info/commit-graph",
        "objects/pack/pack-1.idx",
        "packed-refs",
        "refs/heads/main",
        "refs/heads/other",
        "shallow",
        "tot-journal",
        "tot-lock",
        "tot-turn",
    ] {
        let stranger = Stranger::new();
        let path = stranger.repository.join(".git").join(name);
        let _ = std::fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (lines, _) = stranger.check();
        assert!(!lines.is_empty(), "{name}: it hung");
        let mut server = stranger.server();
        let change = json!({"sessionId": stranger.id, "nodeId": "R2.A1", "newState": "DEAD"});
        let reply = server.call("tot_reclassify", change);
        assert_eq!(reply["errors"][0]["code"], "STORE_ERROR", "{name}: {reply:#}");
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_read_through_a_link_in_the_git_folder() {
    for (what, name) in [
        ("a reflog", "logs/HEAD"),
        ("a reflog", "logs/refs/heads/main"),
        ("the reflogs of branches", "logs/refs/heads"),
        ("a branch", "refs/heads/main"),
        ("the tags of ends", "refs/tags/ended"),
        ("objects", "objects/OBJECT"),
        ("an object", "objects/OBJECT/REST"),
    ] {
        let stranger = Stranger::new();
        // Text that a shell would run if it became a line of a shell script.
        stranger.git(&["config", "user.name", "x; touch /tmp/x #"]);
        let tree = stranger.git(&["rev-parse", "HEAD^{tree}"]);
        let name = name.replace("OBJECT", &tree[..2]).replace("REST", &tree[2..]);
        let path = stranger.repository.join(".git").join(&name);
        let outside = stranger.sandbox.path("outside");
        match fs::rename(&path, &outside) {
            Ok(()) => {}
            Err(_) => fs::create_dir(&outside).unwrap(),
        }
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        let before = files_below(&outside);
        let (lines, exit) = stranger.check();
        assert!(
            lines.contains(&name) && lines.contains("is a symbolic link") && exit == 1,
            "{what}: {lines}"
        );
        let mut server = stranger.server();
        let change = json!({"sessionId": stranger.id, "nodeId": "R2.A1", "newState": "DEAD"});
        let reply = server.call("tot_reclassify", change);
        assert_eq!(reply["errors"][0]["code"], "STORE_ERROR", "{what}: {reply:#}");
        assert!(reply.to_string().contains(&name), "{what}: {reply:#}");
        assert_eq!(files_below(&outside), before, "{what}");
    }
}

/// Returns the files at and below a path, with their content.
fn files_below(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(path.to_owned(), std::fs::read(path).unwrap())];
    }
    let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.iter().flat_map(|path| files_below(path)).collect()
}

#[test]
fn a_format_of_the_repository_that_is_not_known_is_refused_as_git_does() {
    let stranger = Stranger::new();
    // In repository format version 0, extensions have no effect.
    stranger.git(&["config", "extensions.futureThing", "true"]);
    assert_eq!(stranger.check().1, 0);
    for (version, named) in [("1", "futurething"), ("2", "2")] {
        stranger.git(&["config", "core.repositoryFormatVersion", version]);
        let status =
            stranger.sandbox.command("git").arg("-C").arg(&stranger.repository).arg("status").output();
        assert!(!status.unwrap().status.success(), "git itself refuses {version}");
        let (lines, exit) = stranger.check();
        assert!(lines.to_lowercase().contains(named) && exit == 1, "{lines}");
        let config = stranger.repository.join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace(&format!("ormatVersion = {version}"), "ormatVersion = 0"))
            .unwrap();
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace(&format!("ormatversion = {version}"), "ormatversion = 0"))
            .unwrap();
    }
    // Known extensions do no harm.
    stranger.git(&["config", "--unset", "extensions.futureThing"]);
    stranger.git(&["config", "core.repositoryFormatVersion", "1"]);
    stranger.git(&["config", "extensions.objectFormat", "sha1"]);
    stranger.git(&["config", "extensions.worktreeConfig", "true"]);
    assert_eq!(stranger.check().1, 0);
}

#[test]
fn one_nodes_bytes_under_two_paths_are_a_fault_each_time() {
    let stranger = Stranger::new();
    let store = Store::new(stranger.sandbox.root());
    assert!(store.load(&stranger.repository).unwrap().faults.is_empty());
    stranger.entry("100644", &stranger.id_of(A1), "nodes/R2/R2.A7.yaml");
    stranger.commit();
    // With cached state, and without.
    for store in [store, Store::new(stranger.sandbox.root())] {
        let snapshot = store.load(&stranger.repository).unwrap();
        let faults: Vec<String> = snapshot.faults.iter().map(ToString::to_string).collect();
        assert_eq!(faults, ["nodes/R2/R2.A7.yaml: the file names R2.A1, but its path names R2.A7"]);
        let nodes: Vec<&str> = snapshot.investigation.nodes().map(|node| node.id.as_str()).collect();
        assert_eq!(nodes, ["R1.A", "R2.A1", "R2.A2"]);
        let history = store.history(&snapshot).unwrap();
        assert_eq!(history[0].faults.len(), 1, "{:?}", history[0]);
    }
}

#[test]
fn a_repository_that_leads_out_is_not_opened() {
    let stranger = Stranger::new();
    let elsewhere: &Path = &stranger.sandbox.path("home");
    let (key, value) = ("core.worktree", elsewhere.to_str().unwrap());
    stranger.git(&["config", key, value]);
    let status = stranger.status();
    assert_eq!(status["errors"][0]["code"], "STORE_ERROR", "{status:#}");
    let (lines, exit) = stranger.check();
    assert!(lines.contains("work tree in another folder") && exit == 1, "{lines}");
}

/// Commits with a long message and no change.
fn commit_with_messages(stranger: &Stranger, number: usize, message: &str) {
    let file = stranger.sandbox.path("message");
    fs::write(&file, message).unwrap();
    let tree = stranger.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..number {
        let commit = stranger.git(&["commit-tree", &tree, "-p", "HEAD", "-F", file.to_str().unwrap()]);
        stranger.git(&["update-ref", "HEAD", &commit]);
    }
}

fn history(stranger: &Stranger) -> Vec<HistoryEntry> {
    let store = Store::new(stranger.sandbox.root());
    store.history(&store.load(&stranger.repository).unwrap()).unwrap()
}

#[test]
#[ignore = "takes 12 seconds; .ci/run tries it"]
fn long_messages_do_not_fill_the_memory() {
    let stranger = Stranger::new();
    let long = "It is long.\n".repeat(1 << 20);
    commit_with_messages(&stranger, 5, &format!("A subject\n\n{long}\nTool: tot_commit\nNode: R1.A\n"));
    let history = history(&stranger);
    for entry in &history[..5] {
        assert!(entry.message.len() < 100_000, "{}", entry.message.len());
        assert_eq!(entry.subject(), "A subject");
        assert_eq!(entry.trailers(), [("Tool", "tot_commit"), ("Node", "R1.A")]);
        assert!(entry.gaps[0].starts_with("The message was truncated: "), "{:?}", entry.gaps);
    }
    assert!(history[5..].iter().all(|entry| entry.gaps.is_empty()));
    let (lines, exit) = stranger.check();
    assert!(lines.contains("note HISTORY_CUT") && exit == 0, "{lines}");
    let page = fs::read_to_string(stranger.report().unwrap().join("history.html")).unwrap();
    assert!(page.contains("The message was truncated: "));
}

#[test]
fn commits_of_many_paths_do_not_fill_the_memory() {
    let stranger = Stranger::new();
    let blob = stranger.object("blob", b"x");
    let folder = |number: usize| -> String {
        let entries: Vec<String> = (0..number).map(|at| format!("100644 blob {blob}\tf{at:06}\n")).collect();
        stranger.made_tree(&entries.concat())
    };
    let whole = stranger.git(&["ls-tree", "HEAD"]);
    let with =
        |number: usize| stranger.made_tree(&format!("{whole}\n040000 tree {}\tmany\n", folder(number)));
    for tree in [with(1_500), with(90_000), with(1_500), stranger.git(&["rev-parse", "HEAD^{tree}"])] {
        stranger.commit_tree(&tree);
    }
    let history = history(&stranger);
    let gaps: Vec<String> = history[..4].iter().map(|entry| entry.gaps.concat()).collect();
    assert_eq!([&*gaps[0], &*gaps[3]], ["Other changed files, not listed: 500."; 2]);
    for gap in &gaps[1..3] {
        assert!(
            gap.starts_with("The changes in this commit can't be read: ") && gap.contains("50000 files"),
            "{gap}"
        );
    }
    assert_eq!(history.iter().map(|entry| entry.paths.len()).max(), Some(1_000));
    let (lines, exit) = stranger.check();
    assert!(lines.contains("note HISTORY_CUT") && exit == 0, "{lines}");
    stranger.report().unwrap();
}

#[test]
fn a_shallow_clone_is_shown_as_far_as_it_goes() {
    let stranger = Stranger::new();
    let from = format!("file://{}", stranger.repository.display());
    for (depth, read) in [("1", 1), ("2", 2)] {
        let folder = stranger.sandbox.path(&format!("shallow-{depth}"));
        let clone = folder.join(&stranger.id);
        stranger.git(&["clone", "-q", "--depth", depth, &from, clone.to_str().unwrap()]);
        let shallow = Stranger { sandbox: Sandbox::new(), repository: clone, id: stranger.id.clone() };
        let history = history(&shallow);
        assert_eq!(history.len(), read);
        let gaps = &history[read - 1].gaps;
        assert!(gaps[0].starts_with("The changes in this commit can't be read: "), "{gaps:?}");
        assert!(gaps[1].contains("not shown: this is a shallow clone"), "{gaps:?}");
        let (lines, exit) = shallow.check();
        assert!(lines.contains("shallow clone") && exit == 0, "{lines}");
        let page = fs::read_to_string(shallow.report().unwrap().join("history.html")).unwrap();
        assert!(page.contains("this is a shallow clone"));
        let mut server = shallow.sandbox.server_in(&folder, &[]);
        let uri = format!("tot://{}/history", shallow.id);
        let answer = server.request("resources/read", json!({"uri": uri}));
        assert!(answer["result"].to_string().contains("this is a shallow clone"), "{answer:#}");
        server.ok("tot_report", json!({"sessionId": shallow.id}));
    }
}

#[test]
fn an_unreadable_ancestor_ends_the_history_and_nothing_else() {
    for broken in [None, Some("")] {
        let stranger = Stranger::new();
        let ancestor = stranger.git(&["rev-parse", "HEAD~2"]);
        let file = stranger.repository.join(format!(".git/objects/{}/{}", &ancestor[..2], &ancestor[2..]));
        fs::remove_file(&file).unwrap();
        broken.into_iter().for_each(|text| fs::write(&file, text).unwrap());
        let history = history(&stranger);
        assert_eq!(history.len(), 2);
        assert!(history[0].gaps.is_empty());
        assert!(history[1].gaps[1].starts_with("Earlier commits are not shown: "), "{history:?}");
        let (lines, exit) = stranger.check();
        assert!(lines.contains("Earlier commits are not shown") && exit == 0, "{lines}");
        stranger.report().unwrap();
    }
}
