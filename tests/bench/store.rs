//! What a commit costs as an investigation grows: ours, git's command line and libgit2, in one run.
//!
//! Each has a repository of its own with the same files, of 10, 100, 1,000 and 10,000 nodes of 3 KB, with ids as `tot_next`
//! gives them. Rounds get three times as large each until they have a ninth of the nodes, at most 1,000; with `SHAPE=wide`
//! in the environment all rounds after the first have that many. Each commits the same three files to it (two new nodes
//! and a changed one): first without fsync, as git does it by default, then with it (ours `--durability disk`, git
//! `core.fsync=all`, libgit2 `core.fsyncObjectFiles`). They take turns, each round in another order, and
//! so do the sizes, so that noise hits all alike; a figure is the median of the rounds.
//!
//! - `ours` is the store alone: `Writer::commit`, in a process that lives on.
//! - `git` is `git add` of the three files and `git commit`, after writing them into the work tree.
//! - `libgit2` is the same through the `git2` crate, in a process that lives on.
//! - `call` is the whole of two calls of tools: three nodes proposed, and three results of 3 KB committed, from the
//!   arguments to the reply: finding, loading, deciding, writing the files' text, two commits, and what follows from each.
//! - `load` reads and parses all nodes in a process that has none in memory; `again` is a load that finds nothing new.
//!
//! ```text
//! cargo bench -p bench --features libgit2 --bench store              # all sizes, 31 rounds
//! cargo bench -p bench --features libgit2 --bench store -- 100 10000 # these sizes
//! ```
//!
//! A busy disk hides what differs; `TMPDIR=/dev/shm` in the environment measures in memory, where fsync costs nothing.
//! `ROUNDS=7` makes it shorter, `ONLY=ours` measures one of them, for a profiler.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that can't go on has failed, and it prints"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::domain::{Caller, Classification, Event, Meta, Node, NodeId, Timestamp};
use tree_of_thoughts::format::{self, FileChange, layout, meta_file};
use tree_of_thoughts::mcp::{Tool, tools};
use tree_of_thoughts::ruleset::builtin;
use tree_of_thoughts::service::Service;
use tree_of_thoughts::store::Store;
use tree_of_thoughts::store::git::{CommitId, Configuration, Durability, Git, GitOptions};

/// The server's own setting.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const AT: i64 = 1_795_000_000;

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes };
    let only = std::env::var("ONLY").ok();
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(31);
    let mut growth: Vec<(usize, [f64; 3])> = Vec::new();
    for durable in [false, true] {
        println!(
            "{}, ms (median of {rounds}), and bytes of objects per commit",
            if durable { "With fsync" } else { "Without fsync" }
        );
        println!(
            "{:>6} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8} {:>9} {:>8} {:>9} {:>8} {:>8}",
            "nodes",
            "ours",
            "git",
            "libgit2",
            "git/ours",
            "lg2/ours",
            "bytes",
            "git",
            "libgit2",
            "call",
            "load",
            "again"
        );
        let mut contests: Vec<Contest> = sizes.iter().map(|size| Contest::new(*size, durable)).collect();
        for round in 0..rounds {
            contests.iter_mut().for_each(|contest| contest.round(round, only.as_deref()));
        }
        for (size, contest) in sizes.iter().zip(contests) {
            let figures = contest.figures(rounds);
            let [ours, git, libgit2, call] = figures.times.map(|time| time.as_secs_f64() * 1e3);
            println!(
                "{size:>6} {ours:>8.2} {git:>8.2} {libgit2:>8.2} {:>8.1} {:>9.1} {:>8} {:>9} {:>8} {call:>9.2} {:>8.1} {:>8.3}",
                git / ours,
                libgit2 / ours,
                figures.bytes[0],
                figures.bytes[1],
                figures.bytes[2],
                figures.load.as_secs_f64() * 1e3,
                figures.again.as_secs_f64() * 1e3,
            );
            if !durable {
                growth.push((*size, [ours, call, figures.bytes[0] as f64]));
            }
        }
    }
    if let [(_, _), (from, first), .., (to, last)] | [(from, first), (to, last)] = growth.as_slice() {
        let [commit, call, bytes] = [0, 1, 2].map(|at| last[at] / first[at]);
        println!(
            "From {from} to {to}, without fsync: commit × {commit:.2}, call × {call:.2}, bytes × {bytes:.2}"
        );
    }
}

