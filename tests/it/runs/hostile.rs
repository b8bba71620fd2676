//! A stranger's investigation whose runs are traps. Reading it starts none of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::World;
use crate::support::{Said, Server, TOT, TOT_MCP, TOT_REPORT};

/// Returns a command in the folder of the project, and the file to which strace writes what it starts.
fn traced(world: &World, name: &str, arguments: &[&str]) -> (Command, PathBuf) {
    let trace = world.sandbox.path(name);
    let mut command = world.sandbox.command("strace");
    command.args(["-f", "-qq", "-s", "500", "-e", "trace=execve,execveat", "-o"]).arg(&trace).args(arguments);
    command.current_dir(&world.project).env("TMPDIR", world.sandbox.path("tmp"));
    (command, trace)
}

#[test]
fn no_command_of_a_stranger_starts_by_reading() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("left out: strace is not here");
        return;
    }
    let world = World::new();
    let (trap, marker) = (world.sandbox.path("trap"), world.sandbox.path("marker"));
    world.write_program("../trap", &format!("touch {}", marker.display()));
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
    // Other tests check the output.
    let script = format!(
        "export TOT_ROOT=../mine; tot() {{ '{TOT}' \"$@\" </dev/null; }}; tot clone {hub} || exit 9
        tot show; tot show R1.A; tot log; tot list; tot check --references; tot review; tot check --signatures
        tot diff HEAD~1..HEAD; tot sync; tot rerun --all --dry-run; tot rerun --all
        tot report --single-file ../one.html || exit 9
        tot export --format json --output ../exported.json || exit 9
        tot export --format bundle --output ../exported.bundle || exit 9
        tot --root ../other import ../exported.bundle || exit 9
        '{TOT_REPORT}' ../mine --out ../site || exit 9"
    );
    let (mut command, first) = traced(&world, "first", &["sh", "-c", &script]);
    let said = Said::from(command.output().unwrap());
    assert_eq!(said.status, 0, "{said:?}");
    let (command, second) = traced(&world, "second", &[TOT_MCP, "--root", "../mine"]);
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
    let text = [first, second].map(|trace| fs::read_to_string(trace).unwrap()).concat();
    let started = text.lines().filter(|line| line.contains("execve") && line.ends_with("= 0"));
    let started: BTreeSet<&str> = started.filter_map(|line| line.split('"').nth(1)).collect();
    let known = ["git", "tot", "tot-mcp", "tot-report", "git-upload-pack", "git-receive-pack", "sh"];
    let strange = |path: &&&str| !known.contains(&path.rsplit('/').next().unwrap());
    assert_eq!(started.iter().find(strange), None);
    assert!(!marker.exists());
    let site = world.sandbox.path("site");
    for page in ["nodes/R1.A.html", "references.html"] {
        let text = fs::read_to_string(crate::support::there(&site, page)).unwrap();
        assert!(
            text.contains("trap") && !text.contains("<script>alert") && !text.contains('\u{202e}'),
            "{page}"
        );
    }
    // The trap works: on an explicit request, it starts.
    let said = world.tot(&["--root", "../mine", "rerun", "--all", "--yes", "--at", "here", "--no-store"]);
    assert!(marker.exists(), "{said:?}");
}
