//! `tot run`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use tree_of_thoughts::domain::run::Ended;

use super::{World, is_alive};
use crate::support::testing::tries_all;
use crate::support::{Said, TOT_REPORT, eventually, short, there};

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_run_ends_and_prints_as_its_command_and_is_stored_whole() {
    let world = World::new();
    world.write("value", "2\n");
    world.write("new", "3");
    world.write("deep/er/file", "4");
    let commit = world.git(&["rev-parse", "HEAD"]);
    let before = (world.git(&["status", "--porcelain"]), fs::read(world.project.join(".git/index")).unwrap());
    let options =
        ["--expect", "n=([0-9]+) in 1..2", "--exit", "3", "-m", "As expected.", "--include", "er/file"];
    let script = "printf 'n=2\\033[2J\\007\\n'; echo 'error \u{202e}' >&2; exit 3";
    let mut command = world.tot_in(&world.project.join("deep"), &["run", "R1.A"]);
    let said: Said = command.args(options).args(["--", "sh", "-c", script]).output().unwrap().into();
    assert_eq!((said.status, said.out.as_str()), (3, "n=2\u{1b}[2J\u{7}\n"), "{said:?}");
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines[0], "error \u{202e}");
    let id = world.runs()[0].id;
    assert_eq!(
        lines[1],
        "tot run: not stored, and missing in a rerun: 1 untracked file (new); see --include"
    );
    assert_eq!(lines[2..], [format!("tot run: stored as {id} of R1.A, commit {}", &world.head()[..10])]);
    let ran = world.captured();
    assert_eq!(ran.command, ["sh", "-c", script]);
    assert_eq!(ran.folder.as_deref(), Some("deep"));
    assert_eq!((ran.ended, ran.expected_exit), (Ended::Exit(3), Some(3)));
    assert_eq!((ran.expectations[0].found.as_deref(), ran.expectations[0].held), (Some("2"), true));
    assert!(ran.output.text.contains("n=2␛[2J␇\n") && ran.output.text.contains("error \u{202e}\n"));
    let file = fs::read_to_string(world.repository().join(format!("runs/{id}.yaml"))).unwrap();
    assert!(!file.chars().any(|c| c.is_control() && c != '\n'), "{file}");
    let project = ran.project.unwrap();
    assert_eq!(project.commit.as_deref(), Some(commit.trim()));
    assert_eq!(
        (project.changed, project.untracked),
        (strings(&["deep/er/file", "value"]), strings(&["new"]))
    );
    let patch = project.patch.unwrap();
    assert!(patch.contains("-1\n+2\n") && patch.contains("+++ b/deep/er/file\n") && !patch.contains("b/new"));
    // The project and its index are unchanged.
    let after = (world.git(&["status", "--porcelain"]), fs::read(world.project.join(".git/index")).unwrap());
    assert_eq!(before, after);
    assert_eq!(fs::read_dir(world.sandbox.path("tmp")).unwrap().count(), 0);
    world.assert_sound();
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_has_started() {
    let world = World::new();
    let said =
        world.run(&["--timeout", "1"], "trap '' TERM; sleep 600 & echo $! $$; while true; do sleep 1; done");
    assert_eq!(said.status, 124, "{said:?}");
    assert_eq!(world.captured().ended, Ended::TimedOut);
    for process in said.out.split_whitespace() {
        eventually("its end", || !is_alive(process));
    }
    // One that ends by itself leaves in the background what it started there, as in a shell.
    let said = world.run(&[], "sleep 600 & echo $!");
    assert!(said.status == 0 && is_alive(&said.out), "{said:?}");
    Command::new("kill").arg(said.out.trim()).status().unwrap();
}

