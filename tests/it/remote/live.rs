//! A server that shares what its calls write, beside them: `--remote`, `--sync`, and git's maintenance.
//!
//! On 2026-11-22, one server
//! over stdio, nodes of 3 KB, a debug build on 2 busy cores (load 6): after 555 nodes, with 4.8 MB of objects, the server started
//! git's maintenance, which left 2.1 MB after 600. The calls took 57 ms in the median, the one that fell into the collection 3.7 s.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::many::{calls, counting};
use super::stuck::{commit_all, edit};
use super::{Machine, hub, refs, team};
use crate::support::{Sandbox, Server, node, result};

/// Much longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what} does not come");
        thread::sleep(Duration::from_millis(50));
    }
}

impl Machine<'_> {
    /// Starts a server that syncs, with additional arguments and environment variables.
    fn live_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = self.sandbox.server_command(&self.root, &["--durability", "git", "--sync"]);
        command.arg("--clock-file").arg(self.sandbox.path("clock"));
        command.args(arguments).envs(environment.iter().copied());
        Server::start(command)
    }

    fn live(&self, arguments: &[&str]) -> Server {
        self.live_with(arguments, &[])
    }
}

fn start(sandbox: &Sandbox, server: &mut Server) -> String {
    // With a stopped clock, two starts would be one.
    sandbox.sleep(1);
    let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
    assert_eq!(started["warnings"], Value::Null, "{started:#}");
    started["sessionId"].as_str().unwrap().to_owned()
}

/// Proposes and commits a node, and returns the commits.
fn grow(server: &mut Server, id: &str, name: &str, parent: Option<&str>) -> Vec<String> {
    let propose = json!({"sessionId": id, "nodes": [node(name, parent)]});
    let commit = json!({"sessionId": id, "results": [result(name, "EXPLORE")]});
    [("tot_propose", propose), ("tot_commit", commit)]
        .map(|(tool, arguments)| server.ok(tool, arguments)["commit"].as_str().unwrap().to_owned())
        .to_vec()
}

fn sync_of(server: &mut Server, id: &str) -> Value {
    server.ok("tot_status", json!({"sessionId": id, "detail": "concise"}))["sync"].clone()
}

/// Returns the hub's commit of an investigation, or an empty string if it has none.
fn there(sandbox: &Sandbox, hub: &Path, id: &str) -> String {
    let name = format!("refs/heads/tot/{id}");
    let output = sandbox.try_git(hub, &["rev-parse", "--verify", "--quiet", &name]);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn what_is_started_with_a_remote_lands_in_its_hub() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let mut server = machine.live(&["--remote", hub.to_str().unwrap()]);
    let id = start(&sandbox, &mut server);
    grow(&mut server, &id, "R1.A", None);
    wait_for("the hub's branch", || there(&sandbox, &hub, &id) == machine.head(&id));
    wait_for("the status", || {
        let sync = sync_of(&mut server, &id);
        assert_eq!(sync["remote"], hub.to_str().unwrap(), "{sync}");
        assert!(sync["error"].is_null(), "{sync}");
        sync["ahead"] == 0 && sync["behind"] == 0 && sync["lastSynced"].is_string()
    });
    // Ending is synced immediately, including the tag.
    let end = json!({"sessionId": id, "force": true, "conclusion": "Scattering.", "stopped": {"reason": "abandoned"}});
    let ended = server.call("tot_end", end);
    if ended["status"] == "OK" {
        wait_for("the tag", || refs(&sandbox, &hub).contains(&format!("refs/tags/tot/{id}/ended/1")));
    }
    server.finish();
    machine.assert_sound(&id);
}

#[test]
fn a_new_investigation_has_the_remote_of_the_configuration_when_its_start_is_answered() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let address = hub.to_str().unwrap();
    let machine = Machine::new(&sandbox, "one");
    sandbox.git(&sandbox.path("home"), &["config", "--global", "tot.remote", address]);
    let mut server = machine.server();
    let id = start(&sandbox, &mut server);
    let listed = machine.ok(&["remote"]);
    assert!(listed.contains(&format!("origin {address} tot/{id}")), "{listed}");
    // The target is known, and nothing was ever pushed to it.
    let sync = sync_of(&mut server, &id);
    assert_eq!(sync, json!({"remote": address}));
    drop(server);
    machine.synced();
    let mut server = machine.server();
    grow(&mut server, &id, "R1.A", None);
    let sync = sync_of(&mut server, &id);
    assert_eq!(sync, json!({"remote": address, "ahead": 2, "behind": 0}));
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{id}")]);
}

