//! Starting, restarting and ending a server, and invalid input.

use std::process::Stdio;

use serde_json::json;

use crate::support::stdio::reply;
use crate::support::{Sandbox, Session, TOT_MCP, codes, node, result};

#[test]
fn a_restart_between_any_two_calls_changes_nothing() {
    // The same calls on one server, and on a new server for each.
    let heads = [false, true].map(|restart| {
        let sandbox = Sandbox::new();
        let mut session = Session::start(&sandbox, json!({}));
        for (tool, arguments) in [
            ("tot_propose", json!({"nodes": [node("R1.A", None)]})),
            ("tot_commit", json!({"results": [result("R1.A", "EXPLORE")]})),
            ("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]})),
            ("tot_propose", json!({"withdraw": ["R2.A2"]})),
            ("tot_commit", json!({"results": [result("R2.A1", "DEAD")]})),
            ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "nothing there"})),
            ("tot_status", json!({})),
        ] {
            if restart {
                std::mem::replace(&mut session.server, sandbox.server()).finish();
            }
            session.ok(tool, arguments);
            sandbox.sleep(60);
        }
        let status = session.ok("tot_status", json!({}));
        assert_eq!(status["totalNodes"], 2);
        sandbox.assert_sound(&session.repository());
        sandbox.head(&session.repository())
    });
    assert_eq!(heads[0], heads[1], "the very same commits");
}

#[test]
fn two_investigations_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    let mut one = Session::start(&sandbox, json!({}));
    sandbox.sleep(1);
    one.grow(&[("R1.A", None)], "EXPLORE");
    let before = sandbox.head(&one.repository());
    let mut other = Session::begun(&sandbox);
    other.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    assert_eq!(sandbox.head(&one.repository()), before);
    // Each server sees what the other has written.
    let id = one.id.clone();
    assert_eq!(other.server.ok("tot_status", json!({"sessionId": id}))["totalNodes"], 1);
    assert_eq!(other.ok("tot_end", json!({}))["deadEnds"], 1);
    one.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
    assert_eq!(one.ok("tot_status", json!({}))["totalNodes"], 3);
}

#[test]
fn the_number_of_commits_is_the_number_of_accepted_writing_calls() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.refused("tot_propose", json!({"nodes": [node("R3.A1", Some("R1.A"))]}));
    session.refused("tot_end", json!({}));
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    session.ok("tot_status", json!({}));
    session.ok("tot_end", json!({"conclusion": "Nothing there."}));
    // Ending again returns the same reply and writes nothing.
    let again = session.ok("tot_end", json!({"conclusion": "Something else."}));
    assert!(again["commit"].is_null());
    assert_eq!(again["tag"], "ended/1");
    let repository = session.repository();
    assert_eq!(sandbox.git(&repository, &["rev-list", "--count", "HEAD"]).trim(), "6");
    let tools =
        sandbox.git(&repository, &["log", "--reverse", "--format=%(trailers:key=Tool,valueonly,separator=)"]);
    assert_eq!(
        tools.split_whitespace().collect::<Vec<_>>(),
        ["tot_start", "tot_propose", "tot_commit", "tot_propose", "tot_commit", "tot_end"]
    );
    sandbox.assert_sound(&repository);
}

#[test]
fn bad_calls_of_any_kind_are_answered_and_write_nothing() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let bad = [
        ("tot_propose", json!({"nodes": 7})),
        ("tot_propose", json!({"nodes": [{"id": "R2.A1"}]})),
        (
            "tot_propose",
            json!({"nodes": [{"id": "R2.A1", "parent": "R1.A", "title": "x", "plannedAction": "y", "color": 1}]}),
        ),
        ("tot_propose", json!({"node": [node("R2.A1", Some("R1.A"))]})),
        ("tot_propose", json!({})),
        ("tot_commit", json!({"results": {}})),
        ("tot_commit", json!({"results": [{"nodeId": "R2.A1", "state": ["DEAD"], "findings": "x"}]})),
        ("tot_commit", json!({"results": [result("constructor", "EXPLORE")]})),
        ("tot_reclassify", json!({"nodeId": "R1.A"})),
        ("tot_end", json!({"graph": "picture"})),
        ("tot_status", json!({"cursor": "first"})),
    ];
    for (tool, arguments) in bad {
        let codes = session.refused(tool, arguments.clone());
        assert!(!codes.is_empty(), "{tool} {arguments}");
    }
    for id in ["../x", "", "/etc", "nosuch", "00000000-0000-4000-8000-000000000000", ".", "%2e%2e"] {
        let reply = session.server.call("tot_status", json!({"sessionId": id}));
        assert_eq!(codes(&reply["errors"]), ["SESSION_NOT_FOUND"], "{id}");
        assert_eq!(reply["canEnd"], false, "{reply}");
    }
    let unknown = session.server.request("tools/call", json!({"name": "tot_sart", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("tot_start"), "{unknown}");
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 1);
    let folders =
        std::fs::read_dir(sandbox.root()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 1, "nothing else was made");
}

