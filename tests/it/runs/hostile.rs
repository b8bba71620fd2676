//! A stranger's investigation whose runs are traps. Reading it starts none of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::World;
use crate::support::{Server, TOT, TOT_MCP, TOT_REPORT};

/// Returns the paths of the programs that were started below a process, as traced by strace.
struct Watched<'w> {
    world: &'w World,
    number: usize,
    started: BTreeSet<String>,
}

impl Watched<'_> {
    /// Runs a command under strace, in the folder of its own project. Returns its trace.
    fn command(&mut self, program: &str) -> (Command, PathBuf) {
        self.number += 1;
        let trace = self.world.sandbox.path(&format!("trace-{}", self.number));
        let mut command = self.world.sandbox.command("strace");
        command
            .args(["-f", "-qq", "-s", "500", "-e", "trace=execve,execveat", "-o"])
            .arg(&trace)
            .arg(program);
        command.current_dir(&self.world.project).env("TMPDIR", self.world.sandbox.path("tmp"));
        (command, trace)
    }

    fn read(&mut self, trace: &Path) {
        let text = fs::read_to_string(trace).unwrap();
        let started = text.lines().filter(|line| line.contains("execve") && line.ends_with("= 0"));
        self.started.extend(started.filter_map(|line| Some(line.split('"').nth(1)?.to_owned())));
    }

    fn run(&mut self, program: &str, arguments: &[&str]) -> i32 {
        let (mut command, trace) = self.command(program);
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        self.read(&trace);
        output.status.code().unwrap_or(-1)
    }
}

#[test]
fn no_command_of_a_stranger_starts_by_reading() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("left out: strace is not here");
        return;
    }
    let world = World::new();
    let (trap, marker) = (world.sandbox.path("trap"), world.sandbox.path("marker"));
    fs::write(&trap, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    Command::new("chmod").arg("+x").arg(&trap).status().unwrap();
    assert_eq!(world.run(&["--expect", "x"], "true").status, 0);
    let path = trap.to_str().unwrap().to_owned();
    world.edit(|ran| {
        ran.command = [&path, "\u{202e}fr- mr", "$(touch marker)", "; rm -rf ~"].map(str::to_owned).to_vec();
        ran.output.text = "\u{1b}]0;pwned\u{7}<script>alert(1)</script>\u{202e}".into();
        ran.expectations[0].pattern = "(a*)*b".into();
    });
    let hub = world.sandbox.path("hub.git");
    world.sandbox.git(&world.project, &["init", "-q", "--bare", hub.to_str().unwrap()]);
    let (hub, id) = (hub.to_str().unwrap(), world.id.as_str());
    world.sandbox.git(&world.repository(), &["push", "-q", hub, &format!("HEAD:refs/heads/tot/{id}")]);
    let mine = world.sandbox.path("mine");
    let (root, site) = (mine.to_str().unwrap(), world.sandbox.path("site"));
    let mut watched = Watched { world: &world, number: 0, started: BTreeSet::new() };
    assert_eq!(watched.run(TOT, &["--root", root, "clone", hub]), 0);
    let repository = mine.join(id);
    for arguments in [
        &["show"][..],
        &["show", "R1.A"],
        &["log"],
        &["list"],
        &["check", "--references"],
        &["review"],
        &["verify"],
        &["diff", "HEAD~1..HEAD"],
        &["sync"],
        &["export", "--format", "json"],
        &["export", "--format", "html"],
        &["rerun", "--all", "--dry-run"],
        &["rerun", "--all"],
    ] {
        // Other tests check the output.
        watched.run(TOT, &[&["--root", root], arguments].concat());
    }
    let exported = world.sandbox.path("exported.json");
    assert_eq!(
        watched.run(
            TOT,
            &["--root", root, "export", "--format", "json", "--output", exported.to_str().unwrap()]
        ),
        0
    );
    let other = world.sandbox.path("other");
    let import = ["--root", other.to_str().unwrap(), "import", exported.to_str().unwrap()];
    assert_eq!(watched.run(TOT, &import), 0);
    assert_eq!(watched.run(TOT_REPORT, &[repository.to_str().unwrap(), "--out", site.to_str().unwrap()]), 0);
    let (mut command, trace) = watched.command(TOT_MCP);
    command.arg("--root").arg(&mine);
    let mut server = Server::start(command);
    for (tool, arguments) in [
        ("tot_status", json!({})),
        ("tot_read", json!({"nodeIds": ["R1.A"]})),
        ("tot_next", json!({})),
        ("tot_list", json!({})),
        ("tot_report", json!({})),
    ] {
        let mut arguments = arguments;
        if tool != "tot_list" {
            arguments["sessionId"] = json!(id);
        }
        let reply = server.call(tool, arguments);
        assert_ne!(reply["status"], "REJECTED", "{tool}: {reply}");
    }
    server.finish();
    watched.read(&trace);
    let names = watched.started.iter().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
    let names: BTreeSet<String> = names.collect();
    let known = ["git", "tot", "tot-mcp", "tot-report", "git-upload-pack", "git-receive-pack", "sh"];
    let strange: Vec<&String> = names.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert!(!watched.started.contains(&path) && !marker.exists());
    for page in ["nodes/R1.A.html", "references.html"] {
        let text = fs::read_to_string(site.join(page)).unwrap();
        assert!(
            text.contains("trap") && !text.contains("<script>alert") && !text.contains('\u{202e}'),
            "{page}"
        );
    }
    // The trap works: on an explicit request, it starts.
    let said = world.tot(&["--root", root, "rerun", "--all", "--yes", "--at", "here", "--no-store"]);
    assert!(marker.exists(), "{said:?}");
}