#[test]
fn without_git_a_start_says_that_it_has_no_remote_and_all_else_goes_on() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let mut server = machine.live_with(&["--remote", "https://example.org/x.git"], &[("PATH", "/nowhere")]);
    let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
    let warned = started["warnings"][0]["message"].as_str().unwrap();
    assert!(warned.contains("no remote yet") && warned.contains("git"), "{started:#}");
    let id = started["sessionId"].as_str().unwrap().to_owned();
    grow(&mut server, &id, "R1.A", None);
    assert_eq!(sync_of(&mut server, &id), Value::Null);
    server.finish();
}

#[test]
fn many_calls_are_few_pushes() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let (path, log) = counting(&sandbox);
    let mut server = machine.live_with(&["--remote", hub.to_str().unwrap()], &[("PATH", &path)]);
    let since = Instant::now();
    let id = start(&sandbox, &mut server);
    grow(&mut server, &id, "R1.A", None);
    for number in 1..=30 {
        grow(&mut server, &id, &format!("R2.A{number}"), Some("R1.A"));
    }
    server.finish();
    let pushes = u64::try_from(calls(&log, "push")).unwrap();
    assert!(pushes >= 1 && pushes <= since.elapsed().as_secs() / 3 + 2, "{pushes} pushes");
    assert_eq!(there(&sandbox, &hub, &id), machine.head(&id));
}

#[test]
fn while_the_hub_is_away_work_goes_on_and_afterwards_all_is_there() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let mut server = machine.live(&["--remote", hub.to_str().unwrap()]);
    let id = start(&sandbox, &mut server);
    wait_for("the first push", || sync_of(&mut server, &id)["ahead"] == 0);
    let away = sandbox.path("away.git");
    fs::rename(&hub, &away).unwrap();
    grow(&mut server, &id, "R1.A", None);
    wait_for("the error", || sync_of(&mut server, &id)["error"].is_string());
    for number in 1..=5 {
        grow(&mut server, &id, &format!("R2.A{number}"), Some("R1.A"));
    }
    let sync = sync_of(&mut server, &id);
    assert_eq!((&sync["ahead"], &sync["behind"]), (&json!(12), &json!(0)), "{sync}");
    let error = sync["error"].as_str().unwrap();
    assert!(error.contains("reading origin failed") && error.contains("hub.git"), "{error}");
    assert!(sync["lastSynced"].is_string(), "{sync}");
    fs::rename(&away, &hub).unwrap();
    wait_for("the rest", || there(&sandbox, &hub, &id) == machine.head(&id));
    wait_for("the status", || sync_of(&mut server, &id)["error"].is_null());
    server.finish();
    machine.assert_sound(&id);
}

#[test]
fn what_others_did_comes_in_when_an_investigation_is_looked_at() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    other.grow(&id, &["R2.A1"]);
    other.synced();
    let mut server = one.live(&[]);
    sync_of(&mut server, &id);
    wait_for("their commits", || one.head(&id) == other.head(&id));
    let read = server.ok("tot_read", json!({"sessionId": id, "nodeIds": ["R2.A1"]}));
    assert!(read.to_string().contains("Findings of R2.A1"), "{read:#}");
    // With the next write, too.
    other.grow(&id, &["R2.A2"]);
    other.synced();
    grow(&mut server, &id, "R2.A3", Some("R1.A"));
    wait_for("the merge", || one.nodes(&id).contains(&"R2.A2".to_owned()));
    wait_for("its push", || there(&sandbox, &hub, &id) == one.head(&id));
    server.finish();
    one.assert_sound(&id);
}

#[test]
fn an_edit_by_hand_that_came_beside_the_calls_is_in_the_status() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let node = "nodes/R1/R1.A.yaml";
    edit(&other.repository(&id).join(node), "title: ", "title: Another ");
    commit_all(&sandbox, &other.repository(&id), "By hand");
    other.synced();
    let mut server = one.live(&[]);
    wait_for("the edit", || {
        let sync = sync_of(&mut server, &id);
        sync["notice"] == format!("1 file was edited by hand: {node}") && sync["lastSynced"].is_string()
    });
    server.finish();
}

