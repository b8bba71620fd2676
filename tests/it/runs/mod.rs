//! Commands as evidence, with real processes: captured by `tot run`, repeated by `tot rerun`.

mod capture;
mod hostile;
mod nightly;
mod rerun;
#[cfg(target_os = "linux")]
mod trace;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tree_of_thoughts::domain::run::Ran;
use tree_of_thoughts::domain::{Run, RunKind};
use tree_of_thoughts::format::StoredFile;

use crate::support::{Said, Sandbox, TOT, node};

/// A project, and next to it an investigation with the pending node `R1.A`.
struct World {
    sandbox: Sandbox,
    project: PathBuf,
    id: String,
}

impl World {
    /// Creates a project repository with one file, `value`, that contains 1.
    fn new() -> World {
        let world = World::without_repository();
        world.write("value", "1\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.commit();
        world
    }

    fn without_repository() -> World {
        let sandbox = Sandbox::new();
        let project = sandbox.path("project");
        fs::create_dir(&project).unwrap();
        fs::create_dir(sandbox.path("tmp")).unwrap();
        let mut server = sandbox.server();
        let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
        let id = started["sessionId"].as_str().unwrap().to_owned();
        server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R1.A", None)]}));
        drop(server);
        World { sandbox, project, id }
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.project.join(file).parent().unwrap()).unwrap();
        fs::write(self.project.join(file), text).unwrap();
    }

    /// Writes a file of the project that can be run.
    fn write_program(&self, file: &str, script: &str) {
        self.sandbox.script(&format!("project/{file}"), script);
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.project, arguments)
    }

    fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "Change"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs `tot` in a folder of the project, with its own temporary folder.
    fn tot_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(TOT);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.env("TOT_ROOT", self.sandbox.root()).env("TMPDIR", self.sandbox.path("tmp"));
        command
    }

    fn tot(&self, arguments: &[&str]) -> Said {
        self.tot_in(&self.project, arguments).output().unwrap().into()
    }

    /// Runs `tot` at a terminal at which these commands of a shell type.
    fn at_terminal(&self, arguments: &str, keys: &str) -> Said {
        let mut command = self.sandbox.command("sh");
        command.args(["-c", &format!("{{ {keys}; }} | script -q -e -c \"$LINE\" /dev/null")]);
        command.env("LINE", format!("{TOT} {arguments}")).env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.env("TOT_ROOT", self.sandbox.root()).current_dir(&self.project).output().unwrap().into()
    }

    /// Runs a shell script as evidence for `R1.A`.
    fn run(&self, options: &[&str], script: &str) -> Said {
        self.tot(&[&["run", "R1.A"], options, &["--", "sh", "-c", script]].concat())
    }

    fn head(&self) -> String {
        self.sandbox.head(&self.repository())
    }

    fn repository(&self) -> PathBuf {
        self.sandbox.repository(&self.id)
    }

    /// Returns the records, oldest first.
    fn runs(&self) -> Vec<Run> {
        let Ok(files) = fs::read_dir(self.repository().join("runs")) else { return Vec::new() };
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| Run::read(&fs::read_to_string(file).unwrap()).unwrap()).collect()
    }

    /// Returns the only captured run.
    fn captured(&self) -> Ran {
        match <[Run; 1]>::try_from(self.runs()) {
            Ok([Run { what: RunKind::Captured(ran), .. }]) => ran,
            other => panic!("{other:?}"),
        }
    }

    fn assert_sound(&self) {
        self.sandbox.assert_sound(&self.repository());
        let check = self.tot(&["check"]);
        assert_eq!(check.status, 0, "{check:#?}");
    }
}

/// Returns whether a process with this id is alive. A zombie is not.
fn is_alive(process: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}
