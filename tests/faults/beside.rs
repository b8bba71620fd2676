//! Runs git and a server at the same time, without kills. A `git gc` removes nothing, and commits removed by a `git
//! reset` are reported.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Form;
use crate::figures::{Fault, Figures};
use crate::place::{is_sound, judge_log, server, start};
use crate::support::{Sandbox, TOT, node};

pub fn run(form: Form) -> Vec<Figures> {
    let calls = if form.long { 300 } else { 20 };
    vec![
        beside("git gc --prune=now", &["gc", "-q", "--prune=now"], calls),
        beside("git reset --hard", &["reset", "-q", "--hard"], 4 * calls),
    ]
}

/// Makes this number of calls while git runs continuously.
fn beside(what: &str, git: &[&str], calls: usize) -> Figures {
    let mut figures = Figures::of(format!("{calls} calls beside {what}, without a pause"));
    let sandbox = Sandbox::new();
    let mut server = server(&sandbox, &sandbox.root());
    let session = start(&mut server);
    let repository = sandbox.repository(&session);
    let done = AtomicBool::new(false);
    let (mut commits, mut told) = (Vec::new(), Vec::new());
    let (mut refused, mut longest) = (Vec::new(), Duration::ZERO);
    let times = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut times = 0;
            while !done.load(Ordering::Relaxed) {
                // A command that finds our lock gives up, as it does when another git holds the lock.
                let _ = sandbox.try_git(&repository, git);
                times += 1;
            }
            times
        });
        for number in 1..=calls {
            let nodes = [node(&format!("R2.A{number}"), Some("R1.A"))];
            let since = Instant::now();
            let reply = server.call("tot_propose", json!({"sessionId": session, "nodes": nodes}));
            longest = longest.max(since.elapsed());
            match reply["commit"].as_str() {
                Some(commit) => commits.push(commit.to_owned()),
                None => refused.push(reply["errors"].to_string()),
            }
            told.extend(tips(&reply["warnings"].to_string()));
        }
        done.store(true, Ordering::Relaxed);
        other.join().unwrap()
    });
    let status = server.call("tot_status", json!({"sessionId": session}));
    told.extend(tips(&status["warnings"].to_string()));
    let listed = sandbox.command(TOT).args(["check", "--lost"]).arg(&repository).output().unwrap();
    let listed = tips(&String::from_utf8_lossy(&listed.stdout));
    let reached = |tips: &[String]| -> HashSet<String> {
        let tips = tips.iter().map(String::as_str);
        let arguments: Vec<&str> = ["rev-list", "HEAD"].into_iter().chain(tips).collect();
        sandbox.git(&repository, &arguments).lines().map(str::to_owned).collect()
    };
    let (history, told, listed) = (reached(&[]), reached(&told), reached(&listed));
    let left: Vec<&String> = commits.iter().filter(|commit| !history.contains(*commit)).collect();
    for commit in &left {
        if !told.contains(*commit) || !listed.contains(*commit) {
            let problem = "left the branch, and nobody was told, or it is not found again";
            figures.fault(Fault::Lost, format!("{commit} {problem}"));
        }
    }
    figures.acknowledged = commits.len();
    is_sound(&sandbox, &repository, what, &mut figures);
    judge_log(&sandbox, &mut figures);
    println!(
        "{what}: ran {times} times beside {calls} calls, of which {} were refused; {} of {} commits left the \
         branch and were told; the longest call took {} ms",
        refused.len(),
        left.len(),
        commits.len(),
        longest.as_millis()
    );
    // For example, while waiting for one of git's locks.
    refused.iter().take(3).for_each(|errors| println!("{what}: refused: {errors}"));
    figures
}

/// Returns the commits that warnings or findings suggest to merge.
fn tips(text: &str) -> Vec<String> {
    let merges = text.split(" merge ").skip(1);
    merges.map(|rest| rest.chars().take_while(char::is_ascii_hexdigit).collect()).collect()
}
