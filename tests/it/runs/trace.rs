//! `tot run --trace`.

use std::fs;
use std::process::Command;

use super::World;

/// Creates a project whose script reads, lists, and looks for something in vain. `None` if commands can't be traced here.
fn world() -> Option<World> {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("left out: strace is not there, or does not work");
        return None;
    }
    let world = World::new();
    world.write(".gitignore", "*.bin\n");
    world.write("lib/more.sh", "cat link\n");
    world.write(
        "all.sh",
        ". lib/more.sh; cat data/*; cd unread; test ! -e ../flag || echo flag; wc -c <../value; test -f ../seen; test ! -e ../seen/x",
    );
    for file in ["data/a", "data/b", "unread/c", "other", "seen", "tool", "sub/x"] {
        world.write(file, "1\n");
    }
    let link = Command::new("ln").args(["-s", "value", "link"]).current_dir(&world.project).status();
    assert!(link.unwrap().success());
    world.commit();
    Some(world)
}

impl World {
    /// Returns what `tot show` says of the inputs of the last command.
    fn inputs(&self) -> String {
        let said = self.tot(&["show", "R1.A"]).out;
        said.lines().rfind(|line| line.contains("inputs ")).unwrap_or(&said).trim().to_owned()
    }

    fn change(&self, change: &str) {
        let done = Command::new("sh").args(["-c", change]).current_dir(&self.project).status();
        assert!(done.unwrap().success(), "{change}");
        self.commit();
    }
}