#[test]
fn ctrl_c_ends_the_command_and_what_came_until_then_is_stored() {
    let world = World::new();
    let script = "echo $$ > pid; echo begun; sleep 600";
    let mut command = world.tot_in(&world.project, &["run", "R1.A", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = world.project.join("pid");
    eventually("its beginning", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let process = fs::read_to_string(&pid).unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    eventually("its end", || !is_alive(&process));
    let ran = world.captured();
    assert_eq!((ran.ended, ran.output.text.as_str()), (Ended::Signal(2), "begun\n"));
    world.assert_sound();
}

#[test]
fn a_command_that_kills_its_parent_loses_nothing_that_was_there() {
    let world = World::new();
    assert_eq!(world.run(&[], "echo first").status, 0);
    let said = world.run(&[], "kill -KILL $PPID; sleep 0.2");
    assert_eq!((said.status, world.runs().len()), (-1, 1));
    world.assert_sound();
    // On SIGTERM, it passes the signal on.
    let said = world.run(&[], "kill -TERM $PPID; sleep 600");
    assert_eq!((said.status, world.runs().len()), (128 + 15, 2), "{said:?}");
    world.assert_sound();
}

/// The summary of a node's runs once replaced the agent's own evidence.
#[test]
fn the_evidence_of_a_node_is_read_beside_what_its_commands_are_worth() {
    let world = World::new();
    world.ended();
    assert_eq!(world.tot(&["run", "R2.A1", "--", "cat", "value"]).status, 0);
    let mut server = world.sandbox.server();
    let read = server.ok("tot_read", serde_json::json!({"sessionId": world.id, "nodeIds": ["R2.A1"]}));
    let node = &read["nodes"][0];
    assert_eq!(
        (&node["evidence"], &node["verdict"]["evidence"]),
        (&"Seen.".into(), &"1 command, not rerun yet".into())
    );
    assert_eq!(node["runs"][0]["command"], "cat value", "{node}");
}

#[test]
fn a_long_list_of_runs_is_cut_to_the_newest_and_what_differs_stays() {
    let world = World::new();
    assert_eq!(world.tot(&["run", "R1.A", "--", "cat", "value"]).status, 0);
    world.write("value", "2\n");
    world.commit();
    assert_eq!(world.tot(&["rerun", "--all", "--yes", "--at", "HEAD"]).status, 1);
    for number in 0..20 {
        assert_eq!(world.run(&[], &format!("echo {number}.")).status, 0);
    }
    let shown = world.tot(&["show", "R1.A"]).out;
    assert_eq!(shown.matches("captured by").count(), 20, "{shown}");
    assert!(
        shown.contains("$ cat value\n") && shown.contains("echo 19.") && !shown.contains("echo 0."),
        "{shown}"
    );
    assert!(shown.contains("… and 1 more: tot show R1.A --json lists them all\n"), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&world.tot(&["show", "R1.A", "--json"]).out).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 22);
    let report = ["investigations", "--out", "site"];
    assert_eq!(world.sandbox.run(TOT_REPORT, &report).status, 0);
    let page = |path: &str| short(&fs::read_to_string(there(&world.sandbox.path("site"), path)).unwrap());
    let (node, all) = (page("nodes/R1.A.html"), page("references.html"));
    assert_eq!(node.matches("<details class=\"ran run\"").count(), 20);
    assert!(
        node.contains("<p>And 1 more: <code class=\"break\">tot show ") && node.contains("cat value"),
        "{node}"
    );
    // A link to something that the node's page omits has no anchor.
    assert_eq!(all.matches("<a href=\"nodes/R1.A.html#run-").count(), 20);
    assert!(
        all.contains(
            "<a href=\"nodes/R1.A.html\" title=\"sh -c &#39;echo 0.&#39;\"><code class=\"break\">sh -c"
        ),
        "{all}"
    );
}

#[test]
fn a_run_that_can_not_be_stored_is_refused_before_it_starts_or_kept() {
    let world = World::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    // In the name of an untracked file, in a patch, and in a patch of a binary file.
    for (name, text, stored) in
        [(token.as_str(), "x", 0), ("value", token.as_str(), 0), ("value", &format!("\0{token}"), 1)]
    {
        world.write(name, text);
        let said = world.run(&["--reject-secrets"], "exit 7");
        assert_eq!((said.status, world.runs().len()), (if stored == 0 { 1 } else { 7 }, stored), "{said:?}");
        assert!(
            stored == 0 || said.err.contains("not stored, and missing in a rerun: 1 changed file (value)")
        );
        world.git(&["checkout", "-q", "value"]);
        world.git(&["clean", "-qf"]);
    }
    let world = World::new();
    let secret = format!("echo {token}");
    let said = world.run(&["--reject-secrets"], &format!("touch ran; {secret}"));
    assert_eq!((said.status, world.project.join("ran").exists()), (1, false), "{said:?}");
    let secret = secret.replace("ghp_", "gh''p_") + "; exit 7";
    let secret = secret.as_str();
    let said = world.run(&["--reject-secrets"], secret);
    assert_eq!((said.status, world.runs().len()), (7, 0), "{said:?}");
    assert!(said.err.contains("nothing was stored"), "{said:?}");
    let said = world.run(&[], secret);
    assert_eq!((said.status, world.runs().len()), (7, 1));
    assert!(said.err.contains("tot run: warning: ") && said.err.contains("stored as"), "{said:?}");
    let git = world.repository().join(".git");
    for blocker in ["MERGE_HEAD", "rebase-merge", "index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        fs::write(git.join(blocker), "").unwrap();
        for said in [world.run(&[], "touch ran"), world.tot(&["rerun", "--all", "--yes", "--at", "here"])] {
            assert_eq!((said.status, said.out.as_str()), (1, ""), "{blocker}: {said:?}");
            assert!(said.err.contains("start") && !world.project.join("ran").exists(), "{blocker}: {said:?}");
        }
        fs::remove_file(git.join(blocker)).unwrap();
    }
    // What happens while it runs can't be known before.
    let root = world.sandbox.root();
    let said = world.run(&["--attach", ".git"], &format!("echo 6; mv {0} {0}-gone; exit 5", root.display()));
    assert_eq!(said.status, 125);
    let kept = said.err.split_once("kept in ").unwrap().1.lines().next().unwrap();
    fs::rename(format!("{}-gone", root.display()), root).unwrap();
    let kept = fs::read_to_string(kept).unwrap();
    assert!(kept.contains("exit: 5") && kept.contains("  6\n"), "{kept}");
    // A file that can't be attached does not cost the run.
    world.write(".hidden", "");
    let said = world.run(&["--attach", ".hidden"], "true");
    assert!(said.err.contains("stored without the attachment") && said.err.contains("stored as"), "{said:?}");
}

/// In a background process group, it was stopped when it read the terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_command_asks_at_the_terminal_and_ends_by_its_keys_with_all_that_it_has_started() {
    let world = World::new();
    let asks = "read x </dev/tty && stty -echo </dev/tty; stty echo </dev/tty; echo $x.";
    let said =
        world.at_terminal(&format!("run R1.A --timeout 5 -- sh -c '{asks}'"), "sleep 0.5; echo 1; sleep 1");
    assert!(said.status == 0 && said.out.contains("\n1.\r\n"), "{said:?}");
    let said = world.at_terminal("rerun --all --yes --timeout 5", "sleep 0.5; echo 1; sleep 1");
    assert!(said.out.contains("1 of 1 same"), "{said:?}");
    let said =
        world.at_terminal("run R1.A -- sh -c 'read x; stty -a | head -1'", "sleep 0.5; echo 1; sleep 1");
    assert!(said.status == 0 && said.out.contains("baud"), "{said:?}");
    for (keys, status) in [(r"printf '\034'", 128 + 3), (r"printf '\003'", 128 + 2), ("true", 124)] {
        let (hang, before) = ("sh -c '(sleep 600 & echo $! >pid); exec sleep 600'", world.runs().len());
        let hang = format!("run R1.A --timeout 3 -- {hang}");
        let said = world.at_terminal(&hang, &format!("sleep 1; {keys}; sleep 3"));
        assert_eq!((said.status, world.runs().len()), (status, before + 1), "{said:?}");
        let process = fs::read_to_string(world.project.join("pid")).unwrap();
        eventually("its end", || !is_alive(&process));
    }
}

/// If its index is newer, git considers a file unchanged by its size and its time in seconds.
#[test]
fn a_change_within_the_second_of_the_last_commit_is_in_the_patch() {
    let world = World::new();
    world.write("value", "2\n");
    let staged = fs::metadata(world.project.join(".git/index")).unwrap().modified().unwrap();
    let value = fs::File::options().write(true).open(world.project.join("value")).unwrap();
    value.set_modified(staged).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(world.run(&[], "true").status, 0);
    let project = world.captured().project.unwrap();
    assert_eq!(project.changed, ["value"]);
    assert!(project.patch.is_some_and(|patch| patch.contains("+2\n")));
}

/// Captures a command that prints this many bytes. Returns the peak memory of the capturing program and the size of the
/// stored file.
fn memory_for(bytes: u64) -> (u64, u64) {
    let world = World::new();
    let script = format!("head -c {bytes} /dev/zero | tr '\\0' 'x'; grep VmHWM /proc/$PPID/status >&2");
    let mut command =
        world.tot_in(&world.project, &["run", "R1.A", "--expect", "Vm", "--", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    let peak = said.split_whitespace().nth(1).unwrap().parse().unwrap();
    let ran = world.captured();
    assert!(ran.output.bytes > bytes && ran.expectations[0].held);
    let file = fs::read_dir(world.repository().join("runs")).unwrap().next().unwrap().unwrap();
    (peak, file.metadata().unwrap().len())
}

/// 10 GB if all cases are tried.
#[cfg(target_os = "linux")]
#[test]
fn memory_and_file_are_bounded_however_much_is_printed() {
    // Enough to fill all buffers.
    let (small, _) = memory_for(20_000_000);
    let (large, file) = memory_for(if tries_all() { 10_000_000_000 } else { 200_000_000 });
    // How much of a buffer is filled at once varies by more than a megabyte.
    assert!(large < small + 16_384, "{large} KiB, and {small} KiB with less output");
    assert!(file < 100_000, "{file} bytes");
}
