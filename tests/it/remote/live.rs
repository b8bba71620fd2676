//! A server that shares what its calls write, beside them: `--remote`, `--sync`, and git's maintenance.
//!
//! On 2026-11-22, one server
//! over stdio, nodes of 3 KB, a debug build on 2 busy cores (load 6): after 555 nodes, with 4.8 MB of objects, the server started
//! git's maintenance, which left 2.1 MB after 600. The calls took 57 ms in the median, the one that fell into the collection 3.7 s.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::many::{calls, counting};
use super::{Hub, Machine, assert_says, branch, grow, hub, settle, start, team};
use crate::support::{Sandbox, Server, eventually, short};

impl Machine {
    /// Starts a server with additional arguments and environment variables.
    fn server_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = self.sandbox.server_command(&self.root, &["--durability", "git"]);
        command.env("TOT_CLOCK", self.sandbox.path("clock"));
        command.args(arguments).envs(environment.iter().copied());
        Server::start(command)
    }

    /// Starts a server that syncs.
    fn live(&self) -> Server {
        self.server_with(&["--sync"], &[])
    }

    /// Starts a server that syncs new investigations with this hub, and an investigation.
    fn live_with(&self, address: &str, environment: &[(&str, &str)]) -> (Server, String) {
        let mut server = self.server_with(&["--sync", "--remote", address], environment);
        let id = start(&self.sandbox, &mut server);
        (server, id)
    }

    fn is_in(&self, hub: &Hub, id: &str) -> bool {
        hub.head(id) == self.head(id)
    }
}

fn sync_of(server: &mut Server, id: &str) -> Value {
    server.ok("tot_status", json!({"sessionId": id, "detail": "concise"}))["sync"].clone()
}

#[test]
fn what_is_started_with_a_remote_lands_in_its_hub_also_if_that_was_away() {
    let hub = hub(&Sandbox::new());
    let machine = Machine::new(&hub.sandbox, "one");
    let (mut server, id) = machine.live_with(&hub.address, &[]);
    grow(&hub.sandbox, &mut server, &id, &["R1.A"]);
    eventually("the hub's branch", || machine.is_in(&hub, &id));
    eventually("the status", || {
        let sync = sync_of(&mut server, &id);
        assert_eq!(sync["remote"], hub.address, "{sync}");
        assert!(sync["error"].is_null(), "{sync}");
        sync["ahead"] == 0 && sync["behind"] == 0 && sync["lastSynced"].is_string()
    });
    // While the hub is away, work goes on.
    let away = hub.sandbox.path("away.git");
    fs::rename(&hub.path, &away).unwrap();
    grow(&hub.sandbox, &mut server, &id, &["R2.A1"]);
    eventually("the error", || sync_of(&mut server, &id)["error"].is_string());
    grow(&hub.sandbox, &mut server, &id, &["R2.A2"]);
    let sync = sync_of(&mut server, &id);
    assert_eq!((&sync["ahead"], &sync["behind"]), (&json!(4), &json!(0)), "{sync}");
    assert_says(sync["error"].as_str().unwrap(), &["reading origin failed", "hub.git"]);
    assert!(sync["lastSynced"].is_string(), "{sync}");
    fs::rename(&away, &hub.path).unwrap();
    eventually("the rest", || machine.is_in(&hub, &id));
    eventually("the status", || sync_of(&mut server, &id)["error"].is_null());
    // Ending is synced immediately, including the tag.
    let end = json!({"sessionId": id, "conclusion": "Scattering.", "stopped": {"reason": "enough"}});
    server.ok("tot_end", end);
    eventually("the tag", || hub.refs().contains(&format!("refs/tags/tot/{id}/ended/1")));
    // What is not sent yet is sent when the server is told to end.
    let comment = json!({"sessionId": id, "kind": "comment", "text": "Well.", "agentId": "a"});
    server.ok("tot_comment", comment);
    server.terminate();
    assert!(server.end());
    assert!(machine.is_in(&hub, &id));
    machine.assert_sound(&id);
}

#[test]
fn a_new_investigation_has_the_remote_of_the_configuration_when_its_start_is_answered() {
    let hub = hub(&Sandbox::new());
    let machine = Machine::new(&hub.sandbox, "one");
    hub.sandbox.configure("tot.remote", &hub.address);
    let mut server = machine.server();
    let id = start(&hub.sandbox, &mut server);
    assert_says(&machine.ok(&["remote"]), &[&format!("origin {} tot/{id}", hub.address)]);
    // The target is known, and nothing was ever pushed to it.
    assert_eq!(sync_of(&mut server, &id), json!({"remote": hub.address}));
    drop(server);
    machine.synced();
    let mut server = machine.server();
    grow(&hub.sandbox, &mut server, &id, &["R1.A"]);
    assert_eq!(sync_of(&mut server, &id), json!({"remote": hub.address, "ahead": 2, "behind": 0}));
    assert_eq!(hub.refs(), [branch(&id)]);
}

