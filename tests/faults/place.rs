//! A sandbox for servers that are killed, and git's verdict on what they leave in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::{Sandbox, Server, node, result};

pub struct Place(Sandbox);

impl Place {
    pub fn new() -> Self {
        Place(Sandbox::new())
    }

    /// Returns a path in the sandbox.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Starts a server on the root. Its standard error goes to a log.
    pub fn server(&self, root: &Path) -> Server {
        let log = std::fs::File::options().append(true).create(true).open(self.path("log")).unwrap();
        let mut command = self.0.server_command(root, &[]);
        command.stderr(log);
        Server::start(command)
    }

    /// Returns the servers' log, which is empty unless something went wrong.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub fn command(&self, program: &str) -> Command {
        self.0.command(program)
    }

    /// Returns git's output, or its error.
    pub fn try_git(&self, repository: &Path, arguments: &[&str]) -> Result<String, String> {
        let output = self.0.try_git(repository, arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("git {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr))),
        }
    }

    /// Returns git's output.
    pub fn git(&self, repository: &Path, arguments: &[&str]) -> String {
        self.try_git(repository, arguments).unwrap()
    }

    /// Returns the problems that git finds in the repository. A kill may leave unreachable objects, which `git gc`
    /// collects.
    pub fn fsck(&self, repository: &Path) -> Result<(), String> {
        let output = self.0.try_git(repository, &["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let said = [output.stdout, output.stderr].concat();
        match output.status.success() && said.is_empty() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&said).into_owned()),
        }
    }

    /// Returns the files of an unfinished write: lock files, a journal, or a file that was about to be renamed.
    pub fn leftovers(&self, repository: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![repository.join(".git")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    if name != "objects" {
                        folders.push(path);
                    }
                } else if name.ends_with(".lock")
                    || name == "tot-file"
                    || name == "tot-journal" && path.metadata().unwrap().len() > 0
                {
                    found.push(path.strip_prefix(repository).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        found
    }
}

/// Starts an investigation with a root node that can have children, and returns its id.
pub fn start(server: &mut Server) -> String {
    let started = server.ok("tot_start", json!({"query": "What survives?", "mode": "smoke"}));
    let session = started["sessionId"].as_str().unwrap().to_owned();
    server.ok("tot_propose", json!({"sessionId": session, "nodes": [node("R1.A", None)]}));
    server.ok("tot_commit", json!({"sessionId": session, "results": [result("R1.A", "EXPLORE")]}));
    session
}
