//! Tests this module against git itself.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gix::objs::{Kind, Write as _};
use tempfile::TempDir;

use super::commit::{CommitDraft, head_references};
use super::error::StoreResult;
use super::journal::{JOURNAL_FIRST_LINE, Journal, journal_text};
use super::lock::{FOREIGN_LOCK_WAIT, IndexLock};
use super::*;
use crate::base::platform::{host_name, machine_start};
use crate::format::FileChange;
use crate::store::{StoreError, StoreErrorKind};

const AT: i64 = 1_795_000_000;

/// A repository in a temporary folder, with the `git` command.
struct Bench {
    folder: TempDir,
    git: Git,
    first: CommitId,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(&[change("investigation.yaml", "id: 1\n"), change("nodes/R1/R1.A.yaml", "one\n")])
    }

    fn with(files: &[FileChange]) -> Bench {
        let folder = crate::testing::folder();
        let dir = folder.path().join("it");
        let (git, first) = Git::init(GitOptions::ISOLATED, &dir, "x", files, "Start", AT).unwrap();
        Bench { folder, git, first }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("it")
    }

    fn file(&self, path: &str) -> PathBuf {
        self.dir().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> String {
        run_in(&self.dir(), arguments)
    }

    fn status(&self) -> String {
        self.run(&["status", "--porcelain"])
    }

    fn head(&self) -> CommitId {
        self.git.head().unwrap().commit.unwrap()
    }

    fn commit(&self, changes: &[FileChange]) -> CommitId {
        self.git.commit_now(self.head(), changes, "Change", AT + 1).unwrap()
    }

    /// Asserts that `git fsck` is clean and none of our temporary files remain.
    fn assert_sound(&self) {
        assert_eq!(self.run(&["fsck", "--strict", "--no-dangling"]), "");
        let leftovers = fs::read_dir(self.git.path()).unwrap().filter_map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let is_journal = name == JOURNAL_FILE && entry.metadata().unwrap().len() > 0;
            (name.ends_with(".lock") || is_journal || name == STAGING_FILE).then_some(name)
        });
        assert_eq!(leftovers.collect::<Vec<_>>(), Vec::<String>::new());
    }

    fn assert_clean(&self) {
        self.assert_sound();
        assert_eq!(self.status(), "");
    }

    /// Starts a commit that is killed after writing its objects, and returns its draft and journal.
    /// Recovers, and returns whether there was anything to clean up. Tries again for two seconds: a program that another
    /// test is about to start holds the released writer lock until it has replaced its copy of this process.
    fn recovers(&self) -> bool {
        (0..200).any(|_| {
            let recovered = self.git.recover().unwrap();
            if !recovered {
                thread::sleep(Duration::from_millis(10));
            }
            recovered
        })
    }

    fn begin(&self, changes: &[FileChange]) -> (CommitDraft, Journal) {
        let head = self.git.head().unwrap();
        let parent = head.commit.map(|commit| commit.0);
        let draft = self.git.draft(parent, changes, "Killed", AT).unwrap();
        let references = head_references(&head);
        let journal = Journal::begin(self.git.path(), &[draft.commit], &references, &draft.steps).unwrap();
        (draft, journal)
    }

    fn prepare(&self, draft: &CommitDraft, journal: &mut Journal) -> IndexLock {
        let mut lock = IndexLock::take(self.git.path()).unwrap();
        let (dir, tree) = (self.dir(), draft.parent_tree);
        journal.note(&lock).unwrap();
        self.git.prepare_index(&dir, tree, &draft.steps, &mut lock).unwrap();
        lock
    }
}

impl Git {
    /// Commits with a new writer.
    fn commit_now(
        &self,
        head: CommitId,
        files: &[FileChange],
        message: &str,
        at: i64,
    ) -> StoreResult<CommitId> {
        let commit = CommitText { changes: files, message, at };
        let (commits, confirmed) = self.writer()?.commit(head, &[commit], None, |_| Ok(()))?;
        confirmed.map(|()| commits[0])
    }

    /// Returns the whole log.
    fn story(&self, from: CommitId) -> StoreResult<Vec<CommitInfo>> {
        self.log(from)?.collect()
    }

    /// Tags with a new writer.
    fn tag_now(&self, name: &str, target: CommitId, message: &str, at: i64) -> StoreResult<()> {
        self.writer()?.tag(&TagText { name: name.to_owned(), message: message.to_owned(), at }, target)
    }
}

/// Simulates a killed process: its lock file remains, but no process has it open.
fn killed(mut lock: IndexLock) {
    lock.is_done = true;
}

fn change(path: &str, content: &str) -> FileChange {
    FileChange { path: path.to_owned(), content: Some(content.as_bytes().to_vec()) }
}

fn removal(path: &str) -> FileChange {
    FileChange { path: path.to_owned(), content: None }
}

fn command(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .env("HOME", dir)
        .env("XDG_CONFIG_HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=A Person", "-c", "user.email=person@example.com", "-c", "gc.auto=0"])
        .args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .output()
        .expect("git is on the PATH")
}

fn run_in(dir: &Path, arguments: &[&str]) -> String {
    let output = command(dir, arguments);
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {text}");
    text
}

fn open(dir: &Path) -> StoreResult<Git> {
    Git::open(dir, GitOptions::ISOLATED)
}

#[test]
fn a_new_repository_is_clean_and_whole() {
    let bench = Bench::new();
    bench.assert_clean();
    assert_eq!(bench.run(&["branch", "--show-current"]), "main\n");
    assert_eq!(bench.run(&["ls-files"]), "investigation.yaml\nnodes/R1/R1.A.yaml\n");
    assert_eq!(
        bench.run(&["log", "--format=%s %an <%ae> %cn <%ce> %ad", "--date=raw"]),
        format!("Start Tree of Thoughts <tot@localhost> Tree of Thoughts <tot@localhost> {AT} +0000\n")
    );
    assert_eq!(bench.run(&["reflog", "--format=%gs"]), "commit (initial): Start\n");
    assert!(!bench.file(".git/hooks").exists());
    assert_eq!(
        bench.git.head().unwrap(),
        Head { branch: Some("refs/heads/main".to_owned()), commit: Some(bench.first) }
    );
    // Nothing else remains in the folder.
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);
    let again = Git::init(GitOptions::ISOLATED, &bench.dir(), "y", &[], "Start", AT);
    assert!(matches!(again, Err(StoreError { kind: StoreErrorKind::AlreadyExists, .. })));
}