#[test]
fn what_a_trace_calls_unchanged_gives_the_same_output() {
    let Some(world) = world() else { return };
    let said = world.run(&["--trace"], "sh all.sh");
    assert_eq!((said.out.as_str(), said.status), ("1\n1\n1\n2\n", 0), "{said:?}");
    let inputs = world.captured().inputs;
    let found: Vec<String> = inputs.iter().map(|it| format!("{} {}", it.mode, it.path)).collect();
    let expected = "100644 all.sh|040000 data|100644 data/a|100644 data/b|000000 flag|100644 lib/more.sh|120000 link|100644 seen|040000 unread|100644 value";
    assert_eq!(found.join("|"), expected);
    for (change, changed) in [
        ("echo 2 >other", ""),
        ("echo 2 >unread/c", ""),
        ("mkdir unread/d && echo 2 >unread/d/e", ""),
        ("echo 2 >data/a", "data/a"),
        ("chmod +x data/a", "data, data/a"),
        ("echo 1 >data/c", "data/c"),
        ("mkdir data/d && echo 1 >data/d/e", "data/d/e"),
        ("rm data/b", "data/b"),
        ("git mv data/b data/c", "data/b, data/c"),
        ("ln -sf data/a link", "link"),
        ("echo 2 >flag", "flag"),
        ("echo '*.sh text' >.gitattributes", ".gitattributes"),
        ("mkdir flag && echo 2 >flag/g", "flag"),
        ("echo 2 >seen", "?"),
        ("rm seen", "seen"),
        ("rm unread/c", "unread/c"),
        ("rm -r unread && echo 1 >unread", "unread, unread/c"),
        ("echo 1000 >value", "value"),
        ("echo echo 2 >>lib/more.sh", "lib/more.sh"),
    ] {
        world.change(change);
        let is_same = world.tot(&["rerun", "--all", "--at", "HEAD", "--yes", "--no-store"]).status == 0;
        let expected = match changed {
            "" => "inputs unchanged".to_owned(),
            "?" => "inputs not recorded".to_owned(),
            changed => format!("inputs changed: {changed}; recheck"),
        };
        assert_eq!(world.inputs(), expected, "{change}");
        assert!(is_same || !changed.is_empty(), "{change}");
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    // A traced rerun at a commit may read other files.
    world.change("echo 'cat other >/dev/null' >>lib/more.sh");
    assert_eq!(world.tot(&["rerun", "--all", "--changed", "--at", "HEAD", "--yes"]).status, 0);
    assert_eq!(world.inputs(), "inputs unchanged");
    world.change("echo 2 >other");
    assert_eq!(world.inputs(), "inputs changed: other; recheck");
    world.assert_sound();
}

#[test]
fn what_a_trace_can_not_know_is_not_recorded() {
    let Some(world) = world() else { return };
    world.write("new.bin", "1\n");
    world.write("new.csv", "1\n");
    world.write("gone.bin", "1\n");
    world.git(&["worktree", "add", "-q", "../linked"]);
    for (script, told) in [
        ("cat new.bin", "new.bin is not tracked"),
        ("ls", "new.bin, new.csv are not tracked"),
        ("cat gone.bin; rm gone.bin", "gone.bin is not tracked"),
        ("test -e link", "link is not tracked"),
        ("git log -1 >/dev/null", ".git is not tracked"),
        ("cat ../linked/other", "the trace does not tell all"),
        ("cp /bin/cat su.bin; chmod 4755 su.bin; ./su.bin other; rm su.bin", "su.bin runs with the rights"),
    ] {
        let said = world.run(&["--trace"], script);
        assert!(said.err.contains(told), "{said:?}");
        assert_eq!(world.inputs(), "inputs not recorded", "{script}");
    }
    fs::remove_file(world.project.join("new.csv")).unwrap();
    world.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    assert_eq!(world.tot(&["rerun", "--all", "--at", "HEAD", "--yes"]).status, 1);
    assert_eq!(world.inputs(), "inputs not recorded");
    let said = world.run(&["--trace"], "cd data; test -e new || mkdir new; echo 1 >>new/made.bin; cat new/made.bin; ls >../made.bin; rm ../made.bin; i=0; while [ $i -lt 300 ]; do i=$((i+1)); $(exit); done");
    assert_eq!((world.inputs().as_str(), said.out.as_str()), ("inputs unchanged", "1\n"), "{said:?}");
    for number in 0..1_001 {
        world.write(&format!("many/{number}"), "");
    }
    world.commit();
    let said = world.run(&["--trace"], "cat many/*; kill -9 $$");
    assert!(said.err.contains("it uses more than 1000 paths") && said.status == 137, "{said:?}");
    assert_eq!(world.inputs(), "inputs not recorded");
    let said = world.run(&["--trace", "--expect", "took ([0-9]+) ms in 0..5"], "echo took 3 ms");
    assert!(said.err.contains("measures time") && said.out.is_empty(), "{said:?}");
}

#[test]
fn a_trace_notices_what_each_kind_of_call_depends_on() {
    let Some(world) = world() else { return };
    for (script, change) in [
        (
            "find sub -type f | wc -l",
            "git rm -q sub/x && mkdir -p sub/x && echo 1 >sub/x/a && echo 1 >sub/x/b",
        ),
        ("[ -x tool ] && echo runs; true", "chmod +x tool"),
        ("ln tool hard; cat hard; rm hard", "echo 2 >tool"),
        ("cp tool t; mv t moved; cat moved; rm moved", "echo 2 >tool"),
        (
            "python3 -c 'import os\ntry: os.chdir(\"none\")\nexcept OSError: print(os.path.exists(\"flag\"))'",
            "echo 1 >flag",
        ),
        ("cd $(pwd -L) && test -e \"$PWD/flag\" && echo flag; true", "echo 1 >flag"),
    ] {
        assert_eq!(world.run(&["--trace"], script).status, 0, "{script}");
        let first = world.inputs();
        world.change(change);
        assert!(
            first == "inputs unchanged" && world.inputs() != first,
            "{script}: {first}, {}",
            world.inputs()
        );
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    world.change("git -c protocol.file.allow=always submodule --quiet add \"$PWD\" part");
    world.run(&["--trace"], "cat part/other");
    world.change("git -C part checkout -q HEAD~1");
    assert_eq!(world.inputs(), "inputs changed: part; recheck");
}
