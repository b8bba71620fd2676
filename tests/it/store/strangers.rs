//! Repositories of strangers: each oddity is named with file and line, the sound part can be read, nothing is executed,
//! and neither time nor memory runs away. Each is built with real git, then opened by the library and by every program.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tree_of_thoughts::domain::Code;
use tree_of_thoughts::service::check::{self, Objects};
use tree_of_thoughts::store::{HistoryEntry, Store};

use super::{fed, load, store};
use crate::support::{Said, Sandbox, Session, TOT, TOT_MCP, TOT_REPORT, files, short, there};

/// An investigation of three nodes, whose committed tree is made odd.
struct Stranger {
    session: Session,
    /// Its sound commit.
    sound: String,
}

impl Deref for Stranger {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Stranger {
    fn new(sandbox: &Sandbox) -> Self {
        let session = Session::grown(sandbox, &["R2.A1", "R2.A2"], "EXPLORE");
        Stranger { sound: session.head(), session }
    }

    /// Removes the digests from all ids, as in files that people write. Such files are easier to replace.
    fn without_digests(self) -> Self {
        let Stranger { session, .. } = self;
        for path in session.git(&["ls-files", "nodes"]).lines() {
            session.git(&["mv", path, &short(path)]);
            session.write(&short(path), &short(&session.text(&short(path))));
        }
        session.git(&["checkout", "-q", "--orphan", "bare"]);
        session.git(&["commit", "-qam", "By hand"]);
        session.git(&["branch", "-M", "main"]);
        Stranger { sound: session.head(), session }
    }

    /// Writes an object with these bytes, even if git considers it invalid.
    fn object(&self, kind: &str, bytes: impl AsRef<[u8]>) -> String {
        fed(self, &["hash-object", "-t", kind, "-w", "--stdin", "--literally"], bytes)
    }

    /// Adds an entry to the next commit's tree, without the work tree.
    fn entry(&self, mode: &str, id: &str, path: &str) {
        self.git(&["update-index", "--add", "--replace", "--cacheinfo", &format!("{mode},{id},{path}")]);
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        self.entry("100644", &self.object("blob", text), path);
    }

    fn link(&self, path: &str) {
        self.entry("120000", &self.object("blob", "/etc/passwd"), path);
    }

    /// Returns the sound version of a file, in which each text of the first part is replaced.
    fn sound(&self, path: &str, from: &str, to: &str) -> String {
        let text = self.git(&["show", &format!("{}:{path}", self.sound)]);
        assert!(text.contains(from), "{path}: {from}");
        text.replace(from, to)
    }

    /// Returns the id of a sound file or folder.
    fn id_of(&self, path: &str) -> String {
        self.git(&["rev-parse", &format!("{}:{path}", self.sound)]).trim().to_owned()
    }

    /// Returns the id of the tree in git's index.
    fn index(&self) -> String {
        self.git(&["write-tree"]).trim().to_owned()
    }

