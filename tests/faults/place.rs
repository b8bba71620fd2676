//! Servers that may be killed, and git's verdict on what they leave in their sandbox.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::figures::{Fault, Figures};
use crate::support::{Sandbox, Server, node, result};

/// Starts a server on the root. Its standard error goes to a log, which is empty unless something went wrong.
pub fn server(sandbox: &Sandbox, root: &Path) -> Server {
    let log = std::fs::File::options().append(true).create(true).open(sandbox.path("log")).unwrap();
    let mut command = sandbox.server_command(root, &[]);
    command.stderr(log);
    Server::start(command)
}

/// Starts an investigation with a root node that can have children, and returns its id.
pub fn start(server: &mut Server) -> String {
    let started = server.ok("tot_start", json!({"query": "What survives?", "mode": "smoke"}));
    let session = started["sessionId"].as_str().unwrap().to_owned();
    server.ok("tot_propose", json!({"sessionId": session, "nodes": [node("R1.A", None)]}));
    server.ok("tot_commit", json!({"sessionId": session, "results": [result("R1.A", "EXPLORE")]}));
    session
}

/// Returns git's output, or its error.
pub fn git(sandbox: &Sandbox, repository: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = sandbox.try_git(repository, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("git {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr))),
    }
}

/// Reports the problems that git finds in the repository. A kill may leave unreachable objects, which `git gc` collects.
/// Returns whether the repository is sound.
pub fn is_sound(sandbox: &Sandbox, repository: &Path, when: &str, figures: &mut Figures) -> bool {
    let output = sandbox.try_git(repository, &["fsck", "--strict", "--no-dangling", "--no-progress"]);
    let said = [output.stdout, output.stderr].concat();
    let is_sound = output.status.success() && said.is_empty();
    if !is_sound {
        let said = String::from_utf8_lossy(&said);
        figures.fault(Fault::Broken, format!("{when}: {}: {said}", repository.display()));
    }
    is_sound
}

/// Reports what remains of an unfinished write: lock files, a journal, or a file that was about to be renamed.
pub fn judge_remains(sandbox: &Sandbox, repository: &Path, when: &str, figures: &mut Figures) {
    is_sound(sandbox, repository, when, figures);
    let mut folders = vec![repository.join(".git")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "objects" {
                folders.push(path);
            } else if name.ends_with(".lock")
                || name == "tot-file"
                || name == "tot-journal" && path.metadata().unwrap().len() > 0
            {
                figures.fault(Fault::NeedsRepair, format!("{when}: left: {}", path.display()));
            }
        }
    }
}

/// Reports remains, and files that git calls changed or unknown.
pub fn judge(sandbox: &Sandbox, repository: &Path, when: &str, figures: &mut Figures) {
    judge_remains(sandbox, repository, when, figures);
    let status = git(sandbox, repository, &["status", "--porcelain"]);
    if status.as_deref() != Ok("") {
        figures.fault(Fault::NeedsRepair, format!("{when}: git status: {status:?}"));
    }
}

/// Reports acknowledged commits that are missing from the history, and others in it, apart from those of [`start`].
pub fn judge_history(sandbox: &Sandbox, session: &str, commits: &HashSet<String>, figures: &mut Figures) {
    let repository = sandbox.repository(session);
    let history = sandbox.git(&repository, &["rev-list", "--first-parent", "HEAD"]);
    let history: HashSet<&str> = history.lines().collect();
    for commit in commits.iter().filter(|commit| !history.contains(commit.as_str())) {
        figures.fault(Fault::Lost, commit.clone());
    }
    figures.acknowledged += commits.len();
    if history.len() != commits.len() + 3 {
        let problem = format!("{} commits for {} acknowledged calls", history.len(), commits.len() + 3);
        figures.fault(Fault::Broken, problem);
    }
    judge(sandbox, &repository, "after all calls", figures);
}

/// Reports servers that panicked.
pub fn judge_log(sandbox: &Sandbox, figures: &mut Figures) {
    let log = std::fs::read_to_string(sandbox.path("log")).unwrap_or_default();
    if log.contains("panicked") {
        figures.fault(Fault::NeedsRepair, format!("a server panicked: {log}"));
    }
}

/// Returns the repositories in the root. Hidden folders do not count yet.
pub fn investigations(root: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    folders
        .filter(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect()
}