#[cfg(unix)]
#[test]
fn what_a_killed_writer_left_is_put_right_by_whoever_reads() {
    use std::os::unix::fs::MetadataExt;

    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let git_folder = session.repository().join(".git");
    let (lock, journal) = (git_folder.join("index.lock"), git_folder.join("tot-journal"));
    std::fs::write(&lock, "").unwrap();
    let file = lock.metadata().unwrap();
    let head = sandbox.head(&session.repository());
    let left = format!(
        "tot-journal 1\ntarget {head}\nreference HEAD\nready\nindex-lock {}:{}\npublish\n",
        file.dev(),
        file.ino()
    );
    std::fs::write(&journal, left).unwrap();
    session.ok("tot_status", json!({}));
    assert!(!lock.exists() && journal.metadata().unwrap().len() == 0);
    assert_eq!(sandbox.head(&session.repository()), head, "reading commits nothing");
    sandbox.assert_sound(&session.repository());
}

#[test]
fn the_tag_of_an_end_is_written_even_if_it_is_reopened_first() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let ended = session.ok("tot_end", json!({}));
    let repository = session.repository();
    // The state after a kill between the two.
    sandbox.git(&repository, &["tag", "-d", "ended/1"]);
    session.refused("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    assert_eq!(sandbox.git(&repository, &["tag"]), "", "a rejected call writes nothing");
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
    let target = sandbox.git(&repository, &["rev-parse", "ended/1^{commit}"]);
    assert_eq!(ended["commit"], target.trim());
}

#[test]
fn the_root_is_ignored_by_git_even_if_its_first_start_was_killed() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.root()).unwrap();
    std::fs::write(sandbox.root().join(".gitignore.new"), "").unwrap();
    sandbox.server().ok("tot_start", json!({"query": "q"}));
    assert!(std::fs::read_to_string(sandbox.root().join(".gitignore")).unwrap().contains("/*/"));
    assert!(!sandbox.root().join(".gitignore.new").exists());
}

#[test]
fn requests_that_come_all_at_once_are_answered_and_writes_keep_their_order() {
    const NODES: usize = 30;
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let id = session.id.clone();
    let names: Vec<String> = (1..=NODES).map(|number| format!("R2.A{number}")).collect();
    // Each is accepted only after the previous one.
    for (number, name) in names.iter().enumerate() {
        for (step, (tool, arguments)) in [
            ("tot_propose", json!({"sessionId": id, "nodes": [node(name, Some("R1.A"))]})),
            ("tot_status", json!({"sessionId": id})),
            ("tot_commit", json!({"sessionId": id, "results": [result(name, "DEAD")]})),
        ]
        .into_iter()
        .enumerate()
        {
            session
                .server
                .send(&json!({"jsonrpc": "2.0", "id": format!("{number}.{step}"), "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}}));
        }
    }
    let answers = std::mem::replace(&mut session.server, sandbox.server()).finish_listening();
    let answers: Vec<_> = answers.iter().filter(|answer| !answer["id"].is_null()).collect();
    assert_eq!(answers.len(), 3 * NODES);
    for answer in answers {
        assert_eq!(reply(answer)["status"], "OK", "{answer}");
    }
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], NODES + 1);
}

#[cfg(unix)]
mod at_work {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    /// Starts a call that waits for the writer lock, which the file holds.
    fn waiting(session: &mut Session) -> File {
        let path = session.repository().join(".git/tot-lock");
        let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
        file.lock().unwrap();
        let proposal = json!({"sessionId": session.id, "nodes": [node("R1.A", None)]});
        session.server.send(&json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call",
            "params": {"name": "tot_propose", "arguments": proposal}}));
        file
    }

    #[test]
    fn a_call_that_waits_holds_up_nobody() {
        let sandbox = Sandbox::new();
        let mut session = Session::start(&sandbox, json!({}));
        let held = waiting(&mut session);
        for _ in 0..20 {
            assert_eq!(session.server.request("ping", json!({}))["result"], json!({}));
            assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 0);
        }
        // If they had waited for it, it would have timed out and been answered first.
        assert!(session.server.heard.iter().all(|message| message["id"] != "slow"));
        drop(held);
        let slow = session.server.receive().unwrap();
        assert_eq!((&slow["id"], &slow["result"]["isError"]), (&json!("slow"), &json!(false)), "{slow}");
        assert_eq!(session.ok("tot_status", json!({}))["pending"], json!(["R1.A"]));
    }

    #[test]
    fn a_second_signal_ends_the_server_while_a_call_waits() {
        let sandbox = Sandbox::new();
        let mut session = Session::start(&sandbox, json!({}));
        let _held = waiting(&mut session);
        let mut server = std::mem::replace(&mut session.server, sandbox.server());
        // Lines are read in order, so the call has been received.
        server.request("ping", json!({}));
        // Two simultaneous signals may count as one.
        while !server.has_ended() {
            server.terminate();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!server.end(), "the call was not waited for");
    }
}