    /// Returns the id of a tree with these entries, in the given order.
    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(&[mode.as_bytes(), b" ", name, b"\0"].concat());
            bytes.extend((0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()));
        }
        self.object("tree", bytes)
    }

    /// Returns the id of a tree with this folder of the second round, and with more in the root.
    fn root(&self, r2: &str, more: &[(&str, &[u8], &str)]) -> String {
        let nodes = self.tree(&[("40000", b"R1", &self.id_of("nodes/R1")), ("40000", b"R2", r2)]);
        let (meta, rules) = (self.id_of("investigation.yaml"), self.id_of("ruleset.yaml"));
        let sound: [(&str, &[u8], &str); 3] = [
            ("100644", b"investigation.yaml", &meta),
            ("40000", b"nodes", &nodes),
            ("100644", b"ruleset.yaml", &rules),
        ];
        self.tree(&[more, &sound[..]].concat())
    }

    /// Commits a tree, on top of what HEAD is at.
    fn commit(&self, tree: &str) {
        let commit = self.git(&["commit-tree", tree, "-p", "HEAD", "-m", "A stranger's"]);
        self.git(&["update-ref", "HEAD", commit.trim()]);
    }

    /// Goes back to the sound commit.
    fn restore(&self) {
        self.git(&["update-ref", "HEAD", &self.sound]);
        self.git(&["read-tree", "HEAD"]);
    }

    /// Returns a command with at most a minute and, where supported, a gigabyte of memory.
    fn bounded(&self, program: &str) -> Command {
        if cfg!(target_os = "linux") {
            let mut command = self.sandbox.command("sh");
            command.args(["-c", "ulimit -v 1000000; exec timeout 60 \"$@\"", "sh", program]);
            command
        } else {
            self.sandbox.command(program)
        }
    }

    /// Calls a tool of a new server.
    fn call(&self, tool: &str, mut arguments: Value) -> Value {
        let mut server = self.sandbox.serve(self.bounded(TOT_MCP));
        arguments["sessionId"] = json!(self.id);
        let reply = server.call(tool, arguments);
        server.finish();
        reply
    }

    fn status(&self) -> Value {
        self.call("tot_status", json!({"detail": "full"}))
    }

    /// Changes a state, which must fail. Returns the reply.
    fn fails_to_write(&self) -> Value {
        let reply = self.call("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"}));
        assert_eq!(reply["errors"][0]["code"], "STORE_ERROR", "{reply:#}");
        reply
    }

    /// Returns the output of `tot check` and its exit status.
    fn check(&self) -> (String, i32) {
        let output = self.bounded(TOT).args(["check", "--lost"]).arg(self.repository()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    }

    /// Asserts that `tot check` succeeds and says this.
    fn assert_checked(&self, expected: &str) {
        let (lines, exit) = self.check();
        assert!(lines.contains(expected) && exit == 0, "{expected}: {lines}");
    }

    fn report(&self) -> Result<PathBuf, String> {
        let site = self.sandbox.path("site");
        let output =
            self.bounded(TOT_REPORT).arg(self.repository()).arg("--out").arg(&site).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(site) } else { Err(error) }
    }

    /// Asserts that every program opens it, shows `R1.A`, and names this problem.
    fn assert_named(&self, what: &str, place: &str, reason: &str, code: &str) {
        let status = self.status();
        assert_eq!(status["status"], "OK", "{what}: {status:#}");
        assert!(status["listed"].to_string().contains("R1.A"), "{what}: {status:#}");
        let faults = status["faults"].as_array().unwrap_or_else(|| panic!("{what}: {status:#}"));
        let is_named = |fault: &&str| fault.starts_with(place) && fault.contains(reason);
        assert!(
            faults.iter().filter_map(Value::as_str).any(|it| is_named(&it)),
            "{what}: {place} {faults:#?}"
        );
        let site = self.report().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(site.join("nodes/R1.A.html").exists(), "{what}");
        let (lines, exit) = self.check();
        let is_named = |line: &str| line.contains(&format!("/{place}")) && line.contains(code);
        assert!(lines.lines().any(is_named) && exit == 1, "{what}: {place} {code} in\n{lines}");
    }

    /// Returns what the library reads, and what it says about the rest: with the sound state in memory, and without.
    /// That the commit was made by hand is left out.
    fn told(&self, cached: &Store) -> String {
        let [told, again] = [cached, &store(self)].map(|store| {
            let subject = check::read(store, &self.repository(), Objects::default()).unwrap();
            let nodes: Vec<&str> =
                subject.snapshot.investigation.nodes().map(|node| node.id.as_str()).collect();
            let in_history = subject.history[0].faults.len();
            let mut lines = vec![format!("reads {}; faults in the history: {in_history}", nodes.join(", "))];
            lines.extend(subject.snapshot.faults.iter().map(ToString::to_string));
            let findings = check::check(&subject);
            let findings = findings.iter().filter(|it| it.code != Code::CommitByHand);
            lines.extend(findings.map(ToString::to_string));
            lines.join("\n") + "\n"
        });
        assert_eq!(told, again);
        let told = told.replace('\u{1b}', "ESC");
        told.replace(&self.sound, "SOUND").replace(&self.sandbox.head(&self.repository())[..10], "COMMIT")
    }
}

