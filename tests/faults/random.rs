//! Eight writers on one investigation, each killed at random instants and started again at once.
//!
//! Each writer proposes and commits nodes of its own, so that what was acknowledged can be told from what others did.
//! When a writer dies in a call, its successor makes the same call again. After some lives of each writer there is a
//! quiet moment in which git judges what the kills have left, and one more server must be able to go on.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tree_of_thoughts::format::layout;

use crate::Form;
use crate::figures::{Fault, Figures};
use crate::place::{git, is_sound, judge, judge_log, server, start};
use crate::support::random::Random;
use crate::support::{Sandbox, codes, node, result, short};

const WRITERS: u64 = 8;

/// The maximum number of calls that a server lives for.
const CALLS: u64 = 8;

pub fn run(form: Form) -> Vec<Figures> {
    let (investigations, rounds, lives) = if form.long { (10, 5, 3) } else { (1, 2, 2) };
    let mut figures = Figures::of("8 writers, killed at random instants");
    let mut published = 0;
    for number in 0..investigations {
        let sandbox = Sandbox::new();
        let session = start(&mut server(&sandbox, &sandbox.root()));
        let mut writers: Vec<Writer> = (1..=WRITERS)
            .map(|writer| Writer {
                number: writer,
                random: Random(form.seed + number * 1_000 + writer),
                usual: Duration::from_millis(50),
                ..Writer::default()
            })
            .collect();
        for round in 1..=rounds {
            thread::scope(|scope| {
                for writer in &mut writers {
                    scope.spawn(|| (0..lives).for_each(|_| writer.live(&sandbox, &session)));
                }
            });
            figures.kills += (WRITERS * lives) as usize;
            quiet(&sandbox, &session, round, &mut figures);
        }
        for writer in writers {
            published += writer.published;
            judge_writer(&sandbox, &session, writer, &mut figures);
        }
        judge_log(&sandbox, &mut figures);
        println!("random: {} kills, {} calls acknowledged", figures.kills, figures.acknowledged);
    }
    println!("random: {published} calls were published, but killed before their acknowledgement");
    vec![figures]
}

/// A client that continues where its killed predecessor stopped.
#[derive(Default)]
struct Writer {
    number: u64,
    random: Random,
    /// The number of nodes committed so far.
    nodes: u64,
    /// True if the current node must be committed rather than proposed.
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
    /// Makes calls until it is killed in one of them.
    fn live(&mut self, sandbox: &Sandbox, session: &str) {
        let mut server = server(sandbox, &sandbox.root());
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
            let id = format!("R2.A{}", self.number * 100_000 + self.nodes + 1);
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
            self.nodes += u64::from(self.is_proposed);
            self.is_proposed = !self.is_proposed;
        }
        killer.expect("nobody else kills it").join().unwrap();
    }
}

/// All writers are dead. Check what they left behind.
fn quiet(sandbox: &Sandbox, session: &str, round: u64, figures: &mut Figures) {
    let repository = sandbox.repository(session);
    is_sound(sandbox, &repository, &format!("after the kills of round {round}"), figures);
    let nodes = [node(&format!("R2.A{round}"), Some("R1.A"))];
    let proposal = json!({"sessionId": session, "nodes": nodes});
    let reply = server(sandbox, &sandbox.root()).call("tot_propose", proposal);
    if reply["status"] != "OK" {
        return figures.fault(Fault::NeedsRepair, format!("the next call after round {round}: {reply}"));
    }
    figures.acknowledged += 1;
    judge(sandbox, &repository, &format!("after the next call of round {round}"), figures);
}

/// Check that everything the writer was told is stored.
fn judge_writer(sandbox: &Sandbox, session: &str, writer: Writer, figures: &mut Figures) {
    let repository = sandbox.repository(session);
    let log = sandbox.git(&repository, &["log", "--first-parent", "--format=commit %H", "--name-only"]);
    let log = short(&log);
    let files: HashMap<&str, &str> =
        log.split("commit ").filter_map(|commit| commit.split_once('\n')).collect();
    let all = short(&sandbox.git(&repository, &["ls-tree", "-r", "--name-only", "HEAD"]));
    let all: HashSet<&str> = all.lines().collect();
    let committed = git(sandbox, &repository, &["grep", "-l", "^state: ", "HEAD", "--", "nodes"]);
    let committed = short(&committed.unwrap_or_default());
    let committed: HashSet<&str> = committed.lines().filter_map(|line| line.strip_prefix("HEAD:")).collect();
    for call in &writer.acknowledged {
        let path = layout::node(&call.node.parse().expect("the id of a node"));
        let is_there = files.get(&*call.commit).is_some_and(|files| files.lines().any(|file| file == path))
            && all.contains(path.as_str())
            && (!call.is_committed || committed.contains(path.as_str()));
        if !is_there {
            figures.fault(Fault::Lost, format!("{} of {}", call.commit, call.node));
        }
    }
    figures.acknowledged += writer.acknowledged.len();
    figures.faults.extend(writer.problems.into_iter().map(|problem| (Fault::NeedsRepair, problem)));
}
