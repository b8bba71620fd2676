//! Starting, restarting and ending a server, and invalid input.

use std::time::Duration;

use serde_json::json;

use super::{hold, proposal};
use crate::support::http::{call, initialize};
use crate::support::stdio::{Server, reply};
use crate::support::{Sandbox, Session, TOT_MCP, codes, node, result};

#[test]
fn a_restart_between_any_two_calls_changes_nothing() {
    // The same calls on one server, and on a new server for each.
    let heads = [false, true].map(|restart| {
        let mut session = Session::start(&Sandbox::new(), json!({}));
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
                std::mem::replace(&mut session.server, session.sandbox.server()).finish();
            }
            session.ok(tool, arguments);
            session.sandbox.sleep(60);
        }
        assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], 2);
        session.assert_sound();
        session.head()
    });
    assert_eq!(heads[0], heads[1], "the very same commits");
}

#[test]
fn bad_calls_of_any_kind_are_answered_and_write_nothing() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1"], "FOUND");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "VERIFY");
    for (tool, arguments) in [
        ("tot_propose", json!({"nodes": 7})),
        ("tot_propose", json!({"nodes": [{"id": "R2.A2"}]})),
        ("tot_propose", json!({"nodes": [{"id": "R2.A2", "parent": "R1.A", "title": "x", "color": 1}]})),
        ("tot_propose", json!({"node": [node("R2.A2", Some("R1.A"))]})),
        ("tot_propose", json!({})),
        ("tot_commit", json!({"results": 5})),
        ("tot_commit", json!({"results": {}})),
        ("tot_commit", json!({"results": [{"nodeId": "R2.A1", "state": ["DEAD"], "findings": "x"}]})),
        ("tot_commit", json!({"results": [result("constructor", "EXPLORE")]})),
        ("tot_reclassify", json!({"nodeId": 1})),
        ("tot_reclassify", json!({"nodeId": "R1.A"})),
        ("tot_end", json!({"graph": "picture"})),
        ("tot_status", json!({"cursor": "first"})),
        ("tot_next", json!({"maxTasks": 21})),
        ("tot_step", json!({"maxTasks": 0})),
    ] {
        let before = session.head();
        let reply = session.call(tool, arguments);
        assert!(!codes(&reply["errors"]).is_empty() && reply["canEnd"] != false, "{reply:#}");
        assert_eq!(session.head(), before);
    }
    // Three characters of an id are too few; `resources.rs` has one of four.
    for id in ["../x", "", "/etc", "nosuch", "00000000-0000-4000-8000-000000000000", &session.id[..3]] {
        let reply = session.server.call("tot_status", json!({"sessionId": id}));
        assert_eq!(codes(&reply["errors"]), ["SESSION_NOT_FOUND"], "{id}");
        assert_eq!(reply["canEnd"], false, "{reply}");
    }
    let unknown = session.server.request("tools/call", json!({"name": "tot_sart", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("tot_start"), "{unknown}");
    let made =
        std::fs::read_dir(session.sandbox.root()).unwrap().filter(|it| it.as_ref().unwrap().path().is_dir());
    assert_eq!(made.count(), 1, "nothing else was made");
}

#[cfg(unix)]
#[test]
fn what_a_killed_server_left_is_put_right() {
    use std::os::unix::fs::MetadataExt;

    let sandbox = Sandbox::new();
    // A start that was killed before it had git ignore the root.
    std::fs::create_dir(sandbox.root()).unwrap();
    std::fs::write(sandbox.root().join(".gitignore.new"), "").unwrap();
    let mut session = Session::begun(&sandbox);
    assert!(std::fs::read_to_string(sandbox.root().join(".gitignore")).unwrap().contains("/*/"));
    assert!(!sandbox.root().join(".gitignore.new").exists());

    // A commit that was killed after it had moved the branch. The next reader finishes it.
    let repository = session.repository();
    let (lock, journal) = (repository.join(".git/index.lock"), repository.join(".git/tot-journal"));
    std::fs::write(&lock, "").unwrap();
    let file = lock.metadata().unwrap();
    let head = session.head();
    let ready = format!("tot-journal 1\ntarget {head}\nreference HEAD\nready\n");
    let left = format!("{ready}index-lock {}:{}\npublish\n", file.dev(), file.ino());
    std::fs::write(&journal, left).unwrap();
    session.ok("tot_status", json!({}));
    assert!(!lock.exists() && journal.metadata().unwrap().len() == 0);
    assert_eq!(session.head(), head, "reading commits nothing");
    session.assert_sound();

    // An end that was killed before its tag was written. The next accepted call writes it.
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let ended = session.ok("tot_end", json!({}));
    session.git(&["tag", "-d", "ended/1"]);
    session.refused("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    assert_eq!(session.git(&["tag"]), "", "a rejected call writes nothing");
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
    let target = session.git(&["rev-parse", "ended/1^{commit}"]);
    assert_eq!(ended["commit"], target.trim());
}

#[test]
fn a_call_that_is_answered_as_rejected_has_written_nothing() {
    let mut session = Session::begun(&Sandbox::new());
    // The plan that comes with the reply is refused before anything is stored.
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    let results = json!([result("R2.A1", "DEAD")]);
    let step = json!({"results": results, "nodes": [], "maxTasks": 21});
    assert_eq!(session.refused("tot_step", step), ["INVALID_ARGUMENT"]);
    session.ok("tot_commit", json!({"results": results}));
    // A tag of the user leaves no room for the tag of the end.
    session.git(&["tag", "ended"]);
    let end = json!({"conclusion": "It sorts twice.", "stopped": {"reason": "budget"}});
    assert_eq!(session.refused("tot_end", end.clone()), ["STORE_ERROR"]);
    assert_eq!(session.git(&["status", "--porcelain"]), "");
    session.git(&["tag", "-d", "ended"]);
    // A lock that a killed git left on its name needs no person.
    let lock = session.repository().join(".git/refs/tags/ended/1.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    assert_eq!(session.ok("tot_end", end)["tag"], "ended/2");
    std::fs::remove_file(&lock).unwrap();
    // Where the end is stored already, its missing tag is a warning.
    session.git(&["tag", "-d", "ended/2"]);
    session.git(&["tag", "ended"]);
    let told = session.ok("tot_comment", json!({"text": "Later.", "agentId": "a"}));
    assert_eq!(codes(&told["warnings"]), ["STORE_ERROR"], "{told:#}");
}

#[test]
fn requests_that_come_all_at_once_are_answered_and_writes_keep_their_order() {
    const NODES: usize = 30;
    let mut session = Session::begun(&Sandbox::new());
    // Each is accepted only after the previous one.
    for number in 1..=NODES {
        let name = format!("R2.A{number}");
        for (tool, arguments) in [
            ("tot_propose", json!({"sessionId": session.id, "nodes": [node(&name, Some("R1.A"))]})),
            ("tot_status", json!({"sessionId": session.id})),
            ("tot_commit", json!({"sessionId": session.id, "results": [result(&name, "DEAD")]})),
        ] {
            session.server.begin("tools/call", json!({"name": tool, "arguments": arguments})).unwrap();
        }
    }
    let answers = std::mem::replace(&mut session.server, session.sandbox.server()).finish_listening();
    let answers: Vec<_> = answers.iter().filter(|answer| !answer["id"].is_null()).collect();
    assert_eq!(answers.len(), 3 * NODES);
    for answer in answers {
        assert_eq!(reply(answer)["status"], "OK", "{answer}");
    }
    assert_eq!(session.ok("tot_status", json!({}))["totalNodes"], NODES + 1);
}

#[cfg(unix)]
#[test]
fn a_call_that_waits_holds_up_nobody_and_a_second_signal_ends_the_server() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    let held = hold(&session.sandbox, &session.id);
    session.server.send(&proposal(&session.id, json!("slow")));
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

    let _held = hold(&session.sandbox, &session.id);
    session.server.send(&proposal(&session.id, json!("slow")));
    // Lines are read in order, so the call has been received.
    session.server.request("ping", json!({}));
    // Two simultaneous signals may count as one.
    while !session.server.has_ended() {
        session.server.terminate();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!session.server.end(), "the call was not waited for");
}

/// At its limit of threads the server was ended by the first call. Limits of processes don't hold for root, so the server
/// runs as somebody else, whom nobody but root can make; elsewhere this is left out.
#[cfg(target_os = "linux")]
#[test]
fn a_server_at_the_limit_of_threads_answers_or_says_that_it_cannot_start() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    let sandbox = Sandbox::new();
    // A number that no other test has, of nobody: the limit counts all that a user runs.
    let run = |program: &Path, threads: u32| {
        let mut command = sandbox.command("setpriv");
        command.args(["--reuid", "61234", "--clear-groups", "prlimit", &format!("--nproc={threads}")]);
        command.arg(program);
        command
    };
    if !run("true".as_ref(), 1).output().is_ok_and(|output| output.status.success()) {
        eprintln!("left out: not root, or without setpriv and prlimit");
        return;
    }
    let (folder, program) = (sandbox.path("public"), sandbox.path("public/tot-mcp"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(TOT_MCP, &program).unwrap();
    for path in [&sandbox.path(""), &folder, &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut start = call("tot_start", json!({"query": "q", "mode": "smoke"}));
    start["id"] = json!(2);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let messages = [initialize(), ready, call("tot_list", json!({})), start];
    let input = sandbox.path("input");
    std::fs::write(&input, messages.map(|message| format!("{message}\n")).concat()).unwrap();
    let mut answered = 0;
    for threads in 1..=5 {
        let mut command = run(&program, threads);
        command.arg("--root").arg(folder.join(threads.to_string())).env("HOME", &folder);
        let output = command.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() {
            assert_eq!(said.matches(r#""isError":false"#).count(), 2, "{threads}: {said}");
            answered += 1;
        } else {
            assert_eq!(output.status.code(), Some(1), "{threads}: {said}");
            assert!(said.contains("the system cannot create a thread for this process"), "{threads}: {said}");
        }
    }
    assert!(answered > 0, "it never started");
}

#[test]
fn a_server_obeys_the_variable_and_says_what_became_of_its_root() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("only");
    sandbox.git(&sandbox.path(""), &["init", "-q", "--bare", "hub.git"]);
    let hub = sandbox.path("hub.git");
    let no_files = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let commit = sandbox.git(&hub, &["commit-tree", "-m", "Begin", no_files]);
    sandbox.git(&hub, &["worktree", "add", "-q", "../only", commit.trim()]);
    let server = |variable: &str| {
        let mut command = sandbox.command(TOT_MCP);
        command.current_dir(&project).env("TOT_ROOT", variable);
        Server::start(command)
    };
    for variable in ["~/mine", ""] {
        let mut server = server(variable);
        let warned = |reply: serde_json::Value| reply["warnings"].to_string().contains("git worktree remove");
        assert_eq!(warned(server.ok("tot_list", json!({}))), variable.is_empty());
        let started = server.ok("tot_start", json!({"query": "Why?"}));
        let folder = std::path::PathBuf::from(started["repository"].as_str().unwrap());
        assert_eq!(folder.parent().unwrap().ends_with("mine"), !variable.is_empty(), "{started:#}");
        assert_eq!(warned(started), variable.is_empty());
        std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
        for (tool, arguments) in [
            ("tot_list", json!({})),
            ("tot_start", json!({"query": "Why?"})),
            ("tot_status", json!({"sessionId": folder.file_name().unwrap().to_str().unwrap()})),
        ] {
            assert_eq!(server.refused(tool, arguments), ["ROOT_FOLDER"]);
        }
    }
}