#[test]
fn a_failed_init_leaves_nothing() {
    let folder = crate::testing::folder();
    let blocked = [change("a", "1"), change("a/b", "2")];
    let made = Git::init(GitOptions::ISOLATED, &folder.path().join("it"), "x", &blocked, "Start", AT);
    assert!(matches!(made, Err(StoreError { kind: StoreErrorKind::PathConflict, .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_commit_adds_modifies_and_removes() {
    let bench = Bench::new();
    let second =
        bench.commit(&[change("nodes/R2/R2.A1.yaml", "two\n"), change("nodes/R1/R1.A.yaml", "one more\n")]);
    bench.assert_clean();
    assert_eq!(bench.text("nodes/R1/R1.A.yaml"), "one more\n");
    let third = bench.commit(&[removal("nodes/R2/R2.A1.yaml"), change("conclusion.yaml", "done\n")]);
    bench.assert_clean();
    assert!(!bench.file("nodes/R2").exists(), "a folder without files is removed");
    assert_eq!(
        bench.run(&["log", "--format=%H %s", "--name-status"]),
        format!(
            "{third} Change\n\nA\tconclusion.yaml\nD\tnodes/R2/R2.A1.yaml\n{second} Change\n\nM\tnodes/R1/R1.A.yaml\n\
             A\tnodes/R2/R2.A1.yaml\n{} Start\n\nA\tinvestigation.yaml\nA\tnodes/R1/R1.A.yaml\n",
            bench.first
        )
    );
    assert_eq!(
        bench.run(&["reflog", "--format=%gs"]),
        "commit: Change\ncommit: Change\ncommit (initial): Start\n"
    );
    assert_eq!(bench.run(&["reflog", "main", "--format=%gs"]).lines().count(), 3);
    // The tree cache in the index is correct: git builds the same tree from it.
    assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn the_cache_of_trees_that_git_made_is_kept_right() {
    let bench = Bench::new();
    bench.run(&["read-tree", "HEAD"]);
    bench.run(&["status"]);
    bench.commit(&[change("nodes/R1/R1.B.yaml", "b\n"), change("nodes/R7/x/y", "deep\n")]);
    assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
    bench.commit(&[removal("nodes/R7/x/y")]);
    bench.commit(&[change("nodes/R7/x", "now a file\n")]);
    assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
    bench.assert_clean();
}

/// Asserts that the index is identical to the one that git would write.
fn assert_index_is_gits(bench: &Bench) {
    let staged = bench.run(&["ls-files", "--stage"]);
    let tree = bench.run(&["ls-tree", "-r", "--format=%(objectmode) %(objectname) 0\t%(path)", "HEAD"]);
    assert_eq!(staged, tree);
    assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
    bench.assert_clean();
}

#[test]
fn an_index_of_any_form_is_kept_in_step() {
    let bench = Bench::with(&["a", "b/c", "b/d", "b-e/f", "g"].map(|name| change(name, name)));
    let forms: [&[&str]; 7] = [
        &["update-index", "--index-version", "2"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--index-version", "3"],
        // Extensions: the tree cache and the untracked cache.
        &["read-tree", "HEAD"],
        &["-c", "core.untrackedCache=true", "status"],
        &["update-index", "--split-index"],
        &["-c", "index.skipHash=true", "update-index", "--force-write-index"],
    ];
    for (n, form) in forms.iter().enumerate() {
        bench.run(form);
        let new = format!("b/new{n}");
        bench.commit(&[change("b/c", &format!("{n}")), change(&new, "x"), change(&format!("n{n}/y"), "y")]);
        assert_index_is_gits(&bench);
        bench.run(form);
        bench.commit(&[removal(&new), change("b-e/f", &format!("{n}"))]);
        assert_index_is_gits(&bench);
    }
    // Index version 3. The file stays marked as added with `git add -N`.
    fs::write(bench.file("announced"), "x").unwrap();
    bench.run(&["add", "-N", "announced"]);
    bench.commit(&[change("a", "again"), change("announced/not", "1")]);
    assert_eq!(bench.status(), " A announced\nD  announced/not\n");
    bench.run(&["reset", "-q"]);
    bench.run(&["config", "index.skipHash", "true"]);
    open(&bench.dir()).unwrap().commit_now(bench.head(), &[change("a", "without")], "Change", AT).unwrap();
    let index = fs::read(bench.file(".git/index")).unwrap();
    assert!(index.ends_with(&[0; 20]));
    bench.assert_sound();
}

#[test]
fn trees_are_the_ones_git_would_write() {
    // Names that sort around `/`, folders that appear and disappear, and names that are prefixes of others.
    let names = [
        "a", "a-b", "a.b", "a0", "b/a", "b/a-b", "b-a/x", "b.a", "b0/x/y", "b0/x-y", "c/d/e", "c/d-e", "ü/ß",
        "z",
    ];
    let bench = Bench::with(&names.map(|name| change(name, name)));
    let all = names.len();
    for round in 0..60 {
        // A simple hash: irregular but reproducible.
        let bits = (round + 1usize).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17;
        let picked = (0..all).filter(|n| bits >> n & 1 == 1).map(|n| names[n]);
        let changes: Vec<_> = picked
            .map(|name| match bits >> 20 & 1 {
                0 => removal(name),
                _ => change(name, &format!("{round}")),
            })
            .collect();
        bench.commit(&changes);
        assert_eq!(bench.run(&["write-tree"]), bench.run(&["rev-parse", "HEAD^{tree}"]));
        assert_eq!(bench.status(), "");
    }
    bench.assert_clean();
    bench.commit(&names.map(removal));
    assert_eq!(bench.git.files(bench.head()).unwrap(), []);
    bench.commit(&[change("b/a", "back")]);
    bench.assert_clean();
}

#[test]
fn removing_an_absent_file_changes_nothing() {
    let bench = Bench::new();
    bench.commit(&[removal("nodes/R9/none.yaml")]);
    assert_eq!(bench.run(&["diff", "--stat", "HEAD~1", "HEAD"]), "");
    bench.assert_clean();
}

#[test]
fn a_moved_head_is_told_and_nothing_is_written() {
    let bench = Bench::new();
    let second = bench.commit(&[change("a", "1\n")]);
    let error = bench.git.commit_now(bench.first, &[change("b", "2\n")], "Late", AT).unwrap_err();
    assert!(matches!(error, StoreError { kind: StoreErrorKind::HeadMoved, .. }));
    assert!(error.to_string().contains(&format!("is {second}, not {}", bench.first)), "{error}");
    assert!(!bench.file("b").exists());
    assert_eq!(bench.head(), second);
    bench.assert_clean();
}

#[test]
fn a_head_that_moves_during_the_commit_puts_the_files_back() {
    let bench = Bench::new();
    let changes = [change("investigation.yaml", "id: 2\n"), change("new", "n\n")];
    let (draft, mut journal) = bench.begin(&changes);
    bench.run(&["commit", "--allow-empty", "-m", "Meanwhile"]);
    let error = {
        let lock = IndexLock::take(bench.git.path()).unwrap();
        bench.git.publish(&draft, Some(lock), Some(&mut journal)).unwrap_err()
    };
    assert!(matches!(error, StoreError { kind: StoreErrorKind::HeadMoved, .. }), "{error}");
    assert_eq!(bench.text("new"), "n\n");
    assert!(bench.recovers());
    assert_eq!(bench.text("investigation.yaml"), "id: 1\n");
    bench.assert_clean();
}

#[test]
fn the_users_changes_are_kept_and_not_committed() {
    let bench = Bench::new();
    bench.commit(&[change("b", "b\n"), change("gone", "g\n"), change("staged", "s\n")]);
    fs::write(bench.file("investigation.yaml"), "mine\n").unwrap();
    fs::write(bench.file("b"), "also mine\n").unwrap();
    fs::write(bench.file("new"), "my new\n").unwrap();
    fs::remove_file(bench.file("gone")).unwrap();
    fs::write(bench.file("staged"), "staged by me\n").unwrap();
    bench.run(&["add", "staged"]);
    bench.commit(&[
        change("b", "theirs\n"),
        change("new", "their new\n"),
        change("gone", "back?\n"),
        change("staged", "theirs\n"),
        change("c", "c\n"),
    ]);
    assert_eq!(bench.text("investigation.yaml"), "mine\n");
    assert_eq!(bench.text("b"), "also mine\n");
    assert_eq!(bench.text("new"), "my new\n");
    assert_eq!(bench.text("staged"), "staged by me\n");
    assert!(!bench.file("gone").exists());
    assert_eq!(bench.run(&["show", ":staged"]), "staged by me\n");
    assert_eq!(bench.run(&["show", "HEAD:b"]), "theirs\n");
    assert_eq!(bench.run(&["show", "HEAD:investigation.yaml"]), "id: 1\n");
    assert_eq!(bench.status(), " M b\n D gone\n M investigation.yaml\n M new\nM  staged\n");
    bench.assert_sound();
}

#[test]
fn an_edit_of_the_same_size_right_after_a_commit_is_seen() {
    let bench = Bench::new();
    for round in 0..20 {
        bench.commit(&[change("a", &format!("{round:02}\n")), change("b", "b\n")]);
        fs::write(bench.file("a"), "xx\n").unwrap();
        bench.commit(&[change("c", &format!("{round:02}\n"))]);
        assert_eq!(bench.status(), " M a\n");
        bench.run(&["checkout", "a"]);
        fs::write(bench.file("a"), format!("{round:02}\n")).unwrap();
    }
}

#[test]
fn a_staged_removal_and_a_conflict_stay_the_users() {
    let bench = Bench::new();
    bench.run(&["rm", "--cached", "-q", "investigation.yaml"]);
    bench.commit(&[change("investigation.yaml", "id: 2\n")]);
    assert_eq!(bench.run(&["ls-files", "investigation.yaml"]), "");
    bench.run(&["reset", "-q", "--hard"]);
    bench.run(&["checkout", "-q", "-b", "other"]);
    bench.commit(&[change("investigation.yaml", "id: other\n")]);
    bench.run(&["checkout", "-q", "main"]);
    bench.commit(&[change("investigation.yaml", "id: main\n")]);
    assert!(!command(&bench.dir(), &["merge", "other"]).status.success());
    let conflict = bench.text("investigation.yaml");
    // Keep the conflict but quit its merge, as after a conflicting `git stash pop`.
    bench.run(&["merge", "--quit"]);
    bench.commit(&[change("investigation.yaml", "id: server\n"), change("z", "z\n")]);
    assert_eq!(bench.text("investigation.yaml"), conflict);
    assert_eq!(bench.run(&["ls-files", "-u"]).lines().count(), 3);
    bench.assert_sound();
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;

    let bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::create_dir_all(outside.join("R1")).unwrap();
    fs::write(outside.join("R1/R1.A.yaml"), "one\n").unwrap();
    fs::remove_dir_all(bench.file("nodes")).unwrap();
    symlink(&outside, bench.file("nodes")).unwrap();
    symlink(outside.join("made"), bench.file("link")).unwrap();
    bench.commit(&[
        change("nodes/R1/R1.A.yaml", "changed\n"),
        change("nodes/R1/R1.B.yaml", "new\n"),
        change("link", "x\n"),
    ]);
    bench.commit(&[removal("nodes/R1/R1.A.yaml")]);
    assert_eq!(fs::read_to_string(outside.join("R1/R1.A.yaml")).unwrap(), "one\n");
    assert!(!outside.join("R1/R1.B.yaml").exists() && !outside.join("made").exists());
    assert!(fs::symlink_metadata(bench.file("link")).unwrap().is_symlink());
    assert_eq!(bench.run(&["show", "HEAD:nodes/R1/R1.B.yaml"]), "new\n");
    bench.assert_sound();
}

#[cfg(unix)]
#[test]
fn an_executable_stays_one() {
    use std::os::unix::fs::PermissionsExt;

    let bench = Bench::new();
    fs::write(bench.file("run"), "1\n").unwrap();
    fs::set_permissions(bench.file("run"), fs::Permissions::from_mode(0o755)).unwrap();
    bench.run(&["add", "run"]);
    bench.run(&["commit", "-q", "-m", "By hand"]);
    bench.commit(&[change("run", "2\n")]);
    bench.assert_clean();
    assert_eq!(fs::metadata(bench.file("run")).unwrap().permissions().mode() & 0o111, 0o111);
    let files = bench.git.files(bench.head()).unwrap();
    assert_eq!(files.last().unwrap().kind, FileKind::Executable);
}

#[test]
fn paths_that_lead_out_or_are_gits_own_are_refused() {
    let bench = Bench::new();
    for path in [
        "",
        "/etc/x",
        "a//b",
        "a/",
        "../x",
        "a/../b",
        ".",
        ".git/config",
        "a/.GIT/x",
        "a\\b",
        "git~1/x",
        "CON.yaml",
        "a\nb",
        "C:x",
        ".g\u{200c}it/x",
        "a\0b",
    ] {
        let error = bench.git.commit_now(bench.first, &[change(path, "x")], "Bad", AT).unwrap_err();
        assert!(matches!(error, StoreError { kind: StoreErrorKind::InvalidPath, .. }), "{path:?}: {error}");
    }
    let twice = bench.git.commit_now(bench.first, &[change("a", "1"), change("a", "2")], "Bad", AT);
    assert!(matches!(twice, Err(StoreError { kind: StoreErrorKind::InvalidPath, .. })));
    for path in ["nodes", "nodes/R1", "investigation.yaml/x"] {
        let error = bench.git.commit_now(bench.first, &[change(path, "x")], "Bad", AT).unwrap_err();
        assert!(matches!(error, StoreError { kind: StoreErrorKind::PathConflict, .. }), "{path:?}: {error}");
    }
    bench.assert_clean();
    assert_eq!(bench.head(), bench.first);
}

/// Returns the files synced by a commit and a tag, without the names of objects.
fn synced(git: &Git) -> Vec<String> {
    let paths = std::mem::take(&mut *git.disk.synced.lock().unwrap());
    let root = git.work_dir.as_deref().unwrap();
    let mut names: Vec<String> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            match name.strip_prefix(".git/objects/") {
                Some(object) if object.len() > 2 => "object".to_owned(),
                Some(_) => "folder of objects".to_owned(),
                None => name,
            }
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn what_git_is_configured_to_sync_is_synced() {
    let bench = Bench::new();
    let changes = |n: usize| [change("a", &format!("{n}")), change("nodes/R2/b", &format!("b{n}"))];
    let (objects, index, reference) = ("object", ".git/index.lock", ".git/refs/heads/main.lock");
    let settings: [(&str, &[&str]); 6] = [
        ("core.fsync=none", &[]),
        ("core.fsync=loose-object", &[objects]),
        ("core.fsync=reference", &[reference]),
        ("core.fsync=committed", &[reference, objects]),
        ("core.fsync=all", &[index, reference, objects]),
        ("core.fsyncObjectFiles=true", &[objects]),
    ];
    for (n, (setting, expected)) in settings.into_iter().enumerate() {
        let (name, value) = setting.split_once('=').unwrap();
        bench.run(&["config", name, value]);
        let git = open(&bench.dir()).unwrap();
        git.commit_now(bench.head(), &changes(n), "Change", AT).unwrap();
        assert_eq!(synced(&git), expected, "{setting}");
        bench.run(&["config", "--unset", name]);
    }
    bench.assert_clean();
}

#[test]
fn durability_of_the_disk_syncs_all_files_and_their_folders() {
    let folder = crate::testing::folder();
    let dir = folder.path().join("it");
    let options = GitOptions { durability: Durability::Disk, ..GitOptions::ISOLATED };
    let (git, first) = Git::init(options, &dir, "x", &[change("a", "1")], "Start", AT).unwrap();
    assert_eq!(*git.disk.synced.lock().unwrap(), [folder.path()], "the new folder's name, after all in it");
    git.disk.synced.lock().unwrap().clear();
    let changes = [change("a", "2"), change("nodes/R2/b", "3"), removal("absent")];
    let second = git.commit_now(first, &changes, "Change", AT).unwrap();
    let names = synced(&git);
    for wanted in [
        "object",
        "folder of objects",
        ".git/tot-journal",
        ".git/index.lock",
        ".git/refs/heads/main.lock",
        ".git/refs/heads",
        ".git/logs/HEAD",
        ".git/logs/refs/heads/main",
        ".git",
        "a",
        "nodes/R2/b",
        "nodes/R2",
        "nodes",
        "",
    ] {
        assert!(names.iter().any(|name| name == wanted), "{wanted:?} is not in {names:?}");
    }
    git.tag_now("ended/1", second, "End", AT).unwrap();
    let names = synced(&git);
    for wanted in ["object", ".git/refs/tags/ended/1.lock", ".git/refs/tags/ended", ".git/refs/tags"] {
        assert!(names.iter().any(|name| name == wanted), "{wanted:?} is not in {names:?}");
    }
    // A file deleted by the user is not synced.
    fs::remove_file(dir.join("a")).unwrap();
    git.commit_now(second, &[change("a", "4")], "Change", AT).unwrap();
}

#[test]
fn threads_lose_no_commit() {
    let bench = Bench::new();
    let dir = &bench.dir();
    thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                let git = open(dir).unwrap();
                for round in 0..25 {
                    let path = format!("nodes/R{worker}/n{round}");
                    loop {
                        let head = git.head().unwrap().commit.unwrap();
                        match git.commit_now(
                            head,
                            &[change(&path, "x\n"), change("shared", &path)],
                            &path,
                            AT,
                        ) {
                            Ok(_) => break,
                            Err(StoreError { kind: StoreErrorKind::HeadMoved, .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(bench.git.story(bench.head()).unwrap().len(), 101);
    assert_eq!(bench.git.files(bench.head()).unwrap().len(), 103);
    bench.assert_clean();
}

#[test]
fn a_commit_killed_at_any_step_is_recovered() {
    for step in 0..8 {
        // `git gc` may prune unreachable objects before recovery.
        let cases = [(true, true), (false, true), (true, false), (false, false)];
        for (by_commit, has_objects) in cases.into_iter().filter(|(_, has_objects)| *has_objects || step < 5)
        {
            let bench = Bench::new();
            bench.commit(&[change("old", "old\n")]);
            bench.run(&["pack-refs", "--all"]);
            let head = bench.head();
            let changes =
                [change("investigation.yaml", "id: 2\n"), change("nodes/R5/n", "n\n"), removal("old")];
            let (draft, mut journal) = bench.begin(&changes);
            let mut published = false;
            let git_dir = bench.git.path();
            if step == 1 {
                // Killed before recording the index lock.
                killed(IndexLock::take(git_dir).unwrap());
            }
            if step >= 2 {
                let lock = bench.prepare(&draft, &mut journal);
                if step == 3 {
                    fs::write(git_dir.join("HEAD.lock"), format!("{}\n", draft.commit)).unwrap();
                    fs::write(git_dir.join("refs/heads/main.lock"), format!("{}\n", draft.commit)).unwrap();
                }
                if step == 4 {
                    fs::write(git_dir.join("packed-refs.lock"), "").unwrap();
                }
                if step >= 5 {
                    bench.git.move_head(&draft, Vec::new()).unwrap();
                    published = true;
                }
                match step {
                    6.. => lock.put_into_place().unwrap(),
                    _ => killed(lock),
                }
            }
            if step == 7 {
                // The user removes published files before recovery.
                fs::remove_file(bench.file("nodes/R5/n")).unwrap();
            }
            drop(journal);
            if !has_objects {
                bench.run(&["prune", "--expire=now"]);
            }
            let expected = if published { CommitId(draft.commit) } else { head };
            assert_eq!(bench.head(), expected);
            if by_commit {
                bench.git.commit_now(expected, &[change("after", "a\n")], "After", AT).unwrap();
            } else {
                assert!(bench.recovers());
                assert!(!bench.git.recover().unwrap());
            }
            bench.assert_sound();
            let status = if step == 7 { " D nodes/R5/n\n" } else { "" };
            assert_eq!(bench.status(), status, "step {step}");
            assert_eq!(bench.text("investigation.yaml"), if published { "id: 2\n" } else { "id: 1\n" });
            assert_eq!(bench.file("old").exists(), !published);
        }
    }
}

#[test]
fn the_index_lock_of_a_killed_process_is_known_in_a_copy_of_the_folder() {
    let bench = Bench::new();
    let changes = [change("n", "n\n")];
    let (draft, mut journal) = bench.begin(&changes);
    killed(bench.prepare(&draft, &mut journal));
    drop(journal);
    // The same content in another file.
    let (lock, copy) = (bench.git.path().join("index.lock"), bench.git.path().join("copy"));
    fs::copy(&lock, &copy).unwrap();
    fs::rename(&copy, &lock).unwrap();
    bench.commit(&[change("after", "a\n")]);
    bench.assert_clean();
    bench.assert_sound();
}

/// A file is renamed into place before it is synced, so a power cut may leave an empty or zeroed file.
#[test]
fn files_that_a_power_cut_left_without_their_bytes_are_put_right() {
    for torn in ["", "\0\0\0\0\0"] {
        let bench = Bench::new();
        let changes = [change("investigation.yaml", "id: 2\n"), change("nodes/R5/n", "n\n")];
        let (draft, mut journal) = bench.begin(&changes);
        killed(bench.prepare(&draft, &mut journal));
        drop(journal);
        for path in ["investigation.yaml", "nodes/R5/n"] {
            fs::write(bench.file(path), torn).unwrap();
        }
        assert!(bench.recovers());
        assert_eq!(bench.text("investigation.yaml"), "id: 1\n");
        assert!(!bench.file("nodes/R5").exists());
        bench.assert_clean();
        bench.assert_sound();
    }
}

#[test]
fn recovery_keeps_what_the_user_did_since() {
    let bench = Bench::new();
    let changes = [change("investigation.yaml", "id: 2\n"), change("n", "n\n")];
    let (draft, mut journal) = bench.begin(&changes);
    killed(bench.prepare(&draft, &mut journal));
    fs::write(bench.file("investigation.yaml"), "mine\n").unwrap();
    bench.commit(&[change("after", "a\n")]);
    assert_eq!(bench.text("investigation.yaml"), "mine\n");
    assert_eq!(bench.status(), " M investigation.yaml\n");
    bench.assert_sound();
}

#[test]
fn a_journal_cut_short_or_forged_does_no_harm() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("outside.lock");
    fs::write(&outside, "").unwrap();
    let id = bench.first;
    for text in [
        String::new(),
        format!("{JOURNAL_FIRST_LINE}\ntarget {id}\nreference HEAD\n"),
        format!("{JOURNAL_FIRST_LINE}\ntarget {id}\npath - 100644:{id} investigation.yaml\nready {id}\n"),
        journal_text(&format!("{JOURNAL_FIRST_LINE}\ntarget {id}\nreference refs/../../../outside")).unwrap(),
        journal_text(&format!("{JOURNAL_FIRST_LINE}\ntarget {id}\npath - - ../outside.lock")).unwrap(),
        journal_text(&format!("{JOURNAL_FIRST_LINE}\ntarget {id}\npath 100644:{id} 100644:{id} .git/config"))
            .unwrap(),
    ] {
        fs::write(bench.file(".git").join(JOURNAL_FILE), text).unwrap();
        bench.git.recover().unwrap();
        bench.assert_clean();
    }
    assert!(outside.exists());
}

#[test]
fn a_head_lock_of_zero_bytes_blocks_nobody_after_a_power_cut() {
    for has_journal in [true, false] {
        let bench = Bench::new();
        let (draft, mut journal) = bench.begin(&[change("investigation.yaml", "id: 2\n")]);
        killed(bench.prepare(&draft, &mut journal));
        if !has_journal {
            journal.finish();
            fs::remove_file(bench.git.path().join("index.lock")).unwrap();
            bench.run(&["reset", "-q", "--hard"]);
        }
        for name in ["HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"] {
            fs::write(bench.git.path().join(name), [0; 41]).unwrap();
        }
        bench.commit(&[change("after", "a\n")]);
        bench.assert_clean();
        bench.assert_sound();
    }
}

#[test]
fn a_journal_of_zero_bytes_with_an_empty_index_lock_blocks_nobody_after_a_power_cut() {
    let bench = Bench::new();
    for length in [0, 1, 300, 5000] {
        let whole = journal_text(&format!("{JOURNAL_FIRST_LINE}\ntarget {}", bench.head())).unwrap();
        let mut torn = whole.into_bytes();
        torn.truncate(length / 10);
        torn.resize(length.max(1), 0);
        fs::write(bench.git.path().join("index.lock"), "").unwrap();
        fs::write(bench.git.path().join(JOURNAL_FILE), torn).unwrap();
        bench.commit(&[change("after", &format!("{length}\n"))]);
        bench.assert_clean();
        bench.assert_sound();
    }
}

#[test]
fn an_empty_lock_from_before_the_start_of_the_machine_blocks_nobody() {
    let Some(start) = machine_start() else {
        eprintln!("left out: this system does not say when it was started");
        return;
    };
    let bench = Bench::new();
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let lock = fs::File::create(bench.git.path().join(name)).unwrap();
        lock.set_modified(start - Duration::from_secs(60)).unwrap();
    }
    bench.commit(&[change("after", "a\n")]);
    bench.assert_clean();
}

#[test]
fn an_empty_lock_of_a_living_git_beside_no_journal_is_respected() {
    let bench = Bench::new();
    let lock = bench.git.path().join("index.lock");
    fs::write(&lock, "").unwrap();
    let error = bench.git.commit_now(bench.first, &[change("a", "2\n")], "x", AT).unwrap_err();
    assert!(error.to_string() == format!("{} is locked by another process", lock.display()), "{error}");
    assert!(lock.exists());
}

#[test]
fn a_lock_that_recovery_cannot_remove_costs_no_reader_a_second() {
    let bench = Bench::new();
    let (draft, journal) = bench.begin(&[change("investigation.yaml", "id: 2\n")]);
    drop((draft, journal));
    let lock = bench.git.path().join("HEAD.lock");
    fs::write(&lock, "someone else").unwrap();
    let settled = SystemTime::now() - 10 * FOREIGN_LOCK_WAIT;
    fs::File::options().write(true).open(&lock).and_then(|file| file.set_modified(settled)).unwrap();
    let since = Instant::now();
    for _ in 0..10 {
        // Another test may be spawning a child, which holds the writer lock until it executes its program.
        let mut told = bench.git.recover();
        while matches!(told, Ok(false)) && since.elapsed() < FOREIGN_LOCK_WAIT {
            told = bench.git.recover();
        }
        assert!(matches!(told, Err(StoreError { kind: StoreErrorKind::Locked, .. })), "{told:?}");
    }
    assert!(since.elapsed() < 5 * FOREIGN_LOCK_WAIT, "{:?} for ten", since.elapsed());
    assert!(lock.exists());
}

/// Waits until a commit has begun. Its next step is to take the index lock.
fn wait_for_journal(journal: &Path) {
    while fs::metadata(journal).map_or(0, |journal| journal.len()) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_lock_of_a_living_git_is_respected() {
    let bench = Bench::new();
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let lock = bench.git.path().join(name);
        fs::write(&lock, "someone else").unwrap();
        let error =
            bench.git.commit_now(bench.first, &[change("investigation.yaml", "2\n")], "x", AT).unwrap_err();
        assert!(
            error.to_string() == format!("{} is locked by another process", lock.display()),
            "{name}: {error}"
        );
        assert_eq!(fs::read_to_string(&lock).unwrap(), "someone else");
        fs::remove_file(&lock).unwrap();
        bench.assert_clean();
    }
    // If a lock is released in time, the writer just waits for it.
    let lock = bench.git.path().join("index.lock");
    fs::write(&lock, "").unwrap();
    let journal = bench.file(".git").join(JOURNAL_FILE);
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_journal(&journal);
            thread::sleep(Duration::from_millis(20));
            fs::remove_file(&lock).unwrap();
        });
        bench.commit(&[change("investigation.yaml", "2\n")]);
    });
    bench.assert_clean();
}

#[test]
fn a_merge_that_begins_meanwhile_is_not_committed_into() {
    let bench = Bench::new();
    let (lock, merge) = (bench.git.path().join("index.lock"), bench.git.path().join("MERGE_HEAD"));
    fs::write(&lock, "").unwrap();
    let journal = bench.file(".git").join(JOURNAL_FILE);
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_journal(&journal);
            fs::write(&merge, format!("{}\n", bench.first)).unwrap();
            fs::remove_file(&lock).unwrap();
        });
        bench.git.commit_now(bench.first, &[change("investigation.yaml", "2\n")], "x", AT).unwrap_err()
    });
    assert!(error.to_string().starts_with("a merge is in progress"), "{error}");
    fs::remove_file(&merge).unwrap();
    assert_eq!(bench.head(), bench.first);
    bench.assert_clean();
    bench.commit(&[change("investigation.yaml", "2\n")]);
    bench.assert_clean();
}

/// The process that [`a_killed_process_leaves_a_sound_repository`] kills. This is not a test in itself.
#[test]
#[ignore = "the child process of another test"]
fn writes_until_killed() {
    let Some(dir) = std::env::var_os("TOT_TEST_KILLED_DIR") else { return };
    let git = open(Path::new(&dir)).unwrap();
    let acknowledged = Path::new(&dir).with_extension("acknowledged");
    let mut log = OpenOptions::new().append(true).create(true).open(acknowledged).unwrap();
    for round in 0.. {
        let head = git.head().unwrap().commit.unwrap();
        let text = format!("{head}\n").repeat(50);
        let path = format!("nodes/R{}/n{round}", round % 3);
        let changes = [change(&path, &text), change("investigation.yaml", &text), removal("flip")];
        let commit = git.commit_now(head, &changes, "Round", AT).unwrap();
        let commit = git.commit_now(commit, &[change("flip", &text)], "Flip", AT).unwrap();
        log.write_all(format!("{commit}\n").as_bytes()).unwrap();
    }
}

#[test]
fn a_killed_process_leaves_a_sound_repository() {
    let bench = Bench::new();
    let kills: u64 = std::env::var("TOT_TEST_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12);
    let length = || fs::metadata(bench.dir().with_extension("acknowledged")).map_or(0, |log| log.len());
    for kill in 0..kills {
        if kill == kills / 2 {
            bench.run(&["gc", "-q", "--prune=now"]);
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::git::tests::writes_until_killed", "--ignored", "--quiet"])
            .env("TOT_TEST_KILLED_DIR", bench.dir())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // On a busy machine, the process may have to wait for the lock.
        let before = length();
        while length() == before {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros((kill * 7_919) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        bench.git.recover().unwrap();
        bench.assert_clean();
    }
    let acknowledged = fs::read_to_string(bench.dir().with_extension("acknowledged")).unwrap();
    let history = bench.git.story(bench.head()).unwrap();
    let history: HashSet<String> = history.iter().map(|commit| commit.id.to_string()).collect();
    // The last line may be truncated.
    let acknowledged: Vec<&str> = acknowledged.lines().filter(|line| line.len() == 40).collect();
    assert!(!acknowledged.is_empty());
    assert!(acknowledged.iter().all(|line| history.contains(*line)));
}

#[test]
fn commits_go_on_while_git_collects_garbage() {
    let bench = Bench::new();
    let (dir, done) = (&bench.dir(), &AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(move || {
            // Git gives up if it encounters a commit's lock, as with its own commits.
            let gives_up_only_for_a_lock = |arguments: &[&str]| {
                let output = command(dir, arguments);
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(
                    output.status.success() || said.contains("lock") || said.contains("reflog"),
                    "{said}"
                );
            };
            while !done.load(Ordering::Relaxed) {
                gives_up_only_for_a_lock(&["gc", "-q"]);
                gives_up_only_for_a_lock(&["pack-refs", "--all"]);
            }
        });
        // A panic here would leave the other thread running forever.
        let outcome: StoreResult<Vec<_>> = (0..60)
            .map(|round| {
                let head = bench.git.head()?.commit.unwrap();
                let path = format!("n{}", round % 7);
                match bench.git.commit_now(head, &[change(&path, &format!("{round}\n"))], "x", AT) {
                    Err(StoreError { kind: StoreErrorKind::Locked, .. }) => Ok(head),
                    other => other,
                }
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    bench.run(&["gc", "-q"]);
    bench.assert_clean();
}

#[test]
fn nothing_is_acknowledged_that_a_collection_under_way_deletes_afterwards() {
    let bench = Bench::new();
    let (note, host) = (bench.git.path().join("gc.pid"), host_name());
    fs::write(&note, format!("{} {host}\n", std::process::id())).unwrap();
    thread::scope(|scope| {
        let (dir, git_dir, first, note) = (bench.dir(), bench.git.path(), bench.first.to_string(), &note);
        let collection = scope.spawn(move || {
            // The collector has determined the unreachable objects before the head moves, and deletes them
            // now.
            while run_in(&dir, &["rev-parse", "HEAD"]).trim() == first {}
            thread::sleep(Duration::from_millis(50));
            for line in run_in(&dir, &["rev-list", "--objects", &format!("{first}..HEAD")]).lines() {
                let _ = fs::remove_file(git_dir.join("objects").join(&line[..2]).join(&line[2..40]));
            }
            fs::remove_file(note).unwrap();
        });
        bench.commit(&[change("nodes/R1/R1.B.yaml", "two\n")]);
        assert!(!note.exists(), "it is waited for");
        collection.join().unwrap();
    });
    bench.assert_clean();

    // A collection that died without removing its file is ignored.
    let dead = Command::new("git").arg("version").stdout(std::process::Stdio::null()).spawn().unwrap();
    let (process, _) = (dead.id(), dead.wait_with_output().unwrap());
    fs::write(&note, format!("{process} {host}")).unwrap();
    let since = Instant::now();
    bench.commit(&[change("nodes/R1/R1.C.yaml", "three\n")]);
    assert!(since.elapsed() < Duration::from_secs(5));
    bench.assert_clean();
}

#[test]
fn an_object_that_git_has_pruned_is_written_again() {
    let bench = Bench::new();
    let lost = bench.commit(&[change("a", "the same\n")]);
    bench.run(&["gc", "-q", "--prune=now"]);
    // The handle knows the pack that contains the file.
    let files = bench.git.files(lost).unwrap();
    bench.git.read(files[0].blob, 100).unwrap();
    bench.run(&["reset", "-q", "--hard", "HEAD~1"]);
    bench.run(&["reflog", "expire", "--expire=now", "--all"]);
    bench.run(&["gc", "-q", "--prune=now"]);
    bench.commit(&[change("a", "the same\n")]);
    bench.assert_clean();
}

#[test]
fn a_detached_head_is_refused_and_another_branch_is_followed() {
    let bench = Bench::new();
    bench.run(&["checkout", "-q", "--detach"]);
    let refused = |hint: &str| {
        let head = bench.git.head().unwrap();
        assert_eq!(head.branch, None);
        let error = bench.git.commit_now(head.commit.unwrap(), &[], "x", AT).unwrap_err();
        assert_eq!(
            (&error.kind, error.hint().as_deref()),
            (&StoreErrorKind::Detached, Some(hint)),
            "{error}"
        );
        assert_eq!(bench.git.head().unwrap(), head);
        bench.assert_clean();
    };
    refused("Go back to its branch with `git switch main`");
    // No command in the hint leaves this commit behind.
    bench.run(&["commit", "-q", "--allow-empty", "-m", "By hand"]);
    let kept = bench.run(&["rev-parse", "HEAD"]);
    refused(&format!("No branch has this commit yet. Keep it with `git switch -c kept-{:.10}`", kept.trim()));
    bench.run(&["branch", "-f", "other"]);
    refused("Go back to its branch with `git switch other`");
    bench.run(&["checkout", "-q", "-b", "side/branch", "main"]);
    let side = bench.commit(&[change("a", "2\n")]);
    assert_eq!(bench.run(&["rev-parse", "side/branch"]).trim(), side.to_string());
    bench.assert_clean();
    bench.run(&["checkout", "-q", "--orphan", "unborn"]);
    assert_eq!(
        bench.git.head().unwrap(),
        Head { branch: Some("refs/heads/unborn".to_owned()), commit: None }
    );
    let error = bench.git.commit_now(side, &[], "x", AT).unwrap_err();
    assert!(error.to_string().contains("without a commit"));
}

#[test]
fn a_missing_index_is_made_again() {
    let bench = Bench::new();
    fs::remove_file(bench.file(".git/index")).unwrap();
    bench.commit(&[change("a", "1\n")]);
    bench.assert_clean();
}

#[test]
fn a_damaged_index_is_refused_or_read_and_never_panics() {
    let bench = Bench::with(&["a", "b/c", "b/d", "e"].map(|name| change(name, name)));
    // With the tree cache.
    bench.run(&["read-tree", "HEAD"]);
    bench.run(&["status"]);
    let path = bench.file(".git/index");
    let whole = fs::read(&path).unwrap();
    let tree = bench.git.tree_of(bench.first.0).unwrap();
    let flipped = (0..whole.len()).flat_map(|at| {
        [0, 0x40, 0x7f, 0xff].map(|byte| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        })
    });
    let mut read = 0;
    for bytes in flipped.chain((0..whole.len()).map(|len| whole[..len].to_vec())) {
        fs::write(&path, bytes).unwrap();
        if let Ok(index) = bench.git.load_index(tree) {
            index.write_to(Vec::new(), gix::index::write::Options::default()).unwrap();
            read += 1;
        }
    }
    assert!(read > 0);
    fs::write(&path, whole).unwrap();
    bench.assert_clean();
}

#[test]
fn revisions_are_resolved() {
    let bench = Bench::new();
    let second = bench.commit(&[change("a", "1\n")]);
    bench.git.tag_now("ended/1", bench.first, "Ended", AT).unwrap();
    bench.run(&["tag", "light", "HEAD"]);
    let resolve = |rev: &str| bench.git.resolve(rev).unwrap();
    for rev in ["HEAD", "main", "refs/heads/main", "light", &second.to_string(), &second.to_string()[..8]] {
        assert_eq!(resolve(rev), Some(second), "{rev}");
    }
    let tag = bench.run(&["rev-parse", "refs/tags/ended/1"]);
    // A tag object points to its commit.
    for rev in ["ended/1", tag.trim(), "HEAD~1", "main^", "HEAD~^0", "light^1"] {
        assert_eq!(resolve(rev), Some(bench.first), "{rev}");
    }
    let odd = [
        "",
        "none",
        "config",
        "../config",
        "0000000",
        "refs/heads",
        "-x",
        "a b",
        "~",
        "^",
        "@{",
        "HEAD^{",
        "\0",
    ];
    let beyond =
        ["HEAD~2", "HEAD^2", "HEAD~-1", "HEAD~99999999999999999999", "HEAD..main", "HEAD:investigation.yaml"];
    for rev in odd.into_iter().chain(beyond).chain([&*"0".repeat(40), &*"^".repeat(10_000)]) {
        assert_eq!(resolve(rev), None, "{rev:?}");
    }
    let tree = bench.run(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(resolve(tree.trim()), None, "a tree is no commit");
}

#[test]
fn the_beginning_of_several_ids_is_told_as_that() {
    let bench = Bench::new();
    let tree = bench.git.tree_of(bench.first.0).unwrap();
    let mut seen = HashSet::new();
    let prefix = (0..).find_map(|n| {
        let commit = format!("tree {tree}\nauthor A <a> {n} +0000\ncommitter A <a> {n} +0000\n\nx\n");
        let id = bench.git.objects.write_buf(Kind::Commit, commit.as_bytes()).unwrap();
        let prefix = id.to_string()[..4].to_owned();
        (!seen.insert(prefix.clone())).then_some(prefix)
    });
    let error = bench.git.resolve(&prefix.unwrap()).unwrap_err();
    assert!(matches!(error, StoreError { kind: StoreErrorKind::Ambiguous, .. }), "{error}");
}

#[test]
fn tags_are_made_once_and_listed() {
    let bench = Bench::new();
    let second = bench.commit(&[change("a", "1\n")]);
    bench.git.tag_now("ended/1", bench.first, "It ended.", AT).unwrap();
    bench.git.tag_now("ended/2", second, "It ended again.\n", AT + 5).unwrap();
    bench.run(&["tag", "light"]);
    bench.run(&["tag", "on-a-tree", "HEAD^{tree}"]);
    let error = bench.git.tag_now("ended/1", second, "Again", AT).unwrap_err();
    assert!(matches!(error, StoreError { kind: StoreErrorKind::TagExists, .. }), "{error}");
    for name in ["", "a b", "a..b", "x.lock", "a//b", "x/"] {
        let error = bench.git.tag_now(name, second, "x", AT).unwrap_err();
        assert!(error.to_string().starts_with("could not validate a reference name"), "{name:?}: {error}");
    }
    let unknown = CommitId::from_str(&"1".repeat(40)).unwrap();
    assert!(matches!(
        bench.git.tag_now("x", unknown, "x", AT),
        Err(StoreError { kind: StoreErrorKind::Missing, .. })
    ));
    let tags = [("ended/1", bench.first), ("ended/2", second), ("light", second)];
    assert_eq!(bench.git.tags().unwrap(), tags.map(|(name, id)| (name.to_owned(), id)));
    assert_eq!(bench.run(&["cat-file", "-t", "ended/1"]), "tag\n");
    assert_eq!(
        bench.run(&[
            "for-each-ref",
            "--format=%(taggername) %(taggerdate:raw) %(contents:subject)",
            "refs/tags/ended"
        ]),
        format!("Tree of Thoughts {AT} +0000 It ended.\nTree of Thoughts {} +0000 It ended again.\n", AT + 5)
    );
    bench.assert_clean();
}

#[test]
fn commits_are_published_together_and_with_their_tag_or_not_at_all() {
    let (one, two) = ([change("a", "1\n"), change("b", "1\n")], [change("a", "2\n"), removal("b")]);
    let published = |bench: &Bench| {
        let text = |changes| CommitText { changes, message: "Change", at: AT };
        let tag = TagText { name: "ended/1".into(), message: "Ended".into(), at: AT };
        bench.git.writer()?.commit(bench.first, &[text(&one), text(&two)], Some(&tag), |last| {
            bench.git.files(last).map(|files| assert!(files.iter().all(|file| file.path != "b")))
        })
    };
    let tags = |bench: &Bench| bench.run(&["for-each-ref", "--format=%(refname)", "refs/tags/ended"]);
    for obstacle in ["ended", "ended, packed", "ended/1/x", "ended/1.lock", "packed-refs.lock"] {
        let bench = Bench::new();
        match obstacle.split_once(".lock") {
            Some((name, _)) => {
                let name = if name == "packed-refs" { name } else { "refs/tags/ended/1" };
                let lock = bench.git.path().join(format!("{name}.lock"));
                fs::create_dir_all(lock.parent().unwrap()).unwrap();
                fs::write(lock, "").unwrap();
            }
            None => drop(bench.run(&["tag", obstacle.trim_end_matches(", packed")])),
        }
        if obstacle.ends_with("packed") {
            bench.run(&["pack-refs", "--all"]);
        }
        let before = tags(&bench);
        let error = published(&bench).map(drop).unwrap_err();
        assert!(
            matches!(error.kind, StoreErrorKind::TagExists | StoreErrorKind::Locked),
            "{obstacle}: {error}"
        );
        assert_eq!((bench.head(), bench.status(), tags(&bench)), (bench.first, String::new(), before));
    }
    // Nobody holds these locks for an hour.
    let bench = Bench::new();
    for name in ["HEAD", "refs/heads/main", "packed-refs", "index"] {
        let lock = bench.git.path().join(format!("{name}.lock"));
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        fs::write(&lock, "").unwrap();
        let file = fs::File::options().write(true).open(&lock).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(4_000)).unwrap();
    }
    let (commits, confirmed) = published(&bench).unwrap();
    confirmed.unwrap();
    assert_eq!(bench.run(&["rev-list", "--reverse", "HEAD"]).lines().skip(1).collect::<Vec<_>>(), {
        commits.iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    assert_eq!(bench.run(&["rev-parse", "ended/1^{}", "HEAD@{1}", "main@{1}"]), {
        format!("{}\n{first}\n{first}\n", commits[1], first = bench.first)
    });
    assert_eq!((bench.text("a").as_str(), bench.file("b").exists()), ("2\n", false));
    bench.assert_clean();
}

#[test]
fn an_index_that_cannot_be_replaced_does_not_undo_the_commit() {
    let bench = Bench::new();
    let (draft, mut journal) = bench.begin(&[change("n", "n\n")]);
    let mut lock = IndexLock::take(bench.git.path()).unwrap();
    // A file can't be renamed to a folder.
    let index = std::mem::replace(&mut lock.index, bench.file("nodes"));
    let confirmed = bench.git.publish(&draft, Some(lock), Some(&mut journal)).unwrap();
    assert!(confirmed.is_err() && index.exists());
    assert_eq!(bench.head().0, draft.commit);
    drop(journal);
    assert!(bench.recovers());
    bench.assert_clean();
}

#[test]
fn a_tag_killed_halfway_is_recovered() {
    let bench = Bench::new();
    let references = ["refs/tags/ended/1".to_owned()];
    drop(Journal::begin(bench.git.path(), &[bench.first.0], &references, &[]).unwrap());
    fs::create_dir_all(bench.file(".git/refs/tags/ended")).unwrap();
    fs::write(bench.file(".git/refs/tags/ended/1.lock"), format!("{}\n", bench.first)).unwrap();
    bench.git.tag_now("ended/1", bench.first, "Ended", AT).unwrap();
    assert_eq!(bench.git.tags().unwrap().len(), 1);
    assert!(!bench.file(".git/refs/tags/ended/1.lock").exists());
    bench.assert_clean();
}

#[test]
fn the_log_follows_first_parents() {
    let bench = Bench::new();
    bench.run(&["checkout", "-q", "-b", "side"]);
    let side = bench.commit(&[change("side", "1\n")]);
    bench.run(&["checkout", "-q", "main"]);
    let main = bench
        .git
        .commit_now(bench.first, &[change("main", "1\n")], "On main\n\nNode: R1.A", AT + 60)
        .unwrap();
    bench.run(&["merge", "-q", "-m", "Merge", "side"]);
    let log = bench.git.story(bench.head()).unwrap();
    assert_eq!(log.iter().map(|commit| commit.id).collect::<Vec<_>>(), [bench.head(), main, bench.first]);
    assert_eq!(log[0].parents, [main, side]);
    assert_eq!(log[0].author_email, "person@example.com");
    assert!(log[1].message.starts_with("On main\n\nNode: R1.A\nTot-Checksum: 1-"), "{:?}", log[1].message);
    assert_eq!(log[1].seconds, AT + 60);
    let unknown = CommitId::from_str(&"1".repeat(40)).unwrap();
    assert!(matches!(bench.git.story(unknown), Err(StoreError { kind: StoreErrorKind::Missing, .. })));
}

#[test]
fn a_shallow_clone_ends_quietly() {
    let bench = Bench::new();
    bench.commit(&[change("a", "1\n")]);
    let url = format!("file://{}", bench.dir().display());
    run_in(bench.folder.path(), &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let git = open(&bench.folder.path().join("shallow")).unwrap();
    assert_eq!(git.story(bench.head()).unwrap().len(), 1);
    git.commit_now(bench.head(), &[change("a", "2\n")], "x", AT).unwrap();
    assert_eq!(run_in(&bench.folder.path().join("shallow"), &["status", "--porcelain"]), "");
}

#[test]
fn a_diff_names_files_only() {
    let bench = Bench::new();
    let second = bench.commit(&[
        change("nodes/R2/b", "b\n"),
        change("nodes/R2/a", "a\n"),
        removal("nodes/R1/R1.A.yaml"),
        change("investigation.yaml", "id: 2\n"),
    ]);
    let shape = |before, after| -> Vec<(String, bool, bool)> {
        let changes = bench.git.diff(before, after).unwrap();
        changes.into_iter().map(|c| (c.path, c.before.is_some(), c.after.is_some())).collect()
    };
    assert_eq!(
        shape(Some(bench.first), second),
        [
            ("investigation.yaml".to_owned(), true, true),
            ("nodes/R1/R1.A.yaml".to_owned(), true, false),
            ("nodes/R2/a".to_owned(), false, true),
            ("nodes/R2/b".to_owned(), false, true),
        ]
    );
    assert_eq!(
        shape(None, bench.first),
        [("investigation.yaml".to_owned(), false, true), ("nodes/R1/R1.A.yaml".to_owned(), false, true),]
    );
    assert_eq!(shape(Some(second), second), []);
    let blob = bench.git.diff(None, second).unwrap()[0].after.unwrap();
    assert_eq!(bench.git.read(blob, 6).unwrap(), b"id: 2\n");
}

#[test]
fn what_a_pack_holds_as_differences_is_read_whole_in_any_order() {
    let bench = Bench::new();
    let text = |version: usize| {
        (0..200)
            .map(|line| format!("{} {line}\n", if line < version { version } else { 0 }))
            .collect::<String>()
    };
    let commits: Vec<CommitId> =
        (1..40).map(|version| bench.commit(&[change("a", &text(version))])).collect();
    bench.run(&["gc", "-q", "--prune=now"]);
    let git = open(&bench.dir()).unwrap();
    let blobs: Vec<BlobId> = commits
        .iter()
        .map(|commit| git.files(*commit).unwrap().iter().find(|file| file.path == "a").unwrap().blob)
        .collect();
    for at in (0..blobs.len()).chain((0..blobs.len()).rev()) {
        assert_eq!(git.read(blobs[at], 1 << 20).unwrap(), text(at + 1).into_bytes());
    }
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let bench = Bench::with(&[change("big", &"x".repeat(100_000))]);
    let blob = bench.git.files(bench.first).unwrap()[0].blob;
    let error = bench.git.read(blob, 99_999).unwrap_err();
    assert!(error.to_string().ends_with("has 100000 bytes; the limit is 99999"));
    assert_eq!(bench.git.read(blob, 100_000).unwrap().len(), 100_000);
    assert!(matches!(
        bench.git.read(BlobId(bench.first.0), 10),
        Err(StoreError { kind: StoreErrorKind::Missing, .. })
    ));
}

#[test]
fn a_bare_clone_is_read_and_written() {
    let bench = Bench::new();
    let second = bench.commit(&[change("a", "1\n")]);
    run_in(bench.folder.path(), &["clone", "-q", "--bare", "it", "bare.git"]);
    let dir = bench.folder.path().join("bare.git");
    let git = open(&dir).unwrap();
    assert_eq!(git.work_dir.as_deref(), None);
    assert_eq!(git.head().unwrap().commit, Some(second));
    assert_eq!(git.files(second).unwrap(), bench.git.files(second).unwrap());
    let third = git.commit_now(second, &[change("b", "2\n")], "Bare", AT).unwrap();
    assert_eq!(run_in(&dir, &["log", "--format=%H", "-1"]).trim(), third.to_string());
    assert!(!dir.join("index").exists());
    assert_eq!(run_in(&dir, &["fsck", "--strict"]), "");
}

#[test]
fn the_identity_is_the_repositorys_users() {
    let bench = Bench::new();
    bench.run(&["config", "user.name", " Ada <Lovelace>. "]);
    bench.run(&["config", "user.email", "ada@example.com"]);
    bench.run(&["config", "committer.name", "The Committer"]);
    bench.run(&["config", "commit.gpgSign", "true"]);
    bench.run(&["config", "gpg.program", "/bin/false"]);
    let git = open(&bench.dir()).unwrap();
    git.commit_now(bench.first, &[change("a", "1\n")], "x", AT).unwrap();
    assert_eq!(
        bench.run(&["log", "-1", "--format=%an <%ae>, %cn <%ce>"]),
        "Ada Lovelace <ada@example.com>, The Committer <ada@example.com>\n"
    );
    bench.assert_clean();
}

#[test]
fn the_identity_of_the_environment_and_the_user_is_taken() {
    let bench = Bench::new();
    let config = bench.folder.path().join("config");
    fs::write(&config, "").unwrap();
    // Use a separate process, because the test depends on its environment.
    let mut commit = Command::new(std::env::current_exe().unwrap());
    commit
        .args(["--exact", "store::git::tests::commits_as_the_environment_says", "--ignored"])
        .env("TOT_TEST_IDENTITY_DIR", bench.dir())
        .env("HOME", bench.folder.path())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", &config)
        .env("GIT_AUTHOR_NAME", "From the environment")
        .env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
        .env("GIT_INDEX_FILE", bench.folder.path().join("elsewhere"))
        .env("GIT_NAMESPACE", "space")
        .env("GIT_OBJECT_DIRECTORY", bench.folder.path());
    assert!(commit.output().unwrap().status.success());
    let last = || bench.run(&["log", "-1", "--format=%an <%ae>, %cn <%ce> %at"]);
    let expected = format!("From the environment <tot@localhost>, Tree of Thoughts <tot@localhost> {AT}\n");
    assert_eq!(last(), expected);
    // A hook has the author of the commit that is being made in its environment, and exports where that is made.
    fs::write(&config, "[user]\nname = The user\n").unwrap();
    commit.env("GIT_WORK_TREE", bench.folder.path()).env("TOT_TEST_IDENTITY_TEXT", "2\n");
    assert!(commit.output().unwrap().status.success());
    assert!(last().starts_with("The user <"), "{}", last());
    bench.assert_clean();
    assert!(!bench.folder.path().join("elsewhere").exists());
}

/// The process that [`the_identity_of_the_environment_and_the_user_is_taken`] starts. This is not a test in itself.
#[test]
#[ignore = "the child process of another test"]
fn commits_as_the_environment_says() {
    let Some(dir) = std::env::var_os("TOT_TEST_IDENTITY_DIR") else { return };
    let git = Git::open(Path::new(&dir), GitOptions::default()).unwrap();
    let head = git.head().unwrap().commit.unwrap();
    let text = std::env::var("TOT_TEST_IDENTITY_TEXT").unwrap_or("1\n".to_owned());
    git.commit_now(head, &[change("a", &text)], "x", AT).unwrap();
}

#[test]
fn a_repository_that_leads_elsewhere_is_refused() {
    let bench = Bench::new();
    let refused = |dir: &Path| match open(dir).err() {
        Some(error @ StoreError { kind: StoreErrorKind::Refused, .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    bench.run(&["config", "core.worktree", "/etc"]);
    assert!(refused(&bench.dir()).ends_with("has its work tree in another folder"));
    bench.run(&["config", "--unset", "core.worktree"]);
    open(&bench.dir()).unwrap();

    run_in(bench.folder.path(), &["clone", "-q", "--shared", "it", "shared"]);
    assert!(
        refused(&bench.folder.path().join("shared")).ends_with("points to the objects of another repository")
    );

    bench.run(&["worktree", "add", "-q", "../linked"]);
    assert!(
        refused(&bench.folder.path().join("linked")).ends_with("is a file that points to another folder")
    );

    let empty = bench.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(open(&empty), Err(StoreError { kind: StoreErrorKind::NotARepository, .. })));
    assert!(matches!(
        open(&bench.file("nodes")),
        Err(StoreError { kind: StoreErrorKind::NotARepository, .. })
    ));
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(bench.file(".git"), empty.join(".git")).unwrap();
        assert!(refused(&empty).ends_with("is a symbolic link"));
        fs::rename(bench.file(".git/objects"), bench.folder.path().join("objects")).unwrap();
        symlink(bench.folder.path().join("objects"), bench.file(".git/objects")).unwrap();
        assert!(refused(&bench.dir()).ends_with("is a symbolic link"));
    }
}

#[test]
fn formats_that_cannot_be_read_are_named() {
    let folder = crate::testing::folder();
    for (option, reason) in [("--object-format=sha256", "sha256"), ("--ref-format=reftable", "reftable")] {
        let name = option.split('=').next_back().unwrap();
        run_in(folder.path(), &["init", "-q", option, name]);
        let error = open(&folder.path().join(name)).err().unwrap();
        assert!(matches!(error, StoreError { kind: StoreErrorKind::Unsupported, .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn hostile_trees_are_capped_and_marked() {
    let bench = Bench::new();
    let write = |kind: Kind, bytes: &[u8]| bench.git.objects.write_buf(kind, bytes).unwrap();
    let blob = write(Kind::Blob, b"x\n");
    let raw = |entries: &[(&str, &str, ObjectId)]| {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_slice());
        }
        write(Kind::Tree, &bytes)
    };
    let commit_of = |tree: ObjectId| {
        let id = run_in(&bench.dir(), &["commit-tree", &tree.to_string(), "-m", "x"]);
        CommitId::from_str(id.trim()).unwrap()
    };
    // Ten folders in ten folders, twelve levels deep: 10^12 files.
    let mut bomb = raw(&[("100644", "f", blob)]);
    for _ in 0..12 {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        let entries: Vec<_> = names.iter().map(|name| ("40000", name.as_str(), bomb)).collect();
        bomb = raw(&entries);
    }
    let bomb = commit_of(bomb);
    assert!(matches!(bench.git.files(bomb), Err(StoreError { kind: StoreErrorKind::TooMuch, .. })));
    assert!(matches!(bench.git.diff(None, bomb), Err(StoreError { kind: StoreErrorKind::TooMuch, .. })));
    let mut deep = raw(&[("100644", "f", blob)]);
    for _ in 0..200 {
        deep = raw(&[("40000", "d", deep)]);
    }
    let deep = commit_of(deep);
    assert!(matches!(bench.git.files(deep), Err(StoreError { kind: StoreErrorKind::TooMuch, .. })));
    assert!(matches!(bench.git.diff(None, deep), Err(StoreError { kind: StoreErrorKind::TooMuch, .. })));

    let inner = raw(&[("100644", "config", blob)]);
    let odd = raw(&[
        ("100644", "..", blob),
        ("40000", ".GIT", inner),
        ("120000", "link", blob),
        ("160000", "module", blob),
    ]);
    let kinds = bench.git.files(commit_of(odd)).unwrap();
    let kinds: Vec<_> = kinds.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("..", FileKind::Unsafe),
            (".GIT/config", FileKind::Unsafe),
            ("link", FileKind::Symlink),
            ("module", FileKind::Submodule)
        ]
    );

    // Entries out of order: committing on top is an error but does not panic.
    let unsorted = raw(&[("100644", "z", blob), ("40000", "nodes", inner), ("100644", "a", blob)]);
    let unsorted = commit_of(unsorted);
    bench.run(&["update-ref", "HEAD", &unsorted.to_string()]);
    for path in ["a", "nodes/x", "q"] {
        let error = bench.git.commit_now(unsorted, &[change(path, "1")], "x", AT).unwrap_err();
        assert!(matches!(error, StoreError { kind: StoreErrorKind::Damaged, .. }), "{error}");
    }
}

#[test]
fn ids_are_read_and_shown() {
    let text = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(CommitId::from_str(text).unwrap().to_string(), text);
    assert_eq!(format!("{:?}", BlobId::from_str(text).unwrap()), format!("BlobId({text})"));
    for bad in ["", "0123", "x123456789abcdef0123456789abcdef01234567", &text.repeat(2)] {
        assert!(BlobId::from_str(bad).is_err());
    }
}

/// Merge histories in which all commits have the same time, as in a busy team.
#[test]
fn what_two_histories_have_in_common_and_how_far_they_are_apart_is_what_git_says() {
    let bench = Bench::new();
    let at = format!("{AT} +0000");
    let commit = |parents: &[&String], message: &str| {
        let mut command = Command::new("git");
        command.arg("-C").arg(bench.dir()).args(["commit-tree", "HEAD^{tree}", "-m", message]);
        parents.iter().for_each(|parent| _ = command.args(["-p", parent]));
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_DATE"), &at).env(format!("GIT_{name}_NAME"), "Tester");
            command.env(format!("GIT_{name}_EMAIL"), "tester@localhost");
        }
        let output = command.output().expect("git is on the PATH");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    // SplitMix64.
    let mut state = 7_u64;
    let mut below = |most: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap()
    };
    let mut commits = vec![bench.first.to_string()];
    for number in 0..60 {
        let recent = &commits[commits.len().saturating_sub(9)..];
        let (one, other) = (&recent[below(recent.len())], &recent[below(recent.len())]);
        let parents = if one == other { vec![one] } else { vec![one, other] };
        commits.push(commit(&parents, &number.to_string()));
    }
    bench.run(&["config", "remote.origin.url", "https://example.org/x.git"]);
    bench.run(&["config", "branch.main.remote", "origin"]);
    for _ in 0..80 {
        let (one, other) = (&commits[below(commits.len())], &commits[below(commits.len())]);
        let output = command(&bench.dir(), &["merge-base", "--all", one, other]);
        let mut said: Vec<CommitId> =
            String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
        said.sort();
        let (ours, theirs) = (one.parse().unwrap(), other.parse().unwrap());
        let git = open(&bench.dir()).unwrap();
        assert_eq!(git.merge_bases(ours, &[theirs]).unwrap(), said, "{one} {other}");
        let said = bench.run(&["rev-list", "--left-right", "--count", &format!("{one}...{other}")]);
        let said: Vec<usize> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
        bench.run(&["update-ref", "refs/remotes/origin/main", other]);
        let upstream = open(&bench.dir()).unwrap().upstream("refs/heads/main", ours).unwrap();
        assert_eq!(upstream.apart, Some((said[0], said[1])), "{one} {other}");
    }
}