const A1: &str = "nodes/R2/R2.A1.yaml";

/// Changes to a file, each with its name, the text that is replaced, and the new one.
const EDITS: [(&str, &str, &str, &str); 15] = [
    ("a list for a text", A1, "title: Title of R2.A1", "title: [a]"),
    ("a map for a text", A1, "title: Title of R2.A1", "title: {a: b}"),
    ("an unknown field", A1, "title: ", "colour: red\ntitle: "),
    ("a field twice", A1, "title: ", "title: x\ntitle: "),
    ("no time", A1, "proposedAt: ", "proposedAt: today #"),
    ("no state's name", A1, "state: EXPLORE", "state: explore"),
    ("a later version", A1, "version: 2", "version: 3"),
    ("another id", A1, "id: R2.A1", "id: R2.A7"),
    ("no id at all", A1, "id: R2.A1\n", ""),
    ("an anchor of nothing", A1, "title: Title of R2.A1", "title: *nothing"),
    ("another language's tag", A1, "title: Title of R2.A1", "title: !!python/object:os.system x"),
    ("a node that is its own parent", A1, "parent: R1.A", "parent: R2.A1"),
    ("a parent below", A1, "parent: R1.A", "parent: R3.A1a"),
    ("a missing parent", A1, "parent: R1.A", "parent: R1.Z"),
    ("a ruleset with a wrong name", "ruleset.yaml", "name: FOUND", "name: FOND"),
];

