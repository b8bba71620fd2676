//! The cost of a commit in the store, with git's command line and with libgit2, as an investigation grows.
//!
//! Each has its own repository with the same 10, 100, 1,000 and 10,000 nodes of 3 KB, with ids as `tot_next` gives them.
//! Each round of nodes is three times as large as the one before until it has a ninth of the nodes, at most 1,000; with
//! `SHAPE=wide` in the environment, all rounds after the first are as large as the last. Each program commits the same
//! three files, two new nodes and a changed one: first without fsync, which is git's default, then with it (ours
//! `--durability disk`, git `core.fsync=all`, libgit2 `core.fsyncObjectFiles`). The sizes alternate and so do the programs,
//! so that other load affects all alike.
//!
//! ```text
//! cargo bench -p bench --features libgit2 --bench store              # all sizes, 31 rounds
//! cargo bench -p bench --features libgit2 --bench store -- 100 10000 # these sizes
//! ```
//!
//! `TMPDIR=/dev/shm` in the environment measures in memory, where fsync costs nothing. `ROUNDS=7` makes it shorter.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that can't go on has failed, and it prints"
)]

#[allow(dead_code, reason = "other programs use more of it")]
#[path = "../specimens/large.rs"]
mod large;
#[allow(dead_code, reason = "other programs use more of it")]
#[path = "../specimens/repository.rs"]
mod repository;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tree_of_thoughts::domain::NodeId;
use tree_of_thoughts::format::{FileChange, layout};
use tree_of_thoughts::store::git::{CommitText, Durability, Git, GitOptions};

/// The server's own setting.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const NAMES: [&str; 3] = ["ours", "git", "libgit2"];
const MESSAGE: &str = "Commit three nodes";
const AT: i64 = 1_795_000_000;

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes };
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(31);
    for durable in [false, true] {
        let with = if durable { "With" } else { "Without" };
        println!("{with} fsync: medians of {rounds} in ms, and the bytes of objects per commit of ours");
        println!(" nodes     ours      git  libgit2  git/ours  lg2/ours    bytes");
        let mut contests: Vec<Contest> = sizes.iter().map(|size| Contest::new(*size, durable)).collect();
        for round in 0..rounds {
            contests.iter_mut().for_each(|contest| contest.play(round));
        }
        contests.into_iter().for_each(|contest| contest.print(rounds));
    }
}

/// One size, with a repository for each program.
struct Contest {
    size: usize,
    durable: bool,
    folder: tempfile::TempDir,
    libgit2: git2::Repository,
    /// The round that gets more children, and the last, in which nodes change.
    last: [Vec<Place>; 2],
    /// The size of our objects before the first commit.
    before: u64,
    times: [Vec<Duration>; 3],
}

