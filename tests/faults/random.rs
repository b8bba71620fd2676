//! Eight writers on one investigation, each killed at random instants and started again at once.
//!
//! Each writer proposes and commits nodes of its own, so that what was acknowledged can be told from what others did.
//! When a writer dies in a call, its successor makes the same call again. After some lives of each writer there is a
//! quiet moment in which git judges what the kills have left, and one more server must be able to go on.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tree_of_thoughts::format::layout;

use crate::Form;
use crate::figures::{Figures, Random};
use crate::place::{Place, start};
use crate::support::{codes, node, result};

const WRITERS: u64 = 8;

/// The maximum number of calls that a server lives for.
const CALLS: u64 = 8;

pub fn run(form: Form) -> Vec<Figures> {
    let (investigations, rounds, lives) = if form.long { (10, 5, 3) } else { (1, 2, 2) };
    let mut figures = Figures::of("8 writers, killed at random instants");
    let mut published = 0;
    for number in 0..investigations {
        let place = Place::new();
        let root = place.path("investigations");
        let session = start(&mut place.server(&root));
        let mut writers: Vec<Writer> = (1..=WRITERS)
            .map(|writer| Writer::new(writer, Random(form.seed + number * 1_000 + writer)))
            .collect();
        for round in 0..rounds {
            thread::scope(|scope| {
                for writer in &mut writers {
                    scope.spawn(|| (0..lives).for_each(|_| writer.live(&place, &root, &session)));
                }
            });
            figures.kills += (WRITERS * lives) as usize;
            quiet(&place, &root, &session, round, &mut figures);
        }
        for writer in writers {
            published += writer.published;
            judge(&place, &root.join(&session), writer, &mut figures);
        }
        if place.log().contains("panicked") {
            figures.by_hand(format!("a server panicked: {}", place.log()));
        }
        println!("random: {} kills, {} calls acknowledged", figures.kills, figures.acknowledged);
    }
    println!("random: {published} calls were published, but killed before their acknowledgement");
    vec![figures]
}

/// A client that continues where its killed predecessor stopped.
struct Writer {
    number: u64,
    random: Random,
    /// The current node, and true if it must be committed rather than proposed.
    next: u64,
    is_proposed: bool,
    /// True if the last call was not answered.
    is_unsure: bool,
    /// The usual duration of a call.
    usual: Duration,
    /// The number of calls that were published but not answered.
    published: usize,
    acknowledged: Vec<Acknowledged>,
    problems: Vec<String>,
}

struct Acknowledged {
    commit: String,
    node: String,
    is_committed: bool,
}

impl Writer {
    fn new(number: u64, random: Random) -> Self {
        Writer {
            number,
            random,
            next: 1,
            is_proposed: false,
            is_unsure: false,
            usual: Duration::from_millis(50),
            published: 0,
            acknowledged: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The number of calls before the kill.
    fn live(&mut self, place: &Place, root: &Path, session: &str) {
        let mut server = place.server(root);
        let calls = self.random.below(CALLS);
        // A random instant during that call or, since durations vary, shortly after it.
        let delay = Duration::from_micros(self.random.below(1 + 2 * self.usual.as_micros() as u64));
        let mut killer = None;
        for call in 0.. {
            if call == calls {
                let kill = server.killer();
                killer = Some(thread::spawn(move || {
                    thread::sleep(delay);
                    kill();
                }));
            }
            let since = Instant::now();
            let id = format!("R2.A{}", self.number * 100_000 + self.next);
            let (tool, arguments) = if self.is_proposed {
                ("tot_commit", json!({"sessionId": session, "results": [result(&id, "EXPLORE")]}))
            } else {
                ("tot_propose", json!({"sessionId": session, "nodes": [node(&id, Some("R1.A"))]}))
            };
            let Ok(reply) = server.try_call(tool, arguments) else {
                self.is_unsure = true;
                break;
            };
            self.usual = (self.usual * 3 + since.elapsed()) / 4;
            if reply["status"] == "OK" {
                let commit = reply["commit"].as_str().unwrap().to_owned();
                self.acknowledged.push(Acknowledged { commit, node: id, is_committed: self.is_proposed });
            } else if self.is_unsure && self.is_proposed && codes(&reply["errors"]) == ["NOT_PROPOSED"] {
                // The predecessor committed it.
                self.published += 1;
            } else {
                self.problems.push(format!("{tool} {id}: {reply}"));
            }
            self.is_unsure = false;
            if self.is_proposed {
                self.next += 1;
            }
            self.is_proposed = !self.is_proposed;
        }
        killer.expect("nobody else kills it").join().unwrap();
    }
}

/// All writers are dead. Check what they left behind.
fn quiet(place: &Place, root: &Path, session: &str, round: u64, figures: &mut Figures) {
    let repository = root.join(session);
    if let Err(said) = place.fsck(&repository) {
        figures.broken(format!("after the kills of round {round}: {said}"));
    }
    let proposal =
        json!({"sessionId": session, "nodes": [node(&format!("R2.A{}", round + 1), Some("R1.A"))]});
    let reply = place.server(root).call("tot_propose", proposal);
    if reply["status"] != "OK" {
        figures.by_hand(format!("the next call after round {round}: {reply}"));
        return;
    }
    figures.acknowledged += 1;
    let status = place.try_git(&repository, &["status", "--porcelain"]);
    if status.as_deref() != Ok("") {
        figures.by_hand(format!("git status after the next call of round {round}: {status:?}"));
    }
    let leftovers = place.leftovers(&repository);
    if !leftovers.is_empty() {
        figures.by_hand(format!("left after the next call of round {round}: {leftovers:?}"));
    }
    if let Err(said) = place.fsck(&repository) {
        figures.broken(format!("after the next call of round {round}: {said}"));
    }
}

/// Check that everything the writer was told is stored.
fn judge(place: &Place, repository: &Path, writer: Writer, figures: &mut Figures) {
    let log = place.git(repository, &["log", "--first-parent", "--format=commit %H", "--name-only"]);
    let mut files: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut commit = "";
    for line in log.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("commit ") {
            Some(id) => {
                commit = id;
                files.entry(id).or_default();
            }
            None => drop(files.entry(commit).or_default().insert(line)),
        }
    }
    let all = place.git(repository, &["ls-tree", "-r", "--name-only", "HEAD"]);
    let all: HashSet<&str> = all.lines().collect();
    let committed = place.try_git(repository, &["grep", "-l", "^state: ", "HEAD", "--", "nodes"]);
    let committed = committed.unwrap_or_default();
    let committed: HashSet<&str> = committed.lines().filter_map(|line| line.strip_prefix("HEAD:")).collect();
    for call in &writer.acknowledged {
        let path = layout::node(&call.node.parse().expect("the id of a node"));
        let is_there = files.get(call.commit.as_str()).is_some_and(|files| files.contains(path.as_str()))
            && all.contains(path.as_str())
            && (!call.is_committed || committed.contains(path.as_str()));
        if !is_there {
            figures.lost(format!("{} of {}", call.commit, call.node));
        }
    }
    figures.acknowledged += writer.acknowledged.len();
    for problem in writer.problems {
        figures.by_hand(problem);
    }
}
