//! Three machines at work on one investigation, with all that goes wrong: what a server has acknowledged is on each of them
//! in the end.
//!
//! On 2026-11-22,
//! `TOT_TEAM_CALLS=300`, a debug build on 2 busy cores, 187 s: 186 calls acknowledged, 96 merges, 37 syncs that failed on the way,
//! nothing lost.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::http::{Fault, GitHttp};
use super::{Machine, hub, settle, two};
use crate::support::random::Random;
use crate::support::{Sandbox, node, result};

/// Proposes and commits a node while the server may be killed at any instant. Returns the acknowledged commits.
fn work(machine: &Machine, id: &str, name: &str, random: &mut Random) -> Vec<String> {
    let mut server = machine.server();
    let kill = server.killer();
    let (is_killed, after) = (random.below(3) == 0, Duration::from_millis(random.below(60)));
    let mut acknowledged = Vec::new();
    thread::scope(|scope| {
        if is_killed {
            scope.spawn(move || {
                thread::sleep(after);
                kill();
            });
        }
        let propose = json!({"sessionId": id, "nodes": [node(name, Some("R1.A"))]});
        let commit = json!({"sessionId": id, "results": [result(name, "EXPLORE")]});
        for (tool, arguments) in [("tot_propose", propose), ("tot_commit", commit)] {
            let Ok(reply) = server.try_call(tool, arguments) else { return };
            assert_eq!(reply["status"], "OK", "{reply:#}");
            acknowledged.push(reply["commit"].as_str().unwrap().to_owned());
            machine.sandbox.sleep(60);
        }
    });
    acknowledged
}

/// `TOT_TEAM_CALLS=300` for the long form.
#[test]
fn three_machines_lose_nothing_while_connections_are_cut_and_servers_are_killed() {
    let calls: u64 = std::env::var("TOT_TEAM_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let hub = hub(&Sandbox::new());
    let http = GitHttp::start(&hub.sandbox);
    let (one, other, id) = two(&hub.sandbox, &http.url);
    let third = Machine::new(&hub.sandbox, "third");
    third.ok(&["clone", &http.url]);
    let acknowledged = Mutex::new(Vec::new());
    let failed = Mutex::new(0);
    thread::scope(|scope| {
        for (seed, machine) in (1..).zip([&one, &other, &third]) {
            let (acknowledged, failed, http, id) = (&acknowledged, &failed, &http, &id);
            scope.spawn(move || {
                // The same run for the same seed, as far as thread scheduling allows.
                let mut random = Random(seed);
                for number in 0..calls.div_ceil(6) {
                    let done = work(machine, id, &format!("R2.A{seed}x{number}"), &mut random);
                    acknowledged.lock().unwrap().extend(done);
                    if random.below(2) == 0 {
                        let bytes = usize::try_from(random.below(1_500)).unwrap();
                        let cut = [Fault::CutAnswer, Fault::CutRequest][random.below(2) as usize];
                        http.fault("", cut(bytes));
                    }
                    let entry = machine.sync(&[]);
                    if !entry["error"].is_null() {
                        *failed.lock().unwrap() += 1;
                        let code = entry["error"]["code"].as_str().unwrap();
                        assert!(["REMOTE_FAILED", "LOST_RACES"].contains(&code), "{entry:#}");
                    }
                }
            });
        }
    });
    http.mend();
    settle(&[&one, &other, &third], &id);
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > 5, "{acknowledged:?}");
    assert_eq!(hub.head(&id), one.head(&id));
    one.assert_has(&id, &acknowledged);
    let merges = one.git(&id, &["rev-list", "--count", "--merges", "HEAD"]);
    let (number, failed) = (acknowledged.len(), failed.into_inner().unwrap());
    eprintln!("{number} acknowledged, {merges} merges, {failed} syncs cut");
}