#[test]
fn what_is_not_sent_yet_goes_before_the_end() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let mut server = machine.live(&["--remote", hub.to_str().unwrap()]);
    let id = start(&sandbox, &mut server);
    grow(&mut server, &id, "R1.A", None);
    server.finish();
    assert_eq!(there(&sandbox, &hub, &id), machine.head(&id), "stdin was closed");
    let mut server = machine.live(&[]);
    grow(&mut server, &id, "R2.A1", Some("R1.A"));
    server.terminate();
    assert!(server.end());
    assert_eq!(there(&sandbox, &hub, &id), machine.head(&id), "it was told to end");
}

#[test]
#[ignore = "takes 15 seconds; .ci/run tries it"]
fn a_hub_that_hangs_does_not_keep_the_server_from_its_end() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let (script, note) = (sandbox.path("hang"), sandbox.path("process"));
    fs::write(&script, format!("#!/bin/sh\necho $$ > {}\nexec sleep 1000\n", note.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = machine.live_with(
        &["--remote", "ssh://example.org/x.git"],
        &[("GIT_SSH_COMMAND", script.to_str().unwrap())],
    );
    let id = start(&sandbox, &mut server);
    grow(&mut server, &id, "R1.A", None);
    wait_for("the connection", || fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n')));
    // It does not delay any call.
    grow(&mut server, &id, "R2.A1", Some("R1.A"));
    let since = Instant::now();
    server.finish();
    assert!(since.elapsed() < Duration::from_secs(60), "it took {:?}", since.elapsed());
    // Git's child processes have ended. A zombie has an empty command line.
    let process = fs::read_to_string(&note).unwrap();
    let left =
        fs::read_to_string(Path::new("/proc").join(process.trim()).join("cmdline")).unwrap_or_default();
    assert_eq!(left, "");
    machine.assert_sound(&id);
}

#[test]
fn a_second_signal_ends_the_wait_for_the_hub() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let script = sandbox.path("hang");
    fs::write(&script, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = machine.live_with(
        &["--remote", "ssh://example.org/x.git"],
        &[("GIT_SSH_COMMAND", script.to_str().unwrap())],
    );
    start(&sandbox, &mut server);
    server.terminate();
    thread::sleep(Duration::from_millis(500));
    server.terminate();
    // It reports the interruption.
    assert!(!server.end());
}

#[test]
fn two_servers_that_sync_one_investigation_converge() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let mut all: Vec<String> = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = ["b", "c"]
            .into_iter()
            .zip([&one, &other])
            .map(|(letter, machine)| {
                let id = &id;
                scope.spawn(move || {
                    let mut server = machine.live(&[]);
                    let mut commits = Vec::new();
                    for number in 0..12 {
                        commits.extend(grow(&mut server, id, &format!("R2.A{letter}{number}"), Some("R1.A")));
                        thread::sleep(Duration::from_millis(400));
                    }
                    server.finish();
                    commits
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| all.extend(worker.join().unwrap()));
    });
    let (mut first, mut second) = (one.live(&[]), other.live(&[]));
    for server in [&mut first, &mut second] {
        sync_of(server, &id);
    }
    first.finish();
    second.finish();
    let mut last = one.live(&[]);
    sync_of(&mut last, &id);
    wait_for("the same head", || one.head(&id) == other.head(&id));
    last.finish();
    assert_eq!(there(&sandbox, &hub, &id), one.head(&id));
    let history = sandbox.git(&one.repository(&id), &["rev-list", "HEAD"]);
    for commit in &all {
        assert!(history.lines().any(|line| line.starts_with(commit.as_str())), "{commit} is lost");
    }
    assert_eq!(one.nodes(&id).len(), 25);
    one.assert_sound(&id);
    other.assert_sound(&id);
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

/// Returns the total size of the files below a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            // A garbage collection removed it.
            Err(_) => 0,
        })
        .sum()
}