struct Figures {
    /// Times for our store, git, libgit2 and the two calls.
    times: [Duration; 4],
    /// Object sizes per commit: our store, git, libgit2.
    bytes: [u64; 3],
    load: Duration,
    again: Duration,
}

/// One size, with a repository for each committer.
struct Contest {
    folder: tempfile::TempDir,
    seed: Seed,
    contestants: [Box<dyn Contestant>; 4],
    times: [Vec<Duration>; 4],
    before: [u64; 3],
    load: Duration,
    again: Duration,
}

/// The committers, by repository folder.
const NAMES: [&str; 4] = ["ours", "git", "libgit2", "call"];

fn place(folder: &Path, name: &str, seed: &Seed) -> PathBuf {
    folder.join(name).join(seed.meta.id.to_string())
}

impl Contest {
    fn new(size: usize, durable: bool) -> Contest {
        let folder = tempfile::tempdir().unwrap();
        let seed = Seed::new(size);
        let place = |name: &str| place(folder.path(), name, &seed);
        for name in NAMES {
            fs::create_dir(folder.path().join(name)).unwrap();
            Git::init(GitOptions::ISOLATED, &place(name), "seed", &seed.files, "Seed", AT).unwrap();
        }
        // All programs reread files that are as new as the index.
        std::thread::sleep(Duration::from_millis(1_100));
        for name in NAMES {
            git(&place(name), false, &["status", "--short"]);
        }
        let store = Store::new(folder.path().join("call"));
        let since = Instant::now();
        store.load(&place("call")).unwrap();
        let load = since.elapsed();
        let agains: Vec<Duration> =
            (0..21).map(|_| timed(|| drop(store.load(&place("call")).unwrap()))).collect();
        let contestants: [Box<dyn Contestant>; 4] = [
            Box::new(Ours::new(&place("ours"), durable)),
            Box::new(CommandLine { dir: place("git"), durable }),
            Box::new(Libgit2::new(&place("libgit2"), durable)),
            Box::new(Call::new(folder.path().join("call"), &seed, durable)),
        ];
        let before = [0, 1, 2].map(|at| object_bytes(&place(NAMES[at])));
        Contest { contestants, times: Default::default(), before, load, again: median(agains), folder, seed }
    }

    fn round(&mut self, round: usize, only: Option<&str>) {
        let changes = self.seed.changes(round);
        for turn in 0..NAMES.len() {
            let at = (round + turn) % NAMES.len();
            if only.is_none_or(|only| only == NAMES[at]) {
                self.times[at].push(self.contestants[at].commit(round, &changes));
            }
        }
    }

    fn figures(self, rounds: usize) -> Figures {
        let place = |name: &str| place(self.folder.path(), name, &self.seed);
        for name in NAMES {
            assert_eq!(git(&place(name), false, &["status", "--porcelain"]), "", "{name}");
        }
        Figures {
            bytes: [0, 1, 2].map(|at| (object_bytes(&place(NAMES[at])) - self.before[at]) / rounds as u64),
            times: self.times.map(median),
            load: self.load,
            again: self.again,
        }
    }
}

/// A program that commits.
trait Contestant {
    fn commit(&mut self, round: usize, changes: &[FileChange]) -> Duration;
}

/// Opens the repository for each commit, as the store does.
struct Ours {
    dir: PathBuf,
    options: GitOptions,
    head: CommitId,
}

impl Ours {
    fn new(dir: &Path, durable: bool) -> Ours {
        let options = GitOptions { configuration: Configuration::Isolated, durability: durability(durable) };
        let head = Git::open(dir, options).unwrap().head().unwrap().commit.unwrap();
        Ours { dir: dir.to_owned(), options, head }
    }
}

impl Contestant for Ours {
    fn commit(&mut self, _: usize, changes: &[FileChange]) -> Duration {
        timed(|| {
            let git = Git::open(&self.dir, self.options).unwrap();
            self.head = git.writer().unwrap().commit(self.head, changes, "Commit three nodes", AT).unwrap()
        })
    }
}

struct CommandLine {
    dir: PathBuf,
    durable: bool,
}

impl Contestant for CommandLine {
    fn commit(&mut self, _: usize, changes: &[FileChange]) -> Duration {
        timed(|| {
            write_files(&self.dir, changes);
            let mut add = vec!["add", "--"];
            add.extend(changes.iter().map(|change| change.path.as_str()));
            git(&self.dir, self.durable, &add);
            git(&self.dir, self.durable, &["commit", "-q", "-m", "Commit three nodes"]);
        })
    }
}

struct Libgit2 {
    dir: PathBuf,
    repository: git2::Repository,
}

