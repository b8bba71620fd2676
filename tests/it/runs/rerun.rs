//! `tot rerun`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tree_of_thoughts::domain::run::{Ended, Ran, RunComparison};
use tree_of_thoughts::domain::{Run, RunKind};
use tree_of_thoughts::format::StoredFile;

use super::{World, is_alive};
use crate::support::{Said, eventually, node, result};

impl World {
    /// Returns the reruns, oldest first: the run that each repeats, where it ran, and how the results compare.
    fn repeated(&self) -> Vec<(Option<String>, RunComparison, Ran)> {
        let runs = self.runs().into_iter();
        runs.filter_map(|run| match run.what {
            RunKind::Repeated { at, verdict, ran, .. } => Some((at, verdict, ran)),
            _ => None,
        })
        .collect()
    }

    fn again(&self, options: &[&str]) -> Said {
        self.tot(&[&["rerun", "--yes"], options].concat())
    }

    /// Asserts that a rerun left nothing behind: no work tree, no temporary folder, no change to the project.
    fn assert_tidy(&self, before: &(String, Vec<u8>)) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        let left: Vec<_> =
            fs::read_dir(self.sandbox.path("tmp")).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(self.state(), *before);
    }

    /// Returns the branches, the changes and git's index.
    fn state(&self) -> (String, Vec<u8>) {
        let refs = self.git(&["for-each-ref"]) + &self.git(&["status", "--porcelain", "--branch"]);
        (refs, fs::read(self.project.join(".git/index")).unwrap())
    }

    /// Ends the investigation with `R2.A1` as the answer.
    pub(super) fn ended(&self) {
        let mut server = self.sandbox.server();
        let mut call = |tool: &str, mut arguments: Value| {
            arguments["sessionId"] = json!(self.id);
            self.sandbox.sleep(60);
            server.ok(tool, arguments);
        };
        let mut answer = result("R2.A1", "FOUND");
        answer["evidence"] = json!("Seen.");
        call("tot_commit", json!({"results": [result("R1.A", "EXPLORE")]}));
        call("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
        call("tot_commit", json!({"results": [answer]}));
        call("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
        call("tot_commit", json!({"results": [result("R3.A1a", "VERIFY")]}));
        call("tot_end", json!({"conclusion": "The value is *one*. Nobody knows why."}));
    }

    /// Stores a run that prints its process id to a file, `pid`, and never ends.
    fn hang(&self) -> PathBuf {
        let pid = self.sandbox.path("pid");
        let script = format!("echo $$ > {}; sleep 600", pid.display());
        assert_eq!(self.run(&["--timeout", "1"], &script).status, 124);
        pid
    }

    /// Starts a rerun, and waits until the run that hangs does. Returns its process id too.
    fn begin_again(&self, pid: &Path) -> (Child, String) {
        fs::remove_file(pid).unwrap();
        let mut command = self.tot_in(&self.project, &["rerun", "--all", "--yes", "--timeout", "600"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("its beginning", || fs::read_to_string(pid).is_ok_and(|text| text.ends_with('\n')));
        (child, fs::read_to_string(pid).unwrap())
    }

    /// Edits the only stored run manually.
    pub fn edit(&self, change: impl Fn(&mut Ran)) {
        let run = self.runs().remove(0);
        let RunKind::Captured(mut ran) = run.what else { panic!("captured") };
        change(&mut ran);
        let file = self.repository().join(format!("runs/{}.yaml", run.id));
        fs::write(file, Run::write(&Run { what: RunKind::Captured(ran), ..run }).unwrap()).unwrap();
        self.sandbox.git(&self.repository(), &["commit", "-qam", "By hand"]);
    }
}

#[test]
fn at_the_recorded_commit_with_the_recorded_changes_it_is_the_same() {
    let world = World::new();
    world.write("sub/value", "deep\n");
    world.commit();
    world.write("value", "2\n");
    world.write("new\u{e9} file", "3\n");
    fs::write(world.project.join("binary"), [0, 1, 2, 255]).unwrap();
    fs::remove_file(world.project.join("sub/value")).unwrap();
    let recorded = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let named = ["--include", "new\u{e9} file", "--include", "binary"];
    assert_eq!(world.run(&named, "cat value new* binary; ls sub/value 2>&1").status, 2);
    world.write("value", "4\n");
    world.commit();
    world.write("value", "5\n");
    world.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/sub/"]);
    let before = world.state();
    let said = world.again(&["--all"]);
    assert_eq!(said.status, 0, "{said:?}");
    assert!(
        said.out.starts_with("same          R1.A sh -c 'cat value new* binary; ls sub/value 2>&1' (exit 2, "),
        "{said:?}"
    );
    assert!(said.out.contains("\n1 of 1 same\n"), "{said:?}");
    world.assert_tidy(&before);
    let (at, verdict, ran) = world.repeated().remove(0);
    assert_eq!((at, verdict), (Some(recorded), RunComparison::Same));
    assert_eq!(ran.project.unwrap().changed.len(), 4);
    world.assert_sound();
}

#[test]
fn a_conclusion_fails_on_the_day_on_which_it_stops_being_true() {
    let world = World::new();
    world.ended();
    let run =
        ["run", "R2.A1", "--expect", "value ([0-9]+) in 1..2", "--", "sh", "-c", "echo value $(cat value)"];
    assert_eq!(world.tot(&run).status, 0);
    assert_eq!(world.run(&[], "echo aside").status, 0);
    world.write("value", "2\n");
    let keeps = world.commit();
    let said = world.again(&["--at", "HEAD"]);
    assert_eq!(said.status, 0, "{said:?}");
    assert!(said.out.contains("\n2 of 2 same\n"), "R1.A is on the way to the answer: {said:?}");
    world.write("value", "3\n");
    let breaks = world.commit();
    let said = world.again(&["--at", "HEAD"]);
    assert_eq!(said.status, 1);
    let expected = "differs       R2.A1 sh -c 'echo value $(cat value)' (exit 0, 0.0 s)\n    \
                    `value ([0-9]+)`: expected a number in 1..2, got: 3\n    -value 1\n    +value 3\n";
    assert!(said.out.replace("0.1 s", "0.0 s").contains(expected), "{said:?}");
    assert!(
        said.out.contains(
            "\n1 of 2 same, 1 differs\nThe conclusion no longer holds: The value is *one*.\ncommit "
        )
    );
    let repeated = world.repeated();
    let at: Vec<_> = repeated.iter().map(|(at, verdict, _)| (at.as_ref().unwrap(), *verdict)).collect();
    let same = RunComparison::Same;
    let all = [(&keeps, same), (&keeps, same), (&breaks, RunComparison::Differs), (&breaks, same)];
    assert_eq!(at, all);
    // All runs of one call are stored in one commit.
    let log = world.sandbox.git(&world.repository(), &["log", "--format=%h", "--", "runs"]);
    assert_eq!(log.lines().count(), 4);
    assert_eq!(world.again(&["--at", "HEAD~1", "--no-store"]).status, 0);
    assert_eq!(world.repeated().len(), 4);
    // Programs read what came of it.
    let said = world.again(&["--at", "HEAD", "--json", "R2.A1"]);
    assert_eq!(said.status, 1);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let run = &document["runs"][0];
    let [verdict, at, output] = [&run["comparison"], &run["projectCommit"], &run["ran"]["output"]["text"]];
    assert_eq!([verdict, at, output], [&json!("differs"), &json!(breaks), &json!("value 3\n")], "{run:#}");
    assert_eq!((&run["nodeId"], &run["ran"]["command"][0]), (&json!("R2.A1"), &json!("sh")));
    assert_eq!(document["noLonger"], "The conclusion no longer holds: The value is *one*.");
    // It says the same as the last one at that commit.
    assert_eq!([&document["commit"], &run["rerunId"]], [&Value::Null; 2]);
    world.assert_sound();
}

#[test]
fn a_hostile_command_is_shown_whole_and_harmlessly() {
    let world = World::new();
    assert_eq!(world.run(&[], "true").status, 0);
    world.edit(|ran| {
        let hidden = "true # \u{202e}eurt\u{1b}[2J\u{7}\r\nRun 1 of R2.A1\n[r]un \u{200b}\u{e0041}";
        ran.command = ["sh", "-c", hidden].map(str::to_owned).to_vec();
        ran.folder = Some("\u{1b}[1m\u{202e}".into());
    });
    let shown = world.tot(&["rerun", "--all", "--dry-run"]).out;
    let hides = |c: char| c != '\n' && tree_of_thoughts::text::is_hidden(c);
    assert!(!shown.chars().any(hides), "{shown:?}");
    assert!(
        shown.contains(
            "    sh -c 'true # \u{FFFD}eurt␛[2J␇␍\n    Run 1 of R2.A1\n    [r]un \u{FFFD}\u{FFFD}'\n"
        ),
        "{shown}"
    );
    let said = world.again(&["--all"]);
    assert!(!said.out.chars().any(hides), "{said:?}");
    let document = world.again(&["--all", "--json"]).out;
    assert!(!document.chars().any(hides), "{document}");
}

#[cfg(target_os = "linux")]
#[test]
fn each_command_is_asked_for_at_a_terminal() {
    let world = World::new();
    for script in ["echo 1 >> ../log", "echo 2 >> ../log", "echo 3 >> ../log", "echo 4 >> ../log"] {
        assert_eq!(world.run(&[], script).status, 0);
    }
    let log = world.sandbox.path("log");
    let keys = |keys: &str| {
        fs::write(&log, "").unwrap();
        let said = world.at_terminal("rerun --all --at here", &format!("printf '{keys}'"));
        assert_eq!(said.status, 0, "{said:?}");
        (fs::read_to_string(&log).unwrap(), said.out.matches("[r]un [s]kip").count())
    };
    assert_eq!(keys("xrsq"), ("1\n".to_owned(), 3));
    assert_eq!(keys("sa"), ("2\n3\n4\n".to_owned(), 2));
    assert_eq!(keys("q"), (String::new(), 1));
    assert_eq!(world.repeated().len(), 4);
}

#[test]
fn what_can_not_run_is_named_and_is_no_difference() {
    let world = World::new();
    world.ended();
    world.write_program("tool", "echo 1");
    world.write("sub/file", "");
    let had = world.commit();
    assert_eq!(world.tot(&["run", "R2.A1", "--", "./tool"]).status, 0);
    let mut command = world.tot_in(&world.project.join("sub"), &["run", "R2.A1", "--", "true"]);
    assert!(command.output().unwrap().status.success());
    world.git(&["rm", "-rq", "tool", "sub"]);
    world.commit();
    let reasons = |said: &Said| {
        assert_eq!(said.status, 1, "{said:?}");
        assert!(!said.out.contains("no longer holds"), "{said:?}");
        let lines = said.out.lines().filter(|line| line.starts_with("could not run"));
        lines.map(|line| line.split_once("not run: ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let said = world.again(&["--at", "HEAD"]);
    assert_eq!(
        reasons(&said),
        ["the program ./tool does not exist, 0.0 s)", "the folder sub does not exist, 0.0 s)"]
    );
    assert!(said.out.contains("\n0 of 2 same, 2 could not run\n"), "{said:?}");
    // Without the project, and without the commit in the project.
    let elsewhere = world.sandbox.path("tmp");
    let mut command = world.tot_in(&elsewhere, &["rerun", "--yes", "--no-store"]);
    assert!(reasons(&command.output().unwrap().into())[0].starts_with("this is not a repository"));
    world.run(&["--expect", "^([0-9]+)$ in 3..9"], "git rev-list --count HEAD");
    let shallow = world.sandbox.path("shallow");
    let address = format!("file://{}", world.project.display());
    world.git(&["clone", "-q", "--depth", "1", &address, shallow.to_str().unwrap()]);
    let mut command = world.tot_in(&shallow, &["rerun", "--yes", "--no-store"]);
    let reasons = reasons(&command.output().unwrap().into());
    assert!(reasons.iter().any(|it| it.starts_with(&format!("the commit {had} is not in "))));
    assert!(reasons.iter().any(|it| it.starts_with("it asks git, and this clone is shallow")), "{reasons:?}");
    let unknown = world.again(&["--at", "no-such-branch"]);
    assert_eq!(unknown.status, 2, "{unknown:?}");
    world.git(&["update-index", "--assume-unchanged", "value"]);
    world.write("value", "9\n");
    assert!(world.run(&["--input", "value"], "cat value").err.contains("1 changed file (value)"));
}

/// A rerun in a git hook committed to the user's repository; `make`, node and an absolute path read the user's files.
#[test]
fn no_variable_and_no_path_leads_a_rerun_to_the_files_of_its_caller() {
    let world = World::new();
    let script =
        r#"cat "$PWD/../value" "$1" "$LIBRARY/value"; echo 1 >"$2/new"; git add -A .. && git status -s"#;
    world.write_program("sub/tool", script);
    world.commit();
    let (sub, root) = (world.project.join("sub"), world.project.to_str().unwrap());
    let tool = format!("{root}/sub/tool");
    let value = format!("{root}/value");
    let in_hook = |arguments: &[&str]| {
        let mut command = world.tot_in(&sub, arguments);
        command.env("LIBRARY", root).env("PWD", &sub).env("OLDPWD", root).env("INIT_CWD", root);
        for (name, place) in [("GIT_DIR", ".git"), ("GIT_INDEX_FILE", ".git/index"), ("FORCE_COLOR", "")] {
            command.env(name, world.project.join(place));
        }
        Said::from(command.output().unwrap())
    };
    let said = in_hook(&["run", "R1.A", "--", &tool, &value, root]);
    assert!(said.status == 0 && said.out.starts_with("1\n1\n1\nA  "), "{said:?}");
    assert_eq!(world.captured().command, ["./tool", "$TOT_PROJECT/value", "$TOT_PROJECT"]);
    world.git(&["rm", "-qf", "new"]);
    world.write("value", "2\n");
    world.commit();
    world.write("value", "3\n");
    let before = world.state();
    let again = |at: &str| {
        let said = in_hook(&["rerun", "--all", "--yes", "--no-store", "--json", "--at", at]);
        let mut said: serde_json::Value =
            serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
        said["runs"][0].take()
    };
    for program in ["../sub/tool", tool.as_str()] {
        world.edit(|ran| ran.command[0] = program.to_owned());
        let run = again("HEAD");
        assert!(run["ran"]["output"]["text"].as_str().unwrap().starts_with("2\n2\n2\nA  "), "{run}");
    }
    world.assert_tidy(&before);
    world.write_program("untracked", "cat value");
    world.edit(|ran| ran.command = vec![format!("{root}/untracked")]);
    let run = again("HEAD");
    assert!(run["reasons"][0].as_str().unwrap().contains("commit it, or rerun with --at here"), "{run}");
    // In place, the folder is that of the command, too.
    world.edit(|ran| {
        (ran.command, ran.folder) = (["sh", "-c", "echo $PWD$FORCE_COLOR"].map(str::to_owned).to_vec(), None)
    });
    assert_eq!(again("here")["ran"]["output"]["text"], "$TOT_PROJECT\n");
}

#[test]
fn a_run_leads_out_of_no_work_tree() {
    let world = World::new();
    assert_eq!(world.run(&[], "echo ran >> marker").status, 0);
    let outside = world.sandbox.path("home");
    for folder in [outside.to_str().unwrap(), "..", "sub/../../.."] {
        world.edit(|ran| ran.folder = Some(folder.to_owned()));
        let said = world.again(&["--all", "--no-store"]);
        assert!(said.out.contains("does not exist"), "{said:?}");
    }
    std::os::unix::fs::symlink(&outside, world.project.join("link")).unwrap();
    world.commit();
    world.edit(|ran| ran.folder = Some("link".to_owned()));
    assert!(world.again(&["--all", "--no-store", "--at", "HEAD"]).out.contains("does not exist"));
    assert!(!outside.join("marker").exists());
}

#[test]
fn submodules_are_there_or_named() {
    let world = World::new();
    let address = world.project.display().to_string();
    world.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &address, "part"]);
    world.commit();
    assert_eq!(world.run(&[], "cat part/value").status, 0);
    let before = world.state();
    let said = world.again(&["--all"]);
    assert_eq!(said.status, 0, "{said:?}");
    world.assert_tidy(&before);
    assert_eq!(world.sandbox.git(&world.project.join("part"), &["worktree", "list"]).lines().count(), 1);
    let clone = world.sandbox.path("clone");
    world.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let said: Said = world.tot_in(&clone, &["rerun", "--all", "--yes"]).output().unwrap().into();
    assert!(said.out.contains("the submodule part is not checked out here"), "{said:?}");
    assert_eq!(said.status, 1);
}

#[test]
fn no_hook_and_no_filter_of_the_project_starts() {
    let world = World::new();
    let marker = world.sandbox.path("marker");
    world.write(".gitattributes", "value filter=bad\n");
    world.commit();
    assert_eq!(world.run(&[], "cat value").status, 0);
    world.write_program(".git/hooks/post-checkout", &format!("touch {}", marker.display()));
    let touch = format!("touch {}; cat", marker.display());
    for name in ["filter.bad.smudge", "filter.bad.clean", "core.fsmonitor"] {
        world.git(&["config", name, &touch]);
    }
    world.git(&["config", "filter.bad.required", "true"]);
    let said = world.again(&["--all"]);
    assert_eq!(said.status, 0, "{said:?}");
    assert!(!marker.exists());
}

#[test]
fn ctrl_c_leaves_nothing_behind_but_what_had_come_to_its_end() {
    let world = World::new();
    assert_eq!(world.run(&[], "echo first").status, 0);
    let pid = world.hang();
    let before = world.state();
    for signal in ["-INT", "-TERM"] {
        let (mut child, process) = world.begin_again(&pid);
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        eventually("its end", || !is_alive(&process));
        world.assert_tidy(&before);
    }
    assert_eq!(world.repeated().len(), 1);
    world.assert_sound();
}

#[test]
fn a_killed_rerun_is_tidied_up_by_the_next() {
    let world = World::new();
    let pid = world.hang();
    let before = world.state();
    let (mut child, process) = world.begin_again(&pid);
    child.kill().unwrap();
    child.wait().unwrap();
    Command::new("kill").args(["-KILL", "--", &format!("-{}", process.trim())]).status().unwrap();
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
    let said = world.again(&["--all", "--no-store"]);
    // It was captured with a time limit.
    assert_eq!(said.status, 0, "{said:?}");
    world.assert_tidy(&before);
}

#[test]
fn a_command_that_takes_too_long_or_removes_its_folder_leaves_nothing() {
    let world = World::new();
    assert_eq!(world.run(&[], "rm -rf \"$PWD\"/* .git").status, 0);
    world.git(&["init", "-q"]);
    let said = world.again(&["--all"]);
    assert_eq!(said.status, 1, "its commit is gone: {said:?}");

    let world = World::new();
    assert_eq!(world.run(&[], "rm -rf ../tot-rerun; echo done").status, 0);
    let before = world.state();
    assert_eq!(world.again(&["--all"]).status, 0);
    world.assert_tidy(&before);
    world.edit(|ran| ran.command = ["sleep", "600"].map(str::to_owned).to_vec());
    let said = world.again(&["--all", "--timeout", "1"]);
    assert!(said.out.starts_with("could not run R1.A sleep 600 (timed out, "), "{said:?}");
    assert_eq!(said.status, 1);
    world.assert_tidy(&before);
}

#[test]
fn of_three_at_once_that_say_the_same_one_is_stored() {
    let world = World::new();
    assert_eq!(world.run(&[], "sleep 0.3; cat value").status, 0);
    let begin = || {
        let mut command = world.tot_in(&world.project, &["rerun", "--all", "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let all = [begin(), begin(), begin()];
    for child in all {
        let said = Said::from(child.wait_with_output().unwrap());
        assert_eq!(said.status, 0, "{said:?}");
    }
    assert_eq!(world.repeated().len(), 1);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    world.assert_sound();
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_sandbox_there_is_no_network_and_nothing_to_write_to_but_the_work_tree() {
    let is_there = Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--unshare-net", "--unshare-pid", "true"])
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        eprintln!("left out: bubblewrap is not there, or does not work");
        return;
    }
    let world = World::new();
    // Not below /tmp or /dev, which are different inside the sandbox.
    let marker = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("marker-{}", std::process::id()));
    let script = format!(
        "echo x > new && cat value; echo x > /tmp/new && echo tmp; (echo x > {}) 2>/dev/null || echo kept; \
         grep -c : /proc/net/dev",
        marker.display()
    );
    assert_eq!(world.run(&[], &script).status, 0);
    world.git(&["checkout", "-q", "--", "."]);
    world.git(&["clean", "-qfd"]);
    fs::remove_file(&marker).unwrap();
    let said = world.again(&["--all", "--sandbox"]);
    assert_eq!(said.status, 1, "{said:?}");
    assert_eq!(world.repeated()[0].2.output.text, "1\ntmp\nkept\n1\n");
    assert!(!marker.exists());
    world.edit(|ran| ran.command = vec!["no-such-program".to_owned()]);
    assert_eq!(world.again(&["--all", "--sandbox"]).status, 1);
    let last = world.repeated().remove(1).2;
    assert_eq!(last.ended, Ended::NotRun("the program no-such-program does not exist".into()));
}