/// Other trees, each with its name and what builds it.
type Oddity = (&'static str, fn(&Stranger) -> String);
const ODDITIES: [Oddity; 11] = [
    ("a link", |it| {
        it.link(A1);
        it.index()
    }),
    ("a submodule", |it| {
        it.entry("160000", &it.sound, A1);
        it.index()
    }),
    ("a folder that is a link", |it| {
        it.git(&["rm", "-q", "-r", "--cached", "nodes/R2"]);
        it.link("nodes/R2");
        it.index()
    }),
    ("nothing", |it| {
        it.file(A1, "");
        it.index()
    }),
    ("two documents", |it| {
        let text = it.sound(A1, "", "");
        it.file(A1, format!("{text}---\n{text}"));
        it.index()
    }),
    ("not UTF-8", |it| {
        it.file(A1, b"version: 2\nid: R2.A1\ntitle: \xff\xfe\n");
        it.index()
    }),
    ("a cycle of two, with a node below it, and a second root", |it| {
        let node = |id: &str, parent: &str| {
            it.sound(A1, "parent: R1.A\n", parent).replace("R2.A1", id).replace("PARENT", "R2.A1")
        };
        it.file(A1, node("R2.A1", "parent: R2.A2\n"));
        it.file("nodes/R2/R2.A2.yaml", node("R2.A2", "parent: PARENT\n"));
        it.file("nodes/R3/R3.A1a.yaml", node("R3.A1a", "parent: PARENT\n"));
        it.file("nodes/R2/R2.Q.yaml", node("R2.Q", ""));
        it.index()
    }),
    ("ids that differ in case", |it| {
        it.file("nodes/R2/R2.a1.yaml", it.sound(A1, "id: R2.A1", "id: R2.a1"));
        it.index()
    }),
    ("one node's bytes under two paths", |it| {
        it.entry("100644", &it.id_of(A1), "nodes/R2/R2.A7.yaml");
        it.index()
    }),
    ("one path twice in one tree, and a copy", |it| {
        let (one, two) = (it.id_of(A1), it.object("blob", it.sound(A1, "Title", "Other")));
        let (file, path) = ("100644", b"R2.A1.yaml");
        it.root(&it.tree(&[(file, path, &one), (file, path, &two), (file, b"copy.yaml", &one)]), &[])
    }),
    ("names that no checkout accepts", |it| {
        let (file, blob) = ("100644", &*it.id_of(A1));
        let names: [&[u8]; 3] = [b"R2.A1.yaml", b"R2.\xff\xfe.yaml", b"\x1b[31mred"];
        let r2 = it.tree(&names.map(|name| (file, name, blob)));
        it.root(&r2, &[(file, b"..", blob), ("40000", b".git", &it.tree(&[(file, b"config", blob)]))])
    }),
];

#[test]
fn each_oddity_is_named_with_file_and_line() {
    let stranger = Stranger::new(&Sandbox::new()).without_digests();
    let cached = store(&stranger);
    let mut told = String::new();
    let mut tell = |what: &str, tree: String| {
        cached.load(&stranger.repository()).unwrap();
        stranger.commit(&tree);
        told += &format!("{what}:\n{}\n", stranger.told(&cached));
        stranger.restore();
    };
    for (what, path, from, to) in EDITS {
        stranger.file(path, stranger.sound(path, from, to));
        tell(what, stranger.index());
    }
    for (what, build) in ODDITIES {
        tell(what, build(&stranger));
    }
    assert_snapshot!("oddities", told);
}

#[test]
fn every_program_shows_the_sound_part_and_names_each_oddity() {
    let stranger = Stranger::new(&Sandbox::new()).without_digests();
    for (what, place, reason, code) in [
        ("a link", A1, "symbolic link", "UNREADABLE_FILE"),
        ("a folder that is a link", "nodes/R2", "symbolic link", "STRAY_FILE"),
        ("not UTF-8", &format!("{A1}:3"), "UTF-8", "UNREADABLE_FILE"),
        ("a cycle of two, with a node below it, and a second root", A1, "its parent R2.A2", "MISPLACED_NODE"),
        ("one path twice in one tree, and a copy", A1, "twice", "DUPLICATE_ID"),
        ("names that no checkout accepts", ".git/config", "refuses to check out", "UNREADABLE_FILE"),
    ] {
        let (_, build) = ODDITIES.iter().find(|oddity| oddity.0 == what).unwrap();
        stranger.commit(&build(&stranger));
        stranger.assert_named(what, place, reason, code);
        assert!(!stranger.check().0.contains('\u{1b}'), "no escape reaches the terminal");
        stranger.restore();
    }
}

#[test]
fn every_program_names_an_unreadable_file_of_the_whole() {
    let stranger = Stranger::new(&Sandbox::new());
    for is_link in [true, false] {
        let change = |path: &str, from: &str, to: &str| {
            match is_link {
                true => stranger.link(path),
                false => stranger.file(path, stranger.sound(path, from, to)),
            }
            stranger.commit(&stranger.index());
        };
        change("ruleset.yaml", "name: FOUND", "name: FOND");
        let status = stranger.status();
        assert_eq!(status["owed"][0]["code"], "INVALID_RULESET", "{status:#}");
        assert!(stranger.report().unwrap().join("nodes/R2.A1.html").exists());
        let (lines, exit) = stranger.check();
        assert!(lines.contains("/ruleset.yaml:") && lines.contains(" error INVALID_RULESET"), "{lines}");
        assert_eq!(exit, 1);
        change("investigation.yaml", "minRounds: ", "minRounds: many");
        let named = if is_link { "investigation.yaml" } else { "investigation.yaml:7: not a whole number" };
        for (tool, arguments) in
            [("tot_status", json!({})), ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"}))]
        {
            let reply = stranger.call(tool, arguments);
            assert_eq!(reply["errors"][0]["code"], "INVALID_INVESTIGATION", "{reply:#}");
            assert!(reply["errors"][0]["message"].as_str().unwrap().contains(named), "{reply:#}");
        }
        assert!(stranger.report().unwrap_err().contains(named));
        let (lines, exit) = stranger.check();
        assert!(lines.contains("error UNREADABLE") && lines.contains(named) && exit == 1, "{lines}");
        stranger.restore();
    }
}

#[test]
#[ignore = "takes 12 seconds; .ci/run tries it"]
fn bombs_and_huge_files_are_refused() {
    let stranger = Stranger::new(&Sandbox::new());
    let mut bomb = String::from("version: 2\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let deep: String = (0..1_500).map(|at| format!("{}- \n", " ".repeat(at))).collect();
    for (what, text) in [
        ("aliases", bomb),
        ("nesting", format!("version: 2\nid: {}\n", "[".repeat(100_000))),
        ("deep lists", format!("version: 2\nid:\n{deep}")),
        ("merges", format!("version: 2\nx: &x {{a: 1}}\n{}", "<<: *x\n".repeat(10_000))),
        ("a long key", format!("? {}\n: 1\n", "k".repeat(1 << 20))),
    ] {
        stranger.file(A1, &text);
        stranger.commit(&stranger.index());
        stranger.assert_named(what, A1, "", "UNREADABLE_FILE");
        stranger.file("ruleset.yaml", &text);
        stranger.commit(&stranger.index());
        assert_eq!(stranger.status()["owed"][0]["code"], "INVALID_RULESET", "{what}");
        assert!(stranger.check().0.contains("ruleset.yaml"), "{what}");
        stranger.restore();
    }
    // 100 MB that git stores in 100 KB.
    stranger.file(A1, vec![b'x'; 100 << 20]);
    stranger.commit(&stranger.index());
    stranger.assert_named("100 MB", A1, "bytes", "UNREADABLE_FILE");
    stranger.git(&["-c", "pack.window=0", "gc", "-q", "--prune=now"]);
    stranger.assert_named("100 MB in a pack", A1, "bytes", "UNREADABLE_FILE");
}

/// The names in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

#[cfg(unix)]
#[test]
fn nothing_that_a_configuration_names_is_executed() {
    let mut stranger = Stranger::new(&Sandbox::new());
    stranger.file(".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n");
    stranger.commit(&stranger.index());
    let before = stranger.head();
    let canary = stranger.sandbox.path("canary");
    let script = format!("echo \"$0 $@\" >> {}\ncat\nexit 1", canary.display());
    let script = stranger.sandbox.script("script", &script);
    let hooks = stranger.repository().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in names(
        "pre-commit post-commit prepare-commit-msg commit-msg reference-transaction post-checkout \
         post-index-change fsmonitor-watchman post-rewrite pre-auto-gc pre-push",
    ) {
        fs::copy(&script, hooks.join(hook)).unwrap();
    }
    let set = |key: &str, value: &str| stranger.git(&["config", key, value]);
    for key in names(
        "core.fsmonitor core.sshCommand core.editor core.pager core.askPass core.gitProxy \
         core.alternateRefsCommand credential.helper gpg.program diff.external filter.evil.clean \
         filter.evil.smudge filter.evil.process merge.evil.driver alias.log uploadpack.packObjectsHook \
         trailer.x.command interactive.diffFilter",
    ) {
        set(key, script.to_str().unwrap());
    }
    // Such a name doesn't fit into an option of git.
    set("filter.a=b.clean", script.to_str().unwrap());
    for key in names("commit.gpgSign tag.gpgSign filter.evil.required remote.origin.promisor") {
        set(key, "true");
    }
    set("core.hooksPath", hooks.to_str().unwrap());
    set("user.signingKey", "x");
    set("remote.origin.url", "ext::sh -c x");
    set("remote.origin.partialCloneFilter", "blob:none");
    set("extensions.partialClone", "origin");
    set("branch.main.remote", "origin");
    set("branch.main.merge", "refs/heads/main");
    let _ = fs::remove_file(&canary);

    assert_eq!(stranger.status()["status"], "OK");
    stranger.report().unwrap();
    stranger.check();
    // Writing executes nothing either, and signs nothing.
    stranger.session.server = stranger.sandbox.server();
    stranger.session.grow(&[("R3.A1a", Some("R2.A1")), ("R3.A2a", Some("R2.A2"))], "DEAD");
    stranger.session.ok("tot_end", json!({"conclusion": "Done."}));
    let assert_idle =
        || assert!(!canary.exists(), "executed: {}", fs::read_to_string(&canary).unwrap_or_default());
    assert_idle();
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/nowhere"];
    let git = |arguments: &[&str]| stranger.git(&[&quiet[..], arguments].concat());
    assert_eq!(git(&["rev-list", "--count", &format!("{before}..HEAD")]), "3\n");
    assert!(!git(&["cat-file", "commit", "HEAD"]).contains("gpgsig"));
    // Nor does the user's git, in commands that start it.
    let tot = |arguments: &[&str]| {
        let folder = stranger.repository();
        let mut command = stranger.sandbox.command(TOT);
        command.current_dir(&folder).args(arguments).stdin(std::process::Stdio::null());
        let ran = Said::from(command.output().unwrap());
        assert_idle();
        (ran.status, ran.err)
    };
    assert_eq!(tot(&["approve", "--unsigned", "-m", "Read"]).0, 1, "a partial clone may fetch");
    git(&["config", "remote.origin.url", "git@localhost:x"]);
    git(&["config", "--unset", "extensions.partialClone"]);
    git(&["config", "--unset", "remote.origin.promisor"]);
    let text = git(&["show", "HEAD:.gitattributes"]);
    fs::write(stranger.repository().join(".gitattributes"), text).unwrap();
    let node = there(&stranger.repository(), "nodes/R1/R1.A.yaml");
    for attributes in ["* filter=evil", "* filter=a=b"] {
        fs::write(stranger.repository().join(".git/info/attributes"), attributes).unwrap();
        // With another timestamp, git compares the content.
        let file = fs::File::options().write(true).open(&node).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let ran = tot(&["approve", "--unsigned", "-m", "Read"]);
        assert_eq!(ran.0, 0, "{ran:?}");
    }
    // An exchange is refused for each, one after the other.
    for key in names(
        "core.hooksPath core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand \
         credential.helper",
    ) {
        for more in [&["sync"][..], &["sync", "--dry-run"]] {
            let (status, error) = tot(more);
            assert!(status == 1 && error.contains("git config --global"), "{key}: {error}");
        }
        git(&["config", "--unset", key]);
    }
    for key in names("receivepack uploadpack vcs").map(|key| format!("remote.origin.{key}")) {
        git(&["config", &key, script.to_str().unwrap()]);
        assert!(tot(&["sync"]).1.contains(&key));
        git(&["config", "--unset", &key]);
    }
}

#[cfg(unix)]
fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn includes_of_a_configuration_neither_hang_nor_fill_the_memory() {
    let stranger = Stranger::new(&Sandbox::new());
    let (config, fifo) = (stranger.repository().join(".git/config"), stranger.sandbox.path("fifo"));
    make_pipe(&fifo);
    let text = fs::read_to_string(&config).unwrap();
    for path in [fifo.to_str().unwrap(), "/dev/zero", "/dev/tty", "config", "absent"] {
        let evil = format!("{text}[include]\n\tpath = {path}\n[includeIf \"gitdir:**\"]\n\tpath = {path}\n");
        fs::write(&config, evil).unwrap();
        assert!(!stranger.check().0.is_empty(), "{path}: it hung");
        let status = stranger.status();
        let is_refused = status["errors"][0]["code"] == "STORE_ERROR";
        assert!(status["status"] == "OK" || is_refused, "{path}: {status:#}");
    }
}

#[cfg(unix)]
#[test]
fn pipes_in_place_of_gits_own_files_do_not_hang() {
    for name in names(
        "HEAD config index logs/HEAD objects/info/commit-graph objects/pack/pack-1.idx packed-refs \
         refs/heads/main refs/heads/other shallow tot-journal tot-lock tot-turn",
    ) {
        let stranger = Stranger::new(&Sandbox::new());
        let path = stranger.repository().join(".git").join(name);
        let _ = fs::remove_file(&path);
        make_pipe(&path);
        assert!(!stranger.check().0.is_empty(), "{name}: it hung");
        stranger.fails_to_write();
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_or_read_through_a_link_in_the_git_folder() {
    for name in names(
        "logs/HEAD logs/refs/heads/main logs/refs/heads refs/heads/main refs/tags/ended objects/OBJECT \
         objects/OBJECT/REST",
    ) {
        let stranger = Stranger::new(&Sandbox::new());
        // Text that a shell would run if it became a line of a shell script.
        stranger.git(&["config", "user.name", "x; touch /tmp/x #"]);
        let tree = stranger.git(&["rev-parse", "HEAD^{tree}"]);
        let name = name.replace("OBJECT", &tree[..2]).replace("REST", tree[2..].trim());
        let path = stranger.repository().join(".git").join(&name);
        let folder = stranger.sandbox.path("outside");
        let outside = folder.join("it");
        fs::create_dir(&folder).unwrap();
        if fs::rename(&path, &outside).is_err() {
            fs::create_dir(&outside).unwrap();
        }
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        let before = files(&folder, true);
        let (lines, exit) = stranger.check();
        assert!(
            lines.contains(&name) && lines.contains("is a symbolic link") && exit == 1,
            "{name}: {lines}"
        );
        assert!(stranger.fails_to_write().to_string().contains(&name), "{name}");
        assert_eq!(files(&folder, true), before, "{name}");
    }
}

#[test]
fn a_format_of_the_repository_that_is_not_known_is_refused_as_git_does() {
    let stranger = Stranger::new(&Sandbox::new());
    let config = stranger.repository().join(".git/config");
    let set = |key: &str, value: &str| {
        stranger
            .sandbox
            .git(&stranger.sandbox.path("home"), &["config", "--file", config.to_str().unwrap(), key, value]);
    };
    // In repository format version 0, extensions have no effect.
    set("extensions.futureThing", "true");
    assert_eq!(stranger.check().1, 0);
    for (version, named) in [("1", "futurething"), ("2", "2")] {
        set("core.repositoryFormatVersion", version);
        let status = stranger.sandbox.try_git(&stranger.repository(), &["status"]);
        assert!(!status.status.success(), "git itself refuses {version}");
        let (lines, exit) = stranger.check();
        assert!(lines.to_lowercase().contains(named) && exit == 1, "{lines}");
    }
    // Known extensions do no harm.
    set("core.repositoryFormatVersion", "0");
    stranger.git(&["config", "--unset", "extensions.futureThing"]);
    set("core.repositoryFormatVersion", "1");
    set("extensions.objectFormat", "sha1");
    set("extensions.worktreeConfig", "true");
    assert_eq!(stranger.check().1, 0);
}

fn history(session: &Session) -> Vec<HistoryEntry> {
    store(session).history(&load(session)).unwrap()
}

#[test]
#[ignore = "takes 12 seconds; .ci/run tries it"]
fn long_messages_do_not_fill_the_memory() {
    let stranger = Stranger::new(&Sandbox::new());
    let long = "It is long.\n".repeat(1 << 20);
    let message = stranger.sandbox.path("message");
    fs::write(&message, format!("A subject\n\n{long}\nTool: tot_commit\nNode: R1.A\n")).unwrap();
    for _ in 0..5 {
        stranger.git(&["commit", "-q", "--allow-empty", "-F", message.to_str().unwrap()]);
    }
    let history = history(&stranger);
    for entry in &history[..5] {
        assert!(entry.message.len() < 100_000, "{}", entry.message.len());
        assert_eq!(entry.subject(), "A subject");
        assert_eq!(entry.trailers(), [("Tool", "tot_commit"), ("Node", "R1.A")]);
        assert!(entry.gaps[0].starts_with("The message was truncated: "), "{:?}", entry.gaps);
    }
    assert!(history[5..].iter().all(|entry| entry.gaps.is_empty()));
    stranger.assert_checked("note HISTORY_CUT");
    let page = fs::read_to_string(stranger.report().unwrap().join("history.html")).unwrap();
    assert!(page.contains("The message was truncated: "));
}

#[test]
fn commits_of_many_paths_do_not_fill_the_memory() {
    let stranger = Stranger::new(&Sandbox::new());
    let blob = stranger.object("blob", "x");
    let whole = stranger.git(&["ls-tree", "HEAD"]);
    let with = |number: usize| {
        let many: String = (0..number).map(|at| format!("100644 blob {blob}\tf{at:06}\n")).collect();
        let folder = fed(&stranger, &["mktree"], many);
        fed(&stranger, &["mktree"], format!("{whole}040000 tree {folder}\tmany\n"))
    };
    for tree in [with(1_500), with(90_000), with(1_500), stranger.index()] {
        stranger.commit(&tree);
    }
    let history = history(&stranger);
    let gaps: Vec<String> = history[..4].iter().map(|entry| entry.gaps.concat()).collect();
    assert_eq!([&*gaps[0], &*gaps[3]], ["Other changed files, not listed: 500."; 2]);
    for gap in &gaps[1..3] {
        let cut = "The changes in this commit can't be read: ";
        assert!(gap.starts_with(cut) && gap.contains("50000 files"), "{gap}");
    }
    assert_eq!(history.iter().map(|entry| entry.paths.len()).max(), Some(1_000));
    stranger.assert_checked("note HISTORY_CUT");
    stranger.report().unwrap();
}

#[test]
fn a_shallow_clone_is_shown_as_far_as_it_goes() {
    let whole = Session::begun(&Sandbox::new());
    let from = format!("file://{}", whole.repository().display());
    for read in [1, 2] {
        let root = whole.sandbox.path(&format!("shallow-{read}"));
        fs::create_dir(&root).unwrap();
        whole.sandbox.git(&root, &["clone", "--quiet", "--depth", &read.to_string(), &from]);
        let server = whole.sandbox.server_in(&root, &[]);
        let session = Session { sandbox: whole.sandbox.clone(), root, server, id: whole.id.clone() };
        let mut shallow = Stranger { sound: String::new(), session };
        let history = history(&shallow);
        assert_eq!(history.len(), read);
        let gaps = &history[read - 1].gaps;
        assert!(gaps[0].starts_with("The changes in this commit can't be read: "), "{gaps:?}");
        assert!(gaps[1].contains("not shown: this is a shallow clone"), "{gaps:?}");
        shallow.assert_checked("shallow clone");
        let page = fs::read_to_string(shallow.report().unwrap().join("history.html")).unwrap();
        assert!(page.contains("this is a shallow clone"));
        let uri = format!("tot://{}/history", shallow.id);
        let answer = shallow.session.server.request("resources/read", json!({"uri": uri}));
        assert!(answer["result"].to_string().contains("this is a shallow clone"), "{answer:#}");
        shallow.session.ok("tot_report", json!({}));
    }
}

#[test]
fn an_unreadable_ancestor_ends_the_history_and_nothing_else() {
    for broken in [None, Some("")] {
        let stranger = Stranger::new(&Sandbox::new());
        let ancestor = stranger.git(&["rev-parse", "HEAD~2"]);
        let (folder, name) = ancestor.trim().split_at(2);
        let file = stranger.repository().join(".git/objects").join(folder).join(name);
        fs::remove_file(&file).unwrap();
        broken.into_iter().for_each(|text| fs::write(&file, text).unwrap());
        let history = history(&stranger);
        assert_eq!(history.len(), 2);
        assert!(history[0].gaps.is_empty());
        assert!(history[1].gaps[1].starts_with("Earlier commits are not shown: "), "{history:?}");
        stranger.assert_checked("Earlier commits are not shown");
        stranger.report().unwrap();
    }
}