impl Libgit2 {
    fn new(dir: &Path, durable: bool) -> Libgit2 {
        let repository = git2::Repository::open(dir).unwrap();
        repository.config().unwrap().set_bool("core.fsyncObjectFiles", durable).unwrap();
        Libgit2 { dir: dir.to_owned(), repository }
    }
}

impl Contestant for Libgit2 {
    fn commit(&mut self, _: usize, changes: &[FileChange]) -> Duration {
        timed(|| {
            write_files(&self.dir, changes);
            let mut index = self.repository.index().unwrap();
            index.read(false).unwrap();
            for change in changes {
                index.add_path(Path::new(&change.path)).unwrap();
            }
            index.write().unwrap();
            let tree = self.repository.find_tree(index.write_tree().unwrap()).unwrap();
            let parent = self.repository.head().unwrap().peel_to_commit().unwrap();
            let person = git2::Signature::now("Bench", "bench@localhost").unwrap();
            let message = "Commit three nodes";
            self.repository.commit(Some("HEAD"), &person, &person, message, &tree, &[&parent]).unwrap();
        })
    }
}

struct Call {
    tools: Vec<Tool>,
    runtime: tokio::runtime::Runtime,
    session: String,
    parents: Vec<NodeId>,
}

impl Call {
    fn new(root: PathBuf, seed: &Seed, durable: bool) -> Call {
        let service = Service::new(root, World::Machine, None).with_durability(durability(durable));
        let session = seed.meta.id.to_string();
        assert!(service.read(&session).is_ok());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Call { tools: tools::all(&Arc::new(service)), runtime, session, parents: seed.parents.clone() }
    }

    fn call(&self, name: &str, arguments: Value) {
        let tool = self.tools.iter().find(|tool| tool.about().name == name).unwrap();
        let reply = self.runtime.block_on(tool.answer(arguments, Caller::default()));
        assert!(!reply.shared.is_rejected(), "{}", reply.content);
        assert!(reply.content["commit"].is_string());
    }
}

impl Contestant for Call {
    fn commit(&mut self, round: usize, _: &[FileChange]) -> Duration {
        let parent = &self.parents[round % self.parents.len()];
        let ids = [0, 1, 2].map(|n| parent.child(&step(parent, 100 + round * 3 + n)).unwrap().to_string());
        let nodes: Vec<Value> = ids
            .iter()
            .map(|id| {
                json!({
                    "id": id, "parent": parent.to_string(), "title": "Look further",
                    "plannedAction": "Read what is there.",
                })
            })
            .collect();
        let results: Vec<Value> = ids
            .iter()
            .map(|id| {
                json!({
                    "nodeId": id, "state": "EXPLORE", "findings": text(&format!("{id} of {round}")),
                    "agentId": format!("agent-{id}"),
                })
            })
            .collect();
        let propose = json!({"sessionId": self.session, "nodes": nodes});
        let commit = json!({"sessionId": self.session, "results": results});
        timed(|| {
            self.call("tot_propose", propose);
            self.call("tot_commit", commit);
        })
    }
}

/// Generates an investigation of a given size and shape: one root, rounds of increasing size, then parallel lines of
/// single nodes.
struct Seed {
    meta: Meta,
    nodes: Vec<Arc<Node>>,
    files: Vec<FileChange>,
    /// Nodes in the second-to-last round, which may have more children.
    parents: Vec<NodeId>,
}