#[test]
fn without_git_a_start_says_that_it_has_no_remote_and_all_else_goes_on() {
    let machine = Machine::new(&Sandbox::new(), "one");
    let arguments = ["--sync", "--remote", "https://example.org/x.git"];
    let mut server = machine.server_with(&arguments, &[("PATH", "/nowhere")]);
    let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
    assert_says(started["warnings"][0]["message"].as_str().unwrap(), &["no remote yet", "git"]);
    let id = started["sessionId"].as_str().unwrap();
    grow(&machine.sandbox, &mut server, id, &["R1.A"]);
    assert_eq!(sync_of(&mut server, id), Value::Null);
    server.finish();
}

#[test]
fn many_calls_are_few_pushes_and_the_last_goes_before_the_end() {
    let hub = hub(&Sandbox::new());
    let machine = Machine::new(&hub.sandbox, "one");
    let (path, log) = counting(&hub.sandbox);
    let since = Instant::now();
    let (mut server, id) = machine.live_with(&hub.address, &[("PATH", &path)]);
    grow(&hub.sandbox, &mut server, &id, &["R1.A"]);
    for number in 1..=30 {
        grow(&hub.sandbox, &mut server, &id, &[&format!("R2.A{number}")]);
    }
    server.finish();
    let pushes = u64::try_from(calls(&log, "push")).unwrap();
    assert!(pushes >= 1 && pushes <= since.elapsed().as_secs() / 3 + 2, "{pushes} pushes");
    assert!(machine.is_in(&hub, &id));
}

#[test]
fn what_others_did_comes_in_when_an_investigation_is_looked_at() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let file = "nodes/R1/R1.A.yaml";
    other.edit(&id, file, "title: ", "title: Another ");
    other.commit_all(&id);
    other.synced();
    let mut server = one.live();
    eventually("their edit", || {
        let sync = sync_of(&mut server, &id);
        sync["notice"].as_str().map(short).as_deref() == Some(&*format!("1 file was edited by hand: {file}"))
            && sync["lastSynced"].is_string()
    });
    assert_eq!(one.head(&id), other.head(&id));
    let read = server.ok("tot_read", json!({"sessionId": id, "nodeIds": ["R1.A"]}));
    assert!(read.to_string().contains("Another Title"), "{read:#}");
    // With the next write, too.
    other.grow(&id, &["R2.A2"]);
    other.synced();
    grow(&one.sandbox, &mut server, &id, &["R2.A3"]);
    eventually("the merge", || one.nodes(&id).contains(&"R2.A2".to_owned()));
    eventually("its push", || one.is_in(&hub, &id));
    server.finish();
    one.assert_sound(&id);
}

#[test]
fn a_server_names_another_branch_and_does_not_send_it() {
    let (hub, one, _, id) = team(&Sandbox::new());
    let before = hub.state();
    one.sandbox.configure("tot.remote", &hub.address);
    one.git(&id, &["switch", "-q", "-c", "experiment"]);
    let mut server = one.live();
    grow(&one.sandbox, &mut server, &id, &["R2.A1"]);
    eventually("its error", || {
        let error = &sync_of(&mut server, &id)["error"];
        error.as_str().is_some_and(|error| error.contains("experiment, which is not synced"))
    });
    server.finish();
    assert_eq!(hub.state(), before);
}

/// A server whose hub never answers, with an investigation, and the file with the process id of the connection.
fn hanging(machine: &Machine) -> (Server, String, PathBuf) {
    let note = machine.sandbox.path("process");
    let script = format!("echo $$ > {}\nexec sleep 1000", note.display());
    let ssh = machine.sandbox.script("hang", &script);
    let environment = [("GIT_SSH_COMMAND", ssh.to_str().unwrap())];
    let (server, id) = machine.live_with("ssh://example.org/x.git", &environment);
    (server, id, note)
}

