//! The recipe in `investigations/evidence/`, as published.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::yaml;

use super::World;
use crate::remote::hub;
use crate::support::{Said, TOT};

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/evidence").join(name)
}

#[test]
fn ci_fails_with_the_sentence_of_the_conclusion_that_no_longer_holds() {
    let world = World::new();
    world.ended();
    assert_eq!(world.tot(&["run", "R2.A1", "--expect", "^[12]$", "--", "cat", "value"]).status, 0);
    let hub = hub(&world.sandbox).address;
    assert_eq!(world.tot(&["remote", "add", "origin", &hub]).status, 0);
    assert_eq!(world.tot(&["sync"]).status, 0);
    // The CI machine has a clone of the project and the hub.
    let clone = world.sandbox.path("ci");
    world.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let programs = Path::new(TOT).parent().unwrap().display();
    let night = || {
        world.sandbox.git(&clone, &["pull", "-q"]);
        let mut command = world.sandbox.command(recipe("still-holds").to_str().unwrap());
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        command.env("PATH", path).env("HUB", &hub).env("TMPDIR", world.sandbox.path("tmp"));
        Said::from(command.current_dir(&clone).output().unwrap())
    };
    let first = night();
    assert_eq!(first.status, 0, "{first:?}");
    world.write("value", "2\n");
    world.commit();
    let keeps = night();
    assert_eq!((keeps.status, keeps.err.as_str()), (0, ""), "{keeps:?}");
    world.write("value", "3\n");
    let breaks = world.commit();
    let said = night();
    assert_eq!(said.status, 1, "{said:?}");
    assert_eq!(said.err, "The conclusion no longer holds: The value is *one*.\n");
    // The machine that captured it knows the result too.
    assert_eq!(world.tot(&["sync"]).status, 0);
    let runs = world.runs();
    assert_eq!(runs.len(), 4);
    let text = fs::read_to_string(world.repository().join(format!("runs/{}.yaml", runs[3].id))).unwrap();
    assert!(text.contains(&format!("at: {breaks}\n")) && text.contains("verdict: differs\n"), "{text}");
    assert!(!runs[3].author.is_person(), "{text}");
    assert_eq!(runs[3].author.label(), "ci");
    world.assert_sound();
    assert_eq!(fs::read_dir(world.sandbox.path("tmp")).unwrap().count(), 0);
}

#[test]
fn the_workflow_of_github_runs_that_script_each_night() {
    let flow: Value = yaml::from_text(&fs::read_to_string(recipe("still-holds.yml")).unwrap()).unwrap();
    assert!(flow["on"]["schedule"][0]["cron"].is_string());
    assert_eq!(flow["permissions"], json!({"contents": "read"}));
    let steps = flow["jobs"]["still-holds"]["steps"].as_array().unwrap();
    let lines: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    lines.iter().for_each(|line| assert!(!line.contains("${{"), "an expression in a command: {line}"));
    assert_eq!(lines.last(), Some(&".github/workflows/still-holds"));
    assert!(flow["env"]["HUB"].is_string());
    assert_eq!(steps[0]["with"]["persist-credentials"], false);
}