impl Seed {
    fn new(size: usize) -> Seed {
        let at = Timestamp::from_milliseconds(AT * 1_000).unwrap();
        let width = (size / 9).clamp(2, 1_000);
        let is_wide = std::env::var("SHAPE").is_ok_and(|shape| shape == "wide");
        let mut nodes = Vec::with_capacity(size);
        let mut rounds: Vec<Vec<(NodeId, Option<NodeId>)>> = vec![vec![("R1.A".parse().unwrap(), None)]];
        let mut left = size - 1;
        while left > 0 {
            let last = &rounds[rounds.len() - 1];
            let next = if is_wide { width } else { (last.len() * 3).min(width) }.min(left);
            let children = (0..next).map(|n| {
                let parent = &last[n % last.len()].0;
                let number = n / last.len();
                (parent.child(&step(parent, number)).unwrap(), Some(parent.clone()))
            });
            let children: Vec<_> = children.collect();
            left -= children.len();
            rounds.push(children);
        }
        for (index, round) in rounds.iter().enumerate() {
            let state = if index + 1 == rounds.len() { "DEAD" } else { "EXPLORE" };
            for (id, parent) in round {
                nodes.push(Arc::new(node(id, parent.clone(), state, &text(id.as_str()), at)));
            }
        }
        let meta = Meta {
            id: "01989c3e-7f2a-7000-8000-000000000001".parse().unwrap(),
            title: "What a commit costs".into(),
            query: "What does a commit cost?".into(),
            context: None,
            ruleset: builtin::DEFAULT.into(),
            mode: "deep".into(),
            min_rounds: 5,
            min_roots: 1,
            allow_early_terminal: false,
            started_at: at,
        };
        let plain =
            |path: &str, text: String| FileChange { path: path.into(), content: Some(text.into_bytes()) };
        let mut files = vec![
            plain(layout::ATTRIBUTES, layout::ATTRIBUTES_TEXT.into()),
            plain(layout::META, meta_file::write(&meta).unwrap()),
            plain(layout::RULESET, builtin::all()[0].text.clone()),
        ];
        files.extend(nodes_files(nodes.clone()));
        let parents = rounds[rounds.len() - 2].iter().map(|(id, _)| id.clone()).collect();
        Seed { meta, nodes, files, parents }
    }

    /// Two new nodes in the last round and a changed node, different each time.
    fn changes(&self, round: usize) -> Vec<FileChange> {
        let at = self.meta.started_at;
        let parent = &self.parents[round % self.parents.len()];
        let mut nodes: Vec<Arc<Node>> = [0, 1]
            .into_iter()
            .map(|more| {
                let id = parent.child(&step(parent, 10 + round * 2 + more)).unwrap();
                let text = text(&format!("{id} in {round}"));
                Arc::new(node(&id, Some(parent.clone()), "EXPLORE", &text, at))
            })
            .collect();
        let old = &self.nodes[self.nodes.len() - 1 - round % self.nodes.len().min(10)];
        let text = text(&format!("{} again in {round}", old.id));
        nodes.push(Arc::new(node(&old.id, old.parent.clone(), "DEAD", &text, at)));
        nodes_files(nodes)
    }
}

/// Returns the suffix of the id of a parent's child with this number (from 0), as `tot_next` forms it: letters and
/// digits alternate.
fn step(parent: &NodeId, number: usize) -> String {
    if parent.suffix().ends_with(|last: char| last.is_ascii_alphabetic()) {
        return (number + 1).to_string();
    }
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        more => format!("{}{letter}", char::from(b'a' + (more - 1) as u8)),
    }
}

fn durability(durable: bool) -> Durability {
    if durable { Durability::Disk } else { Durability::Git }
}

fn node(id: &NodeId, parent: Option<NodeId>, state: &str, findings: &str, at: Timestamp) -> Node {
    Node {
        planned_action: "Read the log, and compare it with last week's.".into(),
        classification: Some(Classification {
            agent_id: Some(format!("agent-{id}")),
            ..Classification::new(state.parse().unwrap(), findings, at)
        }),
        ..Node::new(id.clone(), parent, format!("Look into {id}"), at)
    }
}

fn nodes_files(nodes: Vec<Arc<Node>>) -> Vec<FileChange> {
    let event = Event::Committed { nodes, transitions: Vec::new(), attachments: Vec::new() };
    let files = format::files(&event).unwrap().into_iter();
    files.map(|file| FileChange { path: file.path, content: file.content }).collect()
}

/// Returns 3 KB of Markdown. The words differ from text to text, and it compresses like ordinary text.
fn text(key: &str) -> String {
    let words = [
        "queue", "index", "the", "a", "plan", "of", "lock", "was", "retry", "and", "slow", "page", "in",
        "log",
    ];
    let mut state = key.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut text = format!("What was seen at {key}.\n");
    while text.len() < 3_000 {
        text.push_str("\n-");
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 33) as usize;
            text.push_str(&format!(" {}", words[number % words.len()]));
            if number.is_multiple_of(5) {
                text.push_str(&format!(" {}", number % 10_007));
            }
        }
    }
    text
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

/// Returns the total size of the files below `objects`.
fn object_bytes(dir: &Path) -> u64 {
    fn below(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let sizes = entries.map(|entry| match entry.metadata().unwrap() {
            metadata if metadata.is_dir() => below(&entry.path()),
            metadata => metadata.len(),
        });
        sizes.sum()
    }
    below(&dir.join(".git/objects"))
}

fn timed(action: impl FnOnce()) -> Duration {
    let since = Instant::now();
    action();
    since.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