#[test]
#[ignore = "takes 15 seconds; .ci/run tries it"]
fn a_hub_that_hangs_does_not_keep_the_server_from_its_end() {
    let machine = Machine::new(&Sandbox::new(), "one");
    let (mut server, id, note) = hanging(&machine);
    grow(&machine.sandbox, &mut server, &id, &["R1.A"]);
    eventually("the connection", || fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n')));
    // It does not delay any call.
    grow(&machine.sandbox, &mut server, &id, &["R2.A1"]);
    let since = Instant::now();
    server.finish();
    assert!(since.elapsed() < Duration::from_secs(60), "it took {:?}", since.elapsed());
    // Git's child processes have ended. A zombie has an empty command line.
    let process = fs::read_to_string(&note).unwrap();
    let left = fs::read_to_string(format!("/proc/{}/cmdline", process.trim())).unwrap_or_default();
    assert_eq!(left, "");
    machine.assert_sound(&id);
}

#[test]
fn a_second_signal_ends_the_wait_for_the_hub() {
    let machine = Machine::new(&Sandbox::new(), "one");
    let (server, ..) = hanging(&machine);
    server.terminate();
    thread::sleep(Duration::from_millis(500));
    server.terminate();
    // It reports the interruption.
    assert!(!server.end());
}

#[test]
fn two_servers_that_sync_one_investigation_converge() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let all: Vec<String> = thread::scope(|scope| {
        let workers = [("b", &one), ("c", &other)].map(|(letter, machine)| {
            let id = &id;
            scope.spawn(move || {
                let mut server = machine.live();
                let mut commits = Vec::new();
                for number in 0..12 {
                    commits.extend(grow(
                        &machine.sandbox,
                        &mut server,
                        id,
                        &[&format!("R2.A{letter}{number}")],
                    ));
                    thread::sleep(Duration::from_millis(400));
                }
                server.finish();
                commits
            })
        });
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let shared = hub.git(&["ls-tree", "-r", "--name-only", &branch(&id), "nodes"]);
    assert_eq!(shared.lines().count(), 25);
    settle(&[&one, &other], &id);
    one.assert_has(&id, &all);
}

#[test]
fn a_server_that_only_reads_does_not_sync() {
    let sandbox = Sandbox::new();
    for argument in [&["--sync"][..], &["--remote", "/x"]] {
        let mut command = sandbox.server_command(&sandbox.root(), argument);
        let output = command.arg("--read-only").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("--read-only"), "{said}");
    }
}

#[test]
fn a_server_and_a_sync_start_gits_maintenance_and_the_user_may_switch_it_off() {
    for (setting, value, is_on) in
        [("gc.auto", "1", true), ("maintenance.auto", "false", false), ("gc.auto", "0", false)]
    {
        let sandbox = Sandbox::new();
        let hub = hub(&sandbox);
        let machine = Machine::new(&sandbox, "one");
        sandbox.configure("gc.auto", "1");
        sandbox.configure(setting, value);
        let (path, log) = counting(&sandbox);
        let mut server = machine.server_with(&[], &[("PATH", &path)]);
        let id = start(&sandbox, &mut server);
        grow(&sandbox, &mut server, &id, &["R1.A"]);
        let untidy = || {
            // To estimate the number of objects, git counts those in the folder `17`, where these are written.
            for text in ["32", "119", "334"] {
                machine.write(&id, ".git/text", text);
                machine.git(&id, &["hash-object", "-w", ".git/text"]);
            }
        };
        untidy();
        for number in 0..5 {
            grow(&sandbox, &mut server, &id, &[&format!("R2.A{number}")]);
        }
        server.finish();
        let folder = machine.repository(&id).join(".git");
        let packs = || fs::read_dir(folder.join("objects/pack")).unwrap().count();
        let is_locked = || ["gc.pid", "objects/maintenance.lock"].map(|name| folder.join(name).exists());
        // Nobody waits for git, which writes down that it was called as soon as it comes to that, and works on in the
        // background: what is untidy before it has ended, it may tidy up still.
        let called = || calls(&log, "for-each-repo");
        if is_on {
            eventually("git's maintenance", || called() > 0);
            eventually("its end", || packs() > 0 && is_locked() == [false; 2]);
            assert_eq!(called(), 1, "not again within ten minutes");
        } else {
            assert_eq!((called(), packs()), (0, 0));
        }
        // And after a sync that brought something to do.
        untidy();
        machine.ok(&["remote", "add", "origin", &hub.address]);
        for expected in [usize::from(is_on), 0] {
            fs::write(&log, "").unwrap();
            assert_eq!(machine.tot_with(&["sync"], &[("PATH", &path)]).status, 0);
            if expected > 0 {
                eventually("git's maintenance", || called() > 0);
            }
            assert_eq!(called(), expected, "{setting} {value}");
        }
        eventually("the end of maintenance", || is_locked() == [false; 2]);
        machine.assert_sound(&id);
    }
}