/// At its limit of threads the server was ended by the first call. Limits of processes don't hold for root, so the server
/// runs as somebody else, whom nobody but root can make; elsewhere this is left out.
#[cfg(target_os = "linux")]
#[test]
fn a_server_at_the_limit_of_threads_answers_or_says_that_it_cannot_start() {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    // A number that no other test has, of nobody: the limit counts all that a user runs.
    let run = |program: &std::path::Path, threads: u32| {
        let mut command = sandbox.command("setpriv");
        command.args(["--reuid", "61234", "--clear-groups", "prlimit", &format!("--nproc={threads}")]);
        command.arg(program);
        command
    };
    if !run("true".as_ref(), 1).output().is_ok_and(|output| output.status.success()) {
        eprintln!("left out: not root, or without setpriv and prlimit");
        return;
    }
    let open_to_all = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    let (folder, program) = (sandbox.path("public"), sandbox.path("public/tot-mcp"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(TOT_MCP, &program).unwrap();
    [sandbox.path(""), folder.clone(), program.clone()].iter().for_each(|path| open_to_all(path));
    // Returns the replies to the calls, or the message if the server can't start.
    let talk = |threads: u32,
                root: &std::path::Path,
                calls: &[(&str, serde_json::Value)],
                meanwhile: &dyn Fn()| {
        let mut command = run(&program, threads);
        command.arg("--root").arg(root).env("HOME", &folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut input = server.stdin.take().unwrap();
        let calls = calls.iter().enumerate().map(|(at, (tool, arguments))| {
            json!({"jsonrpc": "2.0", "id": at + 2, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}})
        });
        let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        for message in [greeting, ready].into_iter().chain(calls) {
            // A server that can't start reads nothing.
            let _ = writeln!(input, "{message}");
        }
        meanwhile();
        drop(input);
        let output = server.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout).unwrap());
        }
        assert_eq!(output.status.code(), Some(1), "{threads}: {said}");
        Err(said)
    };
    let accepted = |replies: &str| replies.matches(r#""isError":false"#).count();
    let mut answered = 0;
    for threads in 1..=5 {
        let root = folder.join(threads.to_string());
        std::fs::create_dir(&root).unwrap();
        open_to_all(&root);
        let calls = [("tot_list", json!({})), ("tot_start", json!({"query": "q", "mode": "smoke"}))];
        match talk(threads, &root, &calls, &|| {}) {
            Ok(replies) => assert_eq!(accepted(&replies), 2, "{threads}: {replies}"),
            Err(said) => {
                assert!(
                    said.contains("the system cannot create a thread for this process"),
                    "{threads}: {said}"
                );
                continue;
            }
        }
        answered += 1;
        // A call that waits for another writer does not occupy a thread.
        let repository = std::fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.join(".git").is_dir());
        let repository = repository.unwrap();
        let lock = std::fs::File::open(repository.join(".git/tot-lock"));
        let lock = lock.or_else(|_| std::fs::File::create(repository.join(".git/tot-lock"))).unwrap();
        open_to_all(&repository.join(".git/tot-lock"));
        lock.lock().unwrap();
        let id = repository.file_name().unwrap().to_str().unwrap();
        let proposal = json!({"sessionId": id, "nodes": [node("R1.A", None)]});
        let replies = talk(threads, &root, &[("tot_propose", proposal)], &|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            lock.unlock().unwrap();
        });
        assert_eq!(accepted(&replies.unwrap()), 1, "{threads}");
    }
    assert!(answered > 0, "it never started");
}

#[test]
fn a_call_whose_arguments_do_not_fit_does_not_deny_that_it_can_end() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "FOUND");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "VERIFY");
    let can_end = session.ok("tot_status", json!({}))["canEnd"].clone();
    for (tool, arguments) in [("tot_commit", json!({"results": 5})), ("tot_reclassify", json!({"nodeId": 1}))]
    {
        let reply = session.call(tool, arguments);
        assert_eq!(reply["status"], "REJECTED", "{reply}");
        assert!(reply["canEnd"].is_null() || reply["canEnd"] == can_end, "{can_end}: {reply}");
    }
}

#[test]
fn the_id_of_a_deep_node_is_whole_in_what_is_said_of_it() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let long = format!("R2.A{}", "1".repeat(60));
    session.ok("tot_propose", json!({"nodes": [node(&long, Some("R1.A"))]}));
    sandbox.sleep(60);
    let mut bare = result(&long, "FOUND");
    for part in ["evidence", "alternativesConsidered", "agentId"] {
        bare.as_object_mut().unwrap().remove(part);
    }
    let committed = session.call("tot_commit", json!({"results": [bare]}));
    let said = ["warnings", "errors"].map(|key| committed[key].to_string()).concat();
    assert!(said.matches("R2.A1").count() > 0, "{committed}");
    assert_eq!(said.matches("R2.A1").count(), said.matches(&long).count(), "{committed}");
}