#[test]
fn git_tidies_up_beside_writers_and_readers_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    sandbox.git(&sandbox.path("home"), &["config", "--global", "gc.auto", "100"]);
    let mut server = machine.server();
    let id = start(&sandbox, &mut server);
    let mut all = grow(&mut server, &id, "R1.A", None);
    let repository = machine.repository(&id);
    let objects = repository.join(".git/objects");
    let mut largest = 0;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Another process's collections, without a pause.
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let ran = sandbox.try_git(&repository, &["maintenance", "run", "--auto", "--quiet"]);
                assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            }
        });
        scope.spawn(|| {
            let mut reader = machine.server();
            while !is_done.load(Ordering::Relaxed) {
                let status = reader.ok("tot_status", json!({"sessionId": id}));
                assert!(status["faults"].is_null(), "{status:#}");
            }
        });
        let mut other = machine.server();
        for number in 0..40 {
            // Long enough before the next one.
            sandbox.sleep(700);
            all.extend(grow(&mut server, &id, &format!("R2.Ab{number}"), Some("R1.A")));
            all.extend(grow(&mut other, &id, &format!("R2.Ac{number}"), Some("R1.A")));
            largest = largest.max(size(&objects));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let is_locked =
        || ["gc.pid", "objects/maintenance.lock"].map(|name| repository.join(".git").join(name).exists());
    wait_for("the end of maintenance", || is_locked() == [false; 2]);
    let history = sandbox.git(&repository, &["rev-list", "HEAD"]);
    for commit in &all {
        assert!(history.lines().any(|line| line.starts_with(commit.as_str())), "{commit} is lost");
    }
    machine.assert_sound(&id);
    let (loose, packed) = (largest, {
        sandbox.git(&repository, &["gc", "--quiet"]);
        size(&objects)
    });
    eprintln!("objects: at most {loose} bytes, in the end packed {packed}");
    assert!(packed < loose);
}

#[test]
fn a_server_and_a_sync_start_it_and_the_user_may_switch_it_off() {
    for (setting, value, is_on) in
        [("gc.auto", "1", true), ("maintenance.auto", "false", false), ("gc.auto", "0", false)]
    {
        let sandbox = Sandbox::new();
        let hub = hub(&sandbox);
        let machine = Machine::new(&sandbox, "one");
        let home = sandbox.path("home");
        sandbox.git(&home, &["config", "--global", "gc.auto", "1"]);
        sandbox.git(&home, &["config", "--global", setting, value]);
        let (path, log) = counting(&sandbox);
        let mut command = sandbox.server_command(&machine.root, &["--durability", "git"]);
        command.arg("--clock-file").arg(sandbox.path("clock")).env("PATH", &path);
        let mut server = Server::start(command);
        let id = start(&sandbox, &mut server);
        grow(&mut server, &id, "R1.A", None);
        let untidy = || {
            // To estimate the number of objects, git counts those in the folder `17`, where these are written.
            for text in [32, 119, 334] {
                let file = sandbox.path("text");
                fs::write(&file, text.to_string()).unwrap();
                sandbox.git(&machine.repository(&id), &["hash-object", "-w", file.to_str().unwrap()]);
            }
        };
        untidy();
        for number in 0..5 {
            grow(&mut server, &id, &format!("R2.A{number}"), Some("R1.A"));
        }
        server.finish();
        let folder = machine.repository(&id).join(".git");
        let packs = || fs::read_dir(folder.join("objects/pack")).unwrap().count();
        let is_locked = || ["gc.pid", "objects/maintenance.lock"].map(|name| folder.join(name).exists());
        // Nobody waits for git, which writes down that it was called as soon as it comes to that, and works on in the
        // background: what is untidy before it has ended, it may tidy up still.
        let is_called = || calls(&log, "for-each-repo") > 0;
        if is_on {
            wait_for("git's maintenance", is_called);
            wait_for("its end", || packs() > 0 && is_locked() == [false; 2]);
            assert_eq!(calls(&log, "for-each-repo"), 1, "not again within ten minutes");
        } else {
            assert_eq!((calls(&log, "for-each-repo"), packs()), (0, 0));
        }
        // And after a sync that brought something to do.
        untidy();
        machine.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
        for expected in [usize::from(is_on), 0] {
            fs::write(&log, "").unwrap();
            assert_eq!(machine.tot_with(&["sync"], &[("PATH", &path)]).status, 0);
            if expected > 0 {
                wait_for("git's maintenance", is_called);
            }
            assert_eq!(calls(&log, "for-each-repo"), expected, "{setting} {value}");
        }
    }
}
