//! What a turn of the work costs: proposing three nodes and committing three results of 3 KB, in investigations of
//! 10, 100 and 1,000 nodes; beside git's command line making the same two commits of the same files.
//!
//! Ours is what a client sees: two calls over stdio of a running `tot-mcp`. Git's is `git add .` and `git commit`,
//! twice, in a clone of the same repository, the writing of the files included. Before each turn the repository is set
//! back (not timed), so that it doesn't grow; no two turns write the same findings.
//!
//!     cargo build --release && cargo bench -p bench --bench commit
//!
//! It prints medians of turns of ours and git's in alternation, so that other work on the machine affects both.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that can't go on has failed, and it prints"
)]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Sandbox, Server, node, result};

const SIZES: [usize; 3] = [10, 100, 1_000];

/// The findings of a node: 3 KB, different for each turn and node.
fn findings(turn: u64, id: &str) -> String {
    let mut text = format!("What was seen in turn {turn} at {id}.\n\n");
    for line in 0.. {
        if text.len() >= 3_000 {
            break;
        }
        text.push_str(&format!("- {id}, sample {line} of {turn}: the queue held {} jobs.\n", line * 7 + 11));
    }
    text
}

fn results(turn: u64, ids: &[String]) -> Value {
    let explored = |id: &String| {
        let mut explored = result(id, "EXPLORE");
        explored["findings"] = json!(findings(turn, id));
        explored
    };
    ids.iter().map(explored).collect()
}

fn proposals(ids: &[String], parents: &[String]) -> Value {
    ids.iter().zip(parents).map(|(id, parent)| node(id, Some(parent))).collect()
}

/// An investigation of a given size, with three nodes that may be proposed next.
struct Subject {
    sandbox: Sandbox,
    server: Server,
    session: String,
    repository: PathBuf,
    base: String,
    next: Vec<String>,
    parents: Vec<String>,
    turns: u64,
}

impl Subject {
    /// One root, ten branches, and below them rounds of at most 100 nodes.
    fn new(size: usize) -> Subject {
        let sandbox = Sandbox::new();
        // Git's default.
        let mut server = sandbox.server_with(&["--durability", "git"]);
        let start = server.ok("tot_start", json!({"query": "What does a turn cost?", "mode": "deep"}));
        let session = start["sessionId"].as_str().unwrap().to_owned();
        let repository = sandbox.repository(&session);
        let mut subject = Subject {
            sandbox,
            server,
            session,
            repository,
            base: String::new(),
            next: Vec::new(),
            parents: Vec::new(),
            turns: 0,
        };
        let root = json!([node("R1.A", None)]);
        subject.call("tot_propose", json!({"nodes": root}));
        subject.call("tot_commit", json!({"results": results(0, &["R1.A".to_owned()])}));
        let (mut nodes, mut level) = (1, vec!["R1.A".to_owned()]);
        while nodes < size {
            let width = if level.len() == 1 { 10 } else { 100 }.min(size - nodes);
            let (next, parents) = below(&level, width);
            subject.call("tot_propose", json!({"nodes": proposals(&next, &parents)}));
            subject.call("tot_commit", json!({"results": results(0, &next)}));
            nodes += width;
            level = next;
        }
        (subject.next, subject.parents) = below(&level, 3);
        subject.base = subject.sandbox.head(&subject.repository);
        let status = subject.call("tot_status", json!({"graph": "none"}));
        assert_eq!(status["totalNodes"], size);
        subject
    }

    fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["sessionId"] = json!(self.session);
        self.server.ok(tool, arguments)
    }

    /// Proposes and commits, and returns the time that it took.
    fn turn(&mut self) -> Duration {
        self.turns += 1;
        let repository = self.repository.clone();
        set_back(&self.sandbox, &repository, &self.base);
        // The server notices that the head was moved by another program.
        self.call("tot_status", json!({"graph": "none"}));
        let propose = json!({"nodes": proposals(&self.next, &self.parents)});
        let commit = json!({"results": results(self.turns, &self.next)});
        let begin = Instant::now();
        self.call("tot_propose", propose);
        let proposed = begin.elapsed();
        // Agents need time to do the work.
        self.sandbox.sleep(60);
        let begin = Instant::now();
        self.call("tot_commit", commit);
        proposed + begin.elapsed()
    }

    /// The files that a turn writes, with their content, for each commit.
    fn written(&mut self) -> [Files; 2] {
        self.turn();
        ["HEAD~1", "HEAD"].map(|commit| {
            let git = |arguments: &[&str]| self.sandbox.git(&self.repository, arguments);
            let names = git(&["diff", "--name-only", "--no-renames", &format!("{commit}~1"), commit]);
            let file = |name: &str| (PathBuf::from(name), git(&["show", &format!("{commit}:{name}")]));
            names.lines().map(file).collect()
        })
    }
}

type Files = Vec<(PathBuf, String)>;

/// Returns `width` child ids for the nodes of a round, spread evenly over the parents.
fn below(level: &[String], width: usize) -> (Vec<String>, Vec<String>) {
    let child = |index: usize| {
        let parent = &level[index % level.len()];
        let (round, suffix) = parent[1..].split_once('.').unwrap();
        let round = round.parse::<usize>().unwrap() + 1;
        // Digits and letters alternate: R2.A1, R3.A1a.
        let number = index / level.len();
        let last =
            if round % 2 == 0 { number.to_string() } else { ((b'a' + number as u8) as char).to_string() };
        (format!("R{round}.{suffix}{last}"), parent.clone())
    };
    (0..width).map(child).unzip()
}

fn set_back(sandbox: &Sandbox, repository: &Path, commit: &str) {
    sandbox.git(repository, &["reset", "--quiet", "--hard", commit]);
}

/// A turn that runs git's command line.
struct Git {
    repository: PathBuf,
    files: [Files; 2],
    turns: u64,
}

impl Git {
    /// Makes the same commits in its own repository, and returns the time that it took.
    fn turn(&mut self, subject: &Subject) -> Duration {
        self.turns += 1;
        set_back(&subject.sandbox, &self.repository, &subject.base);
        let begin = Instant::now();
        for files in &self.files {
            for (path, text) in files {
                let path = self.repository.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}# {}\n", self.turns)).unwrap();
            }
            subject.sandbox.git(&self.repository, &["add", "."]);
            subject.sandbox.git(&self.repository, &["commit", "--quiet", "--message", "A turn"]);
        }
        begin.elapsed()
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let pairs = if std::env::args().any(|argument| argument == "--test") { 1 } else { 25 };
    let mut table = String::new();
    for size in SIZES {
        let mut subject = Subject::new(size);
        let files = subject.written();
        let copy = subject.sandbox.path("copy");
        let from = subject.repository.to_string_lossy().into_owned();
        let home = subject.sandbox.path("home");
        subject.sandbox.git(&home, &["clone", "--quiet", "--no-hardlinks", &from, &copy.to_string_lossy()]);
        // Neither program collects garbage during a measurement.
        for repository in [&subject.repository, &copy] {
            subject.sandbox.git(repository, &["config", "gc.auto", "0"]);
        }
        let mut git = Git { repository: copy, files, turns: 0 };
        let pairs = (0..pairs).map(|_| (subject.turn(), git.turn(&subject)));
        let (ours, theirs): (Vec<f64>, Vec<f64>) =
            pairs.map(|(ours, theirs)| (ours.as_secs_f64() * 1e3, theirs.as_secs_f64() * 1e3)).unzip();
        let ratio = median(ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect());
        let (ours, theirs) = (median(ours), median(theirs));
        table.push_str(&format!("{size:>7} {ours:>6.2} ms {theirs:>6.2} ms {ratio:>6.1}x\n"));
    }
    print!("Medians of turns in alternation:\n  nodes   tot-mcp       git   ratio\n{table}");
}