impl Contest {
    fn new(size: usize, durable: bool) -> Contest {
        let folder = tempfile::tempdir().unwrap();
        let mut rounds = rounds(size);
        let attributes = Some(layout::ATTRIBUTES_TEXT.into());
        let mut files = vec![FileChange { path: layout::ATTRIBUTES.to_owned(), content: attributes }];
        files.extend(node_files(rounds.iter().flatten().map(|place| (place, place.0.to_string()))));
        for name in NAMES {
            Git::init(GitOptions::ISOLATED, &folder.path().join(name), "seed", &files, "Seed", AT).unwrap();
        }
        // All programs reread files that are as new as the index.
        std::thread::sleep(Duration::from_millis(1_100));
        NAMES.iter().for_each(|name| drop(git(&folder.path().join(name), false, &["status", "--short"])));
        let libgit2 = git2::Repository::open(folder.path().join("libgit2")).unwrap();
        libgit2.config().unwrap().set_bool("core.fsyncObjectFiles", durable).unwrap();
        let last = rounds.split_off(rounds.len() - 2).try_into().unwrap();
        let before = object_bytes(&folder.path().join("ours/.git/objects"));
        Contest { size, durable, folder, libgit2, last, before, times: Default::default() }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lets each program make the commit of a round.
    fn play(&mut self, round: usize) {
        let changes = self.changes(round);
        for turn in 0..NAMES.len() {
            let at = (round + turn) % NAMES.len();
            let since = Instant::now();
            match NAMES[at] {
                "ours" => self.ours(&changes),
                "git" => self.command_line(&changes),
                _ => self.libgit2(&changes),
            }
            self.times[at].push(since.elapsed());
        }
    }

    /// Two new nodes and a changed one, different each time.
    fn changes(&self, round: usize) -> Vec<FileChange> {
        let [parents, leaves] = &self.last;
        let parent = &parents[round % parents.len()].0;
        let new = [10, 11].map(|number| child(parent, number + 2 * round));
        let changed = &leaves[leaves.len() - 1 - round % leaves.len().min(10)];
        let places = new.iter().chain([changed]);
        node_files(places.map(|place| (place, format!("{} in {round}", place.0))))
    }

    /// Opens the repository for each commit, as the store does.
    fn ours(&self, changes: &[FileChange]) {
        let durability = if self.durable { Durability::Disk } else { Durability::Git };
        let options = GitOptions { durability, ..GitOptions::ISOLATED };
        let git = Git::open(&self.place("ours"), options).unwrap();
        let head = git.head().unwrap().commit.unwrap();
        let commit = CommitText { changes, message: MESSAGE, at: AT };
        git.writer().unwrap().commit(head, &[commit], None, |_| Ok(())).unwrap().1.unwrap();
    }

    fn command_line(&self, changes: &[FileChange]) {
        let dir = self.place("git");
        write_files(&dir, changes);
        let paths = changes.iter().map(|change| change.path.as_str());
        git(&dir, self.durable, &["add", "--"].into_iter().chain(paths).collect::<Vec<_>>());
        git(&dir, self.durable, &["commit", "-q", "-m", MESSAGE]);
    }

    /// In a process that lives on.
    fn libgit2(&self, changes: &[FileChange]) {
        write_files(&self.place("libgit2"), changes);
        let mut index = self.libgit2.index().unwrap();
        index.read(false).unwrap();
        changes.iter().for_each(|change| index.add_path(Path::new(&change.path)).unwrap());
        index.write().unwrap();
        let tree = self.libgit2.find_tree(index.write_tree().unwrap()).unwrap();
        let parent = self.libgit2.head().unwrap().peel_to_commit().unwrap();
        let person = git2::Signature::now("Bench", "bench@localhost").unwrap();
        self.libgit2.commit(Some("HEAD"), &person, &person, MESSAGE, &tree, &[&parent]).unwrap();
    }

    fn print(mut self, rounds: usize) {
        for name in NAMES {
            assert_eq!(git(&self.place(name), false, &["status", "--porcelain"]), "", "{name}");
        }
        let bytes = (object_bytes(&self.place("ours/.git/objects")) - self.before) / rounds as u64;
        let [ours, git, libgit2] = self.times.each_mut().map(|times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        println!(
            "{:>6} {ours:>8.2} {git:>8.2} {libgit2:>8.2} {:>9.1} {:>9.1} {bytes:>8}",
            self.size,
            git / ours,
            libgit2 / ours
        );
    }
}

/// An id and its parent.
type Place = (NodeId, Option<NodeId>);

/// One root, rounds of increasing size, then parallel lines of single nodes.
fn rounds(size: usize) -> Vec<Vec<Place>> {
    let width = (size / 9).clamp(2, 1_000);
    let is_wide = std::env::var("SHAPE").is_ok_and(|shape| shape == "wide");
    let mut rounds: Vec<Vec<Place>> = vec![vec![("R1.A".parse().unwrap(), None)]];
    let mut left = size - 1;
    while left > 0 {
        let last = &rounds[rounds.len() - 1];
        let next = if is_wide { width } else { (last.len() * 3).min(width) }.min(left);
        let round = (0..next).map(|n| child(&last[n % last.len()].0, n / last.len())).collect();
        rounds.push(round);
        left -= next;
    }
    rounds
}

/// Returns the child with this number (from 0), with the id that `tot_next` suggests: letters and digits alternate.
fn child(parent: &NodeId, number: usize) -> Place {
    let is_letter = parent.suffix().ends_with(|last: char| last.is_ascii_alphabetic());
    let step = if is_letter { (number + 1).to_string() } else { large::letters(number) };
    (NodeId::of_proposal(parent.short().child(&step).unwrap(), &[]), Some(parent.clone()))
}

/// Returns the files of nodes, each with the key of its findings.
fn node_files<'p>(places: impl Iterator<Item = (&'p Place, String)>) -> Vec<FileChange> {
    let nodes = places.map(|((id, parent), key)| {
        let mut node = large::node(id, parent.clone(), "EXPLORE", 1);
        node.classification.as_mut().unwrap().findings = large::text(&key, 3_000);
        node
    });
    let files = repository::files(nodes).into_iter();
    files.map(|(path, content)| FileChange { path, content: Some(content) }).collect()
}

fn write_files(dir: &Path, changes: &[FileChange]) {
    for change in changes {
        let file = dir.join(&change.path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, change.content.as_ref().unwrap()).unwrap();
    }
}

fn git(dir: &Path, durable: bool, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .env("HOME", dir.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.arg("-C").arg(dir).args(["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]);
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
    if durable {
        command.args(["-c", "core.fsync=all"]);
    }
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the total size of the files below a folder.
fn object_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let sizes = entries.map(|entry| match entry.metadata().unwrap() {
        metadata if metadata.is_dir() => object_bytes(&entry.path()),
        metadata => metadata.len(),
    });
    sizes.sum()
}
